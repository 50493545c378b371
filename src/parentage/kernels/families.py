"""From one level of sets to the next: join, rules, scores.

A *level* holds the sets of one size ``s`` that the search still needs, in lexicographic order,
which makes it a prefix trie: sets that differ only in their last member (*siblings*) are
neighbours, and every set one larger is the join of two siblings. All its one-smaller subsets are
in the level, or it is not needed (closure theorem, ``docs/theory.md``). A family is a set and the
position of the child in it: family ``(i, a)`` has child ``members[i, a]``, the rest as parents.

``best[i, a]`` is Bin, the best score of the family's parent set and all its subsets, or
``DEAD + rule`` once a rule has ruled out the parent set and all its supersets. Scores are never
positive, so a dead family compares as better than anything.

The functions of :mod:`parentage.rules` are the readable reference of what :func:`first_rule`
decides; bit ``r`` of ``model.rules`` switches on rule number r of ``rules.ORDER``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from parentage.kernels._options import JIT

DEAD = 2**62
# Positions in parentage.rules.ORDER; a test keeps the two in step.
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
def find_subsets(z, tails, at, stop, subset, count):
    """Move on in the sibling lists ``at[t] … stop[t] − 1`` to the sets that end in ``z``.

    False if one of them has none. ``z`` must not fall between calls with the same lists.
    """
    for t in range(count):
        i = at[t]
        while i < stop[t] and tails[i] < z:
            i += 1
        at[t] = i
        if i == stop[t] or tails[i] != z:
            return False
        subset[t] = i
    return True


@njit(**JIT)
def has_forbidden(a, variables, forbidden):
    """Whether a parent in family a of the set may not be a parent of its child."""
    for b in range(len(variables)):
        if b != a and forbidden[variables[a], variables[b]]:
            return True
    return False


@njit(**JIT)
def first_rule(a, b, variables, subset, q, level, G_below, model):
    r"""Return the first rule that rules out the family with child a because of parent Y = b, or −1.

    Π is the set without the child, Π* = Π \\ Y. ``subset[t]`` is the set without member t, so
    G(Π) = G[subset[a]], G(X ∪ Π*) = G[subset[b]], and G(Π*) is one level further down.
    """
    x = variables[a]
    y = variables[b]
    pi = subset[a]
    x_star = subset[b]
    child = a if a < b else a - 1  # where X stands in X ∪ Π*
    rules = model.rules
    slack = model.tolerance + model.gap
    # (r_Y − 1) pen(X, Π*), where q_Π* = q[a] / r_Y
    more = min((model.arity[x] - 1) * (q[a] - q[a] // model.arity[y]), model.cap)
    right = model.unit * more - slack
    if rules & (1 << ALG3) and model.single[x] <= right:
        return ALG3
    if rules & (1 << ALG4) and model.single[y] <= right:
        return ALG4
    if rules & (1 << THM2) and min(model.single[x], model.single[y]) <= right:
        return THM2
    if rules & (1 << ALG1 | 1 << ALG2 | 1 << THM1):
        G_star = G_below[level.subsets[x_star, child]]
        if rules & (1 << ALG1) and G_star - level.G[x_star] <= right:
            return ALG1
        if rules & (1 << ALG2) and G_star - level.G[pi] <= right:
            return ALG2
        if rules & (1 << THM1) and G_star - max(level.G[x_star], level.G[pi]) <= right:
            return THM1
    if rules & (1 << THM2_CACHE) and level.least[pi, b if b < a else b - 1] <= right:
        return THM2_CACHE
    bin_star = level.best[x_star, child] - slack
    penalty = model.unit * min((model.arity[x] - 1) * q[a], model.cap)
    if rules & (1 << LEMMA3) and bin_star >= -penalty:
        return LEMMA3
    if rules & (1 << THM1P) and (
        bin_star >= -penalty - model.residual[x]
        or bin_star >= level.G[x_star] - model.residual[y] - level.G[pi] - penalty
    ):
        return THM1P
    return -1


@njit(**JIT)
def thm1p_families(variables, subset, q, ceiling, level, model, out):
    """Decide Theorem 1⁺ alone for every child of one set: the everyday rules, as tight as possible.

    Same result as :func:`judge_families` with only that rule on, which a test asserts.
    """
    m = len(variables)
    slack = model.tolerance + model.gap
    for b in range(m):
        ceiling[b] = level.G[subset[b]] - model.residual[variables[b]] + slack
    alive = False
    for a in range(m):
        x = variables[a]
        penalty = model.unit * min((model.arity[x] - 1) * q[a], model.cap)
        x_side = slack - penalty - model.residual[x]
        y_side = -penalty - level.G[subset[a]]
        top = -np.int64(DEAD)
        for b in range(m - 1, -1, -1):  # the last two are the pair being joined: in cache
            if b != a:
                v = level.best[subset[b], a if a < b else a - 1]
                if v >= x_side or v >= ceiling[b] + y_side:
                    top = np.int64(DEAD + THM1P)
                    break
                top = max(top, v)
        out[a] = top
        alive |= top < DEAD
    return alive


@njit(**JIT)
def judge_families(variables, subset, q, level, G_below, model, out):
    """Decide every chosen rule for every child of one set.

    ``out[a]`` becomes the best score of a proper subset, or DEAD + rule: the rule of the first
    dead subset, else the first rule that fires. Returns whether any child is alive.
    """
    m = len(variables)
    earliest = 0  # the first rule that is on: none can come before it
    while model.rules >> earliest & 1 == 0 and earliest <= THM1P:
        earliest += 1
    alive = False
    for a in range(m):
        top = -np.int64(DEAD)
        for b in range(m):
            if b != a:
                top = max(top, level.best[subset[b], a if a < b else a - 1])
        if top >= DEAD:  # inherited; of several rules the earliest in the order counts
            for b in range(m):
                if b != a:
                    v = level.best[subset[b], a if a < b else a - 1]
                    if v >= DEAD:
                        top = min(top, v)
        elif model.rules != 0:
            first = np.int64(THM1P + 1)
            for b in range(m):
                if b != a:
                    rule = first_rule(a, b, variables, subset, q, level, G_below, model)
                    if rule >= 0:
                        first = min(first, np.int64(rule))
                        if first == earliest:
                            break
            if first <= THM1P:
                top = DEAD + first
        out[a] = top
        alive |= top < DEAD
    return alive


@njit(**JIT)
def extend(first, last, sibling_end, children, tails, level, G_below, model, capped,
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
        at least one live family.
    """
    s = level.members.shape[1]
    at = np.empty(s + 1, np.int64)
    stop = np.empty(s + 1, np.int64)
    subset = np.empty(s + 1, np.int64)
    variables = np.empty(s + 1, np.int64)
    q = np.empty(s + 1, np.int64)
    ceiling = np.empty(s + 1, np.int64)
    only_thm1p = model.rules == 1 << THM1P
    with_least = model.rules & (1 << THM2_CACHE) != 0
    constrained = len(model.forbidden) > 0
    end = 0
    for i in range(first, last):
        for t in range(s - 1):
            p = level.subsets[i, t]
            at[t] = children[p]
            stop[t] = children[p + 1]
        for t in range(s):
            variables[t] = level.members[i, t]
        subset[s] = i
        for j in range(i + 1, sibling_end[i]):
            z = tails[j]
            if not find_subsets(z, tails, at, stop, subset, s - 1):
                continue
            subset[s - 1] = j
            variables[s] = z
            products_without(variables, model.arity, model.cap, q)
            if only_thm1p:
                alive = thm1p_families(variables, subset, q, ceiling, level, model, out_best[end])
            else:
                alive = judge_families(variables, subset, q, level, G_below, model, out_best[end])
            for a in range(s + 1):
                rule = capped[variables[a]]
                if rule == -1 and out_best[end, a] >= DEAD:
                    rule = out_best[end, a] - DEAD
                if rule >= 0 and not (constrained and has_forbidden(a, variables, model.forbidden)):
                    tally[rule] += 1
            if model.closed and not alive:
                continue
            for t in range(s + 1):
                out_members[end, t] = variables[t]
                out_subsets[end, t] = subset[t]
            if with_least:
                for a in range(s + 1):
                    low = model.single[variables[a]]
                    for b in range(s + 1):
                        if b != a:
                            low = min(low, level.least[subset[b], a if a < b else a - 1])
                    out_least[end, a] = low
            end += 1
    return end


@njit(**JIT)
def score_families(new, level, model, capped, kept):
    """Score the live families of a new level, raise ``best`` and mark what Lemma 1 keeps.

    Parameters
    ----------
    new, level
        The new level, counted, and the one below it.
    capped
        ``int64[variable]``: children with −1 may have parent sets of this size.
    kept
        ``int64[set, child]``: the score where it exceeds every proper subset's, 1 elsewhere
        (no score is positive).

    Returns
    -------
    int
        Number of families scored.
    """
    n_sets, s = new.members.shape
    with_least = model.rules & (1 << THM2_CACHE) != 0
    constrained = len(model.forbidden) > 0
    q = np.empty(s, np.int64)
    scored = 0
    for i in range(n_sets):
        variables = new.members[i]
        products_without(variables, model.arity, model.cap, q)
        for a in range(s):
            x = variables[a]
            kept[i, a] = 1
            if new.best[i, a] >= DEAD or capped[x] != -1:
                continue
            if constrained and has_forbidden(a, variables, model.forbidden):
                continue
            likelihood = new.G[i] - level.G[new.subsets[i, a]]
            score = likelihood - model.unit * min((model.arity[x] - 1) * q[a], model.cap)
            scored += 1
            if score > new.best[i, a] + model.margin:
                kept[i, a] = score
                if with_least:
                    new.least[i, a] = min(new.least[i, a], -likelihood)
            new.best[i, a] = max(new.best[i, a], score)
    return scored
