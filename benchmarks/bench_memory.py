"""Memory: the most a process takes beside the limit it was given, and what goes to disk.

``python benchmarks/bench_memory.py [JOB …] [--again]``

Every run is ``parentage score`` or ``learn`` in a fresh process; the kernel's own record of its
memory is read at the end, so interpreter, libraries and compiled kernels are in it. Runs of one job
must give the same lists whatever the limit. What is recorded already is not measured again unless
asked for, so the benchmark can be run piece by piece.
"""

from __future__ import annotations

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
from parentage.files.growing import GrowingArray

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


def measured(job: str, limit: str) -> dict[str, Any]:
    """Run one job in a process of its own."""
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
        for limit, one in by_limit.items():
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
        ]
    )


def main() -> None:
    """Measure what is missing and write all there is."""
    jobs = {job: limits for job, (_, _, limits) in JOBS.items()}
    for job, by_limit in measure.by_limit("memory", jobs, measured, report).items():
        digests = {one["digest"] for one in by_limit.values()}
        assert len(digests) <= 1 or "--time-limit" in JOBS[job][0], job


if __name__ == "__main__":
    main()
