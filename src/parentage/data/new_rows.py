"""New rows in the states of a table that is known: what was learned there applies to them.

The cut points of the known table cut the new numbers, its states number the new labels. One row is
enough, a column may be constant, other columns are ignored; a label the known table never had is
refused, because nothing is known about it. An array has no names: its columns are taken in order.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from parentage.data.columns import KEEPS_HOLES, fresh_label, numbers_of
from parentage.data.discretize import codes_of
from parentage.data.formats import frame as frames
from parentage.data.formats import read_columns
from parentage.data.formats.raw import number_label
from parentage.data.table import MISSING, Table, as_numbers
from parentage.errors import TableError, did_you_mean
from parentage.files.source import Source

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy.typing as npt

    from parentage.data.formats.raw import RawColumn, RawTable

ABSENT = -1
"""The code of a missing cell."""

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
    >>> rows_like(known, b"cough,smoker,age\nyes,no,70\n").codes.tolist()
    [[0], [1]]
    """
    if isinstance(source, Table):
        return _translated(known, source, missing, optional, unseen)
    raw = _named_as(known, source, optional)
    there = {column.name for column in raw.columns}
    codes = np.array(
        [
            _codes(known, v, _column(raw, name), missing, raw, unseen)
            if name in there or name not in optional
            else np.full(raw.n_rows, MISSING, np.int64)
            for v, name in enumerate(known.names)
        ]
    )
    if missing == "drop":
        codes = codes[:, (codes != ABSENT).all(axis=0)]
    if not codes.shape[1]:
        raise TableError("no rows, or none without missing cells; at least one is needed")
    return Table(known.names, known.states, codes.astype(np.uint16), known.cuts)


def with_unseen(table: Table) -> Table:
    """Return the table with one more state in every column, for labels that it does not have."""
    states = tuple((*labels, UNSEEN) for labels in table.states)
    return Table(table.names, states, table.codes, table.cuts)


def _named_as(known: Table, source: object, optional: Collection[str]) -> RawTable:
    """Read the columns there are; those of an array are named as the known ones."""
    if isinstance(source, str | bytes | os.PathLike | Source):
        return read_columns(source)
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
    return replace(raw, columns=tuple(replace(column, name=name) for column, name in columns))


def _column(raw: RawTable, name: str) -> RawColumn:
    found = [column for column in raw.columns if column.name == name]
    if not found:
        names = [column.name for column in raw.columns]
        raise TableError(f"no column {name!r}; {did_you_mean(name, names)}")
    if len(found) > 1:
        raise TableError(f"{len(found)} columns are named {name!r}; rename all but one")
    if found[0].refused is not None:
        raise TableError(f"column {name!r} {found[0].refused}")
    return found[0]


def _codes(
    known: Table,
    v: int,
    column: RawColumn,
    missing: str,
    raw: RawTable,
    unseen: str | None,
) -> npt.NDArray[np.int64]:
    """Number the cells of one column; with ``missing="drop"`` a missing one stays absent."""
    name, labels = known.names[v], known.states[v]
    cells, numbers = numbers_of(column)
    absent = cells.codes < 0
    codes = np.full(raw.n_rows, ABSENT, np.int64)
    if absent.any() and missing != "drop":
        place = raw.place(int(np.flatnonzero(absent)[0]))
        codes[absent] = _state_for_missing(known, v, missing, place)
    present = cells.codes[~absent]
    if not len(present):
        return codes
    if name in known.cuts:
        if numbers is None:
            raise TableError(f"column {name!r} was cut into states, but holds text now")
        codes[~absent] = codes_of(numbers, known.cuts[name])[present]
        return codes
    texts = [v if isinstance(v, str) else number_label(v) for v in cells.values]
    codes[~absent] = _state_numbers(name, labels, texts, present, unseen)
    return codes


def _state_for_missing(known: Table, v: int, missing: str, place: str) -> int:
    """Return the state of a missing cell, as the known table would have it."""
    if missing in KEEPS_HOLES:
        return MISSING
    known.refuse_holes("filling in what is usual")
    name, labels = known.names[v], known.states[v]
    counts = np.bincount(known.codes[v], minlength=len(labels))
    if missing == "mode" and name in known.cuts:
        return int(np.searchsorted(np.cumsum(counts), known.n_rows // 2, side="right"))
    if missing == "mode":
        return int(counts.argmax())
    if missing == "state" and labels[-1] == fresh_label(labels[:-1]):
        return len(labels) - 1
    none = " and none was in the data learned from" if missing == "state" else ""
    raise TableError(f"column {name!r}, {place}: the cell is missing{none}")


def _translated(
    known: Table, table: Table, missing: str, optional: Collection[str], unseen: str | None
) -> Table:
    if not table.n_rows:
        raise TableError("no rows; at least one is needed")
    if missing not in KEEPS_HOLES:
        table.select(
            name for name in known.names if name in table.names or name not in optional
        ).refuse_holes("what was learned from complete rows")
    codes = np.full((known.n_variables, table.n_rows), MISSING, np.int64)
    for v, (name, labels) in enumerate(zip(known.names, known.states, strict=True)):
        if name in optional and name not in table.names:
            continue
        column = table.codes[table.index(name)]
        there = column != MISSING
        texts = table.states[table.index(name)]
        codes[v, there] = _state_numbers(name, labels, texts, column[there], unseen)
    return Table(known.names, known.states, codes.astype(np.uint16), known.cuts)


def _state_numbers(
    name: str,
    labels: Sequence[str],
    texts: Sequence[str],
    codes: npt.NDArray[np.integer],
    unseen: str | None,
) -> npt.NDArray[np.int64]:
    """Number labels as the known column does: the same text, or else the same number."""
    number = {label: k for k, label in enumerate(labels)}
    values = as_numbers([label for label in labels if label != UNSEEN])
    by_value = {} if values is None else {float(x): k for k, x in reversed([*enumerate(values)])}
    translate = np.full(len(texts), ABSENT, np.int64)
    for code in np.unique(codes):
        text = texts[code]
        alike = as_numbers([text]) if text not in number and by_value else None
        found = number.get(text) if alike is None else by_value.get(float(alike[0]))
        if found is None and unseen is not None:
            found = number[unseen]
        if found is None:
            raise TableError(
                f"column {name!r} has the state {text!r}, which was never seen in the data "
                f"learned from ({did_you_mean(text, labels)}); declare all states there, "
                "e.g. as a pandas Categorical or a polars Enum"
            )
        translate[code] = found
    numbers: npt.NDArray[np.int64] = translate[codes]
    return numbers
