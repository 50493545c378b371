"""On what long work runs, and where it leaves what is done: clusters, executors, folders."""

from __future__ import annotations

import contextlib
import os
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from parentage.errors import InputError, Way, WorkersError
from parentage.work.cluster import DaskCrew
from parentage.work.connection import connected, load_distributed
from parentage.work.context import Context, Places
from parentage.work.crew import LeftError, nothing
from parentage.work.exchange import Processes
from parentage.work.executor import crew_of
from parentage.work.folder import held
from parentage.work.settings import Option, changed, setting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parentage.work.crew import Look
    from parentage.work.executor import Workers
    from parentage.work.progress import Report
    from parentage.work.stop import Stop


class ScalingKeywords(TypedDict, total=False):
    """What may be given for clusters and folders."""

    cluster: str | None
    client: Any
    executor: Executor | None
    exchange: str | Path | None
    checkpoint: str | Path | None
    resume: str | Path | None


@dataclass(frozen=True)
class Scaling:
    """Settings of work that is long enough for many machines, or for a break."""

    cluster: str | None = setting(
        None,
        """
        Dask workers that share the scoring: the address of a scheduler, ``"tcp://host:8786"``, or
        ``"local:4"`` for four processes of this machine. Results do not depend on it.
        """,
        Option(
            ("--cluster",),
            "Score on Dask workers: tcp://HOST:8786, or local:4 for four processes of this "
            "machine. Results do not depend on it. Needs pip install 'parentage[dask]'.",
            "ADDRESS",
        ),
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
        A folder for large arrays, seen by all workers: they map its files instead of being sent
        copies. Levels that do not fit into memory go there as well. Without it workers of this
        machine get a folder for temporary files, others are sent copies through the scheduler, and
        such levels go to that folder.
        """,
        Option(
            ("--exchange",),
            "Folder for large arrays: for workers, who all see it, and for levels that do not fit "
            "into memory.",
            "DIR",
        ),
    )
    checkpoint: str | Path | None = setting(
        None,
        "A folder, new or empty, in which finished work is kept; ``resume`` goes on from it.",
        Option(
            ("--checkpoint",),
            "Keep finished work in this new folder, for --resume.",
            "DIR",
        ),
    )
    resume: str | Path | None = setting(
        None,
        """
        The folder of a checkpoint to go on from, and to keep finished work in. One with nothing
        in it is begun.
        """,
        Option(
            ("--resume",),
            "Go on from the checkpoint in this folder; the result is that of a run without a "
            "break.",
            "DIR",
        ),
    )

    @property
    def places(self) -> Places:
        """Return the folders."""
        for name in ("exchange", "checkpoint", "resume"):
            value = getattr(self, name)
            if not isinstance(value, str | os.PathLike | None):
                raise InputError(f"{name} is the path of a folder, not {value!r}")
        if self.checkpoint is not None and self.resume is not None:
            raise InputError("checkpoint begins a folder, resume goes on with one; give one")
        for name in ("checkpoint", "resume"):
            if getattr(self, name) == "":  # which as a path is the folder one is in
                raise InputError("names no folder", "name a new or empty one", about=Way(name, ""))
        checkpoint = self.checkpoint if self.resume is None else self.resume
        return Places(
            None if self.exchange is None else Path(self.exchange),
            None if checkpoint is None else Path(checkpoint),
            self.resume is not None,
        )

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
        that stop ends as it does on one machine. The folder of a checkpoint is kept for this job
        meanwhile.
        """
        asked = [name for name in changed(self) if name in ("cluster", "client", "executor")]
        if len(asked) > 1:
            raise InputError(f"{asked[0]} and {asked[1]} both say where to work; give one")
        self._check_kinds()
        places = self.places
        with contextlib.ExitStack() as to_close:
            if places.checkpoint is not None:
                to_close.enter_context(held(places.checkpoint, resume=places.resume))
            workers: Workers = threads
            with contextlib.suppress(LeftError):
                workers = self._found(to_close, threads, nothing if stop is None else _at_end(stop))
            if not isinstance(workers, int | Executor):
                to_close.callback(workers.close)
            try:
                yield workers
            except WorkersError as error:
                if places.checkpoint is None:
                    raise
                way = Way("resume", str(places.checkpoint), "to go on from what is kept")
                raise WorkersError(error.message, way, *error.ways, about=error.about) from error

    @contextlib.contextmanager
    def context(self, threads: int, stop: Stop, report: Report | None = None) -> Iterator[Context]:
        """Make the context of a piece of work, and end its workers afterwards."""
        with self.workers(threads, stop) as workers:
            elsewhere = None if isinstance(workers, int) else workers
            yield Context(stop, threads, elsewhere, report, self.places)

    def _found(self, to_close: contextlib.ExitStack, threads: int, look: Look) -> Workers:
        """Find or start the workers."""
        exchange = self.places.exchange
        if self.cluster is not None:
            look()
            client = to_close.enter_context(connected(self.cluster, look=look))
            return DaskCrew(client, exchange, look)
        if self.client is not None:
            return DaskCrew(self.client, exchange, look)
        if self.executor is None:
            return threads
        crew = crew_of(self.executor)
        if isinstance(crew, Processes) and exchange is not None:
            crew.close()
            return Processes(self.executor, exchange)
        return crew


def _at_end(stop: Stop) -> Look:
    """Return what ends waiting as soon as the stop says so."""

    def look() -> None:
        if stop.reason() is not None:
            raise LeftError

    return look
