"""Kernels of the optimiser against slow, obvious versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive_network import best_network, random_lists
from parentage.kernels.digraph import strong_components
from parentage.kernels.orders import improve, new_work, refit
from parentage.kernels.regions import draw, exchange_blocks, shuffle, shuffle_around
from parentage.kernels.subsets import first_subsets
from parentage.optimise import exact
from parentage.optimise.exact import low_bits, read_choice, subset_table, whole_prices
from parentage.optimise.problem import (
    OrderSpace,
    Problem,
    feasible_order,
    make_problem,
    offsets_of,
    pack,
    undominated,
    unpack,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from parentage.scoring.lists import CandidateLists

SEEDS = st.integers(0, 10**6)


def problem_of(lists: CandidateLists) -> Problem:
    return make_problem(lists, np.ones(lists.n_sets, np.bool_))


def cost_of_order(space: OrderSpace, order: list[int]) -> float:
    """Each variable takes its cheapest set among its predecessors."""
    total = 0.0
    for j, v in enumerate(order):
        after = set(order[j:])
        fitting = [
            space.cost[i]
            for i in range(space.offsets[v], space.offsets[v + 1])
            if not after & set(space.sets[i].tolist())
        ]
        total += min(fitting)
    return total


@given(SEEDS)
def test_undominated(seed: int) -> None:
    problem = problem_of(random_lists(np.random.default_rng(seed), 6))
    keep = undominated(problem.offsets, problem.masks)
    flags = unpack(problem.masks, 6)
    for low, high in problem.spans():
        for i in range(low, high):
            dominated = any((flags[j] <= flags[i]).all() for j in range(low, i))
            assert keep[i] == (not dominated)


@given(SEEDS, st.integers(1, 7), st.integers(1, 60), st.booleans())
def test_first_subsets(seed: int, n: int, most: int, twice: bool) -> None:
    """In lists long enough for subsets to be looked up, and in short ones; of equal sets, too."""
    rng = np.random.default_rng(seed)
    children, sets = [], []
    for child in range(3):
        own = rng.permutation(1 << n)[: int(rng.integers(1, most + 1))]
        if twice:
            own = rng.permutation(np.concatenate([own, own[: len(own) // 2]]))
        sets += own.tolist()
        children += [child] * len(own)
    flags = np.array([[bool(s >> v & 1) for v in range(n)] for s in sets])
    found = first_subsets(offsets_of(np.bincount(children)), pack(flags))
    for i, outer in enumerate(sets):
        inside = [
            j
            for j, inner in enumerate(sets)
            if children[j] == children[i] and j != i and inner & ~outer == 0
        ]
        assert found[i] == min(inside, default=-1)


@given(SEEDS, st.integers(1, 9), st.floats(0, 0.5))
def test_strong_components(seed: int, n: int, density: float) -> None:
    arcs = np.random.default_rng(seed).random((n, n)) < density
    label = strong_components(offsets_of(arcs.sum(axis=1)), np.nonzero(arcs)[1].astype(np.int64))
    reach = np.linalg.matrix_power(np.eye(n) + arcs, n) > 0
    assert ((label[:, None] == label[None, :]) == (reach & reach.T)).all()
    heads_first = [(label[v] >= label[u]) for u, v in zip(*np.nonzero(arcs.T), strict=True)]
    assert all(heads_first)


@given(SEEDS, st.integers(1, 200))
def test_masks_there_and_back(seed: int, n: int) -> None:
    flags = np.random.default_rng(seed).random((5, n)) < 0.3
    assert (unpack(pack(flags), n) == flags).all()


@given(SEEDS)
def test_subset_table_and_the_way_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lists = random_lists(rng, int(rng.integers(2, 9)))
    problem = problem_of(lists).pruned()
    price, quantum = whole_prices(problem, np.inf)
    best = subset_table(problem, price)
    truth = best_network(lists)
    assert best is not None
    if truth is None:
        assert best[-1] == np.inf
        return
    top = sum(max(score for score, _ in lists.candidates(v)) for v in range(problem.n))
    assert abs(top - best[-1] * quantum - truth[0]) < 1e-6
    choice = read_choice(problem, price, best)
    assert price[choice].sum() == best[-1]
    assert (problem.child[choice] == np.arange(problem.n)).all()


def slow_table(problem: Problem, price: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The recurrence as it is written: the sink of each subset takes its cheapest set inside."""
    best = np.full(1 << problem.n, np.inf)
    best[0] = 0.0
    for subset in range(1, 1 << problem.n):
        for v in range(problem.n):
            rest = subset & ~(1 << v)
            if rest == subset:
                continue
            for i in range(problem.offsets[v], problem.offsets[v + 1]):
                if int(problem.masks[i, 0]) & ~rest == 0:
                    best[subset] = min(best[subset], best[rest] + price[i])
    return best


@pytest.mark.parametrize("n", [2, 4, 5, 7, 8])
def test_blocks_of_every_size_fill_the_same_table(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_of(random_lists(np.random.default_rng(n), n)).pruned()
    price, _ = whole_prices(problem, np.inf)
    truth = slow_table(problem, price)
    for bits in range(1, n + 1):
        monkeypatch.setattr(exact, "low_bits", lambda _, bits=bits: bits)
        for threads in (1, 2):
            found = subset_table(problem, price, threads)
            assert found is not None
            np.testing.assert_array_equal(found, truth)


def test_blocks_are_never_larger_than_the_table() -> None:
    for n in (1, 2, 5, 12):
        problem = problem_of(random_lists(np.random.default_rng(n), max(n, 2)))
        assert 1 <= low_bits(problem) <= problem.n


@given(SEEDS)
def test_climbing_ends_where_no_insertion_helps(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    space = OrderSpace.of(problem_of(random_lists(rng, n)).pruned())
    order = rng.permutation(n).astype(np.int64)
    before = cost_of_order(space, order.tolist())
    work, fit = new_work(), np.empty(n, np.int64)
    work.pause = 1 << 40
    refit(order, fit, 0, n, space.offsets, space.sets, work)
    assert abs(space.cost[fit].sum() - before) < 1e-9
    arrays = space.offsets, space.sets, space.cost, space.reach, np.array([seed], np.uint64), work
    improve(order, fit, np.arange(n), *arrays)
    after = space.cost[fit].sum()
    assert sorted(order.tolist()) == list(range(n))
    assert abs(after - cost_of_order(space, order.tolist())) < 1e-9
    assert after <= before + 1e-9
    for source in range(n):
        for target in range(n):
            moved = order.tolist()
            moved.insert(target, moved.pop(source))
            assert cost_of_order(space, moved) >= after - 1e-6


@given(SEEDS)
def test_feasible_order_places_all_it_can(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    lists = random_lists(rng, n)
    problem = problem_of(lists).pruned()
    order, placed = feasible_order(problem)
    assert sorted(order.tolist()) == list(range(n))
    assert (placed == n) == (best_network(lists) is not None)


@given(SEEDS, st.integers(1, 60))
def test_a_disturbed_order_is_an_order(seed: int, n: int) -> None:
    state, order = np.array([seed], np.uint64), np.arange(n)
    for _ in range(20):
        exchange_blocks(order, 24, state)
        assert sorted(order.tolist()) == list(range(n))


@given(SEEDS, st.integers(2, 90))
def test_variables_that_hang_together_change_their_places(seed: int, n: int) -> None:
    """They are at most as many as asked for, and hang together; all others stay where they are."""
    rng = np.random.default_rng(seed)
    above = [int(rng.integers(v)) if v and rng.random() < 0.9 else n for v in range(n)]
    sets, fit = np.array([[p] for p in above], np.uint16), np.arange(n)
    state, before = np.array([seed], np.uint64), rng.permutation(n)
    order, marked = before.copy(), np.zeros(n, np.bool_)
    shuffle_around(order, fit, marked, sets, 64, state)
    assert sorted(order.tolist()) == list(range(n))
    assert 1 <= marked.sum() <= 64
    assert (order[~marked[before]] == before[~marked[before]]).all()
    joins = sum(p < n and bool(marked[v] and marked[p]) for v, p in enumerate(above))
    assert joins == marked.sum() - 1  # in a forest that is one tree


def test_random_numbers_are_even_and_their_own() -> None:
    state = np.array([7], np.uint64)
    drawn = np.array([draw(state, 5) for _ in range(5000)])
    counts: npt.NDArray[np.int64] = np.bincount(drawn, minlength=5)
    assert counts.min() > 900
    assert counts.max() < 1100
    first, second = np.arange(30), np.arange(30)
    shuffle(first, np.array([3], np.uint64))
    shuffle(second, np.array([3], np.uint64))
    assert first.tolist() == second.tolist() != list(range(30))
    assert sorted(first.tolist()) == list(range(30))
