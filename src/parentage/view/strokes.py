"""How an arc is drawn: as wide as what it gains, as strong as its support. Also for dot files."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from parentage.scoring.constraints import Arc

NARROW, WIDE, PLAIN = 1.0, 6.0, 1.5
FAINTEST = 0.2


def stroke_widths(
    arcs: Iterable[Arc], gains: Mapping[Arc, float] | None = None
) -> dict[Arc, float]:
    """Return a width for every arc: the square root of its gain, the largest gain drawn widest.

    Without gains every arc is plain; an arc that gains nothing is narrow, and one whose gain is
    not known or infinite is as wide as the widest.

    >>> stroke_widths([("a", "b"), ("a", "c")], {("a", "b"): 100.0, ("a", "c"): 4.0})
    {('a', 'b'): 6.0, ('a', 'c'): 2.0}
    """
    if not gains:
        return dict.fromkeys(arcs, PLAIN)
    largest = max((g for g in gains.values() if math.isfinite(g)), default=0.0)
    return {arc: _width(gains.get(arc, math.inf), largest) for arc in arcs}


def _width(gain: float, largest: float) -> float:
    if not math.isfinite(gain) or gain >= largest:
        return WIDE
    return NARROW + (WIDE - NARROW) * math.sqrt(max(gain, 0.0) / largest)


def opacity_of(support: float | None) -> float:
    """Return how strongly an arc is drawn: fully at 1 or when nothing is known, faintly at 0.

    >>> opacity_of(None), opacity_of(1.0), opacity_of(0.25), opacity_of(0.0)
    (1.0, 1.0, 0.4, 0.2)
    """
    if support is None or not math.isfinite(support):
        return 1.0
    return FAINTEST + (1 - FAINTEST) * min(1.0, max(0.0, support))
