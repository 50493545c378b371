"""Penalised likelihoods: join and judge in one go, and the score of a family.

Levels and families are those of :mod:`parentage.kernels.levels`. All one-smaller subsets of a set
are in the level, or it is not needed (closure theorem, ``docs/theory.md``); in a closed search
neither is a set without a live family. The rules themselves are in
:mod:`parentage.kernels.judging`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.kernels._options import INLINE, JIT, njit
from parentage.kernels.bits import popcount
from parentage.kernels.judging import (
    BEST,
    DEAD,
    MEMBER,
    ROWS,
    STATES,
    SUBSET,
    THM1P,
    credit_rules,
    judge_families,
    none_capped,
    products_without,
    thm1p_families,
)
from parentage.kernels.levels import lists_beside, local_scores, move_set


class LikelihoodTerms(NamedTuple):
    """What rules and scores need to know of the data, in fixed point."""

    arity: npt.NDArray[np.int64]
    """``[variable]``."""
    single: npt.NDArray[np.int64]
    """``[variable]``: N·H(V)."""
    residual: npt.NDArray[np.int64]
    """``[variable]``: h, the entropy that nothing explains; 0 where it is not used."""
    unit: int
    """Penalty of one free parameter."""
    cap: int
    """Free parameters beyond this many are as good as infinitely many."""
    closed: bool
    """Whether sets without a live family may be left out."""
    G_below: npt.NDArray[np.int64]
    """``[set below]``: G of the level below the one that is joined."""
    fewest: int
    """The fewest states that a variable has."""


@njit(**JIT)
def in_larger_set(mask, b):
    """Put a gap, set to 1, into a mask of members: bit b is the member the smaller set lacks."""
    bit = np.uint64(1) << np.uint64(b)
    before = bit - np.uint64(1)
    return (mask & before) | ((mask & ~before) << np.uint64(1)) | bit


@njit(**INLINE)  # a call costs a tenth of the whole
def find_subsets(z, tails, at, stop, live, subset, count, alive, closed):
    """Find the one-smaller subsets of a join and the children that none of them has ruled out.

    Moves on in the sibling lists ``at[t] … stop[t] − 1`` to the sets that end in ``z``, which must
    not fall between calls with the same lists. ``alive`` has bit a if child a is alive in the two
    sets that are joined. Returns (whether the set is worth a look, alive in all subsets): it is
    not if a subset is missing or, in a closed search, if no child is left.
    """
    if closed and alive == np.uint64(0):
        return False, alive
    for t in range(count):
        i = at[t]
        while i < stop[t] and tails[i] < z:
            i += 1
        at[t] = i
        if i == stop[t] or tails[i] != z:
            return False, alive
        subset[t] = i
        alive &= in_larger_set(live[i], t)
        if closed and alive == np.uint64(0):
            return False, alive
    return True, alive


@njit(**INLINE)
def start_joins(i, members, subsets, children, arity, cap, at, stop, variables, own):
    """Make ready to join set i with its siblings.

    Sets ``variables[: s]`` to its members and ``own[a]`` to the joint states of all but the a-th.
    Returns its joint states.
    """
    s = members.shape[1]
    lists_beside(i, subsets, children, at, stop)
    for t in range(s):
        variables[t] = members[i, t]
    products_without(members, i, arity, cap, own)
    return min(own[0] * arity[variables[0]], 4 * cap)


@njit(work=lambda *args: 60 * len(args[-2].members), **JIT)
def join_siblings(first, last, siblings, level, facts, terms, new, tally):
    """Join each of the sets ``first … last − 1`` with its later siblings.

    Parameters
    ----------
    siblings, level
        The level and how it hangs together.
    new
        The new level, with room for every pair; all but its columns is written.
    tally
        ``int64[rule]``: raised by the families that each rule removes.

    Returns
    -------
    int
        Number of sets written: those with all subsets in the level and, in a closed search,
        at least one live family. There, a set all of whose families are dead in a subset is
        passed over, and its families are not in the tally.
    """
    # unpacked once: a field of a tuple taken in the loop costs a reference count each time
    children, tails, live = siblings
    members, subsets, bins, G = level.members, level.subsets, level.bins, level.columns[0]
    start, value = level.values.start, level.values.value
    arity, residual = terms.arity, terms.residual
    closed, unit, cap = terms.closed, terms.unit, terms.cap
    forbidden, capped, rules, slack = facts.forbidden, facts.capped, facts.rules, facts.slack
    out_members, out_subsets, out_best = new.members, new.subsets, new.best
    s = subsets.shape[1]
    at, stop = np.empty(s + 1, np.int64), np.empty(s + 1, np.int64)
    own, flat = np.empty(s, np.int64), bins.reshape(-1)
    join = np.empty((ROWS, s + 1), np.int64)
    variables, subset, q, out = join[MEMBER], join[SUBSET], join[STATES], join[BEST]
    only_thm1p = rules == 1 << THM1P
    simple_tally = only_thm1p and len(forbidden) == 0 and none_capped(capped)
    end = 0
    for i in range(first, last):
        q[s] = start_joins(i, members, subsets, children, arity, cap, at, stop, variables, own)
        subset[s] = i
        alive_i = in_larger_set(live[i], s)
        for j in range(i + 1, children[subsets[i, s - 1] + 1]):
            z = tails[j]
            worth, alive = find_subsets(
                z, tails, at, stop, live, subset, s - 1, alive_i & in_larger_set(live[j], s - 1),
                closed,
            )  # fmt: skip
            if not worth:
                continue
            subset[s - 1] = j
            variables[s] = z
            for a in range(s):
                q[a] = min(own[a] * arity[z], 4 * cap)
            if only_thm1p:
                alive = thm1p_families(
                    alive, join, G, flat, start, value, arity, residual, unit, cap, slack
                )
            else:
                alive = judge_families(alive, join, level, facts, terms)
            if simple_tally:  # nothing but Theorem 1⁺ to credit
                tally[THM1P] += np.int64(s + 1) - np.int64(popcount(alive))
            else:
                credit_rules(variables, out, capped, forbidden, tally)
            if closed and alive == np.uint64(0):
                continue
            for t in range(s + 1):
                out_members[end, t] = variables[t]
                out_subsets[end, t] = subset[t]
                out_best[end, t] = out[t]
            end += 1
    return end


@local_scores.for_terms(LikelihoodTerms)
def _local_scores(new, below, terms, scores):
    members, subsets, best, columns = new
    G, G_below = columns[0], below[0]
    arity, unit, cap = terms.arity, terms.unit, terms.cap
    n_sets, s = members.shape
    states = np.empty(s, np.int64)
    for i in range(n_sets):
        products_without(members, i, arity, cap, states)
        for a in range(s):
            if best[i, a] < DEAD:
                parameters = min((arity[members[i, a]] - 1) * states[a], cap)
                scores[i, a] = G[i] - G_below[subsets[i, a]] - unit * parameters


@njit(work=lambda new, *_: 3 * new.members.size, **JIT)
def leave_ended(new, G_below, slack, terms):
    """End the families that no further parent can help; leave out sets that nothing is built on.

    ``new`` is a level, counted and scored, ``G_below[set below]`` is that of the level below it.
    A family whose supersets all fall to the child's side of Theorem 1⁺ gets DEAD + rule. A set is
    left out if all its families are dead or ended, and as parents it is ruled out for every child
    outside (Proposition 4 of ``docs/theory.md``). Returns the number of sets left, moved to the
    front.
    """
    members, subsets, best, (G,) = new
    arity, residual = terms.arity, terms.residual
    unit, cap, fewest = terms.unit, terms.cap, terms.fewest
    n_sets, s = members.shape
    states = np.empty(s, np.int64)
    left = 0
    for i in range(n_sets):
        products_without(members, i, arity, cap, states)
        needed = False
        for a in range(s):
            x = members[i, a]
            if best[i, a] < DEAD:
                parameters = min((arity[x] - 1) * states[a], cap)
                if best[i, a] >= slack - unit * min(parameters * fewest, cap) - residual[x]:
                    best[i, a] = DEAD + THM1P
                else:
                    needed = True
        outside = True
        for a in range(0 if needed else s):
            x = members[i, a]
            parameters = min((arity[x] - 1) * states[a], cap)
            unexplained = G_below[subsets[i, a]] - G[i] - residual[x]
            if unit * min(parameters * (fewest - 1), cap) >= unexplained + slack:
                outside = False
                break
        if needed or outside:
            move_set(i, left, members, subsets, best)
            G[left] = G[i]
            left += 1
    return left
