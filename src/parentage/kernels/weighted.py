"""Count sets over rows that have weights (:mod:`parentage.scoring.weighted`).

A set is counted by one pass over the rows, so the rows have to be few. There may be many
completions of a row that lacks cells, but most differ in variables that a set does not have. Sets
come in lexicographic order: those that begin with a, b have no other member before the one behind
b. So for each beginning the rows are *projected* to its members and the variables that can follow,
and rows that are equal then become one, with the sum of their weights. The rows of a, c (c behind
b) are the rows of a, b projected further, and those of a, b, c come from those of a, b. Rows are
packed into words, a few bits a variable, so that to project is to mask and equality is that of
words: the sums are exactly those of the rows as they were.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.kernels._options import JIT, njit
from parentage.kernels.labels import SPREAD, join_labels

if TYPE_CHECKING:
    from collections.abc import Iterable

U = np.uint64

WORTH_MERGING = 4
"""Sets that have to follow for rows to be merged: finding equal rows costs as much as counting
some sets."""


class Layout(NamedTuple):
    """Where variables are when rows are packed into words.

    Parameters
    ----------
    word, shift
        ``int64[variable]``: where the state of a variable begins.
    ones
        ``uint64[variable]``: as many ones as it has bits.
    """

    word: npt.NDArray[np.int64]
    shift: npt.NDArray[np.int64]
    ones: npt.NDArray[np.uint64]

    @property
    def n_words(self) -> int:
        """Words of a row."""
        return int(self.word[-1]) + 1

    def pack(
        self, codes: npt.NDArray[np.integer[Any]], variables: Iterable[int]
    ) -> npt.NDArray[np.uint64]:
        """Pack ``codes[variable, row]`` of some variables into ``uint64[word, row]``."""
        words = np.zeros((self.n_words, codes.shape[1]), np.uint64)
        for v, column in zip(variables, codes, strict=True):
            words[self.word[v]] |= column.astype(np.uint64) << U(self.shift[v])
        return words

    def unpack(self, words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint16]:
        """Return ``uint16[variable, row]``."""
        codes = np.empty((len(self.word), words.shape[1]), np.uint16)
        for v, ones in enumerate(self.ones):
            codes[v] = (words[self.word[v]] >> U(self.shift[v])) & ones
        return codes


def layout_of(sizes: Iterable[int]) -> Layout:
    """Give each variable the bits that its number of states needs, in one word each."""
    bits = [(int(r) - 1).bit_length() for r in sizes]
    word, shift, at, used = [], [], 0, 0
    for needed in bits:
        if used + needed > 64:
            at, used = at + 1, 0
        word.append(at)
        shift.append(used if needed else 0)
        used += needed
    ones = [(1 << needed) - 1 for needed in bits]
    return Layout(np.array(word, np.int64), np.array(shift, np.int64), np.array(ones, np.uint64))


class Packed(NamedTuple):
    """Rows in words.

    Parameters
    ----------
    words
        ``uint64[word, row]``.
    weights
        ``int64[row]``.
    word, shift, ones
        As in :class:`Layout`, for ``variable + 1``: the last is the joint state of the context.
    arity
        ``int64[variable + 1]``.
    mask
        ``uint64[variable + 1, word]``: the bits of a variable and all behind it, the context
        among them.
    """

    words: npt.NDArray[np.uint64]
    weights: npt.NDArray[np.int64]
    word: npt.NDArray[np.int64]
    shift: npt.NDArray[np.int64]
    ones: npt.NDArray[np.uint64]
    arity: npt.NDArray[np.int64]
    mask: npt.NDArray[np.uint64]


@njit(**JIT)
def merge_rows(words, weights, label, n_rows, mask):
    """Mask rows and merge equal ones, in place; return how many are left.

    ``words`` is ``uint64[word, row]``, ``weights`` and ``label`` are ``int64[row]``; rows with
    the same words have the same label.
    """
    bits = 1
    while 1 << bits < 2 * n_rows:
        bits += 1
    shift = U(64 - bits)
    last = U((1 << bits) - 1)
    slots = np.full(1 << bits, -1, np.int32)
    n_words = len(mask)
    found = 0
    for row in range(n_rows):
        h = U(0)
        for w in range(n_words):
            h = (h ^ (words[w, row] & mask[w])) * SPREAD
            h ^= h >> U(29)
        slot = (h * SPREAD) >> shift
        at = slots[slot]
        while at >= 0:
            equal = True
            for w in range(n_words):
                if words[w, at] != words[w, row] & mask[w]:
                    equal = False
                    break
            if equal:
                break
            slot = (slot + U(1)) & last
            at = slots[slot]
        if at >= 0:
            weights[at] += weights[row]
            continue
        slots[slot] = found
        for w in range(n_words):
            words[w, found] = words[w, row] & mask[w]
        weights[found] = weights[row]
        label[found] = label[row]
        found += 1
    return found


@njit(**JIT)
def states_of(words, v, packed, n_rows, out):
    """Write the states of a variable into ``out``: ``uint16[row]``."""
    word, shift, ones = words[packed.word[v]], U(packed.shift[v]), packed.ones[v]
    for row in range(n_rows):
        out[row] = (word[row] >> shift) & ones


@njit(**JIT)
def sets_alike(members, i, d, most):
    """Return how many sets from the i-th on have its first d members, at most so many."""
    n_sets = len(members)
    alike = 1
    while alike < most and i + alike < n_sets:
        for j in range(d):
            if members[i + alike, j] != members[i, j]:
                return alike
        alike += 1
    return alike


@njit(**JIT)
def count_weighted(members, packed, f, G):
    """Set ``G[i]`` to Σ f(weight of a joint state) of set i.

    Parameters
    ----------
    members
        ``uint16[set, member]``, in lexicographic order.
    packed
        The rows.
    f
        ``int64[weight]``.
    G
        ``int64[set]``, filled.
    """
    n_sets, s = members.shape
    n_words, n_base = packed.words.shape
    context = len(packed.arity) - 1
    column = np.empty(n_base, np.uint16)
    # level d + 1 holds the rows of the first d + 1 members; before: labels without the last one
    words = np.empty((s, n_words, n_base), np.uint64)
    weights = np.empty((s, n_base), np.int64)
    before = np.empty((s, n_base), np.int64)
    label = np.empty((s, n_base), np.int64)
    size = np.zeros(s, np.int64)
    counts = np.zeros(s, np.int64)
    kept = np.zeros(n_words, np.uint64)
    words[0] = packed.words
    weights[0] = packed.weights
    size[0] = n_base
    zero = np.zeros(n_base, np.int64)
    states_of(words[0], context, packed, n_base, column)
    counts[0] = join_labels(zero, np.int64(1), column, packed.arity[context], label[0])
    for i in range(n_sets):
        same = 0
        if i > 0:
            while same < s - 1 and members[i, same] == members[i - 1, same]:
                same += 1
        for d in range(same, s - 1):
            v = np.int64(members[i, d])
            n = size[d + 1]
            if i == 0 or d > same:  # from the beginning one shorter; else from the sibling before
                n = size[d]
                words[d + 1, :, :n] = words[d, :, :n]
                weights[d + 1, :n] = weights[d, :n]
                before[d + 1, :n] = label[d, :n]
            if sets_alike(members, i, d, WORTH_MERGING) == WORTH_MERGING:
                kept[:] = packed.mask[v]
                for j in range(d):
                    m = np.int64(members[i, j])
                    kept |= packed.mask[m] & ~packed.mask[m + 1]
                n = merge_rows(words[d + 1], weights[d + 1], before[d + 1], n, kept)
            size[d + 1] = n
            states_of(words[d + 1], v, packed, n, column)
            counts[d + 1] = join_labels(
                before[d + 1, :n], counts[d], column[:n], packed.arity[v], label[d + 1, :n]
            )
        G[i] = sum_of_cells(
            np.int64(members[i, s - 1]), packed, words[s - 1], weights[s - 1], label[s - 1],
            size[s - 1], counts[s - 1], f,
        )  # fmt: skip


@njit(**JIT)
def sum_of_cells(v, packed, words, weights, label, n_rows, n_labels, f):
    """Return Σ f(weight) over the pairs of a label and a state of variable v."""
    r = packed.arity[v]
    word, shift, ones = words[packed.word[v]], U(packed.shift[v]), packed.ones[v]
    total = np.zeros(n_labels * r, np.int64)
    for row in range(n_rows):
        total[label[row] * r + np.int64((word[row] >> shift) & ones)] += weights[row]
    g = np.int64(0)
    for cell in range(len(total)):
        g += f[total[cell]]
    return g
