"""``parentage apply``: what a network says about new rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from parentage.cli.help import command, option
from parentage.cli.model import csv_text, deliver, load_model, model_options, table_csv
from parentage.cli.options import JSON, check_outputs
from parentage.cli.output import print_json

if TYPE_CHECKING:
    from parentage.data.table import Table
    from parentage.network.parameters import Parameters


@command()
@click.argument("net")
@click.argument("rows")
@option("--predict", metavar="COLUMN", help="Predict a column from the rest of each row.")
@option("--impute", is_flag=True, help="Fill missing cells with their most probable states.")
@option(
    "--together",
    is_flag=True,
    help="With --impute: the most probable states of a row's cells together.",
)
@option("-o", "--output", metavar="FILE", help="Write CSV to a file instead of stdout.")
@JSON
@model_options
def apply(net: str, rows: str, predict: str | None, output: str | None, **options: Any) -> None:
    """Apply a network to new ROWS: their log-likelihood, a prediction, or their missing cells.

    NET is as in `parentage query`. Missing cells of ROWS are summed over. With --data the cut
    points of that table cut the numbers of ROWS.
    """
    from parentage.data.applying import rows_like
    from parentage.errors import InputError

    if predict is not None and options["impute"]:
        raise InputError("--predict and --impute are two questions; ask one of them")
    if options["together"] and not options["impute"]:
        raise InputError("--together says how --impute fills cells; type --impute as well")
    check_outputs([output], [net, rows], options)
    found = load_model(net, options)
    asked = () if predict is None else (found.parameters.network.names[_index(found, predict)],)
    table = rows_like(found.known, rows, "em", optional=asked)
    if predict is not None:
        _predict(found.parameters, table, predict, output, options["as_json"])
    elif options["impute"]:
        _impute(found.parameters, table, output, options)
    else:
        _likelihood(found.parameters, table, output, options["as_json"])


def _index(found: Any, name: str) -> int:
    return int(found.parameters.network.index(name))


def _predict(
    parameters: Parameters, table: Table, column: str, output: str | None, as_json: bool
) -> None:
    """Print the most probable state of every row, and all probabilities."""
    from parentage.data.table import MISSING

    shares = parameters.predict(table, column)
    labels = parameters.states[parameters.network.index(column)]
    best = shares.argmax(axis=1)
    there = table.column(table.index(column))
    known = there != MISSING
    right = float((best[known] == there[known]).mean()) if known.any() else None
    if as_json:
        rows = [dict(zip(labels, row, strict=True)) for row in shares.tolist()]
        predictions = [labels[k] for k in best]
        print_json({"column": column, "predictions": predictions, "probabilities": rows,
                    "accuracy": right})  # fmt: skip
    if output is not None or not as_json:
        head = (column, *(f"P({label})" for label in labels))
        body = ([labels[k], *row] for k, row in zip(best, shares.tolist(), strict=True))
        deliver(csv_text(head, body), output)
    if right is not None:
        count = f"{int(known.sum()):,}"
        click.echo(f"parentage: right in {right:.1%} of {count} rows that say", err=True)


def _impute(
    parameters: Parameters, table: Table, output: str | None, options: dict[str, Any]
) -> None:
    """Print the rows with their cells filled."""
    whole = parameters.impute(table, "joint" if options["together"] else "each")
    text = table_csv(whole)
    filled = {
        name: int(count)
        for name, count in zip(table.names, table.missing_cells, strict=True)
        if count
    }
    if options["as_json"]:
        print_json({"rows": whole.n_rows, "filled": filled})
    if output is not None or not options["as_json"]:
        deliver(text, output)
    cells = sum(filled.values())
    click.echo(f"parentage: filled {cells:,} cells in {len(filled)} columns", err=True)


def _likelihood(parameters: Parameters, table: Table, output: str | None, as_json: bool) -> None:
    """Print the mean log-likelihood, and every row's with JSON or to a file."""
    logs = parameters.log_likelihoods(table)
    finite = [x if math.isfinite(x) else None for x in logs.tolist()]
    impossible = finite.count(None)
    mean = None if impossible else math.fsum(logs) / len(logs)
    if as_json:
        print_json({"rows": len(finite), "mean_log_likelihood": mean, "impossible": impossible,
                    "log_likelihoods": finite})  # fmt: skip
    if output is not None:
        deliver(csv_text(["log_likelihood"], ([x] for x in logs.tolist())), output)
    if not as_json and output is None:
        click.echo(_likelihood_text(len(finite), int(table.missing_cells.sum()), mean, impossible))


def _likelihood_text(rows: int, missing: int, mean: float | None, impossible: int) -> str:
    holes = f", {missing:,} cells missing" if missing else ""
    if mean is not None:
        return f"{rows:,} rows{holes}: mean log-likelihood {mean:.6f} nats a row"
    return (
        f"{rows:,} rows{holes}: {impossible:,} of them have probability 0 under these parameters; "
        "smooth them with --data TABLE --smoothing 1"
    )
