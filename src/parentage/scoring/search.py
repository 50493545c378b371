"""The level-wise search over live sets: from encoded data to kept families.

One level holds the sets of one size (:class:`parentage.kernels.families.Level` for penalised
likelihoods, :class:`parentage.kernels.holes.HoleLevel` for tables with holes,
:class:`parentage.kernels.sums.SumLevel` for other scores). A step
(:mod:`parentage.scoring.steps`) joins siblings, tests the rules, counts what survives and scores
its families. Two adjacent levels are in memory, or mapped from files where they do not fit
(:mod:`parentage.scoring.search_state`); the last one, when its size is known beforehand, is
streamed: scored and forgotten.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from parentage.errors import WorkersError
from parentage.scoring.forecast import seconds_for
from parentage.scoring.hole_search import HoleSearch
from parentage.scoring.penalty_search import PenaltySearch
from parentage.scoring.scores import BySums, NodeAverage
from parentage.scoring.search_state import LastLevel, LevelStore, SearchState
from parentage.scoring.steps import Clock, Kept, Outcome, StoppedError
from parentage.scoring.sum_search import SumSearch
from parentage.work.executor import size_of
from parentage.work.stop import Moment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from parentage.scoring.plan import SearchPlan
    from parentage.work.executor import Workers
    from parentage.work.progress import Report
    from parentage.work.stop import Reason, Stop


LONGEST_LEVEL = 24 * 3600.0
"""A level that takes longer, by the forecast, is not begun where something else can be done."""

MOST_SETS = 2**25
"""Sets of a level beyond which nothing is begun where no rule ends the search and no limit was
asked for."""

FIRST_LEVEL = 2.0
"""Seconds that single parents get at least, even if the time is over: without all of them there is
nothing to grow from, and a network made of some of them is far from the best."""

FORECAST_OFF_BY = 2.0
"""So far above what is left may a forecast be before it ends the search."""

SLOWER_BY = 15.0
"""How many times as long as forecast a set takes in data with missing values (10,000 rows)."""

FORECAST_HIGH_BY = 4.0
"""So far may the forecast from the table alone be above the truth."""


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
    outcome = Outcome()
    encoded = plan.encoded
    clock = Clock(stop, report, time.perf_counter())
    levels = _levels(plan)
    store = store or LevelStore()
    at = store.restore(outcome)
    if at is True:
        return outcome
    level, below = levels.first()
    if isinstance(at, SearchState):
        levels.remember(at.arrays["memory"])
        if at.in_degree > 1:
            level, below = levels.level_of(at.arrays["level"]), levels.below_of(at.arrays["below"])
    else:
        _keep_empty_sets(level, plan, outcome)
        at = store.begin(1, _arrays(levels, level, below))
    deepest = min(plan.limits.deepest, encoded.n_variables - 1)
    moment, price = moment or Moment(0.0), _seconds_per_join(plan)
    while at.in_degree <= deepest and len(level.members) > 1:
        complete = _pieces_below(outcome, at.in_degree)
        began, before = time.perf_counter(), at.pairs
        try:
            if up_to is not None and at.in_degree + len(plan.context) > up_to:
                raise StoppedError("asked")
            most = len(level.members) * (encoded.n_variables - at.in_degree) / 2
            short = moment.covers(price * most)
            own = stop.untimed() if short else first if first and at.in_degree == 1 else stop
            clock = clock._replace(stop=own)
            if at.in_degree > 1:
                clock.check()
            step = levels.step(level, below, at.in_degree, at.in_degree < deepest, clock.check)
            endless = stop.deadline == math.inf and not ends_by_rules(plan)
            if endless and step.pairs[-1] > MOST_SETS:
                raise StoppedError("forecast")
            left = int(step.pairs[-1]) - at.pairs
            if foresee and at.in_degree > 1 and not short:
                _foresee(plan, left, at.rate, stop, workers, begun=at.pairs > 0)
            if store.slot is None and (foresee or up_to is not None):
                asked = up_to is not None and at.in_degree + len(plan.context) >= up_to
                worth = _worth(plan, stop, workers, asked, at, moment)
                at.new = _last_level(levels, level, at, worth)
            step.run(outcome, workers, clock, at, store)
            if short and stop.is_over():
                moment.spend(price * left)
        except StoppedError as stopped:
            store.save(at, outcome)
            outcome.partial = outcome.kept[complete:]
            del outcome.kept[complete:]
            beyond = levels.beyond(level, below, at.in_degree - 1)
            _cut_short(outcome, plan, beyond, at.in_degree - 1, stopped.reason)
            return _with_residuals(plan, outcome)
        except WorkersError:
            store.save(at, outcome)
            raise
        if isinstance(at.new, LastLevel) and at.new.last and at.new.passed:
            outcome.live.append(at.new.passed)
            why: Reason = "asked" if asked else "time"
            if at.new.passed > 1:  # a single set joins with nothing
                _cut_short(outcome, plan, at.new.beyond, at.in_degree, why)
            break
        if at.new.n_sets == 0:
            if step.overflowed:
                beyond = levels.beyond(level, below, at.in_degree)
                _cut_short(outcome, plan, beyond, at.in_degree, "memory")
            break
        rate = (time.perf_counter() - began) / max(1, at.pairs - before)
        level, below = levels.level_of(at.new.fields()), levels.below(level)
        outcome.live.append(len(level.members))
        at = store.next(at, _arrays(levels, level, below))
        at.rate = rate
        store.save_level(at, outcome)
    _with_residuals(plan, outcome)
    if outcome.ended is None:
        store.save_end(outcome)
    return outcome


def _arrays(levels: Any, level: Any, below: Any) -> dict[str, Any]:
    """Return the arrays of a search state, by group."""
    below = below if isinstance(below, tuple) else (np.atleast_1d(below),)
    return {"level": levels.fields(level), "below": below, "memory": levels.memory()}


def _pieces_below(outcome: Outcome, in_degree: int) -> int:
    """Return how many pieces of what is kept have fewer parents."""
    return sum(piece.parents.shape[1] < in_degree for piece in outcome.kept)


def _with_residuals(plan: SearchPlan, outcome: Outcome) -> Outcome:
    """Count the sets behind the residual entropies as well."""
    if plan.rules.needs_residuals:
        outcome.sets_counted += plan.encoded.n_variables + 1
    return outcome


def ends_by_rules(plan: SearchPlan) -> bool:
    """Whether rules, or a limit on parents that was asked for, end a search."""
    endless = isinstance(plan.score, BySums | NodeAverage)
    return not endless or plan.limits.deepest < plan.encoded.n_variables - 1


def _foresee(
    plan: SearchPlan, joins: int, rate: float, stop: Stop, workers: Workers, *, begun: bool
) -> None:
    """Leave a level whose rest takes longer than there is time; begin none that takes days.

    What was ``begun`` before a break goes on for days.
    """
    if _at_least(plan, joins, rate, workers) > stop.seconds_left:
        raise StoppedError("time")
    if rate * joins > LONGEST_LEVEL and not begun:
        raise StoppedError("forecast")


def _at_least(plan: SearchPlan, joins: int, rate: float, workers: Workers) -> float:
    """Return what so many joins will take at least, in seconds.

    Two forecasts have to agree, far off as either may be: the one from the table alone, and what
    joins have taken by now, which may have begun with loading and compiling.
    """
    forecast = seconds_for(joins, plan.encoded.distinct_rows) / size_of(workers)
    return min(forecast / FORECAST_HIGH_BY, rate * joins / FORECAST_OFF_BY)


def _seconds_per_join(plan: SearchPlan) -> float:
    """Return what a join takes, as the table alone tells."""
    slower = SLOWER_BY if isinstance(plan.score, NodeAverage) else 1.0
    return slower * seconds_for(1, plan.encoded.distinct_rows)


def _worth(
    plan: SearchPlan, stop: Stop, workers: Workers, asked: bool, at: SearchState, moment: Moment
) -> Callable[[int], bool]:
    """Return who knows whether so many joins can be made in the time that is left, or a moment.

    None can if the lists were ``asked`` for up to here only.
    """
    began, price = time.perf_counter(), _seconds_per_join(plan)

    def worth(joins: int) -> bool:
        if asked or moment.covers(price * joins):
            return not asked
        rate = (time.perf_counter() - began) / max(1, at.pairs)
        return _at_least(plan, joins, rate, workers) <= stop.seconds_left

    return worth


def _last_level(
    levels: Any, level: Any, at: SearchState, worth: Callable[[int], bool]
) -> LastLevel:
    """Return what takes the sets of the next level, if there is one."""
    below, in_degree = levels.below(level), at.in_degree

    def bound(fields: Sequence[Any]) -> Any:
        return levels.beyond(levels.level_of(fields), below, in_degree)

    return LastLevel(at.new.name, bound, worth)


def _levels(plan: SearchPlan) -> Any:
    if isinstance(plan.score, NodeAverage):
        return HoleSearch(plan)
    return SumSearch(plan) if isinstance(plan.score, BySums) else PenaltySearch(plan)


def _cut_short(
    outcome: Outcome, plan: SearchPlan, beyond: Any, complete_to: int, reason: Reason
) -> None:
    """Note how far a search came, why it ended, and what families beyond that can score.

    With no such family nothing is missing after all.
    """
    if np.isfinite(beyond).any():
        outcome.beyond = beyond
        outcome.complete_to, outcome.ended = complete_to + len(plan.context), reason


def _keep_empty_sets(level: Any, plan: SearchPlan, outcome: Outcome) -> None:
    children = np.nonzero(plan.limits.most >= 0)[0]
    outcome.kept.append(
        Kept(children, np.empty((len(children), 0), np.int64), level.best[children, 0])
    )
    outcome.sets_counted += len(level.members)
    outcome.families_scored += len(children)
    outcome.live.append(len(level.members))
