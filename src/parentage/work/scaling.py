"""On what long work runs, and where it leaves what is done: clusters, executors, folders."""

from __future__ import annotations

import contextlib
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from parentage.errors import InputError, Way
from parentage.work.cluster import DaskCrew, connected
from parentage.work.exchange import Processes
from parentage.work.executor import crew_of
from parentage.work.folder import held
from parentage.work.settings import Option, changed, setting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parentage.work.executor import Workers


@dataclass(frozen=True)
class Places:
    """Folders of long work.

    Parameters
    ----------
    exchange
        For large arrays: read by all workers, and used when memory is short; None for a temporary
        one.
    checkpoint
        Where finished work is kept; None for nowhere.
    resume
        Whether what is there is gone on with.
    """

    exchange: Path | None = None
    checkpoint: Path | None = None
    resume: bool = False


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
        """Refuse what is neither a client nor an executor, while that is easy to tell."""
        if self.client is not None and not callable(getattr(self.client, "submit", None)):
            raise InputError(
                f"client is a dask.distributed.Client, not {self.client!r}",
                Way("cluster", "tcp://host:8786", "for an address"),
            )
        if self.executor is not None and not isinstance(self.executor, Executor):
            raise InputError(
                f"executor is a concurrent.futures.Executor, not {self.executor!r}",
                Way("threads", 4, "for a number of threads"),
            )

    @contextlib.contextmanager
    def workers(self, threads: int) -> Iterator[Workers]:
        """Give what tasks run on: what was asked for, or threads; end it afterwards.

        The folder of a checkpoint is kept for this job meanwhile.
        """
        asked = [name for name in changed(self) if name in ("cluster", "client", "executor")]
        if len(asked) > 1:
            raise InputError(f"{asked[0]} and {asked[1]} both say where to work; give one")
        self._check_kinds()
        places = self.places
        exchange = places.exchange
        with contextlib.ExitStack() as to_close:
            if places.checkpoint is not None:
                to_close.enter_context(held(places.checkpoint, resume=places.resume))
            workers: Workers = threads
            if self.cluster is not None:
                client = to_close.enter_context(connected(self.cluster))
                workers = DaskCrew(client, exchange)
            elif self.client is not None:
                workers = DaskCrew(self.client, exchange)
            elif self.executor is not None:
                workers = crew_of(self.executor)
                if isinstance(workers, Processes) and exchange is not None:
                    workers = Processes(self.executor, exchange)
            if not isinstance(workers, int | Executor):
                to_close.callback(workers.close)
            yield workers
