"""Expectation maximisation that is killed goes on with the step it was in, to the same end."""

from __future__ import annotations

import json
import os
import shutil
import warnings
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

from command import by_recipe, run
from keywords import for_learn
from parentage import Network, structural_em
from parentage.data.datasets import chest_clinic
from parentage.errors import InputError, NotSavedWarning, UnprovenWarning
from parentage.pipeline import learn
from parentage.scoring.account import Account
from parentage.scoring.candidates import score_table
from parentage.scoring.settings import Scoring
from parentage.structural_em import StructuralEM, complete_and_score
from parentage.work import checkpoint
from parentage.work.checkpoint import Checkpoint, SavedState
from parentage.work.context import Context
from parentage.work.stop import Stop
from test_checkpoint import Dying, forge
from test_em import holes_of
from test_growth_resume import died

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from parentage.data.table import Table
    from parentage.optimise import Solution
    from parentage.scoring.lists import CandidateLists

FIRST, SECOND = 2, 9
"""Seeds of tables: of which the first start ends better, and of which the second."""


@pytest.fixture(autouse=True)
def eager(save_always: None) -> None:
    """Save every step."""


class Killed(BaseException):
    """The process ends here; what is in memory is gone."""


class End(NamedTuple):
    """What has to be the same: the account has the steps, the digest and the counts of work."""

    account: Account
    network: Network
    score: float
    optimal: bool


@cache
def table(seed: int = SECOND, share: float = 0.3) -> Table:
    """From both starts it takes several steps."""
    return holes_of(chest_clinic(150, seed=seed), share)


def learned(folder: Path | None, seed: int = SECOND, **how: Any) -> Solution:
    options: dict[str, Any] = {"missing": "em", "threads": 1, "checkpoint": folder, **how}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnprovenWarning)
        return learn(options.pop("table", table(seed)), **for_learn(**options))


def end_of(solution: Solution) -> End:
    account = solution.scope.origin
    assert isinstance(account, Account)
    assert account.digest is not None
    assert account.completion is not None
    account = replace(account, tallies=replace(account.tallies, seconds=0.0))
    return End(account, solution.network, solution.score, solution.optimal)


class Counting:
    """Counts what is scored, and dies when so much was."""

    def __init__(self, last: int = -1) -> None:
        self.calls, self.last = 0, last

    def __call__(self, *args: Any) -> CandidateLists:
        if self.calls == self.last:
            raise Killed
        self.calls += 1
        return score_table(*args)

    def during(self, work: Callable[[], object]) -> bool:
        """Whether the work died."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(structural_em, "score_table", self)
            try:
                work()
            except Killed:
                return True
        return False


@pytest.mark.parametrize("seed", [FIRST, SECOND])
def test_every_step_can_be_the_last(tmp_path: Path, seed: int) -> None:
    """One step at a time: none is done twice but the last one of the first start, if it wins."""
    whole, counting = end_of(learned(None, seed)), Counting()
    assert not counting.during(lambda: learned(None, seed))
    deaths, part = 0, Counting(1)
    while part.during(lambda: learned(tmp_path / "kept", seed)):
        deaths += part.calls
        part = Counting(1)
    assert deaths + part.calls == counting.calls + (seed == FIRST)
    assert end_of(learned(tmp_path / "kept", seed)) == whole
    assert whole.account.completion is not None
    assert whole.account.completion.starts == 2


def test_one_kill_is_enough(tmp_path: Path) -> None:
    whole, counting = end_of(learned(None)), Counting()
    counting.during(lambda: learned(None))
    for last in (1, counting.calls // 2, counting.calls - 1):
        folder = tmp_path / str(last)
        assert Counting(last).during(partial(learned, folder))
        assert end_of(learned(folder)) == whole


@pytest.mark.parametrize("part", ["network", "tried", "completion"])
def test_whatever_is_forgotten_would_change_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """The comparison notices if a part were not kept; ends that are not would be made again."""
    whole, folder, read = end_of(learned(None)), tmp_path / "kept", StructuralEM.from_state
    counting = Counting()
    counting.during(lambda: learned(None))
    assert Counting(counting.calls - 1).during(lambda: learned(folder))

    def forgetting(work: StructuralEM, state: SavedState) -> None:
        read(work, state)
        at = work.at
        assert at is not None
        instead = {
            "network": Network.from_arcs(at.network.names, []),
            "tried": (),
            "completion": None,
        }
        work.at = replace(at, **{part: instead[part]})  # type: ignore[arg-type]  # by name

    monkeypatch.setattr(StructuralEM, "from_state", forgetting)
    assert end_of(learned(folder)) != whole


def test_what_was_tried_is_known_after_a_break(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two networks that are best on each other's completions end the iteration, break or not."""
    names, solve = table().names, StructuralEM._solve
    one = Network.from_arcs(names, [])
    other = Network.from_arcs(names, [(names[0], names[1])])

    def to_and_fro(
        work: StructuralEM, data: Table, settings: Scoring, context: Context, start: Network
    ) -> Solution:
        solution = solve(work, data, settings, context, start)
        return replace(solution, network=other if start == one else one)

    monkeypatch.setattr(StructuralEM, "_solve", to_and_fro)
    monkeypatch.setattr(structural_em, "_is_best", lambda *_: True)
    monkeypatch.setattr(structural_em, "_completes_alike", lambda *_: False)
    whole = end_of(learned(None, start=one))
    assert whole.account.completion is not None and len(whole.account.completion.steps) == 2
    folder = tmp_path / "kept"
    assert Counting(1).during(lambda: learned(folder, start=one))
    assert end_of(learned(folder, start=one)) == whole


def dying(folder: Path, syncs: int) -> None:
    """Go on, and die by SIGKILL at some call: before a file is on the disk, or after."""
    Dying.left = syncs
    vars(os)["fsync"] = Dying(os.fsync, bool(syncs % 2))
    learned(folder)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_that_is_killed_within_a_write_goes_on(tmp_path: Path) -> None:
    whole, folder = end_of(learned(None)), tmp_path / "kept"
    for syncs in (1, 4, 3, 2, 1, 3):
        assert died(partial(dying, folder, syncs))
    assert end_of(learned(folder)) == whole


def test_a_given_start_goes_on(tmp_path: Path) -> None:
    start = Network.from_arcs(reversed(table().names), [("smoke", "bronc")])
    whole, counting = end_of(learned(None, start=start)), Counting()
    counting.during(lambda: learned(None, start=start))
    assert counting.calls > 1
    assert Counting(counting.calls - 1).during(lambda: learned(tmp_path / "kept", start=start))
    assert end_of(learned(tmp_path / "kept", start=start)) == whole


@pytest.mark.parametrize("last", [0, 1, 3])
def test_a_run_that_was_stopped_goes_on(tmp_path: Path, last: int) -> None:
    """Ctrl-C, SIGTERM and a time limit cut a step short; it is done again."""
    whole, stop, calls = end_of(learned(None)), Stop(), 0

    def interrupted(*args: Any) -> CandidateLists:
        nonlocal calls
        if calls == last:
            stop.cancelled.set()
        calls += 1
        return score_table(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(structural_em, "score_table", interrupted)
        kept = Checkpoint(tmp_path / "kept")
        cut = complete_and_score(table(), Scoring(), Context(stop, checkpoint=kept))
    completion = cut.lists.known().completion
    assert completion is not None
    assert completion.settled == (last == 3)  # where the first start has ended
    assert end_of(learned(tmp_path / "kept")) == whole


def test_an_end_that_there_is_no_time_to_make_again_is_not_called_settled(tmp_path: Path) -> None:
    assert learned(tmp_path / "kept").scope.settled
    stop = Stop()
    stop.cancelled.set()
    kept = Checkpoint(tmp_path / "kept")
    cut = complete_and_score(table(), Scoring(), Context(stop, checkpoint=kept))
    completion = cut.lists.known().completion
    assert completion is not None
    assert not completion.settled
    assert learned(tmp_path / "kept").scope.settled


def test_a_full_disk_is_told_and_gone_on_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, writes, write = end_of(learned(None)), 0, checkpoint.write_synced

    def full(path: Path, *content: bytes | memoryview) -> None:
        nonlocal writes
        writes += 1
        if writes > 2:
            raise OSError(28, os.strerror(28))
        write(path, *content)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "write_synced", full)
        with warnings.catch_warnings(record=True, action="default") as told:
            assert end_of(learned(tmp_path / "kept")) == whole
    (words,) = (str(one.message) for one in told if one.category is NotSavedWarning)
    assert "No space left on device; the work continues but is not saved" in words
    assert end_of(learned(tmp_path / "kept")) == whole


DIFFERENT: dict[str, tuple[dict[str, Any], str]] = {
    "table": ({"table": table(3)}, "the table is another one"),
    "score": ({"score": "aic"}, "score was bic, is aic"),
    "limit": ({"max_parents": 2}, "max_parents was not set, is 2"),
    "start": ({"start": Network.from_arcs(table().names, [])}, "start was not set, is .*asia"),
    "prior": ({"prior": 0.1}, "prior.default was 0.5, is 0.1"),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_a_checkpoint_of_another_job_is_refused(tmp_path: Path, what: str) -> None:
    Counting(2).during(lambda: learned(tmp_path / "kept"))
    options, words = DIFFERENT[what]
    with pytest.raises(InputError, match="belongs to another job: .*" + words):
        learned(tmp_path / "kept", **options)


def test_a_checkpoint_of_another_kind_of_job_is_refused(tmp_path: Path) -> None:
    Counting(2).during(lambda: learned(tmp_path / "kept"))
    completed = "a table whose missing values are completed by expectation maximisation"
    with pytest.raises(InputError, match=f"another kind of job: {completed}, not a table;"):
        learned(tmp_path / "kept", missing="pnal")
    learn(table(), missing="pnal", checkpoint=tmp_path / "other", threads=1)
    with pytest.raises(InputError, match=f"another kind of job: a table, not {completed};"):
        learned(tmp_path / "other")


def test_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Counting(2).during(lambda: learned(tmp_path / "kept"))
    monkeypatch.setattr("parentage.__version__", "9.9")
    with pytest.raises(InputError, match=r"version was .*, is 9\.9"):
        learned(tmp_path / "kept")


def test_damage_is_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    Counting(3).during(lambda: learned(folder))
    path, random = folder / "em.state", np.random.default_rng(2)
    whole = path.read_bytes()
    for at in random.integers(0, len(whole), 20).tolist():
        changed = bytearray(whole)
        changed[at] ^= 1 + int(random.integers(0, 15))
        path.write_bytes(bytes(changed))
        with pytest.raises(InputError, match=r"damaged|of format"):
            learned(folder)
    forge(path, {"values": {"at": None}, "files": {}})
    with pytest.raises(InputError, match="damaged"):
        learned(folder)


def test_the_command_goes_on(tmp_path: Path) -> None:
    """What ``score`` has kept, ``learn`` goes on with; and the other way round."""
    rows = [",".join(table().names)]
    for j in range(table().n_rows):
        cells = (
            "" if k >= len(labels) else labels[k]
            for labels, k in zip(table().states, table().to_codes()[:, j].tolist(), strict=True)
        )
        rows.append(",".join(cells))
    data, kept = tmp_path / "holes.csv", str(tmp_path / "kept")
    data.write_text("\n".join(rows) + "\n", encoding="utf-8")
    args = (str(data), *by_recipe(tmp_path, missing="em"), "--threads", "1", "--json")
    plain = json.loads(run("learn", *args).stdout)
    scored = json.loads(run("score", *args, "--checkpoint", kept).stdout)
    again = json.loads(run("learn", *args, "--checkpoint", kept).stdout)
    assert scored["digest"] == again["scope"]["account"]["digest"]
    assert again["parents"] == plain["parents"]
    assert again["scope"]["account"]["completion"] == plain["scope"]["account"]["completion"]
    shutil.rmtree(kept)
    cut = run("learn", *args, "--checkpoint", kept, "--time-limit", "0")
    assert "the state is saved" in cut.stderr
    ended = json.loads(run("learn", *args, "--checkpoint", kept).stdout)
    assert ended["scope"]["account"]["digest"] == plain["scope"]["account"]["digest"]
