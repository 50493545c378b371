"""Cuts: what acyclicity demands of the variables of the integer programme.

For every candidate set W of a child v the programme has a variable x, one when v takes W. One
set per child is chosen. For a cluster C of variables and a number 1 <= k < |C|,

    sum over v in C, sets W of v with |W ∩ C| < k of x  >=  k,

since in an acyclic network the first k members of C, in any order the network respects, have
fewer than k parents in C. As each child has one set, the same cut can be written
``sum over sets with |W ∩ C| >= k of x <= |C| − k``; the shorter form is used.

- k = 1: cluster cuts (Jaakkola et al. 2010); for |C| = 2 at most one direction of an arc;
- k = |C| − 1: set packing, at most one member has all the others as parents;
- in between: k-cluster cuts (Cussens 2011).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parentage.optimise.problem import pack

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from parentage.optimise.problem import Ints, Problem


class Cut(NamedTuple):
    """A cluster of variables (of a problem, rising) and k."""

    members: tuple[int, ...]
    k: int


class Row(NamedTuple):
    """A cut as a row of the programme: ``lower <= sum of x[columns] <= upper``."""

    columns: Ints
    lower: float
    upper: float


def cut_row(problem: Problem, cut: Cut) -> Row:
    """Write a cut in its shorter form; the columns are sets of the problem."""
    inside = np.zeros((1, problem.n), np.bool_)
    inside[0, list(cut.members)] = True
    columns = np.concatenate(
        [np.arange(problem.offsets[v], problem.offsets[v + 1]) for v in cut.members]
    )
    common = count_bits(problem.masks[columns] & pack(inside)).sum(axis=1)
    few, many = columns[common < cut.k], columns[common >= cut.k]
    if len(few) <= len(many):
        return Row(few, float(cut.k), np.inf)
    return Row(many, -np.inf, float(len(cut.members) - cut.k))


def count_bits(words: np.ndarray[tuple[int, ...], np.dtype[np.uint64]]) -> Ints:
    """Count the bits of every word (numpy has this from version 2 on)."""
    pairs = words - ((words >> np.uint64(1)) & np.uint64(0x5555555555555555))
    nibbles = (pairs & np.uint64(0x3333333333333333)) + (
        (pairs >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    octets = (nibbles + (nibbles >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    counts: Ints = ((octets * np.uint64(0x0101010101010101)) >> np.uint64(56)).astype(np.int64)
    return counts


def project(cuts: Iterable[Cut], position: Mapping[int, int]) -> list[Cut]:
    """Carry cuts over to a part whose variables have new positions; members outside fall away."""
    carried = [
        Cut(tuple(sorted(position[v] for v in cut.members if v in position)), cut.k) for cut in cuts
    ]
    return [cut for cut in dict.fromkeys(carried) if len(cut.members) > cut.k]
