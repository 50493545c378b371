"""Where lists that grow are, kept in a folder beside the search they grew from.

One file, ``growing.state``: the families found since the search and what was counted for them
(:mod:`parentage.scoring.growth_state`), and where the search for a network is (:class:`Moment`). It
is replaced in one step when it is on the disk.

What is kept is always the end of a whole round, which neither the effort nor a clock has cut short.
So a run that goes on does what it would have done without a break: with the same effort it ends
with the same lists, the same network and the same work, with more effort as if that had been given
at once. When the search has come further since, the families are not those it would have grown, and
the order alone is taken.
"""

from __future__ import annotations

import io
import math
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.scoring.checkpoint import (
    Pace,
    Sealed,
    compare,
    read_sealed,
    unreadable,
    write_sealed,
)
from parentage.scoring.growth_state import Snapshot
from parentage.work.folder import GROWING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from parentage.arrays import Ints, Words
    from parentage.data.table import Table
    from parentage.network.network import Network
    from parentage.optimise.orders import Stream
    from parentage.scoring.growth import Growth
    from parentage.scoring.growth_state import Mark
    from parentage.work.context import Places

FORMAT = 2
EVERY = 2.0
"""Seconds between two writes at least."""

NOTES = 4
"""Rounds noted in that time at most: a run that is stopped keeps the last one."""


class Moment(NamedTuple):
    """Where the search for a network is between two rounds: all that decides what comes next."""

    orders: Ints
    """``[stream, 4, n]``, as the next three of :class:`parentage.optimise.orders.Stream`."""
    work: npt.NDArray[np.void]
    random: Words
    stale: Ints
    order: Ints
    """The best one so far."""
    closed: npt.NDArray[np.bool_]
    """``[family]``: whether it was enlarged because it is near."""
    counts: Ints
    """Sets looked at, sets laid out, rounds that brought nothing."""

    @classmethod
    def of(
        cls, streams: Sequence[Stream], order: Ints, closed: npt.NDArray[np.bool_], *counts: int
    ) -> Moment:
        """Copy what changes."""
        return cls(
            np.stack([stream.orders for stream in streams]),
            np.array([stream.work for stream in streams]),
            np.stack([stream.state for stream in streams]),
            np.array([stream.stale for stream in streams]),
            order.copy(),
            closed.copy(),
            np.array(counts),
        )

    def give(self, streams: Sequence[Stream]) -> None:
        """Put the streams where they were."""
        for k, stream in enumerate(streams):
            stream.take(self.orders[k], self.work[k])
            stream.state[:], stream.stale = self.random[k], int(self.stale[k])


class Kept(NamedTuple):
    """What an earlier run has kept."""

    growth: Snapshot
    moment: Moment
    facts: dict[str, Any]


class GrowthKeeper:
    """Keeps lists that grow; ``known`` is of an earlier run of the same ``job``.

    Raises
    ------
    InputError
        The earlier run was of another job, or what it kept has changed.
    """

    def __init__(self, folder: Path, job: dict[str, Any], *, resume: bool) -> None:
        self.path, self.job = folder / GROWING, job
        self.known: Kept | None = None
        self.facts: dict[str, Any] = {}
        self.pace = Pace(EVERY)
        self._reached: tuple[Mark, Moment] | None = None
        self._noted = -math.inf
        sealed = read_sealed(self.path, FORMAT) if resume else None
        if sealed is not None:
            compare(folder, sealed.job, job)
            self.known = self._read(sealed)

    @classmethod
    def of(
        cls, places: Places | None, table: Table, seed: int, start: Network | None
    ) -> GrowthKeeper | None:
        """Return what keeps growth; None where nothing is to be kept."""
        from parentage import __version__

        if places is None or places.checkpoint is None:
            return None
        arcs = None if start is None else [list(arc) for arc in start.arcs]
        job = {"table": table.digest, "seed": seed, "start": arcs, "version": __version__}
        return cls(places.checkpoint, job, resume=places.resume)

    def memory_of_stems(self, limit: int | None, memory: int | None) -> int | None:
        """Return what vectors of stems may take: as much as before, under the same limit.

        How much a limit leaves for them is not the same in two runs, and how many are held changes
        the work.
        """
        if self.known is not None and self.known.facts.get("limit") == limit:
            memory = self.known.facts.get("memory")
        self.facts = {"limit": limit, "memory": memory}
        return memory

    def order_for(self, n: int) -> list[int] | None:
        """Return the best order of an earlier run, if it is one of ``n`` variables."""
        order: list[int] = [] if self.known is None else self.known.moment.order.tolist()
        return order if sorted(order) == list(range(n)) else None

    def is_due(self) -> bool:
        """Whether the end of a round is to be noted: now and then is enough."""
        return time.perf_counter() - self._noted >= EVERY / NOTES

    def reached(self, growth: Growth, moment: Moment) -> None:
        """Note the end of a round, and write it if it is time to."""
        self._reached, self._noted = (growth.mark(), moment), time.perf_counter()
        if self.pace.due():
            self.write(growth)

    def write(self, growth: Growth) -> None:
        """Keep the last round that was noted, if it is not kept yet."""
        if self._reached is None:
            return
        began = time.perf_counter()
        mark, moment = self._reached
        buffer = io.BytesIO()
        for array in (*growth.snapshot(mark), *moment):
            np.save(buffer, array, allow_pickle=False)
        sealed = Sealed(self.job, self.facts, buffer.getvalue())
        if self.pace.keep(self.path.parent, lambda: write_sealed(self.path, FORMAT, sealed)):
            self._reached = None
        self.pace.wrote(began)

    def _read(self, sealed: Sealed) -> Kept:
        buffer = io.BytesIO(sealed.content)
        try:
            first, then = (
                [np.load(buffer, allow_pickle=False) for _ in part._fields]
                for part in (Snapshot, Moment)
            )
        except (ValueError, EOFError) as error:
            raise unreadable(self.path, error) from None
        return Kept(Snapshot(*first), Moment(*then), sealed.facts)
