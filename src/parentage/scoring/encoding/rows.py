r"""Rows with multiplicities: equal rows counted once, and expected counts as whole numbers.

Between the table and its encoding. Every count is a sum over rows, so a row that occurs w times may
be counted once with the weight w; all counts, and with them G, the scores and the rules, are the
same whole numbers. The rows are looked at block by block (:mod:`parentage.kernels.labels`): what
that needs besides the table is proportional to the distinct rows.

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

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from parentage.data.table import PackedCodes, PackedColumn, Table, narrowed
from parentage.scoring.tuning import TUNING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from parentage.data.table import Codes, Repeats


_Kind = TypeVar("_Kind", bound=np.generic)

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
    ([[0, 1, 1], [0, 1, 0]], [3, 1, 1])
    """
    if table.unit_bits or table.has_holes:  # completed rows are distinct
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
    codes = layout_of(table.cardinalities).unpack(keys.T)
    distinct: Codes | PackedCodes = codes
    if table.packed is not None:
        distinct = PackedCodes(tuple(map(PackedColumn.of, map(narrowed, codes))), len(keys))
    return Table(table.names, table.states, distinct, table.cuts, repeats=repeats.copy())


def _distinct(table: Table, most: float, sieve: int = 0) -> tuple[npt.NDArray[np.uint64], Repeats]:
    """Return the distinct rows, or more than ``most`` of them, as words, and how often each occurs.

    With a ``sieve``, those of a sample of one row in 2^sieve.
    """
    from parentage.kernels.labels import enter_again, merge_block

    layout = layout_of(table.cardinalities)
    keys: npt.NDArray[np.uint64] = np.empty((0, layout.n_words), np.uint64)
    repeats: Repeats = np.empty(0, np.uint32)
    slots, found = np.empty(0, np.int32), 0
    for first, codes in enumerate(blocks_of(table)):
        room = found + codes.shape[1]
        if len(keys) < room:
            keys, repeats = _longer(keys, 2 * room), _longer(repeats, 2 * room)
            slots = np.full(1 << int(4 * room).bit_length(), -1, np.int32)
            enter_again(keys, np.int64(found), slots)
        found = int(
            merge_block(
                codes,
                table.repeats[first * TUNING.block_rows : (first + 1) * TUNING.block_rows],
                layout.word,
                layout.shift,
                keys,
                repeats,
                slots,
                np.int64(found),
                np.int64(sieve),
            )
        )
        if found > most:
            break
    return keys[:found], repeats[:found]


def blocks_of(table: Table) -> Iterator[npt.NDArray[np.uint16]]:
    """Yield the codes of some rows after the others."""
    for first in range(0, table.stored_rows, TUNING.block_rows):
        yield np.ascontiguousarray(table.rows(first, first + TUNING.block_rows), np.uint16)


def words_of(
    table: Table, variables: Sequence[int] | npt.NDArray[np.int64]
) -> tuple[Layout, npt.NDArray[np.uint64]]:
    """Pack some variables into ``uint64[word, row]``, the first of them in the lowest digits."""
    layout = layout_of(table.cardinalities[variables])
    words, first = np.empty((layout.n_words, table.stored_rows), np.uint64), 0
    for block in blocks_of(table):
        last = first + block.shape[1]
        words[:, first:last] = layout.pack(block[variables], range(len(variables)))
        first = last
    return layout, words


def _longer(array: npt.NDArray[_Kind], room: int) -> npt.NDArray[_Kind]:
    longer = np.empty((room, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightedTable(Table):
    """Distinct rows without holes, whose ``repeats`` are in units of 2^−bits of a row.

    Parameters
    ----------
    bits
        b.
    """

    bits: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if int(self.repeats.sum(dtype=np.int64)) % (1 << self.bits):
            raise ValueError("the weights do not sum to whole rows")

    @property
    def unit_bits(self) -> int:
        """Return b."""
        return self.bits

    @property
    def n_rows(self) -> int:
        """N, the rows that the weights sum to."""
        return int(self.repeats.sum(dtype=np.int64)) >> self.bits

    @property
    def row_weights(self) -> npt.NDArray[np.float64]:
        """The weights in rows."""
        return np.ldexp(self.repeats.astype(np.float64), -self.bits)
