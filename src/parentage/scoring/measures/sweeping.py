"""Sweeps: one set with every variable at once, as sums over their joint states.

For measures that are sums of a function of joint counts. All y are counted together with a set S as
the sets (S, a column of one state, y) of :mod:`parentage.kernels.counting`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from parentage.scoring.entropy import Encoded
    from parentage.scoring.fixed_point import Int64s
    from parentage.scoring.measures.measure import Members

    Words = npt.NDArray[np.uint64]


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


class Swept:
    """An encoded table with a column of one state in front, for sweeps over all variables."""

    def __init__(self, encoded: Encoded) -> None:
        self.encoded = encoded
        self._arity = np.concatenate([[1], encoded.arity])
        self._codes = np.vstack([np.zeros_like(encoded.codes[:1]), encoded.codes])
        self._offset = np.concatenate([[0], np.cumsum(self._arity)])
        self._row_bits = with_a_bit_in_front(encoded.row_bits, int(self._offset[-1]))

    def sums(self, sets: Members, f: Int64s, row: npt.NDArray[np.int32] | None = None) -> Int64s:
        """Return ``[set, y]``: Σ f over the joint states of S ∪ y, of ``f[row[set, y]]``."""
        return self._sums(sets, np.arange(1, self.encoded.n_variables + 1), f, row)

    def alone(self, one: Members, f: Int64s) -> int:
        """Return Σ f over the joint states of one set, ``[1, size]``."""
        return int(self._sums(one, one[0, -1:] + 1, f[None, :])[0, 0])

    def _sums(
        self,
        sets: Members,
        others: npt.NDArray[np.integer],
        f: Int64s,
        row: npt.NDArray[np.int32] | None = None,
    ) -> Int64s:
        from parentage.kernels.counting import Block, count_sets

        (count, size), n = sets.shape, len(others)
        members = np.empty((count, n, size + 2), np.uint16)
        members[:, :, :size] = sets[:, None, :] + 1
        members[:, :, size] = 0  # the column of one state: in front, so that all y are behind it
        members[:, :, size + 1] = others
        block = Block(
            members.reshape(count * n, size + 2),
            np.zeros(count * n, np.int32) if row is None else row.reshape(-1),
            np.empty(count * n, np.int64),
            np.empty(0, np.int64),
        )
        count_sets(
            block, self.encoded.first_rows, self.encoded.first_starts, self._arity, self._offset,
            self._codes, self._row_bits, self.encoded.repeats, f,
        )  # fmt: skip
        return block.G.reshape(count, n)
