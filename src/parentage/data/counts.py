"""Lines that stand for several rows: a column says how often each row occurs.

Before columns are looked into. Such a table of counts (a contingency table) is read as if every
row were written as often as it occurs, without writing it out: the columns keep one line each and
the number of its repetitions. Lines with the count 0 are left out.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from parentage.data.table import MOST_ROWS
from parentage.data.values import labels_of, numbers_in
from parentage.errors import TableError, Way, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parentage.data.formats.raw import Numbers, RawTable
    from parentage.data.values import Column

FEWEST_LINES = 4
"""Lines of the smallest table of counts of two variables."""

FIRST_LINES = 10_000
"""Lines that are compared first: if two of them are equal, the rest need not be looked at."""

_COUNTS = re.compile(r"[\W_]*(freqs?|frequency|frequencies|counts?|cnt)[\W_]*", re.IGNORECASE)
_MAY_BE = re.compile(r"[\W_]*(n|nobs|n_obs|f?weights?|cases)[\W_]*", re.IGNORECASE)


def with_counts(raw: RawTable, name: str, decimal: str) -> RawTable:
    """Return the table without the column of counts; its rows occur so often.

    Raises
    ------
    TableError
        The column is not there, or holds something else than whole numbers from 0 on.
    """
    found = [column for column in raw.columns if column.name == name]
    if len(found) != 1:
        names = [column.name for column in raw.columns]
        none = f"no column {name!r} to take counts from; {did_you_mean(name, names)}"
        many = f"{len(found)} columns are named {name!r}; rename all but one"
        raise TableError(many if found else none)
    (column,) = found
    codes, labels = column.to_codes(), labels_of(column)
    known = [numbers_in([label], decimal) for label in labels]
    values = np.array([np.nan if number is None else number[0] for number in known] + [np.nan])
    others = tuple(other for other in raw.columns if other is not column)
    try:
        return repeated(replace(raw, columns=others), values[codes])
    except _NotACountError as error:
        code = int(codes[error.row])
        seen = "the count is missing" if code < 0 else f"{labels[code]!r} is not a count"
        raise TableError(
            f"column {name!r}, {raw.place(error.row)}: {seen}; counts are whole numbers from 0 on",
            "correct it",
            Way("drop", [name], "to count every line once"),
        ) from None


class _NotACountError(ValueError):
    """A number that is not a count; ``row`` says where."""

    def __init__(self, row: int) -> None:
        self.row = row


def with_weights(raw: RawTable, weights: object) -> RawTable:
    """Return the table whose rows occur as often as the weights of an estimator say.

    Raises
    ------
    TableError
        There is not one whole number from 0 on for every row.
    """
    try:
        times = np.asarray(weights, np.float64)
    except (TypeError, ValueError):
        raise TableError("sample_weight does not hold numbers") from None
    if times.shape != (raw.n_rows,):
        raise TableError(
            f"sample_weight has shape {times.shape}; it is one number for each of {raw.n_rows} rows"
        )
    if not times.any():
        raise TableError("every sample_weight is zero, so no row is left")
    try:
        return repeated(raw, times)
    except _NotACountError as error:
        raise TableError(
            f"sample_weight, {raw.place(error.row)}: {times[error.row]:g} is not a count; "
            "sample_weight says how often each row occurs, in whole numbers from 0 on"
        ) from None


def repeated(raw: RawTable, times: Numbers) -> RawTable:
    """Return the rows that occur at least once, with how often they do."""
    wrong = ~(np.isfinite(times) & (times >= 0) & (times == np.floor(times)))
    if wrong.any():
        raise _NotACountError(int(wrong.argmax()))
    total = float(times.sum())
    if not 0 < total <= MOST_ROWS:
        raise TableError(f"the counts add up to {total:,.0f} rows; 1 to {MOST_ROWS:,} are possible")
    there = np.flatnonzero(times)
    repeats = times[there].astype(np.uint32)
    repeats.setflags(write=False)
    columns, place = raw.columns, raw.place
    if len(there) < raw.n_rows:
        columns = tuple(column.chosen_rows(there) for column in columns)
    return replace(
        raw,
        columns=tuple(replace(column, repeats=repeats) for column in columns),
        n_rows=len(there),
        place=lambda row: place(int(there[row])),
        repeats=repeats,
        empty_lines=raw.n_rows - len(there),
    )


def looks_like_counts(column: Column, others: Sequence[Column]) -> bool:
    """Tell whether a column seems to say how often the row of the other columns occurs.

    By its name, whole numbers, and other columns that never repeat a row. Under a name that may
    well mean something else, two equal rows must have been likely if the columns were independent.
    """
    certain = _COUNTS.fullmatch(column.name) is not None
    if not certain and _MAY_BE.fullmatch(column.name) is None:
        return False
    lines = column.raw.n_rows
    if column.numbers is None or column.n_missing or lines < FEWEST_LINES or len(others) < 2:
        return False
    seen = column.numbers[column.counts > 0]
    if seen.min() < 0 or seen.max() < 2 or bool((seen != np.floor(seen)).any()):
        return False
    if not certain:
        shares = [(other.counts / lines) ** 2 for other in others]
        if lines * (lines - 1) / 2 * np.prod([share.sum() for share in shares]) < 1:
            return False
    return not (_repeats_a_row(others, min(lines, FIRST_LINES)) or _repeats_a_row(others, lines))


def _repeats_a_row(columns: Sequence[Column], lines: int) -> bool:
    """Whether two of the first lines are equal in all these columns."""
    labels = np.zeros(lines, np.int64)
    for column in columns:
        own = column.raw.part(0, lines).astype(np.int64) + 1
        labels = np.unique(labels * (len(column.raw.values) + 1) + own, return_inverse=True)[1]
        if int(labels.max()) == lines - 1:
            return False
    return True
