"""What a checkpoint costs: the same job with and without, CPU and wall time, and what it wrote.

Each job runs twice at a time, once with ``--checkpoint`` and once without, one thread each, in
processes of their own, so that other work on the machine slows both alike; medians of the pairs.
A last run goes on from the finished checkpoint. Written to ``results/checkpoint.md``.

    python benchmarks/bench_checkpoint.py [PAIRS [score|learn]]
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from measure import RESULTS, shared


class Job(NamedTuple):
    """A command, and what it is called in the table."""

    name: str
    args: tuple[str, ...]


class Took(NamedTuple):
    """CPU and wall seconds of a process, and its JSON."""

    cpu: float
    wall: float
    found: dict[str, Any]


class Pair(NamedTuple):
    """Without and with a checkpoint, then going on from its end; and its size in MB."""

    took: tuple[Took, Took, Took]
    size: float


def jobs(data: Path) -> list[Job]:
    """A long scoring and a long proof."""
    table = str(data / "tables" / "alarm_10000.csv")
    lists = str(data / "instances" / "slim_diabetes-5000.jkl")
    return [
        Job(
            "score alarm, 10,000 rows, BDeu, at most 6 parents, no rules",
            ("score", table, "-k", "6", "--rules", "none", "--score", "bdeu:1"),
        ),
        Job("learn from the lists `slim_diabetes-5000`", ("learn", lists)),
    ]


def start(job: Job, folder: Path, *more: str) -> tuple[subprocess.Popen[bytes], float, Path]:
    """Start a job; its JSON goes into a file."""
    out = folder / f"out-{len(list(folder.iterdir()))}.json"
    lists = ("-o", str(out.with_suffix(".jkl"))) if job.args[0] == "score" else ()
    command = [sys.executable, "-m", "parentage", *job.args, "--threads", "1", "--json"]
    with out.open("wb") as file:
        process = subprocess.Popen([*command, *lists, *more], stdout=file)
    return process, time.monotonic(), out


def ended(started: list[tuple[subprocess.Popen[bytes], float, Path]]) -> list[Took]:
    """Wait for jobs; return what each took."""
    took: dict[int, tuple[float, float]] = {}
    began = {process.pid: at for process, at, _ in started}
    while len(took) < len(started):
        pid, status, usage = os.wait4(-1, 0)
        if status:
            raise SystemExit(f"a job ended with {status}")
        took[pid] = usage.ru_utime + usage.ru_stime, time.monotonic() - began[pid]
    return [Took(*took[p.pid], json.loads(out.read_text())) for p, _, out in started]


def compare(job: Job, pairs: int) -> list[str]:
    """Run a job in pairs; return the cells of its row."""
    rows = []
    for _ in range(pairs):
        with tempfile.TemporaryDirectory(dir=".") as name:
            folder = Path(name)
            kept = folder / "kept"
            both = [start(job, folder), start(job, folder, "--checkpoint", str(kept))]
            plain, keeping = ended(both)
            size = sum(path.stat().st_size for path in kept.iterdir()) / 1e6
            (again,) = ended([start(job, folder, "--resume", str(kept))])
        key = "digest" if job.args[0] == "score" else "score"
        if not plain.found[key] == keeping.found[key] == again.found[key]:
            raise SystemExit("the results differ")
        rows.append(Pair((plain, keeping, again), size))
    middle = [statistics.median(row.took[i].cpu for row in rows) for i in range(3)]
    cost = statistics.median(row.took[1].cpu / row.took[0].cpu - 1 for row in rows)
    wall = statistics.median(row.took[1].wall / row.took[0].wall - 1 for row in rows)
    size = rows[-1].size
    return [
        job.name, f"{middle[0]:.1f}", f"{middle[1]:.1f}", f"{100 * cost:+.1f} %",
        f"{100 * wall:+.1f} %", f"{middle[2]:.1f}", f"{size:.1f}",
    ]  # fmt: skip


def main() -> None:
    """Measure and write; what is not measured again stays."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    stored = RESULTS / "checkpoint.json"
    known: dict[str, list[str]] = json.loads(stored.read_text()) if stored.exists() else {}
    for job in jobs(shared() / "data"):
        if len(sys.argv) < 3 or job.args[0] == sys.argv[2]:
            known[job.args[0]] = [*compare(job, pairs), str(pairs)]
            print(known[job.args[0]], flush=True)
    stored.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    head = ["job", "CPU s", "with checkpoint", "CPU", "wall", "resumed at the end", "MB", "pairs"]
    lines = ["# What a checkpoint costs", "", " ".join((__doc__ or "").split("\n\n")[1].split())]
    lines += ["", f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    lines += [f"| {' | '.join(known[kind])} |" for kind in ("score", "learn") if kind in known]
    (RESULTS / "checkpoint.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
