"""Fixed point and encoding: what fits in 64 bits and in memory, and what is refused."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from parentage.data.table import Table
from parentage.errors import ResourceError
from parentage.kernels._options import Kernel
from parentage.kernels.counting import AT_ONCE
from parentage.kernels.packing import BitMatrix, Groups, open_words, pack, room_for_pieces
from parentage.scoring.candidates import score
from parentage.scoring.encoding import encode
from parentage.scoring.scores import family_score
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
    starts, blocks = np.array([0, 70], np.uint32), np.zeros(1, np.int64)
    groups = Groups(rows, starts, np.empty(0, np.uint32))
    pieces = room_for_pieces(2, 1)
    pack(groups, blocks, pick, row_bits, BitMatrix(bits, 8), pieces, open_words())
    assert pieces.start.tolist() == [0, 2] and pieces.word.tolist() == [0, 8]
    assert not pieces.shift.any()
    assert pieces.mask.tolist() == [2**64 - 1, 2**6 - 1]
    matrix = bits[:16].reshape(2, 8)
    assert matrix[:, 0].tolist() == [2**64 - 1, 2**6 - 1]
    assert not matrix[:, 1:].any()


@pytest.mark.parametrize("repeated", [False, True])
def test_groups_that_share_words_have_their_own_rows(repeated: bool) -> None:
    """Each group has its rows, as often as they occur, in as few pieces as it can have."""
    rng = np.random.default_rng(0)
    sizes = [1, 2, 63, 64, 65, 130, *rng.integers(1, 90, 40).tolist()]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint32)
    n_rows = int(starts[-1])
    repeats = (2 ** rng.integers(0, 6, n_rows) + rng.integers(0, 3, n_rows)).astype(np.uint32)
    digits = np.array([int(times).bit_length() for times in repeats])
    rows = np.concatenate(
        [np.arange(a, b)[np.argsort(-digits[a:b], kind="stable")] for a, b in pairwise(starts)]
    ).astype(np.uint32)
    pick = np.zeros((16, 3), np.int64)
    pick[0, 1], pick[:, 2] = 16, np.arange(16)  # a row is known by its number, 16 columns
    bits, pieces = np.zeros(16 * n_rows, np.uint64), room_for_pieces(6 * n_rows, len(sizes))
    groups = Groups(rows, starts, repeats if repeated else repeats[:0])
    row_bits = np.arange(n_rows, dtype=np.uint64)[:, None]
    matrix = BitMatrix(bits, 16)
    pack(groups, np.zeros(1, np.int64), pick, row_bits, matrix, pieces, open_words())
    for g, (a, b) in enumerate(pairwise(starts.tolist())):
        found: Counter[int] = Counter()
        own = range(pieces.start[g], pieces.start[g + 1])
        for k in own:
            columns = [int(one) for one in bits[pieces.word[k] : pieces.word[k] + 16]]
            for bit in (bit for bit in range(64) if int(pieces.mask[k]) >> bit & 1):
                row = sum((column >> bit & 1) << c for c, column in enumerate(columns))
                found[row] += 1 << int(pieces.shift[k])
        times = {row: int(repeats[row]) if repeated else 1 for row in range(a, b)}
        assert found == times
        ones = [sum(t >> k & 1 for t in times.values()) for k in range(8)]
        assert len(own) == sum(-(-n // 64) for n in ones)
        assert [int(pieces.shift[k]) for k in own] == sorted(pieces.shift[own].tolist())[::-1]
    used = {int(word) for word in pieces.word[: pieces.start[len(sizes)]]}
    alone = sum(pieces.start[1 : len(sizes) + 1] - pieces.start[: len(sizes)])
    assert len(used) < 0.8 * alone


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


@pytest.mark.parametrize("name", ["penalty:0.01", "bdeu:1"])
@pytest.mark.parametrize("repeated", [False, True])
def test_columns_of_many_states_are_counted_some_states_at_a_time(
    name: str, repeated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers of states around those that are counted together, and cells of many words."""
    monkeypatch.setattr(Kernel, "only", "compiled")
    rng, n_rows = np.random.default_rng(7), 600
    arities = [2, 3, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, AT_ONCE + 2, 2 * AT_ONCE + 1]
    half = rng.integers(0, 2, n_rows)  # in which half of its states a column is
    columns = {
        f"v{r}": (
            (half ^ (rng.random(n_rows) < 0.1)) * (r // 2) + rng.integers(0, -(-r // 2), n_rows)
        )
        .astype(str)
        .tolist()
        for r in arities
    }
    table = Table.from_columns(columns)
    if repeated:
        table = replace(table, repeats=rng.integers(1, 40, n_rows).astype(np.uint32))
    lists = score(table, score=name, max_parents=3)
    sizes = set()
    for child in lists:
        for value, parents in lists[child]:
            sizes.add(len(parents))
            assert value == pytest.approx(family_score(table, child, parents, name), abs=1e-6)
    assert sizes >= {0, 1}
