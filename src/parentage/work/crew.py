"""Those who do the tasks: threads here; other processes and clusters build on the same few calls.

A :class:`Crew` brings what all tasks share to its workers, starts tasks, and hands back what became
of them. A result that was lost with its worker raises :class:`LostError`, and
:func:`parentage.work.executor.in_order` starts the task once more: the caller still has everything
that was shared, so nothing but time is lost.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor, wait
from typing import Any

from parentage.errors import InputError, WorkersError

Shared = tuple[Any, ...]
Look = Callable[[], None]
"""What is called while a task is waited for; it raises what ends the waiting."""

LISTEN = 0.5
"""Seconds between looks at the stop while anything elsewhere is waited for."""

POLL = 2.0
"""Seconds between looks at the rest of the world while a task elsewhere runs."""


def nothing() -> None:
    """Let a wait go on."""


class LeftError(Exception):
    """Nobody waits for a result any more."""


class LostError(Exception):
    """A task, or what it needs, was lost with a worker; it may be started once more."""


def attend(awaited: Future[Any], look: Look, seconds: float) -> bool:
    """Wait at most so long, and look now and then; return whether it is done."""
    until = time.monotonic() + seconds
    while not wait([awaited], timeout=max(0.0, min(LISTEN, until - time.monotonic()))).done:
        look()
        if time.monotonic() >= until:
            return False
    return True


def submitted(executor: Executor, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
    """Submit a call to an executor, which may be anybody's.

    Raises
    ------
    InputError
        It does not return a future.
    WorkersError
        It takes nothing any more.
    """
    kind = type(executor).__name__
    try:
        started: object = executor.submit(function, *arguments)
    except BrokenExecutor:
        raise
    except RuntimeError as error:
        raise WorkersError(
            f"the workers of {kind} take no tasks ({error})",
            "give an executor that is not shut down",
        ) from error
    if not isinstance(started, Future):
        raise InputError(
            f"executor is of a kind, {kind}, whose submit returns {started!r} and no future",
            "give a concurrent.futures.Executor",
        )
    return started


class Crew(ABC):
    """Workers of one kind."""

    size: int
    """How many tasks run at a time."""

    memory: int | None = None
    """Bytes that each task may take, if the workers have memory of their own and say how much."""

    @property
    def size_here(self) -> int:
        """For how many workers results wait in the memory of this process."""
        return self.size

    @abstractmethod
    def bring(self, shared: Shared) -> None:
        """Bring what the next tasks share to the workers.

        What was shared before and is shared again, the same object, is not sent again; what is
        not shared any more is let go.
        """

    @abstractmethod
    def start(self, function: Callable[..., Any], task: Any, name: str) -> Any:
        """Start ``function(*shared, task)``; return something to ask for its result."""

    @abstractmethod
    def result(self, started: Any, look: Look = nothing) -> Any:
        """Wait for a result; raise what the task or ``look`` raised, or LostError."""

    @abstractmethod
    def cancel(self, started: Any) -> None:
        """Let go of a task whose result nobody wants."""

    def repair(self, look: Look = nothing) -> None:
        """Make good what was lost with a worker, so that tasks can be started again.

        Raises what ``look`` raised, if that takes long.
        """
        raise NotImplementedError("only a crew that raises LostError can lose something")

    @abstractmethod
    def close(self) -> None:
        """End what the crew itself began."""


class Threads(Crew):
    """Threads of this process; they share its memory, so nothing is brought anywhere."""

    def __init__(self, size: int, pool: ThreadPoolExecutor | None = None) -> None:
        self.size = size
        self.own = pool is None
        self.pool = ThreadPoolExecutor(size) if pool is None else pool
        self.shared: Shared = ()

    def bring(self, shared: Shared) -> None:
        """Remember what is shared."""
        self.shared = shared

    def start(self, function: Callable[..., Any], task: Any, name: str) -> Future[Any]:
        """Submit a task."""
        return submitted(self.pool, function, *self.shared, task)

    def result(self, started: Future[Any], look: Look = nothing) -> Any:
        """Wait for a result: it uses this process, so nothing is gained by leaving it behind."""
        return started.result()

    def cancel(self, started: Future[Any]) -> None:
        """Take a task off the queue."""
        started.cancel()

    def close(self) -> None:
        """End the threads, unless they are the caller's."""
        if self.own:
            self.pool.shutdown(wait=True, cancel_futures=True)
