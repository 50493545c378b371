"""What ``parentage learn --within`` prints: all networks close to the best, by class."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from parentage.cli.output import print_json

if TYPE_CHECKING:
    from parentage.optimise.near import NearOptimal


def show_near(near: NearOptimal, factor: float, unit: float, *, as_json: bool) -> None:
    """Print all networks within the factor, by equivalence class."""
    if as_json:
        print_json(near_json(near, factor))
    else:
        click.echo(near_text(near, factor, unit))


def near_json(near: NearOptimal, factor: float) -> dict[str, Any]:
    """Return what ``learn --within --json`` prints."""
    return {
        "score": near.score,
        "factor": factor,
        "networks": len(near),
        "complete": near.complete,
        "score_equivalent": None if near.score_name is None else not near.about_directions,
        "classes": [
            [{"score": near.scores[i], "parents": near.networks[i].to_dict()} for i in members]
            for members in near.classes
        ],
    }


def near_text(near: NearOptimal, factor: float, unit: float) -> str:
    """Lay out the classes: size, best score, how much less probable, one member's arcs."""
    least = "" if near.complete else "At least "
    lines = [
        f"{least}{len(near)} network{'' if len(near) == 1 else 's'} in {len(near.classes)} "
        f"equivalence class{'' if len(near.classes) == 1 else 'es'}: at most {factor:g} times "
        f"less probable than the best, which scores {near.score:.4f}. One of each class "
        "(all: --json):",
        *([near.about_directions] if near.about_directions else []),
        "",
    ]
    for number, members in enumerate(near.classes, 1):
        best = min(members)
        arcs = ", ".join(f"{p}→{c}" for p, c in near.networks[best].arcs)
        count = f"{len(members)} network{'' if len(members) == 1 else 's'}"
        times = math.exp((near.score - near.scores[best]) * unit)
        score = f"score {near.scores[best]:.4f}, {times:.3g} times less probable"
        lines.append(f"class {number}: {count}, {score}: {arcs or 'no arcs'}")
    return "\n".join(lines)
