"""What was asked, answered: lists solved, and bounded where they do not hold all that was asked.

:meth:`Question.solve` finds the best network that the lists allow. Two cases need a wider bound:

**Lists of a search that stopped early** hold every set of up to k parents. A network that was asked
for may use larger ones; of those the account knows only what they can score at most (``beyond``).
Two bounds follow, both valid (:meth:`Question.bound_beyond`):

* *Plain.* A network with at least one set beyond the lists scores at most what remains when some
  variable X takes its ``beyond`` and every other variable the better of its best listed set and
  its own ``beyond``.
* *Relaxed.* Give every variable one more candidate: its required parents alone, at the score
  ``beyond``. Every network that was asked for corresponds to one made of these lists that scores
  no less, because leaving parents out closes no cycle. So a bound for the relaxed lists is a bound
  for what was asked. If their optimum uses none of the added sets, the optimum of the lists is
  proven for everything that was asked.

**Arcs that are required only now** may need sets that are missing, because a subset without the arc
scored better. The best network without these requirements bounds those with them
(:meth:`Question.bound_required`): dropping a requirement allows more networks, and of these the
lists have all that can be best.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from parentage.network.network import listed_gains
from parentage.network.record import Compared
from parentage.optimise.engines import solve
from parentage.optimise.problem import allowed_sets, check_start, limited, memory_of_sets
from parentage.optimise.run import NOWHERE, Run, from_slot
from parentage.optimise.solution import scope_of
from parentage.scoring.account import Account
from parentage.scoring.constraints import Constraints
from parentage.scoring.lists import CandidateLists
from parentage.work.context import Context
from parentage.work.memory import require_memory
from parentage.work.progress import for_bounds, for_the_lists

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parentage.arrays import Flags, Floats
    from parentage.optimise.run import Start
    from parentage.optimise.settings import Optimising
    from parentage.optimise.solution import Solution
    from parentage.scoring.account import Limit
    from parentage.work.progress import Report


MOST_IN_A_TREE = 1000
"""Variables of which the best tree is found beside the network: that takes time n² and a moment."""


@dataclass(frozen=True, eq=False)
class Question:
    """Which networks of the lists are asked for, how they are searched, and within which limits."""

    lists: CandidateLists
    settings: Optimising
    context: Context
    max_parents: Limit = None
    constraints: Constraints | None = None
    most_work: float = math.inf

    @cached_property
    def allowed(self) -> Constraints:
        """All that restricts the choice."""
        return limited(self.lists, self.max_parents, self.constraints)

    def answer(self, start: Start = NOWHERE) -> Solution:
        """Return the best network, with a bound for everything that was asked."""
        solution = self.solve(start)
        if self.requires_more():
            return self.bound_required(solution)
        return solution if self.lists.account.complete else self.bound_beyond(solution)

    def solve(self, start: Start = NOWHERE) -> Solution:
        """Return the best network that the lists allow, with a bound for those."""
        lists = self.lists
        require_memory(
            memory_of_sets(lists.n_variables, lists.n_sets, len(lists.parents)),
            f"learning from {lists.n_sets} sets of {lists.n_variables} variables",
            "allow fewer parents when scoring",
            limit=self.context.stop.memory,
        )
        orders = []
        if start.network is not None:
            check_start(start.network, lists.names)
            orders.append([lists.index(name) for name in start.network.order])
        asked = self
        if self.requires_more() or not lists.account.complete:
            asked = self.reporting(for_the_lists(self.context.report))
        run = asked.run(lists, self.settings, self.begin(lists, start, orders))
        scope = scope_of(lists, run.tolerance, self.max_parents, self.constraints)
        return replace(solve(run), scope=scope, cuts=tuple(run.found_cuts()))

    def run(self, lists: CandidateLists, settings: Optimising, start: Start) -> Run:
        """Return a run over lists, with the limits of this question."""
        run = Run(lists, self.allowed, settings, self.context, start)
        run.limit_work(self.most_work)
        return run

    def reporting(self, report: Report | None) -> Question:
        """Return the same question whose progress is reported otherwise."""
        return replace(self, context=replace(self.context, report=report))

    def begin(
        self, lists: CandidateLists, start: Start = NOWHERE, orders: Sequence[list[int]] = ()
    ) -> Start:
        """Return what a run begins from: what is given, and what an earlier run has saved."""
        checkpoint = self.context.checkpoint
        saved = from_slot(None if checkpoint is None else checkpoint.next_slot("solve"), lists)
        of = start if start.cuts or not saved.cuts else saved
        # no cuts, given, say that the start is near
        return replace(of, slot=saved.slot, orders=[*orders, *saved.orders])

    def bound_beyond(self, solution: Solution) -> Solution:
        """Bound what a search that stopped early has left out of the lists."""
        lists = self.lists
        beyond = beyond_scores(lists, self.allowed)
        listed = best_listed(lists, allowed_sets(lists, self.allowed))
        plain = plain_bound(listed, beyond)
        if plain <= solution.score:
            return solution
        solution = self.compared(solution)
        scope = replace(solution.scope, listed_bound=solution.bound)
        bound, proof = max(solution.bound, plain), solution.certificate
        could_help = bool((beyond < listed).any())  # else it equals the plain one
        if could_help and self.context.stop.reason() is None:
            wider = relaxed_lists(lists, self.allowed, beyond)
            settings = replace(self.settings, gap_limit=0.0)
            asked = self.reporting(for_bounds(self.context.report, solution.score))
            relaxed = asked.run(wider, settings, self.begin(wider))
            bound = max(solution.bound, min(bound, solve(relaxed).bound))
        found = bounded(solution, bound)
        if found.optimal:
            return found
        ended = solution.stopped or lists.known().ended
        return replace(found, scope=scope, certificate=proof, stopped=ended)

    def compared(self, solution: Solution) -> Solution:
        """Compare a solution with the network without arcs and the best tree; take the better."""
        lists = self.lists
        usable, sizes = allowed_sets(lists, self.allowed), np.diff(lists.starts)
        empty = usable & (sizes == 0)
        if empty.sum() < lists.n_variables:  # parents are required
            return solution
        best = None
        if lists.n_variables <= MOST_IN_A_TREE:
            small = single_parents(lists, usable & (sizes <= 1))
            tree = solve(Run(small, None, self.settings, Context(self.context.stop)))
            best = tree.score
            if best > solution.score:
                solution = replace(
                    solution,
                    network=tree.network,
                    score=best,
                    gains=listed_gains(tree.network, lists),
                    engine=tree.engine,
                    trace=(*solution.trace, (solution.seconds, best, solution.bound)),
                )
        score = math.fsum(lists.scores[empty].tolist())
        return replace(solution, compared=Compared(score, best))

    def requires_more(self) -> bool:
        """Whether arcs are required that were not when the lists were scored."""
        origin = self.lists.account
        if not isinstance(origin, Account):
            return False
        return bool(self.allowed.required - origin.constraints.required)

    def bound_required(self, solution: Solution) -> Solution:
        """Bound a solution by the best network without the arcs that are required only now."""
        given = self.constraints or Constraints()
        old = self.lists.known().constraints.required
        asked = self.reporting(for_bounds(self.context.report, solution.score))
        wider = replace(asked, constraints=replace(given, required=given.required & old)).answer()
        found = bounded(solution, max(solution.score, wider.bound))
        optimal = wider.optimal and found.optimal
        return replace(found, optimal=optimal, ties="unknown", certificate=None)


def single_parents(lists: CandidateLists, chosen: Flags) -> CandidateLists:
    """Return some of the sets, each of at most one parent, as lists of their own."""
    sets = np.flatnonzero(chosen)
    sizes = np.diff(lists.starts)[sets]
    child = lists.children[sets]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    parents = lists.parents[lists.starts[sets][sizes == 1]]
    return CandidateLists.from_arrays(lists.names, child, starts, parents, lists.scores[sets])


def bounded(solution: Solution, bound: float) -> Solution:
    """Return a solution under another bound; it may not be proven any more."""
    trace = tuple((t, s, max(b, bound)) for t, s, b in solution.trace)
    solution = replace(solution, bound=bound, trace=trace)
    if solution.optimal and bound - solution.score <= solution.scope.tolerance:
        return solution
    return replace(solution, optimal=False, ties="unknown", certificate=None)


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


def best_listed(lists: CandidateLists, allowed: Flags) -> Floats:
    """``[variable]``: the highest score of its allowed sets."""
    listed = np.full(lists.n_variables, -np.inf)
    np.maximum.at(listed, lists.children[allowed], lists.scores[allowed])
    return listed


def plain_bound(listed: Floats, beyond: Floats) -> float:
    """Bound the networks that use at least one set beyond the lists; −∞ if there are none."""
    either = np.maximum(listed, beyond)
    loss = (either - beyond)[np.isfinite(beyond)]
    return math.fsum(either.tolist()) - float(loss.min()) if len(loss) else -math.inf


def relaxed_lists(
    lists: CandidateLists, constraints: Constraints, beyond: Floats
) -> CandidateLists:
    """Add to every variable its required parents alone, at the score of what lies beyond."""
    required = [
        sorted(lists.index(p) for p in constraints.required_parents.get(name, ()))
        for name in lists.names
    ]
    added = np.flatnonzero(np.isfinite(beyond))
    sizes = [len(required[v]) for v in added]
    members = np.array([p for v in added for p in required[v]], np.int32)
    return CandidateLists.from_arrays(
        lists.names,
        np.concatenate([lists.children, added]),
        np.concatenate([lists.starts, lists.starts[-1] + np.cumsum(sizes, dtype=np.int64)]),
        np.concatenate([lists.parents, members]),
        np.concatenate([lists.scores, beyond[added]]),
    )
