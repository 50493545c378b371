r"""Likelihood minus penalty: BIC and its relatives, which differ in the weight of a parameter.

For a child X and a parent set Π, with N rows, r states of X and q joint states of Π,

.. math:: s(X, \Pi) = \sum_{c} n_c \ln n_c - \sum_{d} n_d \ln n_d - w\,(r - 1)\,q

where c runs over the joint states of X and Π and d over those of Π. The weight w is

* ln N / 2 for BIC (Schwarz 1978),
* 1 for AIC (Akaike 1974),
* ln ln N for HQC (Hannan & Quinn 1979 with c = 1, the least weight that is still consistent),
* ln N / 2 + γ ln n for eBIC (Chen & Chen 2008: −2 ln L + ν ln N + 2 γ ν ln n for ν parameters
  chosen among n candidates; n is the number of columns that vary),
* any positive number W.

No rule of ``docs/theory.md`` uses more than w > 0, but for the caps of the paper, which are BIC's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parentage.errors import InputError
from parentage.scoring.catalogue import by_name
from parentage.scoring.scores.fixed_point import FixedPoint
from parentage.scoring.scores.score import Families, Score, free_parameters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parentage.data.table import Table


@dataclass(frozen=True)
class Penalised(Score):
    """BIC, AIC, HQC, eBIC or a weight of one's own."""

    def weight(self, table: Table) -> float:
        """Return w, the penalty of one free parameter in nats.

        >>> from parentage.data.datasets import chest_clinic
        >>> table = chest_clinic(1000)
        >>> [round(Penalised(by_name(name)).weight(table), 4) for name in ("bic", "aic", "hqc")]
        [3.4539, 1.0, 1.9326]
        """
        n_rows = table.n_rows
        match self.kind.name, self.parameter:
            case "bic", _:
                return math.log(n_rows) / 2
            case "aic", _:
                return 1.0
            case "hqc", _:
                if n_rows < 3:
                    raise InputError("HQC needs at least 3 rows: below that ln ln N is negative")
                return math.log(math.log(n_rows))
            case "ebic", float(gamma):
                varying = table.n_variables - len(table.constant)
                return math.log(n_rows) / 2 + gamma * math.log(max(varying, 1))
            case "penalty", float(w):
                return w
        raise AssertionError(f"{self.kind.name} is in the catalogue, but has no weight here")

    def price(self, table: Table, x: int, parents: Sequence[int]) -> float:
        """Return the penalty: no likelihood exceeds −h_X."""
        return self.weight(table) * free_parameters(table, x, parents)

    def grid(self, families: Families) -> FixedPoint:
        """Return a grid for likelihoods and penalties, of rows with weights if they have them."""
        table, w = families.table, self.weight(families.table) * families.times
        return FixedPoint.fit(
            table.n_rows, w, families.widest, families.width, families.distinct_rows,
            table.unit_bits,
        )  # fmt: skip

    def bound_in_words(self, table: Table, x: int, parents: Sequence[int]) -> str:
        """Return nothing: the rules say it."""
        return ""

    def on_columns_of(self, table: Table) -> Score:
        """Return the same weight as a number: eBIC's depends on the number of columns."""
        if self.kind.name == "ebic":
            return Penalised(by_name("penalty"), self.weight(table))
        return self
