"""Effects against enumeration: all networks, every joint state."""

from __future__ import annotations

import itertools
import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

import parentage
from naive_inference import naive_joint
from naive_support import every_network
from parentage.answers.effect import ASSUMPTIONS, effect, effect_of, near_networks
from parentage.errors import InputError
from parentage.network.network import Network
from parentage.scoring.constraints import Constraints
from parentage.scoring.settings import Scoring
from parentage.work.context import Context
from strategies import each, random_table, with_holes

if TYPE_CHECKING:
    from parentage.data.table import Table


def naive_effects(
    table: Table, factor: float, pair: tuple[int, int], change: tuple[int, int], state: int
) -> list[tuple[float, float]]:
    """Weight and risk difference of every network within the factor, by enumeration."""
    networks = every_network(table, "bic")
    best = max(score for score, _ in networks)
    found = []
    for score, parents in networks:
        if score < best - math.log(factor):
            continue
        fitted = Network(table.names, parents).fit(table, smoothing=1.0)
        x, y = pair
        risks = [naive_joint(fitted, [y], {}, {x: code})[0].get((state,), 0.0) for code in change]
        found.append((math.exp(score - best), risks[1] - risks[0]))
    return found


def margin(table: Table, factor: float) -> float:
    """How far from the limit the nearest network is: closer than rounding cannot be compared."""
    scores = [score for score, _ in every_network(table, "bic")]
    return min(abs(max(scores) - math.log(factor) - score) for score in scores)


@cache
def compare(seed: int, factor: float = 20.0) -> int:
    """Compare all pairs of a table; return the number of networks, 0 if none can be compared."""
    table = random_table(seed, most_variables=4, most_rows=60)
    if margin(table, factor) < 1e-6:
        return 0
    near = near_networks(table, Scoring(), factor, Context())
    varying = [v for v, name in enumerate(table.names) if name not in table.constant]
    for x, y in itertools.permutations(varying, 2):
        last = len(table.states[y]) - 1
        change = (0, len(table.states[x]) - 1)
        slow = naive_effects(table, factor, (x, y), change, last)
        fast = effect_of(table, near, (table.names[x], None), (table.names[y], None), factor, 1.0)
        assert fast.complete
        assert fast.networks == len(slow)
        assert fast.low == pytest.approx(min(e for _, e in slow), abs=1e-9)
        assert fast.high == pytest.approx(max(e for _, e in slow), abs=1e-9)
        weights, values = np.array(slow).T
        assert fast.mean == pytest.approx(float(weights @ values / weights.sum()), abs=1e-9)
        assert sum(group.share for group in fast.groups) == pytest.approx(1)
    return len(near)


@each("seed", 25)
def test_effects_equal_enumeration(seed: int) -> None:
    assert compare(seed) or margin(random_table(seed, 4, 60), 20.0) < 1e-6


@pytest.mark.long
@each("seed", 600)
def test_effects_equal_enumeration_often(seed: int) -> None:
    assert compare(5_000 + seed) or margin(random_table(5_000 + seed, 4, 60), 20.0) < 1e-6


def test_some_tables_have_many_networks() -> None:
    assert max(compare(seed) for seed in range(25)) > 20


def test_clinic() -> None:
    found = effect(parentage.datasets.chest_clinic(1000), "smoke", "bronc")
    assert found.networks == 32
    assert found.deciding is not None
    assert found.deciding.arc == ("smoke", "bronc")
    assert found.sentence().endswith("It is 0 in the 9 networks (of 32) without smoke → bronc.")
    content = found.to_dict()
    assert content["low"] == 0
    assert content["high"] == pytest.approx(0.288, abs=1e-3)
    assert len(content["assumptions"]) == len(ASSUMPTIONS)
    assert content["networks"] == sum(group["networks"] for group in content["groups"])


def test_a_known_arc_narrows_the_interval() -> None:
    table = parentage.datasets.chest_clinic(1000)
    known = Constraints(required=frozenset({("smoke", "bronc")}))
    found = effect(table, "smoke", "bronc", constraints=known)
    assert found.low > 0.28


def test_the_contrast_can_be_chosen() -> None:
    table = parentage.datasets.chest_clinic(1000)
    usual = effect(table, "smoke", "dysp", change=("no", "yes"), state="yes")
    other = effect(table, "smoke", "dysp", change=("yes", "no"), state="yes")
    assert other.low == pytest.approx(-usual.high)
    assert effect(table, "smoke", "dysp", state="no").high == pytest.approx(-usual.low)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"cause": "smok", "outcome": "dysp"}, "smoke"),
        ({"cause": "dysp", "outcome": "dysp"}, "own outcome"),
        ({"cause": "smoke", "outcome": "dysp", "state": "ja"}, "no state 'ja'"),
        ({"cause": "smoke", "outcome": "dysp", "change": ("no", "no")}, "to another"),
        ({"cause": "smoke", "outcome": "dysp", "within": 0.5}, "within=0.5 must be at least 1"),
    ],
)
def test_bad_requests_are_refused(asked: dict[str, object], message: str) -> None:
    table = parentage.datasets.chest_clinic(100)
    with pytest.raises(InputError, match=message):
        effect(table, **asked)  # type: ignore[arg-type]  # the values are drawn from a list


def test_missing_values_are_refused() -> None:
    table = with_holes(random_table(1), 1)
    with pytest.raises(InputError, match="missing values"):
        effect(table, table.names[0], table.names[1])
