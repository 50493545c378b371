"""``parentage report``: one page with everything that is known of a network."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

import click

from parentage.arcs.settings import Supporting
from parentage.cli.options import (
    BY_RECIPE,
    Model,
    check_outputs,
    command,
    load_table,
    settings,
    tell_reading,
)
from parentage.cli.output import show_progress, warn
from parentage.cli.query import refuse_without_table
from parentage.optimise.settings import Optimising
from parentage.work.context import Running, Scaling
from parentage.work.settings import Option, Settings, setting

if TYPE_CHECKING:
    from parentage.arcs.records import Baseline, Support
    from parentage.data.settings import Reading
    from parentage.data.table import Table
    from parentage.network.parameters import Parameters
    from parentage.network.record import NetworkRecord
    from parentage.work.context import Context

PAGE = (".html", ".htm")
NETWORKS = (".json", ".bif", ".xml", ".xmlbif", ".bifxml")
"""Files that hold a network; everything else is a table."""


REPLICATES, PATIENCE = 100, 30.0
"""Bootstrap replicates of a page, and the seconds after which it shows those that are done; its
penalty path may take as long."""


@dataclass(frozen=True)
class Page(Settings):
    """What page is to be written."""

    output: str = setting("", "The page to write: .html.", Option("FILE", short="-o", common=True))
    title: str | None = setting(
        None, "Title of the page; by default the name of the file.", Option("TEXT", common=True)
    )
    data: str | None = setting(
        None,
        "With NET: the table, for counts, probabilities and reasons.",
        Option("TABLE", common=True, group="Data"),
    )


@command()
@click.argument("source", metavar="TABLE|NET")
@settings("page", Page, "Output")
@BY_RECIPE
def report(source: str, page: Page, reading: Reading) -> None:
    """Write one page about a network: picture, what if, every arc, the proof.

    NET is a network's file (.json, .bif, .xmlbif), shown as it is; --data TABLE adds counts and
    reasons. TABLE is learned from first, and every arc is asked how sure it is. The page is one
    file that needs no other computer, e.g. parentage report clinic.csv -o clinic.html

    With other options: `parentage learn` and `parentage support` write the same page with
    -o clinic.html, e.g. parentage support clinic.csv --bootstrap 100 --within 20 -o clinic.html
    """
    from parentage.errors import InputError

    if not page.output:
        raise InputError("report writes a page; type -o clinic.html")
    check_page(page.output)
    check_outputs([page.output], source, page.data, reading.recipe)
    if PurePath(source).suffix.lower() in NETWORKS:
        report_network(source, page, reading)
        return
    if page.data is not None:
        raise InputError(f"--data {page.data!r} goes with a network, and {source!r} is a table")
    report_table(source, page, reading)


def is_page(path: str) -> bool:
    """Tell whether a file is to be a page."""
    return PurePath(path).suffix.lower() in PAGE


def check_page(path: str) -> None:
    """Refuse a page that cannot be written, before the work."""
    from parentage.errors import InputError
    from parentage.files.atomic import resolved

    if not is_page(path):
        raise InputError(f"{path!r} is not a page; end it in .html")
    if not resolved(path).parent.is_dir():
        raise InputError(f"cannot write {path!r}: there is no such folder")


def report_table(source: str, page: Page, reading: Reading) -> None:
    """Learn from a table, ask how sure every arc is, and write the page."""
    from parentage.arcs.support import support_of
    from parentage.work.stop import interruptible

    running, asked = Running(), Supporting(bootstrap=REPLICATES)
    with interruptible(running.stop(), command=True) as stop:
        with (
            show_progress() as shown,
            Scaling().context(running.workers, stop, shown) as context,
        ):
            baseline = baseline_of(source, asked, reading, Model(), Optimising(), context)
            support = support_of(baseline, asked, context, patience=PATIENCE)
            parameters = estimated_parameters(baseline, context)
            words = path_words(baseline, context)
        write_page(
            page.output, source, baseline, support, parameters, title=page.title, words=words
        )
        tell(page.output, support)
    if stop.cancelled.is_set():
        sys.exit(130)


def path_words(baseline: Baseline, context: Context) -> str:
    """Say for which penalties the best network stays the same; nothing if it takes too long."""
    from parentage.answers.path import LEAST, MOST, path_of

    scoring = baseline.scoring
    if scoring.score != "bic" or baseline.table.has_holes or not baseline.best.optimal:
        return ""
    found = path_of(
        baseline.table, scoring, (LEAST, MOST), context.ending(context.stop.within(PATIENCE))
    )
    said = found.sentence().rstrip(".")  # a clause of the summary
    return said[0].lower() + said[1:] if found.optimal else ""


def estimated_parameters(baseline: Baseline, context: Context) -> Parameters:
    """Estimate the probabilities of a page."""
    from parentage.network.parameters import fit_parameters

    network = baseline.best.network
    return fit_parameters(network, baseline.table.select(network.names), context=context)


def write_page(
    output: str,
    source: str,
    baseline: Baseline,
    support: Support,
    parameters: Parameters | None,
    *,
    title: str | None = None,
    words: str = "",
) -> None:
    """Write the page about the best network and how sure its arcs are."""
    from parentage.network.formats.network_json import provenance_of
    from parentage.report import write_report

    write_report(
        baseline.best,
        output,
        table=baseline.table,
        lists=baseline.lists,
        parameters=parameters,
        support=support,
        title=title,
        provenance=provenance_of(
            baseline.table, command=["parentage", *sys.argv[1:]], source=source
        ),
        path_words=words,
    )


def baseline_of(
    source: str,
    asked: Supporting,
    reading: Reading,
    model: Model,
    optimising: Optimising,
    context: Context,
    *,
    quiet: bool = False,
) -> Baseline:
    """Learn the network whose arcs are asked about, for the page and for ``support``."""
    from parentage.arcs.support import learn_baseline, scoring_for
    from parentage.pipeline import Asked

    learning = Asked(
        lambda names, _: scoring_for(model.scoring(names), asked.within),
        optimising,
        reading=reading,
    )
    return learn_baseline(
        source, learning, context, seen=None if quiet else tell_reading, asked=asked
    )


def report_network(net: str, page: Page, reading: Reading) -> None:
    """Show a network of a file."""
    from parentage.network.parameters import fit_parameters
    from parentage.report import write_report
    from parentage.work.context import Context

    record, table = read_record(net), None
    parameters = record.parameters
    if page.data is None:
        refuse_without_table(net, "shown", reading)
    else:
        table = table_for(record, page.data, reading)
        with show_progress() as shown:
            parameters = fit_parameters(record.network, table, context=Context(report=shown))
    write_report(
        record,
        page.output,
        table=table,
        parameters=parameters,
        title=page.title or PurePath(net).name,
    )
    tell(page.output, None)


def read_record(net: str) -> NetworkRecord:
    """Read a network with all that its file knows."""
    from parentage.network.formats import read_parameters
    from parentage.network.formats.network_json import read_network_json
    from parentage.network.record import NetworkRecord

    suffix = PurePath(net).suffix.lower()
    if suffix == ".json":
        return read_network_json(net)
    found = read_parameters(net)
    return NetworkRecord(found.network, found)


def table_for(record: NetworkRecord, name: str, reading: Reading) -> Table:
    """Read the table that goes with a network."""
    from parentage.errors import InputError

    table = load_table(name, reading)
    missing = [variable for variable in record.network.names if variable not in table.names]
    if missing:
        raise InputError(
            f"--data {name!r} has no column {missing[0]!r}, which is a variable of the network"
        )
    return table.select(record.network.names)


def tell(output: str, support: Support | None) -> None:
    """Say what was written and what is open."""
    for point in () if support is None else support.open_points:
        warn(point)
    click.echo(f"parentage: wrote {output}", err=True)
