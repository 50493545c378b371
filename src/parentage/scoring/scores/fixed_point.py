"""Numbers in fixed point: c ln c and its relatives as whole numbers, and one tolerance.

Below the scores, each of which chooses its grid (``Score.grid``). f(c) is rounded once to an
integer multiple of 1/scale and added up in int64, so that equal partitions have equal sums and no
result depends on the order of additions, the threads or the machine. Logarithms are computed here
(:func:`ln`): those of the C library are instructions of the processor, and makers of processors
round their last digit differently.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from parentage.errors import ResourceError
from parentage.scoring.tuning import TUNING
from parentage.work.memory import require_memory

if TYPE_CHECKING:
    from collections.abc import Callable

    from parentage.arrays import Ints

Longs = npt.NDArray[np.longdouble]

FINE = 1e-7
"""A tolerance of so many nats is fine; a wider one is worth a better grid."""


MOST_BITS = 48
FEWEST_BITS = 16
MOST_PARAMETERS = 2**28  # so that the kernels' products of two capped numbers stay below 2^63


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """Numbers as integer multiples of 1/scale, and how far rounding can reach.

    Every f(c) is off by at most half a unit (plus what the logarithm itself is off), a set has at
    most N/2 joint states with two rows or more, and a rule compares at most six G and two
    penalties of at most ``cap`` parameters, each of which may be half a unit off: that sum is
    ``tolerance``. Scores closer than that are equal; a rule that is not beyond its threshold by
    more than that does not fire.

    With many rows that bound is too wide to be called rounding. Then the grid is made so that the
    penalty of one parameter is a whole number of units, without error, and no set is taken to
    have more joint states than the table has distinct rows.
    """

    scale: float
    """Units in one nat."""
    f: Ints
    """``f[c]`` = c ln c for c = 0 … N."""
    unit: int
    """Penalty of one free parameter."""
    cap: int
    """No family with this many free parameters can be kept: more need not be told apart."""
    tolerance: int

    @classmethod
    def fit(
        cls,
        n_rows: int,
        w: float,
        most_states: int,
        width: float = 0.0,
        distinct_rows: Callable[[], int] | None = None,
        unit_bits: int = 0,
    ) -> FixedPoint:
        """Choose the finest grid on which sums stay below 2^61.

        ``distinct_rows`` counts the distinct rows of the table; asked when there are many rows, or
        when they have weights, multiples of 2^−unit_bits of a row: then f(c) is 2^−unit_bits c ln c
        for c of these, and a set has at most as many joint states as there are distinct rows.

        With ``cap`` = (N ln N + width)/w + r parameters, a family is worse than the empty set by
        more than the width whatever its likelihood.
        """
        everything = n_rows * math.log(max(n_rows << unit_bits, 2))
        cap = math.ceil((everything + width) / w) + most_states
        largest = 2 * everything + width + w * cap
        bits = min(MOST_BITS, 60 - math.ceil(math.log2(largest)))
        if bits < FEWEST_BITS or cap > MOST_PARAMETERS:
            raise ResourceError(_too_large(n_rows, w, most_states, width, everything))
        logarithm = 8 * everything * 2.0**bits * float(np.finfo(np.longdouble).eps)
        most = 1.5 * n_rows
        if distinct_rows is not None and unit_bits:
            most = 3 * distinct_rows()
        tolerance = math.ceil(most + cap + logarithm)
        if distinct_rows is None or unit_bits or tolerance <= FINE * 2.0**bits:
            f = rounded_c_ln_c(n_rows << unit_bits, 2.0 ** (bits - unit_bits))
            return cls(2.0**bits, f, round(w * 2.0**bits), cap, tolerance)
        unit = math.floor(w * 2.0**bits)
        scale = unit / w
        f = rounded_c_ln_c(n_rows, unit, w)
        states = min(n_rows // 2, distinct_rows())
        own = 4 * everything * scale * float(np.finfo(np.float64).eps)  # w itself is rounded
        return cls(scale, f, unit, cap, math.ceil(3 * states + 2 + logarithm + own))

    @classmethod
    def for_sums(
        cls, n_rows: int, largest: float, leftover: npt.NDArray[np.longdouble]
    ) -> FixedPoint:
        """Choose the grid for a score whose sums are at most ``largest``; f is ``leftover``.

        A comparison has at most six sums of N/2 rounded terms each and N rounded logarithms of
        arities; the terms themselves were added up in extended precision.
        """
        bits = min(MOST_BITS, 60 - math.ceil(math.log2(2 * largest)))
        if bits < FEWEST_BITS:
            raise ResourceError(
                f"the scores of {n_rows:,} rows and their joint states are too large for 64-bit "
                "arithmetic; use fewer rows or a smaller limit on parents"
            )
        f = np.rint(leftover * np.longdouble(2.0**bits)).astype(np.int64)
        summing = 8 * n_rows * largest * 2.0**bits * float(np.finfo(np.longdouble).eps)
        return cls(2.0**bits, f, 0, 0, math.ceil(2 * n_rows + 16 + summing))

    def to_fixed(self, x: float) -> int:
        """Round a number to the grid."""
        return round(x * self.scale)

    def to_float(self, x: int | Ints) -> npt.NDArray[np.float64]:
        """Return fixed-point values as floats."""
        return np.asarray(x, np.float64) / self.scale


POINTS = 64
"""Points in [1, 2] at which logarithms are known: the nearest is at most 1/128 away."""


def ln(x: Longs) -> Longs:
    """Return logarithms, to the last digit or so, by additions, multiplications and divisions.

    These are rounded alike on every processor. x = 2^e m, and for the point c that is nearest to m,
    ln m = ln c + 2 artanh r with r = (m − c)/(m + c), of which r⁷ is the last power that matters.
    Constants have two parts, the first of so few digits that e ln 2 is exact.

    >>> x = np.array([1, 2, 10, 1e6], np.longdouble)
    >>> bool((abs(ln(x) - np.log(x)) <= 1e-18 * np.log(x)).all())
    True
    """
    half, e = np.frexp(x)
    m, e = 2 * half, (e - 1).astype(np.longdouble)
    at = np.rint((m - 1) * POINTS).astype(np.int64)
    c = 1 + at.astype(np.longdouble) / POINTS
    first, second = _known_logarithms()
    r = (m - c) / (m + c)
    square = r * r
    rest = 2 * r * (1 + square * (_THIRD + square * (_FIFTH + square * _SEVENTH)))
    return np.asarray((e * first[-1] + first[at]) + (rest + (e * second[-1] + second[at])))


_THIRD, _FIFTH, _SEVENTH = (np.longdouble(1) / k for k in (3, 5, 7))


@cache
def _known_logarithms() -> tuple[Longs, Longs]:
    """Return ln of the points, and of 2 once more, as 53 digits of two and what they leave."""
    with localcontext() as context:
        context.prec = 50
        known = [(1 + Decimal(j) / POINTS).ln() for j in (*range(POINTS + 1), POINTS)]
        rest = [str(value - Decimal(float(value))) for value in known]
    return np.array(list(map(float, known)), np.longdouble), np.array(rest, np.longdouble)


@lru_cache(maxsize=2)
def rounded_c_ln_c(n_rows: int, times: float, over: float = 1.0) -> Ints:
    """Return c ln c · times / over for c = 0 … N, rounded, as many at a time as fit a cache.

    The last two are kept: data that are completed step by step and bootstrap samples share them.
    """
    require_numbers(n_rows, 8)
    f = np.empty(n_rows + 1, np.int64)
    for first in range(0, n_rows + 1, TUNING.block_rows):
        c = np.arange(first, min(first + TUNING.block_rows, n_rows + 1), dtype=np.longdouble)
        scaled = c * ln(np.maximum(c, 1)) * np.longdouble(times) / np.longdouble(over)
        f[first : first + len(c)] = np.rint(scaled)
    return f


def require_numbers(n_rows: int, each: int) -> None:
    """Refuse rows, of which few may differ, whose counts 0 … N have no room for their f."""
    require_memory(each * (n_rows + 1), f"counting up to {n_rows:,} rows", "use fewer rows")


def _too_large(n_rows: int, w: float, most_states: int, width: float, everything: float) -> str:
    """Say what makes the numbers too large: the width, the penalties, or the rows."""
    if width > max(everything, w * most_states):
        return f"a width of {width:.3g} nats is too large for 64-bit arithmetic; use a smaller one"
    if w < 0.5 and everything / w > MOST_PARAMETERS / 2:
        return (
            f"a penalty of {w:.3g} nats per parameter is too small for 64-bit arithmetic; "
            "use a larger one"
        )
    if w * most_states > everything:
        return (
            f"a penalty of {w:.3g} nats per parameter and up to {most_states} states are too large "
            "for 64-bit arithmetic; merge states, drop the column, or require fewer parents"
        )
    return f"{n_rows:,} rows are too many for 64-bit arithmetic; use fewer rows"
