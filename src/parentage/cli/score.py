"""``parentage info``, ``score``, ``explain``: a first look, candidate parent sets, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from parentage.cli.options import (
    BY_RECIPE,
    JSON,
    READING,
    RUNNING,
    SCALING,
    WRITE_RECIPE,
    TypedModel,
    check_outputs,
    command,
    load_table,
    option,
    output_option,
    settings,
    tell_saved,
    write_recipe_of,
)
from parentage.cli.output import (
    interruptible,
    print_json,
    say,
    say_if_compiling,
    show,
    show_progress,
    tell_decisions,
    variables_text,
    warn,
)
from parentage.errors import counted
from parentage.files.decoding import plain
from parentage.scoring.catalogue import shown_name
from parentage.scoring.settings import treatments
from parentage.view.aligned import table_text
from parentage.work.memory import gigabytes
from parentage.work.progress import duration, number
from parentage.work.settings import Option, setting

if TYPE_CHECKING:
    from parentage.data.settings import Reading
    from parentage.data.table import Table
    from parentage.scoring.account import Account, Limit
    from parentage.scoring.explanation import Explanation
    from parentage.scoring.lists import CandidateLists
    from parentage.scoring.overview import Overview
    from parentage.scoring.search.forecast import Forecast
    from parentage.work.context import Running, Scaling

SHORT = 30.0
"""Seconds that nobody needs to plan for; half of the time limit in the example."""

MOMENT = 1.0
"""Seconds below which numbers of parents need not be told apart."""

HOPELESS = 1e10
"""Seconds after which no further row is shown."""

MOST_ROWS = 8

OF_LISTS = (
    "variables", "rows", "score", "max_parents", "families", "sets_counted", "families_scored",
    "pruned", "kept", "seconds", "rules", "log_base", "width", "complete_to", "missing_cells",
    "prior", "ended", "explored", "completion", "digest", "live_sets", "recipe",
)  # fmt: skip
"""What ``score --json`` prints, in this order."""

FAR_BEYOND = 10**14
"""Bytes that no machine has: a hundred terabytes."""


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
        table = load_table(source, reading, quiet=as_json, ways=treatments(model.score))
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
    facts = plain(account) | plain(account.tallies)
    facts |= {"variables": list(lists.names), "digest": lists.digest}
    facts["log_base"] = "e" if account.log_base is None else account.log_base
    facts["missing_cells"] = dict(zip(lists.names, account.missing_cells, strict=False))
    return {name: facts[name] for name in OF_LISTS}


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
    table = load_table(source, reading, quiet=as_json, ways=treatments(model.score))
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
    show(as_json, lambda: content, lambda: overview_text(found, table, completed=completed))


def overview_text(found: Overview, table: Table, *, completed: bool = False) -> str:
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
        f"Under {by_name(score).title} no theorem limits the number of parents, so very many sets "
        "may be left. Set a limit (-k 4) or a time (--time-limit 600); without either, scoring "
        "stops before the first number of parents with more than 33 million sets. The "
        "output states up to how many parents the lists are complete."
    )


def _forecast_text(forecast: Forecast) -> str:
    sets = rounded(forecast.sets)
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
            (f"up to {r.parents}", rounded(r.sets), duration(r.seconds), gigabytes(r.memory))
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
        "The network is then proven at most among the listed parent sets."
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
        "sets": f"are {rounded(row.sets)} sets, and no rule prunes them",
        "memory": f"need {gigabytes(row.memory)}, more than memory and disk have",
    }[found.limited_by or "sets"]
    return f": those of up to {row.parents} {why}"


def rounded(count: int) -> str:
    """Write a number of sets, powers of ten when there are too many.

    >>> rounded(123_456), rounded(10**12)
    ('123,456', '1e+12')
    """
    from parentage.scoring.search.forecast import many

    return f"{count:,}" if count < 10**9 else many(count)
