"""The same jobs by this checkout and by an earlier one, side by side.

``python benchmarks/bench_releases.py --before FOLDER [JOB …] [--again]``

FOLDER is a checkout of an earlier release with a virtual environment of its own (``make test``
there has made it). Every job runs in new processes, in turn here and there; what counts is the
least CPU time of RUNS. Before the clock starts, kernels are compiled and loaded: by the same job if
it is one of scoring, else by a smaller one. The jobs are those of ``bench_score``,
``bench_scores``, ``bench_optimise`` and ``bench_scale`` that show whether the engine has become
slower: scoring by every family of scores, proofs, and expanded lists. Both have to list as many
sets and find the same optimum; a job of expansion says what each found, for the same effort.

``both_ways`` runs in both checkouts, so it is written for the functions that both have.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import measure

RUNS = 3
HERE = Path(__file__).resolve().parent.parent

Job = dict[str, Any]

JOBS: dict[str, Job] = {
    **{
        f"score alarm, 1,000 rows, {score}, at most {k} parents": {
            "table": "tables/alarm_10000.csv", "rows": 1000, "score": score, "k": k,
        }
        for score, k in (("bdeu", 4), ("qnml", 4), ("k2", 4), ("fnml", 4))
    },
    "score alarm, 1,000 rows, bic": {"table": "tables/alarm_10000.csv", "rows": 1000},
    "score alarm, 10,000 rows, bic": {"table": "tables/alarm_10000.csv"},
    "score hailfinder, 5,000 rows, bic": {"table": "large/hailfinder_5000.csv.gz"},
    "score andes, 1,000 rows, bic, at most 2 parents": {"table": "large/andes_1000.csv.gz", "k": 2},
    **{
        f"solve {name}": {"lists": f"instances/{name}"}
        for name in (
            "alarm_10000_BIC", "slim_alarm-5000.jkl", "aur_alarm_10000.jaa",
            "hailfinder_10000_BDeu", "aur_hailfinder_10000.jaa", "mobs_soybean_BIC.txt",
            "slim_pathfinder-5000.jkl", "mobs_Diabetes_1000_1_2.scores", "slim_pigs-5000.jkl",
            "mobs_steel_BIC.txt",
        )
    },
    **{
        f"expand {name}, effort {effort}": {
            "table": f"large/{name}.csv.gz", "complete": 2, "effort": effort,
        }
        for name, effort in (("andes_1000", 12), ("pigs_1000", 12), ("munin1_1000", 30))
    },
}  # fmt: skip


def both_ways(data: Path, job: Job) -> dict[str, Any]:
    """Do a job once, warm, and return its CPU seconds and what came out."""
    parentage: Any = importlib.import_module("parentage")
    expands: Job = {key: job[key] for key in ("complete", "effort") if key in job}
    if expands and hasattr(parentage, "Advanced"):
        expands = {"advanced": parentage.Advanced(**expands)}
    if "lists" in job:
        lists = parentage.read_lists(data / job["lists"])
        work = partial(parentage.learn, lists, threads=1)
        warm = partial(parentage.learn, lists, threads=1, time_limit=1)
    else:
        table = parentage.read_table(data / job["table"])
        if "rows" in job:
            table = table.head(job["rows"]).observed()
        if expands:
            few = table.select(table.names[:120])
            work = partial(parentage.learn, table, seed=0, threads=1, **expands)
            warm = partial(parentage.learn, few, threads=1, **expands)
        else:
            how = {"score": job.get("score", "bic"), "max_parents": job.get("k"), "threads": 1}
            work = warm = partial(parentage.score, table, **how)
    warm()
    began = time.process_time()
    found = work()
    seconds = time.process_time() - began
    if hasattr(found, "optimal"):
        return {"cpu": seconds, "score": found.score, "optimal": found.optimal}
    return {"cpu": seconds, "sets": len(found.scores)}


def run(checkout: Path, job: Job) -> dict[str, Any]:
    """Do a job in a new process of a checkout."""
    code = (
        "import json, sys, warnings; warnings.simplefilter('ignore'); from pathlib import Path; "
        f"sys.path.insert(0, {str(HERE / 'benchmarks')!r}); import bench_releases; "
        f"print(json.dumps(bench_releases.both_ways(Path({str(measure.shared() / 'data')!r}), "
        f"json.loads({json.dumps(job)!r}))))"
    )
    python = checkout / ".venv" / "bin" / "python"
    without = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [str(python), "-c", code], capture_output=True, text=True, check=True, env=without
    )
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def measured(before: Path, job: Job) -> dict[str, Any]:
    """Do a job in turn by both; the results of each are the same every time."""
    found: dict[str, Any] = {}
    for _ in range(RUNS):
        for when, checkout in (("before", before), ("now", HERE)):
            one = run(checkout, job)
            known = found.setdefault(when, one)
            known["cpu"] = min(known["cpu"], one["cpu"])
    old, new = found["before"], found["now"]
    if "sets" in new:
        assert old["sets"] == new["sets"], "the lists differ"
    elif new["optimal"]:
        assert math.isclose(old["score"], new["score"], rel_tol=1e-9), "the optima differ"
    return found


def page(known: dict[str, Any]) -> str:
    """Lay out what was measured."""
    rows = []
    for job in JOBS:
        if job not in known["jobs"]:
            continue
        old, new = known["jobs"][job]["before"], known["jobs"][job]["now"]
        what = f"{new['sets']:,} sets" if "sets" in new else f"{new['score']:,.2f}"
        if "score" in new and not math.isclose(old["score"], new["score"], rel_tol=1e-9):
            what = f"{new['score']:,.2f}; before {old['score']:,.2f}"
        if new.get("optimal"):
            what += ", proven"
        ratio = old["cpu"] / new["cpu"]
        rows.append([job, f"{old['cpu']:.2f}", f"{new['cpu']:.2f}", f"{ratio:.2f}", what])
    head = ["job", "before, CPU s", "now, CPU s", "before / now", "result"]
    return "\n".join([
        "# Beside an earlier release", "",
        "`python benchmarks/bench_releases.py`: one thread, kernels compiled, reading excluded, "
        f"the least of {RUNS} runs in turn. Before: {known['before']}. Lists and optima are the "
        "same where the result is one number. Effort counts other work now than before, so rows "
        "of expansion compare results as well as seconds.", "",
        measure.markdown(head, rows),
    ])  # fmt: skip


def main() -> None:
    """Measure what was asked for and is not recorded yet."""
    parser = argparse.ArgumentParser()
    parser.add_argument("jobs", nargs="*", help="beginnings of names")
    parser.add_argument("--before", type=Path, required=True, help="a checkout with its .venv")
    parser.add_argument("--again", action="store_true")
    asked = parser.parse_args()
    commit = subprocess.run(
        ["git", "-C", str(asked.before), "rev-parse", "--short", "HEAD"],  # noqa: S607 (the user's git)
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    recorded = measure.RESULTS / "releases.json"
    known = json.loads(recorded.read_text()) if recorded.exists() else {"jobs": {}}
    if known.get("before") != commit:
        known = {"before": commit, "jobs": {}}
    for name, job in JOBS.items():
        wanted = not asked.jobs or name.startswith(tuple(asked.jobs))
        if wanted and (asked.again or name not in known["jobs"]):
            known["jobs"][name] = measured(asked.before, job)
            measure.write("releases", known, page(known))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
