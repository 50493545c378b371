"""The whole path, once: read, score, optimise. :func:`learn`, estimator and command follow it.

::

    source ──► Table ──► CandidateLists ──► Solution
    Reading    Scoring        Optimising

One :class:`parentage.work.stop.Stop` goes all the way down: scoring takes half of the time there
is. Where scoring takes long, it pauses for a first network (:class:`FirstNetwork`), which an
interrupt returns and from which solving begins. Where time or memory are not enough for complete
lists, the lists are expanded around the best network (:mod:`parentage.growth.anytime`), and the
answer says how far it is proven. Lists may enter in the middle; settings of the stages that they
skip are refused.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from parentage.data.reading import as_table, rule_for_missing, settled
from parentage.data.settings import IN_READ_TABLE, WAYS, Reading
from parentage.errors import DataWarning, InputError, UnprovenWarning, Way, warn
from parentage.files.decoding import plain
from parentage.files.detect import detect
from parentage.files.source import Source, open_source
from parentage.growth.tuning import TUNING as EXPANSION
from parentage.network.bridges import network_of
from parentage.network.network import Network
from parentage.optimise import check_start, optimise_lists
from parentage.optimise.run import NOWHERE, Start
from parentage.optimise.settings import Optimising
from parentage.optimise.tuning import TUNING
from parentage.scoring.candidates import search_table
from parentage.scoring.constraints import Constraints
from parentage.scoring.formats import read_lists
from parentage.scoring.lists import CandidateLists
from parentage.scoring.scores.node_average import about_few_rows
from parentage.scoring.settings import Growing, Scoring, treatments
from parentage.work.checkpoint import LISTS, SavedState
from parentage.work.context import Running, Scaling, working
from parentage.work.progress import Progress
from parentage.work.settings import Settings, changed, fields_of, like, made, takes

if TYPE_CHECKING:
    from pathlib import Path

    from parentage.data.recipe import Recipe
    from parentage.data.table import Table
    from parentage.growth.anytime import Expanded
    from parentage.optimise import Solution
    from parentage.scoring.candidates import Searched
    from parentage.scoring.constraints import Prior
    from parentage.work.context import Context
    from parentage.work.progress import Report

FOR_LISTS = ("max_parents", "constraints", "format", "encoding")
"""Settings of scoring that pick among lists as well, and those of reading that read them."""

SHARE_OF_SCORING = 0.5
"""Of the time left when the table is encoded; the rest is for the network and its proof."""

FIRST = "first"
"""Name of the slot of a checkpoint that holds the network found before scoring takes long."""

NETWORK_FIRST = "finding a first network; then the lists are completed"
"""Phase of the progress before that network is found."""

ScoringOf = Callable[[tuple[str, ...], bool], "Scoring"]
"""Makes the settings of scoring, given the names of the variables and whether they are scored."""


@dataclass(frozen=True)
class Advanced(Settings):
    """Rarely used settings: how candidate lists are made and how the network is found.

    Examples
    --------
    >>> Advanced(engine="branch-and-cut", gap_limit=2.0).optimising(seed=1)
    Optimising(engine='branch-and-cut', gap_limit=2.0, seed=1)
    >>> Advanced(engin="subsets")
    Traceback (most recent call last):
        ...
    TypeError: Advanced() has no keyword 'engin'; did you mean 'engine'?
    """

    rules: str | Iterable[str] | None = like(Scoring, "rules")
    width: float | None = like(Scoring, "width")
    engine: str = like(Optimising, "engine")
    gap_limit: float = like(Optimising, "gap_limit")
    complete: int | None = like(Growing, "complete")
    effort: float | None = like(Growing, "effort")
    exchange: str | Path | None = like(Scaling, "exchange")
    log_base: float | str | None = like(Scoring, "log_base")

    def optimising(self, seed: int) -> Optimising:
        """Return how the network is found."""
        return Optimising(self.engine, self.gap_limit, seed)

    def growing(self) -> Growing:
        """Return how lists that are cut short are expanded."""
        return Growing(self.complete, self.effort)


IN_ADVANCED = {
    name: f"it belongs in advanced=parentage.Advanced({name}=…)" for name in fields_of(Advanced)
}
"""What to do instead where a function takes these settings together."""


@dataclass(frozen=True)
class Asked:
    """What was asked for: the settings of all stages, and a network to begin from.

    Lists that are cut short do not grow where ``growing`` is None. ``ways`` are those to treat
    missing values that what is asked for can deal with.
    """

    scoring: ScoringOf
    optimising: Optimising
    growing: Growing | None = None
    start: Network | None = None
    reading: Reading = field(default_factory=Reading)
    ways: Sequence[str] = WAYS


@dataclass(frozen=True)
class Gathered:
    """What is to be learned from: lists, their table if it was there, and the settings.

    ``expanded`` is the network that lists were expanded around, ``first`` one that was found before
    scoring took long: something to begin from.
    """

    lists: CandidateLists
    table: Table | None
    scoring: Scoring
    expanded: Expanded | None = None
    most_work: float = math.inf
    """Work of the solver for proving that network, infinite under a time limit."""
    first: Network | None = None
    completed: Solution | None = None
    """The best network on the data completed last, which are its table, where networks complete
    the data."""


def gather(
    source: object,
    asked: Asked,
    context: Context,
    *,
    seen: Callable[[Table], None] | None = None,
    part: float = 1.0,
) -> Gathered:
    """Read lists, or read a table and score it.

    ``seen`` is called with the table before it is scored. ``part`` is the fraction of the time left
    after reading that may be used.
    """
    reading, growing, start = asked.reading, asked.growing, asked.start
    opened = open_source(source) if isinstance(source, str | bytes | os.PathLike) else source
    how = settled(reading)
    if isinstance(opened, Source):
        found = detect(opened, how.format, how.encoding)
        if found.kind == "lists":
            opened = read_lists(opened, reading.format, encoding=reading.encoding)
    if isinstance(opened, CandidateLists):
        settings = asked.scoring(opened.names, True)
        for given in (settings, reading, growing):
            _refuse(
                given,
                "is for tables, and these are lists, which are scored already",
                allowed=FOR_LISTS,
            )
        if start is not None:
            check_start(start, opened.names)
        return Gathered(opened, None, settings)
    table = as_table(opened, how, ways=asked.ways)
    if start is not None:
        check_start(start, table.names)
    if seen is not None:
        seen(table)
    rule = rule_for_missing(table, how.rule)
    settings = asked.scoring(table.names, False).for_missing(rule)
    context = context.share(part)
    if rule == "em" and table.has_holes:
        from parentage.structural_em import complete_and_score

        _refuse(
            growing,
            "has no effect where missing values are completed by expectation maximisation",
            Way("missing", "pnal"),
            "leave it out",
        )
        completed = complete_and_score(
            table, settings, context, optimising=asked.optimising, start=start
        )
        return Gathered(completed.lists, table, settings, completed=completed)
    return list_sets(table, settings, asked, context)


def list_sets(table: Table, scoring: Scoring, asked: Asked, context: Context) -> Gathered:
    """Score a table; lists that are cut short grow, if that is asked for."""
    growing, stop = asked.growing, context.stop
    first = FirstNetwork(asked, context)
    wanted = first.is_wanted(scoring)
    few = table.n_variables <= EXPANSION.always_complete
    searched = search_table(
        table,
        scoring,
        replace(context, report=first.reporting()),
        up_to=None if growing is None or few else growing.complete,
        foresee=growing is not None,
        part=SHARE_OF_SCORING,
        pause=first.find if wanted else None,
    )
    if wanted and first.network is None:
        first.restore(table.names)
    if growing is None or searched.complete:
        lists = searched.with_partial().lists()
        return Gathered(lists, table, scoring, first=first.network)
    if stop.cancelled.is_set():
        searched, expanded = first.added_to(searched)
        return Gathered(searched.lists(), table, scoring, expanded)
    searched, expanded, most_work = expand(searched, growing, asked, context, first.network)
    return Gathered(searched.lists(), table, scoring, expanded, most_work)


class FirstNetwork:
    """A network that is found before scoring takes long: expansion for a short, counted effort.

    It is where solving begins if the lists become complete, and where their expansion begins if
    they do not. An interrupt while scoring returns it, or a better one of the sets listed by then.
    With a checkpoint it is saved, so that a resumed run begins from the same one.
    """

    def __init__(self, asked: Asked, context: Context) -> None:
        self.asked, self.context = asked, context
        self.network: Network | None = None
        self._score: float | None = None

    def is_wanted(self, scoring: Scoring) -> bool:
        """Whether to look for it: not with a width, nor where the reach of the lists was given."""
        growing = self.asked.growing
        return growing is not None and growing.complete is None and scoring.width is None

    def find(self, searched: Searched) -> None:
        """Find it in the lists of a search that pauses."""
        if self.restore(searched.prepared.table.names):
            return
        growing, context = self.asked.growing or Growing(), self.context
        if context.report is not None:
            context.report(Progress("learning", NETWORK_FIRST, 0.0))
        effort = EXPANSION.first_effort
        if growing.effort is not None:
            effort = min(effort, growing.effort)
        _, found = self._expanded(searched, effort)
        self.network, self._score = found.network, found.trace[-1][1]
        if context.checkpoint is not None and not context.stop.cancelled.is_set():
            state = SavedState(
                {"arcs": [list(arc) for arc in self.network.arcs], "score": self._score}
            )
            context.checkpoint.slot(FIRST).write(lambda: state)

    def restore(self, names: tuple[str, ...]) -> bool:
        """Take the network that an earlier run saved; whether there is one."""
        checkpoint = self.context.checkpoint
        slot = None if checkpoint is None else checkpoint.slot(FIRST)
        if slot is None or slot.state is None:
            return False
        with slot.reading():
            values = slot.state.values
            self.network = Network.from_arcs(names, [(p, c) for p, c in values["arcs"]])
            self._score = float(values["score"])
        return True

    def added_to(self, searched: Searched) -> tuple[Searched, Expanded | None]:
        """List its sets beside those that an interrupted search has found."""
        if self.network is None:
            return searched.with_partial(), None
        found, best = self._expanded(searched, 0.0)
        return found, best._replace(trace=((0.0, *best.trace[-1][1:]),))

    def _expanded(self, searched: Searched, effort: float) -> tuple[Searched, Expanded]:
        from parentage.growth.anytime import grow_lists

        asked, context = self.asked, self.context.unsaved().share(EXPANSION.first_share)
        orders = replace(asked.optimising, engine="orders")
        return grow_lists(
            searched, effort, context, optimising=orders, start=asked.start, first=self.network
        )

    def reporting(self) -> Report | None:
        """Return the report of scoring, which says the score of this network as well."""
        report = self.context.report
        if report is None:
            return None
        return lambda at: report(replace(at, incumbent=self._score))


def expand(
    searched: Searched,
    growing: Growing,
    asked: Asked,
    context: Context,
    first: Network | None = None,
) -> tuple[Searched, Expanded | None, float]:
    """Expand lists that were cut short, if they can be; else take what there is.

    ``first`` is a network that was found before. Returns the work left for the proof as well.
    """
    from parentage.growth.anytime import grow_lists
    from parentage.growth.growth import can_grow
    from parentage.growth.tuning import PER_STEP, of_counting

    if not can_grow(searched):
        return searched.with_partial(), None, math.inf
    stop, n = context.stop, searched.prepared.table.n_variables
    if stop.deadline < math.inf:
        listing = EXPANSION.listing_share * max(0.0, stop.seconds_left)
        searched = searched.with_best_partial(int(listing / EXPANSION.seconds_to_list))
    effort = growing.effort
    if effort is None:
        effort = math.inf
        if stop.deadline == math.inf:
            counted = sum(outcome.sets_counted for outcome in searched.outcomes)
            n_rows = searched.prepared.table.n_rows
            effort = max(EXPANSION.least_effort, of_counting(counted, n_rows))
    searched, expanded = grow_lists(
        searched,
        effort,
        context.share(0.5 if n <= TUNING.large else share_of_growing(n, stop.seconds_left)),
        optimising=asked.optimising,
        start=asked.start,
        first=first,
    )
    left = math.inf
    if stop.deadline == math.inf:
        left = max(effort - expanded.work, EXPANSION.proof_share * effort) / PER_STEP
    return searched, expanded, left


def share_of_growing(n: int, seconds_left: float) -> float:
    """Return how much of the time that is left many variables may grow for.

    >>> share_of_growing(200, 60.0), round(share_of_growing(2000, 10.0), 2)
    (0.93, 0.84)
    """
    if seconds_left <= 0:
        return 0.0
    left_for_answer = EXPANSION.seconds_to_end * n / seconds_left
    return max(0.0, min(EXPANSION.last_share, 1 - left_for_answer))


def optimise(
    found: Gathered,
    optimising: Optimising,
    context: Context,
    start: Start = NOWHERE,
) -> Solution:
    """Solve lists within the limits; after an interrupt, take the first network there is.

    Lists of completed data were solved when they were made, with the same settings: that is the
    answer, or, if it was stopped early, where solving continues.
    """
    stop, expanded, completed = context.stop, found.expanded, found.completed
    interrupted = stop.cancelled.is_set()
    if completed is not None:
        if completed.stopped in (None, "gap"):
            return replace(completed, table=found.table)
        start = replace(start, network=completed.network)
    if expanded is not None:
        cuts, steps = expanded.cuts or None, expanded.steps
        start = replace(start, network=expanded.network, cuts=cuts, steps=steps)
    elif found.first is not None:
        start = replace(start, network=found.first)
    if context.checkpoint is not None:
        context.checkpoint.claim(_solving(found, optimising))
    searched = expanded is not None and optimising.engine == "orders"  # while the lists grew
    solution = optimise_lists(
        found.lists,
        optimising,
        context.ending(stop.at_once()) if interrupted or searched else context,
        max_parents=found.scoring.max_parents,
        constraints=found.scoring.constraints,
        start=start,
        most_work=found.most_work,
    )
    if expanded is not None:
        solution = _with_expanding(solution, found.lists, expanded)
    scored = found.table if completed is None else completed.table
    if scored is not None:
        solution = solution.with_gains(scored)
    if interrupted and not solution.optimal:
        return replace(solution, stopped="interrupt")
    return solution


def learn_again(
    table: Table,
    scoring: Scoring,
    optimising: Optimising,
    growing: Growing | None,
    context: Context,
    start: Start = NOWHERE,
) -> Solution:
    """Learn from some rows of a table: what its columns are was said of the whole table."""
    asked = Asked(lambda *_: scoring, optimising, growing, start.network)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        lists = list_sets(table, scoring, asked, context)
    return optimise(lists, optimising, context, start)


def _solving(found: Gathered, optimising: Optimising) -> dict[str, Any]:
    """Say what is solved: the job of a checkpoint, or what it has in addition to scoring."""
    how = {"engine": optimising.engine, "seed": optimising.seed}
    if found.table is not None:
        return how
    constraints = found.scoring.constraints or Constraints()
    return {
        "kind": LISTS,
        "lists": found.lists.digest,
        "variables": found.lists.n_variables,
        "max_parents": plain(found.scoring.max_parents),
        "constraints": constraints.to_dict(),
        **how,
    }


def _with_expanding(solution: Solution, lists: CandidateLists, expanded: Expanded) -> Solution:
    """Put what happened while lists grew in front of how the last ones were solved."""
    bound = solution.bound
    early = tuple((t, min(s, solution.score), bound) for t, s, _ in expanded.trace)
    reached = early[-1][1] if early else -math.inf
    late = tuple((t + expanded.seconds, max(s, reached), b) for t, s, b in solution.trace)
    return replace(
        solution,
        trace=(*early, *late),
        seconds=solution.seconds + expanded.seconds,
        stopped=None if solution.optimal else lists.known().ended,
    )


@takes(Scoring, Reading, Running, Optimising, Scaling, elsewhere=IN_READ_TABLE | IN_ADVANCED)
def learn(
    source: object,
    *,
    score: str = "bic",
    max_parents: int | Mapping[str, int] | None = None,
    constraints: Constraints | None = None,
    prior: Prior | Mapping[tuple[str, str], float] | float | None = None,
    drop: Iterable[str] = (),
    missing: str = "error",
    discretize: str | Iterable[str] | Mapping[str, str] | None = None,
    recipe: str | os.PathLike[str] | Recipe | None = None,
    auto: bool = False,
    time_limit: float | None = None,
    memory: int | str | None = None,
    threads: int | None = None,
    seed: int = 0,
    start: object = None,
    executor: Any = None,
    checkpoint: str | Path | None = None,
    progress: Report | bool | None = None,
    advanced: Advanced | None = None,
) -> Solution:
    """Find the network with the highest score, and prove it.

    Parameters
    ----------
    source
        A table, a data frame or a path to one, which are scored first; or candidate lists, or a
        file of them. With lists, ``max_parents`` and ``constraints`` select among the listed
        sets; settings that would change their scores are refused.
    {settings}
    start
        A network of the same variables to start from, also one of networkx, pgmpy or pyAgrum; its
        parent sets are added to expanded lists.
    progress
        True shows a bar in terminals and notebooks, while scoring and while learning; or a function
        that is called with a :class:`parentage.work.progress.Progress`.
    advanced
        Rarely used settings, as one :class:`parentage.Advanced`: pruning rules, width and
        completeness of the lists, engine, gap at which to stop, unit of scores.

    Warns
    -----
    UnprovenWarning
        The network is not proven optimal; the message has the gap and the reason.
    DataWarning
        With ``missing="pnal"``: some families are scored on fewer than 30 rows.

    Examples
    --------
    >>> from parentage.data.table import Table
    >>> rain = Table.from_columns({"rain": "0011" * 9, "wet": "0011" * 8 + "0111"})
    >>> solution = learn(rain)
    >>> solution.optimal, solution.network.n_arcs
    (True, 1)
    """
    reading = made(Reading, locals())
    more = advanced or Advanced()
    scoring = Scoring(max_parents, score, prior, more.log_base, more.rules, more.width, constraints)
    begin = None if start is None else network_of(start, "the network to start from")
    asked = Asked(
        lambda *_: scoring,
        more.optimising(seed),
        more.growing(),
        begin,
        reading,
        treatments(score),
    )
    scaling = Scaling(executor, more.exchange, checkpoint)
    return run(source, asked, Running(threads, time_limit, memory), scaling, progress)


def run(
    source: object,
    asked: Asked,
    running: Running,
    scaling: Scaling,
    progress: Report | bool | None = None,
) -> Solution:
    """Follow the whole path, with table and lists in the solution; warn if it is not proven."""
    with working(running, progress, scaling) as context:
        found = gather(source, asked, context)
        solution = optimise(found, asked.optimising, context, Start(asked.start))
    if not (solution.optimal and solution.scope.settled):
        warn(UnprovenWarning(f"the network is {solution.proof()}"))
    if found.table is not None and (solution.scope.score or "").startswith("pnal"):
        few = about_few_rows(found.table, solution.network.to_dict())
        if few:
            warn(DataWarning(few))
    network = solution.network
    if found.table is not None:
        network = replace(network, states=found.table.select(network.names).states)
    return replace(solution, network=network, table=found.table, lists=found.lists)


def _refuse(
    settings: Settings | None, why: str, *ways: Way | str, allowed: Collection[str] = ()
) -> None:
    """Refuse settings that are not at their default, unless they are allowed.

    Raises
    ------
    InputError
        With the first of them.
    """
    for name in () if settings is None else changed(settings):
        if name not in allowed:
            raise InputError(why, *ways, about=Way(name, getattr(settings, name)))
