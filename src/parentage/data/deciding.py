"""Decide what the columns of a source mean, and write it down as a recipe.

The stage between reader and table, the same for every source, in this order:

1. *Drop* the columns named; a column of *counts* says how often each row occurs.
2. *Missing values.* Cells with a value that was named as missing, and cells of text with a word
   such as ``NA``, ``N/A``, ``NaN``, ``null`` …, are blanked.
3. *Numbers.* A column is numeric when the source declares it so, or when nothing is declared and
   all its values are numbers.
4. *Continuous* columns: numeric by declaration, or undeclared with more than 20 distinct numbers or
   with one that is not whole (unless there are at most 5, each in 10 rows on average); but not if
   they were named as categories. A column that was named with a rule is discretised in any case,
   or becomes a part of its dates.
5. *Suspicion* (:mod:`parentage.data.suspicion`): identifiers and free text are refused.
6. *Missing* cells: refused (``error``), their rows left out (``drop``), a state of their own
   (``state``), filled (``mode``: with the mode, ties to the first in state order; in a
   continuous column with the median of its observed values), or kept for the methods
   that can deal with them (``pnal``, ``em``).
7. Continuous columns are *discretised* (:mod:`parentage.data.discretize`), or refused when
   no rule is given.
8. *States*: as declared, used or not; else the observed labels, sorted (numbers by value).

What is refused is collected (:func:`settle`): every objection comes with advice, the advice is
followed until the table can be used, and the user is told all of it at once, or with ``auto`` what
was decided. Nothing is done to the cells here: :mod:`parentage.data.applying` follows the recipe.

On the command line a name may stand alone, several between commas, or before ``=``; names may hold
commas and ``=`` themselves. So what is typed is compared with the names that are there.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from parentage.data import discretize, missingness, relations, suspicion
from parentage.data.applying import check_rows, complete_rows, fresh_label, read_as
from parentage.data.columns import (
    Column,
    RawTable,
    column_of,
    date_part,
    number_label,
    numbers_in,
    unnamed,
    with_counts,
    without_values,
    words_for_missing,
)
from parentage.data.discretize import PARTS, Discretizer, codes_of, interval_labels, median
from parentage.data.recipe import ColumnRecipe, Decision, Recipe
from parentage.data.settings import (
    EVERY,
    OF_FILES,
    SEVERAL,
    WAYS,
    Reading,
    missing_values,
    ways_for_missing,
)
from parentage.data.table import Table, sorted_states
from parentage.errors import (
    READER,
    DecisionWarning,
    InputError,
    Objection,
    TableError,
    UndecidedError,
    Way,
    counted,
    did_you_mean,
    distinct,
    shown_names,
    warn,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


@dataclass(frozen=True)
class ColumnChoice:
    """What was asked for one column.

    Parameters
    ----------
    dropped, kept
        Left out; kept even if it looks like an identifier or free text.
    na
        Values that mean missing in this column.
    categorical
        Its numbers are categories; ``by_name``: because the column itself was named.
    rule
        How it is discretised if it is continuous; in any case if ``by_name``.
    by_name
        The rule or the category was asked for this column, not for all.
    """

    dropped: bool
    kept: bool
    na: tuple[str, ...]
    categorical: bool
    rule: Discretizer | None
    by_name: bool

    @property
    def part(self) -> str | None:
        """The part of its dates that is asked for, if one is."""
        rule = self.rule if self.by_name else None
        return rule.rule if rule is not None and rule.rule in PARTS else None


def choices_of(reading: Reading, names: Sequence[str]) -> dict[str, ColumnChoice]:
    """Look up what was asked for; names that are not there are refused."""
    dropped = set(named_columns(reading.drop, names, "drop"))
    kept = set(named_columns(reading.keep, names, "keep"))
    if both := dropped & kept:
        raise InputError(f"column {min(both)!r} is both dropped and kept; choose one")
    every = EVERY in reading.categorical and EVERY not in names
    listed = [name for name in reading.categorical if not (every and name == EVERY)]
    categories = set(named_columns(listed, names, "categorical"))
    general, rules = _rules(reading.discretize or (), names)
    if both := categories & set(rules):
        raise InputError(f"column {min(both)!r} is both discretised and categorical; choose one")
    if reading.counts in dropped | kept | categories | set(rules):
        raise InputError(
            f"column {reading.counts!r} holds the counts, and another setting "
            "uses it as well; choose one"
        )
    everywhere, by_column = missing_values(reading.na or (), names)
    return {
        name: ColumnChoice(
            dropped=name in dropped,
            kept=name in kept,
            na=(*everywhere, *by_column.get(name, ())),
            categorical=name in categories or (every and name not in rules),
            rule=rules.get(name, general),
            by_name=name in rules or name in categories,
        )
        for name in names
    }


def named_columns(given: Iterable[str], names: Sequence[str], setting: str) -> list[str]:
    """Return the columns that are named, alone or several between commas.

    >>> named_columns(["a,b", "c,d"], ["a", "b", "c,d"], "drop")
    ['a', 'b', 'c,d']
    """
    verbs = {"drop": "to drop", "keep": "to keep", "categorical": "to treat as categories"}
    known, found = set(names), list[str]()
    for text in given:
        nameless = [name for place, name in enumerate(names, 1) if name == unnamed(place)]
        if not text and nameless:
            found += nameless
            continue
        parts = [text] if text in known else [part.strip() for part in text.split(",")]
        if len(parts) > 1 and not any(part in known for part in parts):
            parts = [text]
        for name in parts:
            if name not in known:
                raise TableError(
                    f"no column {name!r} {verbs[setting]}; {did_you_mean(name, names)}"
                )
            found.append(name)
    return found


def _rules(
    given: Iterable[str], names: Sequence[str]
) -> tuple[Discretizer | None, dict[str, Discretizer]]:
    """Return the rule for all continuous columns (the last one given) and those by column."""
    general: str | None = None
    by_name: dict[str, Discretizer] = {}
    for text in given:
        name, equals, rule = text.rpartition("=")
        if not equals:
            general = text
        elif name not in names:
            raise TableError(f"no column {name!r} to discretise; {did_you_mean(name, names)}")
        else:
            by_name[name] = Discretizer.parse(rule, column=name)
    return None if general is None else Discretizer.parse(general), by_name


Missing = Literal["error", "drop", "state", "mode", "pnal", "em"]

MAX_NUMERIC_STATES = 20
"""A column of more distinct numbers than this is continuous."""

FEW_FRACTIONS, ROWS_A_FRACTION = 5, 10
"""A column of at most 5 numbers, each in 10 rows on average, holds states, also if they are not
whole: 0, 0.5 and 1."""

MARKS = frozenset({"NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "NULL", "null"})
"""Words that mean a missing value and nothing else; a table that has one does not write None."""

_MOST_ROUNDS = 12
"""Rounds in which decisions that depend on earlier ones are taken, at most."""

_MOST_TOLD = 12
"""Lines about decisions that ``auto`` took, at most."""


@dataclass(frozen=True)
class Looked:
    """The columns of a table as they are understood, before anything is made of them.

    Parameters
    ----------
    raw
        The rows that count.
    cells
        The columns that are not left out.
    continuous
        Which of them are to be discretised.
    choices
        What was asked for each.
    told
        Objections in spite of which the table can be used.
    """

    raw: RawTable
    cells: list[Column]
    continuous: list[bool]
    choices: Mapping[str, ColumnChoice]
    told: list[Objection]


def settle(
    read: Callable[[Reading], RawTable], reading: Reading, *, ways: Sequence[str] = WAYS
) -> Table:
    """Make a table of a source, with all the decisions that are left to the user collected.

    Parameters
    ----------
    read
        Reads the source with these settings.
    reading
        What was set. With ``auto`` the recommended decisions are taken, else they are reported
        all together.
    ways
        The ways to treat missing values that what is asked for can deal with.

    Raises
    ------
    UndecidedError
        With one call that takes all decisions.
    """
    if not reading.auto:
        try:
            return _table_of(look(read(reading), reading), reading)
        except UndecidedError:
            pass  # all of it is collected below
    settings, objections = replace(reading, auto=False), list[Objection]()
    raw, looked, beyond = None, None, ""
    for _ in range(_MOST_ROUNDS):
        try:
            raw = raw or read(settings)
            looked = look(raw, settings, eager=True, ways=ways)
            break
        except UndecidedError as error:
            objections += error.objections
            decided = _adopted(settings, error.objections)
            if decided == settings:
                beyond = "fewer than 2 columns would be left, and at least 2 are needed"
                if asked := suspicion.asked_about(error.objections):
                    beyond = f"type one of the options for {shown_names(asked, 4)} as well"
                break
            if any(getattr(decided, n) != getattr(settings, n) for n in OF_FILES):
                raw = None
            settings = decided
        except TableError as error:
            if not objections:
                raise
            beyond = error.text(READER.get())
            break
    objections = _merged(objections)
    remedy = _difference(reading, settings)
    if looked is None or raw is None:
        source = "" if raw is None else raw.source
        endless = "the recommended options ask for one another; type one of the alternatives above"
        raise UndecidedError(objections, source, (), beyond or endless)
    if not reading.auto:
        raise UndecidedError(objections, raw.source, remedy)
    decided_ones = [one for one in objections if one.advice]
    table = _table_of(looked, settings, decided_ones)
    if decided_ones:
        warn(DecisionWarning(decided_ones, _MOST_TOLD))
    return table


def _table_of(looked: Looked, reading: Reading, decided: Sequence[Objection] = ()) -> Table:
    """Make the table, and write the decisions into its recipe."""
    suspicion.tell(looked.told, len(looked.cells))
    decisions = tuple(
        Decision(
            one.column,
            f"{one.who}{one.seen}{f', {one.why}' if one.why else ''}",
            one.typed("command line"),
            " or ".join(way.typed("command line") for way in one.others()[:2]),
        )
        for one in decided
    )
    recipe = recipe_for(looked, reading)
    return read_as(recipe, looked.raw, looked.cells, decisions=decisions)


def _merged(objections: Sequence[Objection]) -> list[Objection]:
    """Say once what is recommended for several columns."""
    found: list[Objection] = []
    for one in distinct(objections):
        for i, other in enumerate(found):
            if other.advice and other.advice == one.advice:
                also = f"{other.also}, {one.column}" if other.also else one.column
                found[i] = replace(other, also=also)
                break
        else:
            found.append(one)
    return found


def _adopted(reading: Reading, objections: Sequence[Objection]) -> Reading:
    """Return the settings with what is recommended."""
    values: dict[str, Any] = {}
    for way in (way for one in objections for way in one.advice):
        old = values.get(way.setting, getattr(reading, way.setting))
        if way.setting not in SEVERAL:
            values[way.setting] = way.value
            continue
        more = way.value if isinstance(way.value, list) else [way.value]
        values[way.setting] = tuple(dict.fromkeys([*(old or ()), *more]))
    if counts := values.get("counts"):
        for name in ("drop", "keep"):
            values[name] = tuple(n for n in values.get(name, getattr(reading, name)) if n != counts)
    if kept := set(values.get("keep", reading.keep)):
        values["drop"] = tuple(n for n in values.get("drop", reading.drop) if n not in kept)
    return replace(reading, **values)


def _difference(old: Reading, new: Reading) -> list[Way]:
    """Return what has to be typed besides the old settings to have the new ones."""
    ways = []
    for name in [field.name for field in fields(Reading) if field.name not in ("auto", "recipe")]:
        before, after = getattr(old, name), getattr(new, name)
        if before == after:
            continue
        if name not in SEVERAL:
            ways.append(Way(name, after))
        elif more := [text for text in after or () if text not in (before or ())]:
            ways.append(Way(name, more[0] if name == "discretize" and len(more) == 1 else more))
    return ways


def look(
    raw: RawTable, reading: Reading, *, eager: bool = False, ways: Sequence[str] = WAYS
) -> Looked:
    """Find out what the columns are and what has to be decided about them.

    ``eager``: whatever there is advice for has to be decided, not only what cannot be used as it
    is. ``ways``: see :func:`settle`.

    Raises
    ------
    UndecidedError
        First about columns that are not what they seem; then about missing values and continuous
        columns, which depend on the decisions before.
    """
    check_missing(reading.missing)
    choices = choices_of(reading, raw.names)
    if reading.counts is not None:
        raw = with_counts(raw, reading.counts, reading.decimal)
    check_rows(raw.n_rows)
    columns = _kept(raw.columns, choices)
    marked = _marks_missing(columns)
    cells = [_cells(column, choices[column.name], reading, marked) for column in columns]
    _refuse_text(cells, choices, reading.decimal, raw.place)
    continuous = [_is_continuous(column, choices[column.name]) for column in cells]
    places = {column.name: place for place, column in enumerate(raw.columns, 1)}
    told = _suspicious(cells, continuous, choices, reading.decimal, places, raw.place)
    reasons = dict[str, missingness.Reason]()
    if reading.missing == "error":
        reasons, told = _with_gaps(cells, choices, told, ways)
    told = _leaving_two(told, cells)
    _raise_if_undecided(told, eager)
    later = _empty(cells, reading.missing)
    if reading.missing == "error":
        later += _missing(cells, reasons, raw, reading.words_are_missing, ways)
    to_cut = [c for c, cut in zip(cells, continuous, strict=True) if cut]
    unsaid = [c for c in to_cut if choices[c.name].rule is None]
    later += _undiscretised(unsaid, len(cells))
    _raise_if_undecided(later, eager)
    return Looked(raw, cells, continuous, choices, told)


def _raise_if_undecided(found: Sequence[Objection], eager: bool) -> None:
    if any(one.refused or (eager and one.advice) for one in found):
        raise UndecidedError([one for one in found if eager or not one.hint])


def recipe_for(looked: Looked, reading: Reading) -> Recipe:
    """Decide what the columns become: their states and cut points."""
    choices, columns = looked.choices, looked.cells
    if reading.missing == "drop":
        columns = _complete(columns)
    cuts = _cut_points(columns, looked.continuous, choices)
    made = [
        replace(
            _states(column, cuts[v].points if v in cuts else None, reading.missing),
            rule=cuts[v].rule if v in cuts else choices[column.name].part,
            na=choices[column.name].na,
        )
        for v, column in enumerate(columns)
    ]
    return Recipe(replace(reading, recipe=None), tuple(made))


def _marks_missing(columns: Sequence[Column]) -> bool:
    """Whether a table writes NA, NaN or null for missing values, so that None is a label."""
    return any(not MARKS.isdisjoint(column.texts) for column in columns if not column.declared)


def _cells(column: Column, choice: ColumnChoice, reading: Reading, marked: bool) -> Column:
    """Find out which cells of a column are missing, and which are numbers."""
    na = choice.na
    if reading.words_are_missing and not column.declared and column.numeric is None:
        words = words_for_missing(column.texts)
        if marked and MARKS.isdisjoint(words):
            others = sorted({*column.texts} - words)
            words -= {"None"} if numbers_in(others, reading.decimal) is None else set()
        na = (*na, *words)
    if choice.part is not None:
        return date_part(without_values(column, na, reading.decimal), choice.part)
    quantity = choice.by_name and choice.rule is not None
    return column_of(column, na, reading.decimal, quantity=quantity)


def check_missing(missing: str) -> None:
    """Refuse a way to treat missing cells that is not known."""
    if missing not in get_args(Missing):
        raise InputError(
            f"is not a way to treat missing values; {did_you_mean(missing, get_args(Missing))}",
            about=Way("missing", missing),
        )


def _kept(columns: Sequence[Column], choices: Mapping[str, ColumnChoice]) -> list[Column]:
    """Return the columns that are not left out; refuse those that cannot be read."""
    kept = [column for column in columns if not choices[column.name].dropped]
    seen: dict[str, int] = {}
    unreadable = []
    for column in kept:
        at = next(i for i, c in enumerate(columns, 1) if c is column)
        if column.name in seen:
            raise TableError(
                f"two columns are named {column.name!r} (columns {seen[column.name]} and {at})",
                "rename one of them",
            )
        seen[column.name] = at
        if column.refused is not None:
            way = Way("drop", [column.name])
            unreadable.append(Objection(column.name, column.refused, (way,), (way,), refused=True))
    if unreadable:
        raise UndecidedError(unreadable)
    if len(kept) < 2:
        raise TableError(f"fewer than 2 of {len(columns)} columns are left; at least 2 are needed")
    return kept


def _missing(
    columns: Sequence[Column],
    reasons: Mapping[str, missingness.Reason],
    raw: RawTable,
    words: bool,
    possible: Sequence[str],
) -> list[Objection]:
    """Object to missing values, with the possible ways to treat them.

    ``words``: those with a word such as ``NA`` are among them.
    """
    gaps = [(int((~c.present).argmax()), c) for c in columns if c.n_missing and c.n_present]
    if not gaps:
        return []
    row, column = min(gaps, key=lambda gap: gap[0])
    total = sum(c.n_missing for _, c in gaps)
    held = _text_at(column.name, row, raw)
    place = f"column {column.name!r}, {raw.place(row)}{'' if held is None else f': {held!r}'}"
    where = counted(len(gaps), "column")
    seen = f"{total:,} missing values in {where} (first: {place})"
    if total == 1:
        seen = f"1 missing value ({place})"
    best, why = missingness.advice_on_missing([c for _, c in gaps], reasons, possible)
    ways = ways_for_missing(name for name in WAYS if name in possible)
    ways += _words_as_states([c.name for _, c in gaps], raw) if words else []
    return [Objection("", seen, tuple(ways), (Way("missing", best),), why, refused=True)]


def _words_as_states(names: Sequence[str], raw: RawTable) -> list[Way]:
    """Offer to take words for missing as states, if these columns hold some."""
    found = set[str]()
    for column in raw.columns:
        if column.name in names and not column.declared:
            found |= words_for_missing(column.texts)
    shown = ", ".join(sorted(found))
    verb = "is a state" if len(found) == 1 else "are states"
    return [Way("na", [], f"if {shown} {verb}")] if found else []


def _text_at(name: str, row: int, raw: RawTable) -> str | None:
    """Return what a cell that is treated as missing holds in the source; None: nothing."""
    column = raw.named(name)
    code = int(column.part(row, row + 1)[0])
    return None if code < 0 else column.labels()[code]


def _complete(columns: Sequence[Column]) -> list[Column]:
    """Leave out the rows in which a cell is missing; refuse if fewer than two are left."""
    left = [column for column in complete_rows(columns) if column is not None]
    if left[0].n_rows < 2:
        emptiest = min(columns, key=lambda column: column.n_present)
        raise TableError(
            f"leaves {left[0].n_rows} of {columns[0].n_rows} rows, and at least 2 are needed",
            Way("missing", "pnal"),
            Way("missing", "em"),
            Way("missing", "state"),
            *_leave_out(
                emptiest.name, len(columns), "to leave out the column with most missing values"
            ),
            about=Way("missing", "drop"),
        )
    return left


def _refuse_text(
    columns: Sequence[Column],
    choices: Mapping[str, ColumnChoice],
    decimal: str,
    place: Callable[[int], str],
) -> None:
    """Refuse a rule for a column that holds text; the message names the first such cell."""
    few = list[Objection]()
    for column in columns:
        choice = choices[column.name]
        asked = choice.by_name and choice.rule is not None and choice.part is None
        if not asked or choice.categorical or column.numbers is not None:
            continue
        kinds, words = suspicion.not_numbers(column, decimal)
        if not words:
            held = suspicion.first_cell(column, {*column.labels()}.difference(kinds), place)
            raise TableError(
                f"column {column.name!r} is to be discretised, but holds neither numbers nor dates"
                f"{held}"
            )
        few.append(suspicion.apart_from(column, words, place, refused=True, cut=True))
    if few:
        raise UndecidedError(few)


def _is_continuous(column: Column, choice: ColumnChoice) -> bool:
    """Whether a column is to be discretised, or refused because no rule was given."""
    if choice.categorical:
        return False
    if choice.by_name and choice.rule is not None:
        return choice.part is None
    if column.numbers is None or column.numeric is not None:
        return column.numeric is True
    observed = column.numbers[column.counts > 0]
    whole = bool((observed == np.floor(observed)).all())
    distinct = len(np.unique(observed))
    if not whole and distinct <= FEW_FRACTIONS and column.n_present >= ROWS_A_FRACTION * distinct:
        return False
    return not whole or distinct > MAX_NUMERIC_STATES


def _suspicious(
    columns: Sequence[Column],
    continuous: Sequence[bool],
    choices: Mapping[str, ColumnChoice],
    decimal: str,
    places: Mapping[str, int],
    row_place: Callable[[int], str],
) -> list[Objection]:
    """Return the objections to columns that are not what they seem."""
    found: list[Objection] = []
    signs = suspicion.decimal_signs(columns)
    for column, cut in zip(columns, continuous, strict=True):
        choice = choices[column.name]
        believed = choice.kept or choice.by_name
        place = places[column.name]
        named = None if believed else suspicion.named_badly(column, place, columns)
        if named is not None:
            found.append(named)
        if named is None or not named.refused:
            found += suspicion.objections_to(
                column,
                labelled=not cut,
                believed=believed,
                decimal=decimal,
                signs=signs,
                to_cut=choice.rule is not None and not choice.categorical,
                place=row_place,
            )
    found = suspicion.coded_by_others(found, columns)
    doubtful = {one.column for one in found if one.refused}
    quantities = {column.name for column, cut in zip(columns, continuous, strict=True) if cut}
    levels = {
        column.name for column in columns if column.n_present and suspicion.are_levels(column)
    }
    for one in found:
        if any(way.setting == "discretize" for way in one.advice) and one.column not in levels:
            quantities.add(one.column)
    for column in columns:
        choice = choices[column.name]
        if choice.kept or choice.by_name or len(column.repeats):
            continue
        others = [c for c in columns if c is not column and c.name not in doubtful]
        if (counts := suspicion.counts_in(column, others, quantities)) is not None:
            found = [one for one in found if not (counts.refused and one.column == column.name)]
            found.append(counts)
    going = _going(found)
    plain = [c for c in columns if c.name not in doubtful | going and not choices[c.name].kept]
    following = relations.follow_from_others(plain, quantities)
    following = [one for one in following if not choices[one.column].by_name]
    left_out = {one.column for one in following if one.advice}
    return [one for one in found if not (one.hint and one.column in left_out)] + following


def _with_gaps(
    columns: Sequence[Column],
    choices: Mapping[str, ColumnChoice],
    told: Sequence[Objection],
    ways: Sequence[str],
) -> tuple[dict[str, missingness.Reason], list[Objection]]:
    """Find out on which column it depends where another is missing, of those that are to stay.

    Added to what was told are objections to columns better left out for what is missing; they
    replace others.
    """
    going = _going(told)
    staying = [column for column in columns if column.name not in going]
    gaps = [column for column in staying if column.n_missing and column.n_present]
    reasons = missingness.where_missing(gaps, staying)
    more = [
        one
        for one in missingness.better_left_out(gaps, reasons, ways)
        if not (choices[one.column].kept or choices[one.column].by_name)
    ]
    names = {one.column for one in more}
    return reasons, [*(one for one in told if one.column not in names), *more]


def _going(found: Sequence[Objection]) -> set[str]:
    """Return the columns that the advice leaves out."""
    return {one.column for one in found if any(way.setting == "drop" for way in one.advice)}


def _leaving_two(found: Sequence[Objection], columns: Sequence[Column]) -> list[Objection]:
    """Take back advice to leave columns out, if fewer than two would be left."""
    going = _going(found)
    if not going or len(columns) - len(going) >= 2:
        return list(found)
    return [
        replace(one, advice=(), ways=tuple(way for way in one.ways if way.setting not in gone))
        if one.column in going
        else one
        for one in found
        for gone in [("drop",) if one.refused else ("drop", "keep")]
    ]


def _undiscretised(columns: Sequence[Column], n_columns: int) -> list[Objection]:
    """Object to continuous columns without a rule that discretises them."""
    if not columns:
        return []
    first, *others = columns
    distinct = np.unique(first.observed()[0])
    example = f", such as {number_label(distinct[0])}" if len(distinct) else ""
    more = shown_names([column.name for column in others], 8)
    also = f" (so are {len(others)} others: {more})" if len(others) > 1 else ""
    also = f" (so is {more})" if len(others) == 1 else also
    seen = f"is continuous: {len(distinct)} distinct numbers{example}{also}"
    ways = (
        Way(
            "discretize",
            "mdl",
            "to put cut points where they are most informative about the others",
        ),
        Way("discretize", "median", "(also quantile:K, width:K)"),
        Way("categorical", [first.name], "if its numbers are codes"),
        *_leave_out(first.name, n_columns),
    )
    return [Objection(first.name, seen, ways, ways[:1], refused=True)]


def _empty(columns: Sequence[Column], missing: str) -> list[Objection]:
    """Object to columns without values, unless missing is a state."""
    return [
        Objection(column.name, "has no values at all", (way,), (way,), refused=True)
        for column in columns
        if not column.n_present and missing != "state"
        for way in [Way("drop", [column.name])]
    ]


class _CutPoints(NamedTuple):
    """Cut points of a column, and how they were found, for its recipe."""

    points: tuple[float, ...]
    rule: str


def _cut_points(
    columns: Sequence[Column], continuous: Sequence[bool], choices: Mapping[str, ColumnChoice]
) -> dict[int, _CutPoints]:
    """Find the cut points of every column that is to be discretised, by its number."""
    found: dict[int, _CutPoints] = {}
    together: dict[int, str] = {}
    for v, (column, cut) in enumerate(zip(columns, continuous, strict=True)):
        rule = choices[column.name].rule
        if not cut or rule is None:
            continue
        if rule.rule == "mdl":
            together[v] = str(rule)
        else:
            points = rule.cuts(*column.observed()) if column.n_present else ()
            found[v] = _CutPoints(points, str(rule))
    if together:
        cells = [_as_searched(column, choices[column.name], v in together or v in found)
                 for v, column in enumerate(columns)]  # fmt: skip
        for v, rule_text in together.items():
            points, raise_bic = discretize.mdl_cuts(cells, v)
            no_gain = points and not raise_bic
            found[v] = _CutPoints(points, discretize.AT_MEDIAN if no_gain else rule_text)
    return found


def _as_searched(column: Column, choice: ColumnChoice, cut: bool) -> discretize.SeenColumn:
    """Return a column as the search for cut points sees it."""
    codes = column.to_codes()
    repeats = column.repeats.astype(np.int64) if len(column.repeats) else None
    if not cut or column.numbers is None:
        states = max(len(column.values), 1)
        return discretize.SeenColumn(codes.astype(np.int64), states, repeats=repeats)
    numbers = np.append(column.numbers, np.nan)[codes]  # −1, the last one, is missing
    return discretize.of_numbers(numbers, 2 if choice.rule is None else choice.rule.bins, repeats)


def _states(column: Column, cuts: tuple[float, ...] | None, missing: str) -> ColumnRecipe:
    """Return the states of a column, and the one that missing cells get."""
    if not column.n_present:  # what is missing is its only state
        states = column.labels() if column.declared else []
        label = fresh_label(states)
        return ColumnRecipe(column.name, (*states, label), fill=label)
    if cuts is not None:
        observed, rows = column.observed()
        low, high = number_label(observed.min()), number_label(observed.max())
        states = interval_labels(cuts) if cuts else [low if low == high else f"{low} to {high}"]
        usual = int(codes_of(np.array([median(observed, rows)]), cuts)[0])
    else:
        states, usual = _labels(column)
    fill = states[usual] if missing == "mode" else None
    if missing == "state" and column.n_missing:
        fill = fresh_label(states)
        states = [*states, fill]
    return ColumnRecipe(column.name, tuple(states), cuts, fill=fill)


def _labels(column: Column) -> tuple[list[str], int]:
    """Return the labels that are states, and the most frequent one, the first of several."""
    labels = column.labels()
    if column.declared:
        if len(set(labels)) < len(labels):
            raise TableError(f"column {column.name!r} has two states with the same label")
        return labels, int(column.counts.argmax())
    count: dict[str, int] = {}
    for label, number in zip(labels, column.counts.tolist(), strict=True):
        if number:
            count[label] = count.get(label, 0) + number
    states = sorted_states(count)
    return states, max(range(len(states)), key=lambda k: count[states[k]])


def _leave_out(name: str, n_columns: int, effect: str = "to leave it out") -> list[Way]:
    """Offer to leave a column out, if two are left then."""
    return [Way("drop", [name], effect)] if n_columns > 2 else []
