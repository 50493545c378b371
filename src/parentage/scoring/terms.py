"""What families that grow are scored by, child by child: stems, prices, priors, required parents.

A part of :mod:`parentage.scoring.growth`. With y a further parent of X besides Π,

    s(X, Π ∪ y) = along(y) − without(y) − unit·(r − 1)·q − constant + log odds of the arcs,

where *along* and *without* are vectors of two stems. For a penalised likelihood they are G of
Π ∪ X and of Π; for a score by sums its value of Π ∪ X and what parents Π subtract, and parameters
have no price; for a table with holes *along* is the likelihood itself and *without* is 0.

A child with required parents has them in every set: its families are those of its own plan, within
the *context* of those parents, on the grid of that plan, and are held without them. So every score
is bit for bit that of complete lists, and no required parent can be dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from parentage.scoring.holes import EncodedHoles
from parentage.scoring.scores import BySums
from parentage.scoring.stem_counting import (
    Counter,
    HoleCounter,
    Nothing,
    SumCounter,
    Swept,
    ValueCounter,
)
from parentage.scoring.stems import Stem
from parentage.scoring.sum_functions import SumFunctions

if TYPE_CHECKING:
    from parentage.kernels.stems import Growing
    from parentage.scoring.entropy import Int64s
    from parentage.scoring.plan import Preparation, SearchPlan

Family = tuple[int, tuple[int, ...]]
"""A child and its parents, rising, as encoded variables; required parents are left out."""


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms of all families, in the numbers of the first plan's variables."""

    growing: Growing
    """For the kernels."""
    counters: tuple[Counter, ...]
    without: Int64s
    """``[child]``: who counts the stem of Π."""
    along: Int64s
    """``[child]``: who counts the other one."""
    by_child: bool
    """Whether the other one is of Π for the child, not of Π ∪ X."""
    payable: bool
    """Whether Theorem 1⁺ says beforehand that no parent can pay."""
    required: tuple[tuple[int, ...], ...]
    """``[child]``: its required parents."""
    scale: npt.NDArray[np.float64]
    """``[child]``: units in one nat."""

    def stems_of(self, family: Family) -> tuple[Stem, Stem]:
        """Return the stems *without* and *along* of a family."""
        child, parents = family
        others = parents if self.by_child else joined(parents, child)
        return Stem(int(self.without[child]), parents), Stem(int(self.along[child]), others)

    def added(self, children: npt.NDArray[np.integer], parents: npt.NDArray[np.integer]) -> Int64s:
        """Return what the prior adds to families of one size, required parents included."""
        odds, always = self.growing.odds, self.growing.odds_always
        if not len(odds):
            return np.zeros(len(children), np.int64)
        found: Int64s = odds[children[:, None], parents].sum(axis=1) + always[children]
        return found


def joined(parents: tuple[int, ...], child: int) -> tuple[int, ...]:
    """Return the set of parents and child, rising.

    >>> joined((1, 4), 2)
    (1, 2, 4)
    """
    return tuple(sorted((*parents, child)))


def terms_of(prepared: Preparation) -> Terms:
    """Put together what the families of all plans are scored by."""
    from parentage.kernels.stems import Growing

    plans = prepared.plans
    encoded = plans[0].encoded
    n = encoded.n_variables
    place = np.zeros(prepared.table.n_variables, np.int64)
    place[encoded.order] = np.arange(n)
    counters: list[Counter] = []
    without, along = np.zeros(n, np.int64), np.zeros(n, np.int64)
    required: list[tuple[int, ...]] = [()] * n
    forbidden = np.array(plans[0].forbidden, order="C")
    odds = prepared.log_odds[np.ix_(encoded.order, encoded.order)]
    fixed_odds = np.zeros((n, n) if prepared.prior else (0, 0), np.int64)
    odds_always, empty, constant = (np.zeros(n, np.int64) for _ in range(3))
    unit, cap, tolerance = (np.zeros(n, np.int64) for _ in range(3))
    scale, plan_of = np.ones(n), np.zeros(n, np.int64)
    residual = np.zeros((len(plans), n), np.int64)
    for number, plan in enumerate(plans):
        own = place[plan.encoded.order]
        children = own[plan.limits.most >= 0]
        sources = _sources(plan, own, n, children)
        without[children] = sources.without + len(counters)
        along[children] = sources.along + len(counters)
        counters += sources.counters
        context = place[list(plan.context)]
        grid = plan.encoded.grid
        forbidden[np.ix_(children, context)] = True
        residual[number, own] = plan.h
        plan_of[children], scale[children] = number, grid.scale
        unit[children], cap[children] = grid.unit, max(1, grid.cap)
        tolerance[children] = grid.tolerance
        empty[children], constant[children] = sources.empty, sources.constant
        for child in children.tolist():
            required[child] = tuple(sorted(context.tolist()))
        if prepared.prior:
            fixed_odds[children] = np.rint(odds[children] * grid.scale)
            always = odds[np.ix_(children, context)].sum(axis=1)
            odds_always[children] = np.rint(always * grid.scale)
    keys = np.random.default_rng(20_180_612).integers(1 << 63, size=(2, n), dtype=np.uint64)
    keys = keys * np.uint64(2) + np.uint64(1)
    by_sums = isinstance(prepared.score, BySums)
    holes = isinstance(encoded, EncodedHoles)
    growing = Growing(
        encoded.arity, np.zeros(n, np.int64) if by_sums else encoded.arity - 1, residual, plan_of,
        forbidden, fixed_odds, odds_always, keys[0], keys[1], unit, cap, tolerance, empty, constant,
    )  # fmt: skip
    return Terms(
        growing, tuple(counters), without, along, holes, not (by_sums or holes), tuple(required),
        scale,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Sources:
    """Who counts the stems of one plan, and what its children have without parents.

    ``without`` and ``along`` are indices into ``counters``; all but those are ``[child]``.
    """

    counters: list[Counter]
    without: Int64s
    along: Int64s
    empty: Int64s
    constant: Int64s


def _sources(plan: SearchPlan, place: Int64s, n: int, children: Int64s) -> _Sources:
    encoded, score = plan.encoded, plan.score
    none = np.zeros(len(children), np.int64)
    if isinstance(encoded, EncodedHoles):
        own = {v: i for i, v in enumerate(place.tolist())}
        by_child = [HoleCounter(encoded, own[child], place, n) for child in children.tolist()]
        counted = [Nothing(place, n), *by_child]
        return _Sources(counted, none, 1 + np.arange(len(children)), none, none)
    swept = Swept(encoded)
    if not isinstance(score, BySums):
        g = SumCounter(swept, encoded.grid.f, place, n)
        return _Sources([g], none, none, none + encoded.empty, none)
    functions = SumFunctions(score, encoded)
    value = ValueCounter(swept, functions, place, n)
    states = encoded.arity[plan.limits.most >= 0].tolist()
    constant = functions.constants(states)
    if not score.own_minus:
        nothing = functions.nothing(encoded.context_states)
        return _Sources([value], none, none, none + nothing, constant)
    arities = sorted(set(states))
    minus = [SumCounter(swept, functions.minus(r), place, n) for r in arities]
    nothings = [functions.minus_nothing(r) for r in states]
    which = np.array([1 + arities.index(r) for r in states], np.int64)
    return _Sources([value, *minus], which, none, np.array(nothings, np.int64), constant)
