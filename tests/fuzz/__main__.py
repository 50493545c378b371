"""Run the parts of the harness for some minutes: ``python -m fuzz --minutes 10``."""

from __future__ import annotations

import argparse
import json
import sys
import time
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzz import faults, files, shrink, tables
from fuzz.truth import Question

if TYPE_CHECKING:
    from collections.abc import Callable

REGRESSIONS = Path(__file__).parent.parent / "regressions"
PARTS: dict[str, tuple[Callable[[int], None], float]] = {
    "tables": (tables.run, 0.45),
    "files": (files.run, 0.40),
    "faults": (faults.run, 0.15),
}
"""What runs one seed, and the share of the time it gets."""


def main() -> int:
    """Run; return 1 if something failed."""
    options = _options()
    parts = options.part or list(PARTS)
    if options.only is not None:
        for part in parts:
            PARTS[part][0](options.only)
        return 0
    shares = sum(PARTS[part][1] for part in parts)
    failures = 0
    for part in parts:
        seconds = options.minutes * 60 * PARTS[part][1] / shares
        failures += run_part(part, options.seed, seconds)
    return 1 if failures else 0


def run_part(part: str, first: int, seconds: float) -> int:
    """Run seeds from the first on until the time is over; return how many failed."""
    began, seed, failures = time.monotonic(), first, 0
    told = began
    while time.monotonic() - began < seconds:
        try:
            PARTS[part][0](seed)
        except Exception as error:  # every failure is of interest, whatever it is
            failures += 1
            _tell(part, seed, error)
        seed += 1
        if time.monotonic() - told > 60:
            told = time.monotonic()
            _say(f"{part}: {seed - first:,} cases, {failures} failures")
    _say(f"{part}: {seed - first:,} cases from seed {first}, {failures} failures")
    return failures


def _tell(part: str, seed: int, error: Exception) -> None:
    """Show a failure, how to repeat it, and keep it as small as it can be."""
    _say(f"\nFAILED {part}, seed {seed}: {type(error).__name__}: {str(error)[:500]}")
    _say("".join(traceback.format_exception(error)[-3:])[-1500:])
    _say(f"repeat: PYTHONPATH=tests {sys.executable} -m fuzz --part {part} --only {seed}")
    kept = _keep(part, seed, type(error))
    if kept is not None:
        _say(f"kept as {kept}\n")


def _keep(part: str, seed: int, kind: type[Exception]) -> Path | None:
    """Write the smallest case that fails in the same way into the regressions."""
    if part == "tables":
        fails = shrink.failing(tables.check, kind)
        question = shrink.small_question(tables.make(seed), fails)
        path = REGRESSIONS / f"table-{seed}.json"
        path.write_text(json.dumps(asdict(question)) + "\n")
        return path
    if part == "files":
        name, data = files.make(seed)
        fails = shrink.failing(files.check, kind)
        data = shrink.smallest(data, lambda fewer: fails((name, fewer)))
        path = REGRESSIONS / f"{seed}-{name}"
        path.write_bytes(data)
        return path
    return None  # a fault is a moment; the command repeats it as well as can be


def read_question(path: Path) -> Question:
    """Read what :func:`_keep` wrote of a table."""

    def frozen(value: Any) -> Any:
        return tuple(map(frozen, value)) if isinstance(value, list) else value

    return Question(**{key: frozen(value) for key, value in json.loads(path.read_text()).items()})


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long, all parts together")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the first seed")
    parser.add_argument("--part", action="append", choices=list(PARTS), help="some parts only")
    parser.add_argument("--only", type=int, metavar="SEED", help="one case, to repeat a failure")
    return parser.parse_args()


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
