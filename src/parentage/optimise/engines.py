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

from parentage.check.nodes import MOST_VARIABLES
from parentage.network.network import listed_gains
from parentage.network.record import SearchRecord
from parentage.optimise.certificate import certificate_of
from parentage.optimise.cuts import project
from parentage.optimise.cutting import ROOT, branch, solve_root
from parentage.optimise.exact import (
    check_memory,
    fits,
    is_forest,
    solve_forest,
    solve_subsets,
    work_of_subsets,
)
from parentage.optimise.orders import climb_from, first_incumbent, incumbent_order, search_orders
from parentage.optimise.solution import Solution, checked_network, scope_of
from parentage.work.stop import interruptible

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Executor

    from parentage.optimise.cutting import Cutter, Node
    from parentage.optimise.problem import Problem
    from parentage.optimise.run import Part, Run

TINY = 8
"""Variables of a part that is enumerated whatever engine is asked for: that takes a moment."""


def solve(run: Run) -> Solution:
    """Solve all parts of a run with one engine, or what suits them.

    Ctrl-C ends the search, not the program: what is known by then is returned.
    """
    engine = run.settings.engine
    if engine == "subsets":
        for part in run.parts:
            check_memory(part.problem, run.threads)
    try:
        with interruptible(run.stop):
            for part in run.parts:
                climb = not takes_a_moment(part)
                begin(part, run.start.orders, climb=climb)
                if climb and engine != "subsets" and is_forest(part.problem):
                    solve_forest(part)  # that takes a moment, whatever the time
            solve_parts(run)
    except KeyboardInterrupt:
        run.stop.cancelled.set()
        run.stopped()
    run.save()
    return conclude(run)


def takes_a_moment(part: Part) -> bool:
    """Whether dynamic programming solves a part at once: then any network will do until it has."""
    engine, n = part.run.settings.engine, part.problem.n
    return n <= TINY or (engine in ("auto", "subsets") and n <= part.run.tuning.at_once)


def begin(part: Part, orders: Sequence[Sequence[int]], *, climb: bool = True) -> None:
    """Give a part its first networks: one from any order, others from those of known networks.

    Without time the known ones have to do. If asked, it climbs from each.
    """
    for order in orders if part.problem.n > 1 else ():
        begin_with(part, order, climb=climb)
    if part.cost == math.inf or not part.stopped():
        first_incumbent(part, climb=climb)


def begin_with(part: Part, order: Sequence[int], *, climb: bool = True) -> None:
    """Take the network of an order of all the variables, or climb from it."""
    place = np.empty(len(order), np.int64)
    place[np.asarray(order, np.int64)] = np.arange(len(order))
    own = np.argsort(place[part.problem.variables])
    climb_from(part, own, climb=climb)


def solve_parts(run: Run) -> None:
    """Work on the parts until all are proven or the run stops.

    Parts that dynamic programming solves in a moment are solved whatever the clock says.
    """
    engine = run.settings.engine
    tiny = [part for part in run.parts if part.problem.n <= TINY]
    rest = [part for part in run.parts if part.problem.n > TINY]
    moment = run.stop.moment()
    for part in tiny:
        if not part.fewest_arcs:
            moment -= solve_in_time(part, moment)
    if engine == "orders":
        limited = run.stop.seconds_left < math.inf
        search_orders(rest, patience=None if limited else 2 * run.tuning.stale)
        return
    for part in rest:
        if engine != "subsets" and is_forest(part.problem):
            if not part.proven and not run.stopped():
                solve_forest(part)
        elif engine == "subsets" or (engine == "auto" and part.problem.n <= run.tuning.at_once):
            moment -= solve_in_time(part, moment)
        elif not part.proven and run.work_left > 0 and not run.stopped():
            cut_and_branch(part)


def solve_in_time(part: Part, moment: float) -> float:
    """Solve a part by dynamic programming if there is time, or if it is a moment's work.

    ``moment`` is what is left of that, in seconds; returns what was taken of it.
    """
    run, seconds = part.run, 1e-9 * work_of_subsets(part.problem.n)
    late = run.stopped()
    anyway = run.stop_reason in (None, "time") and seconds <= moment
    if anyway or not late:
        solve_subsets(part, anyway=anyway)
    return seconds if anyway and run.stopped() else 0.0


def cut_and_branch(part: Part) -> None:
    """Search, cut, remove what cannot improve, split, and finish what is left of each piece.

    With the engine ``auto`` small pieces go to dynamic programming instead of branching.
    """
    run = part.run
    part.take_cuts()
    if run.tuning.warm_rounds and run.start.cuts is None:
        search_orders([part], patience=run.tuning.warm_rounds)
    with contextlib.ExitStack() as stack:
        pool = None
        if run.threads > 1:
            pool = stack.enter_context(ThreadPoolExecutor(run.threads))
        finish(part, pool)


def finish(part: Part, pool: Executor | None = None) -> None:
    """Solve a part to the end: cut at the root, then split or branch.

    Where dynamic programming is possible, cutting and branching get a share of its work.
    """
    if part.proven or part.run.work_left <= 0 or part.stopped():
        return
    tuning, n = part.run.tuning, part.problem.n
    granted = work_before_subsets(part)
    if granted == math.inf or (granted > 0.0 and n > tuning.at_once):
        cutter, root = solve_root(part, pool=pool, work=granted)
        idle = part.proven or cutter.exhausted() or part.stopped()
        if n > tuning.large and not idle:
            search_orders([part], patience=max(1, tuning.warm_rounds))
            cutter.tighten(root)
        if not (part.proven or part.stopped() or cutter.exhausted()):
            split_or_branch(part, cutter, root, pool)
        count(part, cutter)
    affordable = work_of_subsets(n) <= part.run.work_left
    if granted < math.inf and affordable and not part.proven and not part.stopped():
        solve_subsets(part)
        part.fewest_arcs = False


def split_or_branch(part: Part, cutter: Cutter, root: Node, pool: Executor | None) -> None:
    """Solve the strongly connected pieces of what is left of a part, or branch if it is one."""
    pieces = part.problem.only(~cutter.lp.removed).parts()
    if pieces[-1].n < part.problem.n:
        split(part, pieces, pool)
    else:
        branch(cutter, root)


def split(part: Part, problems: list[Problem], pool: Executor | None) -> None:
    """Solve pieces of a part, each from the incumbent and the cuts of the part."""
    place = {int(v): i for i, v in enumerate(part.problem.variables)}
    order = part.problem.variables[incumbent_order(part)]
    pieces = part.split(problems)
    inside = [{int(v): i for i, v in enumerate(piece.problem.variables)} for piece in pieces]
    for piece, at in zip(pieces, inside, strict=True):
        climb_from(piece, np.array([at[int(v)] for v in order if int(v) in at], np.int64))
    for piece, at in zip(pieces, inside, strict=True):
        piece.cuts = project(part.cuts, {place[v]: i for v, i in at.items()})
        finish(piece, pool)
    if pieces[-1].problem.n == 1:
        part.found_by = ROOT


def count(part: Part, cutter: Cutter) -> None:
    """Note what cutting and branching did."""
    part.counted.lp_rounds += cutter.rounds
    part.counted.cuts.update(cutter.lp.counts)
    part.counted.fixed += int(cutter.lp.removed.sum())
    part.counted.nodes += cutter.nodes


def work_before_subsets(part: Part) -> float:
    """Work that cutting may take before dynamic programming; infinite where that cannot be."""
    run, problem = part.run, part.problem
    if (
        run.settings.engine != "auto"
        or problem.n > MOST_VARIABLES
        or not fits(problem, run.threads)
    ):
        return math.inf
    return run.tuning.soon * work_of_subsets(problem.n)


def conclude(run: Run) -> Solution:
    """Check and wrap what is known at the end of a run."""
    if run.stopped() and any(part.cost == math.inf for part in run.parts):
        raise KeyboardInterrupt
    proven, lists, seconds = run.proven(), run.lists, run.seconds
    network, score = checked_network(lists, run.chosen().tolist())
    bound = score if proven else max(run.bound(), score)
    steps = ((t, min(s, score), max(b, bound)) for t, s, b in run.trace)
    engines = sorted({part.engine for part in run.parts if part.problem.n > 1})
    return Solution(
        network,
        score,
        bound,
        optimal=proven,
        scope=scope_of(lists, run.tolerance),
        gains=listed_gains(network, lists),
        engine=" + ".join(engines) or "best set of each variable",
        ties="fewest arcs" if all(part.fewest_arcs for part in run.parts) else "unknown",
        stopped=None if proven else run.stop_reason,
        record=record_of(run),
        trace=(*steps, (seconds, score, bound)),
        seconds=seconds,
        lists=lists,
        certificate=certificate_of(run),
    )


def record_of(run: Run) -> SearchRecord:
    """Gather what the engines counted."""
    bounds = [(part.best_cost, part.root_bound) for part in run.parts]
    roots = [cost - bound for cost, bound in bounds if bound is not None]
    gap = math.fsum(roots) if roots else None
    record = SearchRecord(
        tuple(part.problem.n for part in run.parts if part.problem.n > 1),
        run.lists.n_sets,
        sum(part.problem.m for part in run.parts),
        None if gap is None else run.score() + gap,
        gap,
    )
    for part in run.all_parts():
        record.add(part.counted)
    return record
