"""Read a table from a file, standard input or a data frame. The entrance of the path.

Thin: :mod:`parentage.data.formats` says what is there, :mod:`parentage.data.deciding` makes a
recipe of it unless there is one already, and :mod:`parentage.data.applying` follows the recipe.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from parentage.data.applying import fitted_table
from parentage.data.deciding import settle
from parentage.data.formats import read_columns
from parentage.data.recipe import Recipe, read_recipe
from parentage.data.settings import OF_FILES, OF_MISSING, WAYS, Reading
from parentage.data.table import Table
from parentage.errors import InputError, Way
from parentage.files.source import Source
from parentage.work.settings import changed, made, takes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from parentage.data.columns import RawTable


@takes(Reading)
def read_table(
    source: object,
    *,
    format: str | None = None,  # noqa: A002  # the user's word for it
    header: bool = True,
    encoding: str = "utf-8",
    decimal: str = ".",
    sheet: str | None = None,
    drop: Iterable[str] = (),
    keep: Iterable[str] = (),
    counts: str | None = None,
    na: object = None,
    missing: str = "error",
    categorical: Iterable[str] = (),
    discretize: str | Iterable[str] | Mapping[str, str] | None = None,
    recipe: str | os.PathLike[str] | Recipe | None = None,
    skip_rows: int = 0,
    auto: bool = False,
) -> Table:
    r"""Read a table of categorical data from a file or a data frame.

    CSV, TSV, Parquet, ARFF, blip's .dat, Arrow and Excel are read, compressed or not; a pattern
    such as ``"visits-*.csv"`` reads all files of that name as one table.

    Parameters
    ----------
    source
        A path or a pattern of paths, ``"-"`` for standard input, the content as bytes, or a
        pandas, polars or pyarrow data frame, which the settings of files do not concern.
    {settings}

    Returns
    -------
    Table
        States are those the source declares, used or not; otherwise the observed ones, sorted.
        ``table.recipe`` says what was done.

    Raises
    ------
    ParentageError
        With the column, the line and what to change.

    Examples
    --------
    >>> table = read_table(b"smoker,cough\nyes,yes\nno,no\nno,yes\n")
    >>> table.names, table.states[0]
    (('smoker', 'cough'), ('no', 'yes'))
    """
    return as_table(source, made(Reading, locals()))


def rule_for_missing(table: Table, asked: str = "error") -> str:
    """Return what is done about the missing values of a table: as asked, or as it was read."""
    if asked != "error" or table.recipe is None:
        return asked
    return table.recipe.settings.rule


def as_table(
    source: object,
    reading: Reading | None = None,
    *,
    ways: Sequence[str] = WAYS,
    **settings: Any,
) -> Table:
    """Return a table made from whatever holds one: a `Table`, a data frame or a path.

    Settings as one object or by name, as in :func:`read_table`; those of files do not concern
    frames. A `Table` has no missing or continuous cells any more, so only ``drop`` applies to it.
    ``ways``: those to treat missing values that what is asked for can deal with.
    """
    reading = settled(replace(reading or Reading(), **settings))
    if isinstance(source, Table):
        if reading.counts is not None and reading.recipe is None:
            raise InputError(
                "is for files and data frames; a Table says in `repeats` how often its rows occur",
                about=Way("counts", reading.counts),
            )
        return source.drop(reading.drop) if reading.drop else source
    recipe = reading.recipe
    if isinstance(recipe, Recipe) and recipe.columns:
        return fitted_table(_raw(source, reading), recipe, reading)
    return settle(lambda how: _raw(source, how), reading, ways=ways)


def settled(reading: Reading) -> Reading:
    """Return the settings with those of the recipe, which is read if it is a file.

    Raises
    ------
    InputError
        Something is set that the recipe decides.
    """
    given = reading.recipe
    if given is None:
        return reading
    recipe = given if isinstance(given, Recipe) else read_recipe(given)
    own, values = recipe.settings, dict[str, Any]()
    for name in changed(reading):
        value = getattr(reading, name)
        if name == "na":
            values[name] = tuple(dict.fromkeys((*(own.na or ()), *value)))
        elif not decides(recipe, name):
            values[name] = value
        elif name != "recipe" and value != getattr(own, name):
            raise InputError(
                "conflicts with the recipe; edit the recipe, or read without one",
                about=Way("missing", reading.rule) if name in OF_MISSING else Way(name, value),
            )
    return replace(own, recipe=recipe, **values)


def decides(recipe: Recipe, name: str) -> bool:
    """Whether a setting may not differ from the recipe's.

    What concerns files may differ, ``na`` may name more values, and ``missing`` may say what the
    recipe of complete data does not.
    """
    of_missing = name in OF_MISSING and recipe.settings.missing == "error"
    return not (name == "na" or name in OF_FILES or of_missing)


def _raw(source: object, reading: Reading) -> RawTable:
    if isinstance(source, str | bytes | os.PathLike | Source):
        return read_columns(source, reading)
    from parentage.data.formats import frame as frames

    return frames.read(source)
