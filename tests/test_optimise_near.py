"""All networks near the optimum: none missing, none twice, in the right classes."""

from __future__ import annotations

import math
import warnings
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest

from accounts import account
from naive_network import all_networks, constrained, random_constraints, random_lists
from parentage.cli.learn import difference_text
from parentage.errors import ConstraintError, DataWarning, InputError, ListsError, UnprovenWarning
from parentage.optimise import NearOptimal, within
from parentage.optimise.engines import solve
from parentage.optimise.near import NetworkChoices, _collect
from parentage.optimise.run import Run
from parentage.optimise.settings import Optimising
from parentage.scoring.candidates import score
from parentage.scoring.lists import CandidateLists
from parentage.work.context import Context
from parentage.work.stop import Stop
from solving import learn_lists
from strategies import each

if TYPE_CHECKING:
    from collections.abc import Iterable

    from real_data import RealData


def complete(lists: CandidateLists) -> CandidateLists:
    """The same lists, said to hold every set that can matter."""
    arrays = lists.offsets, lists.starts, lists.parents, lists.scores
    return CandidateLists(lists.names, *arrays, account(width=math.inf))


def assert_agreement(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lists = complete(random_lists(rng, int(rng.integers(3, 6))))
    constraints = random_constraints(rng, lists) if rng.random() < 0.3 else None
    width = float(rng.choice([0.0, 1.0, 5.0, 20.0]))
    networks = list(all_networks(constrained(lists, constraints) if constraints else lists))
    if not networks:
        with pytest.raises((ListsError, ConstraintError)):
            within(lists, width=width, constraints=constraints)
        return
    best = max(score for score, _ in networks)
    near = within(lists, width=width, constraints=constraints, max_networks=10**7)
    assert near.score == pytest.approx(best)
    assert set(near.parents) == {w for score, w in networks if score >= best - width - 1e-9}
    assert len(set(near.parents)) == len(near.parents) == len(near)
    assert all(a >= b - 1e-9 for a, b in pairwise(near.scores))
    assert near.parents[0] == learn_lists(lists, constraints=constraints).network.parents
    assert near.complete
    assert near.complete_to == width
    check_classes(near)


def check_classes(near: NearOptimal) -> None:
    """Networks share a class exactly when their completed graphs are the same."""
    assert sorted(i for members in near.classes for i in members) == list(range(len(near)))
    drawn = [{near.networks[i].equivalence_class() for i in members} for members in near.classes]
    assert all(len(graphs) == 1 for graphs in drawn)
    assert len(set.union(*drawn)) == len(near.classes)


@each("seed", 30)
def test_agrees_with_enumeration(seed: int) -> None:
    assert_agreement(seed)


@pytest.mark.long
@pytest.mark.parametrize("block", range(20))
def test_agrees_with_enumeration_often(block: int) -> None:
    for seed in range(100 + 50 * block, 150 + 50 * block):
        assert_agreement(seed)


def test_wine_has_308_networks_in_7_classes_within_a_factor_of_3(real: RealData) -> None:
    lists = real.instance("ebnsl_wine.BIC.3")
    with pytest.warns(DataWarning, match="some networks within 1.09861 of the optimum may"):
        near = within(lists, factor=3)
    assert len(near) == 308
    assert len(near.classes) == 7
    assert near.score == pytest.approx(-1258.445909, abs=1e-5)
    assert near.scores[-1] >= near.score - math.log(3) - 1e-9
    check_classes(near)
    assert near.complete_to == near.width
    assert not near.complete  # of these lists, but nobody knows how far the lists reach
    assert repr(near).startswith("NearOptimal: at least 308 networks in 7 classes")


def test_a_width_of_zero_gives_the_optima() -> None:
    lists = complete(random_lists(np.random.default_rng(3), 6))
    near = within(lists, width=0.0)
    best = learn_lists(lists)
    assert near.score == best.score
    assert best.network.parents in near.parents


def test_lists_that_say_they_are_complete_give_no_warning() -> None:
    lists = complete(random_lists(np.random.default_rng(0), 4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(within(lists, width=1.0)) >= 1


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
    near = within(complete(CandidateLists.from_families(families)), width=1.0)
    assert near.scores == (-2.0, -2.5)


def test_too_many_networks_are_cut_and_that_is_said() -> None:
    lists = complete(random_lists(np.random.default_rng(1), 5))
    everything = within(lists, width=100.0)
    with pytest.warns(UnprovenWarning, match="at least 3 networks within 100 of the best.*limit"):
        near = within(lists, width=100.0, max_networks=3)
    assert len(near) == 3
    assert near.stopped == "networks"
    assert near.scores == pytest.approx(everything.scores[:3])
    assert repr(near).startswith("NearOptimal: at least 3 networks")
    assert near.complete_to < 100
    assert_complete_to(near, everything)


def test_a_limit_inside_one_part_is_not_called_an_interruption() -> None:
    """The limit ended the search of a part before there were more networks than it allows."""
    lists = complete(random_lists(np.random.default_rng(1), 5))
    run = Run(lists, None, Optimising())
    best = solve(run)
    rows = [
        next(i for i in range(first, last) if tuple(lists.parents_of(i).tolist()) == parents)
        for (first, last), parents in zip(
            pairwise(lists.offsets.tolist()), best.network.parents, strict=True
        )
    ]
    found = NetworkChoices(np.zeros(1), np.array([rows]), 0.5)
    few = _collect(run, best, 2.0, 10, found)
    assert (few.complete_to, few.stopped) == (0.5, "networks")
    whole = _collect(run, best, 0.5, 10, found)
    assert (whole.complete_to, whole.stopped) == (0.5, None)


def assert_complete_to(near: NearOptimal, everything: NearOptimal) -> None:
    """What is said to be complete is."""
    known = set(near.parents)
    for parents, value in zip(everything.parents, everything.scores, strict=True):
        if value > everything.score - near.complete_to + 1e-9:
            assert parents in known


@each("seed", 40)
def test_what_a_limit_leaves_is_the_best_and_complete_as_far_as_said(seed: int) -> None:
    rng = np.random.default_rng(seed)
    try:
        everything = within(complete(random_lists(rng, 5)), width=30.0)
    except ListsError:
        return  # these lists have no network
    lists = complete(random_lists(np.random.default_rng(seed), 5))
    limit = int(rng.integers(1, len(everything) + 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnprovenWarning)
        near = within(lists, width=30.0, max_networks=limit)
    assert len(near) == limit
    assert near.complete == (limit == len(everything))
    assert_complete_to(near, everything)
    assert set(near.parents) <= set(everything.parents)


def test_a_time_limit_leaves_a_true_statement() -> None:
    lists = complete(random_lists(np.random.default_rng(1), 6))
    with pytest.warns(UnprovenWarning, match="at least 1 network.*before the proof|at least"):
        near = within(lists, width=100.0, context=Context(Stop.after(0.0)))
    assert len(near) >= 1
    assert not near.complete
    assert near.stopped == "time"


def test_cancelling_ends_the_search() -> None:
    stop = Stop()
    stop.cancelled.set()
    lists = complete(random_lists(np.random.default_rng(1), 9))
    with pytest.warns(UnprovenWarning, match="interruption"):
        near = within(lists, width=100.0, context=Context(stop))
    assert near.stopped == "interrupt"


def test_many_variables_are_possible() -> None:
    """Sixty pairs that may be joined either way or not at all: 3^60 networks, few of them near."""
    families: dict[str, list[tuple[float, list[str]]]] = {}
    for i in range(60):
        families[f"a{i}"] = [(-1.0, [f"b{i}"]), (-2.0 - i, [])]
        families[f"b{i}"] = [(-1.0, [f"a{i}"]), (-2.0 - i, [])]
    lists = complete(CandidateLists.from_families(families))
    with pytest.warns(UnprovenWarning, match="at least 100 networks"):
        near = within(lists, width=0.0, max_networks=100)
    assert len(near.classes) == 1
    few = complete(CandidateLists.from_families(dict(list(families.items())[:6])))
    assert len(within(few, width=1.0)) == 2**3 + 2**2  # both directions; without the first pair


@pytest.mark.parametrize(
    ("patience", "numbers"), [(10**9, range(12)), (0, (0, 2, 4, 5, 6))], ids=["rises", "dividing"]
)
def test_larger_pieces_agree_with_the_table(
    patience: int, numbers: Iterable[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search by rises, and by dividing, finds what the dynamic programme finds."""
    monkeypatch.setattr("parentage.optimise.near.SMALL", 1)
    monkeypatch.setattr("parentage.optimise.near.PATIENCE", patience)
    for seed in numbers:
        assert_agreement(seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(40))
def test_all_ways_agree_on_larger_lists(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lists = complete(random_lists(np.random.default_rng(seed), 10))
    try:
        near = within(lists, width=6.0)
    except ListsError:
        return
    monkeypatch.setattr("parentage.optimise.near.SMALL", 1)
    for patience in (10**9, 500_000):
        monkeypatch.setattr("parentage.optimise.near.PATIENCE", patience)
        assert set(within(lists, width=6.0).parents) == set(near.parents)


def test_differences_and_shares_by_hand() -> None:
    families: dict[str, list[tuple[float, list[str]]]] = {
        "a": [(-2.0, []), (-1.5, ["b"])],
        "b": [(-2.0, []), (-1.5, ["a"])],
        "c": [(-1.0, ["a", "b"]), (-1.4, ["a"])],
    }
    near = within(complete(CandidateLists.from_families(families)), width=0.8)
    assert [len(members) for members in near.classes] == [2, 2, 1]
    said = [difference_text(**near.difference(i)) for i in range(3)]
    assert said[0] == "nothing"
    assert said[1] == "− b — c"
    assert said[2] == "− a — b, a — c becomes a → c, b — c becomes b → c"
    weight = {(s.parent, s.child): s.weight for s in near.arc_shares}
    total = 2 + 2 * math.exp(-0.4) + math.exp(-0.5)
    assert weight["a", "b"] == pytest.approx((1 + math.exp(-0.4)) / total)
    assert weight["a", "c"] == pytest.approx(1.0)
    assert weight["b", "c"] == pytest.approx((2 + math.exp(-0.5)) / total)
    share = {(s.parent, s.child): s.classes for s in near.arc_shares}
    assert share["a", "b"] == pytest.approx(2 / 3)
    assert near.arc_shares[0].weight == max(weight.values())


def test_alarm_within_a_factor_of_20(real: RealData) -> None:
    """37 variables: no table over subsets is possible."""
    lists = score(real.table("alarm1000.csv"), width=math.log(20))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnprovenWarning)
        near = within(lists, factor=20, context=Context(Stop.after(120)))
    assert near.score == pytest.approx(-11783.052412, abs=1e-5)
    check_classes(near)
    if near.complete:
        assert (len(near), len(near.classes)) == (424, 43)


@pytest.mark.parametrize(
    ("distance", "message"),
    [
        ({}, "either a factor or a width"),
        ({"factor": 2.0, "width": 1.0}, "either a factor or a width"),
        ({"factor": 0.5}, "factor must be at least 1"),
        ({"factor": float("nan")}, "factor must be at least 1"),
        ({"width": -1.0}, "width must be at least 0, not"),
        ({"width": 1.0, "max_networks": 0}, "max_networks must be at least 1"),
    ],
)
def test_distances_that_make_no_sense(distance: dict[str, float], message: str) -> None:
    lists = complete(random_lists(np.random.default_rng(0), 4))
    with pytest.raises(InputError, match=message):
        within(lists, **distance)  # type: ignore[arg-type]  # wrong on purpose
