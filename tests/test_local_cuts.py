"""Local cuts hold for every network, cut off what they should, and do not depend on threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from naive_network import is_acyclic
from parentage.kernels.local import (
    best_network,
    best_worth,
    core,
    cover,
    grow_sets,
    lift,
    local_cut,
    project_support,
)
from parentage.optimise.cuts import Cut, cut_row
from parentage.optimise.cutting import CutBandit, solve_root
from parentage.optimise.exact import read_choice, subset_table
from parentage.optimise.orders import first_incumbent
from parentage.optimise.problem import Problem, Sets, offsets_of, unpack
from parentage.optimise.programme import CutLP
from parentage.optimise.run import Run
from parentage.optimise.separation import (
    LocalCuts,
    UsedSets,
    clusters,
    listed_sets,
    packings,
    through_cuts,
    upwards,
)
from parentage.optimise.tuning import TUNING
from parentage.work.context import Context
from strategies import each
from test_optimise_cuts import random_network, random_point, random_problem
from test_optimise_limits import hard_lists

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]


def networks_on(size: int) -> list[tuple[int, ...]]:
    """All networks on a few variables, as one mask of parents per variable."""
    masks = [[m for m in range(1 << size) if not (m >> j) & 1] for j in range(size)]
    return [
        choice
        for choice in product(*masks)
        if is_acyclic(tuple(tuple(u for u in range(size) if (m >> u) & 1) for m in choice))
    ]


SMALL = {size: networks_on(size) for size in (3, 4)}


def worth_by_hand(table: Ints, choice: tuple[int, ...]) -> int:
    return sum(int(table[j, mask]) for j, mask in enumerate(choice))


def random_families(rng: np.random.Generator, size: int) -> tuple[Ints, Ints, Floats]:
    """Families of a few variables: ``first``, ``masks`` and values."""
    first, masks = [0], list[int]()
    for j in range(size):
        own = [m for m in range(1, 1 << size) if not (m >> j) & 1]
        count = int(rng.integers(0, min(4, len(own)) + 1))
        masks += sorted(int(m) for m in rng.choice(own, count, replace=False))
        first.append(len(masks))
    return np.array(first), np.array(masks, np.int64), rng.random(len(masks))


def best_by_hand(first: Ints, masks: Ints, price: Floats) -> float:
    """The best network by trying every order."""
    size = len(first) - 1
    best = np.zeros(1 << size)
    for subset in range(1, 1 << size):
        best[subset] = max(
            best[subset ^ (1 << j)]
            + max(
                [0.0]
                + [
                    float(price[k])
                    for k in range(first[j], first[j + 1])
                    if masks[k] & ~(subset ^ (1 << j)) == 0
                ]
            )
            for j in range(size)
            if (subset >> j) & 1
        )
    return float(best[-1])


@each("seed", 60)
def test_the_best_network_on_a_few_variables(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, masks, price = random_families(rng, int(rng.integers(2, 8)))
    network = np.empty(len(first) - 1, np.int64)
    found = best_network(first, masks, price, network, np.zeros(1, np.int64))
    assert found == pytest.approx(best_by_hand(first, masks, price))
    taken = [int(k) for k in network if k >= 0]
    child = np.repeat(np.arange(len(first) - 1), np.diff(first))
    assert len({int(child[k]) for k in taken}) == len(taken)
    parents: list[list[int]] = [[] for _ in range(len(first) - 1)]
    for k in taken:
        parents[child[k]] = [u for u in range(len(first) - 1) if (masks[k] >> u) & 1]
    assert is_acyclic(tuple(map(tuple, parents)))
    assert sum(price[k] for k in taken) == pytest.approx(found)


@each("seed", 40)
def test_covers_have_prices_that_no_network_exceeds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, masks, value = random_families(rng, int(rng.integers(3, 7)))
    weight, price = cover(first, masks, value, 1e-3, np.zeros(1, np.int64))
    if weight > 1 + 1e-3:
        assert best_by_hand(first, masks, np.maximum(price, 0.0)) <= 1 + 1e-5
        assert price @ value == pytest.approx(weight, abs=1e-4)


@each("seed", 30)
def test_lifting_keeps_a_cut_valid_and_cannot_be_raised_further(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 5))
    table = rng.integers(0, 4, (size, 1 << size))
    for j in range(size):
        for bit in range(size):
            for mask in range(1 << size):
                if (mask >> bit) & 1:
                    table[j, mask] = max(table[j, mask], table[j, mask ^ (1 << bit)])
    side = lift(table, rng.permutation(size), np.zeros(1, np.int64))
    worths = {c: worth_by_hand(table, c) for c in SMALL[size]}
    assert max(worths.values()) == side == best_worth(table)
    for j in range(size):
        for mask in range(1 << size):
            if not (mask >> j) & 1:
                assert max(worths[c] for c in SMALL[size] if c[j] == mask) == side


@each("seed", 20)
def test_places_are_strongly_connected(seed: int) -> None:
    rng = np.random.default_rng(seed)
    arc = np.where(rng.random((9, 9)) < 0.25, rng.random((9, 9)), 0.0)
    np.fill_diagonal(arc, 0.0)
    tie = arc + arc.T
    seeds = np.array([[0, -1], [1, 2]])
    places = np.empty((2, 6), np.int64)
    state = np.array([seed], np.uint64)
    counts = grow_sets(seeds, np.array([5, 6]), np.array([0.3, 0.6]), tie, arc, state, places)
    for row, count in zip(places, counts, strict=True):
        inside = row[:count]
        assert sorted(set(inside.tolist())) == inside.tolist()
        again = inside.copy()
        assert core(again, count, arc) == count
        paths = arc[np.ix_(inside, inside)] > 1e-7
        for _ in range(count):
            paths = paths | (paths.astype(int) @ paths.astype(int) > 0)
        assert count == 1 or paths.all()


def assert_cut_holds(rng: np.random.Generator, problem: Problem, cut: Cut) -> None:
    """By all networks on four variables, by the best under random weights, by random ones."""
    assert cut.table is not None
    table = cut.table.astype(np.int64)
    size = len(cut.members)
    if size == 4:
        assert max(worth_by_hand(table, c) for c in SMALL[4]) <= cut.side
    assert best_worth(table) <= cut.side
    row = cut_row(problem.members, cut, np.zeros(problem.m, np.bool_))
    weighted = problem.cost * rng.random(problem.m)
    best = subset_table(problem, weighted)
    assert best is not None
    choices = [read_choice(problem, weighted, best)]
    choices += [random_network(rng, problem) for _ in range(5)]
    for choice in choices:
        x = np.zeros(problem.m)
        x[choice] = 1.0
        assert row.values @ x[row.columns] <= row.side + 1e-9


def assert_local_cuts(seed: int) -> int:
    """Cut one random problem to the end with every kind of cut; return the local ones found."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, int(rng.integers(4, 11)))
    best = subset_table(problem, problem.cost)
    assert best is not None
    lp = CutLP(problem, TUNING)
    separation = LocalCuts(TUNING, seed)
    found_local = 0
    for _ in range(25):
        lp.solver.run()
        solution = lp.solver.getSolution()
        lp.x = np.array(solution.col_value)
        lp.y = np.maximum(0.0, -np.array(solution.row_dual)[problem.n :])
        bound, _ = lp.lagrangian()
        assert bound <= best[-1] + 1e-6
        support = UsedSets.of(lp.sets, lp.x)
        found = packings(support, TUNING) + clusters(support, TUNING)
        local = separation.separate(support, lp.binding(), int(rng.integers(4)))
        for cut in local:
            assert_cut_holds(rng, problem, cut)
            row = cut_row(lp.sets, cut, lp.removed)
            assert row.values @ lp.x[row.columns] > row.side
        found_local += len(local)
        lp.add(found + local)
        if not found and not local:
            break
    return found_local


@pytest.mark.no_cover
def test_local_cuts_hold_for_every_network() -> None:
    assert sum(assert_local_cuts(seed) for seed in range(12)) > 20


@pytest.mark.long
@pytest.mark.parametrize("block", range(20))
def test_local_cuts_hold_thousands_of_times(block: int) -> None:
    assert sum(assert_local_cuts(seed) for seed in range(1000 + 50 * block, 1050 + 50 * block)) > 50


def assert_shrunken_cuts(seed: int) -> tuple[int, int]:
    """Cut a random problem with shrunken cuts too; return how many, and those that pass through."""
    rng = np.random.default_rng(seed)
    lists = hard_lists(int(rng.integers(8, 13)), int(rng.integers(3, 7)), seed)
    run = Run(lists)
    part = run.parts[-1]
    problem = part.problem
    if problem.n < 5:
        return 0, 0
    best = subset_table(problem, problem.cost)
    assert best is not None
    networks = [random_network(rng, problem) for _ in range(60)]
    networks.append(read_choice(problem, problem.cost, best))
    lp, local, listed = CutLP(problem, TUNING), LocalCuts(TUNING, 1), listed_sets(part)
    count = passing = 0
    for _ in range(20):
        lp.solver.run()
        lp.x = np.array(lp.solver.getSolution().col_value)
        support = UsedSets.of(lp.sets, lp.x)
        found = packings(support, TUNING) + clusters(support, TUNING)
        shrunken = []
        if not found:
            shrunken = through_cuts(local, lp.sets, listed, lp.x, run.stopped)
        for cut in shrunken:
            row = cut_row(lp.sets, cut, lp.removed)
            assert row.values @ lp.x[row.columns] > row.side
            for choice in networks:
                x = np.zeros(problem.m)
                x[choice] = 1.0
                assert row.values @ x[row.columns] <= row.side + 1e-9
            count += 1
            passing += bool(cut.through)
        lp.add(found + shrunken)
        if not found and not shrunken:
            break
    return count, passing


@each("seed", 20)
def test_what_is_above_is_reached_by_way_of_decided_variables(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    parents = [np.flatnonzero(rng.random(n) < 0.3) for _ in range(n)]  # cycles are possible
    sets = Sets(
        np.arange(n + 1), offsets_of(np.array([len(p) for p in parents])), np.concatenate(parents)
    )
    decided = np.where(rng.random(n) < 0.6, np.arange(n), -1)
    found = upwards(sets, decided)
    for u in range(n):
        reached: set[int] = set()
        waiting = [u]
        for v in waiting:
            if decided[v] >= 0:
                waiting.extend(int(p) for p in parents[v] if p not in reached)
                reached.update(int(p) for p in parents[v])
        assert set(np.flatnonzero(found[u])) == reached


@pytest.mark.no_cover
def test_shrunken_cuts_hold_for_every_network() -> None:
    counts = np.array([assert_shrunken_cuts(seed) for seed in range(40)]).sum(axis=0)
    assert counts[0] > 10
    assert counts[1] > 0


@pytest.mark.long
def test_shrunken_cuts_hold_many_times() -> None:
    counts = np.array([assert_shrunken_cuts(seed) for seed in range(1000, 1600)]).sum(axis=0)
    assert counts[1] > 20


def test_a_point_inside_the_hull_is_not_cut_off() -> None:
    rng = np.random.default_rng(5)
    for _ in range(10):
        problem = random_problem(rng, 7)
        x = np.zeros(problem.m)
        for weight in rng.dirichlet(np.ones(4)):
            x[random_network(rng, problem)] += weight
        support = UsedSets.of(problem.members, x)
        assert LocalCuts(TUNING, 0).separate(support, [], 3) == []


def test_projection_counts_what_is_inside() -> None:
    rng = np.random.default_rng(3)
    problem = random_problem(rng, 8)
    x = random_point(rng, problem)
    support = UsedSets.of(problem.members, x)
    members = np.array([1, 3, 4, 6])
    first, masks, value = project_support(
        members, support.own_at, support.value, support.starts, support.parents
    )
    flags = unpack(problem.masks, problem.n)[:, members] @ (1 << np.arange(4))
    for j, v in enumerate(members):
        expected: dict[int, float] = {}
        for i in range(*problem.spans()[v]):
            if flags[i] and x[i] > 0:
                expected[int(flags[i])] = expected.get(int(flags[i]), 0.0) + x[i]
        span = slice(first[j], first[j + 1])
        assert dict(zip(masks[span].tolist(), value[span].tolist(), strict=True)) == expected


def test_a_known_facet_is_found() -> None:
    """Three variables, each with one of the two others as a parent, half of the time."""
    child = np.arange(3).repeat(2)
    parents = np.array([1, 2, 0, 2, 0, 1])
    support = UsedSets(3, child, np.full(6, 0.5), np.arange(7), parents)
    table, side, violation, _ = local_cut(
        np.arange(3), support.own_at, support.value, support.starts, support.parents, 1e-3,
        np.arange(3),
    )  # fmt: skip
    assert violation == pytest.approx(0.5)
    assert side == 2
    assert (table[:, [0, 7]] == [[0, 1]] * 3).all()


def solve_with(threads: int) -> tuple[list[tuple[int, ...]], float, int]:
    lists = hard_lists(14, 8)
    run = Run(lists, context=Context(threads=threads))
    part = run.parts[-1]
    first_incumbent(part)
    with ThreadPoolExecutor(threads) as pool:
        cutter, root = solve_root(part, pool=pool if threads > 1 else None)
    return [cut.members for cut in cutter.lp.cuts], root.bound, cutter.rounds


def test_the_same_input_gives_the_same_run_whatever_the_threads() -> None:
    first = solve_with(1)
    assert first[0]
    assert solve_with(1) == first
    assert solve_with(2) == first
    assert solve_with(3) == first


def test_arms_prefer_what_brings_most_for_its_work() -> None:
    arms = CutBandit(3, TUNING)
    assert arms.choose() == 0
    arms.learn(0, 0.1, 10.0)
    arms.wait()
    assert arms.choose() == 0
    arms.open(1)
    assert arms.choose() == 1
    for _ in range(20_000):  # a proof of hours
        arms.wait()
    assert arms.choose() == 1
    arms.learn(1, 0.1, 1000.0)
    arms.wait()
    assert arms.choose() == 0
    assert arms.choose(least=1) == 1
    for _ in range(60):
        arms.learn(0, 0.1, 10.0)
        arms.wait()
    assert arms.choose() == 1
