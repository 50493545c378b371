"""A proof written down: every node ends in a row that cannot be, cuts come before their first use.

Inside a node it is assumed that its cost is less than its goal. A round is then one row: the cost,
the cuts with their multipliers, and one set per child give a left side that every set without
which there would be room adds more to than there is. So the sets that it removes add up to less
than 1: to 0. A round without room cannot be.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from parentage.vipr.cuts import Choice, Member, best_order, derive_cut
from parentage.vipr.model import Row
from parentage.vipr.orders import forced
from parentage.vipr.walk import Exhausted, Forced, Removal

if TYPE_CHECKING:
    from parentage.vipr.lines import Lines
    from parentage.vipr.walk import Case, Node, Walk


@dataclass
class Known:
    """What is known in a node: the row of its cost, sets that are 0, and orders that are forced."""

    cost: int
    zeros: list[int] = field(default_factory=list)
    arcs: dict[tuple[int, int], int] = field(default_factory=dict)

    def also(self, *zeros: int) -> Known:
        """Return the same and more."""
        return Known(self.cost, [*self.zeros, *zeros], dict(self.arcs))


class Proof:
    """Writes the nodes of a walk as lines."""

    def __init__(self, lines: Lines, walk: Walk) -> None:
        self.lines, self.model, self.walk = lines, lines.model, walk
        self._cuts: dict[int, int | None] = {}

    def prove(self, node: Node, zeros: list[int]) -> int:
        """Derive that the variables of a node cost its goal at least; return the row's number."""
        model = self.model
        cost = model.objective
        if len(node.variables) < model.n:
            inside = set(node.variables)
            cost = {i: c for i, c in model.objective.items() if model.child[i] in inside}
        if not cost:  # nothing costs anything
            found = self.lines.derive(Row(cost, 1, node.goal), [])
            self.lines.settle(found)
            return found
        low = self.lines.assume(Row(cost, -1, node.goal - 1))
        high = self.lines.assume(Row(cost, 1, node.goal))
        self.lines.settle(low, high)
        absurd = self._close(node, Known(low, list(zeros)))
        found = self.lines.either(Row(cost, 1, node.goal), (high, high), (absurd, low))
        self.lines.settle(found)
        return found

    def _close(self, node: Node, known: Known) -> int:
        """Derive what cannot be from what is known in a node; return that row's number."""
        absurd = None
        for move in node.moves:
            if isinstance(move, Removal):
                absurd = self._round(node, move, known)
            elif isinstance(move, Forced):
                absurd = self._forced(move, known)
            else:
                absurd = self._exhausted(move, known)
        if absurd is not None:
            return absurd
        if node.case is not None:
            return self._case(node.case, known)
        if node.left is not None:
            return self._subsets(node, known)
        return self._split(node, known)

    def _derived(self, k: int) -> int | None:
        """The row of a cut, derived for all it is used for when it is first asked for."""
        if k not in self._cuts:
            sets = set(np.flatnonzero(self.walk.used[k]).tolist())
            found = derive_cut(self.lines, self.walk.cuts[k], sets)
            self.lines.settle(*([] if found is None else [found]))
            self._cuts[k] = found
        return self._cuts[k]

    def _round(self, node: Node, move: Removal, known: Known) -> int | None:
        """Derive that the sets a round removes are 0, or that there is no room."""
        model, lines = self.model, self.lines
        terms = [(known.cost, move.scale)]
        for k, times in zip(move.cuts, move.times, strict=True):
            row = self._derived(k)
            if row is not None:
                terms.append((row, times))
        reduced: dict[int, int] = {}
        for index, times in terms:
            for i, weight in lines.row(index).coefficients.items():
                reduced[i] = reduced.get(i, 0) + weight * times
        zero = {i for index in known.zeros for i in lines.row(index).coefficients}
        room = sum(times * lines.row(index).right for index, times in terms)
        for v in node.variables:
            least = min(reduced.get(i, 0) for i in model.sets(v) if i not in zero)
            room -= least
            terms.append((model.one(v), -least))
        if not len(move.gone):
            absurd = lines.derive(Row({}, -1, -1), terms, zeros=known.zeros)
            lines.settle(absurd)
            return absurd
        gone = dict.fromkeys(move.gone.tolist(), 1)
        row = lines.derive(
            Row(gone, -1, 0), terms, divide=room + 1, rounded=True, zeros=known.zeros
        )
        lines.settle(row)
        known.zeros.append(row)
        return None

    def _forced(self, move: Forced, known: Known) -> int | None:
        """Derive that sets against a forced order are 0, or that the order is a cycle."""
        model, lines = self.model, self.lines
        fresh = []
        for u, v in pairwise(move.path):
            if (u, v) not in known.arcs:
                known.arcs[u, v] = lines.derive(
                    model.clause([(u, v)]),
                    [(model.one(v), 1), (model.link(u, v), -1)],
                    zeros=known.zeros,
                )
                fresh.append(known.arcs[u, v])
        before = set(known.arcs.values())
        first, last = move.path[0], move.path[-1]
        if first == last:
            above = forced(lines, move.path[:-1], known.arcs)
            back = known.arcs[move.path[-2], last]
            found = lines.derive(Row({}, 1, 1), [(above, 1), (back, 1)])
        else:
            above = forced(lines, move.path, known.arcs)
            gone = Row(dict.fromkeys(move.gone.tolist(), 1), -1, 0)
            found = lines.derive(gone, [(model.link(last, first), 1), (above, -1)])
        lines.settle(found, *fresh, *(set(known.arcs.values()) - before))
        if first == last:
            return found
        known.zeros.append(found)
        return None

    def _exhausted(self, move: Exhausted, known: Known) -> int:
        absurd = self.lines.derive(
            Row({}, 1, 1), [(self.model.one(move.variable), 1)], zeros=known.zeros
        )
        self.lines.settle(absurd)
        return absurd

    def _case(self, case: Case, known: Known) -> int:
        """Close both cases of a branching."""
        lines, inside = self.lines, dict.fromkeys(case.inside.tolist(), 1)
        absent = lines.assume(Row(inside, -1, 0))
        lines.settle(absent)
        without = self._close(case.without, known.also(absent))
        present = lines.assume(Row(inside, 1, 1))
        others = {i: 1 for i in self.model.sets(case.child) if i not in inside}
        zeros = [present]
        if others:
            zeros.append(
                lines.derive(Row(others, -1, 0), [(self.model.one(case.child), 1), (present, -1)])
            )
        lines.settle(*zeros)
        with_ = self._close(case.with_, known.also(*zeros[1:]))
        absurd = lines.either(Row({}, 1, 1), (without, absent), (with_, present))
        lines.settle(absurd)
        return absurd

    def _split(self, node: Node, known: Known) -> int:
        """Add up parts, and the least costs of variables in none."""
        model, lines = self.model, self.lines
        parts = [self.prove(part, known.zeros) for part in node.parts]
        zero = {i for index in known.zeros for i in lines.row(index).coefficients}
        free = set(node.variables).difference(*(part.variables for part in node.parts))
        terms = [(known.cost, -1), *((part, 1) for part in parts)]
        for v in sorted(free):
            least = min(model.cost[i] for i in model.sets(v) if i not in zero)
            terms.append((model.one(v), least))
        absurd = lines.derive(Row({}, 1, 1), terms, zeros=known.zeros)
        lines.settle(absurd)
        return absurd

    def _subsets(self, node: Node, known: Known) -> int:
        """Close a node by dynamic programming, as a local cut: worth is what is not paid."""
        model, lines = self.model, self.lines
        left = set(node.left.tolist() if node.left is not None else ())
        bit = {v: 1 << t for t, v in enumerate(node.variables)}
        members, ones, right = [], [], -node.goal
        for v in node.variables:
            own = [i for i in model.sets(v) if i in left]
            dearest = max(node.goal, 1 + max(model.cost[i] for i in own))
            right += dearest
            ones.append((model.one(v), -dearest))
            choices = {
                i: Choice(dearest - model.cost[i], sum(bit.get(u, 0) for u in model.parents[i]))
                for i in own
            }
            rows = {
                t: [model.link(u, v)] for t, u in enumerate(node.variables)
                if (u, v) in model.holders
            }  # fmt: skip
            members.append(Member(v, choices, rows))
        bound = best_order(lines, members, right)
        absurd = lines.derive(
            Row({}, -1, -1), [(known.cost, 1), (bound, 1), *ones], zeros=known.zeros
        )
        lines.settle(absurd)
        return absurd
