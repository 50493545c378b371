"""Streams of the order search: where each one stands, how it goes on, and how they help each other.

A round ends when a fixed number of sets has been looked at, not when a clock says so: the same seed
and the same number of rounds give the same network, whatever the number of threads and the machine.
It has pauses, counted in the same way, in which a run that is to stop hears of it; only such a
round is cut short.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from parentage.kernels.orders import Orders
    from parentage.optimise.orders import OrderSpace
    from parentage.optimise.problem import Ints, Words

BUDGET = 4_000_000
"""Sets looked at per stream and round: some hundredths of a second."""

CLIMB = 8 * BUDGET
"""Sets looked at between two looks at the clock: some tenths of a second."""

LONGEST_CLIMB = 8
"""Budgets that climbing and settling may take in one round."""

SMALL_BUDGET = 500
"""In small parts a round ends earlier: after this many times variables times sets."""

ROUNDS_OF_CLIMBS = 20
"""In large parts a round has room for so many climbs over all positions of all variables."""

SLACKS = (0.0, 1e-5, 1e-4, 1e-3)
"""How much worse, relative to its cost, each stream lets itself become."""

STRENGTH = 4
"""Most moves of one disturbance."""

STALE = 12
"""Rounds without a gain after which the leader goes back to its best order."""


@dataclass(eq=False)
class Stream:
    """One of the searches: its orders, where it stands, its random numbers.

    ``work`` and ``orders`` are those of :func:`parentage.kernels.orders.search`.
    """

    orders: Orders
    slack: float
    state: Words
    work: Any
    stale: int = 0

    @classmethod
    def at(cls, order: Ints, slack: float, state: Words) -> Stream:
        """Begin at an order."""
        from parentage.kernels.orders import Orders, new_work

        orders = Orders(order.copy(), order.copy(), order.copy(), np.arange(len(order)))
        return cls(orders, slack, state, new_work())

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
        from parentage.kernels.orders import MOVING, SETTLING, search

        work, marked = self.work, np.ones(self.n, np.bool_)
        slack, strength = self._allowance(), np.int64(min(STRENGTH, self.n))
        most = LONGEST_CLIMB * budget
        work.looked = 0
        while not stopped():
            work.pause = min(work.looked + CLIMB, most)
            search(
                self.orders, work, np.int64(budget), strength, slack, marked, *space.arrays,
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

    The leader goes back to its best order. The others start at random, at once: any order is near
    the best in a moment, and what it does better somewhere is not lost (:func:`best_of`).
    """
    from parentage.kernels.disturb import shuffle

    for stream in streams:
        if stream.stale < (STALE if stream is leader else 1):
            continue
        if stream is leader:
            stream.orders.base[:] = stream.best
            stream.work.cost = stream.work.best
            stream.stale = 0
        else:
            order = stream.orders.base.copy()
            shuffle(order, stream.state)
            stream.restart(order)
