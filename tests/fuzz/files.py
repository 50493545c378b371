"""Files of every format, damaged at random: read, or refused with a message, in little time."""

from __future__ import annotations

import random
import tempfile
import time
import warnings
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from parentage.data.reading import read_table
from parentage.data.table import Table
from parentage.errors import ParentageError, ParentageWarning
from parentage.files.source import Source
from parentage.network.formats import write_network
from parentage.network.formats.bif import parse_bif, parse_xmlbif
from parentage.network.formats.network_json import parse_network_json
from parentage.scoring.candidates import score
from parentage.scoring.constraints import read_constraints
from parentage.scoring.formats import read_lists, write_lists
from solving import learn_lists

if TYPE_CHECKING:
    from collections.abc import Callable

SLOWEST = 5.0
"""Seconds of processor time one small file may take."""

PIECES = (
    b"", b"\0", b"\xff", b"\n", b"\r", b"\t", b" ", b",", b";", b"|", b'"', b"'", b"#", b"%",
    b"{", b"}", b"[", b"]", b"(", b")", b"<", b">", b"->", b"--", b"=", b":", b"-", b"+", b"_",
    b"nan", b"inf", b"-inf", b"1e999", b"1e308", b"0", b"-1", b"99999999999999999999", b"1_0",
    b"0x1", b"?", b"NA", b"null", b"true", b"\\", b"\\n", b"\\u0000", "٣".encode(), "∅".encode(),
    b"\xed\xa0\x80", b"META ", b"VAR ", b"@data", b"network", b"digraph", b"<!DOCTYPE x>", b"&lt;",
    b"# meta {}", b"9" * 5000, b"[" * 3000, b"{" * 3000,
)  # fmt: skip
"""What is put into files: what some format gives a meaning to."""


@cache
def originals() -> tuple[tuple[str, bytes], ...]:
    """Return good files of every format that is read here, as (name, content).

    Not those of Parquet, Arrow and Excel: other libraries read them, and damage may abort those.
    """
    table = Table.from_columns(
        {
            "a": "xyxyxxyyxyxxyx",
            "b c": "uuvvuvuvwwuvuv",
            "d": "01001011010010",
            "é": "01101001011010",
        }
    )
    lists = score(table)
    solution = learn_lists(lists)
    rows = zip(*(labels_of(table, v) for v in range(4)), strict=True)
    lines = [",".join(row) for row in rows]
    names = ",".join(table.names)
    found: dict[str, bytes] = {
        "table.csv": "\n".join([names, *lines, ""]).encode(),
        "quoted.csv": "\n".join(
            [f'"{names.replace(",", chr(34) + "," + chr(34))}"', *lines]
        ).encode(),
        "table.tsv": "\n".join([names, *lines]).replace(",", "\t").encode(),
        "numbers.csv": b"x,y\n" + b"".join(b"%d.5,%d\n" % (i % 7, i % 2) for i in range(30)),
        "table.arff": (
            "@relation t\n@attribute a {x,y}\n@attribute 'b c' {u,v,w}\n@attribute d numeric\n"
            "@attribute e {0,1}\n@data\n" + "\n".join(lines)
        ).encode(),
        "table.dat": b"a b\n2 3\n" + b"".join(b"%d %d\n" % (i % 2, i % 3) for i in range(12)),
        "other.jkl": b"2\na 1\n-2.5 0\nb 2\n-1.5 1 a\n-3 0\n",
        "c.toml": b'required = [["a", "d"]]\nforbidden = [["d", "a"]]\n[max_parents]\na = 2\n',
    }
    with tempfile.TemporaryDirectory() as folder:
        for name in ("lists.jkl", "lists.pss"):
            write_lists(lists, Path(folder) / name)
            found[name] = (Path(folder) / name).read_bytes()
        for name in ("n.bif", "n.xmlbif", "n.json"):
            write_network(solution, Path(folder) / name, table=table)
            found[name] = (Path(folder) / name).read_bytes()
    return tuple(found.items())


def labels_of(table: Table, v: int) -> list[str]:
    """Return a column as labels."""
    return [table.states[v][code] for code in table.to_codes()[v]]


def make(seed: int) -> tuple[str, bytes]:
    """Draw a file and damage it."""
    rng = random.Random(seed)
    files = originals()
    name, content = rng.choice(files)
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at = rng.randrange(len(data) + 1)
        way = rng.randrange(7)
        if way == 0 and at < len(data):
            data[at] = rng.randrange(256)
        elif way == 1:
            del data[at : at + rng.choice((1, 2, 10, 100))]
        elif way == 2:
            data[at:at] = rng.choice(PIECES)
        elif way == 3:
            other = rng.choice(files)[1]
            start = rng.randrange(len(other))
            data[at : at + rng.choice((0, 20))] = other[start : start + rng.choice((5, 50))]
        elif way == 4:
            data[at:at] = data[at : at + rng.choice((1, 10, 100))] * rng.choice((1, 2, 30))
        elif way == 5:
            del data[at:]
        else:
            lines = bytes(data).split(b"\n")
            rng.shuffle(lines)
            data = bytearray(b"\n".join(lines))
        if not data:
            break
    return name, bytes(data)


def reader_of(name: str) -> Callable[[str, bytes], object]:
    """Return what reads files of this name and uses what it read."""
    if name == "c.toml":
        return _use_constraints
    if name.startswith("n."):
        return _use_network
    return _use_lists if name.startswith(("lists", "other")) else _use_table


def _use_network(name: str, data: bytes) -> object:
    if name.endswith(".json"):
        return parse_network_json(Source(name, data).text(), name)
    parse = parse_bif if name.endswith(".bif") else parse_xmlbif
    return parse(Source(name, data).text(), name)


def _use_constraints(name: str, data: bytes) -> object:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        return read_constraints(path)


def _use_table(name: str, data: bytes) -> object:
    return read_table(Source(name, data), discretize="median", missing="state")


def _use_lists(name: str, data: bytes) -> object:
    lists = read_lists(Source(name, data))
    return learn_lists(lists) if lists.n_variables <= 12 and lists.n_sets < 500 else lists


def check(case: tuple[str, bytes]) -> None:
    """Read a file: it works, or is refused on purpose, and soon.

    Raises
    ------
    Exception
        Anything but a refusal.
    """
    name, data = case
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ParentageWarning)
        try:
            reader_of(name)(name, data)
        except ParentageError as error:
            assert str(error), "a refusal without a word"
    seconds = time.process_time() - began
    assert seconds < SLOWEST, f"{len(data)} bytes took {seconds:.1f} s"


def kinds_of(case: tuple[str, bytes]) -> list[str]:
    """What is counted: what the file was."""
    reader = reader_of(case[0])
    kinds = ((_use_constraints, "constraints"), (_use_network, "networks"), (_use_lists, "lists"))
    return [next((kind for own, kind in kinds if own is reader), "tables")]
