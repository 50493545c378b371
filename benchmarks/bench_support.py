"""What it costs to know how sure each arc is, as multiples of one ``learn``.

One core, kernels compiled, reading excluded, CPU time. A *learn* is scoring and solving together.
Needs are all questions about all arcs: without the adjacency, and turned where it is compelled;
*one need, from scratch* solves anew, without the best network and its cuts to begin from, for the
first few arcs, and is scaled.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import measure
from bench_score import alarm, insurance
from parentage import pipeline
from parentage.arcs.need import ArcQuestion, Need, needs, solve_changed
from parentage.arcs.resampling import bootstrap
from parentage.arcs.support import learn_baseline
from parentage.optimise import optimise_lists
from parentage.optimise.settings import Optimising
from parentage.scoring.constraints import Constraints
from parentage.scoring.settings import Scoring
from parentage.work.context import Context
from parentage.work.stop import Stop

if TYPE_CHECKING:
    from collections.abc import Callable

    from parentage.arcs.records import Baseline, Bootstrap
    from parentage.data.table import Table
    from parentage.scoring.constraints import Arc

REPLICATES = 200
FEW = 8
TABLES: dict[str, Callable[[], Table]] = {
    "alarm, first 1000 rows": lambda: alarm(1000),
    "insurance, first 1000 rows": lambda: insurance(1000),
}


def learned(table: Table) -> Baseline:
    """One learn, with what the questions begin from."""
    return learn_baseline(table, pipeline.Asked(lambda *_: Scoring(), Optimising()), Context())


def measured(name: str, table: Table) -> dict[str, Any]:
    """Learn once, ask everything, and check that everything is proven."""
    learned(table)  # compiled
    once, baseline = measure.cpu(lambda: learned(table))
    arcs = baseline.best.network.arcs
    shared, found = measure.cpu(lambda: needs(baseline, arcs, Context()), repeat=1)
    assert all(need.most - need.least < 1e-6 for need in found.values())
    few = [arc for arc in arcs if ArcQuestion(arc, "adjacency") in found][:FEW]
    near, _ = measure.cpu(lambda: [solve_changed(baseline, q, Stop()) for q in asked_of(few)], 1)
    apart, again = measure.cpu(lambda: [solved_anew(baseline, arc) for arc in few], repeat=1)
    for arc, score in zip(few, again, strict=True):
        assert abs(baseline.best.score - score - found[ArcQuestion(arc, "adjacency")].least) < 1e-6
    drawn_in, drawn = measure.cpu(lambda: bootstrap(baseline, REPLICATES, 0, Context()), repeat=1)
    assert drawn.proven == REPLICATES
    least = sorted(found.items(), key=lambda one: one[1].least)
    return {
        "table": name,
        "arcs": len(arcs),
        "questions": len(found),
        "weak": weak(baseline, least, drawn),
        "seconds": {
            "learn": once,
            "needs": shared,
            "one need": near / len(few),
            "one need apart": apart / len(few),
            "bootstrap": drawn_in,
        },
    }


def asked_of(arcs: list[Arc]) -> list[ArcQuestion]:
    """The questions about adjacency."""
    return [ArcQuestion(arc, "adjacency") for arc in arcs]


def solved_anew(baseline: Baseline, arc: Arc) -> float:
    """The best score without an adjacency, found from nothing but the lists."""
    change = Constraints(forbidden=frozenset({arc, arc[::-1]}))
    found = optimise_lists(baseline.lists, Optimising(), Context(), constraints=change)
    assert found.optimal
    return found.score


def weak(
    baseline: Baseline, least: list[tuple[Any, Need]], drawn: Bootstrap
) -> list[dict[str, Any]]:
    """The five adjacencies that are needed least, and their share of the replicates."""
    joined = {frozenset((pair.a, pair.b)): pair.adjacency for pair in drawn.pairs}
    asked = [(question, need) for question, need in least if question.about == "adjacency"]
    return [
        {
            "arc": f"{question.arc[0]} → {question.arc[1]}",
            "gain": baseline.best.gains[question.arc],
            "need": need.least,
            "adjacency": joined.get(frozenset(question.arc), 0.0),
        }
        for question, need in asked[:5]
    ]


def cost_row(one: dict[str, Any]) -> list[str]:
    """One table's costs."""
    seconds = one["seconds"]
    once = seconds["learn"]
    return [
        one["table"],
        f"{once:.2f} s",
        f"{one['arcs']}",
        f"{seconds['needs'] / once:.1f} ×",
        *(f"{seconds[part] / once:.2f} ×" for part in ("one need", "one need apart")),
        f"{seconds['bootstrap'] / once:.0f} ×",
    ]


def main() -> None:
    """Measure and write; with arguments only tables that begin so, beside what is there."""
    path = measure.RESULTS / "support.json"
    new = {
        name: measured(name, make())
        for name, make in TABLES.items()
        if not sys.argv[1:] or any(name.startswith(start) for start in sys.argv[1:])
    }
    before = json.loads(path.read_text())["tables"] if path.exists() else []
    known = {one["table"]: one for one in before} | new
    found = [known[name] for name in TABLES if name in known]
    head = [
        "table", "one learn", "arcs", "needs of all arcs", "one need", "one need, from scratch",
        f"{REPLICATES} replicates",
    ]  # fmt: skip
    parts = [
        "# Support\n",
        "One core, kernels compiled, reading excluded, CPU time; made by `python "
        "benchmarks/bench_support.py`. Multiples of one `learn`, scoring included. Every need and "
        "every replicate is proven.\n",
        "## Cost\n",
        measure.markdown(head, [cost_row(one) for one in found]),
        "",
        "## The arcs that are needed least\n",
        "Gain: the child keeps its other parents. Need: everything else adapts. Adjacency: share "
        f"of {REPLICATES} replicates.\n",
    ]
    rows = [
        [one["table"], arc["arc"], f"{arc['gain']:.2f}", f"{arc['need']:.2f}",
         f"{arc['adjacency']:.0%}"]
        for one in found for arc in one["weak"]
    ]  # fmt: skip
    parts.append(measure.markdown(["table", "arc", "gain", "need", "adjacency"], rows))
    measure.write("support", {"tables": found}, "\n".join(parts))


if __name__ == "__main__":
    main()
