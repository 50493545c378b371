"""Settings by name, as the keywords of ``parentage.learn``."""

from __future__ import annotations

from typing import Any

from parentage.errors import OF_ADVANCED
from parentage.pipeline import Advanced


def for_learn(**given: Any) -> dict[str, Any]:
    """Put what few people set into ``advanced``."""
    together = {name: given.pop(name) for name in OF_ADVANCED if name in given}
    return {**given, "advanced": Advanced(**together)} if together else given
