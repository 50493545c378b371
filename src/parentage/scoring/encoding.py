r"""Tables made ready for counting: variables, rows and states in the order that suits kernels.

G(S) = Σ n_c ln n_c over the joint states c of the variables in S; every entropy, likelihood and
rule of this package is a difference of two of them: N·H(A|B) = G(B) − G(A ∪ B). One G per *set*
serves every child in it.

**Encoding.** :func:`encode` puts the variables in the order in which counting is fastest, the rows
in lexicographic order, and packs the states into bits for :mod:`parentage.kernels.counting`. The
order: fewest states first, then falling entropy, when only live sets are counted (large sets of
variables with few states live longest, and so share stems); the other way round when all sets
are (stems of many states leave small groups of rows). Constant columns are left out: the rules
need at least two states, and a constant has no parents and is never a parent.

**Missing values** (:func:`encode_missing`, for PNAL). Rows in which a required parent is missing
are of no use to its child and left out; N stays the number of rows of the table. Which rows a set
is counted on is decided set by set (:mod:`parentage.kernels.missing`).

**Residuals**: h of every variable, N·H(V | all others), is what nothing can explain; rules compare
with it. h = G(all \\ V) − G(all), n + 1 sets counted: the variables are halved, one half is joined
and the other gone into, so that n log n joins are enough. The partition is found by sorting, and a
row that is alone in its class is left out from there on, as no further variable changes what it
adds.

**Equal rows** are counted once. Every count is a sum over rows, so a row that occurs w times may be
counted once with the weight w; all counts, and with them G, the scores and the rules, are the
same whole numbers. The rows are sorted block by block, each together with the distinct ones so far:
what that needs besides the table is proportional to the distinct rows and to a block.

It is done where it pays: when more than ``TUNING.worth_merging`` of the rows are distinct, merging
ends and the rows are counted as they are. Of very many rows a sample tells that beforehand: equal
rows are in it all or none, so the distinct ones among its rows are as many as they would be among
all. Rows that come with their number of repetitions are always merged; their numbers are added.

**Weights.** A row that lacks cells becomes several completions, each with its probability, a whole
multiple of 2^−b of a row. So every expected count n is a whole number W of units, n = W / 2^b, and

.. math:: \sum_c n_c \ln n_c = 2^{-b} \sum_c W_c \ln W_c \; - N b \ln 2.

The last term is the same for every set and falls out of every score, entropy and rule, all of which
are differences. So G is taken as 2^−b Σ W ln W, in fixed point as ever. The rules of penalised
likelihoods are inequalities of entropies, which hold for the distribution that the weights are; no
rule asks for whole counts. A set has at most as many joint states as there are distinct rows, each
half a unit off: six sums, three units a distinct row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from parentage.data.table import (
    MISSING,
    PackedCodes,
    PackedColumn,
    Table,
    class_sizes,
    narrowed,
)
from parentage.errors import Way
from parentage.scoring.scores import parse_score
from parentage.scoring.scores.node_average import observed_rows
from parentage.scoring.scores.score import HOLE_WAYS, Families, joint_units
from parentage.scoring.tuning import TUNING
from parentage.work.memory import require_memory

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from parentage.arrays import Ints
    from parentage.data.table import Codes, Repeats
    from parentage.scoring.scores import NodeAverage, Score
    from parentage.scoring.scores.fixed_point import FixedPoint


# Equal rows


_Number = TypeVar("_Number", bound=np.integer[Any])

_merged: WeakKeyDictionary[Table, Table | int] = WeakKeyDictionary()
"""Tables that were looked at already, as they are encoded more than once.

A number: not worth it, there are about as many distinct rows as that or more.
"""


class Layout(NamedTuple):
    """Where variables are when rows are packed into words.

    Parameters
    ----------
    word, shift
        ``int64[variable]``: where the state of a variable begins.
    ones
        ``uint64[variable]``: as many ones as it has bits.
    """

    word: npt.NDArray[np.int64]
    shift: npt.NDArray[np.int64]
    ones: npt.NDArray[np.uint64]

    @property
    def n_words(self) -> int:
        """Words of a row."""
        return int(self.word[-1]) + 1

    def pack(
        self, codes: npt.NDArray[np.integer[Any]], variables: Iterable[int]
    ) -> npt.NDArray[np.uint64]:
        """Pack ``codes[variable, row]`` of some variables into ``uint64[word, row]``."""
        words = np.zeros((self.n_words, codes.shape[1]), np.uint64)
        for v, column in zip(variables, codes, strict=True):
            words[self.word[v]] |= column.astype(np.uint64) << np.uint64(self.shift[v])
        return words

    def unpack(self, words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint16]:
        """Return ``uint16[variable, row]``."""
        codes = np.empty((len(self.word), words.shape[1]), np.uint16)
        for v, ones in enumerate(self.ones):
            codes[v] = (words[self.word[v]] >> np.uint64(self.shift[v])) & ones
        return codes


def layout_of(sizes: Iterable[int]) -> Layout:
    """Give each variable the bits that its number of states needs, in one word each."""
    bits = [(int(r) - 1).bit_length() for r in sizes]
    word, shift, at, used = [], [], 0, 0
    for needed in bits:
        if used + needed > 64:
            at, used = at + 1, 0
        word.append(at)
        shift.append(used if needed else 0)
        used += needed
    ones = [(1 << needed) - 1 for needed in bits]
    return Layout(np.array(word, np.int64), np.array(shift, np.int64), np.array(ones, np.uint64))


def merged(table: Table) -> Table:
    """Return the distinct rows of a table without holes, or the table itself where that pays more.

    >>> table = Table.from_columns({"a": "xyxxy", "b": "uvuuu"})
    >>> merged(table).to_codes().tolist(), merged(table).repeats.tolist()
    ([[0, 1, 1], [0, 0, 1]], [3, 1, 1])
    """
    if table.unit_bits or table.has_holes:
        return table
    if table not in _merged:
        found = _merge(table)
        _merged[table] = found
        if isinstance(found, Table):
            _merged[found] = found.stored_rows
    known = _merged[table]
    return table if isinstance(known, int) else known


def distinct_rows(table: Table) -> int:
    """Return how many distinct rows there are; fewer, or about as many, where they were not merged.

    >>> distinct_rows(Table.from_columns({"a": "xyxxy", "b": "uvuuu"}))
    3
    """
    if table.unit_bits:  # completed rows are distinct
        return table.stored_rows
    found = _merged.get(merged(table), 0)
    return found if isinstance(found, int) else 0


def _merge(table: Table) -> Table | int:
    most = np.inf if len(table.repeats) else TUNING.worth_merging * table.n_rows
    if table.n_rows > TUNING.many_rows and most < np.inf:
        sieve = TUNING.sample_bits
        likely = len(_distinct(table, most / (1 << sieve), sieve)[1]) << sieve
        if likely > most:
            return likely
    keys, repeats = _distinct(table, most)
    if len(repeats) > most:
        return len(repeats)
    codes = layout_of(table.cardinalities).unpack(keys)
    distinct: Codes | PackedCodes = codes
    if table.packed is not None:
        distinct = PackedCodes(tuple(map(PackedColumn.of, map(narrowed, codes))), len(repeats))
    return Table(table.names, table.states, distinct, table.cuts, repeats=repeats)


def _distinct(table: Table, most: float, sieve: int = 0) -> tuple[npt.NDArray[np.uint64], Repeats]:
    """Return the distinct rows, or more than ``most`` of them, as words, and how often each occurs.

    With a ``sieve``, those of a sample of one row in 2^sieve.
    """
    variables, step = range(table.n_variables), TUNING.rows_merged
    keys: npt.NDArray[np.uint64] = np.empty((layout_of(table.cardinalities).n_words, 0), np.uint64)
    repeats: Repeats = np.empty(0, np.uint32)
    for first in range(0, table.stored_rows, step):
        _, words = words_of(table, variables, first, first + step)
        times: Repeats = table.repeats[first : first + step]
        times = times if len(times) else np.ones(words.shape[1], np.uint32)
        if sieve:
            chosen = _sample(words, sieve)
            words, times = words[:, chosen], times[chosen]
        keys, repeats = np.hstack([keys, words]), np.concatenate([repeats, times])
        keys, repeats = merged_words(keys, repeats)
        if len(repeats) > most:
            break
    return keys, repeats


def merged_words(
    words: npt.NDArray[np.uint64], times: npt.NDArray[_Number]
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[_Number]]:
    """Return the distinct rows of ``words[word, row]``, and the sum of what is known of each.

    >>> rows, times = merged_words(np.array([[7, 3, 7]], np.uint64), np.array([1, 2, 4]))
    >>> rows.tolist(), times.tolist()
    ([[3, 7]], [2, 5])
    """
    order, begins = _classes(words, len(times))
    starts = np.flatnonzero(begins)
    return words[:, order[starts]], np.add.reduceat(times[order], starts, dtype=times.dtype)


def _sample(words: npt.NDArray[np.uint64], sieve: int) -> npt.NDArray[np.bool_]:
    """``[row]``: whether it is in a sample of one in 2^sieve, which has equal rows all or none."""
    mixed = np.zeros(words.shape[1], np.uint64)
    for word in words:
        mixed = (mixed ^ word) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    chosen: npt.NDArray[np.bool_] = mixed >> np.uint64(64 - sieve) == 0
    return chosen


def words_of(
    table: Table,
    variables: Sequence[int] | npt.NDArray[np.int64],
    begin: int = 0,
    end: int | None = None,
) -> tuple[Layout, npt.NDArray[np.uint64]]:
    """Pack some variables into ``uint64[word, row]``, the first of them in the lowest digits.

    Of all rows, or of those from ``begin`` to ``end``.
    """
    variables = np.asarray(variables, np.int64)
    layout = layout_of(table.cardinalities[variables])
    end = table.stored_rows if end is None else min(end, table.stored_rows)
    words = np.empty((layout.n_words, end - begin), np.uint64)
    for first in range(begin, end, TUNING.block_rows):
        last = min(first + TUNING.block_rows, end)
        block = table.rows(first, last)[variables]
        words[:, first - begin : last - begin] = layout.pack(block, range(len(variables)))
    return layout, words


# The encoded table


@dataclass(frozen=True, eq=False, kw_only=True)
class Encoding:
    """What every encoded table has: variables in the order that suits the kernels, and a grid.

    ``order[i]`` is the table's index of variable ``i`` here.
    """

    order: Ints
    arity: Ints
    codes: npt.NDArray[np.uint16]
    """``[variable, row]``; of very many rows, ``[variable, 0]``."""
    grid: FixedPoint
    context_states: int = 1
    """Joint states of the context."""
    repeats: Repeats = field(default_factory=lambda: np.empty(0, np.uint32))
    """How often each row occurs; empty: once, each."""

    @property
    def n_variables(self) -> int:
        """Number of variables that are not constant."""
        return len(self.order)

    @property
    def distinct_rows(self) -> int:
        """Number of rows that are counted, equal ones once where they were merged."""
        return int(self.codes.shape[1])

    @property
    def rows_in_groups(self) -> int:
        """Number of rows that a set is counted on at most."""
        return self.distinct_rows

    @cached_property
    def total_rows(self) -> int:
        """N, equal rows counted as often as they occur."""
        repeated = int(self.repeats.sum(dtype=np.int64))
        return repeated if len(self.repeats) else self.distinct_rows

    @property
    def nbytes(self) -> int:
        """What the table takes while it is encoded, in bytes."""
        return 4 * self.codes.nbytes + self.grid.f.nbytes

    @property
    def w(self) -> float:
        """Penalty of one free parameter in nats (within the context)."""
        return self.grid.unit / self.grid.scale


@dataclass(frozen=True, eq=False, kw_only=True)
class Encoded(Encoding):
    """A table without missing values, ready for counting; rows in lexicographic order."""

    offset: Ints
    row_bits: npt.NDArray[np.uint64]
    first_rows: npt.NDArray[np.uint32]
    """The rows to count, group after group; groups of one row are left out."""
    first_starts: npt.NDArray[np.uint32]
    """Where the groups start: one group normally, several if the search is within a context."""
    single: Ints
    """G of every single variable (within the context)."""
    empty: int
    """G of the empty set (of the context)."""

    @property
    def distinct_rows(self) -> int:
        """Number of rows that are counted, equal ones once where they were merged."""
        return len(self.row_bits)

    @property
    def rows_in_groups(self) -> int:
        """Number of rows that a set is counted on at most."""
        return len(self.first_rows)

    @property
    def nbytes(self) -> int:
        """What the table takes while it is encoded, in bytes; of many rows words are sorted."""
        copies = 4 * self.codes.nbytes or 3 * self.row_bits.nbytes
        return copies + self.row_bits.nbytes + self.grid.f.nbytes

    def column(self, x: int) -> npt.NDArray[np.uint16]:
        """Return the codes of a variable."""
        column: npt.NDArray[np.uint16] = self.codes[x]
        if len(column):
            return column
        column = np.empty(self.distinct_rows, np.uint16)
        first, last = int(self.offset[x]), int(self.offset[x + 1])
        words = slice(first // 64, -(-last // 64))
        for at in range(0, len(column), TUNING.block_rows):
            some = slice(at, at + TUNING.block_rows)
            part = np.ascontiguousarray(self.row_bits[some, words]).view(np.uint8)
            states = np.unpackbits(part, axis=1, bitorder="little")
            own = states[:, first - 64 * words.start : last - 64 * words.start]
            column[some] = own.argmax(axis=1)
        return column

    @property
    def entropies(self) -> Ints:
        """N·H of every variable (within the context), in fixed point."""
        return self.empty - self.single

    def count(
        self,
        members: npt.NDArray[np.uint16],
        f: Ints | None = None,
        row: npt.NDArray[np.int32] | None = None,
        excess: Ints | None = None,
    ) -> Ints:
        """Return G of every set of two or more members (in lexicographic order).

        With ``f[row, count]`` it is the sum of that instead of c ln c, for set i of ``f[row[i]]``;
        ``excess``, if given, is filled (:mod:`parentage.kernels.counting`).
        """
        from parentage.kernels.counting import count_sets

        G = np.empty(len(members), np.int64)
        which = np.zeros(len(members), np.int32) if row is None else row
        more = np.empty(0, np.int64) if excess is None else excess
        count_sets(
            (members, which, G, more), self.first_rows, self.first_starts, self.arity, self.offset,
            self.codes, self.row_bits, self.repeats, self.grid.f[None, :] if f is None else f,
        )  # fmt: skip
        return G


def encode(
    table: Table,
    score: str | Score,
    width: float = 0.0,
    context: Sequence[int] = (),
    *,
    live_only: bool = True,
    most_parents: int | None = None,
) -> Encoded:
    """Encode the non-constant columns of a table, for a search over live sets or over all.

    ``most_parents``, besides those of the context, says how fine the grid of some scores can be.

    With a ``context`` every G(S) becomes G(S ∪ context) and every penalty is multiplied by the
    context's number of joint states: the scores of the parent sets that contain the context.
    The context's own columns are left out.
    """
    table = merged(table)
    left_out = {*(table.index(name) for name in table.constant), *context}
    kept = [v for v in range(table.n_variables) if v not in left_out]
    times = math.prod(int(table.cardinalities[v]) for v in context)
    by = parse_score(score) if isinstance(score, str) else score
    table.refuse_holes("this score", *HOLE_WAYS)

    def distinct() -> int:
        known = distinct_rows(table)
        if table.unit_bits or known >= table.n_rows // 2:
            return known
        return labels_by(table, [*context, *kept])[1]

    grid = by.grid(Families(table, kept, times, width, most_parents, distinct))
    single = np.array([_G(table, [*context, v], grid.f) for v in kept], np.int64)
    by_speed = np.lexsort((single, table.cardinalities[kept]))
    if not live_only:
        by_speed = by_speed[::-1]
    order = np.array(kept, np.int64)[by_speed]
    _require_room(table, order)
    rows, codes, row_bits = _in_order(table, order)
    repeats = table.repeats[rows] if len(table.repeats) else table.repeats
    label, n_labels = labels_by(table, context)
    first_rows, first_starts = _groups(label[rows], n_labels, repeats)
    return Encoded(
        order=order,
        arity=np.ascontiguousarray(table.cardinalities[order]),
        codes=codes,
        grid=grid,
        context_states=times,
        repeats=repeats,
        offset=np.concatenate([[0], np.cumsum(table.cardinalities[order])]),
        row_bits=row_bits,
        first_rows=first_rows,
        first_starts=first_starts,
        single=single[by_speed],
        empty=_G(table, context, grid.f),
    )


def _in_order(
    table: Table, order: Ints
) -> tuple[Ints, npt.NDArray[np.uint16], npt.NDArray[np.uint64]]:
    """Return the order of the rows, and in that order codes (unless there are too many) and bits.

    Rows are sorted as numbers of one or more words, the first variable in the highest digits.
    """
    arity, n_rows = table.cardinalities[order], table.stored_rows
    layout, words = words_of(table, order[::-1])
    heavy_first = [-np.frexp(table.repeats)[1]] if len(table.repeats) else []
    rows = np.lexsort((*words, *heavy_first))
    codes = np.empty((len(order), n_rows if n_rows <= TUNING.many_rows else 0), np.uint16)
    row_bits = np.empty((n_rows, -(-int(arity.sum()) // 64)), np.uint64)
    for first in range(0, n_rows, TUNING.block_rows):
        part = slice(first, first + TUNING.block_rows)
        block = layout.unpack(words[:, rows[part]])[::-1]
        row_bits[part] = pack_states(block, arity)
        if codes.shape[1]:
            codes[:, part] = block
    return rows, codes, row_bits


def labels_by(table: Table, variables: Sequence[int]) -> tuple[Ints, int]:
    """Return the partition of the rows by some variables: a number for each, and how many.

    >>> labels_by(Table.from_columns({"a": "xyxxy", "b": "uvuuu"}), [0, 1])
    (array([0, 2, 0, 0, 1]), 3)
    """
    label = np.zeros(table.stored_rows, np.int64)
    if not len(variables):
        return label, 1
    order, begins = _classes(words_of(table, variables)[1], len(label))
    label[order] = np.cumsum(begins) - 1
    return label, int(np.count_nonzero(begins))


def _classes(
    words: Sequence[npt.NDArray[np.uint64]] | npt.NDArray[np.uint64], n_rows: int
) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Return an order of the rows in which equal ones are neighbours, and where others begin."""
    order = np.lexsort(words) if len(words) else np.arange(n_rows)
    begins = np.zeros(len(order), np.bool_)
    begins[:1] = True
    for word in words:
        in_order = word[order]
        begins[1:] |= in_order[1:] != in_order[:-1]
    return order, begins


def _G(table: Table, variables: Sequence[int], f: Ints) -> int:
    """Return G of one set, in fixed point."""
    return int(f[joint_units(table, variables)].sum())


def _groups(
    labels: Ints, n_labels: int, repeats: Repeats
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Rows by label, labels with a single row left out, and where each label's rows start."""
    if n_labels == 1 and len(labels) > 1:
        return np.arange(len(labels), dtype=np.uint32), np.array([0, len(labels)], np.uint32)
    rows, sizes = np.bincount(labels), class_sizes(labels, repeats)
    order = np.argsort(labels, kind="stable")
    several = sizes[labels[order]] >= 2
    starts = np.concatenate([[0], np.cumsum(rows[sizes >= 2])])
    return order[several].astype(np.uint32), starts.astype(np.uint32)


def _require_room(table: Table, order: Ints) -> None:
    """Refuse a table whose states, a bit each in every row, do not fit in memory."""
    states = table.cardinalities[order]
    widest = int(order[states.argmax()])
    require_memory(
        table.stored_rows * -(-int(states.sum()) // 64) * 8,
        f"a table of {table.n_rows:,} rows and {int(states.sum()):,} states in all",
        Way("drop", [table.names[widest]], f"({int(states.max())} states)"),
    )


def pack_states(codes: npt.NDArray[np.uint16], arity: Ints) -> npt.NDArray[np.uint64]:
    """One bit per (variable, state): ``row_bits[row, word]``."""
    offset = np.concatenate([[0], np.cumsum(arity)])
    states = np.zeros((codes.shape[1], 64 * -(-int(offset[-1]) // 64)), np.bool_)
    states[np.arange(len(states)), offset[:-1, None] + codes] = True
    return np.packbits(states, axis=1, bitorder="little").view("<u8")


@dataclass(frozen=True, eq=False, kw_only=True)
class EncodedMissing(Encoding):
    """A table whose codes may be MISSING."""

    label: Ints
    """``[row]``: joint state of the context."""
    n_labels: int
    n_rows: int
    """N, rows that are left out included."""

    @property
    def rows(self) -> tuple[Any, ...]:
        """What :func:`parentage.kernels.missing.count_complete` counts."""
        once = np.ones(len(self.label), np.uint32)
        repeats = self.repeats if len(self.repeats) else once
        return self.codes, self.label, self.n_labels, repeats, self.grid.f


def encode_missing(
    table: Table, score: NodeAverage, width: float = 0.0, context: Sequence[int] = ()
) -> EncodedMissing:
    """Encode the columns that vary; with a ``context``, the rows in which it is observed."""
    left_out = {*(table.index(name) for name in table.constant), *context}
    kept = [v for v in range(table.n_variables) if v not in left_out]
    times = math.prod(int(table.cardinalities[v]) for v in context)
    part = rows_with(table, context)
    label, n_labels = labels_by(part, context)
    return EncodedMissing(
        order=np.array(kept, np.int64),
        arity=np.ascontiguousarray(table.cardinalities[kept]),
        codes=np.ascontiguousarray(part.to_codes(kept), np.uint16),
        grid=score.grid(Families(table, kept, times, width, None, lambda: part.stored_rows)),
        context_states=times,
        repeats=part.repeats,
        label=label,
        n_labels=n_labels,
        n_rows=table.n_rows,
    )


def rows_with(table: Table, variables: Sequence[int]) -> Table:
    """Return the rows in which none of these variables is missing."""
    return table.chosen_rows(observed_rows(table, variables))


def residuals(encoded: Encoding, table: Table, context: Sequence[int] = ()) -> Ints:
    """Return h of every variable, in fixed point."""
    table = merged(table)
    layout, words = words_of(table, [*context, *(int(v) for v in encoded.order)])
    digits = np.zeros((len(layout.word), len(words)), np.uint64)
    digits[np.arange(len(digits)), layout.word] = layout.ones << layout.shift.astype(np.uint64)
    repeats = table.repeats if len(table.repeats) else np.ones(table.stored_rows, np.uint32)
    rows = _Rows(words, repeats, np.zeros(len(words), np.uint64), 0, encoded.grid.f)
    rows, own = rows.joined(digits[: len(context)]), digits[len(context) :]
    return np.array(list(rows.leave_one_out(own)), np.int64) - rows.joined(own).G()


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows that share their class with others, in a partition by some variables."""

    words: npt.NDArray[np.uint64]
    """``[word, row]``."""
    repeats: Repeats
    """``[row]``: how often each occurs."""
    mask: npt.NDArray[np.uint64]
    """``[word]``: the digits of the variables joined so far."""
    settled: int
    """G of the rows that are alone."""
    f: Ints

    def joined(self, digits: npt.NDArray[np.uint64]) -> _Rows:
        """Refine the partition by the variables of some digits; leave out rows that are alone."""
        if not len(digits):
            return self
        mask = self.mask | np.bitwise_or.reduce(digits, axis=0)
        order, begins = self._classes(mask)
        alone = begins & np.append(begins[1:], True)
        several = np.sort(order[~alone])
        settled = self.settled + self._sum(self.repeats[order[alone]])
        return _Rows(self.words[:, several], self.repeats[several], mask, settled, self.f)

    def G(self) -> int:
        """Σ f(rows of a class) over all classes."""
        order, begins = self._classes(self.mask)
        sizes = np.add.reduceat(self.repeats[order], np.flatnonzero(begins), dtype=np.int64)
        return self.settled + self._sum(sizes)

    def leave_one_out(self, digits: npt.NDArray[np.uint64]) -> Iterator[int]:
        """Yield, variable by variable, G of all the others.

        No more than log n partitions are in memory at a time.
        """
        if len(digits) == 1:
            yield self.G()
            return
        half = len(digits) // 2
        yield from self.joined(digits[half:]).leave_one_out(digits[:half])
        yield from self.joined(digits[:half]).leave_one_out(digits[half:])

    def _classes(self, mask: npt.NDArray[np.uint64]) -> tuple[Ints, npt.NDArray[np.bool_]]:
        """Return an order of the rows, class after class, and where in it a class begins."""
        used = [word & digits for word, digits in zip(self.words, mask, strict=True) if digits]
        return _classes(used, self.words.shape[1])

    def _sum(self, sizes: npt.NDArray[np.integer]) -> int:
        parts = range(0, len(sizes), TUNING.rows_at_once)
        return sum(int(self.f[sizes[at : at + TUNING.rows_at_once]].sum()) for at in parts)


def complete_residuals(encoded: Encoding, table: Table, context: Sequence[int] = ()) -> Ints:
    """Return h of every variable over the rows where nothing is missing; zeros if there are none.

    It is not yet divided by a number of rows: :func:`parentage.kernels.missing.bound_of`.
    """
    part = rows_with(table, [*context, *(int(v) for v in encoded.order)])
    if not part.n_rows:
        return np.zeros(encoded.n_variables, np.int64)
    given = part.to_codes()
    codes = np.where(given == MISSING, np.uint16(0), given)  # in constant columns
    return residuals(encoded, replace(part, codes=codes), context)
