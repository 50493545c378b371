"""Credible intervals of single probabilities by definition: quantiles of the beta distribution.

An entry of a table has the distribution Beta(n[j, k] + α, Σ_l (n[j, l] + α) − n[j, k] − α), with
the counts n and the smoothing α. The report page computes the same in its script.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_STEPS, _TERMS, _CLOSE = 60, 2000, 1e-15


def entry_intervals(counts: npt.NDArray[np.int64], smoothing: float, level: float = 0.95) -> Floats:
    """Return ``float64[q, r, 2]``: the ends of the interval of every entry of a table.

    >>> entry_intervals(np.array([[0, 9]]), 1.0).round(3).tolist()
    [[[0.003, 0.308], [0.692, 0.997]]]
    """
    cells: Floats = counts.astype(np.float64) + (smoothing or 1.0)
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
