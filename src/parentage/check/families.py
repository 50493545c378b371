"""The sets of the lists as a proof sees them: scores on a grid, whole costs, which are allowed.

The digest of lists, the grid and what rounding to it can change are defined in
docs/certificates.md. Parents stay in the flat arrays of the lists; what a cut or a step asks of
them (which members of a group does each set hold) is answered for all sets of a child at once.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from parentage.check.document import ProofError
from parentage.errors import ListsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parentage.check.document import Lists, Unit

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

LARGEST_SCORE = 2**53
"""Whole scores stay below, where doubles hold every whole number."""


def lists_digest(lists: Lists) -> str:
    """Return the digest by which a certificate knows its lists.

    >>> from parentage.scoring.lists import CandidateLists
    >>> lists_digest(CandidateLists.from_families({"a": [(-1.0, [])]}))[:19]
    'sha256:...'
    """
    state = hashlib.sha256(b"parentage lists 1\n")
    state.update(_number(lists.n_variables))
    for name in lists.names:
        text = name.encode("utf-8", "surrogatepass")
        state.update(_number(len(text)) + text)
    for numbers in (lists.offsets, lists.starts, lists.parents):
        state.update(np.ascontiguousarray(numbers, "<i8").tobytes())
    state.update(np.ascontiguousarray(lists.scores + 0.0, "<f8").tobytes())
    return "sha256:" + state.hexdigest()


def whole_scores(scores: Floats, unit: Unit) -> tuple[Ints, Floats]:
    """Return scores as multiples of a unit, ``score = unit · (whole + lost)``, both exact.

    ``whole`` is ``int64[m]``, ``lost`` ``float64[m]`` (all zero on a decimal grid).

    Raises
    ------
    ProofError
        A decimal grid that scores are not on, or one too fine for 53 bits.
    """
    base, digits = unit
    if base == 10:
        scale = float(10**digits)
        nearest = np.rint(scores * scale)
        _check_size(nearest, f"10^-{digits}")
        off = np.flatnonzero(nearest / scale != scores)
        if len(off):
            raise ProofError(
                f"unit: the score {float(scores[off[0]])!r} of set {off[0]} is not a multiple "
                f"of 10^-{digits}"
            )
        return nearest.astype(np.int64), np.zeros(len(scores))
    scaled = np.ldexp(scores, digits)  # exact: a power of two
    _check_size(scaled, f"2^-{digits}")
    nearest = np.rint(scaled)
    return nearest.astype(np.int64), scaled - nearest


def unit_size(unit: Unit) -> float:
    """The unit as a number."""
    base, digits = unit
    return float(base) ** -digits


def rounding_loss(lost: Floats, offsets: Ints, allowed: Flags, chosen: Ints) -> float:
    """Return the most, in units, by which rounding can hide a better network; rounded up.

    Per child the largest error of its allowed sets minus that of the chosen one.
    """
    largest = np.maximum.reduceat(np.where(allowed, lost, -np.inf), offsets[:-1])
    terms = [*largest.tolist(), *(-lost[chosen]).tolist()]
    total = math.fsum(terms)
    return 0.0 if total == 0 else math.nextafter(total, math.inf)


def _number(value: int) -> bytes:
    return value.to_bytes(8, "little")


def _check_size(scaled: Floats, unit: str) -> None:
    if len(scaled) and not np.abs(scaled).max() < LARGEST_SCORE:
        raise ProofError(f"unit: {unit} is too fine, a score would need more than 53 bits")


@dataclass(frozen=True, eq=False)
class Families:
    """Sets by child, with costs.

    Parameters
    ----------
    offsets
        ``int64[n + 1]``: the sets of variable ``v`` are ``offsets[v] … offsets[v + 1] − 1``.
    starts
        ``int64[m + 1]``: the parents of set ``i`` are ``parents[starts[i]:starts[i + 1]]``.
    parents
        ``int64``: variables.
    allowed
        ``bool[m]``: the sets that the constraints leave.
    cost
        ``int64[m]``: least whole cost of the child's allowed sets is 0.
    """

    offsets: Ints
    starts: Ints
    parents: Ints
    allowed: Flags
    cost: Ints

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self.offsets) - 1

    @property
    def m(self) -> int:
        """Number of sets."""
        return len(self.cost)

    @cached_property
    def child(self) -> Ints:
        """``int64[m]``: the child of every set."""
        return np.repeat(np.arange(self.n), np.diff(self.offsets))

    @cached_property
    def owner(self) -> Ints:
        """The set of every entry of ``parents``."""
        return np.repeat(np.arange(self.m), np.diff(self.starts))

    @cached_property
    def largest_cost(self) -> int:
        """The largest cost of an allowed set."""
        return int(self.cost[self.allowed].max())

    def sets(self, v: int) -> Ints:
        """Return the sets of a variable."""
        return np.arange(self.offsets[v], self.offsets[v + 1])

    def parents_of(self, i: int) -> Ints:
        """Return the parents of set ``i``."""
        return self.parents[self.starts[i] : self.starts[i + 1]]

    def sums(self, v: int, weight: Ints) -> Ints:
        """Return, for every set of ``v``, the sum of ``weight[n]`` over its parents."""
        starts = self.starts[self.offsets[v] : self.offsets[v + 1] + 1]
        running = np.zeros(int(starts[-1] - starts[0]) + 1, np.int64)
        np.cumsum(weight[self.parents[starts[0] : starts[-1]]], out=running[1:])
        inside = starts - starts[0]
        found: Ints = running[inside[1:]] - running[inside[:-1]]
        return found

    def holding(self, v: int, parent: int) -> Flags:
        """Return, for every set of ``v``, whether it has this parent."""
        one = np.zeros(self.n, np.int64)
        one[parent] = 1
        return self.sums(v, one) > 0


def check_lists(lists: Lists) -> None:
    """Refuse lists that are broken.

    Raises
    ------
    ListsError
        A variable without sets, a score that is not finite, a parent that is not another
        variable, parents that do not rise within a set.
    """
    counts = np.diff(lists.offsets)
    if not lists.n_variables:
        raise ListsError("the lists have no variables")
    if (counts <= 0).any():
        raise ListsError(f"{lists.names[int(np.argmin(counts))]!r} has no candidate set")
    if not np.isfinite(lists.scores).all():
        raise ListsError("a score is not a finite number")
    child = np.repeat(np.arange(lists.n_variables), counts)
    owner = np.repeat(child, np.diff(lists.starts))
    wrong = (lists.parents < 0) | (lists.parents >= lists.n_variables) | (lists.parents == owner)
    if wrong.any():
        name = lists.names[int(owner[np.argmax(wrong)])]
        raise ListsError(f"a set of {name!r} has a parent that is not another variable")
    same = np.diff(np.repeat(np.arange(lists.n_sets), np.diff(lists.starts))) == 0
    if (np.diff(lists.parents)[same] <= 0).any():
        raise ListsError("the parents of a set are not in ascending order")


def make_families(lists: Lists, allowed: Flags, whole: Ints) -> Families:
    """Build the families from whole scores; every child must keep a set."""
    lowest = np.iinfo(np.int64).min
    best = np.maximum.reduceat(np.where(allowed, whole, lowest), lists.offsets[:-1])
    if (best == lowest).any():
        name = lists.names[int(np.argmax(best == lowest))]
        raise ProofError(f"constraints: no set of {name!r} satisfies them")
    cost = np.repeat(best, np.diff(lists.offsets)) - whole
    return Families(
        lists.offsets.astype(np.int64),
        lists.starts.astype(np.int64),
        lists.parents.astype(np.int64),
        allowed,
        np.where(allowed, cost, 0),
    )


def allowed_sets(lists: Lists, constraints: Mapping[str, Any]) -> Flags:
    """Mark the sets that the constraints of a certificate allow.

    Raises
    ------
    ProofError
        Constraints of a form that is not in the format.
    """
    required, barred, most = restrictions(constraints, lists.names)
    sizes = np.diff(lists.starts)
    child = np.repeat(np.arange(lists.n_variables), np.diff(lists.offsets))
    owner = np.repeat(np.arange(lists.n_sets), sizes)
    arcs = child[owner], lists.parents
    broken = np.bincount(owner[barred[arcs]], minlength=lists.n_sets)
    present = np.bincount(owner[required[arcs]], minlength=lists.n_sets)
    whole = present == required.sum(axis=1)[child]
    allowed: Flags = whole & (broken == 0) & (sizes <= most[child])
    return allowed


def restrictions(constraints: Mapping[str, Any], names: Sequence[str]) -> tuple[Flags, Flags, Ints]:
    """Return required and forbidden arcs, ``bool[child, parent]``, and the most parents of each.

    Raises
    ------
    ProofError
        Constraints of a form that is not in the format.
    """
    unknown = set(constraints) - {"required", "forbidden", "max_parents", "tiers"}
    if unknown:
        raise ProofError(f"constraints: unknown kind {min(unknown)!r}")
    n, index = len(names), {name: v for v, name in enumerate(names)}
    required, barred = np.zeros((2, n, n), np.bool_)
    for flags, kind in ((required, "required"), (barred, "forbidden")):
        for parent, child in arcs_of(constraints, kind, index):
            flags[child, parent] = True
    tier = tiers_of(constraints, index)
    barred |= (tier[None, :] > tier[:, None]) & (tier[:, None] >= 0)
    limits, most = constraints.get("max_parents", {}), np.full(n, n - 1)
    if not isinstance(limits, Mapping) or any(type(limit) is not int for limit in limits.values()):
        raise ProofError("constraints.max_parents: must be an object of whole numbers")
    for name, limit in limits.items():
        v = variable_of(name, "constraints.max_parents", index)
        most[v] = min(most[v], max(limit, -1))  # which no set keeps to
    return required, barred, most


def arcs_of(
    constraints: Mapping[str, Any], kind: str, index: Mapping[str, int]
) -> list[tuple[int, int]]:
    """Return required or forbidden arcs as (parent, child)."""
    arcs = constraints.get(kind, [])
    if not isinstance(arcs, list | tuple):
        raise ProofError(f"constraints.{kind}: must be a list of [parent, child]")
    found = []
    for arc in arcs:
        if not isinstance(arc, list | tuple) or len(arc) != 2:
            raise ProofError(f"constraints.{kind}: must be a list of [parent, child]")
        parent, child = (variable_of(name, f"constraints.{kind}", index) for name in arc)
        found.append((parent, child))
    return found


def tiers_of(constraints: Mapping[str, Any], index: Mapping[str, int]) -> Ints:
    """Return the tier of every variable, −1 for none."""
    tier = np.full(len(index), -1, np.int64)
    tiers = constraints.get("tiers", [])
    if not isinstance(tiers, list | tuple) or any(not isinstance(t, list | tuple) for t in tiers):
        raise ProofError("constraints.tiers: must be a list of lists of names")
    for level, names in enumerate(tiers):
        for name in names:
            v = variable_of(name, "constraints.tiers", index)
            if tier[v] >= 0:
                raise ProofError(f"constraints.tiers: {name!r} is in two tiers")
            tier[v] = level
    return tier


def variable_of(name: Any, where: str, index: Mapping[str, int]) -> int:
    """Return the variable of a name in a document."""
    if not isinstance(name, str) or name not in index:
        raise ProofError(f"{where}: {str(name)[:40]!r} is not a variable")
    return index[name]
