"""Shared fixtures."""

from __future__ import annotations

import gc
import os
import signal
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from parentage.kernels._options import Kernel
from real_data import RealData

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reproduction.experiments import Reproduction

# What is collected stays until the end: no need to look through it for garbage.
gc.disable()

# A shell has what it starts in the background ignore Ctrl-C, and so would the commands of tests.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Commands that tests start on a full disk would leave half a file of bytecode behind.
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"

# A kernel compiles on its first call, so no deadline; what lands must not depend on luck.
settings.register_profile("parentage", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("parentage")


# Tests are of the compiled kernels; test_plain.py compares them with their plain versions.
Kernel.only = "compiled"

SLOW = Path(__file__).with_name("slow.txt")
"""Tests that took half a second or more when ``--write-slow`` was given, all cases of a function
together."""

HALF_A_SECOND = 0.5


def pytest_addoption(parser: pytest.Parser) -> None:
    """Two options: leave slow tests out, and write down which are slow."""
    parser.addoption("--fast", action="store_true", help="leave out the tests of slow.txt")
    parser.addoption("--write-slow", action="store_true", help="write slow.txt anew")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Import no helper of the tests for the sake of its doctests: they have none."""
    is_helper = collection_path.suffix == ".py" and not collection_path.name.startswith("test_")
    return True if is_helper and collection_path.parent == SLOW.parent else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave slow tests out, if asked for."""
    if config.getoption("--fast"):
        slow = set(SLOW.read_text().split())
        left_out = [item for item in items if function_of(item.nodeid) in slow]
        items[:] = [item for item in items if function_of(item.nodeid) not in slow]
        config.hook.pytest_deselected(items=left_out)


def pytest_collection_finish() -> None:
    """Look for garbage from here on, among what the tests themselves make."""
    gc.freeze()
    gc.enable()


def function_of(item: str) -> str:
    """Return the name of a test without its parameters."""
    return item.partition("[")[0]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Write down which tests are slow, if asked for."""
    if config.getoption("--write-slow"):
        seconds: Counter[str] = Counter()
        for report in terminalreporter.getreports("passed"):
            seconds[function_of(report.nodeid)] += report.duration
        slow = sorted(name for name, spent in seconds.items() if spent >= HALF_A_SECOND)
        SLOW.write_text("\n".join(slow) + "\n")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with tables and instances that are not part of the package."""
    where = os.environ.get("PARENTAGE_SHARED")
    if not where:
        pytest.skip("PARENTAGE_SHARED is not set: tables and instances are not at hand")
    folder = Path(where).resolve()
    if not (folder / "data").is_dir():
        pytest.fail(f"PARENTAGE_SHARED is set, but {folder / 'data'} is not there")
    return folder


@pytest.fixture(scope="session")
def real(shared: Path) -> RealData:
    """Real tables and instances, each read once."""
    return RealData(shared / "data")


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Python's own reaction to Ctrl-C, whatever runs the tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def no_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A time limit holds for small work, too: it is not finished whatever the clock says."""
    monkeypatch.setattr("parentage.work.stop.MOMENT", 0.0)


@pytest.fixture
def save_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every stage saves its state whenever it can, whatever that costs."""
    from parentage.work import checkpoint
    from parentage.work.tuning import TUNING

    always = replace(TUNING, writing_share=1e9, seconds_apart=0.0, chunk_seconds_apart=0.0)
    monkeypatch.setattr(checkpoint, "TUNING", always)
    monkeypatch.setattr("parentage.work.tuning.TUNING", always)


@pytest.fixture
def levels_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A memory limit is for the levels of a search alone, so that a small one can be kept."""
    monkeypatch.setattr("parentage.scoring.candidates.room_for_levels", lambda most, _: most)


@pytest.fixture
def no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """No disk has room for levels."""
    monkeypatch.setattr("parentage.scoring.search.state.has_room", lambda *_: False)


@pytest.fixture(scope="session")
def everything(shared: Path) -> Reproduction:
    """All 18 tables of the paper in both readings; within a minute of CPU time."""
    from reproduction.experiments import reproduce

    reproduce()  # compiles
    began = time.process_time()
    result = reproduce(shared / "data" / "uci")
    assert time.process_time() - began < 60
    return result


@pytest.fixture
def small_tables_expand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expand the lists of tables so small that all their sets would be listed."""
    from parentage.growth.tuning import TUNING

    anyhow = replace(TUNING, always_complete=0)
    monkeypatch.setattr("parentage.pipeline.EXPANSION", anyhow)
