"""Other numbers than those of a room's tuning, for one test."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest


def tune(patch: pytest.MonkeyPatch, module: Any, **values: float) -> None:
    """Let a module use these values of the tuning that it imported."""
    patch.setattr(module, "TUNING", replace(module.TUNING, **values))
