"""What commands print: JSON, text, and progress on a terminal."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from parentage.optimise.solution import Progress as Moment
    from parentage.scoring.search import Progress


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
    """Tell a waiting person that the kernels are being compiled, which happens once."""
    import parentage.kernels

    cache = Path(parentage.kernels.__file__).parent / "__pycache__"
    if sys.stderr.isatty() and not any(cache.glob("counting.count_sets*.nbi")):
        click.echo(
            "parentage: compiling the kernels, once; this takes up to half a minute", err=True
        )


@contextmanager
def search_progress() -> Iterator[Callable[[Progress], None] | None]:
    """Show a bar on stderr while a search runs; None, and silence, when it is no terminal."""
    say_if_compiling()
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[sets]:,} sets counted, {task.fields[rate]:,.0f} a second"),
        TimeElapsedColumn(),
    )  # fmt: skip
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[int, Any] = {}

        def report(at: Progress) -> None:
            if at.in_degree not in tasks:
                text = f"{at.in_degree} parent{'' if at.in_degree == 1 else 's'}"
                tasks[at.in_degree] = bars.add_task(text, total=at.total, sets=0, rate=0.0)
            bars.update(
                tasks[at.in_degree],
                completed=at.done,
                sets=at.sets_counted,
                rate=at.sets_counted / max(at.seconds, 1e-9),
            )

        yield report


@contextmanager
def solver_progress() -> Iterator[Callable[[Moment], None] | None]:
    """Show incumbent, bound and gap on one line of stderr while a solver runs."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("learning") as status:

        def report(at: Moment) -> None:
            status.update(
                f"{at.phase}: best {at.incumbent:.4f}, bound {at.bound:.4f}, "
                f"gap {at.bound - at.incumbent:.4g}, {at.seconds:.0f} s"
            )

        yield report
