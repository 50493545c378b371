"""What a measure is: everything about a score on one table that the search has to know.

The search over levels (:mod:`parentage.scoring.search.levels`), the expansion of lists
(:mod:`parentage.growth`), the forecast and ``explain`` are written once. What differs between
families of scores is here: what is counted of a set (the *columns* of a level), what rules and
scores need to know of the data (the *terms*, a named tuple whose type selects the code of
:mod:`parentage.kernels.levels`), and what no larger family exceeds.

Levels hold numbers of encoded variables; everything is in the fixed point of the encoded table
unless nats are mentioned.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from parentage.scoring.encoding import encode, residuals
from parentage.scoring.rules import FamilyNumbers
from parentage.scoring.scores import conditional_entropy
from parentage.scoring.tuning import TUNING
from parentage.work.array_files import let_pages_go
from parentage.work.executor import nothing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from parentage.arrays import Ints, Numbers, Words
    from parentage.data.table import Table
    from parentage.kernels.levels import Facts, Level, NewLevel, Values
    from parentage.scoring.encoding import Encoded, Encoding
    from parentage.scoring.rules import RuleSet
    from parentage.scoring.search.levels import LevelStep
    from parentage.scoring.search.plan import SearchPlan
    from parentage.work.array_files import Array

    Columns = tuple[Array, ...]
    Members = Numbers


class Measure(ABC):
    """A score on one table, within one plan."""

    endless: ClassVar[bool] = False
    """Whether the rules may leave a search without a limit on parents without an end."""
    forecast_ends: ClassVar[bool] = True
    """Whether a search of more sets than anybody waits for still ends by itself."""
    slower_by: ClassVar[float] = 1.0
    """How many times as long as forecast a set takes."""
    priced: ClassVar[bool] = True
    """Whether free parameters have a price of their own; else it is within the sums."""
    whole_families: ClassVar[bool] = False
    """Whether a sweep counts families of one child, of Π and not Π ∪ X: nothing is taken off."""
    payable: ClassVar[bool] = False
    """Whether Theorem 1⁺ tells from the sweep of Π alone that no further parent can pay."""

    def __init__(self, plan: SearchPlan) -> None:
        self.plan = plan

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is made again faster than it is sent."""
        return {"plan": self.plan}

    # From a table to the plan of a search

    @staticmethod
    def encode(
        table: Table, score: Any, width: float, context: Sequence[int], closed: bool, most: int
    ) -> Encoding:
        """Encode a table for searches within a context, of ``most`` further parents."""
        return encode(table, score, width, context, live_only=closed, most_parents=most)

    residuals = staticmethod(residuals)
    """Returns ``[variable]``: h, what all other variables together leave unexplained."""

    @staticmethod
    def caps(encoded: Any, table: Table, rules: RuleSet, h: Ints, width: float) -> dict[str, Ints]:
        """Return what the cap rules prove, per encoded variable; a set may be ``width`` below."""
        return {}

    @property
    def entropies(self) -> Ints | None:
        """N·H of every variable, for the caps on parents; None where none are proved."""
        return None

    # The search

    @property
    def encoded(self) -> Encoding:
        """The table, ready for counting."""
        return self.plan.encoded

    @cached_property
    def variables(self) -> Members:
        """The numbers of all variables."""
        return np.arange(self.encoded.n_variables, dtype=np.uint16)

    @abstractmethod
    def first(self) -> tuple[NewLevel, Columns]:
        """Return the single variables, and the columns of the empty set below them."""

    def uncounted(self, sets: int) -> Columns:
        """Return columns for joined sets, before they are counted: no room, counting makes it."""
        return (np.empty(0, np.int64),)

    @abstractmethod
    def terms(self, level: Level, below: Columns, store: bool, check: Callable[[], None]) -> Any:
        """Return the terms of the step from a level.

        ``below`` are the columns of the level below; ``store`` says whether the new level is needed
        for a further one. Looking through a level calls ``check``, which may end it.
        """

    @abstractmethod
    def count(self, members: Members, uncounted: Columns, terms: Any) -> tuple[Columns, Any]:
        """Count sets; return their columns, and the terms for scoring them."""

    @abstractmethod
    def beyond(self, level: Level, below: Columns, complete_to: int) -> npt.NDArray[np.float64]:
        """Bound per child, in nats, what families of more than ``complete_to`` parents score.

        −∞: there are none. A family that can matter contains, with every Y left out, families that
        are alive: so its parents contain those of a live family of the level, and at least so many
        more that there are ``complete_to`` + 1.
        """

    def stored(self, new: NewLevel, step: LevelStep) -> NewLevel:
        """Return the sets of a new level that a further one may need; ``new`` may be changed.

        It is counted and scored.
        """
        return new

    def best_alone(self, first: NewLevel) -> Ints:
        """Return ``[x, y]``: Bin of no parent on the diagonal; see :func:`with_single_parents`."""
        n = len(first.members)
        alone = np.full((n, n), -(2**62), np.int64)
        np.fill_diagonal(alone, first.best[:, 0])
        return alone

    def facts(self, level: Level, alone: Ints) -> Facts:
        """Return what the step from a level needs to know under every measure."""
        from parentage.kernels.levels import Facts

        plan, grid = self.plan, self.encoded.grid
        width = 0 if plan.width is None else grid.to_fixed(plan.width)
        forbidden = plan.forbidden if plan.forbidden.any() else np.zeros((0, 0), np.bool_)
        return Facts(
            np.ascontiguousarray(forbidden),
            plan.capped(level.members.shape[1]),
            alone,
            grid.tolerance + width,
            grid.tolerance if plan.width is None else -width - grid.tolerance - 1,
            plan.rules.mask,
        )

    def join(
        self, span: tuple[np.int64, np.int64], step: LevelStep, room: NewLevel, tally: Ints
    ) -> int:
        """Join a run of sets into ``room`` and judge their families; return how many are left."""
        from parentage.kernels.levels import join_whole, judge_level

        level = step.level
        end = join_whole(*span, step.siblings, level, room.members, room.subsets, room.best)
        return int(judge_level(np.int64(end), room, level, step.facts, step.terms, tally))

    def least_products(self, level: Level, complete_to: int) -> npt.NDArray[np.float64]:
        """Return per child the fewest joint states of parents beyond ``complete_to``; ∞: none."""
        from parentage.kernels.levels import fewest_states

        encoded, members, bins = self.encoded, level.members, level.bins
        least = np.full(encoded.n_variables, np.inf)
        states = encoded.arity.astype(np.float64)
        for some in blocks(len(members), members, bins):
            fewest_states(members[some], bins[some], states, least)
        least[self.plan.capped(complete_to + 1) != -1] = np.inf
        more = complete_to + 1 - (members.shape[1] - 1)
        least *= math.prod(sorted(encoded.arity.tolist())[:more])
        return least

    # Forecasts

    @property
    def more_bytes_per_set(self) -> int:
        """What a stored set takes besides members, subsets, Bin and one 64-bit column."""
        return 0

    def live_at_most(self, deepest: int) -> list[int] | None:
        """Return a proved bound on the live sets of each size; None: no better than all sets."""
        return None

    # Expansion

    @property
    def kinds_of_sweeps(self) -> int:
        """Number of kinds of sweeps that the measure has."""
        return 1

    @abstractmethod
    def family_terms(self, children: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """Return what the families of these children are scored by when lists are expanded.

        They are the difference of two sweeps (:meth:`sweep`), *along* less *without*, and a
        constant (:mod:`parentage.growth.score`). Returned are, by child, which kind of sweep
        *without* and *along* are, what *without* has for the empty set, and the constant.
        """

    @abstractmethod
    def sweep(self, kind: int, sets: Members, others: Members | None = None) -> Ints:
        """Return ``[set, y]``: what sets ``[set, member]`` have together with a variable y.

        y are all variables, or ``others``.
        """

    # Explanation

    def unexplained(self, table: Table, x: int, parents: Sequence[int]) -> float:
        """Return h of a column of the table in nats; a constant has none."""
        (where,) = np.nonzero(self.encoded.order == x)
        return float(self.encoded.grid.to_float(self.plan.h[where[0]])) if len(where) else 0.0

    @abstractmethod
    def numbers(
        self, table: Table, x: int, parents: Sequence[int], y: int, bin_star: float
    ) -> FamilyNumbers:
        """Return what the rules compare for a family because of its parent ``y``, in nats.

        Variables are columns of the table; ``bin_star`` is Bin of the parents without y.
        """


def arrays_of(level: Level | NewLevel) -> tuple[Array, ...]:
    """Return the arrays of a level, one row per set each: members, subsets, Bin, columns."""
    return (*level[:3], *level.columns)


def level_of(arrays: Iterable[Array], values: Values) -> Level:
    """Make a level of the arrays that it is stored as (:func:`arrays_of`)."""
    from parentage.kernels.levels import Level

    members, subsets, bins, *columns = arrays
    return Level(members, subsets, bins, values, tuple(columns))


def new_level_of(arrays: Iterable[Array]) -> NewLevel:
    """Make a new level of its arrays (:func:`arrays_of`)."""
    from parentage.kernels.levels import NewLevel

    members, subsets, best, *columns = arrays
    return NewLevel(members, subsets, best, tuple(columns))


def best_of(level: Level, some: slice = slice(None)) -> Ints:
    """Return Bin of some sets of a level, or DEAD + rule, ``[set, child]``."""
    values = level.values
    best: Ints = values.value[values.start[level.members[some]] + level.bins[some]]
    return best


def with_single_parents(best_alone: Ints, pairs: Level) -> Ints:
    """Return ``[x, y]``, Bin of the single parent y, for Proposition 2; a pair left out is dead.

    On the diagonal, Bin of no parent, it is what it was; ``pairs`` is the level of two members.
    """
    from parentage.kernels.judging import DEAD

    alone = np.full_like(best_alone, DEAD)
    np.fill_diagonal(alone, best_alone.diagonal())
    a, b = pairs.members[:, 0], pairs.members[:, 1]
    alone[a, b], alone[b, a] = best_of(pairs).T
    return alone


def blocks(rows: int, *arrays: Array, check: Callable[[], None] = nothing) -> Iterator[slice]:
    """Cut many sets into slices, worked on one after the other; mapped pages go after each.

    ``check`` is called before each but the first, and may end the work by raising.
    """
    for first in range(0, rows, TUNING.sets_at_once):
        if first:
            check()
        yield slice(first, min(first + TUNING.sets_at_once, rows))
        let_pages_go(arrays)


def with_a_bit_in_front(row_bits: Words, n_bits: int) -> Words:
    """Return the bits of rows, ``n_bits`` in all, behind one that is set in every row.

    >>> with_a_bit_in_front(np.array([[5]], np.uint64), 4).tolist()
    [[11]]
    """
    rows, words = row_bits.shape
    found = np.zeros((rows, -(-n_bits // 64)), np.uint64)
    found[:, 0] = 1
    for word in range(words):
        found[:, word] |= row_bits[:, word] << np.uint64(1)
        if word + 1 < found.shape[1]:
            found[:, word + 1] |= row_bits[:, word] >> np.uint64(63)
    return found


def behind_one_state(encoded: Encoded) -> Encoded:
    """Return an encoded table with a column of one state in front, for :func:`sums_with_each`."""
    arity = np.concatenate([[1], encoded.arity])
    offset = np.concatenate([[0], np.cumsum(arity)])
    return replace(
        encoded,
        arity=arity,
        codes=np.vstack([np.zeros_like(encoded.codes[:1]), encoded.codes]),
        offset=offset,
        row_bits=with_a_bit_in_front(encoded.row_bits, int(offset[-1])),
    )


class CountedMeasure(Measure):
    """A measure of a table without missing values: sweeps are counted as the sets of a level."""

    @property
    def encoded(self) -> Encoded:
        """The table, ready for counting."""
        return self.plan.encoded  # type: ignore[return-value]  # it was encoded here

    @cached_property
    def swept(self) -> Encoded:
        """The table behind a column of one state."""
        return behind_one_state(self.encoded)

    def numbers(
        self, table: Table, x: int, parents: Sequence[int], y: int, bin_star: float
    ) -> FamilyNumbers:
        """Return entropies and prices."""
        score, star = self.plan.score, [p for p in parents if p != y]
        price = score.price(table, x, parents)
        return FamilyNumbers(
            n_h_x=conditional_entropy(table, x),
            n_h_y=conditional_entropy(table, y),
            n_h_x_star=conditional_entropy(table, x, star),
            n_h_y_star=conditional_entropy(table, y, star),
            h_x=self.unexplained(table, x, parents),
            h_y=self.unexplained(table, y, parents),
            added=price - score.price(table, x, star),
            penalty=price,
            bin_star=bin_star,
            delta=bin_star - score.local(table, x, star),
        )


def sums_with_each(
    swept: Encoded,
    sets: Members,
    others: Members,
    f: Ints,
    row: npt.NDArray[np.int32] | None = None,
) -> Ints:
    """Return ``[set, y]``: Σ f over the joint states of S ∪ y, of ``f[row[set, y]]``.

    ``swept`` is the table behind a column of one state (:func:`behind_one_state`); sets and
    ``others``, the variables y, have the numbers of its other columns.
    """
    (count, size), n = sets.shape, len(others)
    members = np.empty((count, n, size + 2), np.uint16)
    members[:, :, :size] = sets[:, None, :] + 1
    members[:, :, size] = 0  # the column of one state: in front, so that all y are behind it
    members[:, :, size + 1] = others + 1
    flat = members.reshape(count * n, size + 2)
    return swept.count(flat, f, None if row is None else row.reshape(-1)).reshape(count, n)
