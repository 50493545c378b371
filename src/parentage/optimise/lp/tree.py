"""Branching: the tree of nodes of one part, each cut and bounded like the root.

A node is split at an arc u → v: without it (the sets of v with u go) and with it (the others go);
what is forced then is followed up, so that ancestors cannot become children. The arc is the one
whose two sides raise the bound most, as far as a few iterations of the dual simplex show, or
as far as is known from nodes before. Nodes are taken by the least bound. All bounds are ours
(:mod:`.programme`), not those of the LP solver.
"""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING

import numpy as np

from parentage.optimise.lp.cutting import Node
from parentage.optimise.lp.separation import FRACTIONAL, Support

if TYPE_CHECKING:
    from parentage.arrays import Flags
    from parentage.optimise.lp.cutting import Cutter

    Arc = tuple[int, int]

PHASE = "branch-and-cut"


class Tree:
    """Branch-and-bound on top of a cutter, from a root that was cut already."""

    def __init__(self, cutter: Cutter, root: Node) -> None:
        self.cutter = cutter
        self.part = cutter.part
        self.tuning = cutter.tuning
        self.nodes = 1
        self._root = root
        self._heap: list[tuple[float, int, Node]] = []
        self._count = 0
        self._gains: dict[Arc, tuple[float, float]] = {}

    def solve(self) -> None:
        """Branch until the part is proven, the run stops or the work is used up."""
        node: Node | None = self._root
        fresh = True
        while node is not None:
            state = "open" if fresh else self.cutter.work(node, PHASE)
            self.nodes += not fresh
            fresh = False
            if state == "open" and not self.cutter.exhausted():
                self._branch(node)
            elif state != "closed":
                self._push(node)
            least = self._heap[0][0] if self._heap else math.inf
            self.part.tick(PHASE)
            if state == "stopped" or self.part.stopped() or self.cutter.exhausted():
                self.part.raise_bound(min(least, self.part.cost), PHASE)
                return
            if least > self.cutter.goal:
                break
            self.part.raise_bound(min(least, self.part.cost), PHASE)
            node = heapq.heappop(self._heap)[2] if self._heap else None
        self.part.prove(PHASE, PHASE)

    def _branch(self, node: Node) -> None:
        """Split a node; one with one choice left is closed instead."""
        arc, gains = self._choose(node)
        if arc is None:
            self.cutter.settle(node, PHASE)
            return
        without, with_ = (
            Node(left, node.bound, node.depth + 1) for left in self._sides(arc, node.left)
        )
        node.branch = (*arc, without, with_)
        for side in (with_, without) if gains[0] <= gains[1] else (without, with_):
            self._push(side)

    def _sides(self, arc: Arc, left: Flags) -> tuple[Flags, Flags]:
        """Return the sets left without and with an arc u → v."""
        sets, (u, v) = self.cutter.lp.sets, arc
        low, high = int(sets.offsets[v]), int(sets.offsets[v + 1])
        span = sets.parents[sets.starts[low] : sets.starts[high]]
        owner = np.repeat(np.arange(low, high), np.diff(sets.starts[low : high + 1]))
        without, with_ = left.copy(), left.copy()
        holding = owner[span == u]
        without[holding] = False
        with_[low:high] = False
        with_[holding] = left[holding]
        return without, with_

    def _choose(self, node: Node) -> tuple[Arc | None, tuple[float, float]]:
        """Choose the arc to branch on, if there is one, and say what its two sides seem to gain."""
        candidates = self._candidates()
        if not candidates:
            return self._any_arc(node), (0.0, 0.0)
        best: tuple[float, Arc, tuple[float, float]] | None = None
        lp = self.cutter.lp
        basis = lp.solver.getBasis()
        base = lp.lagrangian(lp.y)[0]
        for arc in candidates:
            if arc not in self._gains:
                self._gains[arc] = self._try(arc, node, base, basis)
            gains = self._gains[arc]
            worth = max(gains[0], FRACTIONAL) * max(gains[1], FRACTIONAL)
            if best is None or worth > best[0]:
                best = worth, arc, gains
        lp.leave_open(node.left)
        lp.solver.setBasis(basis)
        if best is None:
            raise AssertionError("no arc to branch on")
        return best[1:]

    def _candidates(self) -> list[Arc]:
        """Return fractional arcs, the most undecided first."""
        lp = self.cutter.lp
        arc = Support.of(lp.sets, lp.x).matrix
        fraction = np.clip(np.minimum(arc, 1.0 - arc), 0.0, None)
        heads, tails = np.nonzero(fraction > FRACTIONAL)
        value = fraction[heads, tails] + 0.3 * fraction[tails, heads]
        order = np.argsort(-value, kind="stable")[: self.tuning.candidates]
        return [(int(tails[i]), int(heads[i])) for i in order]

    def _try(self, arc: Arc, node: Node, base: float, basis: object) -> tuple[float, float]:
        """Let the dual simplex work a little on both sides; return what the bound gains."""
        lp = self.cutter.lp
        room = self.part.cost - base
        gains = []
        for left in self._sides(arc, node.left):
            trial = Node(left, base, node.depth + 1)
            gain = room
            if self.cutter.follow_up(trial):
                lp.leave_open(trial.left)
                lp.solver.setBasis(basis)
                gain = min(room, max(0.0, lp.try_iterations(self.tuning.trial) - base))
            gains.append(gain)
        return gains[0], gains[1]

    def _any_arc(self, node: Node) -> Arc | None:
        """Return an arc that some set left of a child has and another has not, if any is so."""
        sets = self.cutter.lp.sets
        for v in range(len(sets.offsets) - 1):
            open_sets = [i for i in range(*sets.offsets[v : v + 2]) if node.left[i]]
            held = [set(sets.parents[sets.starts[i] : sets.starts[i + 1]]) for i in open_sets]
            apart = set.union(*held) - set.intersection(*held)
            if apart:
                return int(min(apart)), v
        return None

    def _push(self, node: Node) -> None:
        self._count += 1
        heapq.heappush(self._heap, (node.bound, self._count, node))
