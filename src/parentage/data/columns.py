"""The columns of a source: cells, their values, which are missing and which are numbers.

Between file and table. A reader (:mod:`parentage.data.formats`) only says what is there, as a
:class:`RawTable`; :mod:`parentage.data.deciding` alone decides what it means. Here are the facts
that both need: blank cells are missing when a reader hands a column on; then come the values named
as missing and words such as ``NA``. Floats may have a decimal comma, and dates are decimal years.

A column of *counts* says how often each row occurs. Such a table (a contingency table) is read as
if every row were written as often as it occurs, without writing it out: the columns keep one line
each and the number of its repetitions. Lines with the count 0 are left out.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from parentage.data.table import MOST_ROWS, PackedColumn, as_numbers, class_sizes
from parentage.errors import TableError, Way, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from parentage.arrays import Flags, Floats, Ints
    from parentage.data.table import CellCodes, Repeats


@dataclass(frozen=True)
class Column:
    """One column of a source: what is there, and what was found out about it.

    Parameters
    ----------
    name
        Its name.
    codes
        ``int32[rows]``, or fewer bytes: position in ``values``, −1 where the value is missing. Of
        very many rows they are packed; :meth:`part` and :meth:`to_codes` unpack them.
    values
        The distinct values: labels, or an array when the source has numbers.
    declared
        The source declares ``values`` as the states, in this order, used or not.
    numeric
        The source declares a number (True) or something else (False); None: the values decide.
    refused
        Why the column cannot be used unless it is dropped; None if it can.
    repeats
        ``uint32[rows]``: how often each row occurs; empty: once, each.
    numbers
        The number of each value; None where the column is not numeric, or nobody has looked.
    blanked
        Number of cells that a word or a value for missing was in.
    """

    name: str
    codes: CellCodes | PackedColumn
    values: Sequence[str] | npt.NDArray[Any]
    declared: bool = False
    numeric: bool | None = None
    refused: str | None = None
    repeats: Repeats = field(default_factory=lambda: np.empty(0, np.uint32))
    numbers: Floats | None = None
    blanked: int = 0

    @property
    def packed(self) -> PackedColumn | None:
        """The codes of very many rows; None: they are an array."""
        return self.codes if isinstance(self.codes, PackedColumn) else None

    @property
    def stored_rows(self) -> int:
        """Number of rows of the codes."""
        return self.codes.n_rows if isinstance(self.codes, PackedColumn) else len(self.codes)

    @property
    def n_rows(self) -> int:
        """Number of rows, each counted as often as it occurs."""
        return int(self.repeats.sum(dtype=np.int64)) if len(self.repeats) else self.stored_rows

    @property
    def present(self) -> Flags:
        """Which cells are not missing."""
        return self.to_codes() >= 0

    @cached_property
    def counts(self) -> Ints:
        """Number of cells with each value, counted as often as their row occurs."""
        counts = np.zeros(len(self.values) + 1, np.int64)
        for first in range(0, self.stored_rows, BLOCK):
            numbers = self.part(first, first + BLOCK).astype(np.int64) + 1  # 0: missing
            counts += class_sizes(numbers, self.repeats[first : first + BLOCK], len(counts))
        return counts[1:]

    @property
    def n_present(self) -> int:
        """Number of cells that are not missing."""
        return int(self.counts.sum())

    @property
    def n_missing(self) -> int:
        """Number of cells that are missing."""
        return self.n_rows - self.n_present

    @property
    def texts(self) -> Sequence[str]:
        """The values that are texts in the source; none of a column of numbers."""
        return () if isinstance(self.values, np.ndarray) else self.values

    def labels(self) -> list[str]:
        """Return its values as labels."""
        return [x if isinstance(x, str) else number_label(x) for x in self.values]

    def observed(self) -> tuple[Floats, Ints]:
        """Return the numbers that occur, and in how many rows each does."""
        there = self.counts > 0
        numbers = np.empty(0) if self.numbers is None else self.numbers[there]
        return numbers, self.counts[there]

    def chosen_rows(self, chosen: npt.NDArray[Any]) -> Column:
        """Return the rows of a mask, or with these numbers; what is packed stays so."""
        codes = self.to_codes()[chosen]
        return replace(
            self,
            codes=codes if self.packed is None else PackedColumn.of(codes),
            repeats=self.repeats[chosen] if len(self.repeats) else self.repeats,
        )

    def renamed(self, name: str) -> Column:
        """Return the column under another name."""
        return replace(self, name=name)

    def recoded(self, lookup: npt.NDArray[np.int32], values: Sequence[str] | Any) -> Column:
        """Return the column with other values; ``lookup`` has the new code of each, −1 last."""
        codes = self.codes
        if isinstance(codes, PackedColumn):
            return replace(self, codes=codes.recoded(lookup), values=values)
        return replace(self, codes=lookup[codes], values=values)

    def part(self, first: int, last: int) -> CellCodes:
        """Return the codes of some rows."""
        codes = self.codes
        if isinstance(codes, PackedColumn):
            return codes.part(first, last)
        return codes[first:last]

    def to_codes(self) -> CellCodes:
        """Return the codes of all rows."""
        return self.part(0, self.stored_rows)


@dataclass(frozen=True)
class RawTable:
    """The columns of a source, and where its rows are.

    Parameters
    ----------
    columns
        In the order of the source; names may still be blank or repeated.
    stored_rows
        Number of data rows of the source, but for those with the count 0.
    place
        Says where row ``i`` is in the source, for messages: ``"line 7"``.
    source, format
        Its name, and what it is in, for the record.
    passing
        Nobody else has the codes, and they are not needed any more once a table is made of them.
    empty_lines
        Rows of the source that were left out because their count is 0.
    """

    columns: tuple[Column, ...]
    stored_rows: int
    place: Callable[[int], str]
    source: str = "frame"
    format: str = "frame"
    passing: bool = False
    empty_lines: int = 0

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in their order."""
        return tuple(column.name for column in self.columns)

    def named(self, name: str) -> Column:
        """Return the first column of this name, which is there."""
        return self.columns[self.names.index(name)]

    @property
    def repeats(self) -> Repeats:
        """How often each row occurs; empty: once, each."""
        return self.columns[0].repeats if self.columns else np.empty(0, np.uint32)

    @property
    def n_rows(self) -> int:
        """Number of rows, each counted as often as it occurs."""
        return self.columns[0].n_rows if self.columns else self.stored_rows


WORDS_FOR_MISSING = frozenset({
    "?", "-", "NA", "na", "N/A", "n/a", "N.A.", "n.a.", "#NA", "#N/A", "#N/A N/A", "<NA>",
    "NaN", "nan", "NAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN",
    "NULL", "Null", "null", "None", "k.A.", "K.A.", "k.a.", "k. A.", "k. a.",
})  # fmt: skip
"""What a cell of text holds when its value is missing, besides nothing; all that pandas knows."""


DEGREES = frozenset({
    "some", "few", "many", "all", "any", "once", "often", "freq", "frequent", "daily", "mild",
    "moderate", "severe", "marked", "slight", "minor", "major", "light", "heavy", "low", "medium",
    "high", "partial", "complete", "full",
})  # fmt: skip
"""Labels beside which None means nothing of it, not that the value is missing."""


def words_for_missing(labels: Collection[str]) -> frozenset[str]:
    """Return which of the labels of a column of text mean that the value is missing.

    A minus sign beside a plus sign is a result of a test, and None beside Some is a degree.

    >>> sorted(words_for_missing(["yes", "NA", "-", "Na"])), words_for_missing(["+", "-"])
    (['-', 'NA'], frozenset())
    >>> words_for_missing(["None", "Some", "Marked"])
    frozenset()
    """
    found = WORDS_FOR_MISSING.intersection(labels)
    if "-" in found and any(not label.strip("+") for label in labels):
        found -= {"-"}
    if "None" in found and not DEGREES.isdisjoint(label.lower() for label in labels):
        found -= {"None"}
    return found


def unnamed(place: int) -> str:
    """Return the name of a column that has none, by its place from 1 on."""
    return f"unnamed {place}"


def named_again(name: str, place: int) -> str:
    """Return the name of a column whose name an earlier one has, by its place from 1 on."""
    return f"{name} (column {place})"


def names_apart(names: Sequence[str]) -> list[str]:
    """Give columns without a name one, and another to those with the name of an earlier one.

    >>> names_apart(["dose", "", "dose"])
    ['dose', 'unnamed 2', 'dose (column 3)']
    """
    seen, found = set[str](), list[str]()
    for place, name in enumerate((name or unnamed(i) for i, name in enumerate(names, 1)), 1):
        found.append(named_again(name, place) if name in seen else name)
        seen.add(name)
    return found


def with_names(raw: RawTable) -> RawTable:
    """Return the table with every column named, differently (:func:`names_apart`)."""
    named = zip(raw.columns, names_apart(raw.names), strict=True)
    return replace(raw, columns=tuple(column.renamed(name) for column, name in named))


def text_column(name: str, codes: CellCodes, cells: Sequence[str | None]) -> Column:
    """Make a column of labels from distinct cells as they are in a text.

    Blanks around a cell do not count, nor does Ctrl-Z, which DOS writes at the end of a file. A
    blank cell is missing.

    >>> column = text_column("smoker", np.array([0, 1, 2, 1], np.int32), ["yes", " no ", " "])
    >>> column.values, column.to_codes().tolist()
    (['yes', 'no'], [0, 1, -1, 1])
    """
    position: dict[str, int] = {}
    new_code = np.full(len(cells) + 1, -1, np.int32)  # the last entry serves code −1
    for i, cell in enumerate(cells):
        label = "" if cell is None else cell.strip().rstrip("\x1a")
        if label:
            new_code[i] = position.setdefault(label, len(position))
    return Column(name, new_code[codes], list(position))


def number_label(number: float | np.integer[Any] | np.floating[Any]) -> str:
    """Write a number as a state label; whole numbers without a decimal point.

    >>> number_label(2.0), number_label(2.5), number_label(7)
    ('2', '2.5', '7')
    """
    if isinstance(number, float | np.floating) and not float(number).is_integer():
        return repr(float(number))
    return str(int(number))


BLOCK = 1 << 20
"""Cells that are counted at a time."""

_WITH_COMMA = re.compile(r"([+-]?)([0-9]{1,3}(?:\.[0-9]{3})+|[0-9]*)(?:,([0-9]+))?([eE][+-]?\d+)?")


_WRITTEN = re.compile(
    r"(?P<sign>[-+]?) ?(?P<before>[$€£¥]?) ?(?P<digits>[-+]?[0-9][0-9.,'’ \u00a0\u202f]*?)"
    r"(?![A-Z]\Z)[ \u00a0\u202f]?(?P<after>[%$€£¥]?|°?[^\W\d_]{1,12}(?:/[^\W\d_]{1,12})?)"
)
"""An amount: a number with %, a currency or a unit (kg, mg/dl). One capital letter right after the
digits is part of a code (10A), not a unit."""
_GROUPS = " \u00a0\u202f'’"
"""What may stand between thousands, besides the comma, or the point beside a decimal comma."""

_DATE = re.compile(
    r"(?:(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})"
    r"|(?P<one>\d{1,2})(?P<separator>[./-])(?P<other>\d{1,2})(?P=separator)"
    r"(?P<year_last>\d{4}|\d{2})"
    r"|(?P<day_before_name>\d{1,2})[ -](?P<name>[A-Za-z]{3,9})[ -](?P<year_after_name>\d{4}|\d{2}))"
    r"(?:[ T](?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:\.\d+)?))?)?"
    r"(?P<zone>[+-]\d{2}:?\d{2}|Z)?"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_PIVOT = 69
"""Years of two digits below it are after 2000, as POSIX has it."""


def equal_cells(one: Column, other: Column) -> bool:
    """Whether two columns have the same label in every row."""
    own, its = one.labels(), other.labels()
    where = {label: code for code, label in enumerate(own)}
    codes = np.array([*(where.get(label, -2) for label in its), -1])  # the last serves code −1
    return all(
        np.array_equal(one.part(i, i + BLOCK), codes[other.part(i, i + BLOCK)])
        for i in range(0, one.stored_rows, BLOCK)
    )


def column_of(
    raw: Column,
    na: Sequence[str] = (),
    decimal: str = ".",
    *,
    quantity: bool = False,
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
    quantity
        Dates and amounts are numbers, see :func:`dates_in` and :func:`amounts_in`.
    """
    cells = without_values(raw, na, decimal)
    if raw.declared or raw.numeric is False:
        return cells
    if isinstance(cells.values, np.ndarray):
        numbers = cells.values.astype(np.float64)
        if not np.isfinite(numbers).all():
            raise TableError(
                f"column {raw.name!r} holds infinite numbers",
                Way("drop", [raw.name], "to leave it out"),
                "replace them",
            )
        return replace(cells, numbers=numbers)
    found = numbers_in(cells.values, decimal) if cells.values else None
    if found is None and quantity:
        found = dates_in(cells.values)
        found = amounts_in(cells.values, decimal) if found is None else found
    return replace(cells, numbers=found)


def without_values(raw: Column, na: Sequence[str], decimal: str) -> Column:
    """Blank the cells with these values, by text or as numbers.

    A value that was declared as a state is one no longer.
    """
    if not na:
        return raw
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
        return raw
    lookup = np.full(len(kept) + 1, -1, np.int32)
    lookup[:-1][kept] = np.arange(int(kept.sum()))
    values = raw.values
    left = values[kept] if isinstance(values, np.ndarray) else [*itertools.compress(values, kept)]
    rest = raw.recoded(lookup, left)
    return replace(rest, blanked=rest.n_missing - raw.n_missing)


def numbers_in(labels: Sequence[str], decimal: str = ".") -> Floats | None:
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


def bare_digits(labels: Sequence[str]) -> list[str] | None:
    """Return amounts without their sign or unit, which has to be the same in all.

    >>> bare_digits(["47 %", "-5 %"]), bare_digits(["$1,129.50"]), bare_digits(["5 %", "$5"])
    (['47', '-5'], ['1,129.50'], None)
    >>> bare_digits(["4.5 mg/dl", "12 mg/dl"]), bare_digits(["5 kg", "5 g"])
    (['4.5', '12'], None)
    >>> bare_digits(["10A", "11A"]), bare_digits(["10 A", "11 A"])
    (None, ['10', '11'])
    """
    found = [_WRITTEN.fullmatch(label) for label in labels]
    matches = [match for match in found if match is not None]
    kinds = {(match["before"], match["after"]) for match in matches}
    if len(matches) < len(found) or len(kinds) != 1 or all(min(kinds)):
        return None
    signs = [match["sign"] + match["digits"] for match in matches]
    return None if any(text[1:2] in ("-", "+") for text in signs) else signs


def amounts_in(labels: Sequence[str], decimal: str = ".") -> Floats | None:
    """Read amounts written with %, a currency, a unit or separated thousands; None when one is not.

    Thousands are separated by the same sign in all labels: a comma (a point beside a decimal
    comma), a blank or an apostrophe.

    >>> amounts_in(["$1,129.50", "$7"]), amounts_in(["4,5 %", "12 %"], ","), amounts_in(["1,5"])
    (array([1129.5, 7. ]), array([ 4.5, 12. ]), None)
    """
    digits = bare_digits(labels)
    for group in "" if digits is None else ("," if decimal == "." else ".") + _GROUPS:
        parts, fraction = re.escape(group), f"(?:{re.escape(decimal)}[0-9]+)?"
        amount = re.compile(f"[-+]?(?:[1-9][0-9]{{0,2}}(?:{parts}[0-9]{{3}})+|[0-9]+){fraction}")
        if all(map(amount.fullmatch, digits or ())):
            return as_numbers([
                text.replace(group, "").replace(decimal, ".") for text in digits or ()
            ])  # fmt: skip
    return None


def dates_in(labels: Sequence[str]) -> Floats | None:
    """Read dates, with or without a time, as decimal years; None when one label is not a date.

    The day comes before the month, or after it if only that fits all of them. Where slashes or
    hyphens leave both possible, the dates are not read.

    >>> dates_in(["1.1.2024", "2.7.2024 12:00"]), dates_in(["1/2/2024", "3/4/2024"])
    (array([2024. , 2024.50136612]), None)
    """
    moments = moments_in(labels)
    if moments is None:
        return None
    return np.array([_decimal_year(moment) for moment in moments], np.float64)


def is_date(label: str) -> bool:
    """Tell whether a label is written as a date, with or without a time."""
    return _DATE.fullmatch(label) is not None


def moments_in(labels: Sequence[str]) -> list[datetime] | None:
    """Read dates; None when one label is not a date, or when day and month cannot be told."""
    found = [_DATE.fullmatch(label) for label in labels]
    if not found or None in found:
        return None
    matches = [match for match in found if match is not None]
    orders = [_moments(matches, day_first=first) for first in (True, False)]
    known = [moments for moments in orders if moments is not None]
    unclear = len(known) == 2 and known[0] != known[1]
    if not known or (unclear and any((match["separator"] or ".") != "." for match in matches)):
        return None
    return known[0]


def _moments(matches: Sequence[re.Match[str]], *, day_first: bool) -> list[datetime] | None:
    """Return the dates, None when one does not exist."""
    try:
        return [_moment(match, day_first) for match in matches]
    except (ValueError, OverflowError):
        return None


def _moment(match: re.Match[str], day_first: bool) -> datetime:
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
    return when


def _decimal_year(when: datetime) -> float:
    start = datetime(when.year, 1, 1)
    return when.year + (when - start) / (datetime(when.year + 1, 1, 1) - start)


def date_part(raw: Column, part: str) -> Column:
    """Return the year, month or weekday of a column of dates, as labels in their order.

    >>> column = text_column("day", np.array([0, 1], np.int32), ["1.2.2024", "29.1.2024"])
    >>> date_part(column, "month").values, date_part(column, "weekday").values
    (['02 Feb', '01 Jan'], ['4 Thu', '1 Mon'])
    """
    moments = moments_in(raw.labels())
    if moments is None:
        raise TableError(f"column {raw.name!r} has no {part}: it does not hold dates")
    labels = [_label_of_part(moment, part) for moment in moments]
    position: dict[str, int] = {}
    number = np.array([*(position.setdefault(x, len(position)) for x in labels), -1], np.int32)
    return replace(raw.recoded(number, list(position)), numeric=False)


PARTS_OF_DATES = ("month", "year", "weekday")
"""Parts of dates that may be states, the most usual first."""


def varying_parts(labels: Sequence[str]) -> list[str]:
    """Return the parts in which dates differ.

    >>> varying_parts(["1.2.2024", "28.2.2024"]), varying_parts(["1.2.2024 5:30", "1.2.2024 6:45"])
    (['weekday'], [])
    """
    moments = moments_in(labels) or []
    return [
        part
        for part in PARTS_OF_DATES
        if len({_label_of_part(moment, part) for moment in moments}) > 1
    ]


def _label_of_part(when: datetime, part: str) -> str:
    if part == "year":
        return str(when.year)
    if part == "month":
        return f"{when.month:02d} {_MONTHS[when.month - 1].title()}"
    return f"{when.isoweekday()} {_WEEKDAYS[when.weekday()]}"


FEWEST_LINES = 4
"""Lines of the smallest table of counts of two variables."""

MANY_CATEGORIES = 50
"""A column of a table of counts has at most this many states."""

CELLS_A_LINE = 20
"""In a table of counts at least one cell in so many has a line."""

FIRST_LINES = 10_000
"""Lines that are compared first: if two of them are equal, the rest need not be looked at."""

_COUNTS = re.compile(r"[\W_]*(freqs?|frequency|frequencies|counts?|cnt)[\W_]*", re.IGNORECASE)
_MAY_BE = re.compile(r"[\W_]*(n|nobs|n_obs|f?weights?|cases)[\W_]*", re.IGNORECASE)


def with_counts(raw: RawTable, name: str, decimal: str) -> RawTable:
    """Return the table without the column of counts; its rows occur so often.

    Raises
    ------
    TableError
        The column is not there, or holds something else than whole numbers, 0 or more. A missing
        count is 0.
    """
    if name not in raw.names:
        raise TableError(f"no column {name!r} to take counts from; {did_you_mean(name, raw.names)}")
    column = raw.named(name)
    _refuse_twice(raw, name)
    codes, labels = column.to_codes(), column.labels()
    known = [numbers_in([label], decimal) for label in labels]
    values = np.array([np.nan if number is None else number[0] for number in known] + [0.0])
    values[:-1][[label in WORDS_FOR_MISSING for label in labels]] = 0.0
    others = tuple(other for other in raw.columns if other is not column)
    row = not_a_count(values[codes])
    if row is not None:
        raise TableError(
            f"column {name!r}, {raw.place(row)}: {labels[int(codes[row])]!r} is not a count; "
            "counts are whole numbers, 0 or more",
            "correct it",
            Way("drop", [name], "to count every line once"),
        )
    return repeated(replace(raw, columns=others), values[codes])


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
    if times.shape != (raw.stored_rows,):
        raise TableError(
            f"sample_weight has shape {times.shape}; it must be one number for each of "
            f"{raw.stored_rows} rows"
        )
    if not times.any():
        raise TableError("every sample_weight is zero, so no row is left")
    row = not_a_count(times)
    if row is not None:
        raise TableError(
            f"sample_weight, {raw.place(row)}: {times[row]:g} is not a count; "
            "sample_weight says how often each row occurs, in whole numbers, 0 or more"
        )
    return repeated(raw, times)


def not_a_count(times: Floats) -> int | None:
    """Return the first row whose number is not a whole one, 0 or more; None if all are."""
    wrong = ~(np.isfinite(times) & (times >= 0) & (times == np.floor(times)))
    return int(wrong.argmax()) if wrong.any() else None


def repeated(raw: RawTable, times: Floats) -> RawTable:
    """Return the rows that occur at least once, with how often they do."""
    total = float(times.sum())
    if not 0 < total <= MOST_ROWS:
        raise TableError(
            f"the counts add up to {total:,.0f} rows; 1 to {MOST_ROWS:,} rows are allowed"
        )
    there = np.flatnonzero(times)
    repeats = times[there].astype(np.uint32)
    repeats.setflags(write=False)
    columns, place = raw.columns, raw.place
    if len(there) < raw.stored_rows:
        columns = tuple(column.chosen_rows(there) for column in columns)
    return replace(
        raw,
        columns=tuple(replace(column, repeats=repeats) for column in columns),
        stored_rows=len(there),
        place=lambda row: place(int(there[row])),
        empty_lines=raw.stored_rows - len(there),
    )


def named_counts(column: Column) -> bool:
    """Tell whether the name of a column says counts, and nothing else."""
    return _COUNTS.fullmatch(column.name) is not None


def may_be_counts(column: Column) -> bool:
    """Tell whether name and values may be those of counts; missing: no such rows."""
    if not (named_counts(column) or _MAY_BE.fullmatch(column.name)):
        return False
    if column.numbers is None or column.stored_rows < FEWEST_LINES or not column.n_present:
        return False
    seen = column.numbers[column.counts > 0]
    if seen.min() < 0 or seen.max() < 2 or bool((seen != np.floor(seen)).any()):
        return False
    return float((column.numbers * column.counts).sum()) <= MOST_ROWS


def why_not_counts(column: Column, others: Sequence[Column], quantities: Collection[str]) -> str:
    """Return why a table does not seem to be one of counts; nothing if it does.

    It has categories, no quantities, besides the counts, and its lines are cells: different, and
    not few of those there could be. Under a name that may well mean something else, two equal lines
    must have been likely if the columns were independent.
    """
    lines = column.stored_rows
    if len(others) < 2:
        return "there are fewer than two other columns"
    if int((column.counts > 0).sum()) < 2:
        return "all its values are equal"
    for other in others:
        if other.name in quantities:
            return f"{other.name!r} is not a category"
        if int((other.counts > 0).sum()) > MANY_CATEGORIES:
            return f"{other.name!r} has many values"
    cells = _cells_of(others)
    if cells > CELLS_A_LINE * lines:
        return f"the other columns have {cells:,.0f} cells, and there are only {lines:,} lines"
    if not named_counts(column):
        shares = [(other.counts / lines) ** 2 for other in others]
        if lines * (lines - 1) / 2 * np.prod([share.sum() for share in shares]) < 1:
            return "the other columns have so many combinations that two rows are rarely equal"
    if _repeats_a_row(others, min(lines, FIRST_LINES)) or _repeats_a_row(others, lines):
        return "the other columns repeat a row"
    return ""


def _cells_of(columns: Sequence[Column]) -> float:
    """Return the number of cells of a table; a column that another one determines adds none."""
    sized = sorted(columns, key=lambda column: -int((column.counts > 0).sum()))
    kept: list[Column] = []
    for column in sized:
        codes = column.to_codes().astype(np.int64)
        pairs = (
            other.to_codes().astype(np.int64) * (len(column.values) + 1) + codes for other in kept
        )
        if not any(
            len(np.unique(pair)) == int((other.counts > 0).sum())
            for pair, other in zip(pairs, kept, strict=True)
        ):
            kept.append(column)
    return float(np.prod([float((column.counts > 0).sum()) for column in kept]))


def _repeats_a_row(columns: Sequence[Column], lines: int) -> bool:
    """Whether two of the first lines are equal in all these columns."""
    labels = np.zeros(lines, np.int64)
    for column in columns:
        own = column.part(0, lines).astype(np.int64) + 1
        labels = np.unique(labels * (len(column.values) + 1) + own, return_inverse=True)[1]
        if int(labels.max()) == lines - 1:
            return False
    return True


def no_column(name: str, raw: RawTable) -> TableError:
    """Return the error of a column that is not there."""
    return TableError(f"no column {name!r}; {did_you_mean(name, raw.names)}")


def find_column(raw: RawTable, name: str, told: Collection[str] = ()) -> Column:
    """Return a column by name; another of that name is refused unless its place was ``told``."""
    if name not in raw.names:
        raise no_column(name, raw)
    found = raw.named(name)
    _refuse_twice(raw, name, told)
    if found.refused is not None:
        raise TableError(f"column {name!r} {found.refused}")
    return found


def _refuse_twice(raw: RawTable, name: str, told: Collection[str] = ()) -> None:
    """Refuse a name that two columns of the source have (:func:`with_names`)."""
    again = {named_again(name, place) for place in range(1, len(raw.columns) + 1)}
    same = raw.names.count(name) + sum(other in again.difference(told) for other in raw.names)
    if same > 1:
        raise TableError(f"{same} columns are named {name!r}; rename all but one")
