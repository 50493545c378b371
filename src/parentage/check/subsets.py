"""The least cost of a part by dynamic programming over all subsets, in whole numbers.

best(T) = min over j in T of best(T without j) + the least cost of a set of j within T without j.
The last term is kept as a rank in the child's costs, 2^(n−1) ranks per child. Subsets are taken
in blocks that share their high bits: blocks in rising order, and within a block by size, so
that everything needed is there already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from parentage.check.cuts import size_layers
from parentage.check.records import ProofError

if TYPE_CHECKING:
    from parentage.check.whole import Ints

MOST_VARIABLES = 28
LOW = 13
"""Bits within a block."""

NEVER = 2**61
"""Cost of what is impossible."""

Ranks = npt.NDArray[np.unsignedinteger[Any]]


def needed_memory(n: int, most_sets: int) -> int:
    """Bytes for ``n`` variables with at most so many sets each."""
    return n * (1 << (n - 1)) * _rank_type(most_sets).itemsize + 9 * (1 << n)


def least_cost(masks: list[Ints], costs: list[Ints], memory: float) -> int:
    """Return the least cost of an acyclic choice, :data:`NEVER` or more if there is none.

    ``masks[j]`` are the sets of variable ``j`` as bits, ``costs[j]`` their costs.

    Raises
    ------
    ProofError
        More variables, or more memory, than possible.
    """
    n = len(masks)
    if n > MOST_VARIABLES:
        raise ProofError(f"subsets: {n} variables, at most {MOST_VARIABLES} are possible")
    needed = needed_memory(n, max(map(len, masks)))
    if needed > memory:
        raise ProofError(
            f"subsets: {n} variables need {needed / 1e9:.1f} GB, more than the "
            f"{memory / 1e9:.1f} GB allowed"
        )
    by_rank = []
    ranks = []
    for j in range(n):
        order = np.argsort(costs[j], kind="stable")
        by_rank.append(np.append(costs[j][order], NEVER))
        ranks.append(_rank_table(n, j, masks[j][order]))
    return _best(n, ranks, by_rank)


def _rank_type(most_sets: int) -> np.dtype[np.unsignedinteger[Any]]:
    for kind in (np.uint8, np.uint16):
        if most_sets < np.iinfo(kind).max:
            return np.dtype(kind)
    return np.dtype(np.uint32)


def _rank_table(n: int, j: int, masks: Ints) -> Ranks:
    """``[2^(n−1)]``: the rank of the cheapest set of ``j`` within each subset of the others."""
    table = np.full(1 << (n - 1), len(masks), _rank_type(len(masks)))
    np.minimum.at(table, _without(masks, j), np.arange(len(masks), dtype=table.dtype))
    for t in range(n - 1):
        halves = table.reshape(-1, 2, 1 << t)
        np.minimum(halves[:, 1], halves[:, 0], out=halves[:, 1])
    return table


def _without(masks: Ints, j: int) -> Ints:
    """Close the gap that bit ``j`` leaves in masks that do not have it."""
    return (masks & ((1 << j) - 1)) | ((masks >> (j + 1)) << j)


def _best(n: int, ranks: list[Ranks], by_rank: list[Ints]) -> int:
    low = min(n, LOW)
    block = 1 << low
    best = np.full(1 << n, NEVER, np.int64)
    best[0] = 0
    layers = size_layers(low)
    inside = np.arange(block)
    gap = [_without(inside & ~(1 << j), j) for j in range(low)]
    costs = np.empty((low, block), np.int64)
    for high in range(1 << (n - low)):
        here = best[high << low : (high + 1) << low]
        for t in range(n - low):
            if high >> t & 1:
                before = high ^ (1 << t)
                short = ((before & ((1 << t) - 1)) | ((before >> (t + 1)) << t)) << low
                own = by_rank[low + t][ranks[low + t][short : short + block]]
                np.minimum(here, best[before << low : (before + 1) << low] + own, out=here)
        half = block >> 1
        for j in range(low):
            own = by_rank[j][ranks[j][high * half : (high + 1) * half]]
            costs[j] = own[gap[j]]
        for layer in layers:
            step = (here[layer.rest] + costs[layer.member, layer.rest]).min(axis=1)
            here[layer.whole] = np.minimum(here[layer.whole], np.minimum(step, NEVER))
        np.minimum(here, NEVER, out=here)
    return int(best[-1])
