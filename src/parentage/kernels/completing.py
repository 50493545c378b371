"""Complete rows: every row times the choices for its components of missing cells.

Rows and choices are packed into words (:class:`parentage.scoring.encoding.Layout`), so that to
make a choice is to set bits.
"""

from __future__ import annotations

import numpy as np

from parentage.kernels._options import JIT, njit


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
    left = units
    for i in range(len(down)):
        left -= down[i]
    order = np.argsort(down - exact, kind="mergesort")
    for i in range(left):
        down[order[i]] += 1
    for _ in range(left, 0):  # a rounding error may make it one too many
        largest = 0
        for i in range(1, len(down)):
            if down[i] > down[largest]:
                largest = i
        down[largest] -= 1
    return down


@njit(**JIT)
def multiply(words, shares, choices, case, least):
    """Return rows times the choices of one case: ``uint64[word, row]`` and their shares.

    What has less than ``least`` is left out, but never all.
    """
    start, likely, bits = choices
    begin, end = start[case], start[case + 1]
    largest = shares[0]
    for i in range(1, len(shares)):
        largest = max(largest, shares[i])
    bar = min(least, largest * likely[begin])
    n = 0
    for i in range(len(shares)):
        for c in range(begin, end):
            if shares[i] * likely[c] < bar:
                break
            n += 1
    n_words = len(words)
    more = np.empty((n_words, n), np.uint64)
    share = np.empty(n, np.float64)
    n = 0
    for i in range(len(shares)):
        for c in range(begin, end):
            product = shares[i] * likely[c]
            if product < bar:
                break
            for w in range(n_words):
                more[w, n] = words[w, i] | bits[w, c]
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
        States of components of missing cells, by case: where those of a case begin, ``int64[case +
        1]``; their posterior, falling within a case, ``float64[choice]``; the bits to set,
        ``uint64[word, choice]``.
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
