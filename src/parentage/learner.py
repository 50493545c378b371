"""The whole path in one call: from data to the best network. The last stage below the commands.

:func:`learn` scores and solves; :class:`ParentageLearner` is the same as an estimator in the manner
of scikit-learn (parameters in the constructor, ``fit``, results that end in an underscore), without
depending on it: ``sklearn.base.clone`` works because ``get_params`` and ``set_params`` do.
"""

from __future__ import annotations

import inspect
import os
import time
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from parentage.errors import InputError, UnprovenWarning, did_you_mean
from parentage.scoring.lists import CandidateLists

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from parentage.data.table import Table
    from parentage.network.network import Network
    from parentage.optimise import Progress, Solution
    from parentage.scoring.constraints import Constraints


def learn(
    source: object,
    *,
    max_parents: int | Mapping[str, int] | None = None,
    score: str = "bic",
    log_base: float | str | None = None,
    rules: str | Iterable[str] | None = None,
    constraints: Constraints | None = None,
    drop: Iterable[str] = (),
    missing: str = "error",
    discretize: str | None = None,
    engine: str = "auto",
    time_limit: float | None = None,
    gap_limit: float = 0.0,
    threads: int | None = None,
    seed: int = 0,
    progress: Callable[[Progress], None] | None = None,
) -> Solution:
    """Find the network with the highest score, and prove it.

    Parameters
    ----------
    source
        Candidate lists or a file of them, or a table, a data frame or a path to one, which are
        scored first:
        ``max_parents``, ``score``, ``log_base`` and ``rules`` say how
        (:func:`parentage.scoring.candidates.score`).
    constraints
        Required and forbidden arcs, in-degrees, tiers.
    drop, missing, discretize
        How a frame or file is read, see :func:`parentage.data.reading.read_table`.
    engine, gap_limit, seed, progress
        See :func:`parentage.optimise.learn_lists`.
    time_limit
        Seconds for scoring and learning together. When scoring alone would take more than half
        of it, it ends there, with lists that are complete up to some number of parents;
        ``solution.stats["complete_to"]`` then has it, and the proof is for that limit.
    threads
        Number of threads, by default one per core.

    Examples
    --------
    >>> from parentage.data.table import Table
    >>> rain = Table.from_columns({"rain": "0011" * 9, "wet": "0011" * 8 + "0111"})
    >>> solution = learn(rain)
    >>> solution.optimal, solution.network.n_arcs
    (True, 1)
    """
    from parentage.data.reading import as_table
    from parentage.files.detect import detect
    from parentage.files.source import open_source
    from parentage.optimise import learn_lists
    from parentage.scoring.candidates import score as score_table
    from parentage.scoring.formats import read_lists

    began = time.monotonic()
    threads = threads if threads is not None else os.cpu_count() or 1
    if isinstance(source, str | bytes | os.PathLike):
        source = open_source(source)
        if detect(source).kind == "lists":
            source = read_lists(source)
    if isinstance(source, CandidateLists):
        lists = source
    else:
        lists = score_table(
            as_table(source, drop=drop, missing=missing, discretize=discretize),
            max_parents=max_parents,
            score=score,
            log_base=log_base,
            rules=rules,
            constraints=constraints,
            threads=threads,
            stop=stop_after(time_limit),
        )
    left = None if time_limit is None else max(0.0, time_limit - (time.monotonic() - began))
    solution = learn_lists(
        lists,
        engine=engine,
        time_limit=left,
        gap_limit=gap_limit,
        threads=threads,
        seed=seed,
        constraints=constraints,
        progress=progress,
    )
    return replace(solution, stats={**solution.stats, "complete_to": lists.meta.get("complete_to")})


def stop_after(time_limit: float | None) -> Callable[[], bool] | None:
    """Return a function that tells when scoring has used its half of a time limit."""
    if time_limit is None:
        return None
    end = time.monotonic() + time_limit / 2
    return lambda: time.monotonic() > end


class ParentageLearner:
    """Learn the best network of a data frame.

    Parameters
    ----------
    max_parents
        Largest number of parents, for all variables or by name; None for no limit at all.
    score
        ``"bic"`` or ``"aic"``.
    log_base
        Unit of the scores: None for nats, 2 for bits …
    rules
        Which rules prune; the result never depends on them, the time does.
    constraints
        Required and forbidden arcs, in-degrees, tiers.
    engine
        ``"auto"``, ``"subsets"``, ``"orders"`` or ``"branch-and-cut"``.
    time_limit
        Seconds for scoring and learning together.
    gap_limit
        Stop when the bound is at most this far above the score.
    missing
        What becomes of missing cells: ``"error"``, ``"drop"``, ``"state"`` or ``"mode"``.
    discretize
        How continuous columns are cut: ``"median"``, ``"quantile:K"`` or ``"width:K"``.
    threads
        Number of threads, by default one per core.
    seed
        Seed of the order search.

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
        max_parents: int | Mapping[str, int] | None = None,
        score: str = "bic",
        log_base: float | str | None = None,
        rules: str | Iterable[str] | None = None,
        constraints: Constraints | None = None,
        engine: str = "auto",
        time_limit: float | None = None,
        gap_limit: float = 0.0,
        missing: str = "error",
        discretize: str | None = None,
        threads: int | None = None,
        seed: int = 0,
    ) -> None:
        self.max_parents = max_parents
        self.score = score
        self.log_base = log_base
        self.rules = rules
        self.constraints = constraints
        self.engine = engine
        self.time_limit = time_limit
        self.gap_limit = gap_limit
        self.missing = missing
        self.discretize = discretize
        self.threads = threads
        self.seed = seed

    solution_: Solution
    candidates_: CandidateLists
    table_: Table

    def fit(self, X: object, y: None = None) -> ParentageLearner:
        """Learn from a pandas, polars or pyarrow data frame, a table or a path.

        Parameters
        ----------
        X
            The data, one column per variable.
        y
            Ignored; there for pipelines.

        Warns
        -----
        UnprovenWarning
            When the time ran out before the proof; the message has the gap.
        """
        from parentage.data.reading import as_table
        from parentage.scoring.candidates import score

        began = time.monotonic()
        self.table_ = as_table(X, missing=self.missing, discretize=self.discretize)
        self.candidates_ = score(
            self.table_,
            max_parents=self.max_parents,
            score=self.score,
            log_base=self.log_base,
            rules=self.rules,
            constraints=self.constraints,
            threads=self.threads,
            stop=stop_after(self.time_limit),
        )
        spent = time.monotonic() - began
        self.solution_ = learn(
            self.candidates_,
            constraints=self.constraints,
            engine=self.engine,
            time_limit=None if self.time_limit is None else max(0.0, self.time_limit - spent),
            gap_limit=self.gap_limit,
            threads=self.threads,
            seed=self.seed,
        )
        if not self.optimal_:
            warnings.warn(
                f"the network is not proven to be the best: another could score up to "
                f"{self.gap_:.6g} more; raise time_limit (now {self.time_limit})",
                UnprovenWarning,
                stacklevel=2,
            )
        return self

    @property
    def network_(self) -> Network:
        """The network."""
        return self.solution_.network

    @property
    def score_(self) -> float:
        """Score of the network."""
        return self.solution_.score

    @property
    def bound_(self) -> float:
        """What no network can exceed."""
        return self.solution_.bound

    @property
    def gap_(self) -> float:
        """How much better another network could be at most."""
        return self.solution_.gap

    @property
    def optimal_(self) -> bool:
        """Whether the score is proven to be the highest."""
        return self.solution_.optimal

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
