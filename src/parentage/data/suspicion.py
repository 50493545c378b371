"""Columns that are probably not what they seem: found and named before anything is made of them.

The table could be used as it is, and what comes out would mean nothing: an identifier has a state
for every row, −999 is not a temperature, a date is not a category. The tests are simple, and each
says what was seen, so that a false alarm is recognised as one.

===================  ==============================================================================
decimal commas       all labels are numbers, some with a comma before the fraction
amounts              all labels are numbers with %, one currency, one unit or separated thousands,
                     more than 20 or with fractions; "1,234" alone may be either, and is asked about
dates                19 of 20 labels are written as dates
words among numbers  9 of 10 cells are numbers, and more than 20 different ones or fractions; not if
                     the numbers are whole and the words are codes such as 136A or c118: at least 3
                     of them in 2% of the rows, or each more frequent than a number on average
free text            more than 20 labels, every second one of three words or more, and half of the
                     rows have one of their own
identifier           9 of 10 labels differ (in up to 20 rows: all), or whole numbers without gaps or
                     repetition, or with few repetitions under the name of an identifier or code; a
                     first column without a name that differs in every row. Years are quantities,
                     also as names of rows
codes                whole numbers of the same length, some of which begin with 0
units                whole numbers called id, caseno, subject, patient, household or the like, more
                     than 20 or in few rows each; or more than 20 with equally many successive rows;
                     more than 20 labels of such a name
many whole numbers   11 to 20: categories if the name suggests codes, units or months, or if all are
                     in equally many rows and the name suggests no time; else a quantity
counts               whole numbers called Freq, count, n … beside few states that never repeat a row
sentinel             a number such as −999 or 99 at an end, farther from all others than these are
                     from each other, in at most a third of the rows, not determined by a column; a
                     single digit only if each number is in 5 rows on average
missing word         a declared state such as NA or n/a
repeated name        a column with the name of an earlier one
many states          more than 20 labels, on average in fewer than 5 rows each
===================  ==============================================================================

A column of which nearly every label is different, or of counts, is refused unless it was kept by
name. All others are warned about. States that the source declares are believed, and so is what was
asked for a column by name. Each objection says what is recommended.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from parentage.data.columns import (
    Column,
    amounts_in,
    bare_digits,
    dates_in,
    equal_cells,
    is_date,
    may_be_counts,
    named_again,
    named_counts,
    numbers_in,
    unnamed,
    varying_parts,
    why_not_counts,
    words_for_missing,
)
from parentage.data.missingness import FEW_ROWS, explained
from parentage.errors import DataWarning, Objection, Way, counted, shown_names, warn

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from parentage.arrays import Floats

MANY_STATES = 20
ROWS_A_STATE = 5

FEW_STATES = 5
"""Numbers with at most this many distinct values are states, however few rows there are."""

HARDLY_A_SCALE = 10
"""Up to this many whole numbers, with enough rows, are states without a word: a Likert scale."""

YEARS = (1700, 2100)
"""Whole numbers between these are years if their column says so, or if they are in sequence."""

_NEARLY_ALL = 0.9

_DECIMAL_COMMA = re.compile(r"[-+]?\d+(,\d+)?")
_GROUPED = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?")
_NAME_OF_ID = re.compile(
    r"(?:.*(?:[^A-Za-z]|(?<=[a-z])(?=I)))?"
    r"(?:ID|id|Id|[PHU]ID|[phu]id|nr|Nr|NR|uuid|UUID|idcase|[Cc]usip|CUSIP|[Ss]erial|SERIAL)\.?"
)
_NAME_OF_TIME = re.compile(
    r"(?:.*[^a-z])?(?:years?|yr|time|t|days?|weeks?|months?|quarter|hours?|period|season|age)",
    re.IGNORECASE,
)
_NAME_OF_YEAR = re.compile(r".*(?:year|yr|jahr|ann[eé]e)s?", re.IGNORECASE)
_NAME_OF_CODE = re.compile(
    r"(?:.*[^a-z])?(?:code|site|centre|center|region|district|school|hospital|clinic|ward|type|group|"
    r"prov|provider|state|county|country|province|commune|inst|institution|dept|department|sector|"
    r"industry|occupation|brand|category|class|cluster|stratum|zone|batch|species)"
    r"(?:[^a-z]?(?:id|no|nr|num|number))?\.?",
    re.IGNORECASE,
)
_NAME_OF_MONTH = re.compile(r"(?:.*[^a-z])?mon(?:th)?", re.IGNORECASE)
_YEARS_AT = frozenset({"school"})
"""Names of columns with up to 20 whole numbers that are years at school, not numbers of schools."""

_CODE = re.compile(r"[a-z]{1,2}\d+|\d+[a-z]", re.IGNORECASE)
_MISTYPED = re.compile(r"[OIL\d]+", re.IGNORECASE)
"""Letters that are mistaken for the digits 0 and 1: 4O is a typing error, not a code."""
FEW_CODES, SHARE_OF_CODES = 3, 0.02
"""Codes among numbers are at least 3, in 2% of the rows; fewer may be typing errors."""

_MOST_WORDS = 5
"""A column with more different words than this does not hold numbers."""

_UNITS = (
    "subject|subj|patient|person|participant|respondent|individual|animal|household|town|firm|"
    "student|pupil|litter"
)
_NAME_OF_UNIT = re.compile(
    rf"(?:.*[^a-z])?(?:{_UNITS}|"
    rf"(?:{_UNITS}|case|doc|fam|family|game|hh|int|interview|obs|pat|pers|rec|record|resp|row|seq)"
    r"[^a-z]?(?:id|no|nr|num|number)\.?)",
    re.IGNORECASE,
)
"""Those who were measured; not in the plural, which may be their number."""

_SENTINELS = frozenset(
    sign * float(str(digit) * length) for sign in (1, -1) for digit in (7, 8, 9)
    for length in range(2, 7)
) | frozenset(
    sign * (10.0**length - less) for sign in (1, -1) for less in (1, 2, 3)
    for length in range(2, 5)
) | frozenset(map(float, (*range(-9, 0), 7, 8, 9)))  # fmt: skip
"""Numbers that conventionally say why there is no value."""

MOST_CODED = 1 / 3
"""A number in a larger share of the rows is a state, whatever it means."""


def objections_to(
    column: Column,
    *,
    labelled: bool,
    believed: bool,
    decimal: str = ".",
    signs: frozenset[str] = frozenset(),
    to_cut: bool = False,
    place: Callable[[int], str] = "row {}".format,
) -> list[Objection]:
    """Look at one column.

    Parameters
    ----------
    column
        Its cells.
    labelled
        Its values will be taken as labels, not cut.
    believed
        It was asked for by name: only sentinels are looked for.
    decimal
        What stands before a fraction.
    signs
        What stands before fractions in the columns of the table (:func:`decimal_signs`).
    to_cut
        A rule was given for all columns of numbers, so words among numbers are refused.
    place
        Returns where a row is in the source.
    """
    if not column.n_present:
        return []
    if column.declared or column.numeric is False:
        return [] if believed else _all_different(column) or _missing_words(column)
    found = []
    if not believed and (first := _wrong_kind(column, labelled, decimal, signs, to_cut, place)):
        found.append(first)
    if column.numbers is not None and (codes := _sentinels(column, believed)):
        found = [one for one in found if not one.hint] + codes  # hints once they are missing
    if not found and not believed and labelled:
        found += _many_states(column)
    return found


def dropped(name: str) -> Way:
    """Return the way to leave a column out."""
    return Way("drop", [name], "to leave it out")


def kept(name: str) -> Way:
    """Return the way to take a column as it is."""
    return Way("keep", [name], "to use it as it is")


def leave_out(name: str, seen: str, *more: Way, refused: bool = True) -> Objection:
    """Recommend to leave a column out."""
    ways = (*more, dropped(name), kept(name))
    return Objection(name, seen, ways, (dropped(name),), refused=refused)


def named_badly(column: Column, place: int, columns: Sequence[Column]) -> Objection | None:
    """Say whether a column has no name, or that of an earlier one.

    A first column without a name may hold names of the rows, as R writes them; a last one without
    values comes from lines that end in a separator.
    """
    for other in columns:
        if other is not column and column.name == named_again(other.name, place):
            seen = f"has the name of an earlier column, {other.name!r}"
            if equal_cells(other, column):
                return leave_out(column.name, f"{seen}, and its values")
            way = Way("keep", [column.name], "to use it under this name")
            ways = (way, dropped(column.name))
            return Objection(column.name, seen, ways, (way,), refused=True)
    if column.name not in (unnamed(place), f"Unnamed: {place - 1}"):  # the latter by pandas
        return None
    if not column.n_present and column is columns[-1]:
        way = Way("drop", [column.name])
        seen = "has neither a name nor values: the lines end in a separator"
        return Objection(column.name, seen, (way,), (way,), refused=True)
    distinct = int((column.counts > 0).sum())
    all_differ = column.n_present == distinct == column.n_rows
    if place == 1 and all_differ and not _are_successive_years(column, columns[1:]):
        return leave_out(column.name, "has no name and a distinct value in every row: row names")
    return Objection(column.name, "has no name; give it one", (dropped(column.name),))


def _are_successive_years(column: Column, others: Sequence[Column]) -> bool:
    """Say whether a column holds one year after the other, and no other column has them."""
    if column.numbers is None:
        return False
    low, high = float(column.numbers.min()), float(column.numbers.max())
    years = _are_years(column, low, high) and high - low == column.n_rows - 1
    whole = bool((column.numbers == np.floor(column.numbers)).all())
    return years and whole and not any(equal_cells(other, column) for other in others)


def tell(found: Sequence[Objection], n_columns: int) -> None:
    """Warn about columns that are suspicious; of ``n_columns`` two must be left by the advice."""
    alike: dict[str, list[Objection]] = {}
    for one in found:
        if not one.hint:
            alike.setdefault(f"{one.seen} {one.ways}", []).append(one)
    for first, *others in alike.values():
        who = first.who
        if others:
            who = f"{who.rstrip()} (and {shown_names([other.column for other in others])}) "
        ways = [way for way in first.ways if way.setting != "drop" or n_columns > 2]
        warn(DataWarning(f"{who}{first.seen}{first.example}", *ways))


def counts_in(
    column: Column, others: Sequence[Column], quantities: Collection[str]
) -> Objection | None:
    """Say that a column seems to hold counts, or why it does not although its name says so.

    ``quantities``: columns that are not categories; in a table of counts there are none.
    """
    name = column.name
    if not may_be_counts(column):
        return None
    way = Way("counts", name, "if it says how often each row occurs")
    why_not = why_not_counts(column, others, quantities)
    if not why_not:
        seen = "looks like counts: the other columns never repeat a row"
        return Objection(name, seen, (way, kept(name)), (way,), refused=True)
    if not named_counts(column):
        return None
    return Objection(name, f"is named like counts, but not read as such because {why_not}", (way,))


def _wrong_kind(
    column: Column,
    labelled: bool,
    decimal: str,
    signs: frozenset[str],
    to_cut: bool,
    place: Callable[[int], str],
) -> Objection | None:
    """Say whether a column holds something else than states or quantities."""
    if column.numbers is not None:
        return _padded(column, labelled) or _numbered_rows(column, labelled)
    labels = [label for label, n in zip(column.labels(), column.counts, strict=True) if n]
    rows = column.n_present
    most = len(labels) >= (_NEARLY_ALL if rows > MANY_STATES else 1.0) * rows and rows > FEW_ROWS
    name, example = column.name, min(labels)
    if found := _written_numbers(name, labels, decimal, signs, most):
        return found
    if len(labels) > 2 and sum(map(is_date, labels)) >= 0.95 * len(labels):
        return _dates(column, labels, most)
    if words := _words_among_numbers(column, decimal):
        return apart_from(column, words, place, refused=most or to_cut)
    if len(labels) > MANY_STATES and 2 * len(labels) >= rows:
        long = sum(len(label.split()) > 2 for label in labels)
        if 2 * long >= len(labels):
            short = example if len(example) < 30 else example[:29] + "…"
            seen = f"is free text: {len(labels)} distinct values in {rows} rows"
            return replace(leave_out(name, seen), example=f", such as {short!r}")
    if most:
        count = f"all {rows}" if len(labels) == rows else f"{len(labels)} of {rows}"
        seen = f"is an identifier: {count} values are distinct"
        return replace(leave_out(name, seen), example=f", such as {example!r}")
    return None


def apart_from(
    column: Column,
    words: Sequence[str],
    place: Callable[[int], str],
    *,
    refused: bool,
    cut: bool = False,
) -> Objection:
    """Say that a column holds numbers apart from some words, and where the first of them is.

    ``cut``: it was asked to discretise this column, so it cannot be kept as it is.
    """
    name, shown = column.name, ", ".join(repr(word) for word in words)
    way = Way("na", [f"{name}={word}" for word in words], "if that means missing")
    other = (dropped(name), *(() if cut else (kept(name),))) if refused else ()
    seen = f"{'is to be discretised, but ' if cut else ''}holds numbers, apart from {shown}"
    where = first_cell(column, words, place)
    return Objection(name, seen, (way, *other), (way,), refused=refused, example=where)


def first_cell(column: Column, labels: Collection[str], place: Callable[[int], str]) -> str:
    """Return where the first cell with one of the labels is, in brackets; nothing if none is."""
    codes = [code for code, label in enumerate(column.labels()) if label in labels]
    rows = np.flatnonzero(np.isin(column.to_codes(), codes))
    if not len(rows):
        return ""
    row = int(rows[0])
    label = column.labels()[int(column.part(row, row + 1)[0])]
    which = f"{label!r}, " if len(codes) > 1 else ""
    return f" ({'' if len(rows) == 1 else 'first: '}{which}{place(row)})"


def _dates(column: Column, labels: Sequence[str], most: bool) -> Objection:
    """Say that a column holds dates, which are quantities if they can be read."""
    name, example = column.name, min(labels)
    seen = (
        "holds dates, nearly all different"
        if most
        else f"holds {len(labels)} dates, each a state of its own"
    )
    example = f", such as {example}"
    if dates_in(labels) is None:
        seen = f"{seen}; day and month cannot be told apart, or a date does not exist"
        if most or column.n_present < ROWS_A_STATE * len(labels):
            return replace(leave_out(name, seen, refused=most), example=example)
        return Objection(name, seen, (dropped(name),), example=example)
    part, *rest = varying_parts(labels) or [""]
    others = f"(or {', '.join(rest)}) " if rest else ""
    ways = (
        Way("discretize", f"{name}=mdl", "to treat it as a quantity"),
        *([Way("discretize", f"{name}={part}", f"{others}for a part of it")] if part else []),
        dropped(name),
    )
    return Objection(name, seen, ways, ways[:1], refused=most, example=example)


def _padded(column: Column, labelled: bool) -> Objection | None:
    """Say that whole numbers are codes: all have as many digits, and some begin with 0."""
    labels = column.texts
    lengths, name = {len(label) for label in labels}, column.name
    padded = sorted(label for label in labels if label[0] == "0")
    if labelled or not padded or len(lengths) > 1 or not all(map(str.isdecimal, labels)):
        return None
    states, rows = int((column.counts > 0).sum()), column.n_present
    seen = f"holds {states} codes in {rows} rows: numbers that begin with 0"
    cut = Way("discretize", f"{name}=mdl", "if it is a quantity")
    if rows < ROWS_A_STATE * states:
        found = leave_out(name, seen, cut, refused=False)
    else:
        way = Way("categorical", [name])
        found = Objection(name, seen, (way, cut), (way,))
    return replace(found, hint=True, example=f", such as {padded[0]}")


def _numbered_rows(column: Column, labelled: bool) -> Objection | None:
    """Say whether whole numbers count the rows, or number them nearly without repetition."""
    rows, name = column.n_present, column.name
    observed = np.empty(0) if column.numbers is None else column.numbers[column.counts > 0]
    if rows <= FEW_ROWS or not (observed == np.floor(observed)).all():
        return None
    distinct = len(np.unique(observed))
    low, high = float(observed.min()), float(observed.max())
    in_sequence = distinct == rows and high - low == rows - 1
    if _are_years(column, low, high) and (in_sequence or _NAME_OF_YEAR.fullmatch(name)):
        return _quantity(column, f"holds the years {low:.0f} to {high:.0f}") if labelled else None
    rules = ("mdl", f"{name}=mdl") if labelled else ("mdl",)
    cut = Way(
        "keep",
        [name],
        "if it is a quantity",
        also=Way("discretize", rules[0] if len(rules) == 1 else list(rules)),
    )
    if in_sequence:
        seen = f"looks like an identifier: it numbers the rows from {low:.0f} to {high:.0f}"
        found = replace(leave_out(name, seen), ways=(dropped(name), cut))
        why = _why_a_quantity(column, low)
        if why and not _NAME_OF_ID.fullmatch(name):
            advice = (Way("keep", [name]), *(Way("discretize", rule) for rule in rules))
            why = f"treated as a quantity because {why}"
            return replace(found, ways=(dropped(name),), advice=advice, why=why)
        return found
    blocks = distinct > MANY_STATES and not _NAME_OF_TIME.fullmatch(name) and _in_blocks(column)
    codes = not blocks and _NAME_OF_CODE.fullmatch(name)
    if not labelled and codes and rows >= ROWS_A_STATE * distinct:
        way = Way("categorical", [name])
        seen = f"has {distinct} numbers, and its name suggests codes"
        cut = Way("discretize", f"{name}=mdl", "if it is a quantity")
        return Objection(name, seen, (way, cut), (way,), hint=True)
    if identifier := _identifier(column, distinct, low, labelled, cut, blocks):
        return identifier
    different = _all_different(column) if labelled else []
    if different:
        return different[0]
    return _few_numbers(column, distinct) if labelled else None


def _identifier(
    column: Column, distinct: int, low: float, labelled: bool, cut: Way, blocks: bool
) -> Objection | None:
    """Say whether whole numbers identify rows, or those who were measured.

    They do by their name, unless there are at most 20 and enough rows for each to be a state; or if
    there are more and each fills as many successive rows as every other (``blocks``).
    """
    rows, name = column.n_present, column.name
    nearly = distinct >= _NEARLY_ALL * rows
    named = (
        _NAME_OF_ID.fullmatch(name)
        or _NAME_OF_UNIT.fullmatch(name)
        or (nearly and _NAME_OF_CODE.fullmatch(name))
        or blocks
    )
    crowded = distinct > MANY_STATES or (distinct > FEW_STATES and rows < ROWS_A_STATE * distinct)
    if low < 0 or not named or not crowded:
        return None
    seen = (
        f"looks like an identifier: {distinct} of {rows} values are distinct"
        if nearly
        else _units(distinct, rows)
    )
    found = leave_out(name, seen, refused=nearly or not labelled)
    return replace(found, ways=(dropped(name), cut), example=f", such as {low:.0f}" * nearly)


def _units(distinct: int, rows: int) -> str:
    """Say what it means that a column tells who was measured."""
    return (
        f"identifies {distinct:,} units in {rows:,} rows: rows are not independent, so margins and "
        "support are overstated"
    )


def _in_blocks(column: Column) -> bool:
    """Say whether each number fills as many successive rows as every other, and not a few."""
    changes = np.count_nonzero(np.diff(column.to_codes()))
    return are_levels(column) and changes == np.count_nonzero(column.counts) - 1


def _few_numbers(column: Column, distinct: int) -> Objection | None:
    """Decide whether a small number of distinct whole numbers are states or a quantity."""
    rows, name = column.n_present, column.name
    if distinct > MANY_STATES or distinct <= FEW_STATES:
        return None
    if rows < ROWS_A_STATE * distinct:
        return _quantity(column, f"has {distinct} numbers in {rows} rows")
    if distinct <= HARDLY_A_SCALE:
        return None
    numbers = column.observed()[0]
    months = _NAME_OF_MONTH.fullmatch(name) and numbers.min() >= 0 and numbers.max() <= 12
    kinds = () if name.lower() in _YEARS_AT else (_NAME_OF_CODE, _NAME_OF_ID, _NAME_OF_UNIT)
    if months or any(kind.fullmatch(name) for kind in kinds):
        seen = "and its name suggests categories"
    elif are_levels(column) and not _NAME_OF_TIME.fullmatch(name):
        seen = "each in as many rows as every other: levels of a design"
    else:
        return _quantity(column, f"has {distinct} whole numbers, and nothing suggests categories")
    way = Way("categorical", [name])
    cut = Way("discretize", f"{name}=mdl", "if it is a quantity")
    seen = f"has {distinct} whole numbers, {seen}"
    return Objection(name, seen, (way, cut), (way,), hint=True)


def are_levels(column: Column) -> bool:
    """Say whether each value is in as many rows as every other, and not in a few."""
    counts = column.counts[column.counts > 0]
    return bool((counts == counts[0]).all()) and counts[0] >= ROWS_A_STATE


def _why_a_quantity(column: Column, low: float) -> str:
    """Return why numbers without gaps are not those of the rows; nothing if they may be."""
    if low > 1 or low < 0:
        return f"it begins with {low:.0f}"
    if _NAME_OF_TIME.fullmatch(column.name):
        return "of its name"
    codes = column.to_codes()
    numbers = np.empty(0) if column.numbers is None else column.numbers[codes[codes >= 0]]
    return "" if bool((np.diff(numbers) > 0).all()) else "the rows are in another order"


def _are_years(column: Column, low: float, high: float) -> bool:
    return YEARS[0] <= low and high <= YEARS[1] and high - low > FEW_STATES


def _quantity(column: Column, seen: str) -> Objection:
    """Recommend to discretise numbers that would be taken as labels."""
    rule = f"{column.name}=mdl"
    ways = (Way("discretize", rule), Way("categorical", [column.name], "if they are categories"))
    return Objection(column.name, seen, ways, ways[:1], hint=True)


def _all_different(column: Column) -> list[Objection]:
    """Say that no value occurs twice."""
    rows, name = column.n_present, column.name
    if rows <= FEW_ROWS or int((column.counts > 0).sum()) < rows:
        return []
    seen = f"has {rows} different values in {rows} rows"
    if column.numbers is not None:
        way = Way("discretize", f"{name}=mdl", "to discretise it into fewer states")
        return [Objection(name, seen, (way, dropped(name)), (way,))]
    return [leave_out(name, f"{seen}; an identifier cannot inform other columns", refused=False)]


def _sentinels(column: Column, believed: bool) -> list[Objection]:
    """Find numbers that stand for something else, far away from those that are quantities."""
    if column.numbers is None:
        return []
    found = []
    codes, rest = _far_away(np.unique(column.numbers[column.counts > 0]))
    for value in codes:
        cells = int(column.counts[column.numbers == value].sum())
        few = abs(value) < 10 and column.n_present < ROWS_A_STATE * (len(codes) + len(rest))
        if few or cells > MOST_CODED * column.n_present:
            continue
        seen = (
            f"holds {value:.0f} in {counted(cells, 'cell')}, far from the others "
            f"({rest[0]:g} to {rest[-1]:g})"
        )
        way = Way("na", [f"{column.name}={value:.0f}"], "if it means missing")
        other = Way("keep", [column.name], "if it is a number like the others")
        advice = () if believed else (way,)
        found.append(Objection(column.name, seen, (way, *((other,) if advice else ())), advice))
    return found


def _far_away(values: Floats) -> tuple[list[float], Floats]:
    """Return the codes at the ends of rising numbers that a gap separates, and the other numbers.

    Codes stand together (97, 98, 99), so all of an end are taken off before the gap is looked at.
    Of single digits one is 9 or at most −7, and the other numbers are without gaps, as answers are.

    >>> _far_away(np.array([0.0, 1, 2, 3, 98, 99]))[0], _far_away(np.array([1.0, 2, 4, 8]))[0]
    ([98.0, 99.0], [])
    """
    is_code = np.isin(values, list(_SENTINELS))
    if is_code.all():
        return [], values
    first, last = int((~is_code).argmax()), len(values) - int((~is_code)[::-1].argmax())
    low, rest, high = values[:first], values[first:last], values[last:]
    if len(rest) < 2:
        return [], values
    spread, found = rest[-1] - rest[0], list[float]()
    answers = spread == len(rest) - 1 and bool((rest == np.floor(rest)).all())
    for codes, nearest, gap in ((low, low[-1:], rest[0]), (high, high[:1], rest[-1])):
        if not len(codes):
            continue
        digits = bool((np.abs(codes) < 10).any())
        if abs(gap - nearest[0]) > spread and (
            not digits or (answers and (codes[-1] >= 9 or codes[0] <= -7))
        ):
            found += codes.tolist()
    return found, rest


def coded_by_others(found: Sequence[Objection], columns: Sequence[Column]) -> list[Objection]:
    """Take back objections to numbers that another column determines: they mean something."""
    by_name = {column.name: column for column in columns}
    marks, places = [], []
    for i, one in enumerate(found):
        column = by_name.get(one.column)
        na = next((way.value for way in one.ways if way.setting == "na"), None)
        if column is not None and column.numbers is not None and isinstance(na, list):
            value = np.append(column.numbers == float(str(na[0]).rpartition("=")[2]), False)
            marks.append((column, value[column.to_codes()]))
            places.append(i)
    reasons = explained(marks, columns)
    meant = {
        i for i, one in zip(places, reasons, strict=True) if one is not None and one.determines
    }
    return [one for i, one in enumerate(found) if i not in meant]


def _missing_words(column: Column) -> list[Objection]:
    """Name declared states that are words for missing."""
    counted = zip(column.labels(), column.counts, strict=True)
    words = words_for_missing([label for label, n in counted if n])
    return [
        Objection(column.name, f"has the state {word!r}", (way,), (way,))
        for word in sorted(words)
        for way in [Way("na", [word], "if it means missing")]
    ]


def _many_states(column: Column) -> list[Objection]:
    """Say that a column of labels tells who was measured, or has few rows for each."""
    states, rows, name = int((column.counts > 0).sum()), column.n_present, column.name
    units = column.numbers is None and (
        _NAME_OF_ID.fullmatch(name) or _NAME_OF_UNIT.fullmatch(name)
    )
    if states <= MANY_STATES or not (units or rows < ROWS_A_STATE * states):
        return []
    few = f"has {states} states in {rows} rows, too few rows per state to learn from"
    found = leave_out(name, _units(states, rows) if units else few, refused=False)
    if column.numbers is not None:
        way = Way("discretize", f"{name}=mdl", "to discretise it into fewer states")
        found = replace(found, ways=(way, *found.ways), advice=(way,))
    return [found]


def _written_numbers(
    name: str, labels: Sequence[str], decimal: str, signs: frozenset[str], most: bool
) -> Objection | None:
    """Say that labels are numbers written with commas, %, a currency, a unit or thousands."""
    digits = bare_digits(labels)
    if digits is None or len(labels) <= 2:
        return None
    means = commas_mean(digits) if decimal == "." else None
    if means == "unclear" and len(signs) == 1:
        means = "fraction" if "," in signs else "thousands"
    commas = [label for label in labels if "," in label]
    cut = Way("discretize", f"{name}=mdl", "to treat it as a quantity")
    others = (Way("categorical", [name], "if they are labels"), dropped(name))
    if means == "fraction":
        way = Way("decimal", ",", "to read them as numbers")
        seen = (
            f"looks like numbers with decimal commas ({min(commas)}), which are treated as labels"
        )
        ways = (way, *(others if most else ()))
        return Objection(name, seen, ways, (way,), refused=most)
    if means == "unclear":
        seen = "holds numbers with commas, before thousands or before fractions"
        ways = (
            replace(cut, effect="if they separate thousands"),
            Way("decimal", ",", "if fractions follow them"),
            *others,
        )
        many, example = most or len(labels) > MANY_STATES, f", such as {min(commas)}"
        return Objection(name, seen, ways, refused=many, example=example)
    numbers = amounts_in(labels, decimal)
    if numbers is None:
        return None
    whole = bool((numbers == np.floor(numbers)).all())
    if not most and len(labels) <= (MANY_STATES if whole else FEW_STATES):
        return None
    seen = f"holds {len(labels)} amounts written as text"
    example = f", such as {min(labels)}"
    return Objection(name, seen, (cut, *others), (cut,), refused=most, example=example)


def commas_mean(digits: Sequence[str]) -> Literal["thousands", "fraction", "unclear"] | None:
    """Say what the commas in numbers stand before, by all numbers of a column.

    ``1,234`` may be either. A second comma, or a point, says thousands; another number of digits
    after it, or a zero before it, a fraction. Where numbers below 1000 have no comma, as thousands
    are written, and others end in 0, which fractions without it would not, it is thousands.

    >>> commas_mean(["1,234", "12,500", "750"]), commas_mean(["1,5", "2"]), commas_mean(["1,234"])
    ('thousands', 'fraction', 'unclear')
    """
    commas = [text for text in digits if "," in text]
    others = [text for text in digits if "," not in text]
    if not commas:
        return None
    grouped = all(map(_GROUPED.fullmatch, commas))
    if not all(map(_DECIMAL_COMMA.fullmatch, digits)):
        return "thousands" if grouped else None
    if not grouped:
        return "fraction"
    small = bool(others) and all(len(text.lstrip("+-")) < 4 for text in others)
    return "thousands" if small and any(text[-1] == "0" for text in commas) else "unclear"


def decimal_signs(columns: Sequence[Column]) -> frozenset[str]:
    """Return what stands before fractions in those columns of text where it is clear."""
    found = set[str]()
    for column in columns:
        if column.declared:
            continue
        if column.numbers is not None:
            found |= {"."} if any("." in label for label in column.texts) else set()
        elif (digits := bare_digits(column.texts)) and commas_mean(digits) == "fraction":
            found.add(",")
    return frozenset(found)


def asked_about(found: Sequence[Objection]) -> list[str]:
    """Return the columns whose commas have two meanings, which nothing is recommended for."""
    return [
        one.column for one in found
        if one.refused and not one.advice and any(way.setting == "decimal" for way in one.ways)
    ]  # fmt: skip


def not_numbers(column: Column, decimal: str) -> tuple[list[str], list[str]]:
    """Return the labels that are numbers, and the others if they are in few cells."""
    kinds, others = list[str](), list[str]()
    cells = 0
    for label, count in zip(column.labels(), column.counts.tolist(), strict=True):
        if not count:
            continue
        if numbers_in([label], decimal) is None:
            others.append(label)
        else:
            kinds.append(label)
            cells += count
    few = cells >= _NEARLY_ALL * int(column.counts.sum())
    return kinds, sorted(others) if few else []


def _words_among_numbers(column: Column, decimal: str) -> list[str]:
    """Return the few labels that keep a column from being numbers; none if it holds codes."""
    kinds, others = not_numbers(column, decimal)
    fractions = any(decimal in kind for kind in kinds)
    if not 0 < len(others) <= _MOST_WORDS or not (fractions or len(kinds) > MANY_STATES):
        return []
    return [] if not fractions and _are_codes(column, others) else others


def _are_codes(column: Column, words: Sequence[str]) -> bool:
    """Say whether words among whole numbers are codes, not typing errors."""
    if not all(_CODE.fullmatch(word) and not _MISTYPED.fullmatch(word) for word in words):
        return False
    count = dict(zip(column.labels(), column.counts.tolist(), strict=True))
    cells = [int(count[word]) for word in words]
    several = len(words) >= FEW_CODES and sum(cells) >= SHARE_OF_CODES * column.n_present
    usual = column.n_present / int((column.counts > 0).sum())
    return several or min(cells) > max(usual, 1.0)
