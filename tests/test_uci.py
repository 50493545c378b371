"""The 18 UCI tables of the paper: the same lists however they are searched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from parentage.scoring.candidates import score

if TYPE_CHECKING:
    from real_data import RealData

NAMES = [
    "autos",
    "breast-cancer",
    "cmc",
    "colic",
    "diabetes",
    "flags",
    "glass",
    "heart-h",
    "hepatitis",
    "lymph",
    "primary-tumor",
    "segment",
    "solar-flare",
    "tic-tac-toe",
    "vehicle",
    "vote",
    "vowel",
    "zoo",
]
COUNTED = {"vote": 18_500, "hepatitis": 23_900, "flags": 13_600}
KEPT = {"vote": 1611, "hepatitis": 275, "flags": 249}


@pytest.mark.parametrize("name", NAMES)
def test_live_sets_full_count_and_threads_agree(real: RealData, name: str) -> None:
    table = real.uci(name)
    live = score(table, max_parents=3, threads=1)
    full = score(table, max_parents=3, rules="none", threads=1)
    two = score(table, max_parents=3, threads=2)
    for other in (full, two):
        assert live.parents.tobytes() == other.parents.tobytes()
        assert live.offsets.tobytes() == other.offsets.tobytes()
        assert live.scores.tobytes() == other.scores.tobytes()
    assert (
        live.known().tallies.sets_counted
        <= full.known().tallies.sets_counted + table.n_variables + 1
    )


@pytest.mark.parametrize("name", sorted(COUNTED))
def test_sets_counted_without_a_limit(real: RealData, name: str) -> None:
    lists = score(real.uci(name))
    assert lists.known().tallies.sets_counted <= COUNTED[name]
    assert lists.known().tallies.kept == KEPT[name]


@pytest.mark.parametrize(
    ("rows", "at_most", "kept"),
    [
        (1000, 146_000, 828),
        pytest.param(10_000, 2_445_000, 3474, marks=pytest.mark.long),
    ],
)
def test_alarm_without_a_limit(real: RealData, rows: int, at_most: int, kept: int) -> None:
    table = real.table("alarm_10000.csv").head(rows).observed()
    lists = score(table)
    assert lists.known().tallies.sets_counted <= at_most
    assert lists.known().tallies.kept == kept
