"""Candidate lists as files: .jkl, .pss and Parquet, read and written."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from parentage.errors import ListsError, Way
from parentage.files.atomic import extension_of, resolved, write_text
from parentage.files.detect import detect_with_text, plain_name
from parentage.files.source import Source, SourceLike, open_source

if TYPE_CHECKING:
    from parentage.scoring.lists import CandidateLists


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
    from parentage.scoring.formats import parquet, text

    opened = open_source(source)
    found, content = detect_with_text(opened, format, encoding)
    if opened.more:
        raise ListsError(f"candidate lists are one file, and {len(opened.more) + 1} files match")
    if found.kind == "table":
        raise ListsError(
            f"{opened.name} holds a table ({found.format}), not candidate lists; `score` makes "
            "lists of it",
            Way("format", "jkl", "(or pss) if it holds lists"),
        )
    if found.format == "parquet":
        return parquet.read_parquet(opened.content)
    return text.read_pss(content) if found.format == "pss" else text.read_jkl(content)


def write_lists(lists: CandidateLists, path: str | os.PathLike[str]) -> None:
    """Write candidate lists, as the extension says; the file appears whole or not at all."""
    from parentage.scoring.formats import parquet, text

    name = check_lists_target(path)
    if name == "parquet":
        parquet.write_parquet(lists, path)
    else:
        write_text(path, text.jkl_text(lists) if name == "jkl" else text.pss_text(lists))


def check_lists_target(path: str | os.PathLike[str]) -> str:
    """Return the format in which lists would be written; refuse a name without one.

    Asked before a long search, so that its result is not lost to a bad file name.
    """
    name = plain_name(extension_of(path, ".jkl", ".jaa", ".scores", ".pss", ".parquet"))
    if not resolved(path).parent.is_dir():
        raise ListsError(f"cannot write {os.fspath(path)!r}: there is no such folder")
    return name
