"""Broken network files: refused with the place and the reason, never with a crash."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parentage.errors import InputError, ResourceError
from parentage.network.formats.bif import parse_bif, parse_xmlbif, xmlbif_text
from parentage.network.formats.network_json import network_json_text, parse_network_json
from parentage.network.network import Network
from parentage.network.record import NetworkRecord

BIF = """network x {
}
variable a {
  type discrete [ 2 ] { p, q };
}
variable b {
  type discrete [ 2 ] { r, s };
}
probability ( a ) {
  table 0.5, 0.5;
}
probability ( b | a ) {
  (p) 0.1, 0.9;
  (q) 0.4, 0.6;
}
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("network", "netwrok", "line 1: 'network', 'variable' or 'probability' expected"),
        ("[ 2 ] { p", "[ 3 ] { p", "line 4: variable 'a' declares 3 states and lists 2"),
        ("discrete", "continuous", "line 4: variable 'a' is of 'type continuous'"),
        ("variable b", "variable a", "line 6: variable 'a' is declared twice"),
        ("{ p, q }", "{ p, }", "line 4: a state expected"),
        ("{ p, q }", "{ p, p }", "line 4: variable 'a' has a state twice"),
        ("b | a", "b | c", "line 12: no variable 'c'"),
        ("b | a", "b | b", "cycle: 'b' → 'b'"),
        ("( a )", "( b )", "line 12: 'b' has two probability blocks"),
        ("(q)", "(x)", "'a' has no state 'x'; known: p, q"),
        ("(q)", "(p)", "line 14: the row \\(p\\) occurs twice"),
        ("  (q) 0.4, 0.6;\n", "", "'b' has no probabilities for some parent states"),
        ("(q) 0.4", "(q, q) 0.4", "a row of 'b' needs 1 parent states"),
        ("0.4, 0.6", "0.4", "'b' needs 2 probabilities, 1 found"),
        ("0.4, 0.6", "0.4, 0.7", "row 1 of the probability table of 'b' sums to 1.1"),
        ("0.4", "much", "line 14: a probability expected, 'much' found"),
        ("  (q) 0.4, 0.6;\n}\n", "", "the end of the file"),
        ("0.9;", "0.9", "line 14: a probability expected, '\\(' found"),
        ("{ p", '{ "p', "line 4: a quote or comment is not closed"),
        ("  type discrete [ 2 ] { r, s };\n", "", "variable 'b' has no 'type discrete' line"),
    ],
)
def test_broken_bif_is_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_bif(BIF.replace(old, new, 1), "broken.bif")


def test_bif_with_a_variable_without_probabilities_is_refused() -> None:
    with pytest.raises(InputError, match="'a' has no probability block"):
        parse_bif(BIF.replace("probability ( a ) {\n  table 0.5, 0.5;\n}\n", ""), "broken.bif")


def test_bif_that_cannot_fit_is_refused() -> None:
    many = "".join(
        f"variable v{i} {{ type discrete [ 9 ] {{ {', '.join('abcdefghi')} }}; }}\n"
        f"probability ( v{i} ) {{ default {', '.join(['0.5', '0.5', *['0'] * 7])}; }}\n"
        for i in range(12)
    )
    parents = ", ".join(f"v{i}" for i in range(12))
    many += f"variable x {{ type discrete [ 1 ] {{ a }}; }} probability ( x | {parents} ) {{ }}"
    with pytest.raises(ResourceError, match="282,429,536,481 cells"):
        parse_bif(many, "wide.bif")


XMLBIF = xmlbif_text(parse_bif(BIF, "x.bif"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<NETWORK>", "<NETWORK", "not XML"),
        ("NETWORK>", "NET>", "no NETWORK element"),
        ("<FOR>b</FOR>", "<FOR>c</FOR>", "no variable 'c'"),
        ("<FOR>b</FOR>", "", "a DEFINITION needs one FOR, 0 found"),
        ("<GIVEN>a</GIVEN>", "<GIVEN>z</GIVEN>", "no variable 'z'"),
        ("0.1 0.9 ", "0.1 ", "the TABLE of 'b' needs 4 numbers, 3 found"),
        ("0.1 0.9 ", "0.1 x ", "the TABLE of 'b': could not convert"),
        ("<OUTCOME>p</OUTCOME>", "", "the TABLE of 'a' needs 1 numbers, 2 found"),
        ("<NAME>b</NAME>", "<NAME>a</NAME>", "'a' is declared twice"),
        ("<BIF", '<!DOCTYPE x [<!ENTITY a "b">]><BIF', "has a document type"),
    ],
)
def test_broken_xmlbif_is_refused(old: str, new: str, message: str) -> None:
    assert old in XMLBIF
    with pytest.raises(InputError, match=message):
        parse_xmlbif(XMLBIF.replace(old, new), "broken.xml")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "is not a network file of parentage"),
        ({"version": 2}, "format version 2, this program reads 1"),
        ({"variables": "ab"}, "variables must be a list, not 'ab'"),
        ({"parents": {"a": []}}, "parents must have one entry for every variable"),
        ({"parents": {"a": ["b"], "b": ["a"]}}, "cycle"),
        ({"parents": {"a": ["c"], "b": []}}, "names 'c', which is not a variable"),
        ({"probabilities": {"a": [[1.0]], "b": [[1.0]]}}, "states must have one entry"),
        (
            {"states": {"a": ["x"], "b": ["x"]}, "probabilities": {"a": [[1.0]], "b": [["?"]]}},
            "could not convert",
        ),
        ({"score": "high"}, "score must be a number"),
        ({"optimal": "no"}, "optimal must be true or false"),
        ({"optimal": True, "score": -1.0}, "needs a score, a bound and a gap"),
        ({"engine": 3}, "engine must be a text"),
        ({"search": [1]}, "search must be an object"),
        ({"search": {"cuts": 3}}, "search.cuts must be an object, not 3"),
        (
            {"search": {"nodes": "x"}},
            "search.nodes must be a whole number, 0 or more, not 'x'",
        ),
        ({"provenance": [1]}, r"provenance must be an object, not \[1\]"),
        ({"provenance": {"versions": 3}}, "provenance: 'versions' and 'data' must be objects"),
    ],
)
def test_broken_json_is_refused(change: dict[str, object], message: str) -> None:
    record = NetworkRecord(Network(("a", "b"), ((), ())))
    content = {**json.loads(network_json_text(record)), **change}
    with pytest.raises(InputError, match=message):
        parse_network_json(json.dumps(content), "broken.json")


def test_text_that_is_no_json_is_refused() -> None:
    for text in ("", "{", "[1]", "nonsense"):
        with pytest.raises(InputError, match=r"x\.json is no"):
            parse_network_json(text, "x.json")


@given(st.text(max_size=40) | st.sampled_from([BIF, XMLBIF]), st.data())
def test_readers_refuse_or_read_never_crash(text: str, data: st.DataObject) -> None:
    if len(text) > 40:  # cut and repeat a valid file somewhere
        start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
        text = text[:start] + data.draw(st.text(max_size=3)) + text[end:]
    for parse in (parse_bif, parse_xmlbif, parse_network_json):
        try:
            parse(text, "x")
        except InputError as error:
            assert str(error)
