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
from parentage.files.decoding import fields_in
from parentage.scoring.candidates import score_table
from parentage.scoring.constraints import Prior
from parentage.scoring.lists import Candidate
from parentage.scoring.rules import BY_NAME, RULES, RuleSet, fires
from parentage.scoring.scores import family_score, unit_of
from parentage.scoring.search.plan import check_learnable, encode_plans, prepare_search, score_for
from parentage.scoring.settings import Scoring
from parentage.work.context import Context
from parentage.work.settings import takes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parentage.data.table import Table
    from parentage.scoring.scores import Score
    from parentage.scoring.search.plan import SearchPlan


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
        content = {**fields_in(self), "score": self.score if math.isfinite(self.score) else None}
        del content["of_bound"]
        return content

    def __str__(self) -> str:
        return "\n".join([*self._verdict(), *self._bound(), *self._reasons()])

    def _verdict(self) -> list[str]:
        family = f"{_braces(self.parents)} → {self.child}"
        if self.kept:
            what = "beats every proper subset" if self.parents else "is always a candidate"
            return [f"Kept: {family} scores {self.score:.4f} and {what}."]
        if not math.isfinite(self.score):
            return [
                f"Not kept: the variables of {family} are never observed together in one row, so "
                "it has no score."
            ]
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
            f"The set and all its supersets score at most {self.at_most:.4f}: "
            f"{self.unexplained:.4f} that no variables explain, and {rest:.4f} {self.of_bound}."
        ]

    def _reasons(self) -> list[str]:
        fired = self.fired()
        if not fired:
            if self.kept or not self.parents:
                return []
            return ["No rule prunes the set before it is counted."]
        lines = ["The set and all its supersets could be pruned without counting it:"]
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
    given = Prior.of(prior)
    given.check(table.names)
    belief, unit = given.uncertain(), unit_of(log_base)
    by = score_for(table, Scoring(score=score).for_missing(rule_for_missing(table)).score)
    plain = _list_of(table, by, child, members)
    listed = _list_of(table, by, child, members, belief) if belief else plain
    best = next((one for one in listed if set(one.parents) < set(members)), None)
    kept = best is None or any(set(one.parents) == set(members) for one in listed)
    plan = encode_plans(prepare_search(table, Scoring(score=by.name)))[0]
    x, family = table.index(child), [table.index(parent) for parent in members]
    added = math.fsum(belief.log_odds(parent, child) for parent in members)
    own = 0.0  # of a constant without parents, as in the lists, whatever states are declared
    if members or child not in table.constant:
        own = by.local(table, x, family) + added
    unexplained = plan.measure.unexplained(table, x, family)
    others = (name for name in table.names if name not in (child, *members))
    further = math.fsum(max(0.0, belief.log_odds(other, child)) for other in others)
    at_most = -(unexplained + by.price(table, x, family)) + added + further
    settings = Scoring(score=by.name, prior=belief, rules="none")
    width = prepare_search(table, settings).search_width
    return Explanation(
        child,
        members,
        own / unit,
        kept,
        None if kept or best is None else best.parents,
        None if kept or best is None else best.score / unit,
        at_most / unit,
        unexplained / unit,
        by.bound_in_words(table, x, family),
        tuple(_checks(table, plan, (child, members), plain, width, unit)),
    )


def _checks(
    table: Table,
    plan: SearchPlan,
    family: tuple[str, tuple[str, ...]],
    listed: Sequence[Candidate],
    width: float | None,
    unit: float,
) -> Iterator[RuleCheck]:
    """Yield every rule that is proved for the score, for every parent.

    ``listed`` are the candidates within the family, without a prior; ``width`` is in nats.
    """
    child, parents = family
    x, members = table.index(child), [table.index(parent) for parent in parents]
    encoded, grid = plan.encoded, plan.encoded.grid
    proved = [rule for rule in RULES if rule.why_not(plan.score.name, width) is None]
    rules = RuleSet(tuple(rule.name for rule in proved))
    caps = plan.measure.caps(encoded, table, rules, plan.h, width or 0.0)
    where = np.flatnonzero(encoded.order == x)  # a constant is nowhere, and has no caps
    numbers = {}
    for parent, y in zip(parents, members, strict=True):
        star = set(parents) - {parent}
        bin_star = max(one.score for one in listed if set(one.parents) <= star)
        found = plan.measure.numbers(table, x, members, y, bin_star)
        numbers[parent] = found._replace(width=width or 0.0)
    for rule in proved:
        for parent in parents:
            if rule.sides is not None:
                sides = rule.sides(numbers[parent])
                left, right = (float(side) / unit for side in sides)
                removed = bool(fires(sides, float(grid.to_float(grid.tolerance))))
                yield RuleCheck(rule.name, parent, left, right, removed)
            elif rule.name in caps and len(where):
                size, cap = len(parents), int(caps[rule.name][where[0]])
                yield RuleCheck(rule.name, parent, float(size), float(cap), size > cap)


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


def _list_of(
    table: Table, by: Score, child: str, parents: Sequence[str], prior: Prior | None = None
) -> list[Candidate]:
    """Return the candidates of a child when there are only these columns: in nats, best first.

    Whether a set beats its subsets does not depend on other columns: these are the sets of the
    table's own list that lie within ``parents``. A constant has the empty set alone.
    """
    live = [name for name in (child, *parents) if name not in table.constant]
    name = by.on_columns_of(table).name
    if child not in live:
        return [Candidate(0.0, ())]
    if len(live) == 1:
        return [Candidate(family_score(table, child, (), name), ())]
    inside = None if prior is None else prior.among(live)
    settings = Scoring(score=name, prior=inside)
    return score_table(table.select(live), settings, Context())[child]
