"""What a job has done, saved in a folder: it continues after a kill, a full disk or a reboot.

::

    folder/job.state           what the job is: its kind, data, settings and version
    folder/search-0.state      one file for each slot: plain values, then arrays
    folder/search-0-kept-2-1   an array of that slot that only grows (:mod:`.array_files`)
    folder/parentage.lock      there while a job uses the folder

A :class:`Checkpoint` is opened once, where the folder is locked, and is handed down in the context.
Every stage takes a :class:`Slot` by its name, continues from the slot's ``state``, and writes a new
one when the slot is ``due``; what a state holds is known to the stage alone, in its ``to_state``
and ``from_state``.

A state is sealed by a checksum and replaced in one step. Arrays that grow are on the disk before
the state that names them, and files that no state names do not exist. All slots together spend at
most :attr:`.tuning.Tuning.writing_share` of the time on writing.

A folder that holds something else is refused, and nothing of others is ever removed or written
over. The lock is one of the operating system (``flock``), which ends with the process; where
nothing can be locked (Windows, some shared disks) jobs do without.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import re
import time
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parentage.errors import InputError, NotSavedWarning, ResourceError, Way, warn
from parentage.work.array_files import Array, GrowingArray, damaged
from parentage.work.tuning import TUNING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

FORMAT = 1
JOB, LOCK = "job.state", "parentage.lock"

TABLE, LISTS = "a table", "lists"
COMPLETION = "a table whose missing values are completed by expectation maximisation"
"""Kinds of jobs: what is worked on, and how."""

DIGESTS = {"table": "the table is another one", "lists": "the lists are other ones"}
"""Entries of a job that are digests, and what a difference means."""

_NUMBER = "(0|[1-9][0-9]*)"
_STATE = re.compile(rf"(job|first|growth|em|(search|solve)-{_NUMBER})\.state")
"""Names of states: the job, and the slots."""

ARRAY = re.compile(
    rf"(search-{_NUMBER})-(level|below|memory|bins|(wide-)?sets|kept)-{_NUMBER}-[0-9]"
)
"""Names of arrays: slot, what they hold, number of members, field."""

_PASSING = re.compile(
    rf"parentage\.lock|({_STATE.pattern})\.part|parentage-[a-z0-9_]{{8}}|shared-[0-9a-f]{{16}}"
)
"""What a killed run may leave, and what is there while the folder is also used for exchange."""

DAMAGE = (
    KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, RecursionError,
    EOFError,
)  # fmt: skip
"""What reading a state raises that makes no sense."""

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class SavedState(NamedTuple):
    """What a slot holds: plain values, arrays that are replaced, files of arrays that grow."""

    values: Mapping[str, Any]
    arrays: Mapping[str, Array] = {}
    files: Mapping[str, Sequence[GrowingArray]] = {}


class Checkpoint:
    """A folder and what it holds of one job.

    Raises
    ------
    InputError
        The folder cannot be used, holds something else, or is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        make_folder(folder)
        known = read_sealed(folder / JOB)
        if known is None and (states := _states_in(folder)):
            raise damaged(folder / JOB, f"is missing, and {states[0]!r} is there")
        self.job: dict[str, Any] = {} if known is None else dict(known.values)
        self._job_written = known is not None
        self.spent = 0.0
        self.began = time.perf_counter()
        self.warned = False
        self._numbered: dict[str, int] = {}

    def claim(self, job: Mapping[str, Any]) -> None:
        """Say what the job is, or more of it when a further stage begins.

        The first stage says its ``"kind"``. What is known already has to be equal.

        Raises
        ------
        InputError
            The folder is of another job; the message names what differs.
        ResourceError
            The disk is full.
        """
        from parentage import __version__

        asked: dict[str, Any] = json.loads(json.dumps({**job, "version": __version__}))
        kind = self.job.get("kind")
        if kind is not None and asked.get("kind", kind) != kind:
            raise InputError(
                f"the checkpoint in {str(self.folder)!r} belongs to another kind of job: "
                f"{kind}, not {asked['kind']}",
                "give the same data and settings",
                Way("checkpoint", ..., "for a new folder"),
            )
        known = {name: self.job[name] for name in asked if name in self.job}
        if different := "; ".join(differences(known, {name: asked[name] for name in known})):
            raise InputError(
                f"the checkpoint in {str(self.folder)!r} belongs to another job: {different}",
                "give the same data and settings",
                Way("checkpoint", ..., "for a new folder"),
            )
        self.job.update(asked)
        self._job_written &= len(known) == len(asked)
        if kind is None:  # before any array: a folder with arrays of ours has a job
            try:
                self.write_job()
            except OSError as error:
                raise self.full_disk(error) from error

    def write_job(self) -> None:
        """Write the job, if there is more of it than was written; slots do before their state."""
        if not self._job_written:
            write_sealed(self.folder / JOB, SavedState(self.job))
            self._job_written = True

    def slot(self, name: str) -> Slot:
        """Return the slot of this name, with what an earlier run wrote into it."""
        return Slot(self, name)

    def next_slot(self, name: str) -> Slot:
        """Return the slot with the next number: ``solve-0``, then ``solve-1``."""
        number = self._numbered.get(name, 0)
        self._numbered[name] = number + 1
        return Slot(self, f"{name}-{number}")

    def full_disk(self, error: OSError) -> ResourceError:
        """Return the error of work that cannot continue without this folder."""
        when = "there is room" if error.errno in NO_ROOM else "it can be written to"
        way = Way("checkpoint", str(self.folder), f"when {when}: what it holds so far is intact")
        return ResourceError(
            f"cannot write into {str(self.folder)!r}: {error.strerror or error}", way
        )


class Slot:
    """The state of one stage; ``state`` is what an earlier run wrote, None if there is nothing.

    Raises
    ------
    InputError
        What is there is damaged.
    """

    def __init__(self, checkpoint: Checkpoint, name: str) -> None:
        self.checkpoint, self.name = checkpoint, name
        self.path = checkpoint.folder / f"{name}.state"
        self.state = read_sealed(self.path)
        files = {} if self.state is None else self.state.files
        self._files = {file.path.name: file for group in files.values() for file in group}
        self._written, self._cost = checkpoint.began, TUNING.seconds_to_write
        _remove_arrays(checkpoint.folder, name, set(self._files))

    def growing(self, name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> GrowingArray:
        """Return a new array that grows; it is there for good with the next state that has it."""
        file = GrowingArray(self.checkpoint.folder, f"{self.name}-{name}", dtype, shape)
        self._files[file.path.name] = file
        return file

    def due(self, nbytes: int | None = None, apart: float | None = None) -> bool:
        """Whether to write now: enough time has passed for what that costs.

        Without ``nbytes`` the last write tells the cost. ``apart`` are the seconds between two
        writes.
        """
        now = time.perf_counter()
        cost = self._cost
        if nbytes is not None:
            cost = TUNING.seconds_to_write + nbytes / TUNING.bytes_a_second
        enough = TUNING.writing_share * (now - self.checkpoint.began)
        apart = TUNING.seconds_apart if apart is None else apart
        return now - self._written >= apart and self.checkpoint.spent + cost <= enough

    def write(self, make: Callable[[], SavedState], *, required: bool = False) -> bool:
        """Replace the state by what ``make`` returns; return whether the disk took it.

        A disk that does not is warned of once: the work continues, and what was written before
        stays.

        Raises
        ------
        ResourceError
            The disk did not take it, and it is ``required``: its arrays are nowhere else.
        """
        began = time.perf_counter()
        try:
            self.checkpoint.write_job()
            state = make()
            named = {file.path.name for group in state.files.values() for file in group}
            for name in named:
                self._files[name].sync()
            write_sealed(self.path, state)
            for name in self._files.keys() - named:
                self._files.pop(name).remove()
        except OSError as error:
            if required:
                raise self.checkpoint.full_disk(error) from error
            self._warn(error)
            return False
        finally:
            self._written = time.perf_counter()
            self._cost = 1.2 * (self._written - began)  # the next state is larger
            self.checkpoint.spent += self._written - began
        return True

    def _warn(self, error: OSError) -> None:
        if not self.checkpoint.warned:
            text = f"cannot write into {str(self.path.parent)!r}: {error.strerror or error}"
            more = "the work continues but is not saved; what the folder holds so far is intact"
            warn(NotSavedWarning(f"{text}; {more}"))
        self.checkpoint.warned = True

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Turn errors of values that make no sense into one that says that the file is damaged."""
        try:
            yield
        except DAMAGE as error:
            raise _unreadable(self.path, error) from None


# Sealed files


def write_sealed(path: Path, state: SavedState) -> None:
    """Replace a file in one step, on the disk when this returns: head, values, arrays."""
    files = {name: [file.facts() for file in group] for name, group in state.files.items()}
    body = io.BytesIO()
    facts = {"values": state.values, "files": files, "arrays": list(state.arrays)}
    body.write(json.dumps(facts).encode() + b"\n")
    for array in state.arrays.values():
        np.save(body, array, allow_pickle=False)
    content = body.getbuffer()
    head = {"format": FORMAT, "name": path.name, "check": zlib.crc32(content)}
    write_synced(path, json.dumps(head).encode() + b"\n", content)


def read_sealed(path: Path) -> SavedState | None:
    """Read what :func:`write_sealed` wrote; None if there is nothing.

    Raises
    ------
    InputError
        It is of another format, or has changed since it was written.
    """
    try:
        line, _, content = path.read_bytes().partition(b"\n")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, error) from None
    try:
        head = json.loads(line)
        if head["format"] != FORMAT:
            raise InputError(
                f"the checkpoint {str(path)!r} has format {head['format']}, and this version reads "
                f"{FORMAT}",
                "continue with the version that wrote it",
            )
        if (head["name"], head["check"]) != (path.name, zlib.crc32(content)):
            raise ValueError("it has changed since it was written")
        body = io.BytesIO(content)
        found = json.loads(body.readline())
        arrays = {str(name): np.load(body, allow_pickle=False) for name in found["arrays"]}
        files = {
            str(name): [GrowingArray.reopened(path.parent, facts) for facts in group]
            for name, group in found["files"].items()
        }
        return SavedState(dict(found["values"]), arrays, files)
    except InputError:
        raise
    except DAMAGE as error:
        raise _unreadable(path, error) from None


def write_synced(path: Path, *content: bytes | memoryview) -> None:
    """Replace a file in one step, on the disk when this returns."""
    draft = path.with_name(path.name + ".part")
    try:
        with draft.open("wb") as file:
            for part in content:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError:
        with contextlib.suppress(OSError):  # the first error is the one to report
            draft.unlink(missing_ok=True)
        raise
    if hasattr(os, "O_DIRECTORY"):  # a rename is on the disk when its folder is
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _unreadable(path: Path, error: Exception) -> InputError:
    return damaged(path, f"cannot be read ({type(error).__name__}: {error})")


# What differs between two jobs


def differences(was: Mapping[str, Any], now: Mapping[str, Any], name: str = "") -> Iterator[str]:
    """Say in words what differs, setting by setting.

    >>> list(differences({"score": "bic", "prior": {"arc": None}},
    ...                  {"score": "aic", "prior": {"arc": 0.2}}))
    ['score was bic, is aic', 'prior.arc was not set, is 0.2']
    """
    for key in {**was, **now}:
        before, after = was.get(key), now.get(key)
        if before == after:
            continue
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from differences(before, after, f"{name}{key}.")
        elif not name and key in DIGESTS:
            yield DIGESTS[key]
        else:
            yield f"{name}{key} was {_text(before)}, is {_text(after)}"


def _text(value: object) -> str:
    if value is None:
        return "not set"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "…"


# The folder


def _states_in(folder: Path) -> list[str]:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        paths = sorted(folder.iterdir())
        return [path.name for path in paths if _STATE.fullmatch(path.name) and path.is_file()]
    return []


def make_folder(folder: Path) -> bool:
    """Make the folder of a checkpoint, if it is not there; return whether it was not.

    Raises
    ------
    InputError
        It is not a folder, cannot be made or read, or holds something else.
    """
    about = Way("checkpoint", str(folder))
    new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = sorted(path.name for path in folder.iterdir())
    except (FileExistsError, NotADirectoryError):
        at = next(path for path in (folder, *folder.parents) if path.exists())
        what = "is not a folder" if at == folder else f"cannot be made: {str(at)!r} is not a folder"
        raise InputError(what, "name a new or empty folder", about=about) from None
    except OSError as error:
        raise InputError(
            f"cannot be made or read: {error.strerror or error}", about=about
        ) from None
    foreign = [name for name in names if not _PASSING.fullmatch(name)]
    if foreign and not _states_in(folder):
        raise InputError(
            f"is not empty and holds no checkpoint, but {foreign[0]!r}",
            "name a new or empty folder",
            about=about,
        )
    return new


def _remove_arrays(folder: Path, slot: str, named: set[str]) -> None:
    """Remove the arrays of a slot that its state does not name.

    Raises
    ------
    InputError
        There is a folder, or something else that is not a file, where such an array goes.
    """
    for path in folder.iterdir():
        found = ARRAY.fullmatch(path.name)
        if found is None or found[1] != slot:
            continue
        if not path.is_file():
            raise InputError(
                f"{str(path)!r} is not a file, and a file of the checkpoint has that name",
                "move it elsewhere",
            )
        if path.name not in named:
            path.unlink()


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[Checkpoint]:
    """Open the checkpoint in a folder and lock it, against other processes and other jobs here.

    Raises
    ------
    InputError
        The folder cannot be used (:class:`Checkpoint`) or written to, or another run uses it.
    """
    new = make_folder(folder)
    path = folder / LOCK
    try:
        lock = _locked(path)
    except OSError as error:
        raise InputError(
            f"cannot be written to: {error.strerror or error}",
            "name another folder",
            about=Way("checkpoint", str(folder)),
        ) from None
    if lock is None:
        raise InputError(
            "is in use: another run that has not ended saves its work there",
            "wait for its end",
            "name another folder",
            about=Way("checkpoint", str(folder)),
        )
    _open_locks.add(lock)
    try:
        yield Checkpoint(folder)
    finally:
        with contextlib.suppress(OSError):  # open files cannot be removed on Windows
            path.unlink()
        _open_locks.discard(lock)
        os.close(lock)
        if new:
            with contextlib.suppress(OSError):  # something was saved
                folder.rmdir()


_open_locks: set[int] = set()


def _close_inherited() -> None:
    """Let go of locks in a forked process: they belong to the one that runs the job."""
    for lock in _open_locks:
        with contextlib.suppress(OSError):
            os.close(lock)
    _open_locks.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_inherited)


def _locked(path: Path) -> int | None:
    """Open a file and lock it; None if it is locked already."""
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
        try:
            _lock(lock)
            if _is_same(lock, path):
                return lock
        except BlockingIOError:
            os.close(lock)
            return None
        os.close(lock)  # it was removed at the end of another run, between the two


def _lock(lock: int) -> None:
    try:
        import fcntl
    except ImportError:  # not on Windows
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            raise BlockingIOError(*error.args) from None
        # a disk that cannot lock, as some shared ones: ENOLCK, ENOTSUP, ENOSYS


def _is_same(lock: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(lock), path.stat())
    except FileNotFoundError:
        return False
