"""Which engine solves which part, and how their results become one solution.

Every part gets a first network at once, so there is an incumbent from the start. Then, smallest
part first, ``auto`` takes dynamic programming where its time is foreseeable and short, and
otherwise order search, cuts at the root and branching, each handing on what it learned.
"""

from __future__ import annotations

import contextlib
import math
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from parentage.network.record import Effort, SearchRecord
from parentage.optimise.certificate import certificate_of
from parentage.optimise.cuts import project
from parentage.optimise.exact import (
    check_memory,
    fits,
    forecast_seconds,
    is_forest,
    solve_forest,
    solve_subsets,
    start_from_forest,
)
from parentage.optimise.lp.cutting import PHASE as ROOT
from parentage.optimise.lp.cutting import Tactics, solve_root
from parentage.optimise.lp.tree import Tree
from parentage.optimise.orders import (
    OrderSpace,
    climb_from,
    first_incumbent,
    incumbent_order,
    search_orders,
)
from parentage.optimise.problem import LARGE
from parentage.optimise.solution import checked_solution, scope_of
from parentage.work.stop import interruptible

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Executor

    from parentage.optimise.lp.cutting import Cutter, Node
    from parentage.optimise.problem import Problem
    from parentage.optimise.run import Part, Run
    from parentage.optimise.solution import Solution
    from parentage.work.stop import Moment

TINY = 8
"""Parts of at most this many variables are enumerated whatever engine is asked for."""

AT_ONCE = 22
"""Parts of at most this many variables go to dynamic programming without more ado."""

LATER = 28
"""Parts of at most this many variables go there when cuts do not get through soon."""

SOON = 0.3
"""Cuts get this share of the time that dynamic programming would take, counted as work."""

MANY = 30_000
"""So do those with more sets than this, without a try: their linear programme is too slow."""

MOST_FOR_FOREST = 3000
"""With more variables the prices of all pairs, from which the best forest is found, take too much
memory for a start."""

AT_A_GLANCE = 500_000
"""Up to so many sets a start is worth some tenths of a second after the time is over."""

WARM_PATIENCE = 5
"""Rounds without a gain after which an order search before the root LP ends."""

PATIENCE = 20
"""Rounds without a gain after which an order search without a time limit ends."""


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
                begin(part, run.starts)
                if TINY < part.problem.n <= MOST_FOR_FOREST:
                    try_forest(part, engine)
            solve_parts(run, engine, tactics)
    except KeyboardInterrupt:
        run.stop.cancelled.set()
        run.stopped()
    run.save()
    return conclude(run)


def try_forest(part: Part, engine: str) -> None:
    """Take the best forest: as the answer where it is one, which takes a moment whatever the time.

    Otherwise it is a start, if there is time, or no other start and few enough sets.
    """
    needed = not part.run.starts and part.problem.m <= AT_A_GLANCE
    if engine != "subsets" and is_forest(part.problem):
        solve_forest(part)
    elif needed or not part.stopped():
        start_from_forest(part)


def begin(part: Part, orders: Sequence[Sequence[int]]) -> None:
    """Give a part its first networks: one from any order, others from those of known networks.

    Without time the known ones have to do.
    """
    for order in orders if part.problem.n > 1 else ():
        begin_with(part, order)
    if part.cost == math.inf or not part.stopped():
        first_incumbent(part)


def begin_with(part: Part, order: Sequence[int]) -> None:
    """Climb from an order of all the variables."""
    place = np.empty(len(order), np.int64)
    place[np.asarray(order, np.int64)] = np.arange(len(order))
    own = np.argsort(place[part.problem.variables])
    climb_from(part, OrderSpace.of(part.problem), own)


def solve_parts(run: Run, engine: str, tactics: Tactics) -> None:
    """Work on the parts until all are proven or the run stops.

    Parts that dynamic programming solves in a moment are solved whatever the clock says.
    """
    tiny = [part for part in run.parts if part.problem.n <= TINY]
    rest = [part for part in run.parts if part.problem.n > TINY]
    moment = run.stop.moment()
    for part in tiny:
        if not part.fewest_arcs:
            solve_in_time(part, moment)
    if engine == "orders":
        search_orders(rest, patience=None if run.seconds_left < math.inf else PATIENCE)
        return
    for part in rest:
        if engine != "subsets" and is_forest(part.problem):
            if not part.proven and not run.stopped():
                solve_forest(part)
        elif engine == "subsets" or (engine == "auto" and part.problem.n <= AT_ONCE):
            solve_in_time(part, moment)
        elif not part.proven and not run.stopped():
            cut_and_branch(part, tactics, subsets=engine == "auto")


def solve_in_time(part: Part, moment: Moment) -> None:
    """Solve a part by dynamic programming if there is time, or if it is a moment's work."""
    run, seconds = part.run, forecast_seconds(part.problem.n)
    late = run.stopped()
    anyway = run.stop_reason in (None, "time") and moment.covers(seconds)
    if anyway or not late:
        solve_subsets(part, anyway=anyway)
    if anyway and run.stopped():
        moment.spend(seconds)


def cut_and_branch(part: Part, tactics: Tactics, *, subsets: bool) -> None:
    """Search, cut, remove what cannot improve, split, and finish what is left of each piece.

    With ``subsets`` small pieces go to dynamic programming instead of branching.
    """
    known = part.take_cuts()
    if tactics.warm_start and not known:
        search_orders([part], patience=WARM_PATIENCE)
    with contextlib.ExitStack() as stack:
        pool = None
        if part.run.threads > 1:
            pool = stack.enter_context(ThreadPoolExecutor(part.run.threads))
        finish(part, tactics, subsets, pool)


def finish(part: Part, tactics: Tactics, subsets: bool, pool: Executor | None) -> None:
    """Solve a part to the end: cut at the root, then split or branch.

    Where dynamic programming is possible, cutting and branching get a share of its time.
    """
    if part.proven or part.stopped():
        return
    patience = other_way(part) if subsets else math.inf
    if patience == math.inf or (patience > 0.0 and part.problem.n > AT_ONCE):
        cutter, root = solve_root(part, tactics, pool=pool, work=patience)
        if part.problem.n > LARGE and not part.proven and not part.stopped():
            search_orders([part], patience=WARM_PATIENCE)
            cutter.tighten(root, ROOT)
        tree = None
        if not (part.proven or part.stopped() or cutter.exhausted()):
            tree = split_or_branch(part, cutter, root, tactics, subsets, pool)
        count(part, cutter, tree)
    if patience < math.inf and not part.proven and not part.stopped():
        solve_subsets(part)
        part.fewest_arcs = False


def split_or_branch(
    part: Part,
    cutter: Cutter,
    root: Node,
    tactics: Tactics,
    subsets: bool,
    pool: Executor | None,
) -> Tree | None:
    """Solve the strongly connected pieces of what is left of a part, or branch if it is one."""
    pieces = part.problem.only(~cutter.lp.removed).parts()
    if pieces[-1].n < part.problem.n:
        split(part, pieces, tactics, subsets, pool)
        return None
    tree = Tree(cutter, root)
    tree.solve()
    return tree


def split(
    part: Part,
    problems: list[Problem],
    tactics: Tactics,
    subsets: bool,
    pool: Executor | None,
) -> None:
    """Solve pieces of a part, each from the incumbent and the cuts of the part."""
    place = {int(v): i for i, v in enumerate(part.problem.variables)}
    order = part.problem.variables[incumbent_order(part)]
    pieces = part.split(problems)
    inside = [{int(v): i for i, v in enumerate(piece.problem.variables)} for piece in pieces]
    for piece, at in zip(pieces, inside, strict=True):
        own = np.array([at[int(v)] for v in order if int(v) in at], np.int64)
        climb_from(piece, OrderSpace.of(piece.problem), own)
    for piece, at in zip(pieces, inside, strict=True):
        piece.cuts = project(part.cuts, {place[v]: i for v, i in at.items()})
        finish(piece, tactics, subsets, pool)
    engines = {piece.engine for piece in pieces if piece.problem.n > 1}
    part.engine = " + ".join(sorted(engines)) or ROOT


def count(part: Part, cutter: Cutter, tree: Tree | None) -> None:
    """Note what cutting and branching did."""
    part.effort.lp_rounds += cutter.rounds
    part.effort.cuts.update(cutter.lp.counts)
    part.effort.fixed += int(cutter.lp.removed.sum())
    part.effort.nodes += tree.nodes if tree else 1


def other_way(part: Part) -> float:
    """Work that is worth while before dynamic programming; infinite where that cannot be."""
    if part.problem.n > LATER or not fits(part.problem, part.run.threads):
        return math.inf
    if part.problem.m > MANY:
        return 0.0
    return SOON * 1e9 * forecast_seconds(part.problem.n)


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
        certificate=certificate_of(run, run.constraints),
    )


def record_of(run: Run) -> SearchRecord:
    """Gather what the engines counted."""
    effort = Effort()
    for part in run.all_parts():
        effort = effort + part.effort
    roots = [p.best_cost - p.root_bound for p in run.parts if p.root_bound is not None]
    gap = math.fsum(roots) if roots else None
    return SearchRecord(
        tuple(part.problem.n for part in run.parts if part.problem.n > 1),
        run.lists.n_sets,
        sum(part.problem.m for part in run.parts),
        None if gap is None else run.score() + gap,
        gap,
        effort,
    )
