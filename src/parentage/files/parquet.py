"""Parquet files as frames, through polars, each tried first in a process of its own.

A file damaged inside a page can make polars ask for more memory than there is, which ends the
process and cannot be caught. So a child process reads the file first; what it refuses, and what
kills it, becomes a message, and a notebook survives. That costs the start of an interpreter once,
some tenths of a second, and reading twice. The child waits for the next file and ends with us.
"""

from __future__ import annotations

import atexit
import hashlib
import io
import os
import subprocess
import sys
import threading
from contextlib import suppress
from typing import IO, TYPE_CHECKING, TypeVar

from parentage.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

_Result = TypeVar("_Result")

_CHILD = """
import io, os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
try:
    import resource
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
except (ImportError, ValueError, OSError):
    pass
import polars as pl
while size := sys.stdin.buffer.read(8):
    data = sys.stdin.buffer.read(int.from_bytes(size, "big"))
    try:
        pl.read_parquet_metadata(io.BytesIO(data))
        pl.read_parquet(io.BytesIO(data))
        answer = b""
    except BaseException as error:
        reason = str(error).split("\\n")[0][:200] or type(error).__name__
        answer = reason.encode("utf-8", "replace")
    sys.stdout.buffer.write(len(answer).to_bytes(8, "big") + answer)
    sys.stdout.buffer.flush()
"""
"""What the child runs: the length of a Parquet file and the file in, a reason against it out."""

LARGE = 1 << 26
"""After a file of so many bytes the child is sent away with the memory it took."""

_lock = threading.Lock()
_children: list[tuple[int, subprocess.Popen[bytes]]] = []
"""The child that is waiting for the next file, and the process it belongs to."""

_tried: list[bytes] = []
"""Digest of the file that was tried last: tables and lists are looked at more than once."""


def read_frame(data: bytes) -> pl.DataFrame:
    """Read all columns."""
    import polars as pl

    try_out(data)
    return guarded(lambda: pl.read_parquet(io.BytesIO(data)))


def read_facts(data: bytes, key: str) -> str | None:
    """Return what the file's metadata say under a key, None if nothing."""
    import polars as pl

    try_out(data)
    return guarded(lambda: pl.read_parquet_metadata(io.BytesIO(data))).get(key)


def holds_lists(data: bytes) -> bool:
    """Tell whether the columns are those of candidate lists."""
    import polars as pl

    try_out(data)
    schema = guarded(lambda: pl.read_parquet_schema(io.BytesIO(data)))
    return set(schema) == {"child", "parents", "score"} and isinstance(schema["parents"], pl.List)


def write_frame(frame: pl.DataFrame, file: IO[bytes], facts: dict[str, str]) -> None:
    """Write a frame and its metadata; what the disk refuses is an ``OSError``."""
    import polars as pl

    try:
        frame.write_parquet(file, metadata=facts)
        file.flush()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise OSError(str(error).split("\n")[0][:200]) from None


def guarded(action: Callable[[], _Result]) -> _Result:
    """Let polars work on a frame; whatever it makes of odd contents becomes a message."""
    import polars as pl

    try:
        return action()
    except (pl.exceptions.PanicException, Exception) as error:
        raise _refusal(str(error).split("\n")[0][:200] or type(error).__name__) from None


def try_out(data: bytes) -> None:
    """Read a file in the child process, to see whether that can be survived."""
    digest = hashlib.sha256(data).digest()
    with _lock:
        if _tried == [digest]:
            return
        reason = _ask(data)
        if reason:
            raise _refusal(reason)
        _tried[:] = [digest]


def _ask(data: bytes) -> str:
    """Return what the child has against a file, nothing if it read it."""
    if not _children or _children[0][0] != os.getpid():
        command = [sys.executable, "-P", "-c", _CHILD]
        child = subprocess.Popen(  # noqa: S603  # our own interpreter and program
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        _children[:] = [(os.getpid(), child)]
    child = _children[0][1]
    assert child.stdin is not None and child.stdout is not None  # noqa: S101  # pipes above
    answered = False
    try:
        child.stdin.write(len(data).to_bytes(8, "big"))
        child.stdin.write(data)
        child.stdin.flush()
        size = child.stdout.read(8)
        answer = child.stdout.read(int.from_bytes(size, "big"))
        answered = len(size) == 8
    except BrokenPipeError:
        answer = b""
    finally:  # an interrupt, too, leaves a child that nobody understands any more
        code = _dismiss() if not answered or len(data) > LARGE else 0
    if not answered:
        return f"it is damaged, and reading it ended a process ({code})"
    return answer.decode("utf-8", "replace")


@atexit.register
def _dismiss() -> int:
    """Send the child away; return how it ended, 0 if there was none of this process."""
    code = 0
    for owner, child in _children:
        if owner == os.getpid():
            child.kill()
            code = child.wait()
            for pipe in (child.stdin, child.stdout):
                if pipe is not None:
                    with suppress(OSError):  # what it did not take is lost with it
                        pipe.close()
    _children.clear()
    return code


def _refusal(reason: str) -> InputError:
    return InputError(f"the Parquet file cannot be read: {reason}")
