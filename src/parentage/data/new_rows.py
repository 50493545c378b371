"""New rows in the states of a table that is known: what was learned there applies to them.

The known table's recipe decides (:mod:`parentage.data.fitting`): its cut points cut the new
numbers, its states number the new labels, its values mean missing. One row is enough, a column may
be constant, other columns are ignored; a label the known table never had is refused, because
nothing is known about it. An array has no names: its columns are taken in order.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from parentage.data.columns import KEEPS_HOLES, fresh_label
from parentage.data.fitting import cells_for, codes_for, filled_rows, state_numbers
from parentage.data.formats import frame as frames
from parentage.data.formats import read_columns
from parentage.data.recipe import ColumnRecipe
from parentage.data.settings import Reading
from parentage.data.table import MISSING, Table
from parentage.errors import TableError
from parentage.files.source import Source

if TYPE_CHECKING:
    from collections.abc import Collection

    from parentage.data.formats.raw import RawTable

UNSEEN = "(unseen)"
"""The state of labels that the data learned from did not have, where there is one."""


def rows_like(
    known: Table,
    source: object,
    missing: str = "error",
    *,
    optional: Collection[str] = (),
    unseen: str | None = None,
) -> Table:
    r"""Read rows as the known table has them: its columns, in its order, with its states.

    Parameters
    ----------
    known
        The table whose states and cut points count.
    source
        A table, a data frame, an array or a path.
    missing
        How the known table was read: missing cells are refused (``"error"``), their rows left out
        (``"drop"``), in the state made for them (``"state"``), or filled with the state most
        frequent in the known table, the middle one of a column that was cut (``"mode"``), or kept
        as holes (``"pnal"``, ``"em"``).
    optional
        Columns that may be absent: all their cells are missing then. An array may do without all
        of them.
    unseen
        The state of labels that the known table never had, see :func:`with_unseen`; None refuses
        them.

    Raises
    ------
    TableError
        A column that is not there, a missing cell, or a label without a state.

    Examples
    --------
    >>> known = Table.from_columns({"smoker": ["yes", "no"], "cough": ["yes", "no"]})
    >>> rows_like(known, b"cough,smoker,age\nyes,no,70\n").to_codes().tolist()
    [[0], [1]]
    """
    if isinstance(source, Table):
        return _translated(known, source, missing, optional, unseen)
    settings = Reading() if known.recipe is None else known.recipe.settings
    raw = _named_as(known, source, settings, optional)
    columns = [_recipe_of(known, v, missing) for v in range(known.n_variables)]
    there = {column.name for column in raw.columns}
    lacking = [v for v, c in enumerate(columns) if c.name in optional and c.name not in there]
    codes = [
        np.zeros(raw.n_rows, np.int64)
        if v in lacking
        else codes_for(cells_for(raw, column, settings), column, settings.decimal, unseen)
        for v, column in enumerate(columns)
    ]
    rows = filled_rows(np.array(codes), columns, missing, raw)
    rows[lacking] = MISSING
    if not rows.shape[1]:
        raise TableError("no rows, or none without missing cells; at least one is needed")
    return Table(known.names, known.states, rows.astype(np.uint16), known.cuts)


def with_unseen(table: Table) -> tuple[Table, str]:
    """Return the table with one more state in every column, for labels it does not have."""
    label = UNSEEN
    while any(label in labels for labels in table.states):
        label = f"({label})"
    states = tuple((*labels, label) for labels in table.states)
    recipe = None if table.recipe is None else table.recipe.with_states(states)
    return Table(table.names, states, table.codes, table.cuts, recipe, table.repeats), label


def _recipe_of(known: Table, v: int, missing: str) -> ColumnRecipe:
    """Return how a column of the known table was made, or may have been."""
    name, labels = known.names[v], known.states[v]
    na: tuple[str, ...] = ()
    if known.recipe is not None:
        column = known.recipe.column(name)
        if missing == known.recipe.settings.missing:
            return column
        na = column.na
    fill = _state_for_missing(known, v, missing)
    return ColumnRecipe(name, labels, known.cuts.get(name), na=na, fill=fill)


def _state_for_missing(known: Table, v: int, missing: str) -> str | None:
    """Return the state of a missing cell, as the known table would have it."""
    if missing not in ("mode", "state"):
        return None
    known.refuse_holes("filling in what is usual")
    name, labels = known.names[v], known.states[v]
    counts = known.counted(known.column(v), len(labels))
    if missing == "mode" and name in known.cuts:
        return labels[int(np.searchsorted(np.cumsum(counts), known.n_rows // 2, side="right"))]
    if missing == "mode":
        return labels[int(counts.argmax())]
    if missing == "state" and labels[-1] == fresh_label(labels[:-1]):
        return labels[-1]
    return None


def _named_as(
    known: Table, source: object, settings: Reading, optional: Collection[str]
) -> RawTable:
    """Read the columns there are; those of an array are named as the known ones."""
    if isinstance(source, str | bytes | os.PathLike | Source):
        return read_columns(source, replace(settings, format=None, sheet=None))
    raw = frames.read(source)
    if not isinstance(source, np.ndarray):
        return raw
    names = [name for name in known.names if name not in optional]
    if len(raw.columns) != len(names):
        names = list(known.names)
    if len(raw.columns) != len(names):
        raise TableError(
            f"an array of {len(raw.columns)} columns, but {len(names)} were learned from"
        )
    columns = zip(raw.columns, names, strict=True)
    return replace(raw, columns=tuple(column.renamed(name) for column, name in columns))


def _translated(
    known: Table, table: Table, missing: str, optional: Collection[str], unseen: str | None
) -> Table:
    if not table.n_rows:
        raise TableError("no rows; at least one is needed")
    if missing not in KEEPS_HOLES:
        needed = [name for name in known.names if name in table.names or name not in optional]
        table.select(needed).refuse_holes("what was learned from complete rows")
    codes = np.full((known.n_variables, table.stored_rows), MISSING, np.int64)
    for v, (name, labels) in enumerate(zip(known.names, known.states, strict=True)):
        if name in optional and name not in table.names:
            continue
        column = table.column(table.index(name))
        there = column != MISSING
        texts = table.states[table.index(name)]
        codes[v, there] = state_numbers(name, labels, texts, column[there], unseen)
    rows = codes.astype(np.uint16)
    return Table(known.names, known.states, rows, known.cuts, repeats=table.repeats)
