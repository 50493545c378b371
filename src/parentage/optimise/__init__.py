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

if TYPE_CHECKING:
    from parentage.scoring.account import Limit
    from parentage.scoring.constraints import Constraints
    from parentage.scoring.lists import CandidateLists
    from parentage.work.context import Context

__all__ = [
    "ENGINES",
    "NearOptimal",
    "Solution",
    "Start",
    "check_start",
    "limited",
    "optimise_lists",
    "within",
]


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

    Limits on parents and constraints pick among the lists. What is known is saved in the checkpoint
    of the context, whose job this is, and a later run begins from it. Cutting and branching end
    after ``most_work``, as the time limit ends them.

    Raises
    ------
    ListsError
        Broken lists, or lists without an acyclic choice.
    ConstraintError
        Constraints that contradict each other or leave nothing.
    ResourceError
        ``engine="subsets"`` and the table does not fit into memory.
    """
    from parentage.optimise.beyond import Question

    return Question(lists, settings, context, max_parents, constraints, most_work).answer(start)
