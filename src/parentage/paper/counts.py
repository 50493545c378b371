"""How many families each rule prunes: Tables 2 and 3.

A family (X, Π) is flagged by a rule if the rule fires for some Y in Π, or if the rule has flagged
(X, Π′) for some Π′ ⊂ Π: rules are hereditary. A column of the tables counts the families up to an
in-degree that have one of its flags. The rules are those of :mod:`parentage.scoring.rules`; what
the printed numbers do differently is in :mod:`parentage.paper.conventions`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.paper.published import COLUMNS, IN_DEGREES
from parentage.paper.sets import SetLevel, count_all_sets
from parentage.scoring import rules

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parentage.paper.conventions import Convention
    from parentage.scoring.entropy import Encoded

Flags = npt.NDArray[np.uint8]
"""``[set, child]``: one bit per rule."""
Counts = dict[int, dict[str, int]]
"""Families pruned, by in-degree and column."""

BIT = {"Alg1": 1, "Alg2": 2, "Alg3": 4, "Alg4": 8}
MASK = {column: sum(BIT[rule] for rule in column.split("+")) for column in COLUMNS}
LARGEST = max(IN_DEGREES) + 1


class Pair(NamedTuple):
    """All sets of a size, read as child X = member ``a``, parent Y = member ``b``, rest Π*.

    The set without ``b`` is X ∪ Π*, the one without ``a`` is Π = Y ∪ Π*. Arrays over the sets.
    """

    a: int
    x_star: npt.NDArray[np.int32]
    """Where X ∪ Π* is in the level below."""
    x_in_x_star: int
    pi: npt.NDArray[np.int32]
    y_in_pi: int
    sides_left: dict[str, npt.NDArray[np.float64]]
    """The entropy that each rule looks at."""
    r_x: npt.NDArray[np.float64]
    r_y: npt.NDArray[np.float64]
    q_star: npt.NDArray[np.float64]


def count_pruned(encoded: Encoded, conventions: Sequence[Convention]) -> list[Counts]:
    """Return, per convention, the families that each column prunes, by in-degree."""
    levels = count_all_sets(encoded, LARGEST)
    by_convention = flag_levels(levels, encoded, conventions)
    return [
        {k: count_columns(flags[: k + 2]) for k in range(1, LARGEST)} for flags in by_convention
    ]


def count_columns(flags: Sequence[Flags]) -> dict[str, int]:
    """Add up over the levels the families with one of a column's flags."""
    return {
        column: sum(int(np.count_nonzero(level & np.uint8(mask))) for level in flags)
        for column, mask in MASK.items()
    }


def flag_levels(
    levels: Sequence[SetLevel], encoded: Encoded, conventions: Sequence[Convention]
) -> list[list[Flags]]:
    """Flag, per convention, the families of every level; the empty parent set has no flag."""
    nothing = [np.zeros(level.members.shape, np.uint8) for level in levels[:2]]
    by_convention: list[list[Flags]] = [list(nothing) for _ in conventions]
    for size in range(2, len(levels)):
        for flags in by_convention:
            flags.append(np.zeros(levels[size].members.shape, np.uint8))
        for pair in pairs_of(levels[: size + 1], encoded):
            for flags, convention in zip(by_convention, conventions, strict=True):
                flags[size][:, pair.a] |= flag(pair, flags[size - 1], encoded, convention)
    return by_convention


def pairs_of(levels: Sequence[SetLevel], encoded: Encoded) -> Iterator[Pair]:
    """Read the sets of the last level as (X, Y, Π*) in every way."""
    two_below, one_below, level = levels[-3:]
    to_float = encoded.grid.to_float
    single = to_float(encoded.empty - encoded.single)
    arity = encoded.arity.astype(np.float64)[level.members]
    q = arity.prod(axis=1)
    size = level.members.shape[1]
    for a in range(size):
        for b in (b for b in range(size) if b != a):
            x_star, pi = level.subsets[:, b], level.subsets[:, a]
            x_in_x_star = a if a < b else a - 1
            G_star = two_below.G[one_below.subsets[x_star, x_in_x_star]]
            left = {
                "Alg1": to_float(G_star - one_below.G[x_star]),
                "Alg2": to_float(G_star - one_below.G[pi]),
                "Alg3": single[level.members[:, a]],
                "Alg4": single[level.members[:, b]],
            }
            r_x, r_y = arity[:, a], arity[:, b]
            q_star = q / (r_x * r_y)
            yield Pair(a, x_star, x_in_x_star, pi, b if b < a else b - 1, left, r_x, r_y, q_star)


def flag(
    pair: Pair, below: Flags, encoded: Encoded, convention: Convention
) -> npt.NDArray[np.uint8]:
    """Flag the families of a pair for what holds of Y, and for what (X, Π*) is flagged for."""
    log_rows = math.log(encoded.total_rows)
    added = convention.added(log_rows, pair.r_x, pair.r_y, pair.q_star)
    tolerance = float(encoded.grid.to_float(encoded.grid.tolerance))
    of_x, of_y = below[pair.x_star, pair.x_in_x_star], below[pair.pi, pair.y_in_pi]
    at_hand = _at_hand(of_x, of_y) if convention.only_evaluated else dict.fromkeys(BIT, True)
    flags: npt.NDArray[np.uint8] = of_x.copy()
    for name, rule in (
        ("Alg1", rules.alg1),
        ("Alg2", rules.alg2),
        ("Alg3", rules.alg3),
        ("Alg4", rules.alg4),
    ):
        fired = rules.fires(rule(pair.sides_left[name], added), tolerance) & at_hand[name]
        flags |= fired.view(np.uint8) * np.uint8(BIT[name])
    return flags


def _at_hand(of_x: Any, of_y: Any) -> dict[str, Any]:
    """Whether the program had each rule's entropy: Π* evaluated for X, or for Y."""
    unseen = np.uint8(BIT["Alg1"] | BIT["Alg2"])
    x_seen, y_seen = of_x & unseen == 0, of_y & unseen == 0
    return {"Alg1": x_seen, "Alg2": y_seen, "Alg3": x_seen, "Alg4": y_seen}
