"""Normalised maximum likelihood: qNML and fNML, penalties from information theory.

* **qNML** (Silander, Leppä-aho, Jääsaari & Roos 2018): s = LL − [ln C(N, r q) − ln C(N, q)], with
  the regret C of :mod:`parentage.scoring.scores.regret`. Nothing to set, score equivalent.
* **fNML** (Silander, Roos, Kontkanen & Myllymäki 2008): s = LL − Σ_j ln C(n_j, r) over the parent
  configurations j that occur. Not score equivalent; its authors replaced it by qNML.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parentage.scoring.scores.counts import entropy_sum, joint_counts, joint_states
from parentage.scoring.scores.regret import log_regret, log_regrets
from parentage.scoring.scores.sums import BySums, Longs, entropy_function

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parentage.data.table import Table


@dataclass(frozen=True)
class QNML(BySums):
    """Quotient NML: F(S) = G(S) − ln C(N, q_S)."""

    by_states = True

    def local(self, table: Table, x: int, parents: Sequence[int]) -> float:
        """Return LL − [ln C(N, r q) − ln C(N, q)]."""
        likelihood = entropy_sum(table, [x, *parents]) - entropy_sum(table, parents)
        return likelihood - self.price(table, x, parents)

    def price(self, table: Table, x: int, parents: Sequence[int]) -> float:
        """Return the penalty, which grows with q (Lemma 7)."""
        q = joint_states(table, parents)
        return self.price_of_states(table.n_rows, int(table.cardinalities[x]), q)

    def price_of_states(self, n_rows: int, r: int, q: int) -> float:
        """Return ln C(N, r q) − ln C(N, q)."""
        return float(log_regret(n_rows, r * q) - log_regret(n_rows, q))

    def value(self, most: int, q: int) -> Longs:
        """Return c ln c."""
        del q
        return entropy_function(most)

    def rho(self, n_rows: int, q: int) -> np.longdouble:
        """Return −ln C(N, q)."""
        return np.longdouble(-log_regret(n_rows, q))

    def constant(self, n_rows: int, r: int) -> np.longdouble:
        """Return 0: nothing was taken out."""
        del n_rows, r
        return np.longdouble(0)

    def largest(self, n_rows: int, log_q: float, r: int) -> float:
        """Return N ln N + N ln q: C(N, q) ≤ q^N."""
        return n_rows * (math.log(n_rows) + log_q + math.log(r))


@dataclass(frozen=True)
class FNML(BySums):
    """Factorised NML: m(c) = c ln c + ln C(c, r), less the c ln r that makes m(1) = 0."""

    @property
    def own_minus(self) -> bool:
        """Every number of states has a regret of its own."""
        return True

    def local(self, table: Table, x: int, parents: Sequence[int]) -> float:
        """Return LL − Σ_j ln C(n_j, r)."""
        likelihood = entropy_sum(table, [x, *parents]) - entropy_sum(table, parents)
        return likelihood - self.price(table, x, parents)

    def price(self, table: Table, x: int, parents: Sequence[int]) -> float:
        """Return the penalty, which grows when configurations are split (Lemma 8)."""
        r = int(table.cardinalities[x])
        return math.fsum(float(log_regret(n, r)) for n in joint_counts(table, parents))

    def value(self, most: int, q: int) -> Longs:
        """Return c ln c."""
        del q
        return entropy_function(most)

    def minus(self, most: int, r: int) -> Longs:
        """Return c ln c + ln C(c, r) − c ln r."""
        c = np.arange(most + 1, dtype=np.longdouble)
        found = entropy_function(most) + log_regrets(most, r) - c * np.log(np.longdouble(r))
        found[:2] = 0
        return np.asarray(found)

    def largest(self, n_rows: int, log_q: float, r: int) -> float:
        """Return N ln N + 2 N ln r."""
        del log_q
        return n_rows * (math.log(n_rows) + 2 * math.log(r))
