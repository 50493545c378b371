"""Read blip's .dat tables: names, cardinalities, then rows of codes, all separated by blanks.

One of the doors to the path. The states of a column are declared: 0, 1, …, cardinality − 1, also
those that never occur. ``?`` is a missing cell. An older dialect puts the number of variables
before the names and the number of rows before the rows; both lines are recognised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parentage.data.formats.delimited import read as read_delimited
from parentage.data.formats.raw import RawColumn, RawTable
from parentage.data.table import MAX_STATES
from parentage.errors import TableError, Way
from parentage.files.dat_shape import first_lines, has_shape, is_code, without_counts

if TYPE_CHECKING:
    from collections.abc import Callable


def read(text: str) -> RawTable:
    """Read a .dat table."""
    lines = first_lines(text)
    if not lines:
        raise TableError("the file is empty: a .dat table starts with a line of names")
    if not has_shape(lines):
        raise TableError(
            f"line {lines[min(1, len(lines) - 1)][0]}: a .dat table has its names in the first "
            "line and as many whole numbers, the cardinalities, in the second",
            Way("format", "csv", "if it is another kind of table"),
        )
    (_, names), (_, cards), *rows = without_counts(lines)
    if not rows:
        raise TableError("the .dat table has names and cardinalities but no data rows")
    first = rows[0][0]
    if len(rows[0][1]) != len(names):
        raise TableError(f"line {first} has {len(rows[0][1])} codes for {len(names)} columns")
    body = text.split("\n", first - 1)[-1]
    raw = read_delimited("\n" * (first - 1) + body, header=False, separator=" ")
    columns = (
        _declare(name, int(card), column, raw.place)
        for name, card, column in zip(names, cards, raw.columns, strict=True)
    )
    return RawTable(tuple(columns), raw.n_rows, raw.place)


def _declare(name: str, card: int, column: RawColumn, place: Callable[[int], str]) -> RawColumn:
    if not 1 <= card <= MAX_STATES:
        raise TableError(f"column {name!r} declares {card} states; 1 to {MAX_STATES} are possible")
    states = np.full(len(column.values) + 1, -1, np.int32)
    for i, value in enumerate(column.values):
        label = str(value)
        if label == "?":
            continue
        if not is_code(label, card):
            row = int(np.flatnonzero(column.to_codes() == i)[0])
            raise TableError(
                f"column {name!r}, {place(row)}: {label!r} is not a code of its {card} "
                f"states (0 to {card - 1})",
                Way("format", "csv", "if it is not a .dat table"),
            )
        states[i] = int(label)
    labels = [str(code) for code in range(card)]
    return RawColumn(name, states[column.to_codes()], labels, declared=True, numeric=False)
