"""What a certificate consists of: typed records, one per kind of cut, step and node.

The format is described in docs/certificates.md; :mod:`.document` reads it into these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from parentage.errors import ParentageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import numpy.typing as npt

    from parentage.scoring.lists import CandidateLists


LARGEST = 2**62
"""No number of a document, and none of a check, reaches this."""


class ProofError(ParentageError):
    """A step of a certificate that does not hold; the message names it."""


class Listed(NamedTuple):
    """Candidate lists that a certificate carries, in the arrays of ``CandidateLists``."""

    names: tuple[str, ...]
    offsets: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    parents: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float64]
    counted: int
    """Sets that scoring counted; a recount counts about as many."""

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return len(self.names)

    @property
    def n_sets(self) -> int:
        """Number of sets."""
        return len(self.scores)

    def parents_of(self, i: int) -> npt.NDArray[np.int64]:
        """Return the parents of set ``i``."""
        return self.parents[self.starts[i] : self.starts[i + 1]]


Lists: TypeAlias = "CandidateLists | Listed"
"""Lists that were read or made, or those that a certificate carries."""


class Unit(NamedTuple):
    """The grid of whole scores: 10^−digits if decimal, otherwise 2^−digits."""

    decimal: bool
    digits: int


class Cluster(NamedTuple):
    """At most |members| − k of the members have k or more parents among them."""

    members: tuple[int, ...]
    k: int


class Local(NamedTuple):
    """A cut on few members: values by the parents a member has among them.

    ``masks[j][t]`` and ``values[j][t]`` belong to member ``j``; ``through`` are variables passed
    through, each with the parents it is assumed to have, and ``weight`` is their M.
    """

    members: tuple[int, ...]
    masks: tuple[tuple[int, ...], ...]
    values: tuple[tuple[int, ...], ...]
    right: int
    through: tuple[tuple[int, tuple[int, ...]], ...] = ()
    weight: int = 0


Cut = Cluster | Local


class Round(NamedTuple):
    """Multipliers on cuts: a bound, and sets to remove."""

    cuts: tuple[int, ...]
    times: tuple[int, ...]


class Ancestors(NamedTuple):
    """Follow the arcs that every set left has."""


class Dominance(NamedTuple):
    """Remove sets that another one replaces."""


Step = Round | Ancestors | Dominance


class Branch(NamedTuple):
    """Two cases: the child has the parent or not."""

    parent: int
    child: int
    without: int
    with_: int


class Part(NamedTuple):
    """Variables whose cost is at least ``goal``, as a node proves."""

    variables: tuple[int, ...]
    goal: int
    node: int


class Split(NamedTuple):
    """Parts whose least costs add up."""

    parts: tuple[Part, ...]


class Subsets(NamedTuple):
    """Dynamic programming over all subsets."""


class Forest(NamedTuple):
    """The best forest, when every set keeps at most one of its parents."""


End = Branch | Split | Subsets | Forest


class Node(NamedTuple):
    """Steps, and what follows when they leave the node open."""

    steps: tuple[Step, ...]
    end: End | None


class Certificate(NamedTuple):
    """A certificate in typed records."""

    digest: str
    settings: Mapping[str, Any] | None
    constraints: Mapping[str, Any]
    unit: Unit
    chosen: tuple[int, ...]
    score: float
    tolerance: int
    denominator: int
    cuts: tuple[Cut, ...]
    nodes: tuple[Node, ...]
