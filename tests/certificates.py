"""Certificates of small lists, made by slow and obvious means, for the tests of the checker.

Cuts are weighed set by set, their right sides found by trying every order; a plain LP over all
cuts gives multipliers, and branching on an arc closes what is left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from parentage.check import lists_digest, sealed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from parentage.scoring.lists import CandidateLists

Document = dict[str, Any]
Cut = list[Any]
DENOMINATOR = 2**16


def parent_sets(lists: CandidateLists) -> list[frozenset[int]]:
    """The parents of every set."""
    return [frozenset(int(p) for p in lists.parents_of(i)) for i in range(lists.n_sets)]


def children(lists: CandidateLists) -> list[int]:
    """The child of every set."""
    return [int(v) for v in np.repeat(np.arange(lists.n_variables), np.diff(lists.offsets))]


def costs(lists: CandidateLists, allowed: Sequence[bool], scale: float) -> list[int]:
    """Whole costs of the sets."""
    child = children(lists)
    whole = [round(float(score) * scale) for score in lists.scores]
    best = {
        v: max(w for w, c, ok in zip(whole, child, allowed, strict=True) if ok and c == v)
        for v in set(child)
    }
    return [best[c] - w for w, c in zip(whole, child, strict=True)]


def document(
    lists: CandidateLists,
    chosen: Sequence[int],
    *,
    unit: dict[str, int],
    cuts: Sequence[Cut],
    nodes: Sequence[Document],
    tolerance: int = 0,
    constraints: Document | None = None,
    settings: Document | None = None,
    families: bool = False,
) -> Document:
    """Put a certificate together; with ``families``, one that carries its lists."""
    content: Document = {
        "format": "parentage certificate",
        "version": 2,
        "lists": {
            "variables": lists.n_variables,
            "sets": lists.n_sets,
            "digest": lists_digest(lists),
        },
        "settings": settings,
        "constraints": constraints or {},
        "unit": unit,
        "claim": {
            "sets": [int(i) for i in chosen],
            "score": math.fsum(float(lists.scores[i]) for i in chosen),
            "tolerance": tolerance,
        },
        "denominator": DENOMINATOR,
        "cuts": list(cuts),
        "nodes": list(nodes),
    }
    if families:
        sets = [[[s, list(w)] for s, w in lists.candidates(v)] for v in range(lists.n_variables)]
        content["families"] = {"counted": 0, "sets": sets}
    return sealed(content)


def weights(lists: CandidateLists, cut: Cut) -> tuple[list[int], int]:
    """The weight of every set in a cut and the right side, straight from the definition."""
    child, sets = children(lists), parent_sets(lists)
    if cut[0] == "cluster":
        _, members, k = cut
        inside = [c in members and len(w & set(members)) >= k
                  for c, w in zip(child, sets, strict=True)]  # fmt: skip
        return [int(yes) for yes in inside], len(members) - k
    members, right = cut[1], cut[4]
    through, weight = (dict(map(tuple, cut[5])), cut[6]) if len(cut) == 7 else ({}, 0)
    found = []
    for c, w in zip(child, sets, strict=True):
        if c in members:
            found.append(value_of(cut, members.index(c), effective(w, members, through)))
        else:
            found.append(weight if c in through and set(through[c]) <= w else 0)
    return found, right + weight * len(through)


def effective(
    parents: Iterable[int], members: Sequence[int], through: dict[int, Sequence[int]]
) -> set[int]:
    """The members a set holds, itself or through others."""
    found: set[int] = set()
    waiting, seen = list(parents), set()
    while waiting:
        u = waiting.pop()
        if u in members:
            found.add(u)
        elif u in through and u not in seen:
            seen.add(u)
            waiting.extend(through[u])
    return found


def value_of(cut: Cut, j: int, held: set[int]) -> int:
    """The largest value of member ``j`` whose mask is contained in what it holds."""
    members = cut[1]
    mask = sum(1 << t for t, u in enumerate(members) if u in held and t != j)
    return max((v for m, v in zip(cut[2][j], cut[3][j], strict=True) if not m & ~mask), default=0)


def right_sides(lists: CandidateLists, cut: Cut) -> tuple[int, int]:
    """The most a local cut can reach over all orders: passing through others, and not."""
    members = cut[1]
    through = dict(map(tuple, cut[5])) if len(cut) == 7 else {}
    child, sets = children(lists), parent_sets(lists)
    options: list[list[tuple[int, dict[int, set[int]]]]] = [[] for _ in members]
    for c, w in zip(child, sets, strict=True):
        if c in members:
            held = effective(w, members, through) - {c}
            value = value_of(cut, members.index(c), held)
            options[members.index(c)].append((value, {1: held, 2: set(w) & set(members)}))
    most = {1: 0, 2: 0}
    for order in permutations(range(len(members))):
        for kind in (1, 2):
            total = 0
            before: set[int] = set()
            for j in order:
                total += max(
                    (value for value, held in options[j] if held[kind] <= before), default=0
                )
                before.add(members[j])
            most[kind] = max(most[kind], total)
    return most[1], most[2]


def all_clusters(n: int, largest: int = 4) -> list[Cut]:
    """Every cluster cut of few members."""
    return [
        ["cluster", list(c), k]
        for size in range(2, min(n, largest) + 1)
        for c in combinations(range(n), size)
        for k in range(1, size)
    ]


def random_local(rng: np.random.Generator, lists: CandidateLists) -> Cut:
    """A local cut with random values that holds tightly, half of them through other variables."""
    n, sets, child = lists.n_variables, parent_sets(lists), children(lists)
    size = int(rng.integers(2, min(n, 5) + 1))
    members = [int(v) for v in rng.choice(n, size, replace=False)]
    others = [v for v in range(n) if v not in members]
    through = []
    if others and rng.random() < 0.5:
        picked = rng.choice(others, int(rng.integers(1, len(others) + 1)), replace=False)
        for u in (int(u) for u in picked):
            own = [w for w, c in zip(sets, child, strict=True) if c == u and w]
            if own:
                through.append([u, sorted(own[int(rng.integers(len(own)))])])
    masks: list[list[int]] = []
    for j in range(size):
        possible = [m for m in range(1, 1 << size) if not m >> j & 1]
        count = min(len(possible), int(rng.integers(1, 5)))
        masks.append([int(m) for m in rng.choice(possible, count, replace=False)])
    values = [[int(v) for v in rng.integers(1, 4, len(own))] for own in masks]
    cut: Cut = ["local", members, masks, values, 0, through, 0]
    right, plain = right_sides(lists, cut)
    cut[4], cut[6] = right, max(0, plain - right)
    return cut if through else cut[:5]


@dataclass
class Prover:
    """Proves a goal by linear programmes over given cuts, and by branching."""

    lists: CandidateLists
    cost: list[int]
    cuts: list[Cut]
    rng: np.random.Generator
    most_nodes: int = 10_000
    rows: list[tuple[list[int], int]] = field(default_factory=list)
    nodes: list[Document] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.child, self.sets = children(self.lists), parent_sets(self.lists)
        self.rows = [weights(self.lists, cut) for cut in self.cuts]

    def prove(self, goal: int, left: list[int]) -> int:
        """Write the node, and those below it, that prove a goal; return its number."""
        number = len(self.nodes)
        steps: list[list[Any]] = []
        node: Document = {"steps": steps}
        self.nodes.append(node)
        if self.rng.random() < 0.5:
            steps.append(["dominance"])
        for share in (0.5, 1.0):
            if self.rng.random() < 0.5:
                steps.append(["ancestors"])
            used = [i for i in range(len(self.cuts)) if self.rng.random() < share]
            step, x = self.solve(left, used)
            if step is None:  # no fractional choice either: the checker finds that nothing is left
                steps.append(["ancestors"])
                return number
            steps.append(step)
            bound, rise = self.bound(step, left)
            if bound > DENOMINATOR * (goal - 1):
                return number
            left = [i for i in left if bound + rise[i] <= DENOMINATOR * (goal - 1)]
        share, u, v = self.fractional_arc(left, x)
        if share < 0 or len(self.nodes) >= self.most_nodes:  # the goal cannot be proved
            return number
        without = self.prove(goal, [i for i in left if self.child[i] != v or u not in self.sets[i]])
        with_ = self.prove(goal, [i for i in left if self.child[i] != v or u in self.sets[i]])
        node["branch"] = [u, v, without, with_]
        return number

    def solve(self, left: list[int], used: list[int]) -> tuple[list[Any] | None, dict[int, float]]:
        """Solve the LP; return a round of its multipliers, and the solution."""
        from scipy.optimize import linprog

        n = self.lists.n_variables
        equal = np.zeros((n, len(left)))
        equal[[self.child[i] for i in left], np.arange(len(left))] = 1
        above = np.array([[self.rows[c][0][i] for i in left] for c in used])
        found = linprog(
            [self.cost[i] for i in left],
            above if used else None,
            [self.rows[c][1] for c in used] if used else None,
            equal,
            np.ones(n),
        )
        if found.x is None:
            return None, {}
        times = [round(-y * DENOMINATOR) for y in found.ineqlin.marginals] if used else []
        pairs = [(c, t) for c, t in zip(used, times, strict=True) if t > 0]
        return (
            ["round", [c for c, _ in pairs], [t for _, t in pairs]],
            dict(zip(left, found.x.tolist(), strict=True)),
        )

    def bound(self, step: list[Any], left: list[int]) -> tuple[int, dict[int, int]]:
        """The bound of a round and what each set adds to it."""
        reduced = {
            i: DENOMINATOR * self.cost[i]
            + sum(t * self.rows[c][0][i] for c, t in zip(step[1], step[2], strict=True))
            for i in left
        }
        least = {v: min(reduced[i] for i in left if self.child[i] == v) for v in self.child}
        right = sum(t * self.rows[c][1] for c, t in zip(step[1], step[2], strict=True))
        return sum(least.values()) - right, {
            i: r - least[self.child[i]] for i, r in reduced.items()
        }

    def fractional_arc(self, left: list[int], x: dict[int, float]) -> tuple[float, int, int]:
        """The most undecided arc that some sets left have and others have not; −1 if none is."""
        best = (-1.0, 0, 0)
        for v in range(self.lists.n_variables):
            own = [i for i in left if self.child[i] == v]
            for u in range(self.lists.n_variables):
                having = [i for i in own if u in self.sets[i]]
                if 0 < len(having) < len(own):
                    share = sum(x.get(i, 0.0) for i in having)
                    best = max(best, (min(share, 1 - share), u, v))
        return best
