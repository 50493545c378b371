"""The folder that ``parentage reproduce -o DIR`` writes: CSV, Markdown, figures and one page."""

from __future__ import annotations

import csv
import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from parentage.errors import InputError, MissingExtraError, ParentageWarning
from parentage.files.atomic import replacing, write_text
from parentage.paper.markdown import markdown_report
from parentage.paper.page import html_page
from parentage.paper.pictures import figure_svg, write_figure_png
from parentage.paper.published import FIGURES

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from parentage.paper.reproduction import Reproduction

READINGS = ("published", "printed", "stated")


def write_folder(folder: str | os.PathLike[str], result: Reproduction) -> list[Path]:
    """Write every output file; return their paths. The folder is made if it is not there."""
    home = Path(folder)
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot make the folder {str(home)!r}: {error.strerror or error}; choose another"
        ) from error
    texts = {
        "tables.csv": tables_csv(result),
        "bounds.csv": bounds_csv(result),
        "variables.csv": variables_csv(result),
        "figures.csv": figures_csv(result),
        "example.csv": example_csv(result),
        "report.md": markdown_report(result),
        "index.html": html_page(result),
    }
    texts |= {f"figure{figure}.svg": figure_svg(result, figure) + "\n" for figure in FIGURES}
    for name, text in texts.items():
        write_text(home / name, text)
    return [*(home / name for name in texts), *_write_pngs(home, result)]


def _write_pngs(home: Path, result: Reproduction) -> list[Path]:
    written = []
    try:
        for figure in FIGURES:
            path = home / f"figure{figure}.png"
            with replacing(path) as draft:
                write_figure_png(draft, result, figure)
            written.append(path)
    except MissingExtraError as error:
        warnings.warn(ParentageWarning(f"no PNG figures, only SVG: {error}"), stacklevel=3)
    return written


def tables_csv(result: Reproduction) -> str:
    """Tables 2 and 3, |S| first in every row of the paper."""
    order = {name: i for i, name in enumerate(result.datasets)}
    cells = sorted(
        (*result.search_space, *result.counts), key=lambda c: (order[c.dataset], c.in_degree)
    )
    rows = [(c.dataset, c.in_degree, c.column, c.published, c.printed, c.stated) for c in cells]
    return _csv(("dataset", "in_degree", "column", *READINGS), rows)


def bounds_csv(result: Reproduction) -> str:
    """Table 1: a Theorem 3 cell is ``bound (variables with it), …``."""
    rows = [(c.dataset, c.column, c.published, c.printed, c.stated) for c in result.bounds]
    return _csv(("dataset", "column", *READINGS), rows)


def variables_csv(result: Reproduction) -> str:
    """Theorem 3 variable by variable; the paper prints only how many have which bound."""
    rows = [
        (t.name, v, bound, t.stated.bounds.theorem3[v])
        for t in result.tables
        for v, bound in t.printed.bounds.theorem3.items()
    ]
    return _csv(("dataset", "variable", "printed", "stated"), rows)


def figures_csv(result: Reproduction) -> str:
    """The statistics of both figures, to three decimals."""
    rows = [
        (
            c.dataset.removeprefix("Figure "),
            c.in_degree,
            c.column,
            *("" if x is None else f"{x:.3f}" for x in (c.published, c.printed, c.stated)),
        )
        for c in result.figures
    ]
    return _csv(("figure", "in_degree", "statistic", *READINGS), rows)


def example_csv(result: Reproduction) -> str:
    """The worked example on glass."""
    rows = [(c.dataset, c.column, c.published, c.printed, c.stated) for c in result.example]
    return _csv(("family", "quantity", *READINGS), rows)


def _csv(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue()
