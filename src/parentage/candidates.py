"""Scoring: from a table to its candidate lists.

:func:`score` prepares (encoding, residual entropies, caps), runs the search of
:mod:`parentage.search` and puts the kept families into :class:`parentage.lists.CandidateLists`,
with an account of what was counted, scored and ruled out in its ``meta``.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.constraints import Constraints
from parentage.entropy import Encoded, encode, residuals
from parentage.errors import ConstraintError, InputError, TableError
from parentage.forecast import SHARE_OF_MEMORY, Forecast, forecast, refuse_what_cannot_fit
from parentage.lists import CandidateLists
from parentage.memory import available_memory
from parentage.rules import BIC_ONLY, ORDER, RuleSet, caps_by_rule, choose_rules
from parentage.scores import check_score, unit_of
from parentage.search import Limits, Outcome, search

if TYPE_CHECKING:
    from parentage.entropy import Int64s
    from parentage.kernels.families import Model
    from parentage.scores import ScoreName
    from parentage.search import Kept, Progress
    from parentage.table import Table


def score(
    table: Table,
    *,
    max_parents: int | Mapping[str, int] | None = None,
    score: str = "bic",
    log_base: float | str | None = None,
    rules: str | Iterable[str] | None = None,
    gap: float | None = None,
    constraints: Constraints | None = None,
    threads: int | None = None,
    memory: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> CandidateLists:
    """List, for every variable, the parent sets that can be in an optimal network.

    Parameters
    ----------
    table
        The data.
    max_parents
        Largest number of parents, for all variables or by name; None for no limit at all.
    score
        ``"bic"`` or ``"aic"``.
    log_base
        Unit of the scores: None or ``"e"`` for nats, 2 for bits, 10 …
    rules
        Which rules prune, see :func:`parentage.rules.choose_rules`. The lists never depend on
        them, the time does.
    gap
        Keep also the sets that score at most this much below their best subset, in the unit of
        ``log_base``, so that every network within that distance of the optimum survives.
    constraints
        Required and forbidden arcs, tiers, limits by name: they act before dominance.
    threads
        Number of threads, by default one per core. The result does not depend on it.
    memory
        Bytes that the levels of the search may take, by default most of what is free. A level
        that does not fit ends the search; ``meta["complete_to"]`` then has the in-degree up to
        which the lists are complete.
    progress
        Called with a :class:`parentage.search.Progress` after every chunk of work.
    stop
        Asked after every chunk; the search ends when it says True, as with too little memory.

    Returns
    -------
    CandidateLists
        Per child the sets that beat all their proper subsets.

    Examples
    --------
    >>> from parentage.table import Table
    >>> rain = Table.from_columns({"rain": "0011" * 9, "wet": "0011" * 8 + "0111"})
    >>> score(rain)["wet"][0].parents
    ('rain',)
    """
    began = time.perf_counter()
    name = check_score(score)
    unit = unit_of(log_base)
    chosen = choose_rules(rules, name, gap)
    check_table(table)
    wanted = Constraints() if constraints is None else constraints
    check_constraints(wanted, table)
    most = max_parents_by_variable(table, max_parents, wanted)
    gap_nats = None if gap is None else _check_gap(gap) * unit
    searches = [
        Search(table, name, chosen, gap_nats, most, wanted, child)
        for child in [None, *sorted(wanted.required_parents)]
    ]
    workers = threads or os.cpu_count() or 1
    for each in searches:
        each.refuse_what_cannot_fit(workers)
    if memory is None:
        memory = int(SHARE_OF_MEMORY * available_memory())
    lists = _assemble(table, [s.run(workers, memory, progress, stop) for s in searches], unit)
    outcomes = [s.outcome for s in searches]
    tally = np.sum([o.tally for o in outcomes], axis=0)
    complete = [o.complete_to for o in outcomes if o.complete_to is not None]
    meta = {
        "variables": list(table.names),
        "constant": list(table.constant),
        "rows": table.n_rows,
        "score": name,
        "log_base": "e" if unit == 1.0 else float(log_base or math.e),
        "rules": list(chosen.names),
        "gap": gap,
        "max_parents": _reported_limit(max_parents, table.n_variables),
        "complete_to": min(complete, default=None),
        "families": sum(s.n_families() for s in searches),
        "sets_counted": sum(o.sets_counted for o in outcomes),
        "families_scored": sum(o.families_scored for o in outcomes),
        "pruned": {rule: int(tally[ORDER.index(rule)]) for rule in chosen.names},
        "kept": lists.n_sets,
        "live_sets": outcomes[0].live,
        "seconds": time.perf_counter() - began,
        "data": table.digest,
    }
    lists.meta.update(meta)  # type: ignore[attr-defined]  # made by us just now: a plain dict
    return lists


class Search:
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
            rules = RuleSet(tuple(rule for rule in rules.names if rule not in BIC_ONLY))
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
    ) -> Found:
        """Search; return the kept families in the table's indices."""
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
        return _in_table_order(self.encoded, self.outcome.kept, self.context)

    def forecast(self, threads: int = 1) -> Forecast:
        """What is known of the search before it runs."""
        w = self.encoded.grid.unit / 2.0**self.encoded.grid.bits
        return forecast(
            self.encoded,
            self.limits,
            closed=self.rules.closed,
            w=w,
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
    if usable < 2:
        raise TableError(
            f"only {usable} of {table.n_variables} columns has more than one observed state; "
            f"at least 2 are needed"
        )


def _check_gap(gap: float) -> float:
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
) -> Model:
    """Put together what the kernels need; the gap is in nats, None drops ties."""
    from parentage.kernels.families import Model

    grid = encoded.grid
    fixed_gap = 0 if gap is None else grid.to_fixed(gap)
    margin = grid.tolerance if gap is None else -fixed_gap - grid.tolerance - 1
    if forbidden is None or not forbidden.any():
        forbidden = np.zeros((0, 0), np.bool_)
    return Model(
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
    return caps_by_rule(
        rules,
        table.n_rows,
        [float(x) for x in grid.to_float(encoded.empty - encoded.single)],
        [float(x) for x in grid.to_float(h)],
        [int(r) for r in encoded.arity],
        grid.unit / 2.0**grid.bits,
        gap or 0.0,
    )


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


def _reported_limit(
    max_parents: int | Mapping[str, int] | None, n: int
) -> int | dict[str, int] | None:
    if isinstance(max_parents, Mapping):
        return dict(max_parents)
    return None if max_parents is None or max_parents >= n - 1 else int(max_parents)


def count_families(free: int, most: int) -> int:
    """Return the number of parent sets of at most ``most`` among ``free`` variables."""
    return sum(math.comb(free, size) for size in range(min(most, free) + 1))


class Found(NamedTuple):
    """Kept families in the table's indices: children, sizes, parents (rising), scores in nats."""

    children: Int64s
    sizes: Int64s
    parents: Int64s
    scores: npt.NDArray[np.float64]


def _in_table_order(encoded: Encoded, kept: list[Kept], context: list[int]) -> Found:
    """Translate kept families back, with the context's variables as parents."""
    none = np.empty(0, np.int64)
    pieces = [Found(none, none, none, np.empty(0))]
    for part in kept:
        count, size = part.parents.shape
        extra = np.tile(np.array(context, np.int64), (count, 1))
        parents = np.sort(np.hstack([encoded.order[part.parents], extra]), axis=1)
        pieces.append(
            Found(
                encoded.order[part.children],
                np.full(count, size + len(context), np.int64),
                parents.ravel(),
                encoded.grid.to_float(part.scores),
            )
        )
    return _join(pieces)


def _join(pieces: list[Found]) -> Found:
    return Found(
        np.concatenate([piece.children for piece in pieces]),
        np.concatenate([piece.sizes for piece in pieces]),
        np.concatenate([piece.parents for piece in pieces]),
        np.concatenate([piece.scores for piece in pieces]),
    )


def _assemble(table: Table, found: list[Found], unit: float) -> CandidateLists:
    """Put kept families into lists; a constant has the empty set alone, with score 0."""
    constants = np.array([table.index(name) for name in table.constant], np.int64)
    empty = np.empty(0, np.int64)
    constant = Found(constants, np.zeros_like(constants), empty, np.zeros(len(constants)))
    whole = _join([constant, *found])
    starts = np.concatenate([[0], np.cumsum(whole.sizes)])
    return CandidateLists.from_arrays(
        table.names, whole.children, starts, whole.parents, whole.scores / unit
    )
