"""Why a parent set is a candidate or not: one family, every rule, both sides of each inequality.

The dominating subset comes from the search itself, run once on the family's own columns, so that
any family of any table can be explained, not only small ones. The numbers are those of
:mod:`parentage.scoring.rules`, per parent Y of the set. Where a prior rewards arcs, the rules are
those of the search, which keeps what the prior may lift (``docs/theory.md``, "Soft arcs").
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parentage.data.reading import as_table, rule_for_missing
from parentage.data.settings import IN_READ_TABLE
from parentage.errors import InputError
from parentage.scoring.candidates import score
from parentage.scoring.constraints import Prior
from parentage.scoring.lists import Candidate
from parentage.scoring.rules import BY_NAME, RULES, FamilyNumbers, RuleSet, fires
from parentage.scoring.scores import local_score, unit_of
from parentage.scoring.search.plan import check_learnable, encode_plans, prepare_search, score_for
from parentage.scoring.settings import Scoring
from parentage.work.settings import takes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parentage.data.table import Table
    from parentage.scoring.scores import Score


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
            return ["No rule prunes it beforehand: the set has to be counted."]
        lines = ["It and all its supersets could be pruned without counting it:"]
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


@takes(Scoring, elsewhere=IN_READ_TABLE)
def explain(
    source: object,
    child: str,
    parents: Sequence[str],
    *,
    score: str = "bic",
    prior: Prior | Mapping[tuple[str, str], float] | float | None = None,
    log_base: float | str | None = None,
) -> Explanation:
    """Explain one family: score, dominating subset, and both sides of every rule.

    Constraints are not considered, nor arcs that the prior makes certain.

    Parameters
    ----------
    source
        The data: a table, or a data frame or path, which are read as :func:`read_table` does.
    child, parents
        Names of the variables.
    {settings}

    Examples
    --------
    >>> from parentage.data.table import Table
    >>> t = Table.from_columns({"a": "0011" * 9, "b": "0011" * 9, "c": "0101" * 9})
    >>> print(explain(t, "a", ["b"]))
    Kept: {b} → a scores -3.5835 and beats every proper subset.
    >>> explain(t, "a", ["b", "c"]).dominated_by
    ('b',)
    """
    table = as_table(source)
    check_learnable(table)
    members = _check_family(table, child, parents)
    belief = Prior.of(prior)
    belief.check(table.names)
    scoring = Scoring(score=score).for_missing(rule_for_missing(table))
    by = score_for(table, scoring.score)
    family = Family(table, by, child, members, unit_of(log_base), belief)
    best, value = family.best_proper_subset()
    kept = best is None or family.is_kept()
    return Explanation(
        child,
        members,
        family.own() / family.unit,
        kept,
        None if kept else best,
        None if kept or value is None else value / family.unit,
        family.at_most() / family.unit,
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
        self.width = prepare_search(table, settings).search_width
        self.plan = encode_plans(prepare_search(table, Scoring(score=score.name)))[0]
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
