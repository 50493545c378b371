"""Kernels of the dynamic programme over subsets of variables.

``best[S]`` is the least price of a network on the variables ``S`` alone (Silander and Myllymäki,
UAI 2006): the last variable of an order, a sink, takes its cheapest set inside the rest,

    best[S] = min over v in S of best[S \\ v] + cheapest(v, S \\ v).

Subsets are numbers of ``n`` bits, cut into ``high`` and ``low`` bits: for one value of the high
bits, ``cheapest(v, ·)`` over all low bits is one row, filled by a minimum-over-subsets transform.
So no table but ``best[2^n]`` is kept. Blocks whose high parts have equally many bits are
independent of each other.

Prices are whole numbers; :data:`NONE` means that there is no such network.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from parentage.kernels._options import JIT

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

NONE = np.int64(1) << np.int64(61)
"""The price of what does not exist; the sum of two still fits."""


@njit(**JIT)
def cheapest_inside(
    v: int, high: int, low_bits: int, offsets: Ints, masks: Words, price: Ints, row: Ints
) -> None:
    """Fill ``row[2^low_bits]``: the least price of a set of ``v`` inside each subset."""
    size = np.int64(1) << low_bits
    row[:] = NONE
    absent = ~(np.uint64(high) << np.uint64(low_bits)) & ~np.uint64(size - 1)
    for i in range(offsets[v], offsets[v + 1]):
        if masks[i] & absent == np.uint64(0):
            low = np.int64(masks[i] & np.uint64(size - 1))
            row[low] = min(row[low], price[i])
    step = np.int64(1)
    while step < size:
        for start in range(0, size, 2 * step):
            for j in range(start, start + step):
                row[j + step] = min(row[j], row[j + step])
        step *= 2


@njit(**JIT)
def solve_block(
    high: int,
    low_bits: int,
    offsets: Ints,
    masks: Words,
    price: Ints,
    best: Ints,
    rows: Ints,
) -> None:
    """Fill ``best`` for all subsets with these high bits; ``rows[n, 2^low_bits]`` is scratch."""
    n = offsets.shape[0] - 1
    size = np.int64(1) << low_bits
    start = np.int64(high) << low_bits
    block = best[start : start + size]
    block[:] = NONE
    if high == 0:
        block[0] = 0
    for v in range(n):
        if v < low_bits or (high >> (v - low_bits)) & 1:
            cheapest_inside(v, high, low_bits, offsets, masks, price, rows[v])
    for v in range(low_bits, n):
        if (high >> (v - low_bits)) & 1:
            without = (np.int64(high) ^ (np.int64(1) << (v - low_bits))) << low_bits
            for j in range(size):
                block[j] = min(block[j], best[without + j] + rows[v, j])
    for j in range(size):
        least = block[j]
        for v in range(low_bits):
            if (j >> v) & 1:
                least = min(least, block[j ^ (np.int64(1) << v)] + rows[v, j])
        block[j] = least


@njit(**JIT)
def solve_blocks(
    highs: Ints,
    low_bits: int,
    offsets: Ints,
    masks: Words,
    price: Ints,
    best: Ints,
    rows: Ints,
) -> None:
    """Fill ``best[2^n]`` for several blocks, one after the other."""
    for k in range(highs.shape[0]):
        solve_block(highs[k], low_bits, offsets, masks, price, best, rows)
