"""Missing cells that hang together: rows taken apart, equal parts found once. Below expectation.

For a row with observed cells o, the posterior of its missing cells m is P(m | o) ∝ Π_v θ_v(m, o),
where only the families with a missing member depend on m. Missing cells that no family joins are
independent given o, so a row falls apart into *components*, each with the families that touch it.
What the posterior of a component depends on are the observed members of these families: rows that
agree in them are one *case*. Few cells of a row are missing and few surround them, so there are far
fewer cases than rows.

Missing cells without observed descendants sum to 1; for the likelihood they are left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.network.incomplete import ABSENT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Structure(NamedTuple):
    """A network as arrays want it."""

    names: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]
    sizes: tuple[int, ...]

    def offsets(self) -> list[int]:
        """Where the cells of each table begin when all are in one array."""
        cells = [self.sizes[v] * self.q(v) for v in range(len(self.sizes))]
        return [0, *np.cumsum(cells).tolist()]

    def q(self, v: int) -> int:
        """Joint states of the parents."""
        return math.prod(self.sizes[p] for p in self.parents[v])

    def strides(self, v: int) -> dict[int, int]:
        """How far one state more of a member moves in the table of its family."""
        found, step = {}, 1
        for member in (v, *reversed(self.parents[v])):
            found[member] = step
            step *= self.sizes[member]
        return found


@dataclass(frozen=True, eq=False)
class Component:
    """Missing cells that hang together, in all rows that lack them in the same surroundings.

    Parameters
    ----------
    variables
        The variables whose cells are missing, rising.
    families
        The children of the families that touch them, rising.
    rows
        ``int64[row]``: the rows, as numbers.
    case
        ``int64[row]``: which case each is.
    first
        ``int64[case]``: a row that is this case.
    weights
        ``float64[case]``: how many rows are.
    """

    variables: tuple[int, ...]
    families: tuple[int, ...]
    rows: Ints
    case: Ints
    first: Ints
    weights: Floats

    def scope(self, structure: Structure, family: int) -> tuple[int, ...]:
        """Return the missing members of a family, rising."""
        inside = set(self.variables)
        return tuple(sorted(v for v in (family, *structure.parents[family]) if v in inside))

    def cells(
        self, structure: Structure, codes: Ints, family: int, scope: Sequence[int], offset: int
    ) -> Ints:
        """Return which cell each case and joint state selects: ``int64[case, states of scope …]``.

        ``scope`` holds the missing members of the family, and maybe more; its table begins at
        ``offset``.
        """
        place = {v: a for a, v in enumerate(scope)}
        axes = [structure.sizes[v] for v in scope]
        found = np.full((len(self.first), *axes), offset, np.int64)
        for member, stride in structure.strides(family).items():
            shape = [1] * (1 + len(scope))
            if member in place:
                shape[1 + place[member]] = structure.sizes[member]
                found += (stride * np.arange(structure.sizes[member])).reshape(shape)
            else:
                shape[0] = len(self.first)
                found += (stride * codes[member, self.first]).reshape(shape)
        return found


def components(
    structure: Structure, codes: Ints, weights: Floats, *, every_cell: bool
) -> Iterator[Component]:
    """Take rows ``codes[variable, row]`` apart, −1 where missing.

    With ``every_cell`` also cells without observed descendants are in components.
    """
    split = _Splitter(structure, every_cell)
    absent = codes == ABSENT
    packed = np.packbits(absent, axis=0, bitorder="little")
    rows: dict[tuple[int, int], list[int]] = {}
    for row in np.flatnonzero(absent.any(axis=0)).tolist():
        for part in split.parts(int.from_bytes(packed[:, row].tobytes(), "little")):
            rows.setdefault(part, []).append(row)
    for (variables, families), found in rows.items():
        yield _component(structure, codes, weights, variables, families, np.array(found, np.int64))


def _component(
    structure: Structure, codes: Ints, weights: Floats, variables: int, families: int, rows: Ints
) -> Component:
    inside, children = tuple(_members(variables)), tuple(_members(families))
    around = {u for v in children for u in (v, *structure.parents[v])} - set(inside)
    seen = codes[sorted(around)][:, rows]
    if len(rows) == 1 or not around:
        case, first = np.zeros(len(rows), np.int64), rows[:1]
    else:
        at, case = equal_columns(seen)
        first = rows[at]
    many: Floats = np.bincount(case, weights=weights[rows]).astype(np.float64)
    return Component(inside, children, rows, case, first, many)


def equal_columns(codes: Ints) -> tuple[Ints, Ints]:
    """Find equal columns: the first of each kind, in lexicographic order, and the kind of each.

    Compared as bytes, which is several times as fast as :func:`numpy.unique` along an axis.

    >>> first, kind = equal_columns(np.array([[1, -1, 1], [0, 0, 0]]))
    >>> first.tolist(), kind.tolist()
    ([1, 0], [1, 0, 1])
    """
    words = np.ascontiguousarray((codes.T + 1).astype(">u2"))
    keys = words.view(f"V{words.shape[1] * words.itemsize}").ravel()
    _, first, kind = np.unique(keys, return_index=True, return_inverse=True)
    return first, kind.ravel()


def _members(mask: int) -> Iterator[int]:
    """Yield the bits of a mask, rising."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


class _Splitter:
    """Splits sets of missing cells, each once; sets of variables are bits of a number."""

    def __init__(self, structure: Structure, every_cell: bool) -> None:
        n = len(structure.sizes)
        self.every_cell = every_cell
        self.order = structure.order
        self.scope = [sum(1 << u for u in (v, *structure.parents[v])) for v in range(n)]
        self.families = [
            sum(1 << child for child in range(n) if self.scope[child] >> v & 1) for v in range(n)
        ]
        self.known: dict[int, list[tuple[int, int]]] = {}

    def parts(self, hidden: int) -> list[tuple[int, int]]:
        """Return the components of missing cells: their variables and families."""
        found = self.known.get(hidden)
        if found is None:
            found = self.known[hidden] = list(self._split(hidden))
        return found

    def _split(self, hidden: int) -> Iterator[tuple[int, int]]:
        needed = hidden if self.every_cell else self._with_observed_descendants(hidden)
        used = ~(hidden & ~needed)  # families of cells that are left out sum to 1
        left = needed
        while left:
            variables = frontier = left & -left
            families = 0
            while frontier:
                v = (frontier & -frontier).bit_length() - 1
                frontier &= frontier - 1
                new = self.families[v] & used & ~families
                families |= new
                for child in _members(new):
                    more = self.scope[child] & needed & ~variables
                    variables |= more
                    frontier |= more
            left &= ~variables
            yield variables, families

    def _with_observed_descendants(self, hidden: int) -> int:
        found = 0
        for v in reversed(self.order):
            children = self.families[v] & ~(1 << v)
            if hidden >> v & 1 and children & (~hidden | found):
                found |= 1 << v
        return found
