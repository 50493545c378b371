"""``parentage path``, ``effect`` and ``validate``: what readers of a network ask next."""

from __future__ import annotations

import sys
import textwrap
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from parentage.cli.options import (
    BY_RECIPE,
    JSON,
    TIME_LIMIT,
    WIDE,
    TypedModel,
    check_outputs,
    command,
    load_table,
    option,
    output_option,
    settings,
)
from parentage.cli.output import (
    beside,
    interruptible,
    say,
    show,
    show_progress,
    warn,
)
from parentage.data.settings import OF_WHOLE_DATA
from parentage.errors import InputError, counted
from parentage.view.aligned import table_text
from parentage.work.settings import Option, setting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parentage.answers.effect import Effect
    from parentage.answers.path import PenaltyPath
    from parentage.answers.validate import Validated, Validation
    from parentage.data.settings import Reading
    from parentage.work.context import Context, Running

SHOWN = 12
"""Groups of networks that are shown in a terminal."""


@contextmanager
def working(running: Running) -> Iterator[Context]:
    """Make the context of a command; exit with 130 if it was interrupted."""
    from parentage.work.context import Context

    with interruptible(running) as stop, show_progress() as report:
        yield Context(stop, running.n_threads, report=report)


@command()
@click.argument("source", metavar="TABLE")
@output_option("Write the path as a figure (.svg) or the networks (.csv, .json).")
@option(
    "Model",
    score=setting(
        "bic",
        "Vary BIC's penalty (bic) or BDeu's sample size (bdeu).",
        Option("bic|bdeu", common=True, page="answers.md"),
    ),
)
@settings("model", TypedModel, "Model", "max_parents", "constraints")
@TIME_LIMIT
@BY_RECIPE
@JSON
def path(
    source: str,
    output: str | None,
    score: str,
    model: TypedModel,
    running: Running,
    reading: Reading,
    as_json: bool,
) -> None:
    """Find every optimal network as the penalty per parameter grows, and prove each.

    The penalty runs from half of BIC's to four times BIC's, and no optimal network of that range is
    left out, e.g. parentage path clinic.csv -o path.svg. With --score bdeu the equivalent sample
    size takes ten values from 0.1 to 100.
    """
    from parentage.answers.path import FILES, LEAST, MOST, path_of, unproven_text
    from parentage.files.atomic import extension_of

    if output is not None:
        extension_of(output, *FILES)
    check_outputs([output], source, reading.recipe, model.constraints)
    table = load_table(source, reading, quiet=as_json, ways=OF_WHOLE_DATA)
    scoring = replace(model, score=score).scoring(table.names)
    with working(running) as context:
        found = path_of(table, scoring, (LEAST, MOST), context)
    if not found.optimal:
        warn(unproven_text(found, context.stop.reason()))
    if output is not None:
        found.save(output)
        say(f"wrote {output}")
    if as_json or output is None:
        show(as_json, found.to_dict, lambda: path_text(found))


def path_text(found: PenaltyPath) -> str:
    """Lay out a path: one line for each network, and what changes from one to the next."""
    rows, changes = [], ["change"]
    digits = 2 if all(f"{one.low:.2f}" != f"{one.high:.2f}" for one in found.stretches) else 4
    for number, one in enumerate(found.stretches):
        gone, new = found.changes(number) if number else ((), ())
        marks = [f"lost: {', '.join(f'{a} — {b}' for a, b in gone)}"] * bool(gone)
        marks += [f"new: {', '.join(f'{a} — {b}' for a, b in new)}"] * bool(new)
        if number and not marks and one.network.arcs != found.stretches[number - 1].network.arcs:
            marks = ["same links, other directions"]
        where = f"{one.low:g}" if found.grid else f"{one.low:.{digits}f} – {one.high:.{digits}f}"
        rows.append((where, f"{one.network.n_arcs}", f"{one.parameters:,}", f"{one.score:.2f}"))
        changes.append("; ".join(marks) + ("" if one.optimal else " (not proven)"))
    head = ("penalty", "arcs", "parameters", "BIC")
    if found.grid:
        head = ("sample size", "arcs", "parameters", "BDeu")
    lines = table_text(head, rows, left=1).splitlines()
    lines = [
        beside(f"{line}  ", change).rstrip() for line, change in zip(lines, changes, strict=True)
    ]
    proven = "all proven optimal" if found.optimal else "not all proven"
    exact = (
        "on a grid: other networks may lie between"
        if found.grid
        else "no other is optimal in this range"
    )
    return "\n".join(
        [*lines, "", f"{counted(len(found), 'network')}, {proven}; {exact}.", found.sentence()]
    )


@command()
@click.argument("source", metavar="TABLE")
@click.argument("cause", metavar="X")
@click.argument("outcome", metavar="Y")
@option(
    "Model",
    change=setting(
        None,
        "Set X from state A to state B. By default from the first to the last.",
        Option("A,B", common=True),
    ),
    state=setting(
        None,
        "State of Y whose probability is reported. By default the last.",
        Option("S", common=True),
    ),
    within=setting(
        20.0,
        "Networks at least 1/FACTOR as probable as the best.",
        Option("FACTOR", float, least=1, common=True),
    ),
)
@settings("model", TypedModel, "Model", "score", "max_parents", "require", "constraints")
@TIME_LIMIT
@BY_RECIPE
@JSON
def effect(
    source: str,
    cause: str,
    outcome: str,
    change: str | None,
    state: str | None,
    within: float,
    model: TypedModel,
    running: Running,
    reading: Reading,
    as_json: bool,
) -> None:
    """Estimate the effect of setting X on Y, in every network close to the best.

    For each network, compute how much the probability of a state of Y changes when X is set from
    one state to another; report the range of these changes, e.g. parentage effect clinic.csv smoke
    dysp --change no,yes --state yes. If you know some arcs, require them (--require smoke,dysp):
    the range becomes narrower.
    """
    from parentage.answers.effect import effect_of, near_networks
    from parentage.network import SMOOTHING
    from parentage.optimise.near import cut_text

    table = load_table(source, reading, quiet=as_json, ways=OF_WHOLE_DATA)
    states = None if change is None else split_change(change)
    with working(running) as context:
        near = near_networks(table, model.scoring(table.names), within, context)
        found = effect_of(table, near, (cause, states), (outcome, state), within, SMOOTHING)
    if not found.complete:
        warn(cut_text(near))
    show(as_json, found.to_dict, lambda: effect_text(found))


def split_change(text: str) -> tuple[str, str]:
    """Split ``A,B`` into two states.

    >>> split_change("no,yes")
    ('no', 'yes')
    """
    first, comma, last = text.partition(",")
    if not comma:
        raise InputError(f"--change {text!r}: type two states, e.g. --change no,yes")
    return first, last


def effect_text(found: Effect) -> str:
    """Lay out an effect: the answer, the values with their networks, and what is assumed."""
    rows = [
        (f"{group.difference:+z.3f}", f"{group.ratio:.2f}", f"{group.networks:,}",
         f"{group.classes:,}", f"{group.share:.1%}")
        for group in found.groups[:SHOWN]
    ]  # fmt: skip
    said = found.sentence()
    lines = [
        said if sys.stdout.isatty() else textwrap.fill(said, WIDE),  # a terminal has its own width
        f"Difference observed in the rows, without adjustment: {found.observed:+z.3f}.",
        "",
        table_text(("difference", "ratio", "networks", "classes", "share"), rows, left=0),
    ]
    more = len(found.groups) - SHOWN
    if more > 0:
        lines.append(f"and {counted(more, 'more value')} (all: --json)")
    return "\n".join([*lines, "", "Assumed:", *(f"- {text}" for text in found.assumptions)])


@command()
@click.argument("source", metavar="TABLE")
@option(
    "Model",
    score=setting(
        (),
        "Score to compare; bic by default.",
        Option("NAME", repeatable=True, common=True, page="scores.md"),
    ),
    target=setting(
        None, "Also measure how well each model predicts this variable.", Option("Y", common=True)
    ),
    folds=setting(10, "Number of folds.", Option("N", int, least=2, common=True)),
)
@settings("model", TypedModel, "Model", "max_parents", "constraints")
@TIME_LIMIT
@BY_RECIPE
@JSON
def validate(
    source: str,
    score: tuple[str, ...],
    target: str | None,
    folds: int,
    model: TypedModel,
    running: Running,
    reading: Reading,
    as_json: bool,
) -> None:
    """Cross-validate: learn with several scores and compare how well they predict held-out rows.

    Every score learns from all folds but one and predicts that one, e.g. parentage validate
    clinic.csv --score bic --score aic --target dysp. The baselines are the network without arcs,
    the best tree and, with --target, naive Bayes. Rows are dealt into folds with seed 0.
    """
    from parentage.answers.validate import treatments_for, unproven_text, validation_of
    from parentage.network import SMOOTHING

    table = load_table(source, reading, quiet=as_json, ways=treatments_for(score))
    dealing = (folds, 0, SMOOTHING)
    with working(running) as context:
        scoring = model.scoring(table.names)
        found = validation_of(table, scoring, score, target, dealing, context)
    if text := unproven_text(found):
        warn(text)
    show(as_json, found.to_dict, lambda: validation_text(found))


def validation_text(found: Validation) -> str:
    """Lay out a validation: one line for each score and baseline, then for the target."""
    rows = [(one.name, *_likelihood_cells(one, found)) for one in found.models]
    head = ("learned by", "log-likelihood", "behind", "arcs", "proven")
    lines = [table_text(head, rows, left=1)]
    if found.target is not None:
        measured = [(one.name, *_target_cells(one)) for one in found.models]
        lines += [
            "",
            f"{found.target}, predicted from the rest of the row:",
            table_text(("learned by", "accuracy", "log-loss", "Brier", "AUC"), measured, left=1),
        ]
    notes = [f"Note: {text}." for text in found.notes]
    about = [
        f"{found.rows:,} rows, {found.folds} folds; log-likelihood per row, ± standard error.",
        "behind: how much lower the log-likelihood is than in the first line; negative: higher.",
        "empty: no arcs; tree: at most one parent for each variable.",
    ]
    return "\n".join([*lines, "", *about, *notes])


def _likelihood_cells(one: Validated, found: Validation) -> tuple[str, ...]:
    first = one is found.models[0]
    return (
        f"{one.log_likelihood:.4f} ± {one.error:.4f}",
        "" if first else f"{one.difference:.4f} ± {one.difference_error:.4f}",
        f"{one.arcs:.1f}",
        "" if one.proven is None else f"{one.proven} of {found.folds}",
    )


def _target_cells(one: Validated) -> tuple[str, ...]:
    assert one.target is not None  # noqa: S101  # every model has one where there is a target
    area = "" if one.target.auc is None else f"{one.target.auc:.3f}"
    return (
        f"{one.target.accuracy:.1%}",
        f"{one.target.log_loss:.4f}",
        f"{one.target.brier:.4f}",
        area,
    )
