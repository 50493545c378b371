"""Cut numeric columns into states. Between raw columns and the table.

A rule gives cut points c_1 < c_2 < … from the observed values; a value x gets the code
"number of cuts ≤ x", so code j stands for c_j ≤ x < c_{j+1}. The cut points stay with the table.

median
    One cut, the median of the observed values (the mean of the middle two when their number is
    even): 0 if x < median, else 1.
quantile:K
    Up to K states of about equal counts. The j-th cut is the smallest observed value with at
    least a share j/K of the others below it; equal cuts count once, and a cut with nothing
    below it is left out. So every state occurs, and ``quantile:2`` splits as ``median`` does.
width:K
    K intervals of equal width from the smallest to the largest value; some may be empty.

A column with one distinct value has no cuts and one state.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from parentage.errors import InputError, TableError, Way

Numbers = npt.NDArray[np.float64]

MAX_BINS = 1000


@dataclass(frozen=True)
class Discretizer:
    """A rule for cutting numbers into states, with its number of states."""

    rule: Literal["median", "quantile", "width"]
    bins: int = 2

    @classmethod
    def parse(cls, text: str) -> Discretizer:
        """Read ``median``, ``quantile:K`` or ``width:K``.

        >>> Discretizer.parse("quantile:4")
        Discretizer(rule='quantile', bins=4)
        """
        rule, colon, number = text.strip().lower().partition(":")
        if rule == "median" and not colon:
            return cls("median")
        plain = number.isascii() and number.isdigit() and len(number) < 6
        if rule in ("quantile", "width") and plain and 2 <= int(number) <= MAX_BINS:
            return cls("quantile" if rule == "quantile" else "width", int(number))
        raise InputError(
            "is not a way to cut numbers into states",
            Way("discretize", "median"),
            Way("discretize", "quantile:4"),
            Way("discretize", "width:4", f"(2 to {MAX_BINS} intervals)"),
            about=Way("discretize", text),
        )

    def cuts(self, observed: Numbers) -> tuple[float, ...]:
        """Return the cut points for these values (at least one, none missing).

        >>> Discretizer("median").cuts(np.array([1.0, 2.0, 5.0, 9.0]))
        (3.5,)
        """
        low, high = float(observed.min()), float(observed.max())
        if low == high:
            return ()
        if self.rule == "median":
            return (median(observed),)
        shares = np.arange(1, self.bins) / self.bins
        if self.rule == "quantile":
            cuts = np.unique(np.quantile(observed, shares, method="higher"))
            return tuple(float(cut) for cut in cuts if cut > low)
        if not (np.isfinite(low) and np.isfinite(high)):
            raise TableError(
                "intervals of equal width need finite numbers", Way("discretize", "quantile:4")
            )
        cuts = np.unique(low * (1 - shares) + high * shares)
        return tuple(float(cut) for cut in cuts)


def median(observed: Numbers) -> float:
    """Return the median, the mean of the middle two of an even number of values.

    >>> median(np.array([1.0, 2.0, 5.0, 9.0]))
    3.5
    """
    middle = np.partition(observed, [(len(observed) - 1) // 2, len(observed) // 2])
    low, high = float(middle[(len(observed) - 1) // 2]), float(middle[len(observed) // 2])
    return low if low == high else low / 2 + high / 2


def codes_of(numbers: Numbers, cuts: tuple[float, ...]) -> npt.NDArray[np.int64]:
    """Return for every number how many cuts are at or below it.

    >>> codes_of(np.array([1.0, 3.5, 9.0]), (3.5,))
    array([0, 1, 1])
    """
    return np.searchsorted(np.array(cuts, np.float64), numbers, side="right")


def interval_labels(cuts: tuple[float, ...]) -> list[str]:
    """Name the states between cut points, with as many digits as keep the cuts apart.

    >>> interval_labels((1.5178,))
    ['< 1.5178', '≥ 1.5178']
    >>> interval_labels((0.0, 10.0))
    ['< 0', '[0, 10)', '≥ 10']
    """
    written = [f"{cut:.6g}" for cut in cuts]
    if len(set(written)) < len(written):
        written = [repr(cut) for cut in cuts]
    inner = [f"[{low}, {high})" for low, high in itertools.pairwise(written)]
    return [f"< {written[0]}", *inner, f"≥ {written[-1]}"]
