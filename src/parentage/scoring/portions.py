"""How many joins a task has: as many as fit a cache on threads, more for workers elsewhere.

A task that is sent takes its caller some milliseconds, however long it runs. T tasks that share w
seconds of work take T·f to feed with f each, and the last one ends up to w/T after the others;
√(w·f) seconds a task is best for both, whatever the number of workers. Few workers need no tasks
that long: with W of them a task of 2·W·f seconds leaves the caller idle half the time. Shorter
tasks lose less when a worker dies or time is over.

Seconds are nominal (:func:`parentage.scoring.forecast.seconds_for`), so that the same job has the
same tasks on every machine. Results do not depend on where a level is cut.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from parentage.scoring.forecast import IN_HAND, seconds_for
from parentage.work.executor import is_elsewhere, size_of

if TYPE_CHECKING:
    from parentage.work.executor import Workers

FEEDING = 0.02
"""Nominal seconds that one task takes its caller and its scheduler: the milliseconds measured by
``benchmarks/bench_cluster.py`` times what a nominal second is longer than one of the clock."""

SHORTEST = 0.5
"""Nominal seconds of a task of long work, for few workers."""

LONGEST = 30.0
"""Nominal seconds of a task, for many."""

SHARE_OF_TIME = 0.05
"""Of the time that is left, for a task: what runs when it is over is lost."""


def joins_per_task(
    at_once: int, joins: int, rows: int, returned: int, workers: Workers, seconds_left: float
) -> int:
    """Return how many of a level's joins make a task.

    ``at_once`` are those that a thread does together, the least there are; ``returned`` is what may
    come back of each join, in bytes.

    >>> joins_per_task(65_536, 10**9, 1000, 0, 2, math.inf)
    65536
    """
    if not is_elsewhere(workers):
        return at_once
    one = seconds_for(1, rows)
    seconds = min(
        LONGEST,
        max(SHORTEST, 2 * size_of(workers) * FEEDING),
        math.sqrt(joins * one * FEEDING),
        SHARE_OF_TIME * max(0.0, seconds_left),
    )
    fit = IN_HAND / returned if returned else math.inf
    return max(at_once, int(min(seconds / one, fit)))
