"""Why the most likely other parents of a variable are not there. Part of gathering the report.

Variables that go with a child by themselves (largest mutual information) and are not joined to it
are the ones a reader will ask for. For each: what it would gain alone, what it would add beside the
parents that are there, how much of that is penalty, and the circle an arc from it would close.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from parentage.report.records import NextSet, Refused
from parentage.scoring.account import Account, limits_by_name
from parentage.scoring.constraints import Constraints
from parentage.scoring.prior import Prior
from parentage.scoring.scores import Penalised, parse_score, unit_of

if TYPE_CHECKING:
    from parentage.data.table import Table
    from parentage.network.network import Network
    from parentage.scoring.lists import CandidateLists
    from parentage.scoring.scope import Scope

SHOWN = 5
SCREENED_ROWS = 20_000
"""Rows that decide which variables are shown; their numbers are from all rows."""

MOST_STATES = 5_000
"""States of all variables together; with more, nothing is said."""

MUCH, TOO_MUCH = 5_000_000, 50_000_000
"""Cells of a table from which fewer variables, and none, are looked at: every row is counted."""


def refused_parents(
    network: Network, table: Table, score: str, scope: Scope | None
) -> list[tuple[Refused, ...]]:
    """Return for every variable those that go with it most and are not joined to it."""
    table = table.select(network.names)
    shown = _how_many(table)
    if not shown:
        return [() for _ in network.names]
    judge = _Judge(network, table, score, scope)
    going_with = mutual_information(table)
    found = []
    for v, members in enumerate(network.parents):
        joined = {v, *members, *(u for u, above in enumerate(network.parents) if v in above)}
        ranked = [int(u) for u in np.argsort(-going_with[v], kind="stable") if u not in joined]
        varying = [u for u in ranked if network.names[u] not in table.constant]
        constant = network.names[v] in table.constant
        found.append(() if constant else tuple(judge(v, u) for u in varying[:shown]))
    return found


def _how_many(table: Table) -> int:
    cells = table.stored_rows * table.n_variables
    if cells > TOO_MUCH or int(table.cardinalities.sum()) > MOST_STATES:
        return 0
    return SHOWN if cells <= MUCH else 2


def mutual_information(table: Table) -> npt.NDArray[np.float64]:
    """Return the mutual information of every pair in the first rows, in nats."""
    table = table.head(SCREENED_ROWS)
    codes = table.to_codes().astype(np.int64)
    sizes = table.cardinalities
    starts = np.concatenate([[0], np.cumsum(sizes)])
    indicator = np.zeros((int(starts[-1]), codes.shape[1]), np.float32)
    for v, column in enumerate(codes):
        indicator[starts[v] + column, np.arange(codes.shape[1])] = 1
    times = table.repeats.astype(np.float32) if len(table.repeats) else np.float32(1)
    joint = ((indicator * times) @ indicator.T).astype(np.float64) / table.n_rows
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = joint * np.log(joint / np.outer(joint.diagonal(), joint.diagonal()))
    terms[~np.isfinite(terms)] = 0.0
    by_row = np.add.reduceat(terms, starts[:-1], axis=0)
    result: npt.NDArray[np.float64] = np.add.reduceat(by_row, starts[:-1], axis=1)
    return result


def prior_of(scope: Scope | None) -> Prior:
    """Return what was believed of arcs beforehand; nothing if that is not known."""
    if scope is None or not isinstance(scope.origin, Account):
        return Prior()
    return scope.origin.prior


class _Judge:
    """Says why one variable is not a parent of another."""

    def __init__(self, network: Network, table: Table, score: str, scope: Scope | None) -> None:
        self.network, self.table, self.scope = network, table, scope
        self.by = parse_score(score)
        self.unit = unit_of(scope.log_base if scope is not None else None)
        self.prior = prior_of(scope)
        self.tolerance = 0.0 if scope is None else scope.tolerance
        self.children: list[list[int]] = [[] for _ in network.names]
        for v, members in enumerate(network.parents):
            for p in members:
                self.children[p].append(v)
        limit = None if scope is None else scope.max_parents
        given = Constraints() if scope is None else scope.constraints
        self.limits = limits_by_name(network.names, limit)
        for name, most in given.max_parents.items():
            self.limits[name] = min(most, self.limits.get(name, most))
        self.barred = given.barred(network.names)
        self.own: dict[tuple[int, ...], float] = {}

    def __call__(self, v: int, u: int) -> Refused:
        members, names = self.network.parents[v], self.network.names
        believed = self.prior.log_odds(names[u], names[v]) / self.unit
        change = self.local(v, (*members, u)) - self.local(v, members) + believed
        alone = self.local(v, (u,)) - self.local(v, ()) + believed
        cost = None
        if isinstance(self.by, Penalised):
            price = self.by.price
            more = price(self.table, v, [*members, u]) - price(self.table, v, list(members))
            cost = more / self.unit - believed
        circle = self.way(v, u)
        return Refused(u, alone, change, cost, circle, self.why(v, u, change, circle))

    def local(self, v: int, parents: tuple[int, ...]) -> float:
        key = (v, *parents)
        if key not in self.own:
            self.own[key] = self.by.local(self.table, v, list(parents)) / self.unit
        return self.own[key]

    def why(self, v: int, u: int, change: float, circle: tuple[int, ...]) -> str:
        if change <= self.tolerance:
            return "cost"
        if circle:
            return "circle"
        child = self.network.names[v]
        if len(self.network.parents[v]) >= self.limits.get(child, len(self.network.names)):
            return "limit"
        return "constraint" if self.barred[v, u] else "unproven"

    def way(self, start: int, end: int) -> tuple[int, ...]:
        """Return a shortest way along the arcs; empty when there is none."""
        before: dict[int, int] = {start: start}
        queue = [start]
        for v in queue:
            for child in self.children[v]:
                if child not in before:
                    before[child] = v
                    queue.append(child)
        if end not in before:
            return ()
        path = [end]
        while path[-1] != start:
            path.append(before[path[-1]])
        return tuple(reversed(path))


def next_sets(network: Network, lists: CandidateLists, most: int = 3) -> list[tuple[NextSet, ...]]:
    """Return for every variable the candidate sets just above and just below the one chosen."""
    found: list[tuple[NextSet, ...]] = []
    place = [lists.index(name) for name in network.names]
    back = {at: v for v, at in enumerate(place)}
    for v, members in enumerate(network.parents):
        chosen = tuple(sorted(place[p] for p in members))
        ranked = list(lists.candidates(place[v]))
        at = next((i for i, (_, own) in enumerate(ranked) if own == chosen), None)
        if at is None:
            found.append(())
            continue
        near = [*ranked[max(0, at - most) : at], *ranked[at + 1 : at + 1 + most]]
        found.append(
            tuple(
                NextSet(tuple(sorted(back[p] for p in own)), score - ranked[at][0])
                for score, own in near
            )
        )
    return found
