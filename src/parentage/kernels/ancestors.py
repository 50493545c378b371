"""Kernel that follows up forced arcs: ancestors, and sets that would close a cycle with them."""

from __future__ import annotations

import numpy as np

from parentage.kernels._options import JIT, njit


@njit(**JIT)
def shut_cycles(offsets, starts, parents, left):
    """Shut sets that close a cycle with forced arcs, until there are none; False: no network.

    ``left[m]`` marks the sets left (changed in place), by child as ``offsets[n + 1]`` says, as
    CSR ``starts[m + 1]``, ``parents``. An arc is forced when all sets left of its child hold
    it; forced arcs make ancestors; a set must not hold a descendant of its child.
    """
    n = offsets.shape[0] - 1
    above = np.empty((n, n), np.bool_)
    tally = np.empty(n, np.int64)
    while True:
        above[:] = False
        for v in range(n):
            count = 0
            tally[:] = 0
            for i in range(offsets[v], offsets[v + 1]):
                if left[i]:
                    count += 1
                    for p in range(starts[i], starts[i + 1]):
                        tally[parents[p]] += 1
            if count == 0:
                return False
            for u in range(n):
                above[v, u] = tally[u] == count
        for via in range(n):
            for v in range(n):
                if above[v, via]:
                    for u in range(n):
                        above[v, u] |= above[via, u]
        changed = False
        for v in range(n):
            if above[v, v]:
                return False
            for i in range(offsets[v], offsets[v + 1]):
                if left[i]:
                    for p in range(starts[i], starts[i + 1]):
                        if above[parents[p], v]:
                            left[i] = False
                            changed = True
                            break
        if not changed:
            return True
