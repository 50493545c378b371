"""Local cuts: every facet of the networks on a few variables, where the LP solution needs them.

For a small set S of variables (a *support set*) take the LP solution as it looks there: child v has
the value x(v, U) on the sets whose part inside S is U. Either that is a mixture of networks on S,
or some inequality that all networks on S satisfy cuts it off. Which of the two, and the
inequality, comes out of covering x by networks of least weight (:mod:`parentage.kernels.local`): a
linear programme over all networks on S, whose columns are made by dynamic programming over the
2^|S| subsets. Coefficients then become whole, the right side is computed anew in whole numbers,
and the coefficients are raised as far as it allows, so every cut holds exactly. The idea is that
of Applegate, Bixby, Chvátal and Cook for the travelling salesman.

Most of the art is in choosing S: grown from fractional variables and from fractional arcs along
fractional arcs, united from overlapping cuts that bind, and where cuts were found before; each
cut down to its strongly connected core. They are looked at in batches whose size does not depend on
the number of threads: the same input gives the same cuts everywhere.

**Through cuts** are for large sparse lists with long cycles. A variable whose set is decided (x =
1) is passed through: as a parent it counts as the undecided variables above it, by way of decided
ones. A cycle through a hundred variables, nearly all decided, is then a cycle of a few, and a local
cut sees it. Such a cut holds while the decided variables it passes through keep the parents by
which they pass on; where one has others, the left side is at most what the members are worth when
only real parents count, and the difference is the weight that those variables enter the cut with
(:mod:`parentage.optimise.cuts`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parentage.optimise.cuts import Cut, Sets, reach_of
from parentage.optimise.lp.separation import FRACTIONAL, ZERO, Support
from parentage.optimise.problem import offsets_of, pack

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor

    from parentage.arrays import Flags, Floats, Ints
    from parentage.optimise.run import Part
    from parentage.optimise.tuning import Tuning

    SupportSet = tuple[int, ...]
    Look = tuple[Ints, int, float, int]  # table, right side, violation, work

BATCH, SHARE = 32, 8
"""Support sets looked at before the cuts found are counted; those a thread takes."""

SMALLEST = 4
"""Support sets of fewer variables have no local cuts beyond set packing and clusters."""

DECIDED = 1.0 - FRACTIONAL
"""A set of more value is the one its child takes."""


class LocalCuts:
    """The separation of local cuts for one part, with what it remembers from round to round."""

    def __init__(self, tuning: Tuning, seed: int, pool: Executor | None = None) -> None:
        self.tuning = tuning
        self.level = 0
        self.tried = 0
        self.work = 0
        self._pool = pool
        self._rng = np.random.default_rng([seed, 9])
        self._state = self._rng.integers(1 << 63, size=1, dtype=np.uint64)
        self._success: dict[SupportSet, float] = {}

    def separate(
        self,
        support: Support,
        binding: Sequence[Cut],
        level: int = 0,
        stopped: Callable[[], bool] = lambda: False,
    ) -> list[Cut]:
        """Return violated local cuts on support sets of a level of sizes, most violated first."""
        self.level, tuning = level, self.tuning
        enough = max(tuning.enough, support.n // 2)
        places = self._choose(support, binding, tuning.seeds)
        crowd = np.zeros(support.n, np.int64)
        found: list[tuple[float, Cut]] = []
        at, work = 0, 0
        while at < len(places) and len(found) < enough:
            batch: list[SupportSet] = []
            while at < len(places) and len(batch) < BATCH:
                if crowd[list(places[at])].min() < tuning.crowded:
                    batch.append(places[at])
                at += 1
            if stopped():
                break
            for place, (table, side, violation, used) in zip(
                batch, self._look(support, batch), strict=True
            ):
                work += used + tuning.overhead
                self.tried += 1
                if violation > 0.0:
                    cut = Cut("local", place, int(side), 0, table.astype(np.int16))
                    found.append((violation, cut))
                    crowd[list(place)] += 1
                    self._success[place] = self._success.get(place, 0.0) + 1.0
                elif place in self._success:
                    self._success[place] *= 0.5
        self.work += work
        found.sort(key=lambda pair: -pair[0])
        return [cut for _, cut in found]

    def _look(self, support: Support, batch: list[SupportSet]) -> list[Look]:
        """Look for a cut at every support set, side by side."""
        from parentage.kernels.local import local_cut

        arrays = support.own_at, support.value, support.starts, support.parents
        least = self.tuning.least
        tasks = [(np.array(p, np.int64), self._rng.permutation(len(p))) for p in batch]

        def look(share: list[tuple[Ints, Ints]]) -> list[Look]:
            return [local_cut(place, *arrays, least, turns) for place, turns in share]

        shares = [tasks[at : at + SHARE] for at in range(0, len(tasks), SHARE)]
        return [
            cut for cuts in (self._pool.map if self._pool else map)(look, shares) for cut in cuts
        ]

    def _choose(self, support: Support, binding: Sequence[Cut], most: int) -> list[SupportSet]:
        """Return support sets worth a look, each once, small ones rather first."""
        arc = support.matrix
        fraction = np.clip(np.minimum(arc, 1.0 - arc), 0.0, None)
        tie = fraction + fraction.T + 0.25 * (arc + arc.T)
        found = dict.fromkeys(self._grown(fraction, arc, tie, most))
        found.update(dict.fromkeys(self._united(binding, arc, most)))
        alive = set(np.flatnonzero(arc.sum(axis=0) + arc.sum(axis=1) > 0.0).tolist())
        remembered = [place for place in self._success if alive.issuperset(place)]
        remembered = sorted(remembered, key=lambda place: -self._success[place])[:most]
        found.update(dict.fromkeys(remembered))
        places = [place for place in found if len(place) >= SMALLEST]
        order = np.array([len(place) for place in places]) + 3 * self._rng.random(len(places))
        return [places[i] for i in np.argsort(order, kind="stable")]

    def _grown(self, fraction: Floats, arc: Floats, tie: Floats, most: int) -> list[SupportSet]:
        """Grow support sets from every fractional variable, and from some fractional arcs."""
        from parentage.kernels.local import grow_sets

        sizes, own = self.tuning.sizes[self.level], self.tuning.noise
        split = fraction > FRACTIONAL
        alone = np.flatnonzero(split.any(axis=0) | split.any(axis=1))
        heads, tails = np.nonzero(split)
        some = self._rng.permutation(len(heads))[:most]
        pairs = np.stack([heads[some], tails[some]], axis=1)
        single = np.stack([alone, np.full(len(alone), -1)], axis=1)
        seeds = np.concatenate([*(single for _ in sizes), pairs]).astype(np.int64)
        size = np.concatenate([np.repeat(sizes, len(alone)), self._rng.choice(sizes, len(pairs))])
        noise = np.repeat([own, 2 * own], [len(sizes) * len(alone), len(pairs)])
        places = np.empty((len(seeds), max(sizes)), np.int64)
        self.work += 4 * int(size.sum()) * len(arc)
        counts = grow_sets(seeds, size.astype(np.int64), noise, tie, arc, self._state, places)
        return _as_sets(places, counts)

    def _united(self, binding: Sequence[Cut], arc: Floats, most: int) -> list[SupportSet]:
        """Unite overlapping cuts that bind."""
        from parentage.kernels.local import unite_sets

        largest = max(self.tuning.sizes[self.level])
        sets = list(dict.fromkeys(c.members for c in binding if len(c.members) < largest))
        if len(sets) < 2:
            return []
        flags = np.zeros((len(sets), len(arc)), np.bool_)
        for row, members in zip(flags, sets, strict=True):
            row[list(members)] = True
        starts = self._rng.permutation(len(sets))[:most]
        sizes = self._rng.choice(self.tuning.sizes[self.level][-2:], len(starts))
        places = np.empty((3 * most, largest), np.int64)
        counts = unite_sets(pack(flags), flags.sum(axis=1), starts, sizes, arc, self._state, places)
        return _as_sets(places, counts)


def _as_sets(places: Ints, counts: Ints) -> list[SupportSet]:
    return [tuple(row[:count].tolist()) for row, count in zip(places, counts, strict=False)]


class ThroughCuts:
    """The separation of local cuts that pass through decided variables, for one part."""

    def __init__(self, part: Part, pool: Executor | None = None) -> None:
        self._local = LocalCuts(part.run.tuning, part.run.seed + 1, pool)
        self._sets = Sets.of(part.problem)
        self._listed = listed_sets(part)

    @property
    def work(self) -> int:
        """Work done so far."""
        return self._local.work

    def separate(self, x: Floats, stopped: Callable[[], bool] = lambda: False) -> list[Cut]:
        """Return violated cuts, most violated first."""
        sets, n = self._sets, len(self._sets.offsets) - 1
        used = np.flatnonzero(x > DECIDED)
        decided = np.full(n, -1, np.int64)
        decided[np.searchsorted(sets.offsets, used, side="right") - 1] = used
        above = upwards(sets, decided)
        support = shrunken_support(Support.of(sets, x), decided >= 0, above)
        level = min(1, len(self._local.tuning.sizes) - 1)
        found = self._local.separate(support, [], level, stopped)
        return [self._complete(cut, x, decided) for cut in found]

    def _complete(self, cut: Cut, x: Floats, decided: Ints) -> Cut:
        """Add the variables that a cut passes through, and what they weigh."""
        from parentage.kernels.cuts import worth_inside
        from parentage.kernels.local import best_worth

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
        if x[i] > ZERO
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
