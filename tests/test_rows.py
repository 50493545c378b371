"""Many rows: equal ones counted once, files read batch by batch; nothing else changes."""

from __future__ import annotations

import io
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parentage.data.formats import frame as batches
from parentage.data.reading import read_table
from parentage.data.table import Table
from parentage.errors import ParentageError
from parentage.scoring import encoding as merging
from parentage.scoring.candidates import score
from parentage.scoring.constraints import Constraints
from parentage.scoring.encoding import encode, merged, merged_words, residuals
from strategies import each, seeds, tables
from tuned import tune

if TYPE_CHECKING:
    from pathlib import Path

    from parentage.scoring.lists import CandidateLists

NAMES = ("bic", "aic", "hqc", "ebic:0.5", "penalty:2.5", "bdeu:2", "k2", "jeffreys", "qnml", "fnml")

SETTINGS = [
    {"missing": way} for way in ("error", "drop", "state", "mode", "pnal", "em")
] + [
    {"missing": "mode", "discretize": how, "categorical": ["code"]}
    for how in ("mdl", "median", "quantile:3")
] + [{"missing": "mode", "na": ["a", "code=3"], "drop": ["share"]}]  # fmt: skip


def repeated(rng: np.random.Generator, n: int, kinds: int, rows: int) -> Table:
    """A few different rows, some of them very often."""
    arity = rng.integers(2, 6, n)
    different = np.array([rng.integers(0, r, kinds) for r in arity])
    often = rng.geometric(rng.uniform(0.02, 0.5), kinds).astype(float) ** 3
    chosen = rng.choice(kinds, rows, p=often / often.sum())
    return Table.from_columns({f"v{v}": different[v, chosen].tolist() for v in range(n)})


@pytest.fixture
def unmerged(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that does something without merging any rows."""

    def call(action: Any) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(merging, "_merged", type(merging._merged)())
            tune(patch, merging, worth_merging=-1.0)
            return action()

    return call


@settings(max_examples=100, deadline=None)
@given(tables(6, 60), st.integers(1, 70))
def test_merged_rows_are_the_rows(table: Table, block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merging, "_merged", type(merging._merged)())
        tune(patch, merging, worth_merging=1.0)
        tune(patch, merging, rows_merged=block, block_rows=-(-block // 2))
        found = merged(table)
    rows = Counter(map(tuple, table.to_codes().T.tolist()))
    times = found.repeats.tolist()
    assert dict(zip(map(tuple, found.to_codes().T.tolist()), times, strict=True)) == rows
    assert found.n_rows == table.n_rows and found.constant == table.constant


@pytest.mark.parametrize("kind", [np.uint32, np.int64])
def test_merged_weights_take_no_more_room(kind: Any) -> None:
    words, weights = merged_words(np.array([[7, 3, 7, 7]], np.uint64), np.array([1, 2, 4, 8], kind))
    assert (words.tolist(), weights.tolist(), weights.dtype) == ([[3, 7]], [2, 13], kind)


def test_keys_of_several_words() -> None:
    """300 states need nine bits; forty such columns, six words."""
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 300, (40, 50))
    rows[:, 0], rows[:, 1] = 0, 299
    codes = rows[:, rng.integers(0, 50, 5000)]
    labels = tuple(str(k) for k in range(300))
    table = Table(tuple(f"v{v}" for v in range(40)), (labels,) * 40, codes.astype(np.uint16))
    found = merged(table)
    assert Counter(map(tuple, codes.T.tolist())) == {
        tuple(row): times
        for row, times in zip(found.to_codes().T.tolist(), found.repeats.tolist(), strict=True)
    }


def test_nothing_is_merged_where_it_does_not_pay() -> None:
    rng = np.random.default_rng(1)
    table = Table.from_columns({f"v{v}": rng.integers(0, 9, 500).tolist() for v in range(6)})
    assert merged(table) is table and not len(encode(table, "bic").repeats)


@each("seed", 12)
def test_counts_are_those_of_all_rows(seed: int, unmerged: Any) -> None:
    """Every set of every size, in and without a context, and h, as the same integers."""
    rng = np.random.default_rng(seed)
    table = repeated(rng, 6, int(rng.integers(5, 400)), int(rng.choice([60, 700, 20_000])))
    for context in ((), (1, 4)):
        once = encode(table, "bic", context=context)
        each = unmerged(lambda context=context: encode(table, "bic", context=context))
        assert len(once.repeats) and not len(each.repeats)
        assert once.codes.shape[1] < each.codes.shape[1]
        assert once.total_rows == each.total_rows == table.n_rows
        assert (once.order == each.order).all() and (once.single == each.single).all()
        assert (once.grid.tolerance, once.empty) == (each.grid.tolerance, each.empty)
        for size in range(2, once.n_variables + 1):
            sets = np.array(
                sorted(
                    tuple(sorted(rng.choice(once.n_variables, size, replace=False)))
                    for _ in range(20)
                ),
                np.uint16,
            )
            excess, other = np.empty(20, np.int64), np.empty(20, np.int64)
            assert (once.count(sets, excess=excess) == each.count(sets, excess=other)).all()
            assert (excess == other).all()
        h = unmerged(lambda each=each, context=context: residuals(each, table, context))
        assert (residuals(once, table, context) == h).all()


@pytest.mark.parametrize("name", NAMES)
def test_lists_are_those_of_all_rows(name: str, unmerged: Any) -> None:
    rng = np.random.default_rng(len(name))
    table = repeated(rng, 5, 60, 3000)
    turned = Table(table.names, table.states, table.to_codes()[:, rng.permutation(3000)])
    for required in (frozenset(), frozenset({("v1", "v3")})):
        constraints = Constraints(required=required)

        def lists_of(given: Table, constraints: Constraints = constraints) -> CandidateLists:
            return score(given, score=name, max_parents=3, threads=1, constraints=constraints)

        once = lists_of(table)
        each = unmerged(lambda lists_of=lists_of: lists_of(table))
        assert once.digest == each.digest
        assert once.known().tolerance == each.known().tolerance
        assert once.known().data == table.digest
        assert lists_of(turned).digest == once.digest


def mixed_frame(rng: np.random.Generator, rows: int, holes: bool) -> pl.DataFrame:
    """Columns of every type that Parquet has for us, with and without missing cells."""

    def gaps(values: list[Any]) -> list[Any]:
        if not holes:
            return values
        return [None if rng.random() < 0.05 else value for value in values]

    words = ["a", " b", "c ", "b", "d"] + (["?", ""] if holes else [])
    text = [str(w) for w in rng.choice(words, rows)]
    grade = pl.Enum(["low", "never", "high"])
    return pl.DataFrame(
        {
            "text": pl.Series(gaps(text), dtype=pl.String),
            "kind": pl.Series(gaps([str(k) for k in rng.integers(0, 300, rows)])).cast(
                pl.Categorical
            ),
            "grade": pl.Series(gaps([str(g) for g in rng.choice(["high", "low"], rows)])).cast(
                grade
            ),
            "sure": pl.Series(gaps(rng.integers(0, 2, rows).astype(bool).tolist())),
            "code": pl.Series(gaps(rng.integers(-3, 40, rows).tolist()), dtype=pl.Int16),
            "share": pl.Series(gaps(rng.normal(size=rows).round(2).tolist()), dtype=pl.Float64),
            "few": pl.Series(gaps(rng.integers(0, 3, rows).tolist()), dtype=pl.UInt8),
            "late": pl.Series(["x"] * (rows - 3) + ["y", "z", "y"]),
        }
    )


def what_comes(data: bytes | Path, reading: dict[str, Any]) -> tuple[Any, ...]:
    """Everything there is to know about reading: the table, what was said, or the refusal."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            table = read_table(data, **reading)
        except ParentageError as error:
            return (str(error), sorted(str(one.message) for one in told))
    said = sorted(str(one.message) for one in told)
    return table.digest, table.names, table.states, table.cuts, table.recipe, said


def as_parquet(frame: pl.DataFrame, **options: Any) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, **options)
    return buffer.getvalue()


@pytest.mark.parametrize("seed", seeds(2, 12))
@pytest.mark.parametrize("holes", [False, True])
def test_batches_are_read_as_the_whole(
    seed: int, holes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(60, 700))
    data = as_parquet(mixed_frame(rng, rows, holes), row_group_size=int(rng.integers(20, 400)))
    for reading in SETTINGS:
        for reads in (reading, {**reading, "drop": ["share", "code"]}):
            monkeypatch.setattr(batches, "ROWS", 1 << 18)
            whole = what_comes(data, reads)
            monkeypatch.setattr(batches, "ROWS", int(rng.integers(1, rows)))
            monkeypatch.setattr(batches, "MOST_NUMBERED", int(rng.choice([5, 60, 1 << 16])))
            assert what_comes(data, reads) == whole


def test_the_row_of_a_missing_cell_is_that_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "ROWS", 7)
    cells = ["x", "y"] * 20
    frame = pl.DataFrame({"a": cells, "b": [*cells[:-5], None, *cells[-4:]]})
    with pytest.raises(ParentageError, match=r"column 'b', row 35 \(counted from 0\)"):
        read_table(as_parquet(frame))
