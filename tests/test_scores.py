"""Scores by name, and their definitions against the slow versions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from living_docs import ROOT
from parentage.cli import cli
from parentage.data.datasets import chest_clinic
from parentage.errors import InputError, ResourceError
from parentage.scoring.candidates import score
from parentage.scoring.catalogue import KINDS, Kind, by_name
from parentage.scoring.explanation import explain
from parentage.scoring.scores import Penalised, family_score, parse_score
from strategies import BY_SUMS, PENALISED, naive_of, random_table, tables

if TYPE_CHECKING:
    from parentage.data.table import Table


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("BIC", "bic"), (" aic ", "aic"), ("hqc", "hqc"), ("ebic", "ebic:0.5"),
        ("eBIC:1", "ebic:1"), ("ebic:0", "ebic:0"), ("penalty:2.0", "penalty:2"),
        ("penalty:0.1", "penalty:0.1"),
    ],
)  # fmt: skip
def test_names_as_typed_and_as_printed(typed: str, name: str) -> None:
    found = parse_score(typed)
    assert found.name == name
    assert parse_score(found.name) == found


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("bix", "did you mean 'bic'"), ("bic:2", "type bic"), ("penalty", "for example penalty:2"),
        ("penalty:x", "needs a number"), ("penalty:0", "above 0"), ("ebic:-1", "at least 0"),
        ("ebic:nan", "at least 0"), ("ebic:", "needs a number"), ("", "unknown score"),
    ],
)  # fmt: skip
def test_bad_names_are_refused(typed: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_score(typed)


@settings(max_examples=50, deadline=None)
@given(tables(5, least_rows=3), st.sampled_from(PENALISED), st.data())
def test_local_scores_equal_the_definition(table: Table, name: str, data: st.DataObject) -> None:
    naive, keep = naive_of(table, name)
    x = data.draw(st.sampled_from(range(naive.n)))
    parents = data.draw(st.sets(st.sampled_from(naive.others(x))))
    label = [table.names[v] for v in keep]
    found = family_score(table, label[x], [label[p] for p in parents], score=name)
    assert math.isclose(found, naive.s(x, parents), rel_tol=1e-11, abs_tol=1e-9)


def test_weights() -> None:
    table = chest_clinic(1000)
    assert parse_score("ebic:0").local(table, 0, [1]) == parse_score("bic").local(table, 0, [1])
    strict = parse_score("ebic:1")
    assert isinstance(strict, Penalised)
    assert strict.weight(table) == math.log(1000) / 2 + math.log(8)
    assert parse_score("penalty:1").local(table, 0, [1]) == parse_score("aic").local(table, 0, [1])
    with pytest.raises(InputError, match="at least 3 rows"):
        score(random_table(1).head(2), score="hqc")
    with pytest.raises(ResourceError, match="too small for 64-bit"):
        score(table, score="penalty:1e-9")


def test_the_lists_know_the_whole_name() -> None:
    assert score(chest_clinic(200), score="EBIC", threads=1).known().score == "ebic:0.5"


def test_extended_bic_is_explained_with_the_weight_of_the_whole_table() -> None:
    """The search behind an explanation sees three columns; n is still that of the table."""
    table = chest_clinic(500)
    lists = score(table, score="ebic:1", threads=1)
    for child in lists:
        for candidate in lists[child]:
            found = explain(table, child, candidate.parents, score="ebic:1")
            assert found.kept
            assert found.score == pytest.approx(candidate.score, abs=1e-9)


def test_help_and_page_name_every_score() -> None:
    page = (ROOT / "docs" / "scores.md").read_text(encoding="utf-8")
    cli_page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    typed = [kind for kind in KINDS if kind.name != "pnal"]  # a way to treat missing values
    for command in ("learn", "score", "explain", "info"):
        text = CliRunner().invoke(cli, [command, "--help-all"]).output
        for kind in typed:
            assert any(
                line.split() == [kind.typed, *kind.use.split()] for line in text.splitlines()
            ), (command, kind.name)
    for kind in KINDS:
        assert f"| `{kind.typed}` |" in page, kind.name
        assert kind not in typed or f"`{kind.typed}`" in cli_page, kind.name
    assert by_name("bic").equivalent


def test_every_score_of_the_catalogue_is_defined_and_drawn() -> None:
    table = chest_clinic(50)
    by_family = {"penalised": PENALISED, "sums": BY_SUMS, "missing": ["pnal:0.1"]}
    for kind in KINDS:
        drawn = [name for name in by_family[kind.family] if name.partition(":")[0] == kind.name]
        assert drawn, kind.name
        for name in drawn:
            assert parse_score(name).local(table, 0, [1]) < 0, name


def test_no_score_is_bic_for_want_of_a_definition() -> None:
    with pytest.raises(AssertionError, match="new is in the catalogue"):
        Penalised(Kind("new", "New", "")).weight(chest_clinic(50))
