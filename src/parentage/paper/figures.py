"""Figures 1 and 2: how much more two rules prune than Alg1 alone, over all tables.

Quartiles by linear interpolation, whiskers at the extremes, 0/0 counted as 1.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from parentage.paper.published import FIGURES, IN_DEGREES, STATISTICS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from parentage.paper.counts import Counts

Statistics = dict[str, float]
"""By name, in the order of :data:`STATISTICS`."""
Ratios = dict[int, dict[int, list[float]]]
"""By figure and in-degree, one ratio per table."""


def ratio(more: int, less: int) -> float:
    """Return how many times more; 0/0 counts as 1.

    >>> ratio(154, 114) > 1, ratio(0, 0), ratio(3, 0)
    (True, 1.0, inf)
    """
    if less == 0:
        return 1.0 if more == 0 else math.inf
    return more / less


def ratios_of(counts: Iterable[Counts]) -> Ratios:
    """Return the ratios behind both figures."""
    tables = list(counts)
    return {
        figure: {k: [ratio(c[k][more], c[k][less]) for c in tables] for k in IN_DEGREES}
        for figure, (more, less) in FIGURES.items()
    }


def statistics_of(values: Sequence[float]) -> Statistics:
    """Return what a box shows: extremes, quartiles, mean.

    >>> statistics_of([1.0, 2.0, 4.0])
    {'min': 1.0, 'q1': 1.5, 'median': 2.0, 'q3': 3.0, 'max': 4.0, 'mean': 2.3333333333333335}
    """
    with np.errstate(invalid="ignore"):  # infinite ratios, if any, have no quartiles between them
        quartiles = [float(q) for q in np.quantile(values, (0.25, 0.5, 0.75))]
    low, high, mean = min(values), max(values), float(np.mean(values))
    return dict(zip(STATISTICS, (low, *quartiles, high, mean), strict=True))
