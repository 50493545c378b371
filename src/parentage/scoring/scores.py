r"""Local scores: log-likelihood minus penalty, for one family at a time.

For a child X and a parent set Π, with N rows, r states of X and q joint states of Π,

.. math:: s(X, \\Pi) = \\sum_{c} n_c \\ln n_c - \\sum_{d} n_d \\ln n_d - w\\,(r - 1)\\,q

where c runs over the joint states of X and Π and d over those of Π. BIC has w = ln N / 2
(Schwarz 1978), AIC has w = 1 (Akaike 1974). Higher is better. Natural logarithms; a log base
only changes the unit in which scores are reported, never which parent sets are better.

This is the plain version, used for single families; :mod:`parentage.scoring.candidates` scores
millions.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from parentage.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from parentage.data.table import Table

ScoreName = Literal["bic", "aic"]
SCORES: tuple[str, ...] = get_args(ScoreName)


def check_score(name: str) -> ScoreName:
    """Return the score's name in lower case; refuse an unknown one."""
    lowered = name.lower()
    if lowered == "bic":
        return "bic"
    if lowered == "aic":
        return "aic"
    raise InputError(f"unknown score {name!r}; {did_you_mean(name, SCORES)}")


def weight(score: ScoreName, n_rows: int) -> float:
    """Return w, the penalty of one free parameter in nats.

    >>> round(weight("bic", 1000), 4), weight("aic", 1000)
    (3.4539, 1.0)
    """
    return math.log(n_rows) / 2 if score == "bic" else 1.0


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


def joint_labels(
    table: Table, variables: Iterable[int]
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Number the joint states of some variables that occur: one label per row, below N."""
    labels = np.zeros(table.n_rows, np.int64)
    for v in variables:
        combined = labels * int(table.cardinalities[v]) + table.codes[v]
        labels = np.unique(combined, return_inverse=True)[1].astype(np.int64)
    return labels


def entropy_sum(table: Table, variables: Iterable[int]) -> float:
    """Return G(S) = Σ n_c ln n_c over the joint states c of the variables; G(∅) = N ln N."""
    counts = np.bincount(joint_labels(table, variables)).astype(np.float64)
    return math.fsum(counts * np.log(counts))


def free_parameters(table: Table, child: int, parents: Iterable[int]) -> int:
    """Return (r − 1)·q of a family, with declared states."""
    states = [int(table.cardinalities[p]) for p in parents]
    return (int(table.cardinalities[child]) - 1) * math.prod(states)


def local_score(
    table: Table,
    child: str,
    parents: Iterable[str] = (),
    *,
    score: str = "bic",
    log_base: float | str | None = None,
) -> float:
    """Return the local score of one family.

    Examples
    --------
    >>> from parentage.data.table import Table
    >>> t = Table.from_columns({"a": "0011", "b": "0011", "c": "0101"})
    >>> local_score(t, "a", ["b"]) > local_score(t, "a") > local_score(t, "a", ["c"])
    True
    """
    if isinstance(parents, str):
        raise InputError(f"parents must be a list of names, not {parents!r}; write [{parents!r}]")
    x = table.index(child)
    members = [table.index(parent) for parent in parents]
    likelihood = entropy_sum(table, [x, *members]) - entropy_sum(table, members)
    w = weight(check_score(score), table.n_rows)
    return (likelihood - w * free_parameters(table, x, members)) / unit_of(log_base)
