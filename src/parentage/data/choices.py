"""What was asked for each column, with names looked up. Before columns are looked into.

On the command line a name may stand alone, several between commas, or before ``=``; names may hold
commas and ``=`` themselves. So what is typed is compared with the names that are there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parentage.data.discretize import Discretizer
from parentage.data.settings import EVERY, NONE, Reading
from parentage.errors import InputError, TableError, Way, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True)
class Choice:
    """What was asked for one column.

    Parameters
    ----------
    dropped, kept
        Left out; kept whatever it looks like.
    na
        Values that mean missing in this column.
    categorical
        Its numbers are categories; ``by_name``: because the column itself was named.
    rule
        How it is cut if it is continuous, or whatever it is if ``by_name``.
    by_name
        The rule or the category was asked for this column, not for all.
    """

    dropped: bool
    kept: bool
    na: tuple[str, ...]
    categorical: bool
    rule: Discretizer | None
    by_name: bool


def choices_of(reading: Reading, names: Sequence[str]) -> dict[str, Choice]:
    """Look up what was asked for; names that are not there are refused."""
    dropped = set(named_columns(reading.drop, names, "drop"))
    kept = set(named_columns(reading.keep, names, "keep"))
    if both := dropped & kept:
        raise InputError(f"column {min(both)!r} is both dropped and kept")
    every = EVERY in reading.categorical and EVERY not in names
    listed = [name for name in reading.categorical if not (every and name == EVERY)]
    categories = set(named_columns(listed, names, "categorical"))
    general, rules = _rules(reading.discretize or (), names)
    if both := categories & set(rules):
        raise InputError(
            f"column {min(both)!r} is to be cut and to be taken as categories; choose one"
        )
    if reading.counts in dropped | kept | categories | set(rules):
        raise InputError(
            f"column {reading.counts!r} holds counts, and is to be something else as well; "
            "choose one"
        )
    everywhere, by_column = missing_values(reading.na or (), names)
    return {
        name: Choice(
            dropped=name in dropped,
            kept=name in kept,
            na=(*everywhere, *by_column.get(name, ())),
            categorical=name in categories or (every and name not in rules),
            rule=rules.get(name, general),
            by_name=name in rules or name in categories,
        )
        for name in names
    }


def named_columns(given: Iterable[str], names: Sequence[str], setting: str) -> list[str]:
    """Return the columns that are named, alone or several between commas.

    >>> named_columns(["a,b", "c,d"], ["a", "b", "c,d"], "drop")
    ['a', 'b', 'c,d']
    """
    verbs = {"drop": "to drop", "keep": "to keep", "categorical": "to take as categories"}
    known, found = set(names), list[str]()
    for text in given:
        parts = [text] if text in known else [part.strip() for part in text.split(",")]
        if len(parts) > 1 and not any(part in known for part in parts):
            parts = [text]
        for name in parts:
            if name not in known:
                raise TableError(
                    f"no column {name!r} {verbs[setting]}; {did_you_mean(name, names)}"
                )
            found.append(name)
    return found


def _rules(
    given: Iterable[str], names: Sequence[str]
) -> tuple[Discretizer | None, dict[str, Discretizer]]:
    """Return the rule for all continuous columns (the last one given) and those by column."""
    general: str | None = None
    by_name: dict[str, Discretizer] = {}
    for text in given:
        name, equals, rule = text.rpartition("=")
        if not equals:
            general = text
        elif name not in names:
            raise TableError(f"no column {name!r} to cut; {did_you_mean(name, names)}")
        else:
            by_name[name] = Discretizer.parse(rule, column=name)
    return None if general is None else Discretizer.parse(general), by_name


def missing_values(
    given: Iterable[str], names: Sequence[str]
) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """Return the values that mean missing everywhere, and those by column."""
    everywhere, by_column = list[str](), dict[str, tuple[str, ...]]()
    known = set(names)
    for text in given:
        places = [i for i, character in enumerate(text) if character == "="]
        at = next((i for i in places if text[:i] in known), None)
        if at is not None:
            name, value = text[:at], text[at + 1 :].strip()
            by_column[name] = (*by_column.get(name, ()), value)
        elif places and places[0] > 0:
            name = text[: places[0]]
            raise InputError(
                f"has no column {name!r}; {did_you_mean(name, names)}", about=Way("na", text)
            )
        elif text != NONE:
            everywhere.append(text.strip())
    return tuple(everywhere), by_column
