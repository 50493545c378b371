r"""The dot language of Graphviz: the arcs of a network, written and not read; no parameters.

Every name is a quoted string, in which ``\"`` is a quote and ``\\`` a backslash; control characters
are escaped (:mod:`parentage.network.formats.bif`). With gains an arc is drawn as wide as what
it gains.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from parentage.network.formats.bif import MARK, escape
from parentage.view.drawing import stroke_widths

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parentage.network.network import Network
    from parentage.scoring.constraints import Arc

_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def dot_text(network: Network, gains: Mapping[Arc, float] | None = None) -> str:
    """Return the dot text of a network."""
    words = {name: _word(name) for name in network.names}
    escaped = any(name and name != word for name, word in words.items())
    widths = stroke_widths(network.arcs, gains)
    lines = [f"// {MARK}"] if escaped else []
    lines += ["digraph {", "  node [shape=box, style=rounded];"]
    lines += [f"  {_quoted(word)};" for word in words.values()]
    for arc in network.arcs:
        width = f" [penwidth={widths[arc]:.2f}]" if gains else ""
        lines.append(f"  {_quoted(words[arc[0]])} -> {_quoted(words[arc[1]])}{width};")
    return "\n".join([*lines, "}"]) + "\n"


def _word(name: str) -> str:
    return escape(name, [match.start() for match in _UNSAFE.finditer(name)]) if name else ""


def _quoted(word: str) -> str:
    backslash, quote = "\\", '"'
    return quote + word.replace(backslash, backslash * 2).replace(quote, backslash + quote) + quote
