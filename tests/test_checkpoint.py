"""A search that is killed, or whose disk is full, goes on and ends with the same lists."""

from __future__ import annotations

import errno
import json
import math
import os
import shutil
import signal
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from command import run
from parentage import Constraints, datasets
from parentage.errors import InputError, ResourceError, UnprovenWarning
from parentage.scoring.candidates import score, score_table, search_table
from parentage.scoring.measures import measure
from parentage.scoring.search import levels
from parentage.scoring.search.state import LevelBuffer
from parentage.scoring.settings import Scoring
from parentage.work import checkpoint
from parentage.work.array_files import GrowingArray, disk_folder, in_memory
from parentage.work.checkpoint import Checkpoint
from parentage.work.context import Context
from parentage.work.stop import Stop
from parentage.work.tuning import TUNING
from strategies import make_table, random_columns
from tuned import tune

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from parentage.data.table import Table
    from parentage.scoring.lists import CandidateLists
    from parentage.work.progress import Progress

SCORES = ("bic", "aic", "bdeu:1", "k2", "qnml", "fnml")


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch, save_always: None) -> None:
    """Small chunks, written as soon as they are done."""
    tune(monkeypatch, levels, most_joins=16)
    tune(monkeypatch, levels, fewest_joins=16)


def example(seed: int, columns: int = 9) -> Table:
    return make_table(random_columns(np.random.default_rng(seed), columns, 200))


def go_on(table: Table, folder: Path, settings: Scoring) -> CandidateLists:
    return score_table(table, settings, Context(checkpoint=Checkpoint(folder)))


def saved_in(folder: Path) -> Mapping[str, Any]:
    state = Checkpoint(folder).slot("search-0").state
    assert state is not None
    return state.values


def assert_equal(found: CandidateLists, expected: CandidateLists) -> None:
    assert found.digest == expected.digest == found.known().digest
    mine, other = found.known(), expected.known()
    assert mine.tallies.pruned == other.tallies.pruned
    assert mine.tallies.live_sets == other.tallies.live_sets
    assert mine.tallies.sets_counted == other.tallies.sets_counted
    assert mine.tallies.families_scored == other.tallies.families_scored
    assert mine.complete_to is other.complete_to is None


class Dying:
    """Calls a function, and kills the process instead at some call."""

    left = 0

    def __init__(self, function: Callable[..., Any], after: bool) -> None:
        self.function, self.after = function, after

    def __call__(self, *args: Any, **options: Any) -> Any:
        Dying.left -= 1
        if Dying.left == 0 and not self.after:
            os.kill(os.getpid(), signal.SIGKILL)
        found = self.function(*args, **options)
        if Dying.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    def __get__(self, instance: object, kind: type) -> Any:
        return lambda *args, **options: self(instance, *args, **options)


def killed_after(calls: int, table: Table, folder: Path, settings: Scoring) -> bool:
    """Go on in a process of its own that dies by SIGKILL at some call; False if it ended before."""
    child = os.fork()
    if child == 0:
        Dying.left = calls
        after = bool(calls % 2)
        GrowingArray.append = Dying(GrowingArray.append, after)  # type: ignore[method-assign]
        GrowingArray.remove = Dying(GrowingArray.remove, after)  # type: ignore[method-assign]
        vars(os)["fsync"] = Dying(os.fsync, after)
        Path.replace = Dying(Path.replace, after)  # type: ignore[method-assign]
        code = 1
        try:
            go_on(table, folder, settings)
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0
    return False


def kill_often(folder: Path, seed: int, settings: Scoring, kills: int) -> int:
    """Kill a search again and again at random moments; the lists must be those of an open run."""
    random = np.random.default_rng(seed)
    table = example(seed)
    expected = score_table(table, settings, Context())
    died = 0
    for _ in range(kills):
        if not killed_after(int(random.integers(1, 90)), table, folder, settings):
            break
        died += 1
    assert_equal(go_on(table, folder, settings), expected)
    assert all("kept" in path.name for path in folder.glob("search-0-*"))
    assert_equal(go_on(table, folder, settings), expected)  # all done, and still there
    return died


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("name", ["bic", "bdeu:1", "k2"])
def test_a_search_that_is_killed_goes_on(tmp_path: Path, name: str) -> None:
    assert kill_often(tmp_path / "kept", 1, Scoring(score=name, max_parents=4), 5) >= 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.long
@pytest.mark.parametrize("seed", range(12))
def test_a_search_that_is_killed_twenty_times_goes_on(tmp_path: Path, seed: int) -> None:
    name = SCORES[seed % len(SCORES)]
    settings = Scoring(score=name, rules="none" if seed % 4 == 3 else None)
    assert kill_often(tmp_path / "kept", seed, settings, 20) > 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_searches_with_required_parents_go_on(tmp_path: Path) -> None:
    """One search per child with required parents: each has its own state and files."""
    table = example(4, 7)
    a, b, c = table.names[:3]
    given = Constraints(required=frozenset({(a, b), (a, c)}))
    kill_often(tmp_path / "kept", 4, Scoring(), 3)
    settings = Scoring(constraints=given)
    folder = tmp_path / "required"
    died = [killed_after(calls, table, folder, settings) for calls in (40, 90, 55)]
    assert any(died)
    assert_equal(go_on(table, folder, settings), score_table(table, settings, Context()))


def test_every_moment_of_a_small_search_can_be_its_last(tmp_path: Path) -> None:
    """Not by a kill but by an error, at one call after the other."""
    table, settings = example(2, 5), Scoring()
    expected = score_table(table, settings, Context())
    for calls in range(1, 400, 7):
        folder = tmp_path / str(calls)
        with pytest.MonkeyPatch.context() as patch, Failing(calls, patch) as failing:
            try:
                go_on(table, folder, settings)
            except ResourceError as error:
                assert "No space left" in str(error) and "checkpoint=" in str(error)
        assert_equal(go_on(table, folder, settings), expected)
        shutil.rmtree(folder)
        if not failing.failed:
            break
    else:
        pytest.fail("the search never came through")
    assert calls > 30


class Failing:
    """A disk that is full from some call on."""

    def __init__(self, calls: int, patch: pytest.MonkeyPatch) -> None:
        self.left, self.patch, self.failed = calls, patch, False

    def __enter__(self) -> Failing:
        for owner, name in (
            (GrowingArray, "append"),
            (GrowingArray, "sync"),
            (checkpoint, "write_synced"),
        ):
            self.patch.setattr(owner, name, self._failing(getattr(owner, name)))
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def _failing(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            self.left -= 1
            if self.left <= 0:
                self.failed = True
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return function(*args)

        return call


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 160 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = shutil.which("mount") is not None and not os.system(  # noqa: S605
        f"mount -t tmpfs -o size=160k tmpfs {folder} 2>/dev/null"
    )
    if not mounted:
        pytest.skip("only root may mount a small file system")
    yield folder
    os.system(f"umount {folder}")  # noqa: S605


def test_a_full_disk_is_told_and_gone_on_from(tiny_disk: Path, tmp_path: Path) -> None:
    table, settings = example(3, 18), Scoring(rules="none", max_parents=4)
    expected = score_table(table, settings, Context())
    with pytest.raises(ResourceError, match="No space left on device; pass checkpoint="):
        go_on(table, tiny_disk / "kept", settings)
    roomy = tmp_path / "roomy"
    shutil.copytree(tiny_disk / "kept", roomy)
    assert saved_in(roomy)["in_degree"] >= 2
    assert_equal(go_on(table, roomy, settings), expected)


def test_an_interrupted_search_goes_on(tmp_path: Path) -> None:
    """Ctrl-C, SIGTERM and a time limit write what is done, level or not."""
    table, settings = example(5), Scoring(max_parents=4)
    stop, looks = Stop(), 0

    def cancel(_: object) -> None:
        nonlocal looks
        looks += 1
        if looks == 12:
            stop.cancelled.set()

    kept = Checkpoint(tmp_path / "kept")
    cut = score_table(table, settings, Context(stop, report=cancel, checkpoint=kept))
    assert cut.known().ended == "interrupt"
    assert saved_in(tmp_path / "kept")["pairs"]
    assert_equal(go_on(table, tmp_path / "kept", settings), score_table(table, settings, Context()))


@pytest.mark.usefixtures("no_moment")
def test_a_level_whose_rest_cannot_be_finished_is_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a break, too; it goes on when there is time."""
    table, settings, stop, looks = example(5), Scoring(max_parents=4), Stop(), 0

    def cancel(_: object) -> None:
        nonlocal looks
        looks += 1
        if looks == 12:
            stop.cancelled.set()

    score_table(
        table, settings, Context(stop, report=cancel, checkpoint=Checkpoint(tmp_path / "kept"))
    )
    state = saved_in(tmp_path / "kept")
    with monkeypatch.context() as patch:
        patch.setattr(levels.LevelSearch, "_at_least", lambda *_: math.inf)
        kept = Checkpoint(tmp_path / "kept")
        found = search_table(
            table, settings, Context(Stop.after(1000.0), checkpoint=kept), foresee=True
        )
    assert state["pairs"]
    assert state["in_degree"] > 1
    assert found.outcomes[0].ended == "time"
    assert found.outcomes[0].complete_to == state["in_degree"] - 1
    assert saved_in(tmp_path / "kept")["pairs"] == state["pairs"]
    assert_equal(go_on(table, tmp_path / "kept", settings), score_table(table, settings, Context()))


DIFFERENT: dict[str, tuple[dict[str, Any], str]] = {
    "table": ({}, "the table is another one"),
    "limit": ({"max_parents": 2}, "max_parents was not set, is 2"),
    "score": ({"score": "aic"}, "score was bic, is aic"),
    "rules": ({"rules": "none"}, "rules was not set, is none"),
    "width": ({"width": 1.0}, "width was not set, is 1.0"),
    "base": ({"log_base": 2}, "log_base was not set, is 2"),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_a_checkpoint_of_another_job_is_refused(tmp_path: Path, what: str) -> None:
    options, words = DIFFERENT[what]
    score(example(6, 5), checkpoint=tmp_path / "kept")
    table = example(7 if what == "table" else 6, 5)
    with pytest.raises(InputError, match="belongs to another job: .*" + words):
        score(table, checkpoint=tmp_path / "kept", **options)


def test_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    score(example(6, 5), checkpoint=tmp_path / "kept")
    monkeypatch.setattr("parentage.__version__", "9.9")
    with pytest.raises(InputError, match=r"version was .*, is 9\.9"):
        score(example(6, 5), checkpoint=tmp_path / "kept")


def test_a_folder_of_the_same_job_is_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = score(example(6, 5), checkpoint=tmp_path / "kept")
    with monkeypatch.context() as patch:
        patch.setattr(levels, "in_order", None)  # nothing is searched again
        assert_equal(score(example(6, 5), checkpoint=tmp_path / "kept"), first)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"file' is not a folder"):
        score(example(6, 5), checkpoint=tmp_path / "file")


def test_damage_is_noticed(tmp_path: Path) -> None:
    """Every file in turn: shorter, changed, gone. Longer ones were being written, and are cut."""
    table, settings = example(8), Scoring(max_parents=3)
    stop, looks = Stop(), 0

    def cancel(_: object) -> None:
        nonlocal looks
        looks += 1
        if looks == 9:
            stop.cancelled.set()

    whole = tmp_path / "whole"
    score_table(table, settings, Context(stop, report=cancel, checkpoint=Checkpoint(whole)))
    expected = score_table(table, settings, Context())
    names = sorted(path.name for path in whole.iterdir())
    assert len(names) > 10
    for name in names:
        content = (whole / name).read_bytes()
        changed = bytearray(content)
        if changed:
            changed[len(changed) // 2] ^= 4
        damages = [content[:-1], bytes(changed), None] if content else [None]
        for damage in damages:
            folder = tmp_path / "damaged"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(whole, folder)
            if damage is None:
                (folder / name).unlink()
            else:
                (folder / name).write_bytes(damage)
            if not (folder / "search-0.state").exists():  # nothing names the arrays
                assert_equal(go_on(table, folder, settings), expected)
                continue
            with pytest.raises(InputError, match=r"damaged|of format"):
                go_on(table, folder, settings)
    for name in names:
        if not name.endswith(".state"):
            with (whole / name).open("ab") as file:
                file.write(b"rest")
    (whole / "search-0-sets-9-9").write_bytes(b"never named")
    assert_equal(go_on(table, whole, settings), expected)
    assert not (whole / "search-0-sets-9-9").exists()


def test_a_number_that_changed_in_the_state_is_noticed(tmp_path: Path) -> None:
    """One join more that is said to be done: its sets would be missing, and nobody would know."""
    table, settings, stop = example(8), Scoring(max_parents=3), Stop()
    score_table(
        table,
        settings,
        Context(stop, report=lambda _: stop.cancelled.set(), checkpoint=Checkpoint(tmp_path)),
    )
    path, pairs = tmp_path / "search-0.state", saved_in(tmp_path)["pairs"]
    content = path.read_text(encoding="utf-8")
    assert f'"pairs": {pairs}' in content
    changed = content.replace(f'"pairs": {pairs}', f'"pairs": {pairs + 1}')
    path.write_text(changed, encoding="utf-8")
    with pytest.raises(InputError, match="has changed since it was written"):
        go_on(table, tmp_path, settings)


@pytest.mark.parametrize(
    "files",
    [
        ["abc"],
        {"level": 5},
        {"level": [3]},
        {"level": [{"name": "search-0-level-1-0"}]},
        {"level": [{"name": "../kept", "dtype": "<i8", "shape": [], "rows": 1, "check": 0}]},
    ],
)
def test_a_state_of_another_shape_is_damage(tmp_path: Path, files: object) -> None:
    """Nothing outside the folder is touched, and nothing but our own error is raised."""
    outside = tmp_path / "kept"
    outside.write_bytes(b"x" * 100)
    folder = tmp_path / "folder"
    folder.mkdir()
    kept = Checkpoint(folder)
    kept.claim({"kind": "a test"})
    forge(folder / "search-0.state", {"values": {}, "files": files})
    with pytest.raises(InputError, match="damaged"):
        kept.slot("search-0")
    assert outside.stat().st_size == 100


def forge(path: Path, content: dict[str, object]) -> None:
    """Write a file that is sealed as ours are."""
    body = json.dumps({"arrays": [], **content}).encode() + b"\n"
    head = {"format": checkpoint.FORMAT, "name": path.name, "check": zlib.crc32(body)}
    path.write_bytes(json.dumps(head).encode() + b"\n" + body)


@pytest.mark.usefixtures("levels_alone")
@pytest.mark.parametrize("name", ["bic", "bdeu:1", "pnal:0.01"])
@pytest.mark.parametrize("chosen", [True, False])
def test_levels_that_do_not_fit_go_to_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, chosen: bool
) -> None:
    """To the folder of temporary files, or to the one that is given."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    tune(monkeypatch, measure, sets_at_once=7)
    table, folder = example(9, 10), tmp_path / "exchange"
    written = []
    append = GrowingArray.append

    def noted(array: GrowingArray, rows: Any) -> None:
        written.append(array.path.parent.parent)
        append(array, rows)

    monkeypatch.setattr(GrowingArray, "append", noted)
    options: dict[str, Any] = {"exchange": folder} if chosen else {}
    seen: list[Progress] = []
    found = score(table, score=name, rules="none", memory=20_000, progress=seen.append, **options)
    assert set(written) == {folder if chosen else tmp_path}
    assert any(at.on_disk for at in seen)
    seen.clear()
    assert_equal(found, score(table, score=name, rules="none", progress=seen.append))
    assert seen and not any(at.on_disk for at in seen)
    assert [path for path in tmp_path.iterdir() if path != folder] == []  # nothing is left behind
    assert not chosen or list(folder.iterdir()) == []


@pytest.mark.usefixtures("levels_alone")
def test_nothing_is_left_on_disk_after_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(LevelBuffer, "fields", interrupted)
    with pytest.raises(KeyboardInterrupt):
        score(example(9, 10), rules="none", memory=20_000, exchange=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("levels_alone", "no_disk")
def test_a_disk_without_room_ends_the_search_honestly(tmp_path: Path) -> None:
    with pytest.warns(UnprovenWarning, match="lack of memory and disk space"):
        score(example(9, 10), rules="none", memory=20_000, exchange=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_memory_is_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    mounts = tmp_path / "mounts"
    mounts.write_text(f"none / ext4 rw 0 0\nnone {tmp_path} tmpfs rw 0 0\n")
    assert in_memory(tmp_path, mounts) and in_memory(tmp_path / "below", mounts)
    assert not in_memory(tmp_path.parent, mounts)
    assert disk_folder(mounts).parts[-2:] == ("var", "tmp")
    mounts.write_text("none / tmpfs rw 0 0\n")
    with pytest.raises(FileNotFoundError, match="is in memory"):
        disk_folder(mounts)
    assert disk_folder(tmp_path / "absent") == tmp_path


@pytest.mark.usefixtures("levels_alone")
def test_a_full_exchange_folder_ends_the_search_honestly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(GrowingArray, "append", full)
    with pytest.warns(UnprovenWarning, match="lack of memory"):
        score(example(9, 10), rules="none", memory=20_000, exchange=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_writing_takes_a_small_part_of_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the settings of real life: a level is written when that costs at most 4 % so far."""
    monkeypatch.undo()
    clock = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: clock[0])
    kept = Checkpoint(tmp_path)
    slot, seldom = kept.slot("search-0"), TUNING.chunk_seconds_apart
    assert not slot.due(0, 0.0)
    clock[0] = 1.0
    assert slot.due(0, 0.0) and not slot.due(0, seldom)
    assert not slot.due(10**9, 0.0)
    clock[0] = 100.0
    assert slot.due(10**9, seldom)
    kept.spent = 5.0
    assert not slot.due(0, seldom)


def test_the_command_goes_on(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    columns = datasets.chest_clinic(300, seed=2)
    rows = [columns.names, *zip(*(
        [columns.states[v][c] for c in columns.to_codes()[v]] for v in range(columns.n_variables)
    ), strict=True)]  # fmt: skip
    table.write_text("\n".join(",".join(row) for row in rows) + "\n")
    folder = str(tmp_path / "kept")
    first = run("score", str(table), "--json", "--checkpoint", folder)
    again = run("score", str(table), "--json", "--checkpoint", folder)
    assert first.returncode == again.returncode == 0
    assert json.loads(first.stdout)["lists"] == json.loads(again.stdout)["lists"]
    refused = run("score", str(table), "-k", "2", "--checkpoint", folder)
    assert refused.returncode == 2 and "max_parents was not set, is 2" in refused.stderr
