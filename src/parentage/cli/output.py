"""What commands print: JSON, text and progress, on streams that may be full, closed or gone.

A reader that has gone (``head``, ``less``) is not an error: what is left is dropped and the
command ends with its usual code. A full or closed stdout loses the result, which is an error.
Trouble with stderr cannot be reported and is ignored.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import sys
import textwrap
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from parentage.work.context import Running
    from parentage.work.progress import Progress, Report
    from parentage.work.stop import Stop


MANY_VARIABLES = 60
"""Largest number of variables of which a terminal shows all."""

FIRST_VARIABLES = 30
"""Number of variables that a terminal shows of more."""


def print_json(content: Any) -> None:
    """Print one JSON object on stdout."""
    click.echo(json.dumps(content, ensure_ascii=False, allow_nan=False))


def show(as_json: bool, content: Callable[[], Any], text: Callable[[], str]) -> None:
    """Print a result on stdout, as one JSON object or laid out as text."""
    if as_json:
        print_json(content())
    else:
        click.echo(text())


def beside(start: str, words: str) -> str:
    """Put words after the start of a line; a terminal that is too narrow gets several lines."""
    from parentage.view.aligned import NARROWEST

    room = shutil.get_terminal_size().columns - len(start)
    if not sys.stdout.isatty() or len(words) <= room:
        return start + words
    lines = textwrap.wrap(words, max(room, 2 * NARROWEST), break_on_hyphens=False)
    return ("\n" + " " * len(start)).join([start + lines[0], *lines[1:]])


def shown_of(n_variables: int) -> int:
    """Return how many of the variables a terminal shows."""
    return n_variables if n_variables <= MANY_VARIABLES else FIRST_VARIABLES


def variables_text(head: tuple[str, ...], rows: Sequence[tuple[str, ...]], rest: str) -> str:
    """Align one row for each variable; of many show the first, and say where the rest is."""
    from parentage.view.aligned import table_text

    shown = shown_of(len(rows))
    text, hidden = table_text(head, rows[:shown], left=2), len(rows) - shown
    if not hidden:
        return text
    return f"{text}\nand {hidden:,} more variables (all: {rest})"


def say_if_compiling(report: Report | None = None, *, solving: bool = False) -> None:
    """Have it printed, when kernels are compiled, what the user waits for, and how long.

    ``report`` gets a moment for every kernel, those of the second process included.
    """
    from parentage.cli.ahead import Ahead
    from parentage.kernels._cache import cached_kernels
    from parentage.work.progress import Progress
    from parentage.work.stop import compiling
    from parentage.work.tuning import TUNING

    expected = TUNING.kernels_to_solve if solving else TUNING.kernels_to_score
    before, began = 0, 0.0

    def tell(cached: bool, begun: int) -> None:
        nonlocal before, began
        done = len(cached_kernels()) if cached else begun - 1
        if begun == 1:
            later = "; later runs reuse them" if cached else ""
            text = f"up to a minute, not counted by time limits{later}"
            say(f"compiling parts of the program for this kind of job ({text})")
            before, began = done, time.monotonic()
            if solving and cached:
                compiling.ahead = Ahead(lambda: tell(cached, 0))
        if report is not None:
            total, seconds = max(expected, done + 1), time.monotonic() - began
            left = seconds / (done - before) * (total - done) if done > before else None
            phase = f"{done} of about {total} kernels"
            report(Progress("compiling", phase, seconds, done, total, seconds_left=left))

    compiling.tell = tell


_DECISIONS: list[str] = []
"""What was decided about the table, until the rest of what was typed has been checked."""


def hold_decisions(text: str) -> None:
    """Keep what was decided about the table until it is printed; after an error it is not."""
    _DECISIONS.append(text)


def tell_decisions() -> None:
    """Print what was decided about the table."""
    while _DECISIONS:
        say(visible(_DECISIONS.pop(0)))


def forget_decisions() -> None:
    """Drop what was decided: the command ends with an error, which is to be read first."""
    _DECISIONS.clear()


def say(text: str) -> None:
    """Print a message on stderr, above the progress bars where there are some.

    Not with ``err=True``: click would write past what rich puts in the place of stderr.
    """
    click.echo(f"parentage: {text}", file=sys.stderr)


def warn(text: str) -> None:
    """Say on stderr that something is not as hoped."""
    say(f"warning: {text}")


@contextmanager
def interruptible(running: Running) -> Iterator[Stop]:
    """Let the first Ctrl-C end the work, not the command; exit with 130 once it has printed."""
    from parentage.work.stop import interruptible as taken_over

    with taken_over(running.stop(), command=True, tell=lambda: say("stopping …")) as stop:
        yield stop
    if stop.cancelled.is_set():
        sys.exit(130)


@contextmanager
def show_progress(*, solving: bool = False) -> Iterator[Report | None]:
    """Show on stderr how far the work is; None, and silence, when it is not a terminal.

    A command that is ``solving`` after it has scored compiles the kernels of both at once.
    """
    from parentage.work.progress import shown

    with shown() as report:
        say_if_compiling(report, solving=solving)
        yield report


@contextmanager
def logged(path: str | None, shown: Report | None) -> Iterator[Report | None]:
    """Write every moment of the work to a file as well, one JSON object a line."""
    if path is None:
        yield shown
        return
    from parentage.errors import InputError

    try:
        Path(path).touch()
    except OSError as error:
        raise InputError(f"cannot write {path!r}: {error.strerror or error}") from None
    with Path(path).open("wb", buffering=0) as file:
        broken = False

        def report(at: Progress) -> None:
            nonlocal broken
            if not broken:
                try:
                    file.write((json.dumps(dataclasses.asdict(at)) + "\n").encode())
                except OSError as error:  # the work continues without its log
                    broken = True
                    warn(f"cannot write to the log {path!r} any more: {error.strerror or error}")
            if shown is not None:
                shown(at)

        yield report


# --- streams -----------------------------------------------------------------------------------

_LAID_OUT = re.compile(r"\S  |^[{\[]|^  parentage ")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class StdoutError(Exception):
    """Standard output took less than it was given."""


def visible(text: str) -> str:
    r"""Show control characters instead of sending them.

    >>> visible("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def wrapped(text: str, width: int) -> str:
    r"""Break sentences at blanks so that no line is longer than a terminal.

    Tables, JSON and commands to be pasted stay as they are, and so does what moves the cursor.

    >>> print(wrapped("read 9 rows\n  --drop id: it is an identifier, left out", 24))
    read 9 rows
      --drop id: it is an
      identifier, left out
    >>> wrapped("from       to         adjacent  direction", 20)
    'from       to         adjacent  direction'
    """
    if "\x1b" in text or "\r" in text:
        return text
    return "\n".join(
        line if len(line) <= width or _LAID_OUT.search(line) else _broken(line, width)
        for line in text.split("\n")
    )


def _broken(line: str, width: int) -> str:
    indent = line[: len(line) - len(line.lstrip())] + "  " * line.lstrip().startswith("- ")
    return textwrap.fill(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


class Outlet:
    """A text stream that survives its reader and tells when the result is lost."""

    def __init__(self, stream: TextIO | None, *, result: bool) -> None:
        self._stream = stream
        self._result = result
        self._gone = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream or sys.__stdin__, name)

    def isatty(self) -> bool:
        """Whether somebody looks at it."""
        return self._stream is not None and not self._gone and self._stream.isatty()

    def write(self, text: str) -> int:
        """Write, unless the reader has gone."""
        if not isinstance(text, str):
            raise TypeError("a text stream accepts only text")
        if text:  # nothing, written to a full disk, fails as well
            self._try("write", self._for_reader(text) if self.isatty() else text)
        return len(text)

    def _for_reader(self, text: str) -> str:
        """Return a text for the width of the terminal; a result without its control characters."""
        width = shutil.get_terminal_size().columns
        return wrapped(visible(text) if self._result else text, width)

    def flush(self) -> None:
        """Push out what is waiting."""
        self._try("flush")

    def _try(self, what: str, *args: str) -> None:
        if self._gone:
            return
        if self._stream is None:
            if self._result and args:
                self._gone = True
                raise StdoutError("stdout is closed; redirect it, or give -o FILE")
            return
        try:
            getattr(self._stream, what)(*args)
        except OSError as error:
            self._gone = True
            # what is still buffered must not fail once more when the interpreter ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
            if self._result and not isinstance(error, BrokenPipeError):
                reason = error.strerror or str(error)
                raise StdoutError(f"cannot write the result to stdout: {reason}") from None


def guard_streams() -> None:
    """Put outlets in the place of the process's own streams; those of a test are left alone."""
    _occupy_descriptors()
    if sys.stdout is sys.__stdout__:
        sys.stdout = Outlet(sys.stdout, result=True)
    if sys.stderr is sys.__stderr__:
        sys.stderr = Outlet(sys.stderr, result=False)


def _occupy_descriptors() -> None:
    """Open nothing where 0, 1 or 2 is closed: a file of ours must not become stdout."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
