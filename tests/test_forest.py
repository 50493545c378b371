"""One parent at most: the forest is the best network, at once."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

from naive_network import best_network, is_acyclic
from parentage.kernels.digraph import NONE, cheapest_forest
from parentage.optimise.exact import is_forest
from parentage.optimise.orders import first_incumbent
from parentage.optimise.problem import prepare
from parentage.optimise.run import Run
from parentage.scoring.lists import CandidateLists
from solving import learn_lists
from strategies import each


def one_parent_lists(
    rng: np.random.Generator, n: int, *, share: float = 0.6, ties: bool = False
) -> CandidateLists:
    """Lists with sets of at most one parent; some variables have no empty set."""
    families: dict[str, list[tuple[float, list[str]]]] = {}
    for v in range(n):
        gains = rng.integers(1, 4, n) if ties else rng.random(n) * 10
        own = [(float(gains[u]), [f"v{u}"]) for u in range(n) if u != v and rng.random() < share]
        if v == 0 or not own or rng.random() < 0.8:
            own.append((0.0, []))
        families[f"v{v}"] = own
    return CandidateLists.from_families(families)


def assert_best_forest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lists = one_parent_lists(rng, int(rng.integers(9, 12)), ties=bool(rng.random() < 0.3))
    truth = best_network(lists)
    if truth is None:
        return
    for engine in ("auto", "branch-and-cut"):
        solution = learn_lists(lists, engine=engine)
        assert is_acyclic(solution.network.parents)
        assert solution.optimal
        assert solution.score == pytest.approx(truth[0], abs=1e-9)
        assert solution.ties != "fewest arcs" or solution.network.n_arcs == truth[1]


@each("seed", 20)
def test_the_forest_is_the_best_network(seed: int) -> None:
    assert_best_forest(seed)


@pytest.mark.long
def test_the_forest_is_the_best_network_hundreds_of_times() -> None:
    for seed in range(1000, 1400):
        assert_best_forest(seed)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("dear", [1e4, 1e6, 1e7])
@each("seed", 8)
def test_sets_that_cost_far_more_than_the_network_change_nothing(seed: int, dear: float) -> None:
    """Without a parent all but one variable lose ``dear``; the best network loses a few units."""
    lists = one_parent_lists(np.random.default_rng(seed), 10)
    families = {
        v: [(c.score - (0.0 if c.parents or v == "v0" else dear), c.parents) for c in lists[v]]
        for v in lists.names
    }
    lists = CandidateLists.from_families(families)
    truth = best_network(lists)
    assert truth is not None
    solution = learn_lists(lists)
    assert (solution.engine, solution.optimal) == ("forest", True)
    assert solution.score == pytest.approx(truth[0], abs=1e-6)


def test_an_exact_engine_that_falls_behind_the_incumbent_proves_nothing() -> None:
    lists = one_parent_lists(np.random.default_rng(1), 10)
    part = Run(lists).parts[-1]
    first_incumbent(part)
    worst = part.problem.offsets[1:] - 1
    with pytest.raises(AssertionError, match=r"forest: .* against a network that costs"):
        part.solved(worst, "forest", fewest_arcs=True)
    assert not part.proven


def test_three_hundred_variables_at_once() -> None:
    lists = one_parent_lists(np.random.default_rng(1), 300, share=1.0)
    learn_lists(one_parent_lists(np.random.default_rng(2), 20))  # compiles
    began = time.process_time()
    solution = learn_lists(lists)
    assert solution.optimal
    assert solution.engine == "forest"
    assert time.process_time() - began < 20.0
    problem = prepare(lists)
    assert is_forest(problem)


def naive_price(arcs: dict[tuple[int, int], int], nodes: set[int], root: int) -> float:
    """Edmonds' recursion for the price alone: all choose, one cycle becomes a node, once more."""
    into = {v: {u: p for (u, w), p in arcs.items() if w == v and u != v} for v in nodes - {root}}
    if not all(into.values()):
        return math.inf
    chosen = {v: min(own, key=own.__getitem__) for v, own in into.items()}
    for start in chosen:
        path, v = [], start
        while v in chosen and v not in path:
            path.append(v)
            v = chosen[v]
        if v in path:
            cycle = set(path[path.index(v) :])
            break
    else:
        return sum(into[v][u] for v, u in chosen.items())
    new = max(nodes) + 1
    fewer: dict[tuple[int, int], int] = {}
    for (u, w), price in arcs.items():
        less = into[w][chosen[w]] if w in cycle else 0
        arc = (new if u in cycle else u, new if w in cycle else w)
        if arc[0] != arc[1]:
            fewer[arc] = min(fewer.get(arc, price - less), price - less)
    paid = sum(into[v][chosen[v]] for v in cycle)
    return paid + naive_price(fewer, nodes - cycle | {new}, root)


def test_the_kernel_finds_what_edmonds_recursion_finds() -> None:
    """Few and many arcs, ties, deep nests of cycles, variables that need a parent."""
    tried = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        n, most = int(rng.integers(1, 16)), int(rng.choice([2, 5, 100, 10**12]))
        price = rng.integers(0, most, (n + 1, n + 1))
        price[n] += rng.integers(0, 3) * most
        price[rng.random((n + 1, n + 1)) < 0.9 * rng.random()] = NONE
        np.fill_diagonal(price, NONE)
        arcs = {(u, v): int(price[u, v]) for u in range(n + 1) for v in range(n)}
        truth = naive_price({a: p for a, p in arcs.items() if p < NONE}, set(range(n + 1)), n)
        if truth == math.inf:
            continue
        tried += 1
        parent = np.empty(n, np.int64)
        cheapest_forest(price[:, :n].T.copy(), parent)
        assert is_acyclic(tuple((int(p),) if p < n else () for p in parent))
        assert sum(arcs[int(parent[v]), v] for v in range(n)) == truth
    assert tried > 200


def test_nested_cycles_are_taken_apart() -> None:
    price = np.full((5, 5), int(NONE))
    for u, v, cost in [(0, 1, 1), (1, 0, 1), (1, 2, 2), (2, 3, 1), (3, 2, 1), (3, 0, 2),
                       (4, 0, 50), (4, 1, 60), (4, 2, 55), (4, 3, 70)]:  # fmt: skip
        price[u, v] = cost
    parent = np.empty(4, np.int64)
    cheapest_forest(price[:, :4].T.copy(), parent)
    assert parent.tolist() == [4, 0, 1, 2]
