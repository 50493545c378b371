"""Cells of stem + one: lists of words of the bit matrix, each with its mask. A part of counting.

:mod:`parentage.kernels.counting` has the whole idea and the names of the arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.kernels._options import INLINE, JIT, njit
from parentage.kernels.bits import U, popcount


class Cells(NamedTuple):
    """The cells of stem + one: cell ``c`` is ``start[c] … start[c + 1] − 1`` of word and mask."""

    word: npt.NDArray[np.int64]
    """``[k]``: a word of the bit matrix, times its stride."""
    mask: npt.NDArray[np.uint64]
    """``[k]``: the rows of the cell in it."""
    shift: npt.NDArray[np.uint8]
    """``[k]``: a row stands for 2^shift equal ones; falling within a cell."""
    start: npt.NDArray[np.int64]
    """``[cell]``."""
    total: npt.NDArray[np.uint64]
    """``[cell * stride + column]``: rows of the cell in a column, where it has many words."""


@njit(**INLINE)
def room_for_cells(most_words, most_groups):
    """Return :class:`Cells` without any."""
    return Cells(
        np.empty(most_words, np.int64),
        np.empty(most_words, np.uint64),
        np.empty(most_words, np.uint8),
        np.empty(most_groups, np.int64),
        np.empty(1, np.uint64),
    )


@njit(**INLINE)
def more_totals(cells, room):
    """Return the cells with room for so many totals."""
    word, mask, shift, start, total = cells
    if len(total) < room:
        total = np.empty(2 * room, np.uint64)
    return Cells(word, mask, shift, start, total)


@njit(**INLINE)
def cells_of_groups(n_groups, matrix, cells):
    """Take the groups themselves as cells (sets of two have no *one*)."""
    word_start, stride = matrix.word_start, matrix.stride
    for word in range(word_start[n_groups]):
        cells.word[word] = word * stride
        cells.mask[word] = ~U(0)
        cells.shift[word] = matrix.shift[word]
    for g in range(n_groups + 1):
        cells.start[g] = word_start[g]
    return n_groups


@njit(**JIT)
def cells_of_one(first_column, arity, n_groups, matrix, cells):
    """Split the groups by the states of one variable into cells; cells of one row are dropped."""
    bits, word_start, shift, stride = matrix
    cell_word, cell_mask, cell_shift, cell_start, _ = cells
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
                    cell_shift[end] = shift[word]
                    end += 1
                    n_rows += popcount(mask) << U(shift[word])
            if n_rows < U(2):
                end = begin
            else:
                n_cells += 1
                cell_start[n_cells] = end
    return n_cells


@njit(**JIT)
def cell_totals(c0, n_cells, matrix, cells):
    """Count ``cells.total`` from column c0 on, where a cell has many words."""
    bits, _, _, stride = matrix
    cell_word, cell_mask, cell_shift, cell_start, total = cells
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
