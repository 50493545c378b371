"""What a search did, for researchers: bounds, rounds, nodes, cuts by family, sets removed."""

from __future__ import annotations

import dataclasses
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass
class Tally:
    """What the engines count while they work on one part."""

    order_rounds: int = 0
    lp_rounds: int = 0
    nodes: int = 0
    fixed: int = 0
    subsets: int = 0
    cuts: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        """Add what was counted elsewhere."""
        self.order_rounds += other.order_rounds
        self.lp_rounds += other.lp_rounds
        self.nodes += other.nodes
        self.fixed += other.fixed
        self.subsets += other.subsets
        self.cuts.update(other.cuts)


@dataclass(frozen=True)
class SearchRecord:
    """The facts of a finished search.

    Parameters
    ----------
    parts
        Sizes of the strongly connected parts of more than one variable.
    sets, sets_after_pruning
        Candidate sets in the lists, and those left after dominance.
    root_bound
        Upper bound on the score after cutting at the roots; None where nothing was cut.
    root_gap
        What the roots left open, against the final incumbent.
    nodes
        Nodes of all trees, roots included; 0 where there was no tree.
    lp_rounds
        Solutions of linear programmes followed by separation.
    cuts
        Cuts added, by family (:data:`parentage.optimise.cuts.FAMILIES`).
    fixed
        Sets removed because their reduced cost shows that they are in no better network.
    order_rounds
        Rounds of the order search.
    subsets
        Subsets looked at by dynamic programming.
    """

    parts: tuple[int, ...]
    sets: int
    sets_after_pruning: int
    root_bound: float | None
    root_gap: float | None
    nodes: int
    lp_rounds: int
    cuts: Mapping[str, int]
    fixed: int
    order_rounds: int
    subsets: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        content = {name.name: getattr(self, name.name) for name in dataclasses.fields(self)}
        return {**content, "parts": list(self.parts), "cuts": dict(self.cuts)}
