"""What writes a result, by name: results save themselves, and rooms import one way.

A result does not know the room that writes it, which is above it and imports it. Its method
``save`` finds the writer here when it is called.
"""

from __future__ import annotations

import importlib
from typing import Any

_WRITERS = {
    "lists": "parentage.scoring.formats:write_lists",
    "near": "parentage.optimise.near:within",
    "network": "parentage.report.page:save",
    "recipe": "parentage.data.recipe_file:write_recipe",
}


def writer_of(result: str) -> Any:
    """Return the function that writes a kind of result, or makes one from it.

    >>> writer_of("recipe").__name__
    'write_recipe'
    """
    module, name = _WRITERS[result].split(":")
    return getattr(importlib.import_module(module), name)
