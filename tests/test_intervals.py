"""Credible intervals: quantiles against sampling, coverage by simulation, the command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from command import ok, refused
from naive_intervals import beta_cdf, beta_quantile, entry_intervals
from network_cases import ASIA
from parentage.data.datasets import chest_clinic
from parentage.data.table import Table
from parentage.errors import InputError
from parentage.network.inference import sampled_intervals
from parentage.network.network import Network
from parentage.network.parameters import Parameters


def drawn(network: Network, sizes: tuple[int, ...], rng: np.random.Generator) -> Parameters:
    """Parameters from the uniform prior that intervals assume."""
    states = tuple(tuple(f"s{k}" for k in range(r)) for r in sizes)
    tables = [
        rng.dirichlet(np.ones(sizes[v]), size=int(np.prod([sizes[p] for p in members], dtype=int)))
        for v, members in enumerate(network.parents)
    ]
    return Parameters(network, states, tuple(tables))


@pytest.mark.parametrize(
    ("a", "b"), [(1.0, 1.0), (0.5, 3.0), (7.0, 2.5), (300.0, 5.0), (4e4, 6e4), (1.0, 1e6)]
)
def test_quantiles_are_those_of_many_draws(a: float, b: float) -> None:
    draws = np.random.default_rng(1).beta(a, b, 400_000)
    for p in (0.025, 0.5, 0.975):
        x = beta_quantile(p, np.array([a]), np.array([b]))
        assert beta_cdf(x, np.array([a]), np.array([b]))[0] == pytest.approx(p, abs=1e-9)
        assert float((draws <= x[0]).mean()) == pytest.approx(p, abs=0.002)


@pytest.mark.parametrize("rows", [3, 30, 300])
def test_intervals_of_entries_cover_what_they_say(rows: int) -> None:
    """Of θ drawn from the prior, 95 % are inside: the definition of a credible interval."""
    rng, r, tries = np.random.default_rng(rows), 3, 4000
    theta = rng.dirichlet(np.ones(r), size=tries)
    counts = rng.multinomial(rows, theta)
    ends = entry_intervals(counts, 1.0)
    inside = (ends[..., 0] <= theta) & (theta <= ends[..., 1])
    assert inside.mean() == pytest.approx(0.95, abs=0.01)


def test_intervals_of_answers_cover_what_they_say() -> None:
    network = Network.from_arcs("abc", [("a", "b"), ("a", "c"), ("b", "c")])
    rng, inside, tries = np.random.default_rng(2026), 0, 600
    for seed in range(tries):
        truth = drawn(network, (2, 3, 2), rng)
        rows = truth.sample(60, int(rng.integers(2**32))).to_codes()
        fitted = network.fit(Table(network.names, truth.states, rows))
        found = sampled_intervals(fitted, {"c": "s1"}, {}, ["a"], seed, draws=400)
        low, high = found["a"]["s0"]
        inside += low <= truth.query({"c": "s1"})["a"]["s0"] <= high
    assert inside / tries == pytest.approx(0.95, abs=0.03)


def test_sampled_intervals_are_those_of_the_entries() -> None:
    table = chest_clinic(400, seed=3)
    fitted = ASIA.fit(table)
    assert fitted.counts is not None
    for v, name in enumerate(ASIA.names):
        ends = entry_intervals(fitted.counts[v], 1.0)
        for j in range(len(ends)):
            given = {}
            for parent in reversed(ASIA.parents_of(name)):
                given[parent] = fitted.states[ASIA.index(parent)][j % 2]
                j //= 2
            found = fitted.intervals(intervene=given, targets=[name])[name]
            row = next(
                i for i, one in enumerate(fitted.tables[v])
                if one[0] == fitted.probability(name, fitted.states[v][0], given)
            )  # fmt: skip
            for k, label in enumerate(fitted.states[v]):
                assert found[label] == pytest.approx(tuple(ends[row, k]), abs=0.03)


def test_intervals_repeat_and_narrow_with_rows() -> None:
    few, many = (ASIA.fit(chest_clinic(rows, seed=1)) for rows in (100, 10_000))
    given = {"smoke": "yes", "xray": "no"}
    assert few.intervals(given) == few.intervals(given, seed=0)
    assert few.intervals(given) != few.intervals(given, seed=1)
    alone, among = few.intervals(given, targets=["lung"]), few.intervals(given)
    for label, pair in alone["lung"].items():
        assert pair == pytest.approx(among["lung"][label])
    for name, states in few.intervals(given).items():
        answer = few.query(given)
        for label, (low, high) in states.items():
            assert 0 <= low < answer[name][label] < high <= 1
            after = many.intervals(given, targets=[name])[name][label]
            assert after[1] - after[0] < high - low


def test_states_that_are_known_and_single() -> None:
    table = Table.from_columns({"one": "xxxx", "two": "abab"})
    fitted = Network.from_arcs(["one", "two"], [("one", "two")]).fit(table)
    assert fitted.intervals()["one"] == {"x": (1.0, 1.0)}
    assert entry_intervals(np.array([[4]]), 1.0).tolist() == [[[1.0, 1.0]]]
    assert fitted.intervals({"two": "a"}).keys() == {"one"}


def test_without_counts_there_are_none() -> None:
    fitted = ASIA.fit(chest_clinic(100))
    bare = Parameters(ASIA, fitted.states, fitted.tables)
    with pytest.raises(InputError, match="come from a file"):
        bare.intervals()


def test_the_command(tmp_path: Path) -> None:
    net, data = str(tmp_path / "net.bif"), str(tmp_path / "clinic.csv")
    table = chest_clinic(300, seed=2)
    codes = table.to_codes()
    rows = zip(*([table.states[v][k] for k in codes[v]] for v in range(8)), strict=True)
    lines = [",".join(table.names), *(",".join(row) for row in rows)]
    (tmp_path / "clinic.csv").write_text("\n".join(lines) + "\n")
    ASIA.fit(table).save(net)
    asked = ("query", net, "lung", "--given", "smoke=yes", "--intervals")
    assert "--data" in refused(*asked)
    shown = ok(*asked, "--data", data)
    assert "95 % interval" in shown and "1,000 draws" in shown
    found = json.loads(ok(*asked, "--data", data, "--json"))
    expected = ASIA.fit(table).intervals({"smoke": "yes"}, targets=["lung"])
    assert found["intervals"]["lung"]["yes"] == pytest.approx(list(expected["lung"]["yes"]))
    again = json.loads(ok(*asked, "--data", data, "--json"))
    assert again["intervals"] == found["intervals"]
    assert "--intervals" in refused("query", net, "--mpe", "--intervals", "--data", data)


def test_missing_values_are_refused_with_what_leaves_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where PNAL or expectation maximisation would be advised for learning.

    The commands that are advised do not overwrite the recipe that they read.
    """
    monkeypatch.chdir(tmp_path)
    rows = [("a", "b"), *([("x", "p"), ("y", "q"), ("x", "q")] * 30), *([("", "p")] * 60)]
    Path("t.csv").write_text("\n".join(map(",".join, rows)) + "\n")
    Network.from_arcs(["a", "b"], [("a", "b")]).save("net.json")
    asked = ("query", "net.json", "b", "--data", "t.csv", "--intervals")
    said = refused(*asked)
    assert "--missing drop" in said and "pnal" not in said and "em" not in said.split()
    for way, recipe in (("pnal", "read.toml"), ("em", "read-2.toml")):
        ok("info", "t.csv", "--missing", way, "--write-recipe", recipe)
        said = refused(*asked, "--recipe", recipe)
        assert "type --missing drop, or --missing state to count its rows" in said
        pasted = [line.split()[1:] for line in said.splitlines()[-2:]]
        assert pasted[0][:4] == ["info", "t.csv", "--missing", "drop"]  # the recipe decides that
        ok(*pasted[0])
        assert "95 % interval" in ok(*pasted[1])
