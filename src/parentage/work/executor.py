"""Tasks on threads or on any executor, results in order: the one place that submits work.

Whoever has many independent tasks (chunks of a level, bootstrap replicates, arc needs, stems) hands
them to :func:`in_order`. :data:`Workers` says on what they run: a number of threads, or a
:class:`concurrent.futures.Executor`. Tasks are taken from an iterator, a few ahead of what is
consumed, and results come in the order of the tasks; so what is made of them does not depend on
how many workers there are or which of them was fast.

Threads share memory, so a function may be a closure. Other executors send it to another process:
then it has to be at the top of an importable module, and what is large and the same for all tasks
goes into ``shared``, not into a closure or a partial.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from parentage.errors import WorkersError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Task = TypeVar("Task")
Result = TypeVar("Result")

Workers = int | Executor
"""On what tasks run: so many threads of this process, or an executor."""

AHEAD = 4
"""Tasks submitted per worker: one that runs, and some that wait for it."""

UNKNOWN_SIZE = 16
"""Workers of an executor that does not say how many it has."""


def in_order(
    function: Callable[..., Result],
    tasks: Iterable[Task],
    workers: Workers = 1,
    shared: tuple[Any, ...] = (),
) -> Iterator[Result]:
    """Yield ``function(*shared, task)`` for every task, in their order.

    Stop consuming and nothing more is submitted; what waits is cancelled.

    Raises
    ------
    WorkersError
        The workers were lost and the executor does not replace them.

    Examples
    --------
    >>> list(in_order(pow, [1, 2, 3], workers=2, shared=(10,)))
    [10, 100, 1000]
    """
    if isinstance(workers, int) and workers <= 1:
        for task in tasks:
            yield function(*shared, task)
        return
    pool = ThreadPoolExecutor(workers) if isinstance(workers, int) else workers
    waiting: deque[Future[Result]] = deque()
    most = AHEAD * size_of(workers)
    try:
        for task in tasks:
            waiting.append(pool.submit(function, *shared, task))
            if len(waiting) >= most:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenExecutor as error:
        raise WorkersError(
            f"the workers of {type(pool).__name__} were lost: {error}",
            "see whether one ran out of memory, and start again with a new one",
        ) from error
    finally:
        for future in waiting:
            future.cancel()
        if isinstance(workers, int):
            pool.shutdown(wait=True, cancel_futures=True)


def size_of(workers: Workers) -> int:
    """Return how many tasks run at a time.

    >>> size_of(3), size_of(ThreadPoolExecutor(5))
    (3, 5)
    """
    if isinstance(workers, int):
        return max(1, workers)
    return max(1, getattr(workers, "_max_workers", UNKNOWN_SIZE))
