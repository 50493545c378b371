"""What a search will cost: the proved bound against real searches, and what sharpens it."""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parentage.cli.score import overview_text
from parentage.data.datasets import chest_clinic
from parentage.errors import ResourceError
from parentage.scoring.candidates import score_table
from parentage.scoring.constraints import Constraints
from parentage.scoring.measures import penalised
from parentage.scoring.overview import overview
from parentage.scoring.search import forecast as forecasts
from parentage.scoring.search.forecast import (
    Forecast,
    extrapolate,
    forecast,
    sharpen,
    sizes_at_most,
    together,
)
from parentage.scoring.search.levels import LevelSearch
from parentage.scoring.search.plan import SearchPlan, encode_plans, prepare_search
from parentage.scoring.settings import Scoring
from parentage.scoring.tuning import Tuning
from parentage.work.context import Context
from parentage.work.stop import Reason, Stop
from parentage.work.tuning import TUNING
from strategies import make_table, random_columns, random_table

if TYPE_CHECKING:
    from parentage.data.table import Table
    from parentage.scoring.encoding import Encoded
    from parentage.scoring.search.state import Outcome

CLOSED_RULES = (None, "thm1p", "thm1", "thm2", "alg1,alg2", "lemma3,alg2", "alg3,alg4", "all")
OPEN_RULES = ("none", "alg1", "alg2", "alg3", "alg4", "lemma3", "thm3pp", "alg1,alg4")


def random_settings(rng: np.random.Generator, table: Table) -> Scoring:
    """Draw a score, rules, limits on parents, a width and constraints."""
    varying = [name for name in table.names if name not in table.constant]
    constraints = None
    if rng.random() < 0.4 and len(varying) > 2:
        parent, child, other = (str(name) for name in rng.permutation(varying)[:3])
        required = (
            frozenset({(parent, child)}) if rng.random() < 0.5 else frozenset[tuple[str, str]]()
        )
        constraints = Constraints(required=required, forbidden=frozenset({(other, parent)}))
    limits: list[int | dict[str, int] | None] = [None, None, 1, 2, 3, {varying[0]: 1}]
    return Scoring(
        score=str(rng.choice(["bic", "aic"])),
        rules=(*CLOSED_RULES, *OPEN_RULES)[rng.integers(len(CLOSED_RULES) + len(OPEN_RULES))],
        max_parents=limits[rng.integers(len(limits))],
        width=(None, None, 0.0, 0.7, 20.0)[rng.integers(5)],
        constraints=constraints,
    )


def sets_by_size(plan: SearchPlan, outcome: Outcome) -> list[int]:
    """What a search counted of every size; the size that is streamed comes last."""
    behind_h = plan.encoded.n_variables + 1 if plan.rules.needs_residuals else 0
    streamed = outcome.sets_counted - behind_h - sum(outcome.live)
    return [*outcome.live, streamed]


def assert_bounded(plan: SearchPlan) -> None:
    """Compare what is known beforehand with what a search counts."""
    outcome = LevelSearch(plan, Context(Stop())).run()
    known, sizes, real = forecast(plan), sizes_at_most(plan), sets_by_size(plan, outcome)
    assert len(sizes) >= len(outcome.live)
    for bound, counted in zip([*sizes, 0], real, strict=False):
        assert counted <= bound
    assert outcome.sets_counted <= known.sets_at_most
    assert known.sets == known.sets_at_most
    if plan.rules.closed:
        assert known.basis == "at most"
    else:
        assert known.basis == "counted"
        assert known.sets == outcome.sets_counted
        assert sizes == [counted for counted in real if counted]


@settings(max_examples=150)
@given(st.integers(0, 2**32 - 1))
def test_no_search_counts_more_than_was_forecast(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = random_table(seed, 7, 60)
    for plan in encode_plans(prepare_search(table, random_settings(rng, table))):
        assert_bounded(plan)


@pytest.mark.long
@pytest.mark.parametrize("block", range(4))
def test_many_searches_count_no_more_than_was_forecast(block: int) -> None:
    for seed in range(1000 * block, 1000 * (block + 1)):
        rng = np.random.default_rng(seed)
        table = random_table(seed, 8, 400)
        for plan in encode_plans(prepare_search(table, random_settings(rng, table))):
            assert_bounded(plan)


def test_a_bound_that_is_too_low_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The harness bites: with half of the sets, it fails."""
    real = penalised.live_sets_at_most

    def greedy(encoded: Encoded, deepest: int, width: float = 0.0) -> list[int]:
        return [level // 2 for level in real(encoded, deepest, width)]

    monkeypatch.setattr(penalised, "live_sets_at_most", greedy)
    with pytest.raises(AssertionError):
        for seed in range(100):
            assert_bounded(encode_plans(prepare_search(random_table(seed, 7, 60), Scoring()))[0])


@dataclass(frozen=True)
class StopAfter(Stop):
    """Ends the work at a given look: the same cut on any machine."""

    looks: list[int] = field(default_factory=lambda: [0])

    def reason(self) -> Reason | None:
        self.looks[0] -= 1
        return "time" if self.looks[0] < 0 else None


@pytest.mark.parametrize("looks", range(5))
def test_a_search_of_a_moment_sharpens_the_forecast(looks: int) -> None:
    plan = encode_plans(
        prepare_search(make_table(random_columns(np.random.default_rng(2), 10, 200)), Scoring())
    )[0]
    known = forecast(plan)
    whole = LevelSearch(plan, Context(Stop())).run()
    outcome = LevelSearch(plan, Context(StopAfter(looks=[looks]))).run()
    sharper = sharpen(known, plan, outcome, spent=2.0)
    assert outcome.sets_counted <= sharper.sets <= sharper.sets_at_most == known.sets_at_most
    assert sharper.seconds >= 2.0
    assert sharper.memory <= known.memory
    if outcome.complete_to is None:
        assert (sharper.basis, sharper.sets) == ("searched", whole.sets_counted)
    else:
        assert sharper.basis == "extrapolated"


@pytest.mark.parametrize("name", ["bic", "bdeu:1", "pnal:0.01"])
def test_compiling_is_no_part_of_the_forecast(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, run = [0.0], LevelSearch.run

    def compiled_first(levels: LevelSearch) -> Outcome:
        clock[0] += 100.0 if clock[0] == 0.0 else 0.5
        return run(levels)

    monkeypatch.setattr(LevelSearch, "run", compiled_first)
    monkeypatch.setattr(time, "process_time", lambda: clock[0])
    assert overview(chest_clinic(), Scoring(score=name)).forecast.seconds == pytest.approx(0.5)


@settings(max_examples=100)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.integers(8, 40))
def test_levels_are_extended_within_the_bound(shares: list[float], n: int) -> None:
    sizes = [n]
    for size, share in enumerate(shares[1:], 2):
        sizes.append(max(1, min(int(share * math.comb(n, size)), 10**12)))
    bound = [math.comb(n, size) for size in range(1, n + 1)]
    extended = extrapolate(sizes, n, bound)
    assert extended[: len(sizes)] == sizes
    assert all(level <= most for level, most in zip(extended, bound, strict=False))
    assert len(extended) <= n


def test_the_forecast_covers_every_search() -> None:
    """A child with required parents has a search of its own."""
    table = chest_clinic(300)
    required = Constraints(required=frozenset({("smoke", "lung"), ("asia", "tub")}))
    for given_settings in (
        Scoring(constraints=required),
        Scoring(constraints=required, rules="none", max_parents=2),
    ):
        counted = score_table(table, given_settings, Context()).known().tallies.sets_counted
        found = overview(table, given_settings, probe_seconds=60.0).forecast
        assert found.sets == counted
        assert found.sets_at_most >= counted


def test_searches_one_after_the_other_add_up() -> None:
    sure = Forecast(5, "counted", 5, 1.0, 100)
    rough = Forecast(7, "extrapolated", 40, 2.0, 300)
    bound = Forecast(9, "at most", 9, 3.0, 200)
    assert together([sure, rough]) == Forecast(12, "extrapolated", 45, 3.0, 300)
    assert together([sure, rough, bound]) == Forecast(54, "at most", 54, 6.0, 300)


@pytest.mark.parametrize(
    ("memory", "said"), [(10**4, r"of memory, .* is free"), (10**30, r"about .* days")]
)
def test_searches_over_all_sets_that_cannot_end_are_refused(
    memory: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forecasts, "available_memory", lambda: memory)
    table = make_table(random_columns(np.random.default_rng(1), 60, 40, 2))
    plan = encode_plans(prepare_search(table, Scoring(rules="none")))[0]
    with pytest.raises(ResourceError, match=said):
        forecasts.refuse_what_cannot_fit(plan, 1)
    forecasts.refuse_what_cannot_fit(encode_plans(prepare_search(table, Scoring()))[0], 1)


def wide_table() -> Table:
    """So many variables that a float does not hold the number of their sets."""
    rng = np.random.default_rng(5)
    return make_table([[0, 1, *map(int, rng.integers(0, 2, 4))] for _ in range(1100)])


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "asked", [Scoring(score="bdeu"), Scoring(score="k2"), Scoring(rules="none")]
)
def test_more_sets_than_a_float_holds(asked: Scoring) -> None:
    table = wide_table()
    found = overview(table, asked)
    said = overview_text(found, table)
    assert "over 1e+300 sets of variables: ages on one core, over 1,000 TB" in said
    assert "of memory: far beyond any machine" in said
    read = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert read["forecast"]["sets_at_most"] == forecasts.MOST_COUNTED
    assert math.isfinite(float(read["forecast"]["memory"]))
    assert read["up_to"][0]["sets"] == 1100 + math.comb(1100, 2)  # what is not too many is exact


def test_more_sets_than_a_float_holds_are_refused() -> None:
    plan = encode_plans(prepare_search(wide_table(), Scoring(rules="none")))[0]
    with pytest.raises(ResourceError, match=r"needs over 1e\+300 sets and over 1,000 TB"):
        forecasts.refuse_what_cannot_fit(plan, 1)


def test_so_many_levels_are_extended_and_added_up() -> None:
    bound = forecasts.all_sets(1100, 1099)
    assert max(bound) == forecasts.MOST_COUNTED
    levels = [1100, math.comb(1100, 2)]
    extended = extrapolate(levels, 1100, bound)
    assert extended[:2] == levels
    assert all(level <= most for level, most in zip(extended, bound, strict=False))
    sure = Forecast(forecasts.MOST_COUNTED, "counted", forecasts.MOST_COUNTED, 1e294, 10**304)
    assert together([sure, sure]).sets == forecasts.MOST_COUNTED


def test_too_little_memory_is_said_with_all_that_is_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where the program and the table alone would fit."""
    monkeypatch.setattr(forecasts, "used_memory", lambda: 300 * 10**6)
    numbers = Tuning()
    chunks = 1 + TUNING.tasks_ahead
    taken = 300 * 10**6 + numbers.kernel_bytes + numbers.bytes_in_hand * chunks
    assert forecasts.room_for_levels(taken + numbers.least_room, 1) == numbers.least_room
    with pytest.raises(ResourceError) as refused:
        forecasts.room_for_levels(taken + 10**6, 1)
    needed = round((taken + numbers.least_room) / 1e6)
    assert f"is not enough: {needed} MB is needed, " in str(refused.value)
    assert "17 MB to start a search" in str(refused.value)
    assert str(refused.value).endswith("pass memory=500000000 or more")
    assert refused.value.text("command line").endswith("type --memory 500MB or more")
