"""Small groups, counted by the subsets of their rows that agree: a part of counting.

:mod:`parentage.kernels.counting` has the whole idea and the names of the arrays.
"""

from __future__ import annotations

import numpy as np

from parentage.kernels._options import JIT, njit
from parentage.kernels.bits import U, popcount


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
def count_subsets(starts, n_groups, small, n_subsets):
    """Set ``n_subsets[t]`` to the number of t-subsets of rows within groups of ≤ ``small`` rows."""
    for t in range(len(n_subsets)):
        n_subsets[t] = 0
    for g in range(n_groups):
        height = np.int64(starts[g + 1]) - np.int64(starts[g])
        if height <= small:
            for t in range(2, height + 1):
                n_subsets[t] += choose(height, t)


@njit(**JIT)
def intersect_subsets(rows, starts, n_groups, small, t, blocks, n_blocks, row_bits, common):
    """Write ``common[T, block]``, the states that all t rows of T share, for every t-subset T."""
    end = 0
    for g in range(n_groups):
        first = np.int64(starts[g])
        height = np.int64(starts[g + 1]) - first
        if height > small or height < t:
            continue
        for subset in range(1 << height):
            if popcount(U(subset)) != U(t):
                continue
            for k in range(n_blocks):
                block = blocks[k]
                shared = ~U(0)
                for i in range(height):
                    if subset >> i & 1:
                        shared &= row_bits[rows[first + i], block]
                common[end, block] = shared
            end += 1


@njit(**JIT)
def agree_on_variables(first, last, bits, stride, members, column, arity, agree, breadth):
    """Join the state columns of every variable: T agrees on x if its rows share a state of x."""
    for word in range(first, last):
        for p in range(len(members)):
            x = members[p]
            any_state = U(0)
            for c in range(column[x], column[x] + arity[x]):
                any_state |= bits[(word - first) * stride + c]
            agree[word * breadth + p] = any_state


@njit(**JIT)
def words_below_one(one, sizes, agree, breadth, agree_start, agree_word, agree_mask, one_start):
    """List the words with subsets that agree on the variable at ``one`` (−1: on any)."""
    end = 0
    for t in range(2, sizes):
        one_start[t] = end
        for word in range(agree_start[t], agree_start[t + 1]):
            mask = ~U(0) if one < 0 else agree[word * breadth + one]
            if mask != U(0):
                agree_word[end] = word * breadth
                agree_mask[end] = mask
                end += 1
    one_start[sizes] = end


@njit(**JIT)
def sum_over_agreements(
    q, p0, p1, sizes, agree, agree_word, agree_mask, one_start, weight, sums, counts
):
    """Set ``sums[p]`` to Σ weight[|T|] over the T that agree on q and position p, p0 ≤ p < p1."""
    u0 = U(p0)
    u1 = U(p1)
    for p in range(u0, u1):
        sums[p] = 0
    for t in range(2, sizes):
        if one_start[t] == one_start[t + 1]:
            continue
        for p in range(u0, u1):
            counts[p] = U(0)
        for k in range(one_start[t], one_start[t + 1]):
            word = U(agree_word[k])
            on_q = agree[word + U(q)] & agree_mask[k]
            if on_q != U(0):
                for p in range(u0, u1):
                    counts[p] += popcount(agree[word + p] & on_q)
        for p in range(u0, u1):
            sums[p] += weight[t] * np.int64(counts[p])
