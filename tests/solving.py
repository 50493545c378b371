"""The solver on lists, with limits and settings as keywords."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parentage.optimise import Start, optimise_lists
from parentage.optimise.settings import Optimising
from parentage.work.context import Context, Running

if TYPE_CHECKING:
    from parentage import CandidateLists, Constraints, Network, Solution
    from parentage.scoring.account import Limit
    from parentage.work.progress import Report
    from parentage.work.stop import Stop


def learn_lists(
    lists: CandidateLists,
    *,
    max_parents: Limit = None,
    constraints: Constraints | None = None,
    engine: str = "auto",
    gap_limit: float = 0.0,
    seed: int = 0,
    threads: int | None = None,
    time_limit: float | None = None,
    memory: int | str | None = None,
    start: Network | None = None,
    progress: Report | None = None,
    stop: Stop | None = None,
) -> Solution:
    """Solve lists; ``stop`` instead of ``time_limit`` and ``memory``."""
    running = Running(threads, time_limit, memory)
    return optimise_lists(
        lists,
        Optimising(engine, gap_limit, seed),
        Context(stop or running.stop(), running.n_threads, report=progress),
        max_parents=max_parents,
        constraints=constraints,
        start=Start(start),
    )
