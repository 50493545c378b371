"""Exact engines without cuts: dynamic programming over subsets, and cheapest forests.

*Subsets* is the sure way for small parts: time and memory grow as 2^n whatever the scores are
(Silander and Myllymäki, UAI 2006; the recurrence is in :mod:`parentage.kernels.subsets`).

*Forest.* When no candidate set of a part has more than one parent in it, choosing sets without a
cycle is Edmonds' problem of a cheapest branching (Chow and Liu 1968 for trees of dependence).

Costs become whole numbers first, so that sums are exact, ties really are ties, and they go to
fewer arcs.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from parentage.errors import Way
from parentage.work.memory import available_memory, require_memory

if TYPE_CHECKING:
    from collections.abc import Callable

    from parentage.arrays import Floats, Ints
    from parentage.optimise.problem import Problem
    from parentage.optimise.run import Part

SUBSETS, FOREST = "subsets", "forest"
EXACT_BITS = 52
"""Whole numbers of this many bits add without rounding in float64."""

MOST_BITS = 14
"""A block has at most this many bits, so that its rows stay in the cache."""

SLICE = 1 << 22
"""Subsets a thread works on before it looks at the clock."""


def solve_subsets(part: Part, *, anyway: bool = False) -> None:
    """Solve a part to proof, or leave it as it was when the run is stopped.

    ``anyway`` only an interrupt stops it.
    """
    problem = part.problem
    check_memory(problem, part.run.threads)
    price, quantum = whole_prices(problem, part.cost)

    def pause() -> bool:
        part.tick(SUBSETS)
        return part.run.stop.cancelled.is_set() if anyway else part.stopped()

    best = subset_table(problem, price, part.run.threads, pause)
    if best is None:
        return
    part.counted.subsets += len(best)
    fewest_arcs = problem.n * quantum <= part.run.rounding
    part.solved(read_choice(problem, price, best), SUBSETS, fewest_arcs=fewest_arcs)


def memory_of_subsets(n: int, threads: int = 1) -> int:
    """Bytes the table and the scratch rows take for ``n`` variables."""
    return 8 * (1 << n) + threads * 8 * (MOST_BITS + 1) * (1 << min(n, MOST_BITS))


def check_memory(problem: Problem, threads: int) -> None:
    """Refuse a part whose table does not fit into memory."""
    require_memory(
        memory_of_subsets(problem.n, threads),
        f"dynamic programming over the subsets of {problem.n} variables",
        Way("engine", "auto"),
        Way("engine", "branch-and-cut"),
    )


def work_of_subsets(n: int) -> float:
    """Return the work of ``n`` variables: five halves of a step for every subset and member.

    >>> work_of_subsets(4), work_of_subsets(2000)
    (160.0, inf)
    """
    return 5 * n * 2.0 ** (n - 1) if n < 1000 else math.inf


def fits(problem: Problem, threads: int) -> bool:
    """Whether the table takes at most a quarter of the memory that is free."""
    return 4 * memory_of_subsets(problem.n, threads) <= available_memory()


def whole_prices(problem: Problem, known: float) -> tuple[Floats, float]:
    """Return costs as whole numbers in float64, and what one unit is worth.

    Sums are exact up to ``known``, the cost of a network in hand. Sets that cost more than that
    alone may all get the same price, which is above it: so every price is below 2^53.
    """
    most = float(np.maximum.reduceat(problem.cost, problem.offsets[:-1]).sum())
    most = min(most, known + 1.0)
    quantum = 2.0 ** (math.frexp(max(most, 1.0))[1] - EXACT_BITS)
    return np.minimum(np.rint(problem.cost / quantum), 2.0**EXACT_BITS), quantum


def low_bits(problem: Problem) -> int:
    """Choose how many bits a block has: few make sets be looked at often, many leave the cache."""
    n, m = problem.n, problem.m

    def work(bits: int) -> float:
        return float(2.0 ** (n - bits) * m + 2.0**n * (n * bits / 16 + bits))

    return min(range(1, min(n, MOST_BITS) + 1), key=work)


def subset_table(
    problem: Problem, price: Floats, threads: int = 1, pause: Callable[[], bool] | None = None
) -> Floats | None:
    """Return ``best[2^n]``, the least price of a network on every subset.

    ``pause`` is called now and then; when it returns True, the answer is None.
    """
    from parentage.kernels.subsets import solve_blocks

    n, bits = problem.n, low_bits(problem)
    best = np.empty(1 << n)
    masks = np.ascontiguousarray(problem.masks[:, 0])
    highs = np.arange(1 << (n - bits), dtype=np.int64)
    layers = sum((highs >> b) & 1 for b in range(n - bits)) + np.zeros_like(highs)
    rows = [np.empty((bits + 1, 1 << bits)) for _ in range(threads)]

    def solve(blocks: Ints, scratch: Floats) -> None:
        solve_blocks(blocks, bits, problem.offsets, masks, price, best, scratch)

    with ThreadPoolExecutor(threads) as pool:
        for layer in range(n - bits + 1):
            waiting = highs[layers == layer]
            step = max(1, SLICE >> bits)
            for start in range(0, len(waiting), step * threads):
                if pause is not None and pause():
                    return None
                shares = np.array_split(waiting[start : start + step * threads], threads)
                list(pool.map(solve, shares, rows))
    return best


def read_choice(problem: Problem, price: Floats, best: Floats) -> Ints:
    """Walk the table back from all variables to none; return the set of every variable."""
    choice = np.zeros(problem.n, np.int64)
    inside = (1 << problem.n) - 1
    while inside:
        sink, chosen = _cheapest_sink(problem, price, best, inside)
        choice[sink] = chosen
        inside ^= 1 << sink
    return choice


def _cheapest_sink(problem: Problem, price: Floats, best: Floats, inside: int) -> tuple[int, int]:
    """Find the variable to take from a subset, and its set."""
    for v in range(problem.n):
        if not inside >> v & 1:
            continue
        rest = inside ^ (1 << v)
        low, high = problem.offsets[v], problem.offsets[v + 1]
        fits = (problem.masks[low:high, 0] & ~np.uint64(rest)) == 0
        if not fits.any():
            continue
        chosen = int(low) + int(np.argmin(np.where(fits, price[low:high], np.inf)))
        if best[rest] + price[chosen] == best[inside]:
            return v, chosen
    raise AssertionError(
        "internal error, please report it: no choice of a child gives the best score of its subset"
    )


def exact_rises(problem: Problem) -> tuple[float, Floats]:
    """Return the least cost of a network, and ``float64[m]``: how far each set lifts it.

    A network with a set Π of v has an order in which some S ⊇ Π stands before v: it costs what S
    costs at least, and the set, and what is least for all others after S and v. Rises of several
    sets do not add up, as those of a Lagrangian bound do: they say which sets to leave out.
    """
    n, subsets = problem.n, np.arange(1 << problem.n)
    child, masks = problem.child, problem.masks[:, 0].astype(np.int64)
    cheapest = np.full((n, 1 << n), np.inf)  # least cost of a set of v within S
    np.minimum.at(cheapest, (child, masks), problem.cost)
    for b in range(n):
        halves = cheapest.reshape(n, -1, 2, 1 << b)
        np.minimum(halves[:, :, 1], halves[:, :, 0], out=halves[:, :, 1])
    before, after = np.full(1 << n, np.inf), np.full(1 << n, np.inf)  # of S, of all others after S
    before[0] = after[-1] = 0.0
    sizes = sum((subsets >> v) & 1 for v in range(n))
    layers = [subsets[sizes == size] for size in range(n + 1)]
    for layer in layers:
        for v in range(n):
            front = layer[(layer >> v) & 1 == 0]
            added = before[front] + cheapest[v, front]
            before[front | 1 << v] = np.minimum(before[front | 1 << v], added)
    for layer in reversed(layers):
        for v in range(n):
            front = layer[(layer >> v) & 1 == 0]
            added = cheapest[v, front] + after[front | 1 << v]
            after[front] = np.minimum(after[front], added)
    bound = float(before[-1])
    if np.isinf(bound):  # the sets have no network
        return bound, np.full(problem.m, np.inf)
    others = np.full((n, 1 << n), np.inf)  # least cost of all but v where v comes after S or more
    for v in range(n):
        front = subsets[(subsets >> v) & 1 == 0]
        others[v, front] = before[front] + after[front | 1 << v]
    for b in range(n):
        halves = others.reshape(n, -1, 2, 1 << b)
        np.minimum(halves[:, :, 0], halves[:, :, 1], out=halves[:, :, 0])
    rise: Floats = problem.cost + others[child, masks] - bound
    return bound, rise


def is_forest(problem: Problem) -> bool:
    """Whether every set has at most one parent."""
    return bool((np.diff(problem.members.starts) <= 1).all())


def solve_forest(part: Part) -> None:
    """Solve a part whose sets have at most one parent."""
    price, quantum = whole_prices(part.problem, part.cost)
    choice = best_forest(part.problem, price.astype(np.int64))
    part.solved(choice, FOREST, fewest_arcs=part.problem.n * quantum <= part.run.rounding)


def best_forest(problem: Problem, price: Ints) -> Ints:
    """Return the sets of the cheapest forest; there is one, since every part has a network."""
    from parentage.kernels.digraph import NONE, cheapest_forest

    n, (_, starts, parents) = problem.n, problem.members
    tail = np.full(problem.m, n)
    tail[np.diff(starts) == 1] = parents
    child, backwards = problem.child, np.arange(problem.m)[::-1]  # so that the first set stays
    into = np.full((n, n + 1), int(NONE))
    which = np.full((n, n + 1), -1, np.int32)
    which[child[backwards], tail[backwards]] = backwards
    into[child[backwards], tail[backwards]] = price[backwards]
    parent = np.empty(n, np.int64)
    cheapest_forest(into, parent)
    return which[np.arange(n), parent].astype(np.int64)
