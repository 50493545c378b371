"""A recipe as a small TOML file, to be read by people and to be used again.

::

    # 2,000 rows, 7 columns; 1 column left out (id); …
    [settings]
    encoding = "cp1252"
    decimal = ","
    missing = "mode"

    [[column]]
    name = "age"
    states = ["< 40", "[40, 65)", "≥ 65"]
    cuts = [40.0, 65.0]
    fill = "[40, 65)"

``settings`` are those of :class:`parentage.data.settings.Reading`. If there are columns, a table
must fit them: these columns, with these states and cut points. A file of settings alone sets them.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from parentage.data.recipe import ColumnRecipe, Recipe
from parentage.data.settings import Reading
from parentage.errors import InputError, did_you_mean
from parentage.files.atomic import write_text
from parentage.files.source import open_source

if TYPE_CHECKING:
    import os

PARTS = ("settings", "column", "account")
MARK = "# A recipe of parentage: how a table is read."
"""First line of the files written here."""


def write_recipe(recipe: Recipe, path: str | os.PathLike[str]) -> None:
    """Write a recipe; the file appears whole or not at all."""
    write_text(path, recipe_text(recipe))


def recipe_text(recipe: Recipe) -> str:
    """Return the TOML text of a recipe."""
    content = recipe.to_dict()
    lines = [MARK]
    if recipe.account is not None:
        lines.append("# " + _comment(f"{recipe.account.source}: {recipe.words()}"))
    lines += ["", "[settings]", *_pairs(content["settings"])]
    for column in content["columns"]:
        lines += ["", "[[column]]", *_pairs(column)]
    return "\n".join(lines) + "\n"


def read_recipe(path: str | os.PathLike[str]) -> Recipe:
    """Read a recipe from a TOML file."""
    source = open_source(path)
    try:
        content = tomllib.loads(source.text())
    except (ValueError, RecursionError) as error:  # ValueError: bad TOML or huge numbers
        if isinstance(error, InputError):
            raise
        raise InputError(f"{source.name} is not a TOML file: {error}") from None
    _check_names(content, PARTS, source.name, "part")
    settings = content.get("settings", {})
    if isinstance(settings, Mapping):
        known = [name for name in Reading.__dataclass_fields__ if name != "recipe"]
        _check_names(settings, known, source.name, "setting")
    columns = content.get("column", [])
    for column in columns if isinstance(columns, list) else []:
        if isinstance(column, Mapping):
            known = list(ColumnRecipe.__dataclass_fields__)
            _check_names(column, known, source.name, "fact of a column")
    try:
        return Recipe.from_dict({"settings": settings, "columns": columns})
    except InputError as error:
        raise InputError(f"{source.name}: {error}") from None


def _check_names(given: Mapping[str, Any], known: Any, name: str, what: str) -> None:
    for key in given:
        if key not in known:
            raise InputError(f"{name}: no {what} {key!r}; {did_you_mean(key, known)}")


def _pairs(facts: Mapping[str, Any]) -> list[str]:
    return [f"{name} = {_value(value)}" for name, value in facts.items()]


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return repr(value)


def _comment(text: str) -> str:
    """Return a text without the control characters that a comment cannot hold."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text)
