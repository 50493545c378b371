r"""The rules: when a parent set and all its supersets can be dropped without looking at them.

Numbering and notation follow de Campos, Scanagatta, Corani and Zaffalon (2018), "Entropy-based
Pruning for Learning Bayesian Networks using BIC"; ``docs/theory.md`` has the proofs. For a child
X, a parent set Π, one of its members Y and Π* = Π \\ Y:

* N·H(A|B) = G(B) − G(A ∪ B) are entropies in units of the score,
* pen(X, Π) = w (r_X − 1) q_Π is the penalty, (r_Y − 1)·pen(X, Π*) what Y adds to it,
* Bin(Π) is the best score of Π and its subsets, δ(Π) = Bin(Π) − s(Π),
* h_V = N·H(V | everything else),
* γ, the width, is how far below its best subset a set may score and still be kept.

Every theorem is a function that returns its two sides; :func:`fires` is the one place that compares
them. The functions take numbers or arrays; :mod:`parentage.kernels.judging` has the
same inequalities in fixed point, tested against these.

A :class:`Rule` says everything about a rule that is not its inequality: where it is proved, for
which scores, whether it survives a width and required parents, what it needs, which rules make it
closed, and how ``explain`` puts it in words. All lists of rules follow from :data:`RULES`.
"""

from __future__ import annotations

import math
from bisect import insort
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.errors import InputError, did_you_mean
from parentage.scoring.catalogue import KINDS, PENALISED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


Number = Any
"""A float, or an array of floats of one shape."""

_ROUNDING = 1e-9
"""What the limits on parents are rounded up by: floating point may never make one too small."""


Sides = tuple[Number, Number]
"""The two sides of a rule's inequality, left ≤ right."""


def fires(sides: Sides, tolerance: float = 0.0) -> Any:
    """Whether left ≤ right beyond doubt: a tie within the tolerance never prunes."""
    left, right = sides
    return left <= right - tolerance


class FamilyNumbers(NamedTuple):
    r"""What the rules know of a family (X, Π) and one parent Y in it, Π* = Π \\ Y; in nats.

    Each rule reads some of them.
    """

    n_h_x: Number = 0.0
    """N·H(X)."""
    n_h_y: Number = 0.0
    n_h_x_star: Number = 0.0
    """N·H(X | Π*)."""
    n_h_y_star: Number = 0.0
    h_x: Number = 0.0
    """N·H(X | everything else)."""
    h_y: Number = 0.0
    added: Number = 0.0
    """(r_Y − 1)·pen(X, Π*), what Y adds to the penalty."""
    penalty: Number = 0.0
    """pen(X, Π), or the price of other scores."""
    bin_star: Number = 0.0
    """Bin(Π*)."""
    delta: Number = 0.0
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


# ---------------------------------------------------------------------------------------------
# Penalised likelihoods: a lemma, the paper's theorems and the four tests of its experiments


def lemma3(f: FamilyNumbers) -> Sides:
    r"""Lemma 3 (de Campos & Ji 2011): if Bin(Π \\ Y) ≥ −pen(X, Π), drop Π and all supersets.

    No likelihood exceeds 0, so nothing above Π can beat the best subset. With the best subset on
    the left it is stronger than Alg1, which looks only at the set just left. It works where some
    subset explains the child well.
    """
    return -f.bin_star + f.width, f.penalty


def theorem1(f: FamilyNumbers) -> Sides:
    """Theorem 1: N·min{H(X|Π*), H(Y|Π*)} ≤ (r_Y − 1)·pen(X, Π*) ⇒ drop Π* ∪ Y and all supersets."""
    return np.minimum(f.n_h_x_star, f.n_h_y_star) + f.width, f.added


def theorem2(f: FamilyNumbers) -> Sides:
    """Theorem 2: Theorem 1 with the entropies given any Π' ⊆ Π* instead of Π* itself.

    Conditioning on less gives larger entropies, so any Π' at hand will do: Π' = ∅ costs nothing
    (rule ``thm2``). It works where Π* explains little.
    """
    return np.minimum(f.n_h_x, f.n_h_y) + f.width, f.added


def alg1(f: FamilyNumbers) -> Sides:
    """Alg1, Theorem 1 on the child's side: N·H(X|Π*) ≤ (r_Y − 1)·pen(X, Π*)."""
    return f.n_h_x_star + f.width, f.added


def alg2(f: FamilyNumbers) -> Sides:
    """Alg2, Theorem 1 on the parent's side: N·H(Y|Π*) ≤ (r_Y − 1)·pen(X, Π*)."""
    return f.n_h_y_star + f.width, f.added


def alg3(f: FamilyNumbers) -> Sides:
    """Alg3, Theorem 2 with Π' = ∅ on the child's side: N·H(X) ≤ (r_Y − 1)·pen(X, Π*)."""
    return f.n_h_x + f.width, f.added


def alg4(f: FamilyNumbers) -> Sides:
    """Alg4, Theorem 2 with Π' = ∅ on the parent's side: N·H(Y) ≤ (r_Y − 1)·pen(X, Π*)."""
    return f.n_h_y + f.width, f.added


def theorem1_plus(f: FamilyNumbers) -> Sides:
    r"""Theorem 1⁺: min{N·H(X|Π*) − h_X, N·H(Y|Π*) − h_Y} ≤ (r_Y − 1)·pen(X, Π*) + δ(Π*).

    Then Π* ∪ Y and all supersets can be dropped.

    *Proof.* Call the left side g. For any Π'' ⊇ Π* without Y, N·I(X;Y|Π'') ≤ g: I is both
    H(X|Π'') − H(X|Π'' ∪ Y) and H(Y|Π'') − H(Y|Π'' ∪ X); conditioning on less bounds the first
    term from above, conditioning on everything the second from below. (i) s(Π* ∪ Y) ≤ s(Π*) + g −
    (r_Y − 1)·pen(X, Π*) ≤ s(Π*) + δ(Π*) = Bin(Π*). (ii) For a strict superset Π' put Π'' = Π' \\ Y,
    so q_Π'' ≥ 2·q_Π*. Likelihoods never fall when parents are added, so δ(Π*) ≤
    w (r_X − 1)(q_Π* − 1) < pen(X, Π*), hence g < r_Y·pen(X, Π*) ≤ (r_Y − 1)·pen(X, Π''), and Π'
    loses to Π''. ∎  It needs r_Y ≥ 2: constant columns are set aside first.
    """
    gain = np.minimum(f.n_h_x_star - f.h_x, f.n_h_y_star - f.h_y)
    return gain + f.width, f.added + f.delta


# ---------------------------------------------------------------------------------------------
# Other scores than penalised likelihoods


def theorem4(f: FamilyNumbers) -> Sides:
    r"""Theorem 4 (BDeu): if Bin(Π \\ Y) ≥ −h_X − cells·ln r_X, drop Π and all supersets.

    ``cells`` is ln r_X times the joint states that occur, of Π or of X with all but one of Π. The
    two parts add up where ess / q_Π ≤ 1/3 (``adds``); elsewhere the larger one counts.
    """
    return -f.bin_star + f.width, np.where(f.adds, f.h_x + f.cells, np.maximum(f.h_x, f.cells))


def theorem6(f: FamilyNumbers) -> Sides:
    r"""Theorem 6 (child's side): if Bin(Π \\ Y) ≥ −h_X − price(X, Π), drop Π and all supersets.

    The price of qNML is its penalty, that of K2, Jeffreys and fNML what the score of Π would be if
    it told X exactly; neither falls when parents are added.
    """
    return -f.bin_star + f.width, f.h_x + f.penalty


def theorem7(f: FamilyNumbers) -> Sides:
    """Theorem 7 (qNML, parent's side): N·H(Y|Π*) − h_Y ≤ min{added + δ(Π*), least added}.

    What Y adds to the penalty falls again for many joint states, so the least it adds wherever the
    penalty is still affordable has to be enough, too.
    """
    return f.n_h_y_star - f.h_y + f.width, np.minimum(f.added + f.delta, f.least_added)


def functional(f: FamilyNumbers) -> Sides:
    """Functional rule (K2, Jeffreys, fNML): Y tells nothing if Π has no more joint states than Π*.

    Both are whole numbers; the quarter makes equality fire in spite of a tolerance.
    """
    return f.occupied, f.occupied_star + 0.25


# ---------------------------------------------------------------------------------------------
# Caps: the largest number of parents, before any search


def theorem3_term(
    n_rows: int, h_x: float, h_y: float, r_x: int, r_y: int, log_n: float | None = None
) -> int:
    """Return what Theorem 3 allows if every parent were like Y.

    ⌈1 + log2(min{H(X), H(Y)} / ((r_X−1)(r_Y−1))) + log2 N − log2 log N⌉⁺, the entropies per row,
    in the base of ``log_n``.
    """
    log_n = math.log(n_rows) if log_n is None else log_n
    ratio = min(h_x, h_y) / ((r_x - 1) * (r_y - 1))
    if ratio <= 0:
        return 0
    z = 1 + math.log2(ratio) + math.log2(n_rows) - math.log2(log_n)
    return max(0, math.ceil(z + _ROUNDING))


def theorem3(
    n_rows: int, entropies: Sequence[float], arity: Sequence[int], log_n: float | None = None
) -> list[int]:
    """Theorem 3: X has at most max_Y :func:`theorem3_term` parents. BIC only.

    ``entropies`` are H per row in the base of ``log_n`` (natural by default). One cap per child.
    """
    n = len(arity)
    kinds = {(entropies[v], arity[v]) for v in range(n)}
    twice = {k for k in kinds if sum((entropies[v], arity[v]) == k for v in range(n)) > 1}
    caps = []
    for x in range(n):
        own = (entropies[x], arity[x])
        others = kinds if own in twice else kinds - {own}
        caps.append(
            max(
                (theorem3_term(n_rows, own[0], h, own[1], r, log_n) for h, r in others),
                default=0,
            )
        )
    return caps


def corollary1(n_rows: int, base: float = 2.0) -> int:
    """Corollary 1: at most ⌈1 + log2 N − log2 log_b N⌉ parents. BIC only.

    >>> corollary1(1000)
    8
    """
    if n_rows < 2:
        return 0
    log_n = math.log(n_rows) / math.log(base)
    return max(0, math.ceil(1 + math.log2(n_rows) - math.log2(log_n) + _ROUNDING))


def corollary1_prime(n_rows: int) -> int:
    """Corollary 1′: at most ⌈log2(1 + 2N / log2 N)⌉ − 1 parents. BIC only.

    From Theorem 3″ with r_X = r_Y = 2 and H(X) = 1 bit: every other case is smaller.

    >>> corollary1_prime(1000)
    7
    """
    if n_rows < 2:
        return 0
    return max(0, math.ceil(math.log2(1 + 2 * n_rows / math.log2(n_rows)) + _ROUNDING) - 1)


def theorem3_double_prime(
    n_h: Sequence[float], h: Sequence[float], arity: Sequence[int], w: float, width: float = 0.0
) -> list[int]:
    """Theorem 3″: a surviving Π has few enough joint states for each of its members.

    Every Y in it satisfies q_Π < min(1 + (N·H(X) − h_X + γ)/(w(r_X−1)),
    (N·H(Y) − h_Y + γ)/(w(r_X−1)(1 − 1/r_Y))).
    Both follow from Theorem 1⁺ with the entropies given nothing. Returns the largest |Π| for which
    a choice of parents can satisfy it, per child: among the Y whose bound is at least t, the m of
    fewest states must have a product below t. ``n_h`` and ``h`` are N·H(V) and h_V.
    """
    spare = [max(0.0, (a - b + width) / w) * (1 + _ROUNDING) for a, b in zip(n_h, h, strict=True)]
    by_parent = sorted(
        ((spare[y] / (1 - 1 / arity[y]), arity[y], y) for y in range(len(arity))), reverse=True
    )
    smallest = sorted(arity)
    caps = []
    for x in range(len(arity)):
        free = arity[x] - 1
        limit = 1 + spare[x] / free
        chosen: list[int] = []
        size = 0
        for bound, r, y in by_parent:
            t = min(limit, bound / free)
            if math.prod(smallest[: size + 1]) >= t:
                break
            if y == x:
                continue
            insort(chosen, r)
            while size < len(chosen) and math.prod(chosen[: size + 1]) < t:
                size += 1
        caps.append(size)
    return caps


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
    function: Callable[..., Any]
    """The statement; that of a rule without a cap returns the sides of a family's inequality."""
    scores: frozenset[str]
    """The kinds of scores it is proved for."""
    words: str
    """Its inequality for ``explain``; :func:`parentage.scoring.explanation.in_words` fills it."""
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

    @property
    def sides(self) -> Callable[[FamilyNumbers], Sides] | None:
        """The inequality of one family, because of one parent."""
        return None if self.is_cap else self.function

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


_CAP = "{left} parents, and in an optimal network {x} has at most {right}"
_ADDS = "{left} ≤ {right}, the penalty that {y} adds"
_BOTH_OF_THEOREM_1 = frozenset({"alg1", "alg2"})
_BOTH_OF_THEOREM_2 = frozenset({"alg3", "alg4"})
_LEMMA_3_AND_PARENT = frozenset({"lemma3", "alg2"})

RULES: tuple[Rule, ...] = (
    Rule(
        "cor1",
        "Corollary 1",
        corollary1,
        BIC,
        _CAP,
        cap=lambda t: [corollary1(t.n_rows)] * len(t.arity),
        with_width=False,
        in_context=False,
    ),
    Rule(
        "cor1p",
        "Corollary 1′",
        corollary1_prime,
        BIC,
        _CAP,
        cap=lambda t: [corollary1_prime(t.n_rows)] * len(t.arity),
        with_width=False,
        in_context=False,
        default=True,
    ),
    Rule(
        "thm3",
        "Theorem 3",
        theorem3,
        BIC,
        _CAP,
        cap=lambda t: theorem3(t.n_rows, [g / t.n_rows for g in t.n_h], t.arity),
        with_width=False,
        in_context=False,
    ),
    Rule(
        "thm3pp",
        "Theorem 3″",
        theorem3_double_prime,
        PENALISED,
        _CAP,
        cap=lambda t: theorem3_double_prime(t.n_h, t.h, t.arity, t.w, t.width),
        needs=frozenset({RESIDUALS}),
        default=True,
    ),
    Rule(
        "alg3",
        "Alg1–Alg4",
        alg3,
        PENALISED,
        "{of_x} = " + _ADDS,
        closed_with=(_BOTH_OF_THEOREM_2,),
    ),
    Rule(
        "alg4",
        "Alg1–Alg4",
        alg4,
        PENALISED,
        "{of_y} = " + _ADDS,
        closed_with=(_BOTH_OF_THEOREM_2,),
    ),
    Rule(
        "thm2",
        "Theorem 2",
        theorem2,
        PENALISED,
        "the smaller of {of_x} and {of_y} is " + _ADDS,
        closed_with=(frozenset({"thm2"}),),
    ),
    Rule(
        "alg1",
        "Alg1–Alg4",
        alg1,
        PENALISED,
        "{of_x_star} = " + _ADDS,
        closed_with=(_BOTH_OF_THEOREM_1,),
    ),
    Rule(
        "alg2",
        "Alg1–Alg4",
        alg2,
        PENALISED,
        "{of_y_star} = " + _ADDS,
        closed_with=(_BOTH_OF_THEOREM_1, _LEMMA_3_AND_PARENT),
    ),
    Rule(
        "thm1",
        "Theorem 1",
        theorem1,
        PENALISED,
        "the smaller of {of_x_star} and {of_y_star} is " + _ADDS,
        closed_with=(frozenset({"thm1"}),),
    ),
    Rule(
        "lemma3",
        "Lemma 3",
        lemma3,
        PENALISED,
        "the best subset without {y} scores −{left}; the penalty of this set alone is {right}",
        closed_with=(_LEMMA_3_AND_PARENT,),
    ),
    Rule(
        "thm1p",
        "Theorem 1⁺",
        theorem1_plus,
        PENALISED,
        "{y} can raise the score by at most {left}; more than {right} is needed",
        needs=frozenset({RESIDUALS}),
        closed_with=(frozenset({"thm1p"}),),
        default=True,
    ),
    Rule(
        "child",
        "Theorem 6",
        theorem6,
        frozenset({"qnml", "pnal", *BY_PARTITION}),
        "the best subset without {y} scores −{left}; this set and all supersets at most −{right}",
        needs=frozenset({RESIDUALS}),
        bounds=True,
        default=True,
    ),
    Rule(
        "cells",
        "Theorem 4",
        theorem4,
        frozenset({"bdeu"}),
        "the best subset without {y} scores −{left}; this set and all supersets at most −{right}",
        needs=frozenset({RESIDUALS}),
        bounds=True,
        default=True,
    ),
    Rule(
        "parent",
        "Theorem 7",
        theorem7,
        frozenset({"qnml"}),
        "{y} can raise the score by at most {left}; more than {right} is needed",
        needs=frozenset({RESIDUALS}),
        default=True,
    ),
    Rule(
        "functional",
        "Functional rule",
        functional,
        BY_PARTITION,
        "{left} joint states occur with {y} and without it: {y} is a function of the others",
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
