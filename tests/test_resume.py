"""A proof that is killed, or whose disk is full, goes on from what was kept and is the same."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from command import run as command
from keywords import for_learn
from parentage import check
from parentage.errors import InputError, NotSavedWarning
from parentage.optimise import optimise_lists
from parentage.optimise import run as running
from parentage.optimise.cuts import (
    Cut,
    counting_cut,
    cut_row,
    moved,
    read_cut,
    written_cut,
)
from parentage.optimise.orders import first_incumbent
from parentage.optimise.run import Run, from_slot, from_state
from parentage.optimise.settings import Optimising
from parentage.optimise.tuning import TUNING as SOLVING
from parentage.pipeline import learn
from parentage.scoring.candidates import score
from parentage.scoring.constraints import Constraints
from parentage.scoring.formats import read_lists, write_lists
from parentage.scoring.lists import CandidateLists
from parentage.work.checkpoint import Checkpoint, SavedState, Slot
from parentage.work.context import Context
from parentage.work.stop import Stop
from parentage.work.tuning import TUNING
from solving import learn_lists
from strategies import each
from test_growth import wide_table
from test_optimise_cuts import random_problem
from test_optimise_limits import hard_lists

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from parentage.optimise import Solution
    from parentage.work.progress import Progress

WEAK = replace(SOLVING, warm_rounds=0, set_packing=False, sizes=())
CUTTING = Optimising(engine="branch-and-cut")


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch, save_always: None) -> None:
    """Save after every round and node."""
    monkeypatch.setattr(running, "HEARTBEAT", 0.0)


@pytest.fixture
def weak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "TUNING", WEAK)


def two_parts(seed: int) -> CandidateLists:
    """Two problems beside each other: two strongly connected parts."""
    families: dict[str, list[tuple[float, list[str]]]] = {}
    for letter, lists in (("a", hard_lists(9, 12, seed)), ("b", hard_lists(12, 20, seed + 1))):
        for name in lists.names:
            families[letter + name] = [
                (candidate.score, [letter + parent for parent in candidate.parents])
                for candidate in lists[name]
            ]
    return CandidateLists.from_families(families)


def solved(lists: CandidateLists, folder: Path | None, stop: Stop | None = None) -> Solution:
    kept = None if folder is None else job_in(folder)
    return optimise_lists(lists, CUTTING, Context(stop or Stop(), checkpoint=kept))


def job_in(folder: Path) -> Checkpoint:
    kept = Checkpoint(folder)
    kept.claim({"kind": "a test"})
    return kept


class Killed(BaseException):
    """The process ends here; what is in memory is gone."""


def killed_at(write: int, lists: CandidateLists, folder: Path, patch: pytest.MonkeyPatch) -> bool:
    """Go on, and die in place of some write; False if it ended before."""
    left = [write]

    def dying(slot: Slot, make: Callable[[], SavedState]) -> bool:
        left[0] -= 1
        if left[0] < 0:
            raise Killed
        return original(slot, make)

    original = Slot.write
    with patch.context() as inside:
        inside.setattr(Slot, "write", dying)
        try:
            solved(lists, folder)
        except Killed:
            return True
    return False


def assert_same(found: Solution, whole: Solution, lists: CandidateLists, folder: Path) -> None:
    assert found.optimal
    assert whole.optimal
    assert found.score == pytest.approx(whole.score, abs=1e-6)
    assert found.certificate is not None
    path = folder / "proof.json"
    found.certificate.write(path)
    verdict = check.check(lists, path)
    assert verdict.verified, verdict.reason


@pytest.mark.long
@pytest.mark.usefixtures("eager", "weak")
@pytest.mark.parametrize("seed", range(6))
def test_a_proof_that_is_killed_goes_on(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists = two_parts(seed) if seed % 2 else hard_lists(12, 20, seed)
    whole = solved(lists, None)
    random, folder = np.random.default_rng(seed), tmp_path / "kept"
    died = 0
    for _ in range(6):
        if not killed_at(int(random.integers(1, 12)), lists, folder, monkeypatch):
            break
        died += 1
    assert died > 0
    assert_same(solved(lists, folder), whole, lists, tmp_path)
    again = solved(lists, folder)  # with all cuts at once
    assert_same(again, whole, lists, tmp_path)
    assert again.record.lp_rounds < whole.record.lp_rounds


@pytest.mark.usefixtures("eager", "weak")
def test_a_proof_that_goes_on_has_less_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = resumed = 0
    for seed in (1, 2, 3, 4):
        lists = hard_lists(12, 20, seed)
        whole += solved(lists, None).record.lp_rounds
        assert killed_at(10, lists, tmp_path / str(seed), monkeypatch)
        resumed += solved(lists, tmp_path / str(seed)).record.lp_rounds
    assert resumed < whole


@pytest.mark.long
@pytest.mark.usefixtures("eager", "weak")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_that_is_killed_at_any_moment_leaves_a_whole_state(tmp_path: Path) -> None:
    """SIGKILL twenty times, at random moments: within a write as well as between two."""
    lists = two_parts(3)
    whole = solved(lists, None)
    random, folder, died = np.random.default_rng(7), tmp_path / "kept", 0
    for kill in range(20):
        if kill % 7 == 6:
            shutil.rmtree(folder, ignore_errors=True)
        child = os.fork()
        if child == 0:
            solved(lists, folder)
            os._exit(0)
        time.sleep(random.uniform(0.0, 0.3))
        os.kill(child, signal.SIGKILL)
        died += os.WIFSIGNALED(os.waitpid(child, 0)[1])
    assert died > 3
    assert_same(solved(lists, folder), whole, lists, tmp_path)


@pytest.mark.usefixtures("eager", "weak")
def test_what_was_not_begun_again_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that goes on and is stopped at once keeps what the one before knew."""
    lists = two_parts(5)
    folder = tmp_path / "kept"
    assert killed_at(40, lists, folder, monkeypatch)
    shutil.copytree(folder, tmp_path / "copy")
    expected = solved(lists, tmp_path / "copy").record.lp_rounds
    for _ in range(2):
        stop = Stop()
        stop.cancelled.set()
        assert not solved(lists, folder, stop).optimal
    found = solved(lists, folder)
    assert found.record.lp_rounds == expected < solved(lists, None).record.lp_rounds
    assert_same(found, solved(lists, None), lists, tmp_path)


@pytest.mark.usefixtures("eager")
def test_a_run_that_was_stopped_goes_on(tmp_path: Path) -> None:
    """Ctrl-C, SIGTERM and a time limit keep the last state, with cuts of all kinds."""
    lists, looks, stop = hard_lists(12, 20, 2), 0, Stop()

    def cancel(at: Progress) -> None:
        nonlocal looks
        looks += at.phase == "root LP"
        if looks == 40:
            stop.cancelled.set()

    context = Context(stop, report=cancel, checkpoint=job_in(tmp_path / "kept"))
    first = optimise_lists(lists, CUTTING, context)
    assert first.stopped == "interrupt"
    assert first.record.cuts["local"] > 0
    found, whole = solved(lists, tmp_path / "kept"), solved(lists, None)
    assert_same(found, whole, lists, tmp_path)
    assert found.record.lp_rounds < whole.record.lp_rounds


@pytest.mark.usefixtures("eager")
def test_a_full_disk_is_told_and_gone_on_from(tiny_disk: Path, tmp_path: Path) -> None:
    lists = hard_lists(12, 20, 2)
    with pytest.warns(NotSavedWarning, match="No space left on device; the work continues") as told:
        full = solved(lists, tiny_disk / "kept")
    assert len(told) == 1
    assert full.optimal
    names = {path.name for path in (tiny_disk / "kept").iterdir()}
    assert names == {"job.state", "solve-0.state"}
    roomy = shutil.copytree(tiny_disk / "kept", tmp_path / "roomy")
    found, whole = solved(lists, roomy), solved(lists, None)
    assert_same(found, whole, lists, tmp_path)
    assert full.score == whole.score
    assert found.record.lp_rounds < whole.record.lp_rounds


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 32 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = shutil.which("mount") is not None and not os.system(  # noqa: S605  # our own folder
        f"mount -t tmpfs -o size=32k tmpfs {folder} 2>/dev/null"
    )
    if not mounted:
        pytest.skip("only root may mount a small file system")
    yield folder
    os.system(f"umount {folder}")  # noqa: S605  # our own folder


SMALL = hard_lists(10, 12, 1)
DIFFERENT: dict[str, tuple[dict[str, Any], str]] = {
    "lists": ({"source": hard_lists(10, 12, 2)}, "the lists are other ones"),
    "engine": ({"engine": "subsets"}, "engine was auto, is subsets"),
    "seed": ({"seed": 3}, "seed was 0, is 3"),
    "limit": ({"max_parents": 1}, "max_parents was not set, is 1"),
    "arcs": (
        {"constraints": Constraints(forbidden=frozenset({("v0", "v1")}))},
        r'constraints.forbidden was .*, is \[\["v0", "v1"\]\]',
    ),
    "table": ({"source": wide_table()}, "another kind of job: lists, not a table"),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_a_checkpoint_of_another_job_is_refused(tmp_path: Path, what: str) -> None:
    learn(SMALL, checkpoint=tmp_path / "kept")
    options, words = DIFFERENT[what]
    with pytest.raises(InputError, match=words):
        learn(**for_learn(**{"source": SMALL, **options}), checkpoint=tmp_path / "kept")
    assert learn(SMALL, checkpoint=tmp_path / "kept").optimal


def test_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learn(SMALL, checkpoint=tmp_path / "kept")
    monkeypatch.setattr("parentage.__version__", "9.9")
    with pytest.raises(InputError, match=r"version was .*, is 9\.9"):
        learn(SMALL, checkpoint=tmp_path / "kept")


def test_lists_do_not_continue_the_job_of_a_table(tmp_path: Path) -> None:
    score(wide_table(n=5), checkpoint=tmp_path / "scored")
    with pytest.raises(InputError, match=r"another kind of job: a table, not lists"):
        learn(SMALL, checkpoint=tmp_path / "scored")


def test_damage_is_noticed(tmp_path: Path) -> None:
    """Every byte counts: one that changed is told, not worked with."""
    lists = hard_lists(12, 20, 2)
    solved(lists, tmp_path / "kept")
    path = tmp_path / "kept" / "solve-0.state"
    whole = path.read_bytes()
    random = np.random.default_rng(1)
    for at in [0, len(whole) - 2, *random.integers(0, len(whole), 20).tolist()]:
        changed = bytearray(whole)
        changed[at] ^= 1 + int(random.integers(0, 15))
        path.write_bytes(bytes(changed))
        with pytest.raises(InputError, match=r"damaged|of format"):
            solved(lists, tmp_path / "kept")
    for length in (0, 10, len(whole) // 2):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match="damaged"):
            solved(lists, tmp_path / "kept")
    path.write_bytes(whole)
    assert solved(lists, tmp_path / "kept").optimal


@each("seed", 20)
def test_cuts_are_read_as_they_were_written(seed: int) -> None:
    """A cut that comes back has the same row, whatever sets it meets."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, 9)
    members = tuple(sorted(rng.choice(9, 4, replace=False).tolist()))
    table = np.zeros((4, 16), np.int16)
    for j in range(4):
        for mask in range(1, 16):
            below = max(table[j, mask & ~(1 << b)] for b in range(4) if mask >> b & 1)
            table[j, mask] = below + (rng.integers(0, 3) if not mask >> j & 1 else 0)
    outside = [v for v in range(9) if v not in members][:2]
    through = ((outside[0], (members[0],)), (outside[1], (members[1], outside[0])))
    cut = Cut("shrunken", members, 7, 0, table, through, 2) if seed % 2 else Cut(
        "local", members, 7, 0, table
    )  # fmt: skip
    sets, none = problem.members, np.zeros(problem.m, np.bool_)
    back = read_cut(json.loads(json.dumps(written_cut(cut, np.arange(9), sets))))
    one, other = cut_row(sets, cut, none), cut_row(sets, back, none)
    assert one.columns.tolist() == other.columns.tolist()
    assert one.values.tolist() == other.values.tolist()
    assert one.side == other.side
    assert back.through == cut.through


def test_a_resumed_part_has_the_cuts_that_pass_through_its_variables() -> None:
    """Their weights hold for the lists they were found in, and for no others."""
    lists, others = hard_lists(12, 20, 3), hard_lists(12, 10, 3)
    first = Run(lists)
    (part,) = (one for one in first.parts if one.problem.n == 12)
    table = np.zeros((3, 8), np.int16)
    table[0, 6:] = 1
    for one in first.parts:
        first_incumbent(one)
    part.cuts = [
        Cut("shrunken", (0, 2, 5), 2, 0, table, ((3, (2, 7)),), 1),
        counting_cut((1, 4), 1),
    ]
    state = first.to_state()
    for known, families in ((lists, ["packing", "shrunken"]), (others, ["packing"])):
        again = Run(known, start=from_state(state, known))
        (whole,) = (one for one in again.parts if one.problem.n == 12)
        assert [cut.family for cut in whole.take_cuts()] == families
    assert moved(part.cuts[0], {v: v for v in range(12) if v != 7}) is None
    assert moved(part.cuts[0], {v: 11 - v for v in range(12)}) is None  # another order of members
    back = moved(part.cuts[0], {v: v + 1 for v in range(12)})
    assert back is not None
    assert (back.members, back.through) == ((1, 3, 6), ((4, (3, 8)),))


def test_lists_that_have_grown_use_the_incumbent_and_the_cuts(tmp_path: Path) -> None:
    """The table is the same and more of it was scored: the proof begins anew, not from nothing."""
    few, many = hard_lists(12, 10, 3), hard_lists(12, 20, 3)
    for lists in (few, many):
        saved = from_slot(job_in(tmp_path / "kept").slot("solve-0"), lists)
        assert bool(saved.cuts) == (lists is many)
        assert len(saved.orders) == (lists is many)
        context = Context(checkpoint=job_in(tmp_path / "kept"))
        found = optimise_lists(lists, CUTTING, context)
        assert_same(found, learn_lists(lists), lists, tmp_path)


def test_saving_takes_a_small_part_of_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr("parentage.work.checkpoint.time.perf_counter", lambda: clock[0])
    kept = job_in(tmp_path / "kept")
    slot, began, writes = kept.slot("solve"), kept.began, 0

    def state() -> SavedState:
        clock[0] += 0.02 * 1.1**writes  # the next state is larger
        return SavedState({"writes": writes})

    for _ in range(20_000):
        clock[0] += 0.05
        if slot.due():
            assert slot.write(state)
            writes += 1
            assert kept.spent <= TUNING.writing_share * (clock[0] - began)
    assert writes > 5
    assert kept.spent > 0.5 * TUNING.writing_share * (clock[0] - began)


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_the_command_keeps_what_is_there_after_sigterm(tmp_path: Path) -> None:
    lists = hard_lists(30)
    families = {child: {c.parents: c.score for c in lists[child]} for child in lists}
    single = {child: [(s, list(p)) for p, s in own.items()] for child, own in families.items()}
    write_lists(CandidateLists.from_families(single), tmp_path / "hard.jkl")
    hard, kept, net = (str(tmp_path / name) for name in ("hard.jkl", "kept", "net.json"))
    args = ("learn", hard, "--engine", "branch-and-cut", "--threads", "1", "-o", net)
    child = subprocess.Popen(
        [sys.executable, "-m", "parentage", *args, "--checkpoint", kept], stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 120
    while not (tmp_path / "kept" / "solve-0.state").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(child.pid, signal.SIGTERM)
    _, told = child.communicate(timeout=60)
    assert child.returncode == 130, told
    assert f"the state is saved; --checkpoint {kept} continues" in told.decode()
    assert "interrupted during the search" in told.decode()
    first = json.loads((tmp_path / "net.json").read_text())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hard.jkl", "kept", "net.json"]
    done = command(*args, "--resume", kept, "--time-limit", "1")
    assert done.returncode == 0, done.stderr
    second = json.loads((tmp_path / "net.json").read_text())
    assert second["score"] >= first["score"]


def test_lists_say_which_they_are(tmp_path: Path) -> None:
    lists = score(wide_table(n=6))
    assert lists.known().digest == lists.digest
    for name in ("lists.jkl", "lists.pss", "lists.parquet"):
        write_lists(lists, tmp_path / name)
        assert read_lists(tmp_path / name).known().digest == lists.digest
    assert lists.known().digest != score(wide_table(n=6), max_parents=1).known().digest
