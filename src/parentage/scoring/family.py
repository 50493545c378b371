"""The numbers of one family: scores, bounds, and what every rule compares. For ``explain``.

In nats inside, in the chosen unit outside. Where a prior rewards arcs, the rules are those of the
search, which keeps what the prior may lift (``docs/theory.md``, "Soft arcs").
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parentage.scoring.candidates import score
from parentage.scoring.lists import Candidate
from parentage.scoring.plan import encode_plans, prepare
from parentage.scoring.rulebook import RULES, FamilyNumbers, RuleSet
from parentage.scoring.rules import fires
from parentage.scoring.scores import local_score
from parentage.scoring.settings import Scoring

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parentage.data.table import Table
    from parentage.scoring.prior import Prior
    from parentage.scoring.scores import Score


class RuleCheck(NamedTuple):
    """One rule applied to the family because of one parent Y."""

    rule: str
    Y: str
    left: float
    right: float
    fires: bool


class Family:
    """The numbers of one family; in nats inside, in the chosen unit outside."""

    def __init__(
        self,
        table: Table,
        score: Score,
        child: str,
        parents: tuple[str, ...],
        unit: float,
        prior: Prior,
    ) -> None:
        self.table, self.score, self.child, self.parents = table, score, child, parents
        self.unit, self.prior = unit, prior.uncertain()
        by, names = score.on_columns_of(table), [child, *parents]
        self.lists = _lists_of(table, by, names)
        self.soft_lists = _lists_of(table, by, names, self.prior) if self.prior else self.lists
        settings = Scoring(score=score.name, prior=self.prior, rules="none")
        self.width = prepare(table, settings).search_width
        self.plan = encode_plans(prepare(table, Scoring(score=score.name)))[0]
        self.measure = self.plan.measure
        grid = self.plan.encoded.grid
        self.tolerance = float(grid.to_float(grid.tolerance))

    def added(self) -> float:
        """What the prior adds for these parents."""
        return math.fsum(self.prior.log_odds(parent, self.child) for parent in self.parents)

    def own(self) -> float:
        """The family's score, prior included."""
        t = self.table
        if not self.parents and self.child in t.constant:
            return 0.0  # as in the lists, whatever states are declared
        members = [t.index(parent) for parent in self.parents]
        return self.score.local(t, t.index(self.child), members) + self.added()

    def at_most(self) -> float:
        """What no superset exceeds: all further arcs that the prior rewards may be there."""
        further = (
            max(0.0, self.prior.log_odds(other, self.child))
            for other in self.table.names
            if other not in (self.child, *self.parents)
        )
        plain = -(self.residual(self.child) + self.price())
        return plain + self.added() + math.fsum(further)

    def is_kept(self) -> bool:
        """Whether it is in the child's list."""
        return any(set(members) == set(self.parents) for _, members in self.soft_lists[self.child])

    def best_proper_subset(self) -> tuple[tuple[str, ...] | None, float | None]:
        """The best-scoring proper subset and its score in nats, prior included."""
        for value, members in self.soft_lists[self.child]:  # best first
            if set(members) < set(self.parents):
                return members, value
        return None, None

    def bin(self, members: Sequence[str]) -> float:
        """Best score of these parents and their subsets, in nats."""
        own = self.lists[self.child]
        return max(value for value, listed in own if set(listed) <= set(members))

    def residual(self, name: str) -> float:
        """H of a variable; a constant has none."""
        t = self.table
        return self.measure.unexplained(t, t.index(name), [t.index(p) for p in self.parents])

    def price(self) -> float:
        """What the parents cost whatever is explained."""
        t = self.table
        return self.score.price(t, t.index(self.child), [t.index(p) for p in self.parents])

    def price_in_words(self) -> str:
        """What that is; nothing for penalised likelihoods, whose rules say it."""
        t = self.table
        return self.score.bound_in_words(t, t.index(self.child), [t.index(p) for p in self.parents])

    def checks(self) -> list[RuleCheck]:
        """Every rule that is proved for this score, for every parent."""
        proved = [rule for rule in RULES if rule.why_not(self.score.name, self.width) is None]
        width = self.width or 0.0
        numbers = {y: self.numbers(y)._replace(width=width) for y in self.parents}
        caps = self.caps(RuleSet(tuple(rule.name for rule in proved)))
        size = len(self.parents)
        found = []
        for rule in proved:
            for y in self.parents:
                if rule.sides is not None:
                    sides = rule.sides(numbers[y])
                    left, right = float(sides.left) / self.unit, float(sides.right) / self.unit
                    removed = bool(fires(sides, self.tolerance))
                    found.append(RuleCheck(rule.name, y, left, right, removed))
                elif rule.name in caps:
                    cap = caps[rule.name]
                    found.append(RuleCheck(rule.name, y, float(size), float(cap), size > cap))
        return found

    def numbers(self, y: str) -> FamilyNumbers:
        """What the rules need to know of the family and its parent y, in nats."""
        t, star = self.table, [p for p in self.parents if p != y]
        parents = [t.index(p) for p in self.parents]
        return self.measure.numbers(t, t.index(self.child), parents, t.index(y), self.bin(star))

    def caps(self, rules: RuleSet) -> dict[str, int]:
        """The most parents of the child by cap rule; a constant child has none."""
        encoded, width = self.plan.encoded, self.width or 0.0
        where = np.flatnonzero(encoded.order == self.table.index(self.child))
        caps = self.measure.caps(encoded, self.table, rules, self.plan.h, width)
        return {name: int(cap[where[0]]) for name, cap in caps.items() if len(where)}


def _lists_of(
    table: Table, by: Score, names: Sequence[str], prior: Prior | None = None
) -> dict[str, list[Candidate]]:
    """The candidate lists when there are only these columns: scores in nats, best first.

    Whether a set beats its subsets does not depend on other columns: these are the sets of the
    table's own lists that lie within ``names``. A constant has the empty set alone.
    """
    live = [name for name in names if name not in table.constant]
    found = {name: [Candidate(0.0, ())] for name in names}
    if len(live) > 1:
        inside = None if prior is None else prior.among(live)
        found |= score(table.select(live), score=by.name, prior=inside, threads=1).to_dict()
    elif live:
        found[live[0]] = [Candidate(local_score(table, live[0], score=by.name), ())]
    return found
