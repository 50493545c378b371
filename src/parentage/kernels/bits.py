"""Bits in 64-bit words: the operations that counting and hashing rest on."""

from __future__ import annotations

import functools
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


LANES = 8
"""Adjacent words that are counted together: those of the largest vector registers there are."""


@functools.cache
def _lanes() -> Any:
    """Return Numba's type of ``LANES`` numbers that are kept in one register, a vector of LLVM."""
    from llvmlite import ir
    from numba import types
    from numba.extending import models, register_model

    class Lanes(types.Type):
        def __init__(self) -> None:
            super().__init__(name="Lanes")

    class InRegister(models.PrimitiveModel):
        def __init__(self, manager: Any, kind: Any) -> None:
            super().__init__(manager, kind, ir.VectorType(ir.IntType(64), LANES))

    register_model(Lanes)(InRegister)
    return Lanes()


def _place(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Return the address of the lanes ``array[at : at + LANES]``, the first two arguments."""
    data = context.make_array(signature.args[0])(context, builder, args[0]).data
    vector = context.get_value_type(_lanes())
    return builder.bitcast(builder.gep(data, [args[1]]), vector.as_pointer())


def _one_load() -> Any:
    """Return what Numba makes of :func:`lanes_at`."""
    from numba import types
    from numba.extending import intrinsic

    def lanes_at(typing: Any, array: Any, at: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.load(_place(context, builder, signature, args), align=8)

        return _lanes()(array, types.uint64), generate

    return intrinsic(lanes_at)


def _lanes_at(array, at):
    """Return ``array[at : at + LANES]``."""
    return array[at : at + LANES].astype(np.uint64)


def _one_store() -> Any:
    """Return what Numba makes of :func:`put_lanes`."""
    from numba import types
    from numba.extending import intrinsic

    def put_lanes(typing: Any, array: Any, at: Any, lanes: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            builder.store(args[2], _place(context, builder, signature, args), align=8)
            return context.get_dummy_value()

        return types.void(array, types.uint64, lanes), generate

    return intrinsic(put_lanes)


def _put_lanes(array, at, lanes):
    """Set ``array[at : at + LANES]``."""
    array[at : at + LANES] = lanes


def _one_difference() -> Any:
    """Return what Numba makes of :func:`less_lanes`."""
    from numba.extending import intrinsic

    def less_lanes(typing: Any, lanes: Any, others: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.sub(*args)

        return _lanes()(lanes, others), generate

    return intrinsic(less_lanes)


def _less_lanes(lanes, others):
    """Return the differences, lane by lane."""
    return lanes - others


def _some_instructions() -> Any:
    """Return what Numba makes of :func:`plus_rows`."""
    from llvmlite import ir
    from numba import types
    from numba.core.cgutils import get_or_insert_function
    from numba.extending import intrinsic

    def plus_rows(typing: Any, bits: Any, at: Any, mask: Any, shift: Any, lanes: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            vector = context.get_value_type(_lanes())
            nothing, number = ir.Constant(vector, ir.Undefined), ir.IntType(32)
            first = ir.Constant(ir.VectorType(number, LANES), [0] * LANES)

            def in_all_lanes(word: Any) -> Any:
                one = builder.insert_element(nothing, word, ir.Constant(number, 0))
                return builder.shuffle_vector(one, nothing, first)

            words = builder.load(_place(context, builder, signature, args), align=8)
            count = get_or_insert_function(
                builder.module, ir.FunctionType(vector, [vector]), f"llvm.ctpop.v{LANES}i64"
            )
            rows = builder.call(count, [builder.and_(words, in_all_lanes(args[2]))])
            return builder.add(args[4], builder.shl(rows, in_all_lanes(args[3])))

        word = types.uint64
        return _lanes()(bits, word, word, word, lanes), generate

    return intrinsic(plus_rows)


def _plus_rows(bits, at, mask, shift, lanes):
    """Return lanes plus ``popcount(bits[at + lane] & mask) << shift``: four instructions."""
    rows = [int(word & mask).bit_count() << int(shift) for word in bits[at : at + LANES]]
    return lanes + np.array(rows, np.uint64)


lanes_at = Kernel(_lanes_at, {}, make=_one_load)
put_lanes = Kernel(_put_lanes, {}, make=_one_store)
less_lanes = Kernel(_less_lanes, {}, make=_one_difference)
plus_rows = Kernel(_plus_rows, {}, make=_some_instructions)


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
