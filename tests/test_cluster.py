"""Work on other processes: the same lists on any number of workers, also when they die.

Nothing here may hang, least of all the tests themselves: each has a time limit of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import math
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lazy_loader
import numpy as np
import pytest

import dask_server
from command import run as run_command
from keywords import for_learn
from parentage import learn, pipeline, score, support
from parentage.arcs import resampling
from parentage.arcs.support import learn_baseline
from parentage.errors import InputError, UnprovenWarning, WorkersError
from parentage.growth import growth
from parentage.growth.score import Sweeps, growth_score
from parentage.growth.tuning import TUNING as EXPANSION
from parentage.optimise.settings import Optimising
from parentage.scoring.account import Account
from parentage.scoring.candidates import score_table, search_table
from parentage.scoring.search import levels
from parentage.scoring.search.plan import encode_plans, prepare_search
from parentage.scoring.settings import Scoring
from parentage.work import cluster as dask_cluster
from parentage.work import executor
from parentage.work.checkpoint import Checkpoint
from parentage.work.cluster import STAY, DaskPool, connected, watching
from parentage.work.context import Context, Scaling
from parentage.work.executor import (
    ExecutorPool,
    LostError,
    WorkerPool,
    in_order,
    leave,
    memory_each,
    nothing,
    read_message,
    read_shared,
    shared_folder,
    size_here,
    write_message,
    write_shared,
)
from parentage.work.stop import Stop, StoppedError, now
from parentage.work.tuning import TUNING
from strategies import make_table, random_columns
from tuned import tune

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from parentage.data.table import Table
    from parentage.scoring.lists import CandidateLists
    from parentage.work.executor import Workers
    from parentage.work.progress import Progress

if find_spec("distributed") is None:
    pytest.skip("Dask is not installed", allow_module_level=True)
distributed, dask = lazy_loader.load("distributed"), lazy_loader.load("dask")


@pytest.fixture(scope="module")
def preloaded() -> Iterator[None]:
    """Fork workers from a server that has the program loaded: they are back in no time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
        patch.setattr(distributed.utils, "_forkserver_preload_set", True)
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["distributed", "loaded"])
        yield


@pytest.fixture(scope="module")
def cluster(preloaded: None) -> Iterator[Any]:
    """Two worker processes, started anew when they die."""
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    method = "forkserver"
    with (
        dask.config.set({**STAY, "distributed.worker.multiprocessing-method": method}),
        distributed.LocalCluster(**options, dashboard_address=":0", silence_logs=50) as found,
    ):
        yield found


@contextlib.contextmanager
def connection(cluster: Any, near: bool) -> Iterator[Any]:
    """A client that knows that its workers are on this machine, or one that does not."""
    where = cluster if near else cluster.scheduler_address
    with distributed.Client(where, set_as_default=False) as found:
        found.wait_for_workers(2, timeout=60)
        yield found


@pytest.fixture(params=[True, False], ids=["near", "far"])
def client(cluster: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    with connection(cluster, request.param) as found:
        yield found


@pytest.fixture
def far(cluster: Any) -> Iterator[Any]:
    with connection(cluster, near=False) as found:
        yield found


@contextlib.contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """Fail what takes longer, also if it only waits."""

    def ring(*_: object) -> None:
        raise AssertionError(f"not done in {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True)
def limited(request: pytest.FixtureRequest) -> Iterator[None]:
    """Limit every test; the long ones limit each of their runs."""
    with contextlib.nullcontext() if request.node.get_closest_marker("long") else time_limit(300):
        yield


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    tune(monkeypatch, levels, most_joins=400)
    tune(monkeypatch, levels, fewest_joins=400)
    tune(monkeypatch, levels, longest_task=0.0)


def example(seed: int = 1, columns: int = 24) -> Table:
    return make_table(random_columns(np.random.default_rng(seed), columns, 300))


SETTINGS = Scoring(max_parents=3, rules="none")


@pytest.fixture(scope="module")
def table() -> Table:
    return example()


@pytest.fixture(scope="module")
def expected(table: Table) -> CandidateLists:
    return score_table(table, SETTINGS, Context())


def assert_equal(found: CandidateLists, expected: CandidateLists) -> None:
    assert found.digest == expected.digest
    assert found.known().tallies.pruned == expected.known().tallies.pruned
    assert found.known().tallies.sets_counted == expected.known().tallies.sets_counted


def impatient(monkeypatch: pytest.MonkeyPatch, **times: float) -> None:
    """Wait for other times on a cluster."""
    monkeypatch.setattr(dask_cluster, "TUNING", replace(TUNING, **times))  # type: ignore[arg-type]  # all are floats


class Lossy(WorkerPool):
    """Workers that lose every task."""

    size, started = 1, 0

    def share(self, shared: tuple[Any, ...]) -> None:
        pass

    def start(self, function: Callable[..., Any], task: Any, name: str) -> int:
        self.started += 1
        return self.started

    def result(self, started: int, poll: Callable[[], None] = nothing) -> Any:
        raise LostError("killed by the nanny at 95 % of its memory")

    def cancel(self, started: int) -> None:
        pass

    def repair(self, poll: Callable[[], None] = nothing) -> None:
        pass

    def close(self) -> None:
        pass


# The same results anywhere


@pytest.mark.parametrize("name", ["bic", "bdeu:1", "k2", "qnml", "fnml"])
def test_lists_are_the_same_on_a_cluster(client: Any, name: str) -> None:
    table = example(2, 12)
    assert_equal(score(table, score=name, executor=client), score(table, score=name, threads=1))


def test_lists_are_the_same_through_files(client: Any, table: Table, tmp_path: Path) -> None:
    expected = score(table, max_parents=3)
    assert_equal(score(table, max_parents=3, executor=client, exchange=tmp_path), expected)
    assert list(tmp_path.iterdir()) == []


def test_learning_is_the_same_on_a_cluster(cluster: Any) -> None:
    table = example(3, 10)
    there = learn(table, executor=cluster.scheduler_address)
    assert there.optimal and there.network == learn(table).network


def test_support_is_the_same_on_a_cluster_and_on_any_executor(
    far: Any, processes: Executor
) -> None:
    """Bootstrap replicates and needs of arcs."""
    table = make_table(random_columns(np.random.default_rng(5), 7, 80))
    expected = support(table, bootstrap=8, seed=3, threads=1)
    assert expected.arcs and expected.bootstrap is not None and expected.bootstrap.done == 8
    for where in ({"executor": far}, {"executor": processes}):
        assert support(table, bootstrap=8, seed=3, **where) == expected


def test_support_elsewhere_is_left_when_it_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers elsewhere do not hear of Ctrl-C; replicates that are there by then count."""
    monkeypatch.setattr(resampling, "SHORT", -1.0)
    table = make_table(random_columns(np.random.default_rng(5), 7, 80))
    stop = Stop()

    class Slow(Lossy):
        def result(self, started: int, poll: Callable[[], None] = nothing) -> Any:
            stop.cancelled.set()
            poll()
            raise AssertionError("waited on")

    ground = learn_baseline(
        table, pipeline.Asked(lambda *_: Scoring(), Optimising()), Context(stop)
    )
    drawn = resampling.bootstrap(ground, 8, 3, Context(stop, workers=Slow()))
    assert (drawn.done, drawn.stopped) == (1, "interrupt")


def test_tasks_may_take_what_their_workers_have(far: Any, processes: Executor) -> None:
    limits = [worker["memory_limit"] for worker in far.scheduler_info()["workers"].values()]
    assert memory_each(DaskPool(far), 1000) == min(limits) // 2 > 10**6
    assert memory_each(ExecutorPool(processes), 1000) == 500


def test_sweeps_are_the_same_on_a_cluster_and_on_any_executor(
    client: Any, processes: Executor, table: Table
) -> None:
    prepared = prepare_search(table, Scoring(score="bdeu"))
    by = growth_score(prepared, encode_plans(prepared))
    members = [(1, 4), (2,), (0, 3, 7), (5, 6), *((v, v + 1) for v in range(1, 20))]
    sets = [(0, sweep) for sweep in members]
    alone = Sweeps(by, 1, 2**20)
    alone.hold(sets)
    for workers in (DaskPool(client), ExecutorPool(processes)):
        shared = Sweeps(by, workers, 2**20)
        shared.hold(sets)
        shared.hold([*sets, (0, (8, 12))])
        assert shared.counted == alone.counted + 1
        for sweep in sets:
            assert (shared.vectors[shared.row[sweep]] == alone.vectors[alone.row[sweep]]).all()


@pytest.mark.long
def test_lists_that_grow_are_the_same_on_a_cluster(
    far: Any, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sweeps are sent where they take long; here always."""
    options = for_learn(complete=1, effort=0.02, seed=1)
    with pytest.warns(UnprovenWarning):
        alone = learn(table, threads=1, **options)
    monkeypatch.setattr(growth, "TUNING", replace(EXPANSION, effort_worth_sending=0.0))
    names: list[str] = []
    submit = far.submit

    def watched(*args: Any, key: str, **where: Any) -> Any:
        names.append(key.split("-")[0])
        return submit(*args, key=key, **where)

    monkeypatch.setattr(far, "submit", watched)
    with pytest.warns(UnprovenWarning):
        there = learn(table, executor=far, **options)
    assert "sweeps" in names
    assert (there.network, there.score) == (alone.network, alone.score)
    account, other = there.scope.origin, alone.scope.origin
    assert isinstance(account, Account) and isinstance(other, Account)
    assert account.explored == other.explored > 0
    assert account.tallies.sets_counted == other.tallies.sets_counted


def test_the_command_scores_on_a_cluster(cluster: Any, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    rows = np.random.default_rng(0).integers(0, 2, (40, 4)).astype(str)
    path.write_text("\n".join(",".join(row) for row in [list("abcd"), *rows.tolist()]) + "\n")
    here = run_command("score", str(path))
    there = run_command("score", str(path), "--executor", cluster.scheduler_address)
    assert (there.returncode, _lists(there.stdout)) == (0, _lists(here.stdout)), there.stderr


def _lists(text: str) -> str:
    return text.split("\n\n")[0]


def test_tasks_have_names_that_the_dashboard_shows(client: Any, table: Table) -> None:
    from dask.utils import key_split

    seen: list[str] = []

    class Watching(DaskPool):
        def start(self, function: Callable[..., Any], task: Any, name: str) -> Any:
            started = super().start(function, task, name)
            seen.append(key_split(started.key))
            return started

    score_table(table, SETTINGS, Context(workers=Watching(client)))
    assert set(seen) == {"1 parent", "2 parents", "3 parents"}


@pytest.fixture(scope="module")
def processes(preloaded: None) -> Iterator[Executor]:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("forkserver")) as pool:
        yield pool


def test_lists_are_the_same_on_any_executor(
    processes: Executor, table: Table, expected: CandidateLists, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"max_parents": 3, "rules": "none"}
    assert_equal(score(table, executor=processes, **options), expected)
    assert_equal(score(table, executor=processes, exchange=tmp_path, **options), expected)
    assert list(tmp_path.iterdir()) == []
    with ThreadPoolExecutor(3) as threads:
        assert_equal(score(table, executor=threads, **options), expected)


def test_a_pool_that_breaks_is_told(table: Table) -> None:
    class Breaking(Executor):
        def submit(self, *args: Any, **options: Any) -> Future[Any]:
            from concurrent.futures import BrokenExecutor

            raise BrokenExecutor("one died")

    with pytest.raises(WorkersError, match="workers of Breaking were lost"):
        score(table, executor=Breaking())


# Workers that die


def worker_pids(cluster: Any) -> list[int]:
    """Processes of the workers that are up."""
    found = [getattr(nanny, "pid", None) for nanny in cluster.workers.values()]
    return [pid for pid in found if pid is not None]


def kill(cluster: Any, how_many: int) -> None:
    for pid in worker_pids(cluster)[:how_many]:
        with contextlib.suppress(ProcessLookupError):  # the nanny may have been faster
            os.kill(pid, signal.SIGKILL)


def assert_equal_with_kills(
    cluster: Any,
    table: Table,
    expected: CandidateLists,
    how_many: int,
    at: int,
    near: bool,
    after: float = 0.0,
) -> None:
    """Kill so many workers when so many chunks are done; the lists must be the same."""
    seen = 0

    def report(_: Progress) -> None:
        nonlocal seen
        seen += 1
        if seen == at:
            threading.Timer(after, kill, (cluster, how_many)).start()

    with time_limit(100), connection(cluster, near) as client:
        crew = DaskPool(client)
        if at == 0:
            kill(cluster, how_many)
        assert_equal(score_table(table, SETTINGS, Context(workers=crew, report=report)), expected)
        crew.close()
    assert seen >= at


@pytest.mark.long
@pytest.mark.parametrize(("how_many", "at", "near"), [(2, 12, False), (2, 20, True)])
def test_lists_are_the_same_when_workers_are_killed(
    cluster: Any, table: Table, expected: CandidateLists, how_many: int, at: int, near: bool
) -> None:
    assert_equal_with_kills(cluster, table, expected, how_many, at, near)


@pytest.mark.long
@pytest.mark.parametrize("near", [True, False], ids=["near", "far"])
@pytest.mark.parametrize("how_many", [1, 2])
@pytest.mark.parametrize("moment", ["first", "middle", "last"])
def test_lists_are_the_same_when_workers_are_killed_twenty_times(
    cluster: Any, table: Table, expected: CandidateLists, how_many: int, moment: str, near: bool
) -> None:
    chunks = count_chunks(table)
    random = np.random.default_rng(len(moment) + how_many)
    for _ in range(20):
        at = {"first": 0, "middle": int(random.integers(1, chunks)), "last": chunks - 1}[moment]
        assert_equal_with_kills(cluster, table, expected, how_many, at, near)


@pytest.mark.long
@pytest.mark.parametrize("near", [True, False], ids=["near", "far"])
def test_lists_are_the_same_when_a_worker_is_killed_at_a_random_moment(
    cluster: Any, table: Table, expected: CandidateLists, near: bool
) -> None:
    """Not between chunks, but while data moves and tasks run."""
    chunks, random = count_chunks(table), np.random.default_rng(7)
    for _ in range(10):
        at, after = int(random.integers(1, chunks - 5)), float(random.random() / 20)
        assert_equal_with_kills(cluster, table, expected, 1, at, near, after)


def count_chunks(table: Table) -> int:
    seen: list[Progress] = []
    score_table(table, SETTINGS, Context(report=seen.append))
    return len(seen)


@pytest.mark.long
def test_a_client_that_is_closed_is_told(cluster: Any, table: Table) -> None:
    """Not a hang, and the cluster goes on for others."""
    client = distributed.Client(cluster.scheduler_address, set_as_default=False)
    client.wait_for_workers(1, timeout=60)
    seen = 0

    def report(_: Progress) -> None:
        nonlocal seen
        seen += 1
        if seen == 3:
            client.close()

    with pytest.raises(WorkersError, match="cannot be reached any more"):
        score_table(table, SETTINGS, Context(workers=DaskPool(client), report=report))


@contextlib.contextmanager
def far_away() -> Iterator[tuple[str, Any, Any]]:
    """A scheduler and a worker without a nanny, each a process; yield the address and both."""
    context = multiprocessing.get_context("forkserver")
    with contextlib.ExitStack() as stack:

        def begin(name: str, *options: str) -> Any:
            started = context.Process(target=dask_server.serve, args=(name, options))
            started.start()
            stack.callback(started.join)
            stack.callback(started.kill)
            return started

        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        place = ("--host", "127.0.0.1", "--port", str(port))
        scheduler = begin("scheduler", *place, "--no-dashboard")
        address = f"tcp://127.0.0.1:{port}"
        worker = begin("worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard")
        yield address, scheduler, worker


class Bell:
    """A report that does something after so many chunks."""

    def __init__(self, at: int, ring: Callable[[], object]) -> None:
        self.at, self.ring, self.seen = at, ring, 0

    def __call__(self, _: Progress) -> None:
        self.seen += 1
        if self.seen == self.at:
            self.ring()


@pytest.mark.long
def test_a_cluster_that_goes_away_is_told_and_what_is_finished_is_kept(
    preloaded: None,
    table: Table,
    expected: CandidateLists,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """First the only worker dies, then, in a second run, the scheduler stops to answer."""
    impatient(monkeypatch, patience=4.0, watch_seconds=0.2)
    with far_away() as (address, scheduler, worker):
        client = distributed.Client(address, set_as_default=False, timeout=60)
        client.wait_for_workers(1, timeout=60)
        report = Bell(8, worker.kill)
        saved = Checkpoint(tmp_path / "job")
        with pytest.raises(WorkersError, match="had no worker for 4 s"):
            score_table(
                table, SETTINGS, Context(workers=DaskPool(client), report=report, checkpoint=saved)
            )
        resumed: list[Progress] = []
        again = Checkpoint(tmp_path / "job")
        assert_equal(
            score_table(table, SETTINGS, Context(report=resumed.append, checkpoint=again)), expected
        )
        assert len(resumed) == count_chunks(table) - report.seen
        os.kill(scheduler.pid, signal.SIGSTOP)
        with pytest.raises(WorkersError, match="cannot be reached any more"):
            DaskPool(client)
        scheduler.kill()
        client.close(timeout=1)


@pytest.mark.long
def test_a_scheduler_that_dies_is_told(
    preloaded: None, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    impatient(monkeypatch, patience=4.0, watch_seconds=0.2)
    with far_away() as (address, scheduler, _):
        client = distributed.Client(address, set_as_default=False, timeout=60)
        client.wait_for_workers(1, timeout=60)
        report = Bell(8, scheduler.kill)
        with pytest.raises(WorkersError, match="cannot be reached any more"):
            score_table(table, SETTINGS, Context(workers=DaskPool(client), report=report))
        client.close(timeout=1)


# A stop is heard whatever is waited for


@pytest.mark.long
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_stop_is_heard_when_the_scheduler_has_gone(
    preloaded: None, table: Table, monkeypatch: pytest.MonkeyPatch, how: signal.Signals
) -> None:
    """It is waited for, in vain; what is complete by then is the result."""
    impatient(monkeypatch, watch_seconds=0.2)
    with far_away() as (address, scheduler, _):
        client = distributed.Client(address, set_as_default=False, timeout=60)
        client.wait_for_workers(1, timeout=60)
        stop, crew = Stop(), DaskPool(client)

        def lose() -> None:
            os.kill(scheduler.pid, how)
            threading.Timer(2.0, stop.cancelled.set).start()

        with time_limit(30):
            lists = score_table(table, SETTINGS, Context(stop, workers=crew, report=Bell(8, lose)))
            crew.close()
        assert lists.known().ended == "interrupt"
        scheduler.kill()
        client.close(timeout=1)


@pytest.fixture(scope="module")
def lonely() -> Iterator[Any]:
    """A scheduler without workers."""
    options: dict[str, Any] = {"n_workers": 0, "dashboard_address": ":0", "silence_logs": 50}
    with distributed.LocalCluster(protocol="tcp://", **options) as found:
        yield found


@pytest.mark.long
@pytest.mark.parametrize("kind", ["no workers", "a client without workers", "silent", "silent ws"])
@pytest.mark.parametrize("reason", ["interrupt", "time"])
def test_a_stop_is_heard_when_there_is_no_cluster_yet(lonely: Any, kind: str, reason: str) -> None:
    """Then there are threads, whose work ends at once."""
    stop = Stop.after(0.5 if reason == "time" else None)
    if reason == "interrupt":
        threading.Timer(0.5, stop.cancelled.set).start()
    with (
        time_limit(20),
        socket.create_server(("127.0.0.1", 0)) as silent,
        distributed.Client(lonely.scheduler_address, set_as_default=False) as client,
    ):
        port = silent.getsockname()[1]
        given: dict[str, Any] = {
            "no workers": {"executor": lonely.scheduler_address},
            "a client without workers": {"executor": client},
            "silent": {"executor": f"tcp://127.0.0.1:{port}"},
            "silent ws": {"executor": f"ws://127.0.0.1:{port}"},
        }[kind]
        with Scaling(**given).context(3, stop) as context:
            assert (context.pool, stop.reason()) == (3, reason)


def test_a_table_is_scored_as_on_one_machine_when_the_stop_came_first(
    table: Table, lonely: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parentage.work.stop.MOMENT", 0.0)  # nothing is done after the limit
    with time_limit(60), pytest.warns(UnprovenWarning, match="stopped by the time limit"):
        there = score(table, executor=lonely.scheduler_address, time_limit=0.3)
    with pytest.warns(UnprovenWarning, match="stopped by the time limit"):
        here = score(table, time_limit=0.0)
    assert there.known().ended == here.known().ended == "time"


@pytest.mark.long
@pytest.mark.parametrize("moment", ["starting", "scoring"])
def test_ctrl_c_in_a_terminal_is_for_the_caller_alone(tmp_path: Path, moment: str) -> None:
    """The signal goes to all processes; workers stay, and are quiet, until they are ended."""
    rows = np.random.default_rng(0).integers(0, 2, (1000, 150)).astype(str).tolist()
    lines = [",".join(row) for row in [[f"v{i}" for i in range(150)], *rows]]
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "tmp").mkdir()
    begun = subprocess.Popen(
        [sys.executable, "-m", "parentage", "score", "table.csv", "-k", "5",
         "--executor", "local:2", "-o", "lists.jkl"],
        cwd=tmp_path, start_new_session=True, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
    )  # fmt: skip
    try:
        pattern = "dask-scratch-space/*" if moment == "starting" else "parentage-*/shared-*"
        give_up = time.monotonic() + 100
        while not list((tmp_path / "tmp").glob(pattern)) and time.monotonic() < give_up:
            assert begun.poll() is None
            time.sleep(0.02)
        time.sleep(0.7 if moment == "starting" else 0.0)  # workers load what they need
        os.killpg(begun.pid, signal.SIGINT)
        _, told = begun.communicate(timeout=100)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(begun.pid, signal.SIGKILL)
    assert begun.returncode == 130 and "Traceback" not in told and "distributed" not in told, told
    assert "stopped by an interrupt" in told and (tmp_path / "lists.jkl").exists()
    assert not list((tmp_path / "tmp").glob("parentage-*"))


def test_growing_is_left_when_it_is_cancelled(table: Table) -> None:
    """Sets whose sweeps did not come stay open."""
    stop = Stop()

    class Slow(Lossy):
        def repair(self, poll: Callable[[], None] = nothing) -> None:
            stop.cancelled.set()
            poll()
            raise AssertionError("waited on")

    found = search_table(table, Scoring(), Context(), up_to=1)
    grown = growth.Growth(found, workers=Slow())
    families = [family for i in range(grown.n_sets) if grown.is_open(family := grown.family(i))]
    before = grown.n_sets, grown.work, grown.families_scored
    assert families and grown.enlarge(families, stop) == 0
    assert all(map(grown.is_open, families))
    assert (grown.n_sets, grown.work, grown.families_scored) == before


def test_tasks_elsewhere_are_left_when_their_time_is_long_over() -> None:
    leave(Stop.after(0.0))()
    with pytest.raises(StoppedError):
        leave(Stop(now() - TUNING.grace_seconds - 1))()


def test_nothing_stays_of_a_cluster_without_workers(
    lonely: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    impatient(monkeypatch, patience=0.5)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with (
        distributed.Client(lonely, set_as_default=False) as client,
        pytest.raises(WorkersError, match="had no worker"),
    ):
        DaskPool(client)
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_workers_says_how_to_go_on(tmp_path: Path) -> None:
    folder = str(tmp_path / "job")
    with (
        pytest.raises(WorkersError) as caught,
        Scaling(checkpoint=folder).context(1, Stop()),
    ):
        raise WorkersError("all are gone", "start some")
    told = f"all are gone; type --checkpoint {folder} to continue from what is saved, or start some"
    assert caught.value.text("command line") == told
    with pytest.raises(WorkersError, match=r"^all are gone$"), Scaling().context(1, Stop()):
        raise WorkersError("all are gone")


def test_what_dask_logs_is_not_shown(cluster: Any) -> None:
    log = logging.getLogger("distributed.client")
    with connected(cluster.scheduler_address):
        assert not log.isEnabledFor(logging.ERROR)
    assert log.isEnabledFor(logging.ERROR)


@pytest.mark.long
def test_a_pool_whose_process_dies_is_told(preloaded: None, tmp_path: Path) -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("forkserver")) as pool:
        crew = ExecutorPool(pool, tmp_path)
        with pytest.raises(WorkersError, match=r"ProcessPoolExecutor were lost \(BrokenProcess"):
            list(in_order(end_suddenly, [9], crew))
        with pytest.raises(WorkersError, match="start again with new ones"):
            list(in_order(end_suddenly, [9], crew))
        crew.close()
    assert list(tmp_path.iterdir()) == []


def end_suddenly(how: int) -> None:
    os.kill(os.getpid(), how)


def described(**facts: Any) -> dict[str, Any]:
    """A worker as the scheduler describes it."""
    metrics = {"task_counts": {"executing": 0}, "transfer": {"incoming_count": 0}}
    return {"status": "running", "last_seen": 1.0, "metrics": metrics, **facts}


def test_waiting_ends_when_nobody_works() -> None:
    busy = described(metrics={"task_counts": {"executing": 1}})
    check = watching(60, 0)
    for at in range(0, 10_001, 50):  # a task may take as long as it likes
        check({"a": busy, "b": described()}, at)
    check({"a": described()}, 10_030)
    check({"a": described()}, 10_061)  # not heard of since: perhaps too busy to say so
    with pytest.raises(LostError, match="no worker has done anything for 61 s"):
        check({"a": described(last_seen=2.0)}, 10_061)
    with pytest.raises(WorkersError, match=r"paused for 61 s.*; give every worker more memory"):
        check({"a": described(status="paused")}, 10_061)
    with pytest.raises(WorkersError, match=r"had no worker for 60 s"):
        check({}, 10_061)
    with pytest.raises(LostError):  # a new one each time, none of which ever works
        check({"c": described()}, 10_361)


@pytest.mark.long
def test_workers_short_of_memory_are_told(preloaded: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask pauses a worker whose memory is nearly full, and waits for ever."""
    impatient(monkeypatch, patience=4.0, watch_seconds=0.2)
    paused = {
        "distributed.worker.multiprocessing-method": "forkserver",
        "distributed.worker.memory.terminate": False,
        "distributed.worker.memory.spill": False,
    }
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": True, "memory_limit": "20MB"}
    with (
        dask.config.set(paused),
        distributed.LocalCluster(**options, dashboard_address=":0", silence_logs=50) as small,
        distributed.Client(small, set_as_default=False) as client,
        contextlib.closing(DaskPool(client)) as crew,
    ):
        while "running" in [worker["status"] for worker in crew._workers().values()]:
            time.sleep(0.1)
        with pytest.raises(WorkersError, match=r"paused for . s.*; give every worker more memory"):
            list(in_order(math.sqrt, [4.0], crew))


def test_workers_without_the_program_are_told(far: Any) -> None:
    with pytest.raises(WorkersError, match=r"cannot load the program.*; install the same version"):
        list(in_order(import_nothing, ["parentage_of_tomorrow"], DaskPool(far)))


def import_nothing(name: str) -> Any:
    return __import__(name)


def test_workers_without_memory_are_told(table: Table) -> None:
    """A task that ends its worker each time is given up."""
    crew = Lossy()
    with pytest.raises(WorkersError, match=r"lost 6 times .*; give every worker more memory"):
        score_table(table, SETTINGS, Context(workers=crew))
    assert TUNING.most_losses < crew.started <= 4 * (TUNING.most_losses + 1)


@pytest.mark.long
def test_a_worker_that_runs_into_its_memory_limit_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The nanny ends a worker that takes too much; the task is started again, and then given up."""
    impatient(monkeypatch, patience=40.0)
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": True}
    with (
        dask.config.set(STAY),
        distributed.LocalCluster(
            **options, memory_limit="600MB", dashboard_address=":0", silence_logs=50
        ) as small,
        distributed.Client(small, set_as_default=False) as client,
    ):
        crew = DaskPool(client)
        with time_limit(300), pytest.raises(WorkersError, match="give every worker more memory"):
            list(in_order(fill, [2_000_000_000], crew))


def fill(size: int) -> int:
    """Take so many bytes, and stay a while."""
    taken = np.ones(size, np.uint8)
    time.sleep(5)
    return int(taken[0])


# in_order itself


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_results_come_in_order_and_no_more_is_started_than_needed(workers: Workers) -> None:
    taken: list[int] = []

    def tasks() -> Iterator[int]:
        for i in range(1000):
            taken.append(i)
            yield i

    found = in_order(math.pow, tasks(), workers, (2,))
    assert [next(found) for _ in range(5)] == [1, 2, 4, 8, 16]
    found.close()  # type: ignore[attr-defined]
    assert len(taken) <= 5 + 4 * 7


def test_errors_of_tasks_are_theirs(client: Any, processes: Executor) -> None:
    for workers in (1, 2, ExecutorPool(processes), DaskPool(client)):
        with pytest.raises(ValueError, match="math domain error"):
            list(in_order(math.sqrt, [4.0, -1.0, 9.0], workers))


def test_what_is_shared_is_sent_once(tmp_path: Path, processes: Executor) -> None:
    crew = ExecutorPool(processes, tmp_path)
    first, second, third = np.arange(5), np.arange(7), np.arange(9)
    crew.share((first, second))
    names = {path.name for path in tmp_path.iterdir()}
    crew.share((first, third))
    again = {path.name for path in tmp_path.iterdir()}
    assert len(names) == len(again) == 2 and len(names & again) == 1
    crew.close()
    assert list(tmp_path.iterdir()) == []


def test_every_worker_gets_what_is_shared(far: Any) -> None:
    """Dask starts tasks where their data is: with one copy of much data one worker would do all."""
    crew = DaskPool(far)
    crew.share((np.zeros(10_000_000), "small"))
    assert len(crew.copies) == 2
    for copies in crew.copies.values():  # each task is done where it was told to fetch the object
        assert [copy.result(timeout=60) for copy in copies] == [None, None]
        where = far.who_has(copies)
        assert [where[copy.key] for copy in copies] == [(one,) for one in crew.addresses]
    crew.close()
    assert crew.copies == {}


def test_shared_files_hold_anything_and_their_arrays_can_be_written_to(tmp_path: Path) -> None:
    value = {"a": np.arange(12).reshape(3, 4), "b": ("x", np.empty((0, 3))), "c": 1.5}
    file = write_shared(tmp_path, value)
    found = read_shared(file, 0)
    assert found["c"] == 1.5 and found["b"][0] == "x" and found["b"][1].shape == (0, 3)
    assert (found["a"] == value["a"]).all() and found["a"].flags.writeable
    found["a"][0, 0] = 99  # a copy of its own
    other = read_shared(file, 1)
    assert other["a"][0, 0] == 0


def test_messages_hold_anything_and_who_passes_them_on_reads_nothing() -> None:
    numbers = np.arange(12).reshape(3, 4)
    value = {"a": numbers, "b": ("x", np.empty((0, 3))), "c": 1.5}
    message = write_message(value)
    assert type(message) is bytes and len(message) > numbers.nbytes
    found = read_message(message)
    assert (found["a"] == numbers).all() and found["a"].flags.writeable
    assert found["b"][1].shape == (0, 3) and found["c"] == 1.5


def test_a_folder_that_workers_do_not_see_is_told(tmp_path: Path) -> None:
    with pytest.raises(WorkersError, match=r"cannot read .*; pass exchange=… for a folder that"):
        read_shared(tmp_path / "shared-by-nobody", 0)


# What is refused


def test_what_is_no_client_and_no_executor_is_refused(table: Table) -> None:
    for wrong, ways in ((4, "; pass threads=4"), (b"local:4", "$")):
        with pytest.raises(InputError, match=rf"executor is a .*, not {wrong!r}{ways}"):
            score(table, executor=wrong)


@pytest.mark.parametrize("name", ["executor", "exchange", "checkpoint"])
def test_what_is_no_address_and_no_folder_is_refused(table: Table, name: str) -> None:
    wrong: Any = {name: 5}
    with pytest.raises(InputError, match=rf"{name} is .*, not 5"):
        score(table, **wrong)


def test_an_asynchronous_client_is_refused(cluster: Any, table: Table) -> None:
    async def give() -> None:
        where: dict[str, Any] = {"address": cluster.scheduler_address, "set_as_default": False}
        async with distributed.Client(asynchronous=True, **where) as wrong:
            with pytest.raises(InputError, match="the client is asynchronous; make one with"):
                score(table, executor=wrong)

    asyncio.run(give())


def test_an_executor_that_takes_nothing_is_told(table: Table) -> None:
    for kind in (ThreadPoolExecutor, ProcessPoolExecutor):
        pool = kind(2)
        pool.shutdown()
        with pytest.raises(WorkersError, match=rf"{kind.__name__} accept no tasks .*; give an"):
            score(table, executor=pool)

    class Careless(Executor):
        def submit(self, *args: Any, **options: Any) -> Any:
            return None

    with pytest.raises(InputError, match="Careless returned None, not a future"):
        score(table, executor=Careless())


def test_a_folder_that_cannot_be_written_to_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the work, or in the middle of it, when nothing can be removed there either."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "TemporaryFile", refuse)
        with pytest.raises(InputError, match=r"exchange='.*' cannot be written to: Read-only"):
            shared_folder(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", refuse)
        patch.setattr(Path, "unlink", refuse)
        with pytest.raises(InputError, match=r"Read-only .*exchange=… for a folder to write to"):
            write_shared(tmp_path, [1])
    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "mkdtemp", refuse)
        with pytest.raises(InputError, match=r"temporary files: Read-only .*; pass exchange=…"):
            shared_folder(None)


@pytest.mark.parametrize(
    ("address", "why"),
    [
        (
            "ucx://127.0.0.1:1",
            r"has the unknown protocol ucx; .*tcp://, tls://.*; give an address such as tcp://",
        ),
        ("inproc://127.0.0.1:1", "has the unknown protocol inproc"),
        ("local:0", "requests no processes; the smallest is local:1"),
        ("local:99999999999999", r"requests more processes than the \d+ that"),
    ],
)
def test_an_address_of_another_kind_is_refused(address: str, why: str) -> None:
    with pytest.raises(InputError, match=why), connected(address):
        pass


@pytest.mark.parametrize(
    "address", ["local:x", "tcp://host:65536", "nowhere", "tcp://host", "host:http"]
)
def test_what_is_not_an_address_is_refused(address: str) -> None:
    with (
        pytest.raises(InputError, match=r"is not an address; give that .* tcp://host:8786, or"),
        connected(address),
    ):
        pass


def test_an_address_that_leads_nowhere_is_refused() -> None:
    with (
        pytest.raises(InputError, match=r"cannot be reached .*Connection refused"),
        connected("tcp://127.0.0.1:1", patience=0.5),
    ):
        pass


def test_a_server_that_is_no_scheduler_is_refused(cluster: Any) -> None:
    """One that never says a word, and a worker instead of its scheduler."""
    worker = next(iter(cluster.scheduler.workers))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        for where, patience, why in (
            (address, 0.5, r"no scheduler has answered for 0\.5 s"),
            (worker, 60.0, "the program that answers there is not a scheduler"),
        ):
            with (
                pytest.raises(InputError, match=why),
                connected(where, patience),
            ):
                pass


def test_workers_of_another_version_are_told(
    far: Any, processes: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_cluster, "__version__", "9.9")
    monkeypatch.setattr(executor, "__version__", "9.9")
    for crew in (DaskPool(far), ExecutorPool(processes, tmp_path)):
        with pytest.raises(
            WorkersError, match=r"runs parentage .*, and this process runs 9\.9; install"
        ):
            list(in_order(math.sqrt, [4.0], crew))
        crew.close()


def test_memory_here_does_not_depend_on_workers_elsewhere(far: Any, processes: Executor) -> None:
    """Results stay with Dask's workers until they are asked for; a pool sends them at once."""
    crew = DaskPool(far)
    assert (crew.size, size_here(crew)) == (2, 1)
    assert [size_here(3), size_here(ExecutorPool(processes))] == [3, 2]


def test_a_pool_that_is_closed_leaves_nothing_behind(
    processes: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    crew = ExecutorPool(processes)
    assert crew.size == 2 and crew.elsewhere
    assert list(in_order(math.pow, [0.5], crew, (4.0,))) == [2.0]
    assert list(tmp_path.iterdir()) != []
    crew.close()
    assert list(tmp_path.iterdir()) == []
