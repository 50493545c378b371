"""Rows that come with how often they occur: everything as if they were written out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import parentage
from parentage.arcs import resampling
from parentage.data import table as tables_of
from parentage.data.packed import PackedCodes, PackedColumn
from parentage.data.table import MISSING, Table
from parentage.errors import TableError
from parentage.learner import learn
from parentage.report.refused import mutual_information
from parentage.scoring.account import Account
from parentage.scoring.candidates import score
from parentage.scoring.explanation import explain
from parentage.scoring.holes import rows_of_families
from parentage.scoring.merging import distinct_rows, merged
from parentage.scoring.overview import overview
from parentage.scoring.scores import local_score
from parentage.scoring.settings import Scoring

if TYPE_CHECKING:
    from parentage.scoring.account import Unknown

SCORES = (
    "bic",
    "aic",
    "hqc",
    "ebic:0.5",
    "penalty:2.5",
    "bdeu:2",
    "k2",
    "jeffreys",
    "qnml",
    "fnml",
)


def random_counts(seed: int, *, holes: bool = False, lines: int = 30, most: int = 40) -> Table:
    """A table whose rows occur several times, equal ones among them."""
    rng = np.random.default_rng(seed)
    arity = [2, 3, 2, 4, 2]
    codes = np.array([rng.integers(0, r, lines) for r in arity])
    codes[1] = np.where(rng.random(lines) < 0.7, codes[0], codes[1])
    codes[4] = np.where(rng.random(lines) < 0.8, codes[0] ^ codes[2], codes[4])
    if holes:
        codes[rng.random(codes.shape) < 0.1] = MISSING
        codes[:, 0] = 0
    names = tuple(f"v{v}" for v in range(len(arity)))
    states = tuple(tuple(f"s{k}" for k in range(r)) for r in arity)
    repeats = rng.integers(1, most, lines).astype(np.uint32)
    return Table(names, states, codes.astype(np.uint16), repeats=repeats)


def written_out(table: Table) -> Table:
    """The same rows, each as many times as it occurs."""
    codes = np.repeat(table.to_codes(), table.repeats, axis=1)
    return Table(table.names, table.states, codes, table.cuts)


def packed(table: Table) -> Table:
    """The same table, its codes as bit planes."""
    codes = table.to_codes().astype(np.int64)
    codes[codes == MISSING] = -1
    return replace(table, codes=PackedCodes(tuple(map(PackedColumn.of, codes)), table.stored_rows))


def is_same(one: Table, other: Table) -> bool:
    """Whether two tables have the same rows in the same order."""
    return (one.digest, one.n_rows, one.states) == (other.digest, other.n_rows, other.states)


def without_times(account: Account | Unknown) -> Account:
    """How lists were made, but for the time it took."""
    assert isinstance(account, Account)
    return replace(account, tallies=replace(account.tallies, seconds=0.0))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.booleans(), st.booleans(), st.integers(1, 90))
def test_a_table_with_repeats_is_the_table_written_out(
    seed: int, holes: bool, planes: bool, block: int
) -> None:
    table = random_counts(seed, holes=holes)
    table, whole = packed(table) if planes else table, written_out(table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables_of, "_BLOCK", block)
        assert is_same(table, whole)
    assert table.missing_cells.tolist() == whole.missing_cells.tolist()
    assert (table.constant, repr(table)) == (whole.constant, repr(whole))
    names = ["v3", "v0"]
    assert is_same(table.select(names), whole.select(names))
    assert is_same(table.observed(), whole.observed())
    for rows in (0, 1, 7, 100, whole.n_rows, whole.n_rows + 5, -3, -whole.n_rows):
        assert is_same(table.head(rows), whole.head(rows))
    for v, column in enumerate(whole.to_codes()):
        counts = np.bincount(column, minlength=MISSING + 1).tolist()
        assert table.counted(table.column(v), MISSING + 1).tolist() == counts
        assert table.rows_in(table.column(v) == MISSING) == counts[MISSING]
    if not holes:
        once = merged(table)
        assert once.n_rows == whole.n_rows and once.stored_rows == distinct_rows(table)
        assert distinct_rows(table) == len(np.unique(whole.to_codes(), axis=1).T)


@pytest.mark.parametrize(
    ("repeats", "message"),
    [
        ([1, 2], "one for each row"),
        ([1.0, 2.0, 1.0], "whole numbers"),
        ([1, 0, 2], "occurs 0 times"),
        ([1, -1, 2], "occurs -1 times"),
        ([2**32, 1, 1], "more than 4,294,967,295 rows"),
    ],
)
def test_repeats_that_cannot_be(repeats: Any, message: str) -> None:
    with pytest.raises(TableError, match=message):
        Table(("a",), (("x", "y"),), np.array([[0, 1, 1]], np.uint16), repeats=repeats)


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("seed", range(3))
def test_lists_and_scores(name: str, seed: int) -> None:
    table = random_counts(seed)
    whole = written_out(table)
    for how in ({}, {"max_parents": 2, "rules": "none"}, {"width": 3.0}):
        ours, theirs = (score(one, score=name, threads=1, **how) for one in (table, whole))
        assert ours.digest == theirs.digest
        assert without_times(ours.account) == without_times(theirs.account)
    for child, parents in (("v0", ()), ("v4", ("v0", "v2")), ("v1", ("v0", "v3", "v4"))):
        assert local_score(table, child, parents, score=name) == local_score(
            whole, child, parents, score=name
        )
    own, of_rows = (explain(one, "v4", ["v0", "v2"], score=name) for one in (table, whole))
    assert own == of_rows
    seen, of_whole = (overview(one, Scoring(score=name)) for one in (table, whole))
    assert (seen.rows, seen.variables) == (of_whole.rows, of_whole.variables)
    assert (seen.corollary1p, seen.forecast.sets) == (of_whole.corollary1p, of_whole.forecast.sets)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("context", [(), (("v0", "v4"),)])
def test_lists_of_incomplete_data(seed: int, context: Any) -> None:
    table = random_counts(seed, holes=True)
    whole = written_out(table)
    constraints = parentage.Constraints(required=frozenset(context))
    how: dict[str, Any] = {"score": "pnal", "threads": 1, "constraints": constraints}
    assert score(table, **how).digest == score(whole, **how).digest
    assert local_score(table, "v4", ("v0", "v2"), score="pnal") == local_score(
        whole, "v4", ("v0", "v2"), score="pnal"
    )
    assert explain(table, "v4", ["v0", "v2"], score="pnal") == explain(
        whole, "v4", ["v0", "v2"], score="pnal"
    )
    families = {"v4": ("v0", "v2"), "v1": ()}
    assert rows_of_families(table, families) == rows_of_families(whole, families)


def test_sets_of_incomplete_data_with_many_states() -> None:
    """More joint states than fit an array are counted by labels."""
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 40, (4, 60))
    codes[rng.random(codes.shape) < 0.05] = MISSING
    states = (tuple(f"s{k}" for k in range(40)),) * 4
    repeats = rng.integers(1, 9, 60).astype(np.uint32)
    table = Table(tuple("abcd"), states, codes.astype(np.uint16), repeats=repeats)
    how: dict[str, Any] = {"score": "pnal:0.0001", "threads": 1}
    assert score(table, **how).digest == score(written_out(table), **how).digest


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_networks_and_parameters(seed: int, holes: bool) -> None:
    table = random_counts(seed, holes=holes)
    whole = written_out(table)
    how: dict[str, Any] = {"missing": "em"} if holes else {}
    ours, theirs = (learn(one, threads=1, **how) for one in (table, whole))
    assert (ours.network, ours.score, ours.bound) == (theirs.network, theirs.score, theirs.bound)
    assert without_times(ours.scope.origin) == without_times(theirs.scope.origin)
    for smoothing in (0.0, 1.0):
        one, other = (ours.network.fit(data, smoothing=smoothing) for data in (table, whole))
        assert all((a == b).all() for a, b in zip(one.tables, other.tables, strict=True))
    logs = one.log_likelihoods(table)
    assert np.repeat(logs, table.repeats).tolist() == one.log_likelihoods(whole).tolist()
    assert one.log_likelihood(table) == pytest.approx(one.log_likelihood(whole), rel=1e-14)
    assert is_same(one.impute(table), one.impute(whole))
    shares = np.repeat(one.predict(table, "v0"), table.repeats, axis=0)
    assert shares == pytest.approx(one.predict(whole, "v0"), rel=1e-13)


def test_bootstrap_replicates(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same seed draws the same rows, whatever is drawn at once."""
    table = random_counts(5)
    whole = written_out(table)
    for at_once in (resampling.AT_ONCE, 13):
        monkeypatch.setattr(resampling, "AT_ONCE", at_once)
        for number in range(3):
            ours, theirs = (resampling.resampled(one, 7, number) for one in (table, whole))
            kinds, times = np.unique(theirs.to_codes(), axis=1, return_counts=True)
            once = merged(ours)
            order = np.lexsort(once.to_codes()[::-1])
            assert (once.to_codes()[:, order] == kinds).all()
            assert (once.repeats[order] == times).all()


@pytest.mark.parametrize("name", ["bic", "bdeu:1"])
def test_support(name: str) -> None:
    table = random_counts(3)
    how: dict[str, Any] = {"score": name, "bootstrap": 8, "within": 20.0, "threads": 1}
    ours, theirs = (parentage.support(one, **how) for one in (table, written_out(table)))
    assert {**ours.to_dict(), "seconds": 0} == {**theirs.to_dict(), "seconds": 0}
    assert ours.bootstrap is not None and ours.bootstrap.done == 8


def test_what_goes_with_what() -> None:
    table = random_counts(4, most=2000)
    assert table.n_rows > 20_000
    assert mutual_information(table).tolist() == mutual_information(written_out(table)).tolist()


def test_many_rows_take_no_room() -> None:
    """Forty million rows of which thirty differ."""
    table = replace(random_counts(6), repeats=np.full(30, 1_333_333, np.uint32))
    assert table.n_rows == 39_999_990
    found = learn(table, threads=1)
    assert found.optimal and found.network.n_arcs > 3
