"""Run the parts of the harness for some minutes: ``python -m fuzz --minutes 10``."""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
import traceback
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fuzz import answers, arcs, completing, counts, faults, files, proofs, shrink, tables
from fuzz.truth import Question

if TYPE_CHECKING:
    from collections.abc import Callable

REGRESSIONS = Path(__file__).parent.parent / "regressions"
ROUND = 60.0
"""Seconds in which every part has its turn; then what was tried is counted."""


class Part(NamedTuple):
    """A part of the harness: how a case is made from its seed, checked and counted."""

    make: Callable[[int], Any]
    check: Callable[[Any], None]
    kinds_of: Callable[[Any], list[str]]
    share: float
    """Of the time."""

    def run(self, seed: int) -> None:
        """Make one case and check it."""
        self.check(self.make(seed))


PARTS = {
    "tables": Part(tables.make, tables.check, tables.kinds_of, 0.35),
    "arcs": Part(arcs.make, arcs.check, arcs.kinds_of, 0.12),
    "completing": Part(completing.make, completing.check, completing.kinds_of, 0.08),
    "inference": Part(answers.make, answers.check, answers.kinds_of, 0.1),
    "proofs": Part(proofs.make, proofs.check_table, proofs.kinds_of, 0.15),
    "lists": Part(proofs.make_choice, proofs.check_choice, proofs.kinds_of_choice, 0.05),
    "files": Part(files.make, files.check, files.kinds_of, 0.1),
    "faults": Part(faults.make, faults.check, faults.kinds_of, 0.05),
}


@dataclass
class Tried:
    """What a run has tried of a part; the next seed is its own."""

    part: str
    seed: int
    cases: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)

    def go_on(self, seconds: float) -> None:
        """Try cases until the time is over, one at least."""
        part, began = PARTS[self.part], time.monotonic()
        while True:
            case = part.make(self.seed)
            kinds = [counts.ALL, *part.kinds_of(case)]
            self.cases.update(kinds)
            try:
                part.check(case)
            except Exception as error:  # every failure is of interest, whatever it is
                self.failures.update(kinds)
                _tell(self.part, self.seed, case, error)
            self.seed += 1
            if time.monotonic() - began >= seconds:
                return

    def told(self) -> str:
        """What was tried, in words."""
        cases, failures = self.cases[counts.ALL], self.failures[counts.ALL]
        return f"{self.part}: {cases:,} cases up to seed {self.seed - 1}, {failures} failures"


def main() -> int:
    """Run; return 1 if something failed."""
    options = _options()
    names = options.part or list(PARTS)
    if options.only is not None:
        for name in names:
            PARTS[name].run(options.only)
        return 0
    shares = sum(PARTS[name].share for name in names)
    until = time.monotonic() + 60 * options.minutes
    told, totals = 0.0, {name: Tried(name, options.seed) for name in names}
    while time.monotonic() < until:
        left = min(ROUND, until - time.monotonic())
        for total in totals.values():
            now = Tried(total.part, total.seed)
            now.go_on(left * PARTS[total.part].share / shares)
            counts.add(options.counts, now.part, now.cases, now.failures)
            total.seed = now.seed
            total.cases += now.cases
            total.failures += now.failures
        if time.monotonic() - told > 10 * ROUND or time.monotonic() >= until:
            told = time.monotonic()
            _say("\n".join(total.told() for total in totals.values()))
    failed = sum(total.failures[counts.ALL] for total in totals.values())
    _say(
        f"counted in {options.counts}; `python tests/living_docs.py` shows it in the documentation"
    )
    return 1 if failed else 0


def _tell(part: str, seed: int, case: Any, error: Exception) -> None:
    """Show a failure, how to repeat it, and keep it as small as it can be."""
    _say(f"\nFAILED {part}, seed {seed}: {type(error).__name__}: {str(error)[:500]}")
    _say("".join(traceback.format_exception(error)[-3:])[-1500:])
    _say(f"repeat: PYTHONPATH=tests {sys.executable} -m fuzz --part {part} --only {seed}")
    kept = keep(part, seed, case, type(error))
    if kept is not None:
        _say(f"kept as {kept}\n")


def keep(
    part: str, seed: int, case: Any, kind: type[Exception], folder: Path = REGRESSIONS
) -> Path | None:
    """Write the smallest case that fails in the same way into the regressions."""
    fails = shrink.failing(PARTS[part].check, kind)
    if part == "faults":
        return None  # a fault is a moment; the command repeats it as well as can be
    if part == "files":
        name, data = case
        path = folder / f"{seed}-{name}"
        path.write_bytes(shrink.smallest(data, lambda fewer: fails((name, fewer))))
        return path
    if isinstance(case, Question):
        case = shrink.small_question(case, fails)
    path = folder / f"{part}-{seed}.json"
    path.write_text(json.dumps(asdict(case)) + "\n")
    return path


def read_case(path: Path) -> tuple[Part, Any]:
    """Read what :func:`keep` wrote: the part that failed, and the case."""

    def frozen(value: Any) -> Any:
        return tuple(map(frozen, value)) if isinstance(value, list) else value

    part = path.name.partition("-")[0]
    if part not in PARTS:  # the seed comes first
        name = path.name.partition("-")[2]
        return PARTS["files"], (name, path.read_bytes())
    kind = {"inference": answers.Asked, "lists": proofs.Choice}.get(part, Question)
    content = json.loads(path.read_text())
    return PARTS[part], kind(**{key: frozen(value) for key, value in content.items()})


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long, all parts together")
    parser.add_argument(
        "--seed", type=int, default=random.SystemRandom().randrange(2**48), help="the first seed"
    )
    parser.add_argument("--part", action="append", choices=list(PARTS), help="some parts only")
    parser.add_argument("--only", type=int, metavar="SEED", help="one case, to repeat a failure")
    parser.add_argument(
        "--counts", type=Path, default=counts.RESULTS, help="the file in which cases are counted"
    )
    return parser.parse_args()


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
