"""Very many rows as bit planes: the same table, counts and lists as from an array of codes."""

from __future__ import annotations

import os
import pickle
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parentage.arcs.resampling import resampled
from parentage.data.columns import Column
from parentage.data.formats import frame as batches
from parentage.data.reading import as_table, read_table
from parentage.data.table import MISSING, PackedCodes, PackedColumn, Table
from parentage.errors import InputError, TableError
from parentage.files import parquet, source
from parentage.network.network import Network
from parentage.pipeline import learn
from parentage.scoring import encoding as entropy
from parentage.scoring import encoding as merging
from parentage.scoring.candidates import score
from parentage.scoring.formats import read_lists, write_lists
from parentage.scoring.measures.measure import behind_one_state, sums_with_each
from strategies import each
from test_rows import NAMES, SETTINGS, as_parquet, mixed_frame, repeated, what_comes
from tuned import tune

if TYPE_CHECKING:
    from pathlib import Path


def cells(rng: np.random.Generator, rows: int, states: int, holes: bool) -> Any:
    """Codes of a column, some of them missing."""
    codes = rng.integers(0, states, rows)
    return np.where(rng.random(rows) < 0.1, -1, codes) if holes else codes


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**32), st.integers(1, 90), st.sampled_from([1, 2, 3, 128, 129, 40_000, 65_535]),
    st.booleans(), st.integers(1, 50),
)  # fmt: skip
def test_a_packed_column_is_its_codes(
    seed: int, rows: int, states: int, holes: bool, step: int
) -> None:
    """Written and read in parts of any length, with codes that grow on the way."""
    rng = np.random.default_rng(seed)
    codes = cells(rng, rows, states, holes)
    codes[: rows // 2] = np.minimum(codes[: rows // 2], 1)
    column = PackedColumn(rows)
    for first in range(0, rows, step):
        column.write(first, codes[first : first + step])
    first, last = sorted(rng.integers(0, rows + 1, 2).tolist())
    assert column.unpacked().tolist() == codes.tolist()
    assert column.part(first, last).tolist() == codes[first:last].tolist()
    assert column.missing_cells() == (codes < 0).sum()
    planes = int(codes.max()).bit_length() if (codes >= 0).any() else 0
    assert column.nbytes == (planes + bool((codes < 0).any())) * -(-rows // 8)
    lookup = rng.integers(-1, 300, states + 1)
    assert column.recoded(lookup).unpacked().tolist() == lookup[codes].tolist()
    assert column.unpacked().tolist() == codes.tolist()


def test_blocks_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parentage.data.table.ROWS_AT_ONCE", 16)
    codes = cells(np.random.default_rng(1), 1000, 5, True)
    column = PackedColumn.of(codes)
    for first, last in ((0, 1000), (3, 990), (16, 32), (15, 17), (999, 1000), (5, 5)):
        assert column.part(first, last).tolist() == codes[first:last].tolist()
    assert column.missing_cells() == (codes < 0).sum()


def packed_of(table: Table) -> Table:
    """The same table, its codes as planes."""
    codes = table.to_codes().astype(np.int64)
    codes[codes == MISSING] = -1
    columns = PackedCodes(tuple(map(PackedColumn.of, codes)), table.n_rows)
    return replace(table, codes=columns)


def random_table(seed: int, holes: bool, rows: int = 300) -> Table:
    rng = np.random.default_rng(seed)
    states = [2, 3, 5, 70, 1, 2, 150 if seed % 2 else 4]
    codes = np.array([cells(rng, rows, r, holes) for r in states])
    codes[1, : rows // 2] = codes[0, : rows // 2]
    labels = tuple(tuple(f"s{k}" for k in range(r + seed % 3)) for r in states)
    codes[codes < 0] = MISSING
    return Table(tuple(f"v{v}" for v in range(len(states))), labels, codes.astype(np.uint16))


@pytest.mark.parametrize("holes", [False, True])
@each("seed", 6)
def test_a_packed_table_is_the_table(seed: int, holes: bool) -> None:
    table = random_table(seed, holes)
    packed = packed_of(table)
    assert packed.packed is not None and table.packed is None
    wide = holes or int(table.to_codes().max()) > 127
    assert packed.to_codes().dtype == (np.uint16 if wide else np.uint8)
    assert (packed.to_codes() == table.to_codes()).all() and packed.digest == table.digest
    assert (packed.n_rows, packed.constant) == (table.n_rows, table.constant)
    assert (packed.missing_cells == table.missing_cells).all()
    assert packed.has_holes == table.has_holes and repr(packed) == repr(table)
    for v in range(table.n_variables):
        assert (packed.column(v) == table.column(v)).all()
        assert (packed.column(v, 13, 77) == table.to_codes()[v, 13:77]).all()
    assert (packed.rows(5, 1000) == table.to_codes()[:, 5:]).all()
    rng = np.random.default_rng(seed)
    pairs = [
        (packed.head(50), table.head(50)),
        (packed.head(-7), table.head(-7)),
        (packed.select(["v3", "v0"]), table.select(["v3", "v0"])),
        (packed.drop(["v2"]), table.drop(["v2"])),
        (packed.observed(), table.observed()),
        (pickle.loads(pickle.dumps(packed)), table),  # noqa: S301  # our own
        (resampled(packed, 1, seed), resampled(table, 1, seed)),
    ]
    mask = rng.random(table.n_rows) < 0.5
    pairs.append((packed.chosen_rows(mask), replace(table, codes=table.to_codes()[:, mask])))
    for ours, theirs in pairs:
        assert ours.digest == theirs.digest and ours.states == theirs.states
        assert (ours.to_codes() == theirs.to_codes()).all()
    assert all(ours.packed is not None for ours, _ in pairs[2:])


def test_only_who_asks_for_all_codes_unpacks_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the attribute nor what is learned from the table does."""
    packed = packed_of(random_table(2, holes=False))
    raw = Column("v", PackedColumn.of(np.array([0, 1, 0])), ["x", "y"])
    assert (packed.to_codes() == np.array([packed.column(v) for v in range(7)])).all()
    assert (packed.to_codes([4, 1]) == packed.to_codes()[[4, 1]]).all()
    assert raw.to_codes().tolist() == [0, 1, 0]
    asked = []
    for kind in (PackedColumn, PackedCodes):
        monkeypatch.setattr(kind, "unpacked", lambda whole: asked.append(whole))
    assert packed.codes is packed.packed and raw.codes is raw.packed
    part = packed.select(["v0", "v1", "v2", "v5"])
    learn(part, threads=1).network.fit(part)
    assert asked == []
    packed.to_codes()
    assert asked == [packed.codes]


def test_a_packed_code_without_a_label_is_refused() -> None:
    columns = tuple(PackedColumn.of(np.array(codes)) for codes in ([0, 1, 2], [0, 1, 0]))
    two = (("a", "b"),) * 2
    with pytest.raises(TableError, match="'x' has a code without a state label"):
        Table(("x", "y"), two, PackedCodes(columns, 3))


@pytest.mark.parametrize("name", [*NAMES, "pnal"])
def test_lists_of_a_packed_table(name: str) -> None:
    tables = [repeated(np.random.default_rng(len(name)), 5, 60, 2000)]
    tables.append(random_table(3, holes=name == "pnal"))
    for table in tables:
        for seen in (table, table.observed()):
            ours = score(packed_of(seen), score=name, max_parents=3, threads=1)
            assert ours.digest == score(seen, score=name, max_parents=3, threads=1).digest


@pytest.mark.parametrize("holes", [False, True])
def test_parameters_and_networks_of_a_packed_table(
    holes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parentage.network.parameters._ROWS_AT_ONCE", 64)
    table = random_table(2, holes, 200).select(["v0", "v1", "v2", "v5"])
    packed = packed_of(table)
    network = Network.from_arcs(table.names, [("v0", "v1"), ("v1", "v2")])
    whole, parts = network.fit(table), network.fit(packed)
    assert all((a == b).all() for a, b in zip(whole.tables, parts.tables, strict=True))
    assert (whole.log_likelihoods(table) == whole.log_likelihoods(packed)).all()
    how: dict[str, Any] = {"missing": "em"} if holes else {}
    assert learn(packed, threads=1, **how).network == learn(table, threads=1, **how).network


@pytest.mark.parametrize("worth", [-1.0, 1.0])
@each("seed", 8)
def test_bits_count_as_codes_do(seed: int, worth: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets of every size, columns of more states than a word has bits, in and without a context."""
    monkeypatch.setattr(merging, "_merged", type(merging._merged)())
    tune(monkeypatch, merging, worth_merging=worth)
    rng = np.random.default_rng(seed)
    states = [2, 3, 130, 2, 60, 5, 4]
    few = np.array([rng.integers(0, r, 200) for r in states])
    codes = few[:, rng.integers(0, 200, 3000)]
    labels = tuple(tuple(f"s{k:03}" for k in range(r)) for r in states)
    table = Table(tuple("abcdefg"), labels, codes.astype(np.uint16))
    for context in ((), (3, 1)):
        plain = entropy.encode(table, "bic", context=context)
        h = entropy.residuals(plain, table, context)
        with monkeypatch.context() as patch:
            tune(patch, entropy, many_rows=0)
            bits = entropy.encode(table, "bic", context=context)
            assert (entropy.residuals(bits, table, context) == h).all()
        assert bits.codes.shape == (plain.n_variables, 0)
        assert bool(len(bits.repeats)) == (worth > 0)
        assert (bits.row_bits == plain.row_bits).all() and (bits.repeats == plain.repeats).all()
        assert bits.total_rows == plain.total_rows and bits.distinct_rows == plain.distinct_rows
        n = plain.n_variables
        assert all((bits.column(x) == plain.codes[x]).all() for x in range(n))
        for size in range(2, n + 1):
            drawn = (sorted(rng.choice(n, size, replace=False).tolist()) for _ in range(30))
            sets = np.array(sorted(drawn), np.uint16)
            assert (bits.count(sets) == plain.count(sets)).all()


def test_stems_grow_from_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    table = repeated(np.random.default_rng(4), 6, 80, 3000)
    plain = behind_one_state(entropy.encode(table, "bic"))
    tune(monkeypatch, entropy, many_rows=0)
    bits = behind_one_state(entropy.encode(table, "bic"))
    f, others = plain.grid.f[None, :], np.arange(6, dtype=np.uint16)
    for stems in (np.array([[0, 2], [1, 3]], np.uint16), np.array([[1]], np.uint16)):
        counted = sums_with_each(bits, stems, others, f)
        assert (counted == sums_with_each(plain, stems, others, f)).all()


@pytest.mark.parametrize("name", NAMES)
def test_lists_of_very_many_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is done for them, done to a few: the same lists and tolerance."""
    rng = np.random.default_rng(len(name) + 50)
    distinct = Table.from_columns({f"v{v}": rng.integers(0, 9, 600).tolist() for v in range(6)})
    for table in (repeated(rng, 6, 60, 2000), distinct):
        plain = score(table, score=name, max_parents=4, threads=1)
        with monkeypatch.context() as patch:
            tune(patch, entropy, many_rows=0)
            tune(patch, merging, many_rows=0)
            tune(patch, merging, sample_bits=1)
            packed = packed_of(table)
            found = score(packed, score=name, max_parents=4, threads=1)
            assert (merging.merged(packed) is packed) == (table is distinct)
        assert found.digest == plain.digest
        assert found.known().tolerance == plain.known().tolerance


def test_a_sample_has_equal_rows_all_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """And of 40,000 distinct rows about a quarter is in one of four."""
    rng = np.random.default_rng(7)
    codes = rng.integers(0, 2, (20, 40_000)).astype(np.uint16)
    names, labels = tuple(f"v{v}" for v in range(20)), (("n", "y"),) * 20
    table = Table(names, labels, np.hstack([codes, codes, codes]))
    all_rows = len(merging._distinct(table, np.inf)[1])
    times = merging._distinct(table, np.inf, 2)[1]
    assert all_rows == len(np.unique(codes, axis=1).T)
    assert (times % 3 == 0).all() and abs(4 * len(times) - all_rows) < 0.05 * all_rows


@pytest.mark.parametrize("holes", [False, True])
def test_a_table_read_in_batches_takes_a_few_bits_a_cell(
    holes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    frame = mixed_frame(rng, 400, holes).select("text", "grade", "sure", "few")
    how: dict[str, Any] = {"missing": "pnal" if holes else "error"}
    whole = read_table(as_parquet(frame), **how)
    monkeypatch.setattr(batches, "ROWS", 100)
    table = read_table(as_parquet(frame), **how)
    bits = [(r - 1).bit_length() + holes for r in table.cardinalities.tolist()]
    assert table.packed is not None and table.packed.nbytes == sum(bits) * 400 // 8
    assert whole.packed is None and table.digest == whole.digest
    assert table.recipe == whole.recipe


def test_what_is_read_again_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Codes are let go column by column only where nobody needs them any more."""
    monkeypatch.setattr(batches, "ROWS", 100)
    frame = mixed_frame(np.random.default_rng(6), 300, False).select("text", "sure", "few")
    parts = [frame.slice(first, 100) for first in range(0, 300, 100)]
    from parentage.data.formats import frame as frames

    raw = batches.gather(map(frames.read, parts), 300)
    assert all(isinstance(column, Column) and column.packed for column in raw.columns)
    assert as_table(raw).digest == as_table(raw).digest == as_table(frame).digest


@pytest.mark.parametrize("seed", range(2))
def test_a_large_file_stays_where_it_is(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read from its path, batch by batch, it is what its bytes are; never is it in memory."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(60, 500))
    path = tmp_path / "k=v [1]*.parquet"  # nothing but a name
    path.write_bytes(as_parquet(mixed_frame(rng, rows, bool(seed)), row_group_size=90))
    monkeypatch.setattr(source.Source, "data", property(lambda _: pytest.fail("it was read")))
    for reading in SETTINGS:
        monkeypatch.setattr(batches, "ROWS", 1 << 18)
        whole = read_as(path.read_bytes(), reading)
        monkeypatch.setattr(source, "LARGE", 0)
        assert read_as(path, reading) == whole
        monkeypatch.setattr(batches, "ROWS", int(rng.integers(20, 100)))
        assert read_as(path, reading) == whole
        monkeypatch.setattr(source, "LARGE", 1 << 24)


def read_as(given: Path | bytes, reading: dict[str, Any]) -> Any:
    """What comes, but for the name of the source."""
    found = list(what_comes(given, reading))
    if isinstance(found[0], str):
        found[0] = found[0].replace(f"'{given!s}'", "frame").replace(str(given), "the table")
    if len(found) > 2 and found[4].account is not None:
        found[4] = replace(found[4], account=replace(found[4].account, source=""))
    return found


def test_a_large_file_without_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "LARGE", 0)
    path = tmp_path / "table.parquet"
    path.write_bytes(as_parquet(pl.DataFrame({"a": [0, 1] * 50}))[:-1])
    for reader in (read_table, read_lists):
        with pytest.raises(InputError, match="it is not Parquet, or its end is missing"):
            reader(path)


def test_a_file_with_fewer_rows_than_it_declares(tmp_path: Path) -> None:
    data = as_parquet(pl.DataFrame({"a": [0, 1] * 50}))
    with pytest.raises(InputError, match="fewer rows than the 120 that it declares"):
        list(parquet.read_batches(data, 120, 30))


def test_a_large_file_that_is_not_parquet_after_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "LARGE", 0)
    path = tmp_path / "table.csv"
    path.write_bytes(b"PAR1,b\n0,1\n1,0\n1,1\n")
    with pytest.raises(InputError, match="the Parquet file cannot be read"):
        read_table(path)
    assert read_table(path, format="csv").names == ("PAR1", "b")


def test_a_large_file_that_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What changes while it is read is refused; read again, it is what it is then."""
    path = tmp_path / "table.parquet"
    frame = pl.DataFrame({"a": [0, 1] * 50, "b": ["x", "x", "y", "y"] * 25})
    frame.write_parquet(path)
    parts = parquet.read_batches(path, 100, 30)
    assert next(parts).height == 30
    os.utime(path, ns=(1, 1))
    with pytest.raises(InputError, match="was changed while it was read"):
        next(parts)
    monkeypatch.setattr(source, "LARGE", 0)
    assert read_table(path).digest == as_table(frame).digest
    path.unlink()
    with pytest.raises(InputError, match="cannot read"):
        parquet.count_rows(path)


def test_large_lists_stay_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lists = score(repeated(np.random.default_rng(8), 5, 60, 500), threads=1)
    write_lists(lists, tmp_path / "lists.parquet")
    monkeypatch.setattr(source, "LARGE", 0)
    assert read_lists(tmp_path / "lists.parquet").digest == lists.digest
