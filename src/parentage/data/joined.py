"""A table and one more column, given apart as scikit-learn does: X and y.

Arrays that cannot be a table are refused in scikit-learn's words, which its users and its own
checks look for.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from parentage.data.counts import with_weights
from parentage.data.formats import frame as frames
from parentage.data.formats.raw import RawTable
from parentage.data.table import Table
from parentage.errors import InputError, TableError, Way

if TYPE_CHECKING:
    from collections.abc import Collection


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
            raise TableError(f"y has shape {cells.shape}; it is one column, a value per row")
        raw = frames.read(cells.reshape(-1, 1))
    return replace(raw, columns=(raw.columns[0].renamed(name),))


def joined(X: object, y: object, name: str, names: tuple[str, ...] | None) -> RawTable:
    """Read X and y as one table; the columns of an array get the names given."""
    if isinstance(X, Table | str | bytes | os.PathLike):
        raise InputError("y goes with a frame or an array; of a table or file, name the column",
                         Way("target", ...))  # fmt: skip
    raw, column = frames.read(X), joined_column(y, name)
    if raw.n_rows != column.n_rows:
        raise TableError(f"X has {raw.n_rows} rows and y has {column.n_rows}")
    if names is not None and isinstance(X, np.ndarray):
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
            "sample_weight goes with a frame or an array; a Table says in `repeats` how often its "
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
