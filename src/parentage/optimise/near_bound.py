"""What every set adds to the cost at least: the bound that the enumeration of networks lives on.

With any multipliers y of cuts, L(y) is below the cost of every network, and L(y) plus the *rise*
of a set (how far its reduced cost is above its child's least) below that of every network with
the set (:mod:`.root_lp`). A network within a gap of the best takes sets whose rises add up to at
most best + gap − L(y): the closer L(y) comes to the best, the fewer choices remain. So cuts are
added as for a proof, but sets are removed only where they cannot be in any network of interest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parentage.optimise.root_lp import (
    EXACT_SECONDS,
    EXACT_TRIES,
    FEW,
    MOST,
    STALL_ROUNDS,
    STALL_SHARE,
    RootLP,
)
from parentage.optimise.separate import Support, exact_cluster, quick_cuts

if TYPE_CHECKING:
    from parentage.optimise.problem import Floats
    from parentage.optimise.run import Part


def reduced_costs(part: Part, least: float, gap: float) -> tuple[float, Floats]:
    """Return a lower bound on the cost, and ``float64[m]``: how far each set lifts it.

    ``least`` is the cost of the best network of the part; sets that are in no network within
    ``gap`` of it may come back with an infinite rise.
    """
    problem = part.problem
    cheapest = np.minimum.reduceat(problem.cost, problem.offsets[:-1])
    bound = float(cheapest.sum())
    rise: Floats = problem.cost - np.repeat(cheapest, np.diff(problem.offsets))
    if problem.n < 2 or least - bound <= part.run.tolerance:
        return bound, rise
    lp = RootLP(problem)
    lp.remove(bound + rise > least + gap)
    gaps: list[float] = []
    exact_left = EXACT_TRIES
    while lp.solve(part):
        now, its_rise = lp.lagrangian(lp.multipliers())
        if np.isinf(now):  # a child has no set left
            return now, np.full(problem.m, np.inf)
        if now > bound:
            bound, rise = now, its_rise
        lp.remove(now + its_rise > least + gap)
        gaps.append(least - bound)
        stalled = len(gaps) > STALL_ROUNDS
        if stalled and gaps[-1] > (1 - STALL_SHARE) * gaps[-1 - STALL_ROUNDS]:
            break
        if gaps[-1] <= part.run.tolerance:
            break
        support = Support.of(problem, lp.members, lp.x)
        found = quick_cuts(support, set_packing=True, most=MOST, few=FEW)
        if not found and exact_left:
            exact_left -= 1
            cut = exact_cluster(support, min(EXACT_SECONDS, max(0.1, part.seconds_left)))
            found = [] if cut is None else [cut]
        if not found:
            break
        lp.drop_slack()
        lp.add(found)
    rise = np.where(lp.removed, np.inf, rise)
    return bound, rise
