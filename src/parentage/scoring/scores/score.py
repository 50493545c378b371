"""What a score is: a name, a definition for one family, and what can be said of all larger sets.

The definitions are made of joint counts of one family, taken the plain way.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parentage.data.table import class_sizes
from parentage.errors import Way
from parentage.scoring.tuning import TUNING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from parentage.arrays import Ints
    from parentage.data.table import Table
    from parentage.scoring.catalogue import Kind
    from parentage.scoring.scores.fixed_point import FixedPoint


HOLE_WAYS = (
    Way("score", "pnal", "to score each variable on the rows where it and its parents are known"),
    Way("missing", "drop", "(or state) when the table is read"),
)
"""What to do about missing cells where a score cannot deal with them."""


class Families(NamedTuple):
    """The families of some columns of a table that are scored on one grid."""

    table: Table
    columns: Sequence[int]
    times: int
    """Joint states of the required parents, which every family has as well."""
    width: float
    """How far a kept set may be below its best subset, in nats."""
    most_parents: int | None
    """The most parents besides those required; None: all."""
    distinct_rows: Callable[[], int]
    """Counts the distinct rows; called when that helps."""

    @property
    def widest(self) -> int:
        """The most states of a column."""
        return int(self.table.cardinalities[self.columns].max(initial=2))


@dataclass(frozen=True)
class Score(ABC):
    """A decomposable score: a network's is the sum over its families. Higher is better."""

    kind: Kind
    parameter: float | None = None

    @property
    def name(self) -> str:
        """The name as typed, with its parameter: ``ebic:0.5``."""
        return self.kind.spell(self.parameter)

    def settled(self, table: Table) -> Score:
        """Return the score for a table, with its λ as a number if it has one.

        Raises
        ------
        TableError
            Missing values under a score that cannot deal with them, or a column without a value.
        """
        table.refuse_holes(f"the score {self.name}", *HOLE_WAYS)
        return self

    def local(self, table: Table, x: int, parents: Sequence[int]) -> float:
        """Return the score of one family in nats: its likelihood less its price, G by G."""
        likelihood = entropy_sum(table, [x, *parents]) - entropy_sum(table, parents)
        return likelihood - self.price(table, x, parents)

    @abstractmethod
    def price(self, table: Table, x: int, parents: Sequence[int]) -> float:
        """Return what these parents cost however much is explained.

        Every set that contains them scores at most −(unexplained + price), and the price never
        falls when parents are added (``docs/theory.md``): the child's side of the rules.
        """

    @abstractmethod
    def grid(self, families: Families) -> FixedPoint:
        """Return the grid on which the sums of families are exact."""

    def bound_in_words(self, table: Table, x: int, parents: Sequence[int]) -> str:
        """Return what the price of a family is for; nothing where the rules say it."""
        return "for the parents"

    def unexplained(self, table: Table, x: int) -> float:
        """Return h_X, what all other variables together leave: N·H(X | all others)."""
        others = [v for v in range(table.n_variables) if v != x]
        return entropy_sum(table, others) - entropy_sum(table, [*others, x])

    def on_columns_of(self, table: Table) -> Score:
        """Return the score that values families of this table alike when columns are left out."""
        return self


def joint_units(table: Table, variables: Iterable[int]) -> Ints:
    """Return the rows of every joint state that occurs, in units of the table's weights.

    Of no variable that is N, all rows together.
    """
    table.refuse_holes("this score", *HOLE_WAYS)
    chosen = list(variables)
    states = joint_states(table, chosen)
    if states > table.stored_rows:
        labels = np.zeros(table.stored_rows, np.int64)
        for v in chosen:
            combined = labels * int(table.cardinalities[v]) + table.column(v)
            labels = np.unique(combined, return_inverse=True)[1].astype(np.int64)
        return table.counted(labels)
    counts = np.zeros(states, np.int64)
    for first in range(0, table.stored_rows, TUNING.rows_at_once):
        part = slice(first, min(first + TUNING.rows_at_once, table.stored_rows))
        labels = np.zeros(part.stop - part.start, np.int64)
        for v in chosen:
            labels = labels * int(table.cardinalities[v]) + table.column(v, part.start, part.stop)
        counts += class_sizes(labels, table.repeats[part], states)
    return counts[counts > 0]


def joint_counts(table: Table, variables: Iterable[int]) -> list[int]:
    """Return the rows of every joint state that occurs; all N of them for no variable."""
    return [int(units) for units in joint_units(table, variables) >> table.unit_bits]


def entropy_sum(table: Table, variables: Iterable[int]) -> float:
    """Return G(S) = Σ n_c ln n_c over the joint states c of the variables; G(∅) = N ln N."""
    counts = np.ldexp(joint_units(table, variables).astype(np.float64), -table.unit_bits)
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
