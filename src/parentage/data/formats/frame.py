"""Turn data frames, arrays, Parquet, Arrow and workbooks into raw columns. Doors to the path.

Narwhals recognises a frame; polars and pyarrow columns are read through polars, all others through
the pandas interface. A pandas Categorical and a polars Enum declare their states, used or not; a
polars Categorical or an arrow dictionary is only a way to store labels. Null and NaN are missing,
and so are blank cells of text. Files become polars frames; a workbook needs fastexcel.

A Parquet file of many rows is read in batches. Each is read as a table of its own; then its values
get the numbers they have in the whole column, those seen first the lowest. What stays is as many
bits a cell as there are digits in the largest of them (:mod:`parentage.data.table`), and the
distinct values. A column of very many different numbers is kept as these numbers, and they are
numbered at the end.
"""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from parentage.data.columns import Column, RawTable, names_apart, text_column, with_names
from parentage.data.table import CellCodes, PackedColumn, narrowed
from parentage.errors import (
    InputError,
    MissingExtraError,
    TableError,
    Way,
    did_you_mean,
    shown_names,
)
from parentage.files import parquet
from parentage.files.detect import ARROW
from parentage.files.parquet import guarded, refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl

    from parentage.data.settings import Reading
    from parentage.files.source import Content, Source


def read(frame: object) -> RawTable:
    """Read a frame; its index, if it has one, is left out. What was read already stays."""
    import narwhals as nw

    if isinstance(frame, RawTable):
        return replace(frame, passing=False)  # it may be read again
    if isinstance(frame, np.ndarray):
        return _array(frame)
    try:
        known = nw.from_native(_named_apart(frame), eager_only=True)
    except TypeError:
        kind = f"{type(frame).__module__}.{type(frame).__name__}".removeprefix("builtins.")
        if hasattr(frame, "toarray"):
            raise TableError(f"{kind} is a sparse matrix; pass its toarray()") from None
        raise TableError(
            f"{kind} is not a table; pass a path, a Table, an array or a pandas, polars or pyarrow "
            "data frame (collect a lazy one first)"
        ) from None
    except ValueError as error:
        raise TableError(f"the frame cannot be used: {error}; rename one of the columns") from None
    if known.implementation in (nw.Implementation.POLARS, nw.Implementation.PYARROW):
        columns = [_polars_column(series) for series in known.to_polars()]
    else:
        native = known.to_native()
        columns = [_pandas_column(str(n), native.iloc[:, i]) for i, n in enumerate(native.columns)]
    return with_names(
        RawTable(tuple(columns), len(known), lambda row: f"row {row} (counted from 0)")
    )


def _named_apart(frame: Any) -> Any:
    """Name the columns of a pandas frame apart, as those of a file are; Narwhals refuses others."""
    columns = getattr(frame, "columns", ()) if hasattr(frame, "set_axis") else ()
    if getattr(columns, "is_unique", True):  # a series has an axis and no columns
        return frame
    return frame.set_axis(names_apart([str(name) for name in columns]), axis=1)


def _array(values: Any) -> RawTable:
    """Read an array of rows; columns are called x0, x1, … as scikit-learn does."""
    if values.ndim != 2 or values.dtype.kind not in "biufOUS":
        raise TableError(
            f"an array of shape {values.shape} and type {values.dtype} is not a table; pass rows "
            "and columns of labels or numbers"
        )
    if isinstance(values, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(values)
        values = values.data.astype(object)
        values[hidden] = None
    columns = [_array_column(f"x{j}", values[:, j]) for j in range(values.shape[1])]
    return RawTable(tuple(columns), len(values), lambda row: f"row {row} (counted from 0)")


def _array_column(name: str, cells: Any) -> Column:
    """Read one column; None and NaN are missing, objects that are all numbers are numbers."""
    if cells.dtype.kind in "iu":
        return number_column(name, cells, np.ones(len(cells), np.bool_))
    if cells.dtype.kind == "f":
        filled = ~np.isnan(cells)
        return number_column(name, cells[filled], filled)
    if cells.dtype.kind == "S":
        cells = np.char.decode(cells, "utf-8", "replace")
    present = np.array([not _is_nothing(cell) for cell in cells], np.bool_)
    found = [cell for cell, there in zip(cells.tolist(), present, strict=True) if there]
    if found and all(isinstance(c, int | float) and not isinstance(c, bool) for c in found):
        return number_column(name, np.array(found), present)
    position: dict[str, int] = {}
    codes: CellCodes = np.full(len(cells), -1, np.int32)
    codes[present] = [position.setdefault(str(cell), len(position)) for cell in found]
    return text_column(name, codes, list(position))


def _is_nothing(cell: Any) -> bool:
    """Tell None and NaN, of any library, from values."""
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or bool(cell != cell)


def _polars_column(series: pl.Series) -> Column:
    import polars as pl

    name, dtype = series.name, series.dtype
    if isinstance(dtype, pl.Enum):
        codes = series.to_physical().cast(pl.Int32).fill_null(-1).to_numpy()
        return Column(name, codes, dtype.categories.to_list(), declared=True, numeric=False)
    if dtype == pl.Boolean:
        codes = series.cast(pl.Int32).fill_null(-1).to_numpy()
        return Column(name, codes, ["False", "True"], numeric=False)
    if dtype == pl.Null:
        return Column(name, np.full(len(series), -1, np.int32), [])
    if dtype.is_numeric():
        plain = series.cast(pl.Float64) if dtype == pl.Decimal else series
        filled = plain.is_not_null() & (plain.is_not_nan() if dtype.is_float() else True)
        return number_column(name, plain.filter(filled).to_numpy(), filled.to_numpy())
    if dtype.is_nested() or dtype in (pl.Object, pl.Binary):
        nothing = np.full(len(series), -1, np.int32)
        return Column(name, nothing, [], refused=f"holds {dtype}, which has no states")
    text = series.cast(pl.String)
    distinct = text.drop_nulls().unique()
    codes = text.cast(pl.Enum(distinct)).to_physical().cast(pl.Int32).fill_null(-1).to_numpy()
    return text_column(name, codes, distinct.to_list())


def number_column(name: str, numbers: Any, filled: Any) -> Column:
    """Make a column from the numbers that are there and the mask of their rows.

    Zero has no sign: which of two equal zeros is first would depend on the order of the rows.
    """
    values, inverse = np.unique(numbers, return_inverse=True)
    values = values + values.dtype.type(0)
    codes: CellCodes = np.full(len(filled), -1, np.int32)
    codes[filled] = inverse
    return Column(name, codes, values)


def _pandas_column(name: str, series: Any) -> Column:
    if str(series.dtype) == "category":
        codes = series.cat.codes.to_numpy().astype(np.int32)
        labels = [str(category) for category in series.cat.categories]
        return Column(name, codes, labels, declared=True, numeric=False)
    try:
        codes, distinct = series.factorize()
    except TypeError:
        nothing = np.full(len(series), -1, np.int32)
        return Column(name, nothing, [], refused="holds values that cannot be compared")
    codes, values = np.asarray(codes, np.int32), np.asarray(distinct)
    if values.dtype.kind == "b" or all(isinstance(value, bool) for value in values):
        return Column(name, codes, [str(bool(value)) for value in values], numeric=False)
    if values.dtype.kind in "iuf":
        return Column(name, codes, values)
    return text_column(name, codes, [str(value) for value in values])


_TITLE_ROWS = 20
"""Rows of a sheet among which its header is looked for."""


def read_parquet(content: Content) -> RawTable:
    """Read a Parquet file, one of many rows batch by batch."""
    n_rows = parquet.count_rows(content)
    if n_rows <= ROWS:
        return read(parquet.read_frame(content))
    return gather(map(read, parquet.read_batches(content, n_rows, ROWS)), n_rows)


def read_arrow(source: Source) -> RawTable:
    """Read Feather or Arrow, a file or a stream."""
    import polars as pl

    data = source.data
    if not data.startswith(ARROW):
        raise refusal("it does not begin like an Arrow file or stream", "Arrow")
    load = pl.read_ipc if data.startswith(ARROW[0]) else pl.read_ipc_stream
    return read(guarded(lambda: load(io.BytesIO(data)), "Arrow"))


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
        header = reading.skip_rows or _header_row(
            guarded(lambda: load(chosen, None, _TITLE_ROWS), "Excel")
        )
    content = guarded(lambda: load(chosen, header), "Excel")
    if not reading.header:
        content = content.rename({name: str(i) for i, name in enumerate(content.columns)})
    blank = [c.name for c in content if c.null_count() == len(c) and c.name.startswith("__UNN")]
    content = content.drop(blank)
    filled = content.select(~pl.all_horizontal(pl.all().is_null())).to_series()
    rows = filled.arg_true().to_list()
    first = 1 if header is None else header + 2
    raw = read(content.filter(filled))
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
        shown = shown_names(names, 20)
        raise InputError(
            f"{source.name} has {len(names)} sheets: {shown}",
            Way("sheet", names[0], "to read that one"),
        )
    return names[0]


ROWS = 1 << 18
"""Rows of a batch."""

MOST_NUMBERED = 1 << 16
"""A column with more different numbers than this is kept as numbers."""


def gather(batches: Iterable[RawTable], n_rows: int) -> RawTable:
    """Put batches of the rows of one source together; they have the same columns, of one type."""
    columns: list[_Column] = []
    first = 0
    place = None
    for batch in batches:
        if place is None:
            place = batch.place
            columns = [_Column(column, n_rows) for column in batch.columns]
        for whole, part in zip(columns, batch.columns, strict=True):
            whole.add(part, first)
        first += batch.stored_rows
    if place is None or first != n_rows:
        raise ValueError(f"{n_rows} rows are declared, and only {first} could be read")
    return RawTable(tuple(column.finished() for column in columns), n_rows, place, passing=True)


class _Column:
    """A column while its batches come: its values are numbered as they are first seen."""

    def __init__(self, column: Column, n_rows: int) -> None:
        self._like, self._codes = column, PackedColumn(n_rows)
        self._position: dict[str | float, int] = {}
        self._cells: npt.NDArray[Any] | None = None
        """Numbers themselves, once there are too many; codes say where there is one."""

    def add(self, part: Column, first: int) -> None:
        """Write the cells of a batch, from row ``first`` on."""
        codes, values, position = part.to_codes(), part.values, self._position
        if isinstance(values, np.ndarray):
            if self._cells is None and len(position) + len(values) > MOST_NUMBERED:
                self._cells = np.empty(self._codes.n_rows, values.dtype)
                known = np.array([*position, 0], values.dtype)
                self._cells[:first] = known[self._codes.part(0, first)]
            if self._cells is not None:
                cells = np.append(values, np.zeros(1, values.dtype))[codes]
                self._cells[first : first + part.stored_rows] = cells
                self._codes.write(first, np.minimum(codes, 0))
                return
            values = values.tolist()
        number = [position.setdefault(value, len(position)) for value in values]
        self._codes.write(first, narrowed(np.array([*number, -1]))[codes])

    def finished(self) -> Column:
        """Return the whole column."""
        if self._cells is not None:
            filled = self._codes.unpacked() >= 0
            return number_column(self._like.name, self._cells[filled], filled)
        values: Any = list(self._position)
        if isinstance(self._like.values, np.ndarray):
            values = np.array(values, self._like.values.dtype)
        return replace(self._like, codes=self._codes, values=values)
