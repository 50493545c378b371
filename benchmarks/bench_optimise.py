"""Learning from candidate lists: time to proof, anytime search, ablation, local search beside it.

``python benchmarks/bench_optimise.py [SECTION …] [--instances NAME …] [--limit SECONDS] [--again]``

Sections: ``proof`` (every instance to proof, or to the limit), ``roots`` (the gap that each
family of cuts leaves at the root), ``anytime`` (order search alone, seeds 1 to 5, ten seconds),
``cutting``, ``large parts``, ``branching``, ``searching`` (the ablation: one thing changed at a
time, one thread; a rule on the run as it is decides which instances it takes, before any row is
measured),
``tables`` (from table to proof, and where hill climbing ends). What is recorded already is not
measured again unless asked for, so a long benchmark can be run piece by piece.

Reading and compiling are excluded. Two threads, in the ablation one. Wall and CPU seconds; the
CPU seconds are the ones to compare, the machine had other work.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import math
import statistics
import threading
import time
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unittest import mock

import measure
from parentage.optimise import cutting, separation
from parentage.optimise.cutting import CutBandit
from parentage.optimise.engines import solve
from parentage.optimise.run import Run
from parentage.optimise.settings import Optimising
from parentage.optimise.tuning import TUNING, Tuning
from parentage.pipeline import Advanced, learn
from parentage.scoring.formats import read_lists
from parentage.work.context import Context
from parentage.work.stop import Stop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from parentage.data.table import Table
    from parentage.network.network import Network
    from parentage.scoring.lists import CandidateLists

Record = dict[str, Any]
Changes = dict[str, Any]

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
FAMILIES: dict[str, Changes] = {
    "clusters": {"set_packing": False, "sizes": ()},
    "+ set packing, k": {"sizes": ()},
    "+ local ≤ 4": {"sizes": ((4,),)},
    "≤ 6": {"sizes": ((5, 6),)},
    "≤ 8": {"sizes": ((5, 6), (5, 8))},
    "≤ 11": {"sizes": ((5, 6), (5, 8), (5, 8, 11))},
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

SHORT, LONG, LONGEST = 0.05, 5.0, 20.0
"""CPU seconds. The ablation of cutting takes every instance whose proof as it is takes from the
first to the second number; those of large parts and of branching take every instance of more than
``Tuning.large`` variables, or proven by branching, from the first to the third."""

CAP, CAP_LEAST, CAP_MOST = 5.0, 2.0, 60.0
"""A run of the ablation ends after this many times the CPU seconds of the run as it is, but not
before the second and not after the third number of CPU seconds; it then counts with what it took.
"""

SEARCHED = (
    "slim_barley-5000.jkl", "hailfinder_10000_BDeu", "aur_hailfinder_10000.jaa",
    "slim_alarm-5000.jkl", "aur_alarm_10000.jaa", "mobs_soybean_BIC.txt",
    "slim_pathfinder-5000.jkl", "slim_munin1-5000.jkl", "slim_diabetes-5000.jkl",
)  # fmt: skip
"""Instances for the ablation of the order search, each with two seeds."""

NEVER = 10**9


def nothing(*_: object, **__: object) -> None:
    """Stand in for what is left out."""


def no_cuts(*_: object, **__: object) -> list[object]:
    """Find no cuts."""
    return []


def largest_open(bandit: Any, least: int = 0) -> int:
    """Choose without learning: the largest support sets that may be used."""
    return int(max(bandit.limit, least))


PATCHES: dict[str, tuple[Any, str, Any]] = {
    "no bandit: largest support sets": (CutBandit, "choose", largest_open),
    "no short cycles": (separation, "short_cycles", no_cuts),
    "no through cuts": (cutting, "through_cuts", no_cuts),
}
"""Means that no number switches off: what stands in their place."""

AS_IT_IS = ("as it is", "as it is, again", "as it is, a third time")
"""Rows that change nothing: their mean is what others are compared with, their spread is noise."""

CUTTING: dict[str, Changes] = {
    AS_IT_IS[0]: {},
    "large parts like small ones": {"large": NEVER},
    "small parts like large ones": {"large": 8},
    "cuts from 9 variables on": {"at_once": 8},
    "cuts never hand over to subsets": {"soon": math.inf},
    "subsets wherever possible": {"soon": 0.0},
    "no order search before cutting": {"warm_rounds": 0},
    "order search until 5 idle rounds": {"warm_rounds": 5},
    "no set packing": {"set_packing": False},
    "no local cuts": {"sizes": ()},
    "k-clusters and cycles in every round": {"few": NEVER},
    "no k-clusters, cycles in large parts only": {"few": 0},
    "no exact clusters": {"exact_tries": 0},
    "walks without tenure": {"tenure": 0},
    "local cuts from the first round": {"dry": NEVER},
    "larger support sets at once": {"sparse": NEVER},
    "one level of support sets": {"sizes": ((5, 8, 11),)},
    "support sets never passed over": {"crowded": NEVER},
    "no limit on local cuts": {"enough": NEVER},
    "a third of the support sets": {"seeds": 20},
    "support sets without noise": {"noise": 0.0},
    "bandit forgets nothing": {"memory": 1.0},
    "bandit without curiosity": {"curiosity": 1.0},
    "work: no overheads": {"overhead": 0, "round_work": 0},
    "cuts never forgotten": {"old": NEVER, "large_old": NEVER},
    "no pool": {"pool": 0},
    "removed columns stay": {"spare": NEVER},
    "one patience for all roots": {"root_patience": (30, 0.01)},
    "large parts: local cuts at once": {"stall": (0, 1.0)},
    AS_IT_IS[1]: {},
    **{name: {} for name in PATCHES},
    AS_IT_IS[2]: {},
}
"""What the ablation of cutting changes, by the fields of :class:`.tuning.Tuning`."""
EARLIER = ("as it was", "after the deletions", "no set packing, k-clusters and small cycles")
"""Rows of the record that compare with what was, or change two things."""
LARGE: dict[str, Changes] = {
    row: CUTTING[row]
    for row in (
        AS_IT_IS[0],
        "large parts like small ones",
        "no order search before cutting",
        "no through cuts",
        "no short cycles",
    )
} | {
    "large roots like small ones": {"large_patience": TUNING.root_patience},
    "cuts as old as in small parts": {"large_old": TUNING.old},
    "no pool": {"pool": 0},
}
"""Those of them that concern large parts, for the ablation of these."""
BRANCHING: dict[str, Changes] = {
    AS_IT_IS[0]: {},
    "nodes as long as roots": {"node_patience": (8, 0.04)},
    "no order search before cutting": {"warm_rounds": 0},
    "no set packing": {"set_packing": False},
    AS_IT_IS[1]: {},
}
"""What the ablation of branching changes."""
SEARCHING: dict[str, Changes] = {
    "as it is": {},
    "one stream": {"slacks": (0.0,)},
    "no regions": {"width": 1},
    "regions of 12": {"width": 12},
    "the leader never goes back": {"stale": NEVER},
}
"""What the ablation of the order search changes."""

TABLES = ("zoo", "vote", "hepatitis", "tic-tac-toe", "insurance 1000", "alarm 1000", "alarm 10000")
THREADS = 2
ANYTIME_SECONDS = 10.0

ABLATIONS = ("cutting", "large parts", "branching", "searching")
SECTIONS = ("proof", "roots", "anytime", *ABLATIONS, "tables")


def instance(name: str) -> CandidateLists:
    """Read candidate lists."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read_lists(measure.shared() / "data" / "instances" / name)


def compile_kernels() -> None:
    """Run every engine once on something small."""
    lists = instance("water1000_BIC")
    for engine in ("orders", "branch-and-cut"):
        learn(lists, threads=THREADS, time_limit=5.0, advanced=Advanced(engine=engine))
    learn(instance("zoo_BIC"), threads=THREADS, advanced=Advanced(engine="subsets"))


def timed(
    lists: CandidateLists, settings: Optimising, limit: float, tuning: Tuning = TUNING,
    threads: int = THREADS,
) -> Record:  # fmt: skip
    """Solve once and say what came of it."""
    cpu = time.process_time()
    run = Run(lists, None, settings, Context(Stop.after(limit), threads), tuning=tuning)
    solution = solve(run)
    effort = solution.record
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
        "nodes": effort.nodes,
        "rounds": effort.lp_rounds,
        "cuts": sum(effort.cuts.values()),
        "incumbent_after": round(
            next(t for t, s, _ in solution.trace if s >= solution.score - 1e-6), 2
        ),
    }


def prove(name: str, limit: float) -> Record:
    """Solve an instance to proof and compare with what is known."""
    record = timed(instance(name), Optimising(), limit)
    if name in KNOWN and record["optimal"]:
        assert abs(record["score"] - KNOWN[name]) < 1e-3, (name, record["score"])
    return record


def roots(name: str) -> Record:
    """Cut at the root with ever more families, from the best network known; no branching."""
    from parentage.optimise.orders import first_incumbent, search_orders

    lists = instance(name)
    record: Record = {}
    for family, changes in FAMILIES.items():
        tuning = replace(TUNING, **changes)
        run = Run(lists, context=Context(threads=THREADS), tuning=tuning)
        for part in run.parts:
            first_incumbent(part)
        large = [part for part in run.parts if part.problem.n > 20]
        search_orders(large, patience=20)
        cpu, gap = time.process_time(), 0.0
        for part in large:
            cutting.solve_root(part)
            gap += part.cost - part.bound
        record[family] = {"gap": gap, "cpu_seconds": round(time.process_time() - cpu, 1)}
    return record


def anytime(name: str) -> Record:
    """Let the order search work alone, from five seeds."""
    lists = instance(name)
    asked = [Optimising(engine="orders", seed=seed) for seed in range(1, 6)]
    runs = [timed(lists, settings, ANYTIME_SECONDS) for settings in asked]
    return {
        "scores": [run["score"] for run in runs],
        "incumbent_after": [run["incumbent_after"] for run in runs],
    }


@contextlib.contextmanager
def cpu_limit(stop: Stop, seconds: float) -> Iterator[None]:
    """Cancel a stop when the process has used so many CPU seconds; wall time plays no part."""
    over, end = threading.Event(), time.process_time() + seconds

    def watch() -> None:
        while not over.wait(0.02):
            if time.process_time() > end:
                stop.cancelled.set()
                return

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def capped(name: str, tuning: Tuning, cap: float) -> Record:
    """Solve an instance by one thread until it is proven or has taken ``cap`` CPU seconds."""
    lists, stop = instance(name), Stop.after(None)
    gc.collect()
    with cpu_limit(stop, cap):
        cpu = time.process_time()
        solution = solve(Run(lists, None, Optimising(), Context(stop, 1), tuning=tuning))
        spent = time.process_time() - cpu
    effort = solution.record
    return {
        "score": solution.score,
        "optimal": solution.optimal,
        "engine": solution.engine,
        "cpu_seconds": round(spent, 3),
        "nodes": effort.nodes,
        "rounds": effort.lp_rounds,
        "cuts": sum(effort.cuts.values()),
    }


def select() -> Record:
    """Solve every instance as it is, within the longest time that any ablation allows."""
    folder = measure.shared() / "data" / "instances"
    return {
        path.name: {"variables": instance(path.name).n_variables}
        | capped(path.name, TUNING, LONGEST)
        for path in sorted(folder.iterdir())
    }


def selected(section: str, first: Record) -> list[str]:
    """Return the instances of an ablation, by the rule above and nothing else."""

    def taken(r: Record) -> bool:
        if section == "large parts":
            return int(r["variables"]) > TUNING.large
        if section == "branching":
            return "branch-and-cut" in r["engine"]
        return float(r["cpu_seconds"]) <= LONG

    proven = {name: r for name, r in first.items() if r["optimal"] and r["cpu_seconds"] >= SHORT}
    return [name for name, r in proven.items() if taken(r)]


def ablate(variant: str, changes: Changes, names: Sequence[str], first: Record) -> Record:
    """Solve instances to proof, by one thread, with one thing changed."""
    with contextlib.ExitStack() as stack:
        if variant in PATCHES:
            stack.enter_context(mock.patch.object(*PATCHES[variant]))
        tuning = replace(TUNING, **changes)
        runs = {}
        for name in names:
            cap = min(CAP_MOST, max(CAP_LEAST, CAP * first[name]["cpu_seconds"]))
            runs[name] = run = capped(name, tuning, cap)
            known = first[name]["score"]
            assert not run["optimal"] or abs(run["score"] - known) <= 1e-9 * abs(known), name
        return runs


def ablate_orders(changes: Changes) -> Record:
    """Let the order search alone search instances until it finds no more, two seeds each."""
    tuning = replace(TUNING, **changes)
    return {
        f"{name} {seed}": timed(
            instance(name), Optimising(engine="orders", seed=seed), math.inf, tuning, 1
        )
        for name in SEARCHED
        for seed in (1, 2)
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
    solution = learn(lists, threads=THREADS, time_limit=limit)
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
    """One row for each thing that was changed, all instances added up."""
    base = {
        name: statistics.mean(found[row][name]["cpu_seconds"] for row in AS_IT_IS if row in found)
        for name in found[AS_IT_IS[0]]
    }
    rows = []
    for variant, runs in found.items():
        spent = {name: run["cpu_seconds"] - base[name] for name, run in runs.items()}
        cpu = sum(run["cpu_seconds"] for run in runs.values())
        most = max(spent, key=lambda name: abs(spent[name]))
        rows.append([
            variant + ("" if variant in (*CUTTING, *LARGE, *BRANCHING, *EARLIER) else " †"),
            f"{cpu:.1f}", f"{cpu / sum(base.values()):.2f}",
            str(sum(run["rounds"] for run in runs.values())),
            str(sum(run["nodes"] for run in runs.values())),
            f"`{most}` {spent[most]:+.1f}",
            ", ".join(f"`{name}`" for name, run in runs.items() if not run["optimal"]),
        ])  # fmt: skip
    head = ["changed", "CPU s", "×", "rounds", "nodes", "most by", "stopped at the cap"]
    return measure.markdown(head, rows)


def searching_table(found: dict[str, Record]) -> str:
    """One row for each change of the order search."""
    best: dict[str, float] = {}
    for runs in found.values():
        for name, r in runs.items():
            key = name.split()[0]
            best[key] = max(best.get(key, -math.inf), r["score"])
    rows = []
    for variant, runs in found.items():
        short = {name: best[name.split()[0]] - r["score"] for name, r in runs.items()}
        reached = sum(gap < 1e-3 for gap in short.values())
        cpu = sum(r["cpu_seconds"] for r in runs.values())
        rows.append([variant, f"{reached} of {len(runs)}", f"{max(short.values()):.1f}",
                     f"{cpu:.1f}"])  # fmt: skip
    return measure.markdown(["changed", "best network found", "falls short by at most", "CPU s"],
                            rows)  # fmt: skip


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
    for section, title, table in (
        ("cutting", "Cutting with one thing changed", ablation_table),
        ("large parts", "Cutting large parts with one thing changed", ablation_table),
        ("branching", "Branching with one thing changed", ablation_table),
        ("afterwards", "Branching after the deletions", ablation_table),
        ("cutting again", "Cutting before and after the second deletions", ablation_table),
        ("large again", "Large parts before and after the second deletions", ablation_table),
        ("branching again", "Branching before and after the second deletions", ablation_table),
        ("steel", "Where dynamic programming is within reach", ablation_table),
        ("searching", "Order search with one thing changed", searching_table),
    ):
        if found["ablation"].get(section):
            parts.append(f"## {title}\n\n{table(found['ablation'][section])}")
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
    found: dict[str, dict[str, Record]] = {
        s: {} for s in ("proof", "roots", "anytime", "ablation", "tables", "before")
    }
    if path.exists():
        found |= json.loads(path.read_text())
    jobs: dict[str, tuple[tuple[str, ...], Callable[[str], Record]]] = {
        "proof": (tuple(KNOWN), lambda name: prove(name, options.limit)),
        "roots": (ROOTS, roots),
        "anytime": ((*tuple(KNOWN)[:11], *LATER_KNOWN), anytime),
        "tables": (TABLES, lambda name: from_table(name, options.limit)),
    }
    tables = {
        "cutting": CUTTING,
        "large parts": LARGE,
        "branching": BRANCHING,
        "searching": SEARCHING,
    }
    compile_kernels()
    for section in options.sections:
        if section in tables:
            known = found["ablation"].setdefault(section, {})
            if section != "searching" and not found["ablation"].get("selection"):
                found["ablation"]["selection"] = select()
                measure.write("optimise", found, report(found))
            for variant, changes in tables[section].items():
                if options.again or variant not in known:
                    print(f"{section} {variant} …", flush=True)
                    if section == "searching":
                        known[variant] = ablate_orders(changes)
                    else:
                        first = found["ablation"]["selection"]
                        chosen = selected(section, first)
                        known[variant] = ablate(variant, changes, chosen, first)
                    measure.write("optimise", found, report(found))
            continue
        names, job = jobs[section]
        for name in options.instances or names:
            if options.again or name not in found[section]:
                print(f"{section} {name} …", flush=True)
                found[section][name] = job(name)
                measure.write("optimise", found, report(found))
    measure.write("optimise", found, report(found))


if __name__ == "__main__":
    main()
