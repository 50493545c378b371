"""The least cost of a forest: every variable has one parent or none (Chu, Liu, Edmonds).

Every variable takes its cheapest way in; where these ways close cycles, each cycle becomes one
variable, with what a way into it costs beyond what it replaces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from parentage.check.whole import Ints

NEVER = 2**61


def least_forest(into: Ints) -> int:
    """Return the least cost, :data:`NEVER` if there is no forest.

    ``into`` is ``int64[n + 1, n + 1]``: entry ``[u, v]`` is the cost of parent ``u`` for ``v``,
    row 0 the cost of no parent at all, column 0 without meaning; NEVER where impossible.

    >>> into = np.full((3, 3), NEVER)
    >>> into[0, 1], into[0, 2], into[1, 2], into[2, 1] = 2, 4, 0, 0
    >>> least_forest(into)
    2
    """
    into = into.copy()
    total: int = 0
    while True:
        np.fill_diagonal(into, NEVER)
        into[:, 0] = NEVER
        if len(into) == 1:
            return total
        pick = into.argmin(axis=0)
        least = into[pick, np.arange(len(into))]
        if (least[1:] >= NEVER).any():
            return NEVER
        total += sum(least[1:].tolist())
        into[:, 1:] = np.where(into[:, 1:] < NEVER, into[:, 1:] - least[1:], NEVER)
        group = _cycles(pick.tolist())
        n_groups = max(group) + 1
        if n_groups == len(into):
            return total
        into = _contract(into, np.array(group))


def _cycles(pick: list[int]) -> list[int]:
    """Number the variables so that those of a cycle share a number; the root keeps 0."""
    n = len(pick)
    group = [-1] * n
    group[0] = 0
    state = [0] * n
    state[0] = 2
    free = 1
    for start in range(1, n):
        path = []
        v = start
        while state[v] == 0:
            state[v] = 1
            path.append(v)
            v = pick[v]
        if state[v] == 1:  # met this path again: a cycle
            for u in path[path.index(v) :]:
                group[u] = free
            free += 1
        for u in path:
            state[u] = 2
            if group[u] < 0:
                group[u] = free
                free += 1
    return group


def _contract(into: Ints, group: Ints) -> Ints:
    """Take the least entry between any two groups."""
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(int(group.max()) + 1))
    rows = np.minimum.reduceat(into[order][:, order], starts, axis=0)
    contracted: Ints = np.minimum.reduceat(rows, starts, axis=1)
    return contracted
