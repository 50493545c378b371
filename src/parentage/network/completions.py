"""Completions of rows with missing cells, weighted by their posterior. Above expectation.

The completions of a row are the products of those of its components. Where the states of a
component are listed, its posterior is there. Where variables were eliminated, states are made one
variable after the other, the last eliminated first: given the states so far, the product in which a
variable was eliminated is its distribution. A beginning has at least the probability of every state
that it begins, so one with too little is dropped together with all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.network.elimination import CliqueTree, product

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parentage.kernels.completing import Choices
    from parentage.network.expectation import Component, Eliminated, Expectation, Floats, Ints
    from parentage.scoring.encoding.rows import Layout

LEAST = 0.25
"""Completions with less than this part of a unit are left out."""


class Completions(NamedTuple):
    """Distinct complete rows.

    Parameters
    ----------
    codes
        ``uint16[variable, row]``.
    weights
        ``int64[row]``: whole numbers of units.
    """

    codes: npt.NDArray[np.uint16]
    weights: Ints


def completed_rows(expected: Expectation, theta: Floats, unit: int) -> Completions:
    """Complete all rows: of each, ``unit`` times its weight units, by the posterior.

    The expectation is one of every cell. Weights are the posterior rounded so that they sum to the
    row: each down, and what is left to those that lost most.
    """
    from parentage.kernels.completing import complete_rows
    from parentage.kernels.merging import merge_rows
    from parentage.scoring.encoding.rows import layout_of

    layout = layout_of(expected.structure.sizes)
    units = np.rint(expected.weights * unit).astype(np.int64)
    with np.errstate(divide="ignore"):
        logs = np.log(theta)
    first, case = _cases_of_rows(expected)
    words, weights = complete_rows(
        layout.pack(np.maximum(expected.rows, 0), range(len(expected.rows))),
        units,
        first,
        case,
        _choices(expected, logs, units, layout),
        LEAST,
    )
    whole = np.full(len(words), ~np.uint64(0))
    n = merge_rows(words, weights, np.zeros(len(weights), np.int64), len(weights), whole)
    return Completions(layout.unpack(words[:, :n]), weights[:n].copy())


def _cases_of_rows(expected: Expectation) -> tuple[Ints, Ints]:
    """Return where the cases of each row begin, and the cases: listed first, then eliminated."""
    none = np.empty(0, np.int64)
    rows, cases, before = [none], [none], 0
    listed = [part.component for part in expected.listed]
    for component in (*listed, *(part.component for part in expected.eliminated)):
        rows.append(component.rows)
        cases.append(before + component.case)
        before += len(component.first)
    row, case = np.concatenate(rows), np.concatenate(cases)
    many = np.bincount(row, minlength=len(expected.weights))
    return np.concatenate([[0], np.cumsum(many)]), case[np.argsort(row, kind="stable")]


def _choices(expected: Expectation, logs: Floats, units: Ints, layout: Layout) -> Choices:
    """Return the states of all cases that may have a part of a row, likeliest first."""
    from parentage.kernels.completing import Choices

    shares, _ = expected.shares(logs)
    bars = [np.empty(0), *(_bars(part.component, units) for part in expected.listed)]
    bar = np.concatenate(bars)
    if len(bar):
        bar = np.minimum(bar, np.maximum.reduceat(shares, expected.starts))
    kept = shares >= np.repeat(bar, expected.lengths)
    words = [
        np.tile(layout.pack(part.states.T, part.component.variables), len(part.component.first))
        for part in expected.listed
    ]
    case = [np.repeat(np.arange(len(expected.starts)), expected.lengths)[kept]]
    found = [shares[kept]]
    chosen = [np.concatenate([np.empty((layout.n_words, 0), np.uint64), *words], axis=1)[:, kept]]
    n = len(expected.starts)
    for large in expected.eliminated:
        for states, own in likely_states(large, logs, _bars(large.component, units)):
            case.append(np.full(len(own), n))
            found.append(own)
            chosen.append(layout.pack(states.T, large.component.variables))
            n += 1
    which, share = np.concatenate(case), np.concatenate(found)
    order = np.lexsort((-share, which))
    start = np.concatenate([[0], np.cumsum(np.bincount(which, minlength=n))])
    picked = np.ascontiguousarray(np.concatenate(chosen, axis=1)[:, order])
    return Choices(start, share[order], picked)


def _bars(component: Component, units: Ints) -> Floats:
    """Return per case the least share that makes a difference to one of its rows."""
    most = np.zeros(len(component.first), np.int64)
    np.maximum.at(most, component.case, units[component.rows])
    return LEAST / most


def likely_states(part: Eliminated, logs: Floats, least: Floats) -> Iterator[tuple[Ints, Floats]]:
    """Yield per case the states that have at least so much, and their posterior; never none.

    States are ``int64[state, variable]``; if none has so much, those that have most are yielded.
    """
    tree = part.tree(logs)
    for case, bar in enumerate(least.tolist()):
        lower = bar
        states, shares = _states_above(tree, case, lower)
        while not len(shares):
            lower /= 16
            states, shares = _states_above(tree, case, lower)
        kept = shares >= min(bar, float(shares.max()))
        place = {v: i for i, v in enumerate(reversed(part.plan.order))}
        yield states[kept][:, [place[v] for v in part.component.variables]], shares[kept]


def _states_above(tree: CliqueTree, case: int, least: float) -> tuple[Ints, Floats]:
    """Return the states with at least so much, variables in reverse order of elimination."""
    order = tree.plan.order
    states, shares = np.empty((1, 0), np.int64), np.ones(1)
    for i in reversed(range(len(order))):
        if not len(shares):
            return states, shares
        clique = tree.plan.cliques[i]
        table = product(tree.entering(i), clique)
        own = np.moveaxis(table[min(case, len(table) - 1)], clique.index(order[i]), -1)
        at = tuple(states[:, len(order) - 1 - order.index(v)] for v in clique if v != order[i])
        given = np.exp(own[at] - own[at].max(axis=-1, keepdims=True)).reshape(len(states), -1)
        joint = shares[:, None] * (given / given.sum(axis=1, keepdims=True))
        row, state = np.nonzero(joint >= least)
        states, shares = np.hstack([states[row], state[:, None]]), joint[row, state]
    return states, shares
