"""What any long work may use: threads, time and memory."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

from parentage.errors import InputError
from parentage.work.display import shown
from parentage.work.scaling import Scaling
from parentage.work.settings import Option, setting, take
from parentage.work.stop import Stop, interruptible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from parentage.work.context import Context
    from parentage.work.progress import Report


class RunningKeywords(TypedDict, total=False):
    """What may be given for threads and limits."""

    threads: int | None
    time_limit: float | None
    memory: int | None


@dataclass(frozen=True)
class Running:
    """Settings of every stage that can take long."""

    threads: int | None = setting(
        None,
        "Number of threads, by default one per core. Proven results do not depend on it.",
        Option(
            ("--threads",),
            "Threads; one per core by default. Proven results do not depend on it.",
            "N",
            int,
            least=1,
            common=True,
        ),
    )
    time_limit: float | None = setting(
        None,
        """
        Seconds of wall time for everything. Scoring gets half of it when a network is to be
        learned as well; what is cut short says so, and is not called optimal.
        """,
        Option(
            ("--time-limit",),
            "Seconds for everything. Then what there is by then, and what it is worth.",
            "S",
            float,
            least=0,
            common=True,
        ),
    )
    memory: int | None = setting(
        None,
        """
        Bytes that the whole process may take, by default most of what is free. A level of the
        search that does not fit goes to files in the folder for temporary ones, or in
        ``exchange``; if they do not fit there either, the search ends, with lists that are
        complete up to some number of parents.
        """,
        Option(
            ("--memory",),
            "Memory for everything, e.g. 4GB. Most of what is free by default; what does not fit "
            "goes to disk.",
            "SIZE",
            common=True,
        ),
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
def working(settings: Mapping[str, Any], progress: Report | bool | None) -> Iterator[Context]:
    """Make the context of one call from its settings by name, and end it afterwards."""
    running, scaling = take(Running, settings), take(Scaling, settings)
    with (
        interruptible(running.stop()) as stop,
        shown(progress) as report,
        scaling.context(running.workers, stop, report) as context,
    ):
        yield context


def available_cores() -> int:
    """Return how many cores this process may use: its affinity where the system tells."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1
