"""The command line in this process: what a test needs unless the process itself is the point.

Starting Python and loading kernels takes a second or more; calling
:func:`parentage.cli.main` takes none of it. Signals, closed pipes, standard input and what a first
start imports are for :func:`in_a_process`.
"""

from __future__ import annotations

import contextlib
import io
import json
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from parentage.cli import main


@dataclass(frozen=True)
class Done:
    """What a command left: its exit code, stdout and stderr."""

    returncode: int
    stdout: str
    stderr: str


def run(*args: str) -> Done:
    """Run a command here; warnings reach stderr as they do in a process of its own."""
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),  # also puts back showwarning, which main replaces
        mock.patch.object(sys, "argv", ["parentage", *args]),
    ):
        warnings.simplefilter("default")
        try:
            main()
        except SystemExit as stop:
            code = stop.code
    assert isinstance(code, int), code
    return Done(code, out.getvalue(), err.getvalue())


def in_a_process(*args: str, stdin: str | None = None) -> Done:
    """Run a command in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "parentage", *args], capture_output=True, text=True, input=stdin
    )
    return Done(done.returncode, done.stdout, done.stderr)


def await_handlers(child: subprocess.Popen[bytes]) -> None:
    """Wait until a command handles SIGTERM, as it does while it works, and a moment longer."""
    status = Path(f"/proc/{child.pid}/status")
    if not status.exists():  # not Linux
        time.sleep(5)
        return
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and child.poll() is None:
        caught = int(status.read_text().partition("SigCgt:")[2].split()[0], 16)
        if caught >> (signal.SIGTERM - 1) & 1:
            break
        time.sleep(0.02)
    time.sleep(0.3)


def ok(*args: str) -> str:
    """Run a command that succeeds; returns what it printed."""
    done = run(*args)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(*args: str) -> str:
    """Bad input: exit code 2, nothing on stdout, no traceback; returns the message."""
    done = run(*args)
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr


def by_recipe(folder: Path, **settings: str) -> list[str]:
    """Write a recipe of settings alone; return what is typed to read a table by it."""
    path = folder / f"{'-'.join(settings.values()).replace(':', '-')}.toml"
    lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    path.write_text("\n".join(["[settings]", *lines, ""]))
    return ["--recipe", str(path)]
