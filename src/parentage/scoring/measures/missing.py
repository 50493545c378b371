"""Data with missing values: node-average likelihoods (PNAL).

A measure (:mod:`parentage.scoring.measures.measure`). Each set is counted once, on its complete
rows, and that table gives the likelihood of every child in it; nothing of a set is needed when it
becomes parents, because the next set has other rows. Rules and their proof: Theorem 8 in
``docs/theory.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from parentage.scoring.encoding import EncodedMissing, complete_residuals, encode_missing
from parentage.scoring.measures.measure import Measure, arrays_of, blocks, new_level_of
from parentage.scoring.rules import FamilyNumbers
from parentage.scoring.scores.node_average import observed_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from parentage.arrays import Ints
    from parentage.data.table import Table
    from parentage.kernels.levels import Level, NewLevel
    from parentage.kernels.missing import MissingTerms
    from parentage.scoring.measures.measure import Columns, Members
    from parentage.scoring.scores import NodeAverage
    from parentage.scoring.search.levels import LevelStep

UNSEEN = -(2**61)
"""Likelihood of a family that no row has complete."""


class MissingMeasure(Measure):
    """The average likelihood of a family over the rows that have it, minus a penalty."""

    endless = True
    slower_by = 15.0
    whole_families = True

    @staticmethod
    def encode(
        table: Table,
        score: NodeAverage,
        width: float,
        context: Sequence[int],
        closed: bool,
        most: int,
    ) -> EncodedMissing:
        """Encode a table with its missing values."""
        return encode_missing(table, score, width, context)

    residuals = staticmethod(complete_residuals)

    @property
    def encoded(self) -> EncodedMissing:
        """The table, ready for counting."""
        return self.plan.encoded  # type: ignore[return-value]  # it was encoded here

    @property
    def score(self) -> NodeAverage:
        """The definition of the score."""
        return self.plan.score  # type: ignore[return-value]  # the catalogue says so

    def first(self) -> tuple[NewLevel, Columns]:
        """Return the single variables, and the empty set."""
        e, grid = self.encoded, self.encoded.grid
        members = self.variables[:, None]
        rows, left = self._count(members)
        best = self._likelihoods(rows, left[:, 0]) - grid.unit * np.minimum(e.arity - 1, grid.cap)
        subsets = np.zeros((len(members), 1), np.int32)
        level = new_level_of([members, subsets, np.ascontiguousarray(best[:, None]), rows])
        return level, (np.array([e.total_rows]),)

    def terms(
        self, level: Level, below: Columns, store: bool, check: Callable[[], None]
    ) -> MissingTerms:
        """Return what the rule compares."""
        from parentage.kernels.missing import MissingTerms

        e, grid = self.encoded, self.encoded.grid
        none = np.empty((0, 0), np.int64)
        return MissingTerms(e.arity, self.plan.h, e.n_rows, grid.unit, grid.cap, none)

    def count(
        self, members: Members, uncounted: Columns, terms: MissingTerms
    ) -> tuple[Columns, MissingTerms]:
        """Count complete rows, and what is left of every member given the others."""
        rows, left = self._count(members)
        return (rows,), terms._replace(left=left)

    def stored(self, new: NewLevel, step: LevelStep) -> NewLevel:
        """Leave out what is never seen together, with all that contains it."""
        seen = new.columns[0] > 0
        return new_level_of(array[seen] for array in arrays_of(new))

    def beyond(self, level: Level, below: Columns, complete_to: int) -> npt.NDArray[np.float64]:
        """Bound what larger families score: h over the most rows that a live family has."""
        from parentage.kernels.levels import most_of_live

        e, grid = self.encoded, self.encoded.grid
        members, bins, rows = level.members, level.bins, level.columns[0]
        least = self.least_products(level, complete_to)
        most_rows = np.ones(e.n_variables, np.int64)
        for some in blocks(len(members), members, rows, bins):
            of_family = np.repeat(rows[some], members.shape[1]).reshape(-1, members.shape[1])
            most_of_live(members[some], bins[some], of_family, most_rows)
        unexplained = grid.to_float(self.plan.h) * (e.n_rows / most_rows)
        price = e.w * (e.arity.astype(np.float64) - 1) * least
        bound: npt.NDArray[np.float64] = float(grid.to_float(grid.tolerance)) - unexplained - price
        return bound

    def _count(self, members: Members) -> tuple[Ints, Ints]:
        """Return ``[set]`` complete rows, and ``[set, member]`` n·H(member | the others)."""
        from parentage.kernels.missing import count_complete

        rows, left = np.empty(len(members), np.int64), np.empty(members.shape, np.int64)
        count_complete(members, self.encoded.rows, self.encoded.arity, rows, left)
        return rows, left

    def _likelihoods(self, rows: Ints, left: Ints) -> Ints:
        """Return N·LL / n; of no row, which a context may leave, what one row would have."""
        from parentage.kernels.missing import scaled

        found: Ints = scaled.py_func(left, self.encoded.n_rows, np.maximum(rows, 1))
        return -found

    # Expansion: sweep 0 is nothing, sweep 1 + x the likelihood of child x

    @property
    def kinds_of_sweeps(self) -> int:
        """Nothing, and one for each child."""
        return 1 + self.encoded.n_variables

    def family_terms(self, children: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """Return one sweep per child: a family is counted whole, on rows of its own."""
        none = np.zeros(len(children), np.int64)
        return none, 1 + children, none, none

    def sweep(self, kind: int, sets: Members, others: Members | None = None) -> Ints:
        """Return likelihoods of a child with Π ∪ y; at the child itself that with Π alone.

        The sets counted are (Π, child, y), in which neighbours share all but the last member.
        """
        others = self.variables if others is None else others
        (count, size), n, child = sets.shape, len(others), kind - 1
        if not kind:
            return np.zeros((count, n), np.int64)
        members = np.empty((count, n, size + 2), np.uint16)
        members[:, :, :size] = sets[:, None, :]
        members[:, :, size] = child
        members[:, :, size + 1] = others
        found = self._likelihood_of(members.reshape(count * n, size + 2), size).reshape(count, n)
        if child in others:
            alone = np.ascontiguousarray(members[:, 0, :-1])
            found[:, others == child] = self._likelihood_of(alone, size)[:, None]
        return found

    def _likelihood_of(self, members: Members, at: int) -> Ints:
        """Return N·LL / n per set, of the member at that place; UNSEEN without a row."""
        rows, left = self._count(members)
        return np.where(rows > 0, self._likelihoods(rows, left[:, at]), UNSEEN)

    # Explanation

    def unexplained(self, table: Table, x: int, parents: Sequence[int]) -> float:
        """Return h spread over the rows that have x and these parents."""
        return self.score.unexplained(table, x, parents)

    def numbers(
        self, table: Table, x: int, parents: Sequence[int], y: int, bin_star: float
    ) -> FamilyNumbers:
        """Return what the one rule compares; h is spread over rows of subsets."""
        score = self.score
        fewest = max(score.unexplained(table, x, [p for p in parents if p != z]) for z in parents)
        without_x = table.rows_in(observed_rows(table, parents))
        with_x = table.rows_in(observed_rows(table, [x]))
        if 0 < without_x < with_x:
            fewest = max(fewest, score.unexplained(table, x) * with_x / without_x)
        price = score.price(table, x, parents)
        return FamilyNumbers(h_x=fewest, penalty=price, bin_star=bin_star)
