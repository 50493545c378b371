r"""Arcs in the near-optimal networks: in how many classes, and with what weight.

:func:`~parentage.optimise.near.within` finds every network with at least 1/factor of the best
network's posterior probability. An arc's share of their classes and of their weight says whether
the runners-up agree about it. The record also says what is *not* among them: no missing network
weighs more than 1/factor of the best one, and where the variables are few the weight of all
networks is summed exactly, so that the missing share is known.

A network weighs w = Π over children j of w_j(parents of j). Take the networks on a set S by their
sinks, the variables without children. With A_j(U) the sum of w_j over the parent sets inside U, and
with inclusion and exclusion because a network may have several sinks (Tian and He 2009, "Computing
posterior probabilities of structural features in Bayesian networks"),

    Z(S) = Σ over ∅ ≠ T ⊆ S of (−1)^(|T| + 1) · Z(S \ T) · Π over j in T of A_j(S \ T).

That is 3^n steps. Every network is in 2^(sinks) − 1 terms, so what cancels is at most 2^n times
what remains, and n bits of the arithmetic are lost.

Weights range over thousands of nats, and so do the sums of the subsets. Therefore A_j and the
scale of every Z(S) are logarithms. The scale of S is the weight of the networks that fit the best
order of S, the largest product of A_j(variables before j): Z(S) is at least that and at most |S|!
times as much, and no term is larger than the scale. Nothing overflows, and what underflows is
smaller than the rounding.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from parentage.arcs.records import NearSet
from parentage.optimise import limited
from parentage.optimise.near import near_optimal, width_of
from parentage.scoring.candidates import score_table
from parentage.work.context import Context

if TYPE_CHECKING:
    from parentage.scoring.lists import CandidateLists

    Logs = npt.NDArray[np.longdouble]
    from parentage.arcs.records import Baseline
    from parentage.optimise.near import NearOptimal
    from parentage.work.stop import Stop


MOST = 12
"""Largest number of variables for which the sum is computed: it takes 0.3 s."""


def log_total(lists: CandidateLists) -> float:
    """Return ln Σ exp(score in nats) over all networks that the lists allow.

    >>> from parentage.scoring.lists import CandidateLists
    >>> half = CandidateLists.from_families(
    ...     {"a": [(0.0, []), (0.0, ["b"])], "b": [(0.0, []), (0.0, ["a"])]})
    >>> round(float(np.exp(log_total(half))), 9)
    3.0
    """
    n = lists.n_variables
    inside = [_log_inside(lists, v) for v in range(n)]
    scale = _best_orders(inside)
    total = np.zeros(1 << n, np.longdouble)  # Z(S) as a multiple of exp(scale[S])
    total[0] = 1.0
    for below in range(1 << n):
        if scale[below] == -np.inf:  # no network: some child needs a parent outside
            continue
        sinks, logs, signs = np.zeros(1, np.int64), scale[below : below + 1], -np.ones(1)
        for j in range(n):
            if not below >> j & 1 and inside[j][below] > -np.inf:
                sinks = np.concatenate([sinks, sinks | 1 << j])
                logs = np.concatenate([logs, logs + inside[j][below]])
                signs = np.concatenate([signs, -signs])
        above = below | sinks[1:]
        total[above] += signs[1:] * total[below] * np.exp(logs[1:] - scale[above])
    return float(np.log(total[-1]) + scale[-1])


def _best_orders(inside: list[Logs]) -> Logs:
    """``[mask]``: log weight of the networks that fit the best order of the mask's variables."""
    scale = np.full(1 << len(inside), -np.inf, np.longdouble)
    scale[0] = 0.0
    for below in range(len(scale)):
        for j, own in enumerate(inside):
            if not below >> j & 1:
                above = below | 1 << j
                scale[above] = max(scale[above], scale[below] + own[below])
    return scale


def _log_inside(lists: CandidateLists, child: int) -> Logs:
    """``[mask]``: log of the sum of the weights of the child's sets inside a mask."""
    n = lists.n_variables
    logs = np.full(1 << n, -np.inf, np.longdouble)
    for score, members in lists.candidates(child):
        mask = sum(1 << p for p in members)
        logs[mask] = np.logaddexp(logs[mask], np.longdouble(score) * lists.account.unit)
    for p in range(n):  # sums over subsets, one variable at a time
        halves = logs.reshape(-1, 2, 1 << p)
        halves[:, 1] = np.logaddexp(halves[:, 1], halves[:, 0])
    return logs


FAR = 1e5
"""A width, in nats, below which every set of a small table is listed."""


def near_set(
    baseline: Baseline, factor: float, max_networks: int, context: Context
) -> tuple[NearOptimal, NearSet]:
    """Find the near-optimal networks, and say how complete they are."""
    near = near_optimal(
        baseline.lists,
        width_of(baseline.lists, factor),
        max_networks,
        limited(baseline.lists, baseline.scoring.max_parents, baseline.constraints),
        baseline.optimising.seed,
        context,
    )
    found = math.fsum(math.exp((score - near.score) * near.unit) for score in near.scores)
    each: float | None = None
    if near.complete_to >= 0 and (near.reaching or baseline.best.optimal):
        reached = min(near.width, near.complete_to) if near.reaching else 0.0
        each = math.exp(-reached * near.unit) / found
    missing = missing_weight(baseline, near.score * near.unit + math.log(found), context.stop)
    count = len(near), len(near.classes)
    return near, NearSet(factor, *count, near.complete, each, missing, near.stopped)


def missing_weight(baseline: Baseline, log_found: float, stop: Stop) -> float | None:
    """Return the share of the weight of all networks that is not among those found.

    None where there are too many variables, or no time to list all their sets, or where the lists
    are those of a completed table.
    """
    table = baseline.table
    if table.n_variables > MOST or baseline.lists.known().completion is not None:
        return None
    whole = score_table(table, replace(baseline.scoring, width=FAR, rules="none"), Context(stop))
    if whole.n_sets < whole.known().tallies.families + len(table.constant):
        return None
    return max(0.0, 1.0 - math.exp(log_found - log_total(whole)))
