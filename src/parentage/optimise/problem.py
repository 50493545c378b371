"""The problem the engines solve: candidate lists, filtered, pruned and put into bit masks.

Choose one set per variable so that no cycle arises and the total cost is least, where the

    cost of a set = best score of its child − its score + δ · number of its parents.

Costs are never negative, so zero is a bound at once, and they are small, so that solvers lose
no digits. δ is the size of rounding errors in a sum of scores: totals that differ by less count
as equal and go to the network with fewer arcs. A set is dropped when another set of the child,
contained in it, costs no more and scores no less (the subset fits wherever the superset does).

:func:`prepare` checks the lists, applies the constraints and makes sure that a network exists. An
acyclic choice exists exactly when variables can be placed one after the other, each with a set
among those placed before. What cannot be placed is a group in which every set of every variable
holds another one of the group; a smallest such group is what the error names.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.errors import InfeasibleError, InputError, ListsError, listed
from parentage.scoring.account import limits_by_name
from parentage.scoring.constraints import Constraints
from parentage.scoring.lists import masks_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parentage.arrays import Flags, Floats, Ints, Numbers, Words
    from parentage.network.network import Network
    from parentage.scoring.account import Limit
    from parentage.scoring.lists import CandidateLists


FLAGS_AT_ONCE = 2**26
"""Flags, a byte each, that are laid out at a time."""


LARGEST_SCORE = 1e100
"""Larger scores, added up and multiplied by what solvers need, are not numbers any more."""


class Sets(NamedTuple):
    """Candidate sets by child, as the kernels take them: CSR, twice.

    The sets of variable ``v`` are ``offsets[v] … offsets[v + 1] − 1``, the parents of set ``i`` are
    ``parents[starts[i]:starts[i + 1]]``.
    """

    offsets: Ints
    starts: Ints
    parents: Ints

    def parents_of(self, i: int) -> Ints:
        """Return the parents of set ``i``, rising."""
        return self.parents[self.starts[i] : self.starts[i + 1]]


@dataclass(frozen=True, eq=False)
class Problem:
    """Candidate sets of ``n`` variables, ``m`` altogether, by child and rising cost.

    Parameters
    ----------
    variables
        ``int64[n]``: the variables, as indices into the lists.
    offsets
        ``int64[n + 1]``: the sets of variable ``v`` are ``offsets[v] … offsets[v + 1] − 1``.
    masks
        ``uint64[m, W]``: the sets as bits, numbered as in ``variables``.
    cost
        ``float64[m]``.
    sets
        ``int64[m]``: the sets, as indices into the lists.
    """

    variables: Ints
    offsets: Ints
    masks: Words
    cost: Floats
    sets: Ints

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self.variables)

    @property
    def m(self) -> int:
        """Number of sets."""
        return len(self.cost)

    @property
    def child(self) -> Ints:
        """``int64[m]``: the child of every set."""
        return np.repeat(np.arange(self.n), np.diff(self.offsets))

    @cached_property
    def members(self) -> Sets:
        """The sets with their parents in a row."""
        row, word = np.nonzero(self.masks)
        left = self.masks[row, word]
        rows, parents = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        while len(left):
            lowest = left & (~left + np.uint64(1))
            rows.append(row)
            parents.append(64 * word + np.frexp(lowest.astype(np.float64))[1] - 1)
            left ^= lowest
            more = left != 0
            row, word, left = row[more], word[more], left[more]
        found, parent = np.concatenate(rows), np.concatenate(parents)
        order = np.argsort(found * self.n + parent)
        starts = offsets_of(np.bincount(found, minlength=self.m))
        return Sets(self.offsets, starts, parent[order])

    @cached_property
    def numbers(self) -> Numbers:
        """``uint16[m, K]``: the parents of every set in a row, padded with ``n``."""
        return numbers_of(self.members.starts, self.members.parents, self.n)

    @cached_property
    def orders(self) -> OrderSpace:
        """The problem as the order search takes it."""
        return OrderSpace.of(self)

    def spans(self) -> list[tuple[int, int]]:
        """First set, and the one after the last, of every variable."""
        return list(pairwise(self.offsets.tolist()))

    def cheapest(self) -> float:
        """Sum of the cheapest set of every variable: what no choice can undercut."""
        return float(np.minimum.reduceat(self.cost, self.offsets[:-1]).sum()) if self.n else 0.0

    def only(self, keep: Flags) -> Problem:
        """Return the problem with these sets only."""
        counts = np.bincount(self.child[keep], minlength=self.n)
        return Problem(
            self.variables, offsets_of(counts), self.masks[keep], self.cost[keep], self.sets[keep]
        )

    def pruned(self) -> Problem:
        """Return the problem without dominated sets.

        A set that scores more than its subset stays even if it costs more, by less than δ: proofs
        compare scores.
        """
        keep = undominated(self.offsets, self.masks)
        if (np.diff(self.sets) < 0).any():  # lists are sorted by score
            by_score = np.lexsort((self.sets, self.child))
            keep[by_score] |= undominated(self.offsets, self.masks[by_score])
        return self.only(keep)

    def part(self, inside: Ints, *, prune: bool = True) -> Problem:
        """Return the problem of some variables when all others come before them.

        Parents outside cost nothing in acyclicity, so sets are compared by what they hold
        inside; those that become dominated go, if they are to be pruned.
        """
        if prune and len(inside) == 1:  # nothing is left of any set: the first, the cheapest, stays
            first = self.offsets[inside]
            empty = np.zeros((1, 1), np.uint64)
            offsets = np.arange(2, dtype=np.int64)
            return Problem(
                self.variables[inside], offsets, empty, self.cost[first], self.sets[first]
            )
        spans = self.spans()
        none = np.zeros(0, np.int64)
        rows = np.concatenate([none, *(np.arange(*spans[v]) for v in inside)])
        masks = np.empty((len(rows), n_words(len(inside))), np.uint64)
        for some in slices(len(rows), self.n):
            masks[some] = pack(unpack(self.masks[rows[some]], self.n)[:, inside])
        part = Problem(
            self.variables[inside],
            offsets_of(np.diff(self.offsets)[inside]),
            masks,
            self.cost[rows],
            self.sets[rows],
        )
        return part.pruned() if prune else part

    def parts(self, *, prune: bool = True) -> list[Problem]:
        """Split into strongly connected parts, smallest first; a part of one is trivial.

        An arc between two parts is on no cycle, so each part is solved apart. Comparing sets by
        their members inside can break a part up again; that is repeated until it does not. Where
        nothing may be pruned, sets that differ only outside stay apart.
        """
        from parentage.kernels.digraph import strong_components

        reach = np.bitwise_or.reduceat(self.masks, self.offsets[:-1], axis=0)
        above = unpack(reach, self.n)
        label = strong_components(
            offsets_of(above.sum(axis=1)), np.nonzero(above)[1].astype(np.int64)
        )
        n_parts = int(label.max(initial=-1)) + 1
        if n_parts == 1:
            return [self]
        found: list[Problem] = []
        by_label = np.argsort(label, kind="stable")
        for inside in np.split(by_label, np.cumsum(np.bincount(label))[:-1]):
            part = self.part(inside, prune=prune)
            found.extend(part.parts() if prune and part.n > 1 else [part])
        return sorted(found, key=lambda problem: problem.n)


@dataclass(frozen=True, eq=False)
class OrderSpace:
    """A problem in which every order is possible: children without an empty set get one.

    Its price is above that of any network, so the search leaves it behind.
    ``real[m]`` gives the set of the problem, −1 for such an empty set. The arrays are those of
    :mod:`parentage.kernels.orders`.
    """

    offsets: Ints
    sets: Numbers
    cost: Floats
    reach: Words
    real: Ints

    @classmethod
    def of(cls, problem: Problem) -> OrderSpace:
        """Take the sets of a problem."""
        reach = np.bitwise_or.reduceat(problem.masks, problem.offsets[:-1], axis=0)
        space = cls(problem.offsets, problem.numbers, problem.cost, reach, np.arange(problem.m))
        return space.with_empty(problem.numbers[problem.offsets[1:] - 1, 0] < problem.n)

    @classmethod
    def requiring(
        cls,
        offsets: Ints,
        sets: Numbers,
        cost: Floats,
        reach: Words,
        real: Ints,
        required: Sequence[Sequence[int]],
    ) -> OrderSpace:
        """Add to every set of a child its required parents, and an empty set to such a child.

        ``sets`` are numbers of parents.
        """
        n, longest = len(required), max(map(len, required), default=0)
        always = np.full((n, longest), n, np.uint16)
        reach = reach.copy()
        for v, parents in enumerate(required):
            always[v, : len(parents)] = parents
            for p in parents:
                reach[v, p >> 6] |= np.uint64(1) << np.uint64(p & 63)
        both = np.hstack([np.repeat(always, np.diff(offsets), axis=0), sets])
        both.sort(axis=1)  # numbers stand in front of padding
        lacking = np.array([len(parents) > 0 for parents in required])
        return cls(offsets, both, cost, reach, real).with_empty(lacking)

    def with_empty(self, lacking: Flags) -> OrderSpace:
        """Return the space with an empty set, after its others, for children that have none."""
        at = self.offsets[1:][lacking]
        most = np.maximum.reduceat(self.cost, self.offsets[:-1]).sum()
        return OrderSpace(
            self.offsets + offsets_of(lacking),
            np.insert(self.sets, at, len(lacking), axis=0),
            np.insert(self.cost, at, 1.0 + most),
            self.reach,
            np.insert(self.real, at, -1),
        )

    @property
    def arrays(self) -> tuple[Ints, Numbers, Floats, Words]:
        """What kernels that climb take: offsets, sets, cost and reach."""
        return self.offsets, self.sets, self.cost, self.reach

    def choice(self, order: Ints) -> Ints | None:
        """Return the sets an order leads to; None if some variable has none."""
        found = self.real[self.fit(order)]
        return None if (found < 0).any() else found

    def fit(self, order: Ints) -> Ints:
        """Return the set that every variable has under an order, as an index into ``sets``."""
        from parentage.kernels.orders import new_work, refit

        fit = np.empty(len(order), np.int64)
        refit(order, fit, 0, len(order), self.offsets, self.sets, new_work())
        return fit


def offsets_of(sizes: npt.NDArray[np.integer[Any] | np.bool_]) -> Ints:
    """Turn the sizes of blocks into where they start, and where the last one ends."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])


def n_words(n: int) -> int:
    """Number of 64-bit words for ``n`` variables, at least one."""
    return max(1, -(-n // 64))


def slices(rows: int, n: int) -> list[slice]:
    """Cut many rows of ``n`` flags into slices of bounded memory."""
    step = max(1, FLAGS_AT_ONCE // max(1, n))
    return [slice(first, first + step) for first in range(0, rows, step)]


def pack(flags: Flags) -> Words:
    """Turn rows of flags ``bool[m, n]`` into masks ``uint64[m, W]``."""
    m, n = flags.shape
    wide = np.zeros((m, 64 * n_words(n)), np.bool_)
    wide[:, :n] = flags
    return np.packbits(wide, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def unpack(masks: Words, n: int) -> Flags:
    """Turn masks ``uint64[m, W]`` into rows of flags ``bool[m, n]``."""
    octets = np.ascontiguousarray(masks.astype("<u8")).view(np.uint8)
    return np.unpackbits(octets, axis=1, bitorder="little")[:, :n].astype(np.bool_)


def rounding(lists: CandidateLists) -> float:
    """Return δ: sums of scores that differ by less than this are equal but for rounding."""
    size = np.abs(lists.scores)
    largest = np.maximum.reduceat(size, lists.offsets[:-1]) if lists.n_sets else size
    return float(2.0**-48 * max(1.0, largest.sum()))


def make_problem(lists: CandidateLists, allowed: Flags) -> Problem:
    """Build the problem of all variables from the allowed sets; every child must have one."""
    n = lists.n_variables
    child, sizes = lists.children, np.diff(lists.starts)
    best = np.maximum.reduceat(np.where(allowed, lists.scores, -np.inf), lists.offsets[:-1])
    cost = best[child] - lists.scores + rounding(lists) * sizes
    order = np.lexsort((np.arange(lists.n_sets), sizes, cost, child))
    order = order[allowed[order]].astype(np.int64)
    return Problem(
        np.arange(n),
        offsets_of(np.bincount(child[order], minlength=n)),
        masks_of(lists.n_variables, order, lists.starts, lists.parents),
        cost[order],
        order,
    )


def memory_of_sets(n: int, sets: int, parents: int) -> int:
    """Return the peak, in bytes, of preparing so many sets: masks twice, their orders, parents."""
    flags = min(FLAGS_AT_ONCE, sets * n)
    return 16 * n_words(n) * sets + 80 * sets + 48 * parents + flags


def undominated(offsets: Ints, masks: Words) -> Flags:
    """Mark the sets, cut by child, that contain no set of the same child before them.

    The sets of a child stand by rising cost, so an earlier subset is never dearer and can take the
    place of the later set in any network.
    """
    from parentage.kernels.subsets import first_subsets

    first = first_subsets(offsets, masks)
    found: Flags = (first < 0) | (first > np.arange(len(first)))
    return found


def numbers_of(starts: Ints, parents: Ints, n: int) -> Numbers:
    """Return sets given as CSR in rows of numbers, padded with ``n``."""
    sizes = np.diff(starts)
    rows = np.full((len(sizes), max(1, int(sizes.max(initial=0)))), n, np.uint16)
    rows[np.arange(rows.shape[1]) < sizes[:, None]] = parents
    return rows


def feasible_order(problem: Problem) -> tuple[Ints, int]:
    """Return an order in which each variable has a set among its predecessors, as far as it goes.

    With it the number of variables that could be placed; the others block each other.
    """
    from parentage.kernels import orders

    order, work = np.empty(problem.n, np.int64), orders.new_work()
    placed = orders.place_in_order(problem.offsets, problem.numbers, order, work)
    return order, int(placed)


def prepare(lists: CandidateLists, constraints: Constraints | None = None) -> Problem:
    """Return the problem of all variables, ready to be split and solved.

    Raises
    ------
    ListsError
        Lists that are broken or have no acyclic choice.
    InfeasibleError
        Constraints that contradict each other or the lists.
    """
    refuse_broken_lists(lists)
    problem = allowed_problem(lists, constraints).pruned()
    blocked = blocked_group(problem)
    if not blocked:
        return problem
    names = listed([lists.names[v] for v in blocked])
    if constraints and not blocked_group(allowed_problem(lists, None)):
        raise InfeasibleError(
            f"these constraints allow no acyclic network: every allowed set of {names} contains "
            f"another of them{_arcs_among(constraints, [lists.names[v] for v in blocked])}; relax "
            "one of these constraints, or score the table under them to get all the sets they allow"
        )
    raise ListsError(
        f"these lists allow no acyclic network: every set of {names} contains another of them; "
        "add an empty set to one of these lists"
    )


def allowed_problem(lists: CandidateLists, constraints: Constraints | None) -> Problem:
    """Return the problem of all variables with every set the constraints allow."""
    allowed = np.ones(lists.n_sets, np.bool_)
    if constraints:
        constraints.check(lists.names)
        allowed = allowed_sets(lists, constraints)
    return make_problem(lists, allowed)


def refuse_broken_lists(lists: CandidateLists) -> None:
    """Refuse variables without sets, scores that are not numbers, and impossible parents."""
    counts = np.diff(lists.offsets)
    if (counts == 0).any():
        raise ListsError(
            f"{lists.names[int(np.argmin(counts))]!r} has no candidate set; add the empty one"
        )
    child = lists.children
    wrong = np.flatnonzero(~(np.abs(lists.scores) <= LARGEST_SCORE))
    if len(wrong):
        raise ListsError(
            f"{lists.names[child[wrong[0]]]!r} has a set with the score "
            f"{lists.scores[wrong[0]]}; scores must be finite numbers of at most {LARGEST_SCORE:g}"
        )
    outside = (lists.parents < 0) | (lists.parents >= lists.n_variables)
    if outside.any():
        raise ListsError(f"parent {int(lists.parents[outside][0])} is not the index of a variable")
    below = child[lists.owners]
    own = np.flatnonzero(below == lists.parents)
    if len(own):
        raise ListsError(f"{lists.names[below[own[0]]]!r} has itself as a parent; delete that set")


def allowed_sets(lists: CandidateLists, constraints: Constraints) -> Flags:
    """Mark the sets the constraints allow; every child must keep one.

    Raises
    ------
    InfeasibleError
        A child none of whose sets is allowed; the message says what they break.
    """
    sizes, child, owners = np.diff(lists.starts), lists.children, lists.owners
    arcs = child[owners], lists.parents
    required = np.zeros((lists.n_variables, lists.n_variables), np.bool_)
    for name, parents in constraints.required_parents.items():
        required[lists.index(name), [lists.index(parent) for parent in parents]] = True
    n = lists.n_variables
    limits = [min(n, constraints.max_parents.get(name, n)) for name in lists.names]
    broken = np.bincount(owners[constraints.barred(lists.names)[arcs]], minlength=lists.n_sets)
    present = np.bincount(owners[required[arcs]], minlength=lists.n_sets)
    allowed: Flags = (
        (broken == 0)
        & (present == required.sum(axis=1)[child])
        & (sizes <= np.array(limits, np.int64)[child])
    )
    left = np.bincount(child[allowed], minlength=lists.n_variables)
    if (left == 0).any():
        _refuse_child(lists, constraints, int(np.argmin(left)))
    return allowed


def _refuse_child(lists: CandidateLists, constraints: Constraints, v: int) -> None:
    """Say what all the sets of a child break."""
    name = lists.names[v]
    broken: dict[str, None] = {}
    for _, members in lists.candidates(v):
        broken.update(dict.fromkeys(constraints.violated(name, [lists.names[p] for p in members])))
    raise InfeasibleError(
        f"every candidate set of {name!r} violates a constraint: {listed(list(broken))}; relax "
        "one of them, or score the table under these constraints to get all the sets they allow"
    )


def blocked_group(problem: Problem) -> list[int]:
    """Return a smallest group of variables that block each other, nothing if none does."""
    order, placed = feasible_order(problem)
    group = np.sort(order[placed:])
    flags = unpack(problem.masks, problem.n) if len(group) else np.zeros((0, 0), np.bool_)
    for v in group.copy():
        if v in group:
            smaller = _blocked_within(problem, flags, group[group != v])
            group = smaller if len(smaller) else group
    return [int(v) for v in group]


def _blocked_within(problem: Problem, flags: Flags, group: Ints) -> Ints:
    """Return the largest part of a group whose variables still block each other."""
    while True:
        stuck = [
            v
            for v in group
            if flags[problem.offsets[v] : problem.offsets[v + 1]][:, group].any(axis=1).all()
        ]
        if len(stuck) == len(group):
            return group
        group = np.array(stuck, np.int64)


def _arcs_among(constraints: Constraints, names: list[str]) -> str:
    """Name the required arcs inside a group."""
    arcs = [f"{p} → {c}" for p, c in sorted(constraints.required) if p in names and c in names]
    return f" (required: {listed(arcs)})" if arcs else ""


def limited(
    lists: CandidateLists,
    max_parents: Limit,
    constraints: Constraints | None,
) -> Constraints:
    """Return all that restricts the choice: constraints and limits on parents together."""
    given = constraints or Constraints()
    by_name = limits_by_name(lists.names, max_parents)
    return given.merge(Constraints(max_parents=by_name)) if by_name else given


def check_start(start: Network, names: Sequence[str]) -> None:
    """Refuse a network to start from that has other variables than those there are.

    Raises
    ------
    InputError
        A variable is in one only.
    """
    if odd := set(start.names) ^ set(names):
        raise InputError(
            f"the network to start from has other variables: {min(odd)!r} is in only one of them"
        )
