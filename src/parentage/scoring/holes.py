"""Tables with holes made ready for counting: the stage between table and search for PNAL.

Rows in which a required parent is missing are of no use to its child and left out; N stays the
number of rows of the table. Which rows a set is counted on is decided set by set
(:mod:`parentage.kernels.holes`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from parentage.data.table import MISSING
from parentage.errors import TableError, UnseenError, Way
from parentage.scoring.entropy import Encoded, FixedPoint, Int64s, Labels
from parentage.scoring.residuals import residuals
from parentage.scoring.scores.node_average import complete_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parentage.data.table import Table
    from parentage.scoring.scores import NodeAverage


@dataclass(frozen=True, eq=False, kw_only=True)
class EncodedHoles(Encoded):
    """A table whose codes may be MISSING."""

    label: Int64s
    """``[row]``: joint state of the context."""
    n_labels: int
    n_rows: int
    """N, rows that are left out included."""


def encode_with_holes(
    table: Table, score: NodeAverage, width: float = 0.0, context: Sequence[int] = ()
) -> EncodedHoles:
    """Encode the columns that vary; with a ``context``, the rows in which it is observed."""
    left_out = {*(table.index(name) for name in table.constant), *context}
    order = np.array([v for v in range(table.n_variables) if v not in left_out], np.int64)
    times = math.prod(int(table.cardinalities[v]) for v in context)
    arity = np.ascontiguousarray(table.cardinalities[order])
    grid = FixedPoint.fit(
        table.n_rows, score.weight(table) * times, int(arity.max(initial=2)), width
    )
    part = rows_with(table, context)
    label = Labels.of(part.select(table.names[v] for v in context)).join(part, context)
    nothing = np.zeros(len(order), np.int64)
    return EncodedHoles(
        order,
        arity,
        np.ascontiguousarray(part.to_codes([int(v) for v in order]), np.uint16),
        np.concatenate([[0], np.cumsum(arity)]),
        np.zeros((part.stored_rows, 0), np.uint64),
        np.arange(part.stored_rows, dtype=np.uint32),
        np.array([0, part.stored_rows], np.uint32),
        grid,
        nothing,
        0,
        times,
        part.repeats,
        label=label.of_row,
        n_labels=label.count,
        n_rows=table.n_rows,
    )


def rows_with(table: Table, variables: Sequence[int]) -> Table:
    """Return the rows in which none of these variables is missing."""
    return table.chosen_rows(complete_rows(table, variables))


def complete_residuals(encoded: Encoded, table: Table, context: Sequence[int] = ()) -> Int64s:
    """Return h of every variable over the rows where nothing is missing; zeros if there are none.

    It is not yet divided by a number of rows: :func:`parentage.kernels.holes.bound_with_holes`.
    """
    part = rows_with(table, [*context, *(int(v) for v in encoded.order)])
    if not part.n_rows:
        return np.zeros_like(encoded.single)
    given = part.to_codes()
    codes = np.where(given == MISSING, np.uint16(0), given)  # in constant columns
    return residuals(encoded, replace(part, codes=codes), context)


def check_holes(table: Table) -> None:
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


def check_seen_together(table: Table, child: str, required: Sequence[str]) -> None:
    """Refuse required parents that are never observed in one row with their child."""
    family = [table.index(child), *(table.index(parent) for parent in required)]
    if not complete_rows(table, family).any():
        raise UnseenError(
            f"{child!r} and its required parents ({', '.join(required)}) are never observed in "
            "one row, so nothing can be said about them together; require fewer"
        )


def rows_of_families(table: Table, parents: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return, per variable, the rows in which it and its parents are observed."""
    return {
        child: table.rows_in(complete_rows(table, [table.index(v) for v in (child, *of)]))
        for child, of in parents.items()
    }
