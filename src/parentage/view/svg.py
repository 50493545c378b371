"""The picture of a network as SVG: no other program, no script, light and dark.

Every colour is a plain attribute first, so that programs without style sheets (librsvg, Inkscape,
cairosvg) show the light picture; a style sheet on top adds dark mode, what the pointer does and
the size in a page (inside ``@media``, because cairosvg takes ``height:auto`` for no height).
Names and gains in full appear when the pointer rests on a box or an arc.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from parentage.view.drawing import (
    FONT_SIZE,
    SAMPLE,
    SMALL,
    Drawing,
    DrawnArc,
    DrawnBox,
    Sample,
    Stroke,
    curve,
    line_and_head,
    network_drawing,
    printable,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parentage.network.network import Network
    from parentage.scoring.constraints import Arc
    from parentage.view.layout import Point

LIGHT = {
    "paper": "#ffffff", "ink": "#1b2733", "box": "#eef4fb", "edge": "#6a8cb0", "arc": "#5b6b7c",
    "soft": "#66727f",
}  # fmt: skip
DARK = {
    "paper": "#14181d", "ink": "#e6edf3", "box": "#22303f", "edge": "#5f86b0", "arc": "#94a7ba",
    "soft": "#93a1ae",
}  # fmt: skip
FONTS = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"

_STYLE = """
@media all{{.parentage{{color-scheme:light dark;max-width:100%;height:auto}}}}
.parentage .arc:hover .line{{stroke:#d9822b}}
.parentage .arc:hover .head{{fill:#d9822b}}
@media (prefers-color-scheme:dark){{
.parentage .paper{{fill:{paper}}}
.parentage .box rect{{fill:{box};stroke:{edge}}}
.parentage text{{fill:{ink}}}
.parentage .soft text{{fill:{soft}}}
.parentage .line{{stroke:{arc}}}
.parentage .head{{fill:{arc}}}
}}
""".format(**DARK)


def network_svg(
    network: Network,
    gains: Mapping[Arc, float] | None = None,
    support: Mapping[Arc, float] | None = None,
    *,
    directed: bool = False,
    row_width: float | None = None,
) -> str:
    """Return the layered picture of a network; see :func:`.drawing.network_drawing`."""
    return drawing_svg(
        network_drawing(network, gains, support, directed=directed, row_width=row_width)
    )


def drawing_svg(drawing: Drawing, size: str = "") -> str:
    """Return a complete SVG document; ``size`` replaces width and height in pixels."""
    width, height = f"{drawing.width:.0f}", f"{drawing.height:.0f}"
    size = size or f'width="{width}" height="{height}"'
    x, y = drawing.caption_at
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="parentage" role="img" {size} '
            f'viewBox="0 0 {width} {height}">',
            f"<title>{escape(drawing.title)}</title>",
            f"<style>{_STYLE}</style>",
            f'<rect class="paper" width="{width}" height="{height}" fill="{LIGHT["paper"]}"/>',
            f'<g font-family="{FONTS}" font-size="{FONT_SIZE:.0f}">',
            *parts_svg(drawing),
            f'<g class="soft" font-size="{SMALL:.0f}" fill="{LIGHT["soft"]}">',
            *(_sample(sample) for sample in drawing.legend),
            f'<text x="{x:.1f}" y="{y:.1f}">{escape(drawing.caption)}</text>',
            "</g>",
            "</g>",
            "</svg>",
            "",
        ]
    )


def parts_svg(drawing: Drawing, lifted: Sequence[float] | None = None) -> list[str]:
    """Return the arcs, then the boxes, each one group; ``lifted``: how far to move their text."""
    shifts = [0.0] * len(drawing.boxes) if lifted is None else lifted
    return [
        *(_arc(arc) for arc in drawing.arcs),
        *(
            _box(v, box, shift)
            for v, (box, shift) in enumerate(zip(drawing.boxes, shifts, strict=True))
        ),
    ]


def _box(v: int, drawn: DrawnBox, shift: float) -> str:
    box = drawn.box
    x, y = box.x - box.width / 2, box.y - box.height / 2
    text = "".join(
        f'<text x="{box.x:.1f}" y="{at + shift:.1f}">{escape(line)}</text>'
        for line, at in zip(drawn.lines, drawn.baselines, strict=True)
    )
    return (
        f'<g class="box" data-v="{v}" text-anchor="middle" fill="{LIGHT["ink"]}">'
        f"<title>{escape(printable(drawn.name))}</title>"
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="7" '
        f'fill="{LIGHT["box"]}" stroke="{LIGHT["edge"]}" stroke-width="1.2"/>{text}</g>'
    )


def _arc(arc: DrawnArc) -> str:
    line, head = line_and_head(arc)
    faded = f' opacity="{arc.stroke.opacity:.2f}"' if arc.stroke.opacity < 1 else ""
    return (
        f'<g class="arc" data-arc="{arc.tail} {arc.head}"{faded}>'
        f"<title>{escape(arc.told)}</title>"
        f'<path class="line" d="{_path(line)}" stroke-width="{arc.stroke.width:.2f}" '
        f'stroke="{LIGHT["arc"]}" fill="none"{_dashes(arc.stroke)}/>{_head(head)}</g>'
    )


def _dashes(stroke: Stroke) -> str:
    return f' stroke-dasharray="{stroke.dashes}"' if stroke.dashed else ""


def _sample(sample: Sample) -> str:
    x, y = sample.x, sample.y - SMALL * 0.35
    stroke, end, corners = sample.stroke, sample.x + SAMPLE, ""
    if stroke.arrow:
        length, half = stroke.head
        corners = _head(((end, y), (end - length, y - half), (end - length, y + half)))
        end -= length
    faded = f' opacity="{stroke.opacity:.2f}"' if stroke.opacity < 1 else ""
    return (
        f'<g{faded}><path class="line" d="M{x:.1f} {y:.1f}H{end:.1f}" fill="none" '
        f'stroke="{LIGHT["arc"]}" stroke-width="{stroke.width:.2f}"/>{corners}</g>'
        f'<text x="{x + SAMPLE + 8:.1f}" y="{sample.y:.1f}">{escape(sample.text)}</text>'
    )


def _head(corners: tuple[Point, ...]) -> str:
    if not corners:
        return ""
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    return f'<polygon class="head" points="{points}" fill="{LIGHT["arc"]}"/>'


def _path(points: tuple[Point, ...]) -> str:
    commands = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for piece in curve(points):
        if len(piece) == 1:
            commands.append(f"V{piece[0][1]:.1f}")
        else:
            commands.append("C" + " ".join(f"{x:.1f} {y:.1f}" for x, y in piece))
    return "".join(commands)
