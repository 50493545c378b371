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

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
    from collections.abc import Callable

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
    """Whether Theorem 1⁺ can tell beforehand, from *without* alone, that no parent can pay."""
    required: tuple[tuple[int, ...], ...]
    """``[child]``: its required parents."""
    scale: npt.NDArray[np.float64]
    """``[child]``: units in one nat."""

    def stems_of(self, family: Family) -> tuple[Stem, Stem]:
        """Return the stems *without* and *along* of a family."""
        child, parents = family
        if self.by_child:  # nothing is taken off, whatever the parents
            return Stem(int(self.without[child]), ()), Stem(int(self.along[child]), parents)
        others = joined(parents, child)
        return Stem(int(self.without[child]), parents), Stem(int(self.along[child]), others)

    def score_of(self, family: Family) -> int | None:
        """Return the score of one family with parents, bit for bit as enlarging would.

        None if it has so many free parameters that the set without them is better.
        """
        (child, parents), g = family, self.growing
        free = math.prod([int(g.free[child]), *g.arity[list(parents)].tolist()])
        if free >= g.cap[child]:
            return None
        without, along = (
            self.counters[stem.counter].alone(stem.members) for stem in self.stems_of(family)
        )
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


@dataclass(frozen=True, eq=False)
class _Part:
    """The children of one plan: who counts their stems, and what they have without parents."""

    plan: SearchPlan
    own: Int64s
    """``[variable of the plan]``: its number among all."""
    counters: list[Counter]
    without: Int64s
    """``[child]``: index into ``counters``."""
    along: Int64s
    """``[child]``: index into ``counters``."""
    empty: Int64s
    """``[child]``: what *without* has for the empty set."""
    constant: Int64s
    """``[child]``."""

    @property
    def children(self) -> Int64s:
        """Their numbers."""
        return children_of(self.plan, self.own)


def terms_of(prepared: Preparation) -> Terms:
    """Put together what the families of all plans are scored by."""
    from parentage.kernels.stems import Growing

    own, encoded = variables_of(prepared), prepared.plans[0].encoded
    n = encoded.n_variables
    parts = [_part(plan, numbers, n) for plan, numbers in zip(prepared.plans, own, strict=True)]
    place = _places(prepared)
    contexts = [place[list(part.plan.context)] for part in parts]
    required: list[tuple[int, ...]] = [()] * n
    forbidden = np.array(prepared.plans[0].forbidden, order="C")
    residual = np.zeros((len(parts), n), np.int64)
    odds = np.zeros((n, n) if prepared.prior else (0, 0), np.int64)
    odds_always = np.zeros(n, np.int64)
    log_odds = prepared.log_odds[np.ix_(encoded.order, encoded.order)]
    for number, (part, context) in enumerate(zip(parts, contexts, strict=True)):
        children, scale = part.children, part.plan.encoded.grid.scale
        residual[number, part.own] = part.plan.h
        forbidden[np.ix_(children, context)] = True
        for child in children.tolist():
            required[child] = tuple(sorted(context.tolist()))
        if prepared.prior:
            odds[children] = np.rint(log_odds[children] * scale)
            always = log_odds[np.ix_(children, context)].sum(axis=1)
            odds_always[children] = np.rint(always * scale)

    def by_child(values: Callable[[_Part], object], of: type = np.int64) -> npt.NDArray[Any]:
        found: npt.NDArray[Any] = np.zeros(n, of)
        for part in parts:
            found[part.children] = values(part)
        return found

    before = np.cumsum([0, *(len(part.counters) for part in parts)])
    keys = np.random.default_rng(20_180_612).integers(1 << 63, size=(2, n), dtype=np.uint64)
    keys = keys * np.uint64(2) + np.uint64(1)
    by_sums, holes = isinstance(prepared.score, BySums), isinstance(encoded, EncodedHoles)
    growing = Growing(
        arity=encoded.arity,
        free=np.zeros(n, np.int64) if by_sums else encoded.arity - 1,
        residual=residual,
        plan=by_child(parts.index),
        forbidden=forbidden,
        odds=odds,
        odds_always=odds_always,
        child_key=keys[0],
        parent_key=keys[1],
        unit=by_child(lambda part: part.plan.encoded.grid.unit),
        cap=by_child(lambda part: max(1, part.plan.encoded.grid.cap)),
        tolerance=by_child(lambda part: part.plan.encoded.grid.tolerance),
        empty=by_child(lambda part: part.empty),
        constant=by_child(lambda part: part.constant),
    )
    return Terms(
        growing=growing,
        counters=tuple(counter for part in parts for counter in part.counters),
        without=by_child(lambda part: part.without + before[parts.index(part)]),
        along=by_child(lambda part: part.along + before[parts.index(part)]),
        by_child=holes,
        payable=not (by_sums or holes),
        required=tuple(required),
        scale=by_child(lambda part: part.plan.encoded.grid.scale, np.float64),
    )


def variables_of(prepared: Preparation) -> list[Int64s]:
    """Return, per plan, the numbers that its variables have in the first one."""
    place = _places(prepared)
    return [place[plan.encoded.order] for plan in prepared.plans]


def _places(prepared: Preparation) -> Int64s:
    """``[column of the table]``: its number in the first plan; 0 for a constant, which has none."""
    order = prepared.plans[0].encoded.order
    place = np.zeros(prepared.table.n_variables, np.int64)
    place[order] = np.arange(len(order))
    return place


def children_of(plan: SearchPlan, own: Int64s) -> Int64s:
    """Return the numbers of the children whose families a plan has."""
    return own[plan.limits.most >= 0]


def _part(plan: SearchPlan, own: Int64s, n: int) -> _Part:
    """See who counts what of the children of a plan."""
    encoded, score = plan.encoded, plan.score
    children = np.flatnonzero(plan.limits.most >= 0)
    none = np.zeros(len(children), np.int64)
    if isinstance(encoded, EncodedHoles):
        by_child = [HoleCounter(encoded, child, own, n) for child in children.tolist()]
        counters = [Nothing(own, n), *by_child]
        return _Part(plan, own, counters, none, 1 + np.arange(len(children)), none, none)
    swept = Swept(encoded)
    if not isinstance(score, BySums):
        counter = SumCounter(swept, encoded.grid.f, own, n)
        return _Part(plan, own, [counter], none, none, none + encoded.empty, none)
    functions = SumFunctions(score, encoded)
    value = ValueCounter(swept, functions, own, n)
    states = encoded.arity[children].tolist()
    constant = functions.constants(states)
    if not score.own_minus:
        nothing = functions.nothing(encoded.context_states)
        return _Part(plan, own, [value], none, none, none + nothing, constant)
    arities = sorted(set(states))
    minus = [SumCounter(swept, functions.minus(r), own, n) for r in arities]
    nothings = {r: functions.minus_nothing(r) for r in arities}
    which = np.array([1 + arities.index(r) for r in states], np.int64)
    empty = np.array([nothings[r] for r in states], np.int64)
    return _Part(plan, own, [value, *minus], which, none, empty, constant)
