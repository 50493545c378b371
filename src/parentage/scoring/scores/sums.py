r"""Scores that are differences of sums over joint states.

.. math:: s(X|\Pi) = \sum_c f(n_c) + \rho(q_{X \cup \Pi}) - \sum_d m(n_d) - \rho(q_\Pi) - k_X

c runs over the joint states of X and Π, d over those of Π; f may depend on their number q, m on
the number of states of X, and both are 0 for no row and for a single one, which is what makes
counting fast. Where m is f, one sum per set serves all children in it.

**Marginal likelihoods** under Dirichlet priors, with α pseudo-rows for each of the r states of X in
each of the q configurations of its parents:

.. math:: s(X|\Pi) = \sum_j \ln\frac{\Gamma(r\alpha)}{\Gamma(r\alpha + n_j)}
                   + \sum_{jk} \ln\frac{\Gamma(\alpha + n_{jk})}{\Gamma(\alpha)}

* **BDeu** (Buntine 1991; Heckerman, Geiger & Chickering 1995): α = ess / (r q). Score equivalent.
* **K2** (Cooper & Herskovits 1992): α = 1, a uniform prior for each configuration.
* **Jeffreys**: α = ½, Jeffreys' prior for each configuration.

ln Γ(a + c) − ln Γ(a) = c ln a + Σ_{1≤i<c} ln(1 + i/a). The first parts add up to N ln r over a
family, the second is 0 for a single row: that is f, with a = α for the family and r α for Π.

**Normalised maximum likelihood**, with the regret of N rows and q states

.. math:: C(N, q) = \sum_{n_1 + \dots + n_q = N} \frac{N!}{\prod n_k!} \prod_k (n_k / N)^{n_k}

* **qNML** (Silander, Leppä-aho, Jääsaari & Roos 2018): s = LL − [ln C(N, r q) − ln C(N, q)].
  Nothing to set, score equivalent.
* **fNML** (Silander, Roos, Kontkanen & Myllymäki 2008): s = LL − Σ_j ln C(n_j, r) over the parent
  configurations j that occur. Not score equivalent; its authors replaced it by qNML.

By Mononen & Myllymäki (2008) C(N, q) is Σ t_k, k = 0 … N, with t_0 = 1 and t_{k+1}/t_k =
(N − k)(q − 1 + k) / (N (k + 1)): positive terms only, so nothing cancels, for any q. For all N at
once and few states there is C(N, q + 2) = C(N, q + 1) + (N / q)·C(N, q) (Kontkanen & Myllymäki
2007), used on ratios.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from parentage.scoring.scores.fixed_point import FixedPoint, Longs, ln, require_numbers
from parentage.scoring.scores.score import Families, Score, joint_counts, joint_states

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parentage.data.table import Table


@dataclass(frozen=True)
class BySums(Score):
    """A score that is not a plain penalised likelihood."""

    by_states: ClassVar[bool] = False
    """Whether parents cost what their number of joint states says (:meth:`price_of_states`)."""

    @property
    def one_function(self) -> bool:
        """Whether f is the same for all sets."""
        return True

    @property
    def own_minus(self) -> bool:
        """Whether m is another function than f, one per number of states of the child."""
        return False

    def value(self, most: int, q: int) -> Longs:
        """Return f(c) for c = 0 … most, for sets with q joint states; c ln c unless said."""
        return entropy_function(most)

    def minus(self, most: int, r: int) -> Longs:
        """Return m(c) for c = 0 … most, for children with r states, if it is not f."""
        raise NotImplementedError

    def rho(self, n_rows: int, q: int) -> np.longdouble:
        """Return ρ(q)."""
        return np.longdouble(0)

    def constant(self, n_rows: int, r: int) -> np.longdouble:
        """Return k of a child with r states."""
        return np.longdouble(n_rows * _ln(r))

    def price_of_states(self, n_rows: int, r: int, q: int) -> float:
        """Return what parents of q joint states cost a child of r, if that is all they cost."""
        raise NotImplementedError

    def leftover(self, most: int) -> Longs:
        """Return the function whose sums give h: c ln c, so that h_X = N·H(X | all others)."""
        return entropy_function(most)

    def adds(self, q: int) -> bool:
        """Whether price and h add up for parents with q joint states (Theorem 4)."""
        return True

    def grid(self, families: Families) -> FixedPoint:
        """Return a grid for sums over sets of as many joint states as can be met."""
        n_rows, most = families.table.n_rows, families.most_parents
        arity = families.table.cardinalities[families.columns]
        largest_first = sorted((int(r) for r in arity), reverse=True)
        joint = largest_first if most is None else largest_first[: 1 + most]
        log_q = math.log(families.times) + math.fsum(math.log(r) for r in joint)
        largest = self.largest(n_rows, log_q, families.widest) + families.width
        require_numbers(n_rows, 48)
        return FixedPoint.for_sums(n_rows, largest, self.leftover(n_rows))

    @abstractmethod
    def largest(self, n_rows: int, log_q: float, r: int) -> float:
        """Return what no sum exceeds, for sets of up to e^log_q joint states, children of r."""


def entropy_function(most: int) -> Longs:
    """Return c ln c for c = 0 … most."""
    c = np.arange(most + 1, dtype=np.longdouble)
    c[0] = 1
    return c * ln(c)


def _ln(number: int) -> np.longdouble:
    """Return ln of one number."""
    return np.longdouble(ln(np.array([number], np.longdouble))[0])


def log_rising(most: int, a: float) -> Longs:
    """Return Σ_{1≤i<c} ln(1 + i/a) for c = 0 … most."""
    found = np.zeros(most + 1, np.longdouble)
    i = np.arange(1, most, dtype=np.longdouble)
    np.cumsum(ln(1 + i / np.longdouble(a)), out=found[2:])
    return found


def _rows_given_prior(counts: Sequence[int], a: float) -> float:
    """Return Σ ln Γ(a + n)/Γ(a)."""
    return math.fsum(math.lgamma(a + n) - math.lgamma(a) for n in counts)


@dataclass(frozen=True)
class Dirichlet(BySums):
    """BDeu, K2 or Jeffreys."""

    @property
    def one_function(self) -> bool:
        """Only for BDeu f depends on q."""
        return self.parameter is None

    @property
    def own_minus(self) -> bool:
        """For BDeu the parents' r α is the α of a family with q joint states."""
        return self.parameter is None

    def alpha(self, r: int, q: int) -> float:
        """Return the pseudo-rows of one state in one configuration."""
        if self.parameter is not None:
            return self.parameter / (r * q)
        return 1.0 if self.kind.name == "k2" else 0.5

    def local(self, table: Table, x: int, parents: Sequence[int]) -> float:
        """Return the log marginal likelihood of the family."""
        r = int(table.cardinalities[x])
        a = self.alpha(r, joint_states(table, parents))
        family, given = joint_counts(table, [x, *parents]), joint_counts(table, parents)
        return _rows_given_prior(family, a) - _rows_given_prior(given, r * a)

    def price(self, table: Table, x: int, parents: Sequence[int]) -> float:
        """Return ln r for every joint state that occurs (BDeu, Theorem 4), or Lemma 9's price."""
        r = int(table.cardinalities[x])
        if self.parameter is None:
            given, a = joint_counts(table, parents), self.alpha(r, 1)
            return _rows_given_prior(given, r * a) - _rows_given_prior(given, a)
        cells = len(joint_counts(table, [x, *parents])) * math.log(r)
        if self.adds(joint_states(table, parents)):
            return cells
        return max(0.0, cells - self.unexplained(table, x))

    def bound_in_words(self, table: Table, x: int, parents: Sequence[int]) -> str:
        """Return how many joint states of a family occur, which is what BDeu's price is for."""
        if self.parameter is None:
            return super().bound_in_words(table, x, parents)
        cells = len(joint_counts(table, [*parents, x]))
        return f"for {cells} joint states that occur (ln {int(table.cardinalities[x])} each)"

    def unexplained(self, table: Table, x: int) -> float:
        """Return N·H(X | all others), or with K2 and Jeffreys Σ ln of multinomials instead."""
        if self.parameter is not None:
            return super().unexplained(table, x)
        others = [v for v in range(table.n_variables) if v != x]
        whole = joint_counts(table, [*others, x])
        return _rows_given_prior(joint_counts(table, others), 1.0) - _rows_given_prior(whole, 1.0)

    def value(self, most: int, q: int) -> Longs:
        """Return f with the α of sets of q joint states."""
        return log_rising(most, self.alpha(1, q))

    def minus(self, most: int, r: int) -> Longs:
        """Return f with r α."""
        return log_rising(most, r * self.alpha(r, 1))

    def leftover(self, most: int) -> Longs:
        """Return ln c! for K2 and Jeffreys, c ln c for BDeu."""
        return log_rising(most, 1.0) if self.parameter is None else super().leftover(most)

    def adds(self, q: int) -> bool:
        """Whether ess / q ≤ 1/3 (Lemma 6)."""
        return self.parameter is None or 3 * self.parameter <= q

    def largest(self, n_rows: int, log_q: float, r: int) -> float:
        """Return N ln(1 + N/α) + N ln r for the smallest α."""
        smallest = 0.0 if self.parameter is None else math.log(self.parameter) - log_q
        return n_rows * (math.log(1 + 2 * n_rows) + max(0.0, -smallest) + 2 * math.log(r))


@lru_cache(maxsize=100_000)
def log_regret(n_rows: int, q: int) -> np.longdouble:
    """Return ln C(N, q).

    >>> [round(float(log_regret(1000, q)), 4) for q in (1, 2, 100, 1000)]
    [0.0, 3.6964, 174.0594, 824.9583]
    """
    if n_rows == 0 or q == 1:
        return np.longdouble(0)
    k = np.arange(n_rows, dtype=np.longdouble)
    growth = (n_rows - k) * (np.longdouble(q - 1) + k) / (n_rows * (k + 1))  # t_{k+1} / t_k
    rising = growth[growth > 1]  # the first ones: t grows up to its largest, then it falls
    above, below = np.cumprod(growth[len(rising) :]), np.cumprod(1 / rising[::-1])
    parts = np.append(rising, 1 + above.sum() + below.sum())
    return np.longdouble(np.cumsum(ln(parts))[-1])


def log_regrets(most: int, q: int) -> Longs:
    """Return ln C(c, q) for c = 0 … most.

    >>> [round(float(x), 4) for x in log_regrets(3, 2)]
    [0.0, 0.6931, 0.9163, 1.0609]
    """
    c = np.arange(most + 1, dtype=np.longdouble)
    if q == 1:
        return np.zeros_like(c)
    ratio = _two_states(most)  # C(c, 2) / C(c, 1)
    total = ln(ratio)
    for states in range(1, q - 1):
        ratio = 1 + c / (states * ratio)
        total += ln(ratio)
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


@dataclass(frozen=True)
class QNML(BySums):
    """Quotient NML: F(S) = G(S) − ln C(N, q_S)."""

    by_states = True

    def price(self, table: Table, x: int, parents: Sequence[int]) -> float:
        """Return the penalty, which grows with q (Lemma 7)."""
        q = joint_states(table, parents)
        return self.price_of_states(table.n_rows, int(table.cardinalities[x]), q)

    def price_of_states(self, n_rows: int, r: int, q: int) -> float:
        """Return ln C(N, r q) − ln C(N, q)."""
        return float(log_regret(n_rows, r * q) - log_regret(n_rows, q))

    def rho(self, n_rows: int, q: int) -> np.longdouble:
        """Return −ln C(N, q)."""
        return np.longdouble(-log_regret(n_rows, q))

    def constant(self, n_rows: int, r: int) -> np.longdouble:
        """Return 0: nothing was taken out."""
        return np.longdouble(0)

    def largest(self, n_rows: int, log_q: float, r: int) -> float:
        """Return N ln N + N ln q: C(N, q) ≤ q^N."""
        return n_rows * (math.log(n_rows) + log_q + math.log(r))


@dataclass(frozen=True)
class FNML(BySums):
    """Factorised NML: m(c) = c ln c + ln C(c, r), less the c ln r that makes m(1) = 0."""

    @property
    def own_minus(self) -> bool:
        """Every number of states has a regret of its own."""
        return True

    def price(self, table: Table, x: int, parents: Sequence[int]) -> float:
        """Return the penalty, which grows when configurations are split (Lemma 8)."""
        r = int(table.cardinalities[x])
        return math.fsum(float(log_regret(n, r)) for n in joint_counts(table, parents))

    def minus(self, most: int, r: int) -> Longs:
        """Return c ln c + ln C(c, r) − c ln r."""
        c = np.arange(most + 1, dtype=np.longdouble)
        found = entropy_function(most) + log_regrets(most, r) - c * _ln(r)
        found[:2] = 0
        return np.asarray(found)

    def largest(self, n_rows: int, log_q: float, r: int) -> float:
        """Return N ln N + 2 N ln r."""
        return n_rows * (math.log(n_rows) + 2 * math.log(r))
