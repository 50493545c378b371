"""New rows in the states of a known table, whatever they come in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from parentage.data.applying import rows_like
from parentage.data.reading import as_table
from parentage.data.table import Table
from parentage.errors import TableError
from strategies import random_table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COLUMNS: dict[str, list[Any]] = {
    "smoker": ["yes", "no", "no", "yes", "no", "yes"],
    "visits": [1, 2, 10, 2, 1, 10],
    "age": [20.5, 31.0, 44.25, 58.0, 63.5, 70.0],
}


def known(missing: str = "error", **changes: list[Any]) -> Table:
    return as_table(pl.DataFrame(COLUMNS | changes), discretize="median", missing=missing)


def csv(columns: dict[str, list[Any]]) -> bytes:
    rows = zip(*columns.values(), strict=True)
    cells = [[("" if cell is None else str(cell)) for cell in row] for row in rows]
    return "\n".join(",".join(line) for line in [list(columns), *cells]).encode() + b"\n"


def object_array(columns: dict[str, list[Any]]) -> np.ndarray[Any, Any]:
    return np.array([list(row) for row in zip(*columns.values(), strict=True)], dtype=object)


SOURCES: dict[str, Callable[[dict[str, list[Any]]], object]] = {
    "polars": pl.DataFrame,
    "pandas": pd.DataFrame,
    "arrow": pa.table,
    "csv": csv,
    "array": object_array,
}


@pytest.mark.parametrize("kind", SOURCES)
def test_the_rows_learned_from_come_back(kind: str) -> None:
    table = known()
    again = rows_like(table, SOURCES[kind](COLUMNS))
    assert (again.names, again.states, again.cuts) == (table.names, table.states, table.cuts)
    assert again.to_codes().tolist() == table.to_codes().tolist()


@pytest.mark.parametrize("kind", SOURCES)
def test_one_row_is_enough(kind: str) -> None:
    row = rows_like(known(), SOURCES[kind]({"smoker": ["no"], "visits": [10], "age": [50.0]}))
    assert row.to_codes().tolist() == [[0], [2], [0]]
    assert row.states == known().states


def test_every_row_alone_is_the_row_of_the_table() -> None:
    for seed in range(20):
        table = random_table(seed, 5, 20)
        labels = {
            name: [states[code] for code in codes]
            for name, states, codes in zip(table.names, table.states, table.to_codes(), strict=True)
        }
        for i in range(table.n_rows):
            frame = pl.DataFrame({name: [column[i]] for name, column in labels.items()})
            assert (
                rows_like(table, frame).to_codes()[:, 0].tolist() == table.to_codes()[:, i].tolist()
            )
        assert rows_like(table, table).digest == table.digest


def test_columns_are_found_by_name_in_any_order_and_others_ignored() -> None:
    table = known()
    turned = dict(reversed(COLUMNS.items())) | {"id": list("abcdef"), "odd": [[1]] * 6}
    assert rows_like(table, pl.DataFrame(turned)).digest == table.digest
    assert rows_like(table, pd.DataFrame(turned)).digest == table.digest
    other = table.select(["age", "smoker", "visits"])
    assert rows_like(table, other).digest == table.digest


def test_a_constant_column_stays_constant() -> None:
    rows = rows_like(known(), pl.DataFrame({**COLUMNS, "smoker": ["no"] * 6}))
    assert rows.to_codes()[0].tolist() == [0] * 6
    with pytest.warns(UserWarning, match="constant"):
        table = known(smoker=["no"] * 6)
    assert rows_like(table, rows).to_codes()[0].tolist() == [0] * 6
    with pytest.raises(TableError, match="state 'yes', which was never seen"):
        rows_like(table, pl.DataFrame(COLUMNS))


def test_known_cuts_are_applied() -> None:
    table = known()
    assert table.cuts == {"age": (51.125,)}
    ages = [-1e9, 51.12, 51.125, 1e9]
    frame = pl.DataFrame({"smoker": ["no"] * 4, "visits": [1] * 4, "age": ages})
    assert rows_like(table, frame).to_codes()[2].tolist() == [0, 0, 1, 1]
    whole = pl.DataFrame({"smoker": ["no"], "visits": [1], "age": [60]})
    assert rows_like(table, whole).to_codes()[2].tolist() == [1]
    words = pl.DataFrame({"smoker": ["no"], "visits": [1], "age": ["old"]})
    with pytest.raises(TableError, match="'age' was discretised when learning, but holds text"):
        rows_like(table, words)


def test_numbers_go_into_the_intervals_that_a_network_has_as_states() -> None:
    """Those of a network file have no cut points, only states between them."""
    states = (("< 0.5", "[0.5, 2)", "≥ 2"), ("no", "yes"))
    model = Table(("x", "y"), states, np.zeros((2, 0), np.uint16))
    found = rows_like(model, pl.DataFrame({"x": [0.4999, 0.5, 2.0, 1.5], "y": ["no"] * 4}))
    assert found.to_codes()[0].tolist() == [0, 1, 2, 1]
    labels = rows_like(model, pl.DataFrame({"x": ["≥ 2", "< 0.5"], "y": ["no", "yes"]}))
    assert labels.to_codes().tolist() == [[2, 0], [0, 1]]
    with pytest.raises(TableError, match="column 'x' has the state 'many'"):
        rows_like(model, pl.DataFrame({"x": ["many"], "y": ["no"]}))
    with pytest.raises(TableError, match="column 'y' has the state '1'"):
        rows_like(model, pl.DataFrame({"x": ["1"], "y": ["1"]}))


def test_numbers_are_the_same_however_they_are_written() -> None:
    from_text = as_table(b"a,b\n1.0,x\n2.0,y\n1.0,y\n")
    assert from_text.states[0] == ("1.0", "2.0")
    for new in ([2.0, 1.0], [2, 1], ["2", "1.0"], ["2.00", "1e0"]):
        frame = pl.DataFrame({"a": new, "b": ["x", "y"]})
        assert rows_like(from_text, frame).to_codes().tolist() == [[1, 0], [0, 1]]
    twice = Table(("a", "b"), (("1", "1.0"), ("x", "y")), np.array([[0, 1], [0, 1]], np.uint16))
    frame = pl.DataFrame({"a": ["1.0", "1", "1.00"], "b": ["x"] * 3})
    assert rows_like(twice, frame).to_codes()[0].tolist() == [1, 0, 0]


@pytest.mark.parametrize("kind", SOURCES)
def test_an_unseen_state_is_refused(kind: str) -> None:
    with pytest.raises(TableError, match=r"'smoker' has the state 'ye', which was never seen"):
        rows_like(known(), SOURCES[kind]({**COLUMNS, "smoker": ["ye"] * 6}))
    with pytest.raises(TableError, match=r"'visits' has the state '3'.*`states` in a recipe"):
        rows_like(known(), SOURCES[kind]({**COLUMNS, "visits": [3] * 6}))


def test_declared_states_may_go_unseen() -> None:
    states = pd.CategoricalDtype(["no", "yes", "never asked"])
    frame = pd.DataFrame(COLUMNS).astype({"smoker": states})
    table = as_table(frame, discretize="median")
    new = pd.DataFrame({"smoker": ["never asked"], "visits": [1], "age": [1.0]})
    assert rows_like(table, new).to_codes().tolist() == [[2], [0], [0]]
    fewer = new.astype({"smoker": pd.CategoricalDtype(["other", "never asked"])})
    assert rows_like(table, fewer).to_codes().tolist() == [[2], [0], [0]]


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("column", COLUMNS)
def test_a_missing_cell_is_refused_with_its_place(kind: str, column: str) -> None:
    holes = {**COLUMNS, column: [*COLUMNS[column][:3], None, *COLUMNS[column][4:]]}
    place = "line 5" if kind == "csv" else r"row 3 \(counted from 0\)"
    with pytest.raises(TableError, match=f"column '{column}', {place}: the value is missing"):
        rows_like(known(), SOURCES[kind](holes))


def with_holes() -> dict[str, list[Any]]:
    """One missing cell in every column, each in a row of its own."""
    return {
        name: [None if i == at else cell for i, cell in enumerate(cells)]
        for at, (name, cells) in enumerate(COLUMNS.items())
    }


@pytest.mark.filterwarnings("ignore:.*imput")
@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("missing", ["drop", "state", "mode"])
def test_missing_cells_are_treated_as_in_the_known_table(kind: str, missing: str) -> None:
    table = known(missing, **with_holes())
    again = rows_like(table, SOURCES[kind](with_holes()), missing)
    assert again.states == table.states
    assert again.to_codes().tolist() == table.to_codes().tolist()


def test_what_was_never_missing_has_no_state_for_it() -> None:
    table = known("state", smoker=with_holes()["smoker"])
    frame = pl.DataFrame(with_holes())
    with pytest.raises(TableError, match=r"'visits', row 1 .*none was in the data learned from"):
        rows_like(table, frame, "state")


def test_a_column_without_a_value() -> None:
    frame = pl.DataFrame({**COLUMNS, "age": [None] * 6})
    assert rows_like(known("mode"), frame, "mode").to_codes()[2].tolist() == [1] * 6
    with pytest.raises(TableError, match="at least 1 is needed"):
        rows_like(known(), frame, "drop")


def test_no_rows_are_refused() -> None:
    for nothing in (pl.DataFrame(COLUMNS).head(0), known().head(0), np.empty((0, 3))):
        with pytest.raises(TableError, match="no rows"):
            rows_like(known(), nothing)


def test_columns_that_are_not_there_or_there_twice_or_of_no_use() -> None:
    table = known()
    with pytest.raises(TableError, match="no column 'smoker'; did you mean 'smokr'"):
        rows_like(table, pl.DataFrame(COLUMNS).rename({"smoker": "smokr"}))
    with pytest.raises(TableError, match="no column 'smoker'"):
        rows_like(table, table.drop(["smoker"]))
    with pytest.raises(TableError, match="2 columns are named 'visits'"):
        rows_like(table, b"smoker,visits,visits,age\nno,1,2,30\n")
    with pytest.raises(TableError, match="'smoker' holds List"):
        rows_like(table, pl.DataFrame({**COLUMNS, "smoker": [[1]] * 6}))


def test_arrays_are_taken_in_order() -> None:
    table = known()
    assert rows_like(table, object_array(COLUMNS)).digest == table.digest
    for width in (2, 4):
        with pytest.raises(
            TableError, match=f"array has {width} columns, but the training data had 3"
        ):
            rows_like(table, np.zeros((5, width), int))


def test_a_path_is_read(tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_bytes(csv(COLUMNS))
    assert rows_like(known(), tmp_path / "new.csv").digest == known().digest


# --- arrays as tables ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "states"),
    [
        (np.array([[0, 1], [1, 0], [2, 0]]), (("0", "1", "2"), ("0", "1"))),
        (np.array([[0.0, 1.0], [1.0, 0.0]]), (("0", "1"), ("0", "1"))),
        (np.array([[True, False], [False, True]]), (("False", "True"), ("False", "True"))),
        (np.array([["b", "x"], ["a", "y"]]), (("a", "b"), ("x", "y"))),
        (np.array([[b"b", b"x"], [b"a", b"y"]]), (("a", "b"), ("x", "y"))),
        (np.array([[10, "x"], [9, True]], dtype=object), (("9", "10"), ("True", "x"))),
        (np.array([[10.0, 1], [9, 2.0]], dtype=object), (("9", "10"), ("1", "2"))),
    ],
)
def test_arrays_of_every_kind_are_tables(cells: Any, states: tuple[tuple[str, ...], ...]) -> None:
    table = as_table(cells)
    assert table.names == ("x0", "x1")
    assert table.states == states
    assert rows_like(table, cells).digest == table.digest


@pytest.mark.parametrize("nothing", [None, float("nan"), pd.NA, pd.NaT, "", "?"])
def test_objects_that_are_nothing_are_missing(nothing: object) -> None:
    cells = np.array([["a", 1], ["b", 2], [nothing, 1], ["a", 2]], dtype=object)
    with pytest.raises(TableError, match=r"column 'x0', row 2 \(counted from 0\)"):
        as_table(cells)
    assert as_table(cells, missing="drop").n_rows == 3
    assert as_table(cells, missing="state").states[0] == ("a", "b", "missing")


def test_masked_cells_are_missing() -> None:
    cells = np.ma.masked_equal([[0, 1], [1, 0], [5, 1], [1, 1]], 5)
    assert as_table(cells, missing="drop").states == (("0", "1"), ("0", "1"))


@pytest.mark.parametrize(
    "cells",
    [np.zeros(3), np.zeros((2, 2, 2)), np.zeros((2, 2), complex), np.zeros((2, 2), "M8[D]")],
)
def test_arrays_that_are_not_tables_are_refused(cells: Any) -> None:
    with pytest.raises(TableError, match="is not a table"):
        as_table(cells)
