"""Equal rows counted once: a table of its distinct rows, with how often each occurs.

Between the table and its encoding. Every count is a sum over rows, so a row that occurs w times may
be counted once with the weight w; all counts, and with them G, the scores and the rules, are the
same whole numbers. The rows are looked at block by block (:mod:`parentage.kernels.merging`): what
that needs besides the table is proportional to the distinct rows.

It is done where it pays: when more than ``WORTH`` of the rows are distinct, merging ends and the
rows are counted as they are. Of very many rows a sample tells that beforehand: equal rows are in it
all or none, so the distinct ones among its rows are as many as they would be among all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from parentage.data.packed import PackedCodes, PackedColumn, narrowed
from parentage.data.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parentage.data.table import Codes
    from parentage.kernels.weighted import Layout

WORTH = 0.75
"""The share of distinct rows above which nothing is merged."""

BLOCK = 1 << 16
"""Rows that are looked at together."""

SAMPLED = 1 << 22
"""Of more rows than this a sample is looked at first."""

SIEVE = 6
"""Of 2^6 rows one is in the sample."""

Repeats = npt.NDArray[np.uint32]

_Kind = TypeVar("_Kind", bound=np.generic)

_merged: WeakKeyDictionary[Table, MergedTable | int] = WeakKeyDictionary()
"""Tables that were looked at already, as they are encoded more than once.

A number: not worth it, there are about as many distinct rows as that or more.
"""


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

    @property
    def row_weights(self) -> Repeats:
        """How often each row occurs."""
        return self.repeats


def merged(table: Table) -> Table:
    """Return the distinct rows of a table without holes, or the table itself where that pays more.

    >>> table = Table.from_columns({"a": "xyxxy", "b": "uvuuu"})
    >>> merged(table).to_codes().tolist(), repeats_of(merged(table)).tolist()
    ([[0, 1, 1], [0, 1, 0]], [3, 1, 1])
    """
    if table.row_weights is not None or table.has_holes:
        return table
    if table not in _merged:
        _merged[table] = _merge(table)
    found = _merged[table]
    return table if isinstance(found, int) else found


def distinct_rows(table: Table) -> int:
    """Return how many distinct rows there are; fewer, or about as many, where they were not merged.

    >>> distinct_rows(Table.from_columns({"a": "xyxxy", "b": "uvuuu"}))
    3
    """
    once = merged(table)
    if isinstance(once, MergedTable):
        return once.stored_rows
    found = _merged.get(table, 0)
    return found if isinstance(found, int) else 0


def repeats_of(table: Table) -> Repeats:
    """Return how often each row of the codes occurs; empty: once, each."""
    return table.repeats if isinstance(table, MergedTable) else np.empty(0, np.uint32)


def _merge(table: Table) -> MergedTable | int:
    most = WORTH * table.n_rows
    if table.n_rows > SAMPLED:
        likely = len(_distinct(table, most / (1 << SIEVE), SIEVE)[1]) << SIEVE
        if likely > most:
            return likely
    keys, repeats = _distinct(table, most)
    if len(repeats) > most:
        return len(repeats)
    codes = (
        ((keys[:, w] >> np.uint64(s)) & np.uint64((1 << _bits(r)) - 1)).astype(np.uint16)
        for w, s, r in zip(*_places(table), table.cardinalities, strict=True)
    )
    distinct: Codes | PackedCodes
    if table.packed is None:
        distinct = np.array([*codes])
    else:
        distinct = PackedCodes(tuple(map(PackedColumn.of, map(narrowed, codes))), len(keys))
    return MergedTable(table.names, table.states, distinct, table.cuts, repeats=repeats.copy())


def _distinct(table: Table, most: float, sieve: int = 0) -> tuple[npt.NDArray[np.uint64], Repeats]:
    """Return the distinct rows, or more than ``most`` of them, as words, and how often each occurs.

    With a ``sieve``, those of a sample of one row in 2^sieve.
    """
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
        found = int(
            merge_block(codes, word, shift, keys, repeats, slots, np.int64(found), np.int64(sieve))
        )
        if found > most:
            break
    return keys[:found], repeats[:found]


def blocks_of(table: Table) -> Iterator[npt.NDArray[np.uint16]]:
    """Yield the codes of some rows after the others."""
    for first in range(0, table.stored_rows, BLOCK):
        yield np.ascontiguousarray(table.rows(first, first + BLOCK), np.uint16)


def words_of(
    table: Table, variables: Sequence[int] | npt.NDArray[np.int64]
) -> tuple[Layout, npt.NDArray[np.uint64]]:
    """Pack some variables into ``uint64[word, row]``, the first of them in the lowest digits."""
    from parentage.kernels.weighted import layout_of

    layout = layout_of(table.cardinalities[variables])
    words, first = np.empty((layout.n_words, table.stored_rows), np.uint64), 0
    for block in blocks_of(table):
        last = first + block.shape[1]
        words[:, first:last] = layout.pack(block[variables], range(len(variables)))
        first = last
    return layout, words


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
