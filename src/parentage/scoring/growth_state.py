"""Where lists that grow are: what :class:`parentage.scoring.growth.Growth` goes on from.

Families and their order, which of them were enlarged, what was counted, and which stems were held.
The vectors of the stems are not among it: they are counted again when they are needed, and that is
not counted as work, so that a budget of work lasts as long as it does without a break.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.scoring.stems import Stem

if TYPE_CHECKING:
    from collections.abc import Sequence


class Mark(NamedTuple):
    """How far growth is; families are only added, so that little is to be noted."""

    n_sets: int
    n_done: int
    counts: tuple[int, int]
    """Stems counted, families scored."""
    held: tuple[Stem, ...]
    """Stems with a vector, the oldest first."""


class Snapshot(NamedTuple):
    """What was found since the search, and what was counted for it, as arrays."""

    counts: npt.NDArray[np.int64]
    """A checksum of the families that growth began with, stems counted, families scored."""
    children: npt.NDArray[np.int32]
    sizes: npt.NDArray[np.int32]
    parents: npt.NDArray[np.uint16]
    scores: npt.NDArray[np.int64]
    done: npt.NDArray[np.uint64]
    """Keys of the families that were enlarged."""
    held_sizes: npt.NDArray[np.int64]
    held: npt.NDArray[np.int32]
    """Stems that were held, the oldest first: counter and members, one after the other."""


def stems_in(stems: Sequence[Stem]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Return how many members stems have, and counter and members, one after the other.

    >>> stems_in([Stem(0, ()), Stem(1, (0, 2))])
    (array([0, 2]), array([0, 1, 0, 2], dtype=int32))
    """
    sizes = np.array([len(stem.members) for stem in stems], np.int64)
    flat = chain.from_iterable((stem.counter, *stem.members) for stem in stems)
    return sizes, np.fromiter(flat, np.int32, int(sizes.sum()) + len(sizes))


def stems_of(sizes: npt.NDArray[np.int64], flat: npt.NDArray[np.int32]) -> list[Stem]:
    """Return what :func:`stems_in` took apart.

    >>> stems_of(*stems_in([Stem(0, ()), Stem(1, (0, 2))]))
    [Stem(counter=0, members=()), Stem(counter=1, members=(0, 2))]
    """
    numbers, ends = flat.tolist(), np.cumsum(sizes + 1).tolist()
    starts = [0, *ends][:-1]
    return [
        Stem(numbers[start], tuple(numbers[start + 1 : end]))
        for start, end in zip(starts, ends, strict=True)
    ]
