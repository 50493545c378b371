"""Kernels of the order search: fitting, insertion moves, windows.

An order of the variables decides the best network that respects it: every variable takes its
cheapest candidate set among its predecessors. Arrays shared by all functions here:

``offsets[n + 1]``  cuts the sets by child, each child's by rising cost;
``sets``            the sets, as bits or numbers of parents (:mod:`parentage.kernels.fitting`); the
                    last set of a child is empty, so one always fits;
``cost[m]``         what a set costs;
``reach[n, W]``     union of the sets of a child: its possible parents;
``order[n]``        the variables, first to last;
``fit[n]``          the set each variable has under the order.

``work[0]`` counts the sets looked at: the clock of a search that must not depend on the machine.
Climbing pauses when that reaches ``work[1]``, so that the caller can look at the other clock and go
on: ``work[2]`` says how many turns brought nothing by then, ``work[3]`` whose turn is next.

What ends the loops: a move counts only if the total, summed anew in the order of the variables, is
less than before. Totals are then strictly decreasing, so no order comes twice, whatever rounding
does to the gains.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from parentage.kernels._options import JIT, njit
from parentage.kernels.disturb import draw, perturb, shift, shuffle
from parentage.kernels.fitting import Sets, exclude, first_fit, holds, include, nobody, uses

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]

LONGEST_CLIMB = 8
"""A climb longer than this many budgets pauses: some tenths of a second."""

WINDOW = 6
"""Most neighbours in an order that are put into their best order at once."""

LEAST_GAIN = 1e-9
ROUNDING = 2.0**-49
"""Gains below the first, or below this share of the total, are rounding, not improvement."""


@njit(**JIT)
def overwrite(target: npt.NDArray[Any], source: npt.NDArray[Any]) -> None:
    """Copy element by element: ``target[:] = source`` compiles for seconds, to raise errors."""
    for j in range(target.shape[0]):
        target[j] = source[j]


@njit(**JIT)
def predecessors(order: Ints, position: int, sets: Sets) -> Sets:
    """Return the variables in front of a position."""
    before = nobody(sets, order.shape[0])
    for j in range(position):
        include(before, order[j])
    return before


@njit(**JIT)
def refit(
    order: Ints, fit: Ints, low: int, high: int, offsets: Ints, sets: Sets, work: Ints
) -> None:
    """Fit the variables at positions ``low … high − 1`` anew."""
    before = predecessors(order, low, sets)
    for j in range(low, high):
        v = order[j]
        fit[v] = first_fit(sets, offsets[v], offsets[v + 1] - 1, before, work)
        include(before, v)


@njit(**JIT)
def total_cost(fit: Ints, cost: Floats) -> float:
    """Sum the costs of the fitted sets."""
    total = 0.0
    for v in range(fit.shape[0]):
        total += cost[fit[v]]
    return total


@njit(**JIT)
def least_gain(total: float) -> float:
    """Return what a gain must exceed when everything costs ``total``."""
    return max(LEAST_GAIN, ROUNDING * total)


@njit(**JIT)
def best_insertion(
    x: int,
    here: int,
    least: float,
    order: Ints,
    fit: Ints,
    offsets: Ints,
    sets: Sets,
    cost: Floats,
    reach: Words,
    work: Ints,
) -> tuple[int, float]:
    """Find where variable ``x`` (at position ``here``) should stand; return position and gain.

    A gain of at most ``least`` does not count. Walks ``x`` to the front and to the back by
    adjacent exchanges; each exchange changes the fit of two variables only.
    """
    n = order.shape[0]
    before = predecessors(order, here, sets)
    front = before.copy()
    best_gain, best_at = least, here

    gain, own = 0.0, fit[x]
    for j in range(here - 1, -1, -1):
        y = order[j]
        exclude(before, y)
        if uses(sets, own, y):
            other = first_fit(sets, own + 1, offsets[x + 1] - 1, before, work)
            gain -= cost[other] - cost[own]
            own = other
        if holds(reach[y], x):
            include(before, x)
            gain += cost[fit[y]] - cost[first_fit(sets, offsets[y], fit[y], before, work)]
            exclude(before, x)
        if gain > best_gain:
            best_gain, best_at = gain, j

    overwrite(before, front)
    gain, own = 0.0, fit[x]
    for j in range(here + 1, n):
        y = order[j]
        if uses(sets, fit[y], x):
            other = first_fit(sets, fit[y] + 1, offsets[y + 1] - 1, before, work)
            gain -= cost[other] - cost[fit[y]]
        include(before, y)
        if holds(reach[x], y):
            other = first_fit(sets, offsets[x], own, before, work)
            gain += cost[own] - cost[other]
            own = other
        if gain > best_gain:
            best_gain, best_at = gain, j
    work[0] += n
    return best_at, best_gain


@njit(**JIT)
def climb(
    order: Ints,
    fit: Ints,
    turns: Ints,
    offsets: Ints,
    sets: Sets,
    cost: Floats,
    reach: Words,
    work: Ints,
) -> None:
    """Insert variables, in the order of ``turns[n]`` again and again, until none gains.

    Pauses when ``work[1]`` is reached, and goes on from there with ``work[2]`` and ``work[3]``.
    """
    n = order.shape[0]
    position = np.empty(n, np.int64)
    for j in range(n):
        position[order[j]] = j
    now = total_cost(fit, cost)
    least = least_gain(now)
    idle, turn = work[2], work[3]
    while idle < n and work[0] < work[1]:
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
    work[2], work[3] = (idle, turn) if idle < n else (0, 0)


@njit(**JIT)
def reorder_window(
    order: Ints,
    fit: Ints,
    start: int,
    width: int,
    offsets: Ints,
    sets: Sets,
    cost: Floats,
    work: Ints,
) -> float:
    """Put ``width`` neighbours into their best order (dynamic programming); return the gain.

    ``best[2^width]`` holds the least cost of a subset of the window standing first in it.
    """
    size = 1 << width
    before = predecessors(order, start, sets)
    best = np.full(size, np.inf)
    last = np.zeros(size, np.int64)
    best[0] = 0.0
    present = 0.0
    for t in range(width):
        present += cost[fit[order[start + t]]]
    floor = np.empty(width, np.int64)
    ceiling = np.empty(width, np.int64)
    for t in range(width):
        include(before, order[start + t])
    for t in range(width):
        v = order[start + t]
        exclude(before, v)
        floor[t] = first_fit(sets, offsets[v], offsets[v + 1] - 1, before, work)
        include(before, v)
    for t in range(width):
        exclude(before, order[start + t])
    for t in range(width):
        v = order[start + t]
        ceiling[t] = first_fit(sets, floor[t], offsets[v + 1] - 1, before, work)
    for subset in range(size):
        for t in range(width):  # from the subset before to this one
            if (subset >> t) & 1:
                include(before, order[start + t])
                break
            exclude(before, order[start + t])
        for t in range(width):
            if (subset >> t) & 1:
                continue
            i = first_fit(sets, floor[t], ceiling[t], before, work)
            trial = best[subset] + cost[i]
            if trial < best[subset | (1 << t)]:
                best[subset | (1 << t)] = trial
                last[subset | (1 << t)] = t
    gain = float(present - best[size - 1])
    if gain <= least_gain(present):
        return 0.0
    members = order[start : start + width].copy()
    subset = size - 1
    for j in range(start + width - 1, start - 1, -1):
        t = last[subset]
        order[j] = members[t]
        subset ^= 1 << t
    refit(order, fit, start, start + width, offsets, sets, work)
    return gain


@njit(**JIT)
def polish(
    order: Ints,
    fit: Ints,
    width: int,
    offsets: Ints,
    sets: Sets,
    cost: Floats,
    work: Ints,
) -> float:
    """Slide a window over the order, reordering it exactly; return the whole gain."""
    n = order.shape[0]
    width = min(width, n)
    gain = 0.0
    for start in range(n - width + 1):
        gain += reorder_window(order, fit, start, width, offsets, sets, cost, work)
    return gain


@njit(**JIT)
def feasible_order(offsets: Ints, sets: Sets, order: Ints) -> int:
    """Fill ``order[n]`` so that each variable has a set among its predecessors.

    Returns how many variables can be placed; the others, at the end, block each other: all
    their sets hold one of them. Here a child need not have an empty set.
    """
    n = order.shape[0]
    work = np.zeros(1, np.int64)
    before = nobody(sets, n)
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
                include(before, v)
                found = True
    rest = placed
    for v in range(n):
        if waiting[v]:
            order[rest] = v
            rest += 1
    return placed


@njit(**JIT)
def improve(
    order: Ints,
    fit: Ints,
    turns: Ints,
    width: int,
    offsets: Ints,
    sets: Sets,
    cost: Floats,
    reach: Words,
    state: Words,
    work: Ints,
) -> float:
    """Climb and polish in turn until neither gains or ``work[1]`` is reached; return the cost.

    ``turns[n]`` holds all variables; they are shuffled before every climb that begins.
    """
    while True:
        if work[2] == 0 and work[3] == 0:
            shuffle(turns, state)
        climb(order, fit, turns, offsets, sets, cost, reach, work)
        now = total_cost(fit, cost)
        if width < 2 or work[0] >= work[1]:
            return float(now)
        polish(order, fit, width, offsets, sets, cost, work)
        after = total_cost(fit, cost)
        if not after < now:
            return float(after)


@njit(**JIT)
def search(
    orders: Ints,
    costs: Floats,
    work: Ints,
    budget: int,
    strength: int,
    slack: float,
    offsets: Ints,
    sets: Sets,
    cost: Floats,
    reach: Words,
    state: Words,
) -> int:
    """Perturb, climb, accept: an iterated local search that ends when ``budget`` is worked off.

    ``orders[4, n]``: where it stands, the best order seen, the one being climbed from, and whose
    turn it is then; ``costs[2]``: what the first two cost. They and ``work[4]`` go on from call
    to call, so that a climb of more than :data:`LONGEST_CLIMB` budgets is taken up again. A new
    place is accepted when it is worse by less than a random share of ``slack``; windows are tried
    on every new best order. Returns the number of steps.
    """
    n = orders.shape[1]
    paused = work[1] > 0 and work[0] >= work[1]
    work[0], work[1] = 0, LONGEST_CLIMB * budget
    order, fit, turns = orders[2], np.empty(n, np.int64), orders[3]
    steps = 0
    while work[0] < budget:
        steps += 1
        if not paused:
            overwrite(order, orders[0])
            perturb(order, 1 + draw(state, strength), state)
        paused = False
        refit(order, fit, 0, n, offsets, sets, work)
        now = improve(order, fit, turns, 0, offsets, sets, cost, reach, state, work)
        if now < costs[1] - least_gain(now):
            now = improve(order, fit, turns, WINDOW, offsets, sets, cost, reach, state, work)
            overwrite(orders[1], order)
            costs[1] = now
        if work[0] < work[1] and now <= costs[0] + slack * draw(state, 1 << 20) / (1 << 20):
            overwrite(orders[0], order)
            costs[0] = now
    return steps
