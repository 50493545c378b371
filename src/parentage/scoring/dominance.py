"""What every family is up against: the best of its proper subsets among families of a list.

Between what a search or growth has found and candidate lists, where scores were changed by a prior
or families were found without all their subsets. Some children at a time, so that masks and
indices take little memory beside the families themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterator

    Ints = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

SETS_AT_ONCE = 1 << 16


def best_subsets(n: int, children: Ints, sizes: Ints, parents: Ints, scores: Floats) -> Floats:
    """Return ``[family]``: the score of its best proper subset, −∞ if there is none.

    Parents of all families stand one after the other, ``sizes`` of them each; ``n`` variables.

    >>> sizes, parents = np.array([0, 1, 2]), np.array([1, 1, 2])
    >>> best_subsets(3, np.zeros(3, np.int64), sizes, parents, np.array([-5.0, -4.0, -6.0]))
    array([-inf,  -5.,  -4.])
    """
    from parentage.kernels.dominance import best_proper_subsets

    starts = np.cumsum(sizes) - sizes
    order = np.lexsort((sizes, -scores, children))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(children, minlength=n))])
    best = np.empty(len(scores))
    for first, last in _blocks(offsets):
        own = order[offsets[first] : offsets[last]]
        row = np.repeat(np.arange(len(own)), sizes[own])
        ends = np.cumsum(sizes[own])
        within = np.arange(len(row)) - np.repeat(ends - sizes[own], sizes[own])
        member = parents[np.repeat(starts[own], sizes[own]) + within]
        masks = np.zeros((len(own), -(-n // 64)), np.uint64)
        bits = np.uint64(1) << (member & 63).astype(np.uint64)
        np.bitwise_or.at(masks, (row, member >> 6), bits)
        cuts = offsets[first : last + 1] - offsets[first]
        best[own] = best_proper_subsets(cuts, masks, scores[own])
    return best


def _blocks(offsets: Ints) -> Iterator[tuple[int, int]]:
    """Cut children into runs of about so many sets, or of one child."""
    first, end = 0, len(offsets) - 1
    while first < end:
        most = offsets[first] + SETS_AT_ONCE
        last = max(first + 1, int(np.searchsorted(offsets, most, side="right")) - 1)
        yield first, min(last, end)
        first = min(last, end)
