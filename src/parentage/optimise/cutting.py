"""Cutting and branching: solve the linear programme of a node, bound, remove, separate; split it.

The plain cuts come first (:mod:`.separation`); local cuts are dearer and stronger, and are looked
for when the plain ones run dry or stall. In every round the bound is
computed by us (:mod:`.programme`), sets that cannot be in a better network go, and a solution that
is a network is offered.
The root does this for all sets, a node of the tree for those it leaves.

**Branching** (:func:`branch`). A node is split at an arc u → v: without it (the sets of v with u
go) and with it (the others go); what is forced then is followed up, so that ancestors cannot become
children. The arc is the least decided one; nodes are taken by the least bound.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Literal

import numpy as np

from parentage.optimise.cuts import cut_row
from parentage.optimise.problem import unpack
from parentage.optimise.programme import CutLP, bound_of
from parentage.optimise.separation import (
    DECIDED,
    FRACTIONAL,
    LocalCuts,
    UsedSets,
    exact_cluster,
    listed_sets,
    plain_cuts,
    short_cycles,
    through_cuts,
)

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from parentage.arrays import Flags, Floats
    from parentage.optimise.cuts import Cut
    from parentage.optimise.problem import Problem, Sets
    from parentage.optimise.run import Part
    from parentage.optimise.tuning import Patience, Tuning

    Step = tuple[list[Cut], Floats] | None
    Arc = tuple[int, int]

ROOT, BRANCHING = "root LP", "branch-and-cut"

TELLING = 0.02
"""Rounds that remove more than this share of the sets are repeated when longer lists are solved."""


NodeState = Literal["closed", "open", "stopped"]
"""What became of a node."""


@dataclass(eq=False)
class Node:
    """A node: the sets it leaves, the bound known for it, and the steps that led there.

    A step is a round (cuts with multipliers), or None for following up what is forced. A node
    that was split has ``branch``: the arc, the node without it, the node with it. ``best`` is the
    round of the highest bound.
    """

    left: Flags
    bound: float
    depth: int = 0
    steps: list[Step] = field(default_factory=list)
    best: Step = None
    telling: list[Step] = field(default_factory=list)
    branch: tuple[int, int, Node, Node] | None = None


class CutBandit:
    """Which separation a round should use: the one that gained most for its work.

    An arm is a way to separate: 0 is the plain cuts alone, 1, 2, … local cuts on ever larger
    support sets. Its gain is the logarithm of the factor by which the gap shrinks in the next
    solution of the linear programme; its cost is work, in steps that take roughly a nanosecond.
    Both are counted, never timed, so the same input leads to the same choices. An arm that was not
    used for long is tried again; only those up to ``limit`` can be chosen.
    """

    def __init__(self, count: int, tuning: Tuning) -> None:
        self.limit = 0
        self._memory, self._curiosity = tuning.memory, tuning.curiosity
        self._gain = [0.0] * count
        self._work = [0.0] * count
        self._waited = [0] * count

    def choose(self, least: int = 0) -> int:
        """Return the most promising arm of at least ``least``; one never used comes first."""
        allowed = range(least, max(self.limit, least) + 1)
        return max(allowed, key=lambda arm: (self._promise(arm), -arm))

    def learn(self, arm: int, gain: float, work: float) -> None:
        """Say what an arm brought and what it cost."""
        self._waited[arm] = -1
        self._gain[arm] = self._memory * self._gain[arm] + max(0.0, gain)
        self._work[arm] = self._memory * self._work[arm] + work

    def wait(self) -> None:
        """Let a round pass."""
        self._waited = [rounds + 1 for rounds in self._waited]

    def open(self, arm: int) -> None:
        """Let arms up to this one be chosen."""
        self.limit = max(self.limit, min(arm, len(self._gain) - 1))

    def _promise(self, arm: int) -> float:
        """Return the logarithm of gain for work, which grows with every round that an arm waits."""
        if self._work[arm] == 0.0:
            return math.inf
        if self._gain[arm] == 0.0:
            return -math.inf
        patience = self._waited[arm] * math.log(self._curiosity)
        return math.log(self._gain[arm]) - math.log(self._work[arm]) + patience


def shrinkage(before: float, after: float) -> float:
    """Return the logarithm of the factor by which a gap became smaller."""
    return math.log(max(before, 1e-9) / max(after, 1e-9))


def stalled(gaps: list[float], patience: Patience) -> bool:
    """Whether the last gaps have closed less than patience asks for."""
    rounds, share = patience
    return len(gaps) > rounds and gaps[-1] > (1 - share) * gaps[-1 - rounds]


class Cutter:
    """Cuts at the nodes of one part, with one linear programme for all of them."""

    def __init__(self, part: Part, pool: Executor | None = None, work: float = np.inf) -> None:
        self.part = part
        self.engine = ROOT
        self.tuning = tuning = part.run.tuning
        self.lp = CutLP(part.problem, tuning)
        self.local = LocalCuts(tuning, part.run.settings.seed, pool)
        self.large = part.problem.n > tuning.large
        self.through: LocalCuts | None = None
        if self.large and tuning.sizes:
            self.through = LocalCuts(tuning, part.run.settings.seed + 1, pool)
            self.listed = listed_sets(part)
        self.last_arm = len(tuning.sizes) + (self.through is not None)
        self.bandit = CutBandit(self.last_arm + 1, tuning)
        self.arm = 0
        self.local_share = 0.0
        self.work_before = 0, 0
        self.booked = 0
        self.rounds = 0
        self.nodes = 1
        self.exact_left = tuning.exact_tries
        self.enough = max(tuning.enough, part.problem.n // 2)
        self.most_work = work
        self.patience = tuning.large_patience if self.large else tuning.root_patience

    @property
    def goal(self) -> float:
        """A node with a bound above this has no network worth having."""
        return self.part.cost - 0.5 * self.part.run.tolerance

    def exhausted(self) -> bool:
        """Whether the work that was granted to this part, or to the run, is done."""
        done = self.lp.work + self.local_work
        self.part.run.spend(done - self.booked)
        self.booked = done
        return done > self.most_work or self.part.run.work_left <= 0

    def root(self) -> Node:
        """Return the root, before any cutting."""
        return Node(np.ones(self.part.problem.m, np.bool_), self.part.bound)

    def work(self, node: Node) -> NodeState:
        """Cut at a node until it is closed, cutting stalls or the run stops."""
        if node.depth > 0 and not self.follow_up(node):
            return "closed"
        self.lp.leave_open(node.left)
        gaps: list[float] = []
        patience = self.patience if node.depth == 0 else self.tuning.node_patience
        while True:
            if not self.lp.solve(self.part, self.engine, self.exhausted):
                if self.lp.infeasible() and self.shown_empty(node):
                    return "closed"
                if self.tighten(node):
                    return "closed"
                return "stopped" if self.part.stopped() else "open"
            self.rounds += 1
            if self.tighten(node):
                return "closed"
            if self.offer_solution() and self.tighten(node):
                return "closed"
            self.part.tick(self.engine)
            gaps.append(self.part.cost - node.bound)
            self.learn(gaps)
            if stalled(gaps, patience) or self.exhausted():
                return "open"
            found = self.separate(UsedSets.of(self.lp.sets, self.lp.x), node, gaps)
            if self.part.stopped():
                return "stopped"
            recalled = {cut.key for cut in self.lp.recall(self.enough - len(found))}
            if not (recalled or found):
                return "open"
            self.lp.forget()
            self.lp.compact()
            self.lp.add([cut for cut in found if cut.key not in recalled])

    def offer_solution(self) -> bool:
        """Offer the LP solution if it is a network; return whether the incumbent improved."""
        support = self.whole_solution()
        if support is None or len(support.arcs[0]):  # some arcs lie on a cycle
            return False
        return self.part.offer(np.flatnonzero(self.lp.x > DECIDED), self.engine)

    def whole_solution(self) -> UsedSets | None:
        """Return the sets of the LP solution, one per child; None if it is fractional."""
        whole = self.lp.x > DECIDED
        if np.count_nonzero(whole) < self.part.problem.n:
            return None
        return UsedSets.of(self.lp.sets, whole.astype(np.float64))

    def settle(self, node: Node) -> None:
        """Close a node with one choice of arcs left: a cycle, or a network, which is offered."""
        if self.follow_up(node):
            spans = self.part.problem.spans()
            first = [a + int(node.left[a:b].argmax()) for a, b in spans]
            self.part.offer(np.array(first, np.int64), self.engine)
            none = np.zeros(0)
            found = bound_of(self.part.problem, [], none, ~node.left)
            self.absorb(node, ([], none), *found)

    def separate(self, support: UsedSets, node: Node, gaps: list[float]) -> list[Cut]:
        """Return cuts for the present solution: plain ones, local ones when these do not do."""
        found = plain_cuts(support, self.tuning)
        if not found and self.large:
            found = self.exact(support, node)
        if self.ran_dry(len(found), gaps):
            self.bandit.open(1)
        self.arm = self.bandit.choose(least=0 if found else 1) if self.tuning.sizes else 0
        plain = len(found)
        if self.arm:
            found += self.find_local(support, urgent=not found)
        self.local_share = 1.0 - plain / max(1, len(found))
        if not found and (whole := self.whole_solution()) is not None:
            found = short_cycles(whole, self.tuning)
        return found or self.exact(support, node)

    def exact(self, support: UsedSets, node: Node) -> list[Cut]:
        """Separate clusters exactly, at the root, as long as that may be done."""
        if node.depth > 0 or self.exact_left == 0:
            return []
        self.exact_left -= 1
        cut = exact_cluster(support, self.tuning, self.part.run.stop.seconds_left)
        return [] if cut is None else [cut]

    def ran_dry(self, plain: int, gaps: list[float]) -> bool:
        """Whether it is time for local cuts: plain ones are few.

        In large parts few plain cuts still bring much, so these go on until they stall.
        """
        return stalled(gaps, self.tuning.stall) if self.large else plain < self.tuning.dry

    def find_local(self, support: UsedSets, *, urgent: bool) -> list[Cut]:
        """Return local cuts of the chosen arm; if there are none and that is urgent, of others."""
        while True:
            found = self.look(support)
            if len(found) < self.tuning.sparse:
                self.bandit.open(self.arm + 1)
            last = self.arm >= self.last_arm
            if found or last or not urgent or self.part.stopped():
                return found
            self.arm += 1

    def look(self, support: UsedSets) -> list[Cut]:
        """Look for local cuts by the chosen arm; the last one of large parts passes through."""
        if self.through is not None and self.arm == self.last_arm:
            lp, stopped = self.lp, self.part.stopped
            return through_cuts(self.through, lp.sets, self.listed, lp.x, stopped)
        binding, level = self.lp.binding(), self.arm - 1
        return self.local.separate(support, binding, level, self.part.stopped)

    @property
    def local_work(self) -> int:
        """Work spent on local cuts."""
        return self.local.work + (self.through.work if self.through else 0)

    def learn(self, gaps: list[float]) -> None:
        """Tell the arms what the last one brought and cost, plain and local cuts apart."""
        work = self.lp.work + self.tuning.round_work * self.rounds, self.local_work
        if len(gaps) > 1:
            gain, share = shrinkage(*gaps[-2:]), self.local_share
            common = work[0] - self.work_before[0]
            if self.arm:
                extra = work[1] - self.work_before[1]
                self.bandit.learn(self.arm, share * gain, share * common + extra)
            if share < 1.0:
                self.bandit.learn(0, (1.0 - share) * gain, (1.0 - share) * common)
            self.bandit.wait()
        self.work_before = work

    def tighten(self, node: Node) -> bool:
        """Raise the bound of a node and remove what cannot improve; whether it is closed."""
        bound, rise = self.lp.lagrangian()
        before = int(node.left.sum())
        if self.absorb(node, self.step(), bound, rise):
            return True
        if int(node.left.sum()) < before:
            self.lp.leave_open(node.left)
        return False

    def repeat(self, root: Node) -> bool:
        """Repeat rounds of an earlier run; whether that closes the root."""
        for prices in self.part.begun:
            self.lp.price(prices)
            if self.tighten(root):
                return True
        if self.part.begun:
            self.lp.begin_anew()
            self.bandit.open(1)
        return False

    def absorb(self, node: Node, step: Step, bound: float, rise: Floats) -> bool:
        """Take in what a round shows: its bound, and what it removes; whether it closes the node.

        ``rise`` is by how much the bound rises, per set, if that set is taken.
        """
        if bound > node.bound or node.best is None:
            node.bound, node.best = max(node.bound, bound), step
        if node.depth == 0 and bound < np.inf:
            self.part.raise_bound(min(bound, self.part.cost), self.engine)
        if bound > self.goal:
            node.steps.append(step)
            if node.depth == 0:
                self.part.prove(self.engine)
            return True
        hopeless = bound + rise > self.goal
        if node.depth == 0:
            hopeless[self.part.choice] = False
        hopeless &= node.left
        if hopeless.any():
            node.steps.append(step)
            if hopeless.sum() > TELLING * node.left.sum():
                node.telling.append(step)
            node.left = node.left & ~hopeless
            if node.depth == 0:
                self.lp.remove(hopeless)
        return False

    def step(self) -> Step:
        """Return the present cuts and multipliers as a step of the proof."""
        used = np.flatnonzero(self.lp.y > 0.0)
        return [self.lp.cuts[i] for i in used], self.lp.y[used]

    def follow_up(self, node: Node) -> bool:
        """Remove what closes a cycle with forced arcs; False if no network is left."""
        from parentage.kernels.digraph import shut_cycles

        node.steps.append(None)
        left = node.left.copy()
        alive = bool(shut_cycles(*self.lp.sets, left))
        node.left = left
        return alive

    def shown_empty(self, node: Node) -> bool:
        """Whether the ray of an infeasible programme lifts the bound above the incumbent."""
        ray = self.lp.ray()
        if len(ray) == 0:
            return False
        for scale in (1.0, 2.0**7, 2.0**14, 2.0**20):
            for sign in (1.0, -1.0):
                self.lp.y = np.maximum(0.0, sign * scale * ray)
                if self.lp.lagrangian()[0] > self.goal:
                    node.steps.append(self.step())
                    return True
        return False


def root_lagrangian(part: Part) -> tuple[float, Floats] | None:
    """Return L(y) of the best round of the root, and its rise per set; None without cutting.

    All sets count, those that were removed, too.
    """
    root = part.root
    if root is None or root.best is None:
        return None
    cuts, y = root.best
    problem, none = part.problem, np.zeros(part.problem.m, np.bool_)
    return bound_of(problem, [cut_row(problem.members, cut, none) for cut in cuts], y, none)


def solve_root(
    part: Part, *, pool: Executor | None = None, work: float = np.inf
) -> tuple[Cutter, Node]:
    """Cut at the root, beginning with the cuts that the part has; return the cutter and the root.

    From then on the cuts of the part are those of its linear programme, as it is. Rounds of an
    earlier run bound and remove sets before the first programme is solved.
    """
    cutter = Cutter(part, pool, work)
    take = cutter.lp.put_by if part.begun else cutter.lp.add
    take(part.cuts)
    part.cuts = cutter.lp.cuts
    part.root = root = cutter.root()
    if not cutter.repeat(root):
        cutter.work(root)
    part.root_bound = part.bound
    return cutter, root


def branch(cutter: Cutter, root: Node) -> None:
    """Branch below a root that was cut, until its part is proven, the run or the work ends."""
    part, heap, pushed = cutter.part, list[tuple[float, int, Node]](), count()
    node, state = root, "open"
    cutter.engine = BRANCHING
    while True:
        waiting = [] if state == "closed" else [node]
        if state == "open" and not cutter.exhausted():
            waiting = split_node(cutter, node)
        for one in waiting:
            heapq.heappush(heap, (one.bound, next(pushed), one))
        least = heap[0][0] if heap else math.inf
        part.tick(BRANCHING)
        if state == "stopped" or part.stopped() or cutter.exhausted():
            part.raise_bound(min(least, part.cost), BRANCHING)
            return
        if least > cutter.goal:
            break
        part.raise_bound(min(least, part.cost), BRANCHING)
        if not heap:
            break
        node = heapq.heappop(heap)[2]
        state = cutter.work(node)
        cutter.nodes += 1
    part.prove(BRANCHING)


def split_node(cutter: Cutter, node: Node) -> list[Node]:
    """Return the nodes with and without an arc; none of one with one choice left, now closed."""
    problem = cutter.part.problem
    arc = fractional_arc(cutter.lp.sets, cutter.lp.x) or any_arc(problem, node.left)
    if arc is None:
        cutter.settle(node)
        return []
    without, with_ = (
        Node(left, node.bound, node.depth + 1) for left in sides_of(problem, arc, node.left)
    )
    node.branch = (*arc, without, with_)
    return [with_, without]


def sides_of(problem: Problem, arc: Arc, left: Flags) -> tuple[Flags, Flags]:
    """Return the sets left without and with an arc u → v."""
    u, v = arc
    own = slice(*problem.offsets[v : v + 2])
    holds = problem.masks[own, u >> 6] >> np.uint64(u & 63) & np.uint64(1) == 1
    without, with_ = left.copy(), left.copy()
    without[own] &= ~holds
    with_[own] &= holds
    return without, with_


def fractional_arc(sets: Sets, x: Floats) -> Arc | None:
    """Return the arc of a solution that is least decided, together with its reverse."""
    arc = UsedSets.of(sets, x).matrix
    fraction = np.minimum(arc, 1.0 - arc)
    fraction = np.where(fraction > FRACTIONAL, fraction, 0.0)
    value = np.where(fraction > 0.0, fraction + 0.3 * fraction.T, 0.0)
    v, u = np.unravel_index(np.argmax(value), value.shape)
    return (int(u), int(v)) if value[v, u] > 0.0 else None


def any_arc(problem: Problem, left: Flags) -> Arc | None:
    """Return an arc that some set left of a child has and another has not, if any is so."""
    for v, (low, high) in enumerate(problem.spans()):
        held = unpack(problem.masks[low:high][left[low:high]], problem.n)
        apart = held.any(axis=0) & ~held.all(axis=0)
        if apart.any():
            return int(apart.argmax()), v
    return None
