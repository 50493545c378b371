r"""Kernels on sets and subsets: which contain which, best networks of all, networks near the best.

**Candidate sets as bit masks** have the axes ``m`` sets, all children together, cut by
``offsets[n + 1]``, and ``W`` 64-bit words (``uint64``) a mask. Other numbers are ``int64``, prices
and costs ``float64``.

**The dynamic programme over subsets of variables.** ``best[S]`` is the least price of a network on
the variables ``S`` alone (Silander and Myllymäki, UAI 2006): the last variable of an order, a sink,
takes its cheapest set inside the rest,

    best[S] = min over v in S of best[S \ v] + cheapest(v, S \ v).

Subsets are numbers of ``n`` bits, cut into high and low bits: for one value of the high bits,
``cheapest(v, ·)`` over all low bits is one row, filled by a minimum-over-subsets transform. So
no table but ``best[2^n]`` is kept. Blocks whose high parts have equally many bits do not depend
on each other.

Prices are whole numbers held in float64 (sums below 2^53 are exact, and minima of floats use
vector instructions); infinity means that there is no such network.

**Enumeration of near-optimal networks**, depth first, with bounds, in instalments. With the rises
of a Lagrangian bound (what each set adds to it, zero for the best set of a child) every variable
takes one of its sets, one after the other; a choice is hopeless as soon as the rises of the sets
taken, and the least possible ones of the others, add up to more than the slack. The next variable
is always the one with the fewest sets left. With the table of the dynamic programme, sinks are
removed one after the other; the table says what the rest costs, so no branch without a result is
entered. A network is reached once although it has many orders: a variable with a larger index than
the sink just removed may go only after one of its children went.
"""

from __future__ import annotations

import numpy as np

from parentage.kernels._options import INLINE, JIT, njit
from parentage.kernels.bits import SPREAD, U, mixed, popcount

FEW = 12
"""Sets of at most so many parents are compared with their subsets instead of with all sets."""


@njit(wraps=True, **JIT)
def number_of(v):
    """Return a fixed random number for a variable."""
    return mixed((U(v) + U(1)) * SPREAD)


@njit(**JIT)
def contained(masks, inner, outer):
    """Whether one set is a subset of another."""
    beyond = np.uint64(0)
    for w in range(masks.shape[1]):
        beyond |= masks[inner, w] & ~masks[outer, w]
    return bool(beyond == np.uint64(0))


@njit(**JIT)
def members_of(mask, found):
    """Fill ``found`` with the members of a set, as many as it has room for; return their number."""
    count = 0
    for w in range(mask.shape[0]):
        rest = mask[w]
        while rest != np.uint64(0):
            lowest = rest & (~rest + np.uint64(1))
            if count < found.shape[0]:
                found[count] = 64 * w + np.int64(popcount(lowest - np.uint64(1)))
            count += 1
            rest &= rest - np.uint64(1)
    return count


@njit(**JIT)
def slots_for(sets):
    """Return how large a hash table of so many sets is: a power of two, at most half full."""
    room = 2
    while room < 2 * sets:
        room *= 2
    return room


@njit(**JIT)
def enter_set(i, key, slots, room):
    """Put set ``i`` into the first ``room`` of ``slots``, a hash table."""
    last = np.uint64(room - 1)
    at = (key ^ (key >> np.uint64(32))) & last
    while slots[at] >= 0:
        at = (at + np.uint64(1)) & last
    slots[at] = i


@njit(**JIT)
def find_inside(outer, key, slots, room, keys, masks):
    """Return another set of this key that is contained in set ``outer``; −1 if there is none.

    Of several it is the one that was entered first. A key is the sum of fixed random numbers of the
    members. A hit is compared bit by bit, so the answer does not depend on those numbers.
    """
    last = np.uint64(room - 1)
    at = (key ^ (key >> np.uint64(32))) & last
    while slots[at] >= 0:
        other = slots[at]
        if keys[other] == key and other != outer and contained(masks, other, outer):
            return int(other)
        at = (at + np.uint64(1)) & last
    return -1


@njit(wraps=True, **JIT)
def keys_of_subsets(members, size, sums):
    """Fill ``sums[2^size]`` with the keys of all subsets of a set, itself last."""
    sums[0] = np.uint64(0)
    for subset in range(1, 1 << size):
        lowest = 0
        while not (subset >> lowest) & 1:
            lowest += 1
        sums[subset] = sums[subset & (subset - 1)] + number_of(members[lowest])


@njit(wraps=True, **JIT)
def keys_of(masks):
    """Return ``[m]``: the keys of all sets."""
    keys = np.zeros(masks.shape[0], np.uint64)
    members = np.empty(64 * masks.shape[1], np.int64)
    for i in range(masks.shape[0]):
        for j in range(members_of(masks[i], members)):
            keys[i] += number_of(members[j])
    return keys


@njit(**JIT)
def most_slots(offsets):
    """Return how large a hash table of the sets of any child is."""
    most = 2
    for child in range(offsets.shape[0] - 1):
        most = max(most, slots_for(offsets[child + 1] - offsets[child]))
    return most


@njit(work=lambda offsets, masks: 100 * len(masks) + 0.01 * (np.diff(offsets) ** 2).sum(), **JIT)
def first_subsets(offsets, masks):
    """Return for every set the first one of the same child that is contained in it; −1: none.

    ``masks[m, W]``. A small set has fewer subsets than there are sets, so these are looked up. Of
    equal sets each contains the others.
    """
    found = np.full(masks.shape[0], -1, np.int64)
    slots = np.empty(most_slots(offsets), np.int64)
    keys = keys_of(masks)
    members = np.empty(64 * masks.shape[1], np.int64)
    sums = np.empty(1 << FEW, np.uint64)
    for child in range(offsets.shape[0] - 1):
        low, high = offsets[child], offsets[child + 1]
        room = slots_for(high - low)
        slots[:room] = -1
        for i in range(low, high):
            enter_set(i, keys[i], slots, room)
        for i in range(low, high):
            size = members_of(masks[i], members)
            first = high
            if size <= FEW and (1 << size) < high - low:
                keys_of_subsets(members, size, sums)
                for subset in range(1 << size):
                    j = find_inside(i, sums[subset], slots, room, keys, masks)
                    if 0 <= j < first:
                        first = j
            else:
                for j in range(low, high):
                    if j != i and contained(masks, j, i):
                        first = j
                        break
            if first < high:
                found[i] = first
    return found


@njit(**JIT)
def least(a, b):
    """Return the smaller of two prices."""
    return a if a < b else b


@njit(**JIT)
def least_of_subsets(row):
    """Replace ``row[S]`` by the least ``row[T]`` of the subsets T of S, in place.

    Three bits at once in registers, then two a pass: most of the time would go into moving data.
    """
    size = len(row)
    step = np.int64(1)
    if size >= 8:
        for s in range(U(0), U(size), U(8)):
            r0, r1, r2, r3 = row[s], row[s + U(1)], row[s + U(2)], row[s + U(3)]
            r4, r5, r6, r7 = row[s + U(4)], row[s + U(5)], row[s + U(6)], row[s + U(7)]
            r1, r3, r5, r7 = least(r0, r1), least(r2, r3), least(r4, r5), least(r6, r7)
            r2, r3, r6, r7 = least(r0, r2), least(r1, r3), least(r4, r6), least(r5, r7)
            row[s + U(1)], row[s + U(2)], row[s + U(3)] = r1, r2, r3
            row[s + U(4)], row[s + U(5)] = least(r0, r4), least(r1, r5)
            row[s + U(6)], row[s + U(7)] = least(r2, r6), least(r3, r7)
        step = np.int64(8)
    while 2 * step < size:
        for start in range(0, size, 4 * step):
            none, first = row[start : start + step], row[start + step : start + 2 * step]
            second = row[start + 2 * step : start + 3 * step]
            both = row[start + 3 * step : start + 4 * step]
            for j in range(step):
                a, c = none[j], second[j]
                b = least(a, first[j])
                first[j] = b
                second[j] = least(a, c)
                both[j] = least(b, least(c, both[j]))
        step *= 4
    if step < size:
        without, within = row[:step], row[step:]
        for j in range(step):
            within[j] = least(without[j], within[j])


@njit(**JIT)
def cheapest_inside(v, high, low_bits, offsets, masks, price, row):
    """Fill ``row[2^low_bits]``: the least price of a set of ``v`` inside each subset.

    ``masks[m]`` are the sets as bits, ``price[m]`` what they cost, cut by ``offsets[n + 1]``.
    """
    size = np.int64(1) << low_bits
    row[:] = np.inf
    low_mask = U(size - 1)
    absent = ~(U(high) << U(low_bits)) & ~low_mask
    for i in range(offsets[v], offsets[v + 1]):
        if masks[i] & absent == U(0):
            low = masks[i] & low_mask
            if price[i] < row[low]:
                row[low] = price[i]
    least_of_subsets(row)


@njit(**INLINE)
def take_sinks_of_eight(s, block, rows):
    """Finish the subsets ``s … s + 7`` of a block: sinks among the lowest three bits."""
    x, y, z = rows[0], rows[1], rows[2]
    b0 = block[s]
    b1 = least(block[s + U(1)], b0 + x[s + U(1)])
    b2 = least(block[s + U(2)], b0 + y[s + U(2)])
    b3 = least(block[s + U(3)], least(b2 + x[s + U(3)], b1 + y[s + U(3)]))
    b4 = least(block[s + U(4)], b0 + z[s + U(4)])
    b5 = least(block[s + U(5)], least(b4 + x[s + U(5)], b1 + z[s + U(5)]))
    b6 = least(block[s + U(6)], least(b4 + y[s + U(6)], b2 + z[s + U(6)]))
    last = least(b6 + x[s + U(7)], least(b5 + y[s + U(7)], b3 + z[s + U(7)]))
    block[s + U(1)], block[s + U(2)], block[s + U(3)] = b1, b2, b3
    block[s + U(4)], block[s + U(5)], block[s + U(6)] = b4, b5, b6
    block[s + U(7)] = least(block[s + U(7)], last)


@njit(**JIT)
def take_low_sinks(low_bits, block, rows):
    """Finish a block in which sinks among the high bits are taken: those among the low bits.

    Eight subsets at a time. With them some 2^b subsets in a row are finished, whose next bit
    is 0: they are what remains when that bit's variable is taken from the 2^b after them.
    """
    size = len(block)
    if size < 8:
        for j in range(size):
            for v in range(low_bits):
                if (j >> v) & 1:
                    trial = block[j ^ (np.int64(1) << v)] + rows[v, j]
                    block[j] = least(trial, block[j])
        return
    for eight in range(size >> 3):
        take_sinks_of_eight(U(eight) << U(3), block, rows)
        v = 3
        while (eight >> (v - 3)) & 1:
            v += 1
        if v < low_bits:
            end, length = (eight + 1) << 3, np.int64(1) << v
            rest, row = block[end - length : end], rows[v, end : end + length]
            following = block[end : end + length]
            for j in range(length):
                following[j] = least(following[j], rest[j] + row[j])


@njit(**JIT)
def solve_block(high, low_bits, offsets, masks, price, best, rows):
    """Fill ``best`` for all subsets with these high bits.

    ``rows[low_bits + 1, 2^low_bits]`` is scratch.
    """
    n = offsets.shape[0] - 1
    size = np.int64(1) << low_bits
    block = best[high << low_bits : (high << low_bits) + size]
    block[:] = np.inf
    if high == 0:
        block[0] = 0.0
    row = rows[low_bits]
    for v in range(low_bits, n):
        if (high >> (v - low_bits)) & 1:
            cheapest_inside(v, high, low_bits, offsets, masks, price, row)
            without = (high ^ (np.int64(1) << (v - low_bits))) << low_bits
            rest = best[without : without + size]
            for j in range(size):
                block[j] = least(block[j], rest[j] + row[j])
    for v in range(low_bits):
        cheapest_inside(v, high, low_bits, offsets, masks, price, rows[v])
    take_low_sinks(low_bits, block, rows)


def short_solve(highs, low_bits, offsets, masks, price, best, rows):
    """Return about how many microseconds the plain :func:`solve_blocks` takes."""
    n, size = len(offsets) - 1, 1 << low_bits
    return (n + low_bits) * low_bits * (20 + 0.01 * len(highs) * size) + 0.1 * len(highs) * len(
        masks
    )


@njit(work=short_solve, **JIT)
def solve_blocks(highs, low_bits, offsets, masks, price, best, rows):
    """Fill ``best[2^n]`` for several blocks, one after the other."""
    for k in range(highs.shape[0]):
        solve_block(highs[k], low_bits, offsets, masks, price, best, rows)


@solve_blocks.as_numpy
def _solve_blocks(highs, low_bits, offsets, masks, price, best, rows):
    n, size = len(offsets) - 1, 1 << low_bits
    table, low_mask = best.reshape(-1, size), U(size - 1)
    block = np.full((len(highs), size), np.inf)
    block[highs == 0, 0] = 0.0
    lows = []
    for v in range(n):
        here = np.arange(len(highs))
        if v >= low_bits:
            here = here[highs >> (v - low_bits) & 1 == 1]
        absent = ~(highs[here].astype(np.uint64) << U(low_bits)) & ~low_mask
        own = slice(offsets[v], offsets[v + 1])
        at, chosen = np.nonzero(masks[own] & absent[:, None] == U(0))
        row = np.full((len(here), size), np.inf)
        np.minimum.at(row, (at, masks[own][chosen] & low_mask), price[own][chosen])
        for b in range(low_bits):
            halves = row.reshape(-1, 2, 1 << b)
            np.minimum(halves[:, 1], halves[:, 0], out=halves[:, 1])
        if v < low_bits:
            lows.append(row)
        else:
            rest = table[highs[here] ^ (1 << (v - low_bits))]
            block[here] = np.minimum(block[here], rest + row)
    low = np.arange(size)
    sizes = sum(low >> b & 1 for b in range(low_bits))
    for layer in range(1, low_bits + 1):
        for v in range(low_bits):
            inside = low[(sizes == layer) & (low >> v & 1 == 1)]
            trial = block[:, inside ^ (1 << v)] + lows[v][:, inside]
            block[:, inside] = np.minimum(block[:, inside], trial)
    table[highs] = block


@njit(**JIT)
def _free(mask, below):
    """Whether a set ``mask[W]`` holds nothing of ``below[W]``."""
    for w in range(mask.shape[0]):
        if mask[w] & below[w] != np.uint64(0):
            return False
    return True


@njit(**JIT)
def _next_variable(taken, below, offsets, masks, rise, room, least):
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
    offsets, masks, rise, cost, slack, most, state, left, below, taken, found, steps
):
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
def enumerate_by_sinks(offsets, masks, cost, best, most, state, sets, spent, found, steps):
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
