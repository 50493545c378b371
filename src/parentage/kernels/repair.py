"""The order search of large parts: disturb, then repair what the disturbance touched.

In a part of n variables a climb looks at n variables, each at n positions. After a few moves most
of that finds nothing new, so here only those variables are inserted anew whose set has changed, and
in turn those whose set changes by that, until none is left: a few dozen instead of n. Only the
first step of a round inserts all of them.

Searches that went different ways found different things, mostly far apart: :func:`combine` puts the
better of two networks together in every region (a partition crossover, Whitley et al. 2009, by
sets instead of tours).

Arrays are those of :mod:`parentage.kernels.orders`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from parentage.kernels._options import JIT, njit
from parentage.kernels.disturb import draw, exchange_blocks, shift
from parentage.kernels.fitting import Sets, uses
from parentage.kernels.orders import (
    LEAST_GAIN,
    WINDOW,
    best_insertion,
    improve,
    least_gain,
    overwrite,
    polish,
    refit,
    total_cost,
)
from parentage.kernels.regions import Numbers, order_of, settle

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]

CLIMBED = -1
"""Instead of the turns that brought nothing: climbing is over, regions are not settled yet."""


@njit(**JIT)
def repair(
    order: Ints,
    fit: Ints,
    before: Ints,
    marked: npt.NDArray[np.bool_],
    offsets: Ints,
    sets: Sets,
    cost: Floats,
    reach: Words,
    work: Ints,
) -> float:
    """Insert the variables that are ``marked[n]`` and all whose set changes; return the cost.

    ``before[n]`` are the sets the variables had before they were disturbed: who has another one
    now is marked, too.
    """
    n = order.shape[0]
    queue, first, count = np.empty(n, np.int64), 0, 0
    position = np.empty(n, np.int64)
    for j in range(n):
        v = order[j]
        position[v] = j
        if marked[v] or fit[v] != before[v]:
            marked[v] = True
            queue[count] = v
            count += 1
    now = total_cost(fit, cost)
    least = least_gain(now)
    old = np.empty(n, np.int64)
    while count > 0:
        x = queue[first]
        first = first + 1 if first + 1 < n else 0
        count -= 1
        marked[x] = False
        here = position[x]
        there, _ = best_insertion(x, here, least, order, fit, offsets, sets, cost, reach, work)
        if there == here:
            continue
        low, high = min(here, there), max(here, there) + 1
        for j in range(low, high):
            old[order[j]] = fit[order[j]]
        shift(order, here, there)
        refit(order, fit, low, high, offsets, sets, work)
        after = total_cost(fit, cost)
        if not after < now:  # the gain was rounding
            shift(order, there, here)
            refit(order, fit, low, high, offsets, sets, work)
            continue
        now = after
        for j in range(low, high):
            v = order[j]
            position[v] = j
            if (v == x or fit[v] != old[v]) and not marked[v]:
                marked[v] = True
                queue[(first + count) % n] = v
                count += 1
    return float(now)


@njit(**JIT)
def some_parent(x: int, here: int, order: Ints, fit: Ints, sets: Sets, state: Words) -> int:
    """Return the position of a parent of ``x``, which stands at ``here``; ``here`` if it has none.

    The search begins at a random place in front of it, so any parent may be met.
    """
    if here == 0:
        return here
    first = draw(state, here)
    for k in range(here):
        j = first - k if k <= first else first - k + here
        if uses(sets, fit[x], order[j]):
            return int(j)
    return here


@njit(**JIT)
def move_some(
    order: Ints,
    fit: Ints,
    marked: npt.NDArray[np.bool_],
    moves: int,
    sets: Sets,
    state: Words,
) -> None:
    """Disturb an order: turn arcs around, move variables anywhere, or exchange blocks.

    To turn the arc from p to x around, x is put in front of p. Says who was moved.
    """
    n = order.shape[0]
    kind = draw(state, 4)
    if kind == 0:
        exchange_blocks(order, state)
        return
    for _ in range(moves):
        source = draw(state, n)
        x = order[source]
        target = draw(state, n)
        if kind > 1:
            target = some_parent(x, source, order, fit, sets, state)
            marked[order[target]] = True
        marked[x] = True
        shift(order, source, target)


@njit(**JIT)
def search_large(
    orders: Ints,
    costs: Floats,
    work: Ints,
    budget: int,
    strength: int,
    slack: float,
    marked: npt.NDArray[np.bool_],
    offsets: Ints,
    sets: Numbers,
    cost: Floats,
    reach: Words,
    state: Words,
) -> None:
    """Do what :func:`parentage.kernels.orders.search` does, repairing instead of climbing.

    A stream whose cost is not known yet climbs first, then it is settled region by region. Ends
    when ``budget`` is worked off, and pauses at about ``work[1]``, which leaves fitting out of
    account so that every call gets somewhere; ``marked[n]`` goes on from call to call, too, and
    begins with all.
    """
    n = orders.shape[1]
    order, fit, turns = orders[2], np.empty(n, np.int64), orders[3]
    base = np.empty(n, np.int64)
    room = work[1] - work[0]
    if not np.isfinite(costs[0]):
        refit(order, fit, 0, n, offsets, sets, work)
        work[1] = work[0] + room
        while not np.isfinite(costs[0]):
            now = improve(order, fit, turns, 0, offsets, sets, cost, reach, state, work)
            if work[0] >= work[1]:
                return
            polish(order, fit, WINDOW, offsets, sets, cost, work)
            if not total_cost(fit, cost) < now:
                stand(order, fit, cost, orders, costs)
                work[2] = CLIMBED
    refit(orders[0], base, 0, n, offsets, sets, work)
    work[1] = work[0] + room
    if work[2] == CLIMBED:
        overwrite(order, orders[0])
        overwrite(fit, base)
        settle_order(order, fit, marked, offsets, sets, cost, state, work)
        stand(order, fit, cost, orders, costs)
        overwrite(base, fit)
        if work[0] >= work[1]:
            return
        work[2] = 0
    while work[0] < min(budget, work[1]):
        overwrite(order, orders[0])
        move_some(order, base, marked, 1 + draw(state, strength), sets, state)
        refit(order, fit, 0, n, offsets, sets, work)
        now = repair(order, fit, base, marked, offsets, sets, cost, reach, work)
        for v in range(n):
            marked[v] = fit[v] != base[v]
        if settle_order(order, fit, marked, offsets, sets, cost, state, work) > 0.0:
            now = total_cost(fit, cost)
        if now < costs[1] - least_gain(now):
            accept(order, fit, cost, orders[1], costs[1:])
        if now <= costs[0] + slack * draw(state, 1 << 20) / (1 << 20):
            accept(order, fit, cost, orders[0], costs[:1])
            overwrite(base, fit)


@njit(**JIT)
def stand(order: Ints, fit: Ints, cost: Floats, orders: Ints, costs: Floats) -> None:
    """Go on from an order that was climbed to; it may be the best so far."""
    accept(order, fit, cost, orders[0], costs[:1])
    if costs[0] < costs[1]:
        overwrite(orders[1], orders[0])
        costs[1] = costs[0]


@njit(**JIT)
def settle_order(
    order: Ints,
    fit: Ints,
    marked: npt.NDArray[np.bool_],
    offsets: Ints,
    sets: Numbers,
    cost: Floats,
    state: Words,
    work: Ints,
) -> float:
    """Improve regions around the ``marked[n]`` variables, and fit the order that comes of it.

    An order of the network that regions leave may allow better sets still.
    """
    gain = settle(order, fit, marked, offsets, sets, cost, state, work)
    if gain > 0.0:
        refit(order, fit, 0, order.shape[0], offsets, sets, work)
    return float(gain)


@njit(**JIT)
def accept(order: Ints, fit: Ints, cost: Floats, taken: Ints, costs: Floats) -> None:
    """Take an order into ``taken[n]`` and what it costs into ``costs[0]``."""
    overwrite(taken, order)
    costs[0] = total_cost(fit, cost)


@njit(**JIT)
def root_of(above: Ints, v: int) -> int:
    """Return the variable that stands for the group of ``v``."""
    while above[v] != v:
        above[v] = above[above[v]]
        v = above[v]
    return v


@njit(**JIT)
def combine(fit: Ints, other: Ints, sets: Numbers, cost: Floats, order: Ints) -> float:
    """Take from another network what is better there, region by region; return the gain.

    Variables that have another set there fall into groups, connected by arcs of either network. A
    group is taken over if its sets are cheaper there and no cycle arises. Then ``fit`` is changed
    and ``order`` is one of the new network.
    """
    n = fit.shape[0]
    above = np.arange(n)
    for v in range(n):
        if fit[v] != other[v]:
            for i in (fit[v], other[v]):
                for k in range(sets.shape[1]):
                    p = sets[i, k]
                    if p < n and fit[p] != other[p]:
                        above[root_of(above, p)] = root_of(above, v)
    gain = np.zeros(n)
    for v in range(n):
        if fit[v] != other[v]:
            gain[root_of(above, v)] += cost[fit[v]] - cost[other[v]]
    whole, trial, some = 0.0, fit.copy(), np.empty(n, np.int64)
    for g in np.argsort(-gain):
        if not gain[g] > LEAST_GAIN:
            break
        for v in range(n):
            if fit[v] != other[v] and root_of(above, v) == g:
                trial[v] = other[v]
        if order_of(trial, sets, some):
            overwrite(fit, trial)
            overwrite(order, some)
            whole += gain[g]
        else:
            overwrite(trial, fit)
    return float(whole)
