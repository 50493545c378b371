"""Kernel that finds a cheapest forest: Edmonds' branching, on a dense matrix of whole prices.

Edmonds (1967) lets every node choose the cheapest arc into it and makes one node of every cycle.
Here a path is grown backwards instead, node by node (Gabow, Galil, Spencer and Tarjan 1986): from a
node along the cheapest arc into it to the node that arc comes from, and so on. When that one is on
the path already, the cycle becomes one node, whose arcs are the cheapest of its members', less what
the arc of the cycle costs that they replace; the path goes on from there. When it is the root, or
leads there, the path is done. A node is looked at once, and joined once, each in time n: n² in all.
"""

from __future__ import annotations

import numpy as np

from parentage.kernels._options import JIT, njit

NONE = np.int64(1) << np.int64(60)
"""The price of an arc that does not exist."""


@njit(**JIT)
def leader_of(leader, v):
    """Return the variable that stands for the node ``v`` is part of."""
    while leader[v] != v:
        leader[v] = leader[leader[v]]
        v = leader[v]
    return v


@njit(**JIT)
def cheapest_arc(into, leader, s):
    """Return the variable from which the cheapest arc comes into node ``s``; the root if in doubt.

    ``into[v, u]`` is the price of u → v; the root is the last u.
    """
    root = into.shape[1] - 1
    best = root
    for u in range(root):
        if into[s, u] < into[s, best] and leader_of(leader, u) != s:
            best = u
    return best


@njit(**JIT)
def join(s, t, into, head):
    """Let node ``s`` have the arcs into node ``t`` as well, where they are cheaper.

    ``head[v, u]`` is the variable at which the arc ends that ``into[v, u]`` stands for.
    """
    for u in range(into.shape[1]):
        if into[t, u] < into[s, u]:
            into[s, u], head[s, u] = into[t, u], head[t, u]


@njit(**JIT)
def lower(s, amount, into):
    """Make the arcs into node ``s`` cheaper."""
    for u in range(into.shape[1]):
        if into[s, u] < NONE:
            into[s, u] -= amount


@njit(**JIT)
def cheapest_forest(into, parent):
    """Fill ``parent[n]`` so that the arcs cost least and no cycle arises.

    ``into[n, n + 1]``, changed here: ``into[v, u]`` is the price of u → v, ``into[v, n]`` of having
    no parent. ``parent`` is ``n`` for none. Every variable must be reachable.
    """
    n = into.shape[0]
    head = np.empty((n, n + 1), np.int32)
    for v in range(n):
        for u in range(n + 1):
            head[v, u] = v
    leader = np.arange(n + 1)
    node = np.arange(n)  # of every leader; nodes that were joined have numbers from n
    tail, end = np.empty(2 * n, np.int64), np.empty(2 * n, np.int64)  # the arc into every node
    above = np.full(2 * n, -1, np.int64)
    n_nodes = n
    settled, waits = np.zeros(n + 1, np.bool_), np.zeros(n + 1, np.bool_)
    settled[n] = True
    path, count = np.empty(n, np.int64), 0
    for start in range(n):
        s = leader_of(leader, start)
        while not settled[s]:
            u = cheapest_arc(into, leader, s)
            tail[node[s]], end[node[s]] = u, head[s, u]
            lower(s, into[s, u], into)
            path[count] = s
            count += 1
            waits[s] = True
            t = leader_of(leader, u)
            if settled[t]:
                while count > 0:
                    count -= 1
                    settled[path[count]] = True
            elif waits[t]:
                last = s
                while last != t:
                    count -= 1
                    last = path[count]
                    waits[last] = False
                    above[node[last]] = n_nodes
                    if last != t:
                        join(t, last, into, head)
                        leader[last] = t
                node[t] = n_nodes
                n_nodes += 1
            s = t
    for x in range(n_nodes - 1, n - 1, -1):
        v = end[x]
        while above[v] != x:
            v = above[v]
        tail[v], end[v] = tail[x], end[x]
    for v in range(n):
        parent[v] = tail[v]
