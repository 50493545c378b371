"""Split separated text into records and cells, fast. The engine behind the delimited reader.

The text is cut into blocks of whole records, about 16 MB each: a quoted cell may hold separators
and line ends, so a byte counts as a separator only where the number of quotes before it is even.
Counting separators between line ends gives the cells of every record before anything is parsed;
polars then splits the block, and every column is reduced to codes before the next block comes.
Memory grows with 4 bytes a cell, not with the text.

Quotes must be those of RFC 4180: around a whole cell, doubled inside it. For anything else
(``5" pipe``) :class:`OddQuotesError` asks for a lenient parser.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from parentage.errors import TableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from parentage.data.formats.raw import CellCodes

_BLOCK = 1 << 24
_QUOTE, _NEWLINE = ord('"'), ord("\n")

FEW_ROWS = 5_000
"""Up to so many rows a dictionary is faster than several calls of polars for every column."""

Bytes = npt.NDArray[np.uint8]
Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class OddQuotesError(Exception):
    """Quotes that RFC 4180 does not know; never leaves the package."""


@dataclass(frozen=True)
class Block:
    """A stretch of whole records; positions are bytes of the text.

    Parameters
    ----------
    stop
        The byte after it, where the next block starts.
    starts, ends
        ``int64[records]``: first byte and line end of every record that is not blank.
    cells
        ``int64[records]``: number of cells of each.
    quoted
        It holds quotes.
    """

    stop: int
    starts: Positions
    ends: Positions
    cells: Positions
    quoted: bool

    def without_first(self) -> Block:
        """Return the block without its first record."""
        return replace(self, starts=self.starts[1:], ends=self.ends[1:], cells=self.cells[1:])


class ColumnBuilder:
    """One column's codes over all blocks, with one dictionary of its distinct cells."""

    def __init__(self) -> None:
        self.position: dict[str, int] = {}
        self.parts: list[CellCodes] = []

    def add(self, codes: npt.NDArray[np.integer[Any]], cells: Iterable[str]) -> None:
        """Append rows whose codes point into ``cells``; −1 is an absent cell."""
        position = self.position
        found = [position.setdefault(cell, len(position)) for cell in cells]
        self.parts.append(np.array([*found, -1], np.int32)[codes])

    def codes(self) -> CellCodes:
        """Return the codes of all rows."""
        return np.concatenate([np.empty(0, np.int32), *self.parts])


def blocks(data: bytes, separator: str, start: int = 0) -> Iterator[Block]:
    """Cut a text that ends in a line end into blocks of whole records."""
    everything = np.frombuffer(data, np.uint8)
    length = _BLOCK
    while start < len(everything):
        stretch = everything[start : start + length]
        inside = _inside_quotes(stretch)
        ends = _positions(stretch, _NEWLINE, inside)
        if len(ends):
            size = int(ends[-1]) + 1
            _check_quotes(stretch[:size], inside, ord(separator))
            yield _block(stretch[:size], inside, ends, ord(separator), start)
            start, length = start + size, _BLOCK
        elif start + length < len(everything):
            length *= 2
        else:
            line = line_at(data, start)
            raise TableError(f"line {line}: a cell is opened by a quote and never closed")


def split(data: bytes, block: Block, separator: str, width: int) -> Iterator[tuple[Any, list[str]]]:
    """Yield for every column of a block its codes (``int32``, −1: blank) and distinct cells."""
    import polars as pl

    try:
        frame = pl.read_csv(
            _content(data, block),
            has_header=False,
            separator=separator,
            quote_char='"' if block.quoted else None,
            schema={f"c{i}": pl.String for i in range(width)},
        )
    except pl.exceptions.PolarsError as error:
        raise OddQuotesError from error
    if frame.shape != (len(block.ends), width):
        raise OddQuotesError
    for series in frame:
        if len(series) <= FEW_ROWS:
            position: dict[str | None, int] = {None: -1}
            found = [position.setdefault(cell, len(position) - 1) for cell in series.to_list()]
            yield np.array(found, np.int32), [cell for cell in position if cell is not None]
        else:
            distinct = series.drop_nulls().unique()
            codes = series.cast(pl.Enum(distinct)).to_physical().cast(pl.Int32).fill_null(-1)
            yield codes.to_numpy(), distinct.to_list()


def line_at(data: bytes, position: int) -> int:
    """Return the number of the line, from 1, that a byte is in."""
    return data.count(b"\n", 0, position) + 1


def _inside_quotes(stretch: Bytes) -> Mask | None:
    """Mark the bytes from an opening quote to before the closing one; None without quotes."""
    quotes = stretch == _QUOTE
    return np.logical_xor.accumulate(quotes) if quotes.any() else None


def _positions(stretch: Bytes, byte: int, inside: Mask | None) -> Positions:
    found = stretch == byte
    return np.flatnonzero(found if inside is None else found & ~inside[: len(stretch)])


def _check_quotes(stretch: Bytes, inside: Mask | None, separator: int) -> None:
    """Refuse a quote that opens inside a cell or closes before its end."""
    if inside is None:
        return
    inner = np.ones(256, np.bool_)
    inner[[_QUOTE, _NEWLINE, separator]] = False
    text = inner[stretch]
    opens = (stretch == _QUOTE) & inside[: len(stretch)]
    closes = (stretch == _QUOTE) & ~inside[: len(stretch)]
    if (opens[1:] & text[:-1]).any() or (closes[:-1] & text[1:]).any():
        raise OddQuotesError


def _block(
    stretch: Bytes, inside: Mask | None, ends: Positions, separator: int, start: int
) -> Block:
    separators = _positions(stretch, separator, inside)
    cells = np.diff(np.searchsorted(separators, ends), prepend=0) + 1
    starts = np.concatenate([[0], ends[:-1] + 1])
    filled = starts < ends
    for record in np.flatnonzero((cells == 1) & filled):
        line = stretch[starts[record] : ends[record]].tobytes().decode()
        filled[record] = bool(line.replace('"', "").strip())
    stop = start + len(stretch)
    return Block(
        stop, starts[filled] + start, ends[filled] + start, cells[filled], inside is not None
    )


def _content(data: bytes, block: Block) -> bytes:
    first, last = int(block.starts[0]), int(block.ends[-1]) + 1
    if int((block.ends + 1 - block.starts).sum()) == last - first:
        return data[first:last]
    pairs = zip(block.starts.tolist(), block.ends.tolist(), strict=True)
    return b"\n".join([data[start:end] for start, end in pairs]) + b"\n"
