"""Learning from candidate lists: time to proof, anytime search, ablation, local search beside it.

``python benchmarks/bench_optimise.py [SECTION …] [--instances NAME …] [--limit SECONDS] [--again]``

Sections: ``proof`` (every instance to proof, or to the limit), ``roots`` (the gap that each
family of cuts leaves at the root), ``anytime`` (order search alone, seeds 1 to 5, ten seconds),
``ablation`` (branch-and-cut without one of its means), ``tables`` (from table to proof, and where
hill climbing ends). What is recorded already is not measured
again unless asked for, so a long benchmark can be run piece by piece.

Reading and compiling are excluded. Two threads. Wall and CPU seconds; the CPU seconds are the ones
to compare, the machine had other work.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from typing import TYPE_CHECKING, Any

import measure
from parentage.optimise import learn_lists
from parentage.optimise.engines import solve
from parentage.optimise.lp.cutting import Tactics
from parentage.optimise.problem import prepare
from parentage.optimise.run import Run
from parentage.scoring.formats import read_lists
from parentage.work.stop import Stop

if TYPE_CHECKING:
    from collections.abc import Callable

    from parentage.data.table import Table
    from parentage.network.network import Network
    from parentage.scoring.lists import CandidateLists

KNOWN = {
    "zoo_BIC": -773.486072,
    "ebnsl_wine.BIC.3": -1258.445909,
    "slim_child-5000.jkl": -62059.5035,
    "slim_insurance-5000.jkl": -68053.1412,
    "water1000_BIC": -13290.1069,
    "alarm1000_BIC": -11783.0463,
    "alarm_10000_BIC": -108877.1466,
    "slim_alarm-5000.jkl": -53781.3386,
    "mobs_soybean_BIC.txt": -3122.0630,
    "hailfinder500_BDe": -27182.2840,
    "slim_hailfinder-5000.jkl": -252358.1055,
    "slim_hepar2-5000.jkl": -164432.7558,
    "slim_pathfinder-5000.jkl": -149209.6744,
    "slim_pigs-5000.jkl": -1675331.8964,
}
"""Instances whose optimum is published or was proven before."""

ROOTS = (
    "alarm_10000_BIC",
    "slim_alarm-5000.jkl",
    "aur_alarm_10000.jaa",
    "hailfinder_10000_BDeu",
    "mobs_soybean_BIC.txt",
)
FAMILIES = {
    "clusters": Tactics(set_packing=False, local_cuts=False),
    "+ set packing, k": Tactics(local_cuts=False),
    "+ local ≤ 4": Tactics(sizes=((4,),)),
    "≤ 6": Tactics(sizes=((5, 6),)),
    "≤ 8": Tactics(sizes=((5, 6), (5, 8))),
    "≤ 11": Tactics(sizes=((5, 6), (5, 8), (5, 8, 11))),
}
"""What the root may use, from left to right in the table of root gaps."""

LATER_KNOWN = (
    "aur_hailfinder_10000.jaa",
    "hailfinder_10000_BDeu",
    "mobs_steel_BIC.txt",
    "aur_insurance_10000.jaa",
    "slim_barley-5000.jkl",
    "aur_Water_10000.jaa",
)
"""Instances of up to 60 variables that this benchmark proved first."""

ABLATED = (
    "alarm1000_BIC",
    "alarm_10000_BIC",
    "slim_insurance-5000.jkl",
    "slim_alarm-5000.jkl",
    "hailfinder500_BDe",
    "slim_hailfinder-5000.jkl",
    "slim_hepar2-5000.jkl",
    "slim_pathfinder-5000.jkl",
    "mobs_soybean_BIC.txt",
)
VARIANTS = {
    "all of it": Tactics(),
    "without set packing": Tactics(set_packing=False),
    "without warm start": Tactics(warm_start=False),
    "without local cuts": Tactics(local_cuts=False),
}
TABLES = ("zoo", "vote", "hepatitis", "tic-tac-toe", "insurance 1000", "alarm 1000", "alarm 10000")
THREADS = 2
ANYTIME_SECONDS = 10.0

SECTIONS = ("proof", "roots", "anytime", "ablation", "tables")

Record = dict[str, Any]


def instance(name: str) -> CandidateLists:
    """Read candidate lists."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read_lists(measure.shared() / "data" / "instances" / name)


def compile_kernels() -> None:
    """Run every engine once on something small."""
    lists = instance("water1000_BIC")
    for engine in ("orders", "branch-and-cut"):
        learn_lists(lists, engine=engine, threads=THREADS, time_limit=5.0)
    learn_lists(instance("zoo_BIC"), engine="subsets", threads=THREADS)


def timed(
    lists: CandidateLists, engine: str, limit: float, tactics: Tactics, seed: int = 0
) -> Record:
    """Solve once and say what came of it."""
    cpu = time.process_time()
    run = Run(lists, prepare(lists), stop=Stop.after(limit), threads=THREADS, seed=seed)
    solution = solve(run, engine, tactics)
    return {
        "variables": lists.n_variables,
        "sets": lists.n_sets,
        "score": solution.score,
        "bound": solution.bound,
        "optimal": solution.optimal,
        "engine": solution.engine,
        "seconds": round(solution.seconds, 2),
        "cpu_seconds": round(time.process_time() - cpu, 2),
        "root_gap": solution.record.root_gap,
        "nodes": solution.record.effort.nodes,
        "cuts": sum(solution.record.effort.cuts.values()),
        "incumbent_after": round(
            next(t for t, s, _ in solution.trace if s >= solution.score - 1e-6), 2
        ),
    }


def prove(name: str, limit: float) -> Record:
    """Solve an instance to proof and compare with what is known."""
    record = timed(instance(name), "auto", limit, Tactics())
    if name in KNOWN and record["optimal"]:
        assert abs(record["score"] - KNOWN[name]) < 1e-3, (name, record["score"])
    return record


def roots(name: str) -> Record:
    """Cut at the root with ever more families, from the best network known; no branching."""
    from parentage.optimise.lp.cutting import solve_root
    from parentage.optimise.orders import first_incumbent, search_orders

    lists = instance(name)
    record: Record = {}
    for family, tactics in FAMILIES.items():
        run = Run(lists, prepare(lists), threads=THREADS)
        for part in run.parts:
            first_incumbent(part)
        large = [part for part in run.parts if part.problem.n > 20]
        search_orders(large, patience=20)
        cpu, gap = time.process_time(), 0.0
        for part in large:
            solve_root(part, tactics)
            gap += part.cost - part.bound
        record[family] = {"gap": gap, "cpu_seconds": round(time.process_time() - cpu, 1)}
    return record


def anytime(name: str) -> Record:
    """Let the order search work alone, from five seeds."""
    lists = instance(name)
    runs = [timed(lists, "orders", ANYTIME_SECONDS, Tactics(), seed) for seed in range(1, 6)]
    return {
        "scores": [run["score"] for run in runs],
        "incumbent_after": [run["incumbent_after"] for run in runs],
    }


def ablate(name: str, limit: float) -> Record:
    """Solve by branch-and-cut with all its means, and without one of them."""
    lists = instance(name)
    return {
        variant: timed(lists, "branch-and-cut", limit, tactics)
        for variant, tactics in VARIANTS.items()
    }


def table_of(name: str) -> Table:
    """Read one of the tables."""
    from bench_score import alarm, insurance, uci

    if name.startswith("alarm"):
        return alarm(int(name.split()[1]))
    if name.startswith("insurance"):
        return insurance(int(name.split()[1]))
    return uci(name, ("animal",) if name == "zoo" else ())


def hill_climbing(table: Table) -> Network:
    """Learn with pyAgrum's greedy hill climbing on BIC, from the empty network."""
    import pandas as pd
    import pyagrum as gum

    from parentage.network.network import Network

    labels = {
        name: [table.states[v][code] for code in table.to_codes()[v]]
        for v, name in enumerate(table.names)
    }
    learner = gum.BNLearner(pd.DataFrame(labels))  # type: ignore[no-untyped-call]  # pyAgrum lacks types
    learner.useGreedyHillClimbing()
    learner.useScoreBIC()
    found = learner.learnDAG()
    order = learner.names()
    place = {name: v for v, name in enumerate(table.names)}
    parents: list[list[int]] = [[] for _ in table.names]
    for tail, head in found.arcs():
        parents[place[order[head]]].append(place[order[tail]])
    return Network(table.names, tuple(tuple(sorted(members)) for members in parents))


def from_table(name: str, limit: float) -> Record:
    """Score without a limit on parents, prove, and let a local search run on the same table."""
    from parentage.scoring.candidates import score

    table = table_of(name)
    cpu, began = time.process_time(), time.monotonic()
    lists = score(table, threads=THREADS)
    scoring = time.monotonic() - began
    solution = learn_lists(lists, threads=THREADS, time_limit=limit)
    record: Record = {
        "variables": table.n_variables,
        "rows": table.n_rows,
        "sets": lists.n_sets,
        "score": solution.score,
        "optimal": solution.optimal,
        "gap": solution.gap,
        "seconds": round(time.monotonic() - began, 2),
        "scoring_seconds": round(scoring, 2),
        "cpu_seconds": round(time.process_time() - cpu, 2),
        "arcs": solution.network.n_arcs,
    }
    assert abs(solution.network.score(table) - solution.score) < 1e-6 * abs(solution.score)
    local = hill_climbing(table)
    record["local_score"] = local.score(table)
    record["local_shd"] = solution.network.compare(local).class_shd
    return record


def proof_table(found: dict[str, Record], before: dict[str, Record]) -> str:
    """Proofs as Markdown."""
    rows = []
    for name, r in sorted(found.items(), key=lambda item: item[1]["variables"]):
        past = before.get(name)
        past_gap = (
            "" if past is None or past["optimal"] else f", gap {past['bound'] - past['score']:.4g}"
        )
        earlier = "" if past is None else f"{past['cpu_seconds']:.1f}{past_gap}"
        known = KNOWN.get(name)
        verdict = "proven" if r["optimal"] else f"gap {r['bound'] - r['score']:.4f}"
        root = "" if r["root_gap"] is None else f"{r['root_gap']:.2f}"
        rows.append([
            f"`{name}`", str(r["variables"]), f"{r['sets']:,}", f"{r['score']:.4f}",
            verdict, "" if known is None else f"{known:.4f}", r["engine"],
            f"{r['seconds']:.1f}", f"{r['cpu_seconds']:.1f}", earlier,
            root, str(r["nodes"]), str(r["cuts"]),
        ])  # fmt: skip
    return measure.markdown(
        ["instance", "n", "sets", "score", "", "known optimum", "engine", "s", "CPU s",
         "CPU s with SCIP", "root gap", "nodes", "cuts"], rows,
    )  # fmt: skip


def roots_table(found: dict[str, Record]) -> str:
    """Root gaps as Markdown."""

    def cell(r: Record) -> str:
        return (
            f"{r['gap']:.1f} ({r['cpu_seconds']:.1f} s)"
            if r["gap"] > 1e-5
            else "**0** (" + (f"{r['cpu_seconds']:.1f} s)")
        )

    rows = [[f"`{name}`", *(cell(r[family]) for family in FAMILIES)] for name, r in found.items()]
    return measure.markdown(["instance", *FAMILIES], rows)


def anytime_table(found: dict[str, Record], proofs: dict[str, Record]) -> str:
    """Anytime runs as Markdown."""
    rows = []
    for name, r in found.items():
        best = KNOWN.get(name, proofs.get(name, {}).get("score", max(r["scores"])))
        reached = sum(score > best - 1e-3 for score in r["scores"])
        times = " ".join(f"{t:.2f}" for t in r["incumbent_after"])
        rows.append([f"`{name}`", f"{best:.4f}", f"{reached} of 5", times])
    return measure.markdown(["instance", "optimum", "reached", "after s, seeds 1–5"], rows)


def ablation_table(found: dict[str, Record]) -> str:
    """Ablation as Markdown."""

    def cell(r: Record) -> str:
        proof = f"{r['seconds']:.1f} s" if r["optimal"] else f"gap {r['bound'] - r['score']:.3g}"
        root = "" if r["root_gap"] is None else f", root {r['root_gap']:.1f}"
        return f"{proof} ({r['nodes']} nodes{root})"

    rows = [[f"`{name}`", *(cell(r[v]) for v in VARIANTS)] for name, r in found.items()]
    return measure.markdown(["instance", *VARIANTS], rows)


def tables_table(found: dict[str, Record]) -> str:
    """From table to proof, and hill climbing, as Markdown."""
    rows = [
        [
            name, str(r["variables"]), str(r["rows"]), f"{r['sets']:,}",
            f"{r['score']:.3f}" if r["optimal"] else f"{r['score']:.3f} (gap {r['gap']:.3f})",
            f"{r['seconds']:.1f} ({r['scoring_seconds']:.1f})",
            f"{r['local_score'] - r['score']:.2f}", str(r["local_shd"]),
        ]
        for name, r in found.items()
    ]  # fmt: skip
    return measure.markdown(
        ["table", "n", "rows", "sets", "optimum", "s (scoring)", "hill climbing falls short by",
         "SHD of the classes"], rows,
    )  # fmt: skip


def report(found: dict[str, dict[str, Record]]) -> str:
    """The whole report."""
    parts = [f"# Learning\n\n{(__doc__ or '').split(chr(10) * 2)[-1].strip()}"]
    if found["proof"]:
        parts.append("## Time to proof\n\n" + proof_table(found["proof"], found["before"]))
    if found["roots"]:
        parts.append(
            "## What each family of cuts leaves open at the root\n\n" + roots_table(found["roots"])
        )
    if found["anytime"]:
        parts.append(
            "## Order search alone, ten seconds\n\n"
            + anytime_table(found["anytime"], found["proof"])
        )
    if found["ablation"]:
        parts.append("## Branch-and-cut without …\n\n" + ablation_table(found["ablation"]))
    if found["tables"]:
        parts.append(
            "## From table to proof, no limit on parents, and a local search beside it\n\n"
            "Hill climbing is pyAgrum's, on BIC, from the empty network.\n\n"
            + tables_table(found["tables"])
        )
    return "\n\n".join(parts)


def main() -> None:
    """Measure what was asked for and is not recorded yet; write after every measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", default=list(SECTIONS))
    parser.add_argument("--instances", nargs="*")
    parser.add_argument("--limit", type=float, default=300.0)
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    path = measure.RESULTS / "optimise.json"
    found: dict[str, dict[str, Record]] = {s: {} for s in (*SECTIONS, "before")}
    if path.exists():
        found |= json.loads(path.read_text())
    jobs: dict[str, tuple[tuple[str, ...], Callable[[str], Record]]] = {
        "proof": (tuple(KNOWN), lambda name: prove(name, options.limit)),
        "roots": (ROOTS, roots),
        "anytime": ((*tuple(KNOWN)[:11], *LATER_KNOWN), anytime),
        "ablation": (ABLATED, lambda name: ablate(name, options.limit)),
        "tables": (TABLES, lambda name: from_table(name, options.limit)),
    }
    compile_kernels()
    for section in options.sections:
        names, job = jobs[section]
        for name in options.instances or names:
            if options.again or name not in found[section]:
                print(f"{section} {name} …", flush=True)
                found[section][name] = job(name)
                measure.write("optimise", found, report(found))
    measure.write("optimise", found, report(found))


if __name__ == "__main__":
    main()
