"""Tables that keep their holes: what reading makes of them, and who refuses them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from parentage.data.applying import rows_like
from parentage.data.reading import as_table, read_table
from parentage.data.table import MISSING, Table
from parentage.errors import InputError, TableError
from parentage.scoring.candidates import score
from parentage.scoring.explanation import explain
from parentage.scoring.scores import family_score

GAPS = b"n,c,d\n1.5,red,x\n?,blue,y\n2.5,,x\n4.0,red,\n3.0,blue,y\n,,\n"


@pytest.mark.parametrize("missing", ["pnal", "em"])
def test_holes_are_kept_and_counted(missing: str) -> None:
    table = read_table(GAPS, missing=missing, discretize="median")
    assert table.to_codes().tolist() == [
        [0, MISSING, 0, 1, 1, MISSING],
        [1, 0, MISSING, 1, 0, MISSING],
        [0, 1, 0, MISSING, 1, MISSING],
    ]
    assert table.cuts == {"n": (2.75,)}  # as without the gaps
    assert table.states[1:] == (("blue", "red"), ("x", "y"))
    assert table.has_holes
    assert table.missing_cells.tolist() == [2, 2, 2]
    assert table.constant == ()
    assert "6 missing values" in repr(table)
    assert not read_table(GAPS, missing="drop", discretize="median").has_holes


def test_holes_survive_selection_and_unused_states() -> None:
    frame = pl.DataFrame({"a": pl.Series(["x", None, "z"], dtype=pl.Enum("xyz")), "b": [0, 1, 0]})
    table = read_table(frame, missing="pnal")
    assert table.states[0] == ("x", "y", "z")
    assert table.observed().states[0] == ("x", "z")
    assert table.observed().to_codes().tolist() == [[0, MISSING, 1], [0, 1, 0]]
    assert table.select(["b"]).missing_cells.tolist() == [0]
    assert table.head(1).missing_cells.tolist() == [0, 0]
    assert table.digest != read_table(frame, missing="state").digest


def test_a_hole_is_no_state_of_a_constant_column() -> None:
    codes = np.array([[0, MISSING, 0], [MISSING] * 3, [0, 1, MISSING]], np.uint16)
    table = Table(("a", "b", "c"), (("x",), ("x", "y"), ("x", "y")), codes)
    assert table.constant == ("a", "b")
    with pytest.raises(TableError, match="a code without a state"):
        Table(("a",), (("x",),), np.array([[0, 1, MISSING]], np.uint16))


@pytest.mark.parametrize("missing", ["pnal", "em"])
def test_a_column_without_any_value_is_refused(missing: str) -> None:
    with pytest.raises(TableError, match=r"column 'b' has no values at all: drop=\['b'\]"):
        read_table(b"a,b,c\n0,?,1\n1,?,0\n1,,1\n", missing=missing)


def test_the_refusal_of_missing_cells_names_all_ways() -> None:
    with pytest.raises(TableError) as refused:
        read_table(GAPS, discretize="median")
    for way in ("pnal", "em", "drop", "state"):
        assert f"missing='{way}'" in str(refused.value)
        assert f"--missing {way}" in refused.value.text("command line")


HOLES = read_table(b"a,b,c\n0,0,1\n1,1,0\n1,?,1\n0,0,0\n", missing="em")


def test_whoever_cannot_deal_with_holes_refuses_them() -> None:
    for refuses in (
        lambda: family_score(HOLES, "a", ["b"]),
        lambda: explain(HOLES, "a", ["b"]),
        lambda: rows_like(HOLES.head(2), HOLES),
    ):
        with pytest.raises(TableError, match="a value is missing, first in column 'b'; pass "):
            refuses()
    for name in ("bic", "bdeu"):
        with pytest.raises(InputError, match="scoring learns none"):
            score(HOLES, score=name)
    assert family_score(HOLES.select(["a", "c"]), "a") < 0  # the others have no hole


def test_new_rows_keep_their_holes() -> None:
    again = rows_like(HOLES, b"c,b,a\n?,1,0\n0,0,?\n", "pnal")
    assert again.to_codes().tolist() == [[0, MISSING], [1, 0], [MISSING, 0]]
    assert rows_like(HOLES, HOLES, "em").digest == HOLES.digest
    with pytest.raises(TableError, match="the value is missing"):
        rows_like(HOLES.head(2), b"c,b,a\n?,1,0\n0,0,?\n")
    assert as_table(HOLES, drop=["b"]).has_holes is False
