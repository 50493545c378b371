"""The whole path in one call: from data to the best network. The last stage below the commands.

:func:`learn` scores and solves; it is thin around :mod:`parentage.pipeline`. The same as an
estimator is :mod:`parentage.estimator`.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from parentage.data.settings import Reading
from parentage.errors import UnprovenWarning
from parentage.optimise.settings import Optimising
from parentage.scoring.settings import Growing, Scoring
from parentage.work.display import shown
from parentage.work.running import Running
from parentage.work.scaling import Scaling
from parentage.work.settings import documented, take
from parentage.work.stop import interruptible

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from concurrent.futures import Executor
    from pathlib import Path

    from parentage.data.recipe import Recipe
    from parentage.network.network import Network
    from parentage.optimise import Solution
    from parentage.pipeline import Learned
    from parentage.scoring.constraints import Constraints
    from parentage.scoring.prior import Prior
    from parentage.work.progress import Report


@documented(
    scoring=Scoring,
    reading=Reading,
    growing=Growing,
    optimising=Optimising,
    running=Running,
    scaling=Scaling,
)
def learn(
    source: object,
    *,
    max_parents: int | Mapping[str, int] | None = None,
    score: str = "bic",
    lambda_: float | None = None,
    prior: Prior | Mapping[tuple[str, str], float] | float | None = None,
    log_base: float | str | None = None,
    rules: str | Iterable[str] | None = None,
    width: float | None = None,
    constraints: Constraints | None = None,
    format: str | None = None,  # noqa: A002  # the option is called --format
    header: bool = True,
    encoding: str = "utf-8",
    decimal: str = ".",
    sheet: str | None = None,
    query: str | None = None,
    drop: Iterable[str] = (),
    keep: Iterable[str] = (),
    na: object = (),
    missing: str = "error",
    categorical: Iterable[str] = (),
    discretize: str | Iterable[str] | Mapping[str, str] | None = None,
    recipe: str | os.PathLike[str] | Recipe | None = None,
    complete: int | None = None,
    effort: float | None = None,
    engine: str = "auto",
    gap_limit: float = 0.0,
    seed: int = 0,
    threads: int | None = None,
    time_limit: float | None = None,
    memory: int | None = None,
    cluster: str | None = None,
    client: Any = None,
    executor: Executor | None = None,
    exchange: str | Path | None = None,
    checkpoint: str | Path | None = None,
    resume: str | Path | None = None,
    start: Network | None = None,
    progress: Report | bool | None = None,
) -> Solution:
    """Find the network with the highest score, and prove it.

    Parameters
    ----------
    source
        A table, a data frame or a path to one, which are scored first; or candidate lists or a
        file of them. Lists take ``max_parents`` and ``constraints``, which pick among them, and
        refuse what would have changed their scores.
    {scoring}
    {reading}
    {growing}
    {optimising}
    {running}
    {scaling}
    start
        A network to begin from.
    progress
        True shows a bar in terminals and notebooks, while scoring and while learning; or a function
        that is called with a :class:`parentage.work.progress.Progress`.

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
    found = run(source, locals(), progress, start)
    return found.solution


def run(
    source: object,
    values: Mapping[str, Any],
    progress: Report | bool | None,
    start: Network | None = None,
) -> Learned:
    """Follow the path with settings by name; warn when the answer is not proven."""
    from parentage import pipeline

    running, scaling = take(Running, values), take(Scaling, values)
    with (
        interruptible(running.stop()) as stop,
        scaling.workers(running.workers) as workers,
        shown(progress) as report,
    ):
        found = pipeline.run(
            source,
            take(Reading, values),
            take(Scoring, values),
            take(Optimising, values),
            stop,
            threads=running.workers,
            workers=workers,
            places=scaling.places,
            start=start,
            report=report,
            growing=take(Growing, values),
        )
    if not (found.solution.optimal and found.solution.scope.settled):
        warnings.warn(UnprovenWarning(f"the network is {found.solution.proof()}"), stacklevel=3)
    return found
