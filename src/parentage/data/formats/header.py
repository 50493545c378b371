"""Tell a header from a first row of data. A check of the delimited reader.

A table without a header would lose its first row silently and get that row's cells as names.
The first line looks like data when its cells are found again below it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parentage.data.formats.raw import Numbers, RawColumn, words_for_missing
from parentage.data.table import as_numbers
from parentage.errors import DataWarning, TableError, Way, warn

if TYPE_CHECKING:
    from collections.abc import Sequence

_FEW_ROWS = 5


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


def warn_of_header(columns: Sequence[RawColumn]) -> None:
    """Warn when the first of the rows looks like names: words that never come again.

    Only where all columns otherwise repeat themselves, so that a row of its own is unusual.
    """
    if not columns or columns[0].n_rows <= _FEW_ROWS:
        return
    cells = []
    for column in columns:
        codes = column.to_codes()
        first = int(codes[0])
        counts = np.bincount(codes[codes >= 0])
        if first < 0 or counts[first] > 1 or 2 * len(counts) > len(codes):
            return
        cells.append(str(column.values[first]))
    if len(set(cells)) == len(cells) and not any(as_numbers([cell]) is not None for cell in cells):
        warn(
            DataWarning(
                f"the first row ({', '.join(cells[:5])}{', …' if cells[5:] else ''}) looks like "
                "column names: no cell of it occurs again; they are taken as states"
            ),
        )


def _could_be_data(cell: str, column: RawColumn) -> bool:
    above_numbers = as_numbers([cell]) is not None and _numbers(column) is not None
    missing = not cell or bool(words_for_missing([cell]))
    return missing or above_numbers or cell in column.values


def _occurs(cell: str, column: RawColumn) -> bool:
    if cell in column.values:
        return True
    numbers = _numbers(column)
    return numbers is not None and not bool((numbers == np.floor(numbers)).all())


def _numbers(column: RawColumn) -> Numbers | None:
    labels = {str(value) for value in column.values}
    labels -= words_for_missing(labels)
    return as_numbers(sorted(labels)) if labels else None
