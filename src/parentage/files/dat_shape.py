"""The shape of blip's .dat tables: names, cardinalities, rows of codes, all separated by blanks.

Shared by what recognises the format (:mod:`parentage.files.detect`) and what reads it
(:mod:`parentage.data.formats.dat`).
"""

from __future__ import annotations

_HEAD = 1_000_000
Line = tuple[int, list[str]]
"""A line's number and its tokens."""


def looks_like_dat(text: str) -> bool:
    """Tell whether the first lines are names, cardinalities and codes below them."""
    lines = first_lines(text)
    if not has_shape(lines) or any(separator in text.split("\n", 1)[0] for separator in ",;\t|"):
        return False
    _, (_, cards), *rows = without_counts(lines)
    limits = [int(card) for card in cards]
    return len(limits) > 1 and all(
        len(row) == len(limits) and all(map(is_code, row, limits)) for _, row in rows
    )


def has_dat_shape(text: str) -> bool:
    """Tell whether at least the first lines can be names and cardinalities."""
    return has_shape(first_lines(text))


def first_lines(text: str) -> list[Line]:
    """Return the first lines that are not blank, with their numbers; a cut one is left out."""
    lines = text[:_HEAD].split("\n")
    if len(text) > _HEAD:
        lines.pop()
    return [(i, line.split()) for i, line in enumerate(lines[:60], 1) if line.strip()]


def has_shape(lines: list[Line]) -> bool:
    """Tell whether names and as many cardinalities come first."""
    lines = without_counts(lines)
    if len(lines) < 2:
        return False
    (_, names), (_, cards) = lines[:2]
    return len(names) == len(cards) and all(map(_is_whole, cards)) and "0" not in cards


def without_counts(lines: list[Line]) -> list[Line]:
    """Leave out the two counts of the older dialect."""
    if len(lines) < 4 or not all(
        len(lines[i][1]) == 1 and _is_whole(lines[i][1][0]) for i in (0, 3)
    ):
        return lines
    n_variables = int(lines[0][1][0])
    if len(lines[1][1]) == len(lines[2][1]) == n_variables > 1:
        return [*lines[1:3], *lines[4:]]
    return lines


def _is_whole(token: str) -> bool:
    return token.isascii() and token.isdigit() and len(token) < 10


def is_code(cell: str, cardinality: int) -> bool:
    """Tell whether a cell is missing or a code below the cardinality."""
    return cell == "?" or (_is_whole(cell) and int(cell) < cardinality)
