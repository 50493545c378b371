"""What the search, expansion and ``explain`` need of a score: one measure per family of scores.

:mod:`parentage.scoring.measures.measure` says what that is; the catalogue says of which family a
score is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parentage.scoring.measures.missing import MissingMeasure
from parentage.scoring.measures.penalised import PenalisedMeasure
from parentage.scoring.measures.sums import SumMeasure

if TYPE_CHECKING:
    from parentage.scoring.catalogue import Family
    from parentage.scoring.measures.measure import Measure

MEASURES: dict[Family, type[Measure]] = {
    "penalised": PenalisedMeasure,
    "sums": SumMeasure,
    "missing": MissingMeasure,
}
