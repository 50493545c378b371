"""Lists for one more required arc, made from those without it: only its child is searched again.

An arc B → A that is required changes the candidate list of A alone. Lists hold what beats every
subset; of the sets with B the best may be missing, because a subset *without* B beats it. So A is
searched again within the context {B} (docs/theory.md, constraints). All other children keep their
lists: whether a set of theirs is allowed, and what dominates it, does not depend on the parents of
A.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from parentage.scoring.candidates import score_table
from parentage.scoring.constraints import Constraints
from parentage.scoring.lists import CandidateLists
from parentage.scoring.plan import max_parents_by_variable
from parentage.work.context import Context

if TYPE_CHECKING:
    from parentage.data.table import Table
    from parentage.scoring.account import Account
    from parentage.scoring.constraints import Arc
    from parentage.scoring.settings import Scoring
    from parentage.work.stop import Stop


def lists_requiring(
    lists: CandidateLists, table: Table, settings: Scoring, arc: Arc, stop: Stop
) -> CandidateLists:
    """Return the lists that scoring the table with one more required arc would make.

    ``settings`` are those that made the lists from the table.

    Raises
    ------
    ConstraintError
        The other constraints do not allow the arc.
    """
    child = arc[1]
    given = settings.constraints or Constraints()
    wanted = given.merge(Constraints(required=frozenset({arc})))
    most = max_parents_by_variable(table, settings.max_parents, wanted)
    limits = {name: len(wanted.required_parents.get(name, ())) for name in table.names}
    limits[child] = int(most[table.index(child)])
    alone = replace(settings, constraints=wanted, max_parents=limits)
    found = score_table(table, alone, Context(stop))
    account = _joined(lists.known(), found.known(), wanted, table.index(child))
    spliced = _spliced(lists, found, table.index(child))
    return replace(spliced, account=replace(account, digest=spliced.digest))


def _spliced(lists: CandidateLists, other: CandidateLists, child: int) -> CandidateLists:
    """Return the lists with those of one child taken from others."""
    mine = np.ones(lists.n_sets, np.bool_)
    mine[lists.offsets[child] : lists.offsets[child + 1]] = False
    theirs = np.zeros(other.n_sets, np.bool_)
    theirs[other.offsets[child] : other.offsets[child + 1]] = True
    sizes, children, parents, scores = [], [], [], []
    for source, keep in ((lists, mine), (other, theirs)):
        size = np.diff(source.starts)
        sizes.append(size[keep])
        owner = np.repeat(np.arange(source.n_variables), np.diff(source.offsets))
        children.append(owner[keep])
        parents.append(source.parents[np.repeat(keep, size)])
        scores.append(source.scores[keep])
    return CandidateLists.from_arrays(
        lists.names,
        np.concatenate(children),
        np.concatenate([[0], np.cumsum(np.concatenate(sizes))]),
        np.concatenate(parents),
        np.concatenate(scores),
    )


def _joined(old: Account, new: Account, wanted: Constraints, child: int) -> Account:
    """Say how far the joined lists reach: the child's as the new ones, all others as the old."""
    cut = [account for account in (old, new) if account.complete_to is not None]
    beyond: tuple[float | None, ...] = ()
    if cut:
        bounds = list(old.beyond or [None] * len(new.beyond))
        bounds[child] = new.beyond[child] if new.beyond else None
        beyond = tuple(bounds)
    return replace(
        old,
        constraints=old.constraints.merge(wanted),
        complete_to=min((a.complete_to for a in cut if a.complete_to is not None), default=None),
        ended=next((a.ended for a in cut), None),
        beyond=beyond,
        tolerance=max(old.tolerance, new.tolerance),
    )
