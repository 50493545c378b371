"""How the sets of one level are joined into those of the next.

A *level* holds the sets of one size ``s`` that a search still needs, in lexicographic order, which
makes it a prefix trie: sets that differ only in their last member (*siblings*) are neighbours, and
every set one larger is the join of two siblings. A set is needed only if all its one-smaller
subsets are in the level. A family is a set and the position of the child in it: family ``(i, a)``
has child ``members[i, a]`` and the rest as parents.

``best[i, a]`` is Bin, the best score of the family's parent set and all its subsets, or
``DEAD + rule`` once a rule has ruled out the parent set and all its supersets. Scores are never
positive, so a dead family compares as better than anything.

Here is the join of searches that are not closed (:mod:`parentage.kernels.sums`,
:mod:`parentage.kernels.holes`); where a set without a live family can be passed over, joining and
judging go hand in hand (:mod:`parentage.kernels.families`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.kernels._options import INLINE, JIT, njit
from parentage.kernels.judging import DEAD, inherited_rule


class Siblings(NamedTuple):
    """A level as a trie: who shares all but the last member with whom."""

    end: npt.NDArray[np.int64]
    """``[set]``: end of the siblings of a set."""
    children: npt.NDArray[np.int64]
    """``[set below + 1]``: the sets whose prefix is set p of the level below are
    ``children[p] … children[p + 1] − 1``."""
    tails: npt.NDArray[np.uint16]
    """``[set]``: last members."""
    live: npt.NDArray[np.uint64]
    """``[set]``: which families are alive (:func:`live_members`)."""


@njit(**JIT)
def live_members(best, live):
    """Set bit a of ``live[set]`` if the family with child a is alive.

    A set of 64 members never gets this far: its families have 2^63 joint states, or there are
    2^64 sets to count.
    """
    n_sets, s = best.shape
    for i in range(n_sets):
        mask = np.uint64(0)
        for a in range(s):
            if best[i, a] < DEAD:
                mask |= np.uint64(1) << np.uint64(a)
        live[i] = mask


@njit(**INLINE)
def lists_beside(i, subsets, children, at, stop):
    """Set ``at[t] … stop[t] − 1`` to the sets with all members of set i but the t-th and the last.

    Joined with a later sibling of i, the set without its t-th member is among them.
    """
    for t in range(subsets.shape[1] - 1):
        p = subsets[i, t]
        at[t] = children[p]
        stop[t] = children[p + 1]


@njit(**INLINE)
def move_set(i, to, members, subsets, best):
    """Move a joined set to a place further in front."""
    if i != to:
        for a in range(members.shape[1]):
            members[to, a] = members[i, a]
            subsets[to, a] = subsets[i, a]
            best[to, a] = best[i, a]


@njit(**INLINE)
def best_single_parent(x, variables, best_alone):
    """Return Bin of no parent or a single one of the set for x, and whether x is outside it."""
    top = best_alone[x, x]
    outside = True
    for t in range(len(variables)):
        outside = outside and variables[t] != x
        top = max(top, best_alone[x, variables[t]])
    return top, outside


@njit(**JIT)
def join_whole(first, last, siblings, members, subsets, best, out_members, out_subsets, out_best):
    """Join each of the sets ``first … last − 1`` with its later siblings if no subset is missing.

    Parameters
    ----------
    siblings, members, subsets, best
        The level and how it hangs together.
    out_members, out_subsets
        ``uint16[set, member]`` and ``int32[set, member]``, room for every pair: filled.
    out_best
        ``int64[set, child]``: filled with the best score of a proper subset, or DEAD + rule.

    Returns
    -------
    int
        Number of sets.
    """
    sibling_end, children, tails, _ = siblings
    s = subsets.shape[1]
    at, stop = np.empty(s + 1, np.int64), np.empty(s + 1, np.int64)
    end = 0
    for i in range(first, last):
        lists_beside(i, subsets, children, at, stop)
        at[s] = i
        for j in range(i + 1, sibling_end[i]):
            z = tails[j]
            whole = True
            for t in range(s - 1):
                k, k1 = at[t], stop[t]
                while k < k1 and tails[k] < z:
                    k += 1
                at[t] = k
                if k == k1 or tails[k] != z:
                    whole = False
                    break
            if not whole:
                continue
            at[s - 1] = j
            for a in range(s):
                out_members[end, a] = members[i, a]
            out_members[end, s] = z
            for a in range(s + 1):
                top = -np.int64(DEAD)
                for b in range(a):
                    top = max(top, best[at[b], a - 1])
                for b in range(a + 1, s + 1):
                    top = max(top, best[at[b], a])
                out_best[end, a] = top if top < DEAD else inherited_rule(a, at, best)
                out_subsets[end, a] = at[a]
            end += 1
    return end
