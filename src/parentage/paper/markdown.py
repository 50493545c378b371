"""The reproduction as Markdown: the tables of the paper with all three readings, and the errata."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parentage.paper import prose
from parentage.paper.errata import errata
from parentage.paper.pictures import figure_title
from parentage.paper.published import CITATION, COLUMNS, FIGURES, IN_DEGREES, STATISTICS
from parentage.paper.reproduction import SPACE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from parentage.paper.reproduction import Cell, Reproduction, Value


def markdown_report(result: Reproduction) -> str:
    """Return the whole report."""
    blocks = [
        f"# {prose.TITLE}",
        f"{CITATION}. Every number and figure of the paper, computed again from the data.",
        prose.verdict(result),
        "\n".join(f"- **{name}**: {meaning}" for name, meaning in prose.READINGS.items())
        + "\n- ✗ marks a printed number that differs from the published one, **bold** a stated "
        "number that differs from the printed one.",
        _summary(result),
        prose.missing_note(result) or "",
        *_example(result),
        "## Table 1: parent bounds",
        "Theorem 3: bound (number of variables with it).",
        _bounds(result),
        "## Tables 2–3: families pruned",
        *(_counts(result, k) for k in IN_DEGREES),
        "## Figures",
        prose.figure_note(result),
        *_figures(result),
        "## Errata",
        *_errata(result),
        "## Data and conventions",
        "\n".join(f"- {line}" for line in prose.CONVENTIONS),
        _data(result),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def pipe_table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """Return a Markdown table, the first ``left`` columns to the left, the others to the right.

    >>> print(pipe_table(("table", "rows"), [("zoo", "101")]))
    | table | rows |
    |:--|--:|
    | zoo | 101 |
    """
    lines = ["|" + "|".join(":--" if i < left else "--:" for i in range(len(head))) + "|"]
    cells = [[cell.replace("|", "\\|") for cell in row] for row in (head, *rows)]
    written = [f"| {' | '.join(row)} |" for row in cells]
    return "\n".join([written[0], *lines, *written[1:]])


def _summary(result: Reproduction) -> str:
    rows = [
        (prose.tile(kind, tally), str(tally.matched), str(tally.of))
        for kind, tally in result.tallies.items()
    ]
    return pipe_table(("compared", "matched", "of"), rows)


def _example(result: Reproduction) -> list[str]:
    if not result.example:
        return []
    rows = [
        (c.dataset, c.column, f"{c.published:.2f}", _printed(c, ".2f"), f"{c.stated:.4f}")
        for c in result.example
    ]
    head = ("family", "quantity", "published", "printed", "stated")
    return ["## The worked example on glass", pipe_table(head, rows, left=2)]


def _bounds(result: Reproduction) -> str:
    rows = [
        (c.dataset, c.column, _shown(c.published), _printed(c), _stated(c)) for c in result.bounds
    ]
    return pipe_table(("table", "bound", "published", "printed", "stated"), rows, left=2)


def _counts(result: Reproduction, in_degree: int) -> str:
    cells = {
        (c.dataset, c.column): c
        for c in (*result.search_space, *result.counts)
        if c.in_degree == in_degree
    }
    rows = []
    for name in result.datasets:
        of_table = [cells[name, column] for column in (SPACE, *COLUMNS)]
        rows.append((name, "published", *(_shown(c.published) for c in of_table)))
        rows.append(("", "printed", *(_printed(c) for c in of_table)))
        rows.append(("", "stated", *(_stated(c) for c in of_table)))
    head = ("table", "reading", SPACE, *COLUMNS)
    return f"### In-degree up to {in_degree}\n\n" + pipe_table(head, rows, left=2)


def _figures(result: Reproduction) -> list[str]:
    blocks = []
    for figure in FIGURES:
        rows = []
        for k in IN_DEGREES:
            cells = [
                c for c in result.figures if (c.dataset, c.in_degree) == (f"Figure {figure}", k)
            ]
            if not result.missing:
                rows.append((str(k), "published", *(f"{c.published:.3f}" for c in cells)))
            rows.append(
                (
                    "" if rows and not result.missing else str(k),
                    "printed",
                    *(_printed(c, ".3f") for c in cells),
                )
            )
            rows.append(("", "stated", *(_stated(c, ".3f") for c in cells)))
        blocks += [
            f"![{figure_title(figure)}](figure{figure}.svg)",
            f"{figure_title(figure)}.",
            pipe_table(("in-degree", "reading", *STATISTICS), rows, left=2),
        ]
    return blocks


def _errata(result: Reproduction) -> list[str]:
    blocks = []
    for erratum in errata(result):
        blocks += [f"### {erratum.title}", *erratum.paragraphs]
        if erratum.rows:
            blocks.append(pipe_table(erratum.header, erratum.rows))
    return blocks


def _data(result: Reproduction) -> str:
    rows = [
        (
            t.name,
            str(t.source),
            f"{t.variables}{' ✗' if prose.shape_differs(t) else ''}",
            str(t.rows),
            t.digest[:12],
        )
        for t in result.tables
    ]
    return pipe_table(
        ("table", "source", "variables", "rows", "SHA-256 of the codes"), rows, left=2
    )


def _shown(value: Value | None, spec: str = "") -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else format(value, spec or ",")


def _printed(cell: Cell, spec: str = "") -> str:
    wrong = cell.published is not None and not cell.matched
    return _shown(cell.printed, spec) + (" ✗" if wrong else "")


def _stated(cell: Cell, spec: str = "") -> str:
    shown = _shown(cell.stated, spec)
    return f"**{shown}**" if cell.corrected else shown
