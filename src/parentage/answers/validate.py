r"""Validation: how well networks predict rows that they were not learned from.

The rows are dealt into folds at random. For each fold, networks are learned and their probabilities
are estimated from the other rows. Then the rows of the fold are predicted: the logarithm of the
probability of each row and, for a target, the probabilities of its states given the rest of the
row. Beside the scores stand three baselines: no arcs, the best network with at most one parent for
each variable, and, for a target, naive Bayes.

The standard error of the log-likelihood is that of a mean over all rows; that of a difference is
taken over the differences row by row, because the same rows are predicted by both.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.data.reading import as_table
from parentage.data.settings import WITHOUT_COMPLETION
from parentage.data.table import MISSING
from parentage.errors import InputError, ParentageWarning, UnprovenWarning, Way, warn
from parentage.network import SMOOTHING
from parentage.network.network import Network
from parentage.optimise.settings import Optimising
from parentage.pipeline import learn_again
from parentage.scoring.settings import Growing, Scoring, treatments
from parentage.work.context import Running, working
from parentage.work.progress import Progress
from parentage.work.stop import now

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parentage.data.table import Table
    from parentage.scoring.constraints import Constraints
    from parentage.work.context import Context
    from parentage.work.progress import Report

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

FOLDS = 10
"""Parts of the rows, each predicted by what the others taught."""

EMPTY, TREE, NAIVE = "empty", "tree", "naive Bayes"
"""The baselines."""


@dataclass(frozen=True)
class Targeted:
    """How well a target was predicted, given the rest of each row.

    Parameters
    ----------
    accuracy
        Share of rows whose most probable state was the true one.
    log_loss
        Mean of −ln of the probability of the true state.
    brier
        Brier score: the mean over rows of (p − 1)² if the target is in its last state and of p²
        if not, with p the predicted probability of that state. With more than two states the sum
        over all states, as in scikit-learn.
    auc
        Area under the ROC curve, the mean over the folds; with more than two states the mean of one
        state against the others, weighted by how frequent it is. None if only one state occurs.
    """

    accuracy: float
    log_loss: float
    brier: float
    auc: float | None


@dataclass(frozen=True)
class Validated:
    """How well one way of learning predicts rows it has not seen.

    Parameters
    ----------
    name
        The score, or the baseline.
    log_likelihood, error
        Mean over rows of the logarithm of their probability, and its standard error.
    difference, difference_error
        What the first score predicts better than this one, row by row; 0 for itself.
    arcs
        Mean number of arcs.
    proven
        Number of folds whose network is proven optimal; None for baselines that need no search.
    target
        How well the target was predicted; None without one.
    """

    name: str
    log_likelihood: float
    error: float
    difference: float
    difference_error: float
    arcs: float
    proven: int | None
    target: Targeted | None = None


@dataclass(frozen=True)
class Validation:
    """Scores and baselines beside each other, on the same folds.

    Parameters
    ----------
    rows, folds, seed
        Number of rows, of folds, and the seed that dealt them.
    target
        The target, or None.
    models
        The scores in the order in which they were asked for, then the baselines.
    notes
        What to keep in mind when reading the numbers.
    """

    rows: int
    folds: int
    seed: int
    target: str | None
    models: tuple[Validated, ...]
    notes: tuple[str, ...]

    def __getitem__(self, name: str) -> Validated:
        for one in self.models:
            if one.name == name:
                return one
        known = ", ".join(repr(one.name) for one in self.models)
        raise InputError(f"no model {name!r} was validated; choose from {known}")

    def to_dict(self) -> dict[str, Any]:
        """Return what ``parentage validate --json`` prints."""
        return asdict(self)

    def __repr__(self) -> str:
        best = max(self.models, key=lambda one: one.log_likelihood)
        return f"Validation: {self.folds} folds, {len(self.models)} models, best {best.name}"


def validate(
    source: object,
    *,
    scores: Sequence[str] = (),
    target: str | None = None,
    folds: int = FOLDS,
    seed: int = 0,
    max_parents: int | Mapping[str, int] | None = None,
    constraints: Constraints | None = None,
    smoothing: float = SMOOTHING,
    auto: bool = False,
    time_limit: float | None = None,
    threads: int | None = None,
    progress: Report | bool | None = None,
) -> Validation:
    """Cross-validate: learn with several scores and compare how well they predict held-out rows.

    Parameters
    ----------
    source
        A table, a data frame or a path to one.
    scores
        The scores to compare; by default BIC, or PNAL where values are missing.
    target
        Also measure how well this variable is predicted.
    folds, seed
        Number of folds, and the seed of the random assignment of rows to them.
    max_parents, constraints, time_limit, threads, progress
        As in :func:`parentage.learn`. The time limit is that of all folds together.
    smoothing
        Number added to every count when probabilities are estimated.
    auto
        Take the recommended decisions about columns and missing values, as in
        :func:`parentage.read_table`. To set other options of reading, pass the table that
        ``read_table`` returns.

    Warns
    -----
    UnprovenWarning
        The network of some fold is not proven optimal.

    Examples
    --------
    >>> from parentage.data.datasets import chest_clinic
    >>> found = validate(chest_clinic(500), target="dysp", folds=5)
    >>> [one.name for one in found.models], found["bic"].proven
    (['bic', 'empty', 'tree', 'naive Bayes'], 5)
    >>> found["bic"].log_likelihood > found["empty"].log_likelihood
    True
    """
    table = as_table(source, ways=treatments_for(scores), auto=auto)
    with working(Running(threads, time_limit), progress) as context:
        scoring = Scoring(max_parents=max_parents, constraints=constraints)
        found = validation_of(table, scoring, scores, target, (folds, seed, smoothing), context)
    if text := unproven_text(found):
        warn(UnprovenWarning(text))
    return found


def treatments_for(scores: Sequence[str]) -> tuple[str, ...]:
    """Return the ways to treat missing values that all these scores can be compared with."""
    ways = WITHOUT_COMPLETION
    for score in scores:
        ways = treatments(score, ways)
    return ways


def unproven_text(found: Validation) -> str:
    """Say which networks are not proven optimal; empty if all are."""
    open_ = [
        f"{one.name}: {found.folds - one.proven} of {found.folds}"
        for one in found.models
        if one.proven is not None and one.proven < found.folds
    ]
    return f"networks that are not proven optimal: {', '.join(open_)}" if open_ else ""


def validation_of(
    table: Table,
    scoring: Scoring,
    scores: Sequence[str],
    target: str | None,
    dealing: tuple[int, int, float],
    context: Context,
) -> Validation:
    """Validate on the folds of a table."""
    folds, seed, smoothing = dealing
    if not 2 <= folds <= table.n_rows:
        raise InputError(
            f"must be between 2 and {table.n_rows:,}, the number of rows", about=Way("folds", folds)
        )
    if target is not None:
        table.index(target)  # refuses an unknown name
    usual = "pnal" if table.has_holes else "bic"
    scored = dict.fromkeys(scores or [usual])
    rivals = [
        *(Rival(name, target, replace(scoring, score=name)) for name in scored),
        Rival(EMPTY, target),
        Rival(TREE, target, replace(scoring, score=usual, max_parents=1)),
        *([] if target is None else [Rival(NAIVE, target)]),
    ]
    counts = dealt(table, folds, seed)
    began, jobs, done = now(), folds * len(rivals), 0
    for number in range(folds):
        training = table.repeated_rows(counts.sum(axis=0) - counts[number])
        held = table.repeated_rows(counts[number])
        for one in rivals:
            one.predict(training, held, smoothing, context.share(1 / (jobs - done)))
            done += 1
            if context.report is not None:
                phase, seconds = f"fold {number + 1} of {folds}", now() - began
                left = seconds / done * (jobs - done)
                context.report(Progress("folds", phase, seconds, done, jobs, seconds_left=left))
    notes = []
    if _cut_by_rows(table):
        notes.append(
            "the cut points come from all rows, so the held-out rows are not independent of them"
        )
    return Validation(
        table.n_rows,
        folds,
        seed,
        target,
        tuple(one.result(rivals[0]) for one in rivals),
        tuple(notes),
    )


def _cut_by_rows(table: Table) -> bool:
    """Whether a column has cut points that were found in the rows, not given by the user."""
    columns = () if table.recipe is None else table.recipe.columns
    given = {one.name for one in columns if (one.rule or "").startswith("at:")}
    return not given.issuperset(table.cuts)


def dealt(table: Table, folds: int, seed: int) -> Counts:
    """Deal the rows into folds of equal size: ``int64[fold, stored row]``, how often each occurs.

    >>> from parentage.data.table import Table
    >>> dealt(Table.from_columns({"a": "0101010101"}), 5, seed=1).sum(axis=1).tolist()
    [2, 2, 2, 2, 2]
    """
    rng = np.random.default_rng(seed)
    repeats = np.asarray(table.repeats if len(table.repeats) else np.ones(table.stored_rows))
    upto = np.cumsum(repeats.astype(np.int64))
    row = np.searchsorted(upto, rng.permutation(table.n_rows), "right")
    counts = np.zeros((folds, table.stored_rows), np.int64)
    for number in range(folds):
        counts[number] = np.bincount(row[number::folds], minlength=table.stored_rows)
    return counts


class Fold(NamedTuple):
    """What one way of learning showed on a fold: of the target, on the rows where it is known."""

    arcs: int
    proven: bool | None
    logs: Floats
    weights: Floats
    shares: Floats
    truth: Counts
    known: Floats


class Rival:
    """One way to come to a network, a score or a baseline, and what its folds showed."""

    def __init__(self, name: str, target: str | None, scoring: Scoring | None = None) -> None:
        self.name, self.target, self.scoring = name, target, scoring
        self.folds: list[Fold] = []

    def learn(self, table: Table, context: Context) -> tuple[Network, bool | None]:
        """Return the network, and whether it is proven optimal; None where nothing is searched."""
        names = table.names
        if self.name == NAIVE and self.target is not None:
            children = [name for name in names if name != self.target]
            return Network.from_arcs(names, [(self.target, child) for child in children]), None
        if self.scoring is None or len(names) - len(table.constant) < 2:
            return Network.from_arcs(names, []), None if self.scoring is None else True
        solution = learn_again(table, self.scoring, Optimising(), Growing(), context)
        return solution.network, solution.optimal

    def predict(self, training: Table, held: Table, smoothing: float, context: Context) -> None:
        """Learn from the other rows, and predict those that are held out."""
        network, proven = self.learn(training, context)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ParentageWarning)  # complete families do as well
            fitted = network.fit(training, smoothing=smoothing)
        weights = held.repeats.astype(np.float64)
        shares, truth, known = np.empty((0, 0)), np.empty(0, np.int64), np.zeros(len(weights), bool)
        if self.target is not None:
            truth = held.column(held.index(self.target)).astype(np.int64)
            known = truth != MISSING
            shares, truth = fitted.predict(held, self.target)[known], truth[known]
        logs = fitted.log_likelihoods(held)
        own = Fold(network.n_arcs, proven, logs, weights, shares, truth, weights[known])
        self.folds.append(own)

    def result(self, first: Rival) -> Validated:
        """Put the folds together and compare with the first score."""
        logs, base = (np.concatenate([one.logs for one in own.folds]) for own in (self, first))
        weights = np.concatenate([one.weights for one in self.folds])
        mean, error = mean_and_error(logs, weights)
        with np.errstate(invalid="ignore"):
            gained = base - logs
        difference, spread = mean_and_error(gained, weights)
        sure = [one.proven for one in self.folds if one.proven is not None]
        return Validated(
            self.name,
            mean,
            error,
            0.0 if first is self else difference,
            0.0 if first is self else spread,
            float(np.mean([one.arcs for one in self.folds])),
            sum(sure) if sure else None,
            None if self.target is None else target_measures(self.folds),
        )


def mean_and_error(values: Floats, weights: Floats) -> tuple[float, float]:
    """Return the mean of values that occur ``weights`` times, and its standard error.

    >>> mean_and_error(np.array([1.0, 3.0]), np.array([1.0, 1.0]))
    (2.0, 1.0)
    """
    number = weights.sum()
    mean = float(values @ weights / number)
    if number < 2 or not math.isfinite(mean):
        return mean, math.nan
    variance = float(weights @ (values - mean) ** 2 / (number - 1))
    return mean, math.sqrt(variance / number)


def target_measures(folds: Sequence[Fold]) -> Targeted:
    """Judge the predictions of all folds together, the area under the curve fold by fold.

    Probabilities of different folds are those of different networks: ordered together, a network
    without arcs would be worse than chance, because a state that is rare in the rows held out is
    frequent in those learned from.
    """
    predicted, truth, weights = (
        np.concatenate(own)
        for own in zip(*((one.shares, one.truth, one.known) for one in folds), strict=True)
    )
    number = weights.sum()
    own = predicted[np.arange(len(truth)), truth]
    certain = np.eye(predicted.shape[1])[truth]
    with np.errstate(divide="ignore"):
        losses = -np.log(own)
    distances = ((predicted - certain) ** 2).sum(axis=1)
    if predicted.shape[1] == 2:
        distances /= 2  # both states are off by the same: one is counted
    areas = [(_area(one.shares, one.truth, one.known), one.known.sum()) for one in folds]
    auc, known = None, [(area, size) for area, size in areas if area is not None]
    if known:
        values, sizes = zip(*known, strict=True)
        auc = float(np.average(values, weights=sizes))
    return Targeted(
        float(weights @ (predicted.argmax(axis=1) == truth) / number),
        float(weights @ losses / number),
        float(weights @ distances / number),
        auc,
    )


def _area(predicted: Floats, truth: Counts, weights: Floats) -> float | None:
    """Return the area under the ROC curve, over all states weighted by how frequent they are."""
    frequent = np.bincount(truth, weights, minlength=predicted.shape[1])
    occurring = np.flatnonzero(frequent)
    if len(occurring) < 2:
        return None
    if predicted.shape[1] == 2:
        return area_under_curve(predicted[:, 1], truth == 1, weights)
    areas = [area_under_curve(predicted[:, k], truth == k, weights) for k in occurring]
    return float(np.average(areas, weights=frequent[occurring]))


def area_under_curve(scores: Floats, positive: npt.NDArray[np.bool_], weights: Floats) -> float:
    """Return the probability that a positive row scores above a negative one; ties count half.

    >>> area_under_curve(np.array([0.1, 0.4, 0.4, 0.8]), np.array([0, 1, 0, 1]) == 1, np.ones(4))
    0.875
    """
    levels, level = np.unique(scores, return_inverse=True)
    yes = np.bincount(level, weights * positive, minlength=len(levels))
    no = np.bincount(level, weights * ~positive, minlength=len(levels))
    below = np.cumsum(no) - no
    return float(yes @ (below + no / 2) / (yes.sum() * no.sum()))
