"""Levels of sets: how one is joined into the next, judged and scored, whatever the measure.

A *level* holds the sets of one size ``s`` that a search still needs, in lexicographic order, which
makes it a prefix trie: sets that differ only in their last member (*siblings*) are neighbours, and
every set one larger is the join of two siblings. A set is needed only if all its one-smaller
subsets are in the level. A family is a set and the position of the child in it: family ``(i, a)``
has child ``members[i, a]`` and the rest as parents.

``best[i, a]`` is Bin, the best score of the family's parent set and all its subsets, or
``DEAD + rule`` once a rule has ruled out the parent set and all its supersets. Scores are never
positive, so a dead family compares as better than anything. Few families score more than all their
subsets, so few values are Bin of many families: a level that is stored has ``bins[i, a]``, the
number of the value among those of the child (:class:`Values`).

What is counted of a set, how a family is scored and what no superset exceeds depends on the measure
(:mod:`parentage.scoring.measures`). Its *terms*, a named tuple, select that code by their type: the
functions below that only raise are hooks (:func:`~parentage.kernels._options.hook`), written in
:mod:`parentage.kernels.likelihoods`, :mod:`parentage.kernels.sums` and
:mod:`parentage.kernels.missing`, and are compiled into :func:`judge_level` and :func:`score_level`.
Where a set without a live family can be passed over, joining and judging go hand in hand instead
(``likelihoods.join_siblings``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.kernels._options import INLINE, JIT, hook, njit
from parentage.kernels.bits import SPREAD, U
from parentage.kernels.judging import (
    CELLS,
    CHILD,
    DEAD,
    N_RULES,
    credit_rules,
    has_forbidden,
    inherited_rule,
    none_capped,
)


class Values(NamedTuple):
    """The values that Bin has, numbered per child: the first :data:`N_RULES` are DEAD + rule."""

    start: npt.NDArray[np.int64]
    """``[child]``: value number b is ``value[start[child] + b]``."""
    value: npt.NDArray[np.int64]
    slots: npt.NDArray[np.uint32]
    """Hash tables with linear probing: numbers of values, 0 where there is none."""
    first: npt.NDArray[np.int64]
    """``[child]``: where its hash table begins."""
    shift: npt.NDArray[np.uint64]
    """``[child]``: its hash table has 2^(64 − shift) slots."""


class Level(NamedTuple):
    """The sets of one size."""

    members: npt.NDArray[np.uint16]
    """``[set, member]``, rising."""
    subsets: npt.NDArray[np.int32]
    """``[set, member]``: where the set without this member is in the level below."""
    bins: npt.NDArray[np.uint16] | npt.NDArray[np.uint32]
    """``[set, child]``: the number of Bin among the values of the child."""
    values: Values
    columns: tuple[npt.NDArray[Any], ...]
    """What the measure counts of a set, arrays ``[set, …]``: G; or the rows in which all members
    are observed, with missing values; or what :mod:`parentage.kernels.sums` says."""


class NewLevel(NamedTuple):
    """The same while it is made."""

    members: npt.NDArray[np.uint16]
    subsets: npt.NDArray[np.int32]
    best: npt.NDArray[np.int64]
    """``[set, child]``: Bin, or DEAD + rule."""
    columns: tuple[npt.NDArray[Any], ...]


class Facts(NamedTuple):
    """What judging and scoring need to know under every measure, in fixed point."""

    forbidden: npt.NDArray[np.bool_]
    """``[child, parent]``: arcs that no family may contain; empty: none."""
    capped: npt.NDArray[np.int64]
    """``[variable]``: the rule that bars families of the new size from this child, −1 for none,
    −2 if a constraint does (then no rule is credited)."""
    best_alone: npt.NDArray[np.int64]
    """``[x, y]``: Bin of the single parent y, on the diagonal of none; −DEAD where not known."""
    slack: int
    """Tolerance plus width."""
    margin: int
    """A set is kept if it exceeds its best proper subset by more than this (may be negative)."""
    rules: int
    """Bit r: rule number r is on."""


@hook
def local_scores(new, below, terms, scores):
    """Set ``scores[set, child]`` to the score of every live family; DEAD: it has none.

    ``new`` is a new level, counted, ``below`` are the columns of the level below it.
    """
    raise NotImplementedError("for kernels only")


@hook
def rule_out(end, new, level, facts, terms, known):
    """Set ``new.best`` of every family that a rule rules out to DEAD + rule.

    The sets are the first ``end`` of ``new``, one larger than those of ``level``; ``best`` has the
    best of the proper subsets. ``known[set, 0]`` is set to −1 if the set is not needed whatever is
    outside it; otherwise it and ``known[set, 1]`` are what :func:`bound_outside` needs and what
    :func:`note_set` writes.
    """
    raise NotImplementedError("for kernels only")


@hook
def bound_outside(x, subsets, known, level, facts, terms):
    """Return what no superset of a joined set exceeds as parents of x, which is outside it."""
    raise NotImplementedError("for kernels only")


@hook
def note_set(to, known, columns, terms):
    """Write what is known of a joined set, before it is counted, where it will be."""
    raise NotImplementedError("for kernels only")


@njit(**INLINE)
def slot_of(v, shift):
    """Return where the search for a value begins in a hash table."""
    return (U(v) * SPREAD) >> shift


@njit(work=lambda start, value, *_: 1 + 2.0 * len(value), wraps=True, **JIT)
def fill_slots(start, value, slots, first, shift):
    """Fill the empty hash tables of :class:`Values`; of equal values the first is in it."""
    for x in range(len(start)):
        end = start[x + 1] if x + 1 < len(start) else len(value)
        mask = (U(1) << (U(64) - shift[x])) - U(1)
        for k in range(start[x] + N_RULES, end):
            at = slot_of(value[k], shift[x])
            number = slots[first[x] + np.int64(at)]
            while number > 0 and value[start[x] + number] != value[k]:
                at = (at + U(1)) & mask
                number = slots[first[x] + np.int64(at)]
            if number == 0:
                slots[first[x] + np.int64(at)] = k - start[x]


@njit(work=lambda members, *_: 40 + 0.2 * members.size, wraps=True, **JIT)
def number_bins(members, best, values, bins, where, value):
    """Set ``bins[set, child]`` to the number of ``best[set, child]``, and list what has none.

    Returns the length of the list: ``where[k]``, counted through all families, and ``value[k]``.
    Their number is as yet the lowest of a live family.
    """
    start, known, slots, first, shift = values
    n_sets, s = members.shape
    listed = 0
    for i in range(n_sets):
        for a in range(s):
            v = best[i, a]
            if v >= DEAD:
                bins[i, a] = v - DEAD
                continue
            x = members[i, a]
            own, base = start[x], first[x]
            at = slot_of(v, shift[x])
            number = slots[base + np.int64(at)]
            while number > 0 and known[own + number] != v:
                at = (at + U(1)) & ((U(1) << (U(64) - shift[x])) - U(1))
                number = slots[base + np.int64(at)]
            if number == 0:
                number = N_RULES
                where[listed] = i * s + a
                value[listed] = v
                listed += 1
            bins[i, a] = number
    return listed


@number_bins.as_numpy
def _number_bins(members, best, values, bins, where, value):
    start, known, slots, first, shift = values
    live = best < DEAD
    bins[~live] = best[~live] - DEAD
    x, v = members[live], best[live]
    own, base, mask = start[x], first[x], (U(1) << (U(64) - shift[x])) - U(1)
    at = slot_of.py_func(v.astype(np.uint64), shift[x])
    while True:
        number = slots[base + at.astype(np.int64)]
        other = (number > 0) & (known[own + number] != v)
        if not other.any():
            break
        at[other] = (at[other] + U(1)) & mask[other]
    unknown = np.flatnonzero(number == 0)
    number[unknown] = N_RULES
    bins[live] = number
    where[: len(unknown)] = np.flatnonzero(live)[unknown]
    value[: len(unknown)] = v[unknown]
    return len(unknown)


@njit(work=lambda bins, _live: 20 + 0.02 * bins.size, **JIT)
def live_members(bins, live):
    """Set bit a of ``live[set]``, of any unsigned type, if the family with child a is alive.

    A set of 64 members never gets this far: its families have 2^63 joint states, or there are
    2^64 sets to count.
    """
    n_sets, s = bins.shape
    for i in range(n_sets):
        mask = np.uint64(0)
        for a in range(s):
            if bins[i, a] >= N_RULES:
                mask |= np.uint64(1) << np.uint64(a)
        live[i] = mask


@live_members.as_numpy
def _live_members(bins, live):
    bits = np.uint64(1) << np.arange(bins.shape[1], dtype=np.uint64)
    live[:] = np.where(bins >= N_RULES, bits, np.uint64(0)).sum(axis=1)


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


@njit(work=lambda *args: 200 + 0.2 * args[-1].size * args[-1].shape[1], **JIT)
def join_whole(first, last, siblings, level, out_members, out_subsets, out_best):
    """Join each of the sets ``first … last − 1`` with its later siblings if no subset is missing.

    Parameters
    ----------
    siblings
        How the level hangs together, in three arrays: the sets whose prefix is set p of the level
        below are ``children[p] … children[p + 1] − 1``; ``tails[set]`` are their last members;
        ``live[set]`` tells which families are alive (:func:`live_members`).
    level
        The level.
    out_members, out_subsets
        ``uint16[set, member]`` and ``int32[set, member]``, room for every pair: filled.
    out_best
        ``int64[set, child]``: filled with the best score of a proper subset, or DEAD + rule.

    Returns
    -------
    int
        Number of sets.
    """
    children, tails, _ = siblings
    members, subsets, bins = level.members, level.subsets, level.bins
    start, value = level.values.start, level.values.value
    s = subsets.shape[1]
    at, stop = np.empty(s + 1, np.int64), np.empty(s + 1, np.int64)
    end = 0
    for i in range(first, last):
        lists_beside(i, subsets, children, at, stop)
        at[s] = i
        for j in range(i + 1, children[subsets[i, s - 1] + 1]):
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
                own = start[out_members[end, a]]
                top = -np.int64(DEAD)
                for b in range(a):
                    top = max(top, value[own + bins[at[b], a - 1]])
                for b in range(a + 1, s + 1):
                    top = max(top, value[own + bins[at[b], a]])
                out_best[end, a] = top if top < DEAD else inherited_rule(a, at, bins)
                out_subsets[end, a] = at[a]
            end += 1
    return end


@join_whole.as_numpy
def _join_whole(first, last, siblings, level, out_members, out_subsets, out_best):
    children, tails, _ = siblings
    members, subsets, bins = level.members, level.subsets, level.bins
    s, each = subsets.shape[1], np.arange(first, last)
    later = children[subsets[first:last, -1] + 1] - each - 1
    i = np.repeat(each, later)
    j = i + 1 + np.arange(len(i)) - np.repeat(np.cumsum(later) - later, later)
    z = tails[j].astype(np.int64)
    width = int(tails.max()) + 1
    places = subsets[:, -1].astype(np.int64) * width + tails  # prefix and tail: they rise
    at, whole = np.empty((len(i), s + 1), np.int64), np.ones(len(i), np.bool_)
    at[:, s - 1], at[:, s] = j, i
    for t in range(s - 1):
        wanted = subsets[i, t].astype(np.int64) * width + z
        at[:, t] = np.minimum(np.searchsorted(places, wanted), len(places) - 1)
        whole &= places[at[:, t]] == wanted
    at, end = at[whole], np.count_nonzero(whole)
    out_members[:end, :s], out_members[:end, s] = members[i[whole]], z[whole]
    out_subsets[:end] = at
    for a in range(s + 1):
        top, rule = np.full(end, -DEAD), np.full(end, DEAD)
        own = level.values.start[out_members[:end, a]]
        for b in range(s, -1, -1):
            if b != a:
                below = level.values.value[own + bins[at[:, b], a if a < b else a - 1]]
                top = np.maximum(top, below)
                rule = np.where(below >= DEAD, below, rule)
        out_best[:end, a] = np.where(top < DEAD, top, rule)
    return end


@njit(**JIT)
def needed_outside(members, subsets, known, level, facts, terms):
    """Whether a variable outside the set may have it as parents (Proposition 2)."""
    best_alone, slack = facts.best_alone, facts.slack
    for x in range(len(best_alone)):
        top, outside = best_alone[x, x], True  # Bin of no parent, then of a single one of the set
        for t in range(len(members)):
            outside = outside and members[t] != x
            top = max(top, best_alone[x, members[t]])
        if outside and top - slack < bound_outside(x, subsets, known, level, facts, terms):
            return True
    return False


@njit(work=lambda end, new, *_: 3 * end * new.members.shape[1], **JIT)
def judge_level(end, new, level, facts, terms, tally):
    """Decide the rules for the first ``end`` joined sets; leave out those that nobody needs.

    ``new`` has members, subsets and the best of the proper subsets; ``new.best`` gets DEAD + rule
    where one fires, and ``tally[rule]`` is raised by the families that each rule removes. Returns
    the number of sets left, moved to the front: those with a live family, or with a variable
    outside that may need them.
    """
    # unpacked once: a field of a tuple taken in the loop costs a reference count each time
    members, subsets, best, columns = new
    forbidden, capped, rules = facts.forbidden, facts.capped, facts.rules
    bounded = rules & (1 << CHILD | 1 << CELLS) != 0
    unrestricted = len(forbidden) == 0 and none_capped(capped)
    m = members.shape[1]
    known = np.empty((end, 2), np.int64)
    rule_out(end, new, level, facts, terms, known)
    left = 0
    for i in range(end):
        if known[i, 0] < 0:
            continue
        dead = 0
        for a in range(m if rules != 0 else 0):
            dead += best[i, a] >= DEAD
        if rules != 0 and (dead > 0 or not unrestricted):
            credit_rules(members[i], best[i], capped, forbidden, tally)
        if (
            dead == m
            and bounded
            and not needed_outside(members[i], subsets[i], known[i], level, facts, terms)
        ):
            continue
        note_set(left, known[i, 0], columns, terms)
        move_set(i, left, members, subsets, best)
        left += 1
    return left


@njit(work=lambda new, *_: 2 * new.members.size, **JIT)
def score_level(new, below, facts, terms, kept_set, kept_child, kept_score):
    """Score the live families of a new level, raise ``best`` and note what Lemma 1 keeps.

    Parameters
    ----------
    new
        The new level, counted.
    below
        Columns of the level below it.
    kept_set, kept_child, kept_score
        ``int32``, ``uint8`` and ``int64``, room for every family: the families whose score exceeds
        every proper subset's, as set and position of the child, and that score.

    Returns
    -------
    tuple
        Number of families scored, and kept.
    """
    members, best = new.members, new.best
    forbidden, capped, margin = facts.forbidden, facts.capped, facts.margin
    n_sets, s = members.shape
    constrained = len(forbidden) > 0
    scores = np.empty((n_sets, s), np.int64)
    local_scores(new, below, terms, scores)
    scored = 0
    kept = 0
    for i in range(n_sets):
        for a in range(s):
            score = scores[i, a]
            if best[i, a] >= DEAD or score >= DEAD or capped[members[i, a]] != -1:
                continue
            if constrained and has_forbidden(a, members[i], forbidden):
                continue
            scored += 1
            if score > best[i, a] + margin:
                kept_set[kept] = i
                kept_child[kept] = a
                kept_score[kept] = score
                kept += 1
            best[i, a] = max(best[i, a], score)
    return scored, kept


@njit(work=lambda members, *_: 50 + members.size, **JIT)
def fewest_states(members, bins, states, least):
    """Lower ``least[variable]`` to the joint states of the parents in its live families."""
    for i in range(len(members)):
        whole = 1.0
        for a in range(members.shape[1]):
            whole *= states[members[i, a]]
        for a in range(members.shape[1]):
            x = members[i, a]
            if bins[i, a] >= N_RULES:
                least[x] = min(least[x], whole / states[x])


@njit(work=lambda members, *_: 50 + 0.1 * members.size, **JIT)
def most_of_live(members, bins, values, most):
    """Raise ``most[variable]`` to ``values[set, child]`` of its live families."""
    for i in range(len(members)):
        for a in range(members.shape[1]):
            if bins[i, a] >= N_RULES:
                x = members[i, a]
                most[x] = max(most[x], values[i, a])


@most_of_live.as_numpy
def _most_of_live(members, bins, values, most):
    alive = bins >= N_RULES
    np.maximum.at(most, members[alive], values[alive])
