"""The whole path as an estimator in the manner of scikit-learn. Thin around the pipeline.

Parameters in the constructor, ``fit``, results that end in an underscore. scikit-learn itself is
not needed: the class follows its conventions without inheriting from it. What the estimator adds
to :func:`parentage.learn` are parameters (:mod:`parentage.network.parameters`) and what can be
asked of them: likelihood, prediction, missing cells, rows drawn.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from parentage import pipeline
from parentage.data.applying import rows_like
from parentage.data.settings import Reading
from parentage.errors import (
    ESTIMATOR,
    OF_READING,
    READER,
    InputError,
    NotFittedError,
    UndecidedError,
    Way,
    did_you_mean,
)
from parentage.features import (
    Originals,
    check_array,
    joined,
    joined_column,
    kind_of,
    name_of_target,
    names_of,
    rows_of,
    weighted,
)
from parentage.network import SMOOTHING
from parentage.optimise.settings import Optimising
from parentage.pipeline import Asked
from parentage.scoring.settings import Growing, Scoring, treatments
from parentage.work.context import Context, Running, Scaling
from parentage.work.settings import made, refuses_wrong_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy.typing as npt

    from parentage.data.table import Table
    from parentage.network.network import Network
    from parentage.network.parameters import Parameters
    from parentage.optimise import Solution
    from parentage.scoring.constraints import Constraints, Prior
    from parentage.scoring.lists import CandidateLists


ELSEWHERE = {name: f"did you mean {own!r}?" for name, own in ESTIMATOR.items() if name != own} | {
    name: f"use parentage.read_table(X, {name}=…) in place of X" for name in OF_READING
}
"""Settings of functions that the estimator does not have, and what to do instead."""


@refuses_wrong_names(ELSEWHERE)
class ParentageLearner:
    """Learn the best network of a data frame.

    Parameters
    ----------
    criterion
        What is maximised, by name: ``"bic"``, ``"aic"``, ``"bdeu:10"`` … (``score`` elsewhere;
        here scikit-learn owns that name.)
    max_parents, constraints, prior
        As in :func:`parentage.learn`.
    missing, discretize
        How to treat missing values and discretise numbers; see :func:`parentage.read_table`.
        For other settings of reading, pass ``fit`` the table that ``read_table`` returns.
    smoothing
        Number added to every count, as in :meth:`parentage.Network.fit`, so that combinations not
        seen in training do not get probability 0.
    target
        Name of the column that ``predict`` predicts, if ``fit`` gets no ``y``.
    time_limit
        Seconds, as in :func:`parentage.learn`.
    n_jobs
        Threads: one by default, −1 for all cores.
    random_state
        Seed of the random numbers.
    auto
        Take the recommended decisions about identifiers, missing values and numbers, and report
        each in a warning; see :func:`parentage.read_table`.

    Attributes
    ----------
    network_
        The network.
    parameters_
        The network with its probabilities.
    score_, bound_, gap_
        Score of the network, upper bound of all scores, and their difference.
    optimal_
        Whether the score is proven to be the highest.
    candidates_
        The candidate lists the network was chosen from.
    solution_
        The :class:`parentage.Solution` with all of these and the search.
    table_
        The data as they were read.
    target_
        Name of the column that ``predict`` predicts; None without a target.
    classes_
        Values of the target; only with a target.
    n_features_in_
        Number of columns of X.
    feature_names_in_
        Names of the columns of X; only if X has names.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"rain": list("0011" * 9), "wet": list("0011" * 8 + "0111")})
    >>> learner = ParentageLearner(max_parents=2, target="wet").fit(frame)
    >>> learner.optimal_, learner.network_.n_arcs
    (True, 1)
    >>> learner.predict(pl.DataFrame({"rain": ["1", "0"]})).tolist()
    ['1', '0']
    """

    def __init__(
        self,
        *,
        criterion: str = "bic",
        max_parents: int | Mapping[str, int] | None = None,
        constraints: Constraints | None = None,
        prior: Prior | Mapping[tuple[str, str], float] | float | None = None,
        missing: str = "error",
        discretize: str | Iterable[str] | Mapping[str, str] | None = None,
        target: str | None = None,
        smoothing: float = SMOOTHING,
        time_limit: float | None = None,
        n_jobs: int | None = 1,
        random_state: int | None = 0,
        auto: bool = False,
    ) -> None:
        self.criterion = criterion
        self.max_parents = max_parents
        self.constraints = constraints
        self.prior = prior
        self.missing = missing
        self.discretize = discretize
        self.target = target
        self.smoothing = smoothing
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.auto = auto

    solution_: Solution
    network_: Network
    optimal_: bool
    score_: float
    bound_: float
    gap_: float
    candidates_: CandidateLists
    table_: Table
    parameters_: Parameters
    target_: str | None
    classes_: npt.NDArray[Any]
    n_features_in_: int
    feature_names_in_: npt.NDArray[np.object_]

    def fit(self, X: object, y: object = None, sample_weight: object = None) -> ParentageLearner:
        """Learn from a pandas, polars or pyarrow data frame, an array, a table or a path.

        Parameters
        ----------
        X
            The data, one column per variable. The columns of an array are called x0, x1, …
        y
            One more column, by its own name or ``y``, which ``predict`` will be about.
        sample_weight
            How often each row occurs: whole numbers, 0 or more. None: once, each.

        Warns
        -----
        UnprovenWarning
            When the network is not proven to be the best; the message has the gap.
        """
        reader = READER.set("estimator")
        try:
            return self._fit(X, y, sample_weight)
        except UndecidedError as error:
            raise error.repeating(self._changed()) from None
        finally:
            READER.reset(reader)

    def _fit(self, X: object, y: object, sample_weight: object) -> ParentageLearner:
        from parentage.network.parameters import fit_parameters

        check_array(X)
        target = self.target if y is None else name_of_target(y)
        source = X if y is None else joined(X, y, target or "", None)
        if sample_weight is not None:
            source = counted = weighted(source, sample_weight)
            if counted.empty_lines:
                there = np.flatnonzero(np.asarray(sample_weight, np.float64))
                X, y = rows_of(X, there), None if y is None else rows_of(y, there)
        running = Running(self._threads(), self.time_limit)
        stop = running.stop()
        found = pipeline.run(source, self._asked(), running, Scaling())
        if found.table is None:
            raise InputError("the estimator learns from tables; give lists to parentage.learn")
        if target is not None:
            found.table.index(target)
        self.table_, self.candidates_ = found.table, found.lists
        self.solution_, self.target_ = found, target
        self.network_, self.optimal_ = found.network, found.optimal
        self.score_, self.bound_, self.gap_ = found.score, found.bound, found.gap
        self.parameters_ = fit_parameters(
            found.network, found.table, smoothing=self.smoothing, context=Context(stop)
        )
        self._note_features(X, y)
        return self

    def _asked(self) -> Asked:
        """Return what :func:`parentage.learn` makes of the parameters."""
        given = self.get_params() | {"score": self.criterion}
        scoring, reading = made(Scoring, given), made(Reading, given)
        return Asked(
            lambda *_: scoring,
            Optimising(seed=self._seed),
            Growing(),
            reading=reading,
            ways=treatments(scoring.score),
        )

    def _threads(self) -> int | None:
        """Return the number of threads, None for one per core."""
        if self.n_jobs is not None and (self.n_jobs == 0 or self.n_jobs < -1):
            raise InputError("is not a number of threads; give 1 or more, or -1 for all cores",
                             about=Way("threads", self.n_jobs))  # fmt: skip
        return None if self.n_jobs == -1 else self.n_jobs or 1

    @property
    def _seed(self) -> int:
        return self.random_state or 0

    def _note_features(self, X: object, y: object) -> None:
        """Remember how many columns X had, their names, and what their values looked like."""
        names = tuple(n for n in self.table_.names if y is None or n != self.target_)
        given = names_of(X) or names
        self.n_features_in_ = len(given)
        for gone in ("feature_names_in_", "classes_"):  # those of an earlier fit
            self.__dict__.pop(gone, None)
        if not isinstance(X, np.ndarray):
            self.feature_names_in_ = np.array(given, dtype=object)
        rows = self._rows_with_holes(X, names)
        self._originals = Originals.of(X, rows)
        if self.target_ is not None:
            self.classes_ = self._classes(self.target_, rows, y)

    def _rows_with_holes(self, X: object, names: tuple[str, ...]) -> Table:
        """Return the rows of X as states, read again only if rows were dropped or imputed."""
        account = None if self.table_.recipe is None else self.table_.recipe.account
        as_read = account is not None and not account.missing and not account.rows_dropped
        if kind_of(X) == "table":
            return self.table_
        if as_read or self._missing in ("pnal", "em"):
            return self.table_.select(names)
        return rows_like(
            self.table_.select(names), X, self._missing if self._missing != "drop" else "em"
        )

    def _classes(self, target: str, rows: Table, y: object) -> npt.NDArray[Any]:
        """Values of the target by state: as y or the frame has them, or else labels."""
        labels = self.table_.states[self.table_.index(target)]
        if y is not None:
            column = joined_column(y, target)
            table = rows_like(self.table_.select([target]), column, "em")
            cells = y.tolist() if hasattr(y, "tolist") else list(y)  # type: ignore[call-overload]  # a column, as read
            first = [np.flatnonzero(table.column(0) == k) for k in range(len(labels))]
            values = [
                cells[at[0]] if at.size else label for at, label in zip(first, labels, strict=True)
            ]
        else:
            values = list(self._originals.values.get(target, labels))
        return np.array(values) if len({type(v) for v in values}) == 1 else np.array(values, object)

    def score(self, X: object, y: object = None) -> float:
        """Mean log-likelihood of a row, in nats: higher is better.

        Parameters
        ----------
        X
            Data with the columns that were learned from. Missing cells are treated as they were
            there.
        y
            The column that was ``y`` when learning; without it, it is summed over.
        """
        rows = self._rows(X, y)
        return self.parameters_.log_likelihood(rows) / rows.n_rows

    def score_samples(self, X: object) -> npt.NDArray[np.float64]:
        """Log-likelihood of every row, in nats."""
        rows = self._rows(X)
        return self.parameters_.log_likelihoods(rows)

    def predict_proba(self, X: object) -> npt.NDArray[np.float64]:
        """Probabilities of the target's values in every row, given all other columns.

        The columns are those of ``classes_``. A target in X does not count. Missing cells are
        treated as they were when learning; where rows were left out, they are summed over.
        """
        self._learned()
        if self.target_ is None:
            raise InputError(
                "nothing to predict: fit(X, y) makes y the target",
                Way("target", ..., "to name a column"),
            )
        rows = self._rows(X, every_row=True)
        return self.parameters_.predict(rows, self.target_)

    def predict(self, X: object) -> npt.NDArray[Any]:
        """Most probable value of the target in every row, given all other columns."""
        best = self.predict_proba(X).argmax(axis=1)
        values: npt.NDArray[Any] = self.classes_[best]
        return values

    def impute(self, X: object, how: str = "each") -> Any:
        """Fill missing cells; a frame or an array comes back as what it was.

        Parameters
        ----------
        X
            Rows with missing cells.
        how
            ``"each"`` cell gets its most probable state given the row, or the cells of a row
            ``"joint"`` together. A cell of a cut column gets a typical number of its state.
        """
        self._learned()
        holes = self._rows(X, keep_holes=True)
        whole = self.parameters_.impute(holes, how)  # type: ignore[arg-type]  # checked there
        return self._originals.filled(X, holes, whole)

    def sample(self, n_samples: int = 1, seed: int | None = None) -> Any:
        """Draw rows from the network, as a frame or an array like the one learned from.

        Parameters
        ----------
        n_samples
            How many rows.
        seed
            Seed of the drawing; by default the estimator's.
        """
        self._learned()
        drawn = self.parameters_.sample(n_samples, self._seed if seed is None else seed)
        return self._originals.frame(drawn)

    def _rows(
        self, X: object, y: object = None, *, every_row: bool = False, keep_holes: bool = False
    ) -> Table:
        """Read rows in the states learned; those of y, and the target where not asked, may lack."""
        self._learned()
        if y is not None and self.target_ is None:
            y = None  # learned without: there for pipelines
        fewer = self.n_features_in_ - (self.target in self._features())
        check_array(X, (self.n_features_in_, fewer), type(self).__name__)
        source = X
        if y is not None:
            source = joined(X, y, self.target_ or "", self._features())
        missing = "em" if keep_holes or (every_row and self._missing == "drop") else self._missing
        optional = () if self.target_ is None else (self.target_,)
        return rows_like(self.table_, source, missing, optional=optional)

    @property
    def _missing(self) -> str:
        """How missing cells were treated in the data learned from."""
        recipe = self.table_.recipe
        read = Reading(missing=self.missing) if recipe is None else recipe.settings
        return read.missing

    def _features(self) -> tuple[str, ...]:
        names = self.table_.names
        if len(names) == self.n_features_in_:
            return names
        return tuple(name for name in names if name != self.target_)

    def __getattr__(self, name: str) -> Any:
        if name.endswith("_") and not name.startswith("_"):
            self._learned()
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _learned(self) -> Solution:
        if not self.__sklearn_is_fitted__():
            raise not_fitted()(f"this {type(self).__name__} has not learned yet; call fit first")
        return self.solution_

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether ``fit`` was called."""
        return "solution_" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what this is: an estimator of densities, of labels.

        With a target it is a classifier as well, so that scorers of probabilities accept it.
        """
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        predicts = self.target is not None or self.__dict__.get("target_") is not None
        return Tags(
            estimator_type="classifier" if predicts else "density_estimator",
            target_tags=TargetTags(required=False),
            classifier_tags=ClassifierTags() if predicts else None,
            input_tags=InputTags(
                string=True, categorical=True, allow_nan=self.missing != "error" or self.auto
            ),
        )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's parameters by name; ``deep`` changes nothing here."""
        return {name: getattr(self, name) for name in _parameters(type(self))}

    def set_params(self, **params: Any) -> ParentageLearner:
        """Change parameters by name."""
        known = _parameters(type(self))
        for name, value in params.items():
            if name not in known:
                raise InputError(f"no parameter {name!r}; {did_you_mean(name, known)}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        changed = [f"{name}={value!r}" for name, value in self._changed().items()]
        return f"{type(self).__name__}({', '.join(changed)})"

    def _changed(self) -> dict[str, Any]:
        """Return the parameters that are not at their default."""
        defaults = _parameters(type(self))
        return {
            name: value
            for name, value in self.get_params().items()
            if value is not defaults[name] and value != defaults[name]
        }


def not_fitted() -> type[NotFittedError]:
    """Return our error, which is also scikit-learn's where scikit-learn is there."""
    import sys

    theirs = sys.modules.get("sklearn.exceptions")
    if theirs is None:
        return NotFittedError
    return type("NotFittedError", (NotFittedError, theirs.NotFittedError), {})


def _parameters(kind: type[ParentageLearner]) -> dict[str, Any]:
    """Return the names of the constructor's parameters with their defaults."""
    signature = inspect.signature(kind)
    return {name: parameter.default for name, parameter in signature.parameters.items()}
