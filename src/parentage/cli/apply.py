"""``parentage apply`` and ``sample``: a network and new rows, given or drawn."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from parentage.cli.options import JSON, RECIPE_ALONE, check_outputs, command, option, settings
from parentage.cli.output import print_json
from parentage.cli.query import DATA, load_model
from parentage.errors import InputError, did_you_mean
from parentage.optimise.settings import Optimising
from parentage.work.settings import Option, Settings, setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from parentage.data.settings import Reading
    from parentage.data.table import Table
    from parentage.network.parameters import Parameters


IMPUTED = ("each", "joint")
"""Ways to impute: by the most probable state of each cell, or of a row's cells together."""


@dataclass(frozen=True)
class Question(Settings):
    """What is asked about new rows."""

    predict: str | None = setting(
        None,
        "Predict a column from the rest of each row.",
        Option("COLUMN", common=True),
    )
    impute: str | None = setting(
        None,
        "Impute missing values: the most probable state of each, or of a row jointly.",
        Option("each|joint", common=True),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.impute not in (None, *IMPUTED):
            raise InputError(f"--impute {self.impute!r}: {did_you_mean(str(self.impute), IMPUTED)}")
        if self.predict is not None and self.impute is not None:
            raise InputError("--predict and --impute exclude each other; type one of them")


OUTPUT = option(
    "Output",
    output=setting(
        None, "Write CSV to a file instead of stdout.", Option("FILE", short="-o", common=True)
    ),
)


@command()
@click.argument("net")
@click.argument("rows")
@settings("question", Question, "Output")
@OUTPUT
@JSON
@DATA
@RECIPE_ALONE
def apply(
    net: str,
    rows: str,
    question: Question,
    output: str | None,
    data: str | None,
    reading: Reading,
    as_json: bool,
) -> None:
    """Apply a network to new ROWS: their log-likelihood, a prediction, or their missing cells.

    NET is as in `parentage query`. Missing cells of ROWS are summed over. With --data the cut
    points of that table cut the numbers of ROWS.
    """
    from parentage.data.applying import rows_like

    predict = question.predict
    check_outputs([output], net, rows, data, reading.recipe)
    found = load_model(net, data, reading)
    network = found.parameters.network
    asked = () if predict is None else (network.names[network.index(predict)],)
    table = rows_like(found.known, rows, "em", optional=asked)
    if predict is not None:
        _predict(found.parameters, table, predict, output, as_json)
    elif question.impute is not None:
        _impute(found.parameters, table, question.impute, output, as_json)
    else:
        _likelihood(found.parameters, table, output, as_json)


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
    parameters: Parameters, table: Table, how: str, output: str | None, as_json: bool
) -> None:
    """Print the rows with their cells filled."""
    whole = parameters.impute(table, "joint" if how == "joint" else "each")
    text = table_csv(whole)
    filled = {
        name: int(count)
        for name, count in zip(table.names, table.missing_cells, strict=True)
        if count
    }
    if as_json:
        print_json({"rows": whole.n_rows, "filled": filled})
    if output is not None or not as_json:
        deliver(text, output)
    cells = sum(filled.values())
    click.echo(f"parentage: imputed {cells:,} values in {len(filled)} columns", err=True)


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
        "--data TABLE estimates them, none of them 0"
    )


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


@command()
@click.argument("net")
@click.argument("rows", type=click.IntRange(min=1))
@settings("optimising", Optimising, "Output", "seed")
@OUTPUT
def sample(net: str, rows: int, optimising: Optimising, output: str | None) -> None:
    """Draw ROWS rows from the distribution of a network, every variable after its parents.

    NET is a network with probabilities (.bif, .xmlbif, .json). The rows are CSV, the same for the
    same seed.
    """
    from parentage.network.formats import read_parameters

    check_outputs([output], net)
    deliver(table_csv(read_parameters(net).sample(rows, optimising.seed)), output)
