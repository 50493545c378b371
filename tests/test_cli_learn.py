"""``parentage learn`` as others script against it."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from command import await_handlers, ok, refused, run
from parentage.data.reading import read_table
from parentage.network.formats import read_network
from parentage.network.network import Network
from parentage.scoring.lists import CandidateLists
from test_cli import SMALL, write


@pytest.fixture
def data(tmp_path: Path) -> str:
    return write(tmp_path, SMALL, "small.csv")


@pytest.fixture
def slow(tmp_path: Path) -> str:
    """Candidate lists that no engine proves within seconds: 40 variables, tangled."""
    rng = random.Random(3)
    lines = ["40"]
    for v in range(40):
        others = [u for u in range(40) if u != v]
        sets = {frozenset[int](): -100.0}
        for _ in range(250):
            size = rng.choice([1, 2, 3, 4])
            sets[frozenset(rng.sample(others, size))] = -100 + rng.random() * 10 * size
        lines.append(f"{v} {len(sets)}")
        for members, value in sets.items():
            lines.append(" ".join([repr(value), str(len(members)), *map(str, members)]))
    return write(tmp_path, "\n".join(lines) + "\n", "slow.jkl")


def test_learn_json(data: str) -> None:
    found: dict[str, Any] = json.loads(ok("learn", data, "--json"))
    assert found["optimal"] is True
    assert found["gap"] == 0
    assert found["bound"] == found["score"]
    assert found["max_parents"] is None
    assert set(found["parents"]) == {"a", "b", "c"}
    network = Network.from_parents(found["parents"])
    assert network.score(read_table(data)) == pytest.approx(found["score"], abs=1e-9)
    assert {"engine", "seconds"} <= found.keys()


def test_learn_text(data: str) -> None:
    text = ok("learn", data)
    assert "proven optimal" in text
    assert "margin" in text


def test_learn_takes_lists_by_content(data: str, tmp_path: Path) -> None:
    lists = tmp_path / "lists.jkl"
    ok("score", data, "-o", str(lists))
    disguised = tmp_path / "lists.csv"
    disguised.write_bytes(lists.read_bytes())
    expected = json.loads(ok("learn", data, "--json"))
    for path in (lists, disguised):
        found = json.loads(ok("learn", str(path), "--json"))
        assert found["parents"] == expected["parents"]
        assert found["score"] == pytest.approx(expected["score"], abs=1e-9)


@pytest.mark.parametrize("engine", ["subsets", "orders", "branch-and-cut", "auto"])
def test_engines_agree(data: str, engine: str) -> None:
    found = json.loads(ok("learn", data, "--json", "--engine", engine))
    assert found["score"] == pytest.approx(json.loads(ok("learn", data, "--json"))["score"])


@pytest.mark.parametrize("suffix", ["json", "bif", "xmlbif"])
def test_learn_writes_networks(data: str, tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"net.{suffix}"
    found = json.loads(ok("learn", data, "--json", "-o", str(target)))
    assert read_network(target).to_dict() == {
        child: sorted(parents, key=list(found["parents"]).index)
        for child, parents in found["parents"].items()
    }


def test_learn_draws_and_records(data: str, tmp_path: Path) -> None:
    assert ok("learn", data, "-o", str(tmp_path / "net.svg")) == ""
    assert "<svg" in (tmp_path / "net.svg").read_text()
    ok("learn", data, "-o", str(tmp_path / "net.json"))
    record = json.loads((tmp_path / "net.json").read_text())
    assert record["provenance"]["data"]["sha256"] == read_table(data).digest
    assert "learn" in record["provenance"]["command"]


def test_an_unknown_kind_of_file_names_those_there_are(data: str) -> None:
    message = refused("learn", data, "-o", "network.xyz")
    assert all(kind in message for kind in (".bif", ".json", ".svg", ".html"))


def test_lists_need_data_for_parameters(data: str, tmp_path: Path) -> None:
    lists = str(tmp_path / "lists.jkl")
    ok("score", data, "-o", lists)
    target = tmp_path / "net.bif"
    assert "--data" in refused("learn", lists, "-o", str(target))
    assert not target.exists()
    ok("learn", lists, "-o", str(target), "--data", data)
    assert target.exists()


def test_writing_says_what_is_proved(data: str, slow: str, tmp_path: Path) -> None:
    """A picture cannot tell a proven network from another; stderr does."""
    target = str(tmp_path / "net.svg")
    assert "proven optimal" in run("learn", data, "-o", target).stderr
    cut = run("learn", slow, "-o", target, "--time-limit", "0.5")
    assert "not proven optimal" in cut.stderr


def test_the_scope_of_the_proof_is_named(data: str, tmp_path: Path) -> None:
    assert "that the constraints allow" in ok("learn", data, "-k", "a=1", "--forbid", "a,b")
    assert "at most 1 parent per variable" in ok("learn", data, "-k", "1")
    found = json.loads(ok("learn", data, "--forbid", "a,b", "--json"))
    assert found["constraints"] == {"forbidden": [["a", "b"]]}


def test_constraints(data: str) -> None:
    found = json.loads(ok("learn", data, "--json", "--require", "c,a", "--forbid", "a,b"))
    assert "c" in found["parents"]["a"]
    assert "a" not in found["parents"]["b"]
    assert "cycle" in refused("learn", data, "--require", "a,b", "--require", "b,a")


def test_text_names_the_score_and_the_reversible_links(tmp_path: Path) -> None:
    rows = "\n".join(["a,b", *["0,0", "1,1"] * 20, "0,1"])
    data = write(tmp_path, rows, "two.csv")
    free = ok("learn", data)
    assert "1 reversible link (an equivalent network with the same score has the other" in free
    assert " — " in free and re.search(r"Score -[0-9.]+ \(BIC\), 1 arc", free)
    assert "reversible" not in ok("learn", data, "--tiers", "a<b")  # set by the constraints
    assert "reversible link" not in ok("learn", data, "--score", "k2")
    bdeu = ok("learn", data, "--score", "bdeu:2")
    assert re.search(r"Score -[0-9.]+ \(BDeu, equivalent sample size 2\), 1 arc", bdeu)


def test_within(data: str) -> None:
    found = json.loads(ok("learn", data, "--within", "3", "--json"))
    sizes = [len(members) for members in found["classes"]]
    assert sum(sizes) == found["networks"] >= 1
    best = max(n["score"] for members in found["classes"] for n in members)
    assert best == pytest.approx(json.loads(ok("learn", data, "--json"))["score"])
    assert "equivalence class" in ok("learn", data, "--within", "3")


def test_time_limit_gives_an_honest_result(slow: str) -> None:
    done = run("learn", slow, "--json", "--time-limit", "1", "--require-optimal")
    found = json.loads(done.stdout)
    assert found["bound"] >= found["score"]
    assert Network.from_parents(found["parents"]).n_variables == 40
    assert done.returncode == (0 if found["optimal"] else 1)
    if not found["optimal"]:
        assert "not proven" in done.stderr


@pytest.mark.usefixtures("no_moment")
def test_time_limit_covers_scoring(data: str) -> None:
    done = run("learn", data, "--time-limit", "0", "--require-optimal", "--json")
    found = json.loads(done.stdout)
    assert found["optimal"] is False
    assert found["scope"]["account"]["complete_to"] == 1
    assert done.returncode == 1
    assert "scoring was stopped by the time limit" in done.stderr
    assert "all sets of up to 1 parent were searched" in done.stderr


def test_interrupt_keeps_the_incumbent(slow: str, tmp_path: Path) -> None:
    target = tmp_path / "net.json"
    child = subprocess.Popen(
        [sys.executable, "-m", "parentage", "learn", slow, "-o", str(target), "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    await_handlers(child)
    os.kill(child.pid, signal.SIGINT)
    out, err = child.communicate(timeout=90)
    assert child.returncode == 130, err
    assert b"Traceback" not in err
    assert b"interrupt" in err
    found = json.loads(out)
    assert found["bound"] >= found["score"]
    assert read_network(target).n_variables == 40


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("2\na 1\n-1 1 b\nb 1\n-1 1 a\n", "allow no acyclic network"),
        ("2\na 1\n-1 1 z\nb 1\n-1 0\n", "'z'"),
        ("2\na 2\n-1 0\nb 1\n-1 0\n", "line"),
        ("2\na 1\nnan 0\nb 1\n-1 0\n", "line 3"),
        ("2\na 1\n-1 0\nb 1\n-1 0\nhello world\n", "hello"),
        ("2\na 2\n-1 0\n-2 0\nb 1\n-1 0\n", "line 4"),
    ],
)
def test_bad_lists_are_refused(tmp_path: Path, content: str, said: str) -> None:
    message = refused("learn", write(tmp_path, content, "bad.jkl"))
    assert said in message


def test_bad_options_are_refused(data: str, tmp_path: Path) -> None:
    lists = str(tmp_path / "lists.jkl")
    ok("score", data, "-o", lists)
    assert "scored already" in refused("learn", lists, "--score", "aic")
    assert "scored already" in refused("learn", lists, "--drop", "a")
    limited = json.loads(ok("learn", lists, "-k", "0", "--json"))
    assert all(parents == [] for parents in limited["parents"].values())
    assert "one group" in refused("learn", data, "--tiers", "a")
    assert "did you mean 'orders'" in refused("learn", data, "--engine", "order")
    assert ".bif" in refused("learn", data, "-o", str(tmp_path / "net.tiff"))


def test_arcs_from_csv_files(tmp_path: Path) -> None:
    data, black, white = (str(tmp_path / name) for name in ("t.csv", "black.csv", "white.csv"))
    rows = ["a,b,c", *(f"{i % 2},{i % 2 if i % 5 else 1},{i % 3}" for i in range(60))]
    Path(data).write_text("\n".join(rows) + "\n")
    Path(black).write_text('"","from","to"\n"1","a","b"\n"2","b","a"\n')  # as write.csv of R does
    Path(white).write_text("from,to\na,c\n")
    arcs = json.loads(ok("learn", data, "--forbid", black, "--require", white, "--json"))["parents"]
    typed = ["--forbid", "a,b", "--forbid", "b,a", "--require", "a,c"]
    assert arcs == json.loads(ok("learn", data, *typed, "--json"))["parents"]
    assert "a" in arcs["c"] and "a" not in arcs["b"]
    assert json.loads(ok("learn", data, "--json"))["parents"] != arcs
    Path(white).write_text("a,c\nc,b\n")
    assert "its first line is from,to" in refused("learn", data, "--require", white)
    Path(white).write_text("from,to\na,\n")
    assert "row 1 has one name" in refused("learn", data, "--require", white)
    assert "cannot read" in refused("learn", data, "--require", str(tmp_path / "none.csv"))


def test_many_variables_are_shown_in_part(tmp_path: Path) -> None:
    names = [f"v{i}" for i in range(70)]
    families: dict[str, list[tuple[float, list[str]]]] = {name: [(-1.0, [])] for name in names}
    CandidateLists.from_families(families).save(tmp_path / "many.jkl")
    told = run("learn", str(tmp_path / "many.jkl")).stdout
    assert "v29 " in told
    assert "v30 " not in told
    assert "and 40 more variables (all: --json, or -o FILE)" in told
