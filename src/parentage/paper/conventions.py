"""How to count: as printed and as stated. The one place where the two differ.

``STATED`` is what the theorems say, with the functions of :mod:`parentage.scoring.rules` as they
are. ``PRINTED`` is what the authors' program did, found by matching the printed numbers. It
departs from the theorems in the fields of :class:`Convention`, and nowhere else:

* ``halve_whole``: the penalty of BIC has the factor q_Π*/2, which was an integer division. With
  Π* = ∅ it is 0, so that single parents are never pruned.
* ``only_evaluated``: a rule could use an entropy only if the program had it at hand. Alg1 and Alg3
  need Π* among the evaluated parent sets of X, Alg2 and Alg4 among those of Y; a parent set was
  evaluated unless Alg1 or Alg2 had flagged it.
* ``log_of_bounds``: Theorem 3 takes H and log N in one base; Table 1 has H in nats and log2 N.
* ``binomial``: the binomials behind |S| were quotients of factorials in double precision, cut to
  whole numbers.
* ``cut_example``: the worked example cuts ln N after three decimals and entropies after two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable


def floating_binomial(m: int, i: int) -> int:
    """Return m!/((m − i)!·i!) with factorials in double precision, cut to a whole number.

    >>> floating_binomial(28, 3), math.comb(28, 3)
    (3275, 3276)
    """
    return int(_floating_factorial(m) / (_floating_factorial(m - i) * _floating_factorial(i)))


def _floating_factorial(m: int) -> float:
    product = 1.0
    for factor in range(2, m + 1):
        product *= factor
    return product


def cut(x: float, decimals: int) -> float:
    """Cut a positive number after some decimals.

    >>> cut(126.6873, 2)
    126.68
    """
    unit: int = 10**decimals
    return math.floor(x * unit) / unit


@dataclass(frozen=True)
class Convention:
    """How the numbers of the paper are counted; see the module's first lines."""

    name: str
    halve_whole: bool
    only_evaluated: bool
    log_of_bounds: Callable[[float], float]
    binomial: Callable[[int, int], int]
    cut_example: bool

    def added(self, log_rows: float, r_x: Any, r_y: Any, q_star: Any) -> Any:
        """Return (r_Y − 1)·pen(X, Π*), what Y adds to the penalty; numbers or arrays."""
        half = np.floor_divide(q_star, 2) if self.halve_whole else np.true_divide(q_star, 2)
        return (r_y - 1) * log_rows * (r_x - 1) * half

    def search_space(self, n_variables: int, in_degree: int) -> int:
        """Return |S| = n·Σ C(n − 1, i) over i = 1 … k: the empty set is not counted.

        >>> STATED.search_space(8, 3)
        504
        """
        sizes = range(1, min(in_degree, n_variables - 1) + 1)
        return n_variables * sum(self.binomial(n_variables - 1, i) for i in sizes)

    def example_log(self, n_rows: int) -> float:
        """Return ln N as the worked example uses it."""
        return cut(math.log(n_rows), 3) if self.cut_example else math.log(n_rows)

    def example_entropy(self, x: float) -> float:
        """Return an entropy as the worked example shows it."""
        return cut(x, 2) if self.cut_example else x


STATED = Convention("stated", False, False, math.log, math.comb, False)
PRINTED = Convention("printed", True, True, math.log2, floating_binomial, True)
