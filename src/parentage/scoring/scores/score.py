"""What a score is: a name, a definition for one family, and what can be said of all larger sets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from parentage.scoring.scores.counts import HOLE_WAYS, entropy_sum

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from parentage.data.table import Table
    from parentage.scoring.catalogue import Kind
    from parentage.scoring.fixed_point import FixedPoint


@dataclass(frozen=True)
class Score(ABC):
    """A decomposable score: a network's is the sum over its families. Higher is better."""

    takes_weights: ClassVar[bool] = False
    """Whether it is proved for expected counts (:mod:`parentage.scoring.weighted`)."""

    kind: Kind
    parameter: float | None = None

    @property
    def name(self) -> str:
        """The name as typed, with its parameter: ``ebic:0.5``."""
        return self.kind.spell(self.parameter)

    @property
    def equivalent(self) -> bool:
        """Whether Markov equivalent networks score alike."""
        return self.kind.equivalent

    def settled(self, table: Table) -> Score:
        """Return the score for a table, with its λ as a number if it has one.

        Raises
        ------
        TableError
            Missing values under a score that cannot deal with them, or a column without a value.
        """
        table.refuse_holes(f"the score {self.name}", *HOLE_WAYS)
        return self

    @abstractmethod
    def local(self, table: Table, x: int, parents: Sequence[int]) -> float:
        """Return the score of one family in nats, by definition."""

    @abstractmethod
    def price(self, table: Table, x: int, parents: Sequence[int]) -> float:
        """Return what these parents cost however much is explained.

        Every set that contains them scores at most −(unexplained + price), and the price never
        falls when parents are added (``docs/theory.md``): the child's side of the rules.
        """

    @abstractmethod
    def grid(
        self,
        table: Table,
        columns: Sequence[int],
        times: int,
        width: float,
        most_parents: int | None,
        distinct_rows: Callable[[], int],
    ) -> FixedPoint:
        """Return the grid on which the sums of families of these columns are exact.

        Every family has the required parents as well, which have ``times`` joint states, and
        ``most_parents`` besides at most; None: all. A kept set may be ``width`` below its best
        subset, in nats. ``distinct_rows`` counts them, and is called when that helps.
        """

    def bound_in_words(self, table: Table, x: int, parents: Sequence[int]) -> str:
        """Return what the price of a family is for; nothing where the rules say it."""
        del table, x, parents
        return "for the parents"

    def unexplained(self, table: Table, x: int) -> float:
        """Return h_X, what all other variables together leave: N·H(X | all others)."""
        others = [v for v in range(table.n_variables) if v != x]
        return entropy_sum(table, others) - entropy_sum(table, [*others, x])

    def on_columns_of(self, table: Table) -> Score:
        """Return the score that values families of this table alike when columns are left out."""
        del table
        return self
