"""Limits hold: the clock leaves compiling out, endings are short, endless searches are ended."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from command import run
from parentage import Constraints, datasets, learn
from parentage.cli.output import say_if_compiling
from parentage.data.table import MISSING, Table
from parentage.errors import InputError, UnprovenWarning
from parentage.kernels import _cache
from parentage.kernels._options import JIT, njit
from parentage.optimise import orders as orders_module
from parentage.optimise.engines import TINY
from parentage.optimise.problem import Problem, offsets_of, pack
from parentage.scoring import candidates
from parentage.scoring.account import Account
from parentage.scoring.candidates import cut_short_text, score, search_table, why_not_grown
from parentage.scoring.lists import CandidateLists
from parentage.scoring.overview import _complete_to
from parentage.scoring.search import levels
from parentage.scoring.search.forecast import Forecast, seconds_for
from parentage.scoring.search.plan import encode_plans, prepare_search
from parentage.scoring.settings import Scoring
from parentage.structural_em import complete_and_score
from parentage.work.context import Context
from parentage.work.stop import CompileClock, Reason, Stop, compiling
from solving import learn_lists
from strategies import make_table
from tuned import tune

if TYPE_CHECKING:
    from parentage.work.progress import Progress


def add_one(x: int) -> int:
    return x + 1


def test_compiling_puts_deadlines_off_and_every_kernel_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mine = CompileClock()
    monkeypatch.setattr(_cache, "compiling", mine)
    monkeypatch.setattr("parentage.work.stop.compiling", mine)
    told: list[tuple[bool, int]] = []
    mine.tell = lambda cached, begun: told.append((cached, begun))
    stop = Stop.after(1000.0)
    share = stop.share(0.5)
    began = time.monotonic()
    for _ in range(2):
        assert njit(**{**JIT, "cache": False})(add_one)(1) == 2
    took = time.monotonic() - began
    assert told == [(False, 1), (False, 2)]
    assert 0 < mine.seconds <= took
    assert stop.seconds_left == pytest.approx(1000.0 - took + mine.seconds, abs=0.5)
    assert stop.seconds_left > 1000.0 - took
    assert share.seconds_left == pytest.approx(stop.seconds_left - 500.0, abs=1e-3)
    assert stop.share(0.5).seconds_left == pytest.approx(stop.seconds_left / 2, abs=0.1)


def test_a_bar_counts_the_kernels(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = CompileClock()
    monkeypatch.setattr("parentage.work.stop.compiling", mine)
    seen: list[Progress] = []
    say_if_compiling(seen.append)
    for _ in range(3):
        mine.begins(cached=False)
    assert capsys.readouterr().err.count("compiling parts of the program") == 1
    assert [(at.stage, at.done) for at in seen] == [("compiling", done) for done in range(3)]
    assert all(at.total > at.done for at in seen)
    assert seen[0].seconds_left is None and seen[2].seconds_left is not None


def test_loading_counts_as_working_time() -> None:
    mine = CompileClock()
    assert mine.timed(math.sqrt, 4.0) == 2.0
    assert mine.seconds == 0.0
    with pytest.raises(ValueError, match="math"):
        mine.timed(math.sqrt, -1.0)

    def slow() -> None:
        mine.begins(cached=True)
        time.sleep(0.01)

    mine.timed(mine.timed, slow)
    assert 0.01 <= mine.seconds < 1.0


def test_compiling_is_not_booked_as_scoring_or_solving(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does a limit count it: half a second of compiling within a limit of 0.4 s."""

    def compile_slowly() -> None:
        compiling.begins(cached=True)
        time.sleep(0.5)

    run = levels.LevelSearch.run

    def compiled_first(search: levels.LevelSearch) -> object:
        compiling.timed(compile_slowly)
        return run(search)

    table = datasets.chest_clinic(100)
    learn(table, threads=1)
    monkeypatch.setattr(levels.LevelSearch, "run", compiled_first)
    before = compiling.seconds
    found = learn(table, threads=1, time_limit=0.4)
    assert compiling.seconds - before >= 0.5
    assert found.optimal
    assert found.lists is not None
    assert found.lists.known().tallies.seconds < 0.4
    assert found.seconds < 0.4


def lists_of(n: int) -> CandidateLists:
    """Lists in which each variable has the two next ones as candidates, in a ring."""
    families = {}
    for v in range(n):
        one, two = f"v{(v + 1) % n}", f"v{(v + 2) % n}"
        families[f"v{v}"] = [(-3.0 - v % 3, []), (-1.0, [one]), (-2.0, [two]), (-0.5, [one, two])]
    return CandidateLists.from_families(families)


def test_without_time_the_network_at_hand_is_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """No climb where a network to start from is known: with thousands of variables it is long."""
    lists = lists_of(12)
    best = learn_lists(lists)
    monkeypatch.setattr(orders_module, "first_incumbent", pytest.fail)
    monkeypatch.setattr("parentage.optimise.engines.first_incumbent", pytest.fail)
    found = learn_lists(lists, start=best.network, stop=Stop().at_once())
    assert found.score == best.score
    assert found.stopped == "time"


def test_without_time_and_network_there_is_an_answer() -> None:
    found = learn_lists(lists_of(12), stop=Stop().at_once())
    assert math.isfinite(found.score) and found.bound >= found.score


def test_members_of_masks() -> None:
    rng = np.random.default_rng(0)
    for n, m in ((1, 3), (63, 20), (64, 20), (65, 20), (200, 50)):
        flags = rng.random((m, n)) < rng.choice([0.02, 0.4])
        flags[0] = True
        problem = Problem(
            np.arange(n), np.array([0, m]), pack(flags), np.zeros(m), np.arange(m, dtype=np.int64)
        )
        _, starts, parents = problem.members
        assert starts.tolist() == offsets_of(flags.sum(axis=1)).tolist()
        assert parents.tolist() == np.nonzero(flags)[1].tolist()


@pytest.mark.parametrize("name", ["bic", "bdeu", "pnal"])
def test_small_work_is_finished_whatever_the_clock_says(name: str) -> None:
    """By forecasts from sizes alone, so that a busy machine makes no difference."""
    table = datasets.chest_clinic(250)
    small = table.select(table.names[:3])
    for data in (small, table):
        late, whole = learn(data, score=name, time_limit=0), learn(data, score=name)
        assert late.optimal and late.scope.origin.complete
        assert (late.score, late.network) == (whole.score, whole.network)


def test_small_work_ends_at_an_interrupt() -> None:
    stop = Stop()
    stop.cancelled.set()
    table = datasets.chest_clinic(250)
    searched = search_table(table, Scoring(), Context(stop))
    assert [outcome.ended for outcome in searched.outcomes] == ["interrupt"]
    solution = learn_lists(score(table), stop=stop)
    assert (solution.optimal, solution.stopped) == (False, "interrupt")


def test_after_the_time_limit_there_is_a_moment_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not one for each level: pairs and triples leave too little of 150 joins for at most 140."""
    table, settings = datasets.chest_clinic(250), Scoring(rules="none")
    price = seconds_for(1, encode_plans(prepare_search(table, settings))[0].encoded.distinct_rows)
    monkeypatch.setattr("parentage.work.stop.MOMENT", 150 * price)
    cut = search_table(table, settings, Context(Stop.after(0.0)))
    assert [outcome.complete_to for outcome in cut.outcomes] == [2]


def test_small_parts_are_solved_whatever_the_clock_says(monkeypatch: pytest.MonkeyPatch) -> None:
    table = make_table(np.random.default_rng(3).integers(0, 2, (12, 40)).tolist())
    lists = score(table, score="aic", max_parents=2)
    whole = learn_lists(lists)
    assert max(whole.record.parts) > TINY
    late = learn_lists(lists, time_limit=0)
    assert late.optimal and late.score == whole.score
    limited = learn_lists(lists, gap_limit=1e6)
    assert limited.stopped == "gap"
    assert not learn_lists(lists, stop=Stop().at_once()).optimal
    monkeypatch.setattr("parentage.work.stop.MOMENT", 0.0)
    assert not learn_lists(lists, time_limit=0).optimal


@pytest.mark.usefixtures("no_moment")
@pytest.mark.parametrize("name", ["bic", "bdeu", "pnal"])
def test_single_parents_are_searched_without_time(name: str) -> None:
    """An empty network would be no answer, and pairs take no time."""
    table = datasets.chest_clinic(300)
    with pytest.warns(UnprovenWarning):
        found = learn(table, score=name, time_limit=0)
    alone = learn(table, score=name, max_parents=1)
    assert isinstance(found.scope.origin, Account)
    assert found.scope.origin.complete_to == 1
    assert found.network.n_arcs > 0
    assert found.score <= alone.score + 1e-9


@pytest.mark.usefixtures("no_moment")
def test_single_parents_are_finished_if_that_takes_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A short limit finds no worse network than a shorter one, whose level was cut elsewhere."""
    tune(monkeypatch, levels, most_joins=8)
    table = datasets.chest_clinic(300)
    with pytest.warns(UnprovenWarning):
        slow = score(table, time_limit=0, threads=1, progress=lambda _: time.sleep(0.15))
    assert slow.known().complete_to == 1


@pytest.mark.usefixtures("no_moment")
def test_a_first_level_that_is_cut_short_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    tune(monkeypatch, candidates, first_level=0.0)
    tune(monkeypatch, levels, most_joins=8)
    table = datasets.chest_clinic(300)
    whole = {child: dict(lists_by_set(score(table), child)) for child in table.names}
    with pytest.warns(UnprovenWarning):
        cut = score(table, time_limit=0, threads=1)
    found = [(child, *one) for child in table.names for one in lists_by_set(cut, child)]
    assert cut.known().complete_to == 0
    assert cut.known().explored == len(found) - 8 > 0
    for child, members, value in found:
        assert members == frozenset() or whole[child].get(members) == value


def lists_by_set(lists: CandidateLists, child: str) -> list[tuple[frozenset[str], float]]:
    return [(frozenset(one.parents), one.score) for one in lists[child]]


@pytest.mark.usefixtures("no_moment")
@pytest.mark.parametrize("name", ["bic", "bdeu", "pnal"])
def test_a_level_that_cannot_be_finished_is_not_begun(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(levels.LevelSearch, "_at_least", lambda *_: math.inf)
    table, stop = datasets.chest_clinic(100), Stop.after(1000.0)
    searched = search_table(table, Scoring(score=name), Context(stop), foresee=True)
    assert [outcome.complete_to for outcome in searched.outcomes] == [1]


class Short(Stop):
    """Leaves no time, and does not end the work."""

    @property
    def seconds_left(self) -> float:
        return 0.0

    def reason(self) -> Reason | None:
        return None


def test_no_step_is_begun_that_cannot_be_finished() -> None:
    table = datasets.chest_clinic(100)
    codes = table.to_codes().copy()
    codes[0, ::7], codes[3, 1::9] = MISSING, MISSING
    holes = Table(table.names, table.states, codes)
    found = complete_and_score(holes, Scoring(), Context(Short()))
    completion = found.lists.known().completion
    assert completion is not None
    assert len(completion.steps) == completion.starts == 1
    assert found.network.n_arcs > 0


def test_info_speaks_of_completion(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    rows = [",".join("xyz"[int(cell)] for cell in rng.integers(0, 2, 4)) for _ in range(40)]
    table = tmp_path / "holes.csv"
    table.write_text("\n".join(["a,b,c,d", "x,,y,x", *rows]))
    done = run("info", str(table), "--missing", "em")
    assert done.returncode == 0
    assert "one step of --missing em" in done.stdout
    assert "proves it optimal" in done.stdout
    assert "--missing em" not in run("info", str(table), "--missing", "mode").stdout


def test_info_says_what_ends_complete_lists() -> None:
    takes = [(10, 1.0, 10), (100, 2.0, 100), (10**6, 1e6, 10**9)]
    rows = [
        Forecast(sets, "counted", sets, seconds, memory, (1,) * (parents + 1))
        for parents, (sets, seconds, memory) in enumerate(takes, 1)
    ]
    assert _complete_to(rows, 10**12) == (2, "time")
    assert _complete_to(rows, 10**6) == (2, "memory")
    assert _complete_to(rows, 10**12, 50) == (1, "sets")
    assert _complete_to(rows[:2], 10**12) == (None, None)
    slow = [rows[0], replace(rows[1], seconds=600.0), rows[2]]
    assert _complete_to(slow, 10**12) == (1, "time")  # ten minutes for nothing are not spent
    assert _complete_to(slow[:2], 10**12) == (None, None)


@pytest.mark.parametrize("name", ["bdeu", "k2", "pnal"])
def test_a_level_of_too_many_sets_is_not_begun(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    tune(monkeypatch, levels, most_sets=25)
    rng = np.random.default_rng(0)
    table = make_table([[int(c) for c in rng.integers(0, 2, 40)] for _ in range(7)])
    with pytest.warns(UnprovenWarning, match=r"stopped by the forecast.*complete up to 1 parent"):
        lists = score(table, score=name)
    assert lists.known().ended == "forecast"
    assert score(table, score=name, max_parents=3).account.complete  # asked for
    assert score(table, score=name, time_limit=1000).account.complete  # ends by the clock
    assert score(table).account.complete  # ends by its rules


def test_what_does_not_grow_says_why() -> None:
    table = datasets.chest_clinic(100)
    required = Constraints(required=frozenset({("smoke", "lung")}))
    asked: list[dict[str, Any]] = [
        {}, {"score": "bdeu"}, {"prior": 0.3}, {"constraints": required}, {"score": "pnal"},
    ]  # fmt: skip
    for how in asked:
        assert why_not_grown(score(table, max_parents=1, **how).known()) is None
    wide = score(table, max_parents=1, width=1.0).known()
    assert why_not_grown(wide) == "lists with a width cannot be expanded"


def test_a_warning_of_learn_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    tune(monkeypatch, levels, most_sets=20)
    with pytest.warns(UnprovenWarning):
        lists = score(datasets.chest_clinic(100), score="bdeu", width=1.0)
    assert "cannot be expanded" in cut_short_text(lists, growing=True)
    assert "cannot be expanded" not in cut_short_text(lists)


def test_a_page_is_not_a_network(tmp_path: Path) -> None:
    page = tmp_path / "x.html"
    page.write_text("<html></html>")
    done = run("query", str(page))
    assert done.returncode == 2
    assert "is a report, from which no network can be read; write a .json or .bif" in done.stderr
    other = tmp_path / "x.doc"
    other.write_text("x")
    assert ".svg" not in run("query", str(other)).stderr


def test_a_network_is_not_a_table(tmp_path: Path) -> None:
    network = tmp_path / "x.bif"
    network.write_text("network unknown {}\n")
    done = run("info", str(network))
    assert done.returncode == 2
    assert "x.bif has the extension of a network" in done.stderr and "for queries" in done.stderr


def test_swapped_arguments_of_check(tmp_path: Path) -> None:
    table, proof = str(tmp_path / "table.csv"), str(tmp_path / "proof.json")
    rng = np.random.default_rng(1)
    rows = [",".join("xy"[int(cell)] for cell in rng.integers(0, 2, 3)) for _ in range(30)]
    Path(table).write_text("\n".join(["a,b,c", *rows]))
    assert run("learn", table, "--certificate", proof, "-k", "1").returncode == 0
    done = run("check", proof, table)
    assert done.returncode == 2
    assert f"type parentage check {table} {proof}" in done.stderr


def test_a_size_that_no_machine_has_is_said_so() -> None:
    from parentage.cli.score import _forecast_text

    said = _forecast_text(Forecast(10**9, "at most", 10**9, 1e9, 834 * 10**12))
    assert said.endswith("834 TB of memory: far beyond any machine.")
    assert _forecast_text(Forecast(10, "counted", 10, 1.0, 10**7)).endswith("10 MB of memory.")


def test_limits_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="time limit"):
        Stop.after(-1.0)
    with pytest.raises(InputError, match="memory='much' is not a size"):
        learn(datasets.chest_clinic(100), memory="much")
    with pytest.raises(InputError, match="time_limit='soon' is text; a number is needed"):
        learn(datasets.chest_clinic(100), time_limit="soon")  # type: ignore[arg-type]  # the same


def test_a_limit_of_memory_may_be_a_float() -> None:
    assert Stop.after(None, 4e9).memory == 4 * 10**9
    assert isinstance(Stop.after(None, 4e9).memory, int)


@pytest.mark.parametrize("width", [None, 0.0, 3.0])
def test_lists_of_complete_levels_stay_as_they_are_beside_a_cut_one(
    monkeypatch: pytest.MonkeyPatch, width: float | None
) -> None:
    """With a width ties stay, too: what is left out is compared as the search compares."""
    tune(monkeypatch, levels, most_joins=8)
    tune(monkeypatch, levels, fewest_joins=8)
    table = datasets.chest_clinic(1000)
    cut = search_table(table, Scoring(width=width), Context(), up_to=1)
    more = search_table(table, Scoring(width=width), Context(), up_to=2)
    partial = [part for part in more.outcomes[0].kept if part.parents.shape[1] == 2]
    assert partial
    outcome = replace(cut.outcomes[0], partial=partial[:1])
    found = replace(cut, outcomes=(outcome,)).with_partial().lists()
    complete = score(table, width=width, max_parents=1)
    for name in table.names:
        small = {one.parents: one.score for one in found[name] if len(one.parents) < 2}
        assert small == {one.parents: one.score for one in complete[name]}


TERMINATED = """
import os, signal, sys
from parentage import datasets, learn

def report(at):
    os.kill(os.getpid(), signal.SIGTERM)

def mine(number, frame):
    print("mine", flush=True)

if sys.argv[2] == "mine":
    signal.signal(signal.SIGTERM, mine)
learn(datasets.chest_clinic(200), threads=1, progress=report, checkpoint=sys.argv[1])
print("returned", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no signals between processes")
def test_in_python_sigterm_ends_the_process_after_the_work_is_wound_up(tmp_path: Path) -> None:
    """A loop around ``learn`` does not survive it; a handler of the user's is left alone."""
    command = [sys.executable, "-c", TERMINATED, str(tmp_path / "kept")]
    done = subprocess.run([*command, "usual"], capture_output=True, text=True)
    assert done.returncode == -signal.SIGTERM, done.stderr
    assert done.stdout == ""
    assert (tmp_path / "kept" / "search-0.state").exists()
    command[-1] = str(tmp_path / "other")
    done = subprocess.run([*command, "mine"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == {"mine", "returned"}
