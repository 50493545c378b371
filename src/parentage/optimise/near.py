"""All networks within a distance of the optimum, each once, grouped by equivalence class.

First the optimum is found and proved. Then bounds say which sets can be in a network within the
distance, and these networks are enumerated; what counts is how many networks there are, not how
many variables.

For scores that are logarithms of probabilities (BIC, BDeu) a distance ln f means: at most f
times less probable than the best network (Liao et al. 2019, "Finding all Bayesian network
structures within a factor of optimal").

**The search.** Sets whose bound is above the best cost plus the width are in no network of
interest. What is left falls into strongly connected pieces, whose networks combine freely: each
piece is enumerated alone, and the sums of what the pieces exceed their best by are kept up to the
width. Small pieces are enumerated with the table of the dynamic programme, others with the rises of
the bound; where that takes too long, a piece is divided into the networks with an arc and those
without. All this is done for growing widths, so that when time or a limit ends it, all networks
within a smaller width are there.

The bound: with any multipliers y of cuts, L(y) is below the cost of every network, and L(y) plus
the *rise* of a set (how far its reduced cost is above its child's least) below that of every
network with the set (:mod:`.cutting`). A network within some width of the best takes sets whose
rises add up to at most best + width − L(y): the closer L(y) comes to the best, the fewer choices
remain. So cuts are added as for a proof, but sets are removed only where they cannot be in any
network of interest. For few variables the least cost of a network with each set is known itself
(:func:`.exact.exact_rises`).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parentage.errors import DataWarning, InputError, UnprovenWarning, Way, counted, warn
from parentage.network.network import Network, equivalence_classes
from parentage.optimise.cutting import ROOT, Cutter, stalled
from parentage.optimise.exact import exact_rises, subset_table
from parentage.optimise.problem import Problem, allowed_problem, pack, unpack
from parentage.optimise.run import Part, Run
from parentage.optimise.separation import UsedSets
from parentage.optimise.settings import Optimising
from parentage.scoring.account import Unknown
from parentage.scoring.catalogue import is_log_posterior

if TYPE_CHECKING:
    from collections.abc import Callable

    from parentage.arrays import Flags, Floats, Ints
    from parentage.network.network import EquivalenceClass
    from parentage.optimise.solution import Solution
    from parentage.scoring.constraints import Constraints
    from parentage.scoring.lists import CandidateLists
    from parentage.work.context import Context

MAX_NETWORKS = 100_000
"""Networks that are enumerated unless a larger limit is given."""

Parents = tuple[tuple[int, ...], ...]


class Share(NamedTuple):
    """An arc, how many classes have it, and its share of the weight of all networks.

    ``classes`` is the share of classes with a member that has the arc. A network weighs what it
    is probable, relative to the others found, when all networks are equally probable beforehand.
    """

    parent: str
    child: str
    classes: float
    weight: float


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
        What ended it: ``"networks"``, ``"time"``, ``"memory"``, ``"interrupt"``; None when nothing
        did.
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
        return tuple(Network(self.names, parents) for parents in self.parents)

    def class_graph(self, number: int) -> EquivalenceClass:
        """Return what the members of a class have in common, as a graph (CPDAG)."""
        return Network(self.names, self.parents[self.classes[number][0]]).equivalence_class()

    def times_less(self, number: int) -> float:
        """Return how many times less probable than the best network the best of a class is."""
        return math.exp(self._lower(number))

    def below(self, number: int) -> str:
        """Say how far a class is below the best: a ratio of probabilities, or nats."""
        if is_log_posterior(self.score_name):
            return f"{self.times_less(number):.3g} times less probable"
        return f"{self._lower(number):.2f} nats lower"

    def _lower(self, number: int) -> float:
        best = max(self.scores[i] for i in self.classes[number])
        return (self.score - best) * self.unit

    def difference(self, number: int) -> dict[str, list[str]]:
        """Return how a class differs from the best one: links added, removed and changed.

        A link is drawn as an arc, or in the order of names where the direction is open.
        """
        best, other = self.class_graph(0), self.class_graph(number)
        pairs = {(min(p), max(p)) for g in (best, other) for p in g.compelled | g.reversible}
        found: dict[str, list[str]] = {"added": [], "removed": [], "changed": []}
        for a, b in sorted(pairs):
            before, now = best.mark(a, b), other.mark(a, b)
            if before == now:
                continue
            if not before:
                found["added"].append(_drawn(a, now, b))
            elif not now:
                found["removed"].append(_drawn(a, before, b))
            else:
                found["changed"].append(f"{_drawn(a, before, b)} becomes {_drawn(a, now, b)}")
        return found

    @cached_property
    def arc_shares(self) -> tuple[Share, ...]:
        """Every arc of any network with its shares, the heaviest first."""
        weights = np.exp((np.array(self.scores) - self.score) * self.unit)
        weights /= weights.sum()
        weight: defaultdict[tuple[int, int], float] = defaultdict(float)
        count: Counter[tuple[int, int]] = Counter()
        for members in self.classes:
            seen: set[tuple[int, int]] = set()
            for i in members:
                arcs = [(p, c) for c, above in enumerate(self.parents[i]) for p in above]
                seen.update(arcs)
                own = float(weights[i])
                for arc in arcs:
                    weight[arc] += own
            count.update(seen)
        shares = [
            Share(self.names[p], self.names[c], count[p, c] / len(self.classes), min(1.0, share))
            for (p, c), share in weight.items()
        ]
        return tuple(sorted(shares, key=lambda s: (-s.weight, -s.classes, s.parent, s.child)))

    def __repr__(self) -> str:
        return (
            f"NearOptimal: {'' if self.complete else 'at least '}"
            f"{counted(len(self), 'network')} in {counted(len(self.classes), 'class', 'classes')}, "
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
    """Return what :meth:`parentage.scoring.lists.CandidateLists.within` promises.

    ``context`` has stop and threads. A search that is stopped returns what was found by then, with
    a warning.

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
    >>> near.difference(1)["removed"], near.arc_shares[0].classes
    (['a — b'], 0.5)
    """
    wanted = width_of(lists, factor, width)
    warn_if_incomplete(lists, wanted)
    found = near_optimal(lists, wanted, max_networks, constraints, seed, context)
    if found.complete_to < found.width:
        warn(UnprovenWarning(cut_text(found)))
    return found


def near_optimal(
    lists: CandidateLists,
    width: float,
    max_networks: int = MAX_NETWORKS,
    constraints: Constraints | None = None,
    seed: int = 0,
    context: Context | None = None,
) -> NearOptimal:
    """Return what :func:`within` returns, without warnings if networks may be missing.

    For callers that say so in their own way (:func:`warn_if_incomplete`, :func:`cut_text`).
    """
    from parentage.optimise.engines import solve

    if max_networks < 1:
        raise InputError(f"max_networks must be at least 1, not {max_networks}")
    run = Run(lists, constraints, Optimising(seed=seed), context)
    best, found = solve(run), None
    if best.optimal:
        problem, chosen = first_of_equals(allowed_problem(lists, constraints)), run.chosen()
        margin = run.tolerance  # what the proof of each part may have missed
        pieces = find_pieces(run, problem, chosen, width + margin)
        found = widen(pieces, chosen, width, margin, max_networks + 1)
    return _collect(run, best, width, max_networks, found)


def cut_text(near: NearOptimal) -> str:
    """Say what is known when a search did not find all networks."""
    limits = {"networks": "the limit on networks", "time": "the time limit"}
    why = {**limits, "memory": "the memory limit"}.get(near.stopped or "", "an interruption")
    verb, found = "is" if len(near) == 1 else "are", counted(len(near), "network")
    known = f"there {verb} at least {found} within {near.width:.6g} of the best score"
    if near.complete_to >= near.width:
        return f"{known}: more may exist whose parent sets are not listed"
    if near.complete_to < 0:
        return f"{known} found: {why} ended the search before the best was proven"
    times = math.exp(near.complete_to * near.unit)
    return (
        f"{known}: {why} ended the search; the list is complete within {near.complete_to:.4g}, "
        f"a factor of {times:.4g}"
    )


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
        elif stopped is None and reached < width:  # the limit ended the search of a part
            stopped = "networks"
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
        lists.account.complete and reaches(lists, width),
        lists.account.score,
        lists.account.about_directions(),
    )


def _parents(lists: CandidateLists, row: Ints) -> Parents:
    return tuple(tuple(lists.parents_of(i).tolist()) for i in row.tolist())


def _drawn(a: str, mark: str, b: str) -> str:
    """Draw a joined pair, arrows from left to right."""
    return f"{b} → {a}" if mark == "←" else f"{a} {mark} {b}"


def width_of(
    lists: CandidateLists, factor: float | None = None, width: float | None = None
) -> float:
    """Return the width that was asked for, or that of a factor, in the unit of the scores."""
    if (factor is None) == (width is None):
        raise InputError("give either a factor or a width")
    if factor is not None:
        if not 1 <= factor < math.inf:
            raise InputError(f"the factor must be at least 1, not {factor}")
        return math.log(factor) / lists.account.unit
    if width is None or not 0 <= width < math.inf:
        raise InputError(f"the width must be at least 0, not {width}")
    return width


def reaches(lists: CandidateLists, width: float) -> bool:
    """Whether sets that searched lists leave out are in no network within the width."""
    return width <= lists.account.reach * (1 + 1e-12)


def warn_if_incomplete(lists: CandidateLists, width: float) -> None:
    """Warn that networks within the width may have sets that are not listed, if they may."""
    account = lists.account
    if account.complete_to is not None:
        warn(
            UnprovenWarning(
                f"networks may be missing: scoring was stopped early, and sets of more than "
                f"{account.complete_to} parents were not searched"
            ),
        )
    if reaches(lists, width):
        return
    if isinstance(account, Unknown):
        text = (
            "these lists do not say which parent sets they omit; some networks within "
            f"{width:.6g} of the optimum may use omitted sets"
        )
        ways = []
    else:
        text = (
            f"these lists contain every network within {account.reach:.6g} of the optimum, and "
            f"{width:.6g} was requested"
        )
        ways = [Way("width", math.ceil(width * 1e4) / 1e4, "when the table is scored")]
    warn(DataWarning(f"networks may be missing: {text}", *ways))


DOUBLINGS = 3
"""How often the width is doubled until it is the one that was asked for."""

STEPS = 50_000
"""Sets taken between two looks at the clock: some hundredths of a second."""

PATIENCE = 100_000
"""Sets taken in a piece, with few results, before it is divided."""

FEW = 1_000
"""Results that are few for so many steps."""

SMALL = 20
"""Pieces of at most this many variables are enumerated with a table over subsets."""

EXACT = 16
"""Parts of at most this many variables have exact rises: tables of 16 MB, a tenth of a second."""

ROOM = 4096
"""Networks that a kernel returns at a time."""


class Piece(NamedTuple):
    """Variables that may form cycles, with all their sets of interest.

    No choice costs less than ``least``. The rises ``float64[m]`` of a choice that exceeds it by
    ``e`` add up to at most ``lack + e``: ``lack`` is what the bound misses.
    """

    run: Run
    problem: Problem
    least: float
    lack: float
    rise: Floats


class NetworkChoices(NamedTuple):
    """Sets of networks: ``excess[k]`` over the best, rising; ``sets[k, …]`` as in the lists.

    ``complete_to`` is the width up to which none is missing; −1 while that is not known.
    """

    excess: Floats
    sets: Ints
    complete_to: float


def find_pieces(run: Run, problem: Problem, best: Ints, width: float) -> list[Piece]:
    """Filter and split until bounds remove nothing more; ``best[n]`` are the sets of the optimum.

    The problem is that of all variables, with all sets but repeated ones.
    """
    found: list[Piece] = []
    waiting = problem.parts(prune=False)
    while waiting:
        problem = waiting.pop()
        least = cost_of(problem, best)
        bound, rise = bound_and_rises(run, problem, least, width)
        keep = (bound + rise <= least + width) | np.isin(problem.sets, best)
        left = problem.only(keep)
        smaller = left.parts(prune=False)
        if len(smaller) > 1:
            waiting.extend(smaller)
        else:
            found.append(Piece(run, left, least, max(0.0, least - bound), rise[keep]))
    return found


def cost_of(problem: Problem, best: Ints) -> float:
    """Return what the optimum costs on the variables of a problem."""
    return float(problem.cost[np.isin(problem.sets, best)].sum())


def first_of_equals(problem: Problem) -> Problem:
    """Return the problem without repeated sets; the cheapest of equal ones stays."""
    keep = np.zeros(problem.m, np.bool_)
    for a, b in problem.spans():
        _, first = np.unique(problem.masks[a:b], axis=0, return_index=True)
        keep[a + first] = True
    return problem.only(keep)


def widen(
    pieces: list[Piece], best: Ints, width: float, margin: float, limit: int
) -> NetworkChoices:
    """Return all choices within the width, found for growing shares of it.

    Until ``limit`` choices are reached, which are enough of any piece, or the run stops: then all
    of a smaller share are there. Choices up to ``margin`` above it are there, too.
    """
    run, complete = pieces[0].run, 0.0
    for left in range(DOUBLINGS if width > 0 else 0, -1, -1):
        share = width / 2**left
        reach = share + margin
        narrow = [part for piece in pieces for part in narrower(piece, best, reach)]
        found = product(narrow, reach, limit)
        cut = found.complete_to < reach
        complete = share if not cut else max(complete, found.complete_to - margin)
        if cut or run.stopped():
            break
    return found._replace(complete_to=complete)


def product(pieces: list[Piece], width: float, limit: int) -> NetworkChoices:
    """Enumerate pieces and combine their choices, the best ``limit`` of those within ``width``."""
    parts = [(piece.problem.variables, enumerated(piece, width, limit)) for piece in pieces]
    parts.sort(key=lambda part: len(part[1].excess))
    excess, picked, reached = np.zeros(1), np.zeros((1, 0), np.int64), width
    for _, found in parts:
        excess, left, right, complete_to = smallest_sums(excess, found.excess, width, limit)
        picked = np.column_stack([picked[left], right])
        reached = min(reached, found.complete_to, complete_to)
    every = np.sort(np.concatenate([variables for variables, _ in parts]))
    sets = np.empty((len(excess), len(every)), np.int64)
    for column, (variables, found) in enumerate(parts):
        sets[:, np.searchsorted(every, variables)] = found.sets[picked[:, column]]
    return NetworkChoices(excess, sets, reached)


def enumerated(piece: Piece, width: float, limit: int) -> NetworkChoices:
    """Enumerate the choices of a piece that exceed its least cost by at most ``width``."""
    if piece.problem.n <= SMALL:
        return by_table(piece, width, limit)
    arc = dividing_arc(piece)
    found = by_rises(piece, width, limit, np.inf if arc is None else PATIENCE)
    enough = len(found.excess) >= limit or piece.run.stopped()
    if found.complete_to >= 0 or arc is None or enough:
        return found
    return divided(piece, arc, width, limit)


def by_table(piece: Piece, width: float, limit: int) -> NetworkChoices:
    """Enumerate with the table of the dynamic programme over subsets."""
    from parentage.kernels.subsets import enumerate_by_sinks

    problem, n = piece.problem, piece.problem.n
    pruned = problem.pruned()
    best = subset_table(pruned, pruned.cost)
    if best is None:
        raise AssertionError(
            "internal error, please report it: dynamic programming was stopped without a limit"
        )
    state = np.zeros(1 + 3 * (n + 1), np.int64)
    sets, spent = np.zeros((2, n + 1), np.uint64), np.zeros(n + 1)
    sets[0, 0] = (1 << n) - 1
    order = np.lexsort((problem.cost, problem.child))
    masks, cost = problem.masks[order, 0], problem.cost[order]
    most = piece.least + width

    def go_on(found: Ints) -> int:
        count: int = enumerate_by_sinks(
            problem.offsets, masks, cost, best, most, state, sets, spent, found, STEPS
        )
        return count

    rows = collect(piece, go_on, state, limit)
    return sorted_choices(piece, order[rows], complete=bool(state[0] < 0))


def by_rises(piece: Piece, width: float, limit: int, patience: float) -> NetworkChoices:
    """Enumerate with the rises of the bound, unless that takes too long."""
    from parentage.kernels.subsets import enumerate_networks

    problem, n = piece.problem, piece.problem.n
    order = np.lexsort((problem.cost, piece.rise, problem.child))
    masks, rise, cost = problem.masks[order], piece.rise[order], problem.cost[order]
    slack, most = piece.lack + width, piece.least + width
    state, left = np.zeros(2 + 2 * n, np.int64), np.zeros((2, n + 1))
    below = np.zeros((n + 1, n, masks.shape[1]), np.uint64)
    state[1] = 1
    below[0] = pack(np.eye(n, dtype=np.bool_))
    taken = np.full(n, -1, np.int64)

    def go_on(found: Ints) -> int:
        count: int = enumerate_networks(
            problem.offsets, masks, rise, cost, slack, most,
            state, left, below, taken, found, STEPS,
        )  # fmt: skip
        return count

    rows = collect(piece, go_on, state, limit, patience)
    return sorted_choices(piece, order[rows], complete=bool(state[0] < 0))


def collect(
    piece: Piece, go_on: Callable[[Ints], int], state: Ints, limit: int, patience: float = np.inf
) -> Ints:
    """Call a kernel until it ends, with ``state[0]`` below 0, finds enough or finds little."""
    buffer = np.empty((ROOM, piece.problem.n), np.int64)
    found = [buffer[:0]]
    total, idle = 0, 0
    while state[0] >= 0 and total <= limit and idle < patience and not piece.run.stopped():
        count = go_on(buffer)
        found.append(buffer[:count].copy())
        total += count
        idle += STEPS if count < FEW else 0
    return np.concatenate(found)


def divided(piece: Piece, arc: tuple[int, int], width: float, limit: int) -> NetworkChoices:
    """Enumerate the choices with an arc from ``u`` to ``v``, and those without it."""
    u, v = arc
    holds, others = unpack(piece.problem.masks, piece.problem.n)[:, u], piece.problem.child != v
    cases = [case(piece, keep, width, limit) for keep in (holds | others, ~holds | others)]
    excess = np.concatenate([one.excess for one in cases])
    rank = np.argsort(excess, kind="stable")
    sets = np.concatenate([one.sets for one in cases])[rank]
    return NetworkChoices(excess[rank], sets, min(one.complete_to for one in cases))


def case(piece: Piece, keep: Flags, width: float, limit: int) -> NetworkChoices:
    """Enumerate what is left of a piece with some sets only, by new bounds."""
    run, most = piece.run, piece.least + width
    problems = piece.problem.only(keep).parts(prune=False)
    while True:
        bounds = [bound_and_rises(run, problem, most, 0.0) for problem in problems]
        total = sum(bound for bound, _ in bounds)
        room = most - total
        if room < 0:
            empty = np.zeros((0, piece.problem.n), np.int64)
            return NetworkChoices(np.zeros(0), empty, np.inf)
        left = [p.only(rise <= room) for p, (_, rise) in zip(problems, bounds, strict=True)]
        smaller = [part for problem in left for part in problem.parts(prune=False)]
        if len(smaller) == len(problems):
            break
        problems = smaller
    pieces = [
        Piece(run, problem, bound, 0.0, rise[rise <= room])
        for problem, (bound, rise) in zip(left, bounds, strict=True)
    ]
    found = product(pieces, room, limit)
    shift = total - piece.least
    reached = np.inf if found.complete_to >= room else found.complete_to + shift
    return NetworkChoices(found.excess + shift, found.sets, reached)


def dividing_arc(piece: Piece) -> tuple[int, int] | None:
    """Return the arc that divides a piece best: sets of small rise both with and without it.

    None if every arc is in all sets of its child or in none.
    """
    problem = piece.problem
    flags = unpack(problem.masks, problem.n)
    offsets = problem.offsets[:-1]
    with_ = np.minimum.reduceat(np.where(flags, piece.rise[:, None], np.inf), offsets, axis=0)
    without = np.minimum.reduceat(np.where(flags, np.inf, piece.rise[:, None]), offsets, axis=0)
    count = np.add.reduceat(flags.astype(np.int64), offsets, axis=0)
    size = np.diff(problem.offsets)[:, None]
    both = np.isfinite(with_) & np.isfinite(without)
    if not both.any():
        return None
    even = np.minimum(count, size - count) / (1 + np.maximum(with_, without))
    v, u = np.unravel_index(np.argmax(np.where(both, even, -1)), even.shape)
    return int(u), int(v)


def sorted_choices(piece: Piece, rows: Ints, *, complete: bool) -> NetworkChoices:
    """Return choices, given by rows of the problem, by rising excess; −1: some may be missing."""
    excess = piece.problem.cost[rows].sum(axis=1) - piece.least
    rank = np.argsort(excess, kind="stable")
    return NetworkChoices(
        excess[rank], piece.problem.sets[rows[rank]], np.inf if complete else -1.0
    )


def narrower(piece: Piece, best: Ints, width: float) -> list[Piece]:
    """Return what a piece falls into when only choices within ``width`` of the best count."""
    keep = (piece.rise <= piece.lack + width) | np.isin(piece.problem.sets, best)
    rise = dict(zip(piece.problem.sets.tolist(), piece.rise.tolist(), strict=True))
    return [
        Piece(
            piece.run,
            problem,
            cost_of(problem, best),
            piece.lack,
            np.array([rise[i] for i in problem.sets.tolist()]),
        )
        for problem in piece.problem.only(keep).parts(prune=False)
    ]


def smallest_sums(
    a: Floats, b: Floats, width: float, limit: int
) -> tuple[Floats, Ints, Ints, float]:
    """Return the smallest sums of two rising lists, rising, with where they come from.

    At most ``limit`` of those up to ``width``; the last value says up to where none is missing.
    """
    reached = width
    counts = np.searchsorted(a, width - b, "right")
    if counts.sum() > limit:
        low, high = float(a[0] + b[0]) - 1e-9, width
        for _ in range(60):
            middle = (low + high) / 2
            many = np.searchsorted(a, middle - b, "right").sum() > limit
            low, high = (low, middle) if many else (middle, high)
        reached = low
        few, counts = np.searchsorted(a, low - b, "right"), np.searchsorted(a, high - b, "right")
        spare = np.maximum(0, limit - few.sum() - np.cumsum(counts - few) + (counts - few))
        counts = few + np.minimum(counts - few, spare)
    right = np.repeat(np.arange(len(b)), counts)
    left = np.arange(len(right)) - np.repeat(np.cumsum(counts) - counts, counts)
    sums = a[left] + b[right]
    rank = np.argsort(sums, kind="stable")
    return sums[rank], left[rank], right[rank], reached


def bound_and_rises(run: Run, problem: Problem, least: float, width: float) -> tuple[float, Floats]:
    """Return a lower bound on the cost, and ``float64[m]``: how far each set lifts it.

    ``least`` is the cost of the best network; sets that are in no network within ``width`` of it
    may come back with an infinite rise.
    """
    if problem.n <= min(EXACT, SMALL):  # a piece of it is enumerated without its rises
        return exact_rises(problem)
    cheapest = np.minimum.reduceat(problem.cost, problem.offsets[:-1])
    bound = float(cheapest.sum())
    rise: Floats = problem.cost - np.repeat(cheapest, np.diff(problem.offsets))
    if least - bound <= run.tolerance:
        return bound, rise
    part = Part(run, problem)
    cutter = Cutter(part)
    lp, node, patience = cutter.lp, cutter.root(), cutter.patience
    lp.remove(bound + rise > least + width)
    gaps: list[float] = []
    while lp.solve(part, ROOT):
        now, its_rise = lp.lagrangian()
        if np.isinf(now):  # a child has no set left
            return now, np.full(problem.m, np.inf)
        if now > bound:
            bound, rise = now, its_rise
        lp.remove(now + its_rise > least + width)
        gaps.append(least - bound)
        cutter.learn(gaps)
        if stalled(gaps, patience) or gaps[-1] <= run.tolerance:
            break
        found = cutter.separate(UsedSets.of(lp.sets, lp.x), node, gaps)
        if not found or run.stopped():
            break
        lp.forget()
        lp.compact()
        lp.add(found)
    rise = np.where(lp.removed, np.inf, rise)
    return bound, rise
