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

from typing import TYPE_CHECKING

import numpy as np

from parentage.kernels._options import INLINE, JIT, njit
from parentage.kernels.bits import U

if TYPE_CHECKING:
    from parentage.arrays import Floats, Ints, Words


@njit(**JIT)
def least(a: float, b: float) -> float:
    """Return the smaller of two prices."""
    return a if a < b else b


@njit(**JIT)
def least_of_subsets(row: Floats) -> None:
    """Replace ``row[S]`` by the least ``row[T]`` of the subsets T of S, in place.

    Three bits at once in registers, then two a pass: most of the time would go into moving data.
    """
    size = len(row)
    step = np.int64(1)
    if size >= 8:
        for s in range(U(0), U(size), U(8)):
            r0, r1, r2, r3 = row[s], row[s + U(1)], row[s + U(2)], row[s + U(3)]
            r4, r5, r6, r7 = row[s + U(4)], row[s + U(5)], row[s + U(6)], row[s + U(7)]
            r1, r3, r5, r7 = least(r0, r1), least(r2, r3), least(r4, r5), least(r6, r7)
            r2, r3, r6, r7 = least(r0, r2), least(r1, r3), least(r4, r6), least(r5, r7)
            row[s + U(1)], row[s + U(2)], row[s + U(3)] = r1, r2, r3
            row[s + U(4)], row[s + U(5)] = least(r0, r4), least(r1, r5)
            row[s + U(6)], row[s + U(7)] = least(r2, r6), least(r3, r7)
        step = np.int64(8)
    while 2 * step < size:
        for start in range(0, size, 4 * step):
            none, first = row[start : start + step], row[start + step : start + 2 * step]
            second = row[start + 2 * step : start + 3 * step]
            both = row[start + 3 * step : start + 4 * step]
            for j in range(step):
                a, c = none[j], second[j]
                b = least(a, first[j])
                first[j] = b
                second[j] = least(a, c)
                both[j] = least(b, least(c, both[j]))
        step *= 4
    if step < size:
        without, within = row[:step], row[step:]
        for j in range(step):
            within[j] = least(without[j], within[j])


@njit(**JIT)
def cheapest_inside(
    v: int, high: int, low_bits: int, offsets: Ints, masks: Words, price: Floats, row: Floats
) -> None:
    """Fill ``row[2^low_bits]``: the least price of a set of ``v`` inside each subset.

    ``masks[m]`` are the sets as bits, ``price[m]`` what they cost, cut by ``offsets[n + 1]``.
    """
    size = np.int64(1) << low_bits
    row[:] = np.inf
    low_mask = U(size - 1)
    absent = ~(U(high) << U(low_bits)) & ~low_mask
    for i in range(offsets[v], offsets[v + 1]):
        if masks[i] & absent == U(0):
            low = masks[i] & low_mask
            if price[i] < row[low]:
                row[low] = price[i]
    least_of_subsets(row)


@njit(**INLINE)
def take_sinks_of_eight(s: int, block: Floats, rows: Floats) -> None:
    """Finish the subsets ``s … s + 7`` of a block: sinks among the lowest three bits."""
    x, y, z = rows[0], rows[1], rows[2]
    b0 = block[s]
    b1 = least(block[s + U(1)], b0 + x[s + U(1)])
    b2 = least(block[s + U(2)], b0 + y[s + U(2)])
    b3 = least(block[s + U(3)], least(b2 + x[s + U(3)], b1 + y[s + U(3)]))
    b4 = least(block[s + U(4)], b0 + z[s + U(4)])
    b5 = least(block[s + U(5)], least(b4 + x[s + U(5)], b1 + z[s + U(5)]))
    b6 = least(block[s + U(6)], least(b4 + y[s + U(6)], b2 + z[s + U(6)]))
    last = least(b6 + x[s + U(7)], least(b5 + y[s + U(7)], b3 + z[s + U(7)]))
    block[s + U(1)], block[s + U(2)], block[s + U(3)] = b1, b2, b3
    block[s + U(4)], block[s + U(5)], block[s + U(6)] = b4, b5, b6
    block[s + U(7)] = least(block[s + U(7)], last)


@njit(**JIT)
def take_low_sinks(low_bits: int, block: Floats, rows: Floats) -> None:
    """Finish a block in which sinks among the high bits are taken: those among the low bits.

    Eight subsets at a time. With them some 2^b subsets in a row are finished, whose next bit
    is 0: they are what remains when that bit's variable is taken from the 2^b after them.
    """
    size = len(block)
    if size < 8:
        for j in range(size):
            for v in range(low_bits):
                if (j >> v) & 1:
                    trial = block[j ^ (np.int64(1) << v)] + rows[v, j]
                    block[j] = least(trial, block[j])
        return
    for eight in range(size >> 3):
        take_sinks_of_eight(U(eight) << U(3), block, rows)
        v = 3
        while (eight >> (v - 3)) & 1:
            v += 1
        if v < low_bits:
            end, length = (eight + 1) << 3, np.int64(1) << v
            rest, row = block[end - length : end], rows[v, end : end + length]
            following = block[end : end + length]
            for j in range(length):
                following[j] = least(following[j], rest[j] + row[j])


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
    """Fill ``best`` for all subsets with these high bits.

    ``rows[low_bits + 1, 2^low_bits]`` is scratch.
    """
    n = offsets.shape[0] - 1
    size = np.int64(1) << low_bits
    block = best[high << low_bits : (high << low_bits) + size]
    block[:] = np.inf
    if high == 0:
        block[0] = 0.0
    row = rows[low_bits]
    for v in range(low_bits, n):
        if (high >> (v - low_bits)) & 1:
            cheapest_inside(v, high, low_bits, offsets, masks, price, row)
            without = (high ^ (np.int64(1) << (v - low_bits))) << low_bits
            rest = best[without : without + size]
            for j in range(size):
                block[j] = least(block[j], rest[j] + row[j])
    for v in range(low_bits):
        cheapest_inside(v, high, low_bits, offsets, masks, price, rows[v])
    take_low_sinks(low_bits, block, rows)


def short_solve(highs, low_bits, offsets, masks, price, best, rows):
    """Return about how many microseconds the plain :func:`solve_blocks` takes."""
    n, size = len(offsets) - 1, 1 << low_bits
    return (n + low_bits) * low_bits * (20 + 0.01 * len(highs) * size) + 0.1 * len(highs) * len(
        masks
    )


@njit(work=short_solve, **JIT)
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


@solve_blocks.as_numpy
def _solve_blocks(highs, low_bits, offsets, masks, price, best, rows):
    n, size = len(offsets) - 1, 1 << low_bits
    table, low_mask = best.reshape(-1, size), U(size - 1)
    block = np.full((len(highs), size), np.inf)
    block[highs == 0, 0] = 0.0
    lows = []
    for v in range(n):
        here = np.arange(len(highs))
        if v >= low_bits:
            here = here[highs >> (v - low_bits) & 1 == 1]
        absent = ~(highs[here].astype(np.uint64) << U(low_bits)) & ~low_mask
        own = slice(offsets[v], offsets[v + 1])
        at, chosen = np.nonzero(masks[own] & absent[:, None] == U(0))
        row = np.full((len(here), size), np.inf)
        np.minimum.at(row, (at, masks[own][chosen] & low_mask), price[own][chosen])
        for b in range(low_bits):
            halves = row.reshape(-1, 2, 1 << b)
            np.minimum(halves[:, 1], halves[:, 0], out=halves[:, 1])
        if v < low_bits:
            lows.append(row)
        else:
            rest = table[highs[here] ^ (1 << (v - low_bits))]
            block[here] = np.minimum(block[here], rest + row)
    low = np.arange(size)
    sizes = sum(low >> b & 1 for b in range(low_bits))
    for layer in range(1, low_bits + 1):
        for v in range(low_bits):
            inside = low[(sizes == layer) & (low >> v & 1 == 1)]
            trial = block[:, inside ^ (1 << v)] + lows[v][:, inside]
            block[:, inside] = np.minimum(block[:, inside], trial)
    table[highs] = block
