"""Certificates that the solver writes, read by the checker: all hold, damaged ones do not."""

from __future__ import annotations

import copy
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from naive_network import best_network, random_constraints, random_lists
from parentage.check import check, sealed
from parentage.errors import ConstraintError, ListsError
from parentage.optimise.engines import conclude, cut_and_branch
from parentage.optimise.orders import first_incumbent
from parentage.optimise.run import Run
from parentage.optimise.settings import Optimising
from parentage.optimise.tuning import TUNING
from parentage.scoring.lists import CandidateLists
from solving import learn_lists
from strategies import each
from test_forest import one_parent_lists
from test_optimise_limits import hard_lists

if TYPE_CHECKING:
    from parentage.optimise import Solution
    from real_data import RealData

QUICK = (
    "slim_alarm-5000.jkl",
    "alarm_10000_BIC",
    "aur_insurance_1000.jaa",
)
WEAK = replace(TUNING, warm_rounds=0, set_packing=False, sizes=())
"""Cluster cuts only, so that there is something left to branch on."""

OPEN = ("slim_munin1-5000.jkl",)
"""Instances that nobody has proved."""


def assert_certified(lists: CandidateLists, solution: Solution) -> dict[str, Any]:
    """The certificate holds, and says what the solution says."""
    assert solution.certificate is not None
    document = solution.certificate.document
    verdict = check(lists, document)
    assert verdict, verdict.reason
    assert verdict.score == solution.score
    assert verdict.parents == solution.network.parents
    assert verdict.tolerance < max(1e-4, 1e-11 * abs(solution.score))
    return document


@pytest.mark.parametrize("engine", ["auto", "branch-and-cut"])
@each("seed", 12)
def test_random_lists(seed: int, engine: str) -> None:
    rng = np.random.default_rng(seed)
    lists = random_lists(rng, int(rng.integers(4, 14)))
    rules = random_constraints(rng, lists) if seed % 3 == 0 else None
    try:
        solution = learn_lists(lists, engine=engine, constraints=rules)
    except (ListsError, ConstraintError):
        return
    assert_certified(lists, solution)


@each("seed", 8)
def test_forests_beside_dominated_sets(seed: int) -> None:
    """The solver drops what a single parent replaces; the checker sees it in the lists."""
    rng = np.random.default_rng(seed)
    lists = one_parent_lists(rng, 10, ties=seed % 2 == 0)
    families = {v: [(c.score, c.parents) for c in lists[v]] for v in lists.names}
    for v, own in families.items():
        others = [u for u in lists.names if u != v and (u,) != own[0][1]]
        for score, parents in own[:3]:
            further = (p for p in others if p not in parents)
            own.append((score - rng.random() * (seed % 3), (*parents, next(further))))
    lists = CandidateLists.from_families(families)
    if best_network(lists) is None:
        return
    solution = learn_lists(lists, engine="branch-and-cut")
    assert solution.engine == "forest"
    assert_certified(lists, solution)


@each("seed", 6)
def test_scores_of_many_digits(seed: int) -> None:
    """The arithmetic of the solver is coarser than the last of six decimals."""
    lists = hard_lists(9, 8, seed)
    families = {v: [(round(c.score, 6) - 4e8, c.parents) for c in lists[v]] for v in lists.names}
    large = CandidateLists.from_families(families)
    assert_certified(large, learn_lists(large, engine="branch-and-cut"))


def test_scores_that_differ_by_less_than_the_tolerance() -> None:
    """The first network is within it, so nothing is searched; the proof is that bound."""
    names = [f"v{v}" for v in range(10)]
    families = {
        v: [(1e-8 / 3, [names[i - 1], names[i - 2]]), (0.0, [])] for i, v in enumerate(names)
    }
    lists = CandidateLists.from_families(families)
    assert_certified(lists, learn_lists(lists, engine="branch-and-cut"))


def test_rounding_that_adds_up_over_many_variables() -> None:
    """In every pair the better of two choices loses a unit when scores are rounded."""
    unit = 2.0**-26
    families: dict[str, list[tuple[float, list[str]]]] = {}
    for i in range(90):
        before, top = f"x{(i - 1) % 90}", 100.0 if i else 1.0
        families[f"x{i}"] = [(top + 0.49 * unit, [f"y{i}", before]), (top - 0.49 * unit, [before])]
        families[f"y{i}"] = [(0.6 * unit, [f"x{i}"]), (-0.37 * unit, [])]
    families["x0"] += [(0.49 * unit, ["y0"]), (-0.49 * unit, [])]
    lists = CandidateLists.from_families(families)
    assert_certified(lists, learn_lists(lists))


@each("seed", 6)
def test_near_ties_within_rounding_errors(seed: int) -> None:
    """A superset that scores more by less than rounding errors comes back in a branch."""
    rng = np.random.default_rng(seed)
    lists = hard_lists(9, 8, seed)
    families: dict[str, list[tuple[float, tuple[str, ...]]]] = {}
    for v in lists.names:
        own = {frozenset(c.parents): c.score * 1e4 - 3e8 for c in lists[v]}
        for parents, score in list(own.items()):
            more = rng.choice([u for u in lists.names if u != v])
            own.setdefault(parents | {str(more)}, score + 5e-6 * rng.random())
        families[v] = [(score, tuple(parents)) for parents, score in own.items()]
    lists = CandidateLists.from_families(families)
    soon = (1, 0.5)
    tuning = replace(WEAK, root_patience=soon, node_patience=soon)
    run = Run(lists, None, Optimising(engine="branch-and-cut"), tuning=tuning)
    for part in run.parts:
        first_incumbent(part)
        cut_and_branch(part)
    assert_certified(lists, conclude(run))


def assert_mutations_refused(lists: CandidateLists, document: dict[str, Any]) -> None:
    """Damage every kind of thing once, where the proof is tight."""
    nodes = document["nodes"]
    where = max(range(len(nodes)), key=lambda i: len(nodes[i].get("steps", [])))
    document = shortened(lists, document, where)
    steps = document["nodes"][where]["steps"]
    rounds = rounds_of(document, where)
    last = steps[rounds[-1]]
    heavy = int(np.argmax(last[2]))
    assert refused(lists, document, lambda d: d["nodes"][where]["steps"].pop(rounds[-1]))
    assert refused(lists, document, lambda d: d["nodes"][where].update(steps=[]))

    def halve(d: dict[str, Any]) -> None:
        d["nodes"][where]["steps"][rounds[-1]][2][heavy] //= 2

    assert refused(lists, document, halve)
    local = [c for c in last[1] if document["cuts"][c][0] == "local"]
    for c in local[:10]:
        assert refused(lists, document, lambda d, c=c: lower(d["cuts"][c])), c
    assert refused(lists, document, lambda d: exchange(lists, d))


def rounds_of(document: dict[str, Any], where: int) -> list[int]:
    """Return which steps of a node are rounds with cuts."""
    steps = document["nodes"][where]["steps"]
    return [i for i, step in enumerate(steps) if step[0] == "round" and step[1]]


def shortened(lists: CandidateLists, document: dict[str, Any], where: int) -> dict[str, Any]:
    """Leave out the last rounds of a node that the checker does not need.

    Its bounds are sharper than the solver's, so it may close a node some rounds earlier.
    """
    while True:
        shorter = copy.deepcopy(document)
        shorter["nodes"][where]["steps"].pop(rounds_of(shorter, where)[-1])
        if not rounds_of(shorter, where) or not check(lists, sealed(shorter)):
            return document
        document = shorter


def exchange(lists: CandidateLists, document: dict[str, Any]) -> None:
    """Claim another set for the variable with the most of them."""
    v = int(np.argmax(np.diff(lists.offsets)))
    first, chosen = int(lists.offsets[v]), document["claim"]["sets"]
    chosen[v] = first + (chosen[v] == first)


def lower(cut: list[Any]) -> None:
    """Make a cut one too strong."""
    cut[4] -= 1


def refused(lists: CandidateLists, document: dict[str, Any], edit: Any) -> bool:
    other = copy.deepcopy(document)
    edit(other)
    return not check(lists, sealed(other))


@pytest.mark.parametrize(
    "name", [*QUICK, pytest.param("hailfinder_10000_BDeu", marks=pytest.mark.long)]
)
def test_instances(name: str, real: RealData) -> None:
    lists = real.instance(name)
    document = assert_certified(lists, learn_lists(lists))
    assert_mutations_refused(lists, document)


def assert_large_mutations_refused(lists: CandidateLists, document: dict[str, Any]) -> None:
    """Damage what no proof can do without.

    A single step, multiplier or leaf is left alone: the checker's bounds are sharper than the
    solver's (whole numbers leave no room between two scores of the grid), so it may close a node
    before its last step, and the rest is not looked at.
    """
    used = {
        cut
        for node in document["nodes"]
        for step in node.get("steps", [])
        if step[0] == "round"
        for cut in step[1]
    }
    local = [c for c in sorted(used) if document["cuts"][c][0] == "local"]
    for c in local[:3]:
        assert refused(lists, document, lambda d, c=c: lower(d["cuts"][c])), c

    def halve(d: dict[str, Any]) -> None:
        for node in d["nodes"]:
            for step in node.get("steps", []):
                if step[0] == "round":
                    step[2] = [weight // 2 for weight in step[2]]

    assert refused(lists, document, halve)
    assert refused(lists, document, lambda d: [node.update(steps=[]) for node in d["nodes"]])
    assert refused(lists, document, lambda d: exchange(lists, d))


def instance_names() -> list[str]:
    """The instances beside the project, small ones first; none where there is no such folder."""
    folder = Path(os.environ.get("PARENTAGE_SHARED", "")) / "data" / "instances"
    found = folder.iterdir() if folder.is_dir() else ()
    return [path.name for path in sorted(found, key=lambda path: path.stat().st_size)]


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in instance_names() if name not in OPEN])
def test_every_instance_is_proved_and_certified(name: str, real: RealData) -> None:
    """Every one but those that are open, and damage to their certificates is refused."""
    lists = real.instance(name)
    solution = learn_lists(lists)
    assert solution.optimal
    document = assert_certified(lists, solution)
    steps = [step for node in document["nodes"] for step in node.get("steps", [])]
    if any(step[0] == "round" and step[1] for step in steps):
        assert_large_mutations_refused(lists, document)
    else:
        assert refused(lists, document, lambda d: exchange(lists, d))
