"""Kernels that write cuts as rows of the linear programme.

The problem is given by ``offsets[n + 1]`` (sets by child), its sets as CSR (``starts[m + 1]``,
``parents``) and ``removed[m]``. As the sets of a child sum to one, the most frequent coefficient
of each child is subtracted from both sides: rows become short. Columns and coefficients are
written into arrays long enough for all sets of the members; the number of entries is returned,
and by how much the right side falls.
"""

from __future__ import annotations

import numpy as np

from parentage.kernels._options import JIT, njit


@njit(**JIT)
def counting_row(members, k, offsets, starts, parents, removed, columns, values):
    """Write the cut with coefficient one for the sets with at least ``k`` parents inside."""
    inside = np.zeros(offsets.shape[0] - 1, np.bool_)
    for j in range(members.shape[0]):
        inside[members[j]] = True
    count, shift = 0, 0
    for j in range(members.shape[0]):
        v = members[j]
        begin, ones, alive = count, 0, 0
        for i in range(offsets[v], offsets[v + 1]):
            if removed[i]:
                continue
            common = 0
            for p in range(starts[i], starts[i + 1]):
                common += inside[parents[p]]
            columns[count], values[count] = i, 1.0 if common >= k else 0.0
            count += 1
            alive += 1
            ones += common >= k
        usual = 1.0 if 2 * ones > alive else 0.0
        shift += np.int64(usual)
        count = keep_unusual(usual, begin, count, columns, values)
    return count, shift


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
def table_row(members, reach, table, offsets, starts, parents, removed, columns, values):
    """Write the cut whose coefficients are ``table[L, 2^L]``.

    ``reach[n]``: the members, as bits, that a parent brings in: itself, or those above it when
    it is passed through.
    """
    count, shift = 0, 0
    most = 0
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
            mask = 0
            for p in range(starts[i], starts[i + 1]):
                mask |= reach[parents[p]]
            coefficient = table[j, mask & ~(1 << j)]
            tally[coefficient] += 1
            columns[count], values[count] = i, coefficient
            count += 1
        usual = np.argmax(tally)
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

    Coefficients come from ``table`` by what a set reaches (:func:`table_row`), places from the
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
