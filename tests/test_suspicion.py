"""Columns that are not what they seem, and what was asked for them by name."""

from __future__ import annotations

import json
import random
import re
import warnings
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import parentage
from accounts import account
from command import ok, refused, run
from parentage.data.columns import column_of, dates_in, numbers_in
from parentage.data.formats import frame as frames
from parentage.data.missingness import missing_together
from parentage.data.reading import as_table
from parentage.data.recipe import Recipe, read_recipe
from parentage.data.settings import OF_WHOLE_DATA, WITHOUT_COMPLETION, Reading
from parentage.errors import (
    DataWarning,
    DecisionWarning,
    InputError,
    ParentageError,
    TableError,
    UndecidedError,
    Way,
)
from parentage.scoring.account import Account

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def table(cells: list[Any], name: str = "x") -> bytes:
    """A column between two that give no cause for suspicion, separated by semicolons."""
    lines = [f"{i % 2};{cell};{'abc'[i // 2 % 3]}" for i, cell in enumerate(cells)]
    return "\n".join([f"first;{name};last", *lines, ""]).encode()


def heard(cells: list[Any], name: str = "x", **settings: Any) -> list[str]:
    """Warnings about the column, and why it was refused if it was."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            as_table(table(cells, name), **settings)
        except TableError as error:
            said = " ".join(line.strip() for line in str(error).split("\n"))
            return [*(str(one.message) for one in caught), f"refused: {said}"]
    return [str(one.message) for one in caught]


def draw(count: int, low: float, high: float, digits: int = 1) -> list[float]:
    rng = random.Random(1)
    return [round(rng.uniform(low, high), digits) for _ in range(count)]


# --- found -------------------------------------------------------------------------------------

CUT = {"discretize": "median"}
NAMES = [f"{a} {b}" for a in ("New", "Old") for b in ("York", "Town", "Port")]

FOUND: dict[str, tuple[list[Any], dict[str, Any], str]] = {
    "codes as identifier": ([f"p{i}" for i in range(60)], {}, "refused.*all 60 values are dist"),
    "nearly unique": ([f"p{i}" for i in range(57)] + ["p1"] * 3, {}, "refused.*57 of 60 values"),
    "row numbers": (list(range(100, 160)), CUT, "refused.*numbers the rows from 100 to 159"),
    "shuffled row numbers": (random.Random(1).sample(range(60), 60), CUT, "refused.*numbers the"),
    "free text": (
        [f"says that {i % 40} hurts" for i in range(60)], {}, "refused.*free text: 40 distinct"
    ),
    "unique dates": ([f"2024-{i % 12 + 1:02d}-{i % 28 + 1:02d}" for i in range(60)], {},
                     "refused.*holds dates, nearly all different, such as 2024-01-01"),
    "few dates": ([f"{i % 9 + 1}.3.2024" for i in range(60)], {}, r"^column 'x' holds 9 dates"),
    "-999": (draw(50, 0, 30) + [-999.0] * 4, CUT, r"holds -999 in 4 cells.*pass na=\['x=-999'\]"),
    "9999": ([*draw(50, 0, 900), 9999], CUT, "holds 9999 in 1 cell, far from the others"),
    "99 among codes": ([1, 2, 3] * 12 + [99], {}, r"holds 99 in 1 cell.*\(1 to 3\)"),
    "9 among 1 and 2": ([1, 2] * 12 + [9] * 3, {}, "holds 9 in 3 cells"),
    "a word among numbers": (draw(60, 0, 9) + ["<0.1"] * 3, {}, r"apart from '<0.1'.*x=<0.1"),
    "numbers and as many codes": (
        [i if i % 2 else f"N{i}" for i in range(60)], {}, "refused.*all 60 values are distinct"
    ),
    "decimal commas": ([f"{i % 30},5" for i in range(90)], {}, r"decimal commas \(0,5\).*decimal="),
    "unique decimal commas": ([f"{i},5" for i in range(90)], {}, "refused.*decimal=','.*drop="),
    "many states": ([f"s{i % 40}" for i in range(120)], {}, "has 40 states in 120 rows"),
    "many codes": ([i % 40 for i in range(120)], {"categorical": "all"}, "40 states.*'x=mdl'"),
}  # fmt: skip


@pytest.mark.parametrize("case", FOUND)
def test_what_is_suspicious_is_named(case: str) -> None:
    cells, settings, message = FOUND[case]
    said = heard(cells, **settings)
    assert len(said) == 1, said
    assert re.search(message, said[0]), said[0]


def test_a_column_named_as_identifier_is_one() -> None:
    numbers = [*random.Random(3).sample(range(10_000), 80), 17, 17]
    for name in ("id", "patient_id", "PatientID", "caseId", "Fall-Nr", "nr"):
        assert "refused: the table" in heard(numbers, name, **CUT)[0]
    for name in ("paid", "acid", "weight", "humid"):
        assert heard(numbers, name, **CUT) == []


INNOCENT: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "ages up to 99": ([i % 82 + 18 for i in range(400)], CUT),
    "88 among others": ([i % 91 for i in range(400)], CUT),
    "negative numbers": ([i % 40 - 20 for i in range(200)], CUT),
    "-1, 0, 1": ([-1, 0, 1] * 20, {}),
    "measurements, all different": (sorted(set(draw(80, 0, 1, 6))), CUT),
    "counts, all different": ([i * i + 3 for i in range(50)], CUT),
    "few labels": (["yes", "no", "never"] * 20, {}),
    "labels of several words": (NAMES * 10, {}),
    "20 states": ([f"s{i % 20}" for i in range(60)], {}),
    "many states, many rows": ([f"s{i % 30}" for i in range(300)], {}),
    "names of months": (["Jan", "Feb", "Mar"] * 20, {}),
    "few rows": (["a", "b", "c", "d", "e"], {}),
    "versions": (["1.2.3", "1.2.4", "2.0.0"] * 9, {}),
}


@pytest.mark.parametrize("case", INNOCENT)
def test_what_is_not_suspicious_is_left_alone(case: str) -> None:
    cells, settings = INNOCENT[case]
    assert heard(cells, **settings) == []


@pytest.mark.parametrize("case", [case for case in FOUND if "refused" in FOUND[case][2]])
def test_what_is_kept_on_purpose_is_believed(case: str) -> None:
    cells, settings, _ = FOUND[case]
    assert heard(cells, keep="x", **settings) == []
    assert heard(cells, drop="x", **{k: v for k, v in settings.items() if k != "discretize"}) == []


def test_messages_do_not_depend_on_the_order_of_rows() -> None:
    for case in ("codes as identifier", "free text", "unique dates", "decimal commas"):
        cells, settings, _ = FOUND[case]
        turned = random.Random(2).sample(cells, len(cells))
        assert heard(turned, **settings) == heard(cells, **settings)
    numbers = draw(60, 0, 9)
    (said,) = heard(numbers)
    for seed in range(5):
        assert heard(random.Random(seed).sample(numbers, 60)) == [said]
    assert "such as" in said and "(so are" not in said


def test_one_warning_for_columns_alike() -> None:
    frame = pl.DataFrame({name: ["u", "NA", "v"] * 4 for name in "ab"})
    frame = frame.cast(pl.Enum(["u", "v", "NA"]))
    with pytest.warns(DataWarning, match=r"column 'a' \(and b\) has the state 'NA'") as caught:
        as_table(frame)
    assert len(caught) == 1


# --- codes for missing values ------------------------------------------------------------------


def survey(values: list[int]) -> list[int]:
    return random.Random(9).sample(values, len(values))


CODED: dict[str, tuple[list[int], list[str]]] = {
    "neighbours": ([*list(range(11)) * 20, *[98] * 7, *[99] * 4], ["98", "99"]),
    "years of school": ([*list(range(18)) * 20, 98, 99, 97], ["97", "98", "99"]),
    "three digits": ([*range(20, 90)] * 3 + [997, 999], ["997", "999"]),
    "answers": ([1, 2] * 30 + [8, 9, 9], ["8", "9"]),
    "both ends": ([0, 1, 2] * 30 + [-9, -8, 99], ["-9", "-8", "99"]),
    "ages": ([i % 82 + 18 for i in range(400)], []),
    "doses": ([1, 2, 4, 8] * 20, []),
    "powers of 3": ([1, 3, 9] * 20, []),
    "a large family": ([0, 1, 2] * 20 + [7], []),
    "a scale without 0": ([-2, -1, 1, 2] * 20, []),
    "ten answers": (list(range(1, 11)) * 9, []),
    "codes only": ([98, 99] * 20, []),
    "more than a third": ([1, 2, 3] * 10 + [99] * 20, []),
}


@pytest.mark.parametrize("case", CODED)
def test_codes_at_an_end_are_taken_off_together(case: str) -> None:
    values, codes = CODED[case]
    said = heard(survey(values), **CUT)
    assert [re.findall(r"holds (-?\d+) in", text)[0] for text in said] == codes


def test_a_code_that_another_column_determines_is_a_state() -> None:
    answers = ["yy" if i % 4 == 0 else "ny" if i % 4 == 1 else "nn" for i in range(200)]
    upper = [999 if answer == "yy" else 20 + i % 100 for i, answer in enumerate(answers)]
    rows = [f"{a},{u},{'uvw'[i % 3]}" for i, (a, u) in enumerate(zip(answers, upper, strict=True))]
    table = as_table("\n".join(["answer,upper,other", *rows]).encode(), discretize="mdl")
    assert table.n_rows == 200 and not table.has_holes
    assert max(table.cuts["upper"]) >= 119
    mixed = [row.replace("yy,999", f"{'ny'[i % 2]}y,999") for i, row in enumerate(rows)]
    with pytest.warns(DataWarning, match="holds 999 in 50 cells"):
        as_table("\n".join(["answer,upper,other", *mixed]).encode(), discretize="mdl")


# --- why values are missing --------------------------------------------------------------------


def incomplete(rows: int = 600, **absent: Any) -> pl.DataFrame:
    """Age, death and three more, and where each column is missing, as a function of all."""
    rng = np.random.default_rng(10)
    codes = {name: rng.integers(0, 2, rows) for name in ("death", "a", "b", "chapter")}
    codes["age"] = rng.integers(20, 80, rows)
    draw = rng.random((len(codes), rows))
    frame = pl.DataFrame({name: cells.astype(str) for name, cells in codes.items()})
    for k, (name, where) in enumerate(absent.items()):
        gone = pl.Series(np.asarray(where(codes, draw[k])))
        frame = frame.with_columns(pl.when(gone).then(None).otherwise(pl.col(name)).alias(name))
    return frame


def advised(frame: pl.DataFrame, **settings: Any) -> tuple[list[Way], str]:
    with pytest.raises(UndecidedError) as refusal:
        as_table(frame, discretize="mdl", **settings)
    return list(refusal.value.remedy), str(refusal.value)


def test_a_column_mostly_missing_is_left_out() -> None:
    frame = incomplete(a=lambda _, u: u < 0.6)
    ways, said = advised(frame)
    assert ways == [Way("drop", ["a"])] and "has 6" in said and "of its values missing" in said
    assert advised(frame, keep=["a"])[0][0].setting == "missing"
    assert as_table(frame, discretize="mdl", missing="pnal").n_variables == 5
    assert advised(incomplete(a=lambda _, u: u < 0.45))[0] == [Way("missing", "pnal")]


def test_where_another_column_determines_what_is_missing_it_is_a_state() -> None:
    ways, said = advised(incomplete(chapter=lambda c, _: c["death"] == 0))
    assert ways == [Way("missing", "state")]
    assert "whether 'chapter' is missing is determined by 'death'" in said
    both = incomplete(chapter=lambda c, _: c["death"] == 0, a=lambda _, u: u < 0.1)
    ways, said = advised(both)
    assert ways == [Way("drop", ["chapter"]), Way("missing", "em")]
    assert "which 'death' determines: probably not applicable there" in said
    assert "scattered" in said  # of the other column
    together = incomplete(
        chapter=lambda c, _: c["death"] == 1,
        a=lambda c, u: u < np.where(c["b"] == 1, 0.6, 0.2),
    )
    assert advised(together)[0] == [Way("missing", "state")]  # for the other one anyway
    few = incomplete(chapter=lambda c, u: (c["death"] == 0) & (u < 0.9))
    assert "determine" not in advised(few)[1]


def test_what_depends_on_another_column_is_not_scattered() -> None:
    few = incomplete(a=lambda c, u: u < np.where(c["age"] < 30, 0.5, 0.03))
    ways, said = advised(few)
    assert ways == [Way("missing", "em")]
    assert "whether 'a' is missing depends on 'age'" in said and "scattered" not in said
    many = incomplete(a=lambda c, u: u < np.where(c["b"] == 1, 0.6, 0.2))
    ways, said = advised(many)
    assert ways == [Way("missing", "state")] and "depends on 'b'" in said


def test_by_chance_nothing_depends() -> None:
    for rows in (100, 1000):
        frame = incomplete(rows, a=lambda _, u: u < 0.15, b=lambda _, u: u < 0.1)
        assert "scattered" in advised(frame)[1]


def test_where_em_cannot_be_used_most_complete_rows_are() -> None:
    for share, best in ((0.08, "drop"), (0.13, "pnal")):
        frame = incomplete(a=lambda _, u, s=share: u < s, b=lambda _, u, s=share: u < s)
        assert advised(frame)[0] == [Way("missing", "em")]
        with pytest.raises(UndecidedError) as refusal:
            as_table(frame, discretize="mdl", ways=WITHOUT_COMPLETION)
        assert refusal.value.remedy == (Way("missing", best),)
        assert "learn with score bic uses em here, and may find a different network" in str(
            refusal.value
        )


@pytest.mark.parametrize("score", ["aic", "bdeu"])
def test_the_recommended_treatment_fits_the_score(score: str) -> None:
    """And what a refusal recommends works, too."""
    frame = incomplete(a=lambda _, u: u < 0.25).drop("age")
    best = {"aic": "em", "bdeu": "drop"}[score]
    with pytest.raises(UndecidedError) as refusal:
        parentage.learn(frame, score=score)
    assert refusal.value.remedy == (Way("missing", best),)
    with pytest.warns(DecisionWarning, match=f"missing='{best}'"):
        solution = parentage.learn(frame, auto=True, score=score)
    assert solution.scope.score is not None and solution.scope.score.startswith(score)
    for missing in ("pnal", "em"):
        if missing == best:
            continue
        with pytest.raises(InputError) as refused_way:
            parentage.learn(frame, missing=missing, score=score)
        ways = [way.value for way in refused_way.value.ways if isinstance(way, Way)]
        assert ways and {*ways}.isdisjoint({"pnal", "em"} - {best})


def test_learn_is_said_to_use_what_it_would() -> None:
    frame = incomplete(a=lambda _, u: u < 0.25).drop("age")
    with pytest.raises(UndecidedError, match="learn with score bic uses pnal here"):
        as_table(frame, ways=OF_WHOLE_DATA)
    few = incomplete(a=lambda _, u: u < 0.03).drop("age")
    with pytest.raises(UndecidedError) as refusal:
        as_table(few, ways=OF_WHOLE_DATA)
    assert "learn with" not in str(refusal.value)  # which leaves out these rows, too


def test_families_on_few_rows_are_counted() -> None:
    frame = incomplete(40, a=lambda _, u: u < 0.5).drop("age")
    with pytest.warns(DataWarning, match="1 of 4 families is scored on fewer than 30 rows; do not"):
        parentage.learn(frame, missing="pnal")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parentage.learn(incomplete(400, a=lambda _, u: u < 0.5).drop("age"), missing="pnal")


def test_text_and_report_count_families_on_few_rows(tmp_path: Path) -> None:
    path, page = tmp_path / "few.csv", tmp_path / "page.html"
    incomplete(40, a=lambda _, u: u < 0.5).drop("age").write_csv(path)
    few = "1 of 4 families is scored on fewer than 30 rows; do not rely on it"
    assert ok("learn", str(path), "--missing", "pnal").count(few) == 1
    assert few in run("learn", str(path), "--missing", "pnal", "-o", str(page)).stderr
    assert f"{few}." in page.read_text()
    assert "families" not in ok("learn", str(path), "--missing", "em")


# --- asked for by name -------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*imput")
def test_missing_values_by_text_by_number_and_by_column() -> None:
    cells = ["1", "2", "-9.0", "3", "-9", "2", "1", "k.A.", "3", "2"]
    read = as_table(table(cells), na=["x=-9"], missing="state")
    assert read.states[1] == ("1", "2", "3", "missing")
    assert read.recipe is not None and read.recipe.account is not None
    assert read.recipe.account.blanked == {"x": 3}  # k.A. among numbers is missing anyway
    everywhere = as_table(table(["a", "b", "c"] * 4), na="c", missing="state")
    assert everywhere.states[1:] == (("a", "b", "missing"), ("a", "b", "missing"))
    frame = pl.DataFrame({"x": [1.5, -4.0, 2.5, 3.0], "y": [0, 1, -4, 1]})
    numbers = as_table(frame, na={"x": -4}, missing="mode", discretize="median")
    assert numbers.cuts["x"] == (2.5,) and numbers.states[1] == ("-4", "0", "1")
    enum = frame.with_columns(y=pl.Series(["u", "v", "?", "v"], dtype=pl.Enum(["u", "v", "?"])))
    declared = as_table(enum, na={"x": -4, "y": "?"}, missing="mode", discretize="median")
    assert declared.states[1] == ("u", "v")


@pytest.mark.filterwarnings("ignore:.*imput")
def test_names_with_commas_and_equals_signs() -> None:
    frame = pl.DataFrame({"a,b": ["x", "y"] * 6, "c=d": ["u", "v", "--"] * 4, "a": [0, 1, 2] * 4,
                          "e": [1, 0] * 6})  # fmt: skip
    assert as_table(frame, drop=["a,b"]).names == ("c=d", "a", "e")
    assert as_table(frame, drop="a,e").names == ("a,b", "c=d")
    read = as_table(frame, na="c=d=--", missing="mode", discretize={"a": "at:1"})
    assert read.states[1] == ("u", "v") and read.states[2] == ("< 1", "≥ 1")
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"drop": "a,f"}, "no column 'f' to drop"),
        ({"keep": "g"}, "no column 'g' to keep"),
        ({"categorical": "g"}, "no column 'g' to treat as categories"),
        ({"na": "cc=1"}, "na='cc=1' has no column 'cc'"),
        ({"drop": "e", "keep": "e"}, "both dropped and kept"),
    ]
    for settings, message in wrong:
        with pytest.raises(ParentageError, match=message):
            as_table(frame, **settings)


def test_codes_of_categories() -> None:
    """As in munin and diabetes: 21 states 0…20."""
    cells = [i * 5 % 21 for i in range(210)]
    with pytest.raises(TableError, match=r"21 distinct numbers.*categorical=\['x'\]"):
        as_table(table(cells))
    for categorical in ("x", ["x"], "all"):
        read = as_table(table(cells), categorical=categorical)
        assert read.states[1] == tuple(str(i) for i in range(21))
    both = as_table(table(cells), categorical="all", discretize="x=quantile:3")
    assert len(both.states[1]) == 3


@given(st.floats(-1e9, 1e9).map(lambda x: round(x, 3)))
def test_decimal_commas_and_points_read_the_same(number: float) -> None:
    text = f"{number:.3f}"
    grouped = f"{number:,.3f}".translate(str.maketrans(",.", ".,"))
    for written in (text.replace(".", ","), grouped):
        found = numbers_in([written], ",")
        assert found is not None and found[0] == number
    assert numbers_in(["1.5", "x"], ",") is None and numbers_in([","], ",") is None


def test_decimal_is_a_point_or_a_comma() -> None:
    with pytest.raises(InputError, match="decimal=';' is not a decimal separator; pass decim"):
        Reading(decimal=";")


# --- records -----------------------------------------------------------------------------------


def test_accounts_of_release_0_1_read_back() -> None:
    content = json.loads(json.dumps(account().to_dict()))
    assert content.pop("recipe") is None
    assert Account.from_dict(content) == account()


def test_tables_made_of_others_keep_what_is_true_of_them() -> None:
    read = as_table(table([1.5, 2.5, 3.5, 0.5] * 5), discretize="median")
    assert read.recipe is not None
    some = read.select(["last", "x"])
    assert some.recipe is not None
    assert [column.name for column in some.recipe.columns] == ["last", "x"]
    few = read.head(2).observed()
    assert few.recipe is not None and few.recipe.account is None
    assert [column.states for column in few.recipe.columns] == list(few.states)
    assert parentage.datasets.chest_clinic(50).recipe is None


DAMAGED = [
    ("[setings]\n", "unknown key 'setings'; did you mean 'settings'"),
    ("[settings]\nmising = 'drop'\n", "unknown key 'mising' in settings; did you mean 'missing'"),
    ("[settings]\nheader = 'yes'\n", "settings.header must be true or false, not 'yes'"),
    ("[settings]\ndecimal = ';'\n", "is not a decimal separator"),
    (
        "[[column]]\nname = 'a'\nsates = []\n",
        "unknown key 'sates' in columns.0; did you mean 'states'",
    ),
    ("[[column]]\nname = 'a'\nstates = []\n", "the states of 'a' are missing, repeated"),
    ("[[column]]\nname = 'a'\nstates = ['x', 'x']\n", "the states of 'a' are missing, repeated"),
    ("[[column]]\nname = 'a'\nstates = ['x', 'y']\ncuts = [2, 1]\n", "not in increasing order"),
    ("[[column]]\nname = 'a'\nstates = ['x']\ncuts = [1.0]\n", "has 1 cut points and 1 states"),
    ("[[column]]\nstates = ['x']\n", "the recipe is damaged .columns.0.name is missing"),
    ("[settings]\nrecipe = 'r.toml'\n", "a recipe within a recipe"),
    ("settings = 3\n", "settings must be a table \\(TOML\\) or a mapping, not 3"),
    ("column = 3\n", "columns must be a list, not 3"),
    ("not toml", "is not a TOML file"),
]


@pytest.mark.parametrize(("text", "message"), DAMAGED)
def test_recipes_that_make_no_sense_are_refused(text: str, message: str, tmp_path: Any) -> None:
    path = tmp_path / "r.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_recipe(path)
    with pytest.raises(InputError, match="no file"):
        read_recipe(tmp_path / "absent.toml")


def test_a_penalty_of_missing_values_survives_the_file(tmp_path: Any) -> None:
    text = b"a,b\nx,1\ny,?\nx,2\ny,1\n"
    recipe = parentage.read_table(text, missing="pnal:0.01", categorical="all").recipe
    assert recipe is not None
    recipe.save(tmp_path / "r.toml")
    assert 'missing = "pnal:0.01"' in (tmp_path / "r.toml").read_text()
    assert read_recipe(tmp_path / "r.toml").settings == recipe.settings
    assert Recipe.from_dict(recipe.to_dict()) == recipe


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5),
                    lambda inner: st.lists(inner, max_size=3)
                    | st.dictionaries(st.sampled_from(["settings", "columns", "account", "name",
                                                       "states", "cuts", "na", "x"]),
                                      inner, max_size=3), max_leaves=12))  # fmt: skip
def test_any_record_gives_a_recipe_or_a_message(content: Any) -> None:
    try:
        recipe = Recipe.from_dict(content)
    except InputError as error:
        assert str(error)
    else:
        assert Recipe.from_dict(recipe.to_dict()) == recipe


@given(st.text(min_size=1, max_size=8), st.lists(st.text(max_size=6), min_size=2, unique=True))
def test_any_name_and_state_survives_the_file(name: str, states: list[str]) -> None:
    from parentage.data.recipe import ColumnRecipe, recipe_text

    try:
        "".join([name, *states]).encode()
    except UnicodeEncodeError:
        return
    recipe = Recipe(Reading(na=(name,)), (ColumnRecipe(name, tuple(states), na=(name,)),))
    again = read_recipe_of(recipe_text(recipe))
    assert again == recipe


def read_recipe_of(text: str) -> Recipe:
    import tomllib

    content = tomllib.loads(text)
    return Recipe.from_dict({"settings": content["settings"], "columns": content["column"]})


def test_outputs_and_recipes_go_to_names_of_their_own(tmp_path: Any) -> None:
    data = tmp_path / "t.csv"
    rng = np.random.default_rng(4)
    rows = "\n".join(f"{a},{(a + b) % 3},{b}" for a, b in rng.integers(0, 3, (60, 2)).tolist())
    data.write_text(f"a,b,c\n{rows}\n")
    target = [str(tmp_path / name) for name in ("n.json", "n.bif", "l.jkl", "l.parquet", "r.toml")]
    ok("learn", str(data), "-o", target[0], "-o", target[1], "--write-recipe", target[4])
    ok("score", str(data), "-o", target[2], "-o", target[3])
    assert parentage.read_network(target[0]) == parentage.read_network(target[1])
    assert parentage.read_lists(target[2]).digest == parentage.read_lists(target[3]).digest
    assert "is read here" in refused("info", str(data), "--write-recipe", str(data))
    ok("info", str(data), "--write-recipe", target[4])  # any other file is overwritten
    said = refused("info", str(data), "--recipe", target[4], "--write-recipe", target[4])
    assert "is read here" in said
    assert "recipe" in refused("learn", target[2], "--recipe", target[4])


# --- imputing ----------------------------------------------------------------------------------


def trial(rows: int = 400, lacking: int = 100) -> pl.DataFrame:
    """A randomised treatment and two findings, all three missing in the same rows, and two more."""
    rng = np.random.default_rng(5)
    drawn = {name: rng.integers(0, 2, rows) for name in ("treatment", "first", "second", "age")}
    drawn["status"] = np.where(rng.random(rows) < 0.8, drawn["age"], 1 - drawn["age"])
    absent = np.arange(rows) < lacking
    return pl.DataFrame({
        name: [None if gone and name in ("treatment", "first", "second") else str(code)
               for code, gone in zip(codes.tolist(), absent, strict=True)]
        for name, codes in drawn.items()
    })  # fmt: skip


def test_imputing_the_mode_makes_arcs_and_is_warned_about() -> None:
    frame = trial()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        imputed = parentage.learn(frame, missing="mode").network
    said = [str(one.message) for one in caught]
    assert [text.split(" (and first, second) ")[0] for text in said] == ["column 'treatment'"] * 2
    assert "has more than 5% of its values imputed with one state" in said[0]
    assert "is missing in the same rows as others (up to 100)" in said[1]
    assert all("; pass missing='em' to " in text and "missing='pnal' to " in text for text in said)
    assert any("treatment" in arc for arc in imputed.arcs)
    for missing in ("drop", "pnal"):
        found = parentage.learn(frame, missing=missing).network
        assert not any("treatment" in arc for arc in found.arcs)


def test_mode_is_not_offered_where_it_makes_arcs() -> None:
    for lacking, best, why in (
        (100, "pnal", "because 25% of 'treatment' is missing"),
        (50, "pnal", r"because they are missing together \(treatment, first, second in up to 50"),
        (20, "drop", "because 380 of 400 rows are complete"),
        (21, "pnal", "because they are missing together"),
    ):
        with pytest.raises(UndecidedError, match=f"missing='{best}', {why}") as refusal:
            as_table(trial(lacking=lacking))
        assert refusal.value.remedy == (Way("missing", best),)
        assert "mode" not in str(refusal.value)


def scattered(lacking: int) -> pl.DataFrame:
    """The trial, with one value missing in so many rows: the first, the second, and so on."""
    frame, row = trial(lacking=0), pl.int_range(pl.len())
    return frame.with_columns(
        pl.when((row < lacking) & (row % 5 == at)).then(None).otherwise(pl.col(name)).alias(name)
        for at, name in enumerate(frame.columns)
    )


def test_few_scattered_values_are_completed() -> None:
    why = r"missing='em', because they are few \(at most 2.5% of a column\) and scattered"
    with pytest.raises(UndecidedError, match=why):
        as_table(scattered(50))


def test_one_missing_value_is_told_of_in_the_singular() -> None:
    frame = trial(lacking=1).with_columns(first=pl.lit("0"), second=pl.col("age"))
    with pytest.raises(UndecidedError, match=r"1 missing value .*because 399 of 400 rows are"):
        as_table(frame)


def test_rows_that_repeat_count_as_often_in_what_is_recommended(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("a,b,n\nx,y,40\nz,y,30\nx,w,25\n,w,5\n")
    with pytest.raises(UndecidedError, match="missing='drop', because 95 of 100 rows"):
        parentage.read_table(path, counts="n")
    path.write_text("a,b,n\nx,y,40\nz,y,30\nx,w,24\n,w,6\n")
    with pytest.raises(UndecidedError, match="missing='em', because they are few"):
        parentage.read_table(path, counts="n")


def test_all_commands_treat_few_incomplete_rows_alike() -> None:
    frame = trial(lacking=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DecisionWarning)
        learned = parentage.learn(frame, auto=True)
        found = parentage.support(frame, auto=True, bootstrap=2)
    assert learned.network.n_arcs
    assert found.network == learned.network


def test_what_needs_the_rows_is_not_told_to_complete_them() -> None:
    with pytest.raises(UndecidedError) as refusal:
        parentage.support(trial(lacking=25))
    assert refusal.value.remedy == (Way("missing", "pnal"),)
    with pytest.warns(DecisionWarning, match="missing='pnal': 75 missing values in 3 columns"):
        assert parentage.support(trial(lacking=25), auto=True).arcs


@pytest.mark.parametrize(("lacking", "warned"), [(0, 0), (5, 0), (6, 1), (20, 1), (21, 2)])
def test_columns_missing_together_are_named_however_few_their_rows(
    lacking: int, warned: int
) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = as_table(trial(lacking=lacking), missing="mode")
        assert as_table(trial(lacking=lacking), recipe=table.recipe).digest == table.digest
    assert len(caught) == 2 * warned


def test_columns_missing_by_chance_are_not_missing_together() -> None:
    rng = np.random.default_rng(6)
    columns = {}
    for name, share in zip("abcd", (0.04, 0.05, 0.3, 0.5), strict=True):
        cells = np.where(rng.random(500) < share, "", rng.choice(["x", "y"], 500))
        columns[name] = cells
    found = [column_of(column) for column in frames.read(pl.DataFrame(columns)).columns]
    assert missing_together(found) == ([], 0)


# --- advice that leaves a table ----------------------------------------------------------------


def follow(source: bytes) -> str:
    """Type what a refusal recommends; what was typed, if the table is read then."""
    error = refusal(source)
    given: dict[str, Any] = {way.setting: way.value for way in error.remedy}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        table = as_table(source, **given)
        assert table.digest == as_table(source, auto=True).digest
    return ", ".join(way.typed("python") for way in error.remedy)


def columns(*names: str, rows: int = 60) -> bytes:
    draw = random.Random(8)
    makers: dict[str, Callable[[int], object]] = {
        "year": lambda i: 1900 + i,
        "size": lambda i: round(i * draw.uniform(0.5, 1.5), 2),
        "kind": lambda i: "xyz"[i % 3],
        "name": lambda i: f"p{i}",
    }
    lines = [",".join(str(makers[name](i)) for name in names) for i in range(rows)]
    return "\n".join([",".join(names), *lines, ""]).encode()


def test_a_year_is_a_quantity() -> None:
    assert follow(columns("year", "size")) == "discretize='mdl'"
    assert follow(columns("year", "size", rows=12)) == "discretize=['year=mdl', 'mdl']"
    assert follow(columns("name", "year", "size")) == "drop=['name'], discretize='mdl'"


def test_numbers_of_rows_are_quantities_if_they_begin_elsewhere_or_are_times() -> None:
    def follow_numbers(name: str, first: int) -> str:
        return follow(table([first + i for i in range(60)], name))

    assert follow_numbers("x", 1) == "drop=['x']"
    assert follow_numbers("nr", 501) == "drop=['nr']"
    assert follow_numbers("height", 58) == "keep=['height'], discretize='mdl'"
    assert follow_numbers("week", 1) == "keep=['week'], discretize='mdl'"


def refusal(source: bytes) -> UndecidedError:
    with pytest.raises(UndecidedError) as refused_:
        as_table(source)
    return refused_.value


def test_ways_of_several_columns_are_offered_once() -> None:
    cells = [f"{i}.5" for i in range(30)]
    text = "a,b,c,d\n" + "".join(f"{x},{x},{i % 2},{i % 3}\n" for i, x in enumerate([*cells, "<1"]))
    found = refusal(text.encode())
    assert Way("na", ["a=<1", "b=<1"]) in found.remedy
    assert str(found).count("apart from '<1' (line 32): na=") == 2


def test_no_advice_leaves_fewer_than_two_columns() -> None:
    sources = {
        "missing": b"a,b\n" + b"x,1\ny,\n" * 4,
        "continuous": columns("size", "kind"),
        "identifier": columns("name", "kind"),
        "many states": b"a,b\n" + b"".join(b"s%d,%d\n" % (i % 40, i % 2) for i in range(120)),
    }
    for source in sources.values():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                as_table(source)
            except TableError as error:
                said = str(error)
            else:
                (said,) = [str(one.message) for one in caught]
        assert "drop=[" not in said
    said = str(refusal(sources["identifier"]))
    assert "(or keep=['name'] to use it as it is)" in said
    assert "These decisions are not enough: fewer than 2 columns would be left" in said


# --- dates -------------------------------------------------------------------------------------


def days(form: str, count: int = 60) -> list[str]:
    start = datetime(2019, 11, 3, 5, 30)
    return [(start + timedelta(days=11 * i)).strftime(form) for i in range(count)]


FORMS = ["%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d %b %Y", "%d.%m.%y",
         "%Y-%m-%dT%H:%M:%S", "%d.%m.%Y %H:%M"]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_dates_are_cut_like_numbers_when_asked(form: str) -> None:
    cells = days(form)
    said = str(refusal(table(cells)))
    assert "holds dates, nearly all different, such as" in said
    assert ": discretize='x=mdl' (or discretize='" in said
    read = as_table(table(cells), discretize="x=median")
    (cut,) = read.cuts["x"]
    assert 2020 < cut < 2022
    assert read.column(1).tolist() == [0] * 30 + [1] * 30
    again = as_table(table(days(form, 70)), recipe=read.recipe)
    assert again.column(1).tolist() == [0] * 30 + [1] * 40
    assert as_table(table(cells), discretize="x=mdl").n_variables == 3


def test_dates_of_frames_are_cut_too() -> None:
    moments = [datetime(2020, 1, 1) + timedelta(days=i) for i in range(400)]
    frame = pl.DataFrame({"when": moments, "a": [i % 2 for i in range(400)]})
    for source in (frame, frame.to_pandas(), frame.with_columns(pl.col("when").cast(pl.Date))):
        read = as_table(source, discretize={"when": "at:2021"})
        assert read.column(0).tolist() == [0] * 366 + [1] * 34
    learner = parentage.ParentageLearner(discretize={"when": "at:2021"}).fit(frame)
    assert learner.sample(3).columns == ["when", "a"]


def test_dates_that_cannot_be_told_apart_are_not_guessed() -> None:
    assert dates_in(["1/2/2024", "3/4/2024"]) is None
    assert dates_in(["1.2.2024", "31.2.2024"]) is None
    assert dates_in(["2024-01-01", "soon"]) is None
    found = dates_in(["1/2/2024", "3/14/2024"])
    assert found is not None and found[0] == 2024 + 1 / 366
    ambiguous = [f"{i % 12 + 1}/{i // 12 + 1}/2024" for i in range(60)]
    assert "discretize" not in str(refusal(table(ambiguous)))
    east, west = "2024-01-01T02:00+0200", "2023-12-31 23:00-01:00"
    found = dates_in([east, west, "2024-01-01"])
    assert found is not None and set(found.tolist()) == {2024.0}
