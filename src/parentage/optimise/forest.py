"""At most one parent each: the best network is a cheapest forest, found at once and exactly.

When no candidate set of a part has more than one parent in it, choosing sets without a cycle is
Edmonds' problem of a cheapest branching (Chow and Liu 1968 for trees of dependence). Prices are
whole numbers, so ties are ties and go to fewer arcs. For larger sets the forest of the small ones
is a good order to start from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parentage.network.network import topological_order
from parentage.optimise.cuts import Sets
from parentage.optimise.orders import OrderSpace, climb_from
from parentage.optimise.subsets import whole_prices

if TYPE_CHECKING:
    from parentage.optimise.problem import Ints, Problem
    from parentage.optimise.run import Part

PHASE = "forest"


def is_forest(problem: Problem) -> bool:
    """Whether every set has at most one parent."""
    sets = Sets.of(problem)
    return bool((np.diff(sets.starts) <= 1).all())


def solve_forest(part: Part) -> None:
    """Solve a part whose sets have at most one parent."""
    price, quantum = whole_prices(part.problem, part.cost)
    choice = best_forest(part.problem, price.astype(np.int64))
    if choice is None:
        raise AssertionError("a part without a forest reached the search")
    part.offer(choice, PHASE, PHASE)
    part.prove(PHASE, PHASE, fewest_arcs=part.problem.n * quantum <= part.run.rounding)


def start_from_forest(part: Part) -> None:
    """Climb from an order of the best forest, if the small sets have one."""
    price, _ = whole_prices(part.problem, part.cost)
    choice = best_forest(part.problem, price.astype(np.int64))
    if choice is None:
        return
    sets = Sets.of(part.problem)
    parents = [sets.parents[sets.starts[i] : sets.starts[i + 1]].tolist() for i in choice]
    names = [str(v) for v in part.problem.variables]
    order = topological_order(names, parents)
    climb_from(part, OrderSpace.of(part.problem), np.array(order, np.int64))


def best_forest(problem: Problem, price: Ints) -> Ints | None:
    """Return the sets of the cheapest forest; None if the sets of one parent have none."""
    from parentage.kernels.forest import NONE, cheapest_forest

    n, sets = problem.n, Sets.of(problem)
    sizes = np.diff(sets.starts)
    small = np.flatnonzero(sizes <= 1)[::-1]
    tail = np.full(problem.m, n)
    tail[sizes == 1] = sets.parents[sets.starts[:-1][sizes == 1]]
    child = problem.child
    matrix = np.full((n + 1, n + 1), int(NONE))
    which = np.full((n + 1, n + 1), -1, np.int64)
    which[tail[small], child[small]] = small
    matrix[tail[small], child[small]] = price[small]
    parent = np.empty(n, np.int64)
    if not _reachable(which >= 0):
        return None
    cheapest_forest(matrix, parent)
    return which[parent, np.arange(n)]


def _reachable(arcs: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> bool:
    """Whether the root, the last node, reaches all others."""
    reached = arcs[-1].copy()
    reached[-1] = True
    while True:
        more = reached | arcs[reached].any(axis=0)
        if (more == reached).all():
            return bool(reached.all())
        reached = more
