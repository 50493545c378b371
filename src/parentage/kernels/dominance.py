"""Kernels on candidate sets as bit masks: which sets contain which.

Axes: ``m`` sets, all children together, cut by ``offsets[n + 1]``; ``W`` 64-bit words per mask.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from parentage.kernels._options import JIT, njit

if TYPE_CHECKING:
    from parentage.arrays import Flags, Floats, Ints, Words

FEW = 12
"""Sets of at most so many parents are compared with their subsets instead of with all sets."""


@njit(wraps=True, **JIT)
def number_of(v: int) -> np.uint64:
    """Return a fixed random number for a variable (splitmix64)."""
    z = (np.uint64(v) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(**JIT)
def contained(masks: Words, inner: int, outer: int) -> bool:
    """Whether one set is a subset of another."""
    beyond = np.uint64(0)
    for w in range(masks.shape[1]):
        beyond |= masks[inner, w] & ~masks[outer, w]
    return bool(beyond == np.uint64(0))


@njit(**JIT)
def members_of(mask: Words, found: Ints) -> int:
    """Fill ``found`` with the members of a set, as many as it has room for; return their number."""
    count = 0
    for w in range(mask.shape[0]):
        rest = mask[w]
        while rest != np.uint64(0):
            lowest = rest & (~rest + np.uint64(1))
            v = 64 * w
            while lowest > np.uint64(1):
                lowest >>= np.uint64(1)
                v += 1
            if count < found.shape[0]:
                found[count] = v
            count += 1
            rest &= rest - np.uint64(1)
    return count


@njit(work=lambda _sets, _starts, parents, _masks: 30 + 0.1 * len(parents), **JIT)
def put_members(
    sets: Ints,
    starts: Ints,
    parents: Ints,
    masks: Words,
) -> None:
    """Add to ``masks[m, W]`` the members of ``sets[m]``.

    Those of set i are ``parents[starts[i] … starts[i + 1] − 1]``.
    """
    for j in range(sets.shape[0]):
        for k in range(starts[sets[j]], starts[sets[j] + 1]):
            p = parents[k]
            masks[j, p >> 6] |= np.uint64(1) << np.uint64(p & 63)


@put_members.as_numpy
def _put_members(sets, starts, parents, masks):
    sizes = starts[sets + 1] - starts[sets]
    of = np.repeat(np.arange(len(sets)), sizes)
    at = np.arange(len(of)) + np.repeat(starts[sets] - np.cumsum(sizes) + sizes, sizes)
    p = parents[at]
    np.bitwise_or.at(masks, (of, p >> 6), np.uint64(1) << (p & 63).astype(np.uint64))


@njit(**JIT)
def slots_for(sets: int) -> int:
    """Return how large a hash table of so many sets is: a power of two, at most half full."""
    room = 2
    while room < 2 * sets:
        room *= 2
    return room


@njit(**JIT)
def enter_set(i: int, key: np.uint64, slots: Ints, room: int) -> None:
    """Put set ``i`` into the first ``room`` of ``slots``, a hash table."""
    last = np.uint64(room - 1)
    at = (key ^ (key >> np.uint64(32))) & last
    while slots[at] >= 0:
        at = (at + np.uint64(1)) & last
    slots[at] = i


@njit(**JIT)
def find_inside(
    outer: int,
    key: np.uint64,
    slots: Ints,
    room: int,
    keys: Words,
    masks: Words,
) -> int:
    """Return another set of this key that is contained in set ``outer``; −1 if there is none.

    A key is the sum of fixed random numbers of the members. A hit is compared bit by bit, so the
    answer does not depend on those numbers.
    """
    last = np.uint64(room - 1)
    at = (key ^ (key >> np.uint64(32))) & last
    while slots[at] >= 0:
        other = slots[at]
        if keys[other] == key and other != outer and contained(masks, other, outer):
            return int(other)
        at = (at + np.uint64(1)) & last
    return -1


@njit(wraps=True, **JIT)
def keys_of_subsets(members: Ints, size: int, sums: Words) -> None:
    """Fill ``sums[2^size]`` with the keys of all subsets of a set, itself last."""
    sums[0] = np.uint64(0)
    for subset in range(1, 1 << size):
        lowest = 0
        while not (subset >> lowest) & 1:
            lowest += 1
        sums[subset] = sums[subset & (subset - 1)] + number_of(members[lowest])


@njit(wraps=True, **JIT)
def keys_of(masks: Words) -> Words:
    """Return ``[m]``: the keys of all sets."""
    keys = np.zeros(masks.shape[0], np.uint64)
    members = np.empty(64 * masks.shape[1], np.int64)
    for i in range(masks.shape[0]):
        for j in range(members_of(masks[i], members)):
            keys[i] += number_of(members[j])
    return keys


@njit(**JIT)
def most_slots(offsets: Ints) -> int:
    """Return how large a hash table of the sets of any child is."""
    most = 2
    for child in range(offsets.shape[0] - 1):
        most = max(most, slots_for(offsets[child + 1] - offsets[child]))
    return most


@njit(work=lambda offsets, masks: 8 * len(masks) + 0.01 * (np.diff(offsets) ** 2).sum(), **JIT)
def undominated(offsets: Ints, masks: Words) -> Flags:
    """Mark the sets that no earlier kept set of the same child is contained in.

    ``masks[m, W]``; the sets of a child stand by rising cost, so an earlier subset is never
    dearer and can take the place of the later set in any network.

    A small set has fewer subsets than there are sets before it, so these are looked up.
    """
    keep = np.zeros(masks.shape[0], np.bool_)
    kept = np.empty(masks.shape[0], np.int64)
    slots = np.empty(most_slots(offsets), np.int64)
    keys = keys_of(masks)
    members = np.empty(64 * masks.shape[1], np.int64)
    sums = np.empty(1 << FEW, np.uint64)
    for child in range(offsets.shape[0] - 1):
        room = slots_for(offsets[child + 1] - offsets[child])
        slots[:room] = -1
        n_kept = 0
        for i in range(offsets[child], offsets[child + 1]):
            size = members_of(masks[i], members)
            dominated = False
            if size <= FEW and (1 << size) < n_kept:
                keys_of_subsets(members, size, sums)
                for subset in range(1 << size):
                    if find_inside(i, sums[subset], slots, room, keys, masks) >= 0:
                        dominated = True
                        break
            else:
                for j in range(n_kept):
                    if contained(masks, kept[j], i):
                        dominated = True
                        break
            if not dominated:
                kept[n_kept] = i
                n_kept += 1
                keep[i] = True
                enter_set(i, keys[i], slots, room)
    return keep


@undominated.as_numpy
def _undominated(offsets, masks):
    keep = np.zeros(len(masks), np.bool_)
    for low, high in itertools.pairwise(offsets.tolist()):
        kept, end = np.empty((high - low, masks.shape[1]), np.uint64), 0
        for i in range(low, high):
            keep[i] = (kept[:end] & ~masks[i]).any(axis=1).all()
            if keep[i]:
                kept[end] = masks[i]
                end += 1
    return keep


@njit(work=lambda _offsets, masks, _scores: 200 * len(masks), **JIT)
def best_proper_subsets(
    offsets: Ints,
    masks: Words,
    scores: Floats,
) -> Floats:
    """Return for every set the best score of a proper subset in the same child's list; −∞: none.

    ``masks[m, W]``, ``scores[m]``; the sets of a child stand by falling score, and no set twice.
    Subsets of small sets are looked up, as in :func:`undominated`.
    """
    best = np.full(masks.shape[0], -np.inf)
    slots = np.empty(most_slots(offsets), np.int64)
    keys = keys_of(masks)
    members = np.empty(64 * masks.shape[1], np.int64)
    sums = np.empty(1 << FEW, np.uint64)
    for child in range(offsets.shape[0] - 1):
        low, high = offsets[child], offsets[child + 1]
        room = slots_for(high - low)
        slots[:room] = -1
        for i in range(low, high):
            enter_set(i, keys[i], slots, room)
        for i in range(low, high):
            size = members_of(masks[i], members)
            first = high
            if size <= FEW and (1 << size) < high - low:
                keys_of_subsets(members, size, sums)
                for subset in range((1 << size) - 1):
                    j = find_inside(i, sums[subset], slots, room, keys, masks)
                    if 0 <= j < first:
                        first = j
            else:
                for j in range(low, high):
                    if j != i and contained(masks, j, i):
                        first = j
                        break
            if first < high:
                best[i] = scores[first]
    return best
