"""``parentage check`` as others script against it."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import parentage
from certificates import document
from command import by_recipe, ok, refused, run
from naive_network import random_lists
from parentage.check import Verdict, check, sealed
from parentage.check.document import SETTINGS
from parentage.check.verdict import terms_text
from parentage.data.reading import read_table
from parentage.scoring.candidates import score
from parentage.scoring.constraints import Constraints
from parentage.scoring.formats import read_lists, write_lists
from parentage.scoring.lists import CandidateLists
from solving import learn_lists
from test_cli import SMALL, write
from vipr_checker import check_vipr

if TYPE_CHECKING:
    from pathlib import Path


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
    return document(
        lists,
        chosen,
        unit={"bits": 30},
        cuts=[],
        nodes=[{"subsets": True}],
        tolerance=10,
        settings=lists.account.settings(),
        families=True,
    )


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str, str]:
    """A table, its lists and a certificate."""
    table = write(tmp_path, SMALL, "small.csv")
    lists = score(read_table(table), max_parents=1)
    path = str(tmp_path / "small.jkl")
    write_lists(lists, path)
    content = proof_of(read_lists(path))
    return table, path, write(tmp_path, json.dumps(content), "proof.json")


def content_of(path: str) -> dict[str, Any]:
    with open(path, encoding="utf-8") as file:  # noqa: PTH123  # a path of the fixture
        content: dict[str, Any] = json.load(file)
        return content


def test_a_proof_is_verified_from_lists_and_from_the_table(files: tuple[str, str, str]) -> None:
    table, lists, proof = files
    settings = read_lists(lists).account.settings()
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
        assert found["settings"] == settings
        assert found["terms"] in text


# --- what was proved -----------------------------------------------------------------------------


@pytest.fixture
def xor(tmp_path: Path) -> str:
    """A table of 200 rows in which c = a xor b: no pair of columns depends on each other."""
    a, b = np.random.default_rng(1).integers(0, 2, (2, 200)).tolist()
    rows = [f"{x},{y},{x ^ y}" for x, y in zip(a, b, strict=True)]
    return write(tmp_path, "\n".join(["a,b,c", *rows]) + "\n", "xor.csv")


def learned(table: str, folder: Path, *options: str) -> dict[str, Any]:
    """The certificate that ``learn`` writes."""
    proof = str(folder / "learned.json")
    ok("learn", table, "--certificate", proof, *options)
    return content_of(proof)


def verdict_on(data: str, content: dict[str, Any], folder: Path) -> tuple[int, str]:
    """The exit code of ``check``, and what it prints."""
    done = run("check", data, write(folder, json.dumps(content), "edited.json"))
    return done.returncode, done.stdout


def test_a_verdict_states_the_terms_of_the_claim(xor: str, tmp_path: Path) -> None:
    content = learned(xor, tmp_path, "-k", "1")
    code, text = verdict_on(xor, content, tmp_path)
    assert code == 0
    for term in ("score bic", "at most 1 parent per variable", "no constraints", "no prior",
                 "no width", "200 rows", f"data sha256:{read_table(xor).digest}"):  # fmt: skip
        assert term in text
    rules = write(tmp_path, 'forbidden = [["a", "c"], ["b", "c"]]\n', "rules.toml")
    given = ("--constraints", rules, "--score", "bdeu:2", "--prior", "0.2")
    code, text = verdict_on(xor, learned(xor, tmp_path, *given), tmp_path)
    assert code == 0
    for term in ("score bdeu:2", "no limit on parents",
                 "forbidden arcs: a → c, b → c", "prior: 0.2 for every arc"):  # fmt: skip
        assert term in text


def test_what_lists_are_limited_by_later_is_stated(xor: str, tmp_path: Path) -> None:
    lists = str(tmp_path / "xor.jkl")
    ok("score", xor, "-o", lists)
    content = learned(lists, tmp_path, "-k", "a=1", "-k", "b=0")
    code, text = verdict_on(lists, content, tmp_path)
    assert code == 0
    assert "at most 1 parent of a, at most 0 parents of b;" in text
    found = json.loads(ok("check", lists, str(tmp_path / "edited.json"), "--json"))
    assert found["constraints"] == {"max_parents": {"a": 1, "b": 0}}
    assert found["settings"]["max_parents"] is None


def test_no_key_can_be_left_out_or_added(xor: str, tmp_path: Path) -> None:
    content = learned(xor, tmp_path, "-k", "1")
    lists = str(tmp_path / "xor.jkl")
    ok("score", xor, "-k", "1", "-o", lists)
    for data in (xor, lists):
        for key in sorted(set(content) - {"format", "version", "families"}):
            code, text = verdict_on(data, {k: v for k, v in content.items() if k != key}, tmp_path)
            assert (code, f"{key!r} is missing" in text) == (1, True), key
        alone = {k: v for k, v in content.items() if k != "families"}
        assert verdict_on(data, alone, tmp_path)[0] == (2 if data == xor else 0)
        assert verdict_on(data, {**content, "colour": 1}, tmp_path)[0] == 1
        for key in SETTINGS:
            fewer = {k: v for k, v in content["settings"].items() if k != key}
            for edited in ({**content, "settings": fewer}, sealed({**content, "settings": fewer})):
                code, text = verdict_on(data, edited, tmp_path)
                assert (code, f"settings: {key!r} is missing" in text) == (1, True), key
        more = {**content, "settings": {**content["settings"], "colour": 1}}
        code, text = verdict_on(data, sealed(more), tmp_path)
        assert (code, "unknown key 'colour'" in text) == (1, True)


OTHER = {
    "score": "aic", "log_base": 2.0, "max_parents": None, "constraints": {"required": [["a", "b"]]},
    "prior": {"default": 0.1, "arcs": []}, "width": 1.0, "complete_to": 1, "settled": True,
    "rows": 100, "data": "0" * 64,
}  # fmt: skip
"""Another value of every setting."""


@pytest.mark.parametrize("key", SETTINGS)
def test_every_setting_is_covered_by_the_digest(key: str, xor: str, tmp_path: Path) -> None:
    content = learned(xor, tmp_path, "-k", "1")
    lists = str(tmp_path / "xor.jkl")
    ok("score", xor, "-k", "1", "-o", lists)
    edited = {**content, "settings": {**content["settings"], key: OTHER[key]}}
    for data in (xor, lists):
        code, text = verdict_on(data, edited, tmp_path)
        assert code == 1
        assert text.startswith("Refused: digest: ")
    code, text = verdict_on(lists, sealed(edited), tmp_path)  # the lists know better
    assert (code, text.startswith(f"Refused: settings.{key}: ")) == (1, True)
    again = run("check", xor, write(tmp_path, json.dumps(sealed(edited)), "edited.json"))
    if again.returncode == 0:  # these settings make the same lists: the claim is true of them, too
        assert {"prior": "prior: 0.1 for every arc", "width": "width 1;"}[key] in again.stdout
    else:
        assert again.returncode == (2 if key in ("settled", "complete_to") else 1)


def test_a_limit_that_is_taken_from_the_certificate_is_stated_all_the_same(
    xor: str, tmp_path: Path
) -> None:
    """A new digest is no way around: the verdict is about the lists that were made."""
    content = learned(xor, tmp_path, "-k", "1")
    assert content["constraints"]
    assert verdict_on(xor, {**content, "constraints": {}}, tmp_path)[0] == 1
    code, text = verdict_on(xor, sealed({**content, "constraints": {}}), tmp_path)
    assert code == 0
    assert "at most 1 parent per variable" in text
    best = float(json.loads(ok("learn", xor, "--json"))["score"])
    assert content["claim"]["score"] < best - 100


def test_terms_of_lists_that_nobody_knows() -> None:
    lists = CandidateLists.from_families({"a": [(-2.0, ["b"]), (-3.0, [])], "b": [(-1.5, [])]})
    verdict = check(lists, proof_of(lists))
    assert verdict.settings is None
    assert "lists of another program: their score, prior, width, rows and data" in verdict.terms
    assert "lists of another program" in repr(verdict)
    assert repr(Verdict("a step fails")) == "Verdict: refused: a step fails"


def test_terms_of_many_kinds() -> None:
    names = [f"v{i}" for i in range(14)]
    settings = {
        "score": "bic", "log_base": None, "max_parents": {"v0": 2, "v1": None},
        "constraints": Constraints(
            required=frozenset({("v0", "v1")}), max_parents={"v0": 1}, tiers=(("v0", "v1"), ("v2",))
        ).to_dict(),
        "prior": {"default": 0.5, "arcs": [["v3", "v4", 0.9]]}, "width": 3.0, "complete_to": 2,
        "settled": False, "rows": 1234, "data": "ab",
    }  # fmt: skip
    text = terms_text(
        names, settings, {"forbidden": [["v5", name] for name in names if name != "v5"]}
    )
    assert text == (
        "score bic; at most 1 parent of v0; required arcs: v0 → v1; forbidden arcs: v5 → v0, "
        "v5 → v1, v5 → v10, v5 → v11, v5 → v12, v5 → v13, v5 → v2, v5 → v3, v5 → v4, "
        "v5 → v6 and 3 more; tiers: v0, v1 < v2; prior: 0.9 for v3 → v4; width 3; 1,234 rows; "
        "data sha256:ab; missing values completed by expectation maximisation, which was stopped "
        "early; sets of more than 2 parents were not all searched"
    )


CASES = {
    "nothing": (),
    "prior": ("--prior", "0.2"),
    "prior by arc": ("--prior", "prior.toml"),
    "limits by name": ("-k", "a=1", "-k", "c=0"),
    "constraints": ("--constraints", "rules.toml"),
    "constraints and prior": ("--constraints", "rules.toml", "--prior", "prior.toml"),
    "bdeu": ("--score", "bdeu:0.3"),
    "ebic": ("--score", "ebic:0.1"),
}


@pytest.mark.parametrize("case", CASES)
def test_genuine_certificates_of_a_table_are_verified(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, 'default = 0.3\narcs = [["a", "b", 0.9], ["c", "a", 0], ["b", "d", 1]]\n',
          "prior.toml")  # fmt: skip
    write(tmp_path, 'required = [["a", "d"]]\ntiers = [["a", "b"], ["c"]]\n[max_parents]\nd = 2\n',
          "rules.toml")  # fmt: skip
    for seed in range(4):
        rng = np.random.default_rng(seed)
        cells = rng.integers(0, 2, (60, 4))
        cells[:, 3] = (cells[:, 0] ^ cells[:, 1]) | (rng.random(60) < 0.1)
        rows = [",".join("no" if cell else "yes" for cell in row) for row in cells.tolist()]
        table = write(tmp_path, "\n".join(["a,b,c,d", *rows]) + "\n", "table.csv")
        content = learned(table, tmp_path, *CASES[case])
        code, text = verdict_on(table, content, tmp_path)
        assert code == 0, text
        assert "Terms: score " in text


@pytest.mark.parametrize(
    ("advanced", "term"),
    [
        (parentage.Advanced(width=2.0), "width 2"),
        (parentage.Advanced(rules="none", log_base=10), "in logarithms to base 10"),
    ],
    ids=["width", "rules and base"],
)
def test_certificates_of_advanced_settings_are_verified(
    advanced: parentage.Advanced, term: str, xor: str, tmp_path: Path
) -> None:
    proof = tmp_path / "proof.json"
    certificate = parentage.learn(xor, advanced=advanced).certificate
    assert certificate is not None
    certificate.write(str(proof))
    code, text = verdict_on(xor, content_of(str(proof)), tmp_path)
    assert code == 0, text
    assert term in text


@pytest.mark.parametrize("missing", ["pnal", "em"])
def test_certificates_of_data_with_missing_values(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The candidate lists are checked, and the advice makes them."""
    rng = np.random.default_rng(3)
    cells = rng.integers(0, 2, (200, 3))
    cells[:, 2] = cells[:, 0] ^ (rng.random(200) < 0.1)
    rows = [
        ",".join("" if rng.random() < 0.05 else "xy"[cell] for cell in row)
        for row in cells.tolist()
    ]
    table = write(tmp_path, "\n".join(["a,b,c", *rows]) + "\n", "holes.csv")
    lists = str(tmp_path / "holes.jkl")
    content = learned(table, tmp_path, "--missing", missing)
    ok("score", table, *by_recipe(tmp_path, missing=missing), "-o", lists)
    code, text = verdict_on(lists, content, tmp_path)
    assert code == 0, text
    proof, recipe = str(tmp_path / "edited.json"), str(tmp_path / "read.toml")
    ok("info", table, "--missing", missing, "--write-recipe", recipe)
    if missing == "pnal":
        assert "score pnal:" in text
    else:
        assert "missing values completed by expectation maximisation" in text
        assert "200 rows" in text
    monkeypatch.chdir(tmp_path)
    for typed in ([], ["--recipe", recipe]):
        said = refused("check", table, proof, *typed)
        assert "only complete data can be counted again" in said
        *reading, score, check = (
            line for line in said.splitlines() if line.startswith("  parentage ")
        )
        assert (len(reading), recipe in score) == ((0, True) if typed else (1, False))
        for line in (*reading, score):
            ok(*shlex.split(line)[1:])
        assert "Verified: " in ok(*shlex.split(check)[1:])


def test_a_damaged_proof_is_refused_with_the_step(
    files: tuple[str, str, str], tmp_path: Path
) -> None:
    _, lists, proof = files
    content = content_of(proof)
    content["nodes"] = [{"steps": [["ancestors"]]}]
    other = write(tmp_path, json.dumps(content), "other.json")
    shown = run("check", lists, other)
    assert shown.returncode == 1
    assert shown.stdout.startswith(
        "Refused: node 0: neither its steps nor a branch, split or solution closes it."
    )
    found = json.loads(run("check", lists, other, "--json").stdout)
    assert found["verified"] is False
    assert found["reason"] == "node 0: neither its steps nor a branch, split or solution closes it"


def test_another_table_is_refused(files: tuple[str, str, str], tmp_path: Path) -> None:
    _, _, proof = files
    other = write(tmp_path, SMALL + SMALL.splitlines()[1] + "\n", "more.csv")
    shown = run("check", other, proof)
    assert shown.returncode == 1
    assert "settings.data: the certificate is about other data" in shown.stdout
    assert "Traceback" not in shown.stderr


def test_bad_input_is_told_apart(files: tuple[str, str, str], tmp_path: Path) -> None:
    table, lists, proof = files
    assert "is not a certificate in JSON" in refused("check", lists, table)
    assert "no file" in refused("check", lists, "nowhere.json")
    content = content_of(proof)
    odd = {"score": 1, "max_parents": "x", "constraints": 5, "prior": {}, "width": True}
    for key, value in odd.items():
        settings = {**content["settings"], key: value}
        other = write(tmp_path, json.dumps(sealed({**content, "settings": settings})), "odd.json")
        assert "in this certificate" in refused("check", table, other)
    unknown = write(tmp_path, json.dumps(sealed({**content, "settings": None})), "unknown.json")
    assert "does not say how its lists were made; give the candidate lists" in refused(
        "check", table, unknown
    )
    assert ok("check", lists, unknown).startswith("Verified")


def test_proofs_for_other_checkers(files: tuple[str, str, str], tmp_path: Path) -> None:
    """`learn` writes them at once, `check` makes them of certificates and says how to go on."""
    table, lists, proof = files
    learned, made = tmp_path / "learned.vipr.gz", tmp_path / "made.vipr"
    done = run("learn", table, "-k", "1", "--certificate", str(learned))
    assert done.returncode == 0
    assert "the proof will have about" in done.stderr
    assert f"wrote the proof to {learned}; `viprchk` reads it once it is unpacked" in done.stderr
    for data in (table, lists):
        done = run("check", data, proof, "--vipr", str(made))
        assert done.returncode == 0
        assert done.stdout.startswith("Verified")
        assert f"wrote the proof to {made}; `viprchk {made}` checks it" in done.stderr
        check_vipr(made)
    check_vipr(learned)


def test_a_vipr_file_has_its_name(files: tuple[str, str, str], tmp_path: Path) -> None:
    _, lists, proof = files
    why = refused("check", lists, proof, "--vipr", str(tmp_path / "proof.txt"))
    assert "has an unknown extension; use .vipr or .vipr.gz" in why
    before = content_of(proof)
    refused("check", lists, proof, "--vipr", proof)
    assert content_of(proof) == before


def test_no_vipr_file_of_a_refused_proof(files: tuple[str, str, str], tmp_path: Path) -> None:
    _, lists, proof = files
    made = tmp_path / "made.vipr"
    broken = write(tmp_path, json.dumps({**content_of(proof), "nodes": [{}]}), "broken.json")
    assert run("check", lists, broken, "--vipr", str(made)).returncode == 1
    assert not made.exists()


def test_why_no_vipr_file_is_written(tmp_path: Path) -> None:
    """A part of 13 variables that was solved by dynamic programming."""
    lists = random_lists(np.random.default_rng(1), 13)
    path, proof = str(tmp_path / "hard.jkl"), str(tmp_path / "proof.json")
    made = tmp_path / "made.vipr"
    write_lists(lists, path)
    ok("learn", path, "--engine", "subsets", "--certificate", proof)
    why = refused("check", path, proof, "--vipr", str(made))
    assert f"type parentage learn … --certificate {made}" in why
    done = run("learn", path, "--engine", "subsets", "--certificate", str(made))
    assert "no certificate is written: node 1: it solves 13 variables" in done.stderr
    assert "leave out --engine subsets" in done.stderr
    assert not made.exists()
    ok("learn", path, "--certificate", str(made))
    check_vipr(made)
