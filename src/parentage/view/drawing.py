"""The figure of a network as numbers: what the writers of SVG, PNG, PDF and the page share.

Boxes and routes come from :mod:`parentage.view.layout`. An arc is as wide as the square root of
what it gains and as strong as its support; it has a head where every equivalent network has it in
this direction or the constraints set the direction, and is a plain line where it is reversible. A
legend says so.

No font is at hand when text is placed in boxes. Widths are those of a wide sans-serif (DejaVu
Sans), so that the text fits whatever font the viewer has. Long names break at blanks, underscores,
hyphens and dots, into three lines at most; what is still too long loses its middle.
"""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from parentage.errors import counted, shortened
from parentage.view.layout import Box, Placement, Point, Size, layout
from parentage.work.progress import amount

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from parentage.network.network import Network
    from parentage.scoring.constraints import Arc


NARROW, WIDE, PLAIN = 1.0, 6.0, 1.5
FAINTEST = 0.2


def stroke_widths(
    arcs: Iterable[Arc], gains: Mapping[Arc, float] | None = None
) -> dict[Arc, float]:
    """Return a width for every arc: the square root of its gain, the largest gain drawn widest.

    Without gains every arc is plain; an arc that gains nothing is narrow, and one whose gain is
    not known or infinite is as wide as the widest.

    >>> stroke_widths([("a", "b"), ("a", "c")], {("a", "b"): 100.0, ("a", "c"): 4.0})
    {('a', 'b'): 6.0, ('a', 'c'): 2.0}
    """
    if not gains:
        return dict.fromkeys(arcs, PLAIN)
    largest = max((g for g in gains.values() if math.isfinite(g)), default=0.0)
    return {arc: _width(gains.get(arc, math.inf), largest) for arc in arcs}


def _width(gain: float, largest: float) -> float:
    if not math.isfinite(gain) or gain >= largest:
        return WIDE
    return NARROW + (WIDE - NARROW) * math.sqrt(max(gain, 0.0) / largest)


def opacity_of(support: float | None) -> float:
    """Return how strongly an arc is drawn: fully at 1 or when nothing is known, faintly at 0.

    >>> opacity_of(None), opacity_of(1.0), opacity_of(0.25), opacity_of(0.0)
    (1.0, 1.0, 0.4, 0.2)
    """
    if support is None or not math.isfinite(support):
        return 1.0
    return FAINTEST + (1 - FAINTEST) * min(1.0, max(0.0, support))


FONT_SIZE = 13.0
LINE_HEIGHT = 16.0
LONGEST_LINE = 150.0
MOST_LINES = 3
LONGEST_TEXT = 601
"""Characters that are fitted into lines; of a longer name most could not be shown anyway."""

_NARROW, _SLIM, _WIDE = (
    frozenset("iljI|.,:;'! "),
    frozenset('ftrJ()[]{}/\\-"*'),
    frozenset("mwMW@%"),
)
_BREAK = re.compile(r"(?<=[\s_.\-/:,;])")


def text_width(text: str) -> float:
    """Width in pixels that text will not exceed in most fonts.

    >>> text_width("il") < text_width("ab") < text_width("MW")
    True
    """
    return FONT_SIZE * sum(_em(character) for character in text)


def label_lines(name: str) -> list[str]:
    """Break a name into lines that fit.

    >>> label_lines("age"), label_lines("time_since_last_visit_to_the_clinic")
    (['age'], ['time_since_last_', 'visit_to_the_clinic'])
    """
    text = shortened(printable(name), LONGEST_TEXT)
    for count in range(1, MOST_LINES + 1):
        lines = _balanced(text, count)
        if max(text_width(line) for line in lines) <= LONGEST_LINE:
            return lines
    return [_shortened(line) for line in _balanced(text, MOST_LINES)]


def printable(name: str) -> str:
    """Replace characters that cannot be drawn, or written in XML; show an empty name as ∅."""
    shown = "".join(
        " "
        if c.isspace()
        else c
        if c.isprintable() or c == "\u200d"
        else "\N{REPLACEMENT CHARACTER}"
        for c in name
    )
    return shown if shown.strip() else "∅"


def _balanced(text: str, count: int) -> list[str]:
    """Break at word ends into so many lines, each about as wide as the others."""
    words = [word for word in _BREAK.split(text) if word]
    lines = [""]
    share = text_width(text) / count
    done = 0.0
    for word in words:
        middle = done + text_width(word) / 2
        if lines[-1] and middle > share * len(lines) and len(lines) < count:
            lines.append("")
        lines[-1] += word
        done += text_width(word)
    return [line.strip() for line in lines if line.strip()]


def _shortened(line: str) -> str:
    keep = len(line)
    short = line
    while text_width(short) > LONGEST_LINE and keep > 2:
        keep -= 1
        short = line[: (keep + 1) // 2] + "…" + line[len(line) - keep // 2 :]
    return short


def _em(character: str) -> float:
    if character in _NARROW:
        return 0.34
    if character in _SLIM:
        return 0.44
    if character in _WIDE:
        return 0.97
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.02
    if character.isupper():
        return 0.72
    return 0.63 if character.isascii() else 0.72


MARGIN = 18.0
PADDING = (12.0, 8.0)
SMALL = 12.0
"""Size of the text below the figure."""
LEGEND_LINE = 20.0
ABOVE_LEGEND = 12.0
SAMPLE = 30.0
"""Length of the arcs in the legend."""

WIDEST = 4.5
"""Width of an arc that is certain, where width shows confidence."""


@dataclass(frozen=True)
class Stroke:
    """How an arc is drawn: its width, its opacity, whether it has a head, whether it is dashed."""

    width: float
    opacity: float
    arrow: bool
    dashed: bool = False

    @property
    def dashes(self) -> str:
        """Lengths of the dashes and gaps of a dashed line, as SVG has them."""
        return f"{3 + 1.5 * self.width:.1f} {2 + 1.2 * self.width:.1f}"

    @property
    def head(self) -> tuple[float, float]:
        """Length and half width of the head."""
        return 6.0 + 1.3 * self.width, 2.8 + 0.75 * self.width


class Confidence(NamedTuple):
    """How sure an arc is: a share from 0 to 1 for its width; dashed unless it is firm."""

    share: float
    firm: bool


@dataclass(frozen=True)
class DrawnArc:
    """One arc: indices of its ends, the points it visits, and what is told of it.

    The last point is the tip of the head, or the end of the line.
    """

    tail: int
    head: int
    points: tuple[Point, ...]
    stroke: Stroke
    told: str


@dataclass(frozen=True)
class DrawnBox:
    """One variable: its name in full, the lines shown, and where they stand."""

    name: str
    lines: tuple[str, ...]
    box: Box

    @property
    def baselines(self) -> tuple[float, ...]:
        """Where the text of each line stands."""
        first = self.box.y - (len(self.lines) - 1) * LINE_HEIGHT / 2 + FONT_SIZE * 0.35
        return tuple(first + i * LINE_HEIGHT for i in range(len(self.lines)))


@dataclass(frozen=True)
class Sample:
    """One entry of the legend: a short arc and its meaning, from its left end on."""

    x: float
    y: float
    stroke: Stroke
    text: str

    @property
    def text_x(self) -> float:
        """Where the text begins; it stands at the height ``y``."""
        return self.x + SAMPLE + 8

    def line_and_head(self) -> tuple[tuple[Point, Point], tuple[Point, ...]]:
        """Return the ends of the line and the corners of its head; none for a plain line."""
        end, y = self.x + SAMPLE, self.y - SMALL * 0.35
        if not self.stroke.arrow:
            return ((self.x, y), (end, y)), ()
        length, half = self.stroke.head
        base = end - length
        return ((self.x, y), (base, y)), ((end, y), (base, y - half), (base, y + half))


@dataclass(frozen=True)
class Drawing:
    """A finished figure; coordinates run right and down from the upper left corner.

    Parameters
    ----------
    width, height
        Size of the whole figure.
    boxes
        One for every variable.
    arcs
        The narrow ones first, so that wide ones lie above them.
    legend
        What the arcs mean.
    caption, caption_at
        A line of text below, and where it begins.
    title
        What the figure shows, for readers who cannot see it.
    """

    width: float
    height: float
    boxes: tuple[DrawnBox, ...]
    arcs: tuple[DrawnArc, ...]
    legend: tuple[Sample, ...]
    caption: str
    caption_at: Point
    title: str


def network_drawing(
    network: Network,
    gains: Mapping[Arc, float] | None = None,
    *,
    imposed: Mapping[Arc, bool | None] | None = None,
    row_width: float | None = None,
    confidence: Mapping[Arc, Confidence] | None = None,
    room: Sequence[Size] | None = None,
) -> Drawing:
    """Lay out a network and decide how every arc looks.

    Parameters
    ----------
    network
        What to draw. Its ``shares``, how sure arcs are, become their opacity.
    gains
        What every arc ``(parent, child)`` gains, drawn as its width.
    imposed
        Whether the constraints set the direction of an arc, which then has a head; None if that
        is not known.
    row_width
        About how wide the figure may be; None: what suits the number of variables.
    confidence
        How sure every arc is, drawn as its width and its dashes instead of gains and shares.
    room
        Least width and additional height of every box, for what is drawn into it.
    """
    lines = [tuple(label_lines(name)) for name in network.names]
    sizes = [
        _box_size(text, max(len(members), len(children)))
        for text, members, children in zip(lines, network.parents, network.children, strict=True)
    ]
    if room is not None:
        pairs = zip(sizes, room, strict=True)
        sizes = [(max(width, least), height + more) for (width, height), (least, more) in pairs]
    drawn = layout(sizes, network.parents, row_width)
    told = imposed or {}
    compelled = network.equivalence_class().compelled
    strokes = _strokes(network, gains, compelled | {arc for arc, is_set in told.items() if is_set})
    for arc, sure in (confidence or {}).items():
        width = NARROW + (WIDEST - NARROW) * min(1.0, max(0.0, sure.share))
        strokes[arc] = Stroke(width, 1.0, strokes[arc].arrow, not sure.firm)
    caption = _caption(network, gains)
    entries = _legend_entries(strokes, gains, network.shares or {})
    entries = [*_direction_entries(network.arcs, compelled, told), *entries]
    widths = (_entry_width(text) for _, text in entries)
    inside = max(drawn.width, text_width(caption) * SMALL / FONT_SIZE, *widths)
    legend, used = _placed(entries, inside, drawn.height + 2 * MARGIN + ABOVE_LEGEND)
    dx = MARGIN + (inside - drawn.width) / 2
    arcs = [
        _drawn_arc(network, arc, drawn, strokes[_named(network, arc)], gains, dx)
        for arc in drawn.routes
    ]
    bottom = drawn.height + 2 * MARGIN + ABOVE_LEGEND + used
    return Drawing(
        inside + 2 * MARGIN,
        bottom + LEGEND_LINE,
        tuple(
            DrawnBox(name, text, Box(box.x + dx, box.y + MARGIN, box.width, box.height))
            for name, text, box in zip(network.names, lines, drawn.boxes, strict=True)
        ),
        tuple(sorted(arcs, key=lambda arc: arc.stroke.width)),
        legend,
        caption,
        (MARGIN, bottom + SMALL / 2),
        repr(network),
    )


def curve(points: tuple[Point, ...]) -> list[tuple[Point, ...]]:
    """Return the pieces of a route: one point, straight down; three, a curve of third degree.

    It runs straight down inside layers and by an S-curve between them.
    """
    pieces: list[tuple[Point, ...]] = []
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        if abs(x1 - x0) < 0.05:
            pieces.append(((x0, y1),))
        else:
            bend = (y1 - y0) * 0.5
            pieces.append(((x0, y0 + bend), (x1, y1 - bend), (x1, y1)))
    return pieces


def line_and_head(arc: DrawnArc) -> tuple[tuple[Point, ...], tuple[Point, ...]]:
    """Return the points of an arc's line and the corners of its head; none for a plain line."""
    *points, (x, entry), tip = arc.points
    if not arc.stroke.arrow:
        return arc.points, ()
    length, half = arc.stroke.head
    base = (tip[0], tip[1] - length)
    points += [(x, min(entry, base[1])), base]
    return tuple(points), (tip, (base[0] - half, base[1]), (base[0] + half, base[1]))


def _box_size(lines: tuple[str, ...], ports: int) -> tuple[float, float]:
    """Room for the text, and for the arcs that meet on one edge."""
    width = max(text_width(line) for line in lines) + 2 * PADDING[0]
    return max(44.0, width, min(240.0, 8.0 * ports)), len(lines) * LINE_HEIGHT + 2 * PADDING[1]


def _strokes(
    network: Network, gains: Mapping[Arc, float] | None, heads: Collection[Arc]
) -> dict[Arc, Stroke]:
    widths = stroke_widths(network.arcs, gains)
    known = network.shares or {}
    return {
        arc: Stroke(widths[arc], opacity_of(known.get(arc)), arc in heads) for arc in network.arcs
    }


def _drawn_arc(
    network: Network,
    arc: tuple[int, int],
    drawn: Placement,
    stroke: Stroke,
    gains: Mapping[Arc, float] | None,
    dx: float,
) -> DrawnArc:
    parent, child = named = _named(network, arc)
    told = f"{printable(parent)} {'→' if stroke.arrow else '—'} {printable(child)}"
    if gains and named in gains:
        told += f", gains {amount(gains[named])}"
    if named in (network.shares or {}):
        told += f", support {(network.shares or {})[named]:.0%}"
    points = tuple((x + dx, y + MARGIN) for x, y in drawn.routes[arc])
    return DrawnArc(*arc, points, stroke, told)


def _direction_entries(
    arcs: Sequence[Arc], compelled: Collection[Arc], imposed: Mapping[Arc, bool | None]
) -> list[tuple[Stroke, str]]:
    """Say what a head and a plain line mean, as far as they occur."""
    left = [arc for arc in arcs if arc not in compelled]
    limited = [arc for arc in left if imposed.get(arc)]
    heads = ["compelled"] if len(left) < len(arcs) else []
    heads += ["set by the constraints"] if limited else []
    entries = [(Stroke(PLAIN, 1.0, True), " or ".join(heads))] if heads else []
    if len(limited) < len(left):
        unclear = any(imposed.get(arc, False) is None for arc in left)
        words = "reversible, unless the constraints set the direction" if unclear else "reversible"
        entries.append((Stroke(PLAIN, 1.0, False), words))
    return entries


def _legend_entries(
    strokes: Mapping[Arc, Stroke],
    gains: Mapping[Arc, float] | None,
    support: Mapping[Arc, float],
) -> list[tuple[Stroke, str]]:
    """Say what can be seen, and only that."""
    entries: list[tuple[Stroke, str]] = []
    known = {arc: gains[arc] for arc in strokes if gains and arc in gains}
    finite = [gain for gain in known.values() if math.isfinite(gain)]
    if finite:
        low, high = min(finite), max(finite)
        widths = stroke_widths(strokes, gains)
        if high > low:
            narrow = min(widths.values(), default=NARROW)
            entries.append((Stroke(narrow, 1.0, False), f"gains {low:.3g}"))
        entries.append((Stroke(WIDE, 1.0, False), f"gains {high:.3g}"))
    shares = [support[arc] for arc in strokes if arc in support]
    if shares:
        least = min(shares)
        entries.append((Stroke(3.0, opacity_of(least), False), f"support {least:.0%}"))
    return entries


def _entry_width(text: str) -> float:
    return SAMPLE + 8.0 + text_width(text) * SMALL / FONT_SIZE


def _placed(
    entries: list[tuple[Stroke, str]], limit: float, top: float
) -> tuple[tuple[Sample, ...], float]:
    """Put the entries side by side, in as many lines as they need; also how high they are."""
    samples, x, line = [], 0.0, 0
    for stroke, text in entries:
        if x > 0 and x + _entry_width(text) > limit:
            x, line = 0.0, line + 1
        samples.append(Sample(MARGIN + x, top + line * LEGEND_LINE, stroke, text))
        x += _entry_width(text) + 20.0
    return tuple(samples), (line + 1) * LEGEND_LINE if entries else 0.0


def _caption(network: Network, gains: Mapping[Arc, float] | None) -> str:
    arcs = counted(network.n_arcs, "arc")
    text = f"{network.n_variables:,} variables, {arcs}"
    if gains:
        text += f"; width: what an arc gains, at most {amount(max(gains.values()))}"
    return text


def _named(network: Network, arc: tuple[int, int]) -> Arc:
    return network.names[arc[0]], network.names[arc[1]]
