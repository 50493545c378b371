"""Penalised likelihoods, BIC and its relatives: one G per set, the penalty from the arities.

A measure (:mod:`parentage.scoring.measures.measure`) whose rules are closed: only live sets are
looked at, and joining and judging are one kernel.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from parentage.scoring.measures.measure import (
    CountedMeasure,
    arrays_of,
    new_level_of,
    sums_with_each,
)
from parentage.scoring.rules import RuleSet, TableNumbers, caps_by_rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from parentage.arrays import Ints
    from parentage.data.table import Table
    from parentage.kernels.levels import Level, NewLevel
    from parentage.kernels.likelihoods import LikelihoodTerms
    from parentage.scoring.encoding import Encoded
    from parentage.scoring.measures.measure import Columns, Members
    from parentage.scoring.search.levels import LevelStep


class PenalisedMeasure(CountedMeasure):
    """The likelihood of a family minus a weight for each of its free parameters."""

    payable = True

    @staticmethod
    def caps(
        encoded: Encoded, table: Table, rules: RuleSet, h: Ints, width: float
    ) -> dict[str, Ints]:
        """Return what the cap rules prove."""
        grid = encoded.grid
        numbers = TableNumbers(
            table.n_rows,
            [float(x) for x in grid.to_float(encoded.entropies)],
            [float(x) for x in grid.to_float(h)],
            [int(r) for r in encoded.arity],
            encoded.w,
            width,
        )
        return caps_by_rule(rules, numbers)

    @property
    def entropies(self) -> Ints:
        """N·H of every variable."""
        return self.encoded.entropies

    def first(self) -> tuple[NewLevel, Columns]:
        """Return the single variables, and G of the empty set."""
        e = self.encoded
        best = (e.single - e.empty - e.grid.unit * (e.arity - 1))[:, None]
        members = self.variables[:, None]
        subsets = np.zeros((e.n_variables, 1), np.int32)
        level = new_level_of([members, subsets, np.ascontiguousarray(best), e.single])
        return level, (np.array([e.empty], np.int64),)

    def best_alone(self, first: NewLevel) -> Ints:
        """Return nothing: no set is kept for a variable outside it."""
        return np.empty((0, 0), np.int64)

    def terms(
        self, level: Level, below: Columns, store: bool, check: Callable[[], None]
    ) -> LikelihoodTerms:
        """Return what the rules compare."""
        from parentage.kernels.likelihoods import LikelihoodTerms

        e, plan = self.encoded, self.plan
        return LikelihoodTerms(
            e.arity, e.entropies, plan.h, e.grid.unit, e.grid.cap, plan.rules.closed, below[0],
            int(e.arity.min()),
        )  # fmt: skip

    def join(
        self, span: tuple[np.int64, np.int64], step: LevelStep, room: NewLevel, tally: Ints
    ) -> int:
        """Join and judge in one go; a set without a live family is passed over."""
        from parentage.kernels.likelihoods import join_siblings

        return int(
            join_siblings(*span, step.siblings, step.level, step.facts, step.terms, room, tally)
        )

    def count(
        self, members: Members, uncounted: Columns, terms: LikelihoodTerms
    ) -> tuple[Columns, LikelihoodTerms]:
        """Count G."""
        return (self.encoded.count(members),), terms

    def stored(self, new: NewLevel, step: LevelStep) -> NewLevel:
        """Leave out sets that nothing is built on, where Theorem 1⁺ tells."""
        from parentage.kernels.judging import THM1P
        from parentage.kernels.likelihoods import leave_ended

        if not (step.terms.closed and step.facts.rules & 1 << THM1P):
            return new
        left = leave_ended(new, step.level.columns[0], step.facts.slack, step.terms)
        return new_level_of(array[:left] for array in arrays_of(new))

    def beyond(self, level: Level, below: Columns, complete_to: int) -> npt.NDArray[np.float64]:
        """Bound what larger families score: −h, and the penalty of the fewest joint states."""
        encoded = self.encoded
        states = encoded.arity.astype(np.float64)
        least = self.least_products(level, complete_to)
        unexplained = encoded.grid.to_float(self.plan.h - encoded.grid.tolerance)
        bound: npt.NDArray[np.float64] = -unexplained - encoded.w * (states - 1) * least
        return bound

    def live_at_most(self, deepest: int) -> list[int]:
        """Return an upper bound on the live sets of each size."""
        return live_sets_at_most(self.encoded, deepest, self.plan.width or 0.0)

    def family_terms(self, children: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """Return the one sweep there is, of G."""
        none = np.zeros(len(children), np.int64)
        return none, none, none + self.encoded.empty, none

    def sweep(self, kind: int, sets: Members, others: Members | None = None) -> Ints:
        """Return G of every set with every variable."""
        others = self.variables if others is None else others
        return sums_with_each(self.swept, sets, others, self.encoded.grid.f[None, :])


def live_sets_at_most(encoded: Encoded, deepest: int, width: float = 0.0) -> list[int]:
    """Return an upper bound on the live sets of each size, from the arities alone.

    A live set S has a child X with q_Π < 1 + 2·(N·H(X) + γ)/(w (r_X − 1)) for the others Π
    (Theorem 1 with nothing given), hence q_S < r_X times that. The sets with a product of arities
    below the largest such number are counted by dynamic programming over products.
    """
    spare = encoded.grid.to_float(encoded.entropies) + width
    r = encoded.arity.astype(np.float64)
    most = math.ceil(float(np.max(r * (1 + 2 * spare / (encoded.w * (r - 1))))))
    ways: dict[tuple[int, int], int] = {(0, 1): 1}
    for arity in encoded.arity.tolist():
        for (size, product), count in list(ways.items()):
            if size <= deepest and product * arity < most:
                key = (size + 1, product * arity)
                ways[key] = ways.get(key, 0) + count
    sizes = [0] * (deepest + 1)
    for (size, _), count in ways.items():
        if size:
            sizes[size - 1] += count
    return sizes
