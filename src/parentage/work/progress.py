"""Where long work is: one type for every stage, passed to whoever shows it.

Work reports, it never prints. A callback gets a :class:`Progress` after every chunk of a search,
whenever a network or a bound improves, and now and then in between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Stage = Literal[
    "scoring", "learning", "parameters", "needs", "bootstrap", "near-optimal", "path", "folds"
]


@dataclass(frozen=True)
class Progress:
    """One moment of the work.

    Parameters
    ----------
    stage
        ``"scoring"`` or ``"learning"``; ``"parameters"`` while they are estimated from data with
        missing values; ``"needs"``, ``"bootstrap"`` and ``"near-optimal"`` when
        the support of arcs is asked for.
    phase
        What is going on, in words: ``"2 parents"``, ``"root LP"``.
    seconds
        Wall time since the stage began.
    done, total
        While scoring: joins of this phase done, and all of them. For support: networks that were
        optimised, and all that will be.
    sets_counted
        While scoring: sets counted so far.
    incumbent, bound
        While learning: the best score so far, and what no network exceeds.
    seconds_left
        For support: how long the rest will take, judged by what is done.
    """

    stage: Stage
    phase: str
    seconds: float
    done: int = 0
    total: int = 0
    sets_counted: int = 0
    incumbent: float | None = None
    bound: float | None = None
    seconds_left: float | None = None


Report = Callable[[Progress], None]
"""What is called with the progress of the work."""
