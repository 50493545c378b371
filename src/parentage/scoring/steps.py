"""One step of a search, whatever the score: chunks on workers, put together in order.

A step joins the siblings of one level, judges, counts and scores what survives; a chunk of it works
on private arrays and chunks are put together in order, so the result is bit for bit the same for
any number of threads, or of workers elsewhere (:mod:`parentage.work.executor`). Part of
:mod:`parentage.scoring.search`; what the levels hold is up to the measure
(:mod:`parentage.scoring.measures.measure`).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from parentage.scoring.forecast import JOINING, LISTING
from parentage.scoring.measures.measure import arrays_of, blocks, never
from parentage.scoring.portions import joins_per_task
from parentage.scoring.rulebook import ORDER
from parentage.work.array_files import is_mapped, room_beside
from parentage.work.executor import in_order
from parentage.work.progress import Progress
from parentage.work.stop import StoppedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from parentage.kernels.levels import Level
    from parentage.scoring.entropy import Encoding
    from parentage.scoring.fixed_point import Int64s
    from parentage.scoring.measures.measure import Measure, Rung
    from parentage.scoring.search_state import LevelStore, SearchState
    from parentage.work.array_files import Array
    from parentage.work.executor import Workers
    from parentage.work.progress import Report
    from parentage.work.stop import Reason, Stop

MOST_PAIRS = 65_536
FEWEST_PAIRS = 256

S = TypeVar("S", bound=np.generic)


class Kept(NamedTuple):
    """Kept families of one size: children ``[f]``, parents ``[f, size]``, fixed-point scores."""

    children: Int64s
    parents: Int64s
    scores: Int64s


@dataclass(eq=False)
class Outcome:
    """What a search found and what it cost."""

    kept: list[Kept] = field(default_factory=list)
    sets_counted: int = 0
    families_scored: int = 0
    tally: Int64s = field(default_factory=lambda: np.zeros(len(ORDER), np.int64))
    live: list[int] = field(default_factory=list)
    """Sets of each size, from single variables on."""
    complete_to: int | None = None
    """In-degree up to which the lists are complete; None when nothing was cut short."""
    ended: Reason | None = None
    """Why the search was cut short."""
    beyond: npt.NDArray[np.float64] | None = None
    """``[variable]``: what no family beyond ``complete_to`` exceeds, in nats; −∞: there is none."""
    partial: list[Kept] = field(default_factory=list)
    """Kept families of the level that was cut short: right, but not all there are."""
    explored: int = 0
    """Families beyond ``complete_to`` that were scored (:mod:`parentage.growth.growth`)."""

    def listing(self) -> int:
        """Return what making lists of the kept families will take, in bytes."""
        return LISTING * sum(array.nbytes for part in self.kept for array in part)


@dataclass(frozen=True, eq=False)
class Chunk:
    """One task's share of a level and its result."""

    pairs: int
    parts: tuple[npt.NDArray[np.generic], ...] | None
    kept: Kept | None
    sets: int
    scored: int
    tally: Int64s


class Clock(NamedTuple):
    """When to end, whom to tell, and since when the search runs."""

    stop: Stop
    report: Report | None
    began: float

    def check(self) -> None:
        """Raise StoppedError if it is time to end."""
        reason = self.stop.reason()
        if reason is not None:
            raise StoppedError(reason)


class LevelStep:
    """From one level to the next: joins, counts and scores runs of its sets.

    A step is sent as what it is made of; which sets are joined with which is found where it
    arrives, faster than it could be sent. ``below`` is the number of sets of the level below,
    ``store`` says whether the new level is needed for a further one. Looking through the level
    calls ``check`` between blocks, which may raise StoppedError.
    """

    def __init__(
        self,
        level: Level,
        below: int,
        rung: Rung,
        store: bool,
        check: Callable[[], None] = never,
    ) -> None:
        self.level, self.below, self.rung, self.store = level, below, rung, store
        self.overflowed = False
        self._find_siblings(check)

    def __reduce__(self) -> tuple[type[LevelStep], tuple[Any, ...]]:
        return LevelStep, (self.level, self.below, self.rung, self.store)

    def _find_siblings(self, check: Callable[[], None]) -> None:
        """See which sets are joined with which, and how many joins come before each."""
        from parentage.kernels.levels import Siblings, live_members

        level, n_sets = self.level, len(self.level.members)
        children = np.zeros(self.below + 1, np.int64)
        for some in blocks(n_sets, level.subsets, check=check):
            prefix = level.subsets[some, -1]
            low, high = int(prefix[0]), int(prefix[-1])  # they rise
            children[low + 1 : high + 2] += np.bincount(prefix - low)
        np.cumsum(children, out=children)
        beside = level.members
        end = room_beside(beside, n_sets, np.int64)
        tails = room_beside(beside, n_sets, np.uint16)
        live = room_beside(beside, n_sets, np.uint64)
        self.pairs = room_beside(beside, n_sets + 1, np.int64)
        before = 0
        for some in blocks(n_sets, *arrays_of(level), end, tails, live, self.pairs, check=check):
            end[some] = children[level.subsets[some, -1] + 1]
            tails[some] = level.members[some, -1]
            live_members(level.best[some], live[some])
            joins = np.cumsum(end[some] - np.arange(some.start, some.stop) - 1)
            self.pairs[some] = before + np.concatenate([[0], joins[:-1]])
            before += int(joins[-1])
        self.pairs[n_sets] = before
        self.siblings = Siblings(end, children, tails, live)

    def work(self, measure: Measure, span: tuple[int, int]) -> Chunk:
        """Join, count and score one run of sets; touches nothing shared."""
        from parentage.kernels.levels import Level, score_level

        first, last = span
        pairs = int(self.pairs[last] - self.pairs[first])
        shape = pairs, self.level.members.shape[1] + 1
        room = Level(
            np.empty(shape, np.uint16),
            np.empty(shape, np.int32),
            np.empty(shape, np.int64),
            measure.uncounted(pairs),
        )
        tally = np.zeros(len(ORDER), np.int64)
        run = np.int64(first), np.int64(last)
        end = measure.join(run, self.siblings, self.level, self.rung, room, tally)
        if end == 0:
            return Chunk(pairs, None, None, 0, 0, tally)
        members, subsets, best, *uncounted = (self._trimmed(a, end) for a in arrays_of(room))
        columns, terms = measure.count(members, measure.columns_of(uncounted), self.rung)
        new = Level(members, subsets, best, columns)
        where = np.empty(members.size, np.int32)
        child = np.empty(members.size, np.uint8)
        score = np.empty(members.size, np.int64)
        scored, kept = score_level(
            new, self.level.columns, self.rung.facts, terms, where, child, score
        )
        found = collect(members, where[:kept], child[:kept], score[:kept])
        return Chunk(pairs, arrays_of(measure.stored(new)), found, end, int(scored), tally)

    def _trimmed(self, array: npt.NDArray[S], end: int) -> npt.NDArray[S]:
        """Return the first rows, without the rest if that would stay in memory for nothing."""
        part = array[:end]
        return part.copy() if self.store and 4 * end < 3 * len(array) else part

    def at_once(self, encoded: Encoding) -> int:
        """Return the number of joins that are made, counted and scored together."""
        rows = max(1, encoded.rows_in_groups)
        return min(MOST_PAIRS, max(FEWEST_PAIRS, 2**30 // rows))

    def runs(self, first: int, end: int, most: int) -> Iterator[tuple[int, int]]:
        """Cut sets into runs of at most so many joins, or of one set."""
        while first < end:
            last = int(np.searchsorted(self.pairs, self.pairs[first] + most, side="right")) - 1
            last = min(max(last, first + 1), end)
            if self.pairs[last] > self.pairs[first]:
                yield first, last
            first = last

    def per_task(self, encoded: Encoding, workers: Workers, seconds_left: float) -> int:
        """Return the joins of a task; a set that is sent back is wider by one than one of ours."""
        sets, size = self.level.members.shape
        width = sum(array.nbytes for array in arrays_of(self.level)) * (size + 1) // (sets * size)
        return joins_per_task(
            self.at_once(encoded), int(self.pairs[-1]), encoded.distinct_rows,
            width if self.store else 0, workers, seconds_left,
        )  # fmt: skip

    def tasks(self, done: int, most: int) -> Iterator[tuple[int, int, bool]]:
        """Yield the runs behind so many joins, each with whether its sets are still stored."""
        first = int(np.searchsorted(self.pairs, done, side="right")) - 1
        for start, end in self.runs(first, len(self.level.members), most):
            yield start, end, self.store

    def run(
        self,
        measure: Measure,
        outcome: Outcome,
        workers: Workers,
        clock: Clock,
        at: SearchState,
        store: LevelStore,
    ) -> None:
        """Do the chunks that are missing, in order; what is found is in the state's ``new``."""
        memory = math.inf if clock.stop.memory is None else clock.stop.memory
        arrays = (*arrays_of(self.level), *self.siblings, self.pairs)
        held = resident(arrays) + outcome.listing()
        most = self.per_task(measure.encoded, workers, clock.stop.seconds_left)
        tasks, shared = self.tasks(at.pairs, most), (measure, self)
        for chunk in in_order(work_on, tasks, workers, shared, self.phase, clock.check):
            at.pairs += chunk.pairs
            outcome.sets_counted += chunk.sets
            outcome.families_scored += chunk.scored
            outcome.tally += chunk.tally
            if chunk.kept is not None:
                outcome.kept.append(chunk.kept)
                held += LISTING * sum(array.nbytes for array in chunk.kept)
            if self.store and chunk.parts is not None:
                at.new.add(chunk.parts)
            if held > memory:
                raise StoppedError("memory")
            if (
                self.store
                and held + JOINING * at.new.in_memory > memory
                and not store.spill(at.new)
            ):
                self.store, self.overflowed = False, True
                at.new.clear()
            reason = clock.stop.reason()
            if reason is not None and at.pairs < self.pairs[-1]:
                raise StoppedError(reason)
            store.relieve(arrays)
            store.save_chunk(at, outcome)
            if clock.report is not None:
                clock.report(self.progress(at.pairs, outcome.sets_counted, clock.began))

    @property
    def phase(self) -> str:
        """What is going on, in words."""
        in_degree = self.level.members.shape[1]
        return f"{in_degree} parent{'' if in_degree == 1 else 's'}"

    def progress(self, done: int, sets_counted: int, began: float) -> Progress:
        """Say where the search is."""
        return Progress(
            "scoring",
            self.phase,
            time.perf_counter() - began,
            done,
            int(self.pairs[-1]),
            sets_counted,
        )


def work_on(measure: Measure, step: LevelStep, task: tuple[int, int, bool]) -> Chunk:
    """Run one task of a step, in any worker; sets that nobody will store are not sent back."""
    first, last, store = task
    chunks = []
    for run in step.runs(first, last, step.at_once(measure.encoded)):
        chunk = step.work(measure, run)
        chunks.append(chunk if store else replace(chunk, parts=None))
    return put_together(chunks)


def put_together(chunks: Sequence[Chunk]) -> Chunk:
    """Make one chunk of those of a task."""
    if len(chunks) == 1:
        return chunks[0]
    parts = [chunk.parts for chunk in chunks if chunk.parts is not None]
    kept = [chunk.kept for chunk in chunks if chunk.kept is not None]
    return Chunk(
        sum(chunk.pairs for chunk in chunks),
        tuple(map(np.concatenate, zip(*parts, strict=True))) if parts else None,
        Kept(*map(np.concatenate, zip(*kept, strict=True))) if kept else None,
        sum(chunk.sets for chunk in chunks),
        sum(chunk.scored for chunk in chunks),
        np.sum([chunk.tally for chunk in chunks], axis=0),
    )


def resident(arrays: Sequence[Array]) -> int:
    """Return what arrays take in memory, in bytes: files that are mapped take none."""
    return sum(array.nbytes for array in arrays if not is_mapped(array))


def collect(
    all_members: npt.NDArray[np.uint16],
    sets: npt.NDArray[np.int32],
    child: npt.NDArray[np.uint8],
    scores: Int64s,
) -> Kept | None:
    """Turn kept families of a chunk into children and parents."""
    if len(sets) == 0:
        return None
    members = all_members[sets].astype(np.int64)
    parent = np.arange(members.shape[1]) != child[:, None]
    parents = members[parent].reshape(len(sets), members.shape[1] - 1)
    return Kept(members[~parent], parents, scores.copy())
