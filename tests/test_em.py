"""Tables with holes by expectation maximisation: parameters and structure against enumeration."""

from __future__ import annotations

import json
import math
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import naive_em
from command import by_recipe, refused, run
from keywords import for_learn
from network_cases import ASIA, all_dags, random_network
from parentage import structural_em
from parentage.data.datasets import chest_clinic
from parentage.data.table import MISSING, Table
from parentage.errors import InputError, ResourceError, TableError, UnprovenWarning
from parentage.estimator import ParentageLearner
from parentage.kernels.completing import apportion
from parentage.network import expectation
from parentage.network.expectation import Expectation
from parentage.network.formats import read_parameters, read_record
from parentage.network.network import Network
from parentage.optimise import optimise_lists, orders
from parentage.optimise.settings import Optimising
from parentage.pipeline import Advanced, learn
from parentage.scoring.account import Account
from parentage.scoring.candidates import score_table
from parentage.scoring.scores import Penalised, parse_score
from parentage.scoring.settings import Scoring
from parentage.structural_em import completed_table
from parentage.work.context import Context
from parentage.work.stop import Stop
from solving import learn_lists
from strategies import each, random_columns

if TYPE_CHECKING:
    from pathlib import Path

    from parentage.network.parameters import Parameters
    from parentage.optimise import Solution
    from parentage.scoring.account import Completion
    from parentage.scoring.lists import CandidateLists


def some_holes(seed: int, n: int, rows: int, share: float, most_states: int = 3) -> Table:
    """A table of every kind of column, cells removed at random; each column keeps two."""
    rng = np.random.default_rng(seed)
    columns = np.array(random_columns(rng, n, rows, most_states))
    holes = rng.random(columns.shape) < share
    holes[:, :2] = False
    states = tuple(tuple(f"s{k}" for k in range(int(c.max()) + 1)) for c in columns)
    names = tuple(f"v{i}" for i in range(n))
    return Table(names, states, np.where(holes, MISSING, columns).astype(np.uint16))


def flat(parameters: Parameters) -> Any:
    return np.concatenate([table.ravel() for table in parameters.tables])


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 0.4]), st.sampled_from([0.0, 0.5]))
def test_parameters_follow_the_naive_iteration(seed: int, share: float, alpha: float) -> None:
    table = some_holes(seed, 4, 12, share)
    network = Network(table.names, random_network(seed, 4).parents)
    slow = naive_em.first_guess(network, table, alpha)
    whole = Expectation.of_table(network, table, every_cell=True)
    prior = np.full_like(whole.known, alpha)
    theta = whole.normalised(whole.known + 1, prior)
    assert theta == pytest.approx(flat(slow))
    for _ in range(3):
        rows, likelihood = naive_em.completions(slow, table)
        counts, found = whole.counts(theta)
        assert found == pytest.approx(likelihood)
        offsets = whole.structure.offsets()
        for v, parents in enumerate(network.parents):
            expected = naive_em.expected_counts(rows, [*parents, v])
            cells = product(*(range(whole.structure.sizes[u]) for u in (*parents, v)))
            by_hand = [expected.get(cell, 0.0) for cell in cells]
            assert counts[offsets[v] : offsets[v + 1]] == pytest.approx(by_hand, abs=1e-9)
        slow = naive_em.step(slow, table, alpha)
        theta = whole.normalised(counts, prior)
        assert theta == pytest.approx(flat(slow), abs=1e-9)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 0.4]))
def test_fitted_parameters_are_a_fixed_point(seed: int, share: float) -> None:
    """Barren cells left out or not: a step of the naive iteration gains nothing any more."""
    table = some_holes(seed, 4, 15, share)
    network = Network(table.names, random_network(seed, 4).parents)
    found = network.fit(table, smoothing=0)
    _, likelihood = naive_em.completions(found, table)
    assert found.log_likelihood(table) == pytest.approx(likelihood)
    later = found
    for _ in range(3):
        later = naive_em.step(later, table)
    _, more = naive_em.completions(later, table)
    assert likelihood <= more + 1e-9
    assert more - likelihood < 1e-5 * (1 + abs(likelihood))


def test_parameters_without_holes_are_counts() -> None:
    table = chest_clinic(200)
    codes = table.to_codes().copy()
    codes[7, 0] = MISSING  # a leaf: says nothing about the others
    holes = Table(table.names, table.states, codes)
    whole, fitted = ASIA.fit(table), ASIA.fit(holes)
    for v, name in enumerate(ASIA.names):
        if name != "dysp":
            assert fitted.tables[v] == pytest.approx(whole.tables[v])
    rest = Table(table.names, table.states, codes[:, 1:])
    assert fitted.tables[7] == pytest.approx(ASIA.fit(rest).tables[7], abs=1e-6)


def test_weights_are_the_posterior_in_whole_units() -> None:
    rng = np.random.default_rng(2)
    for _ in range(200):
        shares = rng.dirichlet(np.full(int(rng.integers(1, 9)), 0.4))
        units = int(rng.integers(1, 200))
        found = apportion(shares, units)
        assert found.sum() == units
        assert (np.abs(found - shares * units) < 1).all()
    table = some_holes(5, 4, 30, 0.3)
    network = Network(table.names, random_network(3, 4).parents)
    fitted = network.fit(table, smoothing=0.5)
    done = completed_table(network, table, flat(fitted), 10)
    assert done.n_rows == 30
    rows, _ = naive_em.completions(fitted, table)
    expected = naive_em.expected_counts(rows, range(4))
    found_weights = {
        tuple(int(c) for c in row): w / 1024
        for row, w in zip(done.to_codes().T, done.repeats, strict=True)
    }
    assert len(found_weights) == len(done.repeats)  # distinct
    for row, n in expected.items():
        assert found_weights.get(row, 0.0) == pytest.approx(n, abs=30 * 3 / 1024)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["bic", "aic", "ebic:0.5", "penalty:0.3"]))
def test_weighted_search_equals_repeated_rows(seed: int, score: str) -> None:
    """A row of weight W is W rows, all penalties times the units of a row."""
    rng = np.random.default_rng(seed)
    columns = np.array(random_columns(rng, 5, 20, 3))
    distinct = np.unique(columns, axis=1)
    bits = 2
    weights = np.ones(distinct.shape[1], np.int64)
    for _ in range(30):
        weights[rng.integers(len(weights))] += 1
    weights[0] += -int(weights.sum()) % 4
    states = tuple(tuple(f"s{k}" for k in range(int(c.max()) + 1)) for c in distinct)
    names = tuple("abcde")
    weighted = Table(
        names, states, distinct.astype(np.uint16), repeats=weights.astype(np.uint32), unit_bits=bits
    )
    if len(weighted.constant) > 3:
        return
    repeated = Table(names, states, np.repeat(distinct, weights, axis=1).astype(np.uint16))
    kind = parse_score(score)
    assert isinstance(kind, Penalised)
    w = kind.weight(weighted) * 4
    for rules in ("default", "none", "all" if score == "bic" else "default"):
        fast = score_table(weighted, Scoring(score=score, rules=rules), Context())
        slow = score_table(repeated, Scoring(score=f"penalty:{w!r}", rules="none"), Context())
        for name in names:
            mine = [(c.parents, c.score) for c in fast[name]]
            theirs = [(c.parents, c.score / 4) for c in slow[name]]
            assert {p for p, _ in mine} == {p for p, _ in theirs}
            assert dict(mine) == pytest.approx(dict(theirs), abs=1e-6)


@pytest.mark.no_cover
@settings(max_examples=12)
@given(st.integers(0, 2**32 - 1))
@example(1_073_741_825)  # has an empty row
def test_structure_is_the_best_for_its_own_completions(seed: int) -> None:
    table = some_holes(seed, 4, 40, 0.15)
    if len(table.constant) > 1 or (table.to_codes() == MISSING).sum() == 0:
        return
    solution = learn(table, missing="em", threads=1)
    account = solution.scope.origin
    assert isinstance(account, Account)
    completion = account.completion
    assert completion is not None
    assert completion.settled
    scores = [step.score for step in completion.steps]
    assert all(later >= earlier - 0.05 for earlier, later in pairwise(scores))
    seen = (table.to_codes() != MISSING).any(axis=0)  # rows without any value are left out
    assert completion.empty_rows == (~seen).sum()
    table = Table(table.names, table.states, table.to_codes()[:, seen])
    fitted = solution.network.fit(table, smoothing=0)
    rows, likelihood = naive_em.completions(fitted, table)
    assert completion.steps[-1].log_likelihood == pytest.approx(likelihood, abs=1e-3)
    w = math.log(table.n_rows) / 2
    best = max(
        naive_em.expected_score(rows, table, Network(table.names, parents), w)
        for parents in all_dags(4)
    )
    mine = naive_em.expected_score(rows, table, solution.network, w)
    assert mine >= best - 0.1
    if not table.constant:  # else our score leaves out what a constant costs
        assert solution.score == pytest.approx(best, abs=0.1)


def holes_of(table: Table, share: float, seed: int = 1) -> Table:
    gone = np.random.default_rng(seed).random(table.to_codes().shape) < share
    codes = np.where(gone, MISSING, table.to_codes()).astype(np.uint16)
    return Table(table.names, table.states, codes)


def test_clinic_with_holes() -> None:
    """The network of the complete table, proven on the data that it completes."""
    whole, holes = chest_clinic(1000), holes_of(chest_clinic(1000), 0.1)
    solution = learn(holes, missing="em", threads=1)
    assert solution.optimal
    assert solution.network.compare(learn(whole).network).class_shd <= 2
    assert "for the data as completed with this network" in solution.proof()
    completion = solution.scope.origin.completion
    assert completion is not None
    assert Account.from_dict(solution.scope.origin.to_dict()) == solution.scope.origin  # type: ignore[union-attr]  # same
    assert learn(holes, missing="em", threads=2).score == solution.score
    again = learn(holes, missing="em", threads=1, start=learn(whole).network)
    assert again.optimal


@pytest.mark.parametrize("seed", [33, 35, 93])
def test_smoothed_parameters_are_where_the_iteration_stays(seed: int) -> None:
    """With a prior the likelihood may fall on the way, which is not the end."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, (4, 30)).astype(np.uint16)
    for v in (1, 2):
        codes[v] = np.where(rng.random(30) < 0.9, codes[v - 1], codes[v])
    gone = rng.random(codes.shape) < 0.5
    states = (("0", "1"),) * 4
    table = Table(tuple("abcd"), states, np.where(gone, MISSING, codes).astype(np.uint16))
    expected = Expectation.of_table(Network(tuple("abcd"), ((), (0,), (0, 1), (1, 2))), table)
    prior = np.full_like(expected.known, 0.1)
    theta, likelihood = expected.maximised(prior)
    assert likelihood == pytest.approx(expected.counts(theta)[1])
    moved = theta
    for _ in range(2000):
        moved = expected.normalised(expected.counts(moved)[0], prior)
    assert moved == pytest.approx(theta, abs=5e-4)


def test_rules_are_for_the_completed_data() -> None:
    """The first network has a score of its own, with rules of its own."""
    holes = holes_of(chest_clinic(300), 0.1)
    found = learn(holes, missing="em", threads=1, advanced=Advanced(rules="thm1p"))
    assert found.score == learn(holes, missing="em", threads=1).score


def test_a_prior_is_part_of_what_grows() -> None:
    """With hardly a hole, what the observed cells score is what the completed ones do."""
    table = chest_clinic(300)
    codes = table.to_codes().copy()
    codes[0, 0] = MISSING
    holes = Table(table.names, table.states, codes)
    solution = learn(holes, missing="em", threads=1, prior=0.05)
    completion = solution.scope.origin.completion
    assert completion is not None and completion.settled
    assert completion.steps[-1].score == pytest.approx(solution.score, abs=1.0)
    assert abs(solution.network.n_arcs * np.log(0.05 / 0.95)) > 5


def end_of(solution: Solution) -> Completion:
    completion = solution.scope.origin.completion
    assert completion is not None and completion.settled
    return completion


@each("seed", 8)
def test_of_two_starts_the_better_end_is_kept(seed: int) -> None:
    table = holes_of(chest_clinic(150, seed=seed), 0.3)
    few, light = structural_em.FEW_PARENTS, math.log(150) / 2 / 150
    starts = [learn(table, score="pnal").network]
    starts += [learn(table, missing=f"pnal:{light!r}", max_parents=few).network]
    ends = [end_of(learn(table, missing="em", threads=1, start=start)) for start in starts]
    found = end_of(learn(table, missing="em", threads=1))
    assert found.reached == pytest.approx(max(end.reached for end in ends), abs=1e-4)
    assert (found.starts, ends[0].starts) == (2, 1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"complete": 1}, r"complete=1\) has no effect"),
        ({"effort": 2.0}, r"effort=2.0\) has no effect"),
    ],
)
def test_what_would_have_no_effect_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        learn(holes_of(chest_clinic(100), 0.1), missing="em", threads=1, **for_learn(**given))


def test_every_step_is_solved_as_asked(tmp_path: Path) -> None:
    """The user's engine, seed and gap limit, and their folder for large arrays."""
    holes, used = holes_of(chest_clinic(150, seed=9), 0.3), []

    def solving(lists: CandidateLists, how: Optimising, *args: Any, **more: Any) -> Solution:
        used.append(how)
        return optimise_lists(lists, how, *args, **more)

    def scoring(*args: Any) -> CandidateLists:
        assert args[-1].exchange == tmp_path
        return score_table(*args)

    with (
        mock.patch.object(structural_em, "optimise_lists", solving),
        mock.patch.object(structural_em, "score_table", scoring),
    ):
        learn(
            holes,
            missing="em",
            threads=1,
            advanced=Advanced(engine="subsets", gap_limit=1e-9, exchange=tmp_path),
            seed=7,
        )
    assert len(used) > 2
    assert set(used) == {Optimising("subsets", 1e-9, 7)}


@pytest.mark.parametrize("how", [{"gap_limit": 1e6}, {"engine": "orders"}])
def test_a_network_that_repeats_unproven_is_an_end(
    how: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It repeats for ever: nobody asked for the proof that would settle it."""
    monkeypatch.setattr(orders, "BUDGET", 20_000)  # short rounds of the search for an order
    with pytest.warns(UnprovenWarning):
        solution = learn(large_holes(), missing="em", threads=1, max_parents=2, **for_learn(**how))
    account = solution.scope.origin
    assert isinstance(account, Account)
    assert account.completion is not None and not account.completion.settled
    assert len(account.completion.steps) < structural_em.MOST_STEPS // 2


def test_orders_leave_time_for_another_step() -> None:
    with pytest.warns(UnprovenWarning):
        solution = learn(
            large_holes(),
            missing="em",
            threads=1,
            max_parents=2,
            advanced=Advanced(engine="orders"),
            time_limit=2,
        )
    account = solution.scope.origin
    assert isinstance(account, Account)
    assert account.completion is not None and len(account.completion.steps) > 1


def large_holes() -> Table:
    """Twelve variables, each like one or both of the two before: one part, and no forest."""
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 2, (12, 150)).astype(np.uint16)
    for v in range(2, len(codes)):
        both = np.where(rng.random(150) < 0.5, codes[v - 1] | codes[v - 2], codes[v - 1])
        codes[v] = np.where(rng.random(150) < 0.1, codes[v], both)
    names = tuple(f"v{i}" for i in range(len(codes)))
    return holes_of(Table(names, (("no", "yes"),) * len(codes), codes), 0.1)


def test_an_end_before_the_network_repeats_is_told() -> None:
    holes = holes_of(chest_clinic(300), 0.1)
    with pytest.warns(UnprovenWarning, match="on data completed by the previous network"):
        solution = learn(holes, missing="em", threads=1, time_limit=0)
    assert not solution.scope.settled
    with (
        mock.patch("parentage.structural_em.MOST_STEPS", 1),
        pytest.warns(
            UnprovenWarning, match="proven optimal on data completed by the previous network"
        ),
    ):
        solution = learn(holes, missing="em", threads=1)
    assert solution.optimal
    assert not solution.scope.settled


def test_rows_without_a_value_are_left_out() -> None:
    holes = holes_of(chest_clinic(300), 0.1)
    codes = holes.to_codes().copy()
    codes[:, :7] = MISSING
    solution = learn(Table(holes.names, holes.states, codes), missing="em", threads=1)
    account = solution.scope.origin
    assert isinstance(account, Account)
    assert account.completion is not None
    assert (account.rows, account.completion.empty_rows) == (300, 7)
    rest = learn(Table(holes.names, holes.states, codes[:, 7:]), missing="em", threads=1)
    assert rest.network == solution.network
    assert rest.score == solution.score


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    holes = holes_of(chest_clinic(100), 0.2)
    with pytest.raises(
        InputError, match=r"missing='em' needs a penalised likelihood .* not bdeu:1"
    ):
        learn(holes, missing="em", score="bdeu")
    codes = holes.to_codes().copy()
    codes[3] = MISSING
    with pytest.raises(TableError, match="column 'lung' has no values at all"):
        learn(Table(holes.names, holes.states, codes), missing="em")
    monkeypatch.setattr(expectation, "MOST_STATES", 2)
    with pytest.raises(
        ResourceError, match=r"row \d+ has no values of .* joint states, more than"
    ) as told:
        learn(holes, missing="em", threads=1)
    assert "--missing pnal" in told.value.text("command line")


def test_without_holes_it_is_learning_as_ever() -> None:
    table = chest_clinic(200)
    one, other = learn(table, missing="em"), learn(table)
    assert one.network == other.network
    assert one.score == other.score
    assert one.proof() == other.proof()


def test_the_command_and_its_files(tmp_path: Path) -> None:
    table = holes_of(chest_clinic(300), 0.1)
    lines = [",".join(table.names)]
    lines += [
        ",".join("" if k == MISSING else table.states[v][k] for v, k in enumerate(row))
        for row in table.to_codes().T.tolist()
    ]
    data = tmp_path / "holes.csv"
    data.write_text("\n".join(lines) + "\n")
    done = run("learn", str(data), "--missing", "em", "--json", "--threads", "1")
    content = json.loads(done.stdout)
    completion = content["scope"]["account"]["completion"]
    assert completion["settled"]
    assert completion["steps"][-1]["proven"]
    text = run("learn", str(data), "--missing", "em", "--threads", "1").stdout
    assert "step 0: " in text
    assert "the network is optimal for the data completed with it" in text
    for name in ("n.bif", "n.json"):
        run("learn", str(data), "--missing", "em", "-o", str(tmp_path / name), "--threads", "1")
    written = read_parameters(tmp_path / "n.bif")
    fitted = written.network.fit(table)
    for mine, theirs in zip(written.tables, fitted.tables, strict=True):
        assert mine == pytest.approx(theirs, abs=1e-9)
    record = read_record(tmp_path / "n.json")
    assert record.scope is not None
    assert record.scope.origin.completion.settled  # type: ignore[union-attr]  # it has an account
    lists, proof = str(tmp_path / "n.jkl"), str(tmp_path / "proof.json")
    run("score", str(data), *by_recipe(tmp_path, missing="em"), "-o", lists, "--threads", "1")
    done = run("learn", lists, "--certificate", proof, "--json")
    assert json.loads(done.stdout)["score"] == content["score"]
    assert json.loads(done.stdout)["scope"]["account"]["completion"] == completion
    assert run("check", lists, proof).returncode == 0
    assert "--missing em needs a penalised" in refused(
        "learn", str(data), "--missing", "em", "--score", "k2"
    )


def test_the_estimator_learns_from_holes() -> None:
    import pandas as pd

    table = holes_of(chest_clinic(300), 0.1)
    frame = pd.DataFrame(
        {
            name: [None if k == MISSING else labels[k] for k in codes.tolist()]
            for name, labels, codes in zip(table.names, table.states, table.to_codes(), strict=True)
        }
    )
    for missing in ("em", "pnal"):
        learner = ParentageLearner(missing=missing, target="dysp").fit(frame)
        assert np.isfinite(learner.score(frame))
        assert learner.predict(frame).shape == (300,)
        whole = learner.impute(frame)
        assert not whole.isna().any().any()
        assert learner.sample(5, seed=1).shape == (5, 8)


def test_a_step_that_is_interrupted_leaves_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while a step is scored: the lists and the network of the last whole step stay."""
    holes, stop, calls = holes_of(chest_clinic(300), 0.1), Stop(), 0
    whole = score_table

    def interrupted(*args: Any) -> CandidateLists:
        nonlocal calls
        calls += 1
        if calls == 3:  # the first network, one step, and this one
            stop.cancelled.set()
        return whole(*args)

    monkeypatch.setattr(structural_em, "score_table", interrupted)
    settings = Scoring().for_missing("em")
    found = structural_em.complete_and_score(holes, settings, Context(stop))
    assert calls == 3
    account = found.lists.known()
    assert account.complete
    assert account.completion is not None
    assert len(account.completion.steps) == 1
    assert not account.completion.settled
    assert found.score == pytest.approx(account.completion.steps[0].expected)
    assert learn_lists(found.lists).score == pytest.approx(found.score)


def test_json_of_incomplete_data_has_probabilities(tmp_path: Path) -> None:
    table = holes_of(chest_clinic(200), 0.1)
    solution = learn(table, missing="em")
    solution.save(tmp_path / "x.json")
    found = read_parameters(tmp_path / "x.json")
    fitted = solution.network.fit(table)
    assert all(np.allclose(a, b) for a, b in zip(found.tables, fitted.tables, strict=True))
