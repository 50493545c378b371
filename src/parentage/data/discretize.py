r"""Discretise columns of numbers: rules that find cut points. Between raw columns and the table.

A rule gives cut points c_1 < c_2 < … from the observed values; a value x gets the code
"number of cut points ≤ x", so code j stands for c_j ≤ x < c_{j+1}. The cut points stay with the
table. A column with one distinct value has no cut points and one state, unless they were given.

median
    One cut point, the median of the observed values (the mean of the middle two when their number
    is even): 0 if x < median, else 1.
quantile:K
    Up to K states of about equal counts. The j-th cut point is the smallest observed value with at
    least a share j/K of the others below it; equal ones count once, and one with nothing below it
    is left out. So every state occurs, and ``quantile:2`` splits as ``median`` does.
width:K
    K intervals of equal width from the smallest to the largest value; some may be empty.
at:CUT,CUT,…
    The cut points themselves.
year, month, weekday
    For a column of dates: no cut points, but that part of the date as a label.
mdl, mdl:K
    Up to K states (5 by default), with cut points where the column tells most about the others.

The rule ``mdl`` discretises a column X into intervals Λ so that

.. math:: J(Λ) = \sum_{Y ∈ R(X)} \Bigl[ N·I(X_Λ; Y) − \tfrac{\ln N}{2} (|Λ|−1)(r_Y−1) \Bigr]
          − (|Λ|−1) \ln B

is large. The bracket is what BIC gains by an arc between X and Y (I: mutual information in nats,
N: rows in which both are observed), so a cut point is added where it pays for the parameters it
costs. The last term is the length of a message that names the cut points among B places: the best
of many places looks good by chance (Fayyad and Irani 1993, for one class column). R(X) are the
columns for which the best J, for that Y alone, is positive: columns that have nothing to do with X
would only add penalty. A column without related ones is split at its median.

J is a sum over intervals, so dynamic programming finds the best Λ with cut points at
:data:`PLACES` quantiles. Every cut point is then moved between its neighbours to the best of all
places (up to :data:`FINEST`), those that no longer pay are removed, and each is rounded to the
shortest number within 2 % of the rows that costs at most 1 % of J and one parameter (½ ln N), if
there is one, else to the shortest that changes no row. While X is discretised, other columns of
numbers are in quartiles, so that the order of columns does not matter. Nothing is random.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from parentage.arrays import Flags, Floats, Ints
from parentage.data.table import as_numbers, class_sizes
from parentage.errors import InputError, TableError, Way

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_BINS = 1000
MDL_STATES = 5
"""The most states that ``mdl`` makes when no number is given."""

Rule = Literal["median", "quantile", "width", "at", "mdl", "year", "month", "weekday"]
PARTS: tuple[Rule, ...] = ("year", "month", "weekday")
"""Parts of dates, which are labels."""

_COUNTED: tuple[Rule, ...] = ("quantile", "width", "mdl")

AT_MEDIAN = "the median: no cut point raises BIC"
"""What a recipe says instead of ``mdl`` about a column for which this rule found nothing."""


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

    def cuts(self, observed: Floats, repeats: Ints | None = None) -> tuple[float, ...]:
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
            raise AssertionError("mdl needs all columns; see mdl_cuts")
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


def median(observed: Floats, repeats: Ints | None = None) -> float:
    """Return the median, the mean of the middle two of an even number of values.

    >>> median(np.array([1.0, 2.0, 5.0, 9.0])), median(np.array([9.0, 1.0]), np.array([1, 4]))
    (3.5, 1.0)
    """
    values, upto = rows_up_to(observed, repeats)
    middle = [(int(upto[-1]) - 1) // 2, int(upto[-1]) // 2]
    low, high = (float(x) for x in values[np.searchsorted(upto, middle, side="right")])
    return low if low == high else low / 2 + high / 2


def rows_up_to(observed: Floats, repeats: Ints | None = None) -> tuple[Floats, Ints]:
    """Return the distinct values, rising, and the number of rows up to each.

    ``repeats`` says how often each of those observed occurs; None: once, each.
    """
    values, place = np.unique(observed, return_inverse=True)
    counts = class_sizes(place, np.empty(0, np.int64) if repeats is None else repeats)
    return values, np.cumsum(counts)


def codes_of(numbers: Floats, cuts: tuple[float, ...]) -> Ints:
    """Return for every number how many cuts are at or below it.

    >>> codes_of(np.array([1.0, 3.5, 9.0]), (3.5,))
    array([0, 1, 1])
    """
    return np.searchsorted(np.array(cuts, np.float64), numbers, side="right")


def interval_of(labels: Sequence[str], number: float) -> int | None:
    """Return which of the states between cut points a number is in; None if they are none.

    >>> interval_of(("< 0", "[0, 10)", "≥ 10"), 10.0), interval_of(("no", "yes"), 10.0)
    (2, None)
    """
    cuts = cuts_between(labels)
    return None if cuts is None else int(codes_of(np.array([number]), cuts)[0])


def cuts_between(labels: Sequence[str]) -> tuple[float, ...] | None:
    """Return the cut points named by the labels of states; None where these are not intervals.

    >>> cuts_between(("< 0", "[0, 10)", "≥ 10")), cuts_between(("no", "yes"))
    ((0.0, 10.0), None)
    """
    last = next((k for k, label in enumerate(labels) if label.startswith("≥ ")), 0)
    try:
        cuts = tuple(float(one.lstrip("<[").rstrip(")").split(", ")[-1]) for one in labels[:last])
    except ValueError:
        return None
    return cuts if cuts and interval_labels(cuts) == list(labels[: last + 1]) else None


def rule_at(name: str, cuts: Sequence[float]) -> str:
    """Return these cut points as they are typed for one column.

    >>> rule_at("bili", (0.8, 2.0))
    'bili=at:0.8,2'
    """
    return f"{name}=at:{','.join(repr(float(cut)).removesuffix('.0') for cut in cuts)}"


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


TRIALS = 32
"""Places at which a column is cut to see whether another one is related to it."""

PLACES = 128
"""Places among which dynamic programming chooses."""

FINEST = 10_000
"""Places to which a cut may be moved afterwards."""

MOST_STATES = 64
"""A column with more states than this is not asked what others tell about it."""

_ROUNDING = (0.02, 0.01, 0.005)
_LOSS = 0.01
_SWEEPS = 10
_TIE = 1e-9


@dataclass(frozen=True)
class SeenColumn:
    """One column while cuts are found.

    Parameters
    ----------
    codes
        ``int64[rows]``: what the other columns see of it, −1 where the value is missing.
    n_states
        Number of codes.
    numbers
        ``float64[rows]``, NaN where missing, if it is to be cut; None if not.
    most
        The most states it may be cut into.
    repeats
        ``int64[rows]``: how often each row occurs, the same for all columns; None: once, each.
    """

    codes: Ints
    n_states: int
    numbers: Floats | None = None
    most: int = 2
    repeats: Ints | None = None

    def times(self, mask: Flags) -> Ints:
        """Return how often the rows of a mask occur; empty: once, each."""
        return np.empty(0, np.int64) if self.repeats is None else self.repeats[mask]


@dataclass(frozen=True)
class Relation:
    """What another column Y says about every place of X.

    Parameters
    ----------
    below
        ``int64[places + 2, states]``: rows with each state of Y below a place; none below the
        first, all below the last.
    penalty
        What one more state of X costs: ½ ln N (r_Y − 1).
    """

    below: Ints
    penalty: float

    def worth(self, places: Ints) -> Floats:
        """Return ``worth[a, b]``: what rows between two of the places add to J as one state.

        A partition's sum of it is its J without the cost of naming cuts, 0 without any cut.
        """
        below = self.below[places]
        return self._worth(below[None, :, :] - below[:, None, :])

    def from_to(self, start: Ints | int, stop: Ints | int) -> Floats:
        """Return what the rows between places add, pair by pair."""
        return self._worth(self.below[stop] - self.below[start])

    def _worth(self, counts: Ints) -> Floats:
        whole, total = counts.sum(axis=-1), self.below[-1]
        n = int(total.sum())
        likelihood = _x_log_x(counts).sum(axis=-1) - _x_log_x(whole)
        alone = float(_x_log_x(total).sum() - n * math.log(n)) - self.penalty
        worth: Floats = likelihood - self.penalty - alone * (whole / n)
        return worth


def of_numbers(numbers: Floats, most: int, repeats: Ints | None = None) -> SeenColumn:
    """Prepare a column that is to be cut; NaN is a missing cell."""
    present = ~np.isnan(numbers)
    codes = np.full(len(numbers), -1, np.int64)
    if not present.any():
        return SeenColumn(codes, 1, numbers, most, repeats)
    times = None if repeats is None else repeats[present]
    quartiles = Discretizer("quantile", 4).cuts(numbers[present], times)
    codes[present] = codes_of(numbers[present], quartiles)
    return SeenColumn(codes, len(quartiles) + 1, numbers, most, repeats)


@dataclass(frozen=True)
class Places:
    """Where a column may be cut: place p, from 1 on, cuts below ``values[grid[p - 1]]``.

    Parameters
    ----------
    values
        Its distinct values, rising.
    upto
        ``int64[values]``: rows up to every value.
    grid
        ``int64[places]``: the values that places are at.
    """

    values: Floats
    upto: Ints
    grid: Ints

    @classmethod
    def of(cls, observed: Floats, repeats: Ints | None = None) -> Places:
        """Take all values but the first, or about FINEST of them."""
        values, upto = rows_up_to(observed, repeats)
        return cls(values, upto, 1 + _spread(upto[:-1], FINEST))

    def some(self, most: int) -> Ints:
        """Return about ``most`` places that part the rows evenly, with both ends."""
        inner = 1 + _spread(self.upto[self.grid - 1], most)
        return np.concatenate([[0], inner, [self.end]])

    @property
    def end(self) -> int:
        """The place above all rows."""
        return len(self.grid) + 1

    def middle(self) -> int:
        """Return the place that splits the rows most evenly."""
        return 1 + int(np.abs(2 * self.upto[self.grid - 1] - self.upto[-1]).argmin())

    def nearest(self, value: int) -> int:
        """Return the place nearest to a value, given by its number."""
        after = int(np.searchsorted(self.grid, value))
        around = [i for i in (after - 1, after) if 0 <= i < len(self.grid)]
        return 1 + min(around, key=lambda i: abs(int(self.grid[i]) - value))


class MdlCuts(NamedTuple):
    """Cut points of a column, and whether they raise BIC; if none does, the median is the only."""

    points: tuple[float, ...]
    raise_bic: bool


def mdl_cuts(columns: Sequence[SeenColumn], which: int) -> MdlCuts:
    """Return the cut points of one of the columns.

    >>> x = np.arange(400.0)
    >>> mdl_cuts([of_numbers(x, 8), SeenColumn((x >= 130).astype(np.int64), 2)], 0)
    MdlCuts(points=(130.0,), raise_bic=True)
    """
    column = columns[which]
    if column.numbers is None:
        raise AssertionError("the column is not to be cut")
    present = ~np.isnan(column.numbers)
    observed = column.numbers[present]
    if not len(observed) or observed.min() == observed.max():
        return MdlCuts((), raise_bic=False)
    places = Places.of(observed, None if column.repeats is None else column.times(present))
    cost = math.log(len(places.grid))
    related = _related(columns, which, places, cost)
    cuts: list[int] = []
    if related:
        chosen = places.some(PLACES)
        worth = np.sum([relation.worth(chosen) for relation in related], axis=0)
        cuts = [int(chosen[i]) for i in best_cuts(worth, cost, column.most)[1]]
        cuts = _polished(related, cuts, places.end, cost)
    points = _rounded(related, cuts or [places.middle()], places)
    return MdlCuts(points, raise_bic=bool(cuts))


def best_cuts(worth: Floats, cost: float, most: int) -> tuple[float, tuple[int, ...]]:
    """Return the largest J over partitions into at most ``most`` intervals, and where to cut.

    ``worth[a, b]`` is what the rows between a and b add; every cut costs ``cost``. Ties go to
    fewer cuts.
    """
    size = len(worth) - 1
    reached = worth[0].copy()  # reached[b]: the best for the rows below b, in so many intervals
    best, cuts, last = float(reached[size]), tuple[int, ...](), list[Ints]()
    for intervals in range(2, min(most, size) + 1):
        values = np.full((size + 1, size + 1), -np.inf)
        for a in range(intervals - 1, size):
            values[a, a + 1 :] = reached[a] + worth[a, a + 1 :] - cost
        last.append(values.argmax(axis=0))
        reached = values.max(axis=0)
        if reached[size] > best + _TIE:
            best, cuts = float(reached[size]), _traced(last, size)
    return best, cuts


def _traced(last: Sequence[Ints], size: int) -> tuple[int, ...]:
    cuts, at = list[int](), size
    for choice in reversed(last):
        at = int(choice[at])
        cuts.append(at)
    return tuple(reversed(cuts))


def _related(
    columns: Sequence[SeenColumn], which: int, places: Places, cost: float
) -> list[Relation]:
    """Return the relations to the columns that pay for a cut alone."""
    column = columns[which]
    if column.numbers is None:
        raise AssertionError("the column is not to be cut")
    present = ~np.isnan(column.numbers)
    fine = np.full(len(present), -1, np.int64)
    at = np.searchsorted(places.values, column.numbers[present])
    fine[present] = np.searchsorted(places.grid, at, side="right")
    trials, found = places.some(TRIALS), list[Relation]()
    for i, other in enumerate(columns):
        if i == which or not 1 < other.n_states <= MOST_STATES:
            continue
        both = (fine >= 0) & (other.codes >= 0)
        r, labels = other.n_states, fine[both] * other.n_states + other.codes[both]
        pairs = class_sizes(labels, column.times(both), places.end * r)
        below = np.zeros((places.end + 1, r), np.int64)
        below[1:] = np.cumsum(pairs.reshape(places.end, r), axis=0)
        occurring = int(np.count_nonzero(below[-1]))
        if occurring < 2:
            continue
        relation = Relation(below, 0.5 * math.log(int(pairs.sum())) * (occurring - 1))
        if best_cuts(relation.worth(trials), cost, column.most)[0] > 0:
            found.append(relation)
    return found


def _gain(related: Sequence[Relation], cuts: Sequence[int], end: int, cost: float) -> float:
    """Return J."""
    edges = np.array([0, *cuts, end])
    parts = [float(relation.from_to(edges[:-1], edges[1:]).sum()) for relation in related]
    return math.fsum(parts) - cost * len(cuts)


def _polished(related: Sequence[Relation], cuts: Sequence[int], end: int, cost: float) -> list[int]:
    """Move every cut to the best place between its neighbours; take out what does not pay."""
    now, before = list(cuts), None
    for _ in range(_SWEEPS):
        if now == before:
            break
        before = list(now)
        for i in range(len(now)):
            low, high = (0, *now)[i], (*now, end)[i + 1]
            between = np.arange(low + 1, high)
            sums = sum(r.from_to(low, between) + r.from_to(between, high) for r in related)
            now[i] = int(between[np.argmax(sums)])
        while now:
            fewer = [[*now[:i], *now[i + 1 :]] for i in range(len(now))]
            best = max(fewer, key=lambda left: _gain(related, left, end, cost))
            if _gain(related, best, end, cost) < _gain(related, now, end, cost) - _TIE:
                break
            now = best
    return now


def _rounded(related: Sequence[Relation], cuts: Sequence[int], places: Places) -> tuple[float, ...]:
    """Return the cut points as round numbers."""
    chosen = [int(places.grid[cut - 1]) for cut in cuts]  # values that cuts are at
    points: list[float] = []
    n = int(places.upto[-1])
    for i in range(len(chosen)):
        low, high = (0, *chosen)[i], (*chosen, len(places.values))[i + 1]
        at, point = chosen[i], roundest(*places.values[[chosen[i] - 1, chosen[i]]].tolist())
        limit = _gain(related, [places.nearest(k) for k in chosen], places.end, 0.0)
        limit -= 0.5 * math.log(n) + _LOSS * abs(limit)
        for share in _ROUNDING:
            rows = places.upto[low : high - 1]  # rows below each value between the neighbours
            near = low + 1 + np.flatnonzero(np.abs(rows - places.upto[at - 1]) <= share * n)
            nearer = roundest(float(places.values[near[0] - 1]), float(places.values[near[-1]]))
            moved = int(np.searchsorted(places.values, nearer, side="left"))
            new = [*chosen[:i], moved, *chosen[i + 1 :]]
            if _gain(related, [places.nearest(k) for k in new], places.end, 0.0) >= limit:
                chosen, point = new, nearer
                break
        points.append(point)
    return tuple(points)


def roundest(low: float, high: float) -> float:
    """Return the number in (low, high] that is written shortest; of several the middle one.

    Multiples of 10, 5 and 2 of the largest power of ten that fits are tried in this order.

    >>> roundest(36.2, 41.7), roundest(0.128, 0.131), roundest(12.0, 13.0), roundest(-4.0, 7.0)
    (40.0, 0.13, 13.0, 0.0)
    """
    a, b = Decimal(repr(low)), Decimal(repr(high))
    if a < 0 <= b:
        return 0.0
    power = max(a.copy_abs(), b.copy_abs()).adjusted() + 1
    while True:
        for step in (Decimal(1), Decimal("0.5"), Decimal("0.2")):
            width = step.scaleb(power)
            first = int((a / width).to_integral_value(ROUND_CEILING))
            first += first * width == a
            last = int((b / width).to_integral_value(ROUND_FLOOR))
            if first <= last:
                nearest = min(max(round((a + b) / 2 / width), first), last)
                return float(nearest * width)
        power -= 1


def _spread(upto: Ints, most: int) -> Ints:
    """Return at most ``most`` indices of rising row numbers that part the rows evenly."""
    if len(upto) <= most:
        return np.arange(len(upto))
    targets = upto[0] + (upto[-1] - upto[0]) * np.arange(most) / (most - 1)
    return np.unique(np.searchsorted(upto, targets))


def _x_log_x(counts: Ints) -> Floats:
    positive = np.maximum(counts, 1).astype(np.float64)
    values: Floats = positive * np.log(positive)
    return values
