"""Columns that follow from others: duplicates, other scales, intervals."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import parentage
from parentage.data import relations
from parentage.data.columns import Column, column_of, text_column
from parentage.data.relations import follow_from_others
from parentage.errors import DataWarning, DecisionWarning, Objection


def column(name: str, cells: list[Any]) -> Column:
    labels = list(dict.fromkeys(map(str, cells)))
    codes = np.array([labels.index(str(cell)) for cell in cells], np.int32)
    return column_of(text_column(name, codes, ["" if x == "nan" else x for x in labels]))


def followed(quantities: dict[str, list[Any]], **labelled: list[Any]) -> list[Objection]:
    columns = [column(name, cells) for name, cells in {**quantities, **labelled}.items()]
    return follow_from_others(columns, quantities)


GRAMS = np.random.default_rng(7).integers(900, 4500, 120)
NAN = float("nan")


@pytest.mark.parametrize(
    ("other", "sign"),
    [(GRAMS / 453.6, ""), (np.round(GRAMS / 1000, 2), ""), (5000 - GRAMS, "-"), (GRAMS + 1, "")],
)
def test_a_quantity_on_another_scale_is_better_left_out(other: Any, sign: str) -> None:
    (found,) = followed({"grams": GRAMS.tolist(), "other": other.tolist()})
    assert found.column == "other" and found.advice[0].value == ["other"]
    assert found.seen == f"is 'grams' on another scale (correlation {sign}1)"


@pytest.mark.filterwarnings("error")
def test_numbers_of_any_size_are_compared_in_silence() -> None:
    large = (GRAMS * 1e300).tolist()
    (found,) = followed({"grams": GRAMS.tolist(), "large": large})
    assert found.seen == "is 'grams' on another scale (correlation 1)"


@pytest.mark.filterwarnings("error")
def test_a_quantity_may_be_missing_in_every_row_that_is_looked_at() -> None:
    sparse = [NAN] * 5000
    sparse[1:300:10] = GRAMS[:30].astype(float).tolist()
    looked_at = np.linspace(0, 4999, 2000).astype(np.int64)
    sparse = np.where(np.isin(np.arange(5000), looked_at), NAN, sparse).tolist()
    others = np.random.default_rng(9).normal(size=5000).tolist()
    assert followed({"sparse": sparse, "other": others}) == []


def test_what_is_only_related_is_left_alone() -> None:
    noise = np.random.default_rng(8).normal(size=len(GRAMS))
    years = np.arange(1800, 1920)
    for others in (GRAMS + 100 * noise, np.log(GRAMS), GRAMS.astype(float) ** 2):
        assert followed({"grams": GRAMS.tolist(), "other": others.tolist()}) == []
    growing = {"year": years.tolist(), "people": np.exp(years / 30).round().tolist()}
    assert followed(growing) == []  # both rise, but not together on a line
    assert followed({"a": list(range(19)), "b": list(range(1, 20))}) == []  # few rows


def test_missing_values_of_another_scale_are_those_of_the_first() -> None:
    pounds = (GRAMS / 453.6).tolist()
    holes = [NAN if i % 7 == 0 else x for i, x in enumerate(GRAMS.tolist())]
    assert followed({"grams": holes, "pounds": pounds}) == []
    same = [NAN if i % 7 == 0 else x for i, x in enumerate(pounds)]
    assert [one.column for one in followed({"grams": holes, "pounds": same})] == ["pounds"]


def test_quantities_that_go_together_out_of_order_are_both_kept() -> None:
    place = [i % 7 for i in range(140)]
    near, far = [(x - 1) ** 2 + x / 10 for x in place], [(x - 5) ** 2 + x / 10 for x in place]
    assert followed({"near": near, "far": far}) == []
    assert [one.column for one in followed({}, near=near, far=far)] == ["far"]
    rising = [x**3 for x in place]
    assert [one.column for one in followed({"place": place, "cube": rising})] == ["cube"]


def test_a_number_that_is_written_in_two_ways_is_one_number() -> None:
    cells = [str(i % 7) if i % 3 else f"{i % 7}.0" for i in range(140)]
    (found,) = followed({"one": cells, "other": cells})
    assert found.seen == "duplicates 'one'"


def test_states_that_are_intervals_are_named_and_nothing_is_recommended() -> None:
    low = [int(x < 2500) for x in GRAMS.tolist()]
    (found,) = followed({"grams": GRAMS.tolist()}, low=low, other=[i % 2 for i in range(120)])
    assert (found.column, found.advice, found.refused) == ("low", (), False)
    assert found.seen.startswith("may be computed from 'grams': its states are intervals of it")
    assert [way.value for way in found.ways] == [["low"], ["grams"]]
    low[0] = 1 - low[0]
    assert followed({"grams": GRAMS.tolist()}, low=low) == []
    one = [int(x == GRAMS.max()) for x in GRAMS.tolist()]  # may be so by chance
    assert followed({"grams": GRAMS.tolist()}, one=one) == []


def test_intervals_are_what_they_are_by_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relations, "_CHANCE", 1e300)
    rng, seen = np.random.default_rng(9), []
    for _ in range(400):
        codes, numbers = rng.integers(-1, 3, 7), np.sort(rng.integers(0, 9, 7)).astype(float)
        if rng.random() < 0.5:
            codes = np.sort(codes)
        own = [numbers[codes == state] for state in np.unique(codes[codes >= 0])]
        apart = all(
            a.max() < b.min() or b.max() < a.min() for a, b in itertools.combinations(own, 2)
        )
        inside = all(not ((b > a.min()) & (b < a.max())).any()
                     for a, b in itertools.permutations(own, 2))  # fmt: skip
        if len(own) < 2:
            continue
        expected = apart and inside
        assert relations._are_intervals(codes, numbers, 1) == expected
        seen.append(expected)
    assert 40 < sum(seen) < len(seen) - 40


def test_a_table_says_so() -> None:
    rows = [f"{x},{x / 453.6:.3f},{int(x < 2500)},{'ab'[i % 2]}" for i, x in enumerate(GRAMS)]
    text = "\n".join(["grams,pounds,low,sex", *rows]).encode()
    with pytest.warns() as caught:
        table = parentage.read_table(text, auto=True)
    assert table.names == ("grams", "low", "sex")
    said = {one.category: str(one.message) for one in caught}
    assert "column 'low' may be computed from 'grams'" in said[DataWarning]
    assert "drop=['low'], or drop=['grams'] to leave one side out" in said[DataWarning]
    assert "drop=['pounds']: column 'pounds' is 'grams' on another" in said[DecisionWarning]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parentage.read_table(text, keep=["pounds", "low"], discretize="median")
    with pytest.warns():
        named = parentage.read_table(text, auto=True, discretize="pounds=at:5")
    assert named.names == ("grams", "pounds", "low", "sex") and named.cuts["pounds"] == (5.0,)
