"""The folder of a checkpoint: what is in it, whether a job may use it, and a lock while it does.

A folder with something else in it is refused, whatever its name: nothing of others is ever removed
or written over. The lock is one of the operating system on a file (``flock``), so it ends with the
process, however that ends; a file that is left behind says nothing. Where nothing can be locked
(Windows, some shared disks) jobs do without.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from typing import TYPE_CHECKING

from parentage.errors import InputError, Way

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STATE = "state.json"
"""How far searches are, or expectation maximisation (:mod:`parentage.scoring.checkpoint`)."""

GROWING = "growing.state"
"""Lists that grow (:mod:`parentage.optimise.growth_keeping`)."""

SOLVING = "solving-*.json"
"""Files of the solver (:mod:`parentage.optimise.keeping`)."""

LOCK = "parentage.lock"

_NUMBER = "(0|[1-9][0-9]*)"
_HEAD = re.compile(rf"state\.json|growing\.state|solving-{_NUMBER}\.json")
ARRAY = re.compile(rf"{_NUMBER}-((level|below|memory|kept)-)?{_NUMBER}-[0-9]")
"""Names of the arrays of a search: its number, which of them, members, field."""

_PASSING = re.compile(
    rf"parentage\.lock|({_HEAD.pattern})\.part|parentage-[a-z0-9_]{{8}}|parcel-[0-9a-f]{{16}}"
)
"""What a run that was killed may leave, and what one that is also given as exchange has."""


def holds_checkpoint(folder: Path) -> bool:
    """Whether a folder holds a checkpoint, of any kind of job."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        return any(_HEAD.fullmatch(path.name) and path.is_file() for path in folder.iterdir())
    return False


def made_folder(folder: Path, *, resume: bool) -> bool:
    """Make the folder of a checkpoint, if it is not there; return whether it was not.

    Raises
    ------
    InputError
        It is not a folder, cannot be made or read, or holds something else.
    """
    about = Way("resume" if resume else "checkpoint", str(folder))
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
    if foreign and not holds_checkpoint(folder):
        raise InputError(
            f"holds no checkpoint but something else, {foreign[0]!r}",
            "name a new or empty folder",
            about=about,
        )
    return new


def remove_arrays(folder: Path, named: set[str]) -> None:
    """Remove the arrays that no state names, from a folder that holds a checkpoint.

    Raises
    ------
    InputError
        There is a folder, or something else that is not a file, where such an array goes.
    """
    for path in folder.iterdir():
        if not ARRAY.fullmatch(path.name):
            continue
        if not path.is_file():
            raise InputError(
                f"{str(path)!r} is not a file, and a file of the checkpoint has that name",
                "move it elsewhere",
            )
        if path.name not in named:
            path.unlink()


@contextlib.contextmanager
def held(folder: Path, *, resume: bool) -> Iterator[None]:
    """Keep a folder for one job: no other process, and no other job of this one, may use it.

    Raises
    ------
    InputError
        It cannot be used (:func:`made_folder`) or written to, or another run uses it.
    """
    new = made_folder(folder, resume=resume)
    path = folder / LOCK
    try:
        lock = _locked(path)
    except OSError as error:
        raise InputError(
            f"cannot be written to: {error.strerror or error}",
            "name another folder",
            about=Way("resume" if resume else "checkpoint", str(folder)),
        ) from None
    if lock is None:
        raise InputError(
            "is in use: another run that has not ended keeps its work there",
            "wait for its end",
            "name another folder",
            about=Way("resume" if resume else "checkpoint", str(folder)),
        )
    _open_locks.add(lock)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # open files cannot be removed on Windows
            path.unlink()
        _open_locks.discard(lock)
        os.close(lock)
        if new:
            with contextlib.suppress(OSError):  # something was kept
                folder.rmdir()


_open_locks: set[int] = set()


def _close_inherited() -> None:
    """Let go of locks in a process that was forked: they are of the one that runs the job."""
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
