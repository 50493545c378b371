"""Workers of a Dask cluster, who may die: what is lost is made again, and no wait is without end.

What tasks share goes through a folder that all workers see (:mod:`parentage.work.exchange`), a
temporary one where the workers are processes of this machine. Without a folder it is in the
arguments of a task, whose result the other tasks need. The scheduler keeps those arguments, so it
makes the shared object again when all workers that had it are gone. Scattering would not do:
scattered data cannot be made again, and a worker that dies while Dask replicates it to all can keep
the scheduler trying for ever, with a lock that every later scatter waits for.

Whoever waits for a result looks at the cluster now and then. Nobody there, or nobody at work, for a
minute: then the task counts as lost, and what was shared and what waits is sent once more under new
names. A scheduler that does not answer, or that gets no workers, is an error.
"""

from __future__ import annotations

import contextlib
import math
import time
import uuid
import warnings
from typing import TYPE_CHECKING, Any

from parentage import __version__
from parentage.errors import WorkersError
from parentage.work.connection import PATIENCE, aside, load_distributed
from parentage.work.crew import POLL, Crew, LostError, Shared, attend, nothing
from parentage.work.exchange import Parcels, have, read_letter, run, write_letter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from parentage.work.crew import Look


SILENT = 6
"""So many times longer is waited for workers that do not say what they do: they may be too busy."""

SLOWEST = 5e6
"""Bytes a second, at least, that what is shared is taken to travel with."""

SHARE_OF_WORKER = 0.5
"""Of the memory of a worker, for what its tasks make: Dask spills and pauses above."""


class DaskCrew(Crew):
    """The workers of a Dask client; ``folder`` is one that all of them see.

    Without it processes of this machine get a temporary one, and others are sent letters.
    """

    def __init__(self, client: Any, folder: Path | None = None, look: Look = nothing) -> None:
        distributed = load_distributed()
        self.client = client
        self.shared: Shared = ()
        self.sent: list[Any] = []
        self.copies: dict[str, list[Any]] = {}
        self.addresses: tuple[str, ...] = ()
        self.bytes = 0
        self.token, self.number = uuid.uuid4().hex, 0
        self._wait_for_workers(look)
        is_here = isinstance(client.cluster, distributed.LocalCluster)
        self.parcels = Parcels(folder) if is_here or folder is not None else None

    @property
    def size_here(self) -> int:
        """One: results stay with the workers until they are asked for."""
        return 1

    def bring(self, shared: Shared) -> None:
        """Send what is new; let go of what is not shared any more."""
        if self.parcels is not None:
            self.parcels.replace(shared)
            return
        before = {id(value): sent for value, sent in zip(self.shared, self.sent, strict=True)}
        self.bytes = 0
        self.sent = [before.get(id(value)) or self._send(value) for value in shared]
        self.shared = shared
        kept = {sent.key for sent in self.sent}
        self.copies = {key: copies for key, copies in self.copies.items() if key in kept}

    def _send(self, value: Any) -> Any:
        """Send an object to the scheduler, as the argument of a task that returns it.

        Every worker is told to get a copy. Dask by itself starts tasks where their data is, and
        with a large object that would be one worker. Nobody waits for these tasks: that of a
        worker who has died is never done.
        """
        letter = write_letter(value)
        self.bytes += letter.size
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")
            sent = self._submit("shared", read_letter, letter)
        self.copies[sent.key] = [
            self._submit("shared", have, sent, workers=[worker]) for worker in self.addresses
        ]
        return sent

    def start(self, function: Callable[..., Any], task: Any, name: str) -> Any:
        """Submit a task under a name that the dashboard shows."""
        shared = self.sent if self.parcels is None else self.parcels.there
        return self._submit(name, run, __version__, function, task, *shared)

    def _submit(
        self, name: str, function: Callable[..., Any], *arguments: Any, **where: Any
    ) -> Any:
        self.number += 1
        key = f"{name}-{self.token}-{self.number}"
        try:
            return self.client.submit(function, *arguments, key=key, **where)
        except Exception as error:
            if self.client.status in ("running", "connecting"):
                raise
            raise _gone(error) from error

    def result(self, started: Any, look: Look = nothing) -> Any:
        """Wait for a result, as long as the cluster is at work."""
        from distributed.scheduler import KilledWorker

        awaited = aside(started.result)
        watch = Watch(PATIENCE + self.bytes / SLOWEST, time.monotonic())
        while not attend(awaited, look, POLL):
            watch.look(self._workers(look), time.monotonic())
        try:
            return awaited.result()
        except Exception as error:
            if started.status != "error" or isinstance(error, KilledWorker):
                raise LostError(f"{type(error).__name__}: {error}") from error
            if isinstance(error, ImportError) or _is_unread(error):
                raise WorkersError(
                    f"the cluster cannot load the program ({type(error).__name__}: {error})",
                    "install the same version of parentage for its scheduler and every worker",
                ) from error
            raise

    def _workers(self, look: Look = nothing) -> Mapping[str, Any]:
        """Ask the scheduler who is there, and what they do."""
        status = self.client.status
        if status != "running":
            raise LostError(f"the client is {status}")
        asked = aside(
            lambda: self.client.sync(self.client.scheduler.identity, callback_timeout=PATIENCE)
        )
        attend(asked, look, math.inf)
        try:
            found = asked.result()
        except Exception as error:  # whatever a scheduler that has gone leads to
            raise LostError(f"{type(error).__name__}: {error}") from error
        workers: Mapping[str, Any] = found["workers"]
        return workers

    def _wait_for_workers(self, look: Look) -> None:
        """Wait until somebody is there; find out how many."""
        give_up = time.monotonic() + PATIENCE
        while True:
            look()
            try:
                workers = self._workers(look)
            except LostError as error:
                if time.monotonic() > give_up or self.client.status == "closed":
                    raise _gone(error) from error
            else:
                if workers:
                    self.size = sum(worker["nthreads"] for worker in workers.values())
                    self.memory = _memory_of(workers.values())
                    self.addresses = tuple(workers)
                    return
                if time.monotonic() > give_up:
                    raise _nobody()
            time.sleep(0.1)

    def repair(self, look: Look = nothing) -> None:
        """Wait for workers, and send everything again: what a loss took with it is not known."""
        self._wait_for_workers(look)
        self.bytes, self.copies = 0, {}
        self.sent = [self._send(value) for value in self.shared]

    def cancel(self, started: Any) -> None:
        """Let go of a task."""
        with contextlib.suppress(Exception):  # a scheduler that has gone has forgotten it
            started.cancel()

    def close(self) -> None:
        """Let go of what was sent; the client is the caller's."""
        self.bring(())
        if self.parcels is not None:
            self.parcels.close()


class Watch:
    """Tells whether waiting goes on: not when nobody has been at work for ``longest`` seconds."""

    def __init__(self, longest: float, now: float) -> None:
        self.longest, self.since = longest, now
        self.heard: dict[str, float] = {}

    def look(self, workers: Mapping[str, Any], now: float) -> None:
        """Look at the workers, as the scheduler describes them."""
        if any(map(_is_at_work, workers.values())):
            self.since, self.heard = now, {}
            return
        heard = {name: worker["last_seen"] for name, worker in workers.items()}
        before = self.heard
        self.heard = {name: before.get(name, when) for name, when in heard.items()}
        if now - self.since <= self.longest:
            return
        if not workers:
            raise _nobody()
        if all(worker["status"] == "paused" for worker in workers.values()):
            raise WorkersError(
                f"every worker has been paused for {now - self.since:.0f} s, short of memory",
                "give every worker more memory",
            )
        told = all(heard[name] > self.heard[name] for name in heard)
        if told or now - self.since > SILENT * self.longest:
            raise LostError(f"no worker has done anything for {now - self.since:.0f} s")


def _memory_of(workers: Iterable[Mapping[str, Any]]) -> int | None:
    """Return what a task may take with any of the workers; None if one has no limit."""
    limits = [worker["memory_limit"] // worker["nthreads"] for worker in workers]
    return int(SHARE_OF_WORKER * min(limits)) if all(limits) else None


def _is_at_work(worker: Mapping[str, Any]) -> bool:
    """Whether a worker runs a task, or data comes or goes."""
    metrics = worker.get("metrics") or {}
    tasks, moving = metrics.get("task_counts") or {}, metrics.get("transfer") or {}
    counts = [tasks.get("executing"), tasks.get("long-running")]
    return any([*counts, moving.get("incoming_count"), moving.get("outgoing_count")])


def _is_unread(error: Exception) -> bool:
    """Whether the scheduler could not make sense of what it got."""
    return isinstance(error, RuntimeError) and "deserialization" in str(error)


def _nobody() -> WorkersError:
    return WorkersError(
        f"the cluster has had no worker for {PATIENCE:.0f} s",
        "start some; with a checkpoint the work goes on from there",
    )


def _gone(error: BaseException) -> WorkersError:
    return WorkersError(
        f"the cluster cannot be reached any more ({error or type(error).__name__})",
        "see whether its scheduler and workers run, and start again",
    )
