"""The proof itself: steps that close nodes, nodes that branch and split, in whole numbers.

Each node has variables, a goal and the sets that are left, and claims that no acyclic choice of
sets left costs less than the goal, only parents among the variables counted. docs/certificates.md
says why every step is sound; here they are carried out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.check.cuts import checked_row
from parentage.check.forest import NEVER, least_forest
from parentage.check.records import (
    LARGEST,
    Ancestors,
    Branch,
    Cluster,
    Forest,
    ProofError,
    Round,
    Split,
    Subsets,
)
from parentage.check.subsets import MOST_VARIABLES, least_cost

if TYPE_CHECKING:
    from parentage.check.cuts import Row
    from parentage.check.families import Families
    from parentage.check.records import Certificate, Dominance, Node
    from parentage.check.whole import Flags, Ints

Octets = npt.NDArray[np.uint8]

MOST_CELLS = 2**36
"""Cells of all dynamic programmes of a proof together, so that every check ends in time."""


class State(NamedTuple):
    """A node to be closed: its number, variables (rising), goal, and the sets left."""

    node: int
    variables: Ints
    goal: int
    left: Flags


@dataclass
class Proof:
    """A proof in progress: rows of the cuts checked so far, and what was counted."""

    families: Families
    certificate: Certificate
    memory: float
    counts: Counter[str] = field(default_factory=Counter)
    rows: dict[int, Row] = field(default_factory=dict)
    cells: int = 0

    def verify(self, goal: int) -> None:
        """Check that no choice costs less than ``goal``.

        Raises
        ------
        ProofError
            The first step that does not hold.
        """
        start = State(0, np.arange(self.families.n), goal, self.families.allowed.copy())
        waiting = [start]
        while waiting:
            state = waiting.pop()
            state = state._replace(left=state.left.copy())  # parts of a split share it
            self.counts["nodes"] += 1
            node = self.certificate.nodes[state.node]
            if not self._steps(state, node):
                waiting.extend(reversed(self._end(state, node)))

    def _steps(self, state: State, node: Node) -> bool:
        """Carry out the steps of a node; True when they close it."""
        if self._exhausted(state):
            return True
        done: dict[type, int] = {}
        for i, step in enumerate(node.steps):
            if isinstance(step, Round):
                closed = self._round(state, step, f"node {state.node}, step {i}")
            else:
                closed = done.get(type(step)) != int(state.left.sum()) and self._follow(state, step)
                done[type(step)] = int(state.left.sum())  # again it would find nothing
            if closed or self._exhausted(state):
                return True
        return False

    def _follow(self, state: State, step: Ancestors | Dominance) -> bool:
        """Carry out a step that needs no cuts; True when it closes the node."""
        if isinstance(step, Ancestors):
            return follow_ancestors(self.families, state)
        drop_dominated(self.families, state)
        return False

    def _exhausted(self, state: State) -> bool:
        """Whether a variable has no set left."""
        some = np.logical_or.reduceat(state.left, self.families.offsets[:-1])
        return not bool(some[state.variables].all())

    def _round(self, state: State, step: Round, where: str) -> bool:
        """Compute the bound of a round, remove what it excludes; True when it closes the node."""
        families, scale = self.families, self.certificate.denominator
        self.counts["rounds"] += 1
        rows = [self._row(i, where) for i in step.cuts]
        largest = scale * families.largest_cost
        for row, times in zip(rows, step.times, strict=True):
            largest += row.largest * times
        if largest >= LARGEST:
            raise ProofError(f"{where} (round): its numbers do not fit into 62 bits")
        reduced = families.cost * scale
        right = 0
        for row, times in zip(rows, step.times, strict=True):
            right += row.right * times
            reduced[row.sets] += row.weight * times
        reduced[~state.left] = LARGEST
        least = np.minimum.reduceat(reduced, families.offsets[:-1])
        bound = sum(least[state.variables].tolist()) - right
        room = scale * (state.goal - 1) - bound
        if room < 0:
            return True
        if room < LARGEST:
            rise = reduced - np.repeat(least, np.diff(families.offsets))
            inside = np.zeros(families.n, np.bool_)
            inside[state.variables] = True
            out = state.left & (rise > room) & inside[families.child]
            self.counts["removed"] += int(out.sum())
            state.left[out] = False
        return False

    def _row(self, index: int, where: str) -> Row:
        """Return the row of a cut, checked when it is first used."""
        if index not in self.rows:
            cut = self.certificate.cuts[index]
            if not isinstance(cut, Cluster):
                self._spend(len(cut.members), where)
            try:
                self.rows[index] = checked_row(self.families, cut)
            except ProofError as refusal:
                raise ProofError(f"{where} (round): cut {index} does not hold: {refusal}") from None
            kind = "cluster" if isinstance(cut, Cluster) else "through" if cut.through else "local"
            self.counts[kind] += 1
        return self.rows[index]

    def _end(self, state: State, node: Node) -> list[State]:
        """Return the nodes that remain to be closed once the steps have left this one open."""
        end, where = node.end, f"node {state.node}"
        if isinstance(end, Branch):
            return self._branch(state, end, where)
        if isinstance(end, Split):
            return self._split(state, end, where)
        if isinstance(end, Subsets):
            found = self._least_by_subsets(state, where)
        elif isinstance(end, Forest):
            found = least_forest(forest_costs(self.families, state.variables, state.left))
        else:
            raise ProofError(f"{where}: it stays open after its last step")
        self.counts["subsets" if isinstance(end, Subsets) else "forest"] += 1
        if found < state.goal:
            raise ProofError(f"{where}: its bound {found} is less than the goal {state.goal}")
        return []

    def _branch(self, state: State, end: Branch, where: str) -> list[State]:
        if not {end.parent, end.child} <= set(state.variables.tolist()):
            raise ProofError(f"{where} (branch): the arc is not between variables of this node")
        families = self.families
        span = slice(int(families.offsets[end.child]), int(families.offsets[end.child + 1]))
        one = np.zeros(families.n, np.int64)
        one[end.parent] = 1
        has = families.sums(end.child, one) > 0
        without, with_ = state.left.copy(), state.left.copy()
        without[span] &= ~has
        with_[span] &= has
        return [
            State(end.without, state.variables, state.goal, without),
            State(end.with_, state.variables, state.goal, with_),
        ]

    def _split(self, state: State, end: Split, where: str) -> list[State]:
        free = set(state.variables.tolist())
        for i, part in enumerate(end.parts):
            if not part.variables or not set(part.variables) <= free:
                raise ProofError(f"{where} (split): part {i} is not apart from the others")
            free -= set(part.variables)
        cost = np.where(state.left, self.families.cost, LARGEST)
        least = np.minimum.reduceat(cost, self.families.offsets[:-1])
        total = sum(part.goal for part in end.parts) + sum(least[sorted(free)].tolist())
        if total < state.goal:
            raise ProofError(
                f"{where} (split): the goals of the parts add up to {total}, less than {state.goal}"
            )
        return [
            State(part.node, np.sort(np.array(part.variables)), part.goal, state.left)
            for part in end.parts
        ]

    def _least_by_subsets(self, state: State, where: str) -> int:
        n = len(state.variables)
        if n <= MOST_VARIABLES:
            self._spend(n, where)
        bit = np.zeros(self.families.n, np.int64)
        bit[state.variables[:62]] = 1 << np.arange(min(n, 62))
        masks, costs = [], []
        for v in state.variables.tolist():
            span = slice(int(self.families.offsets[v]), int(self.families.offsets[v + 1]))
            masks.append(self.families.sums(v, bit)[state.left[span]])
            costs.append(self.families.cost[span][state.left[span]])
        try:
            return least_cost(masks, costs, self.memory)
        except ProofError as refusal:
            raise ProofError(f"{where} ({refusal})") from None

    def _spend(self, n: int, where: str) -> None:
        """Count the cells of a dynamic programme over the subsets of ``n``."""
        self.cells += n << n
        if self.cells > MOST_CELLS:
            raise ProofError(f"{where}: its dynamic programmes are larger than a check allows")


def forest_costs(families: Families, variables: Ints, left: Flags) -> Ints:
    """Return what each parent costs each variable when every set left keeps at most one.

    The result is ``int64[k + 1, k + 1]`` for ``k`` variables, numbered from 1 (:mod:`.forest`).
    Dropping parents only allows more choices, so no choice costs less. A set with several parents
    keeps the one whose own set costs least: a set dominated by a single parent or by none changes
    nothing.
    """
    place = np.zeros(families.n, np.int64)
    place[variables] = np.arange(1, len(variables) + 1)
    inside = (place > 0).astype(np.int64)
    into = np.full((len(variables) + 1,) * 2, NEVER, np.int64)
    for v in variables.tolist():
        own = np.arange(families.offsets[v], families.offsets[v + 1])
        several = families.sums(v, inside) > 1
        kept, from_ = left[own], into[:, place[v]]
        single = kept & ~several
        np.minimum.at(from_, families.sums(v, place)[single], families.cost[own[single]])
        alone = from_.copy()
        for i in own[kept & several]:
            above = place[families.parents[families.starts[i] : families.starts[i + 1]]]
            above = above[above > 0]
            keeps = above[alone[above].argmin()]
            from_[keeps] = min(from_[keeps], families.cost[i])
    return into


def follow_ancestors(families: Families, state: State) -> bool:
    """Remove sets that contradict arcs which every set left has; True if a cycle is forced."""
    n = len(state.variables)
    place = np.full(families.n, -1, np.int64)
    place[state.variables] = np.arange(n)
    child = place[families.child[families.owner]]
    parent = place[families.parents]
    inside = (child >= 0) & (parent >= 0)
    owner, child, parent = families.owner[inside], child[inside], parent[inside]
    key = child * n + parent
    while True:
        sets = np.add.reduceat(state.left.astype(np.int64), families.offsets[:-1])
        if not sets[state.variables].all():
            return True
        having = np.bincount(key[state.left[owner]], minlength=n * n).reshape(n, n)
        above = _closure(having == sets[state.variables][:, None])
        if above.diagonal().any():
            return True
        wrong = owner[above[parent, child] & state.left[owner]]
        if not len(wrong):
            return False
        state.left[wrong] = False


def _closure(above: Flags) -> Flags:
    """Follow chains: ``[v, u]`` says that ``u`` is above ``v``."""
    while True:
        counted = above.astype(np.float32)
        further = above | (counted @ counted > 0)
        if (further == above).all():
            return further
        above = further


def drop_dominated(families: Families, state: State) -> None:
    """Remove every set that another one left replaces: no more cost, no other parent inside."""
    place = np.full(families.n, -1, np.int64)
    place[state.variables] = np.arange(len(state.variables))
    for v in state.variables.tolist():
        span = np.arange(families.offsets[v], families.offsets[v + 1])
        span = span[state.left[span]]
        if len(span) < 2:
            continue
        words = _packed(families, span, place, len(state.variables))
        cost = families.cost[span]
        for i in range(len(span)):
            inside = ~(words & ~words[i]).any(axis=1) & (cost <= cost[i])
            same = (words == words[i]).all(axis=1) & (cost == cost[i])
            same[:i] = False  # of equal ones the first stays
            state.left[span[i]] = not (inside & ~same).any()


def _packed(families: Families, span: Ints, place: Ints, n: int) -> Octets:
    """The parents inside of some sets, eight to a byte."""
    flags = np.zeros((len(span), n), np.bool_)
    for row, i in enumerate(span.tolist()):
        at = place[families.parents[families.starts[i] : families.starts[i + 1]]]
        flags[row, at[at >= 0]] = True
    return np.packbits(flags, axis=1)
