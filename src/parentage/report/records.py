"""What the report page shows, as types. Nothing here computes or writes.

Variables are indices into the network's names; what was not computed is None or empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from parentage.arcs.records import ArcSupport
    from parentage.network.network import Network
    from parentage.network.parameters import Counts, Parameters
    from parentage.scoring.constraints import Arc


MOST_CELLS = 300_000
"""Cells of all probability tables together that a page carries."""


class Fact(NamedTuple):
    """A line of a list of facts."""

    label: str
    value: str


@dataclass(frozen=True)
class Refused:
    """A variable that goes with a child but is not its parent, and why.

    Parameters
    ----------
    parent
        The variable.
    alone
        What it would gain as the only parent.
    change
        What the score changes when it joins the parents that are there.
    cost
        How much of that is penalty; None for scores that are not likelihood minus penalty.
    circle
        The way from the child to this variable that an arc back would close; empty: none.
    why
        What rules it out: ``"cost"``, ``"circle"``, ``"limit"``, ``"constraint"``; or nothing
        does: ``"unproven"``.
    """

    parent: int
    alone: float
    change: float
    cost: float | None
    circle: tuple[int, ...]
    why: str


class NextSet(NamedTuple):
    """Another candidate parent set of a child: how much higher it scores, or lower if negative."""

    parents: tuple[int, ...]
    ahead: float


@dataclass(frozen=True)
class VariableFacts:
    """What is told of one variable besides its probabilities."""

    refused: tuple[Refused, ...] = ()
    next_sets: tuple[NextSet, ...] = ()


@dataclass(frozen=True)
class NearClass:
    """A class of networks close to the best, and what it does differently."""

    networks: int
    times_less: float
    difference: str


@dataclass(frozen=True)
class Alternatives:
    """The networks close to the best."""

    words: str
    classes: tuple[NearClass, ...]
    left_out: int
    """Classes that are not listed."""


@dataclass(frozen=True)
class WhatIf:
    """Probabilities the page computes with.

    Parameters
    ----------
    parameters
        The tables.
    counts
        Rows behind every cell, ``int64[q, r]`` per variable; None without a table, or if cells are
        missing.
    marginals
        Probabilities of every variable's states when nothing is known; empty when too hard.
    order
        Order of elimination for the page; empty when ``refused`` says why there is none.
    about
        How the probabilities were estimated, in a sentence.
    refused
        Why evidence cannot be set.
    """

    parameters: Parameters
    counts: tuple[Counts, ...] | None
    marginals: tuple[tuple[float, ...], ...]
    order: tuple[int, ...]
    about: str
    refused: str = ""


@dataclass(frozen=True)
class Page:
    """Everything on the page.

    Parameters
    ----------
    title
        Name of the data or the file.
    verdict
        What was found and proved, in one or two sentences.
    network
        The network.
    equivalent
        Whether the score values Markov equivalent networks alike; None if that is not known.
    arcs
        How sure every arc is, in the order of ``network.arcs``.
    others
        Pairs that are not joined here, but in a replicate or a near-optimal network.
    about_arcs
        What gains are and how support was measured, in sentences.
    variables
        One for every variable.
    what_if
        Probabilities; None when the source has none.
    alternatives
        Networks close to the best; None when they were not asked for.
    data, proof, search, origin
        Facts: how the data were read, what was proved, what was counted, versions.
    citation
        What to write when the result is used.
    methods
        A paragraph for the methods section of a paper, filled in from the run.
    summary
        How sure the links and directions are, in phrases.
    firm
        For every arc whether it is firm (:func:`.gather.is_firm`); None if that is not known.
    """

    title: str
    verdict: str
    network: Network
    equivalent: bool | None
    arcs: tuple[ArcSupport, ...]
    others: tuple[ArcSupport, ...]
    about_arcs: tuple[str, ...]
    variables: tuple[VariableFacts, ...]
    what_if: WhatIf | None
    alternatives: Alternatives | None
    data: tuple[Fact, ...]
    proof: tuple[Fact, ...]
    search: tuple[Fact, ...]
    origin: tuple[Fact, ...]
    citation: str
    methods: str
    summary: tuple[str, ...]
    firm: dict[Arc, bool | None]

    @property
    def directed(self) -> bool:
        """Whether the score tells equivalent networks apart, so that all arcs have a direction."""
        return self.equivalent is False

    @property
    def shares(self) -> dict[tuple[str, str], float]:
        """Support of every arc from 0 to 1: the bootstrap's, or the near-optimal weight."""
        found = {
            one.arc: one.near_weight if one.adjacency is None else one.adjacency
            for one in self.arcs
        }
        return {arc: share for arc, share in found.items() if share is not None}
