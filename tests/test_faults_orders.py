"""The order search ends, whatever the size of the scores: limits and interrupts are kept."""

from __future__ import annotations

import random
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from parentage.kernels.orders import improve, new_work, refit
from parentage.optimise.problem import OrderSpace, make_problem
from parentage.scoring.lists import CandidateLists
from solving import learn_lists


def scaled_lists(scale: float, seed: int, n: int = 30, sets: int = 40) -> CandidateLists:
    """Random lists whose scores are about ``-scale``: sums round at the size of small gains."""
    rng = random.Random(seed)
    names = [f"v{i}" for i in range(n)]
    families: dict[str, list[tuple[float, list[str]]]] = {}
    for child in names:
        others = [name for name in names if name != child]
        found: dict[tuple[str, ...], float] = {(): -scale * (5 + rng.random())}
        for _ in range(sets):
            members = tuple(sorted(rng.sample(others, rng.randint(1, 3))))
            found.setdefault(members, -scale * (2 + 3 * rng.random()))
        families[child] = [(score, list(members)) for members, score in found.items()]
    return CandidateLists.from_families(families)


def test_large_scores_do_not_go_round_for_ever() -> None:
    """An absolute least gain took rounding for progress; in a process, since it did not end."""
    program = """
        from test_faults_orders import scaled_lists
        from solving import learn_lists
        for seed in (2, 3):
            learn_lists(scaled_lists(1e7, seed, 8), engine="orders", time_limit=0.1)
            solution = learn_lists(scaled_lists(1e7, seed), engine="orders", time_limit=0.5)
            assert solution.seconds < 60, solution.seconds
    """
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        check=True,
        timeout=300,
        cwd=__file__.rpartition("/")[0],
    )


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4, 1e8, 1e12])
def test_every_size_of_scores_finds_as_good_a_network(scale: float) -> None:
    truth = learn_lists(scaled_lists(1.0, 5, 12), engine="subsets").score
    found = learn_lists(scaled_lists(scale, 5, 12), engine="orders", time_limit=0.5)
    assert found.score / scale >= truth - 1e-9 * abs(truth)


def test_a_climb_pauses_and_goes_on() -> None:
    lists = scaled_lists(1.0, 1)
    space = OrderSpace.of(make_problem(lists, np.ones(lists.n_sets, np.bool_)).pruned())
    order, fit = np.arange(30), np.empty(30, np.int64)
    work, state = new_work(), np.array([1], np.uint64)
    refit(order, fit, 0, 30, space.offsets, space.sets, work)
    turns = np.arange(30)
    costs, pauses = [space.cost[fit].sum()], 0
    while work.looked >= work.pause:
        work.pause = work.looked + 500
        arrays = space.offsets, space.sets, space.cost, space.reach, state, work
        improve(order, fit, turns, *arrays)
        costs.append(space.cost[fit].sum())
        assert sorted(order.tolist()) == list(range(30))
        pauses += 1
        assert pauses < 1000
    assert pauses > 3
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]
