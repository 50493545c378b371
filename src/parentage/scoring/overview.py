"""A first look at a table: entropies, parent caps, and what a search will cost.

What ``parentage info`` shows.
"""

from __future__ import annotations

import math
import shutil
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from parentage.data.table import Table
from parentage.files.decoding import fields_in
from parentage.scoring import rules as r
from parentage.scoring.candidates import why_not_grown
from parentage.scoring.scores import conditional_entropy
from parentage.scoring.scores.node_average import observed_rows
from parentage.scoring.search.forecast import fixed_memory, forecast, sharpen, together
from parentage.scoring.search.levels import LevelSearch, ends_by_rules, price_of_join
from parentage.scoring.search.plan import encode_plans, prepare_search
from parentage.scoring.settings import Scoring
from parentage.scoring.tuning import TUNING
from parentage.work.array_files import disk_folder
from parentage.work.context import Context, Running, available_cores
from parentage.work.memory import memory_limit, used_memory

if TYPE_CHECKING:
    from parentage.scoring.search.forecast import Forecast
    from parentage.scoring.search.plan import SearchPlan


@dataclass(frozen=True)
class VariableInfo:
    """One column: labels, entropy per row in nats, and the most parents it can have."""

    name: str
    states: tuple[str, ...]
    entropy: float
    theorem3: int | None
    theorem3pp: int | None
    cuts: tuple[float, ...] | None = None
    missing: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return what ``info --json`` prints for a variable."""
        content: dict[str, Any] = {
            "name": self.name,
            "states": list(self.states),
            "entropy": self.entropy,
            "max_parents": {"theorem3": self.theorem3, "theorem3pp": self.theorem3pp},
            "missing": self.missing,
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
    forecast: Forecast
    score: str
    ends_by_itself: bool
    """False if nothing known ends the search before there are too many sets to count."""
    up_to: tuple[Forecast, ...] = ()
    """What complete lists of up to 1, 2, 3 … parents take."""
    complete_to: int | None = None
    """Up to how many parents ``learn`` lists everything without a time limit; None: all there are.
    Beyond that lists grow around the best network."""
    not_grown: str | None = None
    """Why they do not, in words; None if they do."""
    network_first: bool = False
    """Whether ``learn`` finds a network before it lists the rest, because that takes long."""
    limited_by: str | None = None
    """What ends complete lists there: ``"sets"``, ``"memory"`` or ``"time"``."""

    def to_dict(self) -> dict[str, Any]:
        """Return what ``info --json`` prints."""
        shown = ("parents", "sets", "seconds", "memory")
        rows = [{name: getattr(row, name) for name in shown} for row in self.up_to]
        return {**fields_in(self), "up_to": rows}


def overview(
    table: Table, settings: Scoring | None = None, *, probe_seconds: float = TUNING.probe_seconds
) -> Overview:
    """Describe a table; the search is tried for ``probe_seconds`` to forecast the rest.

    Examples
    --------
    >>> from parentage.data.table import Table
    >>> t = Table.from_columns({"a": "0011" * 9, "b": "0011" * 9, "c": "0101" * 9})
    >>> [v.theorem3pp for v in overview(t).variables]
    [1, 1, 0]
    """
    prepared = prepare_search(table, settings or Scoring())
    plans = encode_plans(prepared)
    share = probe_seconds / len(plans)
    known = together([_forecast(plan, share) for plan in plans])
    plan = plans[0]
    rows = known.up_to(fixed_memory(plan.encoded, 1), plan.measure.more_bytes_per_set)
    bic = prepared.score.name == "bic"
    caps = _caps(table, plan)
    variables = []
    for name, states, missing in zip(table.names, table.states, table.missing_cells, strict=True):
        entropy, thm3, thm3pp = caps[name]
        cuts = table.cuts.get(name)
        variables.append(
            VariableInfo(name, states, entropy, thm3 if bic else None, thm3pp, cuts, int(missing))
        )
    complete_to, limited_by = _complete_to(
        rows, _room(), None if ends_by_rules(plan) else TUNING.most_sets
    )
    return Overview(
        table.n_rows,
        tuple(variables),
        table.constant,
        r.corollary1(table.n_rows) if bic else None,
        r.corollary1_prime(table.n_rows) if bic else None,
        known,
        prepared.score.name,
        _ends(plan, known),
        tuple(rows),
        complete_to,
        why_not_grown(prepared),
        any(price_of_join(plan) * sets > TUNING.long_level for sets in known.levels[2:]),
        limited_by,
    )


def _room() -> int:
    """Return what levels can take, in memory and on disk."""
    room = memory_limit(None) - used_memory()
    try:
        return room + shutil.disk_usage(disk_folder()).free
    except OSError:
        return room


def _complete_to(
    rows: list[Forecast], room: int, most: int | None = None
) -> tuple[int | None, str | None]:
    """Return the last number of parents that learning lists, and what more would break.

    None: all fit and take no hours. ``most`` sets of one size are counted where nothing ends the
    search. Where some take hours, none is listed that takes long.
    """
    before = [0.0, *(row.seconds for row in rows)]
    took = [row.seconds - earlier for row, earlier in zip(rows, before, strict=False)]
    in_vain = max(took, default=0.0) > TUNING.longest_level
    longest = TUNING.longest_in_vain if in_vain else math.inf
    sets = 0
    for row, seconds in zip(rows, took, strict=True):
        broken = {
            "sets": most is not None and row.sets - sets > most,
            "memory": row.memory > room,
            "time": seconds > longest,
        }
        if any(broken.values()):
            return row.parents - 1, next(what for what, too_much in broken.items() if too_much)
        sets = row.sets
    return None, None


def _caps(table: Table, plan: SearchPlan) -> dict[str, tuple[float, int | None, int | None]]:
    """Entropy per row, Theorem 3 and Theorem 3″ by variable; zeros for a constant."""
    encoded, measure, n = plan.encoded, plan.measure, table.n_rows
    known = measure.entropies
    if known is None:
        return {name: (_entropy(table, v), None, None) for v, name in enumerate(table.names)}
    h = plan.h if plan.rules.needs_residuals else measure.residuals(encoded, table)
    caps = measure.caps(encoded, table, r.RuleSet(("thm3", "thm3pp")), h, 0.0)
    found: dict[str, tuple[float, int | None, int | None]]
    found = dict.fromkeys(table.names, (0.0, 0, 0))
    for i, v in enumerate(encoded.order):
        entropy = float(encoded.grid.to_float(known[i])) / n
        found[table.names[v]] = (entropy, int(caps["thm3"][i]), int(caps["thm3pp"][i]))
    return found


def _entropy(table: Table, v: int) -> float:
    """Entropy of a column in nats, of the rows in which it is observed."""
    seen = table.select([table.names[v]]).chosen_rows(observed_rows(table, [v]))
    return conditional_entropy(seen, 0) / seen.n_rows


def _forecast(plan: SearchPlan, seconds: float) -> Forecast:
    """Say what is known without searching; if that is rough, search for a while."""
    known = forecast(plan)
    if not plan.leaves_out or not _ends(plan, known):
        return known
    if known.memory < TUNING.most_to_probe:
        return _probe(plan, known, seconds)
    sharper = _probe(plan, known, seconds / 2)  # how fast sets are counted is all it can tell
    return replace(known, seconds=known.sets * (sharper.seconds / sharper.sets))


def _ends(plan: SearchPlan, known: Forecast) -> bool:
    """Whether the search ends by itself before anybody's patience does."""
    return plan.measure.forecast_ends or known.sets_at_most < TUNING.most_sets


def _probe(plan: SearchPlan, known: Forecast, seconds: float) -> Forecast:
    """Run the search for a while; say what it found or where it was going."""
    _compile(plan)  # on first use, seconds that are none of the table's
    began = time.process_time()
    stop = Running(time_limit=seconds, memory=TUNING.probe_memory).stop()
    outcome = LevelSearch(plan, Context(stop, available_cores())).run()
    return sharpen(known, plan, outcome, time.process_time() - began)


def _compile(plan: SearchPlan) -> None:
    """Have the kernels of such a search compiled, by a search of three variables."""
    columns = {"a": "0011" * 9, "b": "0011" * 9, "c": "0101" * 9}
    tiny = prepare_search(Table.from_columns(columns), Scoring(score=plan.score.name))
    LevelSearch(encode_plans(tiny)[0], Context(Running().stop())).run()
