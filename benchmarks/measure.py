"""How the benchmarks measure: CPU time, best of several, ratios within one run."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType

RESULTS = Path(__file__).parent / "results"


def shared() -> Path:
    """The folder with tables and baselines; the benchmark cannot do without."""
    where = os.environ.get("PARENTAGE_SHARED", "../shared")
    folder = Path(where).resolve()
    if not (folder / "baselines").is_dir():
        raise SystemExit("set PARENTAGE_SHARED to the folder with baselines/ and data/")
    return folder


def baseline(name: str) -> ModuleType:
    """Load a baseline verbatim from the shared folder."""
    path = shared() / "baselines" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cpu(work: Callable[[], Any], repeat: int = 3) -> tuple[float, Any]:
    """Least CPU time of several runs, and the last result."""
    best, result = float("inf"), None
    for _ in range(repeat):
        began = time.process_time()
        result = work()
        best = min(best, time.process_time() - began)
    return best, result


def peak_memory_mb() -> float:
    """Peak resident memory of this process so far.

    ``ru_maxrss`` is inherited from the parent across fork and exec; the kernel's own record of
    the address space is not.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_fresh_process(code: str) -> dict[str, Any]:
    """Run code that prints one JSON object as its last line in a new interpreter."""
    paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    here = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=here
    )
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def write(name: str, content: dict[str, Any], text: str) -> None:
    """Write a result as JSON and Markdown."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")
    (RESULTS / f"{name}.md").write_text(text.rstrip() + "\n")
    print(text)


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def by_limit(
    name: str,
    jobs: Mapping[str, Sequence[str]],
    measured: Callable[[str, str], dict[str, Any]],
    report: Callable[[dict[str, Any]], str],
) -> dict[str, Any]:
    """Measure jobs under limits as the command line asks, write after each; return all there is.

    What is recorded already is not measured again unless ``--again`` says so.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("jobs", nargs="*", help="beginnings of names")
    parser.add_argument("--again", action="store_true")
    given = parser.parse_args()
    recorded = RESULTS / f"{name}.json"
    known: dict[str, Any] = json.loads(recorded.read_text()) if recorded.exists() else {}
    for job, limits in jobs.items():
        if given.jobs and not job.startswith(tuple(given.jobs)):
            continue
        found = known.setdefault(job, {})
        for limit in limits:
            if given.again or limit not in found:
                found[limit] = measured(job, limit)
                write(name, known, report(known))
    return known
