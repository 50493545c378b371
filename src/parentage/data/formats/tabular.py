"""Read Arrow files and workbooks into raw columns.

Each becomes a polars frame, which is read as any other. A workbook needs fastexcel; where it has
several sheets, one is named.
"""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING

from parentage.data.formats import frame as frames
from parentage.errors import InputError, MissingExtraError, TableError, Way, did_you_mean
from parentage.files.detect import ARROW
from parentage.files.parquet import guarded, refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from parentage.data.formats.raw import RawTable
    from parentage.data.settings import Reading
    from parentage.files.source import Source


_TITLE_ROWS = 20
"""Rows of a sheet among which its header is looked for."""


def read_arrow(source: Source) -> RawTable:
    """Read Feather or Arrow, a file or a stream."""
    import polars as pl

    data = source.data
    if not data.startswith(ARROW):
        raise refusal("it does not begin as an Arrow file or stream does", "Arrow")
    read = pl.read_ipc if data.startswith(ARROW[0]) else pl.read_ipc_stream
    return frames.read(guarded(lambda: read(io.BytesIO(data)), "Arrow"))


def read_excel(source: Source, reading: Reading) -> RawTable:
    """Read one sheet of a workbook; rows and columns without any cell are left out.

    A title may stand above the header.
    """
    import polars as pl

    try:
        import fastexcel
    except ImportError:
        raise MissingExtraError("reading a workbook", "fastexcel", "excel") from None
    book = guarded(lambda: fastexcel.read_excel(source.data), "Excel")

    def load(name: str, header: int | None, n_rows: int | None = None) -> pl.DataFrame:
        sheet = book.load_sheet(name, header_row=header, n_rows=n_rows, schema_sample_rows=None)
        found: pl.DataFrame = sheet.to_polars()
        return found

    names = list(book.sheet_names)
    if reading.sheet is None:
        top = 0 if reading.header else None
        sheets = guarded(lambda: [load(name, top) for name in names], "Excel")
        pairs = zip(names, sheets, strict=True)
        names = [name for name, content in pairs if content.height and content.width]
    chosen = _chosen(names, reading.sheet, source)
    header = None
    if reading.header:
        header = _header_row(guarded(lambda: load(chosen, None, _TITLE_ROWS), "Excel"))
    content = guarded(lambda: load(chosen, header), "Excel")
    if not reading.header:
        content = content.rename({name: str(i) for i, name in enumerate(content.columns)})
    blank = [c.name for c in content if c.null_count() == len(c) and c.name.startswith("__UNN")]
    content = content.drop(blank)
    filled = content.select(~pl.all_horizontal(pl.all().is_null())).to_series()
    rows = filled.arg_true().to_list()
    first = 1 if header is None else header + 2
    raw = frames.read(content.filter(filled))
    return replace(raw, place=lambda row: f"row {rows[row] + first} of sheet {chosen!r}")


def _header_row(top: pl.DataFrame) -> int:
    """Return the row of the names: the first that fills half as many cells as the fullest."""
    import polars as pl

    filled = top.select(pl.sum_horizontal(pl.all().is_not_null())).to_series().to_list()
    enough = max(2, *filled, 0) / 2 if filled else 0
    return next((row for row, cells in enumerate(filled) if cells > 1 and cells >= enough), 0)


def _chosen(names: Sequence[str], wanted: str | None, source: Source) -> str:
    """Return the sheet that is meant."""
    if wanted is not None:
        if wanted not in names:
            hint = did_you_mean(wanted, names)
            raise InputError(f"{source.name} has no sheet {wanted!r}; {hint}")
        return wanted
    if not names:
        raise TableError(f"{source.name} has no sheet with anything in it")
    if len(names) > 1:
        shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
        raise InputError(
            f"{source.name} has {len(names)} sheets: {shown}",
            Way("sheet", names[0], "to take that one"),
        )
    return names[0]
