"""Turn data frames and arrays into raw columns. One of the doors to the path.

Narwhals recognises the frame; polars and pyarrow columns are read through polars, all others
through the pandas interface. A pandas Categorical and a polars Enum declare their states, used
or not; a polars Categorical or an arrow dictionary is only a way to store labels. Null and NaN
are missing, and so are blank cells of text.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parentage.data.formats.raw import CellCodes, RawColumn, RawTable, text_column
from parentage.errors import TableError

if TYPE_CHECKING:
    import polars as pl


def read(frame: object) -> RawTable:
    """Read a frame; its index, if it has one, is left out. What was read already stays."""
    import narwhals as nw

    if isinstance(frame, RawTable):
        return replace(frame, passing=False)  # it may be read again
    if isinstance(frame, np.ndarray):
        return _array(frame)
    try:
        known = nw.from_native(frame, eager_only=True)  # type: ignore[call-overload]  # as above
    except TypeError:
        kind = f"{type(frame).__module__}.{type(frame).__name__}"
        if hasattr(frame, "toarray"):
            raise TableError(f"{kind} is a sparse matrix; pass its toarray()") from None
        raise TableError(
            f"{kind} is not a table; pass a path, a Table, an array or a pandas, polars or pyarrow "
            "data frame (collect a lazy one first)"
        ) from None
    except ValueError as error:
        raise TableError(f"the frame cannot be used: {error}; rename one of the columns") from None
    if known.implementation in (nw.Implementation.POLARS, nw.Implementation.PYARROW):
        columns = _polars_columns(known.to_polars())
    else:
        columns = _pandas_columns(known.to_native())
    return RawTable(tuple(columns), len(known), lambda row: f"row {row} (from 0)")


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
    return RawTable(tuple(columns), len(values), lambda row: f"row {row} (from 0)")


def _array_column(name: str, cells: Any) -> RawColumn:
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


def _polars_columns(frame: pl.DataFrame) -> list[RawColumn]:
    return [_polars_column(series) for series in frame]


def _polars_column(series: pl.Series) -> RawColumn:
    import polars as pl

    name, dtype = series.name, series.dtype
    if isinstance(dtype, pl.Enum):
        codes = series.to_physical().cast(pl.Int32).fill_null(-1).to_numpy()
        return RawColumn(name, codes, dtype.categories.to_list(), declared=True, numeric=False)
    if dtype == pl.Boolean:
        codes = series.cast(pl.Int32).fill_null(-1).to_numpy()
        return RawColumn(name, codes, ["False", "True"], numeric=False)
    if dtype == pl.Null:
        return RawColumn(name, np.full(len(series), -1, np.int32), [])
    if dtype.is_numeric():
        plain = series.cast(pl.Float64) if dtype == pl.Decimal else series
        filled = plain.is_not_null() & (plain.is_not_nan() if dtype.is_float() else True)
        return number_column(name, plain.filter(filled).to_numpy(), filled.to_numpy())
    if dtype.is_nested() or dtype in (pl.Object, pl.Binary):
        nothing = np.full(len(series), -1, np.int32)
        return RawColumn(name, nothing, [], refused=f"holds {dtype}, which has no states")
    text = series.cast(pl.String)
    distinct = text.drop_nulls().unique()
    codes = text.cast(pl.Enum(distinct)).to_physical().cast(pl.Int32).fill_null(-1).to_numpy()
    return text_column(name, codes, distinct.to_list())


def number_column(name: str, numbers: Any, filled: Any) -> RawColumn:
    """Make a column from the numbers that are there and the mask of their rows.

    Zero has no sign: which of two equal zeros is first would depend on the order of the rows.
    """
    values, inverse = np.unique(numbers, return_inverse=True)
    values = values + values.dtype.type(0)
    codes: CellCodes = np.full(len(filled), -1, np.int32)
    codes[filled] = inverse
    return RawColumn(name, codes, values)


def _pandas_columns(frame: Any) -> list[RawColumn]:
    return [_pandas_column(str(name), frame.iloc[:, i]) for i, name in enumerate(frame.columns)]


def _pandas_column(name: str, series: Any) -> RawColumn:
    if str(series.dtype) == "category":
        codes = series.cat.codes.to_numpy().astype(np.int32)
        labels = [str(category) for category in series.cat.categories]
        return RawColumn(name, codes, labels, declared=True, numeric=False)
    try:
        codes, distinct = series.factorize()
    except TypeError:
        nothing = np.full(len(series), -1, np.int32)
        return RawColumn(name, nothing, [], refused="holds values that cannot be compared")
    codes, values = np.asarray(codes, np.int32), np.asarray(distinct)
    if values.dtype.kind == "b" or all(isinstance(value, bool) for value in values):
        return RawColumn(name, codes, [str(bool(value)) for value in values], numeric=False)
    if values.dtype.kind in "iuf":
        return RawColumn(name, codes, values)
    return text_column(name, codes, [str(value) for value in values])
