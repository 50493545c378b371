"""A recipe applied to raw columns: the one way from cells to states. The last step of reading.

New tables (their recipe is made a moment before, :mod:`parentage.data.deciding`), next month's
tables and rows to predict go the same way: the cut points of the recipe cut the numbers, its states
number the labels, its values mean missing, and missing cells get the state it says. Columns that it
does not know are left out. What does not fit (a column that is not there, text instead of numbers,
a state never seen) is refused with all the differences.

Every distinct value of a column is looked at once and gets a state; then its cells are translated.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from parentage.arrays import Flags, Ints
from parentage.data import missingness, suspicion
from parentage.data.columns import (
    Column,
    RawTable,
    column_of,
    date_part,
    find_column,
    no_column,
    numbers_in,
    with_counts,
    without_values,
    words_for_missing,
)
from parentage.data.discretize import PARTS, codes_of, cuts_between
from parentage.data.formats import frame as frames
from parentage.data.formats import read_columns
from parentage.data.recipe import ColumnRecipe, Decision, ReadingAccount, Recipe
from parentage.data.settings import Reading, missing_values, ways_for_missing
from parentage.data.table import (
    MISSING,
    Codes,
    PackedCodes,
    PackedColumn,
    Table,
    as_numbers,
    narrowed,
)
from parentage.errors import (
    DataWarning,
    TableError,
    Way,
    counted,
    did_you_mean,
    distinct,
    shown_names,
    warn,
)
from parentage.files.source import Source

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

KEEPS_HOLES = ("pnal", "em")
"""Ways to treat missing cells that leave them in the table."""

_MOST_SHOWN = 10

_DECLARE = (
    "declare all states in the data learned from, as `states` in a recipe or as categories of a "
    "data frame"
)


class _UnknownValueError(TableError):
    """Values of a column that the recipe does not have.

    ``values`` as they are typed for ``na``; ``states``: they could be states; ``decimal``: the sign
    with which they are numbers.
    """

    def __init__(
        self, message: str, values: Sequence[str], *, states: bool, decimal: str | None = None
    ) -> None:
        self.values, self.states, self.decimal = values, states, decimal
        super().__init__(message, *((_DECLARE,) if states else ()))


def apply_recipe(
    raw: RawTable,
    recipe: Recipe,
    cells: Sequence[Column | None],
    *,
    ways: Sequence[Way] = (),
) -> Table:
    """Return the rows in the states of the recipe.

    Parameters
    ----------
    raw
        The rows.
    recipe
        The columns that count, in their order, and the settings.
    cells
        The columns of the recipe, as :func:`cells_for` finds them; None for a column that is not
        there, whose cells are all missing.
    ways
        What to do about missing cells for which the recipe has no state.
    """
    settings, columns = recipe.settings, recipe.columns
    if settings.missing == "drop":
        cells = complete_rows(cells)
    pairs = list(zip(cells, columns, strict=True))
    misfits, lookups = list[TableError](), list[Ints]()
    for there, column in pairs:
        try:
            lookups.append(_states_of(there, column, settings.decimal))
        except _UnknownValueError as error:
            misfits.append(error)
    if misfits:
        raise _refusal(misfits)
    if settings.missing not in KEEPS_HOLES:
        for lookup, (there, column) in zip(lookups, pairs, strict=True):
            if there is not None and there.n_missing:
                lookup[-1] = _filler(there, column, raw, settings.missing, ways)
    first = next((there for there in cells if there is not None), None)
    n_rows = raw.stored_rows if first is None else first.stored_rows
    return Table(
        tuple(column.name for column in columns),
        tuple(column.states for column in columns),
        _translated(raw, cells, lookups, n_rows),
        {column.name: column.cuts for column in columns if column.cuts is not None},
        repeats=raw.repeats if first is None else first.repeats,
    )


def _refusal(
    misfits: Sequence[TableError], lead: str = "", ways: Sequence[Way | str] = ()
) -> TableError:
    """Return one error that says all of them."""
    more = f"; and {len(misfits) - _MOST_SHOWN} more" if len(misfits) > _MOST_SHOWN else ""
    said = "; ".join(error.message for error in misfits[:_MOST_SHOWN])
    own = distinct(way for error in misfits for way in error.ways)
    return TableError(f"{lead}{said}{more}", *(ways or own))


def _states_of(cells: Column | None, column: ColumnRecipe, decimal: str) -> Ints:
    """Return the state of every value of a column, that of missing cells last."""
    if cells is None:
        return np.full(1, MISSING, np.int64)
    if not cells.n_present:
        return np.full(len(cells.values) + 1, MISSING, np.int64)
    if column.cuts is None:
        found = state_numbers(column.name, column.states, cells.labels(), cells.counts > 0)
    elif cells.numbers is None:
        wrong = [label for label in cells.labels() if numbers_in([label], decimal) is None]
        example = f" ({wrong[0]!r})" if wrong else ""
        other = "," if decimal == "." else "."
        raise _UnknownValueError(
            f"column {column.name!r} was discretised when learning, but holds text here{example}",
            [f"{column.name}={label}" for label in wrong[:_MOST_SHOWN]],
            states=False,
            decimal=other if numbers_in(cells.labels(), other) is not None else None,
        )
    else:
        found = codes_of(cells.numbers, column.cuts)
    return np.append(found, MISSING)


def state_numbers(
    name: str,
    states: Sequence[str],
    labels: Sequence[str],
    there: Flags,
) -> Ints:
    """Number the labels that are there by text, by number, or by the interval of the number."""
    number = {label: k for k, label in enumerate(states)}
    values, cuts = as_numbers(states), cuts_between(states)
    by_value = {} if values is None else {float(x): k for k, x in reversed([*enumerate(values)])}
    translate = np.full(len(labels), MISSING, np.int64)
    unknown = []
    for code in np.flatnonzero(there).tolist():
        text = labels[code]
        alike = as_numbers([text]) if text not in number and (by_value or cuts) else None
        if alike is None:
            found = number.get(text)
        elif cuts is not None:
            found = int(codes_of(alike, cuts)[0])
        else:
            found = by_value.get(float(alike[0]))
        if found is None:
            unknown.append(text)
        else:
            translate[code] = found
    if unknown:
        first, *others = sorted(unknown)
        more = f" (and {len(others)} more)" if others else ""
        raise _UnknownValueError(
            f"column {name!r} has the state {first!r}{more}, which was never seen in the data "
            f"learned from ({did_you_mean(first, states)})",
            [f"{name}={text}" for text in sorted(unknown)[:_MOST_SHOWN]],
            states=True,
        )
    return translate


def _filler(
    cells: Column, column: ColumnRecipe, raw: RawTable, missing: str, ways: Sequence[Way]
) -> int:
    """Return the state of missing cells; refuse them where there is none."""
    if column.fill is not None:
        return column.states.index(column.fill)
    place = raw.place(int((~cells.present).argmax()))
    none = " and none was in the data learned from" if missing == "state" else ""
    text = f"column {column.name!r}, {place}: the value is missing{none}"
    raise TableError(text, *(ways if missing == "error" else ()))


def _translated(
    raw: RawTable, cells: Sequence[Column | None], lookups: Sequence[Ints], n_rows: int
) -> Codes | PackedCodes:
    """Return the codes of the table; packed where those of the source are.

    Codes that nobody needs any more are let go, column by column.
    """
    if not (raw.passing or any(column.packed for column in raw.columns)):
        codes = np.full((len(cells), n_rows), MISSING, np.uint16)
        for row, column, lookup in zip(codes, cells, lookups, strict=True):
            if column is not None:
                row[:] = lookup.astype(np.uint16)[column.to_codes()]
        return codes
    packed = []
    for column, states in zip(cells, lookups, strict=True):
        lookup = np.where(states == MISSING, -1, states).astype(np.int32)
        own = None if column is None else column.packed
        if own is None:
            numbers = np.full(n_rows, -1, np.int32) if column is None else column.to_codes()
            packed.append(PackedColumn.of(narrowed(lookup)[numbers]))
            continue
        packed.append(own.recoded(lookup))
        if raw.passing:
            own.become(packed[-1])
    return PackedCodes(tuple(packed), n_rows)


def cells_for(raw: RawTable, column: ColumnRecipe, reading: Reading) -> Column:
    """Find a column by name, with what means missing blanked; a state of the recipe never does."""
    told = (*reading.keep, *reading.drop)
    found, na = find_column(raw, column.name, told), column.na
    if column.rule in PARTS:
        rest = without_values(found, (*na, *words_for_missing(found.texts)), ".")
        return date_part(rest, column.rule)
    if reading.words_are_missing:
        na = (*na, *words_for_missing(found.texts).difference(column.states))
    cut = column.cuts is not None
    if isinstance(found.values, np.ndarray) or cut or _numbered(column):
        cells = column_of(found, na, reading.decimal, quantity=cut)
        return cells if cut else replace(cells, numbers=None)
    return without_values(found, na, reading.decimal)


def _numbered(column: ColumnRecipe) -> bool:
    """Whether its states are numbers, apart from one for missing cells."""
    labels = [label for label in column.states if label != column.fill]
    return bool(labels) and as_numbers(labels) is not None


def complete_rows(cells: Sequence[Column | None]) -> list[Column | None]:
    """Leave out the rows in which a cell is missing."""
    holes = [column for column in cells if column is not None and column.n_missing]
    if not holes:
        return list(cells)
    complete = np.logical_and.reduce([column.present for column in holes])
    return [None if c is None else c.chosen_rows(complete) for c in cells]


def read_as(
    recipe: Recipe,
    raw: RawTable,
    cells: Sequence[Column],
    known: Collection[str] | None = None,
    decisions: tuple[Decision, ...] = (),
) -> Table:
    """Make a table to learn from, with an account of what was done.

    Parameters
    ----------
    recipe
        How.
    raw
        The rows.
    cells
        The columns of the recipe, as :func:`cells_for` finds them.
    known
        Columns that an earlier recipe says to drop; None if no earlier one is followed.
    decisions
        What ``auto`` decided.
    """
    if recipe.settings.missing == "mode":
        suspicion.tell(missingness.imputed(cells), len(cells))
    table = apply_recipe(raw, recipe, cells, ways=ways_for_missing(["drop", "pnal", "em"]))
    check_rows(table.n_rows)
    check_variation(table)
    account = ReadingAccount(
        source=raw.source,
        format=raw.format,
        rows_read=raw.n_rows,
        rows_dropped=raw.n_rows - table.n_rows,
        missing={column.name: column.n_missing for column in cells if column.n_missing},
        blanked={column.name: column.blanked for column in cells if column.blanked},
        left_out={
            name: "dropped" if known is None or name in known else "not in the recipe"
            for name in raw.names
            if name not in table.names
        },
        constant=table.constant,
        lines=raw.stored_rows + raw.empty_lines if len(raw.repeats) else 0,
        empty_lines=raw.empty_lines,
        decisions=decisions,
    )
    return table.with_recipe(replace(recipe, account=account))


def fitted_table(raw: RawTable, recipe: Recipe, reading: Reading) -> Table:
    """Read a table as an earlier recipe says; ``reading.na`` may name more values for missing.

    Raises
    ------
    TableError
        The table does not fit.
    """
    if reading.counts is not None:
        raw = with_counts(raw, reading.counts, reading.decimal)
    check_rows(raw.n_rows)
    typed = recipe.settings.drop  # one name, or several between commas
    dropped = {*typed, *(part.strip() for text in typed for part in text.split(","))}
    recipe = replace(_with_na(recipe, reading, raw), settings=replace(reading, recipe=None))
    cells, misfits = list[Column](), list[TableError]()
    for column in recipe.columns:
        if column.name not in raw.names:
            continue  # those are said together
        try:
            cells.append(cells_for(raw, column, reading))
            _states_of(cells[-1], column, reading.decimal)
        except TableError as error:
            misfits.append(error)
    wrong = [*_absent(raw, recipe), *misfits]
    if wrong:
        lead = "the table does not fit the recipe: "
        raise _refusal(wrong, lead, _ways_to_fit(misfits[:_MOST_SHOWN], reading.missing))
    return read_as(recipe, raw, cells, dropped)


def _with_na(recipe: Recipe, reading: Reading, raw: RawTable) -> Recipe:
    """Add the values that mean missing here, but not yet in the recipe."""
    known = recipe.settings.na or ()
    more = [text for text in reading.na or () if text not in known]
    names = [*(column.name for column in recipe.columns), *raw.names]
    everywhere, by_column = missing_values(more, names)
    columns = tuple(
        replace(column, na=(*column.na, *everywhere, *by_column.get(column.name, ())))
        for column in recipe.columns
    )
    return replace(recipe, columns=columns)


def _ways_to_fit(misfits: Sequence[TableError], missing: str) -> list[Way | str]:
    """Say what to do about values that the recipe does not have."""
    unknown = [error for error in misfits if isinstance(error, _UnknownValueError)]
    signs = distinct(error.decimal for error in unknown if error.decimal)
    if signs == [Reading().decimal]:  # as a setting it would not differ from what nobody set
        return [f'change `decimal` to "{signs[0]}" in the recipe']
    if signs:
        return [Way("decimal", signs[0])]
    values = [value for error in unknown for value in error.values]
    if not values:
        return []
    drop = Way("missing", "drop") if missing == "error" else None
    ways: list[Way | str] = [Way("na", values, "if that means missing", also=drop)]
    if any(error.states for error in unknown):
        ways.append("add it to `states` of its column in the recipe")
    return ways


def _absent(raw: RawTable, recipe: Recipe) -> list[TableError]:
    """Say which columns are not there."""
    absent = [column.name for column in recipe.columns if column.name not in raw.names]
    if not absent:
        return []
    if len(absent) == 1:
        return [no_column(absent[0], raw)]
    shown = shown_names([repr(name) for name in absent], _MOST_SHOWN)
    return [
        TableError(
            f"{len(absent)} of the {len(recipe.columns)} columns of the recipe are missing: {shown}"
        )
    ]


def rows_like(
    known: Table,
    source: object,
    missing: str = "error",
    *,
    optional: Collection[str] = (),
) -> Table:
    r"""Read rows as the known table has them: its columns, in its order, with its states.

    One row is enough, a column may be constant, other columns are ignored; a label the known table
    never had is refused, because nothing is known about it. An array has no names: its columns are
    taken in order.

    Parameters
    ----------
    known
        The table whose states and cut points count.
    source
        A table, a data frame, an array or a path.
    missing
        How the known table was read: missing cells are refused (``"error"``), their rows left out
        (``"drop"``), in the state made for them (``"state"``), or filled with the state most
        frequent in the known table, the middle one of a discretised column (``"mode"``), or kept
        (``"pnal"``, ``"em"``).
    optional
        Columns that may be absent: all their cells are missing then. An array may do without all
        of them.

    Raises
    ------
    TableError
        A column that is not there, a missing cell, or a label without a state.

    Examples
    --------
    >>> known = Table.from_columns({"smoker": ["yes", "no"], "cough": ["yes", "no"]})
    >>> rows_like(known, b"cough,smoker,age\nyes,no,70\n").to_codes().tolist()
    [[0], [1]]
    """
    settings = Reading() if known.recipe is None else known.recipe.settings
    if isinstance(source, Table):
        raw = _as_raw(source)
        if missing not in KEEPS_HOLES:
            needed = [name for name in known.names if name in source.names or name not in optional]
            source.select(needed).refuse_holes("what was learned from complete rows")
        columns = [
            ColumnRecipe(name, states)
            for name, states in zip(known.names, known.states, strict=True)
        ]
        settings = Reading(na=(), missing="em")
    else:
        raw = _named_as(known, source, settings, optional)
        columns = [_recipe_of(known, v, missing) for v in range(known.n_variables)]
        settings = replace(settings, missing=missing)
    cells = [
        None if column.name in optional and column.name not in raw.names
        else cells_for(raw, column, settings)
        for column in columns
    ]  # fmt: skip
    table = apply_recipe(raw, Recipe(settings, tuple(columns)), cells)
    if not table.n_rows:
        raise TableError("the table has no rows without missing values; at least 1 is needed")
    return Table(known.names, known.states, table.codes, known.cuts, repeats=table.repeats)


def _as_raw(table: Table) -> RawTable:
    """Return the states of a table as the declared labels of a source."""
    columns = []
    for v, (name, states) in enumerate(zip(table.names, table.states, strict=True)):
        codes = table.column(v).astype(np.int32)
        codes[codes == MISSING] = -1
        columns.append(
            Column(name, codes, states, declared=True, numeric=False, repeats=table.repeats)
        )
    return RawTable(tuple(columns), table.stored_rows, lambda row: f"row {row}")


def _recipe_of(known: Table, v: int, missing: str) -> ColumnRecipe:
    """Return how a column of the known table was made, or may have been."""
    name, labels = known.names[v], known.states[v]
    na: tuple[str, ...] = ()
    if known.recipe is not None:
        column = known.recipe.column(name)
        if missing == known.recipe.settings.missing:
            return column
        na = column.na
    fill = _state_for_missing(known, v, missing)
    return ColumnRecipe(name, labels, known.cuts.get(name), na=na, fill=fill)


def _state_for_missing(known: Table, v: int, missing: str) -> str | None:
    """Return the state of a missing cell, as the known table would have it."""
    if missing not in ("mode", "state"):
        return None
    known.refuse_holes("imputing the most frequent state")
    name, labels = known.names[v], known.states[v]
    counts = known.counted(known.column(v), len(labels))
    if missing == "mode" and name in known.cuts:
        return labels[int(np.searchsorted(np.cumsum(counts), known.n_rows // 2, side="right"))]
    if missing == "mode":
        return labels[int(counts.argmax())]
    if missing == "state" and labels[-1] == fresh_label(labels[:-1]):
        return labels[-1]
    return None


def _named_as(
    known: Table, source: object, settings: Reading, optional: Collection[str]
) -> RawTable:
    """Read the columns there are; those of an array are named as the known ones."""
    if isinstance(source, str | bytes | os.PathLike | Source):
        return read_columns(source, replace(settings, format=None, sheet=None))
    raw = frames.read(source)
    if not isinstance(source, np.ndarray):
        return raw
    names = [name for name in known.names if name not in optional]
    if set(names) <= set(raw.names):
        return raw  # learned from an array, perhaps without some of its columns
    if len(raw.columns) != len(names):
        names = list(known.names)
    if len(raw.columns) != len(names):
        raise TableError(
            f"the array has {len(raw.columns)} columns, but the training data had {len(names)}"
        )
    columns = zip(raw.columns, names, strict=True)
    return replace(raw, columns=tuple(column.renamed(name) for column, name in columns))


def fresh_label(states: Sequence[str]) -> str:
    """Return a label for missing cells that no state has."""
    number, label = 1, "missing"
    while label in states:
        number += 1
        label = f"missing {number}"
    return label


def check_rows(n_rows: int) -> None:
    """Refuse a table of fewer than two rows."""
    if n_rows < 2:
        found = "one data row" if n_rows == 1 else "no data rows, only column names"
        raise TableError(f"the table has {found}; at least 2 rows are needed")


def check_variation(table: Table) -> None:
    """Refuse a table of constants; warn about single ones."""
    constant = table.constant
    if table.n_variables - len(constant) < 2:
        raise TableError(
            f"fewer than 2 columns vary; constant: {shown_names(constant)}. At least 2 columns "
            "with two observed states are needed"
        )
    if constant:
        cut = [name for name in constant if table.cuts.get(name)]
        reason = f" ({shown_names(cut)} after discretisation)" if cut else ""
        warn(
            DataWarning(
                f"{counted(len(constant), 'constant column')}: "
                f"{shown_names(constant)}{reason}; a constant has no parents and is never a parent"
            ),
        )
