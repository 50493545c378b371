"""``parentage learn --within`` as others script against it."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from command import ok, refused, run
from parentage.optimise import near as near_networks
from test_cli import SMALL, write


@pytest.fixture
def data(tmp_path: Path) -> str:
    return write(tmp_path, SMALL, "small.csv")


def test_json_has_classes_differences_and_arcs(data: str) -> None:
    found: dict[str, Any] = json.loads(ok("learn", data, "--within", "1000", "--json"))
    assert found["complete"] is True
    assert found["stopped"] is None
    assert found["complete_to_factor"] == pytest.approx(1000)
    assert found["networks"] == sum(map(len, found["classes"]))
    assert len(found["differences"]) == len(found["classes"]) > 1
    assert found["differences"][0] == {"added": [], "removed": [], "changed": []}
    assert any(found["differences"][1].values())
    assert all(0 < arc["weight"] <= 1 + 1e-12 and 0 < arc["classes"] <= 1 for arc in found["arcs"])
    learned = json.loads(ok("learn", data, "--json"))
    assert found["classes"][0][0]["parents"] == learned["parents"]
    assert found["classes"][0][0]["score"] == learned["score"]


def test_a_limit_is_said(data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = near_networks.near_optimal
    monkeypatch.setattr(near_networks, "near_optimal", partial(kept, max_networks=2))
    text = ok("learn", data, "--within", "1000")
    assert text.startswith("At least 2 networks in ")
    assert "Not complete: there are at least 2 networks" in text
    done = run("learn", data, "--within", "1000", "--require-optimal")
    assert done.returncode == 1
    found = json.loads(ok("learn", data, "--within", "1000", "--time-limit", "60", "--json"))
    assert found["complete"] is False
    assert found["stopped"] == "networks"
    assert 1 <= found["complete_to_factor"] < 1000


def test_text_says_what_differs(data: str) -> None:
    text = ok("learn", data, "--within", "1000")
    assert "class 1: " in text
    assert "class 2: " in text
    assert "times less probable: " in text
    assert "weight" in text


def test_no_file_is_written(data: str, tmp_path: Path) -> None:
    target = str(tmp_path / "net.json")
    assert "--within prints many networks" in refused("learn", data, "--within", "3", "-o", target)


def test_advice_can_be_followed(data: str, tmp_path: Path) -> None:
    """Own lists say how wide to score; those of another program have no table to score."""
    lists = str(tmp_path / "small.jkl")
    ok("score", data, "-o", lists)
    told = run("learn", lists, "--within", "1000").stderr
    [width] = re.findall(r"type --width (\S+) when the table is scored", told)
    ok("score", data, "-o", lists, "--width", width)
    wide = run("learn", lists, "--within", "1000", "--json")
    assert json.loads(wide.stdout)["complete"] is True
    assert wide.stderr == ""
    lines = Path(lists).read_text(encoding="utf-8").splitlines(keepends=True)
    Path(lists).write_text("".join(x for x in lines if not x.startswith("#")), encoding="utf-8")
    done = run("learn", lists, "--within", "1000")
    assert "these lists do not say which parent sets they omit" in done.stderr
    assert not re.search("type|--|score", done.stderr)
    assert done.stdout.startswith("At least ")
