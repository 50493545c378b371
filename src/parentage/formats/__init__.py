"""Files in and out: which format a file has, and the readers and writers of candidate lists.

Both ends of the path. The content decides what a file is, never its extension alone: a Parquet
file by its first bytes and its columns, ARFF by its first declaration, .pss by META or VAR, .jkl
by a number of variables and the head of a block, .dat by names, cardinalities and codes below
them; other text is a delimited table. ``format`` overrides all of it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from parentage.errors import InputError, ListsError, TableError, did_you_mean
from parentage.formats.source import Source, SourceLike, open_source

if TYPE_CHECKING:
    from parentage.formats.raw import RawTable
    from parentage.lists import CandidateLists

Kind = Literal["table", "lists"]

TABLE_FORMATS = ("csv", "tsv", "arff", "dat", "parquet")
LISTS_FORMATS = ("jkl", "pss", "parquet")

_HEAD = 1_000_000
_ALIASES = {"scores": "jkl", "jaa": "jkl", "txt": "csv"}

__all__ = [
    "LISTS_FORMATS",
    "TABLE_FORMATS",
    "Detected",
    "Source",
    "SourceLike",
    "check_lists_target",
    "detect",
    "open_source",
    "read_columns",
    "read_lists",
    "write_lists",
]


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
    return _detect(open_source(source), format, encoding)[0]


def read_columns(
    source: SourceLike | Source,
    *,
    format: str | None = None,  # noqa: A002  # the option is called --format
    header: bool = True,
    encoding: str = "utf-8",
) -> RawTable:
    """Read a table as raw columns; candidate lists are refused."""
    from parentage.formats import arff, dat, delimited, parquet

    opened = open_source(source)
    found, text = _detect(opened, format, encoding)
    if found.kind == "lists":
        raise TableError(
            f"{opened.name} holds candidate lists ({found.format}), not a table; "
            "`parentage learn` takes them; type --format csv if it is a table after all"
        )
    if found.format == "parquet":
        return parquet.read_table(opened.data)
    if found.format == "arff":
        return arff.read(text)
    if found.format == "dat":
        return dat.read(text)
    return delimited.read(text, header=header, separator="\t" if found.format == "tsv" else None)


def read_lists(
    source: SourceLike | Source,
    format: str | None = None,  # noqa: A002  # the option is called --format
    *,
    encoding: str = "utf-8",
) -> CandidateLists:
    r"""Read candidate lists from .jkl (.jaa, .scores), .pss or Parquet.

    Parameters
    ----------
    source
        A path, ``"-"`` for standard input, bytes, or an opened source.
    format
        ``"jkl"``, ``"pss"`` or ``"parquet"``; the content decides when not given.
    encoding
        Encoding of text.

    Examples
    --------
    >>> read_lists(b"2\na 1\n-2.5 0\nb 2\n-1.5 1 a\n-3 0\n")
    CandidateLists: 2 variables, 3 parent sets, at most 1 parent
    """
    from parentage.formats import jkl, parquet, pss

    opened = open_source(source)
    found, text = _detect(opened, format, encoding)
    if found.kind == "table":
        raise ListsError(
            f"{opened.name} holds a table ({found.format}), not candidate lists; score it first "
            "with `parentage score`, or type --format jkl or pss if it holds lists after all"
        )
    if found.format == "parquet":
        return parquet.read_lists(opened.data)
    return pss.read(text) if found.format == "pss" else jkl.read(text)


def write_lists(
    lists: CandidateLists,
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002  # the option is called --format
) -> None:
    """Write candidate lists; the file appears whole or not at all.

    Parameters
    ----------
    lists
        What to write.
    path
        Where to; its extension (.jkl, .jaa, .scores, .pss, .parquet) says how.
    format
        ``"jkl"``, ``"pss"`` or ``"parquet"``, whatever the extension.
    """
    from parentage.formats import jkl, parquet, pss

    name = check_lists_target(path, format)
    {"jkl": jkl.write, "pss": pss.write, "parquet": parquet.write_lists}[name](lists, path)


def check_lists_target(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002  # the option is called --format
) -> str:
    """Return the format in which lists would be written; refuse a name that says none.

    Asked before a long search, so that its result is not lost for want of a file name.
    """
    name = _plain_name(format or Path(path).suffix)
    if name not in LISTS_FORMATS:
        raise ListsError(
            f"no format of candidate lists {name!r} (in {os.fspath(path)!r}); end the file name in "
            ".jkl, .pss or .parquet"
        )
    if not Path(path).resolve().parent.is_dir():
        raise ListsError(f"cannot write {os.fspath(path)!r}: there is no such folder")
    return name


def _detect(source: Source, written: str | None, encoding: str) -> tuple[Detected, str]:
    """Return what the source is, and its text unless it is a Parquet file."""
    named = None if written is None else _named(source, written)
    if named is not None and named.format == "parquet":
        return named, ""
    if source.is_parquet and named is None:
        return _parquet(source), ""
    text = source.text(encoding)
    head = text[:_HEAD]
    if not head.strip() and not text.strip():
        raise InputError(f"{source.name} is empty")
    return named or _by_text(head, source.suffix), text


def _plain_name(written: str) -> str:
    name = written.lower().removeprefix(".")
    return _ALIASES.get(name, name)


def _named(source: Source, written: str) -> Detected:
    name = _plain_name(written)
    if name == "parquet":
        return _parquet(source)
    if name in TABLE_FORMATS:
        return Detected("table", name)
    if name in LISTS_FORMATS:
        return Detected("lists", name)
    known = dict.fromkeys([*TABLE_FORMATS, *LISTS_FORMATS])
    raise InputError(f"no format {written!r}; {did_you_mean(name, known)}")


def _parquet(source: Source) -> Detected:
    from parentage.formats import parquet

    if not source.data.strip():
        raise InputError(f"{source.name} is empty")
    return Detected("lists" if parquet.holds_lists(source.data) else "table", "parquet")


def _by_text(text: str, suffix: str) -> Detected:
    from parentage.formats import arff, dat, delimited, jkl, pss

    if arff.looks_like_arff(text):
        return Detected("table", "arff")
    if pss.looks_like_pss(text):
        return Detected("lists", "pss")
    if dat.looks_like_dat(text):
        return Detected("table", "dat")
    if jkl.looks_like_jkl(text):
        return Detected("lists", "jkl")
    if suffix == ".dat" and dat.has_dat_shape(text):
        return Detected("table", "dat")
    if suffix in (".jkl", ".jaa", ".scores", ".pss") and not delimited.has_columns(text):
        return Detected("lists", "pss" if suffix == ".pss" else "jkl")
    return Detected("table", "csv")
