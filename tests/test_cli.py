"""The command line as others script against it: JSON, exit codes, messages, files."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from command import await_handlers, by_recipe, in_a_process, ok, refused, run
from parentage import structural_em
from parentage.data.datasets import chest_clinic
from parentage.data.reading import read_table
from parentage.scoring.candidates import cut_short_text, score
from parentage.scoring.formats import read_lists

if TYPE_CHECKING:
    from pathlib import Path

SMALL = "a,b,c\n" + "x,0,u\nx,0,v\ny,1,u\ny,1,v\ny,0,u\n" * 6


@pytest.fixture
def data(tmp_path: Path) -> str:
    path = tmp_path / "small.csv"
    path.write_text(SMALL)
    return str(path)


def test_score_json(data: str) -> None:
    found: dict[str, Any] = json.loads(ok("score", data, "--json"))
    assert found["variables"] == ["a", "b", "c"]
    assert (found["rows"], found["score"], found["max_parents"]) == (30, "bic", None)
    assert found["families"] == 3 * 2**2
    assert found["kept"] == sum(len(sets) for sets in found["lists"].values())
    expected = score(read_table(data))
    assert found["sets_counted"] == expected.known().tallies.sets_counted
    assert found["pruned"] == expected.known().tallies.pruned
    assert {"families_scored", "seconds"} <= found.keys()


def test_score_writes_a_file_and_json(data: str, tmp_path: Path) -> None:
    for name in ("out.jkl", "out.pss", "out.parquet"):
        target = tmp_path / name
        found = json.loads(ok("score", data, "--json", "-o", str(target)))
        assert "lists" not in found
        assert read_lists(target).n_sets == found["kept"]
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "out.jkl", "out.parquet", "out.pss", "small.csv",
    ]  # fmt: skip


def test_score_with_only_a_file_prints_nothing(data: str, tmp_path: Path) -> None:
    assert ok("score", data, "-o", str(tmp_path / "x.jkl")) == ""


def test_score_text_and_stdin(data: str) -> None:
    assert "candidate parent sets" in ok("score", data)
    piped = in_a_process("score", "-", "--json", stdin=SMALL)
    assert json.loads(piped.stdout)["rows"] == 30


def test_a_process_of_its_own_does_the_same(data: str) -> None:
    """All other tests call the command in this process."""
    for arguments in (("explain", data, "a", "b", "--json"), ("score", data, "--rules", "x")):
        assert in_a_process(*arguments) == run(*arguments)


def test_score_limits_and_rules(data: str) -> None:
    one = json.loads(ok("score", data, "-k", "1", "--rules", "none", "--json"))
    assert one["families"] == one["families_scored"] == 3 * 3
    assert one["pruned"] == {}
    assert json.loads(ok("score", data, "-k", "9", "--json"))["max_parents"] is None
    by_name = json.loads(ok("score", data, "-k", "a=0", "--json"))
    assert [parents for _, parents in by_name["lists"]["a"]] == [[]]


def test_score_constraints(data: str, tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    path.write_text('required = [["c", "a"]]\nforbidden = [["b", "a"]]\n')
    found = json.loads(ok("score", data, "--constraints", str(path), "--json"))
    assert [parents for _, parents in found["lists"]["a"]] == [["c"]]
    typed = json.loads(ok("learn", data, "--require", "c,a", "--forbid", "b,a", "--json"))
    given = json.loads(ok("learn", data, "--constraints", str(path), "--json"))
    assert typed["parents"] == given["parents"] and typed["constraints"] == given["constraints"]
    assert json.loads(ok("learn", data, "--tiers", "a<b,c", "--json"))["parents"]["a"] == []


def test_info_json(data: str) -> None:
    found = json.loads(ok("info", data, "--json"))
    assert found["rows"] == 30
    first = found["variables"][0]
    assert (first["name"], first["states"]) == ("a", ["x", "y"])
    assert first["entropy"] == pytest.approx(0.6730116670092565)
    assert set(first["max_parents"]) == {"theorem3", "theorem3pp"}
    assert {"constant", "corollary1", "corollary1p", "forecast"} <= found.keys()
    assert found["forecast"]["sets"] == score(read_table(data)).known().tallies.sets_counted
    limited = json.loads(ok("info", data, "--json", "-k", "1", "-k", "a=0"))["forecast"]
    assert limited["sets"] <= limited["sets_at_most"]
    assert "rows" in ok("info", data)


def test_explain_json_and_text(data: str) -> None:
    found = json.loads(ok("explain", data, "a", "b", "c", "--json"))
    assert found["child"] == "a"
    assert found["parents"] == ["b", "c"]
    assert {"score", "kept", "dominated_by", "rules"} <= found.keys()
    assert set(found["rules"][0]) == {"rule", "Y", "left", "right", "fires"}
    text = ok("explain", data, "a", "b", "c", "--all")
    assert "Not kept" in text
    assert "thm1p" in text


@pytest.mark.parametrize("arguments", [(), ("--data", "uci", "-o", "results", "--json")])
def test_the_former_command_reproduce_says_what_to_run_instead(arguments: tuple[str, ...]) -> None:
    assert "make reproduce DATA=" in refused("reproduce", *arguments)
    assert "reproduce" not in ok("--help")


def test_version_and_help() -> None:
    assert "parentage" in ok("--version")
    assert "score" in ok("--help")
    for command in ("info", "score", "explain"):
        assert "--json" in ok(command, "--help")


def write(tmp_path: Path, content: str | bytes, name: str = "t.csv") -> str:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "empty"),
        ("a,b\n", "no data"),
        ("a,b\n0,1\n1\n0,1\n", "line 3"),
        ("a,a\n0,1\n1,0\n", "'a'"),
        ("a,b\n0,\n1,1\n0,1\n", "--missing"),
        ("a,b\n0,?\n1,1\n0,1\n", "--missing"),
        ("a,b\nx,1.5\ny,2.5\nx,3.5\n", "--discretize"),
        ("a,b\nx,y\n", "row"),
        ("a,b\nx,y\nz,y\n", "At least 2"),
        (b"a,b\nx,\xff\ny,z\n", "--encoding"),
        (b"\x00\x01\x02\x03" * 50, "t.csv"),
    ],
)
def test_bad_tables_are_refused(tmp_path: Path, content: str | bytes, said: str) -> None:
    path = write(tmp_path, content)
    target = tmp_path / "out.jkl"
    message = refused("score", path, "-o", str(target))
    assert said in message
    assert not target.exists()


def test_bad_arguments_are_refused(data: str, tmp_path: Path) -> None:
    assert "no file" in refused("score", str(tmp_path / "absent.csv"))
    assert "is a folder" in refused("score", str(tmp_path))
    assert "did you mean 'alg1'" in refused("score", data, "--rules", "alg1x")
    assert "did you mean 'score'" in refused("scoer", data)
    assert "'aa'" in refused("explain", data, "aa", "b")
    assert "'zz'" in refused("learn", data, "--drop", "zz")
    assert "-k" in refused("score", data, "-k", "many")
    assert ".jkl" in refused("score", data, "-o", str(tmp_path / "lists.xyz"))
    assert "no such folder" in refused("score", data, "-o", str(tmp_path / "no" / "l.jkl"))
    assert "median" in refused("learn", data, "--discretize", "mean")
    assert "error" in refused("learn", data, "--missing", "guess")
    assert "required and forbidden" in refused("learn", data, "--require", "a,b", "--forbid", "a,b")
    assert "cycle" in refused("learn", data, "--require", "a,b", "--require", "b,a")
    assert "zz" in refused("learn", data, "--forbid", "a,zz")
    assert "there is no command 'reproduce' any more; run `make" in refused("reproduce", "--data")
    assert "at least 0" in refused("score", data, "--width", "-1")
    assert "at least 0" in refused("score", data, "--width", "nan")
    assert "missing argument" in refused("score")
    assert "unknown score" in refused("score", data, "--score", "bds")


def test_what_cannot_fit_is_refused_before_it_starts(tmp_path: Path) -> None:
    header = ",".join(f"v{i}" for i in range(60))
    rows = "\n".join(",".join(str((i >> (v % 5)) & 1) for v in range(60)) for i in range(40))
    path = write(tmp_path, header + "\n" + rows + "\n")
    message = refused("score", path, "--rules", "none")
    assert "GB" in message
    assert "--max-parents 3" in message


def test_a_closed_pipe_is_no_error(data: str) -> None:
    command = f'"{sys.executable}" -m parentage score "{data}" --json | head -c 5'
    done = subprocess.run(command, shell=True, capture_output=True, text=True)  # noqa: S602  # a pipe is what is tested
    assert "Traceback" not in done.stderr
    assert done.stdout == '{"var'


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_what_is_complete(number: int, tmp_path: Path) -> None:
    rng = random.Random(1)
    header = ",".join(f"v{i}" for i in range(60))
    rows = "\n".join(",".join(str(rng.randrange(2)) for _ in range(60)) for _ in range(2000))
    path = write(tmp_path, header + "\n" + rows + "\n")
    target = tmp_path / "out.jkl"
    for later in (0, 2, 5):
        child = subprocess.Popen(
            [sys.executable, "-m", "parentage", "score", path, "-o", str(target), "--rules", "none",
             "-k", "5"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        await_handlers(child)
        time.sleep(later)
        os.kill(child.pid, number)
        _, err = child.communicate(timeout=60)
        assert child.returncode == 130, err
        if not err.strip().endswith(
            b"parentage: interrupted"
        ):  # it was, while polars was still reading
            break
        assert not target.exists()
    assert b"Traceback" not in err
    assert b"scoring was stopped by an interrupt" in err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.jkl", "t.csv"]
    made = read_lists(target).known()
    assert made.ended == "interrupt"
    assert made.complete_to is not None and made.complete_to < 5


def test_expectation_maximisation_that_did_not_settle_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(3)
    rows = [[rng.choice("ab")] * 3 for _ in range(60)]
    text = "\n".join(",".join("?" if rng.random() < 0.2 else c for c in row) for row in rows)
    path = write(tmp_path, f"x,y,z\n{text}\n")
    completed = by_recipe(tmp_path, missing="em")
    whole = run("score", path, *completed, "--json")
    assert json.loads(whole.stdout)["completion"]["settled"] is True
    assert "expectation maximisation" not in whole.stderr
    monkeypatch.setattr(structural_em, "MOST_STEPS", 1)
    monkeypatch.setattr(structural_em, "_is_best", lambda *_: False)
    cut = run("score", path, *completed, "--json")
    assert json.loads(cut.stdout)["completion"]["settled"] is False
    assert "expectation maximisation stopped before it converged" in cut.stderr


def test_what_a_level_that_was_cut_short_left_is_said() -> None:
    lists = score(chest_clinic(200), max_parents=2)
    cut = replace(lists, account=replace(lists.known(), complete_to=1, ended="time", explored=7))
    assert "complete up to 1 parent, with the 7 larger sets found so far" in cut_short_text(cut)
    assert "the 7 most promising larger sets were tried" in cut_short_text(cut, growing=True)


def test_errors_have_one_style(tmp_path: Path) -> None:
    for args, said in (
        (("learn", "t.csv", "--time-limit", "1m"), "--time-limit '1m' is not a number"),
        (("learn", "t.csv", "--threads", "1.5"), "--threads '1.5' is not a whole number"),
        (("learn", "t.csv", "--threads", "0"), "--threads '0' is less than 1"),
        (("learn", "t.csv", "--scor", "bic"), "no such option '--scor'; did you mean "),
        (("lern",), "no command 'lern'; did you mean 'learn'?"),
    ):
        first = refused(*args).splitlines()[0]
        assert first.startswith("parentage: error: ")
        assert first.removeprefix("parentage: error: ").startswith(said)
    assert f"{str(tmp_path)!r} is a folder" in refused("learn", "t.csv", "-o", str(tmp_path))
