"""``parentage learn --within``: all networks close to the best, by class, arc by arc."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from parentage.cli.output import print_json, table_text

if TYPE_CHECKING:
    from parentage.optimise.near import NearOptimal

SHOWN = 30
"""Classes, and arcs, that are shown in a terminal."""


def show_near(near: NearOptimal, factor: float, *, as_json: bool) -> None:
    """Print all networks within the factor, by equivalence class."""
    if as_json:
        print_json(near_json(near, factor))
    else:
        click.echo(near_text(near, factor))


def near_json(near: NearOptimal, factor: float) -> dict[str, Any]:
    """Return what ``learn --within --json`` prints."""
    return {
        "score": near.score,
        "factor": factor,
        "networks": len(near),
        "complete": near.complete,
        "complete_to_factor": math.exp(near.complete_to * near.unit)
        if near.complete_to >= 0 and near.reaching
        else None,
        "stopped": near.stopped,
        "score_equivalent": None if near.score_name is None else not near.about_directions,
        "classes": [
            [{"score": near.scores[i], "parents": near.networks[i].to_dict()} for i in members]
            for members in near.classes
        ],
        "differences": [near.difference(number)._asdict() for number in range(len(near.classes))],
        "arcs": [share._asdict() for share in near.arc_shares],
    }


def near_text(near: NearOptimal, factor: float) -> str:
    """Lay out the classes, the best one in full and how others differ, then arcs by weight."""
    from parentage.optimise.near import cut_text

    networks = f"{len(near):,} network{'' if len(near) == 1 else 's'}"
    classes = f"{len(near.classes):,} equivalence class{'' if len(near.classes) == 1 else 'es'}"
    lines = [
        f"{'' if near.complete else 'At least '}{networks} in {classes}: at most {factor:g} times "
        f"less probable than the best, which scores {near.score:.4f}."
    ]
    if near.about_directions:
        lines.append(near.about_directions)
    if not near.complete:
        lines.append(f"Not complete: {cut_text(near)}.")
    lines += ["", *class_lines(near), "", *arc_lines(near)]
    return "\n".join(lines)


def class_lines(near: NearOptimal) -> list[str]:
    """One line per class; the first is the network that learning finds."""
    lines = []
    for number, members in enumerate(near.classes[:SHOWN]):
        count = f"{len(members):,} network{'' if len(members) == 1 else 's'}"
        times = math.exp((near.score - max(near.scores[i] for i in members)) * near.unit)
        if number == 0:
            arcs = ", ".join(f"{p}→{c}" for p, c in near.networks[members[0]].arcs)
            lines.append(f"class 1: {count}, one of them: {arcs or 'no arcs'}")
        else:
            lines.append(
                f"class {number + 1}: {count}, {times:.3g} times less probable: "
                f"{near.difference(number)}"
            )
    more = len(near.classes) - SHOWN
    if more > 0:
        lines.append(f"and {more:,} more class{'' if more == 1 else 'es'} (all: --json)")
    return lines


def arc_lines(near: NearOptimal) -> list[str]:
    """A table of the arcs that not all networks have; those that all have in one line."""
    certain = [s for s in near.arc_shares if s.weight > 1 - 1e-9]
    others = [s for s in near.arc_shares if s.weight <= 1 - 1e-9]
    lines = []
    if certain:
        arcs = ", ".join(f"{s.parent}→{s.child}" for s in certain)
        lines.append(f"in all of them: {arcs}")
    if others:
        rows = [
            (f"{s.parent}→{s.child}", f"{s.classes:.0%}", f"{s.weight:.1%}") for s in others[:SHOWN]
        ]
        lines += ["", table_text(("arc", "classes", "weight"), rows)]
        if len(others) > SHOWN:
            lines.append(f"and {len(others) - SHOWN:,} more arcs (all: --json)")
    return lines
