"""``parentage score``: candidate parent sets of every variable."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from parentage.cli.account import account_json, account_text
from parentage.cli.help import command, option
from parentage.cli.options import (
    WRITE_RECIPE,
    check_outputs,
    limit_options,
    load_table,
    missing_rule,
    run_options,
    running_of,
    scale_options,
    score_options,
    scoring_of,
    search_options,
    table_options,
    tell_saved,
    write_recipe_of,
)
from parentage.cli.output import print_json, show_progress, table_text, warn
from parentage.work.scaling import Scaling
from parentage.work.settings import take

if TYPE_CHECKING:
    from parentage.scoring.lists import CandidateLists


@command()
@click.argument("data")
@option("-o", "--output", metavar="FILE", multiple=True,
              help="Write the lists: .jkl, .pss or .parquet (repeatable).")  # fmt: skip
@WRITE_RECIPE
@table_options
@score_options
@search_options
@limit_options
@scale_options
@run_options
def score(data: str, output: tuple[str, ...], **options: Any) -> None:
    """List the parent sets that can be in an optimal network, with their scores.

    DATA is a table: CSV, TSV, Parquet, Arrow, ARFF, .dat or Excel, compressed or not; several
    files by a pattern ('visits-*.csv'); or - for standard input. Without -k nothing limits the
    number of parents but what the rules prove. Ctrl-C keeps what is complete so far.
    """
    from parentage.scoring.candidates import cut_short_text, score_table
    from parentage.scoring.formats import check_lists_target
    from parentage.structural_em import complete_and_score
    from parentage.work.stop import interruptible

    for path in output:
        check_lists_target(path)
    check_outputs(output, [data], options)
    running, scaling = running_of(options), take(Scaling, options)
    with interruptible(running.stop(), command=True) as stop:
        table = load_table(data, options)
        settings = scoring_of(options, table.names).for_missing(missing_rule(table))
        with (
            show_progress() as progress,
            scaling.context(running.workers, stop, progress) as context,
        ):
            if missing_rule(table) == "em" and table.has_holes:
                lists = complete_and_score(table, settings, context).lists
            else:
                lists = score_table(table, settings, context)
        completion = lists.known().completion
        settled = completion is None or completion.settled
        if not lists.account.complete:
            warn(cut_short_text(lists))
        elif not settled:
            warn(
                "expectation maximisation ended before the network repeated; "
                "the lists are of the data completed by then"
            )
        report_lists(lists, output, options)
        if not (lists.account.complete and settled):
            tell_saved(scaling)
    if stop.cancelled.is_set():
        sys.exit(130)


def report_lists(lists: CandidateLists, output: tuple[str, ...], options: dict[str, Any]) -> None:
    """Write and print what was found."""
    from parentage.scoring.formats import write_lists

    for path in output:
        write_lists(lists, path)
    if output:
        names = ", ".join(output)
        click.echo(f"parentage: wrote {lists.n_sets:,} parent sets to {names}", err=True)
    write_recipe_of(lists.known().recipe, options)
    if options["as_json"]:
        content = account_json(lists)
        if not output:
            content["lists"] = {
                child: [[c.score, list(c.parents)] for c in lists[child]] for child in lists
            }
        print_json(content)
    elif not output:
        click.echo(as_text(lists))


def as_text(lists: CandidateLists) -> str:
    """Lay out the lists for a terminal: one line per child, then the account."""
    rows = []
    for child in lists:
        sets = lists[child]
        empty = next((c.score for c in sets if not c.parents), None)
        gain = "" if empty is None else f"{sets[0].score - empty:.2f}"
        best = ", ".join(sets[0].parents) or "∅"
        rows.append((child, best, str(len(sets)), f"{sets[0].score:.4f}", gain))
    head = ("child", "best parents", "sets", "score", "over ∅")
    return "\n".join([table_text(head, rows, left=2), "", account_text(lists.known())])
