"""All networks near the optimum: none missing, none twice, in the right classes."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import numpy as np
import pytest

from accounts import account
from naive_network import all_networks, constrained, random_constraints, random_lists
from parentage.errors import ConstraintError, DataWarning, InputError, ListsError, ResourceError
from parentage.optimise import NearOptimal, learn_lists, within
from parentage.scoring.lists import CandidateLists

if TYPE_CHECKING:
    from real_data import RealData


def complete(lists: CandidateLists) -> CandidateLists:
    """The same lists, said to hold every set that can matter."""
    arrays = lists.offsets, lists.starts, lists.parents, lists.scores
    return CandidateLists(lists.names, *arrays, account(width=math.inf))


def assert_agreement(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lists = complete(random_lists(rng, int(rng.integers(3, 6))))
    constraints = random_constraints(rng, lists) if rng.random() < 0.3 else None
    gap = float(rng.choice([0.0, 1.0, 5.0, 20.0]))
    networks = list(all_networks(constrained(lists, constraints) if constraints else lists))
    if not networks:
        with pytest.raises((ListsError, ConstraintError)):
            within(lists, gap=gap, constraints=constraints)
        return
    best = max(score for score, _ in networks)
    near = within(lists, gap=gap, constraints=constraints, limit=10**7)
    assert near.score == pytest.approx(best)
    assert set(near.parents) == {w for score, w in networks if score >= best - gap - 1e-9}
    assert len(set(near.parents)) == len(near.parents) == len(near)
    assert list(near.scores) == sorted(near.scores, reverse=True)
    check_classes(near)


def check_classes(near: NearOptimal) -> None:
    """Networks share a class exactly when their completed graphs are the same."""
    assert sorted(i for members in near.classes for i in members) == list(range(len(near)))
    drawn = [{near.networks[i].equivalence_class() for i in members} for members in near.classes]
    assert all(len(graphs) == 1 for graphs in drawn)
    assert len(set.union(*drawn)) == len(near.classes)


@pytest.mark.parametrize("seed", range(30))
def test_agrees_with_enumeration(seed: int) -> None:
    assert_agreement(seed)


@pytest.mark.long
@pytest.mark.parametrize("block", range(20))
def test_agrees_with_enumeration_often(block: int) -> None:
    for seed in range(100 + 50 * block, 150 + 50 * block):
        assert_agreement(seed)


def test_wine_has_308_networks_in_7_classes_within_a_factor_of_3(real: RealData) -> None:
    lists = real.instance("ebnsl_wine.BIC.3")
    with pytest.warns(DataWarning, match="complete up to 0 below the optimum, not 1.09861"):
        near = within(lists, factor=3)
    assert len(near) == 308
    assert len(near.classes) == 7
    assert near.score == pytest.approx(-1258.445909, abs=1e-5)
    assert near.scores[-1] >= near.score - math.log(3) - 1e-9
    check_classes(near)
    assert repr(near).startswith("NearOptimal: 308 networks in 7 classes")


def test_a_gap_of_zero_gives_the_optima() -> None:
    lists = complete(random_lists(np.random.default_rng(3), 6))
    near = within(lists, gap=0.0)
    best = learn_lists(lists)
    assert near.score == best.score
    assert best.network.parents in near.parents


def test_lists_that_say_they_are_complete_give_no_warning() -> None:
    lists = complete(random_lists(np.random.default_rng(0), 4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(within(lists, gap=1.0)) >= 1


def test_the_factor_is_in_the_base_of_the_scores() -> None:
    lists = complete(random_lists(np.random.default_rng(0), 4))
    bits = CandidateLists(
        lists.names, lists.offsets, lists.starts, lists.parents, lists.scores / math.log(2),
        account(width=math.inf, log_base=2.0),
    )  # fmt: skip
    assert within(bits, factor=1000).parents == within(lists, factor=1000).parents


def test_duplicate_sets_do_not_make_duplicate_networks() -> None:
    families: dict[str, list[tuple[float, list[str]]]] = {
        "a": [(-1.0, []), (-1.0, [])],
        "b": [(-1.0, ["a"]), (-2.0, ["a"]), (-1.5, [])],
    }
    near = within(complete(CandidateLists.from_families(families)), gap=1.0)
    assert near.scores == (-2.0, -2.5)


def test_too_many_networks_are_refused_with_the_number() -> None:
    lists = complete(random_lists(np.random.default_rng(1), 5))
    with pytest.raises(ResourceError, match="more than 3 networks within 100 of the best"):
        within(lists, gap=100.0, limit=3)


def test_too_many_variables_are_refused_with_the_memory() -> None:
    lists = complete(CandidateLists.from_families({f"v{i}": [(0.0, [])] for i in range(60)}))
    with pytest.raises(ResourceError, match=r"all networks of 60 variables needs .* GB"):
        within(lists, gap=1.0)


@pytest.mark.parametrize(
    ("distance", "message"),
    [
        ({}, "either a factor or a gap"),
        ({"factor": 2.0, "gap": 1.0}, "either a factor or a gap"),
        ({"factor": 0.5}, "factor must be at least 1"),
        ({"factor": float("nan")}, "factor must be at least 1"),
        ({"gap": -1.0}, "gap must not be negative"),
    ],
)
def test_distances_that_make_no_sense(distance: dict[str, float], message: str) -> None:
    lists = complete(random_lists(np.random.default_rng(0), 4))
    with pytest.raises(InputError, match=message):
        within(lists, **distance)  # type: ignore[arg-type]  # wrong on purpose
