"""What commands print: JSON, text, and progress on a terminal."""

from __future__ import annotations

import dataclasses
import json
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parentage.work.progress import Progress, Report


def print_json(content: Any) -> None:
    """Print one JSON object on stdout."""
    click.echo(json.dumps(content, ensure_ascii=False, allow_nan=False))


def table_text(head: tuple[str, ...], rows: Sequence[tuple[str, ...]], left: int = 1) -> str:
    """Align columns: the first ``left`` to the left, the others to the right.

    >>> print(table_text(("child", "sets"), [("a", "10"), ("bcdef", "7")]))
    child  sets
    a        10
    bcdef     7
    """
    columns = list(zip(head, *rows, strict=True))
    widths = [max(len(cell) for cell in column) for column in columns]
    lines = []
    for row in (head, *rows):
        cells = [
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def say_if_compiling() -> None:
    """Have it printed, when kernels are compiled, what the user waits for."""
    from parentage.kernels._options import compiling

    def tell(cached: bool) -> None:
        later = "; later runs reuse them" if cached else ""
        text = f"up to a minute, which no time limit counts{later}"
        click.echo(f"parentage: compiling the kernels for this kind of job ({text})", err=True)

    compiling.tell = tell


def warn(text: str) -> None:
    """Say on stderr that something is not as hoped."""
    click.echo(f"parentage: warning: {text}", err=True)


@contextmanager
def show_progress() -> Iterator[Report | None]:
    """Show on stderr how far the work is; None, and silence, when it is not a terminal."""
    from parentage.work.display import shown

    say_if_compiling()
    with shown() as report:
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
    log = Log(path)

    def report(at: Progress) -> None:
        log.write(json.dumps(dataclasses.asdict(at)) + "\n")
        if shown is not None:
            shown(at)

    with log.file:
        yield report


class Log:
    """A file that is written line by line; when it cannot be, that is said and the work goes on."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.file: IO[bytes] = Path(path).open("wb", buffering=0)  # noqa: SIM115  # closed by logged
        self.broken = False

    def write(self, line: str) -> None:
        """Write a line, unless an earlier one failed."""
        if self.broken:
            return
        try:
            self.file.write(line.encode())
        except OSError as error:
            self.broken = True
            warn(f"the log {self.path!r} ends here: {error.strerror or error}")
