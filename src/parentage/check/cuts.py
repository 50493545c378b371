"""Cuts in whole numbers: which sets they weigh, and the proof that they hold for every network.

A cluster cut holds by a theorem. A local cut holds if the dynamic programme over the subsets of
its members, in an order any network respects, cannot reach more than its right side; docs/
certificates.md has the proofs, also of cuts that pass through variables.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parentage.check.document import Cluster, ProofError

if TYPE_CHECKING:
    from parentage.check.document import Cut, Local
    from parentage.check.families import Families, Flags, Ints


class Row(NamedTuple):
    """A cut on the sets: sum of ``weight`` over the chosen ones among ``sets`` is ≤ ``right``."""

    sets: Ints
    weight: Ints
    right: int
    largest: int


def checked_row(families: Families, cut: Cut) -> Row:
    """Return the row of a cut that holds.

    Raises
    ------
    ProofError
        The cut does not hold.
    """
    if isinstance(cut, Cluster):
        inside = np.zeros(families.n, np.int64)
        inside[list(cut.members)] = 1
        many = [families.sums(v, inside) >= cut.k for v in cut.members]
        sets = families.sets_of(cut.members)[np.concatenate(many)]
        sets = sets[families.allowed[sets]]
        return Row(sets, np.ones(len(sets), np.int64), len(cut.members) - cut.k, 1)
    return _local_row(families, cut)


def _local_row(families: Families, cut: Local) -> Row:
    size = len(cut.members)
    bit = np.zeros(families.n, np.int64)
    bit[list(cut.members)] = 1 << np.arange(size)
    reached = _reach(cut, bit)
    worth = _closed_values(cut)
    plain = np.zeros((size, 1 << size), np.int64)
    passed = np.zeros((size, 1 << size), np.int64) if cut.through else plain
    sets, weights = [], []
    for j, v in enumerate(cut.members):
        span = np.arange(families.offsets[v], families.offsets[v + 1])
        own = families.sums(v, bit)
        seen = own
        for u, mask in reached.items():
            seen = np.where(_holds(families, v, u), seen | mask, seen)
        seen = seen & ~(1 << j)
        value = np.where(families.allowed[span], worth[j, seen], 0)
        np.maximum.at(plain[j], own, value)
        if cut.through:
            np.maximum.at(passed[j], seen, value)
        sets.append(span[value > 0])
        weights.append(value[value > 0])
    most = best_order(passed)
    if most > cut.right:
        raise ProofError(f"a network reaches {most}, more than the right side {cut.right}")
    if cut.through:
        most = best_order(plain)
        if most > cut.right + cut.weight:
            raise ProofError(
                f"without what it passes through a network reaches {most}, more than "
                f"{cut.right} + M = {cut.right + cut.weight}"
            )
        for u, parents in cut.through:
            span = np.arange(families.offsets[u], families.offsets[u + 1])
            needed = families.allowed[span].copy()
            for parent in parents:
                needed &= _holds(families, u, parent)
            sets.append(span[needed])
            weights.append(np.full(int(needed.sum()), cut.weight, np.int64))
    weight = np.concatenate(weights)
    right = cut.right + cut.weight * len(cut.through)
    return Row(np.concatenate(sets), weight, right, int(weight.max(initial=0)))


def _holds(families: Families, v: int, parent: int) -> Flags:
    """Whether each set of ``v`` has this parent."""
    one = np.zeros(families.n, np.int64)
    one[parent] = 1
    return families.sums(v, one) > 0


def _reach(cut: Local, bit: Ints) -> dict[int, int]:
    """Members (as bits) above every variable passed through, on paths through such ones."""
    reached = {u: sum(int(bit[p]) for p in parents) for u, parents in cut.through}
    changed = True
    while changed:
        changed = False
        for u, parents in cut.through:
            more = reached[u]
            for parent in parents:
                more |= reached.get(parent, 0)
            changed |= more != reached[u]
            reached[u] = more
    return {u: mask for u, mask in reached.items() if mask}


def _closed_values(cut: Local) -> Ints:
    """``int64[L, 2^L]``: the largest value whose mask is contained in each subset."""
    size = len(cut.members)
    values = np.zeros((size, 1 << size), np.int64)
    for j in range(size):
        np.maximum.at(
            values[j], np.array(cut.masks[j], np.int64), np.array(cut.values[j], np.int64)
        )
    spread_up(values)
    return values


def spread_up(values: Ints) -> None:
    """Replace every entry of ``int64[L, 2^L]`` by the largest over the subsets of its index."""
    size = values.shape[0]
    for t in range(size):
        halves = values.reshape(size, -1, 2, 1 << t)
        np.maximum(halves[:, :, 1], halves[:, :, 0], out=halves[:, :, 1])


def best_order(values: Ints) -> int:
    """Return the most that members can reach in an order, each with what precedes it.

    ``values`` is ``int64[L, 2^L]``, not negative; it is overwritten. ``best(T) = max over j in T
    of best(T without j) + the largest of j's values within T without j``.
    """
    spread_up(values)
    best = np.zeros(values.shape[1], np.int64)
    for whole, member, rest in size_layers(values.shape[0]):
        best[whole] = (best[rest] + values[member, rest]).max(axis=1)
    return int(best[-1])


@cache
def size_layers(size: int) -> list[tuple[Ints, Ints, Ints]]:
    """The subsets of ``size`` members by their number of members p, from one on.

    Of each p: the subsets ``int64[c]``, their members ``int64[c, p]``, what is left without each.
    """
    subsets = np.arange(1 << size)
    inside = (subsets[:, None] >> np.arange(size)) & 1 == 1
    count = inside.sum(axis=1)
    layers = []
    for p in range(1, size + 1):
        whole = subsets[count == p]
        member = np.nonzero(inside[whole])[1].reshape(len(whole), p)
        layers.append((whole, member, whole[:, None] ^ (1 << member)))
    return layers
