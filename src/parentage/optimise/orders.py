"""Engine 2, orders: an anytime search over orders of the variables of a part.

An order fixes the best network that respects it, so the search moves through orders only:
insertions to a local optimum, regions of the network solved exactly, disturbance (arcs turned
around, random insertions, exchanged blocks), restarts (Scanagatta et al. 2017 and Lee and van Beek
2017 search in the same space). It proves nothing by itself, except when it meets the bound that is
there from the start.

Four streams of random numbers search side by side and meet after every round
(:mod:`parentage.optimise.streams`).
"""

from __future__ import annotations

from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from parentage.network.network import topological_order
from parentage.optimise.problem import feasible_order
from parentage.optimise.streams import CLIMB, SLACKS, Stream, best_of, budget_of, renew

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from parentage.optimise.problem import Floats, Ints, Problem, Words
    from parentage.optimise.run import Part

PHASE = "orders"


@dataclass(frozen=True, eq=False)
class OrderSpace:
    """A problem in which every order is possible: children without an empty set get one.

    Its price, the ``penalty``, is above that of any network, so the search leaves it behind.
    ``real[m]`` gives the set of the problem, −1 for such an empty set. The arrays are those of
    :mod:`parentage.kernels.orders`.
    """

    offsets: Ints
    sets: npt.NDArray[np.uint16]
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
        return cls(
            offsets,
            np.insert(problem.numbers, at, problem.n, axis=0),
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

    @property
    def arrays(self) -> tuple[Ints, npt.NDArray[np.uint16], Floats, Words]:
        """What kernels that climb take: offsets, sets, cost and reach."""
        return self.offsets, self.sets, self.cost, self.reach

    def choice(self, order: Ints) -> Ints | None:
        """Return the sets an order leads to; None if some variable has none."""
        found = self.real[self.fit(order)]
        return None if (found < 0).any() else found

    def fit(self, order: Ints) -> Ints:
        """Return the set that every variable has under an order, as an index into ``sets``."""
        from parentage.kernels.orders import new_work, refit

        fit = np.empty(len(order), np.int64)
        refit(order, fit, 0, len(order), self.offsets, self.sets, new_work())
        return fit


def first_incumbent(part: Part) -> None:
    """Give a part its first network: any feasible order, climbed to a local optimum."""
    problem = part.problem
    if problem.n == 1:  # with no parent inside, its cheapest set is its only one
        part.offer(np.zeros(1, np.int64), PHASE)
        return
    order, placed = feasible_order(problem)
    if placed < problem.n:
        raise AssertionError("a part without an acyclic choice reached the search")
    climb_from(part, OrderSpace.of(problem), order, anyway=True)


def climb_from(
    part: Part, space: OrderSpace, order: Ints, *, anyway: bool = False, regions: bool = True
) -> bool:
    """Climb from an order to a local optimum and offer it; whether it was an improvement.

    A stopped run gets what the climb has reached by then, which is nothing unless it has to climb
    for a moment ``anyway``. With ``regions`` it is improved region by region, too.
    """
    state = np.array([part.run.seed % (1 << 64)], np.uint64)
    climb(space, order, state, part.stopped, anyway=anyway, regions=regions)
    choice = space.choice(order)
    return choice is not None and part.offer(choice, PHASE)


def climb(
    space: OrderSpace,
    order: Ints,
    state: Words,
    stopped: Callable[[], bool],
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
        settle_order(order, fit, waiting, space.offsets, space.sets, space.cost, state, work)
    return int(work.looked), ended and not waiting.any()


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
        leader = best_of(self._streams, self._space)
        choice = self._space.choice(leader.best)
        gained = choice is not None and self.part.offer(choice, PHASE)
        self.idle = 0 if gained else self.idle + 1
        self.part.effort.rounds += 1
        renew(self._streams, leader)
        self.part.tick(PHASE)

    def _advance(self, stream: Stream) -> None:
        problem = self.part.problem
        stream.advance(self._space, budget_of(problem.n, problem.m), self.part.run.stop.is_over)


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
    return order_of_choice(part.problem, part.choice)


def order_of_choice(problem: Problem, choice: Ints) -> Ints:
    """Return an order of the variables that a choice of sets respects."""
    starts, parents = problem.members
    chosen = [parents[starts[i] : starts[i + 1]].tolist() for i in choice]
    names = [str(v) for v in problem.variables]
    return np.array(topological_order(names, chosen), np.int64)


def _streams(part: Part) -> list[Stream]:
    """Start the streams: the first from the incumbent, the others at random."""
    streams = []
    for k, slack in enumerate(SLACKS):
        seed = np.random.SeedSequence([part.run.seed, int(part.problem.variables[0]), k])
        rng = np.random.default_rng(seed)
        order = incumbent_order(part) if k == 0 else rng.permutation(part.problem.n)
        streams.append(Stream.at(order, slack, rng.integers(1 << 63, size=1, dtype=np.uint64)))
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
