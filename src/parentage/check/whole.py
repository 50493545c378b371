"""Lists in whole numbers: their digest, scores on a grid, and what rounding to it can change.

The definitions are those of docs/certificates.md.
"""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from parentage.check.records import ProofError

if TYPE_CHECKING:
    from parentage.check.records import Lists, Unit

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

LARGEST_SCORE = 2**53
"""Whole scores stay below, where doubles hold every whole number."""


class WholeScores(NamedTuple):
    """Scores as multiples of a unit: ``score = unit · (whole + lost)``, both exact.

    ``whole`` is ``int64[m]``, ``lost`` ``float64[m]`` (all zero on a decimal grid).
    """

    whole: Ints
    lost: Floats


def lists_digest(lists: Lists) -> str:
    """Return the digest by which a certificate knows its lists.

    >>> from parentage.scoring.lists import CandidateLists
    >>> lists_digest(CandidateLists.from_families({"a": [(-1.0, [])]}))[:19]
    'sha256:...'
    """
    state = hashlib.sha256(b"parentage lists 1\n")
    state.update(_number(lists.n_variables))
    for name in lists.names:
        text = name.encode("utf-8", "surrogatepass")
        state.update(_number(len(text)) + text)
    for numbers in (lists.offsets, lists.starts, lists.parents):
        state.update(np.ascontiguousarray(numbers, "<i8").tobytes())
    state.update(np.ascontiguousarray(lists.scores + 0.0, "<f8").tobytes())
    return "sha256:" + state.hexdigest()


def whole_scores(scores: Floats, unit: Unit) -> WholeScores:
    """Put scores on the grid of a unit.

    Raises
    ------
    ProofError
        A decimal grid that scores are not on, or one too fine for 53 bits.
    """
    if unit.decimal:
        scale = float(10**unit.digits)
        nearest = np.rint(scores * scale)
        _check_size(nearest, f"10^-{unit.digits}")
        off = np.flatnonzero(nearest / scale != scores)
        if len(off):
            raise ProofError(
                f"unit: the score {float(scores[off[0]])!r} of set {off[0]} is not a multiple "
                f"of 10^-{unit.digits}"
            )
        return WholeScores(nearest.astype(np.int64), np.zeros(len(scores)))
    scaled = np.ldexp(scores, unit.digits)  # exact: a power of two
    _check_size(scaled, f"2^-{unit.digits}")
    nearest = np.rint(scaled)
    return WholeScores(nearest.astype(np.int64), scaled - nearest)


def unit_size(unit: Unit) -> float:
    """The unit as a number."""
    return 10.0**-unit.digits if unit.decimal else 2.0**-unit.digits


def rounding_loss(lost: Floats, offsets: Ints, allowed: Flags, chosen: Ints) -> float:
    """Return the most, in units, by which rounding can hide a better network; rounded up.

    Per child the largest error of its allowed sets minus that of the chosen one.
    """
    largest = np.maximum.reduceat(np.where(allowed, lost, -np.inf), offsets[:-1])
    terms = [*largest.tolist(), *(-lost[chosen]).tolist()]
    total = math.fsum(terms)
    return 0.0 if total == 0 else math.nextafter(total, math.inf)


def _number(value: int) -> bytes:
    return value.to_bytes(8, "little")


def _check_size(scaled: Floats, unit: str) -> None:
    if len(scaled) and not np.abs(scaled).max() < LARGEST_SCORE:
        raise ProofError(f"unit: {unit} is too fine, a score would need more than 53 bits")
