"""What long work may use and whom it tells: one object, handed down the whole path.

A :class:`Context` is made once, where the user's limits are known (:class:`Running`,
:class:`Scaling`). An algorithm takes it, asks its ``stop`` at safe points, runs its tasks on its
``workers`` and calls its ``report``; clocks, folders and clusters stay outside the algorithm.
"""

from __future__ import annotations

import contextlib
import os
import sys
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from parentage.errors import Bytes, InputError, Way, WorkersError
from parentage.work.executor import ExecutorPool, leave, size_of
from parentage.work.progress import shown
from parentage.work.settings import Option, Settings, setting
from parentage.work.stop import Stop, StoppedError, interruptible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parentage.work.checkpoint import Checkpoint
    from parentage.work.executor import Poll, WorkerPool, Workers
    from parentage.work.progress import Report


@dataclass(frozen=True)
class Context:
    """Limits, workers, progress and folders of one piece of work.

    Parameters
    ----------
    stop
        When to end.
    threads
        Number of threads of this process.
    workers
        What tasks run on if not on these threads: the workers of an executor or of a cluster.
    report
        Called with the progress; None for nobody.
    exchange
        A folder for large arrays: read by all workers, and used when memory is short; None for a
        temporary one.
    checkpoint
        Where the state of the work is saved; None for nowhere.

    Examples
    --------
    >>> Context(threads=3).tasks
    3
    """

    stop: Stop = field(default_factory=Stop)
    threads: int = 1
    workers: WorkerPool | None = None
    report: Report | None = None
    exchange: Path | None = None
    checkpoint: Checkpoint | None = None

    @property
    def pool(self) -> Workers:
        """What tasks run on."""
        return self.threads if self.workers is None else self.workers

    @property
    def tasks(self) -> int:
        """Number of tasks that run at a time."""
        return size_of(self.pool)

    def ending(self, stop: Stop) -> Context:
        """Return the same with another end."""
        return replace(self, stop=stop)

    def share(self, part: float) -> Context:
        """Return the same for a part of the time that is left."""
        return self.ending(self.stop.share(part))

    def unsaved(self) -> Context:
        """Return the same without a checkpoint."""
        return replace(self, checkpoint=None)


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
        Stop after this many seconds in total and return the best result so far. The result states
        how far it is proven or complete.
        """,
        Option("S", float, least=0, common=True),
    )
    memory: int | str | None = setting(
        None,
        """
        Memory limit of the whole process, e.g. 4GB. By default scoring takes at most half of the
        free memory. Sets that do not fit are stored on disk; if they do not fit there either, the
        search ends with lists that are complete up to some number of parents.

        A number of bytes, or a text such as ``"4GB"``.
        """,
        Option("SIZE", Bytes, common=True),
    )

    def stop(self) -> Stop:
        """Start the clock."""
        memory = cast("int | None", self.memory)  # a text has become a number
        return Stop.after(self.time_limit, memory)

    @property
    def n_threads(self) -> int:
        """How many threads to start."""
        return available_cores() if self.threads is None else self.threads


@dataclass(frozen=True)
class Scaling(Settings):
    """Settings of work that is long enough for many machines, or for a break."""

    executor: Any = setting(
        None,
        """
        Score on other workers: the address of a Dask scheduler, ``"tcp://HOST:8786"``, or
        ``"local:4"`` for four processes of this machine. Results do not depend on it. Dask is an
        extra: pip install 'parentage[dask]'.

        Or a ``dask.distributed.Client``, or any ``concurrent.futures.Executor``.
        """,
        Option("ADDRESS"),
    )
    exchange: str | Path | None = setting(
        None,
        """
        Directory that all workers share, for large arrays and for what does not fit into memory.

        Without it workers of this machine use the folder for temporary files, others are sent
        copies through the scheduler, and such levels go to that folder.
        """,
        Option("DIR"),
    )
    checkpoint: str | Path | None = setting(
        None,
        """
        Save the state of the work in this folder; the same command resumes from it. The result is
        the same as without interruption. The checkpoint of another job is refused.
        """,
        Option("DIR", short="--resume"),
    )

    def folder(self, name: str) -> Path | None:
        """Return the folder given as ``exchange`` or ``checkpoint``."""
        value = getattr(self, name)
        if not isinstance(value, str | os.PathLike | None):
            raise InputError(f"{name} is the path of a folder, not {value!r}")
        if value == "":  # which as a path is the current folder
            raise InputError("names no folder", "name a new or empty one", about=Way(name, ""))
        return None if value is None else Path(value)

    @contextlib.contextmanager
    def context(self, threads: int, stop: Stop, report: Report | None = None) -> Iterator[Context]:
        """Make the context of a piece of work, and end its workers afterwards.

        The folder of a checkpoint is locked meanwhile. If ``stop`` ends the waiting for a cluster
        there are threads only: what is asked of them with that stop ends as it does on one machine.
        """
        folder, exchange = self.folder("checkpoint"), self.folder("exchange")
        checkpoint: Checkpoint | None = None
        workers: WorkerPool | None = None
        with contextlib.ExitStack() as to_close:
            if folder is not None:
                from parentage.work.checkpoint import opened

                checkpoint = to_close.enter_context(opened(folder))
            if self.executor is not None:
                with contextlib.suppress(StoppedError):
                    workers = self._workers(to_close, exchange, leave(stop, 0.0))
                    to_close.callback(workers.close)
            try:
                yield Context(stop, threads, workers, report, exchange, checkpoint)
            except WorkersError as error:
                if folder is None:
                    raise
                way = Way("checkpoint", str(folder), "to continue from what is saved")
                raise WorkersError(error.message, way, *error.ways, about=error.about) from error

    def _workers(
        self, to_close: contextlib.ExitStack, exchange: Path | None, poll: Poll
    ) -> WorkerPool:
        """Find or start the workers that were asked for."""
        from parentage.work.cluster import DaskPool, connected

        given = self.executor
        if isinstance(given, Executor):
            return ExecutorPool(given, exchange)
        if isinstance(given, str):
            poll()
            given = to_close.enter_context(connected(given, poll=poll))
        else:
            _check_client(given)
        return DaskPool(given, exchange, poll)


def _check_client(given: object) -> None:
    """Refuse anything but a Dask client before the work begins."""
    distributed = sys.modules.get("distributed")
    if distributed is None or not isinstance(given, distributed.Client):
        ways = [Way("threads", given, "for a number of threads")] if type(given) is int else []
        raise InputError(
            "executor is a concurrent.futures.Executor, a dask.distributed.Client or an address, "
            f"like 'tcp://host:8786' or 'local:4', not {given!r}",
            *ways,
        )
    if given.asynchronous:
        raise InputError("the client is asynchronous", "make one with asynchronous=False")


@contextlib.contextmanager
def working(
    running: Running, progress: Report | bool | None, scaling: Scaling | None = None
) -> Iterator[Context]:
    """Make the context of one call from its settings, and end it afterwards."""
    with (
        interruptible(running.stop()) as stop,
        shown(progress) as report,
        (scaling or Scaling()).context(running.n_threads, stop, report) as context,
    ):
        yield context


def available_cores() -> int:
    """Return how many cores this process may use: its affinity where the system tells."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1
