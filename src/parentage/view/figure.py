"""The picture of a network as PNG or PDF: the drawing of the SVG, painted by matplotlib.

matplotlib is a wheel like any other; programs that turn SVG into PNG need libraries of the system.
Text in a PDF stays text, in an embedded font.
"""

from __future__ import annotations

import re
import warnings
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from parentage.errors import DataWarning, MissingExtraError, warn
from parentage.files.atomic import replacing
from parentage.view.drawing import FONT_SIZE, SAMPLE, SMALL, Drawing, curve, line_and_head
from parentage.view.sizes import SCREEN, scale_for
from parentage.view.svg import LIGHT

if TYPE_CHECKING:
    import os

    from parentage.view.drawing import Stroke
    from parentage.view.layout import Point

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
    """Paint a drawing into a file.

    Parameters
    ----------
    drawing
        What to paint.
    path
        Where to; the file appears whole or not at all.
    form
        ``"png"`` or ``"pdf"``.
    size
        Width on paper (:mod:`parentage.view.sizes`); None: as on a screen.
    """
    require_matplotlib(form)
    import matplotlib as mpl
    from matplotlib import font_manager

    scale = scale_for(drawing.width, size)
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
        y, end = sample.y - SMALL * 0.35, sample.x + SAMPLE
        length, half = sample.stroke.head if sample.stroke.arrow else (0.0, 0.0)
        base = end - length
        corners = ((end, y), (base, y - half), (base, y + half)) if sample.stroke.arrow else ()
        _paint_arc(axes, ((sample.x, y), (base, y)), corners, sample.stroke, scale, straight=True)
        _paint_text(axes, sample.x + SAMPLE + 8, sample.y, sample.text, "soft", SMALL * scale)
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
