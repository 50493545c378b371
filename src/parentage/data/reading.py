"""Read a table from a file, standard input or a data frame. The entrance of the path.

Thin: :mod:`parentage.data.formats` says what is there, :mod:`parentage.data.columns` decides what
it means.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from parentage.data.columns import build_table
from parentage.data.formats import read_columns
from parentage.data.table import Table
from parentage.files.source import Source, SourceLike

if TYPE_CHECKING:
    from collections.abc import Iterable


def read_table(
    source: SourceLike | Source,
    *,
    format: str | None = None,  # noqa: A002  # the option is called --format
    header: bool = True,
    drop: Iterable[str] = (),
    missing: str = "error",
    discretize: str | None = None,
    encoding: str = "utf-8",
) -> Table:
    r"""Read a table of categorical data from CSV, TSV, Parquet, ARFF or blip's .dat.

    Parameters
    ----------
    source
        A path, ``"-"`` for standard input, or the content as bytes.
    format
        ``"csv"``, ``"tsv"``, ``"parquet"``, ``"arff"`` or ``"dat"``; the content decides when
        not given, and finds the separator of CSV (comma, tab, semicolon, ``|`` or a blank).
    header
        Whether the first line of separated text holds the names; if not, they are 0, 1, …
    drop
        Names of columns to leave out.
    missing
        What happens to missing cells (blank or ``?``, null or NaN): ``"error"``, ``"drop"`` the
        row, ``"state"`` (one more state), ``"mode"`` (the most frequent state; the median in
        a continuous column), or kept as holes: ``"pnal"`` and ``"em"``, for the methods of
        learning with these names.
    discretize
        How continuous columns are cut: ``"median"``, ``"quantile:K"`` or ``"width:K"``.
    encoding
        Encoding of text.

    Returns
    -------
    Table
        States are those the source declares, used or not; otherwise the observed ones, sorted.

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
    raw = read_columns(source, format=format, header=header, encoding=encoding)
    return build_table(raw, drop=drop, missing=missing, discretize=discretize)


def table_from_frame(
    frame: object,
    *,
    drop: Iterable[str] = (),
    missing: str = "error",
    discretize: str | None = None,
) -> Table:
    """Make a table from a pandas, polars or pyarrow data frame; options as in `read_table`.

    Examples
    --------
    >>> import polars as pl
    >>> table_from_frame(pl.DataFrame({"a": [0, 1, 1], "b": ["x", "y", "x"]}))
    Table: 3 rows, 2 variables, 2 states each
    """
    from parentage.data.formats import frame as frames

    return build_table(frames.read(frame), drop=drop, missing=missing, discretize=discretize)


def as_table(
    source: object,
    *,
    format: str | None = None,  # noqa: A002  # the option is called --format
    header: bool = True,
    drop: Iterable[str] = (),
    missing: str = "error",
    discretize: str | None = None,
    encoding: str = "utf-8",
) -> Table:
    """Return a table made from whatever holds one: a `Table`, a data frame or a path.

    Options as in `read_table`; ``format``, ``header`` and ``encoding`` only concern files. A
    `Table` has no missing or continuous cells any more, so only ``drop`` applies to it.
    """
    if isinstance(source, Table):
        return source.drop([drop] if isinstance(drop, str) else drop) if drop else source
    if isinstance(source, str | bytes | os.PathLike | Source):
        return read_table(
            source,
            format=format,
            header=header,
            drop=drop,
            missing=missing,
            discretize=discretize,
            encoding=encoding,
        )
    return table_from_frame(source, drop=drop, missing=missing, discretize=discretize)
