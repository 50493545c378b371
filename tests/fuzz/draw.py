"""Random questions: a small table, the nasty ones included, and everything that can be asked."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fuzz.truth import Question, is_constant
from naive_holes import HOLE
from parentage.data.table import MISSING, Table
from parentage.scoring.constraints import Constraints, Prior
from strategies import random_table, with_holes

if TYPE_CHECKING:
    from collections.abc import Iterable

SCORES = {
    "bic": ("",), "aic": ("",), "hqc": ("",), "ebic": ("", ":0", ":1"),
    "penalty": (":0.01", ":0.3", ":2", ":10"), "qnml": ("",),
    "bdeu": ("", ":0.1", ":10", ":100"), "k2": ("",), "jeffreys": ("",), "fnml": ("",),
    "pnal": ("", ":0.01", ":0.05", ":0.2", ":1.5"),
}  # fmt: skip
"""Every score by the name that is typed, and what may follow it."""

LIKELIHOODS = ("bic", "aic", "hqc", "ebic", "penalty")
"""Those whose data may be completed."""

RULES = (None, None, "none", "all", "default")
ENGINES = ("auto", "auto", "auto", "subsets", "branch-and-cut")
SHARES = (0.0, 0.01, 0.2, 0.5, 0.7, 0.95, 0.999)


def table_of(seed: int, score: str, most_variables: int, most_rows: int) -> Question:
    """Draw a table that a score is for."""
    least = 3 if score == "hqc" else 2  # ln ln 2 would be a bonus
    table = random_table(seed, most_variables, most_rows, least)
    if score.startswith("pnal"):
        table = with_holes(table, seed)
    codes = table.to_codes()
    columns = np.where(codes == MISSING, HOLE, codes.astype(np.int64))
    sizes = tuple(int(size) for size in table.cardinalities)
    return Question(tuple(map(tuple, columns.tolist())), sizes, score, seed=seed)


def score_of(rng: random.Random, kinds: Iterable[str] = SCORES) -> str:
    """Draw a score and its parameter."""
    kind = rng.choice(list(kinds))
    return kind + rng.choice(SCORES[kind])


def question(seed: int, most_variables: int = 5, most_rows: int = 60) -> Question:
    """Draw a table and what is asked of it."""
    rng = random.Random(seed)
    asked = table_of(seed, score_of(rng), most_variables, most_rows)
    if rng.random() < 0.03 and asked.n <= 3 and "nml" not in asked.score:  # theirs would take long
        times = rng.choice((50, 200, 500))
        asked = replace(asked, columns=tuple(column * times for column in asked.columns))
    return replace(
        asked,
        most=rng.choice((None, None, None, 0, 1, 2, 3)),
        width=rng.choice((None, None, None, 0.0, 0.5, 3.0, 50.0)),
        rules=rng.choice(RULES),
        threads=2 if rng.random() < 0.1 else 1,
        log_base=rng.choice((None, None, 2, 10)),
        counted=rng.random() < 0.15,
        engine="orders" if rng.random() < 0.02 else rng.choice(ENGINES),
        **constraints(rng, asked.n),
        **beliefs(rng, asked),
    )


def constraints(rng: random.Random, n: int) -> dict[str, Any]:
    """Draw constraints, most of which leave a network: arcs required along an order."""
    order = rng.sample(range(n), n)
    arcs = [(a, b) for i, a in enumerate(order) for b in order[i + 1 :]]
    back = [(b, a) for a, b in arcs]
    found: dict[str, Any] = {}
    if rng.random() < 0.12:
        found["required"] = tuple(rng.sample(arcs, min(len(arcs), rng.choice((1, 1, 2)))))
    if rng.random() < 0.12:
        found["forbidden"] = tuple(arc for arc in arcs + back if rng.random() < 0.25)
    if rng.random() < 0.12:
        levels = [rng.randrange(3) for _ in range(n)]
        found["tiers"] = tuple(
            tuple(v for v in range(n) if levels[v] == k) for k in sorted(set(levels))
        )
    if rng.random() < 0.12:
        found["caps"] = tuple((v, rng.randrange(3)) for v in range(n) if rng.random() < 0.4)
    return found


def beliefs(rng: random.Random, asked: Question) -> dict[str, Any]:
    """Draw a prior of every kind: prices, bonuses, arcs that are certain."""
    if rng.random() < 0.7:
        return {}
    varying = [v for v in range(asked.n) if not is_constant(asked, v)]
    own = [
        (a, b, 1.0 if a < b and rng.random() < 0.1 else rng.choice(SHARES))
        for a in varying
        for b in varying
        if a != b and rng.random() < 0.4
    ]
    return {"default": rng.choice((0.5, 0.5, 0.05, 0.3, 0.6, 0.9)), "beliefs": tuple(own)}


def kinds_of(asked: Question) -> list[str]:
    """What is counted of a question."""
    found = [f"score {asked.score.partition(':')[0]}"]
    parts = {
        "counted rows": asked.counted,
        "many rows": asked.rows > 1000,
        "prior": asked.default != 0.5 or asked.beliefs,
        "required arcs": asked.required,
        "forbidden arcs": asked.forbidden,
        "tiers": asked.tiers,
        "limits on parents": asked.most is not None or asked.caps,
        "width": asked.width is not None,
    }
    return found + [kind for kind, there in parts.items() if there]


def as_table(asked: Question) -> Table:
    """The table of a question."""
    names = tuple(f"v{v}" for v in range(asked.n))
    states = tuple(tuple(f"s{k}" for k in range(size)) for size in asked.sizes)
    codes = np.where(np.array(asked.columns) == HOLE, MISSING, asked.columns).astype(np.uint16)
    if not asked.counted:
        return Table(names, states, codes)
    codes, repeats = np.unique(codes, axis=1, return_counts=True)
    return Table(names, states, codes, repeats=repeats.astype(np.uint32))


def scoring_keywords(asked: Question) -> dict[str, Any]:
    """What is asked, as keywords of ``parentage.score``."""

    def named(arcs: Iterable[Iterable[int]]) -> list[Any]:
        return [tuple(f"v{v}" for v in arc) for arc in arcs]

    given = Constraints(
        required=frozenset(named(asked.required)),
        forbidden=frozenset(named(asked.forbidden)),
        tiers=tuple(named(asked.tiers)),
        max_parents={f"v{v}": cap for v, cap in asked.caps},
    )
    return {
        "score": asked.score,
        "max_parents": asked.most,
        "width": None if asked.width is None else asked.width / asked.unit,
        "constraints": given or None,
        "prior": Prior(asked.default, {(f"v{a}", f"v{b}"): p for a, b, p in asked.beliefs}),
        "rules": asked.rules,
        "threads": asked.threads,
        "log_base": asked.log_base,
    }
