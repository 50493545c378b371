"""The plan of a search: from a table and what the user wants to what the kernels need.

The stage before the search: encoding, residual entropies, caps, limits and constraints, with
everything that can be refused refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from parentage.errors import ConstraintError, InputError, TableError
from parentage.scoring.entropy import Encoded, encode, residuals
from parentage.scoring.forecast import Forecast, forecast, refuse_what_cannot_fit
from parentage.scoring.rulebook import RuleSet, TableNumbers, caps_by_rule
from parentage.scoring.search import Limits, Outcome, search

if TYPE_CHECKING:
    from parentage.data.table import Table
    from parentage.kernels.families import SearchFacts
    from parentage.scoring.constraints import Constraints
    from parentage.scoring.entropy import Int64s
    from parentage.scoring.scores import ScoreName
    from parentage.scoring.search import Progress


MOST_VARIABLES = 65_535  # members of sets are 16-bit numbers


class SearchPlan:
    """One search: of all children without required parents, or of one child with some.

    The parent sets of a child that contain its required parents are found within the *context* of
    those: every count is taken with them, every penalty multiplied by their number of joint
    states, and the rules and the closure theorem hold as they stand (``docs/theory.md``).
    """

    def __init__(
        self,
        table: Table,
        score: ScoreName,
        rules: RuleSet,
        gap: float | None,
        most: Int64s,
        constraints: Constraints,
        child: str | None = None,
    ) -> None:
        required = constraints.required_parents
        self.context = [table.index(p) for p in sorted(required.get(child or "", ()))]
        if self.context:
            rules = rules.in_context()
        self.rules = rules
        self.encoded = encode(table, score, gap or 0.0, self.context, live_only=rules.closed)
        order = self.encoded.order
        if rules.needs_residuals:
            self.h = residuals(self.encoded, table, self.context)
        else:
            self.h = np.zeros_like(self.encoded.single)
        self.forbidden = _forbidden(table, constraints)[np.ix_(order, order)]
        if child is None:
            elsewhere = [table.index(name) for name in required]
            limit = np.where(np.isin(order, elsewhere), -1, most[order])
        else:
            x = table.index(child)
            limit = np.where(order == x, most[x] - len(self.context), -1)
        caps = _caps(table, self.encoded, rules, self.h, gap)
        self.limits = Limits(np.minimum(limit, self.encoded.n_variables - 1), caps)
        self.gap = gap
        self.outcome = Outcome()

    def run(
        self,
        threads: int,
        memory: int | None,
        progress: Callable[[Progress], None] | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> Outcome:
        """Search; what is found stays in ``outcome``, also when the search is interrupted."""
        model = build_model(self.encoded, self.rules, self.h, self.gap, self.forbidden)
        self.outcome = Outcome()
        search(
            self.encoded,
            model,
            self.limits,
            self.outcome,
            threads=threads,
            memory=memory,
            progress=progress,
            stop=stop,
        )
        if self.rules.needs_residuals:
            self.outcome.sets_counted += self.encoded.n_variables + 1
        if self.outcome.complete_to is not None:
            self.outcome.complete_to += len(self.context)
        return self.outcome

    @property
    def w(self) -> float:
        """Penalty of one free parameter, in nats (within the context)."""
        return self.encoded.grid.unit / 2.0**self.encoded.grid.bits

    def forecast(self, threads: int = 1) -> Forecast:
        """What is known of the search before it runs."""
        return forecast(
            self.encoded,
            self.limits,
            closed=self.rules.closed,
            w=self.w,
            gap=self.gap or 0.0,
            threads=threads,
        )

    def refuse_what_cannot_fit(self, threads: int) -> None:
        """Refuse a search over all sets that is too large; one over live sets stops in time."""
        known = self.forecast(threads)
        if not self.rules.closed:
            what = f"counting every set ({self.rules} leaves none out)"
            refuse_what_cannot_fit(known, what)

    def n_families(self) -> int:
        """The size of the space: parent sets within all limits, empty ones included."""
        free = self.encoded.n_variables - 1 - self.forbidden.sum(axis=1)
        most = self.limits.most
        return sum(count_families(int(f), int(k)) for f, k in zip(free, most, strict=True))


def check_table(table: Table) -> None:
    """Refuse tables that nothing can be learned from."""
    if table.n_rows < 2:
        raise TableError(f"the table has {table.n_rows} data row(s); at least 2 are needed")
    usable = table.n_variables - len(table.constant)
    if usable > MOST_VARIABLES:
        raise TableError(
            f"the table has {usable} columns that vary, more than {MOST_VARIABLES}; drop some"
        )
    if usable < 2:
        raise TableError(
            f"only {usable} of {table.n_variables} columns has more than one observed state; "
            f"at least 2 are needed"
        )


def check_gap(gap: float) -> float:
    """Refuse a gap that is no distance."""
    if not (math.isfinite(gap) and gap >= 0):
        raise InputError(f"the gap must be a number of at least 0, not {gap!r}")
    return gap


def check_constraints(constraints: Constraints, table: Table) -> None:
    """Refuse contradictory constraints and required arcs of constant columns."""
    constraints.check(table.names)
    for parent, child in sorted(constraints.required):
        for end in (parent, child):
            if end in table.constant:
                raise ConstraintError(
                    f"the required arc {parent} -> {child} has the constant column {end!r}; "
                    f"leave that arc out"
                )


def build_model(
    encoded: Encoded,
    rules: RuleSet,
    h: Int64s,
    gap: float | None,
    forbidden: npt.NDArray[np.bool_] | None = None,
) -> SearchFacts:
    """Put together what the kernels need; the gap is in nats, None drops ties."""
    from parentage.kernels.families import SearchFacts

    grid = encoded.grid
    fixed_gap = 0 if gap is None else grid.to_fixed(gap)
    margin = grid.tolerance if gap is None else -fixed_gap - grid.tolerance - 1
    if forbidden is None or not forbidden.any():
        forbidden = np.zeros((0, 0), np.bool_)
    return SearchFacts(
        encoded.arity,
        encoded.empty - encoded.single,
        h,
        np.ascontiguousarray(forbidden),
        grid.unit,
        grid.cap,
        grid.tolerance,
        fixed_gap,
        margin,
        rules.mask,
        rules.closed,
    )


def _caps(
    table: Table, encoded: Encoded, rules: RuleSet, h: Int64s, gap: float | None
) -> dict[str, Int64s]:
    """What the cap rules prove, per encoded variable."""
    grid = encoded.grid
    numbers = TableNumbers(
        table.n_rows,
        [float(x) for x in grid.to_float(encoded.empty - encoded.single)],
        [float(x) for x in grid.to_float(h)],
        [int(r) for r in encoded.arity],
        grid.unit / 2.0**grid.bits,
        (gap or 0.0) + float(grid.to_float(grid.tolerance)),  # what is kept may be that far below
    )
    return caps_by_rule(rules, numbers)


def _forbidden(table: Table, constraints: Constraints) -> npt.NDArray[np.bool_]:
    """``[child, parent]``: arcs that are forbidden or against the tiers."""
    n = table.n_variables
    barred = np.zeros((n, n), np.bool_)
    for parent, child in constraints.forbidden:
        barred[table.index(child), table.index(parent)] = True
    tier = constraints.tier_of
    for parent in tier:
        for child in tier:
            if tier[parent] > tier[child]:
                barred[table.index(child), table.index(parent)] = True
    return barred


def max_parents_by_variable(
    table: Table, max_parents: int | Mapping[str, int] | None, constraints: Constraints
) -> Int64s:
    """Return the limit per column; no limit is n − 1."""
    most = np.full(table.n_variables, table.n_variables - 1, np.int64)
    if isinstance(max_parents, Mapping):
        by_name = dict(max_parents)
    else:
        by_name = {} if max_parents is None else dict.fromkeys(table.names, max_parents)
    for name, limit in [*by_name.items(), *constraints.max_parents.items()]:
        if isinstance(limit, bool) or not isinstance(limit, int | np.integer) or limit < 0:
            raise InputError(f"max_parents must be a whole number of at least 0, not {limit!r}")
        v = table.index(name)
        most[v] = min(most[v], limit)
    for child, parents in constraints.required_parents.items():
        if len(parents) > most[table.index(child)]:
            raise ConstraintError(
                f"{child!r} may have at most {most[table.index(child)]} parents but "
                f"{len(parents)} are required: {', '.join(sorted(parents))}"
            )
    return most


def count_families(free: int, most: int) -> int:
    """Return the number of parent sets of at most ``most`` among ``free`` variables."""
    return sum(math.comb(free, size) for size in range(min(most, free) + 1))
