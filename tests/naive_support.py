"""Slow, obvious truth about the support of arcs: all networks, and loops of ``learn``."""

from __future__ import annotations

import decimal
import itertools
import math
import warnings
from typing import TYPE_CHECKING

import numpy as np

import parentage
from naive_network import is_acyclic
from parentage.errors import ParentageWarning
from parentage.scoring.constraints import Constraints
from parentage.scoring.scores import family_score

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from parentage.data.table import Table
    from parentage.network.network import IndexArc
    from parentage.optimise import Solution

Parents = tuple[tuple[int, ...], ...]


def every_network(
    table: Table, score: str, constraints: Constraints | None = None
) -> list[tuple[float, Parents]]:
    """Score every acyclic network of the columns that vary."""
    given = constraints or Constraints()
    names = table.names
    options: list[list[tuple[float, tuple[int, ...]]]] = []
    for v, name in enumerate(names):
        others = [u for u in range(len(names)) if u != v and names[u] not in table.constant]
        if name in table.constant:
            options.append([(0.0, ())])
            continue
        sets = [s for k in range(len(others) + 1) for s in itertools.combinations(others, k)]
        sets = [s for s in sets if given.allowed(name, [names[u] for u in s])]
        options.append(
            [(family_score(table, name, [names[u] for u in s], score=score), s) for s in sets]
        )
    return [
        (math.fsum(score for score, _ in choice), parents)
        for choice in itertools.product(*options)
        if is_acyclic(parents := tuple(members for _, members in choice))
    ]


def log_of_sum(logs: Sequence[float]) -> float:
    """ln Σ exp, in 60 digits."""
    with decimal.localcontext(prec=60):
        return float(sum((decimal.Decimal(x).exp() for x in logs), decimal.Decimal(0)).ln())


def shortfall(
    networks: Sequence[tuple[float, Parents]], fits: Callable[[Parents], bool]
) -> float | None:
    """How far the best network that fits falls short of the best of all; None if none fits."""
    fitting = [score for score, parents in networks if fits(parents)]
    return max(score for score, _ in networks) - max(fitting) if fitting else None


def apart(a: int, b: int) -> Callable[[Parents], bool]:
    """Two variables are not joined."""
    return lambda parents: a not in parents[b] and b not in parents[a]


def has_arc(a: int, b: int) -> Callable[[Parents], bool]:
    """The arc from a to b is there."""
    return lambda parents: a in parents[b]


def learned_again(table: Table, constraints: Constraints, **settings: object) -> Solution:
    """Learn from the table under constraints: scored and solved anew, nothing shared."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ParentageWarning)
        return parentage.learn(table, constraints=constraints, **settings)  # type: ignore[arg-type]


def equivalent_networks(parents: Parents) -> list[Parents]:
    """Every orientation of the skeleton that is acyclic and has the same v-structures."""
    joined = sorted({(min(p, v), max(p, v)) for v, above in enumerate(parents) for p in above})
    found = []
    for turns in itertools.product((False, True), repeat=len(joined)):
        above: list[list[int]] = [[] for _ in parents]
        for (a, b), turned in zip(joined, turns, strict=True):
            above[a if turned else b].append(b if turned else a)
        other = tuple(tuple(sorted(members)) for members in above)
        if is_acyclic(other) and meetings(other) == meetings(parents):
            found.append(other)
    return found


def meetings(parents: Parents) -> set[tuple[int, int, int]]:
    """All a → c ← b with a and b not joined."""
    return {
        (a, c, b)
        for c, above in enumerate(parents)
        for a, b in itertools.combinations(above, 2)
        if a not in parents[b] and b not in parents[a]
    }


def direction_points(parents: Parents) -> dict[IndexArc, float]:
    """One for an arc that all equivalent networks have, a half for each way otherwise."""
    all_of_them = equivalent_networks(parents)
    points: dict[IndexArc, float] = {}
    for v, above in enumerate(parents):
        for p in above:
            if all(p in other[v] for other in all_of_them):
                points[p, v] = 1.0
            else:
                points[p, v] = points[v, p] = 0.5
    return points


def l1_norm(shares: Sequence[float], t: float) -> float:
    """∫ |F(x) − t| dx over 0 … 1, F the distribution function of the shares."""
    knots = sorted({0.0, 1.0, *shares})
    return math.fsum(
        (right - left) * abs(float(np.mean(np.array(shares) <= left)) - t)
        for left, right in itertools.pairwise(knots)
    )
