"""The parts of the documentation that are made: output of commands, tables of results.

In the Markdown files two kinds of blocks are not written by hand:

* a fenced ``text`` block that starts with ``$ parentage …``: what that command prints, run where
  ``clinic.csv`` is the table of ``examples/demo.py`` and ``clinic.bif`` its network, ``export.csv``
  and ``next.csv`` two tables of ``examples/messy_clinic.py``. With ``2>&1`` at its end, messages
  are shown too, lines broken, and the command may refuse;
* what stands between ``<!-- from FILE: HEADING -->`` and ``<!-- end -->``: the first table under
  that heading of a file of results.

``python tests/living_docs.py`` makes them again; ``test_docs.py`` checks that nothing is stale.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

_COMMAND = re.compile(r"^```text\n\$ (parentage .+)\n(?:.*\n)*?```$", re.MULTILINE)
_TABLE = re.compile(r"<!-- from (\S+): (.+) -->\n[\s\S]*?<!-- end -->")
_MESSAGES = " 2>&1"
_SECONDS = re.compile(r"\b\d+\.\d+ s\b")


def refreshed(text: str) -> str:
    """Return a page with its made parts made again."""
    text = _COMMAND.sub(lambda m: f"```text\n$ {m[1]}\n{output_of(m[1])}\n```", text)
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
    learn = [sys.executable, "-m", "parentage", "learn", "clinic.csv", "-o", "clinic.bif"]
    subprocess.run(learn, cwd=folder, check=True, capture_output=True)
    return folder


@cache
def output_of(command: str) -> str:
    """Run a command; return what it prints."""
    whole = command.endswith(_MESSAGES)
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(command.removesuffix(_MESSAGES))],
        cwd=clinic_folder(),
        check=not whole,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONUTF8": "1"},
    )
    if not whole:
        return done.stdout.strip()
    said = [textwrap.fill(line, 110, break_on_hyphens=False) for line in done.stderr.splitlines()]
    return "\n".join([*said, done.stdout]).strip()


def table_under(file: str, heading: str) -> str:
    """Return the first table under a heading of a Markdown file."""
    text = (ROOT / file).read_text(encoding="utf-8")
    found = re.search(rf"^#+ {re.escape(heading)}$(?:\n(?!\|).*)*\n((?:\|.*\n?)+)", text, re.M)
    if found is None:
        raise ValueError(f"{file} has no table under the heading {heading!r}")
    return found[1].strip()


def main() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        new = refreshed(text)
        if without_times(new) != without_times(text):
            page.write_text(new, encoding="utf-8")
            sys.stdout.write(f"{page.relative_to(ROOT)} changed\n")


if __name__ == "__main__":
    main()
