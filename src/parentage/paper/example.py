"""The worked example on glass: two families, three numbers each, and what they decide.

E1 is pruned by Alg1 alone, E2 by Alg2 alone, provided that the class has the seven states its
header declares; with the six that occur neither is pruned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parentage.paper.conventions import STATED, Convention
from parentage.paper.published import GLASS_EXAMPLE, Example
from parentage.scoring import rules
from parentage.scoring.scores import entropy_sum

if TYPE_CHECKING:
    from parentage.data.table import Table

QUANTITIES = ("N·H(X|Π*)", "N·H(Y|Π*)", "(r_Y−1)·pen(X,Π*)")


@dataclass(frozen=True)
class ExampleRun:
    """The three numbers of one family and the rules that fire for it."""

    numbers: tuple[float, float, float]
    fired: tuple[str, ...]


@dataclass(frozen=True)
class GlassRun:
    """The worked example in every reading, by label (E1, E2)."""

    printed: dict[str, ExampleRun]
    stated: dict[str, ExampleRun]
    observed: dict[str, ExampleRun]
    """As stated, with the classes that occur instead of those declared."""
    declared_states: int
    observed_states: int


def missing_columns(table: Table) -> list[str]:
    """Return the columns of the example that a table lacks."""
    needed = {v for e in GLASS_EXAMPLE.values() for v in (e.child, e.parent, *e.star)}
    return sorted(needed - set(table.names))


def run_example(table: Table, printed: Convention) -> GlassRun:
    """Work out both families on the glass table."""
    seen = table.observed()
    at = table.index("class")

    def both(data: Table, convention: Convention) -> dict[str, ExampleRun]:
        return {name: one_family(data, e, convention) for name, e in GLASS_EXAMPLE.items()}

    return GlassRun(
        both(table, printed),
        both(table, STATED),
        both(seen, STATED),
        len(table.states[at]),
        len(seen.states[at]),
    )


def one_family(table: Table, example: Example, convention: Convention) -> ExampleRun:
    """Return N·H(X|Π*), N·H(Y|Π*), (r_Y − 1)·pen(X, Π*), and the rules that fire."""
    x, y = table.index(example.child), table.index(example.parent)
    star = [table.index(name) for name in example.star]
    G_star = entropy_sum(table, star)
    n_h_x = convention.example_entropy(G_star - entropy_sum(table, [x, *star]))
    n_h_y = convention.example_entropy(G_star - entropy_sum(table, [y, *star]))
    r = table.cardinalities
    log_rows = convention.example_log(table.n_rows)
    added = float(convention.added(log_rows, int(r[x]), int(r[y]), int(r[star].prod())))
    sides = {"Alg1": rules.alg1(n_h_x, added), "Alg2": rules.alg2(n_h_y, added)}
    return ExampleRun(
        (n_h_x, n_h_y, added), tuple(name for name, s in sides.items() if rules.fires(s))
    )
