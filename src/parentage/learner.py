"""The whole path in one call: from data to the best network. The last stage below the commands.

:func:`learn` scores and solves; it is thin around :mod:`parentage.pipeline`. The same as an
estimator is :mod:`parentage.estimator`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from parentage.data.settings import Reading, ReadingKeywords
from parentage.errors import UnprovenWarning, warn
from parentage.optimise.settings import Optimising, OptimisingKeywords
from parentage.scoring.settings import Growing, GrowingKeywords, Scoring, ScoringKeywords
from parentage.work.running import Running, RunningKeywords, working
from parentage.work.scaling import Scaling, ScalingKeywords
from parentage.work.settings import check_names, take, takes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parentage.network.network import Network
    from parentage.optimise import Solution
    from parentage.pipeline import Learned
    from parentage.work.progress import Report


class LearningKeywords(
    ScoringKeywords,
    ReadingKeywords,
    GrowingKeywords,
    OptimisingKeywords,
    RunningKeywords,
    ScalingKeywords,
    total=False,
):
    """What may be given for the settings of the whole path."""


@takes(
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
    start: Network | None = None,
    progress: Report | bool | None = None,
    **settings: Unpack[LearningKeywords],
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
        A network of the same variables to begin from; lists that grow take its sets in.
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
    check_names(learn, settings)
    found = run(source, settings, progress, start)
    return replace(found.solution, table=found.table, lists=found.lists)


def run(
    source: object,
    values: Mapping[str, Any],
    progress: Report | bool | None,
    start: Network | None = None,
) -> Learned:
    """Follow the path with settings by name; warn when the answer is not proven."""
    from parentage import pipeline

    scoring = take(Scoring, values)
    asked = pipeline.Asked(
        lambda *_: scoring,
        take(Optimising, values),
        take(Growing, values),
        start,
        take(Reading, values),
    )
    with working(values, progress) as context:
        found = pipeline.run(source, asked, context)
    if not (found.solution.optimal and found.solution.scope.settled):
        warn(UnprovenWarning(f"the network is {found.solution.proof()}"))
    return found
