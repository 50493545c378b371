"""What tables come in: compressed, in workbooks, in several files."""

from __future__ import annotations

import gzip
import io
import sqlite3
import sys
import zipfile
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

import parentage
from command import ok, refused, run
from parentage.data.reading import read_table
from parentage.errors import DataWarning, InputError, MissingExtraError, ParentageError, TableError
from parentage.files import source as packed
from parentage.files.source import unpacked

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TABLE = parentage.datasets.chest_clinic(120)
FRAME = pl.DataFrame(
    {
        name: [labels[code] for code in codes]
        for name, labels, codes in zip(TABLE.names, TABLE.states, TABLE.to_codes(), strict=True)
    }
)
CSV = FRAME.write_csv().encode()


def zipped(data: bytes, *names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, data)
    return file.getvalue()


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "zst": zstandard.compress,
    "zip": lambda data: zipped(data, "inside.csv"),
}


def as_arrow(frame: pl.DataFrame, **options: Any) -> bytes:
    file = io.BytesIO()
    frame.write_ipc(file, **options)
    return file.getvalue()


def as_stream(frame: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    frame.write_ipc_stream(file)
    return file.getvalue()


def as_excel(**sheets: pl.DataFrame) -> bytes:
    from xlsxwriter import Workbook

    file = io.BytesIO()
    with Workbook(file, {"in_memory": True}) as book:
        for name, frame in sheets.items():
            frame.write_excel(book, worksheet=name)
    return file.getvalue()


# --- the same table, whatever it comes in ------------------------------------------------------


@pytest.mark.parametrize("kind", PACKED)
def test_compressed_files_are_unpacked(kind: str, tmp_path: Path) -> None:
    data = PACKED[kind](CSV)
    assert read_table(data).digest == TABLE.digest
    path = tmp_path / f"table.csv.{kind}"
    path.write_bytes(data)
    table = read_table(path)
    assert table.digest == TABLE.digest
    assert table.recipe is not None and table.recipe.account is not None
    assert table.recipe.account.source == str(tmp_path / "table.csv")
    assert run("learn", str(path)).stdout.split("(engine")[0] == without_seconds(tmp_path)


def without_seconds(folder: Path) -> str:
    plain = folder / "plain.csv"
    plain.write_bytes(CSV)
    return ok("learn", str(plain)).split("(engine")[0]


def test_several_members_and_blocks_are_one_file() -> None:
    half = len(CSV) // 2
    for pack in (gzip.compress, zstandard.compress):
        assert unpacked("x", pack(CSV[:half]) + pack(CSV[half:]))[1] == CSV
    assert unpacked("x", gzip.compress(CSV) + b"\0" * 512)[1] == CSV


def test_a_gzip_file_without_its_end_is_refused() -> None:
    with pytest.raises(InputError, match="is a damaged gzip file"):
        unpacked("x", gzip.compress(CSV)[:-1])


def test_compressed_lists_are_read(tmp_path: Path) -> None:
    lists = parentage.score(TABLE)
    lists.save(tmp_path / "l.jkl")
    packed_lists = tmp_path / "l.jkl.gz"
    packed_lists.write_bytes(gzip.compress((tmp_path / "l.jkl").read_bytes()))
    assert parentage.read_lists(packed_lists).digest == lists.digest


@pytest.mark.parametrize("kind", ["file", "compressed", "stream"])
def test_arrow(kind: str) -> None:
    made = {
        "file": lambda: as_arrow(FRAME),
        "compressed": lambda: as_arrow(FRAME, compression="zstd"),
        "stream": lambda: as_stream(FRAME),
    }
    table = read_table(made[kind]())
    assert table.digest == TABLE.digest
    assert table.recipe is not None and table.recipe.account is not None
    assert table.recipe.account.format == "arrow"


def test_excel_takes_the_sheet_that_has_something_or_is_named(tmp_path: Path) -> None:
    book = tmp_path / "book.xlsx"
    book.write_bytes(as_excel(clinic=FRAME, Sheet2=pl.DataFrame()))
    assert read_table(book).digest == TABLE.digest
    book.write_bytes(as_excel(clinic=FRAME, other=FRAME.head(30)))
    said = refused("info", str(book))
    assert "book.xlsx has 2 sheets: clinic, other; type --sheet clinic to read that one" in said
    assert "30 rows" in ok("info", str(book), "--sheet", "other")
    assert "has no sheet 'othr'; did you mean 'other'?" in refused(
        "info", str(book), "--sheet=othr"
    )


@pytest.mark.filterwarnings("ignore:.*imput")
def test_excel_types_blanks_and_places() -> None:
    frame = pl.DataFrame({"size": [1.5, 2.5, None, 4.0] * 5, "n": [1, 2, 3, 1] * 5,
                          "c": ["x", None, "y", "x"] * 5})  # fmt: skip
    data = as_excel(only=frame)
    with pytest.raises(TableError, match=r"column 'c', row 3 of sheet 'only'"):
        read_table(data, discretize="median")
    table = read_table(data, discretize="median", missing="mode")
    assert table.states[1] == ("1", "2", "3")
    bare = read_table(as_excel(only=FRAME), header=False, missing="mode", keep=["0"])
    assert bare.names[:2] == ("0", "1") and bare.n_rows == 121


@pytest.mark.parametrize("title", [["Admissions"], ["Admissions", "made by hand", "", ""]])
@pytest.mark.parametrize("indent", [0, 2])
def test_a_title_may_stand_above_the_header_of_a_sheet(title: list[str], indent: int) -> None:
    from xlsxwriter import Workbook

    file = io.BytesIO()
    with Workbook(file, {"in_memory": True}) as book:
        sheet = book.add_worksheet("S")
        for i, line in enumerate(title):
            sheet.write(i, 0, line)
        rows = [FRAME.columns, *FRAME.rows()]
        rows[3] = (None, *rows[3][1:])
        for i, cells in enumerate(rows):
            sheet.write_row(len(title) + i, indent, cells)
    table = read_table(file.getvalue(), missing="pnal")
    assert table.names == tuple(FRAME.columns) and table.n_rows == FRAME.height
    with pytest.raises(TableError, match=rf"row {len(title) + 4} of sheet 'S'"):
        read_table(file.getvalue())


# --- several files -----------------------------------------------------------------------------


def test_a_pattern_is_one_table(tmp_path: Path) -> None:
    FRAME.head(50).write_csv(tmp_path / "part-1.csv")
    FRAME.slice(50).select(reversed(FRAME.columns)).write_csv(tmp_path / "part-2.csv")
    pattern = str(tmp_path / "part-*.csv")
    table = read_table(pattern)
    assert table.digest == TABLE.digest
    assert table.recipe is not None and table.recipe.account is not None
    assert table.recipe.account.source.endswith("part-1.csv and 1 more file")
    assert "120 rows" in ok("info", pattern)
    assert "is read here" in refused("learn", pattern, "-o", str(tmp_path / "part-2.csv"))
    assert "no file matches" in refused("info", str(tmp_path / "nothing-*.csv"))


def test_files_of_a_pattern_must_agree(tmp_path: Path) -> None:
    FRAME.head(50).write_csv(tmp_path / "a-1.csv")
    FRAME.slice(50).drop("xray").write_csv(tmp_path / "a-2.csv")
    with pytest.raises(TableError, match=r"a-2\.csv lacks the column 'xray', which .*a-1\.csv has"):
        read_table(tmp_path / "a-*.csv")
    FRAME.slice(50).rename({"xray": "XRAY"}).write_csv(tmp_path / "a-2.csv")
    with pytest.raises(TableError, match="lacks the column 'xray'"):
        read_table(tmp_path / "a-*.csv")
    holes = FRAME.slice(50).with_columns(xray=pl.when(pl.int_range(70) != 3).then("xray"))
    holes.write_csv(tmp_path / "a-2.csv")
    with pytest.raises(
        TableError,
        match=r"value.* \(.*column 'xray', .*a-2\.csv, line 5",
    ):
        read_table(tmp_path / "a-*.csv")


@pytest.mark.parametrize("write", ["write_parquet", "write_csv"])
def test_numbers_in_several_files(write: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"n": [i * 7 % 30 / 2 for i in range(90)], "c": ["x", "y", "z"] * 30})
    for k in range(3):
        getattr(frame.slice(30 * k, 30), write)(tmp_path / f"{k}.bin")
    whole = read_table(tmp_path / "?.bin", discretize="quantile:3")
    expected = parentage.read_table(frame, discretize="quantile:3")
    assert whole.digest == expected.digest and whole.cuts == expected.cuts


def test_lists_are_one_file(tmp_path: Path) -> None:
    for k in range(2):
        parentage.score(TABLE, max_parents=1).save(tmp_path / f"{k}.jkl")
    with pytest.raises(ParentageError, match="lists are one file, and 2 files match"):
        parentage.learn(str(tmp_path / "*.jkl"))


# --- refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", PACKED)
def test_bombs_are_refused_without_being_unpacked(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "SMALL", 1 << 20)
    monkeypatch.setattr(packed, "LIKELY", 10)
    bomb = tmp_path / "bomb.csv"
    bomb.write_bytes(PACKED[kind](b"a,b\n" + b"0,0\n" * (1 << 20)))
    assert bomb.stat().st_size * packed.LIKELY < 4 << 20
    with pytest.raises(
        InputError, match=r"unpacks [\d,]+ bytes .* to more than \d+ MB; .*unpack it"
    ):
        read_table(bomb)


@pytest.mark.parametrize("kind", PACKED)
def test_damaged_files_give_a_message(kind: str) -> None:
    data = PACKED[kind](CSV)
    for length in range(4, len(data), max(1, len(data) // 25)):
        try:
            table = read_table(data[:length])
        except ParentageError as error:
            assert str(error)
        else:
            assert kind == "zst", "only whole frames"
            assert table.n_rows


@settings(max_examples=60)
@given(st.sampled_from(sorted(PACKED)), st.integers(0, 10_000), st.integers(0, 255))
def test_changed_bytes_give_a_message_or_the_table(kind: str, at: int, value: int) -> None:
    data = bytearray(PACKED[kind](CSV))
    data[at % len(data)] = value
    try:
        read_table(bytes(data))
    except ParentageError as error:
        assert str(error)
    except DataWarning:
        pass


def test_zip_files_with_several_or_locked_files() -> None:
    with pytest.raises(InputError, match="a zip file with 2 files in it"):
        read_table(zipped(CSV, "a.csv", "b.csv"))


def test_truncated_arrow_and_excel_files_give_a_message() -> None:
    for data in (as_arrow(FRAME), as_excel(clinic=FRAME)):
        for share in (0.2, 0.6, 0.9):
            with pytest.raises(ParentageError):
                read_table(data[: int(share * len(data))])


@pytest.mark.parametrize("kind", ["Parquet", "Arrow", "Excel"])
def test_what_does_not_begin_as_its_format_is_refused(kind: str) -> None:
    with pytest.raises(InputError, match=f"the {kind} file cannot be read: "):
        read_table(CSV, format=kind.lower())


def test_sheets_are_for_workbooks(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(CSV)
    said = refused("info", str(path), "--sheet", "x")
    assert "--sheet x is for workbooks, and" in said and "t.csv is csv" in said


def test_a_database_is_no_table(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "base.db") as base:
        base.execute("CREATE TABLE clinic (a, b)")
    base.close()
    assert "is a binary file" in refused("info", str(tmp_path / "base.db"))
    assert "is not a format" in refused("info", str(tmp_path / "base.db"), "--format", "sqlite")


@pytest.mark.parametrize(("library", "extra"), [("fastexcel", "excel"), ("zstandard", "zstd")])
def test_missing_libraries_say_what_to_install(
    library: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = as_excel(clinic=FRAME) if extra == "excel" else zstandard.compress(CSV)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=rf"pip install 'parentage\[{extra}\]'"):
        read_table(data)


def test_names_above_rows_without_header_are_noticed() -> None:
    with pytest.warns(DataWarning, match=r"the first row \(asia, tub, .* looks like column names"):
        read_table(CSV, header=False)
    headerless = CSV.split(b"\n", 1)[1]
    assert read_table(headerless, header=False).n_rows == 120


def test_decimal_commas_are_not_names_of_rows() -> None:
    """Two columns: between commas the rows have one cell more than the header, all different."""
    rows = [f"{ill};{age},5" for age in range(3) for ill in "yn"]
    table = read_table("\n".join(["ill;age", *rows]).encode(), decimal=",", discretize="median")
    assert table.names == ("ill", "age")
    assert table.n_rows == 6
