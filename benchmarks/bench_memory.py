"""Memory: the most a process takes beside the limit it was given, and what goes to disk.

``python benchmarks/bench_memory.py [JOB …] [--again]``

Every run is ``parentage score`` or ``learn`` in a fresh process; the kernel's own record of its
memory is read at the end, so interpreter, libraries and compiled kernels are in it. Runs of one job
must give the same lists whatever the limit. What is recorded already is not measured again unless
asked for, so the benchmark can be run piece by piece.

*Bytes per live set*: complete lists on one thread, and the arrays of the level that took most while
it was joined, counted one by one. With the source of an earlier version in the folder that
``PARENTAGE_BEFORE`` names, the same is measured of that. The table of win95pts is none of those
shared: ``parentage sample win95pts.bif 1000 --seed 1``, the network from the bnlearn repository;
``PARENTAGE_WIN95PTS`` says where it is.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import measure

JOBS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "alarm 10,000 rows, no limit on parents": (
        "score",
        "tables/alarm_10000.csv",
        ("400MB", "500MB", "1GB", "none"),
    ),
    "andes 5,000 rows, -k 3": ("score -k 3", "large/andes_5000.csv.gz", ("500MB", "1GB")),
    "hepar2 1,000 rows, -k 5": ("score -k 5", "large/hepar2_1000.csv.gz", ("500MB", "1GB", "none")),
    "andes 5,000 rows, -k 3, learn 60 s": (
        "learn -k 3 --time-limit 60",
        "large/andes_5000.csv.gz",
        ("500MB", "1GB"),
    ),
    "link 1,000 rows, -k 3, 120 s": (
        "score -k 3 --time-limit 120",
        "large/link_1000.csv.gz",
        ("500MB", "1GB", "4GB"),
    ),
    "link 1,000 rows, learn 60 s": (
        "learn --time-limit 60",
        "large/link_1000.csv.gz",
        ("1GB", "2GB"),
    ),
}

RUN = """
import contextlib, hashlib, io, json, sys, tempfile, time
import measure
from parentage.cli import main
from parentage.work.array_files import GrowingArray

written = [0]
append = GrowingArray.append
def counted(array, rows):
    written[0] += rows.nbytes
    append(array, rows)
GrowingArray.append = counted
out, code, folder = io.StringIO(), 0, tempfile.mkdtemp()
with contextlib.redirect_stdout(out):
    try:
        main([arg.replace("FOLDER", folder) for arg in {args!r}])
    except SystemExit as end:
        code = end.code
content, found = json.loads(out.getvalue()), b""
if {args!r}[0] == "score":
    with open(folder + "/lists.jkl", "rb") as file:
        found = b"".join(line for line in file if not line.startswith(b"#"))
print(json.dumps({{
    "exit": code, "peak": measure.peak_memory_mb(), "cpu": time.process_time(),
    "disk": written[0] / 1e6, "score": content.get("score"),
    "digest": hashlib.sha256(found).hexdigest()[:12],
}}))
"""


SETS = {
    "hailfinder 5,000 rows": ("large/hailfinder_5000.csv.gz", 2),
    "win95pts 1,000 rows": (os.environ.get("PARENTAGE_WIN95PTS", ""), 2),
    "hepar2 1,000 rows": ("large/hepar2_1000.csv.gz", 1),
    "alarm 10,000 rows": ("tables/alarm_10000.csv", 2),
}
"""Tables and how often each is measured."""

SETS_RUN = """
import json, sys, time, warnings
sys.path[:0] = {paths!r}
import measure, parentage
from parentage.kernels import _options
from parentage.scoring.search import levels

warnings.simplefilter("ignore")
_options.Kernel.only = "compiled"
by_size = {{}}
find = levels.LevelStep._find_siblings
def counted(step, check):
    find(step, check)
    level = step.level
    arrays = dict(members=[level.members], subsets=[level.subsets])
    if hasattr(level, "bins"):
        arrays |= dict(bins=[level.bins], values=level.values)
    else:
        arrays |= dict(best=[level.best], pairs=[step.pairs])
    names = getattr(step.siblings, "_fields", ("children", "tails", "live"))
    arrays |= {{name: [array] for name, array in zip(names, step.siblings, strict=True)}}
    arrays |= dict(columns=level.columns)
    size = level.members.shape[1]
    by_size[size] = {{name: sum(one.nbytes for one in all_) for name, all_ in arrays.items()}}
table = parentage.read_table({table!r})
parentage.score(table, max_parents=2, threads=1)  # compiles
levels.LevelStep._find_siblings = counted
began = time.process_time()
lists = parentage.score(table, threads=1)
cpu, tallies = time.process_time() - began, lists.known().tallies
size, arrays = max(by_size.items(), key=lambda one: sum(one[1].values()))
live = tallies.live_sets[size - 1]
largest = dict(sets=live, by_array={{name: nbytes / live for name, nbytes in arrays.items()}})
print(json.dumps({{
    "cpu": cpu, "peak": measure.peak_memory_mb(), "largest": largest,
    "counted": tallies.sets_counted, "digest": lists.digest[:12],
}}))
"""


def measured(job: str, limit: str) -> dict[str, Any]:
    """Run one job in a process of its own."""
    if job in SETS:
        table, times = SETS[job]
        paths = [os.environ["PARENTAGE_BEFORE"]] if limit == "before" else []
        table = str(measure.shared() / "data" / table)  # an absolute path stays what it is
        code = SETS_RUN.format(paths=paths, table=table)
        runs = [measure.in_fresh_process(code) for _ in range(times)]
        return min(runs, key=lambda one: float(one["cpu"]))
    command, table, _ = JOBS[job]
    name, *options = command.split()
    args = [name, str(measure.shared() / "data" / table), *options, "--json"]
    args += ["-o", "FOLDER/" + ("lists.jkl" if name == "score" else "network.json")]
    if limit != "none":
        args += ["--memory", limit]
    return measure.in_fresh_process(RUN.format(args=args))


def report(found: dict[str, dict[str, dict[str, Any]]]) -> str:
    """Lay out what is known."""
    rows = []
    for job, by_limit in found.items():
        for limit, one in by_limit.items() if job in JOBS else ():
            peak = one["peak"] * 1.048576  # MiB to MB
            unit = {"MB": 1.0, "GB": 1000.0}.get(limit[-2:], 0.0)
            ratio = f"{100 * peak / (unit * float(limit[:-2])):.0f} %" if unit else ""
            disk, spent = f"{one['disk']:,.0f} MB", f"{one['cpu']:.0f}"
            rows.append([job, limit, f"{peak:,.0f} MB", ratio, disk, spent])
    head = ["job", "`--memory`", "most memory", "of the limit", "written to disk", "CPU s"]
    return "\n\n".join(
        [
            "# Memory",
            "`python benchmarks/bench_memory.py`: the most memory of a process (interpreter and "
            "kernels included) beside its limit. Lists of one job are the same whatever the limit; "
            "what is found in a given time is not.",
            "## Limits kept",
            measure.markdown(head, rows),
            "## Bytes per live set",
            "Complete lists on one thread, best CPU of two (hepar2: once). *Bytes* are those of "
            "the level that took most while it was joined, by live set; *most memory* is that of "
            "the process. "
            "Sets that nothing can be built on are live but not stored (docs/theory.md, "
            "Proposition 4). Before: 7f288d8.",
            measure.markdown(SETS_HEAD, rows_of_sets(found)),
        ]
    )


SETS_HEAD = ["table", "version", "sets counted", "largest level", "bytes a set", "of them",
             "most memory", "memory, before / after", "CPU s", "CPU, before / after"]  # fmt: skip


def rows_of_sets(found: dict[str, dict[str, dict[str, Any]]]) -> list[list[str]]:
    """Lay out bytes per live set, before and after."""
    rows = []
    for job in (job for job in SETS if job in found):
        before = found[job].get("before")
        for version, one in sorted(found[job].items(), reverse=True):
            assert before is None or one["counted"] == before["counted"], job
            large = one["largest"]
            parts = [f"{name} {each:.1f}" for name, each in large["by_array"].items()]
            ratios = ["", ""]
            if before is not None and version == "after":
                ratios = [f"{before[what] / one[what]:.2f}" for what in ("peak", "cpu")]
            rows.append(
                [
                    job, version, f"{one['counted']:,}", f"{large['sets']:,}",
                    f"{sum(large['by_array'].values()):.1f}", ", ".join(parts),
                    f"{one['peak'] * 1.048576:,.0f} MB", ratios[0], f"{one['cpu']:.1f}", ratios[1],
                ]
            )  # fmt: skip
    return rows


def main() -> None:
    """Measure what is missing and write all there is."""
    jobs = {job: limits for job, (_, _, limits) in JOBS.items()}
    versions = ("before", "after") if "PARENTAGE_BEFORE" in os.environ else ("after",)
    for job, (table, _) in SETS.items():
        if table and (measure.shared() / "data" / Path(table)).exists():
            jobs[job] = versions
    for job, by_limit in measure.by_limit("memory", jobs, measured, report).items():
        digests = {one["digest"] for one in by_limit.values()}
        # versions may round logarithms otherwise: benchmarks/digests.py compares those of one
        assert job in SETS or len(digests) <= 1 or "--time-limit" in JOBS[job][0], job


if __name__ == "__main__":
    main()
