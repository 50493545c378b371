"""How sure each arc of a network is: the last stage of the path, in one call.

:func:`support` learns the best network and asks of every arc what :mod:`.need`, :mod:`.resampling`
and :mod:`.near_shares` can say; the answers are in :class:`parentage.arcs.records.Support`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from parentage import pipeline
from parentage.arcs import Supporting
from parentage.arcs.near_shares import near_set
from parentage.arcs.need import ArcQuestion, needs
from parentage.arcs.records import ArcSupport, Baseline, Support, judged
from parentage.arcs.resampling import bootstrap as draw
from parentage.data.reading import settled
from parentage.data.settings import (
    IN_READ_TABLE,
    WITHOUT_COMPLETION,
    Reading,
    ways_for_missing,
)
from parentage.errors import InputError, UnprovenWarning, Way, counted, warn
from parentage.network.bridges import network_of
from parentage.network.network import arc_gains
from parentage.optimise.near import MAX_NETWORKS, Share
from parentage.optimise.settings import Optimising
from parentage.pipeline import IN_ADVANCED, Advanced
from parentage.scoring.scores import unit_of
from parentage.scoring.settings import Growing, Scoring, treatments
from parentage.work.context import Running, Scaling, working
from parentage.work.executor import memory_each
from parentage.work.memory import memory_limit
from parentage.work.settings import made, takes
from parentage.work.stop import now

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from parentage.arcs.need import Needs
    from parentage.arcs.records import PairShare
    from parentage.data.recipe import Recipe
    from parentage.data.table import Table
    from parentage.network.network import Network
    from parentage.scoring.constraints import Arc, Constraints, Prior
    from parentage.work.context import Context
    from parentage.work.progress import Report

SHARE_OF_LEARNING = 0.25
"""Of the time left after reading; the rest is for the questions about arcs."""


@takes(
    Supporting, Scoring, Reading, Running, Optimising, Scaling,
    elsewhere=IN_READ_TABLE | IN_ADVANCED,
)  # fmt: skip
def support(
    source: object,
    network: object = None,
    *,
    need: bool = True,
    bootstrap: int = 0,
    within: float | None = None,
    max_networks: int = MAX_NETWORKS,
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
    executor: Any = None,
    checkpoint: str | Path | None = None,
    progress: Report | bool | None = None,
    advanced: Advanced | None = None,
) -> Support:
    """Measure how well the data support each arc of the best network, or of a given one.

    Parameters
    ----------
    source
        A table, a data frame or a path to one.
    network
        The network whose arcs are assessed, also one of networkx, pgmpy or pyAgrum; by default the
        best one. The need of an arc is always
        the score of the best network less that of the best network without the arc.
    {settings}
    progress
        True shows a bar in terminals and notebooks; or a function that is called with a
        :class:`parentage.work.progress.Progress` while working.
    advanced
        Rarely used settings, as in :func:`parentage.learn`. If complete lists do not fit, support
        always expands them.

    Warns
    -----
    UnprovenWarning
        Something is not proven, or was not done because a limit or Ctrl-C stopped the work.

    Examples
    --------
    >>> from parentage.data.datasets import chest_clinic
    >>> found = support(chest_clinic(500, seed=1), bootstrap=20)
    >>> arc = found["smoke", "bronc"]
    >>> round(arc.need, 2), arc.reversible, arc.adjacency
    (9.89, False, 1.0)
    """
    reading = made(Reading, locals())
    asked, more = Supporting(need, bootstrap, within, max_networks), advanced or Advanced()
    assessed = None if network is None else network_of(network, "the network to assess")
    scoring = Scoring(max_parents, score, prior, more.log_base, more.rules, more.width, constraints)
    learning = pipeline.Asked(
        lambda *_: scoring_for(scoring, within),
        more.optimising(seed),
        reading=reading,
        ways=treatments(score),
    )
    scaling = Scaling(executor, more.exchange, checkpoint)
    with working(Running(threads, time_limit, memory), progress, scaling) as context:
        baseline = learn_baseline(source, learning, context, asked=asked)
        found = support_of(baseline, asked, context, network=assessed)
    for point in found.open_points:
        warn(UnprovenWarning(point))
    return found


def scoring_for(scoring: Scoring, within: float | None) -> Scoring:
    """Ask for lists that reach as far as the near-optimal networks."""
    if within is None or scoring.width is not None:
        return scoring
    if not math.isfinite(within):
        raise InputError("must be a finite number, e.g. 20", about=Way("within", within))
    return replace(scoring, width=math.log(within) / unit_of(scoring.log_base))


def learn_baseline(
    source: object,
    learning: pipeline.Asked,
    context: Context,
    *,
    seen: Callable[[Table], None] | None = None,
    asked: Supporting | None = None,
) -> Baseline:
    """Learn the best network, and keep what learning again can use.

    ``seen`` is called with the table before it is scored. What is ``asked`` and cannot be answered
    for this table is refused before, too. Lists that are cut short grow, as those of ``learn``.
    """
    reading, optimising = settled(learning.reading), learning.optimising

    def first_seen(table: Table) -> None:
        if asked is not None and reading.missing == "em" and table.has_holes:
            _refuse_completed(asked)
        if seen is not None:
            seen(table)

    reaching = asked is not None and asked.within is not None  # every set near its best subset
    learning = replace(
        learning,
        reading=reading,
        growing=None if reaching else Growing(),
        ways=[way for way in learning.ways if asked is None or way in WITHOUT_COMPLETION],
    )
    found = pipeline.gather(source, learning, context, seen=first_seen, part=SHARE_OF_LEARNING)
    if found.table is None:
        raise InputError("support needs a table; candidate lists have no rows to resample")
    own = context.share(SHARE_OF_LEARNING * (1 - pipeline.SHARE_OF_SCORING))
    best = pipeline.optimise(found, optimising, own)
    grown = found.expanded is not None
    return Baseline(found.table, found.lists, _as_used(found), optimising, best, grown)


def _as_used(found: pipeline.Gathered) -> Scoring:
    """Return the settings as they were settled for the whole table, to score in the same way again.

    The λ of PNAL is a number, and arcs that the prior takes for certain are constraints.
    """
    account = found.lists.known()
    return replace(
        found.scoring,
        score=account.score,
        prior=account.prior.uncertain(),
        constraints=account.constraints,
    )


def support_of(
    baseline: Baseline,
    asked: Supporting,
    context: Context,
    *,
    network: Network | None = None,
    patience: float | None = None,
) -> Support:
    """Ask everything that was asked for; each piece of work gets an equal part of the time left.

    ``patience`` are the seconds after which the bootstrap keeps the replicates it has.
    """
    if baseline.lists.known().completion is not None:
        _refuse_completed(asked)
    if network is not None:
        _check_variables(baseline, network)
    meant = baseline.best.network if network is None else network
    pieces = [asked.within is not None, asked.need, asked.bootstrap > 0]
    best, seconds = baseline.best, dict[str, float]()
    gains, score = best.gains, best.score
    if meant != best.network:
        gains, score = _valued(baseline, meant)
    found, answers = Support(meant, score, best.score, best.optimal, (), seconds=seconds), {}
    if asked.within is not None:
        began, own = now(), context.share(1 / sum(pieces))
        near, facts = near_set(baseline, asked.within, asked.max_networks, own)
        found = replace(found, near=facts, near_networks=near)
        seconds["near-optimal"] = now() - began
    each = _each(context)
    if asked.need:
        began, own = now(), each.share(1 / sum(pieces[1:]))
        answers = needs(baseline, meant.arcs, own)
        seconds["need"] = now() - began
    if asked.bootstrap:
        began, seed = now(), baseline.optimising.seed
        own = each if patience is None else each.ending(each.stop.within(patience))
        found = replace(found, bootstrap=draw(baseline, asked.bootstrap, seed, own))
        seconds["bootstrap"] = now() - began
    found = _with_arcs(found, baseline, asked, gains, answers)
    return replace(found, open_points=tuple(open_points(baseline, asked, found)))


def _each(context: Context) -> Context:
    """Divide the memory among workers that score and solve side by side, unless it is theirs."""
    memory = memory_limit(context.stop.memory)
    return context.ending(replace(context.stop, memory=memory_each(context.pool, memory)))


def _refuse_completed(asked: Supporting) -> None:
    """Refuse to learn again from a table whose missing cells a network completes."""
    if asked.need or asked.bootstrap:
        raise InputError(
            "cannot be bootstrapped: it completes missing values under one network, but each "
            "replicate has its own",
            *ways_for_missing(WITHOUT_COMPLETION),
            Way("need", False, "without a bootstrap"),
            about=Way("missing", "em"),
        )


def _check_variables(baseline: Baseline, network: Network) -> None:
    """Refuse a network of other variables than the table's."""
    table = set(baseline.table.names)
    for name in network.names:
        if name not in table:
            raise InputError(
                f"the table has no column {name!r}, which is a variable of the network"
            )
    for name in baseline.table.names:
        if name not in network.names:
            raise InputError(
                f"the network has no variable {name!r}, which is a column of the table",
                Way("drop", [name], "to leave it out"),
            )


def _valued(baseline: Baseline, network: Network) -> tuple[dict[Arc, float], float]:
    """Return the gains of the arcs of a network that is not the best one, and its score."""
    scoring, prior = baseline.scoring, baseline.lists.known().prior
    how = (baseline.table, scoring.score, scoring.log_base)
    believed = prior.log_odds_of(network.arcs) / unit_of(scoring.log_base)
    return arc_gains(network, *how, prior, baseline.lists), network.score(*how) + believed


def _with_arcs(
    found: Support,
    baseline: Baseline,
    asked: Supporting,
    gains: Mapping[Arc, float],
    answers: Needs,
) -> Support:
    """Put together what is known of every arc, and of the pairs that the network does not join."""
    network, drawn, near = found.network, found.bootstrap, found.near_networks
    pairs = None if drawn is None or not drawn.done else _by_arc(drawn.pairs)
    shares = None if near is None else {(one.parent, one.child): one for one in near.arc_shares}
    # without a class equivalent networks score differently: no arc is turned for nothing
    class_ = None if baseline.best.scope.equivalent is False else network.equivalence_class()
    unit, arcs = unit_of(baseline.best.scope.log_base), []
    for arc in network.arcs:
        need, need_at_most = answers.get(ArcQuestion(arc, "adjacency"), (None, None))
        turned, turned_at_most = answers.get(ArcQuestion(arc, "direction"), (None, None))
        one = replace(
            _shares(arc, pairs, shares),
            in_network=True,
            gain=gains.get(arc),
            need=need,
            need_at_most=need_at_most,
            need_direction=turned,
            need_direction_at_most=turned_at_most,
            reversible=None if class_ is None else class_.mark(*arc) == "—",
        )
        label = judged(one, unit, need=asked.need, bootstrap=drawn)
        if label is not None and _fixed(baseline, arc):
            label = "required"
        arcs.append(replace(one, support=label))
    outside = _outside(baseline.table.names, network, pairs or {}, shares or {})
    others = [_shares(arc, pairs, shares) for arc in outside]
    others.sort(key=lambda one: (-(one.adjacency or 0.0), -(one.near_adjacency or 0.0)))
    whole = replace(found, arcs=tuple(arcs), others=tuple(others))
    return replace(whole, network=replace(network, shares=whole.shares or None))


def _by_arc(pairs: Iterable[PairShare]) -> dict[Arc, tuple[float, float]]:
    """Return, for both directions of every pair, its adjacency and the share of the direction."""
    shares: dict[Arc, tuple[float, float]] = {}
    for pair in pairs:
        shares[pair.a, pair.b] = pair.adjacency, pair.forward
        shares[pair.b, pair.a] = pair.adjacency, 1.0 - pair.forward
    return shares


def _shares(
    arc: Arc, pairs: Mapping[Arc, tuple[float, float]] | None, shares: Mapping[Arc, Share] | None
) -> ArcSupport:
    """Gather the shares of an arc, in the network or not."""
    known = ArcSupport(*arc, in_network=False)
    if pairs is not None:
        adjacency, direction = pairs.get(arc, (0.0, None))
        known = replace(known, adjacency=adjacency, direction=direction)
    if shares is None:
        return known
    own, back = (shares.get(one, Share(*one, 0.0, 0.0)) for one in (arc, arc[::-1]))
    return replace(
        known,
        in_near_optimal=own.classes,
        near_weight=own.weight,
        near_adjacency=min(1.0, own.weight + back.weight),
    )


def _outside(
    names: tuple[str, ...],
    network: Network,
    pairs: Mapping[Arc, tuple[float, float]],
    shares: Mapping[Arc, Share],
) -> list[Arc]:
    """Return pairs that the network does not join, each in its more frequent direction."""
    place = {name: v for v, name in enumerate(names)}
    joined = {frozenset(arc) for arc in network.arcs}
    weight = {arc: share.weight for arc, share in shares.items()}
    seen = {(a, b) if place[a] < place[b] else (b, a) for a, b in (*pairs, *weight)}
    arcs = []
    for a, b in sorted(seen, key=lambda pair: (place[pair[0]], place[pair[1]])):
        if frozenset((a, b)) in joined:
            continue
        if (a, b) in pairs:
            forward = pairs[a, b][1] >= 0.5
        else:
            forward = weight.get((a, b), 0.0) >= weight.get((b, a), 0.0)
        arcs.append((a, b) if forward else (b, a))
    return arcs


def open_points(baseline: Baseline, asked: Supporting, found: Support) -> list[str]:
    """Say what is not proven or was not done."""
    points = []
    if not baseline.best.optimal:
        points.append(f"the network is {baseline.best.proof()}")
    tolerance = baseline.best.scope.tolerance
    if asked.need:
        missing = [one for one in found.arcs if one.need is None and not _fixed(baseline, one.arc)]
        wide = [one for one in found.arcs if _is_wide(one, tolerance)]
        if missing:
            points.append(f"the need of {counted(len(missing), 'arc')} was not computed in time")
        if wide:
            points.append(f"the need of {counted(len(wide), 'arc')} is known only as an interval")
    drawn = found.bootstrap
    if drawn is not None and drawn.done < drawn.asked:
        why = {"time": "the time limit", "interrupt": "an interrupt"}.get(drawn.stopped or "", "")
        points.append(
            f"{why or 'a limit'} stopped the bootstrap after {drawn.done} of {drawn.asked} "
            "replicates"
        )
    if drawn is not None and drawn.proven < drawn.done:
        points.append(
            f"the networks of {drawn.done - drawn.proven} of {drawn.done} replicates are not "
            "proven optimal"
        )
    if found.near is not None and not found.near.complete:
        points.append(f"only {found.near.networks} of the near-optimal networks were found")
    return points


def _fixed(baseline: Baseline, arc: Arc) -> bool:
    """Whether the constraints require an arc: there is no network without it."""
    required = baseline.constraints.required
    return arc in required or arc[::-1] in required


def _is_wide(one: ArcSupport, tolerance: float) -> bool:
    sides = (
        (one.need, one.need_at_most),
        (one.need_direction, one.need_direction_at_most),
    )
    return any(
        least is not None and most is not None and most - least > 2 * tolerance
        for least, most in sides
    )
