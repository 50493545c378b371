"""Text in boxes without a font at hand: how wide it will be, and where to break it.

Widths are those of a wide sans-serif (DejaVu Sans), so that the text fits whatever font the viewer
has. Names that are too long break at blanks, underscores, hyphens and dots, into three lines at
most; what is still too long loses its middle.
"""

from __future__ import annotations

import re
import unicodedata

FONT_SIZE = 13.0
LINE_HEIGHT = 16.0
LONGEST_LINE = 150.0
MOST_LINES = 3
LONGEST_TEXT = 600

_NARROW, _SLIM, _WIDE = (
    frozenset("iljI|.,:;'! "),
    frozenset('ftrJ()[]{}/\\-"*'),
    frozenset("mwMW@%"),
)
_BREAK = re.compile(r"(?<=[\s_.\-/:,;])")


def text_width(text: str) -> float:
    """Width in pixels that text will not exceed in most fonts.

    >>> text_width("il") < text_width("ab") < text_width("MW")
    True
    """
    return FONT_SIZE * sum(_em(character) for character in text)


def label_lines(name: str) -> list[str]:
    """Break a name into lines that fit.

    >>> label_lines("age"), label_lines("time_since_last_visit_to_the_clinic")
    (['age'], ['time_since_last_', 'visit_to_the_clinic'])
    """
    text = _without_middle(printable(name))
    for count in range(1, MOST_LINES + 1):
        lines = _balanced(text, count)
        if max(text_width(line) for line in lines) <= LONGEST_LINE:
            return lines
    return [_shortened(line) for line in _balanced(text, MOST_LINES)]


def printable(name: str) -> str:
    """Replace characters that cannot be drawn, or written in XML; show an empty name as ∅."""
    shown = "".join(
        " "
        if c.isspace()
        else c
        if c.isprintable() or c == "\u200d"
        else "\N{REPLACEMENT CHARACTER}"
        for c in name
    )
    return shown if shown.strip() else "∅"


def _without_middle(text: str) -> str:
    """Cut a text of which most could not be shown anyway: fitting it would take for ever."""
    half = LONGEST_TEXT // 2
    return text if len(text) <= LONGEST_TEXT else f"{text[:half]}…{text[-half:]}"


def _balanced(text: str, count: int) -> list[str]:
    """Break at word ends into so many lines, each about as wide as the others."""
    words = [word for word in _BREAK.split(text) if word]
    lines = [""]
    share = text_width(text) / count
    done = 0.0
    for word in words:
        middle = done + text_width(word) / 2
        if lines[-1] and middle > share * len(lines) and len(lines) < count:
            lines.append("")
        lines[-1] += word
        done += text_width(word)
    return [line.strip() for line in lines if line.strip()]


def _shortened(line: str) -> str:
    keep = len(line)
    short = line
    while text_width(short) > LONGEST_LINE and keep > 2:
        keep -= 1
        short = line[: (keep + 1) // 2] + "…" + line[len(line) - keep // 2 :]
    return short


def _em(character: str) -> float:
    if character in _NARROW:
        return 0.34
    if character in _SLIM:
        return 0.44
    if character in _WIDE:
        return 0.97
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.02
    if character.isupper():
        return 0.72
    return 0.63 if character.isascii() else 0.72
