r"""Soft arcs: what the user believes of single arcs before the data speak, as probabilities.

A :class:`Prior` gives every arc A → B a probability p that it is there, independently of the others
(Castelo & Siebes 2000, for arcs): the log prior of a network, relative to the empty one, is the sum
over its arcs of

.. math:: \beta_{AB} = \ln \frac{p_{AB}}{1 - p_{AB}}

It is a sum over families, so the optimum of score plus log prior is found and proven like any
other. p = ½ says nothing and adds nothing, less than ½ is a price, more a bonus, and the ends are
constraints: 0 forbids an arc, 1 requires it. Under scores that are log marginal likelihoods (BDeu,
K2, Jeffreys) the sum is the log posterior, up to a constant; under the others it is a penalty of
the user's. How the rules stay safe: ``docs/theory.md``, "Soft arcs".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from parentage.errors import ConstraintError, InputError, Way, did_you_mean
from parentage.files.decoding import decoded
from parentage.scoring.constraints import Arc, Constraints

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Prior:
    """Prior probabilities of arcs.

    Parameters
    ----------
    default
        Probability of every arc that is not named; ½ means no preference.
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
                "must lie between 0 and 1: what holds for every arc is a constraint",
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
            count = f"{len(self.arcs)} arc{'' if len(self.arcs) == 1 else 's'}"
            parts.append(f"for {count} of {'its' if len(self.arcs) == 1 else 'their'} own")
        return f"Scores include the log prior of the arcs (probability {', '.join(parts)})."

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        arcs = [[parent, child, p] for (parent, child), p in sorted(self.arcs.items())]
        return {"default": self.default, "arcs": arcs}

    @classmethod
    def from_dict(cls, content: object) -> Prior:
        """Make a prior from what :meth:`to_dict` returned.

        >>> belief = Prior(0.2, {("a", "b"): 0.9})
        >>> Prior.from_dict(belief.to_dict()) == belief
        True
        """
        stored = decoded(StoredPrior, content, "prior")
        return cls(stored.default, {(a, b): p for a, b, p in stored.arcs})


@dataclass(frozen=True)
class StoredPrior:
    """A prior as files have it."""

    default: float
    arcs: tuple[tuple[str, str, float], ...]


def most_added(
    log_odds: Floats, barred: npt.NDArray[np.bool_], most: npt.NDArray[np.int64]
) -> Floats:
    """Return per child the most that any of its parent sets can add; never negative.

    ``log_odds[child, parent]``, ``barred`` arcs that may not be used, ``most[child]`` parents.
    """
    bonus = np.where(barred, 0.0, np.maximum(log_odds, 0.0))
    largest = -np.sort(-bonus, axis=1)
    return np.array([largest[v, :k].sum() for v, k in enumerate(most)], np.float64)


def _arc(arc: Any) -> str:
    ends = tuple(arc) if isinstance(arc, list | tuple) else (arc,)
    return " -> ".join(str(end) for end in ends)
