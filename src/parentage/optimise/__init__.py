"""From candidate lists to the best network, with its proof: the stage after scoring.

Choose one candidate set per variable so that no cycle arises and the scores add up to the most.
Four engines (:mod:`.forest`, :mod:`.subsets`, :mod:`.orders`, and cuts with branching:
:mod:`.root_lp`, :mod:`.tree`) solve what :mod:`.prepare` and :mod:`.problem` make of the lists;
:mod:`.engines` chooses between them; :mod:`.run` keeps incumbents and bounds; :mod:`.solution` is
what comes out, with its proof (:mod:`.certificate`); :mod:`.near` finds all networks close to the
best. docs/solver.md explains the cuts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parentage.errors import InputError, did_you_mean
from parentage.optimise.near import NearOptimal, within
from parentage.optimise.solution import Progress, Solution

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from parentage.scoring.constraints import Constraints
    from parentage.scoring.lists import CandidateLists

__all__ = ["ENGINES", "NearOptimal", "Progress", "Solution", "learn_lists", "within"]

ENGINES = ("auto", "branch-and-cut", "orders", "subsets")


def learn_lists(
    lists: CandidateLists,
    *,
    engine: str = "auto",
    time_limit: float | None = None,
    gap_limit: float = 0.0,
    threads: int = 1,
    seed: int = 0,
    constraints: Constraints | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
) -> Solution:
    """Find the network with the highest score that the lists allow, and prove it.

    Parameters
    ----------
    lists
        Candidate parent sets with scores, pruned or not.
    engine
        ``"subsets"``: dynamic programming, sure, for parts of up to about 28 variables;
        ``"orders"``: anytime local search, no proof; ``"branch-and-cut"``: integer programming
        with proof; ``"auto"``: what suits each strongly connected part.
    time_limit
        Seconds of wall time after which the incumbent and the bound are returned.
    gap_limit
        Stop when ``bound − score`` is at most this.
    threads
        Threads of the order search and the dynamic programme.
    seed
        Seed of the order search.
    constraints
        Required and forbidden arcs, in-degrees, tiers.
    progress
        Called with a :class:`Progress` whenever something improves, and now and then.
    cancel
        An event that ends the search like Ctrl-C does: the incumbent and the bound are returned.

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
    >>> solution.to_dict()
    {'rain': [], 'wet': ['rain', 'hose'], 'hose': []}
    """
    from parentage.optimise.engines import solve
    from parentage.optimise.prepare import prepare
    from parentage.optimise.run import Run

    if engine not in ENGINES:
        raise InputError(f"no engine {engine!r}; {did_you_mean(engine, ENGINES)}")
    if threads < 1:
        raise InputError(f"threads must be at least 1, not {threads}")
    if seed < 0:
        raise InputError(f"the seed must not be negative, but is {seed}")
    if time_limit is not None and not time_limit >= 0:
        raise InputError(f"the time limit must be a number of seconds, not {time_limit}")
    if not gap_limit >= 0:
        raise InputError(f"the gap limit must not be negative, but is {gap_limit}")
    run = Run(
        lists,
        prepare(lists, constraints),
        time_limit=time_limit,
        gap_limit=gap_limit,
        threads=threads,
        seed=seed,
        cancel=cancel,
        progress=progress,
        constraints=constraints,
    )
    return solve(run, engine)
