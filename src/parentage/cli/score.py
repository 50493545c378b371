"""``parentage score``: candidate parent sets of every variable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from parentage.cli.options import (
    load_table,
    parse_constraints,
    parse_max_parents,
    run_options,
    score_options,
    search_options,
    table_options,
)
from parentage.cli.output import print_json, search_progress, table_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from parentage.data.table import Table
    from parentage.scoring.lists import CandidateLists

REPORTED = (
    "variables", "rows", "score", "max_parents", "families", "sets_counted", "families_scored",
    "pruned", "kept", "seconds", "rules", "log_base", "gap", "complete_to", "live_sets",
)  # fmt: skip


@click.command()
@click.argument("data")
@click.option("-o", "--output", metavar="FILE",
              help="Write the lists: .jkl, .pss or .parquet.")  # fmt: skip
@table_options
@score_options
@search_options
@run_options
def score(data: str, output: str | None, **options: Any) -> None:
    """List the parent sets that can be in an optimal network, with their scores.

    DATA is a CSV, TSV, Parquet, ARFF or .dat file, or - for standard input. Without -k nothing
    limits the number of parents but what the rules prove.
    """
    from parentage.scoring.formats import check_lists_target, write_lists

    if output is not None:
        check_lists_target(output)
    table = load_table(data, options)
    lists = score_table(table, options)
    if lists.meta["complete_to"] is not None:
        warn_incomplete(lists, "stopped for want of memory")
    if output is not None:
        write_lists(lists, output)
        click.echo(f"parentage: wrote {lists.n_sets:,} parent sets to {output}", err=True)
    if options["as_json"]:
        content = {key: lists.meta[key] for key in REPORTED}
        if output is None:
            content["lists"] = {
                child: [[c.score, list(c.parents)] for c in lists[child]] for child in lists
            }
        print_json(content)
    elif output is None:
        click.echo(as_text(lists))


def score_table(
    table: Table, options: dict[str, Any], stop: Callable[[], bool] | None = None
) -> CandidateLists:
    """Score with the options of the command line, showing progress on a terminal."""
    from parentage.scoring.candidates import score as score_families

    common, _ = parse_max_parents(options["max_parents"])
    constraints = parse_constraints(table.names, options)
    with search_progress() as progress:
        return score_families(
            table,
            max_parents=common,
            score=options["score_name"],
            log_base=options["log_base"],
            rules=options["rules"],
            gap=options["gap"],
            constraints=constraints,
            threads=options["threads"],
            progress=progress,
            stop=stop,
        )


def warn_incomplete(lists: CandidateLists, why: str) -> None:
    """Say on stderr that a search ended early, and what its lists are good for."""
    complete = lists.meta["complete_to"]
    click.echo(
        f"parentage: warning: scoring was {why}; the lists are complete up to {complete} "
        f"parent{'' if complete == 1 else 's'}, larger sets were not searched",
        err=True,
    )


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
    return "\n".join([table_text(head, rows, left=2), "", account_text(lists)])


def account_text(lists: CandidateLists) -> str:
    """Say what was kept, counted and skipped."""
    meta = lists.meta
    limit = meta["max_parents"] if meta["complete_to"] is None else meta["complete_to"]
    lines = [
        f"{meta['kept']:,} candidate parent sets{_whole_text(meta)} "
        + ("(no limit on parents)" if limit is None else f"({_limit_text(limit)})"),
        f"{meta['sets_counted']:,} sets counted, {meta['families_scored']:,} families scored, "
        f"{meta['seconds']:.2f} s",
    ]
    pruned = [f"{rule} {count:,}" for rule, count in meta["pruned"].items() if count]
    if pruned:
        lines.append("families ruled out when met: " + ", ".join(pruned))
    return "\n".join(lines)


def _limit_text(limit: int | dict[str, int | None]) -> str:
    if isinstance(limit, int):
        return f"at most {limit} parent{'' if limit == 1 else 's'}"
    return "with limits on parents by name"


def _whole_text(meta: Mapping[str, Any]) -> str:
    """The size of the space, where all of it was searched."""
    if meta["complete_to"] is not None:
        return ""
    return f" of {meta['families'] + len(meta['constant']):,}"
