"""The picture of a network as SVG: no other program, no script, light and dark.

Boxes and routes come from :mod:`parentage.view.layout`. An arc is as wide as the square root of
what it gains; names and gains in full appear when the pointer rests on a box or an arc.
"""

from __future__ import annotations

import itertools
from html import escape
from typing import TYPE_CHECKING

from parentage.view.labels import FONT_SIZE, LINE_HEIGHT, label_lines, printable, text_width
from parentage.view.layout import Box, Layout, Point, layout
from parentage.view.strokes import stroke_widths

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parentage.network.network import Network
    from parentage.scoring.constraints import Arc

MARGIN = 18.0
CAPTION = 34.0
PADDING = (12.0, 8.0)

_LIGHT = "--paper:#fff;--ink:#1b2733;--box:#eef4fb;--edge:#6a8cb0;--arc:#5b6b7c;--soft:#66727f"
_DARK = "--paper:#14181d;--ink:#e6edf3;--box:#22303f;--edge:#5f86b0;--arc:#94a7ba;--soft:#93a1ae"
_FONT = 'system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif'
_STYLE = f"""
.parentage{{color-scheme:light dark;{_LIGHT}}}
@media (prefers-color-scheme:dark){{.parentage{{{_DARK}}}}}
.parentage .paper{{fill:var(--paper)}}
.parentage .box rect{{fill:var(--box);stroke:var(--edge);stroke-width:1.2}}
.parentage text{{fill:var(--ink);font:{FONT_SIZE:.0f}px {_FONT};text-anchor:middle}}
.parentage .caption text{{fill:var(--soft);font-size:12px;text-anchor:start}}
.parentage .arc path{{fill:none;stroke:var(--arc)}}
.parentage .arc polygon{{fill:var(--arc)}}
.parentage .arc:hover path{{stroke:#d9822b}}
.parentage .arc:hover polygon{{fill:#d9822b}}
"""


def network_svg(network: Network, gains: Mapping[Arc, float] | None = None) -> str:
    """Return the layered picture of a network.

    Parameters
    ----------
    network
        What to draw.
    gains
        What every arc ``(parent, child)`` gains, drawn as its width.
    """
    lines = [label_lines(name) for name in network.names]
    sizes = [
        _box_size(text, max(len(network.parents[v]), out))
        for v, (text, out) in enumerate(zip(lines, _out_degrees(network), strict=True))
    ]
    drawn = layout(sizes, network.parents)
    widths = stroke_widths(network.arcs, gains)
    caption = _caption(network, gains)
    width = max(drawn.width, text_width(caption)) + 2 * MARGIN
    height = drawn.height + 2 * MARGIN + CAPTION
    left = (width - drawn.width) / 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="parentage" role="img" '
        f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'style="max-width:100%;height:auto">',
        f"<title>{escape(repr(network))}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect class="paper" width="{width:.0f}" height="{height:.0f}"/>',
        f'<g transform="translate({left:.1f} {MARGIN:.1f})">',
    ]
    order = sorted(drawn.routes, key=lambda arc: widths[_named(network, arc)])
    parts += [_arc(network, arc, drawn, widths, gains) for arc in order]
    parts += [
        _box(name, text, box)
        for name, text, box in zip(network.names, lines, drawn.boxes, strict=True)
    ]
    parts += ["</g>", _caption_text(caption, height - MARGIN), "</svg>"]
    return "\n".join(parts) + "\n"


def _out_degrees(network: Network) -> list[int]:
    degrees = [0] * network.n_variables
    for members in network.parents:
        for p in members:
            degrees[p] += 1
    return degrees


def _box_size(lines: list[str], ports: int) -> tuple[float, float]:
    """Room for the text, and for the arcs that meet on one edge."""
    width = max(text_width(line) for line in lines) + 2 * PADDING[0]
    return max(44.0, width, min(240.0, 8.0 * ports)), len(lines) * LINE_HEIGHT + 2 * PADDING[1]


def _box(name: str, lines: list[str], box: Box) -> str:
    x, y = box.x - box.width / 2, box.y - box.height / 2
    first = box.y - (len(lines) - 1) * LINE_HEIGHT / 2 + FONT_SIZE * 0.35
    text = "".join(
        f'<text x="{box.x:.1f}" y="{first + i * LINE_HEIGHT:.1f}">{escape(line)}</text>'
        for i, line in enumerate(lines)
    )
    return (
        f'<g class="box"><title>{escape(printable(name))}</title>'
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="7"/>'
        f"{text}</g>"
    )


def _arc(
    network: Network,
    arc: tuple[int, int],
    drawn: Layout,
    widths: Mapping[Arc, float],
    gains: Mapping[Arc, float] | None,
) -> str:
    named = _named(network, arc)
    width = widths[named]
    head = 6.0 + 1.3 * width
    *points, (x, entry), tip = drawn.routes[arc]
    base = (tip[0], tip[1] - head)
    points += [(x, min(entry, base[1])), base]
    half = 2.8 + 0.75 * width
    told = f"{printable(named[0])} → {printable(named[1])}"
    if gains and named in gains:
        told += f", gains {gains[named]:.4g}"
    return (
        f'<g class="arc"><title>{escape(told)}</title>'
        f'<path d="{_path(points)}" stroke-width="{width:.2f}"/>'
        f'<polygon points="{tip[0]:.1f},{tip[1]:.1f} {base[0] - half:.1f},{base[1]:.1f} '
        f'{base[0] + half:.1f},{base[1]:.1f}"/></g>'
    )


def _path(points: list[Point]) -> str:
    """Run through the points, straight down inside layers and by an S-curve between them."""
    commands = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        if abs(x1 - x0) < 0.05:
            commands.append(f"V{y1:.1f}")
        else:
            bend = (y1 - y0) * 0.5
            commands.append(f"C{x0:.1f} {y0 + bend:.1f} {x1:.1f} {y1 - bend:.1f} {x1:.1f} {y1:.1f}")
    return "".join(commands)


def _caption(network: Network, gains: Mapping[Arc, float] | None) -> str:
    arcs = f"{network.n_arcs} arc{'' if network.n_arcs == 1 else 's'}"
    text = f"{network.n_variables} variables, {arcs}"
    if gains:
        text += f"; width: what an arc gains, at most {max(gains.values()):.4g}"
    return text


def _caption_text(text: str, y: float) -> str:
    return f'<g class="caption"><text x="{MARGIN:.1f}" y="{y:.1f}">{escape(text)}</text></g>'


def _named(network: Network, arc: tuple[int, int]) -> Arc:
    return network.names[arc[0]], network.names[arc[1]]
