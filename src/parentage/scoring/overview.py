"""A first look at a table: entropies, parent caps, and what a search will cost.

What ``parentage info`` shows.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parentage.scoring import rules as r
from parentage.scoring.constraints import Constraints
from parentage.scoring.forecast import refine, sizes_at_most
from parentage.scoring.plan import (
    SearchPlan,
    check_constraints,
    check_gap,
    check_table,
    max_parents_by_variable,
)
from parentage.scoring.rulebook import choose_rules
from parentage.scoring.scores import check_score, unit_of, weight

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parentage.data.table import Table
    from parentage.scoring.forecast import Forecast

PROBE_SECONDS = 4.0


@dataclass(frozen=True)
class VariableInfo:
    """One column: labels, entropy per row in nats, and the most parents it can have."""

    name: str
    states: tuple[str, ...]
    entropy: float
    theorem3: int | None
    theorem3pp: int | None
    cuts: tuple[float, ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return what ``info --json`` prints for a variable."""
        content: dict[str, Any] = {
            "name": self.name,
            "states": list(self.states),
            "entropy": self.entropy,
            "max_parents": {"theorem3": self.theorem3, "theorem3pp": self.theorem3pp},
        }
        if self.cuts is not None:
            content["cuts"] = list(self.cuts)
        return content


@dataclass(frozen=True)
class Overview:
    """What is known of a table before any search, and a forecast of the search."""

    rows: int
    variables: tuple[VariableInfo, ...]
    constant: tuple[str, ...]
    corollary1: int | None
    corollary1p: int | None
    forecast: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return what ``info --json`` prints."""
        return {
            "rows": self.rows,
            "variables": [variable.to_dict() for variable in self.variables],
            "constant": list(self.constant),
            "corollary1": self.corollary1,
            "corollary1p": self.corollary1p,
            "forecast": self.forecast,
        }


def overview(
    table: Table,
    *,
    max_parents: int | Mapping[str, int] | None = None,
    score: str = "bic",
    rules: str | None = None,
    gap: float | None = None,
    log_base: float | str | None = None,
    constraints: Constraints | None = None,
    probe_seconds: float = PROBE_SECONDS,
) -> Overview:
    """Describe a table; the search is tried for ``probe_seconds`` to forecast the rest.

    Examples
    --------
    >>> from parentage.data.table import Table
    >>> t = Table.from_columns({"a": "0011" * 9, "b": "0011" * 9, "c": "0101" * 9})
    >>> [v.theorem3pp for v in overview(t).variables]
    [1, 1, 0]
    """
    check_table(table)
    name = check_score(score)
    chosen = choose_rules(rules, name, gap)
    nats = None if gap is None else check_gap(gap) * unit_of(log_base)
    wanted = Constraints() if constraints is None else constraints
    check_constraints(wanted, table)
    most = max_parents_by_variable(table, max_parents, wanted)
    search = SearchPlan(table, name, chosen, nats, most, wanted)
    caps = _caps(table, name)
    known = search.forecast()
    if known.memory < 2**40 and chosen.closed:
        known = _probe(search, probe_seconds)
    variables = tuple(
        VariableInfo(
            label,
            states,
            caps[label][0],
            caps[label][1] if name == "bic" else None,
            caps[label][2],
            table.cuts.get(label),
        )
        for label, states in zip(table.names, table.states, strict=True)
    )
    bic = name == "bic"
    return Overview(
        table.n_rows,
        variables,
        table.constant,
        r.corollary1(table.n_rows) if bic else None,
        r.corollary1_prime(table.n_rows) if bic else None,
        known.to_dict(),
    )


def _caps(table: Table, score: Any) -> dict[str, tuple[float, int, int]]:
    """Entropy per row, Theorem 3 and Theorem 3″ by variable; zeros for a constant."""
    from parentage.scoring.entropy import encode, residuals

    encoded = encode(table, score)
    grid, n = encoded.grid, table.n_rows
    entropies = [float(x) for x in grid.to_float(encoded.empty - encoded.single)]
    h = [float(x) for x in grid.to_float(residuals(encoded, table))]
    arity = [int(a) for a in encoded.arity]
    third = r.theorem3(n, [e / n for e in entropies], arity)
    second = r.theorem3_double_prime(entropies, h, arity, weight(score, n))
    found = dict.fromkeys(table.names, (0.0, 0, 0))
    for i, v in enumerate(encoded.order):
        found[table.names[v]] = (entropies[i] / n, third[i], second[i])
    return found


def _probe(plan: SearchPlan, seconds: float) -> Forecast:
    """Run the search for a while; say what it found or where it was going."""
    from parentage.kernels import counting, families  # noqa: F401  # loaded before the clock runs

    end = time.perf_counter() + seconds
    began = time.process_time()
    known = plan.forecast()
    plan.run(os.cpu_count() or 1, 2**31, stop=lambda: time.perf_counter() > end)
    bound = sizes_at_most(
        plan.encoded, plan.limits, closed=plan.rules.closed, w=plan.w, gap=plan.gap or 0.0
    )
    finished = plan.outcome.complete_to is None
    spent = time.process_time() - began
    return refine(known, plan.encoded, plan.outcome, bound, finished=finished, spent=spent)
