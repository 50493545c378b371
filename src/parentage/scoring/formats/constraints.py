"""Constraints and probabilities of arcs from small TOML files, and arcs from CSV.

::

    required = [["smoke", "lung"]]            # arcs, parent first
    forbidden = [["xray", "smoke"], ["dysp", "smoke"]]
    tiers = [["asia", "smoke"], ["tub", "lung", "bronc"], ["xray", "dysp"]]

    [max_parents]
    dysp = 2

Every part may be left out. Anything else in the file is refused. A CSV file of arcs has the columns
``from`` and ``to``, as blacklists and whitelists of bnlearn have.

A prior::

    default = 0.1                     # of every arc that is not named; may be left out
    arcs = [                          # parent, child, probability
        ["smoke", "lung", 0.95],
        ["xray", "smoke", 0],         # never
    ]
"""

from __future__ import annotations

import csv
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from parentage.errors import ConstraintError, InputError
from parentage.files.decoding import DecodingError, decoded
from parentage.scoring.constraints import Constraints
from parentage.scoring.prior import Prior, StoredPrior

if TYPE_CHECKING:
    import os


def read_constraints(path: str | os.PathLike[str]) -> Constraints:
    """Read constraints; whether they fit a table is checked later, with its names."""
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:  # ValueError: bad text, TOML or huge numbers
        raise InputError(f"{str(path)!r} is not a TOML file: {error}") from None
    try:
        return decoded(Constraints, content, closed=True)
    except DecodingError as error:
        raise ConstraintError(
            f"{str(path)!r}: {error} (docs/constraints.md shows such a file)"
        ) from None


def read_arcs(path: str | os.PathLike[str]) -> list[tuple[str, str]]:
    """Read arcs from the columns ``from`` and ``to`` of a CSV file; other columns do not count."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            header, rows = reader.fieldnames or (), list(reader)
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror or error}") from None
    except (ValueError, csv.Error) as error:
        raise InputError(f"{str(path)!r} is not a CSV file: {error}") from None
    if not {"from", "to"} <= set(header):
        raise ConstraintError(
            f"{str(path)!r} has no arcs; its first line is from,to and every other one an arc"
        )
    for i, row in enumerate(rows):
        if not row["from"] or not row["to"]:
            raise ConstraintError(f"{str(path)!r}: row {i + 1} has one name; an arc is two")
    return [(row["from"], row["to"]) for row in rows]


def read_prior(path: str | os.PathLike[str]) -> Prior:
    """Read probabilities; whether they fit a table is checked later, with its names."""
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"{str(path)!r} is neither a probability nor a file that can be read: "
            f"{error.strerror or error}"
        ) from None
    except (ValueError, RecursionError) as error:  # ValueError: bad text, TOML or huge numbers
        raise InputError(f"{str(path)!r} is not a TOML file: {error}") from None
    try:
        stored = decoded(StoredPrior, {"default": 0.5, "arcs": [], **content}, closed=True)
    except DecodingError as error:
        raise InputError(
            f"{str(path)!r}: {error} (docs/constraints.md shows such a file)"
        ) from None
    arcs: dict[tuple[str, str], float] = {}
    for parent, child, probability in stored.arcs:
        if (parent, child) in arcs:
            raise InputError(f"{str(path)!r}: the arc {parent} -> {child} is there twice")
        arcs[parent, child] = probability
    return Prior.of(Prior(stored.default, arcs))
