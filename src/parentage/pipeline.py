"""The whole path, once: read, score, optimise. Function, estimator and command are thin around it.

::

    source ──► Table ──► CandidateLists ──► Solution
    Reading    Scoring        Optimising

One :class:`parentage.work.stop.Stop` goes all the way down: scoring takes half of the time there
is, and whatever ends it early, the lists are solved as they are and the answer says what it is
worth. Lists of one's own enter in the middle; settings of the stages they have behind them are
refused.
"""

from __future__ import annotations

import dataclasses
import os
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
    from parentage.optimise import Solution
    from parentage.optimise.settings import Optimising
    from parentage.scoring.settings import Scoring
    from parentage.work.progress import Report
    from parentage.work.stop import Stop

PICKING = ("max_parents", "constraints")
"""Settings of scoring that pick among lists as well."""

SHARE_OF_SCORING = 0.5
"""Of the time limit; the rest is for the network and its proof."""


@dataclass(frozen=True)
class Gathered:
    """What is to be learned from: lists, and the table they were made from if it was there."""

    lists: CandidateLists
    table: Table | None


@dataclass(frozen=True)
class Learned:
    """What came of it."""

    table: Table | None
    lists: CandidateLists
    solution: Solution


def gather(
    source: object,
    reading: Reading,
    scoring: Scoring,
    stop: Stop,
    *,
    threads: int,
    report: Report | None = None,
) -> Gathered:
    """Read lists, or read a table and score it."""
    opened = open_source(source) if isinstance(source, str | bytes | os.PathLike) else source
    if isinstance(opened, Source):
        found = detect(opened, reading.format, reading.encoding)
        if found.kind == "lists":
            opened = read_lists(opened, reading.format, encoding=reading.encoding)
    if isinstance(opened, CandidateLists):
        refuse_settings(scoring, PICKING)
        refuse_settings(reading, ("format", "encoding"))
        return Gathered(opened, None)
    table = as_table(opened, **settings_of(reading))
    share = stop.share(SHARE_OF_SCORING)
    return Gathered(score_table(table, scoring, share, threads, report), table)


def optimise(
    lists: CandidateLists,
    scoring: Scoring,
    optimising: Optimising,
    stop: Stop,
    *,
    threads: int,
    report: Report | None = None,
) -> Solution:
    """Solve lists within the limits; after an interrupt, take the first network there is."""
    interrupted = stop.cancelled.is_set()
    solution = optimise_lists(
        lists,
        optimising,
        stop.at_once() if interrupted else stop,
        threads=threads,
        max_parents=scoring.max_parents,
        constraints=scoring.constraints,
        report=report,
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
    report: Report | None = None,
) -> Learned:
    """Go the whole path."""
    found = gather(source, reading, scoring, stop, threads=threads, report=report)
    solution = optimise(found.lists, scoring, optimising, stop, threads=threads, report=report)
    return Learned(found.table, found.lists, solution)


def settings_of(settings: Any) -> dict[str, Any]:
    """Return settings by name, as keywords."""
    return {field.name: getattr(settings, field.name) for field in dataclasses.fields(settings)}


def refuse_settings(settings: Any, allowed: tuple[str, ...]) -> None:
    """Refuse settings of a stage that lists have behind them.

    Raises
    ------
    InputError
        One of them is not at its default.
    """
    for name in changed(settings):
        if name not in allowed:
            raise InputError(
                "is for tables, and these are lists, scored already",
                about=Way(name, getattr(settings, name)),
            )
