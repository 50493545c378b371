r"""Expected counts of rows with missing values, and parameters by expectation maximisation.

For a row with observed cells o, the posterior of its missing cells m is P(m | o) ∝ Π_v θ_v(m, o),
where only the families with a missing member depend on m. Missing cells that no family connects are
independent given o, so a row falls apart into *components*, each with the families that touch it.
The posterior of a component depends on the observed members of these families: rows that agree in
them are one *case*. Few cells of a row are missing and few surround them, so there are far fewer
cases than rows. Missing cells without observed descendants sum to 1; the likelihood leaves them
out.

The posterior of a small component is a table over its joint states: all that is needed is which
cell of which probability table each state selects; this is found once per network, and one step of
expectation maximisation (Dempster, Laird & Rubin 1977; Lauritzen 1995) is then a sum of logarithms,
a normalisation and a weighted count, for all rows at once. In a large one variables are eliminated
(:mod:`parentage.network.elimination`), and the expected counts of a family are a marginal of the
clique that contains it.

*Completions* of rows with missing cells are weighted by their posterior. Those of a row are the
products of those of its components. Where the states of a
component are listed, its posterior is there. Where variables were eliminated, states are made one
variable after the other, the last eliminated first: given the states so far, the product in which a
variable was eliminated is its distribution. A beginning has at least the probability of every state
that it begins, so one with too little is dropped together with all of them.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from parentage.data.table import MISSING, class_sizes
from parentage.errors import ResourceError, Way, listed
from parentage.network.elimination import (
    CliqueTree,
    Factor,
    Plan,
    log_sum,
    plan_elimination,
    product,
)
from parentage.network.inference import ABSENT
from parentage.work.context import Context
from parentage.work.progress import Progress
from parentage.work.stop import Stop

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from parentage.data.table import Table
    from parentage.network.network import Network
    from parentage.scoring.encoding import Layout

    Block = tuple[npt.NDArray[np.int64], npt.NDArray[np.integer]]
    """Codes ``[variable, row]``, −1 where missing, and how often each row occurs; empty: once."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def joint_states(codes: Ints, variables: Sequence[int], cardinalities: Sequence[int]) -> Ints:
    """Return the joint state of some variables in every row as a number, the last fastest."""
    joint = np.zeros(codes.shape[1], np.int64)
    for v in variables:
        joint = joint * cardinalities[v] + codes[v]
    return joint


def family_counts(
    network: Network, cardinalities: Sequence[int], blocks: Iterable[Block]
) -> tuple[Ints, ...]:
    """Count the rows of every joint state of each variable and its parents, where all are known."""
    shapes = [
        (math.prod(cardinalities[p] for p in parents), cardinalities[v])
        for v, parents in enumerate(network.parents)
    ]
    counts = [np.zeros(q * r, np.int64) for q, r in shapes]
    for codes, repeats in blocks:
        gaps = bool((codes == ABSENT).any())
        for v, parents in enumerate(network.parents):
            family, times = codes, repeats
            if gaps:
                whole = (codes[[v, *parents]] != ABSENT).all(axis=0)
                family, times = codes[:, whole], repeats[whole] if len(repeats) else repeats
            cells = joint_states(family, (*parents, v), cardinalities)
            counts[v] += class_sizes(cells, times, len(counts[v]))
    return tuple(cells.reshape(shape) for cells, shape in zip(counts, shapes, strict=True))


def distributions(counts: npt.NDArray[np.floating]) -> Floats:
    """Return rows ``float64[q, r]`` as shares of their sums; uniform where a row is empty."""
    totals = counts.sum(axis=1, keepdims=True)
    uniform = np.full(counts.shape, 1 / counts.shape[1])
    shares: Floats = np.divide(counts, totals, out=uniform, where=totals > 0)
    return shares


class Structure(NamedTuple):
    """A network with the numbers of states, whose probability tables are one array of cells."""

    network: Network
    sizes: tuple[int, ...]

    @property
    def parents(self) -> tuple[tuple[int, ...], ...]:
        """Indices of the parents of every variable."""
        return self.network.parents

    def offsets(self) -> list[int]:
        """Where the cells of each table begin."""
        cells = [
            math.prod(self.sizes[u] for u in (v, *parents))
            for v, parents in enumerate(self.parents)
        ]
        return [0, *np.cumsum(cells).tolist()]

    def strides(self, v: int) -> dict[int, int]:
        """How far one state more of a member moves in the table of its family."""
        found, step = {}, 1
        for member in (v, *reversed(self.parents[v])):
            found[member] = step
            step *= self.sizes[member]
        return found


@dataclass(frozen=True, eq=False)
class Component:
    """Missing cells that hang together, in all rows that lack them in the same surroundings.

    Parameters
    ----------
    variables
        The variables whose cells are missing, rising.
    families
        The children of the families that touch them, rising.
    rows
        ``int64[row]``: the rows, as numbers.
    case
        ``int64[row]``: which case each is.
    first
        ``int64[case]``: a row that is this case.
    weights
        ``float64[case]``: how many rows are.
    """

    variables: tuple[int, ...]
    families: tuple[int, ...]
    rows: Ints
    case: Ints
    first: Ints
    weights: Floats

    def scope(self, structure: Structure, family: int) -> tuple[int, ...]:
        """Return the missing members of a family, rising."""
        inside = set(self.variables)
        return tuple(sorted(v for v in (family, *structure.parents[family]) if v in inside))

    def cells(
        self, structure: Structure, codes: Ints, family: int, scope: Sequence[int], offset: int
    ) -> Ints:
        """Return which cell each case and joint state selects: ``int64[case, states of scope …]``.

        ``scope`` holds the missing members of the family, and maybe more; its table begins at
        ``offset``.
        """
        place = {v: a for a, v in enumerate(scope)}
        axes = [structure.sizes[v] for v in scope]
        found = np.full((len(self.first), *axes), offset, np.int64)
        for member, stride in structure.strides(family).items():
            shape = [1] * (1 + len(scope))
            if member in place:
                shape[1 + place[member]] = structure.sizes[member]
                found += (stride * np.arange(structure.sizes[member])).reshape(shape)
            else:
                shape[0] = len(self.first)
                found += (stride * codes[member, self.first]).reshape(shape)
        return found


def components(
    structure: Structure, codes: Ints, weights: Floats, *, every_cell: bool
) -> Iterator[Component]:
    """Take rows ``codes[variable, row]`` apart, −1 where missing.

    With ``every_cell`` also cells without observed descendants are in components.
    """
    split = _Splitter(structure, every_cell)
    absent = codes == ABSENT
    packed = np.packbits(absent, axis=0, bitorder="little")
    rows: dict[tuple[int, int], list[int]] = {}
    for row in np.flatnonzero(absent.any(axis=0)).tolist():
        for part in split.parts(int.from_bytes(packed[:, row].tobytes(), "little")):
            rows.setdefault(part, []).append(row)
    for (variables, families), found in rows.items():
        yield _component(structure, codes, weights, variables, families, np.array(found, np.int64))


def _component(
    structure: Structure, codes: Ints, weights: Floats, variables: int, families: int, rows: Ints
) -> Component:
    inside, children = tuple(_members(variables)), tuple(_members(families))
    around = {u for v in children for u in (v, *structure.parents[v])} - set(inside)
    seen = codes[sorted(around)][:, rows]
    if len(rows) == 1 or not around:
        case, first = np.zeros(len(rows), np.int64), rows[:1]
    else:
        at, case = equal_columns(seen)
        first = rows[at]
    many: Floats = np.bincount(case, weights=weights[rows]).astype(np.float64)
    return Component(inside, children, rows, case, first, many)


def equal_columns(codes: Ints) -> tuple[Ints, Ints]:
    """Find equal columns: the first of each kind, in lexicographic order, and the kind of each.

    Compared as bytes, which is several times as fast as :func:`numpy.unique` along an axis.

    >>> first, kind = equal_columns(np.array([[1, -1, 1], [0, 0, 0]]))
    >>> first.tolist(), kind.tolist()
    ([1, 0], [1, 0, 1])
    """
    words = np.ascontiguousarray((codes.T + 1).astype(">u2"))
    keys = words.view(f"V{words.shape[1] * words.itemsize}").ravel()
    _, first, kind = np.unique(keys, return_index=True, return_inverse=True)
    return first, kind.ravel()


def _members(mask: int) -> Iterator[int]:
    """Yield the bits of a mask, rising."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


class _Splitter:
    """Splits sets of missing cells, each once; sets of variables are bits of a number."""

    def __init__(self, structure: Structure, every_cell: bool) -> None:
        n = len(structure.sizes)
        self.every_cell = every_cell
        self.order = structure.network.order_indices
        self.scope = [sum(1 << u for u in (v, *structure.parents[v])) for v in range(n)]
        self.families = [
            sum(1 << child for child in range(n) if self.scope[child] >> v & 1) for v in range(n)
        ]
        self.known: dict[int, list[tuple[int, int]]] = {}

    def parts(self, hidden: int) -> list[tuple[int, int]]:
        """Return the components of missing cells: their variables and families."""
        found = self.known.get(hidden)
        if found is None:
            found = self.known[hidden] = list(self._split(hidden))
        return found

    def _split(self, hidden: int) -> Iterator[tuple[int, int]]:
        needed = hidden if self.every_cell else self._with_observed_descendants(hidden)
        used = ~(hidden & ~needed)  # families of cells that are left out sum to 1
        left = needed
        while left:
            variables = frontier = left & -left
            families = 0
            while frontier:
                v = (frontier & -frontier).bit_length() - 1
                frontier &= frontier - 1
                new = self.families[v] & used & ~families
                families |= new
                for child in _members(new):
                    more = self.scope[child] & needed & ~variables
                    variables |= more
                    frontier |= more
            left &= ~variables
            yield variables, families

    def _with_observed_descendants(self, hidden: int) -> int:
        found = 0
        for v in reversed(self.order):
            children = self.families[v] & ~(1 << v)
            if hidden >> v & 1 and children & (~hidden | found):
                found |= 1 << v
        return found


MOST_LISTED = 2**12
"""Joint states of a component up to which they are listed; beyond, variables are eliminated."""

MOST_STATES = 2**19
"""Joint states of one table of one row."""

MOST_TERMS = 2**26
"""Terms of all rows together, eight bytes twice each."""

MOST_STEPS = 1000
CLOSE = 1e-10
"""The iteration ends when what it raises grows by less than this share."""


@dataclass(frozen=True, eq=False)
class ListedStates:
    """A component whose joint states are listed.

    Parameters
    ----------
    component
        The component.
    states
        ``int64[joint state, variable]``. Its entries are these of one case after the other.
    """

    component: Component
    states: Ints


@dataclass(frozen=True, eq=False)
class Eliminated:
    """A component whose variables are eliminated.

    Parameters
    ----------
    component
        The component.
    plan
        The order.
    scopes
        Per family its missing members.
    cells
        Per family ``int64[case, states of its scope …]``: the cells of the tables.
    """

    component: Component
    plan: Plan
    scopes: tuple[tuple[int, ...], ...]
    cells: tuple[Ints, ...]

    def tree(self, logs: Floats) -> CliqueTree:
        """Eliminate, given the logarithms of all cells."""
        factors = [
            Factor(scope, logs[cells]) for scope, cells in zip(self.scopes, self.cells, strict=True)
        ]
        return CliqueTree(factors, self.plan, log_sum)

    def expected(self, logs: Floats, counts: Floats) -> float:
        """Add the expected counts; return the log-likelihood."""
        tree = self.tree(logs)
        place = {v: i for i, v in enumerate(self.plan.order)}
        at: dict[int, list[int]] = {}
        for family, scope in enumerate(self.scopes):
            at.setdefault(min(scope, key=place.__getitem__), []).append(family)
        weights, evidence = self.component.weights, tree.root.values
        for variable, belief in tree.beliefs():
            for family in at.get(variable, ()):
                scope = self.scopes[family]
                axes = tuple(1 + a for a, v in enumerate(belief.scope) if v not in scope)
                shape = (-1, *(1 for _ in scope))
                logs_of = log_sum(belief.values, axes) - evidence.reshape(shape)
                np.add.at(counts, self.cells[family], np.exp(logs_of) * weights.reshape(shape))
        return float((weights * evidence).sum())


@dataclass(frozen=True, eq=False)
class Expectation:
    """What every step of the iteration needs: which cells each possible completion selects.

    Parameters
    ----------
    structure
        The network.
    rows
        ``int64[variable, row]``: the rows, −1 where missing.
    weights
        ``float64[row]``: how often each row occurs.
    known
        ``float64[cell]``: counts of the families that are complete in their rows.
    listed, eliminated
        The components of all rows.
    starts
        ``int64[segment]``: the first entry of every listed case.
    case_weights
        ``float64[segment]``: how many rows it is.
    lengths
        ``int64[segment]``: how many entries it has.
    entry, cell
        ``int64[term]``: an entry, and a cell of the tables that it selects.
    """

    structure: Structure
    rows: Ints
    weights: Floats
    known: Floats
    listed: tuple[ListedStates, ...]
    eliminated: tuple[Eliminated, ...]
    starts: Ints
    case_weights: Floats
    lengths: Ints
    entry: Ints
    cell: Ints

    @classmethod
    def of_table(
        cls,
        network: Network,
        table: Table,
        *,
        every_cell: bool = False,
        numbers: Ints | None = None,
        stop: Stop | None = None,
    ) -> Expectation:
        """Prepare the rows of a table, equal ones once.

        Parameters
        ----------
        network
            The network.
        table
            The rows.
        every_cell
            Whether also cells without observed descendants are completed.
        numbers
            The numbers of the rows in messages; by default their places in the table.
        stop
            When to give up.

        Raises
        ------
        ResourceError
            Too many completions, or the stop.
        """
        stop = stop or Stop()
        columns = [table.index(name) for name in network.names]
        structure = Structure(network, tuple(len(table.states[v]) for v in columns))
        codes = table.to_codes(columns).astype(np.int64)
        codes[codes == MISSING] = ABSENT
        first, kind = equal_columns(codes)
        codes, weights = codes[:, first], table.counted(kind).astype(np.float64)
        numbers = first if numbers is None else numbers[first]
        offsets, none = structure.offsets(), np.empty(0, np.int64)
        listed, eliminated = list[ListedStates](), list[Eliminated]()
        entry, cell, entries, terms = [none], [none], 0, 0
        for part in components(structure, codes, weights, every_cell=every_cell):
            refuse_late(stop)
            sizes = [structure.sizes[v] for v in part.variables]
            joint, cases = math.prod(sizes), len(part.first)
            scopes, plan = (part.variables,) * len(part.families), None
            if joint > min(MOST_LISTED, MOST_STATES):
                scopes = tuple(part.scope(structure, v) for v in part.families)
                plan = plan_elimination(scopes, structure.sizes)
            terms += cases * (joint * len(part.families) if plan is None else plan.total)
            if terms > MOST_TERMS or (plan is not None and plan.cells > MOST_STATES):
                names = [network.names[v] for v in part.variables]
                _refuse_large(names, int(numbers[part.first[0]]), terms, plan)
            cells = tuple(
                part.cells(structure, codes, v, scope, offsets[v])
                for v, scope in zip(part.families, scopes, strict=True)
            )
            if plan is None:
                states = np.stack(np.unravel_index(np.arange(joint), sizes), axis=1)
                listed.append(ListedStates(part, states.astype(np.int64)))
                cell += [own.ravel() for own in cells]
                entry += [np.arange(entries, entries + cases * joint)] * len(cells)
                entries += cases * joint
            else:
                eliminated.append(Eliminated(part, plan, scopes, cells))
        counted = family_counts(network, structure.sizes, [(codes, weights.astype(np.int64))])
        many = [len(part.component.first) for part in listed]
        lengths = np.repeat([len(part.states) for part in listed] or none, many or none)
        return cls(
            structure,
            codes,
            weights,
            np.concatenate([np.empty(0), *(own.ravel() for own in counted)]),
            tuple(listed),
            tuple(eliminated),
            np.cumsum(lengths) - lengths,
            np.concatenate([np.empty(0), *(part.component.weights for part in listed)]),
            lengths,
            np.concatenate(entry),
            np.concatenate(cell),
        )

    def counts(self, theta: Floats) -> tuple[Floats, float]:
        """Return the expected counts of all cells, and the log-likelihood of all rows."""
        with np.errstate(divide="ignore"):
            logs = np.log(theta)
        counted = self.known > 0
        total = float((self.known[counted] * logs[counted]).sum())
        eliminated = np.zeros_like(self.known)
        for part in self.eliminated:
            total += part.expected(logs, eliminated)
        shares, likelihood = self.shares(logs)
        weight = shares * np.repeat(self.case_weights, self.lengths)
        listed = np.bincount(self.cell, weights=weight[self.entry], minlength=len(self.known))
        return self.known + eliminated + listed, total + likelihood

    def shares(self, logs: Floats) -> tuple[Floats, float]:
        """Return P(joint state | observed) of every listed state, and their log-likelihood."""
        if not len(self.starts):
            return np.empty(0), 0.0
        entries = int(self.starts[-1] + self.lengths[-1])
        value = np.bincount(self.entry, weights=logs[self.cell], minlength=entries)
        top = np.maximum.reduceat(value, self.starts)
        share = np.exp(value - np.repeat(top, self.lengths))
        sums = np.add.reduceat(share, self.starts)
        likelihood = float((self.case_weights * (top + np.log(sums))).sum())
        return share / np.repeat(sums, self.lengths), likelihood

    def normalised(self, counts: Floats, prior: Floats) -> Floats:
        """Return the probabilities: expected counts plus prior, uniform where there is nothing."""
        theta = np.empty_like(counts)
        offsets = self.structure.offsets()
        for v, r in enumerate(self.structure.sizes):
            part = slice(offsets[v], offsets[v + 1])
            theta[part] = distributions((counts[part] + prior[part]).reshape(-1, r)).ravel()
        return theta

    def maximised(self, prior: Floats, context: Context | None = None) -> tuple[Floats, float]:
        """Iterate until the log-likelihood stays; return the probabilities and that.

        With a prior it is the log posterior that every step raises, and that has to stay: the
        likelihood alone may fall on the way. The stop of the context ends it early.
        """
        theta = self.normalised(self.known + 1, prior)
        before, smoothed = -math.inf, prior > 0
        context, began = context or Context(), time.monotonic()
        for step in range(MOST_STEPS):
            if context.stop.is_over():
                return theta, self.counts(theta)[1]
            if context.report is not None:
                phase = f"step {step + 1} of expectation maximisation"
                context.report(Progress("parameters", phase, time.monotonic() - began))
            counts, likelihood = self.counts(theta)
            reached = likelihood + float((prior[smoothed] * np.log(theta[smoothed])).sum())
            if reached - before <= CLOSE * (1 + abs(reached)) and before > -math.inf:
                break
            before = reached
            theta = self.normalised(counts, prior)
        else:
            likelihood = self.counts(theta)[1]
        return theta, likelihood

    def tables(self, theta: Floats) -> list[Floats]:
        """Return the probabilities table by table."""
        offsets = self.structure.offsets()
        return [
            theta[offsets[v] : offsets[v + 1]].reshape(-1, r)
            for v, r in enumerate(self.structure.sizes)
        ]


def refuse_late(stop: Stop, seconds: float = 0.0) -> None:
    """Refuse to continue with work of this many seconds if the stop comes before its end.

    Raises
    ------
    ResourceError
        What ends the estimation.
    """
    if stop.cancelled.is_set() or stop.seconds_left <= seconds:
        what, way = "the time limit", "raise the time limit to use all rows"
        if stop.cancelled.is_set():
            what, way = "an interrupt", "run it again and let it finish to use all rows"
        raise ResourceError(f"{what} stopped the estimation from rows with missing values", way)


def _refuse_large(names: list[str], row: int, terms: int, plan: Plan | None) -> NoReturn:
    """Refuse missing cells whose joint states, or those of all rows together, are too many."""
    what = (
        f"too many values are missing: every step would sum {terms:,} terms, more than "
        f"{MOST_TERMS:,}"
    )
    if plan is not None and plan.cells > MOST_STATES:
        what = (
            f"row {row + 1} has no values of {listed(names, 6)}, which depend on each other: "
            f"they have {plan.cells:,} joint states, more than {MOST_STATES:,}"
        )
    raise ResourceError(
        what,
        Way("missing", "pnal", "to score every family on the rows where it is complete"),
        "leave out rows or columns with many missing values",
    )


LEAST = 0.25
"""Completions with less than this part of a unit are left out."""


def completed_rows(
    expected: Expectation, theta: Floats, unit: int
) -> tuple[npt.NDArray[np.uint16], Ints]:
    """Complete all rows: of each, ``unit`` times its weight units, by the posterior.

    Returns the distinct complete rows, ``uint16[variable, row]``, and their weights in units. The
    expectation is one of every cell. Weights are the posterior rounded so that they sum to the
    row: each down, and what is left to those that lost most.
    """
    from parentage.kernels.completing import complete_rows
    from parentage.scoring.encoding import layout_of, merged_words

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
    words, weights = merged_words(words, weights)
    return layout.unpack(words), weights


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


def _choices(
    expected: Expectation, logs: Floats, units: Ints, layout: Layout
) -> tuple[Ints, Floats, npt.NDArray[np.uint64]]:
    """Return the states of all cases that may have a part of a row, likeliest first.

    They are those that :func:`~parentage.kernels.completing.complete_rows` takes.
    """
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
    return start, share[order], picked


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
