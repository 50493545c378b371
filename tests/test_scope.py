"""What is proved is part of the answer: cut lists, their bounds, and who hears of it."""

from __future__ import annotations

import json
import math
import warnings
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import pytest

import parentage
from accounts import account, cut_account
from keywords import for_learn
from naive_network import best_network
from parentage.errors import (
    ConstraintError,
    InputError,
    ListsError,
    ResourceError,
    UnprovenWarning,
)
from parentage.estimator import ParentageLearner
from parentage.network.formats import read_network, read_record, write_network
from parentage.network.network import arc_gains
from parentage.network.record import NetworkRecord
from parentage.optimise import within
from parentage.optimise.beyond import best_listed, beyond_scores, plain_bound, relaxed_lists
from parentage.scoring.account import Account, Scope, Unknown, origin_from_dict, origin_to_dict
from parentage.scoring.candidates import score, score_table
from parentage.scoring.constraints import Constraints
from parentage.scoring.formats import read_lists, write_lists
from parentage.scoring.lists import CandidateLists
from parentage.scoring.search import levels
from parentage.scoring.settings import Scoring
from parentage.structural_em import complete_and_score
from parentage.work.context import Context
from parentage.work.stop import Reason, Stop
from solving import learn_lists
from strategies import (
    BY_SUMS,
    PENALISED,
    make_table,
    naive_of,
    random_columns,
    random_table,
    with_holes,
)
from test_growth import wide_table
from tuned import tune

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from parentage.data.table import Table
    from parentage.optimise import Solution

OPTIMUM = -2288.8471
"""BIC of the best network of the chest clinic."""


@dataclass(frozen=True)
class StopAfter(Stop):
    """Ends the work at a given look: the same cut on any machine."""

    looks: list[int] = field(default_factory=lambda: [0])

    def reason(self) -> Reason | None:
        self.looks[0] -= 1
        return "time" if self.looks[0] < 0 else None


@pytest.fixture(autouse=True, scope="module")
def all_work_can_be_cut() -> Iterator[None]:
    """No work is so small that it is finished whatever the clock says."""
    with mock.patch("parentage.work.stop.MOMENT", 0.0):
        yield


def cut_lists(table: Table, looks: int, settings: Scoring) -> CandidateLists:
    return score_table(table, settings, Context(StopAfter(looks=[looks])))


def assert_honest(table: Table, looks: int, settings: Scoring) -> bool:
    """Compare a search cut at some look with the whole one; return whether it was cut."""
    whole = score_table(table, settings, Context())
    cut = cut_lists(table, looks, settings)
    made = cut.known()
    if made.complete:
        assert cut.digest == whole.digest
        assert made.beyond == ()
    else:
        for v in range(whole.n_variables):
            searched = {members for _, members in cut.candidates(v)}
            for value, members in whole.candidates(v):
                bound = made.beyond[v]
                if members in searched:
                    continue
                assert len(members) > (made.complete_to or 0)
                assert bound is not None and value <= bound + 1e-9
    best = best_network(whole)
    assert best is not None
    solution = learn_lists(cut, constraints=settings.constraints)
    assert solution.bound >= best[0] - 1e-9
    assert solution.score <= best[0] + 1e-9
    if solution.optimal:
        assert solution.score == pytest.approx(best[0], abs=1e-9)
    listed = best_listed(cut, np.ones(cut.n_sets, np.bool_))
    simple = plain_bound(listed, beyond_scores(cut, Constraints()))
    assert max(simple, solution.score) >= best[0] - 1e-9
    return not made.complete


def settings_of(rng: np.random.Generator, table: Table) -> Scoring:
    """Draw what the user asks for; required arcs open searches of their own."""
    constraints = None
    varying = [name for name in table.names if name not in table.constant]
    if rng.random() < 0.3 and len(varying) > 2:
        parent, child, other = (str(name) for name in rng.permutation(varying)[:3])
        constraints = Constraints(
            required=frozenset({(parent, child)}), forbidden=frozenset({(other, parent)})
        )
    name = str(rng.choice(["bic", "aic", *BY_SUMS]))
    rules = (None, "none", "alg1,alg2", "thm1p") if name in ("bic", "aic") else (None, "none")
    return Scoring(
        score=name,
        rules=rules[rng.integers(len(rules))],
        log_base=2 if rng.random() < 0.2 else None,
        constraints=constraints,
    )


@pytest.mark.parametrize("chunk", [1, 65_536])
def test_cut_searches_bound_what_they_left_out(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tune(monkeypatch, levels, fewest_joins=min(chunk, 256))
    tune(monkeypatch, levels, most_joins=chunk)
    cuts = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        table = random_table(seed, 6, 40)
        looks = int(rng.integers(0, 3 if chunk > 1 else 8))
        cuts += assert_honest(table, looks, settings_of(rng, table))
    assert cuts > 20  # it was not all for nothing


@pytest.mark.long
def test_many_cut_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    tune(monkeypatch, levels, fewest_joins=1)
    tune(monkeypatch, levels, most_joins=4)
    for seed in range(100, 3100):
        rng = np.random.default_rng(seed)
        table = random_table(seed, 7, 60)
        assert_honest(table, int(rng.integers(0, 30)), settings_of(rng, table))


@pytest.mark.usefixtures("levels_alone", "no_disk")
def test_every_level_of_one_table_cut_by_time_and_by_memory() -> None:
    table = make_table(random_columns(np.random.default_rng(5), 7, 60, 2))
    reached = set()
    for looks in range(14):
        assert_honest(table, looks, Scoring(rules="none"))
        reached.add(cut_lists(table, looks, Scoring(rules="none")).known().complete_to)
    assert {1, 2, 3, None} <= reached  # single parents are always searched
    for memory in (1, 1_000, 3_000):
        with pytest.warns(UnprovenWarning, match="lack of memory"):
            cut = score(table, rules="none", memory=memory, threads=1)
        assert cut.known().ended == "memory"
        best = best_network(score(table, threads=1))
        assert best is not None
        assert learn_lists(cut).bound >= best[0] - 1e-9


def test_a_wrong_bound_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The harness bites: with twice the penalty in the bound, it fails."""
    real = levels.LevelSearch._cut_short

    def greedy(search: levels.LevelSearch, *rest: Any) -> None:
        real(search, *rest)
        if search.outcome.beyond is not None:
            search.outcome.beyond *= 2

    monkeypatch.setattr(levels.LevelSearch, "_cut_short", greedy)
    with pytest.raises(AssertionError):
        for seed in range(60):
            assert_honest(random_table(seed, 6, 40), 1, Scoring(rules="none"))


def test_the_relaxed_optimum_can_prove_lists_that_were_cut() -> None:
    families = {"a": [(-5.0, []), (-2.0, ["b"])], "b": [(-4.0, []), (-3.9, ["a"])]}
    made = account(complete_to=1, ended="time", beyond=(-4.9, None))
    lists = CandidateLists.from_families(families, made)
    assert relaxed_lists(lists, Constraints(), np.array([-4.9, -np.inf]))["a"][1].score == -4.9
    solution = learn_lists(lists)
    assert solution.score == -6.0
    assert solution.optimal
    wider = learn_lists(replace(lists, account=replace(made, beyond=(-1.5, None))))
    assert not wider.optimal
    assert wider.bound == pytest.approx(-5.4, abs=1e-6)


def test_a_limit_on_parents_below_the_cut_is_proven() -> None:
    table = parentage.datasets.chest_clinic(300)
    cut = cut_lists(table, 2, Scoring())
    assert cut.known().complete_to == 2
    limited = learn_lists(cut, max_parents=2)
    assert limited.optimal
    assert limited.scope.max_parents == 2
    assert limited.score == pytest.approx(parentage.learn(table, max_parents=2).score, abs=1e-9)


# --- the answer says so wherever it goes ---------------------------------------------------------


def test_the_estimator_without_time_claims_nothing(tmp_path: Path) -> None:
    with pytest.warns(UnprovenWarning, match="not proven optimal") as warned:
        learner = ParentageLearner(time_limit=0).fit(parentage.datasets.chest_clinic())
    assert len(warned) == 1
    assert learner.score_ < OPTIMUM - 1
    assert not learner.optimal_
    assert learner.bound_ > OPTIMUM - 1e-3
    assert "not proven" in repr(learner.solution_)
    assert "not proven" in learner.solution_._repr_html_()
    write_network(learner.solution_, tmp_path / "cut.json")
    content = json.loads((tmp_path / "cut.json").read_text())
    assert content["optimal"] is False
    assert content["bound"] >= OPTIMUM - 1e-3
    assert content["scope"]["account"]["complete_to"] == 1  # single parents take no time
    assert content["scope"]["account"]["ended"] == content["stopped"] == "time"
    assert content["ties"] == "unknown"
    assert read_record(tmp_path / "cut.json").scope == learner.solution_.scope
    assert read_network(tmp_path / "cut.json") == learner.network_


def test_learn_warns_as_the_estimator_does() -> None:
    with pytest.warns(UnprovenWarning, match="not proven optimal"):
        solution = parentage.learn(parentage.datasets.chest_clinic(), time_limit=0)
    assert not solution.optimal
    assert solution.gap > 0


@pytest.mark.parametrize("extension", [".jkl", ".pss", ".parquet"])
def test_cut_lists_stay_cut_through_files(extension: str, tmp_path: Path) -> None:
    lists = cut_lists(parentage.datasets.chest_clinic(300), 1, Scoring(max_parents=3))
    path = tmp_path / f"cut{extension}"
    write_lists(lists, path)
    again = read_lists(path)
    assert again.account == lists.account
    assert again.digest == lists.digest
    with pytest.warns(UnprovenWarning):
        solution = parentage.learn(path)
    assert not solution.optimal
    assert solution.scope.complete_to == 1
    assert solution.scope.max_parents == 3
    with pytest.warns(UnprovenWarning, match="more than 1 parents were not searched"):
        near = within(replace(again, account=replace(again.known(), width=5.0)), width=1.0)
    assert not near.complete


def test_an_aic_solution_draws_its_own_gains(tmp_path: Path) -> None:
    table = parentage.datasets.chest_clinic(300)
    solution = parentage.learn(table, score="aic")
    assert solution.scope.score == "aic"
    own_score = arc_gains(solution.network, table, "aic")
    assert solution.gains == pytest.approx(own_score, abs=1e-6)
    write_network(solution, tmp_path / "own.svg", table=table)
    bare = NetworkRecord(solution.network, gains=solution.gains)
    write_network(bare, tmp_path / "aic.svg")
    write_network(solution.network, tmp_path / "bic.svg", table=table)
    own = (tmp_path / "own.svg").read_text()
    assert own == (tmp_path / "aic.svg").read_text()
    assert own != (tmp_path / "bic.svg").read_text()


def naive_gains(solution: Solution, lists: CandidateLists) -> dict[tuple[str, str], float]:
    """What a child loses when a parent leaves it: the best listed set of the other parents."""
    gains = {}
    for child in lists.names:
        chosen = set(solution.network.parents_of(child))
        own = max(s.score for s in lists[child] if set(s.parents) == chosen)
        for parent in chosen:
            rest = [s.score for s in lists[child] if set(s.parents) <= chosen - {parent}]
            if rest:
                gains[parent, child] = own - max(rest)
    return gains


@pytest.mark.parametrize("name", [*PENALISED, *BY_SUMS])
@pytest.mark.parametrize("looks", [None, 1, 2])
def test_gains_without_the_table_are_those_of_the_lists(name: str, looks: int | None) -> None:
    """Under every score and base, of whole lists and of cut ones."""
    arcs = 0
    for seed in range(6):
        table = random_table(seed, 6, 60)
        base = (None, 2, 10)[seed % 3]
        settings = Scoring(score=name, log_base=base, rules="none" if looks else None)
        stop = Stop() if looks is None else StopAfter(looks=[looks])
        lists = score_table(table, settings, Context(stop))
        solution = learn_lists(lists)
        assert solution.listed_gains
        assert solution.gains == pytest.approx(naive_gains(solution, lists))
        assert set(solution.gains) == set(solution.network.arcs)  # the empty set is listed
        assert all(gain > 0 for gain in solution.gains.values())
        arcs += len(solution.gains)
    assert arcs > 5


@pytest.mark.parametrize("name", [*PENALISED, *BY_SUMS, "pnal"])
def test_gains_are_the_score_lost_when_the_parent_alone_leaves(name: str) -> None:
    """Under every score, base and prior, with missing values, against plain counting."""
    arcs = unlisted = 0
    for seed in range(20):
        table = random_table(seed, 6, 60, least_rows=20)
        asked: dict[str, Any] = {"score": name, "log_base": (None, 2, 10)[seed % 3]}
        belief = (0.5, 0.8)[seed % 2]
        if name == "pnal":
            table = with_holes(table, seed)
            asked["score"] = "pnal:0.02"
        solution = parentage.learn(table, prior=belief, **for_learn(**asked))
        unit = math.log(asked["log_base"] or math.e)
        naive, keep = naive_of(table, str(solution.scope.score))
        assert not solution.listed_gains
        assert set(solution.gains) == set(solution.network.arcs)
        listed = parentage.learn(parentage.score(table, prior=belief, **asked)).gains
        for (parent, child), gain in solution.gains.items():
            x = keep.index(table.index(child))
            members = [keep.index(table.index(p)) for p in solution.network.parents_of(child)]
            rest = [p for p in members if keep[p] != table.index(parent)]
            truth = naive.s(x, members) - naive.s(x, rest) + math.log(belief / (1 - belief))
            assert gain == pytest.approx(truth / unit, abs=1e-6)
            unlisted += abs(gain - listed.get((parent, child), gain)) > 1e-6
            arcs += 1
    assert arcs > 10
    assert unlisted, "lists alone would not tell"


def test_gains_on_lists_that_were_expanded() -> None:
    table = wide_table()
    with pytest.warns(UnprovenWarning):
        solution = parentage.learn(table, advanced=parentage.Advanced(complete=1, effort=0.05))
    assert solution.gains == pytest.approx(arc_gains(solution.network, table), abs=1e-6)
    assert solution.network.max_in_degree > 1


def test_gains_of_completed_data() -> None:
    """Weighted rows, counted in a dictionary; the two ways to a solution agree."""
    table = with_holes(parentage.datasets.chest_clinic(300), 3)
    found = complete_and_score(table, Scoring(), Context())
    data, network = found.table, found.network
    assert data is not None and data.unit_bits
    assert not data.has_holes

    def likelihood(child: str, parents: tuple[str, ...]) -> float:
        both, given = Counter[tuple[int, ...]](), Counter[tuple[int, ...]]()
        for row, weight in zip(data.to_codes().T.tolist(), data.repeats.tolist(), strict=True):
            state = tuple(row[data.index(p)] for p in parents)
            both[*state, row[data.index(child)]] += weight
            given[state] += weight
        total = sum(n * math.log(n / given[cell[:-1]]) for cell, n in both.items())
        free = math.prod(len(data.states[data.index(p)]) for p in parents)
        free *= len(data.states[data.index(child)]) - 1
        return math.ldexp(total, -data.unit_bits) - math.log(data.n_rows) / 2 * free

    assert network.n_arcs > 1
    for parent, child in network.arcs:
        members = network.parents_of(child)
        rest = tuple(p for p in members if p != parent)
        truth = likelihood(child, members) - likelihood(child, rest)
        assert found.gains[parent, child] == pytest.approx(truth, abs=1e-6)
    assert parentage.learn(table, missing="em").gains == found.gains
    again = parentage.learn(
        table, missing="em", advanced=parentage.Advanced(engine="subsets")
    ).gains
    assert again == pytest.approx(found.gains)


def test_gains_leave_out_arcs_that_the_lists_cannot_judge() -> None:
    none: list[str] = []
    lists = CandidateLists.from_families(
        {"a": [(-1.0, none)], "b": [(-5.0, none)], "c": [(-2.0, ["a", "b"]), (-4.5, ["a"])]}
    )
    solution = learn_lists(lists)
    assert solution.gains == {("b", "c"): 2.5} == naive_gains(solution, lists)


def test_a_notebook_shows_cut_answers_as_what_they_are() -> None:
    """The estimator's and the function's answer, with the gains of their own score."""
    table = parentage.datasets.chest_clinic(300)
    lists = cut_lists(table, 1, Scoring(score="aic"))
    with pytest.warns(UnprovenWarning):
        solution = parentage.learn(lists)
    html = solution._repr_html_()
    assert "not proven optimal" in html
    assert "sets of up to 1 parent were searched" in html
    assert "above the network without arcs and equal to that of the best tree" in html
    assert html.count(", gains ") == len(solution.gains) == solution.network.n_arcs > 0
    for gain in solution.gains.values():
        assert f"{gain:.4g}"[:4] in html
    assert "proven optimal" in repr(solution)
    assert "gap" in repr(solution)


def test_the_facts_of_a_cut_answer_agree_with_each_other() -> None:
    """Python, JSON and the sentence are one answer."""
    table = parentage.datasets.chest_clinic(300)
    best = parentage.learn(table).score
    for looks in range(4):
        solution = learn_lists(cut_lists(table, looks, Scoring()))
        facts = json.loads(json.dumps(solution.finding.to_dict()))
        assert facts["optimal"] is solution.optimal
        assert facts["gap"] == solution.gap == solution.bound - solution.score
        assert solution.score <= best + 1e-9 <= solution.bound + 2e-9
        assert solution.proof().startswith("proven optimal") is solution.optimal
        assert ("not proven optimal" in solution.proof()) is not solution.optimal
        assert ("optimal (" in repr(solution)) is solution.optimal
        last = solution.trace[-1]
        assert last[1:] == (solution.score, solution.bound)


def test_lists_refuse_what_is_behind_them() -> None:
    lists = parentage.score(parentage.datasets.chest_clinic(100))
    for wrong in ({"score": "aic"}, {"rules": "none"}, {"drop": ["asia"]}, {"width": 1.0}):
        with pytest.raises(InputError, match="is for tables, and these are lists"):
            parentage.learn(lists, **for_learn(**wrong))
    one = parentage.learn(lists, max_parents=1)
    assert one.network.max_in_degree == 1
    assert one.optimal
    assert one.scope.words() == " among the networks that have at most 1 parent per variable"


def test_progress_is_heard_from_scoring_and_learning() -> None:
    seen: list[str] = []
    parentage.learn(parentage.datasets.chest_clinic(300), progress=lambda at: seen.append(at.stage))
    assert {"scoring", "learning"} == set(seen)
    assert seen.index("scoring") < seen.index("learning")


# --- accounts ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "made",
    [
        account(),
        cut_account(3),
        account(log_base=2.0, width=1.5, constraints=Constraints(tiers=(("a",), ("b", "c")))),
        Unknown(),
        Unknown({"score_type": "BDeu"}),
    ],
)
def test_accounts_come_back_from_json_as_they_were(made: Account | Unknown) -> None:
    assert origin_from_dict(json.loads(json.dumps(origin_to_dict(made)))) == made
    scope = Scope(made, 3, Constraints(forbidden=frozenset({("a", "b")})), 1e-6)
    assert Scope.from_dict(json.loads(json.dumps(scope.to_dict()))) == scope


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rows", -1), ("rows", "many"), ("ended", "boredom"), ("beyond", 3), ("tolerance", None),
        ("tallies", []), ("score", 1), ("constraints", {"required": [["a"]]}), ("log_base", True),
        ("complete_to", 1.5), ("max_parents", "3"), ("constraints", {"max_parents": ["a"]}),
        ("constraints", []), ("constraints", {"max_parents": {"a": math.inf}}),
        ("max_parents", {"a": math.inf}), ("tolerance", 10**400), ("beyond", [math.nan]),
        ("beyond", ["1"]), ("tallies", {**account().to_dict()["tallies"], "live_sets": [math.inf]}),
    ],
)  # fmt: skip
def test_damaged_accounts_are_refused(key: str, value: object) -> None:
    with pytest.raises(ListsError, match="the account of the lists is damaged"):
        Account.from_dict({**account().to_dict(), key: value})


@pytest.mark.parametrize(
    ("changes", "arcs"),
    [({}, 6), ({"max_parents": 1}, 4), ({"max_parents": {"a": 1}}, 6)],
)
def test_a_solution_counts_the_tolerance_once_for_every_arc(
    changes: dict[str, Any], arcs: int
) -> None:
    """∅ may tie with {a}, {a} with {a, b} …: each step down loses up to one tolerance."""
    families: Any = {name: [(-1.0, [])] for name in "abcd"}
    lists = CandidateLists.from_families(families, account(tolerance=0.01, **changes))
    found = learn_lists(lists).scope.tolerance
    assert found == pytest.approx(0.01 * arcs, rel=1e-3, abs=1e-5)


def test_complete_lists_warn_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = parentage.learn(parentage.datasets.chest_clinic())
    assert solution.optimal
    assert solution.score == pytest.approx(OPTIMUM, abs=1e-4)
    assert solution.gap == 0.0
    assert math.isfinite(solution.scope.tolerance)


# --- what is asked when the lists are there already ----------------------------------------------


def test_arcs_required_only_now_claim_no_more_than_is_known() -> None:
    """Sets with a parent that was not required may be missing: a subset scored better."""
    table = parentage.datasets.chest_clinic(300).select(["asia", "smoke", "bronc", "xray", "dysp"])
    lists = score(table)
    unproven = 0
    for parent in table.names:
        for child in table.names:
            if parent == child:
                continue
            asked = Constraints(required=frozenset({(parent, child)}))
            best = parentage.learn(table, constraints=asked)
            try:
                found = learn_lists(lists, constraints=asked)
            except ConstraintError:
                continue
            assert best.optimal
            assert found.score <= best.score + 1e-9 <= found.bound + 2e-9
            assert not found.optimal or found.score == pytest.approx(best.score, abs=1e-6)
            unproven += not found.optimal
    assert unproven


def test_limits_of_scoring_and_learning_act_together() -> None:
    table = parentage.datasets.chest_clinic(300)
    one = learn_lists(score(table, max_parents=1), max_parents={"asia": 5})
    assert one.scope.max_parents == 1
    by_name = score(table, max_parents={"dysp": 1})
    three = learn_lists(by_name, max_parents=3)
    assert isinstance(three.scope.max_parents, dict)
    assert three.scope.max_parents["dysp"] == 1
    assert three.scope.max_parents["asia"] == 3
    again = learn_lists(by_name, max_parents=by_name.known().max_parents)
    assert again.scope.max_parents == by_name.known().max_parents
    assert learn_lists(by_name, max_parents=int(np.int64(2))).network.max_in_degree <= 2
    with pytest.raises(InputError, match="whole number"):
        learn_lists(by_name, max_parents=True)


def test_tiers_of_scoring_and_learning_act_together() -> None:
    table = parentage.datasets.chest_clinic(200)
    lists = score(table, constraints=Constraints(tiers=(("asia",), ("tub",))))
    found = learn_lists(lists, constraints=Constraints(tiers=(("smoke",), ("asia",))))
    assert ("tub", "asia") in found.scope.constraints.forbidden
    assert found.scope.constraints.tiers == (("smoke",), ("asia",))


@pytest.mark.usefixtures("no_disk")
def test_little_memory_cuts_scoring_and_learning_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    table = parentage.datasets.chest_clinic(200)
    best = parentage.learn(table)
    monkeypatch.setattr("parentage.scoring.candidates.room_for_levels", lambda *_: 4_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnprovenWarning)
        assert score(table, rules="none", memory=10**10).known().ended == "memory"
        solution = parentage.learn(table, advanced=parentage.Advanced(rules="none"), memory=10**10)
    assert solution.score <= best.score + 1e-9 <= solution.bound + 2e-9


def test_a_memory_limit_below_what_the_program_takes_is_refused() -> None:
    with pytest.raises(ResourceError, match=r"1 MB of memory is not.*memory=\d+00000 or more"):
        parentage.learn(parentage.datasets.chest_clinic(200), memory=10**6)
