"""Cuts hold for every network, separators find what is violated, bounds stay below the optimum."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive_network import best_network, random_lists
from parentage.optimise.cuts import Cut, counting_cut, cut_row, project
from parentage.optimise.problem import Problem, blocked_group, make_problem, prepare, unpack
from parentage.optimise.programme import CutLP
from parentage.optimise.run import Run
from parentage.optimise.separation import (
    UsedSets,
    clusters,
    exact_cluster,
    packings,
    short_cycles,
)
from parentage.optimise.tuning import TUNING
from parentage.scoring.lists import CandidateLists

if TYPE_CHECKING:
    import numpy.typing as npt

SEEDS = st.integers(0, 10**6)


def random_problem(rng: np.random.Generator, n: int) -> Problem:
    """A pruned problem in which every child has an empty set."""
    while True:
        lists = random_lists(rng, n)
        problem = make_problem(lists, np.ones(lists.n_sets, np.bool_)).pruned()
        if not blocked_group(problem):
            return problem


def random_network(rng: np.random.Generator, problem: Problem) -> npt.NDArray[np.int64]:
    """Any acyclic choice: a random order in which each variable has a set, drawn at random."""
    flags = unpack(problem.masks, problem.n)
    placed: list[int] = []
    choice = np.full(problem.n, -1)
    while len(placed) < problem.n:
        for v in rng.permutation([u for u in range(problem.n) if u not in placed]):
            low, high = problem.offsets[v], problem.offsets[v + 1]
            outside = [u for u in range(problem.n) if u not in placed]
            fitting = low + np.flatnonzero(~flags[low:high][:, outside].any(axis=1))
            if len(fitting):
                choice[v] = rng.choice(fitting)
                placed.append(int(v))
                break
    return choice


def random_point(rng: np.random.Generator, problem: Problem) -> npt.NDArray[np.float64]:
    """A fractional point: for every child a mixture of few sets, cheap ones preferred."""
    x = np.zeros(problem.m)
    for low, high in problem.spans():
        for _ in range(4):
            x[low + int((high - low) * rng.random() ** 2)] += 0.25
    return x


def support_of(problem: Problem, x: npt.NDArray[np.float64]) -> UsedSets:
    return UsedSets.of(problem.members, x)


def row_holds(problem: Problem, cut: Cut, x: npt.NDArray[np.float64]) -> bool:
    row = cut_row(problem.members, cut, np.zeros(problem.m, np.bool_))
    return float(row.values @ x[row.columns]) <= row.side + 1e-9


def left_side(problem: Problem, cut: Cut, x: npt.NDArray[np.float64]) -> float:
    """Sum of x over the sets of members that have fewer than k parents inside, by hand."""
    flags = unpack(problem.masks, problem.n)
    return sum(
        float(x[i])
        for v in cut.members
        for i in range(*problem.spans()[v])
        if flags[i, list(cut.members)].sum() < cut.k
    )


@settings(max_examples=30)
@given(SEEDS)
def test_every_cut_holds_for_every_network(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, int(rng.integers(3, 8)))
    size = int(rng.integers(2, problem.n + 1))
    members = tuple(sorted(int(v) for v in rng.choice(problem.n, size, replace=False)))
    cut = counting_cut(members, int(rng.integers(1, size)))
    for _ in range(20):
        choice = random_network(rng, problem)
        x = np.zeros(problem.m)
        x[choice] = 1.0
        assert row_holds(problem, cut, x)
        assert left_side(problem, cut, x) >= cut.k


@given(SEEDS)
def test_found_cuts_are_violated(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, int(rng.integers(4, 9)))
    x = random_point(rng, problem)
    support = support_of(problem, x)
    found = packings(support, TUNING) + clusters(support, TUNING) + clusters(support, TUNING, 2)
    found += short_cycles(support, TUNING)
    for cut in found:
        assert 1 <= cut.k < len(cut.members)
        assert left_side(problem, cut, x) < cut.k - 1e-4
        assert not row_holds(problem, cut, x)
    assert len({cut.key for cut in found}) >= len(clusters(support, TUNING))


@given(SEEDS)
def test_packings_miss_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, int(rng.integers(4, 8)))
    x = random_point(rng, problem)
    expected = {
        members
        for size in (2, 3, 4)
        for members in combinations(range(problem.n), size)
        if left_side(problem, counting_cut(members, size - 1), x) < size - 1 - 1e-2
    }
    assert {cut.members for cut in packings(support_of(problem, x), TUNING)} >= expected


@settings(max_examples=30)
@given(SEEDS)
def test_exact_separation_finds_a_cluster_iff_there_is_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, int(rng.integers(3, 7)))
    x = random_point(rng, problem)
    sides = {
        members: left_side(problem, counting_cut(members, 1), x)
        for size in range(2, problem.n + 1)
        for members in combinations(range(problem.n), size)
    }
    cut = exact_cluster(support_of(problem, x), TUNING, 10.0)
    if cut is None:
        assert min(sides.values()) > 1 - 1e-2
    else:
        assert sides[cut.members] < 1 - 1e-4


@settings(max_examples=30)
@given(SEEDS)
def test_walks_find_a_cluster_when_one_is_badly_violated(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, 6)
    x = random_point(rng, problem)
    support = support_of(problem, x)
    if exact_cluster(support, replace(TUNING, least=0.24), 10.0) is not None:
        assert clusters(support, TUNING)


@given(SEEDS)
def test_cycles_of_a_whole_numbered_solution_are_cut_off(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, int(rng.integers(3, 9)))
    chosen = np.array([rng.integers(low, high) for low, high in problem.spans()])
    flags = unpack(problem.masks[chosen], problem.n)
    paths = flags.astype(np.int64)
    for _ in range(problem.n):
        paths = np.minimum(1, paths + paths @ paths)
    x = np.zeros(problem.m)
    x[chosen] = 1.0
    support = UsedSets.of(problem.members, x)
    found = short_cycles(support, TUNING)
    assert bool(found) == bool(len(support.arcs[0])) == bool(np.trace(paths))
    for cut in found:
        assert left_side(problem, cut, x) == 0.0
        inside = list(cut.members)
        assert (flags[inside][:, inside].sum(axis=1) >= 1).all()  # a cycle goes through each


@settings(max_examples=30)
@given(SEEDS)
def test_the_lagrangian_stays_below_every_network(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, int(rng.integers(3, 7)))
    lp = CutLP(problem, TUNING)
    x = random_point(rng, problem)
    support = support_of(problem, x)
    lp.add(packings(support, TUNING) + clusters(support, TUNING))
    lp.y = rng.random(len(lp.rows)) * 20
    bound, rise = lp.lagrangian()
    for _ in range(20):
        choice = random_network(rng, problem)
        cost = problem.cost[choice].sum()
        assert bound <= cost + 1e-9
        assert (bound + rise[choice] <= cost + 1e-9).all()


@settings(max_examples=30)
@given(SEEDS)
def test_the_bound_of_the_root_is_below_the_optimum(seed: int) -> None:
    from parentage.optimise.cutting import solve_root
    from parentage.optimise.orders import first_incumbent

    rng = np.random.default_rng(seed)
    lists = random_lists(rng, 7)
    truth = best_network(lists)
    if truth is None:
        return
    run = Run(lists)
    for part in run.parts:
        first_incumbent(part)
        if part.problem.n > 1 and not part.proven:
            cutter, root = solve_root(part)
            assert not cutter.lp.removed[part.choice].any()
            assert (root.left == ~cutter.lp.removed).all()
    assert run.bound() >= truth[0] - 1e-6
    assert run.score() <= truth[0] + 1e-6


def test_projected_cuts_keep_what_is_inside() -> None:
    table = np.zeros((4, 16), np.int16)
    cuts = [
        *(counting_cut(*c) for c in (((0, 2, 5), 1), ((0, 1), 1), ((2, 5), 1), ((1, 2, 5), 2))),
        Cut("local", (2, 5, 7, 8), 3, 0, table),
        Cut("local", (1, 2, 5, 7), 3, 0, table),
    ]
    carried = project(cuts, {2: 0, 5: 1, 7: 2, 8: 3})
    assert [(cut.members, cut.k) for cut in carried] == [((0, 1), 1), ((0, 1, 2, 3), 0)]
    assert carried[1].table is table


def test_set_packing_is_seen() -> None:
    families: dict[str, list[tuple[float, list[str]]]] = {
        "a": [(0.0, []), (1.0, ["b", "c"])],
        "b": [(0.0, []), (1.0, ["a", "c"])],
        "c": [(0.0, []), (1.0, ["a", "b"])],
    }
    lists = CandidateLists.from_families(families)
    problem = make_problem(lists, np.ones(6, np.bool_))
    x = np.full(6, 0.5)
    assert [cut.key for cut in packings(support_of(problem, x), TUNING)] == [((0, 1, 2), 2)]
    assert packings(support_of(problem, x), TUNING, largest=2) == []


@pytest.mark.parametrize("n", [63, 64, 65, 130])
def test_masks_of_more_than_one_word(n: int) -> None:
    rng = np.random.default_rng(n)
    families: dict[str, list[tuple[float, list[str]]]] = {}
    for v in range(n):
        parents = [f"v{u}" for u in rng.choice(n, 3, replace=False) if u != v]
        families[f"v{v}"] = [(0.0, []), (5.0 * rng.random(), parents), (rng.random(), parents[:1])]
    problem = prepare(CandidateLists.from_families(families))
    _, starts, parents_of = problem.members
    for i, v in enumerate(problem.child):
        named = {f"v{p}" for p in parents_of[starts[i] : starts[i + 1]]}
        listed = [set(w) for _, w in families[f"v{v}"]]
        assert named in listed
    x = np.zeros(problem.m)
    x[random_network(rng, problem)] = 1.0
    assert row_holds(problem, counting_cut((0, n - 1), 1), x)
