"""Rows as numbers: the partition by some variables as a label per row.

Joining a variable numbers the pairs (label, state) that occur in the order of first sight. Where
few pairs are possible a table of them is looked up, otherwise a hash table with linear probing.
"""

from __future__ import annotations

import numpy as np

from parentage.kernels._options import JIT, njit
from parentage.kernels.bits import SPREAD, U


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
