"""How a file or a frame becomes a table: the settings of reading.

What may be given in several ways (one name or many, a mapping or texts ``COLUMN=VALUE``) is kept
in one: a tuple of texts as they are typed on the command line.
"""

from __future__ import annotations

import math
import os  # noqa: TC003  # hints are read where it is decoded
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING

from parentage.errors import InputError, Way, did_you_mean
from parentage.files.decoding import DecodingError, decoded
from parentage.work.settings import Option, Settings, fields_of, setting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parentage.data.recipe import Recipe
else:
    Recipe = None  # hints are read where settings are decoded, and none of these holds a recipe

OF_FILES = ("format", "header", "encoding", "sheet", "skip_rows", "decimal")
"""Settings in which the files of one recipe may differ."""

OF_MISSING = ("missing", "rate")
"""Settings that say together how missing values are treated: ``pnal:0.01``."""

EVERY = "all"
"""Stands for all columns in ``categorical``."""

NONE = "none"
"""In ``na``: words such as ``NA`` do not mean missing."""

SEVERAL = ("drop", "keep", "categorical", "na", "discretize")
"""Settings that are lists."""

EFFECTS = {
    "em": "to complete the data by expectation maximisation",
    "pnal": "to score each variable on the rows where it and its parents are known",
    "state": "if missing values are informative",
    "drop": "to leave such rows out",
}
"""Ways to treat missing values that are offered, and what each does."""

WAYS = tuple(EFFECTS)

WITHOUT_COMPLETION, OF_WHOLE_DATA = WAYS[1:], WAYS[2:]
"""Those where data completed by a network cannot be used, and where complete data are needed."""


@dataclass(frozen=True)
class Reading(Settings):
    """Settings of the first stage; see :func:`parentage.data.reading.read_table`."""

    format: str | None = setting(
        None,
        """
        Format of the table: ``"csv"``, ``"tsv"``, ``"parquet"``, ``"arff"``, ``"dat"``,
        ``"arrow"`` or ``"excel"``. By default the format is detected from the content, and so is
        the separator of CSV (comma, tab, semicolon, ``|`` or a blank).
        """,
        Option("FORMAT"),
    )
    header: bool = setting(
        True,
        """
        Read names from the first line of CSV or TSV; without names, columns are called 0, 1, …
        """,
        Option(),
    )
    encoding: str = setting("utf-8", "Encoding of a text file, e.g. cp1252.", Option("TEXT"))
    decimal: str = setting(
        ".", 'Decimal separator of numbers in text: ``"."`` or ``","``.', Option(".|,")
    )
    sheet: str | None = setting(
        None, "Sheet of an Excel workbook that has several.", Option("NAME")
    )
    drop: tuple[str, ...] = setting(
        (),
        "Leave out these columns, e.g. an identifier.",
        Option("A,B", repeatable=True, common=True),
    )
    keep: tuple[str, ...] = setting(
        (),
        "Keep these columns although they look like identifiers or free text.",
        Option("A,B", repeatable=True),
    )
    counts: str | None = setting(
        None,
        "Column with the number of times each row occurs. Without one, every row counts once.",
        Option("COLUMN"),
    )
    na: tuple[str, ...] | None = setting(
        None,
        """
        Treat this value as missing, in every column or in one. Blank cells are always missing, the
        words NA, N/A, NaN, null, None, - and ? unless ``none`` is given.

        ``["unknown", -999]`` in every column, ``{"age": [-999]}`` or ``"age=-999"`` in one. ``[]``:
        only blank cells are missing; ``["none", "unknown"]``: only blank cells and ``unknown``.
        """,
        Option("VALUE|COLUMN=VALUE|none", repeatable=True),
    )
    missing: str = setting(
        "error",
        """
        How to treat missing values. Refuse the table (``"error"``), leave out the rows
        (``"drop"``), make them one more state (``"state"``), impute the most frequent state
        (``"mode"``), or learn with them (``"pnal"``, ``"em"``). In a continuous column ``"mode"``
        imputes the median. ``"pnal"`` scores every family on the rows where it is complete,
        ``"pnal:LAMBDA"`` with this penalty per free parameter and row. ``"em"`` is expectation
        maximisation.
        """,
        Option("error|drop|state|mode|pnal|em", page="missing.md", common=True),
    )
    categorical: tuple[str, ...] = setting(
        (),
        'Treat the numbers of these columns as categories; ``"all"``: those of every column.',
        Option("A,B|all", repeatable=True),
    )
    discretize: tuple[str, ...] | None = setting(
        None,
        """
        Discretise all continuous columns, or one. HOW is ``"mdl"`` (cut points that raise BIC),
        ``"median"``, ``"quantile:K"`` or ``"width:K"``; for one column also ``at:CUT,CUT,…``, and
        for dates ``year``, ``month`` or ``weekday``.

        By column: ``{"age": "at:40,65"}`` or ``"age=at:40,65"``; the rule for all other columns is
        under ``"*"``.
        """,
        Option("HOW|COLUMN=HOW", repeatable=True, common=True),
    )
    recipe: str | os.PathLike[str] | Recipe | None = setting(
        None,
        """
        Read the table as an earlier one was read, by its recipe (TOML). The recipe sets columns,
        missing values, cut points and states; a table that does not fit is refused.

        ``table.recipe`` of that table works as well.
        """,
        Option("FILE", page="formats.md", common=True),
    )

    skip_rows: int = setting(
        0,
        "Skip the first N lines of text or of a sheet, such as a title above the header.",
        Option("N", int, least=0),
    )
    auto: bool = setting(
        False,
        """
        Decide what the table leaves open, and report each decision. Leave out
        identifiers and free text, treat codes such as -999 and words among numbers as missing,
        treat missing values by the recommended method, discretise numbers and dates. Options that
        you set take precedence; a recipe records the decisions.
        """,
        Option(page="formats.md", common=True),
    )
    rate: float | None = setting(
        None, "Penalty per free parameter and row, where ``missing`` has it: ``pnal:0.01``."
    )

    @property
    def rule(self) -> str:
        """What is done about missing values, with the penalty if there is one."""
        return self.missing if self.rate is None else f"{self.missing}:{self.rate!r}"

    @property
    def words_are_missing(self) -> bool:
        """Whether words such as ``NA`` mean missing."""
        return self.na is None or NONE not in self.na

    def __post_init__(self) -> None:
        super().__post_init__()
        way, colon, number = str(self.missing).partition(":")
        if way == "pnal" and colon:
            object.__setattr__(self, "missing", way)
            object.__setattr__(self, "rate", _rate(number))
        for name in ("drop", "keep", "categorical"):
            object.__setattr__(self, name, names_of(getattr(self, name)))
        if self.na is not None:
            object.__setattr__(self, "na", texts_of(self.na, "na") or (NONE,))
        object.__setattr__(self, "discretize", texts_of(self.discretize, "discretize") or None)
        if self.decimal not in (".", ","):
            raise InputError(
                "is not a decimal separator",
                Way("decimal", ","),
                Way("decimal", "."),
                about=Way("decimal", self.decimal),
            )

    @classmethod
    def from_dict(cls, content: object) -> Reading:
        """Make settings from those in a recipe; where several texts may be given, one will do."""
        if not isinstance(content, Mapping):
            raise DecodingError(f"settings must be a table (TOML) or a mapping, not {content!r}")
        if "recipe" in content:
            raise DecodingError("settings hold a recipe within a recipe")
        texts = {name: texts_of(content[name], name) for name in SEVERAL if name in content}
        return decoded(cls, {**content, **texts}, "settings", closed=True)


def ways_for_missing(names: Iterable[str]) -> list[Way]:
    """Return some of the ways to treat missing values, each with its effect."""
    return [Way("missing", name, EFFECTS[name]) for name in names]


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


IN_READ_TABLE = {
    name: f"it is an option of read_table: pass read_table(…, {name}=…) as the source"
    for name in fields_of(Reading)
    if name != "rate"
}
"""What to do instead where a function does not take a setting of reading."""


def _rate(number: str) -> float:
    """Read the penalty of ``pnal:0.01``."""
    try:
        rate = float(number)
    except ValueError:
        rate = math.nan
    if not (math.isfinite(rate) and rate > 0):
        raise InputError(
            "needs a number above 0 after the colon",
            Way("missing", "pnal:0.01"),
            about=Way("missing", f"pnal:{number}"),
        )
    return rate


def names_of(given: object) -> tuple[str, ...]:
    """Return names that are given one by one or several at once."""
    if given is None:
        return ()
    if not isinstance(given, Iterable):
        raise InputError(f"{given!r} is not a list of names")
    return (given,) if isinstance(given, str) else tuple(map(str, given))


def texts_of(given: object, setting_name: str) -> tuple[str, ...]:
    """Write values, lists of them or a mapping by column as texts ``VALUE`` or ``COLUMN=VALUE``.

    >>> texts_of({"age": [-999, 99.0], "*": "k.A."}, "na")
    ('age=-999', 'age=99', 'k.A.')
    """
    if given is None:
        return ()
    if isinstance(given, Mapping):
        return tuple(
            text if name == "*" else f"{name}={text}"
            for name, values in given.items()
            for text in texts_of(values, setting_name)
        )
    if isinstance(given, str):
        return (given,)
    if isinstance(given, Real):
        number = float(given)
        return (str(int(number)) if number.is_integer() else repr(number),)
    if not isinstance(given, Iterable):
        raise InputError("is neither a text nor a list of texts", about=Way(setting_name, given))
    return tuple(text for value in given for text in texts_of(value, setting_name))
