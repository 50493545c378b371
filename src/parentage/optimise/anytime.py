"""Anytime: lists and network in turn, where the complete lists do not fit.

The search for sets was cut short at k parents; the network found in its lists says where larger
sets would pay. So, again and again:

1. *Grow around the network.* Enlarge the set of every variable, and that set without one parent,
   by every further parent (:class:`parentage.scoring.growth.Growth`): all ways to add, drop or
   exchange a parent. Improve the order on the new lists; repeat until nothing is new.
2. *Search orders* on these lists: four streams, as in :mod:`parentage.optimise.orders`, which keep
   their orders while the lists grow.
3. *Grow what is near.* If that brought nothing, enlarge the sets that are nearest in reduced cost:
   those that beat the one in use but would close a cycle come first, then those just below it.

**Work, not time.** Sets counted and sets looked at are converted into nominal seconds by fixed
rates, and all decisions depend on those: the same budget gives the same lists and the same network
on every machine and with any number of threads. The clock only ends the work.
"""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from parentage.network.network import Network
from parentage.optimise.orders import SLACKS, OrderSpace, Stream, budget_of, renew
from parentage.scoring.growth import Growth
from parentage.work.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Executor

    from parentage.optimise.growth_keeping import GrowthKeeper
    from parentage.optimise.problem import Ints
    from parentage.optimise.solution import TracePoint
    from parentage.scoring.candidates import Searched
    from parentage.scoring.growth import Family
    from parentage.scoring.steps import Outcome
    from parentage.work.progress import Report
    from parentage.work.stop import Stop

PHASE = "growing"

SECONDS_PER_LOOK = 5e-9
"""Nominal time of looking at one set while fitting."""

SHARE_OF_ORDERS = 0.5
"""Of the nominal seconds, as long as the order search finds something."""

SHARE_OF_STEMS = 4
"""Vectors of stems may take one part in so many of the memory."""

NEAR_PER_CHILD = 4
"""Sets of one child that are enlarged at a time because they are near."""

STALE = 6
"""Rounds without a gain after which a stream starts elsewhere: the lists change soon anyway."""

PATIENCE = 20
"""Rounds of orders without a gain, with nothing left to grow, after which the work ends."""


def grow_lists(
    searched: Searched,
    effort: float,
    stop: Stop,
    *,
    threads: int = 1,
    seed: int = 0,
    start: Network | None = None,
    report: Report | None = None,
    keeper: GrowthKeeper | None = None,
) -> tuple[Outcome, Network, tuple[TracePoint, ...]]:
    """Grow what a search found until the effort is spent or the stop says so.

    Returns the families, the best network made of them, and how its score rose. A ``keeper`` keeps
    them in a folder, and goes on from there.
    """
    table, (plan,), (outcome,) = searched.prepared.table, searched.prepared.plans, searched.outcomes
    memory = None if stop.memory is None else stop.memory // SHARE_OF_STEMS
    growth = Growth(plan, outcome, threads=threads, memory=memory)
    order = [int(v) for v in plan.encoded.order]
    first = None
    if start is not None:
        at = {table.names[v]: i for i, v in enumerate(order)}
        first = [at[name] for name in start.order if name in at]
    looked = 0
    if keeper is not None and keeper.known is not None:
        looked = keeper.looked if growth.restore(keeper.known) else 0
        first = keeper.order_for(growth.n) or first
    anytime = Anytime(growth, stop, threads=threads, seed=seed, start=first, report=report)
    anytime.go_on_from(looked, keeper)
    anytime.run(effort)
    anytime.keep()
    parents: list[tuple[int, ...]] = [()] * table.n_variables
    for i in anytime.choice.tolist():
        child, members = growth.family(i)
        parents[order[child]] = tuple(sorted(order[p] for p in members))
    unit = searched.prepared.unit
    trace = tuple((seconds, score / unit, bound) for seconds, score, bound in anytime.trace)
    return growth.result(), Network(table.names, tuple(parents)), trace


class Anytime:
    """The state of the work: lists that grow, orders, and the best network so far."""

    def __init__(
        self,
        growth: Growth,
        stop: Stop,
        *,
        threads: int = 1,
        seed: int = 0,
        start: Sequence[int] | None = None,
        report: Report | None = None,
    ) -> None:
        self.growth, self.stop, self.report = growth, stop, report
        self.threads = threads
        self._began = time.monotonic()
        self._looked = 0
        self._keeper: GrowthKeeper | None = None
        self.trace: list[TracePoint] = []
        self._closed = np.zeros(0, np.bool_)
        self._streams = first_streams(growth.n, seed, start)
        self.space = space_of(growth)
        self.choice: Ints = np.empty(0, np.int64)
        self.order: Ints = self._streams[0].base.copy()
        self.cost = math.inf

    def go_on_from(self, looked: int, keeper: GrowthKeeper | None) -> None:
        """Count the work of an earlier run, and keep this one."""
        self._looked, self._keeper = looked, keeper

    def keep(self) -> None:
        """Keep what is known, at the end."""
        if self._keeper is not None:
            self._keeper.write(self.growth, self.order, self._looked)

    @property
    def work(self) -> float:
        """Nominal seconds of one core so far."""
        return self.growth.work + self.orders_work

    @property
    def orders_work(self) -> float:
        """Nominal seconds of one core that the order search took."""
        return SECONDS_PER_LOOK * self._looked

    def run(self, effort: float) -> None:
        """Work until the effort is spent, the stop says so, or nothing is left to try."""
        with ThreadPoolExecutor(self.threads) as pool:
            self._climb()
            idle = 0
            while self.work < effort and self.stop.reason() is None and idle < PATIENCE:
                grew = self._grow_around()
                gained = False
                if self.work < effort and self.stop.reason() is None:
                    gained = self._round(pool)
                if not gained:
                    grew += self._grow_near()
                if self._keeper is not None:
                    self._keeper.tick(self.growth, self.order, self._looked)
                idle = 0 if gained or grew else idle + 1

    def score(self) -> float:
        """Score of the network, in nats."""
        grid = self.growth.plan.encoded.grid  # many of them would not fit into 64 bits
        return math.fsum(grid.to_float(self.growth.scores[self.choice]).tolist())

    def _grow_around(self) -> int:
        """Grow around the network, and improve it, until nothing is new."""
        grew = 0
        while self.stop.reason() is None:
            new = self._grow(self._neighbours())
            grew += new
            if not new or not self._climb():
                return grew
        return grew

    def _grow_near(self) -> int:
        """Grow what is near until the lists have had their share of the work."""
        grew = 0
        while self.orders_work > SHARE_OF_ORDERS * self.work and self.stop.reason() is None:
            near = self._near(self.growth.n)
            if not near:
                break
            grew += self._grow(near)
        return grew

    def _grow(self, families: list[Family]) -> int:
        new = self.growth.enlarge(families, self.stop)
        if new:
            self.space = space_of(self.growth)
            for stream in self._streams:
                stream.price(self.space)
            self._fit()
        return new

    def _neighbours(self) -> list[Family]:
        """The sets in use, and those with one parent less."""
        found: dict[Family, None] = {}
        for i in self.choice.tolist():
            child, parents = self.growth.family(i)
            found[child, parents] = None
            for j in range(len(parents)):
                found[child, parents[:j] + parents[j + 1 :]] = None
        return [family for family in found if self.growth.is_open(family)]

    def _near(self, count: int) -> list[Family]:
        """The sets nearest in reduced cost that were not enlarged yet, a few of each child."""
        growth = self.growth
        closed = np.zeros(growth.n_sets, np.bool_)
        closed[: len(self._closed)] = self._closed
        self._closed = closed
        child = growth.children
        used = np.empty(growth.n, np.int64)
        used[child[self.choice]] = growth.scores[self.choice]
        ahead = growth.scores - used[child]
        waiting = np.flatnonzero(~closed)
        found: list[int] = []
        of_child = np.zeros(growth.n, np.int64)
        while len(waiting) and len(found) < count:
            some = waiting
            if len(waiting) > 8 * count:
                some = waiting[np.argpartition(-ahead[waiting], 8 * count)[: 8 * count]]
            some = some[np.lexsort((some, -ahead[some]))]
            is_open = set(growth.open_among(some).tolist())
            for i in some.tolist():
                if i not in is_open:
                    closed[i] = True
                elif of_child[child[i]] < NEAR_PER_CHILD and len(found) < count:
                    of_child[child[i]] += 1
                    closed[i] = True
                    found.append(i)
            left = waiting[~closed[waiting]]
            if len(left) == len(waiting) or len(some) == len(waiting):
                break
            waiting = left
        return [growth.family(i) for i in found]

    def _climb(self) -> bool:
        """Climb from the best order; whether that found a better network."""
        from parentage.kernels.orders import improve, refit

        n, work = self.growth.n, np.zeros(4, np.int64)
        fit, order = np.empty(n, np.int64), self.order.copy()
        space, state = self.space, self._streams[0].state
        refit(order, fit, 0, n, space.offsets, space.sets, work)
        work[1] = 1 << 62
        improve(
            order, fit, np.arange(n), np.int64(0), space.offsets, space.sets, space.cost,
            space.reach, state, work,
        )  # fmt: skip
        self._looked += int(work[0])
        self._streams[0].move(order, space)
        return self._take(order)

    def _round(self, pool: Executor) -> bool:
        """Let every stream search for one budget; whether that found a better network."""
        budget = budget_of(self.growth.n, self.growth.n_sets)
        list(pool.map(lambda stream: stream.advance(self.space, budget), self._streams))
        self._looked += sum(int(stream.work[0]) for stream in self._streams)
        leader = min(self._streams, key=lambda stream: float(stream.costs[1]))
        gained = self._take(leader.best)
        renew(self._streams, leader, STALE)
        return gained

    def _take(self, order: Ints) -> bool:
        """Take an order if its network is better."""
        old, self.order = self.order, order.copy()
        cost = self.cost
        self._fit()
        if self.cost < cost - 1e-9:
            self._tell()
            return True
        self.order = old
        self._fit()
        return False

    def _fit(self) -> None:
        """Work out the network of the order under the lists as they are."""
        choice = self.space.choice(self.order)
        if choice is None:
            raise AssertionError("a child without an empty set")
        self.choice = choice
        self.cost = -self.score()

    def _tell(self) -> None:
        seconds = time.monotonic() - self._began
        self.trace.append((seconds, -self.cost, math.inf))
        if self.report is not None:
            self.report(
                Progress(
                    "learning", PHASE, seconds, sets_counted=self.growth.sets_counted,
                    incumbent=-self.cost,
                )
            )  # fmt: skip


def first_streams(n: int, seed: int, start: Sequence[int] | None) -> list[Stream]:
    """Streams of the order search: the first from ``start``, the others at random."""
    streams = []
    for k, slack in enumerate(SLACKS):
        rng = np.random.default_rng(np.random.SeedSequence([seed, n, k]))
        order = rng.permutation(n)
        if k == 0 and start is not None:
            order = np.array(start, np.int64)
        orders = np.stack([order, order, order, np.arange(n)])
        streams.append(Stream(orders, slack, rng.integers(1 << 63, size=1, dtype=np.uint64)))
    return streams


def space_of(growth: Growth) -> OrderSpace:
    """Return the families as an order search needs them: by child and rising cost."""
    n, child, size = growth.n, growth.children, growth.sizes
    score = growth.plan.encoded.grid.to_float(growth.scores)
    best = np.full(n, -np.inf)
    np.maximum.at(best, child, score)
    cost = best[child] - score + 1e-9 * size
    rows = np.lexsort((cost, child))
    width = max(1, int(size.max(initial=0)))
    sets = np.ascontiguousarray(growth.parents[rows, :width])
    offsets = np.concatenate([[0], np.cumsum(np.bincount(child, minlength=n))])
    reach = np.zeros((n, -(-n // 64)), np.uint64)
    inside = sets < n
    parent = sets[inside].astype(np.int64)
    owner = np.repeat(child[rows], width).reshape(sets.shape)[inside]
    np.bitwise_or.at(reach, (owner, parent >> 6), np.uint64(1) << (parent & 63).astype(np.uint64))
    return OrderSpace(offsets.astype(np.int64), sets, cost[rows], reach, rows.astype(np.int64))
