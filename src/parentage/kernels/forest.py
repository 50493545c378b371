"""Kernel that finds a cheapest forest: Edmonds' branching, on a dense matrix of whole prices."""

from __future__ import annotations

import numpy as np

from parentage.kernels._options import JIT, njit

NONE = np.int64(1) << np.int64(60)
"""The price of an arc that does not exist."""


@njit(**JIT)
def cheapest_arcs(price, alive, source):
    """Let every living node but the last, the root, choose the cheapest arc into it."""
    root = price.shape[0] - 1
    for s in range(root):
        if alive[s]:
            source[s] = root
            for t in range(root):
                if alive[t] and t != s and price[t, s] < price[source[s], s]:
                    source[s] = t


@njit(**JIT)
def mark_cycles(source, alive, mark):
    """Give the nodes of every cycle of the chosen arcs its number in ``mark``, 0 to the others."""
    root = source.shape[0]
    seen = np.zeros(root, np.int64)
    mark[:] = 0
    cycles = 0
    for s in range(root):
        v = s
        while v != root and alive[v] and seen[v] == 0:
            seen[v] = s + 1
            v = source[v]
        if v != root and alive[v] and seen[v] == s + 1 and mark[v] == 0:
            cycles += 1
            while mark[v] == 0:
                mark[v] = cycles
                v = source[v]
    return cycles


@njit(**JIT)
def contract(cycle, mark, source, price, arc, alive):
    """Make one node of a cycle: its first member stays, and stands for all of them.

    An arc into the cycle costs what it costs more than the arc of the cycle that it replaces.
    ``arc[t, s]`` is the arc that ``price[t, s]`` stands for.
    """
    size = price.shape[0]
    first = 0
    while mark[first] != cycle:
        first += 1
    own = np.empty(size, np.int64)
    for v in range(size - 1):
        if mark[v] == cycle:
            own[v] = price[source[v], v]
    for x in range(size):
        if not alive[x] or (x < size - 1 and mark[x] == cycle):
            continue
        into, out = NONE, NONE
        into_arc, out_arc = arc[x, first], arc[first, x]
        for v in range(size - 1):
            if mark[v] != cycle:
                continue
            if price[x, v] < NONE and price[x, v] - own[v] < into:
                into, into_arc = price[x, v] - own[v], arc[x, v]
            if price[v, x] < out:
                out, out_arc = price[v, x], arc[v, x]
        price[x, first], arc[x, first] = into, into_arc
        price[first, x], arc[first, x] = out, out_arc
    for v in range(size - 1):
        if mark[v] == cycle and v != first:
            alive[v] = False
    return first


@njit(**JIT)
def cheapest_forest(price, parent):
    """Fill ``parent[n]`` so that the arcs cost least and no cycle arises (Edmonds 1967).

    ``price[n + 1, n + 1]``, changed here: ``price[u, v]`` of u → v, ``price[n, v]`` of having no
    parent. ``parent`` is ``n`` for none. Every variable must be reachable.
    """
    n = price.shape[0] - 1
    alive, mark = np.ones(n + 1, np.bool_), np.zeros(n + 1, np.int64)
    arc = np.empty((n + 1, n + 1), np.int64)
    for u in range(n + 1):
        for v in range(n + 1):
            arc[u, v] = u * (n + 1) + v
    source = np.empty(n, np.int64)
    above = np.full(2 * n + 1, -1, np.int64)
    entry = np.full(2 * n + 1, -1, np.int64)
    node = np.arange(n + 1)
    n_nodes = n
    while True:
        cheapest_arcs(price, alive, source)
        for s in range(n):
            if alive[s]:
                entry[node[s]] = arc[source[s], s]
        cycles = mark_cycles(source, alive, mark)
        if cycles == 0:
            break
        for cycle in range(1, cycles + 1):
            for v in range(n):
                if mark[v] == cycle:
                    above[node[v]] = n_nodes
            node[contract(cycle, mark, source, price, arc, alive)] = n_nodes
            n_nodes += 1
    for x in range(n_nodes - 1, n - 1, -1):
        v = entry[x] % (n + 1)
        while above[v] != x:
            v = above[v]
        entry[v] = entry[x]
    for v in range(n):
        parent[v] = entry[v] // (n + 1)
