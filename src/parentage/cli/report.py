"""``parentage support`` and ``report``: how sure each arc is, and a page with all that is known."""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from pathlib import PurePath
from typing import TYPE_CHECKING

import click

from parentage.arcs import Supporting
from parentage.cli.options import (
    BY_RECIPE,
    JSON,
    RUNNING,
    TypedModel,
    check_outputs,
    command,
    option,
    output_option,
    settings,
    tell_reading,
)
from parentage.cli.output import interruptible, print_json, say, show_progress, warn
from parentage.cli.query import refuse_without_table, table_for
from parentage.errors import counted, listed
from parentage.optimise.settings import Optimising
from parentage.scoring.catalogue import in_brackets, is_log_posterior
from parentage.view.aligned import table_text
from parentage.work.context import Running, Scaling
from parentage.work.settings import Option, setting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from parentage.arcs.records import ArcSupport, Baseline, Bootstrap, NearSet, Support
    from parentage.data.settings import Reading
    from parentage.network.parameters import Parameters
    from parentage.optimise import Solution
    from parentage.scoring.account import Scope
    from parentage.work.context import Context
    from parentage.work.progress import Progress, Report


REPLICATES, PATIENCE = 100, 30.0
"""Bootstrap replicates of a page, and the seconds after which it shows those that are done; its
penalty path may take as long."""


@command()
@click.argument("source", metavar="TABLE|NET")
@output_option("Report to write (.html).")
@option(
    "Output",
    title=setting(
        None, "Title of the report; by default the name of the file.", Option("TEXT", common=True)
    ),
    data=setting(
        None,
        "With NET: table for counts and probabilities.",
        Option("TABLE", common=True, group="Data"),
    ),
)
@BY_RECIPE
def report(
    source: str, output: str | None, title: str | None, data: str | None, reading: Reading
) -> None:
    """Write one HTML file about a network: figure, probabilities, arcs, proof. It works offline.

    From TABLE a network is learned, and the support of every arc is computed, with at most 100
    bootstrap replicates in at most 30 seconds. E.g. parentage report clinic.csv -o clinic.html

    NET is the file of a network (.json, .bif, .xmlbif); --data TABLE adds counts, and the reasons
    why other variables are not parents.

    For constraints, other scores or --within write the report by `parentage support`, e.g.
    parentage support clinic.csv --bootstrap 100 --within 20 -o clinic.html
    """
    from parentage.errors import InputError
    from parentage.network.formats import READABLE

    if not output:
        name = re.match(r"\w[\w-]*", PurePath(source).name)
        page = f"{(name and name[0]) or 'report'}.html"
        raise InputError(f"report needs a file to write; type -o {page}")
    check_page(output)
    check_outputs([output], source, data, reading.recipe)
    if PurePath(source).suffix.lower() in READABLE:
        report_network(source, output, title, data, reading)
        return
    if data is not None:
        raise InputError(
            f"--data {data!r} goes with a network, and {source!r} is a table; leave --data out"
        )
    report_table(source, output, title, reading)


def check_page(path: str) -> None:
    """Refuse a page that cannot be written, before the work."""
    from parentage.files.atomic import extension_of
    from parentage.network.formats import PAGES, check_network_target

    extension_of(path, *PAGES)
    check_network_target(path, needs_table=False)


def report_table(source: str, output: str, title: str | None, reading: Reading) -> None:
    """Learn from a table, ask how sure every arc is, and write the page."""
    from parentage.arcs.support import support_of

    running, asked = Running(), Supporting(bootstrap=REPLICATES)
    with interruptible(running) as stop:
        with (
            show_progress(solving=True) as shown,
            Scaling().context(running.n_threads, stop, shown) as context,
        ):
            baseline = baseline_of(source, asked, reading, TypedModel(), Optimising(), context)
            support = support_of(baseline, asked, context, patience=PATIENCE)
            parameters = estimated_parameters(baseline, context)
            words = path_words(baseline, context)
        write_page(output, source, baseline, support, parameters, title=title, words=words)
        tell(output, support)


def path_words(baseline: Baseline, context: Context) -> str:
    """Say for which penalties the best network stays the same; nothing if it takes too long."""
    from parentage.answers.path import LEAST, MOST, path_of

    scoring = baseline.scoring
    if scoring.score != "bic" or baseline.table.has_holes or not baseline.best.optimal:
        return ""
    found = path_of(
        baseline.table, scoring, (LEAST, MOST), context.ending(context.stop.within(PATIENCE))
    )
    said = found.sentence().rstrip(".")  # a clause of the summary
    return said[0].lower() + said[1:] if found.optimal else ""


def estimated_parameters(baseline: Baseline, context: Context) -> Parameters:
    """Estimate the probabilities of a page."""
    from parentage.network.parameters import fit_parameters

    network = baseline.best.network
    return fit_parameters(network, baseline.table.select(network.names), context=context)


def write_page(
    output: str,
    source: str,
    baseline: Baseline,
    support: Support,
    parameters: Parameters | None,
    *,
    title: str | None = None,
    words: str = "",
) -> None:
    """Write the page about the best network and how sure its arcs are."""
    from parentage.network.formats.network_json import provenance_of
    from parentage.report import save

    save(
        baseline.best,
        output,
        table=baseline.table,
        lists=baseline.lists,
        parameters=parameters,
        support=support,
        title=title,
        provenance=provenance_of(
            baseline.table, source=source, command=["parentage", *sys.argv[1:]]
        ),
        path_words=words,
    )


def baseline_of(
    source: str,
    asked: Supporting,
    reading: Reading,
    model: TypedModel,
    optimising: Optimising,
    context: Context,
    *,
    quiet: bool = False,
) -> Baseline:
    """Learn the network whose arcs are asked about, for the page and for ``support``."""
    from parentage.arcs.support import learn_baseline, scoring_for
    from parentage.pipeline import Asked
    from parentage.scoring.settings import treatments

    learning = Asked(
        lambda names, _: scoring_for(model.scoring(names), asked.within),
        optimising,
        reading=reading,
        ways=treatments(model.score),
    )
    return learn_baseline(
        source, learning, context, seen=None if quiet else tell_reading, asked=asked
    )


def report_network(
    net: str, output: str, title: str | None, data: str | None, reading: Reading
) -> None:
    """Show a network of a file."""
    from parentage.network.formats import read_record
    from parentage.network.parameters import fit_parameters
    from parentage.report import save
    from parentage.work.context import Context

    record, table = read_record(net), None
    parameters = record.parameters
    if data is None:
        refuse_without_table(net, "shown", reading)
    else:
        table = table_for(record.network, data, reading, whose="the network")
        with show_progress() as shown:
            parameters = fit_parameters(record.network, table, context=Context(report=shown))
    save(
        record,
        output,
        table=table,
        parameters=parameters,
        title=title or PurePath(net).name,
    )
    tell(output, None)


def tell(output: str, support: Support | None) -> None:
    """Say what was written and what is open."""
    for point in () if support is None else support.open_points:
        warn(point)
    say(f"wrote {output}")


SHOWN = 15
"""Pairs outside the network that are shown in a terminal."""


@command(
    epilog="In the output, adjacent is the percentage of replicates that contain the link. A link "
    "is firm if its need is at least ln 20 = 3.00 nats and at least 80 % of the replicates contain "
    "it, as far as these were requested, else open."
)
@click.argument("source", metavar="TABLE")
@click.argument("network", metavar="[NETWORK]", required=False)
@output_option("Write the arcs (.csv, .json), a report (.html) or the averaged network (.bif).")
@option(
    "Output",
    verbose=setting(
        False,
        "Also print gains, losses if reversed, classes and shares of networks.",
        Option(),
    ),
)
@settings("asked", Supporting, "Output", but=("max_networks",))
@settings("optimising", Optimising, "Model", "seed")
@settings("model", TypedModel, "Model", "max_parents", "score", "prior", "constraints")
@RUNNING
@settings("scaling", Scaling, "Limits", but=("exchange",))
@BY_RECIPE
@JSON
def support(
    source: str,
    network: str | None,
    output: str | None,
    verbose: bool,
    asked: Supporting,
    optimising: Optimising,
    model: TypedModel,
    running: Running,
    scaling: Scaling,
    reading: Reading,
    as_json: bool,
) -> None:
    """Measure how well the data support each arc of the best network, or of NETWORK.

    For every arc: its need, how much the best score drops if the two variables may not be linked.
    With --bootstrap: the percentage of replicates that contain the link, and of these, the
    percentage with the same direction. E.g. parentage support clinic.csv --bootstrap 200 --within
    20. Ctrl-C prints the results so far. Tiers go into --constraints FILE, treatments of missing
    values into --recipe FILE.
    """
    from parentage.arcs.records import FILES
    from parentage.arcs.support import support_of
    from parentage.errors import InputError
    from parentage.files.atomic import extension_of
    from parentage.network.formats import is_page, read_network

    paged = output is not None and is_page(output)
    if paged and network is not None:
        raise InputError(
            f"{output!r} would show the best network, but you asked about {network!r}",
            f"leave it out, or type parentage report {network} --data {source} -o {output}",
        )
    averaged = output is not None and is_averaged(output, asked)
    if output is not None and not averaged:
        check_page(output) if paged else extension_of(output, *FILES)
    check_outputs([output], source, network, reading.recipe, model.constraints)
    meant = None if network is None else read_network(network)
    with interruptible(running) as stop:
        with (
            show_progress(solving=True) as shown,
            estimating(shown) as report,
            scaling.context(running.n_threads, stop, report) as context,
        ):
            baseline = baseline_of(
                source, asked, reading, model, optimising, context, quiet=as_json
            )
            found = support_of(baseline, asked, context, network=meant)
            parameters = estimated_parameters(baseline, context) if paged else None
        for point in found.open_points:
            warn(point)
        directions = baseline.best.scope.about_directions()
        if output is not None:
            if paged:
                write_page(output, source, baseline, found, parameters)
            elif averaged:
                found.averaged.save(output, table=baseline.table)
            else:
                found.save(output)
            say(f"wrote {output}")
            if directions:
                say(directions)
        if as_json:
            print_json({**found.to_dict(), "scope": baseline.best.scope.to_dict()})
        elif output is None:
            text = as_text(found, baseline.best, verbose=verbose)
            click.echo("\n".join([text, *filter(None, [directions])]))


def is_averaged(output: str, asked: Supporting) -> bool:
    """Tell whether a file is to hold the averaged network; refuse one that cannot, beforehand."""
    from parentage.arcs.records import AVERAGING
    from parentage.errors import InputError
    from parentage.network.formats import EXTENSIONS, check_network_target

    ending = PurePath(output).suffix.lower()
    if ending == ".json" or ending not in EXTENSIONS:
        return False
    if not asked.bootstrap:
        raise InputError(
            f"{output!r} is for the averaged network, which needs a bootstrap",
            AVERAGING,
        )
    check_network_target(output, needs_table=False)
    return True


@contextmanager
def estimating(shown: Report | None) -> Iterator[Report]:
    """Say how long the bootstrap will take, as soon as that is known; a bar says it as well."""
    from parentage.work.progress import duration

    said = False

    def report(at: Progress) -> None:
        nonlocal said
        if shown is not None:
            shown(at)
        elif at.stage == "bootstrap" and at.seconds_left is not None and not said:
            said = True
            took = duration(at.seconds + at.seconds_left)
            say(f"{at.total:,} replicates will take about {took}")

    yield report


def as_text(found: Support, best: Solution, *, verbose: bool) -> str:
    """Lay out support for a terminal: arcs, what else is often adjacent, what was drawn.

    ``best`` is the best network, with what is proven about it.
    """
    from parentage.arcs.records import decided_by

    head, rows = arc_rows(found, best.scope, verbose=verbose)
    lines = [table_text(head, rows, left=2), ""]
    if any(" – " in cell for row in rows for cell in row[2:]):
        lines.append("a – b: the need lies between a and b, because a limit stopped the proof")
    if alone := decided_by(found):
        lines.append(f"firm: by the {alone} alone; nothing else was requested")
    own = f"Score {found.score:.4f}{in_brackets(best.scope.score)}, {counted(len(found), 'arc')}"
    if found.score == found.best:
        lines.append(f"{own}: {best.proof()}.")
    else:
        lines.append(f"{own}; the best network scores {found.best:.4f}, {best.proof()}.")
    if found.bootstrap is not None:
        lines += bootstrap_lines(found, found.bootstrap)
    if found.near is not None:
        lines += near_lines(found.near, best.scope.score)
    if found.others:
        lines += other_lines(found, best.scope, verbose=verbose)
    return "\n".join(lines)


Shown = tuple[str, "Callable[[ArcSupport], str]"]
"""A column: its heading, and the text of an arc in it."""


def arc_rows(
    found: Support, scope: Scope, *, verbose: bool
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the head and one row per arc: first what people read, the rest on request."""
    from parentage.arcs.records import direction_of
    from parentage.network.network import imposed_directions

    columns: list[Shown] = [
        ("from", lambda one: one.parent),
        ("to", lambda one: one.child),
        *share_columns(found, scope, verbose=False),
    ]
    needed = any(one.need is not None for one in found.arcs)
    if needed:
        columns.append(("need", lambda one: _between(one.need, one.need_at_most)))
    if verbose or not needed:
        columns.append(("gain", lambda one: _number(one.gain)))
    if verbose and needed:
        columns.append(
            ("reversed", lambda one: _between(one.need_direction, one.need_direction_at_most))
        )
    if verbose and any(one.reversible is not None for one in found.arcs):
        imposed = imposed_directions(found.network, scope)
        columns.append(("class", lambda one: direction_of(one, imposed[one.arc])))
    if verbose:
        columns += near_columns(found, scope)
    if any(one.support is not None for one in found.arcs):
        columns.append(("support", lambda one: one.support or ""))
    head = tuple(name for name, _ in columns)
    return head, [tuple(text(one) for _, text in columns) for one in found.arcs]


def share_columns(found: Support, scope: Scope, *, verbose: bool) -> list[Shown]:
    """Columns of the bootstrap, or else of the near-optimal networks; of both on request."""
    columns: list[Shown] = []
    if found.bootstrap is not None:
        columns.append(("adjacent", lambda one: _share(one.adjacency)))
        columns.append(("direction", lambda one: _share(one.direction)))
    if verbose:
        columns += near_columns(found, scope)
    elif found.bootstrap is None:
        columns += near_columns(found, scope)[-1:]
    return columns


def near_columns(found: Support, scope: Scope) -> list[Shown]:
    """Columns of the near-optimal networks, if there are any; weights only if they have any."""
    if found.near is None:
        return []
    classes: Shown = ("classes (near)", lambda one: _share(one.in_near_optimal))
    if not is_log_posterior(scope.score):
        return [classes]
    return [
        classes,
        ("share (near)", lambda one: _share(one.near_weight)),
        ("adjacent (near)", lambda one: _share(one.near_adjacency)),
    ]


def other_lines(found: Support, scope: Scope, *, verbose: bool) -> list[str]:
    """Pairs that are not adjacent in the network."""
    columns = share_columns(found, scope, verbose=verbose)
    rows = [
        (one.parent, one.child, *(text(one) for _, text in columns)) for one in found.others[:SHOWN]
    ]
    head = ("from", "to", *(name for name, _ in columns))
    lines = ["", "not in this network:", table_text(head, rows, left=2)]
    more = len(found.others) - SHOWN
    if more > 0:
        lines.append(f"and {counted(more, 'more pair')} (all: -o FILE or --json)")
    return lines


def bootstrap_lines(found: Support, drawn: Bootstrap) -> list[str]:
    """What was drawn, and what the average of it joins."""
    if not drawn.done:
        return [drawn.words]
    proven = "all" if drawn.proven == drawn.done else f"{drawn.proven:,}"
    spread = ""
    if drawn.score_deviation is not None:
        spread = f" (standard deviation {drawn.score_deviation:.4f})"
    own = {frozenset(arc) for arc in found.network.arcs}
    averaged = {frozenset(arc) for arc in drawn.averaged}
    added, dropped = (
        listed(sorted(_pair(found, pair) for pair in pairs), 3)
        for pairs in (averaged - own, own - averaged)
    )
    differs = [f"the network above lacks {added}"] * bool(added)
    differs += [f"the network above also has {dropped}"] * bool(dropped)
    return [
        f"{drawn.words}, {proven} proven optimal; mean score {drawn.mean_score:.4f}{spread}",
        f"averaged network: {counted(len(averaged), 'pair')} adjacent in more than half of the "
        f"replicates; {'; '.join(differs) or 'the same as in the network above'}",
    ]


def near_lines(near: NearSet, score: str | None) -> list[str]:
    """How many near-optimal networks there are, and what is not among them."""
    from parentage.arcs.records import within_text

    best, others = "the best one found", "better ones may be missing"
    if near.each_missing is not None:
        best = "the best"
        share = f"{100 * near.each_missing:.2g} %"
        others = f"no other network has more than {share} of their total probability"
    found = within_text(
        near.networks, near.classes, near.factor, score, complete=near.complete, best=best
    )
    if not is_log_posterior(score):
        return [found if near.each_missing is not None else f"{found}; {others}"]
    lines = [f"{found}; {others}"]
    if near.missing is not None:
        share = f"{1 - near.missing:.1%}"
        lines.append(f"these networks have {share} of the posterior probability of all networks")
    return lines


def _pair(found: Support, pair: frozenset[str]) -> str:
    a, b = sorted(pair, key=found.network.names.index)
    return f"{a} — {b}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _between(least: float | None, most: float | None) -> str:
    """Write an interval; one number if its ends look the same."""
    low, high = _number(least), _number(most)
    return low if low == high else f"{low} – {high}"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.0%}"
