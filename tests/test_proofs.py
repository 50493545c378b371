"""Proofs do not lean on heuristics: every one switched off, every threshold and patience forced.

What is found is compared with brute force or the known optimum, and the checker accepts its
certificate.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from naive_network import best_network, varied_lists
from parentage.optimise import Solution, cutting, engines, orders, programme, run, separation
from parentage.optimise.programme import CutLP
from parentage.optimise.tuning import TUNING, Tuning
from solving import learn_lists
from strategies import each
from test_certificates import assert_certified
from test_optimise import OPTIMA, SLOWER_OPTIMA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from parentage.arrays import Ints
    from parentage.optimise.problem import Problem
    from parentage.optimise.run import Part
    from parentage.scoring.lists import CandidateLists
    from real_data import RealData

MUCH = 10**9
AT_ONCE, SOON, LATE = (0, 0.5), (1, 1.0), (MUCH, 0.0)
PATIENCE = (AT_ONCE, SOON, LATE)

FORCED: dict[str, tuple[Any, ...]] = {
    "large": (0, 4),
    "at_once": (0, 5),
    "soon": (0.0, 1e-6, 1e6),
    "warm_rounds": (0, 3),
    "set_packing": (False,),
    "least": (1e-9, 0.5),
    "few": (0, MUCH),
    "exact_tries": (0, 100),
    "tenure": (0, MUCH),
    "dry": (0, MUCH),
    "stall": (AT_ONCE, LATE),
    "sparse": (0, MUCH),
    "sizes": ((), ((4,), (5,))),
    "crowded": (0,),
    "seeds": (0, 1),
    "enough": (0,),
    "noise": (0.0, 100.0),
    "memory": (0.0, 1.0),
    "curiosity": (1.0, 10.0),
    "overhead": (0,),
    "round_work": (0,),
    "old": (0, MUCH),
    "large_old": (0, MUCH),
    "pool": (0,),
    "spare": (0, MUCH),
    "columns": (1, MUCH),
    "root_patience": PATIENCE,
    "large_patience": PATIENCE,
    "node_patience": PATIENCE,
    "slacks": ((0.0,), (1.0, 1.0)),
    "width": (1, 3),
    "stale": (0, MUCH),
}
"""Numbers of the solver with the values that force them one way or the other."""

CONSTANTS: dict[tuple[ModuleType, str], tuple[Any, ...]] = {
    (engines, "TINY"): (0, 4),
    (programme, "SLICE"): (1,),
    (programme, "GRID"): (2.0**10,),
    (separation, "BATCH"): (1,),
    (separation, "SMALLEST"): (MUCH,),
}
"""The same for constants of modules."""

TACTICS: tuple[dict[str, Any], ...] = (
    {},
    {"warm_rounds": 0},
    {"set_packing": False},
    {"sizes": ()},
    {"warm_rounds": 0, "set_packing": False, "sizes": ()},
)


def nothing(*_args: object, **_settings: object) -> None:
    """Search nothing, start nowhere, find no cut."""


def no_cuts(*_args: object, **_settings: object) -> list[object]:
    """Find no cuts."""
    return []


def without_climbing(part: Part, order: Ints, **_settings: bool) -> bool:  # as `climb_from`
    """Offer what an order leads to as it is."""
    choice = part.problem.orders.choice(order)
    return choice is not None and part.offer(choice, orders.ORDERS)


HEURISTICS: dict[str, tuple[tuple[Any, str, Callable[..., Any]], ...]] = {
    "climbing": tuple((module, "climb_from", without_climbing) for module in (engines, orders)),
    "order search": ((engines, "search_orders", nothing),),
    "plain cuts": ((cutting, "plain_cuts", no_cuts),),
    "exact clusters": ((cutting, "exact_cluster", nothing),),
}
"""What only makes proofs shorter, and what stands in its place when it is switched off."""


@dataclass
class Forced:
    """The solver with some of its heuristics off and some of its thresholds forced."""

    patch: pytest.MonkeyPatch
    tuning: Tuning = TUNING

    def switch_off(self, heuristic: str) -> None:
        """Do without a heuristic."""
        for owner, name, instead in HEURISTICS[heuristic]:
            self.patch.setattr(owner, name, instead)

    def use(self, **changes: Any) -> None:
        """Work by other numbers."""
        self.tuning = replace(self.tuning, **changes)
        self.patch.setattr(run, "TUNING", self.tuning)

    def at_random(self, rng: np.random.Generator) -> None:
        """Force a random share of everything."""
        share = rng.choice([0.1, 0.4, 0.9])
        for name, values in FORCED.items():
            if rng.random() < share:
                self.use(**{name: values[int(rng.integers(len(values)))]})
        for (module, name), values in CONSTANTS.items():
            if rng.random() < share:
                self.patch.setattr(module, name, values[int(rng.integers(len(values)))])
        for heuristic in HEURISTICS:
            if rng.random() < 0.1 + 0.4 * share:
                self.switch_off(heuristic)
        self.use(**TACTICS[int(rng.integers(len(TACTICS)))])


@contextlib.contextmanager
def forced() -> Iterator[Forced]:
    """Let the solver cut and branch small parts, too, and be forced in further ways."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engines, "TINY", 1)
        yield Forced(patch)


def assert_proved(lists: CandidateLists, engine: str = "branch-and-cut") -> Solution | None:
    """The solution is the best network, and its certificate holds; None if there is no network."""
    truth = best_network(lists)
    if truth is None:
        return None
    solution = learn_lists(lists, engine=engine, time_limit=300.0)
    assert solution.optimal
    assert solution.score == pytest.approx(truth[0], abs=2 * solution.scope.tolerance, rel=1e-15)
    assert_certified(lists, solution)
    return solution


def test_every_number_is_forced() -> None:
    assert {one.name for one in fields(TUNING)} == set(FORCED)


def test_a_row_that_pays_for_a_number_was_measured() -> None:
    results = Path(__file__).parent.parent / "benchmarks" / "results" / "optimise.json"
    ablation = json.loads(results.read_text())["ablation"]
    measured = {row for name, rows in ablation.items() if name != "selection" for row in rows}
    named = {one.metadata["row"] for one in fields(TUNING)} - {""}
    assert named
    assert named <= measured


@pytest.mark.parametrize("name", [*FORCED, *CONSTANTS])
def test_no_number_decides_what_is_proved(name: str | tuple[ModuleType, str]) -> None:
    """One by one, where there is something left to branch on."""
    for value in FORCED[name] if isinstance(name, str) else CONSTANTS[name]:
        with forced() as solver:
            solver.use(**TACTICS[-1])
            if isinstance(name, str):
                solver.use(**{name: value})
            else:
                solver.patch.setattr(*name, value)
            for seed in range(2):
                assert_proved(varied_lists(np.random.default_rng([seed, 1]), 7))


@pytest.mark.parametrize("heuristic", HEURISTICS)
@each("seed", 6)
def test_no_heuristic_is_needed(heuristic: str, seed: int) -> None:
    with forced() as solver:
        solver.switch_off(heuristic)
        assert_proved(varied_lists(np.random.default_rng([seed, 2]), 7))


class Unreliable:
    """An LP solver that fails now and then."""

    def __init__(self, solver: Any, share: float) -> None:
        self.solver, self.share = solver, share
        self.rng, self.failed = np.random.default_rng(1), False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.solver, name)

    def run(self) -> None:
        self.failed = bool(self.rng.random() < self.share)
        if not self.failed:
            self.solver.run()

    def getModelStatus(self) -> Any:
        import highspy

        unknown = highspy.HighsModelStatus.kUnknown
        return unknown if self.failed else self.solver.getModelStatus()


@pytest.mark.parametrize("share", [0.3, 1.0])
@each("seed", 6)
def test_no_linear_programme_has_to_be_solved(share: float, seed: int) -> None:
    made = CutLP.__init__

    def make(programme: CutLP, problem: Problem, tuning: Tuning) -> None:
        made(programme, problem, tuning)
        programme.solver = Unreliable(programme.solver, share)

    with forced() as solver:
        solver.patch.setattr(CutLP, "__init__", make)
        assert_proved(varied_lists(np.random.default_rng([seed, 4]), 5))


def assert_proved_at_random(seed: int) -> None:
    """One case: everything forced at random, a random engine, random lists."""
    rng = np.random.default_rng([seed, 3])
    with forced() as solver:
        solver.at_random(rng)
        engine = str(rng.choice(["branch-and-cut", "auto", "subsets"], p=[0.7, 0.2, 0.1]))
        assert_proved(varied_lists(rng, int(rng.integers(3, 9))), engine)


@each("seed", 40)
def test_nothing_together_decides_what_is_proved(seed: int) -> None:
    assert_proved_at_random(seed)


def test_a_small_piece_without_dynamic_programming_is_cut(real: RealData) -> None:
    """Too large for the table over subsets, which memory decides, too, but not to be cut."""
    lists = real.instance("slim_hepar2-5000.jkl")
    assert "subsets" in learn_lists(lists).engine
    with forced() as solver:
        solver.patch.setattr(engines, "fits", lambda *_: False)
        solution = learn_lists(lists)
        assert solution.optimal
        assert "subsets" not in solution.engine
        assert_certified(lists, solution)


@pytest.mark.long
@pytest.mark.parametrize("block", range(40))
@each("seed", 50)
def test_nothing_together_decides_what_is_proved_thousands_of_times(block: int, seed: int) -> None:
    assert_proved_at_random(1000 + 50 * block + seed)


def test_a_solution_of_the_root_that_is_a_network_is_offered(real: RealData) -> None:
    """Its linear programme ends at a network that no start has led to."""
    lists = real.instance("hailfinder_10000_BDeu")
    solution = learn_lists(lists)
    assert solution.optimal
    assert solution.score == pytest.approx(-497320.3884, abs=1e-4)
    assert_certified(lists, solution)


INSTANCES = OPTIMA | {
    name: SLOWER_OPTIMA[name]
    for name in (
        "aur_insurance_1000.jaa",
        "water1000_BDe",
        "slim_alarm-5000.jkl",
        "alarm_10000_BIC",
    )
}


@pytest.mark.long
@pytest.mark.parametrize("heuristic", HEURISTICS)
@pytest.mark.parametrize("name", INSTANCES)
def test_instances_are_proved_without_a_heuristic(
    real: RealData, name: str, heuristic: str
) -> None:
    lists = real.instance(name)
    with forced() as solver:
        solver.switch_off(heuristic)
        solution = learn_lists(lists)
    assert solution.optimal
    assert solution.score == pytest.approx(INSTANCES[name], abs=1e-3)
    assert_certified(lists, solution)
