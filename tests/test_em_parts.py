"""The parts of expectation maximisation: cases, elimination, completions, counting, its end."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_em
from command import by_recipe, ok, refused, run
from network_cases import ASIA, random_network
from parentage import pipeline, structural_em
from parentage.arcs.need import ArcQuestion, solve_changed
from parentage.arcs.support import learn_baseline, support
from parentage.data.datasets import chest_clinic
from parentage.data.reading import read_table
from parentage.data.settings import Reading
from parentage.data.table import MISSING, Table, class_sizes
from parentage.errors import (
    ConstraintError,
    InfeasibleError,
    InputError,
    ParentageWarning,
    ResourceError,
)
from parentage.estimator import ParentageLearner
from parentage.network import expectation
from parentage.network import parameters as parameters_module
from parentage.network.expectation import Expectation, likely_states
from parentage.network.formats import read_parameters
from parentage.network.network import Network
from parentage.network.parameters import FALLBACK, fit_parameters
from parentage.network.record import NetworkRecord
from parentage.optimise.run import Start
from parentage.optimise.settings import Optimising
from parentage.pipeline import learn
from parentage.report.gather import gather
from parentage.report.page import document, page_data
from parentage.scoring.constraints import Constraints
from parentage.scoring.encoding import encode, labels_by, layout_of
from parentage.scoring.settings import Scoring
from parentage.structural_em import complete_and_score, completed_table
from parentage.work.context import Context
from parentage.work.stop import Stop
from test_em import flat, holes_of, some_holes

if TYPE_CHECKING:
    from parentage.work.progress import Progress

SEEDS = st.integers(0, 2**32 - 1)


def weighted_table(seed: int, n: int, rows: int) -> Table:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 6, n)
    codes = np.unique(rng.integers(0, sizes, (rows, n)).T.astype(np.uint16), axis=1)
    weights = rng.integers(1, 9, size=(codes.shape[1],))
    weights[0] += -int(weights.sum()) % 4
    states = tuple(tuple(f"s{k}" for k in range(r)) for r in sizes.tolist())
    names = tuple(f"v{i}" for i in range(n))
    return Table(names, states, codes, repeats=weights.astype(np.uint32), unit_bits=2)


@settings(max_examples=25)
@given(SEEDS, st.sampled_from([4, 30]), st.sampled_from([(), (0,), (1, 2)]), st.integers(2, 4))
def test_weighted_counts_are_sums_over_rows(
    seed: int, n: int, context: tuple[int, ...], size: int
) -> None:
    """Dense and sparse lists of sets, in one word and in several, within a context or not."""
    table = weighted_table(seed, n, 40)
    encoded = encode(table, "bic", context=context)
    every = list(itertools.combinations(range(len(encoded.order)), size))
    share = np.random.default_rng(seed).choice([0.001, 0.2, 1.0])
    keep = np.random.default_rng(seed).random(len(every)) <= max(share, 1 / max(len(every), 1))
    members = np.array(every, np.uint16).reshape(-1, size)[keep][:250]
    if not len(members):
        return
    for G, those in zip(encoded.count(members), members, strict=True):
        label, count = labels_by(table, [*context, *(int(encoded.order[v]) for v in those)])
        assert encoded.grid.f[class_sizes(label, table.repeats, count)].sum() == G


def test_packed_rows_unpack() -> None:
    table = weighted_table(5, 40, 50)
    layout = layout_of(table.cardinalities)
    assert layout.n_words > 1
    assert (layout.unpack(layout.pack(table.to_codes(), range(40))) == table.to_codes()).all()


@settings(max_examples=30)
@given(SEEDS, st.sampled_from([0.1, 0.5]), st.booleans())
def test_elimination_expects_what_listing_does(seed: int, share: float, every: bool) -> None:
    table = some_holes(seed, 5, 15, share)
    network = Network(table.names, random_network(seed, 5).parents)
    listed = Expectation.of_table(network, table, every_cell=every)
    with mock.patch.object(expectation, "MOST_LISTED", 0):
        other = Expectation.of_table(network, table, every_cell=every)
    assert not listed.eliminated and not other.listed
    theta = listed.normalised(listed.known + 1, np.full_like(listed.known, 0.5))
    (one, first), (two, second) = listed.counts(theta), other.counts(theta)
    assert first == pytest.approx(second)
    assert one == pytest.approx(two, abs=1e-9)


def test_elimination_with_certain_states() -> None:
    """Zeros in the tables: what is impossible stays so."""
    codes = np.array([[0, 1, 0, 1], [0, 1, MISSING, MISSING], [0, 1, MISSING, 1]], np.uint16)
    table = Table(tuple("abc"), (("0", "1"),) * 3, codes)
    network = Network(tuple("abc"), ((), (0,), (1,)))
    theta = np.array([0.5, 0.5, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0])
    with mock.patch.object(expectation, "MOST_LISTED", 0):
        expected = Expectation.of_table(network, table, every_cell=True)
    counts, likelihood = expected.counts(theta)
    assert likelihood == pytest.approx(4 * math.log(0.5))
    assert counts == pytest.approx([2, 2, 2, 0, 0, 2, 2, 0, 0, 2])


@settings(max_examples=25)
@given(SEEDS, st.sampled_from([0.1, 0.4]))
def test_states_made_one_by_one_are_those_listed(seed: int, share: float) -> None:
    table = some_holes(seed, 5, 15, share)
    network = Network(table.names, random_network(seed, 5).parents)
    theta = flat(network.fit(table, smoothing=0.3))
    listed = completed_table(network, table, theta, 8)
    with mock.patch.object(expectation, "MOST_LISTED", 0):
        made = completed_table(network, table, theta, 8)
    one, other = (
        {tuple(row): int(w) for row, w in zip(t.to_codes().T.tolist(), t.repeats, strict=True)}
        for t in (listed, made)
    )
    for row in {*one, *other}:  # equal shares may be rounded the other way
        assert abs(one.get(row, 0) - other.get(row, 0)) <= 15


def test_the_likeliest_states_are_there_where_none_is_likely() -> None:
    codes = np.full((4, 2), MISSING, np.uint16)
    codes[:, 0] = 0
    codes[3, 1] = 1
    table = Table(tuple("abcd"), (("0", "1"),) * 4, codes)
    network = Network(tuple("abcd"), ((), (0,), (1,), (2,)))
    theta = flat(network.fit(chest_like(network), smoothing=1))
    with mock.patch.object(expectation, "MOST_LISTED", 0):
        expected = Expectation.of_table(network, table, every_cell=True)
    (part,) = expected.eliminated
    ((every, shares),) = likely_states(part, np.log(theta), np.array([0.0]))
    assert len(every) == 8 and shares.sum() == pytest.approx(1)
    ((few, most),) = likely_states(part, np.log(theta), np.array([2.0]))
    assert most == pytest.approx([shares.max()])
    assert few.tolist() == [every[shares.argmax()].tolist()]


def chest_like(network: Network) -> Table:
    rng = np.random.default_rng(8)
    codes = rng.integers(0, 2, (4, 60)).astype(np.uint16)
    codes[1:] = np.where(rng.random((3, 60)) < 0.8, codes[:-1], codes[1:])
    return Table(network.names, (("0", "1"),) * 4, codes)


def test_a_row_that_is_refused_has_its_own_number() -> None:
    """Not that among distinct rows, nor that among those with a value."""
    table = chest_clinic(60)
    codes = table.to_codes().copy()
    codes[:, 0] = MISSING
    codes[[2, 3, 5], 41] = MISSING  # joined by the family of "either"
    holes = Table(table.names, table.states, codes)
    with (
        mock.patch.object(expectation, "MOST_STATES", 2),
        pytest.raises(ResourceError, match=r"^row 42 has no values of"),
    ):
        learn(holes, missing="em", threads=1, start=ASIA)


def test_an_iteration_that_is_ended_answers_with_its_last_network() -> None:
    """Not with what solving finds at once from the start that the user gave."""
    holes = holes_of(chest_clinic(400), 0.1)
    empty = Network(holes.names, ((),) * holes.n_variables)
    scoring = Scoring(score="bic")
    with mock.patch.object(structural_em, "MOST_STEPS", 1):
        done = complete_and_score(holes, scoring, Context(), start=empty)
    assert done.optimal and not done.scope.settled
    assert done.network.n_arcs > 0
    found = pipeline.Gathered(done.lists, holes, scoring, completed=done)
    late = Stop().at_once()
    for how in (Optimising(), Optimising(seed=3)):
        answer = pipeline.optimise(found, how, Context(late), start=Start(empty))
        assert answer.score == done.score
        assert "on data completed by the previous network" in answer.proof()
        assert answer.finding.to_dict()["settled"] is False
    assert pipeline.optimise(found, Optimising(), Context(late), Start(empty)).optimal
    whole = pipeline.Gathered(done.lists, holes, scoring)
    before = pipeline.optimise(whole, Optimising(seed=3), Context(late), Start(empty))
    assert before.network.n_arcs == 0 or before.score <= done.score


def test_no_step_is_worse_than_the_network_before() -> None:
    """A limit that ends solving at once leaves the network that completed the data, or better."""
    holes = holes_of(chest_clinic(300), 0.1)
    solution = learn(holes, missing="em", threads=1)
    with pytest.warns(match="on data completed by the previous network"):
        late = learn(holes, missing="em", threads=1, time_limit=0, start=solution.network)
    assert late.score == pytest.approx(solution.score, abs=1e-6) or not late.optimal
    assert not late.scope.settled


def test_support_is_refused_before_any_work(tmp_path: Path) -> None:
    holes = holes_of(chest_clinic(50), 0.1)
    data, recipe = tmp_path / "holes.csv", str(tmp_path / "read.toml")
    data.write_text("a,b\n0,1\n1,\n,1\n0,0\n")
    ok("info", str(data), "--missing", "em", "--write-recipe", recipe)
    with (
        mock.patch.object(structural_em, "complete_and_score", side_effect=AssertionError),
        mock.patch.object(pipeline, "search_table", side_effect=AssertionError),
    ):
        with pytest.raises(InputError, match="missing='em' cannot be bootstrapped: it completes"):
            support(holes, missing="em")
        with pytest.raises(InputError, match="missing='em' cannot be bootstrapped: it completes"):
            support(holes, missing="em", need=False, bootstrap=2)
        assert "em cannot be bootstrapped" in refused("support", str(data), "--recipe", recipe)
        page = str(tmp_path / "page.html")
        assert "em cannot be bootstrapped" in refused(
            "report", str(data), "--recipe", recipe, "-o", page
        )


def test_scores_of_expected_counts_are_not_expected_scores() -> None:
    """Why marginal likelihoods are refused: one missing cell, K2, whatever is in it."""

    def k2(zeros: float, ones: float) -> float:
        cells = math.lgamma(1 + zeros) + math.lgamma(1 + ones)
        return math.lgamma(2) - math.lgamma(2 + zeros + ones) + cells

    expected = (k2(1, 0) + k2(0, 1)) / 2
    assert expected == pytest.approx(math.log(0.5))
    assert k2(0.5, 0.5) == pytest.approx(-0.9347, abs=5e-5)
    for score in ("bdeu", "k2", "jeffreys", "qnml", "fnml"):
        with pytest.raises(InputError, match="needs a penalised likelihood"):
            learn(holes_of(chest_clinic(50), 0.1), missing="em", score=score)


def unseen() -> Table:
    """The columns a and c are never observed in one row, b is observed in all."""
    rng = np.random.default_rng(4)
    b = rng.integers(0, 2, 80)
    a, c = (np.where(rng.random(80) < 0.9, b, 1 - b) for _ in range(2))
    codes = np.array([a, b, c]).astype(np.uint16)
    codes[0, :40] = MISSING
    codes[2, 40:] = MISSING
    return Table(tuple("abc"), (("0", "1"),) * 3, codes)


def test_only_what_is_an_answer_is_taken_for_one() -> None:
    """No network has b → a besides c → a, as no row has all; an unknown name is a fault."""
    table = unseen()
    ground = learn_baseline(
        table,
        pipeline.Asked(lambda *_: Scoring(), Optimising(), reading=Reading(missing="pnal")),
        Context(),
    )
    constraints = Constraints(required=frozenset({("c", "a")}))
    with pytest.raises(InfeasibleError, match="never observed in one row"):
        learn(table, missing="pnal", constraints=constraints)
    strict = replace(ground, scoring=replace(ground.scoring, constraints=constraints))
    assert solve_changed(strict, ArcQuestion(("a", "b"), "direction"), Stop()) is None
    wrong = Constraints(required=frozenset({("c", "nobody")}))
    faulty = replace(ground, scoring=replace(ground.scoring, constraints=wrong))
    with pytest.raises(ConstraintError, match="nobody"):
        solve_changed(faulty, ArcQuestion(("a", "b"), "direction"), Stop())


def test_no_class_where_directions_count(tmp_path: Path) -> None:
    found = support(unseen(), missing="pnal", need=False)
    assert len(found) and all(one.reversible is None for one in found.arcs)
    data = tmp_path / "holes.csv"
    table = holes_of(chest_clinic(200), 0.05)
    rows = [
        ",".join("" if k == MISSING else table.states[v][k] for v, k in enumerate(row))
        for row in table.to_codes().T.tolist()
    ]
    data.write_text("\n".join([",".join(table.names), *rows]) + "\n")
    averaged, filled = by_recipe(tmp_path, missing="pnal"), by_recipe(tmp_path, missing="mode")
    done = run("support", str(data), *averaged, "--no-need", "--verbose")
    arcs_table = done.stdout.split("\n\n")[0]
    assert "class" not in arcs_table and "reversible" not in arcs_table
    assert "not score equivalent" in done.stdout
    content = json.loads(run("support", str(data), *averaged, "--json").stdout)
    assert all(one["reversible"] is None for one in content["arcs"])
    plain = run("support", str(data), *filled, "--no-need", "--verbose").stdout
    assert "class" in plain.splitlines()[0]


@pytest.mark.parametrize("smoothing", [0.0, 0.5])
def test_a_page_of_a_table_with_holes_answers_what_if(smoothing: float) -> None:
    holes = holes_of(chest_clinic(200), 0.1)
    solution = learn(holes, missing="pnal", threads=1)
    fitted = solution.network.fit(holes, smoothing=smoothing)
    report = gather(NetworkRecord.of(solution, fitted), table=holes)
    assert report.what_if is not None
    data: dict[str, Any] = page_data(report)
    assert data["counts"] is None
    for mine, theirs in zip(data["tables"], fitted.tables, strict=True):
        assert mine == pytest.approx(theirs.ravel())
    for name, bars in zip(report.network.names, data["marginals"], strict=True):
        assert bars == pytest.approx(list(fitted.query()[name].values()))
    page = document(report)
    assert "maximise the likelihood of the observed" in page
    assert ("0.5 added" in page) == (smoothing > 0)


def test_a_page_of_complete_families_says_why() -> None:
    holes = holes_of(chest_clinic(100), 0.3)
    with (
        mock.patch.object(expectation, "MOST_TERMS", 10),
        pytest.warns(ParentageWarning, match="are estimated from the rows in which"),
    ):
        page = document(gather(ASIA, table=holes))
    assert "every step would sum" in page
    assert FALLBACK in page and "maximise the likelihood of the observed" not in page


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 0.6]), st.sampled_from([0.0, 0.5]))
def test_without_time_parameters_are_those_of_complete_families(
    seed: int, share: float, alpha: float
) -> None:
    table = some_holes(seed, 4, 12, share)
    network = Network(table.names, random_network(seed, 4).parents)
    stop = Stop()
    stop.cancelled.set()
    with contextlib.ExitStack() as told:
        if table.has_holes:
            told.enter_context(pytest.warns(ParentageWarning, match="^an interrupt stopped"))
        fast = fit_parameters(network, table, smoothing=alpha, context=Context(stop))
    slow = naive_em.from_complete_families(network, table, alpha)
    assert flat(fast) == pytest.approx(flat(slow))
    assert bool(fast.note) == table.has_holes


def slow_to_estimate(rows: int = 1600) -> tuple[Network, Table]:
    """66 variables and 65 arcs, 30 % of the values missing: half a second."""
    rng = np.random.default_rng(1)
    codes, parents = rng.integers(0, 4, (66, rows)), list[tuple[int, ...]]([()])
    for v in range(1, len(codes)):
        parent = int(rng.integers(max(0, v - 5), v))
        codes[v] = np.where(rng.random(rows) < 0.5, codes[parent], codes[v])
        parents.append((parent,))
    codes[rng.random(codes.shape) < 0.3] = MISSING
    names = tuple(f"v{i}" for i in range(len(codes)))
    table = Table(names, (tuple("abcd"),) * len(codes), codes.astype(np.uint16))
    return Network(names, tuple(parents)), table


def test_parameters_obey_the_time_limit() -> None:
    network, table = slow_to_estimate()
    with (
        mock.patch.object(parameters_module, "MOMENT", 0.0),
        pytest.warns(ParentageWarning, match="^the time limit stopped .*; raise the time limit"),
    ):
        found = fit_parameters(network, table, smoothing=0, context=Context(Stop.after(0.1)))
    assert "the time limit" in found.note
    with (
        mock.patch.object(Expectation, "of_table", side_effect=AssertionError),
        mock.patch.object(parameters_module, "SECONDS_PER_CELL", 1.0),
        pytest.warns(ParentageWarning, match="^the time limit stopped"),
    ):
        fit_parameters(network, table, context=Context(Stop.after(60.0)))  # preparing takes longer


def test_estimation_shows_its_steps_and_can_be_interrupted() -> None:
    holes, stop, steps = holes_of(chest_clinic(200), 0.1), Stop(), []

    def report(at: Progress) -> None:
        steps.append((at.stage, at.phase))
        if len(steps) == 3:
            stop.cancelled.set()

    with pytest.warns(ParentageWarning, match="^an interrupt stopped .*; run it again") as told:
        fit_parameters(ASIA, holes, context=Context(stop, report=report))
    assert not any("time limit" in str(one.message) for one in told)
    assert steps[2:] == [("parameters", "step 3 of expectation maximisation")]


def test_small_estimates_are_finished_whatever_the_clock_says() -> None:
    holes = holes_of(chest_clinic(200), 0.1)
    assert flat(fit_parameters(ASIA, holes, context=Context(Stop.after(0.0)))) == pytest.approx(
        flat(ASIA.fit(holes)), abs=0.0
    )


def test_files_of_data_with_missing_values_come_when_the_time_is_over(tmp_path: Path) -> None:
    """Estimated once for all of them; what they show is that of complete families."""
    holes = holes_of(chest_clinic(200), 0.1)
    data = tmp_path / "holes.csv"
    lines = [",".join(holes.names)]
    lines += [
        ",".join("" if k == MISSING else holes.states[v][k] for v, k in enumerate(row))
        for row in holes.to_codes().T.tolist()
    ]
    data.write_text("\n".join(lines) + "\n")
    bif, page, net = (str(tmp_path / name) for name in ("n.bif", "n.html", "n.json"))
    counts = Expectation.counts

    def slow(self: Expectation, theta: Any) -> Any:
        time.sleep(0.6)
        return counts(self, theta)

    outputs = ("-o", bif, "-o", page, "-o", net)
    with mock.patch.object(Expectation, "counts", slow):
        done = run("learn", str(data), "--missing", "pnal", "--time-limit", "1", *outputs)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("the time limit stopped the estimation") == 1
    assert FALLBACK in Path(page).read_text()
    found = read_parameters(bif)
    table = read_table(data, missing="pnal")
    slowly = naive_em.from_complete_families(found.network, table, 1.0)
    assert flat(found) == pytest.approx(flat(slowly), abs=1e-9)
    assert flat(read_parameters(net)) == pytest.approx(flat(found), abs=1e-9)


def test_the_estimator_estimates_within_its_time_limit() -> None:
    holes = holes_of(chest_clinic(200), 0.1)
    with (
        mock.patch.object(parameters_module, "MOMENT", 0.0),
        warnings.catch_warnings(record=True, action="always") as told,
    ):
        learner = ParentageLearner(missing="pnal", time_limit=0.0).fit(holes)
    assert sum("the time limit stopped the estimation" in str(one.message) for one in told) == 1
    assert learner.parameters_.note
