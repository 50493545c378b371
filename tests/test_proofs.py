"""Proofs do not lean on heuristics: every one switched off, every threshold and patience forced.

What is found is compared with brute force or the known optimum, and the checker accepts its
certificate.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from naive_network import best_network, varied_lists
from parentage.optimise import Solution, engines, exact, learn_lists, orders
from parentage.optimise.engines import cut_and_branch
from parentage.optimise.lp import cutting, local_cuts, programme, separation, tree
from parentage.optimise.lp.cutting import Cutter, Patience, Tactics
from parentage.optimise.lp.programme import CutLP
from strategies import each
from test_certificates import assert_certified
from test_optimise import OPTIMA, SLOWER_OPTIMA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from parentage.arrays import Ints
    from parentage.optimise.orders import OrderSpace
    from parentage.optimise.problem import Problem
    from parentage.optimise.run import Part
    from parentage.scoring.lists import CandidateLists
    from real_data import RealData

MUCH = 10**9
AT_ONCE, SOON, LATE = Patience(0, 0.5), Patience(1, 1.0), Patience(MUCH, 0.0)
PATIENCE = (AT_ONCE, SOON, LATE)

THRESHOLDS: dict[ModuleType, dict[str, tuple[Any, ...]]] = {
    engines: {
        "TINY": (0, 4),
        "AT_ONCE": (0, 5),
        "LATER": (0, 6),
        "SOON": (0.0, 1e-6, 1e6),
        "MANY": (0, 20),
        "MOST_FOR_FOREST": (0,),
        "AT_A_GLANCE": (0,),
        "LARGE": (0, 4),
        "WARM_PATIENCE": (1,),
        "PATIENCE": (1,),
    },
    cutting: {
        "MEMORY": (0.0, 1.0),
        "CURIOSITY": (1.0, 10.0),
        "FEW": (0, MUCH),
        "MOST": (1, 3),
        "DRY": (0, MUCH),
        "ROUND": (0,),
        "SPARSE": (0, MUCH),
        "SLOW": (0.0, 1.0),
        "IDLE": (0, MUCH),
        "SELDOM": (1, MUCH),
        "MUCH": (0, MUCH),
        "EXACT_TRIES": (0, 100),
        "ROOT_PATIENCE": PATIENCE,
        "LARGE_PATIENCE": PATIENCE,
        "NODE_PATIENCE": PATIENCE,
        "STALL": (AT_ONCE, LATE),
        "LARGE": (0, 4),
    },
    tree: {
        "CANDIDATES": (0, 1),
        "TRIAL": (0, 1),
        "RELIABLE": (0, MUCH),
        "HALF": (0.0, 0.5),
        "DIVE": (-1.0, 0.0, 1e9),
    },
    separation: {
        "EXACT_NODES": (0,),
        "STARTS": (0,),
        "STARTS_EACH": (0,),
        "LARGE": (0,),
        "SHARED": (0,),
    },
    programme: {"SLICE": (1,), "OLD": (0,), "GRID": (2.0**10,)},
    local_cuts: {"SIZES": (((4,), (5,)),), "BATCH": (1,), "SMALLEST": (MUCH,), "CROWDED": (0,)},
}
"""Thresholds of the solver with the values that force them one way or the other."""

TACTICS = (
    Tactics(),
    Tactics(warm_start=False),
    Tactics(set_packing=False),
    Tactics(local_cuts=False),
    Tactics(warm_start=False, set_packing=False, local_cuts=False),
)


def never(*_args: object, **_settings: object) -> bool:
    """Climb nowhere, from nothing."""
    return False


def nothing(*_args: object, **_settings: object) -> None:
    """Search nothing, start nowhere, find no cut."""


def no_cuts(*_args: object, **_settings: object) -> list[object]:
    """Find no cuts."""
    return []


def without_climbing(
    part: Part, space: OrderSpace, order: Ints, **_settings: bool
) -> bool:  # as `climb_from`
    """Offer what an order leads to as it is."""
    choice = space.choice(order)
    return choice is not None and part.offer(choice, orders.PHASE)


HEURISTICS: dict[str, tuple[tuple[Any, str, Callable[..., Any]], ...]] = {
    "climbing from solutions": ((Cutter, "climb", never),),
    "climbing": tuple(
        (module, "climb_from", without_climbing) for module in (engines, orders, cutting, exact)
    ),
    "order search": ((engines, "search_orders", nothing),),
    "forest as a start": ((engines, "start_from_forest", nothing),),
    "plain cuts": ((cutting, "plain_cuts", no_cuts),),
    "exact clusters": ((cutting, "exact_cluster", nothing),),
}
"""What only makes proofs shorter, and what stands in its place when it is switched off."""


@dataclass
class Forced:
    """The solver with some of its heuristics off and some of its thresholds forced."""

    patch: pytest.MonkeyPatch

    def switch_off(self, heuristic: str) -> None:
        """Do without a heuristic."""
        for owner, name, instead in HEURISTICS[heuristic]:
            self.patch.setattr(owner, name, instead)

    def use(self, tactics: Tactics) -> None:
        """Cut by these tactics, whatever was asked for."""

        def cut(part: Part, _tactics: Tactics, *, subsets: bool) -> None:
            cut_and_branch(part, tactics, subsets=subsets)

        self.patch.setattr(engines, "cut_and_branch", cut)

    def at_random(self, rng: np.random.Generator) -> None:
        """Force a random share of everything."""
        share = rng.choice([0.1, 0.4, 0.9])
        for module, thresholds in THRESHOLDS.items():
            for name, values in thresholds.items():
                if rng.random() < share:
                    self.patch.setattr(module, name, values[int(rng.integers(len(values)))])
        for heuristic in HEURISTICS:
            if rng.random() < 0.1 + 0.4 * share:
                self.switch_off(heuristic)
        self.use(TACTICS[int(rng.integers(len(TACTICS)))])


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


@pytest.mark.parametrize("module", [engines, cutting, tree])
def test_every_threshold_is_forced(module: ModuleType) -> None:
    numbers = {
        name
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, int | float | Patience)
    }
    numbers -= {"DECIDED", "TYPE_CHECKING"}  # a rounding error, and no number
    assert numbers == set(THRESHOLDS[module])


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, own in THRESHOLDS.items() for name in own]
)
def test_no_threshold_decides_what_is_proved(module: ModuleType, name: str) -> None:
    """One by one, where there is something left to branch on."""
    for value in THRESHOLDS[module][name]:
        with forced() as solver:
            solver.patch.setattr(module, name, value)
            solver.use(TACTICS[-1])
            for seed in range(3):
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

    def make(programme: CutLP, problem: Problem) -> None:
        made(programme, problem)
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


def test_a_small_piece_without_dynamic_programming_is_cut() -> None:
    """Too large for the table over subsets, which memory decides, too, but not to be cut."""
    assert_proved_at_random(1828)


@pytest.mark.long
@pytest.mark.parametrize("block", range(40))
@each("seed", 50)
def test_nothing_together_decides_what_is_proved_thousands_of_times(block: int, seed: int) -> None:
    assert_proved_at_random(1000 + 50 * block + seed)


def test_a_solution_of_the_root_that_is_a_network_is_offered(
    monkeypatch: pytest.MonkeyPatch, real: RealData
) -> None:
    """Its linear programme ends at a network that no start has led to."""
    monkeypatch.setattr(Cutter, "climb", never)
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
