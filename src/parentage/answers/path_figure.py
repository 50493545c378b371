"""The penalty path as a figure: which pairs are adjacent, for which penalties."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from parentage.view.svg import DARK, FONTS, LIGHT

if TYPE_CHECKING:
    from parentage.answers.path import PenaltyPath

ROW, BAR, WIDTH, TOP, BOTTOM = 18.0, 8.0, 520.0, 34.0, 46.0
"""In pixels: the height of a row and of its bar, the width of the axis, the margins."""

LETTER = 7.2
"""Pixels of a letter of a label, on average."""

TICKS = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 5.0, 10.0, 20.0, 50.0, 100.0)

_STYLE = f"""
@media all{{.parentage{{color-scheme:light dark;max-width:100%;height:auto}}}}
@media (prefers-color-scheme:dark){{
.parentage .paper{{fill:{DARK["paper"]}}}
.parentage text{{fill:{DARK["ink"]}}}
.parentage .grid{{stroke:{DARK["box"]}}}
.parentage .own{{stroke:{DARK["ink"]}}}
.parentage .bar{{fill:{DARK["edge"]}}}
}}
"""


def svg(path: PenaltyPath) -> str:
    """Return a complete SVG document: one row for each pair, one bar for each of its intervals.

    The axis is logarithmic, and a line marks the score's own penalty.
    """
    spans = path.spans()
    least, most = path.stretches[0].low, path.stretches[-1].high
    left = 16 + LETTER * max((len(f"{a} — {b}") for a, b in spans), default=8)
    width, height = left + WIDTH + 24, TOP + ROW * max(len(spans), 1) + BOTTOM

    def at(weight: float) -> float:
        return left + WIDTH * math.log(weight / least) / math.log(most / least)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="parentage" role="img" '
        f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">',
        f"<title>{escape(path.sentence())}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect class="paper" width="{width:.0f}" height="{height:.0f}" fill="{LIGHT["paper"]}"/>',
        f'<g font-family="{FONTS}" font-size="12" fill="{LIGHT["ink"]}">',
        f'<text x="{left:.1f}" y="18">{escape(path.sentence())}</text>',
    ]
    foot = height - BOTTOM
    for tick in TICKS:
        if least <= tick <= most:
            kind = ("own", LIGHT["ink"]) if tick == 1.0 else ("grid", LIGHT["box"])
            lines.append(
                f'<path class="{kind[0]}" d="M{at(tick):.1f} {TOP:.1f}V{foot:.1f}" '
                f'stroke="{kind[1]}" fill="none"/>'
                f'<text x="{at(tick):.1f}" y="{foot + 16:.1f}" text-anchor="middle">{tick:g}</text>'
            )
    axis = "equivalent sample size" if path.grid else "penalty, as a multiple of BIC's"
    lines.append(
        f'<text x="{left + WIDTH / 2:.1f}" y="{foot + 34:.1f}" text-anchor="middle">{axis}</text>'
    )
    for row, ((a, b), intervals) in enumerate(spans.items()):
        y = TOP + ROW * row + ROW / 2
        lines.append(
            f'<text x="{left - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">'
            f"{escape(f'{a} — {b}')}</text>"
        )
        for low, high in intervals:
            lines.append(
                f'<rect class="bar" x="{at(low) - (3 if path.grid else 0):.1f}" '
                f'y="{y - BAR / 2:.1f}" width="{max(at(high) - at(low), 0) + 6 * path.grid:.1f}" '
                f'height="{BAR:.0f}" rx="2" fill="{LIGHT["edge"]}">'
                f"<title>{escape(f'{a} — {b}')}: {low:.3g} to {high:.3g}</title></rect>"
            )
    return "\n".join([*lines, "</g>", "</svg>", ""])
