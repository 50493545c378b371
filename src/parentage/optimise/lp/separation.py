"""Separation: the cuts a fractional solution violates.

The counting cuts, by five separators, from quick to sure (for the others see :mod:`.local_cuts`):

- :func:`packings`: all set-packing cuts of two to four members, by adding up the support;
- :func:`clusters`: cluster and k-cluster cuts, found by walks that start at arcs of the support;
- :func:`short_cycles`: cluster cuts on the shortest cycles of the support, for long cycles;
- :func:`exact_cluster`: the most violated cluster cut by a small integer programme, for when
  the others find nothing;
- :func:`cycles`: for a whole-numbered solution, a cycle of each strongly connected component.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from parentage.optimise.cuts import Cut, counting_cut, unique
from parentage.optimise.problem import offsets_of

if TYPE_CHECKING:
    from parentage.arrays import Floats, Ints
    from parentage.optimise.cuts import Sets
    from parentage.optimise.tuning import Tuning

ZERO = 1e-7
"""Values below this are not in the support."""

FRACTIONAL = 1e-6
"""Values this close to 0 or 1 count as whole."""


@dataclass(frozen=True, eq=False)
class Support:
    """The sets with positive value: child, value, parents in CSR form (see the kernels)."""

    n: int
    child: Ints
    value: Floats
    starts: Ints
    parents: Ints

    @classmethod
    def of(cls, sets: Sets, x: Floats) -> Support:
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


def packings(support: Support, tuning: Tuning, *, largest: int = 4) -> list[Cut]:
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


def clusters(support: Support, tuning: Tuning, k: int = 1) -> list[Cut]:
    """Return violated (k-)cluster cuts found by short walks, most violated first."""
    from parentage.kernels.cuts import SupportArrays, walk_clusters

    tails, heads, _ = support.arcs
    users_at, users = support.users
    found, values = walk_clusters(
        k,
        tails,
        heads,
        tuning.least,
        tuning.tenure,
        tuning.walk,
        SupportArrays(
            support.child,
            support.value,
            support.starts,
            support.parents,
            users_at,
            users,
            support.own_at,
        ),
    )
    return [counting_cut(np.flatnonzero(found[i]), k) for i in np.argsort(values, kind="stable")]


def short_cycles(support: Support, tuning: Tuning) -> list[Cut]:
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


def cycles(sets: Sets, chosen: Ints) -> list[Cut]:
    """Return a cluster cut for a shortest cycle of each component of the chosen sets."""
    from parentage.kernels.digraph import strong_components

    child = np.searchsorted(sets.offsets, chosen, side="right") - 1
    above: list[list[int]] = [[] for _ in range(len(sets.offsets) - 1)]
    for v, i in zip(child, chosen, strict=True):
        above[v] = [int(p) for p in sets.parents[sets.starts[i] : sets.starts[i + 1]]]
    flat = np.array([p for members_of in above for p in members_of], np.int64)
    label = strong_components(offsets_of(np.array([len(a) for a in above], np.int64)), flat)
    found = []
    for part in np.flatnonzero(np.bincount(label) > 1):
        inside = np.flatnonzero(label == part).tolist()
        shortest = min([_cycle(above, v) for v in inside], key=len)
        found.append(counting_cut(shortest, 1, "cycle"))
    return found


def _cycle(above: list[list[int]], start: int) -> list[int]:
    """Return a shortest cycle through ``start``, by breadth-first search towards parents."""
    below = {start: start}
    queue = [start]
    for v in queue:
        for p in above[v]:
            if p == start:
                path = [v]
                while path[-1] != start:
                    path.append(below[path[-1]])
                return path
            if p not in below:
                below[p] = v
                queue.append(p)
    raise AssertionError("a strongly connected component without a cycle")


def plain_cuts(support: Support, tuning: Tuning) -> list[Cut]:
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


def exact_cluster(support: Support, tuning: Tuning, seconds: float = math.inf) -> Cut | None:
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
    solver.setOptionValue("mip_max_nodes", tuning.exact_nodes)
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
    support: Support, nodes: Ints
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


def fractional_order(support: Support) -> Ints:
    """Turn a fractional solution into an order: next comes who waits least for the others."""
    n, sizes = support.n, np.diff(support.starts)
    waits = np.zeros((n, n))
    np.add.at(
        waits,
        (np.repeat(support.child, sizes), support.parents),
        np.repeat(support.value, sizes),
    )
    missing = waits.sum(axis=1)
    order = np.empty(n, np.int64)
    for j in range(n):
        v = int(np.argmin(missing))
        order[j] = v
        missing -= waits[:, v]
        missing[v] = np.inf
    return order
