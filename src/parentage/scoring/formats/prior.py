"""Probabilities of arcs from a small TOML file.

::

    default = 0.1                     # of every arc that is not named; may be left out
    arcs = [                          # parent, child, probability
        ["smoke", "lung", 0.95],
        ["xray", "smoke", 0],         # never
    ]
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parentage.errors import InputError, did_you_mean
from parentage.scoring.prior import Prior

if TYPE_CHECKING:
    import os

PARTS = ("default", "arcs")


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
        if part not in PARTS:
            raise InputError(f"{str(path)!r}: no part {part!r}; {did_you_mean(part, PARTS)}")
    arcs: dict[tuple[str, str], float] = {}
    for line in _lines(content.get("arcs", []), path):
        parent, child, p = line
        if (parent, child) in arcs:
            raise InputError(f"{str(path)!r}: the arc {parent} -> {child} is there twice")
        arcs[parent, child] = float(p)
    default = content.get("default", 0.5)
    if isinstance(default, bool) or not isinstance(default, int | float):
        raise InputError(f"{str(path)!r}: default must be a probability, not {default!r}")
    return Prior.of(Prior(float(default), arcs))


def _lines(arcs: Any, path: object) -> list[tuple[str, str, float]]:
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
