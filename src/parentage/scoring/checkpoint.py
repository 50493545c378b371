"""What a search has found so far, kept in a folder: it goes on after a kill, a full disk, a reboot.

::

    folder/state.json      what is searched, how far it is, which files hold what
    folder/0-3-1           search 0, sets of 3 members, field 1 (:mod:`parentage.files.growing`)
    folder/0-kept-2-0      search 0, families of 2 parents that are kept, field 0
    folder/growing.state   where lists that grow are, and all they found
    folder/solving-0.json  the incumbent and the proof, as far as they are

State and files change together: files only grow, ``state.json`` says how far they count, and it is
replaced in one step after they are on the disk. What it does not name does not exist. A search that
goes on does the chunks that are missing, in the same order, so its lists are the same.

Keeping takes at most :data:`SHARE` of the time: a finished level, or the chunks of the current one
every :data:`SECONDS`, are written as soon as that much time has passed.
"""

from __future__ import annotations

import errno
import json
import os
import time
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from parentage.errors import InputError, NotKeptWarning, Way, warn
from parentage.files.growing import Facts, GrowingArray, no_room
from parentage.work.folder import (
    GROWING,
    SOLVING,
    STATE,
    holds_checkpoint,
    made_folder,
    remove_arrays,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

FORMAT = 2
SECONDS = 60.0
"""How often the chunks of a level are written."""
SHARE = 0.04
"""Of the time, for writing."""
WRITING, BYTES_A_SECOND = 0.03, 4e8
"""What writing is expected to take: seconds in any case, and by how much there is to write."""

DAMAGE = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
"""What reading a state raises that makes no sense."""

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Checkpoint:
    """A folder and the state in it, of all searches of one table.

    Raises
    ------
    InputError
        There is a checkpoint in the folder and ``resume`` is not set, or it is of another job, or
        damaged.
    """

    def __init__(self, folder: Path, job: Mapping[str, Any], *, resume: bool) -> None:
        self.folder = folder
        self.job: dict[str, Any] = json.loads(json.dumps(job))
        self.searches: dict[str, dict[str, Any]] = {}
        self.spent = 0.0
        self.began = self.written = time.perf_counter()
        begin_or_go_on(folder, resume=resume)
        known = _read_state(folder)
        if known is None and holds_checkpoint(folder):
            raise _without_state(folder, self.job)
        if known is not None:
            compare(folder, known["job"], self.job)
            self.searches = known["searches"]
            self.clean()
        else:  # before any array: a folder with arrays of ours has a state
            try:
                self._write()
            except OSError as error:
                raise self.refuse(error) from error

    def clean(self) -> None:
        """Remove files that no state names: what was being written when the program ended."""
        named = {name for state in self.searches.values() for name in _names(state)}
        remove_arrays(self.folder, named)

    def due(self, every: float, nbytes: int) -> bool:
        """Whether to write so much now."""
        now = time.perf_counter()
        cost = self.spent + WRITING + nbytes / BYTES_A_SECOND
        return now - self.written >= every and cost <= SHARE * (now - self.began)

    def write(self, number: int | str, state: Mapping[str, Any]) -> None:
        """Replace the state of one search; its files are on the disk already."""
        self.searches[str(number)] = dict(state)
        self._write()

    def _write(self) -> None:
        content = {"format": FORMAT, "job": self.job, "searches": self.searches}
        content["check"] = checksum(self.job, self.searches)
        write_synced(self.folder / STATE, json.dumps(content))

    def refuse(self, error: OSError) -> Exception:
        """Return the error that tells of a disk that takes no more."""
        return full_disk(self.folder, error)


class Pace:
    """When to write what is replaced as a whole: at most :data:`SHARE` of the time goes there.

    All of it is in memory, so nothing depends on its being written: a disk that takes no more is
    told of once, the work goes on, and what was written before stays.
    """

    def __init__(self, every: float) -> None:
        self.every = every
        self.began = self.written = time.perf_counter()
        self.spent, self.expected = 0.0, WRITING
        self.told = False

    def due(self) -> bool:
        """Whether to write now."""
        now = time.perf_counter()
        share = SHARE * (now - self.began)
        return now - self.written >= self.every and self.spent + self.expected <= share

    def keep(self, folder: Path, write: Callable[[], None]) -> bool:
        """Write; return whether the disk took it."""
        try:
            write()
        except OSError as error:
            if not self.told:
                text = f"cannot write into {str(folder)!r}: {error.strerror or error}"
                more = "the work goes on and is not kept; what the folder holds so far is whole"
                warn(NotKeptWarning(f"{text}; {more}"))
            self.told = True
            return False
        return True

    def wrote(self, began: float) -> None:
        """Note a write that has just ended."""
        self.written = time.perf_counter()
        self.expected = 1.2 * (self.written - began)  # the next one is larger
        self.spent += self.written - began


class Sealed(NamedTuple):
    """A file of a checkpoint: of which job it is, a few facts, and its content."""

    job: dict[str, Any]
    facts: dict[str, Any]
    content: bytes


def write_sealed(path: Path, form: int, sealed: Sealed) -> None:
    """Replace a file in one step: a line of JSON with the format and a checksum, the content."""
    head = {"format": form, "job": sealed.job, "facts": sealed.facts}
    head["check"] = zlib.crc32(sealed.content, checksum(sealed.job, sealed.facts))
    write_synced(path, json.dumps(head).encode() + b"\n" + sealed.content)


def read_sealed(path: Path, form: int) -> Sealed | None:
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
        raise unreadable(path, error) from None
    try:
        head = json.loads(line)
        check_format(path, head["format"], form)
        sealed = Sealed(dict(head["job"]), dict(head["facts"]), content)
        if head["check"] != zlib.crc32(content, checksum(sealed.job, sealed.facts)):
            raise ValueError("it has changed since it was written")
        return sealed
    except InputError:
        raise
    except DAMAGE as error:
        raise unreadable(path, error) from None


def full_disk(folder: Path, error: OSError) -> Exception:
    """Return the error that tells of a disk that takes no more."""
    when = "there is room" if error.errno in NO_ROOM else "it can be written to"
    way = Way("resume", str(folder), f"when {when}: what it holds so far is whole")
    return no_room(folder, error, way)


def begin_or_go_on(folder: Path, *, resume: bool) -> None:
    """Make the folder, if it is not there.

    Raises
    ------
    InputError
        It cannot be used, or holds a checkpoint and ``resume`` is not set.
    """
    made_folder(folder, resume=resume)
    if not resume and holds_checkpoint(folder):
        raise InputError(
            "holds a checkpoint already",
            Way("resume", str(folder), "to go on from it"),
            "name a new folder",
            about=Way("checkpoint", str(folder)),
        )


def checksum(job: Mapping[str, Any], content: object) -> int:
    """Return a checksum of a state: a number that changed would change what is done."""
    return zlib.crc32(json.dumps([job, content]).encode())


def write_synced(path: Path, content: str | bytes) -> None:
    """Replace a file in one step, on the disk when this returns."""
    data = content.encode() if isinstance(content, str) else content
    draft = path.with_name(path.name + ".part")
    try:
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError:
        with suppress(OSError):  # what made writing fail is the error to tell
            draft.unlink(missing_ok=True)
        raise
    if hasattr(os, "O_DIRECTORY"):  # a rename is on the disk when its folder is
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def facts_of(arrays: Iterable[GrowingArray]) -> list[dict[str, Any]]:
    """Return what is in files, as plain values."""
    return [array.facts.to_dict() for array in arrays]


def reopened(folder: Path, all_facts: Iterable[dict[str, Any]]) -> list[GrowingArray]:
    """Take up files again."""
    return [GrowingArray.reopened(folder, Facts.from_dict(facts)) for facts in all_facts]


def unreadable(path: Path, error: Exception) -> InputError:
    """Return the error that tells of a file that makes no sense."""
    return InputError(
        f"the checkpoint is damaged: {str(path)!r} cannot be read "
        f"({type(error).__name__}: {error})",
        Way("checkpoint", ..., "for a new folder, to begin again"),
    )


def _names(state: Mapping[str, Any]) -> set[str]:
    """Return the names of all files of a search."""
    groups = [state.get(group, []) for group in ("level", "below", "memory", "new")]
    groups += state.get("kept", {}).values()
    return {Facts.from_dict(facts).name for group in groups for facts in group}


def check_format(where: Path, found: object, known: int) -> None:
    """Refuse a checkpoint whose format is not the one that this version reads."""
    if found != known:
        raise InputError(
            f"the checkpoint in {str(where)!r} is of format {found}, this version reads {known}",
            "go on with the version that wrote it",
        )


def _read_state(folder: Path) -> dict[str, Any] | None:
    """Return what the folder holds; None if it holds nothing."""
    try:
        text = (folder / STATE).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(folder / STATE, error) from None
    try:
        content = json.loads(text)
        check_format(folder, content["format"], FORMAT)
        found = {"job": dict(content["job"]), "searches": dict(content["searches"])}
        if content["check"] != checksum(found["job"], found["searches"]):
            raise ValueError("it has changed since it was written")
        for state in found["searches"].values():
            _names(state)
        return found
    except InputError:
        raise
    except DAMAGE as error:
        raise unreadable(folder / STATE, error) from None


def _without_state(folder: Path, asked: Mapping[str, Any]) -> InputError:
    """Return the error that tells of a folder without a state, but with other files."""
    paths = [*folder.glob(SOLVING), *folder.glob(GROWING)]
    for path in paths:
        with suppress(OSError, *DAMAGE), path.open("rb") as file:
            known = dict(json.loads(file.readline())["job"])
            if kind(known) == LISTS:
                return another_kind(folder, LISTS, kind(asked))
    return InputError(
        f"the checkpoint is damaged: {STATE!r} is missing in {str(folder)!r}, "
        f"and {paths[0].name!r} is there",
        Way("checkpoint", ..., "for a new folder, to begin again"),
    )


LISTS = "lists"


def kind(job: Mapping[str, Any]) -> str:
    """Say what kind of job it is: what is worked on, and how."""
    if "lists" in job:
        return LISTS
    if "missing" in job:
        return "a table whose missing cells are completed by expectation maximisation"
    return "a table"


def another_kind(folder: Path, known: str, asked: str) -> InputError:
    """Return the error that tells of a checkpoint of another kind of job."""
    return InputError(
        f"the checkpoint in {str(folder)!r} is of another kind of job: of {known}, "
        f"and this is {asked}",
        "give the same data and settings",
        Way("checkpoint", ..., "for a new folder"),
    )


def compare(folder: Path, known: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Refuse a checkpoint of something else, and say what differs."""
    if kind(known) != kind(asked):
        raise another_kind(folder, kind(known), kind(asked))
    different = [
        name for name in {**known, **asked} if known.get(name, ...) != asked.get(name, ...)
    ]
    if different:
        both = "; ".join(
            f"{name} {_short(known, name)} there, {_short(asked, name)} here" for name in different
        )
        raise InputError(
            f"the checkpoint in {str(folder)!r} is of another job: {both}",
            "give the same data and settings",
            Way("checkpoint", ..., "for a new folder"),
        )


def _short(job: Mapping[str, Any], name: str) -> str:
    if name not in job:
        return "not given"
    text = json.dumps(job[name], ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "…"
