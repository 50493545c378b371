"""The unit of ``--effort``: work as nominal seconds of one core, by definition.

The numbers are fixed. They were close to what work took on one machine when they were written down,
and they are not a forecast (:mod:`parentage.scoring.search.forecast`): a result that is promised to
repeat with the same effort may not change when a forecast becomes better.
"""

from __future__ import annotations

PER_SET = 6e-7
"""Nominal seconds for counting one set, whatever the rows."""

PER_SET_AND_ROW = 1.1e-10
"""Nominal seconds that each row adds to counting one set."""

PER_LOOK = 5e-9
"""Nominal seconds for looking at one set in the order search."""

PER_SET_LAID = 5e-8
"""Nominal seconds for putting one set where the order search finds it."""

PER_STEP = 6e-10
"""Nominal seconds for one unit of the solver's work (:mod:`parentage.optimise.tuning`)."""

PER_SET_SOLVED = 1e-5
"""Nominal seconds for listing one set and preparing it for the solver."""


def of_counting(sets: int, n_rows: int) -> float:
    """Return the effort of counting sets.

    >>> of_counting(1000, 1000)
    0.00071
    """
    return sets * (PER_SET + PER_SET_AND_ROW * n_rows)
