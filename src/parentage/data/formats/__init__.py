"""Readers of tables: every format becomes raw columns, not yet states.

Several files become one table, one below the other: they must have the same columns, in any order;
the first file's order is taken.
"""

from __future__ import annotations

import bisect
import re
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from parentage.data.columns import Column, RawTable, with_names
from parentage.errors import READER, InputError, TableError, Way, counted
from parentage.files.detect import detect_with_text
from parentage.files.source import open_source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parentage.data.settings import Reading
    from parentage.files.source import Source, SourceLike


_ABOUT_LINES = re.compile(r"line \d|[\d,]+ lines ")


def read_columns(source: SourceLike | Source, reading: Reading) -> RawTable:
    """Read a table, or several files as one, as raw columns; candidate lists are refused."""
    opened = open_source(source)
    return with_names(together([_read_named(one, reading) for one in (opened, *opened.more)]))


def _read_named(opened: Source, reading: Reading) -> RawTable:
    """Read a file; an error about one of its lines says which file it is."""
    try:
        return _read(opened, reading)
    except TableError as error:
        if _ABOUT_LINES.match(error.message) and opened.name != "<bytes>":
            error.message = f"{opened.name}: {error.message}"
            error.args = (error.text(READER.get()),)
        raise


def _read(opened: Source, reading: Reading) -> RawTable:
    from parentage.data.formats import declared, delimited, frame

    found, text = detect_with_text(opened, reading.format, reading.encoding)
    if found.kind == "lists":
        raise TableError(
            f"{opened.name} holds candidate lists ({found.format}), not a table; `learn` accepts "
            "lists",
            Way("format", "csv", "if it is a table"),
        )
    if reading.sheet is not None and found.format != "excel":
        raise InputError(
            f"is for workbooks, and {opened.name} is {found.format}",
            about=Way("sheet", reading.sheet),
        )
    if found.format == "parquet":
        raw = frame.read_parquet(opened.content)
    elif found.format == "arrow":
        raw = frame.read_arrow(opened)
    elif found.format == "excel":
        raw = frame.read_excel(opened, reading)
    elif found.format == "arff":
        raw = declared.read_arff(text)
    elif found.format == "dat":
        raw = declared.read_dat(text)
    else:
        separator = "\t" if found.format == "tsv" else None
        raw = delimited.read(
            text, header=reading.header, separator=separator, skip_rows=reading.skip_rows
        )
    return replace(raw, source=opened.name, format=found.format)


def together(tables: Sequence[RawTable]) -> RawTable:
    """Return one table with the rows of all."""
    first, *others = tables
    if not others:
        return first
    for other in others:
        _same_columns(first, other)
    columns = tuple(_joined([table.named(name) for table in tables]) for name in first.names)
    starts = [0, *accumulate(table.stored_rows for table in tables)]

    def place(row: int) -> str:
        at = bisect.bisect_right(starts, row) - 1
        return f"{tables[at].source}, {tables[at].place(row - starts[at])}"

    return RawTable(
        columns,
        starts[-1],
        place,
        f"{first.source} and {counted(len(others), 'more file')}",
        first.format,
    )


def _same_columns(first: RawTable, other: RawTable) -> None:
    here, names = other.names, first.names
    lacks = [name for name in names if name not in here]
    extra = [name for name in here if name not in names]
    if lacks or extra:
        what = f"lacks the column {lacks[0]!r}" if lacks else f"has a column {extra[0]!r}"
        has = "has" if lacks else "has not"
        raise TableError(f"{other.source} {what}, which {first.source} {has}")
    if len(here) != len(names) or len(set(names)) != len(names):
        raise TableError(f"{other.source} and {first.source} have columns of the same name")


def _joined(columns: Sequence[Column]) -> Column:
    """Return one column with the cells of all; the values are those of any of them."""
    first = columns[0]
    refused = next((column.refused for column in columns if column.refused), None)
    are_numbers = all(isinstance(column.values, np.ndarray) for column in columns)
    position: dict[Any, int] = {}
    parts = []
    for column in columns:
        values = column.values if are_numbers else column.labels()
        new = [position.setdefault(value, len(position)) for value in values]
        parts.append(np.array([*new, -1], np.int32)[column.to_codes()])
    values = np.array([*position]) if are_numbers else [*position]
    declared = all(column.declared for column in columns)
    kinds = {column.numeric for column in columns}
    numeric = kinds.pop() if len(kinds) == 1 else None
    return Column(first.name, np.concatenate(parts), values, declared, numeric, refused)
