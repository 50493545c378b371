"""Cutting numbers into states."""

from __future__ import annotations

import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parentage.data.discretize import Discretizer, codes_of, interval_labels, median
from parentage.errors import InputError

values = st.lists(st.integers(-50, 50).map(lambda i: i / 4), min_size=1, max_size=40)


@pytest.mark.parametrize(
    "text", ["", "mean", "median:2", "quantile", "quantile:1", "width:x", "width:1001", "width:²"]
)
def test_unknown_rules_are_refused_with_the_known_ones(text: str) -> None:
    with pytest.raises(InputError, match=r"is not a way .* pass discretize='median'"):
        Discretizer.parse(text)


def test_rules_are_read() -> None:
    assert Discretizer.parse(" Median ") == Discretizer("median", 2)
    assert Discretizer.parse("width:10") == Discretizer("width", 10)


@given(values)
def test_median_is_the_textbook_median_and_splits_below_from_rest(numbers: list[float]) -> None:
    x = np.array(numbers)
    middle = statistics.median(numbers)
    assert median(x) == middle
    cuts = Discretizer("median").cuts(x)
    if len(set(numbers)) == 1:
        assert cuts == ()
    else:
        assert cuts == (middle,)
        assert codes_of(x, cuts).tolist() == [int(number >= middle) for number in numbers]


@given(values, st.integers(2, 9), st.lists(st.integers(1, 9), min_size=40, max_size=40))
def test_numbers_that_occur_several_times(
    numbers: list[float], bins: int, often: list[int]
) -> None:
    """As if they were written out; quantiles are those of numpy."""
    x, times = np.array(numbers), np.array(often[: len(numbers)])
    whole = np.repeat(x, times)
    assert median(x, times) == median(whole)
    for rule in (Discretizer("median"), Discretizer("quantile", bins), Discretizer("width", bins)):
        assert rule.cuts(x, times) == rule.cuts(whole)
    found = np.unique(np.quantile(whole, np.arange(1, bins) / bins, method="higher"))
    expected = tuple(found[found > x.min()].tolist())
    assert Discretizer("quantile", bins).cuts(x, times) == expected


@given(values, st.integers(2, 9))
def test_every_quantile_state_occurs_and_a_code_counts_cuts_below(
    numbers: list[float], bins: int
) -> None:
    x = np.array(numbers)
    cuts = Discretizer("quantile", bins).cuts(x)
    codes = codes_of(x, cuts)
    assert list(cuts) == sorted(set(cuts))
    assert len(cuts) < bins
    assert set(codes.tolist()) == set(range(len(cuts) + 1))
    assert codes.tolist() == [sum(cut <= number for cut in cuts) for number in numbers]


@given(values)
def test_two_quantiles_split_as_the_median_does(numbers: list[float]) -> None:
    x = np.array(numbers)
    by_median = codes_of(x, Discretizer("median").cuts(x))
    by_quantile = codes_of(x, Discretizer("quantile", 2).cuts(x))
    if len(np.unique(by_median)) == 2:
        assert by_quantile.tolist() == by_median.tolist()
    else:
        assert len(np.unique(by_quantile)) == 1


def test_quantiles_of_distinct_values_hold_equal_counts() -> None:
    x = np.arange(12.0)
    codes = codes_of(x, Discretizer("quantile", 4).cuts(x))
    assert np.bincount(codes).tolist() == [3, 3, 3, 3]


@given(values, st.integers(2, 9))
def test_widths_are_equal_and_all_states_are_there(numbers: list[float], bins: int) -> None:
    x = np.array(numbers)
    cuts = Discretizer("width", bins).cuts(x)
    if x.min() == x.max():
        assert cuts == ()
        return
    assert len(cuts) == bins - 1
    edges = [float(x.min()), *cuts, float(x.max())]
    assert np.diff(edges) == pytest.approx((x.max() - x.min()) / bins)
    codes = codes_of(x, cuts)
    assert codes[x.argmin()] == 0
    assert codes[x.argmax()] == bins - 1


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6, unique=True))
def test_labels_are_distinct(cuts: list[float]) -> None:
    labels = interval_labels(tuple(sorted(cuts)))
    assert len(labels) == len(cuts) + 1
    assert len(set(labels)) == len(labels)


def test_labels_are_readable() -> None:
    assert interval_labels((1.51767, 2.0)) == ["< 1.51767", "[1.51767, 2)", "≥ 2"]
    close = (1.00000001, 1.00000002)
    assert interval_labels(close)[1] == "[1.00000001, 1.00000002)"
