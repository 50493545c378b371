"""Why a parent set is a candidate or not: one family, every rule, both sides of each inequality.

The dominating subset comes from the search itself, run once on the family's own columns, so that
any family of any table can be explained, not only small ones. The numbers are those of
:mod:`parentage.scoring.rulebook`, per parent Y of the set.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from parentage.data.reading import as_table
from parentage.errors import InputError
from parentage.scoring.candidates import score
from parentage.scoring.entropy import encode, residuals
from parentage.scoring.holes import complete_residuals, encode_with_holes
from parentage.scoring.lists import Candidate
from parentage.scoring.plan import check_table, prepare, score_for
from parentage.scoring.rulebook import (
    BY_NAME,
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
    unit_of,
)
from parentage.scoring.scores.counts import joint_counts, joint_states
from parentage.scoring.scores.node_average import complete_rows
from parentage.scoring.settings import Scoring
from parentage.scoring.sum_search import SumSearch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parentage.data.table import Table
    from parentage.scoring.entropy import Encoded
    from parentage.scoring.scores import AnyScore, Score


class RuleCheck(NamedTuple):
    """One rule applied to the family because of one parent Y."""

    rule: str
    Y: str
    left: float
    right: float
    fires: bool


@dataclass(frozen=True)
class Explanation:
    """One family: its score, whether it is kept, and what every rule says."""

    child: str
    parents: tuple[str, ...]
    score: float
    kept: bool
    dominated_by: tuple[str, ...] | None
    """The best proper subset, if it scores at least as well."""
    dominating_score: float | None
    at_most: float
    """No superset scores more, the family itself included."""
    unexplained: float
    """The part of that which no parents at all explain."""
    of_bound: str
    """What the rest of it is, in words."""
    rules: tuple[RuleCheck, ...] = field(repr=False)

    def fired(self) -> list[RuleCheck]:
        """Return the checks that rule the family out."""
        return [check for check in self.rules if check.fires]

    def to_dict(self) -> dict[str, Any]:
        """Return what ``parentage explain --json`` prints."""
        return {
            "child": self.child,
            "parents": list(self.parents),
            "score": self.score if math.isfinite(self.score) else None,
            "kept": self.kept,
            "dominated_by": None if self.dominated_by is None else list(self.dominated_by),
            "dominating_score": self.dominating_score,
            "at_most": self.at_most,
            "unexplained": self.unexplained,
            "rules": [check._asdict() for check in self.rules],
        }

    def __str__(self) -> str:
        return "\n".join([*self._verdict(), *self._bound(), *self._reasons()])

    def _verdict(self) -> list[str]:
        family = f"{_braces(self.parents)} → {self.child}"
        if self.kept:
            what = "beats every proper subset" if self.parents else "is always a candidate"
            return [f"Kept: {family} scores {self.score:.4f} and {what}."]
        if not math.isfinite(self.score):
            return [f"Not kept: {family} are never observed in one row, so they have no score."]
        if self.dominated_by is None or self.dominating_score is None:
            return [f"Not kept: {family} scores {self.score:.4f}."]
        ahead = self.dominating_score - self.score
        better = f"{ahead:.4f} more" if ahead > 5e-5 else "just as much with fewer parents"
        return [
            f"Not kept: {family} scores {self.score:.4f}; "
            f"{_braces(self.dominated_by)} alone scores {self.dominating_score:.4f}, {better}."
        ]

    def _bound(self) -> list[str]:
        if not self.of_bound or not self.parents:
            return []
        rest = -self.at_most - self.unexplained
        return [
            f"It and all its supersets score at most {self.at_most:.4f}: {self.unexplained:.4f} "
            f"that nothing explains, and {rest:.4f} {self.of_bound}."
        ]

    def _reasons(self) -> list[str]:
        fired = self.fired()
        if not fired:
            if self.kept or not self.parents:
                return []
            return ["No rule sees that beforehand: it has to be counted to be known."]
        lines = ["It and all its supersets could be ruled out without counting it:"]
        for name in dict.fromkeys(check.rule for check in fired):
            of_rule = [check for check in fired if check.rule == name]
            lines.append(f"  {name:<11}{in_words(of_rule[0], self.child, self.parents)}")
            if len(of_rule) > 1 and not BY_NAME[name].is_cap:
                also = ", ".join(check.Y for check in of_rule[1:])
                lines[-1] += f"  (also for Y = {also})"
        return lines

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{c.rule}</td><td>{escape(c.Y)}</td><td>{c.left:.4f}</td>"
            f"<td>{c.right:.4f}</td><td>{'fires' if c.fires else ''}</td></tr>"
            for c in self.rules
        )
        head = "<tr><th>rule</th><th>Y</th><th>left</th><th>right</th><th></th></tr>"
        return f"<pre>{escape(str(self))}</pre><table>{head}{rows}</table>"


def explain(
    table: object,
    child: str,
    parents: Sequence[str],
    *,
    score: str = "bic",
    lambda_: float | None = None,
    log_base: float | str | None = None,
) -> Explanation:
    """Explain one family: score, dominating subset, and both sides of every rule.

    Examples
    --------
    >>> from parentage.data.table import Table
    >>> t = Table.from_columns({"a": "0011" * 9, "b": "0011" * 9, "c": "0101" * 9})
    >>> print(explain(t, "a", ["b"]))
    Kept: {b} → a scores -3.5835 and beats every proper subset.
    >>> explain(t, "a", ["b", "c"]).dominated_by
    ('b',)
    """
    table = as_table(table)
    check_table(table)
    members = _check_family(table, child, parents)
    by = score_for(table, score, lambda_)
    family = _Family(table, by, child, members, unit_of(log_base))
    own = by.local(table, table.index(child), [table.index(p) for p in members]) / family.unit
    if not members and child in table.constant:
        own = 0.0  # as in the lists, whatever states are declared
    best, value = family.best_proper_subset()
    kept = best is None or family.is_kept()
    return Explanation(
        child,
        members,
        own,
        kept,
        None if kept else best,
        None if kept or value is None else value / family.unit,
        -(family.residual(child) + family.price()) / family.unit,
        family.residual(child) / family.unit,
        family.price_in_words(),
        tuple(family.checks()),
    )


def _check_family(table: Table, child: str, parents: Sequence[str]) -> tuple[str, ...]:
    if isinstance(parents, str):
        raise InputError(f"parents must be a list of names, not {parents!r}; write [{parents!r}]")
    table.index(child)
    for parent in parents:
        if parent not in table.names and all(p in table.names for p in parent.split(",")):
            raise InputError(f"{parent!r} is not a column; name every parent by itself")
        table.index(parent)
    if child in parents:
        raise InputError(f"{child!r} cannot be its own parent; leave it out of the parents")
    if len(set(parents)) != len(parents):
        twice = next(p for p in parents if list(parents).count(p) > 1)
        raise InputError(f"parent {twice!r} is named twice; name it once")
    return tuple(sorted(parents, key=table.names.index))


class _Family:
    """The numbers of one family; in nats inside, in the chosen unit outside."""

    def __init__(
        self,
        table: Table,
        score: AnyScore,
        child: str,
        parents: tuple[str, ...],
        unit: float,
    ) -> None:
        self.table, self.score, self.child, self.parents = table, score, child, parents
        self.unit = unit
        self.w = score.weight(table) if isinstance(score, Penalised) else 0.0
        self.lists = _lists_of(table, score.on_columns_of(table), [child, *parents])
        if isinstance(score, NodeAverage):
            self.encoded: Encoded = encode_with_holes(table, score)
            self.h = complete_residuals(self.encoded, table)
        else:
            self.encoded = encode(table, score.name)
            self.h = residuals(self.encoded, table)
        self.tolerance = float(self.encoded.grid.to_float(self.encoded.grid.tolerance))

    def is_kept(self) -> bool:
        return any(set(members) == set(self.parents) for _, members in self.lists[self.child])

    def best_proper_subset(self) -> tuple[tuple[str, ...] | None, float | None]:
        """The best-scoring proper subset and its score in nats."""
        for value, members in self.lists[self.child]:  # best first
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

    def listed(self, y: str, star: Sequence[str]) -> float:
        """Least N·H(y | Π′) over the Π′ ⊆ star in y's own list: score without penalty."""
        if y in self.table.constant:
            return 0.0
        inside = [c for c in self.lists[y] if set(c.parents) <= set(star)]
        return min(-c.score - self.penalty(c.parents, y) for c in inside)

    def checks(self) -> list[RuleCheck]:
        """Every rule that is proved for this score, for every parent."""
        proved = [rule for rule in RULES if self.score.kind.name in rule.scores]
        numbers = {y: self.numbers(y) for y in self.parents}
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
            n_h_y_listed=self.listed(y, star),
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
            n_h_y_listed=0.0,
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
        without_x = int(complete_rows(t, pi).sum())
        with_x = int(complete_rows(t, [x]).sum())
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
        )
        return {name: int(cap[where[0]]) for name, cap in caps_by_rule(rules, numbers).items()}


def _lists_of(table: Table, by: Score, names: Sequence[str]) -> dict[str, list[Candidate]]:
    """The candidate lists when there are only these columns: scores in nats, best first.

    Whether a set beats its subsets does not depend on other columns: these are the sets of the
    table's own lists that lie within ``names``. A constant has the empty set alone.
    """
    live = [name for name in names if name not in table.constant]
    found = {name: [Candidate(0.0, ())] for name in names}
    if len(live) > 1:
        found |= score(table.select(live), score=by.name, threads=1).to_dict()
    elif live:
        found[live[0]] = [Candidate(local_score(table, live[0], score=by.name), ())]
    return found


def _braces(names: Sequence[str]) -> str:
    return "{" + ", ".join(names) + "}" if names else "∅"


def _given(name: str, star: Sequence[str]) -> str:
    return f"N·H({name} | {', '.join(star)})" if star else f"N·H({name})"


def in_words(check: RuleCheck, x: str, parents: Sequence[str]) -> str:
    """Say one inequality in words and numbers: the rule's own words, filled in."""
    rule, y = BY_NAME[check.rule], check.Y
    star = [p for p in parents if p != y]
    digits = 0 if rule.is_cap else 4
    return rule.words.format(
        x=x,
        y=y,
        of_x=_given(x, ()),
        of_y=_given(y, ()),
        of_x_star=_given(x, star),
        of_y_star=_given(y, star),
        left=f"{check.left:.{digits}f}",
        right=f"{check.right:.{digits}f}",
    )
