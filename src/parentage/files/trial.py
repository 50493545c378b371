"""Files of formats that a library reads for us, each tried first in a process of its own.

A file damaged inside can make a library ask for more memory than there is, which ends the process
and cannot be caught; so can a sheet of two cells, one of them in the last row and column. So a
child process reads the file first; what it refuses, and what kills it, becomes a message, and a
notebook survives. That costs the start of an interpreter once, some tenths of a second, and reading
twice. The child waits for the next file and ends with us. A large Parquet file stays where it is:
the child gets its path.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from parentage.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

_Result = TypeVar("_Result")

Content = bytes | Path
"""A file in memory, or where it is."""

Kind = Literal["Parquet", "Arrow", "Excel"]
_LETTERS: dict[Kind, bytes] = {"Parquet": b"P", "Arrow": b"A", "Excel": b"E"}

MOST_CELLS = 200_000_000
"""The largest sheet, filled or not, that is read."""

BATCH = 1 << 18
"""Rows of a Parquet file that the child reads at a time."""

_CHILD = """
import io, os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
try:
    import resource
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
except (ImportError, ValueError, OSError):
    pass
import polars as pl

def parquet(data, opened=io.BytesIO):
    pl.read_parquet_metadata(opened(data))
    rows = pl.scan_parquet(opened(data), glob=False, hive_partitioning=False)
    number = rows.select(pl.len()).collect().item()
    if number <= BATCH:
        pl.read_parquet(opened(data), glob=False, hive_partitioning=False)
        return
    for first in range(0, number, BATCH):
        height = rows.slice(first, BATCH).collect().height
        if height < min(BATCH, number - first):
            raise ValueError(f"it has fewer rows than the {number} it says")

def parquet_file(path):
    parquet(path, os.fsdecode)

def arrow(data):
    if data.startswith(b"ARROW1"):
        pl.read_ipc(io.BytesIO(data))
    else:
        pl.read_ipc_stream(io.BytesIO(data))

def excel(data):
    import fastexcel
    try:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 34, 1 << 34))
    except (NameError, ValueError, OSError):
        pass
    book = fastexcel.read_excel(data)
    for name in book.sheet_names:
        sheet = book.load_sheet(name, header_row=None)
        if sheet.width * sheet.total_height > MOST_CELLS:
            raise ValueError(f"sheet {name!r} reaches too far: {sheet.total_height} rows, "
                             f"{sheet.width} columns")
        sheet.to_polars()

kinds = {b"P": parquet, b"F": parquet_file, b"A": arrow, b"E": excel}
while kind := sys.stdin.buffer.read(1):
    data = sys.stdin.buffer.read(int.from_bytes(sys.stdin.buffer.read(8), "big"))
    try:
        kinds[kind](data)
        answer = b""
    except BaseException as error:
        reason = str(error).split("\\n")[0][:200] or type(error).__name__
        answer = reason.encode("utf-8", "replace")
    sys.stdout.buffer.write(len(answer).to_bytes(8, "big") + answer)
    sys.stdout.buffer.flush()
""".replace("MOST_CELLS", str(MOST_CELLS)).replace("BATCH", str(BATCH))
"""What the child runs: kind, length and content of a file in, a reason against it out."""

LARGE = 1 << 26
"""After a file of so many bytes the child is sent away with the memory it took."""

_lock = threading.Lock()
_children: list[tuple[int, subprocess.Popen[bytes]]] = []
"""The child that is waiting for the next file, and the process it belongs to."""

_tried: list[bytes] = []
"""Digest of the file that was tried last: tables and lists are looked at more than once."""


def guarded(action: Callable[[], _Result], kind: Kind = "Parquet") -> _Result:
    """Let polars work on a file; whatever it makes of odd contents becomes a message."""
    import polars as pl

    try:
        return action()
    except (pl.exceptions.PanicException, Exception) as error:
        raise _refusal(str(error).split("\n")[0][:200] or type(error).__name__, kind) from None


def identity(content: Content) -> bytes:
    """Return what tells a file from others, and from what it was before it changed."""
    if isinstance(content, bytes):
        return hashlib.sha256(content).digest()
    try:
        about = content.stat()
    except OSError as error:
        raise InputError(f"cannot read {str(content)!r}: {error.strerror}") from None
    written = about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns
    return repr((os.fsencode(content), written)).encode()


def try_out(content: Content, kind: Kind = "Parquet") -> None:
    """Read a file in the child process, to see whether that can be survived."""
    digest = _LETTERS[kind] + identity(content)
    with _lock:
        if _tried == [digest]:
            return
        if isinstance(content, bytes):
            reason = _ask(content, _LETTERS[kind], len(content))
        else:
            reason = _ask(os.fsencode(content), b"F", content.stat().st_size)
        if reason:
            raise _refusal(reason, kind)
        _tried[:] = [digest]


def _ask(data: bytes, letter: bytes, size: int) -> str:
    """Return what the child has against a file of some size, nothing if it read it."""
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
        child.stdin.write(letter + len(data).to_bytes(8, "big"))
        child.stdin.write(data)
        child.stdin.flush()
        length = child.stdout.read(8)
        answer = child.stdout.read(int.from_bytes(length, "big"))
        answered = len(length) == 8
    except BrokenPipeError:
        answer = b""
    finally:  # an interrupt, too, leaves a child that nobody understands any more
        code = _dismiss() if not answered or size > LARGE or letter == _LETTERS["Excel"] else 0
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


def _refusal(reason: str, kind: Kind) -> InputError:
    return InputError(f"the {kind} file cannot be read: {reason}")
