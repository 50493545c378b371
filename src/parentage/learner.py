"""The whole path in one call: from data to the best network. The last stage below the commands.

:func:`learn` scores and solves; it is thin around :mod:`parentage.pipeline`. The same as an
estimator is :mod:`parentage.estimator`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from parentage import pipeline
from parentage.data.settings import IN_READ_TABLE, Reading, names_of, texts_of
from parentage.errors import UnprovenWarning, warn
from parentage.optimise.settings import Optimising
from parentage.pipeline import IN_ADVANCED, Advanced
from parentage.scoring.settings import Scoring
from parentage.work.context import Running, Scaling, working
from parentage.work.settings import takes

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from parentage.data.recipe import Recipe
    from parentage.network.network import Network
    from parentage.optimise import Solution
    from parentage.pipeline import Asked, Learned
    from parentage.scoring.constraints import Constraints
    from parentage.scoring.prior import Prior
    from parentage.work.progress import Report


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
    memory: int | None = None,
    threads: int | None = None,
    seed: int = 0,
    start: Network | None = None,
    executor: Any = None,
    checkpoint: str | Path | None = None,
    progress: Report | bool | None = None,
    advanced: Advanced | None = None,
) -> Solution:
    """Find the network with the highest score, and prove it.

    Parameters
    ----------
    source
        A table, a data frame or a path to one, which are scored first; or candidate lists or a
        file of them. Lists take ``max_parents`` and ``constraints``, which pick among them, and
        refuse what would have changed their scores.
    {settings}
    start
        A network of the same variables to begin from; lists that grow take its sets in.
    progress
        True shows a bar in terminals and notebooks, while scoring and while learning; or a function
        that is called with a :class:`parentage.work.progress.Progress`.
    advanced
        What few people set, as one :class:`parentage.Advanced`: rules and width of the lists, the
        engine, when to stop, lists that are not complete, the unit of scores.

    Warns
    -----
    UnprovenWarning
        When the network is not proven to be the best; the message has the gap and the reason.

    Examples
    --------
    >>> from parentage.data.table import Table
    >>> rain = Table.from_columns({"rain": "0011" * 9, "wet": "0011" * 8 + "0111"})
    >>> solution = learn(rain)
    >>> solution.optimal, solution.network.n_arcs
    (True, 1)
    """
    more = advanced or Advanced()
    scoring = Scoring(max_parents, score, prior, more.log_base, more.rules, more.width, constraints)
    reading = Reading(
        drop=names_of(drop),
        missing=missing,
        discretize=texts_of(discretize, "discretize"),
        recipe=recipe,
        auto=auto,
    )
    asked = pipeline.Asked(
        lambda *_: scoring, more.optimising(seed), more.growing(), start, reading
    )
    scaling = Scaling(executor, more.exchange, checkpoint)
    found = run(source, asked, Running(threads, time_limit, memory), scaling, progress)
    return replace(found.solution, table=found.table, lists=found.lists)


def run(
    source: object,
    asked: Asked,
    running: Running,
    scaling: Scaling,
    progress: Report | bool | None = None,
) -> Learned:
    """Follow the path; warn when the answer is not proven."""
    with working(running, progress, scaling) as context:
        found = pipeline.run(source, asked, context)
    if not (found.solution.optimal and found.solution.scope.settled):
        warn(UnprovenWarning(f"the network is {found.solution.proof()}"))
    return found
