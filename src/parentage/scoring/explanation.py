"""Why a parent set is a candidate or not: one family, every rule, both sides of each inequality.

The dominating subset comes from the search itself, run once on the family's own columns, so that
any family of any table can be explained, not only small ones. The numbers are those of
:mod:`parentage.scoring.rulebook`, per parent Y of the set.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from parentage.data.reading import as_table, rule_for_missing
from parentage.data.settings import IN_READ_TABLE
from parentage.errors import InputError
from parentage.scoring.family import Family, RuleCheck
from parentage.scoring.plan import check_table, score_for
from parentage.scoring.prior import Prior
from parentage.scoring.rulebook import BY_NAME
from parentage.scoring.scores import unit_of
from parentage.scoring.settings import Scoring
from parentage.work.settings import takes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parentage.data.table import Table


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
    check_table(table)
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
