"""Read CSV, TSV and other separated text into raw columns. The widest door to the path.

Cells stay verbatim, apart from blanks around them; blank lines do not count. The separator is
found from the first records. :mod:`parentage.data.formats.records` does the splitting; text with
unusual quotes goes through Python's slower, lenient parser, with the same result.
"""

from __future__ import annotations

import csv
import re
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from parentage.data.formats.header import refuse_headerless, warn_of_header
from parentage.data.formats.raw import RawTable, text_column
from parentage.data.formats.records import (
    ColumnBuilder,
    OddQuotesError,
    blocks,
    line_at,
    split,
)
from parentage.errors import TableError
from parentage.files.detect import SEPARATORS, csv_reader, first_records

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_HEAD = 1_000_000

_RECORDS = 10
"""Number of records that the separator is found from."""


def read(text: str, *, header: bool = True, separator: str | None = None) -> RawTable:
    r"""Read separated text; without a header the columns are named 0, 1, ….

    Parameters
    ----------
    text
        The whole text, with ``\n`` line ends.
    header
        The first record holds the names.
    separator
        One character; found from the first records when not given.
    """
    separator = separator or sniff_separator(text)
    if separator == " ":
        text = _squeeze(text)
    if header and _has_row_names(text, separator):
        begin = len(text) - len(text.lstrip("\n"))
        text = f'{text[:begin]}""{separator}{text[begin:]}'
    try:
        return _read_plain(text, separator, header)
    except OddQuotesError:
        return read_lenient(text, separator, header)


def sniff_separator(text: str) -> str:
    r"""Find the separator: the one that gives most cells, equally many in the first records.

    >>> sniff_separator("a;b\n1,5;2\n")
    ';'
    """
    best, most = ",", 1
    for separator in SEPARATORS + " ":
        if separator == " " and most > 1:
            break
        head = _squeeze(text[:_HEAD]) if separator == " " else text
        records = list(islice(first_records(head, separator), _RECORDS))
        widths = {len(cells) for cells in records[1:] or records}
        same = len(widths) == 1 and (len(records[0]) in widths or _has_row_names(head, separator))
        if same and max(widths) > most:
            best, most = separator, max(widths)
    if most == 1:  # no separator fits all of them: let the first record decide
        first = text.lstrip("\n").partition("\n")[0]
        best = max(",\t;| ", key=first.count)
    return best


def _has_row_names(text: str, separator: str) -> bool:
    """Tell whether the rows have a name before their cells, which the header has not, as R writes.

    In the first records: one cell more than the header, the first of each another one, and the last
    not always blank, as it is where lines end in a separator.
    """
    records = list(islice(first_records(text, separator), _RECORDS))
    rows = records[1:]
    return (
        len(rows) > 1
        and len(records[0]) > 1  # a header of one cell has another separator
        and {len(cells) for cells in rows} == {len(records[0]) + 1}
        and len({cells[0] for cells in rows}) == len(rows)
        and any(cells[-1].strip() for cells in rows)
    )


def read_lenient(text: str, separator: str, header: bool) -> RawTable:
    """Read with Python's csv module: any quotes, slower."""
    reader = csv_reader(text, separator)
    rows, lines, before = list[list[str]](), list[int](), 0
    try:
        for cells in reader:
            if len(cells) > 1 or any(cell.strip() for cell in cells):
                if rows and len(cells) != len(rows[0]):
                    raise _ragged(before + 1, len(cells), len(rows[0]), separator)
                rows.append(cells)
                lines.append(before + 1)
            before = reader.line_num
    except csv.Error as error:
        raise TableError(f"line {before + 1}: {error}") from None
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
        raise TableError("the text holds half characters; check the encoding") from None
    if not data.endswith(b"\n"):
        data += b"\n"
    first, builders, rows = list[str](), list[ColumnBuilder](), 0
    begins: list[
        tuple[int, int]
    ] = []  # of every block: its first byte, the row of its first record
    byte = 0
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
        ragged = np.flatnonzero(records.cells != len(first))
        if len(ragged):
            line_number = line_at(data, int(records.starts[ragged[0]]))
            raise _ragged(line_number, int(records.cells[ragged[0]]), len(first), separator)
        for builder, (codes, cells) in zip(
            builders, split(data, records, separator, len(first)), strict=True
        ):
            builder.add(codes, cells)
        begins.append((begin, rows - (records is not block)))
        rows += len(records.ends)

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


def _ragged(line: int, found: int, expected: int, separator: str) -> TableError:
    return TableError(
        f"line {line} has {found} cells, the first line has {expected} (separator {separator!r})",
        "correct the line",
        "quote a cell that holds the separator",
    )
