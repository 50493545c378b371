"""Readers of tables: every format becomes raw columns, not yet states."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from parentage.errors import InputError, TableError, Way
from parentage.files.detect import detect_with_text
from parentage.files.source import open_source

if TYPE_CHECKING:
    from parentage.data.formats.raw import RawTable
    from parentage.data.settings import Reading
    from parentage.files.source import Content, Source, SourceLike


def read_columns(source: SourceLike | Source, reading: Reading) -> RawTable:
    """Read a table, or several files as one, as raw columns; candidate lists are refused."""
    from parentage.data.formats.together import together

    opened = open_source(source)
    return together([_read(one, reading) for one in (opened, *opened.more)])


def _read(opened: Source, reading: Reading) -> RawTable:
    from parentage.data.formats import arff, dat, delimited, tabular

    found, text = detect_with_text(opened, reading.format, reading.encoding)
    if found.kind == "lists":
        raise TableError(
            f"{opened.name} holds candidate lists ({found.format}), not a table; `learn` takes "
            "lists",
            Way("format", "csv", "if it is a table after all"),
        )
    if reading.sheet is not None and found.format != "excel":
        raise InputError(
            f"is for workbooks, and {opened.name} is {found.format}",
            about=Way("sheet", reading.sheet),
        )
    if found.format == "parquet":
        raw = _read_parquet(opened.content)
    elif found.format == "arrow":
        raw = tabular.read_arrow(opened)
    elif found.format == "excel":
        raw = tabular.read_excel(opened, reading)
    elif found.format == "arff":
        raw = arff.read(text)
    elif found.format == "dat":
        raw = dat.read(text)
    else:
        separator = "\t" if found.format == "tsv" else None
        raw = delimited.read(text, header=reading.header, separator=separator)
    return replace(raw, source=opened.name, format=found.format)


def _read_parquet(content: Content) -> RawTable:
    """Read a Parquet file, one of many rows batch by batch."""
    from parentage.data.formats import batches, frame
    from parentage.files import parquet

    n_rows = parquet.count_rows(content)
    if n_rows <= batches.ROWS:
        return frame.read(parquet.read_frame(content))
    parts = parquet.read_batches(content, n_rows, batches.ROWS)
    return batches.gather(map(frame.read, parts), n_rows)
