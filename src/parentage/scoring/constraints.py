"""Constraints: what the user knows before the data speak. Used by scoring and by learning.

Four kinds: arcs that must be there, arcs that must not, a cap on the number of parents per
variable, and tiers (no arc from a later tier into an earlier one; variables in no tier are free).
Together they say of every family whether it may be used, which is all that scoring and learning
ask (:meth:`Constraints.allowed`). Contradictions among them are refused by
:meth:`Constraints.check` with the conflicting ones named.
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003  # hints are read where it is decoded
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from parentage.errors import ConstraintError, InfeasibleError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    import numpy.typing as npt

Arc = tuple[str, str]
"""An arc as ``(parent, child)``."""


@dataclass(frozen=True)
class Constraints:
    """Required and forbidden arcs, limits on the number of parents, tiers.

    Parameters
    ----------
    required
        Arcs ``(parent, child)`` that every network must have.
    forbidden
        Arcs ``(parent, child)`` that no network may have.
    max_parents
        The largest number of parents, by child; variables not named have no limit of their own.
    tiers
        Groups of variables, earliest first: no variable has a parent in a later group.

    Examples
    --------
    >>> rules = Constraints(required=frozenset({("age", "income")}), tiers=(("age",), ("income",)))
    >>> rules.check(["age", "income", "region"])
    >>> rules.allowed("income", ["age", "region"]), rules.allowed("income", ["region"])
    (True, False)
    >>> rules.allowed("age", ["income"])
    False
    """

    required: frozenset[Arc] = frozenset()
    forbidden: frozenset[Arc] = frozenset()
    max_parents: Mapping[str, int] = field(default_factory=dict)
    tiers: tuple[tuple[str, ...], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.required or self.forbidden or self.max_parents or self.tiers)

    @cached_property
    def tier_of(self) -> dict[str, int]:
        """Number of the tier of every variable that is in one."""
        return {name: level for level, tier in enumerate(self.tiers) for name in tier}

    @cached_property
    def required_parents(self) -> dict[str, frozenset[str]]:
        """The parents every child must have, for the children that have any."""
        children = {child for _, child in self.required}
        return {c: frozenset(p for p, child in self.required if child == c) for c in children}

    def allowed(self, child: str, parents: Iterable[str]) -> bool:
        """Whether ``child`` may have exactly these parents."""
        return not self.violated(child, frozenset(parents))

    def violated(self, child: str, parents: Collection[str]) -> list[str]:
        """Say which constraints these parents of ``child`` break, in words."""
        broken = [
            f"required arc {_arc(p, child)}"
            for p in sorted(self.required_parents.get(child, frozenset()) - set(parents))
        ]
        broken += [
            f"forbidden arc {_arc(p, child)}"
            for p in sorted(parents)
            if (p, child) in self.forbidden
        ]
        broken += [
            f"tiers: {p!r} comes after {child!r}" for p in sorted(parents) if self._later(p, child)
        ]
        limit = self.max_parents.get(child)
        if limit is not None and len(parents) > limit:
            broken.append(f"at most {limit} parent{'' if limit == 1 else 's'} of {child!r}")
        return broken

    def barred(self, names: Sequence[str]) -> npt.NDArray[np.bool_]:
        """``bool[child, parent]``: arcs that are forbidden or against the tiers."""
        index = {name: v for v, name in enumerate(names)}
        matrix = np.zeros((len(names), len(names)), np.bool_)
        for parent, child in self.forbidden:
            matrix[index[child], index[parent]] = True
        tier = np.array([self.tier_of.get(name, -1) for name in names], np.int64)
        return matrix | ((tier[None, :] > tier[:, None]) & (tier[:, None] >= 0))

    def to_dict(self) -> dict[str, Any]:
        """Return what is constrained, as plain lists; nothing where nothing is.

        >>> from parentage.files.decoding import decoded
        >>> given = Constraints(required=frozenset({("a", "b")}), tiers=(("a",), ("b",)))
        >>> decoded(Constraints, given.to_dict()) == given
        True
        """
        parts: dict[str, Any] = {
            "required": [list(arc) for arc in sorted(self.required)],
            "forbidden": [list(arc) for arc in sorted(self.forbidden)],
            "max_parents": dict(self.max_parents),
            "tiers": [list(tier) for tier in self.tiers],
        }
        return {part: content for part, content in parts.items() if content}

    def merge(self, other: Constraints) -> Constraints:
        """Return both together: of two limits for a variable the smaller, of two tiers both.

        The other's tiers stay tiers; what these forbid becomes forbidden arcs.

        >>> a, b = Constraints(max_parents={"x": 2}), Constraints(max_parents={"x": 1, "y": 3})
        >>> a.merge(b).max_parents
        {'x': 1, 'y': 3}
        """
        limits = dict(self.max_parents)
        for child, limit in other.max_parents.items():
            limits[child] = min(limit, limits.get(child, limit))
        tiers, forbidden = other.tiers or self.tiers, self.forbidden | other.forbidden
        if self.tiers and other.tiers and self.tiers != other.tiers:
            forbidden |= {
                (later, earlier)
                for later in self.tier_of
                for earlier in self.tier_of
                if self._later(later, earlier)
            }
        return Constraints(self.required | other.required, forbidden, limits, tiers)

    def check(self, names: Sequence[str]) -> None:
        """Refuse unknown variables and contradictions, naming the culprits.

        Raises
        ------
        ConstraintError
            An unknown or repeated name.
        InfeasibleError
            An arc both required and forbidden, a required arc against the tiers, more required
            parents than the in-degree allows, or a cycle of required arcs.
        """
        self._check_names(names)
        for parent, child in sorted(self.required):
            if (parent, child) in self.forbidden:
                raise InfeasibleError(f"the arc {_arc(parent, child)} is required and forbidden")
            if self._later(parent, child):
                raise InfeasibleError(
                    f"the required arc {_arc(parent, child)} goes from tier "
                    f"{self.tier_of[parent] + 1} to the earlier tier {self.tier_of[child] + 1}"
                )
        for child, limit in self.max_parents.items():
            needed = self.required_parents.get(child, frozenset())
            if len(needed) > limit:
                raise InfeasibleError(
                    f"{child!r} may have at most {limit} parents but {len(needed)} are required: "
                    + ", ".join(sorted(needed))
                )
        cycle = self._required_cycle()
        if cycle:
            raise InfeasibleError("the required arcs form a cycle: " + " -> ".join(cycle))

    def _later(self, parent: str, child: str) -> bool:
        tier = self.tier_of
        return parent in tier and child in tier and tier[parent] > tier[child]

    def _check_names(self, names: Sequence[str]) -> None:
        known = set(names)
        arcs = [(arc, "required") for arc in self.required]
        arcs += [(arc, "forbidden") for arc in self.forbidden]
        for (parent, child), kind in sorted(arcs):
            if parent == child:
                raise ConstraintError(
                    f"the {kind} arc {_arc(parent, child)} connects a variable to itself"
                )
            _known(parent, known, names, f"the {kind} arc {_arc(parent, child)}")
            _known(child, known, names, f"the {kind} arc {_arc(parent, child)}")
        for child, limit in self.max_parents.items():
            _known(child, known, names, f"the in-degree limit {child}={limit}")
            if limit < 0:
                raise ConstraintError(f"the in-degree limit of {child!r} is {limit}; use 0 or more")
        seen: set[str] = set()
        for level, tier in enumerate(self.tiers, 1):
            for name in tier:
                _known(name, known, names, f"tier {level}")
                if name in seen:
                    raise ConstraintError(f"{name!r} is in two tiers, or twice in tier {level}")
                seen.add(name)

    def _required_cycle(self) -> list[str]:
        """Return a cycle of required arcs, first variable repeated at the end, or nothing."""
        above = {child: sorted(parents) for child, parents in self.required_parents.items()}
        done: set[str] = set()
        for start in sorted(above):
            path, at = [start], {start: 0}
            while path:
                here = path[-1]
                waiting = [p for p in above.get(here, []) if p not in done]
                if not waiting:
                    done.add(here)
                    del at[path.pop()]
                elif waiting[0] in at:
                    cycle = path[at[waiting[0]] :]
                    return [cycle[0], *reversed(cycle)]
                else:
                    at[waiting[0]] = len(path)
                    path.append(waiting[0])
        return []


def _arc(parent: str, child: str) -> str:
    return f"{parent} -> {child}"


def _known(name: str, known: set[str], names: Sequence[str], where: str) -> None:
    if name not in known:
        raise ConstraintError(
            f"{where} names {name!r}, which is not a variable; {did_you_mean(name, names)}"
        )
