"""The whole path in one call: from data to the best network. The last stage below the commands.

:func:`learn` scores and solves; :class:`ParentageLearner` is the same as an estimator in the manner
of scikit-learn (parameters in the constructor, ``fit``, results that end in an underscore). Both
are thin around :mod:`parentage.pipeline`.
"""

from __future__ import annotations

import inspect
import warnings
from typing import TYPE_CHECKING, Any

from parentage.data.settings import Reading
from parentage.errors import InputError, NotFittedError, UnprovenWarning, did_you_mean
from parentage.optimise.settings import Optimising
from parentage.scoring.settings import Growing, Scoring
from parentage.work.running import Running
from parentage.work.scaling import Scaling
from parentage.work.settings import documented, take
from parentage.work.stop import interruptible

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from concurrent.futures import Executor
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    from parentage.data.recipe import Recipe
    from parentage.data.table import Table
    from parentage.network.network import Network
    from parentage.optimise import Solution
    from parentage.pipeline import Learned
    from parentage.scoring.constraints import Constraints
    from parentage.scoring.lists import CandidateLists
    from parentage.work.progress import Report


@documented(
    scoring=Scoring,
    reading=Reading,
    growing=Growing,
    optimising=Optimising,
    running=Running,
    scaling=Scaling,
)
def learn(
    source: object,
    *,
    max_parents: int | Mapping[str, int] | None = None,
    score: str = "bic",
    lambda_: float | None = None,
    log_base: float | str | None = None,
    rules: str | Iterable[str] | None = None,
    width: float | None = None,
    constraints: Constraints | None = None,
    format: str | None = None,  # noqa: A002  # the option is called --format
    header: bool = True,
    encoding: str = "utf-8",
    decimal: str = ".",
    sheet: str | None = None,
    query: str | None = None,
    drop: Iterable[str] = (),
    keep: Iterable[str] = (),
    na: object = (),
    missing: str = "error",
    categorical: Iterable[str] = (),
    discretize: str | Iterable[str] | Mapping[str, str] | None = None,
    recipe: str | os.PathLike[str] | Recipe | None = None,
    complete: int | None = None,
    effort: float | None = None,
    engine: str = "auto",
    gap_limit: float = 0.0,
    seed: int = 0,
    threads: int | None = None,
    time_limit: float | None = None,
    memory: int | None = None,
    cluster: str | None = None,
    client: Any = None,
    executor: Executor | None = None,
    exchange: str | Path | None = None,
    checkpoint: str | Path | None = None,
    resume: str | Path | None = None,
    start: Network | None = None,
    progress: Report | None = None,
) -> Solution:
    """Find the network with the highest score, and prove it.

    Parameters
    ----------
    source
        A table, a data frame or a path to one, which are scored first; or candidate lists or a
        file of them. Lists take ``max_parents`` and ``constraints``, which pick among them, and
        refuse what would have changed their scores.
    {scoring}
    {reading}
    {growing}
    {optimising}
    {running}
    {scaling}
    start
        A network to begin from.
    progress
        Called with a :class:`parentage.work.progress.Progress` while scoring and learning.

    Warns
    -----
    UnprovenWarning
        When the network is not proven to be the best; the message has the gap and the reason.

    Examples
    --------
    >>> from parentage.data.table import Table
    >>> rain = Table.from_columns({"rain": "0011" * 9, "wet": "0011" * 8 + "0111"})
    >>> solution = learn(rain)
    >>> solution.optimal, solution.network.n_arcs
    (True, 1)
    """
    found = _run(source, locals(), progress, start)
    return found.solution


def _run(
    source: object,
    values: Mapping[str, Any],
    progress: Report | None,
    start: Network | None = None,
) -> Learned:
    """Follow the path with settings by name; warn when the answer is not proven."""
    from parentage import pipeline

    running, scaling = take(Running, values), take(Scaling, values)
    with interruptible(running.stop()) as stop, scaling.workers(running.workers) as workers:
        found = pipeline.run(
            source,
            take(Reading, values),
            take(Scoring, values),
            take(Optimising, values),
            stop,
            threads=running.workers,
            workers=workers,
            places=scaling.places,
            start=start,
            report=progress,
            growing=take(Growing, values),
        )
    if not found.solution.optimal:
        warnings.warn(UnprovenWarning(f"the network is {found.solution.proof()}"), stacklevel=3)
    return found


class ParentageLearner:
    """Learn the best network of a data frame.

    Parameters
    ----------
    criterion
        What is maximised, by name: ``"bic"``, ``"aic"`` … (``score`` elsewhere; here
        scikit-learn owns that name.)
    max_parents, lambda_, log_base, rules, constraints
        As in :func:`parentage.learn`.
    missing, na, keep, categorical, discretize, decimal, recipe
        How a frame or file is read; see :func:`parentage.read_table`.
    engine, gap_limit, seed, threads, time_limit, memory
        As in :func:`parentage.learn`.

    Attributes
    ----------
    network_
        The network.
    score_, bound_, gap_
        Its score, what no network can exceed, and the difference.
    optimal_
        Whether the score is proven to be the highest.
    candidates_
        The candidate lists the network was chosen from.
    solution_
        All of the above and how it was found.
    table_
        The data as they were read.
    n_features_in_
        Number of columns learned from.
    feature_names_in_
        Their names, unless they come from an array, which has none.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"rain": list("0011" * 9), "wet": list("0011" * 8 + "0111")})
    >>> learner = ParentageLearner(max_parents=2).fit(frame)
    >>> learner.optimal_, learner.network_.n_arcs
    (True, 1)
    """

    def __init__(
        self,
        *,
        criterion: str = "bic",
        max_parents: int | Mapping[str, int] | None = None,
        lambda_: float | None = None,
        log_base: float | str | None = None,
        rules: str | Iterable[str] | None = None,
        constraints: Constraints | None = None,
        decimal: str = ".",
        keep: Iterable[str] = (),
        na: object = (),
        missing: str = "error",
        categorical: Iterable[str] = (),
        discretize: str | Iterable[str] | Mapping[str, str] | None = None,
        recipe: str | os.PathLike[str] | Recipe | None = None,
        engine: str = "auto",
        gap_limit: float = 0.0,
        seed: int = 0,
        threads: int | None = None,
        time_limit: float | None = None,
        memory: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.max_parents = max_parents
        self.lambda_ = lambda_
        self.log_base = log_base
        self.rules = rules
        self.constraints = constraints
        self.decimal = decimal
        self.keep = keep
        self.na = na
        self.missing = missing
        self.categorical = categorical
        self.discretize = discretize
        self.recipe = recipe
        self.engine = engine
        self.gap_limit = gap_limit
        self.seed = seed
        self.threads = threads
        self.time_limit = time_limit
        self.memory = memory

    solution_: Solution
    candidates_: CandidateLists
    table_: Table
    n_features_in_: int
    feature_names_in_: npt.NDArray[np.object_]

    def fit(self, X: object, y: object = None) -> ParentageLearner:
        """Learn from a pandas, polars or pyarrow data frame, an array, a table or a path.

        Parameters
        ----------
        X
            The data, one column per variable. The columns of an array are called x0, x1, …
        y
            Ignored; there for pipelines.

        Warns
        -----
        UnprovenWarning
            When the network is not proven to be the best; the message has the gap.
        """
        values = {**self.get_params(), "score": self.criterion}
        found = _run(X, values, None)
        if found.table is None:
            raise InputError("the estimator learns from tables; give lists to parentage.learn")
        self.table_, self.candidates_ = found.table, found.lists
        self.solution_ = found.solution
        self._note_features(X, found.table.names)
        return self

    def _note_features(self, X: object, names: tuple[str, ...]) -> None:
        import numpy as np

        self.n_features_in_ = len(names)
        if isinstance(X, np.ndarray):
            self.__dict__.pop("feature_names_in_", None)  # those of an earlier fit
        else:
            self.feature_names_in_ = np.array(names, dtype=object)

    def score(self, X: object, y: object = None) -> float:
        """Mean log-likelihood of a row, in nats: higher is better.

        The parameters are those of the data learned from, smoothed by an equivalent sample size
        of one row, so that scikit-learn's model selection can compare settings on rows that
        were held out.

        Parameters
        ----------
        X
            Data with the columns that were learned from. Missing cells are treated as they were
            there.
        y
            Ignored; there for pipelines.
        """
        from parentage.data.new_rows import rows_like

        parameters = self.network_.fit(self.table_, equivalent_sample_size=1.0)
        rows = rows_like(self.table_, X, missing=self.missing)
        return parameters.log_likelihood(rows) / rows.n_rows

    @property
    def network_(self) -> Network:
        """The network."""
        return self._learned().network

    @property
    def score_(self) -> float:
        """Score of the network."""
        return self._learned().score

    @property
    def bound_(self) -> float:
        """What no network can exceed."""
        return self._learned().bound

    @property
    def gap_(self) -> float:
        """How much better another network could be at most."""
        return self._learned().gap

    @property
    def optimal_(self) -> bool:
        """Whether the score is proven to be the highest."""
        return self._learned().optimal

    def _learned(self) -> Solution:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {type(self).__name__} has not learned yet; call fit first")
        return self.solution_

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether ``fit`` was called."""
        return "solution_" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what this is: an estimator of densities, of labels, without target."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type="density_estimator",
            target_tags=TargetTags(required=False),
            input_tags=InputTags(string=True, categorical=True, allow_nan=self.missing != "error"),
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
        defaults = _parameters(type(self))
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if value is not defaults[name] and value != defaults[name]
        ]
        return f"{type(self).__name__}({', '.join(changed)})"


def _parameters(kind: type[ParentageLearner]) -> dict[str, Any]:
    """Return the names of the constructor's parameters with their defaults."""
    signature = inspect.signature(kind)
    return {name: parameter.default for name, parameter in signature.parameters.items()}
