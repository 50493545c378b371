"""What the cells of one column are: which are missing, which are numbers. Before states.

Blank cells are missing already when a reader hands a column on; here come the values that were
named as missing, and words such as ``NA``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from parentage.data.formats.raw import (
    CellCodes,
    Numbers,
    RawColumn,
    number_label,
    words_for_missing,
)
from parentage.data.packed import PackedColumn
from parentage.data.table import as_numbers, class_sizes
from parentage.errors import TableError, Way

if TYPE_CHECKING:
    from collections.abc import Sequence

BLOCK = 1 << 20
"""Cells that are counted at a time."""

_WITH_COMMA = re.compile(r"([+-]?)([0-9]{1,3}(?:\.[0-9]{3})+|[0-9]*)(?:,([0-9]+))?([eE][+-]?\d+)?")


_DATE = re.compile(
    r"(?:(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})"
    r"|(?P<one>\d{1,2})(?P<separator>[./-])(?P<other>\d{1,2})(?P=separator)"
    r"(?P<year_last>\d{4}|\d{2})"
    r"|(?P<day_before_name>\d{1,2})[ -](?P<name>[A-Za-z]{3,9})[ -](?P<year_after_name>\d{4}|\d{2}))"
    r"(?:[ T](?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:\.\d+)?))?)?"
    r"(?P<zone>[+-]\d{2}:?\d{2}|Z)?"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_PIVOT = 69
"""Years of two digits below it are after 2000, as POSIX has it."""


@dataclass(frozen=True)
class Column:
    """A raw column and, when it is numeric, the number of each of its values.

    ``blanked`` counts the cells that a word or a value for missing was in.
    """

    raw: RawColumn
    numbers: Numbers | None
    blanked: int = 0

    @property
    def name(self) -> str:
        """Its name."""
        return self.raw.name

    @property
    def present(self) -> npt.NDArray[np.bool_]:
        """Which cells are not missing."""
        return self.raw.to_codes() >= 0

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """Number of cells with each value, counted as often as their row occurs."""
        counts = np.zeros(len(self.raw.values) + 1, np.int64)
        for first in range(0, self.raw.n_rows, BLOCK):
            numbers = self.raw.part(first, first + BLOCK).astype(np.int64) + 1  # 0: missing
            counts += class_sizes(numbers, self.raw.repeats[first : first + BLOCK], len(counts))
        return counts[1:]

    @property
    def n_present(self) -> int:
        """Number of cells that are not missing."""
        return int(self.counts.sum())

    @property
    def n_rows(self) -> int:
        """Number of rows, each counted as often as it occurs."""
        return self.raw.total_rows

    @property
    def n_missing(self) -> int:
        """Number of cells that are missing."""
        return self.n_rows - self.n_present

    def labels(self) -> list[str]:
        """Return its values as labels."""
        return labels_of(self.raw)

    def observed(self) -> tuple[Numbers, npt.NDArray[np.int64]]:
        """Return the numbers that occur, and in how many rows each does."""
        there = self.counts > 0
        numbers = np.empty(0) if self.numbers is None else self.numbers[there]
        return numbers, self.counts[there]


def labels_of(raw: RawColumn) -> list[str]:
    """Return the values of a column as labels."""
    if isinstance(raw.values, np.ndarray):
        return [number_label(value) for value in raw.values]
    return list(raw.values)


def column_of(
    raw: RawColumn,
    na: Sequence[str] = (),
    decimal: str = ".",
    *,
    words: bool = True,
    dates: bool = False,
) -> Column:
    """Blank what is missing and find the numbers.

    Parameters
    ----------
    raw
        The column as it is in the source.
    na
        Values that mean missing.
    decimal
        What stands before a fraction in text.
    words
        Words such as ``NA`` mean missing, too, unless the source declares them as states.
    dates
        Dates are numbers, see :func:`dates_in`.
    """
    known = raw.declared or raw.numeric is False
    if words and not known and not isinstance(raw.values, np.ndarray):
        na = (*na, *words_for_missing(raw.values))
    cells, blanked = without_values(raw, na, decimal)
    if known:
        return Column(cells, None, blanked)
    if isinstance(cells.values, np.ndarray):
        numbers = cells.values.astype(np.float64)
        if not np.isfinite(numbers).all():
            raise TableError(
                f"column {raw.name!r} holds infinite numbers",
                Way("drop", [raw.name], "to leave it out"),
                "replace them",
            )
        return Column(cells, numbers, blanked)
    found = numbers_in(cells.values, decimal) if cells.values else None
    if found is None and dates:
        found = dates_in(cells.values)
    return Column(cells, found, blanked)


def without_values(raw: RawColumn, na: Sequence[str], decimal: str) -> tuple[RawColumn, int]:
    """Blank the cells with these values, by text or as numbers; return how many they were.

    A value that was declared as a state is one no longer.
    """
    if not na:
        return raw, 0
    words, meant = set(na), set[float]()
    for word in na:
        number = numbers_in([word], decimal)
        meant |= set() if number is None else {float(number[0])}
    kept = np.ones(len(raw.values), np.bool_)
    if isinstance(raw.values, np.ndarray):
        kept = ~np.isin(raw.values, list(meant))
    else:
        for i, label in enumerate(raw.values):
            number = numbers_in([label], decimal) if meant and label not in words else None
            kept[i] = not (label in words or (number is not None and float(number[0]) in meant))
    if kept.all():
        return raw, 0
    rest = _keep_values(raw, kept)
    return rest, _cells_lost(raw, rest)


def _keep_values(raw: RawColumn, kept: npt.NDArray[np.bool_]) -> RawColumn:
    new_code = np.full(len(kept) + 1, -1, np.int32)  # the last entry serves code −1
    new_code[:-1][kept] = np.arange(int(kept.sum()))
    codes: CellCodes | PackedColumn
    if isinstance(raw.codes, PackedColumn):
        codes = raw.codes.recoded(new_code)
    else:
        codes = new_code.astype(raw.codes.dtype)[raw.codes]
    if isinstance(raw.values, np.ndarray):
        return replace(raw, values=raw.values[kept], codes=codes)
    labels = [label for label, keep in zip(raw.values, kept, strict=True) if keep]
    return replace(raw, values=labels, codes=codes)


def _cells_lost(before: RawColumn, after: RawColumn) -> int:
    return Column(after, None).n_missing - Column(before, None).n_missing


def numbers_in(labels: Sequence[str], decimal: str = ".") -> Numbers | None:
    """Read labels as numbers; None when one of them is not.

    With a decimal comma, points part thousands.

    >>> numbers_in(["1,5", "-2", "1.234,5"], ","), numbers_in(["1.5"], ",")
    (array([ 1.5, -2. , 1234.5]), None)
    """
    if decimal == ".":
        return as_numbers(labels)
    found = [_WITH_COMMA.fullmatch(label) for label in labels]
    plain = [
        f"{m[1]}{m[2].replace('.', '')}.{m[3] or '0'}{m[4] or ''}"
        for m in found
        if m is not None and (m[2] or m[3])
    ]
    return as_numbers(plain) if len(plain) == len(labels) else None


def dates_in(labels: Sequence[str]) -> Numbers | None:
    """Read dates, with or without a time, as decimal years; None when one label is not a date.

    The day comes before the month, or after it if only that fits all of them. Where slashes or
    hyphens leave both possible, the dates are not read.

    >>> dates_in(["1.1.2024", "2.7.2024 12:00"]), dates_in(["1/2/2024", "3/4/2024"])
    (array([2024. , 2024.50136612]), None)
    """
    found = [_DATE.fullmatch(label) for label in labels]
    if not found or None in found:
        return None
    matches = [match for match in found if match is not None]
    orders = [_decimal_years(matches, day_first=first) for first in (True, False)]
    known = [years for years in orders if years is not None]
    unclear = len(known) == 2 and not np.array_equal(known[0], known[1])
    if not known or (unclear and any((match["separator"] or ".") != "." for match in matches)):
        return None
    return known[0]


def _decimal_years(matches: Sequence[re.Match[str]], *, day_first: bool) -> Numbers | None:
    """Return the dates as decimal years, None when one does not exist."""
    try:
        return np.array([_decimal_year(match, day_first) for match in matches], np.float64)
    except (ValueError, OverflowError):
        return None


def _decimal_year(match: re.Match[str], day_first: bool) -> float:
    if match["month"] is not None:
        year, month, day = match["year"], match["month"], match["day"]
    elif match["name"] is not None:
        month = str(_MONTHS.index(match["name"][:3].lower()) + 1)
        year, day = match["year_after_name"], match["day_before_name"]
    else:
        year, one, other = match["year_last"], match["one"], match["other"]
        day, month = (one, other) if day_first else (other, one)
    full = int(year) + (0 if len(year) > 2 else 2000 if int(year) < _PIVOT else 1900)
    when = datetime(full, int(month), int(day)) + timedelta(
        hours=int(match["hour"] or 0), minutes=int(match["minute"] or 0),
        seconds=float(match["second"] or 0),
    )  # fmt: skip
    if match["zone"] not in (None, "Z"):
        sign = -1 if match["zone"][0] == "+" else 1
        when += sign * timedelta(hours=int(match["zone"][1:3]), minutes=int(match["zone"][-2:]))
    start = datetime(when.year, 1, 1)
    return when.year + (when - start) / (datetime(when.year + 1, 1, 1) - start)
