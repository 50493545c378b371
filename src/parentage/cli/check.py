"""``parentage check``: verify a proof of optimality."""

from __future__ import annotations

import shlex
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from parentage.cli.options import (
    load_table,
    parse_size,
    run_options,
    settings_options,
    table_options,
    with_options,
)
from parentage.cli.output import print_json
from parentage.data.settings import Reading
from parentage.work.running import Running
from parentage.work.settings import take

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parentage.check import Verdict
    from parentage.scoring.lists import CandidateLists

SETTINGS = ("score", "max_parents", "log_base", "rules", "width", "constraints")
"""What a certificate may record of how its table was scored."""


@click.command()
@click.argument("data", metavar="LISTS|TABLE")
@click.argument("certificate")
@with_options(*settings_options(Running, "memory"))
@table_options
@run_options
def check(data: str, certificate: str, **options: Any) -> None:
    """Verify that a network is the best one, from its CERTIFICATE, in whole-number arithmetic.

    LISTS are the candidate lists that the network was learned from, or TABLE the table, which is
    scored first as the certificate says. Exit code 0: verified; 1: refused, with the first step
    that fails; 2: bad input.
    """
    from parentage.check import MEMORY, read_document
    from parentage.check import check as verify

    refuse_swapped(data, certificate)
    document = read_document(certificate)
    lists = gather(data, document, options)
    began = time.monotonic()
    memory = options["memory"]
    verdict = verify(lists, document, memory=MEMORY if memory is None else parse_size(memory))
    if options["as_json"]:
        print_json(as_json(verdict, lists, time.monotonic() - began))
    else:
        click.echo(as_text(verdict, time.monotonic() - began))
    if not verdict:
        sys.exit(1)


def refuse_swapped(data: str, certificate: str) -> None:
    """Refuse a certificate where lists or a table belong, and the other way round."""
    from parentage.check import read_document
    from parentage.errors import InputError

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


def gather(data: str, document: Mapping[str, Any], options: dict[str, Any]) -> CandidateLists:
    """Read lists, or read a table and score it as the certificate records."""
    from parentage.data.reading import settled
    from parentage.files.detect import detect
    from parentage.files.source import open_source
    from parentage.scoring.formats import read_lists

    source, reading = open_source(data), settled(take(Reading, options))
    if detect(source, reading.format, reading.encoding).kind == "lists":
        return read_lists(source, reading.format, encoding=reading.encoding)
    from parentage.scoring.candidates import score

    settings = recorded_settings(document)
    return score(load_table(source, options), threads=options["threads"], **settings)


def recorded_settings(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return how a table was scored, as arguments of ``score``.

    Raises
    ------
    InputError
        Settings of a form that scoring does not know.
    """
    from parentage.errors import InputError

    settings = document.get("settings", {})
    if not isinstance(settings, dict) or not set(settings) <= set(SETTINGS):
        raise InputError(
            f"the settings in this certificate are not known; known: {', '.join(SETTINGS)}; "
            "give the candidate lists instead of the table"
        )
    found = {key: value for key, value in settings.items() if value is not None}
    kinds = {"score": str, "max_parents": int, "log_base": str | int | float, "width": int | float}
    for key, kind in kinds.items():
        if key in found and (isinstance(found[key], bool) or not isinstance(found[key], kind)):
            raise InputError(f"settings.{key} in this certificate is not a value it can have")
    if "rules" in found:
        rules = found["rules"]
        plain = isinstance(rules, str) or (
            isinstance(rules, list) and all(isinstance(rule, str) for rule in rules)
        )
        if not plain:
            raise InputError("settings.rules in this certificate is not a list of names")
    if "constraints" in found:
        found["constraints"] = recorded_constraints(found["constraints"])
    return found


def recorded_constraints(content: Any) -> Any:
    """Turn recorded constraints into the real ones."""
    from parentage.errors import InputError
    from parentage.scoring.constraints import Constraints

    try:
        return Constraints.from_dict(content)
    except (AttributeError, TypeError, ValueError):
        raise InputError("settings.constraints in this certificate cannot be read") from None


def as_json(verdict: Verdict, lists: CandidateLists, seconds: float) -> dict[str, Any]:
    """What ``check --json`` prints."""
    read = bool(verdict.parents)
    return {
        "verified": verdict.verified,
        "claim": verdict.claim,
        "reason": verdict.reason or None,
        "score": verdict.score if verdict.score == verdict.score else None,
        "tolerance": verdict.tolerance if verdict.tolerance == verdict.tolerance else None,
        "parents": {
            name: [lists.names[p] for p in members]
            for name, members in zip(lists.names, verdict.parents, strict=True)
        }
        if read
        else None,
        "counts": dict(verdict.counts),
        "seconds": seconds,
    }


def as_text(verdict: Verdict, seconds: float) -> str:
    """The verdict in a sentence, and what was looked at."""
    said = f"Verified: {verdict.claim}" if verdict else f"Refused: {verdict.reason}"
    return f"{said}.\n{counts_text(verdict.counts)}, {seconds:.1f} s"


def counts_text(counts: Mapping[str, int]) -> str:
    """What was checked, in words.

    >>> counts_text({"nodes": 1, "rounds": 2, "cluster": 3, "local": 1, "removed": 5})
    'checked: 1 node, 2 rounds, 4 cuts (3 cluster, 1 local), 5 sets removed'
    """
    parts = [_count(counts.get("nodes", 0), "node"), _count(counts.get("rounds", 0), "round")]
    kinds = [(kind, counts[kind]) for kind in ("cluster", "local", "through") if counts.get(kind)]
    cuts = _count(sum(count for _, count in kinds), "cut")
    if kinds:
        cuts += f" ({', '.join(f'{count:,} {kind}' for kind, count in kinds)})"
    parts.append(cuts)
    if counts.get("subsets"):
        parts.append(_count(counts["subsets"], "part") + " solved again")
    if counts.get("forest"):
        parts.append(_count(counts["forest"], "forest"))
    parts.append(_count(counts.get("removed", 0), "set") + " removed")
    return "checked: " + ", ".join(parts)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
