"""Lists, optimum and bound of random tables, with every score and option, against the truth."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

from fuzz.draw import as_table, kinds_of, scoring_keywords
from fuzz.draw import question as make
from fuzz.truth import (
    Question,
    Scores,
    best_total,
    distance_above_subsets,
    families,
    has_cycle,
)
from parentage.errors import ConstraintError, ParentageWarning
from parentage.scoring.candidates import score
from solving import learn_lists

if TYPE_CHECKING:
    from parentage.scoring.lists import CandidateLists

__all__ = ["check", "kinds_of", "make"]

CLOSE = 1e-7
"""Scores closer than this are ties, which may fall either way."""


def check(question: Question) -> None:
    """Compare lists, optimum and bound with the truth.

    Raises
    ------
    AssertionError
        They differ.
    """
    truth = families(question)
    best = best_total(question.n, truth)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ParentageWarning)
        try:
            lists = score(as_table(question), **scoring_keywords(question))
            check_lists(question, truth, lists)
            check_solution(question, truth, best, lists)
        except ConstraintError:
            assert best == -math.inf, "constraints were refused that leave a network"
            return
    assert best > -math.inf, "constraints were accepted that leave no network"


def check_lists(question: Question, truth: Scores, lists: CandidateLists) -> None:
    """Every set that can be needed is listed, no other one, each with its score."""
    found = {}
    for child in range(question.n):
        for value, parents in lists.candidates(child):
            found[child, tuple(sorted(int(p) for p in parents))] = value * question.unit
    for family, value in found.items():
        assert family in truth, f"{family} is listed and not allowed"
        assert abs(value - truth[family]) < CLOSE, (family, value, truth[family])
    for family in truth:
        ahead = distance_above_subsets(truth, family) + (question.width or 0.0)
        if ahead > CLOSE:
            assert family in found, f"{family} is missing, {ahead} above its subsets"
        elif ahead < -CLOSE:
            assert family not in found, f"{family} is listed, {-ahead} below a subset"


def check_solution(question: Question, truth: Scores, best: float, lists: CandidateLists) -> None:
    """The network is one, its score is right, the bound holds, and optimal means optimal."""
    solution = learn_lists(
        lists,
        engine=question.engine,
        seed=question.seed,
        threads=question.threads,
        time_limit=0.02 if question.engine == "orders" else None,
    )
    parents = tuple(tuple(sorted(int(p) for p in own)) for own in solution.network.parents)
    assert not has_cycle(parents), "the network has a cycle"
    total = math.fsum(truth[child, own] for child, own in enumerate(parents))
    assert abs(total - solution.score * question.unit) < 10 * CLOSE, (total, solution.score)
    assert solution.bound * question.unit > best - 10 * CLOSE, "the bound is below the truth"
    if question.engine != "orders":
        assert solution.optimal, f"{question.engine} proves nothing"
    if solution.optimal:
        assert abs(total - best) < 1e-6, f"called optimal: {total} against {best}"
