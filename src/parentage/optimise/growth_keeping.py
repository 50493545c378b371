"""What lists that grow have found, kept in a folder beside the search they grew from.

One file, ``growing.npz``: the families found since the search, which of them were enlarged, what
was counted, and the best order. It is replaced in one step when it is on the disk. A run that goes
on from the same search takes up all of it, with the work already done; the streams of the order
search begin again at the best order. When the search has come further since, the families are not
those it would have grown, and the order alone is taken.
"""

from __future__ import annotations

import io
import time
import zipfile
from typing import TYPE_CHECKING

import numpy as np

from parentage.errors import Way
from parentage.files.growing import no_room
from parentage.scoring.checkpoint import GROWING, SHARE, unreadable, write_synced
from parentage.scoring.growth import Snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from parentage.optimise.problem import Ints
    from parentage.scoring.growth import Growth
    from parentage.work.scaling import Places

EVERY = 2.0
"""Seconds between two writes at least."""

WRITING = 0.03
"""Seconds that the first write is expected to take."""

ARRAYS = ("children", "sizes", "parents", "scores", "done")


class GrowthKeeper:
    """Keeps lists that grow; ``known`` and ``looked`` are of an earlier run."""

    def __init__(self, folder: Path, *, resume: bool) -> None:
        self.path = folder / GROWING
        self.known: Snapshot | None = None
        self.order: Ints = np.empty(0, np.int64)
        self.looked = 0
        self.began = self.written = time.perf_counter()
        self.spent, self.expected = 0.0, WRITING
        if resume and self.path.exists():
            self._read()

    @classmethod
    def of(cls, places: Places | None) -> GrowthKeeper | None:
        """Return what keeps growth; None where nothing is to be kept."""
        if places is None or places.checkpoint is None:
            return None
        return cls(places.checkpoint, resume=places.resume)

    def order_for(self, n: int) -> list[int] | None:
        """Return the best order of an earlier run, if it is one of ``n`` variables."""
        order: list[int] = self.order.tolist()
        return order if sorted(order) == list(range(n)) else None

    def _read(self) -> None:
        try:
            with np.load(self.path, allow_pickle=False) as file:
                first, counted, scored, self.looked = (int(number) for number in file["numbers"])
                children, sizes, parents, scores, done = (file[name] for name in ARRAYS)
                self.order = file["order"]
            if not len(children) == len(sizes) == len(parents) == len(scores) or parents.ndim != 2:
                raise ValueError("arrays of different lengths")
            self.known = Snapshot(first, children, sizes, parents, scores, done, counted, scored)
        except (OSError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
            raise unreadable(self.path, error) from None

    def tick(self, growth: Growth, order: Ints, looked: int) -> None:
        """Write, if it is time to."""
        now = time.perf_counter()
        share = SHARE * (now - self.began)
        if now - self.written >= EVERY and self.spent + self.expected <= share:
            self.write(growth, order, looked)

    def write(self, growth: Growth, order: Ints, looked: int) -> None:
        """Keep everything that is known."""
        began = time.perf_counter()
        known, buffer = growth.snapshot(), io.BytesIO()
        numbers = np.array([known.first, known.counted, known.families_scored, looked], np.int64)
        arrays = {name: getattr(known, name) for name in ARRAYS}
        np.savez(buffer, numbers=numbers, order=order, **arrays)
        try:
            write_synced(self.path, buffer.getvalue())
        except OSError as error:
            folder = self.path.parent
            way = Way("resume", str(folder), "when there is room: what it holds so far is whole")
            raise no_room(folder, error, way) from error
        self.written = time.perf_counter()
        self.expected = 1.2 * (self.written - began)
        self.spent += self.written - began
