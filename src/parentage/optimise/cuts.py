"""Cuts: what acyclicity demands of the variables of the integer programme.

For every candidate set W of a child v the programme has a variable x, one when v takes W. One
set per child is chosen. A cut looks at some variables, its members S, and says

    sum over v in S and sets W of v of  a(v, W ∩ S) · x  <=  b

with whole coefficients a >= 0 and a right side b that is at least what the best network on S
alone is worth under a. A network restricted to S is a network, so a cut holds for all of them.

Counting cuts have a(v, U) = 1 for |U| >= k and b = |S| − k, since in an acyclic network the first
k members, in any order the network respects, have fewer than k parents in S:

- k = 1: cluster cuts (Jaakkola et al. 2010), and cycle cuts when S is a cycle of the support;
- k = |S| − 1: set packing, at most one member has all the others as parents;
- in between: k-cluster cuts (Cussens 2011).

Local cuts have any coefficients, kept in a table by child and mask (:mod:`.separation`); their
right side comes from a dynamic programme. A local cut may pass through variables outside S: such a
parent u counts as the members above it by way of the parents that
``through`` names for u. That is right while all these u have those parents; otherwise the left
side is at most b + weight, hence the cut

    sum of a · x + weight · sum over u, sets with those parents of x  <=  b + weight · number of u.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from parentage.arrays import Flags, Floats, Ints
    from parentage.optimise.problem import Sets

Table = npt.NDArray[np.int64]
Family = Literal["cluster", "cycle", "packing", "k-cluster", "local", "shrunken"]
"""Kinds of cuts, by how they are found."""


@dataclass(frozen=True, eq=False)
class Cut:
    """A cut, with its members as variables of a problem.

    Parameters
    ----------
    family
        How it was found.
    members
        The variables S, rising.
    side
        The right side b.
    k
        At least this many parents inside give a coefficient of one; 0 with a table.
    table
        ``int16[L, 2^L]``: coefficients by child and mask; rising with the mask.
    through
        Variables passed through, each with the parents it is taken to have.
    weight
        What each of their sets with those parents weighs.
    """

    family: Family
    members: tuple[int, ...]
    side: int
    k: int = 0
    table: npt.NDArray[np.int16] | None = None
    through: tuple[tuple[int, tuple[int, ...]], ...] = ()
    weight: int = 0

    @property
    def key(self) -> tuple[object, ...]:
        """What two cuts have in common when they are the same."""
        if self.table is None:
            return self.members, self.k
        return self.members, self.side, self.table.tobytes(), self.through


class CutRow(NamedTuple):
    """A cut as a row of the programme: ``sum of values · x[columns] <= side``."""

    columns: Ints
    values: Floats
    side: float


def counting_cut(members: Iterable[int], k: int, family: Family | None = None) -> Cut:
    """Make a counting cut; 1 <= k < number of members."""
    inside = tuple(sorted(int(v) for v in members))
    if family is None:
        packing = k == len(inside) - 1
        family = "packing" if packing else "cluster" if k == 1 else "k-cluster"
    return Cut(family, inside, len(inside) - k, k)


def unique(cuts: Iterable[Cut]) -> list[Cut]:
    """Leave out counting cuts that came before."""
    return list({cut.key: cut for cut in reversed(list(cuts))}.values())[::-1]


def cut_row(sets: Sets, cut: Cut, removed: Flags) -> CutRow:
    """Write a cut as a row, without the removed sets."""
    from parentage.kernels.cuts import passing_row, row_of

    members = np.array([*cut.members, *(u for u, _ in cut.through)], np.int64)
    room = int((sets.offsets[members + 1] - sets.offsets[members]).sum())
    columns, values = np.empty(room, np.int64), np.empty(room)
    members, side = members[: len(cut.members)], cut.side
    reach = reach_of(cut, len(sets.offsets) - 1)
    table = np.zeros((0, 0), np.int16) if cut.table is None else cut.table
    count, shift = row_of(members, cut.k, reach, table, *sets, removed, columns, values)
    for u, above in cut.through if cut.weight else ():
        asked = np.array(above, np.int64)
        count = passing_row(u, asked, cut.weight, *sets, removed, columns, values, count)
        side += cut.weight
    return CutRow(columns[:count].copy(), values[:count].copy(), float(side - shift))


def reach_of(cut: Cut, n: int) -> Ints:
    """Return for every variable, as bits, the members that it brings in as a parent.

    For a counting cut return one for members.
    """
    reach = np.zeros(n, np.int64)
    reach[list(cut.members)] = 1 if cut.k else 1 << np.arange(len(cut.members))
    changed = bool(cut.through)
    while changed:
        changed = False
        for u, above in cut.through:
            bits = int(np.bitwise_or.reduce(reach[list(above)], initial=0))
            changed = changed or bits != reach[u]
            reach[u] = bits
    return reach


def project(cuts: Iterable[Cut], position: Mapping[int, int]) -> list[Cut]:
    """Carry cuts over to a part whose variables have new positions.

    Counting cuts lose members outside; other cuts are carried over when they are all inside.
    """
    carried = []
    for cut in cuts:
        if cut.table is None:
            inside = tuple(sorted(position[v] for v in cut.members if v in position))
            if len(inside) > cut.k:
                family = cut.family if len(inside) == len(cut.members) else None
                carried.append(counting_cut(inside, cut.k, family))
        elif not cut.through and (same := moved(cut, position)) is not None:
            carried.append(same)
    return unique(carried)


def moved(cut: Cut, position: Mapping[int, int]) -> Cut | None:
    """Return a cut with new positions for its variables; None if one of them has none.

    None as well if the members change their order: the table goes by it.
    """
    through = {v for u, above in cut.through for v in (u, *above)}
    if not through.union(cut.members) <= position.keys():
        return None
    members = tuple(position[v] for v in cut.members)
    if members != tuple(sorted(members)):
        return None
    passed = tuple((position[u], tuple(position[p] for p in above)) for u, above in cut.through)
    return replace(cut, members=members, through=passed)


# Cuts as plain values: what certificates and checkpoints have


def written_cut(cut: Cut, variables: Ints, sets: Sets) -> list[Any]:
    """Write a cut with variables of the lists; of a table what it says about ``sets``."""
    members = variables[list(cut.members)].tolist()
    if cut.table is None:
        return ["cluster", members, cut.k]
    masks, values = [], []
    reach = reach_of(cut, len(variables))
    for j, v in enumerate(cut.members):
        low, high = sets.starts[sets.offsets[v]], sets.starts[sets.offsets[v + 1]]
        owner = np.repeat(
            np.arange(sets.offsets[v + 1] - sets.offsets[v]),
            np.diff(sets.starts[sets.offsets[v] : sets.offsets[v + 1] + 1]),
        )
        inside = np.zeros(sets.offsets[v + 1] - sets.offsets[v], np.int64)
        np.bitwise_or.at(inside, owner, reach[sets.parents[low:high]])
        met = np.unique(inside & ~(1 << j))
        worth = cut.table[j, met].astype(np.int64)
        implied = ((met[None, :] & ~met[:, None]) == 0) & (met[None, :] != met[:, None])
        known = np.where(implied, worth[None, :], 0).max(axis=1, initial=0)
        stated = worth > known
        masks.append(met[stated].tolist())
        values.append(worth[stated].tolist())
    written = ["local", members, masks, values, cut.side]
    if cut.through:
        through = [[int(variables[u]), variables[list(w)].tolist()] for u, w in cut.through]
        written += [through, cut.weight]
    return written


def read_cut(written: Sequence[Any]) -> Cut:
    """Read what :func:`written_cut` returned: a cut over the variables of the lists.

    Raises
    ------
    KeyError, TypeError, ValueError, IndexError
        It is something else.
    """
    kind, members = written[0], tuple(int(v) for v in written[1])
    if kind == "cluster":
        return counting_cut(members, int(written[2]))
    if kind != "local":
        raise ValueError(f"a cut of the kind {kind!r}")
    masks, values, side = written[2:5]
    through = tuple(
        (int(u), tuple(int(p) for p in above)) for u, above in (written[5:6] or [[]])[0]
    )
    return Cut(
        "shrunken" if through else "local",
        members,
        int(side),
        0,
        rising_table(masks, values),
        through,
        int(written[6]) if through else 0,
    )


def rising_table(
    masks: Sequence[Sequence[int]], values: Sequence[Sequence[int]]
) -> npt.NDArray[np.int16]:
    """Return coefficients by child and mask: the highest that is stated for a subset.

    >>> rising_table([[2], []], [[3], []]).tolist()
    [[0, 0, 3, 3], [0, 0, 0, 0]]
    """
    count = len(masks)
    table = np.zeros((count, 1 << count), np.int16)
    for j, (own, worth) in enumerate(zip(masks, values, strict=True)):
        table[j, np.array(own, np.int64)] = worth
    for bit in range(count):
        halves = table.reshape(count, -1, 2, 1 << bit)
        np.maximum(halves[:, :, 1], halves[:, :, 0], out=halves[:, :, 1])
    return table
