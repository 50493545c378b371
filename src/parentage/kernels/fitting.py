"""Which candidate set fits behind some variables: sets as bit masks, or as numbers of parents.

Two ways to hold the same ``m`` sets of ``n`` variables, told apart by their type:

``uint64[m, W]``  masks, one bit per variable: a set is inside others if no bit is outside;
``uint16[m, K]``  parents in a row, padded with ``n``: a set is inside if each of them is.

Masks are faster for few variables, numbers with hundreds, where a mask has many words and a set few
parents; regions (:mod:`parentage.kernels.regions`) take numbers alone. Everything in
:mod:`parentage.kernels.orders` is written in the functions here, once, and compiled for whichever
of the two it is given. ``before`` holds the variables in front of a position: ``uint64[W]``, or a
flag ``uint8[n + 1]`` per variable.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import overload

from parentage.kernels._options import JIT, njit

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Sets = npt.NDArray[Any]
"""Masks or numbers."""


def _are_masks(array: Any) -> bool:
    return bool(array.dtype == types.uint64)


@njit(**JIT)
def bit(v: int) -> np.uint64:
    """Return the bit of variable ``v`` within its word."""
    return np.uint64(1) << np.uint64(v & 63)


@njit(**JIT)
def holds(mask: Words, v: int) -> bool:
    """Whether variable ``v`` is in a mask."""
    return bool(mask[v >> 6] & bit(v))


def nobody(sets: Sets, n: int) -> Sets:
    """Return a ``before`` without any variable."""
    raise NotImplementedError("for kernels only")


@overload(nobody)
def _nobody(sets: Any, n: Any) -> Any:
    if _are_masks(sets):

        def no_bits(sets: Any, n: Any) -> Any:
            return np.zeros(sets.shape[1], np.uint64)

        return no_bits

    def no_flags(sets: Any, n: Any) -> Any:
        return np.zeros(n + 1, np.uint8)

    return no_flags


def include(before: Sets, v: int) -> None:
    """Put a variable in front."""
    raise NotImplementedError("for kernels only")


@overload(include)
def _include(before: Any, v: Any) -> Any:
    if _are_masks(before):

        def to_mask(before: Any, v: Any) -> Any:
            before[v >> 6] |= bit(v)

        return to_mask

    def to_flags(before: Any, v: Any) -> Any:
        before[v] = 1

    return to_flags


def exclude(before: Sets, v: int) -> None:
    """Take a variable from the front."""
    raise NotImplementedError("for kernels only")


@overload(exclude)
def _exclude(before: Any, v: Any) -> Any:
    if _are_masks(before):

        def from_mask(before: Any, v: Any) -> Any:
            before[v >> 6] &= ~bit(v)

        return from_mask

    def from_flags(before: Any, v: Any) -> Any:
        before[v] = 0

    return from_flags


def uses(sets: Sets, i: int, v: int) -> bool:
    """Whether variable ``v`` is in set ``i``."""
    raise NotImplementedError("for kernels only")


@overload(uses)
def _uses(sets: Any, i: Any, v: Any) -> Any:
    if _are_masks(sets):

        def in_mask(sets: Any, i: Any, v: Any) -> Any:
            return bool(sets[i, v >> 6] & bit(v))

        return in_mask

    def among_numbers(sets: Any, i: Any, v: Any) -> Any:
        for j in range(sets.shape[1]):
            if sets[i, j] == v:
                return True
        return False

    return among_numbers


def first_fit(sets: Sets, low: int, high: int, before: Sets, work: Ints) -> int:
    """Return the first set of ``low … high − 1`` inside ``before``, or ``high``."""
    raise NotImplementedError("for kernels only")


@overload(first_fit)
def _first_fit(sets: Any, low: Any, high: Any, before: Any, work: Any) -> Any:
    if _are_masks(sets):

        def by_masks(sets: Any, low: Any, high: Any, before: Any, work: Any) -> Any:
            i = low
            while i < high:
                outside = np.uint64(0)
                for w in range(before.shape[0]):
                    outside |= sets[i, w] & ~before[w]
                if outside == np.uint64(0):
                    break
                i += 1
            work[0] += i - low + 1
            return i

        return by_masks

    def by_numbers(sets: Any, low: Any, high: Any, before: Any, work: Any) -> Any:
        n, width = before.shape[0] - 1, sets.shape[1]
        i = low
        while i < high:
            j = 0
            while j < width and before[sets[i, j]]:
                j += 1
            if j == width or sets[i, j] == n:
                break
            i += 1
        work[0] += i - low + 1
        return i

    return by_numbers
