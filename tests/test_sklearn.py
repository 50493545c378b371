"""The estimator among those of scikit-learn: clone, selection of models, pipelines, tags."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
import warnings
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import scikit
from parentage.data.applying import rows_like
from parentage.data.datasets import chest_clinic
from parentage.data.table import Table
from parentage.errors import InputError, NotFittedError, TableError, UnprovenWarning
from parentage.estimator import ParentageLearner
from parentage.scoring.constraints import Constraints

if find_spec("sklearn") is None:
    pytest.skip("scikit-learn is not installed", allow_module_level=True)

if TYPE_CHECKING:
    import numpy.typing as npt


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    table = chest_clinic(300)
    return pd.DataFrame(
        {
            name: pd.Categorical.from_codes(codes, list(states))
            for name, states, codes in zip(table.names, table.states, table.to_codes(), strict=True)
        }
    )


@pytest.fixture(scope="module")
def numbers() -> npt.NDArray[np.float64]:
    """Four columns of continuous numbers, the first three in a chain."""
    rng = np.random.default_rng(7)
    first = rng.normal(size=240)
    second = first + 0.5 * rng.normal(size=240)
    third = second + 0.5 * rng.normal(size=240)
    return np.column_stack([first, second, third, rng.normal(size=240)])


def held_out(learner: ParentageLearner, X: Any, cv: Any) -> list[float]:
    """Scores of every fold, one after the other, without scikit-learn's loop."""
    found = []
    for train, test in cv.split(X):
        fitted = scikit.clone(learner).fit(X.iloc[train])
        parameters = fitted.network_.fit(fitted.table_)
        rows = rows_like(fitted.table_, X.iloc[test])
        found.append(float(np.mean(parameters.log_likelihoods(rows))))
    return found


def test_clone() -> None:
    tiers = Constraints(tiers=(("asia",), ("tub",)))
    learner = ParentageLearner(max_parents={"tub": 1}, constraints=tiers)
    copy = scikit.clone(learner)
    assert copy is not learner
    assert copy.get_params() == learner.get_params()
    assert not hasattr(scikit.clone(learner.fit(chest_clinic(50))), "solution_")


def test_cross_val_score_is_the_mean_log_likelihood_held_out(frame: pd.DataFrame) -> None:
    learner, cv = ParentageLearner(), scikit.KFold(3)
    found = scikit.cross_val_score(learner, frame, cv=cv, error_score="raise")
    assert found.tolist() == pytest.approx(held_out(learner, frame, cv))
    assert (found < 0).all()
    target = frame.pop("dysp")
    with_target = scikit.cross_val_score(learner, frame, target, cv=cv, error_score="raise")
    frame["dysp"] = target
    assert found.tolist() == pytest.approx(with_target.tolist())


def test_kinds_of_input_agree(frame: pd.DataFrame) -> None:
    learner, cv = ParentageLearner(), scikit.KFold(3)
    labels = frame.astype(str)
    expected = scikit.cross_val_score(learner, labels, cv=cv, error_score="raise")
    for same in (pl.from_pandas(labels), labels.to_numpy(), labels.to_numpy().astype("U")):
        found = scikit.cross_val_score(learner, same, cv=cv, error_score="raise")
        assert found.tolist() == pytest.approx(expected.tolist())


def test_grid_search_over_parents_and_criterion(frame: pd.DataFrame) -> None:
    grid = {"max_parents": [0, 1, 2], "criterion": ["bic", "aic"]}
    cv = scikit.KFold(3)
    search = scikit.GridSearchCV(ParentageLearner(), grid, cv=cv, error_score="raise").fit(frame)
    results = search.cv_results_
    for params, score in zip(results["params"], results["mean_test_score"], strict=True):
        learner = ParentageLearner(**params)
        assert score == pytest.approx(np.mean(held_out(learner, frame, cv)))
    best = search.best_estimator_
    assert search.best_params_["max_parents"] > 0
    assert (best.max_parents, best.criterion) == tuple(search.best_params_[k] for k in grid)
    assert best.optimal_
    assert best.solution_.scope.score == best.criterion
    assert search.score(frame) == best.score(frame)
    assert search.n_features_in_ == frame.shape[1]
    assert list(search.feature_names_in_) == list(frame.columns)


@pytest.mark.usefixtures("no_moment")
def test_grid_search_within_a_time_limit_claims_nothing(frame: pd.DataFrame) -> None:
    """Cut lists in the hands of scikit-learn: every fit warns, the best one is not optimal."""
    search = scikit.GridSearchCV(
        ParentageLearner(time_limit=0), {"criterion": ["bic", "aic"]}, cv=scikit.KFold(2)
    )
    with pytest.warns(UnprovenWarning, match="not proven optimal") as warned:
        search.fit(frame)
    assert sum(issubclass(w.category, UnprovenWarning) for w in warned) == 5
    best = search.best_estimator_
    assert not best.optimal_
    assert best.gap_ > 0
    assert best.network_.max_in_degree == 1  # what there is time for at least
    assert math.isfinite(search.best_score_)


def test_several_processes(frame: pd.DataFrame) -> None:
    cv = scikit.KFold(2)
    one = scikit.cross_val_score(ParentageLearner(), frame, cv=cv)
    two = scikit.cross_val_score(ParentageLearner(), frame, cv=cv, n_jobs=2)
    assert one.tolist() == two.tolist()


def test_pipeline_with_a_function_and_nothing(frame: pd.DataFrame) -> None:
    alone = ParentageLearner(max_parents=2).fit(frame)
    steps = [
        ("same", "passthrough"),
        ("function", scikit.FunctionTransformer()),
        ("net", scikit.clone(alone)),
    ]
    pipeline = scikit.Pipeline(steps).fit(frame)
    assert pipeline["net"].network_ == alone.network_
    assert pipeline.score(frame) == alone.score(frame)
    scikit.check_is_fitted(pipeline)
    fewer = scikit.make_pipeline(
        scikit.FunctionTransformer(lambda X: X[["smoke", "lung", "bronc"]]), ParentageLearner()
    ).fit(frame)
    assert fewer[-1].network_.names == ("smoke", "lung", "bronc")


def test_pipeline_with_bins(numbers: npt.NDArray[np.float64]) -> None:
    bins = scikit.KBinsDiscretizer(3, encode="ordinal", quantile_method="averaged_inverted_cdf")
    pipeline = scikit.make_pipeline(bins, ParentageLearner())
    pipeline.fit(numbers)
    learner = pipeline[-1]
    assert learner.table_.names == ("x0", "x1", "x2", "x3")
    assert learner.table_.states[0] == ("0", "1", "2")
    skeleton = {frozenset(arc) for arc in learner.network_.arcs}
    assert skeleton == {frozenset({"x0", "x1"}), frozenset({"x1", "x2"})}
    assert pipeline.score(numbers[:1]) == learner.score(bins.transform(numbers[:1]))
    scores = scikit.cross_val_score(pipeline, numbers, cv=scikit.KFold(4), error_score="raise")
    empty = scikit.make_pipeline(scikit.clone(bins), ParentageLearner(max_parents=0))
    assert scores.mean() > scikit.cross_val_score(empty, numbers, cv=scikit.KFold(4)).mean()
    search = scikit.GridSearchCV(
        pipeline,
        {"kbinsdiscretizer__n_bins": [2, 3], "parentagelearner__max_parents": [0, 2]},
        cv=scikit.KFold(3),
        error_score="raise",
    ).fit(numbers)
    assert search.best_params_ == {
        "kbinsdiscretizer__n_bins": 2,  # fewer states are easier to guess
        "parentagelearner__max_parents": 2,
    }


def test_our_own_cuts_are_those_of_the_training_rows(numbers: npt.NDArray[np.float64]) -> None:
    learner = ParentageLearner(discretize="quantile:3").fit(numbers[:200])
    rows = rows_like(learner.table_, numbers[200:])
    for v, name in enumerate(rows.names):
        cuts = learner.table_.cuts[name]
        expected = [sum(cut <= x for cut in cuts) for x in numbers[200:, v]]
        assert rows.to_codes()[v].tolist() == expected
    scores = scikit.cross_val_score(learner, numbers, cv=scikit.KFold(4), error_score="raise")
    assert np.isfinite(scores).all()


def test_tags() -> None:
    tags = scikit.get_tags(ParentageLearner())
    assert tags.estimator_type == "density_estimator"
    assert not tags.target_tags.required
    assert (tags.input_tags.categorical, tags.input_tags.string) == (True, True)
    assert not tags.input_tags.allow_nan
    assert scikit.get_tags(ParentageLearner(missing="mode")).input_tags.allow_nan
    assert not scikit.is_classifier(ParentageLearner())
    assert not scikit.is_regressor(ParentageLearner())


def test_fitted_or_not(frame: pd.DataFrame) -> None:
    from sklearn.exceptions import NotFittedError as TheirNotFittedError

    learner = ParentageLearner()
    with pytest.raises(TheirNotFittedError):
        scikit.check_is_fitted(learner)
    for attribute in ("network_", "score_", "bound_", "gap_", "optimal_"):
        assert not hasattr(learner, attribute)
        with pytest.raises(NotFittedError, match="has not learned yet; call fit first"):
            getattr(learner, attribute)
    with pytest.raises(InputError, match="call fit first"):
        learner.score(frame)
    scikit.check_is_fitted(learner.fit(frame))


def test_features(frame: pd.DataFrame, numbers: npt.NDArray[np.float64]) -> None:
    learner = ParentageLearner(discretize="median").fit(frame)
    assert learner.n_features_in_ == 8
    assert list(learner.feature_names_in_) == list(frame.columns)
    learner.fit(numbers)
    assert learner.n_features_in_ == 4
    assert not hasattr(learner, "feature_names_in_")
    with pytest.raises(TableError, match="X has 3 features, but ParentageLearner is expecting 4"):
        learner.score(numbers[:, :3])


def test_score_of_rows_alone_and_together(frame: pd.DataFrame) -> None:
    learner = ParentageLearner().fit(frame)
    rows = [learner.score(frame.iloc[i : i + 1]) for i in range(20)]
    assert learner.score(frame.head(20)) == pytest.approx(np.mean(rows))
    table = learner.table_
    assert learner.score(frame) == learner.score(table)
    parameters = learner.network_.fit(table)
    assert learner.score(frame) == pytest.approx(parameters.log_likelihood(table) / 300)


@pytest.mark.parametrize("missing", ["drop", "state", "mode"])
def test_missing_cells_in_folds(missing: str, frame: pd.DataFrame) -> None:
    holes = frame.astype(object).mask(np.random.default_rng(0).random(frame.shape) < 0.02)
    learner = ParentageLearner(missing=missing)
    scores = scikit.cross_val_score(learner, holes, cv=scikit.KFold(3), error_score="raise")
    assert np.isfinite(scores).all()
    with pytest.raises(TableError, match="missing value"):
        ParentageLearner().fit(holes)


def test_pickles_keep_everything(frame: pd.DataFrame) -> None:
    learner = ParentageLearner(max_parents=2, criterion="aic").fit(frame)
    for copy in (
        pickle.loads(pickle.dumps(learner)),  # noqa: S301  # made in this line
        pickle.loads(pickle.dumps(scikit.make_pipeline("passthrough", learner)))[-1],  # noqa: S301  # same
    ):
        assert copy.get_params() == learner.get_params()
        assert copy.solution_ == learner.solution_
        assert copy.candidates_.digest == learner.candidates_.digest
        assert copy.candidates_.account == learner.candidates_.account
        assert copy.table_.digest == learner.table_.digest
        assert list(copy.feature_names_in_) == list(learner.feature_names_in_)
        assert copy.score(frame) == learner.score(frame)
        assert repr(copy.fit(frame)) == repr(learner)
    fresh = pickle.loads(pickle.dumps(ParentageLearner(random_state=3)))  # noqa: S301  # the same
    assert fresh.random_state == 3
    assert not fresh.__sklearn_is_fitted__()


def test_a_pipeline_shows_itself(frame: pd.DataFrame) -> None:
    pipeline = scikit.make_pipeline("passthrough", ParentageLearner(max_parents=2))
    assert "ParentageLearner(max_parents=2)" in repr(pipeline)
    assert "ParentageLearner" in pipeline._repr_html_()
    assert "ParentageLearner" in pipeline.fit(frame)._repr_html_()


def test_scikit_learn_is_not_needed() -> None:
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "from parentage import ParentageLearner, datasets\n"
        "learner = ParentageLearner().fit(datasets.chest_clinic(60))\n"
        "print(learner.score(datasets.chest_clinic(60)), learner.__sklearn_is_fitted__())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[1] == "True"


def test_fits_that_succeed_warn_of_nothing(frame: pd.DataFrame) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = scikit.cross_val_score(
            ParentageLearner(), frame, cv=scikit.KFold(2), error_score="raise"
        )
    assert np.isfinite(found).all()


def test_tables_and_lists_as_input() -> None:
    table = Table.from_columns({"rain": "0011" * 9, "wet": "0011" * 8 + "0111"})
    learner = ParentageLearner().fit(table)
    assert list(learner.feature_names_in_) == ["rain", "wet"]
    with pytest.raises(InputError, match="the estimator learns from tables"):
        ParentageLearner().fit(learner.candidates_)
