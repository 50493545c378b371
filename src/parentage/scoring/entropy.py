"""G by set, in exact integers: the stage between the table and the rules.

G(S) = Σ n_c ln n_c over the joint states c of the variables in S; every entropy, likelihood and
rule of this package is a difference of two of them: N·H(A|B) = G(B) − G(A ∪ B). One G per *set*
serves every child in it.

**Fixed point.** f(c) = c ln c is rounded once to an integer multiple of 2^−bits and added up in
int64, so that equal partitions have equal G and no result depends on the order of additions, the
threads or the machine. One function of c, one tolerance: :class:`FixedPoint`.

**Encoding.** :func:`encode` puts the variables in the order in which counting is fastest, the rows
in lexicographic order, and packs the states into bits for :mod:`parentage.kernels.counting`. The
order: fewest states first, then falling entropy, when only live sets are counted (large sets of
variables with few states live longest, and so share stems); the other way round when all sets
are (stems of many states leave small groups of rows). Constant columns are left out: the rules
need at least two states, and a constant has no parents and is never a parent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from parentage.data.table import class_sizes
from parentage.errors import ResourceError, Way
from parentage.scoring.merging import distinct_rows, merged, words_of
from parentage.scoring.scores import BySums, parse_score
from parentage.scoring.scores.counts import HOLE_WAYS
from parentage.work.memory import require_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from parentage.data.table import Repeats, Table
    from parentage.scoring.scores.sums import Longs

Int64s = npt.NDArray[np.int64]

FINE = 1e-7
"""A tolerance of so many nats is fine; a wider one is worth a better grid."""

_AT_A_TIME = 1 << 20

MOST_BITS = 48
FEWEST_BITS = 16
MOST_PARAMETERS = 2**28  # so that the kernels' products of two capped numbers stay below 2^63


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """Numbers as integer multiples of 1/scale, and how far rounding can reach.

    Every f(c) is off by at most half a unit (plus what the logarithm itself is off), a set has at
    most N/2 joint states with two rows or more, and a rule compares at most six G and two
    penalties of at most ``cap`` parameters, each of which may be half a unit off: that sum is
    ``tolerance``. Scores closer than that are equal; a rule that is not beyond its threshold by
    more than that does not fire.

    With many rows that bound is too wide to be called rounding. Then the grid is made so that the
    penalty of one parameter is a whole number of units, without error, and no set is taken to
    have more joint states than the table has distinct rows.
    """

    scale: float
    """Units in one nat."""
    f: Int64s
    """``f[c]`` = c ln c for c = 0 … N."""
    unit: int
    """Penalty of one free parameter."""
    cap: int
    """No family with this many free parameters can be kept: more need not be told apart."""
    tolerance: int

    @classmethod
    def fit(
        cls,
        n_rows: int,
        w: float,
        most_states: int,
        width: float = 0.0,
        distinct_rows: Callable[[], int] | None = None,
    ) -> FixedPoint:
        """Choose the finest grid on which sums stay below 2^61.

        ``distinct_rows`` counts the distinct rows of the table; asked when there are many rows.

        With ``cap`` = (N ln N + width)/w + r parameters, a family is worse than the empty set by
        more than the width whatever its likelihood.
        """
        everything = n_rows * math.log(max(n_rows, 2))
        cap = math.ceil((everything + width) / w) + most_states
        largest = 2 * everything + width + w * cap
        bits = min(MOST_BITS, 60 - math.ceil(math.log2(largest)))
        if bits < FEWEST_BITS or cap > MOST_PARAMETERS:
            raise ResourceError(_too_large(n_rows, w, most_states, width, everything))
        logarithm = 8 * everything * 2.0**bits * float(np.finfo(np.longdouble).eps)
        tolerance = math.ceil(1.5 * n_rows + cap + logarithm)
        if distinct_rows is None or tolerance <= FINE * 2.0**bits:
            f = rounded_c_ln_c(n_rows, 2.0**bits)
            return cls(2.0**bits, f, round(w * 2.0**bits), cap, tolerance)
        unit = math.floor(w * 2.0**bits)
        scale = unit / w
        f = rounded_c_ln_c(n_rows, unit, w)
        states = min(n_rows // 2, distinct_rows())
        own = 4 * everything * scale * float(np.finfo(np.float64).eps)  # w itself is rounded
        return cls(scale, f, unit, cap, math.ceil(3 * states + 2 + logarithm + own))

    @classmethod
    def for_weights(
        cls, table: Table, w: float, most_states: int, width: float = 0.0
    ) -> FixedPoint:
        """Choose the grid for rows with weights: f(c) = 2^−b c ln c for c units of 2^−b of a row.

        A set has at most as many joint states as there are distinct rows.
        """
        n_rows, unit = table.n_rows, 1 << table.unit_bits
        everything = n_rows * math.log(max(n_rows * unit, most_states, 2))
        cap = math.ceil((everything + width) / w) + most_states
        largest = 2 * everything + width + w * cap
        bits = min(MOST_BITS, 60 - math.ceil(math.log2(largest)))
        if bits < FEWEST_BITS or cap > MOST_PARAMETERS:
            raise ResourceError(
                f"{n_rows} rows with weights, or a penalty of {w:.3g} nats a parameter, are too "
                "much for 64-bit arithmetic; use fewer rows"
            )
        f = rounded_c_ln_c(n_rows * unit, 2.0 ** (bits - table.unit_bits))
        logarithm = 8 * everything * 2.0**bits * float(np.finfo(np.longdouble).eps)
        tolerance = math.ceil(3 * table.stored_rows + cap + logarithm)
        return cls(2.0**bits, f, round(w * 2.0**bits), cap, tolerance)

    @classmethod
    def for_sums(cls, n_rows: int, largest: float, leftover: Longs) -> FixedPoint:
        """Choose the grid for a score whose sums are at most ``largest``; f is ``leftover``.

        A comparison has at most six sums of N/2 rounded terms each and N rounded logarithms of
        arities; the terms themselves were added up in extended precision.
        """
        bits = min(MOST_BITS, 60 - math.ceil(math.log2(2 * largest)))
        if bits < FEWEST_BITS:
            raise ResourceError(
                f"{n_rows} rows and sets of so many joint states are too large for 64-bit "
                "arithmetic; use fewer rows or a smaller limit on parents"
            )
        f = np.rint(leftover * np.longdouble(2.0**bits)).astype(np.int64)
        summing = 8 * n_rows * largest * 2.0**bits * float(np.finfo(np.longdouble).eps)
        return cls(2.0**bits, f, 0, 0, math.ceil(2 * n_rows + 16 + summing))

    def to_fixed(self, x: float) -> int:
        """Round a number to the grid."""
        return round(x * self.scale)

    def to_float(self, x: int | Int64s) -> npt.NDArray[np.float64]:
        """Return fixed-point values as floats."""
        return np.asarray(x, np.float64) / self.scale


def rounded_c_ln_c(n_rows: int, times: float, over: float = 1.0) -> Int64s:
    """Return c ln c · times / over for c = 0 … N, rounded, some at a time."""
    _require_numbers(n_rows, 8)
    f = np.empty(n_rows + 1, np.int64)
    for first in range(0, n_rows + 1, _AT_A_TIME):
        c = np.arange(first, min(first + _AT_A_TIME, n_rows + 1), dtype=np.longdouble)
        scaled = c * np.log(np.maximum(c, 1)) * np.longdouble(times) / np.longdouble(over)
        f[first : first + len(c)] = np.rint(scaled)
    return f


def _require_numbers(n_rows: int, each: int) -> None:
    """Refuse rows, of which few may differ, whose counts 0 … N have no room for their f."""
    require_memory(each * (n_rows + 1), f"counting up to {n_rows:,} rows", "use fewer rows")


def _too_large(n_rows: int, w: float, most_states: int, width: float, everything: float) -> str:
    """Say what makes the numbers too large: the width, the penalties, or the rows."""
    if width > max(everything, w * most_states):
        return f"a width of {width:.3g} nats is too large for 64-bit arithmetic; use a smaller one"
    if w < 0.5 and everything / w > MOST_PARAMETERS / 2:
        return f"a penalty of {w:.3g} nats a parameter is too small for 64-bit arithmetic"
    if w * most_states > everything:
        return (
            f"a penalty of {w:.3g} nats a parameter and up to {most_states} states are too large "
            "for 64-bit arithmetic; merge states, drop the column, or require fewer parents"
        )
    return f"{n_rows} rows are too many for 64-bit arithmetic; use fewer rows"


ROWS_AT_ONCE = 16_384
"""Rows whose states are packed into bits together."""

CODES_UP_TO = 1 << 22
"""A table of more rows is encoded as bits only, without codes."""


@dataclass(frozen=True, eq=False)
class Encoded:
    """A table ready for counting; variables and rows in the order that suits the kernels.

    ``order[i]`` is the table's index of variable ``i`` here.
    """

    order: Int64s
    arity: Int64s
    codes: npt.NDArray[np.uint16]
    """``[variable, row]``; of very many rows, ``[variable, 0]``."""
    offset: Int64s
    row_bits: npt.NDArray[np.uint64]
    first_rows: npt.NDArray[np.uint32]
    """The rows to count, group after group; groups of one row are left out."""
    first_starts: npt.NDArray[np.uint32]
    """Where the groups start: one group normally, several if the search is within a context."""
    grid: FixedPoint
    single: Int64s
    """G of every single variable (within the context)."""
    empty: int
    """G of the empty set (of the context)."""
    context_states: int = 1
    """Joint states of the context."""
    repeats: Repeats = field(default_factory=lambda: np.empty(0, np.uint32))
    """How often each row occurs; empty: once, each."""

    @cached_property
    def total_rows(self) -> int:
        """N, equal rows counted as often as they occur."""
        repeated = int(self.repeats.sum(dtype=np.int64))
        return repeated if len(self.repeats) else self.distinct_rows

    @property
    def distinct_rows(self) -> int:
        """Number of rows that are counted, equal ones once where they were merged."""
        return len(self.row_bits)

    def column(self, x: int) -> npt.NDArray[np.uint16]:
        """Return the codes of a variable."""
        column: npt.NDArray[np.uint16] = self.codes[x]
        if len(column):
            return column
        column = np.empty(self.distinct_rows, np.uint16)
        first, last = int(self.offset[x]), int(self.offset[x + 1])
        words = slice(first // 64, -(-last // 64))
        for at in range(0, len(column), ROWS_AT_ONCE):
            part = np.ascontiguousarray(self.row_bits[at : at + ROWS_AT_ONCE, words]).view(np.uint8)
            states = np.unpackbits(part, axis=1, bitorder="little")
            own = states[:, first - 64 * words.start : last - 64 * words.start]
            column[at : at + ROWS_AT_ONCE] = own.argmax(axis=1)
        return column

    @property
    def n_variables(self) -> int:
        """Number of variables that are not constant."""
        return len(self.order)

    @property
    def entropies(self) -> Int64s:
        """N·H of every variable (within the context), in fixed point."""
        return self.empty - self.single

    def count(
        self,
        members: npt.NDArray[np.uint16],
        f: Int64s | None = None,
        row: npt.NDArray[np.int32] | None = None,
        excess: Int64s | None = None,
    ) -> Int64s:
        """Return G of every set of two or more members (in lexicographic order).

        With ``f[row, count]`` it is the sum of that instead of c ln c, for set i of ``f[row[i]]``;
        ``excess``, if given, is filled (:mod:`parentage.kernels.counting`).
        """
        from parentage.kernels.counting import Block, count_sets

        block = Block(
            members,
            np.zeros(len(members), np.int32) if row is None else row,
            np.empty(len(members), np.int64),
            np.empty(0, np.int64) if excess is None else excess,
        )
        count_sets(
            block, self.first_rows, self.first_starts, self.arity, self.offset, self.codes,
            self.row_bits, self.repeats, self.grid.f[None, :] if f is None else f,
        )  # fmt: skip
        return block.G

    @property
    def w(self) -> float:
        """Penalty of one free parameter in nats (within the context)."""
        return self.grid.unit / self.grid.scale


def encode(
    table: Table,
    score: str,
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
    widest = int(table.cardinalities[kept].max(initial=2))
    by = parse_score(score)
    labels = Labels.of(table).join(table, context)

    def distinct() -> int:
        known = distinct_rows(table)
        return known if known >= table.n_rows // 2 else labels.join(table, kept).count

    if isinstance(by, BySums):
        largest_first = sorted((int(r) for r in table.cardinalities[kept]), reverse=True)
        joint = largest_first[: 1 + (len(kept) if most_parents is None else most_parents)]
        log_q = math.log(times) + math.fsum(math.log(r) for r in joint)
        largest = by.largest(table.n_rows, log_q, widest) + width
        _require_numbers(table.n_rows, 48)
        grid = FixedPoint.for_sums(table.n_rows, largest, by.leftover(table.n_rows))
    else:
        w = by.weight(table) * times
        if table.unit_bits:
            grid = FixedPoint.for_weights(table, w, widest, width)
        else:
            grid = FixedPoint.fit(table.n_rows, w, widest, width, distinct)
    single = np.array([labels.G_with(table, v, grid.f) for v in kept], np.int64)
    by_speed = np.lexsort((single, table.cardinalities[kept]))
    if not live_only:
        by_speed = by_speed[::-1]
    order = np.array(kept, np.int64)[by_speed]
    _require_room(table, order)
    rows, codes, row_bits = _in_order(table, order)
    repeats = table.repeats[rows] if len(table.repeats) else table.repeats
    return Encoded(
        order,
        np.ascontiguousarray(table.cardinalities[order]),
        codes,
        np.concatenate([[0], np.cumsum(table.cardinalities[order])]),
        row_bits,
        *_groups(labels, rows, repeats),
        grid,
        single[by_speed],
        labels.G(grid.f),
        times,
        repeats,
    )


def _in_order(
    table: Table, order: Int64s
) -> tuple[Int64s, npt.NDArray[np.uint16], npt.NDArray[np.uint64]]:
    """Return the order of the rows, and in that order codes (unless there are too many) and bits.

    Rows are sorted as numbers of one or more words, the first variable in the highest digits.
    """
    arity, n_rows = table.cardinalities[order], table.stored_rows
    layout, words = words_of(table, order[::-1])
    heavy_first = [-np.frexp(table.repeats)[1]] if len(table.repeats) else []
    rows = np.lexsort((*words, *heavy_first))
    codes = np.empty((len(order), n_rows if n_rows <= CODES_UP_TO else 0), np.uint16)
    row_bits = np.empty((n_rows, -(-int(arity.sum()) // 64)), np.uint64)
    for first in range(0, n_rows, ROWS_AT_ONCE):
        part = slice(first, first + ROWS_AT_ONCE)
        block = layout.unpack(words[:, rows[part]])[::-1]
        row_bits[part] = pack_states(block, arity)
        if codes.shape[1]:
            codes[:, part] = block
    return rows, codes, row_bits


@dataclass(frozen=True, eq=False)
class Labels:
    """The partition of the rows by some variables: a number below ``count`` for every row."""

    of_row: Int64s
    count: int
    repeats: Repeats | Int64s = field(default_factory=lambda: np.empty(0, np.uint32))
    """How often each row occurs; empty: once, each."""

    @classmethod
    def of(cls, table: Table) -> Labels:
        """All rows in one class: the partition by no variable."""
        table.refuse_holes("this score", *HOLE_WAYS)
        return cls(np.zeros(table.stored_rows, np.int64), 1, table.repeats)

    def join(self, table: Table, variables: Iterable[int]) -> Labels:
        """Refine by more variables."""
        from parentage.kernels.labels import join_columns

        chosen = np.array(list(variables), np.int64)
        if not len(chosen):
            return self
        labels, count = self.of_row, np.int64(self.count)
        if table.packed is None:
            codes = table.to_codes()
            labels, count = join_columns(labels, count, codes, chosen, table.cardinalities)
            return Labels(labels, int(count), self.repeats)
        for v in chosen:
            column = table.column(v).astype(np.uint16)[None, :]
            states = table.cardinalities[v : v + 1]
            labels, count = join_columns(labels, count, column, np.zeros(1, np.int64), states)
        return Labels(labels, int(count), self.repeats)

    def G_with(self, table: Table, v: int, f: Int64s) -> int:
        """Return G of the partition that one more variable refines."""
        states, rows = int(table.cardinalities[v]), len(self.of_row)
        if self.count * states > 4 * rows:
            return self.join(table, [v]).G(f)
        sizes = np.zeros(self.count * states, np.int64)
        for first in range(0, rows, _AT_A_TIME):
            part = slice(first, first + _AT_A_TIME)
            both = self.of_row[part] * states + table.column(v, first, first + _AT_A_TIME)
            sizes += class_sizes(both, self.repeats[part], len(sizes))
        return int(f[sizes].sum())

    def G(self, f: Int64s) -> int:
        """Σ f(rows of a class) over the classes."""
        return int(f[class_sizes(self.of_row, self.repeats, self.count)].sum())


def _groups(
    partition: Labels, in_order: Int64s, repeats: Repeats
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Rows by label, labels with a single row left out, and where each label's rows start."""
    if partition.count == 1 and len(in_order) > 1:
        n_rows = len(in_order)
        return np.arange(n_rows, dtype=np.uint32), np.array([0, n_rows], np.uint32)
    labels = partition.of_row[in_order]
    rows, sizes = np.bincount(labels), class_sizes(labels, repeats)
    order = np.argsort(labels, kind="stable")
    several = sizes[labels[order]] >= 2
    starts = np.concatenate([[0], np.cumsum(rows[sizes >= 2])])
    return order[several].astype(np.uint32), starts.astype(np.uint32)


def _require_room(table: Table, order: Int64s) -> None:
    """Refuse a table whose states, a bit each in every row, do not fit in memory."""
    states = table.cardinalities[order]
    widest = int(order[states.argmax()])
    require_memory(
        table.stored_rows * -(-int(states.sum()) // 64) * 8,
        f"a table of {table.n_rows} rows and {int(states.sum())} states in all",
        Way("drop", [table.names[widest]], f"({int(states.max())} states)"),
    )


def pack_states(codes: npt.NDArray[np.uint16], arity: Int64s) -> npt.NDArray[np.uint64]:
    """One bit per (variable, state): ``row_bits[row, word]``."""
    n_rows = codes.shape[1]
    offset = np.concatenate([[0], np.cumsum(arity)])
    n_words = -(-int(offset[-1]) // 64)
    words = np.empty((n_rows, n_words), np.uint64)
    for first in range(0, n_rows, ROWS_AT_ONCE):
        part = codes[:, first : first + ROWS_AT_ONCE]
        states = np.zeros((part.shape[1], 64 * n_words), np.bool_)
        states[np.arange(part.shape[1]), offset[:-1, None] + part] = True
        packed = np.packbits(states, axis=1, bitorder="little")
        words[first : first + ROWS_AT_ONCE] = packed.view("<u8")
    return words
