"""The whole path, once: read, score, optimise. Function, estimator and command are thin around it.

::

    source ──► Table ──► CandidateLists ──► Solution
    Reading    Scoring        Optimising

One :class:`parentage.work.stop.Stop` goes all the way down: scoring takes half of the time there
is, and whatever ends it early, the lists are solved as they are and the answer says what it is
worth. Lists may enter in the middle; settings of the stages that they skip are refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from parentage.data.reading import as_table
from parentage.errors import InputError, Way
from parentage.files.detect import detect
from parentage.files.source import Source, open_source
from parentage.optimise import optimise_lists
from parentage.scoring.candidates import score_table
from parentage.scoring.formats import read_lists
from parentage.scoring.lists import CandidateLists
from parentage.work.settings import changed

if TYPE_CHECKING:
    from parentage.data.settings import Reading
    from parentage.data.table import Table
    from parentage.network.network import Network
    from parentage.optimise import Solution
    from parentage.optimise.cuts import Cut
    from parentage.optimise.settings import Optimising
    from parentage.scoring.settings import Scoring
    from parentage.work.executor import Workers
    from parentage.work.progress import Report
    from parentage.work.scaling import Places
    from parentage.work.stop import Stop

PICKING = ("max_parents", "constraints")
"""Settings of scoring that pick among lists as well."""

SHARE_OF_SCORING = 0.5
"""Of the time limit; the rest is for the network and its proof."""


ScoringOf = Callable[[tuple[str, ...], bool], "Scoring"]
"""Makes the settings of scoring, given the names of the variables and whether they are scored."""


@dataclass(frozen=True)
class Gathered:
    """What is to be learned from: lists, their table if it was there, and the settings."""

    lists: CandidateLists
    table: Table | None
    scoring: Scoring


@dataclass(frozen=True)
class Learned:
    """The result, with what it was learned from."""

    table: Table | None
    lists: CandidateLists
    solution: Solution


def gather(
    source: object,
    reading: Reading,
    scoring: ScoringOf,
    stop: Stop,
    *,
    threads: int,
    report: Report | None = None,
    workers: Workers | None = None,
    places: Places | None = None,
    seen: Callable[[Table], None] | None = None,
) -> Gathered:
    """Read lists, or read a table and score it, on ``workers`` if there are more than threads.

    ``seen`` is called with the table before it is scored.
    """
    opened = open_source(source) if isinstance(source, str | bytes | os.PathLike) else source
    if isinstance(opened, Source):
        found = detect(opened, reading.format, reading.encoding)
        if found.kind == "lists":
            opened = read_lists(opened, reading.format, encoding=reading.encoding)
    if isinstance(opened, CandidateLists):
        settings = scoring(opened.names, True)
        refuse_settings(settings, PICKING)
        refuse_settings(reading, ("format", "encoding"))
        return Gathered(opened, None, settings)
    table = as_table(opened, reading)
    if seen is not None:
        seen(table)
    settings = scoring(table.names, False).for_missing(reading.missing)
    share = stop.share(SHARE_OF_SCORING)
    lists = score_table(table, settings, share, workers or threads, report, places)
    return Gathered(lists, table, settings)


def optimise(
    found: Gathered,
    optimising: Optimising,
    stop: Stop,
    *,
    threads: int,
    start: Network | None = None,
    report: Report | None = None,
    kept_cuts: list[Cut] | None = None,
) -> Solution:
    """Solve lists within the limits; after an interrupt, take the first network there is.

    What was cut is put into ``kept_cuts``, for solving again with a little changed.
    """
    interrupted = stop.cancelled.is_set()
    solution = optimise_lists(
        found.lists,
        optimising,
        stop.at_once() if interrupted else stop,
        threads=threads,
        max_parents=found.scoring.max_parents,
        constraints=found.scoring.constraints,
        start=start,
        report=report,
        kept_cuts=kept_cuts,
    )
    if interrupted and not solution.optimal:
        return replace(solution, stopped="interrupt")
    return solution


def run(
    source: object,
    reading: Reading,
    scoring: Scoring,
    optimising: Optimising,
    stop: Stop,
    *,
    threads: int,
    start: Network | None = None,
    report: Report | None = None,
    workers: Workers | None = None,
    places: Places | None = None,
) -> Learned:
    """Follow the whole path."""
    found = gather(
        source,
        reading,
        lambda *_: scoring,
        stop,
        threads=threads,
        report=report,
        workers=workers,
        places=places,
    )
    solution = optimise(found, optimising, stop, threads=threads, start=start, report=report)
    return Learned(found.table, found.lists, solution)


def refuse_settings(settings: Any, allowed: tuple[str, ...]) -> None:
    """Refuse settings of a stage that lists skip.

    Raises
    ------
    InputError
        One of them is not at its default.
    """
    for name in changed(settings):
        if name not in allowed:
            raise InputError(
                "is for tables, and these are lists, which are scored already",
                about=Way(name, getattr(settings, name)),
            )
