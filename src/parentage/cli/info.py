"""``parentage info``: a first look at a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from parentage.cli.options import (
    JSON,
    READING,
    WRITE_RECIPE,
    TypedModel,
    check_outputs,
    command,
    load_table,
    settings,
    write_recipe_of,
)
from parentage.cli.output import say_if_compiling, show, variables_text
from parentage.errors import counted
from parentage.view.aligned import table_text
from parentage.work.memory import gigabytes
from parentage.work.progress import duration

SHORT = 30.0
"""Seconds that nobody needs to plan for; half of the time limit in the example."""

MOMENT = 1.0
"""Seconds below which numbers of parents need not be told apart."""

HOPELESS = 1e10
"""Seconds after which no further row is shown."""

MOST_ROWS = 8

FAR_BEYOND = 10**14
"""Bytes that no machine has: a hundred terabytes."""

if TYPE_CHECKING:
    from parentage.data.settings import Reading
    from parentage.data.table import Table
    from parentage.scoring.overview import Overview
    from parentage.scoring.search.forecast import Forecast


@command()
@click.argument("source", metavar="DATA")
@WRITE_RECIPE
@READING
@settings("model", TypedModel, "Model", "score", "max_parents")
@JSON
def info(
    source: str, write_recipe: str | None, reading: Reading, model: TypedModel, as_json: bool
) -> None:
    """Show variables, states and entropy, and forecast time and memory of the search.

    DATA is a table as in `parentage score`, or - for standard input. For each variable a proven
    upper bound on its number of parents in an optimal network is shown. Only this command has every
    option for reading a table: save them with --write-recipe FILE, and the other commands read the
    table with --recipe FILE.
    """
    from parentage.data.reading import rule_for_missing
    from parentage.scoring.overview import overview
    from parentage.structural_em import start_settings

    check_outputs([write_recipe], source, reading.recipe)
    table = load_table(source, reading, quiet=as_json)
    write_recipe_of(table.recipe, write_recipe)
    rule = rule_for_missing(table)
    scoring = model.scoring(table.names).for_missing(rule)
    completed = rule == "em" and table.has_holes
    if completed:
        scoring = start_settings(scoring)
    say_if_compiling()
    found = overview(table, scoring)
    recipe = None if table.recipe is None else table.recipe.to_dict()
    content = {**found.to_dict(), "recipe": recipe}
    show(as_json, lambda: content, lambda: as_text(found, table, completed=completed))


def as_text(found: Overview, table: Table, *, completed: bool = False) -> str:
    """Lay out the overview for a terminal; the table is ``completed`` before it is scored."""
    rows = []
    capped = any(one.theorem3 is not None or one.theorem3pp is not None for one in found.variables)
    for variable in found.variables:
        caps = [cap for cap in (variable.theorem3, variable.theorem3pp) if cap is not None]
        labels = ", ".join(variable.states)
        rows.append(
            (
                variable.name,
                labels if len(labels) <= 40 else labels[:39] + "…",
                str(len(variable.states)),
                f"{variable.entropy:.4f}",
                *([str(min(caps, default="-"))] if capped else []),
                *([f"{variable.missing:,}"] if table.has_holes else []),
            )
        )
    head: tuple[str, ...] = ("variable", "labels", "states", "entropy")
    if capped:
        head = (*head, "max parents")
    if table.has_holes:
        head = (*head, "missing")
    lines = [f"{table.n_rows:,} rows, {table.n_variables:,} variables", ""]
    lines += [variables_text(head, rows, "--json"), ""]
    if found.constant:
        lines.append(f"Constant: {', '.join(found.constant)}")
    lines.append(_forecast_text(found.forecast))
    if found.forecast.seconds > MOMENT or found.complete_to is not None:
        lines += _up_to_text(found)
    else:
        lines.append(
            "learn lists all candidate sets, finds the best network and proves it optimal."
        )
    if completed:
        lines.append(
            "This forecast is for one step of --missing em. learn repeats the step until the "
            "network no longer changes; a time limit ends it after the current step."
        )
    if not found.ends_by_itself:
        lines.append(_no_end_text(found.score))
    return "\n".join(lines)


def _no_end_text(score: str) -> str:
    from parentage.scoring.catalogue import by_name

    return (
        f"{by_name(score).title} gives no upper limit on the number of parents, so the rules may "
        "leave very many sets. Set a limit (-k 4) or a time (--time-limit 600); without either, "
        "the search ends at the first number of parents with more than 33 million sets. The "
        "output states up to how many parents the lists are complete."
    )


def _forecast_text(forecast: Forecast) -> str:
    sets = number(forecast.sets)
    took = "less than 0.1 s" if forecast.seconds < 0.1 else duration(forecast.seconds)
    how = {"extrapolated": "very roughly ", "at most": "at most "}.get(forecast.basis, "")
    about = "" if took == "ages" or took.startswith("less") else "about "
    memory = "less than 1 MB" if forecast.memory < 10**6 else gigabytes(forecast.memory)
    far = ": far beyond any machine" if forecast.memory >= FAR_BEYOND else ""
    return (
        f"Scoring cross-tabulates {how}{sets} sets of variables: "
        f"{about}{took} on one core, {memory} of memory{far}."
    )


def _up_to_text(found: Overview) -> list[str]:
    """Say what complete lists take by number of parents, and what ``learn`` makes of that."""
    shown = []
    for row in found.up_to[:MOST_ROWS]:
        shown.append(row)
        if row.seconds > HOPELESS:
            break
    table = table_text(
        ("parents", "sets", "one core", "memory"),
        [
            (f"up to {r.parents}", number(r.sets), duration(r.seconds), gigabytes(r.memory))
            for r in shown
        ],
        left=1,
    )
    lines = ["", "What complete lists take (the program itself needs another 0.2 GB):", table, ""]
    within = [row for row in shown if row.seconds <= SHORT]
    soon = max((row.parents for row in within), default=0)
    if found.complete_to is None:
        first = "finds a network first, then lists" if found.network_first else "lists"
        lines.append(
            f"learn {first} all candidate sets and proves the optimum if time and memory suffice; "
            "Ctrl-C returns the best network so far."
        )
        if found.forecast.seconds <= SHORT:
            return lines
    else:
        lines.append(
            f"A proof is out of reach. Without a time limit learn lists everything up to "
            f"{counted(found.complete_to, 'parent')}{_too_much(found)}."
        )
    then = "then larger sets where they improve the best network"
    if found.not_grown is not None:
        then = f"then by number of parents while there is time ({found.not_grown})"
    lines.append(
        f"With --time-limit 60 it lists everything up to about {counted(soon, 'parent')}, {then}. "
        "The result then has a bound, not a proof."
    )
    return lines


def _too_much(found: Overview) -> str:
    """Say what ends complete lists."""
    row = next((r for r in found.up_to if r.parents == (found.complete_to or 0) + 1), None)
    if row is None:
        return ""
    if found.limited_by == "time":
        took = duration(found.forecast.seconds)
        return f": all parent sets would take {'' if took == 'ages' else 'about '}{took}"
    why = {
        "sets": f"are {number(row.sets)} sets, and no rule prunes them",
        "memory": f"need {gigabytes(row.memory)}, more than memory and disk have",
    }[found.limited_by or "sets"]
    return f": those of up to {row.parents} {why}"


def number(count: int) -> str:
    """Write a number of sets, powers of ten when there are too many.

    >>> number(123_456), number(10**12)
    ('123,456', '1e+12')
    """
    from parentage.scoring.search.forecast import many

    return f"{count:,}" if count < 10**9 else many(count)
