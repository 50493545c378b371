"""Small groups, counted by the subsets of their rows that agree: a part of counting.

:mod:`parentage.kernels.counting` has the whole idea and the names of the arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.kernels._options import INLINE, JIT, njit
from parentage.kernels.bits import U, popcount

SMALL = 6  # groups of at most this many rows are counted by the subsets of rows that agree


class Agreements(NamedTuple):
    """The subsets T of rows within small groups, and on which variables the rows of each agree.

    T of one size follow each other, and in ``agree`` fill whole words.
    """

    n_subsets: npt.NDArray[np.int64]
    """``[size]``: how many there are."""
    common: npt.NDArray[np.uint64]
    """``[T, block]``: the states that all rows of T share; for one size at a time."""
    numbers: npt.NDArray[np.uint32]
    """``[T]``: 0, 1, 2 …, the rows of ``common`` when they are packed."""
    weight: npt.NDArray[np.int64]
    """``[row, size]``: what T counts for each f, see :func:`newton_weights`."""
    start: npt.NDArray[np.int64]
    """``[size]``: the words of the T of this size start here."""
    agree: npt.NDArray[np.uint64]
    """``[word * breadth + position]``: bit per T; ``breadth`` variables are behind the stem."""
    one_start: npt.NDArray[np.int64]
    """``[size]``: where this size starts among the words that are left below *one*."""
    one_word: npt.NDArray[np.int64]
    """``[k]``: a word that is left, times ``breadth``."""
    one_mask: npt.NDArray[np.uint64]
    """``[k]``: the T in it that agree on *one*."""


@njit(**INLINE)
def room_for_agreements(f, n_rows, row_words):
    """Return :class:`Agreements` of nothing; a row is ``row_words`` words."""
    small = min(SMALL, n_rows)
    weight = np.empty((len(f), small + 1), np.int64)
    for row in range(len(f)):
        newton_weights(f[row], small, weight[row])
    return Agreements(
        np.empty(small + 2, np.int64),
        np.empty((1, row_words), np.uint64),
        np.zeros(1, np.uint32),
        weight,
        np.empty(small + 2, np.int64),
        np.empty(1, np.uint64),
        np.empty(small + 2, np.int64),
        np.empty(1, np.int64),
        np.empty(1, np.uint64),
    )


@njit(**INLINE)
def more_agreements(agreements, most, breadth, spare):
    """Set where each size starts; return the agreements with room for ``most`` T of one size.

    ``spare`` columns behind the last of ``breadth`` are swept over.
    """
    n_subsets, common, numbers, weight, start, agree, one_start, one_word, one_mask = agreements
    if len(numbers) < most:
        common = np.empty((2 * most, common.shape[1]), np.uint64)
        numbers = np.empty(2 * most, np.uint32)
        for k in range(2 * most):
            numbers[k] = k
    words = np.int64(0)
    sizes = weight.shape[1]
    for t in range(2, sizes):
        start[t] = words
        words += (n_subsets[t] + 63) >> 6
    start[sizes] = words
    if len(agree) < words * breadth + spare:
        agree = np.empty(2 * (words * breadth + spare), np.uint64)
    if len(one_word) < words:
        one_word = np.empty(2 * words, np.int64)
        one_mask = np.empty(2 * words, np.uint64)
    return Agreements(
        n_subsets, common, numbers, weight, start, agree, one_start, one_word, one_mask
    )


@njit(**JIT)
def newton_weights(f, most, weight):
    """Set ``weight[t]`` to the t-th forward difference of f at 0, for t ≤ ``most``.

    Then f(c) = Σ_t C(c, t)·weight[t] exactly, for all c ≤ ``most``.
    """
    difference = np.empty(most + 1, np.int64)
    for c in range(most + 1):
        difference[c] = f[c]
    for t in range(most + 1):
        weight[t] = difference[0]
        for c in range(most - t):
            difference[c] = difference[c + 1] - difference[c]


@njit(**JIT)
def choose(m, t):
    """Return the binomial coefficient of two small numbers."""
    product = np.int64(1)
    for i in range(t):
        product = product * (m - i) // (i + 1)
    return product


@njit(**JIT)
def count_subsets(heights, small, n_subsets):
    """Set ``n_subsets[t]`` to the number of t-subsets of rows within groups of ≤ ``small`` rows.

    Returns the largest of these numbers.
    """
    for t in range(len(n_subsets)):
        n_subsets[t] = 0
    for g in range(len(heights)):
        height = heights[g]
        if height <= small:
            for t in range(2, height + 1):
                n_subsets[t] += choose(height, t)
    most = np.int64(0)
    for t in range(2, small + 1):
        most = max(most, n_subsets[t])
    return most


@njit(**JIT)
def intersect_subsets(groups, small, t, blocks, row_bits, common):
    """Write ``common[T, block]``, the states that all t rows of T share, for every t-subset T."""
    rows, starts, heights, repeats = groups
    members = np.empty(small, np.uint32)
    end = 0
    for g in range(len(starts) - 1):
        height = heights[g]
        if height > small or height < t:
            continue
        filled = 0
        for i in range(starts[g], starts[g + 1]):
            for _ in range(1 if len(repeats) == 0 else repeats[rows[i]]):
                members[filled] = rows[i]
                filled += 1
        for subset in range(1 << height):
            if popcount(U(subset)) != U(t):
                continue
            for k in range(len(blocks)):
                block = blocks[k]
                shared = ~U(0)
                for i in range(height):
                    if subset >> i & 1:
                        shared &= row_bits[members[i], block]
                common[end, block] = shared
            end += 1


@njit(**JIT)
def agree_on_variables(t, matrix, behind, column, arity, agreements):
    """Join the state columns of every variable: T agrees on x if its rows share a state of x.

    ``matrix`` holds ``common`` of the T of size ``t``, packed.
    """
    bits, stride, agree = matrix.bits, matrix.stride, agreements.agree
    first, last = agreements.start[t], agreements.start[t + 1]
    breadth = len(behind)
    for word in range(first, last):
        for p in range(breadth):
            x = behind[p]
            any_state = U(0)
            for c in range(column[x], column[x] + arity[x]):
                any_state |= bits[(word - first) * stride + c]
            agree[word * breadth + p] = any_state


@njit(**JIT)
def words_below_one(one, breadth, agreements):
    """List the words with subsets that agree on the variable at ``one`` (−1: on any)."""
    start, agree, one_start = agreements.start, agreements.agree, agreements.one_start
    one_word, one_mask = agreements.one_word, agreements.one_mask
    end = 0
    sizes = len(one_start) - 1
    for t in range(2, sizes):
        one_start[t] = end
        for word in range(start[t], start[t + 1]):
            mask = ~U(0) if one < 0 else agree[word * breadth + one]
            if mask != U(0):
                one_word[end] = word * breadth
                one_mask[end] = mask
                end += 1
    one_start[sizes] = end


@njit(**JIT)
def sum_over_agreements(q, p0, p1, row, agreements, sums, counts, extra):
    """Set ``sums[p]`` to Σ weight[row, |T|] over the T that agree on q and p, p0 ≤ p < p1.

    ``extra[p]``, if it has room, becomes the same with weights +1 for even |T| and −1 for odd.
    """
    agree, one_start, one_word = agreements.agree, agreements.one_start, agreements.one_word
    one_mask, weight = agreements.one_mask, agreements.weight[row]
    u0 = U(p0)
    u1 = U(p1)
    for p in range(u0, u1):
        sums[p] = 0
    for p in range(min(u0, U(len(extra))), min(u1, U(len(extra)))):
        extra[p] = U(0)
    for t in range(2, len(weight)):
        if one_start[t] == one_start[t + 1]:
            continue
        for p in range(u0, u1):
            counts[p] = U(0)
        for k in range(one_start[t], one_start[t + 1]):
            word = U(one_word[k])
            on_q = agree[word + U(q)] & one_mask[k]
            if on_q != U(0):
                for p in range(u0, u1):
                    counts[p] += popcount(agree[word + p] & on_q)
        for p in range(u0, u1):
            sums[p] += weight[t] * np.int64(counts[p])
        if len(extra) > 0:
            for p in range(u0, u1):
                if t % 2 == 0:
                    extra[p] += counts[p]
                else:
                    extra[p] -= counts[p]
