"""How many cases of each kind were tried, over all runs: a file that grows, and a table of it."""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Mapping

RESULTS = Path(__file__).parent.parent.parent / "benchmarks" / "results" / "fuzz.json"
HEADING = "Cases by kind"
ALL = "all"

Tally = dict[str, dict[str, dict[str, int]]]
"""By part and kind: ``cases`` and ``failures``."""


def add(path: Path, part: str, cases: Counter[str], failures: Counter[str]) -> None:
    """Add what was tried to what the file has; runs side by side may use one file."""
    with _alone_in(path.parent):
        known: Tally = json.loads(path.read_text()) if path.exists() else {}
        own = known.setdefault(part, {})
        for kind in cases:
            entry = own.setdefault(kind, {"cases": 0, "failures": 0})
            entry["cases"] += cases[kind]
            entry["failures"] += failures[kind]
        _replace(path, json.dumps(known, indent=1) + "\n")
        _replace(path.with_suffix(".md"), text_of(known))


def text_of(known: Mapping[str, Mapping[str, Mapping[str, int]]]) -> str:
    """Lay out the counts.

    >>> print(text_of({"files": {"all": {"cases": 1200, "failures": 0}}}).splitlines()[-1])
    | files | all | 1,200 | 0 |
    """
    lines = [
        "# Random cases",
        "",
        "Tried by `make fuzz`, all runs together. A case can be of several kinds. A failure is a",
        "case in which something did not hold when it was tried.",
        "",
        f"## {HEADING}",
        "",
        "| part | kind | cases | failures |",
        "| --- | --- | ---: | ---: |",
    ]
    for part, kinds in known.items():
        for kind, entry in sorted(kinds.items(), key=lambda item: (item[0] != ALL, item[0])):
            first = part if kind == ALL else ""
            lines.append(f"| {first} | {kind} | {entry['cases']:,} | {entry['failures']:,} |")
    return "\n".join(lines) + "\n"


def _replace(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Wait until no other run writes into the folder."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)
