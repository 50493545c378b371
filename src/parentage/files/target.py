"""Where results may go: never over a file that is read, and two results never into one file.

The commands ask before the work begins. Any other file is overwritten.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from parentage.errors import InputError
from parentage.files.source import matching

if TYPE_CHECKING:
    from collections.abc import Iterable


def check_targets(paths: Iterable[str | None], reads: Iterable[str | None]) -> None:
    """Refuse a result that would overwrite an input or another result.

    Parameters
    ----------
    paths
        Where the results are to go; None is a result that is not written.
    reads
        Files and patterns that are read; ``"-"`` and None are none.
    """
    sources = [file for source in reads if source not in (None, "-") for file in _files(source)]
    earlier: list[Path] = []
    for path in paths:
        if path is None:
            continue
        target = resolved(path)
        if any(_same(target, source) for source in sources):
            raise InputError(f"{path!r} is read here and would be overwritten; choose another name")
        if any(target == other or _same(target, other) for other in earlier):
            raise InputError(f"{path!r} is given for two results; choose another name for one")
        earlier.append(target)


def resolved(path: str | os.PathLike[str]) -> Path:
    """Follow links to the file that would be written; refuse names that cannot be one."""
    target = Path(os.fspath(path))
    if "\0" in str(target):
        raise InputError(f"cannot write {str(target)!r}: a null character in the name")
    try:
        return target.resolve()
    except (OSError, RuntimeError):
        raise InputError(f"cannot write {str(target)!r}: a loop of symbolic links") from None


def _files(source: str) -> list[Path]:
    try:
        return matching(source)
    except InputError:  # nothing matches: reading will say so
        return []


def _same(target: Path, source: Path) -> bool:
    try:
        return target.samefile(source)
    except (OSError, ValueError):  # one of them is not there: that is for others to say
        return False
