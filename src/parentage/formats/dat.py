"""Read blip's .dat tables: names, cardinalities, then rows of codes, all separated by blanks.

One of the doors to the path. The states of a column are declared: 0, 1, …, cardinality − 1, also
those that never occur. ``?`` is a missing cell. An older dialect puts the number of variables
before the names and the number of rows before the rows; both lines are recognised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parentage.errors import TableError
from parentage.formats.delimited import read as read_delimited
from parentage.formats.raw import RawColumn, RawTable
from parentage.table import MAX_STATES

if TYPE_CHECKING:
    from collections.abc import Callable

_HEAD = 1_000_000
_Line = tuple[int, list[str]]


def looks_like_dat(text: str) -> bool:
    """Tell whether the first lines are names, cardinalities and codes below them."""
    lines = _head(text)
    if not _has_shape(lines) or any(separator in text.split("\n", 1)[0] for separator in ",;\t|"):
        return False
    _, (_, cards), *rows = _without_counts(lines)
    limits = [int(card) for card in cards]
    return len(limits) > 1 and all(
        len(row) == len(limits) and all(map(_is_code, row, limits)) for _, row in rows
    )


def has_dat_shape(text: str) -> bool:
    """Tell whether at least the first lines can be names and cardinalities."""
    return _has_shape(_head(text))


def read(text: str) -> RawTable:
    """Read a .dat table."""
    lines = _head(text)
    if not lines:
        raise TableError("the file is empty: a .dat table starts with a line of names")
    if not _has_shape(lines):
        raise TableError(
            f"line {lines[min(1, len(lines) - 1)][0]}: a .dat table has its names in the first "
            "line and as many whole numbers, the cardinalities, in the second; "
            "type --format csv if it is another kind of table"
        )
    (_, names), (_, cards), *rows = _without_counts(lines)
    if not rows:
        raise TableError("the .dat table has names and cardinalities but no data rows")
    first = rows[0][0]
    if len(rows[0][1]) != len(names):
        raise TableError(f"line {first} has {len(rows[0][1])} codes for {len(names)} columns")
    body = text.split("\n", first - 1)[-1]
    raw = read_delimited("\n" * (first - 1) + body, header=False, separator=" ")
    columns = (
        _declare(name, int(card), column, raw.place)
        for name, card, column in zip(names, cards, raw.columns, strict=True)
    )
    return RawTable(tuple(columns), raw.n_rows, raw.place)


def _declare(name: str, card: int, column: RawColumn, place: Callable[[int], str]) -> RawColumn:
    if not 1 <= card <= MAX_STATES:
        raise TableError(f"column {name!r} declares {card} states; 1 to {MAX_STATES} are possible")
    states = np.full(len(column.values) + 1, -1, np.int32)
    for i, value in enumerate(column.values):
        label = str(value)
        if not _is_code(label, card):
            row = int(np.flatnonzero(column.codes == i)[0])
            raise TableError(
                f"column {name!r}, {place(row)}: {label!r} is no code of its {card} states; "
                f"codes are 0 … {card - 1} (or type --format csv)"
            )
        states[i] = int(label)
    labels = [str(code) for code in range(card)]
    return RawColumn(name, states[column.codes], labels, declared=True, numeric=False)


def _head(text: str) -> list[_Line]:
    """Return the first lines that are not blank, with their numbers; a cut one is left out."""
    lines = text[:_HEAD].split("\n")
    if len(text) > _HEAD:
        lines.pop()
    return [(i, line.split()) for i, line in enumerate(lines[:60], 1) if line.strip()]


def _has_shape(lines: list[_Line]) -> bool:
    lines = _without_counts(lines)
    if len(lines) < 2:
        return False
    (_, names), (_, cards) = lines[:2]
    return len(names) == len(cards) and all(map(_is_whole, cards)) and "0" not in cards


def _without_counts(lines: list[_Line]) -> list[_Line]:
    """Leave out the two counts of the older dialect."""
    if len(lines) < 4 or not all(
        len(lines[i][1]) == 1 and _is_whole(lines[i][1][0]) for i in (0, 3)
    ):
        return lines
    n_variables = int(lines[0][1][0])
    if len(lines[1][1]) == len(lines[2][1]) == n_variables > 1:
        return [*lines[1:3], *lines[4:]]
    return lines


def _is_whole(token: str) -> bool:
    return token.isascii() and token.isdigit() and len(token) < 10


def _is_code(cell: str, cardinality: int) -> bool:
    return cell == "?" or (_is_whole(cell) and int(cell) < cardinality)
