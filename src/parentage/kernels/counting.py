"""Joint counts of many sets at once: G(S) for a lexicographic block of sets.

The idea. A set of ``s`` variables is read as *stem* (its first ``s − 3`` members), *one* more,
and a *pair* (q, y) at the end. Sets in lexicographic order share stems, and stem + one, with
their neighbours, so the work is nested the same way:

1. **Stem.** The rows are partitioned by the states of the stem, variable by variable; groups of
   a single row are dropped for good, since they contribute f(1) = 0 to every superset. What the
   next stem shares with the last one is not partitioned again. The rows of every group are then
   transposed into *bit columns*: one bit per row, one column per (variable, state) that occurs
   behind the stem, every group padded to whole 64-bit words.
2. **One.** Stem + one is a list of *cells*; a cell is a list of (word, mask) on the bit matrix.
   Cells of a single row are dropped.
3. **Pair.** The rows of a cell with state v of q and state u of y are
   ``popcount(column[q, v] & column[y, u] & mask)``. All y behind the same q are counted in one
   sweep over adjacent columns, which the compiler turns into vector instructions. The last
   state of q costs nothing: its counts are what remains of the cell's totals.

**Small groups** would waste whole words, so they are counted by what their rows agree on. By
Newton's formula f(c) = Σ_t C(c, t)·weight[t], where weight[t] is the t-th forward difference of f
at 0; so Σ f over the states of a group is the sum of weight[|T|] over all subsets T of its rows
that agree on the variables in question. Every such T of a small group becomes one bit, whatever
group it is from: ``agree[word, variable]`` tells on which variables T agrees, and a pair (q, y)
below *one* costs one AND and popcount per 64 subsets and y.

Arrays shared by the functions below

* ``codes[variable, row]`` and ``row_bits[row, word]``: the table, as codes and as one bit per
  (variable, state), variable ``x`` starting at bit ``offset[x]``.
* ``rows[position]``, ``starts[group]``: a partition; group g is ``rows[starts[g]:starts[g+1]]``.
* ``bits[word * stride + column]``: the bit matrix of a stem; ``column[x]`` is the first column
  of variable ``x``; group g owns the words ``word_start[g] … word_start[g+1] − 1``.
* ``cell_word``, ``cell_mask``, ``cell_start``: the cells of stem + one; ``cell_word`` is
  already multiplied by ``stride``.
* ``agree[word * breadth + position[x]]``: bit per subset T, all T of one size in whole words,
  size t in the words ``agree_start[t] … agree_start[t+1] − 1``; ``agree_word``, ``agree_mask``,
  ``one_start``: the words that are left below *one*, with their masks.
* ``f[c]``: c·ln c in fixed point (:mod:`parentage.scoring.entropy`).

Indices into the big arrays are unsigned: signed ones block vectorisation.
"""

from __future__ import annotations

import numpy as np

from parentage.kernels._options import JIT, njit
from parentage.kernels.agreement import (
    agree_on_variables,
    count_subsets,
    intersect_subsets,
    newton_weights,
    sum_over_agreements,
    words_below_one,
)
from parentage.kernels.bits import U, popcount
from parentage.kernels.packing import (
    choose_columns,
    count_words,
    pack,
    partition_by_stem,
    shared_prefix,
)

LANES = 8  # columns are swept in whole blocks of this many
GAP = 16  # unwanted columns worth sweeping over rather than starting a new sweep
SMALL = 6  # groups of at most this many rows are counted by the subsets of rows that agree


@njit(**JIT)
def cells_of_groups(n_groups, word_start, stride, cell_word, cell_mask, cell_start):
    """Take the groups themselves as cells (sets of two have no *one*)."""
    for word in range(word_start[n_groups]):
        cell_word[word] = word * stride
        cell_mask[word] = ~U(0)
    for g in range(n_groups + 1):
        cell_start[g] = word_start[g]
    return n_groups


@njit(**JIT)
def cells_of_one(
    first_column, arity, n_groups, bits, word_start, stride, cell_word, cell_mask, cell_start
):
    """Split the groups by the states of one variable into cells; cells of one row are dropped."""
    n_cells = 0
    end = 0
    cell_start[0] = 0
    for g in range(n_groups):
        for v in range(arity):
            begin = end
            n_rows = U(0)
            for word in range(word_start[g], word_start[g + 1]):
                mask = bits[word * stride + first_column + v]
                if mask != U(0):
                    cell_word[end] = word * stride
                    cell_mask[end] = mask
                    end += 1
                    n_rows += popcount(mask)
            if n_rows < U(2):
                end = begin
            else:
                n_cells += 1
                cell_start[n_cells] = end
    return n_cells


@njit(**JIT)
def cell_totals(c0, c1, n_cells, bits, stride, cell_word, cell_mask, cell_start, total):
    """Count ``total[cell * stride + c]``, rows of the cell in column c, where it has many words."""
    u0 = U(c0)
    u1 = U(c1)
    for cell in range(n_cells):
        k0 = cell_start[cell]
        k1 = cell_start[cell + 1]
        if k1 - k0 == 1:
            continue
        base = U(cell * stride)
        for c in range(u0, u1):
            total[base + c] = U(0)
        for k in range(k0, k1):
            word = U(cell_word[k])
            mask = cell_mask[k]
            for c in range(u0, u1):
                total[base + c] += popcount(bits[word + c] & mask)


@njit(**JIT)
def sum_over_pairs(
    q_column, q_arity, c0, c1, n_cells, bits, stride, cell_word, cell_mask, cell_start, total,
    f, sums, counts, left,
):  # fmt: skip
    """Set ``sums[c]`` to Σ f(rows with state v of q in column c) over cells and v, c0 ≤ c < c1."""
    u0 = U(c0)
    u1 = U(c1)
    for c in range(u0, u1):
        sums[c] = 0
    for cell in range(n_cells):
        k0 = cell_start[cell]
        k1 = cell_start[cell + 1]
        word = U(cell_word[k0])
        mask = cell_mask[k0]
        if k1 - k0 == 1:  # one word: count and look up at once
            for v in range(q_arity):
                in_v = bits[word + U(q_column + v)] & mask
                if in_v & (in_v - U(1)) == U(0):
                    continue  # no row or a single one: f is 0
                for c in range(u0, u1):
                    sums[c] += f[popcount(bits[word + c] & in_v)]
            continue
        base = U(cell * stride)
        for c in range(u0, u1):
            left[c] = total[base + c]
        for v in range(q_arity):
            cv = U(q_column + v)
            if v == q_arity - 1:
                if total[base + cv] >= U(2):
                    for c in range(u0, u1):
                        sums[c] += f[left[c]]
                break
            if total[base + cv] == U(0):
                continue
            in_v = bits[word + cv] & mask
            for c in range(u0, u1):
                counts[c] = popcount(bits[word + c] & in_v)
            k = k0 + 1
            while k + 4 <= k1:  # four words a sweep: the counts are loaded and stored less often
                w0 = U(cell_word[k])
                w1 = U(cell_word[k + 1])
                w2 = U(cell_word[k + 2])
                w3 = U(cell_word[k + 3])
                v0 = bits[w0 + cv] & cell_mask[k]
                v1 = bits[w1 + cv] & cell_mask[k + 1]
                v2 = bits[w2 + cv] & cell_mask[k + 2]
                v3 = bits[w3 + cv] & cell_mask[k + 3]
                for c in range(u0, u1):
                    counts[c] += (
                        popcount(bits[w0 + c] & v0) + popcount(bits[w1 + c] & v1)
                        + popcount(bits[w2 + c] & v2) + popcount(bits[w3 + c] & v3)
                    )  # fmt: skip
                k += 4
            while k < k1:
                w0 = U(cell_word[k])
                v0 = bits[w0 + cv] & cell_mask[k]
                if v0 != U(0):
                    for c in range(u0, u1):
                        counts[c] += popcount(bits[w0 + c] & v0)
                k += 1
            for c in range(u0, u1):
                n = counts[c]
                sums[c] += f[n]
                left[c] -= n


@njit(**JIT)
def sweep_of(members, i, last, column, arity):
    """Return the end of the sets from ``i`` on with the same q and adjacent y, and their columns.

    The columns come in whole blocks of ``LANES``; gaps of up to ``GAP`` columns are swept over.
    """
    s = members.shape[1]
    c0 = column[members[i, s - 1]]
    c1 = c0
    end = i
    while end < last and members[end, s - 2] == members[i, s - 2]:
        y = members[end, s - 1]
        if column[y] - c1 > GAP:
            break
        c1 = column[y] + arity[y]
        end += 1
    return end, c0 & ~(LANES - 1), (c1 + LANES - 1) & ~(LANES - 1)


@njit(**JIT)
def count_sets(members, first_rows, first_starts, arity, offset, codes, row_bits, f, G):
    """Write G of every set into ``G[set]``.

    Parameters
    ----------
    members
        ``uint16[set, member]``: rising within a set, sets in lexicographic order, two members
        or more.
    first_rows, first_starts
        ``uint32``: the partition to start from, normally all rows in one group.
    arity, offset
        ``int64[variable]`` and ``int64[variable + 1]``.
    codes, row_bits
        ``uint16[variable, row]`` and ``uint64[row, word]``: the table in both forms.
    f
        ``int64[count]``: c·ln c in fixed point.
    G
        ``int64[set]``: filled.
    """
    n_sets, s = members.shape
    n = len(arity)
    n_rows = len(first_rows)
    stem = max(s - 3, 0)
    width = offset[n] + 2 * LANES
    widest = np.int64(0)
    for x in range(n):
        widest = max(widest, arity[x])
    most_groups = max(n_rows // 2, len(first_starts)) + 2
    # the stem's partition, one level per member
    rows = np.empty((stem + 1, n_rows + widest), np.uint32)
    starts = np.empty((stem + 1, most_groups), np.uint32)
    n_groups = np.empty(stem + 1, np.int64)
    for i in range(n_rows):  # element by element: slice assignment costs seconds of compilation
        rows[0, i] = first_rows[i]
    for g in range(len(first_starts)):
        starts[0, g] = first_starts[g]
    n_groups[0] = len(first_starts) - 1
    path = np.empty(s, np.int64)
    depth = 0
    tally = np.empty(widest, np.int64)
    place = np.empty(widest, np.int64)
    # the columns behind the stem
    square = np.empty(64, np.uint64)
    wanted = np.zeros(n, np.bool_)
    behind = np.empty(n, np.int64)
    column = np.empty(n, np.int64)
    position = np.empty(n, np.int64)
    blocks = np.empty(width, np.int64)
    pick = np.empty((width, 3), np.int64)
    # large groups: bit matrix, cells, counts
    bits = np.empty(1, np.uint64)
    word_start = np.empty(most_groups + 1, np.int64)
    cell_word = np.empty(n_rows + n_rows // 64 + 8, np.int64)
    cell_mask = np.empty(n_rows + n_rows // 64 + 8, np.uint64)
    cell_start = np.empty(most_groups, np.int64)
    total = np.empty(1, np.uint64)
    sums = np.empty(width, np.int64)
    counts = np.empty(width, np.uint64)
    left = np.empty(width, np.uint64)
    # small groups: agreeing subsets of rows
    small = min(SMALL, n_rows)
    weight = np.empty(small + 1, np.int64)
    newton_weights(f, small, weight)
    n_subsets = np.empty(small + 2, np.int64)
    agree_start = np.empty(small + 2, np.int64)
    one_start = np.empty(small + 2, np.int64)
    common = np.empty((1, row_bits.shape[1]), np.uint64)
    every = np.zeros(1, np.uint32)
    ends = np.empty(2, np.uint32)
    ends[0] = 0
    agree = np.empty(1, np.uint64)
    agree_word = np.empty(1, np.int64)
    agree_mask = np.empty(1, np.uint64)
    i = 0
    while i < n_sets:
        stem_end = shared_prefix(members, i, stem)
        depth = partition_by_stem(
            members[i, :stem], path, depth, arity, codes, rows, starts, n_groups, tally, place
        )
        n_blocks, n_columns, breadth = choose_columns(
            members,
            i,
            stem_end,
            stem,
            arity,
            offset,
            wanted,
            behind,
            column,
            position,
            blocks,
            pick,
        )
        stride = (n_columns + LANES - 1) & ~(LANES - 1)
        groups = n_groups[stem]
        # small groups first: their bit matrix is only a step towards ``agree``
        count_subsets(starts[stem], groups, small, n_subsets)
        words = np.int64(0)
        most = np.int64(0)
        for t in range(2, small + 1):
            agree_start[t] = words
            words += (n_subsets[t] + 63) >> 6
            most = max(most, n_subsets[t])
        agree_start[small + 1] = words
        if len(common) < most:
            common = np.empty((2 * most, row_bits.shape[1]), np.uint64)
            every = np.empty(2 * most, np.uint32)
            for k in range(2 * most):
                every[k] = k
        if len(agree) < words * breadth + LANES:
            agree = np.empty(2 * (words * breadth + LANES), np.uint64)
        if len(agree_word) < words:
            agree_word = np.empty(2 * words, np.int64)
            agree_mask = np.empty(2 * words, np.uint64)
        room = max(count_words(starts[stem], groups, small), (most + 63) >> 6) * stride + 64
        if len(bits) < room:
            bits = np.empty(2 * room, np.uint64)
        for t in range(2, small + 1):
            if n_subsets[t] > 0:
                intersect_subsets(
                    rows[stem], starts[stem], groups, small, t, blocks, n_blocks, row_bits, common
                )
                ends[1] = n_subsets[t]
                pack(
                    every, ends, 1, 0, blocks, n_blocks, pick, common,
                    bits, stride, word_start, square,
                )  # fmt: skip
                agree_on_variables(
                    agree_start[t], agree_start[t + 1], bits, stride,
                    behind[:breadth], column, arity, agree, breadth,
                )  # fmt: skip
        large = pack(
            rows[stem], starts[stem], groups, small, blocks, n_blocks, pick, row_bits,
            bits, stride, word_start, square,
        )  # fmt: skip
        while i < stem_end:
            one_end = min(shared_prefix(members, i, s - 2), stem_end)
            if s == 2:
                at = np.int64(-1)
                n_cells = cells_of_groups(
                    large, word_start, stride, cell_word, cell_mask, cell_start
                )
            else:
                one = members[i, s - 3]
                at = position[one]
                n_cells = cells_of_one(
                    column[one], arity[one], large, bits, word_start, stride,
                    cell_word, cell_mask, cell_start,
                )  # fmt: skip
            words_below_one(
                at, small + 1, agree, breadth, agree_start, agree_word, agree_mask, one_start
            )
            if len(total) < n_cells * stride + 64:
                total = np.empty(2 * (n_cells * stride + 64), np.uint64)
            cell_totals(
                column[members[i, s - 2]] & ~(LANES - 1), stride, n_cells, bits, stride,
                cell_word, cell_mask, cell_start, total,
            )  # fmt: skip
            while i < one_end:
                q = members[i, s - 2]
                sweep_end, c0, c1 = sweep_of(members, i, one_end, column, arity)
                sum_over_pairs(
                    column[q], arity[q], c0, c1, n_cells, bits, stride,
                    cell_word, cell_mask, cell_start, total, f, sums, counts, left,
                )  # fmt: skip
                for k in range(i, sweep_end):
                    y = members[k, s - 1]
                    g = np.int64(0)
                    for c in range(column[y], column[y] + arity[y]):
                        g += sums[c]
                    G[k] = g
                if one_start[small + 1] > 0:
                    sum_over_agreements(
                        position[q], position[members[i, s - 1]],
                        position[members[sweep_end - 1, s - 1]] + 1, small + 1,
                        agree, agree_word, agree_mask, one_start, weight, sums, counts,
                    )  # fmt: skip
                    for k in range(i, sweep_end):
                        G[k] += sums[position[members[k, s - 1]]]
                i = sweep_end
