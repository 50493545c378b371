"""Workers of a Dask cluster, who may die: what is lost is made again, and no wait is without end.

What tasks share goes through a folder that all workers see (:mod:`parentage.work.executor`), a
temporary one where the workers are processes of this machine. Without a folder it is a message in
the arguments of a task, whose result the other tasks need. The scheduler keeps those arguments, so
it makes the shared object again when all workers that had it are gone. Scattering would not do:
scattered data cannot be made again, and a worker that dies while Dask replicates it to all can keep
the scheduler trying for ever, with a lock that every later scatter waits for.

Whoever waits for a result looks at the cluster now and then. If no worker was there, or none at
work, for a minute, the task counts as lost, and what was shared and what waits is sent once more
under new names. A scheduler that does not answer, or that gets no workers, is an error.

A connection that may not answer is made in a thread of its own, so that Ctrl-C and a deadline are
noticed meanwhile. That thread blocks SIGINT, and what it starts inherits that: a terminal sends the
signal to all processes in it, and workers that end with a traceback each would take away what the
caller is about to save.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import re
import signal
import socket
import threading
import time
import uuid
import warnings
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from parentage import __version__
from parentage.errors import (
    InputError,
    MissingExtraError,
    ParentageWarning,
    Way,
    WorkersError,
    warn,
)
from parentage.work.executor import (
    LostError,
    Shared,
    WorkerPool,
    have,
    nothing,
    read_message,
    run_task,
    wait_for,
    write_message,
)
from parentage.work.tuning import TUNING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from parentage.work.executor import Poll

STAY = {"distributed.deploy.lost-worker-timeout": "1d"}
"""A worker that died is started anew; without this Dask takes it off the list if it dies again."""

SCHEMES = ("", "tcp", "tls", "ws", "wss")
"""Ways to a scheduler, of those that Dask knows; without one it is tcp."""

_LOCAL = re.compile(r"local(?::([0-9]{1,18}))?")
_PLACE = re.compile(r"(?:([a-z]+)://)?[^/]+:([0-9]{1,5})")


def _check_address(address: str) -> None:
    """Refuse what cannot be the address of a cluster."""
    about = Way("executor", address)
    local, place = _LOCAL.fullmatch(address), _PLACE.fullmatch(address)
    if local is not None:
        most = max(64, 4 * (os.cpu_count() or 1))
        asked = 1 if local[1] is None else int(local[1])
        if asked < 1:
            raise InputError("requests no processes", "the smallest is local:1", about=about)
        if asked > most:
            raise InputError(
                f"requests more processes than the {most} that one machine may have here",
                "give one for every core, which is local",
                about=about,
            )
    elif place is None or address.startswith("local:") or int(place[2]) > 65535:
        raise InputError(
            "is not an address",
            "give that of a scheduler, like tcp://host:8786, or local:4 for four processes of this "
            "machine",
            about=about,
        )
    elif (place[1] or "") not in SCHEMES:
        known = ", ".join(f"{scheme}://" for scheme in SCHEMES if scheme)
        raise InputError(
            f"has the unknown protocol {place[1]}; known ones: {known}",
            "give an address such as tcp://host:8786",
            about=about,
        )


@contextlib.contextmanager
def connected(address: str, patience: float | None = None, poll: Poll = nothing) -> Iterator[Any]:
    """Connect to the scheduler at an address, or start ``local:N`` processes; yield the client.

    ``poll`` is called while that takes long, and what it raises ends it.
    """
    _check_address(address)
    patience = TUNING.patience if patience is None else patience
    distributed = load_distributed()
    import dask.system

    local = _LOCAL.fullmatch(address)
    with contextlib.ExitStack() as open_things:
        open_things.enter_context(_quiet())
        try:
            if local is None:
                client = _client_of(address, patience, poll)
            else:
                open_things.enter_context(dask.config.set(STAY))
                cluster = _start_here(int(local[1] or dask.system.CPU_COUNT), poll)
                open_things.callback(_close, cluster, TUNING.patience / 2)
                making = in_thread(lambda: distributed.Client(cluster, set_as_default=False))
                client = making.result()
        except (OSError, ValueError) as error:
            raise InputError(
                f"cannot be reached ({error})",
                "start a scheduler there, or give local:4 for four processes of this machine",
                about=Way("executor", address),
            ) from error
        open_things.callback(_close, client, TUNING.seconds_to_close)
        yield client


def _start_here(count: int, poll: Poll) -> Any:
    """Start a scheduler and its worker processes on this machine."""
    from distributed import LocalCluster

    _start_tracker()
    cluster = in_thread(
        lambda: LocalCluster(
            n_workers=0,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        )
    ).result()
    try:
        cluster.scale(count)
        there, since = 0, time.monotonic()
        while there < count and time.monotonic() < since + TUNING.patience:
            time.sleep(0.05)
            poll()
            if len(cluster.scheduler.workers) > there:
                there, since = len(cluster.scheduler.workers), time.monotonic()
    except BaseException:  # to close them they have to be up: nobody waits for that
        cluster.shutdown_on_close = False  # nor does Python at its end, with which they end
        in_thread(lambda: _close(cluster, TUNING.patience / 2))
        raise
    return cluster


def _client_of(address: str, patience: float, poll: Poll) -> Any:
    """Make a client of the scheduler at an address.

    Dask by itself asks again and again where nobody listens, and waits for ever for a server that
    does not answer. A client that comes when nobody waits any more is closed.

    Raises
    ------
    OSError
        Nobody answers, or somebody else.
    """
    distributed = load_distributed()
    host, _, port = address.rpartition("://")[2].rpartition(":")

    def make() -> Any:
        socket.create_connection((host.strip("[]"), int(port)), timeout=patience).close()
        return distributed.Client(address, timeout=patience, set_as_default=False)

    making = in_thread(make)
    try:
        if not wait_for(making, poll, 2 * patience):
            raise OSError(f"no scheduler has answered for {patience:g} s")
        return making.result()
    except TypeError as error:
        raise OSError("the program that answers there is not a scheduler") from error
    except BaseException:

        def close(made: Future[Any]) -> None:
            if made.exception() is None:  # nobody waits for it any more
                _close(made.result(), TUNING.seconds_to_close)

        making.add_done_callback(close)
        raise


def _start_tracker() -> None:
    """Let Python start what it starts with the first process now.

    Done later, in a thread that blocks signals for the processes it starts, it would let them
    through again.
    """
    with contextlib.suppress(ImportError, OSError):
        from multiprocessing import resource_tracker

        resource_tracker.ensure_running()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep what Dask logs from stderr: what matters becomes an error of ours."""
    names = [name for name in logging.root.manager.loggerDict if name.startswith("distributed.")]
    before = [(logger, logger.level) for logger in map(logging.getLogger, ["distributed", *names])]
    for logger, level in before:
        if level != logging.NOTSET:
            logger.setLevel(max(level, logging.CRITICAL))
    try:
        yield
    finally:
        for logger, level in before:
            logger.setLevel(level)


def _close(thing: Any, seconds: float) -> None:
    """Close a client or a cluster; one whose workers died may fail to, with nothing to be done."""
    try:
        thing.close(timeout=seconds)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        warn(ParentageWarning(f"the cluster did not shut down cleanly ({reason})"))


def load_distributed() -> Any:
    """Import Dask's scheduler, or say how to install it."""
    try:
        import distributed
    except ImportError:
        raise MissingExtraError("a cluster", "Dask", "dask") from None
    return distributed


def in_thread(function: Callable[[], Any]) -> Future[Any]:
    """Call a function in a thread of its own, which nobody has to wait for.

    Ctrl-C is not for it, nor for the threads and processes that it starts: in a terminal that
    signal goes to all processes, of which this one alone is to hear it.
    """
    called = Future[Any]()

    def call() -> None:
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            called.set_result(function())
        except BaseException as error:  # handed on to whoever waits
            called.set_exception(error)

    threading.Thread(target=call, daemon=True).start()
    return called


class DaskPool(WorkerPool):
    """The workers of a Dask client, which is the caller's; ``folder`` is one that all of them see.

    Without it processes of this machine get a temporary one, and others are sent messages.
    """

    def __init__(self, client: Any, folder: Path | None = None, poll: Poll = nothing) -> None:
        distributed = load_distributed()
        self.client = client
        self.copies: dict[str, list[Any]] = {}
        self.addresses: tuple[str, ...] = ()
        self.bytes = 0
        self.token, self.number = uuid.uuid4().hex, 0
        self._wait_for_workers(poll)
        is_here = isinstance(client.cluster, distributed.LocalCluster)
        super().__init__(folder, files=is_here or folder is not None)

    @property
    def size_here(self) -> int:
        """One: results stay with the workers until they are asked for."""
        return 1

    def share(self, shared: Shared) -> None:
        """Send what is new; let go of what is not shared any more."""
        self.bytes = 0
        super().share(shared)
        if self.folder is None:
            self.copies = {sent.key: self.copies[sent.key] for sent in self.there}

    def bring(self, value: Any) -> Any:
        """Write an object, or send it to the scheduler, as the argument of a task that returns it.

        Every worker is told to get a copy. Dask by itself starts tasks where their data is, and
        with a large object that would be one worker. Nobody waits for these tasks: that of a
        worker who has died is never done.
        """
        if self.folder is not None:
            return super().bring(value)
        message = write_message(value)
        self.bytes += len(message)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")
            sent = self._submit("shared", read_message, message)
        self.copies[sent.key] = [
            self._submit("shared", have, sent, workers=[worker]) for worker in self.addresses
        ]
        return sent

    def start(self, function: Callable[..., Any], task: Any, name: str) -> Any:
        """Submit a task under a name that the dashboard shows."""
        return self._submit(name, run_task, __version__, function, task, *self.there)

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

    def result(self, started: Any, poll: Poll = nothing) -> Any:
        """Wait for a result, as long as the cluster is at work."""
        from distributed.scheduler import KilledWorker

        awaited = in_thread(started.result)
        check = watching(TUNING.patience + self.bytes / TUNING.slowest_link, time.monotonic())
        while not wait_for(awaited, poll, TUNING.watch_seconds):
            check(self._workers(poll), time.monotonic())
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

    def _workers(self, poll: Poll = nothing) -> Mapping[str, Any]:
        """Ask the scheduler who is there, and what they do."""
        status = self.client.status
        if status != "running":
            raise LostError(f"the client is {status}")
        asked = in_thread(
            lambda: self.client.sync(
                self.client.scheduler.identity, callback_timeout=TUNING.patience
            )
        )
        wait_for(asked, poll, math.inf)
        try:
            found = asked.result()
        except Exception as error:  # whatever a scheduler that has gone leads to
            raise LostError(f"{type(error).__name__}: {error}") from error
        workers: Mapping[str, Any] = found["workers"]
        return workers

    def _wait_for_workers(self, poll: Poll) -> None:
        """Wait until somebody is there; find out how many."""
        give_up = time.monotonic() + TUNING.patience
        while True:
            poll()
            try:
                workers = self._workers(poll)
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

    def repair(self, poll: Poll = nothing) -> None:
        """Wait for workers, and send everything again: what a loss took with it is not known."""
        self._wait_for_workers(poll)
        if self.folder is None:
            self.bytes, self.copies = 0, {}
            self.there = tuple(map(self.bring, self.shared))

    def cancel(self, started: Any) -> None:
        """Let go of a task."""
        with contextlib.suppress(Exception):  # a scheduler that has gone has forgotten it
            started.cancel()


def watching(longest: float, since: float) -> Callable[[Mapping[str, Any], float], None]:
    """Return what is called with the workers, as the scheduler describes them, and the time.

    It ends the waiting by an error when nobody has been at work for ``longest`` seconds.
    """
    known: dict[str, float] = {}  # when each was heard of first since somebody was at work

    def check(workers: Mapping[str, Any], now: float) -> None:
        nonlocal since, known
        if any(map(_is_at_work, workers.values())):
            since, known = now, {}
            return
        heard = {name: worker["last_seen"] for name, worker in workers.items()}
        known = {name: known.get(name, when) for name, when in heard.items()}
        if now - since <= longest:
            return
        if not workers:
            raise _nobody()
        if all(worker["status"] == "paused" for worker in workers.values()):
            raise WorkersError(
                f"every worker has been paused for {now - since:.0f} s, short of memory",
                "give every worker more memory",
            )
        told = all(heard[name] > known[name] for name in heard)
        if told or now - since > TUNING.silence * longest:
            raise LostError(f"no worker has done anything for {now - since:.0f} s")

    return check


def _memory_of(workers: Iterable[Mapping[str, Any]]) -> int | None:
    """Return what a task may take with any of the workers; None if one has no limit."""
    limits = [worker["memory_limit"] // worker["nthreads"] for worker in workers]
    return int(TUNING.worker_memory * min(limits)) if all(limits) else None


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
        f"the cluster has had no worker for {TUNING.patience:.0f} s",
        "start some; with a checkpoint the work continues from there",
    )


def _gone(error: BaseException) -> WorkersError:
    return WorkersError(
        f"the cluster cannot be reached any more ({error or type(error).__name__})",
        "see whether its scheduler and workers run, and start again",
    )
