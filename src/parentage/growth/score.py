"""What families that grow are scored by, child by child: sweeps, prices, priors, required parents.

A part of :mod:`parentage.growth.growth`. With y a further parent of X besides Π,

    s(X, Π ∪ y) = along(y) − without(y) − unit·(r − 1)·q − constant + log odds of the arcs,

where *along* and *without* are vectors of two sweeps that the measure counts
(:class:`parentage.scoring.measures.measure.FamilyTerms`). For a penalised likelihood they are G of
Π ∪ X and of Π; for a score by sums its value of Π ∪ X and what parents Π subtract, and parameters
have no price; with missing values *along* is the likelihood itself and *without* is 0.

A child with required parents has them in every set: its families are those of its own plan, within
the *context* of those parents, on the grid of that plan, and are held without them. So every score
is bit for bit that of complete lists, and no required parent can be dropped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from parentage.growth.sweeps import Counters, Sweep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parentage.kernels.growth import GrowthTerms
    from parentage.scoring.fixed_point import Int64s
    from parentage.scoring.plan import Preparation, SearchPlan

Family = tuple[int, tuple[int, ...]]
"""A child and its parents, rising, as encoded variables; required parents are left out."""


@dataclass(frozen=True, eq=False)
class GrowthScore:
    """The terms of all families, in the numbers of the first plan's variables."""

    growing: GrowthTerms
    """For the kernels."""
    counters: Counters
    without: Int64s
    """``[child]``: index of the counter for the sweep of Π."""
    along: Int64s
    """``[child]``: index of the counter for the other one."""
    by_child: bool
    """Whether the other one is of Π for the child, not of Π ∪ X."""
    payable: bool
    """Whether Theorem 1⁺ can tell beforehand, from *without* alone, that no parent can pay."""
    required: tuple[tuple[int, ...], ...]
    """``[child]``: its required parents."""
    scale: npt.NDArray[np.float64]
    """``[child]``: units in one nat."""

    def sweeps_of(self, family: Family) -> tuple[Sweep, Sweep]:
        """Return the sweeps *without* and *along* of a family."""
        child, parents = family
        if self.by_child:  # nothing is taken off, whatever the parents
            return Sweep(int(self.without[child]), ()), Sweep(int(self.along[child]), parents)
        others = joined(parents, child)
        return Sweep(int(self.without[child]), parents), Sweep(int(self.along[child]), others)

    def score_of(self, family: Family) -> int | None:
        """Return the score of one family with parents, bit for bit as enlarging would.

        None if it has so many free parameters that the set without them is better.
        """
        (child, parents), g = family, self.growing
        free = math.prod([int(g.free[child]), *g.arity[list(parents)].tolist()])
        if free >= g.cap[child]:
            return None
        without, along = (self.counters.alone(sweep) for sweep in self.sweeps_of(family))
        odds = self.added(np.array([child]), np.array([parents]))
        price = int(g.unit[child]) * free + int(g.constant[child])
        return along - without - price + int(odds[0])

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


def growth_score(prepared: Preparation, plans: Sequence[SearchPlan]) -> GrowthScore:
    """Put together what the families of all plans are scored by."""
    from parentage.kernels.growth import GrowthTerms

    encoded, measures = plans[0].encoded, [plan.measure for plan in plans]
    n, place, own = encoded.n_variables, places(prepared, plans), variables_of(prepared, plans)
    required: list[tuple[int, ...]] = [()] * n
    forbidden = np.array(plans[0].forbidden, order="C")
    log_odds = prepared.log_odds[np.ix_(encoded.order, encoded.order)]
    keys = np.random.default_rng(20_180_612).integers(1 << 63, size=(2, n), dtype=np.uint64)
    keys = keys * np.uint64(2) + np.uint64(1)
    growing = GrowthTerms(
        arity=encoded.arity,
        free=encoded.arity - 1 if measures[0].priced else np.zeros(n, np.int64),
        residual=np.zeros((len(plans), n), np.int64),
        plan=np.zeros(n, np.int64),
        forbidden=forbidden,
        odds=np.zeros((n, n) if prepared.prior else (0, 0), np.int64),
        odds_always=np.zeros(n, np.int64),
        child_key=keys[0],
        parent_key=keys[1],
        unit=np.zeros(n, np.int64),
        cap=np.zeros(n, np.int64),
        tolerance=np.zeros(n, np.int64),
        empty=np.zeros(n, np.int64),
        constant=np.zeros(n, np.int64),
    )
    without, along, scale = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n)
    kinds: list[int] = []
    for number, (plan, numbers) in enumerate(zip(plans, own, strict=True)):
        children, grid, context = children_of(plan, numbers), plan.encoded.grid, list(plan.context)
        terms = plan.measure.family_terms(np.flatnonzero(plan.limits.most >= 0))
        without[children] = terms.without + sum(kinds)
        along[children] = terms.along + sum(kinds)
        kinds.append(terms.sweeps)
        growing.residual[number, numbers] = plan.h
        growing.plan[children] = number
        growing.unit[children], growing.cap[children] = grid.unit, max(1, grid.cap)
        growing.tolerance[children], scale[children] = grid.tolerance, grid.scale
        growing.empty[children], growing.constant[children] = terms.empty, terms.constant
        forbidden[np.ix_(children, place[context])] = True
        for child in children.tolist():
            required[child] = tuple(sorted(place[context].tolist()))
        if prepared.prior:
            growing.odds[children] = np.rint(log_odds[children] * grid.scale)
            always = log_odds[np.ix_(children, place[context])].sum(axis=1)
            growing.odds_always[children] = np.rint(always * grid.scale)
    return GrowthScore(
        growing=growing,
        counters=Counters(measures, own, kinds, n),
        without=without,
        along=along,
        by_child=measures[0].whole_families,
        payable=measures[0].payable,
        required=tuple(required),
        scale=scale,
    )


def variables_of(prepared: Preparation, plans: Sequence[SearchPlan]) -> list[Int64s]:
    """Return, per plan, the numbers that its variables have in the first one."""
    place = places(prepared, plans)
    return [place[plan.encoded.order] for plan in plans]


def places(prepared: Preparation, plans: Sequence[SearchPlan]) -> Int64s:
    """``[column of the table]``: its number in the first plan; 0 for a constant, which has none."""
    order = plans[0].encoded.order
    place = np.zeros(prepared.table.n_variables, np.int64)
    place[order] = np.arange(len(order))
    return place


def children_of(plan: SearchPlan, own: Int64s) -> Int64s:
    """Return the numbers of the children whose families a plan has."""
    return own[plan.limits.most >= 0]
