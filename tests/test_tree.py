"""The tree finds the optimum by branching alone, its bounds hold, and its proof is written down."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from naive_network import best_network, random_lists
from parentage import check
from parentage.kernels.digraph import shut_cycles
from parentage.optimise.certificate import whole_unit
from parentage.optimise.cutting import Cutter, Node, branch, solve_root
from parentage.optimise.engines import conclude, cut_and_branch
from parentage.optimise.exact import subset_table
from parentage.optimise.orders import first_incumbent
from parentage.optimise.problem import unpack
from parentage.optimise.run import Run
from parentage.optimise.settings import Optimising
from parentage.optimise.tuning import TUNING
from parentage.work.context import Context
from solving import learn_lists
from strategies import each
from test_optimise_cuts import random_network, random_problem
from test_optimise_limits import hard_lists

if TYPE_CHECKING:
    from pathlib import Path

    from parentage.optimise.run import Part
    from parentage.optimise.solution import Solution
    from parentage.scoring.lists import CandidateLists

WEAK = replace(TUNING, warm_rounds=0, set_packing=False, sizes=())
"""Cluster cuts only, so that there is something left to branch on."""

CUTTING = Optimising(engine="branch-and-cut")


def weak_tree(part: Part) -> tuple[Cutter, Node]:
    """Branch after a root that was hardly cut."""
    first_incumbent(part)
    cutter, root = solve_root(part)
    if not part.proven:
        branch(cutter, root)
    return cutter, root


def all_nodes(root: Node) -> list[Node]:
    nodes = [root]
    for node in nodes:
        if node.branch:
            nodes.extend(node.branch[2:])
    return nodes


@pytest.mark.no_cover
def test_branching_finds_the_optimum() -> None:
    nodes = 0
    for seed in (0, 3, 6, 7):  # something is left to branch on
        lists = hard_lists(11, 20, seed)
        truth = best_network(lists)
        assert truth is not None
        run = Run(lists, tuning=WEAK)
        trees = [weak_tree(part) for part in run.parts if part.problem.n > 1]
        assert run.proven()
        assert run.score() == pytest.approx(truth[0], abs=1e-6)
        nodes += sum(cutter.nodes - 1 for cutter, _ in trees)
    assert nodes > 10


@each("seed", 5)
def test_the_bound_of_a_node_is_below_its_networks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lists = hard_lists(10, 10, seed)
    run = Run(lists, tuning=WEAK)
    part = run.parts[-1]
    _, root = weak_tree(part)
    flags = unpack(part.problem.masks, part.problem.n)
    for _ in range(30):
        choice = random_network(rng, part.problem)
        cost = part.problem.cost[choice].sum()
        node = root
        while node.branch:
            assert node.bound <= max(cost, part.cost) + 1e-6
            u, v, without, with_ = node.branch
            node = with_ if flags[choice[v], u] else without
        assert node.bound <= max(cost, part.cost) + 1e-6 or cost >= part.cost - 1e-6


@each("seed", 30)
def test_forced_arcs_shut_only_what_no_network_has(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, int(rng.integers(4, 8)))
    left = rng.random(problem.m) < 0.5
    after = left.copy()
    alive = shut_cycles(*problem.members, after)
    cost = np.where(left, 0.0, np.inf)
    shut = np.where(after, 0.0, np.inf)
    possible, still = subset_table(problem, cost), subset_table(problem, shut)
    assert possible is not None
    assert still is not None
    assert not (after & ~left).any()
    assert np.isfinite(possible[-1]) == (alive and bool(np.isfinite(still[-1])))
    for i in np.flatnonzero(left & ~after) if alive else ():
        only = cost.copy()
        v = int(problem.child[i])
        only[problem.offsets[v] : problem.offsets[v + 1]] = np.inf
        only[i] = 0.0
        best = subset_table(problem, only)
        assert best is not None
        assert np.isinf(best[-1])


def test_the_same_input_gives_the_same_tree() -> None:
    lists = hard_lists(12, 14, 3)
    records = []
    for threads in (1, 1, 2):
        run = Run(lists, None, CUTTING, Context(threads=threads))
        for part in run.parts:
            first_incumbent(part)
            if not part.proven:
                cut_and_branch(part)
        effort = conclude(run).record
        records.append((effort.nodes, effort.lp_rounds, effort.cuts, effort.fixed))
    assert records[0] == records[1] == records[2]


def test_a_stopped_tree_keeps_a_valid_bound() -> None:
    lists = hard_lists(12, 20, 1)
    truth = best_network(lists)
    assert truth is not None
    run = Run(lists, tuning=WEAK)
    part = run.parts[-1]
    first_incumbent(part)
    cutter, root = solve_root(part)
    run.stop.cancelled.set()
    assert cutter.work(root) == "stopped"
    branch(cutter, root)
    assert not part.proven
    assert run.bound() >= truth[0] - 1e-6


def assert_document(solution: Solution, lists: CandidateLists) -> dict[str, Any]:
    """What must hold of every certificate, as far as that shows without checking the proof."""
    assert solution.certificate is not None
    document: dict[str, Any] = json.loads(solution.certificate.to_json())
    assert document["lists"]["digest"] == check.lists_digest(lists)
    assert document["claim"]["score"] == solution.score
    chosen = document["claim"]["sets"]
    assert [tuple(lists.parents_of(i).tolist()) for i in chosen] == list(solution.network.parents)
    used = [
        number
        for node in document["nodes"]
        for number in [*node.get("branch", [])[2:], *(part[2] for part in node.get("split", []))]
    ]
    assert sorted(used) == list(range(1, len(document["nodes"])))
    rounds = [s for n in document["nodes"] for s in n.get("steps", []) if s[0] == "round"]
    assert {i for s in rounds for i in s[1]} == set(range(len(document["cuts"])))
    assert all(times >= 1 for s in rounds for times in s[2])
    return document


@each("seed", 8)
def test_certificates_are_complete_and_pass_the_check(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    lists = random_lists(rng, 8) if seed % 2 else hard_lists(12, 10, seed)
    if best_network(lists) is None:
        return
    run = Run(lists, None, CUTTING, tuning=WEAK if seed % 3 else TUNING)
    for part in run.parts:
        first_incumbent(part)
        if not part.proven:
            cut_and_branch(part)
    solution = conclude(run)
    document = assert_document(solution, lists)
    assert solution.certificate is not None
    solution.certificate.write(tmp_path / "proof.json.gz")
    with gzip.open(tmp_path / "proof.json.gz") as file:
        assert json.load(file) == document
    checker = pytest.importorskip("parentage.check")
    verdict = checker.check(lists, tmp_path / "proof.json.gz")
    assert verdict.verified, verdict.reason
    document["claim"]["tolerance"] -= 10**9
    (tmp_path / "wrong.json").write_text(json.dumps(document))
    assert not checker.check(lists, tmp_path / "wrong.json").verified


@pytest.mark.parametrize("engine", ["auto", "subsets", "branch-and-cut"])
def test_every_engine_that_proves_has_a_certificate(engine: str) -> None:
    lists = hard_lists(12, 8)
    document = assert_document(learn_lists(lists, engine=engine), lists)
    assert len(document["nodes"]) > 1


def test_without_a_proof_there_is_no_certificate() -> None:
    assert learn_lists(hard_lists(20), engine="orders", time_limit=0.2).certificate is None


def test_scores_find_their_grid() -> None:
    unit, factor, whole = whole_unit(np.array([-1.25, -3.0, -0.5]))
    assert (unit, factor, whole.tolist()) == ({"decimals": 2}, 100.0, [-125, -300, -50])
    unit, factor, whole = whole_unit(np.array([-1.0 / 3.0, -1e5 / 7.0]))
    assert unit == {"bits": 26}
    assert np.abs(whole / factor - [-1.0 / 3.0, -1e5 / 7.0]).max() <= 0.5 / factor
