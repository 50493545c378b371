"""The penalty path against the envelope of all networks, and what is written of it."""

from __future__ import annotations

import itertools
import json
import math
from typing import TYPE_CHECKING

import pytest

import parentage
from naive_support import every_network
from parentage.answers.path import free_parameters_of, path, unproven_text
from parentage.errors import InputError
from parentage.network.network import Network
from parentage.scoring.constraints import Constraints
from strategies import each, random_table, with_holes

if TYPE_CHECKING:
    from pathlib import Path

    from parentage.data.table import Table

Line = tuple[float, int]


def lines_of(table: Table, constraints: Constraints | None = None) -> list[Line]:
    """Log-likelihood and parameters of every network, the best likelihood for each number."""
    best: dict[int, float] = {}
    for score, parents in every_network(table, "penalty:1", constraints):
        number = free_parameters_of(Network(table.names, parents), table)
        best[number] = max(best.get(number, -math.inf), score + number)
    return [(likelihood, number) for number, likelihood in best.items()]


def envelope(lines: list[Line], least: float, most: float) -> list[tuple[float, float, int]]:
    """The pieces of the upper envelope: from, to, parameters. Every crossing is tried."""
    crossings = {
        (a[0] - b[0]) / (a[1] - b[1]) for a, b in itertools.combinations(lines, 2) if a[1] != b[1]
    }
    ends = sorted({least, most, *(w for w in crossings if least < w < most)})
    pieces: list[tuple[float, float, int]] = []
    for low, high in itertools.pairwise(ends):
        middle = (low + high) / 2
        number = max(lines, key=lambda line: line[0] - middle * line[1])[1]
        if pieces and pieces[-1][2] == number:
            pieces[-1] = (pieces[-1][0], high, number)
        else:
            pieces.append((low, high, number))
    return pieces


def compare(table: Table, constraints: Constraints | None = None) -> int:
    """The path equals the envelope; pieces too short to be told apart may be missing."""
    unit = math.log(table.n_rows) / 2
    found = path(table, constraints=constraints, threads=1)
    lines = lines_of(table, constraints)
    pieces = envelope(lines, unit / 2, unit * 4)
    wide = [piece for piece in pieces if piece[1] - piece[0] > 1e-6 * unit]
    assert found.optimal
    own = [one for one in found.stretches if one.high - one.low > 1e-6]
    assert [one.parameters for one in own] == [number for *_, number in wide]
    for one, (low, high, number) in zip(own, wide, strict=True):
        assert one.low * unit == pytest.approx(low, abs=1e-5 * unit)
        assert one.high * unit == pytest.approx(high, abs=1e-5 * unit)
        assert free_parameters_of(one.network, table) == number
        assert one.score == pytest.approx(one.network.score(table), abs=1e-7)
    best = max(likelihood - unit * number for likelihood, number in lines)
    assert found.at(1.0).score == pytest.approx(best, abs=1e-7)
    return len(own)


@each("seed", 40)
def test_the_path_is_the_envelope_of_all_networks(seed: int) -> None:
    assert compare(random_table(seed, most_variables=4, most_rows=60)) >= 1


@pytest.mark.long
@each("seed", 1500)
def test_the_path_is_the_envelope_of_all_networks_often(seed: int) -> None:
    assert compare(random_table(10_000 + seed, most_variables=4, most_rows=200)) >= 1


@each("seed", 10)
def test_constraints_hold_along_the_path(seed: int) -> None:
    table = random_table(300 + seed, most_variables=4, most_rows=60)
    varying = [name for name in table.names if name not in table.constant]
    forbidden = Constraints(forbidden=frozenset({(varying[0], varying[1])}))
    assert compare(table, forbidden) >= 1


def test_some_paths_have_many_networks() -> None:
    """The comparison above would say little if all paths were short."""
    assert max(compare(random_table(seed, 4, 60)) for seed in range(40)) >= 4


def test_the_network_of_bic_is_that_of_learn() -> None:
    table = parentage.datasets.chest_clinic(1000)
    found = path(table)
    solution = parentage.learn(table)
    assert found.at(1.0).network.compare(solution.network).class_shd == 0
    assert found.at(1.0).score == pytest.approx(solution.score, abs=1e-9)
    assert found.sentence().startswith(
        "The network is the same for all penalties from 0.73 to 4.00 times BIC's"
    )


def test_pairs_and_changes_follow_the_networks() -> None:
    found = path(parentage.datasets.chest_clinic(1000))
    spans = found.spans()
    for number, one in enumerate(found.stretches):
        middle = (one.low + one.high) / 2
        there = {pair for pair, ends in spans.items() if any(a < middle < b for a, b in ends)}
        assert there == {(min(arc), max(arc)) for arc in one.network.arcs}
        if number:
            gone, new = found.changes(number)
            before = {(min(a), max(a)) for a in found.stretches[number - 1].network.arcs}
            assert there == before - set(gone) | set(new)


def test_a_path_is_saved(tmp_path: Path) -> None:
    found = path(parentage.datasets.chest_clinic(500))
    found.save(tmp_path / "path.json")
    content = json.loads((tmp_path / "path.json").read_text())
    assert content["networks"][0]["from"] == 0.5
    assert content["networks"][-1]["to"] == 4.0
    assert all(a["to"] == b["from"] for a, b in itertools.pairwise(content["networks"]))
    found.save(tmp_path / "path.csv")
    lines = (tmp_path / "path.csv").read_text().splitlines()
    assert len(lines) == 1 + sum(max(1, one.network.n_arcs) for one in found.stretches)
    found.save(tmp_path / "path.svg")
    picture = (tmp_path / "path.svg").read_text()
    assert picture.count('class="bar"') == sum(len(ends) for ends in found.spans().values())
    with pytest.raises(InputError, match=r"\.json, \.csv or \.svg"):
        found.save(tmp_path / "path.txt")


def test_bdeu_is_a_grid() -> None:
    table = parentage.datasets.chest_clinic(300)
    found = path(table, score="bdeu")
    assert found.grid
    assert found.optimal
    for one in found.stretches[::3]:
        assert one.low == one.high
        learned = parentage.learn(table, score=f"bdeu:{one.low!r}")
        assert one.score == pytest.approx(learned.score, abs=1e-7)
    assert "equivalent sample sizes" in found.sentence()


def test_bad_requests_are_refused() -> None:
    table = parentage.datasets.chest_clinic(100)
    with pytest.raises(InputError, match="smaller one first"):
        path(table, least=2, most=1)
    with pytest.raises(InputError, match="no penalty path"):
        path(table, score="aic")
    with pytest.raises(InputError, match="missing values"):
        path(with_holes(random_table(1), 1))
    with pytest.raises(InputError, match="outside the path"):
        path(table).at(9)


def test_the_advice_fits_what_stopped_the_work() -> None:
    found = path(parentage.datasets.chest_clinic(100))
    assert unproven_text(found, "time").endswith("; raise the time limit")
    for stopped in ("interrupt", "memory", None):
        assert "time limit" not in unproven_text(found, stopped)
