"""The networks a solution was compared with, and so what "optimal" means for it.

``optimal`` is true only if no network *that the user allowed* scores higher: within their limit on
parents, their constraints, or the lists they brought. What they allowed is here; what was searched
of it is in the account of the lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from parentage.errors import InputError
from parentage.files.decoding import decoded
from parentage.scoring.account import (
    Account,
    Limit,
    Origin,
    Unknown,
    origin_from_dict,
    origin_to_dict,
)
from parentage.scoring.catalogue import by_name, not_equivalent
from parentage.scoring.constraints import Constraints


def about_directions(account: Account) -> str:
    """Say that reversing an arc changes the score, where the score or the prior makes it so."""
    if not by_name(account.score).equivalent:
        return not_equivalent(account.score)
    if account.prior.symmetric:
        return ""
    return (
        "The prior values the two directions of some arcs differently: reversing them changes "
        "the score."
    )


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

    Examples
    --------
    >>> Scope(Unknown(), 2, Constraints(), 1e-6).words()
    ' among the networks that these lists allow and have at most 2 parents a variable'
    """

    origin: Origin
    max_parents: Limit
    constraints: Constraints
    tolerance: float

    @property
    def score(self) -> str | None:
        """The score the network was chosen by; None if it is not known."""
        return self.origin.score if isinstance(self.origin, Account) else None

    @property
    def equivalent(self) -> bool | None:
        """Whether the score values Markov equivalent networks alike; None if it is not known."""
        if not isinstance(self.origin, Account):
            return None
        return by_name(self.origin.score).equivalent and self.origin.prior.symmetric

    @property
    def log_base(self) -> float | None:
        """Base of the score's logarithms; None for natural ones."""
        return self.origin.log_base if isinstance(self.origin, Account) else None

    @property
    def complete_to(self) -> int | None:
        """Number of parents up to which sets were searched; None if nothing was cut short."""
        return self.origin.complete_to if isinstance(self.origin, Account) else None

    @property
    def explored(self) -> int:
        """Families with more parents than that which were scored all the same."""
        return self.origin.explored if isinstance(self.origin, Account) else 0

    def words(self) -> str:
        """Say among which networks the solution is the best; nothing for all there are."""
        bounds = []
        if isinstance(self.origin, Unknown):
            bounds.append("these lists allow")
        if isinstance(self.max_parents, int):
            plural = "" if self.max_parents == 1 else "s"
            bounds.append(f"have at most {self.max_parents} parent{plural} a variable")
        elif self.max_parents is not None and not self.constraints.max_parents:
            bounds.append("the limits on parents allow")
        if self.constraints:
            bounds.append("the constraints allow")
        among = f" among the networks that {' and '.join(bounds)}" if bounds else ""
        return among + self._completed_by()

    @property
    def settled(self) -> bool:
        """Whether expectation maximisation, if there was any, ended where the network repeats.

        If not, the scores, and with them the proof, are about data completed by the network before.
        """
        completion = self.origin.completion if isinstance(self.origin, Account) else None
        return completion is None or completion.settled

    def _completed_by(self) -> str:
        """Say on which data, where missing cells were completed."""
        if not isinstance(self.origin, Account) or self.origin.completion is None:
            return ""
        if self.settled:
            return " on the data that it completes itself"
        return " on data completed by the network before it (expectation maximisation was ended)"

    def about_directions(self) -> str:
        """Say that directions of arcs are part of the choice, where the score makes them so."""
        if not isinstance(self.origin, Account) or self.equivalent:
            return ""
        return about_directions(self.origin)

    def about_scores(self) -> str:
        """Say what else than the data is in the scores: the prior of the arcs."""
        return self.origin.prior.words() if isinstance(self.origin, Account) else ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold; :meth:`from_dict` is the way back."""
        limit = self.max_parents
        return {
            **origin_to_dict(self.origin),
            "max_parents": dict(limit) if isinstance(limit, Mapping) else limit,
            "constraints": self.constraints.to_dict(),
            "tolerance": self.tolerance,
        }

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
            return cls(
                origin_from_dict(content),
                content["max_parents"],
                decoded(Constraints, content["constraints"], "constraints"),
                float(content["tolerance"]),
            )
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
            raise InputError(f"the scope is damaged: {error}") from None
