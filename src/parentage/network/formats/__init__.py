r"""Network files by extension: one function writes them all, one reads BIF, XMLBIF and JSON.

=======================  ===================================================================
.bif                     BIF, with parameters
.xml .xmlbif .bifxml     XMLBIF, with parameters
.json                    everything that is known, with provenance
.dot .gv                 the dot language of Graphviz
.svg .png .pdf           the figure
=======================  ===================================================================

The dot language of Graphviz: the arcs of a network, written and not read; no parameters.

Every name is a quoted string, in which ``\"`` is a quote and ``\\`` a backslash; control characters
are escaped (:mod:`parentage.network.formats.bif`). With gains an arc is drawn as wide as what
it gains.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from parentage.errors import InputError, Way, did_you_mean
from parentage.files.atomic import refuse_folder, resolved, write_text
from parentage.files.source import open_source
from parentage.network.formats.bif import MARK, escape, parse_bif, parse_xmlbif, xmlbif_text
from parentage.network.formats.bif import bif_text as text_of_bif
from parentage.network.formats.network_json import (
    network_json_text,
    parse_network_json,
)
from parentage.network.network import arc_gains, imposed_directions
from parentage.network.record import NetworkRecord
from parentage.view.drawing import network_drawing, stroke_widths
from parentage.view.figure import FORMATS as FIGURES
from parentage.view.figure import (
    require_matplotlib,
    row_width_for,
    write_figure,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parentage.data.table import Table
    from parentage.files.source import Source, SourceLike
    from parentage.network.network import Network
    from parentage.network.parameters import Parameters
    from parentage.optimise import Solution
    from parentage.scoring.constraints import Arc

EXTENSIONS = {
    ".bif": "bif",
    ".xml": "xmlbif",
    ".xmlbif": "xmlbif",
    ".bifxml": "xmlbif",
    ".dot": "dot",
    ".gv": "dot",
    ".json": "json",
    ".svg": "svg",
    ".png": "png",
    ".pdf": "pdf",
}
FORMATS = tuple(dict.fromkeys(EXTENSIONS.values()))
PICTURES = ("svg", "png", "pdf")
PAGES = (".html", ".htm")
"""Extensions of the report, which :mod:`parentage.report` writes."""
WITH_PARAMETERS = ("bif", "xmlbif")
READABLE = tuple(
    extension for extension, kind in EXTENSIONS.items() if kind not in ("dot", *PICTURES)
)


def write_network(
    result: Network | Parameters | Solution | NetworkRecord,
    path: str | os.PathLike[str],
    *,
    table: Table | None = None,
    size: str | None = None,
) -> None:
    """Write a network in the format of the path's extension.

    Parameters
    ----------
    result
        A network, parameters, a solution or a record: what was proved goes into JSON, and the
        gains that are drawn are those of the score it was chosen by.
    path
        Where to write; the file appears whole or not at all.
    table
        The data: parameters are taken from it where the result has none, and the gains (BIC) of a
        bare network.
    size
        Width of a figure on paper: ``"column"``, ``"page"``, ``"slide"``, or such as ``"120mm"``
        (:mod:`parentage.view.figure`).
    """
    name = os.fspath(path)
    kind = _format_of(name, None, (*EXTENSIONS, PAGES[0]))
    record = NetworkRecord.of(result)
    network, gains = record.network, record.gains
    needed = kind in WITH_PARAMETERS or (kind == "json" and table)
    if record.parameters is None and table is not None and needed:
        record = replace(record, parameters=network.fit(table))
    if gains is None and table is not None and kind in ("dot", *PICTURES):
        gains = arc_gains(network, table)
    if kind in PICTURES:
        drawing = network_drawing(
            network,
            gains,
            imposed=imposed_directions(network, record.scope),
            row_width=row_width_for(size),
        )
        write_figure(drawing, name, kind, size)
        return
    write_text(name, _text(kind, record, gains))


def check_network_target(
    path: str | os.PathLike[str],
    *,
    needs_table: bool | None,
    size: str | None = None,
) -> None:
    """Refuse the name of a network's file or page before the work whose result it would lose.

    ``needs_table`` says whether there is no table to take parameters from; None: not known yet.
    """
    kind = "page"
    if not is_page(path):
        kind = _format_of(os.fspath(path), None, (*EXTENSIONS, PAGES[0]))
    if not resolved(path).parent.is_dir():
        raise InputError(f"cannot write {os.fspath(path)!r}: there is no such folder")
    if needs_table and kind in WITH_PARAMETERS:
        raise _without_parameters(kind)
    if kind in FIGURES:
        require_matplotlib(kind)
    _ = row_width_for(size)  # a size that is none is refused now


def is_page(path: str | os.PathLike[str]) -> bool:
    """Tell whether a file is to be a report page."""
    return PurePath(path).suffix.lower() in PAGES


def holds_parameters(path: str | os.PathLike[str]) -> bool:
    """Tell whether a network's file cannot be written without parameters."""
    return EXTENSIONS.get(PurePath(path).suffix.lower()) in WITH_PARAMETERS


def read_network(
    source: SourceLike,
    format: str | None = None,  # noqa: A002 # the word users know
) -> Network:
    """Read the structure of a network from BIF, XMLBIF or JSON.

    Parameters
    ----------
    source
        A path, ``"-"`` for standard input, bytes, or an opened source.
    format
        ``"bif"``, ``"xmlbif"`` or ``"json"``; by default the name or the content decides.
    """
    return read_record(source, format, claims=False).network


def read_parameters(
    source: SourceLike,
    format: str | None = None,  # noqa: A002 # the word users know
    *ways: Way,
) -> Parameters:
    """Read a network with its parameters from BIF, XMLBIF or JSON.

    ``ways`` are offered where the file has none.
    """
    content = open_source(source)
    record = read_record(content, format, claims=False)
    if record.parameters is None:
        raise InputError(
            f"{content.name} has no probabilities",
            *ways,
            "learn it from a table, and write a .bif or .json file",
        )
    return record.parameters


def read_record(
    source: SourceLike | Source,
    format_name: str | None = None,
    *,
    claims: bool = True,
) -> NetworkRecord:
    """Read a network with all that its file knows; without ``claims`` what is proved stays out."""
    content = open_source(source)
    if format_name is None and is_page(content.name):
        raise InputError(
            f"{content.name} is a report, from which no network can be read; write a .json "
            "or .bif beside it, and read that"
        )
    kind = _format_of(content.name, format_name, known=READABLE)
    if kind == "dot" or kind in PICTURES:
        raise InputError(f"{content.name} is for drawing; read a .json, .bif or .xmlbif instead")
    if kind == "json":
        record = parse_network_json(content.text(), content.name, claims=claims)
    else:
        parameters = (parse_bif if kind == "bif" else parse_xmlbif)(content.text(), content.name)
        record = NetworkRecord(parameters.network, parameters)
    if record.parameters is None:
        return record
    return replace(record, network=replace(record.network, states=record.parameters.states))


def _text(kind: str, record: NetworkRecord, gains: Mapping[Arc, float] | None) -> str:
    if kind == "json":
        return network_json_text(record)
    if kind == "dot":
        return dot_text(record.network, gains)
    if record.parameters is None:
        raise _without_parameters(kind)
    return text_of_bif(record.parameters) if kind == "bif" else xmlbif_text(record.parameters)


def _without_parameters(kind: str) -> InputError:
    return InputError(
        f"{kind.upper()} needs probabilities, and a structure alone has none",
        Way("table", ..., "to estimate them from the data"),
        "write .json or .dot",
    )


def _format_of(
    name: str, format_name: str | None, known: tuple[str, ...] = tuple(EXTENSIONS)
) -> str:
    if format_name is not None:
        if format_name not in FORMATS:
            hint = did_you_mean(format_name, FORMATS)
            raise InputError(f"unknown network format {format_name!r}; {hint}")
        return format_name
    extension = PurePath(name).suffix.lower()
    if extension not in EXTENSIONS:
        refuse_folder(name)
        raise InputError(f"{name!r} has an unknown extension; use {', '.join(known)}")
    return EXTENSIONS[extension]


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
