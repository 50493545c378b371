r"""Expected counts of rows with missing cells, and parameters by expectation maximisation.

For a row with observed cells o, every joint state m of the missing cells has the posterior
P(m | o) ∝ Π_v θ_v(m, o), where only the families with a missing member depend on m. Missing cells
that no family joins are independent given o, so a row falls apart into *components*, and the
posterior is a table over the joint states of each. All that is needed of a component is, per joint
state, which cell of which probability table it selects; this is found once per network, and one
step of expectation maximisation (Dempster, Laird & Rubin 1977; Lauritzen 1995) is then a sum of
logarithms, a normalisation and a weighted count, for all rows at once.

Missing cells without observed descendants sum to 1. For parameters they are left out: the
likelihood does not depend on them, and the iteration ends in the same place, faster.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.data.table import MISSING
from parentage.errors import ResourceError, Way
from parentage.network.incomplete import ABSENT, Pattern, patterns

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from parentage.data.table import Table
    from parentage.network.network import Network

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]

MOST_STATES = 2**19
"""Joint states of one component of one row."""

MOST_TERMS = 2**26
"""Terms of all rows together, eight bytes twice each."""

MOST_STEPS = 1000
CLOSE = 1e-10
"""The iteration ends when what it raises grows by less than this share."""


class Structure(NamedTuple):
    """A network as arrays want it."""

    names: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]
    sizes: tuple[int, ...]

    def offsets(self) -> list[int]:
        """Where the cells of each table begin when all are in one array."""
        cells = [self.sizes[v] * self.q(v) for v in range(len(self.sizes))]
        return [0, *np.cumsum(cells).tolist()]

    def q(self, v: int) -> int:
        """Joint states of the parents."""
        return math.prod(self.sizes[p] for p in self.parents[v])

    def strides(self, v: int) -> dict[int, int]:
        """How far one state more of a member moves in the table of its family."""
        found, step = {}, 1
        for member in (v, *reversed(self.parents[v])):
            found[member] = step
            step *= self.sizes[member]
        return found


@dataclass(frozen=True, eq=False)
class Component:
    """Missing cells that hang together, in rows in which the same cells are missing.

    Parameters
    ----------
    rows
        The rows, as numbers.
    variables
        The variables whose cells are missing.
    states
        ``int64[joint state, variable]``.
    first
        Where its entries begin among all entries; entry ``first + i * J + j`` is row i, state j.
    """

    rows: Ints
    variables: tuple[int, ...]
    states: Ints
    first: int

    def entries(self) -> Ints:
        """The entries as ``int64[row, joint state]``."""
        n, joint = len(self.rows), len(self.states)
        return self.first + np.arange(n * joint).reshape(n, joint)


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
    components
        The components of all rows.
    starts
        ``int64[segment]``: the first entry of every (row, component).
    row_of_entry
        ``int64[entry]``.
    entry, cell
        ``int64[term]``: an entry, and a cell of the tables that it selects.
    """

    structure: Structure
    rows: Ints
    weights: Floats
    known: Floats
    components: tuple[Component, ...]
    starts: Ints
    row_of_entry: Ints
    entry: Ints
    cell: Ints

    @classmethod
    def of(
        cls, structure: Structure, codes: Ints, weights: Floats, *, every_cell: bool = False
    ) -> Expectation:
        """Prepare rows ``codes[variable, row]``, −1 where missing.

        Parameters
        ----------
        structure
            The network.
        codes
            The rows; better without repetitions.
        weights
            How often each occurs.
        every_cell
            Whether also cells without observed descendants are completed.
        """
        builder = _Builder(structure)
        for pattern in patterns(codes):
            if pattern.hidden:
                builder.add(pattern, every_cell)
        return builder.finished(codes, weights)

    @classmethod
    def of_table(cls, network: Network, table: Table, *, every_cell: bool = False) -> Expectation:
        """Prepare the rows of a table, equal ones once."""
        structure = Structure(
            network.names,
            network.parents,
            network.order_indices,
            tuple(len(table.states[table.index(name)]) for name in network.names),
        )
        codes = table.codes[[table.index(name) for name in network.names]].astype(np.int64)
        codes[codes == MISSING] = ABSENT
        rows, counts = np.unique(codes, axis=1, return_counts=True)
        return cls.of(structure, rows, counts.astype(np.float64), every_cell=every_cell)

    def posterior(self, theta: Floats) -> tuple[Floats, float]:
        """Return P(joint state | observed) of every entry, and the log-likelihood of all rows."""
        with np.errstate(divide="ignore"):
            logs = np.log(theta)
        counted = self.known > 0
        total = float((self.known[counted] * logs[counted]).sum())
        if not len(self.starts):
            return np.empty(0), total
        value = np.bincount(self.entry, weights=logs[self.cell], minlength=len(self.row_of_entry))
        top = np.maximum.reduceat(value, self.starts)
        lengths = np.diff(np.append(self.starts, len(value)))
        share = np.exp(value - np.repeat(top, lengths))
        sums = np.add.reduceat(share, self.starts)
        rows = self.row_of_entry[self.starts]
        total += float((self.weights[rows] * (top + np.log(sums))).sum())
        return share / np.repeat(sums, lengths), total

    def counts(self, posterior: Floats) -> Floats:
        """Return the expected counts of all cells."""
        if not len(posterior):
            return self.known
        weight = posterior * self.weights[self.row_of_entry]
        return self.known + np.bincount(
            self.cell, weights=weight[self.entry], minlength=len(self.known)
        )

    def normalised(self, counts: Floats, prior: Floats) -> Floats:
        """Return the probabilities: expected counts plus prior, uniform where there is nothing."""
        theta = np.empty_like(counts)
        offsets = self.structure.offsets()
        for v, r in enumerate(self.structure.sizes):
            part = slice(offsets[v], offsets[v + 1])
            cells = (counts[part] + prior[part]).reshape(-1, r)
            totals = cells.sum(axis=1, keepdims=True)
            shares = np.divide(cells, totals, out=np.full_like(cells, 1 / r), where=totals > 0)
            theta[part] = shares.ravel()
        return theta

    def maximised(
        self, prior: Floats, start: Floats | None = None, most_steps: int = MOST_STEPS
    ) -> tuple[Floats, float]:
        """Iterate until the log-likelihood stays; return the probabilities and that.

        With a prior it is the log posterior that every step raises, and that has to stay: the
        likelihood alone may fall on the way.
        """
        theta = self.normalised(self.known + 1, prior) if start is None else start
        before, smoothed = -math.inf, prior > 0
        for _ in range(most_steps):
            posterior, likelihood = self.posterior(theta)
            reached = likelihood + float((prior[smoothed] * np.log(theta[smoothed])).sum())
            if reached - before <= CLOSE * (1 + abs(reached)) and before > -math.inf:
                break
            before = reached
            theta = self.normalised(self.counts(posterior), prior)
        else:
            likelihood = self.posterior(theta)[1]
        return theta, likelihood

    def tables(self, theta: Floats) -> list[Floats]:
        """Return the probabilities table by table."""
        offsets = self.structure.offsets()
        return [
            theta[offsets[v] : offsets[v + 1]].reshape(-1, r)
            for v, r in enumerate(self.structure.sizes)
        ]


class _Builder:
    """Collects the components of pattern after pattern."""

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self.offsets = structure.offsets()
        self.strides = [structure.strides(v) for v in range(len(structure.sizes))]
        self.children: list[list[int]] = [[] for _ in structure.sizes]
        for v, parents in enumerate(structure.parents):
            for p in parents:
                self.children[p].append(v)
        self.components: list[Component] = []
        self.starts: list[Ints] = []
        self.rows: list[Ints] = []
        self.entry: list[Ints] = []
        self.cell: list[Ints] = []
        self.entries = self.terms = 0

    def add(self, pattern: Pattern, every_cell: bool) -> None:
        """Take the rows of one pattern apart."""
        hidden = set(pattern.hidden)
        needed = hidden if every_cell else self._with_observed_descendants(hidden)
        families = {
            v: [u for u in self.strides[v] if u in needed]
            for v in {w for u in needed for w in (u, *self.children[u])}
            if v in needed or v not in hidden
        }
        for variables in _joined(needed, families.values()):
            touching = [v for v, members in families.items() if members[0] in variables]
            self._add_component(pattern, tuple(sorted(variables)), sorted(touching))

    def _with_observed_descendants(self, hidden: set[int]) -> set[int]:
        found: set[int] = set()
        for v in reversed(self.structure.order):
            if v in hidden and any(c not in hidden or c in found for c in self.children[v]):
                found.add(v)
        return found

    def _add_component(
        self, pattern: Pattern, variables: tuple[int, ...], families: Sequence[int]
    ) -> None:
        sizes = [self.structure.sizes[v] for v in variables]
        joint, n = math.prod(sizes), len(pattern.rows)
        self.terms += joint * n * len(families)
        if joint > MOST_STATES or self.terms > MOST_TERMS:
            self._refuse(pattern, variables, joint)
        states = np.stack(np.unravel_index(np.arange(joint), sizes), axis=1).astype(np.int64)
        component = Component(pattern.rows, variables, states, self.entries)
        entries = component.entries()
        for v in families:
            at = np.full(n, self.offsets[v], np.int64)
            moved = np.zeros(joint, np.int64)
            for member, stride in self.strides[v].items():
                if member in variables:
                    moved += stride * states[:, variables.index(member)]
                else:
                    at += stride * pattern.observed[member]
            self.cell.append((at[:, None] + moved).ravel())
            self.entry.append(entries.ravel())
        self.components.append(component)
        self.starts.append(entries[:, 0])
        self.rows.append(np.repeat(pattern.rows, joint))
        self.entries += joint * n

    def _refuse(self, pattern: Pattern, variables: tuple[int, ...], joint: int) -> None:
        names = ", ".join(self.structure.names[v] for v in variables[:6])
        more = f" and {len(variables) - 6} more" if len(variables) > 6 else ""
        what = (
            f"row {int(pattern.rows[0]) + 1} lacks {names}{more}, which depend on each other: "
            f"{joint:,} joint states to complete it, more than {MOST_STATES:,}"
            if joint > MOST_STATES
            else f"so many cells are missing that {self.terms:,} terms would have to be added up "
            f"in every step, more than {MOST_TERMS:,}"
        )
        raise ResourceError(
            what,
            Way("missing", "pnal", "to learn from complete families"),
            "leave out rows or columns with many missing cells",
        )

    def finished(self, codes: Ints, weights: Floats) -> Expectation:
        """Put everything together, with the counts of complete families."""
        known = np.zeros(self.offsets[-1])
        for v, strides in enumerate(self.strides):
            there = (codes[list(strides)] != ABSENT).all(axis=0)
            cells = np.full(int(there.sum()), self.offsets[v], np.int64)
            for member, stride in strides.items():
                cells += stride * codes[member, there]
            known += np.bincount(cells, weights=weights[there], minlength=len(known))
        none = np.empty(0, np.int64)
        return Expectation(
            self.structure,
            codes,
            weights,
            known,
            tuple(self.components),
            np.concatenate([none, *self.starts]),
            np.concatenate([none, *self.rows]),
            np.concatenate([none, *self.entry]),
            np.concatenate([none, *self.cell]),
        )


def _joined(variables: set[int], groups: Iterable[Sequence[int]]) -> list[set[int]]:
    """Return the variables in parts: two are in one part if a chain of groups joins them."""
    part = {v: {v} for v in variables}
    for group in groups:
        whole = set().union(*(part[v] for v in group))
        for v in whole:
            part[v] = whole
    return [found for v, found in part.items() if v == min(found)]
