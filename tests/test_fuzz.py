"""A little of the fuzzing harness with fixed seeds, and every failure it ever kept.

For every kind of case a fault is planted in what the harness looks at, and has to be found.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from fuzz import (
    answers,
    counts,
    draw,
    faults,
    files,
    shrink,
    tables,
)
from fuzz.__main__ import PARTS, REGRESSIONS, keep, read_case
from fuzz.truth import Question, all_networks, all_structures, best_total, families, has_cycle
from parentage.arcs.support import support
from parentage.check import check as check_certificate
from parentage.network.parameters import Parameters
from parentage.pipeline import learn
from parentage.scoring.candidates import score
from parentage.scoring.lists import CandidateLists
from solving import learn_lists

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from parentage.arcs.records import ArcSupport


def failures(part: str, seeds: int) -> dict[int, AssertionError]:
    """Run all seeds; return those that found a fault, with what they say."""
    found = {}
    for seed in range(seeds):
        try:
            PARTS[part].run(seed)
        except AssertionError as error:
            found[seed] = error
    return found


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("part", "seeds"),
    [
        ("tables", 150),
        ("arcs", 40),
        ("completing", 25),
        ("inference", 100),
        ("proofs", 60),
        ("lists", 40),
        ("files", 1500),
    ],
)
def test_nothing_fails(part: str, seeds: int) -> None:
    assert failures(part, seeds) == {}


@pytest.mark.parametrize("seed", [2, 5])
def test_faults_leave_nothing_half_done(seed: int) -> None:
    faults.check(faults.make(seed))


def test_what_failed_once_is_tried_again() -> None:
    tried = 0
    for path in REGRESSIONS.glob("*-*"):
        part, case = read_case(path)
        part.check(case)
        tried += 1
    assert tried


@pytest.mark.filterwarnings("ignore::parentage.errors.ParentageWarning")
def test_every_format_is_damaged() -> None:
    names = {name for name, _ in files.originals()}
    drawn = {files.make(seed)[0] for seed in range(500)}
    assert drawn == names
    for name, data in files.originals():
        files.reader_of(name)(name, data)  # undamaged they are read


# ---------------------------------------------------------------------------------------------
# Planted faults


def assert_noticed(part: str, wanted: Callable[[Any], bool] = bool, seeds: int = 400) -> None:
    """Some case of this kind fails, and is one that holds without the fault."""
    for seed in range(seeds):
        case = PARTS[part].make(seed)
        if wanted(case) and shrink.failing(PARTS[part].check, AssertionError)(case):
            return
    raise AssertionError("the fault was not found")


def of_kind(part: str, kind: str) -> Callable[[Any], bool]:
    return lambda case: kind in PARTS[part].kinds_of(case)


WRONG: dict[str, Callable[[Question], Question]] = {
    "counted rows": lambda q: replace(q, columns=tuple(c[:-1] for c in q.columns)),
    "many rows": lambda q: replace(q, columns=tuple(c[:-1] for c in q.columns)),
    "score bic": lambda q: replace(q, score="aic"),
    "score aic": lambda q: replace(q, score="bic"),
    "score hqc": lambda q: replace(q, score="aic"),
    "score ebic": lambda q: replace(q, score="ebic:0.51"),
    "score penalty": lambda q: replace(q, score=f"penalty:{float(q.score[8:]) + 0.001}"),
    "score qnml": lambda q: replace(q, score="fnml"),
    "score bdeu": lambda q: replace(q, score="bdeu:1.001"),
    "score k2": lambda q: replace(q, score="jeffreys"),
    "score jeffreys": lambda q: replace(q, score="k2"),
    "score fnml": lambda q: replace(q, score="qnml"),
    "score pnal": lambda q: replace(q, score="pnal:0.051"),
    "prior": lambda q: replace(q, default=0.5, beliefs=()),
    "required arcs": lambda q: replace(q, required=()),
    "forbidden arcs": lambda q: replace(q, forbidden=()),
    "tiers": lambda q: replace(q, tiers=()),
    "limits on parents": lambda q: replace(q, most=None, caps=()),
    "width": lambda q: replace(q, width=None),
}
"""For every kind of table, something else to compute than what is asked."""


def test_every_kind_of_table_has_a_planted_fault() -> None:
    drawn: set[str] = set()
    for seed in range(500):
        drawn.update(tables.kinds_of(tables.make(seed)))
    assert drawn == set(WRONG)
    assert {kind.removeprefix("score ") for kind in drawn if kind.startswith("score ")} == set(
        draw.SCORES
    )


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_table_is_noticed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = draw.scoring_keywords
    table = draw.as_table
    monkeypatch.setattr("fuzz.tables.scoring_keywords", lambda q: right(WRONG[kind](q)))
    monkeypatch.setattr("fuzz.tables.as_table", lambda q: table(WRONG[kind](q)))
    assert_noticed("tables", of_kind("tables", kind))


def test_a_set_that_is_left_out_is_noticed_and_made_small(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    right = score

    def forgetful(*args: Any, **keywords: Any) -> CandidateLists:
        lists = right(*args, **keywords)
        kept = {
            name: [(c.score, list(c.parents)) for c in lists[name] if len(c.parents) != 1]
            for name in lists
        }
        return CandidateLists.from_families(kept)

    monkeypatch.setattr("fuzz.tables.score", forgetful)
    fails = shrink.failing(tables.check, AssertionError)
    seed = next(s for s in range(200) if fails(tables.make(s)))
    question = tables.make(seed)
    path = keep("tables", seed, question, AssertionError, tmp_path)
    assert path is not None
    part, small = read_case(path)
    assert small.rows <= question.rows
    with pytest.raises(AssertionError):
        part.check(small)


@pytest.mark.parametrize("what", ["score", "bound", "optimal"])
def test_a_wrong_network_is_noticed(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = learn_lists

    def wrong(lists: CandidateLists, **keywords: Any) -> Any:
        found = right(lists, **keywords)
        if what == "optimal":  # the network without arcs, called the best
            empty = replace(found.network, parents=((),) * lists.n_variables)
            return replace(found, network=empty, score=total(lists))
        return replace(found, **{what: getattr(found, what) - 1e-3})

    def total(lists: CandidateLists) -> float:
        return sum(next(s for s, own in lists.candidates(v) if not own) for v in range(len(lists)))

    def without_arcs(case: Question) -> bool:
        return not case.required and all(p < 1 for _, _, p in case.beliefs)

    monkeypatch.setattr("fuzz.tables.learn_lists", wrong)
    assert_noticed("tables", without_arcs if what == "optimal" else bool)


@pytest.mark.parametrize(
    "number",
    ["gain", "need", "need_direction", "in_near_optimal", "near_weight", "near_adjacency"],
)
def test_a_wrong_number_of_an_arc_is_noticed(number: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = support

    def wrong(*args: Any, **keywords: Any) -> Any:
        found = right(*args, **keywords)
        return replace(found, arcs=tuple(changed(arc) for arc in found.arcs))

    def changed(arc: ArcSupport) -> ArcSupport:
        value = getattr(arc, number)
        return arc if value is None else replace(arc, **{number: value + 1e-4})

    monkeypatch.setattr("fuzz.arcs.support", wrong)
    assert_noticed("arcs")


@pytest.mark.parametrize(("fact", "change"), [("networks", 1), ("classes", 1), ("missing", 1e-5)])
def test_wrong_near_optimal_networks_are_noticed(
    fact: str, change: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = support

    def wrong(*args: Any, **keywords: Any) -> Any:
        found = right(*args, **keywords)
        if found.near is None or getattr(found.near, fact) is None:
            return found
        value = getattr(found.near, fact) + change
        return replace(found, near=replace(found.near, **{fact: value}))

    monkeypatch.setattr("fuzz.arcs.support", wrong)
    assert_noticed("arcs", of_kind("arcs", "near-optimal networks"))


@pytest.mark.parametrize("method", ["query", "joint", "most_probable", "predict", "impute"])
def test_wrong_inference_is_noticed(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every answer is that of the network whose last variable has its probabilities turned."""
    right = getattr(Parameters, method)

    def wrong(self: Parameters, *args: Any, **keywords: Any) -> Any:
        turned = (*self.tables[:-1], np.ascontiguousarray(self.tables[-1][:, ::-1]))
        return right(Parameters(self.network, self.states, turned), *args, **keywords)

    monkeypatch.setattr(Parameters, method, wrong)
    assert_noticed("inference")


def test_wrong_likelihoods_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Parameters.log_likelihoods
    monkeypatch.setattr(Parameters, "log_likelihoods", lambda *args: right(*args) + 1e-6)
    assert_noticed("inference")


@pytest.mark.parametrize("kind", ["network", "score", "score of another name"])
def test_wrong_completions_are_noticed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = learn

    def wrong(table: Any, **keywords: Any) -> Any:
        if kind == "score of another name":
            keywords["score"] = "penalty:0.9"
        found = right(table, **keywords)
        if kind == "score":
            return replace(found, score=found.score - 1)
        if kind == "network":
            empty = replace(found.network, parents=((),) * len(table.names))
            return replace(found, network=empty)
        return found

    monkeypatch.setattr("fuzz.completing.learn", wrong)
    assert_noticed("completing", seeds=100)


@pytest.mark.parametrize("part", ["proofs", "lists"])
@pytest.mark.parametrize("verified", [True, False])
def test_a_checker_that_always_says_the_same_is_noticed(
    part: str, verified: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = check_certificate

    def wrong(*args: Any) -> Any:
        verdict = right(*args)
        reason = "" if verified and verdict.parents else "it is always so"
        return replace(verdict, reason=reason)

    monkeypatch.setattr("fuzz.proofs.check", wrong)
    assert_noticed(part)


def test_a_digest_that_covers_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An account that is changed, and sets that are, would be believed."""
    monkeypatch.setattr("parentage.scoring.formats.families._digest", lambda *_: "sha256:0")
    assert_noticed("proofs")


def test_a_wrong_network_of_lists_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = learn_lists

    def wrong(lists: CandidateLists, **keywords: Any) -> Any:
        found = right(lists, **keywords)
        return replace(found, score=found.score - 0.01)

    monkeypatch.setattr("fuzz.proofs.learn_lists", wrong)
    assert_noticed("lists")


def test_a_checker_that_follows_no_proof_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Digest, network and score are right, and nothing else is looked at."""
    monkeypatch.setattr("parentage.check.nodes.Proof.verify", lambda *_: None)
    assert_noticed("lists")


def test_a_crash_and_a_slow_reader_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(_name: str, data: bytes) -> object:
        return 1 / (b"\0" not in data)

    monkeypatch.setattr(files, "reader_of", lambda _: crash)
    fails = shrink.failing(files.check, ZeroDivisionError)
    assert shrink.smallest(b"abc\0def" * 5, lambda fewer: fails(("x", fewer))) == b"\0"
    monkeypatch.setattr(files, "reader_of", lambda _: lambda *_: None)
    monkeypatch.setattr(files, "SLOWEST", -1.0)
    assert shrink.failing(files.check, AssertionError)(("x", b""))


# ---------------------------------------------------------------------------------------------
# The truth and the counts


def test_the_truth_by_hand() -> None:
    question = Question(((0, 0, 1, 1), (0, 0, 1, 1)), (2, 2))
    scores = families(question)
    assert len(scores) == 4
    empty = 4 * -0.6931471805599453 - 0.6931471805599453
    assert scores[0, ()] == pytest.approx(empty)
    assert scores[1, (0,)] == pytest.approx(-2 * 0.6931471805599453)
    assert best_total(2, scores) == pytest.approx(empty - 2 * 0.6931471805599453)
    assert has_cycle(((1,), (0,)))
    assert not has_cycle(((), (0,)))
    assert [len(all_structures(n)) for n in range(1, 5)] == [1, 3, 25, 543]


def test_the_best_of_all_networks_is_the_best_total() -> None:
    for seed in range(20):
        question = tables.make(seed)
        if question.n > 4:
            continue
        scores = families(question)
        best = max((score for score, _ in all_networks(question.n, scores)), default=-np.inf)
        assert best_total(question.n, scores) == pytest.approx(best)


def test_a_kept_network_is_read_back(tmp_path: Path) -> None:
    asked = answers.make(3)
    path = keep("inference", 3, asked, AssertionError, tmp_path)
    assert path is not None
    assert read_case(path) == (PARTS["inference"], asked)


def test_counts_accumulate(tmp_path: Path) -> None:
    path = tmp_path / "fuzz.json"
    counts.add(path, "tables", Counter(all=3, prior=1), Counter())
    counts.add(path, "files", Counter(all=2), Counter(all=1))
    counts.add(path, "tables", Counter(all=1000, prior=1), Counter(all=1, prior=1))
    assert json.loads(path.read_text())["tables"] == {
        "all": {"cases": 1003, "failures": 1},
        "prior": {"cases": 2, "failures": 1},
    }
    shown = path.with_suffix(".md").read_text()
    assert "| tables | all | 1,003 | 1 |\n|  | prior | 2 | 1 |\n| files | all | 2 | 1 |" in shown
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fuzz.json", "fuzz.md"]
