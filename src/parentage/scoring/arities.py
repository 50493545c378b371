"""The multisets of arities that sets of each size can have, and the exact products they stand for.

The number of joint states of a set is a product of arities, which can exceed any machine word. So
the search carries a *row* instead: the place of the set's multiset of arities among those of its
size. A part of :mod:`parentage.scoring.sum_search`.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Sequence


class Multisets:
    """Multisets by size; ``context_states`` multiplies every product.

    >>> pairs = Multisets([2, 3, 2])
    >>> pairs.arities, pairs.products(2), pairs.times(1).tolist()
    ((2, 3), [6, 4], [[0, 1], [0, 0]])
    """

    def __init__(self, arity: Sequence[int], context_states: int = 1) -> None:
        counts = Counter(arity)
        self.arities = tuple(sorted(counts))
        self._most = tuple(counts[r] for r in self.arities)
        self._context_states = context_states
        self._at: list[list[tuple[int, ...]]] = [[(0,) * len(self.arities)]]

    def at(self, size: int) -> list[tuple[int, ...]]:
        """Return the multisets of this size: how many of each arity."""
        while len(self._at) <= size:
            found = {
                (*few[:i], few[i] + 1, *few[i + 1 :])
                for few in self._at[-1]
                for i in range(len(few))
                if few[i] < self._most[i]
            }
            self._at.append(sorted(found))
        return self._at[size]

    def products(self, size: int) -> list[int]:
        """Return the joint states of each, the context's included; exact."""
        return [
            self._context_states
            * math.prod(r**count for r, count in zip(self.arities, few, strict=True))
            for few in self.at(size)
        ]

    def times(self, size: int) -> npt.NDArray[np.int32]:
        """Return ``[kind, row]``: the row, one size up, with one more of that arity (0: none)."""
        place = {few: row for row, few in enumerate(self.at(size + 1))}
        found = np.zeros((len(self.arities), len(self.at(size))), np.int32)
        for row, few in enumerate(self.at(size)):
            for i in range(len(few)):
                found[i, row] = place.get((*few[:i], few[i] + 1, *few[i + 1 :]), 0)
        return found
