"""Kernels of the order search: fit, insert, repair, combine.

An order of the variables decides the best network that respects it: every variable takes its
cheapest candidate set among its predecessors. Arrays shared by all functions here, ``int64`` and
``float64`` unless another type is named:

``offsets[n + 1]``  cuts the sets by child, each child's by rising cost;
``sets[m, K]``      the parents of every set in a row, ``uint16``, padded with ``n``; the last set
                    of a child is empty, so one always fits;
``cost[m]``         what a set costs;
``reach[n, W]``     union of the sets of a child as bits (``uint64``): its possible parents;
``order[n]``        the variables, first to last;
``fit[n]``          the set each variable has under the order;
``before[n + 1]``   a flag (``uint8``) for every variable in front of a position, 0 for the padding.

``work`` is a record (:data:`WORK`) that counts the sets looked at: the clock of a search that must
not depend on the machine.

What ends the loops: a move counts only if the total, summed anew in the order of the variables, is
less than before. Totals are then strictly decreasing, so no order comes twice, whatever rounding
does to the gains.

In a part of n variables a climb looks at n variables, each at n positions. After a few moves most
of that finds nothing new, so after a disturbance only those variables are inserted anew whose set
has changed, and in turn those whose set changes by that, until none is left: a few dozen instead of
n (:func:`repair`). Then the regions around what changed are solved exactly
(:mod:`parentage.kernels.regions`).

Searches that went different ways found different things, mostly far apart: :func:`combine` puts the
better of two networks together in every region (a partition crossover, Whitley et al. 2009, by
sets instead of tours).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parentage.kernels._options import JIT, njit
from parentage.kernels.digraph import leader_of
from parentage.kernels.regions import (
    draw,
    exchange_blocks,
    order_of,
    overwrite,
    settle,
    shift,
    shuffle,
    shuffle_around,
)

if TYPE_CHECKING:
    from parentage.arrays import Ints


LEAST_GAIN = 1e-9
ROUNDING = 2.0**-49
"""Gains below the first, or below this share of the total, are rounding, not improvement."""

CLIMBING, SETTLING, MOVING = range(3)
"""Phases of a search: insert all variables; improve all regions; disturb and repair."""

WORK = np.dtype(
    [
        ("looked", np.int64),  # sets looked at
        ("pause", np.int64),  # climbing and settling pause when that many were looked at
        ("idle", np.int64),  # of a climb that paused: turns that brought nothing
        ("turn", np.int64),  # of a climb that paused: whose turn is next
        ("phase", np.int64),
        ("cost", np.float64),  # of the order the search stands at; infinite while it climbs
        ("best", np.float64),  # of the best order it saw
    ]
)
"""Where a search stands, besides its orders."""


def new_work() -> Any:
    """Return a record for a search that begins."""
    work = np.zeros(1, WORK).view(np.recarray)[0]
    work.cost = work.best = np.inf
    return work


class Orders(NamedTuple):
    """The orders of a search, ``int64[n]`` each."""

    base: Ints
    """Where it stands."""
    best: Ints
    """The best it saw."""
    trial: Ints
    """The one that is climbed or repaired."""
    turns: Ints
    """Whose turn it is when climbing."""


@njit(**JIT)
def holds(mask, v):
    """Whether variable ``v`` is in a mask."""
    return bool(mask[v >> 6] & (np.uint64(1) << np.uint64(v & 63)))


@njit(**JIT)
def uses(sets, i, v):
    """Whether variable ``v`` is in set ``i``."""
    for j in range(sets.shape[1]):
        if sets[i, j] == v:
            return True
    return False


@njit(**JIT)
def first_fit(sets, low, high, before, work):
    """Return the first set of ``low … high − 1`` whose members are in front, or ``high``."""
    n, width = before.shape[0] - 1, sets.shape[1]
    i = low
    while i < high:
        j = 0
        while j < width and before[sets[i, j]]:
            j += 1
        if j == width or sets[i, j] == n:
            break
        i += 1
    work.looked += i - low + 1
    return i


@njit(**JIT)
def predecessors(order, position):
    """Return the variables in front of a position."""
    before = np.zeros(order.shape[0] + 1, np.uint8)
    for j in range(position):
        before[order[j]] = 1
    return before


@njit(
    work=lambda order, _fit, low, high, offsets, *_: (
        3 * (high - low + len(order)) + 0.3 * offsets[-1]
    ),
    **JIT,
)
def refit(order, fit, low, high, offsets, sets, work):
    """Fit the variables at positions ``low … high − 1`` anew."""
    before = predecessors(order, low)
    for j in range(low, high):
        v = order[j]
        fit[v] = first_fit(sets, offsets[v], offsets[v + 1] - 1, before, work)
        before[v] = 1


@njit(**JIT)
def total_cost(fit, cost):
    """Sum the costs of the fitted sets."""
    total = 0.0
    for v in range(fit.shape[0]):
        total += cost[fit[v]]
    return total


@njit(**JIT)
def least_gain(total):
    """Return what a gain must exceed when everything costs ``total``."""
    return max(LEAST_GAIN, ROUNDING * total)


@njit(**JIT)
def best_insertion(x, here, least, order, fit, offsets, sets, cost, reach, work):
    """Find where variable ``x`` (at position ``here``) should stand; return position and gain.

    A gain of at most ``least`` does not count. Walks ``x`` to the front and to the back by
    adjacent exchanges; each exchange changes the fit of two variables only.
    """
    n = order.shape[0]
    before = predecessors(order, here)
    front = before.copy()
    best_gain, best_at = least, here

    gain, own = 0.0, fit[x]
    for j in range(here - 1, -1, -1):
        y = order[j]
        before[y] = 0
        if uses(sets, own, y):
            other = first_fit(sets, own + 1, offsets[x + 1] - 1, before, work)
            gain -= cost[other] - cost[own]
            own = other
        if holds(reach[y], x):
            before[x] = 1
            gain += cost[fit[y]] - cost[first_fit(sets, offsets[y], fit[y], before, work)]
            before[x] = 0
        if gain > best_gain:
            best_gain, best_at = gain, j

    overwrite(before, front)
    gain, own = 0.0, fit[x]
    for j in range(here + 1, n):
        y = order[j]
        if uses(sets, fit[y], x):
            other = first_fit(sets, fit[y] + 1, offsets[y + 1] - 1, before, work)
            gain -= cost[other] - cost[fit[y]]
        before[y] = 1
        if holds(reach[x], y):
            other = first_fit(sets, offsets[x], own, before, work)
            gain += cost[own] - cost[other]
            own = other
        if gain > best_gain:
            best_gain, best_at = gain, j
    work.looked += n
    return best_at, best_gain


@njit(**JIT)
def improve(order, fit, turns, offsets, sets, cost, reach, state, work):
    """Climb: insert variables, in the order of ``turns[n]`` again and again, until none gains.

    Turns are shuffled before every climb that begins. It pauses when ``work.pause`` is reached; the
    next call takes it up there.
    """
    if work.idle == 0 and work.turn == 0:
        shuffle(turns, state)
    n = order.shape[0]
    position = np.empty(n, np.int64)
    for j in range(n):
        position[order[j]] = j
    now = total_cost(fit, cost)
    least = least_gain(now)
    idle, turn = work.idle, work.turn
    while idle < n and work.looked < work.pause:
        x = turns[turn]
        turn = turn + 1 if turn + 1 < n else 0
        idle += 1
        here = position[x]
        there, _ = best_insertion(x, here, least, order, fit, offsets, sets, cost, reach, work)
        if there == here:
            continue
        low, high = min(here, there), max(here, there) + 1
        shift(order, here, there)
        refit(order, fit, low, high, offsets, sets, work)
        after = total_cost(fit, cost)
        if after < now:
            now, idle = after, 0
            for j in range(low, high):
                position[order[j]] = j
        else:  # the gain was rounding
            shift(order, there, here)
            refit(order, fit, low, high, offsets, sets, work)
    work.idle, work.turn = (idle, turn) if idle < n else (0, 0)


@njit(work=lambda offsets, _sets, order, _work: 3 * len(order) ** 2 + 0.3 * offsets[-1], **JIT)
def place_in_order(offsets, sets, order, work):
    """Fill ``order[n]`` so that each variable has a set among its predecessors.

    Returns how many variables can be placed; the others, at the end, block each other: all
    their sets hold one of them. Here a child need not have an empty set.
    """
    n = order.shape[0]
    before = np.zeros(n + 1, np.uint8)
    waiting = np.ones(n, np.bool_)
    placed, found = 0, True
    while found:
        found = False
        for v in range(n):
            if waiting[v] and (
                first_fit(sets, offsets[v], offsets[v + 1], before, work) < offsets[v + 1]
            ):
                order[placed] = v
                placed += 1
                waiting[v] = False
                before[v] = 1
                found = True
    rest = placed
    for v in range(n):
        if waiting[v]:
            order[rest] = v
            rest += 1
    return placed


@njit(**JIT)
def repair(order, fit, before, marked, offsets, sets, cost, reach, work):
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
def some_parent(x, here, order, fit, sets, state):
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
def move_some(order, fit, marked, sets, state):
    """Disturb an order: turn one to four arcs around, move variables anywhere, or exchange blocks.

    To turn the arc from p to x around, x is put in front of p. Blocks have at most 24 variables.
    Every other time variables that hang together are permuted instead, at most 64. Says who was
    moved.
    """
    n = order.shape[0]
    if draw(state, 2) == 0:
        shuffle_around(order, fit, marked, sets, 64, state)
        return
    count = 1 + draw(state, min(4, n))
    kind = draw(state, 4)
    if kind == 0:
        exchange_blocks(order, 24, state)
        return
    for _ in range(count):
        source = draw(state, n)
        x = order[source]
        target = draw(state, n)
        if kind > 1:
            target = some_parent(x, source, order, fit, sets, state)
            marked[order[target]] = True
        marked[x] = True
        shift(order, source, target)


@njit(**JIT)
def search_round(orders, work, budget, width, slack, marked, offsets, sets, cost, reach, state):
    """Climb, settle, then disturb and repair: an iterated local search.

    Ends when ``budget`` is worked off, and pauses at about ``work.pause``, which leaves fitting out
    of account so that every call gets somewhere; ``orders``, ``work`` and ``marked[n]``, which
    begins with all, are taken up again by the next call. A new order is accepted when it is worse
    by less than a random share of ``slack``.
    """
    n = marked.shape[0]
    order, fit = orders.trial, np.empty(n, np.int64)
    base = np.empty(n, np.int64)
    room = work.pause - work.looked
    if work.phase == CLIMBING:
        refit(order, fit, 0, n, offsets, sets, work)
        work.pause = work.looked + room
        improve(order, fit, orders.turns, offsets, sets, cost, reach, state, work)
        if work.looked >= work.pause:
            return
        stand(fit, cost, orders, work)
        work.phase = SETTLING
    refit(orders.base, base, 0, n, offsets, sets, work)
    work.pause = work.looked + room
    if work.phase == SETTLING:
        overwrite(order, orders.base)
        overwrite(fit, base)
        settle_order(order, fit, marked, offsets, sets, cost, width, state, work)
        stand(fit, cost, orders, work)
        overwrite(base, fit)
        if work.looked >= work.pause:
            return
        work.phase = MOVING
    while work.looked < min(budget, work.pause):
        overwrite(order, orders.base)
        move_some(order, base, marked, sets, state)
        refit(order, fit, 0, n, offsets, sets, work)
        now = repair(order, fit, base, marked, offsets, sets, cost, reach, work)
        for v in range(n):
            marked[v] = fit[v] != base[v]
        if settle_order(order, fit, marked, offsets, sets, cost, width, state, work) > 0.0:
            now = total_cost(fit, cost)
        if now < work.best - least_gain(now):
            overwrite(orders.best, order)
            work.best = now
        if now <= work.cost + slack * draw(state, 1 << 20) / (1 << 20):
            overwrite(orders.base, order)
            work.cost = now
            overwrite(base, fit)


@njit(**JIT)
def stand(fit, cost, orders, work):
    """Go on from the trial order, whose sets are in ``fit``; it may be the best so far."""
    overwrite(orders.base, orders.trial)
    work.cost = total_cost(fit, cost)
    if work.cost < work.best:
        overwrite(orders.best, orders.trial)
        work.best = work.cost


@njit(**JIT)
def settle_order(order, fit, marked, offsets, sets, cost, width, state, work):
    """Improve regions around the ``marked[n]`` variables, and fit the order that comes of it.

    An order of the network that regions leave may allow better sets still.
    """
    gain = settle(order, fit, marked, offsets, sets, cost, width, state, work)
    if gain > 0.0:
        refit(order, fit, 0, order.shape[0], offsets, sets, work)
    return float(gain)


@njit(**JIT)
def combine(fit, other, sets, cost, order):
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
                        above[leader_of(above, p)] = leader_of(above, v)
    gain = np.zeros(n)
    for v in range(n):
        if fit[v] != other[v]:
            gain[leader_of(above, v)] += cost[fit[v]] - cost[other[v]]
    whole, trial, some = 0.0, fit.copy(), np.empty(n, np.int64)
    for g in np.argsort(-gain):
        if not gain[g] > LEAST_GAIN:
            break
        for v in range(n):
            if fit[v] != other[v] and leader_of(above, v) == g:
                trial[v] = other[v]
        if order_of(trial, sets, some):
            overwrite(fit, trial)
            overwrite(order, some)
            whole += gain[g]
        else:
            overwrite(trial, fit)
    return float(whole)
