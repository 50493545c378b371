"""Complete rows: every row times the choices for its components of missing cells.

Rows and choices are packed into words (:class:`parentage.scoring.encoding.Layout`), so that to
make a choice is to set bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.kernels._options import JIT, njit


class Choices(NamedTuple):
    """States of components of missing cells, by case.

    Parameters
    ----------
    start
        ``int64[case + 1]``: where the choices of a case begin.
    share
        ``float64[choice]``: posterior, falling within a case.
    words
        ``uint64[word, choice]``: the bits to set.
    """

    start: npt.NDArray[np.int64]
    share: npt.NDArray[np.float64]
    words: npt.NDArray[np.uint64]


@njit(**JIT)
def apportion(shares, units):
    """Divide units in proportion to shares, by the method of largest remainders.

    ``shares`` is ``float64[part]``; returns ``int64[part]``, which sums to ``units``.
    """
    total = 0.0
    for i in range(len(shares)):  # in this order, which shares.sum() leaves open
        total += shares[i]
    exact = shares / total * units
    down = np.floor(exact).astype(np.int64)
    left = units - down.sum()
    order = np.argsort(down - exact, kind="mergesort")
    for i in range(left):
        down[order[i]] += 1
    for _ in range(left, 0):  # a rounding error may make it one too many
        down[np.argmax(down)] -= 1
    return down


@njit(**JIT)
def multiply(words, shares, choices, case, least):
    """Return rows times the choices of one case: ``uint64[word, row]`` and their shares.

    What has less than ``least`` is left out, but never all.
    """
    begin, end = choices.start[case], choices.start[case + 1]
    bar = min(least, shares.max() * choices.share[begin])
    n = 0
    for i in range(len(shares)):
        for c in range(begin, end):
            if shares[i] * choices.share[c] < bar:
                break
            n += 1
    n_words = len(words)
    more = np.empty((n_words, n), np.uint64)
    share = np.empty(n, np.float64)
    n = 0
    for i in range(len(shares)):
        for c in range(begin, end):
            product = shares[i] * choices.share[c]
            if product < bar:
                break
            for w in range(n_words):
                more[w, n] = words[w, i] | choices.words[w, c]
            share[n] = product
            n += 1
    return more, share


@njit(work=lambda words, *_: 60 * words.shape[1], **JIT)
def complete_rows(words, units, first, case, choices, least):
    """Return all completions that have a unit or more, and their units.

    Parameters
    ----------
    words
        ``uint64[word, row]``: what is observed.
    units
        ``int64[row]``: units of each row, which its completions divide.
    first, case
        ``int64[row + 1]``, ``int64[…]``: the cases of row i are ``case[first[i]:first[i + 1]]``.
    choices
        The choices of the cases.
    least
        Completions with less than this part of a unit are left out.
    """
    n_words, n_rows = words.shape
    out = np.empty((n_words, 2 * n_rows + 1024), np.uint64)
    weights = np.empty(out.shape[1], np.int64)
    found = 0
    for row in range(n_rows):
        own = words[:, row].copy().reshape(n_words, 1)
        shares = np.ones(1)
        for i in range(first[row], first[row + 1]):
            own, shares = multiply(own, shares, choices, case[i], least / units[row])
        parts = apportion(shares, units[row])
        if found + len(parts) > len(weights):
            larger = 2 * len(weights) + len(parts)
            grown = np.empty((n_words, larger), np.uint64)
            grown[:, :found] = out[:, :found]
            heavier = np.empty(larger, np.int64)
            heavier[:found] = weights[:found]
            out, weights = grown, heavier
        for j in range(len(parts)):
            if parts[j] > 0:
                out[:, found] = own[:, j]
                weights[found] = parts[j]
                found += 1
    return out[:, :found].copy(), weights[:found].copy()
