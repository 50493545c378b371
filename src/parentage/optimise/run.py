"""One run of the optimiser: clock, limits, incumbents and bounds, whatever engine is at work.

Engines write into a :class:`Part` as they go: incumbents with :meth:`Part.offer`, bounds with
:meth:`Part.raise_bound`. Nothing else has to be saved when time runs out or the user interrupts,
because everything that is known is already here. Engines ask :meth:`Part.stopped` often.

The parts of a run are the strongly connected parts of the problem; their costs and their bounds
add up. A part may be replaced by smaller ones when sets that cannot be in a better network have
been removed: what is left out costs more than the incumbent, so the least of the incumbent's
cost and the sum of the new bounds is a bound for the part.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from parentage.network.network import topological_order
from parentage.network.record import SearchRecord
from parentage.optimise.cuts import moved, project, read_cut, unique, written_cut
from parentage.optimise.problem import prepare, rounding
from parentage.optimise.settings import Optimising
from parentage.optimise.tuning import TUNING
from parentage.work.checkpoint import SavedState
from parentage.work.context import Context
from parentage.work.memory import room_within
from parentage.work.progress import Progress
from parentage.work.stop import now

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parentage.arrays import Floats, Ints
    from parentage.network.network import Network
    from parentage.optimise.cuts import Cut
    from parentage.optimise.cutting import Node
    from parentage.optimise.problem import Problem
    from parentage.optimise.solution import TracePoint
    from parentage.optimise.tuning import Tuning
    from parentage.scoring.constraints import Constraints
    from parentage.scoring.lists import CandidateLists
    from parentage.work.checkpoint import Slot
    from parentage.work.stop import Reason

HEARTBEAT = 0.2
"""Seconds between two calls of the progress callback when nothing changes."""

STEPS = ("step", "cut", "price")
"""Arrays of a state: the multipliers of rounds."""

TOLERANCE = 1e-6
"""A proof shows that no network is better by more than this (the arithmetic of LP solvers)."""


@dataclass(frozen=True, eq=False)
class Start:
    """What solving begins from.

    Parameters
    ----------
    network
        What is found scores at least as much, as far as the lists have its sets.
    cuts
        Cuts of another run over the same variables, whatever its lists and constraints; they hold
        for all networks. Whoever gives them, or none of them, begins from a network that is near,
        and no other is searched for before cutting.
    steps
        Rounds of that run which removed sets, one after the other: multipliers of cuts, by index.
        They bound and remove before the first linear programme is solved.
    orders
        Orders of all variables of the lists that networks respect, to begin from as well.
    slot
        Where the state of a run is saved from time to time.
    """

    network: Network | None = None
    cuts: Sequence[Cut] | None = None
    steps: Sequence[Mapping[int, float]] = ()
    orders: Sequence[Sequence[int]] = ()
    slot: Slot | None = None


NOWHERE: Start = Start()


class Run:
    """Limits, clock and totals of one call of the optimiser.

    Scores of incumbents are summed from the lists; of the context a run needs stop, threads and
    progress.
    """

    def __init__(
        self,
        lists: CandidateLists,
        constraints: Constraints | None = None,
        settings: Optimising | None = None,
        context: Context | None = None,
        start: Start = NOWHERE,
        tuning: Tuning = TUNING,
    ) -> None:
        problem = prepare(lists, constraints)
        context = context or Context()
        self.lists = lists
        self.constraints = constraints
        self.settings = settings or Optimising()
        self.start = start
        self.tuning = tuning
        self.worked = 0.0
        self.limit_work(math.inf)
        self.threads = context.threads
        self.stop = context.stop
        self.stop_reason: Reason | None = None
        self.trace: list[TracePoint] = []
        self.rounding = rounding(lists)
        self._report = context.report
        self._began = now()
        self._last_call = -math.inf
        self._begun = 0  # so many parts, from the first on, have a network
        self._written: dict[Cut, str] = {}
        scores, sizes = lists.scores[problem.sets], np.diff(lists.starts)[problem.sets]
        self.best_per_child = math.fsum(float(scores[a:b].max()) for a, b in problem.spans())
        most_arcs = sum(int(sizes[a:b].max()) for a, b in problem.spans())
        self.slack = self.rounding * (most_arcs + 1)
        self.tolerance = max(TOLERANCE, self.slack)
        self.parts = [Part(self, part) for part in problem.parts()]

    @property
    def seconds(self) -> float:
        """Wall time since the start, without what went into compiling."""
        return now() - self._began

    def stopped(self) -> bool:
        """Whether to stop now; the reason, once there is one, stays."""
        if self.stop_reason is None:
            self.stop_reason = self.stop.reason() or self._too_much_memory()
        return self.stop_reason is not None

    def _too_much_memory(self) -> Reason | None:
        """What cuts and nodes take is not known beforehand: they are added as long as they fit."""
        room = room_within(self.stop.memory)
        return "memory" if room is not None and room < 0 else None

    def limit_work(
        self, most: float, at_once: float = math.inf, first_gap: float = math.inf
    ) -> None:
        """Let cutting and branching take ``most`` work at most, in the units of :mod:`.tuning`.

        They end after ``at_once`` of it if the gap is above ``first_gap``, and after as much again
        if it was not halved.
        """
        self.work_left, self._gap_goal = most, first_gap
        self._slice = self._slice_left = at_once

    def spend(self, work: float) -> None:
        """Count work of cutting; none is left when a slice of it has not halved the gap."""
        self.worked += work
        self.work_left -= work
        self._slice_left -= work
        if self._slice_left < 0 < self.work_left:
            gap = self.bound() - self.score()
            if gap > self._gap_goal:
                self.work_left = 0.0
            self._gap_goal, self._slice_left = gap / 2, self._slice

    def chosen(self) -> Ints:
        """Return the incumbent: the set of every variable, as an index into the lists."""
        chosen = np.full(self.lists.n_variables, -1, np.int64)
        for part in self.parts:
            part.write(chosen)
        return chosen

    def score(self) -> float:
        """Score of the incumbent, summed from the lists."""
        return math.fsum(self.lists.scores[self.chosen()].tolist())

    def bound(self) -> float:
        """Upper bound on the score of any network."""
        return self._bound_above(self.score())

    def _bound_above(self, score: float) -> float:
        if self.proven():
            return score
        upper = self.best_per_child - math.fsum(part.bound for part in self.parts) + self.slack
        return max(upper, score)

    def proven(self) -> bool:
        """Whether every part is proven."""
        return all(part.proven for part in self.parts)

    def found_cuts(self) -> list[Cut]:
        """Return the cuts of all parts, over the variables of the lists."""
        return unique(
            cut
            for part in self.all_parts()
            for cut in project(part.cuts, dict(enumerate(part.problem.variables.tolist())))
        )

    def all_parts(self) -> list[Part]:
        """Return the parts, and the smaller ones that they were split into."""
        found = list(self.parts)
        for part in found:
            found.extend(part.pieces)
        return found

    def save(self) -> None:
        """Save the state, if there is a checkpoint and a network."""
        slot = self.start.slot
        if slot is not None and all(part.cost < math.inf for part in self.parts):
            slot.write(self.to_state)

    def to_state(self) -> SavedState:
        """Return what a later run can begin from: an order of the incumbent, and all cuts.

        Bounds and removed sets are made again, by the cuts and by the rounds of roots that removed
        sets, and so are nodes of a tree; order search and dynamic programming begin anew. A cut is
        written once, as JSON text.
        """
        for part in self.parts:
            part.take_cuts()
        steps = [step for part in self.parts for step in part.steps()]
        written: dict[Cut, str] = {}
        for part in self.all_parts():
            sets, variables = part.problem.members, part.problem.variables
            for cut in chain(part.cuts, *(cuts for cuts, _ in part.steps())):
                written[cut] = self._written.get(cut) or json.dumps(
                    written_cut(cut, variables, sets), separators=(",", ":")
                )
        self._written = written
        parents = [self.lists.parents_of(i).tolist() for i in self.chosen().tolist()]
        order = list(topological_order([str(v) for v in range(len(parents))], parents))
        at = {text: i for i, text in enumerate(dict.fromkeys(written.values()))}
        arrays = {
            "step": np.repeat(
                np.arange(len(steps)), np.array([len(cuts) for cuts, _ in steps], np.int64)
            ),
            "cut": np.array([at[written[cut]] for cuts, _ in steps for cut in cuts], np.int64),
            "price": np.concatenate([np.zeros(0), *(prices for _, prices in steps)]),
        }
        values = {"lists": self.lists.digest, "order": order, "cuts": list(at)}
        return SavedState(values, arrays)

    def note(self, phase: str, *, changed: bool) -> None:
        """Record a change and tell the caller; without a change only now and then."""
        now = self.seconds
        if not changed and now - self._last_call < HEARTBEAT:
            return
        while self._begun < len(self.parts) and self.parts[self._begun].cost < math.inf:
            self._begun += 1
        if self._begun < len(self.parts):
            return
        self._last_call = now
        score = self.score()
        bound = self._bound_above(score)
        if changed:
            self.trace.append((now, score, bound))
        limit = self.settings.gap_limit
        if limit > 0 and bound - score <= limit and self.stop_reason is None:
            self.stop_reason = "gap"
        if self._report is not None:
            self._report(Progress("learning", phase, now, incumbent=score, bound=bound))
        slot = self.start.slot
        if slot is not None and slot.due():
            slot.write(self.to_state)


class Part:
    """What is known about one strongly connected part of the problem: an incumbent and a proof.

    ``cost`` is that of the incumbent, without what its pieces have found; ``choice`` its sets, as
    indices into the problem; ``found_by`` the engine that found or proved it. ``cuts`` are those
    that the part begins with, then those of its linear programme, as positions in it. ``begun``
    are rounds of an earlier run, as multipliers of those that it begins with.

    How it was closed, for a certificate: ``closed_by`` is the engine that showed it, ``"bound"`` if
    the first bound was met, empty while it is open; ``fewest_arcs`` says whether no network of the
    same cost has fewer arcs. ``root`` is the first node, if the part was cut, ``root_bound`` the
    bound that cutting reached there. ``pieces`` are smaller parts that it was split into when sets
    that cannot improve were removed.
    """

    def __init__(self, run: Run, problem: Problem) -> None:
        self.run = run
        self.problem = problem
        self.cost = math.inf
        self.choice: Ints = np.full(problem.n, -1, np.int64)
        self.found_by = "orders"
        self.closed_by = ""
        self.fewest_arcs = False
        self.root: Node | None = None
        self.root_bound: float | None = None
        self.pieces: list[Part] = []
        self.counted = SearchRecord()
        self.cuts: list[Cut] = []
        self.begun: list[Floats] = []
        self._bound = problem.cheapest()

    @property
    def engine(self) -> str:
        """The engine that proved or found the incumbent; those of its pieces if it was split."""
        pieces = {piece.engine for piece in self.pieces if piece.problem.n > 1}
        joined = "" if self.closed_by else " + ".join(sorted(pieces))
        return joined or self.found_by

    def offer(self, choice: Ints, engine: str) -> bool:
        """Take a choice that an engine found, sets as indices into the problem, if it is better.

        Return whether it is better than the incumbent.
        """
        cost = math.fsum(self.problem.cost[choice])
        if cost >= self.cost:
            return False
        self.cost, self.choice, self.found_by = cost, choice.copy(), engine
        if self.cost - self._bound < self.run.rounding / 2:
            self.prove(engine, fewest_arcs=True)
            self.closed_by = "bound"
        else:
            self.run.note(engine, changed=True)
        return True

    def raise_bound(self, bound: float, engine: str) -> None:
        """Say that no network costs less than ``bound``, unless it is the incumbent.

        Raises
        ------
        AssertionError
            The incumbent does: an error in this package or in a solver.
        """
        if bound > self.cost + self.run.tolerance * max(1.0, self.cost):
            raise AssertionError(f"a bound of {bound} against a network that costs {self.cost}")
        if bound > self._bound:
            self._bound = bound
            self.run.note(engine, changed=True)

    def prove(self, engine: str, *, fewest_arcs: bool = False) -> None:
        """Say that the incumbent is best, and which engine showed it."""
        self._bound, self.found_by = self.cost, engine
        self.closed_by, self.fewest_arcs = engine, fewest_arcs
        self.run.note(engine, changed=True)

    def solved(self, choice: Ints, engine: str, *, fewest_arcs: bool) -> None:
        """Offer the choice that an exact engine found, and say that nothing is better.

        Raises
        ------
        AssertionError
            The incumbent is better: an error in the engine.
        """
        cost = math.fsum(self.problem.cost[choice])
        if cost > self.cost + self.run.tolerance:
            raise AssertionError(f"{engine}: {cost} against a network that costs {self.cost}")
        self.offer(choice, engine)
        self.prove(engine, fewest_arcs=fewest_arcs)

    def split(self, problems: list[Problem]) -> list[Part]:
        """Continue with smaller problems, made by leaving out sets that cannot improve."""
        self.pieces = [Part(self.run, problem) for problem in problems]
        return self.pieces

    def take_cuts(self) -> list[Cut]:
        """Return the cuts; before the part is cut those that the run began with."""
        start = self.run.start
        known = start.cuts or ()
        if self.root is None and not self.cuts and known:
            position = {int(v): i for i, v in enumerate(self.problem.variables)}
            found: dict[object, Cut] = {}
            at: dict[int, list[int]] = {}
            places: dict[object, int] = {}
            for i in sorted(range(len(known)), key=lambda i: bool(known[i].through)):
                cut = known[i]
                same = moved(cut, position) if cut.through else None
                own = project([cut], position) if same is None else [same]
                found |= {one.key: one for one in own if one.key not in found}
                at[i] = [places.setdefault(one.key, len(places)) for one in own]
            self.cuts = list(found.values())
            for step in start.steps:
                prices = np.zeros(len(self.cuts))
                for cut_at, price in step.items():
                    prices[at[cut_at]] += price
                if prices.any():
                    self.begun.append(prices)
        return self.cuts

    def steps(self) -> list[tuple[list[Cut], Floats]]:
        """Return the rounds of the root that removed many sets, and that of the highest bound.

        Before the root is begun they are those of the earlier run.
        """
        root = self.root
        if root is None or root.best is None:
            return [(self.cuts, prices) for prices in self.begun]
        last = [] if root.telling and root.telling[-1] is root.best else [root.best]
        return [step for step in [*root.telling, *last] if step is not None]

    @property
    def bound(self) -> float:
        """Lower bound on the cost of any network."""
        lower = math.fsum(piece.bound for piece in self.pieces)
        return min(self.best_cost, max(self._bound, lower))

    @property
    def best_cost(self) -> float:
        """Cost of the incumbent, or that of its pieces together if it is less."""
        return min(self.cost, self._cost_of_pieces())

    def _cost_of_pieces(self) -> float:
        pieces = self.pieces
        return math.fsum(piece.best_cost for piece in pieces) if pieces else math.inf

    @property
    def proven(self) -> bool:
        """Whether the incumbent is best."""
        return self.best_cost < math.inf and self.best_cost - self.bound <= self.run.tolerance

    def tick(self, engine: str) -> None:
        """Show that work goes on."""
        self.run.note(engine, changed=False)

    def stopped(self) -> bool:
        """Whether to stop now."""
        return self.run.stopped()

    def write(self, chosen: Ints) -> None:
        """Enter the incumbent's sets into ``chosen``."""
        if self.pieces and self._cost_of_pieces() <= self.cost:
            for piece in self.pieces:
                piece.write(chosen)
        else:
            chosen[self.problem.variables] = self.problem.sets[self.choice]


def from_slot(slot: Slot | None, lists: CandidateLists) -> Start:
    """Return what an earlier run saved, as far as it holds for ``lists``."""
    if slot is None or slot.state is None:
        return Start(slot=slot)
    with slot.reading():
        return replace(from_state(slot.state, lists), slot=slot)


def from_state(saved: SavedState, lists: CandidateLists) -> Start:
    """Return the order, the cuts and the rounds of :meth:`Run.to_state` that hold for ``lists``.

    What a cut weighs that passes through variables holds for the lists it was found in only.

    Raises
    ------
    KeyError, TypeError, ValueError, IndexError
        It is something else.
    """
    state = saved.values
    order = [int(v) for v in state["order"]]
    if sorted(order) != list(range(lists.n_variables)):
        raise ValueError("an order of other variables")
    cuts, steps = rounds_of(saved)
    same = state["lists"] == lists.digest
    place = {i: j for j, i in enumerate(i for i, cut in enumerate(cuts) if same or not cut.through)}
    return Start(
        cuts=[cuts[i] for i in place] or None,
        steps=[{place[i]: y for i, y in step.items() if i in place} for step in steps],
        orders=[order],
    )


def rounds_of(saved: SavedState) -> tuple[list[Cut], list[dict[int, float]]]:
    """Return the cuts of :meth:`Run.to_state`, and its rounds as multipliers by index of the cut.

    Raises
    ------
    KeyError, TypeError, ValueError, IndexError
        It is something else.
    """
    steps: dict[int, dict[int, float]] = {}
    for step, cut, price in zip(*(saved.arrays[name].tolist() for name in STEPS), strict=True):
        steps.setdefault(step, {})[cut] = price
    return [read_cut(json.loads(text)) for text in saved.values["cuts"]], list(steps.values())
