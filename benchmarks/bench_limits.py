"""Time limits: how long commands go on after their time is over, and what they then have.

``python benchmarks/bench_limits.py [JOB …] [--again]``

Every run is a command in a fresh process with compiled kernels and one thread. Its clock is the
CPU time of the process, so the numbers are those of a quiet machine, whatever else runs on this
one. What cannot be cut is known apart: reading and encoding a table, reading and preparing lists,
and the first step of expectation maximisation. Holes are made with a fixed seed.
"""

from __future__ import annotations

import json
import random
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import measure

if TYPE_CHECKING:
    from parentage.scoring.lists import CandidateLists

HOLES = 0.05
"""The share of cells that is taken out for the jobs with holes."""

LEAST, PART = 0.5, 0.1
"""Seconds after the limit, or part of it, that are allowed."""

JOBS: dict[str, tuple[str, str, tuple[float, ...]]] = {
    "genes 2,000 × 500": ("learn", "large/genes_500.csv.gz", (1, 5, 30)),
    "link 1,000 rows": ("learn", "large/link_1000.csv.gz", (1, 5, 20)),
    "link 1,000 rows, BDeu": ("learn --score bdeu", "large/link_1000.csv.gz", (5,)),
    "andes 5,000 rows": ("learn", "large/andes_5000.csv.gz", (1, 3, 10)),
    "andes 5,000 rows, BDeu": ("learn --score bdeu", "large/andes_5000.csv.gz", (3, 10)),
    "pumsb_star": ("learn --no-header", "density/pumsb_star.valid.csv.gz", (10,)),
    "plants": ("learn --no-header", "density/plants.valid.csv.gz", (10,)),
    "munin1 1,000 rows": ("learn --categorical all", "large/munin1_1000.csv.gz", (5,)),
    "alarm 10,000 rows": ("learn", "tables/alarm_10000.csv", (0, 1, 2, 5)),
    "alarm 10,000 rows, BDeu": ("learn --score bdeu", "tables/alarm_10000.csv", (0, 1, 2, 5)),
    "alarm 10,000 rows, holes, pnal": (
        "learn --missing pnal", "holes:tables/alarm_10000.csv", (1, 3, 10),
    ),
    "alarm 10,000 rows, holes, em": (
        "learn --missing em", "holes:tables/alarm_10000.csv", (1, 3, 10),
    ),
    "alarm 10,000 rows, score": ("score", "tables/alarm_10000.csv", (0, 1)),
    "andes 5,000 rows, score": ("score", "large/andes_5000.csv.gz", (5,)),
    "alarm 10,000 rows, support": ("support", "tables/alarm_10000.csv", (1, 5)),
    "alarm 10,000 rows, bootstrap": ("support --bootstrap 50", "tables/alarm_10000.csv", (5,)),
    "alarm 10,000 rows, report": ("report", "tables/alarm_10000.csv", (1, 5)),
    "lists of munin1": ("learn", "instances/slim_munin1-5000.jkl", (5,)),
    "lists of link": ("learn", "instances/slim_link-5000.jkl", (5,)),
    "lists of diabetes": ("learn", "instances/slim_diabetes-5000.jkl", (5,)),
    "1,000,000 made sets of 1,041": ("made 1041 1000000", "", (5, 20)),
    "1,000,000 made sets of 2,500": ("made 2500 1000000", "", (10,)),
    "7,000,000 made sets of 1,041": ("made 1041 7000000", "", (10, 30)),
}  # fmt: skip

RUN = """
import time
time.monotonic = time.perf_counter = time.process_time
import contextlib, io, json
import bench_limits
from parentage import optimise, pipeline
from parentage.cli import main
from parentage.optimise import problem
from parentage.scoring import candidates
from parentage.work.stop import Stop

began, ready = [], []
after = Stop.after.__func__
def watched(cls, seconds, memory=None):
    began.append(time.process_time())
    return after(cls, seconds, memory)
Stop.after = classmethod(watched)
def told(function, end):
    def noting(*args, **named):
        if end:
            found = function(*args, **named)
        ready.append(time.process_time())
        return found if end else function(*args, **named)
    return noting
candidates.search = told(candidates.search, False)
problem.prepare = told(problem.prepare, True)
out, code = io.StringIO(), 0
with contextlib.redirect_stdout(out):
    try:
        {work}
    except SystemExit as end:
        code = end.code
spent = time.process_time()
content = json.loads(out.getvalue() or "{{}}")
found = content.get("score")
found = found if isinstance(found, float) else None  # the lists' own is a name
parents = content.get("parents", {{}}).values()
over = began[0] + {limit!r}
print(json.dumps({{
    "exit": code, "cpu": spent, "score": found,
    "arcs": len(content["arcs"]) if "arcs" in content else sum(map(len, parents)) or None,
    "late": max(0.0, spent - over), "free": max(0.0, spent - max(over, ready[{steps}])),
}}))
"""


def measured(job: str, limit: float) -> dict[str, Any]:
    """Run one job in a process of its own."""
    command, table, _ = JOBS[job]
    name, *options = command.split()
    if name == "made":
        n, sets = (int(number) for number in options)
        work = f"bench_limits.learn_made({n}, {sets}, {limit!r})"
        return in_process(work, limit)
    source = measure.shared() / "data" / table.removeprefix("holes:")
    with tempfile.TemporaryDirectory() as folder:
        if table.startswith("holes:"):
            source = with_holes(source, Path(folder))
        args = [name, str(source), *options, "--time-limit", f"{limit:g}", "--threads", "1"]
        args += ["-o", f"{folder}/page.html"] if name == "report" else ["--json"]
        return in_process(f"main({args!r})", limit, 2 if "em" in options else 0)


def in_process(work: str, limit: float, steps: int = 0) -> dict[str, Any]:
    """Run what is written in a process; so many preparations come before it can be ended."""
    return measure.in_fresh_process(RUN.format(work=work, limit=limit, steps=steps))


def learn_made(n: int, sets: int, limit: float) -> None:
    """Learn from lists that are made and print what was found as ``learn --json`` does."""
    import parentage

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", parentage.errors.UnprovenWarning)
        found = parentage.learn(made_lists(n, sets), time_limit=limit, threads=1)
    print(json.dumps({"score": found.score, "parents": found.network.to_dict()}))


def made_lists(n: int, sets: int) -> CandidateLists:
    """Draw lists of up to three parents, about as long for every child, with random gains."""
    import numpy as np

    from parentage.scoring.lists import CandidateLists

    rng = np.random.default_rng(0)
    child = np.repeat(np.arange(n), -(-sets // n))[:sets]
    drawn = np.sort((child[:, None] + rng.integers(1, n, (sets, 3))) % n, axis=1)
    new = np.diff(drawn, axis=1, prepend=-1) > 0  # a parent that was drawn twice counts once
    new &= np.arange(3) < rng.integers(1, 4, sets)[:, None]
    new[np.searchsorted(child, np.arange(n))] = False  # the empty set of every child
    sizes = new.sum(axis=1)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    scores = -1000 + 30 * sizes * rng.random(sets)
    names = tuple(f"v{v}" for v in range(n))
    return CandidateLists.from_arrays(names, child, starts, drawn[new], scores)


def with_holes(table: Path, folder: Path) -> Path:
    """Take a share of the cells out of a table."""
    rng = random.Random(0)
    head, *rows = table.read_text().splitlines()
    kept = [
        ",".join("" if rng.random() < HOLES else cell for cell in row.split(",")) for row in rows
    ]
    target = folder / table.name
    target.write_text("\n".join([head, *kept]) + "\n")
    return target


def report(found: dict[str, dict[str, dict[str, Any]]]) -> str:
    """Lay out what is known."""
    rows, late = [], []
    for job, by_limit in found.items():
        for limit, one in by_limit.items():
            rows.append(
                [
                    job, f"{float(limit):g} s", f"{one['late']:.2f}", f"{one['free']:.2f}",
                    f"{one['cpu']:.1f}", "" if one["arcs"] is None else f"{one['arcs']:,}",
                    "" if one["score"] is None else f"{one['score']:,.1f}",
                ]
            )  # fmt: skip
            if one["free"] > max(LEAST, PART * float(limit)):
                late.append(one["free"])
    head = ["job", "`--time-limit`", "s after it", "of these free", "s in all", "arcs", "score"]
    kept = f"{len(rows) - len(late)} of {len(rows)} runs ended within {LEAST:g} s of their limit, "
    kept += f"or within {PART:.0%} of it, not counting what cannot be cut"
    kept += f"; the slowest of the others took {max(late):.2f} s." if late else "."
    return "\n\n".join(
        [
            "# Time limits",
            "`python benchmarks/bench_limits.py`: one thread, kernels compiled. All seconds are "
            "CPU time of the process, which is the clock of its limit here. What is not *free* is "
            "reading and encoding a table, reading and preparing lists, and the first step of "
            "expectation maximisation, which cannot be cut.",
            kept,
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
