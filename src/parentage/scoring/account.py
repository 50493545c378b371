"""What is known of candidate lists and of solutions: how they were made and how far they reach.

Every :class:`parentage.scoring.lists.CandidateLists` carries an :class:`Account`, or
:class:`Unknown` when another program made it. A solution takes its
:class:`Scope` from it, files carry both, and what is read back equals what was written.

**Beyond the lists.** A search that was cut short has looked at every set of up to ``complete_to``
parents. ``beyond[v]`` bounds what any set it did not look at can score for variable v: a family
(X, Π) scores at most −h_X − w (r_X − 1) q_Π, where h_X is the entropy of X that all other variables
together leave, and q_Π grows with every parent. So the least q among the supersets of the sets
still alive at the frontier gives a bound; None says that no set was left to look at
(``docs/theory.md``, "Lists that were cut short").

**Scope.** ``optimal`` is true only if no network *that the user allowed* scores higher: within
their limit on parents, their constraints, or the lists they brought. What they allowed is the
scope; what was searched of it is in the account of the lists.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, ClassVar

from parentage.data.recipe import Recipe  # noqa: TC001  # hints are read where it is decoded
from parentage.errors import InputError, ListsError
from parentage.files.decoding import decoded, fields_in
from parentage.scoring.catalogue import by_name, not_equivalent
from parentage.scoring.constraints import (
    Constraints,  # as above
    Prior,
)
from parentage.work.progress import amount
from parentage.work.stop import Reason  # noqa: TC001  # as above

SETTINGS = (
    "score",
    "log_base",
    "max_parents",
    "constraints",
    "prior",
    "width",
    "complete_to",
    "rows",
    "data",
)
"""The fields of an account that decide which sets are listed, and with which scores."""

Limit = int | Mapping[str, int | None] | None
"""A limit on parents: for all variables, by name (None: no limit for that one), or none at all."""


def limits_by_name(names: Iterable[str], limit: Limit) -> dict[str, int]:
    """Return a limit on parents for every variable that has one.

    >>> limits_by_name(["a", "b"], 2), limits_by_name(["a", "b"], {"a": 1, "b": None})
    ({'a': 2, 'b': 2}, {'a': 1})
    """
    if limit is None:
        return {}
    if not isinstance(limit, Mapping):
        limit = dict.fromkeys(names, limit)
    return {name: check_limit(most) for name, most in limit.items() if most is not None}


def stricter(names: Sequence[str], one: Limit, other: Limit) -> Limit:
    """Return two limits on parents as one.

    >>> stricter(["a", "b"], 1, {"a": 5}), stricter(["a", "b"], 3, 2), stricter(["a"], None, 4)
    (1, 2, 4)
    """
    first, second = limits_by_name(names, one), limits_by_name(names, other)
    return as_limit(
        {
            name: min((most[name] for most in (first, second) if name in most), default=None)
            for name in names
        }
    )


def as_limit(by_name: Mapping[str, int | None]) -> Limit:
    """Return the limits of all variables as one number where they are equal."""
    values = set(by_name.values())
    return values.pop() if len(values) == 1 else by_name


def check_limit(limit: object) -> int:
    """Refuse a limit on parents that is not a number of them."""
    if isinstance(limit, bool) or not isinstance(limit, Integral) or int(limit) < 0:
        raise InputError(f"max_parents must be a whole number of at least 0, not {limit!r}")
    return int(limit)


@dataclass(frozen=True)
class Tallies:
    """What a search counted.

    Parameters
    ----------
    families
        Size of the search space: parent sets within the limits, empty ones included, of the
        columns that are not constant.
    sets_counted
        Sets whose joint counts were taken from the rows.
    families_scored
        Families whose score was worked out.
    pruned
        Families by the rule that removed them first.
    live_sets
        Sets looked at, by size, from single variables on.
    kept
        Candidate sets in the lists.
    seconds
        Wall time.
    """

    families: int
    sets_counted: int
    families_scored: int
    pruned: Mapping[str, int]
    live_sets: tuple[int, ...]
    kept: int
    seconds: float


@dataclass(frozen=True)
class Account:
    """How lists were made from a table, and what that proves.

    Parameters
    ----------
    score
        The score with its parameters, as it is typed: ``"bic"``.
    log_base
        Base of the logarithms the scores are reported in; None for natural ones.
    rows
        Rows of the table.
    data
        Digest of the table.
    constant
        Columns that do not vary: no parents, never a parent.
    rules
        The rules that pruned.
    max_parents
        The limit that was asked for.
    width
        How far below its best subset a set may score and still be listed; None: not at all,
        and ties are dropped.
    constraints
        What was required and forbidden.
    complete_to
        None: every set that can matter is listed. A number: every such set of at most so many
        parents.
    ended
        Why the search ended early; None if it did not.
    beyond
        Per variable: no set that was not looked at scores more; None: there is none. Empty when
        the lists are complete.
    tolerance
        Scores closer than this count as equal.
    tallies
        What was counted.
    explored
        Families of more than ``complete_to`` parents that were scored all the same, where they
        promised most (:mod:`parentage.growth.growth`).
    recipe
        How the table was read; None if it was made in another way, or in files of release 0.1.
    missing_cells
        Per variable: cells that are missing; empty if none is.
    prior
        Probabilities of arcs, whose logarithms are part of the scores.
    completion
        How missing cells were completed by expectation maximisation; None if they were not.
    digest
        Digest of the lists themselves, names, sets and scores: the same for the same lists,
        however they were made. Empty in files of release 0.1.
    """

    score: str
    log_base: float | None
    rows: int
    data: str
    constant: tuple[str, ...]
    rules: tuple[str, ...]
    max_parents: Limit
    width: float | None
    constraints: Constraints
    complete_to: int | None
    ended: Reason | None
    beyond: tuple[float | None, ...]
    tolerance: float
    tallies: Tallies
    recipe: Recipe | None = None
    missing_cells: tuple[int, ...] = ()
    prior: Prior = field(default_factory=Prior)
    explored: int = 0
    completion: Completion | None = None
    digest: str = ""

    @property
    def complete(self) -> bool:
        """Whether every set that was asked for and can matter is listed."""
        return self.complete_to is None

    @property
    def unit(self) -> float:
        """Size in nats of the unit scores are reported in."""
        return 1.0 if self.log_base is None else math.log(self.log_base)

    @property
    def reach(self) -> float:
        """How far below the optimum a network may be and still be made of these lists."""
        return self.width or 0.0

    @property
    def equivalent(self) -> bool:
        """Whether the scores value Markov equivalent networks alike."""
        return by_name(self.score).equivalent and self.prior.symmetric

    def about_directions(self) -> str:
        """Say that reversing an arc changes the score, where the score or the prior makes it so."""
        if not by_name(self.score).equivalent:
            return not_equivalent(self.score)
        if self.prior.symmetric:
            return ""
        return (
            "The prior prefers one direction of some arcs, so networks of one equivalence class "
            "can have different scores."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold; :meth:`from_dict` is the way back."""
        return fields_in(self)

    def settings(self) -> dict[str, Any]:
        """Return what makes these lists and no others of a table, as plain values.

        They are the terms on which a network of the lists is the best one: a certificate records
        them (docs/certificates.md). ``settled`` is None unless expectation maximisation completed
        the data.
        """
        content = self.to_dict()
        settled = None if self.completion is None else self.completion.settled
        return {**{name: content[name] for name in SETTINGS}, "settled": settled}

    @classmethod
    def from_dict(cls, content: object) -> Account:
        """Make an account from what :meth:`to_dict` returned, through JSON or not.

        Raises
        ------
        ListsError
            Something is missing or of another kind.
        """
        try:
            return decoded(cls, content)
        except InputError as error:
            raise ListsError(f"the account of the lists is damaged ({error})") from None


@dataclass(frozen=True)
class Unknown:
    """Lists of another program: what they leave out, and why, is not known.

    ``notes`` are the facts their file states about itself, as text. The lists are what the user
    allows: nothing beyond them is asked for, and natural logarithms are assumed.
    """

    notes: Mapping[str, str] = field(default_factory=dict)

    score: ClassVar[None] = None
    log_base: ClassVar[None] = None
    unit: ClassVar[float] = 1.0
    equivalent: ClassVar[None] = None
    prior: ClassVar[Prior] = Prior()
    complete: ClassVar[bool] = True
    complete_to: ClassVar[None] = None
    explored: ClassVar[int] = 0
    reach: ClassVar[float] = 0.0
    recipe: ClassVar[None] = None
    completion: ClassVar[None] = None

    def settings(self) -> None:
        """Return None: the terms on which the lists were made are not known."""

    def about_directions(self) -> str:
        """Return nothing: the score is not known."""
        return ""


Origin = Account | Unknown
"""Where lists come from."""


def origin_to_dict(origin: Origin) -> dict[str, Any]:
    """Return an account, or that there is none, as plain values."""
    if isinstance(origin, Account):
        return {"account": origin.to_dict()}
    return {"account": "unknown", "notes": dict(origin.notes)}


def origin_from_dict(content: Mapping[str, Any]) -> Origin:
    """Read what :func:`origin_to_dict` returned."""
    account = content.get("account", "unknown")
    if account != "unknown":
        return Account.from_dict(account)
    notes = content.get("notes", {})
    if not isinstance(notes, Mapping):
        raise ListsError("the notes of the lists are damaged")
    return Unknown({str(key): str(value) for key, value in notes.items()})


@dataclass(frozen=True)
class Scope:
    """Which networks were allowed, and what they were made of.

    Parameters
    ----------
    origin
        The account of the lists, or that there is none.
    max_parents
        The limit on parents that was asked for, when scoring or when learning.
    constraints
        All constraints in force.
    tolerance
        A proof shows that no allowed network scores more than this above the solution.
    listed_bound
        No network made of the listed sets scores higher. None where the lists hold all that is
        allowed and can matter, so that the bound of the solution says it.

    Examples
    --------
    >>> Scope(Unknown(), 2, Constraints(), 1e-6).words()
    ' among the networks that these lists allow and have at most 2 parents per variable'
    """

    origin: Origin
    max_parents: Limit
    constraints: Constraints
    tolerance: float
    listed_bound: float | None = None

    @property
    def score(self) -> str | None:
        """The score the network was chosen by; None if it is not known."""
        return self.origin.score

    @property
    def equivalent(self) -> bool | None:
        """Whether the score values Markov equivalent networks alike; None if it is not known."""
        return self.origin.equivalent

    @property
    def log_base(self) -> float | None:
        """Base of the score's logarithms; None for natural ones."""
        return self.origin.log_base

    @property
    def complete_to(self) -> int | None:
        """Number of parents up to which sets were searched; None if nothing was cut short."""
        return self.origin.complete_to

    @property
    def explored(self) -> int:
        """Families with more parents than that which were scored all the same."""
        return self.origin.explored

    def words(self) -> str:
        """Say among which networks the solution is the best; nothing for all there are."""
        bounds = []
        if isinstance(self.origin, Unknown):
            bounds.append("these lists allow")
        if isinstance(self.max_parents, int):
            plural = "" if self.max_parents == 1 else "s"
            bounds.append(f"have at most {self.max_parents} parent{plural} per variable")
        elif self.max_parents is not None and not self.constraints.max_parents:
            bounds.append("the limits on parents allow")
        if self.constraints:
            bounds.append("the constraints allow")
        completed = self._completed_by()
        if not bounds:
            return completed
        return f" among the networks that {' and '.join(bounds)}{',' * bool(completed)}{completed}"

    @property
    def settled(self) -> bool:
        """Whether expectation maximisation, if there was any, ended where the network repeats.

        If not, the scores, and with them the proof, are about data completed by the network before.
        """
        return self.origin.completion is None or self.origin.completion.settled

    def _completed_by(self) -> str:
        """Say on which data, where missing cells were completed."""
        if self.origin.completion is None:
            return ""
        if self.settled:
            return " for the data as completed with this network (expectation maximisation)"
        return " on data completed by the previous network (expectation maximisation stopped early)"

    def about_directions(self) -> str:
        """Say that directions of arcs are part of the choice, where the score makes them so."""
        return self.origin.about_directions()

    def about_scores(self) -> str:
        """Say what else than the data is in the scores: the prior of the arcs."""
        return self.origin.prior.words()

    def about_lists(self, score: float) -> str:
        """Say how good a score is among the listed sets, where these are not all there are."""
        origin = self.origin
        if self.listed_bound is None or not isinstance(origin, Account):
            return ""
        gap, most = self.listed_bound - score, origin.complete_to
        rank = "proven best" if gap <= self.tolerance else f"at most {amount(gap)} below the best"
        more = f", and {origin.explored:,} larger ones" if origin.explored else ""
        return (
            f"{rank} of the networks that the {origin.tallies.kept:,} listed parent sets allow "
            f"(all sets of up to {most} parent{'' if most == 1 else 's'} were searched{more})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold; :meth:`from_dict` is the way back."""
        content = {**origin_to_dict(self.origin), **fields_in(self)}
        del content["origin"]
        return content

    @classmethod
    def from_dict(cls, content: object) -> Scope:
        """Make a scope from what :meth:`to_dict` returned.

        Raises
        ------
        InputError
            Something is missing or of another kind.
        """
        if not isinstance(content, Mapping):
            raise InputError("the scope is damaged: not an object")
        try:
            listed = content.get("listed_bound")
            return cls(
                origin_from_dict(content),
                content["max_parents"],
                decoded(Constraints, content["constraints"], "constraints"),
                float(content["tolerance"]),
                None if listed is None else float(listed),
            )
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
            raise InputError(f"the scope is damaged: {error}") from None


@dataclass(frozen=True)
class EmStep:
    """One network on the way.

    Parameters
    ----------
    arcs
        Number of arcs.
    changed
        Arcs added, removed or turned since the network before.
    log_likelihood
        Of what is observed, at the parameters that maximise it, in nats.
    score
        That minus the penalty, plus the log prior of the arcs if there is one: what the method
        makes grow. In the unit of the scores.
    expected
        The score of the best network on the completed data, which is the next one.
    proven
        Whether that one is proven to be the best on them.
    """

    arcs: int
    changed: int
    log_likelihood: float
    score: float
    expected: float
    proven: bool


@dataclass(frozen=True)
class Completion:
    """How missing cells were completed.

    Parameters
    ----------
    steps
        The networks, from the first on.
    settled
        Whether the last network came back as the best one on data completed by itself.
    bits
        Weights of completions are whole multiples of 2^−bits of a row.
    completions
        Distinct rows that the last completed data have.
    empty_rows
        Rows without any value, which were left out.
    starts
        Networks it was begun from; the steps are those of the one with the best end.
    """

    steps: tuple[EmStep, ...]
    settled: bool
    bits: int
    completions: int
    empty_rows: int = 0
    starts: int = 1

    @property
    def reached(self) -> float:
        """The penalised likelihood of what is observed, at the last network."""
        return self.steps[-1].score

    def words(self) -> str:
        """Say how it went, in a line per network."""
        lines = [
            f"step {i}: {step.arcs} {'arc' if step.arcs == 1 else 'arcs'}"
            f"{f', {step.changed} changed since step {i - 1}' if i else ''}; "
            f"observed values alone: log-likelihood {step.log_likelihood:.4f}, "
            f"score {step.score:.4f}"
            for i, step in enumerate(self.steps)
        ]
        end = (
            "the network is optimal for the data completed with it"
            if self.settled
            else "stopped before the network repeated"
        )
        end += f", the best result of {self.starts} starts" if self.starts > 1 else ""
        left = f"; {self.empty_rows:,} empty rows left out" if self.empty_rows else ""
        rows = f"{self.completions:,} distinct completed rows"
        return "\n".join([*lines, f"expectation maximisation: {end} ({rows}){left}"])
