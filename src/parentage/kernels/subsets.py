r"""Kernels of the dynamic programme over subsets of variables.

``best[S]`` is the least price of a network on the variables ``S`` alone (Silander and Myllymäki,
UAI 2006): the last variable of an order, a sink, takes its cheapest set inside the rest,

    best[S] = min over v in S of best[S \ v] + cheapest(v, S \ v).

Subsets are numbers of ``n`` bits, cut into high and low bits: for one value of the high bits,
``cheapest(v, ·)`` over all low bits is one row, filled by a minimum-over-subsets transform. So
no table but ``best[2^n]`` is kept. Blocks whose high parts have equally many bits do not depend
on each other.

Prices are whole numbers held in float64 (sums below 2^53 are exact, and minima of floats use
vector instructions); infinity means that there is no such network.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from parentage.kernels._options import JIT, njit

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]


@njit(**JIT)
def cheapest_inside(
    v: int, high: int, low_bits: int, offsets: Ints, masks: Words, price: Floats, row: Floats
) -> None:
    """Fill ``row[2^low_bits]``: the least price of a set of ``v`` inside each subset.

    ``masks[m]`` are the sets as bits, ``price[m]`` what they cost, cut by ``offsets[n + 1]``.
    """
    size = np.int64(1) << low_bits
    row[:] = np.inf
    low_mask = np.uint64(size - 1)
    absent = ~(np.uint64(high) << np.uint64(low_bits)) & ~low_mask
    for i in range(offsets[v], offsets[v + 1]):
        if masks[i] & absent == np.uint64(0):
            low = masks[i] & low_mask
            if price[i] < row[low]:
                row[low] = price[i]
    step = np.int64(1)
    while step < size:
        for start in range(0, size, 2 * step):
            without, within = row[start : start + step], row[start + step : start + 2 * step]
            for j in range(step):
                within[j] = without[j] if without[j] < within[j] else within[j]
        step *= 2


@njit(**JIT)
def solve_block(
    high: int,
    low_bits: int,
    offsets: Ints,
    masks: Words,
    price: Floats,
    best: Floats,
    rows: Floats,
) -> None:
    """Fill ``best`` for all subsets with these high bits; ``rows[n, 2^low_bits]`` is scratch."""
    n = offsets.shape[0] - 1
    size = np.int64(1) << low_bits
    block = best[high << low_bits : (high << low_bits) + size]
    block[:] = np.inf
    if high == 0:
        block[0] = 0.0
    for v in range(n):
        if v < low_bits or (high >> (v - low_bits)) & 1:
            cheapest_inside(v, high, low_bits, offsets, masks, price, rows[v])
    for v in range(low_bits, n):
        if (high >> (v - low_bits)) & 1:
            without = (high ^ (np.int64(1) << (v - low_bits))) << low_bits
            rest, row = best[without : without + size], rows[v]
            for j in range(size):
                trial = rest[j] + row[j]
                block[j] = trial if trial < block[j] else block[j]
    for j in range(size):
        least = block[j]
        for v in range(low_bits):
            if (j >> v) & 1:
                trial = block[j ^ (np.int64(1) << v)] + rows[v, j]
                if trial < least:
                    least = trial
        block[j] = least


@njit(**JIT)
def solve_blocks(
    highs: Ints,
    low_bits: int,
    offsets: Ints,
    masks: Words,
    price: Floats,
    best: Floats,
    rows: Floats,
) -> None:
    """Fill ``best[2^n]`` for several blocks, one after the other."""
    for k in range(highs.shape[0]):
        solve_block(highs[k], low_bits, offsets, masks, price, best, rows)
