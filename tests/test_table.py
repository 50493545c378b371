"""Tables: what they hold, refuse and tell."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parentage.data.table import MAX_STATES, Table, as_numbers, sorted_states
from parentage.errors import TableError


@pytest.fixture
def table() -> Table:
    return Table(
        ("a", "b", "c"),
        (("x", "y"), ("0", "1", "2"), ("only", "unused")),
        np.array([[0, 1, 1], [2, 0, 2], [0, 0, 0]], np.uint16),
        {"b": (0.5, 1.5)},
    )


def test_sizes_constant_and_cardinalities(table: Table) -> None:
    assert (table.n_variables, table.n_rows) == (3, 3)
    assert table.cardinalities.tolist() == [2, 3, 2]
    assert table.constant == ("c",)


def test_select_keeps_order_states_and_cuts(table: Table) -> None:
    chosen = table.select(["c", "b"])
    assert chosen.names == ("c", "b")
    assert chosen.states == (("only", "unused"), ("0", "1", "2"))
    assert chosen.to_codes().tolist() == [[0, 0, 0], [2, 0, 2]]
    assert chosen.cuts == {"b": (0.5, 1.5)}
    assert table.drop(["b"]).cuts == {}


def test_observed_leaves_out_unused_states(table: Table) -> None:
    observed = table.observed()
    assert observed.states == (("x", "y"), ("0", "2"), ("only",))
    assert observed.to_codes().tolist() == [[0, 1, 1], [1, 0, 1], [0, 0, 0]]


def test_head_keeps_states(table: Table) -> None:
    assert table.head(1).states == table.states
    assert table.head(1).to_codes().tolist() == [[0], [2], [0]]


def test_unknown_name_gets_the_nearest(table: Table) -> None:
    wide = Table.from_columns({"smoker": ["n", "y"], "cough": ["n", "y"]})
    with pytest.raises(TableError, match="did you mean 'smoker'"):
        wide.index("smokr")


def test_codes_cannot_be_changed(table: Table) -> None:
    with pytest.raises(ValueError, match="read-only"):
        table.to_codes()[0, 0] = 1


@pytest.mark.parametrize(
    ("names", "states", "codes", "message"),
    [
        (("a", "a"), (("x",), ("x",)), [[0], [0]], "'a' occurs twice"),
        (("a",), (("x",),), [[1]], "code without a state label"),
        (("a",), (tuple(map(str, range(MAX_STATES + 1))),), [[0]], "more than 65535"),
        (("a",), (("x",),), [[0], [0]], "shape"),
    ],
)
def test_impossible_tables_are_refused(
    names: tuple[str, ...],
    states: tuple[tuple[str, ...], ...],
    codes: list[list[int]],
    message: str,
) -> None:
    with pytest.raises(TableError, match=message):
        Table(names, states, np.array(codes, np.uint16))


def test_from_columns_sorts_states_and_checks_lengths() -> None:
    table = Table.from_columns({"a": [10, 9, 10], "b": ["y", "x", "x"]})
    assert table.states == (("9", "10"), ("x", "y"))
    assert table.to_codes().tolist() == [[1, 0, 1], [1, 0, 0]]
    with pytest.raises(TableError, match="'b' has 1 rows"):
        Table.from_columns({"a": [1, 2], "b": [1]})


def test_digest_tells_tables_apart(table: Table) -> None:
    assert table.digest == table.select(table.names).digest
    assert table.digest != table.observed().digest
    assert table.digest != table.head(2).digest


def test_repr_and_html_tell_something(table: Table) -> None:
    assert repr(table) == "Table: 3 rows, 3 variables, 2–3 states each"
    assert repr(table.select([])) == "Table: 3 rows, 0 variables, 0 states each"
    html = Table.from_columns({"<b>": ["&", "x"], "c": ["0", "1"]})._repr_html_()
    assert "&lt;b&gt;" in html
    assert "&amp;, x" in html


def test_numbers_are_plain_decimal_and_finite() -> None:
    assert as_numbers(["1", "+2.", ".5", "-3e2"]) == pytest.approx([1, 2, 0.5, -300])
    for odd in ("", "1_0", "nan", "inf", "1e999", "٣", "0x1", "1,5"):
        assert as_numbers(["1", odd]) is None


@given(st.lists(st.text(max_size=4), unique=True))
def test_states_come_out_sorted_and_complete(labels: list[str]) -> None:
    ordered = sorted_states(labels)
    assert sorted(ordered) == sorted(labels)
    numbers = as_numbers(ordered)
    assert ordered == sorted(labels) if numbers is None else bool((np.diff(numbers) >= 0).all())
