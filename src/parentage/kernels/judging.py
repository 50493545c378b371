"""The rules in fixed point: which families of one set are ruled out before it is counted.

The functions of :mod:`parentage.scoring.rules` are the readable reference of what
:func:`first_rule` decides; bit ``r`` of ``rules`` switches on rule number r of
``rules.RULES``. :mod:`parentage.kernels.levels` has the levels that the sets come from.
"""

from __future__ import annotations

import numpy as np

from parentage.kernels._options import INLINE, JIT, njit

DEAD = 2**62
N_RULES = 16  # what numbers of Bin begin behind: those below stand for the rule that fired
# Positions in parentage.scoring.rules.RULES; a test keeps the two in step.
ALG3, ALG4, THM2, ALG1, ALG2, THM1, LEMMA3, THM1P = range(4, 12)
CHILD, CELLS, PARENT, FUNCTIONAL = range(12, 16)  # for scores by sums: kernels.sums
# What is known of each member of a join: the rows of an array, so many.
MEMBER, SUBSET, STATES, BEST, CEILING, ROW, ROWS = range(7)


@njit(**INLINE)  # a call counts references to its arrays, which takes longer than the products
def products_without(members, i, arity, cap, q):
    """Set ``q[a]`` to the product of the arities of all members of set i but the a-th.

    At most ``4·cap``: then what an additional parent adds, at least half of it, is beyond
    ``cap`` too.
    """
    most = 4 * cap
    product = np.int64(1)
    for a in range(len(q)):
        q[a] = product
        product = min(product * arity[members[i, a]], most)
    product = np.int64(1)
    for a in range(len(q) - 1, -1, -1):
        q[a] = min(q[a] * product, most)
        product = min(product * arity[members[i, a]], most)


@njit(**JIT)
def has_forbidden(a, variables, forbidden):
    """Whether a parent in family a of the set may not be a parent of its child."""
    for b in range(len(variables)):
        if b != a and forbidden[variables[a], variables[b]]:
            return True
    return False


@njit(**JIT)
def first_rule(rules, right, bar, n_h_x, n_h_y, h_x, h_y, G_pi, G_x_star, G_star, best):
    r"""Return the first rule that rules out a family (X, Π) because of Y ∈ Π, or −1.

    With Π* = Π \ Y: ``right`` is what Y adds to the penalty, less the slack (tolerance plus width);
    ``bar`` is −pen(X, Π) plus the slack, ``best`` is Bin(Π*).
    """
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
    if rules & (1 << LEMMA3) and best >= bar:
        return LEMMA3
    if rules & (1 << THM1P) and (best >= bar - h_x or best >= bar + G_x_star - h_y - G_pi):
        return THM1P
    return -1


@njit(**JIT)
def inherited_rule(a, subset, bins):
    """Return DEAD + rule of the first one-smaller subset in which child a is dead."""
    for b in range(len(subset)):
        if b != a:
            below = bins[subset[b], a if a < b else a - 1]
            if below < N_RULES:
                return DEAD + np.int64(below)
    return np.int64(DEAD)


@njit(**INLINE)  # a call costs a tenth of the whole
def thm1p_families(alive, join, G, bins, start, value, arity, residual, unit, cap, slack):
    """Decide Theorem 1⁺ alone for the children in ``alive``: the everyday rule, kept tight.

    Same ``join`` and result as :func:`judge_families` with only that rule on, which a test asserts;
    ``bins`` are those of all families in one row. Returns the children that stay alive.

    Arrays come one by one, and as one: each that was taken out of a tuple here would cost two
    locked instructions per set, a seventh of the whole.
    """
    m = join.shape[1]
    for b in range(m):
        join[CEILING, b] = G[join[SUBSET, b]] - residual[join[MEMBER, b]] + slack
        join[ROW, b] = join[SUBSET, b] * (m - 1)
    still = alive
    for a in range(m):
        bit = np.uint64(1) << np.uint64(a)
        if alive & bit == np.uint64(0):
            join[BEST, a] = DEAD + THM1P
            continue
        x = np.uint64(join[MEMBER, a])
        own = np.uint64(start[x])
        penalty = unit * min((arity[x] - 1) * join[STATES, a], cap)
        x_side = slack - penalty - residual[x]
        y_side = -penalty - G[np.uint64(join[SUBSET, a])]
        top = -np.int64(DEAD)
        fires = False
        for b in range(m - 1, a, -1):  # the last two are the pair being joined: in cache
            v = value[own + np.uint64(bins[np.uint64(join[ROW, b] + a)])]
            fires = v >= x_side or v >= join[CEILING, b] + y_side
            if fires:
                break
            top = max(top, v)
        if not fires:
            for b in range(a - 1, -1, -1):
                v = value[own + np.uint64(bins[np.uint64(join[ROW, b] + a - 1)])]
                fires = v >= x_side or v >= join[CEILING, b] + y_side
                if fires:
                    break
                top = max(top, v)
        if fires:
            top = np.int64(DEAD + THM1P)
            still ^= bit
        join[BEST, a] = top
    return still


@njit(**JIT)
def judge_families(alive, join, level, facts, terms):
    """Decide every chosen rule for every child of one set, two siblings joined.

    ``join[what, member]`` has the variable, where the set without it is in the level, the joint
    states of the others, and room for the best score of a proper subset, or DEAD + rule: the
    inherited one, else the first in the order that fires. Returns the children that stay alive.
    """
    variables, subset, q, out = join[MEMBER], join[SUBSET], join[STATES], join[BEST]
    bins, subsets, G = level.bins, level.subsets, level.columns[0]
    start, value = level.values.start, level.values.value
    arity, single, residual, G_below = terms.arity, terms.single, terms.residual, terms.G_below
    rules, slack, unit, cap = facts.rules, facts.slack, terms.unit, terms.cap
    m = len(variables)
    needs_G_star = rules & (1 << ALG1 | 1 << ALG2 | 1 << THM1) != 0
    earliest = 0  # the first rule that is on: none can come before it
    while rules >> earliest & 1 == 0 and earliest <= THM1P:
        earliest += 1
    still = alive
    for a in range(m):
        bit = np.uint64(1) << np.uint64(a)
        if alive & bit == np.uint64(0):
            out[a] = inherited_rule(a, subset, bins)
            continue
        x = variables[a]
        pi = subset[a]
        bar = slack - unit * min((arity[x] - 1) * q[a], cap)
        top = -np.int64(DEAD)
        first = np.int64(THM1P + 1)
        for b in range(m - 1, -1, -1):
            if b == a:
                continue
            y = variables[b]
            x_star = subset[b]
            child = a if a < b else a - 1  # where X stands in X ∪ Π*
            v = value[start[x] + bins[x_star, child]]
            top = max(top, v)
            if rules == 0:
                continue
            G_star = G_below[subsets[x_star, child]] if needs_G_star else np.int64(0)
            right = unit * min((arity[x] - 1) * (q[a] - q[a] // arity[y]), cap) - slack
            rule = first_rule(
                rules, right, bar, single[x], single[y], residual[x], residual[y],
                G[pi], G[x_star], G_star, v,
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
def none_capped(capped):
    """Whether no child is capped; ``capped.max()`` would take a second to compile."""
    for x in range(len(capped)):
        if capped[x] != -1:
            return False
    return True


@njit(**INLINE)
def credit_rules(variables, best, capped, forbidden, tally):
    """Raise ``tally[rule]`` by the families of one set that each rule removes.

    A cap goes before the other rules; families that a constraint bars are credited to none.
    """
    for a in range(len(variables)):
        rule = capped[variables[a]]
        if rule == -1 and best[a] >= DEAD:
            rule = best[a] - DEAD
        if rule >= 0 and not (len(forbidden) > 0 and has_forbidden(a, variables, forbidden)):
            tally[rule] += 1
