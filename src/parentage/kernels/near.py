"""Kernels of the enumeration of near-optimal networks: depth first, with bounds, in instalments.

With the rises of a Lagrangian bound (what each set adds to it, zero for the best set of a child)
every variable takes one of its sets, one after the other; a choice is hopeless as soon as the
rises of the sets taken, and the least possible ones of the others, add up to more than the slack.
The next variable is always the one with the fewest sets left.

With the table of the dynamic programme over subsets, sinks are removed one after the other; the
table says what the rest costs, so no branch without a result is entered. A network is reached
once although it has many orders: a variable with a larger index than the sink just removed may go
only after one of its children went.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parentage.kernels._options import JIT, njit

if TYPE_CHECKING:
    from parentage.arrays import Floats, Ints, Words


@njit(**JIT)
def _free(mask: Words, below: Words) -> bool:
    """Whether a set ``mask[W]`` holds nothing of ``below[W]``."""
    for w in range(mask.shape[0]):
        if mask[w] & below[w] != np.uint64(0):
            return False
    return True


@njit(**JIT)
def _next_variable(
    taken: Ints, below: Words, offsets: Ints, masks: Words, rise: Floats, room: float, least: Floats
) -> tuple[int, float]:
    """Return the open variable with the fewest sets, −1 if the room does not do, and what is left.

    ``below[n, W]`` are the descendants of each variable, itself included; ``taken[n]`` the sets
    taken, −1 for open variables; ``least[n]`` is filled with the least possible rises.
    """
    n = offsets.shape[0] - 1
    for v in range(n):
        if taken[v] >= 0:
            continue
        least[v] = np.inf
        for i in range(offsets[v], offsets[v + 1]):
            if rise[i] > room:
                break
            if _free(masks[i], below[v]):
                least[v] = rise[i]
                break
        room -= least[v]
        if room < 0:
            return -1, room
    best, fewest = -1, np.int64(1) << 62
    for v in range(n):
        if taken[v] >= 0:
            continue
        count = np.int64(0)
        for i in range(offsets[v], offsets[v + 1]):
            if rise[i] > room + least[v]:
                break
            if _free(masks[i], below[v]):
                count += 1
                if count >= fewest:
                    break
        if count < fewest:
            best, fewest = v, count
    return best, room + least[best]


@njit(**JIT)
def enumerate_networks(
    offsets: Ints,
    masks: Words,
    rise: Floats,
    cost: Floats,
    slack: float,
    most: float,
    state: Ints,
    left: Floats,
    below: Words,
    taken: Ints,
    found: Ints,
    steps: int,
) -> int:
    """Go on with a search; return the number of networks written to ``found[capacity, n]``.

    Sets of a child (cut by ``offsets[n + 1]``) stand by rising ``rise[m]``; ``masks[m, W]`` are
    their members. Networks with rises up to ``slack`` and a ``cost[m]`` up to ``most`` are found.
    It pauses when ``found`` is full or after ``steps`` sets were taken, and ends with depth −1.

    ``state[2 + 2 n]`` is the depth, whether it was entered anew, then the variable and the next
    set per depth (to begin: 0, 1); ``left[2, n + 1]`` the room per
    depth, for all open variables and for the one at that depth; ``below[n + 1, n, W]`` the
    descendants per depth (to begin: each variable itself at depth 0); ``taken[n]`` all −1.
    """
    n = offsets.shape[0] - 1
    variable, at = state[2 : 2 + n], state[2 + n :]
    least = np.zeros(n)
    depth, entered, count = state[0], state[1] == 1, 0
    if depth == 0 and entered:
        left[0, 0] = slack
    while depth >= 0:
        if entered:
            entered = False
            if depth == n:
                total = 0.0
                for v in range(n):
                    total += cost[taken[v]]
                if total <= most:
                    found[count] = taken
                    count += 1
                depth -= 1
                if depth >= 0:
                    taken[variable[depth]] = -1
                if count == found.shape[0]:
                    break
                continue
            v, room = _next_variable(
                taken, below[depth], offsets, masks, rise, left[0, depth], least
            )
            if v < 0:
                depth -= 1
                if depth >= 0:
                    taken[variable[depth]] = -1
                continue
            variable[depth], at[depth], left[1, depth] = v, offsets[v], room
        v = variable[depth]
        i = at[depth]
        moved = False
        while i < offsets[v + 1] and not moved:
            if rise[i] > left[1, depth]:
                break
            if _free(masks[i], below[depth, v]):
                moved = True
            else:
                i += 1
        if not moved:
            depth -= 1
            if depth >= 0:
                taken[variable[depth]] = -1
            continue
        at[depth] = i + 1
        taken[v] = i
        left[0, depth + 1] = left[0, depth] - rise[i]
        for u in range(n):
            reaches = not _free(masks[i], below[depth, u])
            for w in range(masks.shape[1]):
                word = below[depth, u, w]
                below[depth + 1, u, w] = word | below[depth, v, w] if reaches else word
        depth += 1
        entered = True
        steps -= 1
        if steps <= 0:
            break
    state[0], state[1] = depth, 1 if entered else 0
    return count


@njit(work=lambda *args: min(args[-1], 100_000) * 3, **JIT)
def enumerate_by_sinks(
    offsets: Ints,
    masks: Words,
    cost: Floats,
    best: Floats,
    most: float,
    state: Ints,
    sets: Words,
    spent: Floats,
    found: Ints,
    steps: int,
) -> int:
    """Go on with a search; return the number of networks written to ``found[capacity, n]``.

    Sets of a child (cut by ``offsets[n + 1]``) stand by rising ``cost[m]``; ``masks[m]`` are their
    members and ``best[2^n]`` the least cost of each set of variables. Networks of cost up to
    ``most`` are found. It pauses when ``found`` is full or after ``steps``, and ends with depth −1.

    ``state[1 + 3 n + 3]`` is the depth, then per depth the variable and the set to be tried next,
    and per variable the set taken; ``sets[2, n + 1]`` the variables left and those that wait
    (to begin: all, none); ``spent[n + 1]`` the cost so far. All zero to begin with.
    """
    n = offsets.shape[0] - 1
    variable, at, taken = state[1 : n + 2], state[n + 2 : 2 * n + 3], state[2 * n + 3 :]
    left, waiting = sets[0], sets[1]
    one = np.uint64(1)
    depth, count = state[0], 0
    if depth == 0 and variable[0] == 0 and at[0] == 0:
        at[0] = offsets[0]
    while depth >= 0 and steps > 0:
        if depth == n:
            found[count] = taken[:n]
            count += 1
            depth -= 1
            if count == found.shape[0]:
                break
            continue
        v = variable[depth]
        if v == n:
            depth -= 1
            continue
        bit = one << np.uint64(v)
        i = at[depth]
        rest = left[depth] & ~bit
        open_ = left[depth] & bit != np.uint64(0) and waiting[depth] & bit == np.uint64(0)
        if not open_ or i == offsets[v + 1] or spent[depth] + cost[i] + best[rest] > most:
            variable[depth], at[depth] = v + 1, offsets[v + 1]
            continue
        at[depth] = i + 1
        steps -= 1
        if masks[i] & ~rest != np.uint64(0):
            continue
        taken[v] = i
        spent[depth + 1] = spent[depth] + cost[i]
        larger = rest & ~((bit << one) - one)
        left[depth + 1] = rest
        waiting[depth + 1] = (waiting[depth] | larger) & ~masks[i] & rest
        variable[depth + 1], at[depth + 1] = 0, offsets[0]
        depth += 1
    state[0] = depth
    return count
