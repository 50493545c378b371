"""G of every set up to a size: what the counts of the paper are made of.

The experiments look at all families up to in-degree 5, pruned or not, so here every set of up to
six variables is counted, in lexicographic order, level by level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from parentage.scoring.entropy import Encoded, Int64s


@dataclass(frozen=True, eq=False)
class SetLevel:
    """All sets of one size, in lexicographic order."""

    members: npt.NDArray[np.uint16]
    """``[set, member]``, rising."""
    subsets: npt.NDArray[np.int32]
    """``[set, member]``: where the set without this member is in the level below."""
    G: Int64s
    """``[set]``, in the fixed point of the encoded table."""


def count_all_sets(encoded: Encoded, largest: int) -> list[SetLevel]:
    """Count the sets of 0, 1, … ``largest`` members; level s is at index s."""
    n = encoded.n_variables
    nothing = np.zeros((1, 0), np.uint16)
    single = np.arange(n, dtype=np.uint16)[:, None]
    levels = [
        SetLevel(nothing, np.zeros((1, 0), np.int32), np.array([encoded.empty], np.int64)),
        SetLevel(single, np.zeros((n, 1), np.int32), encoded.single),
    ]
    for _ in range(2, min(largest, n) + 1):
        members = extend(levels[-1].members, n)
        levels.append(SetLevel(members, ranks_of_subsets(members, n), encoded.count(members)))
    return levels


def extend(members: npt.NDArray[np.uint16], n: int) -> npt.NDArray[np.uint16]:
    """Append every larger variable to every set; the order stays lexicographic.

    >>> extend(np.array([[0], [1], [2]], np.uint16), 3).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    last = members[:, -1].astype(np.int64)
    copies = n - 1 - last
    start = np.cumsum(copies) - copies
    tail = np.arange(copies.sum()) + np.repeat(last + 1 - start, copies)
    return np.column_stack([np.repeat(members, copies, axis=0), tail.astype(np.uint16)])


def ranks_of_subsets(members: npt.NDArray[np.uint16], n: int) -> npt.NDArray[np.int32]:
    """Return, for each set and member, the rank of the set without that member."""
    size = members.shape[1]
    ranks = [lexicographic_rank(np.delete(members, t, axis=1), n) for t in range(size)]
    return np.column_stack(ranks).astype(np.int32)


def lexicographic_rank(members: npt.NDArray[np.uint16], n: int) -> Int64s:
    """Return the rank of every set among the sets of its size: C(n, s) − 1 − Σ C(n−1−c_i, s−i).

    >>> lexicographic_rank(np.array([[0, 1], [0, 2], [1, 2]], np.uint16), 3)
    array([0, 1, 2])
    """
    size = members.shape[1]
    ranks = np.full(len(members), math.comb(n, size) - 1, np.int64)
    for i in range(size):
        behind = np.array([math.comb(n - 1 - v, size - i) for v in range(n)], np.int64)
        ranks -= behind[members[:, i]]
    return ranks
