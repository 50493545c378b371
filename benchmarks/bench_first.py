"""A network first: what ``learn`` does by default where complete lists are long work.

``python benchmarks/bench_first.py [TABLE …] [--again]``

Tables are those of the shared folder; one that is not there (win95pts, 1,000 rows sampled from the
public network) is looked for in the folder that PARENTAGE_TABLES names.

Every run is a call in a fresh process with compiled kernels, two threads and no limits, or with a
time limit of 5 s. Seconds are CPU time of the process since the interpreter started; the peak is
that of its resident memory. Files that levels are mapped from count as long as their pages are
there.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import measure

TABLES = {
    "hailfinder": "hailfinder_5000",
    "hepar2": "hepar2_1000",
    "andes": "andes_1000",
    "win95pts": "win95pts_1000",
}
LIMITS = ("none", "5")

RUN = """
import json, time, warnings
import measure, parentage
from parentage.work.memory import available_memory

free, first, last = available_memory(), [], []
def seen(at):
    if at.incumbent is not None and not first:
        first.append(time.process_time())
        last.append(at.incumbent)
warnings.simplefilter("ignore")
table = parentage.read_table({path!r}, categorical="all")
found = parentage.learn(table, threads=2, time_limit={limit}, progress=seen)
print(json.dumps({{
    "variables": table.n_variables, "rows": table.n_rows, "first": first[0], "score_first": last[0],
    "cpu": time.process_time(), "peak": measure.peak_memory_mb(), "free": free / 2**20,
    "score": found.score, "optimal": found.optimal, "said": found.proof(),
}}))
"""


def measured(table: str, limit: str) -> dict[str, Any]:
    """Learn from a table in a process of its own."""
    path = measure.shared() / "data" / "large" / f"{TABLES[table]}.csv.gz"
    if not path.exists():
        path = Path(os.environ.get("PARENTAGE_TABLES", "."), f"{TABLES[table]}.csv")
    seconds = None if limit == "none" else float(limit)
    return measure.in_fresh_process(RUN.format(path=str(path), limit=seconds))


def report(found: dict[str, dict[str, dict[str, Any]]]) -> str:
    """Lay out what is known."""
    rows = [
        [
            table, f"{one['variables']} × {one['rows']:,}", "" if limit == "none" else f"{limit} s",
            f"{one['first']:.1f}", f"{one['score_first']:,.1f}", f"{one['cpu']:.0f}",
            f"{one['peak'] / 1024:.1f}", f"{one['score']:,.1f}", one["said"],
        ]
        for table, by_limit in found.items()
        for limit, one in by_limit.items()
    ]  # fmt: skip
    head = [
        "table", "variables × rows", "time limit", "first network after (s)", "its score",
        "total (s)", "peak (GB)", "score", "how far it is proven",
    ]  # fmt: skip
    free = max(one["free"] for by_limit in found.values() for one in by_limit.values()) / 1024
    return "\n\n".join(
        [
            "# A network first, then the proof",
            "`python benchmarks/bench_first.py`: `learn` with two threads, kernels compiled, "
            f"{free:.0f} GB of memory free. Seconds are CPU time of the process, loading the "
            "libraries and reading the table included.",
            "## By default",
            measure.markdown(head, rows),
        ]
    )


def main() -> None:
    """Measure what is missing and write all there is."""
    measure.by_limit("first", dict.fromkeys(TABLES, LIMITS), measured, report)


if __name__ == "__main__":
    main()
