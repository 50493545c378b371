"""Rows as numbers: the partition by some variables as a label per row, and equal rows merged.

**Labels.** Joining a variable numbers the pairs (label, state) that occur in the order of first
sight. Where few pairs are possible a table of them is looked up, otherwise a hash table with linear
probing.

**Equal rows** are found in one pass over blocks of rows. A row is packed into as few 64-bit words
as its states need. ``keys[row, word]`` are the distinct rows in the order of first sight,
``repeats[row]`` how often each was seen, and ``slots`` an open hash table (linear probing) of their
numbers, −1 where it is free.
"""

from __future__ import annotations

import math

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


def first_seen(labels):
    """Number what occurs in the order of first sight: a number for each, and where each was first.

    >>> [found.tolist() for found in first_seen(np.array([7, 3, 7, 5]))]
    [[0, 1, 0, 2], [0, 1, 3]]
    """
    _, first, which = np.unique(labels, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    return number[which], first[order]


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


def short_merge(codes, times, word, shift, keys, repeats, slots, found, sieve):
    """Return about how many microseconds the plain :func:`merge_block` takes."""
    return math.inf if sieve else 0.5 * (found + codes.shape[1]) * (1 + keys.shape[1])


@njit(work=short_merge, **JIT)
def merge_block(codes, times, word, shift, keys, repeats, slots, found, sieve):
    """Look up a block of rows and count them; return how many distinct rows there are then.

    Parameters
    ----------
    codes
        ``uint16[variable, row]``.
    times
        ``uint32[row]``: how often each row occurs; empty: once, each.
    word, shift
        ``int64[variable]``: where the state of a variable is in a key.
    keys, repeats, slots
        ``uint64[row, word]``, ``uint32[row]`` and ``int32[a power of two]``, with room for all rows
        of the block.
    found
        Distinct rows before it.
    sieve
        Only one row in ``2^sieve`` is looked at: equal rows all or none of them.
    """
    n_variables, n_rows = codes.shape
    packed = np.zeros((n_rows, keys.shape[1]), np.uint64)
    for v in range(n_variables):
        for i in range(n_rows):
            packed[i, word[v]] |= U(codes[v, i]) << U(shift[v])
    for i in range(n_rows):
        if sieve > 0 and hash_of(packed[i]) >> U(64 - sieve) != U(0):
            continue
        at = slot_of(packed[i], keys, slots)
        if slots[at] < 0:
            slots[at] = found
            for w in range(keys.shape[1]):
                keys[found, w] = packed[i, w]
            repeats[found] = 0
            found += 1
        repeats[slots[at]] += times[i] if len(times) > 0 else np.uint32(1)
    return found


@merge_block.as_numpy
def _merge_block(codes, times, word, shift, keys, repeats, slots, found, _sieve):
    before = int(found)
    packed = np.zeros((before + codes.shape[1], keys.shape[1]), np.uint64)
    packed[:before] = keys[:before]
    for v, column in enumerate(codes):
        packed[before:, word[v]] |= column.astype(np.uint64) << np.uint64(shift[v])
    labels = np.zeros(len(packed), np.int64)
    for w in range(packed.shape[1]):
        here, first = first_seen(packed[:, w])
        labels, first = first_seen(labels * len(first) + here)
    end = len(first)
    keys[before:end] = packed[first[before:]]
    repeats[before:end] = 0
    each = times.astype(np.int64) if len(times) else None
    repeats[:end] += np.bincount(labels[before:], each, end).astype(np.uint32)
    enter_rows(keys, before, end, slots)
    return end


def enter_rows(keys, begin, end, slots):
    """Enter the distinct rows ``begin … end − 1`` into the slots, all at once."""
    waiting, last = np.arange(begin, end), np.uint64(len(slots) - 1)
    mixed = np.zeros(len(waiting), np.uint64)
    for w in range(keys.shape[1]):
        mixed = (mixed ^ keys[begin:end, w]) * SPREAD
        mixed ^= mixed >> U(29)
    at = mixed & last
    while len(waiting):
        free = slots[at] < 0
        slots[at[free]] = waiting[free]
        still = slots[at] != waiting
        waiting, at = waiting[still], (at[still] + U(1)) & last


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
