r"""Structural expectation maximisation: the best network of a table with holes, step by step.

Friedman (1997, 1998). With a network and parameters at hand,

1. *Expectation*: every row that lacks cells becomes its completions, weighted by their posterior
   (:mod:`parentage.network.expectation`); weights are whole multiples of 2^−b of a row
   (:mod:`parentage.scoring.weighted`);
2. *Maximisation*: the completed data are scored and the network that is best on them found, with
   proof; then parameters of that network that maximise the likelihood of what is observed.

Each step makes the penalised likelihood of the observed cells grow (up to the rounding of
weights), so no network comes back but the last: the method ends when the best network on the
completed data is the one that completed them. That is what is proved: it is the best for *these*
completions; another start may end elsewhere. The start is the optimum under the node-average
likelihood (``pnal``), which needs no completion.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from parentage.data.table import MISSING, Table
from parentage.network.expectation import Expectation
from parentage.optimise import optimise_lists
from parentage.optimise.settings import Optimising
from parentage.scoring.candidates import score_table
from parentage.scoring.completion import Completion, EmStep
from parentage.scoring.holes import check_holes
from parentage.scoring.prior import Prior
from parentage.scoring.scores import Penalised, parse_score, unit_of
from parentage.scoring.weighted import WeightedTable, check_weighable

if TYPE_CHECKING:
    import numpy.typing as npt

    from parentage.network.network import Network
    from parentage.optimise import Solution
    from parentage.scoring.lists import CandidateLists
    from parentage.scoring.settings import Scoring
    from parentage.work.executor import Workers
    from parentage.work.progress import Report
    from parentage.work.stop import Stop

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]

MOST_STEPS = 50
MOST_UNITS = 2**24
"""Units that all rows together may have: so many numbers are tabulated."""
MOST_BITS, FEWEST_BITS = 10, 4


@dataclass(frozen=True)
class Work:
    """What every step needs."""

    table: Table
    settings: Scoring
    stop: Stop
    threads: int
    workers: Workers
    report: Report | None

    def solve(self, table: Table, settings: Scoring) -> tuple[CandidateLists, Solution]:
        """Score a table and find its best network."""
        lists = score_table(table, settings, self.stop.share(0.5), self.workers, self.report)
        solution = optimise_lists(
            lists,
            Optimising(),
            self.stop,
            threads=self.threads,
            max_parents=settings.max_parents,
            constraints=settings.constraints,
            report=self.report,
        )
        return lists, solution


def complete_and_score(
    table: Table,
    settings: Scoring,
    stop: Stop,
    *,
    threads: int,
    workers: Workers | None = None,
    start: Network | None = None,
    report: Report | None = None,
) -> CandidateLists:
    """Return the lists of :func:`complete_and_learn` alone."""
    return complete_and_learn(
        table, settings, stop, threads=threads, workers=workers, start=start, report=report
    )[0]


def complete_and_learn(
    table: Table,
    settings: Scoring,
    stop: Stop,
    *,
    threads: int,
    workers: Workers | None = None,
    start: Network | None = None,
    report: Report | None = None,
) -> tuple[CandidateLists, Network]:
    """Iterate until the network repeats; return the lists of the data completed by it.

    Their account is that of the table with its holes, and has the steps. With them comes the best
    network found in them.

    Raises
    ------
    InputError
        A score that is not proved for expected counts.
    ResourceError
        A row with too many completions, known before the first step of its network.
    """
    score = check_weighable(parse_score(settings.score))
    check_holes(table)
    seen = (table.codes != MISSING).any(axis=0)
    rows = Table(table.names, table.states, np.ascontiguousarray(table.codes[:, seen]), table.cuts)
    work = Work(rows, settings, stop, threads, workers or threads, report)
    if start is None:
        first = replace(settings, score="pnal", width=None, rules=None)  # it has rules of its own
        start = work.solve(rows, first)[1].network
    lists, network, completion = _iterate(work, start, score)
    account = replace(
        lists.known(),
        rows=table.n_rows,
        data=table.digest,
        recipe=table.recipe,
        missing_cells=tuple(int(n) for n in table.missing_cells),
        completion=replace(completion, empty_rows=int((~seen).sum())),
    )
    return replace(lists, account=account), network


def _iterate(
    work: Work, network: Network, score: Penalised
) -> tuple[CandidateLists, Network, Completion]:
    """Complete and learn until the network repeats or there is no time left.

    A step that is cut short does not count when there was one before: its lists would be worse.
    """
    bits, unit = bits_for(work.table.n_rows), unit_of(work.settings.log_base)
    prior = Prior.of(work.settings.prior)
    steps: list[EmStep] = []
    before: Network | None = None
    last: tuple[CandidateLists, Network, Completion] | None = None
    while True:
        theta, likelihood = _parameters(network, work.table)
        completed = completed_table(network, work.table, theta, bits)
        lists, solution = work.solve(completed, work.settings)
        if last is not None and not lists.account.complete and work.stop.reason() is not None:
            return last
        steps.append(
            EmStep(
                network.n_arcs,
                0 if before is None else _changes(before, network),
                likelihood,
                (likelihood + prior.log_odds_of(network.arcs) - _price(network, work.table, score))
                / unit,
                solution.score,
                solution.optimal,
            )
        )
        settled = solution.optimal and _is_best(network, lists, solution)
        completion = Completion(tuple(steps), settled, bits, len(completed.weights))
        last = lists, solution.network, completion
        if settled or len(steps) == MOST_STEPS or work.stop.reason() is not None:
            return last
        before, network = network, solution.network


def bits_for(n_rows: int) -> int:
    """Return how finely rows can be divided: fewer bits for more rows.

    >>> bits_for(1000), bits_for(100_000), bits_for(10_000_000)
    (10, 7, 4)
    """
    return max(FEWEST_BITS, min(MOST_BITS, int(math.log2(max(MOST_UNITS / n_rows, 1)))))


def _parameters(network: Network, table: Table) -> tuple[Floats, float]:
    """Return the parameters of greatest likelihood, and that."""
    expected = Expectation.of_table(network, table)
    return expected.maximised(np.zeros_like(expected.known))


def _changes(one: Network, other: Network) -> int:
    comparison = other.compare(one)
    return len(comparison.added) + len(comparison.missing) + len(comparison.reversed)


def _price(network: Network, table: Table, score: Penalised) -> float:
    """Return the penalty of a network: of all families but those of constant columns alone."""
    constant = set(table.constant)
    return math.fsum(
        score.price(table, table.index(name), [table.index(p) for p in network.parents_of(name)])
        for name in network.names
        if network.parents_of(name) or name not in constant
    )


def _is_best(network: Network, lists: CandidateLists, solution: Solution) -> bool:
    """Whether a network scores as much on these lists as the best one."""
    if network == solution.network:
        return True
    total = 0.0
    for name in network.names:
        parents = frozenset(network.parents_of(name))
        score = lists.subsets_of(name, parents).get(parents)
        if score is None:
            return False
        total += score
    return total >= solution.score - lists.known().tolerance


def completed_table(network: Network, table: Table, theta: Floats, bits: int) -> WeightedTable:
    """Complete a table: every row as its completions, weighted by their posterior.

    The weights of a row are its posterior in units of 2^−bits, rounded so that they sum to the row:
    each down, and what is left to those that lost most.
    """
    expected = Expectation.of_table(network, table, every_cell=True)
    posterior, _ = expected.posterior(theta)
    codes = expected.rows
    parts: dict[int, list[tuple[tuple[int, ...], Ints, Floats]]] = {}
    for component in expected.components:
        entries = component.entries()
        for i, row in enumerate(component.rows.tolist()):
            found = (component.variables, component.states, posterior[entries[i]])
            parts.setdefault(row, []).append(found)
    whole = np.array([row not in parts for row in range(codes.shape[1])])
    units = (expected.weights * (1 << bits)).astype(np.int64)
    pieces, weights = [codes[:, whole]], [units[whole]]
    for row, components in parts.items():
        states, shares = _together(components, 0.25 / float(units[row]))
        weight = apportioned(shares, int(units[row]))
        variables = [v for part, _, _ in components for v in part]
        piece = np.repeat(codes[:, [row]], int((weight > 0).sum()), axis=1)
        piece[variables] = states[weight > 0].T
        pieces.append(piece)
        weights.append(weight[weight > 0])
    distinct, inverse = np.unique(np.concatenate(pieces, axis=1), axis=1, return_inverse=True)
    total = np.zeros(distinct.shape[1], np.int64)
    np.add.at(total, inverse.ravel(), np.concatenate(weights))
    order = [network.index(name) for name in table.names]
    return WeightedTable(
        table.names,
        table.states,
        distinct[order].astype(np.uint16),
        table.cuts,
        weights=total,
        bits=bits,
    )


def _together(
    components: list[tuple[tuple[int, ...], Ints, Floats]], least: float
) -> tuple[Ints, Floats]:
    """Multiply independent components; leave out what has less than ``least``, but never all."""
    states, shares = np.empty((1, 0), np.int64), np.ones(1)
    for _, own, posterior in components:
        kept = posterior >= min(least, float(posterior.max()))
        own, posterior = own[kept], posterior[kept]
        product = np.outer(shares, posterior).ravel()
        left, right = np.divmod(np.arange(len(product)), len(posterior))
        kept = product >= min(least, float(product.max()))
        states = np.hstack([states[left[kept]], own[right[kept]]])
        shares = product[kept]
    return states, shares


def apportioned(shares: Floats, units: int) -> Ints:
    """Divide units in proportion to shares, by the method of largest remainders.

    >>> apportioned(np.array([0.5, 0.3, 0.2]), 4).tolist()
    [2, 1, 1]
    """
    exact = shares / shares.sum() * units
    down: Ints = np.floor(exact).astype(np.int64)
    left = units - int(down.sum())
    most = np.argsort(down - exact, kind="stable")[:left]
    down[most] += 1
    return down
