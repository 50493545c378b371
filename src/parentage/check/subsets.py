"""The least cost of a part by dynamic programming over all subsets, in whole numbers.

best(T) = min over j in T of best(T without j) + the least cost of a set of j within T without j.
Subsets are taken in blocks that share their high bits: blocks in rising order, and within a block
by size, so that everything needed is there already. The last term is worked out per block, for all
children at once: the sets whose high bits lie in the block's are laid into a table by their low
bits, and minima are carried from every subset to its supersets, one low bit after the other. So
only best(T) itself is kept for all subsets, eight bytes each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parentage.check.cuts import size_layers
from parentage.check.records import ProofError

if TYPE_CHECKING:
    from parentage.check.whole import Ints

MOST_VARIABLES = 28
LOW = 13
"""Bits within a block."""

NEVER = 2**61
"""Cost of what is impossible."""


def needed_memory(n: int) -> int:
    """Bytes for ``n`` variables."""
    return 8 * ((1 << n) + 4 * (n << min(n, LOW)))


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
    needed = needed_memory(n)
    if needed > memory:
        raise ProofError(
            f"subsets: {n} variables need {needed / 1e9:.1f} GB, more than the "
            f"{memory / 1e9:.1f} GB allowed"
        )
    child = np.repeat(np.arange(n), [len(own) for own in masks])
    mask, cost = np.concatenate(masks), np.concatenate(costs)
    order = np.argsort(-cost, kind="stable")  # of two sets in one place the cheaper comes last
    return _best(n, child[order], mask[order], cost[order])


def _best(n: int, child: Ints, mask: Ints, cost: Ints) -> int:
    low = min(n, LOW)
    block = 1 << low
    best = np.full(1 << n, NEVER, np.int64)
    best[0] = 0
    layers = size_layers(low)
    place, above = child * block + (mask & (block - 1)), mask >> low
    within = np.empty((n, block), np.int64)
    for high in range(1 << (n - low)):
        inside = (above & ~high) == 0
        _least_within(within, place[inside], cost[inside])
        here = best[high << low : (high + 1) << low]
        for t in range(n - low):
            if high >> t & 1:
                before = high ^ (1 << t)
                step = best[before << low : (before + 1) << low] + within[low + t]
                np.minimum(here, step, out=here)
        for layer in layers:
            step = (here[layer.rest] + within[layer.member, layer.rest]).min(axis=1)
            here[layer.whole] = np.minimum(here[layer.whole], step)
        np.minimum(here, NEVER, out=here)
    return int(best[-1])


def _least_within(within: Ints, place: Ints, cost: Ints) -> None:
    """Fill ``within[child, subset of low bits]`` with the least cost of a set inside the subset.

    ``place`` has the index of each set in the flattened table, dear sets before cheap ones.
    """
    within.fill(NEVER)
    within.reshape(-1)[place] = cost
    for t in range(within.shape[1].bit_length() - 1):
        halves = within.reshape(len(within), -1, 2, 1 << t)
        np.minimum(halves[:, :, 1], halves[:, :, 0], out=halves[:, :, 1])
