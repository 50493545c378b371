"""The page as one HTML file: text, figure, data, style and script together.

Templates escape whatever they are given, and the data are JSON in which no character can end a
script. A policy in the page's head allows its own style and script by their digests and nothing
else: no request can leave the page, whatever a name holds. What is in the templates can be read and
printed without a script; the script adds choosing, evidence, sorting and moving.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from dataclasses import replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from parentage import __version__
from parentage.arcs.records import spreadsheet_cell
from parentage.errors import shortened
from parentage.files.atomic import csv_text, write_text
from parentage.network.expectation import distributions
from parentage.network.formats import is_page, write_network
from parentage.network.record import NetworkRecord
from parentage.report.gather import MOST_WORK, gather
from parentage.view.drawing import Confidence, Stroke, network_drawing, opacity_of, printable
from parentage.view.figure import parts_svg

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from parentage.arcs.records import ArcSupport, Support
    from parentage.data.table import Table
    from parentage.network.network import Network
    from parentage.network.parameters import Parameters
    from parentage.optimise.solution import Solution
    from parentage.report.gather import Page, Refused, WhatIf
    from parentage.scoring.constraints import Arc
    from parentage.scoring.lists import CandidateLists

SCRIPTS = (
    "dom.js", "inference.js", "intervals.js", "layered.js", "picture.js", "panel.js", "target.js",
    "arcs.js", "export.js", "main.js",
)  # fmt: skip

MEASURES = (
    ("gain", "gain"),
    ("need", "need"),
    ("adjacency", "bootstrap strength"),
    ("near_weight", "near-optimal weight"),
)
"""Fields of an arc that the slider can go by, and the words for them."""

WIDE_NEED = 10.0
"""Need from which an arc is drawn widest where there was no bootstrap."""

MOST_BARRED = 60
"""Variables of a network that is also drawn with bars in its boxes."""

BAR_WIDTH, BAR_HEIGHT, BARS_IN_A_BOX = 140.0, 15.0, 6
"""Least width in pixels of a box with bars, the height of one, and how many there are at most."""

LETTER, FREE_LETTERS, MOST_LETTERS = 5.6, 11, 14
"""Width in pixels of a letter of a state's label in such a box, how many letters fit into the least
width, and for how many more a box is widened."""

LONGEST_NAME = 200
MOST_BARS = 30
"""States of a variable that have a bar: the most frequent ones."""

LEAST_VIEW = (760.0, 480.0)
"""Width and height in pixels below which a figure is not enlarged."""


class ArcColumn(NamedTuple):
    """A column of the table of arcs: field, heading, whether it is a share."""

    key: str
    title: str
    share: bool


COLUMNS = (
    ArcColumn("need_direction", "Loss if reversed", False),
    ArcColumn("need", "Need", False),
    ArcColumn("adjacency", "Adjacent", True),
    ArcColumn("direction", "This direction", True),
    ArcColumn("gain", "Gain", False),
    ArcColumn("in_near_optimal", "In near-optimal", True),
    ArcColumn("near_weight", "Share", True),
)


def save(
    result: Solution | Network | Parameters | NetworkRecord,
    path: str | os.PathLike[str],
    *,
    table: Table | None = None,
    lists: CandidateLists | None = None,
    parameters: Parameters | None = None,
    support: Support | None = None,
    size: str | None = None,
    title: str | None = None,
    provenance: Mapping[str, Any] | None = None,
    path_words: str = "",
) -> None:
    """Write a page (see :func:`.gather.gather`) or a network's file, as the extension says.

    The file appears whole or not at all.
    """
    record = NetworkRecord.of(result, parameters, provenance)
    if is_page(path):
        page = gather(
            record, table=table, lists=lists, support=support, title=title, path=path_words
        )
        write_text(path, document(page))
        return
    if support is not None:
        network = replace(record.network, shares=support.shares)
        record = replace(record, network=network)
    write_network(record, path, table=table, size=size)


def document(page: Page) -> str:
    """Return the page as HTML."""
    style = asset("report.css")
    script = '"use strict";\n(() => {\n' + "\n".join(map(asset, SCRIPTS)) + "})();\n"
    arcs = (*page.arcs, *page.others)
    known = [
        column for column in COLUMNS if any(getattr(one, column.key) is not None for one in arcs)
    ]
    fits = 0 < page.network.n_variables <= MOST_BARRED
    return environment(page).get_template("page.html").render(
        page=page,
        version=__version__,
        policy=Markup(  # noqa: S704  # digests and our own words
            f"default-src 'none'; style-src '{digest(style)}'; script-src '{digest(script)}'; "
            "img-src data:; base-uri 'none'; form-action 'none'"
        ),
        style=Markup(style),  # noqa: S704  # our own file
        script=Markup(script),  # noqa: S704  # our own file
        data=Markup(embedded(page_data(page))),  # noqa: S704  # escaped by embedded
        sections=sections(page),
        measures=[(key, name) for key, name in MEASURES if _is_known(key, *page.arcs)],
        picture=picture(page),
        barred=picture(page, bars=True) if _can_ask(page) and fits else None,
        legend=legend(page),
        arcs=by_need(page),
        latex=escape(latex(page, known)),  # with its line ends
        csv=escape(arcs_csv(page, known)),
        cards=list(cards(page)),
        columns=known,
        other_columns=[
            column for column in known if column.key not in ("gain", "need", "need_direction")
        ],
    )  # fmt: skip


def environment(page: Page) -> Environment:
    """Return the templates, which escape every value and replace what cannot be printed."""
    made = Environment(
        loader=PackageLoader("parentage.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: (
            printable(value)
            if isinstance(value, str) and value and not hasattr(value, "__html__")
            else value
        ),
    )
    made.filters["shown"] = shown
    made.filters["percent"] = percent
    return made


def sections(page: Page) -> list[tuple[str, str]]:
    """Return the keys and titles of the sections that have a content."""
    titles = {
        "network": "Network",
        "target": "Target" if _can_ask(page) else "",
        "what-if": "What if" if page.what_if is not None else "",
        "arcs": "Arcs",
        "alternatives": "Alternatives" if page.alternatives is not None else "",
        "data": "Data" if page.data else "",
        "proof": "Proof",
        "methods": "Methods",
    }
    return [(key, title) for key, title in titles.items() if title]


def asset(name: str) -> str:
    """Return a style or a script of the page."""
    return (files("parentage.report") / "assets" / name).read_text(encoding="utf-8")


def shown(name: str) -> str:
    """Return a name or a label as it is shown: what cannot be is replaced, a long one cut.

    >>> shown(chr(9) + "b"), len(shown("x" * 1000))
    (' b', 200)
    """
    return shortened(printable(name), LONGEST_NAME)


def percent(share: float) -> str:
    """Write a share, 0 and 100 % only where they are exact; the page's script does the same.

    >>> percent(0.1234), percent(0.00001), percent(1.0)
    ('12.3 %', '< 0.1 %', '100 %')
    """
    if share <= 0:
        return "0 %"
    if share >= 1:
        return "100 %"
    if share < 0.0005:
        return "< 0.1 %"
    return "> 99.9 %" if share > 0.9995 else f"{100 * share:.1f} %"


def _is_known(key: str, *arcs: ArcSupport) -> bool:
    return any(getattr(one, key) is not None for one in arcs)


def _can_ask(page: Page) -> bool:
    """Tell whether evidence can be set: at least the part that matters for a target is small."""
    return page.what_if is not None and bool(page.what_if.marginals) and page.what_if.small


def picture(page: Page, *, bars: bool = False) -> dict[str, Any]:
    """Return the figure, with the part of it that is shown first; ``bars``: with room for them."""
    gains = {one.arc: one.gain for one in page.arcs if one.gain is not None}
    room = None
    if bars and page.what_if is not None:
        states = page.what_if.parameters.states
        room = [
            (
                BAR_WIDTH + LETTER * min(MOST_LETTERS, max(0, max(map(len, own)) - FREE_LETTERS)),
                BAR_HEIGHT * min(BARS_IN_A_BOX, len(own)),
            )
            for own in states
        ]
    drawing = network_drawing(
        replace(page.network, shares=page.shares), gains, imposed=page.imposed,
        confidence=confidence(page), room=room,
    )  # fmt: skip
    bottom = max((box.box.y + box.box.height / 2 for box in drawing.boxes), default=0.0) + 18
    width, height = max(drawing.width, LEAST_VIEW[0]), max(bottom, LEAST_VIEW[1])
    corner = (drawing.width - width) / 2, (bottom - height) / 2
    labels = None if room is None else [-height / 2 for _, height in room]
    parts = parts_svg(drawing, labels)
    return {
        "title": drawing.title,
        "view": f"{corner[0]:.0f} {corner[1]:.0f} {width:.0f} {height:.0f}",
        "size": "small" if bottom <= LEAST_VIEW[1] else "large",
        "parts": Markup("".join(parts)),  # noqa: S704  # escaped by view.svg
    }


def confidence(page: Page) -> dict[Arc, Confidence]:
    """Return what widths and dashes show: the share of replicates, else the need."""
    found = {}
    for one in page.arcs:
        if one.support is None or one.support == "not known":
            continue
        share = one.adjacency
        if share is None and one.need is not None:
            share = math.sqrt(min(1.0, one.need / WIDE_NEED))
        if share is not None:
            found[one.arc] = Confidence(share, one.support != "open")
    return found


def by_need(page: Page) -> list[ArcSupport]:
    """Sort the arcs: those that are needed most first, then those seen again most, then gains."""
    return sorted(
        page.arcs,
        key=lambda one: tuple(
            -math.inf if value is None else -value for value in (one.need, one.adjacency, one.gain)
        ),
    )


def latex(page: Page, columns: Sequence[ArcColumn]) -> str:
    """Return the table of arcs in LaTeX (booktabs)."""
    heads = ["From", "To", *(column.title for column in columns)]
    rows = [
        [_latex_text(shown(name)) for name in one.arc]
        + [_cell(getattr(one, column.key), column).replace("%", r"\%") for column in columns]
        for one in by_need(page)
    ]
    lines = [
        rf"\begin{{tabular}}{{ll{'r' * len(columns)}}}", r"\toprule",
        " & ".join(heads) + r" \\", r"\midrule", *(" & ".join(row) + r" \\" for row in rows),
        r"\bottomrule", r"\end{tabular}",
    ]  # fmt: skip
    return "\n".join(lines)


def arcs_csv(page: Page, columns: Sequence[ArcColumn]) -> str:
    """Return the table of arcs as CSV, numbers with six digits."""
    keys = [column.key for column in columns]
    rows = ([*map(shown, one.arc), *(getattr(one, key) for key in keys)] for one in by_need(page))
    return csv_text(["from", "to", *keys], (map(spreadsheet_cell, row) for row in rows))


def _cell(value: float | None, column: ArcColumn) -> str:
    if value is None:
        return "–"
    return percent(value) if column.share else f"{value:.2f}"


def _latex_text(text: str) -> str:
    r"""Escape what LaTeX takes for a command.

    >>> print(_latex_text("a_b & 5%"))
    a\_b \& 5\%
    """
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join(special.get(c) or (f"\\{c}" if c in "&%$#_{}" else c) for c in text)


def legend(page: Page) -> list[tuple[Stroke, str]]:
    """Say what arrows, widths and dashes mean."""
    reversible = [page.imposed[one.arc] for one in page.arcs if one.reversible]
    entries = []
    heads = []
    if len(reversible) < len(page.arcs):
        heads.append(
            "the score prefers this direction"
            if page.equivalent
            else "all equivalent networks have this direction"
        )
    if True in reversible:
        heads.append("set by the constraints")
    if heads:
        entries.append((Stroke(1.6, 1.0, True), ", or ".join(heads)))
    if not all(reversible):
        words = "both directions fit equally well"
        if page.equivalent is False:
            words = "an equivalent network has the other direction"
        if None in reversible:
            words = "reversible, unless the constraints set the direction"
        entries.append((Stroke(1.6, 1.0, False), words))
    sure = confidence(page)
    if sure:
        again = any(one.adjacency is not None for one in page.arcs)
        words = "wide: in most replicates" if again else "wide: large need"
        entries.append((Stroke(4.5, 1.0, False), words))
        if not all(one.firm for one in sure.values()):
            words = "dashed: open, weak support by the data"
            entries.append((Stroke(1.6, 1.0, False, dashed=True), words))
    elif any(one.gain is not None for one in page.arcs):
        entries.append((Stroke(5.0, 1.0, False), "wide: large gain"))
    if not sure and page.shares:
        entries.append((Stroke(3.0, opacity_of(0.2), False), "faint: little support"))
    return entries


def cards(page: Page) -> Iterator[dict[str, Any]]:
    """Yield every variable with its most frequent states, for the section of evidence."""
    if page.what_if is None or not page.what_if.marginals:
        return
    for v, labels in enumerate(page.what_if.parameters.states):
        shares = page.what_if.marginals[v]
        frequent = sorted(range(len(labels)), key=lambda k: -shares[k])[:MOST_BARS]
        yield {
            "v": v,
            "name": page.network.names[v],
            "states": [(k, labels[k], shares[k]) for k in sorted(frequent)],
            "left_out": max(0, len(labels) - MOST_BARS),
        }


def digest(content: str) -> str:
    """Return the digest by which a policy allows a style or a script."""
    sha = hashlib.sha256(content.encode()).digest()
    return f"sha256-{base64.b64encode(sha).decode()}"


def embedded(content: Any) -> str:
    r"""Return JSON that can stand inside a script element.

    >>> print(embedded(["</script><!--"]))
    ["\u003c/script\u003e\u003c!--"]
    """
    plain = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        plain = plain.replace(character, f"\\u{ord(character):04x}")
    return plain


def page_data(page: Page) -> dict[str, Any]:
    """Return what the page's script works with; names as they are shown."""
    network, what_if = page.network, page.what_if
    content: dict[str, Any] = {
        "names": [shown(name) for name in network.names],
        "parents": [list(members) for members in network.parents],
        "arcs": [
            {
                "p": network.index(one.parent),
                "c": network.index(one.child),
                "gain": finite(one.gain),
                "need": finite(one.need),
                "adjacency": finite(one.adjacency),
                "near_weight": finite(one.near_weight),
            }
            for one in page.arcs
        ],
        "shares": ["adjacency", "near_weight"],
        "why": [
            [{"v": one.parent, "text": why_text(network, v, one)} for one in refused]
            for v, refused in enumerate(page.refused)
        ],
        "next": [
            [{"parents": list(parents), "ahead": ahead} for parents, ahead in sets]
            for sets in page.next_sets
        ],
        "states": None,
        "tables": None,
        "counts": None,
        "limit": MOST_WORK,
        "marginals": None,
        "order": [],
    }
    if what_if is not None:
        content |= _probabilities(what_if)
    return content


def finite(value: float | None) -> float | None:
    """Return a number that JSON can hold."""
    return None if value is None or not math.isfinite(value) else value


def _probabilities(what_if: WhatIf) -> dict[str, Any]:
    """Counts where the tables follow from them, else the tables themselves."""
    parameters, counts = what_if.parameters, what_if.counts
    content: dict[str, Any] = {
        "states": [[shown(label) for label in labels] for labels in parameters.states],
        "marginals": [list(row) for row in what_if.marginals] or None,
        "order": list(what_if.order),
        "smoothing": parameters.smoothing,
    }
    if counts is not None:
        content["counts"] = [table.ravel().tolist() for table in counts]
    if what_if.small and not _follow(what_if):
        content["tables"] = [table.ravel().tolist() for table in parameters.tables]
    return content


def _follow(what_if: WhatIf) -> bool:
    """Tell whether the tables are (count + smoothing) / total, as the page's script takes them."""
    parameters, smoothing = what_if.parameters, what_if.parameters.smoothing
    if what_if.counts is None or smoothing is None:
        return False
    pairs = zip(parameters.tables, what_if.counts, strict=True)
    return all(np.allclose(own, distributions(n + smoothing), 1e-12, 0) for own, n in pairs)


def why_text(network: Network, v: int, one: Refused) -> str:
    """Say why a variable is not a parent of another, in words and numbers."""
    members = [shown(network.names[p]) for p in network.parents[v]]
    beside = f"Beside {' and '.join(members)} it" if members else "It"
    alone = ""
    if members and one.alone > 0:
        alone = f"As the only parent it would raise the score by {one.alone:.1f}. "
    if one.why == "cost":
        if one.cost is None:
            return f"{alone}{beside} would lower the score by {-one.change:.1f}."
        explains = max(0.0, one.change + one.cost)
        return (
            f"{alone}{beside} raises the log-likelihood by {explains:.1f} and costs a penalty of "
            f"{one.cost:.1f}."
        )
    gain = f"It would raise the score by {one.change:.1f}, but"
    if one.why == "cycle":
        way = " → ".join(shown(network.names[u]) for u in one.cycle)
        return f"{gain} it is a descendant: {way}. The arc would close a cycle."
    if one.why == "limit":
        return f"{gain} the child has as many parents as the limit allows."
    if one.why == "constraint":
        return f"{gain} the constraints do not allow it."
    return f"It would raise the score by {one.change:.1f}: this network can be improved."
