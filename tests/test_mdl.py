"""Cutting numbers where they tell most about others: against all partitions, and against BIC."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import parentage
from parentage.data import discretize as mdl
from parentage.data.discretize import (
    Places,
    SeenColumn,
    best_cuts,
    codes_of,
    mdl_cuts,
    of_numbers,
    roundest,
)
from parentage.data.reading import as_table
from parentage.data.table import Table
from parentage.errors import DataWarning, TableError
from parentage.network.network import Network
from parentage.network.record import NetworkRecord
from parentage.report.facts import data_facts, methods
from parentage.scoring.scores import family_score
from strategies import each


def naive_gain(x: Any, y: Any, cuts: tuple[float, ...]) -> float:
    """What BIC gains by the arc, by the definition: from two tables of counts."""
    there = ~np.isnan(x) & (y >= 0)
    codes, other = codes_of(x[there], cuts), y[there]
    n, r = len(codes), len(set(other.tolist()))
    joint: dict[tuple[int, int], int] = {}
    for pair in zip(codes.tolist(), other.tolist(), strict=True):
        joint[pair] = joint.get(pair, 0) + 1
    of_x = {a: sum(m for (b, _), m in joint.items() if b == a) for a, _ in joint}
    of_y = {c: sum(m for (_, b), m in joint.items() if b == c) for _, c in joint}
    information = math.fsum(
        m * math.log(m * n / (of_x[a] * of_y[b])) for (a, b), m in joint.items()
    )
    return information - 0.5 * math.log(n) * len(cuts) * (r - 1)


def columns(seed: int, n: int = 40) -> tuple[Any, Any]:
    """A column of numbers with ties and gaps, and one that depends on it, more or less."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, int(rng.integers(2, 14)), n) / 4.0
    y = ((x > rng.choice(x)) + rng.integers(0, 2, n) * (rng.random(n) < 0.3)).astype(np.int64)
    x[rng.random(n) < 0.1] = np.nan
    y[rng.random(n) < 0.1] = -1
    return x, y


@each("seed", 40)
def test_cuts_are_the_best_of_all_partitions(seed: int) -> None:
    """With few distinct values every partition can be tried; rounding changes no row then."""
    x, y = columns(seed)
    values = np.unique(x[~np.isnan(x)])
    assume_varies = len(values) > 1 and len(np.unique(y[(y >= 0) & ~np.isnan(x)])) > 1
    if not assume_varies:
        return
    cost = math.log(max(len(values) - 1, 1))

    def worth(cuts: tuple[float, ...]) -> float:
        return naive_gain(x, y, cuts) - cost * len(cuts)

    tried = {
        cuts: worth(cuts)
        for size in range(5)
        for cuts in itertools.combinations(values[1:].tolist(), size)
    }
    best = max(tried.values())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mdl, "_ROUNDING", ())
        found, raise_bic = mdl_cuts([of_numbers(x, 5), SeenColumn(y, int(y.max()) + 1)], 0)
    assert raise_bic == (best > 1e-9)
    if best > 1e-9:
        assert worth(found) == pytest.approx(best, abs=1e-9)
    else:
        assert len(found) == 1  # none related: the middle


def test_the_gain_is_what_bic_gains_by_the_arc() -> None:
    rng = np.random.default_rng(7)
    x = np.round(rng.normal(size=300), 1)
    y = (x + rng.normal(size=300) > 0.3).astype(np.int64) + (x > 1)
    cuts = mdl_cuts([of_numbers(x, 5), SeenColumn(y, 3)], 0).points
    assert 1 <= len(cuts) <= 4
    codes = codes_of(x, cuts)
    table = Table(
        ("x", "y"),
        (tuple(map(str, range(len(cuts) + 1))), ("0", "1", "2")),
        np.array([codes, y], np.uint16),
    )
    gain = family_score(table, "y", ["x"]) - family_score(table, "y")
    assert naive_gain(x, y, cuts) == pytest.approx(gain, rel=1e-9)


@given(st.integers(0, 10_000), st.integers(2, 8), st.integers(1, 6))
def test_dynamic_programming_finds_the_best_partition(seed: int, size: int, most: int) -> None:
    worth = np.random.default_rng(seed).normal(size=(size + 1, size + 1))
    cost = 0.3
    naive = max(
        sum(worth[a, b] for a, b in itertools.pairwise((0, *cuts, size))) - cost * len(cuts)
        for k in range(min(most, size))
        for cuts in itertools.combinations(range(1, size), k)
    )
    found, cuts = best_cuts(worth, cost, most)
    assert found == pytest.approx(naive)
    again = sum(worth[a, b] for a, b in itertools.pairwise((0, *cuts, size))) - cost * len(cuts)
    assert again == pytest.approx(naive)


finite = st.floats(-1e12, 1e12, allow_nan=False).filter(lambda x: x == 0 or abs(x) > 1e-12)


@given(finite, finite)
def test_the_roundest_number_is_inside_and_written_shortest(one: float, two: float) -> None:
    low, high = min(one, two), max(one, two)
    assume(low < high)
    found = roundest(low, high)
    assert low < found <= high
    digits = len(Decimal(repr(found)).normalize().as_tuple().digits)
    assert digits <= len(Decimal(repr(high)).normalize().as_tuple().digits)
    if abs(high - low) > 0.5 * max(abs(low), abs(high)) and low > 0:
        assert digits == 1


def test_cuts_are_found_where_the_others_change_and_are_round() -> None:
    rng = np.random.default_rng(3)
    age = np.round(rng.normal(55, 15, 2000))
    risk = (age >= 41).astype(np.int64) + (age >= 66)
    noise = rng.normal(size=2000)
    cells = [of_numbers(age, 5), SeenColumn(risk, 3), of_numbers(noise, 5)]
    assert mdl_cuts(cells, 0).points == (41.0, 66.0)
    assert mdl_cuts(cells, 2).points == (0.0,)
    soft = (rng.random(2000) < 1 / (1 + np.exp((60 - age) / 5))).astype(np.int64)
    cuts = mdl_cuts([of_numbers(age, 5), SeenColumn(soft, 2)], 0).points
    assert 2 <= len(cuts) <= 4
    assert all(cut == round(cut) and 40 < cut < 80 for cut in cuts)


def test_columns_order_rows_order_and_scale_do_not_matter() -> None:
    rng = np.random.default_rng(5)
    x = np.round(rng.gamma(2, 10, 500), 1)
    y = (x + rng.normal(0, 8, 500) > 20).astype(np.int64)
    z = np.round(x / 2 + rng.normal(0, 4, 500), 1)
    cells = [of_numbers(x, 5), SeenColumn(y, 2), of_numbers(z, 5)]
    cuts = mdl_cuts(cells, 0).points
    assert mdl_cuts([cells[2], cells[1], cells[0]], 2).points == cuts
    order = rng.permutation(500)
    turned = [of_numbers(x[order], 5), SeenColumn(y[order], 2), of_numbers(z[order], 5)]
    assert mdl_cuts(turned, 0).points == cuts
    tenfold = mdl_cuts([of_numbers(x * 1000, 5), *cells[1:]], 0).points
    assert tenfold == tuple(cut * 1000 for cut in cuts)


def test_many_rows_take_the_thinned_places() -> None:
    rng = np.random.default_rng(6)
    x = rng.random(60_000)
    assert len(Places.of(x).grid) <= mdl.FINEST < 60_000
    y = (x >= 0.25).astype(np.int64) + (x >= 0.6)
    cuts = mdl_cuts([of_numbers(x, 4), SeenColumn(y, 3)], 0).points
    assert any(cut == pytest.approx(0.25, abs=0.002) for cut in cuts)
    assert any(cut == pytest.approx(0.6, abs=0.002) for cut in cuts)


def test_nothing_to_cut() -> None:
    constant = np.array([2.5] * 9)
    assert mdl_cuts([of_numbers(constant, 5), SeenColumn(np.arange(9) % 2, 2)], 0).points == ()
    empty = np.full(9, np.nan)
    assert mdl_cuts([of_numbers(empty, 5), SeenColumn(np.arange(9) % 2, 2)], 0).points == ()
    two = np.array([1.0, 3.0] * 4)
    assert mdl_cuts([of_numbers(two, 5), SeenColumn(np.zeros(8, np.int64), 1)], 0).points == (2.0,)


# --- through reading ---------------------------------------------------------------------------


def rows(n: int = 400) -> bytes:
    rng = np.random.default_rng(9)
    age = rng.integers(18, 90, n)
    visits = rng.integers(0, 6, n)
    ill = (age + rng.integers(0, 20, n) > 70).astype(int)
    lines = [f"{a},{v},{'yes' if i else 'no'}" for a, v, i in zip(age, visits, ill, strict=True)]
    return "\n".join(["age,visits,ill", *lines, ""]).encode()


def test_a_general_rule_a_rule_by_name_and_given_cuts() -> None:
    table = as_table(rows(), discretize=["mdl:3", "visits=at:1,3"])
    assert table.cuts["visits"] == (1.0, 3.0)
    assert table.states[1] == ("< 1", "[1, 3)", "≥ 3")
    assert 1 <= len(table.cuts["age"]) <= 2
    by_mapping = as_table(rows(), discretize={"*": "mdl:3", "visits": "at:3,1"})
    assert by_mapping.digest == table.digest
    assert table.recipe is not None
    assert [column.rule for column in table.recipe.columns] == ["mdl:3", "at:1,3", None]
    general = as_table(rows(), discretize="mdl:3")
    assert general.states[1] == tuple("012345")  # whole numbers with few values stay
    few = as_table(rows(), discretize={"*": "median", "visits": "quantile:2"})
    assert len(few.states[1]) == 2


def test_a_column_that_is_related_to_no_other_is_said_to_be_cut_at_the_median() -> None:
    rng = np.random.default_rng(2)
    age, noise = np.round(rng.uniform(18, 90, 500)), np.round(rng.normal(size=500), 2)
    frame = {"age": age, "noise": noise, "ill": age + rng.normal(0, 9, 500) > 60}
    table = as_table(pd.DataFrame(frame), discretize="mdl")
    assert table.recipe is not None
    assert [column.rule for column in table.recipe.columns] == ["mdl", mdl.AT_MEDIAN, None]
    assert "noise at 0, the median: no cut point raises BIC)" in str(table.recipe)
    assert str(table.recipe).count("the median") == 1
    typed = as_table(pd.DataFrame(frame), discretize="median")
    assert "the median" not in str(typed.recipe)
    record = NetworkRecord(Network(table.names, ((), (), ())))
    assert (
        "Columns discretised by mdl: 1; at the median, because no cut point raises BIC: 1 (noise)."
        in methods(record, table, None)
    )
    shown = {fact.label: fact.value for fact in data_facts(record, table)}
    assert shown["Cut points of “noise”"] == "0 (the median: no cut point raises BIC)"


def test_rules_by_name_that_cannot_be() -> None:
    with pytest.raises(TableError, match="no column 'aeg' to discretise; did you mean 'age'"):
        as_table(rows(), discretize={"aeg": "mdl"})
    with pytest.raises(TableError, match="'ill' is to be discretised, but holds neither"):
        as_table(rows(), discretize={"*": "mdl", "ill": "median"})
    with pytest.raises(parentage.errors.ParentageError, match="choose one"):
        as_table(rows(), discretize={"*": "mdl", "age": "median"}, categorical="age")
    with pytest.raises(parentage.errors.ParentageError, match=r"pass .*discretize='age=at:10,20'"):
        as_table(rows(), discretize="age=at:x")


def test_given_cuts_beyond_the_values_leave_states_that_never_occur() -> None:
    table = as_table(rows(), discretize={"*": "median", "age": "at:40,200"})
    assert table.states[0] == ("< 40", "[40, 200)", "≥ 200")
    with pytest.warns(DataWarning, match=r"constant column: age \(age after discretisation\)"):
        as_table(rows(), discretize={"*": "median", "age": "at:200"})
