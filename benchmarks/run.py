"""All benchmarks, one after the other: what ``make bench`` runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    """Run every ``bench_*.py`` and ``rule_effects.py`` in a process of its own."""
    chosen = sys.argv[1:] or [path.stem for path in sorted(HERE.glob("bench_*.py"))]
    for name in chosen:
        print(f"== {name}", flush=True)
        subprocess.run([sys.executable, str(HERE / f"{name}.py")], check=True)


if __name__ == "__main__":
    main()
