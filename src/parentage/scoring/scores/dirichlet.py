r"""Marginal likelihoods under Dirichlet priors: BDeu, K2 and Jeffreys'.

With α pseudo-rows for each of the r states of X in each of the q configurations of its parents,

.. math:: s(X|\Pi) = \sum_j \ln\frac{\Gamma(r\alpha)}{\Gamma(r\alpha + n_j)}
                   + \sum_{jk} \ln\frac{\Gamma(\alpha + n_{jk})}{\Gamma(\alpha)}

* **BDeu** (Buntine 1991; Heckerman, Geiger & Chickering 1995): α = ess / (r q). Score equivalent.
* **K2** (Cooper & Herskovits 1992): α = 1, a uniform prior for each configuration.
* **Jeffreys**: α = ½, Jeffreys' prior for each configuration.

ln Γ(a + c) − ln Γ(a) = c ln a + Σ_{1≤i<c} ln(1 + i/a). The first parts add up to N ln r over a
family, the second is 0 for a single row: that is f, with a = α for the family and r α for Π.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parentage.scoring.scores.counts import joint_counts, joint_states
from parentage.scoring.scores.sums import BySums, Longs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parentage.data.table import Table


def rising(most: int, a: float) -> Longs:
    """Return Σ_{1≤i<c} ln(1 + i/a) for c = 0 … most."""
    found = np.zeros(most + 1, np.longdouble)
    i = np.arange(1, most, dtype=np.longdouble)
    np.cumsum(np.log1p(i / np.longdouble(a)), out=found[2:])
    return found


def _rows_given_prior(counts: Sequence[int], a: float) -> float:
    """Return Σ ln Γ(a + n)/Γ(a)."""
    return math.fsum(math.lgamma(a + n) - math.lgamma(a) for n in counts)


@dataclass(frozen=True)
class Dirichlet(BySums):
    """BDeu, K2 or Jeffreys."""

    @property
    def one_function(self) -> bool:
        """Only for BDeu f depends on q."""
        return self.parameter is None

    @property
    def own_minus(self) -> bool:
        """For BDeu the parents' r α is the α of a family with q joint states."""
        return self.parameter is None

    def alpha(self, r: int, q: int) -> float:
        """Return the pseudo-rows of one state in one configuration."""
        if self.parameter is not None:
            return self.parameter / (r * q)
        return 1.0 if self.kind.name == "k2" else 0.5

    def local(self, table: Table, x: int, parents: Sequence[int]) -> float:
        """Return the log marginal likelihood of the family."""
        r = int(table.cardinalities[x])
        a = self.alpha(r, joint_states(table, parents))
        family, given = joint_counts(table, [x, *parents]), joint_counts(table, parents)
        return _rows_given_prior(family, a) - _rows_given_prior(given, r * a)

    def price(self, table: Table, x: int, parents: Sequence[int]) -> float:
        """Return ln r for every joint state that occurs (BDeu, Theorem 4), or Lemma 9's price."""
        r = int(table.cardinalities[x])
        if self.parameter is None:
            given, a = joint_counts(table, parents), self.alpha(r, 1)
            return _rows_given_prior(given, r * a) - _rows_given_prior(given, a)
        cells = len(joint_counts(table, [x, *parents])) * math.log(r)
        if self.adds(joint_states(table, parents)):
            return cells
        return max(0.0, cells - self.unexplained(table, x))

    def bound_in_words(self, table: Table, x: int, parents: Sequence[int]) -> str:
        """Return how many joint states of a family occur, which is what BDeu's price is for."""
        if self.parameter is None:
            return super().bound_in_words(table, x, parents)
        cells = len(joint_counts(table, [*parents, x]))
        return f"for {cells} joint states that occur (ln {int(table.cardinalities[x])} each)"

    def unexplained(self, table: Table, x: int) -> float:
        """Return N·H(X | all others), or with K2 and Jeffreys Σ ln of multinomials instead."""
        if self.parameter is not None:
            return super().unexplained(table, x)
        others = [v for v in range(table.n_variables) if v != x]
        whole = joint_counts(table, [*others, x])
        return _rows_given_prior(joint_counts(table, others), 1.0) - _rows_given_prior(whole, 1.0)

    def value(self, most: int, q: int) -> Longs:
        """Return f with the α of sets of q joint states."""
        return rising(most, self.alpha(1, q))

    def minus(self, most: int, r: int) -> Longs:
        """Return f with r α."""
        return rising(most, r * self.alpha(r, 1))

    def leftover(self, most: int) -> Longs:
        """Return ln c! for K2 and Jeffreys, c ln c for BDeu."""
        return rising(most, 1.0) if self.parameter is None else super().leftover(most)

    def adds(self, q: int) -> bool:
        """Whether ess / q ≤ 1/3 (Lemma 6)."""
        return self.parameter is None or 3 * self.parameter <= q

    def largest(self, n_rows: int, log_q: float, r: int) -> float:
        """Return N ln(1 + N/α) + N ln r for the smallest α."""
        smallest = 0.0 if self.parameter is None else math.log(self.parameter) - log_q
        return n_rows * (math.log(1 + 2 * n_rows) + max(0.0, -smallest) + 2 * math.log(r))
