"""Scoring: from a table to its candidate lists.

:func:`score` plans (:mod:`parentage.scoring.search.plan`), searches
(:mod:`parentage.scoring.search.levels`) and puts the kept families into
:class:`parentage.scoring.lists.CandidateLists`, with an account of what was counted, scored and
ruled out, and of how far the lists reach.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from parentage.data.reading import as_table, rule_for_missing
from parentage.data.settings import IN_READ_TABLE, WITHOUT_COMPLETION, Reading
from parentage.errors import InputError, UnprovenWarning, Way, warn
from parentage.files.decoding import plain
from parentage.scoring.account import Account, Tallies
from parentage.scoring.constraints import Constraints, Prior
from parentage.scoring.lists import CandidateLists, masks_of
from parentage.scoring.rules import ORDER
from parentage.scoring.scores import parse_score
from parentage.scoring.search.forecast import refuse_what_cannot_fit, room_for_levels
from parentage.scoring.search.levels import LevelSearch
from parentage.scoring.search.plan import encode_plans, prepare_search
from parentage.scoring.search.state import Kept, SearchState
from parentage.scoring.settings import Scoring, treatments
from parentage.scoring.tuning import TUNING
from parentage.work.checkpoint import TABLE
from parentage.work.context import Running, Scaling, working
from parentage.work.executor import size_here
from parentage.work.memory import memory_limit, used_memory
from parentage.work.settings import made, takes
from parentage.work.stop import now

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from parentage.arrays import Floats, Ints
    from parentage.data.recipe import Recipe
    from parentage.data.table import Table
    from parentage.scoring.search.plan import Preparation, SearchPlan
    from parentage.scoring.search.state import Outcome
    from parentage.work.context import Context
    from parentage.work.progress import Report


@takes(Scoring, Reading, Running, Scaling, elsewhere=IN_READ_TABLE)
def score(
    source: object,
    *,
    score: str = "bic",
    max_parents: int | Mapping[str, int] | None = None,
    constraints: Constraints | None = None,
    prior: Prior | Mapping[tuple[str, str], float] | float | None = None,
    rules: str | Iterable[str] | None = None,
    width: float | None = None,
    log_base: float | str | None = None,
    drop: Iterable[str] = (),
    missing: str = "error",
    discretize: str | Iterable[str] | Mapping[str, str] | None = None,
    recipe: str | os.PathLike[str] | Recipe | None = None,
    auto: bool = False,
    time_limit: float | None = None,
    memory: int | str | None = None,
    threads: int | None = None,
    executor: Any = None,
    exchange: str | Path | None = None,
    checkpoint: str | Path | None = None,
    progress: Report | bool | None = None,
) -> CandidateLists:
    """List, for every variable, the parent sets that can be in an optimal network.

    Parameters
    ----------
    source
        The data: a table, or a data frame or path, which are read as :func:`read_table` does.
    {settings}
    progress
        True shows a bar in terminals and notebooks; or a function that is called with a
        :class:`parentage.work.progress.Progress` after every chunk of work.

    Returns
    -------
    CandidateLists
        Per child the sets that beat all their proper subsets. ``lists.account`` says how they
        were made and how far they reach.

    Warns
    -----
    UnprovenWarning
        When time, memory or Ctrl-C ended the search early; the lists are then complete up to
        some number of parents.

    Examples
    --------
    >>> from parentage.data.table import Table
    >>> rain = Table.from_columns({"rain": "0011" * 9, "wet": "0011" * 8 + "0111"})
    >>> score(rain)["wet"][0].parents
    ('rain',)
    """
    reading = made(Reading, locals())
    scoring = Scoring(max_parents, score, prior, log_base, rules, width, constraints)
    scaling = Scaling(executor, exchange, checkpoint)
    with working(Running(threads, time_limit, memory), progress, scaling) as context:
        table = as_table(source, reading, ways=treatments(score, WITHOUT_COMPLETION))
        rule = rule_for_missing(table, reading.rule)
        if rule == "em" and table.has_holes:
            raise InputError(
                "completes the data with a network, and scoring learns none",
                "use parentage.learn(…, missing='em').lists",
                about=Way("missing", rule),
            )
        lists = score_table(table, scoring.for_missing(rule), context)
    if not lists.account.complete:
        warn(UnprovenWarning(cut_short_text(lists)))
    return lists


def score_table(table: Table, settings: Scoring, context: Context) -> CandidateLists:
    """Score a table: search, and make lists of what was found, of a level cut short as well."""
    return search_table(table, settings, context).with_partial().lists()


@dataclass(frozen=True)
class Searched:
    """What a search found, before it becomes lists."""

    prepared: Preparation
    plans: tuple[SearchPlan, ...]
    outcomes: tuple[Outcome, ...]
    began: float

    @property
    def complete(self) -> bool:
        """Whether nothing was cut short."""
        return all(outcome.complete_to is None for outcome in self.outcomes)

    def lists(self) -> CandidateLists:
        """Make lists; the one place where a search becomes lists."""
        lists = _assemble(self)
        account = _account(self, lists.n_sets)
        return replace(lists, account=replace(account, digest=lists.digest))

    def with_best_partial(self, most: int) -> Searched:
        """Leave ``most`` families of a level that was cut short, the best of each child.

        They are where lists begin to grow, and too many of them take longer to list than to find.
        """
        outcomes = []
        for outcome in self.outcomes:
            found = sum(len(part.children) for part in outcome.partial)
            if found > most:
                part = best_of_each(outcome.partial, most)
                explored = outcome.explored + found - len(part.children)
                outcome = replace(outcome, partial=[part], explored=explored)
            outcomes.append(outcome)
        return replace(self, outcomes=tuple(outcomes))

    def with_partial(self) -> Searched:
        """Take what is there of a level that was cut short."""
        outcomes = []
        for outcome in self.outcomes:
            more = sum(len(part.children) for part in outcome.partial)
            kept = [*outcome.kept, *outcome.partial]
            outcomes.append(
                replace(outcome, kept=kept, partial=[], explored=outcome.explored + more)
            )
        return replace(self, outcomes=tuple(outcomes))


def best_of_each(parts: Sequence[Kept], most: int) -> Kept:
    """Return ``most`` families of one size at most, as many of each child, those with best scores.

    >>> part = Kept(np.array([0, 0, 0, 1]), np.array([[1], [2], [3], [0]]), np.array([5, 7, 6, 1]))
    >>> best_of_each([part], 4).scores
    array([7, 6, 1])
    """
    children, parents, scores = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((-scores, children))
    first = np.searchsorted(children[order], children[order])
    rank = np.arange(len(order)) - first
    chosen = order[rank < max(1, most // len(np.unique(children)))]
    return Kept(children[chosen], parents[chosen], scores[chosen])


def search_table(
    table: Table,
    settings: Scoring,
    context: Context,
    *,
    up_to: int | None = None,
    foresee: bool = False,
    part: float = 1.0,
    pause: Callable[[Searched], None] | None = None,
) -> Searched:
    """Search a table in ``part`` of the time that is left when it is encoded.

    ``up_to`` and ``foresee`` are those of :class:`parentage.scoring.search.levels.LevelSearch`.
    ``pause`` is called once, before the first level that takes long, with what was found by then.
    """
    began = now()
    stop, workers, checkpoint = context.stop, context.pool, context.checkpoint
    prepared = prepare_search(table, settings)
    plans = encode_plans(prepared)
    for plan in plans:
        refuse_what_cannot_fit(plan, size_here(workers))
    most = memory_limit(stop.memory)
    room = most - used_memory()
    if stop.memory is not None:
        room = room_for_levels(stop.memory, size_here(workers))
    moment, stop = stop.moment(), replace(stop.share(part), memory=room)
    first = stop.leaving(TUNING.first_level)
    if checkpoint is not None:
        checkpoint.claim(job_of(TABLE, table, settings))
    own = context.ending(stop)
    outcomes: list[Outcome] = []
    waiting = [] if pause is None else [pause]

    def paused(so_far: Outcome) -> None:
        """Search what other plans have up to the same number of parents, and hand all of it on."""
        later = plans[len(outcomes) + 1 :]
        up_to = so_far.complete_to
        others = (LevelSearch(plan, own, up_to=up_to).run() for plan in later)
        waiting.pop()(Searched(prepared, plans, (*outcomes, so_far, *others), began))

    for number, plan in enumerate(plans):
        slot = None if checkpoint is None else checkpoint.slot(f"search-{number}")
        with contextlib.closing(SearchState(slot, context.exchange, most)) as state:
            pausing = paused if waiting else None
            search = LevelSearch(plan, own, state, up_to, foresee, first, moment, pausing)
            outcomes.append(search.run())
        moment = search.moment
    return Searched(prepared, plans, tuple(outcomes), began)


def job_of(kind: str, table: Table, settings: Scoring) -> dict[str, Any]:
    """Say what is scored, and how: the job of a checkpoint."""
    return {
        "kind": kind,
        "table": table.digest,
        "rows": table.n_rows,
        "variables": table.n_variables,
        "score": parse_score(settings.score).name,
        "log_base": settings.log_base,
        "rules": settings.rules,
        "max_parents": plain(settings.max_parents),
        "width": settings.width,
        "prior": Prior.of(settings.prior).to_dict(),
        "constraints": (settings.constraints or Constraints()).to_dict(),
    }


def cut_short_text(lists: CandidateLists, *, growing: bool = False) -> str:
    """Say why a search ended early and what its lists are good for.

    With ``growing`` they would have grown if they could, and it is said what is in the way.
    """
    account = lists.known()
    if account.complete_to is None:
        raise AssertionError("these lists are complete")
    why = {
        "time": "the time limit",
        "memory": "lack of memory and disk space",
        "interrupt": "an interrupt",
        "asked": "the limit on complete lists",
        "forecast": "the forecast: complete lists would take hours; set a time limit or a limit on "
        "parents to score more",
    }
    most = account.complete_to
    larger = "larger sets were not searched"
    if account.explored and growing:
        larger = f"the {account.explored:,} most promising larger sets were tried"
    elif account.explored:
        larger = f"with the {account.explored:,} larger sets found so far"
    if growing and (reason := why_not_grown(account)):
        larger += f" ({reason})"
    return (
        f"scoring was stopped by {why[account.ended or 'interrupt']}; the lists are complete up to "
        f"{most} parent{'' if most == 1 else 's'}, {larger}"
    )


def why_not_grown(asked: Account | Preparation) -> str | None:
    """Return why lists of what was asked cannot grow around a network; None if they can.

    Growth adds single families that gain. With a width every set near its best subset is asked
    for, and lists with a few of those would be taken for all of them.
    """
    return "lists with a width cannot be expanded" if asked.width is not None else None


def _account(searched: Searched, kept: int) -> Account:
    """Write down how the lists were made and how far they reach."""
    prepared, outcomes = searched.prepared, searched.outcomes
    table, unit = prepared.table, prepared.unit
    tally = np.sum([outcome.tally for outcome in outcomes], axis=0)
    cut = [outcome for outcome in outcomes if outcome.complete_to is not None]
    return Account(
        score=prepared.score.name,
        log_base=prepared.log_base,
        rows=table.n_rows,
        data=table.digest,
        constant=table.constant,
        rules=prepared.rules.names,
        max_parents=prepared.limit,
        width=prepared.width,
        constraints=prepared.constraints,
        complete_to=min((o.complete_to for o in cut if o.complete_to is not None), default=None),
        ended=next((outcome.ended for outcome in cut), None),
        beyond=_beyond(searched) if cut else (),
        explored=sum(outcome.explored for outcome in outcomes),
        tolerance=_tolerance(searched) / unit,
        missing_cells=tuple(int(n) for n in table.missing_cells) if table.has_holes else (),
        prior=prepared.prior,
        tallies=Tallies(
            families=sum(plan.n_families() for plan in searched.plans),
            sets_counted=sum(outcome.sets_counted for outcome in outcomes),
            families_scored=sum(outcome.families_scored for outcome in outcomes),
            pruned={rule: int(tally[ORDER.index(rule)]) for rule in prepared.rules.names},
            live_sets=tuple(outcomes[0].live),
            kept=kept,
            seconds=now() - searched.began,
        ),
        recipe=table.recipe,
    )


def _tolerance(searched: Searched) -> float:
    """Return how close scores are equal, in nats."""
    grids = [plan.encoded.grid for plan in searched.plans]
    return max(float(grid.to_float(grid.tolerance)) for grid in grids)


def _beyond(searched: Searched) -> tuple[float | None, ...]:
    """What no set that was not searched exceeds, per column of the table."""
    prepared = searched.prepared
    bounds: list[float | None] = [None] * prepared.table.n_variables
    for plan, outcome in zip(searched.plans, searched.outcomes, strict=True):
        if outcome.beyond is None:
            continue
        for v, bound in zip(plan.encoded.order, outcome.beyond, strict=True):
            if np.isfinite(bound):
                bounds[int(v)] = float(bound + prepared.most_added[v]) / prepared.unit
    return tuple(bounds)


def _assemble(searched: Searched) -> CandidateLists:
    """Put kept families into lists; a constant has the empty set alone, with score 0.

    Families are translated to the table's indices, with the context's variables as parents.
    """
    prepared, outcomes = searched.prepared, searched.outcomes
    table = prepared.table
    constants = np.array([table.index(name) for name in table.constant], np.int64)
    pieces = [(constants, np.zeros_like(constants), constants[:0], np.zeros(len(constants)))]
    for plan, outcome in zip(searched.plans, outcomes, strict=True):
        order, grid = plan.encoded.order, plan.encoded.grid
        for part in outcome.kept:
            owners, count = order[part.children], len(part.children)
            required = np.tile(np.array(plan.context, np.int64), (count, 1))
            members = np.sort(np.hstack([order[part.parents], required]), axis=1)
            own = grid.to_float(part.scores) + _log_prior(prepared, owners, members)
            sizes = np.full(count, members.shape[1], np.int64)
            pieces.append((owners, sizes, members.ravel(), own))
    children, sizes, parents, scores = map(np.concatenate, zip(*pieces, strict=True))
    if prepared.prior or any(outcome.explored for outcome in outcomes):
        best = best_subsets(table.n_variables, children, sizes, parents, scores)
        keep = _beats_subsets(searched, scores, best)
        parents = parents[np.repeat(keep, sizes)]
        children, sizes, scores = children[keep], sizes[keep], scores[keep]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return CandidateLists.from_arrays(
        table.names, children, starts, parents, scores / prepared.unit
    )


def _log_prior(prepared: Preparation, children: Ints, parents: Ints) -> Floats:
    """Return what the prior adds to families of one size; 0 without a prior."""
    added = np.zeros(len(children))
    for column in parents.T if prepared.prior else ():
        added += prepared.log_odds[children, column]
    return added


def _beats_subsets(searched: Searched, scores: Floats, best: Floats) -> npt.NDArray[np.bool_]:
    """Whether families beat their subsets: under a prior (Proposition 3), or found by expansion.

    Those were compared with the sets of one parent less that were known when they were found.
    """
    prepared, tolerance = searched.prepared, _tolerance(searched)
    if prepared.width is not None:
        return scores >= best - prepared.width * prepared.unit - tolerance
    if prepared.prior:
        return scores > best + tolerance
    return scores > best  # those of complete lists were compared with the tolerance, on the grid


def best_subsets(n: int, children: Ints, sizes: Ints, parents: Ints, scores: Floats) -> Floats:
    """Return ``[family]``: the score of its best proper subset, −∞ if there is none.

    Asked where a prior changed the scores, or families were found without all their subsets.
    Parents of all families stand one after the other, ``sizes`` of them each; ``n`` variables.

    >>> sizes, parents = np.array([0, 1, 2]), np.array([1, 1, 2])
    >>> best_subsets(3, np.zeros(3, np.int64), sizes, parents, np.array([-5.0, -4.0, -6.0]))
    array([-inf,  -5.,  -4.])
    """
    from parentage.kernels.subsets import first_subsets

    starts = np.concatenate([[0], np.cumsum(sizes)])
    order = np.lexsort((sizes, -scores, children))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(children, minlength=n))])
    best = np.empty(len(scores))
    for first, last in _blocks(offsets):
        own = order[offsets[first] : offsets[last]]
        cuts = offsets[first : last + 1] - offsets[first]
        found = first_subsets(cuts, masks_of(n, own, starts, parents))
        best[own] = np.where(found < 0, -np.inf, scores[own[found]])
    return best


def _blocks(offsets: Ints) -> Iterator[tuple[int, int]]:
    """Cut children into runs of about so many sets, or of one child."""
    first, end = 0, len(offsets) - 1
    while first < end:
        most = offsets[first] + TUNING.subsets_at_once
        last = max(first + 1, int(np.searchsorted(offsets, most, side="right")) - 1)
        yield first, min(last, end)
        first = min(last, end)
