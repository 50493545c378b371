"""Fixed point and encoding: what fits in 64 bits and in memory, and what is refused."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from parentage.errors import ResourceError
from parentage.kernels.packing import BitMatrix, Groups, pack
from parentage.scoring.candidates import score
from parentage.scoring.encoding import encode
from parentage.scoring.scores.fixed_point import MOST_PARAMETERS, FixedPoint, ln
from parentage.work import memory
from strategies import make_table, naive_of, random_columns


@pytest.mark.parametrize(
    ("rows", "w", "states", "gap", "message"),
    [
        (30, math.log(30) / 2, 3, 1e13, r"a width of 1e\+13 nats"),
        (30, math.log(30) / 2, 65_000, 1e10, r"a width of 1e\+10 nats"),
        (30, 1e12, 65_000, 0.0, "require fewer parents"),
        (10**8, 1.0, 2, 0.0, "100,000,000 rows are too many"),
    ],
)
def test_what_does_not_fit_in_64_bits_is_refused(
    rows: int, w: float, states: int, gap: float, message: str
) -> None:
    with pytest.raises(ResourceError, match=message):
        FixedPoint.fit(rows, w, states, gap)


@pytest.mark.parametrize("name", ["bic", "aic"])
def test_ten_million_rows_fit(name: str) -> None:
    w = math.log(10**7) / 2 if name == "bic" else 1.0
    grid = FixedPoint.fit(10**7, w, 1000)
    assert grid.cap <= MOST_PARAMETERS
    assert (grid.f >= 0).all() and (np.diff(grid.f[1:]) > 0).all()
    assert (4 * grid.cap) ** 2 < 2**63


def test_the_largest_gap_with_the_most_states_gives_one_answer() -> None:
    """Products of five times 65,000 states are capped, not wrapped around."""
    rng = np.random.default_rng(0)
    table = make_table([[int(c) for c in rng.integers(0, 3, 30)] for _ in range(5)], [65_000] * 5)
    naive, _ = naive_of(table)
    for gap in (1e6, 2e8):
        expected = len(naive.lists(gap=gap))
        assert score(table, width=gap, rules="none", threads=1).n_sets == expected
        assert score(table, width=gap, threads=1).n_sets == expected


def test_padding_columns_are_cleared() -> None:
    """Sweeps run over whole blocks of columns; garbage there would be looked up beyond f."""
    rows = np.arange(70, dtype=np.uint32)
    row_bits = np.ones((70, 1), np.uint64)
    pick = np.zeros((8, 3), np.int64)
    pick[0] = (0, 3, 0)
    pick[1, 2], pick[2, 2] = 1, 2
    bits = np.full(64, ~np.uint64(0))
    word_start = np.empty(4, np.int64)
    starts, blocks = np.array([0, 70], np.uint32), np.zeros(1, np.int64)
    groups = Groups(rows, starts, np.empty(0, np.uint32))
    shift = np.ones(2, np.uint8)
    pack(groups, blocks, pick, row_bits, BitMatrix(bits, word_start, shift, 8))
    assert not shift.any()
    assert word_start[:2].tolist() == [0, 2]
    matrix = bits[:16].reshape(2, 8)
    assert matrix[:, 0].tolist() == [2**64 - 1, 2**6 - 1]
    assert not matrix[:, 1:].any()


def test_states_that_do_not_fit_in_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    table = make_table(random_columns(np.random.default_rng(1), 4, 500, 3))
    encode(table, "bic")
    monkeypatch.setattr(memory, "available_memory", lambda: 10)
    monkeypatch.setattr("parentage.scoring.scores.fixed_point.require_numbers", lambda *_: None)
    with pytest.raises(ResourceError, match=r"500 rows and .* states in all needs .* drop=\['v"):
        encode(table, "bic")


def test_logarithms_are_right_to_the_last_digit() -> None:
    rng = np.random.default_rng(1)
    whole, parts = rng.integers(2, 10**9, 500), 1 + 1000 * rng.random(500)
    numbers = np.concatenate([np.arange(1, 500), whole, parts]).astype(np.longdouble)
    eps = Fraction(float(np.finfo(np.longdouble).eps))
    with localcontext() as context:
        context.prec = 60
        for number, found in zip(numbers, ln(numbers), strict=True):
            exact = Fraction(Decimal(float(number)).ln())
            high = float(found)
            ours = Fraction(high) + Fraction(float(found - np.longdouble(high)))
            assert abs(ours - exact) <= eps * exact
