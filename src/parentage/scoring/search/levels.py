"""The level-wise search over live sets: from encoded data to kept families.

One level holds the sets of one size (:class:`parentage.kernels.levels.Level`). A step joins
siblings, tests the rules, counts what survives and scores its families; what is counted, and how,
is the business of the measure (:mod:`parentage.scoring.measures.measure`). A chunk of a step works
on private arrays and chunks are put together in order, so the result is bit for bit the same for
any number of threads, or of workers elsewhere (:mod:`parentage.work.executor`).

Two adjacent levels are in memory, or mapped from files where they do not fit
(:mod:`parentage.scoring.search.state`); the last one, when its size is known beforehand, is
streamed: scored and forgotten.

**How many joins a task has.** As many as fit a cache on threads, more for workers elsewhere: a task
that is sent takes its caller some milliseconds, however long it runs. T tasks that share w seconds
of work take T·f to feed with f each, and the last one ends up to w/T after the others; √(w·f)
seconds a task is best for both, whatever the number of workers. Few workers need no tasks that
long: with W of them a task of 2·W·f seconds leaves the caller idle half the time. Seconds are
nominal (:func:`parentage.scoring.search.forecast.seconds_for`), so that the same job has the same
tasks on every machine.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from parentage.errors import WorkersError
from parentage.kernels._options import Kernel
from parentage.scoring.measures.measure import (
    arrays_of,
    blocks,
    level_of,
    with_single_parents,
)
from parentage.scoring.search.bins import Bins, NewSets, number_type
from parentage.scoring.search.forecast import extrapolate, seconds_for, sizes_at_most
from parentage.scoring.search.state import Kept, LevelBuffer, Outcome, SearchState
from parentage.scoring.tuning import TUNING
from parentage.work import tuning as work_tuning
from parentage.work.array_files import is_mapped, room_beside
from parentage.work.executor import WorkerPool, in_order, nothing, size_of
from parentage.work.progress import Progress
from parentage.work.stop import Stop, StoppedError, now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from parentage.arrays import Ints
    from parentage.kernels.levels import Facts, Level, NewLevel
    from parentage.scoring.encoding import Encoding
    from parentage.scoring.measures.measure import Measure
    from parentage.scoring.search.plan import SearchPlan
    from parentage.work.array_files import Array
    from parentage.work.context import Context
    from parentage.work.executor import Workers
    from parentage.work.stop import Reason


@dataclass(eq=False)
class LevelSearch:
    """A search for every family that is kept, level by level.

    The context's stop is asked after every chunk; its memory, if it has a limit, is what levels and
    kept families may take. A search that ends early keeps the families of complete levels, and
    bounds what it did not look at.

    Parameters
    ----------
    plan, context
        What is searched, and within which limits.
    state
        Where the search is; one with a checkpoint lets it resume where it was.
    up_to
        Sets of more parents are not searched.
    foresee
        Whether a level is not begun that cannot be finished in the time there is.
    first
        Until when single parents are searched, if not until the context's stop.
    moment
        Seconds, by forecasts, of levels that are searched whatever the clock says; what is left of
        them after the search.
    pause
        Called before the first level that takes long, with what was found by then.
    """

    plan: SearchPlan
    context: Context
    state: SearchState = field(default_factory=SearchState)
    up_to: int | None = None
    foresee: bool = False
    first: Stop | None = None
    moment: float = 0.0
    pause: Callable[[Outcome], None] | None = None

    def __post_init__(self) -> None:
        plan = self.plan
        self.measure, self.outcome = plan.measure, self.state.outcome
        self.state.bins = Bins(plan.encoded.n_variables)
        self.deepest = min(plan.deepest, plan.encoded.n_variables - 1)
        self.price = price_of_join(plan)
        self.paused = 0.0  # seconds of this level in which others worked
        self.began = self.joining_since = now()
        self.stopped = False  # whether a level was left before its end

    def run(self) -> Outcome:
        """Search all levels; return what was found."""
        if self.state.restore():
            return self.outcome
        self._begin()
        while self.has_next and self.advance():
            pass
        if self.plan.rules.needs_residuals:
            self.outcome.sets_counted += self.plan.encoded.n_variables + 1  # the sets behind h
        if self.outcome.ended is None and not self.stopped:
            self.state.save(done=True)
        return self.outcome

    def _begin(self) -> None:
        """Start with single variables, or with what is known of an earlier run."""
        measure, state = self.measure, self.state
        first, self.below = measure.first()
        self.level = state.bins.first_level(first)
        self.alone = measure.best_alone(first)
        if not state.in_degree:
            keep_empty_sets(self.plan, first, self.outcome)
            state.begin(1, self._arrays())
            return
        for memory in state.arrays["memory"]:
            self.alone = np.array(memory)
        if state.in_degree > 1:
            self.level = level_of(state.arrays["level"], self.level.values)
            self.below = tuple(state.arrays["below"])

    @property
    def has_next(self) -> bool:
        """Whether there are sets to join into families that may be kept."""
        return self.state.in_degree <= self.deepest and len(self.level.members) > 1

    def advance(self) -> bool:
        """Search one level; return whether it was finished and a further one may follow."""
        complete = self._n_complete()
        began, before, self.paused = now(), self.state.pairs, 0.0
        try:
            step = self._run()
        except StoppedError as error:
            self.stopped = True
            self.state.save()
            self.outcome.partial = self.outcome.kept[complete:]
            del self.outcome.kept[complete:]
            self._cut_short(self.state.in_degree - 1, error.reason)
            return False
        except WorkersError:
            self.state.save()
            raise
        new = self.state.new
        if step.store and self.state.found:
            self.outcome.live.append(self.state.found)
        if new.last and new.passed:
            if new.passed > 1:  # a single set joins with nothing
                self._cut_short(self.state.in_degree, self._why_last(), new.beyond)
            return False
        if new.n_sets == 0:
            if step.overflowed:
                self._cut_short(self.state.in_degree, "memory")
            return False
        took = now() - began - self.paused
        self._climb(took / max(1, self.state.pairs - before))
        return True

    def _run(self) -> LevelStep:
        """Join, count and score the level, unless something says that it is not to be begun."""
        at, stop = self.state, self.context.stop
        if self.up_to is not None and at.in_degree + len(self.plan.context) > self.up_to:
            raise StoppedError("asked")
        most = len(self.level.members) * (self.plan.encoded.n_variables - at.in_degree) / 2
        short = self.price * most <= self.moment
        own = self.first or stop if at.in_degree == 1 else stop
        context = self.context.ending(stop.untimed() if short else own)
        check = context.stop.check
        if at.in_degree > 1:
            check()
        store = at.in_degree < self.deepest
        facts = self.measure.facts(self.level, self.alone)
        terms = self.measure.terms(self.level, self.below, store, check)
        step = LevelStep(self.level, len(self.below[0]), facts, terms, store, check)
        left = step.joins - at.pairs
        endless = stop.deadline == math.inf and not ends_by_rules(self.plan)
        if endless and step.joins > TUNING.most_sets:
            raise StoppedError("forecast")
        if self.foresee and at.in_degree > 1 and not short:
            self._foresee(left)
        if at.in_degree > 1 and self.price * left > TUNING.long_level:
            self._pause()
            check()
        if at.slot is None and (self.foresee or self.up_to is not None):
            self.joining_since = now()
            at.new = LevelBuffer(at.new.name, (), self._is_worth, self._bound, at)
        Kernel.expect(TUNING.plain_per_join * left)
        self._do(step, context)
        if short and stop.is_over():
            self.moment -= self.price * left
        return step

    def _do(self, step: LevelStep, context: Context) -> None:
        """Do the chunks of a step that are missing, in order; what is found is in the state."""
        outcome, at = self.outcome, self.state
        stop, workers = context.stop, context.pool
        memory = math.inf if stop.memory is None else stop.memory
        arrays = (*arrays_of(step.level), *step.siblings)
        held = resident(arrays) + outcome.listing()
        most = step.per_task(self.measure.encoded, workers, stop.seconds_left)
        tasks, shared = step.tasks(at.pairs, most), (self.measure, step)
        for chunks in in_order(work_on, tasks, workers, shared, step.phase, stop.check):
            for pairs, found, parts in chunks:
                at.pairs += pairs
                at.found += found.sets_counted
                outcome.add(found)
                held += found.listing()
                if step.store and parts is not None:
                    at.new.add(at.bins.numbered(parts))
            if held > memory:
                raise StoppedError("memory")
            if step.store and held + TUNING.joining * at.new.in_memory > memory and not at.spill():
                step.store, step.overflowed = False, True
                at.new.clear()
            reason = stop.reason()
            if reason is not None and at.pairs < step.joins:
                raise StoppedError(reason)
            at.relieve(arrays)
            at.save_if_due(work_tuning.TUNING.chunk_seconds_apart)
            if context.report is not None:
                moment = step.progress(at.pairs, outcome.sets_counted, self.began)
                context.report(replace(moment, on_disk=bool(at.new.files)))

    def _pause(self) -> None:
        """Hand on what was found by now, once, before the search goes on."""
        pause, self.pause = self.pause, None
        if pause is not None:
            began = now()
            pause(self._so_far())
            self.paused = now() - began

    def _n_complete(self) -> int:
        """Return how many pieces of what is kept are of complete levels: the first ones."""
        return sum(part.parents.shape[1] < self.state.in_degree for part in self.outcome.kept)

    def _so_far(self) -> Outcome:
        """Return what was found by now, as if the search ended here."""
        complete, kept = self._n_complete(), self.outcome.kept
        return replace(
            self.outcome,
            kept=kept[:complete],
            partial=kept[complete:],
            ended="forecast",
            complete_to=self.state.in_degree - 1 + len(self.plan.context),
        )

    def _climb(self, rate: float) -> None:
        """Go to the level that was found; a join took ``rate`` seconds."""
        self.below = self.level.columns
        self.level = level_of(self.state.new.fields(), self.state.bins.values())
        if len(self.alone) and self.level.members.shape[1] == 2:
            self.alone = with_single_parents(self.alone, self.level)
        self.state.climb(self._arrays(), rate)
        self.state.save_if_due()

    def _arrays(self) -> dict[str, Sequence[Array]]:
        """Return the arrays of a search state, by group."""
        memory = (self.alone,) if len(self.alone) else ()
        return {"level": arrays_of(self.level), "below": self.below, "memory": memory}

    def _cut_short(self, complete_to: int, reason: Reason, beyond: Any = None) -> None:
        """Note how far the search came, why it ended, and what families beyond that can score.

        With no such family nothing is missing after all.
        """
        if beyond is None:
            beyond = self.measure.beyond(self.level, self.below, complete_to)
        if np.isfinite(beyond).any():
            self.outcome.beyond, self.outcome.ended = beyond, reason
            self.outcome.complete_to = complete_to + len(self.plan.context)

    def _is_last_asked_for(self) -> bool:
        most = self.up_to
        return most is not None and self.state.in_degree + len(self.plan.context) >= most

    def _foresee(self, joins: int) -> None:
        """Leave a level whose rest takes longer than there is time; begin none that takes hours.

        Without a time limit a level that was begun before a break is continued.
        """
        stop = self.context.stop
        if self._at_least(joins, self.state.rate) > stop.seconds_left:
            raise StoppedError("time")
        endless = stop.deadline == math.inf and not self.state.pairs
        if endless and (self.state.rate * joins > TUNING.longest_level or self._is_in_vain(joins)):
            raise StoppedError("forecast")

    def _is_in_vain(self, joins: int) -> bool:
        """Whether a level takes long although it, or a later one, will not be begun."""
        endless = self.foresee and self.context.stop.deadline == math.inf
        if not endless or self.price * joins <= TUNING.longest_in_vain:
            return False
        sizes = extrapolate(self.outcome.live, self.plan.encoded.n_variables, self._at_most)
        return self.price * max(*sizes, joins) / self.context.tasks > TUNING.longest_level

    @cached_property
    def _at_most(self) -> list[int]:
        """Sets of each size that there can be."""
        return sizes_at_most(self.plan)

    def _why_last(self) -> Reason:
        """Return why a level was not stored: no further one was worth beginning."""
        if self._is_last_asked_for():
            return "asked"
        return "forecast" if self.context.stop.deadline == math.inf else "time"

    def _at_least(self, joins: int, rate: float) -> float:
        """Return a lower estimate of the seconds that joins will take.

        Two forecasts have to agree, far off as either may be: the one from the table alone, and
        what joins have taken by now, which may have begun with loading kernels.
        """
        forecast = seconds_for(joins, self.plan.encoded.distinct_rows) / self.context.tasks
        return min(forecast / TUNING.forecast_off_by, rate * joins / TUNING.measured_off_by)

    def _is_worth(self, joins: int) -> bool:
        """Whether this many joins of the next level fit the time that is left, or a moment.

        None do if the lists were asked for up to here only.
        """
        if self._is_last_asked_for():
            return False
        if self.price * joins <= self.moment:
            return True
        rate = (now() - self.joining_since) / max(1, self.state.pairs)
        in_time = self._at_least(joins, rate) <= self.context.stop.seconds_left
        return in_time and not self._is_in_vain(joins)

    def _bound(self, arrays: Sequence[Array]) -> npt.NDArray[np.float64]:
        """Bound what lies beyond sets of the next level, which turned out to be the last."""
        level = level_of(arrays, self.level.values)
        return self.measure.beyond(level, self.level.columns, self.state.in_degree)


def price_of_join(plan: SearchPlan) -> float:
    """Return the seconds of one core that a join takes, as the table alone tells."""
    return plan.measure.slower_by * seconds_for(1, plan.encoded.distinct_rows)


def ends_by_rules(plan: SearchPlan) -> bool:
    """Whether rules, or a limit on parents that was asked for, end a search."""
    return not plan.measure.endless or plan.deepest < plan.encoded.n_variables - 1


def keep_empty_sets(plan: SearchPlan, level: NewLevel, outcome: Outcome) -> None:
    """Keep the families without parents; ``level`` has the single variables."""
    children = np.nonzero(plan.most >= 0)[0]
    outcome.kept.append(
        Kept(children, np.empty((len(children), 0), np.int64), level.best[children, 0])
    )
    outcome.sets_counted += len(level.members)
    outcome.families_scored += len(children)
    outcome.live.append(len(level.members))


S = TypeVar("S", bound=np.generic)

Chunk = tuple[int, Outcome, NewSets | None]
"""One run of a level's sets: joins, what was found, and the new sets, if they are stored."""


class LevelStep:
    """From one level to the next: joins, counts and scores runs of its sets.

    A step is sent as what it is made of; which sets are joined with which is found where it
    arrives, faster than it could be sent. ``below`` is the number of sets of the level below,
    ``facts`` and ``terms`` are what the kernels need to know, ``store`` says whether the new level
    is needed for a further one. Looking through the level calls ``check`` between blocks, which may
    raise StoppedError.
    """

    def __init__(
        self,
        level: Level,
        below: int,
        facts: Facts,
        terms: Any,
        store: bool,
        check: Callable[[], None] = nothing,
    ) -> None:
        self.level, self.below, self.store = level, below, store
        self.facts, self.terms = facts, terms
        self.overflowed = False
        self._rooms = threading.local()
        self._find_siblings(check)

    def __reduce__(self) -> tuple[type[LevelStep], tuple[Any, ...]]:
        return LevelStep, (self.level, self.below, self.facts, self.terms, self.store)

    def _find_siblings(self, check: Callable[[], None]) -> None:
        """See which sets are joined with which, and how many joins blocks of prefixes have."""
        from parentage.kernels.levels import live_members

        level, (n_sets, size) = self.level, self.level.members.shape
        children = np.zeros(self.below + 1, np.int32)
        for some in blocks(n_sets, level.subsets, check=check):
            prefix = level.subsets[some, -1]
            low, high = int(prefix[0]), int(prefix[-1])  # they rise
            children[low + 1 : high + 2] += np.bincount(prefix - low)
        np.cumsum(children, out=children)
        beside = level.members
        tails = room_beside(beside, n_sets, np.uint16)
        live = room_beside(beside, n_sets, np.uint16 if size <= 16 else np.uint64)
        for some in blocks(n_sets, *arrays_of(level), tails, live, check=check):
            tails[some] = level.members[some, -1]
            live_members(level.bins[some], live[some])
        self.siblings = children, tails, live
        before, each = [np.zeros(1, np.int64)], TUNING.prefixes_at_once
        for first in range(0, self.below, each * each):
            joins = self._joins_below(first, first + each * each)
            before.append(np.add.reduceat(joins, np.arange(0, len(joins), each)))
        self._before = np.cumsum(np.concatenate(before))

    def _joins_below(self, first: int, end: int) -> Ints:
        """Return the joins of the prefixes ``first … end − 1``, each."""
        siblings = np.diff(self.siblings[0][first : end + 1]).astype(np.int64)
        joins: Ints = siblings * (siblings - 1) // 2
        return joins

    @property
    def joins(self) -> int:
        """Number of joins of the whole level."""
        return int(self._before[-1])

    def joins_before(self, i: int) -> int:
        """Return the number of joins of the sets before set i."""
        if i == len(self.level.members):
            return self.joins
        children, prefix = self.siblings[0], int(self.level.subsets[i, -1])
        block = prefix // TUNING.prefixes_at_once
        ahead = self._joins_below(block * TUNING.prefixes_at_once, prefix).sum()
        low, high = children[prefix : prefix + 2].tolist()
        return int(self._before[block] + ahead + joins_of_first(i - low, high - low))

    def set_after(self, joins: int) -> int:
        """Return the last set that at most this many joins come before."""
        if joins >= self.joins:
            return len(self.level.members)
        block = last_at_most(self._before, joins)
        first = block * TUNING.prefixes_at_once
        joined = self._joins_below(first, first + TUNING.prefixes_at_once)
        ahead = self._before[block] + np.cumsum(joined) - joined
        prefix = last_at_most(ahead, joins)
        low, high = self.siblings[0][first + prefix : first + prefix + 2].tolist()
        in_prefix = ahead[prefix] + joins_of_first(np.arange(high - low), high - low)
        return int(low + last_at_most(in_prefix, joins))

    def work(self, measure: Measure, span: tuple[int, int]) -> Chunk:
        """Join, count and score one run of sets; touches nothing but the thread's own room."""
        from parentage.kernels.levels import NewLevel, number_bins, score_level

        first, last = span
        pairs = self.joins_before(last) - self.joins_before(first)
        shape = pairs, self.level.members.shape[1] + 1
        room = NewLevel(
            self._room("members", np.uint16, shape),
            self._room("subsets", np.int32, shape),
            self._room("best", np.int64, shape),
            measure.uncounted(pairs),
        )
        found = Outcome()
        end = measure.join((np.int64(first), np.int64(last)), self, room, found.tally)
        if end == 0:
            return pairs, found, None
        members, subsets, best, *uncounted = (array[:end] for array in arrays_of(room))
        columns, terms = measure.count(members, tuple(uncounted), self.terms)
        new, below = NewLevel(members, subsets, best, columns), self.level.columns
        where = self._room("where", np.int32, members.shape).reshape(-1)
        child = self._room("child", np.uint8, members.shape).reshape(-1)
        score = self._room("score", np.int64, members.shape).reshape(-1)
        scored, kept = score_level(new, below, self.facts, terms, where, child, score)
        if kept:
            found.kept.append(collect(members, where[:kept], child[:kept], score[:kept]))
        found.sets_counted, found.families_scored = end, int(scored)
        stored = measure.stored(new, self) if self.store else None
        if stored is None or not len(stored.members):
            return pairs, found, None
        values = self.level.values
        type_ = number_type(np.diff(values.start, append=len(values.value)))
        bins = np.empty(stored.best.shape, type_)
        listed = number_bins(stored.members, stored.best, values, bins, where, score)
        rest = (stored.members, stored.subsets, *stored.columns)
        members, subsets, *others = map(np.array, rest)  # the room is used again
        values_found = where[:listed].copy(), score[:listed].copy()
        return pairs, found, NewSets((members, subsets, bins, *others), *values_found)

    def _room(self, name: str, dtype: type[S], shape: tuple[int, int]) -> npt.NDArray[S]:
        """Return the thread's own room for an array; made again and again it would be cleared."""
        size = shape[0] * shape[1]
        room: npt.NDArray[S] | None = getattr(self._rooms, name, None)
        if room is None or len(room) < size:
            room = np.empty(size, dtype)
            setattr(self._rooms, name, room)
        return room[:size].reshape(shape)

    def at_once(self, encoded: Encoding) -> int:
        """Return the number of joins that are made, counted and scored together."""
        rows = max(1, encoded.rows_in_groups)
        return min(TUNING.most_joins, max(TUNING.fewest_joins, TUNING.rows_joined // rows))

    def runs(self, first: int, end: int, most: int) -> Iterator[tuple[int, int]]:
        """Cut sets into runs of at most so many joins, or of one set."""
        while first < end:
            before = self.joins_before(first)
            last = min(max(self.set_after(before + most), first + 1), end)
            if self.joins_before(last) > before:
                yield first, last
            first = last

    def per_task(self, encoded: Encoding, workers: Workers, seconds_left: float) -> int:
        """Return the joins of a task; a set that is sent back is wider by one than one of ours."""
        sets, size = self.level.members.shape
        width = sum(array.nbytes for array in arrays_of(self.level)) * (size + 1) // (sets * size)
        return joins_per_task(
            self.at_once(encoded), self.joins, encoded.distinct_rows,
            width if self.store else 0, workers, seconds_left,
        )  # fmt: skip

    def tasks(self, done: int, most: int) -> Iterator[tuple[int, int, bool]]:
        """Yield the runs behind so many joins, each with whether its sets are still stored."""
        for start, end in self.runs(self.set_after(done), len(self.level.members), most):
            yield start, end, self.store

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
            now() - began,
            done,
            self.joins,
            sets_counted,
        )


def last_at_most(rising: Ints, value: int) -> int:
    """Return the last place in an array, which begins no higher, that does not exceed a value."""
    return int(np.searchsorted(rising, value, side="right")) - 1


def joins_of_first(count: Any, siblings: int) -> Any:
    """Return the joins of the first sets of so many siblings, each with all later ones.

    >>> joins_of_first(2, 4), joins_of_first(np.arange(4), 4).tolist()
    (5, [0, 3, 5, 6])
    """
    return count * (siblings - 1) - count * (count - 1) // 2


def work_on(measure: Measure, step: LevelStep, task: tuple[int, int, bool]) -> list[Chunk]:
    """Run one task of a step, in any worker; sets that nobody will store are not sent back."""
    first, last, store = task
    runs = step.runs(first, last, step.at_once(measure.encoded))
    chunks = (step.work(measure, run) for run in runs)
    return [(pairs, found, parts if store else None) for pairs, found, parts in chunks]


def resident(arrays: Sequence[Array]) -> int:
    """Return what arrays take in memory, in bytes: files that are mapped take none."""
    return sum(array.nbytes for array in arrays if not is_mapped(array))


def collect(
    all_members: npt.NDArray[np.uint16],
    sets: npt.NDArray[np.int32],
    child: npt.NDArray[np.uint8],
    scores: Ints,
) -> Kept:
    """Turn kept families of a chunk into children and parents."""
    members = all_members[sets].astype(np.int64)
    parent = np.arange(members.shape[1]) != child[:, None]
    parents = members[parent].reshape(len(sets), members.shape[1] - 1)
    return Kept(members[~parent], parents, scores.copy())


def joins_per_task(
    at_once: int, joins: int, rows: int, returned: int, workers: Workers, seconds_left: float
) -> int:
    """Return how many of a level's joins make a task.

    ``at_once`` are those that a thread does together, the least there are; ``returned`` is what may
    come back of each join, in bytes.

    >>> joins_per_task(65_536, 10**9, 1000, 0, 2, math.inf)
    65536
    """
    if not (isinstance(workers, WorkerPool) and workers.elsewhere):
        return at_once
    one = seconds_for(1, rows)
    seconds = min(
        TUNING.longest_task,
        max(TUNING.shortest_task, 2 * size_of(workers) * TUNING.feeding),
        math.sqrt(joins * one * TUNING.feeding),
        TUNING.task_share * max(0.0, seconds_left),
    )
    fit = TUNING.bytes_in_hand / returned if returned else math.inf
    return max(at_once, int(min(seconds / one, fit)))
