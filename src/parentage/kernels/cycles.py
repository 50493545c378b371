"""Kernel that finds short cycles in a weighted graph: for every node the shortest through it."""

from __future__ import annotations

import numpy as np

from parentage.kernels._options import JIT, njit


@njit(**JIT)
def push(keys, nodes, count, key, node):
    """Add a node to a binary heap of ``count`` nodes; return the new count."""
    i = count
    while i > 0 and keys[(i - 1) >> 1] > key:
        keys[i], nodes[i] = keys[(i - 1) >> 1], nodes[(i - 1) >> 1]
        i = (i - 1) >> 1
    keys[i], nodes[i] = key, node
    return count + 1


@njit(**JIT)
def pop(keys, nodes, count):
    """Take the least node off a heap (it was at index 0); return the new count."""
    count -= 1
    key, node = keys[count], nodes[count]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= count:
            break
        if child + 1 < count and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[i], nodes[i] = keys[child], nodes[child]
        i = child
    keys[i], nodes[i] = key, node
    return count


@njit(**JIT)
def shortest_cycles(starts, heads, length, limit, cycles, sizes):
    """Find the shortest cycle through every node, if shorter than ``limit`` (Dijkstra).

    Node ``v`` has arcs to ``heads[starts[v]:starts[v + 1]]`` of ``length`` at least zero. Writes
    the nodes of the cycle through ``v`` into ``cycles[v, :sizes[v]]``, going backwards;
    ``sizes[v]`` is 0 where there is none. Returns the lengths.
    """
    n = starts.shape[0] - 1
    lengths = np.full(n, np.inf)
    distance, previous = np.empty(n), np.empty(n, np.int64)
    room = heads.shape[0] + n + 1
    keys, nodes = np.empty(room), np.empty(room, np.int64)
    for source in range(n):
        sizes[source] = 0
        distance[:] = np.inf
        count, v, reached = 0, source, 0.0
        while True:
            for a in range(starts[v], starts[v + 1]):
                u, far = heads[a], reached + length[a]
                if far < limit and far < distance[u] - 1e-12:
                    distance[u], previous[u] = far, v
                    count = push(keys, nodes, count, far, u)
            while count > 0 and keys[0] > distance[nodes[0]]:
                count = pop(keys, nodes, count)
            if count == 0:
                break
            v, reached = nodes[0], keys[0]
            count = pop(keys, nodes, count)
            if v == source:
                break
        if distance[source] < limit:
            lengths[source] = distance[source]
            u = source
            while True:
                cycles[source, sizes[source]] = u
                sizes[source] += 1
                u = previous[u]
                if u == source:
                    break
    return lengths
