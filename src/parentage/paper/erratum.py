"""One erratum as data, and the words that errata share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parentage.paper.published import DATASETS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parentage.paper.reproduction import Reproduction


@dataclass(frozen=True)
class Erratum:
    """One departure: what, why, how much, in plain text, and a small table."""

    key: str
    title: str
    paragraphs: tuple[str, ...]
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def at_hand(result: Reproduction) -> str:
    """Say how many tables a number is about."""
    have, of = len(result.tables), len(DATASETS)
    return f"all {of} tables" if have == of else f"{have} of {of} tables at hand"


def number(count: int, noun: str) -> str:
    """Count things.

    >>> number(1, "row"), number(3, "row")
    ('1 row', '3 rows')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"


def none_or(count: int) -> str:
    """Write 0 as a word."""
    return "none" if count == 0 else str(count)


def percent(share: float) -> str:
    """Write a share in whole percent."""
    return f"{100 * share:.0f} %"


def slashed(numbers: Sequence[int]) -> str:
    """Write numbers side by side.

    >>> slashed((22, 21, 11))
    '22/21/11'
    """
    return "/".join(map(str, numbers))
