"""Slow, obvious truth for tables with holes: every family on the rows where it is complete.

A cell is a code, or HOLE where it is missing. Nothing is imported from the package.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

from naive import TIE, Naive, Set

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

HOLE = -1


class NaiveHoles(Naive):
    """Brute force over one small table with holes; ``score`` is ``pnal:LAMBDA``."""

    @property
    def rate(self) -> float:
        return float(self.score.partition(":")[2])

    def complete(self, members: Iterable[int]) -> list[int]:
        """The rows in which all these variables are observed."""
        wanted = list(members)
        return [i for i in range(self.rows) if all(self.columns[v][i] != HOLE for v in wanted)]

    def likelihood(self, x: int, parents: Iterable[int], rows: Sequence[int]) -> float:
        """The log-likelihood of X given its parents on these rows."""
        members = tuple(parents)
        pairs = Counter(
            (tuple(self.columns[p][i] for p in members), self.columns[x][i]) for i in rows
        )
        given = Counter(tuple(self.columns[p][i] for p in members) for i in rows)
        return math.fsum(n * math.log(n / given[d]) for (d, _), n in pairs.items())

    @cached_property
    def scores_of(self) -> dict[tuple[int, Set], float]:
        return {
            (x, parents): self.defined(x, parents)
            for x in range(self.n)
            for parents in self.parent_sets(x)
        }

    def s(self, x: int, parents: Iterable[int]) -> float:
        return self.scores_of[x, tuple(sorted(parents))]

    def defined(self, x: int, parents: Set) -> float:
        rows = self.complete([x, *parents])
        if not rows:
            return -math.inf
        average = self.likelihood(x, parents, rows) / len(rows)
        return self.rows * (average - self.price(x, parents))

    def price(self, x: int, parents: Iterable[int]) -> float:
        return self.rate * (self.arity[x] - 1) * math.prod(self.arity[p] for p in parents)

    def h(self, v: int) -> float:
        """What nothing explains, over the rows where nothing is missing."""
        return -self.likelihood(v, self.others(v), self.complete(range(self.n)))

    def lists(
        self,
        most: int | Sequence[int] | None = None,
        gap: float | None = None,
        required: Sequence[frozenset[int]] | None = None,
        forbidden: Sequence[frozenset[int]] | None = None,
    ) -> dict[tuple[int, Set], float]:
        found = super().lists(most, gap, required, forbidden)
        return {family: value for family, value in found.items() if value > -math.inf}

    def bound(self, x: int, parents: Set, rows: int) -> float:
        """Theorem 8, when no superset has more complete rows than these."""
        return -self.rows * (self.h(x) / rows + self.price(x, parents))

    def rule_fires(self, rule: str, x: int, parents: Set, y: int, gap: float = 0.0) -> bool:
        if rule != "child":
            raise ValueError(f"{rule} is not a rule for tables with holes")
        star = tuple(p for p in parents if p != y)
        family = {x, *parents}
        rows = min(len(self.complete(family - {v})) for v in family)
        if not rows:
            return False
        return self.best_subset(x, star) - gap >= self.bound(x, parents, rows) + TIE
