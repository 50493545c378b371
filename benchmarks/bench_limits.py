"""Time limits: how long commands go on after their time is over.

``python benchmarks/bench_limits.py [JOB …] [--again]``

Every run is a command in a fresh process with compiled kernels. Two numbers: wall time from start
to end, which means something on a quiet machine alone; and CPU seconds that the process used after
its limit was over, which other programs do not change.
"""

from __future__ import annotations

from typing import Any

import measure

JOBS: dict[str, tuple[str, str, tuple[float, ...]]] = {
    "genes 2,000 × 500": ("learn", "large/genes_500.csv.gz", (5, 10, 30, 60)),
    "link 1,000 rows": ("learn", "large/link_1000.csv.gz", (20,)),
    "andes 5,000 rows": ("learn", "large/andes_5000.csv.gz", (10,)),
    "andes 5,000 rows, BDeu": ("learn --score bdeu", "large/andes_5000.csv.gz", (10,)),
    "munin1 1,000 rows": ("learn --categorical all", "large/munin1_1000.csv.gz", (5,)),
    "alarm 10,000 rows": ("learn", "tables/alarm_10000.csv", (0, 1, 2)),
    "alarm 10,000 rows, BDeu": ("learn --score bdeu", "tables/alarm_10000.csv", (2,)),
    "alarm 10,000 rows, score": ("score", "tables/alarm_10000.csv", (1,)),
    "andes 5,000 rows, score": ("score", "large/andes_5000.csv.gz", (5,)),
    "lists of munin1": ("learn", "instances/slim_munin1-5000.jkl", (5,)),
    "lists of link": ("learn", "instances/slim_link-5000.jkl", (5,)),
    "lists of diabetes": ("learn", "instances/slim_diabetes-5000.jkl", (5,)),
}

RUN = """
import contextlib, io, json, threading, time
from parentage.cli import main
from parentage.work.stop import Stop

at_limit = []
after = Stop.after.__func__
def watched(cls, seconds, memory=None):
    if not at_limit:
        at_limit.append(None)
        def note():
            at_limit[0] = time.process_time()
        timer = threading.Timer(seconds, note)
        timer.daemon = True
        timer.start()
    return after(cls, seconds, memory)
Stop.after = classmethod(watched)
out, code, began = io.StringIO(), 0, time.monotonic()
with contextlib.redirect_stdout(out):
    try:
        main({args!r})
    except SystemExit as end:
        code = end.code
content = json.loads(out.getvalue())
spent = time.process_time()
print(json.dumps({{
    "exit": code, "wall": time.monotonic() - began, "cpu": spent, "score": content.get("score"),
    "late": 0.0 if at_limit[0] is None else spent - at_limit[0],
}}))
"""


def measured(job: str, limit: float) -> dict[str, Any]:
    """Run one job in a process of its own."""
    command, table, _ = JOBS[job]
    name, *options = command.split()
    source = str(measure.shared() / "data" / table)
    args = [name, source, *options, "--time-limit", f"{limit:g}", "--json"]
    return measure.in_fresh_process(RUN.format(args=args))


def report(found: dict[str, dict[str, dict[str, Any]]]) -> str:
    """Lay out what is known."""
    rows = [
        [
            job, f"{float(limit):g} s", f"{one['wall']:.1f} s", f"{one['late']:.2f}",
            f"{one['cpu']:.1f}",
        ]
        for job, by_limit in found.items()
        for limit, one in by_limit.items()
    ]  # fmt: skip
    head = ["job", "`--time-limit`", "wall time", "CPU s after the limit", "CPU s"]
    return "\n\n".join(
        [
            "# Time limits",
            "`python benchmarks/bench_limits.py`, kernels compiled. CPU seconds are of both "
            "threads together; the wall time is that of a machine with other work on it.",
            "## Limits kept",
            measure.markdown(head, rows),
        ]
    )


def main() -> None:
    """Measure what is missing and write all there is."""
    jobs = {job: [f"{limit:g}" for limit in limits] for job, (_, _, limits) in JOBS.items()}
    measure.by_limit("limits", jobs, lambda job, limit: measured(job, float(limit)), report)


if __name__ == "__main__":
    main()
