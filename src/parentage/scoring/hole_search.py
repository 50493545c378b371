"""Levels of the search for tables with holes: node-average likelihoods (PNAL).

A part of :mod:`parentage.scoring.search`. Each set is counted once, on its complete rows, and that
table gives the likelihood of every child in it; nothing of a set is needed when it becomes parents,
because the next set has other rows. Rules and their proof: Theorem 8 in ``docs/theory.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from parentage.scoring.holes import EncodedHoles
from parentage.scoring.penalty_search import least_products
from parentage.scoring.steps import Step, blocks, go_on, room_for_sets, with_single_parents

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from parentage.kernels.holes import HoleFacts, HoleLevel, Rows
    from parentage.scoring.entropy import Encoded, Int64s
    from parentage.scoring.plan import SearchPlan
    from parentage.work.array_files import Array


class HoleSearch:
    """The levels of one search, from single variables on."""

    def __init__(self, plan: SearchPlan) -> None:
        if not isinstance(plan.encoded, EncodedHoles):
            raise TypeError("the table was not encoded with its holes")
        self.plan, self.encoded = plan, plan.encoded
        n = self.encoded.n_variables
        self.best_alone = np.full((n, n), -(2**62), np.int64)

    def facts(self) -> HoleFacts:
        """What judging and scoring need to know."""
        from parentage.kernels.holes import HoleFacts

        plan, grid = self.plan, self.encoded.grid
        width = 0 if plan.width is None else grid.to_fixed(plan.width)
        forbidden = plan.forbidden if plan.forbidden.any() else np.zeros((0, 0), np.bool_)
        return HoleFacts(
            self.encoded.arity,
            plan.h,
            np.ascontiguousarray(forbidden),
            self.encoded.n_rows,
            grid.unit,
            grid.cap,
            grid.tolerance + width,
            grid.tolerance if plan.width is None else -width - grid.tolerance - 1,
            plan.rules.mask,
            self.best_alone,
        )

    def first(self) -> tuple[HoleLevel, int]:
        """The single variables; the level below them is the empty set."""
        from parentage.kernels.holes import HoleLevel, count_complete

        e, grid = self.encoded, self.encoded.grid
        members = np.arange(e.n_variables, dtype=np.uint16)[:, None]
        n, left = np.empty(len(members), np.int64), np.empty((len(members), 1), np.int64)
        count_complete(members, rows_of(e), e.arity, n, left)
        seen = np.maximum(n, 1)  # within a context, some variable may never be seen
        likelihood = (left[:, 0] // seen) * e.n_rows + (left[:, 0] % seen) * e.n_rows // seen
        best = -likelihood - grid.unit * np.minimum(e.arity - 1, grid.cap)
        np.fill_diagonal(self.best_alone, best)
        subsets = np.zeros((len(members), 1), np.int32)
        return HoleLevel(members, subsets, n, np.ascontiguousarray(best[:, None])), 1

    def fields(self, level: HoleLevel) -> tuple[Array, ...]:
        """Return the arrays of a level that have one row per set: all."""
        return tuple(level)

    def level_of(self, fields: Sequence[Array]) -> HoleLevel:
        """Make a level of such arrays."""
        from parentage.kernels.holes import HoleLevel

        return HoleLevel(*fields)

    def below_of(self, fields: Sequence[Array]) -> int:
        """Return what is needed of a level, from the array that it was kept as."""
        return int(fields[0][0])

    def memory(self) -> tuple[Array, ...]:
        """What steps leave to later ones, besides levels: Bin of every single parent."""
        return (self.best_alone,)

    def remember(self, memory: Sequence[Array]) -> None:
        """Take up what :meth:`memory` gave."""
        self.best_alone = np.array(memory[0])

    def below(self, level: HoleLevel) -> int:
        """What the next step but one needs of a level: how many sets it has."""
        return len(level.members)

    def step(
        self,
        level: HoleLevel,
        below: int,
        in_degree: int,
        store: bool,
        check: Callable[[], None] = go_on,
    ) -> HoleStep:
        """Return the step to the sets of one more member."""
        if level.members.shape[1] == 2:
            self.best_alone = with_single_parents(self.best_alone, level)
        return HoleStep(self, level, below, in_degree, store, check)

    def beyond(self, level: HoleLevel, below: int, complete_to: int) -> npt.NDArray[np.float64]:
        """Bound per child what families of more than ``complete_to`` parents score; −∞: none.

        As for penalised likelihoods, with h spread over the most rows that a live family of the
        level has.
        """
        from parentage.kernels.holes import rows_of_live

        del below
        e, grid = self.encoded, self.encoded.grid
        least = least_products(self.plan, level.members, level.best, complete_to)
        most_rows = np.ones(e.n_variables, np.int64)
        for some in blocks(len(level.members), level.members, level.rows, level.best):
            rows_of_live(level.members[some], level.rows[some], level.best[some], most_rows)
        unexplained = grid.to_float(self.plan.h) * (e.n_rows / most_rows)
        price = e.w * (e.arity.astype(np.float64) - 1) * least
        bound: npt.NDArray[np.float64] = float(grid.to_float(grid.tolerance)) - unexplained - price
        return bound


class HoleStep(Step):
    """From one level to the next."""

    def __init__(
        self,
        levels: HoleSearch,
        level: HoleLevel,
        n_below: int,
        in_degree: int,
        store: bool,
        check: Callable[[], None],
    ) -> None:
        capped = levels.plan.limits.capped(in_degree)
        super().__init__(levels.encoded, level, n_below, capped, store, check)
        self.facts = levels.facts()

    def room(self, shape: tuple[int, int]) -> HoleLevel:
        """Return room for a level."""
        from parentage.kernels.holes import HoleLevel

        members, subsets, best = room_for_sets(shape)
        return HoleLevel(members, subsets, np.empty(0, np.int64), best)

    def join(self, first: np.int64, last: np.int64, room: HoleLevel, tally: Int64s) -> int:
        """Join a run of sets and judge the families."""
        from parentage.kernels.holes import judge_with_holes

        end = self.join_whole(first, last, room)
        return int(judge_with_holes(end, room, self.level, self.facts, self.capped, tally))

    def score(
        self,
        room: HoleLevel,
        end: int,
        where: npt.NDArray[np.int32],
        child: npt.NDArray[np.uint8],
        score: Int64s,
    ) -> tuple[tuple[Array, ...], int, int]:
        """Count and score."""
        from parentage.kernels.holes import HoleLevel, count_complete, score_with_holes

        members = self.trimmed(room.members, end)
        n, left = np.empty(end, np.int64), np.empty(members.shape, np.int64)
        count_complete(members, rows_of(self.encoded), self.encoded.arity, n, left)
        new = HoleLevel(members, self.trimmed(room.subsets, end), n, self.trimmed(room.best, end))
        scored, kept = score_with_holes(new, left, self.facts, self.capped, where, child, score)
        seen = n > 0  # what is never seen together is left out, with all that contains it
        return tuple(part[seen] for part in new), scored, kept


def rows_of(encoded: Encoded) -> Rows:
    """Return what is counted."""
    from parentage.kernels.holes import Rows

    if not isinstance(encoded, EncodedHoles):
        raise TypeError("the table was not encoded with its holes")
    once = np.ones(len(encoded.label), np.uint32)
    repeats = encoded.repeats if len(encoded.repeats) else once
    return Rows(encoded.codes, encoded.label, encoded.n_labels, repeats, encoded.grid.f)
