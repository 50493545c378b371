"""How large a picture is on paper: widths that journals ask for, and text that can be read there.

A picture is laid out for its width, so that its text comes out at about seven points; where the
network needs more room than that, everything gets smaller together, and ``text_points`` says so.
"""

from __future__ import annotations

import math
import re

from parentage.errors import InputError

WIDTHS = {"column": 89.0, "page": 183.0, "slide": 254.0}
"""Widths by name, in millimetres: one column or both of a journal, a slide."""

POINTS = 72 / 25.4
"""Points in a millimetre."""

SCREEN = 0.75
"""Points of a pixel."""

WANTED = 7 / 13
"""Points of a pixel at which text has seven points."""

_WIDTH = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(mm|cm|in|pt)")
_UNITS = {"mm": 1.0, "cm": 10.0, "in": 25.4, "pt": 1 / POINTS}


def paper_width(size: str) -> float:
    """Return a width in millimetres.

    >>> paper_width("column"), paper_width("12 cm"), round(paper_width("3.5in"), 1)
    (89.0, 120.0, 88.9)
    """
    if size in WIDTHS:
        return WIDTHS[size]
    found = _WIDTH.fullmatch(size.strip().lower())
    width = float(found[1]) * _UNITS[found[2]] if found else math.nan
    if not 20 <= width <= 2000:
        raise InputError(
            f"the size {size!r} is not a width; give {', '.join(WIDTHS)} or one such as 120mm or "
            "3.5in, from 20 to 2000 mm"
        )
    return width


def row_width_for(size: str | None) -> float | None:
    """Return the width in pixels to lay a picture out for; None when no size is asked for."""
    return None if size is None else paper_width(size) * POINTS / WANTED


def scale_for(width: float, size: str | None) -> float:
    """Return the points of a pixel for a picture of this width in pixels.

    A picture is made smaller to fit, never larger than on a screen.

    >>> scale_for(1000.0, None), round(scale_for(1000.0, "page"), 3), scale_for(200.0, "page")
    (0.75, 0.519, 0.75)
    """
    if size is None:
        return SCREEN
    return min(SCREEN, paper_width(size) * POINTS / width)
