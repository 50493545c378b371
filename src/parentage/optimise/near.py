"""All networks within a distance of the optimum, each once, grouped by equivalence class.

First the optimum is found and proved. Then bounds say which sets can be in a network within the
distance, and :mod:`.near_search` enumerates them; no table over subsets is needed, so that what
counts is how many networks there are, not how many variables.

For scores that are logarithms of probabilities (BIC, BDeu) a distance ln f means: at most f
times less probable than the best network (Liao et al. 2019, "Finding all Bayesian network
structures within a factor of optimal").
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parentage.errors import DataWarning, InputError, UnprovenWarning, Way, warn
from parentage.network.network import equivalence_classes
from parentage.optimise.near_search import Search, find_pieces, first_of_equals
from parentage.optimise.problem import allowed_problem
from parentage.optimise.settings import Optimising
from parentage.scoring.account import Account, Unknown, about_directions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parentage.arrays import Ints
    from parentage.network.network import EquivalenceClass, Network
    from parentage.optimise.near_search import NetworkChoices
    from parentage.optimise.problem import Problem
    from parentage.optimise.run import Run
    from parentage.optimise.solution import Solution
    from parentage.scoring.account import Origin
    from parentage.scoring.constraints import Constraints
    from parentage.scoring.lists import CandidateLists
    from parentage.work.context import Context

MAX_NETWORKS = 100_000
"""Networks that are enumerated unless a larger limit is given."""

Parents = tuple[tuple[int, ...], ...]


class CutWarning(UnprovenWarning):
    """Networks are missing because a limit ended the search."""


class Share(NamedTuple):
    """An arc, how many classes have it, and its share of the weight of all networks.

    ``classes`` is the share of classes with a member that has the arc. A network weighs what it
    is probable, relative to the others found, when all networks are equally probable beforehand.
    """

    parent: str
    child: str
    classes: float
    weight: float


class Difference(NamedTuple):
    """How a class differs from the best one: pairs joined there, not here, or in another way.

    Arcs ``(parent, child)``, or pairs in the order of names where the direction is open.
    """

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]

    def __str__(self) -> str:
        parts = [
            *(f"+ {mark}" for mark in self.added),
            *(f"− {mark}" for mark in self.removed),
            *self.changed,
        ]
        return ", ".join(parts) or "nothing"


@dataclass(frozen=True)
class NearOptimal:
    """Every network whose score is at most ``width`` below the best.

    Parameters
    ----------
    names
        Variable names.
    score
        The best score.
    width
        The distance that was asked for.
    scores
        Score of every network, falling.
    parents
        For every network, and every variable, the indices of its parents. The first one is the
        network that learning finds.
    classes
        The networks of each Markov equivalence class, as indices, best class first.
    complete_to
        Every network of the lists at most this much below the best is there: ``width``, unless a
        limit ended the search; −1 when not even the best score is proved.
    stopped
        What ended it: ``"networks"``, ``"time"``, ``"interrupt"``; None when nothing did.
    unit
        Nats per unit of the scores.
    reaching
        Whether the lists hold every set that a network within the width can have.
    score_name
        The score behind the lists; None if it is not known.
    about_directions
        Says that the networks of a class differ in score, where they do.
    """

    names: tuple[str, ...]
    score: float
    width: float
    scores: tuple[float, ...]
    parents: tuple[Parents, ...]
    classes: tuple[tuple[int, ...], ...]
    complete_to: float
    stopped: str | None
    unit: float
    reaching: bool
    score_name: str | None = None
    about_directions: str = ""

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def complete(self) -> bool:
        """Whether these are all networks within the width, those of other sets included."""
        return self.reaching and self.complete_to >= self.width

    @cached_property
    def networks(self) -> tuple[Network, ...]:
        """The networks themselves."""
        from parentage.network.network import Network

        return tuple(Network(self.names, parents) for parents in self.parents)

    def class_graph(self, number: int) -> EquivalenceClass:
        """Return what the members of a class have in common, as a graph (CPDAG)."""
        from parentage.network.network import Network

        return Network(self.names, self.parents[self.classes[number][0]]).equivalence_class()

    def difference(self, number: int) -> Difference:
        """Say how a class differs from the best one."""
        best, other = self.class_graph(0), self.class_graph(number)
        pairs = {(min(p), max(p)) for g in (best, other) for p in g.compelled | g.reversible}
        added, removed, changed = [], [], []
        for a, b in sorted(pairs):
            before, now = best.mark(a, b), other.mark(a, b)
            if before == now:
                continue
            if not before:
                added.append(_drawn(a, now, b))
            elif not now:
                removed.append(_drawn(a, before, b))
            else:
                changed.append(f"{_drawn(a, before, b)} becomes {_drawn(a, now, b)}")
        return Difference(tuple(added), tuple(removed), tuple(changed))

    @cached_property
    def arc_shares(self) -> tuple[Share, ...]:
        """Every arc of any network with its shares, the heaviest first."""
        weights = np.exp((np.array(self.scores) - self.score) * self.unit)
        weights /= weights.sum()
        weight: Counter[tuple[int, int]] = Counter()
        count: Counter[tuple[int, int]] = Counter()
        for members in self.classes:
            seen: set[tuple[int, int]] = set()
            for i in members:
                arcs = [(p, c) for c, above in enumerate(self.parents[i]) for p in above]
                seen.update(arcs)
                own = float(weights[i])
                for arc in arcs:
                    weight[arc] += own  # type: ignore[assignment]  # a Counter of floats
            count.update(seen)
        shares = [
            Share(self.names[p], self.names[c], count[p, c] / len(self.classes), weight[p, c])
            for p, c in weight
        ]
        return tuple(sorted(shares, key=lambda s: (-s.weight, -s.classes, s.parent, s.child)))

    def __repr__(self) -> str:
        return (
            f"NearOptimal: {'' if self.complete else 'at least '}"
            f"{len(self)} network{'s' if len(self) > 1 else ''} in "
            f"{len(self.classes)} class{'es' if len(self.classes) > 1 else ''}, "
            f"score {self.score:.6f} and at most {self.width:.6g} below"
        )


def within(
    lists: CandidateLists,
    *,
    factor: float | None = None,
    width: float | None = None,
    max_networks: int = MAX_NETWORKS,
    constraints: Constraints | None = None,
    seed: int = 0,
    context: Context | None = None,
) -> NearOptimal:
    """Return all networks whose score is within a factor, or a width, of the optimum.

    Parameters
    ----------
    lists
        Candidate lists that hold every set such a network can have. Lists pruned for the
        optimum alone do not; their account says up to which width they are complete,
        and a warning is given if that is less than what is asked for.
    factor
        Networks at most this many times less probable than the best: a width of ln ``factor``
        (in the base of the scores, which their account knows).
    width
        Networks at most this much below the best score. Give one of the two.
    max_networks
        The largest number of networks; with more, the best of them, and a warning.
    constraints
        Required and forbidden arcs, in-degrees, tiers.
    seed
        As in :func:`~parentage.optimise.learn_lists`.
    context
        Stop and threads. A search that is stopped returns what was found by then, with a warning.

    Raises
    ------
    InputError
        Neither or both of factor and width, a negative distance, or limits that make no sense.

    Examples
    --------
    >>> from parentage.scoring.lists import CandidateLists
    >>> lists = CandidateLists.from_families(
    ...     {"a": [(-2.0, []), (-1.5, ["b"])], "b": [(-2.0, []), (-1.5, ["a"])]})
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):  # nothing is known of these lists
    ...     near = within(lists, width=0.7)
    >>> near.scores, near.classes
    ((-3.5, -3.5, -4.0), ((0, 1), (2,)))
    >>> str(near.difference(1)), near.arc_shares[0].classes
    ('− a — b', 0.5)
    """
    distance = _distance(lists, factor, width)
    _warn_if_incomplete(lists, distance)
    for near in widening(
        lists,
        width=distance,
        max_networks=max_networks,
        constraints=constraints,
        seed=seed,
        context=context,
    ):
        found = near
    if found.complete_to < distance:
        warn(CutWarning(cut_text(found)))
    return found


def widening(
    lists: CandidateLists,
    *,
    width: float,
    max_networks: int = MAX_NETWORKS,
    constraints: Constraints | None = None,
    seed: int = 0,
    context: Context | None = None,
) -> Iterator[NearOptimal]:
    """Yield all networks within growing widths, the last time all that :func:`within` returns.

    The arguments are those of :func:`within`.

    Examples
    --------
    >>> from parentage.scoring.lists import CandidateLists
    >>> lists = CandidateLists.from_families({"a": [(-2.0, ["b"]), (-2.5, [])], "b": [(-1.0, [])]})
    >>> [(len(near), near.complete_to) for near in widening(lists, width=0.8)]
    [(1, 0.1), (1, 0.2), (1, 0.4), (2, 0.8)]
    """
    from parentage.optimise.engines import solve
    from parentage.optimise.run import Run

    if max_networks < 1:
        raise InputError(f"max_networks must be at least 1, not {max_networks}")
    run = Run(lists, constraints, Optimising(seed=seed), context)
    best = solve(run)
    if not best.optimal:
        yield _collect(run, best, width, max_networks, None)
        return
    problem = first_of_equals(allowed_problem(lists, constraints))
    chosen = _rows_of(problem, lists, run.chosen())
    margin = run.tolerance  # what the proof of each part may have missed
    pieces = find_pieces(run, problem, chosen, width + margin)
    for found in Search(run, max_networks + 1).widen(pieces, chosen, width, margin):
        yield _collect(run, best, width, max_networks, found)


def cut_text(near: NearOptimal) -> str:
    """Say what is known when a search did not find all networks."""
    why = {"networks": "the limit on networks", "time": "the time limit"}.get(
        near.stopped or "", "an interruption"
    )
    known = f"there are at least {len(near)} networks within {near.width:.6g} of the best score"
    if near.complete_to >= near.width:
        return f"{known}: the lists may lack sets of further networks"
    if near.complete_to < 0:
        return f"{known} found: {why} ended the search before the best was proven"
    times = math.exp(near.complete_to * near.unit)
    return (
        f"{known}: {why} ended the search; complete are those within {near.complete_to:.4g}, "
        f"a factor of {times:.4g}"
    )


def _rows_of(problem: Problem, lists: CandidateLists, chosen: Ints) -> Ints:
    """Return the sets of the problem that equal the chosen ones."""
    found = chosen.copy()
    for v, (a, b) in enumerate(problem.spans()):
        wanted = lists.parents_of(int(chosen[v])).tolist()
        found[v] = next(
            i for i in problem.sets[a:b].tolist() if lists.parents_of(i).tolist() == wanted
        )
    return found


def _collect(
    run: Run, best: Solution, width: float, most: int, found: NetworkChoices | None
) -> NearOptimal:
    """Put what was found in order: the network of learning first, then by score.

    Nothing found means that not even the best network is proved.
    """
    lists = run.lists
    learned = best.network.parents
    reached = -1.0
    stopped: str | None = run.stop_reason
    scores = {learned: best.score}
    if found is not None:
        reached = min(width, found.complete_to)
        least = found.excess[0] if len(found.excess) else 0.0
        close = found.sets[found.excess <= least + width + run.slack]
        if len(close) > most:
            stopped = "networks"
            reached = min(reached, float(np.nextafter(found.excess[most] - least, -math.inf)))
        for row in close[:most]:
            scores[_parents(lists, row)] = math.fsum(lists.scores[row].tolist())
    ranked = sorted(scores, key=lambda parents: (parents != learned, -scores[parents], parents))
    parents = tuple(ranked[:most])
    top = max(scores[p] for p in parents)
    if best.score < top - run.slack - run.tolerance:
        raise AssertionError(f"a network of score {top} against the optimum {best.score}")
    return NearOptimal(
        lists.names,
        top,
        width,
        tuple(scores[p] for p in parents),
        parents,
        equivalence_classes(parents),
        reached,
        stopped,
        lists.account.unit,
        reaches(lists, width),
        lists.account.score if isinstance(lists.account, Account) else None,
        about_directions(lists.account) if isinstance(lists.account, Account) else "",
    )


def _parents(lists: CandidateLists, row: Ints) -> Parents:
    return tuple(tuple(lists.parents_of(i).tolist()) for i in row.tolist())


def _drawn(a: str, mark: str, b: str) -> str:
    """Draw a joined pair, arrows from left to right."""
    return f"{b} → {a}" if mark == "←" else f"{a} {mark} {b}"


def _distance(lists: CandidateLists, factor: float | None, width: float | None) -> float:
    """Turn a factor into a width, in the unit of the scores."""
    if (factor is None) == (width is None):
        raise InputError("give either a factor or a width")
    if factor is not None:
        if not 1 <= factor < math.inf:
            raise InputError(f"the factor must be at least 1, not {factor}")
        return math.log(factor) / lists.account.unit
    if width is None or not 0 <= width < math.inf:
        raise InputError(f"the width must not be negative, but is {width}")
    return width


def reaches(lists: CandidateLists, width: float) -> bool:
    """Whether every network within the width is made of these lists, as far as is known."""
    return lists.account.complete and width <= lists.account.reach * (1 + 1e-12)


def _warn_if_incomplete(lists: CandidateLists, width: float) -> None:
    account = lists.account
    if isinstance(account, Account) and account.complete_to is not None:
        warn(
            UnprovenWarning(
                f"networks may be missing: scoring was stopped early, so that sets of more than "
                f"{account.complete_to} parents were not searched"
            ),
        )
    if width > account.reach * (1 + 1e-12):
        warn(_too_short(account, width))


def _too_short(account: Origin, width: float) -> DataWarning:
    """Say that networks within the width may have sets that are not listed."""
    if isinstance(account, Unknown):
        return DataWarning(
            f"networks may be missing: nothing is known of the sets that these lists leave out, "
            f"and networks up to {width:.6g} below the optimum may have such sets"
        )
    enough = math.ceil(width * 1e4) / 1e4
    return DataWarning(
        f"networks may be missing: these lists are known to be complete up to "
        f"{account.reach:.6g} below the optimum, not {width:.6g}",
        Way("width", enough, "when the table is scored"),
    )
