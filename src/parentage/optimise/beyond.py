"""The bound for what was asked when the lists were cut short.

Lists that a search left early hold every set of up to k parents. A network that was asked for may
use larger ones; of those the account knows only what they can score at most (``beyond``). Two
bounds follow, both valid:

* *Plain.* A network with at least one set beyond the lists scores at most what remains when some
  variable X takes its ``beyond`` and every other variable the better of its best listed set and
  its own ``beyond``.
* *Relaxed.* Give every variable one more candidate: its required parents alone, at the score
  ``beyond``. Every network that was asked for corresponds to one made of these lists that scores
  no less, because leaving parents out closes no cycle. So a bound for the relaxed lists is a bound
  for what was asked. If their optimum uses none of the added sets, the optimum of the lists is
  proven for everything that was asked.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from parentage.scoring.account import Account
from parentage.scoring.lists import CandidateLists

if TYPE_CHECKING:
    from parentage.arrays import Flags, Floats
    from parentage.scoring.constraints import Constraints


def beyond_scores(lists: CandidateLists, constraints: Constraints) -> Floats:
    """``[variable]``: what no set that was asked for but not searched exceeds; −∞: there is none.

    A limit on parents among the constraints rules out what lies beyond it.
    """
    account = lists.account
    scores = np.full(lists.n_variables, -np.inf)
    if not isinstance(account, Account) or account.complete_to is None:
        return scores
    for v, (name, bound) in enumerate(zip(lists.names, account.beyond, strict=True)):
        limit = constraints.max_parents.get(name, math.inf)
        if bound is not None and limit > account.complete_to:
            scores[v] = bound
    return scores


def plain_bound(lists: CandidateLists, allowed: Flags, beyond: Floats) -> float:
    """Bound the networks that use at least one set beyond the lists; −∞ if there are none."""
    child = np.repeat(np.arange(lists.n_variables), np.diff(lists.offsets))
    listed = np.full(lists.n_variables, -np.inf)
    np.maximum.at(listed, child[allowed], lists.scores[allowed])
    either = np.maximum(listed, beyond)
    loss = (either - beyond)[np.isfinite(beyond)]
    return math.fsum(either.tolist()) - float(loss.min()) if len(loss) else -math.inf


def relaxed_lists(
    lists: CandidateLists, constraints: Constraints, beyond: Floats
) -> CandidateLists:
    """Add to every variable its required parents alone, at the score of what lies beyond."""
    families: dict[str, list[tuple[float, tuple[str, ...]]]] = {}
    for v, name in enumerate(lists.names):
        sets = {candidate.parents: candidate.score for candidate in lists[name]}
        if np.isfinite(beyond[v]):
            required = constraints.required_parents.get(name, frozenset())
            alone = tuple(other for other in lists.names if other in required)
            sets[alone] = max(sets.get(alone, -math.inf), float(beyond[v]))
        families[name] = [(score, parents) for parents, score in sets.items()]
    return CandidateLists.from_families(families)
