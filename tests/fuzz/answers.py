"""Inference in random networks: queries, explanations, rows with missing cells, by enumeration."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from naive_holes import HOLE
from naive_inference import Row, naive_joint, naive_most_probable
from network_cases import some_case, some_parameters
from parentage.data.table import MISSING, Table
from parentage.network.inference import EvidenceError
from parentage.network.network import Network
from parentage.network.parameters import Parameters

CLOSE = 1e-10


@dataclass(frozen=True)
class Asked:
    """A network with probabilities, and what is asked of it; a HOLE in a row is missing."""

    parents: tuple[tuple[int, ...], ...]
    tables: tuple[tuple[tuple[float, ...], ...], ...]
    given: tuple[tuple[int, int], ...]
    intervene: tuple[tuple[int, int], ...]
    targets: tuple[int, ...]
    rows: tuple[Row, ...]

    @property
    def parameters(self) -> Parameters:
        """The network with its probabilities."""
        names = tuple(f"v{v}" for v in range(len(self.parents)))
        states = tuple(tuple(f"s{k}" for k in range(len(t[0]))) for t in self.tables)
        tables = tuple(np.array(table) for table in self.tables)
        return Parameters(Network(names, self.parents), states, tables)


def make(seed: int) -> Asked:
    """Draw a network, evidence, interventions, targets and rows."""
    rng = np.random.default_rng(seed)
    found = some_parameters(rng, zeros=bool(rng.random() < 0.5))
    given, intervene, targets = some_case(rng, found)
    codes = found.sample(int(rng.integers(1, 4)), seed).to_codes()
    shown = np.where(rng.random(codes.shape) < 0.4, HOLE, codes.astype(np.int64))
    return Asked(
        found.network.parents,
        tuple(tuple(map(tuple, table.tolist())) for table in found.tables),
        tuple(given.items()),
        tuple(intervene.items()),
        tuple(targets),
        tuple(map(tuple, shown.T.tolist())),
    )


def kinds_of(asked: Asked) -> list[str]:
    """What is counted."""
    parts = {
        "evidence": asked.given,
        "interventions": asked.intervene,
        "rows with missing cells": any(HOLE in row for row in asked.rows),
    }
    return [kind for kind, there in parts.items() if there]


def check(asked: Asked) -> None:
    """Compare every answer with enumeration.

    Raises
    ------
    AssertionError
        They differ.
    """
    found = asked.parameters
    check_query(found, dict(asked.given), dict(asked.intervene), asked.targets)
    check_rows(found, asked.rows)


def check_query(
    found: Parameters, given: dict[int, int], intervene: dict[int, int], targets: tuple[int, ...]
) -> None:
    """Posteriors one by one and together, the most probable explanation, P(evidence)."""
    names, states = found.network.names, found.states
    evidence, do = (
        {names[v]: states[v][k] for v, k in codes.items()} for codes in (given, intervene)
    )
    truth, p = naive_joint(found, targets, given, intervene)
    asked = [names[v] for v in targets]
    try:
        answer = found.query(evidence, intervene=do, targets=asked)
        best = found.most_probable(evidence, intervene=do)
        together = found.joint(asked, evidence, intervene=do) if asked else None
    except EvidenceError:
        assert p == 0, f"refused evidence of probability {p}"
        return
    assert p > 0, "evidence that cannot occur was accepted"
    near(answer.log_probability, math.log(p), "the evidence")
    for at, (v, name) in enumerate(zip(targets, asked, strict=True)):
        for k, label in enumerate(states[v]):
            right = math.fsum(q for state, q in truth.items() if state[at] == k)
            near(answer[name][label], right, name)
    if together is not None:
        for state in np.ndindex(together.probabilities.shape):
            near(
                float(together.probabilities[state]),
                truth.get(state, 0.0),
                "the joint distribution",
            )
    most = naive_most_probable(found, given, intervene)
    near(best.log_joint, math.log(most), "the most probable explanation")
    row = {**given, **{names.index(name): found.code(name, s) for name, s in best.states.items()}}
    assert row.keys() | intervene.keys() == set(range(len(names)))
    near(naive_joint(found, [], row, intervene)[1], most, "the states of the explanation")


def check_rows(found: Parameters, rows: tuple[Row, ...]) -> None:
    """Likelihood, prediction of a column, and what is filled into missing cells."""
    codes = np.array(rows).T
    names, n = found.network.names, len(found.states)
    table = Table(names, found.states, np.where(codes == HOLE, MISSING, codes).astype(np.uint16))
    logs, target = found.log_likelihoods(table), len(rows) % n
    shares = found.predict(table, names[target])
    each, joint = found.impute(table).to_codes(), found.impute(table, "joint").to_codes()
    for i, row in enumerate(rows):
        seen = {v: k for v, k in enumerate(row) if k != HOLE}
        near(logs[i], math.log(naive_joint(found, [], seen, {})[1]), "a likelihood")
        rest = {v: k for v, k in seen.items() if v != target}
        truth = naive_joint(found, [target], rest, {})[0]
        for k in range(len(found.states[target])):
            near(shares[i, k], truth.get((k,), 0.0), "a prediction")
        for v in range(n):
            own = naive_joint(found, [v], seen, {})[0]
            near(own[int(each[v, i]),], max(own.values()), "a cell filled alone")
        whole = dict(enumerate(joint[:, i].tolist()))
        assert seen.items() <= whole.items()
        most = naive_most_probable(found, seen, {})
        near(naive_joint(found, [], whole, {})[1], most, "cells filled together")


def near(told: float, right: float, what: str) -> None:
    """Two numbers are the same but for rounding."""
    assert abs(told - right) < CLOSE * (1 + abs(right)), f"{what}: {told}, not {right}"
