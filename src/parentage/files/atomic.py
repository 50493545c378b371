"""Files appear whole or not at all: written under another name, then renamed.

The last step of every ``write_`` function. The temporary file is in the folder of the target
(a rename across file systems is a copy) and is removed on any error, Ctrl-C included.
"""

from __future__ import annotations

import os
import secrets
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from parentage.errors import InputError
from parentage.files.target import resolved

if TYPE_CHECKING:
    from collections.abc import Iterator


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
    target = resolved(path)  # a link stays a link, its file is replaced
    if _is_special(Path(os.fspath(path))):
        try:
            yield Path(os.fspath(path))
        except OSError as error:
            raise InputError(_cannot_write(target, error)) from error
        return
    draft = target.with_name(f".parentage-{secrets.token_hex(8)}.part")
    try:
        try:
            yield draft
            draft.replace(target)
        except OSError as error:
            raise InputError(_cannot_write(target, error)) from error
    except BaseException:
        with suppress(OSError):  # what made writing fail is the error to tell
            draft.unlink(missing_ok=True)
        raise


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a UTF-8 text file whole or not at all."""
    with replacing(path) as draft:
        draft.write_text(text, encoding="utf-8", newline="\n")


def _is_special(target: Path) -> bool:
    """Tell whether the target exists and is not a regular file; refuse what cannot be one."""
    try:
        if target.is_dir():
            raise InputError(f"{str(target)!r} is a directory; give a file name")
        if not target.parent.is_dir():
            raise InputError(
                f"cannot write {str(target)!r}: there is no folder {str(target.parent)!r}"
            )
        return target.exists() and not target.is_file()
    except OSError as error:
        raise InputError(_cannot_write(target, error)) from None


def _cannot_write(target: Path, error: OSError) -> str:
    return f"cannot write {str(target)!r}: {error.strerror or error}"
