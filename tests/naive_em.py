"""Expectation maximisation by enumeration: every completion of every row, one after the other."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from parentage.data.table import MISSING
from parentage.network.parameters import Parameters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parentage.data.table import Table
    from parentage.network.network import Network

Row = tuple[int, ...]
Weighted = list[tuple[Row, float]]


def probability(parameters: Parameters, row: Row) -> float:
    """The joint probability of a complete row."""
    p = 1.0
    for v, parents in enumerate(parameters.network.parents):
        j = 0
        for u in parents:
            j = j * len(parameters.states[u]) + row[u]
        p *= float(parameters.tables[v][j][row[v]])
    return p


def completions(parameters: Parameters, table: Table) -> tuple[list[Weighted], float]:
    """For every row its completions with their posterior, and the log-likelihood of the table."""
    found, total = [], 0.0
    for i in range(table.n_rows):
        cells = table.to_codes()[:, i].tolist()
        choices = [
            range(len(labels)) if code == MISSING else [code]
            for code, labels in zip(cells, table.states, strict=True)
        ]
        joint = [(row, probability(parameters, row)) for row in product(*choices)]
        sum_ = math.fsum(p for _, p in joint)
        total += math.log(sum_)
        found.append([(row, p / sum_) for row, p in joint])
    return found, total


def expected_counts(rows: list[Weighted], members: Sequence[int]) -> dict[Row, float]:
    """Expected counts of the joint states of some variables."""
    terms: dict[Row, list[float]] = {}
    for row in rows:
        for cells, p in row:
            terms.setdefault(tuple(cells[v] for v in members), []).append(p)
    return {state: math.fsum(found) for state, found in terms.items()}


def step(parameters: Parameters, table: Table, alpha: float = 0.0) -> Parameters:
    """One step of expectation maximisation."""
    rows, _ = completions(parameters, table)
    network = parameters.network
    tables = []
    for v, parents in enumerate(network.parents):
        counts = expected_counts(rows, [*parents, v])
        r = len(parameters.states[v])
        own = []
        for state in product(*(range(len(parameters.states[p])) for p in parents)):
            cells = [counts.get((*state, k), 0.0) + alpha for k in range(r)]
            whole = math.fsum(cells)
            own.append([c / whole if whole else 1 / r for c in cells])
        tables.append(np.array(own))
    return Parameters(network, parameters.states, tuple(tables))


def first_guess(network: Network, table: Table, alpha: float = 0.0) -> Parameters:
    """Where the iteration starts: complete families, and one more of everything."""
    tables = []
    for v, parents in enumerate(network.parents):
        r = len(table.states[v])
        own = []
        for state in product(*(range(len(table.states[p])) for p in parents)):
            cells = [1 + alpha] * r
            for i in range(table.n_rows):
                if all(table.to_codes()[p, i] == s for p, s in zip(parents, state, strict=True)):
                    code = int(table.to_codes()[v, i])
                    if code != MISSING:
                        cells[code] += 1
            own.append([c / math.fsum(cells) for c in cells])
        tables.append(np.array(own))
    return Parameters(network, table.states, tuple(tables))


def expected_score(rows: list[Weighted], table: Table, network: Network, w: float) -> float:
    """Penalised likelihood of a network on expected counts."""
    total = []
    for v, parents in enumerate(network.parents):
        both, given = expected_counts(rows, [*parents, v]), expected_counts(rows, parents)
        total += [n * math.log(n) for n in both.values() if n > 0]
        total += [-n * math.log(n) for n in given.values() if n > 0]
        q = math.prod(len(table.states[p]) for p in parents)
        total.append(-w * (len(table.states[v]) - 1) * q)
    return math.fsum(total)


def from_complete_families(network: Network, table: Table, alpha: float = 0.0) -> Parameters:
    """The shares of states among the rows in which a variable and its parents are known."""
    sizes, tables = [len(labels) for labels in table.states], []
    for v, parents in enumerate(network.parents):
        theta = []
        for joint in product(*(range(sizes[u]) for u in parents)):
            counts = [alpha] * sizes[v]
            for cells in table.to_codes().T.tolist():
                if tuple(cells[u] for u in parents) == joint and cells[v] != MISSING:
                    counts[cells[v]] += 1
            total = sum(counts)
            theta.append([n / total if total else 1 / sizes[v] for n in counts])
        tables.append(np.array(theta))
    return Parameters(network, table.states, tuple(tables))
