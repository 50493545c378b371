r"""What nothing can explain: h of every variable, N·H(V | all others), exactly.

After encoding; rules compare with it. h = G(all \\ V) − G(all), n + 1 sets counted: the variables
are halved, one half is joined and the other gone into, so that n log n joins are enough. Of very
many rows the partition is found by sorting, and a row that is alone in its class is left out from
there on, as no further variable changes what it adds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from parentage.data.table import MISSING
from parentage.scoring.encoding.encode import Labels, rows_with
from parentage.scoring.encoding.rows import merged, words_of
from parentage.scoring.tuning import TUNING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from parentage.arrays import Ints
    from parentage.data.table import Table
    from parentage.scoring.encoding.encode import Encoding
    from parentage.scoring.encoding.rows import Layout

_Part = TypeVar("_Part")


def residuals(encoded: Encoding, table: Table, context: Sequence[int] = ()) -> Ints:
    """Return h of every variable, in fixed point."""
    table, f = merged(table), encoded.grid.f
    order = [int(v) for v in encoded.order]
    if table.stored_rows > TUNING.many_rows:
        rows = _Rows.of(table, [*context, *order], f)
        numbers = range(len(context), len(context) + len(order))
        rows = rows.joined(range(len(context)))
        everything = rows.joined(numbers).G()
        by_number = dict(leave_one_out(rows, list(numbers), _Rows.joined, _Rows.G))
        without = {order[i - len(context)]: G for i, G in by_number.items()}
    else:
        start = Labels.of(table).join(table, context)
        everything = start.join(table, order).G(f)
        parts = leave_one_out(start, order, lambda p, of: p.join(table, of), lambda p: p.G(f))
        without = dict(parts)
    return np.array([without[v] - everything for v in order], np.int64)


def leave_one_out(
    part: _Part,
    variables: list[int],
    join: Callable[[_Part, list[int]], _Part],
    value: Callable[[_Part], int],
) -> Iterator[tuple[int, int]]:
    """Yield (V, G of all the variables but V): ``join`` refines a partition, ``value`` is its G.

    No more than log n partitions are in memory at a time.
    """
    if len(variables) == 1:
        yield variables[0], value(part)
        return
    half = len(variables) // 2
    left, right = variables[:half], variables[half:]
    yield from leave_one_out(join(part, right), left, join, value)
    yield from leave_one_out(join(part, left), right, join, value)


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows that share their class with others, in the partition by the variables of a mask."""

    layout: Layout
    words: npt.NDArray[np.uint64]
    """``[word, row]``."""
    repeats: npt.NDArray[np.uint32]
    """How often each occurs; empty: once, each."""
    mask: npt.NDArray[np.uint64]
    """``[word]``: the digits of the variables joined so far."""
    settled: int
    """G of the rows that are alone."""
    f: Ints

    @classmethod
    def of(cls, table: Table, variables: Sequence[int], f: Ints) -> _Rows:
        """All rows in one class."""
        layout, words = words_of(table, variables)
        return cls(layout, words, table.repeats, np.zeros(len(words), np.uint64), 0, f)

    def joined(self, variables: Sequence[int]) -> _Rows:
        """Refine the partition, and leave out the rows that are alone then."""
        if not len(variables):
            return self
        mask = self.mask.copy()
        for v in variables:
            mask[self.layout.word[v]] |= self.layout.ones[v] << np.uint64(self.layout.shift[v])
        order, begins = self._classes(mask)
        ends = np.append(begins[1:], True)
        several = np.sort(order[~(begins & ends)])
        alone = order[begins & ends] if len(self.repeats) else order[:0]
        return _Rows(
            self.layout,
            self.words[:, several],
            self.repeats[several] if len(self.repeats) else self.repeats,
            mask,
            self.settled + self._sum(self.repeats[alone]),
            self.f,
        )

    def G(self) -> int:
        """Σ f(rows of a class) over all classes."""
        if not self.words.shape[1]:
            return self.settled
        order, begins = self._classes(self.mask)
        first = np.flatnonzero(begins)
        if len(self.repeats):
            sizes = np.add.reduceat(self.repeats[order], first, dtype=np.int64)
        else:
            sizes = np.diff(first, append=len(order))
        return self.settled + self._sum(sizes)

    def _classes(self, mask: npt.NDArray[np.uint64]) -> tuple[Ints, npt.NDArray[np.bool_]]:
        """Return an order of the rows, class after class, and where in it a class begins."""
        used = [word & digits for word, digits in zip(self.words, mask, strict=True) if digits]
        order = np.lexsort(used) if used else np.arange(self.words.shape[1])
        begins = np.zeros(len(order), np.bool_)
        begins[:1] = True
        for word in used:
            in_order = word[order]
            begins[1:] |= in_order[1:] != in_order[:-1]
        return order, begins

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
