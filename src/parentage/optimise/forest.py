"""At most one parent each: the best network is a cheapest forest, found at once and exactly.

When no candidate set of a part has more than one parent in it, choosing sets without a cycle is
Edmonds' problem of a cheapest branching (Chow and Liu 1968 for trees of dependence). Prices are
whole numbers, so ties are ties and go to fewer arcs. For larger sets the forest of the small ones
is a good order to start from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parentage.optimise.cuts import Sets
from parentage.optimise.orders import OrderSpace, climb_from, order_of_choice
from parentage.optimise.subsets import whole_prices
from parentage.work.memory import room_within

if TYPE_CHECKING:
    import numpy.typing as npt

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
    part.solved(choice, PHASE, fewest_arcs=part.problem.n * quantum <= part.run.rounding)


def start_from_forest(part: Part) -> None:
    """Climb from an order of the best forest, if the small sets have one and memory allows it."""
    room = room_within(part.run.stop.memory)
    if room is not None and memory_of_forest(part.problem.n) > room:
        return
    price, _ = whole_prices(part.problem, part.cost)
    choice = best_forest(part.problem, price.astype(np.int64))
    if choice is not None:
        climb_from(part, OrderSpace.of(part.problem), order_of_choice(part.problem, choice))


def memory_of_forest(n: int) -> int:
    """Bytes that finding the best forest takes: for every pair a price, its set and its head."""
    return 20 * n * (n + 1)


def best_forest(problem: Problem, price: Ints) -> Ints | None:
    """Return the sets of the cheapest forest; None if the sets of one parent have none."""
    from parentage.kernels.forest import NONE, cheapest_forest

    n, sets = problem.n, Sets.of(problem)
    sizes = np.diff(sets.starts)
    small = np.flatnonzero(sizes <= 1)[::-1]
    tail = np.full(problem.m, n)
    tail[sizes == 1] = sets.parents[sets.starts[:-1][sizes == 1]]
    child = problem.child
    into = np.full((n, n + 1), int(NONE))
    which = np.full((n, n + 1), -1, np.int32)
    which[child[small], tail[small]] = small
    into[child[small], tail[small]] = price[small]
    if not all_reachable(which >= 0):
        return None
    parent = np.empty(n, np.int64)
    cheapest_forest(into, parent)
    return which[np.arange(n), parent].astype(np.int64)


def all_reachable(arcs: npt.NDArray[np.bool_]) -> bool:
    """Whether all heads, the rows, can be reached from the last tail, the root.

    >>> all_reachable(np.array([[False, False, True], [True, False, False]]))
    True
    >>> all_reachable(np.array([[False, True, False], [True, False, False]]))
    False
    """
    waiting, reached = [arcs.shape[1] - 1], np.zeros(len(arcs), np.bool_)
    while waiting:
        new = np.flatnonzero(arcs[:, waiting.pop()] & ~reached)
        reached[new] = True
        waiting.extend(new.tolist())
    return bool(reached.all())
