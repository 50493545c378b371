"""Local cuts on a shrunken solution, for large sparse lists with long cycles.

A variable whose set is decided (x = 1) is passed through: as a parent it counts as the undecided
variables above it, by way of decided ones. A cycle through a hundred variables, nearly all
decided, is then a cycle of a few, and a local cut sees it. A cut found so holds while the decided
variables it passes through keep the parents by which they pass on; where one has others, the
left side is at most what the members are worth when only real parents count, and the difference
is the weight that those variables enter the cut with (:mod:`.cuts`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parentage.optimise.cuts import Cut, Sets, reach_of
from parentage.optimise.local_cuts import LocalCuts
from parentage.optimise.problem import offsets_of
from parentage.optimise.separate import Support

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from parentage.optimise.local_cuts import Effort
    from parentage.optimise.problem import Flags, Floats, Ints
    from parentage.optimise.run import Part

DECIDED = 1.0 - 1e-6
LEVEL = 1
"""The sizes of places (:data:`.local_cuts.SIZES`)."""


class ShrunkenCuts:
    """The separation of local cuts that pass through decided variables, for one part."""

    def __init__(self, part: Part, seed: int, pool: Executor | None = None) -> None:
        self._local = LocalCuts(seed + 1, pool)
        self._sets = Sets.of(part.problem)
        self._listed = listed_sets(part)

    @property
    def work(self) -> int:
        """Work done so far."""
        return self._local.work

    def separate(
        self, x: Floats, effort: Effort, stopped: Callable[[], bool] = lambda: False
    ) -> list[Cut]:
        """Return violated cuts, most violated first."""
        sets, n = self._sets, len(self._sets.offsets) - 1
        used = np.flatnonzero(x > DECIDED)
        decided = np.full(n, -1, np.int64)
        decided[np.searchsorted(sets.offsets, used, side="right") - 1] = used
        above = upwards(sets, decided)
        support = shrunken_support(Support.of(sets, x), decided >= 0, above)
        found = self._local.separate(support, [], effort, LEVEL, stopped)
        return [self._complete(cut, x, decided) for cut in found]

    def _complete(self, cut: Cut, x: Floats, decided: Ints) -> Cut:
        """Add the variables that a cut passes through, and what they weigh."""
        from parentage.kernels.local import best_worth
        from parentage.kernels.rows import worth_inside

        through = passed(self._sets, x, decided, cut.members)
        if not through:
            return cut
        table = np.asarray(cut.table, np.int64)
        passing = Cut("shrunken", cut.members, cut.side, 0, cut.table, through)
        worth = np.empty_like(table)
        members = np.array(cut.members, np.int64)
        worth_inside(members, reach_of(passing, len(decided)), table, *self._listed, worth)
        weight = max(0, int(best_worth(worth)) - cut.side)
        return Cut("shrunken", cut.members, cut.side, 0, cut.table, through, weight)


def listed_sets(part: Part) -> Sets:
    """Return all sets that the lists have for a part's variables, dominated ones, too.

    What a cut weighs must hold for all of them, so that a certificate can be checked without
    knowing what was dropped.
    """
    lists, variables = part.run.lists, part.problem.variables
    place = np.full(lists.n_variables, -1, np.int64)
    place[variables] = np.arange(len(variables))
    sets = np.concatenate([np.arange(*lists.offsets[v : v + 2]) for v in variables])
    owner = np.repeat(np.arange(lists.n_sets), np.diff(lists.starts))
    inside = place[lists.parents]
    sizes = np.bincount(owner[inside >= 0], minlength=lists.n_sets)
    order = np.full(lists.n_sets, -1, np.int64)
    order[sets] = np.arange(len(sets))
    kept = (inside >= 0) & (order[owner] >= 0)
    by_set = np.argsort(order[owner[kept]], kind="stable")
    return Sets(
        offsets_of(np.diff(lists.offsets)[variables]),
        offsets_of(sizes[sets]),
        inside[kept][by_set],
    )


def upwards(sets: Sets, decided: Ints) -> Flags:
    """``bool[n, n]``: what lies above each decided variable, by way of decided ones."""
    n = len(decided)
    above = np.zeros((n, n), np.bool_)
    passing = np.flatnonzero(decided >= 0)
    for u in passing:
        above[u, sets.parents[sets.starts[decided[u]] : sets.starts[decided[u] + 1]]] = True
    for u in passing:  # Warshall: whoever has u above has what is above u
        above[above[:, u]] |= above[u]
    return above


def shrunken_support(support: Support, decided: Flags, above: Flags) -> Support:
    """Return the support of the undecided variables, decided parents passed through."""
    flags = np.zeros((len(support.child), support.n), np.bool_)
    flags[np.repeat(np.arange(len(flags)), np.diff(support.starts)), support.parents] = True
    open_sets = ~decided[support.child]
    flags, child = flags[open_sets], support.child[open_sets]
    reached = flags.astype(np.float32) @ (above & decided[:, None]).astype(np.float32) > 0
    flags = (flags | reached) & ~decided[None, :]
    flags[np.arange(len(child)), child] = False
    return Support(
        support.n,
        child,
        support.value[open_sets],
        offsets_of(flags.sum(axis=1)),
        np.nonzero(flags)[1].astype(np.int64),
    )


def passed(
    sets: Sets, x: Floats, decided: Ints, members: tuple[int, ...]
) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Return the decided variables between members, with the parents they pass on."""

    def parents_of(i: int) -> list[int]:
        found: list[int] = sets.parents[sets.starts[i] : sets.starts[i + 1]].tolist()
        return found

    inside = set(members)
    queue = [
        p
        for v in members
        for i in range(*sets.offsets[v : v + 2])
        if x[i] > 1e-7
        for p in parents_of(i)
    ]
    met: dict[int, list[int]] = {}
    for u in queue:
        if decided[u] >= 0 and u not in inside and u not in met:
            met[u] = parents_of(int(decided[u]))
            queue.extend(met[u])
    leading: set[int] = set()
    grown = True
    while grown:
        grown = False
        for u, above in met.items():
            if u not in leading and any(p in inside or p in leading for p in above):
                leading.add(u)
                grown = True
    wanted = inside | leading
    return tuple((u, tuple(p for p in met[u] if p in wanted)) for u in sorted(leading))
