"""Readers of tables: every format becomes raw columns, not yet states."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from parentage.errors import TableError, Way
from parentage.files.detect import detect_with_text
from parentage.files.source import open_source

if TYPE_CHECKING:
    from parentage.data.formats.raw import RawTable
    from parentage.data.settings import Reading
    from parentage.files.source import Source, SourceLike


def read_columns(source: SourceLike | Source, reading: Reading) -> RawTable:
    """Read a table as raw columns; candidate lists are refused."""
    from parentage.data.formats import arff, dat, delimited, frame
    from parentage.files.parquet import read_frame

    opened = open_source(source)
    found, text = detect_with_text(opened, reading.format, reading.encoding)
    if found.kind == "lists":
        raise TableError(
            f"{opened.name} holds candidate lists ({found.format}), not a table; `learn` takes "
            "lists",
            Way("format", "csv", "if it is a table after all"),
        )
    if found.format == "parquet":
        raw = frame.read(read_frame(opened.data))
    elif found.format == "arff":
        raw = arff.read(text)
    elif found.format == "dat":
        raw = dat.read(text)
    else:
        separator = "\t" if found.format == "tsv" else None
        raw = delimited.read(text, header=reading.header, separator=separator)
    return replace(raw, source=opened.name, format=found.format)
