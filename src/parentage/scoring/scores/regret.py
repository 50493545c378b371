r"""ln C(N, q): the regret of normalised maximum likelihood for N rows and q states.

.. math:: C(N, q) = \sum_{n_1 + \dots + n_q = N} \frac{N!}{\prod n_k!} \prod_k (n_k / N)^{n_k}

By Mononen & Myllymäki (2008) it is Σ t_k, k = 0 … N, with t_0 = 1 and t_{k+1}/t_k =
(N − k)(q − 1 + k) / (N (k + 1)): positive terms only, so nothing cancels, for any q. For all N at
once and few states there is C(N, q + 2) = C(N, q + 1) + (N / q)·C(N, q) (Kontkanen & Myllymäki
2007), used on ratios.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from parentage.scoring.scores.sums import Longs


@lru_cache(maxsize=4)
def _shared_part(n_rows: int) -> Longs:
    k = np.arange(n_rows, dtype=np.longdouble)
    return np.asarray(np.log1p(-k / n_rows) - np.log(k + 1))


@lru_cache(maxsize=100_000)
def log_regret(n_rows: int, q: int) -> np.longdouble:
    """Return ln C(N, q).

    >>> [round(float(log_regret(1000, q)), 4) for q in (1, 2, 100, 1000)]
    [0.0, 3.6964, 174.0594, 824.9583]
    """
    if n_rows == 0 or q == 1:
        return np.longdouble(0)
    k = np.arange(n_rows, dtype=np.longdouble)
    terms = np.empty(n_rows + 1, np.longdouble)
    terms[0] = 0
    np.cumsum(_shared_part(n_rows) + np.log(np.longdouble(q - 1) + k), out=terms[1:])
    top = terms.max()
    return np.longdouble(top + np.log(np.exp(terms - top).sum()))


def log_regrets(most: int, q: int) -> Longs:
    """Return ln C(c, q) for c = 0 … most.

    >>> [round(float(x), 4) for x in log_regrets(3, 2)]
    [0.0, 0.6931, 0.9163, 1.0609]
    """
    c = np.arange(most + 1, dtype=np.longdouble)
    if q == 1:
        return np.zeros_like(c)
    ratio = _two_states(most)  # C(c, 2) / C(c, 1)
    total = np.log(ratio)
    for states in range(1, q - 1):
        ratio = 1 + c / (states * ratio)
        total += np.log(ratio)
    return np.asarray(total)


@lru_cache(maxsize=4)
def _two_states(most: int) -> Longs:
    """Return C(c, 2) = Σ_k Π_{i<k} (1 − i/c) for c = 0 … most; late terms vanish."""
    c = np.arange(most + 1, dtype=np.longdouble)
    c[0] = 1
    total = np.ones(most + 1, np.longdouble)
    term = np.ones(most + 1, np.longdouble)
    first = 1  # below, all terms have vanished
    for k in range(1, most + 1):
        first = max(first, k)
        term[first:] *= 1 - (k - 1) / c[first:]
        total[first:] += term[first:]
        while first <= most and term[first] < 1e-24:
            first += 1
        if first > most:
            break
    return total
