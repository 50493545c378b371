"""The linear programme at the root: cuts, a bound that holds, and sets that can be forgotten.

Minimise the cost over fractional x, one set per child, subject to the cuts found so far
(:mod:`.cuts`); add violated ones, solve again. The bound does not rest on the tolerances of the
LP solver: with any multipliers y of the right signs,

    L(y) = sum over cuts of y · right side + sum over children v of min over sets of v of
           (cost − sum of y over the cuts the set is in)

is below the cost of every network (Lagrangian relaxation), and L(y) plus what a set's reduced
cost exceeds its child's least one is below the cost of every network with that set. Sets for
which that is above the incumbent are removed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from parentage.optimise.cuts import Cut, Row, cut_row
from parentage.optimise.orders import OrderSpace, climb_from
from parentage.optimise.problem import offsets_of
from parentage.optimise.separate import (
    Support,
    exact_cluster,
    fractional_order,
    quick_cuts,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parentage.optimise.problem import Flags, Floats, Problem
    from parentage.optimise.run import Part

PHASE = "root LP"
MOST, FEW = 70, 8
"""Cuts of one kind added in a round; with few of them, k-cluster cuts are looked for, too."""

STALL_ROUNDS = 12
STALL_SHARE = 0.01
"""The loop ends when so many rounds close less than this share of the gap."""

EXACT_SECONDS = 4.0
EXACT_TRIES = 6
"""How long, and how often, clusters are separated exactly."""

SLICE = 2.0
"""Seconds after which the LP solver lets us look whether to stop."""


class RootLP:
    """The linear programme of one part, kept in HiGHS between rounds."""

    def __init__(self, problem: Problem) -> None:
        import highspy

        self.problem = problem
        self.members = problem.members()
        self.cuts: list[Cut] = []
        self.rows: list[Row] = []
        self.removed: Flags = np.zeros(problem.m, np.bool_)
        self.x: Floats = np.zeros(problem.m)
        self._highspy = highspy
        self._solver = highspy.Highs()
        self._solver.silent()
        self._solver.setOptionValue("threads", 1)
        self._solver.setOptionValue("presolve", "off")
        m = problem.m
        self._solver.addVars(m, np.zeros(m), np.ones(m))
        self._solver.changeColsCost(m, np.arange(m, dtype=np.int32), problem.cost)
        self._add_rows([Row(np.arange(a, b), 1.0, 1.0) for a, b in problem.spans()])

    def solve(self, part: Part) -> bool:
        """Solve the programme as it is, slice by slice; False when stopped or in trouble."""
        statuses = self._highspy.HighsModelStatus
        while not part.stopped():
            used = self._solver.getRunTime()
            self._solver.setOptionValue("time_limit", used + min(SLICE, part.seconds_left))
            self._solver.run()
            part.tick(PHASE)
            if self._solver.getModelStatus() != statuses.kTimeLimit:
                break
        if self._solver.getModelStatus() != statuses.kOptimal:
            return False
        self.x = np.array(self._solver.getSolution().col_value)
        return True

    def multipliers(self) -> Floats:
        """Return the duals of the cuts, those of the wrong sign set to zero."""
        dual = np.array(self._solver.getSolution().row_dual)[self.problem.n :]
        at_least = np.array([np.isfinite(row.lower) for row in self.rows], np.bool_)
        y: Floats = np.where(at_least, np.maximum(dual, 0.0), np.minimum(dual, 0.0))
        return y

    def lagrangian(self, y: Floats) -> tuple[float, Floats]:
        """Return L(y) and by how much it rises, per set, if that set is taken."""
        problem = self.problem
        reduced = problem.cost.copy()
        sides = 0.0
        if self.rows:
            columns = np.concatenate([row.columns for row in self.rows])
            weight = np.repeat(y, [len(row.columns) for row in self.rows])
            reduced -= np.bincount(columns, weight, problem.m)
            side = [row.lower if np.isfinite(row.lower) else row.upper for row in self.rows]
            sides = float(y @ np.array(side))
        reduced[self.removed] = np.inf
        least = np.minimum.reduceat(reduced, problem.offsets[:-1])
        rise = reduced - np.repeat(least, np.diff(problem.offsets))
        return sides + float(least.sum()), rise

    def add(self, found: Sequence[Cut]) -> None:
        """Add cuts."""
        rows = [cut_row(self.problem, cut) for cut in found]
        self.cuts.extend(found)
        self.rows.extend(rows)
        self._add_rows(rows)

    def remove(self, sets: Flags) -> None:
        """Fix sets to zero."""
        new = np.flatnonzero(sets & ~self.removed).astype(np.int32)
        if len(new):
            self.removed[new] = True
            zero = np.zeros(len(new))
            self._solver.changeColsBounds(len(new), new, zero, zero)

    def drop_slack(self) -> None:
        """Forget cuts that do not bind, when they have become many."""
        n, total = self.problem.n, len(self.rows)
        if total < 4 * n + 400:
            return
        dual = np.array(self._solver.getSolution().row_dual)[n:]
        loose = np.flatnonzero(np.abs(dual) < 1e-9)
        if len(loose) > 0.3 * total:
            self._solver.deleteRows(len(loose), (loose + n).astype(np.int32))
            keep = sorted(set(range(total)) - set(loose.tolist()))
            self.cuts = [self.cuts[i] for i in keep]
            self.rows = [self.rows[i] for i in keep]

    def _add_rows(self, rows: Sequence[Row]) -> None:
        if not rows:
            return
        starts = offsets_of(np.array([len(row.columns) for row in rows]))
        lower = np.array([row.lower for row in rows])
        upper = np.array([row.upper for row in rows])
        self._solver.addRows(
            len(rows),
            np.where(np.isfinite(lower), lower, -self._highspy.kHighsInf),
            np.where(np.isfinite(upper), upper, self._highspy.kHighsInf),
            int(starts[-1]),
            starts[:-1].astype(np.int32),
            np.concatenate([row.columns for row in rows]).astype(np.int32),
            np.ones(int(starts[-1])),
        )


def solve_root(part: Part, *, set_packing: bool = True, seconds: float = math.inf) -> RootLP:
    """Cut until nothing is violated, the part is proven, progress stalls or the run stops.

    After ``seconds`` it ends, too: when another engine would have been ready by then.
    """
    lp = RootLP(part.problem)
    space = OrderSpace.of(part.problem)
    gaps: list[float] = []
    exact_left = EXACT_TRIES
    end = part.run.seconds + seconds
    while part.run.seconds < end and lp.solve(part):
        tighten(part, lp)
        part.effort.lp_rounds += 1
        if part.proven:
            break
        support = Support.of(lp.problem, lp.members, lp.x)
        climb_from(part, space, fractional_order(support))
        part.tick(PHASE)
        gaps.append(part.cost - part.bound)
        if len(gaps) > STALL_ROUNDS and gaps[-1] > (1 - STALL_SHARE) * gaps[-1 - STALL_ROUNDS]:
            break
        found = quick_cuts(support, set_packing=set_packing, most=MOST, few=FEW)
        if not found and exact_left:
            exact_left -= 1
            cut = exact_cluster(support, min(EXACT_SECONDS, max(0.1, part.seconds_left)))
            found = [] if cut is None else [cut]
        if not found:
            break
        lp.drop_slack()
        lp.add(found)
    part.effort.root_cuts = len(lp.cuts)
    part.root_bound = part.bound
    return lp


def tighten(part: Part, lp: RootLP) -> None:
    """Raise the bound of the part and remove the sets that cannot improve its incumbent."""
    bound, rise = lp.lagrangian(lp.multipliers())
    if part.cost - bound <= part.run.tolerance:
        part.prove(PHASE, PHASE)
        return
    part.raise_bound(bound, PHASE)
    hopeless = bound + rise > part.cost - part.run.tolerance
    hopeless[part.choice] = False
    lp.remove(hopeless)
