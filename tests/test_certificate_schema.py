"""The JSON Schema of certificates: real ones fit it, and `check` refuses what does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import numpy as np
import pytest

from naive_network import random_lists
from parentage.check import ProofError, check, sealed
from parentage.check.document import FORMAT, MOST_MEMBERS, SETTINGS, STATED, VERSION
from parentage.data.reading import read_table
from parentage.errors import InputError
from parentage.files.decoding import decoded
from parentage.pipeline import learn
from parentage.scoring.constraints import Constraints
from solving import learn_lists
from strategies import each
from test_check import certificate
from test_cli import SMALL, write

if TYPE_CHECKING:
    from collections.abc import Callable

SCHEMA = json.loads(
    (Path(__file__).parent.parent / "docs" / "certificate.schema.json").read_text(encoding="utf-8")
)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

Document = dict[str, Any]


def fits(content: Document) -> bool:
    """Whether a document has the form of a certificate, as JSON has it."""
    return bool(VALIDATOR.is_valid(json.loads(json.dumps(content))))


def test_the_schema_is_one_of_this_version() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    properties, parts = SCHEMA["properties"], SCHEMA["$defs"]
    assert properties["format"] == {"const": FORMAT}
    assert properties["version"] == {"const": VERSION}
    assert tuple(parts["settings"]["required"]) == SETTINGS
    assert set(parts["settings"]["properties"]) == set(SETTINGS)
    assert set(STATED) <= set(SCHEMA["required"])
    assert parts["members"]["maxItems"] == MOST_MEMBERS


@each("seed", 20)
def test_certificates_of_every_kind_fit(seed: int) -> None:
    lists, content = certificate(seed)
    assert check(lists, content)
    assert fits(content)


@each("seed", 8)
def test_certificates_of_the_solver_fit(seed: int) -> None:
    lists = random_lists(np.random.default_rng([seed, 7]), 9)
    try:
        solution = learn_lists(lists, engine="branch-and-cut" if seed % 2 else "auto")
    except InputError:
        return
    assert solution.certificate is not None
    assert fits(solution.certificate.document)


def test_certificates_of_tables_fit(tmp_path: Path) -> None:
    """With every setting that a certificate depends on."""
    table = read_table(write(tmp_path, SMALL, "small.csv"))
    a, b = table.names[:2]
    every: list[Document] = [
        {},
        {"max_parents": 1, "constraints": decoded(Constraints, {"forbidden": [[a, b]]})},
        {"score": "bdeu:2", "prior": {(a, b): 0.9}},
    ]
    for settings in every:
        solution = learn(table, **settings)
        assert solution.certificate is not None
        assert solution.certificate.document["settings"] is not None
        assert fits(solution.certificate.document)


def put(*path: Any) -> Callable[[Document], None]:
    """Put a value somewhere."""
    *way, last, value = path

    def change(content: Document) -> None:
        place: Any = content
        for key in way:
            place = place[key]
        place[last] = value

    return change


def take(*path: Any) -> Callable[[Document], None]:
    """Take something away."""
    *way, last = path

    def change(content: Document) -> None:
        place: Any = content
        for key in way:
            place = place[key]
        del place[last]

    return change


BROKEN = {
    "other format": put("format", "certificate"),
    "other version": put("version", 3),
    "no version": take("version"),
    "unknown key": put("more", 1),
    "no lists": take("lists"),
    "unknown key of lists": put("lists", "name", "x"),
    "digest of lists": put("lists", "digest", 5),
    "variables": put("lists", "variables", "five"),
    "settings": put("settings", "bic"),
    "settings without keys": put("settings", {"score": "bic"}),
    "constraints": put("constraints", []),
    "unknown constraint": put("constraints", {"wanted": []}),
    "an arc of one": put("constraints", {"required": [["a"]]}),
    "a limit in words": put("constraints", {"max_parents": {"a": "two"}}),
    "claim": put("claim", None),
    "sets": put("claim", "sets", "all"),
    "negative set": put("claim", "sets", 0, -1),
    "score": put("claim", "score", "high"),
    "negative tolerance": put("claim", "tolerance", -1),
    "tolerance": put("claim", "tolerance", 0.5),
    "unit": put("unit", {"decimals": 10}),
    "two units": put("unit", {"decimals": 1, "bits": 1}),
    "denominator": put("denominator", 0),
    "cuts": put("cuts", {}),
    "unknown cut": put("cuts", 0, ["guess", [0, 1], 1]),
    "cluster of one": put("cuts", 0, ["cluster", [0], 1]),
    "cluster twice the same": put("cuts", 0, ["cluster", [0, 0], 1]),
    "cluster with k = 0": put("cuts", 0, ["cluster", [0, 1], 0]),
    "local cut without values": put("cuts", 0, ["local", [0, 1], [[2], []], 1]),
    "local cut of value 0": put("cuts", 0, ["local", [0, 1], [[2], []], [[0], []], 1]),
    "local cut of 17": put("cuts", 0, ["local", list(range(17)), [], [], 1]),
    "no nodes": put("nodes", []),
    "unknown step": put("nodes", 0, {"steps": [["guess"]]}),
    "round of one list": put("nodes", 0, {"steps": [["round", []]]}),
    "negative multiplier": put("nodes", 0, {"steps": [["round", [0], [-1]]]}),
    "ancestors with more": put("nodes", 0, {"steps": [["ancestors", 1]]}),
    "two ends": put("nodes", 0, {"subsets": True, "forest": True}),
    "split and branch": put("nodes", 0, {"split": [], "branch": [0, 1, 1, 2]}),
    "subsets perhaps": put("nodes", 0, {"subsets": "perhaps"}),
    "branch of three": put("nodes", 0, {"branch": [0, 1, 1]}),
    "split without a goal": put("nodes", 0, {"split": [[[0], 1]]}),
    "unknown key of a node": put("nodes", 0, {"end": True}),
    "no digest": take("digest"),
    "short digest": put("digest", "sha256:0"),
}


@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN)
def test_what_does_not_fit_is_refused(change: Callable[[Document], None]) -> None:
    lists, original = certificate(3)
    content = json.loads(json.dumps(original))
    change(content)
    assert not fits(content)
    if set(STATED) <= set(content) and content.get("digest") == original["digest"]:
        content = sealed(content)  # so that it is refused for its form
        assert not fits(content)
    try:
        assert not check(lists, content)
    except (InputError, ProofError):
        return


def test_the_form_is_not_the_proof() -> None:
    """A certificate may fit and not hold."""
    lists, content = certificate(3)
    empty = {**content, "nodes": [{}]}
    assert fits(empty)
    assert not check(lists, empty)
