"""Tasks on threads, on any executor or on a cluster, results in order: one place submits work.

Whoever has many independent tasks (chunks of a level, bootstrap replicates, arc needs, stems) hands
them to :func:`in_order`. :data:`Workers` says on what they run: a number of threads, a
:class:`concurrent.futures.Executor`, or a cluster. Tasks are taken from an iterator, a few ahead of
what is consumed, and results come in the order of the tasks; so what is made of them does not
depend on how many workers there are, which of them was fast and which of them died.

Threads share memory, so a function may be a closure. Other workers are other processes: then it has
to be at the top of an importable module, and what is large and the same for all tasks goes into
``shared``, which is sent once, and not into a closure or a partial.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from parentage.errors import WorkersError
from parentage.work.crew import Crew, LeftError, LostError, Threads, nothing
from parentage.work.exchange import Processes, workers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from parentage.work.crew import Look
    from parentage.work.stop import Stop

Task = TypeVar("Task")
Result = TypeVar("Result")

Workers = int | Executor | Crew
"""On what tasks run: so many threads of this process, an executor, or a crew."""

AHEAD = 4
"""Tasks started per worker: one that runs, and some that wait for it."""

GRACE = 3.0
"""Seconds after a deadline for the answers of tasks elsewhere, which keep to it themselves."""

MOST_LOSSES = 5
"""How often one task may be lost; then it is the task that ends its workers."""


def in_order(
    function: Callable[..., Result],
    tasks: Iterable[Task],
    workers: Workers = 1,
    shared: tuple[Any, ...] = (),
    name: str = "",
    look: Look = nothing,
) -> Iterator[Result]:
    """Yield ``function(*shared, task)`` for every task, in their order.

    Stop consuming and nothing more is started; what waits is cancelled. ``name`` is what a
    cluster's dashboard shows. ``look`` is called now and then while a task elsewhere, or a worker,
    is waited for; what it raises ends the waiting, LeftError without an error.

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
    crew = crew_of(workers)
    queue = _Queue(crew, function, name or function.__name__, look)
    try:
        crew.bring(shared)
        for task in tasks:
            queue.add(task)
            if len(queue) >= AHEAD * crew.size:
                yield queue.next()
        while len(queue):
            yield queue.next()
    except LeftError:
        return
    finally:
        queue.clear()
        if crew is not workers:
            crew.close()


class _Queue:
    """Tasks that were started, first in, first out; the lost ones are started again."""

    def __init__(self, crew: Crew, function: Callable[..., Any], name: str, look: Look) -> None:
        self.crew, self.function, self.name, self.look = crew, function, name, look
        self.waiting: deque[tuple[Any, Any]] = deque()
        self.losses = 0

    def __len__(self) -> int:
        return len(self.waiting)

    def add(self, task: Any) -> None:
        """Start a task."""
        self.waiting.append((task, self.crew.start(self.function, task, self.name)))

    def next(self) -> Any:
        """Return the result of the task that was started first."""
        while True:
            try:
                result = self.crew.result(self.waiting[0][1], self.look)
            except LostError as lost:
                self.losses += 1
                if self.losses > MOST_LOSSES:
                    raise WorkersError(
                        f"a task of {self.name!r} was lost {self.losses} times with its worker: "
                        f"{lost}",
                        "give every worker more memory",
                    ) from lost
                self._start_again()
                continue
            self.losses = 0
            self.waiting.popleft()
            return result

    def _start_again(self) -> None:
        """Start all that waits once more; what a loss took with it is not known."""
        tasks = [task for task, _ in self.waiting]
        self.clear()
        self.crew.repair(self.look)
        for task in tasks:
            self.add(task)

    def clear(self) -> None:
        """Let go of everything."""
        for _, started in self.waiting:
            self.crew.cancel(started)
        self.waiting.clear()


def crew_of(workers: Workers) -> Crew:
    """Make a crew of threads or of an executor's workers.

    >>> crew_of(3).size, crew_of(ThreadPoolExecutor(5)).size
    (3, 5)
    """
    if isinstance(workers, Crew):
        return workers
    if isinstance(workers, int):
        return Threads(max(1, workers))
    if isinstance(workers, ThreadPoolExecutor):
        return Threads(workers._max_workers, workers)
    return Processes(workers)


def size_of(workers: Workers) -> int:
    """Return how many tasks run at a time."""
    if isinstance(workers, int):
        return max(1, workers)
    return workers.size if isinstance(workers, Crew) else workers_of(workers)


def is_elsewhere(workers: Workers) -> bool:
    """Whether tasks are sent to other processes.

    >>> is_elsewhere(3), is_elsewhere(ThreadPoolExecutor(5))
    (False, False)
    """
    return not isinstance(workers, int | ThreadPoolExecutor | Threads)


def leave(stop: Stop) -> Look:
    """Return what ends waiting when the work is cancelled: workers elsewhere do not hear of it.

    They know of a deadline; what is not there soon after it is not waited for.
    """

    def look() -> None:
        if stop.cancelled.is_set() or stop.seconds_left < -GRACE:
            raise LeftError

    return look


def memory_each(workers: Workers, memory: int) -> int:
    """Return what each of the tasks that run together may take, of so much memory here.

    >>> memory_each(4, 1000)
    250
    """
    own = workers.memory if isinstance(workers, Crew) else None
    return max(1, memory // size_of(workers)) if own is None else own


def size_here(workers: Workers) -> int:
    """Return for how many workers results wait in the memory of this process."""
    return size_of(workers) if not isinstance(workers, Crew) else workers.size_here
