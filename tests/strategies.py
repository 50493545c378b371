"""Random tables for property tests, the nasty ones included."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import strategies as st

from naive import Naive
from naive_holes import HOLE, NaiveHoles
from naive_scores import NaiveSum
from parentage.data.table import MISSING, Table
from parentage.scoring import catalogue

if TYPE_CHECKING:
    from collections.abc import Callable

Columns = list[list[int]]
PENALISED = ["bic", "aic", "hqc", "ebic:0.5", "penalty:0.3"]
"""One score of every kind that is a likelihood minus a weight times the free parameters."""
BY_SUMS = ["qnml", "bdeu:1", "bdeu:10", "bdeu:0.1", "k2", "jeffreys", "fnml"]
"""The others."""
KINDS = {
    "fair": 0.25, "skewed": 0.15, "copy": 0.08, "xor": 0.13, "parity": 0.1,
    "function": 0.12, "noisy": 0.14, "constant": 0.03,
}  # fmt: skip
"""How often each kind of column is drawn."""


def random_columns(rng: np.random.Generator, n: int, rows: int, most_states: int = 5) -> Columns:
    """Columns of every kind: independent, skewed, constant, copied, xor, parity, functional."""
    columns: Columns = []
    for v in range(n):
        kind = rng.choice(list(KINDS), p=list(KINDS.values()))
        r = int(rng.integers(2, most_states + 1))
        column = rng.integers(0, r, rows)
        if kind == "skewed":
            column = np.where(rng.random(rows) < 0.15, column, 0)
        elif kind == "constant":
            column = np.zeros(rows, np.int64)
        elif columns and kind != "fair":
            earlier = np.array(columns)
            pick = rng.permutation(v)[: int(rng.integers(1, min(v, 4) + 1))]
            if kind == "copy":
                column = earlier[pick[0]]
            elif kind == "xor":
                column = earlier[pick[:2]].sum(0) % 2
            elif kind == "parity":
                column = earlier[pick].sum(0) % 2
            else:
                column = (earlier[pick] * (1 + np.arange(len(pick)))[:, None]).sum(0) % r
                if kind == "noisy":
                    column = np.where(rng.random(rows) < 0.2, rng.integers(0, r, rows), column)
        columns.append([int(c) for c in column])
    return columns


def make_table(columns: Columns, unused: list[int] | None = None) -> Table:
    """A table of integer codes; ``unused[v]`` states more are declared than occur."""
    states, codes = [], []
    for v, column in enumerate(columns):
        seen, dense = np.unique(column, return_inverse=True)
        extra = unused[v] if unused else 0
        states.append(tuple(f"s{i}" for i in range(len(seen) + extra)))
        codes.append(dense)
    names = tuple(f"v{i}" for i in range(len(columns)))
    return Table(names, tuple(states), np.array(codes, np.uint16))


def naive_of(table: Table, score: str = "bic") -> tuple[Naive, list[int]]:
    """The slow version of a table's non-constant columns, and their indices."""
    keep = [v for v, name in enumerate(table.names) if name not in table.constant]
    columns = tuple(
        tuple(HOLE if c == MISSING else int(c) for c in table.to_codes()[v]) for v in keep
    )
    kind = Naive if score.partition(":")[0] in catalogue.PENALISED else NaiveSum
    if score.startswith("pnal"):
        kind = NaiveHoles
    return kind(columns, tuple(int(table.cardinalities[v]) for v in keep), score), keep


def random_table(
    seed: int, most_variables: int = 6, most_rows: int = 60, least_rows: int = 2
) -> Table:
    """A table drawn from a seed: 2 … n variables, at least two of them not constant, 2 … N rows."""
    rng = np.random.default_rng(seed)
    while True:
        n = int(rng.integers(2, most_variables + 1))
        rows = min(int(rng.choice([2, 3, 4, 5, 8, 16, 21, 32, most_rows])), most_rows)
        rows = max(rows, least_rows)
        columns = random_columns(rng, n, rows)
        if rng.random() < 0.2:  # repeated rows
            again = rng.integers(0, rows, rows)
            columns = [[column[i] for i in again] for column in columns]
        unused = [int(u) for u in rng.choice([0, 0, 0, 1, 2], n)]
        table = make_table(columns, unused)
        if table.n_variables - len(table.constant) >= 2:
            return table


def tables(
    most_variables: int = 6, most_rows: int = 60, least_rows: int = 2
) -> st.SearchStrategy[Table]:
    """Hypothesis strategy: tables by seed (seeds shrink; the kinds above make the coverage)."""
    seeds = st.integers(0, 2**32 - 1)
    return seeds.map(lambda seed: random_table(seed, most_variables, most_rows, least_rows))


def with_holes(table: Table, seed: int) -> Table:
    """Remove cells: at random, by value, whole rows, and so that two columns never meet."""
    rng = np.random.default_rng(seed + 99)
    n, rows = table.to_codes().shape
    while True:
        codes = table.to_codes().copy()
        share = rng.choice([0.0, 0.05, 0.2, 0.5, 0.8])
        gone = rng.random(codes.shape) < share
        if rng.random() < 0.3:  # what is missing depends on what it would have been
            gone |= (codes == rng.integers(0, 3)) & (rng.random(codes.shape) < 0.5)
        if rng.random() < 0.2:
            gone[:, rng.random(rows) < 0.3] = True
        if rng.random() < 0.3:
            a, b = rng.permutation(n)[:2]
            here = rng.random(rows) < 0.5
            gone[a, here], gone[b, ~here] = True, True
        codes[gone] = MISSING
        found = Table(table.names, table.states, codes)
        observed = (codes != MISSING).any(axis=1)
        if observed.all() and n - len(found.constant) >= 2:
            return found


def tables_with_holes(most_variables: int = 6, most_rows: int = 60) -> st.SearchStrategy[Table]:
    """Hypothesis strategy: tables of every kind with cells missing in every way."""
    seeds = st.integers(0, 2**32 - 1)
    return seeds.map(lambda seed: with_holes(random_table(seed, most_variables, most_rows), seed))


def seeds(few: int, many: int) -> list[Any]:
    """Whole numbers below ``few`` for every run, and those from there up to ``many`` for long ones.

    They are the values of a parameter of a test.
    """
    later = [pytest.param(seed, marks=pytest.mark.long) for seed in range(few, many)]
    return [*range(few), *later]


def each(name: str, count: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Call a test with every whole number below ``count`` as one of its arguments, in one item.

    The number that fails is added to the error.
    """

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(**given: object) -> None:
            for number in range(count):
                try:
                    test(**given, **{name: number})
                except Exception as error:
                    error.add_note(f"{name} = {number}")
                    raise

        whole = inspect.signature(test)
        left = [own for own in whole.parameters.values() if own.name != name]
        run.__signature__ = whole.replace(parameters=left)  # type: ignore[attr-defined]  # pytest asks for it
        return run

    return decorate
