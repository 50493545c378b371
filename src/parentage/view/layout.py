"""Where everything is in the figure: layers, boxes for variables, routes for arcs.

Every variable has a level, parents above children. The levels minimise the total length of the
arcs, by the network simplex method on a spanning tree of tight arcs (Gansner, Koutsofios, North &
Vo 1993, "A technique for drawing directed graphs"). For a tree arc, the number of arcs that run
with it between the two sides of the tree minus those that run against it is the sum of (out-degree
− in-degree) over the side of its tail: where that is negative the arc is traded for the tightest
one that runs against it. Layers too wide to be read are then split.

The order within layers is that of :mod:`parentage.view.crossings`. Across, the places of all layers
minimise the weighted squares of the horizontal extent of arcs, long arcs weighing more so that they
run straight, under the distances that neighbours keep: a convex problem, solved layer by layer; one
layer given the others is an isotonic regression, solved exactly by pooling. An arc runs straight
down through the dummy places it passes, and bends only in the gaps between layers, so no arc can
touch a box that is not its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parentage.view.crossings import LayeredGraph, Layers, layered_graph, ordered_layers

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


BOX_GAP = 26.0
ROUTE_GAP = 14.0
LAYER_GAP = (44.0, 110.0)
PORT_GAP = 13.0
PART_GAP = 44.0
SWEEPS = 120
Point = tuple[float, float]
Size = tuple[float, float]
IndexArc = tuple[int, int]
Ports = dict[IndexArc, tuple[float, float]]


@dataclass(frozen=True)
class Box:
    """A variable's box: centre and size."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Placement:
    """A finished figure without colours.

    Parameters
    ----------
    width, height
        Size of the figure; everything is inside ``0 … width`` and ``0 … height``.
    boxes
        One for every variable.
    routes
        For every arc ``(parent, child)`` the points it visits: from the parent's lower edge, out
        of its layer, in and out of each layer it passes, into the child's layer, to its upper
        edge. At every point it runs straight down.
    """

    width: float
    height: float
    boxes: tuple[Box, ...]
    routes: dict[tuple[int, int], tuple[Point, ...]]


def layout(
    sizes: Sequence[Size], parents: Sequence[Sequence[int]], row_width: float | None = None
) -> Placement:
    """Place boxes of the given sizes and the arcs between them.

    Parameters
    ----------
    sizes
        Width and height of every variable's box.
    parents
        Parent indices of every variable; acyclic.
    row_width
        About how wide the figure may be; None: what suits the number of variables.
    """
    arcs = [(p, v) for v, members in enumerate(parents) for p in members]
    limit = _row_limit(sizes) if row_width is None else max(row_width, 100.0)
    boxes: dict[int, Box] = {}
    routes: dict[tuple[int, int], tuple[Point, ...]] = {}
    found = components(len(sizes), arcs)
    lonely = [part for part in found if len(part) == 1]
    drawings = [(_part_layout(p, sizes, arcs, limit), p) for p in found if len(p) > 1]
    drawings.sort(key=lambda drawing: -drawing[0].height)
    placed, parts = [drawn for drawn, _ in drawings], [part for _, part in drawings]
    limit = _page_width(placed) if row_width is None else row_width
    corners = _shelves(placed, limit, PART_GAP)
    below = [y + part.height for (_, y), part in zip(corners, placed, strict=True)]
    bottom = max(below) + PART_GAP if below else 0.0
    lone_boxes = [_lone_box(sizes[v]) for (v,) in lonely]
    corners += [(x, y + bottom) for x, y in _shelves(lone_boxes, limit, BOX_GAP)]
    placed += lone_boxes
    width = height = 0.0
    for part, drawn, (dx, dy) in zip([*parts, *lonely], placed, corners, strict=True):
        for v, box in zip(part, drawn.boxes, strict=True):
            boxes[v] = Box(box.x + dx, box.y + dy, box.width, box.height)
        for (tail, head), route in drawn.routes.items():
            routes[part[tail], part[head]] = tuple((x + dx, y + dy) for x, y in route)
        width, height = max(width, drawn.width + dx), max(height, drawn.height + dy)
    return Placement(width, height, tuple(boxes[v] for v in range(len(sizes))), routes)


def _lone_box(size: Size) -> Placement:
    width, height = size
    return Placement(width, height, (Box(width / 2, height / 2, width, height),), {})


def _row_limit(sizes: Sequence[Size]) -> float:
    """Width a row of boxes may have so that the figure is about as wide as a page."""
    area = sum((width + BOX_GAP) * (height + 1.5 * LAYER_GAP[0]) for width, height in sizes)
    return max(700.0, 1.8 * math.sqrt(area))


def _page_width(parts: Sequence[Placement]) -> float:
    """Width of the page, about half as wide again as high, that holds all parts best."""
    area = sum((part.width + PART_GAP) * (part.height + PART_GAP) for part in parts)
    widest = max([700.0, *(part.width for part in parts)])

    def extent(limit: float) -> float:
        corners = zip(_shelves(parts, limit, PART_GAP), parts, strict=True)
        return max(
            (max((x + part.width) / 1.5, y + part.height) for (x, y), part in corners), default=0.0
        )

    return min((max(widest, factor * math.sqrt(area)) for factor in (1.0, 1.5, 2.0)), key=extent)


def _shelves(parts: Sequence[Placement], limit: float, gap: float) -> list[Point]:
    """Put parts side by side; a new shelf where the limit is reached or parts are much lower."""
    corners: list[Point] = []
    x = y = shelf = 0.0
    for part in parts:
        if x > 0 and (x + part.width > limit or part.height < shelf / 3):
            x, y, shelf = 0.0, y + shelf + gap, 0.0
        corners.append((x, y))
        x, shelf = x + part.width + gap, max(shelf, part.height)
    return corners


def _part_layout(part: list[int], sizes: Sequence[Size], arcs: Arcs, limit: float) -> Placement:
    """Lay out one connected part; indices are positions in it."""
    position = {v: i for i, v in enumerate(part)}
    own_sizes = [sizes[v] for v in part]
    own_arcs = [(position[tail], position[head]) for tail, head in arcs if tail in position]
    level = shortest_levels(len(part), own_arcs)
    level = split_wide_layers(level, [w + BOX_GAP for w, _ in own_sizes], own_arcs, limit)
    graph = layered_graph(level, own_arcs)
    layers = ordered_layers(graph)
    widths = [w for w, _ in own_sizes] + [0.0] * (len(graph.level) - len(part))
    x = _across(graph, layers, widths)
    ports = _ports(graph, x, widths)
    _straighten(graph, layers, widths, ports, x)
    left = min(x[v] - widths[v] / 2 for v in range(len(x)))
    x = [value - left for value in x]
    ports = {arc: (leave - left, meet - left) for arc, (leave, meet) in ports.items()}
    heights = [max(own_sizes[v][1] for v in layer if v < len(part)) for layer in layers]
    tops = _down(graph, layers, x, heights)
    middle = [tops[graph.level[v]] + heights[graph.level[v]] / 2 for v in range(len(part))]
    boxes = tuple(Box(x[v], middle[v], *own_sizes[v]) for v in range(len(part)))
    routes = {
        arc: _route(arc, chain, graph, x, tops, heights, boxes, ports)
        for arc, chain in graph.chains.items()
    }
    right = max(x[v] + widths[v] / 2 for v in range(len(x)))
    return Placement(right, tops[-1] + heights[-1], boxes, routes)


def _across(graph: LayeredGraph, layers: Layers, widths: list[float]) -> list[float]:
    """Horizontal centre of every place."""
    x = [0.0] * len(graph.level)
    for layer in layers:
        _spread(layer, [0.0] * len(layer), [1.0] * len(layer), widths, graph.n_real, x)
    weights = _arc_weights(graph)
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 == 0 else layers[::-1]:
            targets, weight = [], []
            for v in layer:
                total = sum(weights[v].values())
                targets.append(
                    sum(w * x[u] for u, w in weights[v].items()) / total if total else x[v]
                )
                weight.append(total or 1e-3)
            _spread(layer, targets, weight, widths, graph.n_real, x)
    return x


def _arc_weights(graph: LayeredGraph) -> list[dict[int, float]]:
    """How strongly a place is drawn to each neighbour: 1, 2 or 8 by the dummies at the ends."""
    weights: list[dict[int, float]] = [{} for _ in graph.level]
    for v, lower in enumerate(graph.below):
        for u in lower:
            dummies = (v >= graph.n_real) + (u >= graph.n_real)
            weights[v][u] = weights[u][v] = (1.0, 2.0, 8.0)[dummies]
    return weights


def _spread(
    layer: list[int],
    targets: list[float],
    weight: list[float],
    widths: list[float],
    n_real: int,
    x: list[float],
) -> None:
    """Move a layer's places as near to their targets as the distances allow.

    Minimises Σ weight·(x − target)² with x rising by the distances: after subtracting the
    distances, an isotonic regression, solved by pooling adjacent violators.
    """
    offset, offsets = 0.0, []
    for i, v in enumerate(layer):
        if i:
            u = layer[i - 1]
            gap = BOX_GAP if u < n_real and v < n_real else ROUTE_GAP
            offset += (widths[u] + widths[v]) / 2 + gap
        offsets.append(offset)
    pools: list[tuple[float, float, int]] = []  # weighted mean, weight, members
    for target, w, shift in zip(targets, weight, offsets, strict=True):
        pool = (target - shift, w, 1)
        while pools and pools[-1][0] > pool[0]:
            mean, heavy, count = pools.pop()
            total = heavy + pool[1]
            pool = ((mean * heavy + pool[0] * pool[1]) / total, total, count + pool[2])
        pools.append(pool)
    means = [mean for mean, _, count in pools for _ in range(count)]
    for v, mean, shift in zip(layer, means, offsets, strict=True):
        x[v] = mean + shift


def _straighten(
    graph: LayeredGraph,
    layers: Layers,
    widths: list[float],
    ports: Ports,
    x: list[float],
) -> None:
    """Give runs of dummy places of an arc one position, so that it bends as rarely as possible.

    A run grows as long as some position is free in all its layers. It then runs straight below
    where the arc leaves or above where it meets, if that is free, or near where it was.
    """
    place = {v: i for layer in layers for i, v in enumerate(layer)}

    def room(v: int) -> tuple[float, float]:
        layer, i = layers[graph.level[v]], place[v]
        left = layer[i - 1] if i else None
        right = layer[i + 1] if i + 1 < len(layer) else None
        return (
            -math.inf if left is None else x[left] + widths[left] / 2 + ROUTE_GAP,
            math.inf if right is None else x[right] - widths[right] / 2 - ROUTE_GAP,
        )

    for arc, chain in graph.chains.items():
        start = 1
        while start < len(chain) - 1:
            low, high = room(chain[start])
            end = start + 1
            while end < len(chain) - 1:
                lower, upper = room(chain[end])
                if max(low, lower) > min(high, upper):
                    break
                low, high, end = max(low, lower), min(high, upper), end + 1
            wishes = [sum(x[v] for v in chain[start:end]) / (end - start)]
            if start == 1 and low <= ports[arc][0] <= high:
                wishes.insert(0, ports[arc][0])
            elif end == len(chain) - 1 and low <= ports[arc][1] <= high:
                wishes.insert(0, ports[arc][1])
            for v in chain[start:end]:
                x[v] = min(high, max(low, wishes[0]))
            start = end


def _down(graph: LayeredGraph, layers: Layers, x: list[float], heights: list[float]) -> list[float]:
    """Upper edge of every layer; the gap grows with how far its arcs have to run sideways."""
    tops = [0.0]
    least, most = LAYER_GAP
    most = max(1.5 * least, most - 2.0 * max(0, len(layers) - 12))  # deep figures are high enough
    for layer, height in zip(layers[:-1], heights, strict=False):
        run = max((abs(x[v] - x[u]) for v in layer for u in graph.below[v]), default=0.0)
        tops.append(tops[-1] + height + min(most, max(least, 0.22 * run)))
    return tops


def _ports(graph: LayeredGraph, x: list[float], widths: list[float]) -> Ports:
    """Where each arc leaves its parent and meets its child, side by side in order."""
    ends: tuple[dict[IndexArc, float], dict[IndexArc, float]] = ({}, {})
    for end, near in ((0, 1), (-1, -2)):
        for v in range(graph.n_real):
            own = [arc for arc in graph.chains if arc[end] == v]
            own.sort(key=lambda arc: x[graph.chains[arc][near]])
            gap = min(PORT_GAP, (widths[v] - PORT_GAP) / max(1, len(own) - 1))
            for i, arc in enumerate(own):
                ends[end][arc] = x[v] + (i - (len(own) - 1) / 2) * gap
    _align(graph, ends)
    return {arc: (ends[0][arc], ends[1][arc]) for arc in graph.chains}


def _align(graph: LayeredGraph, ends: tuple[dict[IndexArc, float], dict[IndexArc, float]]) -> None:
    """Make arcs that are almost straight quite straight, where the ports beside leave room."""
    for arc, chain in graph.chains.items():
        leave, meet = ends[0][arc], ends[1][arc]
        if len(chain) > 2 or not 0 < abs(leave - meet) < PORT_GAP:
            continue
        middle = (leave + meet) / 2
        beside = [
            port
            for end in (0, 1)
            for other, port in ends[end].items()
            if other != arc and other[end] == arc[end]
        ]
        if all(abs(port - middle) >= 0.6 * PORT_GAP for port in beside):
            ends[0][arc] = ends[1][arc] = middle


def _route(
    arc: IndexArc,
    chain: list[int],
    graph: LayeredGraph,
    x: list[float],
    tops: list[float],
    heights: list[float],
    boxes: tuple[Box, ...],
    ports: Ports,
) -> tuple[Point, ...]:
    leave, meet = ports[arc]
    parent, child = boxes[arc[0]], boxes[arc[1]]
    points: list[Point] = [(leave, parent.y + parent.height / 2)]
    for v in chain:
        top, height = tops[graph.level[v]], heights[graph.level[v]]
        if v == arc[0]:
            points.append((leave, top + height))
        elif v == arc[1]:
            points.append((meet, top))
        else:
            points += [(x[v], top), (x[v], top + height)]
    return (*points, (meet, child.y - child.height / 2))
