r"""What the user says of arcs before the data speak: constraints, probabilities, their files.

**Constraints** are of four kinds: arcs that must be there, arcs that must not, a cap on the number
of parents per variable, and tiers (no arc from a later tier into an earlier one; variables in no
tier are free). Together they say of every family whether it may be used, which is all that scoring
and learning ask (:meth:`Constraints.allowed`). Contradictions among them are refused by
:meth:`Constraints.check` with the conflicting ones named.

**Soft arcs.** A :class:`Prior` gives every arc A → B a probability p that it is there,
independently of the others (Castelo & Siebes 2000, for arcs): the log prior of a network, relative
to the empty one, is the sum over its arcs of

.. math:: \beta_{AB} = \ln \frac{p_{AB}}{1 - p_{AB}}

It is a sum over families, so the optimum of score plus log prior is found and proven like any
other. p = ½ says nothing and adds nothing, less than ½ is a price, more a bonus, and the ends are
constraints: 0 forbids an arc, 1 requires it. Under scores that are log marginal likelihoods (BDeu,
K2, Jeffreys) the sum is the log posterior, up to a constant; under the others it is a penalty of
the user's. How the rules stay safe: ``docs/theory.md``, "Soft arcs".

**Files.** Both are small TOML files, in which every part may be left out and anything else is
refused::

    required = [["smoke", "lung"]]            # arcs, parent first
    forbidden = [["xray", "smoke"], ["dysp", "smoke"]]
    tiers = [["asia", "smoke"], ["tub", "lung", "bronc"], ["xray", "dysp"]]

    [max_parents]
    dysp = 2

and a prior::

    default = 0.1                     # of every arc that is not named
    arcs = [                          # parent, child, probability
        ["smoke", "lung", 0.95],
        ["xray", "smoke", 0],         # never
    ]

A CSV file of arcs has the columns ``from`` and ``to``, as the black- and whitelists of bnlearn.
"""

from __future__ import annotations

import csv
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from parentage.errors import (
    ConstraintError,
    InfeasibleError,
    InputError,
    Way,
    counted,
    did_you_mean,
)
from parentage.files.decoding import DecodingError, decoded, plain
from parentage.work.settings import check_names, refuses_wrong_names

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterable, Sequence

    import numpy.typing as npt

    from parentage.arrays import Floats

_Record = TypeVar("_Record")

Arc = tuple[str, str]
"""An arc as ``(parent, child)``."""


@refuses_wrong_names()
@dataclass(frozen=True)
class Constraints:
    """Required and forbidden arcs, limits on the number of parents, tiers.

    Parameters
    ----------
    required
        Arcs ``(parent, child)`` that every network must have.
    forbidden
        Arcs ``(parent, child)`` that no network may have.
    max_parents
        The largest number of parents, by child; variables not named have no limit of their own.
    tiers
        Groups of variables, earliest first: no variable has a parent in a later group.

    Examples
    --------
    >>> rules = Constraints(required=frozenset({("age", "income")}), tiers=(("age",), ("income",)))
    >>> rules.check(["age", "income", "region"])
    >>> rules.allowed("income", ["age", "region"]), rules.allowed("income", ["region"])
    (True, False)
    >>> rules.allowed("age", ["income"])
    False
    """

    required: frozenset[Arc] = frozenset()
    forbidden: frozenset[Arc] = frozenset()
    max_parents: Mapping[str, int] = field(default_factory=dict)
    tiers: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        """Take lists, too: ``forbidden=[("A", "B")]``."""
        for name in ("required", "forbidden"):
            object.__setattr__(self, name, frozenset(map(tuple, getattr(self, name))))
        object.__setattr__(self, "tiers", tuple(map(tuple, self.tiers)))

    def __bool__(self) -> bool:
        return bool(self.required or self.forbidden or self.max_parents or self.tiers)

    @classmethod
    def of(cls, given: Constraints | Mapping[str, object] | None) -> Constraints | None:
        """Make constraints from what was passed: they themselves, or parts by name.

        >>> Constraints.of({"forbidden": [["a", "b"]]}) == Constraints(forbidden=[("a", "b")])
        True

        Raises
        ------
        ConstraintError
            Something else.
        """
        if given is None or isinstance(given, cls):
            return given
        if not isinstance(given, Mapping):
            raise ConstraintError(
                f"constraints cannot be a {type(given).__name__}; pass "
                'parentage.Constraints(forbidden=[("A", "B")])'
            )
        check_names(cls.__name__, given, cls.__dataclass_fields__)
        try:
            return decoded(cls, plain(given), closed=True)
        except DecodingError as error:
            raise ConstraintError(f"constraints: {error}") from None

    @cached_property
    def tier_of(self) -> dict[str, int]:
        """Number of the tier of every variable that is in one."""
        return {name: level for level, tier in enumerate(self.tiers) for name in tier}

    @cached_property
    def required_parents(self) -> dict[str, frozenset[str]]:
        """The parents every child must have, for the children that have any."""
        children = {child for _, child in self.required}
        return {c: frozenset(p for p, child in self.required if child == c) for c in children}

    def allowed(self, child: str, parents: Iterable[str]) -> bool:
        """Whether ``child`` may have exactly these parents."""
        return not self.violated(child, frozenset(parents))

    def violated(self, child: str, parents: Collection[str]) -> list[str]:
        """Say which constraints these parents of ``child`` break, in words."""
        broken = [
            f"required arc {_arc((p, child))}"
            for p in sorted(self.required_parents.get(child, frozenset()) - set(parents))
        ]
        broken += [
            f"forbidden arc {_arc((p, child))}"
            for p in sorted(parents)
            if (p, child) in self.forbidden
        ]
        broken += [
            f"tiers: {p!r} comes after {child!r}" for p in sorted(parents) if self._later(p, child)
        ]
        limit = self.max_parents.get(child)
        if limit is not None and len(parents) > limit:
            broken.append(f"at most {limit} parent{'' if limit == 1 else 's'} of {child!r}")
        return broken

    def barred(self, names: Sequence[str]) -> npt.NDArray[np.bool_]:
        """``bool[child, parent]``: arcs that are forbidden or against the tiers."""
        index = {name: v for v, name in enumerate(names)}
        matrix = np.zeros((len(names), len(names)), np.bool_)
        for parent, child in self.forbidden:
            matrix[index[child], index[parent]] = True
        tier = np.array([self.tier_of.get(name, -1) for name in names], np.int64)
        return matrix | ((tier[None, :] > tier[:, None]) & (tier[:, None] >= 0))

    def to_dict(self) -> dict[str, Any]:
        """Return what is constrained, as plain lists; nothing where nothing is.

        >>> from parentage.files.decoding import DecodingError, decoded
        >>> given = Constraints(required=frozenset({("a", "b")}), tiers=(("a",), ("b",)))
        >>> decoded(Constraints, given.to_dict()) == given
        True
        """
        parts: dict[str, Any] = {
            "required": [list(arc) for arc in sorted(self.required)],
            "forbidden": [list(arc) for arc in sorted(self.forbidden)],
            "max_parents": dict(self.max_parents),
            "tiers": [list(tier) for tier in self.tiers],
        }
        return {part: content for part, content in parts.items() if content}

    def merge(self, other: Constraints) -> Constraints:
        """Return both together: of two limits for a variable the smaller, of two tiers both.

        The other's tiers stay tiers; what these forbid becomes forbidden arcs.

        >>> a, b = Constraints(max_parents={"x": 2}), Constraints(max_parents={"x": 1, "y": 3})
        >>> a.merge(b).max_parents
        {'x': 1, 'y': 3}
        """
        limits = dict(self.max_parents)
        for child, limit in other.max_parents.items():
            limits[child] = min(limit, limits.get(child, limit))
        tiers, forbidden = other.tiers or self.tiers, self.forbidden | other.forbidden
        if self.tiers and other.tiers and self.tiers != other.tiers:
            forbidden |= {
                (later, earlier)
                for later in self.tier_of
                for earlier in self.tier_of
                if self._later(later, earlier)
            }
        return Constraints(self.required | other.required, forbidden, limits, tiers)

    def check(self, names: Sequence[str]) -> None:
        """Refuse unknown variables and contradictions, naming the culprits.

        Raises
        ------
        ConstraintError
            An unknown or repeated name.
        InfeasibleError
            An arc both required and forbidden, a required arc against the tiers, more required
            parents than the in-degree allows, or a cycle of required arcs.
        """
        self._check_names(names)
        for parent, child in sorted(self.required):
            if (parent, child) in self.forbidden:
                raise InfeasibleError(
                    f"the arc {_arc((parent, child))} is both required and forbidden"
                )
            if self._later(parent, child):
                raise InfeasibleError(
                    f"the required arc {_arc((parent, child))} goes from tier "
                    f"{self.tier_of[parent] + 1} to the earlier tier {self.tier_of[child] + 1}"
                )
        for child, limit in self.max_parents.items():
            needed = self.required_parents.get(child, frozenset())
            if len(needed) > limit:
                raise InfeasibleError(
                    f"{child!r} may have at most {counted(limit, 'parent')}, and {len(needed)} are "
                    f"required: {', '.join(sorted(needed))}"
                )
        cycle = self._required_cycle()
        if cycle:
            raise InfeasibleError("the required arcs form a cycle: " + " → ".join(cycle))

    def _later(self, parent: str, child: str) -> bool:
        tier = self.tier_of
        return parent in tier and child in tier and tier[parent] > tier[child]

    def _check_names(self, names: Sequence[str]) -> None:
        known = set(names)
        arcs = [(arc, "required") for arc in self.required]
        arcs += [(arc, "forbidden") for arc in self.forbidden]
        for (parent, child), kind in sorted(arcs):
            if parent == child:
                raise ConstraintError(
                    f"the {kind} arc {_arc((parent, child))} connects a variable to itself"
                )
            _known(parent, known, names, f"the {kind} arc {_arc((parent, child))}")
            _known(child, known, names, f"the {kind} arc {_arc((parent, child))}")
        for child, limit in self.max_parents.items():
            _known(child, known, names, f"the limit on parents {child}={limit}")
            if limit < 0:
                raise ConstraintError(
                    f"the limit on parents of {child!r} must be at least 0, not {limit}"
                )
        seen: set[str] = set()
        for level, tier in enumerate(self.tiers, 1):
            for name in tier:
                _known(name, known, names, f"tier {level}")
                if name in seen:
                    raise ConstraintError(f"{name!r} is in two tiers, or twice in tier {level}")
                seen.add(name)

    def _required_cycle(self) -> list[str]:
        """Return a cycle of required arcs, first variable repeated at the end, or nothing."""
        above = {child: sorted(found) for child, found in sorted(self.required_parents.items())}
        try:
            TopologicalSorter(above).prepare()
        except CycleError as error:
            return list(error.args[1])
        return []


def _arc(arc: object) -> str:
    return " → ".join(map(str, arc if isinstance(arc, list | tuple) else (arc,)))


def _known(name: str, known: set[str], names: Sequence[str], where: str) -> None:
    if name not in known:
        raise ConstraintError(
            f"{where} names {name!r}, which is not a variable; {did_you_mean(name, names)}"
        )


@dataclass(frozen=True)
class Prior:
    """Prior probabilities of arcs.

    Parameters
    ----------
    default
        Probability of every arc that is not named; ½ changes no score.
    arcs
        Probabilities by arc ``(parent, child)``; 0 forbids the arc, 1 requires it.

    Examples
    --------
    >>> belief = Prior(0.1, {("smoke", "lung"): 0.9, ("xray", "smoke"): 0.0})
    >>> [round(belief.log_odds(*arc), 4) for arc in [("smoke", "lung"), ("lung", "smoke")]]
    [2.1972, -2.1972]
    >>> belief.certain().forbidden
    frozenset({('xray', 'smoke')})
    """

    default: float = 0.5
    arcs: Mapping[Arc, float] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.default != 0.5 or any(p != 0.5 for p in self.arcs.values())

    @classmethod
    def of(cls, given: object) -> Prior:
        """Make a prior from what was passed: one probability, or one by arc.

        Raises
        ------
        InputError
            Something else than a probability.
        """
        if given is None:
            return cls()
        if isinstance(given, cls):
            found = given
        elif isinstance(given, Mapping):
            found = cls(arcs=dict(given))
        elif isinstance(given, int | float) and not isinstance(given, bool):
            found = cls(float(given))
        else:
            raise InputError(
                "must be a probability, or one by arc (parent, child)", about=Way("prior", given)
            )
        if not 0 < found.default < 1:
            raise InputError(
                "must lie between 0 and 1, without 0 and 1 themselves",
                Way("max_parents", 0, "for no arcs at all"),
                about=Way("prior", found.default),
            )
        shares: Mapping[Arc, object] = found.arcs
        for arc, p in shares.items():
            if not isinstance(p, int | float) or isinstance(p, bool) or not 0 <= p <= 1:
                raise InputError(
                    f"the prior of the arc {_arc(arc)} is {p!r}, and a probability lies "
                    "between 0 and 1"
                )
        return found

    def log_odds(self, parent: str, child: str) -> float:
        """Return what an arc adds to the score in nats; 0 for one that is certain."""
        p = self.arcs.get((parent, child), self.default)
        return 0.0 if p in (0, 1) else math.log(p / (1 - p))

    def log_odds_of(self, arcs: Iterable[Arc]) -> float:
        """Return what all arcs of a network add to the score in nats."""
        return math.fsum(self.log_odds(*arc) for arc in arcs)

    def matrix(self, names: Sequence[str]) -> Floats:
        """Return ``[child, parent]``: what every arc adds, in nats."""
        uniform = math.log(self.default / (1 - self.default))
        found = np.full((len(names), len(names)), uniform)
        np.fill_diagonal(found, 0.0)
        index = {name: v for v, name in enumerate(names)}
        for parent, child in self.arcs:
            found[index[child], index[parent]] = self.log_odds(parent, child)
        return found

    @property
    def symmetric(self) -> bool:
        """Whether both directions of every arc are believed alike, those that are certain aside."""
        return all(
            self.log_odds(a, b) == self.log_odds(b, a)
            for (a, b), p in self.arcs.items()
            if p not in (0, 1)
        )

    def certain(self) -> Constraints:
        """Return the arcs of probability 0 and 1 as constraints."""
        return Constraints(
            required=frozenset(arc for arc, p in self.arcs.items() if p == 1),
            forbidden=frozenset(arc for arc, p in self.arcs.items() if p == 0),
        )

    def uncertain(self) -> Prior:
        """Return the same log odds without constraints: arcs that are certain add nothing.

        >>> Prior(0.1, {("a", "b"): 1.0}).uncertain().log_odds("a", "b")
        0.0
        """
        return Prior(self.default, {a: 0.5 if p in (0, 1) else p for a, p in self.arcs.items()})

    def among(self, names: Collection[str]) -> Prior:
        """Return the prior of the arcs between these variables."""
        inside = {arc: p for arc, p in self.arcs.items() if set(arc) <= set(names)}
        return Prior(self.default, inside)

    def check(self, names: Sequence[str]) -> None:
        """Refuse arcs of variables that are not there, or from one to itself."""
        for arc in self.arcs:
            for end in arc:
                if end not in names:
                    raise ConstraintError(
                        f"the prior of the arc {_arc(arc)} names {end!r}, which is not a variable; "
                        f"{did_you_mean(str(end), names)}"
                    )
            if arc[0] == arc[1]:
                raise ConstraintError(f"the prior arc {_arc(arc)} connects a variable to itself")

    def words(self) -> str:
        """Say what is believed, in a sentence; nothing if nothing is."""
        if not self:
            return ""
        parts = [] if self.default == 0.5 else [f"{self.default:g} for every arc"]
        if self.arcs:
            count = counted(len(self.arcs), "arc")
            parts.append(f"for {count} of {'its' if len(self.arcs) == 1 else 'their'} own")
        return f"Scores include the log prior of the arcs (probability {', '.join(parts)})."

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold.

        >>> belief = Prior(0.2, {("a", "b"): 0.9})
        >>> decoded(Prior, belief.to_dict()) == belief
        True
        """
        arcs = [[parent, child, p] for (parent, child), p in sorted(self.arcs.items())]
        return {"default": self.default, "arcs": arcs}


def most_added(
    log_odds: Floats, barred: npt.NDArray[np.bool_], most: npt.NDArray[np.int64]
) -> Floats:
    """Return per child the most that any of its parent sets can add; never negative.

    ``log_odds[child, parent]``, ``barred`` arcs that may not be used, ``most[child]`` parents.
    """
    bonus = np.where(barred, 0.0, np.maximum(log_odds, 0.0))
    largest = -np.sort(-bonus, axis=1)
    return np.array([largest[v, :k].sum() for v, k in enumerate(most)], np.float64)


def read_constraints(path: str | os.PathLike[str]) -> Constraints:
    """Read constraints; whether they fit a table is checked later, with its names."""
    return _from_toml(Constraints, path, f"cannot read {str(path)!r}")


def read_prior(path: str | os.PathLike[str]) -> Prior:
    """Read probabilities; whether they fit a table is checked later, with its names."""
    refused = f"{str(path)!r} is neither a probability nor a file that can be read"
    return Prior.of(_from_toml(Prior, path, refused))


def _from_toml(kind: type[_Record], path: str | os.PathLike[str], refused: str) -> _Record:
    """Read a record from a TOML file that has its fields and nothing else."""
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{refused}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:  # ValueError: bad text, TOML or huge numbers
        raise InputError(f"{str(path)!r} is not a TOML file: {error}") from None
    try:
        return decoded(kind, content, closed=True)
    except DecodingError as error:
        raise ConstraintError(
            f"{str(path)!r}: {error} (docs/constraints.md shows such a file)"
        ) from None


def read_arcs(path: str | os.PathLike[str]) -> list[tuple[str, str]]:
    """Read arcs from the columns ``from`` and ``to`` of a CSV file; other columns do not count."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            header, rows = reader.fieldnames or (), list(reader)
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror or error}") from None
    except (ValueError, csv.Error) as error:
        raise InputError(f"{str(path)!r} is not a CSV file: {error}") from None
    if not {"from", "to"} <= set(header):
        raise ConstraintError(
            f"{str(path)!r} has no arcs; its first line is from,to and every other one an arc"
        )
    for i, row in enumerate(rows):
        if not row["from"] or not row["to"]:
            raise ConstraintError(f"{str(path)!r}: row {i + 1} has one name; an arc needs two")
    return [(row["from"], row["to"]) for row in rows]
