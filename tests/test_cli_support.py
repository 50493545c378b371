"""The command support: what it prints, writes and refuses."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from command import run
from parentage.data.datasets import chest_clinic
from parentage.network.formats import write_network
from parentage.network.network import Network

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def clinic(tmp_path: Path) -> str:
    """A small table as a file."""
    table = chest_clinic(150, seed=2)
    rows = [table.names] + [
        [table.states[v][int(code)] for v, code in enumerate(row)] for row in table.to_codes().T
    ]
    path = tmp_path / "clinic.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return str(path)


def test_the_table_has_what_was_asked_for(clinic: str) -> None:
    plain = run("support", clinic)
    assert plain.returncode == 0
    head = plain.stdout.split("\n")[0].split()
    assert head == ["from", "to", "need", "support"]
    assert {line.split()[-1] for line in plain.stdout.split("\n\n")[0].split("\n")[1:]} <= {
        "firm",
        "open",
    }
    whole = run("support", clinic, "--verbose").stdout.split("\n")[0].split()
    assert whole == ["from", "to", "need", "gain", "reversed", "class", "support"]
    assert "proven optimal" in plain.stdout
    assert "\nfirm: by the need alone; nothing else was requested\n" in plain.stdout
    gains = run("support", clinic, "--no-need").stdout.split("\n")[0].split()
    assert gains == ["from", "to", "gain"]
    both = run("support", clinic, "--bootstrap", "3").stdout
    drawn = both.split("\n")[0].split()
    assert drawn == ["from", "to", "adjacent", "direction", "need", "support"]
    assert " firm\n" in both and "alone" not in both
    asked = ("support", clinic, "--bootstrap", "4", "--within", "3", "--no-need")
    some = run(*asked).stdout
    assert "share (near)" not in some and "\nfirm: by the bootstrap alone; " in some
    full = run(*asked, "--verbose")
    assert full.returncode == 0
    assert (
        "adjacent (near)" in full.stdout
        and "share (near)" in full.stdout
        and "not in this network" in full.stdout
    )
    assert "4 bootstrap replicates, all proven optimal" in full.stdout
    assert "4 replicates will take about" in full.stderr
    assert "of the posterior probability of all networks" in full.stdout


def test_a_proof_among_allowed_networks_is_said_as_learn_says_it(
    clinic: str, tmp_path: Path
) -> None:
    constraints = tmp_path / "constraints.toml"
    constraints.write_text('forbidden = [["smoke", "lung"], ["lung", "smoke"]]\n')
    asked = (clinic, "--constraints", str(constraints))
    said = next(line for line in run("learn", *asked).stdout.split("\n") if "Score " in line)
    sentence = said.split(" (engine")[0] + "."
    assert "proven optimal among the networks that the constraints allow" in sentence
    assert sentence in run("support", *asked).stdout.split("\n")


def test_csv_and_json_files(clinic: str, tmp_path: Path) -> None:
    target = tmp_path / "support.csv"
    done = run("support", clinic, "-o", str(target), "--bootstrap", "3", "--seed", "5")
    assert (done.returncode, done.stdout) == (0, "")
    with target.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    printed = json.loads(run("support", clinic, "--bootstrap", "3", "--seed", "5", "--json").stdout)
    assert [row["from"] for row in rows] == [
        one["from"] for one in printed["arcs"] + printed["others"]
    ]
    assert float(rows[0]["need"]) == printed["arcs"][0]["need"]
    assert printed["bootstrap"]["done"] == 3 and "tolerance" in printed["scope"]
    again = run("support", clinic, "-o", str(target))
    assert again.returncode == 0, "a file of ours may be replaced"
    other = tmp_path / "support.json"
    assert run("support", clinic, "-o", str(other)).returncode == 0
    assert json.loads(other.read_text(encoding="utf-8"))["format"] == "parentage support"


def test_a_network_from_a_file(clinic: str, tmp_path: Path) -> None:
    net = tmp_path / "net.json"
    names = chest_clinic(2, seed=0).names
    write_network(Network.from_arcs(names, [("asia", "xray"), ("smoke", "bronc")]), net)
    done = run("support", clinic, str(net))
    assert done.returncode == 0
    assert done.stdout.count("\n") >= 4 and "the best network scores" in done.stdout
    write_network(Network.from_arcs(["asia", "xray"], []), tmp_path / "small.json")
    refused = run("support", clinic, str(tmp_path / "small.json"))
    assert refused.returncode == 2 and "--drop tub" in refused.stderr and refused.stdout == ""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-o", "support.xls"], "use .csv or .json"),
        (["--bootstrap", "-1"], "--bootstrap"),
        (["--within", "0.5"], "--within"),
        (["--within", "inf"], "finite"),
    ],
)
def test_refusals(clinic: str, options: list[str], words: str) -> None:
    done = run("support", clinic, *options)
    assert done.returncode == 2 and words in done.stderr and done.stdout == ""


def test_what_is_read_is_not_overwritten(clinic: str) -> None:
    done = run("support", clinic, "-o", clinic)
    assert done.returncode == 2 and "overwritten" in done.stderr


def test_ctrl_c_keeps_what_is_done(clinic: str) -> None:
    command = [sys.executable, "-m", "parentage", "support", clinic, "--bootstrap", "1000000"]
    with subprocess.Popen(
        [*command, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:  # until the estimate: the first replicate is done
            if "1,000,000 replicates will take about" in line:
                break
        time.sleep(0.5)
        os.kill(process.pid, signal.SIGINT)
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    content = json.loads(out)
    assert 1 <= content["bootstrap"]["done"] < 1_000_000
    assert content["bootstrap"]["stopped"] == "interrupt"
    assert all(arc["need"] is not None for arc in content["arcs"])
    assert "an interrupt stopped the bootstrap" in err
