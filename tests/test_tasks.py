"""How a level is cut into tasks, here and elsewhere, and that nothing depends on it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from parentage.scoring.candidates import score_table
from parentage.scoring.search import levels
from parentage.scoring.search.forecast import seconds_for
from parentage.scoring.search.levels import joins_per_task
from parentage.scoring.settings import Scoring
from parentage.scoring.tuning import TUNING
from parentage.work.checkpoint import Checkpoint
from parentage.work.context import Context
from parentage.work.executor import WorkerPool, nothing
from parentage.work.stop import Stop
from strategies import make_table, random_columns
from tuned import tune

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from parentage.data.table import Table
    from parentage.scoring.lists import CandidateLists
    from parentage.work.progress import Progress

AT_ONCE = 65_536


class Elsewhere(WorkerPool):
    """Workers that pretend to be elsewhere: so many, each task done when it is asked for."""

    def __init__(self, size: int) -> None:
        self.size, self.shared, self.tasks = size, (), 0

    def share(self, shared: tuple[Any, ...]) -> None:
        self.shared = shared

    def start(self, function: Callable[..., Any], task: Any, name: str) -> Callable[[], Any]:
        self.tasks += 1
        shared = self.shared
        return lambda: function(*shared, task)

    def result(self, started: Callable[[], Any], poll: Callable[[], None] = nothing) -> Any:
        poll()
        return started()

    def cancel(self, started: object) -> None:
        pass

    def close(self) -> None:
        pass


def seconds(joins: int, rows: int, size: int, left: float = math.inf, returned: int = 0) -> float:
    most = joins_per_task(AT_ONCE, joins, rows, returned, Elsewhere(size), left)
    return seconds_for(most, rows)


def test_tasks_elsewhere_are_as_long_as_feeding_them_needs() -> None:
    rows, long = 1000, 10**12
    assert seconds(long, rows, 2) == pytest.approx(TUNING.shortest_task, rel=1e-5)
    assert seconds(long, rows, 100) == pytest.approx(2 * 100 * TUNING.feeding, rel=1e-5)
    assert seconds(long, rows, 10**6) == pytest.approx(TUNING.longest_task, rel=1e-5)
    assert seconds(long, rows, 2, left=4.0) == pytest.approx(0.2, rel=1e-5)
    least = seconds_for(AT_ONCE, rows)
    assert seconds(long, rows, 2, left=-1.0) == seconds(1000, rows, 9) == least
    fit = joins_per_task(AT_ONCE, long, rows, 50, Elsewhere(100), math.inf)
    assert fit == TUNING.bytes_in_hand // 50


@pytest.mark.parametrize("size", [2, 10, 100, 1000])
@pytest.mark.parametrize("joins", [10**6, 10**8, 10**10, 10**12])
def test_no_other_length_of_tasks_is_much_better(joins: int, size: int) -> None:
    """The time of a level on paper: feeding or working, whichever is longer, and the last task."""

    def takes(length: float) -> float:
        tasks = max(1.0, work / length)
        return max(tasks * TUNING.feeding, work / size) + length

    rows = 1000
    work = seconds_for(joins, rows)
    least = seconds_for(AT_ONCE, rows)
    best = min(takes(least * 1.1**i) for i in range(200))
    assert takes(seconds(joins, rows, size)) <= 1.5 * best


def test_threads_keep_what_fits_a_cache() -> None:
    for workers in (1, 8):
        assert joins_per_task(AT_ONCE, 10**12, 100, 50, workers, math.inf) == AT_ONCE


def example(seed: int) -> Table:
    return make_table(random_columns(np.random.default_rng(seed), 11, 150))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    tune(monkeypatch, levels, most_joins=16)
    tune(monkeypatch, levels, fewest_joins=16)


def counted(
    table: Table, settings: Scoring, workers: WorkerPool | None, saved: Checkpoint | None = None
) -> tuple[CandidateLists, int]:
    """Score; return how many chunks came as well."""
    seen: list[Progress] = []
    return score_table(
        table, settings, Context(workers=workers, report=seen.append, checkpoint=saved)
    ), len(seen)


def assert_same(found: CandidateLists, expected: CandidateLists) -> None:
    assert found.digest == expected.digest
    ours, theirs = found.known().tallies, expected.known().tallies
    for name in ("families", "sets_counted", "families_scored", "pruned", "live_sets", "kept"):
        assert getattr(ours, name) == getattr(theirs, name), name


@pytest.mark.parametrize("score", ["bic", "bdeu:1", "fnml", "qnml"])
@pytest.mark.parametrize("rules", ["default", "none", "all"])
def test_lists_do_not_depend_on_where_a_level_is_cut(score: str, rules: str) -> None:
    for seed in range(3):
        settings = Scoring(score=score, rules=rules, max_parents=4)
        expected, many = counted(example(seed), settings, None)
        found, few = counted(example(seed), settings, Elsewhere(3))
        assert_same(found, expected)
        assert few < many


@pytest.mark.parametrize("seed", range(4))
def test_a_checkpoint_of_threads_goes_on_elsewhere_and_back(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is done is known by its joins, so the rest may be cut in another way."""
    table, settings = example(seed), Scoring(max_parents=4, rules="none")
    expected, chunks = counted(table, settings, None)
    tune(monkeypatch, levels, longest_task=seconds_for(70, table.n_rows))
    random = np.random.default_rng(seed)
    where: list[WorkerPool | None] = [None, Elsewhere(2)] * 4
    for turn, begin in enumerate(where):
        saved = Checkpoint(tmp_path / str(turn))
        stop, at, seen = Stop(), int(random.integers(1, chunks // 5)), 0

        def report(_: Progress, stop: Stop = stop, at: int = at) -> None:
            nonlocal seen
            seen += 1
            if seen == at:
                stop.cancelled.set()

        cut = score_table(
            table, settings, Context(stop, workers=begin, report=report, checkpoint=saved)
        )
        assert cut.known().ended == "interrupt"
        other = Elsewhere(5) if begin is None else None
        found, rest = counted(table, settings, other, Checkpoint(saved.folder))
        assert_same(found, expected)
        assert 0 < rest < chunks


def test_what_is_waited_for_elsewhere_is_left_behind_when_time_is_over() -> None:
    """A task there may take long; nobody waits for its end."""

    class Slow(Elsewhere):
        def result(self, started: Callable[[], Any], poll: Callable[[], None] = nothing) -> Any:
            stop.cancelled.set()
            poll()
            raise AssertionError("waited on")

    stop = Stop()
    found = score_table(example(0), Scoring(max_parents=3), Context(stop, workers=Slow(2)))
    assert found.known().ended == "interrupt" and found.known().complete_to == 0
