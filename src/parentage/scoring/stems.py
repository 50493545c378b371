"""Vectors of stems, counted when asked for and kept as long as there is room.

A part of :mod:`parentage.scoring.growth`. A stem is a set of variables; its vector has one number
for every variable y, what the measure counts of the set with y
(:meth:`parentage.scoring.measures.measure.Measure.sweep`).
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.work.executor import LeftError, in_order, nothing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from parentage.scoring.fixed_point import Int64s
    from parentage.scoring.measures.measure import Measure
    from parentage.work.executor import Poll, Workers

AT_ONCE = 128
"""Parent sets that are enlarged together."""

STEMS_PER_CHUNK = 16
"""Stems that a thread counts at a time."""

FEWEST_STEMS = 4 * AT_ONCE


class Stem(NamedTuple):
    """A set, rising, and the number of the counter that counts it with every variable."""

    counter: int
    members: tuple[int, ...]


class Counters:
    """What counts the stems of all plans, each measure's kinds of sweeps one after the other.

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

    def alone(self, stem: Stem) -> int:
        """Count one set by itself: what its vector has at its members, of which there are some."""
        plan, kind = self.counters[stem.counter]
        one = self._own(plan)[np.array([stem.members], np.int64)]
        return self.measures[plan].count_alone(kind, one)

    def _own(self, plan: int) -> npt.NDArray[np.uint16]:
        """``[variable]``: its number in a plan."""
        found = np.zeros(self.n, np.uint16)
        found[self.own[plan]] = np.arange(len(self.own[plan]))
        return found


class Stems:
    """The vectors: ``vectors[row[stem], y]`` is F(S ∪ y), in fixed point."""

    def __init__(self, counters: Counters, workers: Workers, memory: int) -> None:
        self.counters, self.workers = counters, workers
        n = counters.n
        self._capacity = max(FEWEST_STEMS, memory // (8 * n))
        self.vectors: Int64s = np.empty((min(self._capacity, 2 * FEWEST_STEMS), n), np.int64)
        (self.vectors[0],) = counters.count(0, [()])
        self.row: dict[Stem, int] = {Stem(0, ()): 0}
        self.counted = 0
        self._named: set[Stem] = set()  # held, but their vectors are not there

    def take_up(self, held: Sequence[Stem], counted: int) -> None:
        """Hold what was held before; the vectors are counted when needed, and not as new ones."""
        self.row = {stem: at for at, stem in enumerate(held[-self._capacity :])}
        rows = max(len(self.vectors), len(self.row))
        self.vectors = np.empty((rows, self.vectors.shape[1]), np.int64)
        self.counted, self._named = counted, set(self.row)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what those who only count do not need: vectors, and who else counts."""
        return {**vars(self), "workers": 1, "vectors": self.vectors[:0], "row": {}, "_named": set()}

    def hold(self, stems: Iterable[Stem], look: Poll = nothing) -> None:
        """Count the stems that are not held; let go of the oldest if there is no room.

        Raises
        ------
        LeftError
            ``look`` ended the waiting for workers elsewhere; not all are held.
        """
        asked = dict.fromkeys(stems)
        for stem in asked:
            if stem in self.row:
                self.row[stem] = self.row.pop(stem)  # the youngest now
        new = sorted(
            (stem for stem in asked if stem not in self.row or stem in self._named),
            key=lambda stem: (stem.counter, len(stem.members), stem.members),
        )
        if not new:
            return
        step = STEMS_PER_CHUNK
        chunks = [new[first : first + step] for first in range(0, len(new), step)]
        done = 0
        counted = in_order(count_stems, chunks, self.workers, (self,), "stems", look)
        for found in counted:
            for stem, vector in zip(chunks[done], found, strict=True):
                if stem not in self.row:
                    self.row[stem] = self._free_row()
                    self.counted += 1
                self.vectors[self.row[stem]] = vector
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

    def count(self, stems: Sequence[Stem]) -> list[Int64s]:
        """Count stems of counters that rise, and of each in sizes that rise."""
        found: list[Int64s] = []
        for number in sorted({stem.counter for stem in stems}):
            own = [stem.members for stem in stems if stem.counter == number]
            found.extend(self.counters.count(number, own))
        return found


def count_stems(stems: Stems, some: Sequence[Stem]) -> list[Int64s]:
    """Count some stems, wherever."""
    return stems.count(some)


def flat_stems(stems: Sequence[Stem]) -> tuple[Int64s, npt.NDArray[np.int32]]:
    """Return how many members stems have, and counter and members, one after the other.

    >>> flat_stems([Stem(0, ()), Stem(1, (0, 2))])
    (array([0, 2]), array([0, 1, 0, 2], dtype=int32))
    """
    sizes = np.array([len(stem.members) for stem in stems], np.int64)
    flat = chain.from_iterable((stem.counter, *stem.members) for stem in stems)
    return sizes, np.fromiter(flat, np.int32, int(sizes.sum()) + len(sizes))


def stems_of(sizes: Int64s, flat: npt.NDArray[np.int32]) -> list[Stem]:
    """Return what :func:`flat_stems` took apart.

    >>> stems_of(*flat_stems([Stem(0, ()), Stem(1, (0, 2))]))
    [Stem(counter=0, members=()), Stem(counter=1, members=(0, 2))]
    """
    numbers, ends = flat.tolist(), np.cumsum(sizes + 1).tolist()
    starts = [0, *ends][:-1]
    return [
        Stem(numbers[start], tuple(numbers[start + 1 : end]))
        for start, end in zip(starts, ends, strict=True)
    ]
