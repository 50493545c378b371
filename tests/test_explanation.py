"""Explaining one family: the worked example of the paper, and brute force for the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parentage.errors import InputError, TableError
from parentage.scoring.candidates import score
from parentage.scoring.explanation import Explanation, explain
from parentage.scoring.rules import CAPS, RULES
from strategies import PENALISED, make_table, naive_of, random_table, tables

if TYPE_CHECKING:
    from parentage.data.table import Table
    from real_data import RealData


def check(found: Explanation, rule: str, y: str) -> tuple[float, float, bool]:
    (match,) = [c for c in found.rules if c.rule == rule and y == c.Y]
    return match.left, match.right, match.fires


@pytest.fixture
def glass(real: RealData) -> Table:
    return real.uci("glass")


def test_worked_example_1(glass: Table) -> None:
    found = explain(glass, "RI", ["Na", "Mg", "Al", "class"])
    left, right, fires = check(found, "alg1", "class")
    assert (round(left, 4), round(right, 4), fires) == (126.6813, 128.7834, True)
    left, right, fires = check(found, "alg2", "class")
    assert (round(left, 4), round(right, 4), fires) == (210.8882, 128.7834, False)
    assert not found.kept
    assert "Alg1" in str(found) or "alg1" in str(found)


def test_worked_example_2(glass: Table) -> None:
    found = explain(glass, "Na", ["RI", "Mg", "class", "Ca"])
    left, right, fires = check(found, "alg1", "Ca")
    assert (round(left, 4), round(right, 4), fires) == (102.8166, 75.1237, False)
    left, right, fires = check(found, "alg2", "Ca")
    assert (round(left, 4), round(right, 4), fires) == (71.2344, 75.1237, True)


def test_worked_examples_with_observed_classes(glass: Table) -> None:
    """With the 6 classes that occur neither rule fires."""
    seen = glass.observed()
    _, right, fires = check(explain(seen, "RI", ["Na", "Mg", "Al", "class"]), "alg1", "class")
    assert (round(right, 2), fires) == (107.32, False)
    _, right, fires = check(explain(seen, "Na", ["RI", "Mg", "class", "Ca"]), "alg2", "Ca")
    assert (round(right, 2), fires) == (64.39, False)


@settings(max_examples=60, deadline=None)
@given(tables(5, 60, 3), st.data(), st.sampled_from(PENALISED))
def test_explanations_agree_with_brute_force(table: Table, data: st.DataObject, name: str) -> None:
    naive, keep = naive_of(table, name)
    x = data.draw(st.sampled_from(range(naive.n)))
    parents = tuple(sorted(data.draw(st.sets(st.sampled_from(naive.others(x))))))
    label = [table.names[v] for v in keep]
    found = explain(table, label[x], [label[p] for p in parents], score=name)
    assert found.score == pytest.approx(naive.s(x, parents), abs=1e-9)
    assert found.kept == ((x, parents) in naive.lists())
    if not found.kept:
        assert found.dominated_by is not None
        best = naive.s(x, [label.index(p) for p in found.dominated_by])
        below = [naive.s(x, sub) for sub in naive.allowed_subsets(x, parents)]
        assert best == pytest.approx(max(below), abs=1e-9)
        assert best >= naive.s(x, parents) - 1e-9
    for c in found.rules:
        if c.rule not in CAPS:
            assert c.fires == naive.rule_fires(c.rule, x, parents, label.index(c.Y)), c
    if found.kept:
        assert not found.fired()
    expected = {rule.name for rule in RULES if rule.why_not(name, None) is None}
    if parents:
        assert {c.rule for c in found.rules} == expected
        assert len(found.rules) == len(expected) * len(parents)


def test_constant_columns_can_be_explained() -> None:
    table = make_table([[0, 0, 1, 1] * 5, [0, 0, 1, 1] * 5, [0] * 20])
    assert not explain(table, "v0", ["v2"]).kept
    assert not explain(table, "v2", ["v0"]).kept
    assert explain(table, "v2", []).kept
    assert explain(table, "v0", ["v1", "v2"]).dominated_by == ("v1",)
    declared = make_table([[0, 0, 1, 1] * 5, [0, 0, 1, 1] * 5, [0] * 20], [0, 0, 2])
    assert explain(declared, "v2", []).score == score(declared)["v2"][0].score == 0


def test_large_families_can_be_explained() -> None:
    """Twenty parents: a million subsets are not tried one by one."""
    columns = [[(i >> (v % 7)) & 1 ^ (i % (v + 3) == 0) for i in range(300)] for v in range(21)]
    table = make_table([[int(c) for c in column] for column in columns])
    found = explain(table, "v20", [f"v{v}" for v in range(20)])
    assert not found.kept
    assert found.dominated_by is not None
    lists = score(table, threads=1)
    assert found.dominated_by == lists["v20"][0].parents


def test_bad_families_are_refused() -> None:
    table = random_table(3)
    with pytest.raises(InputError, match="own parent"):
        explain(table, "v0", ["v0"])
    with pytest.raises(InputError, match="twice"):
        explain(table, "v0", ["v1", "v1"])
    with pytest.raises(TableError, match="did you mean"):
        explain(table, "v0", ["v11"])


def test_repr_tells_something() -> None:
    table = make_table([[0, 0, 1, 1] * 9, [0, 0, 1, 1] * 9, [0, 1, 0, 1] * 9])
    found = explain(table, "v0", ["v1", "v2"])
    assert "{v1}" in str(found)
    assert "<table>" in found._repr_html_()
    assert found.to_dict()["dominated_by"] == ["v1"]
