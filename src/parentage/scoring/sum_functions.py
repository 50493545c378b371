"""The functions of counts that scores by sums add up, on the grid of an encoded table.

Shared by the search (:mod:`parentage.scoring.sum_search`) and by lists that grow
(:mod:`parentage.scoring.stem_counting`): one place rounds, so both have the same score of a family,
bit for bit.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from parentage.data.table import class_sizes

if TYPE_CHECKING:
    from parentage.data.table import Repeats
    from parentage.scoring.entropy import Encoded, Int64s
    from parentage.scoring.scores import BySums


class SumFunctions:
    """f, m, ρ and k of a score (:mod:`parentage.scoring.scores.sums`) for one table."""

    def __init__(self, score: BySums, encoded: Encoded) -> None:
        self.score, self.encoded = score, encoded
        self.n_rows = encoded.total_rows
        self.longest = max(8, *(int(counts.max()) for counts in self.single_counts))

    def fixed(self, x: Any) -> Int64s:
        """Round to the grid."""
        scaled = np.asarray(x, np.longdouble) * np.longdouble(self.encoded.grid.scale)
        rounded: Int64s = np.rint(scaled).astype(np.int64)
        return rounded

    def value(self, q: int) -> Int64s:
        """Return f for sets of ``q`` joint states, up to the largest count of a variable."""
        return self.fixed(self.score.value(self.longest, q))

    def value_of_any(self, q: int) -> Int64s:
        """Return f for sets of ``q`` joint states, up to N."""
        return self.fixed(self.score.value(self.n_rows, q))

    def minus(self, r: int) -> Int64s:
        """Return m for children of ``r`` states, up to N."""
        return self.fixed(self.score.minus(self.n_rows, r))

    def rho(self, products: list[int]) -> Int64s:
        """Return ρ of sets of so many joint states."""
        return self.fixed([self.score.rho(self.n_rows, q) for q in products])

    def constants(self, arity: list[int]) -> Int64s:
        """Return k of children of so many states."""
        return self.fixed([self.score.constant(self.n_rows, r) for r in arity])

    def nothing(self, q: int) -> int:
        """Return the value of the empty set, which is the context's, of ``q`` joint states."""
        return int(self.value_of_any(q)[self.groups].sum() + self.rho([q])[0])

    def minus_nothing(self, r: int) -> int:
        """Return what a family without parents subtracts, if m is not f."""
        return int(self.minus(r)[self.groups].sum())

    @cached_property
    def groups(self) -> Int64s:
        """Rows per group of the context; groups of a single row are left out."""
        return class_sizes(self._group_of_row(), self._repeats())

    @cached_property
    def single_counts(self) -> list[Int64s]:
        """Rows per joint state of every variable with the context."""
        e = self.encoded
        group, repeats = self._group_of_row(), self._repeats()
        rows = e.first_rows.astype(np.int64)
        return [
            class_sizes(group * r + e.column(x)[rows], repeats, 1) for x, r in enumerate(e.arity)
        ]

    def _group_of_row(self) -> Int64s:
        starts = self.encoded.first_starts.astype(np.int64)
        return np.repeat(np.arange(len(starts) - 1), starts[1:] - starts[:-1])

    def _repeats(self) -> Repeats:
        e = self.encoded
        return e.repeats[e.first_rows] if len(e.repeats) else e.repeats
