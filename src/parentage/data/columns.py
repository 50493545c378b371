"""From raw columns to a table: the one place that decides what cells mean.

The stage between reader and table, the same for every source, in this order:

1. *Drop* the columns named; a column of *counts* says how often each row occurs
   (:mod:`parentage.data.counts`).
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

A column with one observed state is constant: a warning. The table's recipe says what was done.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import numpy.typing as npt

from parentage.data import mdl, suspicion
from parentage.data.choices import Choice, choices_of
from parentage.data.counts import looks_like_counts, with_counts
from parentage.data.discretize import codes_of, interval_labels, median
from parentage.data.formats.raw import RawColumn, RawTable, number_label, words_for_missing
from parentage.data.packed import PackedCodes, PackedColumn, narrowed
from parentage.data.recipe import ColumnRecipe, ReadingAccount, Recipe
from parentage.data.settings import Reading
from parentage.data.table import MISSING, Codes, Table, sorted_states
from parentage.data.values import Column, column_of, labels_of
from parentage.errors import DataWarning, InputError, TableError, Way, did_you_mean, warn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Missing = Literal["error", "drop", "state", "mode", "pnal", "em"]

KEEPS_HOLES = ("pnal", "em")
"""Ways to treat missing cells that leave them in the table."""

MAX_NUMERIC_STATES = 20
"""A column of more distinct numbers than this is continuous."""


@dataclass(frozen=True)
class _Coded:
    """What a column becomes.

    ``codes``: by code of the raw column, that of its missing cells last; ``fill`` is the state that
    missing cells got.
    """

    states: Sequence[str]
    codes: npt.NDArray[np.uint16]
    cuts: tuple[float, ...] | None = None
    fill: str | None = None


def build_table(raw: RawTable, reading: Reading | None = None) -> Table:
    """Turn raw columns into a table of states; see the module's steps.

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
    found = [
        column_of(
            column,
            choices[column.name].na,
            reading.decimal,
            words=reading.words_are_missing,
            dates=choices[column.name].by_name and choices[column.name].rule is not None,
        )
        for column in _kept(raw.columns, choices)
    ]
    continuous = [_is_continuous(column, choices[column.name]) for column in found]
    _look_for_suspicious(found, continuous, choices, reading.decimal)
    columns, missing = found, missing_cells(found)
    if reading.missing == "error":
        _refuse_missing(columns, raw, reading.words_are_missing)
    elif reading.missing == "drop":
        columns = _complete_rows(columns)
    elif reading.missing == "mode":
        suspicion.tell(suspicion.imputed(columns), len(columns))
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
    coded = [
        _cut(column, cuts[v], reading.missing) if v in cuts else _label(column, reading.missing)
        for v, column in enumerate(columns)
    ]
    names = [column.name for column in columns]
    table = Table(
        tuple(names),
        tuple(tuple(column.states) for column in coded),
        _translated(raw, columns, coded),
        {n: c.cuts for n, c in zip(names, coded, strict=True) if c.cuts is not None},
        repeats=columns[0].raw.repeats,
    )
    check_variation(table)
    made = [
        ColumnRecipe(
            name,
            tuple(column.states),
            column.cuts,
            None if column.cuts is None else str(choices[name].rule),
            choices[name].na,
            column.fill,
        )
        for name, column in zip(names, coded, strict=True)
    ]
    left_out = {column.name: "dropped" for column in raw.columns if choices[column.name].dropped}
    account = account_of(raw, found, missing, table, left_out)
    return table.with_recipe(Recipe(replace(reading, recipe=None), tuple(made), account))


def _translated(
    raw: RawTable, columns: Sequence[Column], coded: Sequence[_Coded]
) -> Codes | PackedCodes:
    """Return the codes of the table; packed where those of the source are.

    Codes that nobody needs any more are let go, column by column.
    """
    n_rows = columns[0].raw.n_rows
    if not (raw.passing or any(column.packed for column in raw.columns)):
        codes = np.empty((len(columns), n_rows), np.uint16)
        for row, column, found in zip(codes, columns, coded, strict=True):
            row[:] = found.codes[column.raw.to_codes()]
        return codes
    packed = []
    for column, found in zip(columns, coded, strict=True):
        lookup = found.codes.astype(np.int32)
        lookup[lookup == MISSING] = -1
        own = column.raw.packed
        if own is None:
            packed.append(PackedColumn.of(narrowed(lookup)[column.raw.to_codes()]))
            continue
        packed.append(own.recoded(lookup))
        if raw.passing:
            own.become(packed[-1])
    return PackedCodes(tuple(packed), n_rows)


def missing_cells(columns: Sequence[Column]) -> dict[str, int]:
    """Return the number of missing cells of the columns that have any."""
    holes = {column.name: column.n_missing for column in columns}
    return {name: number for name, number in holes.items() if number}


def account_of(
    raw: RawTable,
    columns: Sequence[Column],
    missing: Mapping[str, int],
    table: Table,
    left_out: Mapping[str, str],
) -> ReadingAccount:
    """Write down what was done to the rows; the columns are as they were before it."""
    return ReadingAccount(
        raw.source,
        raw.format,
        raw.total_rows,
        raw.total_rows - table.n_rows,
        missing,
        {column.name: column.blanked for column in columns if column.blanked},
        left_out,
        table.constant,
        raw.n_rows + raw.empty_lines if len(raw.repeats) else 0,
        raw.empty_lines,
    )


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


def check_rows(n_rows: int) -> None:
    """Refuse a table of fewer than two rows."""
    if n_rows < 2:
        found = "one data row" if n_rows == 1 else "no data rows, only column names"
        raise TableError(f"the table has {found}; at least 2 rows are needed")


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


def _complete_rows(columns: Sequence[Column]) -> list[Column]:
    complete = np.ones(columns[0].raw.n_rows, np.bool_)
    for column in columns:
        if column.n_missing:
            complete &= column.present
    rows = columns[0].raw.chosen_rows(complete)
    left, all_rows = rows.total_rows, columns[0].n_rows
    if left < 2:
        emptiest = min(columns, key=lambda column: column.n_present)
        raise TableError(
            f"leaves {left} of {all_rows} rows, and at least 2 are needed",
            Way("missing", "pnal"),
            Way("missing", "em"),
            Way("missing", "state"),
            *_leave_out(emptiest.name, len(columns), "to leave out the column with most gaps"),
            about=Way("missing", "drop"),
        )
    if left == all_rows:
        return list(columns)
    return [Column(c.raw.chosen_rows(complete), c.numbers, c.blanked) for c in columns]


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


def _cut(column: Column, cuts: tuple[float, ...], missing: str) -> _Coded:
    """Cut a continuous column into states."""
    numbers = np.empty(0) if column.numbers is None else column.numbers
    observed, rows = column.observed()
    if not len(observed):
        return _without_values(column)
    states = interval_labels(cuts) if cuts else [number_label(observed[0])]
    filler = int(codes_of(np.array([median(observed, rows)]), cuts)[0])
    if missing == "state" and column.n_missing:
        filler = len(states)
        states = [*states, fresh_label(states)]
    elif missing in KEEPS_HOLES:
        filler = MISSING
    return _Coded(
        states,
        np.append(codes_of(numbers, cuts), filler).astype(np.uint16),
        cuts,
        _fill(states, filler, missing, column),
    )


def _fill(states: Sequence[str], filler: int, missing: str, column: Column) -> str | None:
    """Return the state of missing cells, also of those that other rows may have."""
    added = missing == "state" and column.n_missing > 0
    return states[filler] if missing == "mode" or added else None


def _label(column: Column, missing: str) -> _Coded:
    """Take the labels of a column as its states."""
    labels = column.labels()
    if not column.n_present:
        return _without_values(column)
    if column.raw.declared:
        states, new_code = labels, np.arange(len(labels))
    else:
        states = sorted_states(labels[code] for code in np.flatnonzero(column.counts))
        rank = {label: code for code, label in enumerate(states)}
        new_code = np.array([rank.get(label, 0) for label in labels])
    if len(set(states)) < len(states):
        raise TableError(f"column {column.name!r} has two states with the same label")
    counts = np.bincount(new_code, column.counts, minlength=len(states))
    filler = int(counts.argmax())
    if missing == "state" and column.n_missing > 0:
        filler = len(states)
        states = [*states, fresh_label(states)]
    elif missing in KEEPS_HOLES:
        filler = MISSING
    fill = _fill(states, filler, missing, column)
    return _Coded(states, np.append(new_code, filler).astype(np.uint16), None, fill)


def _without_values(column: Column) -> _Coded:
    """Make a constant of a column without values, whose missing cells are a state."""
    states = column.labels() if column.raw.declared else []
    states = [*states, fresh_label(states)]
    codes = np.full(len(column.raw.values) + 1, len(states) - 1, np.uint16)
    return _Coded(states, codes, None, states[-1])


def fresh_label(states: Sequence[str]) -> str:
    """Return a label for missing cells that no state has."""
    number, label = 1, "missing"
    while label in states:
        number += 1
        label = f"missing {number}"
    return label


def check_variation(table: Table) -> None:
    """Refuse a table of constants; warn about single ones."""
    constant = table.constant
    if table.n_variables - len(constant) < 2:
        raise TableError(
            f"fewer than 2 columns vary; constant: {_shown(constant)}. At least 2 columns with two "
            "observed states are needed"
        )
    if constant:
        cut = [name for name in constant if table.cuts.get(name)]
        reason = f" ({_shown(cut)} after discretisation)" if cut else ""
        warn(
            DataWarning(
                f"{len(constant)} constant column{'s' if len(constant) > 1 else ''}: "
                f"{_shown(constant)}{reason}; a constant has no parents and is never a parent"
            ),
        )


def _shown(names: Sequence[str]) -> str:
    return ", ".join(names[:10]) + (", …" if len(names) > 10 else "")


def _leave_out(name: str, n_columns: int, effect: str = "to leave it out") -> list[Way]:
    """Offer to leave a column out, if two are left then."""
    return [Way("drop", [name], effect)] if n_columns > 2 else []
