"""The way to a Dask cluster: its address, a client for it, or processes of this machine.

What may not answer is asked in a thread of its own, so that whoever waits hears of Ctrl-C and of a
deadline meanwhile. That thread blocks SIGINT, and what it starts inherits that: a terminal sends
the signal to all processes in it, and workers that end with a traceback each would take away what
the caller is about to keep.
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
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from parentage.errors import InputError, MissingExtraError, ParentageWarning, Way, warn
from parentage.work.crew import attend, nothing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from parentage.work.crew import Look

PATIENCE = 60.0
"""Seconds without any worker at work, or without a word from the scheduler, until something is
lost."""

CLOSING = 5.0
"""Seconds that letting go of a scheduler may take, which may not answer any more."""

STAY = {"distributed.deploy.lost-worker-timeout": "1d"}
"""A worker that died is started anew; without this Dask takes it off the list if it dies again."""

SCHEMES = ("", "tcp", "tls", "ws", "wss")
"""Ways to a scheduler, of those that Dask knows; without one it is tcp."""

_LOCAL = re.compile(r"local(?::([0-9]{1,18}))?")
_PLACE = re.compile(r"(?:([a-z]+)://)?[^/]+:([0-9]{1,5})")


def _check_address(address: str) -> None:
    """Refuse what cannot be the address of a cluster."""
    about = Way("cluster", address)
    local, place = _LOCAL.fullmatch(address), _PLACE.fullmatch(address)
    if local is not None:
        most = max(64, 4 * (os.cpu_count() or 1))
        asked = 1 if local[1] is None else int(local[1])
        if asked < 1:
            raise InputError("asks for no process", "local:N begins at local:1", about=about)
        if asked > most:
            raise InputError(
                f"asks for more processes than the {most} that one machine may have here",
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
            f"leads over {place[1]}, which is not among the ways to a scheduler: {known}",
            "give an address like tcp://host:8786",
            about=about,
        )


@contextlib.contextmanager
def connected(address: str, patience: float = PATIENCE, look: Look = nothing) -> Iterator[Any]:
    """Connect to the scheduler at an address, or start ``local:N`` processes; yield the client.

    ``look`` is called while that takes long, and what it raises ends it.
    """
    _check_address(address)
    distributed = load_distributed()
    import dask.system

    local = _LOCAL.fullmatch(address)
    with contextlib.ExitStack() as open_things:
        open_things.enter_context(_quiet())
        try:
            if local is None:
                _check_scheduler(address, patience, look)
                client = _made(
                    lambda: distributed.Client(address, timeout=patience, set_as_default=False),
                    look,
                )
            else:
                open_things.enter_context(dask.config.set(STAY))
                cluster = _start_here(int(local[1] or dask.system.CPU_COUNT), look)
                open_things.callback(_close, cluster, PATIENCE / 2)
                making = aside(lambda: distributed.Client(cluster, set_as_default=False))
                client = making.result()
        except (OSError, ValueError) as error:
            raise InputError(
                f"cannot be reached ({error})",
                "start a scheduler there, or give local:4 for four processes of this machine",
                about=Way("cluster", address),
            ) from error
        open_things.callback(_close, client, CLOSING)
        yield client


def _start_here(count: int, look: Look) -> Any:
    """Start a scheduler and so many processes of this machine."""
    from distributed import LocalCluster

    _start_tracker()
    cluster = aside(
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
        while there < count and time.monotonic() < since + PATIENCE:
            time.sleep(0.05)
            look()
            if len(cluster.scheduler.workers) > there:
                there, since = len(cluster.scheduler.workers), time.monotonic()
    except BaseException:  # to close them they have to be up: nobody waits for that
        cluster.shutdown_on_close = False  # nor does Python at its end, with which they end
        aside(lambda: _close(cluster, PATIENCE / 2))
        raise
    return cluster


def _made(make: Callable[[], Any], look: Look) -> Any:
    """Make a client; one that comes when nobody waits any more is closed."""
    making = aside(make)
    try:
        attend(making, look, math.inf)
    except BaseException:
        making.add_done_callback(_let_go)
        raise
    return making.result()


def _let_go(made: Future[Any]) -> None:
    """Close what nobody waits for."""
    if made.exception() is None:
        _close(made.result(), CLOSING)


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


def _check_scheduler(address: str, patience: float, look: Look = nothing) -> None:
    """See that a scheduler answers at an address, before a client is made for it.

    A client that finds nobody cannot be closed, and when it is collected later, in whatever thread,
    it waits there for its own loop: a new client's loop may then never start. One that finds
    another kind of server may wait for ever.

    Raises
    ------
    OSError
        Nobody answers, or somebody else.
    """
    import asyncio

    host, _, port = address.rpartition("://")[2].rpartition(":")

    def ask() -> Mapping[str, Any]:
        where = (host.strip("[]"), int(port))
        socket.create_connection(where, timeout=patience).close()
        return asyncio.run(_ask(address, patience))

    asked = aside(ask)  # in a thread: this one may have a loop of its own, as in a notebook
    try:
        if not attend(asked, look, 2 * patience):
            raise TimeoutError
        answer = asked.result()
    except TimeoutError:
        raise OSError(f"no scheduler has answered for {patience:g} s") from None
    if answer.get("type") != "Scheduler":
        raise OSError("what answers there is no scheduler")


async def _ask(address: str, patience: float) -> Mapping[str, Any]:
    """Ask whoever listens at an address who that is."""
    import asyncio

    from distributed.comm.core import connect
    from distributed.security import Security

    async with asyncio.timeout(patience):
        arguments = Security().get_connection_args("client")
        there = await connect(address, timeout=patience, **arguments)
        try:
            await there.write({"op": "identity", "reply": True})
            answer: Mapping[str, Any] = await there.read()
        finally:
            there.abort()
    return answer


def _close(thing: Any, seconds: float) -> None:
    """Close a client or a cluster; one whose workers died may fail to, with nothing to be done."""
    try:
        thing.close(timeout=seconds)
    except Exception as error:
        warn(ParentageWarning(f"the cluster did not end well ({type(error).__name__}: {error})"))


def load_distributed() -> Any:
    """Import Dask's scheduler, or say how to install it."""
    try:
        import distributed
    except ImportError:
        raise MissingExtraError("a cluster", "Dask", "dask") from None
    return distributed


def aside(function: Callable[[], Any]) -> Future[Any]:
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
