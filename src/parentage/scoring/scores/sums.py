r"""Scores that are differences of sums over joint states: what the search needs to know of them.

.. math:: s(X|\Pi) = \sum_c f(n_c) + \rho(q_{X \cup \Pi}) - \sum_d m(n_d) - \rho(q_\Pi) - k_X

c runs over the joint states of X and Π, d over those of Π; f may depend on their number q, m on
the number of states of X, and both are 0 for no row and for a single one, which is what makes
counting fast. Where m is f, one sum per set serves all children in it.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from parentage.scoring.fixed_point import FixedPoint, require_numbers
from parentage.scoring.scores.score import Score

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from parentage.data.table import Table

Longs = npt.NDArray[np.longdouble]


@dataclass(frozen=True)
class BySums(Score):
    """A score that is not a plain penalised likelihood."""

    by_states: ClassVar[bool] = False
    """Whether parents cost what their number of joint states says (:meth:`price_of_states`)."""

    @property
    def one_function(self) -> bool:
        """Whether f is the same for all sets."""
        return True

    @property
    def own_minus(self) -> bool:
        """Whether m is another function than f, one per number of states of the child."""
        return False

    @abstractmethod
    def value(self, most: int, q: int) -> Longs:
        """Return f(c) for c = 0 … most, for sets with q joint states."""

    def minus(self, most: int, r: int) -> Longs:
        """Return m(c) for c = 0 … most, for children with r states, if it is not f."""
        raise NotImplementedError

    def rho(self, n_rows: int, q: int) -> np.longdouble:
        """Return ρ(q)."""
        del n_rows, q
        return np.longdouble(0)

    def constant(self, n_rows: int, r: int) -> np.longdouble:
        """Return k of a child with r states."""
        return np.longdouble(n_rows * np.log(np.longdouble(r)))

    def price_of_states(self, n_rows: int, r: int, q: int) -> float:
        """Return what parents of q joint states cost a child of r, if that is all they cost."""
        raise NotImplementedError

    def leftover(self, most: int) -> Longs:
        """Return the function whose sums give h: c ln c, so that h_X = N·H(X | all others)."""
        return entropy_function(most)

    def adds(self, q: int) -> bool:
        """Whether price and h add up for parents with q joint states (Theorem 4)."""
        del q
        return True

    def grid(
        self,
        table: Table,
        columns: Sequence[int],
        times: int,
        width: float,
        most_parents: int | None,
        distinct_rows: Callable[[], int],
    ) -> FixedPoint:
        """Return a grid for sums over sets of as many joint states as can be met."""
        del distinct_rows
        arity = table.cardinalities[columns]
        largest_first = sorted((int(r) for r in arity), reverse=True)
        joint = largest_first[: 1 + (len(columns) if most_parents is None else most_parents)]
        log_q = math.log(times) + math.fsum(math.log(r) for r in joint)
        largest = self.largest(table.n_rows, log_q, int(arity.max(initial=2))) + width
        require_numbers(table.n_rows, 48)
        return FixedPoint.for_sums(table.n_rows, largest, self.leftover(table.n_rows))

    @abstractmethod
    def largest(self, n_rows: int, log_q: float, r: int) -> float:
        """Return what no sum exceeds, for sets of up to e^log_q joint states, children of r."""


def entropy_function(most: int) -> Longs:
    """Return c ln c for c = 0 … most."""
    c = np.arange(most + 1, dtype=np.longdouble)
    c[0] = 1
    return c * np.log(c)
