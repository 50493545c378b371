"""Partitioning rows by a stem and packing them into bit columns: the first part of counting.

:mod:`parentage.kernels.counting` has the whole idea and the names of the arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.kernels._options import INLINE, JIT, njit
from parentage.kernels.bits import U, popcount, transpose

HEAVIEST = 33  # bits of how often a row occurs, and one more


class Partition(NamedTuple):
    """The rows by the first ``d`` members of a stem, for every depth ``d``."""

    rows: npt.NDArray[np.uint32]
    """``[depth, position]``: the rows, group after group."""
    starts: npt.NDArray[np.uint32]
    """``[depth, group]``: where a group starts in ``rows[depth]``."""
    n_groups: npt.NDArray[np.int64]
    """``[depth]``."""
    path: npt.NDArray[np.int64]
    """``[depth]``: the member that leads from one depth to the next."""
    tally: npt.NDArray[np.int64]
    """``[state]``: scratch."""
    place: npt.NDArray[np.int64]
    """``[state]``: scratch."""


class Groups(NamedTuple):
    """The groups of a stem: group ``g`` is ``rows[starts[g]:starts[g + 1]]``."""

    rows: npt.NDArray[np.uint32]
    starts: npt.NDArray[np.uint32]
    repeats: npt.NDArray[np.uint32]
    """``[row]``: how often it occurs; empty: once, each."""


class Columns(NamedTuple):
    """Where the bit columns of the variables behind a stem are, and where they come from."""

    first: npt.NDArray[np.int64]
    """``[variable]``: its first column."""
    blocks: npt.NDArray[np.int64]
    """``[block]``: a word of a row with states that are packed."""
    pick: npt.NDArray[np.int64]
    """``[block, 0 … 1]``: first column of a block and the end of its columns;
    ``[column, 2]``: the bit of that word which becomes the column."""
    needed: npt.NDArray[np.bool_]
    """``[variable]``: scratch, False between calls."""


class BitMatrix(NamedTuple):
    """Rows as bits: ``bits[word * stride + column]``."""

    bits: npt.NDArray[np.uint64]
    stride: int
    """Columns, rounded up to whole sweeps."""


class Pieces(NamedTuple):
    """Where sets of rows are in the bit matrix, groups or cells.

    Set ``g`` has the pieces ``start[g] … start[g + 1] − 1``, each some rows of a word.
    """

    word: npt.NDArray[np.uint64]
    """``[piece]``: a word of the bit matrix, times its stride."""
    mask: npt.NDArray[np.uint64]
    """``[piece]``: the rows in it."""
    shift: npt.NDArray[np.uint8]
    """``[piece]``: a row stands for 2^shift equal ones; falling within a set."""
    start: npt.NDArray[np.int64]
    """``[set]``."""


class OpenWords(NamedTuple):
    """The words that rows are being put into, one for each power of two that a row stands for."""

    rows: npt.NDArray[np.uint32]
    """``[power, bit]``."""
    word: npt.NDArray[np.int64]
    """``[power]``: which word it is; −1: there is none."""
    height: npt.NDArray[np.int64]
    """``[power]``: rows in it."""
    square: npt.NDArray[np.uint64]
    """``[bit]``: scratch."""


@njit(**INLINE)
def whole_table(first_rows, first_starts, stem, arity, repeated):
    """Return the :class:`Partition` at depth 0, with room for a stem of ``stem`` members.

    Where rows are ``repeated`` a group may be a single one of them.
    """
    n_rows = len(first_rows)
    widest = np.int64(0)
    for x in range(len(arity)):
        widest = max(widest, arity[x])
    rows = np.empty((stem + 1, n_rows + widest), np.uint32)
    most_groups = n_rows if repeated else n_rows // 2
    starts = np.empty((stem + 1, max(most_groups, len(first_starts)) + 2), np.uint32)
    n_groups = np.empty(stem + 1, np.int64)
    for i in range(n_rows):  # element by element: slice assignment costs seconds of compilation
        rows[0, i] = first_rows[i]
    for g in range(len(first_starts)):
        starts[0, g] = first_starts[g]
    n_groups[0] = len(first_starts) - 1
    path = np.empty(stem, np.int64)
    return Partition(
        rows, starts, n_groups, path, np.empty(widest, np.int64), np.empty(widest, np.int64)
    )


@njit(**INLINE)
def room_for_columns(n_variables, width):
    """Return :class:`Columns` not laid out yet, with room for ``width`` of them."""
    return Columns(
        np.empty(n_variables, np.int64),
        np.empty(width, np.int64),
        np.empty((width, 3), np.int64),
        np.zeros(n_variables, np.bool_),
    )


@njit(**JIT)
def split_groups(column, arity, partition, d, repeats):
    """Split every group at depth ``d`` by the states of one variable, for the next depth.

    Groups of one row that occurs once are dropped. The rows of a depth have room for ``arity``
    more: dropped rows are written there.
    """
    rows, starts, out_rows = partition.rows[d], partition.starts[d], partition.rows[d + 1]
    out_starts, tally, place = partition.starts[d + 1], partition.tally, partition.place
    repeated = len(repeats) > 0
    end = 0
    n_out = 0
    out_starts[0] = 0
    waste = len(out_rows) - arity
    for g in range(partition.n_groups[d]):
        first = starts[g]
        last = starts[g + 1]
        for v in range(arity):
            tally[v] = 0
        if repeated:
            for i in range(first, last):
                v = column[rows[i]]
                tally[v] += 1
                place[v] = rows[i]
            for v in range(arity):
                if tally[v] == 1 and repeats[place[v]] == 1:
                    tally[v] = 0
        else:
            for i in range(first, last):
                tally[column[rows[i]]] += 1
            for v in range(arity):
                if tally[v] == 1:
                    tally[v] = 0
        new_end = end
        for v in range(arity):
            if tally[v] > 0:
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
    partition.n_groups[d + 1] = n_out


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
def column_from_bits(row_bits, first_bit, partition, d, column):
    """Write into ``column[row]`` the state of a variable in the rows of a depth.

    Its bits begin at ``first_bit``; the lowest that is set from there on is its own.
    """
    rows = partition.rows[d]
    for i in range(partition.starts[d][partition.n_groups[d]]):
        row = rows[i]
        word = first_bit >> 6
        state = -(first_bit & 63)
        left = row_bits[row, word] & (~U(0) << U(first_bit & 63))
        while left == U(0):
            word += 1
            state += 64
            left = row_bits[row, word]
        column[row] = state + np.int64(popcount((left & (~left + U(1))) - U(1)))


@njit(**JIT)
def partition_by_stem(stem, depth, arity, offset, codes, row_bits, column, repeats, partition):
    """Partition the rows by the stem, keeping what it shares with the path taken before.

    ``depth`` is that of the last stem. Returns the new one. Where there are no ``codes``, states
    are found in ``row_bits`` and written to ``column[row]``.
    """
    path = partition.path
    d = 0
    while d < depth and path[d] == stem[d]:
        d += 1
    while d < len(stem):
        x = np.int64(stem[d])
        if codes.shape[1] > 0:
            split_groups(codes[x], arity[x], partition, d, repeats)
        else:
            column_from_bits(row_bits, offset[x], partition, d, column)
            split_groups(column, arity[x], partition, d, repeats)
        path[d] = x
        d += 1
    return d


@njit(**JIT)
def choose_columns(members, stem, arity, offset, columns):
    """Lay out the bit columns of all variables behind the stem, the first ``stem`` members.

    Returns the number of blocks and of columns.
    """
    column, blocks, pick, needed = columns
    for i in range(len(members)):
        for t in range(stem, members.shape[1]):
            needed[members[i, t]] = True
    n_columns = 0
    n_blocks = 0
    for x in range(len(needed)):
        if needed[x]:
            needed[x] = False
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


@njit(**INLINE)
def room_for_pieces(most_pieces, most_sets):
    """Return :class:`Pieces` without any."""
    return Pieces(
        np.empty(most_pieces, np.uint64),
        np.empty(most_pieces, np.uint64),
        np.empty(most_pieces, np.uint8),
        np.empty(most_sets + 1, np.int64),
    )


@njit(**INLINE)
def open_words():
    """Return :class:`OpenWords` without any."""
    return OpenWords(
        np.empty((HEAVIEST, 64), np.uint32),
        np.full(HEAVIEST, -1, np.int64),
        np.empty(HEAVIEST, np.int64),
        np.empty(64, np.uint64),
    )


@njit(**JIT)
def pack_word(power, opened, blocks, pick, row_bits, matrix):
    """Transpose the rows of the open word of a power into columns; it is open no more.

    The columns between the last one and the stride are cleared: sweeps run over them, and what
    they count is looked up in f.
    """
    bits, stride = matrix
    rows, words, heights, square = opened
    height, base = heights[power], words[power] * stride
    n_columns = pick[len(blocks) - 1, 1]
    for k in range(len(blocks)):
        block = blocks[k]
        for i in range(height):
            square[i] = row_bits[rows[power, i], block]
        for i in range(height, 64):
            square[i] = U(0)
        transpose(square)
        for c in range(pick[k, 0], pick[k, 1]):
            bits[base + c] = square[pick[c, 2]]
    for c in range(n_columns, stride):
        bits[base + c] = U(0)
    words[power] = -1


@njit(**JIT)
def rows_of_power(g, power, groups):
    """Return how many rows of a group have this power of two in how often they occur."""
    rows, starts, repeats = groups
    first, last = np.int64(starts[g]), np.int64(starts[g + 1])
    if len(repeats) == 0:
        return last - first
    n_rows = np.int64(0)
    for i in range(first, last):
        times = repeats[rows[i]] >> np.uint32(power)
        if times == 0:
            break
        n_rows += np.int64(times & 1)
    return n_rows


@njit(**JIT)
def pack(groups, blocks, pick, row_bits, matrix, pieces, opened):
    """Transpose the rows of every group into bit columns; note where each group is.

    Groups share words: transposing a word takes as long for one row as for 64. But a group has no
    more pieces than if it began a word of its own, because every sweep goes through all of them.

    A row that occurs 5 times is one bit in a word whose bits stand for 4 rows and one in a word
    whose bits stand for 1. Within a group rows with more binary digits come first.
    """
    rows, starts, repeats = groups
    piece_word, piece_mask, piece_shift, piece_start = pieces
    picked, words, heights, _ = opened
    n_words, end = np.int64(0), np.int64(0)
    for g in range(len(starts) - 1):
        piece_start[g] = end
        first, power = np.int64(starts[g]), np.int64(0)
        while len(repeats) > 0 and repeats[rows[first]] >> np.uint32(power + 1) > 0:
            power += 1
        while power >= 0:
            n_rows = rows_of_power(g, power, groups)
            fits = (heights[power] + n_rows + 63) >> 6 == (n_rows + 63) >> 6
            if words[power] >= 0 and n_rows > 0 and not fits:
                pack_word(power, opened, blocks, pick, row_bits, matrix)
            i = first
            while n_rows > 0:
                if words[power] < 0:
                    words[power], heights[power] = n_words, 0
                    n_words += 1
                low = heights[power]
                high = min(low + n_rows, 64)
                k = low
                while k < high:
                    if len(repeats) == 0 or repeats[rows[i]] >> np.uint32(power) & 1:
                        picked[power, k] = rows[i]
                        k += 1
                    i += 1
                n_rows -= high - low
                heights[power] = high
                piece_word[end] = U(words[power] * matrix.stride)
                piece_mask[end] = (~U(0) >> U(64 - (high - low))) << U(low)
                piece_shift[end] = power
                end += 1
                if high == 64:
                    pack_word(power, opened, blocks, pick, row_bits, matrix)
            power -= 1
    piece_start[len(starts) - 1] = end
    for power in range(HEAVIEST):
        if words[power] >= 0:
            pack_word(power, opened, blocks, pick, row_bits, matrix)
