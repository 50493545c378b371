"""``parentage check`` as others script against it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from certificates import document
from command import ok, refused, run
from parentage.data.reading import read_table
from parentage.optimise import learn_lists
from parentage.scoring.candidates import score
from parentage.scoring.formats import read_lists, write_lists
from test_cli import SMALL, write

if TYPE_CHECKING:
    from pathlib import Path

    from parentage.scoring.lists import CandidateLists


def proof_of(lists: CandidateLists) -> dict[str, Any]:
    """A certificate by dynamic programming."""
    best = learn_lists(lists)
    chosen = [
        next(
            i
            for i in range(int(lists.offsets[v]), int(lists.offsets[v + 1]))
            if tuple(lists.parents_of(i)) == members
        )
        for v, members in enumerate(best.network.parents)
    ]
    nodes = [{"subsets": True}]
    return document(lists, chosen, unit={"bits": 30}, cuts=[], nodes=nodes, tolerance=10)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str, str]:
    """A table, its lists and a certificate."""
    table = write(tmp_path, SMALL, "small.csv")
    lists = score(read_table(table), max_parents=1)
    path = str(tmp_path / "small.jkl")
    write_lists(lists, path)
    content = {**proof_of(read_lists(path)), "settings": {"max_parents": 1, "score": "bic"}}
    return table, path, write(tmp_path, json.dumps(content), "proof.json")


def test_a_proof_is_verified_from_lists_and_from_the_table(files: tuple[str, str, str]) -> None:
    table, lists, proof = files
    for data in (table, lists):
        text = ok("check", data, proof)
        assert text.startswith("Verified: the network scores ")
        assert "scores more than " in text
        assert "1 part solved again" in text
        found = json.loads(ok("check", data, proof, "--json"))
        assert found["verified"] is True
        assert found["reason"] is None
        assert set(found["parents"]) == {"a", "b", "c"}
        assert 0 < found["tolerance"] < 1e-7


def test_a_damaged_proof_is_refused_with_the_step(
    files: tuple[str, str, str], tmp_path: Path
) -> None:
    _, lists, proof = files
    content = json.loads(open(proof).read())  # noqa: PTH123, SIM115  # a path of the fixture
    content["nodes"] = [{"steps": [["ancestors"]]}]
    other = write(tmp_path, json.dumps(content), "other.json")
    shown = run("check", lists, other)
    assert shown.returncode == 1
    assert shown.stdout.startswith("Refused: node 0: it stays open after its last step.")
    found = json.loads(run("check", lists, other, "--json").stdout)
    assert found["verified"] is False
    assert found["reason"] == "node 0: it stays open after its last step"


def test_another_table_is_refused(files: tuple[str, str, str], tmp_path: Path) -> None:
    _, _, proof = files
    other = write(tmp_path, SMALL + SMALL.splitlines()[1] + "\n", "more.csv")
    shown = run("check", other, proof)
    assert shown.returncode == 1
    assert "the proof is about other lists" in shown.stdout or "lists:" in shown.stdout


def test_bad_input_is_told_apart(files: tuple[str, str, str], tmp_path: Path) -> None:
    table, lists, proof = files
    assert "is not a certificate in JSON" in refused("check", lists, table)
    assert "no file" in refused("check", lists, "nowhere.json")
    content = json.loads(open(proof).read())  # noqa: PTH123, SIM115  # a path of the fixture
    for settings in ({"colour": 1}, {"max_parents": "x"}, {"constraints": 5}, {"rules": [1]}):
        other = write(tmp_path, json.dumps({**content, "settings": settings}), "odd.json")
        assert "in this certificate" in refused("check", table, other)
