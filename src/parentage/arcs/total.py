r"""The weight of all networks together, summed exactly, where the variables are few.

A network weighs w = Π over children j of w_j(parents of j). Take the networks on a set S by their
sinks, the variables without children. With A_j(U) the sum of w_j over the parent sets inside U, and
with inclusion and exclusion because a network may have several sinks (Tian and He 2009, "Computing
posterior probabilities of structural features in Bayesian networks"),

    Z(S) = Σ over ∅ ≠ T ⊆ S of (−1)^(|T| + 1) · Z(S \ T) · Π over j in T of A_j(S \ T).

That is 3^n steps. Every network is in 2^(sinks) − 1 terms, so what cancels is at most 2^n times
what remains, and n bits of the arithmetic are lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from parentage.scoring.lists import CandidateLists

MOST = 12
"""Variables up to which the sum is worth its time: 0.3 s."""


def log_total(lists: CandidateLists) -> float:
    """Return ln Σ exp(score in nats) over all networks that the lists allow.

    >>> from parentage.scoring.lists import CandidateLists
    >>> half = CandidateLists.from_families(
    ...     {"a": [(0.0, []), (0.0, ["b"])], "b": [(0.0, []), (0.0, ["a"])]})
    >>> round(float(np.exp(log_total(half))), 9)
    3.0
    """
    n = lists.n_variables
    best = [max(score for score, _ in lists.candidates(v)) for v in range(n)]
    inside = [_inside(lists, v, best[v]) for v in range(n)]
    total = np.zeros(1 << n, np.longdouble)
    total[0] = 1.0
    for below in range(1 << n):
        sinks, terms = np.zeros(1, np.int64), -total[below : below + 1]
        for j in range(n):
            if not below >> j & 1:
                sinks = np.concatenate([sinks, sinks | 1 << j])
                terms = np.concatenate([terms, -terms * inside[j][below]])
        total[below | sinks[1:]] += terms[1:]
    return float(np.log(total[-1])) + sum(best) * lists.account.unit


def _inside(lists: CandidateLists, child: int, best: float) -> npt.NDArray[np.longdouble]:
    """``[mask]``: sum of the weights of the child's sets inside a mask; its best one weighs 1."""
    n = lists.n_variables
    weight = np.zeros(1 << n, np.longdouble)
    for score, members in lists.candidates(child):
        mask = sum(1 << p for p in members)
        weight[mask] += np.exp(np.longdouble((score - best) * lists.account.unit))
    for p in range(n):  # sums over subsets, one variable at a time
        halves = weight.reshape(-1, 2, 1 << p)
        halves[:, 1] += halves[:, 0]
    return weight
