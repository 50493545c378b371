from __future__ import annotations

import json
import re
import shutil
import subprocess
import warnings
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from accounts import account
from command import ok, run
from network_cases import ASIA, ODD_NAMES, names, parameters, random_network, random_parameters
from parentage.data.datasets import chest_clinic
from parentage.data.table import Table
from parentage.errors import DataWarning, InputError, UnprovenWarning
from parentage.network.formats import (
    EXTENSIONS,
    PICTURES,
    dot_text,
    read_network,
    read_parameters,
    read_record,
    write_network,
)
from parentage.network.formats.bif import (
    MARK,
    bif_text,
    escape,
    label_word,
    parse_bif,
    parse_xmlbif,
    unescape,
    variable_words,
    xmlbif_text,
)
from parentage.network.formats.network_json import (
    network_json_text,
    parse_network_json,
    provenance_of,
)
from parentage.network.network import Network
from parentage.network.record import Finding, NetworkRecord, SearchRecord
from parentage.optimise.solution import Solution
from parentage.pipeline import Advanced, learn
from parentage.scoring.account import Scope
from parentage.scoring.constraints import Constraints
from parentage.scoring.lists import CandidateLists

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from parentage.network.parameters import Parameters

SURROGATE = "lone \ud800 surrogate"


def odd_parameters() -> Parameters:
    """One network with every odd name, half of them variables, all of them labels."""
    rng = np.random.default_rng(0)
    own = (*ODD_NAMES, SURROGATE)
    network = Network(own, random_network(1, len(own), most=2).parents)
    states = [list(rng.permutation(np.array(own, object)))[: 2 + v % 3] for v in range(len(own))]
    return random_parameters(network, states, rng)


ODD = odd_parameters()


def assert_same(one: Parameters, other: Parameters) -> None:
    assert one.network.names == other.network.names
    assert one.network == other.network
    assert one.states == other.states
    for mine, theirs in zip(one.tables, other.tables, strict=True):
        assert mine.tolist() == theirs.tolist()


@given(st.text(alphabet=" _xX05fé\U0001f600", max_size=12), st.sets(st.integers(0, 11)))
def test_escaping_is_undone(text: str, unsafe: set[int]) -> None:
    written = escape(text, [i for i in unsafe if i < len(text)])
    assert unescape(written) == text
    assert written


def test_escapes_that_are_no_character_are_refused() -> None:
    with pytest.raises(InputError, match="not a character"):
        unescape("_x110000_")


@pytest.mark.no_cover
@given(parameters())
@example(ODD)
def test_bif_round_trip(given_parameters: Parameters) -> None:
    text = bif_text(given_parameters)
    text.encode()
    assert_same(parse_bif(text, "test.bif"), given_parameters)


@given(parameters())
@example(ODD)
def test_xmlbif_round_trip(given_parameters: Parameters) -> None:
    text = xmlbif_text(given_parameters)
    text.encode()
    assert_same(parse_xmlbif(text, "test.xml"), given_parameters)


@given(parameters())
@example(ODD)
def test_dot_has_every_name_and_arc(given_parameters: Parameters) -> None:
    network = given_parameters.network
    gains = {arc: float(i) for i, arc in enumerate(network.arcs)}
    for text in (dot_text(network), dot_text(network, gains)):
        text.encode()
        ends = [quoted_in(line, escaped=MARK in text) for line in text.split("\n")]
        assert [end[0] for end in ends if len(end) == 1] == list(network.names)
        assert [tuple(end) for end in ends if len(end) == 2] == list(network.arcs)


def quoted_in(line: str, *, escaped: bool) -> list[str]:
    """The quoted strings of a line of dot, as Graphviz understands them."""
    words = re.findall(r'"((?:[^"\\]|\\.)*)"', line)
    plain = [re.sub(r'\\(["\\])', r"\1", word) for word in words]
    return [unescape(word) if escaped else word for word in plain]


@given(parameters())
@example(ODD)
def test_json_round_trip(given_parameters: Parameters) -> None:
    record = NetworkRecord(given_parameters.network, given_parameters, Finding(score=-1.5))
    found = parse_network_json(network_json_text(record), "test.json")
    assert found.parameters is not None
    assert_same(found.parameters, given_parameters)
    assert found.finding == Finding(score=-1.5)


@pytest.mark.parametrize(
    "extension", [e for e, kind in EXTENSIONS.items() if kind not in ("dot", *PICTURES)]
)
def test_files_keep_odd_names(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"odd{extension}"
    write_network(ODD, path)
    found = read_network(path)
    assert (found.names, found) == (ODD.network.names, ODD.network)
    assert_same(read_parameters(path), ODD)


@given(st.lists(names, min_size=1, max_size=6, unique=True))
@example(list(ODD_NAMES))
def test_bif_words_are_plain_and_differ_without_case(given_names: list[str]) -> None:
    words = variable_words(given_names)
    assert len({word.lower() for word in words}) == len(words)
    assert [unescape(word) for word in words] == given_names
    for word in [*words, *(label_word(name) for name in given_names)]:
        assert word.isascii()
        assert all(c.isalnum() or c in "_.-" for c in word)


def test_plain_names_are_written_plainly() -> None:
    plain = Network.from_arcs(["chest_xray", "Age.group", "is-male"], [("is-male", "chest_xray")])
    table = Table.from_columns({"chest_xray": "0110", "Age.group": "0101", "is-male": "0011"})
    text = bif_text(plain.fit(table))
    assert MARK not in text
    assert "probability ( chest_xray | is-male ) {\n  (0) 0.5, 0.5;" in text
    assert MARK not in xmlbif_text(plain.fit(table))
    assert MARK not in dot_text(plain)


def test_names_of_other_programs_are_not_unescaped() -> None:
    text = bif_text(Network(("a",), ((),)).fit(Table.from_columns({"a": "01"})))
    foreign = text.replace("variable a ", "variable a_x20_b ").replace("( a )", "( a_x20_b )")
    assert parse_bif(foreign, "f.bif").network.names == ("a_x20_b",)


def test_bif_of_other_programs() -> None:
    text = """
    // a comment with a { brace
    network "dog problem" { property "by JavaBayes" ; property x = 1; }
    variable "light on" { /* two
      lines */ type discrete[2] { "true" "false" }; property position = (1, 2) ; }
    variable family out { type discrete [ 2 ] = { at home, not at home }; }
    variable dog { type discrete [ 2 ] { yes, no }; }
    probability ( "light on" | family out ) {
      (at home) 0.1, 0.9;
      (not at home) 0.6 0.4;
    }
    probability ( family out ) { table 0.15 0.85; }
    probability ( dog | family out, "light on" ) {
      default 0.5, 0.5;
      (not at home, false) 0.25, 0.75;
    }
    """
    found = parse_bif(text, "dog.bif")
    assert found.network.names == ("light on", "family out", "dog")
    assert found.network.parents_of("dog") == ("light on", "family out")
    assert found.states[1] == ("at home", "not at home")
    assert found.probability("light on", "true", {"family out": "not at home"}) == 0.6
    given_states = {"family out": "not at home", "light on": "false"}
    assert found.probability("dog", "yes", given_states) == 0.25
    assert found.probability("dog", "yes", {**given_states, "light on": "true"}) == 0.5


def test_bif_table_with_parents_runs_over_the_child_first() -> None:
    text = """network x { } variable a { type discrete [ 2 ] { p, q }; }
    variable b { type discrete [ 3 ] { r, s, t }; } probability ( b ) { table 0.2, 0.3, 0.5; }
    probability ( a | b ) { table 0.1, 0.2, 0.3, 0.9, 0.8, 0.7; }"""
    found = parse_bif(text, "t.bif")
    assert found.probability("a", "p", {"b": "s"}) == 0.2
    assert found.probability("a", "q", {"b": "t"}) == 0.7


def test_xmlbif_of_other_programs() -> None:
    text = """<?xml version="1.0" encoding="US-ASCII"?>
    <!DOCTYPE BIF [ <!ELEMENT BIF ( NETWORK )*> <!ATTLIST BIF VERSION CDATA #REQUIRED> ]>
    <BIF VERSION="0.3" xmlns="http://www.cs.ubc.ca/labs/lci/fopi/ve/XMLBIFv0_3"><NETWORK>
    <NAME>x</NAME><PROPERTY>short</PROPERTY>
    <VARIABLE TYPE="nature"><NAME>c</NAME><OUTCOME>0</OUTCOME><OUTCOME>1</OUTCOME></VARIABLE>
    <VARIABLE TYPE="nature"><NAME>b</NAME><OUTCOME>0</OUTCOME><OUTCOME>1</OUTCOME></VARIABLE>
    <VARIABLE TYPE="nature"><NAME>a</NAME><OUTCOME>0</OUTCOME><OUTCOME>1</OUTCOME></VARIABLE>
    <DEFINITION><FOR>a</FOR><TABLE>0.5 0.5</TABLE></DEFINITION>
    <DEFINITION><FOR>b</FOR><TABLE>0.5<!-- half -->
      0.5</TABLE></DEFINITION>
    <DEFINITION><FOR>c</FOR><GIVEN>a</GIVEN><GIVEN>b</GIVEN>
      <TABLE>.1 .9 .2 .8 .3 .7 .4 .6</TABLE></DEFINITION></NETWORK></BIF>"""
    found = parse_xmlbif(text.replace('encoding="US-ASCII"', ""), "x.xml")
    assert found.network.parents_of("c") == ("b", "a")
    assert found.probability("c", "0", {"a": "0", "b": "1"}) == 0.2
    assert found.probability("c", "0", {"a": "1", "b": "0"}) == 0.3


def test_graphviz_reads_our_dot(tmp_path: Path) -> None:
    graphviz = shutil.which("dot")
    if graphviz is None:
        pytest.skip("Graphviz is not installed")
    path = tmp_path / "odd.dot"
    write_network(ODD.network, path)
    done = subprocess.run([graphviz, "-Tplain", path], capture_output=True, check=True)
    assert done.stdout.count(b"\nnode ") == ODD.network.n_variables


def solution(gap: float = 0.0) -> Solution:
    return Solution(
        network=ASIA,
        score=-20.5,
        bound=-20.5 + gap,
        optimal=not gap,
        scope=Scope(account(), None, Constraints(), 1e-6),
        gains={},
        engine="subsets",
        ties="unknown",
        stopped=None,
        record=SearchRecord((8,), 76, 76),
        trace=(),
        seconds=0.25,
        lists=CandidateLists.from_families({name: [(0.0, [])] for name in ASIA.names}),
    )


def test_json_holds_result_and_provenance(tmp_path: Path) -> None:
    table = ASIA.fit(Table.from_columns(dict.fromkeys(ASIA.names, "0101"))).sample(20, seed=1)
    provenance = provenance_of(
        table,
        command=["parentage", "learn", "asia.csv"],
        settings={"max_parents": None, "rules": ("alg1", "alg2")},
        seconds={"score": 0.1, "learn": np.float64(0.2)},
        source="asia.csv",
    )
    path = tmp_path / "asia.json"
    write_network(NetworkRecord.of(solution(0.5), None, provenance), path, table=table)
    content = json.loads(path.read_text())
    assert content["parents"]["dysp"] == ["bronc", "either"]
    assert (content["score"], content["bound"], content["gap"]) == (-20.5, -20.0, 0.5)
    assert (content["optimal"], content["engine"], content["seconds"]) == (False, "subsets", 0.25)
    assert content["provenance"]["data"] == {"sha256": table.digest, "rows": 20, "variables": 8}
    assert content["provenance"]["command"] == ["parentage", "learn", "asia.csv"]
    assert content["provenance"]["settings"]["rules"] == ["alg1", "alg2"]
    assert content["provenance"]["seconds"] == {"score": 0.1, "learn": 0.2}
    assert {"parentage", "numpy", "python"} <= set(content["provenance"]["versions"])
    record = read_record(path)
    assert record.network == ASIA
    assert record.finding.optimal is False
    assert record.provenance == content["provenance"]
    assert record.parameters is not None


def test_json_has_no_number_for_infinity(tmp_path: Path) -> None:
    write_network(solution(float("inf")), tmp_path / "a.json")
    content = json.loads((tmp_path / "a.json").read_text(), parse_constant=pytest.fail)
    assert content["bound"] is None
    assert "probabilities" not in content
    assert "provenance" not in content
    with pytest.raises(InputError, match=r"a\.json has no probabilities"):
        read_parameters(tmp_path / "a.json")


@pytest.mark.parametrize("extension", [".bif", ".xml", ".xmlbif", ".bifxml"])
def test_formats_with_parameters_ask_for_the_data(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"net{extension}"
    with pytest.raises(InputError, match="pass table=…"):
        write_network(solution(), path)
    assert not list(tmp_path.iterdir())
    table = Table.from_columns(dict.fromkeys(ASIA.names, "0101"))
    write_network(solution(), path, table=table)
    assert_same(read_parameters(path), ASIA.fit(table))
    smooth = ASIA.fit(table, smoothing=1.0)
    write_network(NetworkRecord.of(ASIA, smooth), path, table=table)
    assert_same(read_parameters(path), smooth)


def test_parameters_of_another_network_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="another network"):
        NetworkRecord.of(ASIA, ODD)


def test_pictures_are_written_and_not_read(tmp_path: Path) -> None:
    path = tmp_path / "asia.svg"
    table = ASIA.fit(Table.from_columns(dict.fromkeys(ASIA.names, "0101"))).sample(50, seed=1)
    write_network(ASIA, path, table=table)
    ElementTree.fromstring(path.read_text())  # noqa: S314  # our own file
    assert "gains" in path.read_text()
    write_network(ASIA, tmp_path / "asia.dot")
    for unread in (path, tmp_path / "asia.dot"):
        with pytest.raises(InputError, match=r"is for drawing; read a \.json"):
            read_network(unread)


def test_format_goes_before_the_extension(tmp_path: Path) -> None:
    path = tmp_path / "network.out"
    with pytest.raises(InputError, match=r"an unknown extension; use \.bif, \.xml"):
        write_network(ASIA, path)
    with pytest.raises(InputError, match="unknown network format 'biff'; did you mean 'bif'"):
        read_network(b"", format="biff")
    write_network(ASIA, tmp_path / "asia.json")
    (tmp_path / "asia.json").rename(path)
    assert read_network(path, format="json") == ASIA
    assert read_network(path.read_bytes(), format="json") == ASIA


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "net.bif"
    path.write_text(bif_text(ODD), encoding="utf-8")
    before = path.read_bytes()
    with pytest.raises(InputError):
        write_network(ASIA, path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("engine", ["subsets", "branch-and-cut", "orders"])
def test_what_a_search_says_is_read_back_as_the_same_object(tmp_path: Path, engine: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnprovenWarning)
        solution = learn(chest_clinic(), advanced=Advanced(engine=engine))
    write_network(solution, tmp_path / "net.json")
    assert read_record(tmp_path / "net.json").finding == solution.finding


@pytest.mark.parametrize("key", ["sets", "root_bound", "parts", "cuts", "nodes"])
def test_a_damaged_record_of_a_search_is_refused(key: str) -> None:
    content = learn(chest_clinic(100)).finding.to_dict()
    content["search"][key] = "many"
    with pytest.raises(InputError, match="search"):
        Finding.from_dict(content)


# --- what a file claims --------------------------------------------------------------------------


def edited(text: str, edit: Callable[[dict[str, Any]], object]) -> str:
    content = json.loads(text)
    edit(content)
    return json.dumps(content)


EDITS: dict[str, Callable[[dict[str, Any]], object]] = {
    "parents deleted": lambda c: c["parents"].update(dysp=[]),
    "a variable renamed": lambda c: (
        c["variables"].append("new"), c["parents"].update(new=[])),
    "another score": lambda c: c.update(score=c["score"] + 1),
    "another bound": lambda c: c.update(bound=c["score"] + 1, gap=1.0),
    "called optimal": lambda c: c.update(optimal=not c["optimal"]),
    "ties settled": lambda c: c.update(ties="unknown"),
    "a wider scope": lambda c: c["scope"].update(max_parents=None),
    "another limit": lambda c: c["scope"]["account"].update(max_parents=5),
    "complete": lambda c: c["scope"]["account"].update(complete_to=2),
    "other data": lambda c: c["provenance"]["data"].update(rows=9),
    "another search": lambda c: c["search"].update(sets=1),
    "no digest": lambda c: c.pop("digest"),
    "another digest": lambda c: c.update(digest="sha256:0"),
}  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
def test_nothing_is_claimed_of_a_network_that_was_edited(name: str, tmp_path: Path) -> None:
    table = chest_clinic(100)
    found, path = learn(table, max_parents=2), tmp_path / "net.json"
    write_network(NetworkRecord.of(found, None, provenance_of(table)), path)
    whole = read_record(path)
    assert whole.finding == found.finding
    path.write_text(edited(path.read_text(), EDITS[name]))
    with pytest.warns(DataWarning, match=r"net\.json has .*without score, proof and provenance"):
        record = read_record(path)
    assert record.finding == Finding()
    assert record.scope is None
    assert not record.provenance
    with warnings.catch_warnings():  # whoever reads the structure alone is told nothing
        warnings.simplefilter("error")
        assert read_network(path) == record.network


def test_parameters_may_be_edited_and_the_proof_stays(tmp_path: Path) -> None:
    table = chest_clinic(100)
    found, path = learn(table), tmp_path / "net.json"
    write_network(found, path, table=table)
    root = next(name for name in table.names if not found.network.parents_of(name))
    even = {root: [[0.5, 0.5]]}
    path.write_text(edited(path.read_text(), lambda c: c["probabilities"].update(even)))
    record = read_record(path)
    assert record.finding == found.finding
    assert record.parameters is not None
    assert record.parameters.to_dict()[root] == even[root]


def test_a_page_of_an_edited_network_claims_nothing(tmp_path: Path) -> None:
    path, page = tmp_path / "net.json", tmp_path / "net.html"
    write_network(learn(chest_clinic(100)), path)
    assert ok("report", str(path), "-o", str(page)) == ""
    assert "proven optimal" in page.read_text()
    path.write_text(edited(path.read_text(), EDITS["parents deleted"]))
    done = run("report", str(path), "-o", str(page))
    assert "has changed since it was written" in done.stderr
    assert "proven optimal" not in page.read_text()


def test_a_bare_network_claims_nothing_and_warns_of_nothing(tmp_path: Path) -> None:
    write_network(ASIA, tmp_path / "bare.json")
    text = edited((tmp_path / "bare.json").read_text(), lambda c: c["parents"].update(dysp=[]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert parse_network_json(text, "bare.json").finding == Finding()
