"""How sure each arc is: needs, bootstrap and near-optimal shares, against slow loops."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import pickle
import threading
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import parentage
from command import run
from naive_network import all_networks
from naive_support import (
    apart,
    direction_points,
    every_network,
    has_arc,
    l1_norm,
    learned_again,
    log_of_sum,
    shortfall,
)
from parentage import pipeline
from parentage.arcs import Supporting
from parentage.arcs.near_shares import log_total, near_set
from parentage.arcs.need import ArcQuestion, lists_requiring, needs
from parentage.arcs.records import (
    FEWEST_REPLICATES,
    FIRM_NEED,
    ArcSupport,
    Bootstrap,
    PairShare,
    Support,
    judged,
    spreadsheet_cell,
)
from parentage.arcs.resampling import (
    averaged_arcs,
    bootstrap,
    directions,
    inclusion_threshold,
    learn_replicate,
    pair_shares,
    resampled,
)
from parentage.arcs.support import _shares, learn_baseline, support, support_of
from parentage.cli.report import bootstrap_lines, near_lines
from parentage.data.datasets import chest_clinic
from parentage.data.settings import Reading
from parentage.data.table import MISSING, Table
from parentage.errors import ConstraintError, InputError, ParentageWarning, UnprovenWarning
from parentage.network.network import Network, arc_gains
from parentage.optimise import optimise_lists
from parentage.optimise.near import Share
from parentage.optimise.settings import Optimising
from parentage.pipeline import Advanced, learn
from parentage.scoring.candidates import score, score_table, search_table
from parentage.scoring.constraints import Constraints
from parentage.scoring.lists import CandidateLists
from parentage.scoring.scores import family_score
from parentage.scoring.settings import Growing, Scoring
from parentage.work.context import Context
from parentage.work.executor import ExecutorPool
from parentage.work.stop import Stop
from solving import learn_lists
from strategies import each, random_table
from test_growth import wide_table

if TYPE_CHECKING:
    from pathlib import Path

    from parentage.arcs.records import Baseline
    from parentage.scoring.constraints import Arc
    from parentage.work.progress import Progress
    from real_data import RealData

CLOSE = 1e-6


def baseline_of(table: Table, scoring: Scoring | None = None, **optimising: Any) -> Baseline:
    """Learn from a table; warnings are of no interest here."""
    settings = scoring or Scoring()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ParentageWarning)
        return learn_baseline(
            table, pipeline.Asked(lambda *_: settings, Optimising(**optimising)), Context()
        )


def all_arcs(table: Table) -> list[Arc]:
    return [(a, b) for a in table.names for b in table.names if a != b]


def needs_and_truth(
    table: Table, score: str, constraints: Constraints | None = None
) -> list[tuple[ArcQuestion, float | None, float | None]]:
    """The need of every pair and direction, by the package and by going through all networks."""
    baseline = baseline_of(table, Scoring(score=score, constraints=constraints))
    varying = [arc for arc in all_arcs(table) if not set(arc) & set(table.constant)]
    found = needs(baseline, varying, Context())
    networks = every_network(table, score, constraints)
    compared = []
    for arc in varying:
        a, b = (table.index(name) for name in arc)
        for question, fits in (
            (ArcQuestion(arc, "adjacency"), apart(a, b)),
            (ArcQuestion(arc, "direction"), has_arc(b, a)),
        ):
            need = found.get(question)
            if need is not None:
                assert need.most - need.least < CLOSE
            least = None if need is None else need.least
            compared.append((question, least, shortfall(networks, fits)))
    return compared


@pytest.mark.parametrize("score", ["bic", "aic", "bdeu:1", "k2", "qnml"])
@each("seed", 8)
def test_needs_are_those_of_all_networks(seed: int, score: str) -> None:
    table = random_table(seed, most_variables=4)
    compared = needs_and_truth(table, score)
    for question, found, truth in compared:
        assert found is not None, question
        assert found == pytest.approx(truth, abs=CLOSE), question
    assert compared or table.n_variables - len(table.constant) < 2


@each("seed", 12)
def test_needs_under_constraints(seed: int) -> None:
    table = random_table(100 + seed, most_variables=4)
    rng = np.random.default_rng(seed)
    names = [name for name in rng.permutation(table.names) if name not in table.constant]
    arcs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    required = frozenset(arc for arc in arcs if rng.random() < 0.3)
    given = Constraints(
        required,
        frozenset(arc for arc in arcs if rng.random() < 0.2) - required,
        {names[-1]: len(names) - 1},
        (tuple(names[:1]), tuple(names[1:])) if rng.random() < 0.5 else (),
    )
    for question, found, truth in needs_and_truth(table, "bic", given):
        if truth is None:
            assert found is None, question
        else:
            assert found == pytest.approx(truth, abs=CLOSE), question


def test_a_wrong_need_would_be_seen() -> None:
    """The list of a child with a required parent is not a part of its list without."""
    table = chest_clinic(200, seed=3)
    lists = score_table(table, Scoring(), Context())
    missing = 0
    for arc in all_arcs(table):
        mine = lists_requiring(lists, table, Scoring(), arc, Stop())[arc[1]]
        kept = [c for c in lists[arc[1]] if arc[0] in c.parents]
        missing += mine[0] not in kept
    assert missing > 10


@each("seed", 15)
def test_lists_with_one_more_required_arc_are_those_of_scoring_with_it(seed: int) -> None:
    table = random_table(seed, most_variables=6)
    names = [name for name in table.names if name not in table.constant]
    rng = np.random.default_rng(seed)
    width = None if seed % 3 else 2.0
    given = Constraints(forbidden=frozenset({(names[-1], names[0])}) if seed % 2 else frozenset())
    settings = Scoring(constraints=given, width=width, max_parents=None if seed % 2 else 3)
    lists = score_table(table, settings, Context())
    a, b = rng.permutation(names)[:2]
    if (a, b) in given.forbidden:
        with pytest.raises(ConstraintError):
            lists_requiring(lists, table, settings, (a, b), Stop())
        return
    fast = lists_requiring(lists, table, settings, (a, b), Stop())
    wanted = replace(settings, constraints=given.merge(Constraints(required=frozenset({(a, b)}))))
    whole = score_table(table, wanted, Context())
    assert list(map(fast.__getitem__, names)) == list(map(whole.__getitem__, names))
    assert fast.digest == whole.digest
    assert fast.known().constraints == whole.known().constraints
    assert fast.known().complete


def test_cut_short_while_requiring_is_told() -> None:
    table = chest_clinic(1000, seed=0)
    lists = score_table(table, Scoring(), Context())
    cut = lists_requiring(lists, table, Scoring(), ("smoke", "either"), Stop(-math.inf))
    account = cut.known()
    assert (account.complete_to, account.ended) == (2, "time")  # one parent besides the required
    assert [bound is not None for bound in account.beyond] == [
        name == "either" for name in table.names
    ]


@pytest.mark.parametrize(("score", "seed"), [("bic", 1), ("bdeu:1", 2), ("k2", 3)])
def test_needs_are_those_of_learning_again(score: str, seed: int) -> None:
    table = chest_clinic(300, seed=seed)
    found = support(table, score=score, threads=2)
    best = parentage.learn(table, score=score)
    assert found.network == best.network
    for arc in found.arcs:
        a, b = arc.arc
        without = learned_again(
            table, Constraints(forbidden=frozenset({(a, b), (b, a)})), score=score
        )
        turned = learned_again(table, Constraints(required=frozenset({(b, a)})), score=score)
        assert without.optimal and turned.optimal
        assert arc.need == pytest.approx(best.score - without.score, abs=CLOSE)
        assert arc.need_direction == pytest.approx(best.score - turned.score, abs=CLOSE)
        assert arc.need_at_most == pytest.approx(arc.need, abs=CLOSE)
        assert arc.gain is not None and arc.need is not None and arc.need <= arc.gain + CLOSE


def test_a_reversible_arc_needs_no_direction_and_a_compelled_one_does() -> None:
    found = support(chest_clinic(1000, seed=0))
    reversible = [arc for arc in found.arcs if arc.reversible]
    compelled = [arc for arc in found.arcs if not arc.reversible]
    assert reversible and compelled
    assert all(arc.need_direction == 0.0 for arc in reversible)
    assert all(arc.need_direction and arc.need_direction > 0 for arc in compelled)


def test_arcs_of_a_network_that_is_not_the_best() -> None:
    table = chest_clinic(1000, seed=0)
    best = parentage.learn(table)
    other = Network.from_arcs(table.names, [("asia", "dysp"), ("bronc", "smoke")])
    found = support(table, other)
    absent, turned = found.arcs[1], found.arcs[0]
    assert absent.arc == ("asia", "dysp") and turned.arc == ("bronc", "smoke")
    assert absent.need == 0.0, "the best network does without it"
    assert turned.need is not None and turned.need > 10
    assert found.score == pytest.approx(other.score(table))
    assert found.best == best.score > found.score
    assert absent.gain is not None and absent.gain < 0


def test_a_network_of_other_variables_is_refused() -> None:
    table = chest_clinic(100, seed=0)
    with pytest.raises(InputError, match="drop"):
        support(table, Network.from_arcs(table.names[1:], []))
    with pytest.raises(
        InputError, match=r"the table has no column .*, which is a variable of the network"
    ):
        support(table, Network.from_arcs([*table.names, "age"], []))


def test_a_gain_is_lost_when_the_parent_alone_leaves() -> None:
    """Neither parent tells anything without the other, so the lists have no set of one."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 200))
    table = Table.from_columns({"a": a.tolist(), "b": b.tolist(), "c": (a ^ b).tolist()})
    found = support(table, need=False)
    assert set(found.network.arcs) == {("a", "c"), ("b", "c")}
    whole = family_score(table, "c", ["a", "b"])
    assert found["a", "c"].gain == pytest.approx(whole - family_score(table, "c", ["b"]))
    assert found["b", "c"].gain == pytest.approx(whole - family_score(table, "c", ["a"]))
    listed = learn(score(table)).gains
    assert listed["a", "c"] == pytest.approx(whole - family_score(table, "c")), "both leave"


def test_a_required_arc_has_no_need() -> None:
    table = chest_clinic(300, seed=0)
    given = Constraints(required=frozenset({("asia", "dysp")}), tiers=(("smoke",), ("bronc",)))
    found = support(table, constraints=given)
    assert found["asia", "dysp"].need is None
    assert found["asia", "dysp"].need_direction is None
    assert found["smoke", "bronc"].need is not None
    assert found["smoke", "bronc"].need_direction is None, "the tiers forbid it"
    assert found["asia", "dysp"].support == "required"
    assert found["smoke", "bronc"].support in ("firm", "open")
    assert not found.open_points


def test_without_time_needs_are_intervals_that_hold() -> None:
    table = chest_clinic(1000, seed=0)
    baseline = baseline_of(table)
    truth = needs(baseline, baseline.best.network.arcs, Context())
    assert not needs(baseline, baseline.best.network.arcs, Context(Stop(-math.inf))) or all(
        need.least == 0.0
        for need in needs(baseline, baseline.best.network.arcs, Context(Stop(-math.inf))).values()
    )

    class Late(Stop):
        """There is time to begin, and none to go on."""

        def share(self, part: float) -> Stop:
            return Stop(-math.inf)

    found = needs(baseline, baseline.best.network.arcs, Context(Late()))
    assert set(found) == set(truth)
    assert any(need.most > need.least + 1.0 for need in found.values())
    for question, need in found.items():
        exact = truth[question].least
        assert need.least - CLOSE <= exact <= need.most + CLOSE, question


def test_cuts_of_another_run_change_nothing_but_the_work(real: RealData) -> None:
    baseline = baseline_of(real.table("insurance_10000.csv").head(300))
    assert baseline.best.cuts
    arcs = baseline.best.network.arcs[:6]
    shared = needs(baseline, arcs, Context())
    alone = replace(baseline, best=replace(baseline.best, cuts=()))
    apart_ = needs(alone, arcs, Context())
    assert shared.keys() == apart_.keys()
    for question, need in shared.items():
        assert need.least == pytest.approx(apart_[question].least, abs=CLOSE)
        assert need.most - need.least < CLOSE


def test_a_prior_of_arcs_is_part_of_every_need() -> None:
    table = chest_clinic(150, seed=2)
    prior = {("smoke", "bronc"): 0.9, ("bronc", "smoke"): 0.01, ("asia", "xray"): 1.0}
    found = support(table, prior=prior, bootstrap=3)
    best = parentage.learn(table, prior=prior)
    assert found.best == pytest.approx(best.score)
    assert found["asia", "xray"].need is None, "it is certain"
    assert found["asia", "xray"].adjacency == 1.0
    for arc in found.arcs:
        a, b = arc.arc
        if arc.need is not None:
            change = Constraints(forbidden=frozenset({(a, b), (b, a)}))
            without = learned_again(table, change, prior=prior)
            assert arc.need == pytest.approx(best.score - without.score, abs=CLOSE)
        if arc.need_direction is not None:
            change = Constraints(required=frozenset({(b, a)}))
            turned = learned_again(table, change, prior=prior)
            assert arc.need_direction == pytest.approx(best.score - turned.score, abs=CLOSE)
    again = support(table, Network(best.network.names, best.network.parents), prior=prior)
    assert again.score == pytest.approx(best.score)
    other = best.network.equivalence_class()
    assert found["smoke", "bronc"].need_direction, other


# -- bootstrap -------------------------------------------------------------------------------


@pytest.mark.parametrize("score", ["bic", "k2"])
def test_the_bootstrap_is_a_loop_of_learn(score: str) -> None:
    table = chest_clinic(80, seed=4)
    found = support(table, bootstrap=12, need=False, seed=7, score=score)
    drawn = found.bootstrap
    assert drawn is not None
    same = {"start": found.network, "seed": 7}  # so that ties are broken alike
    learned = [
        learned_again(resampled(table, 7, i), Constraints(), score=score, **same) for i in range(12)
    ]
    assert all(solution.optimal for solution in learned)
    assert drawn.scores == pytest.approx([solution.score for solution in learned])
    assert (drawn.asked, drawn.done, drawn.proven) == (12, 12, 12)
    points: dict[tuple[int, int], float] = {}
    for solution in learned:
        parents = solution.network.parents
        own = direction_points(parents)
        if score == "k2":
            own = {(p, v): 1.0 for v, above in enumerate(parents) for p in above}
        for arc, point in own.items():
            points[arc] = points.get(arc, 0.0) + point
    for pair in drawn.pairs:
        a, b = table.index(pair.a), table.index(pair.b)
        both = points.get((a, b), 0.0) + points.get((b, a), 0.0)
        assert pair.adjacency == pytest.approx(both / 12)
        assert pair.forward == pytest.approx(points.get((a, b), 0.0) / both)
    assert len(drawn.pairs) == len({frozenset(arc) for arc in points})
    assert drawn.mean_score == pytest.approx(np.mean(drawn.scores))
    assert drawn.score_deviation == pytest.approx(np.std(drawn.scores, ddof=1))


def test_rows_are_drawn_with_replacement_and_by_number() -> None:
    table = chest_clinic(50, seed=0)
    one = resampled(table, 3, 0)
    assert one.n_rows == 50 and one.states == table.states
    assert (one.to_codes() == resampled(table, 3, 0).to_codes()).all()
    assert (one.to_codes() != resampled(table, 3, 1).to_codes()).any()
    assert (one.to_codes() != resampled(table, 4, 0).to_codes()).any()
    rows = {tuple(row) for row in table.to_codes().T.tolist()}
    assert {tuple(row) for row in one.to_codes().T.tolist()} <= rows


def test_nothing_depends_on_the_workers() -> None:
    table = chest_clinic(120, seed=5)
    found = [
        support(table, bootstrap=8, within=5.0, threads=threads, seed=1) for threads in (1, 2, 5)
    ]
    assert found[0] == found[1] == found[2]
    assert found[0] != support(table, bootstrap=8, within=5.0, threads=1, seed=2)


def test_replicates_on_other_processes() -> None:
    table = chest_clinic(60, seed=5)
    baseline = baseline_of(table)
    here = bootstrap(baseline, 4, 0, Context())
    with ProcessPoolExecutor(2) as pool:
        workers = ExecutorPool(pool)
        there = bootstrap(baseline, 4, 0, Context(workers=workers))
        assert needs(baseline, baseline.best.network.arcs, Context(workers=workers)) == needs(
            baseline, baseline.best.network.arcs, Context()
        )
        workers.close()
    assert here == there


def test_a_stop_travels_as_the_time_that_is_left() -> None:
    stop = pickle.loads(pickle.dumps(Stop.after(100.0, 5)))  # noqa: S301  # our own bytes
    assert 99 < stop.seconds_left <= 100 and stop.memory == 5
    assert pickle.loads(pickle.dumps(Stop())).seconds_left == math.inf  # noqa: S301  # the same


@each("seed", 10)
def test_replicates_of_nasty_tables(seed: int) -> None:
    """Two rows, columns that become constant: the replicate still has a network."""
    table = random_table(seed, most_variables=4, most_rows=5)
    baseline = baseline_of(table)
    for number in range(6):
        replicate = learn_replicate(baseline, seed, Stop(), 1, (number, 6))
        drawn = resampled(table, seed, number)
        best = max(score for score, _ in every_network(drawn, "bic"))
        assert replicate.proven and replicate.parents is not None
        assert replicate.score == pytest.approx(best, abs=CLOSE)


def test_required_arcs_count_in_every_replicate() -> None:
    table = Table.from_columns({"a": "0" * 19 + "1", "b": "01" * 10, "c": "0011" * 5})
    given = Constraints(required=frozenset({("a", "b")}))
    found = support(table, constraints=given, bootstrap=20, seed=0)
    drawn = [resampled(table, 0, number).constant for number in range(20)]
    assert any("a" in constant for constant in drawn), "or the test tests nothing"
    assert found["a", "b"].adjacency == 1.0
    assert found["a", "b"].direction == 1.0


def test_directions_that_constraints_leave_no_choice_about_count_in_full() -> None:
    table = chest_clinic(200, seed=0)
    free = support(table, need=False, bootstrap=10)
    tiers = support(table, need=False, bootstrap=10, constraints=Constraints(
        tiers=(("smoke",), tuple(name for name in table.names if name != "smoke"))
    ))  # fmt: skip
    pair = next(p for p in free.bootstrap.pairs if {p.a, p.b} == {"smoke", "bronc"})  # type: ignore[union-attr]
    assert 0.0 < pair.forward < 1.0
    assert tiers["smoke", "bronc"].direction == 1.0


@each("seed", 20)
def test_the_threshold_is_the_l1_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shares = (rng.integers(0, 21, int(rng.integers(1, 15))) / 20).tolist()
    threshold = inclusion_threshold(shares)
    grid = np.unique(
        np.concatenate([np.linspace(0, 1, 501), np.arange(len(shares) + 1) / len(shares)])
    )
    norms = [l1_norm(shares, t) for t in grid]
    best = grid[np.array(norms) <= min(norms) + 1e-12].max()
    quantile = min(s for s in [0.0, *shares] if np.mean(np.array(shares) <= s) >= best - 1e-12)
    assert {s for s in shares if s > threshold} == {s for s in shares if s > quantile}


def test_pairs_and_the_averaged_network() -> None:
    chain, fork = ((), (0,), (1,)), ((), (), (0, 1))
    names = ("a", "b", "c")
    counted = [directions(one, names, True, Constraints()) for one in (chain, fork, fork)]
    pairs = pair_shares(counted, names)
    assert pairs == (
        PairShare("b", "c", 1.0, pytest.approx(2.5 / 3), pytest.approx(2 / 3)),  # type: ignore[arg-type]
        PairShare("a", "c", pytest.approx(2 / 3), 1.0, 1.0),  # type: ignore[arg-type]
        PairShare("a", "b", pytest.approx(1 / 3), 0.5, 0.0),  # type: ignore[arg-type]
    )
    threshold = inclusion_threshold([pair.adjacency for pair in pairs])
    assert averaged_arcs(pairs, threshold, frozenset()) == (("b", "c"), ("a", "c"))


def test_the_averaged_network_has_no_cycle_and_keeps_its_pairs() -> None:
    pairs = [PairShare("a", "b", 0.9, 0.9, 1.0), PairShare("b", "c", 0.8, 0.9, 1.0),
             PairShare("a", "c", 0.7, 0.1, 1.0), PairShare("c", "d", 0.6, 0.5, 1.0)]  # fmt: skip
    arcs = averaged_arcs(pairs, 0.5, frozenset({("d", "c")}))
    assert arcs == (("a", "b"), ("b", "c"), ("a", "c"), ("d", "c"))
    Network.from_arcs("abcd", arcs)


def test_the_estimate_comes_before_the_workers_begin() -> None:
    told: list[Progress] = []
    support(chest_clinic(60, seed=0), need=False, bootstrap=5, threads=2, progress=told.append)
    drawn = [at for at in told if at.stage == "bootstrap"]
    assert [at.done for at in drawn] == [1, 2, 3, 4, 5]
    assert all(at.total == 5 for at in drawn)
    assert all(at.seconds_left is not None for at in drawn[1:])
    assert drawn[-1].seconds_left == 0.0


# -- ends before the end -----------------------------------------------------------------------


def test_an_interrupt_keeps_the_replicates_that_are_done() -> None:
    table = chest_clinic(80, seed=4)
    baseline = baseline_of(table)
    stop = Stop()

    def report(at: Progress) -> None:
        if at.stage == "bootstrap" and at.done == 3:
            stop.cancelled.set()

    found = support_of(baseline, Supporting(bootstrap=50), Context(stop, 2, report=report))
    drawn = found.bootstrap
    assert drawn is not None and drawn.stopped == "interrupt"
    assert 3 <= drawn.done < 50 and drawn.done == len(drawn.scores) == drawn.proven
    whole = bootstrap(baseline, drawn.done, 0, Context())
    assert drawn.pairs == whole.pairs, "those that are there are the first ones"
    assert any("replicates" in point and "interrupt" in point for point in found.open_points)
    assert all(arc.need is not None for arc in found.arcs), "needs came before"
    assert drawn.enough == (drawn.done >= FEWEST_REPLICATES)
    assert bootstrap_lines(found, drawn)[0].startswith(
        f"bootstrap stopped after {drawn.done} of 50 replicates, all proven"
    )


def test_an_interrupt_among_the_needs() -> None:
    baseline = baseline_of(chest_clinic(80, seed=4))
    stop = Stop()

    def report(at: Progress) -> None:
        if at.stage == "needs" and at.done == 2:
            stop.cancelled.set()

    found = support_of(baseline, Supporting(bootstrap=5), Context(stop, report=report))
    assert any(arc.need is None for arc in found.arcs)
    assert any("need of" in point for point in found.open_points)
    assert found.bootstrap is not None and found.bootstrap.done == 0
    assert all(arc.adjacency is None for arc in found.arcs)
    for arc in found.arcs:
        failed = arc.need_at_most is not None and arc.need_at_most < FIRM_NEED
        assert arc.support == ("open" if failed else "not known")
    assert bootstrap_lines(found, found.bootstrap) == ["bootstrap stopped after 0 of 5 replicates"]
    assert "not known" in found.to_csv() and "not known" in json.dumps(found.to_dict())


def test_few_replicates_of_many_decide_nothing() -> None:
    arc = ArcSupport("a", "b", need=50.0, need_at_most=50.0, adjacency=1.0)
    for done, label in ((7, "not known"), (20, "firm")):
        drawn = Bootstrap(200, done, done, 0, (), (), 0.5, (), "interrupt")
        assert judged(arc, 1.0, need=True, bootstrap=drawn) == label
    drawn = Bootstrap(7, 7, 7, 0, (), (), 0.5, ())
    assert judged(arc, 1.0, need=True, bootstrap=drawn) == "firm"


@pytest.mark.usefixtures("no_moment")
def test_a_replicate_that_is_not_proven_counts_and_is_said(monkeypatch: Any) -> None:
    import parentage.arcs.resampling as module

    monkeypatch.setattr(module, "GENEROUS", 0.0)
    monkeypatch.setattr(module, "LEAST_SHARE", 0.0)
    baseline = baseline_of(chest_clinic(300, seed=4))
    found = support_of(baseline, Supporting(need=False, bootstrap=3), Context(Stop.after(60.0)))
    drawn = found.bootstrap
    assert drawn is not None and (drawn.done, drawn.stopped) == (3, None)
    assert drawn.proven < 3
    assert any("not proven" in point for point in found.open_points)


def test_a_time_limit_is_kept_and_told() -> None:
    table = chest_clinic(500, seed=4)
    support(table, bootstrap=1)  # compiled
    began = time.monotonic()
    with pytest.warns(UnprovenWarning) as told:
        found = support(table, bootstrap=100_000, time_limit=0.7, threads=2)
    assert any("the time limit stopped the bootstrap after" in str(w.message) for w in told)
    assert time.monotonic() - began < 6
    assert found.bootstrap is not None and 0 < found.bootstrap.done < 100_000
    assert found.bootstrap.stopped == "time"


def test_workers_end_soon_after_an_interrupt() -> None:
    baseline = baseline_of(chest_clinic(500, seed=4))
    stop = Stop()
    threading.Timer(0.3, stop.cancelled.set).start()
    began = time.monotonic()
    support_of(baseline, Supporting(bootstrap=100_000), Context(stop, 2))
    assert time.monotonic() - began < 5


# -- near-optimal networks ---------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "factor"), [(0, 1.0), (1, 5.0), (2, 50.0), (3, 1e4)])
def test_near_shares_are_those_of_all_networks(seed: int, factor: float) -> None:
    table = random_table(seed + 40, most_variables=4, least_rows=16)
    found = support(table, need=False, within=factor)
    networks = every_network(table, "bic")
    top = max(score for score, _ in networks)
    weights = [(math.exp(score - top), parents) for score, parents in networks]
    near = [(w, parents) for w, parents in weights if w >= (1 - 1e-9) / factor]
    assert found.near is not None and found.near.complete
    assert found.near.networks == len(near)
    total = math.fsum(w for w, _ in near)
    for one in (*found.arcs, *found.others):
        a, b = table.index(one.parent), table.index(one.child)
        share = math.fsum(w for w, parents in near if a in parents[b]) / total
        back = math.fsum(w for w, parents in near if b in parents[a]) / total
        assert one.near_weight == pytest.approx(share)
        assert one.near_adjacency == pytest.approx(share + back)
    whole = math.fsum(w for w, _ in weights)
    assert found.near.missing == pytest.approx(1 - total / whole, abs=1e-9)
    left_out = [w for w, _ in weights if w < (1 - 1e-9) / factor]
    each = found.near.each_missing
    assert each is not None
    assert all(w / total <= each * (1 + 1e-9) for w in left_out)


@pytest.mark.no_cover
@each("seed", 6)
def test_the_total_weight_is_the_sum_over_all_networks(seed: int) -> None:
    table = random_table(seed, most_variables=5)
    lists = score_table(table, Scoring(width=1e5, rules="none"), Context())
    naive = np.logaddexp.reduce([score for score, _ in every_network(table, "bic")])
    assert log_total(lists) == pytest.approx(float(naive), abs=1e-9)


@each("seed", 8)
def test_the_total_weight_of_scores_far_apart(seed: int) -> None:
    """Sums over all networks in 60 digits; some children cannot be without parents."""
    rng = np.random.default_rng(seed)
    names, spread = "abcd", 10.0 ** rng.integers(0, 7)
    families = {}
    for child in names:
        others = [name for name in names if name != child]
        sets = [s for k in range(4) for s in itertools.combinations(others, k)]
        kept = [s for s in sets if rng.random() < 0.8 or not s]
        if child == "b":
            kept = [s for s in kept if s]
        families[child] = [(spread * float(rng.normal()), list(s)) for s in kept]
    lists = CandidateLists.from_families(families)
    networks = [score for score, _ in all_networks(lists)]
    assert log_total(lists) == pytest.approx(log_of_sum(networks), rel=1e-14, abs=1e-10)


def test_the_missing_weight_of_many_rows() -> None:
    """Each child's best set is far above what it can have together with the others'."""
    rng = np.random.default_rng(1)
    a = rng.integers(0, 2, 60_000)
    b = a ^ (rng.random(len(a)) < 0.02)
    c = b ^ (rng.random(len(a)) < 0.02)
    table = Table.from_columns({"a": a.tolist(), "b": b.tolist(), "c": c.tolist()})
    networks = [score for score, _ in every_network(table, "bic")]
    lists = score(table)
    alone = sum(lists[name][0].score for name in lists)
    assert alone - max(networks) > 11_400, "exp of the difference is 0 even in 80 bits"
    found = support(table, need=False, within=2).near
    assert found is not None
    near = [score for score in networks if score > max(networks) - math.log(2)]
    truth = 1 - math.exp(log_of_sum(near) - log_of_sum(networks))
    assert found.missing == pytest.approx(truth, abs=1e-9)
    assert truth > 0.001


def test_many_variables_leave_the_missing_weight_open(real: RealData) -> None:
    found = support(real.uci("zoo").head(30).select(real.uci("zoo").names[:14]), need=False,
                    within=1.5, max_parents=2)  # fmt: skip
    assert found.near is not None and found.near.missing is None
    assert found.near.each_missing is not None
    assert 0 < found.near.each_missing < 1


def test_too_many_networks_are_told() -> None:
    with pytest.warns(UnprovenWarning, match="only 2 of the near-optimal networks"):
        found = support(chest_clinic(100, seed=0), need=False, within=100.0, max_networks=2)
    assert found.near is not None and not found.near.complete


# -- records and files -------------------------------------------------------------------------


def test_spreadsheets_are_given_no_formulas(tmp_path: Path) -> None:
    evil = ["=cmd()", "+1", "-x", "@sum", "a,b", 'q"uote', "\ttab", "plain"]
    network = Network.from_arcs(evil, [(evil[i], evil[i + 1]) for i in range(7)])
    arcs = tuple(ArcSupport(*arc, gain=-1.5, need=2.0, reversible=True) for arc in network.arcs)
    found = Support(network, -1.0, -1.0, True, arcs)
    found.save(tmp_path / "s.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "s.csv").read_text(encoding="utf-8"))))
    assert [row["from"] for row in rows] == [
        "'=cmd()", "'+1", "'-x", "'@sum", "a,b", 'q"uote', "'\ttab"
    ]  # fmt: skip
    assert all(row["gain"] == "-1.5" and row["reversible"] == "true" for row in rows)
    assert all(row["adjacency"] == "" for row in rows)
    found.save(tmp_path / "s.json")
    content = json.loads((tmp_path / "s.json").read_text(encoding="utf-8"))
    assert [arc["from"] for arc in content["arcs"]] == evil[:7]


def test_columns_are_those_of_the_contract() -> None:
    found = support(chest_clinic(100, seed=0), bootstrap=2, within=2.0)
    head = found.to_csv().split("\n")[0].split(",")
    assert {"from", "to", "gain", "need", "reversible", "adjacency", "direction",
            "in_near_optimal"} <= set(head)  # fmt: skip
    assert set(found.to_dict()["arcs"][0]) == set(head)
    json.dumps(found.to_dict(), allow_nan=False)
    assert found.shares == {arc.arc: arc.adjacency for arc in found.arcs}
    assert all(not one.in_network for one in found.others)
    assert "bootstrap" in repr(found) and len(found) == found.network.n_arcs


def test_lists_have_no_rows_to_draw_from() -> None:
    with pytest.raises(InputError, match="table"):
        support(parentage.score(chest_clinic(50, seed=0)))


def test_arcs_that_a_prior_takes_for_certain_survive_replicates() -> None:
    """A column that is constant in a replicate, and of an arc with probability 1."""
    columns = {"a": "0101" * 10, "b": "0011" * 10, "rare": "1" + "0" * 39}
    found = support(
        Table.from_columns(columns),
        need=False,
        bootstrap=12,
        prior=parentage.Prior(0.1, {("rare", "a"): 1.0}),
    )
    assert found.bootstrap is not None and found.bootstrap.done == 12


def test_the_rate_of_a_table_with_holes_is_that_of_the_whole_table() -> None:
    whole = chest_clinic(200)
    gone = np.random.default_rng(2).random(whole.to_codes().shape) < 0.1
    table = Table(whole.names, whole.states, np.where(gone, MISSING, whole.to_codes()))
    asked: dict[str, Any] = {"missing": "pnal:0.01"}
    empty = Network(table.names, ((),) * table.n_variables)
    found = support(table, empty, need=False, **asked)
    assert found.score == pytest.approx(parentage.learn(table, max_parents=0, **asked).score)
    baseline = learn_baseline(
        table,
        pipeline.Asked(lambda *_: Scoring(), Optimising(), reading=Reading(missing="pnal")),
        Context(),
    )
    assert baseline.scoring.score == baseline.lists.known().score != "pnal"


def test_completed_tables_are_refused() -> None:
    whole = chest_clinic(100)
    codes = whole.to_codes().copy()
    codes[0, :5] = MISSING
    table = Table(whole.names, whole.states, codes)
    with pytest.raises(InputError, match="missing='em' cannot be bootstrapped: it completes"):
        support(table, missing="em")
    found = support(table, missing="em", need=False, within=3)
    assert found.near is not None and found.near.missing is None


def test_nothing_is_said_of_what_is_missing_where_better_networks_may_be() -> None:
    """Lists of one parent each: the best network of all weighs more than any that is found."""
    table = chest_clinic(300)
    whole = learn_baseline(
        table, pipeline.Asked(lambda *_: Scoring(width=math.log(3)), Optimising()), Context()
    )
    lists = search_table(table, whole.scoring, Context(), up_to=1).lists()
    best = optimise_lists(lists, Optimising(), Context())
    assert not best.optimal and best.score < whole.best.score - 1
    cut = near_set(replace(whole, lists=lists, best=best), 3.0, 1000, Context())[1]
    assert not cut.complete and cut.each_missing is None
    assert "better ones may be missing" in near_lines(cut, "bic")[0]
    known = near_set(whole, 3.0, 1000, Context())[1]
    assert known.complete and known.each_missing is not None
    assert "no other network has more than" in near_lines(known, "bic")[0]
    assert "at most 1.10 nats lower than the best" in near_lines(known, "aic")[0]


@pytest.mark.parametrize("score", ["aic", "qnml", "bic"])
def test_scores_that_are_no_log_posterior_give_no_probabilities(score: str, tmp_path: Path) -> None:
    source, page = tmp_path / "t.csv", tmp_path / "t.html"
    table = chest_clinic(200).select(["smoke", "bronc", "dysp"])
    rows = [[table.states[v][code] for v, code in enumerate(row)] for row in table.to_codes().T]
    source.write_text("\n".join(",".join(row) for row in [table.names, *rows]))
    asked = (str(source), "--score", score, "--within", "20")
    said = [run("learn", *asked).stdout, run("support", *asked, "--verbose").stdout]
    assert run("support", *asked, "-o", str(page)).returncode == 0
    said.append(page.read_text(encoding="utf-8").split("<script")[0])
    assert all("3.00 nats lower" in text for text in said) == (score != "bic")
    for claim in ("posterior probability", "less probable", "share (near)", "weight"):
        assert (claim in said[0] + said[1]) == (score == "bic"), claim
    assert ("the posterior probability of the" in said[2]) == (score == "bic")
    content = json.loads(run("learn", *asked, "--json").stdout)
    assert "weight" in content["arcs"][0]  # the keys are the same for all scores


@pytest.fixture
def growing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Complete lists end at one parent; what is larger has to grow."""
    short = Growing(complete=1, effort=0.05)
    monkeypatch.setattr("parentage.arcs.support.Growing", lambda: short)
    monkeypatch.setattr("parentage.arcs.resampling.Growing", lambda: short)


@pytest.mark.usefixtures("growing")
@pytest.mark.parametrize("n", [13, 24])
def test_lists_that_are_cut_short_grow_as_those_of_learn(n: int) -> None:
    table = wide_table(n=n)
    with pytest.warns(UnprovenWarning):
        best = learn(table, advanced=Advanced(complete=1, effort=0.05))
    with pytest.warns(UnprovenWarning):
        found = support(table, bootstrap=2)
    assert found.best == best.score
    assert max(map(len, found.network.parents)) > 1
    gains = {one.arc: one.gain for one in found.arcs}
    assert gains == pytest.approx(arc_gains(found.network, table), abs=1e-6)
    drawn = found.bootstrap
    assert drawn is not None
    assert drawn.done == 2
    for number, value in enumerate(drawn.scores):
        again = resampled(table, drawn.seed, number)
        assert value >= found.network.score(again) - 1e-6  # from it on, on lists that grow
    assert not found.optimal
    assert not best.optimal
    assert any("not proven optimal" in point for point in found.open_points)


@pytest.mark.usefixtures("growing")
@each("seed", 6)
def test_needs_of_lists_that_grew_hold_for_all_networks(seed: int) -> None:
    """Against those of complete lists: no interval leaves the truth out."""
    table = wide_table(seed, 8, 150)
    lists = score(table)
    truth = learn_lists(lists).score
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnprovenWarning)
        found = support(table)
    for one in found.arcs:
        without = Constraints(forbidden=frozenset({one.arc, one.arc[::-1]}))
        need = truth - learn_lists(lists, constraints=without).score
        assert one.need is not None
        assert one.need_at_most is not None
        assert one.need - 1e-6 <= need <= one.need_at_most + 1e-6
        turned = Constraints(required=frozenset({one.arc[::-1]}))
        if one.need_direction is not None and one.need_direction_at_most is not None:
            need = truth - learn(table, constraints=turned).score
            assert one.need_direction - 1e-6 <= need <= one.need_direction_at_most + 1e-6


def test_shares_are_at_most_one_and_written_with_six_digits() -> None:
    found = _shares(("a", "b"), None, {("a", "b"): Share("a", "b", 1.0, 0.7),
                                      ("b", "a"): Share("b", "a", 1.0, 0.3 + 7e-16)})  # fmt: skip
    assert found.near_adjacency == 1.0
    assert [spreadsheet_cell(x) for x in (18 / 31, 1.0, -2288.847114)] == [
        "0.580645", "1", "-2288.85",
    ]  # fmt: skip


def test_the_averaged_network_is_compared_in_a_short_line() -> None:
    names = tuple("abcdefgh")
    network = Network.from_arcs(names, [("a", "b")])
    drawn = Bootstrap(9, 9, 9, 0, (-1.0,) * 9, (), 0.5, tuple(("a", x) for x in "cdefg"))
    line = bootstrap_lines(Support(network, -1.0, -1.0, True, ()), drawn)[1]
    assert line == (
        "averaged network: 5 pairs adjacent in more than half of the replicates; the network above "
        "lacks a — c, a — d, a — e and 2 more; the network above also has a — b"
    )
