"""Engine 2, orders: an anytime search over orders of the variables of a part.

An order fixes the best network that respects it, so the search moves through orders only:
insertions to a local optimum, exact reordering of short windows, disturbance (random insertions,
exchanged blocks), restarts (Scanagatta et al. 2017 and Lee and van Beek 2017 search in the same
space). It proves nothing by itself, except when it meets the bound that is there from the start.

Four streams of random numbers search side by side and meet after every round. A round ends when
a fixed number of sets has been looked at, not when a clock says so: the same seed and the same
number of rounds give the same network, whatever the number of threads and the machine. A time
limit decides only how many rounds there are.
"""

from __future__ import annotations

from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from parentage.network.network import topological_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parentage.optimise.problem import Floats, Ints, Problem, Words
    from parentage.optimise.run import Part

PHASE = "orders"
BUDGET = 4_000_000
"""Sets looked at per stream and round: some hundredths of a second."""

CLIMB = 8 * BUDGET
"""Sets looked at between two looks at the clock while climbing: some tenths of a second."""

SMALL_BUDGET = 500
"""In small parts a round ends earlier: after this many times variables times sets."""

SLACKS = (0.0, 1e-5, 1e-4, 1e-3)
"""How much worse, relative to its cost, each stream lets itself become."""

NUMBERS = 200
"""From so many variables on, sets are numbers of parents instead of masks."""

LARGE = 100
"""Parts of more variables are repaired after a disturbance instead of climbed all over."""

ROUNDS_OF_CLIMBS = 20
"""In large parts a round has room for so many climbs over all positions of all variables."""

STRENGTH = 8
STRENGTH_IN_LARGE = 4
"""Most moves of one disturbance."""

WINDOW = 6
STALE = 12
"""Rounds without a gain after which a stream starts elsewhere."""


@dataclass(frozen=True, eq=False)
class OrderSpace:
    """A problem in which every order is possible: children without an empty set get one.

    Its price, the ``penalty``, is above that of any network, so the search leaves it behind.
    ``real[m]`` gives the set of the problem, −1 for such an empty set. The sets are masks, in
    large parts numbers of parents (:mod:`parentage.kernels.fitting`).
    """

    offsets: Ints
    sets: npt.NDArray[Any]
    cost: Floats
    reach: Words
    real: Ints

    @classmethod
    def of(cls, problem: Problem) -> OrderSpace:
        """Add empty sets where they lack."""
        last = problem.offsets[1:] - 1
        lacking = problem.masks[last].any(axis=1)
        at = problem.offsets[1:][lacking]
        most = np.maximum.reduceat(problem.cost, problem.offsets[:-1]).sum()
        offsets = problem.offsets.copy()
        offsets[1:] += np.cumsum(lacking)
        sets: npt.NDArray[Any]
        if problem.n < NUMBERS:
            sets = np.insert(problem.masks, at, np.uint64(0), axis=0)
        else:
            sets = np.insert(numbers_of(*problem.members(), problem.n), at, problem.n, axis=0)
        return cls(
            offsets,
            sets,
            np.insert(problem.cost, at, 1.0 + most),
            np.bitwise_or.reduceat(problem.masks, problem.offsets[:-1], axis=0),
            np.insert(np.arange(problem.m), at, -1),
        )

    @classmethod
    def requiring(
        cls,
        offsets: Ints,
        sets: npt.NDArray[np.uint16],
        cost: Floats,
        reach: Words,
        real: Ints,
        required: Sequence[Sequence[int]],
    ) -> OrderSpace:
        """Add to every set of a child its required parents, and an empty set to such a child.

        ``sets`` are numbers of parents.
        """
        n, longest = len(required), max(map(len, required), default=0)
        always = np.full((n, longest), n, np.uint16)
        reach = reach.copy()
        for v, parents in enumerate(required):
            always[v, : len(parents)] = parents
            for p in parents:
                reach[v, p >> 6] |= np.uint64(1) << np.uint64(p & 63)
        lacking = np.array([len(parents) > 0 for parents in required])
        at, counts = offsets[1:][lacking], np.diff(offsets)
        most = np.maximum.reduceat(cost, offsets[:-1]).sum()
        both = np.hstack([np.repeat(always, counts, axis=0), sets])
        both.sort(axis=1)  # numbers stand in front of padding
        offsets = offsets.copy()
        offsets[1:] += np.cumsum(lacking)
        return cls(
            offsets,
            np.insert(both, at, n, axis=0),
            np.insert(cost, at, 1.0 + most),
            reach,
            np.insert(real, at, -1),
        )

    def choice(self, order: Ints) -> Ints | None:
        """Return the sets an order leads to; None if some variable has none."""
        found = self.real[self.fit(order)]
        return None if (found < 0).any() else found

    def fit(self, order: Ints) -> Ints:
        """Return the set that every variable has under an order, as an index into ``sets``."""
        from parentage.kernels.orders import refit

        fit = np.empty(len(order), np.int64)
        refit(order, fit, 0, len(order), self.offsets, self.sets, np.zeros(1, np.int64))
        return fit


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
    def base(self) -> Ints:
        """The order it stands at."""
        row: Ints = self.orders[0]
        return row

    @property
    def best(self) -> Ints:
        """The best order it saw."""
        row: Ints = self.orders[1]
        return row

    def advance(self, space: OrderSpace, budget: int) -> None:
        """Search for one round."""
        from parentage.kernels.orders import search
        from parentage.kernels.repair import search_large

        before, n = self.costs[1], self.orders.shape[1]
        slack = self.slack * self.costs[0] if np.isfinite(self.costs[0]) else 0.0
        (search_large if n > LARGE else search)(
            self.orders,
            self.costs,
            self.work,
            np.int64(budget),
            np.int64(min(STRENGTH_IN_LARGE if n > LARGE else STRENGTH, n)),
            slack,
            np.int64(min(WINDOW, n)),
            space.offsets,
            space.sets,
            space.cost,
            space.reach,
            self.state,
        )
        gained = self.costs[1] < before or self.work[0] >= self.work[1]
        self.stale = 0 if gained else self.stale + 1

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
        self.base[:] = order
        self.costs[:] = np.inf
        self.work[:] = 0
        self.stale = 0


def first_incumbent(part: Part) -> None:
    """Give a part its first network: any feasible order, climbed to a local optimum."""
    from parentage.kernels.orders import feasible_order

    problem = part.problem
    if problem.n == 1:  # with no parent inside, its cheapest set is its only one
        part.offer(np.zeros(1, np.int64), PHASE)
        return
    order = np.empty(problem.n, np.int64)
    if feasible_order(problem.offsets, problem.masks, order) < problem.n:
        raise AssertionError("a part without an acyclic choice reached the search")
    climb_from(part, OrderSpace.of(problem), order, anyway=True)


def climb_from(part: Part, space: OrderSpace, order: Ints, *, anyway: bool = False) -> bool:
    """Climb from an order to a local optimum and offer it; whether it was an improvement.

    A stopped run gets what the climb has reached by then, which is nothing unless it has to climb
    for a moment ``anyway``.
    """
    from parentage.kernels.orders import improve, refit

    n, work = len(order), np.zeros(4, np.int64)
    fit, state = np.empty(n, np.int64), np.array([part.run.seed % (1 << 64)], np.uint64)
    turns = np.arange(n)
    refit(order, fit, 0, n, space.offsets, space.sets, work)
    arrays = (space.offsets, space.sets, space.cost, space.reach, state, work)
    while work[0] >= work[1] and (anyway or not part.stopped()):
        anyway = False
        work[1] = work[0] + CLIMB
        improve(order, fit, turns, np.int64(0), *arrays)
    choice = space.real[fit]
    return bool((choice >= 0).all()) and part.offer(choice, PHASE)


class OrderSearch:
    """The search of one part; :meth:`round` goes on from where it is."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.idle = 0
        self._space = OrderSpace.of(part.problem)
        self._streams = _streams(part)

    def round(self, pool: Executor) -> None:
        """Let every stream search for one budget, then compare."""
        list(pool.map(self._advance, self._streams))
        leader = min(self._streams, key=lambda stream: float(stream.costs[1]))
        choice = self._space.choice(leader.best)
        gained = choice is not None and self.part.offer(choice, PHASE)
        self.idle = 0 if gained else self.idle + 1
        self.part.effort.rounds += 1
        renew(self._streams, leader)
        self.part.tick(PHASE)

    def _advance(self, stream: Stream) -> None:
        stream.advance(self._space, budget_of(self.part.problem.n, self.part.problem.m))


def budget_of(n: int, m: int) -> int:
    """Return how many sets a stream looks at in a round."""
    return min(max(BUDGET, ROUNDS_OF_CLIMBS * n * n), SMALL_BUDGET * n * m)


def numbers_of(starts: Ints, parents: Ints, n: int) -> npt.NDArray[np.uint16]:
    """Return sets given as CSR in rows of numbers, padded with ``n``."""
    sizes = np.diff(starts)
    rows = np.full((len(sizes), max(1, int(sizes.max(initial=0)))), n, np.uint16)
    rows[np.arange(rows.shape[1]) < sizes[:, None]] = parents
    return rows


def search_orders(parts: list[Part], *, patience: int | None = None) -> None:
    """Search all parts in turn until stopped or proven, or ``patience`` rounds gained nothing."""
    searches = [OrderSearch(part) for part in parts if not part.proven]
    with ThreadPoolExecutor(parts[0].run.threads if parts else 1) as pool:
        while searches:
            for search in searches:
                if search.part.stopped():
                    return
                search.round(pool)
            searches = [s for s in searches if not (s.part.proven or s.idle == patience)]


def incumbent_order(part: Part) -> Ints:
    """Return an order of the part's variables that the incumbent respects."""
    starts, parents = part.problem.members()
    chosen = [parents[starts[i] : starts[i + 1]].tolist() for i in part.choice]
    names = [str(v) for v in part.problem.variables]
    return np.array(topological_order(names, chosen), np.int64)


def _streams(part: Part) -> list[Stream]:
    """Start the streams: the first from the incumbent, the others at random."""
    streams = []
    for k, slack in enumerate(SLACKS):
        seed = np.random.SeedSequence([part.run.seed, int(part.problem.variables[0]), k])
        rng = np.random.default_rng(seed)
        order = incumbent_order(part) if k == 0 else rng.permutation(part.problem.n)
        orders = np.stack([order, order, order, np.arange(part.problem.n)])
        streams.append(Stream(orders, slack, rng.integers(1 << 63, size=1, dtype=np.uint64)))
    return streams


def renew(streams: list[Stream], leader: Stream, after: int = STALE) -> None:
    """Let streams that stopped gaining start again: at the leader's order, or at random."""
    from parentage.kernels.disturb import shuffle

    for stream in streams:
        if stream.stale < after:
            continue
        if stream is leader:
            stream.base[:] = stream.best
            stream.costs[0] = stream.costs[1]
            stream.stale = 0
        elif stream.costs[1] > leader.costs[1]:
            stream.restart(leader.best)
        else:
            order = stream.base.copy()
            shuffle(order, stream.state)
            stream.restart(order)


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
