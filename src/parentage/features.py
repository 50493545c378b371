"""X and y as scikit-learn passes them: into one table, and from states back to the frame's values.

Beside the estimator. Arrays that cannot be a table are refused in scikit-learn's words, which its
users and its own checks look for. A table holds labels; a frame held categories, numbers, dates or
booleans. :class:`Originals` remembers for every state of every column one value of the frame it
came from, and the types of the columns. A state of numbers that were discretised is shown by the
middle one of its numbers; a state made for missing cells is a missing cell again.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from parentage.data.columns import RawTable, number_label, with_weights
from parentage.data.formats import frame as frames
from parentage.data.table import MISSING, Table
from parentage.errors import InputError, TableError, Way

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


def name_of_target(y: object) -> str:
    """Return the name y has, or ``y``."""
    name = getattr(y, "name", None)
    return "y" if name is None or not str(name) else str(name)


def joined_column(y: object, name: str) -> RawTable:
    """Read y as one column of this name."""
    if hasattr(y, "to_frame"):
        raw = frames.read(y.to_frame())
    else:
        cells = np.asarray(y)
        if cells.dtype.kind not in "biufUS":
            cells = np.asarray(y, object)
        if cells.ndim == 2 and cells.shape[1] == 1:
            cells = cells[:, 0]
        if cells.ndim != 1:
            raise TableError(
                f"y has shape {cells.shape}; it must be one column, with one value for each row"
            )
        raw = frames.read(cells.reshape(-1, 1))
    return replace(raw, columns=(raw.columns[0].renamed(name),))


def joined(X: object, y: object, name: str, names: tuple[str, ...] | None) -> RawTable:
    """Read X and y as one table; the columns of an array get the names given."""
    if isinstance(X, Table | str | bytes | os.PathLike):
        raise InputError(
            "y can be passed with a frame or an array; in a table or file, name the column",
            Way("target", ...),
        )
    raw, column = frames.read(X), joined_column(y, name)
    if raw.stored_rows != column.stored_rows:
        raise TableError(f"X has {raw.stored_rows} rows and y has {column.stored_rows}")
    if names is not None and isinstance(X, np.ndarray) and len(names) == len(raw.columns):
        renamed = zip(raw.columns, names, strict=True)
        raw = replace(raw, columns=tuple(c.renamed(n) for c, n in renamed))
    if any(own.name == name for own in raw.columns):
        raise TableError(
            f"X has a column {name!r} as well as y; leave it out of X, or name it",
            Way("target", name, "and give no y"),
        )
    return replace(raw, columns=(*raw.columns, column.columns[0]))


def weighted(source: object, sample_weight: object) -> RawTable:
    """Read a frame, or what was joined, with how often each row occurs."""
    if isinstance(source, Table | str | bytes | os.PathLike):
        raise InputError(
            "sample_weight is for a frame or an array; a Table says in `repeats` how often its "
            "rows occur"
        )
    raw = source if isinstance(source, RawTable) else frames.read(source)
    return with_weights(raw, sample_weight)


def check_array(X: object, widths: Collection[int] = (), name: str = "") -> None:
    """Refuse an array that has no rows or columns, or another number of columns than expected.

    Parameters
    ----------
    X
        Anything; only arrays are looked at.
    widths
        The numbers of columns that are right, the usual one first; none when learning.
    name
        Who expects them.
    """
    if not isinstance(X, np.ndarray):
        return
    if X.dtype.kind == "c":
        raise TableError("Complex data not supported: a state is a label or a number")
    if X.ndim != 2:
        raise TableError(
            f"an array of shape {X.shape} is not a table. Reshape your data: rows and columns, "
            "X.reshape(1, -1) for a single row"
        )
    rows, columns = X.shape
    needed = 1 if widths else 2
    if columns == 0:
        raise TableError(f"0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    if rows < needed:
        raise TableError(
            f"{rows} sample(s) (shape={X.shape}) while a minimum of {needed} is required."
        )
    if widths and columns not in widths:
        expected = next(iter(widths))
        raise TableError(
            f"X has {columns} features, but {name} is expecting {expected} features as input"
        )


@dataclass(frozen=True, eq=False)
class Originals:
    """One value per state, as the source had it.

    Parameters
    ----------
    kind
        ``"pandas"``, ``"polars"``, ``"pyarrow"`` or ``"array"``; ``"table"`` has no values.
    values
        ``{column: values by state}``.
    types
        ``{column: its type in the frame}``; the type of the whole array under ``""``.
    """

    kind: str
    values: Mapping[str, Sequence[Any]]
    types: Mapping[str, Any]

    @classmethod
    def of(cls, source: object, table: Table) -> Originals:
        """Remember what the states of a table, read row by row from a source, looked like."""
        kind = kind_of(source)
        if kind == "table":
            return cls(kind, {}, {})
        values, types = {}, {}
        for name, (cells, dtype) in columns_of(source, kind, table.names).items():
            values[name] = _by_state(cells, dtype, table, table.index(name))
            types[name] = dtype
        if isinstance(source, np.ndarray):
            types[""] = source.dtype
        return cls(kind, values, types)

    def frame(self, table: Table) -> Any:
        """Return rows of states as a frame of the kind that was learned from.

        Columns the source did not have are left out.
        """
        if self.kind == "table":
            return table
        columns = {
            name: [self.values[name][code] for code in table.column(table.index(name)).tolist()]
            for name in self.values
        }
        return _framed(self.kind, columns, self.types, None)

    def filled(self, source: object, holes: Table, whole: Table) -> Any:
        """Return a frame with its missing cells filled; all others, and their types, as they were.

        Parameters
        ----------
        source
            The frame, of any kind; what is not a frame comes back as a table.
        holes
            Its rows as states, with holes.
        whole
            The same rows without.
        """
        kind = kind_of(source)
        if kind == "table" or not self.values:
            return whole
        columns, types = {}, {}
        for name, (cells, dtype) in columns_of(source, kind, tuple(self.values)).items():
            v = holes.index(name)
            empty = holes.column(v) == MISSING
            new = [self.values[name][code] for code in whole.column(v)[empty].tolist()]
            kept = _cells(cells)
            for i, value in zip(np.flatnonzero(empty).tolist(), new, strict=True):
                kept[i] = value
            holds = bool(empty.all()) or not _fits(dtype, new)
            columns[name], types[name] = kept, self.types[name] if holds else dtype
        if isinstance(source, np.ndarray):
            types[""] = source.dtype
        return _framed(kind, columns, types, source)


def kind_of(source: object) -> str:
    """Tell frames of the libraries and arrays from everything else, which is called a table."""
    if isinstance(source, np.ndarray):
        return "array"
    library = type(source).__module__.partition(".")[0]
    return library if library in ("pandas", "polars", "pyarrow") else "table"


def names_of(source: Any) -> tuple[str, ...]:
    """Return the names of the columns of a frame or an array; none of what is called a table."""
    import narwhals as nw

    if isinstance(source, np.ndarray):
        return tuple(f"x{j}" for j in range(source.shape[1]))
    if kind_of(source) == "table":
        return ()
    return tuple(map(str, nw.from_native(source, eager_only=True).columns))


def rows_of(source: Any, rows: npt.NDArray[np.int64]) -> Any:
    """Return the rows with these numbers, as what the source is."""
    import narwhals as nw

    if isinstance(source, np.ndarray):
        return source[rows]
    if kind_of(source) == "table":
        return [source[i] for i in rows.tolist()]
    return nw.from_native(source, eager_only=True, allow_series=True)[rows].to_native()


def columns_of(source: Any, kind: str, names: Sequence[str]) -> dict[str, tuple[Any, Any]]:
    """Return ``{name: (column, type)}`` of the columns with these names, an array's in order."""
    import narwhals as nw

    if kind == "array":
        width = range(min(source.shape[1], len(names)))
        return {names[j]: (source[:, j], source.dtype) for j in width}
    frame = nw.from_native(source, eager_only=True)
    place = {str(name): i for i, name in enumerate(frame.columns)}
    own = {name: frame[:, place[name]].to_native() for name in names if name in place}
    return {n: (c, c.type if kind == "pyarrow" else c.dtype) for n, c in own.items()}


def _cells(column: Any, rows: npt.NDArray[np.int64] | None = None) -> list[Any]:
    """Return cells of a column as Python values: all of them, or those of some rows."""
    import narwhals as nw

    if not isinstance(column, np.ndarray):
        column = nw.from_native(column, series_only=True)
    found = column if rows is None else column[rows]
    cells: list[Any] = found.tolist() if isinstance(found, np.ndarray) else found.to_list()
    return cells


def _by_state(column: Any, dtype: Any, table: Table, v: int) -> list[Any]:
    """Return for every state a cell that had it; for a state never seen, the declared value."""
    codes, labels = table.column(v), table.states[v]
    seen, first = np.unique(codes, return_index=True)
    row_of = dict(zip(seen.tolist(), first.tolist(), strict=True))
    if table.names[v] in table.cuts:
        row_of |= _middle_rows(column, codes)
    there = [k for k in range(len(labels)) if k in row_of]
    cells = dict(zip(there, _cells(column, np.array([row_of[k] for k in there])), strict=True))
    return [cells[k] if k in cells else _declared(dtype, label) for k, label in enumerate(labels)]


def _middle_rows(column: Any, codes: npt.NDArray[Any]) -> dict[int, int]:
    """Return for every state the row of the middle one of its numbers; nothing for dates."""
    import narwhals as nw

    if not isinstance(column, np.ndarray):
        column = nw.from_native(column, series_only=True).to_numpy()
    try:
        numbers = np.asarray(column, np.float64)
    except (TypeError, ValueError):
        return {}
    there = np.flatnonzero(~np.isnan(numbers))
    order = there[np.lexsort((numbers[there], codes[there]))]
    states, start, size = np.unique(codes[order], return_index=True, return_counts=True)
    return dict(zip(states.tolist(), order[start + (size - 1) // 2].tolist(), strict=True))


def _declared(dtype: Any, label: str) -> Any:
    categories = getattr(dtype, "categories", None)
    for category in [] if categories is None else list(categories):
        if str(category) == label or (
            isinstance(category, int | float) and number_label(category) == label
        ):
            return category
    return label


def _fits(dtype: Any, values: Sequence[Any]) -> bool:
    """Tell whether a type has all these values, if it declares its categories."""
    categories = getattr(dtype, "categories", None)
    return categories is None or set(values) <= set(categories)


def _framed(
    kind: str, columns: Mapping[str, list[Any]], types: Mapping[str, Any], like: object
) -> Any:
    if kind == "array":
        rows = list(zip(*columns.values(), strict=True))
        whole = np.empty((len(rows), len(columns)), object)
        for j, cells in enumerate(columns.values()):
            whole[:, j] = cells
        return whole.astype(types[""])
    if kind == "pandas":
        import pandas as pd

        index = like.index if isinstance(like, pd.DataFrame) else None
        return pd.DataFrame(
            {n: pd.Series(cells, dtype=types[n], index=index) for n, cells in columns.items()}
        )
    if kind == "polars":
        import polars as pl

        return pl.DataFrame(
            [pl.Series(n, cells, dtype=types[n], strict=False) for n, cells in columns.items()]
        )
    import pyarrow as pa

    plain = {n: getattr(dtype, "value_type", dtype) for n, dtype in types.items()}
    return pa.table({n: pa.array(cells, type=plain[n]) for n, cells in columns.items()})
