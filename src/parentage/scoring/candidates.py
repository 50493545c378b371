"""Scoring: from a table to its candidate lists.

:func:`score` plans (:mod:`parentage.scoring.plan`), searches (:mod:`parentage.scoring.search`) and
puts the kept families into :class:`parentage.scoring.lists.CandidateLists`, with an account of
what was counted, scored and ruled out in its ``meta``.
"""

from __future__ import annotations

import math
import os
import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.data.reading import as_table
from parentage.scoring.constraints import Constraints
from parentage.scoring.forecast import SHARE_OF_MEMORY
from parentage.scoring.lists import CandidateLists
from parentage.scoring.plan import (
    SearchPlan,
    check_constraints,
    check_gap,
    check_table,
    max_parents_by_variable,
)
from parentage.scoring.rulebook import ORDER, choose_rules
from parentage.scoring.scores import check_score, unit_of
from parentage.work.memory import available_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from parentage.data.table import Table
    from parentage.scoring.entropy import Encoded, Int64s
    from parentage.scoring.search import Kept, Progress


def score(
    table: object,
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
        The data: a table, or a data frame or path, which are read as :func:`read_table` does.
    max_parents
        Largest number of parents, for all variables or by name; None for no limit at all.
    score
        ``"bic"`` or ``"aic"``.
    log_base
        Unit of the scores: None or ``"e"`` for nats, 2 for bits, 10 …
    rules
        Which rules prune, see :func:`parentage.scoring.rulebook.choose_rules`. The lists never
        depend on them, the time does.
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
        Called with a :class:`parentage.scoring.search.Progress` after every chunk of work.
    stop
        Asked after every chunk; the search ends when it says True, as with too little memory.

    Returns
    -------
    CandidateLists
        Per child the sets that beat all their proper subsets.

    Examples
    --------
    >>> from parentage.data.table import Table
    >>> rain = Table.from_columns({"rain": "0011" * 9, "wet": "0011" * 8 + "0111"})
    >>> score(rain)["wet"][0].parents
    ('rain',)
    """
    began = time.perf_counter()
    table = as_table(table)
    name = check_score(score)
    unit = unit_of(log_base)
    chosen = choose_rules(rules, name, gap)
    check_table(table)
    wanted = Constraints() if constraints is None else constraints
    check_constraints(wanted, table)
    most = max_parents_by_variable(table, max_parents, wanted)
    gap_nats = None if gap is None else check_gap(gap) * unit
    plans = [
        SearchPlan(table, name, chosen, gap_nats, most, wanted, child)
        for child in [None, *sorted(wanted.required_parents)]
    ]
    workers = threads or os.cpu_count() or 1
    for plan in plans:
        plan.refuse_what_cannot_fit(workers)
    if memory is None:
        memory = int(SHARE_OF_MEMORY * available_memory())
    outcomes = [plan.run(workers, memory, progress, stop) for plan in plans]
    lists = _assemble(table, plans, unit)
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
        "max_parents": _reported_limit(table, most),
        "complete_to": min(complete, default=None),
        "families": sum(plan.n_families() for plan in plans),
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


def _reported_limit(table: Table, most: Int64s) -> int | dict[str, int | None] | None:
    """The limit on parents as reported: one number, None for none, or by name."""
    free = table.n_variables - 1
    values = {None if k >= free else int(k) for k in most}
    if len(values) == 1:
        return values.pop()
    return {name: None if k >= free else int(k) for name, k in zip(table.names, most, strict=True)}


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


def _assemble(table: Table, plans: list[SearchPlan], unit: float) -> CandidateLists:
    """Put kept families into lists; a constant has the empty set alone, with score 0."""
    constants = np.array([table.index(name) for name in table.constant], np.int64)
    empty = np.empty(0, np.int64)
    constant = Found(constants, np.zeros_like(constants), empty, np.zeros(len(constants)))
    found = [_in_table_order(p.encoded, p.outcome.kept, p.context) for p in plans]
    whole = _join([constant, *found])
    starts = np.concatenate([[0], np.cumsum(whole.sizes)])
    return CandidateLists.from_arrays(
        table.names, whole.children, starts, whole.parents, whole.scores / unit
    )
