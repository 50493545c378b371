"""A table on which the printed formula of Theorem 3 loses the optimal network.

X is the parity of three binary variables that are mostly 0. With H in nats beside log2 N the bound
for X is 2, but its best parent set has three members. Both networks are found by trying every
order of the four variables.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache

from parentage.data.table import Table
from parentage.paper.bounds import parent_bounds
from parentage.paper.conventions import PRINTED, STATED
from parentage.scoring.entropy import encode
from parentage.scoring.scores import local_score

ROWS = {(0, 0, 0): 14, (0, 0, 1): 2, (0, 1, 0): 2, (1, 0, 0): 1, (1, 0, 1): 1, (1, 1, 0): 1}
"""How often each joint state of Y1, Y2, Y3 occurs."""


@dataclass(frozen=True)
class BestNetwork:
    """Parents by child, and the total BIC in nats."""

    parents: dict[str, tuple[str, ...]]
    total: float


@dataclass(frozen=True)
class CounterExample:
    """The bounds on a table, the best network within the printed ones, and the best of all."""

    table: Table
    printed: dict[str, int]
    stated: dict[str, int]
    capped: BestNetwork
    optimum: BestNetwork


def parity_table() -> Table:
    """Return 21 rows of X = Y1 xor Y2 xor Y3."""
    rows = [state for state, times in ROWS.items() for _ in range(times)]
    columns = {"X": [sum(row) % 2 for row in rows]}
    columns |= {f"Y{i + 1}": [row[i] for row in rows] for i in range(3)}
    return Table.from_columns(columns)


def counter_example() -> CounterExample:
    """Bound the parity table and find both networks."""
    table = parity_table()
    encoded = encode(table, "bic")
    printed = parent_bounds(table, encoded, PRINTED).theorem3
    stated = parent_bounds(table, encoded, STATED).theorem3
    everything = dict.fromkeys(table.names, table.n_variables - 1)
    return CounterExample(
        table, printed, stated, best_network(table, printed), best_network(table, everything)
    )


def best_network(table: Table, caps: dict[str, int]) -> BestNetwork:
    """Return the best network with at most so many parents per child, by trying all orders."""
    orders = itertools.permutations(table.names)
    networks = (
        {child: best_parents(table, child, order[:i], caps[child]) for i, child in enumerate(order)}
        for order in orders
    )
    scored = ((sum(score for _, score in n.values()), n) for n in networks)
    total, network = max(scored, key=lambda entry: entry[0])
    return BestNetwork({child: network[child][0] for child in table.names}, total)


@cache
def best_parents(
    table: Table, child: str, before: tuple[str, ...], cap: int
) -> tuple[tuple[str, ...], float]:
    """Return the best parents among the variables before the child, and their score."""
    sets = (p for size in range(cap + 1) for p in itertools.combinations(sorted(before), size))
    return max(((p, local_score(table, child, p)) for p in sets), key=lambda entry: entry[1])
