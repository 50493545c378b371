"""Lists that grow, laid out for the order search. Between growth and :mod:`.anytime`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parentage.optimise.problem import OrderSpace, n_words, offsets_of

if TYPE_CHECKING:
    from parentage.scoring.growth import Growth

PER_PARENT = 1e-9
"""Of two sets with one score the smaller costs less, by so many nats a parent."""


class Ranking:
    """The families as an order search needs them: by child and rising cost, kept up to date.

    What is new is sorted and merged in, so that lists of a million sets follow in hundredths of a
    second.
    """

    def __init__(self, growth: Growth) -> None:
        self.growth = growth
        self._rows = np.empty(0, np.int64)
        self._offsets = np.zeros(growth.n + 1, np.int64)
        self._reach = np.zeros((growth.n, n_words(growth.n)), np.uint64)

    def space(self) -> OrderSpace:
        """Return all families there are now."""
        from parentage.kernels.stems import Laid, lay_out

        growth, known = self.growth, len(self._rows)
        child, size = growth.children[known:], growth.sizes[known:]
        new = known + np.lexsort((size, -growth.scores[known:], child))
        new_offsets = offsets_of(np.bincount(child, minlength=growth.n))
        width = max(1, int(growth.sizes.max(initial=0)))
        laid = Laid(
            np.empty(growth.n_sets, np.int64),
            np.empty((growth.n_sets, width), np.uint16),
            np.empty(growth.n_sets),
            self._reach,
        )
        lay_out(
            self._rows, self._offsets, new, new_offsets, growth.store,
            growth.terms.scale, PER_PARENT, laid,
        )  # fmt: skip
        self._rows, self._offsets = laid.rows, self._offsets + new_offsets
        arrays = self._offsets, laid.sets, laid.cost, self._reach, laid.rows
        if any(growth.terms.required):
            return OrderSpace.requiring(*arrays, growth.terms.required)
        return OrderSpace(*arrays)
