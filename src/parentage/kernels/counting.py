"""Joint counts of many sets at once: Σ f(n_c) for a lexicographic block of sets.

The idea. A set of ``s`` variables is read as *stem* (its first ``s − 3`` members), *one* more,
and a *pair* (q, y) at the end. Sets in lexicographic order share stems, and stem + one, with
their neighbours, so the work is nested the same way:

1. **Stem.** The rows are partitioned by the states of the stem, variable by variable; groups of
   a single row are dropped for good, since they contribute f(1) = 0 to every superset. What the
   next stem shares with the last one is not partitioned again. The rows of every group are then
   transposed into *bit columns*: one bit per row, one column per (variable, state) that occurs
   behind the stem. Small groups share 64-bit words, so a group is a list of (word, mask).
2. **One.** Stem + one is a list of *cells*, lists of (word, mask) as well. Cells of a single row
   are dropped.
3. **Pair.** The rows of a cell with state v of q and state u of y are
   ``popcount(column[q, v] & column[y, u] & mask)``. All y behind the same q are counted in one
   sweep over adjacent columns, which the compiler turns into vector instructions. The last
   state of q is not counted: its counts are what remains of the cell's totals.

**Equal rows** are counted once, with how often they occur. Binary digits carry the number: a row
that occurs 5 times is one bit in a word whose bits stand for 4 rows and one in a word whose bits
stand for 1. The words of a group are ordered by falling powers, so that counts are doubled on the
way (Horner), and a table without equal rows pays nothing.

Arrays that come from outside

* ``members[set, member]``: the sets to count, rising within a set, in lexicographic order.
* ``codes[variable, row]`` and ``row_bits[row, word]``: the table, as codes and as one bit per
  (variable, state), variable ``x`` starting at bit ``offset[x]``; ``arity[variable]`` states each.
  A table of very many rows has no codes (``[variable, 0]``): the bits say the same.
* ``f[row, c]``: functions with f(0) = f(1) = 0 in fixed point, one per row: c·ln c for most scores
  (:mod:`parentage.scoring.encoding`); set i uses ``f[row[i]]``. A sweep ends where the row
  changes.
* ``excess[set]``: Σ (n_c − 1) over the joint states c that occur; N minus that is their number.

The workspaces are named tuples: :class:`~parentage.kernels.packing.Partition` of the rows by the
stem, :class:`~parentage.kernels.packing.Columns` and :class:`~parentage.kernels.packing.BitMatrix`
behind it, the :class:`~parentage.kernels.packing.Pieces` of the groups and those of the cells of
stem + one, the totals ``total[cell * stride + column]`` of cells of more than one piece (their rows
in a column), and the sums of a sweep over the pairs. Functions unpack them once, at the top.

Indices into the big arrays are unsigned: signed ones block vectorisation. What is called for every
sweep is compiled with its caller: a call would count references to all its arrays.
"""

from __future__ import annotations

import math

import numpy as np

from parentage.kernels._options import INLINE, JIT, njit
from parentage.kernels.bits import LANES, U, lanes_at, less_lanes, plus_rows, popcount, put_lanes
from parentage.kernels.packing import (
    HEAVIEST,
    BitMatrix,
    Groups,
    choose_columns,
    open_words,
    pack,
    partition_by_stem,
    room_for_columns,
    room_for_pieces,
    shared_prefix,
    whole_table,
)

AT_ONCE = 2 * LANES  # states that are counted together
GAP = 16  # idle columns worth sweeping over rather than starting a new sweep


@njit(**JIT)
def cells_of_one(first_column, arity, n_groups, matrix, groups, cells):
    """Split the groups by the states of one variable into cells; cells of one row are dropped."""
    bits, _ = matrix
    group_word, group_mask, group_shift, group_start = groups
    cell_word, cell_mask, cell_shift, cell_start = cells
    n_cells = 0
    end = 0
    cell_start[0] = 0
    for g in range(n_groups):
        for v in range(arity):
            begin = end
            n_rows = U(0)
            for k in range(group_start[g], group_start[g + 1]):
                mask = bits[group_word[k] + U(first_column + v)] & group_mask[k]
                if mask != U(0):
                    cell_word[end] = group_word[k]
                    cell_mask[end] = mask
                    cell_shift[end] = group_shift[k]
                    end += 1
                    n_rows += popcount(mask) << U(group_shift[k])
            if n_rows < U(2):
                end = begin
            else:
                n_cells += 1
                cell_start[n_cells] = end
    return n_cells


@njit(**INLINE)
def whole_lanes(n_columns):
    """Round up to whole blocks of ``LANES``."""
    return (n_columns + LANES - 1) & ~(LANES - 1)


@njit(**JIT)
def cell_totals(c0, n_cells, matrix, cells, total):
    """Count ``total[cell * stride + column]`` from column c0 on, where a cell has many pieces."""
    bits, stride = matrix
    cell_word, cell_mask, cell_shift, cell_start = cells
    u0 = U(c0)
    u1 = U(stride)
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
            shift = U(cell_shift[k])
            for c in range(u0, u1):
                total[base + c] += popcount(bits[word + c] & mask) << shift


@njit(**INLINE)
def sum_over_pairs(q_column, q_arity, c0, c1, n_cells, matrix, cells, total, f, sweep):
    """Set ``sums[c]`` of a sweep to Σ f(rows with state v of q in column c) over cells and v.

    ``f`` is one row; ``extra[c]``, if it has room, becomes Σ (rows − 1) over the same. The arrays
    between them in ``sweep`` are scratch.

    A cell of many pieces is counted for ``AT_ONCE`` states of q at a time, with ``inside[v,
    piece]``, the rows of a piece with the v-th of these that occur; the last state has what is
    ``left[c]``. Two blocks
    of columns are in registers while all pieces are gone through: ``counts[v, c]`` are stored once,
    and one block is added to while the other one waits. What is behind ``c1`` in the second block
    is counted and not looked at. The looking up comes after that, for two or three states at once,
    so that ``sums`` are seldom read.
    """
    bits, stride = matrix
    cell_word, cell_mask, cell_shift, cell_start = cells
    sums, inside, counts, left, extra = sweep
    u0 = U(c0)
    u1 = U(c1)
    width = U(len(sums))
    others = max(q_arity - 1, 0)  # states that are counted
    occupied = len(extra) > 0
    for c in range(u0, u1):
        sums[c] = 0
    none = lanes_at(sums, u0)  # zeros
    if occupied:
        for c in range(u0, u1):
            extra[c] = U(0)
    for cell in range(n_cells):
        k0 = U(cell_start[cell])
        k1 = U(cell_start[cell + 1])
        if k1 - k0 == 1:  # one word: count and look up at once
            word = U(cell_word[k0])
            mask = cell_mask[k0]
            shift = U(cell_shift[k0])
            for v in range(q_arity):
                in_v = bits[word + U(q_column + v)] & mask
                if in_v == U(0) or (shift == U(0) and in_v & (in_v - U(1)) == U(0)):
                    continue  # no row or a single one: f is 0
                if occupied:
                    for c in range(u0, u1):
                        n = popcount(bits[word + c] & in_v) << shift
                        sums[c] += f[n]
                        extra[c] += n - U(n != U(0))
                else:
                    for c in range(u0, u1):
                        sums[c] += f[popcount(bits[word + c] & in_v) << shift]
            continue
        base = U(cell * stride)
        n_pieces, once = k1 - k0, cell_shift[k0] == 0  # the powers fall
        for c in range(u0, u1):
            left[c] = total[base + c]
        v0, ended = np.int64(0), False
        while not ended:
            v1 = min(v0 + AT_ONCE, others)
            ended = v1 == others
            occurring = np.int64(0)  # states of these that the cell has
            for v in range(v0, v1):
                seen = U(0)
                for k in range(n_pieces):
                    in_v = bits[cell_word[k0 + k] + U(q_column + v)] & cell_mask[k0 + k]
                    inside[U(occurring) * n_pieces + k] = in_v
                    seen |= in_v
                occurring += seen != U(0)
            n_states = occurring + ended
            end = width * U(n_states)  # of counts
            for c in range(u0, u1, U(2 * LANES)):
                d = c + U(LANES)
                left_c, left_d = lanes_at(left, c), lanes_at(left, d)
                to = U(0)
                for v in range(occurring):
                    n, m, at = none, none, U(v) * n_pieces
                    if once:
                        for k in range(n_pieces):
                            word, mask = cell_word[k0 + k], inside[at + k]
                            n = plus_rows(bits, word + c, mask, U(0), n)
                            m = plus_rows(bits, word + d, mask, U(0), m)
                    else:
                        for k in range(n_pieces):
                            word, mask = cell_word[k0 + k], inside[at + k]
                            shift = cell_shift[k0 + k]
                            n = plus_rows(bits, word + c, mask, shift, n)
                            m = plus_rows(bits, word + d, mask, shift, m)
                    put_lanes(counts, to + c, n)
                    put_lanes(counts, to + d, m)
                    left_c, left_d = less_lanes(left_c, n), less_lanes(left_d, m)
                    to += width
                put_lanes(counts, to + c, left_c)
                put_lanes(counts, to + d, left_d)
                put_lanes(left, c, left_c)
                put_lanes(left, d, left_d)
            if occupied:
                for at in range(U(0), end, width):
                    for c in range(u0, u1):
                        n = counts[at + c]
                        extra[c] += n - U(n != U(0))
            at = U(0)
            if n_states == 1:
                for c in range(u0, u1):
                    sums[c] += f[counts[c]]
                at = end
            elif n_states & 1:
                for c in range(u0, u1):
                    sums[c] += f[counts[c]] + f[counts[width + c]] + f[counts[U(2) * width + c]]
                at = U(3) * width
            while at < end:
                for c in range(u0, u1):
                    sums[c] += f[counts[at + c]] + f[counts[at + width + c]]
                at += U(2) * width
            v0 = v1


@njit(**INLINE)
def sweep_of(block, i, last, column, arity):
    """Return the end of the sets from ``i`` on with one q, one f and adjacent y, and their columns.

    The columns come in whole blocks of ``LANES``; gaps of up to ``GAP`` columns are swept over.
    """
    members, row, _, _ = block
    s = members.shape[1]
    c0 = column[members[i, s - 1]]
    c1 = c0
    end = i
    while end < last and members[end, s - 2] == members[i, s - 2] and row[end] == row[i]:
        y = members[end, s - 1]
        if column[y] - c1 > GAP:
            break
        c1 = column[y] + arity[y]
        end += 1
    return end, c0 & ~(LANES - 1), whole_lanes(c1)


@njit(**INLINE)
def count_pairs(block, i, last, n_cells, columns, arity, f, matrix, cells, total, sweep):
    """Fill the sets ``i … last − 1``, which share all but their last two members, by sweeps."""
    members, row, G, excess = block
    column = columns.first
    sums, _, _, _, extra = sweep
    s = members.shape[1]
    occupied = len(excess) > 0
    while i < last:
        q = members[i, s - 2]
        end, c0, c1 = sweep_of(block, i, last, column, arity)
        sum_over_pairs(column[q], arity[q], c0, c1, n_cells, matrix, cells, total, f[row[i]], sweep)
        for k in range(i, end):
            y = members[k, s - 1]
            g = np.int64(0)
            for c in range(column[y], column[y] + arity[y]):
                g += sums[c]
            G[k] = g
            if occupied:
                e = np.int64(0)
                for c in range(column[y], column[y] + arity[y]):
                    e += np.int64(extra[c])
                excess[k] = e
        i = end


@njit(**INLINE)
def count_behind_stem(
    block, i, last, n_groups, columns, arity, f, matrix, groups, cells, total, sweep
):
    """Fill the sets ``i … last − 1``, which share their stem, *one* after *one*.

    There are ``n_groups`` groups. Returns the totals, which may have got more room.
    """
    members = block[0]
    column = columns.first
    s = members.shape[1]
    while i < last:
        end = shared_prefix(members, i, s - 2)
        n_cells, parts = n_groups, groups  # sets of two have no *one*
        if s > 2:
            one = members[i, s - 3]
            n_cells = cells_of_one(column[one], arity[one], n_groups, matrix, groups, cells)
            parts = cells
        if len(total) < n_cells * matrix.stride + 64:
            total = np.empty(2 * (n_cells * matrix.stride + 64), np.uint64)
        cell_totals(column[members[i, s - 2]] & ~(LANES - 1), n_cells, matrix, parts, total)
        count_pairs(block, i, end, n_cells, columns, arity, f, matrix, parts, total, sweep)
        i = end
    return total


def short_count(block, first_rows, first_starts, arity, offset, codes, row_bits, repeats, f):
    """Return about how many microseconds the plain :func:`count_sets` takes."""
    return math.inf if codes.shape[1] == 0 else len(block[0]) * (10 + 0.01 * len(first_rows))


@njit(work=short_count, **JIT)
def count_sets(block, first_rows, first_starts, arity, offset, codes, row_bits, repeats, f):
    """Fill ``G`` and, if it has room, ``excess`` of every set of a block.

    Parameters
    ----------
    block
        The sets: ``members[set, member]``, rising within a set, two or more of them, in
        lexicographic order; ``row[set]``, which f; ``G[set]`` and ``excess[set]``.
    first_rows, first_starts
        ``uint32``: the partition to start from, normally all rows in one group.
    arity, offset
        ``int64[variable]`` and ``int64[variable + 1]``.
    codes, row_bits
        ``uint16[variable, row]``, or nothing, and ``uint64[row, word]``: the table in both forms.
    repeats
        ``uint32[row]``: how often a row occurs; empty if each occurs once. Within a group of the
        first partition, rows whose number has more binary digits come first.
    f
        ``int64[row, count]``.
    """
    members, _, _, excess = block
    n_sets, s = members.shape
    stem = max(s - 3, 0)
    n_rows, width = len(first_rows), offset[len(arity)] + 2 * LANES
    repeated = len(repeats) > 0
    partition = whole_table(first_rows, first_starts, stem, arity, repeated)
    columns = room_for_columns(len(arity), width)
    from_bits = codes.shape[1] == 0 and stem > 0
    column = np.empty(len(row_bits) if from_bits else 0, np.uint16)
    most_groups = partition.starts.shape[1]
    most_pieces = n_rows  # each has a row
    for i in range(n_rows if repeated else 0):
        most_pieces += np.int64(popcount(U(repeats[first_rows[i]])))
    most_words = most_pieces // 32 + HEAVIEST  # two that follow each other hold more than 64 rows
    bits, total = np.empty(1, np.uint64), np.empty(1, np.uint64)
    packed = room_for_pieces(most_pieces, most_groups)
    cells = room_for_pieces(most_pieces, most_groups)
    opened = open_words()
    sweep = (
        np.empty(width, np.int64),
        np.empty(most_words * AT_ONCE, np.uint64),
        np.empty(width * (AT_ONCE + 1), np.uint64),
        np.empty(width, np.uint64),
        np.empty(width if len(excess) > 0 else 0, np.uint64),
    )
    depth = np.int64(0)
    i = np.int64(0)
    while i < n_sets:
        end = shared_prefix(members, i, stem)
        depth = partition_by_stem(
            members[i, :stem], depth, arity, offset, codes, row_bits, column, repeats, partition
        )
        n_groups = partition.n_groups[stem]
        starts = partition.starts[stem, : n_groups + 1]
        groups = Groups(partition.rows[stem], starts, repeats)
        n_blocks, n_columns = choose_columns(members[i:end], stem, arity, offset, columns)
        blocks, stride = columns.blocks[:n_blocks], whole_lanes(n_columns)
        if len(bits) < most_words * stride + 64:
            bits = np.empty(most_words * stride + 64, np.uint64)
        matrix = BitMatrix(bits, stride)
        pack(groups, blocks, columns.pick, row_bits, matrix, packed, opened)
        total = count_behind_stem(
            block, i, end, n_groups, columns, arity, f, matrix, packed, cells, total, sweep
        )
        i = end


@count_sets.as_numpy
def _count_sets(block, first_rows, first_starts, arity, offset, codes, row_bits, repeats, f):
    columns, arity = codes[:, first_rows].astype(np.int64), arity.tolist()
    times = repeats[first_rows].astype(np.int64) if len(repeats) else None
    groups = np.repeat(np.arange(len(first_starts) - 1), np.diff(first_starts.astype(np.int64)))
    labels, path = [groups], []
    counts, most = [len(first_starts) - 1], 2 * len(first_rows) or math.inf
    sets, row, G, excess = block
    row = row.tolist()
    for i, members in enumerate(sets.tolist()):
        y = members.pop()
        if members != path:
            shared = 0
            while shared < len(path) and path[shared] == members[shared]:
                shared += 1
            del labels[shared + 1 :], counts[shared + 1 :]
            path = members
            for v in path[shared:]:
                one, count = labels[-1] * arity[v] + columns[v], counts[-1] * arity[v]
                if count > most:
                    number = np.cumsum(np.bincount(one) > 0)
                    one, count = number[one] - 1, int(number[-1])
                labels.append(one)
                counts.append(count)
        sizes = np.bincount(labels[-1] * arity[y] + columns[y], times)
        if times is not None:
            sizes = sizes.astype(np.int64)
        G[i] = f[row[i]].take(sizes).sum()
        if len(excess):
            excess[i] = sizes.sum() - np.count_nonzero(sizes)
