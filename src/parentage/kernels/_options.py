"""The one place that says how kernels are compiled.

``nogil`` because threads run over chunks; ``cache`` because compiling costs seconds;
no ``fastmath``, because safe pruning rests on the arithmetic being what it says.
"""

from __future__ import annotations

from typing import Any

JIT: dict[str, Any] = {"nogil": True, "cache": True, "boundscheck": False, "error_model": "numpy"}

INLINE: dict[str, Any] = {**JIT, "inline": "always"}
"""For parts that are called in one place: compiled with their caller, once, not on their own."""
