"""A network first: before scoring takes long there is one, whatever ends the work returns it."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from parentage import Advanced, Constraints, Network, Solution, learn, pipeline
from parentage.errors import UnprovenWarning
from parentage.growth import anytime
from parentage.network.formats import read_record
from parentage.network.record import Compared, Finding
from parentage.report.facts import verdict
from parentage.scoring import candidates
from parentage.scoring.candidates import Searched, search_table
from parentage.scoring.search import levels
from parentage.scoring.search.state import SearchState
from parentage.scoring.settings import Scoring
from parentage.work.context import Context
from parentage.work.memory import memory_limit, used_memory
from strategies import make_table, random_columns
from tuned import tune

if TYPE_CHECKING:
    from pathlib import Path

    from parentage.data.table import Table
    from parentage.work.progress import Progress

pytestmark = pytest.mark.filterwarnings("ignore::parentage.errors.DataWarning")


def table_of(n: int = 12, rows: int = 300) -> Table:
    return make_table(random_columns(np.random.default_rng(4), n, rows, 3))


@pytest.fixture
def long_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets of two parents are long work already."""
    tune(monkeypatch, levels, long_level=0.0)


@pytest.fixture
def firsts(monkeypatch: pytest.MonkeyPatch) -> list[Network]:
    """The first networks that are found while a test runs."""
    found: list[Network] = []
    expanded = pipeline.FirstNetwork._expanded

    def noting(self: pipeline.FirstNetwork, searched: Searched, effort: float) -> object:
        result = expanded(self, searched, effort)
        if effort:
            found.append(result[1].network)
        return result

    monkeypatch.setattr(pipeline.FirstNetwork, "_expanded", noting)
    return found


def score_in(solution: Solution, network: Network) -> float:
    """Sum the scores of a network's sets, all of which the lists have."""
    lists = solution.lists
    assert lists is not None
    known = {
        (child, frozenset(one.parents)): one.score for child in lists.names for one in lists[child]
    }
    return sum(known[child, frozenset(own)] for child, own in network.to_dict().items())


def test_quick_tables_go_straight_to_complete_lists(firsts: list[Network]) -> None:
    seen: list[Progress] = []
    assert learn(table_of(), progress=seen.append).optimal
    assert not firsts
    assert all(at.incumbent is None for at in seen if at.stage == "scoring")


@pytest.mark.usefixtures("long_work")
def test_long_work_begins_with_a_network_and_ends_with_the_same_proof(
    firsts: list[Network], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Progress] = []
    found = learn(table_of(), progress=seen.append)
    (first,) = firsts
    phases = [at.phase for at in seen]
    begun = phases.index(pipeline.NETWORK_FIRST)
    assert phases[begun + 1] == anytime.PHASE
    later = [at for at in seen[begun:] if at.stage == "scoring"]
    known = {at.incumbent for at in later}
    assert len(known) == 1
    assert later[0].phase == "2 parents"
    assert all(at.incumbent is None for at in seen[:begun])
    (score,) = known
    assert score is not None
    assert found.optimal
    assert score <= found.score + 1e-9
    assert first.n_arcs > 0
    monkeypatch.undo()
    other = learn(table_of())
    assert other.lists is not None
    assert found.lists is not None
    assert found.lists.digest == other.lists.digest
    assert found.lists.known().tallies.sets_counted == other.lists.known().tallies.sets_counted
    assert found.score == pytest.approx(other.score, abs=1e-9)


@pytest.mark.usefixtures("long_work")
def test_the_first_network_repeats(firsts: list[Network]) -> None:
    for threads in (1, 2, 1):
        assert learn(table_of(), threads=threads, seed=3).optimal
    assert firsts[0] == firsts[1] == firsts[2]


@pytest.mark.usefixtures("long_work", "no_moment", "ctrl_c")
@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent in another way")
@pytest.mark.parametrize("moment", ["2 parents", anytime.PHASE])
def test_an_interrupt_returns_the_first_network_or_a_better_one(
    firsts: list[Network], moment: str
) -> None:
    sent: list[str] = []

    def interrupt(at: Progress) -> None:
        if at.phase == moment and not sent:
            sent.append(at.phase)
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(UnprovenWarning, match="not proven optimal"):
        found = learn(table_of(), progress=interrupt, threads=1)
    assert sent
    assert found.stopped == "interrupt"
    assert found.scope.complete_to in (1, 2)
    (first,) = firsts
    assert found.score >= score_in(found, first) - 1e-9
    assert found.score == pytest.approx(score_in(found, found.network))
    assert found.bound >= learn(table_of()).score - 1e-9


@pytest.mark.usefixtures("long_work")
def test_lack_of_memory_returns_what_there_is(
    firsts: list[Network], monkeypatch: pytest.MonkeyPatch
) -> None:
    best = learn(table_of())
    firsts.clear()
    monkeypatch.setattr(candidates, "memory_limit", lambda _: used_memory() + 10_000)
    monkeypatch.setattr(SearchState, "spill", lambda *_: False)
    with pytest.warns(UnprovenWarning, match="not proven optimal"):
        found = learn(table_of(), advanced=Advanced(effort=0.01))
    (first,) = firsts
    assert found.stopped == "memory"
    assert found.scope.complete_to is not None
    assert found.score >= score_in(found, first) - 1e-9
    assert found.bound >= best.score - 1e-9


def test_memory_is_half_of_what_is_free_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parentage.work.memory.available_memory", lambda: 10**12)
    assert 0 <= memory_limit(None) - 5 * 10**11 <= 10**10
    assert memory_limit(10**9) == 10**9


@pytest.mark.usefixtures("long_work")
def test_required_arcs_are_in_the_first_network(firsts: list[Network]) -> None:
    table = table_of()
    names = [name for name in table.names if name not in table.constant]
    arcs = {(names[0], names[5]), (names[1], names[5]), (names[7], names[2])}
    found = learn(table, constraints=Constraints(required=frozenset(arcs)))
    (first,) = firsts
    assert arcs <= set(first.arcs)
    assert found.optimal
    assert score_in(found, found.network) == pytest.approx(found.score)


def test_a_search_pauses_once_with_what_all_plans_have(monkeypatch: pytest.MonkeyPatch) -> None:
    tune(monkeypatch, levels, long_level=0.0)
    table = table_of()
    seen: list[Searched] = []
    names = [name for name in table.names if name not in table.constant]
    needed = Scoring(constraints=Constraints(required=frozenset({(names[0], names[5])})))
    found = search_table(table, needed, Context(), pause=seen.append)
    (paused,) = seen
    assert len(paused.outcomes) == len(found.plans) > 1
    assert paused.outcomes[0].complete_to == 1
    most = [max(part.parents.shape[1] for part in outcome.kept) for outcome in paused.outcomes]
    assert max(most) <= 1
    again = search_table(table, needed, Context())
    assert found.lists().digest == again.lists().digest


@pytest.mark.usefixtures("long_work", "save_always", "ctrl_c")
@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent in another way")
def test_a_resumed_run_begins_from_the_same_network(firsts: list[Network], tmp_path: Path) -> None:
    def interrupt(at: Progress) -> None:
        if at.phase == "3 parents":
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(UnprovenWarning):
        learn(table_of(), checkpoint=tmp_path, progress=interrupt)
    (first,) = firsts
    seen: list[Progress] = []
    found = learn(table_of(), checkpoint=tmp_path, progress=seen.append)
    assert firsts == [first]  # it was not searched for again
    assert pipeline.NETWORK_FIRST not in {at.phase for at in seen}
    assert found.network == learn(table_of()).network
    assert found.optimal


@pytest.mark.usefixtures("no_moment")
def test_no_long_level_is_begun_where_lists_will_never_be_complete(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tune(monkeypatch, levels, longest_in_vain=0.0)
    table = table_of()
    assert search_table(table, Scoring(), Context(), foresee=True).complete  # it takes no hour
    tune(monkeypatch, levels, longest_level=1e-9)
    (outcome,) = search_table(table, Scoring(), Context(), foresee=True).outcomes
    assert (outcome.complete_to, outcome.ended) == (1, "forecast")


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("more", [Advanced(width=2.0), Advanced(complete=9)])
def test_lists_whose_reach_was_given_have_no_first_network(
    firsts: list[Network], more: Advanced
) -> None:
    assert learn(table_of(), advanced=more).optimal
    assert not firsts


def test_a_bound_that_says_little_is_not_the_answer(tmp_path: Path) -> None:
    """Then what it was compared with is, in the text, on the page and in files, which keep it."""
    table = table_of(20, 2000)
    with pytest.warns(UnprovenWarning, match="above the network without arcs"):
        found = learn(table, advanced=Advanced(complete=1, effort=0.05))
    compared = found.compared
    assert compared is not None
    assert compared.tree is not None
    empty = Network.from_arcs(table.names, [])
    assert compared.empty == pytest.approx(score_in(found, empty))
    tree = learn(table, max_parents=1)
    assert compared.tree == pytest.approx(tree.score)
    assert compared.empty <= compared.tree <= found.score + 1e-9
    assert found.gap > (found.score - compared.empty) / 2
    assert f"{found.bound:.4f}" not in found.proof()
    assert "above the best tree" in found.proof()
    found.save(tmp_path / "net.json")
    record = read_record(tmp_path / "net.json")
    assert record.finding.compared == compared
    assert record.finding.bound == found.bound
    assert (record.finding.beside() or "nothing") in found.proof()
    said = verdict(record, table)
    assert "above the best tree" in said
    assert "another network may score" not in said


def test_a_gap_of_half_the_gain_says_little() -> None:
    compared = Compared(-1500.0, -1000.0)
    alike = "500 above the network without arcs and equal to that of the best tree"
    assert compared.words(-1000.0) == alike
    assert not compared.says_little(-1000.0, -750.0)
    assert compared.says_little(-1000.0, -749.0)
    assert Finding(-1000.0, -800.0, optimal=False, compared=compared).beside() is None
    assert Finding(-1000.0, -700.0, optimal=False, compared=compared).beside() is not None
    assert Finding(-1000.0, -700.0, optimal=False).beside() is None
