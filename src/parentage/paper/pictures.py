"""Figures 1 and 2 as boxplots: per in-degree one grey box as printed and one blue as stated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parentage.paper.published import FIGURES, IN_DEGREES
from parentage.view.boxplot import FiveNumbers, Group, boxplot_svg, write_boxplot_png

if TYPE_CHECKING:
    import os

    from parentage.paper.reproduction import Reproduction


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


def write_figure_png(path: str | os.PathLike[str], result: Reproduction, figure: int) -> None:
    """Write a figure as PNG; needs matplotlib."""
    write_boxplot_png(path, figure_title(figure), _axis(figure), _groups(result, figure))


def _axis(figure: int) -> str:
    more, less = FIGURES[figure]
    return f"({more}) / {less}"


def _groups(result: Reproduction, figure: int) -> list[Group]:
    return [
        Group(
            f"k = {k}",
            tuple(_box(result, reading, figure, k) for reading in ("printed", "stated")),
        )
        for k in IN_DEGREES
    ]


def _box(result: Reproduction, reading: str, figure: int, in_degree: int) -> FiveNumbers:
    s = result.statistics(reading, figure, in_degree)
    values = zip(result.datasets, result.ratios[reading][figure][in_degree], strict=True)
    return FiveNumbers(
        reading, s["min"], s["q1"], s["median"], s["q3"], s["max"], s["mean"],
        tuple(values), accent=reading == "stated",
    )  # fmt: skip
