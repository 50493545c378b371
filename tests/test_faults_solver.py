"""Proofs that must not be lost, and limits that make no sense."""

from __future__ import annotations

import math
from typing import Any

import pytest

from keywords import for_learn
from parentage.data.table import Table
from parentage.errors import ParentageError
from parentage.optimise import within
from parentage.pipeline import learn
from parentage.scoring.candidates import score
from parentage.scoring.constraints import Constraints
from solving import learn_lists
from strategies import random_table
from test_faults_orders import scaled_lists

SMALL = Table.from_columns({"a": "0011" * 9, "b": "0011" * 8 + "0111", "c": "01" * 18})
NO_NUMBERS: list[tuple[str, Any]] = [
    ("time_limit", -1),
    ("time_limit", math.nan),
    ("gap_limit", -1),
    ("gap_limit", math.nan),
    ("memory", 0),
    ("memory", -5),
    ("seed", -1),
    ("threads", 0),
    ("threads", -2),
]


@pytest.mark.filterwarnings("ignore::parentage.errors.DataWarning")
def test_branch_and_cut_keeps_its_proof_when_nothing_is_left() -> None:
    """Fixing can leave the incumbent's sets alone: that is the proof."""
    for seed in range(60):
        lists = score(random_table(seed, 6, 40))
        proven = learn_lists(lists, engine="branch-and-cut")
        assert proven.optimal, seed
        assert proven.score == pytest.approx(learn_lists(lists, engine="subsets").score)
    for seed in range(6):
        lists = scaled_lists(10.0, seed, 9, 6)
        proven = learn_lists(lists, engine="branch-and-cut")
        assert proven.optimal, seed
        assert proven.score == pytest.approx(learn_lists(lists, engine="subsets").score)


@pytest.mark.parametrize(("setting", "value"), NO_NUMBERS)
def test_limits_that_make_no_sense(setting: str, value: Any) -> None:
    with pytest.raises(ParentageError):
        learn(SMALL, **for_learn(**{setting: value}))
    with pytest.raises(ParentageError):
        learn(score(SMALL), **for_learn(**{setting: value}))


@pytest.mark.parametrize("width", [-1.0, math.nan, math.inf, 1e300])
def test_widths_that_make_no_sense(width: float) -> None:
    with pytest.raises(ParentageError):
        score(SMALL, width=width)


@pytest.mark.parametrize("factor", [0.5, math.nan, math.inf, -1.0])
def test_factors_that_make_no_sense(factor: float) -> None:
    with pytest.raises(ParentageError):
        within(score(SMALL), factor=factor)


def test_limits_beyond_any_number_of_variables_are_none() -> None:
    many = 10**30
    free, lists = learn(SMALL), score(SMALL)
    for limited in (
        learn(SMALL, max_parents=many),
        learn(lists, max_parents=many),
        learn(lists, max_parents={lists.names[0]: many}),
        learn(SMALL, constraints=Constraints(max_parents={lists.names[0]: many})),
    ):
        assert limited.network == free.network
        assert limited.optimal
