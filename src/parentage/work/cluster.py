"""Workers of a Dask cluster, who may die: lost data is sent again, lost tasks are started again.

What tasks share is scattered to every worker, or written into a folder that all of them see
(:mod:`parentage.work.exchange`). Scattered data is gone when all its holders are, and Dask cannot
make it again; but the caller has it. So any loss is answered in one way: wait for a worker, bring
what is shared once more, start what waits once more. Results do not depend on it.
"""

from __future__ import annotations

import contextlib
import logging
import re
import threading
import time
import uuid
import warnings
from concurrent.futures import CancelledError, Future, wait
from typing import TYPE_CHECKING, Any

from parentage.errors import InputError, MissingExtraError, ParentageWarning, Way, WorkersError
from parentage.work.crew import Crew, LostError, Shared
from parentage.work.exchange import Parcel, make_folder, pack, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PATIENCE = 60.0
"""Seconds without any worker, or without a scheduler, until the work is given up."""

POLL = 2.0
"""Seconds between looks at the cluster while a task runs."""

GRACE = 6.0
"""Seconds that sending goes on after a worker has gone: to those that are left it may succeed."""

STAY = {"distributed.deploy.lost-worker-timeout": "1d"}
"""A worker that died is started anew; without this Dask takes it off the list if it dies again."""

_LOCAL = re.compile(r"local(?::([1-9][0-9]*))?")


@contextlib.contextmanager
def connected(address: str, patience: float = PATIENCE) -> Iterator[Any]:
    """Connect to the scheduler at an address, or start ``local:N`` processes; yield the client."""
    distributed = load_distributed()
    import dask

    local = _LOCAL.fullmatch(address)
    with contextlib.ExitStack() as open_things:
        try:
            if local is None:
                client = distributed.Client(address, timeout=patience, set_as_default=False)
            else:
                open_things.enter_context(dask.config.set(STAY))
                cluster = distributed.LocalCluster(
                    n_workers=int(local[1]) if local[1] else None,
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address=":0",
                    silence_logs=logging.CRITICAL,
                )
                open_things.callback(_close, cluster)
                client = distributed.Client(cluster, set_as_default=False)
        except (OSError, ValueError) as error:
            raise InputError(
                f"cannot be reached ({type(error).__name__}: {error})",
                "start a scheduler there, or give local:4 for four processes of this machine",
                about=Way("cluster", address),
            ) from error
        open_things.callback(_close, client)
        yield client


def _close(thing: Any) -> None:
    """Close a client or a cluster; one whose workers died may fail to, with nothing to be done."""
    try:
        thing.close()
    except Exception as error:
        warnings.warn(
            ParentageWarning(f"the cluster did not end well ({type(error).__name__}: {error})"),
            stacklevel=2,
        )


def load_distributed() -> Any:
    """Import Dask's scheduler, or say how to install it."""
    try:
        import distributed
    except ImportError:
        raise MissingExtraError("a cluster", "Dask", "dask") from None
    return distributed


class DaskCrew(Crew):
    """The workers of a Dask client; ``folder`` is one that all of them see."""

    def __init__(self, client: Any, folder: Path | None = None) -> None:
        load_distributed()
        self.client = client
        self.folder = None if folder is None else make_folder(folder)
        self.shared: Shared = ()
        self.sent: list[Any] = []
        self.token, self.number = uuid.uuid4().hex, 0
        self._wait_for_workers()

    def _wait_for_workers(self) -> None:
        """Wait until somebody is there; find out how many."""
        try:
            self.client.wait_for_workers(1, timeout=PATIENCE)
            self.size = max(1, sum(self.client.nthreads().values()))
        except Exception as error:  # whatever a scheduler that has gone leads to
            raise _gone(error) from error

    def bring(self, shared: Shared) -> None:
        """Send what is new to every worker; let go of what is not shared any more."""
        before = {id(value): sent for value, sent in zip(self.shared, self.sent, strict=True)}
        sent = [before.get(id(value)) for value in shared]
        self.shared, kept = shared, [one for one in sent if one is not None]
        for one in self.sent:
            if isinstance(one, Parcel) and self.folder is not None and one not in kept:
                (self.folder / one.name).unlink(missing_ok=True)
        self.sent = sent
        self._send()

    def _send(self) -> None:
        """Send what is not sent yet."""
        for place, value in enumerate(self.shared):
            if self.sent[place] is not None:
                continue
            if self.folder is not None:
                self.sent[place] = pack(self.folder, place, value)
            else:
                self.sent[place] = self._scatter(value)

    def _scatter(self, value: Any) -> Any:
        """Give one object to all workers; they may come and go meanwhile."""
        give_up = time.monotonic() + PATIENCE
        while True:
            try:
                return self._scatter_once(value)
            except Exception as error:  # a worker died while it was being sent to, in many ways
                if time.monotonic() > give_up or self.client.status != "running":
                    raise _gone(error) from error
                time.sleep(0.2)

    def _scatter_once(self, value: Any) -> Any:
        """Send to all workers, unless one of them goes: that may never come back."""
        there, sent = set(self.client.nthreads()), Future[Any]()

        def send() -> None:
            try:
                [future] = self.client.scatter([value], broadcast=True, hash=False)
                sent.set_result(future)
            except BaseException as error:  # handed on to whoever waits
                sent.set_exception(error)

        threading.Thread(target=send, daemon=True).start()
        gone_since: float | None = None
        while not wait([sent], timeout=POLL).done:
            if there <= set(self.client.nthreads()):
                continue
            gone_since = gone_since or time.monotonic()
            if time.monotonic() - gone_since > GRACE:
                raise ConnectionError("a worker died while it was being sent to")
        return sent.result()

    def start(self, function: Callable[..., Any], task: Any, name: str) -> Any:
        """Submit a task under a name that the dashboard shows."""
        self.number += 1
        key = f"{name}-{self.token}-{self.number}"
        try:
            if self.folder is not None:
                return self.client.submit(run, function, tuple(self.sent), task, key=key)
            return self.client.submit(function, *self.sent, task, key=key)
        except Exception as error:
            if self.client.status == "running":
                raise
            raise _gone(error) from error

    def result(self, started: Any) -> Any:
        """Wait for a result."""
        from distributed.comm.core import CommClosedError
        from distributed.scheduler import KilledWorker

        self._wait_for(started)
        try:
            return started.result()
        except (CancelledError, KilledWorker, CommClosedError) as error:
            raise LostError(f"{type(error).__name__}: {error}") from error

    def _wait_for(self, started: Any) -> None:
        """Wait until a task has ended in some way, as long as there is somebody to end it."""
        ended = threading.Event()
        started.add_done_callback(lambda _: ended.set())
        alone_since: float | None = None
        while not ended.wait(POLL):
            if self._somebody_is_there():
                alone_since = None
                continue
            alone_since = alone_since or time.monotonic()
            if time.monotonic() - alone_since > PATIENCE:
                raise WorkersError(
                    f"the cluster has had no worker for {PATIENCE:.0f} s", "start some"
                )

    def _somebody_is_there(self) -> bool:
        if self.client.status != "running":
            raise LostError(f"the client is {self.client.status}")
        try:
            return bool(self.client.nthreads())
        except Exception as error:
            raise LostError(f"{type(error).__name__}: {error}") from error

    def repair(self) -> None:
        """Wait for workers and bring them everything again."""
        give_up = time.monotonic() + PATIENCE
        while self.client.status not in ("running", "closed") and time.monotonic() < give_up:
            time.sleep(0.1)
        if self.client.status != "running":
            raise _gone(ConnectionError(f"the client is {self.client.status}"))
        self._wait_for_workers()
        if self.folder is None:
            self.sent = [None] * len(self.shared)
        self._send()

    def cancel(self, started: Any) -> None:
        """Let go of a task."""
        with contextlib.suppress(Exception):  # a scheduler that has gone has forgotten it
            started.cancel()

    def close(self) -> None:
        """Let go of what was sent; the client is the caller's."""
        self.bring(())


def _gone(error: BaseException) -> WorkersError:
    return WorkersError(
        f"the cluster cannot be reached any more ({type(error).__name__}: {error})",
        "see whether its scheduler and workers run, and start again",
    )
