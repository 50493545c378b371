"""What is known of a network: how good it is, how far that is proven, where it comes from.

A search leaves a :class:`SearchRecord`, and a :class:`Finding` is all that is known beside the
network, as a file keeps it. A :class:`NetworkRecord` is what files and pages are made of, whatever
the result was. A part that is not known, because the network was drawn by hand or comes from
elsewhere, is None.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from parentage.errors import InputError
from parentage.files.decoding import decoded, fields_in
from parentage.scoring.account import Scope  # noqa: TC001  # hints are read where it is decoded
from parentage.work.progress import amount

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parentage.network.network import Network
    from parentage.network.parameters import Parameters
    from parentage.optimise import Solution
    from parentage.scoring.constraints import Arc


@dataclass
class SearchRecord:
    """What a search counted: in one part of the problem while it works, in all at the end.

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
        Cuts added, by family (:data:`parentage.optimise.cuts.Family`).
    """

    parts: tuple[int, ...] = ()
    sets: int = 0
    sets_after_pruning: int = 0
    root_bound: float | None = None
    root_gap: float | None = None
    subsets: int = 0
    rounds: int = 0
    lp_rounds: int = 0
    nodes: int = 0
    fixed: int = 0
    cuts: Counter[str] = field(default_factory=Counter)

    def add(self, part: SearchRecord) -> None:
        """Add what was counted in a part."""
        self.subsets += part.subsets
        self.rounds += part.rounds
        self.lp_rounds += part.lp_rounds
        self.nodes += part.nodes
        self.fixed += part.fixed
        self.cuts += part.cuts

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return fields_in(self) | {"cuts": dict(sorted(self.cuts.items()))}


@dataclass(frozen=True)
class Compared:
    """Networks that another one is compared with, where lists were stopped early.

    Parameters
    ----------
    empty
        Score of the network without arcs.
    tree
        Score of the best network of at most one parent a variable; None where that is not known.

    Examples
    --------
    >>> compared = Compared(-1500.0, -1200.0)
    >>> compared.words(-1020.0)
    '480 above the network without arcs and 180 above the best tree'
    >>> compared.says_little(-1020.0, -300.0)
    True
    """

    empty: float
    tree: float | None

    def says_little(self, score: float, bound: float) -> bool:
        """Whether the gap is more than half of what the network gains over the one without arcs."""
        return bound - score > (score - self.empty) / 2

    def words(self, score: float) -> str:
        """Say how a network compares."""
        said = f"{amount(score - self.empty)} above the network without arcs"
        if self.tree is None:
            return said
        above = score - self.tree
        alike = above <= 1e-9 * abs(score)  # equal but for rounding
        how = "equal to that of" if alike else f"{amount(above)} above"
        return f"{said} and {how} the best tree"


@dataclass(frozen=True)
class Finding:
    """How good a network is, as far as it is known.

    Parameters
    ----------
    score, bound
        The network's score, and what no allowed network exceeds.
    optimal
        Whether the bound proves the network the best one allowed.
    engine, ties, stopped
        By which engine, whether ties are settled, why the search ended before its proof.
    seconds
        Wall time of the search.
    scope
        Which networks it was compared with.
    search
        What the search counted.
    compared
        What it was compared with, where lists were stopped early.
    """

    score: float | None = None
    bound: float | None = None
    optimal: bool | None = None
    engine: str | None = None
    ties: str | None = None
    stopped: str | None = None
    seconds: float | None = None
    scope: Scope | None = None
    search: SearchRecord | None = None
    compared: Compared | None = None

    def beside(self) -> str | None:
        """Say what the network was compared with, where the bound says little; None elsewhere."""
        compared = self.compared
        if self.optimal or self.score is None or self.bound is None or compared is None:
            return None
        little = compared.says_little(self.score, self.bound)
        said = f"for orientation, the score is {compared.words(self.score)}"
        return said if little else None

    @property
    def gap(self) -> float | None:
        """How much better another network could be at most; None if it is not known."""
        if self.score is None or self.bound is None:
            return None
        return self.bound - self.score

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for files; what is not known of a bare network is left out."""
        if self == Finding():
            return {}
        settled = None if self.scope is None else self.scope.settled
        first = dict.fromkeys(("score", "bound", "gap", "optimal", "settled"))  # the order of files
        return first | {"gap": self.gap, "settled": settled} | fields_in(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Finding:
        """Make a finding from what :meth:`to_dict` returned, among other entries.

        Raises
        ------
        InputError
            An entry is of another kind, or a proof is claimed without its numbers.
        """
        found = decoded(cls, {**content, "search": content.get("search") or None})
        if found.optimal and (content.get("gap") is None or found.gap is None):
            raise InputError("an optimal network needs a score, a bound and a gap")
        return found


@dataclass(frozen=True)
class NetworkRecord:
    """A network with everything that is known of it: what files and pages are made of.

    Parameters
    ----------
    network, parameters
        The network, and its probabilities if there are any.
    finding
        How good it is.
    provenance
        Where it comes from: versions, command, data.
    gains
        What every arc gains; None if that is not known.
    listed_gains
        Whether gains compare with what is listed (:class:`parentage.Solution`).
    """

    network: Network
    parameters: Parameters | None = None
    finding: Finding = field(default_factory=Finding)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    gains: Mapping[Arc, float] | None = None
    listed_gains: bool = False

    @property
    def scope(self) -> Scope | None:
        """What the network was compared with; None for a bare network."""
        return self.finding.scope

    @property
    def version(self) -> str:
        """The version of parentage that learned the network; empty if that is not known."""
        return str((self.provenance.get("versions") or {}).get("parentage", ""))

    @classmethod
    def of(
        cls,
        result: Network | Parameters | Solution | NetworkRecord,
        parameters: Parameters | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> NetworkRecord:
        """Make the record of any result; parameters and provenance are added to what it has."""
        from parentage.network.network import Network
        from parentage.network.parameters import Parameters

        if isinstance(result, Parameters):
            found = cls(result.network, result)
        elif isinstance(result, Network):
            found = cls(result)
        elif isinstance(result, NetworkRecord):
            found = result
        else:
            found = cls(
                result.network,
                finding=result.finding,
                gains=result.gains,
                listed_gains=result.listed_gains,
            )
        if parameters is not None and parameters.network != found.network:
            raise InputError("the parameters belong to another network")
        return dataclasses.replace(
            found,
            parameters=found.parameters if parameters is None else parameters,
            provenance={**found.provenance, **(provenance or {})},
        )
