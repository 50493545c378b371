"""The folder of a checkpoint: what is not ours is left alone, and one job at a time uses it."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

from command import run
from parentage import Network
from parentage.data.datasets import chest_clinic
from parentage.errors import InputError, ResourceError
from parentage.pipeline import Advanced, learn
from parentage.scoring.candidates import score, score_table
from parentage.scoring.search import levels
from parentage.scoring.settings import Scoring
from parentage.work import checkpoint
from parentage.work.array_files import GrowingArray
from parentage.work.checkpoint import ARRAY, LOCK, Checkpoint, opened
from parentage.work.context import Context
from parentage.work.stop import Stop
from test_em import holes_of
from tuned import tune

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


TABLE = chest_clinic(200, seed=2)
DATES = ("2024-01-05", "2024-11-12", "1-2-x", "3-notes", "search-0-level-1-0", "search-0-sets-3-1")
"""What others may call their files; the last two are called as arrays of a search are."""


@pytest.fixture
def data(tmp_path: Path) -> str:
    """The table in a file."""
    rows = [TABLE.names]
    rows += zip(
        *([TABLE.states[v][c] for c in TABLE.to_codes()[v]] for v in range(TABLE.n_variables)),
        strict=True,
    )
    path = tmp_path / "table.csv"
    path.write_text("\n".join(",".join(row) for row in rows) + "\n", encoding="utf-8")
    return str(path)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


# --- what is not ours --------------------------------------------------------------------------


@pytest.mark.parametrize("name", DATES)
def test_a_folder_with_something_else_is_refused(tmp_path: Path, data: str, name: str) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    (folder / name).write_text("precious")
    for command in ("score", "learn"):
        told = run(command, data, "--checkpoint", str(folder))
        assert told.returncode == 2
        words = f"--checkpoint {folder} is not empty and holds no checkpoint, but {name!r};"
        assert words in told.stderr
        assert "name a new or empty folder" in told.stderr
        assert content(folder) == {name: b"precious"}
    with pytest.raises(InputError, match="holds no checkpoint"):  # whoever asks
        score_table(TABLE, Scoring(), Context(checkpoint=Checkpoint(folder)))
    assert content(folder) == {name: b"precious"}


def test_lists_do_not_go_into_a_folder_with_something_else(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("precious")
    with pytest.raises(InputError, match="holds no checkpoint, but 'notes'"):
        learn(score(TABLE), checkpoint=tmp_path)
    assert content(tmp_path) == {"notes": b"precious"}


def test_files_of_others_stay_in_the_folder_of_a_checkpoint(tmp_path: Path) -> None:
    score(TABLE, checkpoint=tmp_path / "kept")
    for name in DATES:
        (tmp_path / "kept" / name).write_text("precious")
    score(TABLE, checkpoint=tmp_path / "kept")
    left = content(tmp_path / "kept")
    assert [name for name in DATES if name in left] == list(DATES[:4])


@pytest.mark.usefixtures("save_always")
@pytest.mark.parametrize("name", ["bic", "bdeu:1", "pnal:0.01"])
def test_all_files_have_names_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Otherwise what was left of a search that was killed would stay for ever."""
    tune(monkeypatch, levels, most_joins=16)
    tune(monkeypatch, levels, fewest_joins=16)
    seen: set[str] = set()
    kept = Checkpoint(tmp_path / "kept")

    def look(_: object) -> None:
        seen.update(path.name for path in (tmp_path / "kept").iterdir())

    score_table(TABLE, Scoring(score=name, max_parents=3), Context(report=look, checkpoint=kept))
    arrays = {found for found in seen if not found.endswith(".state")}
    assert {found.split("-")[2] for found in arrays} >= {"level", "kept", "sets"}
    assert all(map(ARRAY.fullmatch, arrays))
    assert seen - arrays == {"job.state", "search-0.state"}


def test_a_search_that_is_killed_at_once_leaves_a_folder_of_ours(tmp_path: Path) -> None:
    """There is a state before there is an array."""
    folder, stop = tmp_path / "kept", Stop()
    seen: list[bool] = []

    def look(_: object) -> None:
        seen.append((folder / "job.state").exists())

    score_table(TABLE, Scoring(), Context(stop, report=look, checkpoint=Checkpoint(folder)))
    assert seen[0]
    for left in ("job.state.part", "solve-0.state.part", LOCK):
        other = tmp_path / left
        other.mkdir()
        (other / left).write_text("")
        assert learn(TABLE, checkpoint=other).optimal


def test_a_folder_with_the_name_of_an_array_is_told(tmp_path: Path) -> None:
    score(TABLE, checkpoint=tmp_path / "kept")
    (tmp_path / "kept" / "search-0-sets-9-9").mkdir()
    with pytest.raises(InputError, match=r"sets-9-9' is not a file, .*; move it elsewhere"):
        score(TABLE, checkpoint=tmp_path / "kept")


def test_a_folder_needs_a_name(tmp_path: Path, data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = run("score", data, "--checkpoint", "")
    assert told.returncode == 2
    assert "--checkpoint '' names no folder" in told.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


def test_a_file_is_not_a_folder(tmp_path: Path, data: str) -> None:
    told = run("score", data, "--checkpoint", data)
    assert told.returncode == 2
    assert f"--checkpoint {data} is not a folder; name a new or empty folder" in told.stderr
    below = run("score", data, "--checkpoint", f"{data}/deep/kept")
    assert below.returncode == 2
    assert f"cannot be made: {data!r} is not a folder" in below.stderr


def test_a_job_that_cannot_begin_leaves_no_folder(tmp_path: Path) -> None:
    told = run("learn", str(tmp_path / "absent.csv"), "--checkpoint", str(tmp_path / "kept"))
    assert told.returncode == 2
    assert list(tmp_path.iterdir()) == []


# --- one at a time -----------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["table", "lists", "em"])
def test_two_jobs_do_not_use_one_folder(tmp_path: Path, source: str) -> None:
    """Another process and another job of this one alike; and all stages are one job."""
    what = {"table": TABLE, "lists": score(TABLE), "em": holes_of(TABLE, 0.1)}[source]
    settings = {"missing": "em"} if source == "em" else {}
    folder = tmp_path / "kept"
    with opened(folder):
        with pytest.raises(InputError, match=r"checkpoint=.* is in use: another run"):
            learn(what, checkpoint=folder, **settings)  # type: ignore[arg-type]  # by name
        assert content(folder) == {LOCK: b""}
    assert not folder.exists()
    for _ in range(2):
        found = learn(what, checkpoint=folder, **settings)  # type: ignore[arg-type]  # by name
        assert found.optimal
    assert LOCK not in content(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="needs flock")
def test_a_process_that_is_killed_lets_go(tmp_path: Path, data: str) -> None:
    """The kernel does; children that were forked meanwhile do not hold the folder either."""
    folder = tmp_path / "kept"
    script = (
        "import os, sys, time, pathlib; from parentage.work.checkpoint import opened\n"
        "with opened(pathlib.Path(sys.argv[1])):\n"
        "    child = os.fork()\n"
        "    if child:\n"
        "        print(child, flush=True)\n"
        "    time.sleep(600)\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    child = int(holder.stdout.readline())
    try:
        told = run("score", data, "--checkpoint", str(folder))
        assert told.returncode == 2
        assert f"--checkpoint {folder} is in use: another run" in told.stderr
        holder.kill()
        holder.wait()
        assert (folder / LOCK).exists()
        time.sleep(0.1)
        assert run("score", data, "--checkpoint", str(folder)).returncode == 0
    finally:
        os.kill(child, signal.SIGKILL)
        holder.stdout.close()


@pytest.mark.skipif(sys.platform == "win32", reason="needs flock")
@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOTSUP])
def test_a_disk_that_cannot_lock_is_used_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def cannot(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("fcntl.flock", cannot)
    assert learn(TABLE, checkpoint=tmp_path / "kept").optimal


@pytest.mark.skipif(sys.platform == "win32", reason="needs flock")
def test_a_lock_that_was_removed_meanwhile_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opened while another run held it, locked when that had ended."""
    path, lock, looks = tmp_path / LOCK, checkpoint._lock, [0]

    def ended(number: int) -> None:
        looks[0] += 1
        if looks[0] == 1:
            path.unlink()
        lock(number)

    monkeypatch.setattr(checkpoint, "_lock", ended)
    with opened(tmp_path):
        assert looks[0] == 2
        with pytest.raises(InputError, match="is in use"), opened(tmp_path):
            pass


# --- damage and disks --------------------------------------------------------------------------


def saved_job(folder: Path) -> None:
    """Save scoring and solving of a table."""
    learn(TABLE, advanced=Advanced(engine="branch-and-cut"), checkpoint=folder)
    assert {"job.state", "search-0.state", "solve-0.state"} <= set(content(folder))


@pytest.mark.parametrize("name", ["job.state", "search-0.state", "solve-0.state", "growth.state"])
def test_a_state_nested_too_deep_is_damage(tmp_path: Path, name: str) -> None:
    saved_job(tmp_path / "kept")
    (tmp_path / "kept" / name).write_text("[" * 100_000)
    with pytest.raises(InputError, match=f"the checkpoint is damaged: .*{name}"):
        if name == "growth.state":
            Checkpoint(tmp_path / "kept").slot("growth")
        learn(TABLE, advanced=Advanced(engine="branch-and-cut"), checkpoint=tmp_path / "kept")


def test_a_folder_without_its_job_is_damaged(tmp_path: Path) -> None:
    saved_job(tmp_path / "kept")
    (tmp_path / "kept" / "job.state").unlink()
    with pytest.raises(InputError, match=r"damaged: .*job\.state' is missing, and 'search-0"):
        learn(TABLE, advanced=Advanced(engine="branch-and-cut"), checkpoint=tmp_path / "kept")


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A file system that cannot be written to, with a folder."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = shutil.which("mount") is not None and not os.system(  # noqa: S605  # our own folder
        f"mount -t tmpfs -o size=100k tmpfs {disk} 2>/dev/null && mkdir {disk}/kept"
        f" && mount -o remount,ro {disk} 2>/dev/null"
    )
    if not mounted:
        pytest.skip("only root may mount a file system")
    yield disk / "kept"
    os.system(f"umount {disk}")  # noqa: S605  # our own folder


def test_a_folder_that_cannot_be_written_to_is_told_at_once(read_only: Path, data: str) -> None:
    told = run("score", data, "--checkpoint", str(read_only))
    assert told.returncode == 2
    words = f"--checkpoint {read_only} cannot be written to: Read-only file system; name another"
    assert words in told.stderr
    assert "room" not in told.stderr


@pytest.mark.parametrize(
    ("code", "words"),
    [(errno.ENOSPC, "when there is room"), (errno.EROFS, "when it can be written to")],
)
def test_what_to_wait_for_depends_on_the_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, words: str
) -> None:
    def failing(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(checkpoint, "write_synced", failing)
    with pytest.raises(ResourceError, match=f"pass checkpoint=.* {words}: what it holds so far"):
        score(TABLE, checkpoint=tmp_path / "kept")


# --- starts ------------------------------------------------------------------------------------


def test_a_start_that_is_an_incumbent_may_change(tmp_path: Path) -> None:
    """Where lists grow and where cells are completed it may not: the way begins there."""
    start = Network.from_arcs(TABLE.names, [])
    lists = score(TABLE)
    for number, source in enumerate((TABLE, lists)):
        folder = tmp_path / str(number)
        whole = learn(source, checkpoint=folder)
        again = learn(source, checkpoint=folder, start=start)
        assert again.optimal
        assert again.score == pytest.approx(whole.score)


def test_a_file_that_is_left_open_is_closed_without_a_warning(tmp_path: Path) -> None:
    """A search that is stopped leaves its files; the warning would reach whoever runs next."""
    array = GrowingArray(tmp_path, "rows", np.dtype(np.int64), ())
    array.append(np.arange(3))
    file = array._file
    assert file is not None and not file.closed
    del array
    assert file.closed
