"""Rows with missing cells: their probability, what is in the cells, what a column will be.

Rows in which the same cells are missing are evaluated together: what is known is fixed in the
tables of the network, what is missing is summed over (:mod:`parentage.network.posteriors`). That
cells are missing is taken to say nothing about what was in them beyond what the row shows (missing
at random, Rubin 1976).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.errors import InputError, Way, did_you_mean
from parentage.network.inference import EvidenceError
from parentage.network.posteriors import log_evidence, most_probable_codes, posteriors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parentage.network.posteriors import Codes, Model

ABSENT = -1
"""The code of a cell that is missing."""

ROWS_AT_ONCE = 4096

Filling = Literal["each", "joint"]
FILLINGS: tuple[Filling, ...] = ("each", "joint")
"""Every cell's most probable state, or the most probable states of a row's cells together."""


class Pattern(NamedTuple):
    """Rows in which the same cells are missing."""

    rows: npt.NDArray[np.int64]
    hidden: list[int]
    observed: dict[int, Codes]


def patterns(codes: Codes) -> Iterator[Pattern]:
    """Group the columns of ``codes[variable, row]`` by what is missing, a few thousand at once."""
    if not codes.shape[1]:
        return
    absent = codes == ABSENT
    packed = np.packbits(absent, axis=0)
    order = np.lexsort(packed) if len(packed) else np.arange(codes.shape[1])
    changes = (np.diff(packed[:, order].astype(np.int16), axis=1) != 0).any(axis=0)
    for group in np.split(order, 1 + np.flatnonzero(changes)):
        hidden = [int(v) for v in np.flatnonzero(absent[:, group[0]])]
        for start in range(0, len(group), ROWS_AT_ONCE):
            rows = group[start : start + ROWS_AT_ONCE]
            seen = {v: codes[v, rows] for v in range(len(codes)) if not absent[v, rows[0]]}
            yield Pattern(rows, hidden, seen)


def log_probabilities(model: Model, codes: Codes) -> npt.NDArray[np.float64]:
    """Return the logarithm of the probability of what is known of every row; −∞ if impossible."""
    logs = np.zeros(codes.shape[1])
    for pattern in patterns(codes):
        if pattern.observed:
            logs[pattern.rows] = log_evidence(model, pattern.observed)
    return logs


def predicted(model: Model, codes: Codes, target: int) -> npt.NDArray[np.float64]:
    """Return the probabilities of a variable's states in every row, given the rest of the row.

    ``float64[row, state]``; what the row has in that place does not count.

    Raises
    ------
    EvidenceError
        The rest of a row is impossible.
    """
    rest = codes.copy()
    rest[target] = ABSENT
    shares = np.empty((codes.shape[1], model.cardinalities[target]))
    for pattern in patterns(rest):
        found, logs = posteriors(model, pattern.observed, [target])
        _refuse_impossible(pattern, logs)
        shares[pattern.rows] = found[target]
    return shares


def filled(model: Model, codes: Codes, how: Filling = "each") -> Codes:
    """Return codes in which the missing cells have their most probable states."""
    if how not in FILLINGS:
        raise InputError(f"no way {how!r} to fill cells; {did_you_mean(how, FILLINGS)}")
    whole = codes.copy()
    for pattern in patterns(codes):
        if not pattern.hidden:
            continue
        if how == "joint":
            best, logs = most_probable_codes(model, pattern.observed)
            states = {v: best[v] for v in pattern.hidden}
        else:
            found, logs = posteriors(model, pattern.observed, pattern.hidden)
            states = {v: found[v].argmax(axis=1) for v in pattern.hidden}
        _refuse_impossible(pattern, logs)
        for v, column in states.items():
            whole[v, pattern.rows] = column
    return whole


def _refuse_impossible(pattern: Pattern, logs: npt.NDArray[np.float64]) -> None:
    impossible = np.flatnonzero(np.broadcast_to(logs, pattern.rows.shape) == -np.inf)
    if impossible.size:
        raise EvidenceError(
            f"row {int(pattern.rows[impossible[0]]) + 1} has probability 0 under these parameters: "
            "nothing can be said given that",
            Way("smoothing", 1, "when the parameters are taken from a table"),
        )
