"""Many variables: score against CPU time where complete lists do not fit, beside other programs.

``python benchmarks/bench_scale.py [TABLE …] [--seeds N] [--again] [--long] [--no-peers]``

Tables are those of ``data/large`` and ``data/density`` of the shared folder (their READMEs say
where they come from and what others find on them). A run searches every set up to k parents and
grows the lists with a budget of work, so that it can be repeated: same seed, same network. What is
recorded already is not measured again unless asked for, so a long benchmark can be run piece by
piece. Reading and compiling are excluded. CPU seconds of all threads together. Columns are
shuffled: tables drawn from a network may have them in topological order, which is half the answer.
``--long`` adds one run with four times the budget.

pyAgrum's tabu search (the fastest of the other programs here) is measured in the same run, in a
process of its own with limited CPU time; blip's numbers are those of the tables' READMEs.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

import bench_peers
import measure
import scale_page
from parentage.data.reading import read_table
from parentage.pipeline import Advanced, learn
from scale_tables import DENSITY, LARGE, LONGER, PEER_SECONDS

if TYPE_CHECKING:
    from parentage.data.table import Table
    from parentage.optimise import Solution
    from parentage.work.progress import Progress

RESULT = measure.RESULTS / "scale.json"
THREADS = 2

TOO_LONG = {"score": None, "cpu": PEER_SECONDS}
"""What is recorded of a search that was not ready by then."""


def table_of(name: str) -> Table:
    """Read a table; those of density estimation have no header."""
    density = name in DENSITY
    where = measure.shared() / "data" / ("density" if density else "large")
    packed = where / f"{name}{'.valid' if density else ''}.csv.gz"
    with tempfile.NamedTemporaryFile(suffix=".csv") as plain:
        plain.write(gzip.decompress(packed.read_bytes()))
        plain.flush()
        return read_table(plain.name, header=not density)


def warm_up(table: Table) -> None:
    """Compile: the same path with little work."""
    learn(
        table.select(table.names[:230]), advanced=Advanced(complete=1, effort=2.0), threads=THREADS
    )


def run(table: Table, complete: int, effort: float, seed: int) -> dict[str, Any]:
    """Learn once; by CPU seconds the rise of the score, and the bounds for the lists."""
    rise: list[tuple[float, float]] = []
    bounds: list[tuple[float, float]] = []
    began = time.process_time()

    def note(progress: Progress) -> None:
        spent = round(time.process_time() - began, 2)
        if progress.incumbent is not None:
            rise.append((spent, round(progress.incumbent, 1)))
        if progress.listed_bound is not None:
            bounds.append((spent, round(progress.listed_bound, 1)))

    settings = Advanced(complete=complete, effort=effort) if effort else None
    table = table.select(np.random.default_rng(seed).permutation(table.names).tolist())
    found = learn(table, seed=seed, threads=THREADS, progress=note, advanced=settings)
    spent = time.process_time() - began
    if found.stopped == "interrupt":
        raise KeyboardInterrupt  # not a measurement
    rise.append((round(spent, 2), round(found.score, 1)))
    best, kept = -float("inf"), []
    for seconds, score in rise:
        if score > best:
            kept.append((seconds, score))
            best = score
    return {
        "seed": seed, "score": round(found.score, 2), "bound": round(found.bound, 1),
        "listed_bound": round(listed_bound(found), 2),
        "listed": found.record.sets,
        "optimal": found.optimal, "cpu": round(spent, 1), "rise": thinned(kept),
        "bounds": thinned([*bounds, (round(spent, 2), round(listed_bound(found), 1))]),
        "explored": found.scope.explored,
        "memory_mb": round(measure.peak_memory_mb()),
    }  # fmt: skip


def listed_bound(found: Solution) -> float:
    """Return the bound for the listed sets, that for everything where they are all there is."""
    bound = found.scope.listed_bound
    return found.bound if bound is None else bound


def thinned(rise: list[tuple[float, float]], most: int = 60) -> list[tuple[float, float]]:
    """Leave out points that a plot would not show."""
    step = max(1, len(rise) // most)
    return [*rise[:-1:step], rise[-1]]


def pyagrum(name: str) -> dict[str, Any]:
    """Run its tabu search in a process with a limit on CPU time."""
    asked = [sys.executable, __file__, name, "--tabu"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    if done.returncode == -signal.SIGXCPU:
        return TOO_LONG
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def tabu(table: Table) -> dict[str, Any]:
    """Run pyAgrum's tabu search here, and score what it finds from the rows."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # threads that wait burn CPU time
    began = time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (int(began) + PEER_SECONDS, resource.RLIM_INFINITY))
    parents = bench_peers.pyagrum(table)
    spent = time.process_time() - began
    return {"score": round(bench_peers.bic(table, parents), 1), "cpu": round(spent, 1)}


def recorded() -> dict[str, Any]:
    """What is known already."""
    found: dict[str, Any] = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    return found


def measure_table(name: str, own: dict[str, Any], seeds: int, again: bool, long: bool) -> None:
    """Add what is missing about a table."""
    done = {} if again else {r["seed"]: r for r in own["runs"]}
    waiting = [seed for seed in range(seeds) if seed not in done]
    long = long and (again or "long" not in own)
    if not waiting and not long:
        return
    table = table_of(name)
    asked = LARGE[name] if name in LARGE else DENSITY[name]
    complete, effort = asked.complete, asked.effort
    warm_up(table)
    for seed in waiting:
        done[seed] = run(table, complete, effort, seed)
        show(name, done[seed])
    if long:
        own["long"] = run(table, complete, LONGER * effort, 0)
        show(name, own["long"])
    own["runs"] = [done[seed] for seed in sorted(done)]
    own |= {"variables": table.n_variables, "rows": table.n_rows}
    own |= {"complete": complete, "effort": effort}


def show(name: str, found: dict[str, Any]) -> None:
    """Print what a run has found, without its course."""
    print(name, {k: v for k, v in found.items() if k not in ("rise", "bounds")}, flush=True)


def main() -> None:
    """Measure what is asked for and write the page, the numbers and the plot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", help="names; all by default")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--long", action="store_true", help="add a run with four times the work")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--tabu", action="store_true", help="only pyAgrum, and print it")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.tabu:
        print(json.dumps(tabu(table_of(asked.tables[0]))))
        return
    names = asked.tables or [*LARGE, *DENSITY]
    for name in names:
        own = recorded().get(name, {"runs": []})
        measure_table(name, own, asked.seeds, asked.again, asked.long)
        write(name, own)
    for name in [] if asked.no_peers else names:
        own = recorded()[name]
        if "pyagrum" not in own:
            write(name, own | {"pyagrum": pyagrum(name)})


def write(name: str, own: dict[str, Any]) -> None:
    """Write what is known of a table; others may have written in the meantime."""
    known = recorded() | {name: own}
    RESULT.write_text(json.dumps(known, indent=1) + "\n")
    RESULT.with_suffix(".md").write_text(scale_page.page(known))
    RESULT.with_suffix(".svg").write_text(scale_page.plot(known))


if __name__ == "__main__":
    main()
