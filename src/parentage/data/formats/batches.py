"""Columns of a large file, gathered from batches of its rows. Between a reader and raw columns.

Every batch is read as a table of its own; here its values get the numbers they have in the whole
column, those seen first the lowest. What stays is as many bits a cell as there are digits in the
largest of them (:mod:`parentage.data.packed`), and the distinct values. A column of very many
different numbers is kept as these numbers, and they are numbered at the end.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from parentage.data.formats.frame import number_column
from parentage.data.formats.raw import RawColumn, RawTable
from parentage.data.packed import PackedColumn, narrowed

if TYPE_CHECKING:
    from collections.abc import Iterable

ROWS = 1 << 18
"""Rows of a batch."""

MOST_NUMBERED = 1 << 16
"""A column with more different numbers than this is kept as numbers."""


def gather(batches: Iterable[RawTable], n_rows: int) -> RawTable:
    """Put batches of the rows of one source together; they have the same columns, of one type."""
    columns: list[_Labels | _Numbers] = []
    first = 0
    place = None
    for batch in batches:
        if place is None:
            place = batch.place
            columns = [
                (_Numbers if isinstance(column.values, np.ndarray) else _Labels)(column, n_rows)
                for column in batch.columns
            ]
        for whole, part in zip(columns, batch.columns, strict=True):
            whole.add(part, first)
        first += batch.n_rows
    if place is None or first != n_rows:
        raise ValueError(f"{first} rows came of {n_rows}")
    return RawTable(tuple(column.finished() for column in columns), n_rows, place, passing=True)


class _Labels:
    """A column of labels."""

    def __init__(self, column: RawColumn, n_rows: int) -> None:
        self._like, self._codes = column, PackedColumn(n_rows)
        self._position: dict[str, int] = {}

    def add(self, part: RawColumn, first: int) -> None:
        """Write the cells of a batch, from row ``first`` on."""
        position = self._position
        number = [position.setdefault(str(label), len(position)) for label in part.values]
        self._codes.write(first, narrowed(np.array([*number, -1]))[part.to_codes()])

    def finished(self) -> RawColumn:
        """Return the whole column."""
        return replace(self._like, codes=self._codes, values=list(self._position))


class _Numbers:
    """A column of numbers."""

    def __init__(self, column: RawColumn, n_rows: int) -> None:
        self._like, self._codes = column, PackedColumn(n_rows)
        self._sorted: npt.NDArray[Any] = np.asarray(column.values)[:0]
        self._number = np.empty(0, np.int64)
        self._cells: npt.NDArray[Any] | None = None
        """The numbers themselves, once there are too many; codes say where there is one."""

    def add(self, part: RawColumn, first: int) -> None:
        """Write the cells of a batch, from row ``first`` on."""
        values, last = np.asarray(part.values), first + part.n_rows
        if self._cells is None and len(self._sorted) + len(values) > MOST_NUMBERED:
            self._cells = np.empty(self._codes.n_rows, self._sorted.dtype)
            self._cells[:first] = self._values(1)[self._codes.part(0, first)]
        if self._cells is not None:
            self._cells[first:last] = np.append(values, np.zeros(1, values.dtype))[part.to_codes()]
            self._codes.write(first, np.minimum(part.to_codes(), 0))
            return
        new = values[~np.isin(values, self._sorted)]
        known = np.concatenate([self._sorted, new])
        order = np.argsort(known, kind="stable")
        self._number = np.concatenate([self._number, len(self._number) + np.arange(len(new))])
        self._sorted, self._number = known[order], self._number[order]
        number = self._number[np.searchsorted(self._sorted, values)]
        self._codes.write(first, narrowed(np.append(number, -1))[part.to_codes()])

    def _values(self, spare: int = 0) -> npt.NDArray[Any]:
        """Return the values by their numbers, and so many more."""
        values = np.zeros(len(self._sorted) + spare, self._sorted.dtype)
        values[self._number] = self._sorted
        return values

    def finished(self) -> RawColumn:
        """Return the whole column."""
        if self._cells is None:
            return replace(self._like, codes=self._codes, values=self._values())
        filled = self._codes.unpacked() >= 0
        return number_column(self._like.name, self._cells[filled], filled)
