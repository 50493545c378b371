"""Growing lists where complete ones do not fit: further families around those that matter.

The search (:mod:`parentage.scoring.search.levels`) looks at every set up to some number of
parents. With hundreds of variables that number is 2 or 3, and a good network needs larger sets at a
few places.
:class:`Growth` goes on from there: it is told which parent sets to enlarge, scores them with every
further parent at once, and keeps what beats all known subsets. Who tells it is the search for the
network (:mod:`parentage.growth.anytime`), so lists and network feed each other.

**Sweeps.** One set is counted with all other variables in one sweep
(:meth:`parentage.scoring.measures.measure.Measure.sweep`). All families (X, Π ∪ y) need two such
vectors, which are kept within a share of the memory (:mod:`parentage.growth.score`); the oldest go
first.

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

from parentage.growth.score import (
    Family,
    Sweeps,
    growth_score,
)
from parentage.growth.tuning import TUNING, of_counting
from parentage.scoring.search.state import Kept
from parentage.work.checkpoint import SavedState
from parentage.work.executor import leave, nothing
from parentage.work.stop import StoppedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from parentage.arrays import Ints, Words
    from parentage.growth.score import Sweep
    from parentage.kernels.growth import Store
    from parentage.scoring.candidates import Searched
    from parentage.scoring.encoding import Encoding
    from parentage.scoring.search.state import Outcome
    from parentage.work.executor import Poll, Workers
    from parentage.work.stop import Stop


def can_grow(searched: Searched) -> bool:
    """Whether lists were cut short and can grow.

    With a width every set near its best subset is asked for, so single ones do not help.
    """
    return not searched.complete and searched.prepared.width is None


def worth_sending(encoded: Encoding) -> bool:
    """Whether rows and variables are so many that workers elsewhere help with sweeps."""
    pairs = int(encoded.arity.sum()) // 2
    effort = of_counting(TUNING.sweeps_per_chunk * pairs, encoded.distinct_rows)
    return effort >= TUNING.effort_worth_sending


class Growth:
    """Families that were found so far, and the way to find more.

    ``work`` are nominal seconds of one core: sets counted times what a set takes
    (:func:`parentage.growth.tuning.of_counting`). They depend on the data alone, so that a
    budget of them gives the same lists on every machine. There is room for sets of ``widest``
    parents, even if no set of so many is tried.
    """

    store: Store
    """All families, with room for more."""
    n_sets: int
    unit: float
    """Nats in a unit of the scores that are shown."""

    def __init__(
        self,
        searched: Searched,
        *,
        workers: Workers = 1,
        memory: int | None = None,
        widest: int = 0,
    ) -> None:
        prepared, plans, self.outcomes = searched.prepared, searched.plans, searched.outcomes
        self.encoded, self.unit = plans[0].encoded, prepared.unit
        self.n = self.encoded.n_variables
        self.score = growth_score(prepared, plans)
        self._growing = self.score.growing
        self.complete_to = np.zeros(self.n, np.int64)
        self.most = np.zeros(self.n, np.int64)
        self._asked = np.zeros(self.n, np.int64)  # the same without what the rules say
        for plan, own, outcome in zip(plans, self.score.own, self.outcomes, strict=True):
            children = own[plan.most >= 0]
            self.complete_to[children] = self.n  # all there are
            if outcome.complete_to is not None:
                self.complete_to[children] = outcome.complete_to - len(plan.context)
            self.most[children] = plan.most_proved[plan.most >= 0]
            self._asked[children] = plan.most[plan.most >= 0]
        self.deepest = min(max(int(self.most.max(initial=0)), widest), TUNING.most_parents)
        self._keys = [keys.tolist() for keys in (self._growing.child_key, self._growing.parent_key)]
        for_sweeps = TUNING.sweep_bytes if memory is None else min(memory, TUNING.sweep_bytes)
        self._sweeps = Sweeps(self.score, workers, for_sweeps)
        self._done: dict[int, None] = {}  # in the order in which they were enlarged
        self._enter_first()
        self.n_first = self.n_sets
        self.n_complete = sum(len(part.children) for o in self.outcomes for part in o.kept)
        self.families_scored = 0

    @property
    def work(self) -> float:
        """Nominal seconds of one core so far."""
        pairs = int(self.encoded.arity.sum()) // 2  # a set takes longer the more states it has
        return of_counting(self._sweeps.counted * pairs, self.encoded.total_rows)

    @property
    def sets_counted(self) -> int:
        """Sets whose joint counts were taken from the rows."""
        return self._sweeps.counted * self.n

    @property
    def children(self) -> npt.NDArray[np.int32]:
        """``[family]``: the child."""
        return self.store.child[: self.n_sets]

    @property
    def sizes(self) -> npt.NDArray[np.int32]:
        """``[family]``: number of parents."""
        return self.store.size[: self.n_sets]

    @property
    def parents(self) -> npt.NDArray[np.uint16]:
        """``[family, most parents]``: the parents, rising, padded with n."""
        return self.store.parents[: self.n_sets]

    @property
    def scores(self) -> Ints:
        """``[family]``: fixed point, the prior included."""
        return self.store.score[: self.n_sets]

    def nats(self, families: Ints) -> npt.NDArray[np.float64]:
        """Return the scores of some families, by index, in nats."""
        return self.scores[families] / self.score.scale[self.children[families]]

    def ahead_of(self, choice: Ints) -> npt.NDArray[np.float64]:
        """``[family]``: how many nats it is ahead of the one of its child that was chosen."""
        used = np.empty(self.n, np.int64)
        used[self.children[choice]] = self.scores[choice]
        ahead = self.scores - used[self.children]
        return ahead / self.score.scale[self.children]

    def family(self, i: int) -> Family:
        """Return family ``i``."""
        size = int(self.store.size[i])
        return int(self.store.child[i]), tuple(self.store.parents[i, :size].tolist())

    def is_open(self, family: Family) -> bool:
        """Whether enlarging a family may find something new."""
        child, parents = family
        return (
            self.complete_to[child] <= len(parents) < min(self.most[child], self.deepest)
            and self._key(family) not in self._done
        )

    def open_among(self, families: Ints) -> Ints:
        """Return those of some families, by index, that are open."""
        size, child = self.sizes[families], self.children[families]
        deep = np.minimum(self.most, self.deepest)[child]
        inside = families[(size >= self.complete_to[child]) & (size < deep)]
        keys = self.store.key[inside].tolist()
        return inside[np.array([key not in self._done for key in keys], np.bool_)]

    def keys_of(self, children: Ints, starts: Ints, owners: Ints, parents: Ints) -> Words:
        """Return the keys of families in CSR form, their required parents among the parents.

        ``owners`` has the child of every parent. A child or parent of −1 is none that is encoded.
        """
        own = self._growing
        always = np.zeros((self.n, self.n), np.bool_)
        for child, required in enumerate(self.score.required):
            always[child, list(required)] = True
        counts = (owners >= 0) & (parents >= 0)
        counts &= ~always[owners, parents]
        added = np.where(counts, own.parent_key[parents], np.uint64(0))
        total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(added, dtype=np.uint64)])
        first = np.where(children >= 0, own.child_key[children], np.uint64(0))
        keys: Words = first + (total[starts[1:]] - total[starts[:-1]])
        return keys

    def find(self, keys: Words) -> Ints:
        """Return the families with these keys, by index; −1 where there is none."""
        known = self.store.key[: self.n_sets]
        rank = np.argsort(known, kind="stable")
        at = np.minimum(np.searchsorted(known, keys, sorter=rank), self.n_sets - 1)
        return np.where(known[rank[at]] == keys, rank[at], -1)

    def take(self, families: Iterable[Family]) -> int:
        """Score families as they are, and list those that are allowed and beat known subsets.

        Those of a network, for example: then a network is found that scores no less. Each is
        counted by itself, all of them in less time than single parents take.
        """
        some = [family for family in families if self._is_allowed(family)]
        keys = np.array(sorted({key for one in some for key in self._keys_at(one)}), np.uint64)
        at = self.find(keys)
        there = at >= 0
        known = dict(zip(keys[there].tolist(), self.scores[at[there]].tolist(), strict=True))
        new: list[tuple[Family, int]] = []
        for family in some:
            own, *less = (known.get(key) for key in self._keys_at(family))
            score = self.score.score_of(family) if own is None else None
            if score is not None:
                self.families_scored += 1
                tolerance = int(self._growing.tolerance[family[0]])
                if all(other is None or score > other + tolerance for other in less):
                    new.append((family, score))
        self._make_room(len(new))
        self._enter(
            np.array([child for (child, _), _ in new], np.int32),
            np.array([len(parents) for (_, parents), _ in new], np.int32),
            self._rows_of([family for family, _ in new]),
            np.array([score for _, score in new], np.int64),
        )
        return len(new)

    def _is_allowed(self, family: Family) -> bool:
        """Whether a family may be listed and the search has not seen it, whatever rules say."""
        child, parents = family
        most = min(int(self._asked[child]), self.deepest)
        barred = bool(self._growing.forbidden[child, list(parents)].any())
        return self.complete_to[child] < len(parents) <= most and not barred

    def _keys_at(self, family: Family) -> Iterator[int]:
        """Return the keys of a family, of those with one parent less, and of that with none."""
        child, parents = family
        yield self._key(family)
        for j in range(len(parents)):
            yield self._key((child, parents[:j] + parents[j + 1 :]))
        yield self._key((child, ()))

    def enlarge(self, families: Iterable[Family], stop: Stop | None = None) -> int:
        """Try every further parent with these families; return how many sets were found.

        A ``stop`` leaves the rest of them open.
        """
        from parentage.kernels.growth import enlarge

        look = nothing if stop is None else leave(stop)
        tasks = [family for family in families if self.is_open(family)]
        before = self.n_sets
        for first in range(0, len(tasks), TUNING.sets_at_once):
            if stop is not None and stop.reason() is not None:
                break
            some = tasks[first : first + TUNING.sets_at_once]
            self._done.update(dict.fromkeys(map(self._key, some)))
            try:
                if self.score.measures[0].payable:
                    some = self._that_can_pay(some, look)
                if not some:
                    continue
                sweeps = [self.score.sweeps_of(family) for family in some]
                self._sweeps.hold((sweep for pair in sweeps for sweep in pair), look)
            except StoppedError:
                for family in tasks[first : first + TUNING.sets_at_once]:
                    self._done.pop(self._key(family), None)
                break
            self._make_room(TUNING.kept_per_set * len(some))
            self.families_scored += len(some) * self.n
            self.n_sets = int(
                enlarge(
                    self._tasks(some, sweeps), self._sweeps.vectors, self._growing,
                    np.int64(TUNING.kept_per_set), self.store, np.int64(self.n_sets),
                )
            )  # fmt: skip
        return self.n_sets - before

    def _that_can_pay(self, families: list[Family], look: Poll) -> list[Family]:
        """Return the families that some further parent may pay for, from one sweep of each."""
        from parentage.kernels.growth import can_pay

        sweeps = [self.score.sweeps_of(family) for family in families]
        self._sweeps.hold((without for without, _ in sweeps), look)
        pays = np.empty(len(families), np.bool_)
        can_pay(self._tasks(families, sweeps), self._sweeps.vectors, self._growing, pays)
        return [family for family, pay in zip(families, pays.tolist(), strict=True) if pay]

    def to_state(self) -> Callable[[], SavedState]:
        """Return what makes the state of this moment later: what was found since the search.

        Families are only added, so that a few numbers tell how far it is. The vectors of sweeps are
        not part of it: they are counted again when they are needed, and that is not counted as
        work, so that a budget of work lasts as long as without a break.
        """
        new, n_done = slice(self.n_first, self.n_sets), len(self._done)
        held = list(self._sweeps.row)
        values = {
            "first": self._first_check,
            "counted": self._sweeps.counted,
            "scored": self.families_scored,
        }

        def made() -> SavedState:
            sizes, widest = self.sizes[new], max((len(members) for _, members in held), default=0)
            rows = [(counter, len(own), *own, *[0] * (widest - len(own))) for counter, own in held]
            arrays: dict[str, npt.NDArray[Any]] = {
                "children": self.children[new],
                "sizes": sizes,
                "parents": self.parents[new, : sizes.max(initial=0)],
                "scores": self.scores[new],
                "enlarged": np.array(list(self._done)[:n_done], np.uint64),
                "held": np.array(rows, np.int32).reshape(len(held), 2 + widest),
            }
            return SavedState(values, arrays)

        return made

    def from_state(self, state: SavedState) -> bool:
        """Continue from what was found before; False if that was from other first families."""
        if state.values["first"] != self._first_check or self.n_sets != self.n_first:
            return False
        found = state.arrays
        self._make_room(len(found["children"]))
        self._enter(found["children"], found["sizes"], found["parents"], found["scores"])
        self._done = dict.fromkeys(found["enlarged"].tolist())
        held = [(counter, tuple(row[:size])) for counter, size, *row in found["held"].tolist()]
        self._sweeps.take_up(held, int(state.values["counted"]))
        self.families_scored = int(state.values["scored"])
        return True

    def _enter(
        self,
        children: npt.NDArray[np.integer],
        sizes: npt.NDArray[np.int32] | int,
        parents: npt.NDArray[np.integer],
        scores: Ints,
    ) -> None:
        """Put families behind those there are, which leave room for them."""
        from parentage.kernels.growth import enter

        new = slice(self.n_sets, self.n_sets + len(children))
        self.store.child[new], self.store.size[new] = children, sizes
        self.store.parents[new, : parents.shape[1]] = parents
        self.store.score[new] = scores
        enter(np.int64(new.start), np.int64(new.stop), self.store, self._growing)
        self.n_sets = new.stop

    @cached_property
    def _first_check(self) -> int:
        """Return a checksum of the families of the search, and of how far it came."""
        check = zlib.crc32(f"{self.n_complete} {self.deepest}".encode())
        check = zlib.crc32(self.complete_to.tobytes(), check)
        for column in (self.children, self.sizes, self.parents, self.scores):
            check = zlib.crc32(column[: self.n_first].tobytes(), check)
        return check

    def result(self) -> tuple[Outcome, ...]:
        """Return what every search found together with what was found since."""
        new = np.arange(self.n_complete, self.n_sets)
        plan = self._growing.plan[self.children[new]]
        found = [
            replace(
                outcome,
                kept=[*outcome.kept, *self._parts(new[plan == number], number)],
                partial=[],
                explored=outcome.explored + sum(len(part.children) for part in outcome.partial),
            )
            for number, outcome in enumerate(self.outcomes)
        ]
        found[0] = replace(
            found[0],
            sets_counted=found[0].sets_counted + self.sets_counted,
            families_scored=found[0].families_scored + self.families_scored,
            explored=found[0].explored + self.families_scored,
        )
        return tuple(found)

    def _parts(self, families: Ints, number: int) -> Iterator[Kept]:
        """Return families as the search of a plan would: by size, its variables, no prior."""
        place = np.zeros(self.n, np.int64)
        own_variables = self.score.own[number]
        place[own_variables] = np.arange(len(own_variables))
        for size in np.unique(self.sizes[families]).tolist():
            own = families[self.sizes[families] == size]
            children, parents = self.children[own], self.parents[own, :size]
            scores = self.scores[own] - self.score.added(children, parents)
            yield Kept(place[children], place[parents], scores)

    def _enter_first(self) -> None:
        """Begin with the families of the search."""
        searches = list(zip(self.score.own, self.outcomes, strict=True))
        parts = [(own, part) for own, outcome in searches for part in outcome.kept]
        parts += [(own, part) for own, outcome in searches for part in outcome.partial]
        widest = max((part.parents.shape[1] for _, part in parts), default=0)
        self.deepest = max(self.deepest, widest)
        self._begin_store(max(1024, 2 * sum(len(part.children) for _, part in parts)))
        for own, part in parts:
            children, parents = own[part.children], own[part.parents]
            scores = part.scores + self.score.added(children, parents)
            self._enter(children, part.parents.shape[1], np.sort(parents, axis=1), scores)

    def _begin_store(self, families: int) -> None:
        """Make a store without families, with room for so many."""
        from parentage.kernels.growth import Store

        self.n_sets = 0
        self.store = Store(
            np.empty(families, np.int32),
            np.empty(families, np.int32),
            np.full((families, max(1, self.deepest)), self.n, np.uint16),
            np.empty(families, np.int64),
            np.empty(families, np.uint64),
            np.full(1 << (2 * families).bit_length(), -1, np.int64),
        )

    def _make_room(self, more: int) -> None:
        if self.n_sets + more > len(self.store.child):
            known = self.children, self.sizes, self.parents, self.scores
            self._begin_store(2 * (self.n_sets + more))
            self._enter(*known)

    def _key(self, family: Family) -> int:
        child, parents = family
        own = self._keys[1]
        return int((self._keys[0][child] + sum(own[p] for p in parents)) % (1 << 64))

    def _tasks(
        self, families: Sequence[Family], sweeps: Sequence[tuple[Sweep, Sweep]]
    ) -> tuple[Ints, npt.NDArray[np.uint16], Ints, Ints]:
        """Return the families as tasks of kernels, the rows of their sweeps last.

        A sweep that is not held has row 0, and is not used.
        """
        row = self._sweeps.row
        return (
            np.array([x for x, _ in families], np.int64),
            self._rows_of(families),
            np.array([row[without] for without, _ in sweeps], np.int64),
            np.array([row.get(along, 0) for _, along in sweeps], np.int64),
        )

    def _rows_of(self, families: Sequence[Family]) -> npt.NDArray[np.uint16]:
        """Return the parents of families, padded."""
        rows = np.full((len(families), max(1, self.deepest)), self.n, np.uint16)
        for t, (_, parents) in enumerate(families):
            rows[t, : len(parents)] = parents
        return rows
