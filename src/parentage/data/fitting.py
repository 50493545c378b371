"""Rows in the states that an earlier table had: what a recipe decided applies to them.

The cut points of the recipe cut the new numbers, its states number the new labels, its values mean
missing, and missing cells get the state it says. Columns that it does not know are left out. A
table that does not fit (a column that is not there, text instead of numbers, a state never seen) is
refused with all the differences.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from parentage.data import suspicion
from parentage.data.choices import missing_values
from parentage.data.columns import (
    KEEPS_HOLES,
    account_of,
    check_rows,
    check_variation,
    missing_cells,
)
from parentage.data.counts import with_counts
from parentage.data.discretize import codes_of
from parentage.data.formats.raw import words_for_missing
from parentage.data.recipe import ColumnRecipe, Recipe
from parentage.data.table import MISSING, Table, as_numbers
from parentage.data.values import Column, column_of, numbers_in, without_values
from parentage.errors import TableError, Way, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parentage.data.formats.raw import RawColumn, RawTable
    from parentage.data.settings import Reading

ABSENT = -1
"""The code of a missing cell."""

_MOST_SHOWN = 10

_DECLARE = ("declare all states in the data learned from, e.g. as `states` in a recipe",)

_KEPT_OR_LEFT_OUT = (
    Way("missing", "drop", "to leave such rows out"),
    Way("missing", "pnal", "to score every family on the rows where it is complete"),
    Way("missing", "em", "to complete the data by expectation maximisation"),
)
"""What to do about missing cells where the recipe does not say."""

Ints = npt.NDArray[np.int64]


def fitted_table(raw: RawTable, recipe: Recipe, reading: Reading) -> Table:
    """Read a table as the recipe says; ``reading.na`` may name more values that mean missing."""
    if reading.counts is not None:
        raw = with_counts(raw, reading.counts, reading.decimal)
    check_rows(raw.total_rows)
    recipe = _with_na(recipe, reading, raw)
    columns, codes, misfits = list[Column](), list[Ints](), list[TableError]()
    for column in recipe.columns:
        try:
            cells = cells_for(raw, column, reading)
            columns.append(cells)
            codes.append(codes_for(cells, column, reading.decimal))
        except TableError as error:
            if not error.message.startswith("no column"):  # those are said together
                misfits.append(error)
    wrong = [*_absent(raw, recipe), *(error.message for error in misfits)]
    if wrong:
        more = f"; and {len(wrong) - _MOST_SHOWN} more" if len(wrong) > _MOST_SHOWN else ""
        raise TableError(
            f"the table does not fit its recipe: {'; '.join(wrong[:_MOST_SHOWN])}{more}",
            *_ways_to_fit(misfits[:_MOST_SHOWN], reading.missing),
        )
    if reading.missing == "mode":
        suspicion.tell(suspicion.imputed(columns), len(columns))
    given, repeats = np.array(codes), raw.repeats
    if reading.missing == "drop" and len(repeats):
        repeats = repeats[(given != ABSENT).all(axis=0)]
    filled = filled_rows(given, recipe.columns, reading.missing, raw, _KEPT_OR_LEFT_OUT)
    names = tuple(column.name for column in recipe.columns)
    table = Table(
        names,
        tuple(column.states for column in recipe.columns),
        filled.astype(np.uint16),
        {column.name: column.cuts for column in recipe.columns if column.cuts is not None},
        repeats=repeats,
    )
    check_rows(table.n_rows)
    check_variation(table)
    left_out = {
        column.name: "not in the recipe" for column in raw.columns if column.name not in names
    }
    account = account_of(raw, columns, missing_cells(columns), table, left_out)
    return table.with_recipe(Recipe(replace(reading, recipe=None), recipe.columns, account))


def _with_na(recipe: Recipe, reading: Reading, raw: RawTable) -> Recipe:
    """Add the values that mean missing here, but not yet in the recipe."""
    known = recipe.settings.na or ()
    more = [text for text in reading.na or () if text not in known]
    names = [*(column.name for column in recipe.columns), *(column.name for column in raw.columns)]
    everywhere, by_column = missing_values(more, names)
    columns = tuple(
        replace(column, na=(*column.na, *everywhere, *by_column.get(column.name, ())))
        for column in recipe.columns
    )
    return replace(recipe, columns=columns)


def _ways_to_fit(misfits: Sequence[TableError], missing: str) -> list[Way | str]:
    """Say what to do about values that the recipe does not have."""
    values = [value for error in misfits if isinstance(error, _UnknownValueError)
              for value in error.values]  # fmt: skip
    if not values:
        return []
    drop = Way("missing", "drop") if missing == "error" else None
    ways: list[Way | str] = [Way("na", values, "if that means missing", also=drop)]
    if any(isinstance(error, _UnknownValueError) and error.states for error in misfits):
        ways.append("add it to `states` of its column in the recipe")
    return ways


class _UnknownValueError(TableError):
    """Values of a column that the known table does not have.

    ``values`` as they are typed for ``na``; ``states``: they could be states.
    """

    def __init__(self, message: str, values: Sequence[str], *, states: bool) -> None:
        self.values, self.states = values, states
        super().__init__(message, *(_DECLARE if states else ()))


def _absent(raw: RawTable, recipe: Recipe) -> list[str]:
    """Say which columns are not there."""
    names = [column.name for column in raw.columns]
    absent = [column.name for column in recipe.columns if column.name not in names]
    if not absent:
        return []
    if len(absent) == 1:
        return [f"no column {absent[0]!r}; {did_you_mean(absent[0], names)}"]
    shown = ", ".join(map(repr, absent[:_MOST_SHOWN])) + (", …" if absent[_MOST_SHOWN:] else "")
    return [f"{len(absent)} of its {len(recipe.columns)} columns are not there: {shown}"]


def cells_for(raw: RawTable, column: ColumnRecipe, reading: Reading) -> Column:
    """Find a column by name, with what means missing blanked; a state of the recipe never does."""
    found, na = find_column(raw, column.name), column.na
    if reading.words_are_missing and not isinstance(found.values, np.ndarray):
        na = (*na, *words_for_missing(found.values).difference(column.states))
    if isinstance(found.values, np.ndarray) or column.cuts is not None or _numbered(column):
        cut = column.cuts is not None
        cells = column_of(found, na, reading.decimal, words=False, dates=cut)
        return cells if column.cuts is not None else replace(cells, numbers=None)
    rest, blanked = without_values(found, na, reading.decimal)
    return Column(rest, None, blanked)


def _numbered(column: ColumnRecipe) -> bool:
    """Whether its states are numbers, apart from one for missing cells."""
    labels = [label for label in column.states if label != column.fill]
    return bool(labels) and as_numbers(labels) is not None


def find_column(raw: RawTable, name: str) -> RawColumn:
    """Return a column by name."""
    found = [column for column in raw.columns if column.name == name]
    if not found:
        names = [column.name for column in raw.columns]
        raise TableError(f"no column {name!r}; {did_you_mean(name, names)}")
    if len(found) > 1:
        raise TableError(f"{len(found)} columns are named {name!r}; rename all but one")
    if found[0].refused is not None:
        raise TableError(f"column {name!r} {found[0].refused}")
    return found[0]


def codes_for(cells: Column, column: ColumnRecipe, decimal: str, unseen: str | None = None) -> Ints:
    """Number the cells of one column; a missing one is absent, an unknown one ``unseen``."""
    codes = np.full(cells.raw.n_rows, ABSENT, np.int64)
    present = cells.present
    if not present.any():
        return codes
    if column.cuts is None:
        labels = cells.labels()
        there = cells.raw.to_codes()[present]
        codes[present] = state_numbers(column.name, column.states, labels, there, unseen)
    elif cells.numbers is None:
        wrong = [label for label in cells.labels() if numbers_in([label], decimal) is None]
        example = f" ({wrong[0]!r})" if wrong else ""
        raise _UnknownValueError(
            f"column {column.name!r} was cut into states, but holds text now{example}",
            [f"{column.name}={label}" for label in wrong[:_MOST_SHOWN]],
            states=False,
        )
    else:
        codes[present] = codes_of(cells.numbers, column.cuts)[cells.raw.to_codes()[present]]
    return codes


def filled_rows(
    codes: Ints,
    columns: Sequence[ColumnRecipe],
    missing: str,
    raw: RawTable,
    ways: Sequence[Way | str] = (),
) -> Ints:
    """Return the rows with missing cells filled, kept as holes, left out, or refused."""
    if missing == "drop":
        return codes[:, (codes != ABSENT).all(axis=0)]
    if missing in KEEPS_HOLES:
        return np.where(codes == ABSENT, MISSING, codes)
    for v, column in enumerate(columns):
        absent = codes[v] == ABSENT
        if not absent.any():
            continue
        if column.fill is None:
            place = raw.place(int(np.flatnonzero(absent)[0]))
            none = " and none was in the data learned from" if missing == "state" else ""
            text = f"column {column.name!r}, {place}: the cell is missing{none}"
            raise TableError(text, *(ways if missing == "error" else ()))
        codes[v, absent] = column.states.index(column.fill)
    return codes


def state_numbers(
    name: str,
    labels: Sequence[str],
    texts: Sequence[str],
    codes: npt.NDArray[np.integer],
    unseen: str | None = None,
) -> Ints:
    """Number labels as the known column does: the same text, or else the same number.

    Others have the state ``unseen``, or are refused if there is none.
    """
    number = {label: k for k, label in enumerate(labels)}
    values = as_numbers([label for label in labels if label != unseen])
    by_value = {} if values is None else {float(x): k for k, x in reversed([*enumerate(values)])}
    translate = np.full(len(texts), ABSENT, np.int64)
    unknown = []
    for code in np.unique(codes):
        text = texts[code]
        alike = as_numbers([text]) if text not in number and by_value else None
        found = number.get(text) if alike is None else by_value.get(float(alike[0]))
        if found is None and unseen is not None:
            found = number[unseen]
        if found is None:
            unknown.append(text)
        else:
            translate[code] = found
    if unknown:
        first, *others = sorted(unknown)
        more = f" (and {len(others)} more)" if others else ""
        raise _UnknownValueError(
            f"column {name!r} has the state {first!r}{more}, which was never seen in the data "
            f"learned from ({did_you_mean(first, labels)})",
            [f"{name}={text}" for text in sorted(unknown)[:_MOST_SHOWN]],
            states=True,
        )
    numbers: Ints = translate[codes]
    return numbers
