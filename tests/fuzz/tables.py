"""Random tables with random options and engines, compared with the truth."""

from __future__ import annotations

import math
import random
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from fuzz.truth import (
    Question,
    best_total,
    distance_above_subsets,
    families,
    has_cycle,
    is_constant,
)
from parentage.data.table import Table
from parentage.errors import ConstraintError, ParentageWarning
from parentage.optimise import learn_lists
from parentage.scoring.candidates import score
from parentage.scoring.constraints import Constraints

if TYPE_CHECKING:
    from parentage.scoring.lists import CandidateLists

CLOSE = 1e-7
"""Scores closer than this are ties, which may fall either way."""

RULES = (None, "none", "all", "default")


def make(seed: int) -> Question:
    """Draw a table and options."""
    rng = random.Random(seed)
    while True:
        n = rng.choice((2, 3, 3, 4, 4, 5))
        rows = rng.choice((2, 3, 5, 8, 13, 30, 100))
        columns = _columns(rng, n, rows)
        if sum(len(set(column)) > 1 for column in columns) >= 2:
            break
    sizes = tuple(max(column) + 1 + rng.choice((0, 0, 0, 1)) for column in columns)
    arcs = [(a, b) for a in range(n) for b in range(n) if a != b and rng.random() < 0.15]
    some = rng.random()
    levels = [rng.randrange(3) for _ in range(n)]
    return Question(
        columns,
        sizes,
        rng.choice(("bic", "bic", "aic")),
        rng.choice((None, None, 0, 1, 2, 3)),
        rng.choice((None, None, None, 0.5, 3.0)),
        tuple((a, b) for a, b in arcs if a < b)[:2] if some < 0.1 else (),
        tuple(arcs) if 0.1 <= some < 0.25 else (),
        tuple(tuple(v for v in range(n) if levels[v] == k) for k in range(3))
        if 0.25 <= some < 0.35
        else (),
        {
            "rules": rng.choice(RULES),
            "threads": rng.choice((1, 1, 2)),
            "log_base": rng.choice((None, None, 2, 10)),
            "engine": rng.choice(("auto", "auto", "subsets", "branch-and-cut", "orders")),
            "seed": rng.randrange(2**40),
        },
    )


def _columns(rng: random.Random, n: int, rows: int) -> tuple[tuple[int, ...], ...]:
    columns: list[list[int]] = []
    for _ in range(n):
        states = rng.choice((2, 2, 3, 4))
        kind = rng.choice(("free", "copy", "sum", "noisy", "rare", "constant", "rows"))
        column = [rng.randrange(states) for _ in range(rows)]
        if kind == "constant" and rng.random() < 0.3:
            column = [0] * rows
        elif kind == "rare":
            column = [int(rng.random() < 0.05) for _ in range(rows)]
        elif kind == "rows" and rows <= 8:
            column = list(range(rows))
        elif columns and kind in ("copy", "sum", "noisy"):
            picked = rng.sample(columns, min(len(columns), rng.choice((1, 2, 3))))
            column = [sum(cells) % states for cells in zip(*picked, strict=True)]
            if kind == "noisy":
                column = [rng.randrange(states) if rng.random() < 0.2 else cell for cell in column]
        known = {cell: code for code, cell in enumerate(sorted(set(column)))}
        columns.append([known[cell] for cell in column])
    return tuple(tuple(column) for column in columns)


def check(question: Question) -> None:
    """Compare lists, optimum and bound with the truth.

    Raises
    ------
    AssertionError
        They differ.
    """
    truth = families(question)
    best = best_total(question, truth)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ParentageWarning)
        try:
            lists = _score(question)
            _check_lists(question, truth, lists)
            _check_solution(question, truth, best, lists)
        except ConstraintError:
            assert best == -math.inf, "constraints were refused that leave a network"


def _score(question: Question) -> CandidateLists:
    names = tuple(f"v{v}" for v in range(question.n))
    states = tuple(tuple(f"s{k}" for k in range(size)) for size in question.sizes)
    table = Table(names, states, np.array(question.columns, np.uint16))

    def named(arcs: Any) -> Any:
        return [tuple(names[v] for v in arc) for arc in arcs]

    constraints = Constraints(
        required=frozenset(named(question.required)),
        forbidden=frozenset(named(question.forbidden)),
        tiers=tuple(named(question.tiers)),
    )
    extra = question.extra
    return score(
        table,
        max_parents=question.most,
        score=question.score,
        width=None if question.width is None else question.width / _unit(question),
        constraints=constraints if constraints else None,
        rules=extra["rules"],  # type: ignore[arg-type]  # drawn from RULES
        threads=extra["threads"],  # type: ignore[arg-type]  # a whole number
        log_base=extra["log_base"],  # type: ignore[arg-type]  # a number or None
    )


def _unit(question: Question) -> float:
    base = question.extra["log_base"]
    return math.log(base) if isinstance(base, int) else 1.0


def _check_lists(question: Question, truth: Any, lists: CandidateLists) -> None:
    unit, found = _unit(question), {}
    for child in range(question.n):
        for value, parents in lists.candidates(child):
            found[child, tuple(sorted(int(p) for p in parents))] = value * unit
    for family, value in found.items():
        assert family in truth, f"{family} is listed and not allowed"
        assert abs(value - truth[family]) < CLOSE, (family, value, truth[family])
    for family in truth:
        ahead = distance_above_subsets(truth, family) + (question.width or 0.0)
        if ahead > CLOSE:
            assert family in found, f"{family} is missing, {ahead} above its subsets"
        elif ahead < -CLOSE:
            assert family not in found, f"{family} is listed, {-ahead} below a subset"


def _check_solution(question: Question, truth: Any, best: float, lists: CandidateLists) -> None:
    extra, unit = question.extra, _unit(question)
    engine = str(extra["engine"])
    solution = learn_lists(
        lists,
        engine=engine,
        seed=extra["seed"],  # type: ignore[arg-type]  # a whole number
        threads=extra["threads"],  # type: ignore[arg-type]  # a whole number
        time_limit=0.05 if engine == "orders" else None,
    )
    parents = [tuple(sorted(int(p) for p in own)) for own in solution.network.parents]
    assert not has_cycle(parents), "the network has a cycle"
    assert not any(parents[v] for v in range(question.n) if is_constant(question, v))
    total = math.fsum(truth[child, own] for child, own in enumerate(parents))
    assert abs(total - solution.score * unit) < 10 * CLOSE, (total, solution.score * unit)
    assert solution.bound * unit > best - 10 * CLOSE, "the bound is below the truth"
    if engine != "orders":
        assert solution.optimal, f"{engine} proves nothing"
    if solution.optimal:
        assert abs(total - best) < 1e-5, f"called optimal: {total} against {best}"


def run(seed: int) -> None:
    """Draw one case and check it."""
    check(make(seed))
