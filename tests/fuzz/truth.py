"""What is true of a small table, slowly: all families, all lists, the best network, all networks.

Scores come from the slow definitions in ``naive.py`` and its companions, everything else from the
definitions alone. Nothing of the package is used here, so that a mistake cannot be made twice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from typing import TYPE_CHECKING

from naive import Naive
from naive_holes import HOLE, NaiveHoles
from naive_scores import NaiveSum

if TYPE_CHECKING:
    from collections.abc import Callable

Arc = tuple[int, int]
Family = tuple[int, tuple[int, ...]]
Scores = dict[Family, float]
Parents = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Question:
    """A table and what is asked of it.

    ``columns`` are codes, HOLE where a cell is missing, ``sizes`` the declared numbers of states;
    arcs are (parent, child). If ``counted``, each distinct row is given once, with how often it
    occurs. ``seed`` is for whatever else a part of the harness draws.
    """

    columns: tuple[tuple[int, ...], ...]
    sizes: tuple[int, ...]
    score: str = "bic"
    most: int | None = None
    caps: tuple[tuple[int, int], ...] = ()
    width: float | None = None
    required: tuple[Arc, ...] = ()
    forbidden: tuple[Arc, ...] = ()
    tiers: tuple[tuple[int, ...], ...] = ()
    default: float = 0.5
    beliefs: tuple[tuple[int, int, float], ...] = ()
    rules: str | None = None
    threads: int = 1
    log_base: int | None = None
    engine: str = "auto"
    counted: bool = False
    seed: int = 0

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self.columns)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0])

    @property
    def unit(self) -> float:
        """Nats of one unit of the scores."""
        return 1.0 if self.log_base is None else math.log(self.log_base)

    @property
    def has_holes(self) -> bool:
        """Whether a cell is missing."""
        return any(HOLE in column for column in self.columns)


def is_constant(question: Question, v: int) -> bool:
    """Whether a column shows one state only: it has no parents and is nobody's parent."""
    return len(set(question.columns[v]) - {HOLE}) < 2


def default_rate(question: Question, columns: int) -> float:
    """The penalty of PNAL by default: N^(−1/4)/p, at least BIC's times 1 + incomplete rows."""
    rows = question.rows
    complete = sum(HOLE not in row for row in zip(*question.columns, strict=True))
    least = (2 - complete / rows) * math.log(rows) / (2 * rows)
    return max(float(rows**-0.25) / max(1, columns), least)


def scorer(question: Question) -> tuple[Naive, list[int]]:
    """The slow scores of the columns that vary, and their numbers."""
    keep = [v for v in range(question.n) if not is_constant(question, v)]
    kind, colon, _ = question.score.partition(":")
    own = {"ebic": 0.5, "bdeu": 1.0, "pnal": default_rate(question, len(keep))}
    name = question.score if colon or kind not in own else f"{kind}:{own[kind]!r}"
    made = {"qnml": NaiveSum, "bdeu": NaiveSum, "k2": NaiveSum, "jeffreys": NaiveSum,
            "fnml": NaiveSum, "pnal": NaiveHoles}.get(kind, Naive)  # fmt: skip
    columns = tuple(question.columns[v] for v in keep)
    return made(columns, tuple(question.sizes[v] for v in keep), name), keep


def belief(question: Question, parent: int, child: int) -> float:
    """The probability that an arc is there."""
    return next((p for a, b, p in question.beliefs if (a, b) == (parent, child)), question.default)


def allowed(question: Question, child: int, parents: tuple[int, ...]) -> bool:
    """Whether the question lets a child have these parents."""
    tier = {v: level for level, group in enumerate(question.tiers) for v in group}
    later = any(tier.get(p, -1) > tier[child] for p in parents) if child in tier else False
    certain = {p: b for p, c, b in question.beliefs if c == child}
    return (
        (question.most is None or len(parents) <= question.most)
        and all(len(parents) <= cap for v, cap in question.caps if v == child)
        and all(p in parents for p, c in question.required if c == child)
        and not any((p, child) in question.forbidden for p in parents)
        and all(p in parents for p, b in certain.items() if b == 1)
        and not any(certain.get(p) == 0 for p in parents)
        and not later
    )


def prior_of(question: Question, child: int, parents: tuple[int, ...]) -> float:
    """The log prior of the arcs into a child, relative to none; certain arcs add nothing."""
    shares = [belief(question, p, child) for p in parents]
    return math.fsum(math.log(p / (1 - p)) for p in shares if 0 < p < 1)


def families(question: Question) -> Scores:
    """Score every family that is allowed and has a score, in nats."""
    naive, keep = scorer(question)
    scores: Scores = {}
    for child in range(question.n):
        if child not in keep:
            if allowed(question, child, ()):
                scores[child, ()] = 0.0  # nothing to learn about it, whatever states are declared
            continue
        x = keep.index(child)
        for own in naive.parent_sets(x):
            parents = tuple(keep[p] for p in own)
            if allowed(question, child, parents):
                value = naive.s(x, own) + prior_of(question, child, parents)
                if value > -math.inf:
                    scores[child, parents] = value
    return scores


def distance_above_subsets(scores: Scores, family: Family) -> float:
    """How far a family is above its best proper subset; infinite if it has none."""
    child, parents = family
    below = [
        scores[child, subset]
        for size in range(len(parents))
        for subset in combinations(parents, size)
        if (child, subset) in scores
    ]
    return scores[family] - max(below) if below else math.inf


def best_total(n: int, scores: Scores) -> float:
    """Score of the best acyclic network, by dynamic programming over sets of variables."""
    by_child: list[list[tuple[float, int]]] = [[] for _ in range(n)]
    for (child, parents), score in scores.items():
        by_child[child].append((score, sum(1 << p for p in parents)))
    for own in by_child:
        own.sort(reverse=True)
    best = [0.0] + [-math.inf] * ((1 << n) - 1)
    for inside in range(1, 1 << n):
        for last in range(n):
            if inside >> last & 1:
                rest = inside ^ (1 << last)
                top = next((s for s, m in by_child[last] if m & ~rest == 0), -math.inf)
                best[inside] = max(best[inside], best[rest] + top)
    return best[-1]


def best_where(n: int, scores: Scores, fits: Callable[[Family], bool]) -> float:
    """Score of the best network all of whose families fit; −∞ if there is none."""
    return best_total(n, {family: s for family, s in scores.items() if fits(family)})


@cache
def all_structures(n: int) -> tuple[Parents, ...]:
    """Every acyclic choice of parents over n variables, by trying all graphs."""
    sets = [
        [own for size in range(n) for own in combinations([u for u in range(n) if u != v], size)]
        for v in range(n)
    ]
    return tuple(parents for parents in product(*sets) if not has_cycle(parents))


def all_networks(n: int, scores: Scores) -> list[tuple[float, Parents]]:
    """Every acyclic network of the families, with its score."""
    found = []
    for parents in all_structures(n):
        own = [scores.get((v, members)) for v, members in enumerate(parents)]
        if None not in own:
            found.append((math.fsum(s for s in own if s is not None), parents))
    return found


def has_cycle(parents: Parents) -> bool:
    """Whether taking away variables without parents, again and again, leaves something."""
    left = set(range(len(parents)))
    while True:
        free = {v for v in left if not left & set(parents[v])}
        if not free:
            return bool(left)
        left -= free
