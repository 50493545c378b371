"""What a search keeps while it runs: the position it has reached, in memory, on disk, or both.

A part of :mod:`parentage.scoring.search`. The levels themselves are in memory as long as they fit
(:mod:`parentage.scoring.gathering`), then in files of a folder that is removed at the end, as long
as these fit the disk; with a checkpoint (:mod:`parentage.scoring.checkpoint`) the
position goes to the disk from time to time, and comes back from there.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from parentage.errors import InputError
from parentage.files.growing import Facts, GrowingArray, let_pages_go
from parentage.files.temporary import disk_folder, has_room
from parentage.scoring import checkpoint as on_disk
from parentage.scoring.gathering import Gathering
from parentage.scoring.steps import Kept, Outcome
from parentage.work.folder import STATE
from parentage.work.memory import used_memory

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from parentage.files.growing import Array

GROUPS = ("level", "below", "memory")

SHARE_OF_PAGES = 0.85
"""Of the memory there may be, above which the pages of mapped files are let go."""


@dataclass(eq=False)
class Position:
    """Where a search is: the arrays that its step starts from, and how much of it is done.

    Parameters
    ----------
    in_degree
        Parents of the families that the step scores.
    arrays
        The fields of the level, of what is needed of the level below, and what else the search
        remembers, by :data:`GROUPS`.
    new
        The sets of the next level so far.
    pairs
        Joins that are done, wherever the level was cut for them.
    rate
        Seconds that a join took one level below; 0 if nobody knows. A level that takes too long by
        that is not begun.
    files
        The same arrays in files, for groups that are written.
    """

    in_degree: int
    arrays: Mapping[str, Sequence[Array]]
    new: Gathering
    pairs: int = 0
    rate: float = 0.0
    files: dict[str, list[GrowingArray]] = field(default_factory=dict)


class Keeper:
    """Keeps the position of search ``number``.

    ``exchange`` is a folder for what does not fit into memory; without it one is made where there
    is room on a disk. ``most`` is what the process may take altogether, in bytes.
    """

    def __init__(
        self,
        number: int = 0,
        exchange: Path | None = None,
        checkpoint: on_disk.Checkpoint | None = None,
        most: int | None = None,
    ) -> None:
        self.number, self.exchange, self.checkpoint = number, exchange, checkpoint
        self.most = most
        self.kept: dict[int, list[GrowingArray]] = {}
        self.noted = 0
        """How many pieces of what the outcome keeps are in files."""
        self.retired: list[GrowingArray] = []
        self.temporary: Path | None = None

    # Forward, from level to level

    def begin(self, in_degree: int, arrays: Mapping[str, Sequence[Array]]) -> Position:
        """Return the position before a step."""
        return Position(in_degree, arrays, Gathering(f"{self.number}-{in_degree + 1}"))

    def next(self, done: Position, arrays: Mapping[str, Sequence[Array]]) -> Position:
        """Return the position before the next step; the level below is not needed any more."""
        position = self.begin(done.in_degree + 1, arrays)
        if done.new.files:
            position.files["level"] = done.new.files
        for files in done.files.values():
            self.retired += files
        if self.checkpoint is None:
            self._remove_retired()
        return position

    def _remove_retired(self) -> None:
        for file in self.retired:
            file.remove()
        self.retired.clear()

    def spill(self, new: Gathering) -> bool:
        """Move gathered sets to disk; False if there is no folder for it, or no room."""
        try:
            if self.checkpoint is None and not has_room(self.folder, new.in_memory):
                return False
            new.write(self.folder)
        except OSError as error:
            if self.checkpoint is not None:
                raise self.checkpoint.refuse(error) from error
            return False
        return True

    def relieve(self, arrays: Iterable[Array]) -> None:
        """Let the pages of mapped arrays go when the process takes nearly what it may."""
        if self.most is not None and used_memory() > SHARE_OF_PAGES * self.most:
            let_pages_go(arrays)

    @property
    def folder(self) -> Path:
        """Where files go."""
        if self.checkpoint is not None:
            return self.checkpoint.folder
        if self.temporary is None:
            if self.exchange is not None:
                self.exchange.mkdir(parents=True, exist_ok=True)
            above = self.exchange or disk_folder()
            self.temporary = Path(tempfile.mkdtemp(prefix="parentage-", dir=above))
        return self.temporary

    def close(self) -> None:
        """Remove temporary files."""
        if self.temporary is not None:
            shutil.rmtree(self.temporary, ignore_errors=True)
            self.temporary = None

    # To the disk

    def after_chunk(self, position: Position, outcome: Outcome) -> None:
        """Write, if it is time to."""
        self._write_if_due(on_disk.SECONDS, position, outcome)

    def after_level(self, position: Position, outcome: Outcome) -> None:
        """Write a finished level, if writing has not taken too long so far."""
        self._write_if_due(0.0, position, outcome)

    def _write_if_due(self, every: float, position: Position, outcome: Outcome) -> None:
        if self.checkpoint is None:
            return
        unwritten = position.new.in_memory + sum(
            array.nbytes
            for group, arrays in position.arrays.items()
            if group not in position.files
            for array in arrays
        )
        if self.checkpoint.due(every, unwritten):
            self.write(position, outcome)

    def write(self, position: Position, outcome: Outcome) -> None:
        """Keep everything that is known."""
        if self.checkpoint is None:
            return
        began = time.perf_counter()
        try:
            self._write_arrays(position, outcome)
            state = {
                "done": False,
                "in_degree": position.in_degree,
                "pairs": position.pairs,
                "rate": position.rate,
                **{group: on_disk.facts_of(position.files[group]) for group in GROUPS},
                "new": on_disk.facts_of(position.new.files),
            }
            self._commit(state, outcome)
        except OSError as error:
            raise self.checkpoint.refuse(error) from error
        self.checkpoint.written = time.perf_counter()
        self.checkpoint.spent += self.checkpoint.written - began

    def write_end(self, outcome: Outcome) -> None:
        """Keep the result of a search that has ended."""
        if self.checkpoint is None:
            return
        try:
            self._note_kept(outcome)
            self._commit({"done": True}, outcome)
            self.checkpoint.clean()
        except OSError as error:
            raise self.checkpoint.refuse(error) from error

    def _write_arrays(self, position: Position, outcome: Outcome) -> None:
        for group, arrays in position.arrays.items():
            if group not in position.files:
                position.files[group] = [
                    self._written(f"{group}-{position.in_degree}-{i}", array)
                    for i, array in enumerate(arrays)
                ]
            for file in position.files[group]:
                file.sync()
        position.new.write(self.folder)
        position.new.sync()
        self._note_kept(outcome)

    def _written(self, name: str, array: Array) -> GrowingArray:
        file = GrowingArray(self.folder, f"{self.number}-{name}", array.dtype, array.shape[1:])
        file.append(array)
        return file

    def _note_kept(self, outcome: Outcome) -> None:
        """Append what the outcome has kept since the last time."""
        for kept in outcome.kept[self.noted :]:
            size = kept.parents.shape[1]
            if size not in self.kept:
                self.kept[size] = [
                    GrowingArray(
                        self.folder, f"{self.number}-kept-{size}-{i}", part.dtype, part.shape[1:]
                    )
                    for i, part in enumerate(kept)
                ]
            for file, part in zip(self.kept[size], kept, strict=True):
                file.append(part)
        self.noted = len(outcome.kept)
        for files in self.kept.values():
            for file in files:
                file.sync()

    def _commit(self, state: Mapping[str, Any], outcome: Outcome) -> None:
        """Write the state, then remove what it does not name any more."""
        if self.checkpoint is None:
            raise AssertionError("there is no checkpoint to write")
        common = {
            "kept": {str(size): on_disk.facts_of(files) for size, files in self.kept.items()},
            "sets_counted": outcome.sets_counted,
            "families_scored": outcome.families_scored,
            "tally": outcome.tally.tolist(),
            "live": outcome.live,
        }
        self.checkpoint.write(self.number, {**common, **state})
        self._remove_retired()

    # And back

    def resumed(self, outcome: Outcome) -> Position | bool:
        """Fill in what is known; return the position, True if all is done, False if nothing is."""
        if self.checkpoint is None or str(self.number) not in self.checkpoint.searches:
            return False
        known, folder = self.checkpoint.searches[str(self.number)], self.checkpoint.folder
        try:
            self._read_outcome(known, folder, outcome)
            if known["done"]:
                return True
            return self._read_position(known, folder)
        except InputError:
            raise
        except on_disk.DAMAGE as error:
            raise on_disk.unreadable(folder / STATE, error) from error

    def _read_outcome(self, known: Mapping[str, Any], folder: Path, outcome: Outcome) -> None:
        for size, facts in known["kept"].items():
            files = self.kept[int(size)] = on_disk.reopened(folder, facts)
            outcome.kept.append(Kept(*(np.array(file.mapped()) for file in files)))
        self.noted = len(outcome.kept)
        outcome.sets_counted = int(known["sets_counted"])
        outcome.families_scored = int(known["families_scored"])
        outcome.tally += np.array(known["tally"], np.int64)
        outcome.live.extend(int(count) for count in known["live"])

    def _read_position(self, known: Mapping[str, Any], folder: Path) -> Position:
        files = {group: on_disk.reopened(folder, known[group]) for group in GROUPS}
        arrays = {group: [file.mapped() for file in files[group]] for group in GROUPS}
        position = self.begin(int(known["in_degree"]), arrays)
        position.files = files
        position.pairs = int(known["pairs"])
        position.rate = float(known["rate"])
        position.new.take_up(folder, [Facts.from_dict(facts) for facts in known["new"]])
        return position
