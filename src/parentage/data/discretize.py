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
at:CUT,CUT,…
    The cut points themselves.
year, month, weekday
    Of a column of dates: no cut points, but that part of the date as a label.
mdl, mdl:K
    Up to K states (5 if not said), cut at round numbers where the column tells most about the
    others: :mod:`parentage.data.mdl`.

A column with one distinct value has no cuts and one state, unless the cut points were given.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from parentage.data.table import as_numbers, class_sizes
from parentage.errors import InputError, TableError, Way

Numbers = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MAX_BINS = 1000
MDL_STATES = 5
"""The most states that ``mdl`` makes when no number is given."""

Rule = Literal["median", "quantile", "width", "at", "mdl", "year", "month", "weekday"]
PARTS: tuple[Rule, ...] = ("year", "month", "weekday")
"""Parts of dates, which are labels."""

_COUNTED: tuple[Rule, ...] = ("quantile", "width", "mdl")


@dataclass(frozen=True)
class Discretizer:
    """A rule for cutting numbers into states, with its number of states or its cut points."""

    rule: Rule
    bins: int = 2
    points: tuple[float, ...] = ()

    @classmethod
    def parse(cls, text: str, *, column: str | None = None) -> Discretizer:
        """Read ``mdl``, ``median``, ``quantile:K``, ``width:K`` or ``at:CUT,CUT,…``.

        >>> Discretizer.parse("quantile:4")
        Discretizer(rule='quantile', bins=4, points=())
        >>> Discretizer.parse("at:65,40", column="age").points
        (40.0, 65.0)
        """
        rule, colon, rest = text.strip().lower().partition(":")
        if rule in ("median", "mdl") and not colon:
            return cls("median") if rule == "median" else cls("mdl", MDL_STATES)
        if rule in PARTS and not colon and column is not None:
            return cls(next(known for known in PARTS if known == rule))
        plain = rest.isascii() and rest.isdigit() and len(rest) < 6
        if rule in _COUNTED and plain and 2 <= int(rest) <= MAX_BINS:
            return cls(next(known for known in _COUNTED if known == rule), int(rest))
        if rule == "at":
            points = as_numbers([point.strip() for point in rest.split(",")])
            if points is not None and column is not None and len(points) < MAX_BINS:
                cuts = tuple(sorted({float(point) for point in points}))
                return cls("at", len(cuts) + 1, cuts)
        prefix = "" if column is None else f"{column}="
        raise InputError(
            "is not a way to discretise numbers",
            Way("discretize", f"{prefix}median"),
            Way("discretize", f"{prefix}mdl"),
            Way("discretize", f"{prefix}quantile:4"),
            Way("discretize", f"{prefix}width:4", f"(2 to {MAX_BINS} intervals)"),
            *([] if column is None else [Way("discretize", f"{column}=at:10,20")]),
            about=Way("discretize", f"{prefix}{text}"),
        )

    def __str__(self) -> str:
        """Return the rule as it is typed."""
        if self.rule == "at":
            return "at:" + ",".join(f"{point:.15g}" for point in self.points)
        default = self.rule in ("median", *PARTS) or (self.rule, self.bins) == ("mdl", MDL_STATES)
        return self.rule if default else f"{self.rule}:{self.bins}"

    def cuts(self, observed: Numbers, repeats: Ints | None = None) -> tuple[float, ...]:
        """Return the cut points for these values (at least one, none missing).

        ``repeats`` says how often each occurs; None: once, each.

        >>> Discretizer("median").cuts(np.array([1.0, 2.0, 5.0, 9.0]))
        (3.5,)
        """
        if self.rule == "at":
            return self.points
        low, high = float(observed.min()), float(observed.max())
        if low == high:
            return ()
        if self.rule == "mdl":
            raise AssertionError("mdl looks at all columns; see parentage.data.mdl")
        if self.rule == "median":
            return (median(observed, repeats),)
        shares = np.arange(1, self.bins) / self.bins
        if self.rule == "quantile":
            values, upto = rows_up_to(observed, repeats)
            ranks = np.ceil((upto[-1] - 1) * shares)
            cuts = np.unique(values[np.searchsorted(upto, ranks, side="right")])
            return tuple(float(cut) for cut in cuts if cut > low)
        if not (np.isfinite(low) and np.isfinite(high)):
            raise TableError(
                "intervals of equal width need finite numbers", Way("discretize", "quantile:4")
            )
        cuts = np.unique(low * (1 - shares) + high * shares)
        return tuple(float(cut) for cut in cuts)


def median(observed: Numbers, repeats: Ints | None = None) -> float:
    """Return the median, the mean of the middle two of an even number of values.

    >>> median(np.array([1.0, 2.0, 5.0, 9.0])), median(np.array([9.0, 1.0]), np.array([1, 4]))
    (3.5, 1.0)
    """
    values, upto = rows_up_to(observed, repeats)
    middle = [(int(upto[-1]) - 1) // 2, int(upto[-1]) // 2]
    low, high = (float(x) for x in values[np.searchsorted(upto, middle, side="right")])
    return low if low == high else low / 2 + high / 2


def rows_up_to(observed: Numbers, repeats: Ints | None = None) -> tuple[Numbers, Ints]:
    """Return the distinct values, rising, and the number of rows up to each.

    ``repeats`` says how often each of those observed occurs; None: once, each.
    """
    values, place = np.unique(observed, return_inverse=True)
    counts = class_sizes(place, np.empty(0, np.int64) if repeats is None else repeats)
    return values, np.cumsum(counts)


def codes_of(numbers: Numbers, cuts: tuple[float, ...]) -> npt.NDArray[np.int64]:
    """Return for every number how many cuts are at or below it.

    >>> codes_of(np.array([1.0, 3.5, 9.0]), (3.5,))
    array([0, 1, 1])
    """
    return np.searchsorted(np.array(cuts, np.float64), numbers, side="right")


def interval_of(labels: tuple[str, ...], number: float) -> int | None:
    """Return which of the states between cut points a number is in; None if they are none.

    >>> interval_of(("< 0", "[0, 10)", "≥ 10"), 10.0), interval_of(("no", "yes"), 10.0)
    (2, None)
    """
    last = next((k for k, label in enumerate(labels) if label.startswith("≥ ")), 0)
    try:
        cuts = tuple(float(one.lstrip("<[").rstrip(")").split(", ")[-1]) for one in labels[:last])
    except ValueError:
        return None
    if not cuts or interval_labels(cuts) != list(labels[: last + 1]):
        return None
    return int(codes_of(np.array([number]), cuts)[0])


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
