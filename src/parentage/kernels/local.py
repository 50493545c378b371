"""Kernels of local cuts: support sets, the best network on a few variables, covers, exact lifting.

Where to look: ``arc[n, n]`` holds the values of a fractional solution, ``arc[v, u]`` that of u → v;
``tie[n, n]`` says, symmetrically, how much two variables belong together. Every support set found
is cut down to the largest strongly connected part of its arcs, for only cycles are cut off.

``L`` variables are looked at alone; subsets of them are numbers of ``L`` bits. A family is a
child and the part of its set that lies inside; families with nothing inside do not matter. The
``K`` families with positive value are given by ``first[L + 1]`` (those of child ``j`` are
``first[j] … first[j + 1] − 1``), ``masks[K]`` and ``value[K]``.

A cover is a mixture of networks of these families that gives every family at least its value. When
the least cover weighs more than one, the values are not those of any mixture of networks, and
the prices of the cover are a cut: ``price · family <= 1`` holds for every network. ``work[0]``
counts steps of the innermost loops: the clock of a separation that must not depend on the machine.
"""

from __future__ import annotations

import numpy as np

from parentage.kernels._options import JIT, njit
from parentage.kernels.bits import popcount
from parentage.kernels.regions import draw

WHOLE_UP_TO = 60
"""Prices are multiplied by at most this to become whole; else by :data:`OTHERWISE`, rounded."""

OTHERWISE = 720
MOST_STEPS = 1500
"""Pivots after which a cover is given up; its prices are a cut all the same."""

POSITIVE = 1e-7
"""Arcs of less value do not count."""


@njit(**JIT)
def core(members, count, arc):
    """Keep the largest strongly connected part of ``members[:count]``, in place; return its size.

    The members must be rising and at most 62; of equal parts the one of the first member stays.
    """
    reach = np.zeros(count, np.int64)
    for i in range(count):
        for j in range(count):
            if arc[members[i], members[j]] > POSITIVE:
                reach[i] |= 1 << j
    for via in range(count):
        for i in range(count):
            if (reach[i] >> via) & 1:
                reach[i] |= reach[via]
    best, most = 0, 0
    for i in range(count):
        size = 0
        for j in range(count):
            if (reach[i] >> j) & 1 and (reach[j] >> i) & 1:
                size += 1
        if size > most:
            best, most = i, size
    kept = 0
    for j in range(count):
        if (reach[best] >> j) & 1 and (reach[j] >> best) & 1:
            members[kept] = members[j]
            kept += 1
    return kept


@njit(**JIT)
def insert(members, count, v):
    """Insert a variable into the rising ``members[:count]``; return the new count."""
    at = count
    while at > 0 and members[at - 1] > v:
        members[at] = members[at - 1]
        at -= 1
    members[at] = v
    return count + 1


@njit(**JIT)
def grow_sets(seeds, sizes, noise, tie, arc, state, places):
    """Grow a place from each of ``seeds[c, 2]`` (−1: only one seed) to at most ``sizes[c]``.

    Next comes the variable with the strongest ties to those inside, each tie disturbed by up to
    ``noise[c]`` times itself. Writes rising members into ``places[c, ·]``; returns their counts.
    """
    n = tie.shape[0]
    counts = np.zeros(seeds.shape[0], np.int64)
    inside, link = np.empty(n, np.bool_), np.empty(n)
    for c in range(seeds.shape[0]):
        inside[:] = False
        link[:] = 0.0
        count = 0
        new = seeds[c, 0]
        while new >= 0:
            inside[new] = True
            count = insert(places[c], count, new)
            for v in range(n):
                link[v] += tie[new, v]
            if count == 1 and seeds[c, 1] >= 0:
                new = seeds[c, 1]
                continue
            new = -1
            if count == sizes[c]:
                break
            most = 1e-6
            for v in range(n):
                if link[v] > 1e-6 and not inside[v]:
                    strength = link[v] * (1.0 + noise[c] * draw(state, 1 << 20) / (1 << 20))
                    if strength > most:
                        most, new = strength, v
        counts[c] = core(places[c], count, arc)
    return counts


@njit(**JIT)
def overlap(words, other):
    """Count the bits two sets share, and those only the other has."""
    common, extra = 0, 0
    for w in range(words.shape[0]):
        common += np.int64(popcount(words[w] & other[w]))
        extra += np.int64(popcount(other[w] & ~words[w]))
    return common, extra


@njit(**JIT)
def unite_sets(sets, counts, starts, sizes, arc, state, places):
    """Unite overlapping sets ``uint64[c, W]`` of ``counts[c]`` members while they fit.

    From each of ``starts`` on, the set that shares most for what it adds joins, until nothing fits
    into ``sizes``; every stage is a place. Returns the counts of the places written.
    """
    n_words = sets.shape[1]
    found = np.zeros(places.shape[0], np.int64)
    n_found = 0
    words = np.empty(n_words, np.uint64)
    for s in range(starts.shape[0]):
        for w in range(n_words):
            words[w] = sets[starts[s], w]
        size = counts[starts[s]]
        while n_found < places.shape[0]:
            best, most = -1, 0.0
            for c in range(sets.shape[0]):
                common, extra = overlap(words, sets[c])
                if common and extra and size + extra <= sizes[s]:
                    share = common / extra * (0.5 + draw(state, 1 << 20) / (1 << 20))
                    if share > most:
                        best, most = c, share
            if best < 0:
                break
            size = 0
            for w in range(n_words):
                words[w] |= sets[best, w]
                for b in range(64):
                    if (words[w] >> np.uint64(b)) & np.uint64(1):
                        places[n_found, size] = 64 * w + b
                        size += 1
            found[n_found] = core(places[n_found], size, arc)
            n_found += 1
    return found[:n_found]


@njit(**JIT)
def project_support(members, own_at, value, starts, parents):
    """Count a support by what its sets hold inside ``members[L]``.

    The support is that of :mod:`parentage.kernels.cuts`. Returns ``first``, ``masks`` and
    ``value`` of the families, of each child by rising mask.
    """
    size = members.shape[0]
    place = np.full(own_at.shape[0] - 1, -1, np.int64)
    total = 0
    for j in range(size):
        place[members[j]] = j
        total += own_at[members[j] + 1] - own_at[members[j]]
    first = np.zeros(size + 1, np.int64)
    masks, weight = np.empty(total, np.int64), np.empty(total)
    count = 0
    for j in range(size):
        for s in range(own_at[members[j]], own_at[members[j] + 1]):
            mask = 0
            for p in range(starts[s], starts[s + 1]):
                if place[parents[p]] >= 0:
                    mask |= 1 << place[parents[p]]
            if mask == 0:
                continue
            at = count
            while at > first[j] and masks[at - 1] > mask:
                at -= 1
            if at > first[j] and masks[at - 1] == mask:
                weight[at - 1] += value[s]
                continue
            for k in range(count, at, -1):
                masks[k], weight[k] = masks[k - 1], weight[k - 1]
            masks[at], weight[at] = mask, value[s]
            count += 1
        first[j + 1] = count
    return first, masks[:count], weight[:count]


@njit(**JIT)
def sort_families(first, masks, price, at, inside, worth, family):
    """List the families of positive price, of each child the dearest first; the others go."""
    count = 0
    for j in range(first.shape[0] - 1):
        at[j] = count
        for k in range(first[j], first[j + 1]):
            if price[k] <= 1e-12:
                continue
            q = count
            while q > at[j] and worth[q - 1] < price[k]:
                inside[q], worth[q], family[q] = inside[q - 1], worth[q - 1], family[q - 1]
                q -= 1
            inside[q], worth[q], family[q] = masks[k], price[k], k
            count += 1
    at[-1] = count


@njit(**JIT)
def peel(at, stop, inside, worth, family, base, chosen, active):
    """Place variables at the front or the end while that is surely right; return those left.

    ``active`` has the variables as bits. One without families that are worth more than what it has
    anyway, ``base`` by way of family ``chosen``, may come first: the others then have it as a
    parent for nothing. One that is a parent nowhere may come last with its best family. Families
    of child ``j`` are ``at[j] … stop[j] − 1``; those that no longer matter are cut off.
    """
    size = base.shape[0]
    changed = True
    while changed:
        changed = False
        parents = 0
        for j in range(size):
            if not (active >> j) & 1:
                continue
            for q in range(at[j], stop[j]):
                inside[q] &= active
                if inside[q] == 0:
                    base[j], chosen[j] = worth[q], family[q]
                    stop[j] = q
                    break
                parents |= inside[q]
        for j in range(size):
            if not (active >> j) & 1:
                continue
            if at[j] == stop[j]:
                active ^= 1 << j
                changed = True
            elif not (parents >> j) & 1:
                base[j], chosen[j] = worth[at[j]], family[at[j]]
                stop[j] = at[j]
                active ^= 1 << j
                changed = True
    return active


@njit(**JIT)
def squeeze(active, at, stop, inside, base, position):
    """Renumber the variables left, ``position[j]`` of them, in the masks of their families."""
    count = 0
    for j in range(base.shape[0]):
        if (active >> j) & 1:
            position[count] = j
            count += 1
    for c in range(count):
        for q in range(at[position[c]], stop[position[c]]):
            mask = 0
            for d in range(count):
                mask |= ((inside[q] >> position[d]) & 1) << d
            inside[q] = mask
    return count


@njit(**JIT)
def best_network(first, masks, price, network, work):
    """Return the most that the families of a network can be worth; ``network[L]`` lists them.

    What :func:`peel` leaves is solved by subsets: ``best`` is the worth of the best network on
    each, ``last`` its last variable, ``taken`` the family this one takes (−1: none inside).
    """
    size, n_families = first.shape[0] - 1, masks.shape[0]
    at = np.empty(size + 1, np.int64)
    inside, worth = np.empty(n_families, np.int64), np.empty(n_families)
    family = np.empty(n_families, np.int64)
    sort_families(first, masks, price, at, inside, worth, family)
    stop = at[1:].copy()
    base, chosen = np.zeros(size), np.full(size, -1, np.int64)
    active = peel(at, stop, inside, worth, family, base, chosen, (1 << size) - 1)
    total = 0.0
    for j in range(size):
        if not (active >> j) & 1:
            total += base[j]
    position = np.empty(size, np.int64)
    left = squeeze(active, at, stop, inside, base, position)
    best = np.empty(1 << left)
    last, taken = np.empty(1 << left, np.int64), np.empty(1 << left, np.int64)
    best[0] = 0.0
    tests = 0
    for subset in range(1, 1 << left):
        most, sink, choice = -1.0, -1, -1
        rest = subset
        while rest:
            low = rest & -rest
            rest ^= low
            c = np.int64(popcount(np.uint64(low - 1)))
            j = position[c]
            others = subset ^ low
            if best[others] + worth[at[j]] <= most + 1e-12:
                continue
            q = at[j]
            while q < stop[j] and inside[q] & ~others != 0:
                q += 1
            tests += q - at[j]
            trial = best[others] + (worth[q] if q < stop[j] else base[j])
            if trial > most + 1e-12:
                most, sink, choice = trial, c, family[q] if q < stop[j] else chosen[j]
        best[subset], last[subset], taken[subset] = most, sink, choice
    work[0] += 4 * (left << left) + tests + 4 * size * n_families
    subset = (1 << left) - 1
    while subset:
        chosen[position[last[subset]]] = taken[subset]
        subset ^= 1 << last[subset]
    count = 0
    network[:] = -1
    for j in range(size):
        if chosen[j] >= 0:
            network[count] = chosen[j]
            count += 1
    return total + best[(1 << left) - 1]


@njit(**JIT)
def worth_of(network, price):
    """Add up what the families of a network are worth."""
    total = 0.0
    for j in range(network.shape[0]):
        if network[j] < 0:
            break
        total += price[network[j]]
    return total


@njit(**JIT)
def pivot(inverse, basic, column, row):
    """Let ``column[K]`` enter the basis at ``row``: update the inverse and the basic values."""
    size = basic.shape[0]
    scale = 1.0 / column[row]
    for j in range(size):
        inverse[row, j] *= scale
    basic[row] *= scale
    for i in range(size):
        factor = column[i]
        if i != row and factor != 0.0:
            for j in range(size):
                inverse[i, j] -= factor * inverse[row, j]
            basic[i] = max(0.0, basic[i] - factor * basic[row])


@njit(**JIT)
def leaving_row(basic, column):
    """Return the row of the least ratio, the largest pivot among equals; −1 if there is none."""
    row, least = -1, np.inf
    for i in range(basic.shape[0]):
        if column[i] > 1e-9:
            ratio = basic[i] / column[i]
            if ratio < least - 1e-13 or (
                ratio < least + 1e-13 and (row < 0 or column[i] > column[row])
            ):
                row, least = i, min(ratio, least)
    return row


@njit(**JIT)
def cover(first, masks, value, least, work):
    """Cover the values by networks of least weight; return that weight and the prices.

    Column generation by the primal simplex method with a dense inverse: a column is a network
    (it weighs one) or the surplus of a family (it weighs nothing); the best network under the
    present prices comes from :func:`best_network`, unless one met before will do. Ends as soon
    as the weight is at most ``1 + least``: then there is nothing to cut off.
    """
    size, n_families = first.shape[0] - 1, masks.shape[0]
    inverse, basic = np.eye(n_families), value.copy()
    for k in range(n_families):
        basic[k] += 1e-7 * (1.0 + ((k * 7919) % 101) / 101.0)
    surplus = np.zeros(n_families, np.bool_)
    met = np.empty((MOST_STEPS, size), np.int64)
    n_met = 0
    price, column = np.ones(n_families), np.empty(n_families)
    for step in range(MOST_STEPS):
        if step % 50 == 0:
            price[:] = 0.0
            for i in range(n_families):
                if not surplus[i]:
                    for k in range(n_families):
                        price[k] += inverse[i, k]
        weight = 0.0
        for i in range(n_families):
            if not surplus[i]:
                weight += basic[i]
        if weight <= 1.0 + least:
            return weight, price
        negative = 0
        for k in range(n_families):
            if price[k] < price[negative]:
                negative = k
        enters_surplus = price[negative] < -1e-9
        if enters_surplus:
            reduced = price[negative]
            for i in range(n_families):
                column[i] = -inverse[i, negative]
        else:
            most, chosen = 1.0 + 1e-3, -1
            for k in range(n_met):
                worth = worth_of(met[k], price)
                if worth > most:
                    most, chosen = worth, k
            work[0] += n_met * size
            if chosen < 0:
                most = best_network(first, masks, price, met[n_met], work)
                if most <= 1.0 + 1e-7:
                    return weight, price
                chosen = n_met
                n_met += 1
            reduced = 1.0 - most
            for i in range(n_families):
                column[i] = worth_of(met[chosen], inverse[i])
        row = leaving_row(basic, column)
        if row < 0:
            return 0.0, price
        pivot(inverse, basic, column, row)
        work[0] += n_families * n_families
        for k in range(n_families):
            price[k] += reduced * inverse[row, k]
        surplus[row] = enters_surplus
    for k in range(n_families):
        price[k] = max(0.0, price[k])
    most = best_network(first, masks, price, met[0], work)
    weight = 0.0
    for k in range(n_families):
        price[k] /= most
        weight += price[k] * value[k]
    return weight, price


@njit(**JIT)
def whole(price):
    """Return the prices times the least number that makes them whole, rounded down."""
    factor = OTHERWISE
    for q in range(1, WHOLE_UP_TO + 1):
        fits = True
        for k in range(price.shape[0]):
            if abs(price[k] * q - np.rint(price[k] * q)) > 1e-5 * q:
                fits = False
                break
        if fits:
            factor = q
            break
    found = np.empty(price.shape[0], np.int64)
    for k in range(price.shape[0]):
        found[k] = max(0, np.int64(np.floor(price[k] * factor + 1e-4)))
    return found


@njit(**JIT)
def forward(table, best):
    """Fill ``best[2^L]``: the most a network on a subset is worth, in whole numbers.

    ``table[L, 2^L]`` says what child ``j`` is worth with its parents among a subset.
    """
    size = table.shape[0]
    best[0] = 0
    for subset in range(1, 1 << size):
        most = np.int64(-1)
        for j in range(size):
            if (subset >> j) & 1:
                rest = subset ^ (1 << j)
                most = max(most, best[rest] + table[j, rest])
        best[subset] = most


@njit(**JIT)
def backward(table, best):
    """Fill ``best[2^L]``: the most the other variables are worth when a subset stands first."""
    size = table.shape[0]
    best[(1 << size) - 1] = 0
    for subset in range((1 << size) - 2, -1, -1):
        most = np.int64(-1)
        for j in range(size):
            if not (subset >> j) & 1:
                most = max(most, best[subset | (1 << j)] + table[j, subset])
        best[subset] = most


@njit(**JIT)
def spread(first, masks, whole_price, table):
    """Fill ``table[L, 2^L]`` with the most a child's families inside each subset are worth."""
    size = table.shape[0]
    for j in range(size):
        row = table[j]
        row[:] = 0
        for k in range(first[j], first[j + 1]):
            row[masks[k]] = max(row[masks[k]], whole_price[k])
        for b in range(size):
            for subset in range(1 << size):
                if (subset >> b) & 1:
                    row[subset] = max(row[subset], row[subset ^ (1 << b)])


@njit(**JIT)
def lift(table, turns, work):
    """Raise the table as far as the cut stays valid, child by child; return its right side.

    A child ``j`` with parents ``U`` stands behind some subset ``T`` that holds ``U``: the others
    are then worth at most ``forward[T] + backward[T + j]``, and what is left of the right side
    is room for the coefficient. All sets of one child are raised at once, as it takes only one;
    the children follow each other as in ``turns[L]``.
    """
    size = table.shape[0]
    before, behind = np.empty(1 << size, np.int64), np.empty(1 << size, np.int64)
    forward(table, before)
    side = before[(1 << size) - 1]
    for turn in range(size):
        j = turns[turn]
        if turn > 0:
            forward(table, before)
        backward(table, behind)
        others = np.full(1 << size, -1, np.int64)
        for subset in range(1 << size):
            if not (subset >> j) & 1:
                others[subset] = before[subset] + behind[subset | (1 << j)]
        for b in range(size):
            for subset in range(1 << size):
                if not (subset >> b) & 1:
                    others[subset] = max(others[subset], others[subset | (1 << b)])
        for subset in range(1 << size):
            if not (subset >> j) & 1:
                table[j, subset] = max(table[j, subset], side - others[subset])
    work[0] += 3 * size * (size << size)
    return side


@njit(**JIT)
def best_worth(table):
    """Return the most a network on all variables is worth; ``table`` as in :func:`forward`."""
    best = np.empty(table.shape[1], np.int64)
    forward(table, best)
    return best[-1]


@njit(**JIT)
def local_cut(members, own_at, value, starts, parents, least, turns):
    """Look for a cut on ``members[L]``; return its table, right side, violation and the work.

    The table ``int64[L, 2^L]`` and the right side are whole numbers made by whole numbers alone:
    the cut holds for every network, whatever the floats before it did. The violation is relative to
    the right side, and zero when there is no cut.
    """
    work = np.zeros(1, np.int64)
    first, masks, inside = project_support(members, own_at, value, starts, parents)
    nothing = np.zeros((0, 0), np.int64)
    if masks.shape[0] < 3:
        return nothing, 0, 0.0, work[0]
    weight, price = cover(first, masks, inside, least, work)
    if weight <= 1.0 + least:
        return nothing, 0, 0.0, work[0]
    coefficient = whole(price)
    size = members.shape[0]
    table = np.empty((size, 1 << size), np.int64)
    spread(first, masks, coefficient, table)
    side = lift(table, turns, work)
    left = 0.0
    for j in range(size):
        for k in range(first[j], first[j + 1]):
            left += table[j, masks[k]] * inside[k]
    if side <= 0 or left <= side * (1.0 + 0.5 * least):
        return nothing, 0, 0.0, work[0]
    return table, side, left / side - 1.0, work[0]
