"""Rows as numbers: the partition by some variables as a label per row, and equal rows merged.

**Labels.** Joining a variable numbers the pairs (label, state) that occur in the order of first
sight. Where few pairs are possible a table of them is looked up, otherwise a hash table with linear
probing.

**Equal rows** are found in one pass: a row is packed into as few 64-bit words as its states need,
and ``slots`` is an open hash table (linear probing) of the numbers of distinct rows, −1 where it is
free.
"""

from __future__ import annotations

import numpy as np

from parentage.kernels._options import JIT, njit
from parentage.kernels.bits import SPREAD, U


@njit(wraps=True, **JIT)
def join_labels(labels, n_labels, column, n_states, out):
    """Write into ``out[row]`` the number of the pair (labels[row], column[row]).

    ``labels`` and ``out`` are ``int64[row]``, ``column`` is ``uint16[row]``; labels are below
    ``n_labels``, states below ``n_states``. Returns the number of pairs that occur.
    """
    n_rows = len(labels)
    found = np.int64(0)
    if n_labels * n_states <= 4 * n_rows:
        number = np.full(n_labels * n_states, -1, np.int64)
        for i in range(n_rows):
            pair = labels[i] * n_states + np.int64(column[i])
            if number[pair] < 0:
                number[pair] = found
                found += 1
            out[i] = number[pair]
        return found
    bits = 1
    while 1 << bits < 2 * n_rows:
        bits += 1
    shift = U(64 - bits)
    last = U((1 << bits) - 1)
    key = np.full(1 << bits, -1, np.int64)
    number = np.empty(1 << bits, np.int64)
    for i in range(n_rows):
        pair = labels[i] * n_states + np.int64(column[i])
        slot = (U(pair) * SPREAD) >> shift
        while key[slot] != pair and key[slot] >= 0:
            slot = (slot + U(1)) & last
        if key[slot] < 0:
            key[slot] = pair
            number[slot] = found
            found += 1
        out[i] = number[slot]
    return found


@njit(wraps=True, **JIT)
def hash_of(key):
    """Return a number for a row, as if by chance."""
    mixed = U(0)
    for w in range(len(key)):
        mixed = (mixed ^ key[w]) * SPREAD
        mixed ^= mixed >> U(29)
    return mixed


@njit(**JIT)
def slot_of(key, keys, slots):
    """Return the slot where a row is, or where it belongs."""
    last = U(len(slots) - 1)
    at = hash_of(key) & last
    while slots[at] >= 0:
        same = True
        for w in range(len(key)):
            same = same and keys[slots[at], w] == key[w]
        if same:
            break
        at = (at + U(1)) & last
    return at


@njit(
    wraps=True, work=lambda words, _weights, _label, n_rows, _mask: 6 * n_rows * len(words), **JIT
)
def merge_rows(words, weights, label, n_rows, mask):
    """Mask rows and merge equal ones, in place; return how many are left.

    ``words`` is ``uint64[word, row]``, ``weights`` and ``label`` are ``int64[row]``; rows with
    the same words have the same label.
    """
    bits = 1
    while 1 << bits < 2 * n_rows:
        bits += 1
    slots = np.full(1 << bits, -1, np.int32)
    n_words, keys = len(mask), words.T
    key = np.empty(n_words, np.uint64)
    found = 0
    for row in range(n_rows):
        for w in range(n_words):
            key[w] = words[w, row] & mask[w]
        slot = slot_of(key, keys, slots)
        if slots[slot] >= 0:
            weights[slots[slot]] += weights[row]
            continue
        slots[slot] = found
        for w in range(n_words):
            words[w, found] = key[w]
        weights[found] = weights[row]
        label[found] = label[row]
        found += 1
    return found
