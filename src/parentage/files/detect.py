r"""What a file holds, by its content: a table or candidate lists, and in which format.

The content decides, never the extension alone: a Parquet file by its first bytes and its columns,
Arrow and workbooks by their first bytes, ARFF by its first declaration, .pss by META or VAR, .jkl
by a number of variables and the head of a block, .dat (blip) by names, cardinalities and codes
below them, all separated by blanks; other text is a delimited table. ``format`` overrides all.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, Literal

from parentage.errors import InputError, Way, did_you_mean
from parentage.files.source import PARQUET, Source, SourceLike, is_workbook, open_source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


Kind = Literal["table", "lists"]

TABLE_FORMATS = ("csv", "tsv", "arff", "dat", "parquet", "arrow", "excel")
BINARY = ("parquet", "arrow", "excel")
LISTS_FORMATS = ("jkl", "pss", "parquet")
ARFF_DECLARATION = re.compile(r"@(relation|attribute|data)(?![\w-])", re.IGNORECASE)
ARROW = (b"ARROW1", b"\xff\xff\xff\xff")
"""How an Arrow file begins, and how a stream does."""
OWN_JKL = "# parentage candidate lists 1, names percent-encoded"
"""First line of the .jkl files written here."""
NETWORKS = (".bif", ".xmlbif", ".bifxml", ".dot", ".gv")
"""Extensions that network files have and no others."""
SEPARATORS = "\t,;|"
"""What may separate cells; a blank too, when none of these does."""

_HEAD = 1_000_000
_ALIASES = {
    "scores": "jkl", "jaa": "jkl", "txt": "csv", "feather": "arrow", "ipc": "arrow",
    "xlsx": "excel", "xls": "excel", "xlsb": "excel", "ods": "excel",
}  # fmt: skip
_PSS_FIRST = re.compile(r"(?:META [^,;\t]*=|VAR +[^\s,;]+ *$)", re.IGNORECASE)


@dataclass(frozen=True)
class Detected:
    """What a file is: a table or candidate lists, and in which format."""

    kind: Kind
    format: str


def detect(
    source: SourceLike | Source,
    format: str | None = None,  # noqa: A002  # the option is called --format
    encoding: str = "utf-8",
) -> Detected:
    r"""Say what a file holds.

    Parameters
    ----------
    source
        A path, ``"-"`` for standard input, bytes, or a source from :func:`open_source` (which
        can be read again, as standard input cannot).
    format
        A format name that overrides what the content says.
    encoding
        Encoding of text.

    Examples
    --------
    >>> detect(b"a,b\n0,1\n")
    Detected(kind='table', format='csv')
    >>> detect(b"1\nsmoker 1\n-12.5 0\n")
    Detected(kind='lists', format='jkl')
    """
    return detect_with_text(open_source(source), format, encoding, "replace")[0]


def detect_with_text(
    source: Source, written: str | None, encoding: str = "utf-8", errors: str = "strict"
) -> tuple[Detected, str]:
    """Return what the source is, and its text if it is one."""
    if written is None and source.suffix in NETWORKS:
        raise InputError(
            f"{source.name} has the extension of a network, but a table or lists are needed here; "
            "networks are for queries and reports"
        )
    named = None if written is None else _named(source, written)
    if named is not None and named.format in BINARY:
        return named, ""
    binary = binary_format(source.start) if named is None else None
    if binary is not None:
        return _parquet(source) if binary == "parquet" else Detected("table", binary), ""
    text = source.text(encoding, errors)
    head = text[:_HEAD]
    if not head.strip() and not text.strip():
        raise InputError(f"{source.name} is empty")
    return named or _by_text(head, source.suffix), text


def binary_format(data: bytes) -> str | None:
    """Return the format of a file that is not text, by its first bytes; None for any other."""
    if data.startswith(PARQUET):
        return "parquet"
    if data.startswith(ARROW):
        return "arrow"
    if data.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1") or is_workbook(data):
        return "excel"
    return None


def plain_name(written: str) -> str:
    """Return a format's own name for what was typed or for an extension.

    >>> plain_name(".JAA"), plain_name("csv")
    ('jkl', 'csv')
    """
    name = written.lower().removeprefix(".")
    return _ALIASES.get(name, name)


def leading_comments(text: str) -> list[str]:
    """Return the blank lines and ``#`` lines before anything else."""
    lines = (line.strip() for line in text[:_HEAD].split("\n"))
    return list(takewhile(lambda line: not line or line[0] == "#", lines))


def first_records(text: str, separator: str) -> Iterator[list[str]]:
    """Yield the first records that are not blank; a quoted cell may span lines."""
    try:
        for cells in csv_reader(io.StringIO(text[:_HEAD]), separator):
            if len(cells) > 1 or any(cell.strip() for cell in cells):
                yield cells
    except csv.Error:
        return


def csv_reader(lines: Iterable[str], separator: str) -> Any:
    """Return Python's lenient parser; there may be blanks before the quote of a cell.

    A cell may be a whole document: the parser's limit of 131,072 characters is raised.
    """
    csv.field_size_limit(2**31 - 1)
    return csv.reader(lines, delimiter=separator, skipinitialspace=True)


def _named(source: Source, written: str) -> Detected:
    name = plain_name(written)
    if name == "parquet":
        return _parquet(source)
    if name in TABLE_FORMATS:
        return Detected("table", name)
    if name in LISTS_FORMATS:
        return Detected("lists", name)
    known = dict.fromkeys([*TABLE_FORMATS, *LISTS_FORMATS])
    raise InputError(f"is not a format; {did_you_mean(name, known)}", about=Way("format", written))


def _parquet(source: Source) -> Detected:
    from parentage.files.parquet import holds_lists

    if not source.start.strip():
        raise InputError(f"{source.name} is empty")
    return Detected("lists" if holds_lists(source.content) else "table", "parquet")


def _by_text(text: str, suffix: str) -> Detected:
    if ARFF_DECLARATION.match(next(_significant(text, "%"), "")):
        return Detected("table", "arff")
    if _PSS_FIRST.match(next(_significant(text), "")):  # META or VAR
        return Detected("lists", "pss")
    if looks_like_dat(text):
        return Detected("table", "dat")
    if _looks_like_jkl(text):
        return Detected("lists", "jkl")
    if suffix == ".dat" and has_shape(first_lines(text)):
        return Detected("table", "dat")
    if suffix in (".jkl", ".jaa", ".scores", ".pss") and not _has_columns(text):
        return Detected("lists", "pss" if suffix == ".pss" else "jkl")
    return Detected("table", "csv")


def _looks_like_jkl(text: str) -> bool:
    """Tell whether it says so, or begins with a number of variables and the head of a block."""
    if OWN_JKL in leading_comments(text):
        return True
    lines = _significant(text)
    first, second = next(lines, "").split(), next(lines, "").split()
    return (
        len(first) == 1
        and first[0].isascii()
        and first[0].isdigit()
        and len(second) >= 2
        and not any(separator in token for token in second for separator in ",;")
    )


def _significant(text: str, comment: str = "#") -> Iterator[str]:
    """Yield the lines that are neither blank nor comments."""
    lines = (line.strip() for line in io.StringIO(text))
    return (line for line in lines if line and line[0] != comment)


def _has_columns(text: str) -> bool:
    """Tell whether the first records agree on two or more cells between the usual separators."""
    for separator in SEPARATORS:
        widths = {len(cells) for cells in islice(first_records(text, separator), 10)}
        if len(widths) == 1 and widths != {1}:
            return True
    return False


Line = tuple[int, list[str]]
"""A line's number and its tokens."""


def looks_like_dat(text: str) -> bool:
    """Tell whether the first lines are names, cardinalities and codes below them."""
    lines = first_lines(text)
    if not has_shape(lines) or any(separator in text.split("\n", 1)[0] for separator in ",;\t|"):
        return False
    _, (_, cards), *rows = without_counts(lines)
    limits = [int(card) for card in cards]
    return len(limits) > 1 and all(
        len(row) == len(limits) and all(map(is_code, row, limits)) for _, row in rows
    )


def first_lines(text: str) -> list[Line]:
    """Return the first lines that are not blank, with their numbers; a cut one is left out."""
    lines = text[:_HEAD].split("\n")
    if len(text) > _HEAD:
        lines.pop()
    return [(i, line.split()) for i, line in enumerate(lines[:60], 1) if line.strip()]


def has_shape(lines: list[Line]) -> bool:
    """Tell whether names and as many cardinalities come first."""
    lines = without_counts(lines)
    if len(lines) < 2:
        return False
    (_, names), (_, cards) = lines[:2]
    return len(names) == len(cards) and all(map(is_count, cards)) and "0" not in cards


def without_counts(lines: list[Line]) -> list[Line]:
    """Leave out the two counts of the older dialect."""
    if len(lines) < 4 or not all(
        len(lines[i][1]) == 1 and is_count(lines[i][1][0]) for i in (0, 3)
    ):
        return lines
    n_variables = int(lines[0][1][0])
    if len(lines[1][1]) == len(lines[2][1]) == n_variables > 1:
        return [*lines[1:3], *lines[4:]]
    return lines


def is_count(token: str) -> bool:
    """Tell whether a token is a whole number of a sensible size."""
    return token.isascii() and token.isdigit() and len(token) < 10


def is_code(cell: str, cardinality: int) -> bool:
    """Tell whether a cell is missing or a code below the cardinality."""
    return cell == "?" or (is_count(cell) and int(cell) < cardinality)


def plain_float(token: str) -> float:
    """Read a number.

    >>> plain_float("-1.5e3")
    -1500.0

    Raises
    ------
    ValueError
        It is something else.
    """
    if "_" in token or not token.isascii():
        raise ValueError(f"{token[:40]!r} is not a number")
    return float(token)
