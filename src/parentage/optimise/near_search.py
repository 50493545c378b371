"""All choices of sets within a width of the best: filter by bounds, split, enumerate, combine.

Sets whose bound is above the best cost plus the width are in no network of interest. What is left
falls into strongly connected pieces, whose networks combine freely: each piece is enumerated
alone (:mod:`parentage.kernels.near`), and the sums of what the pieces exceed their best by are
kept up to the width. Small pieces are enumerated with the table of the dynamic programme, others
with the rises of the bound; where these do not do, a piece is divided into the networks with an
arc and those without. All this is done for growing widths, so that when time or a limit ends it,
all networks within a smaller width are there.

The bound: with any multipliers y of cuts, L(y) is below the cost of every network, and L(y) plus
the *rise* of a set (how far its reduced cost is above its child's least) below that of every
network with the set (:mod:`.lp.cutting`). A network within some width of the best takes sets whose
rises add up to at most best + width − L(y): the closer L(y) comes to the best, the fewer choices
remain. So cuts are added as for a proof, but sets are removed only where they cannot be in any
network of interest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parentage.optimise.exact import subset_table
from parentage.optimise.lp.cutting import PHASE, Cutter
from parentage.optimise.lp.separation import Support
from parentage.optimise.problem import Problem, pack, unpack
from parentage.optimise.run import Part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from parentage.arrays import Flags, Floats, Ints
    from parentage.optimise.run import Run

SHARES = (0.125, 0.25, 0.5, 1.0)
"""Shares of the width that are searched one after the other."""

STEPS = 50_000
"""Sets taken between two looks at the clock: some hundredths of a second."""

PATIENCE = 100_000
"""Sets taken in a piece, with few results, before it is divided."""

FEW = 1_000
"""Results that are few for so many steps."""

SMALL = 20
"""Pieces of at most this many variables are enumerated with a table over subsets."""

ROOM = 4096
"""Networks that a kernel returns at a time."""


class Piece(NamedTuple):
    """Variables that may form cycles, with all sets of interest.

    No choice costs less than ``least``. The rises ``float64[m]`` of a choice that exceeds it by
    ``e`` add up to at most ``lack + e``: ``lack`` is what the bound misses.
    """

    problem: Problem
    least: float
    lack: float
    rise: Floats


class NetworkChoices(NamedTuple):
    """NetworkChoices of sets: ``excess[k]`` over the best, rising; ``sets[k, …]`` as in the lists.

    ``complete_to`` is the width up to which none is missing.
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
        part = Part(run, waiting.pop())
        least = cost_of(part.problem, best)
        bound, rise = reduced_costs(part, least, width)
        keep = (bound + rise <= least + width) | np.isin(part.problem.sets, best)
        left = part.problem.only(keep)
        smaller = left.parts(prune=False)
        if len(smaller) > 1:
            waiting.extend(smaller)
        else:
            found.append(Piece(left, least, max(0.0, least - bound), rise[keep]))
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


class Search:
    """Enumerates pieces; ``limit`` choices of a piece are enough."""

    def __init__(self, run: Run, limit: int) -> None:
        self.run = run
        self.limit = limit

    def widen(
        self, pieces: list[Piece], best: Ints, width: float, margin: float
    ) -> Iterator[NetworkChoices]:
        """Yield all choices within growing shares of the width, the last time all there are.

        Each holds the choices of those before, until ``limit`` choices are reached or the run
        stops; what is complete then is said. Choices up to ``margin`` above each share are there,
        too.
        """
        complete = 0.0
        for share in SHARES if width > 0 else (1.0,):
            reach = share * width + margin
            narrow = [part for piece in pieces for part in narrower(piece, best, reach)]
            found = self.product(narrow, reach)
            cut = found.complete_to < reach
            complete = share * width if not cut else max(complete, found.complete_to - margin)
            yield found._replace(complete_to=complete)
            if cut or self.run.stopped():
                return

    def product(self, pieces: list[Piece], width: float) -> NetworkChoices:
        """Enumerate pieces and combine their choices up to ``width``, sets by variable."""
        parts = [self.piece(piece, width) for piece in pieces]
        found = combined(parts, width, self.limit)
        place = np.argsort(np.concatenate([piece.problem.variables for piece in pieces]))
        return found._replace(sets=found.sets[:, place])

    def piece(self, piece: Piece, width: float) -> NetworkChoices:
        """Enumerate the choices of a piece that exceed its least cost by at most ``width``."""
        if piece.problem.n <= SMALL:
            return self.by_table(piece, width)
        arc = dividing_arc(piece)
        found = self.by_rises(piece, width, np.inf if arc is None else PATIENCE)
        if not cut_short(found) or arc is None or self.enough(found):
            return found
        return self.divided(piece, *arc, width)

    def enough(self, found: NetworkChoices) -> bool:
        """Whether to be content with what there is."""
        return len(found.excess) >= self.limit or self.run.stopped()

    def by_table(self, piece: Piece, width: float) -> NetworkChoices:
        """Enumerate with the table of the dynamic programme over subsets."""
        from parentage.kernels.near import enumerate_by_sinks

        problem, n = piece.problem, piece.problem.n
        pruned = problem.pruned()
        best = subset_table(pruned, pruned.cost)
        if best is None:
            raise AssertionError("nobody stops this table")
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

        rows, complete = self.collect(go_on, state, n, np.inf)
        return sorted_choices(piece, order[rows], complete)

    def by_rises(self, piece: Piece, width: float, patience: float) -> NetworkChoices:
        """Enumerate with the rises of the bound, unless that takes too long."""
        from parentage.kernels.near import enumerate_networks

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

        rows, complete = self.collect(go_on, state, n, patience)
        return sorted_choices(piece, order[rows], complete)

    def collect(
        self, go_on: Callable[[Ints], int], state: Ints, n: int, patience: float
    ) -> tuple[Ints, bool]:
        """Call a kernel until it ends, finds enough or finds little; whether it ended."""
        buffer = np.empty((ROOM, n), np.int64)
        found = [np.zeros((0, n), np.int64)]
        total, idle = 0, 0
        while state[0] >= 0 and total <= self.limit and idle < patience and not self.run.stopped():
            count = go_on(buffer)
            found.append(buffer[:count].copy())
            total += count
            idle += STEPS if count < FEW else 0
        return np.concatenate(found), bool(state[0] < 0)

    def divided(self, piece: Piece, u: int, v: int, width: float) -> NetworkChoices:
        """Enumerate the choices with an arc from ``u`` to ``v``, and those without it."""
        flags = unpack(piece.problem.masks, piece.problem.n)
        having = flags[:, u] | (piece.problem.child != v)
        lacking = ~flags[:, u] | (piece.problem.child != v)
        cases = [self.case(piece, keep, width) for keep in (having, lacking)]
        excess = np.concatenate([case.excess for case in cases])
        rank = np.argsort(excess, kind="stable")
        sets = np.concatenate([case.sets for case in cases])[rank]
        return NetworkChoices(excess[rank], sets, min(case.complete_to for case in cases))

    def case(self, piece: Piece, keep: Flags, width: float) -> NetworkChoices:
        """Enumerate what is left of a piece with some sets only, by new bounds."""
        most = piece.least + width
        problems = piece.problem.only(keep).parts(prune=False)
        while True:
            parts = [Part(self.run, problem) for problem in problems]
            bounds = [reduced_costs(part, most, 0.0) for part in parts]
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
            Piece(problem, bound, 0.0, rise[rise <= room])
            for problem, (bound, rise) in zip(left, bounds, strict=True)
        ]
        found = self.product(pieces, room)
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


def cut_short(found: NetworkChoices) -> bool:
    """Whether choices may be missing."""
    return found.complete_to < 0


def sorted_choices(piece: Piece, rows: Ints, complete: bool) -> NetworkChoices:
    """Return choices, given by rows of the problem, by rising excess."""
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
            part, cost_of(part, best), piece.lack, np.array([rise[i] for i in part.sets.tolist()])
        )
        for part in piece.problem.only(keep).parts(prune=False)
    ]


def combined(parts: list[NetworkChoices], width: float, limit: int) -> NetworkChoices:
    """Combine the choices of pieces, the best ``limit`` of those within ``width``."""
    excess = np.zeros(1)
    reached = min([width, *(part.complete_to for part in parts)])
    picked = np.zeros((1, 0), np.int64)
    for part in sorted(parts, key=lambda part: len(part.excess)):
        excess, left, right, complete_to = smallest_sums(excess, part.excess, width, limit)
        picked = np.column_stack([picked[left], right])
        reached = min(reached, complete_to)
    place = sorted(range(len(parts)), key=lambda i: len(parts[i].excess))
    sets = [np.zeros((len(excess), 0), np.int64)] * len(parts)
    for column, i in enumerate(place):
        sets[i] = parts[i].sets[picked[:, column]]
    return NetworkChoices(excess, np.concatenate(sets, axis=1), reached)


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


def reduced_costs(part: Part, least: float, width: float) -> tuple[float, Floats]:
    """Return a lower bound on the cost, and ``float64[m]``: how far each set lifts it.

    ``least`` is the cost of the best network of the part; sets that are in no network within
    ``width`` of it may come back with an infinite rise.
    """
    problem = part.problem
    cheapest = np.minimum.reduceat(problem.cost, problem.offsets[:-1])
    bound = float(cheapest.sum())
    rise: Floats = problem.cost - np.repeat(cheapest, np.diff(problem.offsets))
    if problem.n < 2 or least - bound <= part.run.tolerance:
        return bound, rise
    cutter = Cutter(part)
    lp, node, patience = cutter.lp, cutter.root(), cutter.patience
    lp.remove(bound + rise > least + width)
    gaps: list[float] = []
    while lp.solve(part, PHASE):
        now, its_rise = lp.lagrangian(lp.y)
        if np.isinf(now):  # a child has no set left
            return now, np.full(problem.m, np.inf)
        if now > bound:
            bound, rise = now, its_rise
        lp.remove(now + its_rise > least + width)
        gaps.append(least - bound)
        cutter.learn(gaps)
        if patience.is_over(gaps) or gaps[-1] <= part.run.tolerance:
            break
        found = cutter.separate(Support.of(lp.sets, lp.x), node, gaps)
        if not found or part.stopped():
            break
        lp.forget()
        lp.compact()
        lp.add(found)
    rise = np.where(lp.removed, np.inf, rise)
    return bound, rise
