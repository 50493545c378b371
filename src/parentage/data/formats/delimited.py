"""Read CSV, TSV and other separated text into raw columns. The widest door to the path.

Cells stay verbatim, apart from blanks around them; blank lines do not count. The separator is
found from the first records.

Python's csv module reads everything. A large text is first tried with polars, which is several
times as fast, in blocks of whole records of about 16 MB: every column is reduced to codes before
the next block comes, so memory grows with 4 bytes a cell. That is done only if the text is regular:
no blank lines, the same number of cells in each record, quotes around whole cells and doubled
inside them. A quoted cell may hold separators and line ends, so a byte counts as a separator only
where the number of quotes before it is even. The result is the same.

A table without a header would lose its first row silently and get that row's cells as names. The
first line looks like data when its cells are found again below it.
"""

from __future__ import annotations

import csv
import io
import re
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from parentage.data.columns import Column, RawTable, text_column, words_for_missing
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

    from parentage.arrays import Floats, Octets
    from parentage.data.table import CellCodes


_HEAD = 1_000_000

_TITLE_LINES = 20
"""Lines among which the header is looked for."""

_RECORDS = 10
"""Number of records that the separator is found from."""

_BLOCK = 1 << 24
"""Bytes that are read together."""

SMALL = 1 << 18
"""Up to this many bytes Python's csv module is as fast as polars is when it has been loaded."""

_ROWS = 5_000
"""Records that are numbered together."""

_QUOTE, _NEWLINE = ord('"'), ord("\n")
_OTHERS = bytes(byte for byte in range(256) if byte != _NEWLINE)

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
    if header and (extra := _cell_without_name(text, separator)):
        begin = len(text) - len(text.lstrip("\n"))
        end = text.find("\n", begin)
        before, after = ('""' + separator, "") if extra == "first" else ("", separator)
        text = f"{text[:begin]}{before}{text[begin:end]}{after}{text[end:]}"
    try:
        data = text.strip("\n").encode() + b"\n"
    except UnicodeEncodeError:
        raise TableError("the text holds incomplete characters; correct its encoding") from None
    whole = None
    if len(data) > SMALL:
        blank = len(text) - len(text.lstrip("\n"))
        whole = _read_regular(data, separator, header, blank)
    return whole or read_any(text, separator, header)


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
            _has_cells(line, separator, header) or max(map(line.count, SEPARATORS)) > most
            for line in above
        ):
            shown = next((line.strip() for line in above if line.strip()), "")
            lines = "line is" if number == 1 else f"{number} lines are"
            seen = f"the first {lines} not part of the table ({shown[:40]!r})"
            way = Way("skip_rows", number, "to skip them")
            raise UndecidedError([Objection("", seen, (way,), (way,), refused=True)])


def _has_cells(line: str, separator: str, header: str) -> bool:
    """Tell whether a separator stands between cells, not before a blank as in a sentence."""
    if f"{separator} " not in header:
        line = line.replace(f"{separator} ", " ")
    return separator in line.rstrip(separator)


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
            len(records[0]) in widths or _cell_without_name(head, separator)
        )
        if same and max(widths) > most:
            best, most = separator, max(widths)
    return best if most > 1 else None


def _cell_without_name(text: str, separator: str) -> Literal["first", "last", ""]:
    """Tell which cell of the first rows the header has no name for, if each has one more than it.

    The last one is always blank where lines end in a separator; the first is another one in each
    row if it is their name, as R writes it.
    """
    records = list(islice(first_records(text, separator), _RECORDS))
    rows = records[1:]
    # a header of one cell has another separator
    if len(rows) < 2 or len(records[0]) < 2 or {*map(len, rows)} != {len(records[0]) + 1}:
        return ""
    if not any(cells[-1].strip() for cells in rows):
        return "last"
    return "first" if len({cells[0] for cells in rows}) == len(rows) else ""


def read_any(text: str, separator: str, header: bool) -> RawTable:
    """Read with Python's csv module: any quotes, blank lines, and every error."""
    records, ragged, lines = _records(text, separator), dict[int, int](), list[int]()
    line, first = next(records, (0, list[str]()))
    _first_record(first, separator)
    builders = [ColumnBuilder() for _ in first]
    rows = records if header else chain([(line, first)], records)
    while some := list(islice(rows, _ROWS)):
        ragged |= {line: len(cells) for line, cells in some if len(cells) != len(first)}
        if not ragged:
            columns = zip(*(own for _, own in some), strict=True)
            for builder, cells in zip(builders, columns, strict=True):
                builder.add(np.arange(len(some)), cells)
            lines += [line for line, _ in some]
    if ragged:
        raise _ragged(ragged, len(first), separator)
    return _assemble(first, builders, header, lines.__getitem__)


def _records(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the records that are not blank, with the line that each begins in.

    One empty line is read below the last one: a cell that it belongs to is never closed.
    """
    last = text.count("\n") + 2 - text.endswith("\n")
    reader, before = csv_reader(chain(io.StringIO(text), [""]), separator), 0
    try:
        for cells in reader:
            if reader.line_num == last and cells:
                opening = text.count("\n") - cells[-1].count("\n") + 1
                raise TableError(f"line {opening}: a quote opens a cell and is never closed")
            if len(cells) > 1 or any(cell.strip() for cell in cells):
                yield before + 1, cells
            before = reader.line_num
    except csv.Error as error:
        raise TableError(f"line {before + 1}: {error}") from None


def _read_regular(data: bytes, separator: str, header: bool, blank: int) -> RawTable | None:
    """Read text with polars, block by block; None if it is not regular (:func:`_n_records`).

    ``blank``: number of lines above it.
    """
    import polars as pl

    first = next(first_records(data[:_HEAD].decode(errors="replace"), separator), [])
    if len(first) < 2:
        return None
    builders = [ColumnBuilder() for _ in first]
    begins, rows = list[tuple[int, int, int]](), 0
    for start, block in _blocks(data):
        n_records = _n_records(block, separator, len(first))
        named = header and start == 0
        if not n_records:
            return None
        try:
            frame = pl.read_csv(
                block,
                has_header=named,
                separator=separator,
                quote_char='"' if b'"' in block else None,
                schema={f"c{i}": pl.String for i in range(len(first))},
            )
        except pl.exceptions.PolarsError:
            return None
        if frame.height != n_records - named:
            return None
        for builder, cells in zip(builders, frame, strict=True):
            distinct = cells.drop_nulls().unique()
            codes = cells.cast(pl.Enum(distinct)).to_physical().cast(pl.Int32).fill_null(-1)
            builder.add(codes.to_numpy(), distinct.to_list())
        begins.append((rows - named, start, start + len(block)))
        rows += frame.height

    def line_of(row: int) -> int:
        above, start, stop = next(begin for begin in reversed(begins) if begin[0] <= row)
        ends = np.flatnonzero(_outside_quotes(data[start:stop]) == _NEWLINE)
        end = int(ends[row - above - 1]) + 1 if row > above else 0
        return blank + data.count(b"\n", 0, start + end) + 1

    return _assemble(first, builders, header, line_of)


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
    rows = columns[0].stored_rows
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


def _ragged(cells: Mapping[int, int], expected: int, separator: str) -> TableError:
    """Report lines with too many or too few ``cells``, by line."""
    n_lines = len(cells)
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


def _blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Cut a text into stretches of whole records; yield where each begins, and its bytes."""
    start = stop = 0
    while stop < len(data):
        stop = data.find(b"\n", stop + _BLOCK) + 1 or len(data)
        if data.count(b'"', start, stop) % 2 == 0 or stop == len(data):
            yield start, data[start:stop]
            start = stop


def _n_records(block: bytes, separator: str, width: int) -> int:
    """Count the records; 0 if one is blank or has another width, or if a quote is inside a cell."""
    stretch = np.frombuffer(block, np.uint8)
    outside = _outside_quotes(block)
    edge = np.zeros(256, np.bool_)
    edge[[_QUOTE, _NEWLINE, ord(separator)]] = True
    quotes, edges = stretch == _QUOTE, edge[stretch]
    opens, closes = quotes & (outside == 0), quotes & (outside != 0)
    if (opens[1:] & ~edges[:-1]).any() or (closes[:-1] & ~edges[1:]).any():
        return 0
    marks = outside.tobytes().translate(None, _OTHERS.replace(separator.encode(), b""))
    n_records = len(marks) // max(width, 1)
    return n_records if marks == (separator.encode() * (width - 1) + b"\n") * n_records else 0


def _outside_quotes(block: bytes) -> Octets:
    """Return the bytes, 0 from an opening quote to before the closing one."""
    stretch = np.frombuffer(block, np.uint8)
    quotes = stretch == _QUOTE
    return np.where(np.logical_xor.accumulate(quotes), 0, stretch) if quotes.any() else stretch


_FEW_ROWS = 5


def refuse_headerless(names: Sequence[str], columns: Sequence[Column]) -> None:
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


def _names_rows(column: Column) -> bool:
    """Whether a column is another one in every row."""
    codes = column.to_codes()
    return len(codes) > 1 and len(np.unique(codes)) == len(codes) and int(codes.min()) >= 0


def warn_of_header(columns: Sequence[Column]) -> None:
    """Warn when the first of the rows looks like names: words that never come again.

    Only where all columns otherwise repeat themselves, so that a row of its own is unusual.
    """
    if not columns or columns[0].stored_rows <= _FEW_ROWS:
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


def _could_be_data(cell: str, column: Column) -> bool:
    above_numbers = as_numbers([cell]) is not None and _numbers(column) is not None
    missing = not cell or bool(words_for_missing([cell]))
    return missing or above_numbers or cell in column.values


def _occurs(cell: str, column: Column) -> bool:
    if cell in column.values:
        return True
    numbers = _numbers(column)
    return numbers is not None and not bool((numbers == np.floor(numbers)).all())


def _numbers(column: Column) -> Floats | None:
    labels = {str(value) for value in column.values}
    labels -= words_for_missing(labels)
    return as_numbers(sorted(labels)) if labels else None
