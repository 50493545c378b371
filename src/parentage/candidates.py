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
from typing import TYPE_CHECKING, Any

import numpy as np

from parentage.entropy import Encoded, encode, residuals
from parentage.errors import InputError, TableError, did_you_mean
from parentage.lists import CandidateLists
from parentage.rules import ORDER, RuleSet, caps_by_rule, choose_rules
from parentage.scores import check_score, unit_of
from parentage.search import Limits, Outcome, Progress, search

if TYPE_CHECKING:
    from parentage.entropy import Int64s
    from parentage.kernels.families import Model
    from parentage.table import Table


def score(
    table: Table,
    *,
    max_parents: int | Mapping[str, int] | None = None,
    score: str = "bic",
    log_base: float | str | None = None,
    rules: str | Iterable[str] | None = None,
    gap: float | None = None,
    threads: int | None = None,
    memory: int | None = None,
    progress: Callable[[Progress], None] | None = None,
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
    threads
        Number of threads, by default one per core. The result does not depend on it.
    memory
        Bytes that the levels of the search may take, by default most of what is free. A level
        that does not fit ends the search; ``meta["complete_to"]`` then has the in-degree up to
        which the lists are complete.
    progress
        Called with a :class:`parentage.search.Progress` after every chunk of work.

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
    gap_nats = None if gap is None else _check_gap(gap) * unit
    encoded = encode(table, name, gap_nats or 0.0, live_only=chosen.closed)
    h = residuals(encoded, table) if chosen.needs_residuals else np.zeros_like(encoded.single)
    model = build_model(encoded, chosen, h, gap_nats)
    limits = build_limits(table, encoded, chosen, h, max_parents, gap_nats)
    outcome = search(
        encoded,
        model,
        limits,
        threads=threads or os.cpu_count() or 1,
        memory=memory,
        progress=progress,
    )
    if chosen.needs_residuals:
        outcome.sets_counted += encoded.n_variables + 1
    lists = _assemble(table, encoded, outcome, unit)
    meta = {
        "variables": list(table.names),
        "rows": table.n_rows,
        "score": name,
        "log_base": "e" if unit == 1.0 else float(log_base or math.e),
        "rules": list(chosen.names),
        "gap": gap,
        "max_parents": _reported_limit(max_parents, table.n_variables),
        "complete_to": outcome.complete_to,
        "families": count_families(encoded.n_variables, limits.most),
        "sets_counted": outcome.sets_counted,
        "families_scored": outcome.families_scored,
        "pruned": {rule: int(outcome.tally[ORDER.index(rule)]) for rule in chosen.names},
        "kept": lists.n_sets,
        "live_sets": outcome.live,
        "seconds": time.perf_counter() - began,
        "data": table.digest,
    }
    lists.meta.update(meta)  # type: ignore[attr-defined]  # made by us just now: a plain dict
    return lists


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


def build_model(encoded: Encoded, rules: RuleSet, h: Int64s, gap: float | None) -> Model:
    """Put together what the kernels need; the gap is in nats, None drops ties."""
    from parentage.kernels.families import Model

    grid = encoded.grid
    fixed_gap = 0 if gap is None else grid.to_fixed(gap)
    margin = grid.tolerance if gap is None else -fixed_gap - grid.tolerance - 1
    return Model(
        encoded.arity,
        encoded.empty - encoded.single,
        h,
        np.zeros((0, 0), np.bool_),
        grid.unit,
        grid.cap,
        grid.tolerance,
        fixed_gap,
        margin,
        rules.mask,
        rules.closed,
    )


def build_limits(
    table: Table,
    encoded: Encoded,
    rules: RuleSet,
    h: Int64s,
    max_parents: int | Mapping[str, int] | None,
    gap: float | None,
) -> Limits:
    """Combine what the user allows and what the cap rules prove, per encoded variable."""
    n = encoded.n_variables
    wanted = max_parents_by_variable(table, max_parents)
    grid = encoded.grid
    caps = caps_by_rule(
        rules,
        table.n_rows,
        [float(x) for x in grid.to_float(encoded.empty - encoded.single)],
        [float(x) for x in grid.to_float(h)],
        [int(r) for r in encoded.arity],
        grid.unit / 2.0**grid.bits,
        gap or 0.0,
    )
    return Limits(np.minimum(wanted[encoded.order], n - 1), caps)


def max_parents_by_variable(table: Table, max_parents: int | Mapping[str, int] | None) -> Int64s:
    """Return the wanted limit per column; no limit is n − 1."""
    most = np.full(table.n_variables, table.n_variables - 1, np.int64)
    if max_parents is None:
        return most
    limits = max_parents if isinstance(max_parents, Mapping) else {None: max_parents}
    for name, limit in limits.items():
        if isinstance(limit, bool) or not isinstance(limit, int | np.integer) or limit < 0:
            raise InputError(f"max_parents must be a whole number of at least 0, not {limit!r}")
        if name is not None and name not in table.names:
            raise InputError(
                f"max_parents names {name!r}, which is no column; {did_you_mean(name, table.names)}"
            )
        where = slice(None) if name is None else table.index(name)
        most[where] = np.minimum(most[where], limit)
    return most


def _reported_limit(
    max_parents: int | Mapping[str, int] | None, n: int
) -> int | dict[str, int] | None:
    if isinstance(max_parents, Mapping):
        return dict(max_parents)
    return None if max_parents is None or max_parents >= n - 1 else int(max_parents)


def count_families(n: int, most: Iterable[int]) -> int:
    """Return the size of the whole space: parent sets within the limits, empty ones included."""
    return sum(math.comb(n - 1, size) for k in most for size in range(int(k) + 1))


def _assemble(table: Table, encoded: Encoded, outcome: Outcome, unit: float) -> CandidateLists:
    """Put kept families into lists, in the table's order; a constant has the empty set alone."""
    constants = [table.index(name) for name in table.constant]
    children = [np.array(constants, np.int64)]
    sizes = [np.zeros(len(constants), np.int64)]
    parents: list[Int64s] = []
    scores = [np.zeros(len(constants))]
    for kept in outcome.kept:
        children.append(encoded.order[kept.children])
        sizes.append(np.full(len(kept.children), kept.parents.shape[1], np.int64))
        parents.append(np.sort(encoded.order[kept.parents], axis=1).ravel())
        scores.append(encoded.grid.to_float(kept.scores) / unit)
    starts = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
    return CandidateLists.from_arrays(
        table.names,
        np.concatenate(children),
        starts,
        np.concatenate(parents) if parents else np.empty(0, np.int64),
        np.concatenate(scores),
    )


def account(lists: CandidateLists) -> dict[str, Any]:
    """Return what scoring reported about itself; empty for lists read from a file."""
    return dict(lists.meta)
