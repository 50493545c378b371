"""Scores that are differences of sums: qNML, BDeu, K2, Jeffreys, fNML.

A measure (:mod:`parentage.scoring.measures.measure`). One sum per set serves all children; K2,
Jeffreys and fNML need one more per distinct number of states, of sets that become parents. BDeu's
function of the counts depends on the number of joint states, so it has a row of its own for every
multiset of arities, made level by level. The functions themselves are rounded in one place, so a
family has the same score wherever it is counted.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from parentage.data.table import class_sizes
from parentage.scoring.measures.measure import (
    CountedMeasure,
    arrays_of,
    best_of,
    blocks,
    level_of,
    new_level_of,
    sums_with_each,
)
from parentage.scoring.scores.fixed_point import ln
from parentage.scoring.scores.score import joint_counts, joint_states
from parentage.scoring.tuning import TUNING
from parentage.work.executor import nothing
from parentage.work.stop import StoppedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from parentage.arrays import Ints
    from parentage.data.table import Repeats, Table
    from parentage.kernels.levels import Level, NewLevel
    from parentage.kernels.sums import SumTerms
    from parentage.scoring.measures.measure import Columns, Members
    from parentage.scoring.rules import FamilyNumbers
    from parentage.scoring.scores import BySums


class SumMeasure(CountedMeasure):
    """A sum over the joint states of a family, less one over those of its parents."""

    endless = True
    forecast_ends = False
    priced = False

    @property
    def score(self) -> BySums:
        """The definition of the score."""
        return self.plan.score  # type: ignore[return-value]  # the catalogue says so

    @property
    def n_rows(self) -> int:
        """N."""
        return self.encoded.total_rows

    @cached_property
    def multisets(self) -> Multisets:
        """The multisets of arities."""
        return Multisets(self.encoded.arity.tolist(), self.encoded.context_states)

    @property
    def arities(self) -> tuple[int, ...]:
        """The distinct numbers of states, rising."""
        return self.multisets.arities

    @cached_property
    def kind(self) -> Ints:
        """``[variable]``: which of the distinct arities it has."""
        return np.searchsorted(np.array(self.arities), self.encoded.arity).astype(np.int64)

    @property
    def column(self) -> Ints:
        """``[variable]``: which column of ``minus`` it uses as a child."""
        return self.kind if self.score.own_minus else np.zeros_like(self.kind)

    @cached_property
    def constant(self) -> Ints:
        """``[variable]``: k."""
        arity = self.encoded.arity.tolist()
        return self.fixed([self.score.constant(self.n_rows, r) for r in arity])

    @cached_property
    def log_arity(self) -> Ints:
        """``[variable]``: ln r."""
        return self.fixed(ln(self.encoded.arity.astype(np.longdouble)))

    @property
    def slack(self) -> int:
        """Tolerance plus width."""
        grid, width = self.encoded.grid, self.plan.width
        return grid.tolerance + (0 if width is None else grid.to_fixed(width))

    @cached_property
    def best_empty(self) -> Ints:
        """``[variable]``: its score without parents."""
        return self.first()[0].best[:, 0]

    # f, m, ρ and k of the score (:mod:`parentage.scoring.scores.sums`) on the grid

    def fixed(self, x: Any) -> Ints:
        """Round to the grid."""
        scaled = np.asarray(x, np.longdouble) * np.longdouble(self.encoded.grid.scale)
        rounded: Ints = np.rint(scaled).astype(np.int64)
        return rounded

    @cached_property
    def _functions(self) -> dict[int, Ints]:
        """What :meth:`value_function` remembers."""
        return {}

    def value_function(self, q: int) -> Ints:
        """Return f for sets of ``q`` joint states, up to the largest count of a variable.

        Some are remembered: the q repeat, within a size, from one to the next, and from sweep to
        sweep.
        """
        found = self._functions.get(q)
        if found is None:
            found = self.fixed(self.score.value(self.longest, q))
            if (len(self._functions) + 1) * found.nbytes > TUNING.most_functions:
                self._functions = {}  # not emptied: another thread may be reading
            self._functions[q] = found
        return found

    def value_of_any(self, q: int) -> Ints:
        """Return f for sets of ``q`` joint states, up to N."""
        return self.fixed(self.score.value(self.n_rows, q))

    @cached_property
    def minus_functions(self) -> Ints:
        """``[column of minus, count]``: m, up to N; no column if it is the value."""
        columns = self.arities if self.score.own_minus else ()
        functions = [self.fixed(self.score.minus(self.n_rows, r)) for r in columns]
        return np.array(functions, np.int64).reshape(len(columns), self.n_rows + 1)

    def rho_of(self, products: list[int]) -> Ints:
        """Return ρ of sets of so many joint states."""
        return self.fixed([self.score.rho(self.n_rows, q) for q in products])

    @cached_property
    def value_of_nothing(self) -> int:
        """The value of the empty set, which is the context's."""
        q = self.encoded.context_states
        return int(self.value_of_any(q)[self.groups].sum() + self.rho_of([q])[0])

    @cached_property
    def groups(self) -> Ints:
        """Rows per group of the context; groups of a single row are left out."""
        return class_sizes(self._group_of_row(), self._repeats())

    @cached_property
    def single_counts(self) -> list[Ints]:
        """Rows per joint state of every variable with the context."""
        e = self.encoded
        group, repeats = self._group_of_row(), self._repeats()
        rows = e.first_rows.astype(np.int64)
        return [
            class_sizes(group * r + e.column(x)[rows], repeats, 1) for x, r in enumerate(e.arity)
        ]

    @cached_property
    def longest(self) -> int:
        """The largest count of a variable, at least 8."""
        return max(8, *(int(counts.max()) for counts in self.single_counts))

    def _group_of_row(self) -> Ints:
        starts = self.encoded.first_starts.astype(np.int64)
        return np.repeat(np.arange(len(starts) - 1), starts[1:] - starts[:-1])

    def _repeats(self) -> Repeats:
        e = self.encoded
        return e.repeats[e.first_rows] if len(e.repeats) else e.repeats

    # The search

    def uncounted(self, sets: int) -> Columns:
        """Return room for the rows; counting makes the rest."""
        nothing, row = np.empty(0, np.int64), np.empty(sets, np.int32)
        return nothing, nothing[:, None], row[:0], row

    def first(self) -> tuple[NewLevel, Columns]:
        """Return the single variables, and the empty set."""
        n, counts = self.encoded.n_variables, self.single_counts
        row: npt.NDArray[np.int32] = self.multisets.times(0)[self.kind, 0]
        functions = [self.value_function(q) for q in self.multisets.products(1)]
        values = [int(functions[r][of].sum()) for r, of in zip(row, counts, strict=True)]
        value = np.array(values, np.int64) + self.rho(1)[row]
        minus = self._minus_of(value, counts)
        nothing = np.array([self.value_of_nothing], np.int64)
        minus_nothing = self._minus_of(nothing, [self.groups])
        below = (nothing, minus_nothing, np.zeros(1, np.int32), np.zeros(1, np.int32))
        best = value - minus_nothing[0, self.column] - self.constant
        occupied = [self.n_rows - int(np.maximum(of - 1, 0).sum()) for of in counts]
        members, subsets = self.variables[:, None], np.zeros((n, 1), np.int32)
        counted = (value, minus, np.array(occupied, np.int32), row)
        best = np.ascontiguousarray(best[:, None])
        return new_level_of([members, subsets, best, *counted]), below

    def _minus_of(self, value: Ints, counts: list[Ints]) -> Ints:
        """Return ``minus[set, column]`` from the counts themselves."""
        if not self.score.own_minus:
            return np.ascontiguousarray(value[:, None])
        sums = [[int(m[of].sum()) for m in self.minus_functions] for of in counts]
        return np.array(sums, np.int64).reshape(len(counts), -1)

    def rho(self, size: int) -> Ints:
        """Return ρ per row of sets of this size."""
        return self.rho_of(self.multisets.products(size))

    def penalty(self, size: int) -> Ints:
        """Return ``[kind, row]``: what parents of this size cost such a child by q alone."""
        products = self.multisets.products(size)
        if not self.score.by_states:
            return np.zeros((len(self.arities), len(products)), np.int64)
        after = [[self.score.rho(self.n_rows, r * q) for q in products] for r in self.arities]
        return self.rho(size) - self.fixed(after)

    def adds(self, size: int) -> npt.NDArray[np.bool_]:
        """Return per row whether h and the price of cells add up."""
        return np.array([self.score.adds(q) for q in self.multisets.products(size)], np.bool_)

    def terms(
        self, level: Level, below: Columns, store: bool, check: Callable[[], None]
    ) -> SumTerms:
        """Return what counting, rules and scores need for sets of one more member."""
        from parentage.kernels.sums import SumTerms

        size = level.members.shape[1]
        value_below, _, _, row_below = below
        return SumTerms(
            self.kind,
            self.column,
            self.constant,
            self.plan.h,
            self.log_arity,
            self.multisets.times(size),
            self.penalty(size),
            self.penalty(size + 1),
            self.adds(size),
            self.adds(size + 1),
            self.rho(size),
            self.least_added(size - 1),
            value_below,
            row_below,
            self.rho(size - 1),
            self.functions(size + 1),
            self.minus_functions if store else self.minus_functions[:0],
            self.rho(size + 1),
            store and self.counts_cells(level, size + 1, check),
        )

    def count(
        self, members: Members, uncounted: Columns, terms: SumTerms
    ) -> tuple[Columns, SumTerms]:
        """Count values and, of sets that become parents, what they subtract."""
        row = uncounted[3]
        excess = np.empty(len(members), np.int64) if terms.counts_cells else None
        which = None if self.score.one_function else row
        value = self.encoded.count(members, terms.functions, which, excess)
        value += terms.rho_above[row]
        minus = value[:, None]
        if self.score.own_minus:
            sums = [self.encoded.count(members, m[None, :]) for m in terms.minus_functions]
            minus = np.stack(sums, axis=1) if sums else np.empty((len(members), 0), np.int64)
        occupied = np.zeros(len(members), np.int32)
        if excess is not None:
            occupied = (self.n_rows - excess).astype(np.int32)
        return (value, minus, occupied, row), terms

    def functions(self, size: int) -> Ints:
        """Return ``f[row, count]`` for counting sets of this size."""
        if self.score.one_function:
            return self.value_function(1)[None, :]
        products = self.multisets.products(size)
        if len(products) * self.longest * 8 > TUNING.most_table:
            raise StoppedError("memory")
        return np.stack([self.value_function(q) for q in products])

    def counts_cells(self, level: Level, size: int, check: Callable[[], None] = nothing) -> bool:
        """Whether knowing the joint states of sets of this size can let Theorem 4 fire."""
        from parentage.kernels.judging import CELLS, DEAD
        from parentage.kernels.levels import most_of_live

        if not self.plan.rules.mask >> CELLS & 1:
            return False
        top = np.full(len(self.kind), -DEAD, np.int64)
        cells = min(self.n_rows, max(self.multisets.products(size)))
        enough = self.slack - self.plan.h - self.log_arity * cells
        members, bins = level.members, level.bins
        for some in blocks(len(members), members, bins, check=check):
            most_of_live(members[some], bins[some], best_of(level, some), top)
            if (top >= enough).any():
                return True
        return False

    @cached_property
    def region(self) -> tuple[list[int], Ints] | None:
        """All products of parents that can be met, rising, and ln C of each; None: too many."""
        found: set[int] = set()
        for size in range(min(self.plan.deepest, self.encoded.n_variables - 1)):
            found.update(self.multisets.products(size))
            if len(found) > TUNING.most_products:
                return None
        products = sorted(found)
        return products, -self.rho_of(products)

    @cached_property
    def added(self) -> dict[tuple[int, int], tuple[Ints, Ints]]:
        """By kinds of x and y, over the region: what y adds, and x's penalty with y."""
        if self.region is None:
            return {}
        products, plain = self.region
        times = {r: -self.rho_of([q * r for q in products]) for r in self.arities}
        found = {}
        for i, r_x in enumerate(self.arities):
            for j, r_y in enumerate(self.arities):
                both = -self.rho_of([q * r_x * r_y for q in products])
                with_y = both - times[r_y]
                found[i, j] = (with_y - times[r_x] + plain, with_y)
        return found

    def least_added(self, size: int) -> Ints:
        """Return ``[x, kind of y, row]``: Theorem 7's second condition for Π* of this size.

        The least that y adds to x's penalty over the products of at least twice q_Π* at which the
        penalty of x is still affordable. A rule that is off has an empty table.
        """
        from parentage.kernels.judging import DEAD, PARENT

        n, h = self.encoded.n_variables, self.plan.h
        starts_at = self.multisets.products(size)
        table = n * len(self.arities) * len(starts_at) * 8
        off = not self.plan.rules.mask >> PARENT & 1
        if off or self.region is None or table > TUNING.most_table // 4:
            return np.full((n, len(self.arities), len(starts_at)), -DEAD, np.int64)
        products = self.region[0]
        after = np.searchsorted(np.array(products, object), [2 * q for q in starts_at])
        found = np.empty((n, len(self.arities), len(starts_at)), np.int64)
        spare = self.slack - self.best_empty - h
        for x in range(n):
            for j in range(len(self.arities)):
                added, with_y = self.added[int(self.kind[x]), j]
                affordable = np.where(with_y < spare[x], added, DEAD)
                suffix = np.append(np.minimum.accumulate(affordable[::-1])[::-1], DEAD)
                found[x, j] = suffix[after]
        return found

    def beyond(self, level: Level, below: Columns, complete_to: int) -> npt.NDArray[np.float64]:
        """Bound what larger families score: −h, and the score's own price of their parents."""
        from parentage.kernels.sums import least_of_live

        h, grid = self.plan.h, self.encoded.grid
        states = self.least_products(level, complete_to)
        price = np.full(len(states), 2**62, np.int64)
        cells = np.full(len(states), self.n_rows, np.int64)
        arrays, (value, minus, _, _) = arrays_of(level), below
        for some in blocks(len(level.members), *arrays, *below):
            part = level_of((array[some] for array in arrays), level.values)
            least_of_live(part, value, minus, self.column, self.constant, price, cells)
        found = np.full(len(states), -np.inf)
        for x in np.nonzero(np.isfinite(states))[0]:
            q = int(states[x] * (1 - 1e-9)) * self.encoded.context_states
            cost = price[x]
            if self.score.by_states:
                r = int(self.encoded.arity[x])
                cost = self.fixed(self.score.price_of_states(self.n_rows, r, q))
            elif not self.score.own_minus:
                cost = self.log_arity[x] * cells[x]
                if not self.score.adds(q):
                    cost = max(0, cost - h[x])
            found[x] = grid.to_float(int(grid.tolerance - h[x] - cost))
        return found

    @property
    def more_bytes_per_set(self) -> int:
        """What minus, row and occupied take."""
        columns = len(set(self.encoded.arity.tolist())) if self.score.own_minus else 1
        return 8 + 8 * columns

    # Expansion: sweep 0 is the value, sweep 1 + kind what parents of such a child subtract

    @property
    def kinds_of_sweeps(self) -> int:
        """The value, and what is subtracted where that is another sum."""
        return 1 + len(self.arities) if self.score.own_minus else 1

    def family_terms(self, children: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """Return value and minus."""
        none = np.zeros(len(children), np.int64)
        constant = self.constant[children]
        if not self.score.own_minus:
            return none, none, none + self.value_of_nothing, constant
        kinds = self.kind[children]
        nothings = self.minus_functions[:, self.groups].sum(axis=1)
        return 1 + kinds, none, nothings[kinds], constant

    def sweep(self, kind: int, sets: Members, others: Members | None = None) -> Ints:
        """Return values, or what parents subtract, of every set with every variable."""
        others = self.variables if others is None else others
        if kind:
            m = self.minus_functions[kind - 1]
            return sums_with_each(self.swept, sets, others, m[None, :])
        per_set = 1 if self.score.one_function else 1 + len(self.arities)
        at_once = max(1, TUNING.most_functions // (8 * self.longest * per_set))
        parts = [
            self._sweep_values(sets[first : first + at_once], others)
            for first in range(0, len(sets), at_once)
        ]
        return np.concatenate(parts)

    def _sweep_values(self, sets: Members, others: Members) -> Ints:
        products, row = self._products(sets)
        if len(others) < len(self.kind):  # few functions are needed then
            used, which = np.unique(row[:, others], return_inverse=True)
            products = [products[i] for i in used]
            row = which.reshape(len(sets), -1).astype(np.int32)
        f = self.value_function
        if not sets.shape[1]:  # the sweep begins with the column of one state, which has all rows
            f = self.value_of_any
        if self.score.one_function:
            found = sums_with_each(self.swept, sets, others, f(1)[None, :])
        else:
            functions = np.stack([f(q) for q in products])
            found = sums_with_each(self.swept, sets, others, functions, row)
        found += self.rho_of(products)[row]
        return found

    def _products(self, sets: Members) -> tuple[list[int], npt.NDArray[np.int32]]:
        """Return the joint states of all S ∪ y, exact, and ``[set, y]``: which of them it is."""
        encoded = self.encoded
        at: dict[int, int] = {}
        row = np.empty((len(sets), encoded.n_variables), np.int32)
        for i, members in enumerate(sets):
            q = encoded.context_states * math.prod(encoded.arity[members].tolist())
            rows = [at.setdefault(q * r, len(at)) for r in self.arities]
            row[i] = np.array(rows, np.int32)[self.kind]
            row[i, members] = at.setdefault(q, len(at))
        return list(at), row

    # Explanation

    def numbers(
        self, table: Table, x: int, parents: Sequence[int], y: int, bin_star: float
    ) -> FamilyNumbers:
        """Return entropies, the score's own price, and joint states that occur."""
        star, family = [p for p in parents if p != y], {x, *parents}
        cells = max(len(joint_counts(table, sorted(family - {v}))) for v in family)
        return (
            super()
            .numbers(table, x, parents, y, bin_star)
            ._replace(
                cells=math.log(int(table.cardinalities[x])) * cells,
                adds=self.score.adds(joint_states(table, parents)),
                least_added=self._least_added_by(x, y, star),
                occupied=len(joint_counts(table, parents)),
                occupied_star=len(joint_counts(table, star)),
            )
        )

    def _least_added_by(self, x: int, y: int, star: Sequence[int]) -> float:
        """Return the least that y adds to the penalty in Theorem 7's region, in nats.

        0 is always right, and what is said of columns that do not vary.
        """
        order = self.encoded.order.tolist()
        if not self.score.by_states or not {x, y, *star} <= set(order):
            return 0.0
        kinds = [int(self.kind[order.index(v)]) for v in star]
        few = tuple(kinds.count(k) for k in range(len(self.arities)))
        row = self.multisets.at(len(star)).index(few)
        found = self.least_added(len(star))
        least = int(found[order.index(x), self.kind[order.index(y)], row])
        return max(0.0, float(self.encoded.grid.to_float(least)))


class Multisets:
    """The multisets of arities that sets of each size can have; exact products of them.

    The number of joint states of a set is a product of arities, which can exceed any machine word.
    So the search carries a *row* instead: the place of the set's multiset of arities among those of
    its size. ``context_states`` multiplies every product.

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
