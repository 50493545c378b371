r"""Data with missing values: sets counted on their complete rows, bounds, local scores.

**Counting.** Every set S is counted once, on the rows where all its members are observed: n rows,
counts per joint state. For child a in S both sums of the family come from that one table, the
second from its marginal over a:

.. math:: -n\,H(a | S \setminus a) = \sum_c f(n_c) - \sum_d f(n_d), \qquad f(c) = c \ln c.

The marginal is not what S \\ a has when it is counted by itself, because then more rows are
complete. Where the joint states are few, their counts are an array and the marginals sums along its
axes; sets that share all but the last member share the rows and states of the rest. Where they are
many, rows with the same states are found by hashing.

**Judging.** Likelihoods are averages over different rows, so they do not grow with parents, and the
only rule is the child's side (Theorem 8): no superset of Π scores more than
−N h_X / n − N λ (r − 1) q_Π, with n at least its complete rows. Not closed: Proposition 2 decides
which sets are needed. A set that no row has complete is left out with all its supersets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.kernels._options import INLINE, JIT, njit
from parentage.kernels.bits import SPREAD, U
from parentage.kernels.judging import CHILD, DEAD, products_without
from parentage.kernels.levels import (
    bound_outside,
    local_scores,
    note_set,
    rule_out,
)

MISSING = np.iinfo(np.uint16).max


class MissingTerms(NamedTuple):
    """What judging and scoring need to know of the data, in fixed point."""

    arity: npt.NDArray[np.int64]
    """``[variable]``."""
    residual: npt.NDArray[np.int64]
    """``[variable]``: h over the rows where nothing is missing; not yet divided by n."""
    n_rows: int
    """N."""
    unit: int
    """Penalty of one free parameter, N λ."""
    cap: int
    """Free parameters beyond this many are as good as infinitely many."""
    left: npt.NDArray[np.int64]
    """``[set, child]``: n·H(child | the others) of the sets that are scored; empty before."""


@njit(**JIT)
def scaled(x, n_rows, n):
    """Return ⌊x N / n⌋ for x ≥ 0 without leaving 64 bits; its ``py_func`` takes arrays."""
    return (x // n) * n_rows + ((x % n) * n_rows) // n


def short_count(members, rows, arity, n, left):
    """Return about how many microseconds the plain :func:`count_complete` takes."""
    return members.size * (20 + 0.02 * len(rows[1]))


@njit(work=short_count, **JIT)
def count_complete(members, rows, arity, n, left):
    """Count sets of one size on the rows where they are complete.

    Parameters
    ----------
    members
        ``uint16[set, member]``, in lexicographic order.
    rows
        What is counted: ``codes[variable, row]``, MISSING for a hole, of the rows in which the
        context is observed; ``label[row]``, the joint state of the context, and the number of
        labels; ``repeats[row]``, how often each row occurs; and ``f[count]``, c ln c.
    arity
        ``int64[variable]``.
    n
        ``int64[set]``: filled with the complete rows.
    left
        ``int64[set, member]``: filled with n·H(member | the others, context), never negative.
    """
    codes, label, n_labels, repeats, f = rows
    n_sets, s = members.shape
    there = np.empty(len(label), np.int64)
    cell = np.empty(len(label), np.int64)
    found = 0
    dense = np.int64(16 * len(label) + 1024)
    counts = np.zeros(dense, np.int64)
    for i in range(n_sets):
        q = np.int64(n_labels)
        for t in range(s):
            q = min(q * arity[members[i, t]], dense + 1)
        if q > dense:
            n[i] = count_by_rows(members[i], rows, left[i])
            found = -1  # the prefix is that of another set
            continue
        if i == 0 or found < 0 or differs(members, i):
            found = prefix_cells(members[i], codes, label, arity, there, cell)
        z = members[i, s - 1]
        r = arity[z]
        counts[:q] = 0
        total = np.int64(0)
        for k in range(found):
            code = codes[z, there[k]]
            if code != MISSING:
                times = np.int64(repeats[there[k]])
                counts[cell[k] * r + np.int64(code)] += times
                total += times
        n[i] = total
        whole = np.int64(0)
        for c in range(q):
            whole += f[counts[c]]
        stride = np.int64(1)
        for a in range(s - 1, -1, -1):
            r = arity[members[i, a]]
            left[i, a] = marginal(counts, q, r, stride, f) - whole
            stride *= r


@count_complete.as_numpy
def _count_complete(members, rows, arity, n, left):
    codes, label, n_labels, repeats, f = rows
    times = repeats.astype(np.int64)
    there = codes != MISSING
    for i, chosen in enumerate(members.tolist()):
        whole = np.flatnonzero(there[chosen].all(axis=0))
        own, weights = codes[chosen][:, whole].astype(np.int64), times[whole]
        n[i] = weights.sum()

        def total(columns, own=own, chosen=chosen, whole=whole, weights=weights):
            cells, count = label[whole], n_labels
            for t in columns:
                if count > 4 * len(whole) + 64:
                    known, cells = np.unique(cells, return_inverse=True)
                    count = len(known)
                cells = cells * arity[chosen[t]] + own[t]
                count *= int(arity[chosen[t]])
            if count > 64 * len(whole) + 1024:
                cells = np.unique(cells, return_inverse=True)[1]
            return f[np.bincount(cells, weights).astype(np.int64)].sum()

        everything = range(len(chosen))
        together = total(everything)
        for a in everything:
            left[i, a] = total([t for t in everything if t != a]) - together


@njit(**INLINE)
def differs(members, i):
    """Whether set i has other members than the set before it, the last one aside."""
    for t in range(members.shape[1] - 1):
        if members[i, t] != members[i - 1, t]:
            return True
    return False


@njit(**JIT)
def prefix_cells(chosen, codes, label, arity, there, cell):
    """List the rows complete in all members but the last, and their joint states with the context.

    Returns how many there are.
    """
    found = 0
    for row in range(len(label)):
        at = label[row]
        whole = True
        for t in range(len(chosen) - 1):
            code = codes[chosen[t], row]
            if code == MISSING:
                whole = False
                break
            at = at * arity[chosen[t]] + np.int64(code)
        if whole:
            there[found] = row
            cell[found] = at
            found += 1
    return found


@njit(**JIT)
def marginal(counts, q, r, stride, f):
    """Return Σ f over the joint states without the axis of r states and this stride."""
    total = np.int64(0)
    for high in range(0, q, r * stride):
        for low in range(high, high + stride):
            together = np.int64(0)
            for c in range(low, low + r * stride, stride):
                together += counts[c]
            total += f[together]
    return total


@njit(**JIT)
def count_by_rows(chosen, rows, left):
    """Count one set whose joint states are too many for an array; returns its complete rows."""
    codes, label, _, repeats, f = rows
    s = len(chosen)
    there = np.empty(len(label), np.int64)
    found = 0
    total = np.int64(0)
    for row in range(len(label)):
        whole = True
        for t in range(s):
            whole = whole and codes[chosen[t], row] != MISSING
        if whole:
            there[found] = row
            found += 1
            total += np.int64(repeats[row])
    times = repeats[there[:found]]
    keys = np.empty((found, s + 1), np.uint64)
    for k in range(found):
        keys[k, s] = label[there[k]]
        for t in range(s):
            keys[k, t] = codes[chosen[t], there[k]]
    together = total_of(keys, times, f)
    for a in range(s):
        own = keys[:, a].copy()
        keys[:, a] = 0
        left[a] = total_of(keys, times, f) - together
        keys[:, a] = own
    return total


@njit(wraps=True, **JIT)
def total_of(keys, times, f):
    """Return Σ f over the distinct rows of ``keys[row, word]``; row k occurs ``times[k]`` times.

    ``slots`` is an open hash table (linear probing) of rows that were not seen before.
    """
    bits = 1
    while 1 << bits < 2 * len(keys):
        bits += 1
    shift, last = U(64 - bits), U((1 << bits) - 1)
    slots, sizes = np.full(1 << bits, -1, np.int32), np.zeros(len(keys), np.int64)
    for k in range(len(keys)):
        mixed = U(0)
        for w in range(keys.shape[1]):
            mixed = (mixed ^ keys[k, w] ^ (mixed >> U(29))) * SPREAD
        at = mixed >> shift
        while slots[at] >= 0:
            same = True
            for w in range(keys.shape[1]):
                same = same and keys[slots[at], w] == keys[k, w]
            if same:
                break
            at = (at + U(1)) & last
        if slots[at] < 0:
            slots[at] = k
        sizes[slots[at]] += np.int64(times[k])
    total = np.int64(0)
    for k in range(len(keys)):
        total += f[sizes[k]]
    return total


@njit(**INLINE)
def bound_of(rules, x, most_rows, q, terms):
    """Return what no superset exceeds (Theorem 8); DEAD while the rule is off."""
    if rules & (1 << CHILD) == 0:
        return np.int64(DEAD)
    price = terms.unit * min((terms.arity[x] - 1) * q, terms.cap)
    return -scaled(terms.residual[x], np.int64(terms.n_rows), most_rows) - price


@rule_out.for_terms(MissingTerms)
def _rule_out(end, new, level, facts, terms, known):
    members, subsets, best, rows = new.members, new.subsets, new.best, level.columns[0]
    arity, cap, rules, slack = terms.arity, terms.cap, facts.rules, facts.slack
    m = members.shape[1]
    states = np.empty(m, np.int64)
    for i in range(end):
        most_rows = rows[subsets[i, 0]]
        for t in range(1, m):
            most_rows = min(most_rows, rows[subsets[i, t]])
        known[i, 0] = most_rows if most_rows > 0 else -1
        if most_rows == 0 or rules == 0:
            continue
        products_without(members, i, arity, cap, states)
        known[i, 1] = min(states[0] * arity[members[i, 0]], 4 * cap)
        for a in range(m):
            bound = bound_of(rules, members[i, a], most_rows, states[a], terms)
            if best[i, a] < DEAD and best[i, a] - slack >= bound:
                best[i, a] = DEAD + CHILD


@bound_outside.for_terms(MissingTerms)
def _bound_outside(x, subsets, known, level, facts, terms):
    return bound_of(facts.rules, x, known[0], known[1], terms)


@note_set.for_terms(MissingTerms)
def _note_set(to, known, columns, terms):
    pass


@local_scores.for_terms(MissingTerms)
def _local_scores(new, below, terms, scores):
    members, best, rows = new.members, new.best, new.columns[0]
    arity, unit, cap, left = terms.arity, terms.unit, terms.cap, terms.left
    n_rows = np.int64(terms.n_rows)
    n_sets, s = members.shape
    states = np.empty(s, np.int64)
    for i in range(n_sets):
        if rows[i] == 0:
            scores[i] = DEAD
            continue
        products_without(members, i, arity, cap, states)
        for a in range(s):
            if best[i, a] < DEAD:
                price = unit * min((arity[members[i, a]] - 1) * states[a], cap)
                scores[i, a] = -scaled(left[i, a], n_rows, rows[i]) - price
