"""The values that Bin has in a search, numbered per child.

A value is Bin of many families and is found once, with the family that scores more than all its
subsets. So levels hold numbers of two bytes, and each value is here
(:class:`parentage.kernels.levels.Values`). A child gets numbers in the order in which its values
are found, set by set, whatever the number of threads; after some 65,000 they have four bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.scoring.tuning import TUNING

if TYPE_CHECKING:
    from parentage.arrays import Ints
    from parentage.kernels.levels import Level, NewLevel, Values
    from parentage.work.array_files import Array


class NewSets(NamedTuple):
    """Sets of a chunk as they are stored, and the values of Bin that have no number yet."""

    arrays: tuple[Array, ...]
    """Those of a level, :func:`parentage.scoring.measures.measure.arrays_of`."""
    where: npt.NDArray[np.int32]
    """``[value]``: of which family it is, counted through all families of the chunk."""
    value: Ints


class Bins:
    """What values were found, in that order; ``pieces`` are children and their values."""

    def __init__(self, n_variables: int) -> None:
        from parentage.kernels.judging import N_RULES

        self.pieces: list[tuple[Ints, Ints]] = []
        self._count = np.full(n_variables, N_RULES, np.int64)

    def add(self, children: Ints, values: Ints) -> Ints:
        """Take values and return their numbers.

        >>> bins = Bins(2)
        >>> bins.add(np.array([0, 1, 0]), np.array([-5, -6, -4])).tolist()
        [16, 16, 17]
        >>> bins.add(np.array([0]), np.array([-3])).tolist()
        [18]
        """
        self.pieces.append((children, values))
        numbers = self._count[children] + ranks(children)
        self._count += np.bincount(children, minlength=len(self._count))
        return numbers

    def first_level(self, new: NewLevel) -> Level:
        """Return the level of single variables, whose values are the first of each child."""
        from parentage.kernels.judging import N_RULES
        from parentage.kernels.levels import Level

        if not self.pieces:
            self.add(np.arange(len(new.best)), new.best[:, 0])
        bins = np.full(new.best.shape, N_RULES, np.uint16)
        return Level(new.members, new.subsets, bins, self.values(), new.columns)

    def numbered(self, new: NewSets) -> tuple[Array, ...]:
        """Return the arrays of new sets, with numbers for all values."""
        members, subsets, bins, *columns = new.arrays
        if len(new.where):
            numbers = self.add(members.reshape(-1)[new.where].astype(np.int64), new.value)
            bins = bins.astype(number_type(self._count))  # what was sent cannot be written to
            bins.reshape(-1)[new.where] = numbers
        return members, subsets, bins, *columns

    def values(self) -> Values:
        """Return all values, for kernels."""
        from parentage.kernels.judging import DEAD, N_RULES
        from parentage.kernels.levels import Values, fill_slots

        count = self._count
        start = np.cumsum(count) - count
        value = np.empty(int(count.sum()), np.int64)
        for rule in range(N_RULES):
            value[start + rule] = DEAD + rule
        children = np.concatenate([np.empty(0, np.int64), *(piece[0] for piece in self.pieces)])
        values: Any = np.concatenate([np.empty(0, np.int64), *(piece[1] for piece in self.pieces)])
        value[start[children] + N_RULES + ranks(children)] = values
        bits = np.frexp(count)[1] + 1  # at least twice as many slots as numbers
        size = np.left_shift(1, bits.astype(np.int64))
        found = Values(
            start,
            value,
            np.zeros(int(size.sum()), np.uint32),
            np.cumsum(size) - size,
            (64 - bits).astype(np.uint64),
        )
        fill_slots(found.start, found.value, found.slots, found.first, found.shift)
        return found


def number_type(count: Ints) -> npt.DTypeLike:
    """Return the type of numbers where children have so many values each."""
    return np.uint16 if count.max(initial=0) <= TUNING.narrow_bins else np.uint32


def ranks(children: Ints) -> Ints:
    """Return how many before each are equal to it.

    >>> ranks(np.array([3, 1, 3, 3, 1])).tolist()
    [0, 0, 1, 2, 1]
    """
    order = np.argsort(children, kind="stable")
    in_order = children[order]
    found = np.empty(len(children), np.int64)
    found[order] = np.arange(len(children)) - np.searchsorted(in_order, in_order)
    return found
