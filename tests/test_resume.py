"""A proof that is killed, or whose disk is full, goes on from what was kept and is the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from parentage import check
from parentage.optimise import engines, keeping, optimise_lists
from parentage.optimise import run as running
from parentage.optimise.keeping import Keeper, Keeping
from parentage.optimise.root_lp import Tactics
from parentage.optimise.settings import Optimising
from parentage.scoring.lists import CandidateLists
from parentage.work.stop import Stop
from test_optimise_limits import hard_lists

if TYPE_CHECKING:
    from pathlib import Path

    from parentage.optimise import Solution
    from parentage.optimise.run import Run

WEAK = Tactics(warm_start=False, set_packing=False, local_cuts=False)
CUTTING = Optimising(engine="branch-and-cut")


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep after every round and node, and cut so little that a tree is needed."""
    monkeypatch.setattr(keeping, "EVERY", 0.0)
    monkeypatch.setattr(keeping, "SHARE", 1e9)
    monkeypatch.setattr(running, "HEARTBEAT", 0.0)


@pytest.fixture
def weak(monkeypatch: pytest.MonkeyPatch) -> None:
    solve = engines.solve
    monkeypatch.setattr(engines, "solve", lambda run, engine, _=None: solve(run, engine, WEAK))


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
    kept = None
    if folder is not None:
        kept = Keeping(folder, resume=True, source={"lists": lists.digest})
    return optimise_lists(lists, CUTTING, stop or Stop(), keeping=kept)


class Killed(BaseException):
    """The process ends here; what is in memory is gone."""


def killed_at(write: int, lists: CandidateLists, folder: Path, patch: pytest.MonkeyPatch) -> bool:
    """Go on, and die in place of some write; False if it ended before."""
    left = [write]

    def dying(keeper: Keeper, run: Run) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise Killed
        original(keeper, run)

    original = Keeper.write
    with patch.context() as inside:
        inside.setattr(Keeper, "write", dying)
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
    again = solved(lists, folder)  # all is there: the steps are gone through, nothing is solved
    assert_same(again, whole, lists, tmp_path)
    assert again.record.effort.lp_rounds == 0


@pytest.mark.usefixtures("eager", "weak")
def test_a_proof_that_goes_on_has_less_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists = hard_lists(12, 20, 2)
    whole = solved(lists, None)
    efforts = []
    for writes in (2, 10, 40):
        folder = tmp_path / str(writes)
        if killed_at(writes, lists, folder, monkeypatch):
            efforts.append(solved(lists, folder).record.effort.lp_rounds)
    assert len(efforts) > 1
    assert whole.record.effort.lp_rounds > efforts[-1]
    assert efforts == sorted(efforts, reverse=True)
