"""``parentage score`` and ``explain``: candidate parent sets, and why one is a candidate or not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from parentage.cli.options import (
    BY_RECIPE,
    JSON,
    RUNNING,
    SCALING,
    TypedModel,
    check_outputs,
    command,
    load_table,
    option,
    output_option,
    settings,
    tell_saved,
)
from parentage.cli.output import (
    interruptible,
    print_json,
    say,
    say_if_compiling,
    show_progress,
    tell_decisions,
    variables_text,
    warn,
)
from parentage.errors import counted
from parentage.files.decoding import plain
from parentage.scoring.catalogue import shown_name
from parentage.view.aligned import table_text
from parentage.work.progress import number
from parentage.work.settings import Option, setting

if TYPE_CHECKING:
    from parentage.data.settings import Reading
    from parentage.scoring.account import Account, Limit
    from parentage.scoring.explanation import Explanation
    from parentage.scoring.lists import CandidateLists
    from parentage.work.context import Running, Scaling


@command()
@click.argument("source", metavar="DATA")
@output_option("Write the lists: .jkl, .pss or .parquet.", several=True)
@BY_RECIPE
@settings("model", TypedModel, "Model", but=("require", "forbid", "tiers"))
@RUNNING
@SCALING
@JSON
def score(
    source: str,
    output: tuple[str, ...],
    reading: Reading,
    model: TypedModel,
    running: Running,
    scaling: Scaling,
    as_json: bool,
) -> None:
    """List the parent sets that can be in an optimal network, with their scores.

    DATA is a table: CSV, TSV, Parquet, Arrow, ARFF, .dat or Excel, compressed or not; several
    files by a pattern ('visits-*.csv'); or - for standard input. Without -k the number of parents
    is limited only by the pruning rules. After Ctrl-C the lists that are complete so far are
    written.
    """
    from parentage.data.reading import rule_for_missing
    from parentage.scoring.candidates import cut_short_text, score_table
    from parentage.scoring.formats import check_lists_target
    from parentage.structural_em import complete_and_score

    for path in output:
        check_lists_target(path)
    check_outputs(output, source, reading.recipe, model.constraints)
    with interruptible(running) as stop:
        table = load_table(source, reading, quiet=as_json)
        rule = rule_for_missing(table)
        scoring = model.scoring(table.names).for_missing(rule)
        with (
            show_progress() as progress,
            scaling.context(running.n_threads, stop, progress) as context,
        ):
            if rule == "em" and table.has_holes:
                lists = complete_and_score(table, scoring, context).lists
            else:
                lists = score_table(table, scoring, context)
        completion = lists.known().completion
        settled = completion is None or completion.settled
        if not lists.account.complete:
            warn(cut_short_text(lists))
        elif not settled:
            warn(
                "expectation maximisation stopped before it converged; "
                "the lists refer to the data as completed so far"
            )
        report_lists(lists, output, as_json=as_json)
        if not (lists.account.complete and settled):
            tell_saved(scaling)


def report_lists(lists: CandidateLists, output: tuple[str, ...], *, as_json: bool) -> None:
    """Write and print what was found."""
    from parentage.scoring.formats import write_lists

    for path in output:
        write_lists(lists, path)
    if output:
        names = ", ".join(output)
        say(f"wrote {lists.n_sets:,} parent sets to {names}")
    if as_json:
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
    head = ("child", "best parents", "sets", "score", "gain over ∅")
    shown = variables_text(head, rows, "--json, or -o FILE")
    return "\n".join([shown, "", account_text(lists.known())])


def account_json(lists: CandidateLists) -> dict[str, Any]:
    """Return what ``score --json`` prints of scored lists, without the lists."""
    account = lists.known()
    tallies = account.tallies
    return {
        "variables": list(lists.names),
        "rows": account.rows,
        "score": account.score,
        "max_parents": account.max_parents,
        "families": tallies.families,
        "sets_counted": tallies.sets_counted,
        "families_scored": tallies.families_scored,
        "pruned": dict(tallies.pruned),
        "kept": tallies.kept,
        "seconds": tallies.seconds,
        "rules": list(account.rules),
        "log_base": "e" if account.log_base is None else account.log_base,
        "width": account.width,
        "complete_to": account.complete_to,
        "missing_cells": dict(zip(lists.names, account.missing_cells, strict=False)),
        "prior": plain(account.prior),
        "ended": account.ended,
        "explored": account.explored,
        "completion": plain(account.completion),
        "digest": lists.digest,
        "live_sets": list(tallies.live_sets),
        "recipe": plain(account.recipe),
    }


def account_text(account: Account) -> str:
    """Say what was kept, counted and pruned."""
    tallies = account.tallies
    lines = [
        lists_text(account),
        f"rows tabulated for {tallies.sets_counted:,} sets, {tallies.families_scored:,} families "
        f"scored, {tallies.seconds:.2f} s",
    ]
    pruned = [f"{rule} {count:,}" for rule, count in tallies.pruned.items() if count]
    if pruned:
        lines.append("families pruned: " + ", ".join(pruned))
    return "\n".join(lines)


def lists_text(account: Account) -> str:
    """Say how many sets there are to choose from, and what their scores are about."""
    limit = account.max_parents if account.complete else account.complete_to
    families = number(account.tallies.families + len(account.constant))
    whole = f" of {families}" if account.complete else ""
    beyond = f"; {account.explored:,} sets with more parents tried" if account.explored else ""
    kept = f"{account.tallies.kept:,} candidate parent sets{whole} ({limit_text(limit)}{beyond})"
    about = (holes_text(account), account.prior.words())
    return "\n".join([kept, *(line for line in about if line)])


def holes_text(account: Account) -> str:
    """Say how many cells are missing and what was done about it; nothing if none is."""
    if not account.missing_cells:
        return ""
    total, most = sum(account.missing_cells), max(account.missing_cells)
    cells = account.rows * len(account.missing_cells)
    told = (
        f"1 of {cells:,} values is missing"
        if total == 1
        else f"{total:,} of {cells:,} values are missing, at most {most:,} in a column"
    )
    if account.completion is not None:
        return f"{told}\n{account.completion.words()}"
    name = shown_name(account.score)
    return f"{told}; {name}: every family is scored on the rows where it is complete"


def limit_text(limit: Limit) -> str:
    """Say what limits the parents."""
    if limit is None:
        return "no limit on parents"
    if isinstance(limit, Mapping):
        return "with limits on parents by name"
    return f"at most {counted(limit, 'parent')}"


@command()
@click.argument("source", metavar="DATA")
@click.argument("child")
@click.argument("parents", nargs=-1)
@option(
    "Output",
    all_=setting(False, "Also show the rules that do not prune this set.", Option(common=True)),
)
@BY_RECIPE
@settings("model", TypedModel, "Model", "score", "prior")
@JSON
def explain(
    source: str,
    child: str,
    parents: tuple[str, ...],
    all_: bool,
    reading: Reading,
    model: TypedModel,
    as_json: bool,
) -> None:
    """Explain one family: its score, what dominates it, and which rules remove it.

    DATA is a table as in `parentage score`, CHILD a column, PARENTS the parents to explain, e.g.
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
