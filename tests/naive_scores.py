"""Slow, obvious truth for the scores that are no penalised likelihoods: definitions and rules."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from functools import cache, cached_property
from typing import TYPE_CHECKING

from naive import TIE, Naive, Set

if TYPE_CHECKING:
    from collections.abc import Iterable


@cache
def log_regret(rows: int, states: int) -> float:
    """ln C(N, q): C(N, 2) as an exact sum, then C(q + 2) = C(q + 1) + (N / q)·C(q)."""
    if rows == 0 or states == 1:
        return 0.0
    two = sum(
        math.comb(rows, k) * Fraction(k, rows) ** k * Fraction(rows - k, rows) ** (rows - k)
        for k in range(rows + 1)
    )
    before, ratio = 0.0, float(two)
    total = math.log(ratio)
    for q in range(1, states - 1):
        before, ratio = total, 1 + rows / (q * ratio)
        total = before + math.log(ratio)
    return total


def rows_given(counts: Iterable[int], a: float) -> float:
    """Σ ln Γ(a + n) / Γ(a)."""
    return math.fsum(math.lgamma(a + n) - math.lgamma(a) for n in counts)


class NaiveSum(Naive):
    """Brute force over one small table under qNML, BDeu, K2, Jeffreys or fNML."""

    @property
    def kind(self) -> str:
        return self.score.partition(":")[0]

    @property
    def ess(self) -> float:
        return float(self.score.partition(":")[2])

    @cached_property
    def counts_of(self) -> dict[Set, list[int]]:
        out = {}
        for size in range(self.n + 1):
            for members in itertools.combinations(range(self.n), size):
                rows = (tuple(self.columns[v][i] for v in members) for i in range(self.rows))
                out[members] = list(Counter(rows).values())
        return out

    def counts(self, members: Iterable[int]) -> list[int]:
        return self.counts_of[tuple(sorted(members))]

    def q(self, members: Iterable[int]) -> int:
        return math.prod(self.arity[v] for v in members)

    def s(self, x: int, parents: Iterable[int]) -> float:
        parents = tuple(parents)
        return self.scores_of[x, tuple(sorted(parents))]

    @cached_property
    def scores_of(self) -> dict[tuple[int, Set], float]:
        return {
            (x, parents): self.defined(x, parents)
            for x in range(self.n)
            for parents in self.parent_sets(x)
        }

    def defined(self, x: int, parents: Set) -> float:
        family, given, r = self.counts([*parents, x]), self.counts(parents), self.arity[x]
        if self.kind in ("qnml", "fnml"):
            return -self.NH([x], parents) - self.price(x, parents)
        alpha = {"k2": 1.0, "jeffreys": 0.5}.get(self.kind)
        if alpha is None:
            alpha = self.ess / (r * self.q(parents))
        return rows_given(family, alpha) - rows_given(given, r * alpha)

    def price(self, x: int, parents: Set) -> float:
        """What parents cost whatever is explained; not BDeu's, which is about cells."""
        r, given = self.arity[x], self.counts(parents)
        if self.kind == "qnml":
            q = self.q(parents)
            return log_regret(self.rows, r * q) - log_regret(self.rows, q)
        if self.kind == "fnml":
            return math.fsum(log_regret(n, r) for n in given)
        alpha = 1.0 if self.kind == "k2" else 0.5
        return rows_given(given, r * alpha) - rows_given(given, alpha)

    def h(self, v: int) -> float:
        if self.kind in ("k2", "jeffreys"):
            everything = self.counts(range(self.n))
            return rows_given(self.counts(self.others(v)), 1.0) - rows_given(everything, 1.0)
        return super().h(v)

    def cells(self, x: int, parents: Set) -> int:
        """The most joint states that occur in a set one smaller than the family."""
        family = {*parents, x}
        return max(len(self.counts(family - {v})) for v in family)

    def least_added(self, x: int, y: int, star: Set, gap: float) -> float:
        """The least that Y adds where x's penalty is affordable, over products ≥ 2·q of star."""

        def regret(q: int) -> float:
            return log_regret(self.rows, q)

        r_x, r_y = self.arity[x], self.arity[y]
        spare = -self.s(x, ()) - self.h(x) + gap + TIE
        found = math.inf
        for size in range(self.n - 1):
            for members in itertools.combinations(range(self.n), size):
                q = self.q(members)
                with_y = regret(r_x * r_y * q) - regret(r_y * q)
                if q >= 2 * self.q(star) and with_y < spare:
                    found = min(found, with_y - regret(r_x * q) + regret(q))
        return found

    def rule_fires(self, rule: str, x: int, parents: Set, y: int, gap: float = 0.0) -> bool:
        star = tuple(p for p in parents if p != y)
        best = self.best_subset(x, star) - gap
        if rule == "child":
            return best >= -self.h(x) - self.price(x, parents) + TIE
        if rule == "cells":
            cost = math.log(self.arity[x]) * self.cells(x, parents)
            small = self.ess / self.q(parents) <= 1 / 3
            return best >= (-self.h(x) - cost if small else min(-self.h(x), -cost)) + TIE
        if rule == "functional":
            return len(self.counts(parents)) == len(self.counts(star))
        gain = self.NH([y], star) - self.h(y) + gap
        lead = self.best_subset(x, star) - self.s(x, star)
        added = self.price(x, parents) - self.price(x, star)
        return gain <= min(added + lead, self.least_added(x, y, star, gap)) - TIE
