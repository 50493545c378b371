"""What a cluster moves: bytes and tasks by level, and CPU seconds, on two and four local workers.

``python benchmarks/bench_cluster.py TABLE -k K`` prints a table for docs/scale.md and checks that
the lists are those of one process.
"""

from __future__ import annotations

import argparse
import pickle
import time
from typing import TYPE_CHECKING, Any

from parentage import read_table
from parentage.scoring.candidates import score_table
from parentage.scoring.settings import Scoring
from parentage.work.cluster import DaskCrew, connected
from parentage.work.stop import Stop

if TYPE_CHECKING:
    from collections.abc import Callable


class Watching(DaskCrew):
    """Counts what it sends, starts and gets back."""

    out = tasks = back = 0

    def _scatter(self, value: Any) -> Any:
        self.out += size_of(value) * len(self.client.nthreads())
        return super()._scatter(value)

    def start(self, function: Callable[..., Any], task: Any, name: str) -> Any:
        """Count a task."""
        self.tasks += 1
        return super().start(function, task, name)

    def result(self, started: Any) -> Any:
        """Count what comes back."""
        found = super().result(started)
        self.back += size_of(found)
        return found


def size_of(value: Any) -> int:
    """Bytes of an object as it is sent."""
    arrays: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=arrays.append)
    return len(head) + sum(array.raw().nbytes for array in arrays)


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
    print("| workers | tasks | MB sent | MB back | CPU s of workers | CPU s of the caller |")
    print("| --- | --- | --- | --- | --- | --- |")
    for workers in (2, 4):
        with connected(f"local:{workers}") as client:
            score_table(table, settings, Stop(), DaskCrew(client))  # loads the kernels there
            crew = Watching(client)
            there, here = client.run(time.process_time), time.process_time()
            found = score_table(table, settings, Stop(), crew)
            here = time.process_time() - here
            spent = sum(client.run(time.process_time).values()) - sum(there.values())
            crew.close()
        assert found.digest == expected.digest
        print(
            f"| {workers} | {crew.tasks} | {crew.out / 1e6:.1f} | {crew.back / 1e6:.1f} "
            f"| {spent:.1f} | {here:.1f} |"
        )


if __name__ == "__main__":
    main()
