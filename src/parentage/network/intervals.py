r"""Credible intervals: how well the data determine the probabilities of a network.

The rows of a table with the parents in joint state j determine its probabilities θ[j, ·] up to a
Dirichlet distribution with parameters n[j, k] + α, where n are the counts of complete rows and α is
the smoothing (1 where that is 0: a uniform prior). A single entry then has the distribution
Beta(n[j, k] + α, Σ_l (n[j, l] + α) − n[j, k] − α), whose quantiles are the ends of its interval.

What follows from all tables together, a posterior given evidence, has no such formula. Its interval
is made by sampling: tables are drawn from their Dirichlet distributions, the posterior is computed
exactly in each draw, and the ends are quantiles of these answers. Draws depend on the seed and on
the variable alone, so that results repeat. The structure is taken as given: an interval does not
say how sure the arcs are.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from parentage.errors import InputError, Way
from parentage.network.elimination import CliqueTree, Factor, log_sum
from parentage.network.inference import Situation, normalised

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parentage.network.parameters import Counts, Parameters

Floats = npt.NDArray[np.float64]
Interval = tuple[float, float]
Intervals = dict[str, dict[str, Interval]]
"""``{variable: {state: (low, high)}}``."""

LEVEL = 0.95
"""Probability that an interval contains."""

DRAWS = 1000
"""Sampled tables: the ends of a 95 % interval vary by about 2 % of its width from seed to seed."""

MOST_AT_ONCE = 1 << 22
"""Cells of the largest product of all draws that are computed together: 32 MB."""

UNIFORM = 1.0
"""Pseudo-count of the prior where the estimates themselves are not smoothed."""

_STEPS, _TERMS, _CLOSE = 60, 2000, 1e-15


def entry_intervals(counts: Counts, smoothing: float, level: float = LEVEL) -> Floats:
    """Return ``float64[q, r, 2]``: the ends of the interval of every entry of a table.

    >>> entry_intervals(np.array([[0, 9]]), 1.0).round(3).tolist()
    [[[0.003, 0.308], [0.692, 0.997]]]
    """
    cells: Floats = counts.astype(np.float64) + (smoothing or UNIFORM)
    rest = cells.sum(axis=1, keepdims=True) - cells
    if cells.shape[1] == 1:
        return np.ones((*cells.shape, 2))
    tail = (1 - level) / 2
    low = beta_quantile(tail, cells, rest)
    return np.stack([low, 1 - beta_quantile(tail, rest, cells)], axis=-1)


def beta_quantile(p: float, a: Floats, b: Floats) -> Floats:
    """Return x with I_x(a, b) = p, by bisection.

    >>> beta_quantile(0.25, np.array([1.0]), np.array([1.0])).round(9).tolist()
    [0.25]
    """
    low, high = np.zeros(a.shape), np.ones(a.shape)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        below = beta_cdf(middle, a, b) < p
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


def beta_cdf(x: Floats, a: Floats, b: Floats) -> Floats:
    """Return the regularised incomplete beta function I_x(a, b), by its continued fraction."""
    swap = x > (a + 1) / (a + b + 2)  # the fraction converges fast below the mean
    x, a, b = np.where(swap, 1 - x, x), np.where(swap, b, a), np.where(swap, a, b)
    log_gamma = np.frompyfunc(math.lgamma, 1, 1)
    with np.errstate(divide="ignore"):
        front = a * np.log(x) + b * np.log1p(-x)
    area = np.asarray(log_gamma(a + b) - log_gamma(a) - log_gamma(b), np.float64)
    share: Floats = np.exp(area + front) * _fraction(x, a, b) / a
    return np.where(swap, 1 - share, share)


def _fraction(x: Floats, a: Floats, b: Floats) -> Floats:
    """Evaluate the continued fraction of the incomplete beta function from its front (Lentz)."""
    tiny = 1e-300

    def away_from_0(value: Floats) -> Floats:
        return np.where(np.abs(value) < tiny, tiny, value)

    above = np.ones_like(x)
    below = 1 / away_from_0(1 - (a + b) * x / (a + 1))
    value = below
    for m in range(1, _TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            below = 1 / away_from_0(1 + term * below)
            above = away_from_0(1 + term / above)
            change = above * below
            value = value * change
        if np.abs(change - 1).max(initial=0.0) < _CLOSE:
            break
    return value


def sampled_intervals(
    parameters: Parameters,
    given: Mapping[str, str],
    intervene: Mapping[str, str],
    targets: Sequence[str],
    seed: int,
    draws: int = DRAWS,
    level: float = LEVEL,
) -> Intervals:
    """Return the intervals of the posterior of every target that evidence leaves open.

    Raises
    ------
    InputError
        The counts behind the probabilities are not known.
    """
    if parameters.counts is None:
        why = "these come from a file"
        if parameters.smoothing is not None:
            why = "these are estimated from data with missing values"
        raise InputError(
            f"intervals need the counts behind the probabilities, and {why}",
            Way("table", ..., "without missing values, to count its rows", flag="data"),
        )
    case = Situation.of(parameters, given, intervene)
    model, observed = case.model, case.observed
    asked = [v for v in case.targets(targets) if v not in case.codes]
    relevant = [
        v for v in sorted(model.ancestors([*observed, *asked])) if v not in model.set_from_outside
    ]
    plan = model.plan(model.factors(observed, asked))
    size = max(1, min(draws, MOST_AT_ONCE // plan.cells))
    streams = {v: np.random.default_rng([seed, 1 + v]) for v in relevant}
    answers: dict[int, list[Floats]] = {v: [] for v in asked}
    for first in range(0, draws, size):
        count = min(size, draws - first)
        drawn = [_drawn(case, v, count, streams[v]) for v in relevant]
        for v, belief in CliqueTree(drawn, plan, log_sum).beliefs():
            if v in answers:
                others = tuple(1 + a for a, u in enumerate(belief.scope) if u != v)
                answers[v].append(normalised(log_sum(belief.values, others)))
    ends = ((1 - level) / 2, (1 + level) / 2)
    found: Intervals = {}
    for v in asked:
        labels, name = parameters.states[v], parameters.network.names[v]
        if len(labels) == 1:
            found[name] = {labels[0]: (1.0, 1.0)}
            continue
        low, high = np.quantile(np.concatenate(answers[v]), ends, axis=0)
        pairs = zip(low.tolist(), high.tolist(), strict=True)
        found[name] = dict(zip(labels, pairs, strict=True))
    return found


def _drawn(case: Situation, v: int, count: int, random: np.random.Generator) -> Factor:
    """Draw the table of a variable, evidence fixed in it: one row of the factor for each draw."""
    parameters, model = case.parameters, case.model
    cells = (parameters.counts or ())[v] + (parameters.smoothing or UNIFORM)
    gammas = random.standard_gamma(np.broadcast_to(cells, (count, *cells.shape)))
    gammas = np.maximum(gammas, np.finfo(float).tiny)  # a pseudo-count near 0 may underflow
    logs = np.log(gammas / gammas.sum(axis=2, keepdims=True))
    axes, sizes = (*model.parents[v], v), model.cardinalities
    table = logs.reshape(count, *(sizes[u] for u in axes))
    hidden = [a for a, u in enumerate(axes) if u not in case.codes and sizes[u] > 1]
    fixed = tuple(slice(None) if a in hidden else case.codes.get(u, 0) for a, u in enumerate(axes))
    scope = [axes[a] for a in hidden]
    order = sorted(range(len(scope)), key=scope.__getitem__)
    values = table[(slice(None), *fixed)].transpose([0, *(1 + i for i in order)])
    return Factor(tuple(sorted(scope)), values)
