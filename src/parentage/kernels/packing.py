"""Partitioning rows by a stem and packing them into bit columns: the first part of counting.

:mod:`parentage.kernels.counting` has the whole idea and the names of the arrays.
"""

from __future__ import annotations

import numpy as np

from parentage.kernels._options import JIT, njit
from parentage.kernels.bits import U, transpose


@njit(**JIT)
def refine(column, arity, rows, starts, n_groups, out_rows, out_starts, tally, place):
    """Split every group by the states of one variable; groups of one row are dropped.

    ``out_rows`` needs room for ``arity`` rows more than ``rows``: single rows are written there.
    Returns the number of new groups.
    """
    end = 0
    n_out = 0
    out_starts[0] = 0
    waste = len(out_rows) - arity
    for g in range(n_groups):
        first = starts[g]
        last = starts[g + 1]
        if last - first == 2:
            if column[rows[first]] == column[rows[first + 1]]:
                out_rows[end] = rows[first]
                out_rows[end + 1] = rows[first + 1]
                end += 2
                n_out += 1
                out_starts[n_out] = end
            continue
        for v in range(arity):
            tally[v] = 0
        for i in range(first, last):
            tally[column[rows[i]]] += 1
        new_end = end
        for v in range(arity):
            if tally[v] >= 2:
                place[v] = new_end
                new_end += tally[v]
                n_out += 1
                out_starts[n_out] = new_end
            else:
                place[v] = waste + v
        if new_end == end:
            continue
        for i in range(first, last):
            row = rows[i]
            v = column[row]
            out_rows[place[v]] = row
            place[v] += 1
        end = new_end
    return n_out


@njit(**JIT)
def shared_prefix(members, i, width):
    """Return the first set behind ``i`` whose first ``width`` members are others."""
    end = i + 1
    while end < len(members):
        for t in range(width):
            if members[end, t] != members[i, t]:
                return end
        end += 1
    return end


@njit(**JIT)
def partition_by_stem(stem, path, depth, arity, codes, rows, starts, n_groups, tally, place):
    """Partition the rows by the stem, keeping what it shares with the ``path`` taken before.

    ``rows[d]``, ``starts[d]``, ``n_groups[d]`` hold the partition by the first ``d`` members.
    """
    d = 0
    while d < depth and path[d] == stem[d]:
        d += 1
    while d < len(stem):
        x = np.int64(stem[d])
        n_groups[d + 1] = refine(
            codes[x], arity[x], rows[d], starts[d], n_groups[d],
            rows[d + 1], starts[d + 1], tally, place,
        )  # fmt: skip
        path[d] = x
        d += 1
    return d


@njit(**JIT)
def choose_columns(
    members, first, last, skip, arity, offset, wanted, behind, column, position, blocks, pick
):
    """Lay out the bit columns of all variables behind the stem in ``members[first:last]``.

    Lists those variables in ``behind`` and sets ``column[x]`` and ``position[x]``. Packed
    columns ``pick[k, 0] … pick[k, 1] − 1`` come from word
    ``blocks[k]`` of a row, and packed column c from its bit ``pick[c, 2]``.
    Returns the number of blocks, of columns and of variables.
    """
    for i in range(first, last):
        for t in range(skip, members.shape[1]):
            wanted[members[i, t]] = True
    n_columns = 0
    n_blocks = 0
    n_wanted = 0
    for x in range(len(wanted)):
        if wanted[x]:
            wanted[x] = False
            column[x] = n_columns
            position[x] = n_wanted
            behind[n_wanted] = x
            n_wanted += 1
            for bit in range(offset[x], offset[x] + arity[x]):
                if n_blocks == 0 or blocks[n_blocks - 1] != bit >> 6:
                    blocks[n_blocks] = bit >> 6
                    pick[n_blocks, 0] = n_columns
                    n_blocks += 1
                pick[n_columns, 2] = bit & 63
                n_columns += 1
                pick[n_blocks - 1, 1] = n_columns
    return n_blocks, n_columns, n_wanted


@njit(**JIT)
def count_words(starts, n_groups, small):
    """Return how many 64-row words the groups of more than ``small`` rows fill, each padded."""
    words = 0
    for g in range(n_groups):
        height = np.int64(starts[g + 1]) - np.int64(starts[g])
        if height > small:
            words += (height + 63) >> 6
    return words


@njit(**JIT)
def pack(
    rows, starts, n_groups, small, blocks, n_blocks, pick, row_bits,
    bits, stride, word_start, square,
):  # fmt: skip
    """Transpose the rows of every group of more than ``small`` rows into bit columns.

    The columns between the last one and ``stride`` are cleared: sweeps run over them, and what
    they count is looked up in f. Returns the number of those groups; ``word_start`` has where
    each begins.
    """
    n_columns = pick[n_blocks - 1, 1]
    word = 0
    n_large = 0
    for g in range(n_groups):
        last = np.int64(starts[g + 1])
        if last - np.int64(starts[g]) <= small:
            continue
        word_start[n_large] = word
        n_large += 1
        for first in range(starts[g], last, 64):
            height = min(64, last - first)
            base = word * stride
            for k in range(n_blocks):
                block = blocks[k]
                for i in range(height):
                    square[i] = row_bits[rows[first + i], block]
                for i in range(height, 64):
                    square[i] = U(0)
                transpose(square)
                for c in range(pick[k, 0], pick[k, 1]):
                    bits[base + c] = square[pick[c, 2]]
            for c in range(n_columns, stride):
                bits[base + c] = U(0)
            word += 1
    word_start[n_large] = word
    return n_large
