"""``parentage learn``: the network with the highest score, and the proof."""

from __future__ import annotations

import functools
import math
import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from parentage.cli.check import announce_size, vipr_written
from parentage.cli.options import (
    JSON,
    READING_COLUMNS,
    RUNNING,
    SCALING,
    WRITE_RECIPE,
    TypedModel,
    check_outputs,
    command,
    settings,
    tell_reading,
    tell_saved,
    write_recipe_of,
)
from parentage.cli.output import (
    interruptible,
    logged,
    say,
    show,
    show_progress,
    shown_of,
    variables_text,
    warn,
)
from parentage.cli.query import table_of
from parentage.cli.score import lists_text
from parentage.data.settings import Reading
from parentage.errors import counted, shown_names
from parentage.network import SMOOTHING
from parentage.optimise.settings import Optimising
from parentage.scoring.settings import Growing, treatments
from parentage.view.aligned import table_text
from parentage.work.settings import Option, Settings, setting
from parentage.work.stop import compiling

if TYPE_CHECKING:
    from parentage.data.recipe import Recipe
    from parentage.data.table import Table
    from parentage.network.network import Network
    from parentage.network.parameters import Parameters
    from parentage.optimise import Solution
    from parentage.optimise.near import NearOptimal
    from parentage.pipeline import Asked, Gathered
    from parentage.scoring.lists import CandidateLists
    from parentage.scoring.settings import Scoring
    from parentage.work.context import Context, Running, Scaling

FEW_ROWS = 50
"""Of fewer rows, a network without arcs says little."""

SHOWN = 30
"""Most classes and arcs of near-optimal networks shown in a terminal."""


@dataclass(frozen=True)
class Goal(Settings):
    """What is to be found, written and printed, and what learning begins from."""

    output: tuple[str, ...] = setting(
        (),
        """
        Write the network, e.g. best.bif, best.svg or best.html. The extension sets the format:
        .json, .bif, .xmlbif, .dot, a figure (.svg, .png, .pdf) or a report (.html).
        """,
        Option("FILE", short="-o", repeatable=True, common=True),
    )
    size: str | None = setting(
        None,
        "Width of a figure: column (89 mm), page (183 mm), slide (254 mm), or e.g. 120mm.",
        Option("WIDTH"),
    )
    require_optimal: bool = setting(
        False, "Exit with code 1 if the network is not proven optimal.", Option()
    )
    within: float | None = setting(
        None,
        "Print all networks that are at least 1/FACTOR as probable as the best.",
        Option("FACTOR", float, least=1, common=True),
    )
    data: str | None = setting(
        None,
        "With LISTS: table from which the probabilities in .bif and .xmlbif are estimated.",
        Option("TABLE", group="Data"),
    )
    certificate: str | None = setting(
        None,
        "Write the proof: .json[.gz], or .vipr[.gz] for viprchk.",
        Option("FILE", common=True),
    )
    start: str | None = setting(
        None, "Start the search from the network in this file.", Option("NET", group="Model")
    )
    log: str | None = setting(None, "Write a progress log (JSON Lines).", Option("FILE"))
    smoothing: float = setting(
        SMOOTHING,
        "Number added to every count when probabilities are estimated; 0: maximum likelihood.",
        Option("A", float, least=0, group="Model"),
    )

    def check(self) -> None:
        """Refuse what cannot be written, or not together, before the work."""
        from parentage.errors import InputError

        if self.within is not None:
            if self.certificate or self.start:
                raise InputError(
                    "--within prints many networks; leave --certificate and --start out"
                )
            if self.output:
                raise InputError("--within prints many networks; use --json instead of -o")
        if self.smoothing != SMOOTHING and not any(
            shows_probabilities(path) for path in self.output
        ):
            raise InputError(
                f"--smoothing {self.smoothing:g} is for files with probabilities; "
                "write one, e.g. -o net.bif"
            )
        self.check_files(needs_table=None)

    def check_files(self, *, needs_table: bool | None) -> None:
        """Refuse files that cannot be written, or that need the table where there is none."""
        from parentage.network.formats import check_network_target

        for path in self.output:
            check_network_target(path, needs_table=needs_table, size=self.size)

    def beginning(self) -> Network | None:
        """Read the network to begin from."""
        if self.start is None:
            return None
        from parentage.network.formats import read_network

        return read_network(self.start)


@command(
    epilog="In the output, margin is how much lower the child's next best parent set scores (–: "
    "there is none below); rows is how many rows its family was scored on, if values are missing."
)
@click.argument("source", metavar="DATA|LISTS")
@settings("goal", Goal, "Output")
@settings("growing", Growing, "Model")
@settings("optimising", Optimising, "Model")
@RUNNING
@SCALING
@READING_COLUMNS
@WRITE_RECIPE
@settings("model", TypedModel, "Model", but=("rules", "width"))
@JSON
def learn(
    source: str,
    goal: Goal,
    growing: Growing,
    optimising: Optimising,
    running: Running,
    scaling: Scaling,
    reading: Reading,
    write_recipe: str | None,
    model: TypedModel,
    as_json: bool,
) -> None:
    """Find the network with the highest score, and prove that no network scores higher.

    DATA is a table, which is scored first; LISTS is a file of candidate lists. Ctrl-C returns the
    best network found so far.
    """
    from parentage import pipeline
    from parentage.arcs.support import scoring_for

    outputs = [*goal.output, goal.certificate, goal.log, write_recipe]
    reads = (source, goal.data, goal.start, reading.recipe, model.constraints)
    check_outputs(outputs, *reads)
    goal.check()
    if goal.certificate is not None and optimising.engine == "auto":
        from parentage.vipr import is_vipr

        if is_vipr(goal.certificate):  # without large subsets
            optimising = replace(optimising, engine="branch-and-cut")
    start = goal.beginning()

    def scoring(names: tuple[str, ...], scored: bool) -> Scoring:
        """Return the settings of scoring; ``--within`` asks for lists that reach as far."""
        found = model.scoring(names)
        return found if scored else scoring_for(found, goal.within)

    asked = pipeline.Asked(
        scoring,
        optimising,
        None if goal.within is not None else growing,
        start,
        reading,
        treatments(model.score),
    )
    began = time.monotonic()
    with interruptible(running) as stop:
        with (
            show_progress(solving=True) as shown,
            logged(goal.log, shown) as progress,
            scaling.context(running.n_threads, stop, progress) as context,
        ):
            work = gather(source, asked, goal, context, quiet=as_json)
            goal.check_files(needs_table=work.table is None)
            write_recipe_of(recipe_of(work), write_recipe)
            if goal.within is not None:
                show_near(work, goal, goal.within, context, as_json)
                return
            from parentage.optimise import Start

            solution = pipeline.optimise(work.found, optimising, context, Start(start))
            solution = with_gains(solution, work)
            parameters = estimated(solution, work, goal, context)
        if stop.cancelled.is_set() and work.lists.account.complete:
            warn("interrupted during the search; this is the best network found so far")
        if solution.stopped == "memory" and work.lists.account.complete:
            warn("proof stopped at the memory limit; raise --memory to continue")
        seconds = time.monotonic() - began
        report_solution(solution, work, parameters, goal, seconds, as_json)
        if not (solution.optimal and solution.scope.settled):
            tell_saved(scaling)
    if goal.require_optimal and not (solution.optimal and solution.scope.settled):
        say(solution.proof())
        sys.exit(1)


class Material(NamedTuple):
    """What was asked for, what is to be learned from, and the table that parameters come from."""

    name: str
    asked: Asked
    found: Gathered
    table: Table | None

    @property
    def lists(self) -> CandidateLists:
        """The candidate lists."""
        return self.found.lists


def gather(source: str, asked: Asked, goal: Goal, context: Context, *, quiet: bool) -> Material:
    """Read lists, or read a table and score it; read the table that comes with lists."""
    from parentage import pipeline
    from parentage.errors import InputError
    from parentage.scoring.account import Account
    from parentage.scoring.candidates import cut_short_text

    beside, reading = goal.data, asked.reading
    if beside is not None:  # what was typed about reading is for that table
        asked = replace(asked, reading=Reading())
    found = pipeline.gather(source, asked, context, seen=None if quiet else tell_reading)
    if found.table is not None and beside is not None:
        raise InputError(
            f"--data {beside!r} goes with lists, and {source!r} is a table; leave --data out"
        )
    if found.table is not None and not found.lists.account.complete:
        growing = goal.within is None and found.lists.known().completion is None
        warn(cut_short_text(found.lists, growing=growing))
    if beside is None:
        return Material(source, asked, found, found.table)
    table = table_of(found.lists.names, beside, reading, whose="the lists", quiet=quiet)
    account = found.lists.account
    if isinstance(account, Account) and account.data != table.digest:
        raise InputError(
            f"--data {beside!r} is not the table these lists were made from (its digest differs): "
            "give that one, read with the same options"
        )
    return Material(source, asked, found, table)


def with_gains(solution: Solution, work: Material) -> Solution:
    """Return the solution of lists with the gains on the table that came beside them."""
    from parentage.scoring.account import Account

    account = work.lists.account
    if work.found.table is not None or work.table is None or not isinstance(account, Account):
        return solution
    return solution if account.completion is not None else solution.with_gains(work.table)


def recipe_of(work: Material) -> Recipe | None:
    """Return how the table was read, here or when the lists were made."""
    return work.lists.account.recipe if work.table is None else work.table.recipe


def estimated(
    solution: Solution, work: Material, goal: Goal, context: Context
) -> Parameters | None:
    """Estimate the probabilities of files, once, if missing values or smoothing ask for it."""
    table = work.table
    if table is None or not (table.has_holes or goal.smoothing != SMOOTHING):
        return None
    if not any(shows_probabilities(path) for path in goal.output):
        return None
    from parentage.network.parameters import fit_parameters

    network = solution.network
    return fit_parameters(network, table, smoothing=goal.smoothing, context=context)


def shows_probabilities(path: str) -> bool:
    """Tell whether a file holds probabilities."""
    from parentage.network.formats import holds_parameters, is_page

    return is_page(path) or holds_parameters(path) or path.lower().endswith(".json")


def report_solution(
    solution: Solution,
    work: Material,
    parameters: Parameters | None,
    goal: Goal,
    seconds: float,
    as_json: bool,
) -> None:
    """Write and print what was found."""
    if goal.output:
        write_files(solution, work, parameters, goal)
        say(f"wrote {', '.join(goal.output)}. {proof_text(solution)}")
        if solution.scope.about_directions():
            say(solution.scope.about_directions())
    if goal.certificate is not None:
        write_certificate(solution, goal.certificate, work.asked.optimising.engine)
    if (goal.output or as_json) and (few := few_rows(solution, work)):
        warn(few)
    if as_json or not goal.output:
        content = functools.partial(solution_json, solution, work, seconds)
        show(as_json, content, lambda: as_text(solution, work))


def write_files(
    solution: Solution, work: Material, parameters: Parameters | None, goal: Goal
) -> None:
    """Write the network to files, and pages about it."""
    from parentage.report import save

    origin = provenance(work, solution)
    for path in goal.output:
        save(
            solution,
            path,
            table=work.table,
            lists=work.lists,
            parameters=parameters if shows_probabilities(path) else None,
            provenance=origin,
            size=goal.size,
        )


def write_certificate(solution: Solution, path: str, engine: str) -> None:
    """Write the proof, or say why there is none."""
    from parentage.check import ProofError
    from parentage.vipr import is_vipr

    if solution.certificate is not None and is_vipr(path):
        try:
            solution.certificate.write(path, announce=announce_size)
        except ProofError as refusal:
            warn(f"no certificate is written: {refusal}; leave out --engine {engine}")
        else:
            say(vipr_written(path))
    elif solution.certificate is not None:
        solution.certificate.write(path)
        origin = solution.scope.origin
        completed = origin.completion is not None
        made = 'lists of `parentage score`, made with a recipe that says missing = "em"'
        beside = f" with {made}" if completed else ""
        if not solution.optimal:
            beside += "; the proof covers the listed sets only"
        say(f"wrote the proof to {path}; `parentage check` reads it{beside}")
    elif solution.optimal:
        warn(
            "no certificate is written: this engine records no proof; type --engine branch-and-cut"
        )
    else:
        warn(f"no certificate is written: the network is {solution.proof()}")


def solution_json(solution: Solution, work: Material, seconds: float) -> dict[str, Any]:
    """Return what ``learn --json`` prints."""
    from parentage.work.memory import peak_memory

    facts, recipe = solution.finding.to_dict(), recipe_of(work)
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
        "seed": work.asked.optimising.seed,
    }


def provenance(work: Material, solution: Solution) -> dict[str, Any]:
    """Where the network comes from, for files that can hold it."""
    from parentage.network.formats.network_json import provenance_of

    typed = click.get_current_context().params
    timings = {"solving": solution.seconds}
    if work.found.table is not None:
        timings["scoring"] = work.lists.known().tallies.seconds
    if compiling.seconds > 0:
        timings["compiling"] = compiling.seconds
    origin = provenance_of(
        work.table,
        source=work.name,
        command=["parentage", *sys.argv[1:]],
        settings={key: value for key, value in typed.items() if value not in (None, ())},
        seconds=timings,
    )
    used = rows_used(solution, work)
    return {**origin, "rows_used": used} if used else origin


def as_text(solution: Solution, work: Material) -> str:
    """Lay out the network for a terminal: arcs by child, then what was proved."""
    rows = [family_row(solution, work.lists, v) for v in range(work.lists.n_variables)]
    head: tuple[str, ...] = ("child", "parents", "score", "margin")
    used = rows_used(solution, work)
    if used:
        head = (*head, "rows")
    shown = [(*row, f"{used[row[0]]:,}") if used else row for row in rows]
    lines = [variables_text(head, shown, "--json, or -o FILE"), ""]
    rows = rows[: shown_of(len(rows))]
    if any(row[3].endswith("*") for row in rows):
        lines.append("* a higher-scoring parent set of this child would close a cycle")
    if any(row[3].startswith("0.00") for row in rows):
        lines.append(
            "margin 0.00: another candidate parent set of this child has (nearly) the same score; "
            "--within lists the alternatives"
        )
    if len(rows) == work.lists.n_variables and (reversible := reversible_text(solution)):
        lines.append(reversible)
    lines.append(proof_text(solution))
    table = work.found.table
    if table is not None and not solution.network.n_arcs and table.n_rows < FEW_ROWS:
        lines.append(
            f"{table.n_rows:,} rows can miss weak dependences: an absent arc is not evidence of "
            "independence"
        )
    if few := few_rows(solution, work):
        lines.append(few)
    if solution.scope.about_directions():
        lines.append(solution.scope.about_directions())
    if table is not None:
        lines.append(lists_text(work.lists.known()))
    elif solution.scope.about_scores():
        lines.append(solution.scope.about_scores())
    return "\n".join(lines)


def reversible_text(solution: Solution) -> str:
    """Name the links that an equivalent network, with the same score, has reversed."""
    from parentage.network.network import imposed_directions

    if not solution.scope.equivalent:
        return ""
    network = solution.network
    imposed = imposed_directions(network, solution.scope)
    pairs = network.equivalence_class().reversible
    found = [
        f"{parent} — {child}"
        for parent, child in network.arcs
        if (min(parent, child), max(parent, child)) in pairs and imposed[parent, child] is False
    ]
    if not found:
        return ""
    return (
        f"{counted(len(found), 'reversible link')} (an equivalent network with the same score has "
        f"the other direction): {shown_names(found, 6)}"
    )


def rows_used(solution: Solution, work: Material) -> dict[str, int]:
    """Return, where values are missing, on how many rows each variable and its parents score."""
    from parentage.scoring.scores.node_average import rows_of_families

    table = work.found.table
    if table is None or not table.has_holes:
        return {}
    return rows_of_families(table, solution.network.to_dict())


def few_rows(solution: Solution, work: Material) -> str:
    """Say how many families ``pnal`` scored on few rows; nothing if none."""
    from parentage.scoring.scores.node_average import about_few_rows

    table = work.found.table
    if table is None or not (solution.scope.score or "").startswith("pnal"):
        return ""
    return about_few_rows(table, solution.network.to_dict())


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
    from parentage.scoring.catalogue import in_brackets

    score = f"{solution.score:.4f}{in_brackets(solution.scope.score)}"
    head = f"Score {score}, {counted(solution.network.n_arcs, 'arc')}"
    return f"{head}: {solution.proof()} (engine: {solution.engine}, {solution.seconds:.2f} s)."


def show_near(work: Material, goal: Goal, factor: float, context: Context, as_json: bool) -> None:
    """Print all networks within the factor, by equivalence class."""
    from parentage.optimise import limited
    from parentage.optimise.near import near_optimal, warn_if_incomplete, width_of

    scoring = work.found.scoring
    width = width_of(work.lists, factor)
    warn_if_incomplete(work.lists, width)
    near = near_optimal(
        work.lists,
        width,
        constraints=limited(work.lists, scoring.max_parents, scoring.constraints),
        seed=work.asked.optimising.seed,
        context=context,
    )
    show(as_json, lambda: near_json(near, factor), lambda: near_text(near, factor))
    interrupted = context.stop.cancelled.is_set()  # which has an exit code of its own
    if goal.require_optimal and not near.complete and not interrupted:
        say("networks may be missing")
        sys.exit(1)


def near_json(near: NearOptimal, factor: float) -> dict[str, Any]:
    """Return what ``learn --within --json`` prints."""
    return {
        "score": near.score,
        "factor": factor,
        "networks": len(near),
        "complete": near.complete,
        "complete_to_factor": math.exp(near.complete_to * near.unit)
        if near.complete_to >= 0 and near.reaching
        else None,
        "stopped": near.stopped,
        "score_equivalent": None if near.score_name is None else not near.about_directions,
        "classes": [
            [{"score": near.scores[i], "parents": near.networks[i].to_dict()} for i in members]
            for members in near.classes
        ],
        "differences": [near.difference(number) for number in range(len(near.classes))],
        "arcs": [share._asdict() for share in near.arc_shares],
    }


def near_text(near: NearOptimal, factor: float) -> str:
    """Lay out the classes, the best one in full and how others differ, then arcs by weight."""
    from parentage.arcs.records import within_text
    from parentage.optimise.near import cut_text

    found = within_text(
        len(near), len(near.classes), factor, near.score_name, complete=near.complete
    )
    lines = [f"{found[0].upper()}{found[1:]}, which scores {near.score:.4f}."]
    if near.about_directions:
        lines.append(near.about_directions)
    if not near.complete:
        lines.append(f"Not complete: {cut_text(near)}.")
    lines += ["", *class_lines(near), "", *arc_lines(near)]
    return "\n".join(lines)


def class_lines(near: NearOptimal) -> list[str]:
    """One line per class; the first is the network that learning finds."""
    lines = []
    for number, members in enumerate(near.classes[:SHOWN]):
        count = counted(len(members), "network")
        if number == 0:
            arcs = ", ".join(f"{p}→{c}" for p, c in near.networks[members[0]].arcs)
            lines.append(f"class 1: {count}, one of them: {arcs or 'no arcs'}")
        else:
            lines.append(
                f"class {number + 1}: {count}, {near.below(number)}: "
                f"{difference_text(**near.difference(number))}"
            )
    more = len(near.classes) - SHOWN
    if more > 0:
        lines.append(f"and {counted(more, 'more class', 'more classes')} (all: --json)")
    return lines


def difference_text(added: list[str], removed: list[str], changed: list[str]) -> str:
    """Say how a class differs from the best one.

    >>> difference_text(["a → b"], ["b — c"], [])
    '+ a → b, − b — c'
    """
    marks = [*(f"+ {mark}" for mark in added), *(f"− {mark}" for mark in removed), *changed]
    return ", ".join(marks) or "nothing"


def arc_lines(near: NearOptimal) -> list[str]:
    """A table of the arcs that not all networks have; those that all have in one line."""
    from parentage.scoring.catalogue import is_log_posterior

    certain = [s for s in near.arc_shares if s.weight > 1 - 1e-9]
    others = [s for s in near.arc_shares if s.weight <= 1 - 1e-9]
    lines = []
    if certain:
        arcs = ", ".join(f"{s.parent}→{s.child}" for s in certain)
        lines.append(f"in all of them: {arcs}")
    if others:
        rows = [
            (f"{s.parent}→{s.child}", f"{s.classes:.0%}", f"{s.weight:.1%}") for s in others[:SHOWN]
        ]
        width = 3 if is_log_posterior(near.score_name) else 2
        head = ("arc", "classes", "weight")[:width]
        lines += ["", table_text(head, [row[:width] for row in rows])]
        if len(others) > SHOWN:
            lines.append(f"and {counted(len(others) - SHOWN, 'more arc')} (all: --json)")
    return lines
