"""Equal rows counted once: a table of its distinct rows, with how often each occurs.

Between the table and its encoding. Every count is a sum over rows, so a row that occurs w times may
be counted once with the weight w; all counts, and with them G, the scores and the rules, are the
same whole numbers. The rows are looked at block by block (:mod:`parentage.kernels.merging`): what
that needs besides the table is proportional to the distinct rows.

It is done where it pays: when more than ``WORTH`` of the rows are distinct, merging ends and the
rows are counted as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from parentage.data.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

WORTH = 0.75
"""The share of distinct rows above which nothing is merged."""

BLOCK = 1 << 16
"""Rows that are looked at together."""

Repeats = npt.NDArray[np.uint32]

_Kind = TypeVar("_Kind", bound=np.generic)

_merged: WeakKeyDictionary[Table, MergedTable | None] = WeakKeyDictionary()
"""Tables that were looked at already, as they are encoded more than once; None: not worth it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class MergedTable(Table):
    """Distinct rows in the order of first sight.

    Parameters
    ----------
    repeats
        ``uint32[column of codes]``: how often each occurs; together N.
    """

    repeats: Repeats

    @property
    def n_rows(self) -> int:
        """N, all rows."""
        return int(self.repeats.sum(dtype=np.int64))


def merged(table: Table) -> Table:
    """Return the distinct rows of a table without holes, or the table itself where that pays more.

    >>> table = Table.from_columns({"a": "xyxxy", "b": "uvuuu"})
    >>> merged(table).codes.tolist(), repeats_of(merged(table)).tolist()
    ([[0, 1, 1], [0, 1, 0]], [3, 1, 1])
    """
    if isinstance(table, MergedTable) or table.has_holes:
        return table
    if table not in _merged:
        _merged[table] = _merge(table)
    return _merged[table] or table


def repeats_of(table: Table) -> Repeats:
    """Return how often each row of the codes occurs; empty: once, each."""
    return table.repeats if isinstance(table, MergedTable) else np.empty(0, np.uint32)


def _merge(table: Table) -> MergedTable | None:
    from parentage.kernels.merging import enter_again, merge_block

    word, shift = _places(table)
    keys: npt.NDArray[np.uint64] = np.empty((0, int(word[-1]) + 1), np.uint64)
    repeats: Repeats = np.empty(0, np.uint32)
    slots, found = np.empty(0, np.int32), 0
    for codes in blocks_of(table):
        room = found + codes.shape[1]
        if len(keys) < room:
            keys, repeats = _longer(keys, 2 * room), _longer(repeats, 2 * room)
            slots = np.full(1 << int(4 * room).bit_length(), -1, np.int32)
            enter_again(keys, np.int64(found), slots)
        found = int(merge_block(codes, word, shift, keys, repeats, slots, np.int64(found)))
        if found > WORTH * table.n_rows:
            return None
    states = zip(word, shift, table.cardinalities, strict=True)
    distinct = np.array(
        [(keys[:found, w] >> np.uint64(s)) & np.uint64((1 << _bits(r)) - 1) for w, s, r in states],
        np.uint16,
    )
    return MergedTable(
        table.names, table.states, distinct, table.cuts, repeats=repeats[:found].copy()
    )


def blocks_of(table: Table) -> Iterator[npt.NDArray[np.uint16]]:
    """Yield the codes of some rows after the others."""
    for first in range(0, table.codes.shape[1], BLOCK):
        yield np.ascontiguousarray(table.codes[:, first : first + BLOCK], np.uint16)


def _places(table: Table) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the word and the bit at which each variable begins; none lies in two words."""
    word, shift = list[int](), list[int]()
    at = 0
    for states in table.cardinalities:
        bits = _bits(states)
        if at % 64 + bits > 64:
            at += 64 - at % 64
        word.append(at // 64)
        shift.append(at % 64)
        at += bits
    return np.array(word, np.int64), np.array(shift, np.int64)


def _bits(states: int | np.integer) -> int:
    """Return how many bits tell so many states apart; at least one."""
    return max(1, (int(states) - 1).bit_length())


def _longer(array: npt.NDArray[_Kind], room: int) -> npt.NDArray[_Kind]:
    longer = np.empty((room, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer
