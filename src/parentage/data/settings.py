"""How a file or a frame becomes a table: the settings of reading.

What may be given in several ways (one name or many, a mapping or texts ``COLUMN=VALUE``) is kept
in one: a tuple of texts as they are typed on the command line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, TypedDict

from parentage.errors import InputError, Way, did_you_mean
from parentage.work.settings import Option, setting

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from parentage.data.recipe import Recipe

OF_FILES = ("format", "header", "encoding", "sheet")
"""Settings that a data frame does not need."""

EVERY = "all"
"""Stands for all columns in ``categorical``."""

NONE = "none"
"""In ``na``: words such as ``NA`` do not mean missing."""


class ReadingKeywords(TypedDict, total=False):
    """What may be given for the settings of reading."""

    format: str | None
    header: bool
    encoding: str
    decimal: str
    sheet: str | None
    drop: Iterable[str]
    keep: Iterable[str]
    counts: str | None
    na: object
    missing: str
    categorical: Iterable[str]
    discretize: str | Iterable[str] | Mapping[str, str] | None
    recipe: str | os.PathLike[str] | Recipe | None


@dataclass(frozen=True)
class Reading:
    """Settings of the first stage; see :func:`parentage.data.reading.read_table`."""

    format: str | None = setting(
        None,
        """
        ``"csv"``, ``"tsv"``, ``"parquet"``, ``"arff"``, ``"dat"``, ``"arrow"`` or ``"excel"``;
        the content decides when not given, and finds the separator of CSV (comma, tab, semicolon,
        ``|`` or a blank).
        """,
        Option(
            ("--format",),
            "csv, tsv, parquet, arff, dat, arrow or excel; for lists jkl, pss or parquet. The "
            "content decides otherwise.",
            "FORMAT",
        ),
    )
    header: bool = setting(
        True,
        "Whether the first line of separated text holds the names; if not, they are 0, 1, …",
        Option(
            ("--no-header",),
            "The first line is data, not names: columns are called 0, 1, …",
            is_flag=True,
        ),
    )
    encoding: str = setting(
        "utf-8", "Encoding of text.", Option(("--encoding",), "Encoding of text.", "TEXT")
    )
    decimal: str = setting(
        ".",
        'What stands before a fraction in text: ``"."`` or ``","``.',
        Option(("--decimal",), "Decimal point of numbers in text.", ".|,"),
    )
    sheet: str | None = setting(
        None,
        "The sheet of a workbook, where there are several.",
        Option(("--sheet",), "Sheet of a workbook, where there are several.", "NAME"),
    )
    drop: tuple[str, ...] = setting(
        (),
        "Names of columns to leave out.",
        Option(
            ("--drop",),
            "Leave columns out, e.g. an identifier (repeatable).",
            "A,B",
            repeatable=True,
            common=True,
        ),
    )
    keep: tuple[str, ...] = setting(
        (),
        "Names of columns to keep although they look like identifiers or free text.",
        Option(
            ("--keep",),
            "Keep columns that look like identifiers or free text (repeatable).",
            "A,B",
            repeatable=True,
        ),
    )
    counts: str | None = setting(
        None,
        "Name of the column that says how often each row occurs; without it every row counts once.",
        Option(
            ("--counts",),
            "Column with the number of times each row occurs (a table of counts).",
            "COLUMN",
        ),
    )
    na: tuple[str, ...] | None = setting(
        None,
        """
        Values that mean missing, besides blank cells and the words ``NA``, ``N/A``, ``NaN``,
        ``null``, ``None``, ``-``, ``?`` and the like: ``["unknown", -999]`` in every column,
        ``{"age": [-999]}`` or ``"age=-999"`` in one. ``[]``: only blank cells are missing, and
        these words are states; ``["none", "unknown"]``: only blank cells and ``unknown`` are.
        """,
        Option(
            ("--na",),
            "A value that means missing, everywhere or in one column (repeatable), besides NA, "
            "N/A, NaN, null, None, - and ?; none: these words are states.",
            "VALUE|COLUMN=VALUE|none",
            repeatable=True,
        ),
    )
    missing: str = setting(
        "error",
        """
        What happens to missing cells: ``"error"``, ``"drop"`` the row, ``"state"`` (one more
        state), ``"mode"`` (the most frequent state; the median in a continuous column),
        ``"pnal"`` (every family is scored on the rows where it is
        complete) or ``"em"`` (expectation maximisation).
        """,
        Option(
            ("--missing",),
            "What happens to missing cells. Refuse, drop the row, one more state, fill in, or keep "
            "them and learn by node-average likelihood or expectation maximisation.",
            "error|drop|state|mode|pnal|em",
            page="missing.md",
            common=True,
        ),
    )
    categorical: tuple[str, ...] = setting(
        (),
        'Names of columns whose numbers are codes of categories; ``"all"`` for all columns.',
        Option(
            ("--categorical",),
            "Numbers of these columns are categories (repeatable).",
            "A,B|all",
            repeatable=True,
            common=True,
        ),
    )
    discretize: tuple[str, ...] | None = setting(
        None,
        """
        How continuous columns are cut: ``"mdl"``, ``"median"``, ``"quantile:K"`` or ``"width:K"``;
        for single columns, continuous or not, ``{"age": "at:40,65"}`` or ``"age=at:40,65"`` (the
        rule for all others is under ``"*"``).
        """,
        Option(
            ("--discretize",),
            "Cut continuous columns, or one column, into states (repeatable). How: mdl, median, "
            "quantile:K, width:K or at:CUT,CUT,…",
            "HOW|COLUMN=HOW",
            repeatable=True,
            common=True,
        ),
    )
    recipe: str | os.PathLike[str] | Recipe | None = setting(
        None,
        """
        How an earlier table was read, from a TOML file or from ``table.recipe``: the same
        columns, missing values, cut points and states. A table that does not fit is refused.
        """,
        Option(
            ("--recipe",),
            "Read as a recipe says (TOML; see --write-recipe).",
            "FILE",
            page="formats.md",
            common=True,
        ),
    )

    @property
    def words_are_missing(self) -> bool:
        """Whether words such as ``NA`` mean missing."""
        return self.na is None or NONE not in self.na

    def __post_init__(self) -> None:
        for name in ("drop", "keep", "categorical"):
            object.__setattr__(self, name, _names(getattr(self, name)))
        if self.na is not None:
            object.__setattr__(self, "na", _texts(self.na, "na") or (NONE,))
        object.__setattr__(self, "discretize", _texts(self.discretize, "discretize") or None)
        if self.decimal not in (".", ","):
            raise InputError(
                "cannot stand before a fraction",
                Way("decimal", ","),
                Way("decimal", "."),
                about=Way("decimal", self.decimal),
            )


def missing_values(
    given: Iterable[str], names: Sequence[str]
) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """Return the values that mean missing everywhere, and those by column."""
    everywhere, by_column = list[str](), dict[str, tuple[str, ...]]()
    known = set(names)
    for text in given:
        places = [i for i, character in enumerate(text) if character == "="]
        at = next((i for i in places if text[:i] in known), None)
        if at is not None:
            name, value = text[:at], text[at + 1 :].strip()
            by_column[name] = (*by_column.get(name, ()), value)
        elif places and places[0] > 0:
            name = text[: places[0]]
            raise InputError(
                f"has no column {name!r}; {did_you_mean(name, names)}", about=Way("na", text)
            )
        elif text != NONE:
            everywhere.append(text.strip())
    return tuple(everywhere), by_column


def _names(given: object) -> tuple[str, ...]:
    if given is None:
        return ()
    return (given,) if isinstance(given, str) else tuple(str(name) for name in _each(given))


def _texts(given: object, setting_name: str) -> tuple[str, ...]:
    """Write values, lists of them or a mapping by column as texts ``VALUE`` or ``COLUMN=VALUE``.

    >>> _texts({"age": [-999, 99.0], "*": "k.A."}, "na")
    ('age=-999', 'age=99', 'k.A.')
    """
    if given is None:
        return ()
    if isinstance(given, Mapping):
        return tuple(
            text if name == "*" else f"{name}={text}"
            for name, values in given.items()
            for text in _texts(values, setting_name)
        )
    if isinstance(given, str):
        return (given,)
    if isinstance(given, Real):
        number = float(given)
        return (str(int(number)) if number.is_integer() else repr(number),)
    if not isinstance(given, Iterable):
        raise InputError("is neither a text nor several", about=Way(setting_name, given))
    return tuple(text for value in given for text in _texts(value, setting_name))


def _each(given: Any) -> Iterable[Any]:
    if not isinstance(given, Iterable):
        raise InputError(f"{given!r} is not a list of names")
    return given
