"""Codes of very many rows as bit planes: as many bits a cell as its column needs.

Below raw columns and tables. Plane k of a column holds bit k of every code, eight rows a byte, and
one more plane says where cells are missing, if any are. A column grows by planes when larger codes
come, and is unpacked in blocks of rows, when a method is called that says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS_AT_ONCE = 1 << 17
"""Rows of a column that are packed or unpacked together; a multiple of 8."""

HOLE = 65_535
"""The code of a cell that is missing, in tables that keep their holes."""

Unsigned = npt.NDArray[np.unsignedinteger[Any]]
Signed = npt.NDArray[np.signedinteger[Any]]
Plane = npt.NDArray[np.uint8]


class PackedColumn:
    """The codes of one column; −1 is a missing cell. Rows are written in their order."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows
        self._planes: list[Plane] = []
        self._missing: Plane | None = None

    @classmethod
    def of(cls, codes: Signed) -> PackedColumn:
        """Pack the codes of a whole column."""
        column = cls(len(codes))
        for first in range(0, len(codes), ROWS_AT_ONCE):
            column.write(first, codes[first : first + ROWS_AT_ONCE])
        return column

    @property
    def nbytes(self) -> int:
        """Bytes of all planes."""
        return sum(plane.nbytes for plane in self._all())

    @property
    def has_holes(self) -> bool:
        """Whether cells are missing."""
        return self._missing is not None

    @property
    def kind(self) -> type[np.signedinteger[Any]]:
        """The narrowest type for the codes and −1."""
        return _kind_for((1 << len(self._planes)) - 1)

    def write(self, first: int, codes: npt.NDArray[np.integer[Any]]) -> None:
        """Write the codes of some rows, from row ``first`` on, behind those that are there."""
        if first % 8:  # the byte in which they begin has rows already
            start = first - first % 8
            codes = np.concatenate([self.part(start, first), codes])
            first = start
        absent = codes < 0
        if absent.any():
            if self._missing is None:
                self._missing = self._empty()
            codes = np.where(absent, 0, codes)
        while int(codes.max(initial=0)) >> len(self._planes):
            self._planes.append(self._empty())
        codes = codes.astype(self.kind, copy=False)
        end = first // 8 + -(-len(codes) // 8)
        if self._missing is not None:
            self._missing[first // 8 : end] = np.packbits(absent, bitorder="little")
        for k, plane in enumerate(self._planes):
            plane[first // 8 : end] = np.packbits(codes & (1 << k) != 0, bitorder="little")

    def part(self, first: int, last: int) -> Signed:
        """Unpack the rows ``first … last − 1``."""
        codes = np.empty(max(0, min(last, self.n_rows) - first), self.kind)
        for at, block in self._blocks(first, first + len(codes)):
            codes[at - first : at - first + len(block)] = block
        return codes

    def unpacked(self) -> Signed:
        """Unpack all rows."""
        return self.part(0, self.n_rows)

    def missing_cells(self) -> int:
        """Return how many cells are missing."""
        if self._missing is None:
            return 0
        return sum(
            int(np.count_nonzero(np.unpackbits(self._missing[at : at + ROWS_AT_ONCE])))
            for at in range(0, len(self._missing), ROWS_AT_ONCE)
        )

    def recoded(self, lookup: npt.NDArray[np.integer[Any]]) -> PackedColumn:
        """Return ``lookup[code]`` of every cell, −1 standing for the last entry."""
        column = PackedColumn(self.n_rows)
        lookup = narrowed(lookup)
        for first in range(0, self.n_rows, ROWS_AT_ONCE):
            column.write(first, lookup[self.part(first, first + ROWS_AT_ONCE)])
        return column

    def become(self, other: PackedColumn) -> None:
        """Take the planes of another column; those of before are let go."""
        self._planes, self._missing = other._planes, other._missing

    def _all(self) -> list[Plane]:
        return [*self._planes, *([] if self._missing is None else [self._missing])]

    def _empty(self) -> Plane:
        return np.zeros(-(-self.n_rows // 8), np.uint8)

    def _blocks(self, first: int, last: int) -> Iterator[tuple[int, Signed]]:
        """Yield where some rows begin, and their codes."""
        while first < last:
            start = first - first % 8
            end = min(last, start + ROWS_AT_ONCE)
            codes = self._codes(slice(start // 8, -(-end // 8)), end - start)
            yield first, codes[first - start :]
            first = end

    def _codes(self, where: slice, rows: int) -> Signed:
        """Unpack some bytes of every plane."""
        codes = np.zeros(rows, self.kind)
        for k, plane in enumerate(self._planes):
            bits = np.unpackbits(plane[where], count=rows, bitorder="little")
            codes |= bits.astype(self.kind, copy=False) << self.kind(k)
        if self._missing is not None:
            codes[np.unpackbits(self._missing[where], count=rows, bitorder="little") != 0] = -1
        return codes


def narrowed(codes: npt.NDArray[np.integer[Any]]) -> Signed:
    """Return codes in the narrowest type that holds them and −1."""
    return codes.astype(_kind_for(int(codes.max(initial=0))), copy=False)


def _kind_for(largest: int) -> type[np.signedinteger[Any]]:
    return next(kind for kind in (np.int8, np.int16, np.int32) if largest <= np.iinfo(kind).max)


@dataclass(frozen=True, eq=False)
class PackedCodes:
    """The codes of all columns of a table; a missing cell has the code ``HOLE``."""

    columns: tuple[PackedColumn, ...]
    n_rows: int

    @property
    def nbytes(self) -> int:
        """Bytes of all planes."""
        return sum(column.nbytes for column in self.columns)

    @property
    def kind(self) -> type[np.unsignedinteger[Any]]:
        """The type of the codes: bytes where every code fits."""
        wide = any(column.has_holes or column.kind != np.int8 for column in self.columns)
        return np.uint16 if wide else np.uint8

    def column(self, v: int, first: int, last: int) -> Unsigned:
        """Unpack some rows of a column."""
        column, codes = self.columns[v], self.columns[v].part(first, last)
        found = codes.astype(self.kind)
        return np.where(codes < 0, np.uint16(HOLE), found) if column.has_holes else found

    def unpacked(self) -> Unsigned:
        """Unpack everything."""
        return self.rows(0, self.n_rows)

    def rows(self, first: int, last: int) -> Unsigned:
        """Unpack some rows of all columns: ``[variable, row]``."""
        codes = np.empty((len(self.columns), max(0, min(last, self.n_rows) - first)), self.kind)
        for v in range(len(self.columns)):
            codes[v] = self.column(v, first, last)
        return codes

    def select(self, columns: list[int]) -> PackedCodes:
        """Return some of the columns; their planes are shared."""
        return PackedCodes(tuple(self.columns[v] for v in columns), self.n_rows)
