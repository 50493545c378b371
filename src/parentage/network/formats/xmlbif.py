"""XMLBIF 0.3, the XML interchange format of Bayesian networks: networks with parameters, both ways.

A TABLE runs over the child's states fastest, then over the last GIVEN, and so on. XML holds almost
every name; control characters, lone surrogates and blanks that readers trim or merge are escaped
(:mod:`parentage.network.formats.escaping`).
"""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape as xml_escape

import numpy as np

from parentage.errors import InputError, did_you_mean
from parentage.files.numbers import plain_float
from parentage.network.formats.escaping import MARK, escape, unescape
from parentage.network.network import Network
from parentage.network.parameters import from_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from parentage.network.parameters import Parameters, Probabilities

_UNSAFE = re.compile(
    r"^\s|\s$|(?<=\s)\s"  # trimmed or merged by readers
    r"|[^ -~\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"  # not XML
)

_DOCTYPE = re.compile(
    r"((?:\ufeff?<\?xml[^>]{,200}\?>)?(?:\s|<!--(?:[^-]|-[^-]){,9999}-->){,99})"
    r"<!DOCTYPE\s[^\[>]{,999}(?:\[[^\]]{,9999}\]\s{,99})?>"
)
"""The document type at the beginning; [1] is what stands before it."""


def xmlbif_text(parameters: Parameters) -> str:
    """Return the XMLBIF text of a network with its parameters."""
    network = parameters.network
    names = [_word(name) for name in network.names]
    labels = [[_word(label) for label in states] for states in parameters.states]
    plain = names == list(network.names) and all(
        words == list(states) for words, states in zip(labels, parameters.states, strict=True)
    )
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines += [] if plain else [f"<!-- {MARK} -->"]
    lines += ['<BIF VERSION="0.3">', "<NETWORK>", "<NAME>unknown</NAME>"]
    for name, words in zip(names, labels, strict=True):
        lines.append('<VARIABLE TYPE="nature">')
        lines.append(_element("NAME", name))
        lines += [_element("OUTCOME", word) for word in words]
        lines.append("</VARIABLE>")
    for name, members, table in zip(names, network.parents, parameters.tables, strict=True):
        lines.append("<DEFINITION>")
        lines.append(_element("FOR", name))
        lines += [_element("GIVEN", names[p]) for p in members]
        lines.append(_element("TABLE", " ".join(repr(float(p)) for p in table.ravel())))
        lines.append("</DEFINITION>")
    lines += ["</NETWORK>", "</BIF>"]
    return "\n".join(lines) + "\n"


def parse_xmlbif(text: str, name: str) -> Parameters:
    """Parse XMLBIF; errors name the file."""
    plain = _without_doctype(text, name)
    try:
        root = ElementTree.fromstring(plain)  # noqa: S314 # without declarations nothing expands
    except (ElementTree.ParseError, ValueError) as error:
        raise InputError(f"{name} is not XML: {error}") from None
    decode = unescape if MARK in text else str
    network_element = next((e for e in root.iter() if _tag(e) == "NETWORK"), None)
    if network_element is None:
        raise InputError(f"{name} has no NETWORK element; is it XMLBIF?")
    states = _read_states(network_element, decode, name)
    given: dict[str, list[str]] = {}
    tables: dict[str, list[float]] = {}
    for definition in _children(network_element, "DEFINITION"):
        child = _only(definition, "FOR", decode, name)
        if child in given:
            raise InputError(f"{name}: {child!r} has two DEFINITION elements")
        given[child] = [decode(e.text or "") for e in _children(definition, "GIVEN")]
        tables[child] = _read_table(definition, child, name)
    for known in (*given, *(parent for parents in given.values() for parent in parents)):
        if known not in states:
            raise InputError(f"{name}: no variable {known!r}; {did_you_mean(known, states)}")
    without = [variable for variable in states if variable not in given]
    if without:
        raise InputError(f"{name}: variable {without[0]!r} has no DEFINITION")
    network = Network.from_parents({variable: given[variable] for variable in states})
    arrays = {
        child: _in_order(
            tables[child], given[child], network.parents_of(child), states, child, name
        )
        for child in network.names
    }
    return from_rows(network, states, arrays)


def _without_doctype(text: str, name: str) -> str:
    """Leave out the document type: nothing in it matters here, and what it declares can blow up."""
    head = _DOCTYPE.match(text)
    if head is not None:
        text = head[1] + text[head.end() :]
    if "<!DOCTYPE" in text or "<!ENTITY" in (head or [""])[0]:
        raise InputError(
            f"{name} has a document type (<!DOCTYPE …>) that is not the one of XMLBIF; remove it"
        )
    return text


def _read_states(
    network: ElementTree.Element, decode: Callable[[str], str], name: str
) -> dict[str, list[str]]:
    states: dict[str, list[str]] = {}
    for variable in _children(network, "VARIABLE"):
        label = _only(variable, "NAME", decode, name)
        if label in states:
            raise InputError(f"{name}: variable {label!r} is declared twice")
        states[label] = [decode(e.text or "") for e in _children(variable, "OUTCOME")]
    return states


def _read_table(definition: ElementTree.Element, child: str, name: str) -> list[float]:
    table = next(iter(_children(definition, "TABLE")), None)
    words = "".join(table.itertext()).split() if table is not None else []
    try:
        return [plain_float(word) for word in words]
    except ValueError as error:
        raise InputError(f"{name}: the TABLE of {child!r}: {error}") from None


def _in_order(
    values: list[float],
    given: list[str],
    order: tuple[str, ...],
    states: dict[str, list[str]],
    child: str,
    name: str,
) -> Probabilities:
    """Return ``float64[q, r]`` with the parents in the network's order."""
    shape = [len(states[variable]) for variable in (*given, child)]
    if len(values) != math.prod(shape):
        raise InputError(
            f"{name}: the TABLE of {child!r} needs {math.prod(shape)} numbers, {len(values)} found"
        )
    axes = [given.index(parent) for parent in order]
    array = np.array(values, np.float64).reshape(shape)
    return array.transpose([*axes, len(axes)]).reshape(-1, shape[-1])


def _word(text: str) -> str:
    return escape(text, [match.start() for match in _UNSAFE.finditer(text)])


def _element(tag: str, text: str) -> str:
    return f"  <{tag}>{xml_escape(text)}</{tag}>"


def _tag(element: ElementTree.Element) -> str:
    return str(element.tag).rpartition("}")[2].upper()


def _children(element: ElementTree.Element, tag: str) -> list[ElementTree.Element]:
    return [child for child in element if _tag(child) == tag]


def _only(element: ElementTree.Element, tag: str, decode: Callable[[str], str], name: str) -> str:
    found = _children(element, tag)
    if len(found) != 1:
        raise InputError(f"{name}: a {_tag(element)} needs one {tag}, {len(found)} found")
    return decode(found[0].text or "")
