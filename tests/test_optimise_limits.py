"""Whatever ends a search, the incumbent and a valid bound survive."""

from __future__ import annotations

import itertools
import signal
import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest

import command
from naive_network import best_network, is_acyclic, random_lists
from parentage.errors import InputError, ResourceError
from parentage.optimise import Solution, exact, run
from parentage.scoring.formats import write_lists
from parentage.scoring.lists import CandidateLists
from parentage.work.stop import Stop
from solving import learn_lists

if TYPE_CHECKING:
    from pathlib import Path

    from parentage.work.progress import Progress


def hard_lists(n: int, sets: int = 40, seed: int = 1) -> CandidateLists:
    """Random gains without any structure: out of reach of cuts for a long time."""
    rng = np.random.default_rng(seed)
    families: dict[str, list[tuple[float, list[str]]]] = {}
    for v in range(n):
        others = [u for u in range(n) if u != v]
        families[f"v{v}"] = [(0.0, [])]
        for _ in range(sets):
            size = int(rng.integers(1, 4))
            members = [f"v{u}" for u in sorted(rng.choice(others, size, replace=False))]
            families[f"v{v}"].append((float(rng.random() * 10 * size), members))
    return CandidateLists.from_families(families)


HARD = hard_lists(30)


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """Kernels compile on first use; that must not count against a time limit."""
    for engine in ("branch-and-cut", "orders", "subsets"):
        learn_lists(hard_lists(10, 12), engine=engine)


def check_unproven(solution: Solution, reason: str) -> None:
    assert is_acyclic(solution.network.parents)
    assert not solution.optimal
    assert solution.stopped == reason
    assert solution.gap > 0
    best_per_child = sum(max(score for score, _ in HARD.candidates(v)) for v in range(30))
    assert solution.score < solution.bound <= best_per_child + 1e-6


@pytest.mark.parametrize("engine", ["auto", "subsets", "orders", "branch-and-cut"])
def test_no_time_at_all_still_gives_a_network_and_a_bound(engine: str) -> None:
    solution = learn_lists(HARD, engine=engine, time_limit=0.0)
    check_unproven(solution, "time")


@pytest.mark.parametrize("engine", ["auto", "orders", "branch-and-cut", "subsets"])
def test_time_limit_is_kept(engine: str) -> None:
    solution = learn_lists(HARD, engine=engine, time_limit=0.3)
    check_unproven(solution, "time")
    assert solution.seconds < 6.0


@pytest.mark.parametrize("looks", [0, 40])
def test_a_proof_that_outgrows_the_memory_is_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, looks: int
) -> None:
    """The linear programme grows with its cuts; what it has shown by then counts."""
    once = {v: {members: score for score, members in HARD[v]} for v in HARD.names}
    families = {v: [(score, members) for members, score in own.items()] for v, own in once.items()}
    write_lists(CandidateLists.from_families(families), tmp_path / "hard.jkl")

    def grow() -> None:
        left = itertools.chain([1] * looks, itertools.repeat(-1))
        monkeypatch.setattr(run, "room_within", lambda limit: limit and next(left))

    grow()
    check_unproven(learn_lists(HARD, engine="branch-and-cut", memory=10**11), "memory")
    grow()
    done = command.run(
        "learn", str(tmp_path / "hard.jkl"), "--engine", "branch-and-cut", "--memory", "99GB"
    )
    assert "proof stopped at the memory limit; raise --memory to continue" in done.stderr
    assert "not proven optimal" in done.stdout
    assert learn_lists(hard_lists(10, 12)).optimal  # without a limit nobody asks


def test_gap_limit_ends_the_search() -> None:
    solution = learn_lists(HARD, gap_limit=60.0, time_limit=60.0)
    check_unproven(solution, "gap")
    assert solution.gap <= 60.0
    assert solution.seconds < 50.0


@pytest.mark.parametrize(
    ("engine", "phase"),
    [
        ("orders", "orders"),
        ("branch-and-cut", "root LP"),
        ("branch-and-cut", "branch-and-cut"),
        ("subsets", "subsets"),
    ],
)
@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_returns_the_incumbent(engine: str, phase: str) -> None:
    sent: list[str] = []

    def press(progress: Progress) -> None:
        if progress.phase == phase and not sent:
            sent.append(phase)
            signal.raise_signal(signal.SIGINT)

    lists = hard_lists(26) if engine == "subsets" else HARD  # 0.5 GB
    solution = learn_lists(lists, engine=engine, progress=press, time_limit=60.0)
    assert sent == [phase]
    check_unproven(solution, "interrupt")
    assert solution.seconds < 50.0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("phase", ["orders", "root LP", "branch-and-cut"])
def test_keyboard_interrupt_from_elsewhere_returns_the_incumbent(phase: str) -> None:
    def fail(progress: Progress) -> None:
        if progress.phase == phase:
            raise KeyboardInterrupt

    solution = learn_lists(HARD, engine="branch-and-cut", progress=fail, time_limit=60.0)
    check_unproven(solution, "interrupt")


@pytest.mark.parametrize("phase", ["root LP", "branch-and-cut"])
def test_an_error_in_the_callback_is_not_swallowed(phase: str) -> None:
    def fail(progress: Progress) -> None:
        if progress.phase == phase:
            raise RuntimeError("the callback failed")

    with pytest.raises(RuntimeError, match="the callback failed"):
        learn_lists(HARD, engine="branch-and-cut", progress=fail, time_limit=60.0)


def test_cancel_from_another_thread() -> None:
    stop = Stop.after(60.0)
    timer = threading.Timer(0.3, stop.cancelled.set)
    timer.start()
    solution = learn_lists(HARD, stop=stop)
    check_unproven(solution, "interrupt")
    assert solution.seconds < 20.0


def test_works_outside_the_main_thread() -> None:
    found: list[Solution] = []
    worker = threading.Thread(target=lambda: found.append(learn_lists(hard_lists(9))))
    worker.start()
    worker.join()
    assert found[0].optimal


def test_progress_is_monotone_and_ends_at_the_solution() -> None:
    seen: list[Progress] = []
    solution = learn_lists(hard_lists(20), progress=seen.append)
    assert solution.optimal
    assert seen
    steps = [(at.incumbent or -np.inf, at.bound or np.inf) for at in seen]
    assert all(a[0] <= b[0] and a[1] >= b[1] for a, b in itertools.pairwise(steps))
    assert seen[-1].incumbent == solution.score == seen[-1].bound


def test_subsets_say_how_much_memory_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ResourceError, match=r"60 variables needs over 1,000 TB .* pass engine="):
        learn_lists(hard_lists(60), engine="subsets")
    monkeypatch.setattr("parentage.work.memory.available_memory", lambda: 1_000_000_000)
    with pytest.raises(ResourceError, match=r"needs 8\.6 GB of memory; 1\.0 GB is free"):
        learn_lists(HARD, engine="subsets")


def test_auto_keeps_off_tables_that_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "available_memory", lambda: 2**20)
    lists = hard_lists(23, 5)
    solution = learn_lists(lists, time_limit=60.0)
    assert solution.optimal
    assert solution.engine != "subsets"
    monkeypatch.undo()
    assert learn_lists(lists, engine="subsets").score == pytest.approx(solution.score, abs=1e-6)


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_and_repetition_change_nothing(threads: int) -> None:
    lists = hard_lists(10, 20)
    for engine in ("orders", "subsets"):
        one = learn_lists(lists, engine=engine, seed=5)
        more = learn_lists(lists, engine=engine, seed=5, threads=threads)
        assert one.network == more.network
        assert one.score == more.score


def test_large_tables_of_subsets_agree_with_the_slow_one() -> None:
    lists = hard_lists(11)
    truth = best_network(lists)
    assert truth is not None
    for threads in (1, 2):
        assert learn_lists(lists, engine="subsets", threads=threads).score == pytest.approx(
            truth[0]
        )


def test_seeds_differ_but_not_the_result() -> None:
    lists = hard_lists(11, 20)
    scores = {learn_lists(lists, engine="orders", seed=seed).score for seed in range(3)}
    assert len(scores) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "subset"}, "did you mean 'subsets'"),
        ({"threads": 0}, "threads=0 must be at least 1"),
        ({"seed": -1}, "seed=-1 must be at least 0"),
        ({"time_limit": -1.0}, "time_limit=-1.0 must be at least 0"),
        ({"time_limit": float("nan")}, "time_limit=nan must be at least 0"),
        ({"gap_limit": -0.5}, "gap_limit=-0.5 must be at least 0"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, object], message: str) -> None:
    lists = random_lists(np.random.default_rng(0), 4)
    with pytest.raises(InputError, match=message):
        learn_lists(lists, **options)  # type: ignore[arg-type]  # wrong on purpose
