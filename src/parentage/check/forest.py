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
    return sum(price for _, price in forest_prices(into))


def forest_prices(into: Ints) -> list[tuple[list[int], int]]:
    """Return the groups of variables that a forest is entered into at a price, and the prices.

    Any forest enters each group at least once, and no way in costs less than the prices of all
    groups that it enters: so the prices add up to a lower bound, and it is the least cost.
    A price is :data:`NEVER` if there is no forest.

    >>> into = np.full((3, 3), NEVER)
    >>> into[0, 1], into[0, 2], into[1, 2], into[2, 1] = 2, 4, 0, 0
    >>> forest_prices(into)
    [([1], 0), ([2], 0), ([1, 2], 2)]
    """
    into = into.copy()
    members = [[v] for v in range(len(into))]
    found: list[tuple[list[int], int]] = []
    while True:
        np.fill_diagonal(into, NEVER)
        into[:, 0] = NEVER
        if len(into) == 1:
            return found
        pick = into.argmin(axis=0)
        least = into[pick, np.arange(len(into))]
        if (least[1:] >= NEVER).any():
            return [(members[int(least[1:].argmax()) + 1], NEVER)]
        found += zip(members[1:], least[1:].tolist(), strict=True)
        into[:, 1:] = np.where(into[:, 1:] < NEVER, into[:, 1:] - least[1:], NEVER)
        group = _cycles(pick.tolist())
        n_groups = max(group) + 1
        if n_groups == len(into):
            return found
        into = _contract(into, np.array(group))
        members = [
            sorted(v for own, g in zip(members, group, strict=True) if g == k for v in own)
            for k in range(n_groups)
        ]


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
