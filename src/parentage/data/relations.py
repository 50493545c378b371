"""Columns that follow from others: found after columns that are not what they seem.

=============  ====================================================================================
duplicate      a column with the values of an earlier one, or whose states go with its states one to
               one; of two quantities only if both rise, or one falls where the other rises, because
               otherwise their cut points separate different rows
another scale  a quantity on a straight line with an earlier one, up to rounding: grams and pounds,
               hours asleep and hours awake
intervals      states that are intervals of a quantity: low birth weight and birth weight
=============  ====================================================================================

The first two are better left out. Of the third nothing is recommended: the question decides which
column to keep, and a quantity may separate states that were not computed from it. Fewer than 20
rows show nothing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from parentage.data.columns import BLOCK, Column, equal_cells
from parentage.data.suspicion import MANY_STATES, dropped, kept
from parentage.errors import Objection, Way, shown_names

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from parentage.arrays import Floats, Ints

_LEAST_ROWS = 20
"""Two columns of fewer rows may go together by chance."""

_STRAIGHT = 0.99999
"""Absolute correlation of two quantities that differ by scale and rounding only. In 723 tables it
was at least 0.999998 for such, at most 0.99997 for others (a spot rate and a forward rate)."""

_CHANCE = 1e-6
"""Largest probability that states are intervals of a quantity by chance, for all pairs together."""

_MOST_PAIRS = 10_000
"""With more pairs of a quantity and a column of states (half a second) intervals are not looked
for; with more quantities than a tenth of it, scales are not."""

_MOST_ROWS = 2_000
"""Rows, evenly spaced, in which pairs are compared first."""


def follow_from_others(columns: Sequence[Column], quantities: Collection[str]) -> list[Objection]:
    """Name the columns that follow from another one; ``quantities`` are to be discretised."""
    if not columns or columns[0].stored_rows < _LEAST_ROWS:
        return []
    found = _duplicates(columns, quantities)
    gone = {one.column for one in found}
    left = [column for column in columns if column.name not in gone]
    cut = [c for c in left if c.name in quantities and c.numbers is not None and _varies(c)]
    found += _on_another_scale(cut)
    gone = {one.column for one in found}
    cut = [column for column in cut if column.name not in gone]
    return found + _intervals(cut, [c for c in left if c.name not in quantities and _varies(c)])


def _varies(column: Column) -> bool:
    return bool(np.count_nonzero(column.counts) > 1)


def _duplicates(columns: Sequence[Column], quantities: Collection[str]) -> list[Objection]:
    """Name columns that say the same as an earlier one: their values go together one to one.

    Values that occur less than twice on average may do so by chance, unless they are equal.
    """
    by_sizes: dict[tuple[int, ...], list[Column]] = {}
    for column in columns:
        sizes = tuple(sorted(column.counts[column.counts > 0].tolist()))
        if 1 < len(sizes) < column.n_present:
            by_sizes.setdefault((column.n_missing, *sizes), []).append(column)
    found = []
    for alike in by_sizes.values():
        for i, column in enumerate(alike[1:], 1):
            twin = next((c for c in alike[:i] if _same(c, column, quantities)), None)
            repeats = 2 * np.count_nonzero(column.counts) <= column.n_present
            if twin is not None and (repeats or equal_cells(twin, column)):
                equal = equal_cells(twin, column)
                also = f"and {twin.name!r} determine each other"
                found.append(_superfluous(column, f"duplicates {twin.name!r}" if equal else also))
    return found


def _superfluous(column: Column, seen: str) -> Objection:
    ways = (dropped(column.name), kept(column.name))
    return Objection(column.name, seen, ways, ways[:1])


def _same(one: Column, other: Column, quantities: Collection[str]) -> bool:
    """Whether the values of two columns go together one to one, of quantities in order."""
    partner = np.full(len(one.values) + 1, -2, np.int64)  # the last entry serves code −1
    for first in range(0, one.stored_rows, BLOCK):
        a, b = one.part(first, first + BLOCK), other.part(first, first + BLOCK)
        seen, where = np.unique(a, return_index=True)
        partner[seen] = np.where(partner[seen] == -2, b[where], partner[seen])
        if bool((partner[a] != b).any()):
            return False
    used = np.flatnonzero(partner != -2)
    if len(np.unique(partner[used])) < len(used):
        return False
    if one.numbers is None or other.numbers is None:
        return True
    if not {one.name, other.name}.issubset(quantities):
        return True
    there = np.flatnonzero(partner[:-1] >= 0)
    pairs = np.stack([one.numbers[there], other.numbers[partner[there]]], axis=1)
    own, its = np.diff(np.unique(pairs, axis=0), axis=0).T  # 1 and 1.0 are the same number
    return bool((own > 0).all() and ((its > 0).all() or (its < 0).all()))


def _rows(column: Column, chosen: Ints) -> Floats:
    """Return the numbers of a column in these rows; NaN where missing."""
    numbers = np.empty(0) if column.numbers is None else column.numbers
    return np.append(numbers, np.nan)[column.to_codes()[chosen]]


def _spaced(n_rows: int, most: int) -> Ints:
    return np.linspace(0, n_rows - 1, min(n_rows, most)).astype(np.int64)


def _on_another_scale(columns: Sequence[Column]) -> list[Objection]:
    """Name quantities that lie on a straight line with an earlier one, where both are known."""
    found: list[Objection] = []
    if not 2 <= len(columns) <= _MOST_PAIRS // 10:
        return found
    few = _correlations([_rows(c, _spaced(c.stored_rows, _MOST_ROWS)) for c in columns])
    gone = set[int]()
    for i, j in np.argwhere(np.triu(np.abs(few) >= _STRAIGHT, 1)).tolist():
        one, other = columns[i], columns[j]
        if {i, j} & gone or not np.array_equal(one.present, other.present):
            continue
        every = np.arange(one.stored_rows)
        r = float(_correlations([_rows(one, every), _rows(other, every)])[0, 1])
        if abs(r) >= _STRAIGHT:
            gone.add(j)
            seen = f"is {one.name!r} on another scale (correlation {'-' * (r < 0)}1)"
            found.append(_superfluous(other, seen))
    return found


def _correlations(rows: Sequence[Floats]) -> Floats:
    """Return the correlations of quantities; missing values are at the mean."""
    centred = np.array([_centred(x) for x in rows])
    norms = np.sqrt((centred**2).sum(axis=1, keepdims=True))
    scaled = np.divide(centred, norms, out=np.zeros_like(centred), where=norms > 0)
    return np.asarray(scaled @ scaled.T, np.float64)


def _centred(numbers: Floats) -> Floats:
    """Return the differences from the mean, in units of the largest number; 0 where missing."""
    known = ~np.isnan(numbers)
    some = numbers[known] / (np.abs(numbers[known]).max(initial=0.0) or 1.0)
    found = np.zeros(len(numbers))
    found[known] = some - some.sum() / max(len(some), 1)
    return found


def _intervals(quantities: Sequence[Column], labelled: Sequence[Column]) -> list[Objection]:
    """Name columns whose states are intervals of a quantity."""
    labelled = [c for c in labelled if np.count_nonzero(c.counts) <= MANY_STATES]
    pairs = len(quantities) * len(labelled)
    if not 0 < pairs <= _MOST_PAIRS:
        return []
    by_label: dict[str, list[str]] = {}
    some = _spaced(quantities[0].stored_rows, _MOST_ROWS)
    few = [column.to_codes()[some] for column in labelled]
    for quantity in quantities:
        numbers, order = _in_order(quantity, some)
        for column, codes in zip(labelled, few, strict=True):
            if _are_intervals(codes[order], numbers, pairs):
                every = np.arange(quantity.stored_rows)
                all_numbers, place = _in_order(quantity, every)
                if _are_intervals(column.to_codes()[place], all_numbers, pairs):
                    by_label.setdefault(column.name, []).append(quantity.name)
    found = []
    for name, which in by_label.items():
        seen = (
            f"may be computed from {shown_names([repr(one) for one in which], 3)}: its states are "
            "intervals of it; then an arc between them is not a finding"
        )
        ways = (Way("drop", [name]), Way("drop", which, "to leave one side out"))
        found.append(Objection(name, seen, ways))
    return found


def _in_order(quantity: Column, chosen: Ints) -> tuple[Floats, Ints]:
    """Return the numbers of a quantity in these rows, rising, and their places; none missing."""
    numbers = _rows(quantity, chosen)
    order = np.argsort(numbers, kind="stable")[: np.count_nonzero(~np.isnan(numbers))]
    return numbers[order], order


def _are_intervals(codes: Ints, numbers: Floats, pairs: int) -> bool:
    """Whether states do not come back while numbers rise, and would rarely do so by chance."""
    known = codes >= 0
    codes, numbers = codes[known], numbers[known]
    changes = np.flatnonzero(np.diff(codes))
    sizes = np.unique(codes, return_counts=True)[1]
    if len(changes) != len(sizes) - 1 or not (numbers[changes] < numbers[changes + 1]).all():
        return False
    orders = math.lgamma(len(codes) + 1) - sum(math.lgamma(n + 1) for n in sizes.tolist())
    return orders - math.lgamma(len(sizes) + 1) > math.log(pairs / _CHANCE)
