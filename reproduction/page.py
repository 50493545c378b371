"""The reproduction as one HTML page without script or outside file: a results section."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from reproduction.errata import errata
from reproduction.experiments import SPACE, how_to_add
from reproduction.figures import figure_svg, figure_title
from reproduction.published import (
    BOUNDS,
    CITATION,
    COLUMNS,
    DATASETS,
    FIGURES,
    IN_DEGREES,
    STATISTICS,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reproduction.errata import Erratum
    from reproduction.experiments import Cell, Reproduction, TableRun, Tally, Value

# ---------------------------------------------------------------------------------------------
# The words around the numbers


TITLE = "Entropy-based pruning, reproduced"

KINDS = {
    "counts": "counts in Tables 2–3",
    "search_space": "search-space sizes |S|",
    "bounds": "bounds in Table 1",
    "figures": "figure statistics",
    "example": "numbers of the worked example",
}
"""What is compared, in the words of a reader."""

READINGS = {
    "published": "the number in the paper",
    "printed": "what the authors’ program counted, its deviations from the theorems included",
    "stated": "what the theorems say",
}

CONVENTIONS = (
    "A numeric attribute takes the state 0 below the median of its observed values and 1 from "
    "there on; missing numbers are replaced by that median, missing labels by the mode.",
    "A variable has the states that its header declares, also those that never occur. Identifiers "
    "(zoo: animal; flags: name) and columns with one observed state are left out.",
    "Counted are all families with 1 to k parents, the empty set not included. A family that a "
    "rule prunes is flagged, and so are its supersets; a combined column is the union of flags.",
    "Figures: quartiles by linear interpolation, whiskers at the extremes, diamond at the mean; "
    "0/0 counts as 1.",
)


def verdict(result: Reproduction) -> str:
    """Sum up in one or two sentences."""
    tallies = result.tallies.values()
    matched, of = sum(t.matched for t in tallies), sum(t.of for t in tallies)
    moved = sum(c.corrected for c in result.counts)
    have = len(result.tables)
    found = f"{have} of {len(DATASETS)} tables {'was' if have == 1 else 'were'} found."
    outcome = (
        f"All {of} published numbers for what was found are reproduced in the printed reading"
        if matched == of
        else f"{of - matched} of {of} published numbers are not reproduced in the printed reading"
    )
    return (
        f"{found} {outcome}. In the stated reading {moved} of {len(result.counts)} counts differ "
        "from what was printed."
    )


def tile(kind: str, tally: Tally) -> str:
    """Describe a tally of the summary."""
    if tally.of == 0:
        needs = "need all 18 tables" if kind == "figures" else "need glass.arff"
        return f"{KINDS[kind]}: {needs}"
    return KINDS[kind]


def missing_note(result: Reproduction) -> str | None:
    """Name what is missing and how to add it."""
    if not result.missing:
        return None
    count = len(result.missing)
    tables = "1 table is" if count == 1 else f"{count} tables are"
    them = "it" if count == 1 else "them"
    return f"{tables} missing. To add {them}, {how_to_add(result.missing)}."


def shape_differs(table: TableRun) -> bool:
    """Whether a table has other dimensions than in the paper."""
    known = BOUNDS[table.name]
    return (table.variables, table.rows) != (known.variables, known.rows)


def figure_note(result: Reproduction) -> str:
    """Say over how many tables the boxes are."""
    if not result.missing:
        return "Each box is over the 18 tables; dots are tables, the diamond is the mean."
    return (
        f"Each box is over the tables at hand, {len(result.tables)} of {len(DATASETS)}, and cannot "
        "be compared with the paper."
    )


# ---------------------------------------------------------------------------------------------
# The page


SECTIONS = {
    "overview": "Overview",
    "example": "Worked example",
    "table-1": "Table 1",
    "tables-2-3": "Tables 2–3",
    "figures": "Figures 1–2",
    "errata": "Errata",
    "data": "Data and conventions",
}
GROWTH = (0.0, 0.05, 0.25, 1.0)
"""Relative growth above which an overview square is one step darker."""


def html_page(result: Reproduction) -> str:
    """Return the page."""
    from parentage import __version__

    sections = {
        "overview": _overview(result),
        "example": _example(result),
        "table-1": _table1(result),
        "tables-2-3": _tables(result),
        "figures": _figures(result),
        "errata": "".join(_erratum(erratum) for erratum in errata(result)),
        "data": _data(result),
    }
    shown = {key: body for key, body in sections.items() if body}
    nav = "".join(f'<a href="#{key}">{SECTIONS[key]}</a>' for key in shown)
    body = "".join(
        f'<section id="{key}"><h2>{SECTIONS[key]}</h2>{content}</section>'
        for key, content in shown.items()
    )
    note = missing_note(result)
    style = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(TITLE)}</title><style>{style}</style></head><body><main>"
        f"<header><h1>{escape(TITLE)}</h1><p class=soft>{escape(CITATION)}</p>"
        f"<p class=lead>{escape(verdict(result))}</p>{_tiles(result)}"
        f"{f'<p class=note>{escape(note)}</p>' if note else ''}"
        f"{_readings()}<nav>{nav}</nav></header>"
        f"{body}<footer>Made by parentage {escape(__version__)} with “make reproduce”. "
        "Numbers, figures and errata are computed, none is typed.</footer></main></body></html>\n"
    )


# ---------------------------------------------------------------------------------------------
# Header


def _tiles(result: Reproduction) -> str:
    tiles = []
    for kind, tally in result.tallies.items():
        css = "" if tally.of == 0 else " ok" if tally.matched == tally.of else " bad"
        number = "–" if tally.of == 0 else f"{tally.matched} / {tally.of}"
        words = escape(tile(kind, tally))
        tiles.append(f'<div class="tile{css}"><b>{number}</b><span>{words}</span></div>')
    return f'<div class="tiles">{"".join(tiles)}</div>'


def _readings() -> str:
    entries = "".join(f"<dt>{n}</dt><dd>{escape(m)}</dd>" for n, m in READINGS.items())
    return f'<dl class="readings">{entries}</dl>'


# ---------------------------------------------------------------------------------------------
# Overview: every count as one square


def _overview(result: Reproduction) -> str:
    cells = {(c.dataset, c.in_degree, c.column): c for c in (*result.search_space, *result.counts)}
    columns = (SPACE, *COLUMNS)
    widths = '<col class="gap">' + "<col>" * len(columns)
    heads = "".join(f'<th></th><th colspan="{len(columns)}">in-degree {k}</th>' for k in IN_DEGREES)
    rows = "".join(
        f'<tr><th><a href="#{name}">{escape(name)}</a></th>'
        + "".join(
            "<td></td>" + "".join(_square(cells[name, k, c]) for c in columns) for k in IN_DEGREES
        )
        + "</tr>"
        for name in result.datasets
    )
    key = (
        ("s0", "as stated the same"),
        ("s1", "up to 5 % more"),
        ("s2", "up to 25 %"),
        ("s3", "up to 100 %"),
        ("s4", "beyond"),
        ("sx", "printed ≠ published"),
    )
    legend = "".join(f'<span><i class="{css}"></i>{words}</span>' for css, words in key)
    return (
        "<p>Every number of Tables 2–3 is one square. Its colour says how much larger the number "
        "is as stated; a cross says that the printed reading does not give the published number. "
        f"From left to right: {', '.join(columns)}.</p>"
        f'<p class="key">{legend}</p>'
        f'<table class="matrix"><colgroup><col class="name">{widths * len(IN_DEGREES)}</colgroup>'
        f"<thead><tr><th></th>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _square(cell: Cell) -> str:
    words = escape(
        f"{cell.dataset}, in-degree {cell.in_degree}, {cell.column}: published "
        f"{_shown(cell.published)}, printed {_shown(cell.printed)}, stated {_shown(cell.stated)}",
        quote=True,
    )
    if not cell.matched:
        return f'<td class="sx" title="{words}">✗</td>'
    return f'<td class="s{_darkness(cell)}" title="{words}"></td>'


def _darkness(cell: Cell) -> int:
    printed, stated = float(cell.printed), float(cell.stated)
    if stated == printed:
        return 0
    growth = abs(stated / printed - 1) if printed else float("inf")
    return sum(growth > limit for limit in GROWTH)


# ---------------------------------------------------------------------------------------------
# The paper's tables


def _example(result: Reproduction) -> str:
    if not result.example:
        return ""
    rows = "".join(
        f"<tr><th>{escape(c.dataset.removeprefix('glass '))}</th>"
        f"<td class=left>{escape(c.column)}</td><td>{_shown(c.published, '.2f')}</td>"
        f"{_printed(c, '.2f')}<td>{_shown(c.stated, '.4f')}</td></tr>"
        for c in result.example
    )
    return (
        "<p>Two families of the glass table: E1 has the child RI and Π* = {Na, Mg, Al}, to which "
        "Y = class might be added; E2 the child Na and Π* = {RI, Mg, class}, with Y = Ca. Alg1 "
        "fires if the first number is at most the third, Alg2 if the second is.</p>"
        f"{_table(('family', 'quantity', 'published', 'printed', 'stated'), rows, left=2)}"
    )


def _table1(result: Reproduction) -> str:
    rows = ""
    theorem3 = {c.dataset: c for c in result.bounds if c.column == "Theorem 3"}
    corollary1 = {c.dataset: c for c in result.bounds if c.column == "Corollary 1"}
    for name in result.datasets:
        t, c = theorem3[name], corollary1[name]
        rows += (
            f"<tr><th>{escape(name)}</th><td data-reading=published>{_shown(t.published)}</td>"
            f"{_printed(t)}{_stated(t)}<td>{_shown(c.published)}</td>{_printed(c)}{_stated(c)}</tr>"
        )
    head = (
        "<tr><th></th><th colspan=3>Theorem 3</th><th colspan=3>Corollary 1</th></tr>"
        "<tr><th class=left>table</th>"
        + "".join(f"<th class=left>{reading}</th>" for reading in READINGS)
        + "".join(f"<th>{reading}</th>" for reading in READINGS)
        + "</tr>"
    )
    return (
        "<p>The largest number of parents. A cell of Theorem 3 is a bound and, in brackets, how "
        "many variables have it; Corollary 1 is one bound for all.</p>"
        f'<div class="scroll"><table class="compact bounds"><thead>{head}</thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _tables(result: Reproduction) -> str:
    cells = {(c.dataset, c.in_degree, c.column): c for c in (*result.search_space, *result.counts)}
    blocks = [
        "<p>Families pruned among all |S| families with 1 to k parents; Δ is how much more the "
        "theorems give.</p>"
    ]
    for table in result.tables:
        trio = "".join(
            _one_degree(k, [cells[table.name, k, column] for column in (SPACE, *COLUMNS)])
            for k in IN_DEGREES
        )
        blocks.append(
            f'<h3 id="{table.name}">{escape(table.name)} <span class="soft">{table.variables} '
            f'variables, {table.rows:,} rows</span></h3><div class="trio">{trio}</div>'
        )
    return "".join(blocks)


def _one_degree(in_degree: int, cells: Sequence[Cell]) -> str:
    rows = "".join(
        f"<tr><th>{escape(c.column)}</th><td>{_shown(c.published)}</td>{_printed(c)}{_stated(c)}"
        f"<td class=delta>{_delta(c)}</td></tr>"
        for c in cells
    )
    return (
        f"<table><caption>in-degree {in_degree}</caption><thead><tr><th></th><th>published</th>"
        f"<th>printed</th><th>stated</th><th>Δ</th></tr></thead><tbody>{rows}</tbody></table>"
    )


def _delta(cell: Cell) -> str:
    printed, stated = float(cell.printed), float(cell.stated)
    if printed == stated:
        return ""
    if not printed:
        return "new"
    percent = 100 * (stated / printed - 1)
    if abs(percent) < 0.05:
        return f"{stated - printed:+,.0f}".replace("-", "−")
    return f"{percent:+.{0 if abs(percent) >= 10 else 1}f} %".replace("-", "−")


# ---------------------------------------------------------------------------------------------
# Figures, errata, data


def _figures(result: Reproduction) -> str:
    parts = []
    for figure in FIGURES:
        head = ("k", "reading", *STATISTICS)
        rows = "".join(_figure_rows(result, figure, k) for k in IN_DEGREES)
        parts.append(
            f"<figure>{figure_svg(result, figure)}<figcaption>{escape(figure_title(figure))}."
            f"</figcaption>{_table(head, rows, left=2)}</figure>"
        )
    note = f"<p>{escape(figure_note(result))}</p>"
    return f'{note}<div class="figures">{"".join(parts)}</div>'


def _figure_rows(result: Reproduction, figure: int, in_degree: int) -> str:
    cells = [
        c for c in result.figures if (c.dataset, c.in_degree) == (f"Figure {figure}", in_degree)
    ]
    comparable = cells[0].published is not None
    published = "".join(f"<td>{_shown(c.published, '.3f')}</td>" for c in cells)
    printed = "".join(_printed(c, ".3f") for c in cells)
    stated = "".join(_stated(c, ".3f") for c in cells)
    k = f"<th rowspan={3 if comparable else 2}>{in_degree}</th>"
    first = f"<tr>{k}<td class=left>published</td>{published}</tr>" if comparable else ""
    return (
        f"{first}<tr>{'' if comparable else k}<td class=left>printed</td>{printed}</tr>"
        f"<tr><td class=left>stated</td>{stated}</tr>"
    )


def _erratum(erratum: Erratum) -> str:
    text = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in erratum.paragraphs)
    rows = "".join(
        f"<tr><th>{escape(row[0])}</th>"
        + "".join(f"<td>{escape(value)}</td>" for value in row[1:])
        + "</tr>"
        for row in erratum.rows
    )
    table = _table(erratum.header, rows) if erratum.rows else ""
    return (
        f'<div class="erratum" id="erratum-{erratum.key}"><h3>{escape(erratum.title)}</h3>'
        f"{text}{table}</div>"
    )


def _data(result: Reproduction) -> str:
    rows = ""
    for t in result.tables:
        known = BOUNDS[t.name]
        css = "bad" if shape_differs(t) else "ok"
        rows += (
            f"<tr><th>{escape(t.name)}</th><td class=left>{escape(str(t.source))}</td>"
            f"<td>{known.variables} × {known.rows:,}</td>"
            f'<td class="{css}">{t.variables} × {t.rows:,}</td>'
            f"<td class=left><code>{t.digest[:12]}</code></td></tr>"
        )
    lines = "".join(f"<li>{escape(line)}</li>" for line in CONVENTIONS)
    head = ("table", "source", "published", "found", "SHA-256 of the codes")
    return f"<ul>{lines}</ul>{_table(head, rows, left=2)}"


# ---------------------------------------------------------------------------------------------
# Cells


def _table(head: Iterable[str], rows: str, left: int = 1) -> str:
    heads = "".join(
        f"<th class=left>{escape(h)}</th>" if i < left else f"<th>{escape(h)}</th>"
        for i, h in enumerate(head)
    )
    return (
        f'<div class="scroll"><table class="compact"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _shown(value: Value | None, spec: str = ",") -> str:
    if value is None:
        return ""
    return escape(value) if isinstance(value, str) else format(value, spec)


def _printed(cell: Cell, spec: str = ",") -> str:
    css = "" if cell.published is None else "ok" if cell.matched else "bad"
    return f'<td class="{css}" data-reading=printed>{_shown(cell.printed, spec)}</td>'


def _stated(cell: Cell, spec: str = ",") -> str:
    css = "move" if cell.corrected else "same"
    return f'<td class="{css}" data-reading=stated>{_shown(cell.stated, spec)}</td>'
