"""From raw columns to a table: the one place that decides what cells mean.

The stage between reader and table, the same for every source, in this order:

1. *Drop* the columns named.
2. *Numbers.* A column is numeric when the source declares it so, or when nothing is declared and
   all its values are numbers; ``NA``, ``N/A``, ``NaN`` and ``null`` among numbers are missing.
3. *Missing* cells: refused (``error``), their rows left out (``drop``), a state of their own
   (``state``), filled (``mode``: with the mode, ties to the first in state order; in a
   continuous column with the median of its observed values), or kept as holes for the methods
   that can deal with them (``pnal``, ``em``).
4. *Continuous* columns: numeric by declaration, or undeclared with a number that is not whole or
   with more than 20 distinct numbers. They are cut into states (:mod:`parentage.data.discretize`),
   or refused when no rule is given.
5. *States*: as declared, used or not; else the observed labels, sorted (numbers by value).

A column with one observed state is constant: a warning. So is one whose values are all distinct.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import numpy.typing as npt

from parentage.data.discretize import Discretizer, codes_of, interval_labels, median
from parentage.data.formats.raw import CellCodes, Numbers, RawColumn, RawTable, number_label
from parentage.data.table import MISSING, Table, as_numbers, sorted_states
from parentage.errors import DataWarning, InputError, TableError, Way, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Missing = Literal["error", "drop", "state", "mode", "pnal", "em"]

KEEPS_HOLES = ("pnal", "em")
"""Ways to treat missing cells that leave them in the table."""

MAX_NUMERIC_STATES = 20
"""A column of more distinct numbers than this is continuous."""

_NOT_AVAILABLE = ("na", "n/a", "nan", "null")
_DECIMAL_COMMA = re.compile(r"[-+]?\d+(,\d+)?")
_FEW_ROWS = 5  # of so few, all values may well differ


@dataclass(frozen=True)
class _Column:
    """A raw column and, when it is numeric, the number of each of its values."""

    raw: RawColumn
    numbers: Numbers | None

    @property
    def present(self) -> npt.NDArray[np.bool_]:
        return self.raw.codes >= 0

    def labels(self) -> list[str]:
        values = self.raw.values
        if isinstance(values, np.ndarray):
            return [number_label(value) for value in values]
        return list(values)


@dataclass(frozen=True)
class _Coded:
    """A finished column."""

    states: Sequence[str]
    codes: npt.NDArray[np.integer]
    cuts: tuple[float, ...] | None = None


def build_table(
    raw: RawTable,
    *,
    drop: Iterable[str] = (),
    missing: str = "error",
    discretize: str | None = None,
) -> Table:
    """Turn raw columns into a table of states; see the module's steps.

    Parameters
    ----------
    raw
        What a reader found.
    drop
        Names of columns to leave out.
    missing
        ``"error"``, ``"drop"``, ``"state"``, ``"mode"``, ``"pnal"`` or ``"em"``.
    discretize
        ``"median"``, ``"quantile:K"`` or ``"width:K"`` for continuous columns; None refuses them.
    """
    if missing not in get_args(Missing):
        raise InputError(
            f"is not a way to treat missing cells; {did_you_mean(missing, get_args(Missing))}",
            about=Way("missing", missing),
        )
    rule = None if discretize is None else Discretizer.parse(discretize)
    _check_rows(raw.n_rows)
    columns = [_with_numbers(column) for column in _kept(raw.columns, drop)]
    if missing == "error":
        _refuse_missing(columns, raw)
    elif missing == "drop":
        columns = _complete_rows(columns)
    continuous = [_is_continuous(column) for column in columns]
    if rule is None:
        _refuse_continuous([c for c, cut in zip(columns, continuous, strict=True) if cut])
    coded = [
        _cut(column, rule, missing) if rule is not None and cut else _label(column, missing)
        for column, cut in zip(columns, continuous, strict=True)
    ]
    names = [column.raw.name for column in columns]
    table = Table(
        tuple(names),
        tuple(tuple(column.states) for column in coded),
        np.array([column.codes.astype(np.uint16) for column in coded]),
        {n: c.cuts for n, c in zip(names, coded, strict=True) if c.cuts is not None},
    )
    _check_variation(table)
    _warn_about_labels(table, columns)
    return table


def _kept(columns: Sequence[RawColumn], drop: Iterable[str]) -> list[RawColumn]:
    names = [column.name for column in columns]
    dropped = {drop} if isinstance(drop, str) else set(drop)
    for name in dropped:
        if name not in names:
            raise TableError(f"no column {name!r} to drop; {did_you_mean(name, names)}")
    kept = [column for column in columns if column.name not in dropped]
    seen: dict[str, int] = {}
    for column in kept:
        at = next(i for i, c in enumerate(columns, 1) if c is column)
        if not column.name:
            raise TableError(f"column {at} has no name", _leave_out(""), "name it")
        if column.name in seen:
            raise TableError(
                f"two columns are named {column.name!r} (columns {seen[column.name]} and {at})",
                "rename one of them",
            )
        seen[column.name] = at
        if column.refused is not None:
            raise TableError(f"column {column.name!r} {column.refused}", _leave_out(column.name))
    if len(kept) < 2:
        raise TableError(f"{len(kept)} of {len(columns)} columns are left; at least 2 are needed")
    return kept


def _check_rows(n_rows: int) -> None:
    if n_rows < 2:
        found = "one data row" if n_rows == 1 else "no data rows, only column names"
        raise TableError(f"the table has {found}; at least 2 rows are needed")


def _with_numbers(raw: RawColumn) -> _Column:
    if raw.declared or raw.numeric is False:
        return _Column(raw, None)
    if isinstance(raw.values, np.ndarray):
        numbers = raw.values.astype(np.float64)
        if not np.isfinite(numbers).all():
            raise TableError(
                f"column {raw.name!r} holds infinite numbers", _leave_out(raw.name), "replace them"
            )
        return _Column(raw, numbers)
    available = [not _is_not_available(label) for label in raw.values]
    labels = [label for label, kept in zip(raw.values, available, strict=True) if kept]
    found = as_numbers(labels) if labels else None
    if found is None or all(available):
        return _Column(raw, found)
    new_code = np.full(len(available) + 1, -1, np.int32)
    new_code[:-1][available] = np.arange(len(labels))
    return _Column(replace(raw, values=labels, codes=new_code[raw.codes]), found)


def numbers_of(raw: RawColumn) -> tuple[RawColumn, Numbers | None]:
    """Return a column with words for missing numbers blanked, and its values as numbers.

    None if they are not numbers.
    """
    column = _with_numbers(raw)
    return column.raw, column.numbers


def _is_not_available(label: str) -> bool:
    return len(label) <= 4 and label.casefold() in _NOT_AVAILABLE


def _refuse_missing(columns: Sequence[_Column], raw: RawTable) -> None:
    gaps = [(c, np.flatnonzero(~c.present)) for c in columns]
    gaps = [(column, rows) for column, rows in gaps if len(rows)]
    if not gaps:
        return
    column, rows = min(gaps, key=lambda gap: int(gap[1][0]))
    total = sum(len(rows) for _, rows in gaps)
    where = f"column {column.raw.name!r}, {raw.place(int(rows[0]))}"
    more = f" ({total} missing cells in {len(gaps)} columns)" if total > 1 else ""
    raise TableError(
        f"{where}: the cell is missing{more}",
        Way("missing", "pnal", "to score every family on the rows where it is complete"),
        Way("missing", "em", "to complete the data by expectation maximisation"),
        Way("missing", "drop", "to leave such rows out"),
        Way("missing", "state", "to make missing a state"),
        Way("missing", "mode", "to fill in the mode"),
        _leave_out(column.raw.name, effect="to leave out the column"),
    )


def _complete_rows(columns: Sequence[_Column]) -> list[_Column]:
    complete = np.logical_and.reduce([column.present for column in columns])
    left = int(complete.sum())
    if left < 2:
        emptiest = min(columns, key=lambda column: int(column.present.sum()))
        raise TableError(
            f"leaves {left} of {len(complete)} rows, and at least 2 are needed",
            Way("missing", "pnal"),
            Way("missing", "mode"),
            Way("missing", "state"),
            _leave_out(emptiest.raw.name, effect="to leave out the column with most gaps"),
            about=Way("missing", "drop"),
        )
    if left == len(complete):
        return list(columns)
    return [replace(c, raw=replace(c.raw, codes=c.raw.codes[complete])) for c in columns]


def _is_continuous(column: _Column) -> bool:
    if column.numbers is None or column.raw.numeric is not None:
        return column.raw.numeric is True
    observed = column.numbers[_observed_values(column.raw.codes)]
    whole = bool((observed == np.floor(observed)).all())
    return not whole or len(np.unique(observed)) > MAX_NUMERIC_STATES


def _observed_values(codes: CellCodes) -> npt.NDArray[np.int64]:
    """Return which values occur, as rising codes."""
    return np.flatnonzero(np.bincount(codes[codes >= 0]))


def _refuse_continuous(columns: Sequence[_Column]) -> None:
    if not columns:
        return
    first, *others = columns
    name, numbers = first.raw.name, first.numbers
    distinct = 0 if numbers is None else len(np.unique(numbers))
    example = f", such as {number_label(numbers.min())}" if numbers is not None and distinct else ""
    more = ", ".join(column.raw.name for column in others[:8]) + (", …" if others[8:] else "")
    also = f" (so are {len(others)} others: {more})" if others else ""
    raise TableError(
        f"column {name!r} is continuous: {distinct} distinct numbers{example}{also}",
        Way("discretize", "median", "(or quantile:K, width:K) to cut such columns into states"),
        _leave_out(name),
    )


def _cut(column: _Column, rule: Discretizer, missing: str) -> _Coded:
    """Cut a continuous column into states."""
    numbers = np.empty(0) if column.numbers is None else column.numbers
    codes, present = column.raw.codes, column.present
    observed = numbers[codes[present]]
    if not len(observed):
        return _without_values(column, missing)
    cuts = rule.cuts(observed)
    states = interval_labels(cuts) if cuts else [number_label(observed[0])]
    filler = int(codes_of(np.array([median(observed)]), cuts)[0])
    if missing == "state" and not present.all():
        filler = len(states)
        states = [*states, fresh_label(states)]
    elif missing in KEEPS_HOLES:
        filler = MISSING
    return _Coded(states, np.append(codes_of(numbers, cuts), filler)[codes], cuts)


def _label(column: _Column, missing: str) -> _Coded:
    """Take the labels of a column as its states."""
    codes, labels = column.raw.codes, column.labels()
    if not column.present.any():
        return _without_values(column, missing)
    if column.raw.declared:
        states, new_code = labels, np.arange(len(labels))
    else:
        observed = _observed_values(codes)
        states = sorted_states(labels[code] for code in observed)
        rank = {label: code for code, label in enumerate(states)}
        new_code = np.array([rank.get(label, 0) for label in labels])
    if len(set(states)) < len(states):
        raise TableError(f"column {column.raw.name!r} has two states with the same label")
    counts = np.bincount(new_code[codes[column.present]], minlength=len(states))
    filler = int(counts.argmax())
    if missing == "state" and not column.present.all():
        filler = len(states)
        states = [*states, fresh_label(states)]
    elif missing in KEEPS_HOLES:
        filler = MISSING
    return _Coded(states, np.append(new_code, filler)[codes])


def _without_values(column: _Column, missing: str) -> _Coded:
    if missing != "state":
        name = column.raw.name
        raise TableError(f"column {name!r} has no values at all", _leave_out(name))
    states = column.labels() if column.raw.declared else []
    return _Coded(
        [*states, fresh_label(states)], np.full(len(column.raw.codes), len(states), np.int64)
    )


def fresh_label(states: Sequence[str]) -> str:
    """Return a label for missing cells that no state has."""
    number, label = 1, "missing"
    while label in states:
        number += 1
        label = f"missing {number}"
    return label


def _check_variation(table: Table) -> None:
    constant = table.constant
    if table.n_variables - len(constant) < 2:
        raise TableError(
            f"fewer than 2 columns vary; constant: {_shown(constant)}. At least 2 columns with two "
            "observed states are needed"
        )
    if constant:
        cut = [name for name in constant if table.cuts.get(name)]
        reason = f" ({_shown(cut)} after discretisation)" if cut else ""
        warnings.warn(
            DataWarning(
                f"{len(constant)} constant column{'s' if len(constant) > 1 else ''}: "
                f"{_shown(constant)}{reason}; a constant has no parents and is never a parent"
            ),
            stacklevel=4,
        )


def _warn_about_labels(table: Table, columns: Sequence[_Column]) -> None:
    distinct = [
        name
        for name, codes in zip(table.names, table.codes, strict=True)
        if _all_distinct(codes[codes != MISSING])
    ]
    if distinct:
        count = "observed" if table.has_holes else f"{table.n_rows}"
        warnings.warn(
            DataWarning(
                f"all {count} values are distinct in {_shown(distinct)}: an identifier "
                "tells nothing about other rows",
                _leave_out(
                    *distinct[:10], effect=f"to leave {'it' if len(distinct) == 1 else 'them'} out"
                ),
            ),
            stacklevel=4,
        )
    for name, labels, column in zip(table.names, table.states, columns, strict=True):
        suspects = [] if column.raw.declared else list(filter(_is_not_available, labels))
        if suspects:
            warnings.warn(
                DataWarning(
                    f"column {name!r} has the state {suspects[0]!r}; if it means missing, blank "
                    "those cells"
                ),
                stacklevel=4,
            )
        if not column.raw.declared and _has_decimal_commas(labels):
            warnings.warn(
                DataWarning(
                    f"column {name!r} looks like numbers with decimal commas ({labels[0]}); they "
                    "are taken as labels, and only numbers with points can be cut into states"
                ),
                stacklevel=4,
            )


def _all_distinct(codes: npt.NDArray[np.integer]) -> bool:
    return len(codes) > _FEW_ROWS and len(np.unique(codes)) == len(codes)


def _has_decimal_commas(labels: Sequence[str]) -> bool:
    """Whether every label, of several, is a number, some with a comma before the fraction."""
    numbers = len(labels) > 2 and all(_DECIMAL_COMMA.fullmatch(label) for label in labels)
    return numbers and any("," in label for label in labels)


def _shown(names: Sequence[str]) -> str:
    return ", ".join(names[:10]) + (", …" if len(names) > 10 else "")


def _leave_out(*names: str, effect: str = "to leave it out") -> Way:
    return Way("drop", list(names), effect)
