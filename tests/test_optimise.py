"""All engines agree with brute force, on lists of every kind and on other people's."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from naive_network import (
    all_networks,
    best_network,
    constrained,
    is_acyclic,
    random_constraints,
    random_lists,
)
from parentage.errors import ConstraintError, ListsError
from parentage.optimise.engines import conclude, cut_and_branch
from parentage.optimise.orders import first_incumbent
from parentage.optimise.run import Run
from parentage.optimise.settings import Optimising
from parentage.optimise.tuning import TUNING, Tuning
from solving import learn_lists
from strategies import each

if TYPE_CHECKING:
    from parentage.optimise import Solution
    from parentage.scoring.constraints import Constraints
    from parentage.scoring.lists import CandidateLists
    from real_data import RealData

OPTIMA = {
    "zoo_BIC": -773.486072,
    "ebnsl_wine.BIC.3": -1258.445909,
    "slim_child-5000.jkl": -62059.5035,
    "slim_insurance-5000.jkl": -68053.1412,
    "alarm1000_BIC": -11783.0463,
    "water1000_BIC": -13290.1069,
    "gob_asia_10000.3.jkl": -22466.396546,
}
SLOWER_OPTIMA = {
    "alarm_10000_BIC": -108877.1466,
    "slim_alarm-5000.jkl": -53781.3386,
    "mobs_soybean_BIC.txt": -3122.0630,
    "hailfinder500_BDe": -27182.2840,
    "slim_hailfinder-5000.jkl": -252358.1055,
    "slim_hepar2-5000.jkl": -164432.7558,
    "slim_pathfinder-5000.jkl": -149209.6744,
    "slim_pigs-5000.jkl": -1675331.8964,
    "aur_insurance_10000.jaa": -132968.5769,  # branch-and-cut and subsets, and the next ones
    "aur_insurance_1000.jaa": -13887.3501,
    "slim_mildew-5000.jkl": -262638.0713,
    "water1000_BDe": -13182.7340,
}


def check(solution: Solution, lists: CandidateLists) -> None:
    """What must hold of every solution."""
    assert is_acyclic(solution.network.parents)
    listed = [{w: s for s, w in lists.candidates(v)} for v in range(lists.n_variables)]
    total = math.fsum(listed[v][w] for v, w in enumerate(solution.network.parents))
    assert solution.score == total
    assert solution.bound >= solution.score
    assert solution.gap == solution.bound - solution.score
    assert not solution.optimal or solution.gap == 0.0
    incumbents = [point[1] for point in solution.trace]
    bounds = [point[2] for point in solution.trace]
    assert incumbents == sorted(incumbents)
    assert bounds == sorted(bounds, reverse=True)
    assert solution.trace[-1] == (solution.seconds, solution.score, solution.bound)


def by_cuts(lists: CandidateLists, constraints: Constraints | None, tuning: Tuning) -> Solution:
    """Solve by cuts and branching even what is small enough for dynamic programming."""
    run = Run(lists, constraints, Optimising(engine="branch-and-cut"), tuning=tuning)
    for part in run.parts:
        first_incumbent(part)
        if not part.proven:
            cut_and_branch(part)
    return conclude(run)


def assert_agreement(seed: int) -> None:
    """One random instance, solved in every way."""
    rng = np.random.default_rng(seed)
    lists = random_lists(rng, int(rng.integers(4, 10)))
    constraints = random_constraints(rng, lists) if rng.random() < 0.4 else None
    truth = best_network(constrained(lists, constraints) if constraints else lists)
    if truth is None:
        culprit = ListsError if best_network(lists) is None else ConstraintError
        with pytest.raises((culprit, ConstraintError) if constraints else culprit):
            learn_lists(lists, constraints=constraints)
        return
    best, fewest = truth
    for engine in ("auto", "subsets", "orders", "branch-and-cut"):
        solution = learn_lists(lists, engine=engine, constraints=constraints, seed=seed)
        check(solution, lists)
        assert solution.score == pytest.approx(best, abs=1e-6) or engine == "orders"
        assert solution.score <= best + 1e-6 <= solution.bound + 2e-6
        assert solution.optimal or engine == "orders"
        if solution.ties == "fewest arcs":
            assert solution.network.n_arcs == fewest
        assert engine not in ("auto", "subsets") or solution.ties == "fewest arcs"
    changed: list[dict[str, Any]] = [
        {},
        {"warm_rounds": 0},
        {"sizes": ()},
        {"set_packing": False},
        {"warm_rounds": 0, "sizes": (), "set_packing": False},
    ]
    for changes in changed:
        solution = by_cuts(lists, constraints, replace(TUNING, **changes))
        check(solution, lists)
        assert solution.optimal
        assert solution.score == pytest.approx(best, abs=1e-6)


@each("seed", 12)
def test_engines_agree_with_brute_force(seed: int) -> None:
    assert_agreement(seed)


@pytest.mark.long
@pytest.mark.parametrize("block", range(40))
def test_engines_agree_with_brute_force_thousands_of_times(block: int) -> None:
    for seed in range(1000 + 50 * block, 1050 + 50 * block):
        assert_agreement(seed)


@each("seed", 20)
def test_the_slow_truth_is_the_best_of_all_networks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lists = random_lists(rng, 4)
    truth = best_network(lists)
    networks = list(all_networks(lists))
    if not networks:
        assert truth is None
        return
    best = max(score for score, _ in networks)
    fewest = min(sum(map(len, w)) for score, w in networks if score > best - 1e-7)
    assert truth is not None
    assert truth[0] == pytest.approx(best)
    assert truth[1] == fewest


@pytest.mark.parametrize("name", OPTIMA)
def test_published_optima(real: RealData, name: str) -> None:
    assert_proven(real, name, OPTIMA[name])


@pytest.mark.long
@pytest.mark.parametrize("name", SLOWER_OPTIMA)
def test_published_optima_that_take_longer(real: RealData, name: str) -> None:
    assert_proven(real, name, SLOWER_OPTIMA[name])


def assert_proven(real: RealData, name: str, optimum: float) -> None:
    lists = real.instance(name)
    solution = learn_lists(lists, threads=2)
    check(solution, lists)
    assert solution.optimal
    assert solution.score == pytest.approx(optimum, abs=1e-4)


@pytest.mark.parametrize("name", ["slim_child-5000.jkl", "alarm1000_BIC"])
def test_order_search_alone_finds_the_optimum(real: RealData, name: str) -> None:
    lists = real.instance(name)
    solution = learn_lists(lists, engine="orders", time_limit=1.0, seed=1)
    check(solution, lists)
    assert solution.score == pytest.approx(OPTIMA[name], abs=1e-4)
    assert solution.engine == "orders"
    assert not solution.optimal
