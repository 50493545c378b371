"""Work on other processes: the same lists on any number of workers, also when they die."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from command import run as run_command
from parentage import learn, score
from parentage.errors import InputError, WorkersError
from parentage.scoring import steps
from parentage.scoring.candidates import score_table
from parentage.scoring.settings import Scoring
from parentage.work import cluster as dask_cluster
from parentage.work.cluster import STAY, DaskCrew
from parentage.work.crew import Crew, LostError
from parentage.work.exchange import Parcel, Processes, pack, unpack
from parentage.work.executor import MOST_LOSSES, in_order
from parentage.work.stop import Stop
from strategies import make_table, random_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from parentage.data.table import Table
    from parentage.scoring.lists import CandidateLists
    from parentage.work.executor import Workers
    from parentage.work.progress import Progress

distributed = pytest.importorskip("distributed", reason="Dask is not installed")
dask = pytest.importorskip("dask", reason="Dask is not installed")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two worker processes, started anew when they die."""
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with (
        dask.config.set({**STAY, "distributed.scheduler.allowed-failures": 10}),
        distributed.LocalCluster(**options, dashboard_address=":0", silence_logs=50) as found,
    ):
        yield found


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    with distributed.Client(cluster, set_as_default=False) as found:
        found.wait_for_workers(2, timeout=60)
        yield found


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "MOST_PAIRS", 400)
    monkeypatch.setattr(steps, "FEWEST_PAIRS", 400)


def example(seed: int = 1, columns: int = 24) -> Table:
    return make_table(random_columns(np.random.default_rng(seed), columns, 300))


SETTINGS = Scoring(max_parents=3, rules="none")


@pytest.fixture(scope="module")
def table() -> Table:
    return example()


@pytest.fixture(scope="module")
def expected(table: Table) -> CandidateLists:
    return score_table(table, SETTINGS, Stop(), 1)


def assert_equal(found: CandidateLists, expected: CandidateLists) -> None:
    assert found.digest == expected.digest
    assert found.known().tallies.pruned == expected.known().tallies.pruned
    assert found.known().tallies.sets_counted == expected.known().tallies.sets_counted


# The same results anywhere


@pytest.mark.parametrize("name", ["bic", "bdeu:1", "k2", "qnml", "fnml"])
def test_lists_are_the_same_on_a_cluster(client: Any, name: str) -> None:
    table = example(2, 12)
    assert_equal(score(table, score=name, client=client), score(table, score=name, threads=1))


def test_lists_are_the_same_through_files(client: Any, table: Table, tmp_path: Path) -> None:
    expected = score(table, max_parents=3)
    assert_equal(score(table, max_parents=3, client=client, exchange=tmp_path), expected)
    assert list(tmp_path.iterdir()) == []


def test_learning_is_the_same_on_a_cluster(cluster: Any) -> None:
    table = example(3, 10)
    there = learn(table, cluster=cluster.scheduler_address)
    assert there.optimal and there.network == learn(table).network


def test_the_command_scores_on_a_cluster(cluster: Any, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    rows = np.random.default_rng(0).integers(0, 2, (40, 4)).astype(str)
    path.write_text("\n".join(",".join(row) for row in [list("abcd"), *rows.tolist()]) + "\n")
    here = run_command("score", str(path))
    there = run_command("score", str(path), "--cluster", cluster.scheduler_address)
    assert (there.returncode, _lists(there.stdout)) == (0, _lists(here.stdout)), there.stderr


def _lists(text: str) -> str:
    return text.split("\n\n")[0]


def test_tasks_have_names_that_the_dashboard_shows(client: Any, table: Table) -> None:
    from dask.utils import key_split

    seen: list[str] = []

    class Watching(DaskCrew):
        def start(self, function: Callable[..., Any], task: Any, name: str) -> Any:
            started = super().start(function, task, name)
            seen.append(key_split(started.key))
            return started

    score_table(table, SETTINGS, Stop(), Watching(client))
    assert set(seen) == {"1 parent", "2 parents", "3 parents"}


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
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
        os.kill(pid, signal.SIGKILL)


def score_with_kills(
    cluster: Any,
    table: Table,
    expected: CandidateLists,
    how_many: int,
    at: int,
    folder: Path | None,
) -> None:
    """Kill so many workers when so many chunks are done; the lists must be the same."""
    seen = 0

    def report(_: Progress) -> None:
        nonlocal seen
        seen += 1
        if seen == at:
            kill(cluster, how_many)

    with distributed.Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=120)
        crew = DaskCrew(client, folder)
        assert_equal(score_table(table, SETTINGS, Stop(), crew, report), expected)
        crew.close()
    assert seen >= at


@pytest.mark.parametrize(
    ("how_many", "at", "files"),
    [
        (2, 20, True),
        pytest.param(1, 1, False, marks=pytest.mark.long),
        pytest.param(2, 12, False, marks=pytest.mark.long),
    ],
)
def test_lists_are_the_same_when_workers_are_killed(
    cluster: Any,
    table: Table,
    expected: CandidateLists,
    tmp_path: Path,
    how_many: int,
    at: int,
    files: bool,
) -> None:
    score_with_kills(cluster, table, expected, how_many, at, tmp_path if files else None)


@pytest.mark.long
@pytest.mark.parametrize("how_many", [1, 2])
@pytest.mark.parametrize("moment", ["first", "middle", "last"])
def test_lists_are_the_same_when_workers_are_killed_twenty_times(
    cluster: Any, table: Table, expected: CandidateLists, how_many: int, moment: str
) -> None:
    chunks = count_chunks(table)
    random = np.random.default_rng(len(moment) + how_many)
    for _ in range(20):
        at = {"first": 1, "middle": int(random.integers(2, chunks)), "last": chunks}[moment]
        score_with_kills(cluster, table, expected, how_many, at, None)


def count_chunks(table: Table) -> int:
    seen: list[Progress] = []
    score_table(table, SETTINGS, Stop(), 1, seen.append)
    return len(seen)


def test_a_client_that_is_closed_is_told(cluster: Any, table: Table) -> None:
    """Not a hang, and the cluster goes on for others."""
    client = distributed.Client(cluster, set_as_default=False)
    client.wait_for_workers(1, timeout=60)
    seen = 0

    def report(_: Progress) -> None:
        nonlocal seen
        seen += 1
        if seen == 3:
            client.close()

    crew = DaskCrew(client)
    began = time.monotonic()
    with pytest.raises(WorkersError, match="cannot be reached any more"):
        score_table(table, SETTINGS, Stop(), crew, report)
    assert time.monotonic() - began < 60


def test_workers_without_memory_are_told(table: Table) -> None:
    """A task that ends its worker each time is given up."""

    class Lossy(Crew):
        size, started = 1, 0

        def bring(self, shared: tuple[Any, ...]) -> None:
            pass

        def start(self, function: Callable[..., Any], task: Any, name: str) -> int:
            self.started += 1
            return self.started

        def result(self, started: int) -> Any:
            raise LostError("killed by the nanny at 95 % of its memory")

        def cancel(self, started: int) -> None:
            pass

        def repair(self) -> None:
            pass

        def close(self) -> None:
            pass

    crew = Lossy()
    with pytest.raises(WorkersError, match=r"lost 6 times .*; give every worker more memory"):
        score_table(table, SETTINGS, Stop(), crew)
    assert MOST_LOSSES < crew.started <= 4 * (MOST_LOSSES + 1)


@pytest.mark.long
def test_a_worker_that_runs_into_its_memory_limit_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The nanny ends a worker that takes too much; the task is started again, and then given up."""
    monkeypatch.setattr(dask_cluster, "PATIENCE", 40.0)
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": True}
    with (
        dask.config.set(STAY),
        distributed.LocalCluster(
            **options, memory_limit="600MB", dashboard_address=":0", silence_logs=50
        ) as small,
        distributed.Client(small, set_as_default=False) as client,
    ):
        crew = DaskCrew(client)
        with pytest.raises(WorkersError):
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
    for workers in (1, 2, processes, DaskCrew(client)):
        with pytest.raises(ValueError, match="math domain error"):
            list(in_order(math.sqrt, [4.0, -1.0, 9.0], workers))


def test_what_is_shared_is_sent_once(tmp_path: Path, processes: Executor) -> None:
    crew = Processes(processes, tmp_path)
    first, second, third = np.arange(5), np.arange(7), np.arange(9)
    crew.bring((first, second))
    names = {path.name for path in tmp_path.iterdir()}
    crew.bring((first, third))
    again = {path.name for path in tmp_path.iterdir()}
    assert len(names) == len(again) == 2 and len(names & again) == 1
    crew.close()
    assert list(tmp_path.iterdir()) == []


def test_parcels_hold_anything_and_their_arrays_can_be_written_to(tmp_path: Path) -> None:
    value = {"a": np.arange(12).reshape(3, 4), "b": ("x", np.empty((0, 3))), "c": 1.5}
    parcel = pack(tmp_path, 0, value)
    found = unpack(parcel)
    assert found["c"] == 1.5 and found["b"][0] == "x" and found["b"][1].shape == (0, 3)
    assert (found["a"] == value["a"]).all() and found["a"].flags.writeable
    found["a"][0, 0] = 99  # a copy of its own
    other = unpack(Parcel(str(tmp_path), 1, parcel.name))
    assert other["a"][0, 0] == 0


def test_a_folder_that_workers_do_not_see_is_told(tmp_path: Path) -> None:
    with pytest.raises(WorkersError, match=r"cannot read .*; pass exchange=… for a folder that"):
        unpack(Parcel(str(tmp_path), 0, "parcel-of-nobody"))


# What is refused


def test_where_to_work_is_said_once(client: Any, table: Table) -> None:
    with pytest.raises(InputError, match="cluster and client both say"):
        score(table, client=client, cluster="local:1")


@pytest.mark.parametrize("address", ["local:0", "nowhere", "tcp://127.0.0.1:1"])
def test_an_address_that_leads_nowhere_is_refused(
    address: str,
) -> None:
    with (
        pytest.raises(InputError, match="cannot be reached"),
        dask_cluster.connected(address, patience=0.5),
    ):
        pass
