"""Figures 1 and 2 as boxplots: per in-degree one grey box as printed and one blue as stated.

A box runs from the first to the third quartile with a line at the median, whiskers reach the
extremes, a diamond is the mean, dots are the values themselves. SVG needs nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from reproduction.published import FIGURES, IN_DEGREES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reproduction.experiments import Reproduction

# ---------------------------------------------------------------------------------------------
# The two figures


def figure_title(figure: int) -> str:
    """Say what a figure shows.

    >>> figure_title(2)
    'Figure 2: families pruned by Alg1+Alg4, relative to Alg1'
    """
    more, less = FIGURES[figure]
    return f"Figure {figure}: families pruned by {more}, relative to {less}"


def figure_svg(result: Reproduction, figure: int) -> str:
    """Return a figure as SVG."""
    return boxplot_svg(figure_title(figure), _axis(figure), _groups(result, figure))


def _axis(figure: int) -> str:
    more, less = FIGURES[figure]
    return f"({more}) / {less}"


def _groups(result: Reproduction, figure: int) -> list[Group]:
    return [
        Group(
            f"k = {k}",
            tuple(_numbers(result, reading, figure, k) for reading in ("printed", "stated")),
        )
        for k in IN_DEGREES
    ]


def _numbers(result: Reproduction, reading: str, figure: int, in_degree: int) -> FiveNumbers:
    s = result.statistics(reading, figure, in_degree)
    values = zip(result.datasets, result.ratios[reading][figure][in_degree], strict=True)
    return FiveNumbers(
        reading, s["min"], s["q1"], s["median"], s["q3"], s["max"], s["mean"],
        tuple(values), accent=reading == "stated",
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------
# Boxplots


WIDTH = 480.0
LEFT, RIGHT, TOP = 112.0, 16.0, 14.0
BOX, BETWEEN, APART = 22.0, 10.0, 22.0
FONT = 13.0

_LIGHT = "--paper:#fff;--ink:#1b2733;--soft:#5d6873;--rule:#d5dbe1;--plain:#c3c9cf;--accent:#9cc0e6"
_DARK = (
    "--paper:#14181d;--ink:#e6edf3;--soft:#98a4b0;--rule:#333c46;--plain:#59636d;--accent:#2f628f"
)
_FONT = f'{FONT:.0f}px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif'
_STYLE = f"""
.boxplot{{color-scheme:light dark;{_LIGHT}}}
@media (prefers-color-scheme:dark){{.boxplot{{{_DARK}}}}}
@media print{{.boxplot{{{_LIGHT}}}}}
.boxplot .paper{{fill:var(--paper)}}
.boxplot text{{fill:var(--ink);font:{_FONT}}}
.boxplot .soft{{fill:var(--soft)}}
.boxplot .grid{{stroke:var(--rule);stroke-width:1}}
.boxplot .line{{stroke:var(--ink);stroke-width:1.3;fill:none}}
.boxplot .median{{stroke:var(--ink);stroke-width:2.4}}
.boxplot .mean{{fill:var(--ink);stroke:var(--paper);stroke-width:1}}
.boxplot .dot{{fill:var(--ink);opacity:.32}}
.boxplot .plain rect{{fill:var(--plain)}}
.boxplot .accent rect{{fill:var(--accent)}}
"""


@dataclass(frozen=True)
class FiveNumbers:
    """One box: its numbers, the values behind it, and how it is labelled and filled."""

    label: str
    low: float
    q1: float
    median: float
    q3: float
    high: float
    mean: float
    values: tuple[tuple[str, float], ...] = ()
    """Names and values of the dots."""
    accent: bool = False

    @property
    def finite(self) -> bool:
        """Whether the box can be drawn."""
        return all(
            map(math.isfinite, (self.low, self.q1, self.median, self.q3, self.high, self.mean))
        )


@dataclass(frozen=True)
class Group:
    """Boxes that belong together, under one label."""

    label: str
    boxes: tuple[FiveNumbers, ...]


def boxplot_svg(title: str, axis: str, groups: Sequence[Group]) -> str:
    """Return a boxplot as a complete SVG document.

    Parameters
    ----------
    title
        What the picture shows, for readers who cannot see it.
    axis
        What is measured.
    groups
        From top to bottom.
    """
    scale = _Scale.around(groups)
    parts: list[str] = []
    y = TOP
    for group in groups:
        first = y
        for box in group.boxes:
            parts.append(_box(box, y + BOX / 2, scale))
            y += BOX + BETWEEN
        middle = (first + y - BETWEEN) / 2
        parts.append(_text(8, middle + FONT * 0.35, group.label, "start"))
        y += APART - BETWEEN
    bottom = y - APART + 8
    ticks = "".join(_tick(value, scale, bottom) for value in scale.ticks)
    height = bottom + 48
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="boxplot" role="img" '
            f'width="{WIDTH:.0f}" height="{height:.0f}" viewBox="0 0 {WIDTH:.0f} {height:.0f}" '
            f'style="max-width:100%;height:auto">',
            f"<title>{escape(title)}</title>",
            f"<style>{_STYLE}</style>",
            f'<rect class="paper" width="{WIDTH:.0f}" height="{height:.0f}"/>',
            ticks,
            *parts,
            _text((LEFT + WIDTH - RIGHT) / 2, bottom + 40, axis, "middle", "soft"),
            "</svg>",
        ]
    )


@dataclass(frozen=True)
class _Scale:
    """From values to pixels, with round ticks."""

    low: float
    high: float
    step: float

    @classmethod
    def around(cls, groups: Sequence[Group]) -> _Scale:
        ends = [x for g in groups for b in g.boxes if b.finite for x in (b.low, b.high)] or [
            0.0,
            1.0,
        ]
        low, high = min(ends), max(ends)
        high = max(high, low + 0.1)
        span = high - low
        step = 10 ** math.floor(math.log10(span / 3))
        step *= next(m for m in (1, 2, 5, 10) if span / (step * m) <= 6)
        first, last = math.floor(low / step), math.ceil(high / step)
        return cls(first * step, max(last, first + 1) * step, step)

    @property
    def ticks(self) -> list[float]:
        return [
            self.low + i * self.step for i in range(round((self.high - self.low) / self.step) + 1)
        ]

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return LEFT + 6 + share * (WIDTH - RIGHT - LEFT - 12)


def _box(box: FiveNumbers, y: float, at: _Scale) -> str:
    label = _text(LEFT - 8, y + FONT * 0.35, box.label, "end", "soft")
    if not box.finite:
        return label + _text(LEFT + 6, y + FONT * 0.35, "not finite", "start", "soft")
    half, cap = BOX / 2, BOX / 4
    low, q1, median, q3, high, mean = map(
        at, (box.low, box.q1, box.median, box.q3, box.high, box.mean)
    )
    numbers = (
        f"{box.label}: min {box.low:.3f}, q1 {box.q1:.3f}, median {box.median:.3f}, "
        f"q3 {box.q3:.3f}, max {box.high:.3f}, mean {box.mean:.3f}"
    )
    dots = "".join(
        f'<circle class="dot" cx="{at(value):.1f}" cy="{y + _offset(i):.1f}" r="2">'
        f"<title>{escape(name)}: {value:.3f}</title></circle>"
        for i, (name, value) in enumerate(box.values)
        if math.isfinite(value)
    )
    return (
        f'<g class="{"accent" if box.accent else "plain"}"><title>{escape(numbers)}</title>'
        f'<path class="line" d="M{low:.1f} {y:.1f}H{q1:.1f}M{q3:.1f} {y:.1f}H{high:.1f}'
        f'M{low:.1f} {y - cap:.1f}V{y + cap:.1f}M{high:.1f} {y - cap:.1f}V{y + cap:.1f}"/>'
        f'<rect class="line" x="{q1:.1f}" y="{y - half:.1f}" width="{max(q3 - q1, 1):.1f}" '
        f'height="{BOX:.1f}"/>'
        f'<line class="median" x1="{median:.1f}" x2="{median:.1f}" y1="{y - half:.1f}" '
        f'y2="{y + half:.1f}"/>{dots}'
        f'<path class="mean" d="M{mean - 6:.1f} {y:.1f}l6 -6l6 6l-6 6z"/></g>{label}'
    )


def _offset(i: int) -> float:
    """Spread dots up and down, so that equal values can be told apart."""
    return (-6.0, 6.0, -3.0, 3.0)[i % 4]


def _tick(value: float, at: _Scale, bottom: float) -> str:
    x = at(value)
    return (
        f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 6:.1f}" y2="{bottom:.1f}"/>'
        + _text(x, bottom + 17, f"{value:g}", "middle", "soft")
    )


def _text(x: float, y: float, text: str, anchor: str, kind: str = "") -> str:
    css = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{css}>{escape(text)}</text>'
