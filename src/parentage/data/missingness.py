"""Missing values: in which rows they are, what that depends on, and which treatment fits.

Whether a value is missing may be *determined* by another column (a cause of death is missing for
those who live): it is a state then, not a gap. It may *depend* on another column (by BIC, with a
penalty for the number of columns that were tried): then it is not missing completely at random,
which ``pnal`` assumes. In the test a column of many numbers is in quintiles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parentage.data.columns import BLOCK, Column
from parentage.data.settings import WAYS, ways_for_missing
from parentage.errors import Objection, Way, shown_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parentage.arrays import Flags, Floats, Ints

FEW_ROWS = 5
"""In this many rows or fewer, all values may well differ."""

MOSTLY_MISSING = 0.5
"""A column of which a larger share is missing is better left out."""

MUCH_MISSING = 0.2
"""A column with a larger share of missing values has many; ``em`` was measured up to this share."""

FEW_INCOMPLETE = 0.05
"""Up to this share of the rows may be left out: networks of the complete rows were at a distance of
at most 1.3 from that of the complete table, those by ``pnal`` of 3 to 21
(benchmarks/results/missing.md)."""

ENOUGH_ROWS = 0.5
"""Share of the lines that have to stay for dropping the others to be recommended."""

MUCH_IMPUTED = 0.05
"""A column of which a larger share is imputed by its mode may gain or lose arcs by it."""

_MOSTLY_COMPLETE = 0.8
"""With this share of complete rows they are used where ``em`` cannot be: with 10 % of the rows
incomplete their networks were nearer to that of the complete table than those by ``pnal``."""

_MOST_STATES = 20
_QUANTILES = 5
_OBSERVED = 0.9
"""What is missing may be explained by columns of which at least this share is observed."""

_MOST_ROWS, _FEWEST_ROWS, _MOST_CELLS, _MOST_PAIRS = 50_000, 2_000, 10**9, 10**6
"""Rows in which it is looked for, evenly spaced: fewer where there are many pairs of columns. With
more than a million pairs (a second) it is not looked for."""


@dataclass(frozen=True)
class Reason:
    """The column by which some cells are told from others, completely if it ``determines`` them."""

    name: str
    determines: bool


def explained(
    marks: Sequence[tuple[Column, Flags]], columns: Sequence[Column]
) -> list[Reason | None]:
    """Find for cells of a column what marks them: the other column that tells most about it.

    Parameters
    ----------
    marks
        Columns and the rows of each that are marked, such as those where it is missing.
    columns
        Where the reason may be.
    """
    pairs = len(marks) * len(columns)
    if not marks or pairs > _MOST_PAIRS:
        return [None] * len(marks)
    lines = columns[0].stored_rows
    rows = min(lines, max(_FEWEST_ROWS, min(_MOST_ROWS, _MOST_CELLS // pairs)))
    chosen = np.linspace(0, lines - 1, rows).astype(np.int64)
    repeats = columns[0].repeats
    times = repeats[chosen].astype(np.float64) if len(repeats) else np.ones(rows)
    marked = np.array([np.where(flags[chosen], times, 0.0) for _, flags in marks])
    best = [(False, 0.0, "")] * len(marks)
    for column in columns:
        codes, states = _few_states(column, chosen)
        seen = codes >= 0
        if states < 2 or times[seen].sum() < _OBSERVED * times.sum():
            continue
        in_state = (codes[:, None] == np.arange(states)).astype(np.float64)
        every, some = times @ in_state, marked @ in_state
        gains = _information(some, every) - math.log(pairs)
        gains -= math.log(every.sum()) / 2 * (int((every > 0).sum()) - 1)
        exact = ((some == 0) | (some == every)).all(axis=1)
        for k in np.flatnonzero(gains > 0).tolist():
            found = (bool(exact[k]), float(gains[k]), column.name)
            if marks[k][0] is not column and found[:2] > best[k][:2]:
                best[k] = found
    return [Reason(name, exact) if gain > 0 else None for exact, gain, name in best]


def _information(some: Floats, every: Floats) -> Floats:
    """Return the rows times the mutual information of each mark and a state, in nats.

    ``some[k]`` are the marked rows in each state, ``every`` all rows.
    """

    def x_log_x(counts: Floats) -> Floats:
        return np.asarray(counts * np.log(np.maximum(counts, 1.0)), np.float64)

    marked, rows = some.sum(axis=1), every.sum()
    within = x_log_x(some).sum(axis=1) + x_log_x(every - some).sum(axis=1) - x_log_x(every).sum()
    found = within + x_log_x(rows) - x_log_x(marked) - x_log_x(rows - marked)
    return np.asarray(found, np.float64)


def _few_states(column: Column, chosen: Ints) -> tuple[Ints, int]:
    """Return the states of a column in these rows, −1 where missing; none of many labels."""
    codes = column.to_codes()[chosen].astype(np.int64)
    there = np.flatnonzero(column.counts)
    place = np.full(len(column.counts) + 1, -1, np.int64)  # the last serves code −1
    if len(there) <= _MOST_STATES:
        place[there] = np.arange(len(there))
        return place[codes], len(there)
    if column.numbers is None:
        return codes, 0
    order = np.argsort(column.numbers)
    upto = np.cumsum(column.counts[order])
    place[order] = np.minimum(_QUANTILES * (upto - 1) // max(int(upto[-1]), 1), _QUANTILES - 1)
    return place[codes], _QUANTILES


def where_missing(gaps: Sequence[Column], columns: Sequence[Column]) -> dict[str, Reason]:
    """Return by column on which other one it depends whether a value is missing, where on any."""
    found = explained([(column, ~column.present) for column in gaps], columns)
    pairs = zip(gaps, found, strict=True)
    return {column.name: reason for column, reason in pairs if reason is not None}


def better_left_out(
    gaps: Sequence[Column], reasons: Mapping[str, Reason], ways: Sequence[str]
) -> list[Objection]:
    """Recommend to leave out columns that are mostly missing, or not applicable in some rows.

    Missing can be a state instead if another column determines every gap; and of those that are not
    mostly missing if it is what is recommended (of these ``ways``) for the gaps that are left.
    """
    determined = {name for name, reason in reasons.items() if reason.determines}
    if len(determined) == len(gaps):
        return []
    left = [c for c in gaps if c.name not in determined and not _mostly_missing(c)]
    if left and advice_on_missing(left, reasons, ways)[0] == "state":
        determined = {c.name for c in gaps if c.name in determined and _mostly_missing(c)}
    found = []
    for column in gaps:
        name, share = column.name, column.n_missing / column.n_rows
        seen = f"has {share:.0%} of its values missing"
        if name in determined:
            seen = f"{seen}, which {reasons[name].name!r} determines: probably not applicable there"
        elif not _mostly_missing(column):
            continue
        way = Way("drop", [name])
        others = (*ways_for_missing(["state"]), Way("keep", [name], "to use it as it is"))
        found.append(Objection(name, seen, (way, *others), (way,), refused=True))
    return found


def _mostly_missing(column: Column) -> bool:
    return column.n_missing > MOSTLY_MISSING * column.n_rows


def imputed(columns: Sequence[Column]) -> list[Objection]:
    """Name the columns whose arcs may come from imputing the mode.

    Those with a large share of missing values, and those that are missing in the same rows: all of
    these rows get the same states, which looks like a dependence.
    """
    ways = tuple(ways_for_missing(["em", "pnal"]))
    gaps = [column for column in columns if column.n_missing]
    share = f"{MUCH_IMPUTED:.0%}"
    much = f"has more than {share} of its values imputed with one state; this can create arcs"
    found = [
        Objection(column.name, much, ways)
        for column in gaps
        if column.n_missing > MUCH_IMPUTED * column.n_rows
    ]
    together, rows = missing_together(gaps)
    seen = f"is missing in the same rows as others (up to {rows}); imputing them can create arcs"
    return found + [Objection(column.name, seen, ways) for column in together]


def advice_on_missing(
    gaps: Sequence[Column], reasons: Mapping[str, Reason], ways: Sequence[str]
) -> tuple[str, str]:
    """Recommend one of these ways to treat missing values, with the reason."""
    left, n_rows = n_complete(gaps), gaps[0].n_rows
    share_left = left / n_rows
    determined = [c.name for c in gaps if c.name in reasons and reasons[c.name].determines]
    if len(determined) == len(gaps):
        return "state", f"because {_depending(determined, reasons)} (probably not applicable)"
    if n_rows - left <= FEW_INCOMPLETE * n_rows:
        return "drop", f"because {left:,} of {n_rows:,} rows are complete"
    if "pnal" not in ways and "em" not in ways:
        if share_left >= ENOUGH_ROWS:
            why = f"because only complete rows can be used, {share_left:.0%} of them"
            return "drop", why + _apart("drop", gaps, reasons)
        why = f"because only {share_left:.0%} of the rows are complete"
        return "state", why + _apart("state", gaps, reasons)
    depending = _depending([c.name for c in gaps if c.name in reasons], reasons)
    most = max(gaps, key=lambda column: column.n_missing)
    share = most.n_missing / most.n_rows
    together, rows = missing_together(gaps)
    if share > MUCH_MISSING or together:
        why = f"because {share:.0%} of {most.name!r} is missing"
        if share <= MUCH_MISSING:
            names = shown_names([column.name for column in together], 4)
            why = f"because they are missing together ({names} in up to {rows} rows)"
        if depending:
            return "state", f"{why}, and {depending}"
        return "pnal" if "pnal" in ways else "em", why
    why = f"because they are few (at most {share:.1%} of a column)"
    why = f"{why}; {depending}" if depending else f"{why} and scattered"
    if "em" in ways:
        return "em", why
    if share_left >= _MOSTLY_COMPLETE:
        complete = f"because {share_left:.0%} of the rows are complete"
        return "drop", complete + _apart("drop", gaps, reasons)
    best = "state" if depending else "pnal"
    return best, why + _apart(best, gaps, reasons)


def _apart(best: str, gaps: Sequence[Column], reasons: Mapping[str, Reason]) -> str:
    """Say which treatment is recommended for the command learn with score bic, if another."""
    usual, _ = advice_on_missing(gaps, reasons, WAYS)
    if usual == best:
        return ""
    return f"; learn with score bic uses {usual} here, and may find a different network"


def _depending(names: Sequence[str], reasons: Mapping[str, Reason]) -> str:
    """Say on what it depends whether values are missing; nothing of no columns."""
    if not names:
        return ""
    first, *others = names
    reason = reasons[first]
    verb = "is determined by" if reason.determines else "depends on"
    more = f" (similarly {shown_names(others, 4)})" if others else ""
    return f"whether {first!r} is missing {verb} {reason.name!r}{more}"


def n_complete(gaps: Sequence[Column]) -> int:
    """Return the number of rows in which none of these columns is missing."""
    complete = np.logical_and.reduce([column.present for column in gaps])
    repeats = gaps[0].repeats
    return int(repeats[complete].sum() if len(repeats) else complete.sum())


def missing_together(gaps: Sequence[Column]) -> tuple[list[Column], int]:
    """Return the columns that are missing in the same rows as another, and the most such rows.

    Two columns are missing together if more than ``FEW_ROWS`` rows lack both, which are half of
    the rows that lack one of them, and twice as many as there would be by chance.
    """
    if not gaps:
        return [], 0
    lines, repeats, n_rows = gaps[0].stored_rows, gaps[0].repeats, gaps[0].n_rows
    both, block = np.zeros((len(gaps), len(gaps)), np.int64), BLOCK // len(gaps) + 1
    for first in range(0, lines, block):
        absent = np.array([c.part(first, first + block) < 0 for c in gaps], np.float32)
        times = repeats[first : first + block].astype(np.float64) if len(repeats) else 1
        both += ((absent * times) @ absent.T).astype(np.int64)
    single = both.diagonal()
    alike = (both > FEW_ROWS) & (2 * both >= np.minimum.outer(single, single))
    alike &= both * n_rows >= 2 * np.multiply.outer(single, single)
    np.fill_diagonal(alike, False)
    found = [column for column, others in zip(gaps, alike, strict=True) if others.any()]
    return found, int(both[alike].max(initial=0))
