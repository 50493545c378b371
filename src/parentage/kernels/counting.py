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

Arrays shared by the functions below

* ``codes[variable, row]`` and ``row_bits[row, word]``: the table, as codes and as one bit per
  (variable, state), variable ``x`` starting at bit ``offset[x]``.
* ``rows[position]``, ``starts[group]``: a partition; group g is ``rows[starts[g]:starts[g+1]]``.
* ``bits[word * stride + column]``: the bit matrix of a stem; ``column[x]`` is the first column
  of variable ``x``; group g owns the words ``word_start[g] … word_start[g+1] − 1``.
* ``cell_word``, ``cell_mask``, ``cell_start``: the cells of stem + one; ``cell_word`` is
  already multiplied by ``stride``.
* ``f[c]``: c·ln c in fixed point (:mod:`parentage.entropy`).

Indices into the big arrays are unsigned: signed ones block vectorisation.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from parentage.kernels._options import JIT
from parentage.kernels.bits import U, popcount, transpose

LANES = 8  # columns are swept in whole blocks of this many
GAP = 16  # unwanted columns worth sweeping over rather than starting a new sweep


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
    """Return the first set behind ``i`` that differs from set ``i`` in its first ``width`` members."""
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
def choose_columns(members, first, last, skip, arity, offset, wanted, column, blocks, pick):
    """Lay out the bit columns of all variables behind the stem in ``members[first:last]``.

    Sets ``column[x]``. Packed columns ``pick[k, 0] … pick[k, 1] − 1`` come from word
    ``blocks[k]`` of a row, and packed column c from its bit ``pick[c, 2]``.
    Returns (number of blocks, number of columns).
    """
    for i in range(first, last):
        for t in range(skip, members.shape[1]):
            wanted[members[i, t]] = True
    n_columns = 0
    n_blocks = 0
    for x in range(len(wanted)):
        if wanted[x]:
            wanted[x] = False
            column[x] = n_columns
            for bit in range(offset[x], offset[x] + arity[x]):
                if n_blocks == 0 or blocks[n_blocks - 1] != bit >> 6:
                    blocks[n_blocks] = bit >> 6
                    pick[n_blocks, 0] = n_columns
                    n_blocks += 1
                pick[n_columns, 2] = bit & 63
                n_columns += 1
                pick[n_blocks - 1, 1] = n_columns
    return n_blocks, n_columns


@njit(**JIT)
def count_words(starts, n_groups):
    """Return how many 64-row words the groups fill, each padded to whole words."""
    words = 0
    for g in range(n_groups):
        words += (np.int64(starts[g + 1]) - np.int64(starts[g]) + 63) >> 6
    return words


@njit(**JIT)
def pack(rows, starts, n_groups, blocks, n_blocks, pick, row_bits, bits, stride, word_start, square):
    """Fill the bit matrix of a stem: rows in group order, transposed 64 at a time."""
    word = 0
    for g in range(n_groups):
        word_start[g] = word
        last = starts[g + 1]
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
            word += 1
    word_start[n_groups] = word


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
    depth_of_stem = max(s - 3, 0)
    width = offset[n] + 2 * LANES
    widest = np.int64(0)
    for x in range(n):
        widest = max(widest, arity[x])
    rows = np.empty((depth_of_stem + 1, n_rows + widest), np.uint32)
    starts = np.empty((depth_of_stem + 1, max(n_rows // 2, len(first_starts)) + 2), np.uint32)
    n_groups = np.empty(depth_of_stem + 1, np.int64)
    for i in range(n_rows):  # element by element: slice assignment costs seconds of compilation
        rows[0, i] = first_rows[i]
    for g in range(len(first_starts)):
        starts[0, g] = first_starts[g]
    n_groups[0] = len(first_starts) - 1
    path = np.empty(s, np.int64)
    depth = 0
    tally = np.empty(widest, np.int64)
    place = np.empty(widest, np.int64)
    square = np.empty(64, np.uint64)
    wanted = np.zeros(n, np.bool_)
    column = np.empty(n, np.int64)
    blocks = np.empty(width, np.int64)
    pick = np.empty((width, 3), np.int64)
    room = n_rows + n_rows // 64 + 8
    bits = np.empty(1, np.uint64)
    word_start = np.empty(len(starts[0]) + 1, np.int64)
    cell_word = np.empty(room, np.int64)
    cell_mask = np.empty(room, np.uint64)
    cell_start = np.empty(max(n_rows // 2, len(first_starts)) + 2, np.int64)
    total = np.empty(1, np.uint64)
    sums = np.empty(width, np.int64)
    counts = np.empty(width, np.uint64)
    left = np.empty(width, np.uint64)
    i = 0
    while i < n_sets:
        stem_end = shared_prefix(members, i, depth_of_stem)
        depth = partition_by_stem(
            members[i, :depth_of_stem], path, depth, arity, codes, rows, starts, n_groups, tally, place
        )
        n_blocks, n_columns = choose_columns(
            members, i, stem_end, depth_of_stem, arity, offset, wanted, column, blocks, pick
        )
        stride = (n_columns + LANES - 1) & ~(LANES - 1)
        groups = n_groups[depth_of_stem]
        room = count_words(starts[depth_of_stem], groups) * stride + 64
        if len(bits) < room:
            bits = np.empty(2 * room, np.uint64)
        pack(
            rows[depth_of_stem], starts[depth_of_stem], groups, blocks, n_blocks, pick, row_bits,
            bits, stride, word_start, square,
        )  # fmt: skip
        while i < stem_end:
            one_end = min(shared_prefix(members, i, s - 2), stem_end)
            if s == 2:
                n_cells = cells_of_groups(
                    groups, word_start, stride, cell_word, cell_mask, cell_start
                )
            else:
                one = members[i, s - 3]
                n_cells = cells_of_one(
                    column[one], arity[one], groups, bits, word_start, stride,
                    cell_word, cell_mask, cell_start,
                )  # fmt: skip
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
                while i < sweep_end:
                    y = members[i, s - 1]
                    g = np.int64(0)
                    for c in range(column[y], column[y] + arity[y]):
                        g += sums[c]
                    G[i] = g
                    i += 1
