"""All networks within a distance of the optimum, each once, grouped by equivalence class.

The table of the dynamic programme over subsets says, for every set of variables that still has
to be arranged, what the rest costs at least; so a depth-first search that removes one sink after
the other never enters a branch without a result. A network is reached once although it has many
orders: always the sink with the largest index goes first, and a variable with a larger index
than the one removed may go only after one of its children went.

For scores that are logarithms of probabilities (BIC, BDeu) a distance ln f means: at most f
times less probable than the best network (Liao et al. 2019, "Finding all Bayesian network
structures within a factor of optimal").
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from parentage.errors import DataWarning, InputError, ResourceError, UnprovenWarning
from parentage.network.equivalence import adjacent_pairs, v_structures
from parentage.optimise.prepare import allowed_problem, check_lists, prepare
from parentage.optimise.problem import rounding
from parentage.optimise.subsets import needed_memory, subset_table
from parentage.scoring.account import Account
from parentage.scoring.catalogue import by_name, not_equivalent
from parentage.work.memory import require_memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parentage.network.network import Network
    from parentage.optimise.problem import Floats, Problem
    from parentage.scoring.constraints import Constraints
    from parentage.scoring.lists import CandidateLists
    from parentage.work.stop import Stop

LIMIT = 100_000
"""Networks that are enumerated unless a larger limit is given."""


@dataclass(frozen=True)
class NearOptimal:
    """Every network whose score is at most ``gap`` below the best.

    Parameters
    ----------
    names
        Variable names.
    score
        The best score.
    gap
        The distance that was asked for.
    scores
        Score of every network, falling.
    parents
        For every network, and every variable, the indices of its parents.
    classes
        The networks of each Markov equivalence class, as indices, best class first.
    complete
        Whether these are all; False when time or an interrupt ended the enumeration, or when the
        lists do not reach that far.
    """

    names: tuple[str, ...]
    score: float
    gap: float
    scores: tuple[float, ...]
    parents: tuple[tuple[tuple[int, ...], ...], ...]
    classes: tuple[tuple[int, ...], ...]
    complete: bool
    score_name: str | None = None
    """The score behind the lists; None if it is not known."""

    @property
    def about_directions(self) -> str:
        """Say that the networks of a class differ in score, where they do."""
        if self.score_name is None or by_name(self.score_name).equivalent:
            return ""
        return not_equivalent(self.score_name)

    def __len__(self) -> int:
        return len(self.scores)

    @cached_property
    def networks(self) -> tuple[Network, ...]:
        """The networks themselves."""
        from parentage.network.network import Network

        return tuple(Network(self.names, parents) for parents in self.parents)

    def __repr__(self) -> str:
        return (
            f"NearOptimal: {len(self)} network{'s' if len(self) > 1 else ''} in "
            f"{len(self.classes)} class{'es' if len(self.classes) > 1 else ''}, "
            f"score {self.score:.6f} and at most {self.gap:.6g} below"
        )


def within(
    lists: CandidateLists,
    *,
    factor: float | None = None,
    gap: float | None = None,
    limit: int = LIMIT,
    constraints: Constraints | None = None,
    stop: Stop | None = None,
) -> NearOptimal:
    """Return all networks whose score is within a factor, or a gap, of the optimum.

    Parameters
    ----------
    lists
        Candidate lists that hold every set such a network can have. Lists pruned for the
        optimum alone do not, nor do lists that were cut short; their account says how far they
        reach, and a warning is given if that is less than what is asked for.
    factor
        Networks at most this many times less probable than the best: a gap of ln ``factor``
        (in the unit of the scores).
    gap
        Networks at most this much below the best score. Give one of the two.
    limit
        The largest number of networks.
    constraints
        Required and forbidden arcs, in-degrees, tiers.
    stop
        Ends the enumeration early: what was found by then is returned, and says so.

    Raises
    ------
    InputError
        Neither or both of factor and gap, or a negative distance.
    ResourceError
        More networks than ``limit``, or more variables than memory allows.

    Examples
    --------
    >>> from parentage.scoring.lists import CandidateLists
    >>> lists = CandidateLists.from_families(
    ...     {"a": [(-2.0, []), (-1.5, ["b"])], "b": [(-2.0, []), (-1.5, ["a"])]})
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):  # nothing is known of these lists
    ...     near = within(lists, gap=0.7)
    >>> near.scores, near.classes
    ((-3.5, -3.5, -4.0), ((0, 1), (2,)))
    """
    gap = _distance(lists, factor, gap)
    check_lists(lists)
    _warn_if_incomplete(lists, gap)
    require_memory(
        needed_memory(lists.n_variables),
        f"finding all networks of {lists.n_variables} variables",
        "leave out variables, or learn the best network alone",
    )
    problem = allowed_problem(lists, constraints)
    pruned = prepare(lists, constraints)
    best = subset_table(pruned, pruned.cost)
    if best is None:
        raise AssertionError("nobody stops this table")
    slack = rounding(lists) * (lists.n_variables * lists.max_in_degree + 1)
    found: list[tuple[float, tuple[int, ...]]] = []
    complete = reaches(lists, gap)
    for chosen in _networks(problem, best, float(best[-1]) + gap + slack):
        if len(found) == limit:
            raise ResourceError(
                f"there are more than {limit} networks within {gap:.6g} of the best score; "
                "ask for a smaller factor, or allow more (limit=…)"
            )
        found.append((math.fsum(float(lists.scores[i]) for i in chosen), chosen))
        if stop is not None and stop.reason() is not None:
            complete = False
            break
    found.sort(key=lambda entry: (-entry[0], entry[1]))
    parents = tuple(
        tuple(tuple(int(p) for p in lists.parents_of(i)) for i in chosen) for _, chosen in found
    )
    scores = tuple(score for score, _ in found)
    classes = equivalence_classes(parents)
    origin = lists.account
    name = origin.score if isinstance(origin, Account) else None
    return NearOptimal(lists.names, scores[0], gap, scores, parents, classes, complete, name)


def equivalence_classes(
    networks: tuple[tuple[tuple[int, ...], ...], ...],
) -> tuple[tuple[int, ...], ...]:
    """Group networks with the same skeleton and the same v-structures (Verma and Pearl 1990)."""
    classes: dict[object, list[int]] = {}
    for i, parents in enumerate(networks):
        key = frozenset(adjacent_pairs(parents)), frozenset(v_structures(parents))
        classes.setdefault(key, []).append(i)
    return tuple(tuple(members) for members in classes.values())


def _distance(lists: CandidateLists, factor: float | None, gap: float | None) -> float:
    """Turn a factor into a gap, in the unit of the scores."""
    if (factor is None) == (gap is None):
        raise InputError("give either a factor or a gap")
    if factor is not None:
        if not 1 <= factor < math.inf:
            raise InputError(f"the factor must be at least 1, not {factor}")
        return math.log(factor) / lists.account.unit
    if gap is None or not 0 <= gap < math.inf:
        raise InputError(f"the gap must not be negative, but is {gap}")
    return gap


def reaches(lists: CandidateLists, gap: float) -> bool:
    """Whether every network within the gap is made of these lists, as far as is known."""
    return lists.account.complete and gap <= lists.account.reach * (1 + 1e-12)


def _warn_if_incomplete(lists: CandidateLists, gap: float) -> None:
    account = lists.account
    if isinstance(account, Account) and account.complete_to is not None:
        warnings.warn(
            UnprovenWarning(
                f"networks may be missing: scoring was cut short, so that sets of more than "
                f"{account.complete_to} parents were not searched"
            ),
            stacklevel=3,
        )
    if gap > account.reach * (1 + 1e-12):
        warnings.warn(
            DataWarning(
                f"networks may be missing: these lists are known to be complete up to "
                f"{account.reach:.6g} below the optimum, not {gap:.6g}; score the table with "
                "that width"
            ),
            stacklevel=3,
        )


def _networks(problem: Problem, best: Floats, most: float) -> Iterator[tuple[int, ...]]:
    """Yield the sets (as indices into the lists) of every network that costs at most ``most``."""
    n = problem.n
    families = []
    for span in problem.spans():
        distinct: dict[int, tuple[float, int]] = {}
        for i in range(*span):
            entry = float(problem.cost[i]), int(problem.sets[i])
            distinct.setdefault(int(problem.masks[i, 0]), entry)
        families.append(distinct)
    chosen = np.zeros(n, np.int64)

    def remove_sinks(left: int, waiting: int, cost: float) -> Iterator[tuple[int, ...]]:
        """Remove sinks from ``left``; those in ``waiting`` need a child removed first."""
        if left == 0:
            yield tuple(chosen.tolist())
            return
        for v in range(n):
            if not (left >> v & 1) or waiting >> v & 1:
                continue
            rest = left ^ (1 << v)
            larger = rest >> (v + 1) << (v + 1)
            for mask, (own, index) in families[v].items():
                if cost + own + best[rest] > most:
                    break
                if mask & ~rest:
                    continue
                chosen[v] = index
                yield from remove_sinks(rest, (waiting | larger) & ~mask & rest, cost + own)

    yield from remove_sinks((1 << n) - 1, 0, 0.0)
