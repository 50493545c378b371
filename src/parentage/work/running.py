"""What any long work may use: threads, time and memory."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parentage.errors import Bytes, InputError
from parentage.work.progress import shown
from parentage.work.scaling import Scaling
from parentage.work.settings import Option, Settings, setting
from parentage.work.stop import Stop, interruptible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parentage.work.context import Context
    from parentage.work.progress import Report


@dataclass(frozen=True)
class Running(Settings):
    """Settings of every stage that can take long."""

    threads: int | None = setting(
        None,
        "Number of threads; one per core by default. Proven results do not depend on it.",
        Option("N", int, least=1, common=True),
    )
    time_limit: float | None = setting(
        None,
        """
        Stop after this many seconds and return the best result so far. Scoring gets half of the
        time when a network is to be learned as well; a result that is not proven says so.
        """,
        Option("S", float, least=0, common=True),
    )
    memory: int | None = setting(
        None,
        """
        Memory of the whole process, e.g. 4GB. Most of what is free by default; a level of the
        search that does not fit goes to disk. If it does not fit there either, the search ends,
        with lists that are complete up to some number of parents.

        A number of bytes.
        """,
        Option("SIZE", Bytes, common=True),
    )

    def stop(self) -> Stop:
        """Start the clock."""
        return Stop.after(self.time_limit, self.memory)

    @property
    def workers(self) -> int:
        """Return how many threads to start."""
        if self.threads is None:
            return available_cores()
        if self.threads < 1:
            raise InputError(f"threads must be at least 1, not {self.threads}")
        return self.threads


@contextlib.contextmanager
def working(
    running: Running, progress: Report | bool | None, scaling: Scaling | None = None
) -> Iterator[Context]:
    """Make the context of one call from its settings, and end it afterwards."""
    with (
        interruptible(running.stop()) as stop,
        shown(progress) as report,
        (scaling or Scaling()).context(running.workers, stop, report) as context,
    ):
        yield context


def available_cores() -> int:
    """Return how many cores this process may use: its affinity where the system tells."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1
