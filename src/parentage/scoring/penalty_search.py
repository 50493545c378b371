"""Levels of the search under penalised likelihoods: BIC and its relatives.

A part of :mod:`parentage.scoring.search`. One G per set, the penalty from the product of arities,
and a rule set that is closed: only live sets are looked at.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from parentage.scoring.steps import Step, blocks, go_on, room_for_sets

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from parentage.kernels.families import Level, SearchFacts
    from parentage.scoring.entropy import Int64s
    from parentage.scoring.plan import SearchPlan
    from parentage.work.array_files import Array


class PenaltySearch:
    """The levels of one search, from single variables on."""

    def __init__(self, plan: SearchPlan) -> None:
        self.plan = plan
        self.facts = plan.facts()

    def first(self) -> tuple[Level, Int64s]:
        """The single variables, and G of the level below them: the empty set."""
        from parentage.kernels.families import Level

        encoded, facts = self.plan.encoded, self.facts
        n = encoded.n_variables
        penalty = facts.unit * (facts.arity - 1)
        best = (encoded.single - encoded.empty - penalty)[:, None]
        level = Level(
            np.arange(n, dtype=np.uint16)[:, None],
            np.zeros((n, 1), np.int32),
            encoded.single,
            np.ascontiguousarray(best),
        )
        return level, np.array([encoded.empty], np.int64)

    def fields(self, level: Level) -> tuple[Array, ...]:
        """Return the arrays of a level that have one row per set."""
        return level

    def level_of(self, fields: Sequence[Array]) -> Level:
        """Make a level of such arrays."""
        from parentage.kernels.families import Level

        return Level(*fields)

    def below_of(self, fields: Sequence[Array]) -> Int64s:
        """Return what is needed of a level, from the arrays that it was kept as."""
        return fields[0]

    def memory(self) -> tuple[Array, ...]:
        """What steps leave to later ones, besides levels: nothing."""
        return ()

    def remember(self, memory: Sequence[Array]) -> None:
        """Take up what :meth:`memory` gave."""

    def below(self, level: Level) -> Int64s:
        """What the next step but one needs of a level."""
        return level.G

    def step(
        self,
        level: Level,
        below: Int64s,
        in_degree: int,
        store: bool,
        check: Callable[[], None] = go_on,
    ) -> Step:
        """Return the step to the sets of one more member."""
        return PenaltyStep(self.plan, self.facts, level, below, in_degree, store, check)

    def beyond(self, level: Level, below: Int64s, complete_to: int) -> npt.NDArray[np.float64]:
        """Bound per child what families of more than ``complete_to`` parents score; −∞: none.

        A family that can matter contains, with every Y left out, families that are alive: so its
        parents contain those of a live family of the level, and at least so many more that there
        are ``complete_to`` + 1.
        """
        del below
        encoded = self.plan.encoded
        states = encoded.arity.astype(np.float64)
        least = least_products(self.plan, level.members, level.best, complete_to)
        unexplained = encoded.grid.to_float(self.plan.h - encoded.grid.tolerance)
        bound: npt.NDArray[np.float64] = -unexplained - encoded.w * (states - 1) * least
        return bound


def least_products(
    plan: SearchPlan, members: npt.NDArray[np.uint16], best: Int64s, complete_to: int
) -> npt.NDArray[np.float64]:
    """Return per child the fewest joint states of parents beyond ``complete_to``; ∞: none."""
    from parentage.kernels.families import fewest_states

    encoded = plan.encoded
    least = np.full(encoded.n_variables, np.inf)
    states = encoded.arity.astype(np.float64)
    for some in blocks(len(members), members, best):
        fewest_states(members[some], best[some], states, least)
    least[plan.limits.capped(complete_to + 1) != -1] = np.inf
    more = complete_to + 1 - (members.shape[1] - 1)
    least *= math.prod(sorted(encoded.arity.tolist())[:more])
    return least


class PenaltyStep(Step):
    """From one level to the next."""

    def __init__(
        self,
        plan: SearchPlan,
        facts: SearchFacts,
        level: Level,
        below: Int64s,
        in_degree: int,
        store: bool,
        check: Callable[[], None],
    ) -> None:
        capped = plan.limits.capped(in_degree)
        super().__init__(plan.encoded, level, len(below), capped, store, check)
        self.facts = facts
        self.below = below

    def room(self, shape: tuple[int, int]) -> Level:
        """Return room for a level."""
        from parentage.kernels.families import Level

        members, subsets, best = room_for_sets(shape)
        return Level(members, subsets, np.empty(0, np.int64), best)

    def join(self, first: np.int64, last: np.int64, room: Level, tally: Int64s) -> int:
        """Join a run of sets and judge the families."""
        from parentage.kernels.families import join_siblings

        return int(
            join_siblings(
                first, last, self.siblings, self.level, self.below, self.facts, self.capped, room,
                tally,
            )
        )  # fmt: skip

    def score(
        self,
        room: Level,
        end: int,
        where: npt.NDArray[np.int32],
        child: npt.NDArray[np.uint8],
        score: Int64s,
    ) -> tuple[tuple[Array, ...], int, int]:
        """Count and score."""
        from parentage.kernels.families import Level, score_families

        members = self.trimmed(room.members, end)
        new = Level(
            members,
            self.trimmed(room.subsets, end),
            self.encoded.count(members),
            self.trimmed(room.best, end),
        )
        scored, kept = score_families(new, self.level, self.facts, self.capped, where, child, score)
        return new, scored, kept
