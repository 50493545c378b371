r"""Scores by sums (:mod:`parentage.scoring.scores.sums`): what is counted, bounds, local scores.

Two things are not as under penalised likelihoods. The score of a family is
``value[X ∪ Π] − minus[Π, column of X] − constant[X]``. And the rules are others: all that is known
is a bound on every superset of Π as parents of X (the child's side), for qNML also a parent's side,
and for scores that see only the partition of the rows that a redundant parent changes nothing.

None of these is closed: a set without a live family may still be needed as parents of a variable
outside. So before such a set is left out, the bound is tried for every variable outside
(Proposition 2, ``docs/theory.md``).

A set's number of joint states is not carried along but its *row*: the place of its multiset of
arities among those of its size, which is exact however large the product becomes.

The columns of a level are four:

* ``value[set]``: Σ f + ρ,
* ``minus[set, column]``: what a family with these parents subtracts,
* ``occupied[set]``: joint states that occur; 0 where no rule needs them,
* ``row[set]``: the place of its multiset of arities.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.kernels._options import INLINE, JIT, njit
from parentage.kernels.judging import CELLS, CHILD, DEAD, FUNCTIONAL, N_RULES, PARENT
from parentage.kernels.levels import (
    bound_outside,
    local_scores,
    note_set,
    rule_out,
)


class SumTerms(NamedTuple):
    """What counting, judging and scoring need to know of the data, in fixed point.

    Rows are those of the level that is joined; *above* and *below* are the sizes next to it.
    """

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
    value_below: npt.NDArray[np.int64]
    """``[set below]``."""
    row_below: npt.NDArray[np.int32]
    """``[set below]``."""
    rho_below: npt.NDArray[np.int64]
    """``[row below]``."""
    functions: npt.NDArray[np.int64]
    """``[row above or one, count]``: f, for counting the new sets."""
    minus_functions: npt.NDArray[np.int64]
    """``[column of minus, count]``: m; no column where it is f, or where nothing is stored."""
    rho_above: npt.NDArray[np.int64]
    """``[row above]``."""
    counts_cells: bool
    """Whether the joint states of the new sets that occur are counted."""


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
def parent_side(a, variables, subset, level, slack, terms):
    """Whether Theorem 7 rules out child a of a set because of one of its parents."""
    kind, residual = terms.kind, terms.residual
    value, _, _, row = level.columns
    subsets, bins = level.subsets, level.bins
    x, pi = variables[a], subset[a]
    own = level.values.start[x]
    G_pi = value[pi] - terms.rho[row[pi]]
    price = terms.penalty[kind[x], row[pi]]
    for b in range(len(variables) - 1, -1, -1):
        if b == a:
            continue
        y, x_star = variables[b], subset[b]
        child = a if a < b else a - 1
        G_x_star = value[x_star] - terms.rho[row[x_star]]
        if (
            level.values.value[own + bins[x_star, child]] - slack
            >= G_x_star - residual[y] - G_pi - price
        ):
            star = subsets[x_star, child]
            G_star = terms.value_below[star] - terms.rho_below[terms.row_below[star]]
            gain = G_star - G_pi - residual[y] + slack
            if gain <= terms.least_added[x, kind[y], terms.row_below[star]]:
                return True
    return False


@njit(**JIT)
def redundant_parent(pi, level, terms):
    """Whether one of the parents is a function of the others: the rows fall apart no further."""
    value = level.columns[0]
    for t in range(level.subsets.shape[1]):
        if value[pi] == terms.value_below[level.subsets[pi, t]]:
            return True
    return False


@rule_out.for_terms(SumTerms)
def _rule_out(end, new, level, facts, terms, known):
    members, subsets, best = new.members, new.subsets, new.best
    value, minus, occupied, row = level.columns
    kind, column, constant, residual = terms.kind, terms.column, terms.constant, terms.residual
    log_arity, times, penalty, adds = terms.log_arity, terms.times, terms.penalty, terms.adds
    rules, slack = facts.rules, facts.slack
    by_child, by_cells = rules & (1 << CHILD) != 0, rules & (1 << CELLS) != 0
    by_parent, functional = rules & (1 << PARENT) != 0, rules & (1 << FUNCTIONAL) != 0
    m = members.shape[1]
    for i in range(end):
        cells = np.int64(0)
        if by_cells:
            for t in range(m):
                cells = max(cells, np.int64(occupied[subsets[i, t]]))
        known[i, 0] = times[kind[members[i, m - 1]], row[subsets[i, m - 1]]]
        known[i, 1] = cells
        for a in range(m if rules != 0 else 0):
            top = best[i, a]
            if top >= DEAD:
                continue
            x, pi = members[i, a], subsets[i, a]
            price = np.int64(0)
            if by_child:
                price = (
                    penalty[kind[x], row[pi]] + minus[pi, column[x]] + constant[x] - value[pi]
                )  # fmt: skip
            cost = log_arity[x] * cells
            if top - slack >= bound_of(rules, residual[x], price, cost, adds[row[pi]]):
                best[i, a] = DEAD + (CHILD if by_child else CELLS)
            elif by_parent and parent_side(a, members[i], subsets[i], level, slack, terms):
                best[i, a] = DEAD + PARENT
            elif functional and redundant_parent(pi, level, terms):
                best[i, a] = DEAD + FUNCTIONAL


@bound_outside.for_terms(SumTerms)
def _bound_outside(x, subsets, known, level, facts, terms):
    value, minus, _, _ = level.columns
    price = -np.int64(DEAD)
    for t in range(len(subsets)):
        price = max(price, minus[subsets[t], terms.column[x]] - value[subsets[t]])
    row = known[0]
    price += terms.constant[x] + terms.penalty_above[terms.kind[x], row]
    cost = terms.log_arity[x] * known[1]
    return bound_of(facts.rules, terms.residual[x], price, cost, terms.adds_above[row])


@note_set.for_terms(SumTerms)
def _note_set(to, known, columns, terms):
    columns[3][to] = known


@local_scores.for_terms(SumTerms)
def _local_scores(new, below, terms, scores):
    members, subsets, best, columns = new
    value, minus, column, constant = columns[0], below[1], terms.column, terms.constant
    n_sets, s = members.shape
    for i in range(n_sets):
        for a in range(s):
            if best[i, a] < DEAD:
                x = members[i, a]
                scores[i, a] = value[i] - minus[subsets[i, a], column[x]] - constant[x]


@njit(work=lambda some, *_: 50 + 2 * some.members.size, **JIT)
def least_of_live(some, value_below, minus_below, column, constant, price, cells):
    """Lower ``price[variable]`` and ``cells[variable]`` to what live families of a level have.

    ``some`` are sets of the level; ``value_below[set below]`` and ``minus_below[set below,
    column]`` are those of their parents, whose price is that of the child's side but for
    the penalty.
    """
    members, subsets, bins, _, (_, _, occupied, _) = some
    for i in range(len(members)):
        for a in range(members.shape[1]):
            if bins[i, a] < N_RULES:
                continue
            x, pi = members[i, a], subsets[i, a]
            price[x] = min(price[x], minus_below[pi, column[x]] + constant[x] - value_below[pi])
            cells[x] = min(cells[x], np.int64(occupied[i]))
