"""The rulebook: one record per rule, and the choice among them that a search makes.

The stage between the theorems (:mod:`parentage.scoring.rules`) and the plan of a search. A
:class:`Rule` says everything about a rule that is not its inequality: where it is proved, for which
scores, whether it survives a width and required parents, what it needs, which rules make it closed,
and how ``explain`` puts it in words. All lists of rules follow from :data:`RULES`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.errors import InputError, did_you_mean
from parentage.scoring import rules as theorems
from parentage.scoring.catalogue import KINDS, PENALISED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from parentage.scoring.rules import Number, Sides


class FamilyNumbers(NamedTuple):
    r"""What the rules know of a family (X, Π) and one parent Y in it, Π* = Π \\ Y; in nats."""

    n_h_x: Number
    """N·H(X)."""
    n_h_y: Number
    n_h_x_star: Number
    """N·H(X | Π*)."""
    n_h_y_star: Number
    h_x: Number
    """N·H(X | everything else)."""
    h_y: Number
    added: Number
    """(r_Y − 1)·pen(X, Π*), what Y adds to the penalty."""
    penalty: Number
    """pen(X, Π), or the price of other scores."""
    bin_star: Number
    """Bin(Π*)."""
    delta: Number
    """δ(Π*) = Bin(Π*) − s(Π*)."""
    width: Number = 0.0
    cells: Number = 0.0
    """ln r_X times the most joint states that occur in a set one smaller than X ∪ Π (BDeu)."""
    adds: bool = True
    """Whether ess / q_Π ≤ 1/3 (BDeu)."""
    least_added: Number = 0.0
    """The least that Y adds to the penalty in the region of Theorem 7 (qNML)."""
    occupied: Number = 0.0
    """Joint states of Π that occur."""
    occupied_star: Number = 0.0


class TableNumbers(NamedTuple):
    """What the caps know of a table, in nats; the sequences have one entry per variable."""

    n_rows: int
    n_h: Sequence[float]
    """N·H(V)."""
    h: Sequence[float]
    """N·H(V | everything else)."""
    arity: Sequence[int]
    w: float
    """Penalty of one free parameter."""
    width: float = 0.0


BIC = frozenset({"bic"})
BY_PARTITION = frozenset({"k2", "jeffreys", "fnml"})
"""Scores that see of the parents only how they part the rows."""
RESIDUALS = "residuals"
"""A rule that needs these uses h, what nothing explains: n + 1 more sets to count."""


@dataclass(frozen=True)
class Rule:
    """One rule. It has ``sides``, per family and parent, or it is a ``cap`` per child."""

    name: str
    """What is typed after ``--rules``."""
    theorem: str
    """Title of its statement and proof in ``docs/theory.md``."""
    function: Callable[..., object]
    """The statement in :mod:`parentage.scoring.rules`."""
    scores: frozenset[str]
    """The kinds of scores it is proved for."""
    words: str
    """Its inequality for ``explain``; :func:`parentage.scoring.explanation.in_words` fills it."""
    sides: Callable[[FamilyNumbers], Sides] | None = None
    """The inequality of one family, because of one parent."""
    cap: Callable[[TableNumbers], Sequence[int]] | None = None
    """The largest number of parents per child."""
    with_width: bool = True
    """Whether it holds with a width."""
    in_context: bool = True
    """Whether it holds where some parents are required."""
    needs: frozenset[str] = frozenset()
    bounds: bool = False
    """Whether it bounds what all supersets score: Proposition 2 can leave sets out by it."""
    closed_with: tuple[frozenset[str], ...] = ()
    """Sets of rules, this one among them, for which the closure theorem holds."""
    default: bool = False
    """Whether it is used unless others are asked for."""

    @property
    def is_cap(self) -> bool:
        """Whether it limits the number of parents before any search."""
        return self.cap is not None

    def why_not(self, score: str, width: float | None) -> str | None:
        """Return why the rule must not be used here, or None if it may."""
        kind = score.partition(":")[0]
        if kind not in self.scores:
            proved = ", ".join(known.title for known in KINDS if known.name in self.scores)
            titles = {known.name: known.title for known in KINDS}
            return f"is proved for {proved} only, not for {titles.get(kind, kind)}"
        if width is not None and not self.with_width:
            return "does not hold with a width"
        return None


_CAP = "{left} parents, and {x} can have at most {right}"
_ADDS = "{left} ≤ {right}, the penalty that {y} adds"
_BOTH_OF_THEOREM_1 = frozenset({"alg1", "alg2"})
_BOTH_OF_THEOREM_2 = frozenset({"alg3", "alg4"})
_LEMMA_3_AND_PARENT = frozenset({"lemma3", "alg2"})

RULES: tuple[Rule, ...] = (
    Rule(
        "cor1",
        "Corollary 1",
        theorems.corollary1,
        BIC,
        _CAP,
        cap=lambda t: [theorems.corollary1(t.n_rows)] * len(t.arity),
        with_width=False,
        in_context=False,
    ),
    Rule(
        "cor1p",
        "Corollary 1′",
        theorems.corollary1_prime,
        BIC,
        _CAP,
        cap=lambda t: [theorems.corollary1_prime(t.n_rows)] * len(t.arity),
        with_width=False,
        in_context=False,
        default=True,
    ),
    Rule(
        "thm3",
        "Theorem 3",
        theorems.theorem3,
        BIC,
        _CAP,
        cap=lambda t: theorems.theorem3(t.n_rows, [g / t.n_rows for g in t.n_h], t.arity),
        with_width=False,
        in_context=False,
    ),
    Rule(
        "thm3pp",
        "Theorem 3″",
        theorems.theorem3_double_prime,
        PENALISED,
        _CAP,
        cap=lambda t: theorems.theorem3_double_prime(t.n_h, t.h, t.arity, t.w, t.width),
        needs=frozenset({RESIDUALS}),
        default=True,
    ),
    Rule(
        "alg3",
        "Alg1–Alg4",
        theorems.alg3,
        PENALISED,
        "{of_x} = " + _ADDS,
        sides=lambda f: theorems.alg3(f.n_h_x, f.added, f.width),
        closed_with=(_BOTH_OF_THEOREM_2,),
    ),
    Rule(
        "alg4",
        "Alg1–Alg4",
        theorems.alg4,
        PENALISED,
        "{of_y} = " + _ADDS,
        sides=lambda f: theorems.alg4(f.n_h_y, f.added, f.width),
        closed_with=(_BOTH_OF_THEOREM_2,),
    ),
    Rule(
        "thm2",
        "Theorem 2",
        theorems.theorem2,
        PENALISED,
        "the smaller of {of_x} and {of_y} is " + _ADDS,
        sides=lambda f: theorems.theorem2(f.n_h_x, f.n_h_y, f.added, f.width),
        closed_with=(frozenset({"thm2"}),),
    ),
    Rule(
        "alg1",
        "Alg1–Alg4",
        theorems.alg1,
        PENALISED,
        "{of_x_star} = " + _ADDS,
        sides=lambda f: theorems.alg1(f.n_h_x_star, f.added, f.width),
        closed_with=(_BOTH_OF_THEOREM_1,),
    ),
    Rule(
        "alg2",
        "Alg1–Alg4",
        theorems.alg2,
        PENALISED,
        "{of_y_star} = " + _ADDS,
        sides=lambda f: theorems.alg2(f.n_h_y_star, f.added, f.width),
        closed_with=(_BOTH_OF_THEOREM_1, _LEMMA_3_AND_PARENT),
    ),
    Rule(
        "thm1",
        "Theorem 1",
        theorems.theorem1,
        PENALISED,
        "the smaller of {of_x_star} and {of_y_star} is " + _ADDS,
        sides=lambda f: theorems.theorem1(f.n_h_x_star, f.n_h_y_star, f.added, f.width),
        closed_with=(frozenset({"thm1"}),),
    ),
    Rule(
        "lemma3",
        "Lemma 3",
        theorems.lemma3,
        PENALISED,
        "the best subset without {y} scores −{left}, the penalty alone is {right}",
        sides=lambda f: theorems.lemma3(f.bin_star, f.penalty, f.width),
        closed_with=(_LEMMA_3_AND_PARENT,),
    ),
    Rule(
        "thm1p",
        "Theorem 1⁺",
        theorems.theorem1_plus,
        PENALISED,
        "at most {left} can be gained by {y}; it would have to beat {right}",
        sides=lambda f: theorems.theorem1_plus(
            f.n_h_x_star, f.n_h_y_star, f.h_x, f.h_y, f.added, f.delta, f.width
        ),
        needs=frozenset({RESIDUALS}),
        closed_with=(frozenset({"thm1p"}),),
        default=True,
    ),
    Rule(
        "child",
        "Theorem 6",
        theorems.theorem6,
        frozenset({"qnml", "pnal", *BY_PARTITION}),
        "the best subset without {y} scores −{left}, and this and all supersets at most −{right}",
        sides=lambda f: theorems.theorem6(f.bin_star, f.h_x, f.penalty, f.width),
        needs=frozenset({RESIDUALS}),
        bounds=True,
        default=True,
    ),
    Rule(
        "cells",
        "Theorem 4",
        theorems.theorem4,
        frozenset({"bdeu"}),
        "the best subset without {y} scores −{left}, and this and all supersets at most −{right}",
        sides=lambda f: theorems.theorem4(f.bin_star, f.h_x, f.cells, f.adds, f.width),
        needs=frozenset({RESIDUALS}),
        bounds=True,
        default=True,
    ),
    Rule(
        "parent",
        "Theorem 7",
        theorems.theorem7,
        frozenset({"qnml"}),
        "at most {left} can be gained by {y}; it would have to beat {right}",
        sides=lambda f: theorems.theorem7(
            f.n_h_y_star, f.h_y, f.added, f.delta, f.least_added, f.width
        ),
        needs=frozenset({RESIDUALS}),
        default=True,
    ),
    Rule(
        "functional",
        "Functional rule",
        theorems.functional,
        BY_PARTITION,
        "{left} joint states occur with {y} as without: {y} tells nothing new",
        sides=lambda f: theorems.functional(f.occupied, f.occupied_star),
        with_width=False,
        default=True,
    ),
)
"""All rules, cheapest first: a family is credited to the first that removes it.

A rule's place here is its number in the tally and in :mod:`parentage.kernels.judging`.
"""

BY_NAME: dict[str, Rule] = {rule.name: rule for rule in RULES}
ORDER: tuple[str, ...] = tuple(BY_NAME)
CAPS: tuple[str, ...] = tuple(rule.name for rule in RULES if rule.is_cap)


@dataclass(frozen=True)
class RuleSet:
    """A choice of rules by name, in :data:`ORDER`."""

    names: tuple[str, ...]

    @property
    def records(self) -> tuple[Rule, ...]:
        """The rules themselves."""
        return tuple(BY_NAME[name] for name in self.names)

    @property
    def closed(self) -> bool:
        """Whether the closure theorem holds, so that sets without a live family can be left out."""
        chosen = set(self.names)
        return any(needed <= chosen for rule in self.records for needed in rule.closed_with)

    @property
    def bounded(self) -> bool:
        """Whether some rule bounds all supersets, so that Proposition 2 can leave sets out."""
        return any(rule.bounds for rule in self.records)

    @property
    def mask(self) -> int:
        """Bit r for rule number r of :data:`ORDER` that works on families."""
        return sum(1 << ORDER.index(rule.name) for rule in self.records if not rule.is_cap)

    @property
    def needs_residuals(self) -> bool:
        """Whether h has to be counted."""
        return any(RESIDUALS in rule.needs for rule in self.records)

    def in_context(self) -> RuleSet:
        """Return the rules that hold where some parents are required."""
        return RuleSet(tuple(rule.name for rule in self.records if rule.in_context))

    def __str__(self) -> str:
        return ",".join(self.names) or "none"


def choose_rules(
    asked: str | Iterable[str] | None, score: str, width: float | None = None
) -> RuleSet:
    """Turn what the user typed into a rule set that is safe for this score and width.

    ``None`` is the default, the strongest safe rules; ``"all"`` every rule that applies,
    ``"none"`` none. A rule asked for by name that does not apply is refused.

    >>> str(choose_rules("alg2, alg1", "bic")), choose_rules("alg1", "bic").closed
    ('alg1,alg2', False)
    """
    if asked is None:
        asked = "default"
    if isinstance(asked, str):
        asked = [part.strip().lower() for part in asked.split(",") if part.strip()]
    safe = [rule for rule in RULES if rule.why_not(score, width) is None]
    chosen: set[str] = set()
    for name in asked:
        if name == "all":
            chosen.update(rule.name for rule in safe)
        elif name == "default":
            chosen.update(rule.name for rule in safe if rule.default)
        elif name in BY_NAME:
            reason = BY_NAME[name].why_not(score, width)
            if reason is not None:
                raise InputError(f"rule {name!r} {reason}; {_instead_of(BY_NAME[name], safe)}")
            chosen.add(name)
        elif name != "none":
            known = [*ORDER, "none", "all", "default"]
            raise InputError(f"unknown rule {name!r}; {did_you_mean(name, known)}")
    return RuleSet(tuple(name for name in ORDER if name in chosen))


def _instead_of(refused: Rule, safe: Sequence[Rule]) -> str:
    """Say what to type instead of a rule that does not apply."""
    alike = [rule.name for rule in safe if rule.default and rule.is_cap == refused.is_cap]
    return f"use {alike[-1]} instead" if alike else "leave it out"


def caps_by_rule(rules: RuleSet, numbers: TableNumbers) -> dict[str, npt.NDArray[np.int64]]:
    """Return, for each chosen cap rule, the largest number of parents per child."""
    return {
        rule.name: np.array(rule.cap(numbers), np.int64)
        for rule in rules.records
        if rule.cap is not None
    }
