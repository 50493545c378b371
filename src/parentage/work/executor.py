"""Tasks on threads, on any executor or on a cluster, results in order: one place submits work.

Independent tasks (chunks of a level, bootstrap replicates, arc needs, sweeps) go to
:func:`in_order`. :data:`Workers` says on what they run: a number of threads, or a
:class:`WorkerPool`, that of any executor or of a cluster (:mod:`parentage.work.cluster`). Tasks
are taken from an iterator, a few ahead of what is consumed, and results come in the order of the
tasks; so what is made of them does not depend on how many workers there are, which of them was fast
and which of them died.

Threads share memory, so a function may be a closure. Other workers are other processes: then it has
to be at the top of an importable module, and what is large and the same for all tasks goes into
``shared``, which is sent once, and not into a closure or a partial.

A result that was lost with its worker raises :class:`LostError`, and the task is started once more:
the caller still has everything that was shared, so nothing but time is lost.

**What tasks share.** A shared file has one object: pickled, and its arrays behind it, each at a
multiple of 64 bytes. A worker maps the file and makes arrays of what it mapped, copy on write, so a
machine holds one copy however many of its processes read it. What a worker has opened it holds,
until the next file of that place. Such files are temporary; they are not a format to store data in.
A message is the same content as bytes, for workers that see no folder of ours. A scheduler that
passes it on needs nothing of what is in it: neither numpy nor compiled kernels are loaded until it
is opened.
"""

from __future__ import annotations

import contextlib
import errno
import math
import mmap
import pickle
import secrets
import shutil
import struct
import tempfile
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from parentage import __version__
from parentage.errors import InputError, Way, WorkersError
from parentage.work.stop import StoppedError
from parentage.work.tuning import TUNING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from parentage.work.stop import Stop


Task = TypeVar("Task")
Result = TypeVar("Result")

Poll = Callable[[], None]
"""Callback while waiting; an exception raised here ends the wait."""


Shared = tuple[Any, ...]

ALIGNED = 64

_HEAD = struct.Struct("<QQ")


_opened: dict[tuple[Path, int], tuple[Path, Any]] = {}
"""In a worker: by folder and place among what is shared, the file that is open and its content."""


def nothing() -> None:
    """Continue: what is called now and then where nothing ends the work."""


class LostError(Exception):
    """A task, or what it needs, was lost with a worker; it may be started once more."""


def wait_for(awaited: Future[Any], poll: Poll, seconds: float) -> bool:
    """Wait for up to a number of seconds, polling meanwhile; return whether it is done."""
    until = time.monotonic() + seconds
    while True:
        left = max(0.0, until - time.monotonic())
        if wait([awaited], timeout=min(TUNING.poll_seconds, left)).done:
            return True
        poll()
        if time.monotonic() >= until:
            return False


class WorkerPool(ABC):
    """Workers of one kind, and what their tasks share.

    With ``files`` that is written into ``folder``, which all workers see, or into a temporary one.
    """

    size: int
    """How many tasks run at a time."""

    elsewhere = True
    """Whether tasks run in other processes."""

    memory: int | None = None
    """Bytes that each task may take, if the workers have memory of their own and say how much."""

    def __init__(self, folder: Path | None = None, *, files: bool = False) -> None:
        self.temporary = folder is None
        self.folder = shared_folder(folder) if files else None
        self.shared: Shared = ()
        self.there: tuple[Any, ...] = ()
        """What the workers know each of the shared objects by."""

    @property
    def size_here(self) -> int:
        """For how many workers results wait in the memory of this process."""
        return self.size

    def share(self, shared: Shared) -> None:
        """Bring what the next tasks share to the workers.

        What was shared before and is shared again, the same object, is not sent again; what is
        not shared any more is let go.
        """
        pairs = zip(self.shared, self.there, strict=True)
        before = {id(value): there for value, there in pairs}
        there = tuple(
            before[id(value)] if id(value) in before else self.bring(value) for value in shared
        )
        for path in self.there if self.folder is not None else ():
            if path not in there:
                _remove(path)
        self.shared, self.there = shared, there

    def bring(self, value: Any) -> Any:
        """Bring one object to the workers; return what they know it by."""
        return value if self.folder is None else write_shared(self.folder, value)

    @abstractmethod
    def start(self, function: Callable[..., Any], task: Any, name: str) -> Any:
        """Start ``function(*shared, task)``; return something to ask for its result."""

    @abstractmethod
    def result(self, started: Any, poll: Poll = nothing) -> Any:
        """Wait for a result; raise what the task or ``poll`` raised, or LostError."""

    @abstractmethod
    def cancel(self, started: Any) -> None:
        """Let go of a task whose result nobody wants."""

    def repair(self, poll: Poll = nothing) -> None:
        """Make good what was lost with a worker, so that tasks can be started again.

        Raises what ``poll`` raised, if that takes long.
        """
        raise NotImplementedError(
            "internal error, please report it: a worker pool without LostError was asked to recover"
        )

    def close(self) -> None:
        """End what the pool itself began: let go of what is shared."""
        self.share(())
        if self.folder is not None and self.temporary:
            shutil.rmtree(self.folder, ignore_errors=True)


class ExecutorPool(WorkerPool):
    """The workers of an executor: threads of this process, or other processes.

    Threads are given shared objects as they are. For others these are in a folder that all workers
    see; without ``folder`` it is a temporary one, which is enough for processes of this machine.
    ``own`` executors are ended with the pool.
    """

    def __init__(
        self, executor: Executor, folder: Path | None = None, *, own: bool = False
    ) -> None:
        self.elsewhere = not isinstance(executor, ThreadPoolExecutor)
        super().__init__(folder, files=self.elsewhere)
        self.executor, self.own = executor, own
        told = getattr(executor, "_max_workers", None)
        self.size = max(1, int(told or TUNING.unknown_workers))

    def start(self, function: Callable[..., Any], task: Any, name: str) -> Future[Any]:
        """Submit a task."""
        kind, call = type(self.executor).__name__, (run_task, __version__, function, task)
        try:
            started: object = self.executor.submit(*call, *self.there)
        except BrokenExecutor as error:
            raise self._broken(error) from error
        except RuntimeError as error:
            raise WorkersError(
                f"the workers of {kind} accept no tasks ({error})",
                "give an executor that is not shut down",
            ) from error
        if not isinstance(started, Future):  # the executor may be anybody's
            raise InputError(
                f"submit of the executor {kind} returned {started!r}, not a future",
                "give a concurrent.futures.Executor",
            )
        return started

    def result(self, started: Future[Any], poll: Poll = nothing) -> Any:
        """Wait for a result; one that uses this process is not left behind."""
        try:
            if self.folder is not None:
                wait_for(started, poll, math.inf)
            return started.result()
        except (BrokenExecutor, CancelledError) as error:
            raise self._broken(error) from error

    def _broken(self, error: BaseException) -> WorkersError:
        return WorkersError(
            f"the workers of {type(self.executor).__name__} were lost "
            f"({type(error).__name__}: {error})",
            "see whether they ran out of memory, and start again with new ones",
        )

    def cancel(self, started: Future[Any]) -> None:
        """Take a task off the queue."""
        started.cancel()

    def close(self) -> None:
        """Let go of what is shared, and end the executor if it is our own."""
        super().close()
        if self.own:
            self.executor.shutdown(wait=True, cancel_futures=True)


Workers = int | WorkerPool
"""On what tasks run: a number of threads of this process, or a pool."""


def in_order(
    function: Callable[..., Result],
    tasks: Iterable[Task],
    workers: Workers = 1,
    shared: tuple[Any, ...] = (),
    name: str = "",
    poll: Poll = nothing,
) -> Iterator[Result]:
    """Yield ``function(*shared, task)`` for every task, in their order.

    Stop consuming and nothing more is started; what waits is cancelled. ``name`` is what a
    cluster's dashboard shows. ``poll`` is called now and then while a task elsewhere, or a worker,
    is waited for; what it raises ends the waiting.

    Raises
    ------
    WorkersError
        Workers were lost, again and again or with nobody to replace them.

    Examples
    --------
    >>> list(in_order(pow, [1, 2, 3], workers=2, shared=(10,)))
    [10, 100, 1000]
    """
    if isinstance(workers, int) and workers <= 1:
        for task in tasks:
            yield function(*shared, task)
        return
    if isinstance(workers, int):
        pool: WorkerPool = ExecutorPool(ThreadPoolExecutor(workers), own=True)
    else:
        pool = workers
    waiting = deque[tuple[Any, Any]]()
    name = name or function.__name__

    def start(task: Any) -> None:
        waiting.append((task, pool.start(function, task, name)))

    try:
        pool.share(shared)
        for task in tasks:
            start(task)
            if len(waiting) >= TUNING.tasks_ahead * pool.size:
                yield _first_result(pool, waiting, start, name, poll)
        while waiting:
            yield _first_result(pool, waiting, start, name, poll)
    finally:
        _cancel(pool, waiting)
        if pool is not workers:
            pool.close()


def _first_result(
    pool: WorkerPool,
    waiting: deque[tuple[Any, Any]],
    start: Callable[[Any], None],
    name: str,
    poll: Poll,
) -> Any:
    """Return the result of the task that was started first; it waits no more.

    After a loss all that waits is started once more: what the loss took with it is not known.
    """
    losses = 0
    while True:
        try:
            result = pool.result(waiting[0][1], poll)
        except LostError as lost:
            losses += 1
            if losses > TUNING.most_losses:
                raise WorkersError(
                    f"a task of {name!r} was lost {losses} times with its worker: {lost}",
                    "give every worker more memory",
                ) from lost
            tasks = [task for task, _ in waiting]
            _cancel(pool, waiting)
            pool.repair(poll)
            for task in tasks:
                start(task)
            continue
        waiting.popleft()
        return result


def _cancel(pool: WorkerPool, waiting: deque[tuple[Any, Any]]) -> None:
    """Let go of everything that waits."""
    for _, started in waiting:
        pool.cancel(started)
    waiting.clear()


def size_of(workers: Workers) -> int:
    """Return how many tasks run at a time."""
    return workers.size if isinstance(workers, WorkerPool) else max(1, workers)


def leave(stop: Stop, grace: float | None = None) -> Poll:
    """Return what ends waiting when the work is cancelled: workers elsewhere do not hear of it.

    They know of a deadline; what is not there ``grace`` seconds after it is not waited for. It
    raises StoppedError.
    """
    grace = TUNING.grace_seconds if grace is None else grace

    def poll() -> None:
        if stop.cancelled.is_set() or stop.seconds_left < -grace:
            raise StoppedError(stop.reason() or "time")

    return poll


def memory_each(workers: Workers, memory: int) -> int:
    """Return what each of the tasks that run together may take, of so much memory here.

    >>> memory_each(4, 1000)
    250
    """
    own = workers.memory if isinstance(workers, WorkerPool) else None
    return max(1, memory // size_of(workers)) if own is None else own


def size_here(workers: Workers) -> int:
    """Return for how many workers results wait in the memory of this process."""
    return workers.size_here if isinstance(workers, WorkerPool) else size_of(workers)


def shared_folder(folder: Path | None) -> Path:
    """Return a folder for shared files: the one given, made if need be, or a temporary one."""
    if folder is None:
        try:
            return Path(tempfile.mkdtemp(prefix="parentage-"))
        except OSError as error:
            raise InputError(
                f"cannot make a folder for temporary files: {error.strerror or error}",
                Way("exchange", ..., "for another one"),
            ) from error
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(
            f"cannot be written to: {error.strerror or error}", about=Way("exchange", str(folder))
        ) from None
    return folder


def _remove(path: Path) -> None:
    """Remove a file, if that can be done: it is of no use, and does no harm."""
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


def write_shared(folder: Path, value: Any) -> Path:
    """Write an object into a file of its own; return where that is."""
    path = folder / f"shared-{secrets.token_hex(8)}"
    try:
        with path.open("xb") as target:
            target.writelines(_pieces(value))
    except OSError as error:
        _remove(path)
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        raise InputError(
            f"cannot write what workers need into {str(folder)!r}: {error.strerror or error}",
            Way("exchange", ..., f"for a folder {'with more room' if full else 'to write to'}"),
        ) from error
    return path


def read_shared(path: Path, place: int) -> Any:
    """Return what is in a shared file; mapped once, then remembered until the next of its place."""
    key = (path.parent, place)
    known, value = _opened.get(key, (None, None))
    if known == path:
        return value
    _opened.pop(key, None)
    try:
        with path.open("rb") as source:
            content = mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_COPY)
    except OSError as error:
        raise WorkersError(
            f"a worker cannot read {str(path.parent)!r} ({error.strerror or error})",
            Way("exchange", ..., "for a folder that all workers see"),
        ) from error
    value = _read(memoryview(content))
    _opened[key] = (path, value)
    return value


def write_message(value: Any) -> bytes:
    """Return an object as bytes."""
    return b"".join(_pieces(value))


def read_message(message: bytes) -> Any:
    """Return what is in a message; its arrays can be written to, as kernels need them.

    >>> read_message(write_message({"a": [1, 2]}))
    {'a': [1, 2]}
    """
    return _read(memoryview(bytearray(message)))


def _pieces(value: Any) -> Iterator[bytes | memoryview]:
    """Yield an object in pieces: sizes, the object pickled, its arrays, which are not copied."""
    arrays: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=arrays.append)
    views = [array.raw() for array in arrays]
    yield _HEAD.pack(len(head), len(views))
    yield struct.pack(f"<{len(views)}Q", *(len(view) for view in views))
    yield head
    at = _HEAD.size + 8 * len(views) + len(head)
    for view in views:
        gap = -at % ALIGNED
        yield bytes(gap)
        yield view
        at += gap + len(view)


def _read(content: memoryview) -> Any:
    length, count = _HEAD.unpack_from(content)
    sizes = struct.unpack_from(f"<{count}Q", content, _HEAD.size)
    at = _HEAD.size + 8 * count
    head = content[at : at + length]
    at += length
    views = []
    for size in sizes:
        at += -at % ALIGNED
        views.append(content[at : at + size])
        at += size
    return pickle.loads(head, buffers=views)  # noqa: S301  # we wrote it a moment ago


def have(_: Any) -> None:
    """Have a shared object: a worker that runs this gets a copy of it."""


def run_task(version: str, function: Callable[..., Any], task: Any, *shared: Any) -> Any:
    """Do one task, in a worker, if it has the version of the caller; shared files are read."""
    if version != __version__:
        raise WorkersError(
            f"a worker runs parentage {__version__}, and this process runs {version}",
            "install the same version for every worker",
        )
    opened = (
        read_shared(one, place) if isinstance(one, Path) else one
        for place, one in enumerate(shared)
    )
    return function(*opened, task)
