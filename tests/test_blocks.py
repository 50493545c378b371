"""Levels of many sets are gone through block by block: the same numbers, in little memory, in time.

Slow truth: masks over the whole level, which is what the kernels say one family at a time.
"""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from parentage.data.datasets import chest_clinic
from parentage.data.table import MISSING, Table
from parentage.kernels.judging import DEAD
from parentage.scoring import steps
from parentage.scoring.hole_search import HoleSearch
from parentage.scoring.plan import prepare
from parentage.scoring.search import _levels, search
from parentage.scoring.search_state import LevelStore
from parentage.scoring.settings import Scoring
from parentage.scoring.steps import Clock, Outcome, StoppedError
from parentage.scoring.sum_search import SumSearch
from parentage.work.stop import Stop
from strategies import BY_SUMS, make_table, random_columns
from test_forecast import StopAfter

if TYPE_CHECKING:
    from parentage.scoring.plan import SearchPlan

SCORES = [*BY_SUMS, "pnal:0.01", "bic"]


def plan_of(name: str, seed: int = 3) -> SearchPlan:
    table = make_table(random_columns(np.random.default_rng(seed), 9, 40, 3))
    if name.startswith("pnal"):
        codes = table.to_codes().copy()
        codes[0, ::7], codes[3, 1::9] = MISSING, MISSING
        table = Table(table.names, table.states, codes)
    return prepare(table, Scoring(score=name)).plans[0]


def levels_of(plan: SearchPlan, deepest: int = 3) -> list[tuple[Any, Any, Any, int]]:
    """Search level by level: the search, a level, what is below it, and its in-degree."""
    levels, store, found = _levels(plan), LevelStore(), []
    level, below = levels.first()
    for in_degree in range(1, deepest + 1):
        found.append((levels, level, below, in_degree))
        at = store.begin(in_degree, {})
        step = levels.step(level, below, in_degree, True)
        step.run(Outcome(), 1, Clock(Stop(), None, 0.0), at, store)
        if at.new.n_sets < 2:
            break
        level, below = levels.level_of(at.new.fields()), levels.below(level)
    return found


def prices_by_masks(levels: SumSearch, level: Any, below: Any) -> tuple[Any, Any]:
    """The least price and the fewest cells of live families, per child."""
    price = np.full(levels.encoded.n_variables, 2**62, np.int64)
    cells = np.full(levels.encoded.n_variables, levels.n_rows, np.int64)
    facts = levels.facts
    for a in range(level.members.shape[1]):
        alive = level.best[:, a] < DEAD
        x, pi = level.members[alive, a].astype(np.int64), level.subsets[alive, a]
        own = below.minus[pi, facts.column[x]] + facts.constant[x] - below.value[pi]
        np.minimum.at(price, x, own)
        np.minimum.at(cells, x, level.occupied[alive])
    return price, cells


def counts_cells_by_masks(levels: SumSearch, level: Any, size: int, by_cells: bool) -> bool:
    facts, alive = levels.facts, level.best < DEAD
    top = np.full(len(facts.kind), -DEAD, np.int64)
    np.maximum.at(top, level.members[alive], level.best[alive])
    cells = min(levels.n_rows, max(levels.multisets.products(size)))
    fires = top - facts.slack >= -facts.residual - facts.log_arity * cells
    return by_cells and bool(fires.any())


@pytest.mark.parametrize("name", SCORES)
def test_the_size_of_blocks_changes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for levels, level, below, in_degree in levels_of(plan_of(name)):
        found = []
        for size in (2**20, 5, 1):
            monkeypatch.setattr(steps, "SETS_AT_ONCE", size)
            step = levels.step(level, below, in_degree, True)
            bounds = [levels.beyond(level, below, in_degree - more) for more in (0, 1)]
            cells = getattr(step, "cells", None)
            found.append([*step.siblings, step.pairs, *bounds, np.array([cells])])
        for others in found[1:]:
            for one, other in zip(found[0], others, strict=True):
                assert one.dtype == other.dtype
                assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("name", BY_SUMS)
def test_prices_and_cells_are_those_of_masks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from parentage.kernels.judging import CELLS
    from parentage.kernels.sums import least_of_live

    monkeypatch.setattr(steps, "SETS_AT_ONCE", 5)
    for seed in range(3):
        for levels, level, below, in_degree in levels_of(plan_of(name, seed)):
            n = levels.encoded.n_variables
            price, cells = np.full(n, 2**62, np.int64), np.full(n, levels.n_rows, np.int64)
            least_of_live(level, below.value, below.minus, levels.facts, price, cells)
            slow_price, slow_cells = prices_by_masks(levels, level, below)
            assert price.tolist() == slow_price.tolist()
            assert cells.tolist() == slow_cells.tolist()
            by_cells = bool(levels.facts.rules >> CELLS & 1)
            slow = counts_cells_by_masks(levels, level, in_degree + 1, by_cells)
            assert levels.counts_cells(level, in_degree + 1) is slow


def test_rows_of_live_families_are_those_of_masks() -> None:
    from parentage.kernels.holes import rows_of_live

    for levels, level, *_ in levels_of(plan_of("pnal:0.01")):
        assert isinstance(levels, HoleSearch)
        most, slow = np.ones((2, levels.encoded.n_variables), np.int64)
        rows_of_live(level.members, level.rows, level.best, most)
        for a in range(level.members.shape[1]):
            alive = level.best[:, a] < DEAD
            np.maximum.at(slow, level.members[alive, a], level.rows[alive])
        assert most.tolist() == slow.tolist()


@pytest.mark.parametrize("name", ["bdeu:1", "k2", "qnml", "pnal:0.01", "bic"])
def test_no_level_is_copied(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies beyond a level of many sets takes the memory of a block."""
    levels, level, below, in_degree = levels_of(plan_of(name))[-1]
    times = 2**17 // len(level.members)
    fields = [np.concatenate([part] * times) for part in levels.fields(level)]
    many = levels.level_of(fields)
    monkeypatch.setattr(steps, "SETS_AT_ONCE", 2**10)
    expected = levels.beyond(level, below, in_degree)
    if isinstance(levels, SumSearch):
        levels.counts_cells(many, in_degree + 1)
    tracemalloc.start()
    try:
        found = levels.beyond(many, below, in_degree)
        if isinstance(levels, SumSearch):
            levels.counts_cells(many, in_degree + 1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.tobytes() == expected.tobytes()
    assert peak < 2**17 < sum(part.nbytes for part in fields) // 10


@pytest.mark.parametrize("name", SCORES)
def test_looking_through_a_level_ends_in_time(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    levels, level, below, in_degree = levels_of(plan_of(name), 2)[-1]
    monkeypatch.setattr(steps, "SETS_AT_ONCE", 5)
    assert len(level.members) > 10

    def over() -> None:
        raise StoppedError("time")

    with pytest.raises(StoppedError):
        levels.step(level, below, in_degree, True, over)


def test_cells_are_looked_for_no_longer_than_there_is_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    levels, level, _, in_degree = levels_of(plan_of("bdeu:1"), 2)[-1]
    assert isinstance(levels, SumSearch)
    monkeypatch.setattr(steps, "SETS_AT_ONCE", 5)
    dead = level._replace(best=np.full_like(level.best, DEAD))  # nothing fires

    def over() -> None:
        raise StoppedError("time")

    with pytest.raises(StoppedError):
        levels.counts_cells(dead, in_degree + 1, over)


@pytest.mark.parametrize("name", ["bdeu:1", "k2", "fnml", "pnal:0.01", "bic"])
def test_bounds_hold_wherever_a_search_ends(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the blocks of a level, too."""
    monkeypatch.setattr(steps, "SETS_AT_ONCE", 7)
    plan = prepare(chest_clinic(200), Scoring(score=name)).plans[0]
    whole = search(plan, Stop())
    to_float, ends = plan.encoded.grid.to_float, set[int | None]()
    for looks in range(60):
        cut = search(plan, StopAfter(looks=[looks]))
        ends.add(cut.complete_to)
        if cut.complete_to is None:
            break
        assert cut.beyond is not None
        for piece in whole.kept:
            if piece.parents.shape[1] <= cut.complete_to:
                continue
            assert (to_float(piece.scores) <= cut.beyond[piece.children] + 1e-9).all()
    assert {1, 2} <= ends
