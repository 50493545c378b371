"""Other programs on the same rows: score, prediction, distance to the truth, CPU seconds.

``python benchmarks/bench_peers.py [NETWORK …] [--again]``

Rows are drawn from public networks that the PyPI package ``pgmpy`` ships; columns are shuffled,
since their order may be that of the arcs. Every program runs in a process of its own, on one core,
with limited CPU time and memory; reading, compiling and drawing are excluded. What a program
returns is judged here, the same way for all: BIC from the rows alone, log-likelihood of rows that
were not learned from, and the distance to the network that the rows were drawn from.
A program that reaches a limit is recorded with that limit; after the time limit it is not started
on networks with more variables. BOSS and GRaSP are those of ``causal-learn`` (``pip install
causal-learn``), whose only score for categories is BDeu, with a prior on arcs; the others maximise
BIC, and ours is run with both. Results are written as they come.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import measure
import parentage
from parentage.network.formats import read_parameters

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from parentage.data.table import Table

ROWS, HELD_OUT = 1_000, 10_000
LIMIT = 600
"""CPU seconds for each program."""
SHORT = 60.0
"""CPU seconds below which a run is repeated."""
MEMORY = 10 << 30
"""Bytes that each program may allocate."""
EFFORT = {"andes": 15.0, "pigs": 30.0, "link": 60.0}
"""Effort for our lists where complete ones are out of reach."""
NETWORKS = ("asia", "alarm", "hailfinder", "hepar2", "win95pts", *EFFORT)
RESULT = measure.RESULTS / "peers.json"

Parents = dict[str, list[str]]


class Drawn(NamedTuple):
    """Rows of a network: to learn from, to predict, and the network itself."""

    learned: Table
    held_out: Table
    truth: parentage.Network


def drawn(name: str) -> Drawn:
    """Draw rows; held-out ones with a state that was not learned from are left out."""
    folder = Path(importlib.import_module("pgmpy.utils").__file__ or "").parent
    with tempfile.TemporaryDirectory() as place:
        plain = Path(place) / f"{name}.bif"
        packed = (folder / "example_models" / f"{name}.bif.gz").read_bytes()
        plain.write_bytes(gzip.decompress(packed))
        model = read_parameters(plain)
    rows = model.sample(ROWS + HELD_OUT, seed=0)
    first = np.arange(rows.n_rows) < ROWS
    codes = np.asarray(rows.to_codes())
    known = np.array(
        [np.isin(column, column[:ROWS]) for column in codes],
    ).all(axis=0)
    names = np.random.default_rng(0).permutation(rows.names).tolist()
    learned = rows.chosen_rows(first).observed().select(names)
    return Drawn(learned, rows.chosen_rows(~first & known).select(names), model.network)


def columns(table: Table) -> dict[str, npt.NDArray[Any]]:
    """State numbers by variable, without constant columns."""
    codes = np.asarray(table.to_codes())
    return {
        name: codes[v].astype(np.int64)
        for v, name in enumerate(table.names)
        if name not in table.constant
    }


def ours(table: Table, program: str, name: str) -> tuple[Parents, bool]:
    """Learn as a user would; where complete lists are out of reach, with an effort."""
    effort = EFFORT.get(name)
    advanced = None if effort is None else parentage.Advanced(complete=2, effort=effort)
    found = parentage.learn(table, score=OURS[program], threads=1, memory=MEMORY, advanced=advanced)
    return found.network.to_dict(), found.optimal


def pyagrum(table: Table) -> Parents:
    """Tabu search of pyAgrum with BIC."""
    import pandas as pd

    gum: Any = importlib.import_module("pyagrum")
    values = {name: codes.astype(str) for name, codes in columns(table).items()}
    learner = gum.BNLearner(pd.DataFrame(values))
    learner.useScoreBIC()
    learner.useLocalSearchWithTabuList()
    names = learner.names()
    return of_arcs(table, ((names[tail], names[head]) for tail, head in learner.learnDAG().arcs()))


def pgmpy(table: Table) -> Parents:
    """Hill climbing of pgmpy with BIC."""
    import pandas as pd

    discovery: Any = importlib.import_module("pgmpy.causal_discovery")
    values = pd.DataFrame({n: codes.astype(str) for n, codes in columns(table).items()})
    search = discovery.HillClimbSearch(
        scoring_method="bic-d", return_type="dag", show_progress=False
    )
    return of_arcs(table, search.fit(values.astype("category")).causal_graph_.edges())


def permutations(module: str, function: str) -> Callable[[Table], Parents]:
    """BOSS or GRaSP of causal-learn with BDeu; one network of the class that it returns."""

    def search(table: Table) -> Parents:
        package: Any = importlib.import_module(f"causallearn.search.PermutationBased.{module}")
        extension: Any = importlib.import_module("causallearn.utils.PDAG2DAG")
        own = columns(table)
        names = list(own)
        found = getattr(package, function)(
            np.column_stack(list(own.values())), "local_score_BDeu", verbose=False, node_names=names
        )
        marks = extension.pdag2dag(found).graph
        heads, tails = np.nonzero((marks == 1) & (marks.T == -1))
        return of_arcs(table, ((names[t], names[h]) for t, h in zip(tails, heads, strict=True)))

    return search


def of_arcs(table: Table, arcs: Any) -> Parents:
    """Parents of every variable of a table."""
    parents: Parents = {name: [] for name in table.names}
    for tail, head in arcs:
        parents[head].append(tail)
    return parents


OTHERS: dict[str, Callable[[Table], Parents]] = {
    "pyAgrum tabu": pyagrum,
    "pgmpy hill climbing": pgmpy,
    "causal-learn BOSS": permutations("BOSS", "boss"),
    "causal-learn GRaSP": permutations("GRaSP", "grasp"),
}
OURS = {"parentage": "bic", "parentage, BDeu": "bdeu"}
PROGRAMS = (*OURS, *OTHERS)


def run(program: str, name: str) -> dict[str, Any]:
    """Learn here, with limits on this process."""
    table = drawn(name).learned
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # threads that wait burn CPU time
    random.seed(0)  # BOSS and GRaSP shuffle
    if program in OURS:
        parentage.learn(table.select(table.names[:20]).head(200))  # kernels are loaded
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    began = time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (int(began) + LIMIT, resource.RLIM_INFINITY))
    if program in OURS:
        parents, proven = ours(table, program, name)
    else:
        parents, proven = OTHERS[program](table), False
    spent = time.process_time() - began
    return {"parents": parents, "proven": proven, "cpu": round(spent, 2),
            "memory_mb": round(measure.peak_memory_mb())}  # fmt: skip


def measured(program: str, name: str, drawn: Drawn) -> dict[str, Any]:
    """Run a program in processes of its own and judge what it returns.

    What is short is run twice and the second time counts: kernels are compiled by then.
    """
    found = answer(program, name)
    if found.get("cpu", SHORT) < SHORT:
        found = answer(program, name)
    return judged(found.pop("parents"), drawn) | found if "parents" in found else found


def answer(program: str, name: str) -> dict[str, Any]:
    """Return the network that a program finds and what it used, or the limit that it reached."""
    asked = [sys.executable, "-W", "ignore", __file__, name, "--run", program]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    if done.returncode == -signal.SIGXCPU:
        return {"limit": "CPU seconds", "at": LIMIT}
    if done.returncode:
        if "MemoryError" in done.stderr:
            return {"limit": "GB", "at": MEMORY >> 30}
        raise RuntimeError(f"{program} on {name}: {done.returncode} {done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def judged(parents: Parents, drawn: Drawn) -> dict[str, Any]:
    """BIC from the rows alone, prediction of held-out rows, distance to the truth."""
    table = drawn.learned
    network = parentage.Network.from_parents({name: parents[name] for name in table.names})
    held = network.fit(table).log_likelihoods(drawn.held_out)
    return {
        "bic": round(float(bic(table, parents)), 2),
        "held_out": round(float(held.mean()), 3),
        "distance": network.compare(drawn.truth).shd,
        "arcs": network.n_arcs,
    }


def bic(table: Table, parents: Parents) -> float:
    """Score a network from the rows alone: no kernel of ours, and none of theirs."""
    total, half = 0.0, np.log(table.n_rows) / 2
    codes = np.asarray(table.to_codes()).astype(np.int64)
    for child, above in parents.items():
        label, states = np.zeros(table.n_rows, np.int64), 1
        for v in map(table.index, above):
            label = np.unique(label * len(table.states[v]) + codes[v], return_inverse=True)[1]
            states *= int(table.cardinalities[v])
        v = table.index(child)
        joint = np.bincount(label * len(table.states[v]) + codes[v])
        joint, alone = joint[joint > 0], np.bincount(label)
        total += float((joint * np.log(joint)).sum() - (alone * np.log(alone)).sum())
        total -= half * (int(table.cardinalities[v]) - 1) * states
    return total


def too_slow(known: dict[str, Any], program: str, variables: int) -> int | None:
    """Return the smallest network, in variables, on which a program reached the time limit.

    None if there is none with fewer variables than given; otherwise the program is not started.
    """
    slow = [
        own["variables"]
        for own in known.values()
        if own["programs"].get(program, {}).get("limit") == "CPU seconds"
    ]
    return min((size for size in slow if size < variables), default=None)


def missing(known: dict[str, Any], program: str, name: str) -> str:
    """Say why there is no network of a program; empty if there is one."""
    found = known[name]["programs"].get(program)
    if found is None:
        slow = too_slow(known, program, known[name]["variables"])
        return f"not run: did not finish with {slow} variables" if slow else "not run"
    words = {"CPU seconds": "no network in {} s", "GB": "needs more than {} GB"}
    return words[found["limit"]].format(found["at"]) if "limit" in found else ""


def recorded() -> dict[str, Any]:
    """Return what is known already, with an entry for every network."""
    found: dict[str, Any] = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    for name in NETWORKS:
        if name not in found:
            found[name] = {"variables": len(drawn(name).truth.names), "programs": {}}
    return found


def page(known: dict[str, Any]) -> str:
    """Lay out the results."""
    head = ["network", "variables", "program", "BIC", "below ours", "held-out", "distance",
            "CPU s", "memory MB"]  # fmt: skip
    rows = [row(known, name, program) for name in NETWORKS for program in PROGRAMS]
    return "\n\n".join(
        [
            "# Other programs on the same rows",
            "How close networks of parentage and of four other learners come to the network that "
            f"the rows were drawn from, and how well they predict. `python "
            f"benchmarks/bench_peers.py`: {ROWS:,} rows of public networks (not those of "
            f"scale.md), columns shuffled; every program on one core, at most {LIMIT} CPU s and "
            f"{MEMORY >> 30} GB (parentage is told the memory limit); compiling and reading "
            f"excluded. On {', '.join(EFFORT)}, where complete lists are out of reach, parentage "
            "lists sets of up to 2 parents completely and expands the lists with a fixed effort "
            f"({', '.join(f'{effort:.0f}' for effort in EFFORT.values())}). A row without a "
            "network names the limit that the program reached; after the time limit it was not "
            "started on networks with more variables. Rows that "
            "are recorded are not measured again, so not all are of one day or version.",
            f"*Held-out*: mean log-likelihood of up to {HELD_OUT:,} other rows, probabilities with "
            "the same smoothing for all. "
            "*Distance*: structural Hamming distance to the true network, the number of arcs that "
            "are added, missing or reversed. It counts reversed arcs even if both directions are "
            "equivalent, so it differs between networks of one equivalence class. "
            "BOSS and GRaSP maximise BDeu, the others BIC; parentage was run with both (BDeu with "
            "an equivalent sample size of 1, causal-learn with its default). BIC charges for every "
            "parameter, BDeu hardly for those of joint states that never occur, so networks that "
            "maximise BDeu can have a far lower BIC (hailfinder); held-out likelihood and distance "
            "do not depend on the score used. **Proven**: no network scores higher.",
            measure.markdown(head, rows),
            "## When another program serves you better",
            "From the table above, and only from it: where another program is ahead of every run "
            "of parentage on that network.",
            better(known),
        ]
    )


def row(known: dict[str, Any], name: str, program: str) -> list[str]:
    """Lay out one program on one network."""
    programs = known[name]["programs"]
    first = [name, str(known[name]["variables"]), program]
    if why := missing(known, program, name):
        return [*first, why, "", "", "", "", ""]
    found, mine = programs[program], programs.get("parentage", {})
    below = (
        "" if program == "parentage" or "bic" not in mine else f"{mine['bic'] - found['bic']:,.1f}"
    )
    proven = " **proven**" if found["proven"] else ""
    return [
        *first, f"{found['bic']:,.1f}{proven}", below, f"{found['held_out']:.3f}",
        f"{found['distance']:,}", f"{found['cpu']:,.1f}", f"{found['memory_mb']:,}",
    ]  # fmt: skip


def better(known: dict[str, Any]) -> str:
    """Say where another program is faster, predicts better or is closer to the truth."""
    kinds: tuple[tuple[str, Callable[[Any, Any], bool]], ...] = (
        ("Faster", lambda a, b: a["cpu"] < b["cpu"]),
        ("Predicts held-out rows better", lambda a, b: a["held_out"] > b["held_out"]),
        ("Closer to the true network", lambda a, b: a["distance"] < b["distance"]),
        ("Higher BIC", lambda a, b: a["bic"] > b["bic"] + 0.01),
    )
    lines = []
    for words, ahead in kinds:
        where = {
            program: [name for name in NETWORKS if ahead_of_ours(known, name, program, ahead)]
            for program in OTHERS
        }
        listed = [f"{program} on {', '.join(names)}" for program, names in where.items() if names]
        lines.append(f"- {words}: {'; '.join(listed) or 'none'}")
    return "\n".join(lines)


def ahead_of_ours(
    known: dict[str, Any], name: str, program: str, ahead: Callable[[Any, Any], bool]
) -> bool:
    """Whether a program that returned a network is ahead of all of ours that did."""
    found = known[name]["programs"]
    mine = [found[own] for own in OURS if not missing(known, own, name)]
    return not missing(known, program, name) and all(ahead(found[program], one) for one in mine)


def main() -> None:
    """Measure what is not recorded yet, and write the page after every program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", help="names; all by default")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--run", help="one program here, and print what it returns")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.run:
        print(json.dumps(run(asked.run, asked.networks[0])))
        return
    for name in asked.networks or NETWORKS:
        rows = drawn(name)
        for program in PROGRAMS:
            known = recorded()
            own = known[name]
            if program in own["programs"] and not asked.again:
                continue
            if too_slow(known, program, own["variables"]) is None:
                own["programs"][program] = measured(program, name, rows)
                print(name, program, own["programs"][program], flush=True)
            measure.write("peers", known, page(known))


if __name__ == "__main__":
    main()
