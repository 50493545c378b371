"""What a search for the best network counted: facts for researchers, not for the answer."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any


@dataclass
class Effort:
    """What engines count while they work on a part.

    Parameters
    ----------
    subsets
        Entries of the dynamic programme's table.
    rounds
        Rounds of the order search.
    lp_rounds
        Linear programmes solved at the root.
    root_cuts, cuts
        Cuts in force at the end of the root, and added in the tree.
    nodes
        Nodes of the tree.
    """

    subsets: int = 0
    rounds: int = 0
    lp_rounds: int = 0
    root_cuts: int = 0
    cuts: int = 0
    nodes: int = 0

    def __add__(self, other: Effort) -> Effort:
        both = zip(dataclasses.astuple(self), dataclasses.astuple(other), strict=True)
        return Effort(*(one + more for one, more in both))


@dataclass(frozen=True)
class SearchRecord:
    """How a solution was found.

    Parameters
    ----------
    parts
        Sizes of the strongly connected parts of more than one variable.
    sets, sets_after_pruning
        Candidate sets in the lists, and those left after dominance.
    root_gap
        What the linear programme at the root left open; None if there was none.
    effort
        What the engines counted, all parts together.
    """

    parts: tuple[int, ...]
    sets: int
    sets_after_pruning: int
    root_gap: float | None
    effort: Effort

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, flat."""
        content = dataclasses.asdict(self)
        effort = content.pop("effort")
        return {**content, "parts": list(self.parts), **effort}
