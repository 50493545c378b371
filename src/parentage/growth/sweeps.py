"""Vectors of sweeps, counted when asked for and kept as long as there is room.

A part of :mod:`parentage.growth.growth`. A sweep is a set of variables; its vector has one number
for every variable y, what the measure counts of the set with y
(:meth:`parentage.scoring.measures.measure.Measure.sweep`).
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.growth.tuning import TUNING
from parentage.work.executor import LeftError, in_order, nothing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from parentage.scoring.fixed_point import Int64s
    from parentage.scoring.measures.measure import Measure
    from parentage.work.executor import Poll, Workers


class Sweep(NamedTuple):
    """A set, rising, and the number of the counter that counts it with every variable."""

    counter: int
    members: tuple[int, ...]


class Counters:
    """What counts the sweeps of all plans, each measure's kinds of sweeps one after the other.

    Sets and vectors are in the numbers of all ``n`` variables, ``own[plan][i]`` is that of variable
    i of a plan; those of its context have a 0.
    """

    def __init__(
        self, measures: Sequence[Measure], own: Sequence[Int64s], kinds: Sequence[int], n: int
    ) -> None:
        self.measures, self.own, self.n = tuple(measures), tuple(own), n
        self.counters = [(plan, kind) for plan, of in enumerate(kinds) for kind in range(of)]

    def count(self, counter: int, sets: Sequence[tuple[int, ...]]) -> list[Int64s]:
        """Count sets of sizes that rise, each with every variable."""
        plan, kind = self.counters[counter]
        found: list[Int64s] = []
        for size in sorted({len(members) for members in sets}):
            chosen = [members for members in sets if len(members) == size]
            own = self._own(plan)[np.array(chosen, np.int64).reshape(len(chosen), size)]
            vectors = np.zeros((len(chosen), self.n), np.int64)
            vectors[:, self.own[plan]] = self.measures[plan].sweep(kind, own)
            found.extend(vectors)
        return found

    def alone(self, sweep: Sweep) -> int:
        """Count one set by itself: what its vector has at its members, of which there are some."""
        plan, kind = self.counters[sweep.counter]
        one = self._own(plan)[np.array([sweep.members], np.int64)]
        return self.measures[plan].count_alone(kind, one)

    def _own(self, plan: int) -> npt.NDArray[np.uint16]:
        """``[variable]``: its number in a plan."""
        found = np.zeros(self.n, np.uint16)
        found[self.own[plan]] = np.arange(len(self.own[plan]))
        return found


class Sweeps:
    """The vectors: ``vectors[row[sweep], y]`` is F(S ∪ y), in fixed point."""

    def __init__(self, counters: Counters, workers: Workers, memory: int) -> None:
        self.counters, self.workers = counters, workers
        n = counters.n
        self._capacity = max(TUNING.fewest_sweeps, memory // (8 * n))
        self.vectors: Int64s = np.empty(
            (min(self._capacity, 2 * TUNING.fewest_sweeps), n), np.int64
        )
        (self.vectors[0],) = counters.count(0, [()])
        self.row: dict[Sweep, int] = {Sweep(0, ()): 0}
        self.counted = 0
        self._named: set[Sweep] = set()  # held, but their vectors are not there

    def take_up(self, held: Sequence[Sweep], counted: int) -> None:
        """Hold what was held before; the vectors are counted when needed, and not as new ones."""
        self.row = {sweep: at for at, sweep in enumerate(held[-self._capacity :])}
        rows = max(len(self.vectors), len(self.row))
        self.vectors = np.empty((rows, self.vectors.shape[1]), np.int64)
        self.counted, self._named = counted, set(self.row)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what those who only count do not need: vectors, and who else counts."""
        return {**vars(self), "workers": 1, "vectors": self.vectors[:0], "row": {}, "_named": set()}

    def hold(self, sweeps: Iterable[Sweep], look: Poll = nothing) -> None:
        """Count the sweeps that are not held; let go of the oldest if there is no room.

        Raises
        ------
        LeftError
            ``look`` ended the waiting for workers elsewhere; not all are held.
        """
        asked = dict.fromkeys(sweeps)
        for sweep in asked:
            if sweep in self.row:
                self.row[sweep] = self.row.pop(sweep)  # the youngest now
        new = sorted(
            (sweep for sweep in asked if sweep not in self.row or sweep in self._named),
            key=lambda sweep: (sweep.counter, len(sweep.members), sweep.members),
        )
        if not new:
            return
        step = TUNING.sweeps_per_chunk
        chunks = [new[first : first + step] for first in range(0, len(new), step)]
        done = 0
        counted = in_order(count_sweeps, chunks, self.workers, (self,), "sweeps", look)
        for found in counted:
            for sweep, vector in zip(chunks[done], found, strict=True):
                if sweep not in self.row:
                    self.row[sweep] = self._free_row()
                    self.counted += 1
                self.vectors[self.row[sweep]] = vector
            self._named.difference_update(chunks[done])
            done += 1
        if done < len(chunks):
            raise LeftError

    def _free_row(self) -> int:
        held = len(self.row)
        if held < self._capacity:
            if held == len(self.vectors):
                wider = np.empty((min(self._capacity, 2 * held), self.vectors.shape[1]), np.int64)
                wider[:held] = self.vectors
                self.vectors = wider
            return held
        return self.row.pop(next(iter(self.row)))

    def count(self, sweeps: Sequence[Sweep]) -> list[Int64s]:
        """Count sweeps of counters that rise, and of each in sizes that rise."""
        found: list[Int64s] = []
        for number in sorted({sweep.counter for sweep in sweeps}):
            own = [sweep.members for sweep in sweeps if sweep.counter == number]
            found.extend(self.counters.count(number, own))
        return found


def count_sweeps(sweeps: Sweeps, some: Sequence[Sweep]) -> list[Int64s]:
    """Count some sweeps, wherever."""
    return sweeps.count(some)


def flat_sweeps(sweeps: Sequence[Sweep]) -> tuple[Int64s, npt.NDArray[np.int32]]:
    """Return how many members sweeps have, and counter and members, one after the other.

    >>> flat_sweeps([Sweep(0, ()), Sweep(1, (0, 2))])
    (array([0, 2]), array([0, 1, 0, 2], dtype=int32))
    """
    sizes = np.array([len(sweep.members) for sweep in sweeps], np.int64)
    flat = chain.from_iterable((sweep.counter, *sweep.members) for sweep in sweeps)
    return sizes, np.fromiter(flat, np.int32, int(sizes.sum()) + len(sizes))


def sweeps_of(sizes: Int64s, flat: npt.NDArray[np.int32]) -> list[Sweep]:
    """Return what :func:`flat_sweeps` took apart.

    >>> sweeps_of(*flat_sweeps([Sweep(0, ()), Sweep(1, (0, 2))]))
    [Sweep(counter=0, members=()), Sweep(counter=1, members=(0, 2))]
    """
    numbers, ends = flat.tolist(), np.cumsum(sizes + 1).tolist()
    starts = [0, *ends][:-1]
    return [
        Sweep(numbers[start], tuple(numbers[start + 1 : end]))
        for start, end in zip(starts, ends, strict=True)
    ]
