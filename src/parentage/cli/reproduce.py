"""``parentage reproduce``: the tables and figures of the paper behind the rules."""

from __future__ import annotations

import os
import sys
import textwrap
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parentage.cli.options import exact_run_options
from parentage.cli.output import print_json, say_if_compiling, table_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from parentage.paper.reproduction import Cell, Reproduction

WIDTH = 92
MOST_MISMATCHES = 20


@click.command()
@click.option("--data", metavar="DIR",
              help="Folder with the UCI tables as ARFF files (zoo.arff, …). Without it only "
              "tic-tac-toe, which the package makes itself. Nothing is downloaded.")  # fmt: skip
@click.option("-o", "--output", metavar="DIR",
              help="Write CSV and Markdown tables, figures and an HTML page here.")  # fmt: skip
@click.option("--quiet", is_flag=True, help="No progress bar.")
@exact_run_options
def reproduce(
    data: str | None,
    output: str | None,
    quiet: bool,
    as_json: bool,
    threads: int | None,
) -> None:
    """Count the 18 tables of the 2018 paper again, as printed and as stated.

    "As printed" is what the authors' program counted, "as stated" what the theorems say; both
    are set beside the published numbers. Without --data it does tic-tac-toe alone;
    `parentage reproduce --data uci -o results` does everything, into a folder.
    """
    from parentage.errors import InputError
    from parentage.paper import reproduction
    from parentage.paper.folder import write_folder

    if output is not None and Path(output).exists() and not Path(output).is_dir():
        raise InputError(f"{output!r} is a file; -o takes a folder")
    with _progress(quiet) as progress:
        result = reproduction.reproduce(
            data, threads=threads or os.cpu_count() or 1, progress=progress
        )
    files = [] if output is None else write_folder(output, result)
    if files:
        click.echo(f"parentage: wrote {len(files)} files to {output}", err=True)
    if as_json:
        print_json(as_object(result, files))
    else:
        click.echo(as_text(result) if output is None else as_summary(result))


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[str, int, int], None] | None]:
    """Show a bar on stderr while tables are counted; silence when it is not a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    say_if_compiling()
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("counting"), BarColumn(), MofNCompleteColumn(), TextColumn("tables"),
        TextColumn("{task.description}"), TimeElapsedColumn(),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("", total=None)

        def report(name: str, done: int, total: int) -> None:
            bars.update(task, description=name, completed=done, total=total)

        yield report


def as_object(result: Reproduction, files: list[Path]) -> dict[str, Any]:
    """Return what ``--json`` prints."""
    compared = {
        kind: {"matched": tally.matched, "of": tally.of} for kind, tally in result.tallies.items()
    }
    return {
        **compared,
        "datasets": list(result.datasets),
        "missing": list(result.missing),
        "mismatches": [
            {
                "dataset": cell.dataset,
                "in_degree": cell.in_degree,
                "column": cell.column,
                "published": cell.published,
                "printed": cell.printed if _is_finite(cell.printed) else str(cell.printed),
            }
            for cell in result.mismatches
        ],
        "files": [str(path) for path in files],
    }


def _is_finite(value: object) -> bool:
    return not isinstance(value, float) or abs(value) < float("inf")


def as_summary(result: Reproduction) -> str:
    """Return how much of the paper is matched."""
    from parentage.paper import prose
    from parentage.paper.published import CITATION

    head = _wrapped(f"{CITATION}, reproduced.")
    return "\n\n".join([head, _wrapped(prose.verdict(result)), _compared(result)])


def as_text(result: Reproduction) -> str:
    """Return the readable result."""
    from parentage.paper import prose
    from parentage.paper.errata import errata

    blocks = [
        as_summary(result),
        _by_table(result),
        _mismatches(result.mismatches),
        _means(result),
        *(
            f"{erratum.title}\n" + "\n".join(_wrapped(p, "  ") for p in erratum.paragraphs)
            for erratum in errata(result)
        ),
        _wrapped(prose.missing_note(result) or ""),
    ]
    return "\n\n".join(block for block in blocks if block)


def _compared(result: Reproduction) -> str:
    from parentage.paper import prose

    rows = [
        (prose.tile(kind, tally), str(tally.matched), str(tally.of))
        for kind, tally in result.tallies.items()
    ]
    return table_text(("compared", "matched", "of"), rows)


def _by_table(result: Reproduction) -> str:
    from parentage.paper.reproduction import tally

    rows = []
    for table in result.tables:
        counts = [c for c in result.counts if c.dataset == table.name]
        rest = [c for c in (*result.bounds, *result.search_space) if c.dataset == table.name]
        rows.append(
            (
                table.name, str(table.source), str(table.variables), f"{table.rows:,}",
                str(tally(counts)), str(tally(rest)), str(sum(c.corrected for c in counts)),
            )
        )  # fmt: skip
    head = ("table", "source", "variables", "rows", "counts", "bounds, |S|", "stated differs")
    return table_text(head, rows, left=2)


def _mismatches(cells: tuple[Cell, ...]) -> str:
    if not cells:
        return ""
    rows = [
        (c.dataset, "" if c.in_degree is None else str(c.in_degree), c.column,
         str(c.published), str(c.printed))
        for c in cells[:MOST_MISMATCHES]
    ]  # fmt: skip
    more = len(cells) - len(rows)
    head = ("differs", "in-degree", "column", "published", "printed")
    return table_text(head, rows) + (f"\n… and {more} more" if more else "")


def _means(result: Reproduction) -> str:
    rows = [
        (c.dataset, str(c.in_degree), "" if c.published is None else f"{c.published:.3f}",
         f"{c.printed:.3f}", f"{c.stated:.3f}")
        for c in result.figures if c.column == "mean"
    ]  # fmt: skip
    return table_text(("mean of", "in-degree", "published", "printed", "stated"), rows)


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(
        text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
