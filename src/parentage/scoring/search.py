"""The level-wise search over live sets: from encoded data to kept families.

One level holds the sets of one size (:class:`parentage.kernels.families.Level`). A step joins
siblings, tests the rules, counts what survives and scores its families; a chunk of the step works
on private arrays, chunks are put together in order, so the result is bit for bit the same for any
number of threads. Two adjacent levels are in memory; the last one, when its size is known
beforehand or when it does not fit, is streamed: scored and forgotten.
"""

from __future__ import annotations

import math
import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.scoring.forecast import JOINING, LISTING
from parentage.scoring.rulebook import ORDER
from parentage.work.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from parentage.kernels.families import Level, SearchFacts
    from parentage.scoring.entropy import Encoded, Int64s
    from parentage.scoring.plan import SearchPlan
    from parentage.work.progress import Report
    from parentage.work.stop import Reason, Stop

MOST_PAIRS = 65_536
FEWEST_PAIRS = 256


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

    def listing(self) -> int:
        """Return what making lists of the kept families will take, in bytes."""
        return LISTING * sum(array.nbytes for part in self.kept for array in part)


@dataclass(frozen=True, eq=False)
class _Chunk:
    """One task's share of a level and its result."""

    pairs: int
    parts: tuple[npt.NDArray[np.generic], ...] | None
    kept: Kept | None
    sets: int
    scored: int
    tally: Int64s


def search(
    plan: SearchPlan, stop: Stop, *, threads: int = 1, report: Report | None = None
) -> Outcome:
    """Find every family that is kept.

    ``stop`` is asked after every chunk; its memory, if it has a limit, is what levels and kept
    families may take. A search that ends early keeps the families of complete levels, and bounds
    what it did not look at.
    """
    outcome = Outcome()
    encoded, limits, model = plan.encoded, plan.limits, plan.facts()
    clock = _Clock(stop, report, time.perf_counter())
    level, below = _first_levels(encoded, model)
    _keep_empty_sets(level, plan, outcome)
    deepest = min(limits.deepest, encoded.n_variables - 1)
    in_degree = 0
    while in_degree < deepest and len(level.G) > 1:
        in_degree += 1
        step = _Step(encoded, model, level, below, limits.capped(in_degree), in_degree < deepest)
        complete = len(outcome.kept)
        try:
            new = step.run(outcome, threads, clock)
        except _StoppedError as stopped:
            del outcome.kept[complete:]
            _cut_short(outcome, plan, level, in_degree - 1, stopped.reason)
            break
        if new is None:
            if step.overflowed:
                _cut_short(outcome, plan, level, in_degree, "memory")
            break
        level, below = new, level.G
        outcome.live.append(len(level.G))
    if plan.rules.needs_residuals:
        outcome.sets_counted += encoded.n_variables + 1
    return outcome


def _cut_short(
    outcome: Outcome, plan: SearchPlan, level: Level, complete_to: int, reason: Reason
) -> None:
    """Note how far a search came, why it ended, and what families beyond that can score.

    A family that can matter contains, with every Y left out, families that are alive: so its
    parents contain those of a live family of the level, and at least so many more that there are
    ``complete_to`` + 1. With no such family nothing is missing after all.
    """
    from parentage.kernels.judging import DEAD

    encoded = plan.encoded
    states = encoded.arity.astype(np.float64)
    members = level.members
    least = np.full(encoded.n_variables, np.inf)
    whole = np.ones(len(members))
    for a in range(members.shape[1]):
        whole *= states[members[:, a]]
    for a in range(members.shape[1]):
        alive = level.best[:, a] < DEAD
        children = members[alive, a]
        np.minimum.at(least, children, whole[alive] / states[children])
    least[plan.limits.capped(complete_to + 1) != -1] = np.inf
    more = complete_to + 1 - (members.shape[1] - 1)
    least *= math.prod(sorted(encoded.arity.tolist())[:more])
    unexplained = encoded.grid.to_float(plan.h - encoded.grid.tolerance)
    beyond = -unexplained - encoded.w * (states - 1) * least
    if np.isfinite(beyond).any():
        outcome.beyond = beyond
        outcome.complete_to, outcome.ended = complete_to + len(plan.context), reason


class _Clock(NamedTuple):
    """When to end, whom to tell, and since when the search runs."""

    stop: Stop
    report: Report | None
    began: float


def _first_levels(encoded: Encoded, facts: SearchFacts) -> tuple[Level, Int64s]:
    """The single variables, and G of the level below them: the empty set."""
    from parentage.kernels.families import Level
    from parentage.kernels.judging import THM2_CACHE

    n = encoded.n_variables
    penalty = facts.unit * (facts.arity - 1)
    best = (encoded.single - encoded.empty - penalty)[:, None]
    with_least = bool(facts.rules >> THM2_CACHE & 1)
    least = facts.single[:, None].copy() if with_least else np.empty((1, 0), np.int64)
    level = Level(
        np.arange(n, dtype=np.uint16)[:, None],
        np.zeros((n, 1), np.int32),
        encoded.single,
        np.ascontiguousarray(best),
        least,
    )
    return level, np.array([encoded.empty], np.int64)


def _keep_empty_sets(level: Level, plan: SearchPlan, outcome: Outcome) -> None:
    children = np.nonzero(plan.limits.most >= 0)[0]
    outcome.kept.append(
        Kept(children, np.empty((len(children), 0), np.int64), level.best[children, 0])
    )
    outcome.sets_counted += len(level.G)
    outcome.families_scored += len(children)
    outcome.live.append(len(level.G))


class _StoppedError(Exception):
    """The search was asked to stop, or what it keeps does not fit."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason


class _Step:
    """From one level to the next."""

    def __init__(
        self,
        encoded: Encoded,
        facts: SearchFacts,
        level: Level,
        below: Int64s,
        capped: Int64s,
        store: bool,
    ) -> None:
        from parentage.kernels.families import Siblings, live_members

        self.encoded = encoded
        self.facts = facts
        self.level = level
        self.below = below
        self.capped = capped
        self.store = store
        self.overflowed = False
        prefix = level.subsets[:, -1]
        children = np.zeros(len(below) + 1, np.int64)
        np.cumsum(np.bincount(prefix, minlength=len(below)), out=children[1:])
        end = children[prefix + 1]
        tails = np.ascontiguousarray(level.members[:, -1])
        live = np.empty(len(prefix), np.uint64)
        live_members(level.best, live)
        self.siblings = Siblings(end, children, tails, live)
        self.pairs = np.concatenate([[0], np.cumsum(end - np.arange(len(prefix)) - 1)])

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Cut the sets into runs with a bounded number of joins."""
        rows = max(1, len(self.encoded.first_rows))
        most = min(MOST_PAIRS, max(FEWEST_PAIRS, 2**30 // rows))
        first, n_sets = 0, len(self.level.G)
        while first < n_sets:
            last = int(np.searchsorted(self.pairs, self.pairs[first] + most, side="right")) - 1
            last = min(max(last, first + 1), n_sets)
            if self.pairs[last] > self.pairs[first]:
                yield first, last
            first = last

    def work(self, span: tuple[int, int]) -> _Chunk:
        """Join, count and score one run of sets; touches nothing shared."""
        from parentage.kernels.counting import count_sets
        from parentage.kernels.families import Level, join_siblings, score_families

        first, last = span
        size = self.level.members.shape[1] + 1
        pairs = int(self.pairs[last] - self.pairs[first])
        with_least = self.level.least.shape[1] > 0
        room = Level(
            np.empty((pairs + 1, size), np.uint16),
            np.empty((pairs + 1, size), np.int32),
            np.empty(0, np.int64),
            np.empty((pairs + 1, size), np.int64),
            np.empty((pairs + 1, size) if with_least else (1, 0), np.int64),
        )
        tally = np.zeros(len(ORDER), np.int64)
        end = join_siblings(
            np.int64(first), np.int64(last), self.siblings, self.level, self.below, self.facts,
            self.capped, room, tally,
        )  # fmt: skip
        if end == 0:
            return _Chunk(pairs, None, None, 0, 0, tally)
        new = Level(
            room.members[:end].copy(),
            room.subsets[:end].copy(),
            np.empty(end, np.int64),
            room.best[:end].copy(),
            room.least[:end].copy() if with_least else room.least,
        )
        del room
        e = self.encoded
        count_sets(
            new.members, e.first_rows, e.first_starts, e.arity, e.offset, e.codes, e.row_bits,
            e.grid.f, new.G,
        )  # fmt: skip
        where = np.empty(end * size, np.int32)
        child = np.empty(end * size, np.uint8)
        score = np.empty(end * size, np.int64)
        scored, kept = score_families(new, self.level, self.facts, self.capped, where, child, score)
        found = _collect(new, where[:kept], child[:kept], score[:kept])
        return _Chunk(pairs, tuple(new), found, end, int(scored), tally)

    def run(self, outcome: Outcome, threads: int, clock: _Clock) -> Level | None:
        """Do all chunks, in order; return the new level, or None if there is none to store."""
        from parentage.kernels.families import Level

        parts: list[list[npt.NDArray[np.generic]]] = []
        done = used = 0
        memory = math.inf if clock.stop.memory is None else clock.stop.memory
        held = sum(array.nbytes for array in self.level) + outcome.listing()
        for chunk in in_order(self.work, self.ranges(), threads):
            reason = clock.stop.reason()
            if reason is not None:
                raise _StoppedError(reason)
            done += chunk.pairs
            outcome.sets_counted += chunk.sets
            outcome.families_scored += chunk.scored
            outcome.tally += chunk.tally
            if chunk.kept is not None:
                outcome.kept.append(chunk.kept)
                held += LISTING * sum(array.nbytes for array in chunk.kept)
                if held > memory:
                    raise _StoppedError("memory")
            if self.store and chunk.parts is not None:
                parts.append(list(chunk.parts))
                used += sum(array.nbytes for array in chunk.parts)
            if self.store and held + JOINING * used > memory:
                self.store, self.overflowed = False, True
                parts.clear()
            if clock.report is not None:
                clock.report(self.progress(done, outcome.sets_counted, clock.began))
        if not parts:
            return None
        fields: list[Any] = _concatenate(parts, 5 if self.level.least.size else 4)
        if len(fields) == 4:  # no thm2-cache: the placeholder stays as it is
            fields.append(self.level.least)
        return Level(*fields)

    def progress(self, done: int, sets_counted: int, began: float) -> Progress:
        """Say where the search is."""
        in_degree = self.level.members.shape[1]
        return Progress(
            "scoring",
            f"{in_degree} parent{'' if in_degree == 1 else 's'}",
            time.perf_counter() - began,
            done,
            int(self.pairs[-1]),
            sets_counted,
        )


def _concatenate(
    parts: list[list[npt.NDArray[np.generic]]], fields: int
) -> list[npt.NDArray[np.generic]]:
    """Put the chunks together field by field, letting go of each field's pieces at once."""
    return [np.concatenate([part.pop(0) for part in parts]) for _ in range(fields)]


def _collect(
    new: Level, sets: npt.NDArray[np.int32], child: npt.NDArray[np.uint8], scores: Int64s
) -> Kept | None:
    """Turn kept families of a chunk into children and parents."""
    if len(sets) == 0:
        return None
    members = new.members[sets].astype(np.int64)
    parent = np.arange(members.shape[1]) != child[:, None]
    parents = members[parent].reshape(len(sets), members.shape[1] - 1)
    return Kept(members[~parent], parents, scores.copy())


def in_order(
    work: Callable[[tuple[int, int]], _Chunk], spans: Iterator[tuple[int, int]], threads: int
) -> Iterator[_Chunk]:
    """Do the work on threads, a few chunks ahead of what is consumed; results in order."""
    if threads <= 1:
        yield from map(work, spans)
        return
    pool = ThreadPoolExecutor(threads)
    waiting: deque[Future[_Chunk]] = deque()
    try:
        for span in spans:
            waiting.append(pool.submit(work, span))
            if len(waiting) >= 4 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
