"""Readers of tables: every format becomes raw columns, not yet states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parentage.errors import TableError, Way
from parentage.files.detect import detect_with_text
from parentage.files.source import open_source

if TYPE_CHECKING:
    from parentage.data.formats.raw import RawTable
    from parentage.files.source import Source, SourceLike


def read_columns(
    source: SourceLike | Source,
    *,
    format: str | None = None,  # noqa: A002  # the option is called --format
    header: bool = True,
    encoding: str = "utf-8",
) -> RawTable:
    """Read a table as raw columns; candidate lists are refused."""
    from parentage.data.formats import arff, dat, delimited, frame
    from parentage.files.parquet import read_frame

    opened = open_source(source)
    found, text = detect_with_text(opened, format, encoding)
    if found.kind == "lists":
        raise TableError(
            f"{opened.name} holds candidate lists ({found.format}), not a table; `learn` takes "
            "lists",
            Way("format", "csv", "if it is a table after all"),
        )
    if found.format == "parquet":
        return frame.read(read_frame(opened.data))
    if found.format == "arff":
        return arff.read(text)
    if found.format == "dat":
        return dat.read(text)
    return delimited.read(text, header=header, separator="\t" if found.format == "tsv" else None)
