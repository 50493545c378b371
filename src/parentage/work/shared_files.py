"""What tasks in other processes share: files that workers map, or messages that are sent.

A shared file has one object: pickled, and its arrays behind it, each at a multiple of 64 bytes. A
worker maps the file and makes arrays of what it mapped, copy on write, so a machine holds one copy
however many of its processes read it. What a worker has opened it holds, until the next file of
that place. Such files are temporary; they are not a format to store data in.

A message is the same content as bytes, for workers that see no folder of ours. A scheduler that
passes it on needs nothing of what is in it: neither numpy nor compiled kernels are loaded until it
is opened.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import pickle
import secrets
import shutil
import struct
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from parentage import __version__
from parentage.errors import InputError, Way, WorkersError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Shared = tuple[Any, ...]

ALIGNED = 64

_HEAD = struct.Struct("<QQ")
_opened: dict[tuple[str, int], tuple[str, Any]] = {}
"""In a worker: by folder and place, the file that is open and what was in it."""


class SharedFile(NamedTuple):
    """Where a shared object is: its folder, its place among what is shared, its file."""

    folder: str
    place: int
    name: str


class SharedFiles:
    """What is shared at the moment, in a folder: the one given, or a temporary one."""

    def __init__(self, folder: Path | None) -> None:
        self.own = folder is None
        self.folder = make_folder(folder)
        self.shared: Shared = ()
        self.there: tuple[SharedFile, ...] = ()

    def replace(self, shared: Shared) -> None:
        """Write what is new; remove what is not shared any more."""
        pairs = zip(self.shared, self.there, strict=True)
        before = {id(value): file for value, file in pairs}
        there = tuple(
            before.get(id(value)) or write_shared(self.folder, place, value)
            for place, value in enumerate(shared)
        )
        for file in self.there:
            if file not in there:
                _remove(self.folder / file.name)
        self.shared, self.there = shared, there

    def close(self) -> None:
        """Remove the files, and the folder if it is a temporary one."""
        self.replace(())
        if self.own:
            shutil.rmtree(self.folder, ignore_errors=True)


def make_folder(folder: Path | None) -> Path:
    """Return a folder for shared files: the one given, made if need be, or a temporary one."""
    if folder is None:
        try:
            return Path(tempfile.mkdtemp(prefix="parentage-"))
        except OSError as error:
            raise InputError(
                f"cannot make a folder for temporary files: {error.strerror or error}",
                Way("exchange", ..., "for another one"),
            ) from error
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot be used: {error.strerror or error}", about=Way("exchange", str(folder))
        ) from None
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(
            f"cannot be written to: {error.strerror or error}", about=Way("exchange", str(folder))
        ) from None
    return folder


def _remove(path: Path) -> None:
    """Remove a file, if that can be done: it is of no use, and does no harm."""
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


def write_shared(folder: Path, place: int, value: Any) -> SharedFile:
    """Write an object into a file of its own."""
    file = SharedFile(str(folder), place, f"shared-{secrets.token_hex(8)}")
    try:
        with (folder / file.name).open("xb") as target:
            target.writelines(_pieces(value))
    except OSError as error:
        _remove(folder / file.name)
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        raise InputError(
            f"cannot write what workers need into {str(folder)!r}: {error.strerror or error}",
            Way("exchange", ..., f"for a folder {'with more room' if full else 'to write to'}"),
        ) from error
    return file


def read_shared(file: SharedFile) -> Any:
    """Return what is in a shared file; mapped once, then remembered."""
    key = (file.folder, file.place)
    name, value = _opened.get(key, ("", None))
    if name == file.name:
        return value
    _opened.pop(key, None)
    try:
        with (Path(file.folder) / file.name).open("rb") as source:
            content = mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_COPY)
    except OSError as error:
        raise WorkersError(
            f"a worker cannot read {file.folder!r} ({error.strerror or error})",
            Way("exchange", ..., "for a folder that all workers see"),
        ) from error
    value = _read(memoryview(content))
    _opened[key] = (file.name, value)
    return value


def write_message(value: Any) -> bytes:
    """Return an object as bytes."""
    return b"".join(_pieces(value))


def read_message(message: bytes) -> Any:
    """Return what is in a message; its arrays can be written to, as kernels need them.

    >>> read_message(write_message({"a": [1, 2]}))
    {'a': [1, 2]}
    """
    return _read(memoryview(bytearray(message)))


def _pieces(value: Any) -> Iterator[bytes | memoryview]:
    """Yield an object in pieces: sizes, the object pickled, its arrays, which are not copied."""
    arrays: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=arrays.append)
    views = [array.raw() for array in arrays]
    yield _HEAD.pack(len(head), len(views))
    yield struct.pack(f"<{len(views)}Q", *(len(view) for view in views))
    yield head
    at = _HEAD.size + 8 * len(views) + len(head)
    for view in views:
        gap = -at % ALIGNED
        yield bytes(gap)
        yield view
        at += gap + len(view)


def _read(content: memoryview) -> Any:
    length, count = _HEAD.unpack_from(content)
    sizes = struct.unpack_from(f"<{count}Q", content, _HEAD.size)
    at = _HEAD.size + 8 * count
    head = content[at : at + length]
    at += length
    views = []
    for size in sizes:
        at += -at % ALIGNED
        views.append(content[at : at + size])
        at += size
    return pickle.loads(head, buffers=views)  # noqa: S301  # we wrote it a moment ago


def have(_: Any) -> None:
    """Have a shared object: a worker that runs this gets a copy of it."""


def run(version: str, function: Callable[..., Any], task: Any, *shared: Any) -> Any:
    """Do one task, in a worker, if it has the version of the caller; read what is in files."""
    if version != __version__:
        raise WorkersError(
            f"a worker has version {__version__} of parentage, and here it is {version}",
            "install the same version for every worker",
        )
    found = [read_shared(one) if isinstance(one, SharedFile) else one for one in shared]
    return function(*found, task)
