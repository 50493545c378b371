"""Read Arrow files, workbooks and databases into raw columns. Doors to the path.

Each becomes a polars frame, which is read as any other. A workbook needs fastexcel, a DuckDB file
duckdb; SQLite comes with Python. Where there are several sheets or tables, one is named.
"""

from __future__ import annotations

import io
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

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


def read_arrow(source: Source) -> RawTable:
    """Read Feather or Arrow, a file or a stream."""
    import polars as pl

    data = source.data
    if not data.startswith(ARROW):
        raise refusal("it does not begin as an Arrow file or stream does", "Arrow")
    read = pl.read_ipc if data.startswith(ARROW[0]) else pl.read_ipc_stream
    return frames.read(guarded(lambda: read(io.BytesIO(data)), "Arrow"))


def read_excel(source: Source, reading: Reading) -> RawTable:
    """Read one sheet of a workbook; rows and columns without any cell are left out."""
    import polars as pl

    try:
        import fastexcel
    except ImportError:
        raise MissingExtraError("reading a workbook", "fastexcel", "excel") from None
    book = guarded(lambda: fastexcel.read_excel(source.data), "Excel")

    def load(name: str) -> pl.DataFrame:
        row = 0 if reading.header else None
        sheet = book.load_sheet(name, header_row=row, schema_sample_rows=None)
        found: pl.DataFrame = sheet.to_polars()
        return found

    names = list(book.sheet_names)
    if reading.sheet is None:
        sheets = guarded(lambda: [load(name) for name in names], "Excel")
        pairs = zip(names, sheets, strict=True)
        names = [name for name, content in pairs if content.height and content.width]
    chosen = _chosen(names, reading.sheet, source, "sheet")
    content = guarded(lambda: load(chosen), "Excel")
    if not reading.header:
        content = content.rename({name: str(i) for i, name in enumerate(content.columns)})
    blank = [c.name for c in content if c.null_count() == len(c) and c.name.startswith("__UNN")]
    content = content.drop(blank)
    filled = content.select(~pl.all_horizontal(pl.all().is_null())).to_series()
    rows = filled.arg_true().to_list()
    first = 2 if reading.header else 1
    raw = frames.read(content.filter(filled))
    return replace(raw, place=lambda row: f"row {rows[row] + first} of sheet {chosen!r}")


def read_sqlite(source: Source, reading: Reading) -> RawTable:
    """Read a table or a query of an SQLite database; nothing is written to it."""
    try:
        with closing(_sqlite(source)) as base:
            listed = base.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
                "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
            )
            names = [name for (name,) in listed.fetchall()]
            found = base.execute(_statement(names, reading, source))
            return _from_rows(found.description, found.fetchall())
    except (sqlite3.Error, sqlite3.Warning, OverflowError) as error:
        raise InputError(f"{source.name}: {str(error)[:200]}") from None


def _sqlite(source: Source) -> sqlite3.Connection:
    if source.path is not None:
        where = quote(str(source.path.resolve()))
        return sqlite3.connect(f"file:{where}?mode=ro", uri=True)
    base = sqlite3.connect(":memory:")
    base.deserialize(source.data)
    return base


def read_duckdb(source: Source, reading: Reading) -> RawTable:
    """Read a table or a query of a DuckDB database; it reaches no other file and no network."""
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError("reading a DuckDB file", "duckdb", "duckdb") from None

    config: dict[str, Any] = {
        "enable_external_access": "false",
        "autoinstall_known_extensions": "false",
    }
    with tempfile.TemporaryDirectory() as folder:
        path = source.path
        if path is None:
            path = Path(folder) / "base.duckdb"
            path.write_bytes(source.data)
        try:
            with duckdb.connect(str(path), read_only=True, config=config) as base:
                listed = base.execute(
                    "SELECT table_name FROM information_schema.tables "
                    "WHERE table_schema = current_schema() ORDER BY table_name"
                )
                names = [name for (name,) in listed.fetchall()]
                found = base.execute(_statement(names, reading, source))
                return _from_rows(found.description or (), found.fetchall())
        except duckdb.Error as error:
            reason = str(error).split("\n")[0][:200]
            raise InputError(f"{source.name}: {reason}") from None


def _statement(names: Sequence[str], reading: Reading, source: Source) -> str:
    if reading.query is not None:
        return reading.query
    name = _chosen(names, reading.sheet, source, "table").replace('"', '""')
    return f'SELECT * FROM "{name}"'  # noqa: S608  # a name that is there, quoted


def _chosen(names: Sequence[str], wanted: str | None, source: Source, what: str) -> str:
    """Return the sheet or table that is meant."""
    if wanted is not None:
        if wanted not in names:
            hint = did_you_mean(wanted, names)
            raise InputError(f"{source.name} has no {what} {wanted!r}; {hint}")
        return wanted
    if not names:
        raise TableError(f"{source.name} has no {what} with anything in it")
    if len(names) > 1:
        shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
        ways = [Way("sheet", names[0], "to take that one")]
        if what == "table":
            ways.append(Way("query", "SELECT …"))
        raise InputError(f"{source.name} has {len(names)} {what}s: {shown}", *ways)
    return names[0]


def _from_rows(description: Any, rows: Sequence[tuple[Any, ...]]) -> RawTable:
    """Make columns of what a database returned; numbers stay numbers, all else becomes text."""
    import polars as pl

    names = [str(entry[0]) for entry in description or ()]
    if not names:
        raise InputError("the query returns no columns; it must be a SELECT")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"the query returns two columns named {twice!r}; name one of them AS …")
    cells = zip(*rows, strict=True) if rows else ((),) * len(names)
    columns = [_series(pl, name, list(values)) for name, values in zip(names, cells, strict=True)]
    return frames.read(pl.DataFrame(columns))


def _series(pl: Any, name: str, values: list[Any]) -> Any:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return pl.Series(name, values, dtype=pl.Boolean)
    if kinds == {int} and all(abs(value) < 1 << 62 for value in values if value is not None):
        return pl.Series(name, values, dtype=pl.Int64)
    if kinds and kinds <= {int, float, Decimal}:
        numbers = [None if value is None else float(value) for value in values]
        return pl.Series(name, numbers, dtype=pl.Float64)
    if bytes in kinds:
        return pl.Series(name, [None] * len(values), dtype=pl.Binary)
    texts = [None if value is None else str(value) for value in values]
    return pl.Series(name, texts, dtype=pl.String)
