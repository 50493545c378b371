"""Joint counts of one family, the plain way: what the definitions of the scores are made of."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from parentage.errors import Way

if TYPE_CHECKING:
    from collections.abc import Iterable

    from parentage.data.table import Table

HOLE_WAYS = (
    Way("score", "pnal", "to score every family on the rows where it is complete"),
    Way("missing", "drop", "(or state) when the table is read"),
)
"""What to do about missing cells where a score cannot deal with them."""


BLOCK = 1 << 20
"""Number of rows that are counted at a time, so that memory stays small however many there are."""


def joint_weights(table: Table, variables: Iterable[int]) -> npt.NDArray[np.float64]:
    """Return the weight of every joint state that occurs; of no variable N, all rows together."""
    table.refuse_holes("this score", *HOLE_WAYS)
    chosen, weights = list(variables), table.row_weights
    states = joint_states(table, chosen)
    if states > table.stored_rows:
        labels = np.zeros(table.stored_rows, np.int64)
        for v in chosen:
            combined = labels * int(table.cardinalities[v]) + table.column(v)
            labels = np.unique(combined, return_inverse=True)[1].astype(np.int64)
        return np.bincount(labels, weights).astype(np.float64)
    counts = np.zeros(states)
    for first in range(0, table.stored_rows, BLOCK):
        part = slice(first, min(first + BLOCK, table.stored_rows))
        labels = np.zeros(part.stop - part.start, np.int64)
        for v in chosen:
            labels = labels * int(table.cardinalities[v]) + table.column(v, part.start, part.stop)
        own = None if weights is None else weights[part]
        counts += np.bincount(labels, own, minlength=states)
    return counts[counts > 0]


def joint_counts(table: Table, variables: Iterable[int]) -> list[int]:
    """Return the rows of every joint state that occurs; all N of them for no variable."""
    return [int(count) for count in joint_weights(table, variables)]


def entropy_sum(table: Table, variables: Iterable[int]) -> float:
    """Return G(S) = Σ n_c ln n_c over the joint states c of the variables; G(∅) = N ln N."""
    counts = joint_weights(table, variables)
    return math.fsum(counts * np.log(counts))


def conditional_entropy(table: Table, v: int, given: Iterable[int] = ()) -> float:
    """Return N·H(v | given)."""
    inside = list(given)
    return entropy_sum(table, inside) - entropy_sum(table, [*inside, v])


def joint_states(table: Table, variables: Iterable[int]) -> int:
    """Return q, the number of joint states, declared ones that never occur included."""
    return math.prod(int(table.cardinalities[v]) for v in variables)


def free_parameters(table: Table, child: int, parents: Iterable[int]) -> int:
    """Return (r − 1)·q of a family, with declared states."""
    return (int(table.cardinalities[child]) - 1) * joint_states(table, parents)
