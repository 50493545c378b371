"""Slow, obvious truth about choosing networks from candidate lists."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

from parentage.scoring.constraints import Constraints
from parentage.scoring.lists import CandidateLists

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np

Parents = tuple[tuple[int, ...], ...]


def is_acyclic(parents: Parents) -> bool:
    """Take away variables without parents until none is left, or none can be taken."""
    left = set(range(len(parents)))
    while True:
        free = {v for v in left if not left & set(parents[v])}
        if not free:
            return not left
        left -= free


def all_networks(lists: CandidateLists) -> Iterator[tuple[float, Parents]]:
    """Every acyclic choice of one set per variable, with its score."""
    options = [list(lists.candidates(v)) for v in range(lists.n_variables)]
    for choice in product(*options):
        parents = tuple(members for _, members in choice)
        if is_acyclic(parents):
            yield math.fsum(score for score, _ in choice), parents


def best_network(lists: CandidateLists) -> tuple[float, int] | None:
    """Best score and, among networks with it, fewest arcs; None if there is no network.

    The best network on a set of variables has a sink, which takes its best set among the rest.
    """
    n = lists.n_variables
    best: dict[frozenset[int], tuple[float, int]] = {frozenset(): (0.0, 0)}
    subsets = sorted((frozenset(v for v in range(n) if s >> v & 1) for s in range(1 << n)), key=len)
    for subset in subsets[1:]:
        options = []
        for sink in subset:
            rest = subset - {sink}
            if rest not in best:
                continue
            score, arcs = best[rest]
            options += [
                (score + own, arcs + len(members))
                for own, members in lists.candidates(sink)
                if rest >= set(members)
            ]
        if options:
            top = max(score for score, _ in options)
            best[subset] = top, min(a for score, a in options if score >= top - 1e-7)
    return best.get(frozenset(range(n)))


def random_lists(rng: np.random.Generator, n: int, largest: int = 4) -> CandidateLists:
    """Lists of every kind: pruned or not, few or many sets, ties, children without empty sets."""
    ties = rng.random() < 0.3
    sparse = rng.random() < 0.3
    without_empty = rng.random() < 0.4
    families: dict[str, list[tuple[float, list[str]]]] = {}
    for v in range(n):
        others = [u for u in range(n) if u != v]
        sets: dict[frozenset[int], float] = {}
        if not without_empty or rng.random() < 0.6:
            sets[frozenset()] = -100.0
        for _ in range(int(rng.integers(1, 4 if sparse else 25))):
            size = int(rng.integers(1, min(largest + 1, n)))
            members = frozenset(int(u) for u in rng.choice(others, size, replace=False))
            gain = float(rng.integers(0, 8)) if ties else float(rng.integers(0, 2000)) / 100
            sets[members] = -100.0 + gain * size
        families[f"v{v}"] = [(s, [f"v{u}" for u in w]) for w, s in sets.items()]
    return CandidateLists.from_families(families)


SCALES: dict[str, Callable[[float], float]] = {
    "hundredths": lambda score: score,
    "thirds": lambda score: score / 3 - 1000.1,
    "small": lambda score: score * 1e-4,
    "millionths": lambda score: round(score) * 1e-6,
    "large": lambda score: score - 1e6 / 3,
    "huge": lambda score: (score - 1e5 / 3) * 1e4,
    "huge, with decimals": lambda score: round(score, 6) - 4e8,
}
"""Sizes of scores: with few decimals and without, below a tolerance of 10⁻⁶ and far above it."""

NEAR = (0.0, 0.0, 1.0, 0.3, 1e-7, 1e-9, 1e-12, -1e-13, -1e-10, -1e-9, -1e-6, -1e-5)
"""By how much a set scores less than its superset; near-ties are as small as rounding errors."""


def varied_lists(rng: np.random.Generator, n: int) -> CandidateLists:
    """Lists with dominated sets, near-ties and scores of every size; a third of them forests."""
    lists = random_lists(rng, n, largest=1 if rng.random() < 0.3 else 4)
    scale = SCALES[str(rng.choice(list(SCALES)))]
    share = rng.random()
    families: dict[str, list[tuple[float, tuple[str, ...]]]] = {}
    for child in lists.names:
        sets = {frozenset(c.parents): c.score for c in lists[child]}
        for members, score in list(sets.items()):
            others = [v for v in lists.names if v != child and v not in members]
            if others and rng.random() < share:
                more = rng.choice(others, int(rng.integers(1, min(3, len(others)) + 1)), False)
                sets.setdefault(members | {str(v) for v in more}, score - float(rng.choice(NEAR)))
        families[child] = [(scale(score), tuple(sorted(w))) for w, score in sets.items()]
    return CandidateLists.from_families(families)


def random_constraints(rng: np.random.Generator, lists: CandidateLists) -> Constraints:
    """Constraints along a random order, so that they do not contradict each other."""
    order = [lists.names[v] for v in rng.permutation(lists.n_variables)]
    arcs = [(a, b) for i, a in enumerate(order) for b in order[i + 1 :]]
    required = frozenset(arc for arc in arcs if rng.random() < 0.08)
    forbidden = frozenset(arc for arc in arcs if rng.random() < 0.1) - required
    cut = int(rng.integers(1, len(order)))
    return Constraints(
        required=required,
        forbidden=forbidden,
        max_parents={order[-1]: 4} if rng.random() < 0.5 else {},
        tiers=(tuple(order[:cut]), tuple(order[cut:])) if rng.random() < 0.3 else (),
    )


def constrained(lists: CandidateLists, constraints: Constraints) -> CandidateLists:
    """The lists without the sets that the constraints do not allow."""
    return CandidateLists.from_families(
        {
            child: [
                (c.score, c.parents) for c in lists[child] if constraints.allowed(child, c.parents)
            ]
            for child in lists.names
        }
    )
