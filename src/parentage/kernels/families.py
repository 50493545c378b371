"""From one level of sets to the next under penalised likelihoods: join, judge, score.

Levels and families are those of :mod:`parentage.kernels.joining`. All one-smaller subsets of a set
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
from parentage.kernels.joining import lists_beside
from parentage.kernels.judging import (
    DEAD,
    THM1P,
    Join,
    Measures,
    credit_rules,
    has_forbidden,
    judge_families,
    products_without,
    thm1p_families,
)


class Level(NamedTuple):
    """The sets of one size; see the module's first lines."""

    members: npt.NDArray[np.uint16]
    """``[set, member]``, rising."""
    subsets: npt.NDArray[np.int32]
    """``[set, member]``: where the set without this member is in the level below."""
    G: npt.NDArray[np.int64]
    """``[set]``."""
    best: npt.NDArray[np.int64]
    """``[set, child]``: Bin, or DEAD + rule."""


class SearchFacts(NamedTuple):
    """What rules and scores need to know of the data, all in fixed point."""

    arity: npt.NDArray[np.int64]
    """``[variable]``."""
    single: npt.NDArray[np.int64]
    """``[variable]``: N·H(V)."""
    residual: npt.NDArray[np.int64]
    """``[variable]``: h, the entropy that nothing explains; 0 where it is not used."""
    forbidden: npt.NDArray[np.bool_]
    """``[child, parent]``: arcs that no family may contain."""
    unit: int
    """Penalty of one free parameter."""
    cap: int
    """Free parameters beyond this many are as good as infinitely many."""
    tolerance: int
    """Scores closer than this are equal."""
    width: int
    """How far below its best subset a kept set may be."""
    margin: int
    """A set is kept if it exceeds its best proper subset by more than this (may be negative)."""
    rules: int
    """Bit r: rule number r is on."""
    closed: bool
    """Whether sets without a live family may be left out."""


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
    products_without(variables[:s], arity, cap, own)
    return min(own[0] * arity[variables[0]], 4 * cap)


@njit(**JIT)
def join_siblings(first, last, siblings, level, G_below, facts, capped, new, tally):
    """Join each of the sets ``first … last − 1`` with its later siblings.

    Parameters
    ----------
    siblings, level
        The level and how it hangs together.
    G_below
        ``int64[set below]``.
    capped
        ``int64[variable]``: the rule that bars families of the new size from this child,
        −1 for none, −2 if a constraint does (then no rule is credited).
    new
        The new level, with room for every pair; all but its G is written.
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
    sibling_end, children, tails, live = siblings
    members, subsets, G, best = level
    arity, residual, single = facts.arity, facts.residual, facts.single
    forbidden, closed, cap = facts.forbidden, facts.closed, facts.cap
    out_members, out_subsets, out_best = new.members, new.subsets, new.best
    s = subsets.shape[1]
    at, stop = np.empty(s + 1, np.int64), np.empty(s + 1, np.int64)
    variables, subset = np.empty(s + 1, np.int64), np.empty(s + 1, np.int64)
    q, out = np.empty(s + 1, np.int64), np.empty(s + 1, np.int64)
    own, ceiling = np.empty(s, np.int64), np.empty(s + 1, np.int64)
    join = Join(variables, subset, q, out)
    measures = Measures(facts.rules, facts.unit, cap, facts.tolerance + facts.width)
    only_thm1p = facts.rules == 1 << THM1P
    simple_tally = only_thm1p and capped.max() == -1 and capped.min() == -1 and len(forbidden) == 0
    end = 0
    for i in range(first, last):
        q[s] = start_joins(i, members, subsets, children, arity, cap, at, stop, variables, own)
        subset[s] = i
        alive_i = in_larger_set(live[i], s)
        for j in range(i + 1, sibling_end[i]):
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
                alive = thm1p_families(alive, join, G, best, arity, residual, measures, ceiling)
            else:
                alive = judge_families(
                    alive, join, G, best, subsets, G_below, single, arity, residual, measures
                )
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


@njit(**JIT)
def score_families(new, level, facts, capped, kept_set, kept_child, kept_score):
    """Score the live families of a new level, raise ``best`` and note what Lemma 1 keeps.

    Parameters
    ----------
    new, level
        The new level, counted, and the one below it.
    capped
        ``int64[variable]``: children with −1 may have parent sets of this size.
    kept_set, kept_child, kept_score
        ``int32``, ``uint8`` and ``int64``, room for every family: the families whose score exceeds
        every proper subset's, as set and position of the child, and that score.

    Returns
    -------
    tuple
        Number of families scored, and kept.
    """
    members, subsets, G, best = new
    G_below, arity, forbidden = level.G, facts.arity, facts.forbidden
    unit, cap, margin = facts.unit, facts.cap, facts.margin
    n_sets, s = members.shape
    constrained = len(forbidden) > 0
    variables = np.empty(s, np.int64)
    q = np.empty(s, np.int64)
    scored = 0
    kept = 0
    for i in range(n_sets):
        for a in range(s):
            variables[a] = members[i, a]
        products_without(variables, arity, cap, q)
        for a in range(s):
            x = variables[a]
            if best[i, a] >= DEAD or capped[x] != -1:
                continue
            if constrained and has_forbidden(a, variables, forbidden):
                continue
            likelihood = G[i] - G_below[subsets[i, a]]
            score = likelihood - unit * min((arity[x] - 1) * q[a], cap)
            scored += 1
            if score > best[i, a] + margin:
                kept_set[kept] = i
                kept_child[kept] = a
                kept_score[kept] = score
                kept += 1
            best[i, a] = max(best[i, a], score)
    return scored, kept


@njit(**JIT)
def fewest_states(members, best, states, least):
    """Lower ``least[variable]`` to the joint states of the parents in its live families."""
    for i in range(len(members)):
        whole = 1.0
        for a in range(members.shape[1]):
            whole *= states[members[i, a]]
        for a in range(members.shape[1]):
            x = members[i, a]
            if best[i, a] < DEAD:
                least[x] = min(least[x], whole / states[x])
