"""``parentage path``, ``effect`` and ``validate``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import parentage
from command import ok, run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def clinic(tmp_path: Path) -> str:
    """The clinic's table as a file."""
    table = parentage.datasets.chest_clinic(500)
    path = tmp_path / "clinic.csv"
    lines = [",".join(table.names)]
    for row in table.to_codes().T.tolist():
        cells = (labels[code] for labels, code in zip(table.states, row, strict=True))
        lines.append(",".join(cells))
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_path(clinic: str, tmp_path: Path) -> None:
    found = parentage.path(clinic)
    text = ok("path", clinic)
    assert text.splitlines()[0].split() == ["penalty", "arcs", "parameters", "BIC", "change"]
    assert f"{len(found)} networks, all proven optimal; no other is optimal in this range." in text
    assert found.sentence() in text
    content = json.loads(ok("path", clinic, "--json"))
    assert content == json.loads(json.dumps(found.to_dict()))
    target = tmp_path / "path.svg"
    assert "wrote" in run("path", clinic, "-o", str(target)).stderr
    assert target.read_text().startswith("<svg")
    grid = ok("path", clinic, "--score", "bdeu", "-k", "2")
    assert "on a grid: other networks may lie between" in grid


def test_path_refuses_before_it_works(clinic: str, tmp_path: Path) -> None:
    done = run("path", clinic, "-o", str(tmp_path / "path.png"))
    assert done.returncode == 2
    assert ".json, .csv or .svg" in done.stderr
    done = run("path", clinic, "--score", "aic")
    assert done.returncode == 2
    assert "type --score bic" in done.stderr


def test_effect(clinic: str) -> None:
    found = parentage.effect(clinic, "smoke", "bronc")
    text = " ".join(ok("effect", clinic, "smoke", "bronc").split())
    assert found.sentence() in text
    assert all(assumed in text for assumed in found.assumptions)
    content = json.loads(ok("effect", clinic, "smoke", "bronc", "--json"))
    assert content["low"] == found.low
    assert content["high"] == found.high
    assert content["mean"] == pytest.approx(found.mean)
    assert content["networks"] == found.networks
    known = ok("effect", clinic, "smoke", "bronc", "--require", "smoke,bronc", "--json")
    assert json.loads(known)["low"] > 0
    turned = ok("effect", clinic, "smoke", "bronc", "--change", "yes,no", "--json")
    assert json.loads(turned)["low"] == pytest.approx(-found.high)


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (("smok", "bronc"), "did you mean 'smoke'"),
        (("smoke", "bronc", "--change", "yes"), "type two states"),
        (("smoke", "bronc", "--state", "maybe"), "no state 'maybe'"),
        (("smoke", "bronc", "--tiers", "smoke<bronc"), "--constraints constraints.toml"),
        (("smoke", "bronc", "--forbid", "bronc,smoke"), "--constraints constraints.toml"),
    ],
)
def test_effect_refuses(clinic: str, typed: tuple[str, ...], message: str) -> None:
    done = run("effect", clinic, *typed)
    assert done.returncode == 2
    assert message in done.stderr
    assert not done.stdout


def test_validate(clinic: str) -> None:
    typed = ("--score", "bic", "--score", "aic", "--target", "dysp", "--folds", "4")
    found = parentage.validate(clinic, scores=["bic", "aic"], target="dysp", folds=4)
    content = json.loads(ok("validate", clinic, *typed, "--json"))
    assert content == json.loads(json.dumps(found.to_dict()))
    text = ok("validate", clinic, *typed)
    assert "500 rows, 4 folds" in text
    assert "naive Bayes" in text
    assert f"{found['aic'].log_likelihood:.4f}" in text
    done = run("validate", clinic, "--target", "dyps")
    assert done.returncode == 2
    assert "did you mean 'dysp'" in done.stderr
