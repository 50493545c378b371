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
from parentage.kernels.judging import DEAD, N_RULES
from parentage.scoring.measures import measure as measures
from parentage.scoring.measures.measure import (
    Measure,
    arrays_of,
    best_of,
    level_of,
    with_single_parents,
)
from parentage.scoring.measures.missing import MissingMeasure
from parentage.scoring.measures.sums import SumMeasure
from parentage.scoring.search import levels
from parentage.scoring.search.levels import LevelSearch, LevelStep
from parentage.scoring.search.plan import encode_plans, prepare_search
from parentage.scoring.settings import Scoring
from parentage.work.context import Context
from parentage.work.executor import nothing
from parentage.work.stop import Stop, StoppedError
from strategies import BY_SUMS, make_table, random_columns
from test_forecast import StopAfter
from tuned import tune

if TYPE_CHECKING:
    from parentage.scoring.search.plan import SearchPlan

SCORES = [*BY_SUMS, "pnal:0.01", "bic"]


def plan_of(name: str, seed: int = 3) -> SearchPlan:
    table = make_table(random_columns(np.random.default_rng(seed), 9, 40, 3))
    if name.startswith("pnal"):
        codes = table.to_codes().copy()
        codes[0, ::7], codes[3, 1::9] = MISSING, MISSING
        table = Table(table.names, table.states, codes)
    return encode_plans(prepare_search(table, Scoring(score=name)))[0]


def step_of(measure: Measure, level: Any, below: Any, check: Any = nothing) -> LevelStep:
    """The step from a level; Bin of single parents, which it needs, is not looked at here."""
    alone = measure.best_alone(measure.first()[0])
    if len(alone) and level.members.shape[1] == 2:
        alone = with_single_parents(alone, level)
    terms = measure.terms(level, below, True, check)
    return LevelStep(level, len(below[0]), measure.facts(level, alone), terms, True, check)


def levels_of(plan: SearchPlan, deepest: int = 3) -> list[tuple[Any, Any, Any, int]]:
    """Search level by level: the measure, a level, the columns below it, and its in-degree."""
    measure, found, search = plan.measure, [], LevelSearch(plan, Context())
    first, below = measure.first()
    level = search.state.bins.first_level(first)
    for in_degree in range(1, deepest + 1):
        found.append((measure, level, below, in_degree))
        search.state.begin(in_degree, {})
        search._do(step_of(measure, level, below), search.context)
        new = search.state.new
        if new.n_sets < 2:
            break
        below = level.columns
        level = level_of(new.fields(), search.state.bins.values())
    return found


def joins_of(step: LevelStep) -> Any:
    """The joins before each set, and the set that is found for every number of joins."""
    before = np.array([step.joins_before(i) for i in range(len(step.level.members) + 1)])
    found = [step.set_after(joins) for joins in range(step.joins + 2)]
    assert found == (np.searchsorted(before, range(step.joins + 2), side="right") - 1).tolist()
    children, prefix = step.siblings[0], step.level.subsets[:, -1]
    later = children[prefix + 1] - np.arange(len(prefix)) - 1
    assert before.tolist() == [0, *np.cumsum(later).tolist()] and step.joins == before[-1]
    return before


def prices_by_masks(measure: SumMeasure, level: Any, below: Any) -> tuple[Any, Any]:
    """The least price and the fewest cells of live families, per child."""
    price = np.full(measure.encoded.n_variables, 2**62, np.int64)
    cells = np.full(measure.encoded.n_variables, measure.n_rows, np.int64)
    for a in range(level.members.shape[1]):
        alive = best_of(level)[:, a] < DEAD
        x, pi = level.members[alive, a].astype(np.int64), level.subsets[alive, a]
        own = below[1][pi, measure.column[x]] + measure.constant[x] - below[0][pi]
        np.minimum.at(price, x, own)
        np.minimum.at(cells, x, level.columns[2][alive])
    return price, cells


def counts_cells_by_masks(measure: SumMeasure, level: Any, size: int, by_cells: bool) -> bool:
    best = best_of(level)
    alive = best < DEAD
    top = np.full(len(measure.kind), -DEAD, np.int64)
    np.maximum.at(top, level.members[alive], best[alive])
    cells = min(measure.n_rows, max(measure.multisets.products(size)))
    fires = top - measure.slack >= -measure.plan.h - measure.log_arity * cells
    return by_cells and bool(fires.any())


@pytest.mark.parametrize("name", SCORES)
def test_the_size_of_blocks_changes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for measure, level, below, in_degree in levels_of(plan_of(name)):
        found = []
        for size in (2**20, 5, 1):
            tune(monkeypatch, measures, sets_at_once=size)
            tune(monkeypatch, levels, prefixes_at_once=size)
            step = step_of(measure, level, below)
            bounds = [measure.beyond(level, below, in_degree - more) for more in (0, 1)]
            cells = getattr(step.terms, "counts_cells", None)
            found.append([*step.siblings, joins_of(step), *bounds, np.array([cells])])
        for others in found[1:]:
            for one, other in zip(found[0], others, strict=True):
                assert one.dtype == other.dtype
                assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("name", BY_SUMS)
def test_prices_and_cells_are_those_of_masks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from parentage.kernels.judging import CELLS
    from parentage.kernels.sums import least_of_live

    tune(monkeypatch, measures, sets_at_once=5)
    for seed in range(3):
        for measure, level, below, in_degree in levels_of(plan_of(name, seed)):
            n = measure.encoded.n_variables
            price, cells = np.full(n, 2**62, np.int64), np.full(n, measure.n_rows, np.int64)
            least_of_live(level, below[0], below[1], measure.column, measure.constant, price, cells)
            slow_price, slow_cells = prices_by_masks(measure, level, below)
            assert price.tolist() == slow_price.tolist()
            assert cells.tolist() == slow_cells.tolist()
            by_cells = bool(measure.plan.rules.mask >> CELLS & 1)
            slow = counts_cells_by_masks(measure, level, in_degree + 1, by_cells)
            assert measure.counts_cells(level, in_degree + 1) is slow


def test_rows_of_live_families_are_those_of_masks() -> None:
    from parentage.kernels.levels import most_of_live

    for measure, level, *_ in levels_of(plan_of("pnal:0.01")):
        assert isinstance(measure, MissingMeasure)
        most, slow = np.ones((2, measure.encoded.n_variables), np.int64)
        rows = np.repeat(level.columns[0][:, None], level.members.shape[1], axis=1)
        most_of_live(level.members, level.bins, rows, most)
        for a in range(level.members.shape[1]):
            alive = level.bins[:, a] >= N_RULES
            np.maximum.at(slow, level.members[alive, a], level.columns[0][alive])
        assert most.tolist() == slow.tolist()


@pytest.mark.parametrize("name", ["bdeu:1", "k2", "qnml", "pnal:0.01", "bic"])
def test_no_level_is_copied(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies beyond a level of many sets takes the memory of a block."""
    measure, level, below, in_degree = levels_of(plan_of(name))[-1]
    times = 2**17 // len(level.members)
    fields = [np.concatenate([part] * times) for part in arrays_of(level)]
    many = level_of(fields, level.values)
    tune(monkeypatch, measures, sets_at_once=2**10)
    expected = measure.beyond(level, below, in_degree)
    if isinstance(measure, SumMeasure):
        measure.counts_cells(many, in_degree + 1)
    tracemalloc.start()
    try:
        found = measure.beyond(many, below, in_degree)
        if isinstance(measure, SumMeasure):
            measure.counts_cells(many, in_degree + 1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.tobytes() == expected.tobytes()
    assert peak < 2**17 < sum(part.nbytes for part in fields) // 10


@pytest.mark.parametrize("name", SCORES)
def test_looking_through_a_level_ends_in_time(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    measure, level, below, _ = levels_of(plan_of(name), 2)[-1]
    tune(monkeypatch, measures, sets_at_once=5)
    assert len(level.members) > 10

    def over() -> None:
        raise StoppedError("time")

    with pytest.raises(StoppedError):
        step_of(measure, level, below, over)


def test_cells_are_looked_for_no_longer_than_there_is_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    measure, level, _, in_degree = levels_of(plan_of("bdeu:1"), 2)[-1]
    assert isinstance(measure, SumMeasure)
    tune(monkeypatch, measures, sets_at_once=5)
    dead = level._replace(bins=np.zeros_like(level.bins))  # nothing fires

    def over() -> None:
        raise StoppedError("time")

    with pytest.raises(StoppedError):
        measure.counts_cells(dead, in_degree + 1, over)


@pytest.mark.parametrize("name", ["bdeu:1", "k2", "fnml", "pnal:0.01", "bic"])
def test_bounds_hold_wherever_a_search_ends(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the blocks of a level, too."""
    tune(monkeypatch, measures, sets_at_once=7)
    plan = encode_plans(prepare_search(chest_clinic(200), Scoring(score=name)))[0]
    whole = LevelSearch(plan, Context(Stop())).run()
    to_float, ends = plan.encoded.grid.to_float, set[int | None]()
    for looks in range(60):
        cut = LevelSearch(plan, Context(StopAfter(looks=[looks]))).run()
        ends.add(cut.complete_to)
        if cut.complete_to is None:
            break
        assert cut.beyond is not None
        for piece in whole.kept:
            if piece.parents.shape[1] <= cut.complete_to:
                continue
            assert (to_float(piece.scores) <= cut.beyond[piece.children] + 1e-9).all()
    assert {1, 2} <= ends
