"""What all questions about arcs start from: the table, its lists, and the best network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parentage.scoring.constraints import Constraints

if TYPE_CHECKING:
    from parentage.data.table import Table
    from parentage.optimise import Solution
    from parentage.optimise.cuts import Cut
    from parentage.optimise.settings import Optimising
    from parentage.scoring.lists import CandidateLists
    from parentage.scoring.settings import Scoring


@dataclass(frozen=True, eq=False)
class Ground:
    """A table that was learned from, with everything that learning again can use.

    Parameters
    ----------
    table
        The data.
    lists
        Its candidate lists.
    scoring, optimising
        How they were made, and how networks are found.
    best
        The best network, proven or not.
    cuts
        Those that led to it; they hold for every network of these variables.
    grown
        Whether the lists were cut short and grew around the network.
    """

    table: Table
    lists: CandidateLists
    scoring: Scoring
    optimising: Optimising
    best: Solution
    cuts: tuple[Cut, ...] = ()
    grown: bool = False

    @property
    def constraints(self) -> Constraints:
        """What is required and forbidden; nothing if nothing is."""
        return self.scoring.constraints or Constraints()

    @property
    def equivalent(self) -> bool:
        """Whether the score, with its prior, values equivalent networks alike."""
        return self.best.scope.equivalent is True

    @property
    def free(self) -> bool:
        """Whether every network equivalent to an allowed one is allowed and scores the same."""
        return self.equivalent and not self.constraints and self.scoring.max_parents is None
