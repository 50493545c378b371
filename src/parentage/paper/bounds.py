"""How many parents a variable can have: Table 1, from Theorem 3 and Corollary 1."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parentage.scoring.rules import corollary1, theorem3

if TYPE_CHECKING:
    from parentage.data.table import Table
    from parentage.paper.conventions import Convention
    from parentage.scoring.entropy import Encoded


@dataclass(frozen=True)
class ParentBounds:
    """Theorem 3 for every variable of a table, and Corollary 1 for all of them."""

    theorem3: dict[str, int]
    corollary1: int

    @property
    def spread(self) -> dict[int, int]:
        """Number of variables by their Theorem 3 bound, largest bound first, as in Table 1."""
        return dict(sorted(Counter(self.theorem3.values()).items(), reverse=True))


def parent_bounds(table: Table, encoded: Encoded, convention: Convention) -> ParentBounds:
    """Return the bounds of a table; the convention says in which base log N is."""
    n_rows = table.n_rows
    n_h = encoded.grid.to_float(encoded.empty - encoded.single)
    caps = theorem3(
        n_rows,
        [float(x) / n_rows for x in n_h],
        [int(r) for r in encoded.arity],
        convention.log_of_bounds(n_rows),
    )
    by_variable = dict(zip(encoded.order.tolist(), caps, strict=True))
    return ParentBounds(
        {name: by_variable[v] for v, name in enumerate(table.names) if v in by_variable},
        corollary1(n_rows),
    )


def show_spread(spread: dict[int, int]) -> str:
    """Write a Theorem 3 cell: the bound, and in brackets how many variables have it.

    >>> show_spread({6: 7, 3: 1})
    '6 (7), 3 (1)'
    """
    return ", ".join(f"{bound} ({count})" for bound, count in spread.items())
