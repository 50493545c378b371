"""Put the rows of several files one below the other. After the readers, before columns.

The files must have the same columns, in any order; the first file's order is taken.
"""

from __future__ import annotations

import bisect
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from parentage.data.formats.raw import RawColumn, RawTable, number_label
from parentage.errors import TableError

if TYPE_CHECKING:
    from collections.abc import Sequence


def together(tables: Sequence[RawTable]) -> RawTable:
    """Return one table with the rows of all."""
    first, *others = tables
    if not others:
        return first
    names = [column.name for column in first.columns]
    for other in others:
        _same_columns(first, other, names)
    columns = tuple(
        _joined([column, *(_by_name(other, column.name) for other in others)])
        for column in first.columns
    )
    starts = [0, *accumulate(table.n_rows for table in tables)]

    def place(row: int) -> str:
        at = bisect.bisect_right(starts, row) - 1
        return f"{tables[at].source}, {tables[at].place(row - starts[at])}"

    return RawTable(
        columns,
        starts[-1],
        place,
        f"{first.source} and {len(others)} more file{'' if len(others) == 1 else 's'}",
        first.format,
    )


def _same_columns(first: RawTable, other: RawTable, names: Sequence[str]) -> None:
    here = [column.name for column in other.columns]
    lacks = [name for name in names if name not in here]
    extra = [name for name in here if name not in names]
    if lacks or extra:
        what = f"lacks the column {lacks[0]!r}" if lacks else f"has a column {extra[0]!r}"
        has = "has" if lacks else "has not"
        raise TableError(f"{other.source} {what}, which {first.source} {has}")
    if len(here) != len(names) or len(set(names)) != len(names):
        raise TableError(f"{other.source} and {first.source} have columns of the same name")


def _by_name(table: RawTable, name: str) -> RawColumn:
    return next(column for column in table.columns if column.name == name)


def _joined(columns: Sequence[RawColumn]) -> RawColumn:
    """Return one column with the cells of all; the values are those of any of them."""
    first = columns[0]
    refused = next((column.refused for column in columns if column.refused), None)
    if all(isinstance(column.values, np.ndarray) for column in columns):
        everything = np.concatenate([np.asarray(column.values) for column in columns])
        values, place = np.unique(everything, return_inverse=True)
        sizes = [0, *accumulate(len(column.values) for column in columns)]
        codes = [
            np.append(place[start : start + len(column.values)], -1)[column.to_codes()]
            for column, start in zip(columns, sizes, strict=False)
        ]
        cells = np.concatenate(codes).astype(np.int32)
        return RawColumn(first.name, cells, values, first.declared, first.numeric, refused)
    position: dict[str, int] = {}
    parts = []
    for column in columns:
        labels = [value if isinstance(value, str) else number_label(value)
                  for value in column.values]  # fmt: skip
        new = [position.setdefault(label, len(position)) for label in labels]
        parts.append(np.array([*new, -1], np.int32)[column.to_codes()])
    declared = all(column.declared for column in columns)
    kinds = {column.numeric for column in columns}
    numeric = kinds.pop() if len(kinds) == 1 else None
    return RawColumn(first.name, np.concatenate(parts), list(position), declared, numeric, refused)
