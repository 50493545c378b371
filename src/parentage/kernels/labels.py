"""Labels of rows: the partition by a set of variables as one number per row.

Joining a variable numbers the pairs (label, state) that occur in the order of first sight. Where
few pairs are possible a table of them is looked up, otherwise a hash table with linear probing.
"""

from __future__ import annotations

import numpy as np

from parentage.kernels._options import JIT, njit

U = np.uint64
SPREAD = U(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio, odd


@njit(wraps=True, **JIT)
def join_labels(labels, n_labels, column, n_states, out):
    """Write into ``out[row]`` the number of the pair (labels[row], column[row]).

    ``labels`` and ``out`` are ``int64[row]``, ``column`` is ``uint16[row]``; labels are below
    ``n_labels``, states below ``n_states``. Returns the number of pairs that occur.
    """
    n_rows = len(labels)
    found = np.int64(0)
    if n_labels * n_states <= 4 * n_rows:
        number = np.full(n_labels * n_states, -1, np.int64)
        for i in range(n_rows):
            pair = labels[i] * n_states + np.int64(column[i])
            if number[pair] < 0:
                number[pair] = found
                found += 1
            out[i] = number[pair]
        return found
    bits = 1
    while 1 << bits < 2 * n_rows:
        bits += 1
    shift = U(64 - bits)
    last = U((1 << bits) - 1)
    key = np.full(1 << bits, -1, np.int64)
    number = np.empty(1 << bits, np.int64)
    for i in range(n_rows):
        pair = labels[i] * n_states + np.int64(column[i])
        slot = (U(pair) * SPREAD) >> shift
        while key[slot] != pair and key[slot] >= 0:
            slot = (slot + U(1)) & last
        if key[slot] < 0:
            key[slot] = pair
            number[slot] = found
            found += 1
        out[i] = number[slot]
    return found


def first_seen(labels):
    """Number what occurs in the order of first sight: a number for each, and where each was first.

    >>> [found.tolist() for found in first_seen(np.array([7, 3, 7, 5]))]
    [[0, 1, 0, 2], [0, 1, 3]]
    """
    _, first, which = np.unique(labels, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    return number[which], first[order]


@njit(
    work=lambda labels, _n, _codes, variables, _states: 0.15 * len(labels) * len(variables), **JIT
)
def join_columns(labels, n_labels, codes, variables, n_states):
    """Join several variables: ``codes`` is ``uint16[variable, row]``, ``n_states[variable]``.

    Returns the labels, in a new array, and how many there are.
    """
    one, other = labels.copy(), np.empty_like(labels)
    count = np.int64(n_labels)
    for v in variables:
        count = join_labels(one, count, codes[v], n_states[v], other)
        one, other = other, one
    return one, count


@join_columns.as_numpy
def _join_columns(labels, n_labels, codes, variables, n_states):
    count = n_labels
    for v in variables:
        labels, first = first_seen(labels * n_states[v] + codes[v])
        count = np.int64(len(first))
    return labels.copy(), count
