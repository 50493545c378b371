"""Separation: the cuts a fractional solution violates.

The counting cuts, by four separators, from quick to sure:

- :func:`packings`: all set-packing cuts of two to four members, by adding up the support;
- :func:`clusters`: cluster and k-cluster cuts, found by walks that start at arcs of the support;
- :func:`short_cycles`: cluster cuts on the shortest cycles of the support, for long cycles;
- :func:`exact_cluster`: the most violated cluster cut by a small integer programme, for when
  the others find nothing.

**Local cuts** are every facet of the networks on a few variables, where the LP solution needs them.
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

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from parentage.optimise.cuts import Cut, counting_cut, reach_of, unique
from parentage.optimise.problem import Sets, allowed_problem, offsets_of, pack

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor

    from parentage.arrays import Flags, Floats, Ints
    from parentage.optimise.run import Part
    from parentage.optimise.tuning import Tuning

    SupportSet = tuple[int, ...]
    Look = tuple[Ints, int, float, int]  # table, right side, violation, work

ZERO = 1e-7
"""Values below this are not in the support."""

FRACTIONAL = 1e-6
"""Values this close to 0 or 1 count as whole."""

BATCH, SHARE = 32, 8
"""Support sets looked at before the cuts found are counted; those a thread takes."""

SMALLEST = 4
"""Support sets of fewer variables have no local cuts beyond set packing and clusters."""

MOST_NODES = 200
"""Nodes after which the exact separation of a cluster gives up: no solution is worth a stall."""

DECIDED = 1.0 - FRACTIONAL
"""A set of more value is the one its child takes."""


@dataclass(frozen=True, eq=False)
class UsedSets:
    """The sets with positive value: child, value, parents in CSR form (see the kernels)."""

    n: int
    child: Ints
    value: Floats
    starts: Ints
    parents: Ints

    @classmethod
    def of(cls, sets: Sets, x: Floats) -> UsedSets:
        """Take what is positive in ``x[m]``."""
        used = np.flatnonzero(x > ZERO)
        sizes = sets.starts[used + 1] - sets.starts[used]
        starts = offsets_of(sizes)
        at = np.repeat(sets.starts[used] - starts[:-1], sizes) + np.arange(starts[-1])
        child = np.searchsorted(sets.offsets, used, side="right") - 1
        return cls(len(sets.offsets) - 1, child, x[used], starts, sets.parents[at])

    @cached_property
    def own_at(self) -> Ints:
        """Where the sets of each variable start."""
        return offsets_of(np.bincount(self.child, minlength=self.n))

    @cached_property
    def users(self) -> tuple[Ints, Ints]:
        """For every variable the sets it is a parent in, as CSR."""
        owner = np.repeat(np.arange(len(self.child)), np.diff(self.starts))
        by_parent = np.argsort(self.parents, kind="stable")
        return offsets_of(np.bincount(self.parents, minlength=self.n)), owner[by_parent]

    @cached_property
    def matrix(self) -> Floats:
        """``float64[n, n]``: the value of the arc u → v at ``[v, u]``."""
        head = np.repeat(self.child, np.diff(self.starts))
        weight = np.repeat(self.value, np.diff(self.starts))
        flat = np.bincount(head * self.n + self.parents, weight, self.n * self.n).astype(float)
        return flat.reshape(self.n, self.n)

    @cached_property
    def arcs(self) -> tuple[Ints, Ints, Floats]:
        """Arcs (parents, children) that lie on a cycle, and their values, heaviest first."""
        from parentage.kernels.digraph import strong_components

        head = np.repeat(self.child, np.diff(self.starts))
        key, slot = np.unique(self.parents * self.n + head, return_inverse=True)
        weight = np.bincount(slot, np.repeat(self.value, np.diff(self.starts)), len(key))
        tails, heads = key // self.n, key % self.n
        label = strong_components(offsets_of(np.bincount(tails, minlength=self.n)), heads)
        inner = label[tails] == label[heads]
        tails, heads, weight = tails[inner], heads[inner], weight[inner]
        order = np.argsort(-weight, kind="stable")
        return tails[order], heads[order], weight[order]


def packings(support: UsedSets, tuning: Tuning, *, largest: int = 4) -> list[Cut]:
    """Return violated set-packing cuts of up to ``largest`` members, most violated first."""
    from parentage.kernels.cuts import count_groups, list_groups

    arrays = (support.child, support.value, support.starts, support.parents)
    count = count_groups(support.child, support.starts, largest)
    groups, weights = np.empty((count, 4), np.int64), np.empty(count)
    list_groups(*arrays, largest, groups, weights)
    code = groups + 1
    key = ((code[:, 0] << 16 | code[:, 1]) << 16 | code[:, 2]) << 15 | code[:, 3]
    _, first, slot = np.unique(key, return_index=True, return_inverse=True)
    totals = np.bincount(slot, weights, len(first))
    violated = np.flatnonzero(totals > 1.0 + tuning.least)
    violated = violated[np.argsort(-totals[violated], kind="stable")]
    found = []
    for row in groups[first[violated]]:
        members = tuple(sorted(int(v) for v in row if v >= 0))
        found.append(counting_cut(members, len(members) - 1))
    return found


def clusters(support: UsedSets, tuning: Tuning, k: int = 1) -> list[Cut]:
    """Return violated (k-)cluster cuts found by short walks, most violated first."""
    from parentage.kernels.cuts import walk_clusters

    tails, heads, _ = support.arcs
    found, values = walk_clusters(
        k,
        tails,
        heads,
        tuning.least,
        tuning.tenure,
        3 * tuning.tenure,
        (
            support.child,
            support.value,
            support.starts,
            support.parents,
            *support.users,
            support.own_at,
        ),
    )
    return [counting_cut(np.flatnonzero(found[i]), k) for i in np.argsort(values, kind="stable")]


def short_cycles(support: UsedSets, tuning: Tuning) -> list[Cut]:
    """Return violated cluster cuts on cycles of the support, most violated first.

    An arc of value w is 1 − w long: exactly the cycles shorter than one are too heavy.
    """
    from parentage.kernels.digraph import shortest_cycles

    tails, heads, weight = support.arcs
    order = np.lexsort((heads, tails))
    tails, heads, weight = tails[order], heads[order], weight[order]
    ruffled = 1e-6 + 1e-4 * ((tails * 7919 + heads * 104729) % 1009) / 1009
    length = np.maximum(0.0, 1.0 - weight) + ruffled
    rings, sizes = np.empty((support.n, support.n), np.int64), np.zeros(support.n, np.int64)
    starts = offsets_of(np.bincount(tails, minlength=support.n))
    lengths = shortest_cycles(starts, heads, length, 1.0 - 10 * tuning.least, rings, sizes)
    shortest = np.argsort(lengths, kind="stable")[: np.count_nonzero(sizes)]
    return unique(counting_cut(rings[v, : sizes[v]], 1, "cycle") for v in shortest)


def plain_cuts(support: UsedSets, tuning: Tuning) -> list[Cut]:
    """Return what the quick separators find; k-cluster cuts only when that is little.

    Cycle cuts are for large parts and for when the walks find few. Set packing is a special case
    of k-cluster cuts, so without it there are none of those.
    """
    found = clusters(support, tuning)
    found += packings(support, tuning, largest=4 if tuning.set_packing else 2)
    if support.n > 60 or len(found) < tuning.few:
        found += short_cycles(support, tuning)
    if tuning.set_packing and len(found) < tuning.few:
        found += clusters(support, tuning, 2)
    return unique(found)


def exact_cluster(support: UsedSets, tuning: Tuning, seconds: float = math.inf) -> Cut | None:
    """Return a violated cluster cut if there is one; None, too, when that became too much work.

    An integer programme: y[v] = 1 for members; z = 1 for a set of the support that belongs to a
    member and holds another; maximise the value of those sets minus the number of members.
    Above −1 the cluster's cut is violated, and the first such cluster will do.
    """
    import highspy

    tails, heads, _ = support.arcs
    nodes = np.unique(np.concatenate([tails, heads]))
    if len(nodes) == 0:
        return None
    cost, starts, columns, signs = _cluster_programme(support, nodes)
    solver = highspy.Highs()
    solver.silent()
    if math.isfinite(seconds):
        solver.setOptionValue("time_limit", max(0.0, seconds))
    solver.setOptionValue("mip_max_nodes", MOST_NODES)
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("objective_target", -1.0 + 10 * tuning.least)
    solver.changeObjectiveSense(highspy.ObjSense.kMaximize)
    every, members = np.arange(len(cost), dtype=np.int32), len(nodes)
    solver.addVars(len(cost), np.zeros(len(cost)), np.ones(len(cost)))
    solver.changeColsCost(len(cost), every, cost)
    whole = np.full(members, highspy.HighsVarType.kInteger)
    solver.changeColsIntegrality(members, every[:members], whole)
    rows = len(starts) - 1
    below = np.full(rows, -highspy.kHighsInf)
    solver.addRows(rows, below, np.zeros(rows), len(columns), starts[:-1], columns, signs)
    solver.addRow(2.0, highspy.kHighsInf, members, every[:members], np.ones(members))
    solver.run()
    info = solver.getInfo()
    feasible = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    if not feasible or info.objective_function_value <= -1.0 + tuning.least:
        return None
    values = np.array(solver.getSolution().col_value[:members])
    return counting_cut(nodes[values > 0.5], 1)


def _cluster_programme(
    support: UsedSets, nodes: Ints
) -> tuple[Floats, npt.NDArray[np.int32], npt.NDArray[np.int32], Floats]:
    """Return costs, and rows z <= y[child], z <= sum of y[parents] as CSR, all ``<= 0``."""
    position = np.full(support.n, -1, np.int64)
    position[nodes] = np.arange(len(nodes))
    cost = [-1.0] * len(nodes)
    starts, columns, signs = [0], list[int](), list[float]()
    for s, v in enumerate(support.child):
        inside = position[support.parents[support.starts[s] : support.starts[s + 1]]]
        inside = inside[inside >= 0]
        if position[v] < 0 or len(inside) == 0:
            continue
        z = len(cost)
        cost.append(float(support.value[s]))
        columns += [z, int(position[v]), z, *inside.tolist()]
        signs += [1.0, -1.0, 1.0, *([-1.0] * len(inside))]
        starts += [starts[-1] + 2, starts[-1] + 3 + len(inside)]
    as_int32 = np.array(starts, np.int32), np.array(columns, np.int32)
    return np.array(cost), *as_int32, np.array(signs)


class LocalCuts:
    """The separation of local cuts for one part, with what it remembers from round to round."""

    def __init__(self, tuning: Tuning, seed: int, pool: Executor | None = None) -> None:
        self.tuning = tuning
        self.work = 0
        self._pool = pool
        self._rng = np.random.default_rng([seed, 9])
        self._state = self._rng.integers(1 << 63, size=1, dtype=np.uint64)
        self._success: dict[SupportSet, float] = {}

    def separate(
        self,
        support: UsedSets,
        binding: Sequence[Cut],
        level: int = 0,
        stopped: Callable[[], bool] = lambda: False,
    ) -> list[Cut]:
        """Return violated local cuts on support sets of a level of sizes, most violated first."""
        tuning = self.tuning
        enough = max(tuning.enough, support.n // 2)
        places = self._choose(support, binding, tuning.sizes[level])
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

    def _look(self, support: UsedSets, batch: list[SupportSet]) -> list[Look]:
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

    def _choose(
        self, support: UsedSets, binding: Sequence[Cut], sizes: tuple[int, ...]
    ) -> list[SupportSet]:
        """Return support sets worth a look, each once, small ones rather first."""
        arc, most = support.matrix, self.tuning.seeds
        fraction = np.clip(np.minimum(arc, 1.0 - arc), 0.0, None)
        tie = fraction + fraction.T + 0.25 * (arc + arc.T)
        found = dict.fromkeys(self._grown(fraction, arc, tie, sizes))
        found.update(dict.fromkeys(self._united(binding, arc, sizes)))
        alive = set(np.flatnonzero(arc.sum(axis=0) + arc.sum(axis=1) > 0.0).tolist())
        remembered = [place for place in self._success if alive.issuperset(place)]
        remembered = sorted(remembered, key=lambda place: -self._success[place])[:most]
        found.update(dict.fromkeys(remembered))
        places = [place for place in found if len(place) >= SMALLEST]
        order = np.array([len(place) for place in places]) + 3 * self._rng.random(len(places))
        return [places[i] for i in np.argsort(order, kind="stable")]

    def _grown(
        self, fraction: Floats, arc: Floats, tie: Floats, sizes: tuple[int, ...]
    ) -> list[SupportSet]:
        """Grow support sets from every fractional variable, and from some fractional arcs."""
        from parentage.kernels.local import grow_sets

        own = self.tuning.noise
        split = fraction > FRACTIONAL
        alone = np.flatnonzero(split.any(axis=0) | split.any(axis=1))
        heads, tails = np.nonzero(split)
        some = self._rng.permutation(len(heads))[: self.tuning.seeds]
        pairs = np.stack([heads[some], tails[some]], axis=1)
        single = np.stack([alone, np.full(len(alone), -1)], axis=1)
        seeds = np.concatenate([*(single for _ in sizes), pairs]).astype(np.int64)
        size = np.concatenate([np.repeat(sizes, len(alone)), self._rng.choice(sizes, len(pairs))])
        noise = np.repeat([own, 2 * own], [len(sizes) * len(alone), len(pairs)])
        places = np.empty((len(seeds), max(sizes)), np.int64)
        self.work += 4 * int(size.sum()) * len(arc)
        counts = grow_sets(seeds, size.astype(np.int64), noise, tie, arc, self._state, places)
        return _as_sets(places, counts)

    def _united(
        self, binding: Sequence[Cut], arc: Floats, sizes: tuple[int, ...]
    ) -> list[SupportSet]:
        """Unite overlapping cuts that bind."""
        from parentage.kernels.local import unite_sets

        largest = max(sizes)
        sets = list(dict.fromkeys(c.members for c in binding if len(c.members) < largest))
        if len(sets) < 2:
            return []
        flags = np.zeros((len(sets), len(arc)), np.bool_)
        for row, members in zip(flags, sets, strict=True):
            row[list(members)] = True
        starts = self._rng.permutation(len(sets))[: self.tuning.seeds]
        size = self._rng.choice(sizes[-2:], len(starts))
        places = np.empty((3 * self.tuning.seeds, largest), np.int64)
        counts = unite_sets(pack(flags), flags.sum(axis=1), starts, size, arc, self._state, places)
        return _as_sets(places, counts)


def _as_sets(places: Ints, counts: Ints) -> list[SupportSet]:
    return [tuple(row[:count].tolist()) for row, count in zip(places, counts, strict=False)]


def through_cuts(
    local: LocalCuts, sets: Sets, listed: Sets, x: Floats, stopped: Callable[[], bool]
) -> list[Cut]:
    """Return violated local cuts that pass through decided variables, most violated first.

    ``listed`` are all sets that the lists have for the variables (:func:`listed_sets`).
    """
    used = np.flatnonzero(x > DECIDED)
    decided = np.full(len(sets.offsets) - 1, -1, np.int64)
    decided[np.searchsorted(sets.offsets, used, side="right") - 1] = used
    above = upwards(sets, decided)
    support = shrunken_support(UsedSets.of(sets, x), decided >= 0, above)
    level = min(1, len(local.tuning.sizes) - 1)
    return [
        weighed(replace(cut, through=passed(sets, x, decided, above, cut.members)), listed)
        for cut in local.separate(support, [], level, stopped)
    ]


def weighed(cut: Cut, listed: Sets) -> Cut:
    """Return a cut with what the variables weigh that it passes through."""
    from parentage.kernels.cuts import worth_inside
    from parentage.kernels.local import best_worth

    if not cut.through:
        return cut
    table = np.asarray(cut.table, np.int64)
    worth, members = np.empty_like(table), np.array(cut.members, np.int64)
    worth_inside(members, reach_of(cut, len(listed.offsets) - 1), table, *listed, worth)
    return replace(cut, family="shrunken", weight=max(0, int(best_worth(worth)) - cut.side))


def listed_sets(part: Part) -> Sets:
    """Return all sets that the lists have for a part's variables, dominated ones, too.

    What a cut weighs must hold for all of them, so that a certificate can be checked without
    knowing what was dropped.
    """
    every = allowed_problem(part.run.lists, None)
    return every.part(part.problem.variables, prune=False).members


def upwards(sets: Sets, decided: Ints) -> Flags:
    """``bool[n, n]``: what lies above each decided variable, by way of decided ones."""
    n = len(decided)
    above = np.zeros((n, n), np.bool_)
    passing = np.flatnonzero(decided >= 0)
    for u in passing:
        above[u, sets.parents_of(decided[u])] = True
    for u in passing:  # Warshall: whoever has u above has what is above u
        above[above[:, u]] |= above[u]
    return above


def shrunken_support(support: UsedSets, decided: Flags, above: Flags) -> UsedSets:
    """Return the support of the undecided variables, decided parents passed through."""
    flags = np.zeros((len(support.child), support.n), np.bool_)
    flags[np.repeat(np.arange(len(flags)), np.diff(support.starts)), support.parents] = True
    open_sets = ~decided[support.child]
    flags, child = flags[open_sets], support.child[open_sets]
    reached = flags.astype(np.float32) @ (above & decided[:, None]).astype(np.float32) > 0
    flags = (flags | reached) & ~decided[None, :]
    flags[np.arange(len(child)), child] = False
    return UsedSets(
        support.n,
        child,
        support.value[open_sets],
        offsets_of(flags.sum(axis=1)),
        np.nonzero(flags)[1].astype(np.int64),
    )


def passed(
    sets: Sets, x: Floats, decided: Ints, above: Flags, members: tuple[int, ...]
) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Return the decided variables between members, with the parents they pass on.

    ``above`` is :func:`upwards`.
    """
    passing, met = decided >= 0, np.zeros(len(decided), np.bool_)
    for v in members:
        for i in range(*sets.offsets[v : v + 2]):
            if x[i] > ZERO:
                met[sets.parents_of(i)] = True
    met &= passing
    met |= above[met].any(axis=0) & passing
    leading = np.flatnonzero(met & above[:, list(members)].any(axis=1)).tolist()
    wanted = {*members, *leading}
    return tuple(
        (u, tuple(p for p in sets.parents_of(decided[u]).tolist() if p in wanted)) for u in leading
    )
