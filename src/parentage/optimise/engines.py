"""Which engine solves which part, and how their results become one solution.

Every part gets a first network at once, so there is an incumbent from the start. Then, smallest
part first, ``auto`` takes dynamic programming where its time is foreseeable and short, and
otherwise order search, root LP and branch-and-cut, each handing on what it learned.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parentage.optimise.branch_and_cut import BranchAndCut
from parentage.optimise.cuts import project
from parentage.optimise.orders import (
    OrderSpace,
    climb_from,
    first_incumbent,
    incumbent_order,
    search_orders,
)
from parentage.optimise.record import Effort, SearchRecord
from parentage.optimise.root_lp import PHASE as ROOT
from parentage.optimise.root_lp import solve_root
from parentage.optimise.solution import checked_solution, scope_of
from parentage.optimise.subsets import check_memory, fits, forecast_seconds, solve_subsets
from parentage.work.stop import interruptible

if TYPE_CHECKING:
    from parentage.optimise.cuts import Cut
    from parentage.optimise.run import Part, Run
    from parentage.optimise.solution import Solution

TINY = 8
"""Parts of at most this many variables are enumerated whatever engine is asked for."""

AT_ONCE = 22
"""Parts of at most this many variables go to dynamic programming without more ado."""

LATER = 28
"""Parts of at most this many variables go there when cuts do not get through in that time."""

WARM_PATIENCE = 8
"""Rounds without a gain after which an order search before the root LP ends."""

PATIENCE = 20
"""Rounds without a gain after which an order search without a time limit ends."""


@dataclass(frozen=True)
class Tactics:
    """What branch-and-cut may use; switched off one by one in the benchmark's ablation."""

    warm_start: bool = True
    root_lp: bool = True
    set_packing: bool = True


DEFAULT = Tactics()


def solve(run: Run, engine: str, tactics: Tactics = DEFAULT) -> Solution:
    """Solve all parts of a run with one engine, or what suits them.

    Ctrl-C ends the search, not the program: what is known by then is returned.
    """
    if engine == "subsets":
        for part in run.parts:
            check_memory(part.problem, run.threads)
    try:
        with interruptible(run.stop):
            for part in run.parts:
                first_incumbent(part)
            solve_parts(run, engine, tactics)
    except KeyboardInterrupt:
        run.stop.cancelled.set()
        run.stopped()
    return conclude(run)


def solve_parts(run: Run, engine: str, tactics: Tactics) -> None:
    """Work on the parts until all are proven or the run stops."""
    tiny = [part for part in run.parts if part.problem.n <= TINY]
    rest = [part for part in run.parts if part.problem.n > TINY]
    for part in tiny:
        if not part.fewest_arcs and not run.stopped():
            solve_subsets(part)
    if engine == "orders":
        search_orders(rest, patience=None if run.seconds_left < math.inf else PATIENCE)
        return
    for part in rest:
        if run.stopped():
            return
        if engine == "subsets" or (engine == "auto" and part.problem.n <= AT_ONCE):
            solve_subsets(part)
        elif not part.proven:
            cut_and_branch(part, tactics, subsets=engine == "auto")


def cut_and_branch(part: Part, tactics: Tactics, *, subsets: bool) -> None:
    """Search, cut, remove what cannot improve, split, and finish what is left of each piece.

    With ``subsets`` small pieces go to dynamic programming instead of branch-and-cut.
    """
    if tactics.warm_start:
        search_orders([part], patience=WARM_PATIENCE)
    found: list[Cut] = []
    problem = part.problem
    if tactics.root_lp and not part.proven and not part.stopped():
        patience = other_way(part) if subsets else math.inf
        lp = solve_root(part, set_packing=tactics.set_packing, seconds=patience)
        found, problem = lp.cuts, problem.only(~lp.removed)
    if part.proven or part.stopped():
        return
    place = {int(v): i for i, v in enumerate(part.problem.variables)}
    order = part.problem.variables[incumbent_order(part)]
    pieces = part.split(problem.parts())
    inside = [{int(v): i for i, v in enumerate(piece.problem.variables)} for piece in pieces]
    for piece, at in zip(pieces, inside, strict=True):
        own = np.array([at[int(v)] for v in order if int(v) in at], np.int64)
        climb_from(piece, OrderSpace.of(piece.problem), own)
    for piece, at in zip(pieces, inside, strict=True):
        finish(piece, project(found, {place[v]: i for v, i in at.items()}), tactics, subsets)
    engines = {piece.engine for piece in pieces if piece.problem.n > 1}
    part.engine = " + ".join(sorted(engines)) or ROOT


def other_way(part: Part) -> float:
    """Seconds dynamic programming would need; infinite where it is out of the question."""
    if part.problem.n > LATER or not fits(part.problem, part.run.threads):
        return math.inf
    return forecast_seconds(part.problem.n, part.run.threads)


def finish(piece: Part, found: list[Cut], tactics: Tactics, subsets: bool) -> None:
    """Solve one piece to the end.

    Where dynamic programming is possible, branch-and-cut gets as long as that would take.
    """
    if piece.proven or piece.stopped():
        return
    patience = other_way(piece) if subsets else math.inf
    if piece.problem.n > AT_ONCE or not subsets:
        search = BranchAndCut(piece, found, set_packing=tactics.set_packing)
        search.solve(warm=tactics.warm_start, seconds=patience)
    if patience < math.inf and not piece.proven and not piece.stopped():
        solve_subsets(piece)
        piece.fewest_arcs = False


def conclude(run: Run) -> Solution:
    """Check and wrap what is known at the end of a run."""
    if run.stopped() and any(part.cost == math.inf for part in run.parts):
        raise KeyboardInterrupt
    proven = run.proven()
    return checked_solution(
        run.lists,
        run.chosen().tolist(),
        bound=run.bound(),
        proven=proven,
        scope=scope_of(run.lists, run.tolerance),
        engine=" + ".join(sorted({part.engine for part in run.parts if part.problem.n > 1}))
        or "no cycle possible",
        ties="fewest arcs" if all(part.fewest_arcs for part in run.parts) else "unknown",
        stopped=None if proven else run.stop_reason,
        record=record_of(run),
        trace=run.trace,
        seconds=run.seconds,
    )


def record_of(run: Run) -> SearchRecord:
    """Gather what the engines counted."""
    effort = Effort()
    for part in run.parts:
        effort = sum((piece.effort for piece in part.parts), effort + part.effort)
    roots = [p.best_cost - p.root_bound for p in run.parts if p.root_bound is not None]
    return SearchRecord(
        tuple(part.problem.n for part in run.parts if part.problem.n > 1),
        run.lists.n_sets,
        sum(part.problem.m for part in run.parts),
        math.fsum(roots) if roots else None,
        effort,
    )
