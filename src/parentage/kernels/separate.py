"""Kernels that look for violated cuts in a fractional solution.

The support of the solution, ``K`` sets with positive value, is given by ``child[K]``,
``value[K]`` and CSR parents ``starts[K + 1]``, ``parents``; ``users_at[n + 1]``, ``users`` list
for every variable the sets it is a parent in. A cut is a cluster of variables and a number k
(:mod:`parentage.optimise.cuts`); it is violated when

    f(C) = sum of value over the sets of members of C with fewer than k parents in C  <  k.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from parentage.kernels._options import JIT

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

LARGEST = 40
"""Clusters do not grow beyond this many variables."""

REACH = 0.6
"""How far above its best value growth may climb before it gives up."""


@njit(**JIT)
def left_over(
    inside: Flags, k: int, child: Ints, value: Floats, starts: Ints, parents: Ints
) -> float:
    """Return f(C) for the cluster ``inside[n]``."""
    total = 0.0
    for s in range(child.shape[0]):
        if inside[child[s]]:
            common = 0
            for p in range(starts[s], starts[s + 1]):
                common += inside[parents[p]]
            if common < k:
                total += value[s]
    return total


@njit(**JIT)
def join(
    u: int,
    k: int,
    inside: Flags,
    common: Ints,
    gain: Floats,
    loss: Floats,
    child: Ints,
    value: Floats,
    starts: Ints,
    parents: Ints,
    users_at: Ints,
    users: Ints,
) -> None:
    """Take variable ``u`` into the cluster and bring the sums up to date.

    ``common[K]`` counts parents inside; ``loss[v]`` is what ``v`` would add to f as a member,
    ``gain[v]`` what the others' sets that hold ``v`` would take away from it.
    """
    inside[u] = True
    for at in range(users_at[u], users_at[u + 1]):
        s = users[at]
        common[s] += 1
        if common[s] == k:
            loss[child[s]] -= value[s]
        if not inside[child[s]] or child[s] == u:
            continue
        if common[s] == k:
            for p in range(starts[s], starts[s + 1]):
                gain[parents[p]] -= value[s]
        elif common[s] == k - 1:
            for p in range(starts[s], starts[s + 1]):
                gain[parents[p]] += value[s]


@njit(**JIT)
def grow_clusters(
    n: int,
    k: int,
    tails: Ints,
    heads: Ints,
    least: float,
    child: Ints,
    value: Floats,
    starts: Ints,
    parents: Ints,
    users_at: Ints,
    users: Ints,
    own_at: Ints,
) -> tuple[Flags, Floats]:
    """Grow a cluster from every given pair, greedily; return those violated by ``least``.

    The sets of variable ``v`` are ``own_at[v] … own_at[v + 1] − 1``. Returns clusters
    ``bool[c, n]`` and their f, duplicates left out.
    """
    n_sets = child.shape[0]
    found = np.zeros((tails.shape[0], n), np.bool_)
    values = np.empty(tails.shape[0])
    count = 0
    inside, best = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    common = np.empty(n_sets, np.int64)
    gain, loss, whole = np.empty(n), np.empty(n), np.zeros(n)
    for s in range(n_sets):
        whole[child[s]] += value[s]
    for start in range(tails.shape[0]):
        inside[:] = False
        common[:] = 0
        gain[:] = 0.0
        loss[:] = whole
        f, best_f, size = 0.0, np.inf, 0
        new = tails[start]
        while new >= 0:
            f += loss[new] - gain[new]
            for s in range(own_at[new], own_at[new + 1]):
                if common[s] == k - 1:
                    for p in range(starts[s], starts[s + 1]):
                        gain[parents[p]] += value[s]
            join(new, k, inside, common, gain, loss, child, value, starts, parents, users_at, users)
            size += 1
            if size > k and f < best_f - 1e-9:
                best_f = f
                best[:] = inside
            if size == 1:
                new = heads[start]
                continue
            new = -1
            least_f = np.inf
            for v in range(n):
                if not inside[v] and gain[v] > 1e-9 and f + loss[v] - gain[v] < least_f:
                    least_f = f + loss[v] - gain[v]
                    new = v
            if size >= LARGEST or (size > k and least_f > best_f + REACH):
                new = -1
        if best_f < k - least:
            best_f = shrink(best, best_f, k, child, value, starts, parents)
            if not _listed(best, found, count):
                found[count] = best
                values[count] = best_f
                count += 1
    return found[:count], values[:count]


@njit(**JIT)
def shrink(
    inside: Flags,
    f: float,
    k: int,
    child: Ints,
    value: Floats,
    starts: Ints,
    parents: Ints,
) -> float:
    """Take variables out of a cluster while that lowers f; return f."""
    size = inside.sum()
    improved = True
    while improved and size > k + 1:
        improved = False
        for u in range(inside.shape[0]):
            if inside[u] and size > k + 1:
                inside[u] = False
                trial = left_over(inside, k, child, value, starts, parents)
                if trial < f - 1e-6:
                    f = trial
                    size -= 1
                    improved = True
                else:
                    inside[u] = True
    return f


@njit(**JIT)
def _listed(cluster: Flags, found: Flags, count: int) -> bool:
    """Whether a cluster is among the first ``count`` rows."""
    for row in range(count):
        same = True
        for v in range(cluster.shape[0]):
            if found[row, v] != cluster[v]:
                same = False
                break
        if same:
            return True
    return False


@njit(**JIT)
def count_groups(child: Ints, starts: Ints, largest: int) -> int:
    """Count the groups of at most ``largest`` members that :func:`list_groups` lists."""
    total = 0
    for s in range(child.shape[0]):
        size = starts[s + 1] - starts[s]
        total += size
        if largest >= 3:
            total += size * (size - 1) // 2
        if largest >= 4:
            total += size * (size - 1) * (size - 2) // 6
    return total


@njit(**JIT)
def list_groups(
    child: Ints,
    value: Floats,
    starts: Ints,
    parents: Ints,
    largest: int,
    groups: Ints,
    weights: Floats,
) -> None:
    """List every group made of a child and 1 … ``largest`` − 1 of its parents in a set.

    ``groups[g, 4]`` holds the members by falling index, −1 behind them; ``weights[g]`` the value
    of the set. Summed over equal groups, weights are the left side of a set-packing cut.
    """
    g = 0
    for s in range(child.shape[0]):
        for a in range(starts[s], starts[s + 1]):
            g = _write_group(groups, weights, g, value[s], child[s], parents[a], -1, -1)
            if largest < 3:
                continue
            for b in range(a + 1, starts[s + 1]):
                g = _write_group(groups, weights, g, value[s], child[s], parents[a], parents[b], -1)
                if largest < 4:
                    continue
                for c in range(b + 1, starts[s + 1]):
                    g = _write_group(
                        groups, weights, g, value[s], child[s], parents[a], parents[b], parents[c]
                    )


@njit(**JIT)
def _write_group(
    groups: Ints, weights: Floats, g: int, weight: float, v: int, a: int, b: int, c: int
) -> int:
    """Enter one group, sorted; return the next free row."""
    row = groups[g]
    row[0], row[1], row[2], row[3] = v, a, b, c
    for i in range(1, 4):
        j = i
        while j > 0 and row[j] > row[j - 1]:
            row[j], row[j - 1] = row[j - 1], row[j]
            j -= 1
    weights[g] = weight
    return g + 1
