"""Every error, warning and line of output in one file, to be read in one go.

``python tests/messages.py [FILE]`` lists, module by module, the sentences of the package that
people read: texts of three words or more that run, without docstrings. What a message fills in is
shown as ``‹expression›``.
"""

from __future__ import annotations

import ast
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(__file__).resolve().parent.parent / "src" / "parentage"
FEWEST_WORDS = 3
"""A text with fewer words is a name, a separator or part of a format."""


@cache
def modules() -> dict[str, ast.Module]:
    """Return the tree of every module of the package by its path in it."""
    paths = sorted(SOURCE.rglob("*.py"))
    return {
        path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in paths
    }


def sentences(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the words of every text in a tree that is not a docstring."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if isinstance(node, ast.Constant | ast.JoinedStr):
        text = " ".join(words(node).split())
        if len(text.split()) >= FEWEST_WORDS and any(map(str.isalpha, text)):
            yield node.lineno, text
        return
    for child in ast.iter_child_nodes(node):
        yield from sentences(child)


def words(node: ast.Constant | ast.JoinedStr) -> str:
    """Return a text, with the expressions that it fills in as ``‹expression›``."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    parts = []
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            parts.append(f"‹{ast.unparse(part.value)}›")
        elif isinstance(part, ast.Constant):
            parts.append(str(part.value))
    return "".join(parts)


def listed() -> str:
    """Return all sentences, under the names of their modules."""
    lines = ["# What people read"]
    for name, tree in modules().items():
        found = [f"- {line}: {text}" for line, text in sentences(tree)]
        if found:
            lines += ["", f"## {name}", "", *found]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if sys.argv[1:]:
        Path(sys.argv[1]).write_text(listed(), encoding="utf-8")
    else:
        sys.stdout.write(listed())
