"""Growing under every kind of score: complete lists of 2 and 3 parents beside lists that grow.

``python benchmarks/bench_growing.py [JOB …] [--again]``

One table of 223 variables, asked for in several ways. *k = 2* and *k = 3* are complete lists with
that limit on parents, then the order search for 20 s; *growing* has complete lists of up to 2
parents and grows them with a budget of 20 nominal seconds. CPU seconds of two threads together;
reading and compiling are excluded. What is recorded already is not measured again unless asked for.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

import measure
from parentage.data.reading import read_table
from parentage.data.table import MISSING, Table
from parentage.pipeline import Advanced, learn
from parentage.scoring.candidates import score
from parentage.scoring.constraints import Constraints

THREADS = 2
SECONDS = 20.0
"""Of the order search on complete lists, and nominal ones of growing."""

REQUIRED = Constraints(required=frozenset({("GOAL_2", "SNode_7")}))

JOBS: dict[str, tuple[str, dict[str, Any]]] = {
    "BDeu": ("andes_5000", {"score": "bdeu"}),
    "qNML": ("andes_5000", {"score": "qnml"}),
    "K2": ("andes_5000", {"score": "k2"}),
    "BIC, a required arc": ("andes_5000", {"constraints": REQUIRED}),
    "BIC, prior 0.1 for every arc": ("andes_5000", {"prior": 0.1}),
    "BDeu, required arc and prior": (
        "andes_5000",
        {"score": "bdeu", "constraints": REQUIRED, "prior": 0.1},
    ),
    "PNAL, 5 % of the cells missing": ("andes_1000", {"score": "pnal"}),
}

WAYS = ("k = 2", "k = 3", "growing")
LEFT_OUT = {("PNAL, 5 % of the cells missing", "k = 3"): "not measured"}


def table_of(job: str) -> Table:
    """Read the table; cells are taken out at random where the job asks for holes."""
    table = read_table(measure.shared() / "data" / "large" / f"{JOBS[job][0]}.csv.gz")
    if JOBS[job][1].get("score") != "pnal":
        return table
    codes = table.to_codes().copy()
    codes[np.random.default_rng(0).random(codes.shape) < 0.05] = MISSING
    return Table(table.names, table.states, codes)


def measured(job: str, way: str) -> dict[str, Any]:
    """Learn once, one of the ways."""
    if (job, way) in LEFT_OUT:
        return {"left out": LEFT_OUT[job, way]}
    table, settings = table_of(job), JOBS[job][1]
    warnings.simplefilter("ignore")
    few = table.select(table.names[:12])
    learn(few, advanced=Advanced(complete=1, effort=0.1), threads=THREADS, **settings)  # compiles
    began = time.process_time()
    if way == "growing":
        solution = learn(
            table, advanced=Advanced(complete=2, effort=SECONDS), threads=THREADS, **settings
        )
    else:
        most = int(way[-1])
        lists = score(table, max_parents=most, threads=THREADS, **settings)
        solution = learn(
            lists,
            time_limit=SECONDS,
            threads=THREADS,
            constraints=settings.get("constraints"),
            advanced=Advanced(engine="orders"),
        )
    if solution.stopped == "interrupt":
        raise SystemExit("interrupted: this is not what was to be measured")
    return {
        "score": solution.score,
        "bound": solution.bound,
        "arcs": len(solution.network.arcs),
        "parents": max(len(parents) for parents in solution.network.parents),
        "explored": solution.scope.explored,
        "cpu": time.process_time() - began,
    }


def report(known: dict[str, Any]) -> str:
    """Write the table."""
    rows = []
    for job, ways in known.items():
        cells = [job, f"{JOBS[job][0].replace('_', ', ')} rows"]
        for way in WAYS:
            found = ways.get(way, {})
            text = found.get("left out", "")
            if "score" in found:
                text = f"{found['score']:,.1f} ({found['cpu']:.0f} s)"
            cells.append(text)
        grown = ways.get("growing", {})
        cells.append(str(grown.get("parents", "")))
        cells.append(f"{grown['explored']:,}" if grown else "")
        rows.append(cells)
    columns = ["k = 2", "k = 3", "expanded from k = 2"]
    head = ["asked for", "table", *columns, "most parents", "larger sets tried"]
    return (
        "# Expanded lists\n\n"
        "Score of the best network found, with the CPU seconds that all of it took: complete lists "
        "of up to 2 and of up to 3 parents, solved for 20 s, and lists that are complete to 2 "
        "parents and expanded for 20 nominal seconds (`--complete 2 --effort 20`), seed 0. The "
        "last two columns are of expanded lists. The 20 s of solving are by the clock, on a "
        "machine that was busy: the CPU seconds say what each run got. Made by "
        "`benchmarks/bench_growing.py`.\n\n" + measure.markdown(head, rows)
    )


if __name__ == "__main__":
    measure.by_limit("growing", dict.fromkeys(JOBS, WAYS), measured, report)
