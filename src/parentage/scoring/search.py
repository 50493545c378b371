"""The level-wise search over live sets: from encoded data to kept families.

One level holds the sets of one size (:class:`parentage.kernels.levels.Level`). A step
(:mod:`parentage.scoring.steps`) joins siblings, tests the rules, counts what survives and scores
its families; what is counted, and how, is the business of the measure
(:mod:`parentage.scoring.measures.measure`). Two adjacent levels are in memory, or mapped from files
where they do not fit (:mod:`parentage.scoring.search_state`); the last one, when its size is known
beforehand, is streamed: scored and forgotten.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parentage.errors import WorkersError
from parentage.scoring.forecast import seconds_for
from parentage.scoring.measures.measure import arrays_of, with_single_parents
from parentage.scoring.search_state import LastLevel, LevelStore, SearchState
from parentage.scoring.steps import Clock, Kept, LevelStep, Outcome
from parentage.work.executor import size_of
from parentage.work.stop import Moment, Stop, StoppedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from parentage.kernels.levels import Level
    from parentage.scoring.plan import SearchPlan
    from parentage.scoring.search_state import LevelBuffer
    from parentage.work.array_files import Array
    from parentage.work.executor import Workers
    from parentage.work.progress import Report
    from parentage.work.stop import Reason


LONGEST_LEVEL = 24 * 3600.0
"""A level that takes longer, by the forecast, is not begun where something else can be done."""

MOST_SETS = 2**25
"""Sets of a level beyond which nothing is begun where no rule ends the search and no limit was
asked for."""

FIRST_LEVEL = 2.0
"""Seconds that single parents get at least, even if the time is over: without all of them there is
nothing to grow from, and a network made of some of them is far from the best."""

FORECAST_OFF_BY = 2.0
"""A level is abandoned only if its forecast exceeds the remaining time by this factor."""

FORECAST_HIGH_BY = 4.0
"""The forecast from the table alone may overestimate by this factor."""


def search(
    plan: SearchPlan,
    stop: Stop,
    *,
    workers: Workers = 1,
    report: Report | None = None,
    up_to: int | None = None,
    foresee: bool = False,
    store: LevelStore | None = None,
    first: Stop | None = None,
    moment: Moment | None = None,
) -> Outcome:
    """Find every family that is kept.

    With ``up_to`` sets of more parents are not searched; with ``foresee`` a level is not begun that
    cannot be finished in the time there is. Single parents are searched until ``first`` says stop.
    Levels that are a ``moment``'s work are searched whatever the clock says.

    ``stop`` is asked after every chunk; its memory, if it has a limit, is what levels and kept
    families may take. A search that ends early keeps the families of complete levels, and bounds
    what it did not look at. A ``store`` with a checkpoint lets it resume where it was.
    """
    store = store or LevelStore()
    limits = SearchLimits(stop, first or stop, moment or Moment(0.0), up_to, foresee)
    clock = Clock(stop, report, time.perf_counter())
    outcome = Outcome()
    known = store.restore(outcome)
    if known is True:
        return outcome
    levels = LevelSearch(plan, limits, clock, workers, store, outcome)
    levels.begin(known or None)
    while levels.has_next and levels.advance():
        pass
    if plan.rules.needs_residuals:
        outcome.sets_counted += plan.encoded.n_variables + 1  # the sets behind h
    if outcome.ended is None and not levels.stopped:
        store.save_end(outcome)
    return outcome


class SearchLimits(NamedTuple):
    """How far a search may go: the arguments of :func:`search`."""

    stop: Stop
    first: Stop
    moment: Moment
    up_to: int | None
    foresee: bool


class LevelSearch:
    """Where a search is, and the way from level to level."""

    def __init__(
        self,
        plan: SearchPlan,
        limits: SearchLimits,
        clock: Clock,
        workers: Workers,
        store: LevelStore,
        outcome: Outcome,
    ) -> None:
        self.plan, self.limits, self.clock, self.workers = plan, limits, clock, workers
        self.store, self.outcome, self.measure = store, outcome, plan.measure
        self.deepest = min(plan.limits.deepest, plan.encoded.n_variables - 1)
        self.stopped = False
        """Whether a level was left before its end."""
        self.price = self.measure.slower_by * seconds_for(1, plan.encoded.distinct_rows)
        """Seconds that a join takes, as the table alone tells."""

    def begin(self, known: SearchState | None) -> None:
        """Start with single variables, or with what is known of an earlier run."""
        measure = self.measure
        self.level, self.below = measure.first()
        self.alone = measure.best_alone(self.level)
        if known is None:
            keep_empty_sets(self.plan, self.level, self.outcome)
            self.at = self.store.begin(1, self._arrays())
            return
        self.at = known
        for memory in known.arrays["memory"]:
            self.alone = np.array(memory)
        if known.in_degree > 1:
            self.level = measure.level_of(known.arrays["level"])
            self.below = measure.columns_of(known.arrays["below"])

    @property
    def has_next(self) -> bool:
        """Whether there are sets to join into families that may be kept."""
        return self.at.in_degree <= self.deepest and len(self.level.members) > 1

    def advance(self) -> bool:
        """Search one level; return whether it was finished and a further one may follow."""
        complete = sum(k.parents.shape[1] < self.at.in_degree for k in self.outcome.kept)
        began, before = time.perf_counter(), self.at.pairs
        try:
            step = self._run()
        except StoppedError as error:
            self.stopped = True
            self.store.save(self.at, self.outcome)
            self.outcome.partial = self.outcome.kept[complete:]
            del self.outcome.kept[complete:]
            self._cut_short(self.at.in_degree - 1, error.reason)
            return False
        except WorkersError:
            self.store.save(self.at, self.outcome)
            raise
        new = self.at.new
        if isinstance(new, LastLevel) and new.last and new.passed:
            self.outcome.live.append(new.passed)
            if new.passed > 1:  # a single set joins with nothing
                asked = self._is_last_asked_for()
                self._cut_short(self.at.in_degree, "asked" if asked else "time", new.beyond)
            return False
        if new.n_sets == 0:
            if step.overflowed:
                self._cut_short(self.at.in_degree, "memory")
            return False
        self._climb((time.perf_counter() - began) / max(1, self.at.pairs - before))
        return True

    def _run(self) -> LevelStep:
        """Join, count and score the level, unless something says that it is not to be begun."""
        at, limits, moment = self.at, self.limits, self.limits.moment
        if self._is_beyond_asked():
            raise StoppedError("asked")
        most = len(self.level.members) * (self.plan.encoded.n_variables - at.in_degree) / 2
        short = moment.covers(self.price * most)
        own = limits.first if at.in_degree == 1 else limits.stop
        self.clock = self.clock._replace(stop=limits.stop.untimed() if short else own)
        if at.in_degree > 1:
            self.clock.check()
        store, check = at.in_degree < self.deepest, self.clock.check
        rung = self.measure.rung(self.level, self.below, self.alone, store, check)
        step = LevelStep(self.level, len(self.below[0]), rung, store, check)
        left = int(step.pairs[-1]) - at.pairs
        endless = limits.stop.deadline == math.inf and not ends_by_rules(self.plan)
        if endless and step.pairs[-1] > MOST_SETS:
            raise StoppedError("forecast")
        if limits.foresee and at.in_degree > 1 and not short:
            self._foresee(left)
        if self.store.slot is None and (limits.foresee or limits.up_to is not None):
            at.new = self._last_level()
        step.run(self.measure, self.outcome, self.workers, self.clock, at, self.store)
        if short and limits.stop.is_over():
            moment.spend(self.price * left)
        return step

    def _climb(self, rate: float) -> None:
        """Go to the level that was found; a join took ``rate`` seconds."""
        measure, store = self.measure, self.store
        self.below = self.level.columns
        self.level = measure.level_of(self.at.new.fields())
        if len(self.alone) and self.level.members.shape[1] == 2:
            self.alone = with_single_parents(self.alone, self.level)
        self.outcome.live.append(len(self.level.members))
        self.at = store.next(self.at, self._arrays())
        self.at.rate = rate
        store.save_level(self.at, self.outcome)

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

    def _is_beyond_asked(self) -> bool:
        most = self.limits.up_to
        return most is not None and self.at.in_degree + len(self.plan.context) > most

    def _is_last_asked_for(self) -> bool:
        most = self.limits.up_to
        return most is not None and self.at.in_degree + len(self.plan.context) >= most

    def _foresee(self, joins: int) -> None:
        """Leave a level whose rest takes longer than there is time; begin none that takes days.

        A level that was begun before a break is continued for days.
        """
        if self._at_least(joins, self.at.rate) > self.limits.stop.seconds_left:
            raise StoppedError("time")
        if self.at.rate * joins > LONGEST_LEVEL and not self.at.pairs:
            raise StoppedError("forecast")

    def _at_least(self, joins: int, rate: float) -> float:
        """Return a lower estimate of the seconds that joins will take.

        Two forecasts have to agree, far off as either may be: the one from the table alone, and
        what joins have taken by now, which may have begun with loading and compiling.
        """
        forecast = seconds_for(joins, self.plan.encoded.distinct_rows) / size_of(self.workers)
        return min(forecast / FORECAST_HIGH_BY, rate * joins / FORECAST_OFF_BY)

    def _worth(self) -> Callable[[int], bool]:
        """Return a predicate: whether this many joins fit the time that is left, or a moment.

        None can if the lists were asked for up to here only.
        """
        began, at, asked = time.perf_counter(), self.at, self._is_last_asked_for()

        def worth(joins: int) -> bool:
            if asked or self.limits.moment.covers(self.price * joins):
                return not asked
            rate = (time.perf_counter() - began) / max(1, at.pairs)
            return self._at_least(joins, rate) <= self.limits.stop.seconds_left

        return worth

    def _last_level(self) -> LevelBuffer:
        """Return what takes the sets of the next level, which may turn out to be the last."""
        columns, in_degree = self.level.columns, self.at.in_degree

        def bound(arrays: Sequence[Array]) -> Any:
            return self.measure.beyond(self.measure.level_of(arrays), columns, in_degree)

        return LastLevel(self.at.new.name, bound, self._worth())


def ends_by_rules(plan: SearchPlan) -> bool:
    """Whether rules, or a limit on parents that was asked for, end a search."""
    return not plan.measure.endless or plan.limits.deepest < plan.encoded.n_variables - 1


def keep_empty_sets(plan: SearchPlan, level: Level, outcome: Outcome) -> None:
    """Keep the families without parents; ``level`` has the single variables."""
    children = np.nonzero(plan.limits.most >= 0)[0]
    outcome.kept.append(
        Kept(children, np.empty((len(children), 0), np.int64), level.best[children, 0])
    )
    outcome.sets_counted += len(level.members)
    outcome.families_scored += len(children)
    outcome.live.append(len(level.members))
