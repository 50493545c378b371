"""From candidate lists to the best network, with its proof: the stage after scoring.

Choose one candidate set per variable so that no cycle arises and the scores add up to the most.
Four engines (dynamic programming and forests: :mod:`.exact`; :mod:`.orders`; cuts with branching:
:mod:`.lp`) solve what :mod:`.problem` makes of the lists;
:mod:`.engines` chooses between them; :mod:`.run` keeps incumbents and bounds; :mod:`.beyond`
bounds what cut lists leave out; :mod:`.solution` is what comes out, with its proof
(:mod:`.certificate`); :mod:`.near` finds all networks close to the best. docs/solver.md explains
the cuts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from parentage.errors import InputError
from parentage.optimise.near import NearOptimal, within
from parentage.optimise.settings import ENGINES, Optimising
from parentage.optimise.solution import Solution, scope_of
from parentage.scoring.account import Account, Limit, limits_by_name
from parentage.scoring.constraints import Constraints
from parentage.work.running import Running
from parentage.work.settings import takes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parentage.network.network import Network
    from parentage.optimise.cuts import Cut
    from parentage.scoring.lists import CandidateLists
    from parentage.work.checkpoint import Checkpoint
    from parentage.work.progress import Report
    from parentage.work.stop import Stop

__all__ = ["ENGINES", "NearOptimal", "Solution", "learn_lists", "optimise_lists", "within"]


@takes(Optimising, Running)
def learn_lists(
    lists: CandidateLists,
    *,
    max_parents: Limit = None,
    constraints: Constraints | None = None,
    engine: str = "auto",
    gap_limit: float = 0.0,
    seed: int = 0,
    threads: int | None = None,
    time_limit: float | None = None,
    memory: int | None = None,
    start: Network | None = None,
    progress: Report | None = None,
    stop: Stop | None = None,
) -> Solution:
    """Find the network with the highest score that the lists allow, and prove it.

    Parameters
    ----------
    lists
        Candidate parent sets with scores, pruned or not.
    max_parents
        Largest number of parents, for all variables or by name: picks among the lists.
    constraints
        Required and forbidden arcs, in-degrees, tiers.
    {settings}
    start
        A network to begin from: what is found scores at least as much, as far as the lists have
        its sets.
    progress
        Called with a :class:`parentage.work.progress.Progress` whenever something improves, and
        now and then.
    stop
        Ends the search as the time limit or Ctrl-C does, instead of ``time_limit`` and
        ``memory``: the incumbent and the bound are returned.

    Raises
    ------
    ListsError
        Broken lists, or lists without an acyclic choice.
    ConstraintError
        Constraints that contradict each other or leave nothing.
    ResourceError
        ``engine="subsets"`` and the table does not fit into memory.
    InputError
        An unknown engine, or limits that make no sense.

    Examples
    --------
    >>> from parentage.scoring.lists import CandidateLists
    >>> lists = CandidateLists.from_families({
    ...     "rain": [(-5.0, []), (-3.0, ["wet"])],
    ...     "wet": [(-6.0, []), (-2.0, ["rain", "hose"])],
    ...     "hose": [(-1.0, [])]})
    >>> solution = learn_lists(lists)
    >>> solution.score, solution.bound, solution.optimal
    (-8.0, -8.0, True)
    >>> solution.network.to_dict()
    {'rain': [], 'wet': ['rain', 'hose'], 'hose': []}
    """
    running = Running(threads, time_limit, memory)
    return optimise_lists(
        lists,
        Optimising(engine, gap_limit, seed),
        stop or running.stop(),
        threads=running.workers,
        max_parents=max_parents,
        constraints=constraints,
        start=start,
        report=progress,
    )


def optimise_lists(
    lists: CandidateLists,
    settings: Optimising,
    stop: Stop,
    *,
    threads: int = 1,
    max_parents: Limit = None,
    constraints: Constraints | None = None,
    start: Network | None = None,
    report: Report | None = None,
    cuts: Sequence[Cut] | None = None,
    kept_cuts: list[Cut] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Solution:
    """Solve; for lists that were cut short, bound what was asked and not only what is listed.

    ``cuts`` are those of another run over the same variables, whatever its lists and constraints,
    or none of them; whoever gives them begins from a network that is near, and no other is looked
    for before cutting. Those of this run are put into ``kept_cuts``. With a ``checkpoint``, whose
    job this is, incumbent and cuts are saved, and a later run begins from them.
    """
    from parentage.optimise.beyond import beyond_scores, plain_bound, relaxed_lists
    from parentage.optimise.engines import solve
    from parentage.optimise.lp.cutting import Tactics
    from parentage.optimise.problem import allowed_sets, memory_of_problem, prepare
    from parentage.optimise.run import Run, from_slot
    from parentage.work.memory import require_memory

    allowed = limited(lists, max_parents, constraints)
    require_memory(
        memory_of_problem(lists),
        f"learning from {lists.n_sets} sets of {lists.n_variables} variables",
        "allow fewer parents when scoring",
        limit=stop.memory,
    )
    slot = None if checkpoint is None else checkpoint.next_slot("solve")
    saved = from_slot(slot, lists)
    starts = [] if start is None else [start_order(lists, start)]
    run = Run(
        lists,
        prepare(lists, allowed),
        stop=stop,
        gap_limit=settings.gap_limit,
        threads=threads,
        seed=settings.seed,
        report=report,
        constraints=allowed,
        starts=[*starts, *saved.orders],
        cuts=cuts or saved.cuts,
        slot=slot,
    )
    scope = scope_of(lists, run.tolerance, max_parents, constraints)
    tactics = Tactics(warm_start=cuts is None)
    solution = replace(solve(run, settings.engine, tactics), scope=scope)
    if kept_cuts is not None:
        kept_cuts.extend(run.found_cuts())
    if requires_more(lists, allowed):
        return unproven_by_lists(
            lists, solution, max_parents, constraints, settings, stop, threads, checkpoint
        )
    if lists.account.complete:
        return solution
    solution = replace(solution, certificate=None)  # it speaks of the lists, not of what was asked
    beyond = beyond_scores(lists, allowed)
    plain = plain_bound(lists, allowed_sets(lists, allowed), beyond)
    if plain <= solution.score:
        return solution
    bound = max(solution.bound, plain)
    if stop.reason() is None:
        wider = relaxed_lists(lists, allowed, beyond)
        slot = None if checkpoint is None else checkpoint.next_slot("solve")
        saved = from_slot(slot, wider)
        relaxed = Run(
            wider,
            prepare(wider, allowed),
            stop=stop,
            threads=threads,
            report=report,
            starts=saved.orders,
            cuts=saved.cuts,
            slot=slot,
        )
        bound = max(solution.bound, min(bound, solve(relaxed, "auto").bound))
    trace = tuple((t, s, max(b, bound)) for t, s, b in solution.trace)
    if solution.optimal and bound - solution.score <= scope.tolerance:
        return replace(solution, bound=bound, trace=trace)
    return replace(
        solution,
        bound=bound,
        optimal=False,
        certificate=None,
        ties="unknown",
        stopped=solution.stopped or lists.known().ended,
        trace=trace,
    )


def requires_more(lists: CandidateLists, allowed: Constraints) -> bool:
    """Whether arcs are required that were not when the lists were scored.

    Sets with such a parent may then be missing: a subset without it scored better.
    """
    origin = lists.account
    return isinstance(origin, Account) and bool(allowed.required - origin.constraints.required)


def unproven_by_lists(
    lists: CandidateLists,
    solution: Solution,
    max_parents: Limit,
    constraints: Constraints | None,
    settings: Optimising,
    stop: Stop,
    threads: int,
    checkpoint: Checkpoint | None = None,
) -> Solution:
    """Bound a solution by the best network without the arcs that are required only now.

    Every network that was asked for scores at most as much, because dropping a requirement
    allows more networks, and of these the lists have all that can be best.
    """
    given = constraints or Constraints()
    old = lists.known().constraints.required
    freed = replace(given, required=given.required & old)
    wider = optimise_lists(
        lists,
        settings,
        stop,
        threads=threads,
        max_parents=max_parents,
        constraints=freed,
        checkpoint=checkpoint,
    )
    bound = max(solution.score, wider.bound)
    proven = wider.optimal and bound - solution.score <= solution.scope.tolerance
    trace = tuple((t, s, max(b, bound)) for t, s, b in solution.trace)
    return replace(
        solution,
        bound=bound,
        optimal=proven,
        ties="unknown",
        certificate=None,
        trace=trace,
    )


def start_order(lists: CandidateLists, start: Network) -> list[int]:
    """Return an order of the variables that a network respects, as indices into the lists.

    The best sets that respect it score at least as much as the network, as far as its sets are
    listed.
    """
    check_start(start, lists.names)
    return [lists.index(name) for name in start.order]


def check_start(start: Network, names: Sequence[str]) -> None:
    """Refuse a network to start from that has other variables than those there are.

    Raises
    ------
    InputError
        A variable is in one only.
    """
    if odd := set(start.names) ^ set(names):
        raise InputError(
            f"the network to start from has other variables: {min(odd)!r} is in one only"
        )


def limited(
    lists: CandidateLists,
    max_parents: Limit,
    constraints: Constraints | None,
) -> Constraints:
    """Return all that restricts the choice: constraints and limits on parents together."""
    given = constraints or Constraints()
    by_name = limits_by_name(lists.names, max_parents)
    return given.merge(Constraints(max_parents=by_name)) if by_name else given
