"""Layers of the picture: a level for every variable, parents above children.

The levels minimise the total length of the arcs, by the network simplex method on a spanning tree
of tight arcs (Gansner, Koutsofios, North & Vo 1993, "A technique for drawing directed graphs").
For a tree arc, the number of arcs that run with it between the two sides of the tree minus those
that run against it is the sum of (out-degree − in-degree) over the side of its tail: where that is
negative the arc is traded for the tightest one that runs against it. Layers too wide to be read
are then split.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Arcs = list[tuple[int, int]]


def components(n: int, arcs: Arcs) -> list[list[int]]:
    """Split the variables into connected parts, each rising."""
    root = list(range(n))

    def find(v: int) -> int:
        while root[v] != v:
            root[v] = root[root[v]]
            v = root[v]
        return v

    for tail, head in arcs:
        root[find(tail)] = find(head)
    parts: dict[int, list[int]] = {}
    for v in range(n):
        parts.setdefault(find(v), []).append(v)
    return list(parts.values())


def shortest_levels(n: int, arcs: Arcs) -> list[int]:
    """Return levels of a connected acyclic graph with the least total length of arcs.

    >>> shortest_levels(4, [(0, 1), (1, 2), (3, 2)])
    [0, 1, 2, 1]
    """
    level = _longest_path(n, arcs)
    tree = _tight_tree(n, arcs, level)
    for _ in range(20 * (n + 1)):
        exchange = _exchange(n, arcs, level, tree)
        if exchange is None:
            break
        leaving, entering, side, slack = exchange
        for v in side:
            level[v] += slack
        tree.remove(leaving)
        tree.add(entering)
    top = min(level, default=0)
    return [value - top for value in level]


def split_wide_layers(
    level: Sequence[int], widths: Sequence[float], arcs: Arcs, limit: float
) -> list[int]:
    """Split every layer wider than the limit into several, evenly filled.

    Variables of one layer have no arcs among them, so any split is a layering. Those with more
    parents than children go up, the others down, which keeps the arcs short.
    """
    balance = [0] * len(level)
    for tail, head in arcs:
        balance[tail] += 1
        balance[head] -= 1
    result = [0] * len(level)
    next_level = 0
    for layer in range(max(level, default=-1) + 1):
        members = [v for v, own in enumerate(level) if own == layer]
        members.sort(key=lambda v: (balance[v], v))
        total = sum(widths[v] for v in members)
        rows = max(1, -(-int(total) // int(limit)))
        share, filled = total / rows, 0.0
        for v in members:
            result[v] = next_level + min(rows - 1, int((filled + widths[v] / 2) / share))
            filled += widths[v]
        next_level = max((result[v] for v in members), default=next_level) + 1
    return result


def _longest_path(n: int, arcs: Arcs) -> list[int]:
    children: list[list[int]] = [[] for _ in range(n)]
    waiting = [0] * n
    for tail, head in arcs:
        children[tail].append(head)
        waiting[head] += 1
    level = [0] * n
    order = [v for v in range(n) if waiting[v] == 0]
    for v in order:
        for child in children[v]:
            level[child] = max(level[child], level[v] + 1)
            waiting[child] -= 1
            if waiting[child] == 0:
                order.append(child)
    return level


def _tight_tree(n: int, arcs: Arcs, level: list[int]) -> set[int]:
    """Grow a spanning tree of arcs of length 1 from variable 0, shifting what is grown so far."""
    tree: set[int] = set()
    inside = {0}
    while len(inside) < n:
        slack, best = min(
            (level[head] - level[tail] - 1, i)
            for i, (tail, head) in enumerate(arcs)
            if (tail in inside) != (head in inside)
        )
        tail, head = arcs[best]
        shift = slack if tail in inside else -slack
        for v in inside:
            level[v] += shift
        tree.add(best)
        inside |= {tail, head}
    return tree


def _exchange(
    n: int, arcs: Arcs, level: list[int], tree: set[int]
) -> tuple[int, int, list[int], int] | None:
    """Find the arc to leave the tree, the one to enter, the side to move down and how far."""
    order, up = _rooted(n, arcs, tree)
    excess = [0] * n
    for tail, head in arcs:
        excess[tail] += 1
        excess[head] -= 1
    for v in reversed(order):
        arc = up[v]
        if arc is not None:
            excess[sum(arcs[arc]) - v] += excess[v]
    cuts = [
        (excess[v] if arcs[arc][0] == v else -excess[v], v, arc)
        for v, arc in enumerate(up)
        if arc is not None
    ]
    cut, lower, leaving = min(cuts, default=(0, 0, 0))
    if cut >= 0:
        return None
    below = _subtree(order, up, arcs, lower)
    moves_down = below if arcs[leaving][1] == lower else set(range(n)) - below
    slack, entering = min(
        (level[head] - level[tail] - 1, i)
        for i, (tail, head) in enumerate(arcs)
        if tail in moves_down and head not in moves_down
    )
    return leaving, entering, sorted(moves_down), slack


def _rooted(n: int, arcs: Arcs, tree: set[int]) -> tuple[list[int], list[int | None]]:
    """Root the tree at variable 0: an order from the root, and every variable's arc upwards."""
    joined: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    for i in tree:
        tail, head = arcs[i]
        joined[tail].append((head, i))
        joined[head].append((tail, i))
    up: list[int | None] = [None] * n
    order, seen = [0], {0}
    for v in order:
        for other, i in joined[v]:
            if other not in seen:
                seen.add(other)
                up[other] = i
                order.append(other)
    return order, up


def _subtree(order: list[int], up: list[int | None], arcs: Arcs, top: int) -> set[int]:
    members = {top}
    for v in order:
        arc = up[v]
        if arc is not None and v != top and sum(arcs[arc]) - v in members:
            members.add(v)
    return members
