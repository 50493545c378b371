"""Regions: how near to the best network a climb from a random order ends, with and without them.

``python benchmarks/bench_regions.py [ORDERS]``

Lists of more than 100 variables from the shared folder, and the best networks that
``bench_optimise.py`` knows of them. Every order is climbed by insertions alone, then by insertions
and regions (:mod:`parentage.kernels.regions`), in one process on one thread; CPU seconds, medians.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from typing import Any

import numpy as np

import measure
from parentage.optimise.orders import climb_order
from parentage.optimise.problem import OrderSpace, prepare
from parentage.scoring.formats import read_lists

INSTANCES = (
    "slim_pathfinder-5000.jkl",
    "slim_munin1-5000.jkl",
    "slim_diabetes-5000.jkl",
    "slim_pigs-5000.jkl",
    "slim_link-5000.jkl",
)


def climbs(space: OrderSpace, orders: int, regions: bool) -> tuple[list[float], list[float]]:
    """Climb from random orders; return what the networks cost, and CPU seconds."""
    n = len(space.offsets) - 1
    costs, seconds = [], []
    for seed in range(-1, orders):  # the first compiles
        order = np.random.default_rng(max(seed, 0)).permutation(n)
        began = time.process_time()
        climb_order(space, order, np.array([seed + 1], np.uint64), lambda: False, regions=regions)
        if seed >= 0:
            seconds.append(time.process_time() - began)
            costs.append(float(space.cost[space.fit(order)].sum()))
    return costs, seconds


def measured(name: str, best: float, orders: int) -> dict[str, Any]:
    """Compare both ways on the lists of one instance."""
    lists = read_lists(measure.shared() / "data" / "instances" / name)
    problem = prepare(lists)
    top = sum(max(score for score, _ in lists.candidates(v)) for v in range(lists.n_variables))
    space, least = OrderSpace.of(problem), top - best
    found: dict[str, Any] = {"variables": problem.n, "sets": problem.m}
    for key, regions in (("insertions", False), ("regions", True)):
        costs, seconds = climbs(space, orders, regions)
        found[key] = {
            "behind": statistics.median(costs) - least,
            "nearest": min(costs) - least,
            "cpu": statistics.median(seconds),
        }
    return found


def main() -> None:
    """Measure, and write the results."""
    orders = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    known = json.loads((measure.RESULTS / "optimise.json").read_text())["proof"]
    found = {name: measured(name, known[name]["score"], orders) for name in INSTANCES}
    head = ["instance", "variables", "sets", "insertions", "nearest", "CPU s", "and regions"]
    rows = [
        [
            f"`{name}`", f"{own['variables']}", f"{own['sets']:,}",
            *(
                text
                for way in (own["insertions"], own["regions"])
                for text in (f"{way['behind']:.1f}", f"{way['nearest']:.1f}", f"{way['cpu']:.3f}")
            ),
        ]
        for name, own in found.items()
    ]  # fmt: skip
    text = "\n\n".join(
        [
            "# Regions",
            f"`python benchmarks/bench_regions.py`: climbs from {orders} random orders: "
            "nats behind the best network known, in the median and for the "
            "nearest, and CPU seconds of a climb, by insertions alone and with regions of up to "
            "10 variables.",
            "## Climbs",
            measure.markdown([*head, "nearest", "CPU s"], rows),
        ]
    )
    measure.write("regions", found, text)


if __name__ == "__main__":
    main()
