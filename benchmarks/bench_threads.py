"""One thread and two: wall time of scoring, solving, expansion, bootstrap and missing values.

``python benchmarks/bench_threads.py [JOB …]``

Every measurement is a process of its own, kernels compiled before; the least wall time of several,
one and two threads in turn. Ask a machine that has nothing else to do: its load is recorded, and
the page says it. Results must not depend on the number of threads; that is compared here as well.
Where branch-and-cut takes part, the page also says which share of the CPU time of one thread goes
into linear programmes, which HiGHS solves on one thread, and into steps that threads share.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

import measure
import parentage
from bench_scale import table_of
from parentage.data.table import MISSING
from parentage.growth.anytime import Anytime
from parentage.growth.score import Sweeps
from parentage.optimise.programme import CutLP
from parentage.optimise.separation import LocalCuts

if TYPE_CHECKING:
    from collections.abc import Callable

REPEAT = 3
RESULT = measure.RESULTS / "threads.json"


def scoring(table: str, score: str) -> Callable[[int], object]:
    """Complete lists of a table."""
    path = measure.shared() / "data" / "tables" / table
    rows = parentage.read_table(path)
    return lambda threads: parentage.score(rows, score=score, threads=threads).n_sets


def solving(instance: str) -> Callable[[int], object]:
    """Solve lists to proof: linear programmes, separation, order search."""
    lists = parentage.read_lists(measure.shared() / "data" / "instances" / instance)
    return lambda threads: round(parentage.learn(lists, threads=threads).score, 6)


def expansion(table: str) -> Callable[[int], object]:
    """Expand lists of many variables with a counted effort."""
    rows = table_of(table)
    asked = parentage.Advanced(complete=2, effort=15.0)
    return lambda threads: round(parentage.learn(rows, advanced=asked, threads=threads).score, 6)


def bootstrap(table: str) -> Callable[[int], object]:
    """Learn resampled tables."""
    rows = parentage.read_table(measure.shared() / "data" / "tables" / table)
    return lambda threads: [
        round(arc.adjacency or 0.0, 9)
        for arc in parentage.support(rows, need=False, bootstrap=10, threads=threads).arcs
    ]


def holes(table: str) -> Callable[[int], object]:
    """Lists of a table of which one value in twenty is taken out."""
    rows = parentage.read_table(measure.shared() / "data" / "tables" / table)
    codes = np.array(rows.to_codes(), np.uint16)
    codes[np.random.default_rng(0).random(codes.shape) < 0.05] = MISSING
    lacking = parentage.Table(rows.names, rows.states, codes)
    return lambda threads: (
        parentage.score(lacking, score="pnal", max_parents=3, threads=threads).n_sets
    )


JOBS: dict[str, tuple[str, Callable[[], Callable[[int], object]]]] = {
    "scoring, BIC": ("alarm_10000.csv", lambda: scoring("alarm_10000.csv", "bic")),
    "scoring, BDeu": ("insurance_10000.csv", lambda: scoring("insurance_10000.csv", "bdeu")),
    "scoring, missing values": ("alarm_10000.csv", lambda: holes("alarm_10000.csv")),
    "solving": ("aur_alarm_10000.jaa", lambda: solving("aur_alarm_10000.jaa")),
    "expansion": ("andes_1000", lambda: expansion("andes_1000")),
    "bootstrap": ("insurance_10000.csv", lambda: bootstrap("insurance_10000.csv")),
}


PIECES: dict[str, tuple[tuple[Any, str], ...]] = {
    "lp": ((CutLP, "_run"),),
    "shared": ((LocalCuts, "_look"), (Sweeps, "hold"), (Anytime, "_round")),
}
"""Methods of which the CPU time is counted: linear programmes, and what threads share."""


def timed(owner: Any, name: str, spent: dict[str, float], piece: str) -> None:
    """Let a method count its CPU time."""
    method = getattr(owner, name)

    def counting(*given: Any, **named: Any) -> Any:
        began = time.process_time()
        try:
            return method(*given, **named)
        finally:
            spent[piece] += time.process_time() - began

    setattr(owner, name, counting)


def run(job: str, threads: int) -> dict[str, Any]:
    """Do a job here; the first time is for loading kernels."""
    work = JOBS[job][1]()
    work(threads)
    spent = dict.fromkeys(PIECES, 0.0)
    for piece, methods in PIECES.items():
        for owner, name in methods:
            timed(owner, name, spent, piece)
    wall, used = time.perf_counter(), time.process_time()
    found = work(threads)
    return {
        "wall": time.perf_counter() - wall, "cpu": time.process_time() - used, "found": found,
        **spent,
    }  # fmt: skip


def measured(job: str) -> dict[str, Any]:
    """Both numbers of threads in turn; the least of each."""
    found: dict[int, list[dict[str, Any]]] = {1: [], 2: []}
    loads = []
    for _ in range(REPEAT):
        for threads, runs in found.items():
            loads.append(os.getloadavg()[0])
            code = f"import bench_threads as b, json; print(json.dumps(b.run({job!r}, {threads})))"
            runs.append(measure.in_fresh_process(code))
    answers = {json.dumps(one["found"]) for runs in found.values() for one in runs}
    assert len(answers) == 1, f"{job}: results differ with the number of threads"
    least = {
        f"{key}_{threads}": round(min(one[key] for one in runs), 2)
        for threads, runs in found.items()
        for key in ("wall", "cpu")
    }
    alone = found[1][0]
    shares = {piece: round(alone[piece] / alone["cpu"], 2) for piece in PIECES if alone["lp"]}
    return {**least, **shares, "load": round(max(loads), 1)}


def page(known: dict[str, Any]) -> str:
    """Lay out the results."""
    rows = [
        [
            job, f"`{JOBS[job][0]}`", f"{own['wall_1']:.2f}", f"{own['wall_2']:.2f}",
            f"**{own['wall_1'] / own['wall_2']:.2f}**", f"{own['cpu_2'] / own['cpu_1']:.2f}",
            *(f"{own[piece]:.0%}" if piece in own else "–" for piece in PIECES),
            f"{own['load']:.1f}",
        ]
        for job, own in known.items()
    ]  # fmt: skip
    head = [
        "job", "table or lists", "one thread, s", "two, s", "faster by", "CPU ratio",
        "linear programmes", "shared", "load",
    ]  # fmt: skip
    return "\n\n".join(
        [
            "# Threads",
            "`python benchmarks/bench_threads.py`: wall seconds of one and of two threads on two "
            f"cores, the least of {REPEAT}, in turn; *CPU ratio* is what two threads use together, "
            "compared with one. *Load* is the largest load average when a measurement began: our "
            "own processes bring it to about one or two. Results are equal.",
            "*Linear programmes* and *shared*: shares of the CPU time of one thread, where "
            "branch-and-cut takes part. HiGHS solves linear programmes on one thread; support "
            "sets of local cuts, sweeps over the rows and streams of the order search are shared "
            "by all threads. If s is shared, two threads cannot be faster by more than "
            "1 / (1 − s/2).",
            measure.markdown(head, rows),
        ]
    )


def main() -> None:
    """Measure the jobs that are named, all by default."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("jobs", nargs="*", help="beginnings of names")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    known = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    for job in JOBS:
        if not asked.jobs or job.startswith(tuple(asked.jobs)):
            known[job] = measured(job)
            ordered = {name: known[name] for name in JOBS if name in known}
            measure.write("threads", ordered, page(ordered))


if __name__ == "__main__":
    main()
