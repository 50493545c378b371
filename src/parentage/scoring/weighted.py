r"""Rows with weights: expected counts as whole numbers, so that the search stays exact.

A row that lacks cells becomes several completions, each with its probability. The weights are whole
multiples of 2^−b of a row and sum to the row exactly, so every expected count n is a whole number W
of units, n = W / 2^b, and

.. math:: \sum_c n_c \ln n_c = 2^{-b} \sum_c W_c \ln W_c \; - N b \ln 2.

The last term is the same for every set and falls out of every score, entropy and rule, all of which
are differences. So G is taken as 2^−b Σ W ln W, in fixed point as ever. The rules of penalised
likelihoods are inequalities of entropies, which hold for the distribution that the weights are; no
rule asks for whole counts. A set has at most as many joint states as there are distinct rows, each
half a unit off: six sums, three units a distinct row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from parentage.data.table import Table
from parentage.errors import InputError, ResourceError, Way
from parentage.scoring.entropy import (
    FEWEST_BITS,
    MOST_BITS,
    MOST_PARAMETERS,
    Encoded,
    FixedPoint,
    Labels,
)
from parentage.scoring.residuals import leave_one_out
from parentage.scoring.scores import Penalised

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parentage.kernels.weighted import Packed
    from parentage.scoring.entropy import Int64s
    from parentage.scoring.scores import AnyScore


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightedTable(Table):
    """Distinct rows without holes, each with a weight; ``n_rows`` is what the weights sum to.

    Parameters
    ----------
    weights
        ``int64[column of codes]``: whole numbers of units of 2^−bits of a row.
    bits
        b.
    """

    weights: npt.NDArray[np.int64]
    bits: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.weights) != self.stored_rows or (self.weights < 1).any():
            raise ValueError("every row needs a weight of at least one unit")
        if int(self.weights.sum()) % (1 << self.bits):
            raise ValueError("the weights do not sum to whole rows")

    @property
    def n_rows(self) -> int:
        """N, the rows that the weights sum to."""
        return int(self.weights.sum()) >> self.bits

    @property
    def row_weights(self) -> npt.NDArray[np.float64]:
        """The weights in rows."""
        return np.ldexp(self.weights.astype(np.float64), -self.bits)


def weighted_labels(table: Table) -> Labels:
    """All rows in one class, with their weights."""
    if not isinstance(table, WeightedTable):
        raise TypeError("the rows have no weights")
    return Labels(np.zeros(len(table.weights), np.int64), 1, table.weights)


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightedEncoded(Encoded):
    """A table with weights ready for counting."""

    packed: Packed
    """The rows in words, with their weights."""

    def count(
        self,
        members: npt.NDArray[np.uint16],
        f: Int64s | None = None,
        row: npt.NDArray[np.int32] | None = None,
        excess: Int64s | None = None,
    ) -> Int64s:
        """Return G of every set (in lexicographic order)."""
        from parentage.kernels.weighted import count_weighted

        if f is not None or row is not None or excess is not None:
            raise TypeError("rows with weights are counted for penalised likelihoods only")
        G = np.empty(len(members), np.int64)
        count_weighted(members, self.packed, self.grid.f, G)
        return G


def check_weighable(score: AnyScore) -> Penalised:
    """Return a score that is proved for expected counts; refuse another one.

    The log-likelihood is linear in the counts of complete rows at given parameters, so that its
    expectation is its value at expected counts, and each step makes the likelihood of what is
    observed grow. ln Γ and the regrets are not linear (docs/theory.md, "Expected counts").

    Raises
    ------
    InputError
        With the scores that are.
    """
    if not isinstance(score, Penalised):
        raise InputError(
            f"takes penalised likelihoods (bic, aic, hqc, ebic, penalty), not {score.name}: "
            "expected counts do not tell what to expect of that score",
            Way("missing", "pnal"),
            about=Way("missing", "em"),
        )
    return score


def encode_weighted(
    table: WeightedTable, score: Penalised, width: float = 0.0, context: Sequence[int] = ()
) -> WeightedEncoded:
    """Encode the columns that vary, within a context if there is one."""
    left_out = {*(table.index(name) for name in table.constant), *context}
    kept = [v for v in range(table.n_variables) if v not in left_out]
    times = math.prod(int(table.cardinalities[v]) for v in context)
    widest = int(table.cardinalities[kept].max(initial=2))
    grid = weighted_grid(table, score.weight(table) * times, widest, width)
    labels = weighted_labels(table).join(table, context)
    single = np.array([labels.join(table, [v]).G(grid.f) for v in kept], np.int64)
    by_speed = np.argsort(single, kind="stable")  # most varied first: rows merge without them
    order = np.array(kept, np.int64)[by_speed]
    arity = np.ascontiguousarray(table.cardinalities[order])
    rows, codes = len(table.weights), table.to_codes([int(v) for v in order])
    return WeightedEncoded(
        order,
        arity,
        codes,
        np.concatenate([[0], np.cumsum(arity)]),
        np.zeros((rows, 0), np.uint64),
        np.arange(rows, dtype=np.uint32),
        np.array([0, rows], np.uint32),
        grid,
        single[by_speed],
        labels.G(grid.f),
        times,
        packed=pack_rows(codes, arity, labels, table.weights),
    )


def pack_rows(
    codes: npt.NDArray[np.uint16], arity: Int64s, labels: Labels, weights: Int64s
) -> Packed:
    """Pack rows into words, a few bits a variable, the joint state of the context last."""
    from parentage.kernels.weighted import Packed, layout_of

    states = np.append(arity, labels.count)
    layout = layout_of(states)
    everything = range(len(states))
    mask = np.zeros((len(states), layout.n_words), np.uint64)
    for v in everything:
        own = layout.ones[v] << np.uint64(layout.shift[v])
        last = v if v < len(codes) else len(mask)
        mask[: last + 1, layout.word[v]] |= own
    words = layout.pack(np.vstack([codes, labels.of_row[None, :]]), everything)
    return Packed(words, weights, layout.word, layout.shift, layout.ones, states, mask)


def weighted_grid(table: WeightedTable, w: float, most_states: int, width: float) -> FixedPoint:
    """Choose the finest grid on which sums stay below 2^61, as ``FixedPoint.fit`` does."""
    n_rows, unit = table.n_rows, 1 << table.bits
    everything = n_rows * math.log(max(n_rows * unit, most_states, 2))
    cap = math.ceil((everything + width) / w) + most_states
    largest = 2 * everything + width + w * cap
    bits = min(MOST_BITS, 60 - math.ceil(math.log2(largest)))
    if bits < FEWEST_BITS or cap > MOST_PARAMETERS:
        raise ResourceError(
            f"{n_rows} rows with weights, or a penalty of {w:.3g} nats a parameter, are too much "
            "for 64-bit arithmetic; use fewer rows"
        )
    c = np.arange(n_rows * unit + 1, dtype=np.longdouble)
    c[0] = 1
    f = np.rint(c * np.log(c) * np.longdouble(2.0 ** (bits - table.bits))).astype(np.int64)
    logarithm = 8 * everything * 2.0**bits * float(np.finfo(np.longdouble).eps)
    tolerance = math.ceil(3 * len(table.weights) + cap + logarithm)
    return FixedPoint(2.0**bits, f, round(w * 2.0**bits), cap, tolerance)


def weighted_residuals(encoded: Encoded, table: Table, context: Sequence[int] = ()) -> Int64s:
    """Return h of every variable, N·H(V | all others)."""
    order = [int(v) for v in encoded.order]
    start, f = weighted_labels(table).join(table, context), encoded.grid.f
    everything = start.join(table, order).G(f)
    without = dict(leave_one_out(start, table, order, f))
    return np.array([without[v] - everything for v in order], np.int64)
