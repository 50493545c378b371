"""Make a failing case small: leave out what does not matter for the failure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from fuzz.truth import Question

Items = TypeVar("Items", bytes, list[tuple[int, ...]])

MOST_TRIES = 2000


def smallest(items: Items, fails: Callable[[Items], bool]) -> Items:
    """Delta debugging: leave out ever smaller blocks while it still fails."""
    block, tries = max(1, len(items) // 2), 0
    while block and tries < MOST_TRIES:
        at = 0
        while at < len(items) and tries < MOST_TRIES:
            fewer = items[:at] + items[at + block :]
            tries += 1
            if fails(fewer):
                items = fewer
            else:
                at += block
        block //= 2
    return items


def failing(check: Callable[[Any], None], kind: type[BaseException]) -> Callable[[Any], bool]:
    """Turn a check into a question: does it still fail in the same way?"""

    def fails(case: Any) -> bool:
        try:
            check(case)
        except kind:
            return True
        except Exception:  # another failure than the one at hand
            return False
        return False

    return fails


def small_question(question: Question, fails: Callable[[Question], bool]) -> Question:
    """Leave out rows, then what is asked besides."""

    def of_rows(rows: list[tuple[int, ...]]) -> Question:
        columns = tuple(zip(*rows, strict=True))
        return replace(question, columns=columns)

    rows: list[tuple[int, ...]] = list(zip(*question.columns, strict=True))
    rows = smallest(rows, lambda fewer: len(fewer) > 1 and fails(of_rows(fewer)))
    question = of_rows(rows)
    plain: tuple[dict[str, Any], ...] = (
        {"required": ()}, {"forbidden": ()}, {"tiers": ()}, {"caps": ()}, {"width": None},
        {"most": None}, {"beliefs": ()}, {"default": 0.5}, {"rules": None}, {"threads": 1},
        {"log_base": None}, {"engine": "auto"}, {"counted": False},
    )  # fmt: skip
    for change in plain:
        simpler = replace(question, **change)
        if fails(simpler):
            question = simpler
    return question
