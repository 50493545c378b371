"""What a score is: a name, a definition for one family, and what can be said of all larger sets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parentage.scoring.scores.counts import entropy_sum

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parentage.data.table import Table
    from parentage.scoring.catalogue import Kind


@dataclass(frozen=True)
class Score(ABC):
    """A decomposable score: a network's is the sum over its families. Higher is better."""

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

    @abstractmethod
    def local(self, table: Table, x: int, parents: Sequence[int]) -> float:
        """Return the score of one family in nats, by definition."""

    @abstractmethod
    def price(self, table: Table, x: int, parents: Sequence[int]) -> float:
        """Return what these parents cost however much is explained.

        Every set that contains them scores at most −(unexplained + price), and the price never
        falls when parents are added (``docs/theory.md``): the child's side of the rules.
        """

    def unexplained(self, table: Table, x: int) -> float:
        """Return h_X, what all other variables together leave: N·H(X | all others)."""
        others = [v for v in range(table.n_variables) if v != x]
        return entropy_sum(table, others) - entropy_sum(table, [*others, x])

    def on_columns_of(self, table: Table) -> Score:
        """Return the score that values families of this table alike when columns are left out."""
        del table
        return self
