"""Standard output and error that may be full, closed or gone; names that would command a terminal.

A reader that has gone (``head``, ``less``) is not an error: what is left is dropped and the
command ends with its usual code. A full or closed stdout loses the result, which is an error.
Trouble with stderr cannot be reported and is ignored.
"""

from __future__ import annotations

import os
import re
import sys
from typing import Any, TextIO

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class StdoutError(Exception):
    """Standard output took less than it was given."""


def visible(text: str) -> str:
    r"""Show control characters instead of sending them.

    >>> visible("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


class Outlet:
    """A text stream that survives its reader and tells when the result is lost."""

    def __init__(self, stream: TextIO | None, *, result: bool) -> None:
        self._stream = stream
        self._result = result
        self._gone = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream or sys.__stdin__, name)

    def isatty(self) -> bool:
        """Whether somebody looks at it."""
        return self._stream is not None and not self._gone and self._stream.isatty()

    def write(self, text: str) -> int:
        """Write, unless the reader has gone."""
        if not isinstance(text, str):
            raise TypeError("a text stream takes text")
        if text:  # nothing, written to a full disk, fails as well
            self._try("write", visible(text) if self._result and self.isatty() else text)
        return len(text)

    def flush(self) -> None:
        """Push out what is waiting."""
        self._try("flush")

    def _try(self, what: str, *args: str) -> None:
        if self._gone:
            return
        if self._stream is None:
            if self._result and args:
                self._gone = True
                raise StdoutError("stdout is closed; redirect it, or give -o FILE")
            return
        try:
            getattr(self._stream, what)(*args)
        except OSError as error:
            self._gone = True
            # what is still buffered must not fail once more when the interpreter ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
            if self._result and not isinstance(error, BrokenPipeError):
                reason = error.strerror or str(error)
                raise StdoutError(f"cannot write the result to stdout: {reason}") from None


def guard_streams() -> None:
    """Put outlets in the place of the process's own streams; those of a test are left alone."""
    _occupy_descriptors()
    if sys.stdout is sys.__stdout__:
        sys.stdout = Outlet(sys.stdout, result=True)
    if sys.stderr is sys.__stderr__:
        sys.stderr = Outlet(sys.stderr, result=False)


def _occupy_descriptors() -> None:
    """Open nothing where 0, 1 or 2 is closed: a file of ours must not become stdout."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
