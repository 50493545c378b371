"""Engine 2, orders: an anytime search over orders of the variables of a part.

An order fixes the best network that respects it, so the search moves through orders only:
insertions to a local optimum, regions of the network solved exactly, disturbance (arcs turned
around, random insertions, exchanged blocks, places permuted), restarts (Scanagatta et al. 2017 and
Lee and van Beek 2017 search in the same space). It proves nothing by itself, except when it meets
the bound that is there from the start.

Four streams of random numbers search side by side and meet after every round: the best takes from
the others what they do better somewhere, and the others start again. So they are not independent,
and no answer counts how many of them agree; where the bound says little, a network is compared with
simpler ones (:class:`parentage.network.record.Compared`).
"""

from __future__ import annotations

import math
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from parentage.network.network import topological_order
from parentage.optimise.problem import feasible_order
from parentage.optimise.tuning import TUNING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from parentage.arrays import Ints, Words
    from parentage.kernels.orders import Orders
    from parentage.optimise.problem import OrderSpace, Problem
    from parentage.optimise.run import Part
    from parentage.optimise.tuning import Tuning

ORDERS = "orders"
BUDGET = 4_000_000
"""Sets looked at per stream and round: some hundredths of a second."""

CLIMB = 8 * BUDGET
"""Sets looked at between two looks at the clock: some tenths of a second."""

LONGEST_CLIMB = 8
"""Budgets that climbing and settling may take in one round."""

SMALL_BUDGET = 500
"""In small parts a round ends earlier: after this many times variables times sets."""

WORK_OF_LOOK = 8
"""What looking at a set takes, in the units of work of :mod:`.tuning`."""

ROUNDS_OF_CLIMBS = 20
"""In large parts a round has room for so many climbs over all positions of all variables."""


def first_incumbent(part: Part, *, climb: bool = True) -> None:
    """Give a part its first network: of any feasible order, climbed to a local optimum if asked."""
    problem = part.problem
    if problem.n == 1:  # with no parent inside, its cheapest set is its only one
        part.offer(np.zeros(1, np.int64), ORDERS)
        return
    order, placed = feasible_order(problem)
    if placed < problem.n:
        raise AssertionError("a part without an acyclic choice reached the search")
    climb_from(part, order, anyway=True, climb=climb)


def climb_from(part: Part, order: Ints, *, anyway: bool = False, climb: bool = True) -> None:
    """Climb from an order to a local optimum and offer it.

    A stopped run gets what the climb has reached by then, which is nothing unless it has to climb
    for a moment ``anyway``. Without ``climb`` the order itself is offered.
    """
    space = part.problem.orders
    state = np.array([part.run.settings.seed % (1 << 64)], np.uint64)
    if climb:
        climb_order(space, order, state, part.stopped, part.run.tuning, anyway=anyway)
    choice = space.choice(order)
    if choice is not None:
        part.offer(choice, ORDERS)


def climb_order(
    space: OrderSpace,
    order: Ints,
    state: Words,
    stopped: Callable[[], bool],
    tuning: Tuning = TUNING,
    *,
    anyway: bool = False,
    regions: bool = True,
) -> tuple[int, bool]:
    """Climb from an order, in place; return the sets looked at, and whether it came to an end.

    Insertions first, then regions.
    """
    from parentage.kernels.orders import improve, new_work, refit, settle_order

    n, work = len(order), new_work()
    fit, turns = np.empty(n, np.int64), np.arange(n)
    refit(order, fit, 0, n, space.offsets, space.sets, work)
    while work.looked >= work.pause and (anyway or not stopped()):
        anyway = False
        work.pause = work.looked + CLIMB
        improve(order, fit, turns, *space.arrays, state, work)
    ended = bool(work.looked < work.pause)
    waiting = np.full(n, regions)
    while ended and waiting.any() and not stopped():
        work.pause = work.looked + CLIMB
        arrays = space.offsets, space.sets, space.cost
        settle_order(order, fit, waiting, *arrays, np.int64(tuning.width), state, work)
    return int(work.looked), ended and not waiting.any()


@dataclass(eq=False)
class Stream:
    """One of the searches: its orders, where it stands, its random numbers.

    ``work`` and ``orders`` are those of :func:`parentage.kernels.orders.search_round`.
    """

    orders: Orders
    slack: float
    state: Words
    work: Any
    tuning: Tuning = TUNING
    stale: int = 0

    @classmethod
    def at(cls, order: Ints, slack: float, state: Words, tuning: Tuning = TUNING) -> Stream:
        """Begin at an order."""
        from parentage.kernels.orders import Orders, new_work

        orders = Orders(order.copy(), order.copy(), order.copy(), np.arange(len(order)))
        return cls(orders, slack, state, new_work(), tuning)

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self.orders.base)

    @property
    def climbing(self) -> bool:
        """Whether it has not climbed to a local optimum yet."""
        from parentage.kernels.orders import CLIMBING

        return bool(self.work.phase == CLIMBING)

    @property
    def best(self) -> Ints:
        """The best order it saw."""
        return self.orders.best

    def take(self, orders: Ints, work: Any) -> None:
        """Stand where another run stood: its ``orders[4, n]`` and its record."""
        for own, other in zip(self.orders, orders, strict=True):
            own[:] = other
        for name in work.dtype.names:
            self.work[name] = work[name]

    def advance(self, space: OrderSpace, budget: int, stopped: Callable[[], bool]) -> bool:
        """Search for one round, with pauses; False if a run that is ``stopped`` cut it short."""
        before = self.work.best
        whole = self._search(space, budget, stopped)
        gained = self.work.best < before or self.climbing
        self.stale = 0 if gained else self.stale + 1
        return whole

    def _search(self, space: OrderSpace, budget: int, stopped: Callable[[], bool]) -> bool:
        """Search for one round; whether it was not cut short.

        Climbing and settling may take several budgets. What is not settled then stays as it is.
        """
        from parentage.kernels.orders import MOVING, SETTLING, search_round

        work, marked = self.work, np.ones(self.n, np.bool_)
        slack, width = self._allowance(), np.int64(self.tuning.width)
        most = LONGEST_CLIMB * budget
        work.looked = 0
        while not stopped():
            work.pause = min(work.looked + CLIMB, most)
            search_round(
                self.orders, work, np.int64(budget), width, slack, marked, *space.arrays,
                self.state,
            )  # fmt: skip
            if work.looked >= (budget if work.phase == MOVING else most):
                if work.phase == SETTLING:
                    work.phase = MOVING
                return True
        return False

    def _allowance(self) -> float:
        """How much worse it lets itself become."""
        return 0.0 if self.climbing else float(self.slack * self.work.cost)

    def price(self, space: OrderSpace) -> None:
        """Work out the costs of its orders anew, after the sets have changed."""
        if self.climbing:
            return
        work = self.work
        work.cost = space.cost[space.fit(self.orders.base)].sum()
        work.best = space.cost[space.fit(self.orders.best)].sum()
        if work.cost < work.best:
            self.orders.best[:] = self.orders.base
            work.best = work.cost

    def move(self, order: Ints, space: OrderSpace) -> None:
        """Go on from another order, which is at least a local optimum."""
        from parentage.kernels.orders import MOVING

        self.orders.base[:] = order
        if not np.isfinite(self.work.best):
            self.orders.best[:] = order
        if self.climbing:
            self.work.phase = MOVING
        self.price(space)

    def restart(self, order: Ints) -> None:
        """Go on from another order, forgetting the best seen."""
        from parentage.kernels.orders import new_work

        for own in (self.orders.base, self.orders.best, self.orders.trial):
            own[:] = order
        self.work = new_work()
        self.stale = 0


def random_state(rng: np.random.Generator) -> Words:
    """Draw a state for the random numbers of the kernels."""
    return rng.integers(1 << 63, size=1, dtype=np.uint64)


def budget_of(n: int, m: int) -> int:
    """Return how many sets a stream looks at in a round."""
    return min(max(BUDGET, ROUNDS_OF_CLIMBS * n * n), SMALL_BUDGET * n * m)


def best_of(streams: list[Stream], space: OrderSpace) -> Stream:
    """Return the leader, after giving it what others do better in some region of the network."""
    from parentage.kernels.orders import combine

    leader = min(streams, key=lambda stream: float(stream.work.best))
    fit, order, gained = space.fit(leader.best), leader.best.copy(), 0.0
    for stream in streams:
        if stream is not leader and np.isfinite(stream.work.best):
            gained += combine(fit, space.fit(stream.best), space.sets, space.cost, order)
    if gained > 0:
        leader.move(order, space)
    return leader


def renew(streams: list[Stream], leader: Stream) -> None:
    """Let streams that stopped gaining start again.

    The leader goes back to its best order. The others start at random: any order is near the best
    in a moment, and what it does better somewhere is not lost (:func:`best_of`).
    """
    from parentage.kernels.regions import shuffle

    for stream in streams:
        if stream.stale < stream.tuning.stale:
            continue
        if stream is leader:
            stream.orders.base[:] = stream.best
            stream.work.cost = stream.work.best
            stream.stale = 0
        else:
            order = stream.orders.base.copy()
            shuffle(order, stream.state)
            stream.restart(order)


def rounds(part: Part, pool: Executor) -> Iterator[int]:
    """Search a part round by round; yield how many rounds in a row gained nothing.

    In a round every stream searches for one budget; then they are compared.
    """
    space, streams, idle = part.problem.orders, _streams(part), 0
    budget = budget_of(part.problem.n, part.problem.m)

    def advance(stream: Stream) -> None:
        stream.advance(space, budget, part.run.stop.is_over)

    while True:
        list(pool.map(advance, streams))
        part.run.spend(WORK_OF_LOOK * sum(int(stream.work.looked) for stream in streams))
        leader = best_of(streams, space)
        choice = space.choice(leader.best)
        idle = 0 if choice is not None and part.offer(choice, ORDERS) else idle + 1
        part.counted.rounds += 1
        renew(streams, leader)
        part.tick(ORDERS)
        yield idle


def search_orders(parts: list[Part], *, patience: int | None = None) -> None:
    """Search all parts in turn until stopped or proven, or ``patience`` rounds gained nothing.

    If the work of the run is limited, at most about half of what is left is for the search.
    """
    left = parts[0].run.work_left if parts else 0.0
    least = left / 2 if left < math.inf else 0.0
    with ThreadPoolExecutor(parts[0].run.threads if parts else 1) as pool:
        searches = [(part, rounds(part, pool)) for part in parts if not part.proven]
        while searches:
            waiting, searches = searches, []
            for part, search in waiting:
                if part.stopped() or part.run.work_left <= least:
                    return
                idle = next(search)
                if not part.proven and idle != patience:
                    searches.append((part, search))


def incumbent_order(part: Part) -> Ints:
    """Return an order of the part's variables that the incumbent respects."""
    return order_of_choice(part.problem, part.choice)


def order_of_choice(problem: Problem, choice: Ints) -> Ints:
    """Return an order of the variables that a choice of sets respects."""
    chosen = [problem.members.parents_of(i).tolist() for i in choice]
    names = [str(v) for v in problem.variables]
    return np.array(topological_order(names, chosen), np.int64)


def _streams(part: Part) -> list[Stream]:
    """Start the streams: the first from the incumbent, the others at random."""
    streams = []
    for k, slack in enumerate(part.run.tuning.slacks):
        seed = np.random.SeedSequence([part.run.settings.seed, int(part.problem.variables[0]), k])
        rng = np.random.default_rng(seed)
        order = incumbent_order(part) if k == 0 else rng.permutation(part.problem.n)
        streams.append(Stream.at(order, slack, random_state(rng), part.run.tuning))
    return streams


def respecting(order: Sequence[int], required: Sequence[Sequence[int]]) -> list[int]:
    """Return the order with required parents moved in front of their children.

    >>> respecting([2, 0, 1], [(1,), (), (0,)])
    [1, 0, 2]
    """
    found: dict[int, None] = {}
    for v in order:
        waiting = [v]
        while waiting:
            before = [p for p in required[waiting[-1]] if p not in found]
            if before:
                waiting += before
            else:
                found[waiting.pop()] = None
    return list(found)
