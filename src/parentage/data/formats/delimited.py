"""Read CSV, TSV and other separated text into raw columns. The widest door to the path.

Cells stay verbatim, apart from blanks around them; blank lines do not count. The separator is
found from the first records.

The text is cut into blocks of whole records, about 16 MB each: a quoted cell may hold separators
and line ends, so a byte counts as a separator only where the number of quotes before it is even.
Counting separators between line ends gives the cells of every record before anything is parsed;
polars then splits the block, and every column is reduced to codes before the next block comes.
Memory grows with 4 bytes a cell, not with the text. Quotes must be those of RFC 4180: around a
whole cell, doubled inside it. Text with other quotes (``5" pipe``) goes through Python's slower,
lenient parser, with the same result.

A table without a header would lose its first row silently and get that row's cells as names. The
first line looks like data when its cells are found again below it.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from parentage.data.columns import RawColumn, RawTable, text_column, words_for_missing
from parentage.data.table import as_numbers
from parentage.errors import (
    DataWarning,
    Objection,
    TableError,
    UndecidedError,
    Way,
    counted,
    shown_names,
    warn,
)
from parentage.files.detect import SEPARATORS, csv_reader, first_records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from parentage.arrays import Flags, Floats, Ints, Octets
    from parentage.data.table import CellCodes


_HEAD = 1_000_000

_TITLE_LINES = 20
"""Lines among which the header is looked for."""

_RECORDS = 10
"""Number of records that the separator is found from."""

_RAGGED_LINES = 10
"""Most lines with too many or too few cells that an error names."""

_QUOTE_IT = "quote a cell that holds the separator"


def read(
    text: str, *, header: bool = True, separator: str | None = None, skip_rows: int = 0
) -> RawTable:
    r"""Read separated text; without a header the columns are named 0, 1, ….

    Parameters
    ----------
    text
        The whole text, with ``\n`` line ends.
    header
        The first record holds the names.
    separator
        One character; found from the first records when not given.
    skip_rows
        Number of lines that are not read.
    """
    if skip_rows:
        text = _without_lines(text, skip_rows)
    elif header and separator is None:
        _refuse_title(text)
    separator = separator or sniff_separator(text)
    if separator == " ":
        text = _squeeze(text)
    if header and (_has_row_names(text, separator) or _ends_in_separator(text, separator)):
        begin = len(text) - len(text.lstrip("\n"))
        end = text.find("\n", begin)
        before, after = (
            ('""' + separator, "") if _has_row_names(text, separator) else ("", separator)
        )
        text = f"{text[:begin]}{before}{text[begin:end]}{after}{text[end:]}"
    try:
        return _read_plain(text, separator, header)
    except OddQuotesError:
        return read_lenient(text, separator, header)


def _without_lines(text: str, number: int) -> str:
    """Return the text with its first lines blank: what comes later keeps the number of its line."""
    return "\n" * number + "".join(text.split("\n", number)[number:])


def _refuse_title(text: str) -> None:
    """Refuse lines of one cell above a table, if the table is plain without them."""
    if _separator_of(text) is not None:
        return
    for number in range(1, _TITLE_LINES + 1):
        below = _without_lines(text[:_HEAD], number)
        separator = _separator_of(below)
        if separator is None or separator == " ":
            continue
        above, header = text.split("\n", number)[:number], below.split("\n", number + 1)[number]
        most = header.count(separator)
        if header.strip() and not any(
            separator in line.rstrip(separator) or max(map(line.count, SEPARATORS)) > most
            for line in above
        ):
            shown = next((line.strip() for line in above if line.strip()), "")
            lines = "line is" if number == 1 else f"{number} lines are"
            seen = f"the first {lines} not part of the table ({shown[:40]!r})"
            way = Way("skip_rows", number, "to skip them")
            raise UndecidedError([Objection("", seen, (way,), (way,), refused=True)])


def sniff_separator(text: str) -> str:
    r"""Find the separator: the one that gives most cells, equally many in the first records.

    >>> sniff_separator("a;b\n1,5;2\n")
    ';'
    """
    found = _separator_of(text)
    if found is None:  # no separator fits all of them: let the first record decide
        first = text.lstrip("\n").partition("\n")[0]
        return max(",\t;| ", key=first.count)
    return found


def _separator_of(text: str) -> str | None:
    """Return the separator that gives the first records equally many cells, None if none does."""
    best, most = ",", 1
    for separator in SEPARATORS + " ":
        if separator == " " and most > 1:
            break
        head = _squeeze(text[:_HEAD]) if separator == " " else text
        records = list(islice(first_records(head, separator), _RECORDS))
        widths = {len(cells) for cells in records[1:] or records}
        same = len(widths) == 1 and (
            len(records[0]) in widths
            or _has_row_names(head, separator)
            or _ends_in_separator(head, separator)
        )
        if same and max(widths) > most:
            best, most = separator, max(widths)
    return best if most > 1 else None


def _has_row_names(text: str, separator: str) -> bool:
    """Tell whether the rows have a name before their cells, which the header has not, as R writes.

    In the first records: one cell more than the header, the first of each another one, and the last
    not always blank, as it is where lines end in a separator.
    """
    rows = _one_more_than_header(text, separator)
    return (
        len(rows) > 1
        and len({cells[0] for cells in rows}) == len(rows)
        and any(cells[-1].strip() for cells in rows)
    )


def _ends_in_separator(text: str, separator: str) -> bool:
    """Tell whether the rows end in a separator, and the header does not."""
    rows = _one_more_than_header(text, separator)
    return len(rows) > 1 and not any(cells[-1].strip() for cells in rows)


def _one_more_than_header(text: str, separator: str) -> list[list[str]]:
    """Return the first rows if each has one cell more than the header, else none."""
    records = list(islice(first_records(text, separator), _RECORDS))
    rows = records[1:]
    # a header of one cell has another separator
    fits = len(rows) > 0 and len(records[0]) > 1
    return rows if fits and {len(cells) for cells in rows} == {len(records[0]) + 1} else []


def read_lenient(text: str, separator: str, header: bool) -> RawTable:
    """Read with Python's csv module: any quotes, slower."""
    reader = csv_reader(text, separator)
    rows, lines, before = list[list[str]](), list[int](), 0
    ragged: dict[int, int] = {}
    try:
        for cells in reader:
            if len(cells) > 1 or any(cell.strip() for cell in cells):
                if rows and len(cells) != len(rows[0]):
                    ragged[before + 1] = len(cells)
                rows.append(cells)
                lines.append(before + 1)
            before = reader.line_num
    except csv.Error as error:
        raise TableError(f"line {before + 1}: {error}") from None
    if ragged:
        raise _ragged(ragged, len(rows[0]), separator)
    first = _first_record(rows[0] if rows else [], separator)
    builders = [ColumnBuilder() for _ in first]
    for builder, cells_of_column in zip(builders, zip(*rows[header:], strict=True), strict=False):
        position: dict[str, int] = {}
        codes = [position.setdefault(cell, len(position)) for cell in cells_of_column]
        builder.add(np.array(codes, np.int32), position)
    return _assemble(first, builders, header, lines[header:].__getitem__)


def _read_plain(text: str, separator: str, header: bool) -> RawTable:
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise TableError("the text holds incomplete characters; correct its encoding") from None
    if not data.endswith(b"\n"):
        data += b"\n"
    first, builders, rows = list[str](), list[ColumnBuilder](), 0
    begins: list[
        tuple[int, int]
    ] = []  # of every block: its first byte, the row of its first record
    byte, ragged = 0, dict[int, int]()  # first bytes of records, and the number of their cells
    for block in blocks(data, separator):
        records, begin, byte = block, byte, block.stop
        if not first and len(block.ends):
            line = data[block.starts[0] : block.ends[0]].decode()
            first = _first_record(next(first_records(line, separator), [line]), separator)
            builders = [ColumnBuilder() for _ in first]
            if header:
                records = block.without_first()
        if not len(records.ends):
            continue
        odd = records.cells != len(first)
        ragged |= zip(records.starts[odd].tolist(), records.cells[odd].tolist(), strict=True)
        if ragged:
            continue
        for builder, (codes, cells) in zip(
            builders, split(data, records, separator, len(first)), strict=True
        ):
            builder.add(codes, cells)
        begins.append((begin, rows - (records is not block)))
        rows += len(records.ends)
    if ragged:
        shown = dict(islice(ragged.items(), _RAGGED_LINES))
        lines = {line_at(data, start): cells for start, cells in shown.items()}
        raise _ragged(lines, len(first), separator, len(ragged))

    def line_of(row: int) -> int:
        start, first_row = next(begin for begin in reversed(begins) if begin[1] <= row)
        block = next(blocks(data, separator, start))
        return line_at(data, int(block.starts[row - first_row]))

    return _assemble(_first_record(first, separator), builders, header, line_of)


def _assemble(
    first: Sequence[str],
    builders: Sequence[ColumnBuilder],
    header: bool,
    line_of: Callable[[int], int],
) -> RawTable:
    names = [name.strip() for name in first] if header else [str(i) for i in range(len(first))]
    columns = tuple(
        text_column(name, builder.codes(), list(builder.position))
        for name, builder in zip(names, builders, strict=True)
    )
    rows = columns[0].n_rows
    if header and rows:
        refuse_headerless(first, columns)
    elif not header:
        warn_of_header(columns)
    return RawTable(columns, rows, lambda row: f"line {line_of(row)}")


def _squeeze(text: str) -> str:
    """Leave one blank between cells and none around them; blanks between quotes stay."""
    if '"' not in text:
        return "\n".join(" ".join(line.split()) for line in text.split("\n"))
    parts = text.split('"')
    for i in range(0, len(parts), 2):  # those outside quotes
        parts[i] = re.sub(r"[^\S\n]+", " ", parts[i])
    squeezed = '"'.join(parts)
    return "\n".join(line.strip(" ") for line in squeezed.split("\n"))


def _first_record(cells: list[str], separator: str) -> list[str]:
    if not cells:
        raise TableError("the file is empty: it has neither a header nor rows")
    if len(cells) == 1:
        raise TableError(
            f"the first line ({cells[0].strip()[:60]!r}) has one column, at least 2 are needed; "
            f"cells are separated by comma, tab, semicolon, | or blank (here: {separator!r})"
        )
    return cells


def _ragged(
    cells: Mapping[int, int], expected: int, separator: str, n_lines: int | None = None
) -> TableError:
    """Report lines with too many or too few cells: the first ``cells`` by line, of ``n_lines``."""
    n_lines = n_lines or len(cells)
    found = [
        f"line {line} has {counted(n, 'cell')}" for line, n in islice(cells.items(), _RAGGED_LINES)
    ]
    if n_lines == 1:
        said = f"{found[0]}, the first line has {expected} (separator {separator!r})"
        return TableError(said, "correct the line", _QUOTE_IT)
    more = f", and {n_lines - len(found):,} more" if n_lines > len(found) else ""
    said = (
        f"{n_lines:,} lines do not have {expected} cells as the first line has "
        f"(separator {separator!r}): {', '.join(found)}{more}"
    )
    return TableError(said, "correct the lines", _QUOTE_IT)


_BLOCK = 1 << 24
_QUOTE, _NEWLINE = ord('"'), ord("\n")

FEW_ROWS = 5_000
"""Up to this many rows a dictionary is faster than several calls of polars for every column."""


class OddQuotesError(Exception):
    """Quotes that RFC 4180 does not know; never leaves the package."""


@dataclass(frozen=True)
class Records:
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
    starts: Ints
    ends: Ints
    cells: Ints
    quoted: bool

    def without_first(self) -> Records:
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


def blocks(data: bytes, separator: str, start: int = 0) -> Iterator[Records]:
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
            raise TableError(f"line {line}: a quote opens a cell and is never closed")


def split(
    data: bytes, block: Records, separator: str, width: int
) -> Iterator[tuple[Any, list[str]]]:
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


def _inside_quotes(stretch: Octets) -> Flags | None:
    """Mark the bytes from an opening quote to before the closing one; None without quotes."""
    quotes = stretch == _QUOTE
    return np.logical_xor.accumulate(quotes) if quotes.any() else None


def _positions(stretch: Octets, byte: int, inside: Flags | None) -> Ints:
    found = stretch == byte
    return np.flatnonzero(found if inside is None else found & ~inside[: len(stretch)])


def _check_quotes(stretch: Octets, inside: Flags | None, separator: int) -> None:
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
    stretch: Octets, inside: Flags | None, ends: Ints, separator: int, start: int
) -> Records:
    separators = _positions(stretch, separator, inside)
    cells = np.diff(np.searchsorted(separators, ends), prepend=0) + 1
    starts = np.concatenate([[0], ends[:-1] + 1])
    filled = starts < ends
    for record in np.flatnonzero((cells == 1) & filled):
        line = stretch[starts[record] : ends[record]].tobytes().decode()
        filled[record] = bool(line.replace('"', "").strip())
    stop = start + len(stretch)
    return Records(
        stop, starts[filled] + start, ends[filled] + start, cells[filled], inside is not None
    )


def _content(data: bytes, block: Records) -> bytes:
    first, last = int(block.starts[0]), int(block.ends[-1]) + 1
    if int((block.ends + 1 - block.starts).sum()) == last - first:
        return data[first:last]
    pairs = zip(block.starts.tolist(), block.ends.tolist(), strict=True)
    return b"\n".join([data[start:end] for start, end in pairs]) + b"\n"


_FEW_ROWS = 5


def refuse_headerless(names: Sequence[str], columns: Sequence[RawColumn]) -> None:
    """Raise when the line taken as header looks like a row of data.

    - Not all names are numbers: every name is missing, or occurs below in its own column, or is
      a number above a column of numbers.
    - All are numbers: one is repeated; or half of them occur below or are above a column of
      measurements. Floats that count upwards (0, 1, 2, …) are usual names, so then all must.
    """
    cells = [name.strip() for name in names]
    if not cells[0] and len(set(cells)) == len(cells) and _names_rows(columns[0]):
        return
    numbers = as_numbers(cells)
    if numbers is None:
        headerless = all(map(_could_be_data, cells, columns))
    else:
        found = sum(map(_occurs, cells, columns))
        counting = len(numbers) > 1 and bool((np.diff(numbers) == 1).all())
        repeated = len(set(cells)) < len(cells)
        headerless = repeated or 2 * found >= len(cells) * (2 if counting else 1)
    if headerless:
        shown = shown_names(cells, 5)
        seen = f"the first line ({shown}) looks like data, not like column names"
        way = Way("header", False, "if the table has none")
        raise UndecidedError([Objection("", seen, (way,), (way,), refused=True)])


def _names_rows(column: RawColumn) -> bool:
    """Whether a column is another one in every row."""
    codes = column.to_codes()
    return len(codes) > 1 and len(np.unique(codes)) == len(codes) and int(codes.min()) >= 0


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
                f"the first row ({shown_names(cells, 5)}) looks like "
                "column names: none of its values occurs again; they are treated as states"
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


def _numbers(column: RawColumn) -> Floats | None:
    labels = {str(value) for value in column.values}
    labels -= words_for_missing(labels)
    return as_numbers(sorted(labels)) if labels else None
