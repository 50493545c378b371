"""Columns that are probably not what they seem: found and named before anything is made of them.

The table could be used as it is, and what comes out would mean nothing: an identifier has a state
for every row, −999 is not a temperature, a date is not a category. The tests are simple, and each
says what was seen, so that a false alarm is recognised as one.

===================  ==============================================================================
decimal commas       all labels are numbers, some with a comma before the fraction
dates                19 of 20 labels are written as dates
words among numbers  9 of 10 cells are numbers, and more than 20 different ones or fractions
free text            more than 20 labels, every second one of three words or more, and half of the
                     rows have one of their own
identifier           9 of 10 labels differ (in up to 20 rows: all), or whole numbers without gaps or
                     repetition, or with few repetitions under a name that ends in id or nr
counts               whole numbers called Freq, count, n … beside columns that never repeat a row
sentinel             a number such as −999 or 99 that is farther from all others than these are
                     from each other
missing word         a declared state such as NA or n/a
many states          more than 20 labels, on average in fewer than 5 rows each
===================  ==============================================================================

A column of which nearly every label is different, or of counts, is refused unless it was kept by
name. All others are warned about. States that the source declares are believed, and so is what was
asked for a column by name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from parentage.data.columns import BLOCK, Column, dates_in, numbers_in, words_for_missing
from parentage.errors import DataWarning, TableError, Way, warn

if TYPE_CHECKING:
    from collections.abc import Sequence

FEW_ROWS = 5
"""Of so few rows, all values may well differ."""

MANY_STATES = 20
ROWS_A_STATE = 5

MUCH_IMPUTED = 0.05
"""A column of which a larger share is imputed by its mode may gain or lose arcs by it."""

_NEARLY_ALL = 0.9
_DECIMAL_COMMA = re.compile(r"[-+]?\d+(,\d+)?")
_DATE = re.compile(
    r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[./-]\d{1,2}[./-](\d{4}|\d{2})|\d{1,2}[ -][A-Za-z]{3,9}"
    r"[ -]\d{2,4})([ T]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?)?([+-]\d{2}:?\d{2}|Z)?"
)
_NAME_OF_ID = re.compile(r"(?:.*(?:[^A-Za-z]|(?<=[a-z])(?=I)))?(?:ID|id|Id|nr|Nr|NR|uuid|UUID)\.?")
_SENTINELS = frozenset(
    sign * float(str(digit) * length) for sign in (1, -1) for digit in (7, 8, 9)
    for length in range(2, 7)
) | {9.0, -9.0}  # fmt: skip


@dataclass(frozen=True)
class Suspicion:
    """One column, what it looks like, and what to type about it.

    ``refused``: it cannot be a variable as it is; ``quantity``: how to discretise it if it is one.
    """

    column: str
    seen: str
    ways: tuple[Way, ...]
    refused: bool = False
    quantity: tuple[str, ...] = ()


def suspicions_of(
    column: Column, *, labelled: bool, believed: bool, decimal: str = "."
) -> list[Suspicion]:
    """Look at one column.

    Parameters
    ----------
    column
        Its cells.
    labelled
        Its values will be taken as labels, not cut.
    believed
        It was asked for by name: only sentinels are looked for.
    decimal
        What stands before a fraction.
    """
    if not column.n_present:
        return []
    if column.raw.declared or column.raw.numeric is False:
        return [] if believed else _all_different(column) or _missing_words(column)
    found = []
    if not believed and (first := _wrong_kind(column, labelled, decimal)):
        found.append(first)
    if column.numbers is not None:
        found += _sentinels(column)
    if not found and not believed and labelled:
        found += _many_states(column)
    return found


def imputed(columns: Sequence[Column]) -> list[Suspicion]:
    """Name the columns whose arcs may come from imputing the mode.

    Those with a large share of missing values, and those that are missing in the same rows: all of
    these rows get the same states, which looks like a dependence.
    """
    ways = (
        Way("missing", "em", "to complete the data by expectation maximisation"),
        Way("missing", "pnal", "to score every family on the rows where it is complete"),
    )
    gaps = [column for column in columns if column.n_missing]
    share = f"{MUCH_IMPUTED:.0%}"
    much = f"has more than {share} of its values imputed by one state, which can create arcs"
    found = [
        Suspicion(column.name, much, ways)
        for column in gaps
        if column.n_missing > MUCH_IMPUTED * column.n_rows
    ]
    together, rows = missing_together(gaps)
    seen = f"is missing in the same rows as others (up to {rows}); imputing them can create arcs"
    return found + [Suspicion(column.name, seen, ways) for column in together]


def missing_together(gaps: Sequence[Column]) -> tuple[list[Column], int]:
    """Return the columns that are missing in the same rows as another, and the most such rows.

    Two columns are missing together if more than ``FEW_ROWS`` rows lack both, which are half of
    the rows that lack one of them, and twice as many as there would be by chance.
    """
    if not gaps:
        return [], 0
    lines, repeats, n_rows = gaps[0].raw.n_rows, gaps[0].raw.repeats, gaps[0].n_rows
    both, block = np.zeros((len(gaps), len(gaps)), np.int64), BLOCK // len(gaps) + 1
    for first in range(0, lines, block):
        absent = np.array([c.raw.part(first, first + block) < 0 for c in gaps], np.float32)
        times = repeats[first : first + block].astype(np.float64) if len(repeats) else 1
        both += ((absent * times) @ absent.T).astype(np.int64)
    single = both.diagonal()
    alike = (both > FEW_ROWS) & (2 * both >= np.minimum.outer(single, single))
    alike &= both * n_rows >= 2 * np.multiply.outer(single, single)
    np.fill_diagonal(alike, False)
    found = [column for column, others in zip(gaps, alike, strict=True) if others.any()]
    return found, int(both[alike].max(initial=0))


def tell(found: Sequence[Suspicion], n_columns: int) -> None:
    """Warn about columns that are suspicious; refuse the table if one cannot be a variable.

    Of ``n_columns`` at least two must be left by whatever is advised.
    """
    alike: dict[str, list[Suspicion]] = {}
    for one in found:
        if not one.refused:
            alike.setdefault(f"{one.seen} {one.ways}", []).append(one)
    for first, *others in alike.values():
        who = f"column {first.column!r}"
        if others:
            who += f" (and {_shown([other.column for other in others])})"
        ways = [way for way in first.ways if way.setting != "drop" or n_columns > 2]
        warn(DataWarning(f"{who} {first.seen}", *ways))
    refused = [one for one in found if one.refused]
    if not refused:
        return
    seen = ", ".join(f"column {one.column!r} {one.seen}" for one in refused[:10])
    more = f", and {len(refused) - 10} more columns" if len(refused) > 10 else ""
    own: list[Way] = []
    for way in (way for one in refused for way in one.ways):
        own += [way] if way not in own else []
    counted = [one for one in refused if any(way.setting == "counts" for way in one.ways)]
    rest = [one for one in refused if one not in counted]
    keep = [Way("keep", [one.column], "to take it as it is") for one in counted[:1]]
    raise TableError(f"{seen}{more}", *own, *(_ways_around(rest, n_columns) if rest else []), *keep)


def _ways_around(refused: Sequence[Suspicion], n_columns: int) -> list[Way | str]:
    """Say what to type so that at least two columns are left; quantities may be among them."""
    names = [one.column for one in refused]
    others = [one.column for one in refused if not one.quantity]
    it, one_of = ("it", "it") if len(refused) == 1 else ("them", "one")
    ways: list[Way | str] = []
    if n_columns - len(names) >= 2:
        ways.append(Way("drop", names, f"to leave {it} out"))
    if len(others) < len(names) and n_columns - len(others) >= 2:
        kept = [name for name in names if name not in others]
        rules = list(dict.fromkeys(rule for one in refused for rule in one.quantity))
        verb = "it is a quantity" if len(kept) == 1 else "they are quantities"
        cut = Way("discretize", rules[0] if len(rules) == 1 else rules)
        way = Way("keep", kept, also=cut)
        ways.append(replace(Way("drop", others, also=way) if others else way, effect=f"if {verb}"))
    else:
        ways.append(Way("keep", names[:1], f"to take {one_of} as it is"))
    return ways


def counts_in(name: str) -> Suspicion:
    """Say that a column seems to hold counts (:mod:`parentage.data.columns`)."""
    seen = "looks like counts: the other columns never repeat a row"
    way = Way("counts", name, "if it says how often each row occurs")
    return Suspicion(name, seen, (way,), refused=True)


def _shown(names: Sequence[str]) -> str:
    return ", ".join(names[:10]) + (", …" if len(names) > 10 else "")


def _wrong_kind(column: Column, labelled: bool, decimal: str) -> Suspicion | None:
    """Say whether a column holds something else than states or quantities."""
    if column.numbers is not None:
        return _numbered_rows(column, labelled)
    labels = [label for label, n in zip(column.labels(), column.counts, strict=True) if n]
    rows = column.n_present
    most = len(labels) >= (_NEARLY_ALL if rows > MANY_STATES else 1.0) * rows and rows > FEW_ROWS
    name, example = column.name, min(labels)
    if _has_decimal_commas(labels):
        way = Way("decimal", ",", "to read them as numbers")
        example = min(label for label in labels if "," in label)
        seen = f"looks like numbers with decimal commas ({example}), which are taken as labels"
        return Suspicion(name, seen, (way,), refused=most)
    if len(labels) > 2 and sum(map(_is_date, labels)) >= 0.95 * len(labels):
        cut: tuple[Way, ...] = ()
        if dates_in(labels) is not None:
            cut = (Way("discretize", f"{name}=mdl", "to cut it like numbers"),)
        if not most:
            seen = (
                f"holds {len(labels)} dates ({example}), each a state of its own; year, month or "
                "time since then may say more"
            )
            return Suspicion(name, seen, (*cut, Way("drop", [name], "to leave it out")))
        return Suspicion(name, f"holds dates ({example}), nearly all different", cut, refused=True)
    if words := _words_among_numbers(column, decimal):
        shown = ", ".join(repr(word) for word in words)
        way = Way("na", [f"{name}={word}" for word in words], "if that means missing")
        return Suspicion(name, f"holds numbers, apart from {shown}", (way,), refused=most)
    if len(labels) > MANY_STATES and 2 * len(labels) >= rows:
        long = sum(len(label.split()) > 2 for label in labels)
        if 2 * long >= len(labels):
            short = example if len(example) < 30 else example[:29] + "…"
            seen = f"is free text ({len(labels)} different ones in {rows} rows: {short!r})"
            return Suspicion(name, seen, (), refused=True)
    if most:
        count = f"all {rows}" if len(labels) == rows else f"{len(labels)} of {rows}"
        seen = f"is an identifier: {count} values are distinct, such as {example!r}"
        return Suspicion(name, seen, (), refused=True)
    return None


def _numbered_rows(column: Column, labelled: bool) -> Suspicion | None:
    """Say whether whole numbers count the rows, or number them nearly without repetition."""
    rows = column.n_present
    observed = np.empty(0) if column.numbers is None else column.numbers[column.counts > 0]
    if rows <= FEW_ROWS or not (observed == np.floor(observed)).all():
        return None
    distinct = len(np.unique(observed))
    low, high = float(observed.min()), float(observed.max())
    rules = ("mdl", f"{column.name}=mdl") if labelled else ("mdl",)
    if distinct == rows and high - low == rows - 1:
        seen = f"looks like an identifier: it numbers the rows from {low:.0f} to {high:.0f}"
        return Suspicion(column.name, seen, (), refused=True, quantity=rules)
    named = rows > MANY_STATES and _NAME_OF_ID.fullmatch(column.name) is not None
    if named and distinct >= _NEARLY_ALL * rows:
        seen = (
            f"looks like an identifier: {distinct} of {rows} values are distinct, such as {low:.0f}"
        )
        return Suspicion(column.name, seen, (), refused=True, quantity=rules)
    different = _all_different(column) if labelled else []
    return different[0] if different else None


def _all_different(column: Column) -> list[Suspicion]:
    """Say that no value occurs twice."""
    rows = column.n_present
    if rows <= FEW_ROWS or int((column.counts > 0).sum()) < rows:
        return []
    seen = f"has {rows} different values in {rows} rows; an identifier tells nothing about others"
    return [Suspicion(column.name, seen, (Way("drop", [column.name], "to leave it out"),))]


def _sentinels(column: Column) -> list[Suspicion]:
    """Find numbers that stand for something else, far away from those that are quantities."""
    if column.numbers is None:
        return []
    values = column.numbers[column.counts > 0]
    odd = np.isin(values, list(_SENTINELS))
    rest = values[~odd]
    if not odd.any() or len(rest) < 2 or rest.min() == rest.max():
        return []
    low, high = float(rest.min()), float(rest.max())
    far = [v for v in values[odd].tolist() if max(low - v, v - high) > high - low]
    found = []
    for value in sorted(far):
        cells = int(column.counts[column.numbers == value].sum())
        seen = (
            f"holds {value:.0f} in {cells} cell{'' if cells == 1 else 's'}, far from the others "
            f"({low:g} to {high:g})"
        )
        way = Way("na", [f"{column.name}={value:.0f}"], "if it means missing")
        found.append(Suspicion(column.name, seen, (way,)))
    return found


def _missing_words(column: Column) -> list[Suspicion]:
    """Name declared states that are words for missing."""
    counted = zip(column.labels(), column.counts, strict=True)
    words = words_for_missing([label for label, n in counted if n])
    return [
        Suspicion(
            column.name, f"has the state {word!r}", (Way("na", [word], "if it means missing"),)
        )
        for word in sorted(words)
    ]


def _many_states(column: Column) -> list[Suspicion]:
    states, rows = int((column.counts > 0).sum()), column.n_present
    if states <= MANY_STATES or rows >= ROWS_A_STATE * states:
        return []
    seen = f"has {states} states in {rows} rows, too few a state to learn from"
    ways = [Way("drop", [column.name], "to leave it out")]
    if column.numbers is not None:
        ways.insert(0, Way("discretize", f"{column.name}=mdl", "to cut it into fewer"))
    return [Suspicion(column.name, seen, tuple(ways))]


def _has_decimal_commas(labels: Sequence[str]) -> bool:
    """Whether every label, of several, is a number, some with a comma before the fraction."""
    numbers = len(labels) > 2 and all(_DECIMAL_COMMA.fullmatch(label) for label in labels)
    return numbers and any("," in label for label in labels)


def _is_date(label: str) -> bool:
    return _DATE.fullmatch(label) is not None


def _words_among_numbers(column: Column, decimal: str) -> list[str]:
    """Return the few labels that keep a column from being numbers."""
    labels = column.labels()
    numeric = np.array([numbers_in([label], decimal) is not None for label in labels], np.bool_)
    cells = int(column.counts[numeric].sum())
    others = [label for i, label in enumerate(labels) if not numeric[i] and column.counts[i]]
    if len(others) > 5 or cells < _NEARLY_ALL * int(column.counts.sum()):
        return []
    kinds = [label for i, label in enumerate(labels) if numeric[i] and column.counts[i]]
    return (
        sorted(others) if len(kinds) > MANY_STATES or any(decimal in kind for kind in kinds) else []
    )
