"""A clinic's export, from mess to a recipe: every message on the way, and what comes out."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import parentage
from command import by_recipe, ok, refused, run
from parentage.data.recipe import Recipe, read_recipe
from parentage.errors import (
    DecisionWarning,
    TableError,
    UndecidedError,
)

SCRIPT = Path(__file__).parent.parent / "examples" / "messy_clinic.py"

SETTINGS: dict[str, Any] = {
    "encoding": "cp1252",
    "decimal": ",",
    "drop": "case,admitted,note",
    "na": {"age": 999, "crp": -999},
    "missing": "state",
    "categorical": "site",
    "discretize": "mdl",
}
TYPED = (
    "--encoding", "cp1252", "--decimal", ",", "--drop", "case,admitted,note", "--na",
    "age=999", "--na", "crp=-999", "--missing", "state", "--categorical", "site",
    "--discretize", "mdl",
)  # fmt: skip


def script() -> Any:
    spec = importlib.util.spec_from_file_location("messy_clinic", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two months of one clinic, the first also in halves."""
    folder, made = tmp_path_factory.mktemp("clinic"), script()
    lines = made.table()
    made.write(folder / "export.csv", lines)
    made.write(folder / "next.csv", made.table(seed=1))
    made.write(folder / "half-1.csv", lines[:1001])
    made.write(folder / "half-2.csv", [lines[0], *lines[1001:]])
    return folder


def told(path: Path, *options: str) -> str:
    """What a command says on stderr, on the way to an answer or a refusal."""
    done = run("info", str(path), *options)
    assert done.returncode in (0, 2)
    return done.stderr


# --- step by step ------------------------------------------------------------------------------


DECISIONS = [
    r"is not utf-8: byte 0xFC in line 2 \(offset \d+\): --encoding cp1252",
    "column 'case' is an identifier: all 2000 values are distinct, such as 'F-004711': --drop case",
    r"column 'admitted' holds dates, .*, such as 01.01.2025 03:39: --discretize admitted=mdl",
    r"column 'age' holds 999 in 22 cells, far from the others \(18 to 95\): --na age=999",
    r"column 'bmi' \(and crp\) looks like numbers with decimal commas \(12,8\).*: --decimal ,",
    r"column 'note' is free text: 612 distinct values in 803 rows, such as .*: --drop note",
    r"column 'crp' holds -999 in \d+ cells, far .*: --na crp=-999",
    r"column 'site' has 21 numbers, and its name suggests codes: --categorical site",
    r"\d+ missing values in 5 columns .*: --missing em, because they are few .* --missing state if",
    r"column 'age' is continuous: 78 .*\(so are 2 others: bmi, crp\): --discretize mdl",
]


def test_one_refusal_says_everything_and_one_command_does_it(clinic: Path) -> None:
    path = clinic / "export.csv"
    said = told(path).strip().split("\n")
    assert said[0].endswith("export.csv needs 10 decisions:")
    for decision in DECISIONS:
        assert any(re.search(decision, line) for line in said), decision
    assert said[-2] == "Type (or let --auto decide the same):"
    typed = shlex.split(said[-1])
    assert typed[:3] == ["parentage", "info", str(path)]
    done = run(*typed[1:])
    assert done.returncode == 0 and "warning" not in done.stderr
    assert done.stderr.startswith(
        "parentage: read 2,000 rows, 11 columns; 2 columns left out (case"
    )
    auto = run("info", str(path), "--auto")
    assert auto.stdout == done.stdout
    lines = auto.stderr.split("\n")
    assert lines[1] == "parentage: decided by --auto:" and len(lines) == 13
    assert "10 automatic decisions" in lines[0]


def test_the_same_in_python(clinic: Path, tmp_path: Path) -> None:
    with pytest.raises(UndecidedError) as refusal:
        parentage.read_table(clinic / "export.csv")
    call = str(refusal.value).split("\n")[-1].strip()
    table = eval(call)  # noqa: S307  # as a reader would paste it
    with pytest.warns(DecisionWarning, match=r"^decided by auto=True:\n  encoding='cp1252': "):
        auto = parentage.read_table(clinic / "export.csv", auto=True)
    assert auto.digest == table.digest and auto.names == table.names
    assert auto.recipe is not None and auto.recipe.account is not None
    settings, decisions = auto.recipe.settings, auto.recipe.account.decisions
    assert settings == table.recipe.settings and not settings.auto
    assert [d.did for d in decisions if d.column == "case"] == ["--drop case"]
    assert [d.instead for d in decisions if d.column == "case"] == ["--keep case"]
    assert all(decision.why for decision in decisions) and len(decisions) == 10
    auto.recipe.save(tmp_path / "auto.toml")
    kept = (tmp_path / "auto.toml").read_text() + json.dumps(auto.recipe.to_dict())
    assert not re.search(r"F-00|penicillin|\d{4} \d\d:\d\d", kept)  # no patient can be found again
    assert (tmp_path / "auto.toml").read_text().count("\n# decided: --") == 10
    following = parentage.read_table(clinic / "next.csv", recipe=tmp_path / "auto.toml")
    assert following.states == auto.states
    again = json.loads(json.dumps(auto.recipe.to_dict()))
    assert Recipe.from_dict(again) == auto.recipe
    frame = pd.read_csv(clinic / "export.csv", sep=";", encoding="cp1252", decimal=",")
    with pytest.warns(DecisionWarning):
        learned = parentage.learn(frame, auto=True)
    assert learned.table is not None and learned.table.names == table.names


@pytest.mark.filterwarnings("ignore:.*holds 999")
def test_what_is_set_is_not_decided(clinic: Path) -> None:
    given: dict[str, Any] = {"missing": "state", "keep": "note", "categorical": "age"}
    with pytest.warns(DecisionWarning):
        table = parentage.read_table(clinic / "export.csv", auto=True, **given)
    assert table.recipe is not None
    assert table.recipe.settings.missing == "state" and "note" in table.names
    assert "age" not in table.cuts
    with pytest.warns(DecisionWarning):
        learned = parentage.ParentageLearner(auto=True, missing="drop").fit(clinic / "export.csv")
    assert learned.table_.recipe is not None
    assert learned.table_.recipe.settings.missing == "drop"


@pytest.mark.filterwarnings("ignore:.*imput")
def test_what_was_done_is_true(clinic: Path) -> None:
    table = parentage.read_table(clinic / "export.csv", **{**SETTINGS, "missing": "mode"})
    text = (clinic / "export.csv").read_bytes().decode("cp1252")
    names, *rows = [line.split(";") for line in text.split("\r\n") if line]
    cells = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    words = {"": (), "k.A.": (), "NA": (), "999": ("age",), "-999": ("crp",)}
    absent = {
        name: sum(c in words and (not words[c] or name in words[c]) for c in cells[name])
        for name in table.names
    }
    account = table.recipe.account if table.recipe else None
    assert account is not None
    assert account.missing == {name: n for name, n in absent.items() if n}
    assert account.blanked == {n: c for n, c in account.missing.items() if n != "smoker"}
    assert account.rows_read == 2000 and account.rows_dropped == 0
    assert account.left_out == dict.fromkeys(["case", "admitted", "note"], "dropped")
    for name in ("age", "bmi", "crp"):
        numbers = [
            float(c.replace(",", "."))
            for c in cells[name]
            if c not in words or (words[c] and name not in words[c])
        ]
        middle, cuts = float(np.median(numbers)), table.cuts[name]
        codes = [
            sum(cut <= (middle if c in words else float(c.replace(",", "."))) for cut in cuts)
            for c in cells[name]
        ]
        assert table.to_codes()[table.index(name)].tolist() == codes
    dropped = parentage.read_table(clinic / "export.csv", **{**SETTINGS, "missing": "drop"})
    complete = sum(
        all(
            c not in words or (words[c] and name not in words[c])
            for name, c in zip(names, row, strict=True)
            if name in table.names
        )
        for row in rows
    )
    assert dropped.n_rows == complete < 2000
    assert dropped.recipe is not None and dropped.recipe.account is not None
    assert dropped.recipe.account.rows_dropped == 2000 - complete
    assert f"{2000 - complete:,} rows dropped for missing values (crp" in str(dropped.recipe)


# --- the recipe --------------------------------------------------------------------------------


def test_one_recipe_reads_every_month(clinic: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "clinic.toml"
    done = run("info", str(clinic / "export.csv"), *TYPED, "--write-recipe", str(recipe))
    assert f"wrote the recipe to {recipe}" in done.stderr
    again = run("info", str(clinic / "export.csv"), "--recipe", str(recipe))
    assert again.stdout.split("Scoring")[0] == done.stdout.split("Scoring")[0]
    table = parentage.read_table(clinic / "export.csv", **SETTINGS)
    repeated = parentage.read_table(clinic / "export.csv", recipe=recipe)
    assert repeated.digest == table.digest and repeated.cuts == table.cuts
    assert parentage.read_table(clinic / "export.csv", recipe=table.recipe).digest == table.digest
    following = parentage.read_table(clinic / "next.csv", recipe=recipe)
    assert following.states == table.states and following.cuts == table.cuts
    assert following.digest != table.digest
    assert following.recipe is not None and following.recipe.account is not None
    left_out = dict.fromkeys(["case", "admitted", "note"], "dropped")  # as the recipe says
    assert following.recipe.account.left_out == left_out
    more = tmp_path / "more.csv"
    rows = (clinic / "next.csv").read_text(encoding="cp1252").splitlines()
    lines = ["new;" + rows[0], *("1;" + row for row in rows[1:])]
    more.write_text("\n".join(lines), encoding="cp1252")
    wider = parentage.read_table(more, recipe=recipe).recipe
    assert wider is not None and wider.account is not None
    assert wider.account.left_out == {"new": "not in the recipe", **left_out}


def test_a_table_that_does_not_fit_is_refused_with_the_difference(
    clinic: Path, tmp_path: Path
) -> None:
    recipe, made = tmp_path / "clinic.toml", script()
    table = parentage.read_table(clinic / "export.csv", **SETTINGS)
    assert table.recipe is not None
    table.recipe.save(recipe)
    names, *rows = made.table(rows=50, seed=2)
    sex, age, ward = names.index("sex"), names.index("age"), names.index("ward")
    rows[7][sex], rows[8][age] = "d", "old"
    shorter = [[cell for i, cell in enumerate(row) if i != ward] for row in [names, *rows]]
    made.write(tmp_path / "other.csv", shorter)
    said = refused("learn", str(tmp_path / "other.csv"), "--recipe", str(recipe))
    assert "the table does not fit the recipe: no column 'ward'; known: case, adm" in said
    assert "column 'sex' has the state 'd'" in said
    assert "column 'age' was discretised when learning, but holds text here ('old')" in said
    ways = "; type --na sex=d --na age=old if that means missing, or add it to `states` of its"
    assert ways in said and "Categorical" not in said
    said = refused("learn", str(clinic / "export.csv"), "--recipe", str(recipe), "--drop", "age")
    assert "--drop age conflicts with the recipe; edit the recipe, or read without one" in said


@pytest.fixture
def complete(tmp_path: Path) -> Path:
    """A recipe of complete data, and two tables that it does not fit."""
    folder = tmp_path
    (folder / "t.csv").write_text("a,b\n" + "x,1\ny,2\nx,2\n" * 9, encoding="utf-8")
    ok("info", str(folder / "t.csv"), "--write-recipe", str(folder / "r.toml"))
    (folder / "new.csv").write_text("a,b\nx,1\nz,2\ny,2\nw,1\nx,2\n", encoding="utf-8")
    (folder / "gap.csv").write_text("a,b\nx,1\n,2\ny,2\nx,2\n", encoding="utf-8")
    return folder


def test_a_new_state_is_added_to_the_recipe_or_means_missing(complete: Path) -> None:
    new, recipe = str(complete / "new.csv"), str(complete / "r.toml")
    said = refused("info", new, "--recipe", recipe)
    assert "column 'a' has the state 'w' (and 1 more), which was never seen in the data" in said
    assert "type --na a=w --na a=z --missing drop if that means missing, or add it" in said
    missing = ("--na", "a=w", "--na", "a=z", "--missing", "drop")
    assert ok("info", new, "--recipe", recipe, *missing).startswith("3 rows, 2 variables")
    again = parentage.read_table(new, recipe=recipe, na={"a": ["w", "z"]}, missing="drop").recipe
    assert again is not None and again.column("a").na == ("w", "z")
    assert again.settings.na == ("a=w", "a=z") and again.settings.missing == "drop"
    text = Path(recipe).read_text(encoding="utf-8")
    changed = text.replace('states = ["x", "y"]', 'states = ["x", "y", "w", "z"]')
    assert changed != text
    Path(recipe).write_text(changed, encoding="utf-8")
    table = parentage.read_table(new, recipe=recipe)
    assert table.states[0] == ("x", "y", "w", "z")
    assert table.to_codes()[0].tolist() == [0, 3, 1, 2, 0]


@pytest.mark.parametrize("missing", ["drop", "pnal", "em"])
def test_a_recipe_of_complete_data_leaves_missing_values_to_the_user(
    complete: Path, missing: str
) -> None:
    said = refused("info", str(complete / "gap.csv"), "--recipe", str(complete / "r.toml"))
    assert "column 'a', line 3: the value is missing; type --missing drop to leave such" in said
    assert f"--missing {missing} to" in said
    table = parentage.read_table(complete / "gap.csv", recipe=complete / "r.toml", missing=missing)
    assert table.n_rows == (3 if missing == "drop" else 4)
    assert table.has_holes == (missing != "drop")


def test_a_recipe_by_hand_may_hold_settings_alone(clinic: Path, tmp_path: Path) -> None:
    path = tmp_path / "by-hand.toml"
    path.write_text(
        """
        [settings]
        encoding = "cp1252"
        decimal = ","
        drop = "case,admitted,note"
        na = ["age=999", "crp=-999"]
        missing = "state"
        categorical = ["site"]
        discretize = ["mdl"]
        """,
        encoding="utf-8",
    )
    table = parentage.read_table(clinic / "export.csv", recipe=path)
    assert table.digest == parentage.read_table(clinic / "export.csv", **SETTINGS).digest


def test_recipes_come_back_equal(clinic: Path, tmp_path: Path) -> None:
    table = parentage.read_table(clinic / "export.csv", **SETTINGS)
    recipe = table.recipe
    assert recipe is not None
    assert Recipe.from_dict(json.loads(json.dumps(recipe.to_dict()))) == recipe
    recipe.save(tmp_path / "r.toml")
    again = read_recipe(tmp_path / "r.toml")
    assert (again.settings, again.columns) == (recipe.settings, recipe.columns)
    lists = parentage.score(table, max_parents=1)
    for name in ("l.jkl", "l.pss", "l.parquet"):
        lists.save(tmp_path / name)
        assert parentage.read_lists(tmp_path / name).known().recipe == recipe


def test_results_carry_the_recipe(clinic: Path, tmp_path: Path) -> None:
    export, network = str(clinic / "export.csv"), str(tmp_path / "net.json")
    file = str(tmp_path / "read.toml")
    ok("info", export, *TYPED, "--json", "--write-recipe", file)
    done = run("learn", export, "--recipe", file, "-k", "1", "-o", network, "-o",
               str(tmp_path / "n.svg"), "--json")  # fmt: skip
    assert done.stderr.count("\n") == 1 and "wrote" in done.stderr
    recipe = Recipe.from_dict(json.loads(done.stdout)["recipe"])
    plain = parentage.read_table(export, **SETTINGS).recipe
    assert recipe == parentage.read_table(export, recipe=file).recipe and plain is not None
    assert (recipe.settings, recipe.columns) == (plain.settings, plain.columns)
    assert (tmp_path / "n.svg").exists()
    content = json.loads(Path(network).read_text())
    assert Recipe.from_dict(content["scope"]["account"]["recipe"]) == recipe
    printed = json.loads(ok("info", export, *TYPED, "-k", "1", "--json", "--write-recipe", file))[
        "recipe"
    ]
    assert Recipe.from_dict(printed) == plain
    printed = json.loads(ok("score", export, "--recipe", file, "-k", "1", "--json"))["recipe"]
    assert Recipe.from_dict(printed).columns == recipe.columns


# --- one half learned, the other half scored ---------------------------------------------------


def test_the_other_half_is_scored_as_by_hand(clinic: Path) -> None:
    known = parentage.read_table(clinic / "half-1.csv", **SETTINGS)
    assert known.recipe is not None
    rows = parentage.read_table(clinic / "half-2.csv", recipe=known.recipe)
    network = parentage.learn(known).network
    assert network.n_arcs > 4
    parameters = network.fit(known)
    by_hand = 0.0
    arity = [len(labels) for labels in known.states]
    for v, parents in enumerate(network.parents):
        q = int(np.prod([arity[p] for p in parents], dtype=np.int64))
        counts = np.ones((q, arity[v]))
        joint, seen = np.zeros(known.n_rows, np.int64), np.zeros(rows.n_rows, np.int64)
        for p in parents:
            joint, seen = (
                joint * arity[p] + known.to_codes()[p],
                seen * arity[p] + rows.to_codes()[p],
            )
        np.add.at(counts, (joint, known.to_codes()[v]), 1)
        chances = counts / counts.sum(axis=1, keepdims=True)
        by_hand += float(np.log(chances[seen, rows.to_codes()[v]]).sum())
    assert parameters.log_likelihood(rows) == pytest.approx(by_hand, rel=1e-12)
    learner = parentage.ParentageLearner().fit(known)
    assert learner.score(rows) == pytest.approx(by_hand / rows.n_rows, rel=1e-12)


def test_a_half_with_a_new_state_is_refused(clinic: Path) -> None:
    known = parentage.read_table(clinic / "half-1.csv", **SETTINGS)
    text = (clinic / "half-2.csv").read_bytes().replace(b";Chirurgie;", b";Urologie;")
    with pytest.raises(TableError, match=r"does not fit.*'ward' has the state 'Urologie'"):
        parentage.read_table(text, recipe=known.recipe)


# --- recipes of data that keep their missing values --------------------------------------------


@pytest.fixture(scope="module")
def incomplete(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with missing values, and recipes that keep them."""
    folder = tmp_path_factory.mktemp("incomplete")
    table = parentage.datasets.chest_clinic(300)
    rows = [[labels[code] for labels, code in zip(table.states, row, strict=True)]
            for row in table.to_codes().T.tolist()]  # fmt: skip
    for i, row in enumerate(rows):
        row[i % 8] = "" if i % 3 == 0 else row[i % 8]
    lines = [",".join(row) for row in [list(table.names), *rows]]
    (folder / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for missing in ("pnal", "em"):
        ok("info", str(folder / "t.csv"), "--missing", missing, "--write-recipe",
           str(folder / f"{missing}.toml"))  # fmt: skip
    return folder


@pytest.mark.parametrize("missing", ["pnal", "em"])
def test_a_recipe_that_keeps_missing_values_is_used_again(
    incomplete: Path, missing: str, tmp_path: Path
) -> None:
    alone = by_recipe(tmp_path, missing=missing)
    path, recipe = str(incomplete / "t.csv"), str(incomplete / f"{missing}.toml")
    asked = [("learn", "parents"), ("score", "lists"), ("info", "score"), ("support", "arcs")]
    for command, key in asked:
        more = ["--no-need", "--json"] if command == "support" else ["--json"]
        plain = json.loads(ok(command, path, *more, *alone))
        again = json.loads(ok(command, path, *more, "--recipe", recipe))
        assert (again[key], again["score"]) == (plain[key], plain["score"])
    if missing == "pnal":
        family = ("explain", path, "dysp", "bronc")
        assert ok(*family, "--recipe", recipe) == ok(*family, *alone)
    solution = parentage.learn(path, recipe=recipe)
    assert solution.score == parentage.learn(path, missing=missing).score
    fitted = parentage.ParentageLearner(missing=missing).fit(
        parentage.read_table(path, recipe=recipe)
    )
    assert fitted.score_ == solution.score and fitted.score(path) < 0


def test_need_of_completed_data_is_refused_with_a_recipe_too(incomplete: Path) -> None:
    said = refused("support", str(incomplete / "t.csv"), "--recipe", str(incomplete / "em.toml"))
    assert "--missing em" in said
