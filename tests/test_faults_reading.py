"""Small files that ask for much: every reader refuses them at once, with a message."""

from __future__ import annotations

import time
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from parentage.data.reading import read_table
from parentage.errors import ConstraintError, InputError, ListsError, TableError
from parentage.network.formats.bif import parse_bif, parse_xmlbif, xmlbif_text
from parentage.network.formats.network_json import parse_network_json
from parentage.network.network import Network
from parentage.network.parameters import from_rows
from parentage.scoring.constraints import read_constraints
from parentage.scoring.formats import read_lists
from parentage.scoring.lists import CandidateLists
from solving import learn_lists

if TYPE_CHECKING:
    from pathlib import Path

DIGITS = "9" * 5000
BIF = """network u {}
variable a { type discrete [ COUNT ] { x, y }; }
probability ( a ) { table 0.5, HALF; }
"""
STANDARD_DTD = """<!DOCTYPE BIF [
 <!ELEMENT BIF ( NETWORK )*>
   <!ATTLIST BIF VERSION CDATA #REQUIRED>
 <!ELEMENT NETWORK ( NAME, ( PROPERTY | VARIABLE | DEFINITION )* )>
 <!ELEMENT VARIABLE ( NAME, ( OUTCOME |  PROPERTY )* ) >
   <!ATTLIST VARIABLE TYPE (nature|decision|utility) "nature">
]>
"""


def test_a_document_type_does_not_blow_up() -> None:
    """Defaults of attributes, given to every element: 200 kB became gigabytes."""
    defaults = " ".join(f'x{i} CDATA "{"y" * 90}"' for i in range(1000))
    bomb = f"<!DOCTYPE a [<!ATTLIST b {defaults}>]><a>{'<b/>' * 5000}</a>"
    tracemalloc.start()
    with pytest.raises(InputError, match="DOCTYPE"):
        parse_xmlbif(bomb, "bomb.xml")
    assert tracemalloc.get_traced_memory()[1] < 10 * len(bomb)
    tracemalloc.stop()
    entity = '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'
    with pytest.raises(InputError, match="DOCTYPE"):
        parse_xmlbif(entity, "bomb.xml")


@pytest.mark.parametrize("between", ["", "<!-- a comment -->\n", "\n\n"])
def test_the_document_type_of_the_standard_is_read_over(between: str) -> None:
    network = Network.from_parents({"a": []})
    text = xmlbif_text(from_rows(network, {"a": ["x", "y"]}, {"a": [[0.25, 0.75]]}))
    first, rest = text.split("\n", 1)
    found = parse_xmlbif(f"{first}\n{between}{STANDARD_DTD}{rest}", "standard.xml")
    assert found.tables[0].tolist() == [[0.25, 0.75]]


@pytest.mark.parametrize(
    "text",
    ["required = " + "[" * 5000 + "]" * 5000, "required = " + "{a=" * 5000 + "1" + "}" * 5000,
     f"[max_parents]\na = {DIGITS}"],
)  # fmt: skip
def test_toml_that_python_chokes_on(tmp_path: Path, text: str) -> None:
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(InputError, match="TOML"):
        read_constraints(tmp_path / "c.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("requird = []", "unknown key 'requird'; did you mean 'required'"),
        ('required = [["a"]]', "required.0 must be a list of 2"),
        ("tiers = 3", "tiers must be a list, not 3 .docs/constraints.md"),
        ("[max_parents]\na = -1", "max_parents.a must be a whole number, 0 or more, not -1"),
    ],
)
def test_constraints_that_make_no_sense(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(ConstraintError, match=message):
        read_constraints(tmp_path / "c.toml")


def test_numbers_of_5000_digits() -> None:
    with pytest.raises(InputError):
        parse_bif(BIF.replace("COUNT", DIGITS).replace("HALF", "0.5"), "n.bif")
    with pytest.raises(InputError):
        parse_bif(BIF.replace("COUNT", "2").replace("HALF", DIGITS), "n.bif")
    with pytest.raises(InputError, match="JSON"):
        parse_network_json(f'{{"format": "parentage network", "version": {DIGITS}}}', "n.json")
    with pytest.raises(ListsError) as refusal:
        read_lists(f"2\na 1\n-{DIGITS} 0\nb 1\n-3 0\n".encode())
    assert len(str(refusal.value)) < 200


@pytest.mark.parametrize("score", ["-1_0.5", "-١.5", "-１", "−1", "0x10", "1e", ""])
def test_scores_that_only_python_would_read(score: str) -> None:
    with pytest.raises(ListsError):
        read_lists(f"2\na 1\n{score} 0\nb 1\n-3 0\n".encode(), format="jkl")
    if score:
        with pytest.raises(ListsError):
            read_lists(f"VAR a\n{score}\nVAR b\n-2\n".encode(), format="pss")


@pytest.mark.parametrize("half", ["0.5_0", "٠.5", "nan", "inf", "-0.5"])
def test_probabilities_that_only_python_would_read(half: str) -> None:
    with pytest.raises(InputError):
        parse_bif(BIF.replace("COUNT", "2").replace("HALF", half), "n.bif")
    with pytest.raises(InputError):
        parse_bif(BIF.replace("COUNT", "٢").replace("HALF", "0.5"), "n.bif")
    text = xmlbif_text(
        from_rows(Network.from_parents({"a": []}), {"a": ["x", "y"]}, {"a": [[0.5, 0.5]]})
    )
    with pytest.raises(InputError):
        parse_xmlbif(text.replace("0.5 0.5", f"0.5 {half}"), "n.xml")


def test_scores_whose_sum_is_infinite() -> None:
    lists = CandidateLists.from_families(
        {"a": [(-1e308, []), (-1.7e308, ["b"])], "b": [(-1e308, []), (-1e305, ["a"])]}
    )
    with pytest.raises(ListsError, match="1e\\+100"):
        learn_lists(lists)


@pytest.mark.parametrize("seed", [2**63, 2**64 - 1, 2**64, 2**300])
def test_large_seeds(seed: int) -> None:
    lists = CandidateLists.from_families(
        {v: [(-2.0, []), (-1.0, [u])] for v, u in ("ab", "bc", "ca")}
    )
    assert learn_lists(lists, engine="orders", seed=seed).score == -4.0


@pytest.mark.parametrize("name", ["a", "a-", "\u0301", "漢", "a "])
def test_drawing_time_does_not_grow_with_the_square_of_names(name: str) -> None:
    began = time.process_time()
    picture = Network.from_arcs([name * 20_000, "b"], [(name * 20_000, "b")]).to_svg()
    assert time.process_time() - began < 2.0
    assert "</svg>" in picture


def test_the_number_in_a_message_is_always_the_same() -> None:
    rows = "\n".join(f"{(i * 37) % 61}.5,{i % 2}" for i in range(61))
    for _ in range(5):
        with pytest.raises(TableError, match=r"61 distinct numbers, such as 0\.5:"):
            read_table(f"x,y\n{rows}\n".encode())
