"""Streams of the order search: where each one stands, how it goes on, and how they help each other.

A round ends when a fixed number of sets has been looked at, not when a clock says so: the same seed
and the same number of rounds give the same network, whatever the number of threads and the machine.
In large parts it has pauses, counted in the same way, in which a run that is to stop hears of it;
only such a round is cut short.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from parentage.optimise.orders import OrderSpace
    from parentage.optimise.problem import Floats, Ints, Words

BUDGET = 4_000_000
"""Sets looked at per stream and round: some hundredths of a second."""

CLIMB = 8 * BUDGET
"""Sets looked at between two looks at the clock in large parts: some tenths of a second."""

SMALL_BUDGET = 500
"""In small parts a round ends earlier: after this many times variables times sets."""

ROUNDS_OF_CLIMBS = 20
"""In large parts a round has room for so many climbs over all positions of all variables."""

SLACKS = (0.0, 1e-5, 1e-4, 1e-3)
"""How much worse, relative to its cost, each stream lets itself become."""

STRENGTH = 8
STRENGTH_IN_LARGE = 4
"""Most moves of one disturbance."""

STALE = 12
"""Rounds without a gain after which a stream starts elsewhere."""


@dataclass(eq=False)
class Stream:
    """One of the searches: where it stands, the best it saw, its random numbers.

    ``orders[4, n]``, ``costs[2]`` and ``work[4]`` are those of
    :func:`parentage.kernels.orders.search`.
    """

    orders: Ints
    slack: float
    state: Words
    costs: Floats = field(init=False)
    work: Ints = field(init=False)
    stale: int = 0

    def __post_init__(self) -> None:
        self.costs = np.full(2, np.inf)
        self.work = np.zeros(4, np.int64)

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self.orders[0])

    @property
    def base(self) -> Ints:
        """The order it stands at."""
        row: Ints = self.orders[0]
        return row

    @property
    def best(self) -> Ints:
        """The best order it saw."""
        row: Ints = self.orders[1]
        return row

    def advance(self, space: OrderSpace, budget: int, stopped: Callable[[], bool]) -> bool:
        """Search for one round; False if a run that is ``stopped`` cut it short."""
        before, whole = self.costs[1], True
        if space.has_numbers:
            whole = self._advance_large(space, budget, stopped)
            climbing = not np.isfinite(self.costs[0])
        else:
            climbing = self._advance_small(space, budget)
        gained = self.costs[1] < before or climbing
        self.stale = 0 if gained else self.stale + 1
        return whole

    def _advance_small(self, space: OrderSpace, budget: int) -> bool:
        """Search for one round; whether it ended in the middle of a climb."""
        from parentage.kernels.orders import search

        strength = np.int64(min(STRENGTH, self.n))
        search(
            self.orders, self.costs, self.work, np.int64(budget), strength,
            self._allowance(), *space.arrays, self.state,
        )  # fmt: skip
        return bool(self.work[0] >= self.work[1])

    def _advance_large(self, space: OrderSpace, budget: int, stopped: Callable[[], bool]) -> bool:
        """Search for one round, with pauses; whether it was not cut short.

        Climbing and settling may take several budgets. What is not settled then stays as it is.
        """
        from parentage.kernels.orders import LONGEST_CLIMB
        from parentage.kernels.repair import CLIMBED, search_large

        marked, slack = np.ones(self.n, np.bool_), self._allowance()
        strength = np.int64(min(STRENGTH_IN_LARGE, self.n))
        most = LONGEST_CLIMB * budget
        self.work[0] = 0
        while not stopped():
            self.work[1] = min(self.work[0] + CLIMB, most)
            search_large(
                self.orders, self.costs, self.work, np.int64(budget), strength,
                slack, marked, *space.arrays, self.state,
            )  # fmt: skip
            is_moving = np.isfinite(self.costs[0]) and self.work[2] != CLIMBED
            if self.work[0] >= (budget if is_moving else most):
                if self.work[2] == CLIMBED:
                    self.work[2] = 0
                return True
        return False

    def _allowance(self) -> float:
        """How much worse it lets itself become."""
        return float(self.slack * self.costs[0]) if np.isfinite(self.costs[0]) else 0.0

    def price(self, space: OrderSpace) -> None:
        """Work out the costs of its orders anew, after the sets have changed."""
        from parentage.kernels.orders import refit

        if not np.isfinite(self.costs[0]):
            return
        fit = np.empty(self.orders.shape[1], np.int64)
        for k in range(2):
            refit(
                self.orders[k], fit, 0, len(fit), space.offsets, space.sets, np.zeros(1, np.int64)
            )
            self.costs[k] = space.cost[fit].sum()
        if self.costs[0] < self.costs[1]:
            self.best[:] = self.base
            self.costs[1] = self.costs[0]

    def move(self, order: Ints, space: OrderSpace) -> None:
        """Go on from another order, which is at least a local optimum."""
        self.base[:] = order
        if not np.isfinite(self.costs[1]):
            self.best[:] = order
        self.costs[:] = 0.0
        self.price(space)

    def restart(self, order: Ints) -> None:
        """Go on from another order, forgetting the best seen."""
        self.orders[:3] = order  # the third is where climbing begins
        self.costs[:] = np.inf
        self.work[:] = 0
        self.stale = 0


def budget_of(n: int, m: int) -> int:
    """Return how many sets a stream looks at in a round."""
    return min(max(BUDGET, ROUNDS_OF_CLIMBS * n * n), SMALL_BUDGET * n * m)


def best_of(streams: list[Stream], space: OrderSpace) -> Stream:
    """Return the leader, after giving it what others do better in some region of the network."""
    from parentage.kernels.repair import combine

    leader = min(streams, key=lambda stream: float(stream.costs[1]))
    if not space.has_numbers:
        return leader
    fit, order, gained = space.fit(leader.best), leader.best.copy(), 0.0
    for stream in streams:
        if stream is not leader and np.isfinite(stream.costs[1]):
            gained += combine(fit, space.fit(stream.best), space.sets, space.cost, order)
    if gained > 0:
        leader.move(order, space)
    return leader


def renew(streams: list[Stream], leader: Stream, *, by_regions: bool) -> None:
    """Let streams that stopped gaining start again.

    The leader goes back to its best order, and those behind it start there as well. But where the
    search is ``by_regions`` they start at random, at once: any order is near the best in a moment
    then, and what it does better somewhere is not lost.
    """
    from parentage.kernels.disturb import shuffle

    for stream in streams:
        if stream.stale < (1 if by_regions and stream is not leader else STALE):
            continue
        if stream is leader:
            stream.base[:] = stream.best
            stream.costs[0] = stream.costs[1]
            stream.stale = 0
        elif stream.costs[1] > leader.costs[1] and not by_regions:
            stream.restart(leader.best)
        else:
            order = stream.base.copy()
            shuffle(order, stream.state)
            stream.restart(order)
