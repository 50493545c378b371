"""Decide what the columns of a source mean, and write it down as a recipe.

The stage between reader and table, the same for every source, in this order:

1. *Drop* the columns named; a column of *counts* says how often each row occurs.
2. *Missing values.* Cells with a value that was named as missing, and cells of text with a word
   such as ``NA``, ``N/A``, ``NaN``, ``null`` …, are blanked.
3. *Numbers.* A column is numeric when the source declares it so, or when nothing is declared and
   all its values are numbers.
4. *Continuous* columns: numeric by declaration, or undeclared with a number that is not whole or
   with more than 20 distinct numbers; unless they were named as categories. A column that was
   named with a rule is cut whatever its numbers are.
5. *Suspicion* (:mod:`parentage.data.suspicion`): identifiers and free text are refused.
6. *Missing* cells: refused (``error``), their rows left out (``drop``), a state of their own
   (``state``), filled (``mode``: with the mode, ties to the first in state order; in a
   continuous column with the median of its observed values), or kept as holes for the methods
   that can deal with them (``pnal``, ``em``).
7. Continuous columns are *cut* into states (:mod:`parentage.data.discretize`), or refused when
   no rule is given.
8. *States*: as declared, used or not; else the observed labels, sorted (numbers by value).

Nothing is done to the cells here: :mod:`parentage.data.applying` follows the recipe.

On the command line a name may stand alone, several between commas, or before ``=``; names may hold
commas and ``=`` themselves. So what is typed is compared with the names that are there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from parentage.data import mdl, suspicion
from parentage.data.applying import check_rows, complete_rows, fresh_label, read_as
from parentage.data.columns import (
    Column,
    RawColumn,
    RawTable,
    column_of,
    labels_of,
    looks_like_counts,
    number_label,
    with_counts,
    words_for_missing,
)
from parentage.data.discretize import Discretizer, codes_of, interval_labels, median
from parentage.data.recipe import ColumnRecipe, Recipe
from parentage.data.settings import EVERY, Reading, missing_values
from parentage.data.table import Table, sorted_states
from parentage.errors import InputError, TableError, Way, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


@dataclass(frozen=True)
class Choice:
    """What was asked for one column.

    Parameters
    ----------
    dropped, kept
        Left out; kept whatever it looks like.
    na
        Values that mean missing in this column.
    categorical
        Its numbers are categories; ``by_name``: because the column itself was named.
    rule
        How it is cut if it is continuous, or whatever it is if ``by_name``.
    by_name
        The rule or the category was asked for this column, not for all.
    """

    dropped: bool
    kept: bool
    na: tuple[str, ...]
    categorical: bool
    rule: Discretizer | None
    by_name: bool


def choices_of(reading: Reading, names: Sequence[str]) -> dict[str, Choice]:
    """Look up what was asked for; names that are not there are refused."""
    dropped = set(named_columns(reading.drop, names, "drop"))
    kept = set(named_columns(reading.keep, names, "keep"))
    if both := dropped & kept:
        raise InputError(f"column {min(both)!r} is both dropped and kept")
    every = EVERY in reading.categorical and EVERY not in names
    listed = [name for name in reading.categorical if not (every and name == EVERY)]
    categories = set(named_columns(listed, names, "categorical"))
    general, rules = _rules(reading.discretize or (), names)
    if both := categories & set(rules):
        raise InputError(
            f"column {min(both)!r} is to be cut and to be taken as categories; choose one"
        )
    if reading.counts in dropped | kept | categories | set(rules):
        raise InputError(
            f"column {reading.counts!r} holds counts, and is to be something else as well; "
            "choose one"
        )
    everywhere, by_column = missing_values(reading.na or (), names)
    return {
        name: Choice(
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
    verbs = {"drop": "to drop", "keep": "to keep", "categorical": "to take as categories"}
    known, found = set(names), list[str]()
    for text in given:
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
            raise TableError(f"no column {name!r} to cut; {did_you_mean(name, names)}")
        else:
            by_name[name] = Discretizer.parse(rule, column=name)
    return None if general is None else Discretizer.parse(general), by_name


Missing = Literal["error", "drop", "state", "mode", "pnal", "em"]

MAX_NUMERIC_STATES = 20
"""A column of more distinct numbers than this is continuous."""


def build_table(raw: RawTable, reading: Reading | None = None) -> Table:
    """Make a table to learn from: decide what the columns mean, and do it.

    Parameters
    ----------
    raw
        What a reader found.
    reading
        What was set.
    """
    reading = reading or Reading()
    check_missing(reading.missing)
    choices = choices_of(reading, [column.name for column in raw.columns])
    if reading.counts is not None:
        raw = with_counts(raw, reading.counts, reading.decimal)
    check_rows(raw.total_rows)
    cells = [
        column_of(
            column,
            choices[column.name].na,
            reading.decimal,
            words=reading.words_are_missing,
            dates=choices[column.name].by_name and choices[column.name].rule is not None,
        )
        for column in _kept(raw.columns, choices)
    ]
    return read_as(recipe_for(raw, cells, choices, reading), raw, cells)


def recipe_for(
    raw: RawTable, cells: Sequence[Column], choices: Mapping[str, Choice], reading: Reading
) -> Recipe:
    """Decide what the columns mean; see the module's steps."""
    continuous = [_is_continuous(column, choices[column.name]) for column in cells]
    _look_for_suspicious(cells, continuous, choices, reading.decimal)
    columns = list(cells)
    if reading.missing == "error":
        _refuse_missing(columns, raw, reading.words_are_missing)
    elif reading.missing == "drop":
        columns = _complete(columns)
    _refuse_continuous(
        [
            column
            for column, cut in zip(columns, continuous, strict=True)
            if cut and choices[column.name].rule is None
        ],
        len(columns),
    )
    _refuse_empty(columns, reading.missing)
    cuts = _cut_points(columns, continuous, choices)
    made = [
        replace(
            _states(column, cuts.get(v), reading.missing),
            rule=str(choices[column.name].rule) if v in cuts else None,
            na=choices[column.name].na,
        )
        for v, column in enumerate(columns)
    ]
    return Recipe(replace(reading, recipe=None), tuple(made))


def check_missing(missing: str) -> None:
    """Refuse a way to treat missing cells that is not known."""
    if missing not in get_args(Missing):
        raise InputError(
            f"is not a way to treat missing cells; {did_you_mean(missing, get_args(Missing))}",
            about=Way("missing", missing),
        )


def _kept(columns: Sequence[RawColumn], choices: Mapping[str, Choice]) -> list[RawColumn]:
    kept = [column for column in columns if not choices[column.name].dropped]
    seen: dict[str, int] = {}
    for column in kept:
        at = next(i for i, c in enumerate(columns, 1) if c is column)
        if not column.name:
            raise TableError(f"column {at} has no name", *_leave_out("", len(kept)), "name it")
        if column.name in seen:
            raise TableError(
                f"two columns are named {column.name!r} (columns {seen[column.name]} and {at})",
                "rename one of them",
            )
        seen[column.name] = at
        if column.refused is not None:
            raise TableError(
                f"column {column.name!r} {column.refused}", *_leave_out(column.name, len(kept))
            )
    if len(kept) < 2:
        raise TableError(f"{len(kept)} of {len(columns)} columns are left; at least 2 are needed")
    return kept


def _refuse_missing(columns: Sequence[Column], raw: RawTable, words: bool) -> None:
    """Refuse missing cells; ``words``: those with a word such as ``NA`` are among them."""
    gaps = [(int((~c.present).argmax()), c) for c in columns if c.n_missing]
    if not gaps:
        return
    row, column = min(gaps, key=lambda gap: gap[0])
    total = sum(c.n_missing for _, c in gaps)
    where = f"column {column.name!r}, {raw.place(row)}"
    held = _text_at(column.name, row, raw)
    more = [] if held is None else [repr(held)]
    more += [f"{total} missing cells in {len(gaps)} columns"] if total > 1 else []
    details = f" ({'; '.join(more)})" if more else ""
    raise TableError(
        f"{where}: the cell is missing{details}",
        Way("missing", "pnal", "to score every family on the rows where it is complete"),
        Way("missing", "em", "to complete the data by expectation maximisation"),
        Way("missing", "drop", "to leave such rows out"),
        Way("missing", "state", "to make missing a state"),
        *(() if suspicion.imputed(columns) else (Way("missing", "mode", "to impute the mode"),)),
        *_leave_out(column.name, len(columns), "to leave out the column"),
        *(_words_as_states([c.name for _, c in gaps], raw) if words else ()),
    )


def _words_as_states(names: Sequence[str], raw: RawTable) -> list[Way]:
    """Offer to take words for missing as states, if these columns hold some."""
    found = set[str]()
    for column in raw.columns:
        if column.name in names and not (column.declared or isinstance(column.values, np.ndarray)):
            found |= words_for_missing(column.values)
    shown = ", ".join(sorted(found))
    verb = "is a state" if len(found) == 1 else "are states"
    return [Way("na", [], f"if {shown} {verb}")] if found else []


def _text_at(name: str, row: int, raw: RawTable) -> str | None:
    """Return what a cell that is treated as missing holds in the source; None: nothing."""
    column = next(column for column in raw.columns if column.name == name)
    code = int(column.part(row, row + 1)[0])
    return None if code < 0 else labels_of(column)[code]


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
            *_leave_out(emptiest.name, len(columns), "to leave out the column with most gaps"),
            about=Way("missing", "drop"),
        )
    return left


def _is_continuous(column: Column, choice: Choice) -> bool:
    """Whether a column is to be cut, or refused because nobody said how."""
    if choice.categorical:
        return False
    if choice.by_name and choice.rule is not None:
        if column.numbers is None:
            raise TableError(
                f"column {column.name!r} is to be cut, but holds neither numbers nor dates"
            )
        return True
    if column.numbers is None or column.raw.numeric is not None:
        return column.raw.numeric is True
    observed = column.numbers[column.counts > 0]
    whole = bool((observed == np.floor(observed)).all())
    return not whole or len(np.unique(observed)) > MAX_NUMERIC_STATES


def _look_for_suspicious(
    columns: Sequence[Column],
    continuous: Sequence[bool],
    choices: Mapping[str, Choice],
    decimal: str,
) -> None:
    found = [
        one
        for column, cut in zip(columns, continuous, strict=True)
        for one in suspicion.suspicions_of(
            column,
            labelled=not cut,
            believed=choices[column.name].kept or choices[column.name].by_name,
            decimal=decimal,
        )
    ]
    doubtful = {one.column for one in found if one.refused}
    for column in columns:
        choice = choices[column.name]
        others = [c for c in columns if c is not column and c.name not in doubtful]
        if not (choice.kept or choice.by_name or len(column.raw.repeats)) and looks_like_counts(
            column, others
        ):
            found = [one for one in found if one.column != column.name]
            found.append(suspicion.counts_in(column.name))
    suspicion.tell(found, len(columns))


def _refuse_continuous(columns: Sequence[Column], n_columns: int) -> None:
    if not columns:
        return
    first, *others = columns
    name, distinct = first.name, np.unique(first.observed()[0])
    example = f", such as {number_label(distinct[0])}" if len(distinct) else ""
    more = ", ".join(column.name for column in others[:8]) + (", …" if others[8:] else "")
    also = f" (so are {len(others)} others: {more})" if others else ""
    raise TableError(
        f"column {name!r} is continuous: {len(distinct)} distinct numbers{example}{also}",
        Way("discretize", "mdl", "to cut such columns where they tell most about the others"),
        Way("discretize", "median", "(or quantile:K, width:K)"),
        Way("categorical", [name], "if its numbers are codes"),
        *_leave_out(name, n_columns),
    )


def _refuse_empty(columns: Sequence[Column], missing: str) -> None:
    """Refuse a column without values, unless missing is a state."""
    for column in columns:
        if not column.n_present and missing != "state":
            ways = _leave_out(column.name, len(columns))
            raise TableError(f"column {column.name!r} has no values at all", *ways)


def _cut_points(
    columns: Sequence[Column], continuous: Sequence[bool], choices: Mapping[str, Choice]
) -> dict[int, tuple[float, ...]]:
    """Find the cut points of every column that is to be cut, by its number."""
    found: dict[int, tuple[float, ...]] = {}
    together: list[int] = []
    for v, (column, cut) in enumerate(zip(columns, continuous, strict=True)):
        rule = choices[column.name].rule
        if not cut or rule is None:
            continue
        if rule.rule == "mdl":
            together.append(v)
        else:
            found[v] = rule.cuts(*column.observed()) if column.n_present else ()
    if together:
        cells = [_cells(column, choices[column.name], v in together or v in found)
                 for v, column in enumerate(columns)]  # fmt: skip
        found |= {v: mdl.mdl_cuts(cells, v) for v in together}
    return found


def _cells(column: Column, choice: Choice, cut: bool) -> mdl.Cells:
    """Return a column as the search for cut points sees it."""
    codes = column.raw.to_codes()
    repeats = column.raw.repeats.astype(np.int64) if len(column.raw.repeats) else None
    if not cut or column.numbers is None:
        states = max(len(column.raw.values), 1)
        return mdl.Cells(codes.astype(np.int64), states, repeats=repeats)
    numbers = np.append(column.numbers, np.nan)[codes]  # −1, the last one, is missing
    return mdl.of_numbers(numbers, 2 if choice.rule is None else choice.rule.bins, repeats)


def _states(column: Column, cuts: tuple[float, ...] | None, missing: str) -> ColumnRecipe:
    """Return the states of a column, and the one that missing cells get."""
    if not column.n_present:  # what is missing is its only state
        states = column.labels() if column.raw.declared else []
        label = fresh_label(states)
        return ColumnRecipe(column.name, (*states, label), fill=label)
    if cuts is not None:
        observed, rows = column.observed()
        states = interval_labels(cuts) if cuts else [number_label(observed[0])]
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
    if column.raw.declared:
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
