"""Kernels that look for violated cuts in a fractional solution, and write cuts as rows.

The support of the solution, ``K`` sets with positive value, is given by ``child[K]``,
``value[K]`` and CSR parents ``starts[K + 1]``, ``parents``; ``users_at[n + 1]``, ``users`` list
for every variable the sets it is a parent in, and the sets of variable ``v`` itself are
``own_at[v] … own_at[v + 1] − 1``. A cut is a cluster of variables and a number k
(:mod:`parentage.optimise.cuts`); it is violated when

    f(C) = sum of value over the sets of members of C with fewer than k parents in C  <  k.

``support`` is the tuple of these arrays: child, value, starts, parents, users_at, users, own_at.
``sums`` is what a walk knows of its cluster: ``inside[n]``; ``common[K]``, parents inside it; and
``[n]`` each ``loss``, value of the sets of v that count towards f if v is a member, ``gain``, of
the members' sets that stop counting when v enters, and ``regain``, of those that count again when
it leaves. Values, gains and losses are ``float64``, flags and other numbers ``bool`` and ``int64``.

A row of the linear programme is written for a problem given by ``offsets[n + 1]`` (sets by child),
its sets as CSR (``starts[m + 1]``, ``parents``) and ``removed[m]``. As the sets of a child sum to
one, the most frequent coefficient of each child is subtracted from both sides: rows become short.
Columns and coefficients are written into arrays long enough for all sets of the members; the number
of entries is returned, and by how much the right side falls.
"""

from __future__ import annotations

import numpy as np

from parentage.kernels._options import JIT, njit
from parentage.kernels.regions import overwrite


@njit(**JIT)
def contribute(s, sign, k, common, gain, regain, value, starts, parents):
    """Count (or, with sign −1, discount) a member's set at its number of common parents."""
    if common[s] == k - 1:
        for p in range(starts[s], starts[s + 1]):
            gain[parents[p]] += sign * value[s]
    elif common[s] == k:
        for p in range(starts[s], starts[s + 1]):
            regain[parents[p]] += sign * value[s]


@njit(**JIT)
def flip(u, k, sums, support):
    """Let variable ``u`` change sides and bring the sums up to date."""
    inside, common, loss, gain, regain = sums
    child, value, starts, parents, users_at, users, own_at = support
    step = -1 if inside[u] else 1
    if inside[u]:
        for s in range(own_at[u], own_at[u + 1]):
            contribute(s, -1.0, k, common, gain, regain, value, starts, parents)
    for at in range(users_at[u], users_at[u + 1]):
        s = users[at]
        if inside[child[s]]:
            contribute(s, -1.0, k, common, gain, regain, value, starts, parents)
        if step == 1 and common[s] == k - 1:
            loss[child[s]] -= value[s]
        common[s] += step
        if step == -1 and common[s] == k - 1:
            loss[child[s]] += value[s]
        if inside[child[s]]:
            contribute(s, 1.0, k, common, gain, regain, value, starts, parents)
    inside[u] = not inside[u]
    if inside[u]:
        for s in range(own_at[u], own_at[u + 1]):
            contribute(s, 1.0, k, common, gain, regain, value, starts, parents)


@njit(**JIT)
def walk_clusters(k, tails, heads, least, tenure, patience, support):
    """Walk from every given pair to a cluster with small f (tabu search); return the violated.

    Each step lets the variable change sides that leaves f least; one that just changed has to
    wait for ``tenure`` steps, and ``tails`` stays. A walk ends after ``patience`` steps without a
    better cluster. The sets of variable ``v`` are ``own_at[v] … own_at[v + 1] − 1``.
    Returns clusters ``bool[c, n]`` with f below k by ``least`` and their f, each cluster once.
    """
    child, value, _, _, _, _, own_at = support
    n = own_at.shape[0] - 1
    found = np.zeros((tails.shape[0], n), np.bool_)
    values = np.empty(tails.shape[0])
    count = 0
    inside, best = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    common = np.empty(child.shape[0], np.int64)
    loss, gain, regain = np.empty(n), np.empty(n), np.empty(n)
    sums = (inside, common, loss, gain, regain)
    whole = np.zeros(n)
    for s in range(child.shape[0]):
        whole[child[s]] += value[s]
    waits = np.empty(n, np.int64)
    for start in range(tails.shape[0]):
        inside[:] = False
        common[:] = 0
        overwrite(loss, whole)
        gain[:] = 0.0
        regain[:] = 0.0
        waits[:] = 0
        f, best_f, size, idle, step = 0.0, np.inf, 0, 0, 0
        new = tails[start]
        while new >= 0:
            f += regain[new] - loss[new] if inside[new] else loss[new] - gain[new]
            size += -1 if inside[new] else 1
            flip(new, k, sums, support)
            step += 1
            waits[new] = step + tenure
            idle += 1
            if size > k and f < best_f - 1e-9:
                best_f = f
                overwrite(best, inside)
                idle = 0
            if size == 1 and step == 1:
                new = heads[start]
                continue
            new = -1
            if idle > patience:
                break
            least_change = np.inf
            for v in range(n):
                if waits[v] > step or v == tails[start]:
                    continue
                if inside[v]:
                    change = regain[v] - loss[v] if size > k + 1 else np.inf
                else:
                    change = loss[v] - gain[v] if gain[v] > 1e-9 else np.inf
                if change < least_change:
                    least_change = change
                    new = v
        if best_f < k - least and not _listed(best, found, count):
            overwrite(found[count], best)
            values[count] = best_f
            count += 1
    return found[:count], values[:count]


@njit(**JIT)
def _listed(cluster, found, count):
    """Whether a cluster is among the first ``count`` rows."""
    for row in range(count):
        same = True
        for v in range(cluster.shape[0]):
            if found[row, v] != cluster[v]:
                same = False
                break
        if same:
            return True
    return False


@njit(**JIT)
def count_groups(child, starts, largest):
    """Count the groups of at most ``largest`` members that :func:`list_groups` lists."""
    total = 0
    for s in range(child.shape[0]):
        size = starts[s + 1] - starts[s]
        total += size
        if largest >= 3:
            total += size * (size - 1) // 2
        if largest >= 4:
            total += size * (size - 1) * (size - 2) // 6
    return total


@njit(**JIT)
def list_groups(child, value, starts, parents, largest, groups, weights):
    """List every group made of a child and 1 … ``largest`` − 1 of its parents in a set.

    ``groups[g, 4]`` holds the members by falling index, −1 behind them; ``weights[g]`` the value
    of the set. Summed over equal groups, weights are the left side of a set-packing cut.
    """
    g = 0
    for s in range(child.shape[0]):
        for a in range(starts[s], starts[s + 1]):
            g = _write_group(groups, weights, g, value[s], child[s], parents[a], -1, -1)
            if largest < 3:
                continue
            for b in range(a + 1, starts[s + 1]):
                g = _write_group(groups, weights, g, value[s], child[s], parents[a], parents[b], -1)
                if largest < 4:
                    continue
                for c in range(b + 1, starts[s + 1]):
                    g = _write_group(
                        groups, weights, g, value[s], child[s], parents[a], parents[b], parents[c]
                    )


@njit(**JIT)
def _write_group(groups, weights, g, weight, v, a, b, c):
    """Enter one group, sorted; return the next free row."""
    row = groups[g]
    row[0], row[1], row[2], row[3] = v, a, b, c
    for i in range(1, 4):
        j = i
        while j > 0 and row[j] > row[j - 1]:
            row[j], row[j - 1] = row[j - 1], row[j]
            j -= 1
    weights[g] = weight
    return g + 1


@njit(**JIT)
def keep_unusual(usual, begin, end, columns, values):
    """Subtract the usual coefficient and drop the zeros; return the new end."""
    kept = begin
    for q in range(begin, end):
        if values[q] != usual:
            columns[kept], values[kept] = columns[q], values[q] - usual
            kept += 1
    return kept


@njit(**JIT)
def row_of(members, k, reach, table, offsets, starts, parents, removed, columns, values):
    """Write the cut whose coefficient is one for sets with ``k`` parents inside or more.

    If ``k`` is 0, coefficients are those of ``table[L, 2^L]``. ``reach[n]`` is what a parent counts
    for: one for members if ``k`` is not 0; otherwise the members, as bits, that it brings in:
    itself, or those above it when it is passed through.
    """
    count, shift = 0, 0
    most = 1
    for j in range(table.shape[0]):
        for subset in range(table.shape[1]):
            most = max(most, table[j, subset])
    tally = np.zeros(most + 1, np.int64)
    for j in range(members.shape[0]):
        v = members[j]
        begin = count
        tally[:] = 0
        for i in range(offsets[v], offsets[v + 1]):
            if removed[i]:
                continue
            held, mask = 0, 0
            for p in range(starts[i], starts[i + 1]):
                held += reach[parents[p]]
                mask |= reach[parents[p]]
            coefficient = int(held >= k) if k > 0 else int(table[j, mask & ~(1 << j)])
            tally[coefficient] += 1
            columns[count], values[count] = i, coefficient
            count += 1
        usual = 0
        for coefficient in range(1, most + 1):  # the first of the most frequent
            if tally[coefficient] > tally[usual]:
                usual = coefficient
        shift += usual
        count = keep_unusual(float(usual), begin, count, columns, values)
    return count, shift


@njit(**JIT)
def passing_row(
    u, above, weight, offsets, starts, parents, removed, columns, values, count
):  # fmt: skip
    """Append the sets of ``u`` that hold all of ``above``, with ``weight``; return the count."""
    for i in range(offsets[u], offsets[u + 1]):
        held = 0
        for p in range(starts[i], starts[i + 1]):
            for q in range(above.shape[0]):
                held += parents[p] == above[q]
        if held == above.shape[0] and not removed[i]:
            columns[count], values[count] = i, weight
            count += 1
    return count


@njit(**JIT)
def worth_inside(members, reach, table, offsets, starts, parents, worth):
    """Fill ``worth[L, 2^L]``: the most a set of a member is worth by the parents it really has.

    Coefficients come from ``table`` by what a set reaches (:func:`row_of`), places from the
    members among its parents; a subset is worth at least what a smaller one is.
    """
    size = members.shape[0]
    own = np.full(offsets.shape[0] - 1, -1, np.int64)
    for j in range(size):
        own[members[j]] = j
    worth[:] = 0
    for j in range(size):
        for i in range(offsets[members[j]], offsets[members[j] + 1]):
            mask, inside = 0, 0
            for p in range(starts[i], starts[i + 1]):
                mask |= reach[parents[p]]
                if own[parents[p]] >= 0:
                    inside |= 1 << own[parents[p]]
            worth[j, inside] = max(worth[j, inside], table[j, mask & ~(1 << j)])
        for b in range(size):
            for subset in range(1 << size):
                if (subset >> b) & 1:
                    worth[j, subset] = max(worth[j, subset], worth[j, subset ^ (1 << b)])
