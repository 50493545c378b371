"""Tables with holes by expectation maximisation, against every completion of every row."""

from __future__ import annotations

import math
import random
import warnings
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import naive_em
from fuzz.draw import LIKELIHOODS, as_table, score_of, scoring_keywords, table_of
from fuzz.truth import (
    Parents,
    Question,
    all_structures,
    allowed,
    is_constant,
    prior_of,
    scorer,
)
from keywords import for_learn
from naive_holes import HOLE
from parentage.errors import ParentageWarning
from parentage.pipeline import learn
from parentage.scoring.account import Account

if TYPE_CHECKING:
    from parentage.data.table import Table
    from parentage.network.network import Network
    from parentage.scoring.account import Completion

WEIGHED = 0.1
"""What whole units of weight, and parameters that still move a little, may change a score by."""


def make(seed: int) -> Question:
    """Draw a small table with holes."""
    rng = random.Random(seed)
    while True:
        asked = table_of(seed, "pnal", 3, 30)
        if asked.has_holes and len(rows_with_values(asked)) > 3:
            break
        seed += 1 << 40
    most, default = rng.choice((None, None, 1)), rng.choice((0.5, 0.5, 0.5, 0.2))
    return replace(
        asked,
        score=score_of(rng, LIKELIHOODS),
        most=most,
        default=default,
        counted=rng.random() < 0.3,
    )


def rows_with_values(asked: Question) -> list[int]:
    """The rows that are not missing altogether."""
    return [i for i in range(asked.rows) if any(c[i] != HOLE for c in asked.columns)]


def kinds_of(asked: Question) -> list[str]:
    """What is counted: the score, and rows that come with their number."""
    counted = ["counted rows"] if asked.counted else []
    return [f"score {asked.score.partition(':')[0]}", *counted]


def check(asked: Question) -> None:
    """The network is the best one for the data it completes; its parameters stay where they are.

    Raises
    ------
    AssertionError
        They differ.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ParentageWarning)
        solution = learn(as_table(asked), missing="em", **for_learn(**scoring_keywords(asked)))
    account = solution.scope.origin
    assert isinstance(account, Account) and account.completion is not None
    completion: Completion = account.completion
    assert completion.settled and solution.optimal
    values = [step.score for step in completion.steps]
    assert all(later > earlier - WEIGHED for earlier, later in pairwise(values)), values
    kept = rows_with_values(asked)
    assert completion.empty_rows == asked.rows - len(kept)
    rest = replace(asked, columns=tuple(tuple(c[i] for i in kept) for c in asked.columns))
    table = as_table(replace(rest, counted=False))
    check_parameters(solution.network, table, completion)
    structures = {
        parents
        for parents in all_structures(rest.n)
        if all(allowed(rest, v, own) for v, own in enumerate(parents))
        and not any(is_constant(rest, u) for v, own in enumerate(parents) for u in (v, *own) if own)
    }
    check_own_completions(rest, table, structures, solution.network, solution.score * asked.unit)


def check_own_completions(
    asked: Question, table: Table, structures: set[Parents], network: Network, told: float
) -> None:
    """A network is the best one on the data that it completes, and its score is that."""
    fitted = network.fit(table, smoothing=0.0)
    rows, _ = naive_em.completions(fitted, table)
    w = scorer(asked)[0].w
    best = max(expected_score(asked, rows, other, w) for other in structures)
    mine = expected_score(asked, rows, network.parents, w)
    assert mine >= best - WEIGHED, f"on what it completes it scores {mine}, the best {best}"
    constant = math.fsum(
        expected_score(asked, rows, ((),) * asked.n, w, only=v)
        for v in range(asked.n)
        if is_constant(asked, v)
    )
    assert abs(told - (mine - constant)) <= WEIGHED, f"called {told}, it scores {mine - constant}"


def check_parameters(network: Network, table: Table, completion: Completion) -> None:
    """Parameters are such that expectation maximisation leaves them alone."""
    fitted = network.fit(table, smoothing=0.0)
    _, likelihood = naive_em.completions(fitted, table)
    told = fitted.log_likelihood(table)
    assert abs(told - likelihood) < 1e-8 * (1 + abs(likelihood)), (told, likelihood)
    later = fitted
    for _ in range(3):
        later = naive_em.step(later, table)
    _, more = naive_em.completions(later, table)
    assert likelihood <= more + 1e-9, "a step of the naive iteration loses"
    assert more - likelihood < 1e-4 * (1 + abs(likelihood)), "it goes on after the end"
    last = completion.steps[-1].log_likelihood
    assert abs(last - likelihood) < WEIGHED, f"said {last}, it is {likelihood}"


def expected_score(
    asked: Question,
    rows: list[naive_em.Weighted],
    parents: Parents,
    w: float,
    only: int | None = None,
) -> float:
    """Penalised likelihood on expected counts, with the prior; of one family if one is named."""
    total = []
    for v, own in enumerate(parents):
        if only not in (None, v):
            continue
        both, given = naive_em.expected_counts(rows, [*own, v]), naive_em.expected_counts(rows, own)
        total += [n * math.log(n) for n in both.values() if n > 0]
        total += [-n * math.log(n) for n in given.values() if n > 0]
        total.append(-w * (asked.sizes[v] - 1) * math.prod(asked.sizes[p] for p in own))
        total.append(prior_of(asked, v, own))
    return math.fsum(total)
