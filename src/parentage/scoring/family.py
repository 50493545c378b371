"""The numbers of one family: scores, bounds, and what every rule compares. For ``explain``.

In nats inside, in the chosen unit outside. Where a prior rewards arcs, the rules are those of the
search, which keeps what the prior may lift (``docs/theory.md``, "Soft arcs").
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from parentage.scoring.candidates import score
from parentage.scoring.entropy import encode
from parentage.scoring.holes import complete_residuals, encode_with_holes
from parentage.scoring.lists import Candidate
from parentage.scoring.plan import prepare
from parentage.scoring.residuals import residuals
from parentage.scoring.rulebook import (
    RULES,
    FamilyNumbers,
    RuleSet,
    TableNumbers,
    caps_by_rule,
)
from parentage.scoring.rules import fires
from parentage.scoring.scores import (
    BySums,
    NodeAverage,
    Penalised,
    entropy_sum,
    free_parameters,
    local_score,
)
from parentage.scoring.scores.counts import joint_counts, joint_states
from parentage.scoring.scores.node_average import complete_rows
from parentage.scoring.settings import Scoring
from parentage.scoring.sum_search import SumSearch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parentage.data.table import Table
    from parentage.scoring.entropy import Encoded
    from parentage.scoring.prior import Prior
    from parentage.scoring.scores import AnyScore, Score


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
        score: AnyScore,
        child: str,
        parents: tuple[str, ...],
        unit: float,
        prior: Prior,
    ) -> None:
        self.table, self.score, self.child, self.parents = table, score, child, parents
        self.unit, self.prior = unit, prior.uncertain()
        self.w = score.weight(table) if isinstance(score, Penalised) else 0.0
        by, names = score.on_columns_of(table), [child, *parents]
        self.lists = _lists_of(table, by, names)
        self.soft_lists = _lists_of(table, by, names, self.prior) if self.prior else self.lists
        settings = Scoring(score=score.name, prior=self.prior, rules="none")
        self.width = prepare(table, settings).search_width
        if isinstance(score, NodeAverage):
            self.encoded: Encoded = encode_with_holes(table, score)
            self.h = complete_residuals(self.encoded, table)
        else:
            self.encoded = encode(table, score.name)
            self.h = residuals(self.encoded, table)
        self.tolerance = float(self.encoded.grid.to_float(self.encoded.grid.tolerance))

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

    def entropy(self, name: str, given: Sequence[str] = ()) -> float:
        """N·H(name | given)."""
        t = self.table
        inside = [t.index(v) for v in given]
        return entropy_sum(t, inside) - entropy_sum(t, [*inside, t.index(name)])

    def residual(self, name: str) -> float:
        """H of a variable; a constant has none."""
        v = self.table.index(name)
        if isinstance(self.score, NodeAverage):
            parents = [self.table.index(p) for p in self.parents]
            return self.score.unexplained(self.table, v, parents)
        where = [i for i, column in enumerate(self.encoded.order) if column == v]
        return float(self.encoded.grid.to_float(self.h[where[0]])) if where else 0.0

    def penalty(self, parents: Sequence[str], child: str | None = None) -> float:
        """Penalty of these parents of the child, or of another one."""
        t = self.table
        x = t.index(self.child if child is None else child)
        return self.w * free_parameters(t, x, [t.index(p) for p in parents])

    def price(self) -> float:
        """What the parents cost whatever is explained."""
        t = self.table
        return self.score.price(t, t.index(self.child), [t.index(p) for p in self.parents])

    def price_in_words(self) -> str:
        """What that is; nothing for penalised likelihoods, whose rules say it."""
        if isinstance(self.score, Penalised):
            return ""
        if self.score.kind.name != "bdeu":
            return "for the parents"
        t = self.table
        cells = len(joint_counts(t, [t.index(v) for v in (*self.parents, self.child)]))
        r = int(t.cardinalities[t.index(self.child)])
        return f"for {cells} joint states that occur (ln {r} each)"

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
        if isinstance(self.score, BySums):
            return self.numbers_by_sums(y, self.score)
        if isinstance(self.score, NodeAverage):
            return self.numbers_with_holes(y, self.score)
        x = self.child
        star = [p for p in self.parents if p != y]
        penalty_star = self.penalty(star)
        x_star = self.entropy(x, star)
        bin_star = self.bin(star)
        return FamilyNumbers(
            n_h_x=self.entropy(x),
            n_h_y=self.entropy(y),
            n_h_x_star=x_star,
            n_h_y_star=self.entropy(y, star),
            h_x=self.residual(x),
            h_y=self.residual(y),
            added=(int(self.table.cardinalities[self.table.index(y)]) - 1) * penalty_star,
            penalty=self.penalty(self.parents),
            bin_star=bin_star,
            delta=bin_star - (-x_star - penalty_star),
        )

    def numbers_by_sums(self, y: str, score: BySums) -> FamilyNumbers:
        """The same for the rules of scores by sums."""
        t, star = self.table, [p for p in self.parents if p != y]
        x, pi, less = t.index(self.child), *([t.index(p) for p in m] for m in (self.parents, star))
        family = {x, *pi}
        bin_star, r = self.bin(star), int(t.cardinalities[x])
        price, price_star = score.price(t, x, pi), score.price(t, x, less)
        cells = max(len(joint_counts(t, sorted(family - {v}))) for v in family)
        return FamilyNumbers(
            n_h_x=self.entropy(self.child),
            n_h_y=self.entropy(y),
            n_h_x_star=self.entropy(self.child, star),
            n_h_y_star=self.entropy(y, star),
            h_x=self.residual(self.child),
            h_y=self.residual(y),
            added=price - price_star,
            penalty=price,
            bin_star=bin_star,
            delta=bin_star - score.local(t, x, less),
            cells=math.log(r) * cells,
            adds=score.adds(joint_states(t, pi)),
            least_added=self.least_added(y, star),
            occupied=len(joint_counts(t, pi)),
            occupied_star=len(joint_counts(t, less)),
        )

    def numbers_with_holes(self, y: str, score: NodeAverage) -> FamilyNumbers:
        """The same for the one rule of tables with holes; h is spread over rows of subsets."""
        t, star = self.table, [p for p in self.parents if p != y]
        x, pi = t.index(self.child), [t.index(p) for p in self.parents]
        fewest = max(score.unexplained(t, x, [p for p in pi if p != z]) for z in pi)
        without_x = t.rows_in(complete_rows(t, pi))
        with_x = t.rows_in(complete_rows(t, [x]))
        if 0 < without_x < with_x:
            fewest = max(fewest, score.unexplained(t, x) * with_x / without_x)
        nothing = dict.fromkeys(FamilyNumbers._fields[:11], 0.0)
        bound = FamilyNumbers(**nothing, adds=True)
        return bound._replace(h_x=fewest, penalty=self.price(), bin_star=self.bin(star))

    def least_added(self, y: str, star: Sequence[str]) -> float:
        """The least that y adds to the penalty in Theorem 7's region; 0 is always right."""
        if self.score.kind.name != "qnml" or {self.child, y, *star} & set(self.table.constant):
            return 0.0
        levels, order = self.levels, self.encoded.order.tolist()
        kinds = [int(levels.kind[order.index(self.table.index(v))]) for v in star]
        few = tuple(kinds.count(k) for k in range(len(levels.arities)))
        x, of_y = (order.index(self.table.index(v)) for v in (self.child, y))
        row = levels.multisets.at(len(star)).index(few)
        least = int(levels.least_added(len(star))[x, levels.kind[of_y], row])
        return max(0.0, float(self.encoded.grid.to_float(least)))

    @cached_property
    def levels(self) -> SumSearch:
        """The search as it would be without a limit; nothing is searched."""
        plan = prepare(self.table, Scoring(score=self.score.name)).plans[0]
        levels = SumSearch(plan)
        levels.first()
        return levels

    def caps(self, rules: RuleSet) -> dict[str, int]:
        """The most parents of the child by cap rule; a constant child has none."""
        e = self.encoded
        where = [i for i, v in enumerate(e.order) if v == self.table.index(self.child)]
        if not where:
            return {}
        numbers = TableNumbers(
            self.table.n_rows,
            [float(g) for g in e.grid.to_float(e.empty - e.single)],
            [float(g) for g in e.grid.to_float(self.h)],
            [int(a) for a in e.arity],
            self.w,
            self.width or 0.0,
        )
        return {name: int(cap[where[0]]) for name, cap in caps_by_rule(rules, numbers).items()}


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
