r"""Node-average likelihood, for tables with holes: every family on the rows where it is complete.

With n the rows in which X and all of Π are observed, LL their log-likelihood and N all rows,

.. math:: s(X|\Pi) = N \left[ \mathrm{LL}_{X\Pi} / n_{X\Pi} - \lambda\,(r - 1)\,q \right]

(Balov 2013; Bodewes & Scutari 2021, who have it without the factor N). With no holes it is the
likelihood penalised by N λ for each free parameter, so λ = ln N / (2 N) is BIC. With holes that λ
is too small: families are compared on different rows, whose averages differ by about 1/√N, and
only a penalty with λ → 0 and λ √N → ∞ finds the true network for certain as rows grow. The default
is λ = N^(−1/4) / n for n columns that vary, the choice of Bodewes & Scutari, but at least BIC's
times 1 + the share of incomplete rows: with few rows and many columns theirs is below that, and
admits more false arcs than BIC does in complete data (benchmarks/results/missing.md).

Variables that are never observed together have no likelihood: their families score −∞, and are in
no list.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from parentage.data.table import MISSING, Table
from parentage.errors import TableError, Way, counted
from parentage.scoring.scores.fixed_point import FixedPoint
from parentage.scoring.scores.score import Families, Score, entropy_sum, free_parameters

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class NodeAverage(Score):
    """Penalised node-average likelihood; ``parameter`` is λ, None for what the table says."""

    def settled(self, table: Table) -> NodeAverage:
        """Return it with λ as a number: its own, else the one of the table."""
        check_observed(table)
        return NodeAverage(self.kind, self.rate(table))

    def rate(self, table: Table) -> float:
        """Return λ."""
        if self.parameter is not None:
            return self.parameter
        n_rows, varying = table.n_rows, table.n_variables - len(table.constant)
        complete = table.rows_in(observed_rows(table, range(table.n_variables)))
        least = (2 - complete / n_rows) * math.log(n_rows) / (2 * n_rows)
        return max(float(n_rows**-0.25 / max(varying, 1)), least)

    def weight(self, table: Table) -> float:
        """Return N λ, the penalty of one free parameter in nats.

        >>> from parentage.data.datasets import chest_clinic
        >>> from parentage.scoring.catalogue import by_name
        >>> round(NodeAverage(by_name("pnal")).weight(chest_clinic(1000)), 4)
        22.2285
        """
        return table.n_rows * self.rate(table)

    def local(self, table: Table, x: int, parents: Sequence[int]) -> float:
        """Return N [LL / n − λ (r − 1) q]; −∞ where no row has the whole family."""
        rows = observed_rows(table, [x, *parents])
        there = table.rows_in(rows)
        if not there:
            return -math.inf
        part = table.select(table.names[v] for v in (x, *parents)).chosen_rows(rows)
        members = range(1, part.n_variables)
        likelihood = entropy_sum(part, [0, *members]) - entropy_sum(part, members)
        return table.n_rows * likelihood / there - self.price(table, x, parents)

    def price(self, table: Table, x: int, parents: Sequence[int]) -> float:
        """Return the penalty."""
        return self.weight(table) * free_parameters(table, x, parents)

    def grid(self, families: Families) -> FixedPoint:
        """Return a grid for likelihoods and penalties."""
        w = self.weight(families.table) * families.times
        return FixedPoint.fit(families.table.n_rows, w, families.widest, families.width)

    def unexplained(self, table: Table, x: int, parents: Sequence[int] = ()) -> float:
        """Return N h / n (Theorem 8), h of X over the rows where nothing is missing.

        n are the rows in which X, and these parents, are observed: all supersets have no more.
        """
        varying = [v for v in range(table.n_variables) if table.names[v] not in table.constant]
        whole = observed_rows(table, varying)
        there = table.rows_in(observed_rows(table, [x, *parents]))
        if not whole.any() or not there:
            return 0.0
        part = table.select(table.names[v] for v in sorted({*varying, x})).chosen_rows(whole)
        h = super().unexplained(part, part.names.index(table.names[x]))
        return table.n_rows * h / there

    def on_columns_of(self, table: Table) -> Score:
        """Return the same λ as a number: the default depends on the number of columns."""
        return NodeAverage(self.kind, self.rate(table))


def observed_rows(table: Table, variables: Sequence[int]) -> npt.NDArray[np.bool_]:
    """``[row of the codes]``: whether none of these variables is missing."""
    rows = np.ones(table.stored_rows, np.bool_)
    for v in variables:
        rows &= table.column(v) != MISSING
    return rows


def check_observed(table: Table) -> None:
    """Refuse a column in which every cell is missing.

    Raises
    ------
    TableError
        With the column.
    """
    for name, missing in zip(table.names, table.missing_cells, strict=True):
        if missing == table.n_rows:
            raise TableError(
                f"column {name!r} has no values at all", Way("drop", [name], "to leave it out")
            )


FEW_ROWS = 30
"""A family scored on fewer rows is not to be relied on."""


def about_few_rows(table: Table, parents: Mapping[str, Sequence[str]]) -> str:
    """Say how many families of a network were scored on few rows; nothing if none was."""
    rows = rows_of_families(table, parents).values() if table.has_holes else ()
    few = sum(number < FEW_ROWS for number in rows)
    if not few:
        return ""
    verb, them = ("is", "it") if few == 1 else ("are", "them")
    return (
        f"{few} of {counted(len(parents), 'family', 'families')} {verb} scored on fewer than "
        f"{FEW_ROWS} rows; do not rely on {them}"
    )


def rows_of_families(table: Table, parents: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return, per variable, the rows in which it and its parents are observed."""
    return {
        child: table.rows_in(observed_rows(table, [table.index(v) for v in (child, *of)]))
        for child, of in parents.items()
    }
