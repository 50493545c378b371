"""A proof gone through before it is written: what every step removes, and what each cut is for.

The steps are carried out as a check does, but for two of them. Dominance does not follow from the
model: a network may take a set although another one would do. Such a set is kept, and counts in
branchings as the one that would do, which never makes a bound worse. The best forest is a round:
what Edmonds' algorithm charges to groups of variables are multipliers of their cluster cuts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parentage.check.document import ProofError, StatedCut
from parentage.check.nodes import checked_row, excluded, forest_costs, forest_prices
from parentage.vipr.cuts import MOST_WRITTEN, path_down, ways_down

if TYPE_CHECKING:
    from parentage.check.document import Document, ProofNode, Round, Step
    from parentage.check.families import Families, Flags, Ints
    from parentage.check.nodes import CheckedCut


SHARES = (0.3, 0.1, 0.03, 0.01)
"""Rounds that remove less than this share of the sets left are left out, if the rest is enough."""


DEEPEST = 200
"""Nodes below one another: each is a few calls deep, and Python stops at a thousand."""


class Removal(NamedTuple):
    """A round of cuts with multipliers, and the sets it removes; none if it closes the node."""

    round: Round
    scale: int
    gone: Ints


class Forced(NamedTuple):
    """A path of arcs that all sets left have, and the sets of its first that hold its last.

    A path that ends where it begins closes the node, and removes nothing.
    """

    path: list[int]
    gone: Ints


Move = Removal | Forced | int
"""What happens in a node; a number is a variable without a set left."""


@dataclass
class WalkedNode:
    """A node of the proof: variables, goal, moves, and what comes after them."""

    variables: list[int]
    goal: int
    moves: list[Move] = field(default_factory=list)
    branch: tuple[int, Ints, WalkedNode, WalkedNode] | None = None
    """A child, those of its sets that are 0 in one case, the case without them, and the other."""
    parts: list[WalkedNode] = field(default_factory=list)
    left: Ints | None = None
    """The sets left, where dynamic programming ends the node."""


@dataclass
class SetsLeft:
    """Where the walk is: the sets left, and the set that each one counts as."""

    left: Flags
    stands_for: Ints

    def copy(self) -> SetsLeft:
        """Return a state of its own."""
        return SetsLeft(self.left.copy(), self.stands_for.copy())


class Walk:
    """Goes through a proof; afterwards has its nodes, and the sets that every cut is used for.

    Parameters
    ----------
    families
        The sets, all of them allowed.
    document
        The proof, about these sets.
    """

    def __init__(self, families: Families, document: Document) -> None:
        self.families, self.document = families, document
        self.cuts: list[StatedCut] = list(document.cuts)
        self.used: dict[int, Flags] = {}
        self._rows: dict[int, CheckedCut] = {}

    def root(self, goal: int) -> WalkedNode:
        """Go through the whole proof.

        Raises
        ------
        ProofError
            A step that does not hold, or that no VIPR file is written for.
        """
        everything = SetsLeft(np.ones(self.families.m, np.bool_), np.arange(self.families.m))
        return self._node(0, list(range(self.families.n)), goal, everything)

    def _node(
        self, number: int, variables: list[int], goal: int, state: SetsLeft, depth: int = 0
    ) -> WalkedNode:
        node = WalkedNode(variables, goal)
        source = self.document.nodes[number]
        start = state.copy()
        if depth > DEEPEST:
            raise ProofError(f"node {number}: it is more than {DEEPEST} branches and splits deep")
        if self._exhausted(node, state):
            return node
        for step in source.steps:
            if self._step(node, step, state) or self._exhausted(node, state):
                self._shorten(node, start)
                self._note(node, start)
                return node
        self._note(node, start)
        self._end(node, source, state, number, depth + 1)
        return node

    def _shorten(self, node: WalkedNode, start: SetsLeft) -> None:
        """Leave out rounds that remove little, if the others close a node as well."""
        rounds = [move for move in node.moves if isinstance(move, Removal)]
        if len(rounds) < len(node.moves) or not rounds or len(rounds[-1].gone):
            return
        for share in SHARES:
            trial, state = WalkedNode(node.variables, node.goal), start.copy()
            for move in rounds:
                much = len(move.gone) >= share * state.left.sum() or move is rounds[-1]
                if much and self._round(trial, move.round, move.scale, state):
                    node.moves = trial.moves
                    return

    def _note(self, node: WalkedNode, start: SetsLeft) -> None:
        """Note for which sets the cuts of a node are used."""
        left = start.left & self._inside(node)
        for move in node.moves:
            if isinstance(move, int):
                continue
            for k in move.round[0] if isinstance(move, Removal) else ():
                used = self.used.setdefault(k, np.zeros(self.families.m, np.bool_))
                used |= left
            left[move.gone] = False

    def _step(self, node: WalkedNode, step: Step, state: SetsLeft) -> bool:
        """Carry out a step; True when it closes the node."""
        if isinstance(step, tuple):
            return self._round(node, step, self.document.denominator, state)
        if step == "ancestors":
            return self._ancestors(node, state)
        self._dominance(node, state)
        return False

    def _exhausted(self, node: WalkedNode, state: SetsLeft) -> bool:
        some = np.logical_or.reduceat(state.left, self.families.offsets[:-1])
        for v in node.variables:
            if not some[v]:
                node.moves.append(v)
                return True
        return False

    def _round(self, node: WalkedNode, step: Round, scale: int, state: SetsLeft) -> bool:
        """Remove what a round of cuts excludes; True when it closes the node."""
        cuts = [(self._row(k), times) for k, times in zip(*step, strict=True)]
        variables = np.array(node.variables)
        gone = excluded(self.families, state.left, variables, node.goal, cuts, scale)
        if gone is None:
            node.moves.append(Removal(step, scale, np.zeros(0, np.int64)))
            return True
        if len(gone):
            node.moves.append(Removal(step, scale, gone))
            state.left[gone] = False
        return False

    def _inside(self, node: WalkedNode) -> Flags:
        inside = np.zeros(self.families.n, np.bool_)
        inside[node.variables] = True
        return inside[self.families.child]

    def _row(self, k: int) -> CheckedCut:
        if k not in self._rows:
            self._rows[k] = checked_row(self.families, self.cuts[k])
        return self._rows[k]

    def _ancestors(self, node: WalkedNode, state: SetsLeft) -> bool:
        """Follow forced arcs until nothing changes; True when they close a cycle."""
        families, variables = self.families, set(node.variables)
        while True:
            if self._exhausted(node, state):
                return True
            above = {v: self._forced(v, state) & variables for v in node.variables}
            ancestors = {v: ways_down(above, v) for v in node.variables}
            for v in node.variables:
                if v in ancestors[v]:
                    path = path_down(ancestors[v], v, v)
                    node.moves.append(Forced(path, np.zeros(0, np.int64)))
                    return True
            changed = False
            for v in node.variables:
                for u in ancestors[v]:  # u is above v: no set of u can hold v
                    own = families.sets(u)
                    own = own[families.holding(u, v) & state.left[own]]
                    if len(own):
                        node.moves.append(Forced(path_down(ancestors[v], u, v), own))
                        state.left[own] = False
                        changed = True
            if not changed:
                return False

    def _forced(self, v: int, state: SetsLeft) -> set[int]:
        """Parents that all sets left of a variable have."""
        own = self.families.sets(v)
        common: set[int] | None = None
        for i in own[state.left[own]].tolist():
            held = self._held(i)
            common = held if common is None else common & held
            if not common:
                break
        return common or set()

    def _dominance(self, node: WalkedNode, state: SetsLeft) -> None:
        """Let every set that another one left replaces count as that one."""
        families, variables = self.families, set(node.variables)
        for v in node.variables:
            own = [
                i for i in families.sets(v).tolist() if state.left[i] and state.stands_for[i] == i
            ]
            held = {i: self._held(i) & variables for i in own}
            own.sort(key=lambda i: (families.cost[i], len(held[i]), i))
            stay: list[int] = []
            for i in own:
                better = next((j for j in stay if held[j] <= held[i]), None)
                if better is None:
                    stay.append(i)
                else:
                    span = state.stands_for[families.offsets[v] : families.offsets[v + 1]]
                    span[span == i] = better

    def _held(self, i: int) -> set[int]:
        return set(self.families.parents_of(i).tolist())

    def _end(
        self, node: WalkedNode, source: ProofNode, state: SetsLeft, number: int, depth: int
    ) -> None:
        where = f"node {number}"
        if source.branch is not None:
            self._branch(node, source.branch, state, depth)
        elif source.parts is not None:
            node.parts = [
                self._node(below, sorted(variables), goal, state.copy(), depth)
                for variables, goal, below in source.parts
            ]
        elif source.solved_by == "forest":
            start, moves = state.copy(), len(node.moves)
            if not self._forest(node, state):
                raise ProofError(f"{where} (forest): its bound is less than the goal")
            self._note(WalkedNode(node.variables, node.goal, node.moves[moves:]), start)
        elif source.solved_by == "subsets":
            if len(node.variables) > MOST_WRITTEN:
                raise ProofError(
                    f"{where}: it solves {len(node.variables)} variables by dynamic programming, "
                    f"and a VIPR file is written for at most {MOST_WRITTEN}"
                )
            node.left = np.flatnonzero(state.left & self._inside(node))
        else:
            raise ProofError(
                f"{where}: neither its steps nor a branch, split or solution closes it"
            )

    def _branch(
        self, node: WalkedNode, branch: tuple[int, int, int, int], state: SetsLeft, depth: int
    ) -> None:
        families, (u, v, *sides) = self.families, branch
        own = families.sets(v)
        holding = families.holding(v, u)[state.stands_for[own] - own[0]]
        without, with_ = state.copy(), state.copy()
        without.left[own[holding]] = False
        with_.left[own[~holding]] = False
        node.branch = (
            v,
            own[holding],
            self._node(sides[0], node.variables, node.goal, without, depth),
            self._node(sides[1], node.variables, node.goal, with_, depth),
        )

    def _forest(self, node: WalkedNode, state: SetsLeft) -> bool:
        """Turn the best forest into a round of cluster cuts; True if that closes the node."""
        cuts, times = [], []
        costs = forest_costs(self.families, np.array(node.variables), state.left)
        for group, price in forest_prices(costs):
            if price and len(group) > 1:
                cuts.append(len(self.cuts))
                members = tuple(node.variables[g - 1] for g in group)
                self.cuts.append(StatedCut(members, len(members) - 1, 1))
                times.append(price)
        return self._round(node, (tuple(cuts), tuple(times)), 1, state)
