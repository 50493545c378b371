"""Bin of a stored family is a number of two bytes, or of four where a child has many values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from parentage.kernels.judging import DEAD, N_RULES
from parentage.kernels.levels import number_bins
from parentage.scoring.candidates import score, score_table
from parentage.scoring.search import bins, levels
from parentage.scoring.search.bins import Bins
from parentage.scoring.search.levels import LevelStep
from parentage.scoring.search.state import SearchState
from parentage.scoring.settings import Scoring
from parentage.work.checkpoint import Checkpoint
from parentage.work.context import Context
from parentage.work.stop import Stop
from test_checkpoint import assert_equal, example, go_on
from tuned import tune

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("seed", range(5))
def test_every_value_is_found_by_its_number(seed: int) -> None:
    rng = np.random.default_rng(seed)
    known = Bins(6)
    found: dict[tuple[int, int], int] = {}
    first: dict[tuple[int, int], int] = {}
    for _ in range(4):
        children = rng.integers(0, 6, 30)
        values = rng.integers(-50, 0, 30)
        for x, number, value in zip(children, known.add(children, values), values, strict=True):
            found[int(x), int(number)] = int(value)
            first.setdefault((int(x), int(value)), int(number))
    table = known.values()
    for (x, number), value in found.items():
        assert table.value[table.start[x] + number] == value
    for rule in range(N_RULES):
        assert (table.value[table.start + rule] == DEAD + rule).all()
    members = np.sort(rng.integers(0, 6, (40, 3)), axis=1).astype(np.uint16)
    best = rng.integers(-60, 0, (40, 3))
    best[::5, 1] = DEAD + rng.integers(0, N_RULES, 8)
    for run in (number_bins.interpreted, number_bins.compiled):
        numbers, where = np.empty((40, 3), np.uint16), np.empty(120, np.int32)
        listed = np.empty(120, np.int64)
        count = run(members, best, table, numbers, where, listed)
        unknown = []
        for i, (x, value) in enumerate(zip(members.flat, best.flat, strict=True)):
            expected = value - DEAD if value >= DEAD else first.get((int(x), int(value)), N_RULES)
            assert numbers.flat[i] == expected
            if value < DEAD and (int(x), int(value)) not in first:
                unknown.append((i, int(value)))
        assert unknown == list(zip(where[:count].tolist(), listed[:count].tolist(), strict=True))
        assert unknown


LIMITS = range(16, 24, 3)
"""Values of a child after which numbers are wide: from the start, within a level, or never."""


@pytest.fixture
def widened(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Where numbers became wide: types of levels, and files."""
    found: set[str] = set()
    begin, widen = LevelStep.__init__, SearchState.widened

    def begun(step: LevelStep, *args: Any) -> None:
        begin(step, *args)
        found.add(step.level.bins.dtype.name)

    def noted(state: SearchState, *args: Any) -> Any:
        found.add("file")
        return widen(state, *args)

    monkeypatch.setattr(LevelStep, "__init__", begun)
    monkeypatch.setattr(SearchState, "widened", noted)
    tune(monkeypatch, levels, most_joins=16, fewest_joins=16)
    return found


@pytest.mark.parametrize("name", ["aic", "bdeu:5", "k2"])
def test_wide_numbers_give_the_same_lists(
    name: str, widened: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = score_table(example(5), Scoring(score=name), Context())
    assert widened == {"uint16"}
    for limit in LIMITS:
        tune(monkeypatch, bins, narrow_bins=limit)
        assert_equal(score_table(example(5), Scoring(score=name), Context()), expected)
    assert widened == {"uint16", "uint32"}


@pytest.mark.usefixtures("levels_alone")
@pytest.mark.parametrize("name", ["aic", "k2"])
def test_files_are_widened(
    name: str, widened: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"score": name, "rules": "none", "exchange": tmp_path}
    expected = score(example(9, 10), **options)
    for limit in LIMITS:
        tune(monkeypatch, bins, narrow_bins=limit)
        assert_equal(score(example(9, 10), memory=20_000, **options), expected)
        assert not list(tmp_path.iterdir())
    assert widened >= {"uint16", "uint32"}


def test_a_level_on_disk_is_widened(tmp_path: Path) -> None:
    state = SearchState(exchange=tmp_path)
    state.begin(2, {})
    narrow, wide = np.array([[5, 7]], np.uint16), np.array([[70_000, 8]], np.uint32)
    for _ in range(2):
        state.new.add([narrow, narrow])
        state.new.write()
    state.new.add([narrow, narrow])
    state.new.add([narrow, wide])
    found = state.new.fields()
    assert [array.dtype.name for array in found] == ["uint16", "uint32"]
    assert found[0].tolist() == [[5, 7]] * 4
    assert found[1].tolist() == [[5, 7]] * 3 + [[70_000, 8]]
    assert len(list(tmp_path.glob("*/*"))) == 2  # the narrow file is gone
    state.new.clear()
    state.close()
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("save_always")
def test_a_checkpoint_is_widened(
    widened: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, settings = example(5), Scoring(score="k2", rules="none")
    expected = score_table(table, settings, Context())
    for limit in LIMITS:
        tune(monkeypatch, bins, narrow_bins=limit)
        stop, looks = Stop(), 0

        def cancel(_: object, stop: Stop = stop, last: int = 3 * limit - 44) -> None:
            nonlocal looks
            looks += 1
            if looks == last:
                stop.cancelled.set()

        folder = tmp_path / str(limit)
        context = Context(stop, report=cancel, checkpoint=Checkpoint(folder))
        assert score_table(table, settings, context).known().ended == "interrupt"
        assert_equal(go_on(table, folder, settings), expected)
    assert widened == {"uint16", "uint32", "file"}
