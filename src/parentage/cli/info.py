"""``parentage info``: a first look at a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from parentage.cli.options import (
    FORCE,
    WRITE_RECIPE,
    check_recipe_target,
    load_table,
    run_options,
    score_options,
    scoring_of,
    search_options,
    table_options,
    write_recipe_of,
)
from parentage.cli.output import print_json, say_if_compiling, table_text

if TYPE_CHECKING:
    from parentage.data.table import Table
    from parentage.scoring.forecast import Forecast
    from parentage.scoring.overview import Overview


@click.command()
@click.argument("data")
@WRITE_RECIPE
@FORCE
@table_options
@score_options
@search_options
@run_options
def info(data: str, **options: Any) -> None:
    """Show variables, states, entropy, parent caps and a forecast of the search.

    DATA is a table as in `parentage score`, or - for standard input. The caps are the most
    parents a variable can have in any optimal network, proved before searching.
    """
    from parentage.scoring.overview import overview

    check_recipe_target(options, [data, options["constraints_file"], options["recipe"]])
    table = load_table(data, options)
    write_recipe_of(table.recipe, options)
    settings = scoring_of(options, table.names).for_missing(options["missing"])
    say_if_compiling()
    found = overview(table, settings)
    if options["as_json"]:
        recipe = None if table.recipe is None else table.recipe.to_dict()
        print_json({**found.to_dict(), "recipe": recipe})
    else:
        click.echo(as_text(found, table))


def as_text(found: Overview, table: Table) -> str:
    """Lay out the overview for a terminal."""
    rows = []
    for variable in found.variables:
        caps = (variable.theorem3, variable.theorem3pp)
        labels = ", ".join(variable.states)
        rows.append(
            (
                variable.name,
                labels if len(labels) <= 40 else labels[:39] + "…",
                str(len(variable.states)),
                f"{variable.entropy:.4f}",
                *("-" if cap is None else str(cap) for cap in caps),
                *([f"{variable.missing:,}"] if table.has_holes else []),
            )
        )
    head: tuple[str, ...] = ("variable", "labels", "states", "entropy", "Thm 3", "Thm 3″")
    if table.has_holes:
        head = (*head, "missing")
    lines = [f"{table.n_rows:,} rows, {table.n_variables} variables", ""]
    lines += [table_text(head, rows, left=2), ""]
    if found.constant:
        lines.append(f"Constant: {', '.join(found.constant)}")
    if found.corollary1 is not None:
        lines.append(
            f"No variable can have more than {found.corollary1p} parents "
            f"(Corollary 1′; Corollary 1 says {found.corollary1})."
        )
    lines.append(_forecast_text(found.forecast))
    if not found.ends_by_itself:
        lines.append(_no_end_text(found.score))
    return "\n".join(lines)


def _no_end_text(score: str) -> str:
    from parentage.scoring.catalogue import by_name

    return (
        f"{by_name(score).title} has no limit of its own: nothing known rules out large parent "
        "sets. Give a limit (-k 4) or a time (--time-limit 600); the lists are then complete up to "
        "some number of parents, and say so."
    )


def _forecast_text(forecast: Forecast) -> str:
    sets, memory, seconds = f"{forecast.sets:,}", forecast.memory, forecast.seconds
    took = f"{seconds:.1f} s" if seconds < 100 else f"{seconds / 60:,.0f} min"
    how = {
        "searched": f"Scoring counts {sets} sets",
        "counted": f"Scoring counts {sets} sets",
        "extrapolated": f"Scoring counts very roughly {sets} sets",
        "at most": f"Scoring counts at most {sets} sets",
    }[forecast.basis]
    return f"{how}: about {took} on one core, {memory / 1e6:,.0f} MB."
