"""Large objects for other processes: parcels are files that workers map, letters are sent.

A parcel is one file: the object pickled, and its arrays behind it, each at a multiple of 64 bytes.
A worker maps the file and makes arrays of what it mapped, copy on write, so a machine holds one
copy however many of its processes read it. What a worker has opened it keeps, until the next
parcel of that place. Parcels are for the moment; they are not a format to keep data in.

A letter has the same content in memory, for workers that see no folder of ours. Who passes it on
needs nothing of what is in it: neither numpy nor compiled kernels are loaded until it is opened.
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
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex

from parentage import __version__
from parentage.errors import InputError, Way, WorkersError
from parentage.work.crew import POLL, Crew, Shared, attend, nothing, submitted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from parentage.work.crew import Look

ALIGNED = 64
UNKNOWN_SIZE = 16
"""Workers of an executor that does not say how many it has."""

_HEAD = struct.Struct("<QQ")
_opened: dict[tuple[str, int], tuple[str, Any]] = {}
"""In a worker: by folder and place, the parcel that is open and what was in it."""


class Parcel(NamedTuple):
    """Where a shared object is: its folder, its place among what is shared, its file."""

    folder: str
    place: int
    name: str


class Parcels:
    """What is shared at the moment, in a folder: the one given, or a temporary one."""

    def __init__(self, folder: Path | None) -> None:
        self.own = folder is None
        self.folder = make_folder(folder)
        self.shared: Shared = ()
        self.there: tuple[Parcel, ...] = ()

    def replace(self, shared: Shared) -> None:
        """Write what is new; remove what is not shared any more."""
        pairs = zip(self.shared, self.there, strict=True)
        before = {id(value): parcel for value, parcel in pairs}
        there = tuple(
            before.get(id(value)) or pack(self.folder, place, value)
            for place, value in enumerate(shared)
        )
        for parcel in self.there:
            if parcel not in there:
                _remove(self.folder / parcel.name)
        self.shared, self.there = shared, there

    def close(self) -> None:
        """Remove the files, and the folder if it is a temporary one."""
        self.replace(())
        if self.own:
            shutil.rmtree(self.folder, ignore_errors=True)


class Processes(Crew):
    """The workers of any executor, for whom shared objects are in a folder that all of them see.

    Without ``folder`` it is a temporary one, which is enough for processes of this machine.
    """

    def __init__(self, executor: Executor, folder: Path | None = None) -> None:
        self.executor = executor
        self.size = workers_of(executor)
        self.parcels = Parcels(folder)

    def bring(self, shared: Shared) -> None:
        """Write what is new; remove what is not shared any more."""
        self.parcels.replace(shared)

    def start(self, function: Callable[..., Any], task: Any, name: str) -> Future[Any]:
        """Submit a task."""
        try:
            return submitted(self.executor, run, __version__, function, task, *self.parcels.there)
        except BrokenExecutor as error:
            raise self._broken(error) from error

    def result(self, started: Future[Any], look: Look = nothing) -> Any:
        """Wait for a result."""
        try:
            while not attend(started, look, POLL):
                pass
            return started.result()
        except (BrokenExecutor, CancelledError) as error:
            raise self._broken(error) from error

    def _broken(self, error: BaseException) -> WorkersError:
        return WorkersError(
            f"the workers of {type(self.executor).__name__} were lost "
            f"({type(error).__name__}: {error})",
            "see whether they ran out of memory, and start again with new ones",
        )

    def cancel(self, started: Future[Any]) -> None:
        """Take a task off the queue."""
        started.cancel()

    def close(self) -> None:
        """Remove the parcels."""
        self.parcels.close()


def workers_of(executor: Executor) -> int:
    """Return how many workers an executor says it has."""
    return max(1, int(getattr(executor, "_max_workers", None) or UNKNOWN_SIZE))


def make_folder(folder: Path | None) -> Path:
    """Return a folder for parcels: the one given, made if need be, or a temporary one."""
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


def pack(folder: Path, place: int, value: Any) -> Parcel:
    """Write an object into a file of its own."""
    head, raw = _dismantled(value)
    parcel = Parcel(str(folder), place, f"parcel-{secrets.token_hex(8)}")
    try:
        with (folder / parcel.name).open("xb") as file:
            file.write(_HEAD.pack(len(head), len(raw)))
            file.write(struct.pack(f"<{len(raw)}Q", *(len(view) for view in raw)))
            file.write(head)
            for view in raw:
                file.write(bytes(-file.tell() % ALIGNED))
                file.write(view)
    except OSError as error:
        _remove(folder / parcel.name)
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        raise InputError(
            f"cannot write what workers need into {str(folder)!r}: {error.strerror or error}",
            Way("exchange", ..., f"for a folder {'with more room' if full else 'to write to'}"),
        ) from error
    return parcel


def unpack(parcel: Parcel) -> Any:
    """Return what is in a parcel; mapped once, then remembered."""
    key = (parcel.folder, parcel.place)
    name, value = _opened.get(key, ("", None))
    if name == parcel.name:
        return value
    _opened.pop(key, None)
    try:
        with (Path(parcel.folder) / parcel.name).open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    except OSError as error:
        raise WorkersError(
            f"a worker cannot read {parcel.folder!r} ({error.strerror or error})",
            Way("exchange", ..., "for a folder that all workers see"),
        ) from error
    value = _read(memoryview(content))
    _opened[key] = (parcel.name, value)
    return value


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


def _dismantled(value: Any) -> tuple[bytes, list[memoryview]]:
    """Pickle an object; its arrays are not copied."""
    arrays: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=arrays.append)
    return head, [array.raw() for array in arrays]


class Letter:
    """An object on its way: pickled, with its arrays beside it, which are not copied."""

    def __init__(self, head: bytes, arrays: Iterable[Any]) -> None:
        self.head = head
        self.arrays = [memoryview(array) for array in arrays]

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> tuple[Any, ...]:
        return Letter, (self.head, [pickle.PickleBuffer(array) for array in self.arrays])

    @property
    def size(self) -> int:
        """Bytes that are sent."""
        return len(self.head) + sum(array.nbytes for array in self.arrays)


def write_letter(value: Any) -> Letter:
    """Put an object into a letter."""
    return Letter(*_dismantled(value))


def read_letter(letter: Letter) -> Any:
    """Return what is in a letter; arrays that came read-only are copied, as kernels need them.

    >>> read_letter(pickle.loads(pickle.dumps(write_letter({"a": [1, 2]}))))
    {'a': [1, 2]}
    """
    arrays = [bytearray(array) if array.readonly else array for array in letter.arrays]
    return pickle.loads(letter.head, buffers=arrays)  # noqa: S301  # our own program sent it


def have(_: Any) -> None:
    """Have a shared object: a worker that runs this gets a copy of it."""


def run(version: str, function: Callable[..., Any], task: Any, *shared: Any) -> Any:
    """Do one task, in a worker, if it has the version of whoever asks; open what is a parcel."""
    if version != __version__:
        raise WorkersError(
            f"a worker has version {__version__} of parentage, and here it is {version}",
            "install the same version for every worker",
        )
    opened = [unpack(one) if isinstance(one, Parcel) else one for one in shared]
    return function(*opened, task)
