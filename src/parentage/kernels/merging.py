"""Equal rows, found in one pass over blocks of rows: packed into words, looked up in a hash table.

A row is packed into as few 64-bit words as its states need. ``keys[row, word]`` are the distinct
rows in the order of first sight, ``repeats[row]`` how often each was seen, and ``slots`` an open
hash table (linear probing) of their numbers, −1 where it is free.
"""

from __future__ import annotations

import numpy as np

from parentage.kernels._options import JIT, njit
from parentage.kernels.labels import SPREAD, U


@njit(**JIT)
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


@njit(**JIT)
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


@njit(**JIT)
def enter_again(keys, found, slots):
    """Enter all distinct rows into a new table of slots."""
    for i in range(found):
        slots[slot_of(keys[i], keys, slots)] = i


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
