"""One step of a search, whatever the score: chunks on workers, put together in order.

A step joins the siblings of one level, judges, counts and scores what survives; a chunk of it works
on private arrays and chunks are put together in order, so the result is bit for bit the same for
any number of threads, or of workers elsewhere (:mod:`parentage.work.executor`). Part of
:mod:`parentage.scoring.search`; what the levels hold is in :mod:`parentage.scoring.penalty_search`
and :mod:`parentage.scoring.sum_search`.
"""

from __future__ import annotations

import math
import threading
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from parentage.scoring.forecast import JOINING, LISTING
from parentage.scoring.portions import joins_per_task
from parentage.scoring.rulebook import ORDER
from parentage.work.array_files import is_mapped, let_pages_go, room_beside
from parentage.work.executor import in_order
from parentage.work.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from parentage.scoring.entropy import Encoded, Int64s
    from parentage.scoring.search_state import LevelStore, SearchState
    from parentage.work.array_files import Array
    from parentage.work.executor import Workers
    from parentage.work.progress import Report
    from parentage.work.stop import Reason, Stop

MOST_PAIRS = 65_536
SETS_AT_ONCE = 2**20
FEWEST_PAIRS = 256

S = TypeVar("S", bound=np.generic)
NOT_SENT = ("encoded", "siblings", "pairs")
_MAKING_READY = threading.Lock()


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
    """Families beyond ``complete_to`` that were scored (:mod:`parentage.scoring.growth`)."""

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


class StoppedError(Exception):
    """The search was asked to stop, or what it keeps does not fit."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason


def go_on() -> None:
    """Ask nobody: what is begun is finished."""


class Step(ABC):
    """From one level to the next.

    ``level`` is a named tuple of arrays with ``members``, ``subsets`` and ``best``, the level below
    has ``n_below`` sets; ``capped`` says per child what bars the new in-degree, ``store`` whether
    the new level is needed for a further one. Looking through the level asks ``check`` between
    blocks, which may raise StoppedError.
    """

    def __init__(
        self,
        encoded: Encoded,
        level: Any,
        n_below: int,
        capped: Int64s,
        store: bool,
        check: Callable[[], None] = go_on,
    ) -> None:
        self.encoded = encoded
        self.level = level
        self.n_below = n_below
        self.capped = capped
        self.store = store
        self.overflowed = False
        self._find_siblings(check)

    def _find_siblings(self, check: Callable[[], None] = go_on) -> None:
        """See which sets are joined with which, and how many joins come before each."""
        from parentage.kernels.joining import Siblings, live_members

        level, n_below, n_sets = self.level, self.n_below, len(self.level.members)
        children = np.zeros(n_below + 1, np.int64)
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
        for some in blocks(n_sets, *level, end, tails, live, self.pairs, check=check):
            end[some] = children[level.subsets[some, -1] + 1]
            tails[some] = level.members[some, -1]
            live_members(level.best[some], live[some])
            joins = np.cumsum(end[some] - np.arange(some.start, some.stop) - 1)
            self.pairs[some] = before + np.concatenate([[0], joins[:-1]])
            before += int(joins[-1])
        self.pairs[n_sets] = before
        self.siblings = Siblings(end, children, tails, live)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what every step shares, and what a worker finds out faster than it is sent."""
        facts = vars(self).copy()  # another thread may be in make_ready
        return {name: value for name, value in facts.items() if name not in NOT_SENT}

    def make_ready(self, encoded: Encoded) -> None:
        """Complete a step that was sent; one that was not is complete."""
        with _MAKING_READY:
            if "pairs" not in vars(self):
                self.encoded = encoded
                self._find_siblings()

    def work(self, span: tuple[int, int]) -> Chunk:
        """Join, count and score one run of sets; touches nothing shared."""
        first, last = span
        pairs = int(self.pairs[last] - self.pairs[first])
        room = self.room((pairs, self.level.members.shape[1] + 1))
        tally = np.zeros(len(ORDER), np.int64)
        end = int(self.join(np.int64(first), np.int64(last), room, tally))
        if end == 0:
            return Chunk(pairs, None, None, 0, 0, tally)
        families = end * room.members.shape[1]
        where = np.empty(families, np.int32)
        child = np.empty(families, np.uint8)
        score = np.empty(families, np.int64)
        parts, scored, kept = self.score(room, end, where, child, score)
        found = collect(room.members, where[:kept], child[:kept], score[:kept])
        return Chunk(pairs, parts, found, end, int(scored), tally)

    @abstractmethod
    def room(self, shape: tuple[int, int]) -> Any:
        """Return room for a level of so many sets of so many members, not counted yet."""

    @abstractmethod
    def join(self, first: np.int64, last: np.int64, room: Any, tally: Int64s) -> int:
        """Join a run of sets and judge the families; return how many sets are left."""

    def join_whole(self, first: np.int64, last: np.int64, room: Any) -> np.int64:
        """Join a run of sets, for a search that is not closed; return how many there are."""
        from parentage.kernels.joining import join_whole

        level = self.level
        return np.int64(
            join_whole(
                first, last, self.siblings, level.members, level.subsets, level.best,
                room.members, room.subsets, room.best,
            )
        )  # fmt: skip

    @abstractmethod
    def score(
        self,
        room: Any,
        end: int,
        where: npt.NDArray[np.int32],
        child: npt.NDArray[np.uint8],
        score: Int64s,
    ) -> tuple[tuple[Array, ...], int, int]:
        """Count the sets that are left and score their families, of which the kept are noted.

        Returns the fields of the new level, and how many families were scored and kept.
        """

    def trimmed(self, array: npt.NDArray[S], end: int) -> npt.NDArray[S]:
        """Return the first rows, without the rest if that would stay in memory for nothing."""
        part = array[:end]
        return part.copy() if self.store and 4 * end < 3 * len(array) else part

    @property
    def at_once(self) -> int:
        """Joins that are made, counted and scored together."""
        rows = max(1, len(self.encoded.first_rows))
        return min(MOST_PAIRS, max(FEWEST_PAIRS, 2**30 // rows))

    def runs(self, first: int, end: int, most: int) -> Iterator[tuple[int, int]]:
        """Cut sets into runs of at most so many joins, or of one set."""
        while first < end:
            last = int(np.searchsorted(self.pairs, self.pairs[first] + most, side="right")) - 1
            last = min(max(last, first + 1), end)
            if self.pairs[last] > self.pairs[first]:
                yield first, last
            first = last

    def per_task(self, workers: Workers, seconds_left: float) -> int:
        """Return the joins of a task; a set that is sent back is wider by one than one of ours."""
        sets, size = self.level.members.shape
        width = sum(array.nbytes for array in self.level) * (size + 1) // (sets * size)
        return joins_per_task(
            self.at_once, int(self.pairs[-1]), self.encoded.distinct_rows,
            width if self.store else 0, workers, seconds_left,
        )  # fmt: skip

    def tasks(self, done: int, most: int) -> Iterator[tuple[int, int, bool]]:
        """Yield the runs behind so many joins, each with whether its sets are still stored."""
        first = int(np.searchsorted(self.pairs, done, side="right")) - 1
        for start, end in self.runs(first, len(self.level.members), most):
            yield start, end, self.store

    def run(
        self, outcome: Outcome, workers: Workers, clock: Clock, at: SearchState, store: LevelStore
    ) -> None:
        """Do the chunks that are missing, in order; what is found is in the state's ``new``."""
        memory = math.inf if clock.stop.memory is None else clock.stop.memory
        held = resident(self.level) + resident((*self.siblings, self.pairs)) + outcome.listing()
        tasks = self.tasks(at.pairs, self.per_task(workers, clock.stop.seconds_left))
        shared = (self.encoded, self)
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
            store.relieve((*self.level, *self.siblings, self.pairs))
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


def with_single_parents(best_alone: Int64s, pairs: Any) -> Int64s:
    """Return ``[x, y]``, Bin of the single parent y, for Proposition 2; a pair left out is dead.

    On the diagonal, Bin of no parent, it is what it was; ``pairs`` is the level of two members.
    """
    from parentage.kernels.judging import DEAD

    alone = np.full_like(best_alone, DEAD)
    np.fill_diagonal(alone, best_alone.diagonal())
    a, b = pairs.members[:, 0], pairs.members[:, 1]
    alone[a, b], alone[b, a] = pairs.best[:, 0], pairs.best[:, 1]
    return alone


def room_for_sets(
    shape: tuple[int, int],
) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.int32], Int64s]:
    """Return room for the members, subsets and Bin of so many sets of so many members."""
    return np.empty(shape, np.uint16), np.empty(shape, np.int32), np.empty(shape, np.int64)


def work_on(encoded: Encoded, step: Step, task: tuple[int, int, bool]) -> Chunk:
    """Do one run of a step, wherever; sets that nobody will store are not sent back."""
    first, last, store = task
    step.make_ready(encoded)
    chunks = []
    for run in step.runs(first, last, step.at_once):
        chunk = step.work(run)
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


def blocks(rows: int, *arrays: Array, check: Callable[[], None] = go_on) -> Iterator[slice]:
    """Cut many sets into slices, worked on one after the other; mapped pages go after each.

    Before each but the first ``check`` is asked whether to go on.
    """
    for first in range(0, rows, SETS_AT_ONCE):
        if first:
            check()
        yield slice(first, min(first + SETS_AT_ONCE, rows))
        let_pages_go(arrays)


def resident(level: Any) -> int:
    """Return what a level takes in memory, in bytes: files that are mapped take none."""
    return sum(array.nbytes for array in level if not is_mapped(array))


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
