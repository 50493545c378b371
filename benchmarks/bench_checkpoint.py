"""What a checkpoint costs: the same job with and without, CPU and wall time, and what it wrote.

Each job runs twice at a time, once with ``--checkpoint`` and once without, one thread each, in
processes of their own, so that other work on the machine slows both alike; medians of the pairs.
A last run continues from the finished checkpoint. Written to ``results/checkpoint.md``.

Dynamic programming over subsets saves nothing; ``subsets`` measures what its table would cost.

    python benchmarks/bench_checkpoint.py [PAIRS [score|learn|grow|em|subsets]]
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from measure import RESULTS, shared
from parentage.work.tuning import TUNING

SHARE = TUNING.writing_share


class Job(NamedTuple):
    """A command, what it is called in the table, and for short."""

    kind: str
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


ROWS, HOLES = 1000, 0.2
"""Of a table that is completed, and how many of its cells are missing."""

KINDS = ("score", "learn", "grow", "em")


def jobs(data: Path, holes: Path) -> list[Job]:
    """A long scoring, a long proof, lists that grow, and a table with holes."""
    table = str(data / "tables" / "alarm_10000.csv")
    lists = str(data / "instances" / "slim_diabetes-5000.jkl")
    many = str(data / "large" / "andes_1000.csv.gz")
    write_holes(data / "tables" / "alarm_10000.csv", holes)
    return [
        Job(
            "score",
            "score alarm, 10,000 rows, BDeu, at most 6 parents, no rules",
            ("score", table, "-k", "6", "--rules", "none", "--score", "bdeu:1"),
        ),
        Job("learn", "learn from the lists `slim_diabetes-5000`", ("learn", lists)),
        Job(
            "grow",
            "learn andes, 223 variables, 1,000 rows, `--complete 2 --effort 20`",
            ("learn", many, "--complete", "2", "--effort", "20"),
        ),
        Job(
            "em",
            f"learn alarm, {ROWS:,} rows, {HOLES:.0%} of the cells missing, `--missing em -k 3`",
            ("learn", str(holes), "--missing", "em", "-k", "3"),
        ),
    ]


def write_holes(table: Path, path: Path) -> None:
    """Write the beginning of a table again, without some of its cells."""
    names, *rows = table.read_text(encoding="utf-8").split()[: 1 + ROWS]
    random = np.random.default_rng(1)
    gone = random.random((len(rows), len(names.split(",")))) < HOLES
    lines = [
        ",".join("" if lost else cell for cell, lost in zip(row.split(","), of, strict=True))
        for row, of in zip(rows, gone.tolist(), strict=True)
    ]
    path.write_text("\n".join([names, *lines]) + "\n", encoding="utf-8")


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
            plain, saving = ended(both)
            size = sum(path.stat().st_size for path in kept.iterdir()) / 1e6
            (again,) = ended([start(job, folder, "--checkpoint", str(kept))])
        if not result(job, plain) == result(job, saving) == result(job, again):
            raise SystemExit("the results differ")
        rows.append(Pair((plain, saving, again), size))
    middle = [statistics.median(row.took[i].cpu for row in rows) for i in range(3)]
    cost = statistics.median(row.took[1].cpu / row.took[0].cpu - 1 for row in rows)
    wall = statistics.median(row.took[1].wall / row.took[0].wall - 1 for row in rows)
    size = rows[-1].size
    return [
        job.name, f"{middle[0]:.1f}", f"{middle[1]:.1f}", f"{100 * cost:+.1f} %",
        f"{100 * wall:+.1f} %", f"{middle[2]:.1f}", f"{size:.1f}",
    ]  # fmt: skip


def result(job: Job, took: Took) -> Any:
    """What has to be the same: the lists where they follow from the work alone, else the score."""
    if job.kind == "score":
        return took.found["digest"]
    if job.kind == "learn":
        return took.found["score"]
    return took.found["scope"]["account"]["digest"], took.found["parents"]


def subsets(data: Path) -> list[str]:
    """Keeping the whole table of dynamic programming once, with its checksum: what that takes."""
    from parentage import read_table
    from parentage.optimise.exact import subset_table, whole_prices
    from parentage.optimise.problem import make_problem
    from parentage.scoring.candidates import score

    table = read_table(data / "tables" / "steel.csv", header=False)
    lists = score(table, threads=1)
    problem = make_problem(lists, np.ones(lists.n_sets, np.bool_)).pruned()
    price, _ = whole_prices(problem, float("inf"))
    began = time.process_time()
    best = subset_table(problem, price)
    if best is None:
        raise SystemExit("nobody asked it to stop")
    solving = time.process_time() - began
    with tempfile.NamedTemporaryFile(dir=".") as file:
        cpu, wall, check = time.process_time(), time.monotonic(), 0
        for some in np.array_split(best, 64):
            check = zlib.crc32(some.data, check)
            file.write(some.data)
        file.flush()
        os.fsync(file.fileno())
        cpu, wall = time.process_time() - cpu, time.monotonic() - wall
    return [
        f"steel, {problem.n} variables", f"{best.nbytes / 1e9:.1f}", f"{solving:.1f}", f"{cpu:.1f}",
        f"{100 * cpu / solving:.0f} %", f"{best.nbytes / wall / 1e9:.2f}",
        f"{best.nbytes / (SHARE * solving) / 1e9:.1f}",
    ]  # fmt: skip


def main() -> None:
    """Measure and write; what is not measured again stays."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    stored = RESULTS / "checkpoint.json"
    known: dict[str, list[str]] = json.loads(stored.read_text()) if stored.exists() else {}
    with tempfile.TemporaryDirectory(dir=".") as folder:
        for job in jobs(shared() / "data", Path(folder) / "holes.csv"):
            if len(sys.argv) < 3 or job.kind == sys.argv[2]:
                known[job.kind] = [*compare(job, pairs), str(pairs)]
                print(known[job.kind], flush=True)
    if len(sys.argv) < 3 or sys.argv[2] == "subsets":
        known["subsets"] = subsets(shared() / "data")
        print(known["subsets"], flush=True)
    stored.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    head = ["job", "CPU s", "with checkpoint", "CPU", "wall", "resumed at the end", "MB", "pairs"]
    lines = ["# What a checkpoint costs", "", " ".join((__doc__ or "").split("\n\n")[1].split())]
    lines += ["", f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    lines += [f"| {' | '.join(known[kind])} |" for kind in KINDS if kind in known]
    lines += ["", "## A table of all subsets", "", " ".join((subsets.__doc__ or "").split())]
    head = [
        "instance", "GB", "CPU s of solving", "CPU s of writing", "of solving", "GB/s written",
        f"GB/s needed for {SHARE:.0%}",
    ]  # fmt: skip
    lines += ["", f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    lines += [f"| {' | '.join(known['subsets'])} |"] if "subsets" in known else []
    (RESULTS / "checkpoint.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
