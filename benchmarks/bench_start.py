"""What a whole command costs on a new machine, and what it costs from then on.

``python benchmarks/bench_start.py [JOB …] [--before COMMIT]``

Every run is ``parentage …`` in a new process with an empty folder for compiled kernels, then the
same command with all kernels in the cache (``tests/warm_kernels.py``). All seconds are of one run:
CPU time with child processes, and the time on the wall. Bytecode of the package and its libraries
is compiled before, as an installation does it.

The size of an installation is that of the package and of every library that it needs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import measure

SCORES = ("bic", "aic", "qnml", "bdeu", "k2", "jeffreys", "fnml")

SHARE_MISSING = 0.05
"""The share of cells that is taken out for the jobs with missing values."""

BUSY = 1.0
"""Seconds: a run whose wall time exceeds its CPU time by more had to share the machine."""

JOBS: dict[str, str] = {
    **{f"8 variables, {score}": f"learn clinic --score {score}" for score in SCORES},
    "8 variables, missing values, pnal": "learn clinic-missing --missing pnal",
    "8 variables, missing values, em": "learn clinic-missing --missing em",
    "8 variables, networks within a factor 20": "learn clinic --within 20",
    "8 variables, support": "support clinic --bootstrap 20",
    "8 variables, expansion": "learn clinic --complete 1 --effort 0.2",
    "10 variables that depend strongly (tic-tac-toe)": "learn tic-tac-toe",
    **{f"15 variables, {score}": f"learn alarm-15 --score {score}" for score in SCORES},
    "15 variables, missing values, pnal": "learn alarm-15-missing --missing pnal",
    "15 variables, missing values, em": "learn alarm-15-missing --missing em",
    "37 variables": "learn alarm",
    "37 variables, bdeu": "learn alarm --score bdeu",
}
"""A name and the command; tables are in :func:`make_tables`."""


def make_tables(folder: Path) -> None:
    """Write the tables of the jobs: sampled here, or columns of alarm with 1,000 rows."""
    from parentage.data.datasets import chest_clinic, tic_tac_toe

    rows = (measure.shared() / "data" / "tables" / "alarm1000.csv").read_text().splitlines()
    alarm = [",".join(f"v{i}" for i in range(1, len(rows[0].split(",")) + 1)), *rows]
    few = [",".join(row.split(",")[:15]) for row in alarm]
    tables = {"clinic": lines(chest_clinic(1000)), "alarm-15": few}
    for name, rows in tables.items():
        write_table(folder / name, rows)
        write_table(folder / f"{name}-missing", with_missing(rows))
    write_table(folder / "alarm", alarm)
    write_table(folder / "tic-tac-toe", lines(tic_tac_toe()))


def lines(table: Any) -> list[str]:
    """Return a table as lines of CSV."""
    columns = [
        [states[c] for c in row] for states, row in zip(table.states, table.to_codes(), strict=True)
    ]
    return [",".join(table.names), *(",".join(row) for row in zip(*columns, strict=True))]


def with_missing(rows: list[str]) -> list[str]:
    """Take a share of the cells out, with a fixed seed."""
    rng = random.Random(0)
    return [
        rows[0],
        *(
            ",".join("" if rng.random() < SHARE_MISSING else cell for cell in row.split(","))
            for row in rows[1:]
        ),
    ]


def write_table(path: Path, rows: list[str]) -> None:
    """Write lines to a file."""
    path.write_text("\n".join(rows) + "\n")


def run(arguments: list[str], folder: Path, cache: Path | None) -> dict[str, Any]:
    """Run one command; return its CPU seconds, wall seconds and kernels compiled.

    Without a folder for compiled kernels it has those of this checkout.
    """
    here = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    code = "from parentage.cli import main; main()"
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=folder, text=True, capture_output=True,
        env={**here, "NUMBA_CACHE_DIR": str(cache or "")},
    )  # fmt: skip
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)}: exit {done.returncode}\n{done.stderr}")
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "cpu": round(spent, 2),
        "wall": round(wall, 2),
        "kernels": 0 if cache is None else len(list(cache.rglob("*.nbi"))),
    }


def measured(job: str, folder: Path) -> dict[str, Any]:
    """Run a job with an empty folder for kernels, and with the kernels of this checkout."""
    found = {}
    cold = folder / "cold"
    found["cold"] = run(JOBS[job].split(), folder, cold)
    shutil.rmtree(cold, ignore_errors=True)
    runs = [run(JOBS[job].split(), folder, None) for _ in range(3)]
    found["warm"] = min(runs, key=lambda one: one["cpu"])
    return found


def install_sizes() -> dict[str, int]:
    """Return the bytes of the package and of every library that installing it brings along."""
    from importlib.metadata import PackageNotFoundError, distribution

    from packaging.requirements import Requirement

    sizes: dict[str, int] = {}
    wanted = ["parentage"]
    while wanted:
        name = wanted.pop()
        try:
            found = distribution(name)
        except PackageNotFoundError:  # for another platform or another Python
            continue
        known = found.metadata["Name"].lower().replace("_", "-")
        if known in sizes:
            continue
        paths = [Path(str(found.locate_file(file))) for file in found.files or ()]
        if known == "parentage":
            paths = list((Path(__file__).parents[1] / "src" / "parentage").rglob("*"))
        sizes[known] = sum(path.stat().st_size for path in paths if is_installed(path))
        for text in found.requires or ():
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                wanted.append(needed.name)
    return sizes


def is_installed(path: Path) -> bool:
    """Whether a file comes with an installation; bytecode and kernels are made later."""
    return path.is_file() and "__pycache__" not in path.parts


def report(known: dict[str, Any]) -> str:
    """Lay out what was measured."""
    rows = []
    for job in JOBS:
        one = known["jobs"].get(job, {})
        if "now" not in one:
            continue
        before = one.get("before", {})
        cells = [
            f"{before[kind][what]:.1f}" if kind in before else ""
            for kind, what in (("cold", "cpu"), ("warm", "cpu"))
        ]
        cold, warm = one["now"]["cold"], one["now"]["warm"]
        wall = f"{cold['wall']:.1f}" if cold["wall"] <= cold["cpu"] + BUSY else ""
        now = [f"{cold['cpu']:.1f}", wall, str(cold["kernels"])]
        rows.append([job, f"`{JOBS[job]}`", *cells, *now, f"{warm['cpu']:.2f}"])
    head = [
        "job", "`parentage …`", "before: first, CPU s", "before: again, CPU s",
        "now: first, CPU s", "now: first, wall s", "kernels compiled", "now: again, CPU s",
    ]  # fmt: skip
    sizes = known["megabytes"]
    large = sorted(sizes.items(), key=lambda item: -item[1])
    listed = ", ".join(f"{name} {size:.0f}" for name, size in large if size >= 10)
    return "\n\n".join(
        [
            "# The first command, and those after it",
            "`python benchmarks/bench_start.py`: whole commands, each in a process of its own. "
            "*First*: no compiled kernels are cached. *Again*: all kernels are cached; the fastest "
            "of 3 runs. CPU seconds include child processes; seconds on the wall are shown where "
            "the machine was free of other work. *Before*: commit "
            f"{known['before']}; empty cells were not measured.",
            measure.markdown(head, rows),
            "## The size of an installation",
            f"{sum(sizes.values()):.0f} MB with all libraries: {listed}; {len(sizes)} packages in "
            f"all. parentage itself is {sizes['parentage']:.1f} MB; tests, benchmarks and the "
            "reproduction of the paper are not installed.",
        ]
    )


def main() -> None:
    """Measure the jobs whose names begin as given, and write all there is."""
    parser = argparse.ArgumentParser()
    parser.add_argument("jobs", nargs="*", help="beginnings of names")
    parser.add_argument("--before", help="record as the state before, of this commit")
    given = parser.parse_args()
    recorded = measure.RESULTS / "start.json"
    known: dict[str, Any] = {"before": "", "jobs": {}}
    if recorded.exists():
        known = json.loads(recorded.read_text())
    known["megabytes"] = {name: round(size / 1e6, 1) for name, size in install_sizes().items()}
    when = "before" if given.before else "now"
    known["before"] = given.before or known["before"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_tables(folder)
        subprocess.run([sys.executable, "tests/warm_kernels.py"], check=True)
        run(["--version"], folder, folder / "none")  # writes bytecode
        for job in JOBS:
            if given.jobs and not job.startswith(tuple(given.jobs)):
                continue
            found = measured(job, folder)
            print(when, job, found, flush=True)
            known["jobs"].setdefault(job, {})[when] = found
            recorded.write_text(json.dumps(known, indent=1) + "\n")
    measure.write("start", known, report(known))


if __name__ == "__main__":
    main()
