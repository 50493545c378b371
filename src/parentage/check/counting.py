"""Joint counts of sets of columns, in plain NumPy: F(S) and the joint states that occur.

Sets of one size are taken in lexicographic order. All that share their first columns share the
parts of the rows that these make; rows that are alone in theirs are dropped, because f(1) = 0 for
every score. What is left is one ``bincount`` for many sets.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parentage.check.fixed import Measure
    from parentage.check.whole import Ints

AT_ONCE = 1 << 20
"""Joint states that are counted at once."""

SEVERAL = 1 << 22
"""Rows of all sets together that are worth other processes."""

Sums = Callable[["Ints"], tuple["Ints", "Ints"]]
"""From sets of one size, ``[set, member]``, to their F and the joint states that occur."""


class Part(NamedTuple):
    """Rows in parts of two rows or more: their numbers, the part of each, how many parts."""

    rows: Ints
    part: Ints
    parts: int
    alone: int
    """Joint states of one row, which were dropped."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The distinct rows of a table.

    Parameters
    ----------
    codes
        ``[column, row]``.
    repeats
        How often each row occurs; empty: once, each.
    arity
        Declared states of the columns.
    measure
        What is added up.
    """

    codes: npt.NDArray[np.uint16]
    repeats: Ints
    arity: tuple[int, ...]
    measure: Measure

    def sums(self, sets: Ints) -> tuple[Ints, Ints]:
        """Return F(S), rounded down, and the joint states that occur, of sets of one size.

        ``sets`` is ``[set, member]``, members rising, sets in lexicographic order.
        """
        count, size = sets.shape
        found, cells = np.zeros(count, np.int64), np.zeros(count, np.int64)
        if not size:
            total = self.measure.values(1, self.measure.n_rows)[self.measure.n_rows]
            return found + total, cells + 1
        change = np.flatnonzero((sets[1:, :-1] != sets[:-1, :-1]).any(axis=1)) + 1
        firsts = np.concatenate([[0], change, [count]])
        stack, path = [self._everything()], list[int]()
        for first, last in zip(firsts[:-1].tolist(), firsts[1:].tolist(), strict=True):
            prefix = sets[first, :-1].tolist()
            same = 0
            while same < len(path) and path[same] == prefix[same]:
                same += 1
            del stack[same + 1 :]
            for v in prefix[same:]:
                stack.append(self._divided(stack[-1], v))
            path, part = prefix, slice(first, last)
            found[part], cells[part] = self._counted(
                stack[-1], math.prod(self.arity[v] for v in prefix), sets[part, -1]
            )
        return found, cells

    def _everything(self) -> Part:
        n = self.codes.shape[1]
        return Part(np.arange(n), np.zeros(n, np.int64), 1, 0)

    def _counts(self, labels: Ints, rows: Ints, least: int) -> Ints:
        weights = self.repeats[rows] if len(self.repeats) else None
        return np.bincount(labels, weights, minlength=least).astype(np.int64, copy=False)

    def _divided(self, part: Part, v: int) -> Part:
        """Divide parts by one more column."""
        r = self.arity[v]
        label = part.part * r + self.codes[v, part.rows]
        counts = self._counts(label, part.rows, part.parts * r)
        stays = counts > 1
        kept = stays[label]
        number = np.cumsum(stays) - 1
        return Part(
            part.rows[kept],
            number[label[kept]],
            int(np.count_nonzero(stays)),
            part.alone + int(np.count_nonzero(counts == 1)),
        )

    def _counted(self, part: Part, states: int, last: Ints) -> tuple[Ints, Ints]:
        """Divide parts by each of some columns, and add up; ``states`` are theirs so far."""
        found, cells = np.zeros(len(last), np.int64), np.full(len(last), part.alone)
        arities = np.array([self.arity[v] for v in last.tolist()])
        for r in np.unique(arities).tolist():
            own, width = np.flatnonzero(arities == r), max(1, part.parts * r)
            step = max(1, AT_ONCE // max(width, len(part.rows)))
            for at in range(0, len(own), step):
                some = own[at : at + step]
                label = part.part * r + self.codes[last[some]][:, part.rows]
                label += (np.arange(len(some)) * width)[:, None]
                rows = np.broadcast_to(part.rows, label.shape).ravel()
                counts = self._counts(label.ravel(), rows, len(some) * width)
                values = self.measure.values(states * r, int(counts.max(initial=0)))
                found[some] = values[counts].reshape(len(some), width).sum(axis=1)
                cells[some] += np.count_nonzero(counts.reshape(len(some), width), axis=1)
        return found, cells


@contextmanager
def counting(rows: Rows, threads: int) -> Iterator[Sums]:
    """Give what counts sets: :meth:`Rows.sums`, for many sets in as many processes."""
    if threads <= 1:
        yield rows.sums
        return
    with ProcessPoolExecutor(threads, get_context("spawn"), _take, (rows,)) as pool:

        def sums(sets: Ints) -> tuple[Ints, Ints]:
            if sets.shape[0] * rows.codes.shape[1] < SEVERAL:
                return rows.sums(sets)
            parts = list(pool.map(_sums, np.array_split(sets, 4 * threads)))
            return np.concatenate([f for f, _ in parts]), np.concatenate([c for _, c in parts])

        yield sums


_taken: list[Rows] = []
"""In a process that counts: the rows."""


def _take(rows: Rows) -> None:
    _taken[:] = [rows]


def _sums(sets: Ints) -> tuple[Ints, Ints]:
    return _taken[0].sums(sets)
