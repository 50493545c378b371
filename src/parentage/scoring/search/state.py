"""Where a search is: its levels in memory or on disk, and its state in a checkpoint.

Part of :mod:`parentage.scoring.search.levels`. The sets of a level arrive chunk by chunk
(:class:`LevelBuffer`). They are in memory as long as they fit, then in files of a temporary folder,
as long as these fit the disk. With a checkpoint (:mod:`parentage.work.checkpoint`) the files are in
its folder, and the state of the search (:class:`SearchState`) is written there from time to time; a
resumed search does
the missing chunks in the same order, so its lists are the same.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.scoring.rules import ORDER
from parentage.scoring.tuning import TUNING
from parentage.work import tuning as work_tuning
from parentage.work.array_files import GrowingArray, disk_folder, has_room, let_pages_go
from parentage.work.checkpoint import SavedState
from parentage.work.memory import used_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from parentage.arrays import Ints
    from parentage.scoring.search.bins import Bins
    from parentage.work.array_files import Array
    from parentage.work.checkpoint import Slot
    from parentage.work.stop import Reason


Bounds = npt.NDArray[np.float64]

GROUPS = ("level", "below", "memory")


class Kept(NamedTuple):
    """Kept families of one size: children ``[f]``, parents ``[f, size]``, fixed-point scores."""

    children: Ints
    parents: Ints
    scores: Ints


@dataclass(eq=False)
class Outcome:
    """What a search found and what it cost."""

    kept: list[Kept] = field(default_factory=list)
    sets_counted: int = 0
    families_scored: int = 0
    tally: Ints = field(default_factory=lambda: np.zeros(len(ORDER), np.int64))
    live: list[int] = field(default_factory=list)
    """Sets of each size, from single variables on."""
    complete_to: int | None = None
    """In-degree up to which the lists are complete; None when nothing was cut short."""
    ended: Reason | None = None
    """Why the search was cut short."""
    beyond: npt.NDArray[np.float64] | None = None
    """``[variable]``: what no family beyond ``complete_to`` exceeds, in nats; −∞: there is none."""
    partial: list[Kept] = field(default_factory=list)
    """Kept families of the level that was cut short: right, but not all there are."""
    explored: int = 0
    """Families beyond ``complete_to`` that were scored (:mod:`parentage.growth.growth`)."""

    def listing(self) -> int:
        """Return what making lists of the kept families will take, in bytes."""
        return TUNING.listing * sum(array.nbytes for part in self.kept for array in part)

    def add(self, other: Outcome) -> None:
        """Take what a chunk of the search found."""
        self.kept += other.kept
        self.sets_counted += other.sets_counted
        self.families_scored += other.families_scored
        self.tally += other.tally


class LevelBuffer:
    """The chunks of one level; ``name`` begins the names of its files, which ``home`` makes.

    A level with ``worth`` may turn out to be the last: that says whether a number of joins will
    be made, and is asked whenever there are more. As soon as it says no, nothing is stored: all
    that is needed of a level that is not joined is a ``bound`` on the scores beyond it, the maximum
    over its chunks.
    """

    def __init__(
        self,
        name: str,
        files: Sequence[GrowingArray] = (),
        worth: Callable[[int], bool] | None = None,
        bound: Callable[[Sequence[Array]], Bounds] | None = None,
        home: SearchState | None = None,
    ) -> None:
        self.name, self._home = name, home
        self._worth, self._bound = worth, bound
        self.beyond: Bounds | None = None
        self.last = worth is not None and not worth(0)
        """Whether nothing is stored."""
        self.passed, self._joins = 0, 0
        self.files = list(files)
        self._arrays: list[Array] = []  # what is not in files: per field a row per set, and room
        self._filled = 0

    def add(self, fields: Sequence[Array]) -> None:
        """Take a chunk, with all sets of a prefix in it: one array per field, a row per set.

        Large arrays grow in place: the system moves their pages and copies nothing.
        """
        if self._worth is not None:
            self.passed += len(fields[0])
            siblings = np.unique(fields[1][:, -1], return_counts=True)[1]
            self._joins += int((siblings * (siblings - 1) // 2).sum())
            if not self.last and not self._worth(self._joins):
                self._pass(self.fields())
                self.clear()
                self.last = True
        if self.last:
            self._pass(fields)
            return
        self._arrays = self._arrays or [np.empty_like(rows[:0]) for rows in fields]
        end = self._filled + len(fields[0])
        for i, rows in enumerate(fields):
            array = self._arrays[i]
            if rows.dtype.itemsize > array.itemsize:  # numbers of Bin: once in a search, if ever
                array = self._arrays[i] = array.astype(rows.dtype)
            if len(array) < end:
                spare = min(end // 2, TUNING.bytes_in_hand // max(1, rows[:1].nbytes))
                array.resize((end + spare, *array.shape[1:]), refcheck=False)
            array[self._filled : end] = rows
        self._filled = end

    def _pass(self, fields: Sequence[Array]) -> None:
        """Raise the bound by sets that are not stored; of few at a time it is tighter."""
        if self._bound is None or not fields:
            return
        for first in range(0, len(fields[0]), TUNING.most_joins):
            bound = self._bound([array[first : first + TUNING.most_joins] for array in fields])
            self.beyond = bound if self.beyond is None else np.maximum(self.beyond, bound)

    @property
    def in_memory(self) -> int:
        """Bytes that are not in files."""
        return sum(array.nbytes for array in self._arrays)

    @property
    def n_sets(self) -> int:
        """Sets so far."""
        return self._filled + (self.files[0].rows if self.files else 0)

    def write(self) -> None:
        """Move what is in memory into files."""
        arrays, home = self._taken(), self._home
        if not arrays or home is None:
            return
        self.files = self.files or home.new_files(self.name, arrays)
        for i, (file, array) in enumerate(zip(self.files, arrays, strict=True)):
            if array.itemsize > file.dtype.itemsize:
                self.files[i] = home.widened(file, f"wide-{self.name}-{i}", array.dtype)
        _append(self.files, arrays)

    def _taken(self) -> list[Array]:
        """Let go of the arrays; return them without their spare room."""
        for array in self._arrays:
            array.resize((self._filled, *array.shape[1:]), refcheck=False)
        arrays, self._arrays, self._filled = self._arrays, [], 0
        return arrays

    def fields(self) -> list[Array]:
        """Return the level, field by field, and let go of it."""
        if not self.files:
            return self._taken()
        self.write()
        return [file.mapped() for file in self.files]

    def clear(self) -> None:
        """Let go of everything."""
        self._taken()
        for file in self.files:
            file.remove()
        self.files = []


class SearchState:
    """Where a search is: the arrays that its step starts from, and how much of it is done.

    Its levels are in memory, or in files where they do not fit; with the ``slot`` of a checkpoint
    all of it is saved there.

    Parameters
    ----------
    slot
        Where the state is saved; None for nowhere.
    exchange
        A folder for what does not fit into memory; without it one is made where there is room on
        a disk.
    most
        What the process may take altogether, in bytes.

    Attributes
    ----------
    outcome
        What was found so far.
    bins
        The values of Bin in it; the search has to set it.
    in_degree
        Number of parents of the families that the step scores; 0 before the search begins.
    arrays
        The fields of the level, of what is needed of the level below, and what else the search
        remembers, by :data:`GROUPS`.
    files
        The same arrays in files, for groups that were written.
    new
        The sets of the next level so far.
    pairs
        Number of joins that are done, however the level was cut into tasks.
    found
        Sets that were counted; those that nothing can be built on are not in ``new``.
    rate
        Seconds that a join took one level below; 0 if that is unknown. A level that takes too long
        by this rate is not begun.
    """

    bins: Bins

    def __init__(
        self, slot: Slot | None = None, exchange: Path | None = None, most: int | None = None
    ) -> None:
        self.slot, self.exchange, self.most = slot, exchange, most
        self.outcome, self.in_degree, self.rate = Outcome(), 0, 0.0
        self._temporary: Path | None = None
        self._kept: dict[int, Sequence[GrowingArray]] = {}
        self._n_kept = 0  # pieces of the outcome's families that are in files
        self._bins: Sequence[GrowingArray] = ()
        self._n_bins = 0  # the same of values of Bin

    def begin(self, in_degree: int, arrays: Mapping[str, Sequence[Array]]) -> None:
        """Stand before a step."""
        self.in_degree, self.arrays = in_degree, arrays
        self.new = LevelBuffer(f"sets-{in_degree + 1}", home=self)
        self.pairs = self.found = 0
        self.files: dict[str, Sequence[GrowingArray]] = {}

    def climb(self, arrays: Mapping[str, Sequence[Array]], rate: float) -> None:
        """Go to the next step, after joins of ``rate`` seconds; the level below is let go."""
        below, level = self.files, self.new.files
        self.begin(self.in_degree + 1, arrays)
        self.rate = rate
        if level:
            self.files["level"] = level
        if self.slot is None:  # a slot removes files when its state does not name them any more
            for files in below.values():
                for file in files:
                    file.remove()

    def spill(self) -> bool:
        """Move the new sets to disk; False if there is no folder for them, or no room."""
        try:
            if self.slot is None and not has_room(self._folder, self.new.in_memory):
                return False
            self.new.write()
        except OSError as error:
            if self.slot is not None:
                raise self.slot.checkpoint.full_disk(error) from error
            return False
        return True

    def relieve(self, arrays: Iterable[Array]) -> None:
        """Drop the pages of mapped arrays when the process takes nearly what it may."""
        if self.most is not None and used_memory() > work_tuning.TUNING.page_share * self.most:
            let_pages_go(arrays)

    @property
    def _folder(self) -> Path:
        """The temporary folder."""
        if self._temporary is None:
            if self.exchange is not None:
                self.exchange.mkdir(parents=True, exist_ok=True)
            above = self.exchange or disk_folder()
            self._temporary = Path(tempfile.mkdtemp(prefix="parentage-", dir=above))
        return self._temporary

    def _new_file(self, name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> GrowingArray:
        if self.slot is not None:
            return self.slot.growing(name, dtype, shape)
        return GrowingArray(self._folder, name, dtype, shape)

    def new_files(self, name: str, arrays: Sequence[Array]) -> list[GrowingArray]:
        """Return empty files for arrays."""
        return [
            self._new_file(f"{name}-{i}", array.dtype, array.shape[1:])
            for i, array in enumerate(arrays)
        ]

    def widened(self, file: GrowingArray, name: str, dtype: np.dtype[Any]) -> GrowingArray:
        """Return a copy of a file with numbers of another type, in its place."""
        found, rows = self._new_file(name, dtype, file.shape), file.mapped()
        for first in range(0, len(rows), TUNING.sets_at_once):
            found.append(rows[first : first + TUNING.sets_at_once])
        if self.slot is None:  # a slot does, when its state does not name it any more
            file.remove()
        return found

    def close(self) -> None:
        """Remove temporary files."""
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None

    # The state in a checkpoint

    def save_if_due(self, apart: float = 0.0) -> None:
        """Save everything, if a write is due: not within so many seconds of the last one."""
        if self.slot is None:
            return
        unwritten = self.new.in_memory + sum(
            array.nbytes
            for group, arrays in self.arrays.items()
            if group not in self.files
            for array in arrays
        )
        if self.slot.due(unwritten, apart):
            self.save()

    def save(self, *, done: bool = False) -> None:
        """Save everything that is known; of a search that is ``done``, what was found."""
        if self.slot is not None:
            self.slot.write(lambda: self._to_state(done), required=True)

    def _to_state(self, done: bool) -> SavedState:
        """Write what is not in files yet; return what :meth:`restore` reads."""
        outcome = self.outcome
        for kept in outcome.kept[self._n_kept :]:
            size = kept.parents.shape[1]
            if size not in self._kept:
                self._kept[size] = self.new_files(f"kept-{size}", kept)
            _append(self._kept[size], kept)
        self._n_kept = len(outcome.kept)
        for piece in self.bins.pieces[self._n_bins :]:
            self._bins = self._bins or self.new_files("bins-0", piece)
            _append(self._bins, piece)
        self._n_bins = len(self.bins.pieces)
        values = {
            "sets_counted": outcome.sets_counted,
            "families_scored": outcome.families_scored,
            "tally": outcome.tally.tolist(),
            "live": outcome.live,
            "done": done,
        }
        files = {f"kept-{size}": kept_files for size, kept_files in self._kept.items()}
        if done:
            return SavedState(values, files=files)
        for group, arrays in self.arrays.items():
            if group not in self.files:
                written = self.new_files(f"{group}-{self.in_degree}", arrays)
                _append(written, arrays)
                self.files[group] = written
        self.new.write()
        where = {name: getattr(self, name) for name in ("in_degree", "pairs", "found", "rate")}
        files |= {**self.files, "new": self.new.files, "bins": self._bins}
        return SavedState({**values, **where}, files=files)

    def restore(self) -> bool:
        """Take up what was saved, if there is anything; return whether the search had finished."""
        if self.slot is None or self.slot.state is None:
            return False
        values, _, files = self.slot.state
        outcome = self.outcome
        with self.slot.reading():
            for name, group in files.items():
                if name.startswith("kept-"):
                    self._kept[int(name.removeprefix("kept-"))] = group
                    outcome.kept.append(Kept(*(np.array(file.mapped()) for file in group)))
            self._n_kept = len(outcome.kept)
            outcome.sets_counted = int(values["sets_counted"])
            outcome.families_scored = int(values["families_scored"])
            outcome.tally += np.array(values["tally"], np.int64)
            outcome.live.extend(int(count) for count in values["live"])
            if values["done"]:
                return True
            self._bins, self._n_bins = files["bins"], 1
            children, found = (np.array(file.mapped()) for file in self._bins)
            self.bins.add(children, found)
            arrays = {group: [file.mapped() for file in files[group]] for group in GROUPS}
            self.begin(int(values["in_degree"]), arrays)
            self.files = {group: files[group] for group in GROUPS}
            self.pairs, self.found = int(values["pairs"]), int(values["found"])
            self.rate = float(values["rate"])
            self.new = LevelBuffer(self.new.name, files["new"], home=self)
        return False


def _append(files: Sequence[GrowingArray], arrays: Sequence[Array]) -> None:
    for file, array in zip(files, arrays, strict=True):
        file.append(array)
