"""The bootstrap: rows drawn anew, scored and learned from, each to a proof.

A replicate draws N rows of the table with replacement; states stay those of the whole table, so
penalties do not change. Which rows depends on the seed and on the replicate's number alone, and a
replicate is learned on one thread, so results do not depend on the workers. It begins from the best
network of the table, from the cuts that proved it and from those of the first replicate; cuts hold
for every network. Where the lists of the table grew, those of a replicate grow too.

With a time limit a replicate has a few times its share of the time, and at least a tenth of what
is left: a limit that is too short makes fewer replicates, not worse ones. One that is not proven by
then counts with the network found, and the result says how many those are. An interrupt keeps the
replicates that are done.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parentage import pipeline
from parentage.arcs.averaging import Directions, averaged_arcs, inclusion_threshold, pair_shares
from parentage.arcs.records import Bootstrap
from parentage.errors import DataWarning
from parentage.optimise.cuts import unique
from parentage.scoring.scores import local_score
from parentage.scoring.settings import Growing
from parentage.work.context import Context
from parentage.work.executor import in_order, leave
from parentage.work.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parentage.arcs.ground import Ground
    from parentage.data.table import Table
    from parentage.optimise.cuts import Cut
    from parentage.scoring.constraints import Constraints
    from parentage.work.stop import Reason, Stop

GENEROUS = 4.0
"""With a time limit: how many times its share of the time a replicate may take."""

LEAST_SHARE = 0.1
"""Of the time that is left, which every replicate may take."""

SHARE_OF_GROWING = 0.9
"""Of the time that is left, which a replicate may take whose lists grow: they take all they get,
and what ends after the limit does not count."""

AT_ONCE = 1 << 20
"""Rows that are drawn together where rows come with their number of repetitions."""

SHORT = 2.0
"""Seconds; the first replicate must take longer for an estimate."""


class Replicate(NamedTuple):
    """The best network of a replicate, None if there was no time left to begin; and its cuts."""

    parents: tuple[tuple[int, ...], ...] | None
    score: float
    proven: bool
    cuts: tuple[Cut, ...] = ()


def resampled(table: Table, seed: int, number: int) -> Table:
    """Draw as many rows as there are, with replacement.

    Rows that come with their number of repetitions are drawn as if they were written out: the same
    seed draws the same rows.
    """
    rng, n = np.random.default_rng([seed, number]), table.n_rows
    if not len(table.repeats):
        return table.chosen_rows(rng.integers(n, size=n))
    upto, drawn = np.cumsum(table.repeats, dtype=np.int64), np.zeros(table.stored_rows, np.int64)
    for first in range(0, n, AT_ONCE):
        rows = rng.integers(n, size=min(AT_ONCE, n - first))
        drawn += np.bincount(np.searchsorted(upto, rows, "right"), minlength=len(drawn))
    there = drawn > 0
    return replace(table.chosen_rows(there), repeats=drawn[there].astype(np.uint32))


def learn_replicate(
    ground: Ground, seed: int, stop: Stop, size: int, task: tuple[int, int]
) -> Replicate:
    """Learn from one replicate: ``task`` is its number and how many are left, itself included."""
    number, left = task
    if stop.reason() is not None:
        return Replicate(None, 0.0, False)
    part = min(1.0, GENEROUS * size / left)
    if ground.grown:
        part = min(SHARE_OF_GROWING, size / left)
    own = Context(stop.share(max(LEAST_SHARE, part)))
    table = resampled(ground.table, seed, number)
    if table.n_variables - len(table.constant) < 2:
        return _nothing_varies(table, ground)
    scoring = replace(
        ground.scoring, width=None, constraints=_without(ground.constraints, table.constant)
    )
    growing = Growing() if ground.grown else None
    asked = pipeline.Asked(lambda *_: scoring, ground.optimising, growing, ground.best.network)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # said of the whole table already
        lists = pipeline.list_sets(table, scoring, asked, own)
    cuts: list[Cut] = []
    found = pipeline.optimise(
        lists, ground.optimising, own, start=asked.start, cuts=ground.cuts, kept_cuts=cuts
    )
    first = tuple(cuts) if number == 0 else ()
    return Replicate(found.network.parents, found.score, found.optimal, first)


def _nothing_varies(table: Table, ground: Ground) -> Replicate:
    """A replicate in which at most one column varies has the network without arcs."""
    scoring = ground.scoring
    scores = [
        local_score(table, name, (), score=scoring.score, log_base=scoring.log_base)
        for name in table.names
        if name not in table.constant
    ]
    return Replicate(((),) * table.n_variables, sum(scores), True)


def _without(given: Constraints, constant: tuple[str, ...]) -> Constraints:
    """Leave out required arcs of columns that do not vary in a replicate; they count anyway."""
    kept = {arc for arc in given.required if not set(arc) & set(constant)}
    return replace(given, required=frozenset(kept))


def bootstrap(
    ground: Ground,
    asked: int,
    seed: int,
    context: Context,
) -> Bootstrap:
    """Learn from so many replicates, and count what they join."""
    stop, report = context.stop, context.report
    began = time.monotonic()
    done: list[Replicate] = []
    stopped: Reason | None = None
    for replicate, left in _timed(ground, asked, seed, context):
        stopped = stop.reason()
        if stopped is not None and not replicate.proven:
            break
        done.append(replicate)
        if report is not None:
            phase, seconds = f"{len(done)} of {asked} replicates", time.monotonic() - began
            report(Progress("bootstrap", phase, seconds, len(done), asked, seconds_left=left))
    stopped = None if len(done) == asked else stopped or stop.reason()
    return _counted(ground, asked, seed, done, stopped)


def _timed(
    ground: Ground, asked: int, seed: int, context: Context
) -> Iterator[tuple[Replicate, float | None]]:
    """Yield replicates in order, each with the seconds that the rest will take.

    The first is learned alone, so that there is an estimate before all workers begin. If it was
    short, much of that may have been loading, and the second one is learned alone as well.
    """
    stop, workers, size = context.stop, context.pool, context.tasks
    shared = (ground, seed, stop, size)
    tasks = [(number, asked - number) for number in range(asked)]
    alone = 0
    for task in tasks[:2]:
        start = time.monotonic()
        replicate = learn_replicate(*shared, task)
        took = time.monotonic() - start
        alone += 1
        if task[0] == 0:
            more = replace(ground, cuts=tuple(unique([*ground.cuts, *replicate.cuts])))
            shared = (more, seed, stop, size)
        known = took > SHORT or alone == 2
        yield replicate, took * (asked - alone) / size if known else None
        if known:
            break
    start = time.monotonic()
    rest = in_order(learn_replicate, tasks[alone:], workers, shared, "replicate", leave(stop))
    for count, replicate in enumerate(rest, 1):
        took = time.monotonic() - start
        yield replicate, took / count * (asked - alone - count)


def _counted(
    ground: Ground, asked: int, seed: int, done: list[Replicate], stopped: Reason | None
) -> Bootstrap:
    """Count pairs and average."""
    names = ground.table.names
    index = {name: v for v, name in enumerate(names)}
    directions = Directions(
        names,
        ground.equivalent,
        ground.constraints.barred(names),
        frozenset((index[p], index[v]) for p, v in ground.constraints.required),
    )
    pairs = pair_shares((one.parents for one in done if one.parents is not None), directions)
    threshold = inclusion_threshold([pair.adjacency for pair in pairs])
    return Bootstrap(
        asked,
        len(done),
        sum(one.proven for one in done),
        seed,
        tuple(one.score for one in done),
        pairs,
        threshold,
        averaged_arcs(pairs, threshold, frozenset(ground.best.network.arcs)),
        stopped,
    )
