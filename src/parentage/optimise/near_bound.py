"""What every set adds to the cost at least: the bound that the enumeration of networks lives on.

With any multipliers y of cuts, L(y) is below the cost of every network, and L(y) plus the *rise*
of a set (how far its reduced cost is above its child's least) below that of every network with
the set (:mod:`.root_lp`). A network within some width of the best takes sets whose rises add up
to at most best + width − L(y): the closer L(y) comes to the best, the fewer choices remain. So
cuts are added as for a proof, but sets are removed only where they cannot be in any network of
interest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parentage.optimise.root_lp import PHASE, Cutter, Tactics
from parentage.optimise.separate import Support

if TYPE_CHECKING:
    from parentage.optimise.problem import Floats
    from parentage.optimise.run import Part


def reduced_costs(part: Part, least: float, width: float) -> tuple[float, Floats]:
    """Return a lower bound on the cost, and ``float64[m]``: how far each set lifts it.

    ``least`` is the cost of the best network of the part; sets that are in no network within
    ``width`` of it may come back with an infinite rise.
    """
    problem = part.problem
    cheapest = np.minimum.reduceat(problem.cost, problem.offsets[:-1])
    bound = float(cheapest.sum())
    rise: Floats = problem.cost - np.repeat(cheapest, np.diff(problem.offsets))
    if problem.n < 2 or least - bound <= part.run.tolerance:
        return bound, rise
    cutter = Cutter(part, Tactics())
    lp, node, patience = cutter.lp, cutter.root(), cutter.patience
    lp.remove(bound + rise > least + width)
    gaps: list[float] = []
    while lp.solve(part, PHASE):
        now, its_rise = lp.lagrangian(lp.y)
        if np.isinf(now):  # a child has no set left
            return now, np.full(problem.m, np.inf)
        if now > bound:
            bound, rise = now, its_rise
        lp.remove(now + its_rise > least + width)
        gaps.append(least - bound)
        cutter.learn(gaps)
        stalled = len(gaps) > patience.rounds
        if stalled and gaps[-1] > (1 - patience.share) * gaps[-1 - patience.rounds]:
            break
        if gaps[-1] <= part.run.tolerance:
            break
        found = cutter.separate(Support.of(lp.sets, lp.x), node, gaps)
        if not found or part.stopped():
            break
        lp.forget()
        lp.compact()
        lp.add(found)
    rise = np.where(lp.removed, np.inf, rise)
    return bound, rise
