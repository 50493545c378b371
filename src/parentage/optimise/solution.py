"""The solution: what learning hands on, checked before anyone sees it.

A :class:`Solution` is an acyclic choice of one candidate set per variable together with what is
known about how good it can be: ``score <= best possible <= bound``. It can only be made by
:func:`checked_solution`, which re-sums the score from the lists, refuses cycles and never lets
the bound fall below the score.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parentage.network.network import Network
    from parentage.optimise.certificate import Certificate
    from parentage.optimise.record import SearchRecord
    from parentage.scoring.lists import CandidateLists


TracePoint = tuple[float, float, float]
"""Seconds since the start, incumbent score, bound."""


class Progress(NamedTuple):
    """One moment of a search: what a progress callback gets."""

    seconds: float
    incumbent: float
    bound: float
    phase: str


@dataclass(frozen=True)
class Solution:
    """The best network found, and the proof or the gap.

    Parameters
    ----------
    names
        Variable names.
    parents
        For every variable the indices of its parents, rising.
    score
        Sum of the local scores of the chosen sets, as they stand in the lists.
    bound
        No network made of the lists (within the constraints) scores higher.
    optimal
        Whether ``score`` is proven to be the highest, up to ``stats["tolerance"]``.
    engine
        What proved it, or what found the incumbent when there is no proof: ``"subsets"``,
        ``"orders"``, ``"root LP"``, ``"branch-and-cut"``, several joined by ``" + "`` when
        different parts were solved by different engines.
    ties
        ``"fewest arcs"`` when no network with the same score has fewer arcs, ``"unknown"`` when
        the engine cannot tell.
    trace
        ``(seconds, incumbent, bound)`` whenever one of the two improved, and at the end.
    seconds
        Wall time of the search.
    stats
        Further facts: ``stopped`` (why a search ended before its proof: ``"time"``, ``"gap"``,
        ``"interrupt"``; None when it ended by itself), ``tolerance`` (of the proof), ``parts``
        (sizes of the strongly connected parts), ``sets`` and ``sets_after_pruning``.
    search
        What the engines did: root bound, nodes, cuts by family, fixings.
    certificate
        The proof, to be written and checked; None when nothing is proven, or by an engine that
        cannot be checked (dynamic programming over more than 25 variables).
    """

    names: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]
    score: float
    bound: float
    optimal: bool
    engine: str
    ties: str
    trace: tuple[TracePoint, ...]
    seconds: float
    stats: Mapping[str, Any] = field(default_factory=dict)
    search: SearchRecord | None = field(default=None, compare=False)
    certificate: Certificate | None = field(default=None, compare=False, repr=False)

    @property
    def gap(self) -> float:
        """How much better another network could be at most: ``bound − score``."""
        return self.bound - self.score

    @property
    def n_arcs(self) -> int:
        """Number of arcs."""
        return sum(len(members) for members in self.parents)

    def to_dict(self) -> dict[str, list[str]]:
        """Return ``{child: [parents]}`` by name."""
        return {
            name: [self.names[p] for p in members]
            for name, members in zip(self.names, self.parents, strict=True)
        }

    @cached_property
    def network(self) -> Network:
        """The network itself."""
        from parentage.network.network import Network

        return Network(self.names, self.parents)

    def __repr__(self) -> str:
        proof = "optimal" if self.optimal else f"gap {self.gap:.6g}"
        return (
            f"Solution: {len(self.names)} variables, {self.n_arcs} arcs, "
            f"score {self.score:.6f}, {proof} ({self.engine}, {self.seconds:.2f} s)"
        )

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(repr(self))}</p>{self.network._repr_html_()}"


def checked_solution(
    lists: CandidateLists,
    chosen: Sequence[int],
    *,
    bound: float,
    optimal: bool,
    engine: str,
    ties: str,
    trace: Sequence[TracePoint],
    seconds: float,
    stats: Mapping[str, Any],
    search: SearchRecord | None = None,
    certificate: Certificate | None = None,
) -> Solution:
    """Make a solution of one set per variable; ``chosen`` holds indices of sets of the lists.

    Raises
    ------
    AssertionError
        A set of another variable: an error in this package, never in the input.
    CycleError
        A cycle: the same.
    """
    from parentage.network.network import topological_order

    parents = tuple(tuple(int(p) for p in lists.parents_of(i)) for i in chosen)
    for v, i in enumerate(chosen):
        if not lists.offsets[v] <= i < lists.offsets[v + 1]:
            raise AssertionError(f"set {i} is not one of {lists.names[v]!r}")
    topological_order(lists.names, parents)
    score = math.fsum(float(lists.scores[i]) for i in chosen)
    bound = score if optimal else max(bound, score)
    return Solution(
        lists.names,
        parents,
        score,
        bound,
        optimal,
        engine,
        ties,
        (*((t, min(s, score), max(b, bound)) for t, s, b in trace), (seconds, score, bound)),
        seconds,
        dict(stats),
        search,
        certificate,
    )
