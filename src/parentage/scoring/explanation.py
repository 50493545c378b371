"""Why a parent set is a candidate or not: one family, every rule, both sides of each inequality.

The dominating subset comes from the search itself, run once on the family's own columns, so that
any family of any table can be explained, not only small ones. The numbers are those of
:mod:`parentage.scoring.rules`, per parent Y of the set.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from parentage.data.reading import as_table
from parentage.errors import InputError
from parentage.scoring import rules as r
from parentage.scoring.candidates import score
from parentage.scoring.entropy import encode, residuals
from parentage.scoring.lists import Candidate
from parentage.scoring.plan import check_table
from parentage.scoring.scores import (
    check_score,
    entropy_sum,
    free_parameters,
    local_score,
    unit_of,
    weight,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parentage.data.table import Table
    from parentage.scoring.scores import ScoreName


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
    rules: tuple[RuleCheck, ...] = field(repr=False)

    def fired(self) -> list[RuleCheck]:
        """Return the checks that rule the family out."""
        return [check for check in self.rules if check.fires]

    def to_dict(self) -> dict[str, Any]:
        """Return what ``parentage explain --json`` prints."""
        return {
            "child": self.child,
            "parents": list(self.parents),
            "score": self.score,
            "kept": self.kept,
            "dominated_by": None if self.dominated_by is None else list(self.dominated_by),
            "dominating_score": self.dominating_score,
            "rules": [check._asdict() for check in self.rules],
        }

    def __str__(self) -> str:
        return "\n".join([*self._verdict(), *self._reasons()])

    def _verdict(self) -> list[str]:
        family = f"{_braces(self.parents)} → {self.child}"
        if self.kept:
            what = "beats every proper subset" if self.parents else "is always a candidate"
            return [f"Kept: {family} scores {self.score:.4f} and {what}."]
        if self.dominated_by is None or self.dominating_score is None:
            return [f"Not kept: {family} scores {self.score:.4f}."]
        ahead = self.dominating_score - self.score
        better = f"{ahead:.4f} more" if ahead > 5e-5 else "just as much with fewer parents"
        return [
            f"Not kept: {family} scores {self.score:.4f}; "
            f"{_braces(self.dominated_by)} alone scores {self.dominating_score:.4f}, {better}."
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
            lines.append(f"  {name:<11}{_words(of_rule[0], self.child, self.parents)}")
            if len(of_rule) > 1 and name not in r.CAPS:
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
    family = _Family(table, check_score(score), child, members, unit_of(log_base))
    own = local_score(table, child, members, score=score, log_base=log_base)
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
        tuple(family.checks()),
    )


def _check_family(table: Table, child: str, parents: Sequence[str]) -> tuple[str, ...]:
    if isinstance(parents, str):
        raise InputError(f"parents must be a list of names, not {parents!r}; write [{parents!r}]")
    table.index(child)
    for parent in parents:
        if parent not in table.names and all(p in table.names for p in parent.split(",")):
            raise InputError(f"{parent!r} is no column; separate parents by blanks, not by commas")
        table.index(parent)
    if child in parents:
        raise InputError(f"{child!r} cannot be its own parent; leave it out of the parents")
    if len(set(parents)) != len(parents):
        twice = next(p for p in parents if list(parents).count(p) > 1)
        raise InputError(f"parent {twice!r} is named twice; name it once")
    return tuple(sorted(parents, key=table.names.index))


class _Family:
    """The numbers of one family; in nats inside, in the wanted unit outside."""

    def __init__(
        self, table: Table, score: ScoreName, child: str, parents: tuple[str, ...], unit: float
    ) -> None:
        self.table, self.score, self.child, self.parents = table, score, child, parents
        self.unit = unit
        self.w = weight(score, table.n_rows)
        self.lists = _lists_of(table, score, [child, *parents])
        self.encoded = encode(table, score)
        self.tolerance = float(self.encoded.grid.to_float(self.encoded.grid.tolerance))
        self.h = residuals(self.encoded, table)

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
        where = [i for i, column in enumerate(self.encoded.order) if column == v]
        return float(self.encoded.grid.to_float(self.h[where[0]])) if where else 0.0

    def penalty(self, parents: Sequence[str], child: str | None = None) -> float:
        """Penalty of these parents of the child, or of another one."""
        t = self.table
        x = t.index(self.child if child is None else child)
        return self.w * free_parameters(t, x, [t.index(p) for p in parents])

    def listed(self, y: str, star: Sequence[str]) -> float:
        """Least N·H(y | Π′) over the Π′ ⊆ star in y's own list: score without penalty."""
        if y in self.table.constant:
            return 0.0
        inside = [c for c in self.lists[y] if set(c.parents) <= set(star)]
        return min(-c.score - self.penalty(c.parents, y) for c in inside)

    def checks(self) -> list[RuleCheck]:
        """Every rule that is proved for this score, for every parent."""
        found: dict[str, list[RuleCheck]] = {name: [] for name in r.ORDER}
        for y in self.parents:
            for name, sides in self._sides(y).items():
                fires = bool(r.fires(sides, self.tolerance))
                left, right = float(sides.left) / self.unit, float(sides.right) / self.unit
                found[name].append(RuleCheck(name, y, left, right, fires))
        for name, cap in self._caps().items():
            size = len(self.parents)
            found[name] = [
                RuleCheck(name, y, float(size), float(cap), size > cap) for y in self.parents
            ]
        return [check for name in r.ORDER for check in found[name]]

    def _sides(self, y: str) -> dict[str, r.Sides]:
        x = self.child
        star = [p for p in self.parents if p != y]
        penalty_star = self.penalty(star)
        added = (int(self.table.cardinalities[self.table.index(y)]) - 1) * penalty_star
        h_x, h_y = self.entropy(x), self.entropy(y)
        x_star, y_star = self.entropy(x, star), self.entropy(y, star)
        bin_star = self.bin(star)
        delta = bin_star - (-x_star - penalty_star)
        return {
            "alg3": r.alg3(h_x, added),
            "alg4": r.alg4(h_y, added),
            "thm2": r.theorem2(h_x, h_y, added),
            "alg1": r.alg1(x_star, added),
            "alg2": r.alg2(y_star, added),
            "thm1": r.theorem1(x_star, y_star, added),
            "thm2-cache": r.theorem2_cache(self.listed(y, star), added),
            "lemma3": r.lemma3(bin_star, self.penalty(self.parents)),
            "thm1p": r.theorem1_plus(
                x_star, y_star, self.residual(x), self.residual(y), added, delta
            ),
        }

    def _caps(self) -> dict[str, int]:
        e = self.encoded
        where = [i for i, v in enumerate(e.order) if v == self.table.index(self.child)]
        if not where:  # a constant child
            return {}
        caps = r.caps_by_rule(
            r.choose_rules("all", self.score),
            self.table.n_rows,
            [float(g) for g in e.grid.to_float(e.empty - e.single)],
            [float(g) for g in e.grid.to_float(self.h)],
            [int(a) for a in e.arity],
            self.w,
        )
        return {name: int(cap[where[0]]) for name, cap in caps.items()}


def _lists_of(
    table: Table, score_name: ScoreName, names: Sequence[str]
) -> dict[str, list[Candidate]]:
    """The candidate lists when there are only these columns: scores in nats, best first.

    Whether a set beats its subsets does not depend on other columns: these are the sets of the
    table's own lists that lie within ``names``. A constant has the empty set alone.
    """
    live = [name for name in names if name not in table.constant]
    found = {name: [Candidate(0.0, ())] for name in names}
    if len(live) > 1:
        found |= score(table.select(live), score=score_name, threads=1).to_dict()
    elif live:
        found[live[0]] = [Candidate(local_score(table, live[0], score=score_name), ())]
    return found


def _braces(names: Sequence[str]) -> str:
    return "{" + ", ".join(names) + "}" if names else "∅"


def _given(name: str, star: Sequence[str]) -> str:
    return f"N·H({name} | {', '.join(star)})" if star else f"N·H({name})"


def _words(check: RuleCheck, x: str, parents: Sequence[str]) -> str:
    """Say one inequality in words and numbers."""
    y = check.Y
    star = [p for p in parents if p != y]
    left, right = f"{check.left:.4f}", f"{check.right:.4f}"
    if check.rule in r.CAPS:
        return f"{check.left:.0f} parents, and {x} can have at most {check.right:.0f}"
    adds = f"≤ {right}, the penalty that {y} adds"
    return {
        "alg1": f"{_given(x, star)} = {left} {adds}",
        "alg2": f"{_given(y, star)} = {left} {adds}",
        "alg3": f"{_given(x, ())} = {left} {adds}",
        "alg4": f"{_given(y, ())} = {left} {adds}",
        "thm1": f"the smaller of {_given(x, star)} and {_given(y, star)} is {left} {adds}",
        "thm2": f"the smaller of {_given(x, ())} and {_given(y, ())} is {left} {adds}",
        "thm2-cache": f"N·H({y} | its best listed parents among the others) = {left} {adds}",
        "lemma3": f"the best subset without {y} scores −{left}, the penalty alone is {right}",
        "thm1p": f"at most {left} can be gained by {y}; it would have to beat {right}",
    }[check.rule]
