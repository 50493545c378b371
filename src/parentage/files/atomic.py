"""Results become files: whole or not at all, never over an input, with a digest of what they state.

The last step of every ``write_`` function. The temporary file is in the folder of the target
(a rename across file systems is a copy) and is removed on any error, Ctrl-C included. The commands
check their targets before the work begins.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import secrets
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from parentage.errors import InputError
from parentage.files.source import matching

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a path to write to; when the block ends well, the file takes its real name.

    A target that is not a regular file (a pipe, ``/dev/null``) is written to directly.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "lists.jkl") as draft:
    ...         _ = draft.write_text("37")
    ...     [entry.name for entry in Path(folder).iterdir()]
    ['lists.jkl']
    """
    given, target = Path(os.fspath(path)), resolved(path)  # a link stays, its file is replaced
    draft = target.with_name(f".parentage-{secrets.token_hex(8)}.part")
    if _is_special(given):
        draft = given
    try:
        yield draft
        if draft != given:
            draft.replace(target)
    except BaseException as error:
        if draft != given:
            with suppress(OSError):  # what made writing fail is the error to tell
                draft.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise InputError(_cannot_write(target, error)) from error
        raise


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a UTF-8 text file whole or not at all."""
    with replacing(path) as draft:
        draft.write_text(text, encoding="utf-8", newline="\n")


def csv_text(names: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """Return separated text with a line of names.

    >>> print(csv_text(["a", "b,c"], [["1", "x"]]), end="")
    a,"b,c"
    1,x
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return text.getvalue()


def _is_special(target: Path) -> bool:
    """Tell whether the target exists and is not a regular file; refuse what cannot be one."""
    try:
        refuse_folder(target)
        if not target.parent.is_dir():
            raise InputError(
                f"cannot write {str(target)!r}: there is no folder {str(target.parent)!r}"
            )
        return target.exists() and not target.is_file()
    except OSError as error:
        raise InputError(_cannot_write(target, error)) from None


def _cannot_write(target: Path, error: OSError) -> str:
    return f"cannot write {str(target)!r}: {error.strerror or error}"


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


def refuse_folder(path: str | os.PathLike[str]) -> None:
    """Refuse a folder where a file is to be written."""
    if os.path.isdir(path):  # noqa: PTH112  # False for a name that no file can have
        raise InputError(f"{os.fspath(path)!r} is a folder; give a file name")


def extension_of(path: str | os.PathLike[str], *known: str) -> str:
    """Return the extension of a file to be written; refuse one that is not known.

    >>> extension_of("support.CSV", ".csv", ".json")
    '.csv'
    """
    ending = Path(path).suffix.lower()
    if ending not in known:
        refuse_folder(path)
        *others, last = known
        listed = f"{', '.join(others)} or {last}" if others else last
        raise InputError(f"{os.fspath(path)!r} has an unknown extension; use {listed}")
    return ending


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


def digest_of(kind: str, content: object) -> str:
    """Return the SHA-256 of plain values, as ``sha256:`` and 64 hexadecimal digits.

    Hashed are ``parentage``, a blank, the kind and a newline, then the values as JSON in ASCII:
    keys sorted, no blanks, numbers as Python writes them.

    Parameters
    ----------
    kind
        What the values state, with the version of the format: equal values of two kinds have
        different digests.
    content
        Plain values, as ``json.loads`` returns them.

    Raises
    ------
    InputError
        The values are nested too deeply.

    Examples
    --------
    >>> digest_of("example 1", {"b": [1, 2.5], "a": None})[:15]
    'sha256:86002c59'
    >>> digest_of("example 1", {"a": None, "b": [1, 2.5]})[:15]
    'sha256:86002c59'
    """
    try:
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    except RecursionError:
        raise InputError("the file is nested too deeply") from None
    return "sha256:" + hashlib.sha256(f"parentage {kind}\n{text}".encode()).hexdigest()
