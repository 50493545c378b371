"""``parentage query``, ``apply`` and ``sample``: what follows from a network with probabilities."""

from __future__ import annotations

import math
import shlex
from pathlib import PurePath
from typing import TYPE_CHECKING

import click

from parentage.cli.options import (
    JSON,
    RECIPE_ALONE,
    Number,
    check_outputs,
    command,
    load_table,
    option,
    output_option,
)
from parentage.cli.output import print_json, say, show, show_progress
from parentage.data.settings import OF_WHOLE_DATA, WAYS
from parentage.errors import InputError, UndecidedError, Way, counted, did_you_mean
from parentage.files.atomic import csv_text, write_text
from parentage.files.detect import TABLE_FORMATS
from parentage.work.settings import Option, changed, setting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parentage.data.settings import Reading
    from parentage.data.table import Table
    from parentage.network.inference import Answer, Filling, Intervals
    from parentage.network.network import Network
    from parentage.network.parameters import Parameters

DATA = option(
    "Data",
    data=setting(
        None,
        "Estimate the probabilities from this table instead of using those in the file.",
        Option("TABLE", common=True),
    ),
)


@command()
@click.argument("net")
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@option(
    "Data",
    given=setting(
        (),
        "Evidence: variable A is in state x, B in state y.",
        Option("A=x,B=y", repeatable=True, common=True),
    ),
    intervene=setting(
        (),
        "Intervention do(C=z): set C to z and remove the arcs into it.",
        Option("C=z", repeatable=True, common=True),
    ),
    joint=setting(
        False,
        "Print the joint distribution of the targets instead of marginals.",
        Option(common=True, group="Output"),
    ),
    mpe=setting(
        False,
        "Print the most probable joint state of all variables.",
        Option(common=True, group="Output"),
    ),
    intervals=setting(
        False,
        "Add 95 % credible intervals, from the rows of --data TABLE.",
        Option(common=True, group="Output"),
    ),
)
@JSON
@DATA
@RECIPE_ALONE
def query(
    net: str,
    targets: tuple[str, ...],
    given: tuple[str, ...],
    intervene: tuple[str, ...],
    joint: bool,
    mpe: bool,
    intervals: bool,
    data: str | None,
    reading: Reading,
    as_json: bool,
) -> None:
    """Compute the exact probabilities of every TARGET given evidence.

    NET is a network with probabilities (.bif, .xmlbif, .json), or any network file together with
    --data TABLE. Without TARGET all variables are reported, e.g.
    parentage query clinic.bif --given smoke=yes,xray=no lung
    """
    if mpe and (targets or joint):
        raise InputError("--mpe is about all variables together; leave the targets and --joint out")
    if joint and len(targets) < 2:
        raise InputError("--joint needs two targets or more")
    if intervals and (mpe or joint):
        raise InputError("--intervals is for one variable at a time; leave --mpe and --joint out")
    found, _ = load_model(net, data, reading, OF_WHOLE_DATA if intervals else WAYS)
    seen = parse_findings(given, found, "--given")
    done = parse_findings(intervene, found, "--intervene")
    if mpe or joint:
        whole: Answer = (
            found.most_probable(seen, intervene=done)
            if mpe
            else found.joint(targets, seen, intervene=done)
        )
        show(as_json, whole.to_dict, whole.text)
        return
    answer = found.query(seen, intervene=done, targets=targets)
    before = found.query(targets=list(answer.marginals)) if seen or done else None
    ends: Intervals = {}
    if intervals:
        ends = found.intervals(seen, intervene=done, targets=targets)
    more = {} if before is None else {"before": before.to_dict()["marginals"]}
    more |= {"intervals": ends} if ends else {}
    show(as_json, lambda: answer.to_dict() | more, lambda: answer.text(before, ends))


def load_model(
    net: str, data: str | None, reading: Reading, ways: Sequence[str] = WAYS
) -> tuple[Parameters, Table]:
    """Read a network with probabilities, or its arcs alone and estimate them from a table.

    Returns them with the table, or one without rows; it has the states, and the cut points if there
    are any, that new rows are read in. ``ways``: those to treat missing values that are offered.
    """
    from parentage.network.formats import read_network, read_parameters
    from parentage.network.parameters import fit_parameters
    from parentage.work.context import Context

    refuse_table(net)
    if data is None:
        import numpy as np

        from parentage.data.table import Table

        refuse_without_table(net, "used", reading)
        estimate = Way("table", ..., "to estimate them from the data")
        found = read_parameters(net, None, estimate)
        names = found.network.names
        return found, Table(names, found.states, np.zeros((len(names), 0), np.uint16))
    network = read_network(net)
    table = table_for(network, data, reading, whose=repr(net), ways=ways)
    with show_progress() as shown:
        return fit_parameters(network, table, context=Context(report=shown)), table


def table_for(
    network: Network, data: str, reading: Reading, *, whose: str, ways: Sequence[str] = WAYS
) -> Table:
    """Read the table that goes with a network; what is advised has its cut points."""
    from parentage.network.parameters import discretizing

    try:
        return table_of(network.names, data, reading, whose=whose, ways=ways)
    except UndecidedError as error:
        rules = list(discretizing(network).values())
        error.remedy = tuple(
            Way("discretize", [*_texts(way.value), *rules]) if way.setting == "discretize" else way
            for way in error.remedy
        )
        raise


def _texts(value: object) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list | tuple) else [str(value)]


def table_of(
    names: Sequence[str],
    data: str,
    reading: Reading,
    *,
    whose: str,
    quiet: bool = False,
    ways: Sequence[str] = WAYS,
) -> Table:
    """Read the table that goes with a network or with lists: its columns are their variables."""
    table = load_table(data, reading, quiet=quiet, ways=ways)
    missing = [name for name in names if name not in table.names]
    if missing:
        raise InputError(
            f"--data {data!r} has no column {missing[0]!r}, which is a variable of {whose}"
        )
    return table.select(names)


def refuse_table(net: str) -> None:
    """Refuse a table where a network belongs."""
    path = PurePath(net)
    if path.suffix.lower().lstrip(".") in (*TABLE_FORMATS, "xlsx", "xls", "feather"):
        raise InputError(
            f"{net!r} is a table, not a network; learn a network first: type "
            f"parentage learn {shlex.quote(net)} --auto -o {shlex.quote(f'{path.stem}.bif')}"
        )


def refuse_without_table(net: str, how: str, reading: Reading) -> None:
    """Refuse settings of reading where no table is given."""
    for name in changed(reading):
        raise InputError(
            f"is for a table, and {net!r} is {how} with its own probabilities",
            Way("table", ..., "as well"),
            about=Way(name, getattr(reading, name)),
        )


def parse_findings(texts: Sequence[str], known: Parameters, option: str) -> dict[str, str]:
    """Split ``A=x,B=y`` where that leaves known names and states, commas and ``=`` in them too."""
    found: dict[str, str] = {}
    for text in texts:
        pairs = next(_splits(text.split(","), known), None)
        if pairs is None:
            pairs = [_plain(part, option) for part in text.split(",")]
        for name, label in pairs:
            state = known.named({name: label})[name]  # refuses what is not known
            if found.get(name, state) != state:
                raise InputError(
                    f"{option} sets {name!r} to both {found[name]!r} and {state!r}; choose one"
                )
            found[name] = state
    return found


def _splits(parts: Sequence[str], known: Parameters) -> Iterator[list[tuple[str, str]]]:
    """Yield every way to read parts as known findings, short findings first."""
    if not parts:
        yield []
    for end in range(1, len(parts) + 1):
        pieces = ",".join(parts[:end]).split("=")
        for at in range(1, len(pieces)):
            name, label = "=".join(pieces[:at]), "=".join(pieces[at:])
            if known.has_state(name, label):
                for rest in _splits(parts[end:], known):
                    yield [(name, label), *rest]


def _plain(part: str, option: str) -> tuple[str, str]:
    name, separator, label = part.partition("=")
    if not separator:
        raise InputError(
            f"{option} {part!r}: type a variable and its state, e.g. {option} smoke=yes"
        )
    return name.strip(), label.strip()


@command()
@click.argument("net")
@click.argument("rows")
@option(
    "Output",
    predict=setting(
        None,
        "Predict a column from the rest of each row.",
        Option("COLUMN", common=True),
    ),
    impute=setting(
        None,
        "Impute missing values: the most probable state of each, or of a row jointly.",
        Option("each|joint", common=True),
    ),
)
@output_option("Write CSV to a file instead of stdout.")
@JSON
@DATA
@RECIPE_ALONE
def apply(
    net: str,
    rows: str,
    predict: str | None,
    impute: str | None,
    output: str | None,
    data: str | None,
    reading: Reading,
    as_json: bool,
) -> None:
    """Apply a network to new ROWS: log-likelihood, prediction, or imputation.

    NET is as in `parentage query`. Missing values in ROWS are marginalised. Numbers in ROWS are
    discretised at the cut points of the --data table, which --recipe reads; without --data, ROWS
    has to contain states.
    """
    from parentage.data.applying import rows_like
    from parentage.network.inference import FILLINGS

    filling = next((how for how in FILLINGS if how == impute), None)
    if impute is not None and filling is None:
        raise InputError(f"--impute {impute!r}: {did_you_mean(impute, FILLINGS)}")
    if predict is not None and impute is not None:
        raise InputError("--predict and --impute cannot be combined; type one of them")
    check_outputs([output], net, rows, data, reading.recipe)
    found, known = load_model(net, data, reading)
    asked = () if predict is None else (found.network.names[found.network.index(predict)],)
    table = rows_like(known, rows, "em", optional=asked)
    if predict is not None:
        _predict(found, table, predict, output, as_json)
    elif filling is not None:
        _impute(found, table, filling, output, as_json)
    else:
        _likelihood(found, table, output, as_json)


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
        body = (
            [labels[k], *(f"{p:.6g}" for p in row)]
            for k, row in zip(best, shares.tolist(), strict=True)
        )
        deliver(csv_text(head, body), output)
    if right is not None:
        count = f"{int(known.sum()):,}"
        say(f"correct in {right:.1%} of {count} rows with known value")


def _impute(
    parameters: Parameters, table: Table, how: Filling, output: str | None, as_json: bool
) -> None:
    """Print the rows with their cells filled."""
    whole = parameters.impute(table, how)
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
    say(f"imputed {counted(cells, 'value')} in {counted(len(filled), 'column')}")


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
    told = counted(rows, "row") + (f", {counted(missing, 'missing value')}" if missing else "")
    if mean is not None:
        return f"{told}: mean log-likelihood {mean:.6f} nats per row"
    verb = "has" if impossible == 1 else "have"
    return (
        f"{told}: {impossible:,} of them {verb} probability 0 under these parameters; "
        "type --data TABLE to estimate probabilities above 0"
    )


def table_csv(table: Table) -> str:
    """Return a table without missing values as CSV, cells as labels."""
    columns = [
        [labels[code] for code in table.column(v).tolist()] for v, labels in enumerate(table.states)
    ]
    return csv_text(table.names, zip(*columns, strict=True))


def deliver(text: str, output: str | None) -> None:
    """Print text, or write it to a file and say so."""
    if output is None:
        click.echo(text, nl=False)
        return
    write_text(output, text)
    say(f"wrote {output}")


@command()
@click.argument("net")
@click.argument("rows", metavar="N", type=Number(int, 1))
@option(
    "Output",
    seed=setting(0, "Seed of the random numbers.", Option("INTEGER", int, least=0, common=True)),
)
def sample(net: str, rows: int, seed: int) -> None:
    """Draw N rows from the distribution of a network.

    NET is a network with probabilities (.bif, .xmlbif, .json). Rows are printed as CSV and are the
    same for the same seed, e.g. parentage sample clinic.bif 1000 > rows.csv
    """
    from parentage.network.formats import read_parameters

    refuse_table(net)
    click.echo(table_csv(read_parameters(net).sample(rows, seed)), nl=False)
