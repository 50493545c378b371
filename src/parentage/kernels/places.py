"""Kernels that choose where to look for local cuts: small sets of variables grown on a support.

``arc[n, n]`` holds the values of a fractional solution, ``arc[v, u]`` that of u → v; ``tie[n, n]``
says, symmetrically, how much two variables belong together. Every place found is cut down to the
largest strongly connected part of its arcs, for only cycles are cut off.
"""

from __future__ import annotations

import numpy as np

from parentage.kernels._options import JIT, njit
from parentage.kernels.disturb import draw

POSITIVE = 1e-7
"""Arcs of less value do not count."""


@njit(**JIT)
def core(members, count, arc):
    """Keep the largest strongly connected part of ``members[:count]``, in place; return its size.

    The members must be rising and at most 62; of equal parts the one of the first member stays.
    """
    reach = np.zeros(count, np.int64)
    for i in range(count):
        for j in range(count):
            if arc[members[i], members[j]] > POSITIVE:
                reach[i] |= 1 << j
    for via in range(count):
        for i in range(count):
            if (reach[i] >> via) & 1:
                reach[i] |= reach[via]
    best, most = 0, 0
    for i in range(count):
        size = 0
        for j in range(count):
            if (reach[i] >> j) & 1 and (reach[j] >> i) & 1:
                size += 1
        if size > most:
            best, most = i, size
    kept = 0
    for j in range(count):
        if (reach[best] >> j) & 1 and (reach[j] >> best) & 1:
            members[kept] = members[j]
            kept += 1
    return kept


@njit(**JIT)
def insert(members, count, v):
    """Insert a variable into the rising ``members[:count]``; return the new count."""
    at = count
    while at > 0 and members[at - 1] > v:
        members[at] = members[at - 1]
        at -= 1
    members[at] = v
    return count + 1


@njit(**JIT)
def grow(seeds, sizes, noise, tie, arc, state, places):
    """Grow a place from each of ``seeds[c, 2]`` (−1: only one seed) to at most ``sizes[c]``.

    Next comes the variable with the strongest ties to those inside, each tie disturbed by up to
    ``noise[c]`` times itself. Writes rising members into ``places[c, ·]``; returns their counts.
    """
    n = tie.shape[0]
    counts = np.zeros(seeds.shape[0], np.int64)
    inside, link = np.empty(n, np.bool_), np.empty(n)
    for c in range(seeds.shape[0]):
        inside[:] = False
        link[:] = 0.0
        count = 0
        new = seeds[c, 0]
        while new >= 0:
            inside[new] = True
            count = insert(places[c], count, new)
            for v in range(n):
                link[v] += tie[new, v]
            if count == 1 and seeds[c, 1] >= 0:
                new = seeds[c, 1]
                continue
            new = -1
            if count == sizes[c]:
                break
            most = 1e-6
            for v in range(n):
                if link[v] > 1e-6 and not inside[v]:
                    strength = link[v] * (1.0 + noise[c] * draw(state, 1 << 20) / (1 << 20))
                    if strength > most:
                        most, new = strength, v
        counts[c] = core(places[c], count, arc)
    return counts


@njit(**JIT)
def overlap(words, other):
    """Count the bits two sets share, and those only the other has."""
    common, extra = 0, 0
    for w in range(words.shape[0]):
        both, only = words[w] & other[w], other[w] & ~words[w]
        while both:
            both &= both - np.uint64(1)
            common += 1
        while only:
            only &= only - np.uint64(1)
            extra += 1
    return common, extra


@njit(**JIT)
def unite(sets, counts, starts, sizes, arc, state, places):
    """Unite overlapping sets ``uint64[c, W]`` of ``counts[c]`` members while they fit.

    From each of ``starts`` on, the set that shares most for what it adds joins, until nothing fits
    into ``sizes``; every stage is a place. Returns the counts of the places written.
    """
    n_words = sets.shape[1]
    found = np.zeros(places.shape[0], np.int64)
    n_found = 0
    words = np.empty(n_words, np.uint64)
    for s in range(starts.shape[0]):
        for w in range(n_words):
            words[w] = sets[starts[s], w]
        size = counts[starts[s]]
        while n_found < places.shape[0]:
            best, most = -1, 0.0
            for c in range(sets.shape[0]):
                common, extra = overlap(words, sets[c])
                if common and extra and size + extra <= sizes[s]:
                    share = common / extra * (0.5 + draw(state, 1 << 20) / (1 << 20))
                    if share > most:
                        best, most = c, share
            if best < 0:
                break
            size = 0
            for w in range(n_words):
                words[w] |= sets[best, w]
                for b in range(64):
                    if (words[w] >> np.uint64(b)) & np.uint64(1):
                        places[n_found, size] = 64 * w + b
                        size += 1
            found[n_found] = core(places[n_found], size, arc)
            n_found += 1
    return found[:n_found]
