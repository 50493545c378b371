"""Arcs in the near-optimal networks: in how many classes, and with what weight.

:func:`~parentage.optimise.near.within` finds every network that is at most so many times less
probable than the best one. An arc's share of their classes and of their weight says whether what is
almost as good agrees about it. What is *not* among them is said, too: no missing network weighs
more than 1/factor of the best one, and where the variables are few the weight of all networks is
summed exactly (:mod:`parentage.arcs.total`), so that the share that is missing is known.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from parentage.arcs.records import NearSet
from parentage.arcs.total import MOST, log_total
from parentage.errors import DataWarning, UnprovenWarning
from parentage.optimise import limited
from parentage.optimise.near import within
from parentage.scoring.candidates import score_table
from parentage.work.context import Context

if TYPE_CHECKING:
    from parentage.arcs.ground import Ground
    from parentage.optimise.near import NearOptimal
    from parentage.scoring.constraints import Arc
    from parentage.work.stop import Stop

FAR = 1e5
"""A width, in nats, below which every set of a small table is listed."""


@dataclass(frozen=True)
class NearShares:
    """The near-optimal networks, and the shares of the arcs that some of them have."""

    networks: NearOptimal
    facts: NearSet
    classes: dict[Arc, float]
    weight: dict[Arc, float]

    def joined(self, a: str, b: str) -> float:
        """Weight of the networks in which two variables are adjacent."""
        return self.weight.get((a, b), 0.0) + self.weight.get((b, a), 0.0)


def near_shares(ground: Ground, factor: float, max_networks: int, context: Context) -> NearShares:
    """Find the near-optimal networks and count their arcs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnprovenWarning)  # the facts say how complete they are
        warnings.simplefilter("ignore", DataWarning)
        near = within(
            ground.lists,
            factor=factor,
            max_networks=max_networks,
            constraints=limited(ground.lists, ground.scoring.max_parents, ground.constraints),
            threads=context.threads,
            seed=ground.optimising.seed,
            stop=context.stop,
        )
    shares = near.arc_shares
    return NearShares(
        near,
        near_facts(ground, near, factor, context.stop),
        {(share.parent, share.child): share.classes for share in shares},
        {(share.parent, share.child): share.weight for share in shares},
    )


def near_facts(ground: Ground, near: NearOptimal, factor: float, stop: Stop) -> NearSet:
    """Say how many there are and what may be missing."""
    found = math.fsum(math.exp((score - near.score) * near.unit) for score in near.scores)
    each: float | None = None
    if near.complete_to >= 0 and (near.reaching or ground.best.optimal):
        reached = min(near.width, near.complete_to) if near.reaching else 0.0
        each = math.exp(-reached * near.unit) / found
    return NearSet(
        factor,
        len(near),
        len(near.classes),
        near.complete,
        each,
        missing_weight(ground, near.score * near.unit + math.log(found), stop),
        near.stopped,
    )


def missing_weight(ground: Ground, log_found: float, stop: Stop) -> float | None:
    """Return the share of the weight of all networks that is not among those found.

    None where there are too many variables, or no time to list all their sets, or where the lists
    are those of a completed table.
    """
    table = ground.table
    if table.n_variables > MOST or ground.lists.known().completion is not None:
        return None
    whole = score_table(table, replace(ground.scoring, width=FAR, rules="none"), Context(stop))
    if whole.n_sets < whole.known().tallies.families + len(table.constant):
        return None
    return max(0.0, 1.0 - math.exp(log_found - log_total(whole)))
