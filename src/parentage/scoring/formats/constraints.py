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
from typing import TYPE_CHECKING, Any

from parentage.errors import ConstraintError, InputError, did_you_mean
from parentage.scoring.constraints import Constraints
from parentage.scoring.prior import Prior

if TYPE_CHECKING:
    import os


PARTS = ("required", "forbidden", "tiers", "max_parents")


def read_constraints(path: str | os.PathLike[str]) -> Constraints:
    """Read constraints; whether they fit a table is checked later, with its names."""
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:  # ValueError: bad text, TOML or huge numbers
        raise InputError(f"{str(path)!r} is not a TOML file: {error}") from None
    for part in content:
        if part not in PARTS:
            raise ConstraintError(f"{str(path)!r}: no part {part!r}; {did_you_mean(part, PARTS)}")
    return Constraints(
        required=frozenset(_arcs(content, "required", path)),
        forbidden=frozenset(_arcs(content, "forbidden", path)),
        max_parents=_limits(content, path),
        tiers=tuple(tuple(tier) for tier in _names(content, "tiers", path)),
    )


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


def _names(content: dict[str, Any], part: str, path: object) -> list[list[str]]:
    groups = content.get(part, [])
    fine = isinstance(groups, list) and all(
        isinstance(group, list) and all(isinstance(name, str) for name in group) for group in groups
    )
    if not fine:
        raise ConstraintError(f'{str(path)!r}: {part} must be lists of names, e.g. [["a", "b"]]')
    return groups  # type: ignore[no-any-return]  # checked just above


def _arcs(content: dict[str, Any], part: str, path: object) -> list[tuple[str, str]]:
    arcs = _names(content, part, path)
    for arc in arcs:
        if len(arc) != 2:
            raise ConstraintError(f"{str(path)!r}: {part} has {arc}; an arc is two names")
    return [(parent, child) for parent, child in arcs]


def _limits(content: dict[str, Any], path: object) -> dict[str, int]:
    limits = content.get("max_parents", {})
    if not isinstance(limits, dict) or not all(
        isinstance(k, int) and not isinstance(k, bool) and k >= 0 for k in limits.values()
    ):
        raise ConstraintError(f"{str(path)!r}: max_parents must be NAME = NUMBER lines")
    return limits


PRIOR_PARTS = ("default", "arcs")


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
    for part in content:
        if part not in PRIOR_PARTS:
            raise InputError(f"{str(path)!r}: no part {part!r}; {did_you_mean(part, PRIOR_PARTS)}")
    arcs: dict[tuple[str, str], float] = {}
    for line in _prior_lines(content.get("arcs", []), path):
        parent, child, p = line
        if (parent, child) in arcs:
            raise InputError(f"{str(path)!r}: the arc {parent} -> {child} is there twice")
        arcs[parent, child] = float(p)
    default = content.get("default", 0.5)
    if isinstance(default, bool) or not isinstance(default, int | float):
        raise InputError(f"{str(path)!r}: default must be a probability, not {default!r}")
    return Prior.of(Prior(float(default), arcs))


def _prior_lines(arcs: Any, path: object) -> list[tuple[str, str, float]]:
    if not isinstance(arcs, list) or not all(_is_line(line) for line in arcs):
        raise InputError(
            f"{str(path)!r}: arcs must be [parent, child, probability], e.g. "
            '[["smoke", "lung", 0.9]]'
        )
    return [(line[0], line[1], line[2]) for line in arcs]


def _is_line(line: Any) -> bool:
    return (
        isinstance(line, list)
        and len(line) == 3
        and all(isinstance(end, str) for end in line[:2])
        and isinstance(line[2], int | float)
        and not isinstance(line[2], bool)
    )
