"""Order within the layers of the picture: few arcs that cross.

A layered graph has arcs between neighbouring layers only; longer arcs run through dummy places,
one in each layer they pass. The layers are swept down and up, each sorted by the mean position of
its neighbours in the layer before, followed by swaps of neighbours while they help (Sugiyama,
Tagawa & Toda 1981; Gansner et al. 1993), and at last single places are moved. Several starts, the
best kept; all deterministic.
"""

from __future__ import annotations

import itertools
import random
from bisect import bisect_right, insort
from dataclasses import dataclass
from itertools import pairwise

Layers = list[list[int]]


@dataclass(frozen=True)
class LayeredGraph:
    """Places in layers, the variables first, then the dummies of long arcs.

    Parameters
    ----------
    n_real
        Places below this number are variables.
    level
        Layer of every place.
    above, below
        Neighbours of every place in the layer before and after.
    chains
        For every arc its places from the parent to the child, dummies in between.
    """

    n_real: int
    level: list[int]
    above: list[list[int]]
    below: list[list[int]]
    chains: dict[tuple[int, int], list[int]]


def layered_graph(level: list[int], arcs: list[tuple[int, int]]) -> LayeredGraph:
    """Put a dummy place into every layer an arc passes."""
    levels = list(level)
    chains: dict[tuple[int, int], list[int]] = {}
    for tail, head in arcs:
        chain = [tail]
        for layer in range(level[tail] + 1, level[head]):
            chain.append(len(levels))
            levels.append(layer)
        chains[tail, head] = [*chain, head]
    above: list[list[int]] = [[] for _ in levels]
    below: list[list[int]] = [[] for _ in levels]
    for arc in _interleaved(arcs, level, here=0, there=1):
        for upper, lower in pairwise(chains[arc]):
            below[upper].append(lower)
    for arc in _interleaved(arcs, level, here=1, there=0):
        for upper, lower in pairwise(chains[arc]):
            above[lower].append(upper)
    return LayeredGraph(len(level), levels, above, below, chains)


def _interleaved(
    arcs: list[tuple[int, int]], level: list[int], here: int, there: int
) -> list[tuple[int, int]]:
    """Sort arcs so that those of one variable change layers in turn.

    Many children in several layers then look like the teeth of a comb, the arcs to the lower
    ones running down between the upper ones.
    """
    count: dict[tuple[int, int], int] = {}
    turn: dict[tuple[int, int], int] = {}
    for arc in arcs:
        group = (arc[here], level[arc[there]])
        turn[arc] = count[group] = count.get(group, -1) + 1
    return sorted(arcs, key=lambda arc: (arc[here], turn[arc], level[arc[there]]))


def ordered_layers(graph: LayeredGraph, starts: int | None = None) -> Layers:
    """Return the places of every layer from left to right, with few crossings.

    Two walks through the graph are the first starts; the others disturb the best order so far.
    """
    if starts is None:
        starts = max(6, min(24, 8000 // (len(graph.level) + 1)))
    generator = random.Random(1)  # noqa: S311 # the picture must be the same every time
    best: Layers = []
    fewest = -1
    for start in range(starts):
        if start < 2:
            layers = _first_order(graph, from_top=start == 0)
        else:
            layers = [_disturbed(layer, generator) for layer in best]
        layers = _swept(graph, layers)
        _sift(graph, layers)
        count = total_crossings(graph, layers)
        if fewest < 0 or count < fewest:
            best, fewest = layers, count
        if fewest == 0:
            break
    return best


def _disturbed(layer: list[int], generator: random.Random) -> list[int]:
    """Move every sixth place of a layer elsewhere."""
    layer = list(layer)
    if len(layer) > 1:
        for _ in range(max(1, len(layer) // 6)):
            v = layer.pop(generator.randrange(len(layer)))
            layer.insert(generator.randrange(len(layer) + 1), v)
    return layer


def total_crossings(graph: LayeredGraph, layers: Layers) -> int:
    """Count the pairs of arcs that cross, layer by layer."""
    total = 0
    for upper, lower in itertools.pairwise(layers):
        place = {v: i for i, v in enumerate(lower)}
        seen: list[int] = []
        for v in upper:
            ends = [place[w] for w in graph.below[v]]
            total += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return total


def _first_order(graph: LayeredGraph, *, from_top: bool) -> Layers:
    """Order by a depth-first walk, which puts what belongs together side by side."""
    layers: Layers = [[] for _ in range(max(graph.level, default=-1) + 1)]
    roots = sorted(
        range(len(graph.level)), key=lambda v: (graph.level[v] if from_top else -graph.level[v], v)
    )
    seen: set[int] = set()
    for root in roots:
        stack = [root]
        while stack:
            v = stack.pop()
            if v in seen:
                continue
            seen.add(v)
            layers[graph.level[v]].append(v)
            near, far = (graph.below, graph.above) if from_top else (graph.above, graph.below)
            stack.extend(reversed(far[v] + near[v]))
    return layers


def _swept(graph: LayeredGraph, layers: Layers) -> Layers:
    """Sweep down and up until nothing gets better for a while."""
    best, fewest, idle = [list(layer) for layer in layers], total_crossings(graph, layers), 0
    for sweep in range(40):
        down = sweep % 2 == 0
        indices = range(1, len(layers)) if down else range(len(layers) - 2, -1, -1)
        neighbours = graph.above if down else graph.below
        for i in indices:
            _sort_by_mean(layers[i], layers[i - 1] if down else layers[i + 1], neighbours)
        _swap_neighbours(graph, layers)
        count = total_crossings(graph, layers)
        if count < fewest:
            best, fewest, idle = [list(layer) for layer in layers], count, 0
        else:
            idle += 1
        if fewest == 0 or idle > 7:
            break
    return best


def _sort_by_mean(layer: list[int], fixed: list[int], neighbours: list[list[int]]) -> None:
    """Sort by the mean position of the neighbours; a place without any keeps its position."""
    place = {v: i for i, v in enumerate(fixed)}
    means = {
        v: sum(place[w] for w in neighbours[v]) / len(neighbours[v]) for v in layer if neighbours[v]
    }
    movable = iter(sorted((v for v in layer if v in means), key=means.__getitem__))
    layer[:] = [next(movable) if v in means else v for v in layer]


def _swap_neighbours(graph: LayeredGraph, layers: Layers) -> None:
    """Swap places side by side as long as that removes crossings."""
    place = {v: i for layer in layers for i, v in enumerate(layer)}
    improved = True
    while improved:
        improved = False
        for layer in layers:
            for i in range(len(layer) - 1):
                left, right = layer[i], layer[i + 1]
                if _pair_crossings(graph, place, left, right) > _pair_crossings(
                    graph, place, right, left
                ):
                    layer[i], layer[i + 1] = right, left
                    place[left], place[right] = i + 1, i
                    improved = True


def _sift(graph: LayeredGraph, layers: Layers, rounds: int = 12) -> None:
    """Move one place after the other to where it crosses least, until nothing gets better.

    Past each neighbour in turn the difference of the two orders says what a step to that side
    costs; the best sum of steps is the best position (Matuszewski, Schönfeld & Molitor 1999).
    """
    place = {v: i for layer in layers for i, v in enumerate(layer)}
    for _ in range(rounds):
        improved = False
        for layer in layers:
            for v in list(layer):
                at = place[v]
                target = _best_place(graph, place, layer, at)
                if target != at:
                    layer.insert(target, layer.pop(at))
                    for i in range(min(at, target), max(at, target) + 1):
                        place[layer[i]] = i
                    improved = True
        if not improved:
            return


def _best_place(graph: LayeredGraph, place: dict[int, int], layer: list[int], at: int) -> int:
    """Find the position of a layer's place that crosses least; its own among equals."""
    v, best, target = layer[at], 0, at
    for steps in (range(at + 1, len(layer)), range(at - 1, -1, -1)):
        change = 0
        for i in steps:
            left, right = (v, layer[i]) if i > at else (layer[i], v)
            change += _pair_crossings(graph, place, right, left)
            change -= _pair_crossings(graph, place, left, right)
            if change < best:
                best, target = change, i
    return target


def _pair_crossings(graph: LayeredGraph, place: dict[int, int], left: int, right: int) -> int:
    """Count crossings among the arcs of two places if one were left of the other."""
    return sum(
        place[a] > place[b]
        for side in (graph.above, graph.below)
        for a in side[left]
        for b in side[right]
    )
