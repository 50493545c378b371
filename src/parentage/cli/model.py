"""A network with its probabilities, as several commands take it: a file, or structure and table."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from parentage.cli.help import option
from parentage.cli.options import load_table, settings_options, with_options
from parentage.cli.output import show_progress
from parentage.data.settings import Reading
from parentage.network.settings import Estimating
from parentage.work.settings import changed, take

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from parentage.data.table import Table
    from parentage.network.parameters import Parameters

model_options = with_options(
    option(
        "--data",
        "data_for_parameters",
        group="Data",
        metavar="TABLE",
        help="Take the probabilities from this table, not from the file.",
    ),
    *settings_options("Model", Estimating),
    *settings_options("Data", Reading, "recipe"),
)
"""Where the probabilities come from."""


class LoadedModel(NamedTuple):
    """Parameters, and the table they were taken from if one was given."""

    parameters: Parameters
    table: Table | None

    @property
    def known(self) -> Table:
        """A table with the states, and cut points if there are any, that new rows are read in."""
        from parentage.data.table import Table

        if self.table is not None:
            return self.table
        import numpy as np

        names, states = self.parameters.network.names, self.parameters.states
        return Table(names, states, np.zeros((len(names), 0), np.uint16))


def load_model(net: str, options: dict[str, Any]) -> LoadedModel:
    """Read a network with probabilities, or its arcs alone and take them from a table."""
    from parentage.errors import InputError, Way
    from parentage.network.formats import read_network, read_parameters
    from parentage.network.parameters import fit_parameters
    from parentage.work.context import Context

    reading, estimating = take(Reading, options), take(Estimating, options)
    data = options["data_for_parameters"]
    if data is None:
        for settings in (reading, estimating):
            for name in changed(settings):
                raise InputError(
                    f"is for a table, and {net!r} is used with its own probabilities",
                    Way("table", ..., "as well", flag="data"),
                    about=Way(name, getattr(settings, name)),
                )
        return LoadedModel(read_parameters(net), None)
    network = read_network(net)
    table = load_table(data, options)
    missing = [name for name in network.names if name not in table.names]
    if missing:
        raise InputError(
            f"--data {data!r} has no column {missing[0]!r}, which is a variable of {net!r}"
        )
    with show_progress() as shown:
        fitted = fit_parameters(
            network,
            table,
            smoothing=estimating.smoothing,
            context=Context(report=shown),
        )
    return LoadedModel(fitted, table.select(network.names))


def csv_text(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return separated text with a line of names.

    >>> print(csv_text(["a", "b,c"], [["1", "x"]]), end="")
    a,"b,c"
    1,x
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return text.getvalue()


def table_csv(table: Table) -> str:
    """Return a table without holes as CSV, cells as labels."""
    columns = [
        [labels[code] for code in table.column(v).tolist()] for v, labels in enumerate(table.states)
    ]
    return csv_text(table.names, zip(*columns, strict=True))


def deliver(text: str, output: str | None) -> None:
    """Print text, or write it to a file and say so."""
    from parentage.files.atomic import write_text

    if output is None:
        click.echo(text, nl=False)
        return
    write_text(output, text)
    click.echo(f"parentage: wrote {output}", err=True)
