"""Need of an arc: how far the best network without it falls short of the best of all.

For an arc A → B two questions are asked, each answered by optimising again, to a proof:

- *adjacency*: the best network in which A and B are not joined;
- *direction*: the best network with B → A instead.

The need is the optimum less the score of that network. It is never negative, and unlike the gain of
an arc it lets everything else adapt: a need of zero means that another network does as well.

The first question needs no new lists, since a set without a parent is dominated by subsets only,
which lack it too. The second, B → A required, changes the list of A alone: of its sets with B the
best may be missing, because a subset *without* B beats it. So A is searched again within the
context {B} (docs/theory.md, constraints); whether a set of another child is allowed, and what
dominates it, does not depend on the parents of A. Both questions begin from the best network and
from its cuts, which hold for every network (docs/theory.md, "One arc less, one arc turned").

Where a limit ends the work, the score found and the bound leave an interval. So do lists that were
cut short, whether they grew or not: the bound is for everything that was asked.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from parentage.errors import InfeasibleError
from parentage.optimise import Start, optimise_lists
from parentage.optimise.tuning import TUNING
from parentage.scoring.candidates import score_table
from parentage.scoring.constraints import Constraints
from parentage.scoring.lists import CandidateLists
from parentage.scoring.search.plan import max_parents_by_variable
from parentage.work.context import Context
from parentage.work.executor import in_order, leave
from parentage.work.progress import Progress
from parentage.work.stop import StoppedError, now

if TYPE_CHECKING:
    from collections.abc import Iterable

    from parentage.arcs.records import Baseline
    from parentage.data.table import Table
    from parentage.optimise import Solution
    from parentage.scoring.account import Account
    from parentage.scoring.constraints import Arc
    from parentage.scoring.settings import Scoring
    from parentage.work.stop import Stop


GENEROUS = 2.0
"""With a time limit: how many times its share of the time a question may take."""

_ABOUTS: tuple[Literal["adjacency", "direction"], ...] = ("adjacency", "direction")


class ArcQuestion(NamedTuple):
    """What is asked of an arc."""

    arc: Arc
    about: Literal["adjacency", "direction"]


FEW_VARIABLES = 22
"""So few are solved again to the end without a time limit, too: it takes a moment. Expanded lists
of more variables answer by the first network there is."""


class Need(NamedTuple):
    """What a network with the change falls short of the optimum: at least, and at most."""

    least: float
    most: float


Needs = dict[ArcQuestion, Need]
"""The answers; a question is missing if no network with the change is allowed, or if time ended."""


def needs(baseline: Baseline, arcs: Iterable[Arc], context: Context) -> Needs:
    """Answer both questions for every arc.

    Results do not depend on the workers; with a time limit, whatever is not solved in its share of
    the time has an interval.
    """
    found: Needs = {}
    open_: list[ArcQuestion] = []
    for question in (ArcQuestion(arc, about) for arc in arcs for about in _ABOUTS):
        known = answered(baseline, question)
        if known is None:
            open_.append(question)
        else:
            found[question] = known
    began, left = now(), len(open_)
    tasks = ((question, len(open_) - i) for i, question in enumerate(open_))
    stop, report = context.stop, context.report
    shared = (baseline, stop, context.tasks)
    answers = in_order(_answer, tasks, context.pool, shared, "need of an arc", leave(stop))
    with contextlib.suppress(StoppedError):
        for question, need in zip(open_, answers, strict=False):
            if stop.reason() is not None and need is None:
                break
            if need is not None:
                found[question] = need
            left -= 1
            if report is not None:
                seconds, done = now() - began, len(open_) - left
                report(
                    Progress(
                        "needs", f"{question.arc[0]} → {question.arc[1]}", seconds, done,
                        len(open_), seconds_left=seconds / done * left,
                    )
                )  # fmt: skip
    return found


def answered(baseline: Baseline, question: ArcQuestion) -> Need | None:
    """Answer without work: the best network itself, or one equivalent to it, has the change."""
    (a, b), best = question.arc, baseline.best
    arcs = set(best.network.arcs)
    joined = (a, b) in arcs or (b, a) in arcs
    if question.about == "adjacency":
        has_it = not joined
    else:
        has_it = (b, a) in arcs
        if baseline.free and joined:
            has_it = best.network.equivalence_class().mark(b, a) != "←"
    return Need(0.0, best.gap) if has_it else None


def _answer(
    baseline: Baseline, stop: Stop, size: int, task: tuple[ArcQuestion, int]
) -> Need | None:
    """Answer one question; None if no network is allowed, or if nothing was to be done any more."""
    question, left = task
    if stop.reason() is not None:
        return None
    changed = solve_changed(baseline, question, stop.share(min(1.0, GENEROUS * size / left)))
    return None if changed is None else shortfall(baseline.best, changed)


def shortfall(best: Solution, changed: Solution) -> Need:
    """Bound the difference of two optima by their scores and bounds."""
    least = max(0.0, best.score - changed.bound)
    return Need(least, max(least, best.bound - changed.score))


def solve_changed(baseline: Baseline, question: ArcQuestion, stop: Stop) -> Solution | None:
    """Find the best network with the change; None if there is none.

    There is none if the user's constraints do not allow the change, or if, where values are
    missing, no row is complete in the child and all parents that it must have: such families
    score −∞.
    """
    (a, b), lists = question.arc, baseline.lists
    most = FEW_VARIABLES if stop.deadline == math.inf else TUNING.large
    if baseline.grown and lists.n_variables > most:
        stop = stop.at_once()
    if question.about == "adjacency":
        change = Constraints(forbidden=frozenset({(a, b), (b, a)}))
    else:
        change = Constraints(required=frozenset({(b, a)}))
    wanted = baseline.constraints.merge(change)
    try:
        wanted.check(lists.names)
        if question.about == "direction":
            lists = lists_requiring(lists, baseline.table, baseline.scoring, (b, a), stop)
        return optimise_lists(
            lists,
            replace(baseline.optimising, gap_limit=0.0),
            Context(stop),
            max_parents=baseline.scoring.max_parents,
            constraints=wanted,
            start=Start(baseline.best.network, baseline.best.cuts),
        )
    except InfeasibleError:
        return None


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
