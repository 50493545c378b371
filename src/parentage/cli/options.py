"""Options that several commands share, and what they turn into."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from parentage.data.table import Table
    from parentage.scoring.constraints import Constraints

Command = TypeVar("Command", bound=Callable[..., Any])

_TABLE = (
    click.option("--format", "format_", metavar="FORMAT",
                 help="csv, tsv, parquet, arff or dat; for lists jkl, pss or parquet. "
                 "The content decides otherwise."),
    click.option("--no-header", is_flag=True, help="No line of names: columns are 0, 1, …"),
    click.option("--encoding", default="utf-8", show_default=True, help="Encoding of text."),
    click.option("--drop", multiple=True, metavar="COLUMN",
                 help="Leave a column out, e.g. an identifier (repeatable)."),
    click.option("--missing", default="error", show_default=True,
                 metavar="error|drop|state|mode",
                 help="Missing cells: refuse, drop the row, one more state, or fill in."),
    click.option("--discretize", metavar="median|quantile:K|width:K",
                 help="Cut continuous columns into states."),
)  # fmt: skip
_SCORE = (
    click.option("--score", "score_name", default="bic", show_default=True, metavar="bic|aic",
                 help="What is maximised."),
    click.option("--log-base", metavar="BASE",
                 help="Unit of scores and gaps: e (default), 2, 10 …"),
)  # fmt: skip
_SEARCH = (
    click.option("-k", "--max-parents", multiple=True, metavar="K|NAME=K",
                 help="Largest number of parents, for all or for one variable (repeatable). "
                 "No limit by default."),
    click.option("--rules", metavar="LIST",
                 help="Pruning rules by name, comma separated; none, all, default. The lists never "
                 "depend on them, the time does."),
    click.option("--gap", type=float, metavar="G",
                 help="Keep every set within G of its best subset, so that every network within G "
                 "of the optimum survives."),
    click.option("--require", multiple=True, metavar="A,B",
                 help="The arc from A to B must be there (repeatable)."),
    click.option("--forbid", multiple=True, metavar="A,B",
                 help="The arc from A to B must not be there (repeatable)."),
    click.option("--tiers", metavar="A,B<C,D",
                 help="No arc from a later group to an earlier one."),
    click.option("--constraints", "constraints_file", metavar="FILE",
                 help="Constraints from a TOML file (docs/constraints.md)."),
)  # fmt: skip
_RUN = (
    click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout."),
    click.option("--threads", type=click.IntRange(min=1), metavar="N",
                 help="Threads; one per core by default. Results do not depend on it."),
)  # fmt: skip
_SEED = (
    click.option("--seed", type=int, default=0, show_default=True,
                 help="Seed of everything random."),
)  # fmt: skip


def _apply(options: Sequence[Callable[[Command], Command]], command: Command) -> Command:
    return functools.reduce(lambda wrapped, option: option(wrapped), reversed(options), command)


def table_options(command: Command) -> Command:
    """How a table is read."""
    return _apply(_TABLE, command)


def score_options(command: Command) -> Command:
    """What a family's score is."""
    return _apply(_SCORE, command)


def search_options(command: Command) -> Command:
    """Limits, rules and constraints of a search."""
    return _apply(_SEARCH, command)


def run_options(command: Command) -> Command:
    """JSON, threads and seed: every command that takes data has them."""
    return _apply((*_RUN, *_SEED), command)


def exact_run_options(command: Command) -> Command:
    """JSON and threads: for a command in which nothing is random."""
    return _apply(_RUN, command)


def load_table(data: Any, options: dict[str, Any]) -> Table:
    """Read the table that DATA and the table options describe."""
    from parentage.data.reading import read_table

    return read_table(
        data,
        format=options["format_"],
        header=not options["no_header"],
        drop=options["drop"],
        missing=options["missing"],
        discretize=options["discretize"],
        encoding=options["encoding"],
    )


def parse_max_parents(texts: Sequence[str]) -> tuple[int | None, dict[str, int]]:
    """Turn ``-k 3 -k NAME=2`` into the common limit and the limits by name.

    >>> parse_max_parents(["3", "a=b=1"])
    (3, {'a=b': 1})
    """
    from parentage.errors import InputError

    common: int | None = None
    by_name: dict[str, int] = {}
    for text in texts:
        name, separator, number = text.rpartition("=")
        try:
            limit = int(number)
        except ValueError:
            limit = -1
        if limit < 0:
            raise InputError(
                f"-k {text!r}: type a whole number of at least 0, or NAME=NUMBER, e.g. -k 3"
            )
        if separator:
            by_name[name] = limit
        else:
            common = limit
    return common, by_name


def parse_constraints(names: Sequence[str], options: dict[str, Any]) -> Constraints:
    """Gather the constraints from the options and the file."""
    from parentage.scoring.constraints import Constraints
    from parentage.scoring.formats.constraints import read_constraints

    _, by_name = parse_max_parents(options["max_parents"])
    given = Constraints(
        required=frozenset(parse_arc(text, names, "--require") for text in options["require"]),
        forbidden=frozenset(parse_arc(text, names, "--forbid") for text in options["forbid"]),
        max_parents=by_name,
        tiers=parse_tiers(options["tiers"]),
    )
    if options["constraints_file"]:
        given = read_constraints(options["constraints_file"]).merge(given)
    given.check(names)
    return given


def parse_arc(text: str, names: Sequence[str], option: str) -> tuple[str, str]:
    """Split ``A,B`` at the comma that leaves two known names."""
    from parentage.errors import InputError

    parts = text.split(",")
    splits = [(",".join(parts[:i]), ",".join(parts[i:])) for i in range(1, len(parts))]
    if not splits:
        raise InputError(f"{option} {text!r}: type two names, e.g. {option} {names[0]},{names[1]}")
    known = [pair for pair in splits if set(pair) <= set(names)]
    return (known or splits)[0]


def parse_tiers(text: str | None) -> tuple[tuple[str, ...], ...]:
    """Split ``a,b<c`` into groups.

    >>> parse_tiers("age,sex<job<income")
    (('age', 'sex'), ('job',), ('income',))
    """
    if not text:
        return ()
    tiers = tuple(tuple(name.strip() for name in tier.split(",")) for tier in text.split("<"))
    if len(tiers) < 2:
        from parentage.errors import InputError

        raise InputError(f"--tiers {text!r} has one group; separate groups by <, e.g. a,b<c")
    return tiers
