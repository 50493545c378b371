"""From candidate lists to the best network, with its proof: the stage after scoring.

Choose one candidate set per variable so that no cycle arises and the scores add up to the most.
Four engines (dynamic programming and forests: :mod:`.exact`; :mod:`.orders`; cuts with branching:
:mod:`.cutting`) solve what :mod:`.problem` makes of the lists;
:mod:`.engines` chooses between them; :mod:`.run` keeps incumbents and bounds; :mod:`.beyond`
bounds what cut lists leave out; :mod:`.solution` is what comes out, with its proof
(:mod:`.certificate`); :mod:`.near` finds all networks close to the best. docs/solver.md explains
the cuts.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from parentage.optimise.near import NearOptimal, within
from parentage.optimise.problem import check_start, limited
from parentage.optimise.run import NOWHERE, Start
from parentage.optimise.settings import ENGINES, Optimising
from parentage.optimise.solution import Solution
from parentage.work.context import Context, Running
from parentage.work.settings import takes

if TYPE_CHECKING:
    from parentage.network.network import Network
    from parentage.scoring.account import Limit
    from parentage.scoring.constraints import Constraints
    from parentage.scoring.lists import CandidateLists
    from parentage.work.progress import Report
    from parentage.work.stop import Stop

__all__ = [
    "ENGINES",
    "NearOptimal",
    "Solution",
    "Start",
    "check_start",
    "learn_lists",
    "limited",
    "optimise_lists",
    "within",
]


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
    memory: int | str | None = None,
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
        Context(stop or running.stop(), running.n_threads, report=progress),
        max_parents=max_parents,
        constraints=constraints,
        start=Start(start),
    )


def optimise_lists(
    lists: CandidateLists,
    settings: Optimising,
    context: Context,
    *,
    max_parents: Limit = None,
    constraints: Constraints | None = None,
    start: Start = NOWHERE,
    most_work: float = math.inf,
) -> Solution:
    """Solve lists, and bound what was asked for if they do not hold all of it.

    What is known is saved in the checkpoint of the context, whose job this is, and a later run
    begins from it. Cutting and branching end after ``most_work``, as the time limit ends them.
    """
    from parentage.optimise.beyond import Question

    return Question(lists, settings, context, max_parents, constraints, most_work).answer(start)
