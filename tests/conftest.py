"""Shared fixtures."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

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
