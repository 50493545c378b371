"""``parentage explain``: why one parent set is a candidate or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from parentage.cli.options import (
    BY_RECIPE,
    JSON,
    Model,
    command,
    load_table,
    option,
    settings,
)
from parentage.cli.output import print_json, say_if_compiling, table_text, tell_decisions
from parentage.work.settings import Option, setting

if TYPE_CHECKING:
    from parentage.data.settings import Reading
    from parentage.scoring.explanation import Explanation


@command()
@click.argument("source", metavar="DATA")
@click.argument("child")
@click.argument("parents", nargs=-1)
@option(
    "Output",
    all_=setting(False, "Show the rules that do not fire, too.", Option(common=True)),
)
@BY_RECIPE
@settings("model", Model, "Model", "score", "prior")
@JSON
def explain(
    source: str,
    child: str,
    parents: tuple[str, ...],
    all_: bool,
    reading: Reading,
    model: Model,
    as_json: bool,
) -> None:
    """Explain one family: its score, what dominates it, and which rules remove it.

    DATA is a table as in `parentage score`, CHILD a column, PARENT… the parents in question, e.g.
    parentage explain glass.arff RI Na Mg Al class --auto
    """
    from parentage.scoring.explanation import explain as explain_family

    table = load_table(source, reading, quiet=as_json)
    say_if_compiling()
    found = explain_family(table, child, parents, score=model.score, prior=model.belief())
    tell_decisions()
    if as_json:
        print_json(found.to_dict())
        return
    click.echo(str(found))
    if all_ and found.rules:
        click.echo("\n" + rules_text(found))


def rules_text(found: Explanation) -> str:
    """Lay out every rule with both sides; caps, once each, read left > right."""
    from parentage.scoring.rules import CAPS

    rows = []
    for c in found.rules:
        fires = "fires" if c.fires else ""
        if c.rule not in CAPS:
            rows.append((c.rule, c.Y, f"{c.left:.4f}", f"{c.right:.4f}", fires))
        elif found.parents[0] == c.Y:
            rows.append((c.rule, "", f"{c.left:.0f}", f"{c.right:.0f}", fires))
    return table_text(("rule", "Y", "left", "right", ""), rows, left=2)
