"""Options of the commands, made from the settings of the stages, and what is typed into them."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from parentage.cli.help import option
from parentage.cli.streams import visible
from parentage.data.settings import Reading
from parentage.errors import Way
from parentage.scoring.settings import Scoring
from parentage.work.running import Running
from parentage.work.scaling import Scaling
from parentage.work.settings import option_of, take

if TYPE_CHECKING:
    from parentage.data.recipe import Recipe
    from parentage.data.table import Table
    from parentage.scoring.constraints import Constraints
    from parentage.scoring.prior import Prior
    from parentage.work.settings import Option

Command = TypeVar("Command", bound=Callable[..., Any])
Decorator = Callable[[Any], Any]

CONSTRAINTS: tuple[Decorator, ...] = (
    option("--require", group="Model", multiple=True, metavar="A,B|FILE",
           help="This arc, or those of a CSV, must be there."),
    option("--forbid", group="Model", multiple=True, metavar="A,B|FILE",
           help="This arc, or those of a CSV, must not be there."),
    option("--tiers", group="Model", metavar="A,B<C,D",
           help="No arc from a later group to an earlier one."),
    option("--constraints", "constraints_file", group="Model", metavar="FILE",
           help="Constraints from a TOML file.", page="constraints.md"),
)  # fmt: skip
JSON = option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)(i?)B?", re.IGNORECASE)


def settings_options(
    group: str, kind: type, *names: str, but: Sequence[str] = ()
) -> list[Decorator]:
    """Make the options of a settings class: of all its fields but some, or of those named."""
    options = []
    for field in dataclasses.fields(cast("Any", kind)):
        typed = option_of(field)
        if typed is not None and field.name not in but and (not names or field.name in names):
            options.append(_click_option(group, field.name, typed, field.default))
    return options


def _click_option(group: str, name: str, typed: Option, default: Any) -> Decorator:
    facts: dict[str, Any] = {"metavar": typed.metavar}
    if typed.is_flag:
        facts = {"is_flag": True, "flag_value": not default, "default": default}
    elif typed.repeatable:
        facts |= {"multiple": True, "callback": lambda _c, _o, given: given or None}  # not typed
    else:
        least = cast("Any", typed.least)
        ranges = {int: click.IntRange(min=least), float: click.FloatRange(min=least)}
        kind = typed.kind if typed.least is None else ranges[typed.kind]
        facts |= {"type": kind, "default": default, "show_default": default is not None}
    return option(
        *typed.flags, name, group=group, common=typed.common, help=typed.help, page=typed.page,
        **facts,
    )  # fmt: skip


def with_options(*options: Decorator) -> Callable[[Command], Command]:
    """Give a command several options at once."""

    def wrap(command: Command) -> Command:
        return functools.reduce(
            lambda wrapped, option: cast("Command", option(wrapped)), reversed(options), command
        )

    return wrap


table_options = with_options(*settings_options("Data", Reading))
"""How a table is read, in every detail: where a recipe can be written."""

COMMON_READING = ("drop", "counts", "missing", "categorical", "discretize", "recipe")
common_table_options = with_options(*settings_options("Data", Reading, *COMMON_READING))
"""How a table is read, elsewhere: a recipe has the details."""

score_options = with_options(
    *settings_options("Model", Scoring, "score", "lambda_", "prior", "log_base")
)
"""What a family's score is."""

search_options = with_options(
    *settings_options("Model", Scoring, but=("score", "lambda_", "prior", "log_base")),
    *CONSTRAINTS,
)
"""Limits, rules and constraints of a search."""

limit_options = with_options(*settings_options("Limits", Running, "time_limit", "memory"))
"""When long work ends."""

scale_options = with_options(*settings_options("Limits", Scaling))
"""Where long work runs, and what it keeps."""

run_options = with_options(JSON, *settings_options("Limits", Running, "threads"))
"""JSON and threads."""

SIZE = option(
    "--size",
    common=False,
    metavar="WIDTH",
    help="Width of a picture on paper: column (89 mm), page (183 mm), slide, or such as 120mm.",
)

WRITE_RECIPE = option(
    "--write-recipe", group="Data", common=False, metavar="FILE",
    help="Write how the table was read (TOML), for --recipe.",
)  # fmt: skip


def load_table(data: Any, options: dict[str, Any]) -> Table:
    """Read the table that DATA and the table options describe."""
    from parentage.data.reading import as_table

    table = as_table(data, take(Reading, options))
    tell_reading(table, options)
    return table


def missing_rule(table: Table) -> str:
    """Return how the missing cells of a table that was read were treated."""
    assert table.recipe is not None  # noqa: S101  # every table that is read has one
    return table.recipe.settings.missing


def tell_reading(table: Table, options: dict[str, Any]) -> None:
    """Say on stderr what was done to a table, in one line; JSON has it instead."""
    recipe = table.recipe
    if recipe is not None and recipe.parts() and not options.get("as_json"):
        click.echo(f"parentage: read {visible(recipe.words())}", err=True)


def check_outputs(
    outputs: Sequence[str | None], reads: Sequence[str | None], options: dict[str, Any]
) -> None:
    """Refuse outputs that would overwrite an input of the command, or each other."""
    from parentage.files.atomic import check_targets

    inputs = ("data_for_parameters", "constraints_file", "start", "recipe")
    check_targets(
        [*outputs, options.get("write_recipe")], [*reads, *(options.get(name) for name in inputs)]
    )


def write_recipe_of(recipe: Recipe | None, options: dict[str, Any]) -> None:
    """Write the recipe where it was asked for."""
    from parentage.data.recipe import write_recipe
    from parentage.errors import InputError

    path = options["write_recipe"]
    if path is None:
        return
    if recipe is None:
        raise InputError(f"--write-recipe {path!r}: no table was read here, so there is no recipe")
    write_recipe(recipe, path)
    click.echo(f"parentage: wrote the recipe to {path}; --recipe reads it", err=True)


def running_of(options: dict[str, Any]) -> Running:
    """Turn the limits typed into settings."""
    memory = options.get("memory")
    size = None if memory is None else parse_size(memory)
    return take(Running, {**options, "memory": size})


def scoring_of(options: dict[str, Any], names: Sequence[str]) -> Scoring:
    """Turn the search options typed into settings for these variables."""
    common, _ = parse_max_parents(options.get("max_parents"))
    constraints = parse_constraints(names, options)
    more = {"max_parents": common, "constraints": constraints, "prior": prior_of(options)}
    return take(Scoring, {**options, **more})


def prior_of(options: dict[str, Any]) -> Prior | None:
    """Turn ``--prior P`` or ``--prior FILE`` into probabilities of arcs."""
    from parentage.scoring.formats.prior import read_prior
    from parentage.scoring.prior import Prior

    text = options.get("prior")
    if text is None:
        return None
    try:
        return Prior.of(float(text))
    except ValueError as error:
        from parentage.errors import ParentageError

        if isinstance(error, ParentageError):
            raise
    return read_prior(text)


def parse_size(text: str) -> int:
    """Read a size of memory in bytes.

    >>> parse_size("4GB"), parse_size("512MiB"), parse_size("1.5g")
    (4000000000, 536870912, 1500000000)
    """
    from parentage.errors import InputError

    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise InputError(f"--memory {text!r}: type a size such as 4GB or 500MB")
    number, unit, binary = found.groups()
    power = "KMGT".index(unit.upper()) + 1 if unit else 0
    return int(float(number) * (1024 if binary else 1000) ** power)


def parse_max_parents(texts: Sequence[str] | None) -> tuple[int | None, dict[str, int]]:
    """Turn ``-k 3 -k NAME=2`` into the common limit and the limits by name.

    >>> parse_max_parents(["3", "a=b=1"])
    (3, {'a=b': 1})
    """
    from parentage.errors import InputError

    common: int | None = None
    by_name: dict[str, int] = {}
    for text in texts or ():
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

    _, by_name = parse_max_parents(options.get("max_parents"))
    required, forbidden = options.get("require", ()), options.get("forbid", ())
    given = Constraints(
        required=frozenset(parse_arcs(required, names, "--require")),
        forbidden=frozenset(parse_arcs(forbidden, names, "--forbid")),
        max_parents=by_name,
        tiers=parse_tiers(options.get("tiers")),
    )
    if file := options.get("constraints_file"):
        given = read_constraints(file).merge(given)
    given.check(names)
    return given


def parse_arcs(texts: Sequence[str], names: Sequence[str], option: str) -> list[tuple[str, str]]:
    """Return arcs that are typed as ``A,B``, or those of CSV files."""
    from parentage.scoring.formats.constraints import read_arcs

    arcs: list[tuple[str, str]] = []
    for text in texts:
        is_file = "," not in text and text.lower().endswith(".csv")
        arcs += read_arcs(text) if is_file else [parse_arc(text, names, option)]
    return arcs


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


def tell_saved(scaling: Scaling) -> None:
    """Say where the state of unfinished work is saved, and how to continue."""
    folder = scaling.folder("checkpoint")
    if folder is not None:
        typed = Way("checkpoint", str(folder)).typed("command line")
        click.echo(f"parentage: the state is saved; {typed} continues from there", err=True)
