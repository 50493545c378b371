"""The command under signals at random moments, on full disks and with little memory.

Whatever happens, a target holds what was there before or a whole result, a result claims no more
than the truth, nobody sees a traceback, and nothing is left lying about.
"""

from __future__ import annotations

import json
import random
import resource
import signal
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from fuzz.truth import Question, best_total, families
from parentage.network.formats import read_network
from parentage.scoring.formats import read_lists

LONGEST = 120.0
"""Seconds after which a command that was told to stop has not listened."""

ABORTED = (127, -signal.SIGABRT, -signal.SIGSEGV, -signal.SIGKILL)
"""How libraries end a process that has no memory for their threads; the last: they wait for one
that could not start, until somebody kills it."""

LONGEST_WITHOUT_MEMORY = 40.0

N, ROWS = 9, 400


def make(seed: int) -> dict[str, Any]:
    """Draw a command, a fault and its moment."""
    rng = random.Random(seed)
    command, name = rng.choice(
        [("score", "r.jkl"), ("score", "r.parquet"), ("learn", "r.json"), ("learn", "r.svg")]
    )
    return {
        "command": command,
        "name": name,
        "fault": rng.choice(["SIGINT", "SIGTERM", "SIGINT", "SIGTERM", "disk", "memory", "twice"]),
        "after": rng.choice([rng.uniform(0.0, 1.0), rng.uniform(0.5, 4.0)]),
        "limit": rng.choice([0, 10, 1000, 5000]),
        "there": rng.random() < 0.5,
        "seed": seed,
    }


def table_of(seed: int) -> Question:
    """Draw a table that takes some tenths of a second."""
    rng = random.Random(seed % 5)
    columns: list[list[int]] = []
    for v in range(N):
        column = [rng.randrange(3) for _ in range(ROWS)]
        if v:
            column = [
                cell if rng.random() < 0.4 else (columns[v - 1][i] + columns[v // 2][i]) % 3
                for i, cell in enumerate(column)
            ]
        columns.append(column)
    return Question(tuple(map(tuple, columns)), (3,) * N, most=3)


_best: dict[int, float] = {}


def best_of(seed: int) -> float:
    """Return the best score of a table, worked out once."""
    if seed % 5 not in _best:
        question = table_of(seed)
        _best[seed % 5] = best_total(question.n, families(question))
    return _best[seed % 5]


@cache
def compile_kernels() -> None:
    """Run both commands once, so that a fault does not come while kernels are compiled."""
    for command, name in (("score", "r.jkl"), ("learn", "r.svg")):
        check({"command": command, "name": name, "fault": "", "there": False, "seed": 0})


def check(case: dict[str, Any]) -> None:
    """Run the command, let the fault happen, look at what is left."""
    if case["fault"]:
        compile_kernels()
    question = table_of(case["seed"])
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "t.csv", Path(folder) / case["name"]
        lines = zip(*question.columns, strict=True)
        head = ",".join(f"v{v}" for v in range(N))
        source.write_text("\n".join([head, *(",".join(map(str, line)) for line in lines)]) + "\n")
        if case["there"]:
            target.write_bytes(b"")
        code, said = _run(case, source, target)
        loud = "Traceback" in said and "KeyboardInterrupt" not in said
        assert not loud, said[-2000:]
        by_signal = code in (
            -signal.SIGINT,
            -signal.SIGTERM,
        )  # before the work began or after its end
        early = code == 1 and not _written(target)
        aborted = case["fault"] == "memory" and code in ABORTED and not _written(target)
        assert code in (0, 2, 130) or by_signal or early or aborted, (code, said[-500:])
        left = {path.name for path in Path(folder).iterdir()} - {"t.csv", case["name"]}
        assert not left, f"left behind: {left}"
        if _written(target):
            _check_result(target, best_of(case["seed"]))
        else:
            assert code != 0, "exit code 0 without a result"


def _written(target: Path) -> bool:
    return target.exists() and target.stat().st_size > 0


def _run(case: dict[str, Any], source: Path, target: Path) -> tuple[int, str]:
    def limits() -> None:
        if case["fault"] == "disk":
            resource.setrlimit(resource.RLIMIT_FSIZE, (case["limit"], case["limit"]))
        if case["fault"] == "memory":
            size = (600 + case["limit"]) << 20
            resource.setrlimit(resource.RLIMIT_AS, (size, size))

    command = [sys.executable, "-m", "parentage", case["command"], str(source), "-k", "3"]
    process = subprocess.Popen(
        [*command, "-o", str(target)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=limits,
    )
    scarce = case["fault"] == "memory"
    try:
        if case["fault"].startswith("SIG") or case["fault"] == "twice":
            try:
                _, said = process.communicate(timeout=case["after"])
            except subprocess.TimeoutExpired:
                number = (
                    signal.SIGINT if case["fault"] == "twice" else signal.Signals[case["fault"]]
                )
                process.send_signal(number)
                if case["fault"] == "twice":
                    process.send_signal(number)
        _, said = process.communicate(timeout=LONGEST_WITHOUT_MEMORY if scarce else LONGEST)
    except subprocess.TimeoutExpired:
        if not scarce:
            raise
        process.kill()
        _, said = process.communicate()
    finally:
        process.kill()
        process.wait()
    return process.returncode, said


def _check_result(target: Path, best: float) -> None:
    """A result is whole, and does not claim what is not so."""
    if target.suffix in (".jkl", ".parquet"):
        lists = read_lists(target)
        assert lists.n_variables == N
    elif target.suffix == ".json":
        network = read_network(target)
        assert len(network.names) == N
        content = json.loads(target.read_text())
        if content.get("optimal"):
            assert abs(content["score"] - best) < 1e-5, (content["score"], best)
        if content.get("bound") is not None:
            assert content["bound"] > best - 1e-5, (content["bound"], best)
    else:
        assert target.read_text().rstrip().endswith("</svg>")


def kinds_of(case: dict[str, Any]) -> list[str]:
    """What is counted: what happened to the command."""
    return [
        {"disk": "full disk", "memory": "little memory", "twice": "SIGINT twice"}.get(
            case["fault"], case["fault"]
        )
    ]
