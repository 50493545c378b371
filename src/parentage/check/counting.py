"""Scores in whole numbers with bounds on both sides: logarithms, joint counts, and their sums.

For a set S of columns with n_c rows in joint state c and q joint states by declaration, put
F(S) = Σ_c f(n_c). Every score that a recount knows is s(X|Π) = F(X ∪ Π) − F(Π) − price(X, Π):

* BIC and relatives: f(c) = c ln c, price = w (r − 1) q_Π;
* qNML: f(c) = c ln c, price = ln C(N, r q_Π) − ln C(N, q_Π);
* BDeu: f(c) = Σ_{1 ≤ i < c} ln(1 + i q_S / ess), price = N ln r.

Numbers are multiples of 2^−bits, rounded down; what is cut off is bounded (docs/certificates.md).

Counting is plain NumPy. Sets of one size are taken in lexicographic order. All that share their
first columns share the parts of the rows that these make; rows that are alone in theirs are
dropped, because f(1) = 0 for every score. What is left is one ``bincount`` for many sets.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from multiprocessing import get_context
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from parentage.check.document import ProofError
from parentage.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parentage.check.families import Ints

WEIGHED = ("bic", "aic", "hqc", "ebic", "penalty")
"""Likelihoods minus w for every free parameter."""

KNOWN = (*WEIGHED, "bdeu", "qnml")
"""The scores that a recount knows."""

WORKING = 160
"""Bits behind the point of a logarithm; it is off by less than 2^−140."""

MOST_BITS, FEWEST_BITS = 48, 16
LARGEST = 2**60
"""No sum and no price that matters reaches this many units; larger prices are cut to it. A set that
is counted has fewer joint states, by declaration."""


@cache
def _ln_of_first(i: int) -> int:
    """Return ln(i / 128) in units of 2^−WORKING, for 128 ≤ i ≤ 256."""
    return _twice_atanh(((i - 128) << WORKING) // (i + 128))


def _twice_atanh(z: int) -> int:
    """Return 2 atanh(z) for 0 ≤ z ≤ 1/3, by its series."""
    square, power, total, k = z * z >> WORKING, z, 0, 1
    while power:
        total += power // k
        power, k = power * square >> WORKING, k + 2
    return 2 * total


def ln(m: int) -> int:
    """Return ln m for a whole number m ≥ 1, in units of 2^−WORKING, off by less than 2^−140.

    >>> ln(1), round(ln(10) / 2**WORKING, 12)
    (0, 2.302585092994)
    """
    e = m.bit_length() - 1
    x = m << WORKING - e if e <= WORKING else m >> e - WORKING
    first = x >> WORKING - 7
    near = first << WORKING - 7
    rest = _twice_atanh(((x - near) << WORKING) // (x + near))
    return e * _ln_of_first(256) + _ln_of_first(first) + rest


def ln_ratio(x: Fraction) -> int:
    """Return ln x for a positive fraction, as :func:`ln` does."""
    return ln(x.numerator) - ln(x.denominator)


@cache
def ln_regret(n_rows: int, q: int) -> int:
    """Return ln C(N, q), the regret of q states, in units of 2^−WORKING, off by less than 2^−100.

    C(N, q) = Σ t_k, k = 0 … N, with t_0 = 1, t_{k+1} / t_k = (N − k)(q − 1 + k) / (N (k + 1))
    (Mononen & Myllymäki 2008); terms are kept to 200 bits at least.

    >>> round(math.exp(ln_regret(2, 2) / 2**WORKING), 12)
    2.5
    """
    term = total = 1 << 256
    scale = 256
    for k in range(n_rows):
        term = term * ((n_rows - k) * (q - 1 + k)) // (n_rows * (k + 1))
        total += term
        if not term:
            break
        if (more := total.bit_length() - 512) > 0:
            term, total, scale = term >> more, total >> more, scale - more
    return ln(total) - scale * _ln_of_first(256)


@dataclass(frozen=True)
class WholeScore:
    """A score of one table in fixed point.

    Parameters
    ----------
    kind
        One of :data:`KNOWN`.
    n_rows
        N.
    bits
        Numbers are multiples of 2^−bits.
    weight
        w in units of 2^−WORKING, where the score has one.
    ess
        BDeu's equivalent sample size.
    """

    kind: str
    n_rows: int
    bits: int
    weight: int = 0
    ess: Fraction = Fraction(1)
    _values: dict[int, Ints] = field(init=False, default_factory=dict, compare=False, repr=False)
    _prices: dict[tuple[int, int], int] = field(
        init=False, default_factory=dict, compare=False, repr=False
    )

    def down(self, x: int) -> int:
        """Round a number in units of 2^−WORKING down to the grid, its own error included."""
        return x - (1 << WORKING - 100) >> WORKING - self.bits

    def up(self, x: int) -> int:
        """Round a number in units of 2^−WORKING up to the grid, its own error included."""
        return -self.down(-x)

    def values(self, q: int, most: int) -> Ints:
        """Return f(c) for c = 0 … most at least, of a set of q joint states; less than 1 too low.

        Only BDeu's depend on q.
        """
        key = q if self.kind == "bdeu" else 0
        known = self._values.get(key)
        if known is None or len(known) <= most:
            known = self._bdeu_values(q, most) if key else self._entropy_values(most)
            self._values[key] = known
        return known

    def _entropy_values(self, most: int) -> Ints:
        found = [0, 0, *(self.down(c * ln(c)) for c in range(2, most + 1))]
        return np.array(found[: most + 1], np.int64)

    def _bdeu_values(self, q: int, most: int) -> Ints:
        found, total = [0, 0], 0
        a, b = self.ess.numerator, self.ess.denominator
        below = ln(a)
        for i in range(1, most):
            total += ln(a + i * q * b) - below
            found.append(self.down(total))
        return np.array(found[: most + 1], np.int64)

    def prices(self, q: Ints, r: int) -> Ints:
        """Return price(X, Π) for q_Π and the states of X, rounded down; off by less than 2."""
        distinct, where = np.unique(q, return_inverse=True)
        for one in distinct.tolist():
            if (one, r) not in self._prices:
                self._prices[one, r] = min(LARGEST, self.down(self._price(one, r)))
        found = np.array([self._prices[one, r] for one in distinct.tolist()], np.int64)
        return found[where.reshape(-1)]

    def _price(self, q: int, r: int) -> int:
        if self.kind == "bdeu":
            return self.n_rows * ln(r)
        if self.kind == "qnml":
            return ln_regret(self.n_rows, r * q) - ln_regret(self.n_rows, q)
        return self.weight * (r - 1) * q

    def ceilings(self, q: Ints, r: int, unexplained: int, cells: Ints) -> Ints:
        """Return what no superset of Π scores above (Lemma 3, Theorems 4 and 6).

        ``unexplained`` is h_X or less; ``cells`` are at most the joint states that occur of X ∪ Π.
        """
        if self.kind != "bdeu":
            return -unexplained - self.prices(q, r)
        spread = cells * max(0, self.down(ln(r)))
        adds = q >= math.ceil(3 * self.ess)
        return -np.where(adds, unexplained + spread, np.maximum(unexplained, spread))


def measure_of(
    score: str, n_rows: int, varying: int, log_states: float, largest: float
) -> WholeScore:
    """Return the score of some settings, on the finest grid that 60 bits have room for.

    Parameters
    ----------
    score
        As a certificate records it: the name, and the parameter behind a colon.
    n_rows, varying
        Rows, and columns that are not constant.
    log_states
        ln q of the largest set of columns that is counted.
    largest
        The largest size of a number that has to be on the grid besides.
    """
    kind, _, parameter = score.partition(":")
    if kind not in KNOWN:
        raise InputError(
            f"the table can be scored again under {', '.join(KNOWN)}, not under {kind}; "
            "give the candidate lists instead of the table"
        )
    try:
        number = Fraction(float(parameter or 0))
    except (ValueError, OverflowError):
        raise ProofError(f"settings.score: unknown score {score!r}") from None
    everything = n_rows * math.log(n_rows)
    if kind == "bdeu" and number > 0:
        everything = n_rows * (math.log1p(n_rows / float(number)) + log_states)
    elif kind == "qnml":
        everything += n_rows * log_states
    bits = min(MOST_BITS, 58 - math.ceil(math.log2(max(everything, largest, 1.0))))
    weight = _weight(kind, number, n_rows, varying)
    if bits < FEWEST_BITS or (weight <= 0 if kind in WEIGHED else kind == "bdeu" and number <= 0):
        raise ProofError(f"settings.score: {score} is invalid, or needs more than 64 bits")
    return WholeScore(kind, n_rows, bits, weight, number or Fraction(1))


def _weight(kind: str, number: Fraction, n_rows: int, varying: int) -> int:
    """Return the penalty of a parameter in units of 2^−WORKING; 0 where there is none."""
    if kind in ("aic", "penalty"):
        return math.floor((number if kind == "penalty" else Fraction(1)) * (1 << WORKING))
    if kind == "hqc":
        return ln(max(1, ln(n_rows))) - WORKING * ln(2)
    if kind in ("bic", "ebic"):
        return ln(n_rows) // 2 + math.floor(number * ln(max(varying, 1)))
    return 0


AT_ONCE = 1 << 20
"""Joint states that are counted at once."""

SEVERAL = 1 << 22
"""Rows of all sets together that are worth other processes."""

Sums = Callable[["Ints"], tuple["Ints", "Ints"]]
"""From sets of one size, ``[set, member]``, to their F and the joint states that occur."""


Groups = tuple["Ints", "Ints", int, int]
"""Rows in groups of two or more by joint state: their numbers, the group of each, the number of
groups, and the number of joint states of one row, which were dropped."""


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The distinct rows of a table.

    Parameters
    ----------
    codes
        ``[column, row]``.
    repeats
        How often each row occurs; empty: once, each.
    arity
        Declared states of the columns.
    measure
        What is added up.
    """

    codes: npt.NDArray[np.uint16]
    repeats: Ints
    arity: tuple[int, ...]
    measure: WholeScore

    def sums(self, sets: Ints) -> tuple[Ints, Ints]:
        """Return F(S), rounded down, and the joint states that occur, of sets of one size.

        ``sets`` is ``[set, member]``, members rising, sets in lexicographic order.
        """
        count, size = sets.shape
        found, cells = np.zeros(count, np.int64), np.zeros(count, np.int64)
        if not size:
            total = self.measure.values(1, self.measure.n_rows)[self.measure.n_rows]
            return found + total, cells + 1
        change = np.flatnonzero((sets[1:, :-1] != sets[:-1, :-1]).any(axis=1)) + 1
        firsts = np.concatenate([[0], change, [count]])
        n = self.codes.shape[1]
        stack, path = [(np.arange(n), np.zeros(n, np.int64), 1, 0)], list[int]()
        for first, last in zip(firsts[:-1].tolist(), firsts[1:].tolist(), strict=True):
            prefix = sets[first, :-1].tolist()
            same = 0
            while same < len(path) and path[same] == prefix[same]:
                same += 1
            del stack[same + 1 :]
            for v in prefix[same:]:
                stack.append(self._divided(stack[-1], v))
            path, part = prefix, slice(first, last)
            found[part], cells[part] = self._counted(
                stack[-1], math.prod(self.arity[v] for v in prefix), sets[part, -1]
            )
        return found, cells

    def _counts(self, labels: Ints, rows: Ints, least: int) -> Ints:
        weights = self.repeats[rows] if len(self.repeats) else None
        return np.bincount(labels, weights, minlength=least).astype(np.int64, copy=False)

    def _divided(self, groups: Groups, v: int) -> Groups:
        """Divide groups by one more column."""
        rows, group, count, alone = groups
        r = self.arity[v]
        label = group * r + self.codes[v, rows]
        counts = self._counts(label, rows, count * r)
        stays = counts > 1
        kept = stays[label]
        number = np.cumsum(stays) - 1
        single = int(np.count_nonzero(counts == 1))
        return rows[kept], number[label[kept]], int(np.count_nonzero(stays)), alone + single

    def _counted(self, groups: Groups, states: int, last: Ints) -> tuple[Ints, Ints]:
        """Divide groups by each of some columns, and add up; ``states`` are theirs so far."""
        rows, group, count, alone = groups
        found, cells = np.zeros(len(last), np.int64), np.full(len(last), alone)
        arities = np.array([self.arity[v] for v in last.tolist()])
        for r in np.unique(arities).tolist():
            own, width = np.flatnonzero(arities == r), max(1, count * r)
            step = max(1, AT_ONCE // max(width, len(rows)))
            for at in range(0, len(own), step):
                some = own[at : at + step]
                label = group * r + self.codes[last[some]][:, rows]
                label += (np.arange(len(some)) * width)[:, None]
                repeated = np.broadcast_to(rows, label.shape).ravel()
                counts = self._counts(label.ravel(), repeated, len(some) * width)
                values = self.measure.values(states * r, int(counts.max(initial=0)))
                found[some] = values[counts].reshape(len(some), width).sum(axis=1)
                cells[some] += np.count_nonzero(counts.reshape(len(some), width), axis=1)
        return found, cells


@contextmanager
def counting(rows: DistinctRows, threads: int) -> Iterator[Sums]:
    """Give what counts sets: :meth:`DistinctRows.sums`, for many sets in as many processes."""
    if threads <= 1:
        yield rows.sums
        return
    with ProcessPoolExecutor(threads, get_context("spawn"), _take, (rows,)) as pool:

        def sums(sets: Ints) -> tuple[Ints, Ints]:
            if sets.shape[0] * rows.codes.shape[1] < SEVERAL:
                return rows.sums(sets)
            parts = list(pool.map(_sums, np.array_split(sets, 4 * threads)))
            return np.concatenate([f for f, _ in parts]), np.concatenate([c for _, c in parts])

        yield sums


_taken: list[DistinctRows] = []
"""In a process that counts: the rows."""


def _take(rows: DistinctRows) -> None:
    _taken[:] = [rows]


def _sums(sets: Ints) -> tuple[Ints, Ints]:
    return _taken[0].sums(sets)
