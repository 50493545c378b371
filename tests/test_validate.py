"""Validation against plain loops and scikit-learn's measures."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import parentage
from parentage.answers.validate import (
    EMPTY,
    NAIVE,
    TREE,
    Fold,
    area_under_curve,
    dealt,
    target_measures,
    validate,
)
from parentage.errors import InputError
from strategies import each, random_table, with_holes

if TYPE_CHECKING:
    from parentage.data.table import Table


def rows_of(table: Table) -> list[tuple[int, ...]]:
    """All rows, repeated ones written out."""
    repeats = table.repeats if len(table.repeats) else [1] * table.stored_rows
    codes = table.to_codes()
    return [
        tuple(codes[:, i].tolist()) for i, count in enumerate(repeats) for _ in range(int(count))
    ]


@each("seed", 10)
def test_every_row_is_held_out_once(seed: int) -> None:
    table = random_table(seed, most_rows=60, least_rows=8)
    counts = dealt(table, 4, seed)
    assert counts.sum(axis=0).tolist() == [1] * table.stored_rows
    assert max(counts.sum(axis=1)) - min(counts.sum(axis=1)) <= 1
    held = [row for part in counts for row in rows_of(table.repeated_rows(part))]
    assert sorted(held) == sorted(rows_of(table))


def test_repeated_rows_are_dealt_one_by_one() -> None:
    table = random_table(3, most_rows=16, least_rows=16)
    counted = replace(table, repeats=np.arange(1, table.stored_rows + 1, dtype=np.uint32))
    counts = dealt(counted, 5, seed=1)
    assert counts.sum(axis=0).tolist() == counted.repeats.tolist()
    assert sum(counts.sum(axis=1)) == counted.n_rows


def test_log_likelihoods_are_those_of_a_loop() -> None:
    table = parentage.datasets.chest_clinic(200)
    found = validate(table, scores=["bic", "aic"], folds=4, seed=7)
    counts = dealt(table, 4, 7)
    for name in ("bic", "aic"):
        logs = []
        for part in counts:
            training = table.repeated_rows(counts.sum(axis=0) - part)
            fitted = parentage.learn(training, score=name).network.fit(training)
            for row in rows_of(table.repeated_rows(part)):
                labels = {v: table.states[i][row[i]] for i, v in enumerate(table.names)}
                logs.append(
                    sum(
                        math.log(
                            fitted.probability(
                                v, labels[v], {p: labels[p] for p in fitted.network.parents_of(v)}
                            )
                        )
                        for v in table.names
                    )
                )
        assert found[name].log_likelihood == pytest.approx(np.mean(logs), abs=1e-9)
        assert found[name].error == pytest.approx(
            np.std(logs, ddof=1) / math.sqrt(len(logs)), abs=1e-9
        )
        assert found[name].proven == 4
    gained = found["bic"].log_likelihood - found["aic"].log_likelihood
    assert found["aic"].difference == pytest.approx(gained, abs=1e-9)
    assert found["bic"].difference == 0


@each("seed", 20)
def test_measures_are_those_of_scikit_learn(seed: int) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(seed)
    states, rows = int(rng.integers(2, 5)), 60
    truth = np.concatenate([np.arange(states), rng.integers(0, states, rows)])
    predicted = np.round(rng.dirichlet(np.ones(states), len(truth)), 1) + 1e-3
    predicted /= predicted.sum(axis=1, keepdims=True)
    weights = rng.integers(1, 4, len(truth)).astype(np.float64)
    found = target_measures([Fold(0, None, weights, weights, predicted, truth, weights)])
    own = {"sample_weight": weights}
    assert found.accuracy == pytest.approx(
        metrics.accuracy_score(truth, predicted.argmax(axis=1), **own)
    )
    assert found.log_loss == pytest.approx(metrics.log_loss(truth, predicted, **own))
    last = predicted[:, 1] if states == 2 else predicted
    assert found.brier == pytest.approx(metrics.brier_score_loss(truth, last, **own))
    if states == 2:
        area = metrics.roc_auc_score(truth, predicted[:, 1], **own)
    else:
        area = metrics.roc_auc_score(truth, predicted, multi_class="ovr", average="weighted", **own)
    assert found.auc == pytest.approx(area)


def test_a_perfect_order_has_area_one() -> None:
    assert area_under_curve(np.array([0.1, 0.9]), np.array([False, True]), np.ones(2)) == 1


def test_baselines_and_a_target() -> None:
    table = parentage.datasets.chest_clinic(400)
    found = validate(table, target="dysp", folds=4)
    assert [one.name for one in found.models] == ["bic", EMPTY, TREE, NAIVE]
    assert found[EMPTY].arcs == 0
    assert found[TREE].arcs <= table.n_variables - 1
    assert found[NAIVE].arcs == table.n_variables - 1
    assert found[NAIVE].proven is None
    naive, empty = found[NAIVE].target, found[EMPTY].target
    assert naive is not None
    assert empty is not None
    assert naive.accuracy > empty.accuracy
    assert empty.auc == 0.5
    assert found["bic"].difference_error == 0
    assert found[EMPTY].difference > 3 * found[EMPTY].difference_error
    content = found.to_dict()
    assert content["models"][0]["target"]["auc"] > 0.7


def test_the_seed_decides() -> None:
    table = parentage.datasets.chest_clinic(200)
    one, same, other = (validate(table, folds=3, seed=seed) for seed in (1, 1, 2))
    assert one == same
    assert one != other


def test_missing_values_are_summed_over() -> None:
    found = validate(with_holes(random_table(8, 5, 60, 60), 8), folds=3)
    assert found.models[0].name == "pnal"
    assert math.isfinite(found.models[0].log_likelihood)


def test_bad_requests_are_refused() -> None:
    table = parentage.datasets.chest_clinic(50)
    with pytest.raises(InputError, match="between 2 and 50, the number of rows"):
        validate(table, folds=51)
    with pytest.raises(ValueError, match="dysp"):
        validate(table, target="dyps")
    with pytest.raises(InputError, match="was validated; choose from"):
        _ = validate(table, folds=2)["aic"]


@pytest.mark.parametrize(("rule", "noted"), (("median", 1), ("at:5", 0)))
def test_cut_points_from_the_rows_are_noted(rule: str, noted: int) -> None:
    """Cut points that the user gave do not depend on the held-out rows."""
    columns = {"a": list(range(12)) * 5, "b": ["x", "y"] * 30}
    table = parentage.read_table(pd.DataFrame(columns), discretize={"a": rule})
    assert len(validate(table, folds=2).notes) == noted
