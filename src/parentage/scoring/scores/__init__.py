"""Local scores, for one family at a time: one module per family of scores.

A score is typed by name (``"bic"``, ``"ebic:0.5"``; :mod:`parentage.scoring.catalogue` has them
all) and made by :func:`parse_score`. Here is the plain version, used for single families and as
the truth in tests; :mod:`parentage.scoring.candidates` scores millions. Natural logarithms; a log
base only changes the unit in which scores are reported, never which parent sets are better.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from parentage.errors import InputError
from parentage.scoring.catalogue import PENALISED, parse_name
from parentage.scoring.scores.node_average import NodeAverage
from parentage.scoring.scores.penalised import Penalised
from parentage.scoring.scores.score import Score, conditional_entropy, entropy_sum, free_parameters
from parentage.scoring.scores.sums import FNML, QNML, BySums, Dirichlet

if TYPE_CHECKING:
    from collections.abc import Iterable

    from parentage.data.table import Table
    from parentage.scoring.constraints import Prior

__all__ = [
    "FNML",
    "QNML",
    "BySums",
    "Dirichlet",
    "NodeAverage",
    "Penalised",
    "Score",
    "conditional_entropy",
    "entropy_sum",
    "family_score",
    "free_parameters",
    "parse_score",
    "unit_of",
]


_DEFINITIONS: dict[str, type[Score]] = {
    **dict.fromkeys(PENALISED, Penalised),
    "qnml": QNML,
    "bdeu": Dirichlet,
    "k2": Dirichlet,
    "jeffreys": Dirichlet,
    "fnml": FNML,
    "pnal": NodeAverage,
}
"""The class of every score in the catalogue."""


def parse_score(name: str) -> Score:
    """Return the score of a name as typed; refuse an unknown one.

    >>> parse_score("BIC").name, parse_score("ebic").name, parse_score("bdeu").name
    ('bic', 'ebic:0.5', 'bdeu:1')
    """
    kind, parameter = parse_name(name)
    return _DEFINITIONS[kind.name](kind, parameter)


def unit_of(log_base: float | str | None) -> float:
    """Return the size in nats of the unit scores are reported in: ln b, 1 for natural logs.

    >>> unit_of(None), unit_of("e"), round(unit_of(2), 4)
    (1.0, 1.0, 0.6931)
    """
    if log_base is None or log_base == "e":
        return 1.0
    try:
        base = float(log_base)
    except ValueError:
        base = math.nan
    if not (math.isfinite(base) and base > 1):
        raise InputError(f"log base {log_base!r} must be a number above 1, or e; try 2 or 10")
    return math.log(base)


def family_score(
    table: Table,
    child: str,
    parents: Iterable[str] = (),
    score: str = "bic",
    log_base: float | str | None = None,
    prior: Prior | None = None,
) -> float:
    """Return the score of one family as candidate lists have it.

    The prior of its arcs is added, and a column with one observed state and no parents counts 0.

    Examples
    --------
    >>> from parentage.data.table import Table
    >>> t = Table.from_columns({"a": "0011", "b": "0011", "c": "0101"})
    >>> family_score(t, "a", ["b"]) > family_score(t, "a") > family_score(t, "a", ["c"])
    True
    """
    members = tuple(parents)
    if not members and child in table.constant:
        return 0.0
    columns, unit = [table.index(parent) for parent in members], unit_of(log_base)
    own = parse_score(score).local(table, table.index(child), columns)
    odds = 0.0 if prior is None else prior.log_odds_of((parent, child) for parent in members)
    return own / unit + odds / unit
