"""``parentage sample``: rows drawn from a network."""

from __future__ import annotations

from typing import Any

import click

from parentage.cli.help import command, option
from parentage.cli.model import deliver, load_model, model_options, table_csv
from parentage.cli.options import check_outputs


@command()
@click.argument("net")
@click.argument("rows", type=click.IntRange(min=1))
@option("-o", "--output", metavar="FILE", help="Write CSV to a file instead of stdout.")
@option(
    "--seed", group="Model", type=int, default=0, show_default=True, help="Seed of the drawing."
)
@model_options
def sample(net: str, rows: int, output: str | None, seed: int, **options: Any) -> None:
    """Draw ROWS rows from the distribution of a network, every variable after its parents.

    NET is as in `parentage query`. The rows are CSV, the same for the same seed.
    """
    check_outputs([output], [net], options)
    deliver(table_csv(load_model(net, options).parameters.sample(rows, seed)), output)
