"""``parentage learn``: the network with the highest score, and the proof."""

from __future__ import annotations

import functools
import math
import sys
import time
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from parentage.cli.account import account_text
from parentage.cli.help import command, option
from parentage.cli.options import (
    SIZE,
    WRITE_RECIPE,
    check_outputs,
    limit_options,
    load_table,
    run_options,
    running_of,
    scale_options,
    score_options,
    scoring_of,
    search_options,
    settings_options,
    table_options,
    tell_reading,
    tell_saved,
    with_options,
    write_recipe_of,
)
from parentage.cli.output import logged, print_json, show_progress, table_text, warn
from parentage.cli.report import check_page, is_page
from parentage.data.settings import Reading
from parentage.optimise.settings import Optimising
from parentage.scoring.settings import Growing
from parentage.work.scaling import Scaling
from parentage.work.settings import take

if TYPE_CHECKING:
    from parentage.data.recipe import Recipe
    from parentage.data.table import Table
    from parentage.network.network import Network
    from parentage.network.parameters import Parameters
    from parentage.optimise import Solution
    from parentage.pipeline import Gathered
    from parentage.scoring.lists import CandidateLists
    from parentage.scoring.settings import Scoring
    from parentage.work.context import Context


@command()
@click.argument("data", metavar="DATA|LISTS")
@option(
    "-o",
    "--output",
    metavar="FILE",
    multiple=True,
    help="Write the network, e.g. best.bif, best.svg or best.html (repeatable). The extension "
    "says how: .json, .bif, .xmlbif, .dot, .svg, .png, .pdf or .html, a page.",
)
@SIZE
@with_options(*settings_options("Model", Growing), *settings_options("Model", Optimising))
@option(
    "--require-optimal", common=False, is_flag=True, help="Exit with 1 if the proof is missing."
)
@option(
    "--within",
    type=click.FloatRange(min=1),
    metavar="FACTOR",
    help="All networks at most FACTOR times less probable than the best.",
)
@option(
    "--max-networks",
    common=False,
    type=click.IntRange(min=1),
    default=100_000,
    show_default=True,
    metavar="N",
    help="With --within: the largest number of networks.",
)
@option(
    "--data",
    "data_for_parameters",
    group="Data",
    common=False,
    metavar="TABLE",
    help="With LISTS: the table, for parameters in .bif and .xmlbif.",
)
@option(
    "--certificate",
    metavar="FILE",
    help="Write the proof for `parentage check`: .json or .json.gz.",
)
@option(
    "--start", group="Model", common=False, metavar="NET", help="Begin from the network of a file."
)
@option(
    "--log",
    common=False,
    metavar="FILE",
    help="Write how the work went on: one JSON object a line.",
)
@WRITE_RECIPE
@limit_options
@scale_options
@table_options
@score_options
@search_options
@run_options
def learn(data: str, output: tuple[str, ...], **options: Any) -> None:
    """Find the network with the highest score, and prove that it is the highest.

    DATA is a table, which is scored first (options as in `parentage score`), LISTS are candidate
    lists from a file; the content decides. Ctrl-C keeps the best network found so far.
    """
    from parentage import pipeline
    from parentage.errors import InputError
    from parentage.network.formats import check_network_target, read_network
    from parentage.work.stop import interruptible

    check_outputs([*output, options["certificate"], options["log"]], [data], options)
    if options["within"] is not None and not math.isfinite(options["within"]):
        raise InputError(f"--within {options['within']}: type a factor of at least 1, e.g. 20")
    if options["within"] is not None and (options["certificate"] or options["start"]):
        raise InputError("--within prints many networks; --certificate and --start are for one")
    start = None if options["start"] is None else read_network(options["start"])
    if output and options["within"] is not None:
        raise InputError("--within prints many networks; use --json instead of -o")
    for path in output:
        if is_page(path):
            check_page(path)
        else:
            check_network_target(path, needs_table=None, size=options["size"], also=(".html",))
    began = time.monotonic()
    running, scaling = running_of(options), take(Scaling, options)
    optimising = take(Optimising, options)
    with interruptible(running.stop(), command=True) as stop:
        with (
            show_progress() as shown,
            logged(options["log"], shown) as progress,
            scaling.context(running.workers, stop, progress) as context,
        ):
            work = gather(data, options, context, start)
            for path in output:
                if not is_page(path):
                    check_network_target(path, needs_table=work.table is None)
            write_recipe_of(recipe_of(work), options)
            if options["within"] is not None:
                show_near(work, options, context)
                return
            solution = pipeline.optimise(work.found, optimising, context, start=start)
            solution = with_gains(solution, work)
            parameters = estimated(solution, work, output, context)
        if stop.cancelled.is_set() and work.lists.account.complete:
            warn("interrupted while looking for a network; this is the best one found by then")
        if solution.stopped == "memory" and work.lists.account.complete:
            warn("the proof would take more memory than --memory allows; give it more to go on")
        report_solution(solution, work, parameters, output, options, time.monotonic() - began)
        if not (solution.optimal and solution.scope.settled):
            tell_saved(scaling)
    if stop.cancelled.is_set():
        sys.exit(130)
    if options["require_optimal"] and not (solution.optimal and solution.scope.settled):
        click.echo(f"parentage: {solution.proof()}", err=True)
        sys.exit(1)


class Work(NamedTuple):
    """What is to be learned from, and the table that parameters come from."""

    name: str
    found: Gathered
    table: Table | None

    @property
    def lists(self) -> CandidateLists:
        """The candidate lists."""
        return self.found.lists


def gather(data: str, options: dict[str, Any], context: Context, start: Network | None) -> Work:
    """Read lists, or read a table and score it; read the table that comes with lists."""
    from parentage import pipeline
    from parentage.errors import InputError
    from parentage.scoring.candidates import cut_short_text

    beside = options["data_for_parameters"]
    reading = take(Reading, options)
    if beside:  # how a table is read is for that one
        reading = Reading(reading.format, encoding=reading.encoding)
    asked = pipeline.Asked(
        functools.partial(scoring_within, options),
        take(Optimising, options),
        None if options["within"] is not None else take(Growing, options),
        start,
        reading,
    )
    found = pipeline.gather(data, asked, context, seen=lambda table: tell_reading(table, options))
    if found.table is not None and beside:
        raise InputError(f"--data {beside!r} goes with lists, and {data!r} is a table")
    if found.table is not None and not found.lists.account.complete:
        growing = options["within"] is None and found.lists.known().completion is None
        warn(cut_short_text(found.lists, growing=growing))
    table = table_of_lists(found.lists, options) if beside else found.table
    return Work(data, found, table)


def with_gains(solution: Solution, work: Work) -> Solution:
    """Return the solution of lists with the gains on the table that came beside them."""
    from parentage.scoring.account import Account

    account = work.lists.account
    if work.found.table is not None or work.table is None or not isinstance(account, Account):
        return solution
    return (
        solution if account.completion is not None else solution.with_gains(work.lists, work.table)
    )


def recipe_of(work: Work) -> Recipe | None:
    """Return how the table was read, here or when the lists were made."""
    from parentage.scoring.account import Account

    if work.table is not None:
        return work.table.recipe
    account = work.lists.account
    return account.recipe if isinstance(account, Account) else None


def scoring_within(options: dict[str, Any], names: tuple[str, ...], scored: bool) -> Scoring:
    """Turn what was typed into settings; ``--within`` asks for lists that reach as far."""
    from parentage.scoring.scores import unit_of

    scoring = scoring_of(options, names)
    if options["within"] is None or scoring.width is not None or scored:
        return scoring
    return replace(scoring, width=math.log(options["within"]) / unit_of(scoring.log_base))


def table_of_lists(lists: CandidateLists, options: dict[str, Any]) -> Table:
    """Read the table that lists were made from; refuse another one."""
    from parentage.errors import InputError
    from parentage.scoring.account import Account

    name = options["data_for_parameters"]
    table = load_table(name, {**options, "format": None})
    missing = [variable for variable in lists.names if variable not in table.names]
    if missing:
        raise InputError(
            f"--data {name!r} has no column {missing[0]!r}, which is a variable of the lists"
        )
    table = table.select(lists.names)
    if isinstance(lists.account, Account) and lists.account.data != table.digest:
        raise InputError(
            f"--data {name!r} is not the table these lists were made from (its digest differs): "
            "give that one, read with the same options"
        )
    return table


def estimated(
    solution: Solution, work: Work, output: tuple[str, ...], context: Context
) -> Parameters | None:
    """Estimate the probabilities that files need, once, where missing values make that long."""
    from parentage.network.formats import holds_parameters
    from parentage.network.parameters import fit_parameters

    table = work.table
    needed = any(is_page(path) or holds_parameters(path) for path in output)
    if table is None or not table.has_holes or not needed:
        return None
    return fit_parameters(solution.network, table, context=context)


def report_solution(
    solution: Solution,
    work: Work,
    parameters: Parameters | None,
    output: tuple[str, ...],
    options: dict[str, Any],
    seconds: float,
) -> None:
    """Write and print what was found."""
    from parentage.network.formats import holds_parameters, write_network
    from parentage.report import write_report

    origin = provenance(work, solution, options)
    for path in output:
        if is_page(path):
            write_report(
                solution,
                path,
                table=work.table,
                lists=work.lists,
                parameters=parameters,
                provenance=origin,
            )
        else:
            write_network(
                solution,
                path,
                table=work.table,
                parameters=parameters if holds_parameters(path) else None,
                provenance=origin,
                size=options["size"],
            )
    if output:
        click.echo(f"parentage: wrote {', '.join(output)}. {proof_text(solution)}", err=True)
    if options["certificate"] is not None:
        write_certificate(solution, options["certificate"])
    if options["as_json"]:
        print_json(as_json(solution, work, options, seconds))
    elif not output:
        click.echo(as_text(solution, work))


def write_certificate(solution: Solution, path: str) -> None:
    """Write the proof, or say why there is none."""
    from parentage.scoring.account import Account

    if solution.certificate is not None:
        solution.certificate.write(path)
        origin = solution.scope.origin
        completed = isinstance(origin, Account) and origin.completion is not None
        beside = " with the lists of `parentage score --missing em`" if completed else ""
        click.echo(
            f"parentage: wrote the proof to {path}; `parentage check` reads it{beside}", err=True
        )
    elif solution.optimal and not solution.scope.origin.complete:
        warn("no certificate is written: the lists were cut short, and it would speak of them only")
    elif solution.optimal:
        warn("no certificate is written: this engine keeps no proof; try --engine branch-and-cut")
    else:
        warn(f"no certificate is written: the network is {solution.proof()}")


def as_json(
    solution: Solution, work: Work, options: dict[str, Any], seconds: float
) -> dict[str, Any]:
    """Return what ``learn --json`` prints."""
    from parentage.work.memory import peak_memory

    facts, recipe = solution.facts(), recipe_of(work)
    return {
        **{key: facts.pop(key) for key in ("score", "bound", "gap", "optimal")},
        "max_parents": facts["scope"]["max_parents"],
        "constraints": facts["scope"]["constraints"],
        "parents": solution.network.to_dict(),
        **facts,
        "seconds": seconds,
        "seconds_solving": solution.seconds,
        "memory": peak_memory(),
        "candidates": work.lists.n_sets,
        "recipe": None if recipe is None else recipe.to_dict(),
        **({"rows_used": used} if (used := rows_used(solution, work)) else {}),
        "seed": options["seed"],
    }


def provenance(work: Work, solution: Solution, options: dict[str, Any]) -> dict[str, Any]:
    """Where the network comes from, for files that can hold it."""
    from parentage.network.formats.network_json import provenance_of

    timings = {"solving": solution.seconds}
    if work.found.table is not None:
        timings["scoring"] = work.lists.known().tallies.seconds
    origin = provenance_of(
        work.table,
        command=["parentage", *sys.argv[1:]],
        settings={key: value for key, value in options.items() if value not in (None, ())},
        timings=timings,
        source=work.name,
    )
    used = rows_used(solution, work)
    return {**origin, "rows_used": used} if used else origin


def as_text(solution: Solution, work: Work) -> str:
    """Lay out the network for a terminal: arcs by child, then what was proved."""
    rows = [family_row(solution, work.lists, v) for v in range(work.lists.n_variables)]
    head: tuple[str, ...] = ("child", "parents", "score", "over next best")
    used = rows_used(solution, work)
    if used:
        head = (*head, "rows")
    shown = [(*row, f"{used[row[0]]:,}") if used else row for row in rows]
    lines = [table_text(head, shown, left=2), ""]
    if any(row[3].endswith("*") for row in rows):
        lines.append("* a better set exists for this child alone; it would close a cycle")
    if any(row[3].startswith("0.00") for row in rows):
        lines.append("0.00 another set is as good, or nearly: see --within")
    lines.append(proof_text(solution))
    if solution.scope.about_directions():
        lines.append(solution.scope.about_directions())
    if work.found.table is not None:
        lines.append(account_text(work.lists.known()))
    elif solution.scope.about_scores():
        lines.append(solution.scope.about_scores())
    return "\n".join(lines)


def rows_used(solution: Solution, work: Work) -> dict[str, int]:
    """Return, of a table with holes, the rows that each variable and its parents were scored on."""
    from parentage.scoring.holes import rows_of_families

    table = work.found.table
    if table is None or not table.has_holes:
        return {}
    return rows_of_families(table, solution.network.to_dict())


def family_row(solution: Solution, lists: CandidateLists, v: int) -> tuple[str, str, str, str]:
    """One child: its parents, their score, and how far the next set below is."""
    chosen = solution.network.parents[v]
    ranked = lists.candidates(v)  # may be very many: none is looked at beyond the next
    at, score = next((i, own) for i, (own, members) in enumerate(ranked) if members == chosen)
    after = next(ranked, None)
    ahead = "–" if after is None else f"{score - after[0]:.2f}"
    parents = ", ".join(lists.names[p] for p in chosen) or "∅"
    return lists.names[v], parents, f"{score:.4f}", ahead + ("*" if at else " ")


def proof_text(solution: Solution) -> str:
    """Say what was found and what was proved, in a sentence."""
    n_arcs = solution.network.n_arcs
    head = f"Score {solution.score:.4f}, {n_arcs} arc{'' if n_arcs == 1 else 's'}"
    return f"{head}: {solution.proof()} ({solution.engine}, {solution.seconds:.2f} s)."


def show_near(work: Work, options: dict[str, Any], context: Context) -> None:
    """Print all networks within the factor, by equivalence class."""
    from parentage.cli.near import show_near as show
    from parentage.optimise import limited
    from parentage.optimise.near import CutWarning, within

    scoring = work.found.scoring
    allowed = limited(work.lists, scoring.max_parents, scoring.constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CutWarning)  # the text says it
        near = within(
            work.lists,
            factor=options["within"],
            max_networks=options["max_networks"],
            constraints=allowed,
            threads=context.threads,
            seed=options["seed"],
            stop=context.stop,
        )
    show(near, options["within"], as_json=options["as_json"])
    if context.stop.cancelled.is_set():
        sys.exit(130)
    if options["require_optimal"] and not near.complete:
        click.echo("parentage: networks may be missing", err=True)
        sys.exit(1)
