"""What families that grow are scored by, child by child: sweeps, prices, priors, required parents.

A part of :mod:`parentage.growth.growth`. With y a further parent of X besides Π,

    s(X, Π ∪ y) = along(y) − without(y) − unit·(r − 1)·q − constant + log odds of the arcs,

where *along* and *without* are vectors of two sweeps that the measure counts (its
``family_terms``). For a penalised likelihood they are G of Π ∪ X and of Π; for a score by sums its
value of Π ∪ X and what parents Π subtract, and parameters have no price; with missing values
*along* is the likelihood itself and *without* is 0.

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

from parentage.growth.tuning import TUNING
from parentage.work.executor import in_order, nothing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from parentage.arrays import Ints
    from parentage.kernels.growth import GrowthTerms
    from parentage.scoring.measures.measure import Measure
    from parentage.scoring.search.plan import Preparation, SearchPlan
    from parentage.work.executor import Poll, Workers


Family = tuple[int, tuple[int, ...]]
"""A child and its parents, rising, as encoded variables; required parents are left out."""

Sweep = tuple[int, tuple[int, ...]]
"""The number of a counter, and the set, rising, that it counts with every variable."""


@dataclass(frozen=True, eq=False)
class GrowthScore:
    """The terms of all families, in the numbers of the first plan's variables.

    Counters count the sweeps of all plans, each measure's kinds of sweeps one after the other.
    """

    growing: GrowthTerms
    """For the kernels."""
    measures: tuple[Measure, ...]
    """Those of the plans."""
    own: tuple[Ints, ...]
    """``[plan][i]``: the number of variable i of a plan among all."""
    counters: tuple[tuple[int, int], ...]
    """``[counter]``: its plan, and its kind among the sweeps of that plan's measure."""
    without: Ints
    """``[child]``: index of the counter for the sweep of Π."""
    along: Ints
    """``[child]``: index of the counter for the other one."""
    required: tuple[tuple[int, ...], ...]
    """``[child]``: its required parents."""
    scale: npt.NDArray[np.float64]
    """``[child]``: units in one nat."""

    def sweeps_of(self, family: Family) -> tuple[Sweep, Sweep]:
        """Return the sweeps *without* and *along* of a family."""
        child, parents = family
        if self.measures[0].whole_families:  # nothing is taken off, whatever the parents
            return (int(self.without[child]), ()), (int(self.along[child]), parents)
        return (int(self.without[child]), parents), (int(self.along[child]), joined(parents, child))

    def score_of(self, family: Family) -> int | None:
        """Return the score of one family with parents, bit for bit as enlarging would.

        None if it has so many free parameters that the set without them is better.
        """
        (child, parents), g = family, self.growing
        free = math.prod([int(g.free[child]), *g.arity[list(parents)].tolist()])
        if free >= g.cap[child]:
            return None
        without, along = (self.count_alone(sweep) for sweep in self.sweeps_of(family))
        odds = self.added(np.array([child]), np.array([parents]))
        price = int(g.unit[child]) * free + int(g.constant[child])
        return along - without - price + int(odds[0])

    def added(self, children: npt.NDArray[np.integer], parents: npt.NDArray[np.integer]) -> Ints:
        """Return what the prior adds to families of one size, required parents included."""
        odds, always = self.growing.odds, self.growing.odds_always
        if not len(odds):
            return np.zeros(len(children), np.int64)
        found: Ints = odds[children[:, None], parents].sum(axis=1) + always[children]
        return found

    def count(self, counter: int, sets: Sequence[tuple[int, ...]]) -> list[Ints]:
        """Count sets of sizes that rise, each with every variable; those of a context have a 0."""
        plan, kind = self.counters[counter]
        found: list[Ints] = []
        for size in sorted({len(members) for members in sets}):
            chosen = [members for members in sets if len(members) == size]
            own = self._in_plan(plan)[np.array(chosen, np.int64).reshape(len(chosen), size)]
            vectors = np.zeros((len(chosen), len(self.without)), np.int64)
            vectors[:, self.own[plan]] = self.measures[plan].sweep(kind, own)
            found.extend(vectors)
        return found

    def count_alone(self, sweep: Sweep) -> int:
        """Count one set by itself: what its vector has at its members, of which there are some."""
        counter, members = sweep
        plan, kind = self.counters[counter]
        one = self._in_plan(plan)[np.array([members], np.int64)]
        return int(self.measures[plan].sweep(kind, one, one[0, -1:]).sum())

    def _in_plan(self, plan: int) -> npt.NDArray[np.uint16]:
        """``[variable]``: its number in a plan."""
        found = np.zeros(len(self.without), np.uint16)
        found[self.own[plan]] = np.arange(len(self.own[plan]))
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
    n, place = encoded.n_variables, np.zeros(prepared.table.n_variables, np.int64)
    place[encoded.order] = np.arange(n)  # a constant has none
    own = [place[plan.encoded.order] for plan in plans]
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
        children, grid, context = numbers[plan.most >= 0], plan.encoded.grid, list(plan.context)
        own_without, own_along, empty, constant = plan.measure.family_terms(
            np.flatnonzero(plan.most >= 0)
        )
        without[children] = own_without + sum(kinds)
        along[children] = own_along + sum(kinds)
        kinds.append(plan.measure.kinds_of_sweeps)
        growing.residual[number, numbers] = plan.h
        growing.plan[children] = number
        growing.unit[children], growing.cap[children] = grid.unit, max(1, grid.cap)
        growing.tolerance[children], scale[children] = grid.tolerance, grid.scale
        growing.empty[children], growing.constant[children] = empty, constant
        forbidden[np.ix_(children, place[context])] = True
        for child in children.tolist():
            required[child] = tuple(sorted(place[context].tolist()))
        if prepared.prior:
            growing.odds[children] = np.rint(log_odds[children] * grid.scale)
            always = log_odds[np.ix_(children, place[context])].sum(axis=1)
            growing.odds_always[children] = np.rint(always * grid.scale)
    return GrowthScore(
        growing=growing,
        measures=tuple(measures),
        own=tuple(own),
        counters=tuple((plan, kind) for plan, of in enumerate(kinds) for kind in range(of)),
        without=without,
        along=along,
        required=tuple(required),
        scale=scale,
    )


class Sweeps:
    """The vectors: ``vectors[row[sweep], y]`` is F(S ∪ y), in fixed point."""

    def __init__(self, score: GrowthScore, workers: Workers, memory: int) -> None:
        self.score, self.workers = score, workers
        n = len(score.without)
        self._capacity = max(TUNING.fewest_sweeps, memory // (8 * n))
        self.vectors: Ints = np.empty((min(self._capacity, 2 * TUNING.fewest_sweeps), n), np.int64)
        (self.vectors[0],) = score.count(0, [()])
        self.row: dict[Sweep, int] = {(0, ()): 0}
        self.counted = 0
        self._named: set[Sweep] = set()  # held, but their vectors are not there

    def take_up(self, held: Sequence[Sweep], counted: int) -> None:
        """Hold what was held before; the vectors are counted when needed, and not as new ones."""
        self.row = {sweep: at for at, sweep in enumerate(held[-self._capacity :])}
        rows = max(len(self.vectors), len(self.row))
        self.vectors = np.empty((rows, self.vectors.shape[1]), np.int64)
        self.counted, self._named = counted, set(self.row)

    def hold(self, sweeps: Iterable[Sweep], look: Poll = nothing) -> None:
        """Count the sweeps that are not held; let go of the oldest if there is no room.

        Raises
        ------
        StoppedError
            ``look`` ended the waiting for workers elsewhere; not all are held.
        """
        asked = dict.fromkeys(sweeps)
        for sweep in asked:
            if sweep in self.row:
                self.row[sweep] = self.row.pop(sweep)  # the youngest now
        new = sorted(
            (sweep for sweep in asked if sweep not in self.row or sweep in self._named),
            key=lambda sweep: (sweep[0], len(sweep[1]), sweep[1]),
        )
        if not new:
            return
        step = TUNING.sweeps_per_chunk
        chunks = [new[first : first + step] for first in range(0, len(new), step)]
        counted = in_order(count_sweeps, chunks, self.workers, (self.score,), "sweeps", look)
        for chunk, found in zip(chunks, counted, strict=True):
            for sweep, vector in zip(chunk, found, strict=True):
                if sweep not in self.row:
                    self.row[sweep] = self._free_row()
                    self.counted += 1
                self.vectors[self.row[sweep]] = vector
            self._named.difference_update(chunk)

    def _free_row(self) -> int:
        held = len(self.row)
        if held < self._capacity:
            if held == len(self.vectors):
                wider = np.empty((min(self._capacity, 2 * held), self.vectors.shape[1]), np.int64)
                wider[:held] = self.vectors
                self.vectors = wider
            return held
        return self.row.pop(next(iter(self.row)))


def count_sweeps(score: GrowthScore, sweeps: Sequence[Sweep]) -> list[Ints]:
    """Count sweeps of counters that rise, and of each in sizes that rise; in any worker."""
    found: list[Ints] = []
    for number in sorted({counter for counter, _ in sweeps}):
        own = [members for counter, members in sweeps if counter == number]
        found.extend(score.count(number, own))
    return found
