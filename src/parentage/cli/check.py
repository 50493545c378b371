"""``parentage check``: verify a proof of optimality."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from parentage.cli.options import (
    JSON,
    RECIPE_ALONE,
    check_outputs,
    command,
    free_name,
    load_table,
    option,
)
from parentage.cli.output import say, show
from parentage.errors import Bytes, InputError, UndecidedError, counted
from parentage.files.source import open_source
from parentage.work.context import Running
from parentage.work.settings import Option, setting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parentage.check import Verdict
    from parentage.check.document import Lists
    from parentage.data.settings import Reading
    from parentage.data.table import Table
    from parentage.files.source import Source
    from parentage.scoring.lists import CandidateLists
    from parentage.vipr import Size


@command()
@click.argument("source", metavar="LISTS|TABLE")
@click.argument("certificate")
@option(
    "Output",
    vipr=setting(
        None, "Write the proof for viprchk: .vipr or .vipr.gz.", Option("FILE", common=True)
    ),
)
@option(
    "Limits",
    memory=setting(
        None,
        "Memory limit for parts that are solved again; 4GB by default.",
        Option("SIZE", Bytes, common=True),
    ),
)
@RECIPE_ALONE
@JSON
def check(
    source: str,
    certificate: str,
    vipr: str | None,
    memory: int | None,
    reading: Reading,
    as_json: bool,
) -> None:
    """Verify that a network is the best one, from its CERTIFICATE, in whole-number arithmetic.

    LISTS are the candidate lists that the network was learned from; or TABLE is the table, which
    is counted again by independent code. Exit code 0: verified; 1: refused, with the first step
    that fails or what is missing or was changed; 2: bad input, e.g. no certificate.
    """
    from parentage.check import MEMORY, carried_lists, read_document
    from parentage.check import check as verify
    from parentage.vipr import is_vipr

    if vipr is not None and not is_vipr(vipr):
        raise InputError(f"--vipr {vipr!r} has an unknown extension; use .vipr or .vipr.gz")
    refuse_swapped(source, certificate)
    check_outputs([vipr], source, certificate, reading.recipe)
    document = read_document(certificate)
    room = MEMORY if memory is None else memory
    opened = open_source(source)
    lists = lists_in(opened, reading)
    began = time.monotonic()
    if lists is not None:
        names, verdict = lists.names, verify(lists, document, memory=room)
    else:
        table = complete_table(opened, reading, document, source, certificate)
        names, verdict = table.names, check_from(table, document, room, Running().n_threads)
    if verdict and vipr is not None:
        export(lists or carried_lists(document, names), document, vipr)
    seconds = time.monotonic() - began
    show(as_json, lambda: verdict_json(verdict, names, seconds), lambda: as_text(verdict, seconds))
    if not verdict:
        sys.exit(1)


def complete_table(
    opened: Source,
    reading: Reading,
    document: Mapping[str, Any],
    source: str,
    certificate: str,
) -> Table:
    """Read a table without missing values; with them, say how its lists are made and checked."""
    settings = document.get("settings")
    settings = settings if isinstance(settings, Mapping) else {}  # refused later
    missing = "pnal" if settings.get("settled") is None else "em"
    keeps = missing == "em" or str(settings.get("score")).startswith("pnal")
    try:
        table = load_table(opened, reading)
    except UndecidedError as error:
        if keeps and any(way.setting == "missing" for way in error.remedy):
            raise _with_lists(settings, source, certificate, None, missing) from None
        raise
    if keeps and table.has_holes:
        raise _with_lists(settings, source, certificate, reading.recipe, missing)
    return table


def _with_lists(
    settings: Mapping[str, Any], source: str, certificate: str, recipe: object, missing: str
) -> InputError:
    """Refuse to count data with missing values again; the note has the commands that check it."""
    table, lists, lines = shlex.quote(source), free_name("lists.jkl"), []
    if recipe is None:
        recipe = free_name("read.toml")
        lines = [f"parentage info {table} --auto --missing {missing} --write-recipe {recipe}"]
    limit, prior = settings.get("max_parents"), settings.get("prior")
    limits = [f"{name}={k}" for name, k in limit.items()] if isinstance(limit, Mapping) else [limit]
    prior = prior if isinstance(prior, Mapping) else {}
    believed = "FILE" if prior.get("arcs") else prior.get("default")
    given = [
        ("--score", settings.get("score")),
        *(("-k", one) for one in limits),
        ("--log-base", settings.get("log_base")),
        ("--width", settings.get("width")),
        ("--constraints", "FILE" if settings.get("constraints") else None),
        ("--prior", None if believed == 0.5 else believed),  # no arc is more probable than not
    ]
    typed = [f"{flag} {shlex.quote(str(value))}" for flag, value in given if value is not None]
    made = " ".join([f"parentage score {table} --recipe {shlex.quote(str(recipe))}", *typed])
    lines += [f"{made} -o {lists}", f"parentage check {lists} {shlex.quote(certificate)}"]
    error = InputError(
        f"{source} has missing values, and only complete data can be counted again; make the "
        "candidate lists as they were made for the certificate, and check these"
    )
    error.add_note("\n  ".join(["Type:", *lines]))
    return error


def announce_size(size: Size) -> None:
    """Print how large a VIPR file will be."""
    say(f"the proof will have about {size.text()}")


def vipr_written(path: str) -> str:
    """What to do with a VIPR file that was written."""
    packed = path.lower().endswith(".gz")
    how = "`viprchk` reads it once it is unpacked" if packed else f"`viprchk {path}` checks it"
    return f"wrote the proof to {path}; {how}"


def export(lists: Lists, document: Mapping[str, Any], path: str) -> None:
    """Write the proof as a VIPR file; the reason why not is an error."""
    from parentage.check import ProofError
    from parentage.vipr import write_vipr

    try:
        write_vipr(lists, document, path, announce=announce_size)
    except ProofError as refusal:
        raise InputError(
            f"{refusal}; to search for a proof that this format can express, type "
            f"parentage learn … --certificate {path}"
        ) from None
    say(vipr_written(path))


def check_from(table: Table, document: Mapping[str, Any], memory: float, threads: int) -> Verdict:
    """Check a certificate against its table; say how long that will take, and how far it is."""
    from parentage.check import check_table
    from parentage.work.progress import Progress, duration, shown

    began = time.monotonic()
    with shown() as report:

        def tell(phase: str, sets: int, seconds: float) -> None:
            expected, passed = document["families"]["counted"], time.monotonic() - began
            some = f"about {expected:,} sets"
            if not phase:
                say(f"counting {some} again, about {duration(seconds)}")
            elif report is not None:
                phase = f"{phase}, {sets:,} of {some} counted"
                left, done = max(0.0, seconds - passed), min(sets, expected)
                report(Progress("recount", phase, passed, done, expected, seconds_left=left))

        return check_table(table, document, memory=memory, threads=threads, say=tell)


def refuse_swapped(data: str, certificate: str) -> None:
    """Refuse a certificate where lists or a table belong, and the other way round."""
    from parentage.check import read_document

    if not data.lower().endswith((".json", ".json.gz")):
        return
    try:
        read_document(data)
    except InputError:
        return
    raise InputError(
        f"{data!r} is a certificate; the lists or the table come first: type parentage check "
        f"{shlex.quote(certificate)} {shlex.quote(data)}"
    )


def lists_in(source: Source, reading: Reading) -> CandidateLists | None:
    """Read candidate lists; return None if the file holds a table."""
    from parentage.data.reading import settled
    from parentage.files.detect import detect

    how = settled(reading)
    if detect(source, how.format, how.encoding).kind != "lists":
        return None
    from parentage.scoring.formats import read_lists

    return read_lists(source, how.format, encoding=how.encoding)


def verdict_json(verdict: Verdict, names: Sequence[str], seconds: float) -> dict[str, Any]:
    """Return what ``check --json`` prints."""
    return {
        "verified": verdict.verified,
        "claim": verdict.claim,
        "reason": verdict.reason or None,
        "score": verdict.score if verdict.score == verdict.score else None,
        "tolerance": verdict.tolerance if verdict.tolerance == verdict.tolerance else None,
        "settings": verdict.settings,
        "constraints": verdict.constraints,
        "terms": verdict.terms or None,
        "parents": {
            name: [names[p] for p in members]
            for name, members in zip(names, verdict.parents, strict=True)
        }
        if verdict.parents
        else None,
        "counts": dict(verdict.counts),
        "seconds": seconds,
    }


def as_text(verdict: Verdict, seconds: float) -> str:
    """The verdict in a sentence, the terms of the claim, and what was checked."""
    said = f"Refused: {verdict.reason}."
    if verdict:
        said = f"Verified: {verdict.claim}.\nTerms: {verdict.terms}."
    return f"{said}\n{counts_text(verdict.counts)}, {seconds:.1f} s"


def counts_text(counts: Mapping[str, int]) -> str:
    """What was checked, in words.

    >>> counts_text({"nodes": 1, "rounds": 2, "cluster": 3, "local": 1, "removed": 5})
    'checked: 1 node, 2 rounds, 4 cuts (3 cluster, 1 local), 5 sets removed'
    """
    parts = [counted(counts.get("nodes", 0), "node"), counted(counts.get("rounds", 0), "round")]
    kinds = [(kind, counts[kind]) for kind in ("cluster", "local", "through") if counts.get(kind)]
    cuts = counted(sum(count for _, count in kinds), "cut")
    if kinds:
        cuts += f" ({', '.join(f'{count:,} {kind}' for kind, count in kinds)})"
    parts.append(cuts)
    if counts.get("subsets"):
        parts.append(counted(counts["subsets"], "part") + " solved again")
    if counts.get("forest"):
        parts.append(counted(counts["forest"], "forest"))
    parts.append(counted(counts.get("removed", 0), "set") + " removed")
    if counts.get("counted"):
        parts.append(counted(counts["counted"], "set") + " of columns counted")
    return "checked: " + ", ".join(parts)
