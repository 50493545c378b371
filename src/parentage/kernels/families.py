"""From one level of sets to the next: join, rules, scores.

A *level* holds the sets of one size ``s`` that the search still needs, in lexicographic order,
which makes it a prefix trie: sets that differ only in their last member (*siblings*) are
neighbours, and every set one larger is the join of two siblings. All its one-smaller subsets are
in the level, or it is not needed (closure theorem, ``docs/theory.md``). A family is a set and the
position of the child in it: family ``(i, a)`` has child ``members[i, a]``, the rest as parents.

``best[i, a]`` is Bin, the best score of the family's parent set and all its subsets, or
``DEAD + rule`` once a rule has ruled out the parent set and all its supersets. Scores are never
positive, so a dead family compares as better than anything.

The functions of :mod:`parentage.scoring.rules` are the readable reference of what
:func:`first_rule` decides; bit ``r`` of ``model.rules`` switches on rule number r of
``rules.ORDER``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.kernels._options import JIT, njit
from parentage.kernels.bits import popcount

DEAD = 2**62
# Positions in parentage.scoring.rules.ORDER; a test keeps the two in step.
ALG3, ALG4, THM2, ALG1, ALG2, THM1, THM2_CACHE, LEMMA3, THM1P = range(4, 13)


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
    least: npt.NDArray[np.int64]
    """``[set, child]``: least N·H(child | Π′) over the Π′ ⊆ Π in the child's own list (thm2-cache);
    one empty row where that rule is off."""


class Model(NamedTuple):
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
    gap: int
    """How far below its best subset a kept set may be."""
    margin: int
    """A set is kept if it exceeds its best proper subset by more than this (may be negative)."""
    rules: int
    """Bit r: rule number r is on."""
    closed: bool
    """Whether sets without a live family may be left out."""


@njit(**JIT)
def products_without(variables, arity, cap, q):
    """Set ``q[a]`` to the product of the arities of all variables but the a-th.

    At most ``4·cap``: then what an additional parent adds, at least half of it, is beyond
    ``cap`` too.
    """
    most = 4 * cap
    product = np.int64(1)
    for a in range(len(q)):
        q[a] = product
        product = min(product * arity[variables[a]], most)
    product = np.int64(1)
    for a in range(len(q) - 1, -1, -1):
        q[a] = min(q[a] * product, most)
        product = min(product * arity[variables[a]], most)


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


@njit(**JIT)
def in_larger_set(mask, b):
    """Put a gap, set to 1, into a mask of members: bit b is the member the smaller set lacks."""
    bit = np.uint64(1) << np.uint64(b)
    before = bit - np.uint64(1)
    return (mask & before) | ((mask & ~before) << np.uint64(1)) | bit


@njit(inline="always", **JIT)  # a call costs a tenth of the whole
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


@njit(**JIT)
def has_forbidden(a, variables, forbidden):
    """Whether a parent in family a of the set may not be a parent of its child."""
    for b in range(len(variables)):
        if b != a and forbidden[variables[a], variables[b]]:
            return True
    return False


@njit(**JIT)
def first_rule(
    rules, slack, unit, more, penalty, n_h_x, n_h_y, h_x, h_y, G_pi, G_x_star, G_star, least_y, best
):
    r"""Return the first rule that rules out a family (X, Π) because of Y ∈ Π, or −1.

    With Π* = Π \ Y: ``more`` parameters are added by Y, ``penalty`` is that of Π, ``best`` is
    Bin(Π*), ``least_y`` the least N·H(Y | Π′) in Y's list; ``slack`` is tolerance plus gap.
    """
    right = unit * more - slack
    if rules & (1 << ALG3) and n_h_x <= right:
        return ALG3
    if rules & (1 << ALG4) and n_h_y <= right:
        return ALG4
    if rules & (1 << THM2) and min(n_h_x, n_h_y) <= right:
        return THM2
    if rules & (1 << ALG1) and G_star - G_x_star <= right:
        return ALG1
    if rules & (1 << ALG2) and G_star - G_pi <= right:
        return ALG2
    if rules & (1 << THM1) and G_star - max(G_x_star, G_pi) <= right:
        return THM1
    if rules & (1 << THM2_CACHE) and least_y <= right:
        return THM2_CACHE
    if rules & (1 << LEMMA3) and best - slack >= -penalty:
        return LEMMA3
    if rules & (1 << THM1P) and (
        best - slack >= -penalty - h_x or best - slack >= G_x_star - h_y - G_pi - penalty
    ):
        return THM1P
    return -1


@njit(**JIT)
def inherited_rule(a, subset, live, best):
    """Return DEAD + rule of the first one-smaller subset in which child a is dead."""
    for b in range(len(subset)):
        if b != a:
            child = a if a < b else a - 1
            if live[subset[b]] >> np.uint64(child) & np.uint64(1) == np.uint64(0):
                return best[subset[b], child]
    return np.int64(DEAD)


@njit(inline="always", **JIT)  # a call costs a tenth of the whole
def thm1p_families(
    alive, variables, subset, q, G, best, arity, residual, unit, cap, slack, ceiling, out
):
    """Decide Theorem 1⁺ alone for the children in ``alive``: the everyday rule, kept tight.

    Same result as :func:`judge_families` with only that rule on, which a test asserts. Returns
    the children that stay alive.
    """
    m = len(variables)
    for b in range(m):
        ceiling[b] = G[subset[b]] - residual[variables[b]] + slack
    still = alive
    for a in range(m):
        bit = np.uint64(1) << np.uint64(a)
        if alive & bit == np.uint64(0):
            out[a] = DEAD + THM1P
            continue
        x = variables[a]
        penalty = unit * min((arity[x] - 1) * q[a], cap)
        x_side = slack - penalty - residual[x]
        y_side = -penalty - G[subset[a]]
        top = -np.int64(DEAD)
        for b in range(m - 1, -1, -1):  # the last two are the pair being joined: in cache
            if b != a:
                v = best[subset[b], a if a < b else a - 1]
                if v >= x_side or v >= ceiling[b] + y_side:
                    top = np.int64(DEAD + THM1P)
                    still ^= bit
                    break
                top = max(top, v)
        out[a] = top
    return still


@njit(**JIT)
def judge_families(
    alive, variables, subset, q, G, best, subsets, least, live, G_below, single, arity, residual,
    rules, unit, cap, slack, out,
):  # fmt: skip
    """Decide every chosen rule for every child of one set.

    ``out[a]`` becomes the best score of a proper subset, or DEAD + rule: the inherited one, else
    the first in the order that fires. Returns the children that stay alive.
    """
    m = len(variables)
    needs_G_star = rules & (1 << ALG1 | 1 << ALG2 | 1 << THM1) != 0
    with_least = rules & (1 << THM2_CACHE) != 0
    earliest = 0  # the first rule that is on: none can come before it
    while rules >> earliest & 1 == 0 and earliest <= THM1P:
        earliest += 1
    still = alive
    for a in range(m):
        bit = np.uint64(1) << np.uint64(a)
        if alive & bit == np.uint64(0):
            out[a] = inherited_rule(a, subset, live, best)
            continue
        x = variables[a]
        pi = subset[a]
        penalty = unit * min((arity[x] - 1) * q[a], cap)
        top = -np.int64(DEAD)
        first = np.int64(THM1P + 1)
        for b in range(m - 1, -1, -1):
            if b == a:
                continue
            y = variables[b]
            x_star = subset[b]
            child = a if a < b else a - 1  # where X stands in X ∪ Π*
            v = best[x_star, child]
            top = max(top, v)
            if rules == 0:
                continue
            G_star = G_below[subsets[x_star, child]] if needs_G_star else np.int64(0)
            least_y = least[pi, b if b < a else b - 1] if with_least else np.int64(0)
            more = min((arity[x] - 1) * (q[a] - q[a] // arity[y]), cap)
            rule = first_rule(
                rules, slack, unit, more, penalty, single[x], single[y], residual[x], residual[y],
                G[pi], G[x_star], G_star, least_y, v,
            )  # fmt: skip
            if rule >= 0:
                first = min(first, np.int64(rule))
                if first == earliest:
                    break
        if first <= THM1P:
            top = DEAD + first
            still ^= bit
        out[a] = top
    return still


@njit(**JIT)
def extend(first, last, sibling_end, children, tails, live, level, G_below, model, capped,
           out_members, out_subsets, out_best, out_least, tally):  # fmt: skip
    """Join each of the sets ``first … last − 1`` with its later siblings.

    Parameters
    ----------
    sibling_end
        ``int64[set]``: end of the siblings of a set.
    children
        ``int64[set below + 1]``: the sets whose prefix is set p of the level below are
        ``children[p] … children[p + 1] − 1``.
    tails
        ``uint16[set]``: last members.
    live
        ``uint64[set]``: which families are alive (:func:`live_members`).
    G_below
        ``int64[set below]``.
    capped
        ``int64[variable]``: the rule that bars families of the new size from this child,
        −1 for none, −2 if a constraint does (then no rule is credited).
    out_members, out_subsets, out_best, out_least
        The new level; room for every pair.
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
    members, subsets, G, best = level.members, level.subsets, level.G, level.best
    least, arity, residual, single = level.least, model.arity, model.residual, model.single
    forbidden, closed = model.forbidden, model.closed
    unit, cap, slack = model.unit, model.cap, model.tolerance + model.gap
    s = members.shape[1]
    at = np.empty(s + 1, np.int64)
    stop = np.empty(s + 1, np.int64)
    subset = np.empty(s + 1, np.int64)
    variables = np.empty(s + 1, np.int64)
    q = np.empty(s + 1, np.int64)
    own = np.empty(s, np.int64)
    ceiling = np.empty(s + 1, np.int64)
    out = np.empty(s + 1, np.int64)
    any_capped = capped.max() >= 0 or capped.min() < -1
    only_thm1p = model.rules == 1 << THM1P
    with_least = model.rules & (1 << THM2_CACHE) != 0
    constrained = len(forbidden) > 0
    end = 0
    for i in range(first, last):
        for t in range(s - 1):
            p = subsets[i, t]
            at[t] = children[p]
            stop[t] = children[p + 1]
        for t in range(s):
            variables[t] = members[i, t]
        subset[s] = i
        products_without(variables[:s], arity, cap, own)
        q[s] = min(own[0] * arity[variables[0]], 4 * cap)
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
                alive = thm1p_families(
                    alive, variables, subset, q, G, best, arity, residual, unit, cap, slack,
                    ceiling, out,
                )  # fmt: skip
            else:
                alive = judge_families(
                    alive, variables, subset, q, G, best, subsets, least, live, G_below,
                    single, arity, residual, model.rules, unit, cap, slack, out,
                )  # fmt: skip
            if any_capped or constrained or not only_thm1p:
                for a in range(s + 1):
                    rule = capped[variables[a]]
                    if rule == -1 and out[a] >= DEAD:
                        rule = out[a] - DEAD
                    if rule >= 0 and not (constrained and has_forbidden(a, variables, forbidden)):
                        tally[rule] += 1
            else:  # nothing but Theorem 1⁺ to credit
                tally[THM1P] += np.int64(s + 1) - np.int64(popcount(alive))
            if closed and alive == np.uint64(0):
                continue
            for t in range(s + 1):
                out_members[end, t] = variables[t]
                out_subsets[end, t] = subset[t]
                out_best[end, t] = out[t]
            if with_least:
                for a in range(s + 1):
                    low = single[variables[a]]
                    for b in range(s + 1):
                        if b != a:
                            low = min(low, least[subset[b], a if a < b else a - 1])
                    out_least[end, a] = low
            end += 1
    return end


@njit(**JIT)
def score_families(new, level, model, capped, kept_set, kept_child, kept_score):
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
    members, subsets, G, best, least = new.members, new.subsets, new.G, new.best, new.least
    G_below, arity, forbidden = level.G, model.arity, model.forbidden
    unit, cap, margin = model.unit, model.cap, model.margin
    n_sets, s = members.shape
    with_least = model.rules & (1 << THM2_CACHE) != 0
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
                if with_least:
                    least[i, a] = min(least[i, a], -likelihood)
            best[i, a] = max(best[i, a], score)
    return scored, kept
