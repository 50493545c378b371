"""Options of the commands: made from settings, grouped in help, handed on as settings.

A command gets the settings of a stage as one argument (:func:`settings`) and the options that it
alone has by their names (:func:`option`), never a dictionary. Help has groups: what most people
type by ``--help``, every option by ``--help-all``.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click
from click.core import ParameterSource

from parentage.cli.output import forget_decisions, say, tell_decisions, visible
from parentage.data.settings import OF_FILES, OF_MISSING, SEVERAL, WAYS, Reading
from parentage.errors import Bytes, InputError, ParentageError, UndecidedError, Way
from parentage.scoring.catalogue import parse_name
from parentage.scoring.settings import Scoring
from parentage.work.context import Running, Scaling
from parentage.work.settings import (
    Option,
    Settings,
    changed,
    fields_of,
    flags_of,
    help_of,
    like,
    option_of,
    parse_size,
    setting,
)

if TYPE_CHECKING:
    from parentage.data.recipe import Recipe
    from parentage.data.table import Table
    from parentage.scoring.constraints import Constraints, Prior

Command = TypeVar("Command", bound=Callable[..., Any])

GROUPS = ("Data", "Model", "Limits", "Output", "Help")
"""The groups of options, in the order of every help."""

WIDE = 100
"""The widest help, in characters; a narrower terminal has a narrower one."""

ELSEWHERE = {
    "--threads": "leave it out: one thread per core is used",
    "--memory": "leave it out: by default scoring takes at most half of the free memory",
    "--smoothing": "parentage learn TABLE --smoothing A -o net.bif writes the probabilities",
}
"""Options that other commands have, and what to do instead."""

_CONSTRAINTS = {"--require": "required", "--forbid": "forbidden", "--tiers": "tiers"}
"""Options that are constraints, and their names in a file for ``--constraints``."""

WITH_VALUES = ("discretize", "missing", "output")
"""Options of which ``--help`` shows a second sentence: the values, which are patterns."""

_SENTENCE = re.compile(r"(?<=[\w)])(?:\. (?=[A-Z])|:\n)")
_DEFAULT = re.compile(r"\[default: (.*)\]$")
_WHOLE = "parentage.help.whole"


# --- help --------------------------------------------------------------------------------------


class GroupedOption(click.Option):
    """An option that knows its group, and whether most people may want it.

    Parameters
    ----------
    group
        One of :data:`GROUPS`.
    common
        Shown by ``--help``; others by ``--help-all`` only.
    page
        The page of the documentation with the details.
    values
        What may be typed, if that is one of a list that is not in what is shown of the flag.
    """

    def __init__(
        self,
        *args: Any,
        group: str,
        common: bool,
        page: str | None = None,
        values: Sequence[str] = (),
        **facts: Any,
    ) -> None:
        assert group in GROUPS, group  # noqa: S101  # written by us, in the settings
        super().__init__(*args, **facts)
        self.group, self.common, self.page, self.values = group, common, page, values

    def brief(self, context: click.Context) -> tuple[str, str]:
        """Return what is typed, the first sentence of the help, what may be typed, the default."""
        record = self.get_help_record(context)
        assert record is not None  # noqa: S101  # none of ours is hidden
        first = first_sentence(self.help or "")
        if self.name in WITH_VALUES:
            first = ". ".join(_SENTENCE.split((self.help or "").split("\n\n")[0])[:2])
        default = _DEFAULT.search(record[1])
        usual = f" (default: {default[1]})" if default and "default" not in first else ""
        values = f": {', '.join(self.values)}" if self.values else ""
        return record[0], f"{first.rstrip('.')}{usual}{values}."


def first_sentence(text: str) -> str:
    r"""Return the first sentence of a help text.

    >>> first_sentence("Memory, e.g. 4GB. What does not fit goes to disk.")
    'Memory, e.g. 4GB.'
    >>> first_sentence("Score to maximise.\n\n\b\nbic  with penalty")
    'Score to maximise.'
    """
    first = _SENTENCE.split(text.split("\n\n")[0], maxsplit=1)[0].strip()
    return first if first.endswith(".") else f"{first}."


class GroupedCommand(click.Command):
    """A command whose ``--help`` shows the common options in groups, ``--help-all`` all of them."""

    def __init__(self, name: str | None, **facts: Any) -> None:
        settings = {"max_content_width": WIDE, "allow_extra_args": True}
        super().__init__(name, **{"context_settings": settings, **facts})

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, with the two options that show help at their end."""
        return [*super().get_params(ctx), _HELP_ALL]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse options and arguments that the command does not take, with what to type."""
        typed = list(args)  # click takes them away
        try:
            left = super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            hint = self._instead(error.option_name, typed)
            if hint is None:
                raise
            raise click.UsageError(
                f"parentage {self.name} has no {error.option_name}; {hint}", ctx
            ) from None
        if left:
            raise click.UsageError(
                f"too many arguments: {' '.join(map(shlex.quote, left))}; to read several files as "
                "one table, quote a pattern: 'a-*.csv'",
                ctx,
            )
        return left

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; where it cannot take the way out of an error, say how another can."""
        forget_decisions()
        try:
            found = super().invoke(ctx)
            tell_decisions()
            return found
        except UndecidedError as error:
            error.calls = self._calls(error.remedy, ctx)
            error.auto = "auto" in ctx.params
            raise
        except ParentageError as error:
            error.ways = tuple(map(self._way, error.ways))
            if note := self.note_on(error.ways, ctx):
                error.add_note(note)
            raise

    def _way(self, way: Way | str) -> Way | str:
        """Return a way out as this command has it."""
        if isinstance(way, Way) and way.setting == "smoothing" and "smoothing" not in self._names:
            return Way("table", ..., "to estimate probabilities above 0")
        if isinstance(way, Way) and way.setting == "need" and "bootstrap" not in self._names:
            return "write the report by `parentage learn`, without support"
        return way

    @property
    def _names(self) -> set[str | None]:
        return {parameter.name for parameter in self.params}

    def _calls(self, remedy: Sequence[Way], ctx: click.Context) -> tuple[str, ...]:
        """Return the commands that decide what was left open, and then do what was asked."""
        from parentage.data.reading import decides
        from parentage.data.recipe import read_recipe

        decided = [way.typed("command line") for way in remedy]
        typed = [
            (parameter, ctx.params[parameter.name or ""])
            for parameter in self.params
            if ctx.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        ]
        if not any(self._reads_by_recipe(words.split()[0]) for words in decided):
            return (" ".join([ctx.command_path, *starmap(_retyped, typed), *decided]),)
        reading = [pair for pair in typed if pair[0].name in fields_of(Reading)]
        others = [pair for pair in typed if pair not in reading]
        table = shlex.quote(str(ctx.params.get("data") or ctx.params.get("source") or "TABLE"))
        new, same = free_name("read.toml"), list[str]()
        if given := ctx.params.get("recipe"):
            recipe = read_recipe(given)
            if any(decides(recipe, way.setting) for way in remedy):
                reading = [pair for pair in reading if pair[0].name != "recipe"]
                same = [way.typed("command line") for way in _settings_of(recipe, remedy)]
        info = ["parentage info", table, *starmap(_retyped, reading), *same, *decided]
        return (
            " ".join([*info, f"--write-recipe {new}"]),
            " ".join([ctx.command_path, *starmap(_retyped, others), f"--recipe {new}"]),
        )

    def note_on(self, ways: Iterable[Way | str], ctx: click.Context) -> str:
        """Say how a way out is taken that this command has no option for; nothing if it has."""
        for way in ways:
            flag = way.typed("command line").split()[0] if isinstance(way, Way) else ""
            if isinstance(way, Way) and self._reads_by_recipe(flag):
                gaps = way.setting == "na" and not ctx.params.get("auto")
                more = [Way("auto", True)] if gaps else []  # what to do about missing values
                calls = "\n  ".join(self._calls([way, *more], ctx))
                return f"parentage {self.name} has no {flag}; type\n  {calls}"
        return ""

    def _instead(self, flag: str, typed: Sequence[str]) -> str | None:
        """Return what to type instead of an option that this command does not have."""
        if flag in (*_CONSTRAINTS, "--constraints"):
            return self._constrained(typed)
        if self._reads_by_recipe(flag):
            new = free_name("read.toml")
            return (
                f"write it into a recipe: parentage info TABLE {flag} … --write-recipe {new}, "
                f"then type --recipe {new} here"
            )
        return ELSEWHERE.get(flag)

    def _constrained(self, typed: Sequence[str]) -> str | None:
        """Return how constraints are given to this command, or to the one that reports with them.

        Constraints in ``typed`` become the lines of their file.
        """
        takes_file = "constraints" in self._names
        if not takes_file and self.name != "report":
            return None
        kept, lines = _as_toml(typed)
        call = ["parentage", "support" if self.name == "report" else str(self.name), *kept]
        if not lines:
            return f"type\n  {shlex.join(call)}"
        doing, name = "write into", free_name("constraints.toml")
        if "--constraints" in kept[:-1]:
            doing, name = "add to", kept[kept.index("--constraints") + 1]
        else:
            call += ["--constraints", name]
        written = "".join(f"\n  {line}" for line in lines)
        return f"{doing} the file {name}{written}\nand type\n  {shlex.join(call)}"

    def _reads_by_recipe(self, flag: str) -> bool:
        own = {name for parameter in self.params for name in parameter.opts}
        details = {f for field in fields_of(Reading).values() for f in flags_of(field)}
        return "--recipe" in own and flag in details - own

    def groups(self, ctx: click.Context) -> Iterator[tuple[str, list[click.Option]]]:
        """Yield every group that has options, with them."""
        options = [p for p in self.get_params(ctx) if isinstance(p, click.Option)]
        for group in GROUPS:
            found = [o for o in options if getattr(o, "group", "Help") == group]  # click's own one
            if found:
                yield group, found

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by group: the common ones in a line each, or all in full."""
        whole = ctx.meta.get(_WHOLE, False)
        for group, options in self.groups(ctx):
            rows = []
            for one in options:
                if whole or not isinstance(one, GroupedOption):
                    rows.append(one.get_help_record(ctx))
                elif one.common:
                    rows.append(one.brief(ctx))
            if rows:
                with formatter.section(group):
                    formatter.write_dl([row for row in rows if row is not None])


def free_name(name: str) -> str:
    """Return a name in this folder that no file has: this one, or one with a number."""
    path, number = Path(name), 2
    while path.exists():
        path, number = Path(name).with_stem(f"{Path(name).stem}-{number}"), number + 1
    return str(path)


def _settings_of(recipe: Recipe, remedy: Sequence[Way]) -> list[Way]:
    """Return what a recipe sets, cut points too, but for what is decided anew."""
    from parentage.data.discretize import rule_at

    anew = {way.setting for way in remedy}
    own = [
        Way(name, getattr(recipe.settings, name))
        for name in changed(recipe.settings)
        if name not in ("recipe", "discretize", *OF_MISSING)
        and (name in SEVERAL or name not in anew)
    ]
    if "missing" not in anew and recipe.settings.missing != "error":
        own.append(Way("missing", recipe.settings.rule))
    if "discretize" in anew:
        return own
    cut = {one.name: rule_at(one.name, one.cuts) for one in recipe.columns if one.cuts}
    rules = [
        text for text in recipe.settings.discretize or () if text.rpartition("=")[0] not in cut
    ]
    if recipe.columns:
        rules = [text for text in rules if "=" in text]  # each column has its cut points
    return [*own, Way("discretize", [*rules, *cut.values()])] if rules or cut else own


def _as_toml(typed: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return what is typed without arcs and tiers, and these as lines of a file of constraints.

    >>> _as_toml(["t.csv", "--tiers", "a,b<c", "--forbid=b,a"])
    (['t.csv'], ['forbidden = [["b", "a"]]', 'tiers = [["a", "b"], ["c"]]'])
    """
    kept, found, words = list[str](), dict[str, list[Sequence[str]]](), iter(typed)
    for word in words:
        flag, equals, value = word.partition("=")
        if flag not in _CONSTRAINTS:
            kept.append(word)
            continue
        value = value if equals else next(words, "")
        one = parse_tiers(value) if flag == "--tiers" else parse_arcs([value], ["A", "B"], flag)
        found.setdefault(_CONSTRAINTS[flag], []).extend(one)
    order = [name for name in _CONSTRAINTS.values() if name in found]
    return kept, [f"{name} = {json.dumps(found[name], ensure_ascii=False)}" for name in order]


def _retyped(parameter: click.Parameter, value: Any) -> str:
    """Return an argument or an option as it is typed."""
    if isinstance(parameter, click.Option):
        if parameter.is_flag:
            return parameter.opts[-1]
        flag = parameter.opts[0]
        values = value if isinstance(value, tuple) else (value,)
        return " ".join(f"{flag} {shlex.quote(str(one))}" for one in values)
    return " ".join(map(shlex.quote, value if isinstance(value, tuple) else (value,)))


def command(**facts: Any) -> Callable[[Callable[..., Any]], GroupedCommand]:
    """Declare a command with help in groups."""
    return click.command(cls=GroupedCommand, **facts)


def _show_all(context: click.Context, _option: click.Parameter, given: bool) -> None:
    if given and not context.resilient_parsing:
        context.meta[_WHOLE] = True
        click.echo(context.get_help(), color=context.color)
        context.exit()


_HELP_ALL = GroupedOption(
    ["--help-all"], group="Help", common=True, is_flag=True, is_eager=True, expose_value=False,
    callback=_show_all, help="Show every option, and exit.",
)  # fmt: skip


# --- options from settings ---------------------------------------------------------------------


def settings(
    argument: str, kind: type, group: str, *names: str, but: Sequence[str] = ()
) -> Callable[[Command], Command]:
    """Give a command the options of a settings class, and the settings as one argument.

    Options are all of the class but some, or those named; others keep their default.
    """
    typed = {
        name: field
        for name, field in fields_of(kind).items()
        if option_of(field) is not None and name not in but and (not names or name in names)
    }

    def wrap(function: Command) -> Command:
        @functools.wraps(function)
        def call(**values: Any) -> Any:
            own = {name: values.pop(name) for name in typed}
            return function(**values, **{argument: kind(**own)})

        wrapped: Any = call
        for field in reversed(typed.values()):
            wrapped = _click_option(group, field)(wrapped)
        return cast("Command", wrapped)

    return wrap


def _click_option(group: str, field: dataclasses.Field[Any]) -> Callable[[Any], Any]:
    typed, default = option_of(field), field.default
    assert typed is not None  # noqa: S101  # chosen by that
    help_text = help_of(field)
    facts: dict[str, Any] = {"metavar": typed.metavar}
    if isinstance(default, bool):
        facts = {"is_flag": True, "flag_value": not default, "default": default}
    elif typed.kind is Bytes:
        facts["default"] = default
        facts["callback"] = lambda _c, _o, given: given and parse_size(field.name, given)
    elif typed.repeatable:
        facts |= {"multiple": True, "callback": lambda _c, _o, given: given or default}
        first = first_sentence(help_text)[:-1]
        help_text = help_text.replace(first, f"{first} (repeatable)", 1)
    else:
        is_number = typed.kind in (int, float)
        facts["type"] = Number(typed.kind, typed.least) if is_number else typed.kind
        facts["default"] = default
        facts["show_default"] = default is not None
    return click.option(
        *flags_of(field), field.name, cls=GroupedOption,
        group=typed.group or group, common=typed.common, help=help_text, page=typed.page,
        values=[] if "|" in (typed.metavar or "") else [name for name, _ in typed.values],
        **facts,
    )  # fmt: skip


class Number(click.ParamType):  # type: ignore[type-arg]  # generic in new versions of click
    """A number on the command line, refused in plain words."""

    name = "number"

    def __init__(self, kind: type, least: float | None) -> None:
        self.kind, self.least = kind, least

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | float:
        """Read a number; refuse another text, and a number that is too small."""
        try:
            number: int | float = self.kind(value)
        except ValueError:
            what = "a whole number" if self.kind is int else "a number"
            self.fail(f"{value!r} is not {what}", param, ctx)
        if self.least is not None and not number >= self.least:
            self.fail(f"{value!r} is less than {self.least:g}", param, ctx)
        return number


def option(group: str, **declared: Any) -> Callable[[Command], Command]:
    """Give a command options of its own, declared by :func:`parentage.work.settings.setting`.

    The command gets their values as arguments of these names.
    """

    def wrap(function: Command) -> Command:
        wrapped: Any = function
        for name, field in reversed(declared.items()):
            field.name = name
            wrapped = _click_option(group, field)(wrapped)
        return cast("Command", wrapped)

    return wrap


def output_option(meaning: str, *, several: bool = False) -> Callable[[Command], Command]:
    """Give a command ``-o FILE``, or ``several`` of them."""
    typed = Option("FILE", short="-o", repeatable=several, common=True)
    return option("Output", output=setting(() if several else None, meaning, typed))


_OF_A_FILE = {*OF_FILES} - {"header"}
OF_COLUMNS = tuple(name for name in fields_of(Reading) if name not in _OF_A_FILE)
"""How a table is read, without the details of its file: `parentage info` writes their recipe."""

READING = settings("reading", Reading, "Data")
READING_COLUMNS = settings("reading", Reading, "Data", *OF_COLUMNS)
BY_RECIPE = settings("reading", Reading, "Data", "recipe", "auto")
RECIPE_ALONE = settings("reading", Reading, "Data", "recipe")
JSON = click.option(
    "--json", "as_json", cls=GroupedOption, group="Output", common=True, is_flag=True,
    help="Print one JSON object on stdout.",
)  # fmt: skip


@dataclass(frozen=True)
class TypedModel(Settings):
    """What is typed about the model, before the names of the variables are known."""

    max_parents: tuple[str, ...] | None = like(Scoring, "max_parents")
    score: str = like(Scoring, "score")
    prior: str | None = like(Scoring, "prior")
    rules: str | None = like(Scoring, "rules")
    width: float | None = like(Scoring, "width")
    require: tuple[str, ...] = setting(
        (), "Require the arc from A to B, or all arcs in a CSV file.",
        Option("A,B|FILE", repeatable=True, common=True),
    )  # fmt: skip
    forbid: tuple[str, ...] = setting(
        (), "Forbid the arc from A to B, or all arcs in a CSV file.",
        Option("A,B|FILE", repeatable=True, common=True),
    )  # fmt: skip
    tiers: str | None = setting(
        None, "A and B come before C and D: forbid arcs back.", Option('"A,B<C,D"', common=True)
    )
    constraints: str | None = setting(
        None,
        "Read constraints from a TOML file.",
        Option("FILE", page="constraints.md", common=True),
    )

    def __post_init__(self) -> None:
        """Refuse what is wrong whatever the table is, before it is read."""
        super().__post_init__()
        parse_max_parents(self.max_parents)
        parse_name(self.score)

    def scoring(self, names: Sequence[str]) -> Scoring:
        """Return the settings of scoring for these variables."""
        found = Scoring(
            max_parents=parse_max_parents(self.max_parents)[0],
            score=self.score,
            prior=self.belief(),
            rules=self.rules,
            width=self.width,
            constraints=self._constraints(names),
        )
        tell_decisions()  # all of the model is as it should be
        return found

    def belief(self) -> Prior | None:
        """Turn ``--prior P`` or ``--prior FILE`` into probabilities of arcs."""
        from parentage.scoring.constraints import Prior, read_prior

        if self.prior is None:
            return None
        try:
            probability = float(self.prior)
        except ValueError:
            return read_prior(self.prior)
        return Prior.of(probability)

    def _constraints(self, names: Sequence[str]) -> Constraints:
        """Gather the constraints from the options and the file."""
        from parentage.scoring.constraints import Constraints, read_constraints

        given = Constraints(
            required=frozenset(parse_arcs(self.require, names, "--require")),
            forbidden=frozenset(parse_arcs(self.forbid, names, "--forbid")),
            max_parents=parse_max_parents(self.max_parents)[1],
            tiers=parse_tiers(self.tiers),
        )
        if self.constraints is not None:
            given = read_constraints(self.constraints).merge(given)
        given.check(names)
        return given


WRITE_RECIPE = option(
    "Data",
    write_recipe=setting(
        None, "Write how the table was read (TOML); --recipe applies it.", Option("FILE")
    ),
)
RUNNING = settings("running", Running, "Limits")
TIME_LIMIT = settings("running", Running, "Limits", "time_limit")
SCALING = settings("scaling", Scaling, "Limits")


def load_table(
    data: Any, reading: Reading, *, quiet: bool = False, ways: Sequence[str] = WAYS
) -> Table:
    """Read the table that DATA and the options describe; say what was done, unless ``quiet``.

    ``ways``: those to treat missing values that the command can deal with.
    """
    from parentage.data.reading import as_table

    table = as_table(data, reading, ways=ways)
    if not quiet:
        tell_reading(table)
    return table


def tell_reading(table: Table) -> None:
    """Say on stderr what was done to a table, in one line."""
    recipe = table.recipe
    if recipe is not None and recipe.parts():
        say(f"read {visible(str(recipe))}")


def check_outputs(outputs: Sequence[str | None], *reads: object) -> None:
    """Refuse outputs that would overwrite an input of the command, or each other."""
    from parentage.files.atomic import check_targets

    check_targets(outputs, [path for path in reads if isinstance(path, str)])


def write_recipe_of(recipe: Recipe | None, path: str | None) -> None:
    """Write the recipe where it was asked for."""
    if path is None:
        return
    if recipe is None:
        raise InputError(
            f"--write-recipe {path!r}: no table was read, so there is no recipe; leave it out"
        )
    recipe.save(path)
    say(f"wrote the recipe to {path}; --recipe reads it")


def parse_max_parents(texts: Sequence[str] | None) -> tuple[int | None, dict[str, int]]:
    """Turn ``-k 3 -k NAME=2`` into the common limit and the limits by name.

    >>> parse_max_parents(["3", "a=b=1"])
    (3, {'a=b': 1})
    """
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


def parse_arcs(texts: Sequence[str], names: Sequence[str], option: str) -> list[tuple[str, str]]:
    """Return arcs that are typed as ``A,B``, or those of CSV files."""
    from parentage.scoring.constraints import read_arcs

    arcs: list[tuple[str, str]] = []
    for text in texts:
        is_file = "," not in text and text.lower().endswith(".csv")
        arcs += read_arcs(text) if is_file else [parse_arc(text, names, option)]
    return arcs


def parse_arc(text: str, names: Sequence[str], option: str) -> tuple[str, str]:
    """Split ``A,B`` at the comma that leaves two known names."""
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
        raise InputError(
            f"--tiers {text!r} has one group; separate groups by <, e.g. --tiers 'a,b<c'"
        )
    return tiers


def tell_saved(scaling: Scaling) -> None:
    """Say where the state of unfinished work is saved, and how to continue."""
    folder = scaling.folder("checkpoint")
    if folder is not None:
        typed = Way("checkpoint", str(folder)).typed("command line")
        say(f"the state is saved; {typed} continues from there")
