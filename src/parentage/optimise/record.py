"""What a search for the best network counted: facts for researchers, not for the answer."""

from __future__ import annotations

import dataclasses
from collections import Counter
from dataclasses import dataclass, field
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
        Linear programmes solved, each followed by separation.
    nodes
        Nodes that were cut, roots included.
    fixed
        Sets removed because their reduced cost shows that they are in no better network.
    cuts
        Cuts added, by family (:data:`parentage.optimise.cuts.FAMILIES`).
    """

    subsets: int = 0
    rounds: int = 0
    lp_rounds: int = 0
    nodes: int = 0
    fixed: int = 0
    cuts: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: Effort) -> Effort:
        return Effort(
            self.subsets + other.subsets,
            self.rounds + other.rounds,
            self.lp_rounds + other.lp_rounds,
            self.nodes + other.nodes,
            self.fixed + other.fixed,
            self.cuts + other.cuts,
        )


@dataclass(frozen=True)
class SearchRecord:
    """How a solution was found.

    Parameters
    ----------
    parts
        Sizes of the strongly connected parts of more than one variable.
    sets, sets_after_pruning
        Candidate sets in the lists, and those left after dominance.
    root_bound
        Upper bound on the score after cutting at the roots; None where nothing was cut.
    root_gap
        What the roots left open, against the final incumbent; None where nothing was cut.
    effort
        What the engines counted, all parts together.
    """

    parts: tuple[int, ...]
    sets: int
    sets_after_pruning: int
    root_bound: float | None
    root_gap: float | None
    effort: Effort

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, flat."""
        effort = {f.name: getattr(self.effort, f.name) for f in dataclasses.fields(self.effort)}
        effort["cuts"] = dict(sorted(self.effort.cuts.items()))
        own = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        del own["effort"]
        return {**own, "parts": list(self.parts), **effort}
