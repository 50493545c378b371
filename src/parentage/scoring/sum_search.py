"""Levels of the search under scores that are differences of sums: qNML, BDeu, K2, Jeffreys, fNML.

A part of :mod:`parentage.scoring.search`. One sum per set serves all children; K2, Jeffreys and
fNML need one more per distinct number of states, of sets that become parents. BDeu's function of
the counts depends on the number of joint states, so it has a row of its own for every multiset of
arities, made level by level.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.scoring.arities import Multisets
from parentage.scoring.penalty_search import least_products
from parentage.scoring.scores import QNML, BySums
from parentage.scoring.steps import (
    Step,
    StoppedError,
    blocks,
    go_on,
    room_for_sets,
    with_single_parents,
)
from parentage.scoring.sum_functions import SumFunctions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from parentage.kernels.sums import Rung, SumFacts, SumLevel
    from parentage.scoring.entropy import Int64s
    from parentage.scoring.plan import SearchPlan
    from parentage.work.array_files import Array

MOST_TABLE = 2**30  # bytes of functions, one row per multiset of arities
MOST_PRODUCTS = 5_000  # beyond that many the parent's side of qNML is not worth its tables


class Below(NamedTuple):
    """What a step needs of the level below the one it starts from."""

    value: Int64s
    minus: Int64s
    row: npt.NDArray[np.int32]


class SumSearch:
    """The levels of one search, from single variables on."""

    def __init__(self, plan: SearchPlan) -> None:
        if not isinstance(plan.score, BySums):
            raise TypeError(f"{plan.score.name} is not a score by sums")
        self.plan, self.score = plan, plan.score
        encoded = self.encoded = plan.encoded
        self.sums = SumFunctions(plan.score, encoded)
        self.n_rows = encoded.total_rows
        self.multisets = Multisets(encoded.arity.tolist(), encoded.context_states)
        self.arities = self.multisets.arities
        self.kind = np.searchsorted(np.array(self.arities), encoded.arity).astype(np.int64)
        deepest = min(plan.limits.deepest, encoded.n_variables - 1)
        self.deepest = deepest
        self._value_functions: dict[int, Int64s] = {}
        self.best_alone = np.full((encoded.n_variables,) * 2, -(2**62), np.int64)

    @cached_property
    def minus_functions(self) -> list[Int64s]:
        """One function per column of ``minus``; none if it is the value."""
        if not self.score.own_minus:
            return []
        return [self.sums.minus(r) for r in self.arities]

    def value_functions(self, products: list[int]) -> list[Int64s]:
        """Return f for sets of each number of joint states, up to the longest count.

        Those of the last call are remembered: products repeat, within a size and from one to the
        next.
        """
        known = self._value_functions
        self._value_functions = {
            q: known[q] if q in known else self.sums.value(q) for q in dict.fromkeys(products)
        }
        return [self._value_functions[q] for q in products]

    @cached_property
    def facts(self) -> SumFacts:
        """What does not change from level to level."""
        from parentage.kernels.sums import SumFacts

        plan, score, grid = self.plan, self.score, self.encoded.grid
        arity = self.encoded.arity.tolist()
        width = 0 if plan.width is None else grid.to_fixed(plan.width)
        forbidden = plan.forbidden if plan.forbidden.any() else np.zeros((0, 0), np.bool_)
        return SumFacts(
            self.kind,
            self.kind if score.own_minus else np.zeros_like(self.kind),
            self.sums.constants(arity),
            plan.h,
            self.sums.fixed(np.log(np.array(arity, np.longdouble))),
            np.ascontiguousarray(forbidden),
            grid.tolerance + width,
            grid.tolerance if plan.width is None else -width - grid.tolerance - 1,
            plan.rules.mask,
        )

    def first(self) -> tuple[SumLevel, Below]:
        """The single variables, and the empty set."""
        from parentage.kernels.sums import SumLevel

        n, facts = self.encoded.n_variables, self.facts
        counts, row = self.sums.single_counts, self._first_rows()
        functions = self.value_functions(self.multisets.products(1))
        values = [int(functions[r][of].sum()) for r, of in zip(row, counts, strict=True)]
        value = np.array(values, np.int64) + self.rho(1)[row]
        minus = self._minus_of(value, counts)
        nothing = np.array([self.sums.nothing(self.encoded.context_states)], np.int64)
        minus_nothing = self._minus_of(nothing, [self.sums.groups])
        below = Below(nothing, minus_nothing, np.zeros(1, np.int32))
        best = value - below.minus[0, facts.column] - facts.constant
        occupied = [self.n_rows - int(np.maximum(of - 1, 0).sum()) for of in counts]
        np.fill_diagonal(self.best_alone, best)
        level = SumLevel(
            np.arange(n, dtype=np.uint16)[:, None],
            np.zeros((n, 1), np.int32),
            value,
            minus,
            np.array(occupied, np.int32),
            row,
            np.ascontiguousarray(best[:, None]),
        )
        return level, below

    def _first_rows(self) -> npt.NDArray[np.int32]:
        rows: npt.NDArray[np.int32] = self.multisets.times(0)[self.kind, 0]
        return rows

    def _minus_of(self, value: Int64s, counts: list[Int64s]) -> Int64s:
        """Return ``minus[set, column]`` from the counts themselves."""
        if not self.score.own_minus:
            return np.ascontiguousarray(value[:, None])
        sums = [[int(m[of].sum()) for m in self.minus_functions] for of in counts]
        return np.array(sums, np.int64).reshape(len(counts), -1)

    def rho(self, size: int) -> Int64s:
        """Return ρ per row of sets of this size."""
        return self.sums.rho(self.multisets.products(size))

    def penalty(self, size: int) -> Int64s:
        """Return ``[kind, row]``: what parents of this size cost such a child by q alone."""
        if not isinstance(self.score, QNML):
            return np.zeros((len(self.arities), len(self.multisets.products(size))), np.int64)
        products = self.multisets.products(size)
        after = [[self.score.rho(self.n_rows, r * q) for q in products] for r in self.arities]
        return self.rho(size) - self.sums.fixed(after)

    def adds(self, size: int) -> npt.NDArray[np.bool_]:
        """Return per row whether h and the price of cells add up."""
        return np.array([self.score.adds(q) for q in self.multisets.products(size)], np.bool_)

    def fields(self, level: SumLevel) -> tuple[Array, ...]:
        """Return the arrays of a level that have one row per set: all."""
        return tuple(level)

    def level_of(self, fields: Sequence[Array]) -> SumLevel:
        """Make a level of such arrays."""
        from parentage.kernels.sums import SumLevel

        return SumLevel(*fields)

    def below_of(self, fields: Sequence[Array]) -> Below:
        """Return what is needed of a level, from the arrays that it was kept as."""
        return Below(*fields)

    def memory(self) -> tuple[Array, ...]:
        """What steps leave to later ones, besides levels: Bin of every single parent."""
        return (self.best_alone,)

    def remember(self, memory: Sequence[Array]) -> None:
        """Take up what :meth:`memory` gave."""
        self.best_alone = np.array(memory[0])

    def below(self, level: SumLevel) -> Below:
        """What the next step but one needs of a level."""
        return Below(level.value, level.minus, level.row)

    def step(
        self,
        level: SumLevel,
        below: Below,
        in_degree: int,
        store: bool,
        check: Callable[[], None] = go_on,
    ) -> SumStep:
        """Return the step from sets of ``in_degree`` members to those of one more."""
        from parentage.kernels.sums import Rung

        if level.members.shape[1] == 2:
            self.best_alone = with_single_parents(self.best_alone, level)
        rung = Rung(
            self.multisets.times(in_degree),
            self.penalty(in_degree),
            self.penalty(in_degree + 1),
            self.adds(in_degree),
            self.adds(in_degree + 1),
            self.rho(in_degree),
            self.least_added(in_degree - 1),
            self.best_alone,
            below.value,
            below.row,
            self.rho(in_degree - 1),
        )
        return SumStep(self, level, len(below.value), rung, in_degree, store, check)

    def functions(self, size: int) -> Int64s:
        """Return ``f[row, count]`` for counting sets of this size."""
        if self.score.one_function:
            return self.value_functions([1])[0][None, :]
        products = self.multisets.products(size)
        if len(products) * self.sums.longest * 8 > MOST_TABLE:
            raise StoppedError("memory")
        return np.stack(self.value_functions(products))

    def counts_cells(self, level: SumLevel, size: int, check: Callable[[], None] = go_on) -> bool:
        """Whether knowing the joint states of sets of this size can let Theorem 4 fire."""
        from parentage.kernels.judging import CELLS, DEAD
        from parentage.kernels.sums import best_of_live

        facts = self.facts
        if not facts.rules >> CELLS & 1:
            return False
        top = np.full(len(facts.kind), -DEAD, np.int64)
        cells = min(self.n_rows, max(self.multisets.products(size)))
        enough = facts.slack - facts.residual - facts.log_arity * cells
        for some in blocks(len(level.members), level.members, level.best, check=check):
            best_of_live(level.members[some], level.best[some], top)
            if (top >= enough).any():
                return True
        return False

    @cached_property
    def region(self) -> tuple[list[int], Int64s] | None:
        """All products of parents that can be met, rising, and ln C of each; None: too many."""
        found: set[int] = set()
        for size in range(self.deepest):
            found.update(self.multisets.products(size))
            if len(found) > MOST_PRODUCTS:
                return None
        products = sorted(found)
        return products, self.regret(products)

    def regret(self, products: list[int]) -> Int64s:
        """Return ln C(N, q)."""
        return -self.sums.rho(products)

    @cached_property
    def added(self) -> dict[tuple[int, int], tuple[Int64s, Int64s]]:
        """By kinds of x and y, over the region: what y adds, and x's penalty with y."""
        if self.region is None:
            return {}
        products, plain = self.region
        times = {r: self.regret([q * r for q in products]) for r in self.arities}
        found = {}
        for i, r_x in enumerate(self.arities):
            for j, r_y in enumerate(self.arities):
                both = self.regret([q * r_x * r_y for q in products])
                with_y = both - times[r_y]
                found[i, j] = (with_y - times[r_x] + plain, with_y)
        return found

    def least_added(self, size: int) -> Int64s:
        """Return ``[x, kind of y, row]``: Theorem 7's second condition for Π* of this size.

        The least that y adds to x's penalty over the products of at least twice q_Π* at which the
        penalty of x is still affordable. A rule that is off has an empty table.
        """
        from parentage.kernels.judging import DEAD, PARENT

        n, facts = self.encoded.n_variables, self.facts
        starts_at = self.multisets.products(size)
        table = n * len(self.arities) * len(starts_at) * 8
        if not facts.rules >> PARENT & 1 or self.region is None or table > MOST_TABLE // 4:
            return np.full((n, len(self.arities), len(starts_at)), -DEAD, np.int64)
        products = self.region[0]
        after = np.searchsorted(np.array(products, object), [2 * q for q in starts_at])
        found = np.empty((n, len(self.arities), len(starts_at)), np.int64)
        spare = facts.slack - self.best_alone.diagonal() - facts.residual
        for x in range(n):
            for j in range(len(self.arities)):
                added, with_y = self.added[int(self.kind[x]), j]
                affordable = np.where(with_y < spare[x], added, DEAD)
                suffix = np.append(np.minimum.accumulate(affordable[::-1])[::-1], DEAD)
                found[x, j] = suffix[after]
        return found

    def beyond(self, level: SumLevel, below: Below, complete_to: int) -> npt.NDArray[np.float64]:
        """Bound per child what families of more than ``complete_to`` parents score; −∞: none.

        As for penalised likelihoods, with each score's own price of the parents of a live family.
        """
        from parentage.kernels.sums import least_of_live

        facts, grid = self.facts, self.encoded.grid
        states = least_products(self.plan, level.members, level.best, complete_to)
        price = np.full(len(states), 2**62, np.int64)
        cells = np.full(len(states), self.n_rows, np.int64)
        for some in blocks(len(level.members), *level, *below):
            part = self.level_of([field[some] for field in level])
            least_of_live(part, below.value, below.minus, facts, price, cells)
        found = np.full(len(states), -np.inf)
        for x in np.nonzero(np.isfinite(states))[0]:
            q = int(states[x] * (1 - 1e-9)) * self.encoded.context_states
            cost = price[x]
            if isinstance(self.score, QNML):
                cost = self.sums.fixed(
                    self.score.penalty(self.n_rows, int(self.encoded.arity[x]), q)
                )
            elif not self.score.own_minus:
                cost = facts.log_arity[x] * cells[x]
                if not self.score.adds(q):
                    cost = max(0, cost - facts.residual[x])
            found[x] = grid.to_float(int(grid.tolerance - facts.residual[x] - cost))
        return found


class SumStep(Step):
    """From one level to the next."""

    def __init__(
        self,
        levels: SumSearch,
        level: SumLevel,
        n_below: int,
        rung: Rung,
        in_degree: int,
        store: bool,
        check: Callable[[], None],
    ) -> None:
        capped = levels.plan.limits.capped(in_degree)
        super().__init__(levels.encoded, level, n_below, capped, store, check)
        self.facts, self.rung = levels.facts, rung
        self.n_rows = levels.n_rows
        self.functions = levels.functions(in_degree + 1)
        self.one_function = levels.score.one_function
        self.minus_functions = levels.minus_functions if store else []
        self.own_minus = levels.score.own_minus
        self.rho = levels.rho(in_degree + 1)
        self.cells = store and levels.counts_cells(level, in_degree + 1, check)

    def room(self, shape: tuple[int, int]) -> SumLevel:
        """Return room for a level."""
        from parentage.kernels.sums import SumLevel

        members, subsets, best = room_for_sets(shape)
        nothing, row = np.empty(0, np.int64), np.empty(len(members), np.int32)
        return SumLevel(members, subsets, nothing, nothing[:, None], row[:0], row, best)

    def join(self, first: np.int64, last: np.int64, room: SumLevel, tally: Int64s) -> int:
        """Join a run of sets and judge the families."""
        from parentage.kernels.sums import judge_sums

        end = self.join_whole(first, last, room)
        return int(judge_sums(end, room, self.level, self.facts, self.rung, self.capped, tally))

    def score(
        self,
        room: SumLevel,
        end: int,
        where: npt.NDArray[np.int32],
        child: npt.NDArray[np.uint8],
        score: Int64s,
    ) -> tuple[tuple[Array, ...], int, int]:
        """Count and score."""
        from parentage.kernels.sums import SumLevel, score_sums

        members, row = self.trimmed(room.members, end), self.trimmed(room.row, end)
        excess = np.empty(end, np.int64) if self.cells else None
        which = None if self.one_function else row
        value = self.encoded.count(members, self.functions, which, excess)
        value += self.rho[row]
        minus = value[:, None]
        if self.own_minus:
            sums = [self.encoded.count(members, m[None, :]) for m in self.minus_functions]
            minus = np.stack(sums, axis=1) if sums else np.empty((end, 0), np.int64)
        occupied = np.zeros(end, np.int32)
        if excess is not None:
            occupied = (self.n_rows - excess).astype(np.int32)
        subsets, best = self.trimmed(room.subsets, end), self.trimmed(room.best, end)
        new = SumLevel(members, subsets, value, minus, occupied, row, best)
        scored, kept = score_sums(
            new, self.level.minus, self.facts, self.capped, where, child, score
        )
        return new, scored, kept
