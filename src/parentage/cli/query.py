"""``parentage query``: what follows from evidence and interventions, exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from parentage.cli.help import command, option
from parentage.cli.model import load_model, model_options
from parentage.cli.options import JSON
from parentage.cli.output import print_json, table_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parentage.network.inference import Joint, MostProbable, Posterior
    from parentage.network.parameters import Parameters


@command()
@click.argument("net")
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@option(
    "--given",
    group="Data",
    multiple=True,
    metavar="A=x,B=y",
    help="What was seen: the variable A in its state x … (repeatable).",
)
@option(
    "--intervene",
    group="Data",
    multiple=True,
    metavar="C=z",
    help="What is set from outside; its causes are cut off (repeatable).",
)
@option("--joint", is_flag=True, help="The targets together, not one by one.")
@option("--mpe", is_flag=True, help="The most probable state of all variables together.")
@JSON
@model_options
def query(net: str, targets: tuple[str, ...], joint: bool, mpe: bool, **options: Any) -> None:
    """Probabilities of every TARGET given evidence: exact, by variable elimination.

    NET is a network with probabilities (.bif, .xmlbif, .json), or any network file together with
    --data TABLE. Without TARGET all variables are asked, e.g.
    parentage query clinic.bif --given smoke=yes,xray=no lung
    """
    from parentage.errors import InputError

    if mpe and (targets or joint):
        raise InputError("--mpe is about all variables together; leave the targets and --joint out")
    if joint and len(targets) < 2:
        raise InputError("--joint needs two targets or more")
    found = load_model(net, options).parameters
    given = parse_findings(options["given"], found, "--given")
    intervene = parse_findings(options["intervene"], found, "--intervene")
    if mpe:
        best = found.most_probable(given, intervene=intervene)
        if options["as_json"]:
            print_json(best.to_dict())
        else:
            click.echo(most_probable_text(best))
        return
    if joint:
        together = found.joint(targets, given, intervene=intervene)
        if options["as_json"]:
            print_json(together.to_dict())
        else:
            click.echo(joint_text(together))
        return
    answer = found.query(given, intervene=intervene, targets=targets)
    before = found.query(targets=list(answer.marginals)) if given or intervene else None
    if options["as_json"]:
        prior = {} if before is None else {"before": before.to_dict()["marginals"]}
        print_json({**answer.to_dict(), **prior})
    else:
        click.echo(posterior_text(answer, before))


def parse_findings(texts: Sequence[str], known: Parameters, option: str) -> dict[str, str]:
    """Split ``A=x,B=y`` where that leaves known names and states, commas and ``=`` in them too."""
    from parentage.errors import InputError

    found: dict[str, str] = {}
    for text in texts:
        pairs = next(_splits(text.split(","), known), None)
        if pairs is None:
            pairs = [_plain(part, option) for part in text.split(",")]
        for name, label in pairs:
            known.code(name, label)  # refuses what is not known, with the nearest that is
            if found.get(name, label) != label:
                raise InputError(f"{option} has {name!r} as {found[name]!r} and as {label!r}")
            found[name] = label
    return found


def _splits(parts: Sequence[str], known: Parameters) -> Iterator[list[tuple[str, str]]]:
    """Yield every way to read parts as known findings, short findings first."""
    if not parts:
        yield []
    for end in range(1, len(parts) + 1):
        pieces = ",".join(parts[:end]).split("=")
        for at in range(1, len(pieces)):
            name, label = "=".join(pieces[:at]), "=".join(pieces[at:])
            if name in known.network.names and label in known.states[known.network.index(name)]:
                for rest in _splits(parts[end:], known):
                    yield [(name, label), *rest]


def _plain(part: str, option: str) -> tuple[str, str]:
    from parentage.errors import InputError

    name, separator, label = part.partition("=")
    if not separator:
        raise InputError(
            f"{option} {part!r}: type a variable and its state, e.g. {option} smoke=yes"
        )
    return name.strip(), label.strip()


def probability_text(p: float) -> str:
    """Show a probability with four digits, a tiny one by its size.

    >>> [probability_text(p) for p in (0.0, 1.0, 0.12345, 0.0000123)]
    ['0.0000', '1.0000', '0.1235', '1.2e-05']
    """
    return f"{p:.4f}" if p == 0 or p >= 0.00005 else f"{p:.1e}"


def _case_text(answer: Posterior | Joint | MostProbable) -> list[str]:
    """Say what was assumed, and how probable the evidence was."""
    import math

    lines = []
    if answer.intervene:
        lines.append(f"set from outside: {_findings_text(answer.intervene)}")
    if answer.given:
        log_p = answer.log_probability
        p = probability_text(math.exp(log_p)) if log_p > -700 else f"e^{log_p:.2f}"
        lines.append(f"given {_findings_text(answer.given)} (probability {p})")
    return [*lines, ""] if lines else []


def _findings_text(findings: Mapping[str, str]) -> str:
    return ", ".join(f"{name} = {label}" for name, label in findings.items())


def posterior_text(answer: Posterior, before: Posterior | None) -> str:
    """Lay out marginals, beside them what they are without evidence."""
    rows = []
    for name, shares in answer.marginals.items():
        for k, (label, p) in enumerate(shares.items()):
            row = (name if k == 0 else "", label, probability_text(p))
            rows.append(row if before is None else (*row, probability_text(before[name][label])))
    head = ("variable", "state", "probability", "before")[: 3 if before is None else 4]
    return "\n".join([*_case_text(answer), table_text(head, rows, left=2)])


def joint_text(answer: Joint) -> str:
    """Lay out a joint distribution."""
    rows = [(*labels, probability_text(p)) for labels, p in answer.rows()]
    head = (*answer.names, "probability")
    return "\n".join([*_case_text(answer), table_text(head, rows, left=len(answer.names))])


def most_probable_text(answer: MostProbable) -> str:
    """Lay out the most probable states."""
    rows = list(answer.states.items())
    p = probability_text(answer.probability)
    last = f"together they have probability {p}" + (" given that" if answer.given else "")
    lines = [*_case_text(answer), table_text(("variable", "most probable"), rows, left=2)]
    return "\n".join([*lines, "", last])
