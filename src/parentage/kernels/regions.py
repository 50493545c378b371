"""How an order search leaves a local optimum: random moves, and regions solved exactly.

A **region** gives a few variables their best sets at once, while all others keep theirs.

Insertions into an order change little at a time, but a better network may need a dozen arcs around
one place turned at once. So take a *region* R of up to ``w`` variables that hang together. Those
outside keep their sets; those inside choose again, and the best acyclic choice is found exactly
(the idea of BN-SLIM, Ramaswamy and Szeider 2021, with dynamic programming for their solver).

**Why that is a small problem.** For u outside let A(u) ⊆ R be the members from which a path leads
to u through variables outside alone. The sets outside are fixed, and so is A. A member v with the
set Π stands behind D(Π) = (Π ∩ R) ∪ ⋃ A(u) over the u ∈ Π outside. There is no cycle outside, so
every cycle passes through members, and there is one exactly if there is one among the arcs from
D(Π) to v. So members choose among the D(Π) like the variables of a network of w: dynamic
programming over the subsets that can stand first (Silander and Myllymäki 2006).

``offsets``, ``sets``, ``cost``, ``fit``, ``order`` and ``work`` are those of
:mod:`parentage.kernels.orders`; ``state[1]``, ``uint64``, is the state of the random numbers, which
are our own.
``naive_region`` in the tests tries all choices.
"""

from __future__ import annotations

import numpy as np

from parentage.kernels._options import JIT, njit
from parentage.kernels.bits import SPREAD, mixed

LEAST_GAIN = 1e-7
ROUNDING = 2.0**-44
"""Gains below the first, or below this share of what the region costs, are rounding."""

LOOKS_PER_CELL = 0.25
"""What a cell of the tables over subsets takes, in looks at a set."""


@njit(**JIT)
def overwrite(target, source):
    """Copy element by element: ``target[:] = source`` compiles for seconds, to raise errors."""
    for j in range(target.shape[0]):
        target[j] = source[j]


@njit(**JIT)
def shift(order, source, target):
    """Move the variable at one position to another; those between close up."""
    v = order[source]
    if target < source:
        for j in range(source, target, -1):
            order[j] = order[j - 1]
    else:
        for j in range(source, target):
            order[j] = order[j + 1]
    order[target] = v


@njit(**JIT)
def draw(state, below):
    """Draw a whole number below a limit (splitmix64; the state is the caller's)."""
    state[0] += SPREAD
    return int((mixed(state[0]) >> np.uint64(11)) % np.uint64(below))


@njit(**JIT)
def shuffle(values, state):
    """Permute an array at random (Fisher–Yates)."""
    for j in range(values.shape[0] - 1, 0, -1):
        k = draw(state, j + 1)
        values[j], values[k] = values[k], values[j]


@njit(**JIT)
def exchange_blocks(order, longest, state):
    """Exchange two neighbouring blocks of random lengths up to ``longest``."""
    n = order.shape[0]
    start = draw(state, n)
    middle = min(n, start + 1 + draw(state, longest))
    end = min(n, middle + 1 + draw(state, longest))
    block = order[start:middle].copy()
    for j in range(middle, end):
        order[start + j - middle] = order[j]
    for j in range(block.shape[0]):
        order[end - block.shape[0] + j] = block[j]


@njit(**JIT)
def order_of(fit, sets, order):
    """Fill in an order in which the parents of every set in ``fit[n]`` come first, if there is one.

    Otherwise the sets make a cycle.
    """
    n = fit.shape[0]
    parents = np.zeros(n, np.int64)
    first, children = links_of(fit, sets, False)
    for v in range(n):
        for k in range(sets.shape[1]):
            if sets[fit[v], k] < n:
                parents[v] += 1
    count = 0
    for v in range(n):
        if parents[v] == 0:
            order[count] = v
            count += 1
    done = 0
    while done < count:
        p = order[done]
        done += 1
        for i in range(first[p], first[p + 1]):
            v = children[i]
            parents[v] -= 1
            if parents[v] == 0:
                order[count] = v
                count += 1
    return bool(count == n)


@njit(**JIT)
def links_of(fit, sets, both_ways):
    """Return the children of every variable, or with ``both_ways`` its parents and children.

    Those of v are ``links[first[v] … first[v + 1] − 1]``.
    """
    n = fit.shape[0]
    first = np.zeros(n + 1, np.int64)
    for v in range(n):
        for k in range(sets.shape[1]):
            p = np.int64(sets[fit[v], k])
            if p < n:
                first[p + 1] += 1
                if both_ways:
                    first[v + 1] += 1
    for v in range(n):
        first[v + 1] += first[v]
    links, at = np.empty(first[n], np.int64), first.copy()
    for v in range(n):
        for k in range(sets.shape[1]):
            p = np.int64(sets[fit[v], k])
            if p < n:
                links[at[p]] = v
                at[p] += 1
                if both_ways:
                    links[at[v]] = p
                    at[v] += 1
    return first, links


@njit(**JIT)
def shuffle_around(order, fit, marked, sets, longest, state):
    """Permute the places of up to ``longest`` variables that hang together in the network.

    They are drawn like a region, and are ``marked[n]``.
    """
    n = order.shape[0]
    room = min(n, 2 + draw(state, longest - 1))
    first, links = links_of(fit, sets, True)
    chosen, inside, count = np.empty(room, np.int64), np.zeros(n, np.bool_), 1
    chosen[0] = draw(state, n)
    inside[chosen[0]] = True
    for _ in range(4 * room):
        v = chosen[draw(state, count)]
        if count < room and first[v + 1] > first[v]:
            u = links[first[v] + draw(state, first[v + 1] - first[v])]
            if not inside[u]:
                inside[u] = True
                chosen[count] = u
                count += 1
    shuffle(chosen[:count], state)
    for j in range(n):
        if inside[order[j]]:
            marked[order[j]] = True
            count -= 1
            order[j] = chosen[count]


@njit(**JIT)
def draw_region(region, place, fit, first, links, offsets, sets, state):
    """Fill ``region[w]`` with variables around the first in it; return how many there are.

    Next comes a neighbour in the network of one that is in it already, or one time in four a
    parent in a set that would be better and is not possible now. After four draws for every
    member the region stays smaller. ``place[n]`` is −1 outside.
    """
    n, w, count = fit.shape[0], region.shape[0], 1
    place[region[0]] = 0
    for _ in range(4 * w):
        if count == w:
            break
        v = region[draw(state, count)]
        u = np.int64(n)
        if draw(state, 4) == 0:
            if fit[v] > offsets[v]:
                i = offsets[v] + draw(state, fit[v] - offsets[v])
                u = np.int64(sets[i, draw(state, sets.shape[1])])
        elif first[v + 1] > first[v]:
            u = links[first[v] + draw(state, first[v + 1] - first[v])]
        if u < n and place[u] < 0:
            place[u] = count
            region[count] = u
            count += 1
    return count


@njit(**JIT)
def members_above(order, place, fit, sets, above):
    """Fill ``above[n]`` with A, as bits of places: for members their own bit."""
    n = order.shape[0]
    for v in order:
        found = np.int64(0)
        if place[v] >= 0:
            found = np.int64(1) << place[v]
        else:
            for k in range(sets.shape[1]):
                p = sets[fit[v], k]
                if p == n:
                    break
                found |= above[p]
        above[v] = found


@njit(**JIT)
def best_by_subset(v, own, size, offsets, sets, cost, above, best, which, work):
    """Fill ``best[subset]`` with what ``v`` costs behind a subset of the region, ``which`` its set.

    ``own`` is the bit of ``v``; ``size`` = 2^w.
    """
    n = offsets.shape[0] - 1
    for subset in range(size):
        best[subset] = np.inf
    for i in range(offsets[v], offsets[v + 1]):
        work.looked += 1
        behind = np.int64(0)
        for k in range(sets.shape[1]):
            p = sets[i, k]
            if p == n:
                break
            behind |= above[p]
        if behind & own == 0 and cost[i] < best[behind]:
            best[behind] = cost[i]
            which[behind] = i
        if behind == 0:  # all others cost more
            break
    bit = 1
    while bit < size:
        if bit != own:
            for start in range(0, size, 2 * bit):
                for subset in range(start, start + bit):
                    if best[subset] < best[subset + bit]:
                        best[subset + bit] = best[subset]
                        which[subset + bit] = which[subset]
        bit *= 2


@njit(**JIT)
def choose_in_region(count, region, fit, offsets, sets, cost, above, best, which, work):
    """Give the first ``count`` members of a region their best sets; return the gain.

    ``best[w, 2^w]`` and ``which[w, 2^w]`` are filled on the way. With no gain nothing changes.
    """
    size = 1 << count
    now = 0.0
    for t in range(count):
        v = region[t]
        now += cost[fit[v]]
        best_by_subset(v, 1 << t, size, offsets, sets, cost, above, best[t], which[t], work)
    work.looked += int(LOOKS_PER_CELL * count * (count + 1) * size)
    total, last = np.full(size, np.inf), np.zeros(size, np.int64)
    total[0] = 0.0
    for subset in range(size):
        for t in range(count):
            if (subset >> t) & 1 == 0:
                trial = total[subset] + best[t, subset]
                if trial < total[subset | (1 << t)]:
                    total[subset | (1 << t)] = trial
                    last[subset | (1 << t)] = t
    gain = float(now - total[size - 1])
    if gain <= max(LEAST_GAIN, ROUNDING * now):
        return 0.0
    subset = size - 1
    while subset > 0:
        t = last[subset]
        subset ^= 1 << t
        fit[region[t]] = which[t, subset]
    return gain


@njit(**JIT)
def settle(order, fit, marked, offsets, sets, cost, width, state, work):
    """Improve regions of at most ``width`` around ``marked[n]`` variables until none gains.

    Those that change are marked, too. Ends at ``work.pause`` as well, with those marked that were
    not tried by then. ``order`` stays one of the network. Returns the whole gain.
    """
    n, w = order.shape[0], min(width, order.shape[0])
    queue, head, count = np.empty(n, np.int64), 0, 0
    for v in range(n):
        if marked[v]:
            queue[count] = v
            count += 1
    shuffle(queue[:count], state)
    first, links = links_of(fit, sets, True)
    region, place = np.empty(w, np.int64), np.full(n, -1, np.int64)
    above, before = np.empty(n, np.int64), np.empty(w, np.int64)
    best, which = np.empty((w, 1 << w)), np.empty((w, 1 << w), np.int64)
    whole = 0.0
    while count > 0 and work.looked < work.pause:
        x = queue[head]
        head = head + 1 if head + 1 < n else 0
        count -= 1
        marked[x] = False
        region[0] = x
        inside = draw_region(region, place, fit, first, links, offsets, sets, state)
        members_above(order, place, fit, sets, above)
        work.looked += n
        for t in range(inside):
            before[t] = fit[region[t]]
        gain = choose_in_region(inside, region, fit, offsets, sets, cost, above, best, which, work)
        for t in range(inside):
            v = region[t]
            place[v] = -1
            if fit[v] != before[t] and not marked[v]:
                marked[v] = True
                queue[(head + count) % n] = v
                count += 1
        if gain > 0.0:
            whole += gain
            order_of(fit, sets, order)
            first, links = links_of(fit, sets, True)
    return whole
