"""Where a result may go: not over what is being read, and not over a file of another kind.

Asked by the commands before the work begins. A file that an earlier run wrote may be replaced; one
that holds anything else only with ``--force``; one that this run reads never.
"""

from __future__ import annotations

import os
import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from parentage.errors import InputError, Way
from parentage.files.source import matching

if TYPE_CHECKING:
    from collections.abc import Iterable

_ENDS = 1 << 16
_MARKS: dict[str, re.Pattern[bytes]] = {
    "jkl": re.compile(rb"\A\s*(?:#[^\n]*\s+)*[0-9]+\s"),
    "pss": re.compile(rb"\A\s*(?:#[^\n]*\s+)*(?:META|VAR)\s"),
    "parquet": re.compile(rb"\APAR1.*child.*parents.*score|\APAR1.*parentage", re.DOTALL),
    "json": re.compile(rb'\A\s*\{\s*"format": "parentage[- ]network"'),
    "certificate": re.compile(rb'\A\s*\{\s*"format":\s*"parentage certificate"'),
    "recipe": re.compile(rb"\A# A recipe of parentage"),
    "support-csv": re.compile(rb"\Afrom,to,gain,"),
    "support-json": re.compile(rb'\A\s*\{\s*"format":\s*"parentage support"'),
    "log": re.compile(rb'\A\{"stage":'),
    "bif": re.compile(rb"\A\s*(?://[^\n]*\s+|/\*.*?\*/\s*)*network\b", re.DOTALL),
    "xmlbif": re.compile(rb"<BIF\b"),
    "dot": re.compile(rb"\A\s*(?://[^\n]*\s+)*(?:strict\s+)?digraph\b"),
    "svg": re.compile(rb"<svg\b"),
    "png": re.compile(rb"\A\x89PNG\r\n"),
    "pdf": re.compile(rb"\A%PDF-"),
    "html": re.compile(rb'<meta name="generator" content="parentage '),
    "model-string": re.compile(rb"\A\s*\["),
    "table": re.compile(rb"(?!)"),  # no table is recognisably ours
}
"""How a file of each format that the commands write begins (Parquet: and ends)."""


def check_target(
    path: str | os.PathLike[str],
    form: str,
    *,
    reads: Iterable[str | None] = (),
    force: bool = False,
) -> None:
    """Refuse a target that would destroy something.

    Parameters
    ----------
    path
        Where the result is to go.
    form
        Its format, one of those the commands write.
    reads
        Files this run reads; ``"-"`` and None are none.
    force
        Replace a file of another kind all the same.
    """
    target = resolved(path)
    for source in reads:
        if source in (None, "-"):
            continue
        if any(_same(target, file) for file in _read_here(source)):
            raise InputError(
                f"{os.fspath(path)!r} is read here and would be overwritten; choose another name"
            )
    if not force and not _replaceable(target, form):
        raise InputError(
            f"{os.fspath(path)!r} exists and is not a file that this command writes",
            Way("force", True, "to overwrite it"),
            "choose another name",
        )


def check_distinct(*paths: str | None) -> None:
    """Refuse two results under one name, of which the second would replace the first."""
    targets = [(path, resolved(path)) for path in paths if path is not None]
    for i, (path, target) in enumerate(targets):
        for _, earlier in targets[:i]:
            if target == earlier or _same(target, earlier):
                raise InputError(
                    f"{path!r} is given for two results; choose a name of its own for each"
                )


def resolved(path: str | os.PathLike[str]) -> Path:
    """Follow links to the file that would be written; refuse names that cannot be one."""
    target = Path(os.fspath(path))
    if "\0" in str(target):
        raise InputError(f"cannot write {str(target)!r}: a null character in the name")
    try:
        return target.resolve()
    except (OSError, RuntimeError):
        raise InputError(f"cannot write {str(target)!r}: a loop of symbolic links") from None


def _read_here(source: str) -> list[Path]:
    try:
        return matching(source)
    except InputError:  # nothing matches: reading will say so
        return []


def _same(target: Path, source: Path) -> bool:
    try:
        return target.samefile(source)
    except (OSError, ValueError):  # one of them is not there: that is for others to say
        return False


def _replaceable(target: Path, form: str) -> bool:
    """Tell whether there is nothing yet, nothing in it, or what the command itself would write."""
    try:
        if not target.is_file():
            return True
        with target.open("rb") as file:
            content = file.read(_ENDS)
            if form == "parquet" and len(content) == _ENDS:
                file.seek(-min(_ENDS, target.stat().st_size), os.SEEK_END)
                content += file.read()
    except OSError:  # cannot be read; writing will say whether it can be replaced
        return True
    if form == "certificate":
        content = _decompressed(content)
    return not content.strip() or _MARKS[form].search(content) is not None


def _decompressed(content: bytes) -> bytes:
    """Return how a gzip file begins, anything else as it is."""
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        return zlib.decompressobj(wbits=31).decompress(content, 1 << 10)
    except zlib.error:
        return content
