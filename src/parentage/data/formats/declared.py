"""Read ARFF (Weka) and .dat (blip) tables, whose headers declare the states. Doors to the path.

States are believed, in the order of the header, used or not.

*ARFF*: a header that declares every column, then comma-separated rows. ``numeric``, ``real`` and
``integer`` make a column continuous whatever its values. Other types (string, date, relational) can
only be dropped. Case does not matter in keywords, ``%`` starts a comment line, names and values may
be quoted with ``'`` or ``"`` and a backslash inside quotes protects the next character. An unquoted
``?`` is a missing cell.

*.dat*: names, cardinalities, then rows of codes, all separated by blanks. The states of a column
are 0, 1, …, cardinality − 1. ``?`` is a missing cell. An older dialect puts the number of variables
before the names and the number of rows before the rows; both lines are recognised.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from parentage.data.columns import Column, RawTable
from parentage.data.formats.delimited import read as read_delimited
from parentage.data.table import MAX_STATES, as_numbers
from parentage.errors import TableError, Way, did_you_mean
from parentage.files.detect import ARFF_DECLARATION, first_lines, has_shape, is_code, without_counts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
_NAME = re.compile(rf"\s+({_QUOTED.pattern}|[^\s{{]+)\s*(.*)")
_CELL = re.compile(rf"\s*({_QUOTED.pattern}|[^,]*)\s*(,|\Z)")
_NUMERIC = ("numeric", "real", "integer")
_OTHER = ("string", "date", "relational")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


@dataclass
class _Attribute:
    """A declared column while its rows are read; ``states`` of a numeric one is None."""

    name: str
    states: dict[str, int] | None
    refused: str | None = None
    codes: list[int] = field(default_factory=list)
    position: dict[str, int] = field(default_factory=dict)

    def add(self, cell: str | None, line: int) -> None:
        """Append one cell; None is missing."""
        if cell is None:
            self.codes.append(-1)
        elif self.states is None:
            self.codes.append(self.position.setdefault(cell, len(self.position)))
        elif cell in self.states:
            self.codes.append(self.states[cell])
        else:
            raise TableError(
                f"column {self.name!r}, line {line}: {cell!r} is not among the declared values; "
                f"{did_you_mean(cell, self.states)}"
            )

    def column(self, lines: list[int]) -> Column:
        codes = np.array(self.codes, np.int32)
        if self.states is not None:
            return Column(self.name, codes, list(self.states), declared=True, numeric=False)
        cells = list(self.position)
        if self.refused is not None:
            return Column(self.name, codes, cells, refused=self.refused)
        numbers = as_numbers(cells)
        if numbers is None:
            wrong = next(i for i, cell in enumerate(cells) if as_numbers([cell]) is None)
            raise TableError(
                f"column {self.name!r}, line {lines[self.codes.index(wrong)]}: {cells[wrong]!r} is "
                "not a number, but the column is declared numeric"
            )
        return Column(self.name, codes, numbers, numeric=True)


def read_arff(text: str) -> RawTable:
    """Read an ARFF table."""
    lines = _significant(text)
    attributes = _read_header(lines)
    line_numbers: list[int] = []
    for number, line in lines:
        cells = _cells(line, number)
        if len(cells) != len(attributes):
            raise TableError(
                f"line {number} has {len(cells)} cell{'' if len(cells) == 1 else 's'}, the header "
                f"declares {len(attributes)} attributes",
                "correct the line",
                "quote a value that holds a comma",
            )
        for attribute, cell in zip(attributes, cells, strict=True):
            attribute.add(cell, number)
        line_numbers.append(number)
    columns = tuple(attribute.column(line_numbers) for attribute in attributes)
    return RawTable(columns, len(line_numbers), lambda row: f"line {line_numbers[row]}")


def _significant(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if stripped and stripped[0] != "%":
            yield number, stripped


def _read_header(lines: Iterator[tuple[int, str]]) -> list[_Attribute]:
    attributes: list[_Attribute] = []
    for number, line in lines:
        match = ARFF_DECLARATION.match(line)
        keyword = match[1].lower() if match else ""
        if keyword == "data":
            if not attributes:
                raise TableError(f"line {number}: @data without any @attribute before it")
            return attributes
        if keyword == "attribute":
            attributes.append(_attribute(line[len("@attribute") :], number))
        elif keyword != "relation":
            raise TableError(
                f"line {number}: {line[:40]!r} is not an ARFF declaration; "
                "@relation, @attribute or @data is expected"
            )
    raise TableError("the ARFF file has no @data line, so no rows")


def _attribute(declaration: str, number: int) -> _Attribute:
    match = _NAME.fullmatch(declaration)
    if match is None:
        raise TableError(f"line {number}: @attribute without a name; write @attribute NAME TYPE")
    name, kind = _unquote(match[1]), match[2]
    if kind.startswith("{"):
        return _Attribute(name, _states(name, kind, number))
    word = kind.split("%")[0].split()[0].lower() if kind.split("%")[0].split() else ""
    if word in _NUMERIC:
        return _Attribute(name, None)
    if word in _OTHER:
        return _Attribute(name, None, f"is of ARFF type {word}, which has no states")
    has = f"has the unknown type {word!r}" if word else "has no type"
    raise TableError(
        f"line {number}: attribute {name!r} {has}; "
        "known: numeric, real, integer or a list of values {a, b, …}"
    )


def _states(name: str, kind: str, number: int) -> dict[str, int]:
    inside = _closed(kind)
    if inside is None:
        raise TableError(f"line {number}: the values of attribute {name!r} lack a closing '}}'")
    labels = [label for label in _split(inside) if label is not None]
    states = {label: code for code, label in enumerate(labels)}
    if len(states) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise TableError(f"line {number}: attribute {name!r} declares the value {twice!r} twice")
    return states


def _closed(kind: str) -> str | None:
    """Return what is between the braces; a brace inside quotes does not close."""
    at = 1
    while at < len(kind):
        if kind[at] == "}":
            return kind[1:at]
        quoted = _QUOTED.match(kind, at)
        at = quoted.end() if quoted else at + 1
    return None


def _cells(line: str, number: int) -> list[str | None]:
    if line[0] == "{":
        raise TableError(
            f"line {number}: sparse ARFF rows ({{index value, …}}) are not read; "
            "write the table with all its cells (in Weka: SparseToNonSparse)"
        )
    if "'" in line or '"' in line:
        return _split(line)
    return [None if cell in ("?", "") else cell for cell in map(str.strip, line.split(","))]


def _split(line: str) -> list[str | None]:
    """Split at commas outside quotes; an unquoted ``?`` or nothing is None."""
    cells: list[str | None] = []
    at, more = 0, True
    while more and (match := _CELL.match(line, at)):
        cell = match[1].rstrip()
        cells.append(None if cell in ("?", "") else _unquote(cell))
        at, more = match.end(), match[2] == ","
    return cells


def _unquote(token: str) -> str:
    if len(token) < 2 or token[0] not in "'\"" or token[-1] != token[0]:
        return token
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), token[1:-1])


def read_dat(text: str) -> RawTable:
    """Read a .dat table."""
    lines = first_lines(text)
    if not lines:
        raise TableError("the file is empty: a .dat table starts with a line of names")
    if not has_shape(lines):
        raise TableError(
            f"line {lines[min(1, len(lines) - 1)][0]}: a .dat table has its names in the first "
            "line and as many whole numbers, the cardinalities, in the second",
            Way("format", "csv", "if it is another kind of table"),
        )
    (_, names), (_, cards), *rows = without_counts(lines)
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
    return RawTable(tuple(columns), raw.stored_rows, raw.place)


def _declare(name: str, card: int, column: Column, place: Callable[[int], str]) -> Column:
    if not 1 <= card <= MAX_STATES:
        raise TableError(f"column {name!r} declares {card} states; 1 to {MAX_STATES} are possible")
    states = np.full(len(column.values) + 1, -1, np.int32)
    for i, value in enumerate(column.values):
        label = str(value)
        if label == "?":
            continue
        if not is_code(label, card):
            row = int(np.flatnonzero(column.to_codes() == i)[0])
            raise TableError(
                f"column {name!r}, {place(row)}: {label!r} is not a code of its {card} "
                f"states (0 to {card - 1})",
                Way("format", "csv", "if it is not a .dat table"),
            )
        states[i] = int(label)
    labels = [str(code) for code in range(card)]
    return Column(name, states[column.to_codes()], labels, declared=True, numeric=False)
