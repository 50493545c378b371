"""Order within the layers of the figure: few arcs that cross.

A layered graph has arcs between neighbouring layers only; longer arcs run through dummy places,
one in each layer they pass. The layers are swept down and up, each sorted by the mean position of
its neighbours in the layer before, followed by swaps of neighbours while they help (Sugiyama,
Tagawa & Toda 1981; Gansner et al. 1993), and at last single places are moved. Several starts, the
best kept; all deterministic.
"""

from __future__ import annotations

import itertools
import math
import random
from bisect import bisect_right, insort
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

Layers = list[list[int]]

SWEEPS, ROUNDS = 40, 12
"""Most sweeps over the layers, and most rounds of moving single places, from each start."""

MANY_PLACES = 2000
"""With more places than this there is less of both, so that the time does not grow with their
square."""


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
        starts = max(2, min(24, 8000 // (len(graph.level) + 1)))
    effort = min(1.0, MANY_PLACES / (len(graph.level) + 1))
    generator = random.Random(1)  # noqa: S311 # the figure must be the same every time
    best: Layers = []
    fewest = -1
    for start in range(starts):
        if start < 2:
            layers = _first_order(graph, from_top=start == 0)
        else:
            layers = [_disturbed(layer, generator) for layer in best]
        layers = _swept(graph, layers, math.ceil(effort * SWEEPS))
        _sift(graph, layers, math.ceil(effort * ROUNDS))
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


def _swept(graph: LayeredGraph, layers: Layers, sweeps: int) -> Layers:
    """Sweep down and up until nothing gets better for a while."""
    best, fewest, idle = [list(layer) for layer in layers], total_crossings(graph, layers), 0
    for sweep in range(sweeps):
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
    place = [0] * len(graph.level)
    for layer in layers:
        for i, v in enumerate(layer):
            place[v] = i
    waiting = [True] * len(layers)
    while any(waiting):
        for at, layer in enumerate(layers):
            if not waiting[at]:
                continue
            swapped = False
            above = {v: [place[w] for w in graph.above[v]] for v in layer}
            below = {v: [place[w] for w in graph.below[v]] for v in layer}
            for i in range(len(layer) - 1):
                left, right = layer[i], layer[i + 1]
                saved = _saved(above[left], above[right]) + _saved(below[left], below[right])
                if saved > 0:
                    layer[i], layer[i + 1] = right, left
                    place[left], place[right] = i + 1, i
                    swapped = True
            waiting[at] = swapped
            if swapped:
                for near in {max(at - 1, 0), min(at + 1, len(layers) - 1)} - {at}:
                    waiting[near] = True


def _saved(left: list[int], right: list[int]) -> int:
    """Return how many crossings go away when two places with these neighbours are exchanged."""
    saved = 0
    for a in left:
        for b in right:
            saved += (a > b) - (a < b)
    return saved


def _sift(graph: LayeredGraph, layers: Layers, rounds: int) -> None:
    """Move one place after the other to where it crosses least, until nothing gets better."""
    for _ in range(rounds):
        moved = [Exchanges(graph, layers, at).sift(layer) for at, layer in enumerate(layers)]
        if not any(moved):
            return


class Exchanges:
    """What exchanging two places of a layer would change, as long as its neighbours stay.

    ``saved[i, j]``: crossings that go away when the i-th place, left of the j-th, goes to its
    right. Among the arcs of two places to one neighbouring layer those from a of the left one and
    b of the right one cross if a > b. With ``arcs[i, a]``, which is 1 where place i has an arc to
    position a, and ``before[j, a]``, how many arcs of place j end left of a, that is the product
    ``arcs · beforeᵀ``.
    """

    def __init__(self, graph: LayeredGraph, layers: Layers, at: int) -> None:
        layer = layers[at]
        self._row = {v: i for i, v in enumerate(layer)}
        crossings = np.zeros((len(layer), len(layer)))
        for near, neighbours in ((at - 1, graph.above), (at + 1, graph.below)):
            if 0 <= near < len(layers):
                place = {v: i for i, v in enumerate(layers[near])}
                ends = [(i, place[w]) for i, v in enumerate(layer) for w in neighbours[v]]
                arcs = np.zeros((len(layer), len(place)))
                arcs[tuple(np.array(ends, np.int64).reshape(-1, 2).T)] = 1.0
                before = np.cumsum(arcs, axis=1) - arcs
                crossings += arcs @ before.T
        self._saved = crossings - crossings.T

    def sift(self, layer: list[int]) -> bool:
        """Move one place after the other to where it crosses least; whether any was moved.

        Past each neighbour in turn the difference of the two orders says what a step to that side
        saves; the best sum of steps is the best position (Matuszewski, Schönfeld & Molitor 1999).
        """
        rows = [self._row[v] for v in layer]
        improved = False
        for v in list(layer):
            at = rows.index(self._row[v])
            target = self._best_place(rows, at)
            if target != at:
                layer.insert(target, layer.pop(at))
                rows.insert(target, rows.pop(at))
                improved = True
        return improved

    def _best_place(self, rows: list[int], at: int) -> int:
        """Find the position of a place that crosses least; its own among equals."""
        saved = self._saved[rows[at], rows]
        best, target = 0.0, at
        for steps, gains in ((1, saved[at + 1 :]), (-1, -saved[:at][::-1])):
            if len(gains):
                sums = np.cumsum(gains)
                most = int(np.argmax(sums))
                if sums[most] > best:
                    best, target = float(sums[most]), at + steps * (most + 1)
        return target
