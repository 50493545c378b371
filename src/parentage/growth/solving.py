"""Expanded lists solved exactly, as far as a budget of work goes.

A part of :mod:`parentage.growth.anytime`, which alternates between expanding the lists and solving
them. Lists are solved by the engines of :mod:`parentage.optimise`, from the best network so far and
from the cuts of the time before: cuts hold for all networks, whatever the lists. What comes back
is the best network found, whether it is proven best for the lists, and for every family how
far taking it would lift the bound under the prices of the linear programme (its reduced cost).
Families with a small rise are those whose supersets the programme is most likely to take.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.growth.tuning import PER_SET_SOLVED, PER_STEP
from parentage.optimise.cutting import root_lagrangian
from parentage.optimise.engines import solve
from parentage.optimise.problem import limited
from parentage.optimise.run import STEPS, Run, from_state, rounds_of
from parentage.work.checkpoint import SavedState
from parentage.work.progress import for_the_lists

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parentage.arrays import Floats, Ints, Words
    from parentage.growth.growth import Growth
    from parentage.optimise.cuts import Cut
    from parentage.optimise.run import Part
    from parentage.optimise.settings import Optimising
    from parentage.scoring.candidates import Searched
    from parentage.scoring.lists import CandidateLists
    from parentage.work.context import Context

EXACT = ("auto", "branch-and-cut")
"""Engines that solve lists of many variables exactly within a budget."""


class Solved(NamedTuple):
    """What solving the lists has shown."""

    order: Ints
    """An order that the best network respects, of the encoded variables."""
    proven: bool
    """Whether no network made of the lists is better."""
    gap: float
    """How much better one could be at most, in nats."""
    rise: Floats
    """``[family]``: how far taking it lifts the bound, in nats; infinite for a family that is in no
    list because a subset scores as much."""
    cuts: tuple[str, ...]
    """As text, for the next time."""
    steps: Mapping[str, npt.NDArray[Any]]
    """Their multipliers in rounds that removed sets, for the next time (:meth:`Run.to_state`)."""
    work: float
    """Nominal seconds."""

    def rounds(self) -> tuple[list[Cut], list[dict[int, float]]]:
        """Return the cuts, and their multipliers by index."""
        return rounds_of(SavedState({"cuts": self.cuts}, self.steps))


NO_STEPS = {name: np.zeros(0) for name in STEPS}

UNSOLVED = Solved(np.zeros(0, np.int64), False, math.inf, np.zeros(0), (), NO_STEPS, 0.0)
"""What is known before lists are solved for the first time."""


class ListSolver:
    """Solves the lists of a growth as they are."""

    def __init__(
        self, searched: Searched, growth: Growth, optimising: Optimising, context: Context
    ) -> None:
        self._searched, self._growth = searched, growth
        self._settings = replace(optimising, gap_limit=0.0)
        report = for_the_lists(context.report)
        self._context = replace(context, report=report, checkpoint=None)
        encoded = searched.plans[0].encoded
        self._order = np.asarray(encoded.order, np.int64)
        self._place = np.full(searched.prepared.table.n_variables, -1, np.int64)
        self._place[self._order] = np.arange(growth.n)

    def solve(
        self,
        order: Ints,
        before: Solved,
        most: float,
        at_once: float = math.inf,
        gap: float = math.inf,
    ) -> Solved:
        """Solve the lists, from a network of this order and the cuts of the time before.

        Cutting and branching take at most ``most`` nominal seconds. They end after ``at_once`` of
        them if the gap is above ``gap`` nats, and after as much again if it was not halved.
        """
        growth = self._growth
        lists = replace(self._searched, outcomes=growth.result()).lists()
        constant = np.flatnonzero(self._place < 0).tolist()
        began = [*self._order[order].tolist(), *constant]
        values = {"lists": lists.digest, "order": began, "cuts": before.cuts}
        prepared, start = (
            self._searched.prepared,
            from_state(SavedState(values, before.steps), lists),
        )
        run = Run(
            lists,
            limited(lists, prepared.limit, prepared.constraints),
            self._settings,
            self._context,
            replace(start, cuts=start.cuts or ()),
        )
        run.limit_work(most / PER_STEP, at_once / PER_STEP, gap / prepared.unit)
        solve(run)
        found = run.to_state()
        after = [int(self._place[v]) for v in found.values["order"]]
        used = PER_STEP * run.worked
        return Solved(
            np.array([v for v in after if v >= 0], np.int64),
            run.proven(),
            (run.bound() - run.score()) * prepared.unit,
            self._rise(run, lists),
            tuple(found.values["cuts"]),
            found.arrays,
            used + PER_SET_SOLVED * lists.n_sets,
        )

    def _rise(self, run: Run, lists: CandidateLists) -> Floats:
        """Return the rise of every family of the growth."""
        listed = np.full(lists.n_sets, math.inf)
        for part in run.parts:
            listed[part.problem.sets] = rise_in(part)
        where = self._growth.find(self._keys(lists))
        rise = np.full(self._growth.n_sets, math.inf)
        rise[where[where >= 0]] = listed[where >= 0] * self._searched.prepared.unit
        return rise

    def _keys(self, lists: CandidateLists) -> Words:
        """Return the keys of listed families, as the growth has them; 0 for constant columns."""
        child = self._place[np.repeat(np.arange(lists.n_variables), np.diff(lists.offsets))]
        owner = np.repeat(np.arange(lists.n_sets), np.diff(lists.starts))
        return self._growth.keys_of(child, lists.starts, child[owner], self._place[lists.parents])


def rise_in(part: Part) -> Floats:
    """``[set]``: how far taking it lifts the bound of a part.

    Where nothing was cut, it is how far the set scores below the one in use.
    """
    cut = root_lagrangian(part)
    if cut is not None:
        return cut[1]
    problem = part.problem
    used = np.repeat(problem.cost[part.choice], np.diff(problem.offsets))
    below: Floats = np.maximum(0.0, problem.cost - used)
    return below
