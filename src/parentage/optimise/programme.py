"""The linear programme of a part: solved by HiGHS, bounded by us.

Minimise the cost over fractional x, one set per child, subject to cuts
(:mod:`parentage.optimise.cuts`). The bound does not rest on the tolerances of the LP solver: with
any multipliers y >= 0 of the cuts,

    L(y) = sum over children v of min over sets of v of (cost + sum of y · coefficient)
           − sum of y · right side

is below the cost of every network (Lagrangian relaxation), and L(y) plus what a set's reduced
cost exceeds its child's least one is below the cost of every network with that set. Multipliers
are rounded to a grid, so that a certificate can repeat the sum in whole numbers.

A large programme begins with the cheapest sets of every child. Others enter when their reduced
cost is below zero, so that a solution is one for all sets; L(y) is over all sets in any case.

Sets that are removed for good are missing from new rows, and from time to time their columns are
deleted. In a tree further sets are shut for a while: bounds of columns, not rows, say so.

Cuts that have not been binding for some rounds leave the programme, which would become slow, and
wait in a pool. A cut of the pool returns when a solution violates it.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from parentage.optimise.cuts import Cut, CutRow, cut_row
from parentage.optimise.problem import offsets_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from parentage.arrays import Flags, Floats, Ints
    from parentage.optimise.problem import Problem
    from parentage.optimise.run import Part
    from parentage.optimise.tuning import Tuning

SLICE = 4000
"""Iterations after which the LP solver lets us look whether to stop."""

GRID = 2.0**34
"""Multipliers are whole multiples of one over this."""

BINDING = 1e-9
"""Multipliers below this are zero."""


class CutLP:
    """The programme, kept in HiGHS from round to round.

    ``x`` is the last solution, ``y`` the multipliers of the cuts, ``removed`` the sets gone for
    good, ``shut`` those and the ones that the node at work leaves out. Columns of the programme
    are the sets ``kept``; ``at`` says where a set is. Rows are the cuts ``active``, in this order;
    the others are in the pool, with multipliers of zero. ``work`` is an estimate of nanoseconds
    that does not depend on the machine.
    """

    def __init__(self, problem: Problem, tuning: Tuning) -> None:
        import highspy

        self._tuning = tuning
        self.problem = problem
        self.sets = problem.members
        self.cuts: list[Cut] = []
        self.rows: list[CutRow] = []
        self.counts: Counter[str] = Counter()
        self.removed: Flags = np.zeros(problem.m, np.bool_)
        self.shut: Flags = np.zeros(problem.m, np.bool_)
        self.x: Floats = np.zeros(problem.m)
        self.y: Floats = np.zeros(0)
        self.age: Ints = np.zeros(0, np.int64)
        self.active: Ints = np.zeros(0, np.int64)
        self._entries = _joined([], 0)  # of all rows, for the pool
        self.work = 0
        self.kept: Ints = np.zeros(0, np.int64)
        self.at: Ints = np.full(problem.m, -1, np.int64)
        self._highspy = highspy
        self.solver: Any = highspy.Highs()
        self.solver.silent()
        self.solver.setOptionValue("threads", 1)
        self.solver.setOptionValue("presolve", "off")
        self._old = tuning.large_old if problem.n > tuning.large else tuning.old
        self._child = problem.child
        self.solver.addRows(
            problem.n, np.ones(problem.n), np.ones(problem.n), 0,
            np.zeros(problem.n, np.int32), np.zeros(0, np.int32), np.zeros(0),
        )  # fmt: skip
        self._enter(self._first())

    def solve(self, part: Part, engine: str, exhausted: Callable[[], bool] = lambda: False) -> bool:
        """Solve the programme as it is, slice by slice; whether there is a solution.

        False when the run stops, its work is ``exhausted``, the programme is infeasible or HiGHS is
        in trouble: :meth:`infeasible` tells.
        """
        chosen = part.choice[part.choice >= 0]  # none is chosen before the first network
        self._enter(chosen[~self.shut[chosen] & (self.at[chosen] < 0)])
        columns = self._tuning.columns
        while True:
            optimal = self._run(part, engine, exhausted)
            if not (optimal or self.infeasible()):
                return False
            columns = self._tuning.columns if optimal else 2 * columns
            missing = self._missing(columns, optimal=optimal)
            if len(missing) == 0:
                break
            self._enter(missing)
        self.age = np.where(self.y > BINDING, 0, self.age + 1)
        return optimal

    def _run(self, part: Part, engine: str, exhausted: Callable[[], bool]) -> bool:
        """Solve the programme with the columns it has; whether there is a solution.

        Where HiGHS is in trouble it begins once more, without the basis it had.
        """
        statuses, again = self._highspy.HighsModelStatus, True
        while not (part.stopped() or exhausted()):
            self.solver.setOptionValue("simplex_iteration_limit", SLICE)
            left = part.run.stop.seconds_left
            if math.isfinite(left):
                self.solver.setOptionValue("time_limit", self.solver.getRunTime() + left)
            self.solver.run()
            self.count_work()
            part.tick(engine)
            status = self.solver.getModelStatus()
            if again and status == statuses.kUnknown:
                self.solver.clearSolver()
                again = False
            elif status != statuses.kIterationLimit:
                break
        optimal: bool = self.solver.getModelStatus() == statuses.kOptimal
        solution = self.solver.getSolution()
        if optimal or solution.dual_valid:  # multipliers bound, whether the solver ended or not
            self.y = self._multipliers(-np.array(solution.row_dual))
        self.x = np.zeros(self.problem.m)  # the last solution may hold sets that are shut now
        if optimal:
            self.x[self.kept] = solution.col_value
        return optimal

    def _multipliers(self, of_rows: Floats) -> Floats:
        """Return multipliers of all cuts, from those of the rows of the programme."""
        y = np.zeros(len(self.cuts))
        y[self.active] = on_grid(of_rows[self.problem.n :])
        return y

    def _first(self) -> Ints:
        """Return the sets that the programme begins with: the cheapest of every child."""
        every = np.arange(self.problem.m)
        few = self.problem.m <= self._tuning.spare
        return every if few else self._cheapest(every, self.problem.cost, self._tuning.columns)

    def _missing(self, columns: int, *, optimal: bool) -> Ints:
        """Return sets whose columns the programme needs: they are cheaper than those it has.

        If those it has leave no solution, the cheapest of all others. At most some ``columns`` of
        every child.
        """
        outside = (self.at < 0) & ~self.shut
        if not outside.any():
            return np.zeros(0, np.int64)
        used = np.flatnonzero(self.y > 0)
        reduced = reduced_costs(self.problem, [self.rows[i] for i in used], self.y[used])
        if optimal:
            inside = np.where(self.shut | (self.at < 0), np.inf, reduced)
            least = np.minimum.reduceat(inside, self.problem.offsets[:-1])
            outside &= reduced < least[self._child] - BINDING
        return self._cheapest(np.flatnonzero(outside), reduced, columns)

    def _cheapest(self, sets: Ints, cost: Floats, columns: int) -> Ints:
        """Return the sets, only the cheapest few of every child."""
        sets = sets[np.lexsort((cost[sets], self._child[sets]))]
        first = np.searchsorted(self._child[sets], self._child[sets])
        return np.sort(sets[np.arange(len(sets)) - first < columns])

    def _enter(self, sets: Ints) -> None:
        """Add the columns of sets."""
        if len(sets) == 0:
            return
        new, n = np.full(self.problem.m, -1, np.int64), self.problem.n
        new[sets] = np.arange(len(sets))
        active = [self.rows[i] for i in self.active]
        columns = np.concatenate([sets, *(row.columns for row in active)])
        values = np.concatenate([np.ones(len(sets)), *(row.values for row in active)])
        lengths = [len(row.columns) for row in active]
        rows = np.concatenate([self._child[sets], n + np.repeat(np.arange(len(lengths)), lengths)])
        entries = np.flatnonzero(new[columns] >= 0)
        entries = entries[np.argsort(new[columns[entries]], kind="stable")]
        starts = offsets_of(np.bincount(new[columns[entries]], minlength=len(sets)))
        self.solver.addCols(
            len(sets), self.problem.cost[sets], np.zeros(len(sets)), np.ones(len(sets)),
            len(entries), starts[:-1].astype(np.int32), rows[entries].astype(np.int32),
            values[entries],
        )  # fmt: skip
        self.at[sets] = len(self.kept) + np.arange(len(sets))
        self.kept = np.concatenate([self.kept, sets])

    def count_work(self) -> None:
        """Add the work of the solver's last run: by its iterations, by columns and by rows."""
        steps, columns = max(0, self.solver.getInfo().simplex_iteration_count), len(self.kept)
        rows = self.problem.n + len(self.active)
        self.work += steps * (50_000 + 40 * columns + rows * rows // 40) + 800 * columns

    def infeasible(self) -> bool:
        """Whether the last run found no solution."""
        found: bool = self.solver.getModelStatus() == self._highspy.HighsModelStatus.kInfeasible
        return found

    def ray(self) -> Floats:
        """Return multipliers that show that there is no solution, as far as HiGHS knows any."""
        _, known, ray = self.solver.getDualRay()
        if not known:
            return np.zeros(0)
        return self._multipliers(-np.array(ray))

    def lagrangian(self) -> tuple[float, Floats]:
        """Return L(y) and by how much it rises, per set, if that set is taken."""
        used = np.flatnonzero(self.y > 0)
        return bound_of(self.problem, [self.rows[i] for i in used], self.y[used], self.shut)

    def price(self, prices: Floats) -> None:
        """Take multipliers of the cuts instead of those of a solution."""
        self.y = on_grid(prices)
        self.work += sum(len(self.rows[i].columns) for i in np.flatnonzero(self.y > 0))

    def begin_anew(self) -> None:
        """Begin with the cuts of the pool that have multipliers, and the sets cheapest by these."""
        _, rise = self.lagrangian()
        gone = np.arange(len(self.kept), dtype=np.int32)
        self.solver.deleteCols(len(gone), gone)
        self.kept, self.at = np.zeros(0, np.int64), np.full(self.problem.m, -1, np.int64)
        self._activate(np.flatnonzero(self.y > 0))
        self._enter(self._cheapest(np.flatnonzero(~self.shut), rise, self._tuning.columns))

    def add(self, found: Sequence[Cut]) -> None:
        """Add cuts to the programme."""
        first = len(self.cuts)
        self.put_by(found)
        self._activate(np.arange(first, len(self.cuts)))

    def put_by(self, found: Sequence[Cut]) -> None:
        """Add cuts to the pool."""
        if not found:
            return
        rows = [cut_row(self.sets, cut, self.removed) for cut in found]
        (owner, columns, values), new = self._entries, _joined(rows, len(self.rows))
        owner, columns = np.concatenate([owner, new[0]]), np.concatenate([columns, new[1]])
        self._entries = owner, columns, np.concatenate([values, new[2]])
        self.cuts.extend(found)
        self.rows.extend(rows)
        self.counts.update(cut.family for cut in found)
        self.y = np.concatenate([self.y, np.zeros(len(rows))])
        self.age = np.concatenate([self.age, np.zeros(len(rows), np.int64)])

    def recall(self, most: int) -> list[Cut]:
        """Let some cuts of the pool return that the solution violates most, and return them."""
        pool = np.delete(np.arange(len(self.rows)), self.active)
        if len(pool) == 0 or most <= 0:
            return []
        beyond = -np.array([row.side for row in self.rows])
        owner, columns, values = self._entries
        beyond += np.bincount(owner, values * self.x[columns], len(beyond))
        self.work += len(owner)
        violated = pool[np.argsort(-beyond[pool], kind="stable")[:most]]
        violated = violated[beyond[violated] > self._tuning.least]
        self.age[violated] = 0
        self._activate(violated)
        return [self.cuts[i] for i in violated]

    def remove(self, sets: Flags) -> None:
        """Remove sets for good."""
        self.removed |= sets
        self.leave_open(~(self.shut | sets))

    def leave_open(self, sets: Flags) -> None:
        """Shut all other sets, and open these."""
        shut = ~sets
        for changed, upper in ((shut & ~self.shut, 0.0), (~shut & self.shut, 1.0)):
            columns = self.at[np.flatnonzero(changed)]
            columns = columns[columns >= 0].astype(np.int32)
            if len(columns):
                zero = np.zeros(len(columns))
                self.solver.changeColsBounds(len(columns), columns, zero, zero + upper)
        self.shut = shut

    def forget(self) -> None:
        """Put cuts by that have not been binding for long, when they have become many.

        Of a pool that has become large, the fourth goes that has not been binding for longest.
        """
        loose = np.flatnonzero(self.age[self.active] > self._old)
        if len(loose) <= 0.1 * len(self.active):
            return
        self.solver.deleteRows(len(loose), (loose + self.problem.n).astype(np.int32))
        self.active = np.delete(self.active, loose)
        pool = np.delete(np.arange(len(self.cuts)), self.active)
        if len(pool) > self._tuning.pool:
            keep = np.ones(len(self.cuts), np.bool_)
            keep[pool[np.argsort(-self.age[pool], kind="stable")[: -(-len(pool) // 4)]]] = False
            self.active = (np.cumsum(keep) - 1)[self.active]
            kept = np.flatnonzero(keep)
            self.cuts[:] = [self.cuts[i] for i in kept]  # in place: the part has the same list
            self.rows = [self.rows[i] for i in kept]
            self._entries = _joined(self.rows, 0)
            self.y, self.age = self.y[kept], self.age[kept]

    def compact(self) -> None:
        """Delete the columns of removed sets, when they have become many."""
        gone = np.flatnonzero(self.removed[self.kept])
        if 2 * len(gone) < len(self.kept) + self._tuning.spare:
            return
        self.solver.deleteCols(len(gone), gone.astype(np.int32))
        self.kept = np.delete(self.kept, gone)
        self.at = np.full(self.problem.m, -1, np.int64)
        self.at[self.kept] = np.arange(len(self.kept))
        for i, row in enumerate(self.rows):
            live = ~self.removed[row.columns]
            self.rows[i] = CutRow(row.columns[live], row.values[live], row.side)

    def binding(self) -> list[Cut]:
        """Return the cuts with a multiplier."""
        return [self.cuts[i] for i in np.flatnonzero(self.y > BINDING)]

    def _activate(self, cuts: Ints) -> None:
        """Let cuts of the pool be rows of the programme."""
        if len(cuts) == 0:
            return
        self.active = np.concatenate([self.active, cuts])
        rows = [self.rows[i] for i in cuts]
        columns = self.at[np.concatenate([row.columns for row in rows])]
        owner = np.repeat(np.arange(len(rows)), [len(row.columns) for row in rows])
        inside = columns >= 0
        starts = offsets_of(np.bincount(owner[inside], minlength=len(rows)))
        self.solver.addRows(
            len(rows),
            np.full(len(rows), -self._highspy.kHighsInf),
            np.array([row.side for row in rows]),
            int(starts[-1]),
            starts[:-1].astype(np.int32),
            columns[inside].astype(np.int32),
            np.concatenate([row.values for row in rows])[inside],
        )


def _joined(rows: Sequence[CutRow], first: int) -> tuple[Ints, Ints, Floats]:
    """Return the entries of rows: number of the row, from ``first`` on, column and value."""
    owner = np.repeat(first + np.arange(len(rows)), [len(row.columns) for row in rows])
    columns = np.concatenate([np.zeros(0, np.int64), *(row.columns for row in rows)])
    return owner, columns, np.concatenate([np.zeros(0), *(row.values for row in rows)])


def on_grid(y: Floats) -> Floats:
    """Round multipliers to the grid; those below zero become zero."""
    rounded: Floats = np.rint(np.maximum(y, 0.0) * GRID) / GRID
    return rounded


def reduced_costs(problem: Problem, rows: Sequence[CutRow], y: Floats) -> Floats:
    """Return the cost of every set, with the prices of the cuts that it is in."""
    reduced = problem.cost.copy()
    if rows:
        columns = np.concatenate([row.columns for row in rows])
        values = np.concatenate([row.values for row in rows])
        values *= np.repeat(y, [len(row.columns) for row in rows])
        reduced += np.bincount(columns, values, problem.m)
    return reduced


def bound_of(
    problem: Problem, rows: Sequence[CutRow], y: Floats, shut: Flags
) -> tuple[float, Floats]:
    """Return L(y) and its rise, per set, for any rows, when the sets in ``shut`` are left out."""
    reduced = reduced_costs(problem, rows, y)
    reduced[shut] = np.inf
    least = np.minimum.reduceat(reduced, problem.offsets[:-1])
    if np.isinf(least).any():
        return math.inf, np.full(problem.m, np.inf)
    rise = reduced - np.repeat(least, np.diff(problem.offsets))
    return math.fsum(least) - math.fsum(y * [row.side for row in rows]), rise
