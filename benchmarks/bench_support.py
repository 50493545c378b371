"""What it costs to know how sure each arc is, as multiples of one ``learn``.

One core, kernels compiled, reading excluded, CPU time. A *learn* is scoring and solving together.
Needs are all questions about all arcs: without the adjacency, and turned where it is compelled;
*nothing shared* solves each anew, without the best network and its cuts to begin from.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import measure
from bench_score import alarm, insurance
from parentage.arcs.need import Need, needs
from parentage.arcs.resampling import bootstrap
from parentage.arcs.support import learn_ground
from parentage.data.settings import Reading
from parentage.optimise.settings import Optimising
from parentage.scoring.settings import Scoring
from parentage.work.stop import Stop

if TYPE_CHECKING:
    from collections.abc import Callable

    from parentage.arcs.ground import Ground
    from parentage.arcs.records import Bootstrap
    from parentage.data.table import Table

REPLICATES = 200
TABLES: dict[str, Callable[[], Table]] = {
    "alarm, first 1000 rows": lambda: alarm(1000),
    "insurance, first 1000 rows": lambda: insurance(1000),
}


def learned(table: Table) -> Ground:
    """One learn, with what the questions begin from."""
    return learn_ground(
        table, Reading(), lambda *_: Scoring(), Optimising(), Stop(), threads=1
    )  # fmt: skip


def measured(name: str, table: Table) -> dict[str, Any]:
    """Learn once, ask everything, and check that everything is proven."""
    learned(table)  # compiled
    once, ground = measure.cpu(lambda: learned(table))
    arcs = ground.best.network.arcs
    needs(ground, arcs, Stop(), 1)
    shared, found = measure.cpu(lambda: needs(ground, arcs, Stop(), 1), repeat=1)
    bare = replace(ground, cuts=())
    apart, again = measure.cpu(lambda: needs(bare, arcs, Stop(), 1), repeat=1)
    assert found.keys() == again.keys()
    for question, need in found.items():
        assert need.most - need.least < 1e-6
        assert abs(need.least - again[question].least) < 1e-6
    drawn_in, drawn = measure.cpu(lambda: bootstrap(ground, REPLICATES, 0, Stop(), 1), repeat=1)
    assert drawn.proven == REPLICATES
    least = sorted(found.items(), key=lambda one: one[1].least)
    return {
        "table": name,
        "arcs": len(arcs),
        "questions": len(found),
        "weak": weak(ground, least, drawn),
        "seconds": {"learn": once, "needs": shared, "needs apart": apart, "bootstrap": drawn_in},
    }


def weak(ground: Ground, least: list[tuple[Any, Need]], drawn: Bootstrap) -> list[dict[str, Any]]:
    """The five adjacencies that are needed least, and their share of the replicates."""
    joined = {frozenset((pair.a, pair.b)): pair.adjacency for pair in drawn.pairs}
    asked = [(question, need) for question, need in least if question.about == "adjacency"]
    return [
        {
            "arc": f"{question.arc[0]} → {question.arc[1]}",
            "gain": ground.best.gains[question.arc],
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
        *(f"{seconds[part] / once:.1f} ×" for part in ("needs", "needs apart")),
        f"{seconds['bootstrap'] / once:.0f} ×",
    ]


def main() -> None:
    """Measure and write."""
    found = [measured(name, make()) for name, make in TABLES.items()]
    head = [
        "table", "one learn", "arcs", "needs of all arcs", "nothing shared",
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
