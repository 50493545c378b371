"""When long work has to end: one type for time, memory and Ctrl-C, whatever the work is.

A :class:`Stop` is made once, where the user's limits are known, and handed down the whole path.
Whoever works asks it often; nothing else looks at a clock or catches a signal. Work that is told to
stop keeps what it has and says why it ended (:data:`Reason`).
"""

from __future__ import annotations

import contextlib
import math
import signal
import socket
import threading
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from parentage.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Reason = Literal["time", "memory", "interrupt", "gap", "asked", "forecast"]
"""Why work ended before it was done.

``"gap"``: the user's gap limit was reached; ``"asked"``: no more was asked for; ``"forecast"``:
what comes next would take hours.
"""

SIGNALS = (signal.SIGINT, signal.SIGTERM)

MOMENT = 1.0
"""Seconds. Work that takes no longer is finished whatever the time limit says: stopping it would
save nothing worth its result."""


class CompileClock:
    """The time this process has spent compiling kernels; loading compiled ones does not count.

    Parameters
    ----------
    tell
        Called whenever a kernel is about to be compiled, with whether the result is cached and the
        number of kernels that this process has begun to compile.

    Attributes
    ----------
    ahead
        Called with the module of a kernel before it is compiled; whether another process has
        compiled it by then, and what it left can be loaded.
    """

    def __init__(self, tell: Callable[[bool, int], None] | None = None) -> None:
        self.tell = tell
        self.ahead: Callable[[str], bool] | None = None
        self._done = 0.0
        self._lock = threading.Lock()
        self._depth, self._began = 0, 0.0
        self._counts = False
        self._kernels = 0

    @property
    def seconds(self) -> float:
        """Seconds so far, with those of a kernel that is being compiled."""
        with self._lock:
            return self._done + (self._running() if self._depth > 0 and self._counts else 0.0)

    def _running(self) -> float:
        return time.monotonic() - self._began

    def timed(self, compile_one: Callable[..., Any], *args: Any) -> Any:
        """Compile or load one signature of a kernel, with those it calls."""
        with self._lock:
            if self._depth == 0:
                self._began, self._counts = time.monotonic(), False
            self._depth += 1
        try:
            return compile_one(*args)
        finally:
            with self._lock:
                self._depth -= 1
                if self._depth == 0 and self._counts:
                    self._done += self._running()

    def was_compiled_ahead(self, module: str) -> bool:
        """Whether another process has compiled the kernels of a module, once it has ended."""
        if self.ahead is None or not self.ahead(module):
            return False
        self._counts = True
        return True

    def begins(self, cached: bool) -> None:
        """Note that a kernel is compiled and not loaded, and whether the result will be cached."""
        self._counts = True
        self._kernels += 1
        if self.tell is not None:
            self.tell(cached, self._kernels)


compiling = CompileClock()
"""The clock of this process."""


def now() -> float:
    """Return seconds on a clock that stands still while kernels are compiled.

    Limits and all times that are reported are measured by it: what compiling takes, once on a
    machine, says nothing about the work.
    """
    return time.monotonic() - compiling.seconds


class StoppedError(Exception):
    """Work was told to stop, or what it holds does not fit; raised and caught within a stage."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Stop:
    """A deadline, a memory limit and a way to cancel.

    Parameters
    ----------
    deadline
        When to end, on the clock of :func:`now`; infinite for never.
    memory
        Bytes that large arrays may take; None lets each stage take half of what is free.
    cancelled
        Set it to end the work from another thread or a signal handler.

    Examples
    --------
    >>> stop = Stop.after(None)
    >>> stop.reason() is None
    True
    >>> stop.cancelled.set()
    >>> stop.reason()
    'interrupt'
    """

    deadline: float = math.inf
    memory: int | None = None
    cancelled: threading.Event = field(default_factory=threading.Event, compare=False)

    @classmethod
    def after(cls, seconds: float | None, memory: float | None = None) -> Stop:
        """Make a stop from the user's limits; None for no limit.

        Raises
        ------
        InputError
            Limits that make no sense.
        """
        if seconds is not None and not (isinstance(seconds, int | float) and seconds >= 0):
            raise InputError(f"the time limit must be at least 0 seconds, not {seconds}")
        if memory is not None and not (isinstance(memory, int | float) and memory > 0):
            raise InputError(
                f"the memory limit must be a positive number of bytes, such as 4e9, not {memory!r}"
            )
        deadline = math.inf if seconds is None else now() + seconds
        return cls(deadline, None if memory is None else int(memory))

    @property
    def seconds_left(self) -> float:
        """Wall time until the deadline, infinite without one."""
        return self.deadline - now()

    def reason(self) -> Reason | None:
        """Why to stop now; None to continue."""
        if self.cancelled.is_set():
            return "interrupt"
        return "time" if self.seconds_left <= 0 else None

    def is_over(self) -> bool:
        """Whether to stop now."""
        return self.reason() is not None

    def check(self) -> None:
        """Raise StoppedError if it is time to end."""
        reason = self.reason()
        if reason is not None:
            raise StoppedError(reason)

    def share(self, part: float) -> Stop:
        """Return a stop that ends when this part of the time that is left is used up."""
        left = self.seconds_left
        if left == math.inf:
            return self
        return replace(self, deadline=now() + part * max(0.0, left))

    def within(self, seconds: float) -> Stop:
        """Return a stop that ends after a number of seconds, or earlier if this one does.

        >>> Stop().within(0.0).reason()
        'time'
        """
        return replace(self, deadline=min(self.deadline, now() + seconds))

    def leaving(self, seconds: float) -> Stop:
        """Return a stop that leaves at least this much time, for what is worth exceeding a limit.

        >>> Stop.after(0.0).leaving(60.0).reason() is None
        True
        """
        return replace(self, deadline=max(self.deadline, now() + seconds))

    def untimed(self) -> Stop:
        """Return a stop without a deadline, for work that is finished whatever the clock says.

        >>> Stop.after(0.0).untimed().reason() is None
        True
        """
        return replace(self, deadline=math.inf)

    def moment(self) -> float:
        """Return the seconds of work that may be done after the deadline, by forecasts.

        Forecasts come from sizes alone, so small work ends in the same result on a busy machine.
        None may be done where no time is left at all.

        >>> Stop.after(0.0).moment(), Stop().at_once().moment()
        (1.0, 0.0)
        """
        return MOMENT if self.deadline > -math.inf else 0.0

    def __reduce__(self) -> tuple[object, ...]:
        """Travel to another process as the time that is left; it cannot be cancelled from here."""
        return _arrived, (self.seconds_left, self.memory)

    def at_once(self) -> Stop:
        """Return a stop that leaves no time at all, for taking the first answer there is."""
        return Stop(-math.inf, self.memory)


def _arrived(seconds: float, memory: int | None) -> Stop:
    return Stop(now() + seconds, memory)


@contextlib.contextmanager
def interruptible(
    stop: Stop, *, command: bool = False, tell: Callable[[], None] | None = None
) -> Iterator[Stop]:
    """Let Ctrl-C or SIGTERM end the work first: one signal cancels, a second one raises.

    A command then writes what it has and ends by itself. In a library Ctrl-C returns what there is
    by then, and SIGTERM has its usual meaning as soon as the work is wound up, with its state
    written and its temporary files removed: it ends the process.

    Signals are taken over in the main thread only, and only those that have no other handler. A
    ``KeyboardInterrupt`` that arrives in another way is the caller's.

    ``tell`` is called as soon as the first signal arrives, in a thread of its own.
    """
    taken = [number for number in SIGNALS if _is_free(number)]
    before = {number: signal.getsignal(number) for number in taken}
    arrived: set[int] = set()

    def cancel(number: int, _frame: object) -> None:
        arrived.add(number)
        if stop.cancelled.is_set():
            raise KeyboardInterrupt
        stop.cancelled.set()

    for number in taken:
        signal.signal(number, cancel)
    try:
        with _told(tell if taken else None):
            yield stop
    finally:
        for number in taken:
            signal.signal(number, before[number])
        if signal.SIGTERM in arrived and not command:
            signal.raise_signal(signal.SIGTERM)


@contextlib.contextmanager
def _told(tell: Callable[[], None] | None) -> Iterator[None]:
    """Call ``tell`` when the first signal arrives, in a thread of its own.

    Python runs a handler in the main thread, when that is free: while kernels are compiled that can
    take many seconds. The system writes the number of the signal to a socket at once.
    """
    if tell is None:
        yield
        return
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)

    def wait() -> None:
        with ours:
            while arrived := ours.recv(1):
                if arrived[0] in SIGNALS:
                    tell()
                    return

    threading.Thread(target=wait, daemon=True).start()
    before = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        theirs.close()


def _is_free(number: signal.Signals) -> bool:
    default = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
    return (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(number) is default
    )
