"""The Benchpress module of the examples: its script by hand and as a job, and its schema."""

from __future__ import annotations

import csv
import json
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import parentage
from strategies import random_table

MODULE = Path(__file__).parent.parent / "examples" / "benchpress" / "parentage"


def written(folder: Path, table: parentage.Table) -> Path:
    """Write a table as Benchpress does."""
    path = folder / "data.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table.names)
        writer.writerow([len(labels) for labels in table.states])
        writer.writerows(table.to_codes().T.tolist())
    return path


def arcs_in(path: Path) -> set[tuple[str, str]]:
    """Read the arcs of an adjacency matrix."""
    with path.open(newline="") as file:
        names, *rows = csv.reader(file)
    assert len(rows) == len(names)
    return {(a, b) for a, row in zip(names, rows, strict=True)
            for b, cell in zip(names, row, strict=True) if cell == "1"}  # fmt: skip


@pytest.mark.parametrize("seed", [2, 9])
def test_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Also with states that are declared and never occur."""
    table = random_table(seed, most_rows=60, least_rows=60)
    data, matrix = written(tmp_path, table), tmp_path / "adjmat.csv"
    argv = ["script.py", str(data), str(matrix), "--score", "aic", "--max-parents", "2"]
    monkeypatch.setattr(sys, "argv", argv)
    runpy.run_path(str(MODULE / "script.py"), run_name="__main__")
    learned = parentage.learn(table, score="aic", max_parents=2)
    assert arcs_in(matrix) == set(learned.network.arcs)


def test_as_a_job_of_benchpress(tmp_path: Path) -> None:
    table = parentage.datasets.chest_clinic(500)
    outputs = {name: str(tmp_path / name) for name in ("adjmat", "time", "ntests")}
    job = SimpleNamespace(
        input={"data": str(written(tmp_path, table))},
        output=outputs,
        wildcards={"score": "bic", "max_parents": "None", "timeout": "60"},
    )
    runpy.run_path(str(MODULE / "script.py"), init_globals={"snakemake": job})
    assert arcs_in(Path(outputs["adjmat"])) == set(parentage.learn(table).network.arcs)
    assert float(Path(outputs["time"]).read_text()) > 0
    assert Path(outputs["ntests"]).read_text() == "None"


def test_the_schema_accepts_its_example_and_refuses_others() -> None:
    schema = json.loads((MODULE / "schema.json").read_text())
    item = schema["items"]
    [example] = item["examples"]
    assert set(example) == set(item["required"]) == set(item["properties"])
    validator = pytest.importorskip("jsonschema").Draft202012Validator
    number = {"anyOf": [{"type": "number", "minimum": 0}, {"type": "null"}]}
    whole = {**schema, "$defs": {"flexnonnegnumnull": number}}
    assert validator(whole).is_valid([example])
    assert validator(whole).is_valid([{**example, "score": ["bic", "qnml"], "max_parents": 3}])
    assert not validator(whole).is_valid([{**example, "max_parents": -1}])
    assert not validator(whole).is_valid([{**example, "rules": "none"}])
