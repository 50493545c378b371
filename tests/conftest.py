"""Shared fixtures."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from real_data import RealData

if TYPE_CHECKING:
    from reproduction.experiments import Reproduction

# A kernel compiles on its first call, so no deadline; what lands must not depend on luck.
settings.register_profile("parentage", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("parentage")


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
def levels_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A memory limit is for the levels of a search alone, so that a small one can be kept."""
    monkeypatch.setattr("parentage.scoring.candidates.room_for_levels", lambda most, _: most)


@pytest.fixture
def no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """No disk has room for levels."""
    monkeypatch.setattr("parentage.scoring.keeper.has_room", lambda *_: False)


@pytest.fixture(scope="session")
def everything(shared: Path) -> Reproduction:
    """All 18 tables of the paper in both readings; within a minute of CPU time."""
    from reproduction.experiments import reproduce

    reproduce()  # compiles
    began = time.process_time()
    result = reproduce(shared / "data" / "uci")
    assert time.process_time() - began < 60
    return result
