"""How a file or a frame becomes a table: the settings of reading."""

from __future__ import annotations

from dataclasses import dataclass

from parentage.work.settings import Option, setting


@dataclass(frozen=True)
class Reading:
    """Settings of the first stage; see :func:`parentage.data.reading.read_table`."""

    format: str | None = setting(
        None,
        """
        ``"csv"``, ``"tsv"``, ``"parquet"``, ``"arff"`` or ``"dat"``; the content decides when
        not given, and finds the separator of CSV (comma, tab, semicolon, ``|`` or a blank).
        """,
        Option(
            ("--format",),
            "csv, tsv, parquet, arff or dat; for lists jkl, pss or parquet. "
            "The content decides otherwise.",
            "FORMAT",
        ),
    )
    header: bool = setting(
        True,
        "Whether the first line of separated text holds the names; if not, they are 0, 1, …",
        Option(("--no-header",), "No line of names: columns are 0, 1, …", is_flag=True),
    )
    encoding: str = setting(
        "utf-8", "Encoding of text.", Option(("--encoding",), "Encoding of text.", "TEXT")
    )
    drop: tuple[str, ...] = setting(
        (),
        "Names of columns to leave out.",
        Option(
            ("--drop",),
            "Leave a column out, e.g. an identifier (repeatable).",
            "COLUMN",
            repeatable=True,
        ),
    )
    missing: str = setting(
        "error",
        """
        What happens to missing cells (blank or ``?``, null or NaN): ``"error"``, ``"drop"`` the
        row, ``"state"`` (one more state), ``"mode"`` (the most frequent state; the median in
        a continuous column), ``"pnal"`` (every family is scored on the rows where it is
        complete) or ``"em"`` (expectation maximisation).
        """,
        Option(
            ("--missing",),
            "Missing cells: refuse, drop the row, one more state, fill in, or keep them and learn "
            "by node-average likelihood or expectation maximisation.",
            "error|drop|state|mode|pnal|em",
        ),
    )
    discretize: str | None = setting(
        None,
        'How continuous columns are cut: ``"median"``, ``"quantile:K"`` or ``"width:K"``.',
        Option(
            ("--discretize",), "Cut continuous columns into states.", "median|quantile:K|width:K"
        ),
    )
