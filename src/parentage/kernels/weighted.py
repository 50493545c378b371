"""Count sets over rows that have weights (:mod:`parentage.scoring.weighted`).

The rows are distinct and few, so each set is counted by one pass over them. Sets that share their
first members share the labels of the rows by these.
"""

from __future__ import annotations

import numpy as np

from parentage.kernels._options import JIT, njit
from parentage.kernels.labels import join_labels


@njit(**JIT)
def count_weighted(members, codes, arity, label, n_labels, weights, f, G):
    """Set ``G[i]`` to Σ f(weight of a joint state) of set i.

    Parameters
    ----------
    members
        ``uint16[set, member]``, in lexicographic order.
    codes
        ``uint16[variable, row]``.
    arity
        ``int64[variable]``.
    label
        ``int64[row]``: joint state of the context, below ``n_labels``.
    n_labels
        Number of joint states of the context.
    weights
        ``int64[row]``.
    f
        ``int64[weight]``.
    G
        ``int64[set]``, filled.
    """
    n_sets, s = members.shape
    n_rows = len(label)
    labels = np.empty((s, n_rows), np.int64)
    counts = np.empty(s, np.int64)
    labels[0] = label
    counts[0] = n_labels
    for i in range(n_sets):
        same = 0
        if i > 0:
            while same < s - 1 and members[i, same] == members[i - 1, same]:
                same += 1
        for d in range(same, s - 1):
            v = members[i, d]
            counts[d + 1] = join_labels(labels[d], counts[d], codes[v], arity[v], labels[d + 1])
        v = members[i, s - 1]
        r = arity[v]
        total = np.zeros(counts[s - 1] * r, np.int64)
        last, column = labels[s - 1], codes[v]
        for row in range(n_rows):
            total[last[row] * r + np.int64(column[row])] += weights[row]
        g = np.int64(0)
        for cell in range(len(total)):
            g += f[total[cell]]
        G[i] = g
