"""What is true of a small table, slowly: all families, all lists, the best network.

Written from the definitions alone. Nothing of the package is used here, nor ``naive.py``, so that
a mistake cannot be made twice.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from itertools import combinations

Family = tuple[int, tuple[int, ...]]


@dataclass(frozen=True)
class Question:
    """A table and what is asked of it.

    ``columns`` are codes, ``sizes`` the declared numbers of states; arcs are (parent, child).
    """

    columns: tuple[tuple[int, ...], ...]
    sizes: tuple[int, ...]
    score: str = "bic"
    most: int | None = None
    width: float | None = None
    required: tuple[tuple[int, int], ...] = ()
    forbidden: tuple[tuple[int, int], ...] = ()
    tiers: tuple[tuple[int, ...], ...] = ()
    extra: dict[str, object] = field(default_factory=dict, compare=False)

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self.columns)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0])


def is_constant(question: Question, v: int) -> bool:
    """Whether a column shows one state only: it has no parents and is nobody's parent."""
    return len(set(question.columns[v])) < 2


def family_score(question: Question, child: int, parents: tuple[int, ...]) -> float:
    """Log-likelihood of a child given its parents, minus half log N (or one) per parameter."""
    joint = Counter(zip(*(question.columns[v] for v in (child, *parents)), strict=True))
    above: Counter[tuple[int, ...]] = Counter()
    for cell, count in joint.items():
        above[cell[1:]] += count
    likelihood = math.fsum(
        count * (math.log(count) - math.log(above[cell[1:]])) for cell, count in joint.items()
    )
    free = (question.sizes[child] - 1) * math.prod(question.sizes[p] for p in parents)
    return likelihood - free * (math.log(question.rows) / 2 if question.score == "bic" else 1.0)


def allowed(question: Question, child: int, parents: tuple[int, ...]) -> bool:
    """Whether the question lets a child have these parents."""
    tier = {v: level for level, group in enumerate(question.tiers) for v in group}
    later = any(tier.get(p, -1) > tier[child] for p in parents) if child in tier else False
    return (
        (question.most is None or len(parents) <= question.most)
        and all(p in parents for p, c in question.required if c == child)
        and not any((p, child) in question.forbidden for p in parents)
        and not later
    )


def families(question: Question) -> dict[Family, float]:
    """Score every family that is allowed."""
    scores = {}
    varying = [v for v in range(question.n) if not is_constant(question, v)]
    for child in range(question.n):
        others = [v for v in varying if v != child and child in varying]
        for size in range(len(others) + 1):
            for parents in combinations(others, size):
                if allowed(question, child, parents):
                    scores[child, parents] = family_score(question, child, parents)
        if child not in varying and allowed(question, child, ()):
            scores[child, ()] = 0.0  # nothing to learn about it, whatever states are declared
    return scores


def distance_above_subsets(scores: dict[Family, float], family: Family) -> float:
    """How far a family is above its best proper subset; infinite if it has none."""
    child, parents = family
    below = [
        scores[child, subset]
        for size in range(len(parents))
        for subset in combinations(parents, size)
        if (child, subset) in scores
    ]
    return scores[family] - max(below) if below else math.inf


def best_total(question: Question, scores: dict[Family, float]) -> float:
    """Score of the best acyclic network, by dynamic programming over sets of variables."""
    by_child: list[list[tuple[float, int]]] = [[] for _ in range(question.n)]
    for (child, parents), score in scores.items():
        by_child[child].append((score, sum(1 << p for p in parents)))
    best = [0.0] + [-math.inf] * ((1 << question.n) - 1)
    for inside in range(1, 1 << question.n):
        for last in range(question.n):
            if inside >> last & 1:
                rest = inside ^ (1 << last)
                own = max((s for s, m in by_child[last] if m & ~rest == 0), default=-math.inf)
                best[inside] = max(best[inside], best[rest] + own)
    return best[-1]


def has_cycle(parents: list[tuple[int, ...]]) -> bool:
    """Whether taking away variables without parents, again and again, leaves something."""
    left = set(range(len(parents)))
    while True:
        free = {v for v in left if not left & set(parents[v])}
        if not free:
            return bool(left)
        left -= free
