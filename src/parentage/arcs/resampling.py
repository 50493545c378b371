r"""The bootstrap: rows resampled, learned from to a proof, and averaged to one network.

A replicate draws N rows of the table with replacement; states stay those of the whole table, so
penalties do not change. Which rows depends on the seed and on the replicate's number alone, and a
replicate is learned on one thread, so results do not depend on the workers. It begins from the best
network of the table, from the cuts that proved it and from those of the first replicate; cuts hold
for every network. Where the candidate lists of the table were expanded, so are those of a
replicate.

With a time limit a replicate has a few times its share of the time, and at least a tenth of what
is left: a limit that is too short makes fewer replicates, not worse ones. One that is not proven by
then counts with the network found, and the result says how many those are. An interrupt keeps the
replicates that are done.

Every network counts as its equivalence class (CPDAG): an adjacent pair counts one for its
adjacency, and for its direction one if that is compelled, one half for each direction if it is
reversible. So count Friedman, Goldszmidt and Wyner (1999) and bnlearn's ``boot.strength``. A
direction that the constraints leave no choice about, or that the score itself prefers (one that is
not score equivalent), counts in full.

Which pairs are significant? Scutari and Nagarajan (2013) compare the distribution function F of the
shares of all pairs with that of an ideal bootstrap, in which a part t of the pairs is never
adjacent and the others always, F_t(x) = t for 0 <= x < 1, and take the t with the least

    L1(t) = ∫₀¹ |F(x) − t| dx.

F rises, so its values at x and at 1 − x lie on either side of F(½), and the least is at t = F(½):
a median. The threshold F⁻¹(t) is then the largest share that is not above ½, and a pair is
significant when its share is larger: *adjacent in more than half of the replicates*. Where shares
of exactly ½ make several t equally good, the largest is taken, which leaves those pairs out.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parentage.arcs.records import Bootstrap, PairShare
from parentage.network.network import compelled_arcs, topological_order
from parentage.optimise import Start
from parentage.optimise.cuts import unique
from parentage.pipeline import learn_again
from parentage.scoring.scores import family_score
from parentage.scoring.settings import Growing
from parentage.work.context import Context
from parentage.work.executor import in_order, leave
from parentage.work.progress import Progress
from parentage.work.stop import StoppedError, now

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from parentage.arcs.records import Baseline
    from parentage.data.table import Table
    from parentage.network.network import IndexArc, Parents
    from parentage.optimise.cuts import Cut
    from parentage.scoring.constraints import Arc, Constraints
    from parentage.work.stop import Reason, Stop


def directions(
    parents: Parents, names: tuple[str, ...], equivalent: bool, constraints: Constraints
) -> tuple[set[IndexArc], set[IndexArc]]:
    """Return the arcs of a network that count in full, and those that count half each way.

    In full count directions that are not a matter of chance: by the constraints, or because the
    score is not ``equivalent``, so that every direction is meant.
    """
    index = {name: v for v, name in enumerate(names)}
    required = {(index[p], index[v]) for p, v in constraints.required}
    arcs = {(p, v) for v, members in enumerate(parents) for p in members} | required
    if not equivalent:
        return arcs, set()
    barred = constraints.barred(names)  # [child, parent]
    sure = compelled_arcs(parents, topological_order(names, parents)) | required
    sure |= {(p, v) for p, v in arcs if barred[p, v]}
    return sure, arcs - sure


def pair_shares(
    counted: Iterable[tuple[set[IndexArc], set[IndexArc]]], names: tuple[str, ...]
) -> tuple[PairShare, ...]:
    """Return the shares of all pairs that some network joins, most frequent first.

    ``counted`` are the :func:`directions` of the networks.
    """
    n = len(names)
    points = np.zeros((n, n))
    """[parent, child]: what the replicates count for the arc; both directions add up to one."""
    compelled = np.zeros((n, n))
    count = 0
    for sure, open_ in counted:
        count += 1
        for p, v in sure:
            points[p, v] += 1.0
            compelled[p, v] += 1.0
        for p, v in open_:
            points[p, v] += 0.5
            points[v, p] += 0.5
    joined = points + points.T
    shares = [
        PairShare(
            names[a],
            names[b],
            float(joined[a, b] / count),
            float(points[a, b] / joined[a, b]),
            float((compelled[a, b] + compelled[b, a]) / joined[a, b]),
        )
        for a, b in np.argwhere(np.triu(joined) > 0).tolist()
    ]
    return tuple(sorted(shares, key=lambda share: -share.adjacency))


def inclusion_threshold(shares: Sequence[float]) -> float:
    """Return the share above which pairs are significant (Scutari and Nagarajan 2013).

    Pairs that are never joined may be left out: they have the share 0.

    The example of the paper, six pairs:

    >>> inclusion_threshold([0.0460, 0.2242, 0.3921, 0.7689, 0.8935, 0.9439])
    0.3921
    """
    return max((share for share in shares if share <= 0.5), default=0.0)


def averaged_arcs(
    pairs: Sequence[PairShare], threshold: float, preferred: frozenset[Arc]
) -> tuple[Arc, ...]:
    """Return the arcs of the averaged network: significant pairs, each in its usual direction.

    Pairs enter by falling share. Where both directions are as frequent, ``preferred`` decides, then
    the order of the variables. An arc that would close a cycle is turned: then it cannot.
    """
    arcs: list[Arc] = []
    above: dict[str, set[str]] = {}
    for pair in pairs:
        if pair.adjacency <= threshold:
            continue
        forward = pair.forward > 0.5
        if pair.forward == 0.5:
            forward = (pair.b, pair.a) not in preferred
        p, v = (pair.a, pair.b) if forward else (pair.b, pair.a)
        if v in _ancestors(above, p):
            p, v = v, p
        arcs.append((p, v))
        above.setdefault(v, set()).add(p)
    return tuple(arcs)


def _ancestors(above: dict[str, set[str]], name: str) -> set[str]:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for parent in above.get(waiting.pop(), ()):
            if parent not in found:
                found.add(parent)
                waiting.append(parent)
    return found


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
    return table.repeated_rows(drawn)


def learn_replicate(
    baseline: Baseline, seed: int, stop: Stop, size: int, task: tuple[int, int]
) -> Replicate:
    """Learn from one replicate: ``task`` is its number and how many are left, itself included."""
    number, left = task
    if stop.reason() is not None:
        return Replicate(None, 0.0, False)
    part = min(1.0, GENEROUS * size / left)
    if baseline.grown:
        part = min(SHARE_OF_GROWING, size / left)
    own = Context(stop.share(max(LEAST_SHARE, part)))
    table = resampled(baseline.table, seed, number)
    if table.n_variables - len(table.constant) < 2:
        return _nothing_varies(table, baseline)
    scoring = replace(
        baseline.scoring, width=None, constraints=_without(baseline.constraints, table.constant)
    )
    growing = Growing() if baseline.grown else None
    start = Start(baseline.best.network, baseline.best.cuts)
    found = learn_again(table, scoring, baseline.optimising, growing, own, start)
    first = found.cuts if number == 0 else ()
    return Replicate(found.network.parents, found.score, found.optimal, first)


def _nothing_varies(table: Table, baseline: Baseline) -> Replicate:
    """A replicate in which at most one column varies has the network without arcs."""
    scoring = baseline.scoring
    scores = [
        family_score(table, name, (), scoring.score, scoring.log_base) for name in table.names
    ]
    return Replicate(((),) * table.n_variables, sum(scores), True)


def _without(given: Constraints, constant: tuple[str, ...]) -> Constraints:
    """Leave out required arcs of columns that do not vary in a replicate; they count anyway."""
    kept = {arc for arc in given.required if not set(arc) & set(constant)}
    return replace(given, required=frozenset(kept))


def bootstrap(
    baseline: Baseline,
    asked: int,
    seed: int,
    context: Context,
) -> Bootstrap:
    """Learn from replicates, and count the pairs that are adjacent in their networks."""
    stop, report = context.stop, context.report
    began = now()
    done: list[Replicate] = []
    stopped: Reason | None = None
    for replicate, left in _timed(baseline, asked, seed, context):
        stopped = stop.reason()
        if stopped is not None and not replicate.proven:
            break
        done.append(replicate)
        if report is not None:
            phase, seconds = f"{len(done)} of {asked} replicates", now() - began
            report(Progress("bootstrap", phase, seconds, len(done), asked, seconds_left=left))
    stopped = None if len(done) == asked else stopped or stop.reason()
    names, how = baseline.table.names, (baseline.equivalent, baseline.constraints)
    found = (one.parents for one in done if one.parents is not None)
    pairs = pair_shares((directions(parents, names, *how) for parents in found), names)
    threshold = inclusion_threshold([pair.adjacency for pair in pairs])
    return Bootstrap(
        asked,
        len(done),
        sum(one.proven for one in done),
        seed,
        tuple(one.score for one in done),
        pairs,
        threshold,
        averaged_arcs(pairs, threshold, frozenset(baseline.best.network.arcs)),
        stopped,
    )


def _timed(
    baseline: Baseline, asked: int, seed: int, context: Context
) -> Iterator[tuple[Replicate, float | None]]:
    """Yield replicates in order, each with the seconds that the rest will take.

    The first is learned alone, so that there is an estimate before all workers begin. If it was
    short, much of that may have been loading, and the second one is learned alone as well.
    """
    stop, workers, size = context.stop, context.pool, context.tasks
    shared = (baseline, seed, stop, size)
    tasks = [(number, asked - number) for number in range(asked)]
    alone = 0
    for task in tasks[:2]:
        start = now()
        replicate = learn_replicate(*shared, task)
        took = now() - start
        alone += 1
        if task[0] == 0:
            cuts = tuple(unique([*baseline.best.cuts, *replicate.cuts]))
            shared = (replace(baseline, best=replace(baseline.best, cuts=cuts)), seed, stop, size)
        known = took > SHORT or alone == 2
        yield replicate, took * (asked - alone) / size if known else None
        if known:
            break
    start = now()
    rest = in_order(learn_replicate, tasks[alone:], workers, shared, "replicate", leave(stop))
    with contextlib.suppress(StoppedError):
        for count, replicate in enumerate(rest, 1):
            took = now() - start
            yield replicate, took / count * (asked - alone - count)
