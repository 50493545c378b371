"""``parentage explain``: why one parent set is a candidate or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from parentage.cli.help import command, option
from parentage.cli.options import (
    JSON,
    common_table_options,
    load_table,
    missing_rule,
    prior_of,
    settings_options,
    with_options,
)
from parentage.cli.output import print_json, say_if_compiling, table_text
from parentage.scoring.settings import Scoring
from parentage.work.settings import take

if TYPE_CHECKING:
    from parentage.scoring.explanation import Explanation


@command()
@click.argument("data")
@click.argument("child")
@click.argument("parents", nargs=-1)
@option("--all", "every", is_flag=True, help="Show the rules that do not fire, too.")
@common_table_options
@with_options(*settings_options("Model", Scoring, "score", "prior"))
@JSON
def explain(data: str, child: str, parents: tuple[str, ...], every: bool, **options: Any) -> None:
    """Explain one family: its score, what dominates it, and which rules remove it.

    DATA is a table as in `parentage score`, CHILD a column, PARENT… the parents in question, e.g.
    parentage explain glass.arff RI Na Mg Al class --discretize median
    """
    from parentage.scoring.explanation import explain as explain_family

    table = load_table(data, options)
    say_if_compiling()
    scoring = take(Scoring, {**options, "prior": prior_of(options)})
    scoring = scoring.for_missing(missing_rule(table))
    found = explain_family(
        table,
        child,
        parents,
        score=scoring.score,
        prior=scoring.prior,
    )
    if options["as_json"]:
        print_json(found.to_dict())
        return
    click.echo(str(found))
    if every and found.rules:
        click.echo("\n" + rules_text(found))


def rules_text(found: Explanation) -> str:
    """Lay out every rule with both sides; caps, once each, read left > right."""
    from parentage.scoring.rulebook import CAPS

    rows = []
    for c in found.rules:
        fires = "fires" if c.fires else ""
        if c.rule not in CAPS:
            rows.append((c.rule, c.Y, f"{c.left:.4f}", f"{c.right:.4f}", fires))
        elif found.parents[0] == c.Y:
            rows.append((c.rule, "", f"{c.left:.0f}", f"{c.right:.0f}", fires))
    return table_text(("rule", "Y", "left", "right", ""), rows, left=2)
