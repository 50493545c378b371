"""Counting stems: one set with every variable at once, whatever the score needs of it.

A *stem* is a set S with the vector F(S ∪ y) of every variable y. For likelihoods and scores by sums
F is a sum over joint states, and all y are counted in one sweep, as the sets (S, a column of one
state, y) of :mod:`parentage.kernels.counting`. For tables with holes a family is counted on rows of
its own, so there the vector is of a child and its parents.

A counter counts the stems of one plan: of all variables, or within the context of required parents.
Sets and vectors are in the numbers of all variables; those of the context have a 0.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from parentage.scoring.hole_search import rows_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parentage.scoring.entropy import Encoded, Int64s
    from parentage.scoring.holes import EncodedHoles
    from parentage.scoring.sum_functions import SumFunctions

    Members = npt.NDArray[np.uint16]
    Words = npt.NDArray[np.uint64]

MOST_FUNCTIONS = 2**26
"""Bytes of functions, one per number of joint states, that are kept or used at a time."""

UNSEEN = -(2**61)
"""Likelihood of a family that no row has complete."""


class Counter(ABC):
    """Counts stems of one plan; ``place[i]`` is the number of its variable i among all ``n``."""

    def __init__(self, place: Int64s, n: int) -> None:
        self.place, self.n = place, n
        self._own = np.zeros(n, np.uint16)
        self._own[place] = np.arange(len(place))

    def count(self, stems: Sequence[tuple[int, ...]]) -> list[Int64s]:
        """Count stems of sizes that rise, each with every variable."""
        found: list[Int64s] = []
        for size in sorted({len(stem) for stem in stems}):
            chosen = [stem for stem in stems if len(stem) == size]
            own = self._own[np.array(chosen, np.int64).reshape(len(chosen), size)]
            vectors = np.zeros((len(chosen), self.n), np.int64)
            vectors[:, self.place] = self.count_size(own)
            found.extend(vectors)
        return found

    def alone(self, stem: tuple[int, ...]) -> int:
        """Count one set by itself: what its vector has at its members, of which there are some."""
        return self.count_alone(self._own[np.array([stem], np.int64)])

    @abstractmethod
    def count_size(self, stems: Members) -> Int64s:
        """Return ``[stem, variable]``, in the numbers of the plan."""

    @abstractmethod
    def count_alone(self, stem: Members) -> int:
        """Return F(S) of one stem, ``[1, size]``, in the numbers of the plan."""


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

    def sums(self, stems: Members, f: Int64s, row: npt.NDArray[np.int32] | None = None) -> Int64s:
        """Return ``[stem, y]``: Σ f over the joint states of S ∪ y, of ``f[row[stem, y]]``."""
        return self._sums(stems, np.arange(1, self.encoded.n_variables + 1), f, row)

    def alone(self, stem: Members, f: Int64s) -> int:
        """Return Σ f over the joint states of one set, ``[1, size]``."""
        return int(self._sums(stem, stem[0, -1:] + 1, f[None, :])[0, 0])

    def _sums(
        self,
        stems: Members,
        others: npt.NDArray[np.integer],
        f: Int64s,
        row: npt.NDArray[np.int32] | None = None,
    ) -> Int64s:
        from parentage.kernels.counting import Block, count_sets

        (count, size), n = stems.shape, len(others)
        members = np.empty((count, n, size + 2), np.uint16)
        members[:, :, :size] = stems[:, None, :] + 1
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


class SumCounter(Counter):
    """Vectors of Σ f with one function f: G of penalised likelihoods, m of scores by sums."""

    def __init__(self, swept: Swept, f: Int64s, place: Int64s, n: int) -> None:
        super().__init__(place, n)
        self._swept, self._f = swept, f[None, :]

    def count_size(self, stems: Members) -> Int64s:
        """Sweep once."""
        return self._swept.sums(stems, self._f)

    def count_alone(self, stem: Members) -> int:
        """Count one set."""
        return self._swept.alone(stem, self._f[0])


class ValueCounter(Counter):
    """Vectors of the value of a score by sums, Σ f + ρ, which may depend on the joint states."""

    def __init__(self, swept: Swept, functions: SumFunctions, place: Int64s, n: int) -> None:
        super().__init__(place, n)
        self._swept, self._functions = swept, functions
        self._known: dict[int, Int64s] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave out functions that are made again faster than they are sent."""
        return {**vars(self), "_known": {}}

    def count_size(self, stems: Members) -> Int64s:
        """Sweep, as many stems at a time as functions fit."""
        functions = self._functions
        arity = functions.encoded.arity
        per_stem = 1 if functions.score.one_function else 1 + len(np.unique(arity))
        at_once = max(1, MOST_FUNCTIONS // (8 * functions.longest * per_stem))
        parts = [
            self._count_some(stems[first : first + at_once])
            for first in range(0, len(stems), at_once)
        ]
        return np.concatenate(parts)

    def count_alone(self, stem: Members) -> int:
        """Count one set, with the function of its joint states."""
        functions = self._functions
        q = functions.encoded.context_states * math.prod(functions.encoded.arity[stem[0]].tolist())
        f = self._function(1 if functions.score.one_function else q)
        return self._swept.alone(stem, f) + int(functions.rho([q])[0])

    def _count_some(self, stems: Members) -> Int64s:
        functions = self._functions
        products, row = self._products(stems)
        f = self._function
        if not stems.shape[1]:  # the sweep begins with the column of one state, which has all rows
            f = functions.value_of_any
        if functions.score.one_function:
            found = self._swept.sums(stems, f(1)[None, :])
        else:
            found = self._swept.sums(stems, np.stack([f(q) for q in products]), row)
        found += functions.rho(products)[row]
        return found

    def _products(self, stems: Members) -> tuple[list[int], npt.NDArray[np.int32]]:
        """Return the joint states of all S ∪ y, exact, and ``[stem, y]``: which of them it is."""
        encoded = self._functions.encoded
        arities, kind = np.unique(encoded.arity, return_inverse=True)
        at: dict[int, int] = {}
        row = np.empty((len(stems), encoded.n_variables), np.int32)
        for i, stem in enumerate(stems):
            q = encoded.context_states * math.prod(encoded.arity[stem].tolist())
            rows = [at.setdefault(q * r, len(at)) for r in arities.tolist()]
            row[i] = np.array(rows, np.int32)[kind]
            row[i, stem] = at.setdefault(q, len(at))
        return list(at), row

    def _function(self, q: int) -> Int64s:
        found = self._known.get(q)
        if found is None:
            found = self._functions.value(q)
            if (len(self._known) + 1) * found.nbytes > MOST_FUNCTIONS:
                self._known = {}  # not emptied: another thread may be reading
            self._known[q] = found
        return found


class HoleCounter(Counter):
    """Likelihoods of one child with Π ∪ y for every y, on the rows where all are observed.

    At the child itself stands its likelihood with Π alone.
    """

    def __init__(self, encoded: EncodedHoles, child: int, place: Int64s, n: int) -> None:
        super().__init__(place, n)
        self._encoded, self._child = encoded, child

    def count_size(self, stems: Members) -> Int64s:
        """Count the sets (Π, child, y), in which neighbours share all but the last member."""
        (count, size), n = stems.shape, self._encoded.n_variables
        members = np.empty((count, n, size + 2), np.uint16)
        members[:, :, :size] = stems[:, None, :]
        members[:, :, size] = self._child
        members[:, :, size + 1] = np.arange(n)
        found = self._likelihood(members.reshape(count * n, size + 2), size).reshape(count, n)
        alone = np.ascontiguousarray(members[:, 0, : size + 1])
        found[:, self._child] = self._likelihood(alone, size)
        return found

    def count_alone(self, stem: Members) -> int:
        """Count Π and the child."""
        members = np.append(stem, np.array([[self._child]], np.uint16), axis=1)
        return int(self._likelihood(members, stem.shape[1])[0])

    def _likelihood(self, members: Members, child: int) -> Int64s:
        """Return N·LL / n per set, of the member at that place; UNSEEN without a row."""
        from parentage.kernels.holes import count_complete

        e = self._encoded
        rows, left = np.empty(len(members), np.int64), np.empty(members.shape, np.int64)
        count_complete(members, rows_of(e), e.arity, rows, left)
        there = np.maximum(rows, 1)
        own = left[:, child]
        likelihood = -((own // there) * e.n_rows + (own % there) * e.n_rows // there)
        return np.where(rows > 0, likelihood, UNSEEN)


class Nothing(Counter):
    """Vectors of zeros: where the likelihood of a family is counted whole, nothing is taken off."""

    def count_size(self, stems: Members) -> Int64s:
        """Return zeros."""
        return np.zeros((len(stems), len(self.place)), np.int64)

    def count_alone(self, stem: Members) -> int:
        """Return 0."""
        return 0
