"""``parentage query`` as a user types it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from command import refused, run
from network_cases import ASIA
from parentage.data.datasets import chest_clinic
from parentage.network.formats import write_network
from parentage.network.network import Network
from parentage.network.parameters import Parameters

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("query")
    table = chest_clinic(500)
    lines = [",".join(table.names)]
    lines += [
        ",".join(table.states[v][k] for v, k in enumerate(row)) for row in table.codes.T.tolist()
    ]
    (found / "clinic.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    write_network(ASIA, found / "clinic.bif", table=table)
    write_network(ASIA, found / "clinic.xmlbif", table=table)
    write_network(ASIA.fit(table), found / "with.json")
    write_network(ASIA, found / "clinic.json")
    write_network(ASIA, found / "clinic.dot")
    return found


def test_marginals_beside_what_they_were(folder: Path) -> None:
    done = run("query", str(folder / "clinic.bif"), "--given", "smoke=yes,xray=no", "lung", "dysp")
    assert done.returncode == 0
    assert done.stderr == ""
    first, empty, head, *rows = done.stdout.splitlines()
    fitted = ASIA.fit(chest_clinic(500))
    answer = fitted.query({"smoke": "yes", "xray": "no"})
    assert first == f"given smoke = yes, xray = no (probability {answer.probability:.4f})"
    assert (empty, head.split()) == ("", ["variable", "state", "probability", "before"])
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
        ("clinic.json", data), ("clinic.dot", data), ("clinic.bif", data),
    ]:  # fmt: skip
        done = run("query", str(folder / file), *typed, *more)
        content = json.loads(done.stdout)
        assert content["given"] == evidence
        assert content["intervene"] == do
        assert content["log_probability"] == pytest.approx(expected.log_probability)
        for name, shares in expected.marginals.items():
            assert content["marginals"][name] == pytest.approx(shares)
            assert set(content["before"][name]) == set(shares)


def test_smoothing_is_for_tables(folder: Path) -> None:
    net, data = str(folder / "clinic.dot"), ["--data", str(folder / "clinic.csv")]
    done = run("query", net, "tub", *data, "--json", "--equivalent-sample-size", "10")
    expected = ASIA.query(chest_clinic(500), targets=["tub"], equivalent_sample_size=10)
    assert json.loads(done.stdout)["marginals"]["tub"] == pytest.approx(expected["tub"])
    assert "before" not in json.loads(done.stdout)
    message = refused("query", str(folder / "clinic.bif"), "--pseudo-count", "1")
    assert "--pseudo-count 1.0 is for a table" in message
    assert "type --data TABLE" in message
    assert "is for a table" in refused("query", str(folder / "clinic.bif"), "--missing", "drop")
    impossible = ["--given", "tub=yes,lung=no,either=no"]
    message = refused("query", net, *data, *impossible)
    assert "tub=yes, lung=no, either=no has probability 0" in message
    assert "--equivalent-sample-size 1" in message


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
    assert f"together they have probability {best.probability:.4f} given that" in text
    assert "--joint needs two targets" in refused("query", net, "lung", "--joint")
    assert "leave the targets" in refused("query", net, "lung", "--mpe")


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (["--given", "smok=yes"], "no variable 'smok'; did you mean 'smoke'?"),
        (["--given", "smoke=ye"], "variable 'smoke' has no state 'ye'; did you mean 'yes'?"),
        (["--given", "smoke"], "--given 'smoke': type a variable and its state"),
        (["--intervene", "smoke=yes,"], "--intervene '': type a variable and its state"),
        (["--given", "smoke=yes,smoke=no"], "--given has 'smoke' as 'yes' and as 'no'"),
        (["--given", "smoke=yes", "--intervene", "smoke=no"], "is both given and set"),
        (["lungs"], "no variable 'lungs'; did you mean 'lung'?"),
    ],
)
def test_refusals(typed: list[str], message: str, folder: Path) -> None:
    assert message in refused("query", str(folder / "clinic.bif"), *typed)


def test_files_without_probabilities_are_refused(folder: Path) -> None:
    for file in ("clinic.json", "clinic.dot"):
        message = refused("query", str(folder / file))
        assert "has no parameters" in message
        assert "type --data TABLE" in message
    (folder / "other.csv").write_text("a,b\n0,1\n1,0\n")
    message = refused("query", str(folder / "clinic.dot"), "--data", str(folder / "other.csv"))
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
