r"""Judge and score for scores by sums (:mod:`parentage.scoring.scores.sums`).

As in :mod:`parentage.kernels.families`, with two differences. The score of a family is
``value[X ∪ Π] − minus[Π, column of X] − constant[X]``. And the rules are others: all that is known
is a bound on every superset of Π as parents of X (the child's side), for qNML also a parent's side,
and for scores that see only the partition of the rows that a redundant parent changes nothing.

None of these is closed: a set without a live family may still be needed as parents of a variable
outside. So before such a set is left out, the bound is tried for every variable outside
(Proposition 2, ``docs/theory.md``).

A set's number of joint states is not carried along but its *row*: the place of its multiset of
arities among those of its size, which is exact however large the product becomes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.kernels._options import INLINE, JIT, njit
from parentage.kernels.joining import best_single_parent, move_set
from parentage.kernels.judging import (
    CELLS,
    CHILD,
    DEAD,
    FUNCTIONAL,
    PARENT,
    credit_rules,
    has_forbidden,
)


class SumLevel(NamedTuple):
    """The sets of one size."""

    members: npt.NDArray[np.uint16]
    """``[set, member]``, rising."""
    subsets: npt.NDArray[np.int32]
    """``[set, member]``: where the set without this member is in the level below."""
    value: npt.NDArray[np.int64]
    """``[set]``: Σ f + ρ."""
    minus: npt.NDArray[np.int64]
    """``[set, column]``: what a family with these parents subtracts."""
    occupied: npt.NDArray[np.int32]
    """``[set]``: joint states that occur; 0 where no rule needs them."""
    row: npt.NDArray[np.int32]
    """``[set]``: place of its multiset of arities."""
    best: npt.NDArray[np.int64]
    """``[set, child]``: Bin, or DEAD + rule."""


class SumFacts(NamedTuple):
    """What judging and scoring need to know of the data, in fixed point."""

    kind: npt.NDArray[np.int64]
    """``[variable]``: which of the distinct arities it has."""
    column: npt.NDArray[np.int64]
    """``[variable]``: which column of ``minus`` it uses as a child."""
    constant: npt.NDArray[np.int64]
    """``[variable]``."""
    residual: npt.NDArray[np.int64]
    """``[variable]``: h, what nothing explains."""
    log_arity: npt.NDArray[np.int64]
    """``[variable]``: ln r."""
    forbidden: npt.NDArray[np.bool_]
    """``[child, parent]``: arcs that no family may contain."""
    slack: int
    """Tolerance plus width."""
    margin: int
    """A set is kept if it exceeds its best proper subset by more than this (may be negative)."""
    rules: int
    """Bit r: rule number r is on."""


class Rung(NamedTuple):
    """What one step from level to level needs besides; rows are those of the lower level."""

    times: npt.NDArray[np.int32]
    """``[kind, row]``: the row, one level up, of a set with one more variable of that kind."""
    penalty: npt.NDArray[np.int64]
    """``[kind, row]``: price of parents in that row for such a child; 0 where that is ``minus``."""
    penalty_above: npt.NDArray[np.int64]
    """``[kind, row above]``."""
    adds: npt.NDArray[np.bool_]
    """``[row]``: whether h and the price of cells add up (Theorem 4)."""
    adds_above: npt.NDArray[np.bool_]
    """``[row above]``."""
    rho: npt.NDArray[np.int64]
    """``[row]``: what ``value`` holds besides Σ f."""
    least_added: npt.NDArray[np.int64]
    """``[x, kind of y, row below]``: least that y adds in Theorem 7's region; empty: rule off."""
    best_alone: npt.NDArray[np.int64]
    """``[x, y]``: Bin of the single parent y, on the diagonal of none; −DEAD where not known."""
    value_below: npt.NDArray[np.int64]
    """``[set below]``."""
    row_below: npt.NDArray[np.int32]
    """``[set below]``."""
    rho_below: npt.NDArray[np.int64]
    """``[row below]``."""


@njit(**INLINE)
def bound_of(rules, h, price, cost, adds):
    """Return what no superset exceeds: −h − price, and with ``cost`` Theorem 4's; DEAD for none."""
    bound = np.int64(DEAD)
    if rules & (1 << CHILD):
        bound = -h - price
    if rules & (1 << CELLS):
        bound = min(bound, -h - cost if adds else min(-h, -cost))
    return bound


@njit(**JIT)
def parent_side(a, variables, subset, level, facts, rung):
    """Whether Theorem 7 rules out child a of a set because of one of its parents."""
    kind, residual, slack = facts.kind, facts.residual, facts.slack
    value, subsets, row, best = level.value, level.subsets, level.row, level.best
    x, pi = variables[a], subset[a]
    G_pi = value[pi] - rung.rho[row[pi]]
    price = rung.penalty[kind[x], row[pi]]
    for b in range(len(variables) - 1, -1, -1):
        if b == a:
            continue
        y, x_star = variables[b], subset[b]
        child = a if a < b else a - 1
        G_x_star = value[x_star] - rung.rho[row[x_star]]
        if best[x_star, child] - slack >= G_x_star - residual[y] - G_pi - price:
            star = subsets[x_star, child]
            G_star = rung.value_below[star] - rung.rho_below[rung.row_below[star]]
            gain = G_star - G_pi - residual[y] + slack
            if gain <= rung.least_added[x, kind[y], rung.row_below[star]]:
                return True
    return False


@njit(**JIT)
def redundant_parent(pi, level, rung):
    """Whether one of the parents is a function of the others: the rows fall apart no further."""
    for t in range(level.subsets.shape[1]):
        if level.value[pi] == rung.value_below[level.subsets[pi, t]]:
            return True
    return False


@njit(**JIT)
def needed_outside(variables, subset, row_above, cells, level, facts, rung):
    """Whether a variable outside the set may have it as parents (Proposition 2)."""
    value, minus = level.value, level.minus
    for x in range(len(facts.kind)):
        top, outside = best_single_parent(x, variables, rung.best_alone)
        if not outside:
            continue
        price = -np.int64(DEAD)
        for t in range(len(variables)):
            price = max(price, minus[subset[t], facts.column[x]] - value[subset[t]])
        price += facts.constant[x] + rung.penalty_above[facts.kind[x], row_above]
        cost = facts.log_arity[x] * cells
        adds = rung.adds_above[row_above]
        if top - facts.slack < bound_of(facts.rules, facts.residual[x], price, cost, adds):
            return True
    return False


@njit(**JIT)
def judge_sums(end, new, level, facts, rung, capped, tally):
    """Decide the rules for the first ``end`` joined sets; leave out those that nobody needs.

    ``new`` has members, subsets and the best of the proper subsets; ``new.best`` gets DEAD + rule
    where one fires, ``new.row`` is written, and ``tally`` is raised by the families that each rule
    removes. Returns the number of sets left, moved to the front: those with a live family, or with
    somebody outside who may need them.
    """
    # unpacked once: a field of a tuple taken in the loop costs a reference count each time
    members, subsets, row, best = new.members, new.subsets, new.row, new.best
    value, minus, occupied, level_row = level.value, level.minus, level.occupied, level.row
    kind, column, constant = facts.kind, facts.column, facts.constant
    residual, log_arity, forbidden = facts.residual, facts.log_arity, facts.forbidden
    rules, slack = facts.rules, facts.slack
    times, penalty, adds = rung.times, rung.penalty, rung.adds
    by_child, by_cells = rules & (1 << CHILD) != 0, rules & (1 << CELLS) != 0
    by_parent, functional = rules & (1 << PARENT) != 0, rules & (1 << FUNCTIONAL) != 0
    only_cells = rules == 1 << CELLS
    plain = len(forbidden) == 0 and capped.max() == -1 and capped.min() == -1
    m = members.shape[1]
    left = 0
    for i in range(end):
        above = times[kind[members[i, m - 1]], level_row[subsets[i, m - 1]]]
        cells = np.int64(0)
        if by_cells:
            for t in range(m):
                cells = max(cells, np.int64(occupied[subsets[i, t]]))
        dead = 0
        for a in range(m if rules != 0 else 0):
            top = best[i, a]
            if top >= DEAD:
                dead += 1
                continue
            x, pi = members[i, a], subsets[i, a]
            price = np.int64(0)
            if by_child:
                price = (
                    penalty[kind[x], level_row[pi]]
                    + minus[pi, column[x]] + constant[x] - value[pi]
                )  # fmt: skip
            cost = log_arity[x] * cells
            if only_cells and top - slack < -residual[x] - cost:
                continue  # Theorem 4 never says less
            fired = -1
            if top - slack >= bound_of(rules, residual[x], price, cost, adds[level_row[pi]]):
                fired = CHILD if by_child else CELLS
            elif by_parent and parent_side(a, members[i], subsets[i], level, facts, rung):
                fired = PARENT
            elif functional and redundant_parent(pi, level, rung):
                fired = FUNCTIONAL
            if fired >= 0:
                best[i, a] = DEAD + fired
                dead += 1
        if rules != 0 and (dead > 0 or not plain):
            credit_rules(members[i], best[i], capped, forbidden, tally)
        if (
            dead == m
            and (by_child or by_cells)
            and not needed_outside(members[i], subsets[i], above, cells, level, facts, rung)
        ):
            continue
        row[left] = above
        move_set(i, left, members, subsets, best)
        left += 1
    return left


@njit(**JIT)
def least_of_live(some, value_below, minus_below, facts, price, cells):
    """Lower ``price[variable]`` and ``cells[variable]`` to what live families of a level have.

    ``some`` are sets of the level; ``value_below[set below]`` and ``minus_below[set below,
    column]`` are those of their parents, whose price is that of :func:`judge_sums` but for the
    penalty.
    """
    members, subsets, occupied, best = some.members, some.subsets, some.occupied, some.best
    column, constant = facts.column, facts.constant
    for i in range(len(members)):
        for a in range(members.shape[1]):
            if best[i, a] >= DEAD:
                continue
            x, pi = members[i, a], subsets[i, a]
            price[x] = min(price[x], minus_below[pi, column[x]] + constant[x] - value_below[pi])
            cells[x] = min(cells[x], np.int64(occupied[i]))


@njit(**JIT)
def best_of_live(members, best, top):
    """Raise ``top[variable]`` to Bin of its live families."""
    for i in range(len(members)):
        for a in range(members.shape[1]):
            if best[i, a] < DEAD:
                x = members[i, a]
                top[x] = max(top[x], best[i, a])


@njit(**JIT)
def score_sums(new, minus, facts, capped, kept_set, kept_child, kept_score):
    """Score the live families of a new level; as ``score_families``, ``minus`` of the one below."""
    members, subsets, value, best = new.members, new.subsets, new.value, new.best
    column, constant, forbidden = facts.column, facts.constant, facts.forbidden
    margin = facts.margin
    n_sets, s = members.shape
    constrained = len(forbidden) > 0
    variables = np.empty(s, np.int64)
    scored = 0
    kept = 0
    for i in range(n_sets):
        for a in range(s):
            variables[a] = members[i, a]
        for a in range(s):
            x = variables[a]
            if best[i, a] >= DEAD or capped[x] != -1:
                continue
            if constrained and has_forbidden(a, variables, forbidden):
                continue
            score = value[i] - minus[subsets[i, a], column[x]] - constant[x]
            scored += 1
            if score > best[i, a] + margin:
                kept_set[kept] = i
                kept_child[kept] = a
                kept_score[kept] = score
                kept += 1
            best[i, a] = max(best[i, a], score)
    return scored, kept
