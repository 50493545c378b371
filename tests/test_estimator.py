"""The estimator: targets, frames in and out, new states, scikit-learn's own checks."""

from __future__ import annotations

import datetime as dt
import pickle
import warnings
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import parentage
import scikit
from parentage.data.datasets import chest_clinic
from parentage.data.table import MISSING, Table
from parentage.errors import InputError, NotFittedError, TableError
from parentage.estimator import ParentageLearner

if find_spec("sklearn") is None:
    pytest.skip("scikit-learn is not installed", allow_module_level=True)

if TYPE_CHECKING:
    from collections.abc import Callable

NOT_FOR_US = {
    "check_estimators_nan_inf": "a missing cell is told by column and row, without the word NaN",
    "check_sample_weights_not_an_array": "X is a frame, an array, a table or a path",
}
"""Checks of scikit-learn that do not pass, and why."""


@pytest.fixture(scope="module")
def labels() -> pd.DataFrame:
    table = chest_clinic(300)
    return pd.DataFrame(
        {
            name: np.array(states)[codes]
            for name, states, codes in zip(table.names, table.states, table.to_codes(), strict=True)
        }
    )


def test_scikit_learns_own_checks() -> None:
    """With numbers cut at medians, because the checks fit random numbers; forests, to be quick."""
    learner = ParentageLearner(discretize="median", max_parents=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = scikit.check_estimator(learner, on_skip=None, on_fail=None)
    failed = {r["check_name"] for r in results if r["status"] == "failed"}
    passed = {r["check_name"] for r in results if r["status"] == "passed"}
    assert failed == set(NOT_FOR_US), [r["exception"] for r in results if r["status"] == "failed"]
    assert len(passed) >= 30
    assert {"check_fit_idempotent", "check_estimators_pickle", "check_dict_unchanged"} <= passed


def test_y_is_one_more_column_and_the_target(labels: pd.DataFrame) -> None:
    X, y = labels.drop(columns="dysp"), labels["dysp"]
    learner = ParentageLearner().fit(X, y)
    assert learner.target_ == "dysp"
    assert learner.n_features_in_ == 7
    assert list(learner.feature_names_in_) == list(X.columns)
    assert learner.classes_.tolist() == ["no", "yes"]
    whole = ParentageLearner(target="dysp").fit(labels)
    assert whole.network_ == learner.network_
    shares = learner.predict_proba(X)
    assert shares == pytest.approx(whole.predict_proba(labels))
    assert shares == pytest.approx(whole.predict_proba(X))  # the target may be absent
    for i in (0, 17, 299):
        row = {name: str(value) for name, value in X.iloc[i].items()}
        expected = learner.parameters_.query(row, targets=["dysp"])["dysp"]
        assert shares[i].tolist() == pytest.approx(list(expected.values()))
    assert learner.predict(X).tolist() == [["no", "yes"][k] for k in shares.argmax(1)]
    assert np.mean(learner.predict(X) == y) > 0.7
    assert learner.score(X, y) == pytest.approx(whole.score(labels))
    assert learner.score(X) > learner.score(X, y)  # y summed over
    assert learner.score_samples(X).mean() == pytest.approx(learner.score(X))


@pytest.mark.parametrize(
    "values",
    [
        [0, 1], [0.0, 1.0], [False, True], ["no", "yes"], [10, 9],
        [np.datetime64("2024-01-01"), np.datetime64("2024-02-01")],
    ],
)  # fmt: skip
def test_predictions_are_of_the_kind_of_y(values: list[Any], labels: pd.DataFrame) -> None:
    X = labels.drop(columns="dysp").to_numpy()
    if isinstance(values[0], np.datetime64):
        y: Any = pd.Series(np.array(values)[(labels["dysp"] == "yes").astype(int)])
    else:
        y = np.array(values)[(labels["dysp"] == "yes").astype(int)]
    learner = ParentageLearner().fit(X, y)
    named = ParentageLearner().fit(X, labels["dysp"].to_numpy())
    found = learner.predict(X)
    expected = np.array(values)[(named.predict(X) == "yes").astype(int)]
    assert (np.asarray(found).astype(expected.dtype) == expected).all()
    assert learner.target_ == "y"
    assert learner.network_.names[-1] == "y"


def test_scorers_that_need_probabilities(labels: pd.DataFrame) -> None:
    X, y = labels.drop(columns="dysp"), labels["dysp"]
    learner = ParentageLearner(max_parents=2)
    assert not scikit.is_classifier(learner)
    losses = scikit.cross_val_score(
        learner, X, y, cv=scikit.KFold(3), scoring="neg_log_loss", error_score="raise"
    )
    areas = scikit.cross_val_score(
        learner, X, y, cv=scikit.KFold(3), scoring="roc_auc", error_score="raise"
    )
    right = scikit.cross_val_score(
        learner, X, y, cv=scikit.KFold(3), scoring="accuracy", error_score="raise"
    )
    assert (losses > -0.69).all()
    assert (areas > 0.7).all()
    assert (right > 0.6).all()
    assert scikit.is_classifier(learner.fit(X, y))
    assert not scikit.is_classifier(learner.fit(labels))
    assert not hasattr(learner, "classes_")


@pytest.mark.no_cover
def test_grid_search_over_parents_criterion_and_smoothing(labels: pd.DataFrame) -> None:
    grid = {
        "max_parents": [1, 2],
        "criterion": ["bic", "bdeu:1", "bdeu:10"],
        "smoothing": [0.1, 5.0],
    }
    search = scikit.GridSearchCV(ParentageLearner(), grid, cv=scikit.KFold(2), error_score="raise")
    search.fit(labels)
    results = search.cv_results_
    for params, score in zip(results["params"], results["mean_test_score"], strict=True):
        folds = []
        for train, test in scikit.KFold(2).split(labels):
            fitted = ParentageLearner(**params).fit(labels.iloc[train])
            theta = fitted.network_.fit(fitted.table_, smoothing=params["smoothing"])
            rows = [
                theta.query(dict(row)).log_probability
                for _, row in labels.iloc[test[:5]].iterrows()
            ]
            assert fitted.score_samples(labels.iloc[test[:5]]) == pytest.approx(rows)
            folds.append(fitted.score(labels.iloc[test]))
        assert score == pytest.approx(np.mean(folds))


def test_refusals(labels: pd.DataFrame) -> None:
    X, y = labels.drop(columns="dysp"), labels["dysp"]
    with pytest.raises(
        InputError, match=r"nothing to predict: fit\(X, y\) makes y the target; pass target="
    ):
        ParentageLearner().fit(labels).predict(X)
    with pytest.raises(TableError, match="no column 'disp'; did you mean 'dysp'"):
        ParentageLearner(target="disp").fit(labels)
    with pytest.raises(TableError, match="X has a column 'dysp' as well as y"):
        ParentageLearner().fit(labels, y)
    with pytest.raises(TableError, match="X has 300 rows and y has 299"):
        ParentageLearner().fit(X, y[:-1])
    with pytest.raises(TableError, match=r"y has shape \(300, 2\)"):
        ParentageLearner().fit(X, np.ones((300, 2)))
    with pytest.raises(InputError, match="y can be passed with a frame or an array"):
        ParentageLearner().fit(chest_clinic(50), y[:50])
    with pytest.raises(TableError, match=r"continuous.*\n.*\n  parentage\.ParentageLearner\(discr"):
        ParentageLearner().fit(np.random.default_rng(0).random((50, 3)))
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(TableError, match=r"is a sparse matrix; pass its toarray\(\)"):
        ParentageLearner().fit(sparse.eye(4).tocsr())
    asks: list[Callable[[ParentageLearner], object]] = [
        lambda e: e.predict(X), lambda e: e.predict_proba(X), lambda e: e.score(X),
        lambda e: e.impute(X), lambda e: e.sample(3), lambda e: e.score_samples(X),
    ]  # fmt: skip
    for ask in asks:
        with pytest.raises(NotFittedError, match="call fit first"):
            ask(ParentageLearner())


def test_one_row_and_constant_columns(labels: pd.DataFrame) -> None:
    X, y = labels.drop(columns="dysp"), labels["dysp"]
    learner = ParentageLearner().fit(X, y)
    shares = learner.predict_proba(X)
    for i in (0, 5):
        assert learner.predict_proba(X.iloc[[i]])[0] == pytest.approx(shares[i])
        assert learner.predict_proba(X.to_numpy()[[i]])[0] == pytest.approx(shares[i])
        assert np.isfinite(learner.score(X.iloc[[i]], y.iloc[[i]]))
    same = X[X["smoke"] == "no"].head(20)
    assert learner.predict(same).shape == (20,)
    assert np.isfinite(learner.score(same))


def test_unseen_states(labels: pd.DataFrame) -> None:
    X, y = labels.drop(columns="dysp"), labels["dysp"]
    new = X.head(3).copy()
    new.loc[1, "smoke"] = "sometimes"
    strict = ParentageLearner().fit(X, y)
    with pytest.raises(
        TableError, match="column 'smoke' has the state 'sometimes', which was never seen"
    ):
        strict.predict(new)
    declared = X.assign(smoke=pd.Categorical(X["smoke"], ["no", "sometimes", "yes"]))
    assert np.isfinite(ParentageLearner().fit(declared, y).score_samples(new)).all()


def mixed(n: int = 240) -> pd.DataFrame:
    """A frame with a column of every kind, each depending on the one before."""
    rng = np.random.default_rng(5)
    a = rng.integers(0, 2, n)

    def noisy(column: Any, states: int = 2) -> Any:
        return np.where(rng.random(n) < 0.1, rng.integers(0, states, n), column)

    days = np.array([dt.date(2024, 1, 1), dt.date(2024, 2, 1)], object)
    return pd.DataFrame(
        {
            "text": np.array(["no", "yes"], object)[a],
            "plain": pd.Categorical.from_codes(noisy(a), ["x", "y", "never"]),
            "ordered": pd.Categorical.from_codes(noisy(a), ["low", "high"], ordered=True),
            "nullable": pd.array(noisy(a) * 5, dtype="Int64"),
            "flag": pd.array(noisy(a).astype(bool), dtype="boolean"),
            "day": pd.to_datetime(pd.Series(days[noisy(a)])).to_numpy(),
            "number": noisy(a) + rng.random(n) / 2,
        },
        index=pd.RangeIndex(100, 100 + n),
    )


def test_pandas_stays_pandas() -> None:
    frame = mixed()
    learner = ParentageLearner(discretize="median").fit(frame)
    drawn = learner.sample(50, seed=3)
    assert isinstance(drawn, pd.DataFrame)
    assert drawn.dtypes.to_dict() == frame.dtypes.to_dict()
    assert set(drawn["plain"]) <= {"x", "y", "never"}
    assert set(drawn["number"]) <= set(frame["number"])
    holes = frame.copy()
    gone = np.random.default_rng(1).random(frame.shape) < 0.15
    for j, name in enumerate(frame.columns):
        holes.loc[gone[:, j], name] = None
    whole = learner.impute(holes)
    assert isinstance(whole, pd.DataFrame)
    assert whole.dtypes.to_dict() == frame.dtypes.to_dict()
    assert whole.index.equals(frame.index)
    assert not whole.isna().any().any()
    for j, name in enumerate(frame.columns):
        assert (whole[name] == frame[name])[~gone[:, j]].all()
        if name != "number":
            assert (whole[name] == frame[name])[gone[:, j]].mean() > 0.7
    cut = learner.table_.cuts["number"][0]
    assert ((whole["number"] > cut) == (frame["number"] > cut)).mean() > 0.9
    assert learner.impute(frame).equals(frame)
    assert pickle.loads(pickle.dumps(learner)).impute(holes).equals(whole)  # noqa: S301  # our own


def test_polars_and_arrow_stay_what_they_are() -> None:
    frame = pl.from_pandas(mixed()).with_columns(
        pl.col("plain").cast(pl.String).cast(pl.Enum(["x", "y", "never"])),
        pl.col("day").cast(pl.Date),
    )
    rng = np.random.default_rng(1)
    holes = frame.with_columns(
        pl.when(pl.Series(rng.random(len(frame)) < 0.85)).then(pl.col(name)).alias(name)
        for name in frame.columns
    )
    learner = ParentageLearner(discretize="median").fit(frame)
    for found in (learner.impute(holes), learner.sample(40, seed=1)):
        assert isinstance(found, pl.DataFrame)
        assert found.schema == frame.schema
        assert not any(found.null_count().row(0))
    kept = holes.select(pl.all().is_not_null())
    filled = learner.impute(holes)
    for name in frame.columns:
        assert (filled[name] == frame[name]).filter(kept[name]).all()
    arrow = frame.select("text", "nullable", "flag", "day").to_arrow()
    learner.fit(arrow)
    drawn = learner.sample(10, seed=1)
    assert isinstance(drawn, pa.Table)
    assert drawn.schema.types == arrow.schema.types
    assert learner.impute(arrow).equals(arrow)


def test_arrays_stay_arrays(labels: pd.DataFrame) -> None:
    numbers = (labels == "yes").to_numpy().astype(float)
    learner = ParentageLearner().fit(numbers)
    holes = numbers.copy()
    holes[3, 2] = holes[7, 5] = np.nan
    whole = learner.impute(holes)
    assert whole.dtype == numbers.dtype
    assert np.isfinite(whole).all()
    assert (whole == numbers).mean() > 0.99
    assert learner.sample(5, seed=1).dtype == numbers.dtype
    texts = labels.to_numpy()
    learner.fit(texts)
    assert set(learner.sample(30, seed=1).ravel()) == {"no", "yes"}
    assert isinstance(ParentageLearner().fit(chest_clinic(60)).sample(4), Table)


def test_a_frame_with_everything_missing_in_a_column_is_filled(labels: pd.DataFrame) -> None:
    learner = ParentageLearner().fit(labels)
    rows = labels.head(10).copy()
    rows["either"] = None
    whole = learner.impute(rows, how="joint")
    assert (whole["either"] == labels["either"].head(10)).all()
    assert whole["either"].dtype == labels["either"].dtype


@pytest.mark.parametrize("missing", ["pnal", "pnal:0.02", "em"])
def test_a_table_with_missing_values_is_predicted_as_it_was_learned(missing: str) -> None:
    table = chest_clinic(200)
    codes = table.to_codes().copy()
    codes[3, ::7] = MISSING
    holes = Table(table.names, table.states, codes)
    learner = ParentageLearner(missing=missing, target="dysp").fit(holes)
    assert learner.predict(holes).shape == (200,) and learner.score(holes) < 0


@pytest.mark.parametrize("missing", ["drop", "state", "mode"])
def test_predicting_with_missing_cells_keeps_every_row(missing: str, labels: pd.DataFrame) -> None:
    X, y = labels.drop(columns="dysp"), labels["dysp"]
    holes = X.astype(object).mask(np.random.default_rng(0).random(X.shape) < 0.02)
    learner = ParentageLearner(missing=missing).fit(holes, y)
    assert learner.predict(holes).shape == (300,)
    assert learner.sample(5, seed=1).shape == (5, 7)


def test_messages_name_what_the_estimator_accepts(labels: pd.DataFrame) -> None:
    numbered = labels.assign(patient=[f"p{i}" for i in range(len(labels))])
    with pytest.raises(InputError) as told:
        ParentageLearner().fit(numbered)
    *_, lead, call = str(told.value).split("\n")
    assert lead == "Use in place of X (or let auto=True decide the same):"
    assert call.strip() == "parentage.read_table(X, drop=['patient'])"
    with pytest.raises(InputError, match=r"\n  parentage\.ParentageLearner\(missing='pnal'\)"):
        ParentageLearner().fit(labels.mask(np.random.default_rng(0).random(labels.shape) < 0.3))
    with pytest.raises(InputError) as told:
        parentage.read_table(numbered)
    assert str(told.value).endswith("read_table(frame, drop=['patient'])")
    table = parentage.read_table(numbered, drop=["patient"])
    assert ParentageLearner().fit(table).network_ == ParentageLearner().fit(labels).network_
