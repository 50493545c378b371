"""Slow, obvious truth: counts, entropies, scores, rules and lists in pure Python.

Nothing here is clever and nothing here is imported by the package. A test says naive == fast.
A table is a list of columns, each a list of codes, and a list of arities. Scores closer than TIE
are equal: the tables used in tests are far too small for anything else to come that close.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

TIE = 1e-9
Set = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Naive:
    """Brute force over one small table; constant columns must be left out beforehand."""

    columns: tuple[tuple[int, ...], ...]
    arity: tuple[int, ...]
    score: str = "bic"

    @property
    def n(self) -> int:
        return len(self.columns)

    @property
    def rows(self) -> int:
        return len(self.columns[0])

    @property
    def w(self) -> float:
        kind, _, parameter = self.score.partition(":")
        half = math.log(self.rows) / 2
        if kind == "ebic":
            return half + float(parameter) * math.log(self.n)
        if kind == "penalty":
            return float(parameter)
        if kind == "hqc":
            return math.log(math.log(self.rows))
        return {"bic": half, "aic": 1.0}[kind]

    @cached_property
    def G_of(self) -> dict[Set, float]:
        """Σ n ln n of every set."""
        out = {}
        for size in range(self.n + 1):
            for members in itertools.combinations(range(self.n), size):
                counts = Counter(
                    tuple(self.columns[v][i] for v in members) for i in range(self.rows)
                )
                out[members] = math.fsum(c * math.log(c) for c in counts.values())
        return out

    def G(self, members: Iterable[int]) -> float:
        return self.G_of[tuple(sorted(members))]

    def NH(self, a: Iterable[int], b: Iterable[int] = ()) -> float:
        """N·H(A|B)."""
        return self.G(b) - self.G({*a, *b})

    def pen(self, x: int, parents: Iterable[int]) -> float:
        return self.w * (self.arity[x] - 1) * math.prod(self.arity[p] for p in parents)

    def s(self, x: int, parents: Iterable[int]) -> float:
        return -self.NH([x], parents) - self.pen(x, parents)

    def others(self, x: int) -> list[int]:
        return [v for v in range(self.n) if v != x]

    def parent_sets(self, x: int, most: int | None = None) -> Iterator[Set]:
        most = self.n - 1 if most is None else min(most, self.n - 1)
        for size in range(most + 1):
            yield from itertools.combinations(self.others(x), size)

    def allowed_subsets(
        self, x: int, parents: Set, required: frozenset[int] = frozenset()
    ) -> Iterator[Set]:
        """Proper subsets that contain the required parents."""
        for size in range(len(parents)):
            for subset in itertools.combinations(parents, size):
                if required <= set(subset):
                    yield subset

    def lists(
        self,
        most: int | Sequence[int] | None = None,
        gap: float | None = None,
        required: Sequence[frozenset[int]] | None = None,
        forbidden: Sequence[frozenset[int]] | None = None,
    ) -> dict[tuple[int, Set], float]:
        """Kept families with their scores, by comparing each set with all its proper subsets."""
        out = {}
        for x in range(self.n):
            limit = most[x] if isinstance(most, Sequence) else most
            need = required[x] if required else frozenset[int]()
            bar = forbidden[x] if forbidden else frozenset[int]()
            for parents in self.parent_sets(x, limit):
                if not need <= set(parents) or bar & set(parents):
                    continue
                score = self.s(x, parents)
                below = [self.s(x, sub) for sub in self.allowed_subsets(x, parents, need)]
                best = max(below, default=-math.inf)
                if best == -math.inf:
                    keep = True
                elif gap is None:
                    keep = score > best + TIE
                else:
                    keep = score >= best - gap - TIE
                if keep:
                    out[x, parents] = score
        return out

    def best_subset(self, x: int, parents: Set) -> float:
        """Bin: the best score of the set and its subsets."""
        return max(
            self.s(x, sub)
            for size in range(len(parents) + 1)
            for sub in itertools.combinations(parents, size)
        )

    def h(self, v: int) -> float:
        return self.NH([v], self.others(v))

    def rule_fires(self, rule: str, x: int, parents: Set, y: int, gap: float = 0.0) -> bool:
        """One rule on one family because of one parent, straight from its statement."""
        star = tuple(p for p in parents if p != y)
        added = (self.arity[y] - 1) * self.pen(x, star)
        bin_star = self.best_subset(x, star)
        if rule == "lemma3":
            return bin_star - gap >= -self.pen(x, parents) + TIE
        if rule == "thm1p":
            left = min(self.NH([x], star) - self.h(x), self.NH([y], star) - self.h(y))
            return left + gap <= added + bin_star - self.s(x, star) - TIE
        left = {
            "alg1": lambda: self.NH([x], star),
            "alg2": lambda: self.NH([y], star),
            "thm1": lambda: min(self.NH([x], star), self.NH([y], star)),
            "alg3": lambda: self.NH([x]),
            "alg4": lambda: self.NH([y]),
            "thm2": lambda: min(self.NH([x]), self.NH([y])),
        }[rule]()
        return left + gap <= added - TIE

    def has_ended(self, x: int, parents: Set) -> bool:
        """Proposition 4 (a): no set of these parents and one more is needed."""
        whole = min(self.arity) * self.pen(x, parents)
        return self.best_subset(x, parents) >= -self.h(x) - whole + TIE

    def ends_outside(self, members: Set) -> bool:
        """Proposition 4 (b): no variable outside needs these parents and one more."""
        for b in members:
            others = tuple(v for v in members if v != b)
            added = (min(self.arity) - 1) * self.pen(b, others)
            if self.NH([b], others) - self.h(b) <= added - TIE:
                return True
        return False

    def removed(self, rule: str, most: int | None = None) -> set[tuple[int, Set]]:
        """All families a rule removes, directly or because it removes a subset."""
        out: set[tuple[int, Set]] = set()
        for x in range(self.n):
            for parents in self.parent_sets(x, most):
                inherited = any((x, tuple(p for p in parents if p != y)) in out for y in parents)
                if inherited or any(self.rule_fires(rule, x, parents, y) for y in parents):
                    out.add((x, parents))
        return out
