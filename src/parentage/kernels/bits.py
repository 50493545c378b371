"""Bits in 64-bit words: the operations that counting and hashing rest on."""

from __future__ import annotations

from typing import Any

import numpy as np

from parentage.kernels._options import INLINE, JIT, Kernel, njit

U = np.uint64
SPREAD = U(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio, odd


def _one_instruction() -> Any:
    """Return what Numba makes of :func:`popcount`."""
    from numba import types
    from numba.extending import intrinsic

    def popcount(typing: Any, x: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.ctpop(args[0])

        return types.uint64(types.uint64), generate

    return intrinsic(popcount)


def _popcount(x):
    """Return the number of set bits of a ``uint64``: one machine instruction."""
    return U(int(x).bit_count())


popcount = Kernel(_popcount, {}, make=_one_instruction)


@njit(wraps=True, **JIT)
def mixed(z):
    """Return a number that looks random, another one for every ``uint64`` (splitmix64)."""
    z = (z ^ (z >> U(30))) * U(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> U(27))) * U(0x94D049BB133111EB)
    return z ^ (z >> U(31))


@njit(**INLINE)
def swap_quadrants(a, distance, mask):
    """Exchange the off-diagonal halves of every ``2·distance`` square block of a bit matrix."""
    shift = U(distance)
    for block in range(0, 64, 2 * distance):
        for k in range(block, block + distance):
            high = a[k]
            low = a[k + distance]
            t = ((high >> shift) ^ low) & mask
            a[k] = high ^ (t << shift)
            a[k + distance] = low ^ t


@njit(**JIT)
def transpose(a):
    """Transpose a 64 × 64 bit matrix in place: bit ``j`` of word ``i`` moves to bit ``i`` of ``j``.

    Six rounds of exchanging quadrants, sub-quadrants and so on down to single bits.
    """
    swap_quadrants(a, 32, U(0x00000000FFFFFFFF))
    swap_quadrants(a, 16, U(0x0000FFFF0000FFFF))
    swap_quadrants(a, 8, U(0x00FF00FF00FF00FF))
    swap_quadrants(a, 4, U(0x0F0F0F0F0F0F0F0F))
    swap_quadrants(a, 2, U(0x3333333333333333))
    swap_quadrants(a, 1, U(0x5555555555555555))
