"""``parentage learn``: the network with the highest score, and the proof."""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

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
from parentage.cli.output import print_json, solver_progress, table_text
from parentage.cli.score import account_text, score_table, warn_incomplete

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parentage.data.table import Table
    from parentage.optimise import Solution
    from parentage.optimise.near import NearOptimal
    from parentage.scoring.lists import CandidateLists


@click.command()
@click.argument("data", metavar="DATA|LISTS")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Write the network: .json, .bif, .xmlbif, .dot, .svg or .txt.",
)
@click.option(
    "--engine",
    default="auto",
    show_default=True,
    metavar="auto|subsets|orders|branch-and-cut",
    help="How the network is found.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0),
    metavar="S",
    help="Seconds for everything; then the best network so far, with a bound.",
)
@click.option(
    "--gap-limit",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="G",
    help="Stop when no network can score more than G better.",
)
@click.option("--require-optimal", is_flag=True, help="Exit with 1 if the proof is missing.")
@click.option(
    "--within",
    type=click.FloatRange(min=1),
    metavar="FACTOR",
    help="All networks at most FACTOR times less probable than the best.",
)
@click.option(
    "--data",
    "data_for_parameters",
    metavar="TABLE",
    help="With LISTS: the table, for parameters in .bif and .xmlbif.",
)
@table_options
@score_options
@search_options
@run_options  # fmt: skip
def learn(data: str, output: str | None, **options: Any) -> None:
    """Find the network with the highest score, and prove that it is the highest.

    DATA is a table, which is scored first (options as in `parentage score`), LISTS are candidate
    lists from a file; the content decides. Ctrl-C keeps the best network found so far.
    """
    from parentage.network.formats import check_network_target, write_network

    if output is not None:
        check_network_target(output, needs_table=None)
    began = time.monotonic()
    with interrupts() as cancel:
        work = gather(data, options, cancel)
        if output is not None:
            check_network_target(output, needs_table=work.table is None)
        if options["within"] is not None:
            show_near(work, options, output)
            return
        solution = solve(work, options, cancel, began)
    if output is not None:
        write_network(
            solution,
            output,
            table=work.table,
            gains=gains_of(solution, work.lists),
            provenance=provenance(work, solution, options),
        )
        click.echo(f"parentage: wrote {output}. {proof_text(solution, work)}", err=True)
    complete_to = work.lists.meta.get("complete_to")
    if options["as_json"]:
        print_json(as_json(solution, work, options, time.monotonic() - began))
    elif output is None:
        click.echo(as_text(solution, work))
    if cancel.is_set():
        sys.exit(130)
    if options["require_optimal"] and not (solution.optimal and complete_to is None):
        reason = f"another network could score up to {solution.gap:.6g} more"
        if solution.optimal:
            reason = f"scoring was cut short, sets of more than {complete_to} were not searched"
        click.echo(f"parentage: not proven optimal: {reason}", err=True)
        sys.exit(1)


class Work(NamedTuple):
    """What is to be learned from."""

    name: str
    lists: CandidateLists
    table: Table | None
    scored: bool
    constraints: Any


@contextmanager
def interrupts() -> Iterator[threading.Event]:
    """Let the first Ctrl-C end the work and keep what it has; a second one ends the program."""
    cancel = threading.Event()

    def handle(_signal: int, _frame: object) -> None:
        if cancel.is_set():
            raise KeyboardInterrupt
        cancel.set()

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield cancel
    finally:
        signal.signal(signal.SIGINT, before)


def gather(data: str, options: dict[str, Any], cancel: threading.Event) -> Work:
    """Read lists, or read a table and score it."""
    from parentage.errors import InputError
    from parentage.files.detect import detect
    from parentage.files.source import open_source
    from parentage.learner import stop_after
    from parentage.scoring.constraints import Constraints
    from parentage.scoring.formats import read_lists

    source = open_source(data)
    if detect(source, options["format_"], options["encoding"]).kind == "lists":
        lists = read_lists(source, options["format_"], encoding=options["encoding"])
        _refuse_scoring_options(options)
        table: Table | None = None
        if options["data_for_parameters"]:
            table = load_table(options["data_for_parameters"], {**options, "format_": None})
            missing = [name for name in lists.names if name not in table.names]
            if missing:
                raise InputError(
                    f"--data {options['data_for_parameters']!r} has no column {missing[0]!r}, "
                    f"which is a variable of the lists"
                )
            table = table.select(lists.names)
        constraints = parse_constraints(lists.names, options)
        common, _ = parse_max_parents(options["max_parents"])
        if common is not None:  # the lists are there already: the limit picks among them
            every = Constraints(max_parents=dict.fromkeys(lists.names, common))
            constraints = constraints.merge(every)
        return Work(data, lists, table, False, constraints)
    table = load_table(source, options)
    if options["within"] is not None and options["gap"] is None:
        options = {**options, "gap": _gap_of(options["within"], options["log_base"])}
    in_time = stop_after(options["time_limit"])
    lists = score_table(
        table, options, stop=lambda: cancel.is_set() or (in_time is not None and in_time())
    )
    if lists.meta["complete_to"] is not None:
        why = "interrupted" if cancel.is_set() else "stopped for want of memory or time"
        warn_incomplete(lists, why)
    return Work(data, lists, table, True, parse_constraints(table.names, options))


def _refuse_scoring_options(options: dict[str, Any]) -> None:
    """Lists are scored already: options that would change their scores are refused."""
    from parentage.errors import InputError

    typed = click.core.ParameterSource.COMMANDLINE
    reading = ("drop", "missing", "discretize", "no_header")
    for option in ("rules", "gap", "log_base", "score_name", *reading):
        if option in reading and options["data_for_parameters"]:
            continue  # they are for that table
        if click.get_current_context().get_parameter_source(option) == typed:
            flag = "--" + option.removesuffix("_name").replace("_", "-")
            raise InputError(f"{flag} is for tables, and these are lists, scored already")


def _gap_of(factor: float, log_base: str | None) -> float:
    from parentage.scoring.scores import unit_of

    return math.log(factor) / unit_of(log_base)


def solve(work: Work, options: dict[str, Any], cancel: threading.Event, began: float) -> Solution:
    """Run the chosen engine on what is left of the time."""
    import os

    from parentage.optimise import learn_lists

    limit = options["time_limit"]
    if limit is not None:
        limit = max(0.0, limit - (time.monotonic() - began))
    if cancel.is_set():  # scoring was interrupted: take the first network there is
        limit, cancel = 0.0, threading.Event()
    with solver_progress() as progress:
        return learn_lists(
            work.lists,
            engine=options["engine"],
            time_limit=limit,
            gap_limit=options["gap_limit"],
            threads=options["threads"] or os.cpu_count() or 1,
            seed=options["seed"],
            constraints=work.constraints,
            progress=progress,
            cancel=cancel,
        )


def gains_of(solution: Solution, lists: CandidateLists) -> dict[tuple[str, str], float]:
    """What every arc gains, from the lists where they have the smaller set."""
    from parentage.network.network import arc_gains

    return dict(arc_gains(solution.network, lists))


def reported_limit(work: Work) -> Any:
    """The limit on parents for which the result is optimal; None for none at all."""
    complete = work.lists.meta.get("complete_to")
    if complete is not None:
        return complete
    return work.lists.meta.get("max_parents")


def as_json(
    solution: Solution, work: Work, options: dict[str, Any], seconds: float
) -> dict[str, Any]:
    """What ``learn --json`` prints."""
    return {
        "score": solution.score,
        "bound": solution.bound,
        "gap": solution.gap,
        "optimal": solution.optimal,
        "max_parents": reported_limit(work),
        "constraints": work.constraints.to_dict(),
        "parents": solution.to_dict(),
        "engine": solution.engine,
        "seconds": seconds,
        "seconds_solving": solution.seconds,
        "ties": solution.ties,
        "stopped": solution.stats.get("stopped"),
        "candidates": work.lists.n_sets,
        "seed": options["seed"],
    }


def provenance(work: Work, solution: Solution, options: dict[str, Any]) -> dict[str, Any]:
    """Where the network comes from, for files that can hold it."""
    from parentage.network.formats.network_json import provenance_of

    settings = {key.rstrip("_"): value for key, value in options.items() if value not in (None, ())}
    timings = {"solving": solution.seconds}
    if "seconds" in work.lists.meta:
        timings["scoring"] = work.lists.meta["seconds"]
    return provenance_of(
        work.table,
        command=["parentage", *sys.argv[1:]],
        settings={**settings, "max_parents_proved": reported_limit(work)},
        timings=timings,
        source=work.name,
    )


def as_text(solution: Solution, work: Work) -> str:
    """Lay out the network for a terminal: arcs by child, then what was proved."""
    rows = [family_row(solution, work.lists, v) for v in range(len(solution.names))]
    head = ("child", "parents", "score", "over next best")
    lines = [table_text(head, rows, left=2), ""]
    if any(row[3].endswith("*") for row in rows):
        lines.append("* a better set exists for this child alone; it would close a cycle")
    if any(row[3].startswith("0.00") for row in rows):
        lines.append("0.00 another set is as good, or nearly: see --within")
    lines.append(proof_text(solution, work))
    if work.scored:
        lines.append(account_text(work.lists))
    return "\n".join(lines)


def family_row(solution: Solution, lists: CandidateLists, v: int) -> tuple[str, str, str, str]:
    """One child: its parents, their score, and how far the next set below is."""
    chosen = solution.parents[v]
    ranked = list(lists.candidates(v))
    at = next(i for i, (_, members) in enumerate(ranked) if members == chosen)
    score = ranked[at][0]
    ahead = "–" if at + 1 == len(ranked) else f"{score - ranked[at + 1][0]:.2f}"
    parents = ", ".join(lists.names[p] for p in chosen) or "∅"
    return lists.names[v], parents, f"{score:.4f}", ahead + ("*" if at else " ")


def proof_text(solution: Solution, work: Work) -> str:
    """Say what was proved, in a sentence."""
    scope = scope_text(work)
    arcs = f"{solution.n_arcs} arc{'' if solution.n_arcs == 1 else 's'}"
    head = f"Score {solution.score:.4f}, {arcs}"
    if solution.optimal:
        ties = "; no other with that score has fewer arcs" if solution.ties == "fewest arcs" else ""
        proof = f"proven optimal{scope}{ties}"
    else:
        proof = (
            f"not proven optimal{scope}: no network scores above {solution.bound:.4f}, "
            f"so the gap is at most {solution.gap:.4g}"
        )
    return f"{head}: {proof} ({solution.engine}, {solution.seconds:.2f} s)."


def scope_text(work: Work) -> str:
    """Among which networks the result is the best; nothing for all there are."""
    bounds = []
    limit = reported_limit(work)
    if isinstance(limit, int):
        bounds.append(f"have at most {limit} parent{'' if limit == 1 else 's'} a variable")
    if not work.scored:
        bounds.append("these lists allow")
    if work.constraints:
        bounds.append("the constraints allow")
    return f" among the networks that {' and '.join(bounds)}" if bounds else ""


def show_near(work: Work, options: dict[str, Any], output: str | None) -> None:
    """Print all networks within the factor, by equivalence class."""
    from parentage.errors import InputError
    from parentage.optimise.near import within

    if output is not None:
        raise InputError("--within prints many networks; use --json instead of -o")
    near = within(work.lists, factor=options["within"], constraints=work.constraints)
    if options["as_json"]:
        print_json(near_json(near, options["within"]))
    else:
        click.echo(near_text(near, options["within"], _unit_of(work.lists)))


def near_json(near: NearOptimal, factor: float) -> dict[str, Any]:
    """What ``learn --within --json`` prints."""
    return {
        "score": near.score,
        "factor": factor,
        "networks": len(near),
        "classes": [
            [{"score": near.scores[i], "parents": near.networks[i].to_dict()} for i in members]
            for members in near.classes
        ],
    }


def _unit_of(lists: CandidateLists) -> float:
    from parentage.scoring.scores import unit_of

    return unit_of(lists.meta.get("log_base"))


def near_text(near: NearOptimal, factor: float, unit: float) -> str:
    """Lay out the classes: size, best score, how much less probable, one member's arcs."""
    lines = [
        f"{len(near)} network{'' if len(near) == 1 else 's'} in {len(near.classes)} equivalence "
        f"class{'' if len(near.classes) == 1 else 'es'}: at most {factor:g} times less probable "
        f"than the best, which scores {near.score:.4f}. One of each class (all: --json):",
        "",
    ]
    for number, members in enumerate(near.classes, 1):
        best = min(members)
        arcs = ", ".join(f"{p}→{c}" for p, c in near.networks[best].arcs)
        count = f"{len(members)} network{'' if len(members) == 1 else 's'}"
        times = math.exp((near.score - near.scores[best]) * unit)
        score = f"score {near.scores[best]:.4f}, {times:.3g} times less probable"
        lines.append(f"class {number}: {count}, {score}: {arcs or 'no arcs'}")
    return "\n".join(lines)
