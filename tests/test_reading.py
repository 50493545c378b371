"""Reading tables: what cells become, and what bad input is told."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parentage import learn
from parentage.data.applying import rows_like
from parentage.data.columns import RawTable
from parentage.data.formats import delimited
from parentage.data.reading import as_table, read_table
from parentage.data.table import MISSING, Table
from parentage.errors import DataWarning, InputError, ParentageError, TableError

if TYPE_CHECKING:
    from pathlib import Path

    from real_data import RealData


def labels(table: Table) -> dict[str, list[str]]:
    """Return the table as columns of labels."""
    return {
        name: [states[code] for code in codes]
        for name, states, codes in zip(table.names, table.states, table.to_codes(), strict=True)
    }


def quietly(source: Any, **options: Any) -> Table:
    """Read without the warnings, which are not what the test is about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return as_table(source, **options)


# --- separated text ----------------------------------------------------------------------------


@pytest.mark.parametrize("separator", [",", "\t", ";", "|", " "])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("end", ["", "\n", "\n\n  \n"])
def test_separator_line_ends_and_byte_order_mark_do_not_matter(
    separator: str, newline: str, end: str
) -> None:
    text = "\ufeffa,b,c\nx,1,yes\ny,2,no\nx,1,no".replace(",", separator) + end
    table = read_table(text.replace("\n", newline).encode())
    assert labels(table) == {
        "a": ["x", "y", "x"],
        "b": ["1", "2", "1"],
        "c": ["yes", "no", "no"],
    }


def test_undeclared_states_are_sorted_numbers_by_value() -> None:
    table = read_table(b"a,b\n10,x\n9,10\n10,9\n")
    assert table.states == (("9", "10"), ("10", "9", "x"))


def test_quotes_blanks_and_blank_lines() -> None:
    text = b'"a", b ,"c ""x"""\n"1,5",  u v ,"line\nbreak"\n\n"2", w,z\n'
    assert labels(read_table(text)) == {
        "a": ["1,5", "2"],
        "b": ["u v", "w"],
        'c "x"': ["line\nbreak", "z"],
    }


def test_quotes_inside_cells_are_text() -> None:
    text = b'pipe,b\n5" wide,x\n6" wide,y\n'
    assert labels(read_table(text)) == {"pipe": ['5" wide', '6" wide'], "b": ["x", "y"]}


BLANKS = {
    "one blank": "a b c\nx 1 u\ny 2 v\nx 2 u\n",
    "aligned": "  a   b  c\n  x   1  u\n  y   2  v\n  x   2  u\n",
    "quoted": '"a" "b" "c"\n"x" 1 "u"\n"y" 2 "v"\n"x" 2 "u"\n',
    "quoted and aligned": '"a"  "b"  "c"\n"x"   1  "u"\n"y"   2  "v"\n"x"   2  "u"\n',
    "row names": '"a" "b" "c"\n"1" "x" 1 "u"\n"2" "y" 2 "v"\n"3" "x" 2 "u"\n',
    "row names, commas": '"a","b","c"\n"1","x",1,"u"\n"2","y",2,"v"\n"3","x",2,"u"\n',
}


@pytest.mark.parametrize("case", BLANKS)
def test_text_separated_by_blanks(case: str) -> None:
    text = BLANKS[case].encode()
    expected = read_table(b"a,b,c\nx,1,u\ny,2,v\nx,2,u\n")
    if "row names" in case:
        with pytest.raises(TableError, match=r"column 'unnamed 1' has no name .*drop=\['unna"):
            read_table(text)
    drop = [""] if "row names" in case else []
    assert read_table(text, drop=drop).digest == expected.digest
    spaced = text.replace(b"u", b"u  v") if b'"u"' in text else text
    assert read_table(spaced, drop=drop).states[2] == (
        ("u  v", "v") if spaced != text else ("u", "v")
    )


def test_blanks_inside_cells_are_said_to_need_quotes() -> None:
    with pytest.raises(TableError, match=r"line 2 has 4 cells, .* \(separator ' '\).*quote a cell"):
        read_table(b"a b c\nNew York 1 u\nBerlin 2 v\n")
    with pytest.raises(TableError, match=r"3 lines do not have 2 cells .*: line 2 has 3 cells, "):
        read_table(b"a,b\nx,y,\nu,v,1\nx,w,\n")  # some lines end in a separator


def test_a_header_with_a_ragged_line_below_is_no_title(tmp_path: Path) -> None:
    rows = ["1,5;x;u", "2,5;y;v", "1,5;x;u;w", "2,5;x;v"]
    text, path = "\n".join(["a;b;c", *rows]), tmp_path / "t.csv"
    with pytest.raises(TableError, match=r"^line 4 has 4 cells, the first line has 3"):
        read_table(text.encode())
    path.write_text(text)
    with pytest.raises(TableError, match=r"t\.csv: line 4 has 4 cells, the first line has 3"):
        read_table(path)


@pytest.mark.parametrize("quotes", ["", 'a "b" c'], ids=["plain", "lenient"])
def test_all_ragged_lines_are_reported_at_once(
    quotes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delimited, "_BLOCK", 64)
    rows = ["1,2,x"] * 40
    rows[3], rows[20], rows[30] = "1,2", "1,2,3,4", "1"
    text = "\n".join(["a,b,c", f"1,2,{quotes}", *rows])
    with pytest.raises(TableError) as refusal:
        read_table(text.encode())
    assert str(refusal.value).startswith(
        "3 lines do not have 3 cells as the first line has (separator ','): "
        "line 6 has 2 cells, line 23 has 4 cells, line 33 has 1 cell; "
    )
    many = text + "\n1,2" * 30
    with pytest.raises(TableError, match=r"^33 lines do .*, line 49 has 2 cells, and 23 more; "):
        read_table(many.encode())


@pytest.mark.parametrize("small", [0, 1 << 18])
def test_a_quote_mark_inside_a_cell_is_text_and_one_that_opens_a_cell_has_to_close(
    small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delimited, "SMALL", small)
    rows = b"a,b\n" + b"x,u\ny,v\n" * 3
    assert read_table(rows.replace(b"x", b'5" pipe', 1)).states[0][0] == '5" pipe'
    with pytest.raises(TableError, match=r"^line 4: a quote opens a cell and is never closed"):
        read_table(b'a,b\n"x\ny",u\n"z,v\nx,u\n')
    for row in (b'y, "z', b'5" pipe,"z'):  # after a blank; with another quote, which makes two
        with pytest.raises(TableError, match=r"^line 3: a quote opens a cell and is never closed"):
            read_table(b"a,b\nx,u\n" + row + b"\nx,u\n")
    assert read_table(b'a,b\n5" pipe,"u,"\ny,v\n').states == (('5" pipe', "y"), ("u,", "v"))


@pytest.mark.parametrize("small", [0, 1 << 18])
def test_a_cell_may_be_a_whole_document(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "SMALL", small)
    long = b"x" * 200_000
    assert len(read_table(b"a,b\n" + long + b",u\ny,v\n").states[0][0]) == 200_000


def test_one_column_is_refused_in_large_text_as_in_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "SMALL", 0)
    with pytest.raises(TableError, match=r"^the first line \('x'\) has one column"):
        read_table(b"x\ny\n" * 10, header=False)


def test_without_header_columns_are_numbered() -> None:
    table = read_table(b"0,1\n1,1\n0,0\n", header=False)
    assert table.names == ("0", "1")
    assert table.to_codes().tolist() == [[0, 1, 0], [1, 1, 0]]


@pytest.mark.parametrize(
    "text",
    [
        "0,0,1\n0,1,1\n1,0,0\n",
        "0,1\n1,0\n0,1\n",
        "7,0,1\n3,1,0\n3,0,1\n",
        "p,x,s\np,y,s\ne,x,f\n",
        "5.1,3.5,setosa\n4.9,3.0,setosa\n6.0,2.2,virginica\n",
        "5.1,3.5\n4.9,3.0\n6.0,2.2\n",
        "?,x\na,x\nb,y\n",
    ],
)
def test_a_first_line_of_data_is_refused_with_the_hint(text: str) -> None:
    with pytest.raises(TableError, match="header=False"):
        read_table(text.encode(), discretize="median")
    assert quietly(text.encode(), header=False, discretize="median", missing="mode").n_rows == 3


@pytest.mark.parametrize(
    "text",
    [
        "0,1,2\n0,1,0\n1,0,1\n",
        "2019,2020,region\n0,1,north\n1,0,south\n",
        "x,y\nx,1\nz,2\n",
        "10,11,12\n0,1,0\n1,0,1\n",
    ],
)
def test_a_header_of_numbers_or_labels_is_still_a_header(text: str) -> None:
    assert read_table(text.encode()).names == tuple(text.split("\n")[0].split(","))


def test_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(b"a;b\n0;1\n1;0\n")

    monkeypatch.setattr(sys, "stdin", Stdin())
    assert read_table("-").names == ("a", "b")


def test_other_encodings() -> None:
    text = "größe,b\nä,1\nö,2\n"
    for encoding in ("latin-1", "utf-16", "utf-16-le"):
        assert read_table(text.encode(encoding), encoding=encoding).states[0] == ("ä", "ö")


cells = st.text(st.sampled_from('ab1 ",;?\n\t.é'), max_size=4)


def _both_ways(text: str, header: bool) -> tuple[RawTable | str, RawTable | str]:
    def attempt(reader: Any) -> RawTable | str:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)  # a first row that looks like names
                found: RawTable = reader()
        except ParentageError as error:
            return str(error)
        return found

    fast = attempt(lambda: delimited.read(text, header=header, separator=","))
    slow = attempt(lambda: delimited.read_any(text, ",", header))
    return fast, slow


@given(
    st.integers(2, 4).flatmap(
        lambda width: st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1)
    ),
    st.booleans(),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    st.sampled_from([16, 64, 1 << 24]),
    st.sampled_from([0, 1 << 18]),
    st.sampled_from([1, 1000]),
)
def test_blocks_and_polars_read_what_the_csv_module_reads(
    rows: list[list[str]], header: bool, quoting: Any, block: int, small: int, few: int
) -> None:
    written = io.StringIO()
    csv.writer(written, quoting=quoting, lineterminator="\n").writerows(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "_BLOCK", block)
        patch.setattr(delimited, "SMALL", small)
        patch.setattr(delimited, "_ROWS", few)
        fast, slow = _both_ways(written.getvalue(), header)
        if isinstance(fast, str) or isinstance(slow, str):
            assert fast == slow
            return
        assert [c.name for c in fast.columns] == [c.name for c in slow.columns]
        for a, b in zip(fast.columns, slow.columns, strict=True):
            assert [None if i < 0 else a.values[i] for i in a.to_codes()] == [
                None if i < 0 else b.values[i] for i in b.to_codes()
            ]
        places = [fast.place(row) for row in range(fast.n_rows)]
        assert places == [slow.place(row) for row in range(slow.n_rows)]


@given(st.text(st.sampled_from('ab1 ",\n'), max_size=60), st.booleans())
def test_any_text_reads_the_same_fast_and_slow_or_is_refused_by_both(
    text: str, header: bool
) -> None:
    fast, slow = _both_ways(text, header)
    if isinstance(fast, RawTable):
        assert isinstance(slow, RawTable)
        assert [c.name for c in fast.columns] == [c.name for c in slow.columns]
        assert fast.n_rows == slow.n_rows


# --- missing cells -----------------------------------------------------------------------------

GAPS = b"n,c,b\n1,red,x\n?,red,y\n3,,x\n4,blue,?\n2.5,blue,y\n"


def test_missing_cells_are_refused_with_place_and_ways_out() -> None:
    with pytest.raises(
        TableError, match=r"3 missing values in 3 columns \(first: column 'n', line 3:"
    ):
        read_table(GAPS, discretize="median")
    with pytest.raises(
        TableError, match=r"missing='em'.*missing='pnal' .*missing='state' .*missing='drop' "
    ):
        read_table(GAPS, discretize="median")


def test_missing_drop_leaves_complete_rows_and_their_states() -> None:
    table = read_table(GAPS, missing="drop", discretize="median")
    assert table.cuts["n"] == (1.75,)
    assert labels(table) == {"n": ["< 1.75", "≥ 1.75"], "c": ["red", "blue"], "b": ["x", "y"]}


def test_missing_state_adds_one_where_it_is_needed() -> None:
    table = read_table(GAPS, missing="state", discretize="median")
    assert table.states == (
        ("< 2.75", "≥ 2.75", "missing"),
        ("blue", "red", "missing"),
        ("x", "y", "missing"),
    )
    assert table.to_codes().tolist() == [[0, 2, 1, 1, 0], [1, 1, 2, 0, 0], [0, 1, 0, 2, 1]]
    collision = read_table(b"a,b\nmissing,1\n?,2\nx,1\n", missing="state")
    assert collision.states == (("missing", "x", "missing 2"), ("1", "2"))


@pytest.mark.filterwarnings("ignore:.*imput")
def test_missing_mode_takes_median_or_mode_ties_to_the_first_state() -> None:
    table = read_table(GAPS, missing="mode", discretize="median")
    assert table.cuts["n"] == (2.75,)
    assert table.to_codes()[0].tolist() == [0, 1, 1, 1, 0]
    assert labels(table)["c"] == ["red", "red", "blue", "blue", "blue"]
    assert labels(table)["b"] == ["x", "y", "x", "x", "y"]


@pytest.mark.filterwarnings("ignore:.*imput")
def test_missing_mode_fills_small_integers_with_the_mode() -> None:
    table = read_table(b"a,b\n0,x\n0,y\n?,x\n9,y\n8,x\n", missing="mode")
    assert labels(table)["a"] == ["0", "0", "0", "9", "8"]


WORDS = ("NA", "N/A", "n/a", "null", "NULL", "NaN", "nan", "None", "-", "?", "")
TEXT = "age,sex,site\n" + "".join(
    f"{20 + i % 3},{'fm'[i % 2]},{'abc'[i % 3]}\n{word},{word},c\n"
    for i, word in enumerate(WORDS)
)  # fmt: skip


def test_words_for_missing_mean_it_in_text_as_among_numbers() -> None:
    table = read_table(TEXT.encode(), missing="state")
    assert table.states == (("20", "21", "22", "missing"), ("f", "m", "missing"), ("a", "b", "c"))
    assert [cells.count("missing") for cells in labels(table).values()] == [len(WORDS)] * 2 + [0]
    assert table.recipe is not None and table.recipe.account is not None
    assert table.recipe.account.blanked == dict.fromkeys(["age", "sex"], len(WORDS) - 1)
    assert "; 20 of them hold a code for missing (age 10, sex 10)" in str(table.recipe)


def test_refused_words_for_missing_are_quoted_with_the_way_to_keep_them() -> None:
    text = b"a,b\n1,x\nNA,-\n2,x\n"
    with pytest.raises(TableError, match=r"2 missing .*first: column 'a', line 3: 'NA'\)"):
        read_table(text)
    with pytest.raises(TableError, match=r", na=\[\] if -, NA are states\)\n"):
        read_table(text)
    with pytest.raises(TableError, match=r"missing='drop' to leave such rows out\)\n"):
        read_table(b"a,b,c\n1,x,u\n,y,u\n2,x,v\n")


def test_words_for_missing_are_states_for_who_says_so() -> None:
    text = b"country,b\nNA,x\nZA,?\n,x\nNA,-\nZA,x\n"
    ways: list[Any] = [[], "none", ["none"], (), {}]
    for nothing in ways:
        table = read_table(text, na=nothing, missing="state")
        assert table.states == (("NA", "ZA", "missing"), ("-", "?", "x"))
    assert read_table(text, na=["none", "b=-"], missing="state").states == (
        ("NA", "ZA", "missing"), ("?", "x", "missing"),
    )  # fmt: skip
    assert table.recipe is not None and table.recipe.settings.na == ("none",)
    again = read_table(text, recipe=table.recipe)
    assert again.digest == table.digest


def test_a_minus_beside_a_plus_is_a_result() -> None:
    text = b"rhesus,b\n+,x\n-,-\n+,y\n-,x\n"
    assert read_table(text, missing="state").states == (("+", "-"), ("x", "y", "missing"))


def test_a_state_of_the_known_rows_is_one_in_new_rows() -> None:
    known = read_table(b"a,b\nNA,x\nu,y\nu,x\n", na=[])
    new = b"a,b\nNA,x\n?,y\nu,-\n"
    with pytest.raises(TableError, match=r"'\?', which is not|'\?', which was never seen"):
        rows_like(known, new, "em")
    bare = Table(known.names, known.states, known.to_codes())
    assert rows_like(bare, new, "em").to_codes().tolist() == [[0, MISSING, 1], [0, 1, MISSING]]


def test_declared_states_are_believed_and_named() -> None:
    frame = pd.DataFrame({"a": pd.Categorical(["None", "cold", "cold"]), "b": list("xyx")})
    with pytest.warns(DataWarning, match=r"column 'a' has the state 'None'; pass na=\['None'\]"):
        assert read_table(frame).states[0] == ("None", "cold")
    assert read_table(frame, na=["None"], missing="state").states[0] == ("cold", "missing")


def test_text_is_the_same_table_whoever_splits_it(tmp_path: Path) -> None:
    """Missing values do not depend on the library that read the file."""
    text = TEXT.replace("\n,,c", "\n-nan,#N/A,c")
    (tmp_path / "t.csv").write_text(text)
    expected = read_table(tmp_path / "t.csv", missing="pnal")
    whole = pd.read_csv(tmp_path / "t.csv", dtype=str, keep_default_na=False)
    for frame in (
        pd.read_csv(tmp_path / "t.csv"),
        whole,
        pl.read_csv(tmp_path / "t.csv", null_values=["NA", "NaN"]),
        pl.from_pandas(whole).to_arrow(),
    ):
        assert read_table(frame, missing="pnal").digest == expected.digest
    pl.from_pandas(whole).write_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet", missing="pnal").digest == expected.digest
    assert learn(tmp_path / "t.csv", missing="pnal").score == learn(whole, missing="pnal").score


@pytest.mark.filterwarnings("ignore:.*imput")
def test_a_column_without_values_is_refused_or_constant() -> None:
    text = b"a,b,c\n?,x,1\n?,y,0\n"
    with pytest.raises(TableError, match="column 'a' has no values at all"):
        read_table(text, missing="mode")
    with pytest.raises(TableError, match=r"column 'a' has no values at all: drop=\['a'\]"):
        read_table(text, missing="drop")
    with pytest.warns(DataWarning, match="1 constant column: a"):
        assert read_table(text, missing="state").states[0] == ("missing",)


@given(
    st.lists(
        st.tuples(st.sampled_from(["x", "y", "z", "?"]), st.sampled_from(["0", "1", ""])),
        min_size=2,
        max_size=30,
    )
)
def test_missing_ways_agree_with_the_obvious_ones(rows: list[tuple[str, str]]) -> None:
    text = "first,second\n" + "".join(f"{a},{b}\n" for a, b in rows)
    complete = [row for row in rows if "?" not in row and "" not in row]
    gaps = len(complete) < len(rows)
    try:
        kept = labels(quietly(text.encode(), missing="drop"))
    except TableError:
        assert len(complete) < 2 or any(
            len(set(column)) < 2 for column in zip(*complete, strict=False)
        )
    else:
        assert list(zip(kept["first"], kept["second"], strict=True)) == complete
    if gaps:
        with pytest.raises(TableError, match=r"missing|looks like data|no values at all"):
            quietly(text.encode())
    columns = list(zip(*rows, strict=True))
    modes = []
    for column in columns:
        counts = Counter(cell for cell in column if cell not in ("?", ""))
        modes.append(min(counts, key=lambda cell: (-counts[cell], cell)) if counts else None)
    filled = [
        [mode if cell in ("?", "") else cell for cell in column]
        for column, mode in zip(columns, modes, strict=True)
    ]
    if None not in modes and all(len(set(column)) > 1 for column in filled):
        table = quietly(text.encode(), missing="mode")
        assert list(labels(table).values()) == filled


# --- continuous columns ------------------------------------------------------------------------


def test_continuous_columns_are_refused_by_name_or_cut() -> None:
    text = b"size,age,c\n1.5,1,x\n2.5,2,y\n3.5,2,x\n"
    with pytest.raises(TableError, match=r"column 'size' is continuous.*discretize='median'"):
        read_table(text)
    assert read_table(text, drop=["size"]).names == ("age", "c")
    table = read_table(text, discretize="width:2")
    assert table.states[:2] == (("< 2.5", "≥ 2.5"), ("1", "2"))
    assert table.cuts == {"size": (2.5,)}


def test_more_than_twenty_whole_numbers_are_continuous() -> None:
    def text(distinct: int) -> bytes:
        return (
            "n,c\n" + "".join(f"{i % distinct},{i % 2}\n" for i in range(3 * distinct))
        ).encode()

    assert len(read_table(text(20)).states[0]) == 20
    with pytest.raises(TableError, match="'n' is continuous: 21 distinct numbers"):
        read_table(text(21))
    assert read_table(text(21), discretize="quantile:3").states[0] == ("< 7", "[7, 14)", "≥ 14")


def test_a_cut_that_leaves_one_state_makes_a_constant_with_two_declared() -> None:
    with pytest.warns(DataWarning, match=r"constant column: n \(n after discretisation\)"):
        table = read_table(b"n,c,d\n0.5,x,0\n0.5,y,1\n0.5,x,1\n9,y,1\n", discretize="median")
    assert len(table.states[0]) == 2
    assert table.to_codes()[0].tolist() == [1, 1, 1, 1]
    assert table.constant == ("n",)


# --- declared states ---------------------------------------------------------------------------

ARFF = """% a comment
@RELATION 'some thing'

@Attribute 'the size' REAL % metres
@attribute colour {red, 'light blue', "dark\\"ish", 'it''s'}
@attribute   n{1,2,3}
@attribute note string
@DATA
% another comment
1.5, red, 1, 'a, b'
2.5, 'light blue', ?, free
?, "dark\\"ish", 3, x
"""


@pytest.mark.filterwarnings("ignore:.*imput")
def test_arff_header_is_believed() -> None:
    text = ARFF.replace(", 'it''s'", "").encode()
    with pytest.raises(TableError, match=r"column 'note' is of ARFF type string.*drop=\['note'\]"):
        read_table(text)
    table = read_table(text, drop=["note"], missing="mode", discretize="median")
    assert table.names == ("the size", "colour", "n")
    assert table.states == (
        ("< 2", "≥ 2"),
        ("red", "light blue", 'dark"ish'),
        ("1", "2", "3"),
    )
    assert table.to_codes().tolist() == [[0, 1, 1], [0, 1, 2], [0, 0, 2]]


def test_arff_integers_are_continuous_whatever_their_values() -> None:
    text = b"@relation r\n@attribute a integer\n@attribute b {x,y}\n@data\n0,x\n1,y\n"
    with pytest.raises(TableError, match="'a' is continuous"):
        read_table(text)
    assert read_table(text, discretize="median").to_codes().tolist() == [[0, 1], [0, 1]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0,z", r"column 'b', line 5: 'z' is not among the declared values; known: x, y"),
        ("0,x,1", "line 5 has 3 cells, the header declares 2"),
        ("{0 1, 1 x}", "line 5: sparse ARFF rows"),
        ("abc,x", "column 'a', line 5: 'abc' is not a number"),
    ],
)
def test_arff_rows_that_break_the_header_are_refused(line: str, message: str) -> None:
    text = f"@relation r\n@attribute a real\n@attribute b {{x,y}}\n@data\n{line}\n0,x\n1,y\n"
    with pytest.raises(TableError, match=message):
        read_table(text.encode(), discretize="median")


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("@attribute a", "line 2: attribute 'a' has no type"),
        ("@attribute", "line 2: @attribute without a name"),
        ("@attribute a complex", "type 'complex'; known: numeric"),
        ("@attribute a {x,y", r"line 2: the values of attribute 'a' lack a closing"),
        ("@attribute a {x,x}", "declares the value 'x' twice"),
        ("hello", "line 2: 'hello' is not an ARFF declaration"),
    ],
)
def test_arff_headers_that_make_no_sense_are_refused(header: str, message: str) -> None:
    with pytest.raises(TableError, match=message):
        read_table(f"@relation r\n{header}\n@attribute b {{x,y}}\n@data\nx,x\n".encode())
    with pytest.raises(TableError, match="no @data line"):
        read_table(b"@relation r\n@attribute a {x,y}\n")
    with pytest.raises(TableError, match="@data without any @attribute"):
        read_table(b"@relation r\n@data\n")


def test_dat_declares_its_states() -> None:
    table = read_table(b"a b  c \n2 3 2 \n0 2 1 \n1  0 0\n0 0 1\n")
    assert table.names == ("a", "b", "c")
    assert table.states == (("0", "1"), ("0", "1", "2"), ("0", "1"))
    assert table.to_codes().tolist() == [[0, 1, 0], [2, 0, 0], [1, 0, 1]]
    older = read_table(b"3\na b c\n2 3 2\n3\n0 2 1\n1 0 0\n0 0 1\n")
    assert older.digest == table.digest


def test_dat_codes_above_the_cardinality_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "table.dat"
    path.write_text("a b\n2 2\n\n0 1\n1 2\n")
    with pytest.raises(TableError, match=r"column 'b', line 5: '2' is not a code of its 2 states"):
        read_table(path)
    path.write_text("a b\n2 2\n0 1\n1 0 1\n")
    with pytest.raises(TableError, match="line 4 has 3 cells"):
        read_table(path)
    path.write_text("a b\n2 2\n")
    with pytest.raises(TableError, match="no data rows"):
        read_table(path)
    with pytest.raises(TableError, match="names in the first line"):
        read_table(b"a b\n2\n", format="dat")


# --- frames ------------------------------------------------------------------------------------

COLUMNS: dict[str, list[Any]] = {
    "text": ["x", "y", None, "x"],
    "whole": [10, 9, 10, 9],
    "yes": [True, False, True, True],
    "size": [0.5, 1.5, 2.5, 1.0],
}


@pytest.mark.filterwarnings("ignore:.*imput")
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_of_all_kinds_give_the_same_table(make: Any, tmp_path: Path) -> None:
    table = read_table(make(COLUMNS), missing="mode", discretize="median")
    assert table.names == ("text", "whole", "yes", "size")
    assert table.states == (("x", "y"), ("9", "10"), ("False", "True"), ("< 1.25", "≥ 1.25"))
    assert table.to_codes().tolist() == [[0, 1, 0, 0], [1, 0, 1, 0], [1, 0, 1, 1], [0, 1, 1, 0]]
    path = tmp_path / "table.anything"
    pl.DataFrame(COLUMNS).write_parquet(path)
    assert read_table(path, missing="mode", discretize="median").digest == table.digest
    assert as_table(table) is table
    assert as_table(table, drop=["size"]).names == ("text", "whole", "yes")


def test_declared_categories_are_believed() -> None:
    pandas = pd.DataFrame(
        {"a": pd.Categorical(["x", None, "y"], categories=["z", "y", "x"]), "b": ["0", "1", "0"]}
    )
    enum = pl.DataFrame(
        {"a": pl.Series(["x", None, "y"], dtype=pl.Enum(["z", "y", "x"])), "b": ["0", "1", "0"]}
    )
    for frame in (pandas, enum):
        table = read_table(frame, missing="state")
        assert table.states[0] == ("z", "y", "x", "missing")
        assert table.to_codes()[0].tolist() == [2, 3, 1]
    stored = io.BytesIO()
    enum.write_parquet(stored)
    assert read_table(stored.getvalue(), missing="state").states[0] == ("z", "y", "x", "missing")
    loose = enum.with_columns(pl.col("a").cast(pl.String).cast(pl.Categorical))
    assert read_table(loose, missing="state").states[0] == ("x", "y", "missing")


def test_pandas_oddities() -> None:
    frame = pd.DataFrame(
        {
            1: pd.array([1, None, 2, 1], dtype="Int64"),
            "nan": [1.0, float("nan"), 2.0, 1.0],
            "mixed": ["a", 1, None, "a"],
            "day": pd.to_datetime(["2020-01-01", "2020-01-02", None, "2020-01-01"]),
        },
        index=[5, 6, 7, 8],
    )
    table = read_table(frame, missing="state")
    assert table.names == ("1", "nan", "mixed", "day")
    assert table.states[:3] == (("1", "2", "missing"), ("1", "2", "missing"), ("1", "a", "missing"))
    assert table.to_codes()[3].tolist() == [0, 1, 2, 0]
    with pytest.raises(TableError, match=r"column '1', row 1 \(counted from 0\)"):
        read_table(frame)


def test_blank_and_question_mark_are_missing_in_frames_too() -> None:
    frame = pl.DataFrame({"a": ["?", "x", "y"], "b": ["0", " ", "1"]})
    assert read_table(frame, missing="state").states == (
        ("x", "y", "missing"),
        ("0", "1", "missing"),
    )


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (
            pl.DataFrame({"a": [[1], [2]], "b": [0, 1], "c": [0, 1]}),
            r"'a' holds List.*drop=\['a'\]",
        ),
        (pd.DataFrame({"a": [[1], [2]], "b": [0, 1]}), r"column 'a' holds values that cannot"),
        (pl.DataFrame({"a": [1.0, float("inf")], "b": [0, 1]}), "infinite"),
        (pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), "the name of an earlier column"),
        (pl.LazyFrame({"a": [0, 1], "b": [0, 1]}), "collect a lazy one"),
        ({"a": [0, 1]}, "dict is not a table"),
        (pd.Series(["x", "y"]), "pandas.Series is not a table"),
        (pl.Series(["x", "y"]), "Series is not a table"),
        (np.zeros((3, 3, 2)), r"an array of shape \(3, 3, 2\)"),
        (7, "int is not a table"),
    ],
)
def test_what_is_no_table_is_refused(frame: Any, message: str) -> None:
    with pytest.raises(TableError, match=message):
        as_table(frame)


# --- bad input ---------------------------------------------------------------------------------

BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is empty"),
    "blank": (b" \n\n", "is empty"),
    "header only": (b"a,b\n", "no data rows"),
    "one row": (b"a,b\n0,1\n", "one data row"),
    "one column": (b"a\nx\ny\n", "has one column"),
    "short row": (b"a,b\n0,1\n\n1\n", "line 4 has 1 cell, the first line has 2"),
    "long row": (b"a,b\n0,1,2\n", "line 2 has 3 cells"),
    "ragged after a quoted line end": (b'a,b\n"x\ny",1\n0\n', "line 4 has 1 cell"),
    "open quote": (b'a,b\n0,1\n"x,0\n', "never closed|line 3"),
    "same name twice": (
        b"a,b,a\n0,1,x\n1,0,y\n",
        r"'a \(column 3\)' has the name of an earlier column, 'a': keep=",
    ),
    "no name": (
        b",b,c\n0,1,x\n1,0,y\n",
        "'unnamed 1' has no name and .*row names: drop=",
    ),
    "blank cell": (b"a,b\n0,\n1,1\n", "column 'b', line 2"),
    "question mark": (b"a,b\n0,1\n?,1\n", "column 'a', line 3"),
    "continuous": (b"a,b\n0.5,1\n1.5,0\n", "column 'a' is continuous"),
    "constant": (b"a,b\n0,1\n0,0\n", "fewer than 2 columns vary; constant: a"),
    "not utf-8": ("a,b\nä,1\nb,2\n".encode("latin-1"), "byte 0xE4 in line 2.*encoding='cp1252'"),
    "utf-16": ("a,b\n0,1\n".encode("utf-16"), "encoding='utf-16'"),
    "binary": (b"a,b\n\x00\x01", "binary file"),
    "program": (b"\x7fELF\xff\x00\x01", "binary file"),
    "gzip": (b"\x1f\x8b\x08\x00", "a damaged gzip file: its end is missing"),
    "parquet": (b"PAR1 is not enough", "the Parquet file cannot be read"),
    "lists": (b"2\na 1\n-1.5 0\nb 1\n-2.5 0\n", "holds candidate lists"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_get_a_message(case: str, tmp_path: Path) -> None:
    content, message = BAD[case]
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_table(path)


def test_bad_paths_and_options_get_a_message(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("smoker,cough\n0,1\n1,0\n")
    with pytest.raises(InputError, match=r"no file .*did you mean .*table\.csv"):
        read_table(tmp_path / "tables.csv")
    with pytest.raises(InputError, match="there is no folder"):
        read_table(tmp_path / "nowhere" / "table.csv")
    with pytest.raises(InputError, match="is a folder"):
        read_table(tmp_path)
    with pytest.raises(InputError, match="cannot read"):
        read_table("a\0b")
    with pytest.raises(InputError, match="encoding='klingon' is not a text encoding"):
        read_table(path, encoding="klingon")
    with pytest.raises(InputError, match="did you mean 'parquet'"):
        read_table(path, format="parqet")
    with pytest.raises(InputError, match=r"missing='.*did you mean 'drop'"):
        read_table(path, missing="dropp")
    with pytest.raises(InputError, match="discretize='median'"):
        read_table(path, discretize="mean")
    with pytest.raises(TableError, match="no column 'smokr' to drop; did you mean 'smoker'"):
        read_table(path, drop=["smokr"])
    with pytest.raises(TableError, match="fewer than 2 of 2 columns are left"):
        read_table(path, drop=["smoker"])


def test_unnamed_columns_can_be_dropped() -> None:
    assert read_table(b",b,c\n0,1,x\n1,0,y\n", drop=[""]).names == ("b", "c")


@pytest.mark.parametrize(("rows", "prefix"), [(30, "p"), (6, "p"), (20, ""), (500, "")])
def test_identifiers_are_refused_unless_kept(rows: int, prefix: str) -> None:
    text = "id,a,b\n" + "".join(f"{prefix}{i},{i % 2},{i % 3}\n" for i in range(rows))
    with pytest.raises(TableError, match=r"column 'id' .* an identifier: .*drop=\['id'\].*keep="):
        read_table(text.encode(), discretize="median")
    assert read_table(text.encode(), drop=["id"]).names == ("a", "b")
    kept = read_table(text.encode(), keep=["id"], discretize=None if rows < 30 else "median")
    assert len(kept.states[0]) == (rows if rows < 30 or prefix else 2)


def test_declared_identifiers_are_warned_about() -> None:
    labels = [f"p{i}" for i in range(12)]
    frame = pl.DataFrame({"id": labels} | {name: [i % 2 for i in range(12)] for name in "ab"})
    with pytest.warns(DataWarning, match=r"column 'id' has 12 different values.*drop=\['id'\]"):
        read_table(frame.cast({"id": pl.Enum(labels)}))


def test_too_many_states_are_refused() -> None:
    text = "id,a\n" + "".join(f"p{i},{i % 2}\n" for i in range(70_000))
    with pytest.raises(TableError, match=r"column 'id' has 70000 states.*drop=\['id'\]"):
        read_table(text.encode(), keep=["id"])


@given(st.binary(max_size=200))
def test_any_bytes_give_a_table_or_a_message(data: bytes) -> None:
    assert_table_or_message(data)


@given(st.text(st.sampled_from("ab01?,;\n\t \"'%{}@.#-"), max_size=120))
def test_any_text_gives_a_table_or_a_message(text: str) -> None:
    for options in (
        {},
        {"header": False},
        {"format": "arff"},
        {"format": "dat"},
        {"format": "tsv"},
    ):
        assert_table_or_message(text.encode(), **options)


@given(
    st.lists(
        st.sampled_from(
            [
                "@relation r",
                "@attribute a {x,y}",
                "@attribute 'b c' real",
                "@attribute d {'x}',y",
                "@attribute e{0,1}",
                "@data",
                "x,1.5",
                "x,?",
                "'x',2",
                "?,?",
                "%c",
                "{0 x}",
                "x",
            ]
        ),
        max_size=9,
    )
)
def test_any_arff_like_text_gives_a_table_or_a_message(lines: list[str]) -> None:
    assert_table_or_message("\n".join(lines).encode(), format="arff")


def test_truncated_parquet_gives_a_message() -> None:
    stored = io.BytesIO()
    pl.DataFrame({"a": ["x", "y"], "b": [0, 1]}).write_parquet(stored)
    data = stored.getvalue()
    assert read_table(data).n_rows == 2
    for length in range(4, len(data), 7):
        with pytest.raises(InputError, match="the Parquet file cannot be read"):
            read_table(data[:length])


def assert_table_or_message(data: bytes, **options: Any) -> None:
    try:
        table = quietly(data, missing="mode", discretize="median", **options)
    except ParentageError as error:
        assert str(error)
    else:
        assert isinstance(table, Table)
        assert table.n_rows >= 2


# --- the tables of the paper and of the literature ---------------------------------------------


def test_the_tables_of_the_paper_read_with_its_sizes(shared: Path, real: RealData) -> None:
    published = json.loads((shared / "data/published.json").read_text())
    paths = sorted((shared / "data/uci").glob("*.arff"))
    assert len(paths) == 18
    for path in paths:
        table = real.uci(path.stem)
        if path.stem in published:
            facts = published[path.stem]
            assert table.n_rows == facts["N"], path.stem
            assert table.n_variables - len(table.constant) == facts["n"], path.stem


def test_glass_is_cut_at_its_medians(shared: Path) -> None:
    path = shared / "data/uci/glass.arff"
    table = quietly(path, discretize="median")
    assert table.constant == ("Ba", "Fe")
    rows = [
        line.split(",")
        for line in path.read_text().splitlines()
        if line and line[0] not in "%@" and line.strip()
    ]
    assert len(rows) == table.n_rows == 214
    for v, name in enumerate(table.names[:-1]):
        numbers = [float(row[v]) for row in rows]
        middle = float(np.median(numbers))
        assert table.cuts[name] == (middle,)
        assert table.to_codes()[v].tolist() == [int(number >= middle) for number in numbers]


def test_headerless_tables_are_recognised(shared: Path, real: RealData) -> None:
    named = {"alarm_10000", "insurance_10000"}
    paths = sorted((shared / "data/tables").glob("*.csv"))
    assert len(paths) == 10
    for path in paths:
        if path.stem in named:
            assert real.table(path.name).n_rows == 10_000
        else:
            with pytest.raises(TableError, match="header=False"):
                read_table(path)
            assert real.table(path.name).n_rows == len(path.read_text().splitlines())


def test_importing_the_readers_loads_no_data_frame_library() -> None:
    code = (
        "import sys, parentage.data.reading, parentage.data.datasets, parentage.scoring.formats;"
        "print([m for m in ('polars', 'narwhals', 'pandas', 'numba') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(("learned", "new"), [(".", ","), (",", ".")])
def test_what_is_said_of_another_decimal_sign_works(learned: str, new: str, tmp_path: Path) -> None:
    text = "a;b\n" + "".join(f"{i}.5;{i % 2}\n" for i in range(30))
    path = tmp_path / "recipe.toml"
    table = read_table(text.replace(".", learned).encode(), decimal=learned, discretize="median")
    assert table.recipe is not None
    table.recipe.save(path)
    with pytest.raises(TableError, match="holds text here") as refusal:
        read_table(text.replace(".", new).encode(), recipe=path)
    if new == ",":
        assert str(refusal.value).endswith("; pass decimal=','")
        again = read_table(text.replace(".", new).encode(), recipe=path, decimal=",")
    else:
        assert str(refusal.value).endswith('; change `decimal` to "." in the recipe')
        path.write_text(path.read_text().replace('decimal = ","', 'decimal = "."'))
        again = read_table(text.replace(".", new).encode(), recipe=path)
    assert again.digest == table.digest


def test_decimal_commas_are_noticed() -> None:
    rows = "\n".join(f"{'xy'[i % 2]};{10 + i % 3},{i % 4}" for i in range(40))
    with pytest.warns(DataWarning, match="decimal commas"):
        read_table(f"a;b\n{rows}\n".encode())
