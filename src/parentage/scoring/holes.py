"""Tables with missing values made ready for counting: the stage between table and search for PNAL.

Rows in which a required parent is missing are of no use to its child and left out; N stays the
number of rows of the table. Which rows a set is counted on is decided set by set
(:mod:`parentage.kernels.missing`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from parentage.data.table import MISSING
from parentage.errors import UnseenError
from parentage.scoring.entropy import Encoding, Labels
from parentage.scoring.residuals import residuals
from parentage.scoring.scores.node_average import complete_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parentage.data.table import Table
    from parentage.kernels.missing import Rows
    from parentage.scoring.fixed_point import Int64s
    from parentage.scoring.scores import NodeAverage


@dataclass(frozen=True, eq=False, kw_only=True)
class EncodedMissing(Encoding):
    """A table whose codes may be MISSING."""

    label: Int64s
    """``[row]``: joint state of the context."""
    n_labels: int
    n_rows: int
    """N, rows that are left out included."""

    @cached_property
    def rows(self) -> Rows:
        """What is counted, for the kernels."""
        from parentage.kernels.missing import Rows

        once = np.ones(len(self.label), np.uint32)
        repeats = self.repeats if len(self.repeats) else once
        return Rows(self.codes, self.label, self.n_labels, repeats, self.grid.f)


def encode_missing(
    table: Table, score: NodeAverage, width: float = 0.0, context: Sequence[int] = ()
) -> EncodedMissing:
    """Encode the columns that vary; with a ``context``, the rows in which it is observed."""
    left_out = {*(table.index(name) for name in table.constant), *context}
    kept = [v for v in range(table.n_variables) if v not in left_out]
    times = math.prod(int(table.cardinalities[v]) for v in context)
    part = rows_with(table, context)
    label = Labels.of(part.select(table.names[v] for v in context)).join(part, context)
    return EncodedMissing(
        order=np.array(kept, np.int64),
        arity=np.ascontiguousarray(table.cardinalities[kept]),
        codes=np.ascontiguousarray(part.to_codes(kept), np.uint16),
        grid=score.grid(table, kept, times, width, None, lambda: part.stored_rows),
        context_states=times,
        repeats=part.repeats,
        label=label.of_row,
        n_labels=label.count,
        n_rows=table.n_rows,
    )


def rows_with(table: Table, variables: Sequence[int]) -> Table:
    """Return the rows in which none of these variables is missing."""
    return table.chosen_rows(complete_rows(table, variables))


def complete_residuals(encoded: Encoding, table: Table, context: Sequence[int] = ()) -> Int64s:
    """Return h of every variable over the rows where nothing is missing; zeros if there are none.

    It is not yet divided by a number of rows: :func:`parentage.kernels.missing.bound_of`.
    """
    part = rows_with(table, [*context, *(int(v) for v in encoded.order)])
    if not part.n_rows:
        return np.zeros(encoded.n_variables, np.int64)
    given = part.to_codes()
    codes = np.where(given == MISSING, np.uint16(0), given)  # in constant columns
    return residuals(encoded, replace(part, codes=codes), context)


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
