"""The solution: what learning hands on, checked before anyone sees it.

A :class:`Solution` has a network, made of one candidate set per variable, and what is known about
how good it can be: ``score <= best possible <= bound``, where *possible* is what the user allowed
(:class:`parentage.scoring.account.Scope`). Its network and score come from :func:`checked_network`,
which sums the score from the lists and refuses cycles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from parentage.errors import InputError, counted
from parentage.network.network import Network, arc_gains, imposed_directions
from parentage.network.record import Compared, Finding
from parentage.scoring.account import Account, Scope, stricter
from parentage.scoring.catalogue import in_brackets
from parentage.scoring.constraints import Constraints
from parentage.scoring.encoding import merged
from parentage.work.progress import amount

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from parentage.arcs.records import Support
    from parentage.data.table import Table
    from parentage.network.parameters import Parameters
    from parentage.network.record import SearchRecord
    from parentage.optimise.certificate import Certificate
    from parentage.optimise.cuts import Cut
    from parentage.scoring.account import Limit
    from parentage.scoring.constraints import Arc
    from parentage.scoring.lists import CandidateLists
    from parentage.work.stop import Reason


TracePoint = tuple[float, float, float]
"""Seconds since the start, incumbent score, bound."""


@dataclass(frozen=True)
class Solution:
    """The best network found, and the proof or the gap.

    Parameters
    ----------
    network
        The network.
    score
        Score of the network: the sum of its local scores in the lists.
    bound
        Upper bound of the score of every allowed network, also with sets that are not listed.
    optimal
        Whether it is proven that no allowed network scores more, up to ``scope.tolerance``. If
        expectation maximisation completed missing values, scores are those of the completed data;
        the network itself completed them only if ``scope.settled``.
    scope
        The allowed networks, the score, and how complete the lists are.
    gains
        Gain of every arc: the score lost if this parent alone is removed. Without a table, gains
        compare with the best listed set of the other parents; then ``listed_gains`` is true, and
        arcs without such a set have no gain.
    engine
        The method that proved the network, or found it if there is no proof: ``"subsets"``,
        ``"forest"``, ``"orders"``, ``"root LP"`` or ``"branch-and-cut"``; several, joined by
        ``" + "``, if parts were solved by different methods.
    ties
        ``"fewest arcs"`` if no network with the same score has fewer arcs, ``"unknown"`` if the
        method cannot tell.
    stopped
        Why the search stopped before the proof: ``"time"``, ``"gap"``, ``"memory"`` or
        ``"interrupt"``; None if it was not stopped.
    record
        Counts of the search: nodes, cuts, linear programmes.
    trace
        ``(seconds, score, bound)`` of the best network so far, at each improvement and at the end.
    seconds
        Wall time of the search.
    lists
        The lists that the network was learned from.
    certificate
        The proof, for writing and checking; None if nothing is proven, or if the proof cannot be
        checked (dynamic programming over more than 28 variables).
    cuts
        Cutting planes of the search, for solving a similar problem (:class:`.run.Start`).
    listed_gains
        Whether gains compare with listed sets instead of the family without the parent.
    compared
        What the network was compared with, if scoring was stopped early.
    table
        The data that the network was learned from; the completed data until expectation
        maximisation has ended. None if lists were given.
    """

    network: Network
    score: float
    bound: float
    optimal: bool
    scope: Scope
    gains: dict[Arc, float]
    engine: str
    ties: str
    stopped: Reason | None
    record: SearchRecord
    trace: tuple[TracePoint, ...]
    seconds: float
    lists: CandidateLists = field(compare=False, repr=False)
    certificate: Certificate | None = field(default=None, compare=False, repr=False)
    cuts: tuple[Cut, ...] = field(default=(), compare=False, repr=False)
    listed_gains: bool = True
    compared: Compared | None = None
    table: Table | None = field(default=None, compare=False, repr=False)

    @property
    def gap(self) -> float:
        """How much better another network could be at most: ``bound − score``."""
        return self.bound - self.score

    def proof(self) -> str:
        """Say what was proved, in a sentence without its full stop.

        It is the same wherever the solution is shown: terminal, notebook, warning, file.
        """
        scope = self.scope.words()
        if self.optimal:
            ties = "; no network with this score has fewer arcs" if self.ties != "unknown" else ""
            return f"proven optimal{scope}{ties}"
        beside = self.finding.beside()
        limit = (
            f"; {beside}"
            if beside
            else f": no network scores above {self.bound:.4f}, so the gap is at most "
            f"{amount(self.gap)}"
        )
        return "; ".join(
            text
            for text in (self.scope.about_lists(self.score), f"not proven optimal{scope}{limit}")
            if text
        )

    @property
    def finding(self) -> Finding:
        """What the solution says of its network, as files keep it."""
        return Finding(
            self.score,
            self.bound,
            self.optimal,
            self.engine,
            self.ties,
            self.stopped,
            self.seconds,
            self.scope,
            self.record,
            self.compared,
        )

    def with_support(self, support: Support) -> Solution:
        """Return the solution with what is known of its arcs, for figures and notebooks.

        Raises
        ------
        InputError
            The support is that of another network.
        """
        if support.network != self.network:
            raise InputError("this is the support of another network")
        return replace(self, network=support.network)

    def with_gains(self, table: Table) -> Solution:
        """Return the solution with the gains on the table that the lists were made from."""
        account = self.lists.known()
        gains = arc_gains(
            self.network, merged(table), account.score, account.log_base, account.prior, self.lists
        )
        return replace(self, gains=gains, listed_gains=False)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        parameters: Parameters | None = None,
        support: Support | None = None,
        size: str | None = None,
        title: str | None = None,
    ) -> None:
        """Write what was found; the file appears whole or not at all.

        Parameters
        ----------
        path
            ``.bif``, ``.xmlbif``: the network with probabilities; ``.json``: everything that is
            known; ``.html``: the report; ``.svg``, ``.png``, ``.pdf``, ``.dot``: figures.
        parameters
            Probabilities, by default ``network.fit(table)`` of the table learned from.
        support
            How sure every arc is (:func:`parentage.support`), for the report.
        size
            Width of a figure on paper: ``"column"``, ``"page"``, ``"slide"`` or such as
            ``"120mm"``.
        title
            Title of the report.
        """
        from parentage.report.page import save

        save(self, path, table=self.table, lists=self.lists, parameters=parameters,
             support=support, size=size, title=title)  # fmt: skip

    def __repr__(self) -> str:
        proof = f"not proven optimal, gap {self.gap:.6g}"
        if self.optimal:
            proof = f"optimal{self.scope.words()}"
        return (
            f"Solution: {counted(self.network.n_variables, 'variable')}, "
            f"{counted(self.network.n_arcs, 'arc')}, score {self.score:.6f}, {proof} "
            f"({self.engine}, {self.seconds:.2f} s)"
        )

    def _repr_html_(self) -> str:
        from html import escape

        score = f"{self.score:.4f}{in_brackets(self.scope.score)}"
        said = f"Score {score}, {counted(self.network.n_arcs, 'arc')}: {self.proof()}."
        said += f" {self.scope.about_directions()}".rstrip()
        said += f" {self.scope.about_scores()}".rstrip()
        picture = self.network.to_svg(
            self.gains, imposed=imposed_directions(self.network, self.scope)
        )
        return f"<p>{escape(said)}</p>{picture}"


def checked_network(lists: CandidateLists, chosen: Sequence[int]) -> tuple[Network, float]:
    """Return the network of one set per variable, and its score summed from the lists.

    Raises
    ------
    AssertionError
        A set of another variable: an error in this package, never in the input.
    InputError
        A cycle: the same.
    """
    for v, i in enumerate(chosen):
        if not lists.offsets[v] <= i < lists.offsets[v + 1]:
            raise AssertionError(f"set {i} is not one of {lists.names[v]!r}")
    parents = tuple(tuple(int(p) for p in lists.parents_of(i)) for i in chosen)
    return Network(lists.names, parents), math.fsum(float(lists.scores[i]) for i in chosen)


def scope_of(
    lists: CandidateLists,
    tolerance: float,
    max_parents: Limit = None,
    constraints: Constraints | None = None,
) -> Scope:
    """Say which networks are allowed: by the lists' own account and by what is asked now.

    A set is left out if one of its proper subsets scores less by no more than the account's
    tolerance. That subset may be left out for the same reason, and so on: a network of listed sets
    scores less by at most the tolerance for each arc. The solver's tolerance comes on top.
    """
    origin, given = lists.account, constraints or Constraints()
    limit = max_parents
    if isinstance(origin, Account):
        given = origin.constraints.merge(given)
        limit = stricter(lists.names, origin.max_parents, max_parents)
        tolerance += _most_arcs(lists.n_variables, origin) * origin.tolerance
    return Scope(origin, limit, given, tolerance)


def _most_arcs(n: int, account: Account) -> int:
    """Return the largest number of arcs in a network of sets that the search compared."""
    limits = (n - 1, account.max_parents, account.complete_to)
    return min(n * min(one for one in limits if isinstance(one, int)), n * (n - 1) // 2)
