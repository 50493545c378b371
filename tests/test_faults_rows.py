"""Many rows: what is called a tie is one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from parentage.data.table import Table
from parentage.scoring.candidates import score
from parentage.scoring.scores.fixed_point import FixedPoint
from solving import learn_lists

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = 10**6


def test_an_arc_that_gains_a_little_is_found_among_a_million_rows() -> None:
    """The tolerance there was 0.0002: no arc was called the proven optimum."""
    counts = next(cells for cells in tables_of_four() if 5e-5 < gain_of(cells) < 1.5e-4)
    a, b = np.repeat([0, 0, 1, 1], counts), np.repeat([0, 1, 0, 1], counts)
    table = Table(("a", "b"), (("0", "1"), ("0", "1")), np.array([a, b], np.uint16))
    lists = score(table)
    assert lists.known().tolerance < 1e-7
    solution = learn_lists(lists)
    assert len(solution.network.arcs) == 1
    assert solution.score - lists["a"][-1].score - lists["b"][-1].score == pytest.approx(
        gain_of(counts), abs=1e-6
    )


def tables_of_four() -> Iterator[list[int]]:
    """Yield counts of two columns about as dependent as the penalty of an arc is worth."""
    for tilt in range(1000):
        for more in range(900, 960):
            low, high = ROWS // 4 - more, ROWS // 4 + more
            yield [high + tilt, low, low, high - tilt]


def gain_of(cells: list[int]) -> float:
    """BIC of an arc over none."""
    n00, n01, n10, n11 = cells
    margins = [n00 + n01, n10 + n11, n00 + n10, n01 + n11]
    information = math.fsum(n * math.log(n) for n in [*cells, ROWS]) - math.fsum(
        n * math.log(n) for n in margins
    )
    return information - math.log(ROWS) / 2


@pytest.mark.parametrize("rows", [100, 10_000, 20_000])
def test_ordinary_tables_keep_their_grid(rows: int) -> None:
    plain = FixedPoint.fit(rows, 3.0, 4)
    asked = FixedPoint.fit(rows, 3.0, 4, 0.0, lambda: 7)
    assert (plain.scale, plain.unit, plain.tolerance) == (asked.scale, asked.unit, asked.tolerance)
    assert math.log2(plain.scale).is_integer()


@pytest.mark.parametrize("rows", [10**5, 10**6])
@pytest.mark.parametrize("w", [0.5, 8.059, 123.4])
def test_the_tolerance_covers_rounding(rows: int, w: float) -> None:
    grid = FixedPoint.fit(rows, w, 4, 0.0, lambda: 16)
    assert grid.tolerance / grid.scale < 1e-6
    assert grid.unit / grid.scale == pytest.approx(w, rel=1e-15)
    counts = np.random.default_rng(1).multinomial(rows, np.ones(16) / 16)
    exact = math.fsum(int(n) * math.log(int(n)) for n in counts)
    assert abs(grid.f[counts].sum() / grid.scale - exact) < grid.tolerance / grid.scale + 1e-7


def test_many_distinct_rows_are_told() -> None:
    few = FixedPoint.fit(10**6, 7.0, 4, 0.0, lambda: 10)
    many = FixedPoint.fit(10**6, 7.0, 4, 0.0, lambda: 10**6)
    assert few.tolerance < 1000 < many.tolerance <= 1.5 * 10**6 + 1000
