r"""Cut numbers where they tell most about the other columns: the rule ``mdl``.

Between raw columns and the table. A column X is cut into intervals Λ so that

.. math:: J(Λ) = \sum_{Y ∈ R(X)} \Bigl[ N·I(X_Λ; Y) − \tfrac{\ln N}{2} (|Λ|−1)(r_Y−1) \Bigr]
          − (|Λ|−1) \ln B

is large. The bracket is what BIC gains by an arc between X and Y (I: mutual information in nats,
N: rows in which both are observed), so a cut is made where it pays for the parameters it costs.
The last term is the length of a message that names the cuts among B places: the best of many
places looks good by chance (Fayyad and Irani 1993, for one class column). R(X) are the columns for
which the best J, for that Y alone, is positive: columns that have nothing to do with X would only
add penalty. A column to which none is related is cut at its median.

J splits over intervals, so dynamic programming finds the best Λ with cuts at :data:`PLACES`
quantiles. Every cut is then moved between its neighbours to the best of all places (up to
:data:`FINEST`), cuts that do not pay any more are taken out, and every cut is rounded to the
shortest number within 2 % of the rows that costs at most 1 % of J and one parameter (½ ln N), if
there is one, else to the shortest that changes no row. While X is cut, other columns of
numbers are in quartiles, so that the order of columns does not matter. Nothing is random.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from parentage.data.discretize import Discretizer, Ints, Numbers, codes_of, rows_up_to
from parentage.data.table import class_sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

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

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Cells:
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
    numbers: Numbers | None = None
    most: int = 2
    repeats: Ints | None = None

    def times(self, mask: npt.NDArray[np.bool_]) -> Ints:
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


def of_numbers(numbers: Numbers, most: int, repeats: Ints | None = None) -> Cells:
    """Prepare a column that is to be cut; NaN is a missing cell."""
    present = ~np.isnan(numbers)
    codes = np.full(len(numbers), -1, np.int64)
    if not present.any():
        return Cells(codes, 1, numbers, most, repeats)
    times = None if repeats is None else repeats[present]
    quartiles = Discretizer("quantile", 4).cuts(numbers[present], times)
    codes[present] = codes_of(numbers[present], quartiles)
    return Cells(codes, len(quartiles) + 1, numbers, most, repeats)


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

    values: Numbers
    upto: Ints
    grid: Ints

    @classmethod
    def of(cls, observed: Numbers, repeats: Ints | None = None) -> Places:
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


def mdl_cuts(columns: Sequence[Cells], which: int) -> tuple[float, ...]:
    """Return the cut points of one of the columns.

    >>> x = np.arange(400.0)
    >>> mdl_cuts([of_numbers(x, 8), Cells((x >= 130).astype(np.int64), 2)], 0)
    (130.0,)
    """
    column = columns[which]
    if column.numbers is None:
        raise AssertionError("the column is not to be cut")
    present = ~np.isnan(column.numbers)
    observed = column.numbers[present]
    if not len(observed) or observed.min() == observed.max():
        return ()
    places = Places.of(observed, None if column.repeats is None else column.times(present))
    cost = math.log(len(places.grid))
    related = _related(columns, which, places, cost)
    cuts: list[int] = []
    if related:
        chosen = places.some(PLACES)
        worth = np.sum([relation.worth(chosen) for relation in related], axis=0)
        cuts = [int(chosen[i]) for i in best_cuts(worth, cost, column.most)[1]]
        cuts = _polished(related, cuts, places.end, cost)
    return _rounded(related, cuts or [places.middle()], places)


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


def _related(columns: Sequence[Cells], which: int, places: Places, cost: float) -> list[Relation]:
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
