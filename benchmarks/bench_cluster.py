"""What a cluster moves: bytes and tasks, on paper and measured, on two and four local workers.

``python benchmarks/bench_cluster.py TABLE -k K`` prints the tables of docs/scale.md and checks that
the lists are those of one process. *Letters* go through the scheduler, as to workers elsewhere;
*files* are what processes of one machine map. CPU seconds of the caller contain the scheduler's.

The second table is on paper: complete levels without any rule, what one core takes by the rate of
this job, and feeding by what tasks and bytes took the caller here.
"""

from __future__ import annotations

import argparse
import math
import pickle
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parentage import read_table
from parentage.scoring.candidates import score_table
from parentage.scoring.search.forecast import bytes_per_set
from parentage.scoring.search.levels import joins_per_task
from parentage.scoring.settings import Scoring
from parentage.scoring.tuning import TUNING
from parentage.work.cluster import DaskPool, connected, load_distributed
from parentage.work.context import Context
from parentage.work.executor import in_order, nothing
from parentage.work.stop import Stop

if TYPE_CHECKING:
    from collections.abc import Callable

EMPTY_TASKS = 1000
FULL_TASKS, FULL = 60, 8_000_000
LOADING = Scoring(max_parents=1)
"""Enough to load all kernels."""
ROWS = 1000
JOBS = ((223, 4), (656, 3), (223, 5), (2000, 3))
SIZES = (10, 100, 1000)
DISK = 1e9
"""Bytes a second with which a machine gets what is shared, on paper."""


class Watching(DaskPool):
    """Counts what it sends, starts and gets back, and what that should be."""

    def __init__(self, client: Any) -> None:
        super().__init__(client)
        self.out = self.tasks = self.back = 0
        self.paper_bytes = self.paper_tasks = 0

    def share(self, shared: tuple[Any, ...]) -> None:
        """Count the copies of what is let go, and how much that is on paper."""
        before = self.shared
        for place, value in enumerate(before):
            if not any(value is other for other in shared):
                self.out += size_of(value) * self._copies(place)
        for value in shared:
            if not any(value is other for other in before):
                self._add_paper(value, shared)
        super().share(shared)

    def _copies(self, place: int) -> int:
        """How many workers have a shared object; a file is one copy for all."""
        if self.folder is not None:
            return 1
        future = self.there[place]
        return len(self.client.who_has([future])[future.key])

    def _add_paper(self, value: Any, shared: tuple[Any, ...]) -> None:
        """Add what sets take, and a task for every so many joins."""
        copies = 1 if self.folder is not None else self.size
        if hasattr(value, "level"):
            sets, size = value.level.members.shape
            self.paper_bytes += copies * sets * bytes_per_set(size)
            encoded = next(other.encoded for other in shared if hasattr(other, "encoded"))
            self.paper_tasks += -(-value.joins // value.per_task(encoded, self, math.inf))
        else:
            self.paper_bytes += copies * size_of(value)

    def start(self, function: Callable[..., Any], task: Any, name: str) -> Any:
        """Count a task."""
        self.tasks += 1
        return super().start(function, task, name)

    def result(self, started: Any, poll: Callable[[], None] = nothing) -> Any:
        """Count what comes back."""
        found = super().result(started, poll)
        self.back += size_of(found)
        return found


def size_of(value: Any) -> int:
    """Bytes of an object as it is sent."""
    arrays: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=arrays.append)
    return len(head) + sum(array.raw().nbytes for array in arrays)


def empty(_: int) -> None:
    """Be a task."""


def full(size: int) -> Any:
    """Be a task that returns so many bytes."""
    return np.zeros(size, np.uint8)


class Spent(NamedTuple):
    """CPU seconds: of one core for a set, of the caller for a task and for a byte that comes."""

    per_set: float
    per_task: float
    per_byte: float


class OnPaper(DaskPool):
    """So many workers, of whom only the number is known."""

    def __init__(self, size: int) -> None:
        self.size = size


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("table")
    parser.add_argument("-k", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 4])
    given = parser.parse_args()
    table = read_table(given.table)
    settings = Scoring(max_parents=given.k)
    score_table(table, LOADING, Context())
    cpu = time.process_time()
    expected = score_table(table, settings, Context())
    alone = time.process_time() - cpu
    counted = expected.known().tallies.sets_counted
    print(f"{table.n_variables} variables, {table.n_rows} rows, k = {given.k}: ", end="")
    print(f"{counted:,} sets counted, one process {alone:.1f} CPU s\n")
    print(
        "| workers | by | tasks, on paper | tasks | MB to workers, on paper | MB to workers "
        "| MB back | CPU s of workers | CPU s of the caller |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    spent = Spent(0, 0, 0)
    for workers in given.workers:
        with connected(f"local:{workers}") as near:
            address = near.cluster.scheduler_address
            with load_distributed().Client(address, set_as_default=False) as far:
                for by, client in (("letters", far), ("files", near)):
                    found = measured(by, workers, client, table, settings)
                    assert found.digest == expected.digest
                per_task = feeding(far, empty, [0] * EMPTY_TASKS) / EMPTY_TASKS
                per_byte = feeding(far, full, [FULL] * FULL_TASKS) / FULL_TASKS - per_task
                spent = Spent(alone / counted, per_task, max(0.0, per_byte) / FULL)
    print(f"\none core: {1e6 * spent.per_set:.2f} µs of CPU a set")
    print(f"caller and scheduler: {1e3 * spent.per_task:.1f} ms of CPU a task", end=", ")
    print(f"{1e9 * spent.per_byte:.2f} ms a MB that comes back\n")
    print_paper(spent)


def feeding(client: Any, function: Callable[[int], Any], tasks: list[int]) -> float:
    """Return the CPU seconds of this process, which has the scheduler in it, for some tasks."""
    cpu = time.process_time()
    for _ in in_order(function, tasks, DaskPool(client)):
        pass
    return time.process_time() - cpu


def print_paper(spent: Spent) -> None:
    """Print what so many workers make feasible."""
    each = " | ".join(f"{size:,} workers: tasks, time" for size in SIZES)
    print(f"| variables, k | stored below the last level | sets counted | 1 core | {each} |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for n, k in JOBS:
        stored = max(math.comb(n, size) * bytes_per_set(size) for size in range(1, k + 1))
        sets = sum(math.comb(n, size) for size in range(1, k + 2))
        cells = [on_paper(n, k, size, spent) for size in SIZES]
        row = [f"{n}, {k}", f"{stored / 1e9:.1f} GB", f"{sets:.1e}", in_words(sets * spent.per_set)]
        row += [f"{tasks:,}, {in_words(seconds)}" for tasks, seconds in cells]
        print(f"| {' | '.join(row)} |")


def on_paper(n: int, k: int, workers: int, spent: Spent) -> tuple[int, float]:
    """Return tasks and seconds: feeding or working, whichever takes longer, and the last task."""
    crew, all_tasks, seconds = OnPaper(workers), 0, 0.0
    for size in range(2, k + 2):
        joins, back = math.comb(n, size), 0
        if size <= k:
            back = bytes_per_set(size)
        most = min(joins, joins_per_task(TUNING.most_joins, joins, ROWS, back, crew, math.inf))
        tasks = -(-joins // most)
        fed = tasks * spent.per_task + joins * back * spent.per_byte
        seconds += max(fed, joins * spent.per_set / workers) + most * spent.per_set
        seconds += math.comb(n, size - 1) * bytes_per_set(size - 1) / DISK
        all_tasks += tasks
    return all_tasks, seconds


def in_words(seconds: float) -> str:
    """Say how long that is."""
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def measured(by: str, workers: int, client: Any, table: Any, settings: Scoring) -> Any:
    """Score so far that all workers load the kernels, then to measure; print a row."""
    client.run(score_table, table, LOADING, Stop(), 1)
    crew = Watching(client)
    there, here = client.run(time.process_time), time.process_time()
    found = score_table(table, settings, Context(workers=crew))
    here = time.process_time() - here
    spent = sum(client.run(time.process_time).values()) - sum(there.values())
    crew.close()
    print(
        f"| {workers} | {by} | {crew.paper_tasks} | {crew.tasks} | {crew.paper_bytes / 1e6:.1f} "
        f"| {crew.out / 1e6:.1f} | {crew.back / 1e6:.1f} | {spent:.1f} | {here:.1f} |",
        flush=True,
    )
    return found


if __name__ == "__main__":
    main()
