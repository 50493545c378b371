"""Families one parent larger than a sweep: scored for all new parents at once, the best kept.

A *sweep* is a set S of variables with a vector of one number for every further variable y, for most
scores G(S ∪ y) (:mod:`parentage.scoring.sweep_counting`). The families (X, Π ∪ y) of all y follow
from two of them, ``without`` X and ``along`` with it:

    s(X, Π ∪ y) = along(y) − without(y) − pen(X, Π)·r_y − constant(X) + log odds of the arcs,

and s(X, Π) itself from along(X) and from what ``without`` has at a parent
(:mod:`parentage.growth.score` says what they are under every score).

Families are kept in a :class:`Store`. Each has a 64-bit key, the sum of a random number of its
child and of one for each parent, so the key of a family with one parent more, less or exchanged is
one or two additions away. Two families with one key (the chance is below 1 in 10^7 for a million of
them) would be taken for one: a candidate is then missing, nothing that is there is wrong.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.kernels._options import JIT, njit


class Store(NamedTuple):
    """Families that were found, and an open hash table over their keys."""

    child: npt.NDArray[np.int32]
    """``[family]``."""
    size: npt.NDArray[np.int32]
    """``[family]``: number of parents."""
    parents: npt.NDArray[np.uint16]
    """``[family, most parents]``, rising, padded with n."""
    score: npt.NDArray[np.int64]
    """``[family]``: fixed point."""
    key: npt.NDArray[np.uint64]
    """``[family]``."""
    slots: npt.NDArray[np.int64]
    """``[a power of two]``: a family, or −1."""


class GrowthTerms(NamedTuple):
    """What scoring needs to know of the data, in fixed point."""

    arity: npt.NDArray[np.int64]
    """``[variable]``."""
    free: npt.NDArray[np.int64]
    """``[child]``: its free parameters without parents; 0 where they have no price."""
    residual: npt.NDArray[np.int64]
    """``[plan, variable]``: h; 0 where it is not known."""
    plan: npt.NDArray[np.int64]
    """``[child]``: the plan that its families are from."""
    forbidden: npt.NDArray[np.bool_]
    """``[child, parent]``; the required parents too, which are in every set and not named."""
    odds: npt.NDArray[np.int64]
    """``[child, parent]``: what the prior adds for an arc; empty without a prior."""
    odds_always: npt.NDArray[np.int64]
    """``[child]``: what it adds for the required parents."""
    child_key: npt.NDArray[np.uint64]
    """``[variable]``."""
    parent_key: npt.NDArray[np.uint64]
    """``[variable]``."""
    unit: npt.NDArray[np.int64]
    """``[child]``: penalty of one free parameter."""
    cap: npt.NDArray[np.int64]
    """``[child]``: no family with this many free parameters can be kept."""
    tolerance: npt.NDArray[np.int64]
    """``[child]``: scores closer than this are equal."""
    empty: npt.NDArray[np.int64]
    """``[child]``: what ``without`` has for the empty set."""
    constant: npt.NDArray[np.int64]
    """``[child]``: taken off every score."""


@njit(**JIT)
def find(key, store):
    """Return the slot where a key is, or where it belongs."""
    mask = np.uint64(len(store.slots) - 1)
    mixed = key ^ (key >> np.uint64(31))
    at = mixed & mask
    while store.slots[at] >= 0 and store.key[store.slots[at]] != key:
        at = (at + np.uint64(1)) & mask
    return at


@njit(**JIT)
def key_of(child, parents, growing):
    """Return the key of a family."""
    key = growing.child_key[child]
    for p in parents:
        if p < len(growing.arity):
            key += growing.parent_key[p]
    return key


@njit(wraps=True, work=lambda first, last, *_: 10 * (last - first), **JIT)
def enter(first, last, store, growing):
    """Work out the keys of the families ``first … last − 1`` and enter them into the slots."""
    for i in range(first, last):
        store.key[i] = key_of(store.child[i], store.parents[i], growing)
        store.slots[find(store.key[i], store)] = i


@njit(**JIT)
def parameters(child, parents, growing):
    """Return the number of free parameters of a family, at most ``cap``."""
    free, cap = growing.free[child], growing.cap[child]
    for p in parents:
        if p < len(growing.arity):
            free = min(free * growing.arity[p], cap)
    return free


@njit(**JIT)
def odds_of(child, parents, growing):
    """Return what the prior adds to a family."""
    if len(growing.odds) == 0:
        return np.int64(0)
    total = growing.odds_always[child]
    for p in parents:
        if p < len(growing.arity):
            total += growing.odds[child, p]
    return total


@njit(work=lambda tasks, *args: 2 * len(tasks[0]) * len(args[1].arity), **JIT)
def can_pay(tasks, vectors, growing, answer):
    """Say per task whether any y can pay (Theorem 1⁺), from the vector of Π alone, which is of G.

    Y pays for no superset of Π ∪ Y either if min{N·H(X|Π) − h_X, N·H(Y|Π) − h_Y} is at most what
    Y adds to the penalty; where that holds for every Y, Π ∪ X need not be counted. A prior adds to
    the gain of Π ∪ Y what it says of that arc.

    ``tasks`` are parent sets to enlarge: their ``child[task]``, their ``parents[task, most]``,
    rising and padded with n, and the rows of their vectors without X and with X.
    """
    child, sets, rows, _ = tasks
    n, soft = len(growing.arity), len(growing.odds) > 0
    for t in range(len(child)):
        x, parents, v = child[t], sets[t], vectors[rows[t]]
        own = growing.empty[x] if parents[0] >= n else v[parents[0]]
        penalty = growing.unit[x] * parameters(x, parents, growing)
        residual, tolerance = growing.residual[growing.plan[x]], growing.tolerance[x]
        left = own - v[x] - residual[x]
        answer[t] = False
        for y in range(n):
            gain = min(left, own - v[y] - residual[y])
            if soft:
                gain += growing.odds[x, y]
            pays = gain > (growing.arity[y] - 1) * penalty - tolerance
            if pays and y != x and not growing.forbidden[x, y] and y not in parents:
                answer[t] = True
                break


@njit(wraps=True, work=lambda tasks, *args: 9 * len(tasks[0]) * len(args[1].arity), **JIT)
def enlarge(tasks, vectors, growing, most, store, n_stored):
    """Score Π ∪ y of every task and every y; keep the best ``most`` per task that pay.

    A family is kept if it beats Π and every known family with one parent less. Returns how many
    families there are then; the store must have room for ``most`` more per task. ``tasks`` are
    those of :func:`can_pay`.
    """
    child, sets, rows, rows_along = tasks
    n, soft = len(growing.arity), len(growing.odds) > 0
    where, gain = np.empty(n, np.int64), np.empty(n, np.int64)
    for t in range(len(child)):
        x, parents = child[t], sets[t]
        without, along = vectors[rows[t]], vectors[rows_along[t]]
        own = growing.empty[x] if parents[0] >= n else without[parents[0]]
        unit, cap, tolerance = growing.unit[x], growing.cap[x], growing.tolerance[x]
        free = parameters(x, parents, growing)
        always = odds_of(x, parents, growing) - growing.constant[x]
        base = along[x] - own - unit * free + always + tolerance
        key = key_of(x, parents, growing)
        size = 0
        while size < len(parents) and parents[size] < n:
            size += 1
        count = 0
        for y in range(n):
            more = free * growing.arity[y]
            if more >= cap:
                continue
            score = along[y] - without[y] - unit * more + always
            if soft:
                score += growing.odds[x, y]
            if score > base and y != x and not growing.forbidden[x, y]:
                inside = False
                for j in range(size):
                    inside |= parents[j] == y
                if not inside:
                    where[count], gain[count] = y, score
                    count += 1
        ranks = np.argsort(-gain[:count], kind="mergesort")
        for rank in ranks[: min(count, most)]:
            y, score = where[rank], gain[rank]
            new = key + growing.parent_key[y]
            at = find(new, store)
            if store.slots[at] >= 0:
                continue
            beaten = False
            for j in range(size):
                other = store.slots[find(new - growing.parent_key[parents[j]], store)]
                if other >= 0 and store.score[other] + tolerance >= score:
                    beaten = True
                    break
            if beaten:
                continue
            i = n_stored
            n_stored += 1
            store.child[i], store.size[i] = x, size + 1
            store.score[i], store.key[i] = score, new
            store.parents[i, :] = n
            j = 0
            while j < size and parents[j] < y:
                store.parents[i, j] = parents[j]
                j += 1
            store.parents[i, j] = y
            while j < size:
                store.parents[i, j + 1] = parents[j]
                j += 1
            store.slots[at] = i
    return n_stored


@njit(**JIT)
def precedes(i, j, store):
    """Whether ``i`` comes before ``j``, of the same child: better, then smaller, then older."""
    if store.score[i] != store.score[j]:
        return store.score[i] > store.score[j]
    return store.size[i] < store.size[j] if store.size[i] != store.size[j] else i < j


@njit(work=lambda ranked, _, new, *args: 8 * (len(ranked) + len(new)), **JIT)
def lay_out(ranked, offsets, new, new_offsets, store, scale, per_parent, laid):
    """Merge ``new`` families into those that are ``ranked``, both by child and best first.

    ``scale[child]`` units are one nat, and a family costs ``per_parent`` more for every parent it
    has. Fills ``laid``, what an order search needs of them: ``rows[place]``, the family;
    ``sets[place, most parents]``, padded with n; ``cost[place]``, how far it is below the best
    family of its child, in nats; ``reach[child, W]``, the bits of all parents in its families.
    """
    rows, sets, cost, reach = laid
    n, width, at = len(offsets) - 1, sets.shape[1], 0
    for v in range(n):
        i, j = offsets[v], new_offsets[v]
        best = np.int64(0)
        while i < offsets[v + 1] or j < new_offsets[v + 1]:
            old = j == new_offsets[v + 1] or (
                i < offsets[v + 1] and precedes(ranked[i], new[j], store)
            )
            row = ranked[i] if old else new[j]
            if at == offsets[v] + new_offsets[v]:
                best = store.score[row]
            rows[at] = row
            cost[at] = (best - store.score[row]) / scale[v] + per_parent * store.size[row]
            for k in range(width):
                sets[at, k] = store.parents[row, k]
            if old:
                i += 1
            else:
                j += 1
                for k in range(store.size[row]):
                    p = store.parents[row, k]
                    reach[v, p >> 6] |= np.uint64(1) << np.uint64(p & 63)
            at += 1
