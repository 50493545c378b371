r"""Join, judge, score for scores by sums (:mod:`parentage.scoring.scores.sums`).

The shape of :mod:`parentage.kernels.families`, with two differences. The score of a family is
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
from parentage.kernels.families import find_subsets, in_larger_set
from parentage.kernels.judging import (
    CELLS,
    CHILD,
    DEAD,
    FUNCTIONAL,
    PARENT,
    Join,
    credit_rules,
    has_forbidden,
    inherited_rule,
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
def bound_of(x, price, cells, adds, facts):
    """Return what no superset exceeds: −h − price, and with cells Theorem 4's; DEAD for none."""
    rules, h = facts.rules, facts.residual[x]
    bound = np.int64(DEAD)
    if rules & (1 << CHILD):
        bound = -h - price
    if rules & (1 << CELLS):
        cost = facts.log_arity[x] * cells
        bound = min(bound, -h - cost if adds else min(-h, -cost))
    return bound


@njit(**JIT)
def parent_side(a, join, level, facts, rung):
    """Whether Theorem 7 rules out child a because of one of its parents."""
    variables, subset = join.variables, join.subset
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


@njit(**INLINE)  # and the arrays unpacked by the caller: a field of a tuple costs a count each time
def judge_by_bounds(alive, join, cells, level, facts, rung, value, minus, row, best):
    """Decide the rules for every child of one set; as ``judge_families``."""
    variables, subset, _, out = join
    rules, slack = facts.rules, facts.slack
    still = alive
    for a in range(len(variables)):
        bit = np.uint64(1) << np.uint64(a)
        if alive & bit == np.uint64(0):
            out[a] = inherited_rule(a, subset, best)
            continue
        top = -np.int64(DEAD)
        for b in range(len(variables)):
            if b != a:
                top = max(top, best[subset[b], a if a < b else a - 1])
        out[a] = top
        if rules == 0:
            continue
        x, pi = variables[a], subset[a]
        price = (
            rung.penalty[facts.kind[x], row[pi]]
            + minus[pi, facts.column[x]] + facts.constant[x] - value[pi]
        )  # fmt: skip
        fired = -1
        if top - slack >= bound_of(x, price, cells, rung.adds[row[pi]], facts):
            fired = CHILD if rules & (1 << CHILD) else CELLS
        elif rules & (1 << PARENT) and parent_side(a, join, level, facts, rung):
            fired = PARENT
        elif rules & (1 << FUNCTIONAL) and redundant_parent(pi, level, rung):
            fired = FUNCTIONAL
        if fired >= 0:
            out[a] = DEAD + fired
            still ^= bit
    return still


@njit(**JIT)
def needed_outside(variables, subset, row_above, cells, level, facts, rung):
    """Whether a variable outside the set may have it as parents (Proposition 2)."""
    value, minus = level.value, level.minus
    for x in range(len(facts.kind)):
        top = rung.best_alone[x, x]
        outside = True
        for t in range(len(variables)):
            outside = outside and variables[t] != x
            top = max(top, rung.best_alone[x, variables[t]])
        if not outside:
            continue
        price = -np.int64(DEAD)
        for t in range(len(variables)):
            price = max(price, minus[subset[t], facts.column[x]] - value[subset[t]])
        price += facts.constant[x] + rung.penalty_above[facts.kind[x], row_above]
        if top - facts.slack < bound_of(x, price, cells, rung.adds_above[row_above], facts):
            return True
    return False


@njit(**JIT)
def join_sums(first, last, siblings, level, facts, rung, capped, new, tally):
    """Join each of the sets ``first … last − 1`` with its later siblings.

    The arguments are those of :func:`parentage.kernels.families.join_siblings`; of ``new`` members,
    subsets, row and best are written. Returns the number of sets written: those with all subsets
    in the level, and with a live family or somebody outside who may need them.
    """
    sibling_end, children, tails, live = siblings
    members, subsets, value, minus, occupied, level_row, best = level
    times, kind, rules = rung.times, facts.kind, facts.rules
    out_members, out_subsets, out_row, out_best = new.members, new.subsets, new.row, new.best
    bounded = facts.rules & (1 << CHILD | 1 << CELLS) != 0
    by_cells = facts.rules & (1 << CELLS) != 0
    s = subsets.shape[1]
    at, stop = np.empty(s + 1, np.int64), np.empty(s + 1, np.int64)
    variables, subset = np.empty(s + 1, np.int64), np.empty(s + 1, np.int64)
    nothing, out = np.empty(0, np.int64), np.empty(s + 1, np.int64)
    join = Join(variables, subset, nothing, out)
    end = 0
    for i in range(first, last):
        for t in range(s - 1):
            p = subsets[i, t]
            at[t] = children[p]
            stop[t] = children[p + 1]
        for t in range(s):
            variables[t] = members[i, t]
        subset[s] = i
        alive_i = in_larger_set(live[i], s)
        for j in range(i + 1, sibling_end[i]):
            z = tails[j]
            worth, alive = find_subsets(
                z, tails, at, stop, live, subset, s - 1, alive_i & in_larger_set(live[j], s - 1),
                False,
            )  # fmt: skip
            if not worth:
                continue
            subset[s - 1] = j
            variables[s] = z
            cells = np.int64(0)
            if by_cells:
                for t in range(s + 1):
                    cells = max(cells, np.int64(occupied[subset[t]]))
            alive = judge_by_bounds(
                alive, join, cells, level, facts, rung, value, minus, level_row, best
            )
            if rules != 0:
                credit_rules(join, capped, facts.forbidden, tally)
            row = times[kind[z], level_row[i]]
            unused = bounded and alive == np.uint64(0)
            if unused and not needed_outside(variables, subset, row, cells, level, facts, rung):
                continue
            for t in range(s + 1):
                out_members[end, t] = variables[t]
                out_subsets[end, t] = subset[t]
                out_best[end, t] = out[t]
            out_row[end] = row
            end += 1
    return end


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
