"""The level-wise search over live sets: from encoded data to kept families.

One level holds the sets of one size (:class:`parentage.kernels.families.Level` for penalised
likelihoods, :class:`parentage.kernels.holes.HoleLevel` for tables with holes,
:class:`parentage.kernels.sums.SumLevel` for other scores). A step
(:mod:`parentage.scoring.steps`) joins siblings, tests the rules, counts what survives and scores
its families. Two adjacent levels are in memory; the last one, when its size is known beforehand or
when it does not fit, is streamed: scored and forgotten.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from parentage.scoring.hole_search import HoleSearch
from parentage.scoring.penalty_search import PenaltySearch
from parentage.scoring.scores import BySums, NodeAverage
from parentage.scoring.steps import Clock, Kept, Outcome, StoppedError
from parentage.scoring.sum_search import SumSearch

if TYPE_CHECKING:
    from parentage.scoring.plan import SearchPlan
    from parentage.work.executor import Workers
    from parentage.work.progress import Report
    from parentage.work.stop import Reason, Stop


def search(
    plan: SearchPlan, stop: Stop, *, workers: Workers = 1, report: Report | None = None
) -> Outcome:
    """Find every family that is kept.

    ``stop`` is asked after every chunk; its memory, if it has a limit, is what levels and kept
    families may take. A search that ends early keeps the families of complete levels, and bounds
    what it did not look at.
    """
    outcome = Outcome()
    encoded = plan.encoded
    clock = Clock(stop, report, time.perf_counter())
    levels = _levels(plan)
    level, below = levels.first()
    _keep_empty_sets(level, plan, outcome)
    deepest = min(plan.limits.deepest, encoded.n_variables - 1)
    in_degree = 0
    while in_degree < deepest and len(level.members) > 1:
        in_degree += 1
        complete = len(outcome.kept)
        try:
            step = levels.step(level, below, in_degree, in_degree < deepest)
            new = step.run(outcome, workers, clock)
        except StoppedError as stopped:
            del outcome.kept[complete:]
            beyond = levels.beyond(level, below, in_degree - 1)
            _cut_short(outcome, plan, beyond, in_degree - 1, stopped.reason)
            break
        if new is None:
            if step.overflowed:
                beyond = levels.beyond(level, below, in_degree)
                _cut_short(outcome, plan, beyond, in_degree, "memory")
            break
        level, below = new, levels.below(level)
        outcome.live.append(len(level.members))
    if plan.rules.needs_residuals:
        outcome.sets_counted += encoded.n_variables + 1
    return outcome


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
