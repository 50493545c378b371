"""``parentage query`` as a user types it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

import parentage
from command import ok, refused, run
from network_cases import ASIA
from parentage.data.datasets import chest_clinic
from parentage.errors import InputError
from parentage.network.formats import write_network
from parentage.network.network import Network
from parentage.network.parameters import Parameters


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("query")
    table = chest_clinic(500)
    lines = [",".join(table.names)]
    lines += [
        ",".join(table.states[v][k] for v, k in enumerate(row))
        for row in table.to_codes().T.tolist()
    ]
    (found / "clinic.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    write_network(ASIA, found / "clinic.bif", table=table)
    write_network(ASIA, found / "clinic.xmlbif", table=table)
    write_network(ASIA.fit(table), found / "with.json")
    write_network(ASIA, found / "clinic.json")
    return found


def test_marginals_beside_what_they_were(folder: Path) -> None:
    done = run("query", str(folder / "clinic.bif"), "--given", "smoke=yes,xray=no", "lung", "dysp")
    assert done.returncode == 0
    assert done.stderr == ""
    first, empty, head, *rows = done.stdout.splitlines()
    fitted = ASIA.fit(chest_clinic(500))
    answer = fitted.query({"smoke": "yes", "xray": "no"})
    assert first == f"given smoke = yes, xray = no (probability {answer.probability:.4f})"
    assert (empty, head.split()) == (
        "",
        ["variable", "state", "probability", "without", "evidence"],
    )
    assert rows[0].split() == [
        "lung", "no", f"{answer['lung']['no']:.4f}", f"{fitted.query()['lung']['no']:.4f}",
    ]  # fmt: skip
    assert [row.split()[0] for row in rows] == ["lung", "yes", "dysp", "yes"]


def test_json_equals_python_from_every_kind_of_file(folder: Path) -> None:
    evidence, do = {"smoke": "yes"}, {"either": "no"}
    expected = ASIA.fit(chest_clinic(500)).query(evidence, intervene=do)
    typed = ["--given", "smoke=yes", "--intervene", "either=no", "--json"]
    data = ["--data", str(folder / "clinic.csv")]
    for file, more in [
        ("clinic.bif", []), ("clinic.xmlbif", []), ("with.json", []),
        ("clinic.json", data), ("clinic.bif", data),
    ]:  # fmt: skip
        done = run("query", str(folder / file), *typed, *more)
        content = json.loads(done.stdout)
        assert content["given"] == evidence
        assert content["intervene"] == do
        assert content["log_probability"] == pytest.approx(expected.log_probability)
        for name, shares in expected.marginals.items():
            assert content["marginals"][name] == pytest.approx(shares)
            assert set(content["before"][name]) == set(shares)


def test_probabilities_come_from_the_file_or_a_table(folder: Path, tmp_path: Path) -> None:
    net, data = str(folder / "clinic.json"), ["--data", str(folder / "clinic.csv")]
    done = run("query", net, "tub", *data, "--json")
    expected = ASIA.fit(chest_clinic(500)).query(targets=["tub"])
    assert json.loads(done.stdout)["marginals"]["tub"] == pytest.approx(expected["tub"])
    assert "before" not in json.loads(done.stdout)
    message = refused("query", str(folder / "clinic.bif"), "--recipe", "r.toml")
    assert "is for a table" in message and "type --data TABLE" in message
    impossible = ["--given", "tub=yes,lung=no,either=no"]
    bare = str(tmp_path / "bare.bif")
    write_network(ASIA.fit(chest_clinic(500), smoothing=0), bare)
    message = refused("query", bare, *impossible)
    assert "tub=yes, lung=no, either=no has probability 0" in message
    assert "type --data TABLE to estimate probabilities above 0" in message
    run("query", bare, *data, *impossible)


def test_joint_and_most_probable(folder: Path) -> None:
    net = str(folder / "clinic.bif")
    fitted = ASIA.fit(chest_clinic(500))
    done = run("query", net, "lung", "bronc", "--joint", "--given", "smoke=no", "--json")
    together = fitted.joint(["lung", "bronc"], {"smoke": "no"})
    content = json.loads(done.stdout)
    assert content["targets"] == ["lung", "bronc"]
    assert [row[:2] for row in content["joint"]][1] == ["no", "yes"]
    assert [row[2] for row in content["joint"]] == pytest.approx(together.probabilities.ravel())
    text = run("query", net, "lung", "bronc", "--joint", "--given", "smoke=no").stdout
    assert text.splitlines()[2].split() == ["lung", "bronc", "probability"]
    best = fitted.most_probable({"dysp": "yes"})
    done = run("query", net, "--mpe", "--given", "dysp=yes", "--json")
    assert json.loads(done.stdout)["most_probable"] == best.states
    text = run("query", net, "--mpe", "--given", "dysp=yes").stdout
    assert f"joint probability {best.probability:.4f} given that" in text
    assert "--joint needs two targets" in refused("query", net, "lung", "--joint")
    assert "leave the targets" in refused("query", net, "lung", "--mpe")


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (["--given", "smok=yes"], "no variable 'smok'; did you mean 'smoke'?"),
        (["--given", "smoke=ye"], "variable 'smoke' has no state 'ye'; did you mean 'yes'?"),
        (["--given", "smoke"], "--given 'smoke': type a variable and its state"),
        (["--intervene", "smoke=yes,"], "--intervene '': type a variable and its state"),
        (["--given", "smoke=yes,smoke=no"], "--given sets 'smoke' to both 'yes' and 'no'"),
        (["--given", "smoke=yes", "--intervene", "smoke=no"], "is both evidence and set"),
        (["lungs"], "no variable 'lungs'; did you mean 'lung'?"),
    ],
)
def test_refusals(typed: list[str], message: str, folder: Path) -> None:
    assert message in refused("query", str(folder / "clinic.bif"), *typed)


def test_files_without_probabilities_are_refused(folder: Path) -> None:
    message = refused("query", str(folder / "clinic.json"))
    assert "has no probabilities" in message
    assert "type --data TABLE" in message
    (folder / "other.csv").write_text("a,b\n0,1\n1,0\n")
    message = refused("query", str(folder / "clinic.json"), "--data", str(folder / "other.csv"))
    assert "has no column 'asia', which is a variable of" in message


def test_commas_and_equal_signs_in_names(tmp_path: Path) -> None:
    network = Network.from_arcs(["a,b", "x=y", "<b>"], [("a,b", "x=y")])
    states = (("1,5", "2=3"), ("=", "c,a,b=2=3"), ("😀", '"'))
    half, wet = np.full((1, 2), 0.5), np.array([[0.9, 0.1], [0.2, 0.8]])
    write_network(Parameters(network, states, (half, wet, half)), tmp_path / "n.json")
    done = run("query", str(tmp_path / "n.json"), "--given", 'a,b=1,5,<b>="', "x=y", "--json")
    content = json.loads(done.stdout)
    assert content["given"] == {"a,b": "1,5", "<b>": '"'}
    assert content["marginals"]["x=y"]["="] == pytest.approx(0.9)
    done = run("query", str(tmp_path / "n.json"), "--given", "x=y=c,a,b=2=3,a,b=2=3", "--json")
    assert json.loads(done.stdout)["given"] == {"x=y": "c,a,b=2=3", "a,b": "2=3"}


def test_apply_likelihood(folder: Path, tmp_path: Path) -> None:
    net, rows = str(folder / "clinic.bif"), str(folder / "clinic.csv")
    logs = ASIA.fit(chest_clinic(500)).log_likelihoods(chest_clinic(500))
    assert f"500 rows: mean log-likelihood {logs.mean():.6f} nats" in run("apply", net, rows).stdout
    content = json.loads(run("apply", net, rows, "--json").stdout)
    assert content["log_likelihoods"] == pytest.approx(logs.tolist())
    assert (content["rows"], content["impossible"]) == (500, 0)
    out = tmp_path / "logs.csv"
    assert run("apply", net, rows, "-o", str(out)).stdout == ""
    assert [float(line) for line in out.read_text().split()[1:]] == pytest.approx(logs.tolist())
    assert run("apply", net, rows, "-o", str(out)).returncode == 0
    assert "would be overwritten" in refused("apply", net, rows, "-o", rows)
    (tmp_path / "odd.csv").write_text(
        "asia,tub,smoke,lung,bronc,either,xray,dysp\n" + "no,yes,no,no,no,no,no,?\n"
    )
    odd = str(tmp_path / "odd.csv")
    assert "1 row, 1 missing value: mean log-likelihood -" in run("apply", net, odd).stdout
    bare = str(tmp_path / "bare.bif")
    write_network(ASIA.fit(chest_clinic(500), smoothing=0), bare)
    told = run("apply", bare, odd).stdout
    assert "1 row, 1 missing value: 1 of them has probability 0" in told


def test_apply_predict_and_impute(folder: Path, tmp_path: Path) -> None:
    net = str(folder / "clinic.bif")
    fitted, table = ASIA.fit(chest_clinic(500)), chest_clinic(500)
    done = run("apply", net, str(folder / "clinic.csv"), "--predict", "dysp", "--json")
    shares = fitted.predict(table, "dysp")
    content = json.loads(done.stdout)
    assert content["accuracy"] == (shares.argmax(1) == table.to_codes()[7]).mean()
    assert [row["yes"] for row in content["probabilities"]] == pytest.approx(shares[:, 1])
    rows = tmp_path / "rows.csv"
    rows.write_text("xray,asia,tub,smoke,lung,bronc,either\nno,no,,yes,no,?,no\n")
    done = run("apply", net, str(rows), "--predict", "dysp")
    given = {"xray": "no", "asia": "no", "smoke": "yes", "lung": "no", "either": "no"}
    expected = fitted.query(given, targets=["dysp"])["dysp"]
    head, line = done.stdout.splitlines()
    assert head == "dysp,P(no),P(yes)"
    assert [float(p) for p in line.split(",")[1:]] == pytest.approx(list(expected.values()))
    assert done.stderr == ""
    assert "no column 'dysp'" in refused("apply", net, str(rows))
    assert "did you mean 'dysp'" in refused("apply", net, str(rows), "--predict", "disp")
    holes = tmp_path / "holes.csv"
    holes.write_text("xray,asia,tub,smoke,lung,bronc,either,dysp\nno,no,,yes,no,?,no,yes\n")
    for how in ("each", "joint"):
        done = run("apply", net, str(holes), "--impute", how)
        assert done.stdout.splitlines()[1] == "no,yes,no,no,yes,no,no,yes"
        assert "imputed 2 values in 2 columns" in done.stderr
    done = run("apply", net, str(holes), "--impute", "each", "--json")
    assert json.loads(done.stdout) == {"rows": 1, "filled": {"tub": 1, "bronc": 1}}
    assert "cannot be combined" in refused(
        "apply", net, str(holes), "--impute", "each", "--predict", "dysp"
    )
    assert "did you mean 'joint'" in refused("apply", net, str(holes), "--impute", "jont")


def test_apply_cuts_numbers_as_the_table_was_cut(tmp_path: Path) -> None:
    table = "age,ill\n" + "".join(f"{a}.5,{'yes' if a > 40 else 'no'}\n" for a in range(20, 60))
    (tmp_path / "t.csv").write_text(table)
    write_network(Network.from_arcs(["age", "ill"], [("age", "ill")]), tmp_path / "n.json")
    (tmp_path / "new.csv").write_text("name,age\nA,3.25\nB,99.125\n")
    recipe = tmp_path / "r.toml"
    ok("info", str(tmp_path / "t.csv"), "--discretize", "median", "--write-recipe", str(recipe))
    done = run("apply", str(tmp_path / "n.json"), str(tmp_path / "new.csv"), "--predict", "ill",
               "--data", str(tmp_path / "t.csv"), "--recipe", str(recipe))  # fmt: skip
    assert [line.split(",")[0] for line in done.stdout.split()] == ["ill", "no", "yes"]


def test_sample(folder: Path) -> None:
    done = run("sample", str(folder / "clinic.bif"), "50", "--seed", "3")
    drawn = ASIA.fit(chest_clinic(500)).sample(50, 3)
    lines = [line.split(",") for line in done.stdout.splitlines()]
    assert tuple(lines[0]) == drawn.names
    assert [line[5] for line in lines[1:]] == [drawn.states[5][k] for k in drawn.to_codes()[5]]
    assert "is less than 1" in refused("sample", str(folder / "clinic.bif"), "0")


def test_a_number_stands_for_its_interval(tmp_path: Path) -> None:
    """Cut points are those of the labels, and the answer names the interval."""
    states = (("< 40", "[40, 65)", "≥ 65", "missing"), ("no", "yes"))
    network = Network.from_arcs(["age", "ill"], [("age", "ill")])
    rows = np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8], [0.3, 0.7]])
    found = Parameters(network, states, (np.full((1, 4), 0.25), rows))
    for number, label, share in ((39.9, "< 40", 0.1), (40, "[40, 65)", 0.5), (99, "≥ 65", 0.8)):
        answer = found.query({"age": str(number)}, targets=["ill"])
        assert answer["ill"]["yes"] == pytest.approx(share) and answer.given == {"age": label}
        assert found.probability("ill", "yes", {"age": str(number)}) == pytest.approx(share)
    write_network(found, tmp_path / "net.bif")
    asked = ("query", str(tmp_path / "net.bif"), "ill", "--given", "age=64.5")
    assert "given age = [40, 65) (probability 0.2500)" in ok(*asked)
    twice = refused(*asked[:3], "--given", "age=1,age=50")
    assert "--given sets 'age' to both '< 40' and '[40, 65)'" in twice
    assert "no state 'old'" in refused(*asked[:3], "--given", "age=old")
    assert "no state '1'" in refused(*asked[:2], "age", "--given", "ill=1")


@pytest.fixture
def numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table with names of rows, numbers and missing values, and a network of it by pnal."""
    rng, lines = np.random.default_rng(0), ["id,age,ill"]
    for row in range(200):
        age = rng.normal(50, 9)
        ill = "yes" if age + rng.normal(0, 4) > 52 else "no"
        lines.append(f"{row + 1},{age if row % 3 else '':.4},{ill}")
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    typed = ("--missing", "pnal", "--drop", "id", "--discretize", "age=at:50")
    ok("info", "t.csv", *typed, "--write-recipe", "read.toml")
    ok("learn", "t.csv", "--recipe", "read.toml", "-o", "net.bif")
    return tmp_path


@pytest.mark.parametrize("typed", [(), ("--recipe", "read.toml"), ("--recipe", "other.toml")])
def test_advice_keeps_the_cut_points_of_the_network(numbers: Path, typed: tuple[str, ...]) -> None:
    ok("info", "t.csv", "--drop", "id", "--missing", "drop", "--discretize", "age=at:45",
       "--write-recipe", "other.toml")  # fmt: skip
    asked = ("query", "net.bif", "ill", "--intervals", "--data", "t.csv")
    said = refused(*asked, *typed)
    if typed[1:] == ("other.toml",):
        assert "column 'age' has the states {'< 45', '≥ 45'} in the table" in said
        assert "{'< 50', '≥ 50'} in the network: --discretize age=at:50" in said
    info, query = (line for line in said.splitlines() if line.startswith("  parentage "))
    assert query.endswith("--recipe read-2.toml")  # read.toml is there
    ok(*shlex.split(info)[1:])
    assert "cuts = [50.0]" in Path("read-2.toml").read_text()
    assert "95 % interval" in ok(*shlex.split(query)[1:])


def test_equal_numbers_are_one_state(tmp_path: Path) -> None:
    """As a data frame writes whole numbers where values are missing; not if both are labels."""
    table = "stage,ill\n" + "1.0,no\n4.0,yes\n" * 9 + "1.0,yes\n"
    (tmp_path / "t.csv").write_text(table)
    fitted = parentage.learn(tmp_path / "t.csv").network.fit(str(tmp_path / "t.csv"))
    write_network(fitted, tmp_path / "net.bif")
    asked = ("query", str(tmp_path / "net.bif"), "ill", "--given")
    assert ok(*asked, "stage=4") == ok(*asked, "stage=4.0")
    assert fitted.named({"stage": 4}) == {"stage": "4.0"}
    assert "no state '3'; known: 1.0, 4.0" in refused(*asked, "stage=3")
    both = Parameters(Network(("a",), ((),)), (("1.0", "1", "x"),), (np.full((1, 3), 1 / 3),))
    assert both.query({"a": "1"}).given == {"a": "1"}
    with pytest.raises(InputError, match=r"no state '1\.00'"):
        both.query({"a": "1.00"})


def test_a_table_in_place_of_a_network_is_learned_from_first(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = refused("query", str(folder / "clinic.csv"), "lung")
    assert "clinic.csv' is a table, not a network" in said
    assert "is a table, not a network" in refused("sample", "t.parquet", "5")
    ok(*shlex.split(said.partition("type parentage ")[2].splitlines()[0]))
    assert "lung" in ok("query", "clinic.bif", "lung")


def test_a_table_with_other_labels_needs_the_recipe(folder: Path, tmp_path: Path) -> None:
    text = (folder / "clinic.csv").read_text().replace("yes", "y")
    (tmp_path / "other.csv").write_text(text)
    said = refused("query", str(folder / "clinic.bif"), "--data", str(tmp_path / "other.csv"))
    assert "{'no', 'y'} in the table and {'no', 'yes'} in the network: --recipe RECIPE" in said
