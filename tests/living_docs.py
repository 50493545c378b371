"""The parts of the documentation that are made: output of commands, tables of results.

In the Markdown files three kinds of blocks are not written by hand:

* a fenced ``text`` block that starts with ``$ parentage …`` or ``$ python reproduction/run.py …``:
  what that command prints, run where ``clinic.csv`` is the table of ``examples/demo.py`` and
  ``clinic.bif`` its network, ``export.csv`` and ``next.csv`` two tables of
  ``examples/messy_clinic.py``. With ``2>&1`` at its end, messages are shown too, lines broken, and
  the command may refuse;
* what stands between ``<!-- from FILE: HEADING -->`` and ``<!-- end -->``: the first table under
  that heading of a file of results;
* what stands between ``<!-- options of MODULE.CLASS -->`` and ``<!-- end -->``: the options that
  settings make, with their help; ``only A, B`` or ``but A, B`` after the class picks among them.

``python tests/living_docs.py`` makes them again; ``test_docs.py`` checks that nothing is stale.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
from functools import cache
from pathlib import Path

from command import Done, ok, run
from parentage.work.settings import option_of

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

_COMMAND = re.compile(
    r"^```text\n\$ (parentage .+|python reproduction/run\.py.*)\n(?:.*\n)*?```$", re.MULTILINE
)
_TABLE = re.compile(r"<!-- from (\S+): (.+) -->\n[\s\S]*?<!-- end -->")
_OPTIONS = re.compile(
    r"<!-- options of (\S+)\.(\w+)(?: (only|but) (.+))? -->\n[\s\S]*?<!-- end -->"
)
_MESSAGES = " 2>&1"
_SECONDS = re.compile(r"\b\d+\.\d+ s\b")


def refreshed(text: str) -> str:
    """Return a page with its made parts made again."""
    text = _COMMAND.sub(lambda m: f"```text\n$ {m[1]}\n{output_of(m[1])}\n```", text)
    text = _OPTIONS.sub(
        lambda m: f"{m[0].splitlines()[0]}\n{options_table(*m.groups())}\n<!-- end -->", text
    )
    return _TABLE.sub(
        lambda m: f"<!-- from {m[1]}: {m[2]} -->\n{table_under(m[1], m[2])}\n<!-- end -->", text
    )


def without_times(text: str) -> str:
    """Return a text in which durations, which change from run to run, are all alike."""
    return _SECONDS.sub("0.00 s", text)


@cache
def clinic_folder() -> Path:
    """Return a folder with the demo's table and its network."""
    folder = Path(tempfile.mkdtemp())
    demo = [sys.executable, str(ROOT / "examples" / "demo.py"), "clinic.csv"]
    subprocess.run(demo, cwd=folder, check=True, capture_output=True)
    messy = [sys.executable, str(ROOT / "examples" / "messy_clinic.py")]
    subprocess.run([*messy, "export.csv"], cwd=folder, check=True, capture_output=True)
    subprocess.run([*messy, "next.csv", "1"], cwd=folder, check=True, capture_output=True)
    with contextlib.chdir(folder):
        ok("learn", "clinic.csv", "-o", "clinic.bif")
    return folder


@cache
def output_of(command: str) -> str:
    """Run a command; return what it prints."""
    whole = command.endswith(_MESSAGES)
    typed = shlex.split(command.removesuffix(_MESSAGES))
    with contextlib.chdir(clinic_folder()):
        done = run(*typed[1:]) if typed[0] == "parentage" else script(*typed[1:])
    if not whole:
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()
    said = [textwrap.fill(line, 110, break_on_hyphens=False) for line in done.stderr.splitlines()]
    return "\n".join([*said, done.stdout]).strip()


def script(name: str, *args: str) -> Done:
    """Run a script of the project in a process of its own."""
    called = [sys.executable, str(ROOT / name), *args]
    done = subprocess.run(called, capture_output=True, encoding="utf-8")
    return Done(done.returncode, done.stdout, done.stderr)


def table_under(file: str, heading: str) -> str:
    """Return the first table under a heading of a Markdown file."""
    text = (ROOT / file).read_text(encoding="utf-8")
    found = re.search(rf"^#+ {re.escape(heading)}$(?:\n(?!\|).*)*\n((?:\|.*\n?)+)", text, re.M)
    if found is None:
        raise ValueError(f"{file} has no table under the heading {heading!r}")
    return found[1].strip()


def options_table(module: str, name: str, picking: str | None, picked: str | None) -> str:
    """Return a table of the options that a settings class makes."""
    names = re.split(r", *", picked or "")
    rows = ["| option | meaning |", "| --- | --- |"]
    for field in dataclasses.fields(getattr(importlib.import_module(f"parentage.{module}"), name)):
        option = option_of(field)
        if option is None or (picking and (field.name in names) != (picking == "only")):
            continue
        value = f" {option.metavar}" if option.metavar else ""
        typed = [flag + value * flag.startswith("--") for flag in option.flags]
        shown = ", ".join(f"`{flag}`" for flag in typed).replace("|", "\\|")
        details = f" See [{option.page}]({option.page})." if option.page else ""
        rows.append(f"| {shown} | {in_one_line(option.help)}{details} |")
    return "\n".join(rows)


def in_one_line(text: str) -> str:
    """Return a help text for a cell of a table; of a list only what its lines begin with."""
    before, _, listed = text.partition("\b\n")
    items = [f"`{line.split()[0]}`" for line in listed.partition("\n\n")[0].splitlines()]
    line = f"{before.strip()} {', '.join(items)}." if items else before.strip()
    return line.replace("|", "\\|")


def main() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        new = refreshed(text)
        if without_times(new) != without_times(text):
            page.write_text(new, encoding="utf-8")
            sys.stdout.write(f"{page.relative_to(ROOT)} changed\n")


if __name__ == "__main__":
    main()
