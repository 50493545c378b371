r"""Posteriors as arrays: the tables of a network with evidence fixed in them. Below inference.

With evidence e the posterior of X is P(X, e) / P(e), both sums of the product of all conditional
probability tables over what is neither asked nor known. Of these tables only those of the ancestors
of X and e matter (the others sum to 1: barren nodes), known variables are fixed in them before
anything is multiplied, and what falls apart by that is summed separately: these are the
d-separations (Lauritzen et al. 1990). The rest is :mod:`parentage.network.elimination`.

Variables and states are numbers here; many rows of evidence over the same variables are evaluated
at once. Names, checks and results are in :mod:`parentage.network.inference`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from parentage.errors import ResourceError
from parentage.network.elimination import (
    Factor,
    Logs,
    Plan,
    Tree,
    eliminate,
    log_max,
    log_sum,
    plan_elimination,
    product,
)
from parentage.work.display import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from parentage.network.parameters import Parameters

Codes = npt.NDArray[np.int64]
"""Codes of one variable, one per row of evidence."""

MAX_TABLE = 2**25
"""Cells of the largest table that is computed: 256 MB, and twice as much while it is summed."""


@dataclass(frozen=True)
class Model:
    """The tables as elimination takes them: logarithms, one axis per parent and one for the child.

    Parameters
    ----------
    names
        Variable names, for messages.
    parents
        Indices of the parents, the axes of the tables.
    order
        Indices, parents before children.
    cardinalities
        Number of states.
    logs
        ``float64[states of parents …, states]`` for every variable.
    set_from_outside
        Variables whose own tables do not count.
    """

    names: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]
    cardinalities: tuple[int, ...]
    logs: tuple[Logs, ...]
    set_from_outside: frozenset[int] = frozenset()

    @classmethod
    def of(cls, parameters: Parameters) -> Model:
        """Take the tables of parameters; rows that sum to 1 nearly are made to."""
        sizes = tuple(len(labels) for labels in parameters.states)
        network = parameters.network
        with np.errstate(divide="ignore"):
            logs = tuple(
                np.log(table / table.sum(axis=1, keepdims=True)).reshape(
                    *(sizes[p] for p in parents), sizes[v]
                )
                for v, (parents, table) in enumerate(
                    zip(network.parents, parameters.tables, strict=True)
                )
            )
        return cls(network.names, network.parents, network.order_indices, sizes, logs)

    def with_intervention(self, variables: Iterable[int]) -> Model:
        """Return the model in which some variables are set from outside."""
        outside = self.set_from_outside | frozenset(variables)
        return replace(self, set_from_outside=outside)

    def ancestors(self, variables: Iterable[int]) -> set[int]:
        """Return variables and all that they descend from; the rest of the network is barren."""
        found = set(variables)
        for v in reversed(self.order):
            if v in found and v not in self.set_from_outside:
                found.update(self.parents[v])
        return found

    def factors(self, observed: Mapping[int, Codes], targets: Iterable[int]) -> list[Factor]:
        """Return the tables that matter for the targets and the evidence, evidence fixed in them.

        ``observed[v]`` are the codes of v, one per row of evidence.
        """
        return [
            self._fixed(v, observed)
            for v in sorted(self.ancestors([*observed, *targets]))
            if v not in self.set_from_outside
        ]

    def _fixed(self, v: int, observed: Mapping[int, Codes]) -> Factor:
        """Fix the known variables in one table; a variable with one state is always known."""
        axes = (*self.parents[v], v)
        sizes = self.cardinalities
        hidden = [a for a, u in enumerate(axes) if u not in observed and sizes[u] > 1]
        known = [a for a in range(len(axes)) if a not in hidden]
        joint: Codes = np.zeros(1, np.int64)
        for a in known:
            joint = joint * sizes[axes[a]] + observed.get(axes[a], 0)
        hidden.sort(key=axes.__getitem__)
        table = self.logs[v].transpose([*known, *hidden])
        flat = table.reshape(-1, *(sizes[axes[a]] for a in hidden))
        return Factor(tuple(axes[a] for a in hidden), flat[joint])

    def plan(self, factors: Sequence[Factor], keep: Iterable[int] = ()) -> Plan:
        """Plan the elimination; refuse a table that is too large to compute.

        Raises
        ------
        ResourceError
            With the number of cells and the variables of the largest table.
        """
        plan = plan_elimination((f.scope for f in factors), self.cardinalities, keep)
        if plan.cells > MAX_TABLE:
            names = ", ".join(self.names[v] for v in plan.largest[:6])
            more = len(plan.largest) - 6
            raise ResourceError(
                f"this needs a table of {number(plan.cells)} cells over {len(plan.largest)} "
                f"variables ({names}{f' and {more} more' if more > 0 else ''}), more than "
                f"{MAX_TABLE:,}; give evidence on some of them, ask for fewer targets, or learn "
                "with fewer parents"
            )
        return plan


def posteriors(
    model: Model, observed: Mapping[int, Codes], targets: Sequence[int]
) -> tuple[dict[int, npt.NDArray[np.float64]], npt.NDArray[np.float64]]:
    """Return ``{target: float64[rows, states]}`` and the logarithm of P(evidence) of every row.

    Targets are neither observed nor set. A row of evidence that cannot occur has no posterior: NaN.
    """
    factors = model.factors(observed, targets)
    tree = Tree(factors, model.plan(factors), log_sum)
    wanted = set(targets)
    rows = rows_of(observed)
    logs = np.broadcast_to(tree.root.values, (rows,))
    found = {v: np.ones((rows, 1)) for v in wanted if model.cardinalities[v] == 1}
    for v, belief in tree.beliefs():
        if v in wanted:
            others = tuple(1 + a for a, u in enumerate(belief.scope) if u != v)
            shares = normalised(log_sum(belief.values, others))
            found[v] = np.where(logs[:, None] == -np.inf, np.nan, shares)
    return found, logs


def joint_posterior(
    model: Model, observed: Mapping[int, Codes], targets: Sequence[int]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return P(targets | evidence) as ``float64[rows, states of every target …]``, and log P(e)."""
    factors = model.factors(observed, targets)
    wide = [v for v in targets if model.cardinalities[v] > 1]
    kept = eliminate(factors, model.plan(factors, wide), log_sum)
    axes = tuple(range(1, kept.values.ndim))
    rows = rows_of(observed)
    order = [0, *(1 + kept.scope.index(v) for v in wide)]
    values = normalised(kept.values, axes).transpose(order)
    shape = (rows, *(model.cardinalities[v] for v in targets))
    values = np.broadcast_to(values, (rows, *values.shape[1:])).reshape(shape)
    return values, np.broadcast_to(log_sum(kept.values, axes), (rows,))


def log_evidence(model: Model, observed: Mapping[int, Codes]) -> npt.NDArray[np.float64]:
    """Return the logarithm of P(evidence) of every row."""
    factors = model.factors(observed, ())
    rows = rows_of(observed)
    return np.broadcast_to(eliminate(factors, model.plan(factors), log_sum).values, (rows,))


def most_probable_codes(
    model: Model, observed: Mapping[int, Codes]
) -> tuple[dict[int, Codes], npt.NDArray[np.float64]]:
    """Return the most probable codes of all variables not observed, and log P(they, evidence).

    Both one per row of evidence; among equally probable states the one that comes first is taken.
    """
    everything = [v for v in range(len(model.names)) if v not in observed]
    factors = model.factors(observed, everything)
    plan = model.plan(factors)
    tree = Tree(factors, plan, log_max)
    every = np.arange(rows_of(observed))
    chosen = {v: np.zeros_like(every) for v in everything if model.cardinalities[v] == 1}
    for i in reversed(range(len(plan.order))):
        v, clique = plan.order[i], plan.cliques[i]
        table = np.moveaxis(product(tree.entering(i), clique), 1 + clique.index(v), -1)
        row = every if table.shape[0] > 1 else 0
        chosen[v] = table[(row, *(chosen[u] for u in clique if u != v))].argmax(axis=-1) + 0 * every
    return chosen, np.broadcast_to(tree.root.values, every.shape)


def rows_of(observed: Mapping[int, Codes]) -> int:
    """Return the number of rows of evidence."""
    return max((len(codes) for codes in observed.values()), default=1)


def normalised(logs: Logs, axes: tuple[int, ...] = (1,)) -> npt.NDArray[np.float64]:
    """Return probabilities that sum to 1 over some axes; NaN where all are impossible."""
    if not axes:
        return np.where(logs == -np.inf, np.nan, 1.0)
    with np.errstate(invalid="ignore"):
        shares = np.exp(logs - logs.max(axis=axes, keepdims=True))
        result: npt.NDArray[np.float64] = shares / shares.sum(axis=axes, keepdims=True)
    return result
