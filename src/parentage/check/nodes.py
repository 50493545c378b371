"""The proof itself: steps that close nodes, nodes that branch and split, in whole numbers.

Each node has variables, a goal and the sets that are left, and claims that no acyclic choice of
sets left costs less than the goal, only parents among the variables counted. docs/certificates.md
says why every step is sound; here they are carried out.

**Cuts** (:func:`checked_row`). A cluster cut holds by a theorem. A local cut holds if the dynamic
programme over the subsets of its members, in an order any network respects, cannot reach more than
its right side; docs/certificates.md has the proofs, also of cuts that pass through variables.

Two kinds of nodes are solved directly:

**Subsets** (:func:`least_cost`), by dynamic programming: best(T) = min over j in T of best(T
without j) + the least cost of a set of j within T without j. Subsets are taken in blocks that share
their high bits: blocks in rising order, and within a block by size, so that everything needed is
there already. The last term is worked out per block, for all children at once: the sets whose high
bits lie in the block's are laid into a table by their low bits, and minima are carried from every
subset to its supersets, one low bit after the other. So only best(T) itself is kept for all
subsets, eight bytes each.

**Forest** (:func:`least_forest`), where every variable has one parent or none (Chu, Liu, Edmonds):
every variable takes its cheapest way in; where these ways close cycles, each cycle becomes one
variable, with what a way into it costs beyond what it replaces.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.check.document import LARGEST, ProofError

if TYPE_CHECKING:
    from parentage.check.document import Document, Part, ProofNode, Round, StatedCut
    from parentage.check.families import Families, Flags, Ints

MOST_VARIABLES = 28
"""Variables of a node for which dynamic programming is repeated."""

LOW = 13
"""Bits within a block."""

NEVER = 2**61
"""Cost of what is impossible."""


class CheckedCut(NamedTuple):
    """A cut on the sets: sum of ``weight`` over the chosen ones among ``sets`` is ≤ ``right``."""

    sets: Ints
    weight: Ints
    right: int
    largest: int


def checked_row(families: Families, cut: StatedCut) -> CheckedCut:
    """Return the row of a cut that holds.

    Raises
    ------
    ProofError
        The cut does not hold.
    """
    if cut.k:
        inside = np.zeros(families.n, np.int64)
        inside[list(cut.members)] = 1
        many = [families.sets(v)[families.sums(v, inside) >= cut.k] for v in cut.members]
        sets = np.concatenate(many)
        sets = sets[families.allowed[sets]]
        return CheckedCut(sets, np.ones(len(sets), np.int64), cut.right, 1)
    return _local_row(families, cut)


def _local_row(families: Families, cut: StatedCut) -> CheckedCut:
    size = len(cut.members)
    bit = np.zeros(families.n, np.int64)
    bit[list(cut.members)] = 1 << np.arange(size)
    reached = reached_members(cut)
    worth = closed_values(cut)
    plain = np.zeros((size, 1 << size), np.int64)
    passed = np.zeros((size, 1 << size), np.int64) if cut.through else plain
    sets, weights = [], []
    for j, v in enumerate(cut.members):
        span, own = families.sets(v), families.sums(v, bit)
        seen = own
        for u, mask in reached.items():
            seen = np.where(families.holding(v, u), seen | mask, seen)
        seen = seen & ~(1 << j)
        value = np.where(families.allowed[span], worth[j, seen], 0)
        np.maximum.at(plain[j], own, value)
        if cut.through:
            np.maximum.at(passed[j], seen, value)
        sets.append(span[value > 0])
        weights.append(value[value > 0])
    most = best_order(passed)
    if most > cut.right:
        raise ProofError(f"a network reaches {most}, more than the right side {cut.right}")
    if cut.through:
        most = best_order(plain)
        if most > cut.right + cut.weight:
            raise ProofError(
                f"without its through variables a network reaches {most}, more than the right side "
                f"{cut.right} + M = {cut.right + cut.weight}"
            )
        for u, parents in cut.through:
            span = families.sets(u)
            needed = families.allowed[span]
            for parent in parents:
                needed &= families.holding(u, parent)
            sets.append(span[needed])
            weights.append(np.full(int(needed.sum()), cut.weight, np.int64))
    weight = np.concatenate(weights)
    right = cut.right + cut.weight * len(cut.through)
    return CheckedCut(np.concatenate(sets), weight, right, int(weight.max(initial=0)))


def reached_members(cut: StatedCut) -> dict[int, int]:
    """Return the members (as bits) above every variable passed through, by way of such ones.

    Variables with no member above them are left out.
    """
    bit = {v: 1 << j for j, v in enumerate(cut.members)}
    reached = {u: sum(bit.get(p, 0) for p in parents) for u, parents in cut.through}
    changed = True
    while changed:
        changed = False
        for u, parents in cut.through:
            more = reached[u]
            for parent in parents:
                more |= reached.get(parent, 0)
            changed |= more != reached[u]
            reached[u] = more
    return {u: mask for u, mask in reached.items() if mask}


def closed_values(cut: StatedCut) -> Ints:
    """Return ``int64[L, 2^L]``: the largest value whose mask is contained in each subset."""
    size = len(cut.members)
    values = np.zeros((size, 1 << size), np.int64)
    for j in range(size):
        np.maximum.at(
            values[j], np.array(cut.masks[j], np.int64), np.array(cut.values[j], np.int64)
        )
    spread_up(values)
    return values


def spread_up(values: Ints) -> None:
    """Replace every entry of ``int64[L, 2^L]`` by the largest over the subsets of its index."""
    size = values.shape[0]
    for t in range(size):
        halves = values.reshape(size, -1, 2, 1 << t)
        np.maximum(halves[:, :, 1], halves[:, :, 0], out=halves[:, :, 1])


def best_order(values: Ints) -> int:
    """Return the most that members can reach in an order, each with what precedes it.

    ``values`` is ``int64[L, 2^L]``, not negative; it is overwritten. ``best(T) = max over j in T
    of best(T without j) + the largest of j's values within T without j``.
    """
    spread_up(values)
    best = np.zeros(values.shape[1], np.int64)
    for whole, member, rest in size_layers(values.shape[0]):
        best[whole] = (best[rest] + values[member, rest]).max(axis=1)
    return int(best[-1])


@cache
def size_layers(size: int) -> list[tuple[Ints, Ints, Ints]]:
    """The subsets of ``size`` members by their number of members p, from one on.

    Of each p: the subsets ``int64[c]``, their members ``int64[c, p]``, what is left without each.
    """
    subsets = np.arange(1 << size)
    inside = (subsets[:, None] >> np.arange(size)) & 1 == 1
    count = inside.sum(axis=1)
    layers = []
    for p in range(1, size + 1):
        whole = subsets[count == p]
        member = np.nonzero(inside[whole])[1].reshape(len(whole), p)
        layers.append((whole, member, whole[:, None] ^ (1 << member)))
    return layers


def needed_memory(n: int) -> int:
    """Bytes for ``n`` variables."""
    return 8 * ((1 << n) + 4 * (n << min(n, LOW)))


def least_cost(masks: list[Ints], costs: list[Ints], memory: float) -> int:
    """Return the least cost of an acyclic choice, :data:`NEVER` or more if there is none.

    ``masks[j]`` are the sets of variable ``j`` as bits, ``costs[j]`` their costs.

    Raises
    ------
    ProofError
        More variables, or more memory, than possible.
    """
    n = len(masks)
    if n > MOST_VARIABLES:
        raise ProofError(f"subsets: {n} variables, at most {MOST_VARIABLES} are possible")
    needed = needed_memory(n)
    if needed > memory:
        raise ProofError(
            f"subsets: {n} variables need {needed / 1e9:.1f} GB, more than the "
            f"{memory / 1e9:.1f} GB allowed"
        )
    child = np.repeat(np.arange(n), [len(own) for own in masks])
    mask, cost = np.concatenate(masks), np.concatenate(costs)
    order = np.argsort(-cost, kind="stable")  # of two sets in one place the cheaper comes last
    return _best(n, child[order], mask[order], cost[order])


def _best(n: int, child: Ints, mask: Ints, cost: Ints) -> int:
    low = min(n, LOW)
    block = 1 << low
    best = np.full(1 << n, NEVER, np.int64)
    best[0] = 0
    layers = size_layers(low)
    place, above = child * block + (mask & (block - 1)), mask >> low
    within = np.empty((n, block), np.int64)
    for high in range(1 << (n - low)):
        inside = (above & ~high) == 0
        _least_within(within, place[inside], cost[inside])
        here = best[high << low : (high + 1) << low]
        for t in range(n - low):
            if high >> t & 1:
                before = high ^ (1 << t)
                step = best[before << low : (before + 1) << low] + within[low + t]
                np.minimum(here, step, out=here)
        for whole, member, rest in layers:
            step = (here[rest] + within[member, rest]).min(axis=1)
            here[whole] = np.minimum(here[whole], step)
        np.minimum(here, NEVER, out=here)
    return int(best[-1])


def _least_within(within: Ints, place: Ints, cost: Ints) -> None:
    """Fill ``within[child, subset of low bits]`` with the least cost of a set inside the subset.

    ``place`` has the index of each set in the flattened table, dear sets before cheap ones.
    """
    within.fill(NEVER)
    within.reshape(-1)[place] = cost
    for t in range(within.shape[1].bit_length() - 1):
        halves = within.reshape(len(within), -1, 2, 1 << t)
        np.minimum(halves[:, :, 1], halves[:, :, 0], out=halves[:, :, 1])


def least_forest(into: Ints) -> int:
    """Return the least cost, :data:`NEVER` if there is no forest.

    ``into`` is ``int64[n + 1, n + 1]``: entry ``[u, v]`` is the cost of parent ``u`` for ``v``,
    row 0 the cost of no parent at all, column 0 without meaning; NEVER where impossible.

    >>> into = np.full((3, 3), NEVER)
    >>> into[0, 1], into[0, 2], into[1, 2], into[2, 1] = 2, 4, 0, 0
    >>> least_forest(into)
    2
    """
    return sum(price for _, price in forest_prices(into))


def forest_prices(into: Ints) -> list[tuple[list[int], int]]:
    """Return the groups of variables that a forest is entered into at a price, and the prices.

    Any forest enters each group at least once, and no way in costs less than the prices of all
    groups that it enters: so the prices add up to a lower bound, and it is the least cost.
    A price is :data:`NEVER` if there is no forest.

    >>> into = np.full((3, 3), NEVER)
    >>> into[0, 1], into[0, 2], into[1, 2], into[2, 1] = 2, 4, 0, 0
    >>> forest_prices(into)
    [([1], 0), ([2], 0), ([1, 2], 2)]
    """
    into = into.copy()
    members = [[v] for v in range(len(into))]
    found: list[tuple[list[int], int]] = []
    while True:
        np.fill_diagonal(into, NEVER)
        into[:, 0] = NEVER
        if len(into) == 1:
            return found
        pick = into.argmin(axis=0)
        least = into[pick, np.arange(len(into))]
        if (least[1:] >= NEVER).any():
            return [(members[int(least[1:].argmax()) + 1], NEVER)]
        found += zip(members[1:], least[1:].tolist(), strict=True)
        into[:, 1:] = np.where(into[:, 1:] < NEVER, into[:, 1:] - least[1:], NEVER)
        group = _cycles(pick.tolist())
        n_groups = max(group) + 1
        if n_groups == len(into):
            return found
        into = _contract(into, np.array(group))
        members = [
            sorted(v for own, g in zip(members, group, strict=True) if g == k for v in own)
            for k in range(n_groups)
        ]


def _cycles(pick: list[int]) -> list[int]:
    """Number the variables so that those of a cycle share a number; the root keeps 0."""
    n = len(pick)
    group = [-1] * n
    group[0] = 0
    state = [0] * n
    state[0] = 2
    free = 1
    for start in range(1, n):
        path = []
        v = start
        while state[v] == 0:
            state[v] = 1
            path.append(v)
            v = pick[v]
        if state[v] == 1:  # met this path again: a cycle
            for u in path[path.index(v) :]:
                group[u] = free
            free += 1
        for u in path:
            state[u] = 2
            if group[u] < 0:
                group[u] = free
                free += 1
    return group


def _contract(into: Ints, group: Ints) -> Ints:
    """Take the least entry between any two groups."""
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(int(group.max()) + 1))
    rows = np.minimum.reduceat(into[order][:, order], starts, axis=0)
    contracted: Ints = np.minimum.reduceat(rows, starts, axis=1)
    return contracted


Octets = npt.NDArray[np.uint8]

MOST_CELLS = 2**36
"""Cells of all dynamic programmes of a proof together, so that every check ends in time."""


class OpenNode(NamedTuple):
    """A node to be closed: its number, variables (rising), goal, and the sets left."""

    node: int
    variables: Ints
    goal: int
    left: Flags


def excluded(
    families: Families,
    left: Flags,
    variables: Ints,
    goal: int,
    cuts: list[tuple[CheckedCut, int]],
    scale: int,
) -> Ints | None:
    """Return the sets left that no choice for some variables has whose cost is below a goal.

    Shown by cuts with multipliers, in units of one over ``scale``. None if there is no such choice
    at all: the bound of the cuts reaches the goal.

    Raises
    ------
    ProofError
        Numbers that do not fit.
    """
    largest = scale * families.largest_cost + sum(row.largest * times for row, times in cuts)
    if largest >= LARGEST:
        raise ProofError("its numbers do not fit into 62 bits")
    reduced, right = families.cost * scale, 0
    for row, times in cuts:
        right += row.right * times
        reduced[row.sets] += row.weight * times
    reduced[~left] = LARGEST
    least = np.minimum.reduceat(reduced, families.offsets[:-1])
    room = scale * (goal - 1) - (sum(least[variables].tolist()) - right)
    if room < 0:
        return None
    if room >= LARGEST:
        return np.zeros(0, np.int64)
    rise = reduced - np.repeat(least, np.diff(families.offsets))
    inside = np.zeros(families.n, np.bool_)
    inside[variables] = True
    return np.flatnonzero(left & (rise > room) & inside[families.child])


@dataclass
class Proof:
    """A proof in progress: rows of the cuts checked so far, and what was counted."""

    families: Families
    document: Document
    memory: float
    counts: Counter[str] = field(default_factory=Counter)
    rows: dict[int, CheckedCut] = field(default_factory=dict)
    cells: int = 0

    def verify(self, goal: int) -> None:
        """Check that no choice costs less than ``goal``.

        Raises
        ------
        ProofError
            The first step that does not hold.
        """
        start = OpenNode(0, np.arange(self.families.n), goal, self.families.allowed.copy())
        waiting = [start]
        while waiting:
            state = waiting.pop()
            state = state._replace(left=state.left.copy())  # parts of a split share it
            self.counts["nodes"] += 1
            node = self.document.nodes[state.node]
            if not self._steps(state, node):
                waiting.extend(reversed(self._end(state, node)))

    def _steps(self, state: OpenNode, node: ProofNode) -> bool:
        """Carry out the steps of a node; True when they close it."""
        if self._exhausted(state):
            return True
        done: dict[str, int] = {}
        for i, step in enumerate(node.steps):
            if isinstance(step, tuple):
                closed = self._round(state, step, f"node {state.node}, step {i}")
            else:
                closed = done.get(step) != int(state.left.sum()) and self._follow(state, step)
                done[step] = int(state.left.sum())  # again it would find nothing
            if closed or self._exhausted(state):
                return True
        return False

    def _follow(self, state: OpenNode, step: str) -> bool:
        """Carry out a step that needs no cuts; True when it closes the node."""
        if step == "ancestors":
            return follow_ancestors(self.families, state)
        drop_dominated(self.families, state)
        return False

    def _exhausted(self, state: OpenNode) -> bool:
        """Whether a variable has no set left."""
        some = np.logical_or.reduceat(state.left, self.families.offsets[:-1])
        return not bool(some[state.variables].all())

    def _round(self, state: OpenNode, step: Round, where: str) -> bool:
        """Remove what a round of cuts excludes; True when it closes the node."""
        self.counts["rounds"] += 1
        cuts = [(self._row(i, where), times) for i, times in zip(*step, strict=True)]
        try:
            scale = self.document.denominator
            out = excluded(self.families, state.left, state.variables, state.goal, cuts, scale)
        except ProofError as refusal:
            raise ProofError(f"{where} (round): {refusal}") from None
        if out is None:
            return True
        self.counts["removed"] += len(out)
        state.left[out] = False
        return False

    def _row(self, index: int, where: str) -> CheckedCut:
        """Return the row of a cut, checked when it is first used."""
        if index not in self.rows:
            cut = self.document.cuts[index]
            if not cut.k:
                self._spend(len(cut.members), where)
            try:
                self.rows[index] = checked_row(self.families, cut)
            except ProofError as refusal:
                raise ProofError(f"{where} (round): cut {index} does not hold: {refusal}") from None
            kind = "cluster" if cut.k else "through" if cut.through else "local"
            self.counts[kind] += 1
        return self.rows[index]

    def _end(self, state: OpenNode, node: ProofNode) -> list[OpenNode]:
        """Return the nodes that remain to be closed once the steps have left this one open."""
        where = f"node {state.node}"
        if node.branch is not None:
            return self._branch(state, *node.branch)
        if node.parts is not None:
            return self._split(state, node.parts)
        if node.solved_by is None:
            raise ProofError(
                f"{where}: neither its steps nor a branch, split or solution closes it"
            )
        if node.solved_by == "subsets":
            found = self._least_by_subsets(state, where)
        else:
            found = least_forest(forest_costs(self.families, state.variables, state.left))
        self.counts[node.solved_by] += 1
        if found < state.goal:
            raise ProofError(f"{where}: its bound {found} is less than the goal {state.goal}")
        return []

    def _branch(self, state: OpenNode, u: int, v: int, *sides: int) -> list[OpenNode]:
        """Return the node without the arc u → v, and the one with it."""
        if not {u, v} <= set(state.variables.tolist()):
            raise ProofError(
                f"node {state.node} (branch): the arc is not between variables of this node"
            )
        span, has = self.families.sets(v), self.families.holding(v, u)
        without, with_ = state.left.copy(), state.left.copy()
        without[span] &= ~has
        with_[span] &= has
        return [
            state._replace(node=node, left=left)
            for node, left in zip(sides, (without, with_), strict=True)
        ]

    def _split(self, state: OpenNode, parts: tuple[Part, ...]) -> list[OpenNode]:
        """Return the node of every part, if their goals add up to that of the whole."""
        free, where = set(state.variables.tolist()), f"node {state.node}"
        for i, (variables, _, _) in enumerate(parts):
            if not variables or not set(variables) <= free:
                raise ProofError(f"{where} (split): part {i} is not separate from the others")
            free -= set(variables)
        cost = np.where(state.left, self.families.cost, LARGEST)
        least = np.minimum.reduceat(cost, self.families.offsets[:-1])
        total = sum(goal for _, goal, _ in parts) + sum(least[sorted(free)].tolist())
        if total < state.goal:
            raise ProofError(
                f"{where} (split): the goals of the parts add up to {total}, less than {state.goal}"
            )
        return [
            OpenNode(node, np.sort(np.array(variables)), goal, state.left)
            for variables, goal, node in parts
        ]

    def _least_by_subsets(self, state: OpenNode, where: str) -> int:
        n = len(state.variables)
        if n <= MOST_VARIABLES:
            self._spend(n, where)
        bit = np.zeros(self.families.n, np.int64)
        bit[state.variables[:62]] = 1 << np.arange(min(n, 62))
        masks, costs = [], []
        for v in state.variables.tolist():
            span = self.families.sets(v)
            masks.append(self.families.sums(v, bit)[state.left[span]])
            costs.append(self.families.cost[span[state.left[span]]])
        try:
            return least_cost(masks, costs, self.memory)
        except ProofError as refusal:
            raise ProofError(f"{where} ({refusal})") from None

    def _spend(self, n: int, where: str) -> None:
        """Count the cells of a dynamic programme over the subsets of ``n``."""
        self.cells += n << n
        if self.cells > MOST_CELLS:
            raise ProofError(f"{where}: its dynamic programmes are larger than the checker allows")


def forest_costs(families: Families, variables: Ints, left: Flags) -> Ints:
    """Return what each parent costs each variable when every set left keeps at most one.

    The result is ``int64[k + 1, k + 1]`` for ``k`` variables, numbered from 1.
    Dropping parents only allows more choices, so no choice costs less. A set with several parents
    keeps the one whose own set costs least: a set dominated by a single parent or by none changes
    nothing.
    """
    place = np.zeros(families.n, np.int64)
    place[variables] = np.arange(1, len(variables) + 1)
    inside = (place > 0).astype(np.int64)
    into = np.full((len(variables) + 1,) * 2, NEVER, np.int64)
    for v in variables.tolist():
        own = families.sets(v)
        several = families.sums(v, inside) > 1
        kept, from_ = left[own], into[:, place[v]]
        single = kept & ~several
        np.minimum.at(from_, families.sums(v, place)[single], families.cost[own[single]])
        alone = from_.copy()
        for i in own[kept & several]:
            above = place[families.parents_of(i)]
            above = above[above > 0]
            keeps = above[alone[above].argmin()]
            from_[keeps] = min(from_[keeps], families.cost[i])
    return into


def follow_ancestors(families: Families, state: OpenNode) -> bool:
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


def drop_dominated(families: Families, state: OpenNode) -> None:
    """Remove every set that another one left replaces: no more cost, no other parent inside."""
    place = np.full(families.n, -1, np.int64)
    place[state.variables] = np.arange(len(state.variables))
    for v in state.variables.tolist():
        span = families.sets(v)
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
        at = place[families.parents_of(i)]
        flags[row, at[at >= 0]] = True
    return np.packbits(flags, axis=1)
