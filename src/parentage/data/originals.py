"""The way back from states to a frame's own values: frames in, frames out.

A table holds labels; a frame held categories, numbers, dates or booleans. :class:`Originals`
remembers for every state of every column one value of the frame it came from, and the types of the
columns. A state of numbers that were cut is shown by the middle one of its numbers; a state made
for missing cells is a missing cell again.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from parentage.data.formats.raw import number_label
from parentage.data.table import MISSING, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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

    def frame(self, table: Table, like: object = None) -> Any:
        """Return rows of states as a frame of the kind that was learned from.

        Parameters
        ----------
        table
            The rows; columns the source did not have are left out.
        like
            A frame whose index they take, if it has one.
        """
        if self.kind == "table":
            return table
        columns = {
            name: [self.values[name][code] for code in table.column(table.index(name)).tolist()]
            for name in self.values
        }
        return _framed(self.kind, columns, self.types, like)

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
            kept = list(cells)
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


def rows_of(source: Any, rows: npt.NDArray[np.int64]) -> Any:
    """Return the rows with these numbers, as what the source is."""
    kind = kind_of(source)
    if kind == "pandas":
        return source.iloc[rows]
    if kind == "pyarrow":
        return source.take(rows)
    return source[rows] if kind in ("array", "polars") else [source[i] for i in rows.tolist()]


def columns_of(source: Any, kind: str, names: Sequence[str]) -> dict[str, tuple[list[Any], Any]]:
    """Return ``{name: (cells, type)}`` of the columns with these names, an array's in order."""
    if kind == "array":
        width = range(min(source.shape[1], len(names)))
        return {names[j]: (source[:, j].tolist(), source.dtype) for j in width}
    if kind == "pandas":
        found = {str(name): source.iloc[:, i] for i, name in enumerate(source.columns)}
        return {name: (found[name].tolist(), found[name].dtype) for name in names if name in found}
    if kind == "polars":
        there = [name for name in names if name in source.columns]
        return {name: (source[name].to_list(), source[name].dtype) for name in there}
    there = [name for name in names if name in source.column_names]
    return {name: (source[name].to_pylist(), source[name].type) for name in there}


def _by_state(cells: list[Any], dtype: Any, table: Table, v: int) -> list[Any]:
    """Return for every state a cell that had it; for a state never seen, the declared value."""
    codes, name = table.column(v), table.names[v]
    found: list[Any] = []
    for k, label in enumerate(table.states[v]):
        rows = np.flatnonzero(codes == k).tolist()
        if not rows:
            found.append(_declared(dtype, label))
        elif name in table.cuts:
            numbers = [cells[i] for i in rows if cells[i] == cells[i]]
            with contextlib.suppress(TypeError, ValueError):  # dates stay in the order of the rows
                numbers.sort(key=float)
            found.append(numbers[(len(numbers) - 1) // 2] if numbers else cells[rows[0]])
        else:
            found.append(cells[rows[0]])
    return found


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
