"""The open door: readers, readings that decide, and one way from cells to states."""

from __future__ import annotations

import random
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import parentage
from command import ok, refused, run
from parentage.data.applying import apply_recipe, cells_for, rows_like
from parentage.data.formats import read_columns
from parentage.data.settings import Reading
from parentage.errors import (
    DataWarning,
    DecisionWarning,
    ParentageError,
    TableError,
    UndecidedError,
    Way,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ROWS = [f"{'ab'[i % 2]},{'xyz'[i * i % 3]},{i % 7 % 2}" for i in range(60)]
PLAIN = "\n".join(["first,second,third", *ROWS, ""])


def decided(source: object, **settings: Any) -> parentage.Table:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return parentage.read_table(source, auto=True, **settings)


def remedy_of(source: object, **settings: Any) -> list[Way]:
    with pytest.raises(UndecidedError) as refusal:
        parentage.read_table(source, **settings)
    return list(refusal.value.remedy)


# --- readers -----------------------------------------------------------------------------------


TITLES = ["Survey 2024", "Survey 2024\n\nmade by hand", "# a comment", "A survey of eggs, 2024\n"]


@pytest.mark.parametrize("title", TITLES)
def test_a_title_above_the_header_is_found(title: str, tmp_path: Path) -> None:
    path = tmp_path / "survey.csv"
    path.write_text(f"{title}\n{PLAIN}")
    lines = title.count("\n") + 1
    assert remedy_of(path) == [Way("skip_rows", lines)]
    table = parentage.read_table(path, skip_rows=lines)
    assert table.digest == parentage.read_table(PLAIN.encode()).digest == decided(path).digest
    said = refused("learn", str(path))
    assert f"--skip-rows {lines}\n" in said and "not part of the table" in said
    broken = path.read_text().replace("b,y,1\n", "b,,1\n", 1)
    path.write_text(broken)
    place = 1 + broken.split("\n").index("b,,1")
    with pytest.raises(UndecidedError, match=f"column 'second', line {place}"):
        parentage.read_table(path, skip_rows=lines)


def test_tables_without_a_title_have_none() -> None:
    for text in (PLAIN, PLAIN.replace(",", ";"), PLAIN.replace(",", " "), "\n" + PLAIN):
        assert parentage.read_table(text.encode()).n_rows == 60
    assert parentage.read_table(PLAIN.replace(",", ", ").encode()).n_rows == 60
    for first in ("a,b", "Survey, made,in 2024,here"):
        with pytest.raises(TableError, match="cells"):
            parentage.read_table(f"{first}\n{PLAIN}".encode())


def test_names_of_rows_are_left_out_and_other_columns_without_a_name_are_called_by_place() -> None:
    named = "\n".join(['"","0","1","2"', *(f'"{i}",{row}' for i, row in enumerate(ROWS)), ""])
    assert remedy_of(named.encode()) == [Way("drop", ["unnamed 1"])]
    assert decided(named.encode()).names == ("0", "1", "2")
    assert parentage.read_table(named.encode(), drop="").names == ("0", "1", "2")
    third = PLAIN.replace("first,second,third", "first,,third")
    with pytest.warns(DataWarning, match="column 'unnamed 2' has no name; give it one"):
        assert parentage.read_table(third.encode()).names == ("first", "unnamed 2", "third")
    frame = pd.DataFrame({"Unnamed: 0": range(60), "a": list("xyz" * 20), "b": list("uvvu" * 15)})
    assert decided(frame).names == ("a", "b")
    frame["Unnamed: 0"] = [7 * i % 101 for i in range(60)]
    assert remedy_of(frame) == [Way("drop", ["Unnamed: 0"])]


# --- what columns are --------------------------------------------------------------------------


def test_few_fractions_are_states_and_many_are_not() -> None:
    draw = random.Random(1)
    frame = pl.DataFrame({
        "edema": [draw.choice([0.0, 0.5, 1.0]) for _ in range(90)],
        "dose": [draw.choice([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]) for _ in range(90)],
        "sex": [draw.choice("fm") for _ in range(90)],
    })  # fmt: skip
    assert parentage.read_table(frame, drop="dose").states[0] == ("0", "0.5", "1")
    assert remedy_of(frame) == [Way("discretize", "mdl")]
    assert set(decided(frame).cuts) == {"dose"}
    assert remedy_of(frame.head(20), drop="dose") == [Way("discretize", "mdl")]


def test_dates_may_become_a_part_of_them() -> None:
    days = pd.date_range("2023-11-01", periods=120, freq="5D")
    draw = random.Random(2)
    frame = pd.DataFrame({"day": days, "a": [draw.choice("xy") for _ in days],
                          "b": [draw.choice("uv") for _ in days]})  # fmt: skip
    assert remedy_of(frame) == [Way("discretize", "day=mdl")]
    parts = {"year": "%Y", "month": "%m %b", "weekday": "%u %a"}
    text = frame.to_csv(index=False).encode()
    for part, form in parts.items():
        for source in (frame, pl.from_pandas(frame), text):
            table = parentage.read_table(source, discretize={"day": part})
            labels = [table.states[0][code] for code in table.column(0)]
            assert labels == days.strftime(form).tolist()
            assert list(table.states[0]) == sorted(set(labels))
        again = parentage.read_table(frame.tail(40), recipe=table.recipe)
        assert [again.states[0][c] for c in again.column(0)] == labels[-40:]
        assert rows_like(table, frame.head(1)).column(0).tolist() == [
            table.states[0].index(labels[0])
        ]
    with pytest.raises(ParentageError, match="column 'a' has no month: it does not hold dates"):
        parentage.read_table(frame, discretize={"a": "month"})


def test_columns_that_say_the_same_are_named() -> None:
    double = "\n".join([f"{row},{row[0].upper()}" for row in PLAIN.split("\n")[1:-1]])
    text = f"opid,second,third,operator\n{double}\n"
    with pytest.warns(DataWarning, match="'operator' and 'opid' determine each other"):
        assert parentage.read_table(text.encode()).n_variables == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parentage.read_table(text.encode(), keep="operator")
        parentage.read_table(text.replace(",A\n", ",B\n", 1).encode())
    with pytest.warns(DataWarning, match="'operator' duplicates 'opid'"):
        parentage.read_table(text.replace(",A\n", ",a\n").replace(",B\n", ",b\n").encode())


def test_a_column_that_duplicates_another_one_is_left_out_by_auto() -> None:
    degrees = [175, 185, 195, 205, 215, 225]
    for names in (degrees, ["very low", "low", "mid", "warm", "high", "very high"]):
        rows = [f"{i % 4},{degrees[i % 6]},{names[i % 6]}" for i in range(270)]
        source = "\n".join(["recipe,temperature,temp", *rows]).encode()
        with pytest.warns(DecisionWarning, match="--drop temp|drop=\\['temp'\\]"):
            assert parentage.read_table(source, auto=True).names == ("recipe", "temperature")
        kept = decided(source, keep=["temp"])
        assert kept.names == ("recipe", "temperature", "temp")
    rows = [f"{i % 4},{i % 15 + 20},{i % 15 + 21}" for i in range(200)]
    recipe = decided("\n".join(["recipe,age,days", *rows]).encode()).recipe
    assert recipe is not None and recipe.account is not None
    decisions = [(one.column, one.did) for one in recipe.account.decisions]
    assert decisions == [("age", "--discretize age=mdl"), ("days", "--drop days")]


def test_none_is_a_state_beside_degrees_and_where_missing_values_are_marked() -> None:
    degrees = "\n".join(["a,b", *(f"{'xy'[i % 2]},{['None', 'Some', 'Marked'][i % 5 % 3]}"
                                  for i in range(40)), ""])  # fmt: skip
    assert parentage.read_table(degrees.encode()).states[1] == ("Marked", "None", "Some")
    bags = degrees.replace("Some", "Driver").replace("Marked", "Both")
    assert parentage.read_table(bags.encode(), missing="em").states[1] == ("Both", "Driver")
    marked = bags.replace("x,", "NA,", 1)
    table = parentage.read_table(marked.encode(), missing="em")
    assert table.states[1] == ("Both", "Driver", "None") and table.missing_cells.tolist() == [1, 0]
    assert parentage.read_table(bags.encode(), recipe=table.recipe).digest != table.digest


def test_ranks_are_quantities_and_numbers_of_rows_are_not() -> None:
    ranks = random.Random(3).sample(range(1, 61), 60)
    text = "\n".join(
        [
            f"wealth,{PLAIN.split(chr(10))[0]}",
            *(f"{rank},{row}" for rank, row in zip(ranks, ROWS, strict=True)),
            "",
        ]
    )
    assert remedy_of(text.encode()) == [Way("keep", ["wealth"]), Way("discretize", "mdl")]
    ordered = "\n".join([f"wealth,{PLAIN.split(chr(10))[0]}",
                         *(f"{rank},{row}" for rank, row in enumerate(ROWS, 1)), ""])  # fmt: skip
    assert remedy_of(ordered.encode()) == [Way("drop", ["wealth"])]


# --- decisions ---------------------------------------------------------------------------------


def messy(rows: int = 120) -> pl.DataFrame:
    draw = random.Random(4)
    return pl.DataFrame({
        "id": [f"p{i}" for i in range(rows)],
        "age": [draw.choice([None, *range(20, 80)]) for _ in range(rows)],
        "sex": [draw.choice("fm") for _ in range(rows)],
        "smoker": [draw.choice(["yes", "no"]) for _ in range(rows)],
    })  # fmt: skip


def test_frames_learn_and_estimators_decide_the_same() -> None:
    frame = messy()
    with pytest.warns(DecisionWarning) as said:
        table = parentage.read_table(frame, auto=True)
        learned = parentage.learn(frame, auto=True)
        lists = parentage.score(table.drop(["age"]))
        fitted = parentage.ParentageLearner(auto=True, target="sex").fit(frame.to_pandas())
    assert lists.n_variables == 2
    assert learned.table is not None and learned.table.digest == table.digest
    assert fitted.table_.digest == table.digest
    assert fitted.n_features_in_ == 4 and fitted.predict(frame.to_pandas()).shape == (120,)
    first = next(str(one.message) for one in said)
    assert "drop=['id']: column 'id' is an identifier" in first
    assert "discretize='mdl': column 'age' is continuous" in first
    array = np.column_stack([np.arange(120), frame["sex"].to_numpy() == "f", np.arange(120) % 3])
    with pytest.warns(DecisionWarning):
        of_array = parentage.ParentageLearner(auto=True, target="x1").fit(array)
    assert of_array.table_.names == ("x1", "x2")
    assert of_array.predict(array).shape == (120,) and of_array.n_features_in_ == 3


def test_the_estimator_is_told_in_its_own_words() -> None:
    with pytest.raises(UndecidedError) as refusal:
        parentage.ParentageLearner().fit(messy())
    *_, lead, call = str(refusal.value).split("\n")
    assert lead == "Use in place of X (or let auto=True decide the same):"
    assert call.strip().startswith("parentage.read_table(X, drop=['id'], missing='drop', ")
    X = messy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        table = eval(call)  # noqa: S307  # as a reader would paste it
        assert table.digest == decided(X).digest
    assert parentage.ParentageLearner().fit(table).optimal_


def test_many_decisions_are_summed_up_and_all_are_in_the_recipe(tmp_path: Path) -> None:
    names = [f"id{i}" for i in range(20)]
    lines = [",".join([*(f"{name}-{i}" for name in names), row]) for i, row in enumerate(ROWS)]
    path, recipe = tmp_path / "wide.csv", tmp_path / "wide.toml"
    path.write_text("\n".join([",".join([*names, "a", "b", "c"]), *lines, ""]))
    done = run("learn", str(path), "--auto", "--json", "--write-recipe", str(recipe))
    assert done.returncode == 0
    told = done.stderr.split("\n")
    assert told[0] == "parentage: decided by --auto:" and "… and 9 more" in told[12]
    assert recipe.read_text().count("# decided: --drop id") == 20
    assert ok("learn", str(path), "--recipe", str(recipe), "--json")


def test_few_rows_and_no_arc_are_put_into_words(tmp_path: Path) -> None:
    path = tmp_path / "few.csv"
    path.write_text("a,b\n" + "x,u\nx,v\ny,u\ny,v\n" * 5)
    assert "20 rows can miss weak dependences" in ok("learn", str(path))
    path.write_text("a,b\n" + "x,u\nx,v\ny,u\ny,v\n" * 15)
    assert "weak dependences" not in ok("learn", str(path))


# --- one way from cells to states --------------------------------------------------------------

CELLS = st.sampled_from(["1", "2", "2.5", "10", "NA", "", "x", "1.0", "-9"])


@given(
    st.lists(st.tuples(CELLS, CELLS), min_size=6, max_size=30),
    st.sampled_from(["drop", "state", "mode", "pnal"]),
    st.sampled_from(["median", "quantile:3", "mdl"]),
)
def test_a_new_table_is_its_own_recipe_applied(
    rows: list[tuple[str, str]], missing: str, rule: str
) -> None:
    """With the columns as they were looked into, and as the recipe finds them: the same states."""
    text = "\n".join(["a;b;c", *(f"{a};{b};{i % 2}" for i, (a, b) in enumerate(rows)), ""]).encode()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        try:
            table = parentage.read_table(text, missing=missing, discretize=rule, keep=["a", "b"])
        except ParentageError:
            return
    recipe = table.recipe
    assert recipe is not None
    raw = read_columns(text, Reading())
    cells = [cells_for(raw, column, recipe.settings) for column in recipe.columns]
    assert apply_recipe(raw, recipe, cells).digest == table.digest


def test_an_error_is_not_preceded_by_decisions(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        "age,ill\n" + "".join(f"{k % 37}.5,{'no' if k % 3 else 'yes'}\n" for k in range(90))
    )
    assert "decided by --auto" in run("learn", str(path), "--auto").stderr
    assert "decided by --auto" in run("explain", str(path), "ill", "age", "--auto").stderr
    for wrong in (["--require", "x,y"], ["--score", "bicc"], ["-k", "many"]):
        said = refused("learn", str(path), "--auto", *wrong)
        assert "decided by" not in said and "error:" in said
    assert "bicc" not in refused("learn", str(path), "--score", "bicc").replace("score 'bicc'", "")


def test_a_file_that_is_never_read_is_not_suggested(tmp_path: Path) -> None:
    for name in ("chile.svg", "chili.csv"):
        (tmp_path / name).write_text("")
    assert "chili.csv" in refused("learn", str(tmp_path / "chile.csv"))


def test_another_treatment_than_that_of_learn_is_said(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [[str(k % 2), str(k % 3), str(k * k % 5)] for k in range(200)]
    for k in range(12):
        rows[7 * k][k % 2] = ""
    path.write_text("a,b,c\n" + "".join(",".join(row) + "\n" for row in rows))
    assert "--missing em" in run("learn", str(path), "--auto", "-k", "1").stderr
    assert "learn with score bic uses em here, and may find a different network" in (
        run("support", str(path), "--auto", "-k", "1", "--no-need").stderr
    )
    assert "learn with score bic uses em here, and may find a different network" in (
        run("path", str(path), "--auto", "-k", "1").stderr
    )


# --- numbers that are written as text ----------------------------------------------------------


def priced(write: Any, decimal_column: bool = False) -> bytes:
    """Return a table whose amounts depend on a column, written by a function of them."""
    draw = random.Random(3)
    rows = []
    for _ in range(200):
        kind = draw.choice("xyz")
        amount = draw.random() * 1000 + 900 * "xyz".index(kind)
        more = f";{draw.random():.2f}" if decimal_column else ""
        rows.append(f"{kind};{draw.choice('pq')};{write(amount)}{more}")
    return "\n".join([f"kind;other;price{';share' * decimal_column}", *rows, ""]).encode()


@pytest.mark.parametrize(
    "write",
    [
        lambda x: f"${x:,.2f}",
        lambda x: f"{x:,.2f} €",
        lambda x: f"{x:.1f} %",
        lambda x: f"{x:.1f} mg/dl",
        lambda x: f"{x:.1f}µg",
        lambda x: f"{round(x):,}",
        lambda x: f"{round(x):,}".replace(",", "'"),
        lambda x: f"{round(x):,}".replace(",", "\u202f"),
    ],
)
def test_amounts_are_quantities_if_asked_for(write: Any, tmp_path: Path) -> None:
    text = priced(write)
    assert remedy_of(text) == [Way("discretize", "price=mdl")]
    table = decided(text)
    assert set(table.cuts) == {"price"} and len(table.cuts["price"]) >= 2
    numbers = decided(priced(lambda x: x))
    assert table.cuts["price"] == pytest.approx(numbers.cuts["price"], abs=1.0)
    assert table.digest == parentage.read_table(text, discretize={"price": "mdl"}).digest
    recipe = tmp_path / "read.toml"
    assert table.recipe is not None
    table.recipe.save(recipe)
    lines = text.split(b"\n")
    again = parentage.read_table(b"\n".join([lines[0], *lines[-40:]]), recipe=recipe)
    assert again.column(2).tolist() == table.column(2).tolist()[-39:]
    assert table.recipe.account is not None
    (note,) = table.recipe.account.decisions
    assert note.did == "--discretize price=mdl" and "amounts written as text" in note.why


def test_a_comma_between_thousands_or_before_a_fraction_is_told_by_the_column() -> None:
    unclear = priced(lambda x: f"{1000 + round(x):,}")
    for auto in (False, True):
        with pytest.raises(UndecidedError, match="before thousands or before fractions") as error:
            parentage.read_table(unclear, auto=auto)
        assert not error.value.remedy and "one of the options for price" in str(error.value)
    thousands = parentage.read_table(unclear, discretize={"price": "mdl"})
    fractions = parentage.read_table(unclear, decimal=",", discretize={"price": "mdl"})
    assert min(thousands.cuts["price"]) > 1000
    assert [1000 * x for x in fractions.cuts["price"]] == pytest.approx(thousands.cuts["price"])
    beside_points = priced(lambda x: f"{1000 + round(x):,}", decimal_column=True)
    assert Way("discretize", ["mdl", "price=mdl"]) in remedy_of(beside_points) or remedy_of(
        beside_points
    ) == [Way("discretize", ["price=mdl", "mdl"])]
    clear = priced(lambda x: f"{x:.1f}".replace(".", ","))
    assert remedy_of(clear) == [Way("decimal", ","), Way("discretize", "mdl")]


def test_dates_whose_day_and_month_cannot_be_told_apart_are_no_quantity() -> None:
    draw = random.Random(4)
    few = [f"{draw.randint(1, 12)}/{draw.randint(1, 12)}/2024" for _ in range(60)]
    rows = [f"{row},{day}" for row, day in zip(ROWS, few, strict=True)]
    text = "\n".join(["first,second,third,day", *rows, ""]).encode()
    with pytest.warns(DataWarning, match="day and month cannot be told apart"):
        assert len(parentage.read_table(text).states[3]) > 40
    table = decided(text)
    assert table.names == ("first", "second", "third")
    assert table.recipe is not None and table.recipe.account is not None
    assert [one.instead for one in table.recipe.account.decisions] == ["--keep day"]


def test_few_amounts_are_labels() -> None:
    table = parentage.read_table(priced(lambda x: f"{10 * (round(x) % 4)} %"))
    assert table.states[2] == ("0 %", "10 %", "20 %", "30 %")


def test_a_name_that_occurs_twice_is_told_with_the_place() -> None:
    other = PLAIN.replace("first,second,third", "first,second,first").encode()
    assert remedy_of(other) == [Way("keep", ["first (column 3)"])]
    table = decided(other)
    assert table.names == ("first", "second", "first (column 3)")
    again = parentage.read_table(other, recipe=table.recipe)
    assert again.digest == table.digest
    copied = "\n".join(f"{line},{line.split(',')[0]}" for line in PLAIN.strip().split("\n"))
    assert remedy_of(copied.encode()) == [Way("drop", ["first (column 4)"])]
    assert decided(copied.encode()).digest == parentage.read_table(PLAIN.encode()).digest
    frame = pd.DataFrame([row.split(",") for row in ROWS], columns=["first", "second", "first"])
    assert remedy_of(frame) == [Way("keep", ["first (column 3)"])]
    assert decided(frame).names == ("first", "second", "first (column 3)")


@pytest.mark.parametrize("header", ["first,second,third", "first,second,third,"])
def test_lines_that_end_in_a_separator(header: str) -> None:
    text = "\n".join([header, *(f"{row}," for row in ROWS), ""]).encode()
    assert remedy_of(text) == [Way("drop", ["unnamed 4"])]
    with pytest.raises(UndecidedError, match="neither a name nor values: the lines end in a sep"):
        parentage.read_table(text)
    assert decided(text).digest == parentage.read_table(PLAIN.encode()).digest
    odd = text.replace(b"\nb,", b"\nb,b,", 1)
    with pytest.raises(ParentageError, match="cells"):
        parentage.read_table(odd)


def test_numbers_that_begin_with_0_are_codes() -> None:
    draw = random.Random(4)
    for n, way in ((25, Way("categorical", ["ward"])), (300, Way("drop", ["ward"]))):
        rows = [
            f"{draw.choice('ab')},{draw.choice('xy')},{draw.randrange(n):05d}" for _ in range(400)
        ]
        text = "\n".join(["a,b,ward", *rows]).encode()
        assert remedy_of(text) == [way]
    codes = ["a,b,ward", *(f"{row[:4]}{i % 25:02d}" for i, row in enumerate(rows))]
    table = decided("\n".join(codes).encode())
    assert len(table.states[2]) == 25 and not table.cuts
    lengths = "\n".join(["a,b,dose", *(f"{r[:4]}{draw.randrange(90)}" for r in rows)]).encode()
    assert remedy_of(lengths) == [Way("discretize", "mdl")]


@pytest.mark.parametrize("name", ["subject", "Patient.no", "townid", "study_subject"])
def test_numbers_of_those_who_were_measured_are_no_quantity(name: str) -> None:
    draw = random.Random(5)
    rows = [f"{draw.choice('ab')},{draw.random():.3f},{i // 4 + 7}" for i in range(200)]
    said = remedy_of("\n".join([f"a,dose,{name}", *rows]).encode())
    assert said == [Way("drop", [name]), Way("discretize", "mdl")]
    assert set(decided("\n".join(["a,dose,subjective", *rows]).encode()).cuts) == {
        "dose",
        "subjective",
    }


# --- identifiers that are numbers --------------------------------------------------------------


def beside(name: str, numbers: Sequence[object], extra: str = "") -> bytes:
    """Return a table with this column, a quantity and a category."""
    draw = random.Random(6)
    rows = [f"{draw.choice('ab')},{draw.random():.3f},{number}{extra}" for number in numbers]
    return "\n".join([f"kind,dose,{name}", *rows, ""]).encode()


BLOCKS = [i // 2 + 1 for i in range(200)]
SHUFFLED = random.Random(7).sample(BLOCKS, 200)


@pytest.mark.parametrize(
    "name", ["id", "ID", "pid", "nr", "caseid", "obsno", "Serial", "cusip", "intnum", "persnum",
             "family_id", "hh.no", "docno"],
)  # fmt: skip
@pytest.mark.parametrize("numbers", [BLOCKS, SHUFFLED])
def test_identifiers_that_repeat_are_left_out_and_rows_are_not_independent(
    name: str, numbers: list[int]
) -> None:
    text = beside(name, numbers)
    why = "identifies 100 units in 200 rows: rows are not independent, so margins and support are"
    with pytest.raises(UndecidedError, match=why):
        parentage.read_table(text, discretize="mdl")
    assert remedy_of(text) == [Way("drop", [name]), Way("discretize", "mdl")]
    with pytest.warns(DecisionWarning, match=why) as told:
        table = parentage.read_table(text, auto=True)
    assert len(told) == 1
    assert table.digest == parentage.read_table(text, drop=[name], discretize="mdl").digest
    kept = parentage.read_table(text, keep=[name], discretize="mdl")
    assert name in kept.cuts


@pytest.mark.parametrize(
    "name", ["acid", "paid", "humid", "bid", "NO", "number", "count_num", "votes_no", "piano",
             "students", "patients", "week_no", "age", "time"],
)  # fmt: skip
def test_quantities_are_not_identifiers_however_they_are_sorted(name: str) -> None:
    for numbers in (SHUFFLED, BLOCKS, [3 * i + i % 2 for i in range(200)]):
        table = decided(beside(name, numbers))
        assert name in table.cuts, name


@pytest.mark.parametrize(("name", "rows_each", "units"), [
    ("state", 5, True), ("state", 4, False), ("year", 5, False), ("time", 5, False),
])  # fmt: skip
def test_more_than_twenty_numbers_in_equal_blocks_are_units(
    name: str, rows_each: int, units: bool
) -> None:
    """A panel, unit after unit; not times, of which many rows are measured at each."""
    numbers = [3 * unit for unit in range(1, 31) for _ in range(rows_each)]
    assert (remedy_of(beside(name, numbers))[0] == Way("drop", [name])) is units
    assert remedy_of(beside(name, numbers[:-1]))[0] != Way("drop", [name])
    assert remedy_of(beside(name, numbers[: 20 * rows_each]))[0] != Way("drop", [name])
    random.Random(9).shuffle(numbers)
    assert remedy_of(beside(name, numbers))[0] != Way("drop", [name])


def test_identifiers_without_repetition_or_of_few_units() -> None:
    midwest = [561 + 7 * i + i % 3 for i in range(200)]
    assert remedy_of(beside("PID", midwest))[0] == Way("drop", ["PID"])
    assert decided(beside("id", [i % 10 for i in range(20)])).names == ("kind", "dose")
    assert len(decided(beside("id", [i % 10 for i in range(200)])).states) == 3
    sites = [i % 25 for i in range(1000)]
    assert len(decided(beside("site_id", sites)).states[2]) == 25
    assert remedy_of(beside("id", [*BLOCKS, *([-1] * 4)]))[0] != Way("drop", ["id"])


# --- 11 to 20 whole numbers --------------------------------------------------------------------


def test_eleven_to_twenty_whole_numbers_are_a_quantity_and_it_is_said() -> None:
    draw = random.Random(8)
    uneven = [draw.choice(range(10, 25)) for _ in range(300)]
    assert remedy_of(beside("age", uneven)) == [Way("discretize", ["age=mdl", "mdl"])]
    assert remedy_of(beside("school", uneven)) == [Way("discretize", ["school=mdl", "mdl"])]
    with pytest.warns(DecisionWarning, match="has 15 whole numbers, and nothing suggests"):
        assert "educ" in parentage.read_table(beside("educ", uneven), auto=True).cuts
    likert = [*[i % 6 for i in range(290)], 7, 7, 8, 9]
    assert remedy_of(beside("item", likert)) == [Way("discretize", "mdl")]


def test_some_whole_numbers_are_categories_by_their_name_or_as_levels_of_a_design() -> None:
    draw = random.Random(8)
    uneven = [draw.choice(range(1, 13)) for _ in range(300)]
    even = [i % 12 for i in range(300)]
    for name in ("month", "Subject", "sector", "visit_type", "dept", "school_id"):
        table = decided(beside(name, uneven))
        assert len(table.states[2]) == 12 and name not in table.cuts, name
    assert "month" in decided(beside("month", [3 * number for number in uneven])).cuts
    with pytest.warns(DecisionWarning, match=r"levels of a design \(discretize='run=mdl' if"):
        assert "run" not in parentage.read_table(beside("run", even), auto=True).cuts
    assert "week" in decided(beside("week", even)).cuts
    assert remedy_of(beside("run", even)) == [
        Way("categorical", ["run"]),
        Way("discretize", "mdl"),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parentage.read_table(beside("month", even), discretize="mdl")


def test_codes_of_many_numbers_are_categories_with_five_rows_each() -> None:
    codes = random.Random(3).sample(range(300), 40)
    rows = [code for code in codes for _ in range(6)]
    random.Random(4).shuffle(rows)
    for name in ("class", "state", "province"):
        assert name not in decided(beside(name, rows)).cuts, name
    assert "weight" in decided(beside("weight", rows)).cuts


def test_a_quantity_of_a_frequency_table_does_not_keep_its_counts_from_being_taken() -> None:
    draw = random.Random(5)
    cells = [(sex, age, how) for sex in "mf" for age in range(10, 95, 5) for how in "uvw"]
    rows = [f"{sex},{age},{how},{draw.randrange(300)}" for sex, age, how in cells]
    table = decided("\n".join(["sex,age,method,Freq", *rows]).encode())
    assert table.names == ("sex", "age", "method") and "age" in table.cuts


# --- other columns that are not what they seem -------------------------------------------------


def test_names_of_rows_that_are_successive_years_are_a_quantity() -> None:
    def named(first: int, rows: int, step: int = 1, year: str = "") -> parentage.Table:
        names = [first + step * i for i in range(rows)]
        lines = [f'"{n}",{n if year else "ab"[n * n % 3 % 2]},{"uvw"[n % 3]}' for n in names]
        return decided("\n".join([f'"",{year or "kind"},x', *lines]).encode())

    assert "unnamed 1" in named(1931, 30).cuts and "unnamed 1" in named(1931, 13).cuts
    assert named(56, 30).names == named(1931, 30, 2).names == ("kind", "x")
    assert named(1931, 30, year="year").names == ("year", "x")


def test_codes_with_letters_are_no_words_for_missing() -> None:
    stations = [str(i // 2) for i in range(160)]
    families = [str(i // 5) for i in range(400)]
    for name, cells in (
        ("station", [*stations, "c168", "c118", "c204", "c266", "c203"]),
        ("family", [*families, *["136A"] * 8]),
        ("family", [*families, *["136a"] * 8]),
    ):
        table = decided(beside(name, cells))
        account = None if table.recipe is None else table.recipe.account
        assert account is not None and not account.blanked, cells[-1]
    assert "apart from 'refused'" in refused_text(beside("station", [*stations, "refused"]))
    amounts = [f"{i / 8}" for i in range(200)]
    assert "apart from '9A'" in refused_text(beside("amount", [*amounts, "9A"]))


@pytest.mark.parametrize("typed", ["4O", "4o", "3L", "39O", "4B", "l4", "B4"])
@pytest.mark.parametrize("name", ["angle", "family", "class"])
def test_a_typing_error_among_whole_numbers_is_found(name: str, typed: str) -> None:
    cells = [str(18 + 7 * i % 41) for i in range(269)]
    source = beside(name, [*cells[:99], typed, *cells[99:]])
    with pytest.warns(DataWarning, match=f"holds numbers, apart from '{typed}' .*line 101"):
        table = parentage.read_table(source, auto=True, missing="drop")
    assert table.n_rows == 269
    if name == "angle":
        assert name in table.cuts


def test_several_typing_errors_are_not_codes() -> None:
    cells = [str(18 + 7 * i % 41) for i in range(100)]
    said = refused_text(beside("angle", [*cells, "4O", "3L", "39O"]))
    assert "apart from '39O', '3L', '4O' (first: '4O', line 102)" in said


def test_a_word_among_numbers_is_refused_if_they_are_to_be_discretised() -> None:
    cells: list[object] = [18 + 7 * i % 41 for i in range(269)]
    source = beside("angle", [*cells, "missing"])
    for rule in ("mdl", "angle=mdl"):
        with pytest.raises(UndecidedError, match=r"apart from 'missing' \(line 271\)") as no:
            parentage.read_table(source, discretize=rule)
        assert Way("na", ["angle=missing"]) in no.value.remedy
        settings: Any = {way.setting: way.value for way in no.value.remedy}
        if rule == "mdl":
            table = parentage.read_table(source, discretize=rule, **settings)
            assert "angle" in table.cuts
    kept = parentage.read_table(source, discretize="mdl", keep=["angle"])
    assert "missing" in kept.states[2]
    with pytest.raises(ParentageError, match=r"neither numbers nor dates \(first: line"):
        parentage.read_table(beside("size", ["a"] * 30), discretize="size=mdl")


def refused_text(source: bytes) -> str:
    with pytest.raises(UndecidedError) as refusal:
        parentage.read_table(source)
    return str(refusal.value)


def test_labels_named_as_units_are_left_out_however_often_they_occur() -> None:
    rows = [f"player{i % 30:02d},{'ab'[i % 2]},{'xyz'[i * i % 3]}" for i in range(600)]
    for name, left in (("id", ("kind", "team")), ("player", ("player", "kind", "team"))):
        table = decided("\n".join([f"{name},kind,team", *rows]).encode())
        assert table.names == left
    with pytest.warns(DecisionWarning, match="identifies 30 units in 600 rows"):
        parentage.read_table("\n".join(["subject,kind,team", *rows]).encode(), auto=True)


def test_a_single_digit_is_a_sentinel_only_among_enough_answers() -> None:
    def remedies(rows: int) -> bytes:
        answers = [9, *(2 + i % 3 for i in range(rows - 1))]
        return "\n".join(
            ["q,kind", *(f"{q},{'ab'[i % 2]}" for i, q in enumerate(answers))]
        ).encode()

    with pytest.warns(DataWarning, match="holds 9 in 1 cell"):
        parentage.read_table(remedies(20))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert parentage.read_table(remedies(19)).n_rows == 19


def test_numbers_of_rows_do_not_begin_below_zero() -> None:
    centred = decided(beside("t0", [i - 30 for i in range(61)]))
    assert "t0" in centred.cuts
    assert "t0" not in decided(beside("t0", list(range(61)))).names


def test_the_end_of_a_file_by_dos_is_no_part_of_a_number() -> None:
    rows = [f"{'ab'[i % 2]},{i // 3 % 2}" for i in range(20)]
    table = parentage.read_table(("\n".join(["kind,size", *rows]) + "\x1a").encode())
    assert table.states[1] == ("0", "1")


# --- recipes and dates -------------------------------------------------------------------------


@pytest.mark.parametrize("content", ["", "\n# nothing\n"])
def test_an_empty_file_is_no_recipe(content: str, tmp_path: Path) -> None:
    path, data = tmp_path / "r.toml", tmp_path / "t.csv"
    path.write_text(content)
    data.write_text(PLAIN)
    assert "is not a recipe" in refused("learn", str(data), "--recipe", str(path))


def test_only_parts_of_dates_that_vary_are_offered() -> None:
    def offered(dates: list[str]) -> str:
        rows = [f"{'ab'[i % 2]},{'xyz'[i % 3]},{date}" for i, date in enumerate(dates)]
        with pytest.raises(UndecidedError) as refusal:
            parentage.read_table("\n".join(["a,b,launch", *rows]).encode())
        return str(refusal.value)

    launch = offered([f"1912-04-15 0{i // 60}:{i % 60:02d}:00" for i in range(60)])
    assert "launch=mdl" in launch and not any(x in launch for x in ("month", "year", "weekday"))
    assert "(or weekday) for a part" not in launch
    week = offered([f"1912-04-{1 + i % 28:02d} 0{i % 9}:{i % 60:02d}" for i in range(60)])
    assert "launch=weekday' for a part of it" in week.replace('"', "'")


def test_only_what_is_decided_counts_as_a_decision() -> None:
    text = beside("id,count", BLOCKS, ",7").replace(b"7\n", b"8\n", 9)
    with pytest.raises(UndecidedError) as refusal:
        parentage.read_table(text)
    said = str(refusal.value)
    assert said.startswith("the table needs 2 decisions")
    note = "is named like counts, but not read as such because 'dose' is not a category"
    assert note in said
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert parentage.read_table(text, auto=True).names == ("kind", "dose", "count")
    assert [note in str(one.message) for one in told] == [True, False]
