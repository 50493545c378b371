"""Lists that grow and are killed go on, and end as if nothing had happened."""

from __future__ import annotations

import os
import shutil
import signal
import time
import warnings
from dataclasses import replace
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

from keywords import for_learn
from parentage import Network
from parentage.errors import InputError, NotSavedWarning, UnprovenWarning, WorkersError
from parentage.growth import anytime, growth
from parentage.growth import score as sweeps
from parentage.growth.anytime import Anytime, grow_lists, memory_of_sweeps
from parentage.growth.score import Sweeps, count_sweeps, growth_score
from parentage.growth.tuning import TUNING as EXPANSION
from parentage.optimise import orders
from parentage.optimise.orders import Stream
from parentage.pipeline import learn
from parentage.scoring.account import Account
from parentage.scoring.candidates import search_table
from parentage.scoring.constraints import Constraints
from parentage.scoring.search import levels
from parentage.scoring.search.plan import encode_plans, prepare_search
from parentage.scoring.settings import Scoring
from parentage.work import checkpoint
from parentage.work.checkpoint import Checkpoint, SavedState
from parentage.work.context import Context
from parentage.work.stop import Stop
from parentage.work.tuning import TUNING
from test_checkpoint import Dying
from test_growth import wide_table
from tuned import tune

if TYPE_CHECKING:
    from collections.abc import Callable

    from parentage.data.table import Table
    from parentage.optimise import Solution
    from parentage.optimise.problem import OrderSpace

GROWTH = "growth.state"
SMALL, LARGE = 16, 104
"""Variables: in the larger table a climb takes several rounds."""
EFFORT = {SMALL: 0.1, LARGE: 0.6}


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch, save_always: None) -> None:
    """Short rounds, each of them saved, and so few sweeps held that they have to go."""
    short = replace(EXPANSION, sets_at_once=24, fewest_sweeps=96, sweep_bytes=1)
    for module in (anytime, growth, sweeps):
        monkeypatch.setattr(module, "TUNING", short)
    monkeypatch.setattr(orders, "BUDGET", 20_000)
    monkeypatch.setattr(orders, "ROUNDS_OF_CLIMBS", 1)


class Killed(BaseException):
    """The process ends here; what is in memory is gone."""


class End(NamedTuple):
    """What has to be the same: lists, account with its counts of work, network, score, bound."""

    digest: str
    account: Account
    network: Network
    score: float
    bound: float


@cache
def table(n: int, seed: int = 3) -> Table:
    return wide_table(seed, n, 120)


def grown(folder: Path | None, n: int = SMALL, **how: Any) -> Solution:
    """Expand lists; by the order search alone, whose rounds are many, unless asked for."""
    limits = {"complete": 1, "effort": EFFORT[n], "threads": 1, "engine": "orders"}
    options = {**limits, "checkpoint": folder, **how}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnprovenWarning)
        return learn(options.pop("table", table(n)), **for_learn(**options))


def end_of(solution: Solution) -> End:
    account = solution.scope.origin
    assert isinstance(account, Account)
    account = replace(account, tallies=replace(account.tallies, seconds=0.0))
    assert account.digest is not None
    return End(account.digest, account, solution.network, solution.score, solution.bound)


def unbroken(n: int = SMALL, **how: Any) -> End:
    """Where a run ends that nothing breaks; every such run is made once."""
    return _unbroken(n, orders.CLIMB, **how)


@cache
def _unbroken(n: int, _climb: int, **how: Any) -> End:
    return end_of(grown(None, n, **how))


def killed_at(rounds: int, folder: Path, n: int = SMALL, **how: Any) -> bool:
    """Go on, and die after so many rounds; False if it ended before."""
    left, end_round = [rounds], Anytime._end_round

    def ending(run: Anytime) -> None:
        end_round(run)
        left[0] -= run._whole
        if left[0] == 0:
            raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Anytime, "_end_round", ending)
        try:
            grown(folder, n, **how)
        except Killed:
            return True
    return False


def kept_in(folder: Path) -> SavedState:
    state = Checkpoint(folder).slot("growth").state
    assert state is not None
    return state


@pytest.mark.parametrize(("n", "threads"), [(SMALL, 2), (LARGE, 1)])
def test_lists_that_grow_end_as_without_a_break(tmp_path: Path, n: int, threads: int) -> None:
    """Killed after every round in turn, each time from where it was: none is lost or changed."""
    whole = unbroken(n)
    rounds = 0
    while killed_at(2, tmp_path / "kept", n, threads=threads):  # the first is what it goes on from
        rounds += 1
    assert rounds > 4
    assert end_of(grown(tmp_path / "kept", n, threads=threads)) == whole
    grown(tmp_path / "open", n)
    assert state_of(tmp_path / "kept") == state_of(tmp_path / "open")
    again = grown(tmp_path / "kept", n)  # all is done, and still there
    assert end_of(again) == whole


def test_one_kill_is_enough(tmp_path: Path) -> None:
    whole = unbroken()
    for rounds in (1, 6):
        folder = tmp_path / str(rounds)
        assert killed_at(rounds, folder)
        assert end_of(grown(folder)) == whole


def test_workers_that_are_lost_leave_what_was_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    never = replace(TUNING, writing_share=0.0)
    monkeypatch.setattr(checkpoint, "TUNING", never)  # nothing is written on the way
    hold, calls, last = Sweeps.hold, [0], [0]

    def losing(sweeps: Sweeps, *given: Any) -> None:
        calls[0] += 1
        if calls[0] == last[0]:
            raise WorkersError("all of them", "start others")
        hold(sweeps, *given)

    with monkeypatch.context() as patch:
        patch.setattr(Sweeps, "hold", losing)
        whole = end_of(grown(None))
        last[0] = 2 * calls[0] - 1  # near the end of the next run
        with pytest.raises(WorkersError):
            grown(tmp_path / "kept")
    assert kept_in(tmp_path / "kept").values["counted"] > 0
    assert end_of(grown(tmp_path / "kept")) == whole


KINDS: dict[str, dict[str, Any]] = {
    "sums, required arcs, prior": {
        "score": "bdeu",
        "constraints": Constraints(
            required=frozenset((f"v{p}", f"v{x}") for p in (1, 2) for x in range(4, 12))
        ),
        "prior": 0.2,
    },
    "a sweep of each child": {"score": "pnal"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_lists_goes_on(tmp_path: Path, kind: str) -> None:
    """Their sweeps have several counters, whose numbers are kept with them."""
    how = KINDS[kind]
    whole = end_of(grown(None, **how))
    assert killed_at(3, tmp_path / "kept", **how)
    arrays = kept_in(tmp_path / "kept").arrays
    held = [(counter, tuple(row[:size])) for counter, size, *row in arrays["held"].tolist()]
    assert len({counter for counter, _ in held}) > 1
    assert end_of(grown(tmp_path / "kept", **how)) == whole


ROUND = (
    "orders", "work", "random", "stale", "order", "closed", "rise", "counts", "solving",
)  # fmt: skip
"""Arrays that say where the search for a network is."""


BREAKS: dict[str, tuple[int, int, dict[str, Any], tuple[str, ...]]] = {
    "orders": (3, SMALL, {}, ("orders", "random", "order", "closed", "counts", "held", "counted")),
    "a climb pauses": (7, SMALL, {}, ("stale",)),
    "many variables": (3, LARGE, {}, ("work",)),
    "solving": (3, SMALL, {"engine": "auto"}, ("rise", "solving")),
    "cuts": (3, SMALL, {"engine": "branch-and-cut", "effort": 0.6}, ("cuts", "price")),
}
"""After how many rounds a run is killed, on how many variables, how; and parts then needed."""


def test_every_part_of_a_round_is_forgotten_once() -> None:
    tried = [part for *_, parts in BREAKS.values() for part in parts]
    assert sorted(tried) == sorted([*ROUND, "held", "counted", "cuts", "price"])


@pytest.mark.parametrize("where", BREAKS)
def test_whatever_is_forgotten_would_change_the_end(tmp_path: Path, where: str) -> None:
    """The comparison notices if any part of what is kept were not: so all of it is needed."""
    rounds, n, how, parts = BREAKS[where]
    folder = tmp_path / "kept"
    assert killed_at(rounds, folder, n, **how)
    copies = [shutil.copytree(folder, tmp_path / part) for part in parts]
    grown(folder, n, **how)
    read = checkpoint.read_sealed
    for part, copy in zip(parts, copies, strict=True):

        def forgetting(path: Path, part: str = part) -> SavedState | None:
            found = read(path)
            return found if found is None or path.name != GROWTH else forgotten(found, part, n)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(checkpoint, "read_sealed", forgetting)
            grown(copy, n, **how)
        assert state_of(copy) != state_of(folder), part


@pytest.mark.parametrize("engine", ["auto", "branch-and-cut"])
def test_lists_that_are_expanded_and_solved_in_turn_end_as_without_a_break(
    tmp_path: Path, engine: str
) -> None:
    """Cuts and prices are saved: the lists are solved again from the same state."""
    whole = unbroken(engine=engine, effort=0.6)
    rounds = 0
    while killed_at(2, tmp_path / "kept", engine=engine, effort=0.6):
        rounds += 1
    assert rounds > 2
    assert kept_in(tmp_path / "kept").values["cuts"] or engine == "auto"
    assert end_of(grown(tmp_path / "kept", engine=engine, effort=0.6, threads=2)) == whole


def state_of(folder: Path) -> bytes:
    """All that is kept of growing: families, sweeps, streams with their random numbers."""
    return (folder / GROWTH).read_bytes()


def forgotten(known: SavedState, part: str, n: int) -> SavedState:
    """What was saved, but for one part of it."""
    if part == "held":
        none = {name: known.arrays[name][:0] for name in ("held",)}
        return known._replace(arrays={**known.arrays, **none})
    if part == "cuts":
        return known._replace(values={**known.values, "cuts": []})
    if part == "counted":
        return known._replace(values={**known.values, "counted": 0})
    instead: dict[str, Callable[[Any], Any]] = {
        "orders": lambda value: np.broadcast_to(np.arange(n), value.shape),
        "order": lambda value: np.arange(n),
        "closed": np.ones_like,
    }
    value = instead.get(part, np.zeros_like)(known.arrays[part])
    return known._replace(arrays={**known.arrays, part: value})


def died(work: Callable[[], object], seconds: float | None = None) -> bool:
    """Work in a process of its own, and kill it after a time; False if it ended before."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def dying(calls: int, folder: Path, n: int) -> None:
    """Go on, and die by SIGKILL at some call: in a write or a round, before it or after."""
    Dying.left = calls
    for owner, name in ((os, "fsync"), (Path, "replace"), (Sweeps, "hold"), (Stream, "advance")):
        setattr(owner, name, Dying(getattr(owner, name), bool(calls % 2)))
    grown(folder, n)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_that_is_killed_goes_on(tmp_path: Path) -> None:
    random, whole, folder = np.random.default_rng(1), unbroken(), tmp_path / "kept"
    for calls in random.integers(10, 40, 5).tolist():
        assert died(partial(dying, calls, folder, SMALL))
    assert end_of(grown(folder)) == whole


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("n", [SMALL, LARGE])
@pytest.mark.parametrize("seed", range(3))
def test_a_process_that_is_killed_twenty_times_goes_on(tmp_path: Path, n: int, seed: int) -> None:
    """At random moments; now and then from the beginning."""
    random, deaths, went_on = np.random.default_rng(seed), 0, 0
    whole, folder = unbroken(n), tmp_path / "kept"
    began = time.monotonic()
    grown(None, n)
    took = time.monotonic() - began
    for kill in range(20):
        if kill % 5 == 4:
            shutil.rmtree(folder, ignore_errors=True)
        went_on += (folder / GROWTH).exists()
        deaths += died(lambda: grown(folder, n), took * random.uniform(0.0, 1.0))
    assert deaths > 5
    assert went_on > 5
    assert end_of(grown(folder, n)) == whole


def test_more_effort_goes_on_as_if_it_had_been_given_at_once(tmp_path: Path) -> None:
    """However an effort ends, within a round or after one, what is kept does not depend on it."""
    n = LARGE
    whole = unbroken(n)
    efforts = np.linspace(0.1, 0.9, 5) * EFFORT[n]
    explored = [
        grown(tmp_path / "kept", n, effort=float(effort)).scope.explored for effort in efforts
    ]
    assert explored == sorted(explored)
    assert len(set(explored)) > 2
    assert end_of(grown(tmp_path / "kept", n)) == whole


@pytest.mark.parametrize("sweep", [2, 9, 30])
def test_a_run_that_was_stopped_goes_on(tmp_path: Path, sweep: int) -> None:
    """Ctrl-C, SIGTERM and a time limit end a round in the middle; it is done again."""
    whole, folder, stop, calls = unbroken(), tmp_path / "kept", Stop(), 0
    hold = Sweeps.hold

    def cancelling(sweeps: Sweeps, *given: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == sweep:
            stop.cancelled.set()
        hold(sweeps, *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Sweeps, "hold", cancelling)
        kept = Checkpoint(folder)
        found = search_table(table(SMALL), Scoring(), Context(checkpoint=kept), up_to=1)
        grow_lists(found, 1e9, Context(stop, checkpoint=kept))
    assert calls >= sweep
    assert (folder / GROWTH).exists()
    assert end_of(grown(folder)) == whole


@pytest.mark.parametrize("question", [3, 20, 45, 83])
def test_a_stop_at_any_pause_changes_no_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, question: int
) -> None:
    """While it climbs, settles or is in the middle of a round: nothing of that is kept."""
    monkeypatch.setattr(orders, "CLIMB", 5_000)
    whole = unbroken(LARGE)
    asked, is_over = count(1), Stop.is_over

    def asking(stop: Stop) -> bool:
        if next(asked) == question:
            stop.cancelled.set()
        return is_over(stop)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stop, "is_over", asking)
        assert grown(tmp_path / "kept", LARGE).stopped == "interrupt"
    assert end_of(grown(tmp_path / "kept", LARGE)) == whole


def test_a_round_that_gains_and_is_cut_short_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last of its streams hears of the stop at a pause; what the others found is there."""
    monkeypatch.setattr(orders, "CLIMB", 5_000)
    monkeypatch.setattr(orders, "BUDGET", 1_000_000)  # more than repairing takes
    gaining = {"seed": 5, "effort": 1.5}  # two of its rounds gain
    gained, one_round = [], Anytime._round

    def noting(run: Anytime) -> bool:
        gained.append(one_round(run))
        return gained[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Anytime, "_round", noting)
        grown(tmp_path / "whole", LARGE, **gaining)
    later = gained.index(True, gained.index(True) + 1)
    cut_at, advance, cut = 4 * later + 3, Stream.advance, []
    calls = count()

    def advancing(
        stream: Stream, space: OrderSpace, budget: int, stopped: Callable[[], bool]
    ) -> bool:
        if next(calls) != cut_at:
            return advance(stream, space, budget, stopped)
        answers = iter([False, True])
        cut.append(advance(stream, space, budget, lambda: next(answers)))
        stopped.__self__.cancelled.set()  # type: ignore[attr-defined]  # a method of the stop
        return cut[0]

    gained.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Anytime, "_round", noting)
        patch.setattr(Stream, "advance", advancing)
        grown(tmp_path / "kept", LARGE, **gaining)
    assert cut == [False]
    assert gained[-1]
    grown(tmp_path / "kept", LARGE, **gaining)
    assert state_of(tmp_path / "kept") == state_of(tmp_path / "whole")


def test_a_round_that_a_stop_cut_short_is_not_kept(tmp_path: Path) -> None:
    """Were it kept, the check above would notice: the end is another one."""
    grown(tmp_path / "whole", LARGE)
    folder, end_round = tmp_path / "kept", Anytime._end_round

    def saving(run: Anytime) -> None:
        run._whole = True
        end_round(run)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Anytime, "_end_round", saving)
        grown(folder, LARGE, effort=0.2 * EFFORT[LARGE])
        grown(folder, LARGE)
    assert state_of(folder) != state_of(tmp_path / "whole")


def test_sweeps_are_held_as_before_under_the_same_limit(tmp_path: Path) -> None:
    assert memory_of_sweeps(None, 10**9, 123_456) == 123_456
    found = search_table(table(SMALL), Scoring(), Context(), up_to=1)
    grow_lists(found, 0.001, Context(Stop(memory=10**10), checkpoint=Checkpoint(tmp_path)))
    kept = kept_in(tmp_path)
    held = kept.values["memory"]
    assert held is not None
    assert memory_of_sweeps(kept, 10**10, 1) == held
    assert memory_of_sweeps(kept, 10**9, 1) == 1
    assert memory_of_sweeps(kept, None, None) is None


@pytest.mark.parametrize("capacity", [96, 4096])
def test_sweeps_that_were_held_are_counted_again_but_not_as_new(capacity: int) -> None:
    prepared = prepare_search(table(SMALL), Scoring(max_parents=1))
    by = growth_score(prepared, encode_plans(prepared))
    random = np.random.default_rng(5)
    asked = [
        [(0, tuple(sorted(random.choice(SMALL, 3, replace=False).tolist()))) for _ in range(24)]
        for _ in range(40)
    ]
    memory = 8 * SMALL * capacity
    whole, before, after = (Sweeps(by, 1, memory) for _ in range(3))
    for some in asked:
        whole.hold(some)
    for some in asked[:20]:
        before.hold(some)
    after.take_up(list(before.row), before.counted)
    for some in asked[20:]:
        after.hold(some)
        for sweep in some:
            assert (after.vectors[after.row[sweep]] == count_sweeps(by, [sweep])[0]).all()
    assert after.counted == whole.counted
    assert list(after.row) == list(whole.row)
    assert (len(whole.row) == 96) == (capacity == 96)


DIFFERENT: dict[str, tuple[dict[str, Any], str]] = {
    "seed": ({"seed": 3}, "seed was 0, is 3"),
    "start": (
        {"start": Network.from_arcs([f"v{v}" for v in range(SMALL)], [("v0", "v1")])},
        r'start was not set, is \[\["v0", "v1"\]\]',
    ),
    "table": ({"table": wide_table(4, SMALL, 120)}, "the table is another one"),
    "score": ({"score": "aic"}, "score was bic, is aic"),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_a_checkpoint_of_another_job_is_refused(tmp_path: Path, what: str) -> None:
    assert killed_at(2, tmp_path / "kept")  # solving has not begun
    options, words = DIFFERENT[what]
    with pytest.raises(InputError, match="belongs to another job: .*" + words):
        grown(tmp_path / "kept", **options)


def test_another_version_or_format_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert killed_at(2, tmp_path / "kept")
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "FORMAT", 9)
        with pytest.raises(InputError, match=r"job\.state.* has format 1, and this .* reads 9"):
            grown(tmp_path / "kept")
    monkeypatch.setattr("parentage.__version__", "9.9")
    with pytest.raises(InputError, match=r"version was .*, is 9\.9"):
        grown(tmp_path / "kept")


def test_damage_is_noticed(tmp_path: Path) -> None:
    """Every byte counts: one that changed is told, not worked with."""
    folder = tmp_path / "kept"
    assert killed_at(2, folder)
    path, whole, random = folder / GROWTH, state_of(folder), np.random.default_rng(1)
    for at in [0, len(whole) - 1, *random.integers(0, len(whole), 40).tolist()]:
        changed = bytearray(whole)
        changed[at] ^= 1 + int(random.integers(0, 15))
        path.write_bytes(bytes(changed))
        with pytest.raises(InputError, match=r"damaged|of format"):
            kept_in(folder)
    for length in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match="damaged"):
            kept_in(folder)
    path.write_bytes(whole)
    assert kept_in(folder).values["counted"] > 0


def test_a_full_disk_is_told_and_gone_on_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, writes = unbroken(), 0
    write = checkpoint.write_synced

    def full(path: Path, *content: bytes | memoryview) -> None:
        nonlocal writes
        writes += path.name == GROWTH
        if writes > 3:
            raise OSError(28, os.strerror(28))
        write(path, *content)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "write_synced", full)
        with warnings.catch_warnings(record=True, action="default") as told:
            assert end_of(grown(tmp_path / "kept")) == whole
    (words,) = (str(one.message) for one in told if one.category is NotSavedWarning)
    assert "No space left on device; the work continues but is not saved" in words
    assert end_of(grown(tmp_path / "kept")) == whole


def test_a_search_that_came_further_takes_the_order_alone(tmp_path: Path) -> None:
    grown(tmp_path / "kept")
    then = kept_in(tmp_path / "kept").arrays["order"].tolist()
    seen, first_streams = [], anytime.first_streams

    def noting(*given: Any) -> list[Stream]:
        seen.append(given[2])
        return first_streams(*given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(anytime, "first_streams", noting)
        patch.setattr(Anytime, "resume", None)
        further = grown(tmp_path / "kept", complete=2)
    assert seen == [then]
    assert further.scope.complete_to == 2


@pytest.mark.usefixtures("no_moment")
def test_a_level_that_would_take_days_is_not_begun_after_a_break(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The forecast of a level rests on the one below, which was searched before the break."""
    tune(monkeypatch, levels, longest_level=0.0)
    whole = end_of(grown(None, complete=None))
    assert (whole.account.ended, whole.account.complete_to) == ("forecast", 1)
    assert killed_at(2, tmp_path / "kept", complete=None)
    assert end_of(grown(tmp_path / "kept", complete=None)) == whole


def test_saving_takes_a_small_part_of_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a clock of our own: writes that take longer and longer become rare."""
    now, writes = 0.0, [-2.0]
    monkeypatch.setattr(checkpoint, "TUNING", replace(TUNING, seconds_apart=2.0))
    monkeypatch.setattr(time, "perf_counter", lambda: now)
    kept = Checkpoint(tmp_path)
    slot = kept.slot("growth")

    def slow() -> SavedState:
        nonlocal now
        now += 0.05 * (1 + len(writes) / 10)
        return SavedState({})

    for _ in range(10_000):
        now += 0.1
        if slot.due():
            writes.append(now)
            slot.write(slow)
            assert kept.spent <= 0.04 * now
    assert len(writes) > 50
    assert np.diff(writes).min() >= 2.0
    assert 0.03 * now < kept.spent


def test_lists_that_grow_from_a_network_go_on(tmp_path: Path) -> None:
    """Its families are listed once, before the first round, and kept with what grew."""
    start = grown(None, seed=7).network
    assert max(map(len, start.parents)) > 1
    how: dict[str, Any] = {"start": start}
    whole = end_of(grown(None, **how))
    for rounds in (1, 3):
        folder = tmp_path / str(rounds)
        assert killed_at(rounds, folder, **how)
        assert end_of(grown(folder, **how)) == whole


def test_a_search_that_came_further_is_no_worse_than_the_start(tmp_path: Path) -> None:
    """The order that was kept is for sets that are not listed any more."""
    start = grown(None, effort=1.0).network
    folder = tmp_path / "kept"
    grown(folder, start=start, effort=0.02)
    first = grown(None, effort=1.0)
    assert grown(folder, start=start, complete=2, effort=0.0).score >= first.score - 1e-9
