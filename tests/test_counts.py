"""Rows that come with how often they occur: everything as if they were written out."""

from __future__ import annotations

import csv
import io
import itertools
import re
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import parentage
from command import ok, refused, run
from parentage.arcs import resampling
from parentage.data import columns as counts
from parentage.data import table as tables_of
from parentage.data.formats import frame as batches
from parentage.data.table import MISSING, PackedCodes, PackedColumn, Table
from parentage.errors import DataWarning, InputError, TableError, Way
from parentage.estimator import ParentageLearner
from parentage.network.record import NetworkRecord
from parentage.pipeline import learn
from parentage.report.gather import gather, mutual_information
from parentage.report.page import page_data
from parentage.scoring.account import Account
from parentage.scoring.candidates import score
from parentage.scoring.encoding import distinct_rows, merged
from parentage.scoring.explanation import explain
from parentage.scoring.overview import overview
from parentage.scoring.scores import family_score
from parentage.scoring.scores.node_average import rows_of_families
from parentage.scoring.settings import Scoring
from strategies import each

if TYPE_CHECKING:
    from pathlib import Path

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
@each("seed", 3)
def test_lists_and_scores(name: str, seed: int) -> None:
    table = random_counts(seed)
    whole = written_out(table)
    for how in ({}, {"max_parents": 2, "rules": "none"}, {"width": 3.0}):
        ours, theirs = (score(one, score=name, threads=1, **how) for one in (table, whole))
        assert ours.digest == theirs.digest
        assert without_times(ours.account) == without_times(theirs.account)
    for child, parents in (("v0", ()), ("v4", ("v0", "v2")), ("v1", ("v0", "v3", "v4"))):
        assert family_score(table, child, parents, score=name) == family_score(
            whole, child, parents, score=name
        )
    own, of_rows = (explain(one, "v4", ["v0", "v2"], score=name) for one in (table, whole))
    assert own == of_rows
    seen, of_whole = (overview(one, Scoring(score=name)) for one in (table, whole))
    assert (seen.rows, seen.variables) == (of_whole.rows, of_whole.variables)
    assert (seen.corollary1p, seen.forecast.sets) == (of_whole.corollary1p, of_whole.forecast.sets)


@pytest.mark.parametrize("context", [(), (("v0", "v4"),)])
@each("seed", 3)
def test_lists_of_incomplete_data(seed: int, context: Any) -> None:
    table = random_counts(seed, holes=True)
    whole = written_out(table)
    constraints = parentage.Constraints(required=frozenset(context))
    how: dict[str, Any] = {"score": "pnal", "threads": 1, "constraints": constraints}
    assert score(table, **how).digest == score(whole, **how).digest
    assert family_score(table, "v4", ("v0", "v2"), score="pnal") == family_score(
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
@each("seed", 2)
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


@each("seed", 4)
def test_the_page_counts_a_row_as_often_as_it_repeats(seed: int) -> None:
    table = random_counts(seed)
    plain = written_out(table)
    network = learn(table, threads=1).network
    fitted = network.fit(table)
    file = replace(fitted, smoothing=None, counts=None)
    for parameters in (None, fitted, file):
        mine = page_data(gather(NetworkRecord.of(network, parameters), table=table))
        truth = page_data(gather(NetworkRecord.of(network, parameters), table=plain))
        assert mine["counts"] == truth["counts"] and mine["tables"] == truth["tables"]
        assert {sum(cells) for cells in mine["counts"]} == {plain.n_rows}
        assert plain.stored_rows > table.stored_rows


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
    """Ten million rows, of which thirty differ."""
    table = replace(random_counts(6), repeats=np.full(30, 333_333, np.uint32))
    assert table.n_rows == 9_999_990
    found = learn(table, threads=1)
    assert found.optimal and found.network.n_arcs > 3


# --- reading -----------------------------------------------------------------------------------

VOYAGE = ("class,sex,age,alive,Freq\n" + "".join(
    f"{deck},{sex},{age},{alive},{17 * i * i % 61 % 23 if i % 4 else 0}\n"
    for i, (deck, sex, age, alive) in enumerate(
        itertools.product("123c", ("male", "female"), ("child", "adult"), ("no", "yes"))
    )
)).encode()  # fmt: skip
"""A full table of four variables, a few of its counts 0."""


def expanded(text: bytes, column: str) -> bytes:
    """The lines of a CSV, each as often as a column says, without that column."""
    header, *lines = list(csv.reader(io.StringIO(text.decode())))
    at = header.index(column)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([name for name in header if name != column])
    for line in lines:
        for _ in range(int(line[at])):
            writer.writerow([cell for i, cell in enumerate(line) if i != at])
    return out.getvalue().encode()


def messy(seed: int, lines: int = 40) -> bytes:
    """Numbers, labels, words for missing and blank cells, with counts between them."""
    rng = np.random.default_rng(seed)
    rows = ["age,sick,n,smoker,dose"]
    for _ in range(lines):
        age = int(rng.integers(18, 90))
        sick = "yes" if rng.random() < age / 100 else "no"
        smoker = rng.choice(["never", "often", "NA", ""], p=[0.5, 0.4, 0.05, 0.05])
        dose = rng.choice(["0", "0.5", "1.25", "7", "-99", ""], p=[0.3, 0.2, 0.2, 0.2, 0.05, 0.05])
        rows.append(f"{age},{sick},{int(rng.integers(0, 9))},{smoker},{dose}")
    return "\n".join(rows).encode()


HOW: list[dict[str, Any]] = [
    {"missing": missing, "discretize": rule, "na": ["dose=-99"]}
    for missing in ("drop", "state", "mode", "pnal", "em")
    for rule in ("mdl", "median", "quantile:3", "width:3")
] + [
    {"missing": "mode", "drop": ["dose"], "discretize": ["age=at:40,65"]},
    {"missing": "drop", "categorical": ["dose"], "discretize": {"age": "mdl:3"}},
]  # fmt: skip


@pytest.mark.parametrize("how", HOW, ids=str)
@pytest.mark.filterwarnings("ignore::parentage.errors.DataWarning")
@each("seed", 2)
def test_what_is_read_is_the_table_written_out(how: dict[str, Any], seed: int) -> None:
    """The same states, cut points, imputed values and numbers of missing cells."""
    text = messy(seed)
    ours = parentage.read_table(text, counts="n", **how)
    theirs = parentage.read_table(expanded(text, "n"), **how)
    assert is_same(ours, theirs) and ours.cuts == theirs.cuts
    one, other = ours.recipe, theirs.recipe
    assert one is not None and other is not None and one.columns == other.columns
    assert one.account is not None and other.account is not None
    lines = text.count(b"\n")
    zero = sum(line.split(b",")[2] == b"0" for line in text.split(b"\n"))
    assert (one.account.lines, one.account.empty_lines) == (lines, zero)
    assert replace(one.account, lines=0, empty_lines=0) == other.account
    assert ours.stored_rows <= lines - zero
    again = parentage.read_table(text, recipe=one)
    assert is_same(again, ours) and again.recipe is not None and again.recipe.account is not None
    assert replace(again.recipe.account, left_out={}) == replace(one.account, left_out={})


@pytest.mark.filterwarnings("ignore::parentage.errors.DataWarning")
def test_warnings_count_rows() -> None:
    """Five lines of fifty lack a value, but most rows."""
    cells = [("", 90) if i < 5 else ("xy"[i % 2], 1) for i in range(50)]
    text = "a,b,n\n" + "".join(f"{a},{i % 3},{n}\n" for i, (a, n) in enumerate(cells))
    with pytest.warns(DataWarning, match="'a' has more than 5% of its values imputed"):
        parentage.read_table(text.encode(), counts="n", missing="mode", keep="b")


def test_frames_and_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = parentage.read_table(expanded(VOYAGE, "Freq"))
    frame = pl.read_csv(VOYAGE)
    as_floats = frame.with_columns(pl.col("Freq").cast(pl.Float64))
    for source in (frame, as_floats, frame.to_pandas(), frame.to_arrow()):
        table = parentage.read_table(source, counts="Freq")
        assert is_same(table, whole)
    out = io.BytesIO()
    frame.write_parquet(out)
    monkeypatch.setattr(batches, "ROWS", 10)
    table = parentage.read_table(out.getvalue(), counts="Freq")
    assert table.packed is not None and is_same(table, whole)
    assert learn(table, threads=1).score == learn(whole, threads=1).score


def test_lines_that_are_equal_but_for_a_dropped_column() -> None:
    ours = parentage.read_table(VOYAGE, counts="Freq", drop=["age"])
    theirs = parentage.read_table(expanded(VOYAGE, "Freq"), drop=["age"])
    assert is_same(ours, theirs)
    assert score(ours, threads=1).digest == score(theirs, threads=1).digest


@pytest.mark.parametrize(
    ("count", "seen"),
    [
        ("-3", "'-3' is not a count"),
        ("2.5", "'2.5' is not a count"),
        ("many", "'many' is not a count"),
        ("inf", "'inf' is not a count"),
    ],
)
def test_counts_that_are_refused(count: str, seen: str) -> None:
    text = b"a,b,times\n0,1,4\n1,0,2\n1,1," + count.encode() + b"\n0,0,9\n"
    with pytest.raises(TableError, match=f"column 'times', line 4: {seen}; counts are whole"):
        parentage.read_table(text, counts="times")


@pytest.mark.parametrize("count", ["NA", "", "0", "?"])
def test_a_missing_count_means_no_such_rows(count: str) -> None:
    text = b"a,b,times\n0,1,4\n1,0,2\n1,1," + count.encode() + b"\n0,0,9\n"
    table = parentage.read_table(text, counts="times")
    assert table.repeats.tolist() == [4, 2, 9]


def test_counts_with_decimal_commas_and_blanks() -> None:
    text = b"a;b;times\n0;1; 1.000,0\n1;0;2\n1;1; 3 \n"
    assert parentage.read_table(text, counts="times", decimal=",").repeats.tolist() == [1000, 2, 3]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"counts": "Frq"}, "no column 'Frq' to take counts from; did you mean 'Freq'"),
        ({"counts": "Freq", "drop": ["Freq"]}, "'Freq' holds the counts, and another setting"),
        ({"counts": "Freq", "keep": ["age,Freq"]}, "'Freq' holds the counts"),
        ({"counts": "Freq", "categorical": ["Freq"]}, "'Freq' holds the counts"),
        ({"counts": "Freq", "discretize": "Freq=median"}, "'Freq' holds the counts"),
        ({"counts": "Freq", "drop": ["age", "sex", "class"]}, "fewer than 2 of 4 columns are left"),
    ],
)
def test_columns_of_counts_that_cannot_be(how: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        parentage.read_table(VOYAGE, **how)


def test_tables_that_counts_leave_nothing_of() -> None:
    with pytest.raises(TableError, match="the counts add up to 0 rows"):
        parentage.read_table(b"a,b,n\n0,1,0\n1,0,0\n", counts="n")
    with pytest.raises(TableError, match="the table has one data row"):
        parentage.read_table(b"a,b,n\n0,1,0\n1,0,1\n", counts="n")
    with pytest.raises(
        TableError, match="add up to 5,000,000,000 rows; 1 to 4,294,967,295 rows are allowed"
    ):
        parentage.read_table(b"a,b,n\n0,1,4000000000\n1,0,1000000000\n", counts="n")
    with pytest.raises(TableError, match="2 columns are named 'n'"):
        parentage.read_table(b"a,b,n,n\n0,1,1,1\n1,0,1,1\n", counts="n")


def test_a_table_has_its_repeats_already() -> None:
    table = parentage.read_table(VOYAGE, counts="Freq")
    with pytest.raises(InputError, match="is for files and data frames; a Table says in `repeats`"):
        parentage.read_table(table, counts="Freq")
    assert learn(table, recipe=table.recipe).score == learn(table).score


def test_a_recipe_counts_too(tmp_path: Path) -> None:
    path, other = tmp_path / "recipe.toml", VOYAGE.replace(b"1,male,", b"1,female,")
    table = parentage.read_table(VOYAGE, counts="Freq")
    assert table.recipe is not None
    table.recipe.save(path)
    assert 'counts = "Freq"' in path.read_text()
    assert "32 lines counted by Freq, 9 of count 0 left out" in path.read_text()
    assert parentage.read_table(VOYAGE, recipe=path).digest == table.digest
    ours = parentage.read_table(other, recipe=path)
    theirs = parentage.read_table(expanded(other, "Freq"))
    assert ours.digest == theirs.digest != table.digest
    with pytest.raises(InputError, match="no column 'Freq'"):
        parentage.read_table(expanded(VOYAGE, "Freq"), recipe=path)
    with pytest.raises(InputError, match="conflicts with the recipe"):
        parentage.read_table(VOYAGE, recipe=path, counts="age")
    holes = VOYAGE.replace(b"1,male,child,no", b"1,male,,no").replace(
        b"c,female,adult,yes", b"c,,,yes"
    )
    dropped = parentage.read_table(holes, counts="Freq", missing="drop")
    again = parentage.read_table(holes, recipe=dropped.recipe)
    assert is_same(again, dropped) and again.recipe == dropped.recipe
    assert dropped.n_rows < table.n_rows


# --- tables that seem to hold counts -----------------------------------------------------------


@pytest.mark.parametrize("name", ["Freq", "count", "COUNTS", "n", "weight", "_freq_", "frequency"])
def test_a_table_of_counts_is_refused(name: str) -> None:
    text = VOYAGE.replace(b"Freq", name.encode())
    with pytest.raises(TableError, match="the other columns never repeat a row") as refusal:
        parentage.read_table(text, discretize="mdl")
    ways = [way for way in refusal.value.ways if isinstance(way, Way)]
    assert [way.typed("command line") for way in ways] == [f"--counts {name}", f"--keep {name}"]
    counted = parentage.read_table(text, counts=name)
    assert counted.n_rows == parentage.read_table(expanded(text, name)).n_rows > 32
    assert name in parentage.read_table(text, keep=[name], discretize="mdl").names
    assert name in parentage.read_table(text, discretize=f"{name}=median").names
    assert name not in parentage.read_table(text, drop=[name]).names


def test_identifiers_beside_counts_do_not_hide_them() -> None:
    lines = VOYAGE.decode().splitlines()
    text = "\n".join(["id," + lines[0], *(f"p{i},{line}" for i, line in enumerate(lines[1:]))])
    with pytest.raises(
        TableError, match=r"'id' is an identifier.*\n.*'Freq' looks like"
    ) as refusal:
        parentage.read_table(text.encode())
    assert str(refusal.value).endswith("read_table(frame, drop=['id'], counts='Freq')")
    assert parentage.read_table(text.encode(), counts="Freq", drop="id").n_variables == 4


NOT_COUNTS = {
    "another name": VOYAGE.replace(b"Freq", b"price"),
    "rows that repeat": VOYAGE + VOYAGE.split(b"\n", 1)[1],
    "negative": VOYAGE.replace(b"yes,1", b"yes,-1"),
    "fractions": VOYAGE.replace(b"yes,1", b"yes,1.5"),
    "words": VOYAGE.replace(b"yes,1", b"yes,x"),
    "a flag": b"a,b,n\n0,1,1\n1,0,0\n1,1,1\n0,0,0\n",
    "one other column": b"a,n\n0,1\n1,4\n2,3\n3,9\n",
    "three lines": b"a,b,n\n0,1,5\n1,0,4\n1,1,7\n",
    "a quantity beside quantities": b"length,width,weight\n"
    + b"".join(b"%d,%d,%d\n" % (7 * i % 89, 31 * i % 97, 11 * i % 83) for i in range(60)),
}


@pytest.mark.parametrize("text", NOT_COUNTS.values(), ids=NOT_COUNTS)
@pytest.mark.filterwarnings("ignore::parentage.errors.DataWarning")
def test_other_tables_are_not(text: bytes) -> None:
    try:
        parentage.read_table(text, discretize="mdl")
    except TableError as error:
        assert "counts" not in str(error)


def test_rows_are_compared_beyond_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "FIRST_LINES", 8)
    repeated = VOYAGE + VOYAGE.split(b"\n")[-2] + b"\n"
    with pytest.warns(DataWarning, match="because the other columns repeat a row; pass counts="):
        assert parentage.read_table(repeated, discretize="mdl").n_rows == 33
    with pytest.raises(TableError, match="looks like counts"):
        parentage.read_table(VOYAGE, discretize="mdl")


def series(lines: int = 360) -> list[str]:
    return [f"{1812 + i // 12},{i % 12},{1000 + 7 * i % 90}" for i in range(lines)]


def crossed(
    numbers: list[Any], more: str = "", name: str = "", step: int = 1
) -> tuple[str, list[str]]:
    """Two crossed factors of 6 and 4 states, these numbers, and another column if there is more."""
    rows = [f"{'abcdef'[i % 6]},{'uvwx'[i // 6]},{n}" for i, n in enumerate(numbers)]
    return f"row,column,Freq{name}", [
        f"{r}{more.format(step * i % 19 + 1)}" for i, r in enumerate(rows)
    ]


MIXED = [7 * i % 23 for i in range(24)]
LIKE_COUNTS: dict[str, tuple[tuple[str, list[str]], str]] = {
    "a monthly series": (("year,month,count", series()), "'year' is not a category"),
    "a constant": (crossed([20] * 24), "all its values are equal"),
    "a quantity": (crossed(MIXED, ",{}.5", ",age"), "'age' is not a category"),
    "a second count": (crossed(MIXED, ",{}", ",cases", 5), "'cases' is not a category"),
    "dates": (crossed(MIXED, ",2024-01-{:02d}", ",day", 5), "'day' is not a category"),
    "few of many cells": (
        ("a,b,c,d,e,count", [f"{i % 9},{i % 10},{i // 2 % 9},{i % 7},{i % 8},{i % 5}"
                             for i in range(90)]),
        "the other columns have 45,360 cells, and there are only 90 lines",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LIKE_COUNTS)
def test_other_tables_with_a_column_called_count_are_no_tables_of_counts(case: str) -> None:
    (head, rows), why = LIKE_COUNTS[case]
    text = "\n".join([head, *rows, ""]).encode()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = parentage.read_table(text, auto=True)
    assert table.n_rows == len(rows)
    assert table.recipe is not None and table.recipe.settings.counts is None
    said = [str(one.message) for one in caught if "named like counts" in str(one.message)]
    assert len(said) == 1 and why in said[0]


def test_a_count_that_is_missing_in_a_table_of_counts() -> None:
    head, rows = crossed([*range(3, 26), "NA"])
    table = parentage.read_table("\n".join([head, *rows]).encode(), counts="Freq")
    with pytest.warns(DataWarning, match="looks like counts"):
        again = parentage.read_table("\n".join([head, *rows]).encode(), auto=True)
    assert again.digest == table.digest and len(table.repeats) == 23


# --- commands ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of counts, and the same with its rows written out."""
    folder = tmp_path_factory.mktemp("counts")
    (folder / "counts.csv").write_bytes(VOYAGE)
    (folder / "rows.csv").write_bytes(expanded(VOYAGE, "Freq"))
    (folder / "recipe.toml").write_text('settings.counts = "Freq"\n')
    ok("learn", str(folder / "rows.csv"), "-o", str(folder / "net.bif"))
    ok("learn", str(folder / "rows.csv"), "--certificate", str(folder / "proof.json"))
    return folder


SECONDS = re.compile(r"[\d.]+ s\b|\d+ MB")


@pytest.mark.parametrize(
    "command",
    [
        ("info", "TABLE"),
        ("score", "TABLE"),
        ("explain", "TABLE", "alive", "sex", "class"),
        ("learn", "TABLE", "--score", "bdeu"),
        ("learn", "TABLE", "--score", "qnml", "-k", "1"),
        ("support", "TABLE", "--bootstrap", "5"),
        ("check", "TABLE", "proof.json"),
        ("query", "net.bif", "--data", "TABLE", "--given", "sex=male"),
        ("apply", "net.bif", "rows.csv", "--data", "TABLE"),
    ],
    ids=lambda command: command[0],
)
def test_commands(command: tuple[str, ...], files: Path) -> None:
    def printed(table: str, *more: str) -> str:
        names = [table if part == "TABLE" else part for part in command]
        args = [str(files / name) if (files / name).exists() else name for name in names]
        return SECONDS.sub("…", ok(*args, *more)).replace("counts.csv", "rows.csv")

    how = ("--recipe", str(files / "recipe.toml"))
    if command[0] in ("info", "learn"):
        how = ("--counts", "Freq")
    assert printed("counts.csv", *how) == printed("rows.csv")


def test_a_page(files: Path) -> None:
    page = files / "page.html"
    recipe = str(files / "recipe.toml")
    done = run("report", str(files / "counts.csv"), "--recipe", recipe, "-o", str(page))
    n_rows = f"{parentage.read_table(VOYAGE, counts='Freq').n_rows:,}"
    assert done.returncode == 0
    assert (
        f"{n_rows} rows, 4 columns; 32 lines counted by Freq, 9 of count 0 left out" in done.stderr
    )
    text = page.read_text()
    assert f"from {n_rows} rows" in text and "Freq, in 32 lines, 9 of them with count 0" in text


def test_what_the_command_line_says(files: Path) -> None:
    said = refused("learn", str(files / "counts.csv"), "--discretize", "mdl")
    assert "repeat a row: --counts Freq (or --keep Freq to use it as it is)" in said
    assert said.endswith("--discretize mdl --counts Freq\n")
    lists = files / "lists.jkl"
    ok("score", str(files / "rows.csv"), "-o", str(lists))
    assert "--counts Freq is for tables" in refused("learn", str(lists), "--counts", "Freq")


# --- the estimator -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [pl.DataFrame, pl.DataFrame.to_pandas, pl.DataFrame.to_arrow])
def test_sample_weights(kind: Any) -> None:
    """Of the rows with weight 0 not even the states are known."""
    counted = pl.read_csv(VOYAGE)
    counted = pl.concat(
        [counted, counted[:1].with_columns(sex=pl.lit("?!"), Freq=pl.lit(0, pl.Int64))]
    )
    whole = pl.read_csv(expanded(VOYAGE, "Freq"), infer_schema_length=None)
    weights, frame = counted["Freq"], counted.drop("Freq")
    theirs = ParentageLearner().fit(kind(whole))
    for times in (weights, weights.to_list(), weights.to_numpy().astype(float)):
        ours = ParentageLearner().fit(kind(frame), sample_weight=times)
        assert is_same(ours.table_, theirs.table_) and ours.score_ == theirs.score_
        same = zip(ours.parameters_.tables, theirs.parameters_.tables, strict=True)
        assert all((a == b).all() for a, b in same)
        assert ours.score(kind(whole)) == theirs.score(kind(whole))
    X, y = kind(frame.drop("alive")), frame["alive"].to_list()
    classes = ParentageLearner().fit(X, y, sample_weight=weights)
    assert classes.classes_.tolist() == ["no", "yes"] and classes.table_.n_rows == whole.height


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (
            [0.5] * 32,
            r"sample_weight, row 0 .counted from 0.: 0.5 is not a count; sample_weight says",
        ),
        ([1.0] * 31 + [-2], r"sample_weight, row 31 .counted from 0.: -2 is not a count"),
        ([1.0] * 31 + [np.nan], r"sample_weight, row 31 .counted from 0.: nan is not a count"),
        ([1] * 31, r"sample_weight has shape \(31,\); it must be one number for each of 32 rows"),
        (["x"] * 32, "sample_weight does not hold numbers"),
        ([0] * 32, "every sample_weight is zero"),
    ],
)
def test_sample_weights_that_are_refused(weights: Any, message: str) -> None:
    frame = pl.read_csv(VOYAGE).drop("Freq")
    with pytest.raises(TableError, match=message):
        ParentageLearner().fit(frame, sample_weight=weights)
    with pytest.raises(InputError, match="is for a frame or an array; a Table says in"):
        ParentageLearner().fit(parentage.read_table(frame), sample_weight=[1] * 32)


def test_the_estimator_says_what_to_do_with_counts() -> None:
    with pytest.raises(
        TableError, match=r"\n  parentage.read_table\(X, discretize='mdl', counts='Freq'\)"
    ):
        ParentageLearner(discretize="mdl").fit(pl.read_csv(VOYAGE))
    table = parentage.read_table(pl.read_csv(VOYAGE), counts="Freq")
    assert ParentageLearner().fit(table).table_.n_rows == table.n_rows
