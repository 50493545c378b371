"""Growing lists where complete ones do not fit: further families around those that matter.

The search (:mod:`parentage.scoring.search`) looks at every set up to some number of parents. With
hundreds of variables that number is 2 or 3, and a good network needs larger sets at a few places.
:class:`Growth` goes on from there: it is told which parent sets to enlarge, scores them with every
further parent at once, and keeps what beats all known subsets. Who tells it is the search for the
network (:mod:`parentage.optimise.anytime`), so lists and network feed each other.

**Stems.** G(S ∪ y) of one set S and all y is counted in one sweep, as the sets (S, a column of one
state, y) of :mod:`parentage.kernels.counting`. All families (X, Π ∪ y) need the stems Π and Π ∪ X;
the vectors are kept within a share of the memory, the oldest go first.

**What it proves.** Nothing: every score is exact, but sets beyond the complete ones may be missing.
The bound on those is the search's own (``Account.beyond``).
"""

from __future__ import annotations

import zlib
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from parentage.scoring.entropy import pack_states
from parentage.scoring.forecast import seconds_for
from parentage.scoring.growth_state import Mark, Snapshot, stems_in, stems_of
from parentage.scoring.scores import BySums, NodeAverage
from parentage.scoring.steps import Kept
from parentage.work.executor import in_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from parentage.kernels.stems import Growing, Store, Tasks
    from parentage.scoring.entropy import Encoded, Int64s
    from parentage.scoring.plan import Preparation, SearchPlan
    from parentage.scoring.steps import Outcome
    from parentage.work.executor import Workers
    from parentage.work.stop import Stop

Family = tuple[int, tuple[int, ...]]
"""A child and its parents, rising, as encoded variables."""

MOST_PER_TASK = 40
"""Of the families made from one parent set at a time, this many are kept."""

DEEPEST = 24
"""More parents than this are not tried: with two states each they have 2^24 joint states."""

AT_ONCE = 128
"""Parent sets that are enlarged together."""

STEMS_PER_CHUNK = 16
"""Stems that a thread counts at a time."""

MOST_STEMS = 2**29
"""Bytes that vectors of stems may take, if that much is allowed."""

FEWEST_STEMS = 4 * AT_ONCE

WORTH_SENDING = 0.05
"""Nominal seconds that a chunk of stems takes if workers elsewhere are to count it: a task that is
sent costs a few milliseconds by itself."""


def can_grow(prepared: Preparation, outcomes: Sequence[Outcome]) -> bool:
    """Whether lists were cut short and can grow: a penalised likelihood, no prior, no arc required.

    With a width every set near its best subset is asked for, so single ones do not help.
    """
    return (
        any(outcome.complete_to is not None for outcome in outcomes)
        and len(prepared.plans) == 1
        and prepared.width is None
        and not isinstance(prepared.score, BySums | NodeAverage)
        and not prepared.prior
    )


def worth_sending(encoded: Encoded) -> bool:
    """Whether rows and variables are so many that workers elsewhere help with stems."""
    pairs = int(encoded.arity.sum()) // 2
    return seconds_for(STEMS_PER_CHUNK * pairs, encoded.codes.shape[1]) >= WORTH_SENDING


class Growth:
    """Families that were found so far, and the way to find more.

    ``work`` are nominal seconds of one core: sets counted times what a set takes
    (:func:`parentage.scoring.forecast.seconds_for`). They depend on the data alone, so that a
    budget of them gives the same lists on every machine.
    """

    def __init__(
        self, plan: SearchPlan, outcome: Outcome, *, workers: Workers = 1, memory: int | None = None
    ) -> None:
        from parentage.kernels.stems import Growing

        self.plan, self.outcome = plan, outcome
        encoded = plan.encoded
        self.n = encoded.n_variables
        self.complete_to = min(outcome.complete_to or 0, self.n - 1)
        self.most = plan.limits.most.copy()
        for cap in plan.limits.caps.values():
            self.most = np.minimum(self.most, cap)
        self.deepest = min(int(self.most.max(initial=0)), DEEPEST)
        rng = np.random.default_rng(20_180_612)
        keys = rng.integers(1 << 63, size=(2, self.n), dtype=np.uint64) * np.uint64(2) + np.uint64(
            1
        )
        grid = encoded.grid
        self._growing: Growing = Growing(
            encoded.arity, plan.h, np.ascontiguousarray(plan.forbidden), keys[0], keys[1],
            grid.unit, grid.cap, grid.tolerance, encoded.empty,
        )  # fmt: skip
        self._keys = keys.tolist()
        self._stems = Stems(encoded, workers, min(memory or MOST_STEMS, MOST_STEMS))
        self._done: dict[int, None] = {}  # in the order in which they were enlarged
        self.n_sets = 0
        self._store = self._first_store(outcome)
        self.n_first = self.n_sets
        self.n_complete = sum(len(part.children) for part in outcome.kept)
        self.families_scored = 0

    @property
    def work(self) -> float:
        """Nominal seconds of one core so far."""
        encoded = self.plan.encoded
        pairs = int(encoded.arity.sum()) // 2  # a set takes longer the more states it has
        return seconds_for(self._stems.counted * pairs, encoded.total_rows)

    @property
    def sets_counted(self) -> int:
        """Sets whose joint counts were taken from the rows."""
        return self._stems.counted * self.n

    @property
    def children(self) -> npt.NDArray[np.int32]:
        """``[family]``: the child."""
        return self._store.child[: self.n_sets]

    @property
    def sizes(self) -> npt.NDArray[np.int32]:
        """``[family]``: number of parents."""
        return self._store.size[: self.n_sets]

    @property
    def parents(self) -> npt.NDArray[np.uint16]:
        """``[family, most parents]``: the parents, rising, padded with n."""
        return self._store.parents[: self.n_sets]

    @property
    def scores(self) -> Int64s:
        """``[family]``: fixed point."""
        return self._store.score[: self.n_sets]

    @property
    def store(self) -> Store:
        """All families, with room for more."""
        return self._store

    def family(self, i: int) -> Family:
        """Return family ``i``."""
        size = int(self._store.size[i])
        return int(self._store.child[i]), tuple(self._store.parents[i, :size].tolist())

    def is_open(self, family: Family) -> bool:
        """Whether enlarging a family may find something new."""
        child, parents = family
        return (
            self.complete_to <= len(parents) < min(self.most[child], self.deepest)
            and self._key(family) not in self._done
        )

    def open_among(self, families: Int64s) -> Int64s:
        """Return those of some families, by index, that are open."""
        size = self.sizes[families]
        deep = np.minimum(self.most, self.deepest)[self.children[families]]
        inside = families[(size >= self.complete_to) & (size < deep)]
        keys = self._store.key[inside].tolist()
        return inside[np.array([key not in self._done for key in keys], np.bool_)]

    def enlarge(self, families: Iterable[Family], stop: Stop | None = None) -> int:
        """Try every further parent with these families; return how many sets were found.

        A ``stop`` leaves the rest of them open.
        """
        from parentage.kernels.stems import can_pay, enlarge

        tasks = [family for family in families if self.is_open(family)]
        before = self.n_sets
        for first in range(0, len(tasks), AT_ONCE):
            if stop is not None and stop.reason() is not None:
                break
            some = tasks[first : first + AT_ONCE]
            self._done.update(dict.fromkeys(map(self._key, some)))
            self._stems.hold([parents for _, parents in some])
            pays = np.empty(len(some), np.bool_)
            can_pay(self._tasks(some, False), self._stems.vectors, self._growing, pays)
            some = [family for family, pay in zip(some, pays.tolist(), strict=True) if pay]
            if not some:
                continue
            self._stems.hold(
                [stem for child, parents in some for stem in (parents, joined(parents, child))]
            )
            self._make_room(MOST_PER_TASK * len(some))
            self.families_scored += len(some) * self.n
            self.n_sets = int(
                enlarge(
                    self._tasks(some, True), self._stems.vectors, self._growing,
                    np.int64(MOST_PER_TASK), self._store, np.int64(self.n_sets),
                )
            )  # fmt: skip
        return self.n_sets - before

    def mark(self) -> Mark:
        """Say how far this is, in a moment."""
        counts = (self._stems.counted, self.families_scored)
        return Mark(self.n_sets, len(self._done), counts, tuple(self._stems.row))

    def snapshot(self, mark: Mark) -> Snapshot:
        """Return what was found from the beginning to a mark."""
        new = slice(self.n_first, mark.n_sets)
        done = np.array(list(self._done)[: mark.n_done], np.uint64)
        parents = self.parents[new, : self.sizes[new].max(initial=0)]
        families = (self.children[new], self.sizes[new], parents, self.scores[new])
        counts = np.array([self._first_check, *mark.counts])
        return Snapshot(counts, *families, done, *stems_in(mark.held))

    def restore(self, known: Snapshot) -> bool:
        """Take up what was found before; False if that was from another beginning."""
        from parentage.kernels.stems import enter

        first, counted, scored = known.counts.tolist()
        if first != self._first_check or self.n_sets != self.n_first:
            return False
        count, width = known.parents.shape
        self._make_room(count)
        new = slice(self.n_sets, self.n_sets + count)
        self._store.child[new], self._store.size[new] = known.children, known.sizes
        self._store.parents[new, :width] = known.parents
        self._store.score[new] = known.scores
        enter(np.int64(new.start), np.int64(new.stop), self._store, self._growing)
        self.n_sets = new.stop
        self._done = dict.fromkeys(known.done.tolist())
        self._stems.take_up(stems_of(known.held_sizes, known.held), counted)
        self.families_scored = scored
        return True

    @cached_property
    def _first_check(self) -> int:
        """Return a checksum of the families of the search, and of how far it came."""
        check = zlib.crc32(f"{self.complete_to} {self.n_complete} {self.deepest}".encode())
        for column in (self.children, self.sizes, self.parents, self.scores):
            check = zlib.crc32(column[: self.n_first].tobytes(), check)
        return check

    def result(self) -> Outcome:
        """Return what the search found together with what was found since."""
        new = np.arange(self.n_complete, self.n_sets)
        parts = []
        for size in np.unique(self.sizes[new]).tolist():
            own = new[self.sizes[new] == size]
            parts.append(
                Kept(
                    self.children[own].astype(np.int64),
                    self.parents[own, :size].astype(np.int64),
                    self.scores[own],
                )
            )
        return replace(
            self.outcome,
            kept=[*self.outcome.kept, *parts],
            partial=[],
            sets_counted=self.outcome.sets_counted + self.sets_counted,
            families_scored=self.outcome.families_scored + self.families_scored,
            explored=sum(len(part.children) for part in self.outcome.partial)
            + self.families_scored,
        )

    def _first_store(self, outcome: Outcome) -> Store:
        from parentage.kernels.stems import enter

        parts = [*outcome.kept, *outcome.partial]
        widest = max((part.parents.shape[1] for part in parts), default=0)
        self.deepest = max(self.deepest, widest)
        total = sum(len(part.children) for part in parts)
        store = self._room(max(1024, 2 * total))
        at = 0
        for part in parts:
            end = at + len(part.children)
            size = part.parents.shape[1]
            store.child[at:end], store.size[at:end] = part.children, size
            store.parents[at:end, :size] = np.sort(part.parents, axis=1)
            store.score[at:end] = part.scores
            at = end
        enter(np.int64(0), np.int64(at), store, self._growing)
        self.n_sets = at
        return store

    def _room(self, families: int) -> Store:
        from parentage.kernels.stems import Store

        return Store(
            np.empty(families, np.int32),
            np.empty(families, np.int32),
            np.full((families, max(1, self.deepest)), self.n, np.uint16),
            np.empty(families, np.int64),
            np.empty(families, np.uint64),
            np.full(1 << (2 * families).bit_length(), -1, np.int64),
        )

    def _make_room(self, more: int) -> None:
        from parentage.kernels.stems import enter

        if self.n_sets + more <= len(self._store.child):
            return
        wider = self._room(2 * (self.n_sets + more))
        wider.child[: self.n_sets], wider.size[: self.n_sets] = self.children, self.sizes
        wider.parents[: self.n_sets], wider.score[: self.n_sets] = self.parents, self.scores
        enter(np.int64(0), np.int64(self.n_sets), wider, self._growing)
        self._store = wider

    def _key(self, family: Family) -> int:
        child, parents = family
        own = self._keys[1]
        return int((self._keys[0][child] + sum(own[p] for p in parents)) % (1 << 64))

    def _tasks(self, families: Sequence[Family], along: bool) -> Tasks:
        from parentage.kernels.stems import Tasks

        rows = np.full((len(families), max(1, self.deepest)), self.n, np.uint16)
        for t, (_, parents) in enumerate(families):
            rows[t, : len(parents)] = parents
        row = self._stems.row
        with_child = [row[joined(p, x)] for x, p in families] if along else []
        return Tasks(
            np.array([x for x, _ in families], np.int64),
            rows,
            np.array([row[p] for _, p in families], np.int64),
            np.array(with_child, np.int64),
        )


def joined(parents: tuple[int, ...], child: int) -> tuple[int, ...]:
    """Return the set of parents and child, rising.

    >>> joined((1, 4), 2)
    (1, 2, 4)
    """
    return tuple(sorted((*parents, child)))


class Stems:
    """Vectors of stems, counted when asked for and kept as long as there is room.

    ``vectors[row[S], y]`` is G(S ∪ y), in fixed point.
    """

    def __init__(self, encoded: Encoded, workers: Workers, memory: int) -> None:
        self.encoded, self.workers = encoded, workers
        n, rows = encoded.n_variables, encoded.codes.shape[1]
        self._arity = np.concatenate([[1], encoded.arity])
        self._codes = np.vstack([np.zeros((1, rows), np.uint16), encoded.codes])
        self._offset = np.concatenate([[0], np.cumsum(self._arity)])
        self._row_bits = pack_states(self._codes, self._arity)
        self._capacity = max(FEWEST_STEMS, memory // (8 * n))
        self.vectors: Int64s = np.empty((min(self._capacity, 2 * FEWEST_STEMS), n), np.int64)
        self.vectors[0] = encoded.single
        self.row: dict[tuple[int, ...], int] = {(): 0}
        self.counted = 0
        self._named: set[tuple[int, ...]] = set()  # held, but their vectors are not there

    def take_up(self, held: Sequence[tuple[int, ...]], counted: int) -> None:
        """Hold what was held before; the vectors are counted when needed, and not as new ones."""
        self.row = {stem: at for at, stem in enumerate(held[-self._capacity :])}
        rows = max(len(self.vectors), len(self.row))
        self.vectors = np.empty((rows, self.vectors.shape[1]), np.int64)
        self.counted, self._named = counted, set(self.row)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what those who only count do not need: vectors, and who else counts."""
        return {**vars(self), "workers": 1, "vectors": self.vectors[:0], "row": {}, "_named": set()}

    def hold(self, stems: Iterable[tuple[int, ...]]) -> None:
        """Count the stems that are not held; let go of the oldest if there is no room."""
        asked = dict.fromkeys(stems)
        for stem in asked:
            if stem in self.row:
                self.row[stem] = self.row.pop(stem)  # the youngest now
        lacking = (stem for stem in asked if stem not in self.row or stem in self._named)
        new = sorted(lacking, key=lambda s: (len(s), s))
        if not new:
            return
        step = STEMS_PER_CHUNK
        chunks = [new[first : first + step] for first in range(0, len(new), step)]
        counted = in_order(count_stems, chunks, self.workers, (self,), "stems")
        for chunk, found in zip(chunks, counted, strict=True):
            for stem, vector in zip(chunk, found, strict=True):
                if stem not in self.row:
                    self.row[stem] = self._free_row()
                    self.counted += 1
                self.vectors[self.row[stem]] = vector
        self._named.difference_update(new)

    def _free_row(self) -> int:
        held = len(self.row)
        if held < self._capacity:
            if held == len(self.vectors):
                wider = np.empty((min(self._capacity, 2 * held), self.vectors.shape[1]), np.int64)
                wider[:held] = self.vectors
                self.vectors = wider
            return held
        return self.row.pop(next(iter(self.row)))

    def count(self, stems: Sequence[tuple[int, ...]]) -> list[Int64s]:
        """Count stems of sizes that rise, each with every variable."""
        found: list[Int64s] = []
        for size in sorted({len(stem) for stem in stems}):
            own = np.array([stem for stem in stems if len(stem) == size], np.uint16)
            found.extend(self._count_size(own.reshape(-1, size)))
        return found

    def _count_size(self, stems: npt.NDArray[np.uint16]) -> Int64s:
        from parentage.kernels.counting import Block, count_sets

        (count, size), n = stems.shape, self.encoded.n_variables
        members = np.empty((count, n, size + 2), np.uint16)
        members[:, :, :size] = stems[:, None, :] + 1
        members[:, :, size] = 0  # the column of one state: in front, so that all y are behind it
        members[:, :, size + 1] = np.arange(1, n + 1)
        block = Block(
            members.reshape(count * n, size + 2),
            np.zeros(count * n, np.int32),
            np.empty(count * n, np.int64),
            np.empty(0, np.int64),
        )
        count_sets(
            block, self.encoded.first_rows, self.encoded.first_starts, self._arity, self._offset,
            self._codes, self._row_bits, self.encoded.repeats, self.encoded.grid.f[None, :],
        )  # fmt: skip
        return block.G.reshape(count, n)


def count_stems(stems: Stems, some: Sequence[tuple[int, ...]]) -> list[Int64s]:
    """Count some stems, wherever."""
    return stems.count(some)
