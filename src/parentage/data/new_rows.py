"""New rows in the states of a table that is known: what was learned there applies to them.

The cut points of the known table cut the new numbers, its states number the new labels. One row is
enough, a column may be constant, other columns are ignored; a label the known table never had is
refused, because nothing is known about it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from parentage.data.columns import numbers_of
from parentage.data.discretize import codes_of
from parentage.data.formats import frame as frames
from parentage.data.formats import read_columns
from parentage.data.formats.raw import number_label
from parentage.data.table import Table
from parentage.errors import TableError, did_you_mean
from parentage.files.source import Source

if TYPE_CHECKING:
    import numpy.typing as npt

    from parentage.data.formats.raw import RawColumn, RawTable


def rows_like(known: Table, source: object) -> Table:
    r"""Read rows as the known table has them: its columns, in its order, with its states.

    Parameters
    ----------
    known
        The table whose states and cut points count.
    source
        A table, a data frame, an array or a path.

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
        return _translated(known, source)
    if isinstance(source, str | bytes | os.PathLike | Source):
        raw = read_columns(source)
    else:
        raw = frames.read(source)
    by_name = {column.name: column for column in raw.columns}
    codes = [
        _codes(known, name, labels, _column(by_name, name), raw)
        for name, labels in zip(known.names, known.states, strict=True)
    ]
    return Table(known.names, known.states, np.array(codes, np.uint16), known.cuts)


def _column(by_name: dict[str, RawColumn], name: str) -> RawColumn:
    if name not in by_name:
        raise TableError(f"no column {name!r}; {did_you_mean(name, by_name)}")
    return by_name[name]


def _codes(
    known: Table, name: str, labels: tuple[str, ...], column: RawColumn, raw: RawTable
) -> npt.NDArray[np.int64]:
    """Number the cells of one column; a missing one is refused."""
    cells, numbers = numbers_of(column)
    absent = np.flatnonzero(cells.codes < 0)
    if len(absent):
        raise TableError(f"column {name!r}, {raw.place(int(absent[0]))}: the cell is missing")
    if name in known.cuts:
        if numbers is None:
            raise TableError(f"column {name!r} was cut into states, but holds text now")
        return codes_of(numbers, known.cuts[name])[cells.codes]
    texts = [v if isinstance(v, str) else number_label(v) for v in cells.values]
    return _state_numbers(name, labels, texts, cells.codes)


def _translated(known: Table, table: Table) -> Table:
    codes = [
        _state_numbers(
            name, labels, table.states[table.index(name)], table.codes[table.index(name)]
        )
        for name, labels in zip(known.names, known.states, strict=True)
    ]
    return Table(known.names, known.states, np.array(codes, np.uint16), known.cuts)


def _state_numbers(
    name: str,
    labels: tuple[str, ...],
    texts: list[str] | tuple[str, ...],
    codes: npt.NDArray[np.integer],
) -> npt.NDArray[np.int64]:
    number = {label: k for k, label in enumerate(labels)}
    for value in np.unique(codes):
        if texts[value] not in number:
            raise TableError(
                f"column {name!r} has the state {texts[value]!r}, which was never seen in the "
                f"data learned from; {did_you_mean(texts[value], labels)}"
            )
    translate = np.array([number.get(text, 0) for text in texts], np.int64)
    numbers: npt.NDArray[np.int64] = translate[codes]
    return numbers
