"""The report's record as one HTML file: text, picture, data, style and script together.

Every name and label goes through :func:`text` before it is part of HTML, and the data are JSON in
which no character can end a script. A policy in the page's head allows its own style and script by
their digests and nothing else: no request can leave the page, whatever a name holds.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from html import escape
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np

from parentage import __version__
from parentage.report.records import MOST_CELLS
from parentage.report.sections import asset, sections, shown, text, why_text

if TYPE_CHECKING:
    from parentage.report.records import Report, WhatIf

SCRIPTS = ("dom.js", "inference.js", "picture.js", "panel.js", "arcs.js", "main.js")


def document(report: Report) -> str:
    """Return the page."""
    style = asset("report.css")
    script = '"use strict";\n(() => {\n' + "\n".join(map(asset, SCRIPTS)) + "})();\n"
    parts = sections(report)
    navigation = "".join(f'<a href="#{part.key}">{escape(part.title)}</a>' for part in parts)
    return Template(asset("page.html")).substitute(
        version=escape(__version__),
        policy=(
            f"default-src 'none'; style-src '{digest(style)}'; script-src '{digest(script)}'; "
            "img-src data:; base-uri 'none'; form-action 'none'"
        ),
        title=text(report.title),
        style=style,
        verdict=text(report.verdict),
        navigation=navigation,
        sections="\n".join(part.html for part in parts),
        data=embedded(page_data(report)),
        script=script,
    )


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


def page_data(report: Report) -> dict[str, Any]:
    """Return what the page's script works with; names as they are shown."""
    network, what_if = report.network, report.what_if
    index = {name: v for v, name in enumerate(network.names)}
    content: dict[str, Any] = {
        "names": [shown(name) for name in network.names],
        "parents": [list(members) for members in network.parents],
        "arcs": [
            {
                "p": index[one.parent],
                "c": index[one.child],
                "gain": finite(one.gain),
                "need": finite(one.need),
                "adjacency": finite(one.adjacency),
                "near_weight": finite(one.near_weight),
            }
            for one in report.arcs
        ],
        "shares": ["adjacency", "near_weight"],
        "why": [
            [{"v": one.parent, "text": why_text(network, v, one)} for one in facts.refused]
            for v, facts in enumerate(report.variables)
        ],
        "next": [
            [{"parents": list(one.parents), "ahead": one.ahead} for one in facts.next_sets]
            for facts in report.variables
        ],
        "states": None,
        "tables": None,
        "counts": None,
        "prior": [0.0, 0.0],
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
    if _needs_tables(what_if):
        content["tables"] = [table.ravel().tolist() for table in parameters.tables]
    return content


def _needs_tables(what_if: WhatIf) -> bool:
    """Tell whether the tables themselves go into the page: counts do not say them."""
    small = sum(table.size for table in what_if.parameters.tables) <= MOST_CELLS
    return small and (what_if.counts is None or not _follow(what_if))


def _follow(what_if: WhatIf) -> bool:
    """Tell whether the tables are (count + smoothing) / total, as the page's script takes them."""
    if what_if.parameters.smoothing is None:
        return False
    for table, counts in zip(what_if.parameters.tables, what_if.counts or (), strict=True):
        cells = counts + what_if.parameters.smoothing
        totals = cells.sum(axis=1, keepdims=True)
        alike = np.full(cells.shape, 1 / cells.shape[1])
        if not np.allclose(table, np.divide(cells, totals, out=alike, where=totals > 0), 1e-12, 0):
            return False
    return True
