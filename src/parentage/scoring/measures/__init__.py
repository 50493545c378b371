"""What the search, expansion and ``explain`` need of a score: one measure per family of scores.

:mod:`parentage.scoring.measures.measure` says what that is; the catalogue says which measure a
score has.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parentage.scoring.measures.measure import Measure
    from parentage.scoring.scores import Score


def measure_for(score: Score) -> type[Measure]:
    """Return the measure of a score.

    >>> from parentage.scoring.scores import parse_score
    >>> measure_for(parse_score("k2")).__name__
    'SumMeasure'
    """
    module, name = score.kind.measure.split(".")
    found: type[Measure] = getattr(import_module(f"{__name__}.{module}"), name)
    return found
