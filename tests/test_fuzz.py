"""A little of the fuzzing harness with fixed seeds, and every failure it ever kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fuzz import faults, files, shrink, tables
from fuzz.__main__ import REGRESSIONS, read_question
from fuzz.truth import Question, best_total, families, has_cycle

if TYPE_CHECKING:
    from collections.abc import Callable


def failures(run: Callable[[int], object], seeds: int) -> dict[int, AssertionError]:
    """Run all seeds; return those that found a fault, with what they say."""
    found = {}
    for seed in range(seeds):
        try:
            run(seed)
        except AssertionError as error:
            found[seed] = error
    return found


def test_random_tables_agree_with_the_truth() -> None:
    assert failures(tables.run, 120) == {}


@pytest.mark.no_cover
def test_damaged_files_are_read_or_refused() -> None:
    assert failures(files.run, 4000) == {}


@pytest.mark.parametrize("seed", [2, 5])
def test_faults_leave_nothing_half_done(seed: int) -> None:
    faults.run(seed)


def test_what_failed_once_is_tried_again() -> None:
    for path in REGRESSIONS.glob("[0-9]*-*"):
        files.check((path.name.partition("-")[2], path.read_bytes()))
    for path in REGRESSIONS.glob("table-*.json"):
        tables.check(read_question(path))
    assert REGRESSIONS.is_dir()


@pytest.mark.filterwarnings("ignore::parentage.errors.ParentageWarning")
def test_every_format_is_damaged() -> None:
    names = {name for name, _ in files.originals()}
    drawn = {files.make(seed)[0] for seed in range(500)}
    assert drawn == names
    for name, data in files.originals():
        files.reader_of(name)(name, data)  # undamaged they are read


def test_the_harness_notices(monkeypatch: pytest.MonkeyPatch) -> None:
    """A set left out of the lists, a crash and a slow reader are found, and made small."""
    right = tables._score

    def forgetful(question: Question) -> object:
        lists = right(question)
        kept = {
            name: [(c.score, list(c.parents)) for c in lists[name] if len(c.parents) != 1]
            for name in lists
        }
        return type(lists).from_families(kept)

    monkeypatch.setattr(tables, "_score", forgetful)
    question = tables.make(0)
    seed = next(
        s for s in range(200) if shrink.failing(tables.check, AssertionError)(tables.make(s))
    )
    question = tables.make(seed)
    small = shrink.small_question(question, shrink.failing(tables.check, AssertionError))
    assert small.rows <= question.rows
    with pytest.raises(AssertionError):
        tables.check(small)

    def crash(_name: str, data: bytes) -> object:
        return 1 / (b"\0" not in data)

    monkeypatch.setattr(files, "reader_of", lambda _: crash)
    fails = shrink.failing(files.check, ZeroDivisionError)
    assert shrink.smallest(b"abc\0def" * 5, lambda fewer: fails(("x", fewer))) == b"\0"


def test_the_truth_by_hand() -> None:
    question = Question(((0, 0, 1, 1), (0, 0, 1, 1)), (2, 2))
    scores = families(question)
    assert len(scores) == 4
    empty = 4 * -0.6931471805599453 - 0.6931471805599453
    assert scores[0, ()] == pytest.approx(empty)
    assert scores[1, (0,)] == pytest.approx(-2 * 0.6931471805599453)
    assert best_total(question, scores) == pytest.approx(empty - 2 * 0.6931471805599453)
    assert has_cycle([(1,), (0,)])
    assert not has_cycle([(), (0,)])
