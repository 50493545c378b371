"""Tell a header from a first row of data. A check of the delimited reader.

A table without a header would lose its first row silently and get that row's cells as names.
The first line looks like data when its cells are found again below it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parentage.data.formats.raw import Numbers, RawColumn, is_missing
from parentage.data.table import as_numbers
from parentage.errors import TableError, Way

if TYPE_CHECKING:
    from collections.abc import Sequence


def refuse_headerless(names: Sequence[str], columns: Sequence[RawColumn]) -> None:
    """Raise when the line taken as header looks like a row of data.

    - Not all names are numbers: every name is missing, or occurs below in its own column, or is
      a number above a column of numbers.
    - All are numbers: one is repeated; or half of them occur below or are above a column of
      measurements. Numbers that count upwards (0, 1, 2, …) are usual names, so then all must.
    """
    cells = [name.strip() for name in names]
    numbers = as_numbers(cells)
    if numbers is None:
        headerless = all(map(_could_be_data, cells, columns))
    else:
        found = sum(map(_occurs, cells, columns))
        counting = len(numbers) > 1 and bool((np.diff(numbers) == 1).all())
        repeated = len(set(cells)) < len(cells)
        headerless = repeated or 2 * found >= len(cells) * (2 if counting else 1)
    if headerless:
        shown = ", ".join(cells[:5]) + (", …" if len(cells) > 5 else "")
        raise TableError(
            f"the first line ({shown}) looks like data, not like column names",
            Way("header", False, "if the table has none"),
            "rename the columns",
        )


def _could_be_data(cell: str, column: RawColumn) -> bool:
    above_numbers = as_numbers([cell]) is not None and _numbers(column) is not None
    return is_missing(cell) or above_numbers or cell in column.values


def _occurs(cell: str, column: RawColumn) -> bool:
    if cell in column.values:
        return True
    numbers = _numbers(column)
    return numbers is not None and not bool((numbers == np.floor(numbers)).all())


def _numbers(column: RawColumn) -> Numbers | None:
    labels = [str(value) for value in column.values]
    return as_numbers(labels) if labels else None
