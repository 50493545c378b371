"""Other programs on the same rows: score, prediction, distance to the truth, CPU seconds.

``python benchmarks/bench_peers.py [NETWORK …] [--again]``

Rows are drawn from public networks that the PyPI package ``pgmpy`` ships; columns are shuffled,
since their order may be that of the arcs. Every program runs in a process of its own, on one core,
with limited CPU time; reading, compiling and drawing are excluded. What a program returns is judged
here, the same way for all: BIC from the rows alone, log-likelihood of rows that were not learned
from, and the distance to the equivalence class of the network that was drawn from. BOSS and GRaSP
are those of ``causal-learn`` (``pip install causal-learn``), whose only score for categories is
BDeu, with a prior on arcs; the others maximise BIC, and ours is run with both. Results are kept as
they come.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import os
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
    found = parentage.learn(table, score=OURS[program], threads=1, advanced=advanced)
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
    if program in OURS:
        parentage.learn(table.select(table.names[:20]).head(200))  # kernels are loaded
    else:
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
    return found if "why" in found else judged(found.pop("parents"), drawn) | found


def answer(program: str, name: str) -> dict[str, Any]:
    """Return the network that a program finds and what it used, or why there is none."""
    asked = [sys.executable, "-W", "ignore", __file__, name, "--run", program]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    if done.returncode == -signal.SIGXCPU:
        return {"why": f"no result in {LIMIT} CPU s"}
    if done.returncode:
        if "MemoryError" in done.stderr.strip().splitlines()[-1]:
            return {"why": f"more than {MEMORY >> 30} GB"}
        raise RuntimeError(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def judged(parents: Parents, drawn: Drawn) -> dict[str, Any]:
    """BIC from the rows alone, prediction of held-out rows, distance to the true class."""
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


def gave_up(known: dict[str, Any], program: str, variables: int) -> dict[str, Any] | None:
    """Say on which smaller network a program came to no end; it is not run again then."""
    for name in NETWORKS:
        own = known.get(name, {"variables": variables, "programs": {}})
        if own["variables"] < variables and "why" in own["programs"].get(program, {}):
            return {"why": f"not run: no result on {name}"}
    return None


def recorded() -> dict[str, Any]:
    """What is known already."""
    found: dict[str, Any] = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    return found


def page(known: dict[str, Any]) -> str:
    """Lay out the results."""
    head = ["network", "variables", "program", "BIC", "below ours", "held-out", "distance",
            "CPU s", "memory MB"]  # fmt: skip
    rows = [
        row(name, known[name], program)
        for name in NETWORKS
        if name in known
        for program in PROGRAMS
        if program in known[name]["programs"]
    ]
    return "\n\n".join(
        [
            "# Other programs on the same rows",
            "How close networks of parentage and of four other learners come to the network that "
            f"the rows were drawn from, and how well they predict. `python "
            f"benchmarks/bench_peers.py`: {ROWS:,} rows of public networks (not those of "
            f"scale.md), columns shuffled; every program on one core, at most {LIMIT} CPU s and "
            f"{MEMORY >> 30} GB; compiling and reading excluded. *Held-out*: mean log-likelihood "
            f"of {HELD_OUT:,} other rows, probabilities with the same smoothing for all. "
            "*Distance*: structural Hamming distance to the equivalence class of the true network. "
            "BOSS and GRaSP maximise BDeu, the others BIC; parentage was run with both (BDeu with "
            "an equivalent sample size of 1, causal-learn with its default). BIC charges for every "
            "parameter, BDeu hardly for those of joint states that never occur, so networks that "
            "maximise BDeu can have a far lower BIC (hailfinder); held-out likelihood and distance "
            "do not depend on the score used. Only runs that returned a network within the limits "
            "are recorded, proven (**proven**: no network scores higher) or not.",
            measure.markdown(head, rows),
            "## When another program serves you better",
            "From the table above, and only from it: where another program is ahead of every run "
            "of parentage on that network.",
            *better(known),
        ]
    )


def row(name: str, own: dict[str, Any], program: str) -> list[str]:
    """One program on one network."""
    found, mine = own["programs"][program], own["programs"].get("parentage", {})
    first = [name, str(own["variables"]), program]
    if "why" in found:
        return [*first, found["why"], "", "", "", "", ""]
    below = (
        "" if program == "parentage" or "bic" not in mine else f"{mine['bic'] - found['bic']:,.1f}"
    )
    proven = " **proven**" if found["proven"] else ""
    return [
        *first, f"{found['bic']:,.1f}{proven}", below, f"{found['held_out']:.3f}",
        f"{found['distance']}", f"{found['cpu']:,.1f}", f"{found['memory_mb']:,}",
    ]  # fmt: skip


def better(known: dict[str, Any]) -> list[str]:
    """Say where another program is faster, predicts better or is nearer to the truth."""
    kinds = (
        ("Faster", lambda a, b: a["cpu"] < b["cpu"]),
        ("Predicts held-out rows better", lambda a, b: a["held_out"] > b["held_out"]),
        ("Closer to the true network", lambda a, b: a["distance"] < b["distance"]),
        ("Higher BIC", lambda a, b: a["bic"] > b["bic"] + 0.01),
    )
    lines = []
    for words, ahead in kinds:
        where = [
            f"{program} on {name}"
            for name in NETWORKS
            for program in OTHERS
            if ahead_of_ours(known.get(name), program, ahead)
        ]
        lines.append(f"- {words}: {', '.join(where) if where else 'none'}")
    return ["\n".join(lines)]


def ahead_of_ours(
    own: dict[str, Any] | None, program: str, ahead: Callable[[Any, Any], bool]
) -> bool:
    """Whether a program that came to an end is ahead of ours."""
    programs = {} if own is None else own["programs"]
    theirs, mine = (
        [programs[one] for one in ran if "why" not in programs.get(one, {"why": ""})]
        for ran in ((program,), OURS)
    )
    return bool(theirs and mine) and all(ahead(theirs[0], one) for one in mine)


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
            own = known.setdefault(name, {"variables": len(rows.truth.names), "programs": {}})
            if program in own["programs"] and not asked.again:
                continue
            smaller = gave_up(known, program, own["variables"])
            own["programs"][program] = smaller or measured(program, name, rows)
            print(name, program, own["programs"][program], flush=True)
            measure.write("peers", known, page(known))


if __name__ == "__main__":
    main()
