"""On what long work runs, and where it leaves what is done: clusters, executors, folders."""

from __future__ import annotations

import contextlib
import os
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parentage.errors import InputError, Way, WorkersError
from parentage.work.cluster import DaskPool, connected, load_distributed
from parentage.work.context import Context
from parentage.work.executor import LeftError, nothing, pool_of
from parentage.work.settings import Option, Settings, changed, setting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parentage.work.checkpoint import Checkpoint
    from parentage.work.executor import Poll, Workers
    from parentage.work.progress import Report
    from parentage.work.stop import Stop


@dataclass(frozen=True)
class Scaling(Settings):
    """Settings of work that is long enough for many machines, or for a break."""

    cluster: str | None = setting(
        None,
        """
        Score on Dask workers: the address of a scheduler, ``"tcp://HOST:8786"``, or ``"local:4"``
        for four processes of this machine. Results do not depend on it. Needs
        pip install 'parentage[dask]'.
        """,
        Option("ADDRESS"),
    )
    client: Any = setting(
        None,
        "A ``dask.distributed.Client`` whose workers share the scoring.",
    )
    executor: Executor | None = setting(
        None,
        "Any ``concurrent.futures.Executor`` whose workers share the scoring.",
    )
    exchange: str | Path | None = setting(
        None,
        """
        Directory shared by all workers for large arrays; also used for levels of the search that do
        not fit into memory.

        Without it workers of this machine use the folder for temporary files, others are sent
        copies through the scheduler, and such levels go to that folder.
        """,
        Option("DIR"),
    )
    checkpoint: str | Path | None = setting(
        None,
        """
        Save the state of the work in this folder; the same call continues from it. The result is
        that of a run without a break. The checkpoint of another job is refused.
        """,
        Option("DIR", former=("--resume",)),
    )

    def folder(self, name: str) -> Path | None:
        """Return the folder given as ``exchange`` or ``checkpoint``."""
        value = getattr(self, name)
        if not isinstance(value, str | os.PathLike | None):
            raise InputError(f"{name} is the path of a folder, not {value!r}")
        if value == "":  # which as a path is the current folder
            raise InputError("names no folder", "name a new or empty one", about=Way(name, ""))
        return None if value is None else Path(value)

    def _check_kinds(self) -> None:
        """Refuse anything but an address, a client and an executor, while that is easy to tell."""
        given: object = self.cluster
        if not isinstance(given, str | None):
            raise InputError(
                f"cluster is an address, like 'tcp://host:8786' or 'local:4', not {given!r}",
                Way("client", ..., "for a dask.distributed.Client"),
            )
        if self.client is not None:
            if not isinstance(self.client, load_distributed().Client):
                ways = [Way("cluster", "tcp://host:8786", "for an address")]
                if isinstance(self.client, Executor):
                    ways = [Way("executor", ..., "for an executor")]
                raise InputError(f"client is a dask.distributed.Client, not {self.client!r}", *ways)
            if self.client.asynchronous:
                raise InputError("client is asynchronous", "make one with asynchronous=False")
        if self.executor is not None and not isinstance(self.executor, Executor):
            raise InputError(
                f"executor is a concurrent.futures.Executor, not {self.executor!r}",
                Way("threads", 4, "for a number of threads"),
            )

    @contextlib.contextmanager
    def workers(self, threads: int, stop: Stop | None = None) -> Iterator[Workers]:
        """Give what tasks run on: what was asked for, or threads; end it afterwards.

        If ``stop`` ends the waiting for a cluster it is threads as well: what is asked of them with
        that stop ends as it does on one machine.
        """
        asked = [name for name in changed(self) if name in ("cluster", "client", "executor")]
        if len(asked) > 1:
            raise InputError(f"{asked[0]} and {asked[1]} both say where to work; give one")
        self._check_kinds()
        with contextlib.ExitStack() as to_close:
            workers: Workers = threads
            with contextlib.suppress(LeftError):
                workers = self._found(to_close, threads, nothing if stop is None else _at_end(stop))
            if not isinstance(workers, int | Executor):
                to_close.callback(workers.close)
            yield workers

    @contextlib.contextmanager
    def context(self, threads: int, stop: Stop, report: Report | None = None) -> Iterator[Context]:
        """Make the context of a piece of work, and end its workers afterwards.

        The folder of a checkpoint is locked meanwhile.
        """
        with self._opened() as checkpoint, self.workers(threads, stop) as workers:
            elsewhere = None if isinstance(workers, int) else workers
            try:
                yield Context(stop, threads, elsewhere, report, self.folder("exchange"), checkpoint)
            except WorkersError as error:
                if checkpoint is None:
                    raise
                way = Way("checkpoint", str(checkpoint.folder), "to continue from what is saved")
                raise WorkersError(error.message, way, *error.ways, about=error.about) from error

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Checkpoint | None]:
        folder = self.folder("checkpoint")
        if folder is None:
            yield None
            return
        from parentage.work.checkpoint import opened

        with opened(folder) as checkpoint:
            yield checkpoint

    def _found(self, to_close: contextlib.ExitStack, threads: int, poll: Poll) -> Workers:
        """Find or start the workers."""
        exchange = self.folder("exchange")
        if self.cluster is not None:
            poll()
            client = to_close.enter_context(connected(self.cluster, poll=poll))
            return DaskPool(client, exchange, poll)
        if self.client is not None:
            return DaskPool(self.client, exchange, poll)
        if self.executor is None:
            return threads
        return pool_of(self.executor, exchange)


def _at_end(stop: Stop) -> Poll:
    """Return what ends waiting as soon as the stop says so."""

    def poll() -> None:
        if stop.reason() is not None:
            raise LeftError

    return poll
