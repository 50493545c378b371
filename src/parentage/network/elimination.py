r"""Sums and maxima of products of small tables: variable elimination. Below inference.

A factor φ(S) is a table over a few variables. To sum the product of factors over a variable v, only
those that contain v have to be multiplied; the result is a new factor over their other variables
(Zhang & Poole 1994; Dechter 1999). Done for one variable after the other, the cost is the size of
the largest product, which depends on the order alone: :func:`plan_elimination` finds a good one
and tells its cost before anything is computed. The products form a tree; passing messages up and
then down it gives every variable's marginal for twice the price of one (Shafer & Shenoy 1990).

Everything is in logarithms, so that nothing underflows and a zero is certain:

.. math:: \log \sum_v \prod_i \varphi_i = \log \sum_v \exp \sum_i \log \varphi_i

With the maximum instead of the sum the same pass finds the most probable states. The first axis of
every table counts rows of evidence, or has length 1 where all rows agree, so that many rows are
evaluated at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Logs = npt.NDArray[np.float64]
"""Logarithms ``float64[rows or 1, states of the scope …]``."""

Reduce = Callable[[Logs, tuple[int, ...]], Logs]
"""Takes some axes out of a table: :func:`log_sum` or :func:`log_max`."""


class Factor(NamedTuple):
    """A table over some variables: ``scope`` rising, one axis of ``values`` each after the rows."""

    scope: tuple[int, ...]
    values: Logs


def log_sum(values: Logs, axes: tuple[int, ...]) -> Logs:
    """Return log Σ exp over some axes; −∞ where all are.

    >>> float(log_sum(np.log([[0.25, 0.5]]), (1,))[0]) == math.log(0.75)
    True
    """
    if not axes:
        return values
    top = values.max(axis=axes, keepdims=True)
    top[top == -np.inf] = 0.0
    with np.errstate(divide="ignore"):
        total = np.log(np.exp(values - top).sum(axis=axes))
    result: Logs = total + top.reshape(total.shape)
    return result


def log_max(values: Logs, axes: tuple[int, ...]) -> Logs:
    """Return the maximum over some axes."""
    return values.max(axis=axes) if axes else values


def product(factors: Iterable[Factor], scope: Sequence[int]) -> Logs:
    """Multiply factors into one table over a scope that holds all of theirs."""
    total: Logs = np.zeros((1,) * (1 + len(scope)))
    for factor in sorted(factors, key=lambda factor: factor.values.size):
        sizes = dict(zip(factor.scope, factor.values.shape[1:], strict=True))
        total = total + factor.values.reshape(
            factor.values.shape[0], *(sizes.get(v, 1) for v in scope)
        )
    return total


@dataclass(frozen=True)
class Plan:
    """An order of elimination and what it will cost.

    Parameters
    ----------
    order
        The variables to eliminate, first one first.
    cliques
        For each of them the scope of the product it is summed out of, rising.
    keep
        The variables that stay, rising.
    cells
        Cells of the largest table, per row of evidence.
    total
        Cells of all tables together.
    """

    order: tuple[int, ...]
    cliques: tuple[tuple[int, ...], ...]
    keep: tuple[int, ...]
    cells: int
    total: int

    @property
    def largest(self) -> tuple[int, ...]:
        """The scope of the largest table."""
        return max((*self.cliques, self.keep), key=len)


def plan_elimination(
    scopes: Iterable[Iterable[int]], cardinalities: Sequence[int], keep: Iterable[int] = ()
) -> Plan:
    """Choose an order: the better of least fill-in and least table, each greedily.

    >>> chain = plan_elimination([(0,), (0, 1), (1, 2), (2, 3)], [2, 2, 2, 2], keep=(3,))
    >>> chain.order, chain.cells
    ((0, 1, 2), 4)
    """
    families = [frozenset(scope) for scope in scopes]
    staying = tuple(sorted(set(keep)))
    plans = [
        _greedy(families, cardinalities, staying, cost) for cost in (_least_fill, _least_table)
    ]
    return min(plans, key=lambda plan: (plan.cells, plan.total))


Cost = Callable[[int, Mapping[int, set[int]], Sequence[int]], tuple[float, ...]]


def _least_table(v: int, near: Mapping[int, set[int]], sizes: Sequence[int]) -> tuple[float, ...]:
    return (math.prod(sizes[u] for u in near[v]) * sizes[v], v)


def _least_fill(v: int, near: Mapping[int, set[int]], sizes: Sequence[int]) -> tuple[float, ...]:
    around = near[v]
    missing = sum(len(around) - 1 - len(around & near[u]) for u in around)
    return (missing, *_least_table(v, near, sizes))


def _greedy(
    families: Sequence[frozenset[int]], sizes: Sequence[int], keep: tuple[int, ...], cost: Cost
) -> Plan:
    """Take the cheapest variable, join its neighbours, and so on."""
    near: dict[int, set[int]] = {v: set() for family in families for v in family}
    near |= {v: set() for v in keep if v not in near}
    for family in families:
        for v in family:
            near[v] |= family - {v}
    costs = {v: cost(v, near, sizes) for v in near if v not in keep}
    order, cliques = [], []
    while costs:
        v = min(costs, key=costs.__getitem__)
        del costs[v]
        around = near.pop(v)
        order.append(v)
        cliques.append(tuple(sorted((v, *around))))
        touched = set(around)
        for u in around:
            if not around <= near[u] | {u}:  # new neighbours change what fills in around them
                near[u] |= around
                touched |= near[u]
            near[u] -= {u, v}
        costs.update({u: cost(u, near, sizes) for u in touched if u in costs})
    cells = [math.prod(sizes[v] for v in scope) for scope in (*cliques, keep)]
    return Plan(tuple(order), tuple(cliques), keep, max(cells), sum(cells))


class CliqueTree:
    """The products of an elimination, joined by the messages between them.

    ``own[i]`` are the factors multiplied when the i-th variable of the order is eliminated,
    ``up[i]`` is what is left of that product, ``children[i]`` are the products whose result enters
    it, and ``root`` is what remains at the end, over the variables that are kept.
    """

    def __init__(self, factors: Sequence[Factor], plan: Plan, reduce: Reduce) -> None:
        self.plan, self.reduce = plan, reduce
        position = {v: i for i, v in enumerate(plan.order)}
        end = len(plan.order)

        def place(scope: Iterable[int]) -> int:
            return min((position.get(v, end) for v in scope), default=end)

        self.own: list[list[Factor]] = [[] for _ in range(end + 1)]
        self.children: list[list[int]] = [[] for _ in range(end + 1)]
        self.up: list[Factor] = []
        for factor in factors:
            self.own[place(factor.scope)].append(factor)
        for i, clique in enumerate(plan.cliques):
            left = [v for v in clique if v != plan.order[i]]
            message = self._reduced(product(self.entering(i), clique), clique, left)
            self.up.append(message)
            self.children[place(message.scope)].append(i)
        self.root = Factor(plan.keep, product(self.entering(end), plan.keep))

    def entering(self, i: int) -> list[Factor]:
        """Return the factors that are multiplied when the i-th variable is eliminated."""
        return [*self.own[i], *(self.up[c] for c in self.children[i])]

    def _reduced(self, table: Logs, clique: tuple[int, ...], left: Iterable[int]) -> Factor:
        staying = set(left)
        axes = tuple(1 + a for a, v in enumerate(clique) if v not in staying)
        return Factor(tuple(v for v in clique if v in staying), self.reduce(table, axes))

    def beliefs(self) -> Iterator[tuple[int, Factor]]:
        """Yield every eliminated variable, last one first, with the reduced product of its part.

        A part is what hangs together by its factors; the belief's scope is the clique of the
        variable. Only for plans that keep nothing.
        """
        end = len(self.plan.order)
        nothing = Factor((), np.zeros(1))
        down = dict.fromkeys(self.children[end], nothing)
        for i in reversed(range(end)):
            clique, above = self.plan.cliques[i], down.pop(i)
            whole = product([*self.entering(i), above], clique)
            for c in self.children[i]:
                down[c] = self._reduced(self._without(i, c, whole, above), clique, self.up[c].scope)
            yield self.plan.order[i], Factor(clique, whole)

    def _without(self, i: int, c: int, whole: Logs, above: Factor) -> Logs:
        """Return the i-th product without the message of one child; −∞ cannot be taken back."""
        clique, message = self.plan.cliques[i], self.up[c]
        if np.isfinite(message.values).all():
            return whole - product([message], clique)
        others = [self.up[other] for other in self.children[i] if other != c]
        return np.broadcast_to(product([*self.own[i], *others, above], clique), whole.shape)
