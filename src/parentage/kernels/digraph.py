"""Kernels on directed graphs: components, short cycles, cycles with forced arcs, cheapest forests.

**Forest.** Edmonds (1967) lets every node choose the cheapest arc into it and makes one node of
every cycle. Here a path is grown backwards instead, node by node (Gabow, Galil, Spencer and Tarjan
1986): from a node along the cheapest arc into it to the node that arc comes from, and so on. When
that one is on the path already, the cycle becomes one node, whose arcs are the cheapest of its
members', less what the arc of the cycle costs that they replace; the path continues from there.
When it is the root, or leads there, the path is done. A node is looked at once, and joined once,
each in time n: n² in all.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from parentage.kernels._options import JIT, njit

NONE = np.int64(1) << np.int64(60)
"""The price of an arc that does not exist."""


@njit(work=lambda starts, heads: 3 * (len(starts) + len(heads)), **JIT)
def strong_components(starts, heads):
    """Label the strongly connected components of a graph (Tarjan 1972, without recursion).

    Node ``v`` points to ``heads[starts[v]:starts[v + 1]]``. Labels count up in the order in
    which components are completed: a component's successors have smaller labels.
    """
    n = starts.shape[0] - 1
    label = np.full(n, -1, np.int64)
    number = np.full(n, -1, np.int64)
    low = np.zeros(n, np.int64)
    at = np.zeros(n, np.int64)
    stack = np.empty(n, np.int64)
    path = np.empty(n, np.int64)
    on_stack, visited, labels = 0, 0, 0
    for root in range(n):
        if number[root] >= 0:
            continue
        depth = 0
        path[0] = root
        number[root] = low[root] = visited
        visited += 1
        at[root] = starts[root]
        stack[on_stack] = root
        on_stack += 1
        while depth >= 0:
            v = path[depth]
            if at[v] < starts[v + 1]:
                u = heads[at[v]]
                at[v] += 1
                if number[u] < 0:
                    number[u] = low[u] = visited
                    visited += 1
                    at[u] = starts[u]
                    stack[on_stack] = u
                    on_stack += 1
                    depth += 1
                    path[depth] = u
                elif label[u] < 0:
                    low[v] = min(low[v], number[u])
            else:
                depth -= 1
                if depth >= 0:
                    low[path[depth]] = min(low[path[depth]], low[v])
                if low[v] == number[v]:
                    while True:
                        on_stack -= 1
                        label[stack[on_stack]] = labels
                        if stack[on_stack] == v:
                            break
                    labels += 1
    return label


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
    for source in range(n):
        sizes[source] = 0
        distance[:] = np.inf
        waiting = [(0.0, source)]
        while len(waiting) > 0:
            reached, v = heappop(waiting)
            if v == source and distance[v] < limit:
                break
            if v != source and reached > distance[v]:
                continue
            for a in range(starts[v], starts[v + 1]):
                u, far = heads[a], reached + length[a]
                if far < limit and far < distance[u] - 1e-12:
                    distance[u], previous[u] = far, v
                    heappush(waiting, (far, u))
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


@njit(**JIT)
def shut_cycles(offsets, starts, parents, left):
    """Shut sets that close a cycle with forced arcs, until there are none; False: no network.

    ``left[m]`` marks the sets left (changed in place), by child as ``offsets[n + 1]`` says, as
    CSR ``starts[m + 1]``, ``parents``. An arc is forced when all sets left of its child hold
    it; forced arcs make ancestors; a set must not hold a descendant of its child.
    """
    n = offsets.shape[0] - 1
    above = np.empty((n, n), np.bool_)
    tally = np.empty(n, np.int64)
    while True:
        above[:] = False
        for v in range(n):
            count = 0
            tally[:] = 0
            for i in range(offsets[v], offsets[v + 1]):
                if left[i]:
                    count += 1
                    for p in range(starts[i], starts[i + 1]):
                        tally[parents[p]] += 1
            if count == 0:
                return False
            for u in range(n):
                above[v, u] = tally[u] == count
        for via in range(n):
            for v in range(n):
                if above[v, via]:
                    for u in range(n):
                        above[v, u] |= above[via, u]
        changed = False
        for v in range(n):
            if above[v, v]:
                return False
            for i in range(offsets[v], offsets[v + 1]):
                if left[i]:
                    for p in range(starts[i], starts[i + 1]):
                        if above[parents[p], v]:
                            left[i] = False
                            changed = True
                            break
        if not changed:
            return True


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


@njit(work=lambda into, _parent: 3 * len(into) ** 3, **JIT)
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
