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

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from parentage.data.table import Table
from parentage.errors import InputError, Way

if TYPE_CHECKING:
    from parentage.scoring.scores import Penalised, Score


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


def check_weighable(score: Score) -> Penalised:
    """Return a score that is proved for expected counts; refuse another one.

    The log-likelihood is linear in the counts of complete rows at given parameters, so that its
    expectation is its value at expected counts, and each step makes the likelihood of what is
    observed grow. ln Γ and the regrets are not linear (docs/theory.md, "Expected counts").

    Raises
    ------
    InputError
        With the scores that are.
    """
    if not score.takes_weights:
        raise InputError(
            f"takes penalised likelihoods (bic, aic, hqc, ebic, penalty), not {score.name}: "
            "expected counts do not tell what to expect of that score",
            Way("missing", "pnal"),
            about=Way("missing", "em"),
        )
    return cast("Penalised", score)
