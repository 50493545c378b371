"""What a cluster moves: bytes and tasks, on paper and measured, on two and four local workers.

``python benchmarks/bench_cluster.py TABLE -k K`` prints the table of docs/scale.md and checks that
the lists are those of one process. *Letters* go through the scheduler, as to workers elsewhere;
*files* are what processes of one machine map. CPU seconds of the caller contain the scheduler's.
"""

from __future__ import annotations

import argparse
import pickle
import time
from typing import TYPE_CHECKING, Any

from parentage import read_table
from parentage.scoring.candidates import score_table
from parentage.scoring.settings import Scoring
from parentage.scoring.steps import MOST_PAIRS
from parentage.work.cluster import DaskCrew, connected, load_distributed
from parentage.work.crew import nothing
from parentage.work.executor import in_order
from parentage.work.stop import Stop

if TYPE_CHECKING:
    from collections.abc import Callable

EMPTY_TASKS = 1000


class Watching(DaskCrew):
    """Counts what it sends, starts and gets back, and what that should be."""

    def __init__(self, client: Any) -> None:
        super().__init__(client)
        self.out = self.tasks = self.back = 0
        self.paper_bytes = self.paper_tasks = 0

    def bring(self, shared: tuple[Any, ...]) -> None:
        """Count the copies of what is let go, and how much that is on paper."""
        before = self.shared if self.parcels is None else self.parcels.shared
        for place, value in enumerate(before):
            if not any(value is other for other in shared):
                self.out += size_of(value) * self._copies(place)
        for value in shared:
            if not any(value is other for other in before):
                self._add_paper(value)
        super().bring(shared)

    def _copies(self, place: int) -> int:
        """How many workers have a shared object; a file is one copy for all."""
        if self.parcels is not None:
            return 1
        future = self.sent[place]
        return len(self.client.who_has([future])[future.key])

    def _add_paper(self, value: Any) -> None:
        """Add the 14 s + 8 bytes a set of s variables, and a task for every 65,536 joins."""
        copies = 1 if self.parcels is not None else self.size
        if hasattr(value, "level"):
            sets, size = value.level.members.shape
            self.paper_bytes += copies * sets * (14 * size + 8)
            self.paper_tasks += -(-int(value.pairs[-1]) // MOST_PAIRS)
        else:
            self.paper_bytes += copies * size_of(value)

    def start(self, function: Callable[..., Any], task: Any, name: str) -> Any:
        """Count a task."""
        self.tasks += 1
        return super().start(function, task, name)

    def result(self, started: Any, look: Callable[[], None] = nothing) -> Any:
        """Count what comes back."""
        found = super().result(started, look)
        self.back += size_of(found)
        return found


def size_of(value: Any) -> int:
    """Bytes of an object as it is sent."""
    arrays: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=arrays.append)
    return len(head) + sum(array.raw().nbytes for array in arrays)


def empty(_: int) -> None:
    """Be a task."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("table")
    parser.add_argument("-k", type=int, default=3)
    given = parser.parse_args()
    table = read_table(given.table)
    settings = Scoring(max_parents=given.k)
    expected = score_table(table, settings, Stop(), 1)  # loads the kernels
    cpu = time.process_time()
    score_table(table, settings, Stop(), 1)
    alone = time.process_time() - cpu
    counted = expected.known().tallies.sets_counted
    print(f"{table.n_variables} variables, {table.n_rows} rows, k = {given.k}: ", end="")
    print(f"{counted:,} sets counted, one process {alone:.1f} CPU s\n")
    print(
        "| workers | by | tasks, on paper | tasks | MB to workers, on paper | MB to workers "
        "| MB back | CPU s of workers | CPU s of the caller |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    spent = 0.0
    for workers in (2, 4):
        with connected(f"local:{workers}") as near:
            address = near.cluster.scheduler_address
            with load_distributed().Client(address, set_as_default=False) as far:
                for by, client in (("letters", far), ("files", near)):
                    found = measured(by, workers, client, table, settings)
                    assert found.digest == expected.digest
                cpu = time.process_time()
                list(in_order(empty, range(EMPTY_TASKS), DaskCrew(far)))
                spent = time.process_time() - cpu
    print(f"\nan empty task: {1000 * spent / EMPTY_TASKS:.1f} ms of CPU for caller and scheduler")


def measured(by: str, workers: int, client: Any, table: Any, settings: Scoring) -> Any:
    """Score once to load the kernels and once to measure; print a row."""
    first = DaskCrew(client)
    score_table(table, settings, Stop(), first)
    first.close()
    crew = Watching(client)
    there, here = client.run(time.process_time), time.process_time()
    found = score_table(table, settings, Stop(), crew)
    here = time.process_time() - here
    spent = sum(client.run(time.process_time).values()) - sum(there.values())
    crew.close()
    print(
        f"| {workers} | {by} | {crew.paper_tasks} | {crew.tasks} | {crew.paper_bytes / 1e6:.1f} "
        f"| {crew.out / 1e6:.1f} | {crew.back / 1e6:.1f} | {spent:.1f} | {here:.1f} |"
    )
    return found


if __name__ == "__main__":
    main()
