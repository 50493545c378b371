"""Anytime: lists and network in turn, where the complete lists do not fit.

The search for sets was cut short at k parents; the network found in its lists says where larger
sets would pay. So, again and again:

1. *Grow around the network.* Enlarge the set of every variable, and that set without one parent,
   by every further parent (:class:`parentage.growth.growth.Growth`): all ways to add, drop or
   exchange a parent. The same around the networks at which the streams of 2 stand. Improve the
   order on the new lists; repeat until nothing is new.
2. *Search orders* on these lists: four streams, as in :mod:`parentage.optimise.orders`, which keep
   their orders while the lists grow. After every round the best of them gets what the others do
   better in some region of the network.
3. *Grow what is near.* If that brought nothing, enlarge the sets that are nearest in reduced cost:
   under the prices of the linear programme, once there are some. Before, those that beat the one
   in use but would close a cycle come first, then those just below it.
4. *Solve the lists* (:mod:`parentage.growth.solving`) when the score has not risen for a while.
   While that proves its network, the order search has nothing to find, and 1, 3 and 4 alternate.

It ends when effort or time are spent, or at a fixed point: the network is proven for the lists, and
expanding them for as long again brought nothing that the linear programme would take.

**Work, not time.** Sets counted, sets looked at and steps of the solver are converted into nominal
seconds by fixed rates, and all decisions depend on those: the same budget gives the same lists and
the same network on every machine and with any number of threads. The clock only ends the work.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parentage.growth.growth import Growth, worth_sending
from parentage.growth.solving import EXACT, UNSOLVED, ListSolver, Solved
from parentage.growth.tuning import PER_LOOK, PER_SET_LAID, TUNING
from parentage.network.network import Network
from parentage.optimise import tuning as orders_tuning
from parentage.optimise.orders import Stream, best_of, budget_of, climb_order, renew, respecting
from parentage.optimise.problem import OrderSpace, memory_of_sets, n_words, offsets_of
from parentage.optimise.run import STEPS
from parentage.optimise.settings import Optimising
from parentage.work.checkpoint import SavedState
from parentage.work.executor import ExecutorPool
from parentage.work.memory import memory_limit, room_within
from parentage.work.progress import Progress
from parentage.work.stop import now

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Executor

    from parentage.arrays import Floats, Ints
    from parentage.growth.score import Family
    from parentage.optimise.cuts import Cut
    from parentage.optimise.solution import TracePoint
    from parentage.scoring.candidates import Searched
    from parentage.work.checkpoint import Slot
    from parentage.work.context import Context
    from parentage.work.executor import Workers

PHASE = "growing"


class Expanded(NamedTuple):
    """The network that expanding the lists has found."""

    network: Network
    """The best one made of these lists, as far as it is known."""
    trace: tuple[TracePoint, ...]
    """How its score rose."""
    cuts: Sequence[Cut]
    """Those of the last time that the lists were solved."""
    steps: Sequence[Mapping[int, float]]
    """Their multipliers in the rounds that removed sets, by index."""
    work: float
    """Nominal seconds of one core."""
    seconds: float
    """Wall time."""


def grow_lists(
    searched: Searched,
    effort: float,
    context: Context,
    *,
    optimising: Optimising | None = None,
    start: Network | None = None,
    first: Network | None = None,
) -> tuple[Searched, Expanded]:
    """Grow what a search found until the effort is spent, the stop says so, or nothing is gained.

    Workers elsewhere, if there are any, count sweeps where that takes long. With a checkpoint the
    work continues from the last whole round. The families of the network ``start`` that are allowed
    are listed before anything grows, so that no network is returned that is worse. ``first`` is
    one that was found on the way, and is begun from instead.
    """
    settings, began = optimising or Optimising(), now()
    slot = growth_slot(context, settings.seed, start)
    start = first or start
    table, encoded = searched.prepared.table, searched.plans[0].encoded
    stop, workers = context.stop, context.workers
    room = room_within(stop.memory)
    memory = None if room is None else int(TUNING.sweep_share * max(0, room))
    order = [int(v) for v in encoded.order]
    at = {table.names[v]: i for i, v in enumerate(order)}
    starts = [] if start is None else [[at[name] for name in start.order if name in at]]
    widest = 0 if start is None else max(map(len, start.parents))
    with ThreadPoolExecutor(context.threads) as pool:
        counting: Workers = ExecutorPool(pool)
        if workers is not None and worth_sending(encoded):
            counting = workers
        saved = None if slot is None else slot.state
        memory = memory_of_sweeps(saved, stop.memory, memory)
        growth = Growth(searched, workers=counting, memory=memory, widest=widest)
        resumed = False
        if slot is not None and saved is not None:
            with slot.reading():
                order_then = saved.arrays["order"].tolist()
                if sorted(order_then) == list(range(growth.n)):
                    starts = [order_then, *starts]
                resumed = growth.from_state(saved)
        if start is not None and not resumed:  # otherwise they are listed already
            growth.take(families_of(start, at, growth.score.required))
        solver = None
        if settings.engine in EXACT:
            solver = ListSolver(searched, growth, settings, context)
        anytime = Anytime(growth, context, pool, seed=settings.seed, starts=starts, solver=solver)
        if slot is not None:
            if saved is not None and resumed:
                with slot.reading():
                    anytime.resume(saved)
            anytime.save_into(slot, {"limit": stop.memory, "memory": memory})
        try:
            anytime.run(effort)
        finally:
            anytime.save()
    parents: list[tuple[int, ...]] = [()] * table.n_variables
    for i in anytime.choice.tolist():
        child, members = growth.family(i)
        members += growth.score.required[child]
        parents[order[child]] = tuple(sorted(order[p] for p in members))
    unit = searched.prepared.unit
    trace = tuple((seconds, score / unit, bound) for seconds, score, bound in anytime.trace)
    network = Network(table.names, tuple(parents))
    cuts, steps = anytime.solved.rounds()
    expanded = Expanded(network, trace, cuts, steps, anytime.work, now() - began)
    return replace(searched, outcomes=growth.result()), expanded


def families_of(
    network: Network, at: Mapping[str, int], required: Sequence[Sequence[int]]
) -> list[Family]:
    """Return the families of a network that have their required parents, as encoded variables.

    Columns that do not vary are not among those: as parents they change no score for the better.
    """
    found: list[Family] = []
    for name, parents in network.to_dict().items():
        if name in at:
            members, always = {at[p] for p in parents if p in at}, set(required[at[name]])
            if always <= members:
                found.append((at[name], tuple(sorted(members - always))))
    return found


def growth_slot(context: Context, seed: int, start: Network | None) -> Slot | None:
    """Return where growth is saved; None without a checkpoint."""
    if context.checkpoint is None:
        return None
    arcs = None if start is None else [list(arc) for arc in start.arcs]
    context.checkpoint.claim({"seed": seed, "start": arcs})
    return context.checkpoint.slot("growth")


def memory_of_sweeps(saved: SavedState | None, limit: int | None, memory: int | None) -> int | None:
    """Return what vectors of sweeps may take: as much as before, under the same limit.

    What a limit leaves for them differs between two runs, and how many are held changes the work.
    """
    if saved is not None and saved.values.get("limit") == limit:
        return saved.values.get("memory")
    return memory


class Anytime:
    """The state of the work: lists that grow, orders, and the best network so far.

    What is saved is always the end of a whole round, which neither the effort nor a clock has cut
    short. So a resumed run does what it would have done without a break: with the same effort it
    ends with the same lists, the same network and the same work, with more effort as if that had
    been given at once. When the search has come further since, the families are not those it would
    have grown, and the order alone is used.
    """

    def __init__(
        self,
        growth: Growth,
        context: Context,
        pool: Executor,
        *,
        seed: int = 0,
        starts: Sequence[Sequence[int]] = (),
        solver: ListSolver | None = None,
    ) -> None:
        self.growth, self.stop, self.report = growth, context.stop, context.report
        self._solver = solver
        self.solved = UNSOLVED  # the last time
        self._proven = 0  # number of families when a network of them was proven best
        self._solving_work = 0.0  # of all times
        self._changed_at = 0.0  # the work when the score or the prices last changed
        self._quiet_since = 0.0  # the work when that happened or the lists were last solved
        self._pause = 0.0  # the work without a rise that lists wait for until they are solved again
        self._pool = pool
        self._slot: Slot | None = None
        self._facts: Mapping[str, int | None] = {}
        self._noted: Callable[[], SavedState] | None = None
        self._began = now()
        self._looked = self._idle = 0
        self._whole = True  # whether neither effort nor stop has cut a round short
        self._most = memory_limit(self.stop.memory)
        self._round_took = 0.0  # of wall time, by which another may be too much
        self._laid = 0
        self.trace: list[TracePoint] = []
        self._closed = np.zeros(0, np.bool_)  # [family]: whether it was enlarged, being near
        self._ranking = Ranking(growth)
        self.space = self._ranking.space()
        start = min(starts, key=self._cost_of, default=None)
        self._streams = first_streams(growth.n, seed, start, growth.score.required)
        self.choice: Ints = np.empty(0, np.int64)
        self.order: Ints = self._streams[0].orders.base.copy()
        self.cost = math.inf

    def _cost_of(self, order: Sequence[int]) -> float:
        """Return what an order costs that the search may begin from."""
        first = np.array(respecting(order, self.growth.score.required), np.int64)
        choice = self.space.choice(first)
        return math.inf if choice is None else -math.fsum(self.growth.nats(choice).tolist())

    def resume(self, saved: SavedState) -> None:
        """Continue where an earlier run was, with the lists it had."""
        at = saved.arrays
        last, gap, *solving = at["solving"].tolist()
        self._solving_work, self._changed_at, self._quiet_since, self._pause = solving
        for k, stream in enumerate(self._streams):
            stream.take(at["orders"][k], at["work"][k])
            stream.state[:], stream.stale = at["random"][k], int(at["stale"][k])
        self.order, self._closed = at["order"], at["closed"]
        self._looked, self._laid, self._idle, self._proven = at["counts"].tolist()
        cuts, steps = tuple(saved.values["cuts"]), {name: at[name] for name in STEPS}
        self.solved = Solved(self.order, self._is_exact, gap, at["rise"], cuts, steps, last)
        self._fit()
        self._tell()

    def save_into(self, slot: Slot, facts: Mapping[str, int | None]) -> None:
        """Save whole rounds in a slot from now on, with some facts."""
        self._slot, self._facts = slot, facts

    def _end_round(self) -> None:
        """Note a whole round, and save it if a write is due."""
        if self._slot is None or not self._whole:
            return
        self._noted = self._to_state()
        if self._slot.due():
            self.save()

    def save(self) -> None:
        """Save the last round that was noted, if it is not saved yet."""
        if self._slot is not None and self._noted is not None and self._slot.write(self._noted):
            self._noted = None

    def _to_state(self) -> Callable[[], SavedState]:
        """Return what makes the state of this moment later: all that decides what comes next."""
        streams, grown = self._streams, self.growth.to_state()
        values = {**self._facts, "cuts": list(self.solved.cuts)}
        solving = (self._solving_work, self._changed_at, self._quiet_since, self._pause)
        arrays = {
            "orders": np.stack([stream.orders for stream in streams]),
            "work": np.array([stream.work for stream in streams]),
            "random": np.stack([stream.state for stream in streams]),
            "stale": np.array([stream.stale for stream in streams]),
            "order": self.order.copy(),
            "closed": self._closed.copy(),
            "rise": self.solved.rise,
            **self.solved.steps,
            "counts": np.array([self._looked, self._laid, self._idle, self._proven]),
            "solving": np.array([self.solved.work, self.solved.gap, *solving]),
        }

        def made() -> SavedState:
            families = grown()
            return SavedState({**families.values, **values}, {**families.arrays, **arrays})

        return made

    @property
    def work(self) -> float:
        """Nominal seconds of one core so far."""
        laid = PER_SET_LAID * self._laid
        return self.growth.work + self.orders_work + laid + self._solving_work

    @property
    def orders_work(self) -> float:
        """Nominal seconds of one core that the order search took."""
        return PER_LOOK * self._looked

    def run(self, effort: float) -> None:
        """Work until the effort is spent, the stop says so, or nothing is left to try."""
        if self.cost == math.inf:
            self._climb()
        self._end_round()
        while self._is_affordable(effort) and self._may_go_on() and not self._is_settled():
            grew, gained = self._grow_around(), False
            if not self._is_exact and self._may_search(effort):
                gained = self._round()
            if not gained:
                grew += self._grow_near()
                gained = self._solve(effort)
            self._idle = 0 if gained or grew else self._idle + 1
            self._end_round()

    def _is_affordable(self, effort: float) -> bool:
        """Whether effort is left for expanding the lists.

        Lists that are proven are not expanded without effort for another proof, and no further if
        that was not begun.
        """
        after = self.work
        if self._is_exact:
            after += self.solved.work if self._proven == self.growth.n_sets else math.inf
        return self._is(after < effort)

    @property
    def _is_exact(self) -> bool:
        """Whether the lists were proven the last time that they were solved.

        Then an order search has nothing to find in them, and to solve them again takes little.
        """
        return self._proven > 0

    def _is_settled(self) -> bool:
        """Whether nothing more is to be expected.

        That is so when nothing is left to expand, or when the network is proven for the lists and
        as much work as all before has brought nothing that the linear programme would take.
        """
        if self._proven == self.growth.n_sets:
            return self._idle > 0 or self.work >= 2 * self._changed_at
        return self._idle >= TUNING.patience

    def _solve(self, effort: float) -> bool:
        """Solve the lists if the score has not risen for a while.

        That may take as much work as was done since the score last rose, or a share of all work
        (:attr:`~.tuning.Tuning.least_share`) if that is more, and as much again as long as that
        halves the gap.

        Return whether that gained, or proved lists for the first time: then there are new prices.
        While the order search still gains, that is cheaper. So what was not proven is tried again
        when nothing was gained for as long as the last time took, or a part of it
        (:attr:`~.tuning.Tuning.soon`) if the gap is closing.
        Lists that were proven and have grown a little get a few times the work of the last proof.
        """
        solver, work, last = self._solver, self.work, self.solved.work
        waits = work < self._quiet_since + self._pause
        if solver is None or waits or self._proven == self.growth.n_sets:
            return False
        if self._is_exact:
            most, needed = min(work, TUNING.proof_again * last), last
        else:
            most = needed = max(work - self._changed_at, TUNING.least_share * work)
        if not self._is(work + needed <= effort):
            return False
        open_gap = TUNING.closing * self.solved.gap
        found = solver.solve(self.order, self.solved, effort - work, most, open_gap)
        self._is(not self.stop.is_over() and (found.proven or found.work < effort - work))
        was_exact = self._is_exact
        self._proven = self.growth.n_sets if found.proven else 0
        self.solved = found
        self._solving_work += found.work
        gained = self._take(found.order)
        if gained:
            self._streams[0].move(self.order, self.space)
        if found.proven and not was_exact:
            gained, self._changed_at = True, self.work
        self._quiet_since = self.work
        share = TUNING.soon if found.gap < open_gap else 1.0
        self._pause = 0.0 if found.proven else share * found.work
        return gained

    def _is(self, going_on: bool) -> bool:
        """Remember when a round is cut short; otherwise it depends on what was found alone."""
        self._whole &= going_on
        return going_on

    def _may_go_on(self) -> bool:
        """Whether there is time, and memory for solving what has been found by now."""
        growth = self.growth
        ending = TUNING.seconds_to_list * growth.n_sets
        if not self._is(not self.stop.is_over() and self.stop.seconds_left > ending):
            return False
        needed = memory_of_sets(growth.n, growth.n_sets, int(growth.sizes.sum()))
        room = room_within(self._most, needed)
        return self._is(room is None or room > 0)

    def _may_search(self, effort: float) -> bool:
        """Whether effort and time are left for a round of the order search."""
        in_time = not self.stop.is_over() and self._round_took <= self.stop.seconds_left
        return self._is(self.work < effort and in_time)

    def score(self) -> float:
        """Score of the network, in nats."""
        return math.fsum(self.growth.nats(self.choice).tolist())

    def _grow_around(self) -> int:
        """Grow around the network, and improve it, until nothing is new."""
        grew = 0
        while self._may_go_on():
            new = self._enlarge(self._neighbours())
            grew += new
            if not new:
                return grew
            self._lay_out()
            if not self._climb():
                return grew
        return grew

    def _grow_near(self) -> int:
        """Grow what is near until the lists have had their share of the work."""
        grew = 0
        work, sets = self.work + self.solved.work, (1 + TUNING.step) * self.growth.n_sets
        while self._is_due(work, sets) and self._may_go_on():
            near = self._near(self.growth.n)
            if not near:
                break
            grew += self._enlarge(near)
        if grew:
            self._lay_out()
        return grew

    def _is_due(self, work: float, sets: float) -> bool:
        """Whether the lists have not had their share of the work, which the search takes else.

        Lists that are proven are expanded for as long as solving them took, or by a small part, so
        that the prices still tell what to expand, and the next proof is as short as the last.
        """
        if self._is_exact:
            return self.work < work and self.growth.n_sets < sets
        without = self.work - self._solving_work
        return self.orders_work > TUNING.order_share * without

    def _enlarge(self, families: list[Family]) -> int:
        """Enlarge families, as many as there is time for; return how many sets were found."""
        found = self.growth.enlarge(families, self.stop)
        self._is(not self.stop.is_over())
        return found

    def _lay_out(self) -> None:
        """Let the order search see what is new in the lists."""
        self.space = self._ranking.space()
        self._laid += self.growth.n_sets
        list(self._pool.map(lambda stream: stream.price(self.space), self._streams))
        cost = self.cost
        self._fit()
        self._note_rise(cost)

    def _neighbours(self) -> list[Family]:
        """The sets in use, and those with one parent less.

        In use are those of the best network and, while lists are not proven, of the networks at
        which the streams stand.
        """
        streams = [] if self._is_exact else [s for s in self._streams if not s.climbing]
        standing = [self.space.choice(stream.orders.base) for stream in streams]
        found: dict[Family, None] = {}
        for i in np.unique([self.choice, *(c for c in standing if c is not None)]).tolist():
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
        ahead = self._ahead()
        waiting = np.flatnonzero(~closed & (ahead > -math.inf))
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
                elif of_child[child[i]] < TUNING.near_per_child and len(found) < count:
                    of_child[child[i]] += 1
                    closed[i] = True
                    found.append(i)
            if len(some) == len(waiting):
                break
            waiting = waiting[~closed[waiting] & (of_child[child[waiting]] < TUNING.near_per_child)]
        return [growth.family(i) for i in found]

    def _ahead(self) -> Floats:
        """``[family]``: how near it is, the more the nearer.

        That is its reduced cost where the lists were solved. Of families that are new, or before,
        it is how far they are ahead of the one in use.
        """
        rise = self.solved.rise
        ahead = self.growth.ahead_of(self.choice)
        ahead[: len(rise)] = -rise
        return ahead

    def _climb(self) -> bool:
        """Climb from the best order; whether that found a better network."""
        order, first = self.order.copy(), self._streams[0]
        looked, ended = climb_order(self.space, order, first.state, self.stop.is_over, anyway=True)
        self._is(ended)
        self._looked += looked
        first.move(order, self.space)
        return self._take(order)

    def _round(self) -> bool:
        """Let every stream search for one budget; whether that found a better network."""
        budget, began = budget_of(self.growth.n, self.growth.n_sets), now()
        over = self.stop.is_over
        whole = self._pool.map(lambda one: one.advance(self.space, budget, over), self._streams)
        self._is(all(list(whole)))
        self._looked += sum(int(stream.work.looked) for stream in self._streams)
        leader = best_of(self._streams, self.space)
        gained = self._take(leader.best)
        self._round_took = now() - began
        renew(self._streams, leader)
        return gained

    def _take(self, order: Ints) -> bool:
        """Take an order if its network is better."""
        if self.space.choice(order) is None:  # a required parent stands behind its child
            return False
        old, self.order = self.order, order.copy()
        cost = self.cost
        self._fit()
        if self._note_rise(cost):
            return True
        self.order = old
        self._fit()
        return False

    def _note_rise(self, cost: float) -> bool:
        """Note and report that the network costs less than before, if it does."""
        if not self.cost < cost - 1e-9:
            return False
        self._changed_at = self._quiet_since = self.work
        self._tell()
        return True

    def _fit(self) -> None:
        """Work out the network of the order under the lists as they are."""
        choice = self.space.choice(self.order)
        if choice is None:
            raise AssertionError(
                "internal error, please report it: the best order leaves a variable without a "
                "parent set"
            )
        self.choice = choice
        self.cost = -self.score()

    def _tell(self) -> None:
        seconds = now() - self._began
        self.trace.append((seconds, -self.cost, math.inf))
        if self.report is not None:
            self.report(
                Progress(
                    "learning", PHASE, seconds, sets_counted=self.growth.sets_counted,
                    incumbent=-self.cost / self.growth.unit,
                )
            )  # fmt: skip


def first_streams(
    n: int, seed: int, start: Sequence[int] | None, required: Sequence[Sequence[int]]
) -> list[Stream]:
    """Streams of the order search: the first from ``start``, the others at random.

    The first has required parents in front of their children, so that there is a network at once.
    """
    streams = []
    for k, slack in enumerate(orders_tuning.TUNING.slacks):
        rng = np.random.default_rng(np.random.SeedSequence([seed, n, k]))
        order = rng.permutation(n)
        if k == 0:
            first = order.tolist() if start is None else start
            order = np.array(respecting(first, required), np.int64)
        streams.append(Stream.at(order, slack, rng.integers(1 << 63, size=1, dtype=np.uint64)))
    return streams


class Ranking:
    """The families as an order search needs them: by child and rising cost, kept up to date.

    What is new is sorted and merged in, so that lists of a million sets follow in hundredths of a
    second.
    """

    def __init__(self, growth: Growth) -> None:
        self.growth = growth
        self._rows = np.empty(0, np.int64)
        self._offsets = np.zeros(growth.n + 1, np.int64)
        self._reach = np.zeros((growth.n, n_words(growth.n)), np.uint64)

    def space(self) -> OrderSpace:
        """Return all families there are now."""
        from parentage.kernels.growth import lay_out

        growth, known = self.growth, len(self._rows)
        child, size = growth.children[known:], growth.sizes[known:]
        new = known + np.lexsort((size, -growth.scores[known:], child))
        new_offsets = offsets_of(np.bincount(child, minlength=growth.n))
        width = max(1, int(growth.sizes.max(initial=0)))
        rows = np.empty(growth.n_sets, np.int64)
        sets, cost = np.empty((growth.n_sets, width), np.uint16), np.empty(growth.n_sets)
        lay_out(
            self._rows, self._offsets, new, new_offsets, growth.store,
            growth.score.scale, TUNING.cost_per_parent, (rows, sets, cost, self._reach),
        )  # fmt: skip
        self._rows, self._offsets = rows, self._offsets + new_offsets
        arrays = self._offsets, sets, cost, self._reach, rows
        if any(growth.score.required):
            return OrderSpace.requiring(*arrays, growth.score.required)
        return OrderSpace(*arrays)
