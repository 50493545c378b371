"""How much there is to know: counts of modules, classes, constants, options and parameters.

``python benchmarks/house.py [--beside FOLDER] [--write]``

Counts the package in ``src`` beside this folder. The column *before* is a checkout given by
``--beside``, else what ``results/house.json`` has; ``--write`` records both and writes the table.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import measure

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent.parent
ENGINE = ("scoring", "kernels", "optimise", "check", "growth", "work")
ENGINE_MODULES = ("pipeline", "structural_em", "em_keeping", "learner")
LATER = ("check/table.py", "check/counting.py")
"""Modules that are nothing but a capability that 0.2 did not have: lists recounted from a table."""

KINDS = (
    "BySums", "Penalised", "NodeAverage", "QNML", "EncodedHoles", "WeightedTable",
    "WeightedEncoded", "PenaltySearch", "SumSearch", "HoleSearch", "EncodedMissing",
    "PenalisedMeasure", "SumMeasure", "MissingMeasure", "Dirichlet", "FNML",
)  # fmt: skip
"""Classes by which code asks of which kind a score or a table is."""

SURFACE = """
import inspect, json, click, parentage
from parentage.cli import cli as main
from parentage.estimator import ParentageLearner
commands = {name: main.get_command(None, name) for name in main.list_commands(None)}
options = {
    name: [p for p in command.params if isinstance(p, click.Option)]
    for name, command in commands.items()
}
learn = parentage.learn
parameters = [p for p in inspect.signature(learn).parameters.values()]
print(json.dumps({
    "public names": len(parentage.__all__),
    "parameters of learn()": len(parameters),
    "parameters of the estimator": len(inspect.signature(ParentageLearner).parameters),
    "commands": len(commands),
    "options by name": len({p.name for found in options.values() for p in found}),
    "pairs of command and option": sum(map(len, options.values())),
    "options of learn": len(options["learn"]),
    "options that learn --help shows": sum(getattr(p, "common", True) for p in options["learn"]),
}))
"""


def modules(package: Path) -> Iterator[tuple[str, Path]]:
    """Yield every module of the package with its room."""
    for path in sorted(package.rglob("*.py")):
        inside = path.relative_to(package)
        yield (inside.parts[0] if len(inside.parts) > 1 else inside.stem), path


def is_engine(room: str) -> bool:
    """Whether a room scores, solves or checks."""
    return room in ENGINE or room in ENGINE_MODULES


def is_number(node: ast.AST | None) -> bool:
    """Whether an expression is made of numbers alone."""
    if isinstance(node, ast.Constant):
        return type(node.value) in (int, float)
    if isinstance(node, ast.UnaryOp):
        return is_number(node.operand)
    return isinstance(node, ast.BinOp) and is_number(node.left) and is_number(node.right)


def numbers_in(node: ast.AST | None) -> int:
    """Return how many numbers a constant of a module holds, those of a tuple counted singly."""
    if isinstance(node, ast.Tuple):
        return sum(map(is_number, node.elts))
    return int(is_number(node))


def constants(tree: ast.Module) -> int:
    """Return how many numbers the module assigns to names at its top level."""
    assigned = (n for n in tree.body if isinstance(n, ast.Assign | ast.AnnAssign))
    return sum(numbers_in(node.value) for node in assigned)


def inline(tree: ast.Module) -> int:
    """Return how many fractions stand inside functions, but for a half, one and two."""
    plain = (0.0, 0.5, 1.0, 2.0)
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    found = {
        (node.lineno, node.col_offset)
        for function in functions
        for node in ast.walk(function)
        if isinstance(node, ast.Constant) and type(node.value) is float and node.value not in plain
    }
    return len(found)


def switches(tree: ast.Module) -> int:
    """Return how often ``isinstance`` asks for the kind of a score or a table."""
    calls = (n for n in ast.walk(tree) if isinstance(n, ast.Call))
    asked = (c.args[1] for c in calls if getattr(c.func, "id", "") == "isinstance")
    return sum(any(getattr(n, "id", "") in KINDS for n in ast.walk(kind)) for kind in asked)


def twins(tree: ast.Module) -> int:
    """Return the lines of the NumPy versions of kernels, with which small work needs no compiling.

    0.2 had none. What decides between the two versions is counted with the engine.
    """
    functions = (n for n in tree.body if isinstance(n, ast.FunctionDef))
    return sum(
        (function.end_lineno or 0) - function.decorator_list[0].lineno + 1
        for function in functions
        if any("as_numpy" in text for text in map(ast.unparse, function.decorator_list))
    )


def tuned(tree: ast.Module) -> int:
    """Return how many numbers the records called Tuning have."""
    records = (n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Tuning")
    fields = (n.value for record in records for n in record.body if isinstance(n, ast.AnnAssign))
    return sum(map(tuned_in, fields))


def tuned_in(node: ast.AST | None) -> int:
    """Return how many numbers a field of such a record holds, whatever they are wrapped into."""
    if isinstance(node, ast.Call):  # tuned(value, unit, …), or a record of its own
        wrapped = isinstance(node.func, ast.Name) and node.func.id == "tuned"
        return sum(map(tuned_in, node.args[:1] if wrapped else node.args))
    return sum(map(tuned_in, node.elts)) if isinstance(node, ast.Tuple) else numbers_in(node)


def longest(tree: ast.Module) -> int:
    """Return the largest number of parameters of a function, but for those that users call.

    Those spell out settings as keywords (``@takes``), and are counted with the surface.
    """
    functions = (
        n
        for n in ast.walk(tree)
        if isinstance(n, ast.FunctionDef)
        and not any("takes" in ast.unparse(decorator) for decorator in n.decorator_list)
    )
    return max(
        (len(f.args.args) + len(f.args.kwonlyargs) + len(f.args.posonlyargs) for f in functions),
        default=0,
    )


def counts_of(package: Path) -> dict[str, int]:
    """Count what a reader has to hold."""
    counted: Counter[str] = Counter()
    homes: dict[str, set[Path]] = {}
    most = 0
    for room, path in modules(package):
        tree = ast.parse(path.read_text())
        lines = len(path.read_text().splitlines())
        classes = sum(isinstance(node, ast.ClassDef) for node in ast.walk(tree))
        for where in ("all", "engine") if is_engine(room) else ("all", "house"):
            counted[f"modules, {where}"] += 1
            counted[f"classes, {where}"] += classes
            counted[f"lines, {where}"] += lines
        if not is_engine(room):
            continue
        later = lines if path.relative_to(package).as_posix() in LATER else twins(tree)
        counted["lines, engine, without recount and NumPy twins"] += lines - later
        counted["constants, engine"] += constants(tree)
        counted["fractions inside functions, engine"] += inline(tree)
        counted["numbers of tuning records, engine"] += tuned(tree)
        counted["isinstance on kinds, engine"] += switches(tree)
        if room != "kernels":
            most = max(most, longest(tree))
        for node in tree.body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name[0] != "_":
                homes.setdefault(node.name, set()).add(path)
    counted["most parameters of a function, engine without kernels"] = most
    counted["public names in two modules, engine"] = sum(len(h) > 1 for h in homes.values())
    return dict(counted)


def surface_of(source: Path) -> dict[str, int]:
    """Count what faces outwards, by importing the package in a fresh process."""
    here = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run(
        [sys.executable, "-c", SURFACE], env=here, capture_output=True, text=True, check=True
    )
    found: dict[str, int] = json.loads(done.stdout)
    return found


def house(checkout: Path) -> dict[str, int]:
    """Count a whole checkout."""
    return counts_of(checkout / "src" / "parentage") | surface_of(checkout / "src")


def recorded() -> dict[str, int]:
    """Return the counts that were recorded as those before; none if there is no record."""
    path = measure.RESULTS / "house.json"
    found: dict[str, int] = json.loads(path.read_text())["before"] if path.exists() else {}
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--beside", type=Path, help="another checkout")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    now = house(HERE)
    before = house(given.beside) if given.beside else recorded()
    names = sorted({*now, *before})
    rows = [[n, f"{before.get(n, 0):,}", f"{now.get(n, 0):,}"] for n in names]
    text = "# What there is to know\n\n" + measure.markdown(["count", "before", "now"], rows)
    if given.write:
        measure.write("house", {"before": before, "now": now}, text)
    else:
        print(text)


if __name__ == "__main__":
    main()
