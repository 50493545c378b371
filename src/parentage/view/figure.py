"""The figure of a network in a file: one drawing, written as SVG or painted by matplotlib.

*SVG* needs no other program and no script. Every colour is a plain attribute first, so that
programs without style sheets (librsvg, Inkscape, cairosvg) show the light figure; a style sheet on
top adds dark mode, what the pointer does and the size in a page (inside ``@media``, because
cairosvg takes ``height:auto`` for no height). Names and gains in full appear when the pointer rests
on a box or an arc.

*PNG and PDF* are painted by matplotlib, which is installed like any other package; programs that
turn SVG into PNG need libraries of the system. Text in a PDF stays text, in an embedded font.

*On paper* a figure has a width that journals ask for. It is laid out for that width, so that its
text comes out at about seven points; where the network needs more room, everything gets smaller
together.
"""

from __future__ import annotations

import math
import re
import warnings
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from parentage.errors import DataWarning, InputError, MissingExtraError, warn
from parentage.files.atomic import replacing, write_text
from parentage.view.drawing import (
    FONT_SIZE,
    SMALL,
    Drawing,
    DrawnArc,
    DrawnBox,
    Sample,
    Stroke,
    curve,
    line_and_head,
    printable,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from parentage.view.layout import Point

WIDTHS = {"column": 89.0, "page": 183.0, "slide": 254.0}
"""Widths by name, in millimetres: one column or both of a journal, a slide."""

POINTS = 72 / 25.4
"""Points in a millimetre."""

SCREEN = 0.75
"""Points of a pixel."""

WANTED = 7 / 13
"""Points of a pixel at which text has seven points."""

_WIDTH = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(mm|cm|in|pt)")
_UNITS = {"mm": 1.0, "cm": 10.0, "in": 25.4, "pt": 1 / POINTS}


def paper_width(size: str) -> float:
    """Return a width in millimetres.

    >>> paper_width("column"), paper_width("12 cm"), round(paper_width("3.5in"), 1)
    (89.0, 120.0, 88.9)
    """
    if size in WIDTHS:
        return WIDTHS[size]
    found = _WIDTH.fullmatch(size.strip().lower())
    width = float(found[1]) * _UNITS[found[2]] if found else math.nan
    if not 20 <= width <= 2000:
        raise InputError(
            f"the size {size!r} is not a width; give {', '.join(WIDTHS)} or one such as 120mm or "
            "3.5in, from 20 to 2000 mm"
        )
    return width


def row_width_for(size: str | None) -> float | None:
    """Return the width in pixels to lay a figure out for; None when no size is asked for."""
    return None if size is None else paper_width(size) * POINTS / WANTED


def scale_for(width: float, size: str | None) -> float:
    """Return the points of a pixel for a figure of this width in pixels.

    A figure is made smaller to fit, never larger than on a screen.

    >>> scale_for(1000.0, None), round(scale_for(1000.0, "page"), 3), scale_for(200.0, "page")
    (0.75, 0.519, 0.75)
    """
    if size is None:
        return SCREEN
    return min(SCREEN, paper_width(size) * POINTS / width)


LIGHT = {
    "paper": "#ffffff", "ink": "#1b2733", "box": "#eef4fb", "edge": "#6a8cb0", "arc": "#5b6b7c",
    "soft": "#66727f",
}  # fmt: skip
DARK = {
    "paper": "#14181d", "ink": "#e6edf3", "box": "#22303f", "edge": "#5f86b0", "arc": "#94a7ba",
    "soft": "#93a1ae",
}  # fmt: skip
FONTS = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"

_STYLE = """\
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


def drawing_svg(drawing: Drawing, size: str = "") -> str:
    """Return a complete SVG document; ``size`` replaces width and height in pixels."""
    x, y = drawing.caption_at
    parts = [
        f'<g font-family="{FONTS}" font-size="{FONT_SIZE:.0f}">',
        *parts_svg(drawing),
        f'<g class="soft" font-size="{SMALL:.0f}" fill="{LIGHT["soft"]}">',
        *(_sample(sample) for sample in drawing.legend),
        f'<text x="{x:.1f}" y="{y:.1f}">{escape(drawing.caption)}</text>',
        "</g>",
        "</g>",
    ]
    return svg_document(drawing.title, (drawing.width, drawing.height), _STYLE, parts, size)


def svg_document(
    title: str, shape: tuple[float, float], style: str, parts: Sequence[str], size: str = ""
) -> str:
    """Return a document of this width and height in pixels, which ``size`` replaces."""
    width, height = (f"{length:.0f}" for length in shape)
    size = size or f'width="{width}" height="{height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="parentage" role="img" {size} '
            f'viewBox="0 0 {width} {height}">',
            f"<title>{escape(title)}</title>",
            "<style>\n@media all{.parentage{color-scheme:light dark;max-width:100%;height:auto}}\n"
            f"{style}</style>",
            f'<rect class="paper" width="{width}" height="{height}" fill="{LIGHT["paper"]}"/>',
            *parts,
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
    dashes = f' stroke-dasharray="{arc.stroke.dashes}"' if arc.stroke.dashed else ""
    return (
        f'<g class="arc" data-arc="{arc.tail} {arc.head}"{faded}>'
        f"<title>{escape(arc.told)}</title>"
        f'<path class="line" d="{_path(line)}" stroke-width="{arc.stroke.width:.2f}" '
        f'stroke="{LIGHT["arc"]}" fill="none"{dashes}/>{_head(head)}</g>'
    )


def _sample(sample: Sample) -> str:
    stroke, (((x, y), (end, _)), head) = sample.stroke, sample.line_and_head()
    faded = f' opacity="{stroke.opacity:.2f}"' if stroke.opacity < 1 else ""
    return (
        f'<g{faded}><path class="line" d="M{x:.1f} {y:.1f}H{end:.1f}" fill="none" '
        f'stroke="{LIGHT["arc"]}" stroke-width="{stroke.width:.2f}"/>{_head(head)}</g>'
        f'<text x="{sample.text_x:.1f}" y="{sample.y:.1f}">{escape(sample.text)}</text>'
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


FORMATS = ("png", "pdf")
DPI = 300
"""Of a PNG for paper; for a screen twice as many pixels as the SVG has."""

FALLBACKS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans", "Noto Emoji", "Segoe UI Symbol",
    "Arial Unicode MS",
)  # fmt: skip
"""Fonts for characters that matplotlib's own font does not have, where they are installed."""

_STRANGE = re.compile(r"Glyph \d+ .*missing from")


def require_matplotlib(form: str) -> None:
    """Refuse to draw without matplotlib, before any work."""
    if find_spec("matplotlib") is None:
        raise MissingExtraError(f"drawing a {form.upper()}", "matplotlib", "plot")


def write_figure(
    drawing: Drawing, path: str | os.PathLike[str], form: str, size: str | None = None
) -> None:
    """Write a drawing into a file.

    Parameters
    ----------
    drawing
        What to write.
    path
        Where to; the file appears whole or not at all.
    form
        ``"svg"``, ``"png"`` or ``"pdf"``.
    size
        Width on paper (:mod:`parentage.view.figure`); None: as on a screen.
    """
    scale = scale_for(drawing.width, size)
    if form == "svg":
        on_paper = f'width="{drawing.width * scale:.1f}pt" height="{drawing.height * scale:.1f}pt"'
        write_text(path, drawing_svg(drawing, "" if size is None else on_paper))
        return
    require_matplotlib(form)
    import matplotlib as mpl
    from matplotlib import font_manager

    installed = {font.name for font in font_manager.fontManager.ttflist}
    fonts = ["DejaVu Sans", *(name for name in FALLBACKS if name in installed)]
    metadata: dict[str, Any] = {"Title": drawing.title}
    metadata |= {"Creator": "parentage", "CreationDate": None} if form == "pdf" else {}
    settings: Any = {"pdf.fonttype": 42, "font.family": fonts, "axes.unicode_minus": False}
    with warnings.catch_warnings(record=True) as caught, mpl.rc_context(settings):
        warnings.simplefilter("always")
        figure = _painted(drawing, scale)
        dpi = 2 * 72 / SCREEN if size is None else DPI
        with replacing(path) as draft:
            figure.savefig(draft, format=form, dpi=dpi, metadata=metadata)
    for warning in caught:
        if not _STRANGE.match(str(warning.message)):
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
    strange = sum(bool(_STRANGE.match(str(warning.message))) for warning in caught)
    if strange:
        warn(
            DataWarning(
                f"{strange} characters in names are in none of the fonts here and are drawn as "
                "boxes; write .svg, which leaves fonts to the reader's program"
            ),
        )


def _painted(drawing: Drawing, scale: float) -> Any:
    from matplotlib.figure import Figure

    inches = (drawing.width * scale / 72, drawing.height * scale / 72)
    figure = Figure(figsize=inches, facecolor=LIGHT["paper"])
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0, drawing.width), ylim=(drawing.height, 0))
    axes.axis("off")
    for arc in drawing.arcs:
        line, head = line_and_head(arc)
        _paint_arc(axes, line, head, arc.stroke, scale)
    _paint_boxes(axes, drawing, scale)
    for sample in drawing.legend:
        line, head = sample.line_and_head()
        _paint_arc(axes, line, head, sample.stroke, scale, straight=True)
        _paint_text(axes, sample.text_x, sample.y, sample.text, "soft", SMALL * scale)
    _paint_text(axes, *drawing.caption_at, drawing.caption, "soft", SMALL * scale)
    return figure


def _paint_boxes(axes: Any, drawing: Drawing, scale: float) -> None:
    from matplotlib.patches import FancyBboxPatch

    for drawn in drawing.boxes:
        box = drawn.box
        axes.add_patch(
            FancyBboxPatch(
                (box.x - box.width / 2, box.y - box.height / 2),
                box.width,
                box.height,
                boxstyle="round,pad=0,rounding_size=7",
                facecolor=LIGHT["box"],
                edgecolor=LIGHT["edge"],
                linewidth=1.2 * scale,
            )
        )
        for text, y in zip(drawn.lines, drawn.baselines, strict=True):
            _paint_text(axes, box.x, y, text, "ink", FONT_SIZE * scale, "center")


def _paint_arc(
    axes: Any,
    line: tuple[Point, ...],
    head: tuple[Point, ...],
    stroke: Stroke,
    scale: float,
    *,
    straight: bool = False,
) -> None:
    from matplotlib.patches import PathPatch, Polygon
    from matplotlib.path import Path

    points, codes = [line[0]], [int(Path.MOVETO)]
    for piece in [(line[1],)] if straight else curve(line):
        points += piece
        codes += [int(Path.LINETO)] if len(piece) == 1 else [int(Path.CURVE4)] * 3
    look = {"alpha": stroke.opacity, "linewidth": stroke.width * scale}
    axes.add_patch(
        PathPatch(Path(points, codes), fill=False, edgecolor=LIGHT["arc"], capstyle="butt", **look)
    )
    if head:
        axes.add_patch(
            Polygon(head, facecolor=LIGHT["arc"], alpha=stroke.opacity, edgecolor="none")
        )


def _paint_text(
    axes: Any, x: float, y: float, text: str, colour: str, points: float, align: str = "left"
) -> None:
    axes.text(
        x,
        y,
        text,
        color=LIGHT[colour],
        fontsize=points,
        horizontalalignment=align,
        verticalalignment="baseline",
        parse_math=False,
    )
