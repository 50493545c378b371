"""``parentage report``: one page with everything that is known of a network."""

from __future__ import annotations

import sys
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import click

from parentage.arcs.settings import Supporting
from parentage.cli.help import command, option
from parentage.cli.options import (
    check_outputs,
    common_table_options,
    load_table,
    running_of,
    scoring_of,
    settings_options,
    tell_reading,
    with_options,
)
from parentage.cli.output import show_progress, warn
from parentage.data.settings import Reading
from parentage.network.settings import Estimating
from parentage.optimise.settings import Optimising
from parentage.work.running import Running
from parentage.work.scaling import Scaling
from parentage.work.settings import changed, take

if TYPE_CHECKING:
    from parentage.arcs.records import Baseline, Support
    from parentage.data.table import Table
    from parentage.network.parameters import Parameters
    from parentage.network.record import NetworkRecord
    from parentage.work.context import Context

PAGE = (".html", ".htm")
NETWORKS = (".json", ".bif", ".xml", ".xmlbif", ".bifxml")
"""Files that hold a network; everything else is a table."""


@command()
@click.argument("data", metavar="TABLE|NET")
@option("-o", "--output", metavar="FILE", required=True, help="The page to write: .html.")
@option("--title", help="What to call it; by default the name of the file.")
@option(
    "--data",
    "data_for_parameters",
    group="Data",
    metavar="TABLE",
    help="With NET: the table, for counts, probabilities and reasons.",
)
@with_options(
    *settings_options("Output", Supporting, "bootstrap", "within"),
    *settings_options("Model", Estimating),
    *settings_options("Limits", Running, "time_limit", "threads"),
)
@common_table_options
def report(data: str, output: str, **options: Any) -> None:
    """Write one page about a network: picture, what if, every arc, the proof.

    TABLE is learned from first, and every arc is asked how sure it is. NET is a network's file
    (.json, .bif, .xmlbif), shown as it is; --data TABLE adds counts and reasons. The page is one
    file that needs no other computer, e.g.
    parentage report clinic.csv -o clinic.html --bootstrap 100 --within 20

    Another score, limits or constraints: `parentage learn` and `parentage support` write the same
    page with -o clinic.html, with all their options.
    """
    beside = options["data_for_parameters"]
    check_page(output)
    check_outputs([output], [data], options)
    if PurePath(data).suffix.lower() in NETWORKS:
        report_network(data, output, options)
        return
    if beside:
        from parentage.errors import InputError

        raise InputError(f"--data {beside!r} goes with a network, and {data!r} is a table")
    report_table(data, output, options)


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


def report_table(data: str, output: str, options: dict[str, Any]) -> None:
    """Learn from a table, ask how sure every arc is, and write the page."""
    from parentage.arcs.support import support_of
    from parentage.work.stop import interruptible

    running = running_of(options)
    with interruptible(running.stop(), command=True) as stop:
        with (
            show_progress() as shown,
            Scaling().context(running.workers, stop, shown) as context,
        ):
            baseline = baseline_of(data, options, context)
            support = support_of(baseline, take(Supporting, options), context)
            parameters = estimated_parameters(baseline, options, context)
        write_page(output, data, baseline, support, parameters, options)
        tell(output, support)
    if stop.cancelled.is_set():
        sys.exit(130)


def estimated_parameters(
    baseline: Baseline, options: dict[str, Any], context: Context
) -> Parameters:
    """Estimate the probabilities of a page."""
    from parentage.network.parameters import fit_parameters

    network = baseline.best.network
    return fit_parameters(
        network,
        baseline.table.select(network.names),
        smoothing=take(Estimating, options).smoothing,
        context=context,
    )


def write_page(
    output: str,
    data: str,
    baseline: Baseline,
    support: Support,
    parameters: Parameters | None,
    options: dict[str, Any],
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
        title=options.get("title"),
        provenance=provenance_of(baseline.table, command=["parentage", *sys.argv[1:]], source=data),
    )


def baseline_of(data: str, options: dict[str, Any], context: Context) -> Baseline:
    """Learn the network whose arcs are asked about, for the page and for ``support``."""
    from parentage.arcs.support import learn_baseline, scoring_for
    from parentage.pipeline import Asked

    asked = take(Supporting, options)
    learning = Asked(
        lambda names, _: scoring_for(scoring_of(options, names), asked.within),
        take(Optimising, options),
        reading=take(Reading, options),
    )
    return learn_baseline(
        data, learning, context, seen=lambda table: tell_reading(table, options), asked=asked
    )


def report_network(net: str, output: str, options: dict[str, Any]) -> None:
    """Show a network of a file."""
    from parentage.errors import InputError, Way
    from parentage.network.parameters import fit_parameters
    from parentage.report import write_report
    from parentage.work.context import Context

    record, table = read_record(net), None
    given = take(Estimating, options)
    parameters = record.parameters
    if options["data_for_parameters"] is not None:
        table = table_for(record, options)
        with show_progress() as shown:
            parameters = fit_parameters(
                record.network,
                table,
                smoothing=given.smoothing,
                context=Context(report=shown),
            )
    else:
        for settings in (take(Reading, options), given):
            for name in changed(settings):
                raise InputError(
                    f"is for a table, and {net!r} is shown with its own probabilities",
                    Way("table", ..., "as well", flag="data"),
                    about=Way(name, getattr(settings, name)),
                )
    write_report(
        record,
        output,
        table=table,
        parameters=parameters,
        title=options["title"] or PurePath(net).name,
    )
    tell(output, None)


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


def table_for(record: NetworkRecord, options: dict[str, Any]) -> Table:
    """Read the table that goes with a network."""
    from parentage.errors import InputError

    name = options["data_for_parameters"]
    table = load_table(name, options)
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
