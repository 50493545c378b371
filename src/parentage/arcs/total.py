r"""The weight of all networks together, summed exactly, where the variables are few.

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

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from parentage.scoring.lists import CandidateLists

    Logs = npt.NDArray[np.longdouble]

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
