"""Scoring against named baselines, one core, kernels compiled, reading excluded.

Ratios are measured within this one run; the baselines are used as they are. Where a baseline
would take minutes, it is sampled and scaled, which the row says. Counts repeat exactly.
"""

from __future__ import annotations

import csv
import itertools
import math
import random
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import measure
from parentage.data.reading import read_table
from parentage.scoring.candidates import score

if TYPE_CHECKING:
    from collections.abc import Callable

    from parentage.data.table import Table

UCI = {"discretize": "median", "missing": "mode"}


def alarm(rows: int) -> Table:
    """The first rows of the alarm table, with the states that occur in them."""
    return read_table(measure.shared() / "data/tables/alarm_10000.csv").head(rows).observed()


def insurance(rows: int) -> Table:
    """The first rows of the insurance table; None is a state there."""
    path = measure.shared() / "data/tables/insurance_10000.csv"
    return read_table(path, na=[]).head(rows).observed()


def uci(name: str, drop: tuple[str, ...] = ()) -> Table:
    """A UCI table, discretised at the median."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read_table(measure.shared() / f"data/uci/{name}.arff", drop=drop, **UCI)  # type: ignore[arg-type]


def warm_up() -> None:
    """Compile every kernel before anything is timed."""
    small = alarm(100)
    for rules in (None, "none", "alg1,alg2"):
        score(small, max_parents=2, rules=rules, threads=1)


def bench_flags() -> dict[str, Any]:
    """(a) flags, k = 5: no rules against bincount, Alg1+Alg2 against no rules."""
    bincount = measure.baseline("bincount")
    table = uci("flags", ("name",))
    free = [name for name in table.names if name not in table.constant]
    table = table.select(free)
    none, lists = measure.cpu(lambda: score(table, max_parents=5, rules="none", threads=1), 5)
    both, _ = measure.cpu(lambda: score(table, max_parents=5, rules="alg1,alg2", threads=1), 5)
    default, _ = measure.cpu(lambda: score(table, max_parents=5, threads=1), 5)
    columns = table.to_codes().astype(np.int64)
    n = table.n_variables
    rng = random.Random(0)
    sizes = list(range(6))
    families = []
    for _ in range(20_000):
        child = rng.randrange(n)
        size = rng.choices(sizes, [math.comb(n - 1, s) for s in sizes])[0]
        others = [v for v in range(n) if v != child]
        families.append((child, sorted(rng.sample(others, size))))

    def by_bincount() -> None:
        for child, parents in families:
            bincount.bic_bincount(columns, table.cardinalities, child, parents)

    sampled, _ = measure.cpu(by_bincount, 3)
    scaled = sampled / len(families) * lists.known().tallies.families
    return {
        "families": lists.known().tallies.families,
        "seconds_none": none,
        "seconds_alg1_alg2": both,
        "seconds_default": default,
        "bincount_seconds_scaled": scaled,
        "ratio_to_bincount": scaled / none,
        "ratio_alg1_alg2_to_none": none / both,
    }


def pyagrum_seconds(table: Table, k: int, children: int | None) -> float:
    """CPU time of the pyAgrum loop, by child and scaled if ``children`` is given."""
    loop = measure.baseline("pyagrum_loop")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        with path.open("w", newline="") as f:
            writer = csv.writer(f)
            writer.writerow(table.names)
            labels = [
                [states[c] for c in column]
                for states, column in zip(table.states, table.to_codes(), strict=True)
            ]
            writer.writerows(zip(*labels, strict=True))
        if children is None:
            return measure.cpu(lambda: loop.pyagrum_lists(path, k), 1)[0]
        learner = loop.gum.BNLearner(str(path))
        learner.useScoreBIC()
        learner.useNoPrior()
        began = time.process_time()
        for child in table.names[:: max(1, len(table.names) // children)][:children]:
            others = [v for v in table.names if v != child]
            best: dict[tuple[str, ...], float] = {}
            for size in range(k + 1):
                for parents in itertools.combinations(others, size):
                    value = learner.score(child, list(parents)) * math.log(2)
                    below = [best[parents[:i] + parents[i + 1 :]] for i in range(size)]
                    best[parents] = max([value, *below])
        return (time.process_time() - began) / children * len(table.names)


def bench_alarm() -> dict[str, Any]:
    """(b) alarm, k = 3, and without any limit, against pyAgrum at k = 3 on the same rows."""
    found: dict[str, Any] = {}
    for rows, children in ((1000, None), (10_000, 2)):
        table = alarm(rows)
        limited, lists = measure.cpu(partial(score, table, max_parents=3, threads=1), 5)
        unlimited, whole = measure.cpu(partial(score, table, threads=1), 5 if rows < 5000 else 2)
        paper = None
        if rows == 1000:
            paper, _ = measure.cpu(partial(score, table, rules="alg1,alg2", threads=1), 3)
        theirs = pyagrum_seconds(table, 3, children)
        found[str(rows)] = {
            "families": lists.known().tallies.families,
            "seconds_k3": limited,
            "seconds_unlimited": unlimited,
            "seconds_unlimited_alg1_alg2": paper,
            "pyagrum_seconds_k3": theirs,
            "pyagrum_children_timed": children or table.n_variables,
            "ratio_k3": theirs / limited,
            "ratio_unlimited": theirs / unlimited,
            "ratio_default_to_alg1_alg2": None if paper is None else paper / unlimited,
            "kept_unlimited": whole.known().tallies.kept,
        }
    return found


RANDOM_NETWORK = """
import json, time
import numpy as np
from measure import peak_memory_mb
from parentage.data.table import Table
from parentage.scoring.candidates import score

def sample(n, rows, seed):
    rng = np.random.default_rng(seed)
    codes = np.zeros((n, rows), np.uint16)
    arity = rng.integers(2, 4, n)
    for v in range(n):
        parents = rng.permutation(v)[: int(rng.integers(0, min(v, 3) + 1))]
        label = np.zeros(rows, np.int64)
        q = 1
        for p in parents:
            label = label * arity[p] + codes[p]
            q *= int(arity[p])
        table = rng.dirichlet(np.full(arity[v], 0.5), q).cumsum(1)
        codes[v] = np.minimum((rng.random(rows)[:, None] > table[label]).sum(1), arity[v] - 1)
    states = tuple(tuple(str(s) for s in range(a)) for a in arity)
    return Table(tuple(f"v{i}" for i in range(n)), states, codes).observed()

table = sample({n}, {rows}, 7)
score(table.head(50), max_parents=1, threads=1)
began = time.process_time()
lists = score(table, max_parents={k}, threads={threads})
seconds = time.process_time() - began
tallies = lists.known().tallies
print(json.dumps(dict(seconds=seconds, families=tallies.families, sets=tallies.sets_counted,
    kept=tallies.kept, memory_mb=peak_memory_mb(), wall=tallies.seconds)))
"""


def random_network(n: int, rows: int, k: int | None, threads: int = 1) -> dict[str, Any]:
    """Score a table sampled from a random network, in a process of its own."""
    code = RANDOM_NETWORK
    for name, value in (("n", n), ("rows", rows), ("k", k), ("threads", threads)):
        code = code.replace("{" + name + "}", repr(value))
    return measure.in_fresh_process(code)


def bench_wide(alarm_result: dict[str, Any]) -> dict[str, Any]:
    """(c) n = 100, N = 1000, k = 4: memory, and time per family against alarm at k = 3."""
    found = random_network(100, 1000, 4)
    small = alarm_result["1000"]
    per_family = small["seconds_k3"] / small["families"]
    found["time_per_family_to_alarm"] = found["seconds"] / found["families"] / per_family
    return found


def bench_scaling() -> list[dict[str, Any]]:
    """(d) cost against N and n."""
    cases = [(30, 1000, 4), (30, 10_000, 4), (30, 100_000, 4), (15, 10_000, 4), (60, 10_000, 3),
             (200, 1000, 2), (1000, 1000, 1)]  # fmt: skip
    rows = []
    for n, n_rows, k in cases:
        found = random_network(n, n_rows, k)
        rows.append({"n": n, "rows": n_rows, "k": k, **found})
    return rows


COLD = """
import json, os, tempfile, time
os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp()
began = time.process_time()
from parentage.data.datasets import tic_tac_toe
from parentage.scoring.candidates import score
score(tic_tac_toe(), threads=1)
print(json.dumps(dict(seconds=time.process_time() - began)))
"""
WARM = COLD.replace('os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp()\n', "")
HELP = """
import json, resource, subprocess, sys
subprocess.run([sys.executable, "-m", "parentage", "--help"], stdout=subprocess.DEVNULL, check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps(dict(seconds=used.ru_utime + used.ru_stime)))
"""


def bench_start() -> dict[str, float]:
    """First (cold) run, warm start, and ``parentage --help``, CPU seconds."""
    return {
        "cold": measure.in_fresh_process(COLD)["seconds"],
        "warm": measure.in_fresh_process(WARM)["seconds"],
        "help": min(measure.in_fresh_process(HELP)["seconds"] for _ in range(3)),
    }


COUNTS: dict[str, tuple[Callable[[], Table], bool, int, int]] = {
    "alarm_10000, first 1000 rows": (lambda: alarm(1000), True, 146_000, 828),
    "alarm_10000, first 5000 rows": (lambda: alarm(5000), True, 1_115_000, 2171),
    "alarm_10000, all rows": (lambda: alarm(10_000), False, 2_445_000, 3474),
    "insurance_10000, first 5000 rows": (lambda: insurance(5000), True, 122_500, 1606),
    "vote": (lambda: uci("vote"), True, 18_500, 1611),
    "hepatitis": (lambda: uci("hepatitis"), True, 23_900, 275),
    "flags": (lambda: uci("flags", ("name",)), True, 13_600, 249),
}


def bench_counts() -> dict[str, Any]:
    """Sets counted without any limit on parents: the paper's rules and ours."""
    found = {}
    for name, (make, with_paper, at_most, kept) in COUNTS.items():
        table = make()
        lists = score(table, threads=1)
        paper = score(table, rules="alg1,alg2", threads=1) if with_paper else None
        found[name] = {
            "alg1_alg2": None if paper is None else paper.known().tallies.sets_counted,
            "default": lists.known().tallies.sets_counted,
            "at_most": at_most,
            "kept": lists.known().tallies.kept,
            "expected_kept": kept,
            "families_scored": lists.known().tallies.families_scored,
            "most_parents": lists.max_in_degree,
        }
    return found


MEMORY = """
import json
from measure import peak_memory_mb
from parentage.data.reading import read_table
from parentage.scoring.candidates import score
table = read_table({path!r})
lists = score(table, threads={threads})
print(json.dumps(dict(memory_mb=peak_memory_mb(), wall=lists.known().tallies.seconds)))
"""


def bench_memory() -> dict[str, Any]:
    """Peak memory on alarm with all rows, and two threads against one (wall time)."""
    path = str(measure.shared() / "data/tables/alarm_10000.csv")
    runs = {
        threads: [
            measure.in_fresh_process(
                MEMORY.replace("{path!r}", repr(path)).replace("{threads}", str(threads))
            )
            for _ in range(2)
        ]
        for threads in (1, 2)
    }
    one, two = (min(run["wall"] for run in runs[t]) for t in (1, 2))
    return {
        "memory_mb": max(run["memory_mb"] for run in runs[1]),
        "wall_1_thread": one,
        "wall_2_threads": two,
        "two_threads_to_one": one / two,
    }


def main() -> None:
    """Run everything and write ``results/score``."""
    warm_up()
    flags = bench_flags()
    alarm_result = bench_alarm()
    content = {
        "flags_k5": flags,
        "alarm": alarm_result,
        "n100_k4": bench_wide(alarm_result),
        "counts": bench_counts(),
        "memory": bench_memory(),
        "start": bench_start(),
        "scaling": bench_scaling(),
    }
    measure.write("score", content, as_markdown(content))


def as_markdown(c: dict[str, Any]) -> str:
    """The tables that README and docs quote."""
    flags, a1, a10 = c["flags_k5"], c["alarm"]["1000"], c["alarm"]["10000"]
    wide, memory, start = c["n100_k4"], c["memory"], c["start"]
    speed = [
        ["flags, k = 5, no rules, 3.55 M families", "bincount.py (sampled, scaled)",
         f"{flags['ratio_to_bincount']:.0f} ×"],
        ["flags, k = 5, Alg1+Alg2", "no rules", f"{flags['ratio_alg1_alg2_to_none']:.1f} ×"],
        ["alarm 1000 rows, k = 3", "pyagrum_loop.py, k = 3", f"{a1['ratio_k3']:.0f} ×"],
        ["alarm 10,000 rows, k = 3", "pyagrum_loop.py, k = 3 (2 children, scaled)",
         f"{a10['ratio_k3']:.0f} ×"],
        ["alarm 1000 rows, no limit", "pyagrum_loop.py, k = 3", f"{a1['ratio_unlimited']:.0f} ×"],
        ["alarm 10,000 rows, no limit", "pyagrum_loop.py, k = 3 (2 children, scaled)",
         f"{a10['ratio_unlimited']:.1f} ×"],
        ["alarm 1000 rows, no limit, default rules", "the same with Alg1+Alg2",
         f"{a1['ratio_default_to_alg1_alg2']:.1f} ×"],
        ["alarm 10,000 rows, no limit, two threads", "one thread (wall time)",
         f"{memory['two_threads_to_one']:.2f} ×"],
    ]  # fmt: skip
    counts = [
        [name, "–" if row["alg1_alg2"] is None else f"{row['alg1_alg2']:,}", f"{row['default']:,}",
         f"{row['families_scored']:,}", f"{row['kept']:,}", str(row["most_parents"])]
        for name, row in c["counts"].items()
    ]  # fmt: skip
    scaling = [
        [str(r["n"]), f"{r['rows']:,}", str(r["k"]), f"{r['sets']:,}", f"{r['seconds']:.2f}",
         f"{r['sets'] / r['seconds']:,.0f}", f"{r['memory_mb']:.0f}"]
        for r in c["scaling"]
    ]  # fmt: skip
    return "\n\n".join(
        [
            "# Scoring",
            "One core, kernels compiled, reading excluded, CPU time, best of several; "
            "made by `make bench`.",
            "## Speed",
            measure.markdown(["job", "against", "faster by"], speed),
            "## Sets counted",
            "With no limit on parents, everything included:",
            measure.markdown(
                ["table", "Alg1+Alg2", "default rules", "families scored", "kept", "most parents"],
                counts,
            ),
            f"n = 100, N = 1000, k = 4: {wide['families']:,} families in {wide['seconds']:.1f} s, "
            f"{wide['memory_mb']:.0f} MB at the peak; time per family is "
            f"{wide['time_per_family_to_alarm']:.2f} × that of alarm, 1000 rows, k = 3.",
            f"alarm, 10,000 rows, no limit: {memory['memory_mb']:.0f} MB at the peak.",
            f"First run ever (compiling): {start['cold']:.1f} s of CPU; later starts "
            f"{start['warm']:.2f} s; `parentage --help` {start['help']:.2f} s.",
            "## Cost against N and n",
            "Tables sampled from random networks, default rules:",
            measure.markdown(
                ["n", "N", "k", "sets counted", "CPU s", "sets per s", "peak MB"], scaling
            ),
        ]
    )


if __name__ == "__main__":
    main()
