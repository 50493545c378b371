"""Before the search: check the lists, apply the constraints, make sure that a network exists.

An acyclic choice exists exactly when variables can be placed one after the other, each with a
set among those placed before. What cannot be placed is a group in which every set of every
variable holds another one of the group; a smallest such group is what the error names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parentage.errors import InfeasibleError, ListsError
from parentage.optimise.problem import feasible_order, make_problem, unpack

if TYPE_CHECKING:
    from parentage.optimise.problem import Flags, Ints, Problem
    from parentage.scoring.constraints import Constraints
    from parentage.scoring.lists import CandidateLists

LARGEST_SCORE = 1e100
"""Larger scores, added up and multiplied by what solvers need, are not numbers any more."""

SHOWN = 10
"""Names an error message lists before it says how many more there are."""


def prepare(lists: CandidateLists, constraints: Constraints | None = None) -> Problem:
    """Return the problem of all variables, ready to be split and solved.

    Raises
    ------
    ListsError
        Lists that are broken or have no acyclic choice.
    InfeasibleError
        Constraints that contradict each other or the lists.
    """
    check_lists(lists)
    problem = allowed_problem(lists, constraints).pruned()
    blocked = blocked_group(problem)
    if not blocked:
        return problem
    names = _enumerate([lists.names[v] for v in blocked])
    if constraints and not blocked_group(allowed_problem(lists, None)):
        raise InfeasibleError(
            f"with these constraints no acyclic choice is left: every allowed set of {names} "
            f"holds another of them{_arcs_among(constraints, [lists.names[v] for v in blocked])}; "
            "relax one, or score the table under these constraints to get all the sets they allow"
        )
    raise ListsError(
        f"no acyclic choice: every candidate set of {names} holds another of them; "
        "add an empty set to one of these lists"
    )


def allowed_problem(lists: CandidateLists, constraints: Constraints | None) -> Problem:
    """Return the problem of all variables with every set the constraints allow."""
    allowed = np.ones(lists.n_sets, np.bool_)
    if constraints:
        constraints.check(lists.names)
        allowed = allowed_sets(lists, constraints)
    return make_problem(lists, allowed)


def check_lists(lists: CandidateLists) -> None:
    """Refuse variables without sets, scores that are not numbers, and impossible parents."""
    counts = np.diff(lists.offsets)
    if (counts == 0).any():
        raise ListsError(
            f"{lists.names[int(np.argmin(counts))]!r} has no candidate set; add the empty one"
        )
    child = np.repeat(np.arange(lists.n_variables), counts)
    wrong = np.flatnonzero(~(np.abs(lists.scores) <= LARGEST_SCORE))
    if len(wrong):
        raise ListsError(
            f"{lists.names[child[wrong[0]]]!r} has a set with the score "
            f"{lists.scores[wrong[0]]}; scores must be finite numbers of at most {LARGEST_SCORE:g}"
        )
    outside = (lists.parents < 0) | (lists.parents >= lists.n_variables)
    if outside.any():
        raise ListsError(f"parent {int(lists.parents[outside][0])} is not the index of a variable")
    owner = np.repeat(child, np.diff(lists.starts))
    own = np.flatnonzero(owner == lists.parents)
    if len(own):
        raise ListsError(f"{lists.names[owner[own[0]]]!r} has a set that holds itself")


def allowed_sets(lists: CandidateLists, constraints: Constraints) -> Flags:
    """Mark the sets the constraints allow; every child must keep one.

    Raises
    ------
    InfeasibleError
        A child none of whose sets is allowed; the message says what they break.
    """
    sizes = np.diff(lists.starts)
    child = np.repeat(np.arange(lists.n_variables), np.diff(lists.offsets))
    member_of = np.repeat(np.arange(lists.n_sets), sizes)
    arcs = child[member_of], lists.parents
    required = np.zeros((lists.n_variables, lists.n_variables), np.bool_)
    for name, parents in constraints.required_parents.items():
        required[lists.index(name), [lists.index(parent) for parent in parents]] = True
    n = lists.n_variables
    limits = [min(n, constraints.max_parents.get(name, n)) for name in lists.names]
    broken = np.bincount(member_of[constraints.barred(lists.names)[arcs]], minlength=lists.n_sets)
    present = np.bincount(member_of[required[arcs]], minlength=lists.n_sets)
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
        f"no candidate set of {name!r} satisfies the constraints; broken by all or some: "
        f"{_enumerate(list(broken))}; relax one, or score the table under these "
        "constraints to get all the sets they allow"
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
    arcs = [f"{p} -> {c}" for p, c in sorted(constraints.required) if p in names and c in names]
    return f" (required: {_enumerate(arcs)})" if arcs else ""


def _enumerate(items: list[str]) -> str:
    more = len(items) - SHOWN
    return ", ".join(items[:SHOWN]) + (f" and {more} more" if more > 0 else "")
